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
    std::vector<int64_t> next(lists.starts, lists.starts + n_ranks);
    for (int64_t row = 0; row < rows.n_rows; ++row)
        each_of_prefix(rows, row, rule.listed(rows.sums[row]), [&](int64_t at, double left) {
            const auto to = static_cast<size_t>(next[rows.ranks[at]]++);
            lists.rows[to] = static_cast<uint32_t>(row);
            lists.weights[to] = rows.weights[at];
            lists.rests[to] = static_cast<float>(left);
        });
}

// Entries of lists that the probes of some rows meet: what a join of these rows costs.
inline int64_t count_met(const RankedRows& rows, const PrefixRule& rule, const PrefixLists& lists,
                         const int64_t* probes, int64_t count) {
    int64_t met = 0;
    for (int64_t at = 0; at < count; ++at) {
        const int64_t row = probes[at];
        const double need = rule.probe(rows.sums[row]);
        const auto low =
            static_cast<uint32_t>(std::lower_bound(rows.sums, rows.sums + row, need) - rows.sums);
        each_of_prefix(rows, row, need, [&](int64_t entry, double) {
            const uint32_t rank = rows.ranks[entry];
            const uint32_t *first = lists.rows + lists.starts[rank],
                           *last = lists.rows + lists.starts[rank + 1];
            met += std::lower_bound(first, last, static_cast<uint32_t>(row)) -
                   std::lower_bound(first, last, low);
        });
    }
    return met;
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
        std::vector<float> shared(static_cast<size_t>(rows.n_rows), 0.0f),
            rest(static_cast<size_t>(rows.n_rows));
        std::vector<uint32_t> candidates;
        const int64_t first = begin + piece * piece_rows, last = std::min(end, first + piece_rows);
        for (int64_t x = first; x < last; ++x) {
            const double sum = rows.sums[x], need = rule.probe(sum);
            if (!(sum > 0)) continue;
            const auto low =
                static_cast<uint32_t>(std::lower_bound(rows.sums, rows.sums + x, need) - rows.sums);
            candidates.clear();
            each_of_prefix(rows, x, need, [&](int64_t entry, double left) {
                const uint32_t rank = rows.ranks[entry];
                const float weight = rows.weights[entry], behind = static_cast<float>(left);
                const int64_t stop = lists.starts[rank + 1];
                int64_t at =
                    std::lower_bound(lists.rows + lists.starts[rank], lists.rows + stop, low) -
                    lists.rows;
                for (; at < stop && lists.rows[at] < x; ++at) {
                    const uint32_t y = lists.rows[at];
                    if (shared[y] == 0.0f) candidates.push_back(y);
                    shared[y] += std::min(weight, lists.weights[at]);
                    rest[y] = std::min(behind, lists.rests[at]);
                }
            });
            for (const uint32_t y : candidates) {
                const double most = static_cast<double>(shared[y]) + static_cast<double>(rest[y]);
                shared[y] = 0.0f;
                if (most < rule.shared(sum, rows.sums[y])) continue;
                const int64_t i = std::min(order[x], order[y]), j = std::max(order[x], order[y]);
                const double value = similarity(i, j);
                if (value >= rule.threshold) columns.add(i, j, value);
            }
        }
    });
}

}  // namespace kernelight
