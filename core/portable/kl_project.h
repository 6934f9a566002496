/* kernelight algorithm version 1: projections of a row and what is read from them
 * (docs/projection-spec.md, sections 3 to 5).
 *
 * A projection turns a row x of d values into m numbers y_j = w_j . x with random w_j; a readout
 * turns each into a bit (or a feature). Dense projections draw every w_ji. Structured ones are
 * never written out as a matrix: H is the Hadamard matrix of a power-of-two width D >= d (entries
 * +-1), and the row is padded with zeros. One block gives D outputs:
 *
 *     three HD blocks   y = L o (H D2 H D1 H D0 x),              D random signs, L the lengths of
 *                       the rows (all 1 for signs)
 *     fastfood          y = L o (H (G o P (H (B o x)))),         B signs, P a permutation, G
 *                       normals
 *
 * Everything is single precision, in the order written.
 */
#ifndef KL_PROJECT_H
#define KL_PROJECT_H

#include "kl_draw.h"

/* x <- H x, unnormalised, in place: for h = 1, 2, 4 ... every pair (a, b) at distance h becomes (a
 * + b, a - b). */
static inline void kl_hadamard(float* x, uint64_t width) {
    for (uint64_t h = 1; h < width; h *= 2)
        for (uint64_t base = 0; base < width; base += 2 * h)
            for (uint64_t at = base; at < base + h; ++at) {
                const float a = x[at], b = x[at + h];
                x[at] = a + b;
                x[at + h] = a - b;
            }
}

/* The key of the `turn`-th diagonal of signs (0 is applied first) of a block of three HD. */
static inline uint64_t kl_hadamard_key(uint64_t seed, uint64_t block, uint64_t turn) {
    return kl_child(kl_child(kl_stream(seed, KL_STREAM_HADAMARD), block), turn);
}

/* The key of one part of a Fastfood block: 0 signs, 1 permutation, 2 normals, 3 lengths. */
static inline uint64_t kl_fastfood_key(uint64_t seed, uint64_t block, uint64_t part) {
    return kl_child(kl_child(kl_stream(seed, KL_STREAM_FASTFOOD), block), part);
}

static inline float kl_gaussian_entry(uint64_t seed, uint64_t feature, uint64_t output) {
    return (float)kl_normal(kl_child(kl_stream(seed, KL_STREAM_GAUSSIAN), feature), output);
}

static inline float kl_cauchy_entry(uint64_t seed, uint64_t feature, uint64_t output) {
    return (float)kl_cauchy(kl_child(kl_child(kl_stream(seed, KL_STREAM_CAUCHY), feature), output));
}

/* The length factor of an output of three HD blocks: the row of H D H D H D has length D^(3/2);
 * `factor` brings it to 1 and holds the bandwidth. */
static inline float kl_hadamard_length(uint64_t seed, uint64_t output, uint64_t width,
                                       double factor) {
    return (float)(kl_chi(kl_child(kl_stream(seed, KL_STREAM_LENGTH), output), width) * factor);
}

/* Fastfood: a row of H G P H B has length sqrt(D) |G|; normals_length = |G|, `factor` holds 1 /
 * sqrt(D) and the bandwidth. */
static inline float kl_fastfood_length(uint64_t seed, uint64_t block, uint64_t at, uint64_t width,
                                       double normals_length, double factor) {
    return (float)(kl_chi(kl_child(kl_fastfood_key(seed, block, 3), at), width) / normals_length *
                   factor);
}

static inline double kl_length_of(const float* values, uint64_t count) {
    double sum = 0.0;
    for (uint64_t at = 0; at < count; ++at) sum += (double)values[at] * (double)values[at];
    return kl_sqrt(sum);
}

/* Orthogonal directions for the outputs of one block: the rows of W are those of an iid Gaussian
 * block made orthogonal one after the other (Gram and Schmidt, the modified form, which is uniform
 * over all orthonormal systems), each brought to the length of a Gaussian vector of its own. Sums
 * run in 16 lanes i mod 16, added up at the end from the first to the last.
 */
static inline double kl_dot(const double* a, const double* b, uint64_t count) {
    double lanes[16] = {0.0};
    double sum = 0.0;
    uint64_t at = 0;
    for (; at + 16 <= count; at += 16)
        for (int lane = 0; lane < 16; ++lane) lanes[lane] += a[at + lane] * b[at + lane];
    for (int lane = 0; at < count; ++at, ++lane) lanes[lane] += a[at] * b[at];
    for (int lane = 0; lane < 16; ++lane) sum += lanes[lane];
    return sum;
}

