// Vectors of as many floats as one register holds, of as many 32-bit integers, and masks of their
// lanes. Included by the sources that are compiled once for each instruction set, and by nothing
// else: everything here belongs to the namespace of one level.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

// Comparisons with NaN do not hold.
#if defined(__AVX512F__)

struct Ints {
    __m512i v;
    static Ints all(uint32_t x) { return {_mm512_set1_epi32(static_cast<int>(x))}; }
    friend Ints operator+(Ints a, Ints b) { return {_mm512_add_epi32(a.v, b.v)}; }
    friend Ints operator|(Ints a, Ints b) { return {_mm512_or_si512(a.v, b.v)}; }
    static Ints load(const void* p) { return {_mm512_loadu_si512(p)}; }
    void store(void* p) const { _mm512_storeu_si512(p, v); }
};
struct Mask {
    __mmask16 v;
    static Mask of(uint32_t bits) { return {static_cast<__mmask16>(bits)}; }
    friend Mask operator&(Mask a, Mask b) { return {_kand_mask16(a.v, b.v)}; }
    friend Mask operator|(Mask a, Mask b) { return {_kor_mask16(a.v, b.v)}; }
    Mask without(Mask other) const { return {_kandn_mask16(other.v, v)}; }
    uint32_t bits() const { return v; }
    bool none() const { return _kortestz_mask16_u8(v, v); }
    bool every() const { return _kortestc_mask16_u8(v, v); }
    Ints pick(Ints yes, Ints no) const { return {_mm512_mask_mov_epi32(no.v, v, yes.v)}; }
};
struct Floats {
    static constexpr int width = 16;
    __m512 v;
    static Floats load(const float* p) { return {_mm512_loadu_ps(p)}; }
    static Floats all(float x) { return {_mm512_set1_ps(x)}; }
    void store(float* p) const { _mm512_storeu_ps(p, v); }
    friend Floats operator*(Floats a, Floats b) { return {_mm512_mul_ps(a.v, b.v)}; }
    friend Floats operator+(Floats a, Floats b) { return {_mm512_add_ps(a.v, b.v)}; }
    friend Floats operator-(Floats a, Floats b) { return {_mm512_sub_ps(a.v, b.v)}; }
    friend Mask operator<(Floats a, Floats b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
    friend Mask operator==(Floats a, Floats b) {
        return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)};
    }
    Floats floor() const {
        return {_mm512_roundscale_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
    }
    static Floats pick(Mask mask, Floats yes, Floats no) {
        return {_mm512_mask_mov_ps(no.v, mask.v, yes.v)};
    }
    // The less or the greater of both; the other one where this is NaN.
    Floats or_less(Floats other) const { return {_mm512_min_ps(v, other.v)}; }
    Floats or_more(Floats other) const { return {_mm512_max_ps(v, other.v)}; }
};

#elif defined(__AVX2__)

struct Ints {
    __m256i v;
    static Ints all(uint32_t x) { return {_mm256_set1_epi32(static_cast<int>(x))}; }
    friend Ints operator+(Ints a, Ints b) { return {_mm256_add_epi32(a.v, b.v)}; }
    friend Ints operator|(Ints a, Ints b) { return {_mm256_or_si256(a.v, b.v)}; }
    static Ints load(const void* p) { return {_mm256_loadu_si256(static_cast<const __m256i*>(p))}; }
    void store(void* p) const { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
};
struct Mask {
    __m256 v;
    static Mask of(uint32_t bits) {
        const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        const __m256i given = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), lane);
        return {_mm256_castsi256_ps(_mm256_cmpeq_epi32(given, lane))};
    }
    friend Mask operator&(Mask a, Mask b) { return {_mm256_and_ps(a.v, b.v)}; }
    friend Mask operator|(Mask a, Mask b) { return {_mm256_or_ps(a.v, b.v)}; }
    Mask without(Mask other) const { return {_mm256_andnot_ps(other.v, v)}; }
    uint32_t bits() const { return static_cast<uint32_t>(_mm256_movemask_ps(v)); }
    bool none() const { return bits() == 0; }
    bool every() const { return bits() == 255; }
    Ints pick(Ints yes, Ints no) const {
        return {_mm256_blendv_epi8(no.v, yes.v, _mm256_castps_si256(v))};
    }
};
struct Floats {
    static constexpr int width = 8;
    __m256 v;
    static Floats load(const float* p) { return {_mm256_loadu_ps(p)}; }
    static Floats all(float x) { return {_mm256_set1_ps(x)}; }
    void store(float* p) const { _mm256_storeu_ps(p, v); }
    friend Floats operator*(Floats a, Floats b) { return {_mm256_mul_ps(a.v, b.v)}; }
    friend Floats operator+(Floats a, Floats b) { return {_mm256_add_ps(a.v, b.v)}; }
    friend Floats operator-(Floats a, Floats b) { return {_mm256_sub_ps(a.v, b.v)}; }
    friend Mask operator<(Floats a, Floats b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
    friend Mask operator==(Floats a, Floats b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ)}; }
    Floats floor() const { return {_mm256_floor_ps(v)}; }
    static Floats pick(Mask mask, Floats yes, Floats no) {
        return {_mm256_blendv_ps(no.v, yes.v, mask.v)};
    }
    Floats or_less(Floats other) const { return {_mm256_min_ps(v, other.v)}; }
    Floats or_more(Floats other) const { return {_mm256_max_ps(v, other.v)}; }
};

