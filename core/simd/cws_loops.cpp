// Compiled once per instruction set; all levels give the same bits (only + - * / floor and
// comparisons, never reordered).
#include "simd/cws_loops.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "portable/kl_cws.h"

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
// Lanes holds as many floats as one register. Minima are stored whole, not under a mask: a masked
// store cannot be forwarded to the next load of the same row.
#if defined(__AVX512F__)

struct Lanes {
    static constexpr int64_t width = 16;
    __m512 v;
    static Lanes load(const float* p) { return {_mm512_loadu_ps(p)}; }
    static Lanes all(float x) { return {_mm512_set1_ps(x)}; }
    friend Lanes operator*(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
    friend Lanes operator+(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
    friend Lanes operator-(Lanes a, Lanes b) { return {_mm512_sub_ps(a.v, b.v)}; }
    Lanes floor() const {
        return {_mm512_roundscale_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
    }
    void keep_least(float* value, int32_t* winner, int32_t self) const {
        const __m512 old = _mm512_load_ps(value);
        const __m512i old_winner = _mm512_load_epi32(winner);
        const __mmask16 less = _mm512_cmp_ps_mask(v, old, _CMP_LT_OQ);
        _mm512_store_ps(value, _mm512_min_ps(v, old));
        _mm512_store_epi32(winner, _mm512_mask_set1_epi32(old_winner, less, self));
    }
};

#elif defined(__AVX2__)

struct Lanes {
    static constexpr int64_t width = 8;
    __m256 v;
    static Lanes load(const float* p) { return {_mm256_loadu_ps(p)}; }
    static Lanes all(float x) { return {_mm256_set1_ps(x)}; }
    friend Lanes operator*(Lanes a, Lanes b) { return {_mm256_mul_ps(a.v, b.v)}; }
    friend Lanes operator+(Lanes a, Lanes b) { return {_mm256_add_ps(a.v, b.v)}; }
    friend Lanes operator-(Lanes a, Lanes b) { return {_mm256_sub_ps(a.v, b.v)}; }
    Lanes floor() const { return {_mm256_floor_ps(v)}; }
    void keep_least(float* value, int32_t* winner, int32_t self) const {
        const __m256 old = _mm256_load_ps(value);
        const __m256i old_winner = _mm256_load_si256(reinterpret_cast<__m256i*>(winner));
        const __m256i less = _mm256_castps_si256(_mm256_cmp_ps(v, old, _CMP_LT_OQ));
        _mm256_store_ps(value, _mm256_min_ps(v, old));
        _mm256_store_si256(reinterpret_cast<__m256i*>(winner),
                           _mm256_blendv_epi8(old_winner, _mm256_set1_epi32(self), less));
    }
};

#else

// Four floats in the compiler's own vector type: SSE2, NEON, or whatever the machine has.
struct Lanes {
    typedef float Floats __attribute__((vector_size(16)));
    typedef int32_t Ints __attribute__((vector_size(16)));
    static constexpr int64_t width = 4;
    Floats v;
    static Lanes load(const float* p) {
        Lanes out;
        __builtin_memcpy(&out.v, p, sizeof out.v);
        return out;
    }
    static Lanes all(float x) { return {Floats{x, x, x, x}}; }
    friend Lanes operator*(Lanes a, Lanes b) { return {a.v * b.v}; }
    friend Lanes operator+(Lanes a, Lanes b) { return {a.v + b.v}; }
    friend Lanes operator-(Lanes a, Lanes b) { return {a.v - b.v}; }
    Lanes floor() const {  // kl_floor_float, lane by lane without a branch
        const Ints small = (v < 8388608.0f) & (v > -8388608.0f);
        const Floats inside = select(small, v, v - v);
        const Floats whole = __builtin_convertvector(__builtin_convertvector(inside, Ints), Floats);
        const Floats down = select(whole > inside, whole - 1.0f, whole);
        return {select(small, down, v)};
    }
    void keep_least(float* value, int32_t* winner, int32_t self) const {
        Floats old;
        Ints old_winner;
        __builtin_memcpy(&old, value, sizeof old);
        __builtin_memcpy(&old_winner, winner, sizeof old_winner);
        const Ints less = v < old;
        old = select(less, v, old);
        old_winner = (less & self) | (~less & old_winner);
        __builtin_memcpy(value, &old, sizeof old);
        __builtin_memcpy(winner, &old_winner, sizeof old_winner);
    }

   private:
    static Floats select(Ints mask, Floats yes, Floats no) {
        return (Floats)((mask & (Ints)yes) | (~mask & (Ints)no));
    }
};

#endif

// Cells of a coordinate some entries ahead are fetched early: rows of few nonzeros would wait for
// each.
constexpr int64_t kAhead = 6;

void scan(const CwsEntries& entries, const CwsSlice& slice, CwsBest* best) {
    constexpr int64_t parts = kSlotBlock / Lanes::width;
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
        Lanes inverse_r[parts], beta[parts], r[parts], q[parts];
        for (int64_t part = 0; part < parts; ++part) {
            inverse_r[part] = Lanes::load(cell + part * Lanes::width);
            beta[part] = Lanes::load(cell + kSlotBlock + part * Lanes::width);
            r[part] = Lanes::load(cell + 2 * kSlotBlock + part * Lanes::width);
            q[part] = Lanes::load(cell + 3 * kSlotBlock + part * Lanes::width);
        }
        do {
            const Lanes log_value = Lanes::all(log_values[at]);
            CwsBest& mine = best[rows[at]];
            for (int64_t part = 0; part < parts; ++part) {
                const Lanes t = (log_value * inverse_r[part] + beta[part]).floor();
                const Lanes a = q[part] - r[part] * t;
                a.keep_least(mine.value + part * Lanes::width, mine.winner + part * Lanes::width,
                             static_cast<int32_t>(at));
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
            const CwsBest* best, Code* out, int64_t out_stride) {
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
    }
}

}  // namespace

extern const CwsLoops cws_table;
const CwsLoops cws_table = {logs, fill, scan, finish<uint8_t>, finish<uint16_t>, finish<uint64_t>};

}  // namespace KERNELIGHT_SIMD
}  // namespace kernelight
