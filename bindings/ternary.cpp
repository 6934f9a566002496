// Ternary models: sweeps and scores. Glue only; the loops are in core/ternary.h.
#include "ternary.h"

#include "arrays.h"
#include "ternary_dense.h"

namespace kernelight {
namespace {

template <class T>
using In3 = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void sweep(In2<uint64_t> columns, In1<double> weights, int64_t n_filled, In2<uint8_t> positive,
           In3<double> losses, In1<double> penalties, In1<double> least, In2<int32_t> orders,
           Out2<int8_t> coefficients, Out2<int32_t> scores, Out1<int64_t> moves,
           Out1<double> decrease, int threads, int simd) {
    const size_t n_classes = positive.shape(0), n_rows = weights.shape(0),
                 n_slots = columns.shape(0);
    require(n_filled >= 0 && static_cast<size_t>(n_filled) <= n_rows,
            "n_filled must not exceed the rows");
    require(columns.shape(1) == (static_cast<size_t>(n_filled) + 63) / 64,
            "columns must have ceil(n_filled / 64) words");
    require(
        positive.shape(1) == n_rows && scores.shape(0) == n_classes && scores.shape(1) == n_rows,
        "positive and scores must be (classes, rows)");
    require(
        losses.shape(0) == n_classes && losses.shape(1) == 2 && losses.shape(2) == 2 * n_slots + 5,
        "losses must be (classes, 2, 2 slots + 5)");
    require(penalties.shape(0) == n_classes && least.shape(0) == n_classes &&
                moves.shape(0) == n_classes && decrease.shape(0) == n_classes,
            "penalties, least, moves and decrease must have one entry a class");
    require(coefficients.shape(0) == n_classes && coefficients.shape(1) == n_slots &&
                orders.shape(0) == n_classes && orders.shape(1) == n_slots,
            "coefficients and orders must be (classes, slots)");
    const TernaryRows rows = {columns.data(), weights.data(), static_cast<int64_t>(n_slots),
                              n_filled};
    const auto class_at = [&](int64_t at) {
        return TernaryClass{positive.data() + at * n_rows,
                            losses.data() + at * 2 * (2 * n_slots + 5),
                            penalties.data()[at],
                            least.data()[at],
                            coefficients.data() + at * n_slots,
                            scores.data() + at * n_rows};
    };
    require(ternary_fits(rows.n_slots, n_classes, class_at, orders.data()),
            "coefficients must be -1, 0 or 1, and orders numbers of slots");
    nb::gil_scoped_release release;
    ternary_sweep(rows, n_classes, class_at, orders.data(), moves.data(), decrease.data(), threads,
                  simd);
}

// Dense features, class by class: shapes are checked here.
struct DenseArg {
    In2<float> columns;
    In1<double> largest, weights;
    int loss;

