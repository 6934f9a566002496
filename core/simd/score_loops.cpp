// Sums of the weights of codes. The order of the additions is that of code_dots in
// linear_loops.cpp, so that predictions are those of the solver to the bit: within a segment the
// slots are dealt to a few sums in turn, which are then added up, and last what was there before.
#include "simd/score_loops.h"

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

// `outputs` floats side by side.
template <int outputs>
struct Side {
    typedef float Vector __attribute__((vector_size(4 * outputs)));
    Vector v;
    static Side zero() { return {Vector{}}; }
    static Side load(const float* p) {
        Side out;
        __builtin_memcpy(&out.v, p, sizeof out.v);
        return out;
    }
    void store(float* p) const { __builtin_memcpy(p, &v, sizeof v); }
    void add(const Side& other) { v += other.v; }
};
template <>
struct Side<1> {
    float v;
    static Side zero() { return {0.0f}; }
    static Side load(const float* p) { return {*p}; }
    void store(float* p) const { *p = v; }
    void add(const Side& other) { v += other.v; }
};

// The rows of a group are added up together: their sums do not wait for each other.
template <class Slot, int outputs, int group, bool direct>
void add_rows(const Slot* codes, int64_t stride, int64_t begin, int64_t end, int bits,
              const uint16_t* local, const float* weights, float* sums) {
    using Sum = Side<outputs>;
    constexpr int kChains = outputs <= 8 ? 4 : 2;
    Sum sum[group][kChains];
    for (int row = 0; row < group; ++row)
        for (int chain = 0; chain < kChains; ++chain) sum[row][chain] = Sum::zero();
    const auto weight = [&](int row, int64_t slot) {
        const int64_t code = (slot << bits) + codes[row * stride + slot];
        return Sum::load(weights + (direct ? code : int64_t{local[code]}) * outputs);
    };
    int64_t slot = begin;
    for (; slot + kChains <= end; slot += kChains)
        for (int chain = 0; chain < kChains; ++chain)
            for (int row = 0; row < group; ++row) sum[row][chain].add(weight(row, slot + chain));
    for (; slot < end; ++slot)
        for (int row = 0; row < group; ++row) sum[row][0].add(weight(row, slot));
    for (int row = 0; row < group; ++row) {
        for (int chain = 1; chain < kChains; ++chain) sum[row][0].add(sum[row][chain]);
        sum[row][0].add(Sum::load(sums + row * outputs));
        sum[row][0].store(sums + row * outputs);
    }
}

template <class Slot, int outputs, bool direct>
void dots_of(const Slot* codes, int64_t stride, int64_t rows, int64_t begin, int64_t end, int bits,
             const uint16_t* local, const float* weights, float* sums) {
    constexpr int group = outputs == 1 ? 2 : 1;
    int64_t row = 0;
    for (; row + group <= rows; row += group)
        add_rows<Slot, outputs, group, direct>(codes + row * stride, stride, begin, end, bits,
                                               local, weights, sums + row * outputs);
    for (; row < rows; ++row)
        add_rows<Slot, outputs, 1, direct>(codes + row * stride, stride, begin, end, bits, local,
                                           weights, sums + row * outputs);
}

template <class Slot, int outputs>
void dots(const void* codes, int64_t stride, int64_t rows, int64_t begin, int64_t end, int bits,
          const uint16_t* local, const float* weights, float* sums) {
    const auto* slots = static_cast<const Slot*>(codes);
    if (local)
        dots_of<Slot, outputs, false>(slots, stride, rows, begin, end, bits, local, weights, sums);
    else dots_of<Slot, outputs, true>(slots, stride, rows, begin, end, bits, local, weights, sums);
}

}  // namespace

extern const ScoreLoops score_loops;
const ScoreLoops score_loops = {
    {dots<uint8_t, 1>, dots<uint8_t, 4>, dots<uint8_t, 8>, dots<uint8_t, 16>},
    {dots<uint16_t, 1>, dots<uint16_t, 4>, dots<uint16_t, 8>, dots<uint16_t, 16>}};

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
