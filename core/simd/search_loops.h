// The loops of search_loops.cpp, one table for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kernelight {

// Sums of minima and of maxima over the features of two rows, signs split.
struct MinMaxSums {
    double low, high;
};

struct SearchLoops {
    // Sums of two dense rows. Two equal rows get equal sums. `nonnegative` says that neither row has
    // a negative value, which saves half of the work and changes no bit.
    MinMaxSums (*minmax_float)(const float* a, const float* b, int64_t width, bool nonnegative);
    MinMaxSums (*minmax_double)(const double* a, const double* b, int64_t width, bool nonnegative);
    MinMaxSums (*minmax_mixed)(const float* a, const double* b, int64_t width, bool nonnegative);
    // The sum of minima of two rows of bytes; `width` is a multiple of 64.
    int64_t (*minima_8)(const uint8_t* a, const uint8_t* b, int64_t width);
    // How many slots of two codes are equal.
    int32_t (*equal_8)(const uint8_t* a, const uint8_t* b, int64_t slots);
    int32_t (*equal_16)(const uint16_t* a, const uint16_t* b, int64_t slots);
    // How many are not, as a graph of neighbours asks for a distance.
    float (*different_8)(const uint8_t* a, const uint8_t* b, size_t slots);
};

namespace baseline {
extern const SearchLoops search_loops;
}
#if defined(KERNELIGHT_X86)
namespace avx2 {
extern const SearchLoops search_loops;
}
namespace avx512 {
extern const SearchLoops search_loops;
}
#endif

}  // namespace kernelight
