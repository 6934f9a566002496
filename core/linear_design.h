// Rows as the linear solver sees them: its design matrix. A design is a view of rows of one kind,
// with these functions for blocks of rows; the solver is a template over it. There is a file for
// each kind: linear_codes.h, linear_dense.h, linear_sparse.h.
//
// Columns are cut into `parts`, a fixed number for given data: each thread owns some parts, with
// their weights, and sums over parts are added in their order, so that no result depends on the
// number of threads. Within a part the weights are visited in segments small enough for the first
// cache, all rows of a block for each segment.
//
//     fetch(part, rows, count, next)          get the rows of a block ready
//     dots(part, ..., weights, sums)          sums[r, :] = the inner products of row r with the
//                                             weights of a part
//     add(part, ..., change, weights)         weights += change[r, :] times row r, for the rows
//                                             that changed
//     gram(first part, end, ..., slab, used)  inner products of the rows with each other: one slab
//                                             of kBlock x kBlock for each part that says it used
//                                             it, lower triangle
//     row_factor(row)                         what inner products are multiplied with once they are
//                                             complete
#pragma once

#include <cstdint>

#include "simd/levels.h"
#include "simd/linear_loops.h"

namespace kernelight {

template <class Real>
const LinearLoops<Real>& linear_loops(int simd);
template <>
inline const LinearLoops<float>& linear_loops<float>([[maybe_unused]] int simd) {
#if defined(KERNELIGHT_X86)
    const Level level = usable_level(simd);
    if (level == Level::avx512) return avx512::linear_loops_32;
    if (level == Level::avx2) return avx2::linear_loops_32;
#endif
    return baseline::linear_loops_32;
}
template <>
inline const LinearLoops<double>& linear_loops<double>([[maybe_unused]] int simd) {
#if defined(KERNELIGHT_X86)
    const Level level = usable_level(simd);
    if (level == Level::avx512) return avx512::linear_loops_64;
    if (level == Level::avx2) return avx2::linear_loops_64;
#endif
    return baseline::linear_loops_64;
}

}  // namespace kernelight
