// Dense rows before any kernel sees them: are they finite, and scaled column by column.
//
// A column is scaled in one of two ways, and then perhaps cut off at 0 or written with its
// complement:
//
//     units:  s = (x - origin) / unit, between -kFarthest and kFarthest; 0 where the unit is 0
//     ranks:  s = the line through the ranks of the two knots around x; 0 without knots
//
//     as it is: s;   floored: max(s, 0);   with complement: max(s, 0) and max(1 - s, 0), the
//     second 0 for a constant column.
//
// Where columns have weights, both numbers are then multiplied by that of their column.
//
// Everything is computed in double precision, in the order of operations that the slow twin in
// tests/oracles has (NumPy), and rounded once to the type of the rows: equal to the bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "parallel.h"
#include "rows.h"

namespace kernelight {

template <class Value>
bool all_finite(const Value* values, int64_t count) {
    constexpr Value largest = std::numeric_limits<Value>::max();
    constexpr int64_t chunk = 4096;  // few branches, and an early end for a large matrix
    for (int64_t base = 0; base < count; base += chunk) {
        const int64_t end = std::min(count, base + chunk);
        int bad = 0;
        for (int64_t at = base; at < end; ++at) bad |= !(std::fabs(values[at]) <= largest);
        if (bad) return false;
    }
    return true;
}

// Knots of column c: [starts[c], starts[c + 1]), ascending, each with its rank.
struct Knots {
    const double *values, *ranks;
    const int64_t* starts;
};

struct ColumnScaling {
    static constexpr double kFarthest = 1e6;
    enum Form : int { as_it_is, floored, complemented, kForms };

    const double *origin, *unit;  // of units, origin null for 0; unit null for ranks
    Knots knots;                  // of ranks
    Form form;
    const double* weights;  // null for none

    bool constant(int64_t column) const {
        return unit ? unit[column] == 0 : knots.starts[column] == knots.starts[column + 1];
    }

    double operator()(int64_t column, double x) const {
        return unit ? in_units(column, x) : rank(column, x);
    }

   private:
    double in_units(int64_t column, double x) const {
        constexpr double largest = std::numeric_limits<double>::max();
        if (!(unit[column] > 0)) return 0.0;
        double away = origin ? x - origin[column] : x;
        away = std::min(std::max(away, -largest), largest) / unit[column];
        return std::min(std::max(away, -kFarthest), kFarthest);
    }

    // As numpy.interp has it.
    double rank(int64_t column, double x) const {
        const double* first = knots.values + knots.starts[column];
        const int64_t count = knots.starts[column + 1] - knots.starts[column];
        const double* ranks = knots.ranks + knots.starts[column];
        if (count == 0) return 0.0;
        if (!(x >= first[0])) return ranks[0];
        if (x >= first[count - 1]) return ranks[count - 1];
        int64_t at = 0;  // the last knot that is not above x
        for (int64_t length = count; length > 1;) {
            const int64_t half = length / 2;
            at = first[at + half] <= x ? at + half : at;
            length -= half;
        }
        if (first[at] == x) return ranks[at];
        const double slope = (ranks[at + 1] - ranks[at]) / (first[at + 1] - first[at]);
        const double here = slope * (x - first[at]) + ranks[at];
        if (!std::isnan(here)) return here;
        const double there = slope * (x - first[at + 1]) + ranks[at + 1];
        return std::isnan(there) && ranks[at] == ranks[at + 1] ? ranks[at] : there;
    }
};

// out: (rows, columns), or (rows, 2 columns) with complements. A column at a time for a block of
// rows: what a column has learned then stays in the cache.
template <class Value>
void scale_rows(const DenseRows<Value>& rows, const ColumnScaling& scaling, Value* out,
                int threads) {
    constexpr int64_t block = 64;
    const bool both = scaling.form == ColumnScaling::complemented;
    const int64_t width = rows.n_cols * (both ? 2 : 1);
    parallel_for(threads, (rows.n_rows + block - 1) / block, [&](int64_t first, int64_t last) {
        for (int64_t base = first * block; base < std::min(rows.n_rows, last * block);
             base += block)
            for (int64_t column = 0; column < rows.n_cols; ++column) {
                const bool constant = both && scaling.constant(column);
                const double weight = scaling.weights ? scaling.weights[column] : 1.0;
                for (int64_t row = base; row < std::min(rows.n_rows, base + block); ++row) {
                    const double scaled = scaling(
                        column, static_cast<double>(rows.values[row * rows.n_cols + column]));
                    Value* to = out + row * width + column;
                    *to = static_cast<Value>(weight * (scaling.form == ColumnScaling::as_it_is
                                                           ? scaled
                                                           : std::max(scaled, 0.0)));
                    if (both)
                        to[rows.n_cols] =
                            constant ? Value(0)
                                     : static_cast<Value>(weight * std::max(1.0 - scaled, 0.0));
                }
            }
    });
}

}  // namespace kernelight
