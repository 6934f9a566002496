/* The frozen hashes of core/portable on any machine: cases on standard input, results on standard
 * output. tests/golden/portable.py writes the cases and knows the results. Numbers are unsigned
 * decimals; a double is the number that its bits are, so that no text is ever rounded. Kinds of
 * projections are gaussian, cauchy, orthogonal, sorf and fastfood, by their first letters.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kl_bands.h"
#include "kl_cws.h"
#include "kl_dart.h"
#include "kl_draw.h"
#include "kl_integer_fourier.h"
#include "kl_poisson.h"
#include "kl_project.h"

static uint64_t word(void) {
    uint64_t value;
    if (scanf("%" SCNu64, &value) != 1) exit(3);
    return value;
}
static double number(void) { return kl_double_of_bits(word()); }
static void tell(uint64_t value) { printf(" %" PRIu64, value); }
static void tell_number(double value) { tell(kl_bits_of_double(value)); }

static void* room(uint64_t count, size_t size) {
    void* place = calloc(count ? (size_t)count : 1, size);
    if (!place) exit(4);
    return place;
}

/* Words of the base slots of one row, by cws or by darts. */
static void sample(int darts, uint64_t seed, uint64_t slots, double parameter, uint64_t t_mask,
                   int lowest, uint64_t n, const uint64_t* coordinates, const double* weights,
                   uint64_t* words) {
    float* values = (float*)room(n, sizeof(float));
    for (uint64_t at = 0; at < n; ++at)
        values[at] = darts ? kl_float_above(parameter * weights[at])
                           : (float)(parameter * kl_log(weights[at]));
    if (darts && slots) {
        kl_dart_row(seed, slots, n, coordinates, values, words);
        for (uint64_t slot = 0; slot < slots; ++slot) words[slot] &= UINT64_C(0xFFFFFFFF);
    }
    for (uint64_t slot = 0; slot < slots && !darts; ++slot) {
        int64_t t = 0;
        const uint64_t i = coordinates[kl_cws_sample(seed, slot, n, coordinates, values, &t)];
        const uint64_t key = kl_child(kl_stream(seed, KL_STREAM_CWS_CODE), slot);
        words[slot] = lowest ? i : kl_cws_code(key, i, (int64_t)((uint64_t)t & t_mask));
    }
    free(values);
}

/* seed k bits gamma (below 0: none) darts parameter t_mask lowest n, coordinates, weights */
static void codes(void) {
    const uint64_t seed = word(), k = word(), bits = word();
    const double gamma = number();
    const int darts = (int)word();
    const double parameter = number();
    const uint64_t t_mask = word();
    const int lowest = (int)word();
    const uint64_t n = word(), mask = (UINT64_C(1) << bits) - 1;
    uint64_t* coordinates = (uint64_t*)room(n, sizeof(uint64_t));
    double* weights = (double*)room(n, sizeof(double));
    uint64_t* counts = (uint64_t*)room(k, sizeof(uint64_t));
    uint64_t slots = 0, at = 0;
    for (uint64_t i = 0; i < n; ++i) coordinates[i] = word();
    for (uint64_t i = 0; i < n; ++i) weights[i] = number();
    for (uint64_t j = 0; j < k; ++j) {
        const uint64_t key = kl_child(kl_stream(seed, KL_STREAM_POISSON), j);
        counts[j] = gamma < 0.0 ? 1 : kl_poisson(key, gamma);
        slots += counts[j];
    }
    uint64_t* words = (uint64_t*)room(slots, sizeof(uint64_t));
    sample(darts, seed, slots, parameter, t_mask, lowest, n, coordinates, weights, words);
    for (uint64_t j = 0; j < k; at += counts[j++]) {
        const uint64_t key = kl_child(kl_stream(seed, KL_STREAM_FOLD), j);
        tell((gamma < 0.0 ? words[at] : kl_fold(key, words + at, counts[j])) & mask);
    }
    free(coordinates);
    free(weights);
    free(counts);
    free(words);
}

/* The projections y_j of an entered row, and the lengths L_j where a kind has them. */
static void project_dense(char kind, uint64_t seed, uint64_t d, uint64_t m, const double* e,
                          double* y) {
    double* block = (double*)room(d * d, sizeof(double));
    for (uint64_t j = 0; j < m; ++j) {
        float sum = 0.0f;
        double wide = 0.0;
        if (kind == 'o' && j % d == 0) {
            for (uint64_t a = 0; a < d; ++a)
                for (uint64_t i = 0; i < d; ++i)
                    block[a * d + i] =
                        kl_normal(kl_child(kl_stream(seed, KL_STREAM_GAUSSIAN), i), j + a);
            kl_orthonormalize(block, d, d);
        }
        for (uint64_t i = 0; i < d; ++i) {
            if (kind == 'c') {
                wide += e[i] * (double)kl_cauchy_entry(seed, i, j);
                continue;
            }
            const double length =
                kind == 'o' ? kl_chi(kl_child(kl_stream(seed, KL_STREAM_LENGTH), j), d) : 0.0;
            const float w = kind == 'o' ? (float)(block[(j % d) * d + i] * length)
                                        : kl_gaussian_entry(seed, i, j);
            sum += (float)e[i] * w;
        }
        y[j] = kind == 'c' ? wide : (double)sum;
    }
    free(block);
}

