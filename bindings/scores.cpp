// Glue for the scores of codes by a linear model, and for what features contribute to scores.
#include "code_scores.h"

#include "attribution.h"

#include "arrays.h"

namespace kernelight {
namespace {

template <class T>
using Out3 = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// Which features share each slot: one row a row of codes, or a single row that is that of all.
struct WinnersArg {
    In2<int64_t> features;
    In1<int64_t> starts;
    std::optional<In1<int64_t>> column;
    int64_t n_features, n_columns;

    WinnersArg(In2<int64_t> features_, In1<int64_t> starts_, std::optional<In1<int64_t>> column_,
               int64_t n_features_, int64_t n_columns_)
        : features(features_),
          starts(starts_),
          column(column_),
          n_features(n_features_),
          n_columns(n_columns_) {
        const auto width = static_cast<int64_t>(features.shape(1));
        const int64_t* start = starts.data();
        const auto last = static_cast<int64_t>(starts.shape(0)) - 1;
        require(last >= 0 && start[0] >= 0 && start[last] <= width &&
                    std::is_sorted(start, start + last + 1),
                "starts must rise inside the winners");
        require(n_features >= 0 && n_columns >= 0 && (column || n_features <= n_columns),
                "winners must be features of these columns");
        if (!column) return;
        require(static_cast<int64_t>(column->shape(0)) == n_features,
                "column must have one place a feature");
        require_inside(column->data(), n_features, n_columns);
    }

    SlotWinners of(size_t n_rows, int64_t n_slots) const {
        require(static_cast<int64_t>(starts.shape(0)) == n_slots + 1,
                "starts must have one place a slot and one more");
        require(features.shape(0) == n_rows || features.shape(0) == 1,
                "winners must have one row a row, or one for all");
        const bool one_for_all = features.shape(0) != n_rows;
        return {features.data(), one_for_all ? 0 : static_cast<int64_t>(features.shape(1)),
                starts.data(),   column ? column->data() : nullptr,
                n_features,      n_columns};
    }
};

constexpr int64_t kBrief = 1 << 14;  // codes that are looked up without releasing the GIL

// Weights and where they lie, checked once; the arrays are kept alive here.
struct WeightsArg {
    std::optional<In1<uint16_t>> local;
    In1<int64_t> segment_slot, segment_entry, part_segment;
    In2<float> weights;
    CodeWeights by;

    WeightsArg(int bits, std::optional<In1<uint16_t>> local_, In1<int64_t> segment_slot_,
               In1<int64_t> segment_entry_, In1<int64_t> part_segment_, In2<float> weights_)
        : local(local_),
          segment_slot(segment_slot_),
          segment_entry(segment_entry_),
          part_segment(part_segment_),
          weights(weights_) {
        const auto outputs = static_cast<int>(weights.shape(1));
        const auto n_segments = static_cast<int64_t>(segment_slot.shape(0)) - 1;
        require(bits >= 1 && bits <= 16, "bits must be between 1 and 16");
        require(score_width(outputs) >= 0, "weights must have room for 1, 4, 8 or 16 outputs");
        require(n_segments >= 1 && segment_entry.shape(0) == segment_slot.shape(0) &&
                    part_segment.shape(0) >= 2,
                "segments and parts must not be empty");
        const int64_t n_slots = segment_slot.data()[n_segments];
        by = {{local ? local->data() : nullptr, nullptr, segment_slot.data(), segment_entry.data(),
               part_segment.data(), static_cast<int64_t>(part_segment.shape(0)) - 1},
              n_slots,
              bits,
              outputs,
              weights.data()};
        require(
            n_slots >= 1 && (!local || static_cast<int64_t>(local->shape(0)) == n_slots << bits),
            "local must have 2^bits entries a slot");
        require(by.layout.valid(n_segments, n_slots, bits),
                "segments, parts and entries must fit together");
        require(static_cast<int64_t>(weights.shape(0)) ==
                    (local ? segment_entry.data()[n_segments] : n_slots << bits),
                "weights must have one row an entry");
    }

    template <class Slot>
    void scores(In2<Slot> array, std::optional<In1<bool>> empty, Out2<float> out, int threads,
                int simd) const {
        require(static_cast<int64_t>(array.shape(1)) == by.n_slots &&
                    out.shape(0) == array.shape(0) &&
                    static_cast<int>(out.shape(1)) == by.outputs &&
                    (!empty || empty->shape(0) == array.shape(0)),
                "array, empty and out must have the same rows, and the slots and outputs of the "
                "weights");
        require(by.bits <= 8 * static_cast<int>(sizeof(Slot)), "codes must have room for the bits");
        require(sizeof(Slot) == (by.bits <= 8 ? 1 : 2), "codes must be of the type of their bits");
        const CodeRows<Slot> rows{array.data(), empty ? empty->data() : nullptr,
                                  static_cast<int64_t>(array.shape(0)), by.n_slots};
        if (rows.n_rows * rows.n_slots <= kBrief) return code_scores(rows, by, out.data(), 1, simd);
        nb::gil_scoped_release release;
        code_scores(rows, by, out.data(), threads, simd);
    }

