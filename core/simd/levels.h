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

namespace kernelight {

enum class Level : int { baseline = 0, avx2 = 1, avx512 = 2 };

inline Level best_level() {
#if defined(KERNELIGHT_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return Level::avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
        __builtin_cpu_supports("fma"))
        return Level::avx2;
#endif
    return Level::baseline;
}

// What the caller asked for, but never more than the machine can do.
inline Level usable_level(int wanted) {
    const int best = static_cast<int>(best_level());
    return static_cast<Level>(wanted < 0 ? 0 : wanted > best ? best : wanted);
}

}  // namespace kernelight
