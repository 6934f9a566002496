// Codes: (n, k) arrays of small integers, one slot a column. Counting equal slots, packing slots
// into words, and the column indices of the one-hot matrix.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "parallel.h"
#include "simd/codes_loops.h"
#include "simd/levels.h"

namespace kernelight {

inline const CodesLoops& codes_loops([[maybe_unused]] int simd) {
#if defined(KERNELIGHT_X86)
    const Level level = usable_level(simd);
    if (level == Level::avx512) return avx512::codes_loops;
    if (level == Level::avx2) return avx2::codes_loops;
#endif
    return baseline::codes_loops;
}

// Rows of codes; empty, where given, marks the rows that stand for nothing.
template <class Slot>
struct CodeRows {
    const Slot* values;
    const bool* empty;
    int64_t n_rows, n_slots;
};

namespace detail {

// No more threads than there is work for: starting one takes as long as 256 K steps of these loops.
inline int useful_threads(int threads, int64_t steps) {
    return static_cast<int>(std::min<int64_t>(threads, 1 + (steps >> 18)));
}

inline int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

// Slots [first, first + count) of rows [begin, end) as whole vectors in whole blocks of rows. What
// is added at the end of a row is `filler`, which differs between the two sides and so never
// counts.
template <class Slot>
void copy_tile(const CodeRows<Slot>& rows, int64_t begin, int64_t end, int64_t first, int64_t count,
               int64_t stride, int filler, uint8_t* tile) {
    const size_t used = static_cast<size_t>(count) * sizeof(Slot);
    for (int64_t row = begin; row < end; ++row, tile += stride) {
        std::memcpy(tile, rows.values + row * rows.n_slots + first, used);
        std::memset(tile + used, filler, static_cast<size_t>(stride) - used);
    }
}

}  // namespace detail

// counts[i, j] = number of slots in which row i of a equals row j of b; 0 where either row is
// empty.
//
// Blocked: a few rows of b (16 KB) stay in the first cache while a block of a passes by; long rows
// are cut into pieces of at most kCountBytes. A unit of work is a block of a against a range of b,
// so that one row against many uses all threads too.
template <class Slot>
void collisions(const CodeRows<Slot>& a, const CodeRows<Slot>& b, int32_t* counts, int threads,
                int simd) {
    const auto count_equal =
        sizeof(Slot) == 1 ? codes_loops(simd).count_equal_8 : codes_loops(simd).count_equal_16;
    const int64_t piece =
        std::min<int64_t>(kCountBytes / sizeof(Slot), std::max<int64_t>(a.n_slots, 1));
    const int64_t piece_stride = detail::round_up(piece * sizeof(Slot), kCountAlign);
    const int64_t block_a =
        detail::round_up(std::min<int64_t>(64, std::max<int64_t>(a.n_rows, 1)), kCountRowsA);
    const int64_t block_b = detail::round_up(16384 / piece_stride, kCountRowsB);
    threads = detail::useful_threads(threads, a.n_rows * b.n_rows * piece_stride / 32);
    const int64_t blocks = (a.n_rows + block_a - 1) / block_a;
    const int64_t ranges =
        blocks == 0 ? 0 : std::min((b.n_rows + block_b - 1) / block_b, 1 + 4 * threads / blocks);

    parallel_for(threads, blocks * ranges, [&](int64_t unit_begin, int64_t unit_end) {
        std::vector<uint8_t> tile_a(block_a * piece_stride), tile_b(block_b * piece_stride);
        std::vector<int32_t> found(block_a * block_b);
        for (int64_t unit = unit_begin; unit < unit_end; ++unit) {
            const int64_t a_begin = unit / ranges * block_a,
                          a_end = std::min(a.n_rows, a_begin + block_a);
            const int64_t a_rows = detail::round_up(a_end - a_begin, kCountRowsA);
            const int64_t range_begin = b.n_rows * (unit % ranges) / ranges;
            const int64_t range_end = b.n_rows * (unit % ranges + 1) / ranges;
            for (int64_t i = a_begin; i < a_end; ++i)
                std::fill(counts + i * b.n_rows + range_begin, counts + i * b.n_rows + range_end,
                          0);
            for (int64_t first = 0; first < a.n_slots; first += piece) {
                const int64_t slots = std::min(piece, a.n_slots - first);
                const int64_t stride = detail::round_up(slots * sizeof(Slot), kCountAlign);
                detail::copy_tile(a, a_begin, a_end, first, slots, stride, 0, tile_a.data());
                for (int64_t b_begin = range_begin; b_begin < range_end; b_begin += block_b) {
                    const int64_t b_end = std::min(range_end, b_begin + block_b);
                    const int64_t b_rows = detail::round_up(b_end - b_begin, kCountRowsB);
                    detail::copy_tile(b, b_begin, b_end, first, slots, stride, 1, tile_b.data());
                    count_equal(tile_a.data(), a_rows, tile_b.data(), b_rows, stride, found.data());
                    for (int64_t i = a_begin; i < a_end; ++i) {
                        if (a.empty && a.empty[i]) continue;
                        const int32_t* row = found.data() + (i - a_begin) * b_rows;
                        int32_t* out = counts + i * b.n_rows + b_begin;
                        for (int64_t j = 0; j < b_end - b_begin; ++j)
                            if (!b.empty || !b.empty[b_begin + j]) out[j] += row[j];
                    }
                }
            }
        }
    });
}

// Packing: a lane of 1, 2, 4, 8 or 16 bits for each slot. With m = 64 / lane slots a word, slot s
// of a row is in word s / m at bit (s % m) * lane; the rest of the last word is 0.
namespace detail {

// Eight slots of one bit, a byte each, as the bits of a byte, the first lowest: slot i is moved by
// 7 (8 - i) more bits to bit 56 + i, and no two products meet in a bit.
inline uint64_t pack_eight(const uint8_t* slots) {
    uint64_t bytes = 0;
    for (int at = 0; at < 8; ++at) bytes |= static_cast<uint64_t>(slots[at]) << (8 * at);
    return (bytes * 0x0102040810204080u) >> 56;
}

// kLane is a constant so that the compiler unrolls a whole word.
template <int kLane, class Slot>
uint64_t pack_word(const Slot* slots, int64_t count) {
    uint64_t bits = 0;
    if constexpr (kLane == 1 && sizeof(Slot) == 1) {
        if (count == 64) {
            for (int at = 0; at < 64; at += 8) bits |= pack_eight(slots + at) << at;
            return bits;
        }
    }
    if (count == 64 / kLane)
        for (int at = 0; at < 64 / kLane; ++at)
            bits |= static_cast<uint64_t>(slots[at]) << (at * kLane);
    else
        for (int64_t at = 0; at < count; ++at)
            bits |= static_cast<uint64_t>(slots[at]) << (at * kLane);
    return bits;
}

template <int kLane, class Slot>
void unpack_word(uint64_t bits, int64_t count, Slot* slots) {
    constexpr uint64_t mask = (uint64_t{1} << kLane) - 1;
    if (count == 64 / kLane)
        for (int at = 0; at < 64 / kLane; ++at)
            slots[at] = static_cast<Slot>((bits >> (at * kLane)) & mask);
    else
        for (int64_t at = 0; at < count; ++at)
            slots[at] = static_cast<Slot>((bits >> (at * kLane)) & mask);
}

// body(word, slots, count) for each word of each row, with pointers into both forms.
template <int kLane, class Slot, class Word, class Body>
void each_word(Slot* values, int64_t n_rows, int64_t n_slots, Word* words, int threads, Body body) {
    constexpr int64_t per_word = 64 / kLane;
    const int64_t n_words = (n_slots + per_word - 1) / per_word;
    parallel_for(
        useful_threads(threads, n_rows * n_slots), n_rows, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row)
                for (int64_t word = 0; word < n_words; ++word)
                    body(words[row * n_words + word], values + row * n_slots + word * per_word,
                         std::min(per_word, n_slots - word * per_word));
        });
}

