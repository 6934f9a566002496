// Consistent weighted sampling in blocks: list the nonzeros, fill tables, scan. The definition is
// portable/kl_cws.h.
//
// Rows are taken a block at a time. The nonzeros of a block are listed once, ascending by expanded
// coordinate, with their logarithms; then for every kSlotBlock slots each coordinate's parameters
// are loaded once and met with all rows that have it, while the running minima of the block stay in
// cache. The caller chooses the block: small for dense rows (the minima stay in the first-level
// cache), large for sparse ones (or each load of parameters would serve one row).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "parallel.h"
#include "portable/kl_cws.h"
#include "rows.h"
#include "simd/cws_loops.h"

namespace kernelight {

// How a stored value becomes the weight that is hashed: |x - center| / (L1 norm of the row, if l1).
struct WeightRule {
    const double* center;  // null for 0
    bool l1;
};

// The divisor of a row's weights. Values whose sum would overflow are halved often enough first.
struct RowNorm {
    double scale = 1.0, norm = 1.0;

    double operator()(double size) const { return size * scale / norm; }

    // each(f) calls f(|value|) in column order: dense and sparse rows add up in the same order.
    template <class Each>
    static RowNorm l1(Each&& each) {
        for (const double scale : {1.0, 0x1p-64}) {
            double norm = 0.0;
            each([&](double size) { norm += size * scale; });
            if (std::isfinite(norm)) return {scale, norm};
        }
        return {};  // not reached: finite values scaled down cannot overflow
    }
};

// each_value(row, center, f): f(column, value - center) for every nonzero difference of a row.
template <class Value, class F>
void each_value(const DenseRows<Value>& rows, int64_t row, const double* center, F&& f) {
    if (!center) return rows.each(row, f);
    const Value* p = rows.values + row * rows.n_cols;
    each_nonzero(
        rows.n_cols, [=](int64_t col) { return static_cast<double>(p[col]) - center[col]; }, f);
}

template <class Value, class Index, class F>
void each_value(const CsrRows<Value, Index>& rows, int64_t row, const double*, F&& f) {
    rows.each(row, f);  // a centre goes with dense rows only
}

// f(expanded coordinate, weight) for every nonzero weight of a row.
template <class Rows, class F>
void each_weight(const Rows& rows, int64_t row, const WeightRule& rule, F&& f) {
    if (!rule.l1)
        return each_value(rows, row, rule.center, [&](int64_t col, double x) {
            f(2 * static_cast<uint64_t>(col) + (x < 0.0), std::fabs(x));
        });
    const RowNorm norm = RowNorm::l1([&](auto&& add) {
        each_value(rows, row, rule.center, [&](int64_t, double x) { add(std::fabs(x)); });
    });
    each_value(rows, row, rule.center, [&](int64_t col, double x) {
        const double weight = norm(std::fabs(x));
        if (weight > 0.0) f(2 * static_cast<uint64_t>(col) + (x < 0.0), weight);
    });
}

inline int64_t n_row_blocks(int64_t n_rows, int64_t row_block) {
    return (n_rows + row_block - 1) / row_block;
}

// counts[i] = nonzero weights of row i; used[c] = 1 for every expanded coordinate that occurs.
template <class Rows>
void cws_survey(const Rows& rows, const WeightRule& rule, int64_t* counts, uint8_t* used,
                int threads) {
    parallel_for(threads, rows.n_rows, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            int64_t count = 0;
            each_weight(rows, row, rule, [&](uint64_t coordinate, double) {
                ++count;
                // Threads write the same byte 1, and only where it is not there yet.
                if (used && !__atomic_load_n(&used[coordinate], __ATOMIC_RELAXED))
                    __atomic_store_n(&used[coordinate], uint8_t{1}, __ATOMIC_RELAXED);
            });
            counts[row] = count;
        }
    });
}

// The listing of all row blocks: block b owns entries [starts[b], starts[b + 1]).
struct CwsListing {
    int64_t n_rows, row_block;
    const int64_t* starts;
    int32_t* coordinate;
    int32_t* row;  // inside its block
    float* log_value;

    int64_t n_blocks() const { return n_row_blocks(n_rows, row_block); }
    int64_t rows_of(int64_t block) const { return std::min(row_block, n_rows - block * row_block); }
    CwsEntries entries(int64_t block) const {
        return {coordinate + starts[block], row + starts[block], log_value + starts[block],
                starts[block + 1] - starts[block]};
    }
};

