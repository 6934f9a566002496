// Which rows of a set stay when near-duplicates go, by leaders.
//
// Rows are visited in their order. A row goes if a row before it that stays is a partner of it (a
// pair says so); the partner of largest similarity, the first of equal ones, is its survivor. So
// every row that goes has a row that stays within the threshold, and of two rows that stay no pair
// is given.
#pragma once

#include <cstdint>

namespace kernelight {

// Pairs are ordered by their later row; those of one row are all in one call. `kept` (1: stays),
// `survivor` (a row that stays: itself) and `similarity` hold what is known of all rows. A row that
// does not stay at the beginning is nobody's survivor, and is left as it is.
inline void leaders(const int64_t* earlier, const int64_t* later, const double* similarities,
                    int64_t count, uint8_t* kept, int64_t* survivor, double* similarity) {
    for (int64_t at = 0; at < count;) {
        const int64_t row = later[at];
        int64_t best = -1;
        double most = 0.0;
        for (; at < count && later[at] == row; ++at) {
            const int64_t other = earlier[at];
            if (!kept[other]) continue;
            if (best < 0 || similarities[at] > most || (similarities[at] == most && other < best)) {
                best = other;
                most = similarities[at];
            }
        }
        if (best < 0 || !kept[row]) continue;
        kept[row] = 0;
        survivor[row] = best;
        similarity[row] = most;
    }
}

}  // namespace kernelight
