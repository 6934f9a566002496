// Dart sampling with tables. The definition is portable/kl_dart.h; everything here gives the same
// bits, faster.
//
// The darts do not depend on the data, so they can be listed once. Rows are grouped by the power of
// two of their sum T (level m: 2^m <= T < 2^(m+1)); a level's table holds, for each coordinate, all
// darts of weight below a limit (the largest value met so far) and of rank below a limit of the
// level. Two orders, both exact:
//
// - by weight, per coordinate: a row scans each of its coordinates until the weight reaches its
//   value, keeping the least key of each slot. Cost: the darts that the row owns, about
//   1.25 (ln k + 2) to twice that per slot, whatever its width.
// - by rank, per slot: a row takes the first dart of each slot that it owns. Cost: sum of limits / T
//   darts per slot (rejection sampling), which is far less when rows are dense and columns even.
//   Many rows are tested together, one in each lane (simd/lane_loops.h). Of a few rows, four darts
//   are tested together without a branch; with their keys they fill one cache line, so lists are
//   padded to a multiple of four.
//
// What a table does not cover is enumerated on the fly: a coordinate whose value exceeds its limit,
// and the whole row with larger rank limits in the rare case that a slot stays empty.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "cws.h"
#include "parallel.h"
#include "portable/kl_dart.h"
#include "simd/lane_loops.h"

namespace kernelight {

struct DartRule {
    uint64_t seed;
    uint64_t k;
    double scale;
    WeightRule weight;

    uint64_t stream() const { return kl_stream(seed, KL_STREAM_DART); }
    uint64_t rate() const { return kl_dart_rate(k); }
    float value(double weight_of_row) const { return kl_float_above(weight_of_row * scale); }
};

// An entry of a table by weight.
struct DartRecord {
    float weight;
    uint32_t slot;
    uint64_t key;
};
static_assert(sizeof(DartRecord) == 16, "Python allocates two 64-bit words a dart");

struct DartTable {
    bool by_rank;
    const int64_t* starts;      // one list per coordinate, or per slot
    const DartRecord* records;  // by weight
    const DartGroup* groups;    // by rank
    // Per coordinate: darts of weight below this are in the table; null for no table at all.
    const float* limits;
    float rank_limit;

    bool covers(uint64_t coordinate, float value) const {
        return limits && value <= limits[coordinate];
    }
};

// Sum of the scaled values of every row (0 for an empty one) and number of nonzeros. Only the
// choice of a table depends on it.
template <class Rows>
void dart_sums(const Rows& rows, const DartRule& rule, double* sums, int64_t* counts, int threads) {
    parallel_for(threads, rows.n_rows, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            double sum = 0.0;
            int64_t count = 0;
            each_weight(rows, row, rule.weight,
                        [&](uint64_t, double weight) { sum += weight * rule.scale, ++count; });
            sums[row] = sum, counts[row] = count;
        }
    });
}

// largest[c] = max(largest[c], value) over the given rows, for every expanded coordinate c of the
// matrix.
template <class Rows>
void dart_maxima(const Rows& rows, const DartRule& rule, const int64_t* subset, int64_t n_subset,
                 float* largest) {
    for (int64_t at = 0; at < n_subset; ++at)
        each_weight(rows, subset[at], rule.weight, [&](uint64_t coordinate, double weight) {
            largest[coordinate] = std::max(largest[coordinate], rule.value(weight));
        });
}

// How many darts each list of a table would hold. Lists are coordinates; ids are their expanded
// coordinates.
inline void dart_count(const DartRule& rule, const uint64_t* ids, const float* limits,
                       int64_t n_ids, float rank_limit, int64_t* counts, int threads) {
    const uint64_t stream = rule.stream(), rate = rule.rate();
    parallel_for(threads, n_ids, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            int64_t count = 0;
            if (limits[at] > 0.0f)
                kl_dart_each(
                    kl_child(stream, ids[at]), rule.k, rate, limits[at], rank_limit,
                    [](void* counter, kl_dart) { ++*static_cast<int64_t*>(counter); }, &count);
            counts[at] = count;
        }
    });
}

