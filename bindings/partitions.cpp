// Ferns and leaves of trees: glue only.
#include "arrays.h"
#include "bin_columns.h"
#include "ferns.h"
#include "forest.h"
#include "grow_forest.h"
#include "portable/kl_random.h"

namespace kernelight {
namespace {

FernTables fern_tables(In1<int64_t> columns, In1<int64_t> starts, In1<double> cuts,
                       In1<double> medians, In2<int32_t> places, In2<uint8_t> ranks) {
    const auto count = static_cast<int64_t>(columns.shape(0));
    const auto n_slots = static_cast<int64_t>(places.shape(0)),
               depth = static_cast<int64_t>(places.shape(1));
    require(starts.shape(0) == columns.shape(0) + 1 && medians.shape(0) == columns.shape(0),
            "starts must be one more than columns, medians as many");
    require(places.shape(0) == ranks.shape(0) && places.shape(1) == ranks.shape(1) && depth <= 16,
            "places and ranks must be (slots, depth), depth at most 16");
    require(sound_ferns(columns.data(), count, starts.data(), cuts.data(),
                        static_cast<int64_t>(cuts.shape(0)), places.data(), ranks.data(),
                        n_slots * depth),
            "columns and cuts must ascend, and every test must have a cut");
    return FernTables(columns.data(), count, starts.data(), cuts.data(), medians.data(),
                      places.data(), ranks.data(), n_slots, depth);
}

Forest forest(In1<int64_t> starts, In1<int32_t> left, In1<int32_t> right, In1<int64_t> column,
              In1<float> threshold, In1<bool> missing_left, int64_t n_cols) {
    require(starts.shape(0) >= 1, "starts must have one number a tree and one more");
    require(right.shape(0) == left.shape(0) && column.shape(0) == left.shape(0) &&
                threshold.shape(0) == left.shape(0) && missing_left.shape(0) == left.shape(0),
            "there must be one number a node");
    const TreeArrays trees{starts.data(),
                           left.data(),
                           right.data(),
                           column.data(),
                           threshold.data(),
                           missing_left.data(),
                           static_cast<int64_t>(starts.shape(0)) - 1,
                           static_cast<int64_t>(left.shape(0))};
    require(sound_trees(trees, n_cols),
            "each node must be the root or the child of one earlier node of its tree");
    return Forest(trees);
}

template <class T>
struct Kind {
    using type = T;
};

// f(rows) without the GIL, if the codes have a row for each and n_slots columns.
template <class Code, class F>
void encode(const MatrixArg& matrix, int64_t n_columns, const int64_t* columns, int64_t n_slots,
            const Out2<Code>& codes, F&& f) {
    require(static_cast<int64_t>(codes.shape(0)) == matrix.n_rows() &&
                static_cast<int64_t>(codes.shape(1)) == n_slots,
            "codes must be (rows, slots)");
    require(n_columns == 0 || columns[n_columns - 1] < matrix.n_cols,
            "the matrix is narrower than a column that is asked for");
    matrix.visit([&](auto rows) {
        nb::gil_scoped_release release;
        f(rows);
    });
}

void bin_matrix(AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr,
                int64_t n_cols, In1<int64_t> columns, In1<int64_t> first, In1<float> highs,
                Out2<uint8_t> bins, Out1<float> lows, int threads) {
    const MatrixArg matrix{values, indices, indptr, n_cols};
    const auto count = static_cast<int64_t>(columns.shape(0));
    require(first.shape(0) == columns.shape(0) + 1 && highs.shape(0) == lows.shape(0),
            "first must be one more than columns, lows as many as highs");
    require(sound_bins(first.data(), count, highs.data(), static_cast<int64_t>(highs.shape(0))),
            "each column must have 1 to 255 bins, whose highs ascend");
    require(std::is_sorted(columns.data(), columns.data() + count), "columns must ascend");
    require_inside(columns.data(), count, n_cols);
    require(static_cast<int64_t>(bins.shape(0)) == count &&
                static_cast<int64_t>(bins.shape(1)) == matrix.n_rows(),
            "bins must be (columns, rows)");
    const BinEdges edges{columns.data(), first.data(), highs.data(), count};
    matrix.visit([&](auto rows) {
        nb::gil_scoped_release release;
        bin_columns(rows, edges, bins.data(), lows.data(), threads);
    });
}

// The places of grown trees, a row of each array for a tree.
struct GrownArrays {
    Out2<int32_t> left, right;
    Out2<int64_t> column;
    Out2<float> threshold;
    Out2<bool> missing_left;
    Out2<double> gain;
    Out1<int32_t> sizes;

