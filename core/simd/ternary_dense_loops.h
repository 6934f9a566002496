// The loops of ternary_dense_loops.cpp, one table for each instruction set.
#pragma once

#include <cstdint>

namespace kernelight {

// Rows come in whole groups of kTernaryLanes; those that only fill the last group have weight 0.
constexpr int64_t kTernaryLanes = 8;

// A column of features, and of one class the scores alpha s_i + b as they are and y_i c_i, the
// weight of a row with the sign of its label. count is a multiple of kTernaryLanes.
struct TernaryColumn {
    const float* values;
    const double *scores, *signed_weights;
    int64_t count;
};

// Sums of two terms over rows. Row i is added up in lane i mod kTernaryLanes and lanes are added in
// a fixed order: the same bits everywhere.
struct TernarySums {
    double first, second;
};

struct TernaryDenseLoops {
    // sum_i c_i l(y_i (scores_i + step values_i)) for two steps; loss is one of LossKind.
    TernarySums (*losses)(int loss, const TernaryColumn& of, double step1, double step2);
    // Of the logistic loss: slope_i = y_i c_i l'(y_i scores_i) and curvature_i = c_i l''(...).
    void (*logistic_slopes)(const double* scores, const double* signed_weights, int64_t count,
                            double* slope, double* curvature);
    // sum_i slope_i values_i and sum_i curvature_i values_i^2.
    TernarySums (*moments)(const float* values, const double* slope, const double* curvature,
                           int64_t count);
    // totals += step * values, for count rows of any number.
    void (*add)(const float* values, double step, int64_t count, double* totals);
    // scores = scale * totals + bias, for count rows of any number.
    void (*scale)(const double* totals, double scale, double bias, int64_t count, double* scores);
};

namespace baseline {
extern const TernaryDenseLoops ternary_dense_loops;
}
#if defined(KERNELIGHT_X86)
namespace avx2 {
extern const TernaryDenseLoops ternary_dense_loops;
}
namespace avx512 {
extern const TernaryDenseLoops ternary_dense_loops;
}
#endif

}  // namespace kernelight
