// Rows in the lanes of vectors. Only comparisons: equal to the bit on every level.
#include "simd/lane_loops.h"

#include "simd/lanes.h"
#include "simd/transpose.h"

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

// Two vectors of rows share what is read of a dart, and the two chains of masks overlap.
constexpr int kWidth = Floats::width, kParts = 2, kLanes = kParts * kWidth;
static_assert(kLanes <= kMostLanes, "masks have kMostLanes bits");

// out[lane][slot] = tile[slot * kLanes + lane], for the lanes that hold a row.
template <class Code>
void spread(const Code* tile, int64_t slots, uint32_t filled, Code* const* out, int64_t begin) {
    int64_t slot = 0;
#if defined(__SSE2__)
    if constexpr (sizeof(Code) == 1 && kLanes % 16 == 0) {
        for (; slot + 16 <= slots; slot += 16)
            for (int first = 0; first < kLanes; first += 16) {
                __m128i a[16];
                for (int at = 0; at < 16; ++at)
                    a[at] = _mm_loadu_si128(
                        reinterpret_cast<const __m128i*>(tile + (slot + at) * kLanes + first));
                transpose_bytes(a);
                for (int lane = 0; lane < 16; ++lane)
                    if (filled >> (first + lane) & 1)
                        _mm_storeu_si128(
                            reinterpret_cast<__m128i*>(out[first + lane] + begin + slot), a[lane]);
            }
    }
#endif
    for (int lane = 0; lane < kLanes; ++lane)
        if (filled >> lane & 1)
            for (int64_t at = slot; at < slots; ++at)
                out[lane][begin + at] = tile[at * kLanes + lane];
}

template <class Code>
uint32_t darts(const DartGroup* groups, const int64_t* starts, int64_t begin, int64_t end,
               const float* values, uint32_t filled, uint64_t code_mask, Code* const* out,
               int64_t* steps) {
    constexpr bool kWide = sizeof(Code) > sizeof(uint32_t);  // then places are kept, not keys
    Code tile[kTileSlots * kLanes];
    uint32_t without = 0;
    int64_t taken = 0;
    for (int64_t base = begin; base < end; base += kTileSlots) {
        const int64_t here = end - base < kTileSlots ? end - base : kTileSlots;
        for (int64_t slot = 0; slot < here; ++slot) {
            Mask open[kParts] = {Mask::of(filled), Mask::of(filled >> kWidth)};
            Ints code[kParts] = {Ints::all(0), Ints::all(0)};
            const DartGroup* first = groups + starts[base + slot];
            const DartGroup* last = groups + starts[base + slot + 1];
            const DartGroup* group = first;
            while (group < last) {
                for (int64_t at = 0; at < DartGroup::size; ++at) {
                    const auto& probe = group->probe[at];
                    const Floats weight = Floats::all(probe.weight);
                    const Ints word = Ints::all(
                        kWide ? static_cast<uint32_t>((group - first) * DartGroup::size + at)
                              : static_cast<uint32_t>(group->key[at]));
                    for (int part = 0; part < kParts; ++part) {
                        const Floats value = Floats::load(
                            values + int64_t{probe.coordinate} * kLanes + part * kWidth);
                        const Mask owned = open[part] & (weight < value);
                        code[part] = owned.pick(word, code[part]);
                        open[part] = open[part].without(owned);
                    }
                }
                ++group;
                if ((open[0] | open[1]).none()) break;
            }
            taken += group - first;
            uint32_t low[kLanes];
            for (int part = 0; part < kParts; ++part) {
                without |= open[part].bits() << (part * kWidth);
                code[part].store(low + part * kWidth);
            }
            for (int lane = 0; lane < kLanes; ++lane) {
                uint64_t word = low[lane];
                if constexpr (kWide)
                    word = first < last ? first[word / DartGroup::size].key[word % DartGroup::size]
                                        : 0;
                tile[slot * kLanes + lane] = static_cast<Code>(word & code_mask);
            }
        }
        spread(tile, here, filled, out, base);
    }
    *steps += taken * DartGroup::size;
    return without;
}

}  // namespace

extern const LaneLoops lane_loops;
const LaneLoops lane_loops = {kLanes, darts<uint8_t>, darts<uint16_t>, darts<uint64_t>};

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
