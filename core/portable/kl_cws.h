/* kernelight algorithm version 1: consistent weighted sampling, the definition (docs/hash-spec.md,
 * section 4).
 *
 * For slot j and expanded coordinate i (2f for the positive part of feature f, 2f + 1 for the
 * negative part) draw, once for all data,
 *     r, c ~ Gamma(2, 1),  beta ~ U(0, 1).
 * A row with values u_i > 0 takes
 *     t_i = floor(log u_i / r_i + beta_i),   a_i = log c_i - r_i (t_i + 1 - beta_i),
 *     i* = argmin a_i,   t* = t_{i*}.
 * Two rows agree in (i*, t*) with probability sum min / sum max exactly (Ioffe 2010). Replacing log
 * u by p log u gives the power kernel for free. With q = log c - r (1 - beta) the value is a = q -
 * r t: equal t give equal bits of a, which is what makes the samples of two rows consistent.
 *
 * Parameters are drawn in double precision and rounded to single once; t and a are evaluated in
 * single precision. Ties go to the smaller coordinate.
 */
#ifndef KL_CWS_H
#define KL_CWS_H

#include <stddef.h>

#include "kl_math.h"
#include "kl_random.h"

typedef struct {
    float inverse_r, beta, r, q;
} kl_cws_cell;

/* -log(u v) of two uniforms from one word: a Gamma(2, 1) variable, between 2^-33 and 46. */
static inline double kl_gamma2(uint64_t word) {
    return -kl_log_normal(kl_uniform_high(word) * kl_uniform_low(word));
}

/* coordinate_key = child(stream(seed, KL_STREAM_CWS), i); the slot owns its children 4j .. 4j + 3
 * (the last is spare). */
static inline kl_cws_cell kl_cws_draw(uint64_t coordinate_key, uint64_t slot) {
    const double gamma = kl_gamma2(kl_child(coordinate_key, 4 * slot));
    /* At least 2^-40, below what 32-bit uniforms give: t fits an int64 whatever they are. */
    const double r = gamma > 9.094947017729282e-13 ? gamma : 9.094947017729282e-13;
    const double log_c = kl_log_normal(kl_gamma2(kl_child(coordinate_key, 4 * slot + 1)));
    const double beta = kl_uniform_high(kl_child(coordinate_key, 4 * slot + 2));
    kl_cws_cell cell;
    cell.inverse_r = (float)(1.0 / r);
    cell.beta = (float)beta;
    cell.r = (float)r;
    cell.q = (float)(log_c - r * (1.0 - beta));
    return cell;
}

static inline float kl_cws_t(kl_cws_cell cell, float log_value) {
    return kl_floor_float(log_value * cell.inverse_r + cell.beta);
}

/* The code of sample (i, t) in one slot: slot_key = child(stream(seed, KL_STREAM_CWS_CODE), j). The
 * caller keeps the low bits. It is keyed by seed and slot: otherwise the same false collisions
 * would repeat in every slot or for every seed. */
static inline uint64_t kl_cws_code(uint64_t slot_key, uint64_t coordinate, int64_t t) {
    return kl_child(kl_child(slot_key, coordinate), (uint64_t)t);
}

/* One row, one slot: coordinates ascending, logs = (float)(p * kl_log(u)). Returns the position of
 * the winner, its t in *t. */
static inline size_t kl_cws_sample(uint64_t seed, uint64_t slot, size_t n,
                                   const uint64_t* coordinates, const float* logs, int64_t* t) {
    const uint64_t stream = kl_stream(seed, KL_STREAM_CWS);
    size_t winner = 0;
    float best = 0.0f;
    for (size_t at = 0; at < n; ++at) {
        const kl_cws_cell cell = kl_cws_draw(kl_child(stream, coordinates[at]), slot);
        const float whole = kl_cws_t(cell, logs[at]);
        const float a = cell.q - cell.r * whole;
        if (at == 0 || a < best) {
            best = a;
            winner = at;
            *t = (int64_t)whole;
        }
    }
    return winner;
}

#endif
