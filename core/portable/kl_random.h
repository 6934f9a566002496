/* kernelight algorithm version 1: random bits as a pure function (docs/hash-spec.md, sections 1 and
 * 2).
 *
 * There is one operation. A key is 64 bits; child(key, n) is its n-th child:
 *
 *     child(key, n) = mix64(key + GOLDEN * (n + 1))          (all arithmetic modulo 2^64)
 *
 * so the children of a key are the outputs of a SplitMix64 generator started at that key. Every
 * random number of the project is reached by walking from the seed: seed -> stream -> coordinate ->
 * (slot, draw). FROZEN: golden vectors in tests/golden hold these functions still for ever.
 */
#ifndef KL_RANDOM_H
#define KL_RANDOM_H

#include <stdint.h>

#define KL_GOLDEN UINT64_C(0x9E3779B97F4A7C15)

/* Streams: what the bits are for. Numbers are never reused. */
enum {
    KL_STREAM_CWS = 1,
    KL_STREAM_CWS_CODE = 2,
    KL_STREAM_DART = 3,
    KL_STREAM_GAUSSIAN = 4,
    KL_STREAM_CAUCHY = 5,
    KL_STREAM_HADAMARD = 6,
    KL_STREAM_LENGTH = 7,
    KL_STREAM_FASTFOOD = 8,
    KL_STREAM_PHASE = 9,
    KL_STREAM_THRESHOLD = 10,
    KL_STREAM_POISSON = 11,
    KL_STREAM_FOLD = 12,
    KL_STREAM_PAIRS = 13,
    KL_STREAM_SCRAMBLE = 14,
    KL_STREAM_POSITION = 15,
    KL_STREAM_REMIX = 16,
    KL_STREAM_CHOICE = 17,
    KL_STREAM_TIE = 18,
    KL_STREAM_FERN_COLUMN = 19,
    KL_STREAM_FERN_CUT = 20,
    KL_STREAM_FOREST_ROW = 21,
    KL_STREAM_FOREST_COLUMN = 22,
    /* NOTE TO THE IMPLEMENTER OF IntegerFourier (remove): /tmp/integer_fourier.md is VERSION 2 now, 16 bits throughout: read it again. */
    KL_STREAM_BAND = 23,
    KL_STREAM_INTEGER_SIGN = 24
};

static inline uint64_t kl_mix64(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline uint64_t kl_child(uint64_t key, uint64_t n) {
    return kl_mix64(key + KL_GOLDEN * (n + 1));
}

static inline uint64_t kl_stream(uint64_t seed, uint64_t stream) {
    return kl_child(kl_child(0, seed), stream);
}

/* A uniform of the open interval (0, 1) from 32 bits: the middle of one of 2^32 equal cells, so
 * never 0 and never 1. */
static inline double kl_uniform32(uint32_t bits) {
    return ((double)bits + 0.5) * (1.0 / 4294967296.0);
}
static inline double kl_uniform_high(uint64_t word) { return kl_uniform32((uint32_t)(word >> 32)); }
static inline double kl_uniform_low(uint64_t word) { return kl_uniform32((uint32_t)word); }

#endif