    void check(int64_t most_nodes) const {
        const auto fits = [&](const auto& array) {
            return array.shape(0) == sizes.shape(0) &&
                   static_cast<int64_t>(array.shape(1)) >= most_nodes &&
                   array.shape(1) == left.shape(1);
        };
        require(fits(left) && fits(right) && fits(column) && fits(threshold) &&
                    fits(missing_left) && fits(gain),
                "the arrays of nodes must be (trees, nodes), with room for every leaf");
    }
    GrownTree operator()(int64_t tree) const {
        const int64_t at = tree * static_cast<int64_t>(left.shape(1));
        return {left.data() + at,      right.data() + at,        column.data() + at,
                threshold.data() + at, missing_left.data() + at, gain.data() + at};
    }
};

void grow(In2<uint8_t> bins, In1<int64_t> first, In1<float> lows, In1<float> highs,
          In1<uint32_t> weights, std::optional<In1<int32_t>> labels,
          std::optional<In2<double>> values, uint64_t seed, int64_t n_trees, int64_t n_draws,
          int64_t n_looked, int64_t max_leaves, int64_t min_rows, int64_t first_tree,
          Out2<int32_t> left, Out2<int32_t> right, Out2<int64_t> column, Out2<float> threshold,
          Out2<bool> missing_left, Out2<double> gain, Out1<int32_t> sizes, int threads) {
    const BinnedColumns columns{bins.data(),
                                first.data(),
                                lows.data(),
                                highs.data(),
                                static_cast<int64_t>(bins.shape(0)),
                                static_cast<int64_t>(bins.shape(1))};
    require(first.shape(0) == bins.shape(0) + 1 && lows.shape(0) == highs.shape(0) &&
                sound_bins(first.data(), columns.n_columns, highs.data(),
                           static_cast<int64_t>(highs.shape(0))) &&
                within_bins(columns),
            "bins must be those of the columns");
    require(columns.n_columns >= 1 && columns.n_rows >= 1 && columns.n_rows < int64_t{1} << 32,
            "there must be columns, and 1 to 4,294,967,295 rows");
    require(weights.shape(0) == bins.shape(1), "there must be a weight for each row");
    require(n_trees >= 1 && n_draws >= 1 && n_draws < int64_t{1} << 31 && n_looked >= 1 &&
                max_leaves >= 2 && min_rows >= 1 && min_rows < int64_t{1} << 31 && first_tree >= 0,
            "numbers of rows, columns, leaves and trees must be positive");
    const uint64_t heaviest = *std::max_element(weights.data(), weights.data() + weights.shape(0));
    require(*std::min_element(weights.data(), weights.data() + weights.shape(0)) >= 1 &&
                heaviest * static_cast<uint64_t>(n_draws) < uint64_t{1} << 31,
            "weights must be at least 1, and those of a tree below 2^31 together");
    require(labels.has_value() != values.has_value(), "there must be labels or values");
    const GrowthRules rules{seed, n_trees, n_draws, n_looked, max_leaves, min_rows};
    const GrownArrays trees{left, right, column, threshold, missing_left, gain, sizes};
    trees.check(2 * std::min(max_leaves, std::min(n_draws, columns.n_rows)) - 1);
    const auto count = static_cast<int64_t>(sizes.shape(0));
    const auto run = [&](auto kinds, const auto& target) {
        nb::gil_scoped_release release;
        grow_forest<typename decltype(kinds)::type>(columns, target, rules, first_tree, count,
                                                    trees, sizes.data(), threads);
    };
    if (labels) {
        require(labels->shape(0) == bins.shape(1), "there must be a label for each row");
        const int32_t *begin = labels->data(), *end = begin + labels->shape(0);
        const auto [least, most] = std::minmax_element(begin, end);
        require(*least >= 0 && *most < 1 << 24, "labels must be 0 to 16,777,215");
        return run(Kind<detail::LabelSums>{}, LabelTarget{begin, weights.data(), *most + 1});
    }
    require(values->shape(0) == bins.shape(1) && values->shape(1) >= 1,
            "values must be (rows, targets)");
    const ValueTarget target{values->data(), weights.data(),
                             static_cast<int64_t>(values->shape(1))};
    require(exact_sums(target, columns.n_rows, n_draws),
            "values must be integers whose weighted sums are below 2^53");
    if (target.n_targets == 1) return run(Kind<detail::QuantitySums<1>>{}, target);
    run(Kind<detail::QuantitySums<0>>{}, target);
}

template <class Code>
void bind_encoders(nb::module_& m) {
    m.def(
        "encode_ferns",
        [](const FernTables& tables, AnyIn values, std::optional<AnyIn> indices,
           std::optional<AnyIn> indptr, int64_t n_cols, Out2<Code> codes, int threads, int simd) {
            require(tables.depth <= 8 * static_cast<int64_t>(sizeof(Code)),
                    "a code must have a bit for each test");
            encode(MatrixArg{values, indices, indptr, n_cols},
                   static_cast<int64_t>(tables.columns.size()), tables.columns.data(),
                   tables.n_slots, codes,
                   [&](auto rows) { encode_ferns(rows, tables, codes.data(), threads, simd); });
        },
        nb::arg("tables"), nb::arg("values").noconvert(), nb::arg("indices").noconvert().none(),
        nb::arg("indptr").noconvert().none(), nb::arg("n_cols"), nb::arg("codes").noconvert(),
        nb::arg("threads"), nb::arg("simd"), "Codes of the tests of ferns; NaN is missing.");
    m.def(
        "encode_leaves",
        [](const Forest& forest, AnyIn values, std::optional<AnyIn> indices,
           std::optional<AnyIn> indptr, int64_t n_cols, Out2<Code> codes, int threads) {
            require(forest.most_leaves() <= int64_t{1} << (8 * sizeof(Code)),
                    "a code must hold the number of a leaf");
            encode(MatrixArg{values, indices, indptr, n_cols}, forest.n_columns(),
                   forest.columns.data(), forest.n_trees(), codes,
                   [&](auto rows) { encode_leaves(rows, forest, codes.data(), threads); });
        },
        nb::arg("forest"), nb::arg("values").noconvert(), nb::arg("indices").noconvert().none(),
        nb::arg("indptr").noconvert().none(), nb::arg("n_cols"), nb::arg("codes").noconvert(),
        nb::arg("threads"), "The number of the leaf of each tree, for each row; NaN is missing.");
}

}  // namespace

void bind_partitions(nb::module_& m) {
    nb::class_<FernTables>(m, "FernTables", "The tests of ferns.")
        .def(nb::new_(&fern_tables), nb::arg("columns").noconvert(), nb::arg("starts").noconvert(),
             nb::arg("cuts").noconvert(), nb::arg("medians").noconvert(),
             nb::arg("places").noconvert(), nb::arg("ranks").noconvert());
    nb::class_<Forest>(m, "Forest", "Decision trees.")
        .def(nb::new_(&forest), nb::arg("starts").noconvert(), nb::arg("left").noconvert(),
             nb::arg("right").noconvert(), nb::arg("column").noconvert(),
             nb::arg("threshold").noconvert(), nb::arg("missing_left").noconvert(),
             nb::arg("n_cols"));
    bind_encoders<uint8_t>(m);
    bind_encoders<uint16_t>(m);
    m.def("bin_columns", &bin_matrix, nb::arg("values").noconvert(),
          nb::arg("indices").noconvert().none(), nb::arg("indptr").noconvert().none(),
          nb::arg("n_cols"), nb::arg("columns").noconvert(), nb::arg("first").noconvert(),
          nb::arg("highs").noconvert(), nb::arg("bins").noconvert(), nb::arg("lows").noconvert(),
          nb::arg("threads"),
          "The bin of every row in some columns, and the smallest number of each bin.");
    m.def("grow_forest", &grow, nb::arg("bins").noconvert(), nb::arg("first").noconvert(),
          nb::arg("lows").noconvert(), nb::arg("highs").noconvert(), nb::arg("weights").noconvert(),
          nb::arg("labels").noconvert().none(), nb::arg("values").noconvert().none(),
          nb::arg("seed"), nb::arg("n_trees"), nb::arg("n_draws"), nb::arg("n_looked"),
          nb::arg("max_leaves"), nb::arg("min_rows"), nb::arg("first_tree"),
          nb::arg("left").noconvert(), nb::arg("right").noconvert(), nb::arg("column").noconvert(),
          nb::arg("threshold").noconvert(), nb::arg("missing_left").noconvert(),
          nb::arg("gain").noconvert(), nb::arg("sizes").noconvert(), nb::arg("threads"),
          "Random trees of binned columns, for classes (labels) or quantities (values).");
    m.attr("MOST_BINS") = kMostBins;
    m.attr("MOST_CUTS") = kMostCuts;
    m.attr("STREAM_FERN_COLUMN") = static_cast<int>(KL_STREAM_FERN_COLUMN);
    m.attr("STREAM_FERN_CUT") = static_cast<int>(KL_STREAM_FERN_CUT);
}

}  // namespace kernelight
