// The inner loops of every sum over features for pairs of rows (see core/pairwise.h for the
// mathematics).
//
// A "panel" holds `width` rows side by side, feature by feature: entry (k, r) is at k * width + r.
// Every level gives the same bits: the sum of a pair runs over k in ascending order, in the type of
// the values, and is added to a double at the end of the panel.
#pragma once

#include <cstdint>

namespace kernelight {

// Sums of one row: of the negated negative entries, and of all absolute values.
struct RowSums {
    double negative, absolute;
};

template <class T>
struct PairwiseLoops {
    int x_width, y_width;  // rows of a panel of x and of y

    // total[i * stride + j] += sum over k of the term of pair (i, j), for the x_width times y_width
    // pairs.
    using AddBlock = void (*)(const T* x, const T* y, int64_t depth, double* total, int64_t stride);
    AddBlock add_min;   // min(u, v)
    AddBlock add_chi2;  // (u - v)^2 / (u + v), 0 where u = v = 0

    // One row of results from its sums of min(u, v); negative and absolute are the sums of the rows
    // of y.
    using Finish = void (*)(const double* total, int64_t count, RowSums x, const double* negative,
                            const double* absolute, T* out);
    Finish minmax;   // m / (S - m)
    Finish overlap;  // 2 m / S
};

#define KERNELIGHT_DECLARE_LOOPS(level) \
    namespace level { \
    PairwiseLoops<float> pairwise_loops_float32(); \
    PairwiseLoops<double> pairwise_loops_float64(); \
    }
KERNELIGHT_DECLARE_LOOPS(baseline)
KERNELIGHT_DECLARE_LOOPS(avx2)
KERNELIGHT_DECLARE_LOOPS(avx512)
#undef KERNELIGHT_DECLARE_LOOPS

}  // namespace kernelight
