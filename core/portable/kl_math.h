/* kernelight algorithm version 1: functions that must give the same bits everywhere
 * (docs/hash-spec.md, section 3).
 *
 * Only IEEE + - * / and bit operations, in a fixed order, never contracted to fused multiply-add:
 * libm's log differs between platforms by an ulp, ours does not.
 */
#ifndef KL_MATH_H
#define KL_MATH_H

#include <stdint.h>
#include <string.h>

/* Floats must be rounded as floats. Strict C (-std=c99) of gcc computes them in double on s390x, and
 * x87 in its own precision. */
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "floats are not rounded as floats: use -fexcess-precision=fast, or -mfpmath=sse"
#endif

static inline uint64_t kl_bits_of_double(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double kl_double_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^n, -1022 <= n <= 1023. */
static inline double kl_power_of_two(int n) {
    return kl_double_of_bits((uint64_t)(1023 + n) << 52);
}

static inline uint32_t kl_bits_of_float(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float kl_float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Natural logarithm of a positive normal double, within 1.5 ulp.
 *
 * x = m 2^e with m in [sqrt(1/2), sqrt(2)), s = (m - 1)/(m + 1), z = s^2 <= 0.0295, and
 *     log m = 2 atanh s = 2s + 2s (z/3 + z^2/5 + ... + z^11/23),
 * the next term is below 2^-60. Subtracting the bits of sqrt(1/2) makes the exponent field count
 * from there, so that m and e come out without a comparison. No branch: loops over this function
 * vectorise.
 */
static inline double kl_log_normal(double x) {
    const uint64_t sqrt_half = UINT64_C(0x3FE6A09E667F3BCD);
    const uint64_t shifted = kl_bits_of_double(x) - sqrt_half + (UINT64_C(1023) << 52);
    /* The biased exponent as a double, by planting its bits under 2^52: no integer conversion
     * needed. */
    const double e =
        kl_double_of_bits((shifted >> 52) | UINT64_C(0x4330000000000000)) - 4503599627371519.0;
    const double m = kl_double_of_bits((shifted & UINT64_C(0x000FFFFFFFFFFFFF)) + sqrt_half);
    const double s = (m - 1.0) / (m + 1.0);
    const double z = s * s;
    double p = 1.0 / 23.0;
    p = p * z + 1.0 / 21.0;
    p = p * z + 1.0 / 19.0;
    p = p * z + 1.0 / 17.0;
    p = p * z + 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    p = p * z;
    const double twice = s + s;
    /* ln 2 in two parts: the first has 32 bits, so e * first is exact. */
    const double ln2_high = 0.693147180369123816490, ln2_low = 1.90821492927058770002e-10;
    return e * ln2_high + (twice + (twice * p + e * ln2_low));
}

/* The same for every positive finite double, subnormals included. */
static inline double kl_log(double x) {
    if (x < 2.2250738585072014e-308)
        return kl_log_normal(x * 18014398509481984.0) - 37.429947750237047899;
    return kl_log_normal(x);
}

/* Largest whole number <= y in single precision. Values of 2^23 and more are whole already. */
static inline float kl_floor_float(float y) {
    if (!(y < 8388608.0f && y > -8388608.0f)) return y;
    const float whole = (float)(int32_t)y;
    return whole > y ? whole - 1.0f : whole;
}

/* Smallest float >= x, for 0 <= x; above the largest float, infinity. No branch: loops over it
 * vectorise. */
static inline float kl_float_above(double x) {
    const float nearest = (float)x;
    return kl_float_of_bits(kl_bits_of_float(nearest) + (uint32_t)((double)nearest < x));
}

#endif