static void project_blocks(char kind, uint64_t seed, uint64_t width, uint64_t d, uint64_t m,
                           double factor, const double* e, double* y, float* lengths) {
    float* x = (float*)room(width, sizeof(float));
    float* z = (float*)room(width, sizeof(float));
    int32_t* places = (int32_t*)room(width, sizeof(int32_t));
    for (uint64_t block = 0; block * width < m; ++block) {
        double length = 0.0;
        for (uint64_t i = 0; i < width; ++i) x[i] = i < d ? (float)e[i] : 0.0f;
        for (uint64_t turn = 0; turn < (kind == 's' ? 3 : 1); ++turn) {
            const uint64_t key = kind == 's' ? kl_hadamard_key(seed, block, turn)
                                             : kl_fastfood_key(seed, block, 0);
            for (uint64_t i = 0; i < width; ++i) x[i] = kl_sign(key, i) * x[i];
            kl_hadamard(x, width);
        }
        if (kind == 'f') {
            float* g = (float*)room(width, sizeof(float));
            kl_permutation(kl_fastfood_key(seed, block, 1), (uint32_t)width, places);
            for (uint64_t i = 0; i < width; ++i)
                g[i] = (float)kl_normal(kl_fastfood_key(seed, block, 2), i);
            for (uint64_t i = 0; i < width; ++i) z[i] = g[i] * x[places[i]];
            kl_hadamard(z, width);
            memcpy(x, z, (size_t)width * sizeof(float));
            length = kl_length_of(g, width);
            free(g);
        }
        for (uint64_t i = 0; i < width && block * width + i < m; ++i) {
            const uint64_t j = block * width + i;
            y[j] = (double)x[i];
            lengths[j] = kind == 's'
                             ? kl_hadamard_length(seed, j, width, factor)
                             : kl_fastfood_length(seed, block, i, width, length, factor);
        }
    }
    free(x);
    free(z);
    free(places);
}

/* kind seed width m factor cosine threshold f d, numbers: the bits of a row. f multiplies the row;
 * 0 is the power of two of signs. */
static void bits(void) {
    char kind[2];
    if (scanf("%1s", kind) != 1) exit(3);
    const uint64_t seed = word(), width = word(), m = word();
    const double factor = number();
    const int cosine = (int)word(), threshold = (int)word();
    double f = number(), top = 0.0;
    const uint64_t d = word();
    const int blocks = kind[0] == 's' || kind[0] == 'f';
    double* e = (double*)room(d, sizeof(double));
    double* y = (double*)room(m, sizeof(double));
    float* lengths = (float*)room(m, sizeof(float));
    float turn = 0.0f;
    for (uint64_t i = 0; i < d; ++i) {
        e[i] = number();
        if ((e[i] < 0.0 ? -e[i] : e[i]) > top) top = e[i] < 0.0 ? -e[i] : e[i];
    }
    if (f <= 0.0) { /* 2^-E; of a subnormal number E is found by a detour */
        const int small = top < 2.2250738585072014e-308;
        const double lifted = small ? top * 18446744073709551616.0 : top;
        const int64_t exponent =
            (int64_t)(kl_bits_of_double(lifted) >> 52) - 1023 - (small ? 64 : 0);
        f = exponent < -1023 ? kl_double_of_bits(UINT64_C(2046) << 52)
            : exponent > 1022
                ? kl_double_of_bits(UINT64_C(1) << (52 - (exponent - 1022)))
                : kl_double_of_bits((uint64_t)(1023 - exponent) << 52);
    }
    for (uint64_t i = 0; i < d; ++i) {
        e[i] = e[i] * f;
        if (kind[0] != 'c') e[i] = (double)(float)e[i];
        if (turn == 0.0f && (e[i] < 0.0 || e[i] > 0.0)) turn = e[i] < 0.0 ? -1.0f : 1.0f;
    }
    for (uint64_t j = 0; j < m; ++j) lengths[j] = (float)factor;
    if (blocks)
        project_blocks(kind[0], seed, width, d, m, factor, e, y, lengths);
    else
        project_dense(kind[0], seed, d, m, e, y);
    for (uint64_t j = 0; j < m; ++j) {
        int bit = y[j] >= 0.0;
        if (cosine) {
            const float turns = (float)y[j] * lengths[j];
            bit = kl_cosine_bit(turns, kl_phase(seed, j),
                                threshold ? kl_threshold(seed, j) : 0.0f);
        } else if (kind[0] == 's') {
            bit = kl_sign_bit_tied((float)y[j], kl_slack(width), kl_tie(seed, j), turn);
        }
        tell((uint64_t)bit);
    }
    free(e);
    free(y);
    free(lengths);
}

