// Compiled once per instruction set. Bounds have the same bits at all levels, although no code
// depends on more than that they are bounds (see cws_bounds.h).
#include "simd/bound_loops.h"

#include "portable/kl_cws.h"
#include "simd/lanes.h"

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

// What the errors of single precision may amount to, relative to the numbers that enter: some three
// times what cws_bounds.h adds up.
constexpr float kSlack = 0x1p-18f;

// Cells of one coordinate whose value is a bound, laid out as those of cws_loops.h.
struct alignas(64) BoundCells {
    float inverse_r[kSlotBlock], beta[kSlotBlock], r[kSlotBlock], q[kSlotBlock];
};

// log(2^e (1 + f)) in single precision, for f from sqrt(1/2) - 1 to sqrt(2) - 1 and whole e. It is
// kl_log_normal with fewer terms: the next is below z^4 / 9 < 2^-23 of the first.
inline float log_of(float e, float f) {
    const float s = f / (2.0f + f), z = s * s, twice = s + s;
    const float p = ((1.0f / 7.0f) * z + 1.0f / 5.0f) * z + 1.0f / 3.0f;
    return e * 0.69314718f + (twice + twice * (p * z));
}

// A half of a word plus 0.5 as a double, by planting its bits under 2^52: 2^32 times the uniform.
inline double half_of(uint64_t bits) {
    return kl_double_of_bits(bits | UINT64_C(0x4330000000000000)) - 4503599627370495.5;
}

// The product of the two uniforms of a word as 2^e (1 + f). Its logarithm may be close to zero, so
// that f is taken in double precision.
inline void split(uint64_t word, float* e, float* f) {
    const uint64_t sqrt_half = UINT64_C(0x3FE6A09E667F3BCD);
    const double product = half_of(word >> 32) * half_of(word & 0xFFFFFFFF);
    const uint64_t shifted = kl_bits_of_double(product) - sqrt_half + (UINT64_C(1023) << 52);
    *e = static_cast<float>(kl_double_of_bits((shifted >> 52) | UINT64_C(0x4330000000000000)) -
                            (4503599627371519.0 + 64.0));
    *f = static_cast<float>(
        kl_double_of_bits((shifted & UINT64_C(0x000FFFFFFFFFFFFF)) + sqrt_half) - 1.0);
}

inline float log_of(float x) {
    const uint32_t sqrt_half = 0x3F3504F3;
    const uint32_t shifted = kl_bits_of_float(x) - sqrt_half + (127u << 23);
    const float e = static_cast<float>(static_cast<int32_t>(shifted >> 23) - 127);
    return log_of(e, kl_float_of_bits((shifted & 0x7FFFFF) + sqrt_half) - 1.0f);
}

void draw(uint64_t coordinate_key, int64_t first_slot, float reach, BoundCells* cells) {
    alignas(64) float e_r[kSlotBlock], f_r[kSlotBlock], e_c[kSlotBlock], f_c[kSlotBlock];
    const uint64_t first = coordinate_key + KL_GOLDEN * (4 * static_cast<uint64_t>(first_slot) + 1);
    for (int64_t lane = 0; lane < kSlotBlock; ++lane) {
        // kl_child(coordinate_key, 4 slot), and the two that follow it
        const uint64_t at = first + static_cast<uint64_t>(lane) * (4 * KL_GOLDEN);
        split(kl_mix64(at), &e_r[lane], &f_r[lane]);
        split(kl_mix64(at + KL_GOLDEN), &e_c[lane], &f_c[lane]);
        cells->beta[lane] =
            static_cast<float>(half_of(kl_mix64(at + 2 * KL_GOLDEN) >> 32) * 0x1p-32);
    }
    for (int64_t lane = 0; lane < kSlotBlock; ++lane) {
        const float r = -log_of(e_r[lane], f_r[lane]), beta = cells->beta[lane];
        const float log_c = log_of(-log_of(e_c[lane], f_c[lane]));
        const float inverse_r = 1.0f / r;
        const float slack =
            kSlack * (((reach + 1.0f) + 3.0f * r) + (log_c < 0.0f ? -log_c : log_c));
        cells->inverse_r[lane] = inverse_r;
        cells->beta[lane] = beta + (kSlack * reach * inverse_r + 0.25f * kSlack);
        cells->r[lane] = r;
        cells->q[lane] = (log_c - r * (1.0f - beta)) - slack;
    }
}

// Rows some entries ahead are fetched early.
constexpr int64_t kAhead = 16;

