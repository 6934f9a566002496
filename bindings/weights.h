// What the bindings of both samplers share: a matrix and the rule that turns its values into
// weights.
#pragma once

#include <utility>

#include "arrays.h"
#include "cws.h"

namespace kernelight {

// Rows as the samplers read them. Python makes one for a range of rows and hands it to each call.
struct WeightedRows {
    MatrixArg matrix;
    std::optional<In1<double>> center;
    bool l1;

    WeightedRows(AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr,
                 int64_t n_cols, std::optional<In1<double>> center_, bool l1_)
        : matrix{std::move(values), std::move(indices), std::move(indptr), n_cols},
          center(std::move(center_)),
          l1(l1_) {
        require(!center || (!matrix.indptr && static_cast<int64_t>(center->shape(0)) == n_cols),
                "a centre goes with dense rows of the same width");
    }

    int64_t n_rows() const { return matrix.n_rows(); }
    int64_t n_cols() const { return matrix.n_cols; }
    WeightRule rule() const { return {center ? center->data() : nullptr, l1}; }

    // f(rows, rule) without the GIL.
    template <class F>
    void visit(F&& f) const {
        matrix.visit([&](auto rows) {
            nb::gil_scoped_release release;
            f(rows, rule());
        });
    }
};

}  // namespace kernelight
