/* kernelight algorithm version 1: dart sampling, the definition (docs/hash-spec.md, section 5;
 * Christiani 2020).
 *
 * Every expanded coordinate owns a quadrant weight x rank with a Poisson process of `rate` darts
 * per unit area, the same for all data. A row with values u_i owns the darts of coordinate i whose
 * weight is below u_i. Each dart belongs to one of k slots; the sample of a row in a slot is its
 * owned dart of least rank. Two rows agree in a slot with probability sum min / sum max exactly,
 * because the least dart owned by either is uniform over the area sum max.
 *
 * The process is cut into cells of area 1/rate, so that each holds Poisson(1) darts. Region (nu,
 * rho), nu, rho >= 0, spans weights (2^nu - 1)/rate .. (2^(nu+1) - 1)/rate and ranks 2^rho - 1 ..
 * 2^(rho+1) - 1; it is cut into 2^rho slices along weight and 2^nu slices along rank. The cut does
 * not depend on the data, which makes the samples consistent.
 */
#ifndef KL_DART_H
#define KL_DART_H

#include "kl_math.h"
#include "kl_random.h"

typedef struct {
    float weight;
    uint32_t slot;
    /* bits of the rank (a nonnegative float, so ordered as an integer) << 32 | fingerprint */
    uint64_t key;
} kl_dart;

#define KL_DART_NONE UINT64_MAX

/* Darts per unit area: ceil(k ln k + 2k) makes an empty slot at rank 1 / (row sum) rarer than
 * exp(-2) a row. */
static inline uint64_t kl_dart_rate(uint64_t k) {
    const double exact = (double)k * kl_log((double)k) + 2.0 * (double)k;
    const uint64_t whole = (uint64_t)exact;
    return (double)whole < exact ? whole + 1 : whole;
}

/* How many darts a cell holds: the Poisson(1) quantile of its 64 bits, thresholds floor(2^64
 * cdf(n)). */
static inline int kl_poisson1(uint64_t bits) {
    static const uint64_t cdf[20] = {
        UINT64_C(0x5E2D58D8B3BCDF1A), UINT64_C(0xBC5AB1B16779BE35), UINT64_C(0xEB715E1DC1582DC2),
        UINT64_C(0xFB23979734A252F1), UINT64_C(0xFF1025F59174DC3D), UINT64_C(0xFFD90F3BA4055E19),
        UINT64_C(0xFFFA8B71FC72C913), UINT64_C(0xFFFF540C0914B3C9), UINT64_C(0xFFFFED1F4AA8F120),
        UINT64_C(0xFFFFFE216E641462), UINT64_C(0xFFFFFFD4D85D3183), UINT64_C(0xFFFFFFFC6DA262B4),
        UINT64_C(0xFFFFFFFFBA12D178), UINT64_C(0xFFFFFFFFFB07C64C), UINT64_C(0xFFFFFFFFFFAB8EA5),
        UINT64_C(0xFFFFFFFFFFFABE22), UINT64_C(0xFFFFFFFFFFFFB11A), UINT64_C(0xFFFFFFFFFFFFFBA1),
        UINT64_C(0xFFFFFFFFFFFFFFC5), UINT64_C(0xFFFFFFFFFFFFFFFD),
    };
    int n = 0;
    while (n < 20 && bits >= cdf[n]) ++n;
    return n;
}

/* visit(context, dart) for every dart of one coordinate with weight < weight_limit and rank <
 * rank_limit, in a fixed order. coordinate_key = child(stream(seed, KL_STREAM_DART), i). Limits
 * below 2^102. */
typedef void (*kl_dart_visit)(void* context, kl_dart dart);

static inline void kl_dart_each(uint64_t coordinate_key, uint64_t k, uint64_t rate,
                                float weight_limit, float rank_limit, kl_dart_visit visit,
                                void* context) {
    const double area = (double)rate;
    for (int nu = 0; (kl_power_of_two(nu) - 1.0) / area < weight_limit; ++nu) {
        const double weight_base = (kl_power_of_two(nu) - 1.0) / area;
        for (int rho = 0; kl_power_of_two(rho) - 1.0 < rank_limit; ++rho) {
            const double rank_base = kl_power_of_two(rho) - 1.0;
            const double weight_step = kl_power_of_two(nu - rho) / area,
                         rank_step = kl_power_of_two(rho - nu);
            const double weight_slices = kl_power_of_two(rho), rank_slices = kl_power_of_two(nu);
            const uint64_t region = kl_child(coordinate_key, (uint64_t)nu << 8 | (uint64_t)rho);
            for (double a = 0.0; a < weight_slices && weight_base + a * weight_step < weight_limit;
                 a += 1.0) {
                const uint64_t slice = kl_child(region, (uint64_t)a);
                for (double b = 0.0; b < rank_slices && rank_base + b * rank_step < rank_limit;
                     b += 1.0) {
                    const uint64_t cell = kl_child(slice, (uint64_t)b);
                    const int darts = kl_poisson1(cell);
                    for (int q = 0; q < darts; ++q) {
                        const uint64_t place = kl_child(cell, 2 * (uint64_t)q);
                        const uint64_t identity = kl_child(cell, 2 * (uint64_t)q + 1);
                        const float rank =
                            (float)(rank_base + (b + kl_uniform_low(place)) * rank_step);
                        kl_dart dart;
                        dart.weight =
                            (float)(weight_base + (a + kl_uniform_high(place)) * weight_step);
                        dart.slot = (uint32_t)(((identity >> 32) * k) >> 32);
                        dart.key = (uint64_t)kl_bits_of_float(rank) << 32 |
                                   (identity & UINT64_C(0xFFFFFFFF));
                        if (dart.weight < weight_limit && rank < rank_limit) visit(context, dart);
                    }
                }
            }
        }
    }
}

static inline void kl_dart_keep_least(void* best, kl_dart dart) {
    uint64_t* keys = (uint64_t*)best;
    if (dart.key < keys[dart.slot]) keys[dart.slot] = dart.key;
}

/* One row: values[i] = kl_float_above(scale * u_i), sum of them in [2^-100, 2^101). best[slot] =
 * the least key of each slot; the code is its low bits. The rank limit only decides how far to
 * look: it starts where few slots are empty and grows until none is. */
static inline void kl_dart_row(uint64_t seed, uint64_t k, uint64_t n, const uint64_t* coordinates,
                               const float* values, uint64_t* best) {
    const uint64_t stream = kl_stream(seed, KL_STREAM_DART), rate = kl_dart_rate(k);
    double sum = 0.0;
    for (uint64_t at = 0; at < n; ++at) sum += values[at];
    for (double theta = 1.25;; theta *= 2.0) {
        uint64_t empty = 0;
        for (uint64_t slot = 0; slot < k; ++slot) best[slot] = KL_DART_NONE;
        for (uint64_t at = 0; at < n; ++at)
            kl_dart_each(kl_child(stream, coordinates[at]), k, rate, values[at],
                         (float)(theta / sum), kl_dart_keep_least, best);
        for (uint64_t slot = 0; slot < k; ++slot) empty += best[slot] == KL_DART_NONE;
        if (empty == 0) return;
    }
}

#endif
