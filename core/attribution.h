// Contributions of features to scores: what each feature has added to the score of a row.
//
// A linear model on codes scores a row by 1/sqrt(slots) times a sum over slots of weights[slot,
// code]. Some features decide a slot, its winners (docs/hash-spec.md, section 9): the term of the
// slot is theirs in equal shares,
//
//     value[i, f] = sum over slots s of share(s, f) weights[s, code of i in s] / sqrt(slots),
//
// so that the values of a row add up to its score. A slot without a winner goes to `rest`, and an
// empty row has no terms. The squares of the terms come along: slots are independent, so that they
// say how far a value strays over seeds.
//
// A model of the exact min-max kernel scores a row by sum_j dual_j K(x, y_j), and K is a sum over
// features f of min(x_f, y_f), signs apart, times a factor of the pair (1 / sum max). So feature f
// has the part
//
//     value[i, f] = sum_j dual_j factor(i, j) min(x_f, y_jf),
//
// which is what the former averages to.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "code_scores.h"
#include "rows.h"

namespace kernelight {

// The winners of slot s in row i are features[i * stride + starts[s] .. starts[s + 1]]; -1 is none.
// column[feature] is the column that gets the share; null for the feature itself.
struct SlotWinners {
    const int64_t* features;
    int64_t stride;
    const int64_t* starts;
    const int64_t* column;
    int64_t n_features, n_columns;

    int64_t column_of(int64_t feature) const {
        if (feature >= n_features) throw std::invalid_argument("a winner is no feature");
        return column ? column[feature] : feature;
    }
};

// values and squares: (rows, columns, outputs); rest and rest_squares: (rows, outputs). All are
// added to. squares and rest_squares may be null together: nobody asks for them.
struct Attribution {
    double *values, *squares, *rest, *rest_squares;
};

namespace attribution {

// The columns that share a slot, each once, with the number of its shares.
class Shares {
   public:
    explicit Shares(int64_t n_columns) : count_(static_cast<size_t>(n_columns), 0) {}

    // each(column, share) for the winners of a slot; whether there is any.
    template <class Each>
    bool split(const SlotWinners& by, int64_t row, int64_t slot, Each&& each) {
        const int64_t* features = by.features + row * by.stride;
        const int64_t begin = by.starts[slot], end = by.starts[slot + 1];
        if (end == begin + 1 && features[begin] >= 0) {
            each(by.column_of(features[begin]), 1.0);
            return true;
        }
        columns_.clear();
        for (int64_t at = begin; at < end; ++at)
            if (features[at] >= 0) columns_.push_back(by.column_of(features[at]));
        for (const int64_t column : columns_) ++count_[static_cast<size_t>(column)];
        for (const int64_t column : columns_) {
            int64_t& count = count_[static_cast<size_t>(column)];
            if (count == 0) continue;  // it has its shares
            each(column, static_cast<double>(count) / static_cast<double>(columns_.size()));
            count = 0;
        }
        return !columns_.empty();
    }

   private:
    std::vector<int64_t> count_, columns_;
};

inline void add(const double* term, int outputs, double share, int64_t place, double* values,
                double* squares) {
    for (int output = 0; output < outputs; ++output) values[place + output] += term[output] * share;
    if (squares)
        for (int output = 0; output < outputs; ++output)
            squares[place + output] += (term[output] * share) * (term[output] * share);
}

}  // namespace attribution

template <class Slot>
void attribute_codes(const CodeRows<Slot>& rows, const CodeWeights& by, const SlotWinners& winners,
                     const Attribution& out, int threads) {
    const double factor = 1.0 / std::sqrt(static_cast<double>(by.n_slots));
    const CodeLayout& layout = by.layout;
    const int64_t n_segments = layout.part_segment[layout.n_parts];
    const int outputs = by.outputs;
    parallel_for(threads, rows.n_rows, [&](int64_t begin, int64_t end) {
        attribution::Shares shares(winners.n_columns);
        for (int64_t row = begin; row < end; ++row) {
            if (rows.empty && rows.empty[row]) continue;
            const Slot* codes = rows.values + row * rows.n_slots;
            const int64_t place = row * winners.n_columns * outputs;
            for (int64_t g = 0; g < n_segments; ++g)
                for (int64_t slot = layout.segment_slot[g]; slot < layout.segment_slot[g + 1];
                     ++slot) {
                    const int64_t code = (slot << by.bits) + codes[slot];
                    const int64_t entry =
                        layout.local ? layout.segment_entry[g] + layout.local[code] : code;
                    double term[16];
                    for (int output = 0; output < outputs; ++output)
                        term[output] = factor * by.weights[entry * outputs + output];
                    const auto give = [&](int64_t column, double share) {
                        attribution::add(term, outputs, share, place + column * outputs, out.values,
                                         out.squares);
                    };
                    if (!shares.split(winners, row, slot, give))
                        attribution::add(term, outputs, 1.0, row * outputs, out.rest,
                                         out.rest_squares);
                }
        }
    });
}

namespace attribution {

// The smaller of two sizes where signs agree, else 0.
inline double common(double u, double v) {
    return std::max(0.0, std::min(u, v)) + std::max(0.0, std::min(-u, -v));
}

// out[output, f] += duals[output] * factor * common(u_f, v_f), v a row of y; out is (outputs, d).
template <class Value>
void add_minima(const double* u, const DenseRows<Value>& y, int64_t row, double factor,
                const double* duals, int64_t outputs, double* minima, double* out) {
    const int64_t d = y.n_cols;
    const Value* v = y.values + row * d;
    for (int64_t f = 0; f < d; ++f) minima[f] = factor * common(u[f], static_cast<double>(v[f]));
    for (int64_t output = 0; output < outputs; ++output)
        for (int64_t f = 0; f < d; ++f) out[output * d + f] += duals[output] * minima[f];
}

template <class Value, class Index>
void add_minima(const double* u, const CsrRows<Value, Index>& y, int64_t row, double factor,
                const double* duals, int64_t outputs, double*, double* out) {
    y.each(row, [&](int64_t f, double v) {
        const double minimum = factor * common(u[f], v);
        for (int64_t output = 0; output < outputs; ++output)
            out[output * y.n_cols + f] += duals[output] * minimum;
    });
}

}  // namespace attribution

// x: (n_rows, d) dense; factors: (n_rows, rows of y); duals: (rows of y, outputs); out: (n_rows,
// outputs, d), added to.
template <class Rows>
void attribute_minmax(const double* x, int64_t n_rows, const Rows& y, const double* factors,
                      const double* duals, int64_t outputs, double* out, int threads) {
    const int64_t d = y.n_cols;
    parallel_for(threads, n_rows, [&](int64_t begin, int64_t end) {
        std::vector<double> minima(static_cast<size_t>(d));
        for (int64_t row = begin; row < end; ++row)
            for (int64_t other = 0; other < y.n_rows; ++other)
                attribution::add_minima(x + row * d, y, other, factors[row * y.n_rows + other],
                                        duals + other * outputs, outputs, minima.data(),
                                        out + row * outputs * d);
    });
}

}  // namespace kernelight
