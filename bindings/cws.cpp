// Glue for consistent weighted sampling.
#include "weights.h"

namespace kernelight {
namespace {

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

// Where the codes of slots first_slot .. first_slot + n_slots go: columns of `codes` from `column` on.
template <class Code>
Code* checked_column(const Out2<Code>& codes, int bits, int64_t column, int64_t first_slot, int64_t n_slots) {
    require(first_slot >= 0 && n_slots >= 0 && column >= 0 && column + n_slots <= static_cast<int64_t>(codes.shape(1)),
            "the slots must lie inside the codes");
    require(bits >= 1 && bits <= 8 * static_cast<int>(sizeof(Code)), "bits must fit the type of the codes");
    return codes.data() + column;
}

}  // namespace

void bind_cws(nb::module_& m) {
    m.def(
        "cws_survey",
        [](AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols, Center center, bool l1,
           Out1<int64_t> counts, std::optional<Out1<uint8_t>> used, int threads) {
            const MatrixArg x = matrix(values, indices, indptr, n_cols);
            require(static_cast<int64_t>(counts.shape(0)) == x.n_rows(), "counts must have one place a row");
            require(!used || static_cast<int64_t>(used->shape(0)) == 2 * n_cols, "used must have two places a column");
            const WeightRule rule = weight_rule(center, l1, n_cols, x.indptr.has_value());
            int64_t* to = counts.data();
            uint8_t* flags = used ? used->data() : nullptr;
            x.visit([&](auto rows) {
                nb::gil_scoped_release release;
                cws_survey(rows, rule, to, flags, threads);
            });
        },
        MATRIX_ARGS, nb::arg("counts").noconvert(), nb::arg("used").noconvert().none(), nb::arg("threads"),
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
                  uint64_t t_mask, bool lowest, int64_t column, Out2<Code> codes, int threads, int simd) {
            const int64_t n_rows = static_cast<int64_t>(codes.shape(0));
            const int64_t capacity = static_cast<int64_t>(tables.shape(1)) / kCellBlock;
            const CwsTables view{tables.data(), capacity, ids.data(), first_slot, n_slots};
            Code* to = checked_column(codes, bits, column, first_slot, n_slots);
            require(static_cast<int64_t>(tables.shape(0)) >= view.n_blocks(), "the slots must lie inside the tables");
            require(static_cast<int64_t>(ids.shape(0)) <= capacity, "the ids must fit the tables");
            const CwsListing listing = checked_listing(n_rows, row_block, starts, coordinate, row, log_value);
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
        nb::arg("first_slot"), nb::arg("n_slots"), nb::arg("bits"), nb::arg("t_mask"), nb::arg("lowest"), nb::arg("column"), \
        nb::arg("codes").noconvert(), nb::arg("threads"), nb::arg("simd"), \
        "Codes of slots first_slot .. first_slot + n_slots of all listed rows, from a column on; empty rows are left as they are."
    m.def("cws_scan", scan(uint8_t{}), SCAN_ARGS);
    m.def("cws_scan", scan(uint16_t{}), SCAN_ARGS);
    m.def("cws_scan", scan(uint64_t{}), SCAN_ARGS);
    auto stream = [](auto codes_type) {
        using Code = decltype(codes_type);
        return [](AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols, Center center,
                  bool l1, double p, std::optional<In1<uint64_t>> ids, uint64_t seed, int64_t first_slot, int64_t n_slots,
                  int bits, uint64_t t_mask, bool lowest, int64_t column, Out2<Code> codes, int threads, int simd) {
            const MatrixArg x = matrix(values, indices, indptr, n_cols);
            const WeightRule rule = weight_rule(center, l1, n_cols, x.indptr.has_value());
            Code* to = checked_column(codes, bits, column, first_slot, n_slots);
            const int64_t stride = static_cast<int64_t>(codes.shape(1));
            require(static_cast<int64_t>(codes.shape(0)) == x.n_rows(), "codes must have one row a row");
            require(!ids || static_cast<int64_t>(ids->shape(0)) == 2 * n_cols, "ids must have two places a column");
            x.visit([&](auto rows) {
                nb::gil_scoped_release release;
                cws_stream(rows, rule, p, ids ? ids->data() : nullptr, first_slot, n_slots, seed,
                           CwsCoding{bits, t_mask, lowest}, to, stride, cws_loops(usable_level(simd)), threads);
            });
        };
    };
#define STREAM_ARGS \
    MATRIX_ARGS, nb::arg("p"), nb::arg("ids").noconvert().none(), nb::arg("seed"), nb::arg("first_slot"), nb::arg("n_slots"), \
        nb::arg("bits"), nb::arg("t_mask"), nb::arg("lowest"), nb::arg("column"), nb::arg("codes").noconvert(), nb::arg("threads"), nb::arg("simd"), \
        "The same without listing and tables, for rows or widths that would not fit."
    m.def("cws_stream", stream(uint8_t{}), STREAM_ARGS);
    m.def("cws_stream", stream(uint16_t{}), STREAM_ARGS);
    m.def("cws_stream", stream(uint64_t{}), STREAM_ARGS);
    m.attr("SLOT_BLOCK") = kSlotBlock;
    m.attr("CELL_BLOCK") = kCellBlock;
}

}  // namespace kernelight
