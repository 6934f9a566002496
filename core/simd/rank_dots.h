// Inner products of codes with the weights of one output, by look-ups in registers.
//
// With one output an entry is a single number, and a row of codes is a walk over numbers, one load
// each. But a slot has few codes (28 on average for the 50,000 rows of IJCNN), so that its weights
// fit in a few registers, and one permutation looks up 16 rows. For that the ranks of a block are
// transposed, 16 rows x 64 slots at a time: the codes of 16 rows in one slot then lie side by side.
//
// AVX-512 only: registers of 8 numbers would hold too small a part of a slot to gain anything.
#pragma once

#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "simd/linear_loops.h"

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

#if defined(__AVX512F__)

constexpr int kLookRows = 16;   // of one permutation
constexpr int kLookSlots = 64;  // that are transposed at a time
static_assert(kBlock % kLookRows == 0, "a block has whole groups of rows");

// tile[(s % 16) * 64 + s / 16 * 16 + r] = rows[r][s] for 16 rows and 64 slots: four rounds of
// interleaving bytes transpose 16 x 16 of them in each quarter of a register.
inline void transpose_ranks(const uint8_t* const* rows, uint64_t slots, uint8_t* tile) {
    __m512i a[kLookRows], b[kLookRows];
    for (int r = 0; r < kLookRows; ++r) a[r] = _mm512_maskz_loadu_epi8(slots, rows[r]);
    const auto interleave = [](const __m512i* from, __m512i* to) {
#pragma GCC unroll 8
        for (int at = 0; at < kLookRows / 2; ++at) {
            to[2 * at] = _mm512_unpacklo_epi8(from[at], from[at + kLookRows / 2]);
            to[2 * at + 1] = _mm512_unpackhi_epi8(from[at], from[at + kLookRows / 2]);
        }
    };
    interleave(a, b);
    interleave(b, a);
    interleave(a, b);
    interleave(b, a);
    for (int at = 0; at < kLookRows; ++at) _mm512_store_si512(tile + at * 64, a[at]);
}

// As many of the next 16 numbers as are among the `left`.
inline __m512 load_some(const float* from, int64_t left) {
    const int64_t count = left < 0 ? 0 : (left < 16 ? left : 16);
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
}

// sums[r] += weights[first[s] + ranks[r][s]] over `count` slots, for up to kBlock rows; the last
// slot has the entries up to `entries`. Slots are added in their order.
void rank_dots(const uint8_t* const* ranks, int64_t rows, const uint16_t* first, int64_t count,
               int64_t entries, const float* weights, float* sums) {
    constexpr int kGroups = kBlock / kLookRows;
    alignas(64) uint8_t tile[kGroups][kLookRows * 64];
    alignas(64) float total[kBlock] = {};
    const int groups = static_cast<int>((rows + kLookRows - 1) / kLookRows);
    __m512 sum[kGroups];
    for (int group = 0; group < kGroups; ++group) sum[group] = _mm512_setzero_ps();
    for (int64_t base = 0; base < count; base += kLookSlots) {
        const int64_t here = count - base < kLookSlots ? count - base : kLookSlots;
        const uint64_t slots = here < 64 ? (uint64_t{1} << here) - 1 : ~uint64_t{0};
        for (int group = 0; group < groups; ++group) {
            const uint8_t* from[kLookRows];
            for (int r = 0; r < kLookRows; ++r) {
                const int64_t row = group * kLookRows + r;
                from[r] = ranks[row < rows ? row : rows - 1] + base;
            }
            transpose_ranks(from, slots, tile[group]);
        }
        for (int64_t s = 0; s < here; ++s) {
            const int64_t slot = base + s, begin = first[slot];
            const int64_t size = (slot + 1 < count ? first[slot + 1] : entries) - begin;
            const float* table = weights + begin;
            const int64_t place = s % 16 * 64 + s / 16 * 16;
            const __m512 low = load_some(table, size), high = load_some(table + 16, size - 16);
            __m512i index[kGroups];
#pragma GCC unroll 4
            for (int group = 0; group < kGroups; ++group)
                index[group] = _mm512_cvtepu8_epi32(
                    _mm_load_si128(reinterpret_cast<const __m128i*>(tile[group] + place)));
            if (size <= 32) {
#pragma GCC unroll 4
                for (int group = 0; group < kGroups; ++group)
                    sum[group] =
                        _mm512_add_ps(sum[group], _mm512_permutex2var_ps(low, index[group], high));
                continue;
            }
            __m512 found[kGroups];
#pragma GCC unroll 4
            for (int group = 0; group < kGroups; ++group)
                found[group] = _mm512_permutex2var_ps(low, index[group], high);
            for (int64_t from = 32; from < size; from += 32) {
                const __m512 next = load_some(table + from, size - from),
                             after = load_some(table + from + 16, size - from - 16);
                const __m512i limit = _mm512_set1_epi32(static_cast<int>(from));
#pragma GCC unroll 4
                for (int group = 0; group < kGroups; ++group) {
                    const __mmask16 above = _mm512_cmpge_epi32_mask(index[group], limit);
                    found[group] = _mm512_mask_mov_ps(
                        found[group], above, _mm512_permutex2var_ps(next, index[group], after));
                }
            }
#pragma GCC unroll 4
            for (int group = 0; group < kGroups; ++group)
                sum[group] = _mm512_add_ps(sum[group], found[group]);
        }
    }
    for (int group = 0; group < kGroups; ++group)
        _mm512_store_ps(total + group * kLookRows, sum[group]);
    for (int64_t row = 0; row < rows; ++row) sums[row] += total[row];
}

#endif

}  // namespace
}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
