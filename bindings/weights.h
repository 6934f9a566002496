// What the bindings of both samplers share: a matrix and the rule that turns its values into weights.
#pragma once

#include "arrays.h"
#include "cws.h"

namespace kernelight {

using Center = std::optional<In1<double>>;

inline WeightRule weight_rule(const Center& center, bool l1, int64_t n_cols, bool sparse) {
    require(!center || (!sparse && static_cast<int64_t>(center->shape(0)) == n_cols),
            "a centre goes with dense rows of the same width");
    return {center ? center->data() : nullptr, l1};
}

inline MatrixArg matrix(AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols) {
    return {std::move(values), std::move(indices), std::move(indptr), n_cols};
}

#define MATRIX_ARGS \
    nb::arg("values").noconvert(), nb::arg("indices").noconvert().none(), nb::arg("indptr").noconvert().none(), \
        nb::arg("n_cols"), nb::arg("center").noconvert().none(), nb::arg("l1")

}  // namespace kernelight
