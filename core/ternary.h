// Linear models with coefficients -1, 0, 1 on rows of bits: one sweep of their discrete
// optimisation, and scores.
//
// Rows z_i in {-1, 1}^p (a set bit is +1), labels y_i, weights c_i, and for each class a vector w
// in {-1, 0, 1}^p of
//
//     F(w) = sum_i c_i L(y_i, s_i) + penalty |w|_0,      s_i = sum_j w_j z_ij,
//
// where L(y, s) = l(y (alpha s + b)) for a scale alpha and a bias b that stay as they are during a
// sweep. Two facts make an exact coordinate move cheap whatever the loss:
//   - scores s_i are whole numbers from -p to p, so L is a table;
//   - a column is a sign: with w_j + d, L(y_i, s_i + d z_ij) = even_i + z_ij odd_i, where for a
//     step of d = 1 or 2
//
//         even_i = (L(y_i, s_i + d) + L(y_i, s_i - d)) / 2,
//         odd_i  = (L(y_i, s_i + d) - L(y_i, s_i - d)) / 2.
//
//     So F after any move of coordinate j is known exactly from sum_i z_ij odd_i: a sum over the
//     set bits of column j.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "parallel.h"
#include "simd/levels.h"
#include "simd/ternary_loops.h"

namespace kernelight {

inline const TernaryLoops& ternary_loops([[maybe_unused]] int simd) {
#if defined(KERNELIGHT_X86)
    const Level level = usable_level(simd);
    if (level == Level::avx512 && processor().count_words) return avx512_popcnt::ternary_loops;
    if (level != Level::baseline) return avx2::ternary_loops;
#endif
    return baseline::ternary_loops;
}

// What all classes share. The first n_filled rows have bits; the rest are empty, their score is
// always 0.
struct TernaryRows {
    const uint64_t* columns;  // [slot][word], 64 rows a word, bits beyond n_filled 0
    const double* weights;    // [n_rows]
    int64_t n_slots, n_filled;

    int64_t n_words() const { return (n_filled + 63) / 64; }
};

// One class: its side, and the point that a sweep moves.
struct TernaryClass {
    const uint8_t* positive;  // [row] whether y_i = 1
    const double* losses;     // [y][s + p + 2] for s from -p - 2 to p + 2
    double penalty;           // of a coefficient that is not 0
    double least;          // decrease of F that is worth a move: above rounding, so that sweeps end
    int8_t* coefficients;  // [slot]
    int32_t* scores;       // [row]
};

struct TernaryProgress {
    int64_t moves;
    double decrease;
};

// A change of one coefficient, and what it changes of F.
struct TernaryMove {
    int step;
    double change;
};

// Visit the slots in this order and move each to its best value, where that lowers F by more than
// `least`. A sweep knows the best move of a slot and can apply it.
template <class Sweep>
TernaryProgress visit_slots(Sweep& sweep, const int32_t* order, int64_t n_slots, double least) {
    TernaryProgress progress = {0, 0.0};
    for (int64_t visit = 0; visit < n_slots; ++visit) {
        const int64_t slot = order[visit];
        const TernaryMove move = sweep.best(slot);
        if (!(move.change < -least)) continue;
        sweep.apply(slot, move.step);
        ++progress.moves;
        progress.decrease -= move.change;
    }
    return progress;
}

// Classes have nothing to do with each other, so threads change nothing.
template <class SweepAt>
void sweep_classes(int64_t n_classes, int threads, int64_t* moves, double* decrease,
                   SweepAt sweep_at) {
    parallel_for(threads, n_classes, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            const TernaryProgress found = sweep_at(at);
            moves[at] = found.moves;
            decrease[at] = found.decrease;
        }
    });
}

namespace detail {

class TernarySweep {
   public:
    TernarySweep(const TernaryRows& rows, const TernaryClass& of, const TernaryLoops& loops)
        : rows_(rows),
          of_(of),
          loops_(loops),
          width_(2 * rows.n_slots + 5),
          changes_(2 * width_),
          odd1_(rows.n_words() * 64),
          odd2_(rows.n_words() * 64) {
        for (int side = 0; side < 2; ++side)
            for (int64_t at = 2; at < width_ - 2; ++at) {
                const double* loss = of.losses + side * width_ + at;
                changes_[side * width_ + at] = {(loss[1] - loss[-1]) / 2, (loss[2] - loss[-2]) / 2,
                                                (loss[1] + loss[-1]) / 2 - loss[0],
                                                (loss[2] + loss[-2]) / 2 - loss[0]};
            }
        look();
    }