void meet(const CwsEntries& entries, CwsIdentities identities, const CwsSlots& slots, float reach,
          CwsRivals* rivals) {
    constexpr int64_t parts = kSlotBlock / Floats::width;
    const int64_t last = entries.count;
    BoundCells cells;
    int64_t at = 0;
    while (at < last) {
        const int32_t coordinate = entries.coordinate[at];
        draw(kl_child(slots.stream, identities[coordinate]), slots.first_slot, reach, &cells);
        Floats inverse_r[parts], beta[parts], r[parts], q[parts];
        for (int64_t part = 0; part < parts; ++part) {
            inverse_r[part] = Floats::load(cells.inverse_r + part * Floats::width);
            beta[part] = Floats::load(cells.beta + part * Floats::width);
            r[part] = Floats::load(cells.r + part * Floats::width);
            q[part] = Floats::load(cells.q + part * Floats::width);
        }
        do {
            if (at + kAhead < last) {
                const CwsRivals* later = rivals + entries.row[at + kAhead];
                for (size_t byte = 0; byte < sizeof *later; byte += 64)
                    __builtin_prefetch(reinterpret_cast<const char*>(later) + byte, 1);
            }
            const Floats log_value = Floats::all(entries.log_value[at]);
            CwsRivals& mine = rivals[entries.row[at]];
            for (int64_t part = 0; part < parts; ++part) {
                const int64_t lane = part * Floats::width;
                const Floats t = (log_value * inverse_r[part] + beta[part]).floor();
                const Floats a = q[part] - r[part] * t;
                const Floats least = Floats::load(mine.least + lane);
                const Ints winner = Ints::load(mine.winner + lane);
                const Mask less = a < least;
                a.or_more(least)
                    .or_less(Floats::load(mine.second + lane))
                    .store(mine.second + lane);
                a.or_less(least).store(mine.least + lane);
                less.pick(Ints::all(static_cast<uint32_t>(at)), winner).store(mine.winner + lane);
            }
            ++at;
        } while (at < last && entries.coordinate[at] == coordinate);
    }
}

template <class Code>
void settle(const CwsEntries& entries, CwsIdentities identities, const CwsSlots& slots,
            const CwsCoding& coding, int64_t n_rows, const CwsRivals* rivals, Code* out,
            int64_t out_stride, CwsWinners winners, uint32_t* doubtful) {
    const uint64_t code_mask = low_bits(coding.bits);
    uint64_t slot_keys[kSlotBlock];
    for (int64_t lane = 0; lane < kSlotBlock; ++lane)
        slot_keys[lane] =
            kl_child(slots.code_stream, static_cast<uint64_t>(slots.first_slot + lane));
    for (int64_t row = 0; row < n_rows; ++row) {
        const CwsRivals& mine = rivals[row];
        doubtful[row] = 0;
        if (mine.least[0] == __builtin_inff()) continue;  // an empty row: nothing entered
        uint64_t id[kSlotBlock], t[kSlotBlock];
        float log_value[kSlotBlock], a[kSlotBlock], whole[kSlotBlock];
        Code codes[kSlotBlock];
        for (int64_t lane = 0; lane < kSlotBlock; ++lane) {
            id[lane] = identities[entries.coordinate[mine.winner[lane]]];
            log_value[lane] = entries.log_value[mine.winner[lane]];
        }
        for (int64_t lane = 0; lane < kSlotBlock; ++lane) {
            const kl_cws_cell cell = kl_cws_draw(kl_child(slots.stream, id[lane]),
                                                 static_cast<uint64_t>(slots.first_slot + lane));
            const float y = log_value[lane] * cell.inverse_r + cell.beta;
#if defined(__SSE4_1__) || defined(__aarch64__)
            whole[lane] = __builtin_floorf(y);  // exact, as kl_floor_float is
#else
            whole[lane] = kl_floor_float(y);
#endif
            a[lane] = cell.q - cell.r * whole[lane];
        }
        for (int64_t lane = 0; lane < kSlotBlock; ++lane)
            t[lane] = static_cast<uint64_t>(static_cast<int64_t>(whole[lane])) & coding.t_mask;
        if (coding.lowest)
            for (int64_t lane = 0; lane < kSlotBlock; ++lane)
                codes[lane] = static_cast<Code>(id[lane] & code_mask);
        else
            for (int64_t lane = 0; lane < kSlotBlock; ++lane)
                codes[lane] = static_cast<Code>(
                    kl_cws_code(slot_keys[lane], id[lane], static_cast<int64_t>(t[lane])) &
                    code_mask);
        __builtin_memcpy(out + row * out_stride, codes,
                         static_cast<size_t>(slots.n_slots) * sizeof(Code));
        if (winners.features)
            for (int64_t lane = 0; lane < slots.n_slots; ++lane)
                winners.features[row * winners.stride + lane] = static_cast<int64_t>(id[lane] >> 1);
        uint32_t doubts = 0;
        for (int64_t lane = 0; lane < slots.n_slots; ++lane)
            doubts |= static_cast<uint32_t>(!(a[lane] < mine.second[lane])) << lane;
        doubtful[row] = doubts;
    }
}

void bounds(uint64_t coordinate_key, int64_t first_slot, int64_t n_slots, float log_value,
            float reach, float* out) {
    BoundCells cells;
    draw(coordinate_key, first_slot, reach, &cells);
    for (int64_t lane = 0; lane < n_slots; ++lane)
        out[lane] =
            cells.q[lane] -
            cells.r[lane] * kl_floor_float(log_value * cells.inverse_r[lane] + cells.beta[lane]);
}

}  // namespace

extern const BoundLoops bound_table;
const BoundLoops bound_table = {meet, settle<uint8_t>, settle<uint16_t>, settle<uint64_t>, bounds};

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
