// Loops of the linear solver. Weights of an entry hold all outputs side by side, so that adding an
// entry to a sum is one or two vector additions, and a row of codes is a walk over entries without
// a multiplication.
//
// Equal up to rounding between instruction sets: dot products of one output are split over vectors.
#include "simd/linear_loops.h"

#include "simd/compilers.h"
#include "simd/losses.h"
#include "simd/rank_dots.h"

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
    KERNELIGHT_INDEPENDENT
    for (int64_t slot = 0; slot < count; ++slot)
        entries[slot] = static_cast<uint16_t>(first[slot] + codes[slot]);
}

// --- Dense rows ----------------------------------------------------------------------------------

// The sum of all lanes, the upper half onto the lower until one is left.
template <class Real, int width>
inline Real total(const Real* lanes) {
    if constexpr (width == 1) {
        return lanes[0];
    } else {
        typedef Real Half __attribute__((vector_size(width / 2 * sizeof(Real))));
        Half low, high;
        __builtin_memcpy(&low, lanes, sizeof low);
        __builtin_memcpy(&high, lanes + width / 2, sizeof high);
        low += high;
        Real sums[width / 2];
        __builtin_memcpy(sums, &low, sizeof low);
        return total<Real, width / 2>(sums);
    }
}

// sums[r] += a . b[r] for `rows` rows: each vector of a serves all of them.
template <class Real, int rows>
void dots(const Real* a, const Real* const* b, int64_t count, Real* sums) {
    constexpr int kWidth = kBytes / static_cast<int>(sizeof(Real));
    typedef Real Vector __attribute__((vector_size(kBytes)));
    constexpr int kChains = 4;
    Vector sum[rows][kChains];
#pragma GCC unroll 4
    for (int row = 0; row < rows; ++row)
        for (int chain = 0; chain < kChains; ++chain) sum[row][chain] = Vector{};
    int64_t at = 0;
    for (; at + kChains * kWidth <= count; at += kChains * kWidth)
        for (int chain = 0; chain < kChains; ++chain) {
            Vector left, right;
            __builtin_memcpy(&left, a + at + chain * kWidth, sizeof left);
            for (int row = 0; row < rows; ++row) {
                __builtin_memcpy(&right, b[row] + at + chain * kWidth, sizeof right);
                sum[row][chain] += left * right;
            }
        }
#pragma GCC unroll 4
    for (int row = 0; row < rows; ++row) {
        const Vector all = (sum[row][0] + sum[row][1]) + (sum[row][2] + sum[row][3]);
        Real lanes[kWidth];
        __builtin_memcpy(lanes, &all, sizeof lanes);
        Real rest = total<Real, kWidth>(lanes);
        for (int64_t last = at; last < count; ++last) rest += a[last] * b[row][last];
        sums[row] += rest;
    }
}

// Rows that share what is loaded, as many as there are registers for.
constexpr int kDotRows = kBytes == 64 ? 4 : 2;

template <class Real>
void dots(const Real* a, const Real* const* b, int64_t rows, int64_t count, Real* sums) {
    int64_t row = 0;
    for (; row + kDotRows <= rows; row += kDotRows)
        dots<Real, kDotRows>(a, b + row, count, sums + row);
    for (; row < rows; ++row) dots<Real, 1>(a, b + row, count, sums + row);
}

template <class Real, int outputs, int rows>
void dense_dots_of(const Real* const* x, int64_t count, const Real* weights, Real* sums) {
    using Sum = Pack<Real, outputs>;
    Sum even[rows], odd[rows];
    for (int row = 0; row < rows; ++row) {
        even[row] = Sum::load(sums + row * outputs);
        odd[row] = Sum::zero();
    }
    int64_t at = 0;
    for (; at + 2 <= count; at += 2) {
        const Sum first = Sum::load(weights + at * outputs),
                  second = Sum::load(weights + (at + 1) * outputs);
        for (int row = 0; row < rows; ++row) {
            even[row].add(x[row][at], first);
            odd[row].add(x[row][at + 1], second);
        }
    }
    for (int row = 0; row < rows; ++row) {
        if (at < count) even[row].add(x[row][at], Sum::load(weights + at * outputs));
        even[row].add(odd[row]);
        even[row].store(sums + row * outputs);
    }
}

