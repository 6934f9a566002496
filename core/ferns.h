// Ferns of many rows: a slot is `depth` tests "x_f > cut", its code their bits.
//
// Every number becomes its bin first, the number of cuts of its column below it: a test is then a
// comparison of bytes, and many rows are compared side by side. A column has at most 255 cuts, so
// that a bin is a byte. Numbers that are missing (NaN) get the bin that their column has for them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "parallel.h"
#include "rows.h"
#include "simd/fern_loops.h"
#include "simd/levels.h"

namespace kernelight {

inline const FernLoops& fern_loops([[maybe_unused]] int simd) {
#if defined(KERNELIGHT_X86)
    const Level level = usable_level(simd);
    if (level == Level::avx512) return avx512::fern_loops;
    if (level == Level::avx2) return avx2::fern_loops;
#endif
    return baseline::fern_loops;
}

// What all tests together ask of rows: columns ascend; that of place p has the cuts [starts[p],
// starts[p + 1]), ascending, and the bin missing[p] for NaN.
template <class Value>
struct FernColumns {
    const int64_t* columns;
    const int64_t* starts;
    const Value* cuts;
    const int8_t* missing;
    int64_t count;

    int8_t bin(int64_t place, Value x) const {
        if (x != x) return missing[place];
        const Value *begin = cuts + starts[place], *end = cuts + starts[place + 1];
        return static_cast<int8_t>(std::lower_bound(begin, end, x) - begin - kBinOrigin);
    }
};

// Test i of slot j is at j depth + i: whether the bin at `places` is above `ranks`.
struct FernTests {
    const int32_t* places;
    const int8_t* ranks;
    int64_t n_slots, depth;
};

// The largest float that is not above a number: for any float x, x > cut just if x > floor(cut).
inline float floor_to_float(double cut) {
    const auto near = static_cast<float>(cut);
    return near > cut ? std::nextafter(near, -std::numeric_limits<float>::infinity()) : near;
}

// Columns and tests, checked once and kept.
struct FernTables {
    std::vector<int64_t> columns, starts;
    std::vector<double> cuts;
    std::vector<float> float_cuts;
    std::vector<int8_t> missing, ranks;
    std::vector<int32_t> places;
    int64_t n_slots = 0, depth = 0;

    // Medians stand for what is missing; test i asks for x > cuts[starts[places[i]] + ranks[i]].
    FernTables(const int64_t* columns_, int64_t count, const int64_t* starts_, const double* cuts_,
               const double* medians, const int32_t* places_, const uint8_t* ranks_,
               int64_t n_slots_, int64_t depth_)
        : columns(columns_, columns_ + count),
          starts(starts_, starts_ + count + 1),
          cuts(cuts_, cuts_ + starts_[count]),
          missing(static_cast<size_t>(count)),
          ranks(static_cast<size_t>(n_slots_ * depth_)),
          places(places_, places_ + n_slots_ * depth_),
          n_slots(n_slots_),
          depth(depth_) {
        for (const double cut : cuts) float_cuts.push_back(floor_to_float(cut));
        const FernColumns<double> ask = of(double{});
        for (int64_t place = 0; place < count; ++place)
            missing[place] = ask.bin(place, medians[place]);
        for (size_t at = 0; at < ranks.size(); ++at)
            ranks[at] = static_cast<int8_t>(ranks_[at] - kBinOrigin);
    }
    FernTests tests() const { return {places.data(), ranks.data(), n_slots, depth}; }
    FernColumns<double> of(double) const { return with(cuts.data()); }
    FernColumns<float> of(float) const { return with(float_cuts.data()); }

