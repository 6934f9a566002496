// The loops of fern_loops.cpp, one table for each instruction set.
#pragma once

#include <cstdint>

namespace kernelight {

// Rows that are compared side by side, a byte each.
constexpr int64_t kFernRows = 64;
// A bin is kept as a signed byte, this much below the number of cuts it stands for.
constexpr int kBinOrigin = 128;
constexpr int64_t kMostCuts = 255;  // of a column

struct FernLoops {
    // bins[r] = #{cuts < x[r]} - kBinOrigin of kFernRows numbers, `missing` where x[r] is NaN; at
    // most 255 cuts, ascending.
    void (*bins_float)(const float* x, const float* cuts, int64_t count, int8_t missing,
                       int8_t* bins);
    void (*bins_double)(const double* x, const double* cuts, int64_t count, int8_t missing,
                        int8_t* bins);
    // Codes of n_rows rows, at most kFernRows, n_slots to a row. Test i of slot j is bit i: whether
    // bins[places[j depth + i]][r] > ranks[j depth + i]; a place has kFernRows bins. At most 8
    // tests to a slot of a byte, 16 to one of two.
    void (*codes_8)(const int8_t* bins, const int32_t* places, const int8_t* ranks, int64_t n_slots,
                    int64_t depth, int64_t n_rows, uint8_t* codes);
    void (*codes_16)(const int8_t* bins, const int32_t* places, const int8_t* ranks,
                     int64_t n_slots, int64_t depth, int64_t n_rows, uint16_t* codes);
};

namespace baseline {
extern const FernLoops fern_loops;
}
#if defined(KERNELIGHT_X86)
namespace avx2 {
extern const FernLoops fern_loops;
}
namespace avx512 {
extern const FernLoops fern_loops;
}
#endif

}  // namespace kernelight
