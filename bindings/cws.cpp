// Glue for consistent weighted sampling.
#include "cws_bounds.h"
#include "cws_lists.h"
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

// The darts of every slot, the least first.
struct ListsArg {
    Out2<uint64_t> groups;
    In1<int64_t> starts;
    In1<float> limits;

    ListsArg(Out2<uint64_t> groups_, In1<int64_t> starts_, In1<float> limits_)
        : groups(groups_), starts(starts_), limits(limits_) {
        require(starts.shape(0) >= 1 && are_even(starts.data(), n_slots()) &&
                    starts.data()[n_slots()] == static_cast<int64_t>(groups.shape(0)) &&
                    groups.shape(1) * sizeof(uint64_t) == sizeof(DartGroup),
                "groups must be eight words each, and as many for every slot");
    }

    int64_t n_places() const { return static_cast<int64_t>(limits.shape(0)); }
    int64_t n_slots() const { return static_cast<int64_t>(starts.shape(0)) - 1; }
    int64_t length() const { return n_slots() ? starts.data()[1] : 0; }
    DartGroup* data() const { return reinterpret_cast<DartGroup*>(groups.data()); }
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

// Where the winners of the same slots go: all slots of the sampler have a column, of which these
// begin with the column first_slot.
CwsWinners checked_winners(const std::optional<Out2<int64_t>>& winners, size_t n_rows,
                           int64_t first_slot, int64_t n_slots) {
    if (!winners) return {nullptr, 0};
    const auto stride = static_cast<int64_t>(winners->shape(1));
    require(winners->shape(0) == n_rows && first_slot + n_slots <= stride,
            "winners must have a row for each row, and a column for each slot");
    return {winners->data() + first_slot, stride};
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
                  int64_t first_slot, int64_t n_slots, int64_t column, Out2<Code> out,
                  std::optional<Out2<int64_t>> winners, int threads, int simd) {
            Code* to = checked_column(out, coding.bits, column, first_slot, n_slots);
            const CwsTables view = tables.of(first_slot, n_slots);
            const CwsListing entries = listing.of(static_cast<int64_t>(out.shape(0)));
            const int64_t stride = static_cast<int64_t>(out.shape(1));
            const CwsWinners by = checked_winners(winners, out.shape(0), first_slot, n_slots);
            nb::gil_scoped_release release;
            cws_scan(entries, view, tables.where.data(), coding.seed, coding.coding(), to, stride,
                     by, cws_loops(usable_level(simd)), threads);
        };
    };
#define SCAN_ARGS \
    nb::arg("listing"), nb::arg("tables"), nb::arg("coding"), nb::arg("first_slot"), \
        nb::arg("n_slots"), nb::arg("column"), nb::arg("out").noconvert(), \
        nb::arg("winners").noconvert().none(), nb::arg("threads"), nb::arg("simd"), \
        "Codes of slots first_slot .. first_slot + n_slots of all listed rows, from a column on, " \
        "and the feature that won each slot, from column first_slot of winners on; empty rows " \
        "are left as they are."
    m.def("cws_scan", scan(uint8_t{}), SCAN_ARGS);
    m.def("cws_scan", scan(uint16_t{}), SCAN_ARGS);
    m.def("cws_scan", scan(uint64_t{}), SCAN_ARGS);

    nb::class_<ListsArg>(m, "CwsLists", "The darts of every slot, the likeliest first.")
        .def(nb::init<Out2<uint64_t>, In1<int64_t>, In1<float>>(), nb::arg("groups").noconvert(),
             nb::arg("starts").noconvert(), nb::arg("limits").noconvert());

    m.def(
        "cws_largest",
        [](const WeightedRows& x, double p, In1<int32_t> where, Out1<float> largest, int simd) {
            require(static_cast<int64_t>(where.shape(0)) == 2 * x.n_cols(),
                    "where must have two places a column");
            double sum = 0.0;
            x.visit([&](auto rows, WeightRule rule) {
                sum =
                    cws_largest(rows, rule, p, where.data(), static_cast<int64_t>(largest.shape(0)),
                                largest.data(), cws_loops(usable_level(simd)));
            });
            return sum;
        },
        nb::arg("rows"), nb::arg("p"), nb::arg("where").noconvert(), nb::arg("largest").noconvert(),
        nb::arg("simd"),
        "Raise largest to the logarithms of the weights of all rows; returns the sum of weights.");

    m.def(
        "cws_rank",
        [](const TablesArg& tables, const CodingArg& coding, float most_a, const ListsArg& lists,
           int threads) {
            const CwsTables view = tables.of(0, lists.n_slots());
            require(lists.n_places() <= static_cast<int64_t>(tables.ids.shape(0)),
                    "the tables must have every place");
            nb::gil_scoped_release release;
            cws_rank(view, lists.n_places(), lists.limits.data(), coding.seed, coding.coding(),
                     most_a, lists.length(), lists.data(), threads);
        },
        nb::arg("tables"), nb::arg("coding"), nb::arg("most_a"), nb::arg("lists"),
        nb::arg("threads"), "Write the lists of the first slots of the tables, up to most_a.");

    auto by_lists = [](auto codes_type) {
        using Code = decltype(codes_type);
        return [](const WeightedRows& x, double p, const ListsArg& lists, const TablesArg& tables,
                  const CodingArg& coding, int64_t first_slot, int64_t n_slots, int64_t column,
                  Out2<Code> out, int threads, int simd) {
            Code* to = checked_column(out, coding.bits, column, first_slot, n_slots);
            const CwsTables view = tables.of(first_slot, n_slots);
            require(first_slot + n_slots <= lists.n_slots(), "the slots must have lists");
            require(static_cast<int64_t>(out.shape(0)) == x.n_rows() &&
                        static_cast<int64_t>(tables.where.shape(0)) == 2 * x.n_cols(),
                    "codes must have one row a row, where two places a column");
            const CwsLists by{lists.data(), lists.starts.data() + first_slot, lists.n_places(),
                              lists.limits.data()};
            const Level level = usable_level(simd);
            CwsListWork work{};
            x.visit([&](auto rows, WeightRule rule) {
                work = cws_encode_lists(rows, rule, p, by, view, tables.where.data(), coding.seed,
                                        coding.coding(), to, static_cast<int64_t>(out.shape(1)),
                                        cws_loops(level), lane_loops(level), threads);
            });
            return std::make_tuple(work.steps, work.groups, work.rows, work.blocks);
        };
    };
