// The most similar of sparse rows for each of some queries, exactly: a term at a time.
//
// The lists of a query's features are added up, L_i += min(q_f, x_if), and the similarity of row i is
// L_i / (|q| + |x_i| - L_i). Features come in ascending order, as in the merge of two rows, so that
// both give the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "minmax_rows.h"
#include "pairwise.h"

namespace kernelight {

// The shared sums of all rows with one query at a time.
template <class T, class Index>
class SharedSums {
   public:
    SharedSums(const Postings<T, Index>& lists, const double* sums)
        : lists_(lists), sums_(sums), shared_(static_cast<size_t>(lists.n_rows), 0.0) {}

    // body(row, similarity) for every row that shares something with row `query` of `queries` and
    // whose similarity is above worst(); rows ascend where the lists are long.
    template <class Queries, class Worst, class Body>
    void each(const Queries& queries, int64_t query, double size, Worst&& worst, Body&& body) {
        int64_t met = 0;
        queries.each(query, [&](int64_t feature, double) {
            met += lists_.indptr[feature + 1] - lists_.indptr[feature];
        });
        touched_.clear();
        const bool few = met < lists_.n_rows / 8;
        queries.each(query, [&](int64_t feature, double value) {
            const double sign = value < 0 ? -1 : 1, most = std::fabs(value);
            for (Index at = lists_.indptr[feature]; at < lists_.indptr[feature + 1]; ++at) {
                const double other = sign * static_cast<double>(lists_.values[at]);
                if (!(other > 0)) continue;
                double& sum = shared_[static_cast<size_t>(lists_.rows[at])];
                if (few && sum == 0.0) touched_.push_back(lists_.rows[at]);
                sum += other < most ? other : most;
            }
        });
        const auto look = [&](int64_t row) {
            const double low = shared_[static_cast<size_t>(row)];
            shared_[static_cast<size_t>(row)] = 0.0;
            // low / high > worst, without a division for most rows; a hair of room for rounding
            const double both = sums_[row] + size, least = worst();
            if (!(low > 0) || low * (1 + least) < least * both * (1 - 1e-12)) return;
            const double high = both - low;
            body(row, high > 0 ? std::min(low / high, 1.0) : 0.0);
        };
        if (few)
            for (const Index row : touched_) look(static_cast<int64_t>(row));
        else
            for (int64_t row = 0; row < lists_.n_rows; ++row) look(row);
    }

   private:
    const Postings<T, Index>& lists_;
    const double* sums_;
    std::vector<double> shared_;
    std::vector<Index> touched_;
};

// rows and similarities (queries, most): the best first, padded with -1.
template <class T, class Index, class Queries>
void best_by_terms(const Postings<T, Index>& lists, const double* sums, const Queries& queries,
                   const double* query_sums, int64_t most, int64_t* rows, double* similarities,
                   int threads) {
    parallel_for(threads, queries.n_rows, [&](int64_t begin, int64_t end) {
        SharedSums<T, Index> shared(lists, sums);
        std::vector<Scored> heap;  // the worst of the best on top
        for (int64_t query = begin; query < end; ++query) {
            heap.clear();
            const auto full = [&] { return static_cast<int64_t>(heap.size()) == most; };
            shared.each(
                queries, query, query_sums[query],
                [&] { return full() ? heap.front().similarity : 0.0; },
                [&](int64_t row, double similarity) {
                    const Scored one{similarity, row};
                    if (full()) {
                        if (!(one < heap.front())) return;
                        std::pop_heap(heap.begin(), heap.end());
                        heap.back() = one;
                    } else {
                        heap.push_back(one);
                    }
                    std::push_heap(heap.begin(), heap.end());
                });
            write_best(heap, most, rows + query * most, similarities + query * most);
        }
    });
}

// All pairs (query, row) of similarity at least `threshold`, queries ascending.
template <class T, class Index, class Queries>
PairColumns above_by_terms(const Postings<T, Index>& lists, const double* sums,
                           const Queries& queries, const double* query_sums, double threshold,
                           int threads) {
    constexpr int64_t piece_rows = 256;
    const int64_t pieces = (queries.n_rows + piece_rows - 1) / piece_rows;
    return collected(threads, pieces, [&](int64_t piece, PairColumns& columns) {
        SharedSums<T, Index> shared(lists, sums);
        const int64_t first = piece * piece_rows;
        for (int64_t query = first; query < std::min(queries.n_rows, first + piece_rows); ++query)
            shared.each(
                queries, query, query_sums[query], [&] { return threshold; },
                [&](int64_t row, double similarity) {
                    if (similarity >= threshold) columns.add(query, row, similarity);
                });
    });
}

}  // namespace kernelight