// Stable ascending sort by coordinate, eleven bits a pass, to and fro between two places.
class CoordinateSort {
   public:
    void operator()(int64_t count, int32_t largest, int32_t* coordinate, int32_t* row,
                    float* value) {
        const auto size = static_cast<size_t>(count);
        if (size > rows_.size())
            coordinates_.resize(size), rows_.resize(size), values_.resize(size);
        Entries here{coordinate, row, value},
            there{coordinates_.data(), rows_.data(), values_.data()};
        for (int shift = 0; shift == 0 || (largest >> shift) > 0; shift += 11) {
            int64_t starts[2049] = {0};
            for (int64_t at = 0; at < count; ++at)
                ++starts[((here.coordinate[at] >> shift) & 2047) + 1];
            for (int digit = 0; digit < 2048; ++digit) starts[digit + 1] += starts[digit];
            for (int64_t at = 0; at < count; ++at) {
                const int64_t to = starts[(here.coordinate[at] >> shift) & 2047]++;
                there.coordinate[to] = here.coordinate[at], there.row[to] = here.row[at];
                there.value[to] = here.value[at];
            }
            std::swap(here, there);
        }
        if (here.coordinate == coordinate) return;
        std::copy_n(here.coordinate, count, coordinate);
        std::copy_n(here.row, count, row);
        std::copy_n(here.value, count, value);
    }

   private:
    struct Entries {
        int32_t *coordinate, *row;
        float* value;
    };
    std::vector<int32_t> coordinates_, rows_;
    std::vector<float> values_;
};

template <class Rows>
void cws_list(const Rows& rows, const WeightRule& rule, double p, const CwsListing& listing,
              const CwsLoops& loops, int threads) {
    const int32_t largest = static_cast<int32_t>(2 * rows.n_cols);
    parallel_for(threads, listing.n_blocks(), [&](int64_t begin, int64_t end) {
        std::vector<double> weights;
        CoordinateSort sort;
        for (int64_t block = begin; block < end; ++block) {
            const int64_t first = listing.starts[block], count = listing.starts[block + 1] - first;
            int64_t at = first;
            const int64_t row_begin = block * listing.row_block;
            for (int64_t row = row_begin; row < row_begin + listing.rows_of(block); ++row) {
                weights.clear();
                each_weight(rows, row, rule, [&](uint64_t coordinate, double weight) {
                    const int64_t to = at + static_cast<int64_t>(weights.size());
                    listing.coordinate[to] = static_cast<int32_t>(coordinate);
                    listing.row[to] = static_cast<int32_t>(row - row_begin);
                    weights.push_back(weight);
                });
                const auto here = static_cast<int64_t>(weights.size());
                loops.logs(weights.data(), here, p, listing.log_value + at);
                at += here;
            }
            sort(count, largest, listing.coordinate + first, listing.row + first,
                 listing.log_value + first);
        }
    });
}

// Tables are (slot blocks, capacity, kCellBlock) floats: the slice of one slot block is contiguous
// and stays in the second-level cache while all row blocks pass over it.
struct CwsTables {
    float* values;
    int64_t capacity;
    const uint64_t* ids;  // expanded coordinate of each table row
    int64_t first_slot, n_slots;

    int64_t n_blocks() const { return (n_slots + kSlotBlock - 1) / kSlotBlock; }
    int64_t block_stride() const { return capacity * kCellBlock; }
};

inline void cws_fill(const CwsTables& tables, int64_t begin_id, int64_t end_id, uint64_t seed,
                     const CwsLoops& loops, int threads) {
    const uint64_t stream = kl_stream(seed, KL_STREAM_CWS);
    parallel_for(threads, end_id - begin_id, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin_id + begin; at < begin_id + end; ++at)
            loops.fill(kl_child(stream, tables.ids[at]), tables.first_slot, tables.n_blocks(),
                       tables.values + at * kCellBlock, tables.block_stride());
    });
}

inline void reset(CwsBest* best, int64_t n_rows) {
    for (int64_t row = 0; row < n_rows; ++row)
        for (int64_t lane = 0; lane < kSlotBlock; ++lane) best[row].value[lane] = __builtin_inff();
}

inline CwsWinners moved(CwsWinners winners, int64_t row, int64_t slot) {
    if (winners.features) winners.features += row * winners.stride + slot;
    return winners;
}

template <class Code>
auto finish_for(const CwsLoops& loops) {
    if constexpr (sizeof(Code) == 1) return loops.finish8;
    else if constexpr (sizeof(Code) == 2) return loops.finish16;
    else return loops.finish64;
}