/* seed m sigma d, numbers: the whole numbers of a row, negative ones modulo 2^64 */
static void integers(void) {
    const uint64_t seed = word(), m = word();
    const double sigma = number();
    const uint64_t d = word(), width = kl_integer_width(d);
    double* x = (double*)room(d, sizeof(double));
    uint16_t* work = (uint16_t*)room(2 * width, sizeof(uint16_t));
    int16_t* q = (int16_t*)room(m, sizeof(int16_t));
    const double factor = kl_integer_factor_value(kl_integer_factor_of(sigma, width));
    for (uint64_t i = 0; i < d; ++i) x[i] = number();
    kl_integer_fourier(seed, x, d, factor, m, work, q);
    for (uint64_t j = 0; j < m; ++j) tell((uint64_t)(int64_t)q[j]);
    free(x);
    free(work);
    free(q);
}

static void integer_factor(void) {
    const double sigma = number();
    const kl_integer_factor factor = kl_integer_factor_of(sigma, word());
    tell(factor.multiplier);
    tell((uint64_t)(int64_t)factor.exponent);
}

static void cell(void) {
    const uint64_t seed = word(), slot = word(), coordinate = word();
    const kl_cws_cell drawn = kl_cws_draw(kl_child(kl_stream(seed, KL_STREAM_CWS), coordinate), slot);
    tell_number((double)drawn.inverse_r);
    tell_number((double)drawn.beta);
    tell_number((double)drawn.r);
    tell_number((double)drawn.q);
}

static void functions(const char* name) {
    if (!strcmp(name, "child")) {
        const uint64_t key = word();
        tell(kl_child(key, word()));
    } else if (!strcmp(name, "stream")) {
        const uint64_t seed = word();
        tell(kl_stream(seed, word()));
    } else if (!strcmp(name, "log")) {
        tell_number(kl_log(number()));
    } else if (!strcmp(name, "sqrt")) {
        tell_number(kl_sqrt(number()));
    } else if (!strcmp(name, "circle")) {
        const kl_circle_float at = kl_circle_of((float)number());
        tell_number((double)at.cosine);
        tell_number((double)at.sine);
    } else if (!strcmp(name, "normal")) {
        const uint64_t key = word();
        tell_number(kl_normal(key, word()));
    } else if (!strcmp(name, "sign")) {
        const uint64_t key = word();
        tell_number((double)kl_sign(key, word()));
    } else if (!strcmp(name, "cauchy")) {
        tell_number(kl_cauchy(word()));
    } else if (!strcmp(name, "chi")) {
        const uint64_t key = word();
        tell_number(kl_chi(key, word()));
    } else if (!strcmp(name, "poisson1")) {
        tell((uint64_t)kl_poisson1(word()));
    } else if (!strcmp(name, "dart_rate")) {
        tell(kl_dart_rate(word()));
    } else if (!strcmp(name, "poisson")) {
        const uint64_t seed = word(), slot = word();
        tell(kl_poisson(kl_child(kl_stream(seed, KL_STREAM_POISSON), slot), number()));
    } else {
        fprintf(stderr, "there is no case %s\n", name);
        exit(5);
    }
}

static void permutation(void) {
    const uint64_t key = word(), n = word();
    int32_t* out = (int32_t*)room(n, sizeof(int32_t));
    kl_permutation(key, (uint32_t)n, out);
    for (uint64_t i = 0; i < n; ++i) tell((uint64_t)out[i]);
    free(out);
}

static void code(void) {
    const uint64_t seed = word(), slot = word(), coordinate = word();
    tell(kl_cws_code(kl_child(kl_stream(seed, KL_STREAM_CWS_CODE), slot), coordinate,
                     (int64_t)word()));
}

static void band(void) {
    const uint64_t number_of_band = word(), n = word();
    uint64_t key = kl_band_start(number_of_band);
    for (uint64_t i = 0; i < n; ++i) key = kl_band_step(key, (uint32_t)word());
    tell(key);
}

int main(void) {
    char name[32];
    while (scanf("%31s", name) == 1) {
        if (!strcmp(name, "codes"))
            codes();
        else if (!strcmp(name, "bits"))
            bits();
        else if (!strcmp(name, "integers"))
            integers();
        else if (!strcmp(name, "integer_factor"))
            integer_factor();
        else if (!strcmp(name, "cws_cell"))
            cell();
        else if (!strcmp(name, "cws_code"))
            code();
        else if (!strcmp(name, "permutation"))
            permutation();
        else if (!strcmp(name, "band"))
            band();
        else
            functions(name);
        printf("\n");
    }
    return 0;
}
