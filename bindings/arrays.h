// Array types of the border, and the one place where a Python matrix becomes a Rows view.
//
// Nothing is converted here: a wrong dtype or a wrong memory order is a TypeError or ValueError for
// the programmer. User-facing checks and conversions live in src/kernelight/base/checks.py.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "rows.h"

namespace nb = nanobind;

namespace kernelight {

template <class T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyIn = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using AnyOut = nb::ndarray<nb::c_contig, nb::device::cpu>;

inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

inline void require_inside(const int64_t* indices, int64_t count, int64_t length) {
    require(
        std::all_of(indices, indices + count, [=](int64_t at) { return at >= 0 && at < length; }),
        "an index lies outside the matrix");
}

template <class T>
const T* typed(const AnyIn& array) {
    return static_cast<const T*>(array.data());
}

// A matrix as Python hands it over: dense (n, d) values, or the three CSR arrays and the width.
// Indices are trusted to lie inside the width: _checks.py has looked at every one of them.
struct MatrixArg {
    AnyIn values;
    std::optional<AnyIn> indices, indptr;
    int64_t n_cols;

    template <class F>
    void visit(F&& f) const {
        if (values.dtype() == nb::dtype<float>()) return visit_as<float>(f);
        if (values.dtype() == nb::dtype<double>()) return visit_as<double>(f);
        throw std::invalid_argument("matrix values must be float32 or float64");
    }
    // The same for what must be dense.
    template <class F>
    void visit_dense(F&& f) const {
        require(!indptr && values.ndim() == 2 && static_cast<int64_t>(values.shape(1)) == n_cols,
                "dense values must be a 2-d array as wide as n_cols");
        if (values.dtype() == nb::dtype<float>())
            return f(DenseRows<float>{typed<float>(values), n_rows(), n_cols});
        if (values.dtype() == nb::dtype<double>())
            return f(DenseRows<double>{typed<double>(values), n_rows(), n_cols});
        throw std::invalid_argument("matrix values must be float32 or float64");
    }
    int64_t n_rows() const {
        require(indptr ? indptr->ndim() == 1 && indptr->shape(0) >= 1 : values.ndim() == 2,
                "a matrix is a 2-d array, or 1-d values, indices and indptr");
        return indptr ? static_cast<int64_t>(indptr->shape(0)) - 1
                      : static_cast<int64_t>(values.shape(0));
    }

   private:
    template <class Value, class F>
    void visit_as(F& f) const {
        if (!indptr) {
            require(values.ndim() == 2 && static_cast<int64_t>(values.shape(1)) == n_cols,
                    "dense values must be a 2-d array as wide as n_cols");
            return f(DenseRows<Value>{typed<Value>(values), n_rows(), n_cols});
        }
        require(indices && values.ndim() == 1 && indices->ndim() == 1 && indptr->ndim() == 1 &&
                    indptr->shape(0) >= 1 && values.shape(0) == indices->shape(0),
                "CSR needs 1-d values, indices and indptr of matching lengths");
        require(indices->dtype() == indptr->dtype(), "CSR indices and indptr must have one dtype");
        if (indices->dtype() == nb::dtype<int32_t>()) return visit_csr<Value, int32_t>(f);
        if (indices->dtype() == nb::dtype<int64_t>()) return visit_csr<Value, int64_t>(f);
        throw std::invalid_argument("CSR indices must be int32 or int64");
    }
    template <class Value, class Index, class F>
    void visit_csr(F& f) const {
        const Index* starts = typed<Index>(*indptr);
        require(starts[0] == 0 && static_cast<size_t>(starts[n_rows()]) == values.shape(0),
                "CSR indptr must start at 0 and end at the number of values");
        f(CsrRows<Value, Index>{typed<Value>(values), typed<Index>(*indices), starts, n_rows(),
                                n_cols});
    }
};

}  // namespace kernelight
