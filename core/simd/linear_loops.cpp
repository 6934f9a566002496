// Loops of the linear solver. Weights of an entry hold all outputs side by side, so that adding an
// entry to a sum is one or two vector additions, and a row of codes is a walk over entries without
// a multiplication.
//
// Equal up to rounding between instruction sets: dot products of one output are split over vectors.
#include "simd/linear_loops.h"

#include <type_traits>

#include "simd/losses.h"

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX2__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif

constexpr int at_most(int wanted, int limit) { return wanted < limit ? wanted : limit; }

// `outputs` numbers as whole vectors.
template <class Real, int outputs>
struct Pack {
    static constexpr int kWidth = at_most(outputs, kBytes / static_cast<int>(sizeof(Real)));
    static constexpr int kVectors = outputs / kWidth;
    typedef Real Vector __attribute__((vector_size(kWidth * sizeof(Real))));
    Vector v[kVectors];

    static Pack zero() {
        Pack out;
        for (int at = 0; at < kVectors; ++at) out.v[at] = Vector{};
        return out;
    }
    static Pack load(const Real* p) {
        Pack out;
        for (int at = 0; at < kVectors; ++at)
            __builtin_memcpy(&out.v[at], p + at * kWidth, sizeof(Vector));
        return out;
    }
    void store(Real* p) const {
        for (int at = 0; at < kVectors; ++at)
            __builtin_memcpy(p + at * kWidth, &v[at], sizeof(Vector));
    }
    void add(const Pack& other) {
        for (int at = 0; at < kVectors; ++at) v[at] += other.v[at];
    }
    void add(Real factor, const Pack& other) {
        for (int at = 0; at < kVectors; ++at) v[at] += factor * other.v[at];
    }
};

template <class Real>
struct Pack<Real, 1> {
    Real v;
    static Pack zero() { return {Real(0)}; }
    static Pack load(const Real* p) { return {*p}; }
    void store(Real* p) const { *p = v; }
    void add(const Pack& other) { v += other.v; }
    void add(Real factor, const Pack& other) { v += factor * other.v; }
};

// --- Rows of codes -------------------------------------------------------------------------------

template <class Real, int outputs>
void code_dots(const uint16_t* entries, int64_t stride, int64_t rows, int64_t count,
               const Real* weights, Real* sums) {
    using Sum = Pack<Real, outputs>;
    constexpr int kChains =
        outputs <= 8 ? 4 : 2;  // additions wait for each other: several sums at once
    for (int64_t row = 0; row < rows; ++row) {
        const uint16_t* entry = entries + row * stride;
        Sum sum[kChains];
        for (int chain = 0; chain < kChains; ++chain) sum[chain] = Sum::zero();
        int64_t at = 0;
        for (; at + kChains <= count; at += kChains)
            for (int chain = 0; chain < kChains; ++chain)
                sum[chain].add(Sum::load(weights + int64_t{entry[at + chain]} * outputs));
        for (; at < count; ++at) sum[0].add(Sum::load(weights + int64_t{entry[at]} * outputs));
        for (int chain = 1; chain < kChains; ++chain) sum[0].add(sum[chain]);
        sum[0].add(Sum::load(sums + row * outputs));
        sum[0].store(sums + row * outputs);
    }
}

template <class Real, int outputs>
void code_add(const uint16_t* entries, int64_t stride, const int32_t* which, int64_t rows,
              int64_t count, const Real* change, Real* weights) {
    using Sum = Pack<Real, outputs>;
    for (int64_t row = 0; row < rows; ++row) {
        const uint16_t* entry = entries + which[row] * stride;
        const Sum more = Sum::load(change + row * outputs);
        for (int64_t at = 0; at < count; ++at) {
            Real* weight = weights + int64_t{entry[at]} * outputs;
            Sum sum = Sum::load(weight);
            sum.add(more);
            sum.store(weight);
        }
    }
}

template <class Slot>
void code_entries(const Slot* codes, const uint16_t* first, int64_t count, uint16_t* entries) {
#pragma GCC ivdep
    for (int64_t slot = 0; slot < count; ++slot)
        entries[slot] = static_cast<uint16_t>(first[slot] + codes[slot]);
}

// --- Dense rows ----------------------------------------------------------------------------------

template <class Real>
Real dot(const Real* a, const Real* b, int64_t count) {
    constexpr int kWidth = kBytes / static_cast<int>(sizeof(Real));
    typedef Real Vector __attribute__((vector_size(kBytes)));
    constexpr int kChains = 4;
    Vector sum[kChains] = {};
    int64_t at = 0;
    for (; at + kChains * kWidth <= count; at += kChains * kWidth)
        for (int chain = 0; chain < kChains; ++chain) {
            Vector left, right;
            __builtin_memcpy(&left, a + at + chain * kWidth, sizeof left);
            __builtin_memcpy(&right, b + at + chain * kWidth, sizeof right);
            sum[chain] += left * right;
        }
    const Vector all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    Real total = 0;
    for (int lane = 0; lane < kWidth; ++lane) total += all[lane];
    for (; at < count; ++at) total += a[at] * b[at];
    return total;
}

