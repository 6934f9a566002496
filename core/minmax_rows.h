// The generalized min-max similarity of single pairs of rows: what searches verify by.
//
//     S(u, v) = L / H,   L = sum of minima, H = sum of maxima, over both signed halves,
//
// 0 where H is 0. Rows of one storage: dense ones are summed by simd/search_loops.h; sparse ones are
// merged, L in ascending order of features, and H = |u| + |v| - L. Two equal rows get exactly 1
// either way. Where the types of both sides differ, sums are those of doubles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "parallel.h"
#include "rows.h"
#include "simd/levels.h"
#include "simd/search_loops.h"

namespace kernelight {

inline const SearchLoops& search_loops([[maybe_unused]] int simd) {
#if defined(KERNELIGHT_X86)
    const Level level = usable_level(simd);
    if (level == Level::avx512) return avx512::search_loops;
    if (level == Level::avx2) return avx2::search_loops;
#endif
    return baseline::search_loops;
}

// sums[i] = sum of |x| over row i, in the order in which it is stored.
template <class Rows>
void absolute_sums(const Rows& rows, double* sums, int threads) {
    parallel_for(threads, rows.n_rows, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            double sum = 0;
            rows.each(row, [&](int64_t, double value) { sum += std::fabs(value); });
            sums[row] = sum;
        }
    });
}

template <class X, class Y>
struct Comparable : std::false_type {};
template <class A, class B>
struct Comparable<DenseRows<A>, DenseRows<B>> : std::true_type {};
template <class A, class B, class Index>
struct Comparable<CsrRows<A, Index>, CsrRows<B, Index>> : std::true_type {};

// The similarity of row i of x and row j of y; x_sums and y_sums are their absolute sums.
template <class X, class Y>
class MinMaxPairs;

template <class A, class B>
class MinMaxPairs<DenseRows<A>, DenseRows<B>> {
   public:
    MinMaxPairs(const DenseRows<A>& x, const DenseRows<B>& y, const double*, const double*,
                bool nonnegative, const SearchLoops& loops)
        : x_(x), y_(y), nonnegative_(nonnegative), loops_(loops) {}

    double operator()(int64_t i, int64_t j) const {
        const A* a = x_.values + i * x_.n_cols;
        const B* b = y_.values + j * y_.n_cols;
        const MinMaxSums sums = of(a, b);
        return sums.high > 0 ? sums.low / sums.high : 0.0;
    }

   private:
    MinMaxSums of(const float* a, const float* b) const {
        return loops_.minmax_float(a, b, x_.n_cols, nonnegative_);
    }
    MinMaxSums of(const double* a, const double* b) const {
        return loops_.minmax_double(a, b, x_.n_cols, nonnegative_);
    }
    MinMaxSums of(const float* a, const double* b) const {
        return loops_.minmax_mixed(a, b, x_.n_cols, nonnegative_);
    }
    MinMaxSums of(const double* a, const float* b) const { return of(b, a); }

    DenseRows<A> x_;
    DenseRows<B> y_;
    bool nonnegative_;
    const SearchLoops& loops_;
};

template <class A, class B, class Index>
class MinMaxPairs<CsrRows<A, Index>, CsrRows<B, Index>> {
   public:
    MinMaxPairs(const CsrRows<A, Index>& x, const CsrRows<B, Index>& y, const double* x_sums,
                const double* y_sums, bool, const SearchLoops&)
        : x_(x), y_(y), x_sums_(x_sums), y_sums_(y_sums) {}

    double operator()(int64_t i, int64_t j) const {
        Index a = x_.indptr[i], b = y_.indptr[j];
        const Index a_end = x_.indptr[i + 1], b_end = y_.indptr[j + 1];
        double low = 0;
        while (a < a_end && b < b_end) {  // no branch on the data: which side is behind is chance
            const Index p = x_.indices[a], q = y_.indices[b];
            const double u = static_cast<double>(x_.values[a]),
                         v = static_cast<double>(y_.values[b]);
            const double least = u < v ? u : v, most = u < v ? v : u;
            const double shared = (least > 0 ? least : 0) - (most < 0 ? most : 0);
            low += p == q ? shared : 0.0;
            a += p <= q;
            b += q <= p;
        }
        const double high = x_sums_[i] + y_sums_[j] - low;
        return high > 0 ? std::min(low / high, 1.0) : 0.0;
    }

   private:
    CsrRows<A, Index> x_;
    CsrRows<B, Index> y_;
    const double *x_sums_, *y_sums_;
};

// out[n] = the similarity of rows i[n] of x and j[n] of y.
template <class Pairs>
void minmax_of_pairs(const Pairs& pairs, const int64_t* i, const int64_t* j, int64_t count,
                     double* out, int threads) {
    parallel_for(threads, count, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) out[at] = pairs(i[at], j[at]);
    });
}

// A row and its similarity; the more similar comes first, of equal ones the lower row.
struct Scored {
    double similarity;
    int64_t row;
    bool operator<(const Scored& other) const {
        return similarity != other.similarity ? similarity > other.similarity : row < other.row;
    }
};

// The first of some scored rows, padded with row -1 and similarity -1.
inline void write_best(std::vector<Scored>& found, int64_t most, int64_t* rows,
                       double* similarities) {
    const auto kept = std::min<int64_t>(most, static_cast<int64_t>(found.size()));
    std::partial_sort(found.begin(), found.begin() + kept, found.end());
    for (int64_t at = 0; at < most; ++at) {
        rows[at] = at < kept ? found[static_cast<size_t>(at)].row : -1;
        similarities[at] = at < kept ? found[static_cast<size_t>(at)].similarity : -1.0;
    }
}

// For each query its `most` best among `width` candidates: rows of x, or -1 for none. A row that is
// named twice is found twice.
template <class Pairs>
void best_candidates(const Pairs& pairs, const int64_t* candidates, int64_t n_queries,
                     int64_t width, int64_t most, int64_t* rows, double* similarities,
                     int threads) {
    parallel_for(threads, n_queries, [&](int64_t begin, int64_t end) {
        std::vector<Scored> found;
        for (int64_t query = begin; query < end; ++query) {
            found.clear();
            for (int64_t at = 0; at < width; ++at) {
                const int64_t row = candidates[query * width + at];
                if (row >= 0) found.push_back({pairs(row, query), row});
            }
            write_best(found, most, rows + query * most, similarities + query * most);
        }
    });
}

// Pairs of rows with their similarity, as three columns.
struct PairColumns {
    std::vector<int64_t> first, second;
    std::vector<double> similarity;

    void add(int64_t a, int64_t b, double value) {
        first.push_back(a), second.push_back(b), similarity.push_back(value);
    }
    void append(PairColumns&& other) {
        first.insert(first.end(), other.first.begin(), other.first.end());
        second.insert(second.end(), other.second.begin(), other.second.end());
        similarity.insert(similarity.end(), other.similarity.begin(), other.similarity.end());
        other = {};
    }
};

// body(piece, columns) for each of some pieces of work; what they found, in the order of pieces.
template <class Body>
PairColumns collected(int threads, int64_t pieces, Body&& body) {
    std::vector<PairColumns> parts(static_cast<size_t>(pieces));
    parallel_for(threads, pieces, [&](int64_t begin, int64_t end) {
        for (int64_t piece = begin; piece < end; ++piece)
            body(piece, parts[static_cast<size_t>(piece)]);
    });
    PairColumns all;
    for (PairColumns& part : parts) all.append(std::move(part));
    return all;
}

}  // namespace kernelight
