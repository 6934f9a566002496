// Rows side by side: the lanes of a vector are rows, and a slot is sampled for all of them at once.
// Samplers list for each slot what may win it, the likeliest first, and stop as soon as no row can
// change any more; for rows that resemble each other that is after a few steps, whatever their
// width.
//
// Values of a group of rows lie by coordinate, (coordinates, lanes). All levels give the same bits;
// they differ in the number of lanes.
#pragma once

#include <cstdint>

#include "simd/levels.h"

namespace kernelight {

constexpr int kMostLanes = 32;
constexpr int64_t kTileSlots = 16;  // slots that are written to the rows together

// Four darts of a slot, by rank, on one cache line.
struct DartGroup {
    static constexpr int64_t size = 4;
    struct {
        float weight;
        uint32_t coordinate;
    } probe[size];
    uint64_t key[size];
};
static_assert(sizeof(DartGroup) == 64, "Python allocates eight 64-bit words a group");

// `filled` has a bit for each lane that holds a row; out[lane] is where the codes of that row go.
struct LaneLoops {
    int lanes;
    // The first dart of each slot that a row owns, one whose weight is below the value: codes of the
    // slots [begin, end), whose lists are groups[starts[slot]] ... Adds the darts that were tested
    // to `steps`; returns the lanes that own no dart of some list.
    uint32_t (*darts8)(const DartGroup* groups, const int64_t* starts, int64_t begin, int64_t end,
                       const float* values, uint32_t filled, uint64_t code_mask,
                       uint8_t* const* out, int64_t* steps);
    uint32_t (*darts16)(const DartGroup* groups, const int64_t* starts, int64_t begin, int64_t end,
                        const float* values, uint32_t filled, uint64_t code_mask,
                        uint16_t* const* out, int64_t* steps);
    uint32_t (*darts64)(const DartGroup* groups, const int64_t* starts, int64_t begin, int64_t end,
                        const float* values, uint32_t filled, uint64_t code_mask,
                        uint64_t* const* out, int64_t* steps);
};

namespace baseline {
extern const LaneLoops lane_loops;
}
#if defined(KERNELIGHT_X86)
namespace avx2 {
extern const LaneLoops lane_loops;
}
namespace avx512 {
extern const LaneLoops lane_loops;
}
#endif

inline const LaneLoops& lane_loops([[maybe_unused]] Level level) {
#if defined(KERNELIGHT_X86)
    if (level == Level::avx512) return avx512::lane_loops;
    if (level == Level::avx2) return avx2::lane_loops;
#endif
    return baseline::lane_loops;
}

template <class Code>
auto lane_darts(const LaneLoops& loops) {
    if constexpr (sizeof(Code) == 1) return loops.darts8;
    else if constexpr (sizeof(Code) == 2) return loops.darts16;
    else return loops.darts64;
}

}  // namespace kernelight
