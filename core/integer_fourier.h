// Fourier features of whole numbers of many rows: blocked and threaded, the same bits as
// core/portable/kl_integer_fourier.h a row at a time. Rows are taken in groups, so that the signs of
// a block serve several of them while they are in the cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallel.h"
#include "portable/kl_integer_fourier.h"
#include "rows.h"
#include "simd/integer_loops.h"

namespace kernelight {

// signs[block][width] as masks, block 0 the one that all outputs share; a phase for each output.
struct IntegerBlocks {
    int64_t width, n_outputs;
    const uint16_t *signs, *phases;
};

inline void fill_integer_signs(uint64_t seed, int64_t width, int64_t n_blocks, uint16_t* signs,
                               int threads) {
    parallel_for(threads, n_blocks, [&](int64_t begin, int64_t end) {
        for (int64_t block = begin; block < end; ++block) {
            const uint64_t key = kl_integer_sign_key(seed, static_cast<uint64_t>(block));
            for (int64_t at = 0; at < width; at += 64) {
                const uint64_t word = kl_integer_signs(key, static_cast<uint64_t>(at / 64));
                for (int64_t bit = 0; bit < 64; ++bit)
                    signs[block * width + at + bit] = (word >> bit) & 1 ? UINT16_MAX : 0;
            }
        }
    });
}

inline void fill_integer_phases(uint16_t* phases, int64_t count) {
    for (int64_t at = 0; at < count; ++at) phases[at] = kl_integer_phase(static_cast<uint64_t>(at));
}

inline void enter_angles(const DenseRows<float>& rows, int64_t row, double factor, uint16_t* to,
                         const IntegerLoops& loops) {
    loops.angles(rows.values + row * rows.n_cols, rows.n_cols, factor, to);
}
inline void enter_angles(const DenseRows<double>& rows, int64_t row, double factor, uint16_t* to,
                         const IntegerLoops& loops) {
    loops.angles_double(rows.values + row * rows.n_cols, rows.n_cols, factor, to);
}
template <class Value, class Index>
void enter_angles(const CsrRows<Value, Index>& rows, int64_t row, double factor, uint16_t* to,
                  const IntegerLoops&) {
    rows.each(row,
              [&](int64_t column, double value) { to[column] = kl_integer_angle(value, factor); });
}

// Numbers from -1024 to 1024, (rows, n_outputs).
struct IntegerReader {
    const IntegerLoops& loops;
    int16_t* out;
    void read(const uint16_t* angle, const uint16_t* phase, int64_t count, int64_t at) const {
        loops.read_integers(angle, phase, count, out + at);
    }
};
// The same times an amplitude, rounded to floats.
struct IntegerFeatureReader {
    const IntegerLoops& loops;
    double amplitude;
    float* out;
    void read(const uint16_t* angle, const uint16_t* phase, int64_t count, int64_t at) const {
        loops.read_features(angle, phase, count, amplitude, out + at);
    }
};

template <class Rows, class Reader>
void integer_fourier(const Rows& rows, double factor, const IntegerBlocks& blocks,
                     const Reader& reader, const IntegerLoops& loops, int threads) {
    const int64_t width = blocks.width, n_outputs = blocks.n_outputs;
    const int64_t group = std::clamp<int64_t>((int64_t{1} << 13) / width, 1, 16);  // 16 KB of rows
    parallel_for(threads, (rows.n_rows + group - 1) / group, [&](int64_t begin, int64_t end) {
        std::vector<uint16_t> room(static_cast<size_t>((group + 1) * width));
        uint16_t *shared = room.data(), *angles = shared + group * width;
        for (int64_t at = begin; at < end; ++at) {
            const int64_t first_row = at * group, n_rows = std::min(group, rows.n_rows - first_row);
            std::fill(shared, shared + n_rows * width, uint16_t{0});
            for (int64_t r = 0; r < n_rows; ++r) {
                uint16_t* to = shared + r * width;
                enter_angles(rows, first_row + r, factor, to, loops);
                loops.block(to, blocks.signs, width, to);
            }
            for (int64_t first = 0; first < n_outputs; first += width) {
                const uint16_t* signs = blocks.signs + width + first;
                const int64_t count = std::min(width, n_outputs - first);
                for (int64_t r = 0; r < n_rows; ++r) {
                    loops.block(shared + r * width, signs, width, angles);
                    reader.read(angles, blocks.phases + first, count,
                                (first_row + r) * n_outputs + first);
                }
            }
        }
    });
}

}  // namespace kernelight
