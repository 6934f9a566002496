// Counting equal slots: count(i, j) = #{s : a[i, s] == b[j, s]}.
//
// Eight pairs at a time: each vector of 2 rows of a meets each of 4 rows of b, so that six loads
// serve eight compares. A lane of the running count is as wide as a slot and is emptied after at
// most 255 steps.
#include "simd/codes_loops.h"

#include "simd/levels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

// 32 bytes with AVX-512 too: its comparisons go through mask registers and one port, which measured
// slower.
#if defined(__AVX2__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif

template <class Slot>
struct Lanes {
    typedef Slot Vector __attribute__((vector_size(kBytes), aligned(1), may_alias));
};

// The sum of all lanes; the one place where instructions are named, because compilers do not find
// "sum of bytes".
inline int32_t total(Lanes<uint8_t>::Vector counts) {
#if defined(__SSE2__)
#if defined(__AVX2__)
    const __m256i wide = _mm256_sad_epu8(reinterpret_cast<__m256i>(counts), _mm256_setzero_si256());
    const __m128i sums =
        _mm_add_epi64(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
#else
    const __m128i sums = _mm_sad_epu8(reinterpret_cast<__m128i>(counts), _mm_setzero_si128());
#endif
    return _mm_cvtsi128_si32(_mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums)));
#else
    int32_t sum = 0;
    for (int lane = 0; lane < kBytes; ++lane) sum += counts[lane];
    return sum;
#endif
}

// A 16-bit lane counts at most 255 here: its bytes added up are its value.
inline int32_t total(Lanes<uint16_t>::Vector counts) {
    return total(reinterpret_cast<Lanes<uint8_t>::Vector>(counts));
}

template <class Slot>
void count_equal(const uint8_t* a, int64_t a_rows, const uint8_t* b, int64_t b_rows, int64_t stride,
                 int32_t* counts) {
    using Vector = typename Lanes<Slot>::Vector;
    for (int64_t i = 0; i < a_rows; i += kCountRowsA) {
        for (int64_t j = 0; j < b_rows; j += kCountRowsB) {
            const uint8_t *p = a + i * stride, *q = b + j * stride;
            Vector equal[kCountRowsA][kCountRowsB] = {};
            for (int64_t at = 0; at < stride; at += kBytes) {
                Vector left[kCountRowsA];
                for (int r = 0; r < kCountRowsA; ++r)
                    left[r] = *reinterpret_cast<const Vector*>(p + r * stride + at);
                for (int c = 0; c < kCountRowsB; ++c) {
                    const Vector right = *reinterpret_cast<const Vector*>(q + c * stride + at);
                    // A true comparison is -1 in its lane.
                    for (int r = 0; r < kCountRowsA; ++r)
                        equal[r][c] -= reinterpret_cast<Vector>(left[r] == right);
                }
            }
            for (int r = 0; r < kCountRowsA; ++r)
                for (int c = 0; c < kCountRowsB; ++c)
                    counts[(i + r) * b_rows + j + c] = total(equal[r][c]);
        }
    }
}

}  // namespace

extern const CodesLoops codes_loops;
const CodesLoops codes_loops = {count_equal<uint8_t>, count_equal<uint16_t>};

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
