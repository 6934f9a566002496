/* kernelight algorithm version 1: Poisson many hashes folded into one code, the definition
 * (docs/hash-spec.md, section 8).
 *
 * Slot j draws M ~ Poisson(gamma) once for all data, and its code is a fingerprint of M independent
 * samples of a kernel K (a constant if M = 0). Two rows agree in all of them with probability K^M,
 * and
 *     E K^M = sum_m exp(-gamma) gamma^m / m! K^m = exp(-gamma (1 - K)).
 *
 * M is the number of arrivals in [0, gamma] of a Poisson process of unit rate, whose gaps are
 * exponential: a logarithm is all it needs, and a smaller gamma of the same key has no more
 * arrivals.
 */
#ifndef KL_POISSON_H
#define KL_POISSON_H

#include "kl_math.h"
#include "kl_random.h"

/* slot_key = child(stream(seed, KL_STREAM_POISSON), j). Gaps are at most 22.9, so it ends after
 * about gamma draws. */
static inline uint64_t kl_poisson(uint64_t slot_key, double gamma) {
    uint64_t n = 0;
    double arrival = -kl_log_normal(kl_uniform_high(kl_child(slot_key, 0)));
    while (arrival <= gamma) {
        ++n;
        arrival += -kl_log_normal(kl_uniform_high(kl_child(slot_key, n)));
    }
    return n;
}

/* The words of a slot's samples as one; the caller keeps the low bits. slot_key =
 * child(stream(seed, KL_STREAM_FOLD), j). */
static inline uint64_t kl_fold(uint64_t slot_key, const uint64_t* words, uint64_t count) {
    uint64_t folded = slot_key;
    for (uint64_t at = 0; at < count; ++at) folded = kl_child(folded, words[at]);
    return folded;
}

#endif