// body(constant) with the constant of the lane's width.
template <class Body>
void with_lane(int lane_bits, Body body) {
    switch (lane_bits) {
        case 1: return body(std::integral_constant<int, 1>{});
        case 2: return body(std::integral_constant<int, 2>{});
        case 4: return body(std::integral_constant<int, 4>{});
        case 8: return body(std::integral_constant<int, 8>{});
        default: return body(std::integral_constant<int, 16>{});
    }
}

}  // namespace detail

template <class Slot>
void pack(const Slot* values, int64_t n_rows, int64_t n_slots, int lane_bits, uint64_t* words,
          int threads) {
    detail::with_lane(lane_bits, [&](auto lane) {
        detail::each_word<lane.value>(values, n_rows, n_slots, words, threads,
                                      [](uint64_t& word, const Slot* slots, int64_t count) {
                                          word = detail::pack_word<decltype(lane)::value>(slots,
                                                                                          count);
                                      });
    });
}

template <class Slot>
void unpack(const uint64_t* words, int64_t n_rows, int64_t n_slots, int lane_bits, Slot* values,
            int threads) {
    detail::with_lane(lane_bits, [&](auto lane) {
        detail::each_word<lane.value>(
            values, n_rows, n_slots, words, threads, [](uint64_t word, Slot* slots, int64_t count) {
                detail::unpack_word<decltype(lane)::value>(word, count, slots);
            });
    });
}

// The row pointers one_hot_columns needs: each row has either no entry or one for each slot.
template <class Index>
bool valid_indptr(const Index* indptr, size_t n_rows, size_t n_slots, size_t end) {
    if (indptr[0] != 0 || static_cast<size_t>(indptr[n_rows]) != end) return false;
    for (size_t row = 0; row < n_rows; ++row) {
        const auto step = static_cast<int64_t>(indptr[row + 1]) - static_cast<int64_t>(indptr[row]);
        if (step != 0 && step != static_cast<int64_t>(n_slots)) return false;
    }
    return true;
}

// The one-hot matrix: the entry of slot s with value c is in column s * 2^bits + c. Row i writes
// its n_slots columns from columns[indptr[i]] on, an empty row (indptr[i] == indptr[i + 1]) writes
// nothing.
template <class Slot, class Index>
void one_hot_columns(const Slot* values, int64_t n_rows, int64_t n_slots, int bits,
                     const Index* indptr, Index* columns, int threads) {
    threads = detail::useful_threads(threads, n_rows * n_slots);
    parallel_for(threads, n_rows, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            if (indptr[row] == indptr[row + 1]) continue;
            const Slot* slots = values + row * n_slots;
            Index* out = columns + indptr[row];
            for (int64_t s = 0; s < n_slots; ++s)
                out[s] = static_cast<Index>(s << bits) + static_cast<Index>(slots[s]);
        }
    });
}

}  // namespace kernelight
