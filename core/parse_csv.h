// Rows of a delimited text (CSV, TSV): numbers into a matrix, words as spans of the text.
//
// A field is: blanks; then either a quoted text, in which "" stands for a quote and delimiters and
// line ends are text, or anything up to the next delimiter or line end. A line end is \n or \r\n,
// and \r at the very end. Lines that are blank are passed over; all others must have `n_columns`
// fields. Around fields that are not quoted, blanks (spaces and tabs) do not count.
//
// `csv_layout` cuts the text into pieces at row ends and counts the rows of each: by line ends, in
// parallel, where the text has no quote; else field by field. `csv_parse` then lets every piece
// write its own rows. Pieces do not depend on the number of threads. The first error of the text is
// reported, by kind, position and column.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "parallel.h"
#include "parse_libsvm.h"
#include "parse_marks.h"
#include "parse_number.h"

namespace kernelight {

enum CsvError { kFewFields = 1, kManyFields, kNotNumber, kOpenQuote, kAfterQuote, kLongWord };
enum CsvColumn : int8_t { kSkip = 0, kFeature = 1, kAside = 2, kWord = 3 };

struct CsvField {
    const char *begin, *end;  // what it says, without quotes and blanks around it
    const char* next;         // the delimiter or the line end behind it
    const char* quote;        // the opening quote, or nullptr
    bool doubled, closed,
        clean;  // has "" inside; the quote was closed; only blanks between the quote and `next`
};

namespace csv_detail {

inline bool is_blank(char c, char delimiter) { return (c == ' ' || c == '\t') && c != delimiter; }

// At a line end: where the next row begins; else nullptr.
inline const char* past_line_end(const char* at, const char* end) {
    if (at == end) return end;
    if (*at == '\n') return at + 1;
    if (*at == '\r') {
        if (at + 1 == end) return end;
        if (at[1] == '\n') return at + 2;
    }
    return nullptr;
}

inline bool ends_field(const char* at, const char* end, char delimiter) {
    return at == end || *at == delimiter || *at == '\n' ||
           (*at == '\r' && (at + 1 == end || at[1] == '\n'));
}

inline CsvField read_field(const char* at, const char* end, char delimiter) {
    CsvField field{at, at, at, nullptr, false, true, true};
    while (at < end && is_blank(*at, delimiter)) ++at;
    if (at < end && *at == '"') {
        field.quote = at;
        field.begin = ++at;
        for (;;) {
            const void* found =
                at < end ? std::memchr(at, '"', static_cast<size_t>(end - at)) : nullptr;
            if (!found) {
                field.closed = false;
                field.end = field.next = end;
                return field;
            }
            at = static_cast<const char*>(found);
            if (at + 1 < end && at[1] == '"') {
                field.doubled = true;
                at += 2;
                continue;
            }
            field.end = at++;
            break;
        }
        while (!ends_field(at, end, delimiter)) {
            field.clean = field.clean && is_blank(*at, delimiter);
            ++at;
        }
        field.next = at;
        return field;
    }
    field.begin = at;
    while (!ends_field(at, end, delimiter)) ++at;
    field.next = at;
    while (at > field.begin && is_blank(at[-1], delimiter)) --at;
    field.end = at;
    return field;
}

// Past a row that begins at `at`, or nullptr if `end` comes before its line end and more text may
// come (`final` is false).
inline const char* past_row(const char* at, const char* end, char delimiter, bool final) {
    for (;;) {
        const CsvField field = read_field(at, end, delimiter);
        at = field.next;
        if (at == end || (*at == '\r' && at + 1 == end)) return final ? end : nullptr;
        if (*at != delimiter) return past_line_end(at, end);
        ++at;
    }
}

inline bool blank_row(const char* at, const char* end, char delimiter) {
    while (at < end && is_blank(*at, delimiter)) ++at;
    return past_line_end(at, end) != nullptr;
}

}  // namespace csv_detail

// starts[i]: where piece i begins; rows[i]: how many rows are before it. Both have
// pieces_of(length) + 1 places. Returns where the first row begins that is not complete: `length`
// if `final`.
inline int64_t csv_layout(const char* text, int64_t length, char delimiter, bool final,
                          int64_t* starts, int64_t* rows, int threads) {
    using namespace csv_detail;
    const int64_t pieces = pieces_of(length);
    const char* end = text + length;
    rows[0] = starts[0] = 0;
    if (length == 0) return 0;
    if (std::memchr(text, '"', static_cast<size_t>(length)) == nullptr) {
        // the last line end closes the last complete row
        const int64_t complete = final ? length : past_last(text, length, '\n');
        const std::vector<int64_t> found = piece_starts(text, complete, pieces);
        std::copy(found.begin(), found.end(), starts);
        starts[pieces] = complete;
        parallel_for(threads, pieces, [&](int64_t first, int64_t last) {
            for (int64_t piece = first; piece < last; ++piece) {
                int64_t count = 0;
                const char* stop = text + starts[piece + 1];
                for (const char* at = text + starts[piece]; at < stop;) {
                    count += !blank_row(at, stop, delimiter);
                    const void* found = std::memchr(at, '\n', static_cast<size_t>(stop - at));
                    at = found ? static_cast<const char*>(found) + 1 : stop;
                }
                rows[piece + 1] = count;
            }
        });
        for (int64_t piece = 0; piece < pieces; ++piece) rows[piece + 1] += rows[piece];
        return complete;
    }
    int64_t piece = 0, count = 0;
    const char* at = text;
    while (at < end) {
        while (piece + 1 < pieces && at - text >= (piece + 1) * kPiece) {
            starts[++piece] = at - text;
            rows[piece] = count;
        }
        const bool blank = blank_row(at, end, delimiter);
        const char* after = past_row(at, end, delimiter, final);
        if (!after) break;
        count += !blank;
        at = after;
    }
    while (piece < pieces) {
        starts[++piece] = at - text;
        rows[piece] = count;
    }
    return at - text;
}

// Where each row of a text begins and where the next may begin, as `csv_layout` counts rows; blank
// lines are between rows. Returns how many rows there are, at most `most`.
inline int64_t csv_rows(const char* text, int64_t length, char delimiter, bool final,
                        int64_t* begins, int64_t* ends, int64_t most) {
    using namespace csv_detail;
    const char* end = text + length;
    const bool quoted =
        length > 0 && std::memchr(text, '"', static_cast<size_t>(length)) != nullptr;
    int64_t count = 0;
    for (const char* at = text; at < end && count < most;) {
        const char* after;
        if (quoted) {
            after = past_row(at, end, delimiter, final);
        } else {
            const void* found = std::memchr(at, '\n', static_cast<size_t>(end - at));
            after = found ? static_cast<const char*>(found) + 1 : final ? end : nullptr;
        }
        if (!after) break;
        if (!blank_row(at, end, delimiter)) {
            begins[count] = at - text;
            ends[count++] = after - text;
        }
        at = after;
    }
    return count;
}

// Where a line begins that is `line` and nothing else: the first from `from` on, which is at the
// beginning or the end of a line; -1 if there is none. `line` is not empty and has no line end. The
// end of the text ends a line only if it is `final`.
inline int64_t find_line(const char* text, int64_t length, const char* line, int64_t size,
                         int64_t from, bool final) {
    const char* end = text + length;
    for (const char* at = text + from; end - at >= size;) {
        if (std::memcmp(at, line, static_cast<size_t>(size)) == 0) {
            const char* after = csv_detail::past_line_end(at + size, end);
            if (after && (final || after[-1] == '\n')) return at - text;
        }
        const void* found = std::memchr(at, '\n', static_cast<size_t>(end - at));
        if (!found) break;
        at = static_cast<const char*>(found) + 1;
    }
    return -1;
}

template <class Value>
struct CsvTable {
    int64_t n_columns;
    const int8_t* kinds;   // CsvColumn of each
    const int64_t* slots;  // its place among those of its kind
    Value* features;       // (rows, n_features)
    int64_t n_features;
    double* aside;          // (n_aside, rows)
    int64_t* word_starts;   // (n_words, rows): first byte, or -1 where the word is missing
    int32_t* word_lengths;  // (n_words, rows): bytes; -1 - bytes where "" stands for "
    int64_t n_rows;
};

// Words that stand for a missing value: `words` one after the other, each from ends[i - 1] (0 for
// the first) to ends[i]. All `count` of them do among numbers, the first `n_anywhere` among words.
class MissingWords {
   public:
    MissingWords(const char* words, const int64_t* ends, int64_t count, int64_t n_anywhere)
        : words_(words), ends_(ends), count_(count), n_anywhere_(n_anywhere) {
        int64_t from = 0;
        for (int64_t i = 0; i < count; from = ends[i++])
            if (ends[i] > from) may_be_[hash_of(words + from, ends[i] - from)] = true;
    }
    bool among_numbers(const char* begin, const char* end) const { return has(begin, end, count_); }
    bool among_words(const char* begin, const char* end) const {
        return has(begin, end, n_anywhere_);
    }

