/* kernelight algorithm version 1: keys of bands of slots (docs/hash-spec.md, section 12).
 *
 * Band b holds the slots b * rows .. b * rows + rows - 1 of a code. Its key walks over them:
 *
 *     h = child(stream(0, 23), b);   h = child(h, code of slot) for each slot of the band
 *
 * so that equal bands have equal keys, and others have with probability 2^-64. Keys do not depend on
 * a seed: codes of different maps never meet. FROZEN, because keys live on disk and on clusters.
 */
#ifndef KL_BANDS_H
#define KL_BANDS_H

#include <stdint.h>

#include "kl_random.h"

static inline uint64_t kl_band_start(uint64_t band) {
    return kl_child(kl_stream(0, KL_STREAM_BAND), band);
}

static inline uint64_t kl_band_step(uint64_t key, uint32_t code) { return kl_child(key, code); }

#endif
