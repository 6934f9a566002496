// Linear models with coefficients -1, 0, 1 on dense features: one sweep of their discrete
// optimisation. core/ternary.h has the problem, the loop over slots, and the same for bits.
//
// Here a slot is a column x of float32 numbers, and a change of its coefficient by d changes
//
//     F by  sum_i c_i [l(y_i (f_i + alpha d x_i)) - l(y_i f_i)] + what it changes of the penalty,
//
// f_i = alpha s_i + b. There are two other values for a coefficient, and one pass over the rows
// computes both sums, in double precision.
//
// The exponentials of the logistic loss make that pass expensive, but most moves can be ruled out
// without them. With m = y f, its l'' changes by a factor of at least exp(-|t|) from m to m + t
// (|l'''| <= l''), and e^-u + u - 1 >= u^2 (1/2 - u/6), so that
//
//     l(m + t) - l(m) >= l'(m) t + l''(m) (e^-|t| + |t| - 1) >= l'(m) t + phi l''(m) t^2,
//     phi = max(0, 1/2 - T/6)  for |t| <= T.
//
// Summed over rows with t_i = y_i alpha d x_i and T = alpha |d| max |x_i|, this bounds the change
// of F from below by two moments of the column. A move whose bound is not below `least` is not
// tried; all others are computed as they are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "simd/linear_loops.h"
#include "simd/ternary_dense_loops.h"
#include "ternary.h"

namespace kernelight {

inline const TernaryDenseLoops& ternary_dense_loops([[maybe_unused]] int simd) {
#if defined(KERNELIGHT_X86)
    const Level level = usable_level(simd);
    if (level == Level::avx512) return avx512::ternary_dense_loops;
    if (level == Level::avx2) return avx2::ternary_dense_loops;
#endif
    return baseline::ternary_dense_loops;
}

// What all classes share.
struct TernaryDenseRows {
    const float* columns;   // [slot][stride]: 0 beyond n_rows
    const double* largest;  // [slot]: the largest absolute value of the column
    const double* weights;  // [n_rows]
    int64_t n_slots, n_rows;
    int64_t stride;  // n_rows, up to a multiple of kTernaryLanes
    int loss;        // LossKind

    const float* column(int64_t slot) const { return columns + slot * stride; }
};

// One class: its side, and the point that a sweep moves.
struct TernaryDenseClass {
    const uint8_t* positive;  // [row] whether y_i = 1
    double scale, bias;       // alpha and b
    double penalty;           // of a coefficient that is not 0
    double least;             // decrease of F that is worth a move
    int8_t* coefficients;     // [slot]
    double* totals;           // [row]: s_i = w . x_i
};

namespace detail {

class TernaryDenseSweep {
   public:
    TernaryDenseSweep(const TernaryDenseRows& rows, const TernaryDenseClass& of,
                      const TernaryDenseLoops& loops)
        : rows_(rows), of_(of), loops_(loops), scores_(rows.stride), weights_(rows.stride) {
        for (int64_t row = 0; row < rows.n_rows; ++row)
            weights_[row] = of.positive[row] ? rows.weights[row] : -rows.weights[row];
        if (rows.loss == logistic) {
            slope_.resize(rows.stride);
            curvature_.resize(rows.stride);
        }
        look();
    }

    TernaryMove best(int64_t slot) const {
        const int value = of_.coefficients[slot];
        // from 0 to 1 or -1; or to 0, or to the opposite value
        const int step1 = value == 0 ? 1 : -value, step2 = value == 0 ? -1 : -2 * value;
        const double penalty1 = value == 0 ? of_.penalty : -of_.penalty,
                     penalty2 = value == 0 ? of_.penalty : 0.0;
        if (rows_.loss == logistic) {
            const TernarySums moments =
                loops_.moments(rows_.column(slot), slope_.data(), curvature_.data(), rows_.stride);
            if (!(least_change(slot, moments, step1) + penalty1 < -of_.least) &&
                !(least_change(slot, moments, step2) + penalty2 < -of_.least))
                return {0, 0.0};
        }
        const TernarySums after = loops_.losses(
            rows_.loss, {rows_.column(slot), scores_.data(), weights_.data(), rows_.stride},
            of_.scale * step1, of_.scale * step2);
        const TernaryMove first = {step1, after.first - now_ + penalty1},
                          second = {step2, after.second - now_ + penalty2};
        return second.change < first.change ? second : first;
    }

    void apply(int64_t slot, int step) {
        of_.coefficients[slot] = static_cast<int8_t>(of_.coefficients[slot] + step);
        loops_.add(rows_.column(slot), step, rows_.n_rows, of_.totals);
        look();
    }

   private:
    // The scores, and the loss as it is.
    void look() {
        loops_.scale(of_.totals, of_.scale, of_.bias, rows_.n_rows, scores_.data());
        now_ = loops_
                   .losses(rows_.loss,
                           {rows_.columns, scores_.data(), weights_.data(), rows_.stride}, 0.0, 0.0)
                   .first;
        if (rows_.loss == logistic)
            loops_.logistic_slopes(scores_.data(), weights_.data(), rows_.stride, slope_.data(),
                                   curvature_.data());
    }

    // By how much a step changes the logistic loss at least.
    double least_change(int64_t slot, const TernarySums& moments, int step) const {
        const double t = of_.scale * step, most = std::fabs(t) * rows_.largest[slot];
        return t * moments.first + std::max(0.0, 0.5 - most / 6) * t * t * moments.second;
    }

    TernaryDenseRows rows_;
    TernaryDenseClass of_;
    const TernaryDenseLoops& loops_;
    std::vector<double> scores_, weights_, slope_, curvature_;
    double now_ = 0.0;
};

}  // namespace detail

// totals[class][row] = w . x, by adding columns [slot][stride] in their order.
inline void ternary_dense_totals(const float* columns, int64_t n_slots, int64_t n_rows,
                                 int64_t stride, const int8_t* coefficients, int64_t n_classes,
                                 double* totals, int threads, int simd) {
    const TernaryDenseLoops& loops = ternary_dense_loops(simd);
    parallel_for(threads, n_classes, [&](int64_t begin, int64_t end) {
        for (int64_t of = begin; of < end; ++of) {
            std::fill(totals + of * n_rows, totals + (of + 1) * n_rows, 0.0);
            for (int64_t slot = 0; slot < n_slots; ++slot)
                if (const int value = coefficients[of * n_slots + slot])
                    loops.add(columns + slot * stride, value, n_rows, totals + of * n_rows);
        }
    });
}

// One sweep of each class, in the order of slots given for it.
template <class ClassAt>
void ternary_dense_sweep(const TernaryDenseRows& rows, int64_t n_classes, ClassAt class_at,
                         const int32_t* orders, int64_t* moves, double* decrease, int threads,
                         int simd) {
    const TernaryDenseLoops& loops = ternary_dense_loops(simd);
    sweep_classes(n_classes, threads, moves, decrease, [&](int64_t at) {
        const TernaryDenseClass of = class_at(at);
        detail::TernaryDenseSweep sweep(rows, of, loops);
        return visit_slots(sweep, orders + at * rows.n_slots, rows.n_slots, of.least);
    });
}

}  // namespace kernelight
