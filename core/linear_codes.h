// Codes as a design matrix of the linear solver: where the weights of a code are, and how blocks of
// rows read them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "codes.h"
#include "linear_design.h"
#include "parallel.h"

namespace kernelight {

// Where the weights of codes are: slot s with code c has the weights of entry segment_entry[g] +
// local[s << bits | c], where g is the segment of s. Only codes that occur have entries; all others
// of a segment share one whose weights are 0. Where there is room for a copy of the codes as ranks
// within their slots (see code_ranks), that look-up is done once, and a slot of rank r has
// the entry first[s] + r; `local` is then null.
struct CodeLayout {
    const uint16_t *local, *first;
    const int64_t *segment_slot,
        *segment_entry;  // first slot and first entry of each segment, and one past the last
    const int64_t* part_segment;  // first segment of each part, and one past the last
    int64_t n_parts;

    int64_t first_slot(int64_t part) const { return segment_slot[part_segment[part]]; }

    // Whether parts, segments and slots follow each other without a gap, and every entry lies in
    // its segment.
    bool valid(int64_t n_segments, int64_t n_slots, int bits) const {
        const auto grows = [](const int64_t* at, int64_t count, int64_t end) {
            return at[0] == 0 && at[count] == end && std::is_sorted(at, at + count + 1);
        };
        if (!grows(part_segment, n_parts, n_segments) ||
            !grows(segment_slot, n_segments, n_slots) ||
            !grows(segment_entry, n_segments, segment_entry[n_segments]))
            return false;
        for (int64_t g = 0; local && g < n_segments; ++g) {
            const int64_t size = segment_entry[g + 1] - segment_entry[g];
            const auto outside = [size](uint16_t entry) { return entry >= size; };
            if (std::any_of(local + (segment_slot[g] << bits),
                            local + (segment_slot[g + 1] << bits), outside))
                return false;
        }
        return true;
    }
};

// counts[s << bits | c] = how many rows have code c in slot s, or, for bool, whether any has; empty
// rows have none.
template <class Slot, class Count>
void code_histogram(const CodeRows<Slot>& rows, int bits, Count* counts, int threads) {
    parallel_for(threads, rows.n_slots, [&](int64_t begin, int64_t end) {
        std::fill(counts + (begin << bits), counts + (end << bits), Count(0));
        for (int64_t row = 0; row < rows.n_rows; ++row) {
            if (rows.empty && rows.empty[row]) continue;
            const Slot* codes = rows.values + row * rows.n_slots;
            for (int64_t slot = begin; slot < end; ++slot) {
                Count& count = counts[(slot << bits) + codes[slot]];
                count = static_cast<Count>(count + 1);
            }
        }
    });
}

namespace detail {

// How many slots to look up at a time: their tables of 2^bits entries fill half of the first cache.
template <class Entry>
int64_t table_slots(int bits) {
    return std::max<int64_t>(1, ((int64_t{1} << 14) / static_cast<int64_t>(sizeof(Entry))) >> bits);
}

// entries[s] = table[s << bits | codes[s]]. A function of its own, because bytes that are written
// could be any variable of a caller.
template <class Slot, class Entry>
void look_up(const Slot* __restrict codes, int64_t count, int bits, const Entry* __restrict table,
             Entry* __restrict entries) {
    const int64_t width = int64_t{1} << bits;
#pragma GCC unroll 8
    for (int64_t slot = 0; slot < count; ++slot, table += width) entries[slot] = table[codes[slot]];
}

}  // namespace detail

// ranks[i, s] = local[s << bits | code] - first[s]; an empty row has rank 0 everywhere. A block of
// rows at a time, so that rows stay in the second cache while all slots are looked up.
template <class Slot>
void code_ranks(const CodeRows<Slot>& rows, int bits, const uint16_t* local, const uint16_t* first,
                Slot* ranks, int threads) {
    std::vector<Slot> table(static_cast<size_t>(rows.n_slots << bits));
    for (int64_t slot = 0; slot < rows.n_slots; ++slot)
        for (int64_t at = slot << bits; at < (slot + 1) << bits; ++at)
            table[static_cast<size_t>(at)] = static_cast<Slot>(local[at] - first[slot]);
    const int64_t step = detail::table_slots<Slot>(bits);
    parallel_for(threads, rows.n_rows, [&](int64_t begin, int64_t end) {
        for (int64_t first_row = begin; first_row < end; first_row += kBlock) {
            const int64_t end_row = std::min<int64_t>(first_row + kBlock, end);
            for (int64_t base = 0; base < rows.n_slots; base += step) {
                const int64_t count = std::min(step, rows.n_slots - base);
                for (int64_t row = first_row; row < end_row; ++row) {
                    const int64_t at = row * rows.n_slots + base;
                    if (row + kBlock < end)  // the next block is on its way meanwhile
                        for (int64_t ahead = 0; ahead < count;
                             ahead += 64 / static_cast<int64_t>(sizeof(Slot))) {
                            __builtin_prefetch(rows.values + at + kBlock * rows.n_slots + ahead);
                            __builtin_prefetch(ranks + at + kBlock * rows.n_slots + ahead, 1);
                        }
                    if (rows.empty && rows.empty[row]) std::fill_n(ranks + at, count, Slot(0));
                    else
                        detail::look_up(rows.values + at, count, bits,
                                        table.data() + (base << bits), ranks + at);
                }
            }
        }
    });
}

template <class Slot, class RealType>
class CodeDesign {
   public:
    using Real = RealType;
    static constexpr int kRows = kBlock;  // rows in a block

