// Searches: similarities of pairs, bands of slots, scans of codes, exact joins and searches of
// sparse rows. Glue only; the loops are in core/minmax_rows.h, bands.h, code_scan.h, prefix_join.h
// and term_search.h. Long because all of them take rows as SummedRows, which is defined here.
#include "arrays.h"
#include "bands.h"
#include "code_scan.h"
#include "prefix_join.h"
#include "term_search.h"

namespace kernelight {
namespace {

// A vector handed to NumPy without a copy.
template <class T>
nb::object owned(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

nb::tuple owned_pairs(PairColumns&& pairs) {
    return nb::make_tuple(owned(std::move(pairs.first)), owned(std::move(pairs.second)),
                          owned(std::move(pairs.similarity)));
}

template <class T>
void check_rows(const DenseRows<T>&) {}
template <class T, class Index>
void check_rows(const CsrRows<T, Index>& rows) {
    pairwise::check_compressed(rows.indices, rows.indptr, rows.n_rows, rows.n_cols,
                               static_cast<int64_t>(rows.indptr[rows.n_rows]));
}

// Rows with their absolute sums. Indices are looked at once, here.
struct SummedRows {
    MatrixArg rows;
    In1<double> sums;
    bool nonnegative;

    SummedRows(AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr,
               int64_t n_cols, In1<double> sums_, bool nonnegative_)
        : rows{values, indices, indptr, n_cols}, sums(sums_), nonnegative(nonnegative_) {
        require(static_cast<int64_t>(sums.shape(0)) == rows.n_rows(), "sums must have one a row");
        rows.visit([](const auto& view) { check_rows(view); });
    }
    int64_t n_rows() const { return rows.n_rows(); }
};

// f(pairs) for two matrices of one storage and, if sparse, one index type.
template <class F>
void visit_pairs(const SummedRows& x, const SummedRows& y, const SearchLoops& loops, F&& f) {
    require(x.rows.n_cols == y.rows.n_cols, "both must be equally wide");
    x.rows.visit([&](const auto& one) {
        y.rows.visit([&](const auto& other) {
            using X = std::decay_t<decltype(one)>;
            using Y = std::decay_t<decltype(other)>;
            if constexpr (Comparable<X, Y>::value)
                f(MinMaxPairs<X, Y>(one, other, x.sums.data(), y.sums.data(),
                                    x.nonnegative && y.nonnegative, loops));
            else throw std::invalid_argument("both must be dense, or sparse with one index type");
        });
    });
}

void bind_pairs(nb::module_& m) {
    nb::class_<SummedRows>(m, "SummedRows", "A matrix with the absolute sums of its rows.")
        .def(nb::init<AnyIn, std::optional<AnyIn>, std::optional<AnyIn>, int64_t, In1<double>,
                      bool>(),
             nb::arg("values").noconvert(), nb::arg("indices").noconvert().none(),
             nb::arg("indptr").noconvert().none(), nb::arg("n_cols"), nb::arg("sums").noconvert(),
             nb::arg("nonnegative"));
    m.def(
        "absolute_sums",
        [](AnyIn values, std::optional<AnyIn> indices, std::optional<AnyIn> indptr, int64_t n_cols,
           Out1<double> out, int threads) {
            const MatrixArg rows{values, indices, indptr, n_cols};
            require(static_cast<int64_t>(out.shape(0)) == rows.n_rows(),
                    "out must have one number a row");
            rows.visit([&](const auto& view) {
                nb::gil_scoped_release release;
                absolute_sums(view, out.data(), threads);
            });
        },
        nb::arg("values").noconvert(), nb::arg("indices").noconvert().none(),
        nb::arg("indptr").noconvert().none(), nb::arg("n_cols"), nb::arg("out").noconvert(),
        nb::arg("threads"), "The sum of absolute values of each row, in the order of storage.");
    m.def(
        "minmax_of_pairs",
        [](const SummedRows& x, const SummedRows& y, In1<int64_t> i, In1<int64_t> j,
           Out1<double> out, int threads, int simd) {
            const auto count = static_cast<int64_t>(i.shape(0));
            require(j.shape(0) == i.shape(0) && out.shape(0) == i.shape(0),
                    "i, j and out must be equally long");
            require_inside(i.data(), count, x.n_rows());
            require_inside(j.data(), count, y.n_rows());
            visit_pairs(x, y, search_loops(simd), [&](const auto& pairs) {
                nb::gil_scoped_release release;
                minmax_of_pairs(pairs, i.data(), j.data(), count, out.data(), threads);
            });
        },
        nb::arg("x"), nb::arg("y"), nb::arg("i").noconvert(), nb::arg("j").noconvert(),
        nb::arg("out").noconvert(), nb::arg("threads"), nb::arg("simd"),
        "out[n] = min-max similarity of row i[n] of x and row j[n] of y.");
    m.def(
        "best_candidates",
        [](const SummedRows& x, const SummedRows& queries, In2<int64_t> candidates,
           Out2<int64_t> rows, Out2<double> similarities, int threads, int simd) {
            const auto n = static_cast<int64_t>(candidates.shape(0)),
                       width = static_cast<int64_t>(candidates.shape(1));
            require(n == queries.n_rows() && rows.shape(0) == candidates.shape(0) &&
                        similarities.shape(0) == rows.shape(0) &&
                        similarities.shape(1) == rows.shape(1),
                    "candidates, rows and similarities must have one row a query");
            require(std::all_of(candidates.data(), candidates.data() + n * width,
                                [&](int64_t row) { return row >= -1 && row < x.n_rows(); }),
                    "a candidate lies outside the matrix");
            visit_pairs(x, queries, search_loops(simd), [&](const auto& pairs) {
                nb::gil_scoped_release release;
                best_candidates(pairs, candidates.data(), n, width,
                                static_cast<int64_t>(rows.shape(1)), rows.data(),
                                similarities.data(), threads);
            });
        },
        nb::arg("x"), nb::arg("queries"), nb::arg("candidates").noconvert(),
        nb::arg("rows").noconvert(), nb::arg("similarities").noconvert(), nb::arg("threads"),
        nb::arg("simd"),
        "For each query its most similar candidates, rows of x or -1: best first, ties to the "
        "lower row, padded with -1.");
}

using Empty = std::optional<In1<bool>>;

BandKeys keys_of(const In2<uint32_t>& keys, const Empty& empty) {
    require(!empty || empty->shape(0) == keys.shape(0), "empty must have one entry a row");
    require(keys.shape(0) < UINT32_MAX, "too many rows for 32 bits");
    return {keys.data(), empty ? empty->data() : nullptr, static_cast<int64_t>(keys.shape(0)),
            static_cast<int64_t>(keys.shape(1))};
}

template <class Slot, class Key>
void bind_band_keys(nb::module_& m) {
    m.def(
        "band_keys",
        [](In2<Slot> codes, int64_t rows, Out2<Key> out, int threads) {
            require(rows >= 1 && out.shape(0) == codes.shape(0), "out must have one row a code");
            require(
                static_cast<int64_t>(out.shape(1)) <= static_cast<int64_t>(codes.shape(1)) / rows,
                "the bands must fit into the slots");
            nb::gil_scoped_release release;
            band_keys(codes.data(), static_cast<int64_t>(codes.shape(0)),
                      static_cast<int64_t>(codes.shape(1)), static_cast<int64_t>(out.shape(1)),
                      rows, out.data(), threads);
        },
        nb::arg("codes").noconvert(), nb::arg("rows"), nb::arg("out").noconvert(),
        nb::arg("threads"), "Keys (n, bands) of bands of slots: 64 bits, or the upper 32 of them.");
}

struct SketchArg {
    std::optional<In2<uint8_t>> codes;
    int32_t least;
    Sketch view(int64_t n_rows, const SearchLoops& loops) const {
        require(!codes || static_cast<int64_t>(codes->shape(0)) == n_rows,
                "the sketch must have one row a row");
        return {codes ? codes->data() : nullptr, codes ? static_cast<int64_t>(codes->shape(1)) : 0,
                least, &loops};
    }
};

void bind_bands(nb::module_& m) {
    bind_band_keys<uint8_t, uint32_t>(m);
    bind_band_keys<uint8_t, uint64_t>(m);
    bind_band_keys<uint16_t, uint32_t>(m);
    bind_band_keys<uint16_t, uint64_t>(m);
    m.def(
        "band_tables",
        [](In2<uint32_t> keys, Empty empty, int64_t cap, std::optional<Out2<uint32_t>> table_keys,
           std::optional<Out2<uint32_t>> table_rows, Out2<int64_t> counts, int threads) {
            const BandKeys view = keys_of(keys, empty);
            require(cap >= 1 && counts.shape(0) == keys.shape(1) && counts.shape(1) == 4,
                    "cap must be positive and counts (bands, 4)");
            require(table_keys.has_value() == table_rows.has_value(), "tables go together");
            require(!table_keys || (table_keys->shape(0) == keys.shape(1) &&
                                    table_keys->shape(1) == keys.shape(0) &&
                                    table_rows->shape(0) == keys.shape(1) &&
                                    table_rows->shape(1) == keys.shape(0)),
                    "tables must be (bands, rows)");
            uint32_t *to_keys = table_keys ? table_keys->data() : nullptr,
                     *to_rows = table_rows ? table_rows->data() : nullptr;
            nb::gil_scoped_release release;
            band_tables(view, cap, to_keys, to_rows, counts.data(), threads);
        },
        nb::arg("keys").noconvert(), nb::arg("empty").noconvert().none(), nb::arg("cap"),
        nb::arg("table_keys").noconvert().none(), nb::arg("table_rows").noconvert().none(),
        nb::arg("counts").noconvert(), nb::arg("threads"),
        "Rows of each band by ascending key, and for each band the largest bucket, pairs that "
        "meet, buckets above the cap and rows in these.");
    m.def(
        "band_late_rows",
        [](In2<uint32_t> keys, Empty empty, int64_t cap, Out2<bool> late, int threads) {
            const BandKeys view = keys_of(keys, empty);
            require(cap >= 1 && late.shape(0) == keys.shape(0) && late.shape(1) == keys.shape(1),
                    "cap must be positive and late (rows, bands)");
            nb::gil_scoped_release release;
            band_late_rows(view, cap, late.data(), threads);
        },
        nb::arg("keys").noconvert(), nb::arg("empty").noconvert().none(), nb::arg("cap"),
        nb::arg("late").noconvert(), nb::arg("threads"),
        "Which rows come after the first `cap` of their bucket, in each band.");
    m.def(
        "band_join",
        [](In2<uint32_t> keys, Empty empty, int64_t begin, int64_t end,
           std::optional<In2<bool>> late, int64_t cap, std::optional<In2<uint8_t>> sketch,
           int32_t least, const SummedRows* rows, std::optional<In2<uint8_t>> groups, double unit,
           double threshold, int threads, int simd) {
            const BandKeys view = keys_of(keys, empty);
            require(
                0 <= begin && begin <= end && end <= view.n_bands && cap >= 1 &&
                    (!late || (late->shape(0) == keys.shape(0) && late->shape(1) == keys.shape(1))),
                "bands must lie inside the keys, and late be (rows, bands)");
            require((!rows || rows->n_rows() == view.n_rows) &&
                        (!groups || static_cast<int64_t>(groups->shape(0)) == view.n_rows),
                    "keys and groups must have one row a row");
            require(!groups || (rows && groups->shape(1) % 64 == 0),
                    "groups must be those of rows, a multiple of 64");
            const SearchLoops& loops = search_loops(simd);
            const GroupBounds bounds{groups ? groups->data() : nullptr,
                                     groups ? static_cast<int64_t>(groups->shape(1)) : 0, unit,
                                     &loops};
            const Sketch filter = SketchArg{sketch, least}.view(view.n_rows, loops);
            PairColumns found;
            JoinWork work;
            const auto join = [&](const double* sums, const auto& pairs) {
                nb::gil_scoped_release release;
                found = band_join(view, begin, end, late ? late->data() : nullptr, cap, filter,
                                  sums, bounds, threshold, pairs, threads, &work);
            };
            if (rows)
                visit_pairs(*rows, *rows, loops,
                            [&](const auto& pairs) { join(rows->sums.data(), pairs); });
            else join(nullptr, [](int64_t, int64_t) { return 1.0; });
            return nb::make_tuple(owned_pairs(std::move(found)), work.met, work.passed,
                                  work.verified);
        },
        nb::arg("keys").noconvert(), nb::arg("empty").noconvert().none(), nb::arg("begin"),
        nb::arg("end"), nb::arg("late").noconvert().none(), nb::arg("cap"),
        nb::arg("sketch").noconvert().none(), nb::arg("least"), nb::arg("rows").none(),
        nb::arg("groups").noconvert().none(), nb::arg("unit"), nb::arg("threshold"),
        nb::arg("threads"), nb::arg("simd"),
        "Verified pairs of some bands: ((i, j, similarity), met, passed, verified). Without rows "
        "the pairs that pass the sketch, each with a similarity of 1.");
    m.def(
        "band_matches",
        [](In2<uint32_t> table_keys, In2<uint32_t> table_rows, In2<uint32_t> queries, Empty empty,
           int64_t cap, int threads) {
            const BandKeys view = keys_of(queries, empty);
            require(table_keys.shape(0) == queries.shape(1) &&
                        table_rows.shape(0) == table_keys.shape(0) &&
                        table_rows.shape(1) == table_keys.shape(1) && cap >= 1,
                    "tables must be (bands, rows), and queries have as many bands");
            BandMatches matches;
            {
                nb::gil_scoped_release release;
                matches =
                    band_matches(table_keys.data(), table_rows.data(),
                                 static_cast<int64_t>(table_keys.shape(1)), view, cap, threads);
            }
            return nb::make_tuple(owned(std::move(matches.starts)), owned(std::move(matches.rows)));
        },
        nb::arg("table_keys").noconvert(), nb::arg("table_rows").noconvert(),
        nb::arg("queries").noconvert(), nb::arg("empty").noconvert().none(), nb::arg("cap"),
        nb::arg("threads"),
        "Rows that agree with each query in some band, ascending: starts (queries + 1) and rows.");
}

template <class Slot>
CodeRows<Slot> code_rows(const In2<Slot>& codes, const Empty& empty) {
    require(!empty || empty->shape(0) == codes.shape(0), "empty must have one entry a row");
    return {codes.data(), empty ? empty->data() : nullptr, static_cast<int64_t>(codes.shape(0)),
            static_cast<int64_t>(codes.shape(1))};
}

template <class Slot>
void bind_codes_of(nb::module_& m) {
    m.def(
        "scan_codes",
        [](In2<Slot> data, Empty data_empty, In2<Slot> queries, Empty query_empty,
           Out2<int64_t> rows, int threads, int simd) {
            require(data.shape(1) == queries.shape(1), "both must have as many slots");
            require(rows.shape(0) == queries.shape(0), "rows must have one row a query");
            const auto all = code_rows(data, data_empty), some = code_rows(queries, query_empty);
            nb::gil_scoped_release release;
            scan_codes(all, some, static_cast<int64_t>(rows.shape(1)), rows.data(), threads, simd);
        },
        nb::arg("data").noconvert(), nb::arg("data_empty").noconvert().none(),
        nb::arg("queries").noconvert(), nb::arg("query_empty").noconvert().none(),
        nb::arg("rows").noconvert(), nb::arg("threads"), nb::arg("simd"),
        "For each query the rows of data with the most equal slots: most first, ties to the lower "
        "row, padded with -1.");
    m.def(
        "equal_slots_of_pairs",
        [](In2<Slot> a, Empty a_empty, In2<Slot> b, Empty b_empty, In1<int64_t> i, In1<int64_t> j,
           Out1<int32_t> out, int threads, int simd) {
            require(a.shape(1) == b.shape(1), "both must have as many slots");
            const auto count = static_cast<int64_t>(i.shape(0));
            require(j.shape(0) == i.shape(0) && out.shape(0) == i.shape(0),
                    "i, j and out must be equally long");
            const auto left = code_rows(a, a_empty), right = code_rows(b, b_empty);
            require_inside(i.data(), count, left.n_rows);
            require_inside(j.data(), count, right.n_rows);
            const SearchLoops& loops = search_loops(simd);
            nb::gil_scoped_release release;
            if constexpr (sizeof(Slot) == 1)
                equal_slots_of_pairs(left, right, i.data(), j.data(), count, loops.equal_8,
                                     out.data(), threads);
            else
                equal_slots_of_pairs(left, right, i.data(), j.data(), count, loops.equal_16,
                                     out.data(), threads);
        },
        nb::arg("a").noconvert(), nb::arg("a_empty").noconvert().none(), nb::arg("b").noconvert(),
        nb::arg("b_empty").noconvert().none(), nb::arg("i").noconvert(), nb::arg("j").noconvert(),
        nb::arg("out").noconvert(), nb::arg("threads"), nb::arg("simd"),
        "out[n] = equal slots of row i[n] of a and row j[n] of b; 0 where either is empty.");
}

// Rows in the order of sums with coordinates by rank, as arrays of NumPy.
struct RankedRowsArg {
    Out1<uint32_t> ranks;
    Out1<float> weights;
    Out1<int64_t> starts;
    In1<double> sums;

    RankedRowsArg(Out1<uint32_t> ranks_, Out1<float> weights_, Out1<int64_t> starts_,
                  In1<double> sums_)
        : ranks(ranks_), weights(weights_), starts(starts_), sums(sums_) {
        require(ranks.shape(0) == weights.shape(0) && starts.shape(0) == sums.shape(0) + 1,
                "ranks and weights must match, and starts have one more than sums");
        require(sums.shape(0) < UINT32_MAX, "too many rows for 32 bits");
    }
    void check(int64_t n_ranks) const {
        require(n_ranks >= 0 && is_sound(view(), static_cast<int64_t>(ranks.shape(0)), n_ranks),
                "ranked rows lead outside of their arrays");
    }
    RankedRows view() const {
        return {ranks.data(), weights.data(), starts.data(), sums.data(),
                static_cast<int64_t>(sums.shape(0))};
    }
};

struct PrefixListsArg {
    Out1<int64_t> starts;
    Out1<uint32_t> rows;
    Out1<float> weights, rests;

    PrefixListsArg(Out1<int64_t> starts_, Out1<uint32_t> rows_, Out1<float> weights_,
                   Out1<float> rests_)
        : starts(starts_), rows(rows_), weights(weights_), rests(rests_) {
        require(starts.shape(0) >= 1 && rows.shape(0) == weights.shape(0) &&
                    rows.shape(0) == rests.shape(0),
                "the columns of lists must be equally long");
    }
    PrefixLists view() const { return {starts.data(), rows.data(), weights.data(), rests.data()}; }
    void check(int64_t n_rows) const {
        require(is_sound(view(), n_ranks(), static_cast<int64_t>(rows.shape(0)), n_rows),
                "lists lead outside of their arrays");
    }
    int64_t n_ranks() const { return static_cast<int64_t>(starts.shape(0)) - 1; }
};

void bind_prefix(nb::module_& m) {
    nb::class_<RankedRowsArg>(m, "RankedRows",
                              "Sparse rows by ascending sum, coordinates by rarity.")
        .def(nb::init<Out1<uint32_t>, Out1<float>, Out1<int64_t>, In1<double>>(),
             nb::arg("ranks").noconvert(), nb::arg("weights").noconvert(),
             nb::arg("starts").noconvert(), nb::arg("sums").noconvert());
    nb::class_<PrefixListsArg>(m, "PrefixLists", "Listed rows of each coordinate.")
        .def(nb::init<Out1<int64_t>, Out1<uint32_t>, Out1<float>, Out1<float>>(),
             nb::arg("starts").noconvert(), nb::arg("rows").noconvert(),
             nb::arg("weights").noconvert(), nb::arg("rests").noconvert());
    m.def(
        "rank_rows",
        [](const SummedRows& rows, In1<int64_t> order, Out1<uint32_t> rank_of,
           const RankedRowsArg& ranked, int threads) {
            const auto n_coordinates = static_cast<int64_t>(rank_of.shape(0));
            require(n_coordinates == 2 * rows.rows.n_cols && n_coordinates <= UINT32_MAX,
                    "rank_of must have two entries a column");
            require(static_cast<int64_t>(order.shape(0)) == rows.n_rows() &&
                        order.shape(0) == ranked.sums.shape(0) &&
                        ranked.ranks.shape(0) >= rows.rows.values.size(),
                    "order and ranked must match the rows");
            require_inside(order.data(), rows.n_rows(), rows.n_rows());
            rows.rows.visit([&](const auto& view) {
                nb::gil_scoped_release release;
                std::vector<int64_t> counts(static_cast<size_t>(n_coordinates), 0);
                coordinate_counts(view, counts.data());
                rarity_ranks(counts.data(), n_coordinates, view.n_rows, rank_of.data());
                rank_rows(view, order.data(), rank_of.data(), ranked.view(), threads);
            });
        },
        nb::arg("rows"), nb::arg("order").noconvert(), nb::arg("rank_of").noconvert(),
        nb::arg("ranked"), nb::arg("threads"),
        "Fill rank_of with the rarity of coordinates, and ranked with the rows in that order.");
    m.def(
        "count_listed",
        [](const RankedRowsArg& ranked, double threshold, double room, Out1<int64_t> starts) {
            ranked.check(static_cast<int64_t>(starts.shape(0)) - 1);
            nb::gil_scoped_release release;
            return count_listed(ranked.view(), {threshold, room},
                                static_cast<int64_t>(starts.shape(0)) - 1, starts.data());
        },
        nb::arg("ranked"), nb::arg("threshold"), nb::arg("room"), nb::arg("starts").noconvert(),
        "Where the list of each rank starts, and how many entries all have.");
    m.def(
        "fill_lists",
        [](const RankedRowsArg& ranked, double threshold, double room,
           const PrefixListsArg& lists) {
            ranked.check(lists.n_ranks());
            require(
                lists.starts.data()[lists.n_ranks()] == static_cast<int64_t>(lists.rows.shape(0)),
                "lists must have room for all entries");
            nb::gil_scoped_release release;
            fill_lists(ranked.view(), {threshold, room}, lists.n_ranks(), lists.view());
        },
        nb::arg("ranked"), nb::arg("threshold"), nb::arg("room"), nb::arg("lists"),
        "The lists of listed rows.");
    m.def(
        "join_cost",
        [](const RankedRowsArg& ranked, double threshold, double room, const PrefixListsArg& lists,
           In1<int64_t> probes) {
            const auto count = static_cast<int64_t>(probes.shape(0));
            require_inside(probes.data(), count, static_cast<int64_t>(ranked.sums.shape(0)));
            ranked.check(lists.n_ranks());
            lists.check(static_cast<int64_t>(ranked.sums.shape(0)));
            JoinCost cost;
            {
                nb::gil_scoped_release release;
                cost =
                    join_cost(ranked.view(), {threshold, room}, lists.view(), probes.data(), count);
            }
            return nb::make_tuple(cost.met, cost.verified);
        },
        nb::arg("ranked"), nb::arg("threshold"), nb::arg("room"), nb::arg("lists"),
        nb::arg("probes").noconvert(),
        "Entries of lists that some rows meet, and pairs of theirs to be verified.");
    m.def(
        "prefix_join",
        [](const RankedRowsArg& ranked, double threshold, double room, const PrefixListsArg& lists,
           In1<int64_t> order, int64_t begin, int64_t end, const SummedRows& rows, int threads,
           int simd) {
            const auto n = static_cast<int64_t>(ranked.sums.shape(0));
            require(0 <= begin && begin <= end && end <= n && rows.n_rows() == n &&
                        static_cast<int64_t>(order.shape(0)) == n,
                    "the range must lie inside the rows");
            require_inside(order.data(), n, n);
            ranked.check(lists.n_ranks());
            lists.check(n);
            PairColumns found;
            visit_pairs(rows, rows, search_loops(simd), [&](const auto& pairs) {
                nb::gil_scoped_release release;
                found = prefix_join(ranked.view(), {threshold, room}, lists.view(), order.data(),
                                    begin, end, pairs, threads);
            });
            return owned_pairs(std::move(found));
        },
        nb::arg("ranked"), nb::arg("threshold"), nb::arg("room"), nb::arg("lists"),
        nb::arg("order").noconvert(), nb::arg("begin"), nb::arg("end"), nb::arg("rows"),
        nb::arg("threads"), nb::arg("simd"),
        "Verified pairs of some rows, in the order of sums, with all rows before them.");
    m.def("rounding_room", rounding_room, nb::arg("longest"),
          "The room that sums of rows of so many entries need.");
}

// Sparse rows by column (CSC), with their absolute sums; indices are looked at once, here.
template <class T, class Index>
struct ColumnLists {
    In1<T> values;
    In1<Index> rows, indptr;
    In1<double> sums;

    ColumnLists(In1<T> values_, In1<Index> rows_, In1<Index> indptr_, In1<double> sums_)
        : values(values_), rows(rows_), indptr(indptr_), sums(sums_) {
        require(indptr.shape(0) >= 1 && values.shape(0) == rows.shape(0),
                "values and rows must be equally long");
        const auto lists = view();
        pairwise::check_compressed(lists.rows, lists.indptr, lists.n_cols, lists.n_rows,
                                   static_cast<int64_t>(values.shape(0)));
    }
    Postings<T, Index> view() const {
        return {values.data(), rows.data(), indptr.data(), static_cast<int64_t>(sums.shape(0)),
                static_cast<int64_t>(indptr.shape(0)) - 1};
    }
    // f(view) for sparse queries.
    template <class F>
    void visit(const SummedRows& queries, F&& f) const {
        require(queries.rows.n_cols == view().n_cols, "both must be equally wide");
        queries.rows.visit([&](const auto& some) {
            if constexpr (!Comparable<std::decay_t<decltype(some)>, DenseRows<float>>::value)
                f(some);
            else throw std::invalid_argument("queries must be sparse");
        });
    }
    void best(const SummedRows& queries, Out2<int64_t> out_rows, Out2<double> similarities,
              int threads) const {
        require(static_cast<int64_t>(out_rows.shape(0)) == queries.n_rows() &&
                    out_rows.shape(0) == similarities.shape(0) &&
                    out_rows.shape(1) == similarities.shape(1),
                "rows and similarities must have one row a query");
        visit(queries, [&](const auto& some) {
            nb::gil_scoped_release release;
            best_by_terms(view(), sums.data(), some, queries.sums.data(),
                          static_cast<int64_t>(out_rows.shape(1)), out_rows.data(),
                          similarities.data(), threads);
        });
    }
    nb::tuple above(const SummedRows& queries, double threshold, int threads) const {
        PairColumns found;
        visit(queries, [&](const auto& some) {
            nb::gil_scoped_release release;
            found =
                above_by_terms(view(), sums.data(), some, queries.sums.data(), threshold, threads);
        });
        return owned_pairs(std::move(found));
    }
};

template <class T, class Index>
void bind_terms(nb::module_& m, const char* name) {
    using Lists = ColumnLists<T, Index>;
    nb::class_<Lists>(m, name, "Sparse rows by column, with their absolute sums.")
        .def(nb::init<In1<T>, In1<Index>, In1<Index>, In1<double>>(), nb::arg("values").noconvert(),
             nb::arg("rows").noconvert(), nb::arg("indptr").noconvert(),
             nb::arg("sums").noconvert())
        .def("best", &Lists::best, nb::arg("queries"), nb::arg("rows").noconvert(),
             nb::arg("similarities").noconvert(), nb::arg("threads"),
             "The most similar rows for each sparse query, best first, padded with -1.")
        .def("above", &Lists::above, nb::arg("queries"), nb::arg("threshold"), nb::arg("threads"),
             "All (query, row, similarity) of at least a threshold.");
}

}  // namespace

void bind_neighbors(nb::module_& m) {
    bind_pairs(m);
    bind_bands(m);
    bind_codes_of<uint8_t>(m);
    bind_codes_of<uint16_t>(m);
    bind_prefix(m);
    bind_terms<float, int32_t>(m, "ColumnLists32");
    bind_terms<float, int64_t>(m, "ColumnLists32Long");
    bind_terms<double, int32_t>(m, "ColumnLists64");
    bind_terms<double, int64_t>(m, "ColumnLists64Long");
    m.def(
        "code_metric",
        [](int simd) { return reinterpret_cast<uintptr_t>(search_loops(simd).different_8); },
        nb::arg("simd"),
        "The address of a C function: the number of different bytes of two arrays of a length.");
}

}  // namespace kernelight
