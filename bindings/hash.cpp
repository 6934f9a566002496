// Glue for min-max hashing: consistent weighted sampling, darts, and the frozen primitives for golden tests.
#include "arrays.h"
#include "cws.h"
#include "dart.h"

namespace kernelight {
namespace {

using Center = std::optional<In1<double>>;

WeightRule weight_rule(const Center& center, bool l1, int64_t n_cols, bool sparse) {
    require(!center || (!sparse && static_cast<int64_t>(center->shape(0)) == n_cols),
            "a centre goes with dense rows of the same width");
    return {center ? center->data() : nullptr, l1};
}

MatrixArg matrix(AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols) {
    return {std::move(values), std::move(indices), std::move(indptr), n_cols};
}

template <class Int, class Float>
CwsListing checked_listing(int64_t n_rows, int64_t row_block, const In1<int64_t>& starts, const Int& coordinate,
                           const Int& row, const Float& log_value) {
    require(row_block >= 1 && static_cast<int64_t>(starts.shape(0)) == n_row_blocks(n_rows, row_block) + 1,
            "starts must have one place a row block and one more");
    const size_t count = static_cast<size_t>(starts.data()[starts.shape(0) - 1]);
    require(coordinate.shape(0) == count && row.shape(0) == count && log_value.shape(0) == count,
            "the listing must have one place a nonzero");
    return {n_rows, row_block, starts.data(), const_cast<int32_t*>(coordinate.data()),
            const_cast<int32_t*>(row.data()), const_cast<float*>(log_value.data())};
}

#define MATRIX_ARGS \
    nb::arg("values").noconvert(), nb::arg("indices").noconvert().none(), nb::arg("indptr").noconvert().none(), \
        nb::arg("n_cols"), nb::arg("center").noconvert().none(), nb::arg("l1")

void bind_cws(nb::module_& m) {
    m.def(
        "cws_survey",
        [](AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols, Center center, bool l1,
           Out1<int64_t> counts, Out1<uint8_t> used, int threads) {
            const MatrixArg x = matrix(values, indices, indptr, n_cols);
            require(static_cast<int64_t>(counts.shape(0)) == x.n_rows(), "counts must have one place a row");
            require(static_cast<int64_t>(used.shape(0)) == 2 * n_cols, "used must have two places a column");
            const WeightRule rule = weight_rule(center, l1, n_cols, x.indptr.has_value());
            int64_t* to = counts.data();
            uint8_t* flags = used.data();
            x.visit([&](auto rows) {
                nb::gil_scoped_release release;
                cws_survey(rows, rule, to, flags, threads);
            });
        },
        MATRIX_ARGS, nb::arg("counts").noconvert(), nb::arg("used").noconvert(), nb::arg("threads"),
        "Nonzero weights of every row, and which expanded coordinates occur.");

    m.def(
        "cws_list",
        [](AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols, Center center, bool l1,
           double p, int64_t row_block, In1<int64_t> starts, Out1<int32_t> coordinate, Out1<int32_t> row, Out1<float> log_value, int threads, int simd) {
            const MatrixArg x = matrix(values, indices, indptr, n_cols);
            require(n_cols < (int64_t{1} << 30), "coordinates must fit 31 bits");
            const CwsListing listing = checked_listing(x.n_rows(), row_block, starts, coordinate, row, log_value);
            const WeightRule rule = weight_rule(center, l1, n_cols, x.indptr.has_value());
            x.visit([&](auto rows) {
                nb::gil_scoped_release release;
                cws_list(rows, rule, p, listing, cws_loops(usable_level(simd)), threads);
            });
        },
        MATRIX_ARGS, nb::arg("p"), nb::arg("row_block"), nb::arg("starts").noconvert(),
        nb::arg("coordinate").noconvert(), nb::arg("row").noconvert(), nb::arg("log_value").noconvert(), nb::arg("threads"),
        nb::arg("simd"), "The nonzeros of every block of rows, ascending by coordinate, with p times their logarithm.");

    m.def(
        "cws_fill",
        [](Out2<float> tables, In1<uint64_t> ids, int64_t begin, int64_t end, uint64_t seed, int64_t first_slot,
           int64_t n_slots, int threads, int simd) {
            const int64_t capacity = static_cast<int64_t>(tables.shape(1)) / kCellBlock;
            const CwsTables view{tables.data(), capacity, ids.data(), first_slot, n_slots};
            require(n_slots >= 0 && first_slot >= 0 && static_cast<int64_t>(tables.shape(0)) >= view.n_blocks() &&
                        0 <= begin && begin <= end && end <= capacity && end <= static_cast<int64_t>(ids.shape(0)),
                    "tables must be (slot blocks, capacity * cell block) and hold every id asked for");
            nb::gil_scoped_release release;
            cws_fill(view, begin, end, seed, cws_loops(usable_level(simd)), threads);
        },
        nb::arg("tables").noconvert(), nb::arg("ids").noconvert(), nb::arg("begin"), nb::arg("end"), nb::arg("seed"),
        nb::arg("first_slot"), nb::arg("n_slots"), nb::arg("threads"), nb::arg("simd"),
        "Draw the cells of ids[begin:end] into tables.");

    auto scan = [](auto codes_type) {
        using Code = decltype(codes_type);
        return [](int64_t row_block, In1<int64_t> starts, In1<int32_t> coordinate, In1<int32_t> row, In1<float> log_value,
                  Out2<float> tables, In1<uint64_t> ids, In1<int32_t> local, uint64_t seed, int64_t first_slot, int64_t n_slots, int bits,
                  uint64_t t_mask, bool lowest, Out2<Code> codes, int threads, int simd) {
            const int64_t n_rows = static_cast<int64_t>(codes.shape(0));
            const int64_t capacity = static_cast<int64_t>(tables.shape(1)) / kCellBlock;
            const CwsTables view{tables.data(), capacity, ids.data(), first_slot, n_slots};
            require(first_slot >= 0 && n_slots >= 0 && first_slot + n_slots <= static_cast<int64_t>(codes.shape(1)) &&
                        static_cast<int64_t>(tables.shape(0)) >= view.n_blocks(),
                    "the slots must lie inside the codes and the tables");
            require(bits >= 1 && bits <= 8 * static_cast<int>(sizeof(Code)), "bits must fit the type of the codes");
            require(static_cast<int64_t>(ids.shape(0)) <= capacity, "the ids must fit the tables");
            const CwsListing listing = checked_listing(n_rows, row_block, starts, coordinate, row, log_value);
            Code* to = codes.data() + first_slot;
            const int64_t stride = static_cast<int64_t>(codes.shape(1));
            nb::gil_scoped_release release;
            cws_scan(listing, view, local.data(), seed, CwsCoding{bits, t_mask, lowest}, to, stride,
                     cws_loops(usable_level(simd)), threads);
        };
    };
#define SCAN_ARGS \
    nb::arg("row_block"), nb::arg("starts").noconvert(), nb::arg("coordinate").noconvert(), nb::arg("row").noconvert(), \
        nb::arg("log_value").noconvert(), nb::arg("tables").noconvert(), nb::arg("ids").noconvert(), nb::arg("local").noconvert(), \
        nb::arg("seed"), \
        nb::arg("first_slot"), nb::arg("n_slots"), nb::arg("bits"), nb::arg("t_mask"), nb::arg("lowest"), \
        nb::arg("codes").noconvert(), nb::arg("threads"), nb::arg("simd"), \
        "Codes of slots first_slot .. first_slot + n_slots of all listed rows; empty rows are left as they are."
    m.def("cws_scan", scan(uint8_t{}), SCAN_ARGS);
    m.def("cws_scan", scan(uint16_t{}), SCAN_ARGS);
    auto direct = [](auto codes_type) {
        using Code = decltype(codes_type);
        return [](int64_t row_block, In1<int64_t> starts, In1<int32_t> coordinate, In1<int32_t> row, In1<float> log_value,
                  In1<uint64_t> ids, uint64_t seed, int bits, uint64_t t_mask, bool lowest, Out2<Code> codes, int threads,
                  int simd) {
            const int64_t n_rows = static_cast<int64_t>(codes.shape(0)), n_slots = static_cast<int64_t>(codes.shape(1));
            require(bits >= 1 && bits <= 8 * static_cast<int>(sizeof(Code)), "bits must fit the type of the codes");
            const CwsListing listing = checked_listing(n_rows, row_block, starts, coordinate, row, log_value);
            Code* to = codes.data();
            nb::gil_scoped_release release;
            cws_scan_direct(listing, ids.data(), n_slots, seed, CwsCoding{bits, t_mask, lowest}, to,
                            cws_loops(usable_level(simd)), threads);
        };
    };
#define DIRECT_ARGS \
    nb::arg("row_block"), nb::arg("starts").noconvert(), nb::arg("coordinate").noconvert(), nb::arg("row").noconvert(), \
        nb::arg("log_value").noconvert(), nb::arg("ids").noconvert(), nb::arg("seed"), nb::arg("bits"), \
        nb::arg("t_mask"), nb::arg("lowest"), nb::arg("codes").noconvert(), nb::arg("threads"), nb::arg("simd"), \
        "The same without tables, for widths whose tables would not fit."
    m.def("cws_scan_direct", direct(uint8_t{}), DIRECT_ARGS);
    m.def("cws_scan_direct", direct(uint16_t{}), DIRECT_ARGS);
    m.attr("SLOT_BLOCK") = kSlotBlock;
    m.attr("CELL_BLOCK") = kCellBlock;
}

DartRule dart_rule(uint64_t seed, uint64_t k, double scale, WeightRule weight) {
    require(k >= 1 && k <= (uint64_t{1} << 31) && scale > 0.0, "k must be 1 .. 2^31 and scale positive");
    return {seed, k, scale, weight};
}

void bind_dart(nb::module_& m) {
    m.def(
        "dart_sums",
        [](AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols, Center center, bool l1,
           double scale, Out1<double> sums, Out1<int64_t> counts, int threads) {
            const MatrixArg x = matrix(values, indices, indptr, n_cols);
            require(static_cast<int64_t>(sums.shape(0)) == x.n_rows() && counts.shape(0) == sums.shape(0),
                    "sums and counts must have one place a row");
            const DartRule rule = dart_rule(0, 1, scale, weight_rule(center, l1, n_cols, x.indptr.has_value()));
            double* to = sums.data();
            int64_t* count = counts.data();
            x.visit([&](auto rows) {
                nb::gil_scoped_release release;
                dart_sums(rows, rule, to, count, threads);
            });
        },
        MATRIX_ARGS, nb::arg("scale"), nb::arg("sums").noconvert(), nb::arg("counts").noconvert(), nb::arg("threads"),
        "Sum of the scaled weights, and number of nonzeros, of every row.");

    m.def(
        "dart_maxima",
        [](AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols, Center center, bool l1,
           double scale, In1<int64_t> subset, Out1<float> largest) {
            const MatrixArg x = matrix(values, indices, indptr, n_cols);
            require(static_cast<int64_t>(largest.shape(0)) == 2 * n_cols, "largest must have two places a column");
            const DartRule rule = dart_rule(0, 1, scale, weight_rule(center, l1, n_cols, x.indptr.has_value()));
            const int64_t* rows_wanted = subset.data();
            const int64_t n_subset = static_cast<int64_t>(subset.shape(0));
            float* to = largest.data();
            x.visit([&](auto rows) {
                require_inside(rows_wanted, n_subset, rows.n_rows);
                nb::gil_scoped_release release;
                dart_maxima(rows, rule, rows_wanted, n_subset, to);
            });
        },
        MATRIX_ARGS, nb::arg("scale"), nb::arg("subset").noconvert(), nb::arg("largest").noconvert(),
        "Raise largest to the scaled weights of the rows of subset.");

    m.def(
        "dart_count",
        [](uint64_t seed, uint64_t k, In1<uint64_t> ids, In1<float> limits, float rank_limit, Out1<int64_t> counts,
           int threads) {
            require(ids.shape(0) == limits.shape(0) && ids.shape(0) == counts.shape(0), "one limit and count an id");
            const DartRule rule = dart_rule(seed, k, 1.0, {nullptr, false});
            nb::gil_scoped_release release;
            dart_count(rule, ids.data(), limits.data(), static_cast<int64_t>(ids.shape(0)), rank_limit, counts.data(),
                       threads);
        },
        nb::arg("seed"), nb::arg("k"), nb::arg("ids").noconvert(), nb::arg("limits").noconvert(), nb::arg("rank_limit"),
        nb::arg("counts").noconvert(), nb::arg("threads"), "Darts of every coordinate below its limit and the rank limit.");

    m.def(
        "dart_fill",
        [](uint64_t seed, uint64_t k, In1<uint64_t> ids, In1<float> limits, float rank_limit, In1<int64_t> starts,
           Out2<uint64_t> records, int threads) {
            const size_t n = ids.shape(0);
            require(n == limits.shape(0) && starts.shape(0) == n + 1 && records.shape(1) == 2 &&
                        static_cast<size_t>(starts.data()[n]) == records.shape(0),
                    "one limit an id, and two words a dart");
            const DartRule rule = dart_rule(seed, k, 1.0, {nullptr, false});
            nb::gil_scoped_release release;
            dart_fill(rule, ids.data(), limits.data(), static_cast<int64_t>(n), rank_limit, starts.data(),
                      reinterpret_cast<DartRecord*>(records.data()), threads);
        },
        nb::arg("seed"), nb::arg("k"), nb::arg("ids").noconvert(), nb::arg("limits").noconvert(), nb::arg("rank_limit"),
        nb::arg("starts").noconvert(), nb::arg("records").noconvert(), nb::arg("threads"),
        "List those darts, each coordinate's sorted by weight.");

    m.def(
        "dart_slot_starts",
        [](uint64_t k, In2<uint64_t> by_weight, Out1<int64_t> slot_starts) {
            require(slot_starts.shape(0) == k + 1 && by_weight.shape(1) == 2, "k + 1 starts, and two words a dart");
            const auto* records = reinterpret_cast<const DartRecord*>(by_weight.data());
            nb::gil_scoped_release release;
            dart_slot_starts(k, records, static_cast<int64_t>(by_weight.shape(0)), slot_starts.data());
        },
        nb::arg("k"), nb::arg("by_weight").noconvert(), nb::arg("slot_starts").noconvert(),
        "Where the padded list of each slot starts in a table by rank.");

    m.def(
        "dart_by_rank",
        [](uint64_t k, In1<int64_t> starts, In2<uint64_t> by_weight, In1<int64_t> slot_starts, Out2<uint64_t> by_rank,
           int threads) {
            require(slot_starts.shape(0) == k + 1 && by_weight.shape(1) == 2 && by_rank.shape(1) == 8 &&
                        static_cast<size_t>(slot_starts.data()[k]) == by_rank.shape(0),
                    "k + 1 starts, two words a dart, and eight words a group");
            const auto* records = reinterpret_cast<const DartRecord*>(by_weight.data());
            auto* groups = reinterpret_cast<DartGroup*>(by_rank.data());
            nb::gil_scoped_release release;
            dart_by_rank(k, starts.data(), static_cast<int64_t>(starts.shape(0)) - 1, records, slot_starts.data(),
                         groups, threads);
        },
        nb::arg("k"), nb::arg("starts").noconvert(), nb::arg("by_weight").noconvert(), nb::arg("slot_starts").noconvert(),
        nb::arg("by_rank").noconvert(), nb::arg("threads"), "The same darts, one list a slot, sorted by rank.");

    auto encode = [](auto codes_type) {
        using Code = decltype(codes_type);
        return [](AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols, Center center,
                  bool l1, double scale, uint64_t seed, int bits, In1<uint64_t> ids, In1<float> limits,
                  bool by_rank, In1<int64_t> starts, In2<uint64_t> records, float rank_limit,
                  In1<int64_t> subset, Out2<Code> codes, int threads) {
            const MatrixArg x = matrix(values, indices, indptr, n_cols);
            const uint64_t k = codes.shape(1);
            const DartRule rule = dart_rule(seed, k, scale, weight_rule(center, l1, n_cols, x.indptr.has_value()));
            require(bits >= 1 && bits <= 8 * static_cast<int>(sizeof(Code)), "bits must fit the type of the codes");
            require(n_cols < (int64_t{1} << 30) && static_cast<int64_t>(ids.shape(0)) == 2 * n_cols &&
                        ids.shape(0) == limits.shape(0) && starts.shape(0) == (by_rank ? k : ids.shape(0)) + 1 &&
                        records.shape(1) == (by_rank ? 8 : 2) &&
                        static_cast<size_t>(starts.data()[starts.shape(0) - 1]) == records.shape(0) &&
                        static_cast<int64_t>(codes.shape(0)) == x.n_rows(),
                    "tables, rows and codes do not fit together");
            const uint64_t* words = records.data();
            const DartTable table{by_rank, starts.data(), reinterpret_cast<const DartRecord*>(words),
                                  reinterpret_cast<const DartGroup*>(words), limits.data(), rank_limit};
            const int64_t* rows_wanted = subset.data();
            const int64_t n_subset = static_cast<int64_t>(subset.shape(0));
            Code* to = codes.data();
            double uncovered = 0.0;
            x.visit([&](auto rows) {
                require_inside(rows_wanted, n_subset, rows.n_rows);
                nb::gil_scoped_release release;
                uncovered = dart_encode(rows, rule, table, ids.data(), rows_wanted, n_subset, bits, to, threads);
            });
            return uncovered;
        };
    };
#define ENCODE_ARGS \
    MATRIX_ARGS, nb::arg("scale"), nb::arg("seed"), nb::arg("bits"), nb::arg("ids").noconvert(), \
        nb::arg("limits").noconvert(), nb::arg("by_rank"), nb::arg("starts").noconvert(), \
        nb::arg("records").noconvert(), nb::arg("rank_limit"), nb::arg("subset").noconvert(), \
        nb::arg("codes").noconvert(), nb::arg("threads"), \
        "Codes of the rows of subset, from a table as far as it reaches; empty rows are left as they are."
    m.def("dart_encode", encode(uint8_t{}), ENCODE_ARGS);
    m.def("dart_encode", encode(uint16_t{}), ENCODE_ARGS);
}

void bind_frozen(nb::module_& m) {
    m.def("child", &kl_child, nb::arg("key"), nb::arg("n"), "The n-th child of a key.");
    m.def("stream", &kl_stream, nb::arg("seed"), nb::arg("stream"), "The key of a stream of a seed.");
    m.def("log", &kl_log, nb::arg("x"), "The frozen logarithm of a positive finite double.");
    m.def("floor_float", &kl_floor_float, nb::arg("y"), "The frozen single-precision floor.");
    m.def("float_above", &kl_float_above, nb::arg("x"), "The smallest float at or above a nonnegative double.");
    m.def("poisson1", &kl_poisson1, nb::arg("bits"), "The Poisson(1) quantile of 64 bits.");
    m.def("dart_rate", &kl_dart_rate, nb::arg("k"), "Darts per unit area for k slots.");
    m.def(
        "cws_cell",
        [](uint64_t seed, uint64_t slot, uint64_t coordinate) {
            const kl_cws_cell cell = kl_cws_draw(kl_child(kl_stream(seed, KL_STREAM_CWS), coordinate), slot);
            return std::make_tuple(cell.inverse_r, cell.beta, cell.r, cell.q);
        },
        nb::arg("seed"), nb::arg("slot"), nb::arg("coordinate"), "1/r, beta, r, q of one cell.");
    m.def(
        "cws_code",
        [](uint64_t seed, uint64_t slot, uint64_t coordinate, int64_t t) {
            return kl_cws_code(kl_child(kl_stream(seed, KL_STREAM_CWS_CODE), slot), coordinate, t);
        },
        nb::arg("seed"), nb::arg("slot"), nb::arg("coordinate"), nb::arg("t"), "The 64 bits of one sample in one slot.");
}

}  // namespace

void bind_hash(nb::module_& m) {
    bind_cws(m);
    bind_dart(m);
    bind_frozen(m);
}

}  // namespace kernelight