template <class Real, int outputs>
void dense_dots(const Real* const* x, int64_t rows, int64_t count, const Real* weights,
                Real* sums) {
    using Sum = Pack<Real, outputs>;
    for (int64_t row = 0; row < rows; ++row) {
        if constexpr (outputs == 1) {
            sums[row] += dot(x[row], weights, count);
        } else {
            Sum even = Sum::load(sums + row * outputs), odd = Sum::zero();
            int64_t at = 0;
            for (; at + 2 <= count; at += 2) {
                even.add(x[row][at], Sum::load(weights + at * outputs));
                odd.add(x[row][at + 1], Sum::load(weights + (at + 1) * outputs));
            }
            if (at < count) even.add(x[row][at], Sum::load(weights + at * outputs));
            even.add(odd);
            even.store(sums + row * outputs);
        }
    }
}

template <class Real, int outputs>
void dense_add(const Real* const* x, int64_t rows, int64_t count, const Real* change,
               Real* weights) {
    using Sum = Pack<Real, outputs>;
    for (int64_t row = 0; row < rows; ++row) {
        if constexpr (outputs == 1) {
            const Real factor = change[row];
            for (int64_t at = 0; at < count; ++at) weights[at] += factor * x[row][at];
        } else {
            const Sum more = Sum::load(change + row * outputs);
            for (int64_t at = 0; at < count; ++at) {
                Sum sum = Sum::load(weights + at * outputs);
                sum.add(x[row][at], more);
                sum.store(weights + at * outputs);
            }
        }
    }
}

template <class Real>
void dense_gram(const Real* const* x, int64_t rows, int64_t count, Real* gram) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j <= i; ++j) gram[i * kBlock + j] += dot(x[i], x[j], count);
}

// --- Sparse rows ---------------------------------------------------------------------------------

template <class Real, int outputs, class Index>
void sparse_dot(const Real* values, const Index* columns, int64_t count, const Real* weights,
                Real* sums) {
    using Sum = Pack<Real, outputs>;
    Sum even = Sum::load(sums), odd = Sum::zero();
    int64_t at = 0;
    for (; at + 2 <= count; at += 2) {
        even.add(values[at], Sum::load(weights + int64_t{columns[at]} * outputs));
        odd.add(values[at + 1], Sum::load(weights + int64_t{columns[at + 1]} * outputs));
    }
    if (at < count) even.add(values[at], Sum::load(weights + int64_t{columns[at]} * outputs));
    even.add(odd);
    even.store(sums);
}

template <class Real, int outputs, class Index>
void sparse_add(const Real* values, const Index* columns, int64_t count, const Real* change,
                Real* weights) {
    using Sum = Pack<Real, outputs>;
    const Sum more = Sum::load(change);
    for (int64_t at = 0; at < count; ++at) {
        Real* weight = weights + int64_t{columns[at]} * outputs;
        Sum sum = Sum::load(weight);
        sum.add(values[at], more);
        sum.store(weight);
    }
}

// --- Losses --------------------------------------------------------------------------------------

// Whether any of the numbers is not 0. As bits, because an OR of integers may be reordered into
// vectors and a maximum may not.
template <class Real, int outputs>
inline bool any_nonzero(const Real* values) {
    using Bits = std::conditional_t<sizeof(Real) == 4, uint32_t, uint64_t>;
    Bits all = 0;
    for (int output = 0; output < outputs; ++output) {
        Bits bits;
        __builtin_memcpy(&bits, values + output, sizeof bits);
        all |= bits << 1;  // -0 is 0
    }
    return all != 0;
}

template <class Real, int outputs>
void take_row(const LinearProblem<Real>& problem, int64_t row, Real factor, const Real* sums,
              int64_t parts, int64_t stride, Block<Real>& block, int64_t at) {
    using Sum = Pack<Real, outputs>;
    const int64_t base = at * outputs;
    Sum sum = Sum::load(sums + base);
    for (int64_t part = 1; part < parts; ++part) sum.add(Sum::load(sums + part * stride + base));
    Sum margin = Sum::load(problem.bias);
    margin.add(factor, sum);
    margin.store(block.margin + base);
    Real* __restrict target = block.target + base;
    Real* __restrict cost = block.cost + base;
    Real* __restrict dual = block.dual + base;
    const Real row_cost = problem.row_cost[row];
    if (problem.labels) {
        const int label = problem.labels[row];
        for (int output = 0; output < outputs; ++output) {
            target[output] = output == label ? Real(1) : Real(-1);
            cost[output] = row_cost * (output == label ? problem.cost_above[output]
                                                       : problem.cost_below[output]);
        }
    } else {
        for (int output = 0; output < outputs; ++output) {
            target[output] = problem.targets[row * outputs + output];
            cost[output] = row_cost * problem.cost_above[output];
        }
    }
    for (int output = 0; output < outputs; ++output) {
        dual[output] = problem.open[output] ? problem.dual[row * outputs + output] : Real(0);
        cost[output] = problem.open[output] ? cost[output] : Real(0);
    }
}

