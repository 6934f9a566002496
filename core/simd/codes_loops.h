// The loops of codes_loops.cpp, one table for each instruction set.
#pragma once

#include <cstdint>

namespace kernelight {

// A tile of a_rows x b_rows pairs, both multiples of the blocks below, rows `stride` bytes apart.
// stride is a multiple of kCountAlign and at most kCountBytes: 252 steps of the narrowest vector
// (16 bytes), so that a byte can count them.
constexpr int64_t kCountRowsA = 2, kCountRowsB = 4, kCountAlign = 64,
                  kCountBytes = 63 * kCountAlign;

struct CodesLoops {
    // counts[i * b_rows + j] = how many of the 8-bit (16-bit) slots of row i of a and row j of b
    // are equal.
    void (*count_equal_8)(const uint8_t* a, int64_t a_rows, const uint8_t* b, int64_t b_rows,
                          int64_t stride, int32_t* counts);
    void (*count_equal_16)(const uint8_t* a, int64_t a_rows, const uint8_t* b, int64_t b_rows,
                           int64_t stride, int32_t* counts);
};

namespace baseline {
extern const CodesLoops codes_loops;
}
#if defined(KERNELIGHT_X86)
namespace avx2 {
extern const CodesLoops codes_loops;
}
namespace avx512 {
extern const CodesLoops codes_loops;
}
#endif

}  // namespace kernelight
