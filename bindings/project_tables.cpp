// Glue for what projections draw: tables of directions, and the numbers of readouts.
#include "arrays.h"
#include "project.h"

namespace kernelight {

void bind_project_tables(nb::module_& m) {
    using Diagonal = nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

    m.def(
        "fill_three_hd",
        [](uint64_t seed, Diagonal diagonal, std::optional<Out1<float>> lengths, double factor,
           int threads) {
            require(diagonal.shape(1) == 3, "three HD blocks have three diagonals");
            const int64_t blocks = static_cast<int64_t>(diagonal.shape(0)),
                          width = static_cast<int64_t>(diagonal.shape(2));
            nb::gil_scoped_release release;
            fill_three_hd(seed, width, blocks, diagonal.data(), threads);
            if (lengths)
                fill_lengths(seed, width, static_cast<int64_t>(lengths->shape(0)), factor,
                             lengths->data(), threads);
        },
        nb::arg("seed"), nb::arg("diagonal").noconvert(), nb::arg("lengths").noconvert().none(),
        nb::arg("factor"), nb::arg("threads"),
        "Draw the signs of three HD blocks, and the lengths of their outputs.");

    m.def(
        "fill_fastfood",
        [](uint64_t seed, Diagonal diagonal, Out2<int32_t> places, Out1<float> lengths,
           double factor, int threads) {
            const int64_t blocks = static_cast<int64_t>(diagonal.shape(0)),
                          width = static_cast<int64_t>(diagonal.shape(2));
            const int64_t n_outputs = static_cast<int64_t>(lengths.shape(0));
            require(diagonal.shape(1) == 2 && places.shape(0) == diagonal.shape(0) &&
                        places.shape(1) == diagonal.shape(2) && width >= 1 &&
                        width <= (int64_t{1} << 31) && blocks == (n_outputs + width - 1) / width,
                    "diagonal is (blocks, 2, width), places (blocks, width), lengths one a output");
            nb::gil_scoped_release release;
            fill_fastfood(seed, width, n_outputs, factor, diagonal.data(), places.data(),
                          lengths.data(), threads);
        },
        nb::arg("seed"), nb::arg("diagonal").noconvert(), nb::arg("places").noconvert(),
        nb::arg("lengths").noconvert(), nb::arg("factor"), nb::arg("threads"),
        "Draw Fastfood blocks.");

    m.def(
        "fill_dense",
        [](uint64_t seed, bool cauchy, In1<uint64_t> ids, uint64_t first_output, Out2<float> tables,
           int threads, int simd) {
            const int64_t n_features = static_cast<int64_t>(ids.shape(0));
            require(static_cast<int64_t>(tables.shape(1)) == n_features * kTile &&
                        first_output % 2 == 0,
                    "tables must be (tiles, features * tile)");
            nb::gil_scoped_release release;
            fill_dense(seed, cauchy, ids.data(), n_features, first_output,
                       static_cast<int64_t>(tables.shape(0)), tables.data(),
                       project_loops(usable_level(simd)), threads);
        },
        nb::arg("seed"), nb::arg("cauchy"), nb::arg("ids").noconvert(), nb::arg("first_output"),
        nb::arg("tables").noconvert(), nb::arg("threads"), nb::arg("simd"),
        "Draw tiles of a dense projection.");

    m.def(
        "fill_orthogonal",
        [](uint64_t seed, int64_t n_features, int64_t n_outputs, int64_t block, Out2<float> tables,
           int threads, int simd) {
            require(n_features >= 1 && n_outputs >= 1 && block >= 0 &&
                        block <= (n_outputs - 1) / n_features &&
                        static_cast<int64_t>(tables.shape(1)) == n_features * kTile &&
                        static_cast<int64_t>(tables.shape(0)) == (n_outputs + kTile - 1) / kTile,
                    "tables must be (tiles, features * tile)");
            nb::gil_scoped_release release;
            fill_orthogonal(seed, n_features, n_outputs, block, tables.data(),
                            project_loops(usable_level(simd)), threads);
        },
        nb::arg("seed"), nb::arg("n_features"), nb::arg("n_outputs"), nb::arg("block"),
        nb::arg("tables").noconvert(), nb::arg("threads"), nb::arg("simd"),
        "Draw a block of an orthogonal projection into its tiles.");

    m.def(
        "fill_words",
        [](uint64_t seed, uint64_t stream, Out1<uint64_t> out) {
            nb::gil_scoped_release release;
            fill_words(seed, stream, out.data(), static_cast<int64_t>(out.shape(0)));
        },
        nb::arg("seed"), nb::arg("stream"), nb::arg("out").noconvert(),
        "The first random words of a stream of a seed.");

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
        [](uint64_t seed, Out1<float> out) {
            fill_readout(seed, kl_tie, out.data(), static_cast<int64_t>(out.shape(0)));
        },
        nb::arg("seed"), nb::arg("out").noconvert(),
        "Draw the signs that projections of 0 count as.");
    m.attr("TILE") = kTile;
    m.attr("STREAM_PAIRS") = static_cast<int>(KL_STREAM_PAIRS);
    m.attr("STREAM_SCRAMBLE") = static_cast<int>(KL_STREAM_SCRAMBLE);
    m.attr("STREAM_POSITION") = static_cast<int>(KL_STREAM_POSITION);
    m.attr("STREAM_REMIX") = static_cast<int>(KL_STREAM_REMIX);
    m.attr("STREAM_CHOICE") = static_cast<int>(KL_STREAM_CHOICE);
}

}  // namespace kernelight
