// Ferns: numbers to bins, and tests of bins to codes, 64 rows side by side. Comparisons alone: the
// same on every level.
#include "simd/fern_loops.h"

#include "simd/levels.h"
#include "simd/transpose.h"

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

// 32 bytes with AVX-512 too, as for codes_loops.cpp: comparisons of bytes go through masks there.
#if defined(__AVX2__)
constexpr int64_t kBytes = 32;
#else
constexpr int64_t kBytes = 16;
#endif
constexpr int64_t kVectors = kFernRows / kBytes;
typedef int8_t Bytes __attribute__((vector_size(kBytes), aligned(1), may_alias));
typedef uint8_t Bits __attribute__((vector_size(kBytes), aligned(1), may_alias));

// Up to this many cuts, counting them one by one is faster than a binary search.
template <class Value>
constexpr int64_t kFewCuts = sizeof(Value) == 4 ? 128 : 64;
constexpr int kAbreast = 8;  // rows that are searched side by side

// #{cuts < x} by halves, in step for some rows: cuts[below - 1] < x stays true, and the number is at
// most below + length. Not by instructions that gather, which measured four times slower.
template <class Value>
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("no-tree-vectorize"), noinline))
#endif
void search(const Value* x, const Value* cuts, int64_t count, int32_t* below) {
    for (int64_t r = 0; r < kFernRows; r += kAbreast) {
        uint32_t at[kAbreast] = {};
        for (int64_t length = count; length > 1; length -= length / 2) {
            const auto half = static_cast<uint32_t>(length / 2);
            const Value* middle = cuts + half - 1;
            for (int i = 0; i < kAbreast; ++i)
                at[i] += half & -static_cast<uint32_t>(middle[at[i]] < x[r + i]);
        }
        for (int i = 0; i < kAbreast; ++i)
            below[r + i] = static_cast<int32_t>(at[i] + (cuts[at[i]] < x[r + i]));
    }
}

// Vectors of numbers and of integers as wide, which comparisons give.
#if defined(__AVX512F__)
constexpr int64_t kWide = 64;
#else
constexpr int64_t kWide = kBytes;
#endif
template <class Value>
struct Lanes;
template <>
struct Lanes<float> {
    typedef float Numbers __attribute__((vector_size(kWide), aligned(1), may_alias));
    typedef int32_t Counts __attribute__((vector_size(kWide)));
};
template <>
struct Lanes<double> {
    typedef double Numbers __attribute__((vector_size(kWide), aligned(1), may_alias));
    typedef int64_t Counts __attribute__((vector_size(kWide)));
};

// #{cuts < x} cut by cut; the counts of four vectors of rows stay in registers.
template <class Value>
void count_cuts(const Value* x, const Value* cuts, int64_t count, int32_t* below) {
    using Numbers = typename Lanes<Value>::Numbers;
    using Counts = typename Lanes<Value>::Counts;
    constexpr int64_t lanes = kWide / sizeof(Value), vectors = 4;
    for (int64_t first = 0; first < kFernRows; first += lanes * vectors) {
        Numbers rows[vectors];
        Counts found[vectors] = {};
        for (int64_t v = 0; v < vectors; ++v)
            rows[v] = *reinterpret_cast<const Numbers*>(x + first + v * lanes);
        for (int64_t at = 0; at < count; ++at) {
            const Numbers cut = Numbers{} + cuts[at];
            for (int64_t v = 0; v < vectors; ++v)
                found[v] -= reinterpret_cast<Counts>(cut < rows[v]);  // true is -1
        }
        for (int64_t v = 0; v < vectors; ++v)
            for (int64_t lane = 0; lane < lanes; ++lane)
                below[first + v * lanes + lane] = static_cast<int32_t>(found[v][lane]);
    }
}

template <class Value>
void bins(const Value* x, const Value* cuts, int64_t count, int8_t missing, int8_t* bins) {
    int32_t below[kFernRows];
    if (count > kFewCuts<Value>) search(x, cuts, count, below);
    else count_cuts(x, cuts, count, below);
    for (int64_t r = 0; r < kFernRows; ++r) {
        const auto bin = static_cast<int8_t>(below[r] - kBinOrigin);
        bins[r] = x[r] == x[r] ? bin : missing;
    }
}

