// The loops of integer_loops.cpp, one table for each instruction set.
#pragma once

#include <cstdint>

#include "simd/levels.h"

namespace kernelight {

// Angles of core/portable/kl_integer_fourier.h. Signs are given as masks of 16 bits: 0xFFFF for a
// minus, else 0.
struct IntegerLoops {
    // kl_integer_angle of the numbers of a dense row.
    void (*angles)(const float* x, int64_t count, double factor, uint16_t* to);
    void (*angles_double)(const double* x, int64_t count, double factor, uint16_t* to);

    // to <- H (signs o from), width a power of two of at least 64; from may be to.
    void (*block)(const uint16_t* from, const uint16_t* signs, int64_t width, uint16_t* to);

    // The wave of count angles and their phases; features are the wave times amplitude, rounded.
    void (*read_integers)(const uint16_t* angle, const uint16_t* phase, int64_t count,
                          int16_t* out);
    void (*read_features)(const uint16_t* angle, const uint16_t* phase, int64_t count,
                          double amplitude, float* out);
};

namespace baseline {
extern const IntegerLoops integer_table;
}
#if defined(KERNELIGHT_X86)
namespace avx2 {
extern const IntegerLoops integer_table;
}
namespace avx512 {
extern const IntegerLoops integer_table;
}
#endif

inline const IntegerLoops& integer_loops(Level level) {
#if defined(KERNELIGHT_X86)
    if (level == Level::avx512) return avx512::integer_table;
    if (level == Level::avx2) return avx2::integer_table;
#endif
    (void)level;
    return baseline::integer_table;
}

}  // namespace kernelight
