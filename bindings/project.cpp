// Glue for projections of rows, and for what is read from them.
#include "project.h"

#include "project_views.h"

namespace kernelight {
namespace {

const bool* mask(const std::optional<In1<bool>>& empty, int64_t n_rows) {
    require(!empty || static_cast<int64_t>(empty->shape(0)) == n_rows,
            "empty must have one place a row");
    return empty ? empty->data() : nullptr;
}

void bind_views(nb::module_& m) {
    nb::class_<ScaledRows>(
        m, "ScaledRows", "Rows of a matrix, and what each is multiplied by before it is projected.")
        .def(nb::init<AnyIn, std::optional<AnyIn>, std::optional<AnyIn>, int64_t, int, double>(),
             nb::arg("values").noconvert(), nb::arg("indices").noconvert().none(),
             nb::arg("indptr").noconvert().none(), nb::arg("n_cols"), nb::arg("rule"),
             nb::arg("factor"));
    nb::class_<StructureArg>(
        m, "Structure", "Blocks of diagonals and Hadamard transforms; with places, of Fastfood.")
        .def(nb::init<int64_t, int64_t, InDiagonal, std::optional<In2<int32_t>>>(),
             nb::arg("width"), nb::arg("n_outputs"), nb::arg("diagonal").noconvert(),
             nb::arg("places").noconvert().none());
    nb::class_<FourierArg>(m, "FourierReadout",
                           "Cosines of projections, or cosines and sines in pairs.")
        .def(nb::init<In1<float>, In1<float>, bool, float>(), nb::arg("scale").noconvert(),
             nb::arg("shift").noconvert(), nb::arg("pairs"), nb::arg("amplitude"));
    nb::class_<BitArg>(m, "BitReadout", "Signs of projections, or of cosines of them.")
        .def(nb::init<MaybeFloats, MaybeFloats, MaybeFloats, MaybeFloats>(),
             nb::arg("scale").noconvert().none(), nb::arg("shift").noconvert().none(),
             nb::arg("threshold").noconvert().none(), nb::arg("tie").noconvert().none());
}

}  // namespace

void bind_project(nb::module_& m) {
    bind_views(m);

    m.def(
        "project_features",
        [](const ScaledRows& x, const StructureArg& structure, const FourierArg& readout,
           Out2<float> out, int threads, int simd) {
            const Structure blocks = structure.of(x.n_cols());
            const ProjectLoops& loops = project_loops(usable_level(simd));
            require(static_cast<int64_t>(out.shape(0)) == x.n_rows() &&
                        static_cast<int64_t>(out.shape(1)) == readout.columns(structure.n_outputs),
                    "out must have one row a row and its columns");
            const FeatureReader reader = readout.reader(structure.n_outputs, out, loops);
            x.visit([&](auto rows) {
                project_structured(rows, x.rule, blocks, reader, loops, threads);
            });
        },
        nb::arg("rows"), nb::arg("structure"), nb::arg("readout"), nb::arg("out").noconvert(),
        nb::arg("threads"), nb::arg("simd"), "Fourier features of a structured projection.");

    m.def(
        "project_bits",
        [](const ScaledRows& x, const StructureArg& structure, const BitArg& readout,
           Out2<uint8_t> out, Out1<uint8_t> empty, int threads, int simd) {
            const Structure blocks = structure.of(x.n_cols());
            const int64_t n_outputs = structure.n_outputs;
            const ProjectLoops& loops = project_loops(usable_level(simd));
            require(static_cast<int64_t>(out.shape(0)) == x.n_rows() &&
                        static_cast<int64_t>(out.shape(1)) == n_outputs &&
                        out.shape(0) == empty.shape(0),
                    "out must be (rows, outputs), empty one a row");
            const BitReader reader{loops,
                                   at_least(readout.scale, n_outputs),
                                   at_least(readout.shift, n_outputs),
                                   at_least(readout.threshold, n_outputs),
                                   at_least(readout.tie, n_outputs),
                                   kl_slack(static_cast<uint64_t>(structure.width)),
                                   out.data(),
                                   empty.data(),
                                   n_outputs};
            x.visit([&](auto rows) {
                project_structured(rows, x.rule, blocks, reader, loops, threads);
            });
        },
        nb::arg("rows"), nb::arg("structure"), nb::arg("readout"), nb::arg("out").noconvert(),
        nb::arg("empty").noconvert(), nb::arg("threads"), nb::arg("simd"),
        "Bits of a structured projection, one a byte.");

    auto dense = [](auto real) {
        using Real = decltype(real);
        return [](const ScaledRows& x, In2<float> tables, int64_t first_feature, Out2<Real> y,
                  int threads, int simd) {
            const int64_t n_tiles = static_cast<int64_t>(tables.shape(0));
            const int64_t n_features = static_cast<int64_t>(tables.shape(1)) / kTile;
            require(first_feature >= 0 && first_feature + n_features <= x.n_cols() &&
                        n_features < (int64_t{1} << 31) &&
                        static_cast<int64_t>(y.shape(0)) == x.n_rows() &&
                        static_cast<int64_t>(y.shape(1)) == n_tiles * kTile,
                    "tables must be (tiles, features * tile), y (rows, tiles * tile)");
            const DenseTables in{tables.data(), first_feature, n_features, n_tiles};
            x.visit([&](auto rows) {
                project_dense(rows, x.rule, in, y.data(),
                              AddLoops<Real>{project_loops(usable_level(simd))}, threads);
            });
        };
    };
#define DENSE_ARGS \
    nb::arg("rows"), nb::arg("tables").noconvert(), nb::arg("first_feature"), \
        nb::arg("y").noconvert(), nb::arg("threads"), nb::arg("simd"), \
        "Add the share of some features to the projections y, features in ascending order."
    m.def("project_dense", dense(float{}), DENSE_ARGS);
    m.def("project_dense", dense(double{}), DENSE_ARGS);

    m.def(
        "project_and_read",
        [](const ScaledRows& x, In2<float> tables, int64_t first, int64_t count,
           const FourierArg& readout, Out2<float> out, int threads, int simd) {
            const int64_t n_tiles = static_cast<int64_t>(tables.shape(0));
            require(static_cast<int64_t>(tables.shape(1)) == x.n_cols() * kTile && first >= 0 &&
                        count >= 0 && count <= n_tiles * kTile && count > (n_tiles - 1) * kTile &&
                        static_cast<int64_t>(out.shape(0)) == x.n_rows() &&
                        readout.columns(first + count) <= static_cast<int64_t>(out.shape(1)),
                    "tables must be (tiles, n_cols * tile), and the outputs must lie inside out");
            const ProjectLoops& loops = project_loops(usable_level(simd));
            const FeatureReader reader = readout.reader(first + count, out, loops);
            const DenseTables in{tables.data(), 0, x.n_cols(), n_tiles};
            x.visit_dense([&](auto rows) {
                project_and_read(rows, x.rule, in, first, count, reader, loops, threads);
            });
        },
        nb::arg("rows"), nb::arg("tables").noconvert(), nb::arg("first"), nb::arg("count"),
        nb::arg("readout"), nb::arg("out").noconvert(), nb::arg("threads"), nb::arg("simd"),
        "Fourier features of a dense projection of dense rows.");

    m.def(
        "read_features",
        [](In2<float> y, int64_t first, int64_t count, std::optional<In1<bool>> empty,
           const FourierArg& readout, Out2<float> out, int threads, int simd) {
            const int64_t n_rows = static_cast<int64_t>(y.shape(0));
            require(first >= 0 && count >= 0 && count <= static_cast<int64_t>(y.shape(1)) &&
                        out.shape(0) == y.shape(0) &&
                        readout.columns(first + count) <= static_cast<int64_t>(out.shape(1)),
                    "the outputs must lie inside y and out");
            const FeatureReader reader =
                readout.reader(first + count, out, project_loops(usable_level(simd)));
            const bool* none = mask(empty, n_rows);
            nb::gil_scoped_release release;
            read_projections(y.data(), n_rows, static_cast<int64_t>(y.shape(1)), first, count, none,
                             reader, threads);
        },
        nb::arg("y").noconvert(), nb::arg("first"), nb::arg("count"),
        nb::arg("empty").noconvert().none(), nb::arg("readout"), nb::arg("out").noconvert(),
        nb::arg("threads"), nb::arg("simd"), "Fourier features of projections.");

    auto bits = [](auto real) {
        using Real = decltype(real);
        return [](In2<Real> y, int64_t first, int64_t count, std::optional<In1<bool>> empty,
                  const BitArg& readout, Out2<uint8_t> out, int threads, int simd) {
            const int64_t n_rows = static_cast<int64_t>(y.shape(0));
            require(first >= 0 && count >= 0 && count <= static_cast<int64_t>(y.shape(1)) &&
                        out.shape(0) == y.shape(0) &&
                        first + count <= static_cast<int64_t>(out.shape(1)),
                    "the outputs must lie inside y and out");
            const BitReader reader{project_loops(usable_level(simd)),
                                   at_least(readout.scale, first + count),
                                   at_least(readout.shift, first + count),
                                   at_least(readout.threshold, first + count),
                                   nullptr,
                                   0.0f,
                                   out.data(),
                                   nullptr,
                                   static_cast<int64_t>(out.shape(1))};
            const bool* none = mask(empty, n_rows);
            nb::gil_scoped_release release;
            read_projections(y.data(), n_rows, static_cast<int64_t>(y.shape(1)), first, count, none,
                             reader, threads);
        };
    };
#define BITS_ARGS \
    nb::arg("y").noconvert(), nb::arg("first"), nb::arg("count"), \
        nb::arg("empty").noconvert().none(), nb::arg("readout"), nb::arg("out").noconvert(), \
        nb::arg("threads"), nb::arg("simd"), \
        "Bits of projections, one a byte; a 0 counts as positive, whatever the ties."
    m.def("read_bits", bits(float{}), BITS_ARGS);
    m.def("read_bits", bits(double{}), BITS_ARGS);

    m.def(
        "normalize_rows",
        [](Out2<float> features, int threads) {
            nb::gil_scoped_release release;
            normalize_rows(features.data(), static_cast<int64_t>(features.shape(0)),
                           static_cast<int64_t>(features.shape(1)), threads);
        },
        nb::arg("features").noconvert(), nb::arg("threads"), "Bring rows of features to length 1.");

    m.def(
        "square_distances",
        [](const ScaledRows& x, In1<int64_t> left, In1<int64_t> right, Out1<double> out,
           int threads, int simd) {
            const int64_t count = static_cast<int64_t>(out.shape(0));
            require(left.shape(0) == out.shape(0) && right.shape(0) == out.shape(0),
                    "one pair a place of out");
            require_inside(left.data(), count, x.n_rows());
            require_inside(right.data(), count, x.n_rows());
            x.visit([&](auto rows) {
                square_distances(rows, x.rule, left.data(), right.data(), count, out.data(),
                                 project_loops(usable_level(simd)), threads);
            });
        },
        nb::arg("rows"), nb::arg("left").noconvert(), nb::arg("right").noconvert(),
        nb::arg("out").noconvert(), nb::arg("threads"), nb::arg("simd"),
        "Squared distances of some pairs of rows, the same bits dense or sparse.");
}

}  // namespace kernelight
