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
//     kept(m, y, c, b, q)         what a block keeps of each coordinate between visits: the inverse
//                                 curvature of D along b, where that does not depend on b; for the
//                                 logistic loss the logit of its dual
//     step(m, y, c, b, q, h)      the b that maximises D over this coordinate: m is the margin now,
//                                 q = |x_i|^2 > 0, h what was kept;
//     steps<outputs>              the same for all outputs of a row; it may change what is kept
//     moves<outputs>              whether a visit would change the dual of any output
//     value(m, y, c)              c loss(m, y)
//     conjugate(b, y, c)          its part of D
//     bound_gradient(m, y, c, b)  > 0 where b sits at a bound: the gradient that keeps it there,
//                                 which is by how much the margin would have to change to move it
//                                 (what liblinear shrinks by)
//
// and all of them give 0 (bound_gradient: a large number) for c = 0, which stands for no row or no
// class at all. A new loss is one more struct here, its name in linear_loops.h, and its formula in
// the tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

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

// Whether any of the numbers is not 0. As bits, because an OR of integers may be reordered into
// vectors and a maximum may not.
template <class Real, int outputs>
inline bool any_nonzero(const Real* values) {
    using Bits = std::conditional_t<sizeof(Real) == 4, uint32_t, uint64_t>;
    Bits all = 0;
    for (int output = 0; output < outputs; ++output) {
        Bits bits;
        __builtin_memcpy(&bits, values + output, sizeof bits);
        all |= bits << 1;  // -0 is 0
    }
    return all != 0;
}

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
    template <int outputs>
    bool moves(const Real* m, const Real* y, const Real* c, const Real* b, Real q,
               const Real* h) const {
        Real move[outputs];
        steps<outputs>(m, y, c, b, q, h, move);
        for (int output = 0; output < outputs; ++output) move[output] -= b[output];
        return any_nonzero<Real, outputs>(move);
    }
};

