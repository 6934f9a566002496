// Sums over features for every pair of rows: the compiled half of the exact kernels.
//
// For rows u, v write |u| for the sum of absolute values, S = |u| + |v|, and split signs into a
// positive and a negative half of twice the width, as the generalized min-max kernel asks. Then the
// sum of the minima of the halves is
//
//     m = sum_i min(u_i, v_i) + neg(u) + neg(v),    neg(u) = sum_i max(-u_i, 0),
//
// because min(u, v) + max(-u, 0) + max(-v, 0) is |u| or |v|, whichever is smaller, for equal signs
// and 0 otherwise. The sum of the maxima is S - m. So signed data costs no more than nonnegative
// data: one minimum and one addition for a feature of a pair. The forms:
//
//     minmax   m / (S - m)                      overlap  2 m / S
//     chi2     sum_i (u_i - v_i)^2 / (u_i + v_i), 0/0 = 0, for nonnegative rows
//     dot      sum_i u_i v_i (sparse rows only: BLAS has the dense case)
//
// A pair whose S is 0 gets 0. Two equal rows get exactly 1, 1 and 0 in the first three forms: the
// sums of a row run in the very order of the sums of a pair. Rows whose sums leave the range of T
// raise std::overflow_error.
//
// To add a form, for instance sum_i |u_i - v_i|, change these files:
//
//  1. here: its formula above; a name at the end of Form; in Tile::compute the loop that adds its
//     terms, and how the result is made of the sum; the same for sparse rows in add_postings and in
//     the second pair_sums. The list of a feature has only the rows that have it: a term that is
//     not 0 where v is 0 is summed as what a missing partner gives, minus a correction, as in chi2;
//  2. simd/pairwise_loops.cpp and its table in simd/pairwise_loops.h: the term of one feature for
//     dense rows; the head comment of the former says how;
//  3. bindings/pairwise.cpp: the last form and the sentence in form_of, and the texts of both
//     functions;
//  4. src/kernelight/kernels/pairs.py: the name beside MINMAX, OVERLAP, CHI2 and DOT.
//
// tests/oracles/test_kernels_oracle.py compares the kernel that uses it with its formula in NumPy,
// and tests/border calls the bindings with wrong arguments. Run `make stub` if a text changed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "parallel.h"
#include "rows.h"
#include "simd/levels.h"
#include "simd/pairwise_loops.h"

