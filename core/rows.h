// Rows: non-owning views of a matrix, dense or compressed sparse row.
//
// each(i, f) calls f(column, value) for the nonzero entries of row i, columns as stored
// (ascending for a canonical CSR matrix). Values come out as double whatever they are stored as,
// so float32 copies of the same numbers give the same results.
#pragma once

#include <cstdint>

namespace kernelight {

template <class Value>
struct DenseRows {
    const Value* values;
    int64_t n_rows, n_cols;

    template <class F>
    void each(int64_t row, F&& f) const {
        const Value* p = values + row * n_cols;
        for (int64_t col = 0; col < n_cols; ++col)
            if (p[col] != Value(0)) f(col, static_cast<double>(p[col]));
    }
    int64_t stored(int64_t begin, int64_t end) const { return (end - begin) * n_cols; }
};

template <class Value, class Index>
struct CsrRows {
    const Value* values;
    const Index* indices;
    const Index* indptr;
    int64_t n_rows, n_cols;

    template <class F>
    void each(int64_t row, F&& f) const {
        for (Index at = indptr[row]; at < indptr[row + 1]; ++at)
            if (values[at] != Value(0)) f(static_cast<int64_t>(indices[at]), static_cast<double>(values[at]));
    }
    int64_t stored(int64_t begin, int64_t end) const { return indptr[end] - indptr[begin]; }
};

}  // namespace kernelight
