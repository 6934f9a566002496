// The loops of ternary_loops.cpp, one table for each instruction set.
#pragma once

#include <cstdint>

namespace kernelight {

// The coefficients of a ternary model as bits, class by class: plus marks +1, used marks +1 and -1.
// n_words words a class.
struct TernaryPlanes {
    const uint64_t *plus, *used;
    int64_t n_classes, n_words;
};

constexpr int64_t kTernaryRows = 64;

struct TernaryLoops {
    // The sum of values[i] over the rows i whose bit is set, 64 rows a word. Row i is added up in
    // lane i mod 32 and lanes are added in a fixed order: the same bits everywhere.
    double (*sum_where)(const uint64_t* bits, const double* values, int64_t n_words);
    // distance[class][row] = number of used bits in which a row differs from plus, for at most
    // kTernaryRows rows, n_words words apart; there is room for kTernaryRows of each class.
    void (*distances)(const uint64_t* rows, int64_t n_rows, TernaryPlanes planes,
                      int32_t* distance);
};

namespace baseline {
extern const TernaryLoops ternary_loops;
}
#if defined(KERNELIGHT_X86)
namespace avx2 {
extern const TernaryLoops ternary_loops;
}
namespace avx512_popcnt {  // AVX-512 with an instruction that counts the bits of a vector
extern const TernaryLoops ternary_loops;
}
#endif

}  // namespace kernelight
