// The loops of score_loops.cpp, one table for each instruction set. All levels give the same bits:
// sums of different outputs lie side by side, and each adds its terms in the same order.
#pragma once

#include <cstdint>

#include "simd/levels.h"

namespace kernelight {

constexpr int kScoreWidths = 4;  // 1, 4, 8 and 16 outputs side by side

struct ScoreLoops {
    // sums[r, :] += the weights of the codes of row r in the slots [begin, end), for a segment of
    // slots. codes: (rows, stride). Code c of slot s has the entry local[s << bits | c], or where
    // local is null the entry s << bits | c; weights: (entries, outputs).
    using Dots = void (*)(const void* codes, int64_t stride, int64_t rows, int64_t begin,
                          int64_t end, int bits, const uint16_t* local, const float* weights,
                          float* sums);
    Dots dots8[kScoreWidths], dots16[kScoreWidths];
};

namespace baseline {
extern const ScoreLoops score_loops;
}
#if defined(KERNELIGHT_X86)
namespace avx2 {
extern const ScoreLoops score_loops;
}
namespace avx512 {
extern const ScoreLoops score_loops;
}
#endif

inline const ScoreLoops& score_loops([[maybe_unused]] int simd) {
#if defined(KERNELIGHT_X86)
    const Level level = usable_level(simd);
    if (level == Level::avx512) return avx512::score_loops;
    if (level == Level::avx2) return avx2::score_loops;
#endif
    return baseline::score_loops;
}

}  // namespace kernelight
