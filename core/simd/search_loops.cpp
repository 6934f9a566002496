// One pair of rows or codes at a time, compiled once per instruction set. All levels give the same
// bits: sums run in 64 bytes of lanes on every level, and lanes are added up in a fixed order.
#include "simd/search_loops.h"

#include "simd/levels.h"

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

constexpr int kBytes = 64;
// Steps after which lanes are emptied into doubles, so that float32 sums keep their digits.
constexpr int64_t kSteps = 32;

template <class T>
struct Wide {
    typedef T Vector __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
    static constexpr int lanes = kBytes / static_cast<int>(sizeof(T));
};

// `lanes` values of a row as vectors of T.
template <class T>
typename Wide<T>::Vector load(const T* p) {
    return *reinterpret_cast<const typename Wide<T>::Vector*>(p);
}
inline Wide<double>::Vector load_double(const double* p) { return load(p); }
inline Wide<double>::Vector load_double(const float* p) {
    typedef float Half __attribute__((vector_size(kBytes / 2), aligned(alignof(float)), may_alias));
    return __builtin_convertvector(*reinterpret_cast<const Half*>(p), Wide<double>::Vector);
}
template <class T, class A>
typename Wide<T>::Vector load_as(const A* p) {
    if constexpr (sizeof(T) == sizeof(double)) return load_double(p);
    else return load(p);
}

// With m = min(a, b) and M = max(a, b), the halves of two signed values have the minima
// max(m, 0) - min(M, 0) and the maxima max(M, 0) - min(m, 0): one of the two terms is 0 unless the
// signs differ. For values of at least 0 they are m and M.
template <class T, bool kNonnegative>
struct Sums {
    using V = typename Wide<T>::Vector;
    V low = {}, high = {};

    void add(V a, V b) {
        const V least = a < b ? a : b, most = a < b ? b : a, zero = {};
        if constexpr (kNonnegative) {
            low += least;
            high += most;
        } else {
            low += (least > zero ? least : zero) - (most < zero ? most : zero);
            high += (most > zero ? most : zero) - (least < zero ? least : zero);
        }
    }
};

template <class T, bool kNonnegative, class A, class B>
MinMaxSums minmax(const A* a, const B* b, int64_t width) {
    constexpr int lanes = Wide<T>::lanes;
    double low[lanes] = {}, high[lanes] = {};
    int64_t at = 0;
    while (at < width) {
        Sums<T, kNonnegative> sums;
        const int64_t whole = (width - at) / lanes, steps = whole < kSteps ? whole : kSteps;
        for (int64_t step = 0; step < steps; ++step, at += lanes)
            sums.add(load_as<T>(a + at), load_as<T>(b + at));
        if (steps < kSteps && at < width) {  // what is left does not fill a vector
            A a_rest[lanes] = {};
            B b_rest[lanes] = {};
            for (int64_t lane = 0; lane < width - at; ++lane)
                a_rest[lane] = a[at + lane], b_rest[lane] = b[at + lane];
            sums.add(load_as<T>(a_rest), load_as<T>(b_rest));
            at = width;
        }
        for (int lane = 0; lane < lanes; ++lane) {
            low[lane] += static_cast<double>(sums.low[lane]);
            high[lane] += static_cast<double>(sums.high[lane]);
        }
    }
    MinMaxSums total{0, 0};
    for (int lane = 0; lane < lanes; ++lane) total.low += low[lane], total.high += high[lane];
    return total;
}

template <class T, class A, class B>
MinMaxSums minmax_of(const A* a, const B* b, int64_t width, bool nonnegative) {
    return nonnegative ? minmax<T, true>(a, b, width) : minmax<T, false>(a, b, width);
}

// Bytes of a vector of integers, as many as one register holds: sums of integers do not depend on it,
// and wider vectors are taken apart into single values.
#if defined(__AVX2__)
constexpr int kRegister = 32;
#else
constexpr int kRegister = 16;
#endif

int64_t minima_8(const uint8_t* a, const uint8_t* b, int64_t width) {
    typedef uint8_t Bytes __attribute__((vector_size(kRegister), aligned(1), may_alias));
    typedef uint16_t Pairs __attribute__((vector_size(kRegister)));
    typedef uint64_t Words __attribute__((vector_size(kRegister)));
    constexpr int64_t kFill = 128 * kRegister;  // 2 * 255 a step: so many fit 16 bits
    int64_t total = 0;
    for (int64_t at = 0; at < width;) {
        const int64_t end = width - at < kFill ? width : at + kFill;
        Pairs sums = {};
        for (; at < end; at += kRegister) {
            const Bytes u = *reinterpret_cast<const Bytes*>(a + at),
                        v = *reinterpret_cast<const Bytes*>(b + at), least = u < v ? u : v;
            const Pairs two = reinterpret_cast<Pairs>(least);
            sums += (two & 255) + (two >> 8);
        }
        constexpr uint64_t kLow = 0x0000FFFF0000FFFF;
        const Words four = reinterpret_cast<Words>(sums),
                    halves = (four & kLow) + ((four >> 16) & kLow);
        uint64_t sum = 0;
        for (int word = 0; word < kRegister / 8; ++word) sum += halves[word];
        total += static_cast<int64_t>((sum & UINT32_MAX) + (sum >> 32));
    }
    return total;
}

// Equal slots: a comparison that holds is -1 in its lane; bytes are emptied before they overflow.
template <class Slot>
int32_t equal_slots(const Slot* a, const Slot* b, int64_t slots) {
    constexpr int bytes = kRegister, lanes = bytes / static_cast<int>(sizeof(Slot));
    typedef Slot Vector __attribute__((vector_size(bytes), aligned(alignof(Slot)), may_alias));
    int32_t total = 0;
    int64_t at = 0;
    while (slots - at >= lanes) {
        const int64_t whole = (slots - at) / lanes, steps = whole < 255 ? whole : 255;
        Vector equal = {};
        for (int64_t step = 0; step < steps; ++step, at += lanes)
            equal -= reinterpret_cast<Vector>(*reinterpret_cast<const Vector*>(a + at) ==
                                              *reinterpret_cast<const Vector*>(b + at));
        // Even and odd bytes of each word as lanes of 16 bits, then all words, then the lanes.
        typedef uint64_t Words __attribute__((vector_size(bytes)));
        const Words packed = reinterpret_cast<Words>(equal);
        constexpr uint64_t kLow = 0x00FF00FF00FF00FF;
        const Words pairs = (packed & kLow) + ((packed >> 8) & kLow);
        uint64_t lanes_of_all = 0;
        for (int word = 0; word < bytes / 8; ++word) lanes_of_all += pairs[word];
        total += static_cast<int32_t>((lanes_of_all * 0x0001000100010001) >> 48);
    }
    for (; at < slots; ++at) total += a[at] == b[at];
    return total;
}

float different_8(const uint8_t* a, const uint8_t* b, size_t slots) {
    return static_cast<float>(static_cast<int64_t>(slots) -
                              equal_slots(a, b, static_cast<int64_t>(slots)));
}

}  // namespace

extern const SearchLoops search_loops;
const SearchLoops search_loops = {minmax_of<float, float, float>,
                                  minmax_of<double, double, double>,
                                  minmax_of<double, float, double>,
                                  minima_8,
                                  equal_slots<uint8_t>,
                                  equal_slots<uint16_t>,
                                  different_8};

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
