// Dart sampling with tables. The definition is portable/kl_dart.h; everything here gives the same bits, faster.
//
// The darts do not depend on the data, so they can be listed once. Rows are grouped by the power of two of their sum T
// (level m: 2^m <= T < 2^(m+1)); a level's table holds, for each coordinate, all darts of weight below a limit (the largest value
// met so far) and of rank below a limit of the level. Two orders, both exact:
//
// - by weight, per coordinate: a row scans each of its coordinates until the weight reaches its value, keeping the
//   least key of each slot. Cost: the darts the row owns, about 1.25 (ln k + 2) to twice that a slot, whatever its width.
// - by rank, per slot: a row takes the first dart of each slot that it owns. Cost: sum of limits / T darts a slot
//   (rejection sampling), which is far less when rows are dense and columns even.
//
// What a table does not cover is enumerated on the fly: a coordinate whose value exceeds its limit, and the whole row with
// larger rank limits in the rare case that a slot stays empty.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "cws.h"
#include "parallel.h"
#include "portable/kl_dart.h"

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

// `place` is a slot in a table by weight, a coordinate in a table by rank.
struct DartRecord {
    float weight;
    uint32_t place;
    uint64_t key;
};
static_assert(sizeof(DartRecord) == 16, "Python allocates two 64-bit words a dart");

struct DartTable {
    bool by_rank;
    const int64_t* starts;  // one list per coordinate, or per slot
    const DartRecord* records;
    const float* limits;  // per coordinate: darts of weight below this are in the table; 0 for none
    float rank_limit;
};

// Sum of the scaled values of every row (0 for an empty one) and number of nonzeros.
template <class Rows>
void dart_sums(const Rows& rows, const DartRule& rule, double* sums, int64_t* counts, int threads) {
    parallel_for(threads, rows.n_rows, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            double sum = 0.0;
            int64_t count = 0;
            each_weight(rows, row, rule.weight, [&](uint64_t, double weight) { sum += rule.value(weight), ++count; });
            sums[row] = sum, counts[row] = count;
        }
    });
}

// largest[c] = max(largest[c], value) over the given rows, for every expanded coordinate c of the matrix.
template <class Rows>
void dart_maxima(const Rows& rows, const DartRule& rule, const int64_t* subset, int64_t n_subset, float* largest) {
    for (int64_t at = 0; at < n_subset; ++at)
        each_weight(rows, subset[at], rule.weight, [&](uint64_t coordinate, double weight) {
            largest[coordinate] = std::max(largest[coordinate], rule.value(weight));
        });
}

// How many darts each list of a table would hold. Lists are coordinates; ids are their expanded coordinates.
inline void dart_count(const DartRule& rule, const uint64_t* ids, const float* limits, int64_t n_ids, float rank_limit,
                       int64_t* counts, int threads) {
    const uint64_t stream = rule.stream(), rate = rule.rate();
    parallel_for(threads, n_ids, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            int64_t count = 0;
            if (limits[at] > 0.0f)
                kl_dart_each(kl_child(stream, ids[at]), rule.k, rate, limits[at], rank_limit,
                             [](void* counter, kl_dart) { ++*static_cast<int64_t*>(counter); }, &count);
            counts[at] = count;
        }
    });
}

// Records of every coordinate, each list sorted by (weight, key). starts is the running sum of dart_count.
inline void dart_fill(const DartRule& rule, const uint64_t* ids, const float* limits, int64_t n_ids, float rank_limit,
                      const int64_t* starts, DartRecord* records, int threads) {
    const uint64_t stream = rule.stream(), rate = rule.rate();
    parallel_for(threads, n_ids, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            DartRecord* to = records + starts[at];
            if (limits[at] > 0.0f)
                kl_dart_each(kl_child(stream, ids[at]), rule.k, rate, limits[at], rank_limit,
                             [](void* cursor, kl_dart dart) {
                                 *(*static_cast<DartRecord**>(cursor))++ = {dart.weight, dart.slot, dart.key};
                             },
                             &to);
            std::sort(records + starts[at], to, [](const DartRecord& a, const DartRecord& b) {
                return a.weight != b.weight ? a.weight < b.weight : a.key < b.key;
            });
        }
    });
}

// A table by weight turned into one by rank: lists per slot sorted by key. slot_starts has k + 1 places.
inline void dart_by_rank(uint64_t k, const int64_t* starts, int64_t n_ids, const DartRecord* by_weight,
                         int64_t* slot_starts, DartRecord* by_rank, int threads) {
    std::fill_n(slot_starts, k + 1, 0);
    for (int64_t at = 0; at < starts[n_ids]; ++at) ++slot_starts[by_weight[at].place + 1];
    for (uint64_t slot = 0; slot < k; ++slot) slot_starts[slot + 1] += slot_starts[slot];
    std::vector<int64_t> to(slot_starts, slot_starts + k);
    for (int64_t coordinate = 0; coordinate < n_ids; ++coordinate)
        for (int64_t at = starts[coordinate]; at < starts[coordinate + 1]; ++at)
            by_rank[to[by_weight[at].place]++] = {by_weight[at].weight, static_cast<uint32_t>(coordinate),
                                                  by_weight[at].key};
    parallel_for(threads, static_cast<int64_t>(k), [&](int64_t begin, int64_t end) {
        for (int64_t slot = begin; slot < end; ++slot)
            std::sort(by_rank + slot_starts[slot], by_rank + slot_starts[slot + 1],
                      [](const DartRecord& a, const DartRecord& b) { return a.key < b.key; });
    });
}

