// Decimal numbers in text, correctly rounded.
//
// A number is [+-] digits [. digits] [(e|E) [+-] digits], with at least one digit before the
// exponent. Its value is the double nearest to it, ties to even. With a significand of at most 2^53
// and a power of ten of at most 10^22 both are exact as doubles, so that one multiplication or
// division rounds once (Clinger, How to read floating point numbers accurately, 1990). With up to
// 19 digits and a power of up to 10^27, the product w T of the significand and 64 bits of the power
// of five is below the truth by less than w; where both ends of that interval round alike, the
// answer is known (Lemire, Number parsing at a gigabyte per second, 2021, in small). Everything
// else is left to std::from_chars. Beyond the largest double a number is infinity, below the
// smallest it is zero.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <system_error>
#include <vector>

namespace kernelight {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

namespace number_detail {

constexpr double kTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                           1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int64_t kFar =
    100000;  // a power of ten that no number of digits in memory makes up for is cut here

// 64 bits of 5^q, cut off: floor(5^q 2^shift), with the highest bit set.
struct Five {
    uint64_t bits;
    int shift;
};

constexpr int kReach = 27;  // 5^27 < 2^63

struct Fives {
    Five of[2 * kReach + 1];
    constexpr Fives() : of() {
        uint64_t power = 1;
        for (int q = 0; q <= kReach; ++q, power *= 5) {
            int length = 0;
            while (length < 64 && power >> length) ++length;
            of[kReach + q] = {power << (64 - length), 64 - length};
            if (q > 0)
                of[kReach - q] = {static_cast<uint64_t>(
                                      (static_cast<unsigned __int128>(1) << (63 + length)) / power),
                                  63 + length};
        }
    }
};
inline constexpr Fives kFives{};

// significand * 10^exponent, both within the reach; false if the interval does not decide.
inline bool product_number(uint64_t significand, int64_t exponent, double& value) {
    using Wide = unsigned __int128;
    const Five five = kFives.of[kReach + exponent];
    const int zeros = __builtin_clzll(significand);
    const uint64_t factor = significand << zeros;
    const Wide product = static_cast<Wide>(factor) * five.bits;
    // The truth is in [product, product + factor). 53 bits and the one that is rounded are the
    // upper ones of the upper half; the others decide if they are neither all 0 nor, with what
    // comes from below, all 1 and one more.
    const uint64_t high = static_cast<uint64_t>(product >> 64),
                   low = static_cast<uint64_t>(product);
    const int cut = 9 + static_cast<int>(high >> 63);
    const uint64_t rest = (uint64_t{1} << cut) - 1, top = high >> cut;
    if ((low + factor < low && (high & rest) == rest) || (low == 0 && (high & rest) == 0))
        return false;
    const uint64_t rounded = (top >> 1) + (top & 1);
    const int shift = 64 + cut;
    const int64_t power = shift + 1 - zeros - five.shift + exponent;
    const uint64_t scale_bits = static_cast<uint64_t>(power + 1023) << 52;
    double scale;
    std::memcpy(&scale, &scale_bits, sizeof scale);
    value = static_cast<double>(rounded) * scale;
    return true;
}

// Eight digits (as numbers, one a byte, the first in the lowest) as one number: pairs, then fours,
// then eights.
inline uint64_t eight_digits(uint64_t word) {
    word = word * 10 + (word >> 8);
    return ((word & 0x000000FF000000FFu) * 0x000F424000000064u +
            ((word >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u) >>
           32;
}

// Takes digits, eight at a time while there are so many; 19 fit, more wrap around.
inline const char* take_digits(const char* at, const char* end, uint64_t& number) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (end - at >= 8) {
        uint64_t word;
        std::memcpy(&word, at, 8);
        const uint64_t high = word & 0xF0F0F0F0F0F0F0F0u,
                       carried = (word + 0x0606060606060606u) & 0xF0F0F0F0F0F0F0F0u;
        if (high != 0x3030303030303030u || carried != 0x3030303030303030u) break;
        number = number * 100000000u + eight_digits(word - 0x3030303030303030u);
        at += 8;
    }
#endif
    while (at < end && is_digit(*at)) number = number * 10 + static_cast<uint64_t>(*at++ - '0');
    return at;
}

// Without [+-]; the text is known to be a number. `magnitude`: its first nonzero digit stands for
// 10^(magnitude - 1).
inline double slow_number(const char* begin, const char* end, int64_t magnitude) {
    double value = 0.0;
#if defined(__cpp_lib_to_chars) || defined(_GLIBCXX_RELEASE)
    const auto done = std::from_chars(begin, end, value);
    if (done.ec == std::errc::result_out_of_range)
        return magnitude > 0 ? std::numeric_limits<double>::infinity() : 0.0;
#else  // a standard library without it: strtod, which wants a zero at the end
    (void)magnitude;
    std::vector<char> copy(begin, end);
    copy.push_back('\0');
    value = std::strtod(copy.data(), nullptr);
#endif
    return value;
}

}  // namespace number_detail

// Reads the number that begins at `begin`; returns where it ends, or nullptr if none begins there.
inline const char* parse_number(const char* begin, const char* end, double& value) {
    using namespace number_detail;
    const char* at = begin;
    bool negative = false;
    if (at < end && (*at == '-' || *at == '+')) negative = *at++ == '-';
    const char* unsigned_begin = at;
    uint64_t significand = 0;
    const char* first = at;
    while (at < end && is_digit(*at))
        significand = significand * 10 + static_cast<uint64_t>(*at++ - '0');  // few, mostly
    int64_t digits = at - first, exponent = 0;
    const int64_t whole = digits;
    if (at < end && *at == '.') {
        const char* fraction = ++at;
        at = take_digits(at, end, significand);
        exponent = fraction - at;
        digits -= exponent;
    }
    if (digits == 0) return nullptr;
    if (at < end && (*at == 'e' || *at == 'E')) {
        const char* after = at + 1;
        bool down = false;
        if (after < end && (*after == '-' || *after == '+')) down = *after++ == '-';
        if (after < end && is_digit(*after)) {
            int64_t power = 0;
            for (; after < end && is_digit(*after); ++after)
                power = power < kFar ? power * 10 + (*after - '0') : power;
            exponent += down ? -power : power;
            at = after;
        }
    }
    double found = 0.0;
    const bool few = digits <= 19, zero = few && significand == 0;
    if (few && significand <= (uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
        found = static_cast<double>(significand);
        found = exponent < 0 ? found / kTen[-exponent] : found * kTen[exponent];
    } else if (!zero && !(few && exponent >= -kReach && exponent <= kReach &&
                          product_number(significand, exponent, found))) {
        // Where its first nonzero digit stands decides between infinity and zero when neither fits.
        const char* nonzero = unsigned_begin;
        while (nonzero < at && (*nonzero == '0' || *nonzero == '.')) ++nonzero;
        const int64_t shift = exponent + (digits - whole);  // what (e|E) says
        int64_t magnitude = whole - (nonzero - unsigned_begin);
        if (nonzero > unsigned_begin + whole) ++magnitude;  // the point itself is no digit
        found = slow_number(unsigned_begin, at, magnitude + shift);
    }
    value = negative ? -found : found;
    return at;
}

// A whole number without a sign that is at most `most`; nullptr if there is none, and `most + 1`
// (or more) is none.
inline const char* parse_whole(const char* begin, const char* end, int64_t& value) {
    const char* at = begin;
    int64_t found = 0;
    for (; at < end && is_digit(*at); ++at) {
        if (found > (std::numeric_limits<int64_t>::max() - 9) / 10) return nullptr;
        found = found * 10 + (*at - '0');
    }
    if (at == begin) return nullptr;
    value = found;
    return at;
}

}  // namespace kernelight