// codes: (n_rows, code_stride), already moved to the column of first_slot, and so are the winners.
// Empty rows are left as they are.
template <class Code>
void cws_scan(const CwsListing& listing, const CwsTables& tables, const int32_t* local,
              uint64_t seed, const CwsCoding& coding, Code* codes, int64_t code_stride,
              CwsWinners winners, const CwsLoops& loops, int threads) {
    const uint64_t code_stream = kl_stream(seed, KL_STREAM_CWS_CODE);
    const int64_t row_blocks = listing.n_blocks();
    parallel_for(threads, tables.n_blocks() * row_blocks, [&](int64_t begin, int64_t end) {
        std::vector<CwsBest> best(listing.row_block);
        for (int64_t task = begin; task < end; ++task) {
            const int64_t block = task % row_blocks, slot = task / row_blocks * kSlotBlock;
            const CwsEntries entries = listing.entries(block);
            const int64_t row = block * listing.row_block, rows_here = listing.rows_of(block);
            const int64_t slots_here = std::min(kSlotBlock, tables.n_slots - slot);
            const CwsSlice slice{tables.values + task / row_blocks * tables.block_stride(), local,
                                 tables.ids};
            reset(best.data(), rows_here);
            loops.scan(entries, slice, best.data());
            const auto finish = finish_for<Code>(loops);
            finish(entries, slice, code_stream, tables.first_slot + slot, slots_here, coding,
                   rows_here, best.data(), codes + row * code_stride + slot, code_stride,
                   moved(winners, row, slot));
        }
    });
}

// One row at a time: listed, scanned and turned into codes, with tables that have every coordinate
// of it.
template <class Rows, class Code>
class CwsRow {
   public:
    CwsRow(const Rows& rows, const WeightRule& rule, double p, const CwsTables& tables,
           const int32_t* local, uint64_t seed, const CwsCoding& coding, const CwsLoops& loops)
        : rows_(rows),
          rule_(rule),
          p_(p),
          tables_(tables),
          local_(local),
          code_stream_(kl_stream(seed, KL_STREAM_CWS_CODE)),
          coding_(coding),
          loops_(loops) {}

    // The entries of a row, until the next is listed.
    CwsEntries list(int64_t row) {
        const auto most = static_cast<size_t>(rows_.stored(row, row + 1));
        if (most > weights_.size())
            coordinate_.resize(most), row_.resize(most), weights_.resize(most), logs_.resize(most);
        int64_t count = 0;
        each_weight(rows_, row, rule_, [&](uint64_t coordinate, double weight) {
            coordinate_[static_cast<size_t>(count)] = static_cast<int32_t>(coordinate);
            weights_[static_cast<size_t>(count++)] = weight;
        });
        loops_.logs(weights_.data(), count, p_, logs_.data());
        return {coordinate_.data(), row_.data(), logs_.data(), count};
    }

    bool knows(const CwsEntries& entries) const {
        return std::all_of(entries.coordinate, entries.coordinate + entries.count,
                           [&](int32_t coordinate) { return local_[coordinate] >= 0; });
    }

    // The codes of all slots of the tables; there must be an entry.
    void encode(const CwsEntries& entries, Code* out) const {
        for (int64_t block = 0; block < tables_.n_blocks(); ++block)
            encode_block(entries, block, out);
    }

    // The same for one block of slots.
    void encode_block(const CwsEntries& entries, int64_t block, Code* out) const {
        const int64_t slot = block * kSlotBlock;
        const CwsSlice slice{tables_.values + block * tables_.block_stride(), local_, tables_.ids};
        CwsBest best;
        reset(&best, 1);
        loops_.scan(entries, slice, &best);
        finish_for<Code>(loops_)(entries, slice, code_stream_, tables_.first_slot + slot,
                                 std::min(kSlotBlock, tables_.n_slots - slot), coding_, 1, &best,
                                 out + slot, 0, {nullptr, 0});
    }

   private:
    const Rows& rows_;
    const WeightRule& rule_;
    double p_;
    const CwsTables& tables_;
    const int32_t* local_;
    uint64_t code_stream_;
    const CwsCoding& coding_;
    const CwsLoops& loops_;
    std::vector<int32_t> coordinate_, row_;  // row_ stays 0
    std::vector<double> weights_;
    std::vector<float> logs_;
};