template <class Real, int outputs, template <class> class Loss>
void select_active(Block<Real>& block, int64_t begin, int64_t end) {
    const Loss<Real> loss(block.epsilon);
    for (int64_t row = begin; row < end; ++row) {
        const Real *m = block.margin + row * outputs, *y = block.target + row * outputs,
                   *c = block.cost + row * outputs;
        const Real *b = block.dual + row * outputs, q = block.norm[row];
        Real* __restrict h = block.inverse_curvature + row * outputs;
        Real move[outputs];
        int active = 0;
        for (int output = 0; output < outputs; ++output)
            h[output] = loss.inverse_curvature(c[output], q);
        loss.template steps<outputs>(m, y, c, b, q, h, move);
        for (int output = 0; output < outputs; ++output) move[output] -= b[output];
        for (int output = 0; output < outputs; ++output)
            active |= !(loss.bound_gradient(m[output], y[output], c[output], b[output]) >
                        block.shrink_threshold);
        block.moves[row] = any_nonzero<Real, outputs>(move);
        block.shrinkable[row] = !active;
    }
}

template <class Real, int outputs, template <class> class Loss>
void sweep(Block<Real>& block, int sweeps) {
    using Sum = Pack<Real, outputs>;
    const Loss<Real> loss(block.epsilon);
    for (int turn = 0; turn < sweeps; ++turn) {
        bool moved = false;
        for (int64_t row = 0; row < block.rows; ++row) {
            const Real *m = block.margin + row * outputs, *y = block.target + row * outputs,
                       *c = block.cost + row * outputs;
            const Real *kernel = block.gram + row * kBlock,
                       *h = block.inverse_curvature + row * outputs, q = kernel[row];
            Real* __restrict b = block.dual + row * outputs;
            Real* __restrict change = block.change + row * outputs;
            Real move[outputs], next[outputs];
            loss.template steps<outputs>(m, y, c, b, q, h, next);
            for (int output = 0; output < outputs; ++output) {
                move[output] = next[output] - b[output];
                b[output] = next[output];
            }
            if (!any_nonzero<Real, outputs>(move)) continue;
            moved = true;
            for (int output = 0; output < outputs; ++output) change[output] += move[output];
            const Sum moves = Sum::load(move);
            for (int64_t other = 0; other < block.rows; ++other) {
                Sum margin = Sum::load(block.margin + other * outputs);
                margin.add(kernel[other], moves);
                margin.store(block.margin + other * outputs);
            }
        }
        if (!moved) return;
    }
}

template <class Real, int outputs, template <class> class Loss>
void objective(const Block<Real>& block, double* value, double* conjugate) {
    const Loss<Real> loss(block.epsilon);
    for (int64_t at = 0; at < block.rows * outputs; ++at) {
        const double y = block.target[at], c = block.cost[at];
        value[at % outputs] += loss.value(block.margin[at], y, c);
        conjugate[at % outputs] += loss.conjugate(block.dual[at], y, c);
    }
}

template <class Real, int outputs>
constexpr OutputLoops<Real> output_loops() {
    return {
        code_dots<Real, outputs>,
        code_add<Real, outputs>,
        dense_dots<Real, outputs>,
        dense_add<Real, outputs>,
        sparse_dot<Real, outputs, int32_t>,
        sparse_dot<Real, outputs, int64_t>,
        sparse_add<Real, outputs, int32_t>,
        sparse_add<Real, outputs, int64_t>,
        take_row<Real, outputs>,
        {select_active<Real, outputs, SquaredHinge>, select_active<Real, outputs, Hinge>,
         select_active<Real, outputs, Logistic>, select_active<Real, outputs, Squared>,
         select_active<Real, outputs, EpsilonInsensitive>},
        {sweep<Real, outputs, SquaredHinge>, sweep<Real, outputs, Hinge>,
         sweep<Real, outputs, Logistic>, sweep<Real, outputs, Squared>,
         sweep<Real, outputs, EpsilonInsensitive>},
        {objective<Real, outputs, SquaredHinge>, objective<Real, outputs, Hinge>,
         objective<Real, outputs, Logistic>, objective<Real, outputs, Squared>,
         objective<Real, outputs, EpsilonInsensitive>},
    };
}

template <class Real>
constexpr LinearLoops<Real> all_loops() {
    return {{output_loops<Real, 1>(), output_loops<Real, 4>(), output_loops<Real, 8>(),
             output_loops<Real, 16>()},
            code_entries<uint8_t>,
            code_entries<uint16_t>,
            dense_gram<Real>};
}

}  // namespace

extern const LinearLoops<float> linear_loops_32;
extern const LinearLoops<double> linear_loops_64;
const LinearLoops<float> linear_loops_32 = all_loops<float>();
const LinearLoops<double> linear_loops_64 = all_loops<double>();

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