namespace kernelight {

enum class Form : int { minmax = 0, overlap = 1, chi2 = 2, dot = 3 };

template <class T>
PairwiseLoops<T> pairwise_loops(Level level) {
    constexpr bool single = sizeof(T) == sizeof(float);
#if defined(KERNELIGHT_X86)
    if (level == Level::avx512) {
        if constexpr (single) return avx512::pairwise_loops_float32();
        else return avx512::pairwise_loops_float64();
    }
    if (level == Level::avx2) {
        if constexpr (single) return avx2::pairwise_loops_float32();
        else return avx2::pairwise_loops_float64();
    }
#endif
    (void)level;
    if constexpr (single) return baseline::pairwise_loops_float32();
    else return baseline::pairwise_loops_float64();
}

namespace pairwise {

constexpr int64_t kDepth = 400;     // features summed before a float32 sum is added to its double
constexpr int64_t kTileRows = 192;  // a tile of results and its operands fit the second-level cache
constexpr int64_t kTileCols = 128;
constexpr int64_t kPackedBytes = 1 << 26;  // y is repacked in pieces of about this size

// Partial sums of a pair are at most the sum of both rows: that much must fit the type.
template <class T>
void check_range(const double* absolute, int64_t count) {
    bool fits = true;
    for (int64_t i = 0; i < count; ++i)
        fits = fits && absolute[i] <= std::numeric_limits<T>::max() / 4;
    if (!fits) throw std::overflow_error("row sums leave the range of their type");
}

inline int64_t round_up(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

// Memory on a cache line boundary, so that no vector load straddles two.
template <class T>
class Buffer {
   public:
    explicit Buffer(int64_t size) : data_(static_cast<T*>(operator new(size * sizeof(T), kLine))) {}
    T* get() const { return data_.get(); }

   private:
    static constexpr std::align_val_t kLine{64};
    struct Release {
        void operator()(T* p) const { operator delete(p, kLine); }
    };
    std::unique_ptr<T, Release> data_;
};

// Depth of the panels of rows this wide: as even as possible, so that none is short.
inline int64_t panel_depth(int64_t n_cols) {
    const int64_t panels = std::max<int64_t>(1, (n_cols + kDepth - 1) / kDepth);
    return (n_cols + panels - 1) / panels;
}

// A block of rows as panels of `width` rows, padded with rows of zeros, and the sums of each row.
template <class T>
struct Packed {
    int64_t width, n_cols, capacity;
    Buffer<T> values;
    std::vector<double> negative, absolute;

    Packed(int64_t width_, int64_t capacity_, int64_t n_cols_)
        : width(width_),
          n_cols(n_cols_),
          capacity(round_up(capacity_, width_)),
          values(capacity * n_cols_),
          negative(capacity),
          absolute(capacity) {}

    const T* panel(int64_t row, int64_t feature) const {
        return values.get() + row * n_cols + feature * width;
    }

    void fill(const DenseRows<T>& rows, int64_t begin, int64_t end, int threads) {
        parallel_for(threads, round_up(end - begin, width) / width,
                     [&](int64_t first, int64_t last) {
                         for (int64_t group = first; group < last; ++group)
                             fill_panel(rows, begin + group * width,
                                        std::min(end, begin + (group + 1) * width), group * width);
                     });
        check_range<T>(absolute.data(), end - begin);
    }

   private:
    void fill_panel(const DenseRows<T>& rows, int64_t begin, int64_t end, int64_t at) {
        T* panel = values.get() + at * n_cols;
        if (end - begin < width) std::fill(panel, panel + width * n_cols, T(0));
        int64_t row = begin;
        for (; row + 4 <= end;
             row += 4) {  // four at a time: their entries of one feature are written together
            const T* source = rows.values + row * n_cols;
            T* target = panel + (row - begin);
            for (int64_t k = 0; k < n_cols; ++k)
                for (int64_t r = 0; r < 4; ++r) target[k * width + r] = source[r * n_cols + k];
        }
        for (; row < end; ++row)
            for (int64_t k = 0; k < n_cols; ++k)
                panel[k * width + (row - begin)] = rows.values[row * n_cols + k];
        sum_panel(panel, at);
    }

    // In the order in which a pair is summed; the absolute sum is derived the way a pair of equal
    // rows derives m.
    void sum_panel(const T* panel, int64_t at) {
        constexpr int64_t kMost = 64;
        double all[kMost] = {}, below[kMost] = {};
        const int64_t depth = panel_depth(n_cols);
        for (int64_t start = 0; start < n_cols; start += depth) {
            T sum[kMost] = {}, under[kMost] = {};
            for (int64_t k = start; k < std::min(n_cols, start + depth); ++k) {
                for (int64_t r = 0; r < width; ++r) {
                    const T value = panel[k * width + r];
                    sum[r] += value;
                    under[r] += value < 0 ? -value : T(0);
                }
            }
            for (int64_t r = 0; r < width; ++r) {
                all[r] += static_cast<double>(sum[r]);
                below[r] += static_cast<double>(under[r]);
            }
        }
        for (int64_t r = 0; r < width; ++r) {
            negative[at + r] = below[r];
            absolute[at + r] = all[r] + (below[r] + below[r]);
        }
    }
};

// The results of x rows [row, row_end) and y rows [col, col_end); py holds the y rows from y_begin
// on.
template <class T>
struct Tile {
    const PairwiseLoops<T>& loops;
    Form form;
    Buffer<double> total{kTileRows * kTileCols};

    void compute(const Packed<T>& px, int64_t rows, const Packed<T>& py, int64_t col, int64_t cols,
                 T* out, int64_t out_stride) {
        const auto add = form == Form::chi2 ? loops.add_chi2 : loops.add_min;
        const int64_t depth = panel_depth(px.n_cols);
        std::fill(total.get(), total.get() + kTileRows * kTileCols, 0.0);
        for (int64_t k = 0; k < px.n_cols; k += depth)
            for (int64_t j = 0; j < cols; j += py.width)
                for (int64_t i = 0; i < rows; i += px.width)
                    add(px.panel(i, k), py.panel(col + j, k), std::min(depth, px.n_cols - k),
                        total.get() + i * kTileCols + j, kTileCols);
        for (int64_t i = 0; i < rows; ++i) {
            const double* sums = total.get() + i * kTileCols;
            const RowSums x{px.negative[i], px.absolute[i]};
            T* target = out + i * out_stride;
            if (form == Form::chi2)
                std::transform(sums, sums + cols, target,
                               [](double sum) { return static_cast<T>(sum); });
            else
                (form == Form::minmax ? loops.minmax : loops.overlap)(
                    sums, cols, x, &py.negative[col], &py.absolute[col], target);
        }
    }
};

// Copy the upper triangle of a square matrix to the lower one, in blocks that fit the first-level
// cache.
template <class T>
void mirror(T* out, int64_t n, int threads) {
    constexpr int64_t kSide = 64;
    parallel_for(threads, (n + kSide - 1) / kSide, [&](int64_t first, int64_t last) {
        for (int64_t row = first * kSide; row < std::min(n, last * kSide); row += kSide)
            for (int64_t col = 0; col <= row; col += kSide)
                for (int64_t i = row; i < std::min(n, row + kSide); ++i)
                    for (int64_t j = col; j < std::min(i, col + kSide); ++j)
                        out[i * n + j] = out[j * n + i];
    });
}

}  // namespace pairwise

// out (x.n_rows, y.n_rows). `symmetric` says that y is x: only tiles that touch the upper triangle
// are computed.
template <class T>
void pair_sums(const DenseRows<T>& x, const DenseRows<T>& y, T* out, Form form, bool symmetric,
               int threads, Level level) {
    using namespace pairwise;
    if (form == Form::dot) throw std::invalid_argument("the dot form is for sparse rows");
    if (x.n_rows == 0 || y.n_rows == 0) return;
    const PairwiseLoops<T> loops = pairwise_loops<T>(level);
    const int64_t row_bytes = std::max<int64_t>(1, x.n_cols * sizeof(T));
    const int64_t piece =
        std::min(y.n_rows, std::max(kTileCols, kPackedBytes / row_bytes / kTileCols * kTileCols));
    const int64_t panels = std::max<int64_t>(1, kPackedBytes / 4 / row_bytes / loops.x_width);
    const int64_t block = std::min(kTileRows, panels * loops.x_width);
    const int64_t row_blocks = (x.n_rows + block - 1) / block;
    struct Place {
        int64_t row, col;
    };
    Packed<T> py(loops.y_width, piece, x.n_cols);
    for (int64_t y_begin = 0; y_begin < y.n_rows; y_begin += piece) {
        const int64_t y_end = std::min(y.n_rows, y_begin + piece);
        py.fill(y, y_begin, y_end, threads);
        std::vector<Place> places;
        for (int64_t row = 0; row < row_blocks * block; row += block)
            for (int64_t col = y_begin; col < y_end; col += kTileCols)
                if (!symmetric || std::min(y_end, col + kTileCols) > row)
                    places.push_back({row, col});
        parallel_for(threads, static_cast<int64_t>(places.size()),
                     [&](int64_t first, int64_t last) {
                         Packed<T> px(loops.x_width, block, x.n_cols);
                         Tile<T> tile{loops, form};
                         int64_t packed_row = -1;
                         for (int64_t at = first; at < last; ++at) {
                             const auto [row, col] = places[at];
                             const int64_t row_end = std::min(x.n_rows, row + block);
                             if (row != packed_row) px.fill(x, row, row_end, 1);
                             packed_row = row;
                             tile.compute(px, row_end - row, py, col - y_begin,
                                          std::min(y_end, col + kTileCols) - col,
                                          out + row * y.n_rows + col, y.n_rows);
                         }
                     });
    }
    if (symmetric) mirror(out, x.n_rows, threads);
}

// Sparse y, feature by feature (CSC): entries indptr[i] to indptr[i + 1] are the rows that have
// feature i.
template <class T, class Index>
struct Postings {
    const T* values;
    const Index* rows;
    const Index* indptr;
    int64_t n_rows, n_cols;
};

namespace pairwise {

// A compressed matrix whose numbers would lead outside its arrays is refused here: one look at each
// is cheap.
template <class Index>
void check_compressed(const Index* indices, const Index* indptr, int64_t n_major, int64_t n_minor,
                      int64_t n_stored) {
    bool sound = indptr[0] == 0 && indptr[n_major] == n_stored;
    for (int64_t i = 0; i < n_major; ++i) sound = sound && indptr[i] <= indptr[i + 1];
    for (int64_t at = 0; at < n_stored; ++at)
        sound = sound && indices[at] >= 0 && indices[at] < n_minor;
    if (!sound) throw std::invalid_argument("compressed indices or indptr lead outside the matrix");
}

// total[j] += term(u, v_j) for every row j that has the feature.
template <class T, class Index>
void add_postings(const Postings<T, Index>& y, int64_t feature, double u, Form form,
                  double* total) {
    const Index begin = y.indptr[feature], end = y.indptr[feature + 1];
    if (form == Form::dot) {
        for (Index at = begin; at < end; ++at)
            total[y.rows[at]] += u * static_cast<double>(y.values[at]);
    } else if (form ==
               Form::
                   chi2) {  // u + v minus the chi2 term: u + v is what a missing partner would give
        for (Index at = begin; at < end; ++at) {
            const double v = static_cast<double>(y.values[at]), sum = u + v;
            if (sum > 0) total[y.rows[at]] += sum - (u - v) * (u - v) / sum;
        }
    } else {  // opposite signs share nothing
        const double sign = u < 0 ? -1 : 1, size = std::abs(u);
        for (Index at = begin; at < end; ++at) {
            const double v = sign * static_cast<double>(y.values[at]), least = v < size ? v : size;
            total[y.rows[at]] += least > 0 ? least : 0;
        }
    }
}

}  // namespace pairwise

// The same sums for sparse rows, in double: for each row of x the lists of its features are added
// up.
template <class T, class Index>
void pair_sums(const CsrRows<T, Index>& x, const Postings<T, Index>& y, T* out, Form form,
               int threads, Level level) {
    using namespace pairwise;
    const PairwiseLoops<T> loops = pairwise_loops<T>(level);
    const int64_t m = y.n_rows;
    const std::vector<double> no_negative(m);
    std::vector<double> absolute(m);
    for (int64_t at = 0; at < y.indptr[y.n_cols]; ++at)
        absolute[y.rows[at]] += std::abs(static_cast<double>(y.values[at]));
    check_range<T>(absolute.data(), m);
    parallel_for(threads, x.n_rows, [&](int64_t first, int64_t last) {
        std::vector<double> total(m);
        for (int64_t row = first; row < last; ++row) {
            std::fill(total.begin(), total.end(), 0.0);
            double size = 0;
            x.each(row, [&](int64_t feature, double value) {
                size += std::abs(value);
                add_postings(y, feature, value, form, total.data());
            });
            check_range<T>(&size, 1);
            T* target = out + row * m;
            if (form == Form::minmax)
                loops.minmax(total.data(), m, {0, size}, no_negative.data(), absolute.data(),
                             target);
            else if (form == Form::overlap)
                loops.overlap(total.data(), m, {0, size}, no_negative.data(), absolute.data(),
                              target);
            else if (form == Form::chi2)
                for (int64_t j = 0; j < m; ++j)
                    target[j] = static_cast<T>(std::max(0.0, (size + absolute[j]) - total[j]));
            else
                for (int64_t j = 0; j < m; ++j) target[j] = static_cast<T>(total[j]);
        }
    });
}

}  // namespace kernelight
