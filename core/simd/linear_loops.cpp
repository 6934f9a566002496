// Loops of the linear solver. Weights of an entry hold all lanes side by side, so that adding an entry to a sum is one or two
// vector additions, and a row of codes is a walk over entries without a multiplication.
//
// Equal up to rounding between instruction sets: dot products of one lane are split over vectors.
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

// `lanes` numbers as whole vectors.
template <class Real, int lanes>
struct Pack {
    static constexpr int kWidth = at_most(lanes, kBytes / static_cast<int>(sizeof(Real)));
    static constexpr int kVectors = lanes / kWidth;
    typedef Real Vector __attribute__((vector_size(kWidth * sizeof(Real))));
    Vector v[kVectors];

    static Pack zero() {
        Pack out;
        for (int at = 0; at < kVectors; ++at) out.v[at] = Vector{};
        return out;
    }
    static Pack load(const Real* p) {
        Pack out;
        for (int at = 0; at < kVectors; ++at) __builtin_memcpy(&out.v[at], p + at * kWidth, sizeof(Vector));
        return out;
    }
    void store(Real* p) const {
        for (int at = 0; at < kVectors; ++at) __builtin_memcpy(p + at * kWidth, &v[at], sizeof(Vector));
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

// --- Rows of codes --------------------------------------------------------------------------------------------------

template <class Real, int lanes>
void code_dots(const uint16_t* entries, int64_t stride, int64_t rows, int64_t count, const Real* weights, Real* sums) {
    using Sum = Pack<Real, lanes>;
    constexpr int kChains = lanes <= 8 ? 4 : 2;  // additions wait for each other: several sums at once
    for (int64_t row = 0; row < rows; ++row) {
        const uint16_t* entry = entries + row * stride;
        Sum sum[kChains];
        for (int chain = 0; chain < kChains; ++chain) sum[chain] = Sum::zero();
        int64_t at = 0;
        for (; at + kChains <= count; at += kChains)
            for (int chain = 0; chain < kChains; ++chain)
                sum[chain].add(Sum::load(weights + int64_t{entry[at + chain]} * lanes));
        for (; at < count; ++at) sum[0].add(Sum::load(weights + int64_t{entry[at]} * lanes));
        for (int chain = 1; chain < kChains; ++chain) sum[0].add(sum[chain]);
        sum[0].add(Sum::load(sums + row * lanes));
        sum[0].store(sums + row * lanes);
    }
}

template <class Real, int lanes>
void code_add(const uint16_t* entries, int64_t stride, const int32_t* which, int64_t rows, int64_t count, const Real* change,
              Real* weights) {
    using Sum = Pack<Real, lanes>;
    for (int64_t row = 0; row < rows; ++row) {
        const uint16_t* entry = entries + which[row] * stride;
        const Sum more = Sum::load(change + row * lanes);
        for (int64_t at = 0; at < count; ++at) {
            Real* weight = weights + int64_t{entry[at]} * lanes;
            Sum sum = Sum::load(weight);
            sum.add(more);
            sum.store(weight);
        }
    }
}

template <class Slot>
void code_entries(const Slot* codes, const uint16_t* first, int64_t count, uint16_t* entries) {
#pragma GCC ivdep
    for (int64_t slot = 0; slot < count; ++slot) entries[slot] = static_cast<uint16_t>(first[slot] + codes[slot]);
}

// --- Dense rows -----------------------------------------------------------------------------------------------------

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

template <class Real, int lanes>
void dense_dots(const Real* const* x, int64_t rows, int64_t count, const Real* weights, Real* sums) {
    using Sum = Pack<Real, lanes>;
    for (int64_t row = 0; row < rows; ++row) {
        if constexpr (lanes == 1) {
            sums[row] += dot(x[row], weights, count);
        } else {
            Sum even = Sum::load(sums + row * lanes), odd = Sum::zero();
            int64_t at = 0;
            for (; at + 2 <= count; at += 2) {
                even.add(x[row][at], Sum::load(weights + at * lanes));
                odd.add(x[row][at + 1], Sum::load(weights + (at + 1) * lanes));
            }
            if (at < count) even.add(x[row][at], Sum::load(weights + at * lanes));
            even.add(odd);
            even.store(sums + row * lanes);
        }
    }
}

template <class Real, int lanes>
void dense_add(const Real* const* x, int64_t rows, int64_t count, const Real* change, Real* weights) {
    using Sum = Pack<Real, lanes>;
    for (int64_t row = 0; row < rows; ++row) {
        if constexpr (lanes == 1) {
            const Real factor = change[row];
            for (int64_t at = 0; at < count; ++at) weights[at] += factor * x[row][at];
        } else {
            const Sum more = Sum::load(change + row * lanes);
            for (int64_t at = 0; at < count; ++at) {
                Sum sum = Sum::load(weights + at * lanes);
                sum.add(x[row][at], more);
                sum.store(weights + at * lanes);
            }
        }
    }
}

template <class Real>
void dense_gram(const Real* const* x, int64_t rows, int64_t count, Real* gram) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j <= i; ++j) gram[i * kBlock + j] += dot(x[i], x[j], count);
}

