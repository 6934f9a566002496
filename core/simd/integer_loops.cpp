// Compiled once per instruction set; all levels give the same bits: the operations of
// core/portable/kl_integer_fourier.h on each number. Whole numbers wrap around, so that the order
// of sums does not matter.
#include "simd/integer_loops.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "portable/kl_integer_fourier.h"
#include "simd/hadamard.h"

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

template <class Value>
void angles(const Value* x, int64_t count, double factor, uint16_t* to) {
    KERNELIGHT_INDEPENDENT
    for (int64_t at = 0; at < count; ++at)
        to[at] = kl_integer_angle(static_cast<double>(x[at]), factor);
}

struct MaskedSigns {
    const uint16_t* signs;
    Lanes<uint16_t> entered(const uint16_t* from, int64_t at) const {
        const Lanes<uint16_t> minus = load_lanes(signs + at);
        return (load_lanes(from + at) ^ minus) - minus;
    }
};

void block(const uint16_t* from, const uint16_t* signs, int64_t width, uint16_t* to) {
    hadamard_lanes(from, to, width, MaskedSigns{signs});
}

// kl_integer_wave in 16 bits: the high half of the product a (2^15 - |a|), of numbers with a sign.
// 2^15 does not fit in one, but comes with a = 0 only.
#if defined(__SSE2__)
inline Lanes<int16_t> high_product(Lanes<int16_t> a, Lanes<int16_t> b) {
#if defined(__AVX512BW__)
    return (Lanes<int16_t>)_mm512_mulhi_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (Lanes<int16_t>)_mm256_mulhi_epi16((__m256i)a, (__m256i)b);
#else
    return (Lanes<int16_t>)_mm_mulhi_epi16((__m128i)a, (__m128i)b);
#endif
}

inline Lanes<uint16_t> size_of(Lanes<uint16_t> x) {
    const auto minus = (Lanes<uint16_t>)((Lanes<int16_t>)x >> 15);
    return (x ^ minus) - minus;
}

inline Lanes<int16_t> waves(Lanes<uint16_t> angle) {
    const Lanes<uint16_t> a = 16384 - size_of(angle), b = 32768 - size_of(a);
    return (high_product((Lanes<int16_t>)a, (Lanes<int16_t>)b) + 2) >> 2;
}
#endif

void read_integers(const uint16_t* angle, const uint16_t* phase, int64_t count, int16_t* out) {
    int64_t at = 0;
#if defined(__SSE2__)
    constexpr int64_t lanes = kLanesOf<uint16_t>;
    for (; at + lanes <= count; at += lanes)
        store_lanes(out + at, waves(load_lanes(angle + at) + load_lanes(phase + at)));
#endif
    for (; at < count; ++at)
        out[at] = kl_integer_wave(static_cast<uint16_t>(angle[at] + phase[at]));
}

void read_features(const uint16_t* angle, const uint16_t* phase, int64_t count, double amplitude,
                   float* out) {
    constexpr int64_t together = 256;
    int16_t wave[together];
    for (int64_t first = 0; first < count; first += together) {
        const int64_t here = count - first < together ? count - first : together;
        read_integers(angle + first, phase + first, here, wave);
        for (int64_t at = 0; at < here; ++at)
            out[first + at] = static_cast<float>(static_cast<int32_t>(wave[at]) * amplitude);
    }
}

}  // namespace

extern const IntegerLoops integer_table;
const IntegerLoops integer_table = {
    angles<float>, angles<double>, block, read_integers, read_features,
};

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