template <class Real, int outputs>
void dense_dots(const Real* const* x, int64_t rows, int64_t count, const Real* weights,
                Real* sums) {
    if constexpr (outputs == 1) {
        dots(weights, x, rows, count, sums);
    } else {
        constexpr int kRows = Pack<Real, outputs>::kVectors <= 2 ? kDotRows : 1;
        int64_t row = 0;
        for (; row + kRows <= rows; row += kRows)
            dense_dots_of<Real, outputs, kRows>(x + row, count, weights, sums + row * outputs);
        for (; row < rows; ++row)
            dense_dots_of<Real, outputs, 1>(x + row, count, weights, sums + row * outputs);
    }
}

template <class Real, int outputs, int rows>
void dense_add_of(const Real* const* x, int64_t count, const Real* change,
                  Real* __restrict weights) {
    using Sum = Pack<Real, outputs>;
    const Real* __restrict from[rows];
    Sum more[rows];
    for (int row = 0; row < rows; ++row) {
        from[row] = x[row];
        more[row] = Sum::load(change + row * outputs);
    }
    for (int64_t at = 0; at < count; ++at) {
        Sum sum = Sum::load(weights + at * outputs);
        for (int row = 0; row < rows; ++row) sum.add(from[row][at], more[row]);
        sum.store(weights + at * outputs);
    }
}

template <class Real, int outputs>
void dense_add(const Real* const* x, int64_t rows, int64_t count, const Real* change,
               Real* weights) {
    constexpr int kRows = 4;
    int64_t row = 0;
    for (; row + kRows <= rows; row += kRows)
        dense_add_of<Real, outputs, kRows>(x + row, count, change + row * outputs, weights);
    for (; row < rows; ++row)
        dense_add_of<Real, outputs, 1>(x + row, count, change + row * outputs, weights);
}

template <class Real>
void dense_gram(const Real* const* x, int64_t rows, int64_t count, Real* gram) {
    for (int64_t i = 0; i < rows; ++i) dots(x[i], x, i + 1, count, gram + i * kBlock);
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
        Real* __restrict h = block.kept + row * outputs;
        int active = 0;
        for (int output = 0; output < outputs; ++output)
            h[output] = loss.kept(m[output], y[output], c[output], b[output], q);
        for (int output = 0; output < outputs; ++output)
            active |= !(loss.bound_gradient(m[output], y[output], c[output], b[output]) >
                        block.shrink_threshold);
        block.moves[row] = loss.template moves<outputs>(m, y, c, b, q, h);
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
            const Real *kernel = block.gram + row * kBlock, q = kernel[row];
            Real* __restrict h = block.kept + row * outputs;
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

// Sums are in the order of rows; values are computed kStep at a time, so that they vectorise.
template <class Real, int outputs, template <class> class Loss>
void objective(const Block<Real>& block, double* value, double* conjugate) {
    const Loss<Real> loss(block.epsilon);
    constexpr int kStep = 16;
    static_assert(kStep % outputs == 0, "a step has whole rows");
    const int64_t count = block.rows * outputs;
    for (int64_t base = 0; base < count; base += kStep) {
        double values[kStep], conjugates[kStep];
        const auto compute = [&](int step) {
            for (int at = 0; at < step; ++at) {
                const double y = block.target[base + at], c = block.cost[base + at];
                values[at] = loss.value(block.margin[base + at], y, c);
                conjugates[at] = loss.conjugate(block.dual[base + at], y, c);
            }
        };
        const int step = static_cast<int>(count - base < kStep ? count - base : kStep);
        if (step == kStep) compute(kStep);
        else compute(step);
        for (int at = 0; at < step; ++at) {
            value[at % outputs] += values[at];
            conjugate[at % outputs] += conjugates[at];
        }
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

#if defined(__AVX512F__)
constexpr auto kRankDots = rank_dots;
#else
constexpr auto kRankDots = nullptr;
#endif

template <class Real>
constexpr LinearLoops<Real> all_loops() {
    return {{output_loops<Real, 1>(), output_loops<Real, 4>(), output_loops<Real, 8>(),
             output_loops<Real, 16>()},
            code_entries<uint8_t>,
            code_entries<uint16_t>,
            kRankDots,
            dense_gram<Real>};
}

}  // namespace

extern const LinearLoops<float> linear_loops_32;
extern const LinearLoops<double> linear_loops_64;
const LinearLoops<float> linear_loops_32 = all_loops<float>();
const LinearLoops<double> linear_loops_64 = all_loops<double>();

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
