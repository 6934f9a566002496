// Glue for Fourier features of whole numbers.
#include "integer_fourier.h"

#include "project_views.h"

namespace kernelight {
namespace {

IntegerBlocks blocks_of(const ScaledRows& x, const In2<uint16_t>& signs,
                        const In1<uint16_t>& phases, size_t out_rows, size_t out_columns) {
    const IntegerBlocks blocks{static_cast<int64_t>(signs.shape(1)),
                               static_cast<int64_t>(phases.shape(0)), signs.data(), phases.data()};
    const int64_t width = blocks.width;
    require(x.rule.kind == RowRule::fixed, "the rule of a row must be 0 (fixed)");
    require(width >= 64 && (width & (width - 1)) == 0 && x.n_cols() <= width,
            "width must be a power of two, at least 64 and n_cols");
    require(static_cast<int64_t>(signs.shape(0)) == 1 + (blocks.n_outputs + width - 1) / width,
            "signs must be (1 + blocks, width)");
    require(static_cast<int64_t>(out_rows) == x.n_rows() &&
                static_cast<int64_t>(out_columns) == blocks.n_outputs,
            "out must have one row a row and a column for each phase");
    return blocks;
}

}  // namespace

void bind_integer_fourier(nb::module_& m) {
    m.def(
        "integer_factor",
        [](double sigma, uint64_t width) {
            const kl_integer_factor factor = kl_integer_factor_of(sigma, width);
            return std::tuple(factor.multiplier, factor.exponent, kl_integer_factor_value(factor));
        },
        nb::arg("sigma"), nb::arg("width"),
        "What the numbers of a row are multiplied by: multiplier, exponent, and multiplier * "
        "2^exponent.");

    m.def(
        "fill_integer_signs",
        [](uint64_t seed, Out2<uint16_t> signs, int threads) {
            require(signs.shape(1) % 64 == 0, "the width of a block is a multiple of 64");
            nb::gil_scoped_release release;
            fill_integer_signs(seed, static_cast<int64_t>(signs.shape(1)),
                               static_cast<int64_t>(signs.shape(0)), signs.data(), threads);
        },
        nb::arg("seed"), nb::arg("signs").noconvert(), nb::arg("threads"),
        "Draw the signs of blocks, as masks.");

    m.def(
        "fill_integer_phases",
        [](Out1<uint16_t> phases) {
            nb::gil_scoped_release release;
            fill_integer_phases(phases.data(), static_cast<int64_t>(phases.shape(0)));
        },
        nb::arg("phases").noconvert(), "The phases of outputs, 2^16 to a turn.");

    m.def(
        "integer_fourier",
        [](const ScaledRows& x, In2<uint16_t> signs, In1<uint16_t> phases, Out2<int16_t> out,
           int threads, int simd) {
            const IntegerBlocks blocks = blocks_of(x, signs, phases, out.shape(0), out.shape(1));
            const IntegerLoops& loops = integer_loops(usable_level(simd));
            const IntegerReader reader{loops, out.data()};
            x.visit([&](auto rows) {
                integer_fourier(rows, x.rule.factor, blocks, reader, loops, threads);
            });
        },
        nb::arg("rows"), nb::arg("signs").noconvert(), nb::arg("phases").noconvert(),
        nb::arg("out").noconvert(), nb::arg("threads"), nb::arg("simd"),
        "Fourier features as whole numbers from -1024 to 1024.");

    m.def(
        "integer_fourier_features",
        [](const ScaledRows& x, In2<uint16_t> signs, In1<uint16_t> phases, double amplitude,
           Out2<float> out, int threads, int simd) {
            const IntegerBlocks blocks = blocks_of(x, signs, phases, out.shape(0), out.shape(1));
            const IntegerLoops& loops = integer_loops(usable_level(simd));
            const IntegerFeatureReader reader{loops, amplitude, out.data()};
            x.visit([&](auto rows) {
                integer_fourier(rows, x.rule.factor, blocks, reader, loops, threads);
            });
        },
        nb::arg("rows"), nb::arg("signs").noconvert(), nb::arg("phases").noconvert(),
        nb::arg("amplitude"), nb::arg("out").noconvert(), nb::arg("threads"), nb::arg("simd"),
        "The same times an amplitude, as floats.");
}

}  // namespace kernelight
