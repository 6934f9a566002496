// Compiled once per instruction set; all levels give the same bits: the same IEEE operations on
// each number, in the order of core/portable/kl_project.h, whatever the width of a vector.
#include "simd/project_loops.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "portable/kl_project.h"
#include "simd/hadamard.h"

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

using Floats = Lanes<float>;
constexpr int kLanes = kLanesOf<float>;

inline Floats load(const float* p) { return load_lanes(p); }

// --- Rows on their way in ------------------------------------------------------------------------

// Absolute values are ordered as their bits are, and the maximum of integers may be taken in any
// order.
template <class Bits, class Value>
uint64_t peak(const Value* x, int64_t count) {
    Bits most = 0;
    for (int64_t at = 0; at < count; ++at) {
        Bits bits;
        __builtin_memcpy(&bits, x + at, sizeof bits);
        bits &= static_cast<Bits>(-1) >> 1;
        most = bits > most ? bits : most;
    }
    return most;
}

template <class Value>
void squares(const Value* x, int64_t count, double factor, double* lanes) {
    double sums[kSumLanes] = {};
    int64_t at = 0;
    for (; at + kSumLanes <= count; at += kSumLanes)
        for (int64_t lane = 0; lane < kSumLanes; ++lane) {
            const double value = static_cast<double>(x[at + lane]) * factor;
            sums[lane] += value * value;
        }
    for (int64_t lane = 0; at < count; ++at, ++lane) {
        const double value = static_cast<double>(x[at]) * factor;
        sums[lane] += value * value;
    }
    for (int64_t lane = 0; lane < kSumLanes; ++lane) lanes[lane] = sums[lane];
}

template <class Value>
void enter(const Value* x, int64_t count, double first, double second, float* to) {
    KERNELIGHT_INDEPENDENT
    for (int64_t at = 0; at < count; ++at)
        to[at] = static_cast<float>(static_cast<double>(x[at]) * first * second);
}

// --- Hadamard ------------------------------------------------------------------------------------

struct WithDiagonal {
    const float* diagonal;
    Floats entered(const float* from, int64_t at) const {
        return load(from + at) * load(diagonal + at);
    }
};

void hadamard(const float* from, float* x, const float* diagonal, int64_t width) {
    if (width >= kLanes) return hadamard_lanes(from, x, width, WithDiagonal{diagonal});
    for (int64_t at = 0; at < width; ++at) x[at] = from[at] * diagonal[at];
    kl_hadamard(x, static_cast<uint64_t>(width));
}

void gather(const float* x, const int32_t* places, int64_t count, float* out) {
    for (int64_t at = 0; at < count; ++at) out[at] = x[places[at]];
}

// --- Readouts ------------------------------------------------------------------------------------

void read_pairs(const float* y, const float* scale, int64_t count, float amplitude, float* out) {
    KERNELIGHT_INDEPENDENT
    for (int64_t at = 0; at < count; ++at) {
        const kl_circle_float circle = kl_circle_of(y[at] * scale[at]);
        out[2 * at] = amplitude * circle.cosine;
        out[2 * at + 1] = amplitude * circle.sine;
    }
}

void read_cosines(const float* y, const float* scale, const float* shift, int64_t count,
                  float amplitude, float* out) {
    KERNELIGHT_INDEPENDENT
    for (int64_t at = 0; at < count; ++at)
        out[at] = amplitude * kl_circle_of(y[at] * scale[at] + shift[at]).cosine;
}

void read_signs(const float* y, int64_t count, uint8_t* out) {
    KERNELIGHT_INDEPENDENT
    for (int64_t at = 0; at < count; ++at) out[at] = static_cast<uint8_t>(kl_sign_bit(y[at]));
}

void read_signs_tied(const float* y, float slack, const float* tie, float turn, int64_t count,
                     uint8_t* out) {
    KERNELIGHT_INDEPENDENT
    for (int64_t at = 0; at < count; ++at)
        out[at] = static_cast<uint8_t>(kl_sign_bit_tied(y[at], slack, tie[at], turn));
}