// Scratch of one thread: the row under work and its least keys.
class DartRow {
   public:
    DartRow(const DartRule& rule, const DartTable& table, const uint64_t* ids, int64_t n_coordinates)
        : rule_(rule), table_(table), ids_(ids), stream_(rule.stream()), rate_(rule.rate()),
          values_(table.by_rank ? n_coordinates : 0, 0.0f), best_(rule.k), coordinates_(n_coordinates),
          row_values_(n_coordinates) {}

    // Sum of the values that the table did not cover: what a larger table would have saved.
    double uncovered_sum = 0.0;

    template <class Rows, class Code>
    void encode(const Rows& rows, int64_t row, int bits, Code* out) {
        uncovered_.clear(), count_ = 0;
        double sum = 0.0;
        each_weight(rows, row, rule_.weight, [&](uint64_t coordinate, double weight) {
            const float value = rule_.value(weight);
            coordinates_[count_] = static_cast<int32_t>(coordinate), row_values_[count_] = value;
            if (value > table_.limits[coordinate]) uncovered_.push_back(count_), uncovered_sum += value;
            ++count_;
            sum += value;
        });
        if (count_ == 0) return;
        std::fill(best_.begin(), best_.end(), KL_DART_NONE);
        for (const int64_t at : uncovered_) enumerate(at, table_.rank_limit);
        const bool full = table_.by_rank ? take_first_owned() : scan_by_weight();
        if (!full) search_further(sum);
        const uint64_t mask = (uint64_t{1} << bits) - 1;
        for (uint64_t slot = 0; slot < rule_.k; ++slot) out[slot] = static_cast<Code>(best_[slot] & mask);
    }

   private:
    void enumerate(int64_t at, float rank_limit) {
        kl_dart_each(kl_child(stream_, ids_[coordinates_[at]]), rule_.k, rate_, row_values_[at], rank_limit,
                     kl_dart_keep_least, best_.data());
    }

    bool scan_by_weight() {
        uint64_t* best = best_.data();
        for (int64_t at = 0; at < count_; ++at) {
            const float value = row_values_[at];
            if (value > table_.limits[coordinates_[at]]) continue;
            const DartRecord* record = table_.records + table_.starts[coordinates_[at]];
            const DartRecord* end = table_.records + table_.starts[coordinates_[at] + 1];
            for (; record < end && record->weight < value; ++record)
                best[record->place] = std::min(best[record->place], record->key);
        }
        return std::find(best_.begin(), best_.end(), KL_DART_NONE) == best_.end();
    }

    bool take_first_owned() {
        for (int64_t at = 0; at < count_; ++at) values_[coordinates_[at]] = row_values_[at];
        // A coordinate that was enumerated may also win here: the same dart, so no harm.
        bool full = true;
        for (uint64_t slot = 0; slot < rule_.k; ++slot) {
            const DartRecord* record = table_.records + table_.starts[slot];
            const DartRecord* end = table_.records + table_.starts[slot + 1];
            while (record < end && !(record->weight < values_[record->place])) ++record;
            if (record < end && record->key < best_[slot]) best_[slot] = record->key;
            full &= best_[slot] != KL_DART_NONE;
        }
        for (int64_t at = 0; at < count_; ++at) values_[coordinates_[at]] = 0.0f;
        return full;
    }

    // Some slot has no dart below the rank limit: the whole row again with larger ones.
    void search_further(double sum) {
        for (double rank_limit = std::max<double>(table_.rank_limit, 1.25 / sum);; rank_limit *= 2.0) {
            std::fill(best_.begin(), best_.end(), KL_DART_NONE);
            for (int64_t at = 0; at < count_; ++at)
                enumerate(at, static_cast<float>(rank_limit));
            if (std::find(best_.begin(), best_.end(), KL_DART_NONE) == best_.end()) return;
        }
    }

    const DartRule& rule_;
    const DartTable& table_;
    const uint64_t* ids_;
    uint64_t stream_, rate_;
    std::vector<float> values_;  // of every coordinate, 0 between rows
    std::vector<uint64_t> best_;
    std::vector<int32_t> coordinates_;
    std::vector<float> row_values_;
    std::vector<int64_t> uncovered_;
    int64_t count_ = 0;
};

// Codes of the rows of `subset`, all of one level; codes is (n_rows, k). Empty rows are left as they are. Returns the sum of
// the values that the table did not cover.
template <class Rows, class Code>
double dart_encode(const Rows& rows, const DartRule& rule, const DartTable& table, const uint64_t* ids,
                   const int64_t* subset, int64_t n_subset, int bits, Code* codes, int threads) {
    std::mutex lock;
    double uncovered = 0.0;
    parallel_for(threads, n_subset, [&](int64_t begin, int64_t end) {
        DartRow scratch(rule, table, ids, 2 * rows.n_cols);
        for (int64_t at = begin; at < end; ++at)
            scratch.encode(rows, subset[at], bits, codes + subset[at] * static_cast<int64_t>(rule.k));
        const std::lock_guard<std::mutex> hold(lock);
        uncovered += scratch.uncovered_sum;
    });
    return uncovered;
}

}  // namespace kernelight
