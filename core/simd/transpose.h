// Squares of bytes turned, for loops that make codes slot by slot and store them row by row.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

// Sixteen rows of sixteen bytes: four times the first and second halves are interleaved.
inline void transpose_bytes(__m128i (&a)[16]) {
    __m128i b[16];
    for (int pass = 0; pass < 4; ++pass) {
        for (int at = 0; at < 8; ++at) {
            b[2 * at] = _mm_unpacklo_epi8(a[at], a[at + 8]);
            b[2 * at + 1] = _mm_unpackhi_epi8(a[at], a[at + 8]);
        }
        for (int at = 0; at < 16; ++at) a[at] = b[at];
    }
}

}  // namespace
}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
#endif
