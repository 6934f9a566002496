// Glue for dart sampling.
#include "dart.h"

#include "weights.h"

namespace kernelight {
namespace {

DartRule dart_rule(uint64_t seed, uint64_t k, double scale, WeightRule weight) {
    require(k >= 1 && k <= (uint64_t{1} << 31) && scale > 0.0,
            "k must be 1 .. 2^31 and scale positive");
    return {seed, k, scale, weight};
}

// The darts of one level, listed by weight for each coordinate or by rank for each slot. Without
// limits there is no table.
struct TableArg {
    std::optional<In1<float>> limits;
    bool by_rank;
    In1<int64_t> starts;
    In2<uint64_t> records;
    float rank_limit;

    DartTable of(uint64_t k, int64_t n_cols) const {
        const size_t n_coordinates = 2 * static_cast<size_t>(n_cols);
        require(
            !limits
                ? !by_rank
                : limits->shape(0) == n_coordinates &&
                      starts.shape(0) == (by_rank ? static_cast<size_t>(k) : n_coordinates) + 1 &&
                      records.shape(1) == (by_rank ? 8 : 2) &&
                      static_cast<size_t>(starts.data()[starts.shape(0) - 1]) == records.shape(0),
            "limits, starts and records do not belong together");
        const uint64_t* words = records.data();
        return {by_rank,
                starts.data(),
                reinterpret_cast<const DartRecord*>(words),
                reinterpret_cast<const DartGroup*>(words),
                limits ? limits->data() : nullptr,
                rank_limit};
    }
};

}  // namespace

void bind_dart(nb::module_& m) {
    nb::class_<TableArg>(m, "DartTable",
                         "The darts of one level, by weight or by rank; without limits, none.")
        .def(nb::init<std::optional<In1<float>>, bool, In1<int64_t>, In2<uint64_t>, float>(),
             nb::arg("limits").noconvert().none(), nb::arg("by_rank"),
             nb::arg("starts").noconvert(), nb::arg("records").noconvert(), nb::arg("rank_limit"));

    m.def(
        "dart_sums",
        [](const WeightedRows& x, double scale, Out1<double> sums, Out1<int64_t> counts,
           int threads) {
            require(static_cast<int64_t>(sums.shape(0)) == x.n_rows() &&
                        counts.shape(0) == sums.shape(0),
                    "sums and counts must have one place a row");
            const DartRule rule = dart_rule(0, 1, scale, x.rule());
            x.visit([&](auto rows, WeightRule) {
                dart_sums(rows, rule, sums.data(), counts.data(), threads);
            });
        },
        nb::arg("rows"), nb::arg("scale"), nb::arg("sums").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("threads"),
        "Sum of the scaled weights, and number of nonzeros, of every row.");

    m.def(
        "dart_maxima",
        [](const WeightedRows& x, double scale, In1<int64_t> subset, Out1<float> largest) {
            require(static_cast<int64_t>(largest.shape(0)) == 2 * x.n_cols(),
                    "largest must have two places a column");
            const DartRule rule = dart_rule(0, 1, scale, x.rule());
            const int64_t n_subset = static_cast<int64_t>(subset.shape(0));
            require_inside(subset.data(), n_subset, x.n_rows());
            x.visit([&](auto rows, WeightRule) {
                dart_maxima(rows, rule, subset.data(), n_subset, largest.data());
            });
        },
        nb::arg("rows"), nb::arg("scale"), nb::arg("subset").noconvert(),
        nb::arg("largest").noconvert(),
        "Raise largest to the scaled weights of the rows of subset.");

    m.def(
        "dart_count",
        [](uint64_t seed, uint64_t k, In1<uint64_t> ids, In1<float> limits, float rank_limit,
           Out1<int64_t> counts, int threads) {
            require(ids.shape(0) == limits.shape(0) && ids.shape(0) == counts.shape(0),
                    "one limit and count an id");
            const DartRule rule = dart_rule(seed, k, 1.0, {nullptr, false});
            nb::gil_scoped_release release;
            dart_count(rule, ids.data(), limits.data(), static_cast<int64_t>(ids.shape(0)),
                       rank_limit, counts.data(), threads);
        },
        nb::arg("seed"), nb::arg("k"), nb::arg("ids").noconvert(), nb::arg("limits").noconvert(),
        nb::arg("rank_limit"), nb::arg("counts").noconvert(), nb::arg("threads"),
        "Darts of every coordinate below its limit and the rank limit.");

    m.def(
        "dart_fill",
        [](uint64_t seed, uint64_t k, In1<uint64_t> ids, In1<float> limits, float rank_limit,
           In1<int64_t> starts, Out2<uint64_t> records, int threads) {
            const size_t n = ids.shape(0);
            require(n == limits.shape(0) && starts.shape(0) == n + 1 && records.shape(1) == 2 &&
                        static_cast<size_t>(starts.data()[n]) == records.shape(0),
                    "one limit an id, and two words a dart");
            const DartRule rule = dart_rule(seed, k, 1.0, {nullptr, false});
            nb::gil_scoped_release release;
            dart_fill(rule, ids.data(), limits.data(), static_cast<int64_t>(n), rank_limit,
                      starts.data(), reinterpret_cast<DartRecord*>(records.data()), threads);
        },
        nb::arg("seed"), nb::arg("k"), nb::arg("ids").noconvert(), nb::arg("limits").noconvert(),
        nb::arg("rank_limit"), nb::arg("starts").noconvert(), nb::arg("records").noconvert(),
        nb::arg("threads"), "List those darts, each coordinate's sorted by weight.");

    m.def(
        "dart_slot_starts",
        [](uint64_t k, In2<uint64_t> by_weight, Out1<int64_t> slot_starts) {
            require(slot_starts.shape(0) == k + 1 && by_weight.shape(1) == 2,
                    "k + 1 starts, and two words a dart");
            const auto* records = reinterpret_cast<const DartRecord*>(by_weight.data());
            nb::gil_scoped_release release;
            dart_slot_starts(k, records, static_cast<int64_t>(by_weight.shape(0)),
                             slot_starts.data());
        },
        nb::arg("k"), nb::arg("by_weight").noconvert(), nb::arg("slot_starts").noconvert(),
        "Where the padded list of each slot starts in a table by rank.");

    m.def(
        "dart_by_rank",
        [](uint64_t k, In1<int64_t> starts, In2<uint64_t> by_weight, In1<int64_t> slot_starts,
           Out2<uint64_t> by_rank, int threads) {
            require(slot_starts.shape(0) == k + 1 && by_weight.shape(1) == 2 &&
                        by_rank.shape(1) == 8 &&
                        static_cast<size_t>(slot_starts.data()[k]) == by_rank.shape(0),
                    "k + 1 starts, two words a dart, and eight words a group");
            const auto* records = reinterpret_cast<const DartRecord*>(by_weight.data());
            auto* groups = reinterpret_cast<DartGroup*>(by_rank.data());
            nb::gil_scoped_release release;
            dart_by_rank(k, starts.data(), static_cast<int64_t>(starts.shape(0)) - 1, records,
                         slot_starts.data(), groups, threads);
        },
        nb::arg("k"), nb::arg("starts").noconvert(), nb::arg("by_weight").noconvert(),
        nb::arg("slot_starts").noconvert(), nb::arg("by_rank").noconvert(), nb::arg("threads"),
        "The same darts, one list a slot, sorted by rank.");

    auto encode = [](auto codes_type) {
        using Code = decltype(codes_type);
        return [](const WeightedRows& x, double scale, uint64_t seed, int bits,
                  std::optional<In1<uint64_t>> ids, const TableArg& table, In1<int64_t> subset,
                  Out2<Code> codes, std::optional<Out2<int64_t>> winners, int threads, int simd) {
            const uint64_t k = codes.shape(1);
            const DartRule rule = dart_rule(seed, k, scale, x.rule());
            require(bits >= 1 && bits <= 8 * static_cast<int>(sizeof(Code)),
                    "bits must fit the type of the codes");
            require(!ids || static_cast<int64_t>(ids->shape(0)) == 2 * x.n_cols(),
                    "ids must have two places a column");
            const DartTable darts = table.of(k, x.n_cols());
            require(static_cast<int64_t>(codes.shape(0)) == x.n_rows(),
                    "codes must have one row a row");
            require(!winners || (winners->shape(0) == codes.shape(0) && winners->shape(1) == k),
                    "winners must have the shape of the codes");
            const int64_t n_subset = static_cast<int64_t>(subset.shape(0));
            require_inside(subset.data(), n_subset, x.n_rows());
            double uncovered = 0.0;
            x.visit([&](auto rows, WeightRule) {
                uncovered =
                    dart_encode(rows, rule, darts, ids ? ids->data() : nullptr, subset.data(),
                                n_subset, bits, codes.data(), winners ? winners->data() : nullptr,
                                threads, lane_loops(usable_level(simd)));
            });
            return uncovered;
        };
    };
#define ENCODE_ARGS \
    nb::arg("rows"), nb::arg("scale"), nb::arg("seed"), nb::arg("bits"), \
        nb::arg("ids").noconvert().none(), nb::arg("table"), nb::arg("subset").noconvert(), \
        nb::arg("codes").noconvert(), nb::arg("winners").noconvert().none(), nb::arg("threads"), \
        nb::arg("simd"), \
        "Codes of the rows of subset, and the features that won their slots, from a table as far " \
        "as it reaches; empty rows are left as they are."
    m.def("dart_encode", encode(uint8_t{}), ENCODE_ARGS);
    m.def("dart_encode", encode(uint16_t{}), ENCODE_ARGS);
    m.def("dart_encode", encode(uint64_t{}), ENCODE_ARGS);
}

}  // namespace kernelight