    // What one block of rows needs: the entries of its slots. With one output, margins may be
    // looked up by rank instead; then only the rows that change need entries.
    struct Scratch {
        bool by_rank;
        std::vector<uint16_t> entries;
        std::vector<uint8_t> tiles;
        std::vector<int32_t> counts;
    };

    CodeDesign(const CodeRows<Slot>& rows, const CodeLayout& layout, int bits, int simd)
        : rows_(rows),
          layout_(layout),
          bits_(bits),
          loops_(codes_loops(simd)),
          linear_(linear_loops<RealType>(simd)),
          stride_(detail::round_up(rows.n_slots, kLine) + kLine),
          factor_(Real(1) / std::sqrt(static_cast<Real>(rows.n_slots))) {}

    int64_t n_rows() const { return rows_.n_rows; }
    int64_t n_parts() const { return layout_.n_parts; }
    int64_t work(int64_t) const { return rows_.n_slots; }
    Real row_factor(int64_t row) const {
        return rows_.empty && rows_.empty[row] ? Real(0) : factor_;
    }

    Scratch scratch(int threads, int outputs) const {
        const bool by_rank = outputs == 1 && sizeof(Slot) == 1 && sizeof(Real) == 4 &&
                             layout_.first && linear_.rank_dots;
        return {by_rank, std::vector<uint16_t>(static_cast<size_t>(kBlock * stride_)),
                std::vector<uint8_t>(static_cast<size_t>(threads * kBlock * kCountBytes)),
                std::vector<int32_t>(static_cast<size_t>(threads * kBlock * kBlock))};
    }

    // A few slots at a time, so that their tables stay in the first cache; meanwhile the next rows
    // are on their way.
    void fetch(int64_t part, const int32_t* rows, int64_t count, const int32_t* next,
               int64_t next_count, Scratch& scratch) const {
        const int64_t first = layout_.first_slot(part), end = layout_.first_slot(part + 1);
        for (int64_t at = 0; at < next_count; ++at) {
            const char* line =
                reinterpret_cast<const char*>(rows_.values + int64_t{next[at]} * rows_.n_slots);
            for (int64_t byte = first * sizeof(Slot);
                 byte < end * static_cast<int64_t>(sizeof(Slot)); byte += 64)
                __builtin_prefetch(line + byte);
        }
        if (scratch.by_rank) return;
        if (layout_.first) {
            for (int64_t at = 0; at < count; ++at) look_up_ranks(rows[at], at, first, end, scratch);
            return;
        }
        const int64_t step = detail::table_slots<uint16_t>(bits_);
        for (int64_t base = first; base < end; base += step) {
            const int64_t stop = std::min(base + step, end);
            for (int64_t at = 0; at < count; ++at)
                detail::look_up(rows_.values + int64_t{rows[at]} * rows_.n_slots + base,
                                stop - base, bits_, layout_.local + (base << bits_),
                                scratch.entries.data() + at * stride_ + base);
        }
    }

    void dots(int64_t part, const OutputLoops<Real>& loops, int outputs, const int32_t* rows,
              int64_t count, const Scratch& scratch, const Real* weights, Real* sums) const {
        std::fill_n(sums, count * outputs, Real(0));
        if constexpr (sizeof(Slot) == 1 && sizeof(Real) == 4)
            if (scratch.by_rank) return rank_dots(part, rows, count, weights, sums);
        for (int64_t g = layout_.part_segment[part]; g < layout_.part_segment[part + 1]; ++g) {
            const int64_t slot = layout_.segment_slot[g];
            loops.code_dots(scratch.entries.data() + slot, stride_, count,
                            layout_.segment_slot[g + 1] - slot,
                            weights + layout_.segment_entry[g] * outputs, sums);
        }
    }

    // change: (count, outputs), of the rows of the block that `which` names.
    void add(int64_t part, const OutputLoops<Real>& loops, int outputs, const int32_t* rows,
             const int32_t* which, int64_t count, Scratch& scratch, const Real* change,
             Real* weights) const {
        if (scratch.by_rank)
            return rank_add(part, loops, rows, which, count, scratch, change, weights);
        for (int64_t g = layout_.part_segment[part]; g < layout_.part_segment[part + 1]; ++g) {
            const int64_t slot = layout_.segment_slot[g];
            loops.code_add(scratch.entries.data() + slot, stride_, which, count,
                           layout_.segment_slot[g + 1] - slot, change,
                           weights + layout_.segment_entry[g] * outputs);
        }
    }

