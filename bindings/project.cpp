// Glue for projections and what is read from them.
#include "project.h"

#include "arrays.h"

namespace kernelight {
namespace {

using MaybeFloats = std::optional<In1<float>>;

RowRule row_rule(int kind, double factor) {
    require(kind >= 0 && kind <= 2, "the rule of a row is 0 (fixed), 1 (unit length) or 2 (power of two)");
    return {static_cast<RowRule::Kind>(kind), factor};
}

const float* at_least(const MaybeFloats& values, int64_t count) {
    require(!values || static_cast<int64_t>(values->shape(0)) >= count, "a place for each output is needed");
    return values ? values->data() : nullptr;
}

const bool* mask(const std::optional<In1<bool>>& empty, int64_t n_rows) {
    require(!empty || static_cast<int64_t>(empty->shape(0)) == n_rows, "empty must have one place a row");
    return empty ? empty->data() : nullptr;
}

struct StructureArg {
    int64_t width, n_outputs;
    nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu> diagonal;
    std::optional<In2<int32_t>> places;

    Structure checked(int64_t n_cols) const {
        require(width >= 1 && (width & (width - 1)) == 0 && n_cols <= width, "width must be a power of two, at least n_cols");
        const int64_t blocks = (n_outputs + width - 1) / width;
        require(n_outputs >= 1 && static_cast<int64_t>(diagonal.shape(0)) == blocks &&
                    static_cast<int64_t>(diagonal.shape(2)) == width && diagonal.shape(1) == (places ? 2 : 3),
                "diagonal must be (blocks, turns, width)");
        require(!places || (static_cast<int64_t>(places->shape(0)) == blocks &&
                            static_cast<int64_t>(places->shape(1)) == width &&
                            std::all_of(places->data(), places->data() + places->size(),
                                        [this](int32_t at) { return at >= 0 && at < width; })),
                "places must be (blocks, width), each inside the width");
        return {width, n_outputs, static_cast<int>(diagonal.shape(1)), diagonal.data(), places ? places->data() : nullptr};
    }
};

#define ROW_ARGS \
    nb::arg("values").noconvert(), nb::arg("indices").noconvert().none(), nb::arg("indptr").noconvert().none(), \
        nb::arg("n_cols"), nb::arg("rule"), nb::arg("factor")
#define STRUCTURE_ARGS nb::arg("width"), nb::arg("n_outputs"), nb::arg("diagonal").noconvert(), nb::arg("places").noconvert().none()

}  // namespace

void bind_project(nb::module_& m) {
    using Diagonal = nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

    m.def(
        "fill_three_hd",
        [](uint64_t seed, Diagonal diagonal, std::optional<Out1<float>> lengths, double factor, int threads) {
            require(diagonal.shape(1) == 3, "three HD blocks have three diagonals");
            const int64_t blocks = static_cast<int64_t>(diagonal.shape(0)), width = static_cast<int64_t>(diagonal.shape(2));
            nb::gil_scoped_release release;
            fill_three_hd(seed, width, blocks, diagonal.data(), threads);
            if (lengths)
                fill_lengths(seed, width, static_cast<int64_t>(lengths->shape(0)), factor, lengths->data(), threads);
        },
        nb::arg("seed"), nb::arg("diagonal").noconvert(), nb::arg("lengths").noconvert().none(), nb::arg("factor"),
        nb::arg("threads"), "Draw the signs of three HD blocks, and the lengths of their outputs.");

    m.def(
        "fill_fastfood",
        [](uint64_t seed, Diagonal diagonal, Out2<int32_t> places, Out1<float> lengths, double factor, int threads) {
            const int64_t blocks = static_cast<int64_t>(diagonal.shape(0)), width = static_cast<int64_t>(diagonal.shape(2));
            const int64_t n_outputs = static_cast<int64_t>(lengths.shape(0));
            require(diagonal.shape(1) == 2 && places.shape(0) == diagonal.shape(0) && places.shape(1) == diagonal.shape(2) &&
                        width >= 1 && width <= (int64_t{1} << 31) && blocks == (n_outputs + width - 1) / width,
                    "diagonal is (blocks, 2, width), places (blocks, width), lengths one a output");
            nb::gil_scoped_release release;
            fill_fastfood(seed, width, n_outputs, factor, diagonal.data(), places.data(), lengths.data(), threads);
        },
        nb::arg("seed"), nb::arg("diagonal").noconvert(), nb::arg("places").noconvert(), nb::arg("lengths").noconvert(),
        nb::arg("factor"), nb::arg("threads"), "Draw Fastfood blocks.");

    m.def(
        "fill_dense",
        [](uint64_t seed, bool cauchy, In1<uint64_t> ids, uint64_t first_output, Out2<float> tables, int threads, int simd) {
            const int64_t n_features = static_cast<int64_t>(ids.shape(0));
            require(static_cast<int64_t>(tables.shape(1)) == n_features * kTile && first_output % 2 == 0,
                    "tables must be (tiles, features * tile)");
            nb::gil_scoped_release release;
            fill_dense(seed, cauchy, ids.data(), n_features, first_output, static_cast<int64_t>(tables.shape(0)),
                       tables.data(), project_loops(usable_level(simd)), threads);
        },
        nb::arg("seed"), nb::arg("cauchy"), nb::arg("ids").noconvert(), nb::arg("first_output"), nb::arg("tables").noconvert(),
        nb::arg("threads"), nb::arg("simd"), "Draw tiles of a dense projection.");

    m.def(
        "fill_orthogonal",
        [](uint64_t seed, int64_t n_features, int64_t n_outputs, int64_t block, Out2<float> tables, int threads, int simd) {
            require(n_features >= 1 && n_outputs >= 1 && block >= 0 && block <= (n_outputs - 1) / n_features && static_cast<int64_t>(tables.shape(1)) == n_features * kTile &&
                        static_cast<int64_t>(tables.shape(0)) == (n_outputs + kTile - 1) / kTile,
                    "tables must be (tiles, features * tile)");
            nb::gil_scoped_release release;
            fill_orthogonal(seed, n_features, n_outputs, block, tables.data(), project_loops(usable_level(simd)), threads);
        },
        nb::arg("seed"), nb::arg("n_features"), nb::arg("n_outputs"), nb::arg("block"), nb::arg("tables").noconvert(),
        nb::arg("threads"), nb::arg("simd"), "Draw a block of an orthogonal projection into its tiles.");

    m.def(
        "fill_words",
        [](uint64_t seed, uint64_t stream, Out1<uint64_t> out) {
            nb::gil_scoped_release release;
            fill_words(seed, stream, out.data(), static_cast<int64_t>(out.shape(0)));
        },
        nb::arg("seed"), nb::arg("stream"), nb::arg("out").noconvert(), "The first random words of a stream of a seed.");

    m.def(
        "fill_phases",
        [](uint64_t seed, Out1<float> out) {
            fill_readout(seed, kl_phase, out.data(), static_cast<int64_t>(out.shape(0)));
        },
        nb::arg("seed"), nb::arg("out").noconvert(), "Draw phases, in turns.");
    m.def(
        "fill_thresholds",
        [](uint64_t seed, Out1<float> out) {
            fill_readout(seed, kl_threshold, out.data(), static_cast<int64_t>(out.shape(0)));
        },
        nb::arg("seed"), nb::arg("out").noconvert(), "Draw thresholds.");
    m.def(
        "fill_ties",
        [](uint64_t seed, Out1<float> out) { fill_readout(seed, kl_tie, out.data(), static_cast<int64_t>(out.shape(0))); },
        nb::arg("seed"), nb::arg("out").noconvert(), "Draw the signs that projections of 0 count as.");

    m.def(
        "project_features",
        [](AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols, int rule, double factor,
           int64_t width, int64_t n_outputs, nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu> diagonal,
           std::optional<In2<int32_t>> places, In1<float> scale, In1<float> shift, bool pairs, float amplitude, Out2<float> out,
           int threads, int simd) {
            const MatrixArg x{values, indices, indptr, n_cols};
            const Structure structure = StructureArg{width, n_outputs, diagonal, places}.checked(n_cols);
            const ProjectLoops& loops = project_loops(usable_level(simd));
            require(static_cast<int64_t>(out.shape(0)) == x.n_rows() &&
                        static_cast<int64_t>(out.shape(1)) == (pairs ? 2 : 1) * n_outputs,
                    "out must have one row a row and its columns");
            const FeatureReader reader{loops, at_least(scale, n_outputs), at_least(shift, pairs ? 0 : n_outputs), pairs, amplitude,
                                       out.data(), static_cast<int64_t>(out.shape(1))};
            x.visit([&](auto rows) {
                nb::gil_scoped_release release;
                project_structured(rows, row_rule(rule, factor), structure, reader, loops, threads);
            });
        },
        ROW_ARGS, STRUCTURE_ARGS, nb::arg("scale").noconvert(), nb::arg("shift").noconvert(), nb::arg("pairs"),
        nb::arg("amplitude"), nb::arg("out").noconvert(), nb::arg("threads"), nb::arg("simd"),
        "Fourier features of a structured projection.");

    m.def(
        "project_bits",
        [](AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols, int rule, double factor,
           int64_t width, int64_t n_outputs, nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu> diagonal,
           std::optional<In2<int32_t>> places, MaybeFloats scale, MaybeFloats shift, MaybeFloats threshold, MaybeFloats tie,
           Out2<uint8_t> out, Out1<uint8_t> empty, int threads, int simd) {
            const MatrixArg x{values, indices, indptr, n_cols};
            const Structure structure = StructureArg{width, n_outputs, diagonal, places}.checked(n_cols);
            const ProjectLoops& loops = project_loops(usable_level(simd));
            require(static_cast<int64_t>(out.shape(0)) == x.n_rows() && static_cast<int64_t>(out.shape(1)) == n_outputs &&
                        out.shape(0) == empty.shape(0) && scale.has_value() == shift.has_value() &&
                        shift.has_value() == threshold.has_value(),
                    "out must be (rows, outputs), empty one a row; scale, shift and threshold go together");
            const BitReader reader{loops, at_least(scale, n_outputs), at_least(shift, n_outputs), at_least(threshold, n_outputs),
                                   at_least(tie, n_outputs), kl_slack(static_cast<uint64_t>(width)), out.data(), empty.data(),
                                   n_outputs};
            x.visit([&](auto rows) {
                nb::gil_scoped_release release;
                project_structured(rows, row_rule(rule, factor), structure, reader, loops, threads);
            });
        },
        ROW_ARGS, STRUCTURE_ARGS, nb::arg("scale").noconvert().none(), nb::arg("shift").noconvert().none(),
        nb::arg("threshold").noconvert().none(), nb::arg("tie").noconvert().none(), nb::arg("out").noconvert(),
        nb::arg("empty").noconvert(), nb::arg("threads"),
        nb::arg("simd"), "Bits of a structured projection, one a byte.");

    auto dense = [](auto real) {
        using Real = decltype(real);
        return [](AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols, int rule,
                  double factor, In2<float> tables, int64_t first_feature, Out2<Real> y, int threads, int simd) {
            const MatrixArg x{values, indices, indptr, n_cols};
            const int64_t n_tiles = static_cast<int64_t>(tables.shape(0));
            const int64_t n_features = static_cast<int64_t>(tables.shape(1)) / kTile;
            require(first_feature >= 0 && first_feature + n_features <= n_cols && n_features < (int64_t{1} << 31) &&
                        static_cast<int64_t>(y.shape(0)) == x.n_rows() && static_cast<int64_t>(y.shape(1)) == n_tiles * kTile,
                    "tables must be (tiles, features * tile), y (rows, tiles * tile)");
            const DenseTables in{tables.data(), first_feature, n_features, n_tiles};
            x.visit([&](auto rows) {
                nb::gil_scoped_release release;
                project_dense(rows, row_rule(rule, factor), in, y.data(),
                              AddLoops<Real>{project_loops(usable_level(simd))}, threads);
            });
        };
    };
#define DENSE_ARGS \
    ROW_ARGS, nb::arg("tables").noconvert(), nb::arg("first_feature"), nb::arg("y").noconvert(), nb::arg("threads"), \
        nb::arg("simd"), "Add the share of some features to the projections y, features in ascending order."
    m.def("project_dense", dense(float{}), DENSE_ARGS);
    m.def("project_dense", dense(double{}), DENSE_ARGS);

    m.def(
        "project_and_read",
        [](AnyIn values, int rule, double factor, In2<float> tables, int64_t first, int64_t count, In1<float> scale,
           In1<float> shift, bool pairs, float amplitude, Out2<float> out, int threads, int simd) {
            const int64_t n_cols = values.ndim() == 2 ? static_cast<int64_t>(values.shape(1)) : -1;
            const MatrixArg x{values, std::nullopt, std::nullopt, n_cols};
            const int64_t n_tiles = static_cast<int64_t>(tables.shape(0)), columns = pairs ? 2 : 1;
            require(static_cast<int64_t>(tables.shape(1)) == n_cols * kTile && first >= 0 && count >= 0 &&
                        count <= n_tiles * kTile && count > (n_tiles - 1) * kTile && out.shape(0) == values.shape(0) &&
                        columns * (first + count) <= static_cast<int64_t>(out.shape(1)),
                    "tables must be (tiles, n_cols * tile), and the outputs must lie inside out");
            const ProjectLoops& loops = project_loops(usable_level(simd));
            const FeatureReader reader{loops, at_least(scale, first + count), at_least(shift, pairs ? 0 : first + count), pairs,
                                       amplitude, out.data(), static_cast<int64_t>(out.shape(1))};
            const DenseTables in{tables.data(), 0, n_cols, n_tiles};
            const auto run = [&](auto rows) {
                nb::gil_scoped_release release;
                project_and_read(rows, row_rule(rule, factor), in, first, count, reader, loops, threads);
            };
            x.visit_dense(run);
        },
        nb::arg("values").noconvert(), nb::arg("rule"), nb::arg("factor"), nb::arg("tables").noconvert(), nb::arg("first"),
        nb::arg("count"), nb::arg("scale").noconvert(), nb::arg("shift").noconvert(), nb::arg("pairs"), nb::arg("amplitude"),
        nb::arg("out").noconvert(), nb::arg("threads"), nb::arg("simd"), "Fourier features of a dense projection of dense rows.");

    m.def(
        "read_features",
        [](In2<float> y, int64_t first, int64_t count, std::optional<In1<bool>> empty, In1<float> scale, In1<float> shift,
           bool pairs, float amplitude, Out2<float> out, int threads, int simd) {
            const int64_t n_rows = static_cast<int64_t>(y.shape(0)), columns = pairs ? 2 : 1;
            require(first >= 0 && count >= 0 && count <= static_cast<int64_t>(y.shape(1)) && out.shape(0) == y.shape(0) &&
                        columns * (first + count) <= static_cast<int64_t>(out.shape(1)),
                    "the outputs must lie inside y and out");
            const FeatureReader reader{project_loops(usable_level(simd)), at_least(scale, first + count),
                                       at_least(shift, pairs ? 0 : first + count), pairs, amplitude, out.data(),
                                       static_cast<int64_t>(out.shape(1))};
            const bool* none = mask(empty, n_rows);
            nb::gil_scoped_release release;
            read_projections(y.data(), n_rows, static_cast<int64_t>(y.shape(1)), first, count, none, reader, threads);
        },
        nb::arg("y").noconvert(), nb::arg("first"), nb::arg("count"), nb::arg("empty").noconvert().none(),
        nb::arg("scale").noconvert(), nb::arg("shift").noconvert(), nb::arg("pairs"), nb::arg("amplitude"),
        nb::arg("out").noconvert(), nb::arg("threads"), nb::arg("simd"), "Fourier features of projections.");

    auto bits = [](auto real) {
        using Real = decltype(real);
        return [](In2<Real> y, int64_t first, int64_t count, std::optional<In1<bool>> empty, MaybeFloats scale,
                  MaybeFloats shift, MaybeFloats threshold, Out2<uint8_t> out, int threads, int simd) {
            const int64_t n_rows = static_cast<int64_t>(y.shape(0));
            require(first >= 0 && count >= 0 && count <= static_cast<int64_t>(y.shape(1)) && out.shape(0) == y.shape(0) &&
                        first + count <= static_cast<int64_t>(out.shape(1)) && scale.has_value() == shift.has_value() &&
                        shift.has_value() == threshold.has_value(),
                    "the outputs must lie inside y and out; scale, shift and threshold go together");
            const BitReader reader{project_loops(usable_level(simd)), at_least(scale, first + count),
                                   at_least(shift, first + count), at_least(threshold, first + count), nullptr, 0.0f, out.data(), nullptr,
                                   static_cast<int64_t>(out.shape(1))};
            const bool* none = mask(empty, n_rows);
            nb::gil_scoped_release release;
            read_projections(y.data(), n_rows, static_cast<int64_t>(y.shape(1)), first, count, none, reader, threads);
        };
    };
#define BITS_ARGS \
    nb::arg("y").noconvert(), nb::arg("first"), nb::arg("count"), nb::arg("empty").noconvert().none(), \
        nb::arg("scale").noconvert().none(), nb::arg("shift").noconvert().none(), nb::arg("threshold").noconvert().none(), \
        nb::arg("out").noconvert(), nb::arg("threads"), nb::arg("simd"), "Bits of projections, one a byte."
    m.def("read_bits", bits(float{}), BITS_ARGS);
    m.def("read_bits", bits(double{}), BITS_ARGS);

    m.def(
        "normalize_rows",
        [](Out2<float> features, int threads) {
            nb::gil_scoped_release release;
            normalize_rows(features.data(), static_cast<int64_t>(features.shape(0)), static_cast<int64_t>(features.shape(1)),
                           threads);
        },
        nb::arg("features").noconvert(), nb::arg("threads"), "Bring rows of features to length 1.");

    m.def(
        "square_distances",
        [](AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols, int rule, double factor,
           In1<int64_t> left, In1<int64_t> right, Out1<double> out, int threads, int simd) {
            const MatrixArg x{values, indices, indptr, n_cols};
            const int64_t count = static_cast<int64_t>(out.shape(0));
            require(left.shape(0) == out.shape(0) && right.shape(0) == out.shape(0), "one pair a place of out");
            require_inside(left.data(), count, x.n_rows());
            require_inside(right.data(), count, x.n_rows());
            x.visit([&](auto rows) {
                nb::gil_scoped_release release;
                square_distances(rows, row_rule(rule, factor), left.data(), right.data(), count, out.data(),
                                 project_loops(usable_level(simd)), threads);
            });
        },
        ROW_ARGS, nb::arg("left").noconvert(), nb::arg("right").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"),
        nb::arg("simd"),
        "Squared distances of some pairs of rows, the same bits dense or sparse.");
    m.attr("TILE") = kTile;
    m.attr("STREAM_PAIRS") = static_cast<int>(KL_STREAM_PAIRS);
    m.attr("STREAM_SCRAMBLE") = static_cast<int>(KL_STREAM_SCRAMBLE);
    m.attr("STREAM_POSITION") = static_cast<int>(KL_STREAM_POSITION);
    m.attr("STREAM_REMIX") = static_cast<int>(KL_STREAM_REMIX);
    m.attr("STREAM_CHOICE") = static_cast<int>(KL_STREAM_CHOICE);
}

}  // namespace kernelight
