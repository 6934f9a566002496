// What calls of projections are given: rows and how they enter, blocks of Hadamard transforms, and
// what is read.
#pragma once

#include <utility>

#include "arrays.h"
#include "project.h"

namespace kernelight {

using MaybeFloats = std::optional<In1<float>>;
using InDiagonal = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

inline const float* at_least(const MaybeFloats& values, int64_t count) {
    require(!values || static_cast<int64_t>(values->shape(0)) >= count,
            "a place for each output is needed");
    return values ? values->data() : nullptr;
}

// Rows of a matrix and what each is multiplied by before it is projected.
struct ScaledRows {
    MatrixArg matrix;
    RowRule rule;

    ScaledRows(AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr,
               int64_t n_cols, int kind, double factor)
        : matrix{std::move(values), std::move(indices), std::move(indptr), n_cols},
          rule{static_cast<RowRule::Kind>(kind), factor} {
        require(kind >= 0 && kind <= 2,
                "the rule of a row is 0 (fixed), 1 (unit length) or 2 (power of two)");
    }

    int64_t n_rows() const { return matrix.n_rows(); }
    int64_t n_cols() const { return matrix.n_cols; }

    // f(rows) without the GIL.
    template <class F>
    void visit(F&& f) const {
        matrix.visit([&](auto rows) {
            nb::gil_scoped_release release;
            f(rows);
        });
    }
    template <class F>
    void visit_dense(F&& f) const {
        matrix.visit_dense([&](auto rows) {
            nb::gil_scoped_release release;
            f(rows);
        });
    }
};

struct StructureArg {
    int64_t width, n_outputs;
    InDiagonal diagonal;
    std::optional<In2<int32_t>> places;

    StructureArg(int64_t width_, int64_t n_outputs_, InDiagonal diagonal_,
                 std::optional<In2<int32_t>> places_)
        : width(width_),
          n_outputs(n_outputs_),
          diagonal(std::move(diagonal_)),
          places(std::move(places_)) {
        require(width >= 1 && (width & (width - 1)) == 0,
                "width must be a power of two, at least n_cols");
        const int64_t blocks = (n_outputs + width - 1) / width;
        require(n_outputs >= 1 && static_cast<int64_t>(diagonal.shape(0)) == blocks &&
                    static_cast<int64_t>(diagonal.shape(2)) == width &&
                    diagonal.shape(1) == (places ? 2 : 3),
                "diagonal must be (blocks, turns, width)");
        require(!places || (static_cast<int64_t>(places->shape(0)) == blocks &&
                            static_cast<int64_t>(places->shape(1)) == width),
                "places must be (blocks, width)");
    }

    // Places are looked at in each call: Python could have changed the array since.
    Structure of(int64_t n_cols) const {
        require(n_cols <= width, "width must be a power of two, at least n_cols");
        require(!places || std::all_of(places->data(), places->data() + places->size(),
                                       [this](int32_t at) { return at >= 0 && at < width; }),
                "places must lie inside the width");
        return {width, n_outputs, static_cast<int>(diagonal.shape(1)), diagonal.data(),
                places ? places->data() : nullptr};
    }
};

// amplitude cos(2 pi (scale y + shift)), or cosines and sines side by side.
struct FourierArg {
    In1<float> scale, shift;
    bool pairs;
    float amplitude;

    int64_t columns(int64_t n_outputs) const { return (pairs ? 2 : 1) * n_outputs; }
    // Of outputs 0 .. end.
    FeatureReader reader(int64_t end, const Out2<float>& out, const ProjectLoops& loops) const {
        return {loops,     at_least(scale, end), at_least(shift, pairs ? 0 : end),  pairs,
                amplitude, out.data(),           static_cast<int64_t>(out.shape(1))};
    }
};

// Signs, or signs of cosines; `tie` is what a sign of 0 counts as.
struct BitArg {
    MaybeFloats scale, shift, threshold, tie;

    BitArg(MaybeFloats scale_, MaybeFloats shift_, MaybeFloats threshold_, MaybeFloats tie_)
        : scale(std::move(scale_)),
          shift(std::move(shift_)),
          threshold(std::move(threshold_)),
          tie(std::move(tie_)) {
        require(
            scale.has_value() == shift.has_value() && shift.has_value() == threshold.has_value(),
            "scale, shift and threshold go together");
    }
};

}  // namespace kernelight
