// Losses of linear models, as the dual coordinate solver of core/solve_dual.h needs them.
//
// The problem of one class or output, for rows x_i with costs c_i >= 0 (C times the weight of the
// row) and targets y_i (+1, -1, or a number), is
//
//     min_w P(w) = 1/2 |w|^2 + sum_i c_i loss(m_i, y_i),    m_i = w . x_i,
//     max_b D(b) = -1/2 |w|^2 - sum_i conjugate(b_i),       w = sum_i b_i x_i,
//
// P(w) >= D(b) for every pair, with equality at the optimum: P - D certifies how far a solution can
// be from it (Hsieh et al. 2008 for the hinges, Yu et al. 2011 for the logistic loss, Ho and Lin
// 2012 for regression). A loss is a struct with
//
//     step(m, y, c, b, q, h)      the b that maximises D over this coordinate: m is the margin now,
//                                 q = |x_i|^2 > 0;
//     steps<outputs>              the same for all outputs of a row
//     inverse_curvature(c, q)     the h of a step: 1 over the curvature of D along b, where that
//                                 does not depend on b, else 0
//     value(m, y, c)              c loss(m, y)
//     conjugate(b, y, c)          its part of D
//     bound_gradient(m, y, c, b)  > 0 where b sits at a bound: the gradient that keeps it there,
//                                 which is by how much the margin would have to change to move it
//                                 (what liblinear shrinks by)
//
// and all four give 0 (bound_gradient: a large number) for c = 0, which stands for no row or no
// class at all. A new loss is one more struct here, its name in linear_loops.h, and its formula in
// the tests.
#pragma once

#include <cmath>

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

template <class Real>
inline Real larger(Real a, Real b) {
    return a > b ? a : b;
}
template <class Real>
inline Real smaller(Real a, Real b) {
    return a < b ? a : b;
}

constexpr float kFar = 1e30f;

// The steps of all outputs of a row, for losses whose step is one expression.
template <class Loss, class Real>
struct OutputByOutput {
    template <int outputs>
    void steps(const Real* m, const Real* y, const Real* c, const Real* b, Real q, const Real* h,
               Real* next) const {
        const Loss& loss = static_cast<const Loss&>(*this);
        for (int output = 0; output < outputs; ++output)
            next[output] = loss.step(m[output], y[output], c[output], b[output], q, h[output]);
    }
};

// loss = max(0, 1 - y m)^2; a = y b >= 0, conjugate a^2 / (4c) - a.
template <class Real>
struct SquaredHinge : OutputByOutput<SquaredHinge<Real>, Real> {
    explicit SquaredHinge(Real insensitive) : epsilon(insensitive) {}
    const Real epsilon;
    Real inverse_curvature(Real c, Real q) const { return 2 * c / (2 * c * q + 1); }
    Real step(Real m, Real y, Real, Real b, Real q, Real h) const {
        const Real a = (y * (b * q - m) + 1) * h;
        return y * larger(a, Real(0));
    }
    double value(double m, double y, double c) const {
        const double lack = larger(0.0, 1 - y * m);
        return c * lack * lack;
    }
    double conjugate(double b, double y, double c) const {
        return c > 0 ? b * b / (4 * c) - y * b : 0;
    }
    Real bound_gradient(Real m, Real y, Real c, Real b) const {
        return c > 0 ? (b == 0 ? y * m - 1 : Real(-1)) : Real(kFar);
    }
};

// loss = max(0, 1 - y m); 0 <= a <= c, conjugate -a.
template <class Real>
struct Hinge : OutputByOutput<Hinge<Real>, Real> {
    explicit Hinge(Real insensitive) : epsilon(insensitive) {}
    const Real epsilon;
    Real inverse_curvature(Real, Real q) const { return 1 / q; }
    Real step(Real m, Real y, Real c, Real b, Real, Real h) const {
        const Real a = y * b + (1 - y * m) * h;
        return y * smaller(larger(a, Real(0)), c);
    }
    double value(double m, double y, double c) const { return c * larger(0.0, 1 - y * m); }
    double conjugate(double b, double y, double) const { return -y * b; }
    Real bound_gradient(Real m, Real y, Real c, Real b) const {
        const Real inside = y * b >= c ? 1 - y * m : Real(-1);
        return c > 0 ? (b == 0 ? y * m - 1 : inside) : Real(kFar);
    }
};

// exp by 2^n (1 + r + r^2/2 + ...), |r| <= log(2)/2: a plain expression, so that loops over it
// vectorise. Between -80 and 80.
inline double exponential(double x) {
    const double n = std::floor(x * 1.4426950408889634 + 0.5);
    const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double p = 1.0 / 39916800;
    const double divisors[] = {3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1};
#pragma GCC unroll 16
    for (double divisor : divisors) p = p * r + 1 / divisor;
    const int64_t bits = (static_cast<int64_t>(n) + 1023) << 52;
    double power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return p * power;
}
inline float exponential(float x) {
    const float n = std::floor(x * 1.44269504f + 0.5f);
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.0f / 720;
    const float divisors[] = {120, 24, 6, 2, 1, 1};
#pragma GCC unroll 16
    for (float divisor : divisors) p = p * r + 1 / divisor;
    const int32_t bits = (static_cast<int32_t>(n) + 127) << 23;
    float power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return p * power;
}