    TernaryDenseRows rows() const {
        const size_t n_rows = weights.shape(0), lanes = kTernaryLanes;
        require(columns.shape(1) == (n_rows + lanes - 1) / lanes * lanes,
                "columns must have an entry for each row, up to a multiple of 8");
        require(largest.shape(0) == columns.shape(0), "largest must have one entry a slot");
        require(loss == squared_hinge || loss == logistic || loss == squared, "no such loss");
        return {columns.data(),
                largest.data(),
                weights.data(),
                static_cast<int64_t>(columns.shape(0)),
                static_cast<int64_t>(n_rows),
                static_cast<int64_t>(columns.shape(1)),
                loss};
    }
};

void sweep_dense(In2<float> columns, In1<double> largest, In1<double> weights, int loss,
                 In2<uint8_t> positive, In1<double> scales, In1<double> biases,
                 In1<double> penalties, In1<double> least, In2<int32_t> orders,
                 Out2<int8_t> coefficients, Out2<double> totals, Out1<int64_t> moves,
                 Out1<double> decrease, int threads, int simd) {
    const TernaryDenseRows rows = DenseArg{columns, largest, weights, loss}.rows();
    const size_t n_classes = positive.shape(0), n_rows = weights.shape(0),
                 n_slots = columns.shape(0);
    require(
        positive.shape(1) == n_rows && totals.shape(0) == n_classes && totals.shape(1) == n_rows,
        "positive and totals must be (classes, rows)");
    require(scales.shape(0) == n_classes && biases.shape(0) == n_classes &&
                penalties.shape(0) == n_classes && least.shape(0) == n_classes &&
                moves.shape(0) == n_classes && decrease.shape(0) == n_classes,
            "scales, biases, penalties, least, moves and decrease must have one entry a class");
    require(coefficients.shape(0) == n_classes && coefficients.shape(1) == n_slots &&
                orders.shape(0) == n_classes && orders.shape(1) == n_slots,
            "coefficients and orders must be (classes, slots)");
    const auto class_at = [&](int64_t at) {
        return TernaryDenseClass{
            positive.data() + at * n_rows, scales.data()[at], biases.data()[at],
            penalties.data()[at],          least.data()[at],  coefficients.data() + at * n_slots,
            totals.data() + at * n_rows};
    };
    require(ternary_fits(rows.n_slots, n_classes, class_at, orders.data()),
            "coefficients must be -1, 0 or 1, and orders numbers of slots");
    nb::gil_scoped_release release;
    ternary_dense_sweep(rows, n_classes, class_at, orders.data(), moves.data(), decrease.data(),
                        threads, simd);
}

void totals_of(In2<float> columns, In2<int8_t> coefficients, Out2<double> totals, int threads,
               int simd) {
    const size_t n_classes = coefficients.shape(0), n_slots = columns.shape(0);
    require(coefficients.shape(1) == n_slots, "coefficients must be (classes, slots)");
    require(totals.shape(0) == n_classes && totals.shape(1) <= columns.shape(1),
            "totals must be (classes, rows)");
    nb::gil_scoped_release release;
    ternary_dense_totals(columns.data(), n_slots, totals.shape(1), columns.shape(1),
                         coefficients.data(), n_classes, totals.data(), threads, simd);
}

void scores_of(In2<uint64_t> words, In2<uint64_t> plus, In2<uint64_t> used, In1<int32_t> nonzeros,
               In1<double> scales, In1<double> biases, Out2<double> out, int threads, int simd) {
    const size_t n_classes = plus.shape(0);
    require(plus.shape(1) == words.shape(1) && used.shape(1) == words.shape(1) &&
                used.shape(0) == n_classes,
            "both planes must be (classes, words of a row)");
    require(nonzeros.shape(0) == n_classes && scales.shape(0) == n_classes &&
                biases.shape(0) == n_classes,
            "nonzeros, scales and biases must have one entry a class");
    require(out.shape(0) == words.shape(0) && out.shape(1) == n_classes,
            "out must be (rows, classes)");
    require(words.shape(1) <= INT32_MAX / 64, "too many slots to count in 32 bits");
    const TernaryPlanes planes = {plus.data(), used.data(), static_cast<int64_t>(n_classes),
                                  static_cast<int64_t>(words.shape(1))};
    nb::gil_scoped_release release;
    ternary_scores(words.data(), words.shape(0), planes, nonzeros.data(), scales.data(),
                   biases.data(), out.data(), threads, simd);
}

}  // namespace

void bind_ternary(nb::module_& m) {
    m.def("ternary_sweep", &sweep, nb::arg("columns").noconvert(), nb::arg("weights").noconvert(),
          nb::arg("n_filled"), nb::arg("positive").noconvert(), nb::arg("losses").noconvert(),
          nb::arg("penalties").noconvert(), nb::arg("least").noconvert(),
          nb::arg("orders").noconvert(), nb::arg("coefficients").noconvert(),
          nb::arg("scores").noconvert(), nb::arg("moves").noconvert(),
          nb::arg("decrease").noconvert(), nb::arg("threads"), nb::arg("simd"),
          "One sweep of exact coordinate moves of each class; core/ternary.h says what of.");
    m.def("ternary_dense_sweep", &sweep_dense, nb::arg("columns").noconvert(),
          nb::arg("largest").noconvert(), nb::arg("weights").noconvert(), nb::arg("loss"),
          nb::arg("positive").noconvert(), nb::arg("scales").noconvert(),
          nb::arg("biases").noconvert(), nb::arg("penalties").noconvert(),
          nb::arg("least").noconvert(), nb::arg("orders").noconvert(),
          nb::arg("coefficients").noconvert(), nb::arg("totals").noconvert(),
          nb::arg("moves").noconvert(), nb::arg("decrease").noconvert(), nb::arg("threads"),
          nb::arg("simd"),
          "One sweep of exact coordinate moves of each class; core/ternary_dense.h says what of.");
    m.def("ternary_dense_totals", &totals_of, nb::arg("columns").noconvert(),
          nb::arg("coefficients").noconvert(), nb::arg("totals").noconvert(), nb::arg("threads"),
          nb::arg("simd"), "totals = coefficients @ columns, (classes, rows), added in order.");
    m.def("ternary_scores", &scores_of, nb::arg("words").noconvert(), nb::arg("plus").noconvert(),
          nb::arg("used").noconvert(), nb::arg("nonzeros").noconvert(),
          nb::arg("scales").noconvert(), nb::arg("biases").noconvert(), nb::arg("out").noconvert(),
          nb::arg("threads"), nb::arg("simd"),
          "out = scale * (w . z) + bias of packed rows of bits, by counting bits.");
}

}  // namespace kernelight
