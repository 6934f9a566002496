// All pairs of sparse rows with a min-max similarity of at least t, exactly: the prefix filter with
// features in the order of rarity.
//
// Weights are the sizes of values, a feature and a sign together a coordinate; |u| is the sum of a
// row, L the sum of minima of two rows, t' = t (1 - e) with a hair e of room for rounding. Rows are
// sorted by ascending sum, the coordinates of a row by ascending number of rows that have them. For
// y before x, |y| <= |x|, a similarity of t needs
//
//     |y| >= t |x|,   L >= t |x|,   L >= t / (1 + t) (|x| + |y|) >= 2 t / (1 + t) |y|,
//
// because L / (|x| + |y| - L) >= t. What x shares with y from some coordinate on is at most the rest
// of x from there on. So the first common coordinate of a pair lies where the rest of x is still at
// least t |x|: x looks only so far (its probe); and where the rest of y is at least 2 t / (1 + t)
// |y|: y is listed only so far. Rare coordinates come first, so both are short lists.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "minmax_rows.h"
#include "parallel.h"
#include "rows.h"

namespace kernelight {

// Sums of float32 weights, a coordinate at a time: relative errors stay far below this for rows of
// up to some ten thousand entries; longer rows get more room.
inline double rounding_room(int64_t longest) {
    return 1e-6 + 1.2e-7 * static_cast<double>(longest);
}

inline int64_t coordinate_of(int64_t column, double value) { return 2 * column + (value < 0); }

// counts[c] += rows that have coordinate c.
template <class Rows>
void coordinate_counts(const Rows& rows, int64_t* counts) {
    for (int64_t row = 0; row < rows.n_rows; ++row)
        rows.each(row, [&](int64_t column, double value) {
            ++counts[static_cast<size_t>(coordinate_of(column, value))];
        });
}

// ranks[c] = place of coordinate c in the order of ascending counts, the lower coordinate first
// among equals.
inline void rarity_ranks(const int64_t* counts, int64_t n_coordinates, int64_t most,
                         uint32_t* ranks) {
    std::vector<int64_t> starts(static_cast<size_t>(most) + 2, 0);
    for (int64_t c = 0; c < n_coordinates; ++c) ++starts[static_cast<size_t>(counts[c]) + 1];
    for (size_t count = 1; count < starts.size(); ++count) starts[count] += starts[count - 1];
    for (int64_t c = 0; c < n_coordinates; ++c)
        ranks[c] = static_cast<uint32_t>(starts[static_cast<size_t>(counts[c])]++);
}

// Rows in the order of ascending sums, their coordinates by rank: row n is rows[order[n]].
struct RankedRows {
    uint32_t* ranks;
    float* weights;
    int64_t* starts;  // (n_rows + 1)
    const double* sums;
    int64_t n_rows;
};

// Fills ranks, weights and starts.
template <class Rows>
void rank_rows(const Rows& rows, const int64_t* order, const uint32_t* rank_of,
               const RankedRows& out, int threads) {
    out.starts[0] = 0;
    for (int64_t at = 0; at < out.n_rows; ++at) {
        int64_t count = 0;
        rows.each(order[at], [&](int64_t, double) { ++count; });
        out.starts[at + 1] = out.starts[at] + count;
    }
    parallel_for(threads, out.n_rows, [&](int64_t begin, int64_t end) {
        struct Entry {
            uint32_t rank;
            float weight;
        };
        std::vector<Entry> entries;
        for (int64_t at = begin; at < end; ++at) {
            entries.clear();
            rows.each(order[at], [&](int64_t column, double value) {
                entries.push_back(
                    {rank_of[coordinate_of(column, value)], static_cast<float>(std::fabs(value))});
            });
            std::sort(entries.begin(), entries.end(),
                      [](const Entry& one, const Entry& other) { return one.rank < other.rank; });
            int64_t to = out.starts[at];
            for (const Entry& entry : entries)
                out.ranks[to] = entry.rank, out.weights[to++] = entry.weight;
        }
    });
}

// Whether entries lie inside the rows, and ranks below n_ranks: what is read from here on is then
// inside of its arrays.
inline bool is_sound(const RankedRows& rows, int64_t stored, int64_t n_ranks) {
    bool sound = rows.starts[0] == 0 && rows.starts[rows.n_rows] <= stored;
    for (int64_t row = 0; row < rows.n_rows; ++row)
        sound = sound && rows.starts[row] <= rows.starts[row + 1];
    for (int64_t at = 0; sound && at < rows.starts[rows.n_rows]; ++at)
        sound = int64_t{rows.ranks[at]} < n_ranks;
    return sound;
}

// f(entry) for the entries of a row while the rest of it, from that entry on, is at least `need`;
// after(entry) is what is left behind it.
template <class F>
void each_of_prefix(const RankedRows& rows, int64_t row, double need, F&& f) {
    double rest = rows.sums[row];
    for (int64_t at = rows.starts[row]; at < rows.starts[row + 1] && rest >= need; ++at) {
        const double left = std::max(rest - static_cast<double>(rows.weights[at]), 0.0);
        f(at, left);
        rest = left;
    }
}

struct PrefixRule {
    double threshold, room;
    double probe(double sum) const { return threshold * sum * (1 - room); }
    double listed(double sum) const { return 2 * threshold / (1 + threshold) * sum * (1 - room); }
    double shared(double one, double other) const {
        return threshold / (1 + threshold) * (one + other) * (1 - room);
    }
};

// Lists of listed rows by rank: entries starts[r] to starts[r + 1], rows ascending.
struct PrefixLists {
    int64_t* starts;
    uint32_t* rows;
    float* weights;
    float* rests;  // what the row has behind this coordinate
};

inline bool is_sound(const PrefixLists& lists, int64_t n_ranks, int64_t listed, int64_t n_rows) {
    bool sound = lists.starts[0] == 0 && lists.starts[n_ranks] == listed;
    for (int64_t rank = 0; rank < n_ranks; ++rank)
        sound = sound && lists.starts[rank] <= lists.starts[rank + 1];
    for (int64_t at = 0; sound && at < listed; ++at) sound = int64_t{lists.rows[at]} < n_rows;
    return sound;
}

// starts[r + 1] = listed entries of rank r; then their running sum. Returns how many there are.
inline int64_t count_listed(const RankedRows& rows, const PrefixRule& rule, int64_t n_ranks,
                            int64_t* starts) {
    std::fill_n(starts, n_ranks + 1, 0);
    for (int64_t row = 0; row < rows.n_rows; ++row)
        each_of_prefix(rows, row, rule.listed(rows.sums[row]),
                       [&](int64_t at, double) { ++starts[int64_t{rows.ranks[at]} + 1]; });
    for (int64_t rank = 0; rank < n_ranks; ++rank) starts[rank + 1] += starts[rank];
    return starts[n_ranks];
}

inline void fill_lists(const RankedRows& rows, const PrefixRule& rule, int64_t n_ranks,
                       const PrefixLists& lists) {
    std::vector<int64_t> next(static_cast<size_t>(n_ranks) + 1);
    count_listed(rows, rule, n_ranks, next.data());
    if (!std::equal(next.begin(), next.end(), lists.starts))
        throw std::invalid_argument("the lists were counted for another threshold");
    for (int64_t row = 0; row < rows.n_rows; ++row)
        each_of_prefix(rows, row, rule.listed(rows.sums[row]), [&](int64_t at, double left) {
            const auto to = static_cast<size_t>(next[rows.ranks[at]]++);
            lists.rows[to] = static_cast<uint32_t>(row);
            lists.weights[to] = rows.weights[at];
            lists.rests[to] = static_cast<float>(left);
        });
}

// The pairs of a row with rows before it that the prefix filter lets through, one row at a time.
class PrefixCandidates {
   public:
    PrefixCandidates(const RankedRows& rows, const PrefixRule& rule, const PrefixLists& lists)
        : rows_(rows),
          rule_(rule),
          lists_(lists),
          shared_(static_cast<size_t>(rows.n_rows), 0.0f),
          rest_(static_cast<size_t>(rows.n_rows)) {}