#define LISTS_ARGS \
    nb::arg("rows"), nb::arg("p"), nb::arg("lists"), nb::arg("tables"), nb::arg("coding"), \
        nb::arg("first_slot"), nb::arg("n_slots"), nb::arg("column"), nb::arg("out").noconvert(), \
        nb::arg("threads"), nb::arg("simd"), \
        "The same codes as cws_scan by lists; what it took: steps, groups of rows, rows that " \
        "were " \
        "scanned, slot blocks that were. The tables must have every coordinate."
    m.def("cws_encode_lists", by_lists(uint8_t{}), LISTS_ARGS);
    m.def("cws_encode_lists", by_lists(uint16_t{}), LISTS_ARGS);
    m.def("cws_encode_lists", by_lists(uint64_t{}), LISTS_ARGS);

    auto few = [](auto codes_type) {
        using Code = decltype(codes_type);
        return [](const WeightedRows& x, double p, const TablesArg& tables, const CodingArg& coding,
                  Out2<Code> out, Out1<bool> empty, int simd) {
            const auto n_slots = static_cast<int64_t>(out.shape(1));
            Code* to = checked_column(out, coding.bits, 0, 0, n_slots);
            const CwsTables view = tables.of(0, n_slots);
            require(
                static_cast<int64_t>(out.shape(0)) == x.n_rows() && empty.shape(0) == out.shape(0),
                "codes and empty must have one row a row");
            require(static_cast<int64_t>(tables.where.shape(0)) == 2 * x.n_cols(),
                    "where must have two places a column");
            bool known = false;
            x.visit([&](auto rows, WeightRule rule) {
                known = cws_encode_few(rows, rule, p, view, tables.where.data(), coding.seed,
                                       coding.coding(), to, empty.data(),
                                       cws_loops(usable_level(simd)));
            });
            return known;
        };
    };
#define FEW_ARGS \
    nb::arg("rows"), nb::arg("p"), nb::arg("tables"), nb::arg("coding"), \
        nb::arg("out").noconvert(), nb::arg("empty").noconvert(), nb::arg("simd"), \
        "Codes of a few rows, listed and scanned on one thread; whether the tables have every " \
        "coordinate, without which nothing counts."
    m.def("cws_encode_few", few(uint8_t{}), FEW_ARGS);
    m.def("cws_encode_few", few(uint16_t{}), FEW_ARGS);

    auto stream = [](auto codes_type) {
        using Code = decltype(codes_type);
        return [](const WeightedRows& x, double p, std::optional<In1<uint64_t>> ids,
                  const CodingArg& coding, int64_t first_slot, int64_t n_slots, int64_t column,
                  Out2<Code> out, std::optional<Out2<int64_t>> winners, int threads, int simd) {
            Code* to = checked_column(out, coding.bits, column, first_slot, n_slots);
            const int64_t stride = static_cast<int64_t>(out.shape(1));
            const CwsWinners by = checked_winners(winners, out.shape(0), first_slot, n_slots);
            require(static_cast<int64_t>(out.shape(0)) == x.n_rows(),
                    "codes must have one row a row");
            require(!ids || static_cast<int64_t>(ids->shape(0)) == 2 * x.n_cols(),
                    "ids must have two places a column");
            x.visit([&](auto rows, WeightRule rule) {
                cws_stream(rows, rule, p, ids ? ids->data() : nullptr, first_slot, n_slots,
                           coding.seed, coding.coding(), to, stride, by,
                           cws_loops(usable_level(simd)), threads);
            });
        };
    };
