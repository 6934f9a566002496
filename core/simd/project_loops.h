// The loops of project_loops.cpp, one table for each instruction set.
#pragma once

#include <cstdint>

#include "simd/levels.h"

namespace kernelight {

// Outputs of a dense projection that are computed together; tables are laid out
// [tile][feature][kTile].
constexpr int64_t kTile = 64;

// The squares of a row are summed by column modulo this, so that the sum can be vectorised and
// still has one order.
constexpr int64_t kSumLanes = 16;

struct ProjectLoops {
    // A dense row on its way in: the bits of its largest absolute value; its squares after a
    // factor, in kSumLanes sums by column; and to[i] = (float)((x_i * first) * second).
    uint64_t (*peak)(const float* x, int64_t count);
    uint64_t (*peak_double)(const double* x, int64_t count);
    void (*squares)(const float* x, int64_t count, double factor, double* lanes);
    void (*squares_double)(const double* x, int64_t count, double factor, double* lanes);
    void (*enter)(const float* x, int64_t count, double first, double second, float* to);
    void (*enter_double)(const double* x, int64_t count, double first, double second, float* to);

    // x <- H (diagonal o from), H the unnormalised Hadamard matrix of a power-of-two width; from
    // may be x.
    void (*hadamard)(const float* from, float* x, const float* diagonal, int64_t width);
    // out[at] = x[places[at]]
    void (*gather)(const float* x, const int32_t* places, int64_t count, float* out);

    // Readouts of count projections y. Turns are y * scale (+ shift).
    void (*read_pairs)(const float* y, const float* scale, int64_t count, float amplitude,
                       float* out);
    void (*read_cosines)(const float* y, const float* scale, const float* shift, int64_t count,
                         float amplitude, float* out);
    void (*read_signs)(const float* y, int64_t count, uint8_t* out);
    void (*read_signs_tied)(const float* y, float slack, const float* tie, float turn,
                            int64_t count, uint8_t* out);
    void (*read_cosine_bits)(const float* y, const float* scale, const float* shift,
                             const float* threshold, int64_t count, uint8_t* out);

    // y[r][:] += sum over i of x[r][i] table[i][:] for n_rows rows, i ascending, each product
    // rounded before it is added.
    void (*add_dense)(const float* x, int64_t x_stride, int64_t n_rows, const float* table,
                      int64_t n_features, float* y, int64_t y_stride);
    void (*add_dense_double)(const double* x, int64_t x_stride, int64_t n_rows, const float* table,
                             int64_t n_features, double* y, int64_t y_stride);
    // The same with fused products: equal up to rounding only, and not the same on every level.
    void (*add_dense_fused)(const float* x, int64_t x_stride, int64_t n_rows, const float* table,
                            int64_t n_features, float* y, int64_t y_stride);
    // add_dense for one row that is listed as (feature, value).
    void (*add_sparse)(const int32_t* feature, const float* x, int64_t count, const float* table,
                       float* y);
    void (*add_sparse_double)(const int32_t* feature, const double* x, int64_t count,
                              const float* table, double* y);

    // kTile entries of one feature of a dense projection; first is even.
    void (*fill_gaussian)(uint64_t feature_key, uint64_t first, float* out);
    void (*fill_cauchy)(uint64_t feature_key, uint64_t first, float* out);
    // kl_take_off for each of n_before vectors and n_rows rows, and kl_orthonormalize
    void (*take_off)(double* rows, int64_t n_rows, const double* before, int64_t n_before,
                     uint64_t width);
    void (*orthonormalize)(double* rows, uint64_t n_rows, uint64_t width);
};

namespace baseline {
extern const ProjectLoops project_table;
}
#if defined(KERNELIGHT_X86)
namespace avx2 {
extern const ProjectLoops project_table;
}
namespace avx512 {
extern const ProjectLoops project_table;
}
#endif

inline const ProjectLoops& project_loops(Level level) {
#if defined(KERNELIGHT_X86)
    if (level == Level::avx512) return avx512::project_table;
    if (level == Level::avx2) return avx2::project_table;
#endif
    (void)level;
    return baseline::project_table;
}

}  // namespace kernelight
