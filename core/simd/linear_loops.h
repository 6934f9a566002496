// The loops of linear_loops.cpp, one table for each instruction set. Results are equal up to rounding between levels (sums are
// split over lanes of different widths where a row is dense), and exactly equal for any number of threads.
//
// Weights and everything else of a row hold `lanes` numbers side by side: one for each class or output that is learned at
// once, the rest padding that stays 0. kLanes lists the numbers there are loops for.
#pragma once

#include <cstdint>

namespace kernelight {

constexpr int kLaneCounts = 4;
constexpr int kLanes[kLaneCounts] = {1, 4, 8, 16};
constexpr int kBlock = 64;  // rows that are solved together

enum LossKind : int { squared_hinge, hinge, logistic, squared, epsilon_insensitive, kLossKinds };

// What is to be learned: one problem for each lane. See solve_dual.h.
template <class Real>
struct LinearProblem {
    int lanes;               // one of kLanes
    int loss;                // LossKind
    Real epsilon;            // of the epsilon-insensitive loss
    const int32_t* labels;   // (rows): the lane whose target is +1, the others -1; or null, and then
    const Real* targets;     // (rows, lanes)
    const Real* row_cost;    // (rows)
    const Real* cost_above;  // (lanes): factor of the cost where the target is +1, and otherwise
    const Real* cost_below;
    const bool* open;        // (lanes): those of the others stay as they are
    const Real* norms;       // (rows): |x|^2, the intercept's 1 included
    bool intercept;
    Real* weights;           // (entries, lanes)
    Real* bias;              // (lanes)
    Real* dual;              // (rows, lanes)
};

// Up to kBlock rows on their way through the solver, arrays of (rows, lanes) except where noted.
template <class Real>
struct Block {
    int64_t rows;
    Real *margin, *target, *cost, *dual, *change, *pace;
    Real* norm;        // (rows): |x|^2, the intercept's 1 included
    Real* gram;        // (rows, kBlock): inner products, intercept included
    Real clear;        // a clearance above this is clear
    bool* is_clear;    // (rows): in all lanes?
    bool* moves;       // (rows): would a step change anything?
    Real epsilon;
};

// The loops for one number of lanes.
template <class Real>
struct LaneLoops {
    // sums[r, :] += weights[entries[r * stride + s], :] over count slots s: rows of one segment of codes.
    void (*code_dots)(const uint16_t* entries, int64_t stride, int64_t rows, int64_t count, const Real* weights, Real* sums);
    // weights[entries[r * stride + s], :] += change[r, :], rows listed in `which`.
    void (*code_add)(const uint16_t* entries, int64_t stride, const int32_t* which, int64_t rows, int64_t count,
                     const Real* change, Real* weights);
    // sums[r, :] += sum of x[r][at] weights[at, :] over count columns, and weights[at, :] += x[r][at] change[r, :].
    void (*dense_dots)(const Real* const* x, int64_t rows, int64_t count, const Real* weights, Real* sums);
    void (*dense_add)(const Real* const* x, int64_t rows, int64_t count, const Real* change, Real* weights);
    // The same for one sparse row.
    void (*sparse_dot_32)(const Real* values, const int32_t* columns, int64_t count, const Real* weights, Real* sums);
    void (*sparse_dot_64)(const Real* values, const int64_t* columns, int64_t count, const Real* weights, Real* sums);
    void (*sparse_add_32)(const Real* values, const int32_t* columns, int64_t count, const Real* change, Real* weights);
    void (*sparse_add_64)(const Real* values, const int64_t* columns, int64_t count, const Real* change, Real* weights);
    // Row `row` of the problem becomes row `at` of a block: margin = factor sum_p sums[p stride + at lanes + lane] + bias, and target,
    // cost and dual. A lane that is not open gets no cost, so that it never moves.
    void (*take_row)(const LinearProblem<Real>& problem, int64_t row, Real factor, const Real* sums, int64_t parts, int64_t stride,
                     Block<Real>& block, int64_t at);
    // pace, moves and is_clear of rows [begin, end).
    void (*look[kLossKinds])(Block<Real>& block, int64_t begin, int64_t end);
    // Coordinate descent over the rows of the block, `sweeps` times or until nothing moves: dual and change; margins follow.
    void (*sweep[kLossKinds])(Block<Real>& block, int sweeps);
    // loss[lane] += value, conjugate[lane] += conjugate over the rows.
    void (*objective[kLossKinds])(const Block<Real>& block, double* loss, double* conjugate);
};

template <class Real>
struct LinearLoops {
    LaneLoops<Real> lanes[kLaneCounts];
    // entries[s] = first[s] + codes[s].
    void (*code_entries_8)(const uint8_t* codes, const uint16_t* first, int64_t count, uint16_t* entries);
    void (*code_entries_16)(const uint16_t* codes, const uint16_t* first, int64_t count, uint16_t* entries);
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