void read_cosine_bits(const float* y, const float* scale, const float* shift,
                      const float* threshold, int64_t count, uint8_t* out) {
    KERNELIGHT_INDEPENDENT
    for (int64_t at = 0; at < count; ++at)
        out[at] = static_cast<uint8_t>(kl_cosine_bit(y[at] * scale[at], shift[at], threshold[at]));
}

// --- Dense projections ---------------------------------------------------------------------------
//
// kRows rows meet one tile of the table: its entries, once loaded, serve all of them, and the sums
// stay in registers.

template <class Real>
struct Sums {
    static constexpr int lanes = 4 * kLanes / sizeof(Real), parts = kTile / lanes;
    typedef Real Vector __attribute__((vector_size(4 * kLanes)));

    static inline Vector entries(const float* table) {
        if constexpr (sizeof(Real) == 4) {
            Vector v;
            __builtin_memcpy(&v, table, sizeof v);
            return v;
        } else {
            typedef float Half __attribute__((vector_size(2 * kLanes)));
            Half v;
            __builtin_memcpy(&v, table, sizeof v);
            return __builtin_convertvector(v, Vector);
        }
    }
};

// How a product is added: rounded before (Exact, the definition of codes), or not (Fused, for
// features, which need only agree to rounding; where a level has no such instruction, it is the
// same).
struct Exact {
    template <class Real>
    static inline typename Sums<Real>::Vector add(typename Sums<Real>::Vector sum, Real value,
                                                  typename Sums<Real>::Vector entry) {
        return sum + value * entry;
    }
};

#if defined(__AVX512F__)
#define FUSED_TARGET
struct Fused {
    template <class Real>
    static inline Floats add(Floats sum, float value, Floats entry) {
        return (Floats)_mm512_fmadd_ps(_mm512_set1_ps(value), (__m512)entry, (__m512)sum);
    }
};
#elif defined(__AVX2__)
#define FUSED_TARGET __attribute__((target("fma")))
struct Fused {
    template <class Real>
    FUSED_TARGET static inline Floats add(Floats sum, float value, Floats entry) {
        return (Floats)_mm256_fmadd_ps(_mm256_set1_ps(value), (__m256)entry, (__m256)sum);
    }
};
#else
#define FUSED_TARGET
using Fused = Exact;
#endif

// Part of a tile, so that kRows * kParts sums fit the registers.
template <class How, class Real, int kRows, int kParts>
FUSED_TARGET void add_part(const Real* x, int64_t x_stride, const float* table, int64_t n_features,
                           Real* y, int64_t y_stride) {
    using S = Sums<Real>;
    typename S::Vector sums[kRows][kParts];
    for (int row = 0; row < kRows; ++row)
        for (int part = 0; part < kParts; ++part)
            __builtin_memcpy(&sums[row][part], y + row * y_stride + part * S::lanes,
                             sizeof(typename S::Vector));
    for (int64_t i = 0; i < n_features; ++i) {
        typename S::Vector entry[kParts];
#pragma GCC unroll 8
        for (int part = 0; part < kParts; ++part)
            entry[part] = S::entries(table + i * kTile + part * S::lanes);
#pragma GCC unroll 8
        for (int row = 0; row < kRows; ++row) {
            const Real value = x[row * x_stride + i];
#pragma GCC unroll 8
            for (int part = 0; part < kParts; ++part)
                sums[row][part] = How::template add<Real>(sums[row][part], value, entry[part]);
        }
    }
    for (int row = 0; row < kRows; ++row)
        for (int part = 0; part < kParts; ++part)
            __builtin_memcpy(y + row * y_stride + part * S::lanes, &sums[row][part],
                             sizeof(typename S::Vector));
}

#if defined(__AVX512F__)
constexpr int kRowsTogether = 6, kPartsTogether = 4;  // 24 of 32 registers
#else
constexpr int kRowsTogether = 4, kPartsTogether = 2;  // 8 of 16
#endif

