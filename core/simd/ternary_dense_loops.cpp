// Ternary models on dense features: sums of losses over rows after a step along a column.
//
// Terms of some rows are computed first, in a plain loop that vectorises whatever the loss; then
// they are added lane by lane.
#include "simd/ternary_dense_loops.h"

#include <cmath>

#include "simd/linear_loops.h"
#include "simd/losses.h"

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

constexpr int64_t kRows =
    32 * kTernaryLanes;  // rows whose terms are computed before they are added

typedef double Lanes __attribute__((vector_size(8 * kTernaryLanes)));

struct LaneSums {
    Lanes sums = {};

    void add(const double* terms, int64_t count) {
        Lanes all = sums;
        for (int64_t at = 0; at < count; at += kTernaryLanes) {
            Lanes some;
            __builtin_memcpy(&some, terms + at, sizeof some);
            all += some;
        }
        sums = all;
    }
    double total() const {
        double lanes[kTernaryLanes];
        __builtin_memcpy(lanes, &sums, sizeof lanes);
        for (int64_t half = kTernaryLanes / 2; half; half /= 2)
            for (int64_t at = 0; at < half; ++at) lanes[at] += lanes[at + half];
        return lanes[0];
    }
};

inline double label(double signed_weight) { return std::copysign(1.0, signed_weight); }

// The sums of two terms of each row, which `term(row, first, second)` computes.
template <class Term>
inline TernarySums sums_of(int64_t n_rows, const Term& term) {
    LaneSums first, second;
    double some[kRows], others[kRows];
    for (int64_t begin = 0; begin < n_rows; begin += kRows) {
        const int64_t count = n_rows - begin < kRows ? n_rows - begin : kRows;
        for (int64_t at = 0; at < count; ++at) term(begin + at, some[at], others[at]);
        first.add(some, count);
        second.add(others, count);
    }
    return {first.total(), second.total()};
}

template <class Loss>
TernarySums losses_of(const TernaryColumn& of, double step1, double step2) {
    const Loss loss(0.0);
    const float* values = of.values;
    const double *scores = of.scores, *signed_weights = of.signed_weights;
    return sums_of(of.count, [=](int64_t row, double& first, double& second) {
        const double x = values[row], score = scores[row], weight = signed_weights[row];
        const double y = label(weight), c = std::fabs(weight);
        first = loss.value(score + step1 * x, y, c);
        second = loss.value(score + step2 * x, y, c);
    });
}

TernarySums losses(int loss, const TernaryColumn& of, double step1, double step2) {
    if (loss == squared_hinge) return losses_of<SquaredHinge<double>>(of, step1, step2);
    if (loss == logistic) return losses_of<Logistic<double>>(of, step1, step2);
    return losses_of<Squared<double>>(of, step1, step2);
}

void logistic_slopes(const double* scores, const double* signed_weights, int64_t count,
                     double* slope, double* curvature) {
    for (int64_t row = 0; row < count; ++row) {
        const double weight = signed_weights[row], margin = label(weight) * scores[row];
        const double e = exponential(larger(-80.0, smaller(80.0, margin))), lack = 1 / (1 + e);
        slope[row] = -weight * lack;
        curvature[row] = std::fabs(weight) * lack * (1 - lack);
    }
}

TernarySums moments(const float* values, const double* slope, const double* curvature,
                    int64_t count) {
    return sums_of(count, [=](int64_t row, double& first, double& second) {
        const double x = values[row];
        first = slope[row] * x;
        second = curvature[row] * x * x;
    });
}

void add(const float* values, double step, int64_t count, double* totals) {
    for (int64_t row = 0; row < count; ++row) totals[row] += step * values[row];
}

void scale(const double* totals, double scale, double bias, int64_t count, double* scores) {
    for (int64_t row = 0; row < count; ++row) scores[row] = scale * totals[row] + bias;
}

}  // namespace

extern const TernaryDenseLoops ternary_dense_loops;
const TernaryDenseLoops ternary_dense_loops = {losses, logistic_slopes, moments, add, scale};

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
