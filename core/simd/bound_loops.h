// The hot loops of sampling by bounds (cws_bounds.h), one set per instruction set (see levels.h).
#pragma once

#include <cstdint>

#include "simd/cws_loops.h"

namespace kernelight {

// Running minima of one row over one slot block: the least bound, which entry has it, and the least
// bound of all others.
struct alignas(128) CwsRivals {
    float least[kSlotBlock];
    float second[kSlotBlock];
    int32_t winner[kSlotBlock];
};

// Who the coordinates of a listing are to the hash: ids null, a coordinate is its own identity.
struct CwsIdentities {
    const uint64_t* ids;

    // Inlined for certain: this header is compiled for several instruction sets (see levels.h).
    __attribute__((always_inline)) uint64_t operator[](int32_t coordinate) const {
        return ids ? ids[coordinate] : static_cast<uint64_t>(coordinate);
    }
};

// The slots of one block: keys of their parameters and of their codes come from the two streams.
struct CwsSlots {
    uint64_t stream, code_stream;
    int64_t first_slot, n_slots;
};

struct BoundLoops {
    // Bounds of every entry in all slots of a block, lowering what rivals hold already. No log value
    // is larger in size than reach.
    void (*meet)(const CwsEntries&, CwsIdentities, const CwsSlots&, float reach, CwsRivals* rivals);
    // Winners to codes, as `finish` of cws_loops.h; doubtful[row] has a bit for each slot whose
    // winner is not certain, and whose code does not count.
    void (*settle8)(const CwsEntries&, CwsIdentities, const CwsSlots&, const CwsCoding&,
                    int64_t n_rows, const CwsRivals* rivals, uint8_t* out, int64_t out_stride,
                    CwsWinners winners, uint32_t* doubtful);
    void (*settle16)(const CwsEntries&, CwsIdentities, const CwsSlots&, const CwsCoding&,
                     int64_t n_rows, const CwsRivals* rivals, uint16_t* out, int64_t out_stride,
                     CwsWinners winners, uint32_t* doubtful);
    void (*settle64)(const CwsEntries&, CwsIdentities, const CwsSlots&, const CwsCoding&,
                     int64_t n_rows, const CwsRivals* rivals, uint64_t* out, int64_t out_stride,
                     CwsWinners winners, uint32_t* doubtful);
    // Bounds of one value in one coordinate, in n_slots <= kSlotBlock slots; for tests.
    void (*bounds)(uint64_t coordinate_key, int64_t first_slot, int64_t n_slots, float log_value,
                   float reach, float* out);
};

namespace baseline {
extern const BoundLoops bound_table;
}
#if defined(KERNELIGHT_X86)
namespace avx2 {
extern const BoundLoops bound_table;
}
namespace avx512 {
extern const BoundLoops bound_table;
}
#endif

inline const BoundLoops& bound_loops(Level level) {
#if defined(KERNELIGHT_X86)
    if (level == Level::avx512) return avx512::bound_table;
    if (level == Level::avx2) return avx2::bound_table;
#endif
    (void)level;
    return baseline::bound_table;
}

}  // namespace kernelight
