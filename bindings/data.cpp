// Glue for parsers of text: LIBSVM and delimited files. The loops are in core/parse_libsvm.h and
// core/parse_csv.h.
#include "arrays.h"
#include "parse_csv.h"
#include "parse_libsvm.h"

namespace kernelight {
namespace {

using Text = In1<uint8_t>;
using Counts = In1<int64_t>;

const char* chars(const Text& text) { return reinterpret_cast<const char*>(text.data()); }
template <class Array>
int64_t size(const Array& array, size_t axis = 0) {
    return static_cast<int64_t>(array.shape(axis));
}

// Counts of a layout: they rise from 0 to `most`.
void require_layout(const Counts& counts, int64_t pieces, int64_t most) {
    require(size(counts) == pieces + 1, "a layout has one entry more than the text has pieces");
    const int64_t* first = counts.data();
    require(first[0] == 0 && first[pieces] <= most && std::is_sorted(first, first + pieces + 1),
            "a layout must rise from 0 and fit the arrays");
}

template <class Value, class Index>
void bind_libsvm(nb::module_& m) {
    m.def(
        "libsvm_parse",
        [](Text text, Counts rows, Counts entries, int64_t base, int64_t limit, Out1<double> labels,
           Out1<int64_t> starts, Out1<Index> indices, Out1<Value> values, int threads) {
            require(base == 0 || base == 1, "base must be 0 or 1");
            require(
                limit >= 0 && limit - 1 <= static_cast<int64_t>(std::numeric_limits<Index>::max()),
                "limit must fit the type of the indices");
            require_layout(rows, pieces_of(size(text)), size(labels));
            require_layout(entries, pieces_of(size(text)), size(values));
            require(size(starts) == size(labels) + 1 && size(indices) == size(values),
                    "arrays must match in length");
            const LibsvmRows<Value, Index> out{labels.data(), starts.data(), indices.data(),
                                               values.data()};
            LibsvmFound found;
            {
                nb::gil_scoped_release release;
                found = libsvm_parse(chars(text), size(text), rows.data(), entries.data(), base,
                                     limit, out, threads);
            }
            return nb::make_tuple(found.rows, found.entries, found.width, found.error.kind,
                                  found.error.at);
        },
        nb::arg("text").noconvert(), nb::arg("rows").noconvert(), nb::arg("entries").noconvert(),
        nb::arg("base"), nb::arg("limit"), nb::arg("labels").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("indices").noconvert(),
        nb::arg("values").noconvert(), nb::arg("threads"),
        "Rows of a LIBSVM text into the front of the arrays; returns rows, entries, width, kind "
        "and place of the first error.");
}

template <class Value>
void bind_csv(nb::module_& m) {
    m.def(
        "csv_parse",
        [](Text text, int delimiter, Text missing, Counts missing_ends, int64_t n_anywhere,
           Counts starts, Counts rows, In1<int8_t> kinds, In1<int64_t> slots, Out2<Value> features,
           Out2<double> aside, Out2<int64_t> word_starts, Out2<int32_t> word_lengths, int threads) {
            const int64_t pieces = pieces_of(size(text)), n_rows = size(features),
                          n_columns = size(kinds);
            require_layout(starts, pieces, size(text));
            require_layout(rows, pieces, n_rows);
            require(rows.data()[pieces] == n_rows && size(aside, 1) == n_rows &&
                        size(word_starts, 1) == n_rows && size(word_lengths, 1) == n_rows &&
                        size(word_lengths) == size(word_starts),
                    "outputs must have the rows of the layout");
            const int64_t room[] = {std::numeric_limits<int64_t>::max(), size(features, 1),
                                    size(aside), size(word_starts)};
            require(n_columns > 0 && size(slots) == n_columns &&
                        std::equal(kinds.data(), kinds.data() + n_columns, slots.data(),
                                   [&](int8_t kind, int64_t slot) {
                                       return kind >= 0 && kind <= 3 && slot >= 0 &&
                                              slot < room[kind];
                                   }),
                    "every column needs a kind and a slot inside the arrays of its kind");
            const int64_t* ends = missing_ends.data();
            const int64_t count = size(missing_ends);
            require(count == 0 || (ends[0] >= 0 && std::is_sorted(ends, ends + count) &&
                                   ends[count - 1] <= size(missing)),
                    "missing_ends must rise inside missing");
            require(n_anywhere >= 0 && n_anywhere <= count, "n_anywhere counts words of missing");
            const MissingWords absent(chars(missing), ends, count, n_anywhere);
            const CsvTable<Value> table{n_columns,          kinds.data(),        slots.data(),
                                        features.data(),    size(features, 1),   aside.data(),
                                        word_starts.data(), word_lengths.data(), n_rows};
            TextError error;
            {
                nb::gil_scoped_release release;
                error = csv_parse(chars(text), size(text), static_cast<char>(delimiter), absent,
                                  starts.data(), rows.data(), table, threads);
            }
            return nb::make_tuple(error.kind, error.at, error.column);
        },
        nb::arg("text").noconvert(), nb::arg("delimiter"), nb::arg("missing").noconvert(),
        nb::arg("missing_ends").noconvert(), nb::arg("n_anywhere"), nb::arg("starts").noconvert(),
        nb::arg("rows").noconvert(), nb::arg("kinds").noconvert(), nb::arg("slots").noconvert(),
        nb::arg("features").noconvert(), nb::arg("aside").noconvert(),
        nb::arg("word_starts").noconvert(), nb::arg("word_lengths").noconvert(), nb::arg("threads"),
        "Rows of a delimited text into the arrays of their kinds; returns kind, place and column "
        "of the first error.");
}

}  // namespace

void bind_data(nb::module_& m) {
    m.def("text_pieces", &pieces_of, nb::arg("length"),
          "Into how many pieces a text of so many bytes is cut.");
    m.def(
        "count_byte",
        [](Text text, int byte) {
            nb::gil_scoped_release release;
            return count_byte(chars(text), chars(text) + size(text), static_cast<char>(byte));
        },
        nb::arg("text").noconvert(), nb::arg("byte"), "How often a byte occurs in a text.");
    m.def(
        "past_last",
        [](Text text, int byte) {
            nb::gil_scoped_release release;
            return past_last(chars(text), size(text), static_cast<char>(byte));
        },
        nb::arg("text").noconvert(), nb::arg("byte"),
        "The place behind the last such byte of a text; 0 if there is none.");
    m.def(
        "find_line",
        [](Text text, Text line, int64_t start, bool final) {
            require(size(line) > 0, "line must have a byte");
            require(start >= 0 && start <= size(text), "start must be in the text");
            nb::gil_scoped_release release;
            return find_line(chars(text), size(text), chars(line), size(line), start, final);
        },
        nb::arg("text").noconvert(), nb::arg("line").noconvert(), nb::arg("start"),
        nb::arg("final"),
        "Where the first line from start on begins that is this one; -1 if there is none.");
    m.def(
        "libsvm_layout",
        [](Text text, Out1<int64_t> rows, Out1<int64_t> entries, int threads) {
            require(size(rows) == pieces_of(size(text)) + 1 && size(entries) == size(rows),
                    "a layout has one entry more than the text has pieces");
            nb::gil_scoped_release release;
            libsvm_layout(chars(text), size(text), rows.data(), entries.data(), threads);
        },
        nb::arg("text").noconvert(), nb::arg("rows").noconvert(), nb::arg("entries").noconvert(),
        nb::arg("threads"),
        "Bounds for the rows and the entries of a LIBSVM text before each of its pieces.");
    bind_libsvm<float, int32_t>(m);
    bind_libsvm<float, int64_t>(m);
    bind_libsvm<double, int32_t>(m);
    bind_libsvm<double, int64_t>(m);
    m.def(
        "csv_layout",
        [](Text text, int delimiter, bool final, Out1<int64_t> starts, Out1<int64_t> rows,
           int threads) {
            require(size(rows) == pieces_of(size(text)) + 1 && size(starts) == size(rows),
                    "a layout has one entry more than the text has pieces");
            nb::gil_scoped_release release;
            return csv_layout(chars(text), size(text), static_cast<char>(delimiter), final,
                              starts.data(), rows.data(), threads);
        },
        nb::arg("text").noconvert(), nb::arg("delimiter"), nb::arg("final"),
        nb::arg("starts").noconvert(), nb::arg("rows").noconvert(), nb::arg("threads"),
        "Where the pieces of a delimited text begin and how many rows are before each; returns "
        "where an unfinished row begins.");
    m.def(
        "csv_rows",
        [](Text text, int delimiter, bool final, Out1<int64_t> begins, Out1<int64_t> ends) {
            require(size(begins) == size(ends), "begins and ends must match");
            nb::gil_scoped_release release;
            return csv_rows(chars(text), size(text), static_cast<char>(delimiter), final,
                            begins.data(), ends.data(), size(begins));
        },
        nb::arg("text").noconvert(), nb::arg("delimiter"), nb::arg("final"),
        nb::arg("begins").noconvert(), nb::arg("ends").noconvert(),
        "Where the rows of a delimited text begin and end; returns how many there are.");
    bind_csv<float>(m);
    bind_csv<double>(m);
    m.def(
        "intern_words",
        [](Text text, In1<int64_t> starts, In1<int32_t> lengths, Out1<int32_t> codes,
           Out1<int64_t> firsts) {
            const int64_t count = size(starts), length = size(text);
            require(size(lengths) == count && size(codes) == count,
                    "starts, lengths and codes must match");
            require(std::equal(starts.data(), starts.data() + count, lengths.data(),
                               [=](int64_t start, int32_t bytes) {
                                   return start < 0 || start + (bytes < 0 ? -1 - int64_t{bytes}
                                                                          : int64_t{bytes}) <=
                                                           length;
                               }),
                    "a word lies outside the text");
            int64_t stopped, known;
            {
                nb::gil_scoped_release release;
                known = intern_words(chars(text), starts.data(), lengths.data(), count,
                                     codes.data(), firsts.data(), size(firsts), stopped);
            }
            return nb::make_tuple(known, stopped);
        },
        nb::arg("text").noconvert(), nb::arg("starts").noconvert(), nb::arg("lengths").noconvert(),
        nb::arg("codes").noconvert(), nb::arg("firsts").noconvert(),
        "Codes of words by first occurrence; returns how many there are, and the place of the "
        "first beyond firsts or -1.");
}

}  // namespace kernelight
