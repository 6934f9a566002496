// Glue for the frozen primitives, for golden tests.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "portable/kl_cws.h"
#include "portable/kl_dart.h"
#include "portable/kl_project.h"

namespace nb = nanobind;

namespace kernelight {
void bind_frozen(nb::module_& m) {
    m.def("child", &kl_child, nb::arg("key"), nb::arg("n"), "The n-th child of a key.");
    m.def("stream", &kl_stream, nb::arg("seed"), nb::arg("stream"),
          "The key of a stream of a seed.");
    m.def("log", &kl_log, nb::arg("x"), "The frozen logarithm of a positive finite double.");
    m.def("floor_float", &kl_floor_float, nb::arg("y"), "The frozen single-precision floor.");
    m.def("float_above", &kl_float_above, nb::arg("x"),
          "The smallest float at or above a nonnegative double.");
    m.def("poisson1", &kl_poisson1, nb::arg("bits"), "The Poisson(1) quantile of 64 bits.");
    m.def("dart_rate", &kl_dart_rate, nb::arg("k"), "Darts per unit area for k slots.");
    m.def("sqrt", &kl_sqrt, nb::arg("x"), "The frozen square root of a positive normal double.");
    m.def("normal", &kl_normal, nb::arg("key"), nb::arg("n"), "The n-th standard normal of a key.");
    m.def("cauchy", &kl_cauchy, nb::arg("word"), "The Cauchy variable of a word.");
    m.def("chi", &kl_chi, nb::arg("key"), nb::arg("n"),
          "The length of a normal vector of n dimensions.");
    m.def("sign", &kl_sign, nb::arg("key"), nb::arg("n"), "The n-th random sign of a key.");
    m.def(
        "circle_of",
        [](float y) {
            const kl_circle_float at = kl_circle_of(y);
            return std::make_tuple(at.cosine, at.sine);
        },
        nb::arg("y"), "The frozen single-precision cosine and sine of y turns.");
    m.def(
        "cws_cell",
        [](uint64_t seed, uint64_t slot, uint64_t coordinate) {
            const kl_cws_cell cell =
                kl_cws_draw(kl_child(kl_stream(seed, KL_STREAM_CWS), coordinate), slot);
            return std::make_tuple(cell.inverse_r, cell.beta, cell.r, cell.q);
        },
        nb::arg("seed"), nb::arg("slot"), nb::arg("coordinate"), "1/r, beta, r, q of one cell.");
    m.def(
        "cws_code",
        [](uint64_t seed, uint64_t slot, uint64_t coordinate, int64_t t) {
            return kl_cws_code(kl_child(kl_stream(seed, KL_STREAM_CWS_CODE), slot), coordinate, t);
        },
        nb::arg("seed"), nb::arg("slot"), nb::arg("coordinate"), nb::arg("t"),
        "The 64 bits of one sample in one slot.");
}

}  // namespace kernelight
