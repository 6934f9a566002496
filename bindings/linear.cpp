// Linear models: views of rows that the solver works on. Glue only; the loops are in
// core/solve_dual.h.
#include <any>
#include <tuple>
#include <variant>

#include "arrays.h"
#include "linear_codes.h"
#include "linear_dense.h"
#include "linear_sparse.h"
#include "solve_dual.h"

namespace kernelight {
namespace {

using Empty = std::optional<In1<bool>>;

template <class Real>
using Design =
    std::variant<CodeDesign<uint8_t, Real>, CodeDesign<uint16_t, Real>, DenseDesign<Real>,
                 SparseDesign<Real, int32_t>, SparseDesign<Real, int64_t>>;

template <class Slot>
CodeRows<Slot> code_rows(const In2<Slot>& array, const Empty& empty) {
    require(!empty || empty->shape(0) == array.shape(0), "empty must have one entry a row");
    return {array.data(), empty ? empty->data() : nullptr, static_cast<int64_t>(array.shape(0)),
            static_cast<int64_t>(array.shape(1))};
}

// Rows and, for codes, where their weights are. The arrays are kept alive by the references held
// here.
template <class Real>
struct LinearRows {
    Design<Real> design;
    std::any kept;
    int64_t n_rows, n_entries;
    int simd;
};

template <class Real>
struct Targets {
    std::optional<In1<int32_t>> labels;
    std::optional<In2<Real>> targets;
    In1<Real> row_cost, cost_above, cost_below, norms;
    bool intercept;
    int loss;
    Real epsilon;
};

template <class Real>
LinearProblem<Real> problem_of(const LinearRows<Real>& rows, const Targets<Real>& t,
                               const Out2<Real>& weights, const Out1<Real>& bias,
                               const Out2<Real>& dual, const In1<bool>& open) {
    const auto n = static_cast<size_t>(rows.n_rows), outputs = weights.shape(1);
    require(detail::outputs_index(static_cast<int>(outputs)) < kOutputCounts,
            "weights must have room for 1, 4, 8 or 16 outputs");
    require(weights.shape(0) == static_cast<size_t>(rows.n_entries),
            "weights must have one row an entry");
    require(bias.shape(0) == outputs && t.cost_above.shape(0) == outputs &&
                t.cost_below.shape(0) == outputs,
            "bias and costs must have one number an output");
    require(open.shape(0) == outputs, "open must have one flag an output");
    require(dual.shape(0) == n && dual.shape(1) == outputs, "dual must be (rows, outputs)");
    require(t.row_cost.shape(0) == n && t.norms.shape(0) == n,
            "row_cost and norms must have one number a row");
    require(t.labels.has_value() != t.targets.has_value(), "either labels or targets");
    require(!t.labels || t.labels->shape(0) == n, "labels must have one number a row");
    require(!t.targets || (t.targets->shape(0) == n && t.targets->shape(1) == outputs),
            "targets must be (rows, outputs)");
    require(t.loss >= 0 && t.loss < kLossKinds, "no such loss");
    return {static_cast<int>(outputs),
            t.loss,
            t.epsilon,
            t.labels ? t.labels->data() : nullptr,
            t.targets ? t.targets->data() : nullptr,
            t.row_cost.data(),
            t.cost_above.data(),
            t.cost_below.data(),
            open.data(),
            t.norms.data(),
            t.intercept,
            weights.data(),
            bias.data(),
            dual.data()};
}

template <class Real>
RowSpan span_of(const LinearRows<Real>& rows, int64_t begin, int64_t end) {
    require(0 <= begin && begin <= end && end <= rows.n_rows,
            "begin and end must be a range of rows");
    return {begin, end};
}

template <class Real, class Slot>
void bind_codes_for(nb::module_& m, const char* name) {
    m.def(
        name,
        [](In2<Slot> array, Empty empty, int bits, In1<uint16_t> local, bool ranked,
           In1<int64_t> segment_slot, In1<int64_t> segment_entry, In1<int64_t> part_segment,
           int simd) {
            const auto rows = code_rows(array, empty);
            require(bits >= 1 && bits <= 16, "bits must be between 1 and 16");
            require(rows.n_slots >= 1 && local.shape(0) == array.shape(1) << (ranked ? 0 : bits),
                    "local must have 2^bits entries a slot, or one if ranked");
            require(segment_slot.shape(0) >= 2 && segment_entry.shape(0) == segment_slot.shape(0) &&
                        part_segment.shape(0) >= 2,
                    "segments and parts must not be empty");
            const CodeLayout layout{ranked ? nullptr : local.data(),
                                    ranked ? local.data() : nullptr,
                                    segment_slot.data(),
                                    segment_entry.data(),
                                    part_segment.data(),
                                    static_cast<int64_t>(part_segment.shape(0)) - 1};
            const auto n_segments = static_cast<int64_t>(segment_slot.shape(0)) - 1;
            require(layout.valid(n_segments, rows.n_slots, bits),
                    "segments, parts and entries must fit together");
            return LinearRows<Real>{
                CodeDesign<Slot, Real>(rows, layout, bits, simd),
                std::make_tuple(array, empty, local, segment_slot, segment_entry, part_segment),
                rows.n_rows, segment_entry.data()[n_segments], simd};
        },
        nb::arg("array").noconvert(), nb::arg("empty").none().noconvert(), nb::arg("bits"),
        nb::arg("local").noconvert(), nb::arg("ranked"), nb::arg("segment_slot").noconvert(),
        nb::arg("segment_entry").noconvert(), nb::arg("part_segment").noconvert(), nb::arg("simd"),
        "A view of codes and of the layout of their weights.");
}

template <class Real>
void to_design(const DenseRows<Real>& rows, std::optional<Design<Real>>& out) {
    out.emplace(DenseDesign<Real>(rows.values, rows.n_rows, rows.n_cols));
}
template <class Real, class Index>
void to_design(const CsrRows<Real, Index>& rows, std::optional<Design<Real>>& out) {
    out.emplace(SparseDesign<Real, Index>(rows));
}
template <class Rows, class Other>
void to_design(const Rows&, Other&) {
    throw std::invalid_argument("values must be of the type the solver works in");
}

template <class Real>
void bind_matrix_for(nb::module_& m, const char* name) {
    m.def(
        name,
        [](AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols,
           int simd) {
            require(values.dtype() == nb::dtype<Real>(),
                    "values must be of the type the solver works in");
            const MatrixArg matrix{values, indices, indptr, n_cols};
            std::optional<Design<Real>> design;
            int64_t n_rows = matrix.n_rows();
            matrix.visit([&](const auto& rows) { to_design(rows, design); });
            return LinearRows<Real>{*design, std::make_tuple(values, indices, indptr), n_rows,
                                    n_cols, simd};
        },
        nb::arg("values").noconvert(), nb::arg("indices").none().noconvert(),
        nb::arg("indptr").none().noconvert(), nb::arg("n_cols"), nb::arg("simd"),
        "A view of dense rows, or of CSR rows.");
}

template <class Real>
void bind_rows(nb::module_& m, const char* rows_name, const char* targets_name) {
    nb::class_<Targets<Real>>(m, targets_name, "What rows should give, and what an error costs.")
        .def(nb::init<std::optional<In1<int32_t>>, std::optional<In2<Real>>, In1<Real>, In1<Real>,
                      In1<Real>, In1<Real>, bool, int, Real>(),
             nb::arg("labels").none().noconvert(), nb::arg("targets").none().noconvert(),
             nb::arg("row_cost").noconvert(), nb::arg("cost_above").noconvert(),
             nb::arg("cost_below").noconvert(), nb::arg("norms").noconvert(), nb::arg("intercept"),
             nb::arg("loss"), nb::arg("epsilon"));
    nb::class_<LinearRows<Real>>(m, rows_name, "Rows of a linear model.")
        .def(
            "epoch",
            [](const LinearRows<Real>& self, const Targets<Real>& targets, Out2<Real> weights,
               Out1<Real> bias, Out2<Real> dual, In1<bool> open, In1<int32_t> order, int sweeps,
               Real shrink_threshold, Out1<uint8_t> shrunk_for, Out1<uint8_t> times_shrunk,
               Out1<double> loss, Out1<double> gap, int threads) {
                const auto problem = problem_of(self, targets, weights, bias, dual, open);
                const auto count = static_cast<int64_t>(order.shape(0));
                require(shrunk_for.shape(0) == static_cast<size_t>(self.n_rows) &&
                            times_shrunk.shape(0) == shrunk_for.shape(0),
                        "shrunk_for and times_shrunk must have one number a row");
                require(loss.shape(0) == weights.shape(1) && gap.shape(0) == weights.shape(1),
                        "one sum an output");
                require(std::all_of(order.data(), order.data() + count,
                                    [&](int32_t row) { return row >= 0 && row < self.n_rows; }),
                        "order must name rows");
                nb::gil_scoped_release release;
                return std::visit(
                    [&](const auto& design) {
                        return dual_epoch(design, problem, order.data(), count, sweeps,
                                          shrink_threshold, shrunk_for.data(), times_shrunk.data(),
                                          loss.data(), gap.data(), threads, self.simd);
                    },
                    self.design);
            },
            nb::arg("targets"), nb::arg("weights").noconvert(), nb::arg("bias").noconvert(),
            nb::arg("dual").noconvert(), nb::arg("open").noconvert(), nb::arg("order").noconvert(),
            nb::arg("sweeps"), nb::arg("shrink_threshold"), nb::arg("shrunk_for").noconvert(),
            nb::arg("times_shrunk").noconvert(), nb::arg("loss").noconvert(),
            nb::arg("gap").noconvert(), nb::arg("threads"),
            "One visit of dual coordinate descent to each row of order; loss and gap += the sums "
            "of "
            "the losses and of the parts of the duality gap that the rows had before.")
        .def(
            "objective",
            [](const LinearRows<Real>& self, const Targets<Real>& targets, Out2<Real> weights,
               Out1<Real> bias, Out2<Real> dual, In1<bool> open, Out1<double> loss,
               Out1<double> conjugate, int64_t begin, int64_t end, int threads) {
                const auto problem = problem_of(self, targets, weights, bias, dual, open);
                require(loss.shape(0) == weights.shape(1) && conjugate.shape(0) == weights.shape(1),
                        "one sum an output");
                const auto span = span_of(self, begin, end);
                nb::gil_scoped_release release;
                std::visit(
                    [&](const auto& design) {
                        dual_objective(design, problem, loss.data(), conjugate.data(), span,
                                       threads, self.simd);
                    },
                    self.design);
            },
            nb::arg("targets"), nb::arg("weights").noconvert(), nb::arg("bias").noconvert(),
            nb::arg("dual").noconvert(), nb::arg("open").noconvert(), nb::arg("loss").noconvert(),
            nb::arg("conjugate").noconvert(), nb::arg("begin"), nb::arg("end"), nb::arg("threads"),
            "loss and conjugate += the sums over rows begin ... end of the losses and of their "
            "conjugates.")
        .def(
            "add_duals",
            [](const LinearRows<Real>& self, In2<Real> dual, bool intercept, Out2<Real> weights,
               Out1<Real> bias, int64_t begin, int64_t end, int threads) {
                const auto outputs = weights.shape(1);
                require(detail::outputs_index(static_cast<int>(outputs)) < kOutputCounts,
                        "weights must have room for 1, 4, 8 or 16 outputs");
                require(weights.shape(0) == static_cast<size_t>(self.n_entries),
                        "weights must have one row an entry");
                require(bias.shape(0) == outputs && dual.shape(1) == outputs &&
                            dual.shape(0) == static_cast<size_t>(self.n_rows),
                        "bias must have one number an output, dual be (rows, outputs)");
                LinearProblem<Real> problem{};
                problem.outputs = static_cast<int>(outputs);
                problem.weights = weights.data();
                problem.bias = bias.data();
                problem.intercept = intercept;
                problem.dual = const_cast<Real*>(dual.data());  // only read
                const auto span = span_of(self, begin, end);
                nb::gil_scoped_release release;
                std::visit(
                    [&](const auto& design) {
                        linear_weights(design, problem, span, threads, self.simd);
                    },
                    self.design);
            },
            nb::arg("dual").noconvert(), nb::arg("intercept"), nb::arg("weights").noconvert(),
            nb::arg("bias").noconvert(), nb::arg("begin"), nb::arg("end"), nb::arg("threads"),
            "weights and bias += the sum of rows begin ... end times their duals.")
        .def(
            "margins",
            [](const LinearRows<Real>& self, In2<Real> weights, In1<Real> bias, Out2<Real> out,
               int64_t begin, int64_t end, int threads) {
                const auto outputs = weights.shape(1);
                require(detail::outputs_index(static_cast<int>(outputs)) < kOutputCounts,
                        "weights must have room for 1, 4, 8 or 16 outputs");
                require(weights.shape(0) == static_cast<size_t>(self.n_entries),
                        "weights must have one row an entry");
                require(bias.shape(0) == outputs && out.shape(1) == outputs &&
                            out.shape(0) == static_cast<size_t>(self.n_rows),
                        "bias must have one number an output, out be (rows, outputs)");
                LinearProblem<Real> problem{};
                problem.outputs = static_cast<int>(outputs);
                // Margins only read them.
                problem.weights = const_cast<Real*>(weights.data());
                problem.bias = const_cast<Real*>(bias.data());
                const auto span = span_of(self, begin, end);
                nb::gil_scoped_release release;
                std::visit(
                    [&](const auto& design) {
                        linear_margins(design, problem, out.data(), span, threads, self.simd);
                    },
                    self.design);
            },
            nb::arg("weights").noconvert(), nb::arg("bias").noconvert(), nb::arg("out").noconvert(),
            nb::arg("begin"), nb::arg("end"), nb::arg("threads"),
            "out[i, :] = row i times weights, plus bias, for rows begin ... end.");
}

template <class Slot, class Count>
void bind_histogram(nb::module_& m) {
    m.def(
        "code_histogram",
        [](In2<Slot> array, Empty empty, int bits, Out1<Count> out, int threads) {
            require(bits >= 1 && bits <= 16 && out.shape(0) == array.shape(1) << bits,
                    "out must have 2^bits entries a slot");
            const auto rows = code_rows(array, empty);
            nb::gil_scoped_release release;
            code_histogram(rows, bits, out.data(), threads);
        },
        nb::arg("array").noconvert(), nb::arg("empty").none().noconvert(), nb::arg("bits"),
        nb::arg("out").noconvert(), nb::arg("threads"),
        "out[s << bits | c] = number of rows with code c in slot s, or whether there are any.");
}

template <class Slot>
void bind_ranks(nb::module_& m) {
    m.def(
        "code_ranks",
        [](In2<Slot> array, Empty empty, int bits, In1<uint16_t> local, In1<uint16_t> first,
           Out2<Slot> out, int threads) {
            require(bits >= 1 && bits <= 16 && local.shape(0) == array.shape(1) << bits &&
                        first.shape(0) == array.shape(1),
                    "local must have 2^bits entries a slot, first one");
            require(out.shape(0) == array.shape(0) && out.shape(1) == array.shape(1),
                    "out must have the shape of array");
            nb::gil_scoped_release release;
            code_ranks(code_rows(array, empty), bits, local.data(), first.data(), out.data(),
                       threads);
        },
        nb::arg("array").noconvert(), nb::arg("empty").none().noconvert(), nb::arg("bits"),
        nb::arg("local").noconvert(), nb::arg("first").noconvert(), nb::arg("out").noconvert(),
        nb::arg("threads"), "out[i, s] = the rank of a code within its slot.");
}

}  // namespace

void bind_linear(nb::module_& m) {
    bind_rows<float>(m, "LinearRows32", "LinearTargets32");
    bind_rows<double>(m, "LinearRows64", "LinearTargets64");
    bind_codes_for<float, uint8_t>(m, "linear_codes_32");
    bind_codes_for<float, uint16_t>(m, "linear_codes_32");
    bind_codes_for<double, uint8_t>(m, "linear_codes_64");
    bind_codes_for<double, uint16_t>(m, "linear_codes_64");
    bind_matrix_for<float>(m, "linear_matrix_32");
    bind_matrix_for<double>(m, "linear_matrix_64");
    bind_histogram<uint8_t, int32_t>(m);
    bind_histogram<uint8_t, bool>(m);
    bind_histogram<uint16_t, int32_t>(m);
    bind_histogram<uint16_t, bool>(m);
    bind_ranks<uint8_t>(m);
    bind_ranks<uint16_t>(m);
}

}  // namespace kernelight
