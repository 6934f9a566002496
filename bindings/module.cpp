// The module kernelight._core: calls the bind_... function of every file of bindings/.
#include <nanobind/nanobind.h>

#include "simd/levels.h"

namespace nb = nanobind;

namespace kernelight {
void bind_cws(nb::module_& m);
void bind_dart(nb::module_& m);
void bind_data(nb::module_& m);
void bind_duplicates(nb::module_& m);
void bind_fold(nb::module_& m);
void bind_frozen(nb::module_& m);
void bind_integer_fourier(nb::module_& m);
void bind_pairwise(nb::module_& m);
void bind_partitions(nb::module_& m);
void bind_codes(nb::module_& m);
void bind_project(nb::module_& m);
void bind_project_tables(nb::module_& m);
void bind_rows_of_numbers(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_neighbors(nb::module_& m);
void bind_scores(nb::module_& m);
void bind_ternary(nb::module_& m);
}  // namespace kernelight

NB_MODULE(_core, m) {
    // Views of tables live as long as the estimators that hold them, which may be as long as the
    // process: what is still there at its end is no leak, and users must not be told of one.
    nb::set_leak_warnings(false);
    m.doc() = "The compiled core of kernelight. Private: call the Python names that wrap it.";
    m.def(
        "best_simd_level", [] { return static_cast<int>(kernelight::best_level()); },
        "The best instruction set of this machine: 0 baseline, 1 avx2, 2 avx512.");
    kernelight::bind_cws(m);
    kernelight::bind_dart(m);
    kernelight::bind_data(m);
    kernelight::bind_duplicates(m);
    kernelight::bind_fold(m);
    kernelight::bind_frozen(m);
    kernelight::bind_integer_fourier(m);
    kernelight::bind_pairwise(m);
    kernelight::bind_partitions(m);
    kernelight::bind_codes(m);
    kernelight::bind_project(m);
    kernelight::bind_project_tables(m);
    kernelight::bind_rows_of_numbers(m);
    kernelight::bind_linear(m);
    kernelight::bind_neighbors(m);
    kernelight::bind_scores(m);
    kernelight::bind_ternary(m);
}
