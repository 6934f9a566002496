// Rows: non-owning views of a matrix, dense or compressed sparse row.
//
// each(i, f) calls f(column, value) for the nonzero entries of row i, columns as stored
// (ascending for a canonical CSR matrix). Values come out as double whatever they are stored as,
// so float32 copies of the same numbers give the same results.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kernelight {

// f(column, value(column)) wherever value is not 0. Columns are collected first, without a branch
// on the data: zeros strewn over a row would otherwise cost a misprediction each.
template <class ValueOf, class F>
void each_nonzero(int64_t n_cols, ValueOf&& value, F&& f) {
    constexpr int64_t chunk = 256;
    int32_t found[chunk];
    for (int64_t base = 0; base < n_cols; base += chunk) {
        const int64_t here = n_cols - base < chunk ? n_cols - base : chunk;
        int64_t count = 0;
        for (int64_t at = 0; at < here; ++at) {
            found[count] = static_cast<int32_t>(at);
            count += value(base + at) != 0;
        }
        for (int64_t at = 0; at < count; ++at)
            f(base + found[at], static_cast<double>(value(base + found[at])));
    }
}

template <class Value>
struct DenseRows {
    const Value* values;
    int64_t n_rows, n_cols;

    template <class F>
    void each(int64_t row, F&& f) const {
        const Value* p = values + row * n_cols;
        each_nonzero(n_cols, [p](int64_t col) { return p[col]; }, f);
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
            if (values[at] != Value(0))
                f(static_cast<int64_t>(indices[at]), static_cast<double>(values[at]));
    }
    int64_t stored(int64_t begin, int64_t end) const { return indptr[end] - indptr[begin]; }
};

// f(place, value) for the stored values of a row whose columns are among some: columns[place], both
// ascending. Zeros that are stored count, and so does NaN.
template <class Value, class Index, class F>
void each_among(const CsrRows<Value, Index>& rows, int64_t row, const int64_t* columns,
                int64_t count, F&& f) {
    const int64_t *next = columns, *last = columns + count;
    for (Index at = rows.indptr[row]; at < rows.indptr[row + 1]; ++at) {
        const auto column = static_cast<int64_t>(rows.indices[at]);
        next = std::lower_bound(next, last, column);
        if (next == last) return;
        if (*next == column) f(next - columns, rows.values[at]);
    }
}

}  // namespace kernelight
