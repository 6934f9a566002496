// Columns of numbers as bytes: each number becomes its bin, so that trees compare small integers.
//
// A column has at most 255 bins. Bin b holds the numbers above the high of bin b - 1 and at most its
// own, in single precision; the last bin has no upper end. Bin 255 is that of missing numbers (NaN).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "parallel.h"
#include "rows.h"

namespace kernelight {

constexpr int64_t kMostBins = 255;
constexpr uint8_t kMissingBin = 255;

// The bins of columns[p] are first[p] to first[p + 1] of `highs`; columns ascend.
struct BinEdges {
    const int64_t *columns, *first;
    const float* highs;
    int64_t n_columns;

    uint8_t bin(int64_t place, float x) const {
        if (x != x) return kMissingBin;
        const float *begin = highs + first[place], *end = highs + first[place + 1] - 1;
        return static_cast<uint8_t>(std::lower_bound(begin, end, x) - begin);
    }
};

// Whether arrays describe bins: each column has some, not too many, and highs ascend.
inline bool sound_bins(const int64_t* first, int64_t n_columns, const float* highs,
                       int64_t n_highs) {
    if (first[0] != 0 || first[n_columns] != n_highs) return false;
    for (int64_t place = 0; place < n_columns; ++place) {
        const int64_t count = first[place + 1] - first[place];
        if (count < 1 || count > kMostBins || first[place + 1] > n_highs) return false;
        for (int64_t at = first[place] + 1; at < first[place + 1]; ++at)
            if (!(highs[at - 1] < highs[at])) return false;
    }
    return true;
}

namespace detail {

constexpr int64_t kColumnsAbreast = 16;  // a cache line of single precision

inline void lower(float& low, float x) {
    if (x < low) low = x;
}

}  // namespace detail

// bins[p, i] = the bin of row i in columns[p]; lows = the smallest number of each bin.
template <class Value>
void bin_columns(const DenseRows<Value>& rows, const BinEdges& edges, uint8_t* bins, float* lows,
                 int threads) {
    std::fill(lows, lows + edges.first[edges.n_columns], std::numeric_limits<float>::infinity());
    const int64_t groups =
        (edges.n_columns + detail::kColumnsAbreast - 1) / detail::kColumnsAbreast;
    parallel_for(threads, groups, [&](int64_t begin, int64_t end) {
        for (int64_t group = begin; group < end; ++group) {
            const int64_t from = group * detail::kColumnsAbreast,
                          to = std::min(from + detail::kColumnsAbreast, edges.n_columns);
            for (int64_t i = 0; i < rows.n_rows; ++i) {
                const Value* row = rows.values + i * rows.n_cols;
                for (int64_t place = from; place < to; ++place) {
                    const auto x = static_cast<float>(row[edges.columns[place]]);
                    const uint8_t bin = edges.bin(place, x);
                    bins[place * rows.n_rows + i] = bin;
                    if (bin != kMissingBin) detail::lower(lows[edges.first[place] + bin], x);
                }
            }
        }
    });
}

template <class Value, class Index>
void bin_columns(const CsrRows<Value, Index>& rows, const BinEdges& edges, uint8_t* bins,
                 float* lows, int) {
    std::fill(lows, lows + edges.first[edges.n_columns], std::numeric_limits<float>::infinity());
    std::vector<int64_t> stored(static_cast<size_t>(edges.n_columns));
    for (int64_t place = 0; place < edges.n_columns; ++place)
        std::memset(bins + place * rows.n_rows, edges.bin(place, 0.0f),
                    static_cast<size_t>(rows.n_rows));
    for (int64_t i = 0; i < rows.n_rows; ++i)
        each_among(rows, i, edges.columns, edges.n_columns, [&](int64_t place, Value value) {
            const auto x = static_cast<float>(value);
            const uint8_t bin = edges.bin(place, x);
            bins[place * rows.n_rows + i] = bin;
            ++stored[place];
            if (bin != kMissingBin) detail::lower(lows[edges.first[place] + bin], x);
        });
    for (int64_t place = 0; place < edges.n_columns; ++place)
        if (stored[place] < rows.n_rows)
            detail::lower(lows[edges.first[place] + edges.bin(place, 0.0f)], 0.0f);
}

}  // namespace kernelight