// Records of every coordinate, each list sorted by (weight, key). starts is the running sum of
// dart_count.
inline void dart_fill(const DartRule& rule, const uint64_t* ids, const float* limits, int64_t n_ids,
                      float rank_limit, const int64_t* starts, DartRecord* records, int threads) {
    const uint64_t stream = rule.stream(), rate = rule.rate();
    parallel_for(threads, n_ids, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            struct Cursor {
                DartRecord *to, *end;
                bool overflow;
            } cursor{records + starts[at], records + starts[at + 1], false};
            if (limits[at] > 0.0f)
                kl_dart_each(
                    kl_child(stream, ids[at]), rule.k, rate, limits[at], rank_limit,
                    [](void* context, kl_dart dart) {
                        Cursor& here = *static_cast<Cursor*>(context);
                        if (here.to < here.end) *here.to++ = {dart.weight, dart.slot, dart.key};
                        else here.overflow = true;
                    },
                    &cursor);
            if (cursor.overflow || cursor.to != cursor.end)
                throw std::invalid_argument("starts do not belong to these limits");
            std::sort(records + starts[at], cursor.end,
                      [](const DartRecord& a, const DartRecord& b) {
                          return a.weight != b.weight ? a.weight < b.weight : a.key < b.key;
                      });
        }
    });
}

// Where the groups of each slot start in a table by rank: k + 1 places.
inline void dart_slot_starts(uint64_t k, const DartRecord* by_weight, int64_t n_records,
                             int64_t* slot_starts) {
    std::fill_n(slot_starts, k + 1, 0);
    for (int64_t at = 0; at < n_records; ++at) {
        if (by_weight[at].slot >= k)
            throw std::invalid_argument("a dart belongs to a slot beyond the last");
        ++slot_starts[by_weight[at].slot + 1];
    }
    for (uint64_t slot = 0; slot < k; ++slot)
        slot_starts[slot + 1] =
            slot_starts[slot] + (slot_starts[slot + 1] + DartGroup::size - 1) / DartGroup::size;
}

// A table by weight turned into one by rank: lists per slot sorted by key, padded with darts that
// nobody owns.
inline void dart_by_rank(uint64_t k, const int64_t* starts, int64_t n_ids,
                         const DartRecord* by_weight, const int64_t* slot_starts, DartGroup* groups,
                         int threads) {
    struct Entry {
        uint64_t key;
        float weight;
        uint32_t coordinate;
    };
    auto put = [&](int64_t at, const Entry& entry) {
        DartGroup& group = groups[at / DartGroup::size];
        group.probe[at % DartGroup::size] = {entry.weight, entry.coordinate};
        group.key[at % DartGroup::size] = entry.key;
    };
    auto get = [&](int64_t at) {
        const DartGroup& group = groups[at / DartGroup::size];
        return Entry{group.key[at % DartGroup::size], group.probe[at % DartGroup::size].weight,
                     group.probe[at % DartGroup::size].coordinate};
    };
    const Entry nobody{KL_DART_NONE, kl_float_of_bits(0x7F800000u), 0};
    for (int64_t at = 0; at < slot_starts[k] * DartGroup::size; ++at) put(at, nobody);
    std::vector<int64_t> to(k);
    for (uint64_t slot = 0; slot < k; ++slot) to[slot] = slot_starts[slot] * DartGroup::size;
    for (int64_t coordinate = 0; coordinate < n_ids; ++coordinate)
        for (int64_t at = starts[coordinate]; at < starts[coordinate + 1]; ++at)
            put(to[by_weight[at].slot]++,
                {by_weight[at].key, by_weight[at].weight, static_cast<uint32_t>(coordinate)});
    parallel_for(threads, static_cast<int64_t>(k), [&](int64_t begin, int64_t end) {
        std::vector<Entry> entries;  // of one slot
        for (int64_t slot = begin; slot < end; ++slot) {
            const int64_t first = slot_starts[slot] * DartGroup::size,
                          last = slot_starts[slot + 1] * DartGroup::size;
            entries.clear();
            for (int64_t at = first; at < last; ++at) entries.push_back(get(at));
            std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
                return a.key != b.key ? a.key < b.key : a.coordinate < b.coordinate;
            });
            for (int64_t at = first; at < last; ++at) put(at, entries[at - first]);
        }
    });
}

// Scratch of one thread: the row under work and its least keys, with kWinners also the coordinates
// that have them, the smaller one of equals. ids null: the identity of a coordinate is its number.
template <bool kWinners>
class DartRow {
   public:
    DartRow(const DartRule& rule, const DartTable& table, const uint64_t* ids,
            int64_t n_coordinates)
        : rule_(rule),
          table_(table),
          ids_(ids),
          stream_(rule.stream()),
          rate_(rule.rate()),
          dense_(table.by_rank ? n_coordinates : 0, 0.0f),
          best_(rule.k),
          winner_(kWinners ? rule.k : 0) {}

    // Sum of the values that the table did not cover: what a larger table would have saved.
    double uncovered_sum = 0.0;

