// What gcc and clang write differently.
#pragma once

#include <cstdint>
#include <utility>

// Before a loop whose turns do not depend on one another.
#if defined(__clang__)
#define KERNELIGHT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define KERNELIGHT_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

#if defined(__clang__)
template <int h, class Vector, int... lane>
inline Vector exchanged_lanes(Vector v, std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(v, v, (lane ^ h)...);
}
#endif

// Lane i of the result is lane i ^ h of `v`, a vector of `lanes` lanes; `Index` is an integer as wide
// as a lane.
template <int h, class Index, int lanes, class Vector>
inline Vector exchanged(Vector v) {
#if defined(__clang__)
    return exchanged_lanes<h>(v, std::make_integer_sequence<int, lanes>());
#else
    typedef Index Partners __attribute__((vector_size(lanes * sizeof(Index))));
    Partners partner;
    for (int lane = 0; lane < lanes; ++lane) partner[lane] = lane ^ h;
    return __builtin_shuffle(v, partner);
#endif
}

}  // namespace
}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