    // f(y) for the rows y before x whose sum of minima can be large enough. Returns the entries of
    // lists that were met.
    template <class F>
    int64_t each(int64_t x, F&& f) {
        const double sum = rows_.sums[x], need = rule_.probe(sum);
        if (!(sum > 0)) return 0;
        const auto low =
            static_cast<uint32_t>(std::lower_bound(rows_.sums, rows_.sums + x, need) - rows_.sums);
        int64_t met = 0;
        candidates_.clear();
        each_of_prefix(rows_, x, need, [&](int64_t entry, double left) {
            const uint32_t rank = rows_.ranks[entry];
            const float weight = rows_.weights[entry], behind = static_cast<float>(left);
            const int64_t stop = lists_.starts[rank + 1];
            const int64_t start =
                std::lower_bound(lists_.rows + lists_.starts[rank], lists_.rows + stop, low) -
                lists_.rows;
            int64_t at = start;
            for (; at < stop && lists_.rows[at] < x; ++at) {
                const uint32_t y = lists_.rows[at];
                if (shared_[y] == 0.0f) candidates_.push_back(y);
                shared_[y] += std::min(weight, lists_.weights[at]);
                rest_[y] = std::min(behind, lists_.rests[at]);
            }
            met += at - start;
        });
        for (const uint32_t y : candidates_) {
            const double most = static_cast<double>(shared_[y]) + static_cast<double>(rest_[y]);
            shared_[y] = 0.0f;
            if (most >= rule_.shared(sum, rows_.sums[y])) f(y);
        }
        return met;
    }