// A few rows, one after the other: what one call costs is then hardly more than the scan. Rows that
// are empty are marked, and their codes left as they are. Returns whether the tables have every
// coordinate; if not, nothing that was written counts.
template <class Rows, class Code>
bool cws_encode_few(const Rows& rows, const WeightRule& rule, double p, const CwsTables& tables,
                    const int32_t* local, uint64_t seed, const CwsCoding& coding, Code* codes,
                    bool* empty, const CwsLoops& loops) {
    CwsRow<Rows, Code> one(rows, rule, p, tables, local, seed, coding, loops);
    for (int64_t row = 0; row < rows.n_rows; ++row) {
        const CwsEntries entries = one.list(row);
        if (!one.knows(entries)) return false;
        empty[row] = entries.count == 0;
        if (entries.count > 0) one.encode(entries, codes + row * tables.n_slots);
    }
    return true;
}

// The same without listing and tables, row by row: cells are drawn for a few coordinates at a time,
// just before they are met. For rows so long, or batches so wide, that neither would fit in memory.
// ids null: a coordinate is its own identity.
template <class Rows, class Code>
void cws_stream(const Rows& rows, const WeightRule& rule, double p, const uint64_t* ids,
                int64_t first_slot, int64_t n_slots, uint64_t seed, const CwsCoding& coding,
                Code* codes, int64_t code_stride, CwsWinners winners, const CwsLoops& loops,
                int threads) {
    constexpr int64_t batch = 512;  // coordinates met together
    const uint64_t stream = kl_stream(seed, KL_STREAM_CWS),
                   code_stream = kl_stream(seed, KL_STREAM_CWS_CODE);
    const uint64_t code_mask = low_bits(coding.bits);
    const int64_t slot_blocks = (n_slots + kSlotBlock - 1) / kSlotBlock;
    parallel_for(threads, rows.n_rows * slot_blocks, [&](int64_t begin, int64_t end) {
        std::vector<float> cells(batch * kCellBlock), logs(batch);
        std::vector<double> weights(batch);
        std::vector<uint64_t> id(batch);
        std::vector<int32_t> in_order(batch), first_row(batch, 0);
        for (int64_t at = 0; at < batch; ++at) in_order[at] = static_cast<int32_t>(at);
        const CwsSlice slice{cells.data(), in_order.data(), id.data()};
        for (int64_t task = begin; task < end; ++task) {
            const int64_t row = task / slot_blocks, slot = task % slot_blocks * kSlotBlock;
            CwsBest best;
            reset(&best, 1);
            uint64_t winner_id[kSlotBlock], winner_t[kSlotBlock];
            int64_t count = 0;
            auto meet = [&] {
                loops.logs(weights.data(), count, p, logs.data());
                for (int64_t at = 0; at < count; ++at)
                    loops.fill(kl_child(stream, id[at]), first_slot + slot, 1,
                               cells.data() + at * kCellBlock, kCellBlock);
                std::fill_n(best.winner, kSlotBlock, -1);
                loops.scan({in_order.data(), first_row.data(), logs.data(), count}, slice, &best);
                for (int64_t lane = 0; lane < kSlotBlock; ++lane) {
                    const int32_t at = best.winner[lane];
                    if (at < 0) continue;  // an earlier batch still has the least
                    const float* cell = cells.data() + at * kCellBlock + lane;
                    winner_id[lane] = id[at];
                    winner_t[lane] = static_cast<uint64_t>(static_cast<int64_t>(
                        kl_floor_float(logs[at] * cell[0] + cell[kSlotBlock])));
                }
                count = 0;
            };
            bool empty = true;
            each_weight(rows, row, rule, [&](uint64_t coordinate, double weight) {
                if (count == batch) meet();
                id[count] = ids ? ids[coordinate] : coordinate, weights[count] = weight;
                ++count, empty = false;
            });
            if (empty) continue;
            meet();
            for (int64_t lane = 0; lane < std::min(kSlotBlock, n_slots - slot); ++lane) {
                const uint64_t key =
                    kl_child(code_stream, static_cast<uint64_t>(first_slot + slot + lane));
                const int64_t t = static_cast<int64_t>(winner_t[lane] & coding.t_mask);
                const uint64_t mixed = kl_cws_code(key, winner_id[lane], t);
                codes[row * code_stride + slot + lane] =
                    static_cast<Code>((coding.lowest ? winner_id[lane] : mixed) & code_mask);
                if (winners.features)
                    *moved(winners, row, slot + lane).features =
                        static_cast<int64_t>(winner_id[lane] >> 1);
            }
        }
    });
}

}  // namespace kernelight