// Features whose entries, 64 KB, stay in the cache while all rows meet them.
constexpr int64_t kFeaturesTogether = 256;

template <class How, class Real>
void add_dense(const Real* x, int64_t x_stride, int64_t n_rows, const float* table,
               int64_t n_features, Real* y, int64_t y_stride) {
    using S = Sums<Real>;
    for (int64_t first = 0; first < n_features; first += kFeaturesTogether) {
        const int64_t count =
            n_features - first < kFeaturesTogether ? n_features - first : kFeaturesTogether;
        for (int part = 0; part < S::parts; part += kPartsTogether) {
            const float* entries = table + first * kTile + part * S::lanes;
            Real* to = y + part * S::lanes;
            int64_t row = 0;
            for (; row + kRowsTogether <= n_rows; row += kRowsTogether)
                add_part<How, Real, kRowsTogether, kPartsTogether>(x + row * x_stride + first,
                                                                   x_stride, entries, count,
                                                                   to + row * y_stride, y_stride);
            for (; row < n_rows; ++row)
                add_part<How, Real, 1, kPartsTogether>(x + row * x_stride + first, x_stride,
                                                       entries, count, to + row * y_stride,
                                                       y_stride);
        }
    }
}

template <class Real>
void add_sparse(const int32_t* feature, const Real* x, int64_t count, const float* table, Real* y) {
    using S = Sums<Real>;
    for (int first = 0; first < S::parts; first += kPartsTogether) {
        typename S::Vector sums[kPartsTogether];
        for (int part = 0; part < kPartsTogether; ++part)
            __builtin_memcpy(&sums[part], y + (first + part) * S::lanes, sizeof sums[part]);
        for (int64_t at = 0; at < count; ++at) {
            const float* entries =
                table + static_cast<int64_t>(feature[at]) * kTile + first * S::lanes;
#pragma GCC unroll 8
            for (int part = 0; part < kPartsTogether; ++part)
                sums[part] += x[at] * S::entries(entries + part * S::lanes);
        }
        for (int part = 0; part < kPartsTogether; ++part)
            __builtin_memcpy(y + (first + part) * S::lanes, &sums[part], sizeof sums[part]);
    }
}

void fill_gaussian(uint64_t feature_key, uint64_t first, float* out) {
    for (uint64_t pair = 0; pair < kTile / 2; ++pair) {
        const kl_circle two = kl_normal_pair(kl_child(feature_key, first / 2 + pair));
        out[2 * pair] = static_cast<float>(two.cosine);
        out[2 * pair + 1] = static_cast<float>(two.sine);
    }
}

void fill_cauchy(uint64_t feature_key, uint64_t first, float* out) {
    for (uint64_t at = 0; at < kTile; ++at)
        out[at] = static_cast<float>(kl_cauchy(kl_child(feature_key, first + at)));
}

// A vector, once loaded, serves all rows; each row meets the vectors in their order.
void take_off(double* rows, int64_t n_rows, const double* before, int64_t n_before,
              uint64_t width) {
    for (int64_t vector = 0; vector < n_before; ++vector)
        for (int64_t row = 0; row < n_rows; ++row)
            kl_take_off(rows + row * static_cast<int64_t>(width),
                        before + vector * static_cast<int64_t>(width), width);
}

void orthonormalize(double* rows, uint64_t n_rows, uint64_t width) {
    kl_orthonormalize(rows, n_rows, width);
}

}  // namespace

extern const ProjectLoops project_table;
const ProjectLoops project_table = {
    peak<uint32_t, float>,
    peak<uint64_t, double>,
    squares<float>,
    squares<double>,
    enter<float>,
    enter<double>,
    hadamard,
    gather,
    read_pairs,
    read_cosines,
    read_signs,
    read_signs_tied,
    read_cosine_bits,
    add_dense<Exact, float>,
    add_dense<Exact, double>,
    add_dense<Fused, float>,
    add_sparse<float>,
    add_sparse<double>,
    fill_gaussian,
    fill_cauchy,
    take_off,
    orthonormalize,
};

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