/* Takes from `mine` what it has of `other`, a vector of length 1. */
static inline void kl_take_off(double* mine, const double* other, uint64_t width) {
    const double along = kl_dot(mine, other, width);
    for (uint64_t at = 0; at < width; ++at) mine[at] -= along * other[at];
}

static inline void kl_unit_length(double* mine, uint64_t width) {
    const double length = kl_sqrt(kl_dot(mine, mine, width));
    for (uint64_t at = 0; at < width; ++at) mine[at] /= length;
}

/* rows is (n_rows, width), n_rows <= width. */
static inline void kl_orthonormalize(double* rows, uint64_t n_rows, uint64_t width) {
    for (uint64_t row = 0; row < n_rows; ++row) {
        for (uint64_t before = 0; before < row; ++before)
            kl_take_off(rows + row * width, rows + before * width, width);
        kl_unit_length(rows + row * width, width);
    }
}

static inline float kl_phase(uint64_t seed, uint64_t output) {
    return (float)kl_uniform_high(kl_child(kl_stream(seed, KL_STREAM_PHASE), output));
}

static inline float kl_threshold(uint64_t seed, uint64_t output) {
    return (float)(2.0 * kl_uniform_high(kl_child(kl_stream(seed, KL_STREAM_THRESHOLD), output)) -
                   1.0);
}

typedef struct {
    float cosine, sine;
} kl_circle_float;

/* cos and sin of y turns in single precision, |y| < 2^20, within 1e-7. As kl_circle_at; the
 * coefficients are those of the series in turns, (2 pi)^n / n!. */
static inline kl_circle_float kl_circle_of(float y) {
    const float shift = 12582912.0f;
    const float shifted = 4.0f * y + shift;
    const uint32_t quarter = kl_bits_of_float(shifted);
    const float f = y - 0.25f * (shifted - shift);
    const float z = f * f;
    float c = 60.244641f, s = 42.058693f;
    c = c * z - 85.456817f;
    s = s * z - 76.705860f;
    c = c * z + 64.939394f;
    s = s * z + 81.605249f;
    c = c * z - 19.739209f;
    s = s * z - 41.341702f;
    c = c * z + 1.0f;
    s = s * z + 6.2831853f;
    s = s * f;
    const uint32_t swap = 0u - (quarter & 1u);
    const uint32_t c_bits = kl_bits_of_float(c), s_bits = kl_bits_of_float(s);
    const uint32_t other = (c_bits ^ s_bits) & swap;
    kl_circle_float at;
    at.cosine = kl_float_of_bits((c_bits ^ other) ^ (((quarter + 1u) & 2u) << 30));
    at.sine = kl_float_of_bits((s_bits ^ other) ^ ((quarter & 2u) << 30));
    return at;
}

/* The bit of a sign projection; 0 counts as positive. */
static inline int kl_sign_bit(float y) { return y >= 0.0f; }

/* The same for three HD blocks, whose projections of rows such as (1, 1, 0, ...) are sums of a few
 * equal numbers and often 0, up to rounding. What counts then is a random sign of the output,
 * turned with the row: opposite rows must differ there as well. `turn` is -1 if the first number of
 * the row that is not 0 is negative, else 1. The largest number of a row is between 1 and 2, so
 * sums of equal numbers are 0 or at least 2; `slack`, the width / 2^14 but at most 1, is far above
 * their rounding. */
static inline float kl_tie(uint64_t seed, uint64_t output) {
    return kl_sign(kl_stream(seed, KL_STREAM_TIE), output);
}
static inline float kl_slack(uint64_t width) {
    return width < 16384 ? (float)width * (1.0f / 16384.0f) : 1.0f;
}
static inline int kl_sign_bit_tied(float y, float slack, float tie, float turn) {
    return ((y < 0.0f ? -y : y) <= slack ? tie * turn : y) >= 0.0f;
}

/* The bit of a thresholded cosine: sign(cos(2 pi (y + phase)) + threshold), 0 counts as positive.
 */
static inline int kl_cosine_bit(float y, float phase, float threshold) {
    return kl_circle_of(y + phase).cosine + threshold >= 0.0f;
}

#endif