    // out and winners: those of all slots of this row.
    template <class Rows, class Code>
    void encode(const Rows& rows, int64_t row, int bits, Code* out, int64_t* winners) {
        const size_t most = static_cast<size_t>(rows.stored(row, row + 1));
        if (most > values_.size()) coordinates_.resize(most), values_.resize(most);
        count_ = 0;
        bool covered = true;
        each_weight(rows, row, rule_.weight, [&](uint64_t coordinate, double weight) {
            const float value = rule_.value(weight);
            coordinates_[count_] = coordinate, values_[count_] = value, ++count_;
            covered &= table_.covers(coordinate, value);
        });
        if (count_ == 0) return;
        std::fill(best_.begin(), best_.end(), KL_DART_NONE);
        if (!covered) enumerate_uncovered();
        if (!(table_.by_rank ? take_first_owned() : scan_by_weight())) search_further();
        const uint64_t mask = low_bits(bits);
        for (uint64_t slot = 0; slot < rule_.k; ++slot)
            out[slot] = static_cast<Code>(best_[slot] & mask);
        if constexpr (kWinners)
            for (uint64_t slot = 0; slot < rule_.k; ++slot)
                winners[slot] = static_cast<int64_t>(identity(winner_[slot]) >> 1);
    }

   private:
    uint64_t identity(uint64_t coordinate) const { return ids_ ? ids_[coordinate] : coordinate; }

    void keep(uint64_t slot, uint64_t key, uint64_t coordinate) {
        if constexpr (kWinners) {
            const bool less = key < best_[slot];
            if (less || (key == best_[slot] && coordinate < winner_[slot]))
                winner_[slot] = coordinate;
        }
        best_[slot] = std::min(best_[slot], key);
    }

    void enumerate_uncovered() {
        for (size_t at = 0; at < count_; ++at) {
            if (table_.covers(coordinates_[at], values_[at])) continue;
            uncovered_sum += values_[at];
            enumerate(at, table_.rank_limit);
        }
    }

    void enumerate(size_t at, float rank_limit) {
        struct Here {
            DartRow* row;
            uint64_t coordinate;
        } here{this, coordinates_[at]};
        kl_dart_each(
            kl_child(stream_, identity(coordinates_[at])), rule_.k, rate_, values_[at], rank_limit,
            [](void* context, kl_dart dart) {
                const Here& here = *static_cast<Here*>(context);
                here.row->keep(dart.slot, dart.key, here.coordinate);
            },
            &here);
    }

    // Coordinates beyond their limit were enumerated before; what a table has of them does no harm.
    bool scan_by_weight() {
        for (size_t at = 0; table_.limits && at < count_; ++at) {
            const DartRecord* record = table_.records + table_.starts[coordinates_[at]];
            const DartRecord* end = table_.records + table_.starts[coordinates_[at] + 1];
            for (; record < end && record->weight < values_[at]; ++record)
                keep(record->slot, record->key, coordinates_[at]);
        }
        return full();
    }

    bool take_first_owned() {
        for (size_t at = 0; at < count_; ++at) dense_[coordinates_[at]] = values_[at];
        const float* values = dense_.data();
        for (uint64_t slot = 0; slot < rule_.k; ++slot) {
            const DartGroup* end = table_.groups + table_.starts[slot + 1];
            for (const DartGroup* group = table_.groups + table_.starts[slot]; group < end;
                 ++group) {
                unsigned owned = 0;
                for (int64_t at = 0; at < DartGroup::size; ++at)
                    owned |= static_cast<unsigned>(group->probe[at].weight <
                                                   values[group->probe[at].coordinate])
                             << at;
                if (owned == 0) continue;
                const int first = __builtin_ctz(owned);
                keep(slot, group->key[first], group->probe[first].coordinate);
                break;
            }
        }
        for (size_t at = 0; at < count_; ++at) dense_[coordinates_[at]] = 0.0f;
        return full();
    }

    bool full() const { return std::find(best_.begin(), best_.end(), KL_DART_NONE) == best_.end(); }

    // Some slot has no dart below the rank limit: the whole row again with larger ones.
    void search_further() {
        double sum = 0.0;
        for (size_t at = 0; at < count_; ++at) sum += values_[at];
        for (double rank_limit = std::max<double>(table_.rank_limit, 1.25 / sum);;
             rank_limit *= 2.0) {
            std::fill(best_.begin(), best_.end(), KL_DART_NONE);
            for (size_t at = 0; at < count_; ++at) enumerate(at, static_cast<float>(rank_limit));
            if (full()) return;
        }
    }

    const DartRule& rule_;
    const DartTable& table_;
    const uint64_t* ids_;
    uint64_t stream_, rate_;
    std::vector<float> dense_;  // value of every coordinate, 0 between rows; for tables by rank
    std::vector<uint64_t> best_, winner_;
    std::vector<uint64_t> coordinates_;
    std::vector<float> values_;
    size_t count_ = 0;
};

