// Glue for consistent weighted sampling.
#include "weights.h"

namespace kernelight {
namespace {

// The nonzeros of every block of rows: cws_list writes them, cws_scan reads them.
struct ListingArg {
    int64_t row_block;
    In1<int64_t> starts;
    Out1<int32_t> coordinate, row;
    Out1<float> log_value;

    ListingArg(int64_t row_block_, In1<int64_t> starts_, Out1<int32_t> coordinate_,
               Out1<int32_t> row_, Out1<float> log_value_)
        : row_block(row_block_),
          starts(starts_),
          coordinate(coordinate_),
          row(row_),
          log_value(log_value_) {
        require(row_block >= 1 && starts.shape(0) >= 1,
                "starts must have one place a row block and one more");
        const size_t count = static_cast<size_t>(starts.data()[starts.shape(0) - 1]);
        require(
            coordinate.shape(0) == count && row.shape(0) == count && log_value.shape(0) == count,
            "the listing must have one place a nonzero");
    }

    CwsListing of(int64_t n_rows) const {
        require(static_cast<int64_t>(starts.shape(0)) == n_row_blocks(n_rows, row_block) + 1,
                "starts must have one place a row block and one more");
        return {n_rows, row_block, starts.data(), coordinate.data(), row.data(), log_value.data()};
    }
};

// Cells of some coordinates, beginning with the slots that are asked for.
struct TablesArg {
    Out2<float> cells;
    In1<uint64_t> ids;
    In1<int32_t> where;

    TablesArg(Out2<float> cells_, In1<uint64_t> ids_, In1<int32_t> where_)
        : cells(cells_), ids(ids_), where(where_) {
        require(static_cast<int64_t>(ids.shape(0)) <= capacity(), "the ids must fit the tables");
    }

    int64_t capacity() const { return static_cast<int64_t>(cells.shape(1)) / kCellBlock; }
    CwsTables of(int64_t first_slot, int64_t n_slots) const {
        const CwsTables view{cells.data(), capacity(), ids.data(), first_slot, n_slots};
        require(static_cast<int64_t>(cells.shape(0)) >= view.n_blocks(),
                "the slots must lie inside the tables");
        return view;
    }
};

// How a sample becomes a code.
struct CodingArg {
    uint64_t seed;
    int bits;
    uint64_t t_mask;
    bool lowest;