    template <class Slot>
    void attribute(In2<Slot> array, std::optional<In1<bool>> empty, const WinnersArg& winners,
                   Out3<double> values, Out2<double> rest, std::optional<Out3<double>> squares,
                   std::optional<Out2<double>> rest_squares, int threads) const {
        const CodeRows<Slot> rows = checked(array, empty);
        const size_t n = array.shape(0), outputs = static_cast<size_t>(by.outputs);
        const auto fits = [&](const Out3<double>& out) {
            return out.shape(0) == n && static_cast<int64_t>(out.shape(1)) == winners.n_columns &&
                   out.shape(2) == outputs;
        };
        const auto rests = [&](const Out2<double>& out) {
            return out.shape(0) == n && out.shape(1) == outputs;
        };
        require(fits(values) && rests(rest),
                "values must be (rows, columns, outputs), rest (rows, outputs)");
        require(squares.has_value() == rest_squares.has_value() &&
                    (!squares || (fits(*squares) && rests(*rest_squares))),
                "squares must have the shapes of values and rest, both or neither");
        const SlotWinners of = winners.of(n, by.n_slots);
        const Attribution out{values.data(), squares ? squares->data() : nullptr, rest.data(),
                              rest_squares ? rest_squares->data() : nullptr};
        nb::gil_scoped_release release;
        attribute_codes(rows, by, of, out, threads);
    }

   private:
    template <class Slot>
    CodeRows<Slot> checked(const In2<Slot>& array, const std::optional<In1<bool>>& empty) const {
        require(static_cast<int64_t>(array.shape(1)) == by.n_slots &&
                    (!empty || empty->shape(0) == array.shape(0)) &&
                    sizeof(Slot) == (by.bits <= 8 ? size_t{1} : size_t{2}),
                "array and empty must be codes of these weights");
        const CodeRows<Slot> rows{array.data(), empty ? empty->data() : nullptr,
                                  static_cast<int64_t>(array.shape(0)), by.n_slots};
        const bool full = by.bits == 8 * static_cast<int>(sizeof(Slot));
        require(full || std::all_of(rows.values, rows.values + rows.n_rows * rows.n_slots,
                                    [&](Slot code) { return code >> by.bits == 0; }),
                "codes must fit the bits");
        return rows;
    }
};

}  // namespace

#define ATTRIBUTE_ARGS \
    nb::arg("array").noconvert(), nb::arg("empty").noconvert().none(), nb::arg("winners"), \
        nb::arg("values").noconvert(), nb::arg("rest").noconvert(), \
        nb::arg("squares").noconvert().none(), nb::arg("rest_squares").noconvert().none(), \
        nb::arg("threads"), \
        "Add the terms of all slots to the columns that share them, and their squares; slots " \
        "without a winner go to rest."

void bind_scores(nb::module_& m) {
    nb::class_<WinnersArg>(m, "SlotWinners",
                           "Which features share each slot, and the column of each feature.")
        .def(nb::init<In2<int64_t>, In1<int64_t>, std::optional<In1<int64_t>>, int64_t, int64_t>(),
             nb::arg("features").noconvert(), nb::arg("starts").noconvert(),
             nb::arg("column").noconvert().none(), nb::arg("n_features"), nb::arg("n_columns"));
    nb::class_<WeightsArg>(m, "CodeWeights", "The weights of codes, and where they lie.")
        .def(nb::init<int, std::optional<In1<uint16_t>>, In1<int64_t>, In1<int64_t>, In1<int64_t>,
                      In2<float>>(),
             nb::arg("bits"), nb::arg("local").noconvert().none(),
             nb::arg("segment_slot").noconvert(), nb::arg("segment_entry").noconvert(),
             nb::arg("part_segment").noconvert(), nb::arg("weights").noconvert())
        .def("scores", &WeightsArg::scores<uint8_t>, nb::arg("array").noconvert(),
             nb::arg("empty").noconvert().none(), nb::arg("out").noconvert(), nb::arg("threads"),
             nb::arg("simd"), "out[i, :] = the sums of the weights of row i, over sqrt(slots).")
        .def("scores", &WeightsArg::scores<uint16_t>, nb::arg("array").noconvert(),
             nb::arg("empty").noconvert().none(), nb::arg("out").noconvert(), nb::arg("threads"),
             nb::arg("simd"), "out[i, :] = the sums of the weights of row i, over sqrt(slots).")
        .def("attribute", &WeightsArg::attribute<uint8_t>, ATTRIBUTE_ARGS)
        .def("attribute", &WeightsArg::attribute<uint16_t>, ATTRIBUTE_ARGS);

    m.def(
        "attribute_minmax",
        [](In2<double> x, AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr,
           int64_t n_cols, In2<double> factors, In2<double> duals, Out3<double> out, int threads) {
            const MatrixArg y{std::move(values), std::move(indices), std::move(indptr), n_cols};
            const auto n_others = static_cast<size_t>(y.n_rows());
            require(static_cast<int64_t>(x.shape(1)) == n_cols && factors.shape(0) == x.shape(0) &&
                        factors.shape(1) == n_others && duals.shape(0) == n_others,
                    "x, y, factors and duals do not belong together");
            require(out.shape(0) == x.shape(0) && out.shape(1) == duals.shape(1) &&
                        out.shape(2) == x.shape(1),
                    "out must be (rows of x, outputs, features)");
            y.visit([&](auto rows) {
                nb::gil_scoped_release release;
                attribute_minmax(x.data(), static_cast<int64_t>(x.shape(0)), rows, factors.data(),
                                 duals.data(), static_cast<int64_t>(duals.shape(1)), out.data(),
                                 threads);
            });
        },
        nb::arg("x").noconvert(), nb::arg("values").noconvert(),
        nb::arg("indices").noconvert().none(), nb::arg("indptr").noconvert().none(),
        nb::arg("n_cols"), nb::arg("factors").noconvert(), nb::arg("duals").noconvert(),
        nb::arg("out").noconvert(), nb::arg("threads"),
        "out[i, c, f] += sum over rows j of y of duals[j, c] factors[i, j] min(x_if, y_jf).");
}

}  // namespace kernelight
