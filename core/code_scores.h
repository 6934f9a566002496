// Scores of codes by a linear model:
//
//     score[i, :] = 1/sqrt(slots) * sum over slots s of weights[entry(s, code of i in s), :]
//
// The same sums as linear_margins (solve_dual.h) makes, in the same order and so to the bit, for
// weights that stay: the layout is checked once, and rows need no memory of their own. Weights lie
// either by the layout (linear_codes.h), or, where there is room for all codes of a slot, directly
// by code, which saves a look-up.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "linear_codes.h"
#include "simd/score_loops.h"

namespace kernelight {

struct CodeWeights {
    CodeLayout layout;  // `local` null: directly by code
    int64_t n_slots;
    int bits, outputs;     // outputs: 1, 4, 8 or 16
    const float* weights;  // (entries, outputs)
};

inline int score_width(int outputs) {
    return outputs == 1 ? 0 : outputs == 4 ? 1 : outputs == 8 ? 2 : outputs == 16 ? 3 : -1;
}

// out: (rows, outputs); an empty row scores 0.
template <class Slot>
void code_scores(const CodeRows<Slot>& rows, const CodeWeights& by, float* out, int threads,
                 int simd) {
    constexpr int64_t block = 64;
    const ScoreLoops& loops = score_loops(simd);
    const auto dots = (sizeof(Slot) == 1 ? loops.dots8 : loops.dots16)[score_width(by.outputs)];
    const float factor = 1.0f / std::sqrt(static_cast<float>(by.n_slots));
    const CodeLayout& layout = by.layout;
    parallel_for(threads, (rows.n_rows + block - 1) / block, [&](int64_t first, int64_t last) {
        float sums[block * 16], totals[block * 16];
        for (int64_t base = first * block; base < std::min(rows.n_rows, last * block);
             base += block) {
            const int64_t here = std::min(block, rows.n_rows - base), count = here * by.outputs;
            const Slot* codes = rows.values + base * rows.n_slots;
            std::fill_n(totals, count, 0.0f);
            for (int64_t part = 0; part < layout.n_parts; ++part) {
                std::fill_n(sums, count, 0.0f);
                for (int64_t g = layout.part_segment[part]; g < layout.part_segment[part + 1]; ++g)
                    dots(codes, rows.n_slots, here, layout.segment_slot[g],
                         layout.segment_slot[g + 1], by.bits, layout.local,
                         layout.local ? by.weights + layout.segment_entry[g] * by.outputs
                                      : by.weights,
                         sums);
                for (int64_t at = 0; at < count; ++at) totals[at] += sums[at];
            }
            for (int64_t row = 0; row < here; ++row) {
                const float times = rows.empty && rows.empty[base + row] ? 0.0f : factor;
                for (int output = 0; output < by.outputs; ++output)
                    out[(base + row) * by.outputs + output] =
                        totals[row * by.outputs + output] * times + 0.0f;  // never -0
            }
        }
    });
}

}  // namespace kernelight