// Groups of rows side by side, by a table by rank. What a table does not cover, and a row of which
// a slot stays empty, is left to DartRow.
template <class Rows, class Code>
class DartLanes {
   public:
    static constexpr int64_t kBytes = 1 << 19;  // of the values of a group: they stay in the cache

    static bool suits(const Rows& rows, const DartTable& table, int64_t n_subset, int bits,
                      const LaneLoops& loops) {
        return table.by_rank && table.limits && bits <= 32 && 2 * n_subset >= loops.lanes &&
               2 * rows.n_cols * loops.lanes * static_cast<int64_t>(sizeof(float)) <= kBytes;
    }

    DartLanes(const Rows& rows, const DartRule& rule, const DartTable& table, int bits,
              const LaneLoops& loops)
        : rows_(rows),
          rule_(rule),
          table_(table),
          code_mask_(low_bits(bits)),
          loops_(loops),
          values_(static_cast<size_t>(2 * rows.n_cols * loops.lanes), 0.0f) {}

    // Rows subset[0 .. count); again(row) is called for those that are left.
    template <class Again>
    void encode(const int64_t* subset, int64_t count, Code* codes, Again&& again) {
        Code* out[kMostLanes] = {};
        uint32_t filled = 0;
        for (int64_t lane = 0; lane < count; ++lane) {
            out[lane] = codes + subset[lane] * static_cast<int64_t>(rule_.k);
            const size_t before = touched_.size();
            bool covered = true;
            each_weight(rows_, subset[lane], rule_.weight, [&](uint64_t coordinate, double weight) {
                const float value = rule_.value(weight);
                covered &= table_.covers(coordinate, value);
                touched_.push_back(coordinate * static_cast<uint64_t>(loops_.lanes) +
                                   static_cast<uint64_t>(lane));
                values_[touched_.back()] = value;
            });
            if (covered && touched_.size() > before) filled |= uint32_t{1} << lane;
            else if (!covered) again(subset[lane]);
        }
        const uint32_t without =
            lane_darts<Code>(loops_)(table_.groups, table_.starts, 0, static_cast<int64_t>(rule_.k),
                                     values_.data(), filled, code_mask_, out, &steps_);
        for (int64_t lane = 0; lane < count; ++lane)
            if (without >> lane & 1) again(subset[lane]);
        for (const uint64_t at : touched_) values_[at] = 0.0f;
        touched_.clear();
    }

   private:
    const Rows& rows_;
    const DartRule& rule_;
    const DartTable& table_;
    uint64_t code_mask_;
    const LaneLoops& loops_;
    std::vector<float> values_;
    std::vector<uint64_t> touched_;
    int64_t steps_ = 0;
};

// Codes of the rows of `subset`, all of one level; codes is (n_rows, k), and so are the winning
// features, if they are asked for: rows are then taken one by one. Empty rows are left as they are.
// Returns the sum of the values that the table did not cover.
template <class Rows, class Code>
double dart_encode(const Rows& rows, const DartRule& rule, const DartTable& table,
                   const uint64_t* ids, const int64_t* subset, int64_t n_subset, int bits,
                   Code* codes, int64_t* winners, int threads, const LaneLoops& loops) {
    std::mutex lock;
    double uncovered = 0.0;
    const auto k = static_cast<int64_t>(rule.k);
    if (winners) {
        parallel_for(threads, n_subset, [&](int64_t begin, int64_t end) {
            DartRow<true> scratch(rule, table, ids, 2 * rows.n_cols);
            for (int64_t at = begin; at < end; ++at)
                scratch.encode(rows, subset[at], bits, codes + subset[at] * k,
                               winners + subset[at] * k);
            const std::lock_guard<std::mutex> hold(lock);
            uncovered += scratch.uncovered_sum;
        });
        return uncovered;
    }
    const bool in_lanes = DartLanes<Rows, Code>::suits(rows, table, n_subset, bits, loops);
    const int64_t step = in_lanes ? loops.lanes : 1;
    parallel_for(threads, (n_subset + step - 1) / step, [&](int64_t begin, int64_t end) {
        DartRow<false> scratch(rule, table, ids, 2 * rows.n_cols);
        const auto one = [&](int64_t row) {
            scratch.encode(rows, row, bits, codes + row * k, nullptr);
        };
        const int64_t last = std::min(n_subset, end * step);
        if (in_lanes) {
            DartLanes<Rows, Code> lanes(rows, rule, table, bits, loops);
            for (int64_t at = begin * step; at < last; at += step)
                lanes.encode(subset + at, std::min(step, last - at), codes, one);
        } else {
            for (int64_t at = begin; at < last; ++at) one(subset[at]);
        }
        const std::lock_guard<std::mutex> hold(lock);
        uncovered += scratch.uncovered_sum;
    });
    return uncovered;
}

}  // namespace kernelight
