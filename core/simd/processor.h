// What the processor and the operating system can do, asked once, in a way that needs no library of
// the compiler: gcc's and clang's `__builtin_cpu_supports` do, which a linker may not have.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kernelight {

struct Processor {
    bool bits = false;         // BMI, BMI2 and POPCNT
    bool avx2 = false;         // and FMA
    bool avx512 = false;       // F, DQ, BW and VL
    bool count_words = false;  // the population counts of AVX-512
};

inline Processor asked_processor() {
    Processor found;
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return found;
    const auto has = [](unsigned word, int bit) { return (word >> bit & 1u) != 0; };
    const bool popcnt = has(c, 23), fma = has(c, 12), saves = has(c, 27);
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return found;
    found.bits = popcnt && has(b, 3) && has(b, 8);
    if (!saves) return found;
    // which registers the operating system keeps for a thread: XCR0
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    const bool keeps_ymm = (low & 0x06u) == 0x06u, keeps_zmm = (low & 0xE6u) == 0xE6u;
    found.avx2 = keeps_ymm && fma && found.bits && has(b, 5);
    found.avx512 = found.avx2 && keeps_zmm && has(b, 16) && has(b, 17) && has(b, 30) && has(b, 31);
    found.count_words = found.avx512 && has(c, 14);
#endif
    return found;
}

inline const Processor& processor() {
    static const Processor found = asked_processor();
    return found;
}

}  // namespace kernelight