    CwsCoding coding() const { return {bits, t_mask, lowest}; }
};

// Where the codes of slots first_slot .. first_slot + n_slots go: columns of `codes` from `column`
// on.
template <class Code>
Code* checked_column(const Out2<Code>& codes, int bits, int64_t column, int64_t first_slot,
                     int64_t n_slots) {
    require(first_slot >= 0 && n_slots >= 0 && column >= 0 &&
                column + n_slots <= static_cast<int64_t>(codes.shape(1)),
            "the slots must lie inside the codes");
    require(bits >= 1 && bits <= 8 * static_cast<int>(sizeof(Code)),
            "bits must fit the type of the codes");
    return codes.data() + column;
}

}  // namespace

void bind_cws(nb::module_& m) {
    nb::class_<WeightedRows>(m, "WeightedRows",
                             "Rows of a matrix, and the rule that turns their values into weights.")
        .def(nb::init<AnyIn, std::optional<AnyIn>, std::optional<AnyIn>, int64_t,
                      std::optional<In1<double>>, bool>(),
             nb::arg("values").noconvert(), nb::arg("indices").noconvert().none(),
             nb::arg("indptr").noconvert().none(), nb::arg("n_cols"),
             nb::arg("center").noconvert().none(), nb::arg("l1"));
    nb::class_<ListingArg>(m, "CwsListing", "The nonzeros of every block of rows, by coordinate.")
        .def(nb::init<int64_t, In1<int64_t>, Out1<int32_t>, Out1<int32_t>, Out1<float>>(),
             nb::arg("row_block"), nb::arg("starts").noconvert(), nb::arg("coordinate").noconvert(),
             nb::arg("row").noconvert(), nb::arg("log_value").noconvert());
    nb::class_<TablesArg>(m, "CwsTables",
                          "Cells of the coordinates ids; where[coordinate] is the table row.")
        .def(nb::init<Out2<float>, In1<uint64_t>, In1<int32_t>>(), nb::arg("cells").noconvert(),
             nb::arg("ids").noconvert(), nb::arg("where").noconvert());
    nb::class_<CodingArg>(m, "CwsCoding", "How the sample (i*, t*) of a slot becomes a code.")
        .def(nb::init<uint64_t, int, uint64_t, bool>(), nb::arg("seed"), nb::arg("bits"),
             nb::arg("t_mask"), nb::arg("lowest"));

    m.def(
        "cws_survey",
        [](const WeightedRows& x, Out1<int64_t> counts, std::optional<Out1<uint8_t>> used,
           int threads) {
            require(static_cast<int64_t>(counts.shape(0)) == x.n_rows(),
                    "counts must have one place a row");
            require(!used || static_cast<int64_t>(used->shape(0)) == 2 * x.n_cols(),
                    "used must have two places a column");
            x.visit([&](auto rows, WeightRule rule) {
                cws_survey(rows, rule, counts.data(), used ? used->data() : nullptr, threads);
            });
        },
        nb::arg("rows"), nb::arg("counts").noconvert(), nb::arg("used").noconvert().none(),
        nb::arg("threads"), "Nonzero weights of every row, and which expanded coordinates occur.");

    m.def(
        "cws_list",
        [](const WeightedRows& x, double p, const ListingArg& listing, int threads, int simd) {
            require(x.n_cols() < (int64_t{1} << 30), "coordinates must fit 31 bits");
            const CwsListing to = listing.of(x.n_rows());
            x.visit([&](auto rows, WeightRule rule) {
                cws_list(rows, rule, p, to, cws_loops(usable_level(simd)), threads);
            });
        },
        nb::arg("rows"), nb::arg("p"), nb::arg("listing"), nb::arg("threads"), nb::arg("simd"),
        "Fill a listing: the nonzeros of every block of rows, ascending by coordinate, with p "
        "times their logarithm.");

    m.def(
        "cws_fill",
        [](Out2<float> cells, In1<uint64_t> ids, int64_t begin, int64_t end, uint64_t seed,
           int64_t first_slot, int64_t n_slots, int threads, int simd) {
            const int64_t capacity = static_cast<int64_t>(cells.shape(1)) / kCellBlock;
            const CwsTables view{cells.data(), capacity, ids.data(), first_slot, n_slots};
            require(
                n_slots >= 0 && first_slot >= 0 &&
                    static_cast<int64_t>(cells.shape(0)) >= view.n_blocks() && 0 <= begin &&
                    begin <= end && end <= capacity && end <= static_cast<int64_t>(ids.shape(0)),
                "cells must be (slot blocks, capacity * cell block) and hold every id asked for");
            nb::gil_scoped_release release;
            cws_fill(view, begin, end, seed, cws_loops(usable_level(simd)), threads);
        },
        nb::arg("cells").noconvert(), nb::arg("ids").noconvert(), nb::arg("begin"), nb::arg("end"),
        nb::arg("seed"), nb::arg("first_slot"), nb::arg("n_slots"), nb::arg("threads"),
        nb::arg("simd"), "Draw the cells of ids[begin:end].");

    auto scan = [](auto codes_type) {
        using Code = decltype(codes_type);
        return [](const ListingArg& listing, const TablesArg& tables, const CodingArg& coding,
                  int64_t first_slot, int64_t n_slots, int64_t column, Out2<Code> out, int threads,
                  int simd) {
            Code* to = checked_column(out, coding.bits, column, first_slot, n_slots);
            const CwsTables view = tables.of(first_slot, n_slots);
            const CwsListing entries = listing.of(static_cast<int64_t>(out.shape(0)));
            const int64_t stride = static_cast<int64_t>(out.shape(1));
            nb::gil_scoped_release release;
            cws_scan(entries, view, tables.where.data(), coding.seed, coding.coding(), to, stride,
                     cws_loops(usable_level(simd)), threads);
        };
    };
#define SCAN_ARGS \
    nb::arg("listing"), nb::arg("tables"), nb::arg("coding"), nb::arg("first_slot"), \
        nb::arg("n_slots"), nb::arg("column"), nb::arg("out").noconvert(), nb::arg("threads"), \
        nb::arg("simd"), \
        "Codes of slots first_slot .. first_slot + n_slots of all listed rows, from a column on; " \
        "empty rows are left as they are."
    m.def("cws_scan", scan(uint8_t{}), SCAN_ARGS);
    m.def("cws_scan", scan(uint16_t{}), SCAN_ARGS);
    m.def("cws_scan", scan(uint64_t{}), SCAN_ARGS);

    auto stream = [](auto codes_type) {
        using Code = decltype(codes_type);
        return [](const WeightedRows& x, double p, std::optional<In1<uint64_t>> ids,
                  const CodingArg& coding, int64_t first_slot, int64_t n_slots, int64_t column,
                  Out2<Code> out, int threads, int simd) {
            Code* to = checked_column(out, coding.bits, column, first_slot, n_slots);
            const int64_t stride = static_cast<int64_t>(out.shape(1));
            require(static_cast<int64_t>(out.shape(0)) == x.n_rows(),
                    "codes must have one row a row");
            require(!ids || static_cast<int64_t>(ids->shape(0)) == 2 * x.n_cols(),
                    "ids must have two places a column");
            x.visit([&](auto rows, WeightRule rule) {
                cws_stream(rows, rule, p, ids ? ids->data() : nullptr, first_slot, n_slots,
                           coding.seed, coding.coding(), to, stride, cws_loops(usable_level(simd)),
                           threads);
            });
        };
    };
#define STREAM_ARGS \
    nb::arg("rows"), nb::arg("p"), nb::arg("ids").noconvert().none(), nb::arg("coding"), \
        nb::arg("first_slot"), nb::arg("n_slots"), nb::arg("column"), nb::arg("out").noconvert(), \
        nb::arg("threads"), nb::arg("simd"), \
        "The same without listing and tables, for rows or widths that would not fit."
    m.def("cws_stream", stream(uint8_t{}), STREAM_ARGS);
    m.def("cws_stream", stream(uint16_t{}), STREAM_ARGS);
    m.def("cws_stream", stream(uint64_t{}), STREAM_ARGS);
    m.attr("SLOT_BLOCK") = kSlotBlock;
    m.attr("CELL_BLOCK") = kCellBlock;
}

}  // namespace kernelight
