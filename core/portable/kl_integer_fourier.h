/* kernelight algorithm version 1: Fourier features of whole numbers (docs/projection-spec.md,
 * section 8).
 *
 * A row of d numbers becomes n_outputs numbers between -1024 and 1024. Angles are whole numbers,
 * 2^16 to a turn of the circle, so that turns too many drop out by themselves:
 *
 *     w = floor(x g + 1/2)     g a number of 16 bits times a power of two
 *     v = H (s_0 o w)          the same for all outputs
 *     y = H (s_l o v)          a block l of D outputs
 *     q = wave(y + b)          phases b that go around the circle, the wave two parabolas for a
 *                              cosine
 *
 * H is the Hadamard matrix of a power-of-two width D, s are random signs, o is the product place by
 * place. Only x g is computed in double precision.
 */
#ifndef KL_INTEGER_FOURIER_H
#define KL_INTEGER_FOURIER_H

#include "kl_math.h"
#include "kl_random.h"

/* The smallest power of two that is at least d and 64. */
static inline uint64_t kl_integer_width(uint64_t d) {
    uint64_t width = 64;
    while (width < d) width *= 2;
    return width;
}

/* What numbers of a row are multiplied by, multiplier * 2^exponent. */
typedef struct {
    uint32_t multiplier;
    int32_t exponent;
} kl_integer_factor;

/* 2^16 / (2 pi sigma sqrt(width)), rounded to 16 bits: 2^15 <= multiplier < 2^16. It must be a
 * normal number. The root of a power of two is one too, or sqrt(2) times one. */
static inline kl_integer_factor kl_integer_factor_of(double sigma, uint64_t width) {
    double root = 1.0;
    for (; width >= 4; width /= 4) root *= 2.0;
    if (width == 2) root *= 1.4142135623730951;
    const double wanted = 65536.0 / 6.283185307179586477 / (sigma * root);
    kl_integer_factor factor;
    factor.exponent = (int32_t)(kl_bits_of_double(wanted) >> 52) - 1023 - 15;
    factor.multiplier = (uint32_t)(wanted * kl_power_of_two(-factor.exponent) + 0.5);
    if (factor.multiplier == 65536) {
        factor.multiplier = 32768;
        ++factor.exponent;
    }
    return factor;
}

static inline double kl_integer_factor_value(kl_integer_factor factor) {
    return (double)factor.multiplier * kl_power_of_two(factor.exponent);
}

/* floor(x * factor + 0.5) modulo 2^16, for results below 2^51. Adding 1.5 * 2^52 rounds to the
 * nearest whole number and leaves its low bits in those of the sum; where that is the number above,
 * one is taken off. No branch: loops over this function vectorise. */
static inline uint16_t kl_integer_angle(double x, double factor) {
    const double shift = 6755399441055744.0;
    const double raised = x * factor + 0.5;
    const double shifted = raised + shift;
    return (uint16_t)((uint32_t)kl_bits_of_double(shifted) - (uint32_t)(shifted - shift > raised));
}

/* The key of the signs of a block; block 0 is the first transform, which all outputs share. */
static inline uint64_t kl_integer_sign_key(uint64_t seed, uint64_t block) {
    return kl_child(kl_stream(seed, KL_STREAM_INTEGER_SIGN), block);
}

/* The signs 64 word .. 64 word + 63 of a key: a bit that is set is a minus. */
static inline uint64_t kl_integer_signs(uint64_t key, uint64_t word) { return kl_child(key, word); }

/* The phase of an output, 2^16 to a turn: 128 outputs go once around. Over 64 of them the products
 * of different harmonics of the wave cancel, as they would for random phases. */
static inline uint16_t kl_integer_phase(uint64_t output) { return (uint16_t)(output << 9); }

/* x <- H (s o x) modulo 2^16, in place, s the signs of a key. */
static inline void kl_integer_hadamard(uint16_t* x, uint64_t key, uint64_t width) {
    for (uint64_t at = 0; at < width; ++at)
        if ((kl_integer_signs(key, at / 64) >> (at % 64)) & 1) x[at] = (uint16_t)(0u - x[at]);
    for (uint64_t h = 1; h < width; h *= 2)
        for (uint64_t base = 0; base < width; base += 2 * h)
            for (uint64_t at = base; at < base + h; ++at) {
                const uint32_t a = x[at], b = x[at + h];
                x[at] = (uint16_t)(a + b);
                x[at + h] = (uint16_t)(a - b);
            }
}

/* a (2^15 - |a|) / 2^18, rounded, of a = 2^14 - |f|, f the angle from -2^15 to 2^15 - 1: a parabola
 * above and one below, 1024 at 0, 0 at quarters of a turn and -1024 at half a turn. */
static inline int16_t kl_integer_wave(uint16_t angle) {
    const int32_t f = (int32_t)(angle ^ UINT16_C(32768)) - 32768;
    const int32_t a = 16384 - (f < 0 ? -f : f);
    const int32_t product = a * (32768 - (a < 0 ? -a : a));
    /* shifted as a number above 0: shifts of negative ones are not defined */
    return (int16_t)((int32_t)((uint32_t)(product + (1 << 28) + (1 << 17)) >> 18) - 1024);
}

/* The numbers of a row; work has places for 2 * width angles. */
static inline void kl_integer_fourier(uint64_t seed, const double* x, uint64_t d, double factor,
                                      uint64_t n_outputs, uint16_t* work, int16_t* out) {
    const uint64_t width = kl_integer_width(d);
    uint16_t* y = work + width;
    for (uint64_t at = 0; at < width; ++at) work[at] = at < d ? kl_integer_angle(x[at], factor) : 0;
    kl_integer_hadamard(work, kl_integer_sign_key(seed, 0), width);
    for (uint64_t first = 0; first < n_outputs; first += width) {
        for (uint64_t at = 0; at < width; ++at) y[at] = work[at];
        kl_integer_hadamard(y, kl_integer_sign_key(seed, first / width + 1), width);
        for (uint64_t at = 0; at < width && first + at < n_outputs; ++at) {
            const uint64_t j = first + at;
            out[j] = kl_integer_wave((uint16_t)(y[at] + kl_integer_phase(j)));
        }
    }
}

#endif