// --- Sparse rows ----------------------------------------------------------------------------------------------------

template <class Real, int lanes, class Index>
void sparse_dot(const Real* values, const Index* columns, int64_t count, const Real* weights, Real* sums) {
    using Sum = Pack<Real, lanes>;
    Sum even = Sum::load(sums), odd = Sum::zero();
    int64_t at = 0;
    for (; at + 2 <= count; at += 2) {
        even.add(values[at], Sum::load(weights + int64_t{columns[at]} * lanes));
        odd.add(values[at + 1], Sum::load(weights + int64_t{columns[at + 1]} * lanes));
    }
    if (at < count) even.add(values[at], Sum::load(weights + int64_t{columns[at]} * lanes));
    even.add(odd);
    even.store(sums);
}

template <class Real, int lanes, class Index>
void sparse_add(const Real* values, const Index* columns, int64_t count, const Real* change, Real* weights) {
    using Sum = Pack<Real, lanes>;
    const Sum more = Sum::load(change);
    for (int64_t at = 0; at < count; ++at) {
        Real* weight = weights + int64_t{columns[at]} * lanes;
        Sum sum = Sum::load(weight);
        sum.add(values[at], more);
        sum.store(weight);
    }
}

// --- Losses ---------------------------------------------------------------------------------------------------------

// Whether any of the numbers is not 0. As bits, because an OR of integers may be reordered into vectors and a maximum may not.
template <class Real, int lanes>
inline bool any_nonzero(const Real* values) {
    using Bits = std::conditional_t<sizeof(Real) == 4, uint32_t, uint64_t>;
    Bits all = 0;
    for (int lane = 0; lane < lanes; ++lane) {
        Bits bits;
        __builtin_memcpy(&bits, values + lane, sizeof bits);
        all |= bits << 1;  // -0 is 0
    }
    return all != 0;
}

template <class Real, int lanes>
void take_row(const LinearProblem<Real>& problem, int64_t row, Real factor, const Real* sums, int64_t parts, int64_t stride,
              Block<Real>& block, int64_t at) {
    using Sum = Pack<Real, lanes>;
    const int64_t base = at * lanes;
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
        for (int lane = 0; lane < lanes; ++lane) {
            target[lane] = lane == label ? Real(1) : Real(-1);
            cost[lane] = row_cost * (lane == label ? problem.cost_above[lane] : problem.cost_below[lane]);
        }
    } else {
        for (int lane = 0; lane < lanes; ++lane) {
            target[lane] = problem.targets[row * lanes + lane];
            cost[lane] = row_cost * problem.cost_above[lane];
        }
    }
    for (int lane = 0; lane < lanes; ++lane) {
        dual[lane] = problem.open[lane] ? problem.dual[row * lanes + lane] : Real(0);
        cost[lane] = problem.open[lane] ? cost[lane] : Real(0);
    }
}

