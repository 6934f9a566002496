// Plain decimal numbers between marks: the fast way through texts of many numbers.
//
// A mark is a byte that is no digit. Marks are looked for 64 bytes at a time and noted in a list, so
// that the length of a number is known before its digits are looked at, and the work on one number
// does not wait for the one before. A number here is [-] digits [. digits] with at most eight digits
// before the point and 19 together; digits are taken eight at a time. Whatever is not such a number,
// or whose value is not known by the quick ways of parse_number.h, is left to that file: both give
// the same value, the correctly rounded one.
//
// Without SSE2 there are no marks, and everything is read by parse_number.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "parse_number.h"
#include "simd/processor.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// Instructions that find and shift bits, which most x86 processors have: an eighth less time. What is
// marked with KERNELIGHT_BITS may be called where has_bits().
#if defined(__x86_64__) && defined(__GNUC__)
#define KERNELIGHT_BITS __attribute__((target("bmi,bmi2,popcnt")))
#else
#define KERNELIGHT_BITS
#endif

namespace kernelight {

inline bool has_bits() {
#if defined(__x86_64__) && defined(__GNUC__)
    return processor().bits;
#else
    return false;
#endif
}

using Mark = const char* const*;  // a place in the list

class Marks {
   public:
    // Those before `end`; bytes behind it are not looked at.
    explicit Marks(const char* end) : end_(end), stop_(places_) {}

    // In the loops that use it `next` is a variable of their own: the next mark of the list.
    Mark none() const { return places_; }

    // Whether the marks from `next` on are known, as many as an entry has.
    bool known(Mark next) const { return stop_ - next >= kNeeded; }

    // Notes the marks from `at` on, and returns the first; it may not be `known`, at the end. The
    // second is the same for callers that are KERNELIGHT_BITS.
    Mark note(const char* at);
    Mark note_by_bits(const char* at);

    // The first mark from `next` on that is not before `at`.
    Mark sought(Mark next, const char* at) const {
        while (next < stop_ && *next < at) ++next;
        return next;
    }

   private:
    Mark noted(const char* at);

    static constexpr int64_t kSpan = 4096;  // bytes that are looked at together
    static constexpr int64_t kNeeded = 4;   // index:-1.5 and what is behind it

    const char* end_;
    Mark stop_;  // behind the last
    const char* places_[kSpan + 8];
};

namespace number_detail {

constexpr uint32_t kWhole[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

// The number of 1 to 8 digits. Eight bytes are read; those behind the digits are shifted out.
inline uint64_t few_digits(const char* first, int64_t digits) {
    uint64_t word;
    std::memcpy(&word, first, 8);
    return eight_digits((word << (64 - 8 * digits)) & 0x0F0F0F0F0F0F0F0Fu);
}

// How many bits are set: of pairs, of fours, of eights, of all.
inline int64_t ones(uint64_t bits) {
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return static_cast<int64_t>(bits * 0x0101010101010101u >> 56);
}

}  // namespace number_detail

__attribute__((always_inline)) inline Mark Marks::noted(const char* at) {
    using namespace number_detail;
    const char** place = places_;
#if defined(__SSE2__)
    // So far from the end that eight bytes can be read from each mark.
    const int64_t blocks = std::min(kSpan, end_ - at - 8) / 64;
    // Bytes are moved so that '0' to '9' become the ten smallest signed ones.
    const __m128i move = _mm_set1_epi8(static_cast<char>(0x80 - '0')),
                  nine = _mm_set1_epi8(static_cast<char>(0x80 + 9));
    for (int64_t block = 0; block < blocks; ++block, at += 64) {
        uint64_t bits = 0;
        for (int part = 0; part < 4; ++part) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * part));
            const int some = _mm_movemask_epi8(_mm_cmpgt_epi8(_mm_add_epi8(bytes, move), nine));
            bits |= static_cast<uint64_t>(some) << (16 * part);
        }
        const int64_t found = ones(bits);
        // Eight places are written whether there are so many or not: that is predictable.
        for (int64_t done = 0; done < found; done += 8)
            for (int64_t i = 0; i < 8; ++i) {
                place[done + i] = at + __builtin_ctzll(bits | uint64_t{1} << 63);
                bits &= bits - 1;
            }
        place += found;
    }
#else
    (void)at;
#endif
    stop_ = place;
    return places_;
}

__attribute__((noinline)) inline Mark Marks::note(const char* at) { return noted(at); }

KERNELIGHT_BITS __attribute__((noinline)) inline Mark Marks::note_by_bits(const char* at) {
    return noted(at);
}

// The number that begins at `at`, as in parse_number; returns the mark behind it, or nullptr if it
// is none that can be read here. Marks are known from `next` on, which becomes the one behind it.
inline const char* marked_number(const char* at, Mark& next, double& value) {
    using namespace number_detail;
    const bool negative = *at == '-';
    const char* first = at + negative;
    const Mark here = next + negative;
    const char *stop = *here, *after = stop;
    const int64_t whole = stop - first;
    uint64_t significand = static_cast<uint64_t>(*first - '0');
    if (whole != 1) {
        if (static_cast<uint64_t>(whole - 1) >= 8) return nullptr;
        significand = few_digits(first, whole);
    }
    int64_t fraction = 0;
    Mark behind = here + 1;
    if (*stop == '.') {
        after = *behind++;
        fraction = after - stop - 1;
        if (fraction <= 0 || whole + fraction > 19) return nullptr;
        const char* digits = stop + 1;
        int64_t left = fraction;
        for (; left > 8; left -= 8, digits += 8)
            significand = significand * kWhole[8] + few_digits(digits, 8);
        significand = significand * kWhole[left] + few_digits(digits, left);
    }
    double found;
    if (significand <= (uint64_t{1} << 53)) {
        found = static_cast<double>(static_cast<int64_t>(significand)) / kTen[fraction];
    } else if (!product_number(significand, -fraction, found)) {
        return nullptr;
    }
    uint64_t bits;
    std::memcpy(&bits, &found, sizeof bits);
    bits |= static_cast<uint64_t>(negative) << 63;
    std::memcpy(&value, &bits, sizeof value);
    next = behind;
    return after;
}

// The same for a whole number without a sign.
inline const char* marked_whole(const char* at, Mark& next, int64_t& value) {
    const char* stop = *next;
    const int64_t digits = stop - at;
    if (static_cast<uint64_t>(digits - 1) >= 8) return nullptr;
    value = static_cast<int64_t>(number_detail::few_digits(at, digits));
    ++next;
    return stop;
}

}  // namespace kernelight