   private:
    // By the first byte and the length, which tell nearly all words from those here.
    static uint8_t hash_of(const char* word, int64_t length) {
        return static_cast<uint8_t>(static_cast<unsigned char>(*word) + 41 * length);
    }
    bool has(const char* begin, const char* end, int64_t n_words) const {
        const int64_t length = end - begin;
        if (length == 0) return true;
        if (!may_be_[hash_of(begin, length)]) return false;
        int64_t from = 0;
        for (int64_t i = 0; i < n_words; from = ends_[i++])
            if (ends_[i] - from == length &&
                std::memcmp(words_ + from, begin, static_cast<size_t>(length)) == 0)
                return true;
        return false;
    }

    const char* words_;
    const int64_t* ends_;
    int64_t count_, n_anywhere_;
    std::array<bool, 256> may_be_{};
};

namespace csv_detail {

// The number that a field says; false if it says something else. Missing is NaN.
inline bool field_number(CsvField field, const MissingWords& missing, double& value) {
    while (field.begin < field.end && (*field.begin == ' ' || *field.begin == '\t'))
        ++field.begin;  // inside quotes
    while (field.begin < field.end && (field.end[-1] == ' ' || field.end[-1] == '\t')) --field.end;
    const char* after = parse_number(field.begin, field.end, value);
    if (after == field.end && after) return std::isfinite(value);
    if (!missing.among_numbers(field.begin, field.end)) return false;
    value = std::numeric_limits<double>::quiet_NaN();
    return true;
}

template <class Value>
TextError parse_rows(const char* text, const char* at, const char* end, char delimiter,
                     const MissingWords& missing, const CsvTable<Value>& table, int64_t row,
                     int64_t row_end) {
    Marks marks(end);
    Mark next = marks.none();
    const int64_t numbers =
        std::count_if(table.kinds, table.kinds + table.n_columns,
                      [](int8_t kind) { return kind == kFeature || kind == kAside; });
    // Every letter of a word is a mark, and noted in vain.
    const bool plain = 2 * numbers >= table.n_columns && delimiter != '.' && !is_digit(delimiter);
    while (at < end) {
        if (blank_row(at, end, delimiter)) {
            const void* found = std::memchr(at, '\n', static_cast<size_t>(end - at));
            at = found ? static_cast<const char*>(found) + 1 : end;
            continue;
        }
        if (row >= row_end) throw std::invalid_argument("the layout is that of another text");
        const char* row_begin = at;
        next = marks.sought(next, at);
        for (int64_t column = 0;; ++column) {
            if (column == table.n_columns) {  // count the fields there are
                int64_t count = column + 1;
                for (at = read_field(at, end, delimiter).next; at < end && *at == delimiter;
                     ++count)
                    at = read_field(at + 1, end, delimiter).next;
                return {kManyFields, row_begin - text, count};
            }
            const int8_t kind = table.kinds[column];
            const int64_t slot = table.slots[column];
            if (kind == kFeature || kind == kAside) {
                double value;
                const char* after = nullptr;
                Mark ahead = next;
                if (plain && !marks.known(next)) ahead = next = marks.note(at);
                if (plain && marks.known(next)) after = marked_number(at, ahead, value);
                if (after && ends_field(after, end, delimiter)) {
                    at = after;
                    next = ahead;
                } else if ((after = parse_number(at, end, value)) &&
                           ends_field(after, end, delimiter) &&
                           std::isfinite(static_cast<Value>(value))) {
                    at = after;
                    next = marks.sought(next, at + 1);
                } else {
                    const CsvField field = read_field(at, end, delimiter);
                    if (!field.closed) return {kOpenQuote, field.quote - text, column};
                    if (!field.clean) return {kAfterQuote, field.quote - text, column};
                    if (!field_number(field, missing, value) ||
                        std::isinf(static_cast<Value>(value)))
                        return {kNotNumber, field.begin - text, column};
                    at = field.next;
                    next = marks.sought(next, at + 1);
                }
                if (kind == kFeature)
                    table.features[row * table.n_features + slot] = static_cast<Value>(value);
                else table.aside[slot * table.n_rows + row] = value;
            } else {
                const CsvField field = read_field(at, end, delimiter);
                if (!field.closed) return {kOpenQuote, field.quote - text, column};
                if (!field.clean) return {kAfterQuote, field.quote - text, column};
                at = field.next;
                next = marks.sought(next, at + 1);
                if (kind == kWord) {
                    const int64_t bytes = field.end - field.begin,
                                  place = slot * table.n_rows + row;
                    if (bytes >= std::numeric_limits<int32_t>::max())
                        return {kLongWord, field.begin - text, column};
                    const bool absent = missing.among_words(field.begin, field.end);
                    table.word_starts[place] = absent ? -1 : field.begin - text;
                    table.word_lengths[place] =
                        static_cast<int32_t>(field.doubled ? -1 - bytes : bytes);
                }
            }
            if (at < end && *at == delimiter) {
                ++at;
                continue;
            }
            if (column + 1 < table.n_columns) return {kFewFields, row_begin - text, column + 1};
            break;
        }
        at = past_line_end(at, end);
        ++row;
    }
    if (row != row_end) throw std::invalid_argument("the layout is that of another text");
    return {};
}

}  // namespace csv_detail

// `starts` and `rows` are those of csv_layout.
template <class Value>
TextError csv_parse(const char* text, int64_t length, char delimiter, const MissingWords& missing,
                    const int64_t* starts, const int64_t* rows, const CsvTable<Value>& table,
                    int threads) {
    const int64_t pieces = pieces_of(length);
    std::vector<TextError> errors(static_cast<size_t>(pieces));
    parallel_for(threads, pieces, [&](int64_t first, int64_t last) {
        for (int64_t piece = first; piece < last; ++piece)
            errors[static_cast<size_t>(piece)] =
                csv_detail::parse_rows(text, text + starts[piece], text + starts[piece + 1],
                                       delimiter, missing, table, rows[piece], rows[piece + 1]);
    });
    for (const TextError& error : errors)
        if (error.kind) return error;
    return {};
}

// Numbers words in the order in which they first occur: codes[i] of word i, -1 where it is missing;
// firsts[c]: the first i with code c. Stops at the word that would be number `limit`, and returns
// its place in `stopped` (-1: none). Returns how many there are.
inline int64_t intern_words(const char* text, const int64_t* starts, const int32_t* lengths,
                            int64_t count, int32_t* codes, int64_t* firsts, int64_t limit,
                            int64_t& stopped) {
    std::vector<int32_t> table(1024, -1);
    int64_t known = 0;
    stopped = -1;
    const auto bytes_of = [&](int64_t i) {
        return static_cast<size_t>(lengths[i] < 0 ? -1 - int64_t{lengths[i]} : int64_t{lengths[i]});
    };
    const auto hash_of = [&](int64_t i) {  // FNV-1a
        uint64_t hash = 1469598103934665603u;
        for (const char *at = text + starts[i], *end = at + bytes_of(i); at < end; ++at)
            hash = (hash ^ static_cast<unsigned char>(*at)) * 1099511628211u;
        return hash ^ (hash >> 29);
    };
    for (int64_t i = 0; i < count; ++i) {
        if (starts[i] < 0) {
            codes[i] = -1;
            continue;
        }
        uint64_t place = hash_of(i) & (table.size() - 1);
        for (; table[place] >= 0; place = (place + 1) & (table.size() - 1)) {
            const int64_t other = firsts[table[place]];
            if (lengths[other] == lengths[i] &&
                std::memcmp(text + starts[other], text + starts[i], bytes_of(i)) == 0)
                break;
        }
        if (table[place] < 0) {
            if (known == limit) {
                stopped = i;
                return known;
            }
            firsts[known] = i;
            table[place] = static_cast<int32_t>(known++);
        }
        codes[i] = table[place];
        if (2 * known >
            static_cast<int64_t>(table.size())) {  // twice as large, and everything anew
            table.assign(2 * table.size(), -1);
            for (int64_t code = 0; code < known; ++code) {
                uint64_t spot = hash_of(firsts[code]) & (table.size() - 1);
                while (table[spot] >= 0) spot = (spot + 1) & (table.size() - 1);
                table[spot] = static_cast<int32_t>(code);
            }
        }
    }
    return known;
}

}  // namespace kernelight
