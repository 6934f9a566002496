// CSR rows as a design matrix of the linear solver.
#pragma once

#include <algorithm>
#include <cstdint>

#include "linear_design.h"
#include "rows.h"

namespace kernelight {

// One row at a time: what two sparse rows have in common costs more to find than a step saves.
template <class RealType, class Index>
class SparseDesign {
   public:
    using Real = RealType;
    static constexpr int kRows = 1;
    struct Scratch {};

    explicit SparseDesign(const CsrRows<Real, Index>& rows) : rows_(rows) {}

    int64_t n_rows() const { return rows_.n_rows; }
    int64_t n_parts() const { return 1; }
    int64_t work(int64_t row) const { return rows_.indptr[row + 1] - rows_.indptr[row]; }
    Real row_factor(int64_t) const { return Real(1); }
    Scratch scratch(int, int) const { return {}; }

    void fetch(int64_t, const int32_t*, int64_t, const int32_t* next, int64_t next_count,
               Scratch&) const {
        if (next_count) __builtin_prefetch(rows_.values + rows_.indptr[next[0]]);
    }
    void dots(int64_t, const OutputLoops<Real>& loops, int outputs, const int32_t* rows,
              int64_t count, const Scratch&, const Real* weights, Real* sums) const {
        std::fill_n(sums, count * outputs, Real(0));
        for (int64_t r = 0; r < count; ++r) {
            const Index begin = rows_.indptr[rows[r]];
            const int64_t size = rows_.indptr[rows[r] + 1] - begin;
            if constexpr (sizeof(Index) == 4)
                loops.sparse_dot_32(rows_.values + begin, rows_.indices + begin, size, weights,
                                    sums + r * outputs);
            else
                loops.sparse_dot_64(rows_.values + begin, rows_.indices + begin, size, weights,
                                    sums + r * outputs);
        }
    }
    void add(int64_t, const OutputLoops<Real>& loops, int outputs, const int32_t* rows,
             const int32_t* which, int64_t count, const Scratch&, const Real* change,
             Real* weights) const {
        for (int64_t r = 0; r < count; ++r) {
            const Index begin = rows_.indptr[rows[which[r]]];
            const int64_t size = rows_.indptr[rows[which[r]] + 1] - begin;
            if constexpr (sizeof(Index) == 4)
                loops.sparse_add_32(rows_.values + begin, rows_.indices + begin, size,
                                    change + r * outputs, weights);
            else
                loops.sparse_add_64(rows_.values + begin, rows_.indices + begin, size,
                                    change + r * outputs, weights);
        }
    }
    void gram(const LinearLoops<Real>&, int, int64_t, int64_t, const int32_t*, int64_t, Scratch&,
              Real*, bool* used) const {
        used[0] = false;  // a block is one row, and its norm is known
    }

   private:
    CsrRows<Real, Index> rows_;
};

}  // namespace kernelight
