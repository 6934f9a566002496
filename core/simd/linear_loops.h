// The loops of linear_loops.cpp, one table for each instruction set. Results are equal up to
// rounding between levels (sums are split over vectors of different widths where a row is dense),
// and exactly equal for any number of threads.
//
// An output is one class or one target. Weights and everything else of a row hold `outputs` numbers
// side by side: one for each output that is learned at once, the others padding that stays 0.
// kOutputs lists the numbers there are loops for.
#pragma once

#include <cstdint>

namespace kernelight {

constexpr int kOutputCounts = 4;
constexpr int kOutputs[kOutputCounts] = {1, 4, 8, 16};
constexpr int kBlock = 64;  // rows that are solved together

enum LossKind : int { squared_hinge, hinge, logistic, squared, epsilon_insensitive, kLossKinds };

// What is to be learned: one problem for each output. See solve_dual.h.
template <class Real>
struct LinearProblem {
    int outputs;   // one of kOutputs
    int loss;      // LossKind
    Real epsilon;  // of the epsilon-insensitive loss; `still` of the logistic loss
    const int32_t*
        labels;           // (rows): the output whose target is +1, the others -1; or null, and then
    const Real* targets;  // (rows, outputs)
    const Real* row_cost;    // (rows)
    const Real* cost_above;  // (outputs): factor of the cost where the target is +1, and otherwise
    const Real* cost_below;
    const bool* open;   // (outputs): those of the others stay as they are
    const Real* norms;  // (rows): |x|^2, the intercept's 1 included
    bool intercept;
    Real* weights;  // (entries, outputs)
    Real* bias;     // (outputs)
    Real* dual;     // (rows, outputs)
};

// Up to kBlock rows on their way through the solver, arrays of (rows, outputs) except where noted.
template <class Real>
struct Block {
    int64_t rows;
    Real *margin, *target, *cost, *dual, *change, *kept;
    Real* norm;  // (rows): |x|^2, the intercept's 1 included
    Real* gram;  // (rows, kBlock): inner products, intercept included
    // A dual at a bound, with a gradient above this that keeps it there, may leave the active set.
    Real shrink_threshold;
    bool* shrinkable;  // (rows): may the duals of all outputs?
    bool* moves;       // (rows): would a step change anything?
    Real epsilon;
};

// The loops for one number of outputs.
template <class Real>
struct OutputLoops {
    // sums[r, :] += weights[entries[r * stride + s], :] over count slots s: rows of one segment of
    // codes.
    void (*code_dots)(const uint16_t* entries, int64_t stride, int64_t rows, int64_t count,
                      const Real* weights, Real* sums);
    // weights[entries[r * stride + s], :] += change[r, :], rows listed in `which`.
    void (*code_add)(const uint16_t* entries, int64_t stride, const int32_t* which, int64_t rows,
                     int64_t count, const Real* change, Real* weights);
    // sums[r, :] += sum of x[r][at] weights[at, :] over count columns, and weights[at, :] +=
    // x[r][at] change[r, :].
    void (*dense_dots)(const Real* const* x, int64_t rows, int64_t count, const Real* weights,
                       Real* sums);
    void (*dense_add)(const Real* const* x, int64_t rows, int64_t count, const Real* change,
                      Real* weights);
    // The same for one sparse row.
    void (*sparse_dot_32)(const Real* values, const int32_t* columns, int64_t count,
                          const Real* weights, Real* sums);
    void (*sparse_dot_64)(const Real* values, const int64_t* columns, int64_t count,
                          const Real* weights, Real* sums);
    void (*sparse_add_32)(const Real* values, const int32_t* columns, int64_t count,
                          const Real* change, Real* weights);
    void (*sparse_add_64)(const Real* values, const int64_t* columns, int64_t count,
                          const Real* change, Real* weights);
    // Row `row` of the problem becomes row `at` of a block: margin = factor sum_p sums[p stride +
    // at outputs + output] + bias, and target, cost and dual. An output that is not open gets no
    // cost, so that it never moves.
    void (*take_row)(const LinearProblem<Real>& problem, int64_t row, Real factor, const Real* sums,
                     int64_t parts, int64_t stride, Block<Real>& block, int64_t at);
    // Which of the rows [begin, end) a step would change, and which may leave the active set:
    // moves, shrinkable, kept.
    void (*select_active[kLossKinds])(Block<Real>& block, int64_t begin, int64_t end);
    // Coordinate descent over the rows of the block, `sweeps` times or until nothing moves: dual
    // and change; margins follow.
    void (*sweep[kLossKinds])(Block<Real>& block, int sweeps);
    // loss[output] += value, conjugate[output] += conjugate over the rows.
    void (*objective[kLossKinds])(const Block<Real>& block, double* loss, double* conjugate);
};

template <class Real>
struct LinearLoops {
    OutputLoops<Real> outputs[kOutputCounts];
    // entries[s] = first[s] + codes[s].
    void (*code_entries_8)(const uint8_t* codes, const uint16_t* first, int64_t count,
                           uint16_t* entries);
    void (*code_entries_16)(const uint16_t* codes, const uint16_t* first, int64_t count,
                            uint16_t* entries);
    // sums[r] += weights[first[s] + ranks[r][s]] over count slots, whose entries end at `entries`:
    // code_dots of one output by look-ups in registers; null where that is not faster.
    void (*rank_dots)(const uint8_t* const* ranks, int64_t rows, const uint16_t* first,
                      int64_t count, int64_t entries, const float* weights, float* sums);
    // gram[i * kBlock + j] += x[i] . x[j] for j <= i.
    void (*dense_gram)(const Real* const* x, int64_t rows, int64_t count, Real* gram);
};

namespace baseline {
extern const LinearLoops<float> linear_loops_32;
extern const LinearLoops<double> linear_loops_64;
}  // namespace baseline
#if defined(KERNELIGHT_X86)
namespace avx2 {
extern const LinearLoops<float> linear_loops_32;
extern const LinearLoops<double> linear_loops_64;
}  // namespace avx2
namespace avx512 {
extern const LinearLoops<float> linear_loops_32;
extern const LinearLoops<double> linear_loops_64;
}  // namespace avx512
#endif

}  // namespace kernelight
