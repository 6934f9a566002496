// The Hadamard transform of a row of floats or of whole numbers, a register of lanes at a time.
// Included by the sources that are compiled once for each instruction set, and by nothing else:
// everything here belongs to the namespace of one level.
//
// log2(width) steps; the step of distance h turns each pair (a, b) of numbers h apart into (a + b,
// a - b). Steps of distances below the lanes of a register happen inside it: the partner of a lane
// is fetched by a shuffle, and a + b, a - b is the partner plus the lane itself with its sign
// turned in the upper half. Others join whole registers, up to three steps for one load and store
// of each. Whole numbers are unsigned and wrap around.
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "simd/compilers.h"

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

#if defined(__AVX512F__)
constexpr int kRegisterBytes = 64;
#elif defined(__AVX2__)
constexpr int kRegisterBytes = 32;
#else
constexpr int kRegisterBytes = 16;
#endif

template <class Number>
struct LanesOf {
    typedef Number type __attribute__((vector_size(kRegisterBytes)));
};
template <class Number>
using Lanes = typename LanesOf<Number>::type;
template <class Number>
constexpr int kLanesOf = kRegisterBytes / static_cast<int>(sizeof(Number));

template <class Number>
inline Lanes<Number> load_lanes(const Number* p) {
    Lanes<Number> v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
template <class Number>
inline void store_lanes(Number* p, Lanes<Number> v) {
    __builtin_memcpy(p, &v, sizeof v);
}

// The step of distance `h` inside a register.
template <int h, class Number>
inline Lanes<Number> step_inside(Lanes<Number> v) {
    constexpr int lanes = kLanesOf<Number>;
    using Index = std::conditional_t<sizeof(Number) == 2, int16_t, int32_t>;
    const Lanes<Number> other = exchanged<h, Index, lanes>(v);
    if constexpr (std::is_same_v<Number, float>) {
#if defined(__AVX512F__)
        // Fused, but with the same bits: a product by 1 or -1 is exact.
        Lanes<float> sign;
        for (int lane = 0; lane < lanes; ++lane) sign[lane] = lane & h ? -1.0f : 1.0f;
        return (Lanes<float>)_mm512_fmadd_ps((__m512)v, (__m512)sign, (__m512)other);
#else
        Lanes<int32_t> turned;
        for (int lane = 0; lane < lanes; ++lane) turned[lane] = lane & h ? INT32_MIN : 0;
        return other + (Lanes<float>)((Lanes<int32_t>)v ^ turned);
#endif
    } else {
        Lanes<Number> minus;
        for (int lane = 0; lane < lanes; ++lane)
            minus[lane] = lane & h ? static_cast<Number>(-1) : 0;
        return other + ((v ^ minus) - minus);
    }
}

template <class Number, int h = 1>
inline Lanes<Number> steps_inside(Lanes<Number> v) {
    if constexpr (h < kLanesOf<Number>)
        return steps_inside<Number, 2 * h>(step_inside<h, Number>(v));
    else return v;
}

// All steps between `count` registers.
template <class Number, int count>
inline void steps_between(Lanes<Number> (&v)[count]) {
#pragma GCC unroll 3
    for (int h = 1; h < count; h *= 2)
#pragma GCC unroll 8
        for (int at = 0; at < count; ++at)
            if (!(at & h)) {
                const Lanes<Number> a = v[at], b = v[at + h];
                v[at] = a + b;
                v[at + h] = a - b;
            }
}

// The lowest steps of count * lanes neighbours, with the signs on the way.
template <int count, class Number, class Signs>
void lowest_steps(const Number* from, Number* x, int64_t width, const Signs& signs) {
    constexpr int lanes = kLanesOf<Number>;
    for (int64_t base = 0; base < width; base += count * lanes) {
        Lanes<Number> v[count];
#pragma GCC unroll 8
        for (int at = 0; at < count; ++at)
            v[at] = steps_inside<Number>(signs.entered(from, base + at * lanes));
        steps_between<Number, count>(v);
#pragma GCC unroll 8
        for (int at = 0; at < count; ++at) store_lanes(x + base + at * lanes, v[at]);
    }
}

// The steps of distances h, 2h ... (count / 2) h.
template <int count, class Number>
void higher_steps(Number* x, int64_t width, int64_t h) {
    constexpr int lanes = kLanesOf<Number>;
    for (int64_t base = 0; base < width; base += count * h)
        for (int64_t inner = base; inner < base + h; inner += lanes) {
            Lanes<Number> v[count];
#pragma GCC unroll 8
            for (int at = 0; at < count; ++at) v[at] = load_lanes(x + inner + at * h);
            steps_between<Number, count>(v);
#pragma GCC unroll 8
            for (int at = 0; at < count; ++at) store_lanes(x + inner + at * h, v[at]);
        }
}

// x <- H (signs o from) of a power-of-two width of at least one register; from may be x.
// signs.entered(from, at) loads a register of it.
template <class Number, class Signs>
void hadamard_lanes(const Number* from, Number* x, int64_t width, const Signs& signs) {
    constexpr int64_t lanes = kLanesOf<Number>;
    int64_t h = lanes;
    if (width >= 8 * lanes) {
        lowest_steps<8>(from, x, width, signs);
        h = 8 * lanes;
    } else if (width >= 4 * lanes) {
        lowest_steps<4>(from, x, width, signs);
        h = 4 * lanes;
    } else if (width >= 2 * lanes) {
        lowest_steps<2>(from, x, width, signs);
        h = 2 * lanes;
    } else {
        lowest_steps<1>(from, x, width, signs);
    }
    for (; 4 * h < width; h *= 8) higher_steps<8>(x, width, h);
    if (2 * h < width) higher_steps<4>(x, width, h);
    else if (h < width) higher_steps<2>(x, width, h);
}

}  // namespace
}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