    TernaryMove best(int64_t slot) const {
        const uint64_t* bits = rows_.columns + slot * rows_.n_words();
        const double slope1 =
            2 * loops_.sum_where(bits, odd1_.data(), rows_.n_words()) - total_.odd1;
        const int value = of_.coefficients[slot];
        if (value == 0)
            return {slope1 > 0 ? -1 : 1, total_.even1 - std::fabs(slope1) + of_.penalty};
        const double slope2 =
            2 * loops_.sum_where(bits, odd2_.data(), rows_.n_words()) - total_.odd2;
        const TernaryMove drop = {-value, total_.even1 - value * slope1 - of_.penalty};
        const TernaryMove flip = {-2 * value, total_.even2 - value * slope2};
        return flip.change < drop.change ? flip : drop;
    }

    void apply(int64_t slot, int step) {
        of_.coefficients[slot] = static_cast<int8_t>(of_.coefficients[slot] + step);
        const uint64_t* bits = rows_.columns + slot * rows_.n_words();
        for (int64_t row = 0; row < rows_.n_filled; ++row)
            of_.scores[row] += (bits[row / 64] >> (row % 64)) & 1 ? step : -step;
        look();
    }

   private:
    struct Change {
        double odd1, odd2, even1, even2;  // even: minus the loss as it is
    };

    // What a step of 1 or 2 would change, for each row and in all.
    void look() {
        total_ = {0, 0, 0, 0};
        for (int64_t row = 0; row < rows_.n_filled; ++row) {
            const int64_t score =
                std::clamp<int64_t>(of_.scores[row], -rows_.n_slots, rows_.n_slots);
            const Change& of =
                changes_[(of_.positive[row] != 0) * width_ + score + rows_.n_slots + 2];
            const double weight = rows_.weights[row];
            odd1_[row] = weight * of.odd1;
            odd2_[row] = weight * of.odd2;
            total_.odd1 += odd1_[row];
            total_.odd2 += odd2_[row];
            total_.even1 += weight * of.even1;
            total_.even2 += weight * of.even2;
        }
    }

    TernaryRows rows_;
    TernaryClass of_;
    const TernaryLoops& loops_;
    int64_t width_;
    std::vector<Change> changes_;
    std::vector<double> odd1_, odd2_;
    Change total_{};
};

}  // namespace detail

// Whether coefficients are -1, 0 or 1 and orders name slots. Scores are trusted to be those of the
// coefficients; others would be cut off at the ends of the tables.
template <class ClassAt>
bool ternary_fits(int64_t n_slots, int64_t n_classes, ClassAt class_at, const int32_t* orders) {
    for (int64_t at = 0; at < n_classes; ++at)
        for (int64_t slot = 0; slot < n_slots; ++slot) {
            const int32_t visited = orders[at * n_slots + slot];
            if (std::abs(class_at(at).coefficients[slot]) > 1 || visited < 0 || visited >= n_slots)
                return false;
        }
    return true;
}

// One sweep of each class, in the order of slots given for it.
template <class ClassAt>
void ternary_sweep(const TernaryRows& rows, int64_t n_classes, ClassAt class_at,
                   const int32_t* orders, int64_t* moves, double* decrease, int threads, int simd) {
    const TernaryLoops& loops = ternary_loops(simd);
    sweep_classes(n_classes, threads, moves, decrease, [&](int64_t at) {
        const TernaryClass of = class_at(at);
        detail::TernarySweep sweep(rows, of, loops);
        return visit_slots(sweep, orders + at * rows.n_slots, rows.n_slots, of.least);
    });
}

// scores[i, c] = scale_c w_c . z_i + bias_c, from w . z = |w|_0 - 2 #{j : w_j != 0, z_ij != w_j}.
inline void ternary_scores(const uint64_t* words, int64_t n_rows, const TernaryPlanes& planes,
                           const int32_t* nonzeros, const double* scales, const double* biases,
                           double* scores, int threads, int simd) {
    const TernaryLoops& loops = ternary_loops(simd);
    const int64_t n_classes = planes.n_classes;
    parallel_for(
        threads, (n_rows + kTernaryRows - 1) / kTernaryRows, [&](int64_t begin, int64_t end) {
            std::vector<int32_t> distance(kTernaryRows * n_classes);
            for (int64_t block = begin; block < end; ++block) {
                const int64_t first = block * kTernaryRows,
                              count = std::min(kTernaryRows, n_rows - first);
                loops.distances(words + first * planes.n_words, count, planes, distance.data());
                for (int64_t row = 0; row < count; ++row)
                    for (int64_t of = 0; of < n_classes; ++of)
                        scores[(first + row) * n_classes + of] =
                            scales[of] * (nonzeros[of] - 2 * distance[of * kTernaryRows + row]) +
                            biases[of];
            }
        });
}

}  // namespace kernelight
