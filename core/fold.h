// Codes of the exponentiated kernel: several base samples a slot, folded into one. The definition
// is portable/kl_poisson.h.
#pragma once

#include <cstdint>

#include "parallel.h"
#include "portable/kl_poisson.h"
#include "simd/cws_loops.h"

namespace kernelight {

// counts[j] = how many base samples slot j has.
inline void poisson_counts(uint64_t seed, double gamma, int64_t n_slots, int64_t* counts) {
    const uint64_t stream = kl_stream(seed, KL_STREAM_POISSON);
    for (int64_t slot = 0; slot < n_slots; ++slot)
        counts[slot] =
            static_cast<int64_t>(kl_poisson(kl_child(stream, static_cast<uint64_t>(slot)), gamma));
}

// The base words of some slots, (n_rows, stride): those of slot first_slot + s are [starts[s],
// starts[s + 1]).
struct BaseWords {
    const uint64_t* words;
    int64_t n_rows, stride;
    const int64_t* starts;
    int64_t first_slot, n_slots;
    const bool* empty;  // rows that have no words
};

// codes: (n_rows, code_stride), already moved to the column of first_slot. Empty rows are left as
// they are.
template <class Code>
void fold_words(const BaseWords& base, uint64_t seed, int bits, Code* codes, int64_t code_stride,
                int threads) {
    const uint64_t stream = kl_stream(seed, KL_STREAM_FOLD), mask = low_bits(bits);
    parallel_for(threads, base.n_rows, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            if (base.empty[row]) continue;
            const uint64_t* words = base.words + row * base.stride;
            for (int64_t slot = 0; slot < base.n_slots; ++slot) {
                const uint64_t key =
                    kl_child(stream, static_cast<uint64_t>(base.first_slot + slot));
                const uint64_t count =
                    static_cast<uint64_t>(base.starts[slot + 1] - base.starts[slot]);
                const uint64_t folded = kl_fold(key, words + base.starts[slot], count);
                codes[row * code_stride + slot] = static_cast<Code>(folded & mask);
            }
        }
    });
}

}  // namespace kernelight