   private:
    template <class Value>
    FernColumns<Value> with(const Value* values) const {
        return {columns.data(), starts.data(), values, missing.data(),
                static_cast<int64_t>(columns.size())};
    }
};

// Whether arrays describe tests: columns and the cuts of each ascend, at most 255 cuts a column, and
// every test has a cut.
inline bool sound_ferns(const int64_t* columns, int64_t count, const int64_t* starts,
                        const double* cuts, int64_t n_cuts, const int32_t* places,
                        const uint8_t* ranks, int64_t n_tests) {
    if (starts[0] != 0 || starts[count] != n_cuts) return false;
    for (int64_t at = 0; at < count; ++at) {
        const int64_t here = starts[at + 1] - starts[at];
        if (here < 1 || here > kMostCuts || starts[at + 1] > n_cuts) return false;
        if (columns[at] < 0 || (at > 0 && columns[at] <= columns[at - 1])) return false;
        for (int64_t cut = starts[at]; cut < starts[at + 1]; ++cut)
            if (!std::isfinite(cuts[cut]) || (cut > starts[at] && cuts[cut] <= cuts[cut - 1]))
                return false;
    }
    for (int64_t at = 0; at < n_tests; ++at)
        if (places[at] < 0 || places[at] >= count ||
            ranks[at] >= starts[places[at] + 1] - starts[places[at]])
            return false;
    return true;
}

namespace detail {

inline void bin_column(const FernLoops& loops, const FernColumns<float>& ask, int64_t place,
                       const float* x, int8_t* bins) {
    loops.bins_float(x, ask.cuts + ask.starts[place], ask.starts[place + 1] - ask.starts[place],
                     ask.missing[place], bins);
}
inline void bin_column(const FernLoops& loops, const FernColumns<double>& ask, int64_t place,
                       const double* x, int8_t* bins) {
    loops.bins_double(x, ask.cuts + ask.starts[place], ask.starts[place + 1] - ask.starts[place],
                      ask.missing[place], bins);
}

constexpr int64_t kFewRows = 8;  // so few are faster one by one than side by side

// The codes of a few rows, test by test.
template <class Code>
void few_codes(const int8_t* bins, const FernTests& tests, int64_t n_rows, Code* codes) {
    for (int64_t r = 0; r < n_rows; ++r) {
        const int32_t* place = tests.places;
        const int8_t* rank = tests.ranks;
        for (int64_t slot = 0; slot < tests.n_slots; ++slot) {
            uint32_t code = 0;
            for (int64_t at = 0; at < tests.depth; ++at)
                code |= uint32_t{bins[int64_t{*place++} * kFernRows + r] > *rank++} << at;
            codes[r * tests.n_slots + slot] = static_cast<Code>(code);
        }
    }
}

constexpr int64_t kColumnsAtOnce = 16;  // neighbours in a row share lines of the cache

// bins[place][r] of rows begin .. begin + n_rows.
template <class Value>
void fill_bins(const DenseRows<Value>& rows, const FernColumns<Value>& ask, int64_t begin,
               int64_t n_rows, const FernLoops& loops, int8_t* bins) {
    if (n_rows < kFewRows) {
        for (int64_t r = 0; r < n_rows; ++r)
            for (int64_t place = 0; place < ask.count; ++place)
                bins[place * kFernRows + r] =
                    ask.bin(place, rows.values[(begin + r) * rows.n_cols + ask.columns[place]]);
        return;
    }
    Value x[kColumnsAtOnce][kFernRows] = {};
    for (int64_t first = 0; first < ask.count; first += kColumnsAtOnce) {
        const int64_t here = std::min(kColumnsAtOnce, ask.count - first);
        for (int64_t r = 0; r < n_rows; ++r) {
            const Value* row = rows.values + (begin + r) * rows.n_cols;
            for (int64_t at = 0; at < here; ++at) x[at][r] = row[ask.columns[first + at]];
        }
        for (int64_t at = 0; at < here; ++at)
            bin_column(loops, ask, first + at, x[at], bins + (first + at) * kFernRows);
    }
}

template <class Value, class Index>
void fill_bins(const CsrRows<Value, Index>& rows, const FernColumns<Value>& ask, int64_t begin,
               int64_t n_rows, const FernLoops&, int8_t* bins) {
    for (int64_t place = 0; place < ask.count; ++place)
        std::memset(bins + place * kFernRows, ask.bin(place, Value(0)), kFernRows);
    for (int64_t r = 0; r < n_rows; ++r)
        each_among(rows, begin + r, ask.columns, ask.count, [&](int64_t place, Value x) {
            bins[place * kFernRows + r] = ask.bin(place, x);
        });
}

inline void fern_codes(const FernLoops& loops, const int8_t* bins, const FernTests& tests,
                       int64_t n_rows, uint8_t* codes) {
    loops.codes_8(bins, tests.places, tests.ranks, tests.n_slots, tests.depth, n_rows, codes);
}
inline void fern_codes(const FernLoops& loops, const int8_t* bins, const FernTests& tests,
                       int64_t n_rows, uint16_t* codes) {
    loops.codes_16(bins, tests.places, tests.ranks, tests.n_slots, tests.depth, n_rows, codes);
}

}  // namespace detail

// codes[i, j] = the bits of the tests of slot j of row i.
template <class Rows, class Code>
void encode_ferns(const Rows& rows, const FernTables& tables, Code* codes, int threads, int simd) {
    using Value = std::decay_t<decltype(*rows.values)>;
    const FernLoops& loops = fern_loops(simd);
    const FernColumns<Value> ask = tables.of(Value{});
    const FernTests tests = tables.tests();
    const int64_t blocks = (rows.n_rows + kFernRows - 1) / kFernRows;
    parallel_for(threads, blocks, [&](int64_t begin, int64_t end) {
        std::vector<int8_t> bins(static_cast<size_t>(ask.count * kFernRows));
        for (int64_t block = begin; block < end; ++block) {
            const int64_t first = block * kFernRows,
                          here = std::min(kFernRows, rows.n_rows - first);
            detail::fill_bins(rows, ask, first, here, loops, bins.data());
            Code* out = codes + first * tests.n_slots;
            if (here < detail::kFewRows) detail::few_codes(bins.data(), tests, here, out);
            else detail::fern_codes(loops, bins.data(), tests, here, out);
        }
    });
}

}  // namespace kernelight
