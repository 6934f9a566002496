// The hot loops of consistent weighted sampling, one set per instruction set (see levels.h).
#pragma once

#include <cstdint>

#include "simd/levels.h"

namespace kernelight {

constexpr int64_t kSlotBlock = 32;  // slots evaluated together
constexpr int64_t kCellBlock =
    4 * kSlotBlock;  // floats of one coordinate's table for one slot block

// Nonzero entries of a block of rows, ascending by coordinate (2 column + sign).
struct CwsEntries {
    const int32_t* coordinate;
    const int32_t* row;  // inside the block
    const float* log_value;
    int64_t count;
};

// The cells of one slot block, (table rows, kCellBlock): local[coordinate] is the table row,
// ids[table row] the expanded coordinate that the hash is defined on.
struct CwsSlice {
    const float* cells;
    const int32_t* local;
    const uint64_t* ids;

    // Inlined for certain: this header is compiled for several instruction sets (see levels.h).
    __attribute__((always_inline)) const float* of(int32_t coordinate) const {
        return cells + static_cast<int64_t>(local[coordinate]) * kCellBlock;
    }
};

// Running minima of one row over one slot block: the least value of a, and which entry has it. Side
// by side: two arrays a multiple of 4 KiB apart would make each load wait for the store before it.
struct alignas(128) CwsBest {
    float value[kSlotBlock];
    int32_t winner[kSlotBlock];
};

// The lowest `bits` bits, 1 to 64 of them. Inlined for certain, as above.
__attribute__((always_inline)) inline uint64_t low_bits(int bits) {
    return ~uint64_t{0} >> (64 - bits);
}

// Where the winning features go, beside the codes: (rows, stride), moved to the slot of the first
// code. Null: nobody asks for them.
struct CwsWinners {
    int64_t* features;
    int64_t stride;
};

struct CwsCoding {
    int bits;
    uint64_t t_mask;  // which bits of t* take part
    bool lowest;      // the papers' code: lowest bits of i*
};

struct CwsLoops {
    // out[i] = (float)(p * log(values[i]))
    void (*logs)(const double* values, int64_t count, double p, float* out);
    // The cells of one coordinate: n_blocks times [1/r, beta, r, q][slots of the block],
    // block_stride floats apart.
    void (*fill)(uint64_t coordinate_key, int64_t first_slot, int64_t n_blocks, float* out,
                 int64_t block_stride);
    // One slot block over one row block: lowers what best holds already.
    void (*scan)(const CwsEntries&, const CwsSlice&, CwsBest* best);
    // Winners to codes: out is (rows, out_stride), n_slots <= kSlotBlock of them are written, and
    // as many winning features; rows with no entry are left alone.
    void (*finish8)(const CwsEntries&, const CwsSlice&, uint64_t code_stream, int64_t first_slot,
                    int64_t n_slots, const CwsCoding&, int64_t n_rows, const CwsBest* best,
                    uint8_t* out, int64_t out_stride, CwsWinners winners);
    void (*finish16)(const CwsEntries&, const CwsSlice&, uint64_t code_stream, int64_t first_slot,
                     int64_t n_slots, const CwsCoding&, int64_t n_rows, const CwsBest* best,
                     uint16_t* out, int64_t out_stride, CwsWinners winners);
    void (*finish64)(const CwsEntries&, const CwsSlice&, uint64_t code_stream, int64_t first_slot,
                     int64_t n_slots, const CwsCoding&, int64_t n_rows, const CwsBest* best,
                     uint64_t* out, int64_t out_stride, CwsWinners winners);
};

namespace baseline {
extern const CwsLoops cws_table;
}
#if defined(KERNELIGHT_X86)
namespace avx2 {
extern const CwsLoops cws_table;
}
namespace avx512 {
extern const CwsLoops cws_table;
}
#endif

inline const CwsLoops& cws_loops(Level level) {
#if defined(KERNELIGHT_X86)
    if (level == Level::avx512) return avx512::cws_table;
    if (level == Level::avx2) return avx2::cws_table;
#endif
    (void)level;
    return baseline::cws_table;
}

}  // namespace kernelight