   private:
    const RankedRows& rows_;
    const PrefixRule rule_;
    const PrefixLists& lists_;
    std::vector<float> shared_, rest_;  // of each row before x: what both share so far, and can yet
    std::vector<uint32_t> candidates_;
};

// What a join of some rows costs: entries of lists that they meet, and pairs to be verified.
struct JoinCost {
    int64_t met, verified;
};

inline JoinCost join_cost(const RankedRows& rows, const PrefixRule& rule, const PrefixLists& lists,
                          const int64_t* probes, int64_t count) {
    JoinCost cost{0, 0};
    PrefixCandidates candidates(rows, rule, lists);
    for (int64_t at = 0; at < count; ++at)
        cost.met += candidates.each(probes[at], [&](uint32_t) { ++cost.verified; });
    return cost;
}

// Verified pairs of the rows [begin, end) in the order of sums with all before them; rows are named
// by `order`, the lower first. Pieces are short, because rows of large sums look at more.
template <class Pairs>
PairColumns prefix_join(const RankedRows& rows, const PrefixRule& rule, const PrefixLists& lists,
                        const int64_t* order, int64_t begin, int64_t end, const Pairs& similarity,
                        int threads) {
    constexpr int64_t piece_rows = 4096;
    const int64_t pieces = (end - begin + piece_rows - 1) / piece_rows;
    return collected(threads, pieces, [&](int64_t piece, PairColumns& columns) {
        PrefixCandidates candidates(rows, rule, lists);
        const int64_t first = begin + piece * piece_rows, last = std::min(end, first + piece_rows);
        for (int64_t x = first; x < last; ++x)
            candidates.each(x, [&](uint32_t y) {
                const int64_t i = std::min(order[x], order[y]), j = std::max(order[x], order[y]);
                const double value = similarity(i, j);
                if (value >= rule.threshold) columns.add(i, j, value);
            });
    });
}

}  // namespace kernelight
