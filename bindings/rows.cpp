// Dense rows before any kernel sees them: are they as the core takes them, and scaled. Glue only.
#include <nanobind/stl/string.h>

#include <cstdlib>
#include <string>
#include <tuple>

#include "arrays.h"
#include "scaling.h"

namespace kernelight {
namespace {

constexpr int64_t kBrief = 1 << 14;  // numbers that are looked at without releasing the GIL

template <class F>
auto unlocked_if(bool long_work, F&& f) {
    if (!long_work) return f();
    nb::gil_scoped_release release;
    return f();
}

bool is_plain(nb::handle given, int64_t n_cols) {
    AnyIn array;
    if (!nb::try_cast<AnyIn>(given, array, false) || array.ndim() != 2 || array.shape(0) == 0 ||
        static_cast<int64_t>(array.shape(1)) != n_cols)
        return false;
    const auto count = static_cast<int64_t>(array.shape(0) * array.shape(1));
    const auto finite = [&](auto value) {
        const auto* values = typed<decltype(value)>(array);
        return unlocked_if(count > kBrief, [=] { return all_finite(values, count); });
    };
    if (array.dtype() == nb::dtype<double>()) return finite(double{});
    if (array.dtype() == nb::dtype<float>()) return finite(float{});
    return false;
}

// What a column scaling has learned, and in which form scaled rows are written.
struct ScalingArg {
    std::optional<In1<double>> origin, unit, knots, ranks;
    std::optional<In1<int64_t>> starts;
    int64_t n_cols;
    ColumnScaling::Form form;
    std::optional<In1<double>> weights;

    static ScalingArg of_units(int form, std::optional<In1<double>> origin, In1<double> unit,
                               std::optional<In1<double>> weights) {
        const auto n_cols = static_cast<int64_t>(unit.shape(0));
        require(!origin || origin->shape(0) == unit.shape(0), "origin and unit must match");
        return {origin, unit, {}, {}, {}, n_cols, form_of(form), checked(weights, n_cols)};
    }
    static ScalingArg of_ranks(int form, In1<double> knots, In1<double> ranks, In1<int64_t> starts,
                               std::optional<In1<double>> weights) {
        require(starts.shape(0) >= 1, "starts must have one number a column and one more");
        const auto n_cols = static_cast<int64_t>(starts.shape(0)) - 1;
        const int64_t* at = starts.data();
        require(at[0] == 0 && std::is_sorted(at, at + n_cols + 1) &&
                    knots.shape(0) == static_cast<size_t>(at[n_cols]) &&
                    ranks.shape(0) == knots.shape(0),
                "starts must ascend from 0 to the number of knots");
        return {{}, {}, knots, ranks, starts, n_cols, form_of(form), checked(weights, n_cols)};
    }

    void scale(AnyIn values, AnyOut out, int threads) const {
        const MatrixArg rows{values, {}, {}, n_cols};
        require(out.ndim() == 2 && static_cast<int64_t>(out.shape(0)) == rows.n_rows() &&
                    static_cast<int64_t>(out.shape(1)) ==
                        n_cols * (form == ColumnScaling::complemented ? 2 : 1) &&
                    out.dtype() == values.dtype(),
                "out must have the type and the rows of values, and room for each column");
        rows.visit_dense([&](const auto& view) {
            using Value = std::decay_t<decltype(*view.values)>;
            unlocked_if(view.n_rows * view.n_cols > kBrief, [&] {
                scale_rows(view, scaling(), static_cast<Value*>(out.data()), threads);
            });
        });
    }

   private:
    static std::optional<In1<double>> checked(std::optional<In1<double>> weights, int64_t n_cols) {
        require(!weights || static_cast<int64_t>(weights->shape(0)) == n_cols,
                "weights must have one number a column");
        return weights;
    }
    static ColumnScaling::Form form_of(int form) {
        require(0 <= form && form < ColumnScaling::kForms, "no such form");
        return static_cast<ColumnScaling::Form>(form);
    }
    ColumnScaling scaling() const {
        const auto data = [](const auto& array) { return array ? array->data() : nullptr; };
        return {data(origin),
                data(unit),
                {data(knots), data(ranks), data(starts)},
                form,
                data(weights)};
    }
};

// nullptr becomes None.
nb::object text_of(const char* variable) {
    const char* text = std::getenv(variable);
    return text ? nb::steal(PyUnicode_DecodeFSDefault(text)) : nb::none();
}

}  // namespace

void bind_rows_of_numbers(nb::module_& m) {
    m.def("is_plain", is_plain, nb::arg("values"), nb::arg("n_cols"),
          "Whether values are a C-ordered float32 or float64 array of that width, with at least "
          "one row and finite.");
    nb::class_<ScalingArg>(m, "ColumnScaling", "A scaling of the columns of dense rows.")
        .def_static("units", &ScalingArg::of_units, nb::arg("form"),
                    nb::arg("origin").noconvert().none(), nb::arg("unit").noconvert(),
                    nb::arg("weights").noconvert().none() = nb::none(),
                    "(x - origin) / unit; form: 0 as it is, 1 floored at 0, 2 with complements; "
                    "then times the weight of the column.")
        .def_static("ranks", &ScalingArg::of_ranks, nb::arg("form"), nb::arg("knots").noconvert(),
                    nb::arg("ranks").noconvert(), nb::arg("starts").noconvert(),
                    nb::arg("weights").noconvert().none() = nb::none(),
                    "Ranks between knots, times the weight of the column.")
        .def("__call__", &ScalingArg::scale, nb::arg("values").noconvert(),
             nb::arg("out").noconvert(), nb::arg("threads"), "Scale dense rows into out.");
    m.def(
        "settings",
        [] {
            return nb::make_tuple(text_of("KERNELIGHT_NUM_THREADS"), text_of("OMP_NUM_THREADS"),
                                  text_of("KERNELIGHT_SIMD"));
        },
        "The environment variables KERNELIGHT_NUM_THREADS, OMP_NUM_THREADS and KERNELIGHT_SIMD.");
}

}  // namespace kernelight
