// Ternary models on bits: sums over the rows whose bit is set, and Hamming distances under a mask.
#include "simd/ternary_loops.h"

#include "simd/levels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

// -- Sums where a bit is set
// ---------------------------------------------------------------------------------

constexpr int kSumLanes = 32;

#if defined(__AVX512VPOPCNTDQ__)
typedef __m512d Reals;
inline Reals where(uint64_t bits, Reals values) {
    return _mm512_maskz_mov_pd(static_cast<__mmask8>(bits), values);
}
#else
#if defined(__AVX2__)
constexpr int kRealBytes = 32;
#else
constexpr int kRealBytes = 16;
#endif
typedef double Reals __attribute__((vector_size(kRealBytes)));
typedef uint64_t Masks __attribute__((vector_size(kRealBytes)));

inline Reals where(uint64_t bits, Reals values) {
    Masks lane;
    for (int at = 0; at < kRealBytes / 8; ++at) lane[at] = uint64_t{1} << at;
    const Masks set = reinterpret_cast<Masks>((lane & bits) != 0);
    return reinterpret_cast<Reals>(reinterpret_cast<Masks>(values) & set);
}
#endif
typedef double LooseReals __attribute__((vector_size(sizeof(Reals)), aligned(8), may_alias));

struct LaneSums {
    static constexpr int kWidth = sizeof(Reals) / 8, kVectors = kSumLanes / kWidth;
    Reals sums[kVectors] = {};

    void add(uint64_t bits, const double* values) {
        for (int at = 0; at < kVectors; ++at)
            sums[at] += where(bits >> (at * kWidth),
                              *reinterpret_cast<const LooseReals*>(values + at * kWidth));
    }
    double total() const {
        double lanes[kSumLanes];
        __builtin_memcpy(lanes, sums, sizeof lanes);
        for (int half = kSumLanes / 2; half; half /= 2)
            for (int at = 0; at < half; ++at) lanes[at] += lanes[at + half];
        return lanes[0];
    }
};

double sum_where(const uint64_t* bits, const double* values, int64_t n_words) {
    LaneSums sums;
    for (int64_t word = 0; word < n_words; ++word)
        for (int half = 0; half < 64; half += kSumLanes)
            sums.add(bits[word] >> half, values + word * 64 + half);
    return sums.total();
}

// -- Distances under a mask
// ----------------------------------------------------------------------------------
//
// A lane of a vector is a row, so that no sum goes across lanes: kLanes rows, some vectors of them,
// are turned around in a tile [word][row], then each class meets the tile, one word of all rows at
// a time. Several vectors share the two words of a class and need not wait for each other's sums.

constexpr int64_t kTileWords = 64;

#if defined(__AVX512VPOPCNTDQ__)
constexpr int kLanes = 32;
#elif defined(__AVX2__)
constexpr int kLanes = 4;
#else
constexpr int kLanes = 1;
#endif
struct alignas(64) Tile {
    uint64_t words[kTileWords * kLanes];
};

// Words of rows [begin, end) of a tile, from rows that are `stride` words apart; of rows from
// `used` on there are none.
void turn(const uint64_t* rows, int64_t stride, int64_t begin, int64_t end, int64_t used,
          int64_t count, uint64_t* tile) {
    for (int64_t row = begin; row < end; ++row)
        for (int64_t word = 0; word < count; ++word)
            tile[word * kLanes + row] = row < used ? rows[row * stride + word] : 0;
}

#if defined(__AVX512VPOPCNTDQ__)
// Eight words of eight rows: three rounds that exchange single words, pairs and halves.
inline void turn_eight(const uint64_t* rows, int64_t stride, uint64_t* tile) {
    __m512i line[8], pair[8], four[8];
    for (int row = 0; row < 8; ++row) line[row] = _mm512_loadu_si512(rows + row * stride);
    for (int at = 0; at < 8; at += 2) {
        pair[at] = _mm512_unpacklo_epi64(line[at], line[at + 1]);
        pair[at + 1] = _mm512_unpackhi_epi64(line[at], line[at + 1]);
    }
    const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13),
                  high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    for (int half = 0; half < 8; half += 4)
        for (int odd = 0; odd < 2; ++odd) {
            const __m512i a = pair[half + odd], b = pair[half + 2 + odd];
            four[half + odd] = _mm512_permutex2var_epi64(a, low, b);  // words 0 + odd and 4 + odd
            four[half + 2 + odd] =
                _mm512_permutex2var_epi64(a, high, b);  // words 2 + odd and 6 + odd
        }
    for (int word = 0; word < 4; ++word) {
        const __m512i a = four[word], b = four[4 + word];
        _mm512_store_si512(tile + word * kLanes, _mm512_shuffle_i64x2(a, b, 0x44));
        _mm512_store_si512(tile + (word + 4) * kLanes, _mm512_shuffle_i64x2(a, b, 0xEE));
    }
}