// loss = max(0, 1 - y m)^2; a = y b >= 0, conjugate a^2 / (4c) - a.
template <class Real>
struct SquaredHinge : OutputByOutput<SquaredHinge<Real>, Real> {
    explicit SquaredHinge(Real insensitive) : epsilon(insensitive) {}
    const Real epsilon;
    Real kept(Real, Real, Real c, Real, Real q) const { return 2 * c / (2 * c * q + 1); }
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
    Real kept(Real, Real, Real, Real, Real q) const { return 1 / q; }
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

// The exponential and the logarithm as plain expressions, so that loops over them vectorise. A
// number below 2^51 (2^22) plus 3 * 2^51 (3 * 2^22) is rounded to a whole number, which is then in
// the last bits of the sum.
inline int64_t bits_of(double x) {
    int64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline int32_t bits_of(float x) {
    int32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline double number_of(int64_t bits) {
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
inline float number_of(int32_t bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

// exp by 2^n (1 + r + r^2/2 + ...), |r| <= log(2)/2. Between -80 and 80.
inline double exponential(double x) {
    constexpr double kWhole = 6755399441055744.0;
    const double shifted = x * 1.4426950408889634 + kWhole, n = shifted - kWhole;
    const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double p = 1.0 / 39916800;
    const double divisors[] = {3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1};
#pragma GCC unroll 16
    for (double divisor : divisors) p = p * r + 1 / divisor;
    const int64_t power =
        static_cast<int64_t>(static_cast<uint64_t>(bits_of(shifted)) << 52) + (int64_t{1023} << 52);
    return p * number_of(power);
}
inline float exponential(float x) {
    constexpr float kWhole = 12582912.0f;
    const float shifted = x * 1.44269504f + kWhole, n = shifted - kWhole;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.0f / 720;
    const float divisors[] = {120, 24, 6, 2, 1, 1};
#pragma GCC unroll 16
    for (float divisor : divisors) p = p * r + 1 / divisor;
    const int32_t power =
        static_cast<int32_t>(static_cast<uint32_t>(bits_of(shifted)) << 23) + (int32_t{127} << 23);
    return p * number_of(power);
}

// log by n log(2) + 2 atanh((m - 1) / (m + 1)), x = 2^n m with m between sqrt(1/2) and sqrt(2); for
// normal x > 0.
inline double logarithm(double x) {
    constexpr int64_t kRootHalf = 0x3fe6a09e667f3bcd, kOne = int64_t{1023} << 52;
    constexpr double kWhole = 4503599627370496.0;
    const int64_t above = bits_of(x) + (kOne - kRootHalf);
    // the exponent, as the last bits of 2^52 plus itself
    const double n =
        number_of(static_cast<int64_t>(static_cast<uint64_t>(above) >> 52) | bits_of(kWhole)) -
        (kWhole + 1023);
    const double m = number_of((above & ((int64_t{1} << 52) - 1)) + kRootHalf);
    const double f = (m - 1) / (m + 1), square = f * f;
    double p = 1.0 / 21;
    const double divisors[] = {19, 17, 15, 13, 11, 9, 7, 5, 3};
#pragma GCC unroll 16
    for (double divisor : divisors) p = p * square + 1 / divisor;
    return n * 0.693147180369123816490 +
           (2 * f + (2 * f * square * p + n * 1.90821492927058770002e-10));
}

inline float logarithm(float x) {
    constexpr int32_t kRootHalf = 0x3f3504f3, kOne = int32_t{127} << 23;
    constexpr float kWhole = 8388608.0f;
    const int32_t above = bits_of(x) + (kOne - kRootHalf);
    const float n =
        number_of(static_cast<int32_t>(static_cast<uint32_t>(above) >> 23) | bits_of(kWhole)) -
        (kWhole + 127);
    const float m = number_of((above & ((int32_t{1} << 23) - 1)) + kRootHalf);
    const float f = (m - 1) / (m + 1), square = f * f;
    const float p = ((1.0f / 7) * square + 1.0f / 5) * square + 1.0f / 3;
    return n * 0.693147181f + (2 * f + 2 * f * square * p);
}

// loss = log(1 + exp(-y m)); 0 < a < c, conjugate a log(a/c) + (c - a) log(1 - a/c).
//
// With a = c s(t), s(t) = 1 / (1 + exp(-t)), a row is at its optimum where t = -y m. `still` is how
// far t may be from there without a visit: the part of the duality gap of a row, c times the
// divergence of s(t) from s(-y m), is about c s (1 - s) (t + y m)^2 / 2 and so at most still^2 / 2
// of its loss c log(1 + exp(-y m)) >= c s. If all rows are that near, the whole gap is at most
// still^2 / 2 of the objective.
template <class Real>
struct Logistic {
    explicit Logistic(Real still) : still_(still) {}
    Real kept(Real m, Real y, Real c, Real b, Real) const {
        const Real a = y * b, odds = a / larger(c - a, kSmallest);
        const Real t = logarithm(larger(kSmallest, smaller(1 / kSmallest, odds)));
        return c > 0 ? t : -y * m;
    }
    // The best t solves g(t) = t + y m + q (c s(t) - a) = 0, and g(t) is how far the row would then
    // be from its optimum. The solution is between the t of the dual, where g(t) = t + y m, and
    // -y m. As g is increasing, convex below 0 and concave above, Newton's method never passes the
    // solution if it starts at the end of that bracket, or at 0 if this is nearer, on the side of
    // 0. A visit ends when the row is `still`, or ten times nearer: the next sweep does the rest,
    // as the rows of a block move each other. All outputs together.
    template <int outputs>
    void steps(const Real* m, const Real* y, const Real* c, const Real* b, Real q, Real* t,
               Real* next) const {
        Real near[outputs], s[outputs], move[outputs], leave[outputs];
        for (int output = 0; output < outputs; ++output) {
            const Real z = y[output] * m[output], a = y[output] * b[output], before = t[output];
            const Real distance = size(before + z), least = larger(still_, kRounding * size(z));
            const Real middle = z + q * (c[output] / 2 - a);
            const Real start = middle > 0 ? smaller(Real(0), larger(before, -z))
                                          : larger(Real(0), smaller(before, -z));
            leave[output] = distance <= least ? Real(1) : Real(0);
            t[output] = distance <= least ? before : start;
            near[output] = larger(least, kNearer * smaller(distance, Real(1)));
        }
        for (int turn = 0; turn < kTurns; ++turn) {
            for (int output = 0; output < outputs; ++output) {
                s[output] = sigmoid(t[output]);
                const Real g = t[output] + y[output] * m[output] +
                               q * (c[output] * s[output] - y[output] * b[output]);
                const Real newton = -g / (1 + q * c[output] * s[output] * (1 - s[output]));
                move[output] = ((size(g) <= near[output]) | (leave[output] > 0)) ? Real(0) : newton;
            }
            if (!any_nonzero<Real, outputs>(move)) break;
            for (int output = 0; output < outputs; ++output) t[output] += move[output];
        }
        for (int output = 0; output < outputs; ++output)
            next[output] = leave[output] > 0 ? b[output] : y[output] * c[output] * s[output];
    }
    template <int outputs>
    bool moves(const Real* m, const Real* y, const Real*, const Real*, Real, const Real* t) const {
        Real far[outputs];
        for (int output = 0; output < outputs; ++output)
            far[output] = larger(size(t[output] + y[output] * m[output]) - still_, Real(0));
        return any_nonzero<Real, outputs>(far);
    }
    double value(double m, double y, double c) const {
        const double z = y * m, e = exponential(larger(-80.0, z < 0 ? z : -z)), whole = 1 + e;
        // what the sum has lost, to first order
        const double log1p = logarithm(whole) + (e - (whole - 1)) / whole;
        return c * (log1p + larger(0.0, -z));
    }
    double conjugate(double b, double y, double c) const {
        const double a = larger(0.0, y * b), rest = larger(0.0, c - y * b),
                     inverse = 1 / larger(c, kNothing);
        return a * logarithm(larger(a * inverse, kNothing)) +
               rest * logarithm(larger(rest * inverse, kNothing));
    }
    Real bound_gradient(Real, Real, Real c, Real) const { return c > 0 ? Real(-1) : Real(kFar); }

   private:
    static constexpr int kTurns = 60;
    static constexpr Real kRounding = sizeof(Real) == 4 ? Real(1e-6) : Real(1e-15);
    static constexpr Real kSmallest = Real(1e-35), kNearer = Real(0.1);
    static constexpr double kNothing = 1e-300;
    const Real still_;
    static Real size(Real x) { return x < 0 ? -x : x; }
    static Real sigmoid(Real t) {
        return 1 / (1 + exponential(larger(Real(-80), smaller(Real(80), -t))));
    }
};

// loss = (m - y)^2, conjugate b^2 / (4c) - y b.
template <class Real>
struct Squared : OutputByOutput<Squared<Real>, Real> {
    explicit Squared(Real insensitive) : epsilon(insensitive) {}
    const Real epsilon;
    Real kept(Real, Real, Real c, Real, Real q) const { return 2 * c / (2 * c * q + 1); }
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
    Real kept(Real, Real, Real, Real, Real q) const { return 1 / q; }
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
