// Compiled once per instruction set; all levels give the same bits (only + - * / floor and
// comparisons, never reordered).
#include "simd/cws_loops.h"

#include "portable/kl_cws.h"
#include "simd/lanes.h"

namespace kernelight {
namespace KERNELIGHT_SIMD {
namespace {

void logs(const double* values, int64_t count, double p, float* out) {
    for (int64_t at = 0; at < count; ++at) {
        // Branch-free form of kl_log: scale subnormals up, take the scale back off.
        const bool tiny = values[at] < 2.2250738585072014e-308;
        const double scaled = tiny ? values[at] * 18014398509481984.0 : values[at];
        const double log_scaled = kl_log_normal(scaled);
        out[at] = static_cast<float>(p * (tiny ? log_scaled - 37.429947750237047899 : log_scaled));
    }
}

void fill(uint64_t coordinate_key, int64_t first_slot, int64_t n_blocks, float* out,
          int64_t block_stride) {
    for (int64_t block = 0; block < n_blocks; ++block, out += block_stride) {
        const uint64_t slot = static_cast<uint64_t>(first_slot + block * kSlotBlock);
        for (int64_t lane = 0; lane < kSlotBlock; ++lane) {
            const kl_cws_cell cell =
                kl_cws_draw(coordinate_key, slot + static_cast<uint64_t>(lane));
            out[lane] = cell.inverse_r;
            out[kSlotBlock + lane] = cell.beta;
            out[2 * kSlotBlock + lane] = cell.r;
            out[3 * kSlotBlock + lane] = cell.q;
        }
    }
}

// For every entry and the slots of the block: t = floor(log u / r + beta), a = q - r t, keep the
// least a and who had it. The strict comparison and the ascending order of entries send ties to the
// smaller coordinate.
//
// Minima are stored whole, not under a mask: a masked store cannot be forwarded to the next load of
// the same row.
inline void keep_least(Floats v, float* value, int32_t* winner, uint32_t self) {
    const Floats old = Floats::load(value);
    const Ints old_winner = Ints::load(winner);
    const Mask less = v < old;
    v.or_less(old).store(value);
    less.pick(Ints::all(self), old_winner).store(winner);
}

// Cells of a coordinate some entries ahead are fetched early: rows of few nonzeros would wait for
// each.
constexpr int64_t kAhead = 6;

void scan(const CwsEntries& entries, const CwsSlice& slice, CwsBest* best) {
    constexpr int64_t parts = kSlotBlock / Floats::width;
    const int32_t* coordinates = entries.coordinate;
    const int32_t* rows = entries.row;
    const float* log_values = entries.log_value;
    const int64_t last = entries.count;
    int64_t at = 0;
    while (at < last) {
        const int32_t coordinate = coordinates[at];
        const float* cell = slice.of(coordinate);
        if (at + kAhead < last) {
            const float* later = slice.of(coordinates[at + kAhead]);
            for (int64_t line = 0; line < kCellBlock; line += 16) __builtin_prefetch(later + line);
        }
        Floats inverse_r[parts], beta[parts], r[parts], q[parts];
        for (int64_t part = 0; part < parts; ++part) {
            inverse_r[part] = Floats::load(cell + part * Floats::width);
            beta[part] = Floats::load(cell + kSlotBlock + part * Floats::width);
            r[part] = Floats::load(cell + 2 * kSlotBlock + part * Floats::width);
            q[part] = Floats::load(cell + 3 * kSlotBlock + part * Floats::width);
        }
        do {
            const Floats log_value = Floats::all(log_values[at]);
            CwsBest& mine = best[rows[at]];
            for (int64_t part = 0; part < parts; ++part) {
                const Floats t = (log_value * inverse_r[part] + beta[part]).floor();
                const Floats a = q[part] - r[part] * t;
                keep_least(a, mine.value + part * Floats::width, mine.winner + part * Floats::width,
                           static_cast<uint32_t>(at));
            }
            ++at;
        } while (at < last && coordinates[at] == coordinate);
    }
}

// kl_floor_float, as one instruction where there is one (exact either way).
inline float floor_of(float y) {
#if defined(__SSE4_1__) || defined(__aarch64__)
    return __builtin_floorf(y);
#else
    return kl_floor_float(y);
#endif
}

template <class Code>
void finish(const CwsEntries& entries, const CwsSlice& slice, uint64_t code_stream,
            int64_t first_slot, int64_t n_slots, const CwsCoding& coding, int64_t n_rows,
            const CwsBest* best, Code* out, int64_t out_stride, CwsWinners winners) {
    const uint64_t code_mask = low_bits(coding.bits);
    uint64_t slot_keys[kSlotBlock];
    for (int64_t lane = 0; lane < kSlotBlock; ++lane)
        slot_keys[lane] = kl_child(code_stream, static_cast<uint64_t>(first_slot + lane));
    for (int64_t row = 0; row < n_rows; ++row) {
        if (best[row].value[0] == __builtin_inff()) continue;  // an empty row: nothing entered
        const int32_t* winner = best[row].winner;
        uint64_t id[kSlotBlock], t[kSlotBlock];
        Code codes[kSlotBlock];
        for (int64_t lane = 0; lane < kSlotBlock; ++lane) {
            const int32_t at = winner[lane], table_row = slice.local[entries.coordinate[at]];
            const float* cell = slice.cells + static_cast<int64_t>(table_row) * kCellBlock + lane;
            const float y = entries.log_value[at] * cell[0] + cell[kSlotBlock];
            t[lane] = static_cast<uint64_t>(static_cast<int64_t>(floor_of(y))) & coding.t_mask;
            id[lane] = slice.ids[table_row];
        }
        if (coding.lowest)
            for (int64_t lane = 0; lane < kSlotBlock; ++lane)
                codes[lane] = static_cast<Code>(id[lane] & code_mask);
        else
            for (int64_t lane = 0; lane < kSlotBlock; ++lane)
                codes[lane] = static_cast<Code>(
                    kl_cws_code(slot_keys[lane], id[lane], static_cast<int64_t>(t[lane])) &
                    code_mask);
        __builtin_memcpy(out + row * out_stride, codes,
                         static_cast<size_t>(n_slots) * sizeof(Code));
        if (winners.features)
            for (int64_t lane = 0; lane < n_slots; ++lane)
                winners.features[row * winners.stride + lane] = static_cast<int64_t>(id[lane] >> 1);
    }
}

}  // namespace

extern const CwsLoops cws_table;
const CwsLoops cws_table = {logs, fill, scan, finish<uint8_t>, finish<uint16_t>, finish<uint64_t>};

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