inline void turn_rows(const uint64_t* rows, int64_t stride, int64_t used, int64_t count,
                      uint64_t* tile) {
    for (int64_t row = 0; row < kLanes; row += 8) {
        int64_t word = 0;
        if (row + 8 <= used)
            for (; word + 8 <= count; word += 8)
                turn_eight(rows + row * stride + word, stride, tile + word * kLanes + row);
        turn(rows + word, stride, row, row + 8, used, count - word, tile + word * kLanes);
    }
}

// totals[row] = number of bits of (tile ^ plus) & used over all words.
inline void count(const uint64_t* tile, const uint64_t* plus, const uint64_t* used, int64_t n_words,
                  uint64_t* totals) {
    constexpr int kVectors = kLanes / 8;
    __m512i total[kVectors] = {};
    for (int64_t word = 0; word < n_words; ++word, tile += kLanes) {
        const __m512i sign = _mm512_set1_epi64(static_cast<int64_t>(plus[word]));
        const __m512i mask = _mm512_set1_epi64(static_cast<int64_t>(used[word]));
        for (int at = 0; at < kVectors; ++at)
            total[at] = _mm512_add_epi64(
                total[at], _mm512_popcnt_epi64((_mm512_load_si512(tile + at * 8) ^ sign) & mask));
    }
    for (int at = 0; at < kVectors; ++at) _mm512_storeu_si512(totals + at * 8, total[at]);
}
#else
inline void turn_rows(const uint64_t* rows, int64_t stride, int64_t used, int64_t count,
                      uint64_t* tile) {
    turn(rows, stride, 0, kLanes, used, count, tile);
}

#if defined(__AVX2__)
// Nibbles looked up in a table of 16 counts; a byte holds the counts of 16 words and is then
// emptied.
inline void count(const uint64_t* tile, const uint64_t* plus, const uint64_t* used, int64_t n_words,
                  uint64_t* totals) {
    constexpr int64_t kBeforeFull = 16;
    const __m256i table =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i nibble = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    __m256i total = zero;
    for (int64_t begin = 0; begin < n_words; begin += kBeforeFull) {
        const int64_t end = begin + kBeforeFull < n_words ? begin + kBeforeFull : n_words;
        __m256i sums = zero;
        for (int64_t word = begin; word < end; ++word) {
            const __m256i rows =
                _mm256_load_si256(reinterpret_cast<const __m256i*>(tile + word * kLanes));
            const __m256i differ = (rows ^ _mm256_set1_epi64x(static_cast<int64_t>(plus[word]))) &
                                   _mm256_set1_epi64x(static_cast<int64_t>(used[word]));
            sums = _mm256_add_epi8(sums, _mm256_shuffle_epi8(table, differ & nibble));
            sums = _mm256_add_epi8(
                sums, _mm256_shuffle_epi8(table, _mm256_srli_epi16(differ, 4) & nibble));
        }
        total = _mm256_add_epi64(total, _mm256_sad_epu8(sums, zero));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(totals), total);
}
#else
inline void count(const uint64_t* tile, const uint64_t* plus, const uint64_t* used, int64_t n_words,
                  uint64_t* totals) {
    totals[0] = 0;
    for (int64_t word = 0; word < n_words; ++word)
        totals[0] +=
            static_cast<uint64_t>(__builtin_popcountll((tile[word] ^ plus[word]) & used[word]));
}
#endif
#endif

void distances(const uint64_t* rows, int64_t n_rows, TernaryPlanes planes, int32_t* distance) {
    Tile tile;
    for (int64_t row = 0; row < n_rows; row += kLanes) {
        const int64_t used = n_rows - row < kLanes ? n_rows - row : kLanes;
        for (int64_t first = 0; first < planes.n_words; first += kTileWords) {
            const int64_t words =
                planes.n_words - first < kTileWords ? planes.n_words - first : kTileWords;
            turn_rows(rows + row * planes.n_words + first, planes.n_words, used, words, tile.words);
            for (int64_t of = 0; of < planes.n_classes; ++of) {
                const int64_t plane = of * planes.n_words + first;
                uint64_t totals[kLanes];
                count(tile.words, planes.plus + plane, planes.used + plane, words, totals);
                int32_t* out =
                    distance + of * kTernaryRows + row;  // the lanes of no row have their place too
                if (first)
                    for (int lane = 0; lane < kLanes; ++lane)
                        out[lane] += static_cast<int32_t>(totals[lane]);
                else
                    for (int lane = 0; lane < kLanes; ++lane)
                        out[lane] = static_cast<int32_t>(totals[lane]);
            }
        }
    }
}

}  // namespace

extern const TernaryLoops ternary_loops;
const TernaryLoops ternary_loops = {sum_where, distances};

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
