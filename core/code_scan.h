// A scan of all codes: for each query the rows with the most equal slots.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "codes.h"
#include "parallel.h"

namespace kernelight {

// out[n] = equal slots of row i[n] of a and row j[n] of b; 0 where either is empty.
template <class Slot, class Count>
void equal_slots_of_pairs(const CodeRows<Slot>& a, const CodeRows<Slot>& b, const int64_t* i,
                          const int64_t* j, int64_t count, Count equal, int32_t* out, int threads) {
    parallel_for(threads, count, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            const bool none = (a.empty && a.empty[i[at]]) || (b.empty && b.empty[j[at]]);
            out[at] =
                none ? 0
                     : equal(a.values + i[at] * a.n_slots, b.values + j[at] * b.n_slots, a.n_slots);
        }
    });
}

// The `most` rows of highest count, the lower row first among equals, and none with a count of 0:
// rows of count at least c are few, where c is found by a histogram. Padded with -1.
inline void most_equal(const int32_t* counts, int64_t n_rows, int64_t n_slots, int64_t most,
                       std::vector<int64_t>& histogram, std::vector<int64_t>& chosen,
                       int64_t* rows) {
    histogram.assign(static_cast<size_t>(n_slots) + 1, 0);
    for (int64_t row = 0; row < n_rows; ++row) ++histogram[static_cast<size_t>(counts[row])];
    int64_t cut = n_slots, above = 0;
    for (; cut > 1 && above + histogram[static_cast<size_t>(cut)] < most; --cut)
        above += histogram[static_cast<size_t>(cut)];
    chosen.clear();
    int64_t room = most - above;  // for rows of count `cut`, the lowest of them
    for (int64_t row = 0; row < n_rows; ++row)
        if (counts[row] >= cut && (counts[row] > cut || room-- > 0)) chosen.push_back(row);
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](int64_t one, int64_t other) { return counts[one] > counts[other]; });
    for (int64_t at = 0; at < most; ++at)
        rows[at] = at < static_cast<int64_t>(chosen.size()) ? chosen[static_cast<size_t>(at)] : -1;
}

// rows (queries, most). Queries are taken a few at a time, so that a row of codes is read once for
// all of them.
template <class Slot>
void scan_codes(const CodeRows<Slot>& data, const CodeRows<Slot>& queries, int64_t most,
                int64_t* rows, int threads, int simd) {
    constexpr int64_t block = 16;
    parallel_for(threads, (queries.n_rows + block - 1) / block, [&](int64_t begin, int64_t end) {
        std::vector<int32_t> counts(static_cast<size_t>(block * data.n_rows));
        std::vector<int64_t> histogram, chosen;
        for (int64_t piece = begin; piece < end; ++piece) {
            const int64_t first = piece * block, here = std::min(block, queries.n_rows - first);
            const CodeRows<Slot> some{queries.values + first * queries.n_slots,
                                      queries.empty ? queries.empty + first : nullptr, here,
                                      queries.n_slots};
            collisions(some, data, counts.data(), 1, simd);
            for (int64_t at = 0; at < here; ++at)
                most_equal(counts.data() + at * data.n_rows, data.n_rows, data.n_slots, most,
                           histogram, chosen, rows + (first + at) * most);
        }
    });
}

}  // namespace kernelight
