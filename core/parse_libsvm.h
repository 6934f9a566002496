// Rows of a LIBSVM (svmlight) text: `label [qid:n] index:value index:value ... [# comment]`, one a
// line.
//
// Indices ascend and begin at `base`; values and labels are finite numbers. Lines without a label
// are passed over. The text is cut into pieces of about kPiece bytes at line ends, whatever the
// number of threads. `libsvm_layout` bounds the rows (lines) and the entries (colons) of each
// piece, so that the caller can allocate; `libsvm_parse` lets every piece write into a range of its
// own, then closes the gaps that comments and empty lines leave. The first error of the text is
// reported, by kind and position.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "parallel.h"
#include "parse_marks.h"
#include "parse_number.h"

namespace kernelight {

struct TextError {
    int kind = 0;        // 0: none
    int64_t at = -1;     // byte of the text
    int64_t column = 0;  // of a table; of a row with another number of fields, that number
};

enum LibsvmError { kLabel = 1, kIndex, kColon, kValue, kOrder, kBelowBase, kBeyondLimit };

constexpr int64_t kPiece = int64_t{1} << 18;

inline int64_t pieces_of(int64_t length) { return (length + kPiece - 1) / kPiece; }

// Where `pieces` pieces begin, and where the last one ends: behind the first line end at or after
// byte piece * kPiece - 1. A line that is longer than a piece is searched once, not once for each
// piece that it covers.
inline std::vector<int64_t> piece_starts(const char* text, int64_t length, int64_t pieces) {
    std::vector<int64_t> starts(static_cast<size_t>(pieces) + 1, 0);
    for (int64_t piece = 1; piece <= pieces; ++piece) {
        const int64_t from = piece * kPiece - 1, before = starts[static_cast<size_t>(piece) - 1];
        int64_t start = std::min(before, length);
        if (from >= length) {
            start = length;
        } else if (before <= from) {
            const void* found = std::memchr(text + from, '\n', static_cast<size_t>(length - from));
            start = found ? static_cast<const char*>(found) - text + 1 : length;
        }
        starts[static_cast<size_t>(piece)] = start;
    }
    return starts;
}

inline int64_t count_byte(const char* begin, const char* end, char wanted) {
    int64_t total = 0;
    while (begin < end) {
        const char* stop = end - begin > 255 ? begin + 255 : end;
        uint8_t some = 0;  // at most 255, so that bytes can be added side by side
        for (; begin < stop; ++begin) some = static_cast<uint8_t>(some + (*begin == wanted));
        total += some;
    }
    return total;
}

// The place behind the last byte of this kind; 0 if there is none.
inline int64_t past_last(const char* text, int64_t length, char wanted) {
    while (length > 0 && text[length - 1] != wanted) --length;
    return length;
}

// rows[i], entries[i]: bounds for all pieces before piece i; both have pieces_of(length) + 1
// places.
inline void libsvm_layout(const char* text, int64_t length, int64_t* rows, int64_t* entries,
                          int threads) {
    const int64_t pieces = pieces_of(length);
    const std::vector<int64_t> starts = piece_starts(text, length, pieces);
    rows[0] = entries[0] = 0;
    parallel_for(threads, pieces, [&](int64_t first, int64_t last) {
        for (int64_t piece = first; piece < last; ++piece) {
            const char* begin = text + starts[static_cast<size_t>(piece)];
            const char* end = text + starts[static_cast<size_t>(piece) + 1];
            rows[piece + 1] = count_byte(begin, end, '\n') + (begin < end && end[-1] != '\n');
            entries[piece + 1] = count_byte(begin, end, ':');
        }
    });
    for (int64_t piece = 0; piece < pieces; ++piece) {
        rows[piece + 1] += rows[piece];
        entries[piece + 1] += entries[piece];
    }
}

template <class Value, class Index>
struct LibsvmRows {
    double* labels;
    int64_t* starts;  // one more than rows
    Index* indices;
    Value* values;
};

struct LibsvmFound {
    int64_t rows = 0, entries = 0, width = 0;  // width: the largest column number plus one
    TextError error;
};

namespace libsvm_detail {

inline bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

inline const char* skip_spaces(const char* at, const char* end) {
    while (at < end && is_space(*at)) ++at;
    return at;
}

inline bool ends_token(const char* at, const char* end) {
    return at == end || is_space(*at) || *at == '\n' || *at == '#';
}

struct Range {
    int64_t row, row_end, entry, entry_end;
};

// Entries of a row as long as they are plain: digits, a colon, a plain number, and one blank or the
// line end. Returns where the next entry begins, or the line end.
template <bool kBits, class Value, class Index>
__attribute__((always_inline)) inline const char* plain_entries(
    const char* at, int64_t base, int64_t limit, Marks& marks, Mark& next, int64_t& previous,
    Range& range, const LibsvmRows<Value, Index>& out) {
    int64_t last = previous;
    Index* index_at = out.indices + range.entry;
    Value* value_at = out.values + range.entry;
    const Value* value_end = out.values + range.entry_end;
    Mark here = next;
    const auto note = [&] { return kBits ? marks.note_by_bits(at) : marks.note(at); };
    while (value_at < value_end && (marks.known(here) || marks.known(here = note()))) {
        Mark ahead = here;
        int64_t index;
        double value;
        const char* after = marked_whole(at, ahead, index);
        if (!after || *after != ':') break;
        // last < index - base < limit: a difference below zero becomes a large one
        if (static_cast<uint64_t>(index - base - last - 1) >=
            static_cast<uint64_t>(limit - last - 1))
            break;
        after = marked_number(after + 1, ahead, value);
        if (!after || (*after != ' ' && *after != '\n')) break;
        last = index - base;
        *index_at++ = static_cast<Index>(last);
        *value_at++ = static_cast<Value>(value);
        here = ahead;
        at = after;
        if (*at == '\n') break;
        ++at;
    }
    next = here;
    previous = last;
    range.entry = value_at - out.values;
    return at;
}

// One piece; what it wrote and the first error are left in `found`. The start of row r is left at
// starts[r + 1], as its end.
template <bool kBits, class Value, class Index>
__attribute__((always_inline)) inline void parse_piece(const char* text, const char* at,
                                                       const char* end, int64_t base, int64_t limit,
                                                       Range range,
                                                       const LibsvmRows<Value, Index>& out,
                                                       LibsvmFound& found) {
    const int64_t first_row = range.row, first_entry = range.entry;
    const auto fail = [&](int kind, const char* where) {
        found.error.kind = kind;
        found.error.at = where - text;
    };
    Marks marks(end);
    Mark next = marks.none();
    while (at < end) {
        at = skip_spaces(at, end);
        if (at == end) break;
        if (*at == '\n') {
            ++at;
            continue;
        }
        if (*at != '#') {
            double label;
            const char* after = parse_number(at, end, label);
            if (!after || !ends_token(after, end) || !std::isfinite(label)) return fail(kLabel, at);
            if (range.row >= range.row_end)
                throw std::invalid_argument("the layout is that of another text");
            at = skip_spaces(after, end);
            if (end - at > 4 && std::memcmp(at, "qid:", 4) == 0) {
                int64_t group;
                after = parse_whole(at + 4, end, group);
                if (!after || !ends_token(after, end)) return fail(kIndex, at);
                at = skip_spaces(after, end);
            }
            int64_t previous = -1;
            for (;;) {
                next = marks.sought(next, at);
                at = plain_entries<kBits>(at, base, limit, marks, next, previous, range, out);
                at = skip_spaces(at, end);
                if (at == end || *at == '\n' || *at == '#') break;
                int64_t index;
                double value;
                after = parse_whole(at, end, index);
                if (!after) return fail(kIndex, at);
                if (after == end || *after != ':')
                    return fail(is_digit(*at) && ends_token(after, end) ? kColon : kIndex, at);
                if (index < base) return fail(kBelowBase, at);
                index -= base;
                if (index >= limit) return fail(kBeyondLimit, at);
                if (index <= previous) return fail(kOrder, at);
                previous = index;
                const char* value_end = parse_number(after + 1, end, value);
                if (!value_end || !ends_token(value_end, end) ||
                    !std::isfinite(static_cast<Value>(value)))
                    return fail(kValue, at);
                if (range.entry >= range.entry_end)
                    throw std::invalid_argument("the layout is that of another text");
                out.indices[range.entry] = static_cast<Index>(index);
                out.values[range.entry++] = static_cast<Value>(value);
                at = skip_spaces(value_end, end);
            }
            found.width = std::max(found.width, previous + 1);
            out.labels[range.row] = label;
            out.starts[++range.row] = range.entry - first_entry;
            found.rows = range.row - first_row;
            found.entries = range.entry - first_entry;
        }
        const void* line_end =
            at < end ? std::memchr(at, '\n', static_cast<size_t>(end - at)) : nullptr;
        at = line_end ? static_cast<const char*>(line_end) + 1 : end;
    }
}

// Where the loop is compiled, twice.
template <class... Arguments>
void parse_plainly(Arguments&&... arguments) {
    parse_piece<false>(arguments...);
}

template <class... Arguments>
KERNELIGHT_BITS void parse_by_bits(Arguments&&... arguments) {
    parse_piece<true>(arguments...);
}

}  // namespace libsvm_detail

// `rows` and `entries` are those of libsvm_layout; columns are numbered from 0 and below `limit`.
template <class Value, class Index>
LibsvmFound libsvm_parse(const char* text, int64_t length, const int64_t* rows,
                         const int64_t* entries, int64_t base, int64_t limit,
                         const LibsvmRows<Value, Index>& out, int threads) {
    const int64_t pieces = pieces_of(length);
    const std::vector<int64_t> starts = piece_starts(text, length, pieces);
    std::vector<LibsvmFound> parts(static_cast<size_t>(pieces));
    const bool by_bits = has_bits();
    parallel_for(threads, pieces, [&](int64_t first, int64_t last) {
        for (int64_t piece = first; piece < last; ++piece) {
            const char* begin = text + starts[static_cast<size_t>(piece)];
            const char* end = text + starts[static_cast<size_t>(piece) + 1];
            const libsvm_detail::Range range{rows[piece], rows[piece + 1], entries[piece],
                                             entries[piece + 1]};
            LibsvmFound& part = parts[static_cast<size_t>(piece)];
            if (by_bits)
                libsvm_detail::parse_by_bits(text, begin, end, base, limit, range, out, part);
            else libsvm_detail::parse_plainly(text, begin, end, base, limit, range, out, part);
        }
    });
    LibsvmFound all;
    out.starts[0] = 0;
    for (int64_t piece = 0; piece < pieces; ++piece) {
        const LibsvmFound& part = parts[static_cast<size_t>(piece)];
        if (part.error.kind) {
            all.error = part.error;
            return all;
        }
        const int64_t row = rows[piece], entry = entries[piece];
        for (int64_t i = 1; i <= part.rows; ++i)
            out.starts[all.rows + i] = out.starts[row + i] + all.entries;
        if (row > all.rows)
            std::copy(out.labels + row, out.labels + row + part.rows, out.labels + all.rows);
        if (entry > all.entries) {
            std::copy(out.indices + entry, out.indices + entry + part.entries,
                      out.indices + all.entries);
            std::copy(out.values + entry, out.values + entry + part.entries,
                      out.values + all.entries);
        }
        all.rows += part.rows;
        all.entries += part.entries;
        all.width = std::max(all.width, part.width);
    }
    return all;
}

}  // namespace kernelight