#define STREAM_ARGS \
    nb::arg("rows"), nb::arg("p"), nb::arg("ids").noconvert().none(), nb::arg("coding"), \
        nb::arg("first_slot"), nb::arg("n_slots"), nb::arg("column"), nb::arg("out").noconvert(), \
        nb::arg("winners").noconvert().none(), nb::arg("threads"), nb::arg("simd"), \
        "The same without listing and tables, for rows or widths that would not fit."
    m.def("cws_stream", stream(uint8_t{}), STREAM_ARGS);
    m.def("cws_stream", stream(uint16_t{}), STREAM_ARGS);
    m.def("cws_stream", stream(uint64_t{}), STREAM_ARGS);

    auto by_bounds = [](auto codes_type) {
        using Code = decltype(codes_type);
        return [](const WeightedRows& x, double p, std::optional<In1<uint64_t>> ids,
                  const ListingArg& listing, float reach, const CodingArg& coding,
                  int64_t first_slot, int64_t n_slots, int64_t column, Out2<Code> out,
                  std::optional<Out2<int64_t>> winners, int threads, int simd) {
            Code* to = checked_column(out, coding.bits, column, first_slot, n_slots);
            const int64_t stride = static_cast<int64_t>(out.shape(1));
            const CwsWinners by = checked_winners(winners, out.shape(0), first_slot, n_slots);
            require(static_cast<int64_t>(out.shape(0)) == x.n_rows(),
                    "codes must have one row a row");
            require(!ids || static_cast<int64_t>(ids->shape(0)) == 2 * x.n_cols(),
                    "ids must have two places a column");
            require(x.n_cols() < (int64_t{1} << 30), "coordinates must fit 31 bits");
            const CwsListing entries = listing.of(x.n_rows());
            const Level level = usable_level(simd);
            int64_t doubts = 0;
            x.visit([&](auto rows, WeightRule rule) {
                doubts = cws_encode_bounds(
                    rows, rule, p, entries, CwsIdentities{ids ? ids->data() : nullptr}, reach,
                    first_slot, n_slots, coding.seed, coding.coding(), to, stride, by,
                    cws_loops(level), bound_loops(level), threads);
            });
            return doubts;
        };
    };
#define BOUNDS_ARGS \
    nb::arg("rows"), nb::arg("p"), nb::arg("ids").noconvert().none(), nb::arg("listing"), \
        nb::arg("reach"), nb::arg("coding"), nb::arg("first_slot"), nb::arg("n_slots"), \
        nb::arg("column"), nb::arg("out").noconvert(), nb::arg("winners").noconvert().none(), \
        nb::arg("threads"), nb::arg("simd"), \
        "The same codes as cws_scan from a listing, without tables; no logarithm is larger in " \
        "size than reach. Returns how many codes were left to the definition."
    m.def("cws_encode_bounds", by_bounds(uint8_t{}), BOUNDS_ARGS);
    m.def("cws_encode_bounds", by_bounds(uint16_t{}), BOUNDS_ARGS);
    m.def("cws_encode_bounds", by_bounds(uint64_t{}), BOUNDS_ARGS);

    m.def(
        "cws_bounds",
        [](uint64_t seed, uint64_t coordinate, int64_t first_slot, float log_value, float reach,
           Out1<float> out, int simd) {
            require(out.shape(0) <= static_cast<size_t>(kSlotBlock),
                    "there must be at most one block of slots");
            bound_loops(usable_level(simd))
                .bounds(kl_child(kl_stream(seed, KL_STREAM_CWS), coordinate), first_slot,
                        static_cast<int64_t>(out.shape(0)), log_value, reach, out.data());
        },
        nb::arg("seed"), nb::arg("coordinate"), nb::arg("first_slot"), nb::arg("log_value"),
        nb::arg("reach"), nb::arg("out").noconvert(), nb::arg("simd"),
        "Bounds of the values a of one weight, as cws_encode_bounds takes them.");
    m.attr("SLOT_BLOCK") = kSlotBlock;
    m.attr("CELL_BLOCK") = kCellBlock;
}

}  // namespace kernelight
