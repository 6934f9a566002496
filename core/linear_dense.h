// Dense rows as a design matrix of the linear solver.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "linear_design.h"

namespace kernelight {

template <class RealType>
class DenseDesign {
   public:
    using Real = RealType;
    static constexpr int kRows = kBlock;
    // Some columns of the rows of a block, for each thread.
    struct Scratch {
        std::vector<Real> tiles;
    };

    DenseDesign(const Real* values, int64_t n_rows, int64_t n_cols)
        : values_(values),
          n_rows_(n_rows),
          n_cols_(n_cols),
          n_parts_(std::clamp<int64_t>(n_cols / 64, 1, 8)) {}

    int64_t n_rows() const { return n_rows_; }
    int64_t n_parts() const { return n_parts_; }
    int64_t work(int64_t) const { return n_cols_; }
    Real row_factor(int64_t) const { return Real(1); }
    Scratch scratch(int threads, int) const {
        return {std::vector<Real>(static_cast<size_t>(threads * kBlock * kTileStride))};
    }

    void fetch(int64_t part, const int32_t*, int64_t, const int32_t* next, int64_t next_count,
               Scratch&) const {
        for (int64_t at = 0; at < next_count; ++at)
            for (int64_t col = begin(part); col < begin(part + 1);
                 col += 64 / static_cast<int64_t>(sizeof(Real)))
                __builtin_prefetch(values_ + int64_t{next[at]} * n_cols_ + col);
    }
    void dots(int64_t part, const OutputLoops<Real>& loops, int outputs, const int32_t* rows,
              int64_t count, const Scratch&, const Real* weights, Real* sums) const {
        std::fill_n(sums, count * outputs, Real(0));
        each_segment(part, outputs, [&](int64_t col, int64_t width) {
            const Real* at[kBlock];
            pointers(rows, nullptr, count, col, at);
            loops.dense_dots(at, count, width, weights + col * outputs, sums);
        });
    }
    void add(int64_t part, const OutputLoops<Real>& loops, int outputs, const int32_t* rows,
             const int32_t* which, int64_t count, const Scratch&, const Real* change,
             Real* weights) const {
        each_segment(part, outputs, [&](int64_t col, int64_t width) {
            const Real* at[kBlock];
            pointers(rows, which, count, col, at);
            loops.dense_add(at, count, width, change, weights + col * outputs);
        });
    }
    // Every row meets every other, so rows are copied into a tile first: rows whose length is a power
    // of two would share the same few lines of the cache.
    void gram(const LinearLoops<Real>& loops, int member, int64_t first_part, int64_t end_part,
              const int32_t* rows, int64_t count, Scratch& scratch, Real* slabs, bool* used) const {
        Real* tile = scratch.tiles.data() + int64_t{member} * kBlock * kTileStride;
        const Real* at[kBlock];
        for (int64_t r = 0; r < count; ++r) at[r] = tile + r * kTileStride;
        for (int64_t part = first_part; part < end_part; ++part) {
            used[part] = true;
            Real* slab = slabs + part * kBlock * kBlock;
            std::fill_n(slab, kBlock * kBlock, Real(0));
            for (int64_t col = begin(part); col < begin(part + 1); col += kTileColumns) {
                const int64_t width = std::min(kTileColumns, begin(part + 1) - col);
                for (int64_t r = 0; r < count; ++r)
                    std::copy_n(values_ + int64_t{rows[r]} * n_cols_ + col, width,
                                tile + r * kTileStride);
                loops.dense_gram(at, count, width, slab);
            }
        }
    }

   private:
    static constexpr int64_t kTileColumns = 1024 / static_cast<int64_t>(sizeof(Real)),
                             kTileStride = kTileColumns + 64 / static_cast<int64_t>(sizeof(Real));
    int64_t begin(int64_t part) const { return n_cols_ * part / n_parts_; }
    template <class F>
    void each_segment(int64_t part, int outputs, F&& f) const {
        const int64_t width =
            std::max<int64_t>(64, 32768 / (outputs * static_cast<int64_t>(sizeof(Real))));
        for (int64_t col = begin(part); col < begin(part + 1); col += width)
            f(col, std::min(width, begin(part + 1) - col));
    }
    void pointers(const int32_t* rows, const int32_t* which, int64_t count, int64_t col,
                  const Real** at) const {
        for (int64_t r = 0; r < count; ++r)
            at[r] = values_ + int64_t{rows[which ? which[r] : r]} * n_cols_ + col;
    }
    const Real* values_;
    int64_t n_rows_, n_cols_, n_parts_;
};

}  // namespace kernelight