// loss = log(1 + exp(-y m)); 0 < a < c, conjugate a log(a/c) + (c - a) log(1 - a/c).
template <class Real>
struct Logistic {
    explicit Logistic(Real) {}
    // With a = c s(t), s(t) = 1 / (1 + exp(-t)), the best t solves g(t) = t + y m + q (c s(t) - a)
    // = 0, where g' >= 1: Newton where its steps halve and stay inside a bracket that every
    // evaluation narrows, else halving the bracket; all outputs together. It starts at -y m, the
    // solution at the optimum.
    template <int outputs>
    void steps(const Real* m, const Real* y, const Real* c, const Real* b, Real q, const Real*,
               Real* next) const {
        Real low[outputs], high[outputs], t[outputs], last[outputs];
        for (int output = 0; output < outputs; ++output) {
            const Real z = y[output] * m[output], a = y[output] * b[output];
            low[output] = -z - q * (c[output] - a);
            high[output] = -z + q * a;
            t[output] = -z;
            last[output] = q * c[output];
        }
        for (int turn = 0; turn < kTurns; ++turn) {
            int far = 0;
            for (int output = 0; output < outputs; ++output) {
                const Real s = sigmoid(t[output]);
                const Real g =
                    t[output] + y[output] * m[output] + q * (c[output] * s - y[output] * b[output]);
                low[output] = g < 0 ? t[output] : low[output];
                high[output] = g > 0 ? t[output] : high[output];
                const Real newton = -g / (1 + q * c[output] * s * (1 - s)),
                           halving = low[output] + (high[output] - low[output]) / 2 - t[output];
                const Real length = newton < 0 ? -newton : newton, next_t = t[output] + newton;
                const bool safe =
                    (next_t > low[output]) & (next_t < high[output]) & (2 * length <= last[output]);
                const Real move = safe ? newton : halving;
                last[output] = move < 0 ? -move : move;
                far |= last[output] > kNear * (1 + (t[output] < 0 ? -t[output] : t[output]));
                t[output] += move;
            }
            if (!far) break;
        }
        for (int output = 0; output < outputs; ++output)
            next[output] = y[output] * c[output] * sigmoid(t[output]);
    }
    Real inverse_curvature(Real, Real) const { return 0; }
    double value(double m, double y, double c) const {
        const double z = y * m;
        return c * (z > 0 ? std::log1p(std::exp(-z)) : std::log1p(std::exp(z)) - z);
    }
    double conjugate(double b, double y, double c) const {
        const double a = y * b, rest = c - a;
        return (a > 0 ? a * std::log(a / c) : 0) + (rest > 0 ? rest * std::log(rest / c) : 0);
    }
    Real bound_gradient(Real, Real, Real c, Real) const { return c > 0 ? Real(-1) : Real(kFar); }

   private:
    static constexpr int kTurns = 60;
    static constexpr Real kNear = sizeof(Real) == 4 ? Real(1e-5) : Real(1e-11);
    static Real sigmoid(Real t) {
        return 1 / (1 + exponential(larger(Real(-80), smaller(Real(80), -t))));
    }
};

// loss = (m - y)^2, conjugate b^2 / (4c) - y b.
template <class Real>
struct Squared : OutputByOutput<Squared<Real>, Real> {
    explicit Squared(Real insensitive) : epsilon(insensitive) {}
    const Real epsilon;
    Real inverse_curvature(Real c, Real q) const { return 2 * c / (2 * c * q + 1); }
    Real step(Real m, Real y, Real, Real b, Real q, Real h) const { return (b * q - m + y) * h; }
    double value(double m, double y, double c) const { return c * (m - y) * (m - y); }
    double conjugate(double b, double y, double c) const {
        return c > 0 ? b * b / (4 * c) - y * b : 0;
    }
    Real bound_gradient(Real, Real, Real c, Real) const { return c > 0 ? Real(-1) : Real(kFar); }
};

// loss = max(0, |m - y| - epsilon); |b| <= c, conjugate epsilon |b| - y b.
template <class Real>
struct EpsilonInsensitive : OutputByOutput<EpsilonInsensitive<Real>, Real> {
    explicit EpsilonInsensitive(Real insensitive) : epsilon(insensitive) {}
    const Real epsilon;
    Real inverse_curvature(Real, Real q) const { return 1 / q; }
    Real step(Real m, Real y, Real c, Real b, Real, Real h) const {
        const Real free = b + (y - m) * h, dead = epsilon * h;
        const Real shrunk = larger(free - dead, Real(0)) + smaller(free + dead, Real(0));
        return smaller(larger(shrunk, -c), c);
    }
    double value(double m, double y, double c) const {
        return c * larger(0.0, std::fabs(m - y) - epsilon);
    }
    double conjugate(double b, double y, double) const { return epsilon * std::fabs(b) - y * b; }
    Real bound_gradient(Real m, Real y, Real c, Real b) const {
        const Real lack = y - m, size = lack < 0 ? -lack : lack;
        const Real outside = b >= c ? lack - epsilon : (b <= -c ? -lack - epsilon : Real(-1));
        return c > 0 ? (b == 0 ? epsilon - size : outside) : Real(kFar);
    }
};

}  // namespace
}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