// The bits of tests [0, depth) of one slot for all rows; the last test is the highest bit.
inline void slot_bits(const int8_t* bins, const int32_t* places, const int8_t* ranks, int64_t depth,
                      uint8_t* out) {
    Bits code[kVectors] = {};
    for (int64_t at = depth; at-- > 0;) {
        const int8_t* column = bins + int64_t{places[at]} * kFernRows;
        const Bytes rank = Bytes{} + ranks[at];
        for (int64_t v = 0; v < kVectors; ++v) {
            const Bytes bin = *reinterpret_cast<const Bytes*>(column + v * kBytes);
            code[v] = code[v] + code[v] - reinterpret_cast<Bits>(bin > rank);  // true is -1
        }
    }
    for (int64_t v = 0; v < kVectors; ++v) *reinterpret_cast<Bits*>(out + v * kBytes) = code[v];
}

constexpr int64_t kTileSlots = 16;

// codes[r * stride + slot] = tile[slot * kFernRows + r] of 16 slots.
void spread(const uint8_t* tile, int64_t slots, int64_t n_rows, uint8_t* codes, int64_t stride) {
    int64_t row = 0;
#if defined(__SSE2__)
    for (; slots == kTileSlots && row + 16 <= n_rows; row += 16) {
        __m128i a[16];
        for (int at = 0; at < 16; ++at)
            a[at] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tile + at * kFernRows + row));
        transpose_bytes(a);
        for (int at = 0; at < 16; ++at)
            _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + (row + at) * stride), a[at]);
    }
#endif
    for (; row < n_rows; ++row)
        for (int64_t slot = 0; slot < slots; ++slot)
            codes[row * stride + slot] = tile[slot * kFernRows + row];
}

// f(first slot, slots) for tiles of slots.
template <class F>
void each_tile(int64_t n_slots, F&& f) {
    for (int64_t base = 0; base < n_slots; base += kTileSlots)
        f(base, n_slots - base < kTileSlots ? n_slots - base : kTileSlots);
}

void codes_8(const int8_t* bins, const int32_t* places, const int8_t* ranks, int64_t n_slots,
             int64_t depth, int64_t n_rows, uint8_t* codes) {
    uint8_t tile[kTileSlots * kFernRows];
    each_tile(n_slots, [&](int64_t base, int64_t here) {
        for (int64_t slot = 0; slot < here; ++slot) {
            const int64_t first = (base + slot) * depth;
            slot_bits(bins, places + first, ranks + first, depth, tile + slot * kFernRows);
        }
        spread(tile, here, n_rows, codes + base, n_slots);
    });
}

// The first eight tests are the low byte.
void codes_16(const int8_t* bins, const int32_t* places, const int8_t* ranks, int64_t n_slots,
              int64_t depth, int64_t n_rows, uint16_t* codes) {
    const int64_t low_tests = depth < 8 ? depth : 8;
    uint8_t low[kTileSlots * kFernRows], high[kTileSlots * kFernRows];
    uint8_t low_rows[kFernRows * kTileSlots], high_rows[kFernRows * kTileSlots];
    each_tile(n_slots, [&](int64_t base, int64_t here) {
        for (int64_t slot = 0; slot < here; ++slot) {
            const int64_t first = (base + slot) * depth, next = first + low_tests;
            slot_bits(bins, places + first, ranks + first, low_tests, low + slot * kFernRows);
            slot_bits(bins, places + next, ranks + next, depth - low_tests,
                      high + slot * kFernRows);
        }
        spread(low, here, n_rows, low_rows, kTileSlots);
        spread(high, here, n_rows, high_rows, kTileSlots);
        for (int64_t row = 0; row < n_rows; ++row)
            for (int64_t slot = 0; slot < here; ++slot) {
                const int64_t at = row * kTileSlots + slot;
                codes[row * n_slots + base + slot] =
                    static_cast<uint16_t>(low_rows[at] | high_rows[at] << 8);
            }
    });
}

}  // namespace

extern const FernLoops fern_loops;
const FernLoops fern_loops = {bins<float>, bins<double>, codes_8, codes_16};

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
