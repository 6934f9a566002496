// Instruction sets: each file of core/simd is compiled once for each level into a namespace of its
// own and offers its loops as a table of function pointers.
//
// Rules for a file compiled more than once:
// - everything it defines is in `namespace kernelight::KERNELIGHT_SIMD` or has internal linkage,
//   and it uses no
//   standard containers: a template instantiated with AVX-512 code must never be the one the linker
//   keeps
//   for a machine without it;
// - every level gives the same bits. No fused multiply-add, no reordering of a sum between levels,
//   unless
//   the function's head comment says that its result is only equal up to rounding.
#pragma once

#include "simd/processor.h"

namespace kernelight {

enum class Level : int { baseline = 0, avx2 = 1, avx512 = 2 };

inline Level best_level() {
#if defined(KERNELIGHT_X86)
    return processor().avx512 ? Level::avx512 : processor().avx2 ? Level::avx2 : Level::baseline;
#else
    return Level::baseline;
#endif
}

// What the caller asked for, but never more than the machine can do.
inline Level usable_level(int wanted) {
    const int best = static_cast<int>(best_level());
    return static_cast<Level>(wanted < 0 ? 0 : wanted > best ? best : wanted);
}

}  // namespace kernelight