template <class Real, int lanes, template <class> class Loss>
void look(Block<Real>& block, int64_t begin, int64_t end) {
    const Loss<Real> loss(block.epsilon);
    for (int64_t row = begin; row < end; ++row) {
        const Real *m = block.margin + row * lanes, *y = block.target + row * lanes, *c = block.cost + row * lanes;
        const Real *b = block.dual + row * lanes, q = block.norm[row];
        Real* __restrict h = block.pace + row * lanes;
        Real move[lanes];
        int unclear = 0;
        for (int lane = 0; lane < lanes; ++lane) h[lane] = loss.pace(c[lane], q);
        loss.template steps<lanes>(m, y, c, b, q, h, move);
        for (int lane = 0; lane < lanes; ++lane) move[lane] -= b[lane];
        for (int lane = 0; lane < lanes; ++lane)
            unclear |= !(loss.clearance(m[lane], y[lane], c[lane], b[lane]) > block.clear);
        block.moves[row] = any_nonzero<Real, lanes>(move);
        block.is_clear[row] = !unclear;
    }
}

template <class Real, int lanes, template <class> class Loss>
void sweep(Block<Real>& block, int sweeps) {
    using Sum = Pack<Real, lanes>;
    const Loss<Real> loss(block.epsilon);
    for (int turn = 0; turn < sweeps; ++turn) {
        bool moved = false;
        for (int64_t row = 0; row < block.rows; ++row) {
            const Real *m = block.margin + row * lanes, *y = block.target + row * lanes, *c = block.cost + row * lanes;
            const Real *kernel = block.gram + row * kBlock, *h = block.pace + row * lanes, q = kernel[row];
            Real* __restrict b = block.dual + row * lanes;
            Real* __restrict change = block.change + row * lanes;
            Real move[lanes], next[lanes];
            loss.template steps<lanes>(m, y, c, b, q, h, next);
            for (int lane = 0; lane < lanes; ++lane) {
                move[lane] = next[lane] - b[lane];
                b[lane] = next[lane];
            }
            if (!any_nonzero<Real, lanes>(move)) continue;
            moved = true;
            for (int lane = 0; lane < lanes; ++lane) change[lane] += move[lane];
            const Sum moves = Sum::load(move);
            for (int64_t other = 0; other < block.rows; ++other) {
                Sum margin = Sum::load(block.margin + other * lanes);
                margin.add(kernel[other], moves);
                margin.store(block.margin + other * lanes);
            }
        }
        if (!moved) return;
    }
}

template <class Real, int lanes, template <class> class Loss>
void objective(const Block<Real>& block, double* value, double* conjugate) {
    const Loss<Real> loss(block.epsilon);
    for (int64_t at = 0; at < block.rows * lanes; ++at) {
        const double y = block.target[at], c = block.cost[at];
        value[at % lanes] += loss.value(block.margin[at], y, c);
        conjugate[at % lanes] += loss.conjugate(block.dual[at], y, c);
    }
}

template <class Real, int lanes>
constexpr LaneLoops<Real> lane_loops() {
    return {
        code_dots<Real, lanes>,
        code_add<Real, lanes>,
        dense_dots<Real, lanes>,
        dense_add<Real, lanes>,
        sparse_dot<Real, lanes, int32_t>,
        sparse_dot<Real, lanes, int64_t>,
        sparse_add<Real, lanes, int32_t>,
        sparse_add<Real, lanes, int64_t>,
        take_row<Real, lanes>,
        {look<Real, lanes, SquaredHinge>, look<Real, lanes, Hinge>, look<Real, lanes, Logistic>, look<Real, lanes, Squared>,
         look<Real, lanes, EpsilonInsensitive>},
        {sweep<Real, lanes, SquaredHinge>, sweep<Real, lanes, Hinge>, sweep<Real, lanes, Logistic>, sweep<Real, lanes, Squared>,
         sweep<Real, lanes, EpsilonInsensitive>},
        {objective<Real, lanes, SquaredHinge>, objective<Real, lanes, Hinge>, objective<Real, lanes, Logistic>,
         objective<Real, lanes, Squared>, objective<Real, lanes, EpsilonInsensitive>},
    };
}

template <class Real>
constexpr LinearLoops<Real> all_loops() {
    return {{lane_loops<Real, 1>(), lane_loops<Real, 4>(), lane_loops<Real, 8>(), lane_loops<Real, 16>()},
            code_entries<uint8_t>, code_entries<uint16_t>, dense_gram<Real>};
}

}  // namespace

extern const LinearLoops<float> linear_loops_32;
extern const LinearLoops<double> linear_loops_64;
const LinearLoops<float> linear_loops_32 = all_loops<float>();
const LinearLoops<double> linear_loops_64 = all_loops<double>();

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
