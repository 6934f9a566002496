// Sums over features for blocks of pairs of dense rows, compiled once per instruction set.
//
// add_block sums a term over the features of a panel; finish_minmax and finish_overlap make results
// of the sums. A term is a struct: `term(u, v)` is its value for vectors of entries, and if
// `kInPairs` is true, `pair(u0, v0, u1, v1)` is the value of two features together, for terms whose
// division two features can share. All levels give the same bits: the sum of a pair runs over the
// features in ascending order, and no operation is fused or reordered.
//
// To add a term: write its struct beside Minimum and Chi2 (two zeros must give 0, not NaN), add an
// AddBlock to PairwiseLoops in pairwise_loops.h, and add_block<T, TheTerm> at the same place of
// table() below. A result that needs the sums of rows has a Finish as well. core/pairwise.h lists
// what else a new form needs.
#include "simd/pairwise_loops.h"

#include "simd/levels.h"

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kRows = 8;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32, kRows = 4;
#else
constexpr int kVectorBytes = 16, kRows = 4;
#endif

template <class T>
struct Vector;
template <>
struct Vector<float> {
    typedef float type __attribute__((vector_size(kVectorBytes)));
};
template <>
struct Vector<double> {
    typedef double type __attribute__((vector_size(kVectorBytes)));
};

struct Minimum {
    static constexpr bool kInPairs = false;
    template <class V>
    static V term(V u, V v) {
        return u < v ? u : v;
    }
};

// The tiny number turns 0 / 0 into 0; no nonzero sum of two rows of total 1 that matters is changed
// by it. Division is what takes the time, so two columns share one: a / b + c / d = (a d + c b) /
// (b d), where b d is at least the square of the tiny number, which is a normal number yet.
template <class T>
struct Chi2 {
    static constexpr bool kInPairs = true;
    static constexpr T kTiny = sizeof(T) == 4 ? T(1e-18) : T(1e-150);
    template <class V>
    static V term(V u, V v) {
        V difference = u - v;
        return difference * difference / (u + v + kTiny);
    }
    template <class V>
    static V pair(V u0, V v0, V u1, V v1) {
        V difference0 = u0 - v0, difference1 = u1 - v1, sum0 = u0 + v0 + kTiny,
          sum1 = u1 + v1 + kTiny;
        return (difference0 * difference0 * sum1 + difference1 * difference1 * sum0) /
               (sum0 * sum1);
    }
};

// kRows x 2 vectors of sums stay in registers while k runs; one x entry is spread over the lanes, y
// entries fill them.
template <class T, class Term>
void add_block(const T* x, const T* y, int64_t depth, double* total, int64_t stride) {
    using V = typename Vector<T>::type;
    constexpr int kLanes = kVectorBytes / sizeof(T);
    V sums[kRows][2] = {};
    int64_t k = 0;
    if constexpr (Term::kInPairs) {
        for (; k + 1 < depth; k += 2, x += 2 * kRows, y += 4 * kLanes) {
            const V *now = reinterpret_cast<const V*>(y), *next = now + 2;
#pragma GCC unroll 8
            for (int i = 0; i < kRows; ++i) {
                const V xi = x[i] - V{}, x_next = x[kRows + i] - V{};
                sums[i][0] += Term::pair(xi, now[0], x_next, next[0]);
                sums[i][1] += Term::pair(xi, now[1], x_next, next[1]);
            }
        }
    }
    for (; k < depth; ++k, x += kRows, y += 2 * kLanes) {
        const V y0 = *reinterpret_cast<const V*>(y), y1 = *reinterpret_cast<const V*>(y + kLanes);
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) {
            const V xi = x[i] - V{};
            sums[i][0] += Term::term(xi, y0);
            sums[i][1] += Term::term(xi, y1);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
        double* row = total + i * stride;
        for (int lane = 0; lane < kLanes; ++lane) {
            row[lane] += static_cast<double>(sums[i][0][lane]);
            row[kLanes + lane] += static_cast<double>(sums[i][1][lane]);
        }
    }
}

// m, the sum of the minima after splitting signs, and S, the sum of both rows. Rounding may leave m
// outside [0, S / 2].
struct Shared {
    double m, both;
};
inline Shared shared(double total, RowSums x, double negative, double absolute) {
    const double both = x.absolute + absolute, m = total + (x.negative + negative);
    const double low = m > 0 ? m : 0;
    return {low < both / 2 ? low : both / 2, both};
}

// A power of two that brings a row sum to about 1. Both sides of a quotient are multiplied by it,
// which changes no bit of the quotient but keeps a float32 one from being taken of subnormal
// numbers.
double unit_scale(double sum) {
    int exponent = 0;
    __builtin_frexp(sum, &exponent);
    return __builtin_ldexp(1.0, exponent > -1000 ? -exponent : 1000);
}

template <class T>
void finish_minmax(const double* total, int64_t count, RowSums x, const double* negative,
                   const double* absolute, T* out) {
    const double scale = unit_scale(x.absolute);
    for (int64_t j = 0; j < count; ++j) {
        const Shared s = shared(total[j], x, negative[j], absolute[j]);
        const T value = static_cast<T>(scale * s.m) / static_cast<T>(scale * (s.both - s.m));
        out[j] = s.both > 0 ? value : T(0);
    }
}

template <class T>
void finish_overlap(const double* total, int64_t count, RowSums x, const double* negative,
                    const double* absolute, T* out) {
    const double scale = unit_scale(x.absolute);
    for (int64_t j = 0; j < count; ++j) {
        const Shared s = shared(total[j], x, negative[j], absolute[j]);
        const T value = static_cast<T>(scale * 2 * s.m) / static_cast<T>(scale * s.both);
        out[j] = s.both > 0 ? value : T(0);
    }
}

template <class T>
PairwiseLoops<T> table() {
    return {kRows,
            static_cast<int>(2 * kVectorBytes / sizeof(T)),
            add_block<T, Minimum>,
            add_block<T, Chi2<T>>,
            finish_minmax<T>,
            finish_overlap<T>};
}

}  // namespace

PairwiseLoops<float> pairwise_loops_float32() { return table<float>(); }
PairwiseLoops<double> pairwise_loops_float64() { return table<double>(); }

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