#else

// Four lanes in the compiler's own vector types: SSE2, NEON, or whatever the machine has.
typedef float FourFloats __attribute__((vector_size(16)));
typedef int32_t FourInts __attribute__((vector_size(16)));

struct Ints {
    FourInts v;
    static Ints all(uint32_t x) {
        const auto each = static_cast<int32_t>(x);
        return {FourInts{each, each, each, each}};
    }
    friend Ints operator+(Ints a, Ints b) { return {a.v + b.v}; }
    friend Ints operator|(Ints a, Ints b) { return {a.v | b.v}; }
    static Ints load(const void* p) {
        Ints out;
        __builtin_memcpy(&out.v, p, sizeof out.v);
        return out;
    }
    void store(void* p) const { __builtin_memcpy(p, &v, sizeof v); }
};
struct Mask {
    FourInts v;
    static Mask of(uint32_t bits) {
        const FourInts lane = {1, 2, 4, 8};
        return {(Ints::all(bits).v & lane) == lane};
    }
    friend Mask operator&(Mask a, Mask b) { return {a.v & b.v}; }
    friend Mask operator|(Mask a, Mask b) { return {a.v | b.v}; }
    Mask without(Mask other) const { return {v & ~other.v}; }
    uint32_t bits() const { return (v[0] & 1u) | (v[1] & 2u) | (v[2] & 4u) | (v[3] & 8u); }
    bool none() const { return bits() == 0; }
    bool every() const { return bits() == 15; }
    Ints pick(Ints yes, Ints no) const { return {(v & yes.v) | (~v & no.v)}; }
};
struct Floats {
    static constexpr int width = 4;
    FourFloats v;
    static Floats load(const float* p) {
        Floats out;
        __builtin_memcpy(&out.v, p, sizeof out.v);
        return out;
    }
    static Floats all(float x) { return {FourFloats{x, x, x, x}}; }
    void store(float* p) const { __builtin_memcpy(p, &v, sizeof v); }
    friend Floats operator*(Floats a, Floats b) { return {a.v * b.v}; }
    friend Floats operator+(Floats a, Floats b) { return {a.v + b.v}; }
    friend Floats operator-(Floats a, Floats b) { return {a.v - b.v}; }
    friend Mask operator<(Floats a, Floats b) { return {a.v < b.v}; }
    friend Mask operator==(Floats a, Floats b) { return {a.v == b.v}; }
    Floats floor() const {  // kl_floor_float, lane by lane without a branch; NaN stays NaN
        const FourInts small = (v < 8388608.0f) & (v > -8388608.0f);
        const Floats inside = pick({small}, *this, {FourFloats{}});
        const FourFloats whole =
            __builtin_convertvector(__builtin_convertvector(inside.v, FourInts), FourFloats);
        const Floats down = pick({whole > inside.v}, {whole - 1.0f}, {whole});
        return pick({small}, down, *this);
    }
    static Floats pick(Mask mask, Floats yes, Floats no) {
        return {(FourFloats)((mask.v & (FourInts)yes.v) | (~mask.v & (FourInts)no.v))};
    }
    Floats or_less(Floats other) const { return pick(*this < other, *this, other); }
    Floats or_more(Floats other) const { return pick(other < *this, *this, other); }
};

#endif

}  // namespace
}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
