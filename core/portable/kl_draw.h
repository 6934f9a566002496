/* kernelight algorithm version 1: random numbers of other laws than the uniform
 * (docs/projection-spec.md, sections 1 and 2).
 *
 * Each is a pure function of a word or a key, built from IEEE + - * / in a fixed order, so that a
 * seed means the same projection everywhere.
 */
#ifndef KL_DRAW_H
#define KL_DRAW_H

#include "kl_math.h"
#include "kl_random.h"

/* Square root of a positive normal double, within an ulp: halving the exponent field gives a start
 * within 4%, and each step of Newton squares the error: 4e-2, 8e-4, 3e-7, 5e-14, rounding. */
static inline double kl_sqrt(double x) {
    double y = kl_double_of_bits((kl_bits_of_double(x) >> 1) + UINT64_C(0x1FF7A3BEA91D9B1B));
    y = 0.5 * (y + x / y);
    y = 0.5 * (y + x / y);
    y = 0.5 * (y + x / y);
    return 0.5 * (y + x / y);
}

typedef struct {
    double cosine, sine;
} kl_circle;

/* cos and sin of u turns, |u| < 2^40. The nearest quarter turn is taken off exactly (adding 1.5 *
 * 2^52 rounds to whole numbers and leaves the number of quarters in the low bits); the rest, below
 * 1/8 turn, goes through Taylor's series, whose next terms are below 2^-54. No branch: loops over
 * this function vectorise. */
static inline kl_circle kl_circle_at(double u) {
    const double shift = 6755399441055744.0;
    const double shifted = 4.0 * u + shift;
    const uint64_t quarter = kl_bits_of_double(shifted);
    const double x = 6.283185307179586477 * (u - 0.25 * (shifted - shift));
    const double z = x * x;
    double c = 1.0 / 20922789888000.0, s = -1.0 / 1307674368000.0;
    c = c * z - 1.0 / 87178291200.0;
    s = s * z + 1.0 / 6227020800.0;
    c = c * z + 1.0 / 479001600.0;
    s = s * z - 1.0 / 39916800.0;
    c = c * z - 1.0 / 3628800.0;
    s = s * z + 1.0 / 362880.0;
    c = c * z + 1.0 / 40320.0;
    s = s * z - 1.0 / 5040.0;
    c = c * z - 1.0 / 720.0;
    s = s * z + 1.0 / 120.0;
    c = c * z + 1.0 / 24.0;
    s = s * z - 1.0 / 6.0;
    c = c * z - 0.5;
    c = c * z + 1.0;
    s = s * z * x + x;
    const uint64_t swap = UINT64_C(0) - (quarter & 1);
    const uint64_t c_bits = kl_bits_of_double(c), s_bits = kl_bits_of_double(s);
    const uint64_t other = (c_bits ^ s_bits) & swap;
    kl_circle at;
    at.cosine = kl_double_of_bits((c_bits ^ other) ^ (((quarter + 1) & 2) << 62));
    at.sine = kl_double_of_bits((s_bits ^ other) ^ ((quarter & 2) << 62));
    return at;
}

/* Two independent standard normals from one word (Box and Muller): radius from its high half,
 * direction from its low. */
static inline kl_circle kl_normal_pair(uint64_t word) {
    const double radius = kl_sqrt(-2.0 * kl_log_normal(kl_uniform_high(word)));
    const kl_circle direction = kl_circle_at(kl_uniform_low(word));
    kl_circle pair;
    pair.cosine = radius * direction.cosine;
    pair.sine = radius * direction.sine;
    return pair;
}

/* The n-th standard normal of a key: normals 2n and 2n + 1 share a word. */
static inline double kl_normal(uint64_t key, uint64_t n) {
    const kl_circle pair = kl_normal_pair(kl_child(key, n >> 1));
    return n & 1 ? pair.sine : pair.cosine;
}

/* A standard Cauchy variable, cot(pi u), at most 2.8e9 in size. */
static inline double kl_cauchy(uint64_t word) {
    const kl_circle at = kl_circle_at(0.5 * kl_uniform_high(word));
    return at.cosine / at.sine;
}

/* The length of a standard normal vector of n >= 1 dimensions: the root of twice a Gamma(n / 2)
 * variable, which is m (1 + c z)^3, accepted with the right probability (Marsaglia and Tsang 2000);
 * fewer than 1.05 trials on average. */
static inline double kl_chi(uint64_t key, uint64_t n) {
    if (n == 1) {
        const double z = kl_normal(key, 0);
        return z < 0.0 ? -z : z;
    }
    const double m = 0.5 * (double)n - 1.0 / 3.0;
    const double c = 1.0 / (3.0 * kl_sqrt(m));
    for (uint64_t trial = 0;; ++trial) {
        const double z = kl_normal_pair(kl_child(key, 2 * trial)).cosine;
        const double base = 1.0 + c * z;
        if (base <= 0.0) continue;
        const double v = base * base * base;
        const double log_u = kl_log_normal(kl_uniform_high(kl_child(key, 2 * trial + 1)));
        if (log_u < 0.5 * z * z + m - m * v + m * kl_log_normal(v)) return kl_sqrt(2.0 * m * v);
    }
}

/* The n-th random sign of a key, 64 to a word. */
static inline float kl_sign(uint64_t key, uint64_t n) {
    return (kl_child(key, n >> 6) >> (n & 63)) & 1 ? -1.0f : 1.0f;
}

/* A permutation of 0 .. n - 1, n <= 2^31, by exchanges from the top (Fisher and Yates). */
static inline void kl_permutation(uint64_t key, uint32_t n, int32_t* out) {
    for (uint32_t at = 0; at < n; ++at) out[at] = (int32_t)at;
    for (uint32_t at = n; at-- > 1;) {
        const uint32_t with = (uint32_t)(((kl_child(key, at) >> 32) * ((uint64_t)at + 1)) >> 32);
        const int32_t kept = out[at];
        out[at] = out[with];
        out[with] = kept;
    }
}

#endif