    // Equal codes are whole numbers, exact in any order: all parts of a thread are counted at once.
    void gram(const LinearLoops<Real>&, int member, int64_t first_part, int64_t end_part,
              const int32_t* rows, int64_t count, Scratch& scratch, Real* slabs, bool* used) const {
        for (int64_t part = first_part; part < end_part; ++part) used[part] = part == first_part;
        if (first_part == end_part) return;
        const int64_t first = layout_.first_slot(first_part), end = layout_.first_slot(end_part);
        Real* slab = slabs + first_part * kBlock * kBlock;
        std::fill_n(slab, kBlock * kBlock, Real(0));
        uint8_t* tile = scratch.tiles.data() + int64_t{member} * kBlock * kCountBytes;
        int32_t* counts = scratch.counts.data() + int64_t{member} * kBlock * kBlock;
        constexpr int64_t most = kCountBytes / static_cast<int64_t>(sizeof(Slot));
        const auto count_equal = sizeof(Slot) == 1 ? loops_.count_equal_8 : loops_.count_equal_16;
        const int64_t padded = detail::round_up(count, kTile);
        for (int64_t base = first; base < end; base += most) {
            const int64_t slots = std::min(most, end - base),
                          bytes = slots * static_cast<int64_t>(sizeof(Slot));
            const int64_t stride = detail::round_up(bytes, kCountAlign);
            const Real extra = static_cast<Real>(
                (stride - bytes) / static_cast<int64_t>(sizeof(Slot)));  // padding is equal too
            for (int64_t at = 0; at < padded; ++at) {
                uint8_t* to = tile + at * stride;
                if (at < count)
                    std::memcpy(to, rows_.values + int64_t{rows[at]} * rows_.n_slots + base, bytes);
                std::memset(to + (at < count ? bytes : 0), 0, stride - (at < count ? bytes : 0));
            }
            for (int64_t i = 0; i < padded; i += kTile) {
                const int64_t columns = i + kTile;
                count_equal(tile + i * stride, kTile, tile, columns, stride, counts);
                for (int64_t r = 0; r < kTile; ++r)
                    for (int64_t j = 0; j <= i + r; ++j)
                        slab[(i + r) * kBlock + j] +=
                            static_cast<Real>(counts[r * columns + j]) - extra;
            }
        }
    }

   private:
    // The entries of slots first ... end of a row, which is the at-th of its block.
    void look_up_ranks(int64_t row, int64_t at, int64_t first, int64_t end,
                       Scratch& scratch) const {
        const Slot* ranks = rows_.values + row * rows_.n_slots + first;
        uint16_t* entries = scratch.entries.data() + at * stride_ + first;
        if constexpr (sizeof(Slot) == 1)
            linear_.code_entries_8(ranks, layout_.first + first, end - first, entries);
        else linear_.code_entries_16(ranks, layout_.first + first, end - first, entries);
    }

    void rank_dots(int64_t part, const int32_t* rows, int64_t count, const Real* weights,
                   Real* sums) const {
        const Slot* ranks[kBlock];
        for (int64_t g = layout_.part_segment[part]; g < layout_.part_segment[part + 1]; ++g) {
            const int64_t slot = layout_.segment_slot[g], entry = layout_.segment_entry[g];
            for (int64_t at = 0; at < count; ++at)
                ranks[at] = rows_.values + int64_t{rows[at]} * rows_.n_slots + slot;
            linear_.rank_dots(ranks, count, layout_.first + slot,
                              layout_.segment_slot[g + 1] - slot,
                              layout_.segment_entry[g + 1] - entry, weights + entry, sums);
        }
    }

    // A row at a time: its entries stay in the first cache until they are used.
    void rank_add(int64_t part, const OutputLoops<Real>& loops, const int32_t* rows,
                  const int32_t* which, int64_t count, Scratch& scratch, const Real* change,
                  Real* weights) const {
        const int32_t here = 0;
        for (int64_t at = 0; at < count; ++at) {
            look_up_ranks(rows[which[at]], 0, layout_.first_slot(part),
                          layout_.first_slot(part + 1), scratch);
            for (int64_t g = layout_.part_segment[part]; g < layout_.part_segment[part + 1]; ++g) {
                const int64_t slot = layout_.segment_slot[g];
                loops.code_add(scratch.entries.data() + slot, stride_, &here, 1,
                               layout_.segment_slot[g + 1] - slot, change + at,
                               weights + layout_.segment_entry[g]);
            }
        }
    }

    // Entries of a cache line. One more than the slots fill: rows whose length is a power of two
    // would share the same few lines of the first cache.
    static constexpr int64_t kLine = 32;
    static constexpr int64_t kTile = 8;  // a multiple of the blocks of count_equal
    CodeRows<Slot> rows_;
    CodeLayout layout_;
    int bits_;
    const CodesLoops& loops_;
    const LinearLoops<Real>& linear_;
    int64_t stride_;  // of entries
    Real factor_;
};

}  // namespace kernelight
