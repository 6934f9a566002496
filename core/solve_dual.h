// Linear models by blocked dual coordinate descent: all classes at once, exact within a block, on
// rows of any kind.
//
// The problem is liblinear's (see simd/losses.h for P and D): for each output (a class or a target)
// minimise 1/2 |w|^2 + sum_i c_i loss(w . x_i + bias, y_i), the bias penalised like a weight (a
// constant feature 1), through its dual, one coordinate b_i at a time (Hsieh et al. 2008). What is
// ours is the order of memory accesses:
//
// 1. margins of kBlock rows at once, segment by segment of the weights, for all outputs;
// 2. rows that a step would not change are left alone; the others' inner products are counted;
// 3. several sweeps of exact coordinate steps inside the block, margins corrected by those inner
//    products;
// 4. what changed is added to the weights, again segment by segment.
//
// The iterates are those of coordinate descent in some order, so it converges to the same optimum.
// The caller owns the loop over epochs, chooses the rows to visit (shrinking leaves out rows whose
// duals sit firmly at a bound: see dual_epoch), and asks `dual_objective` for P and D.
//
// Threads own parts of the columns and meet six times a block; sums over parts are in a fixed
// order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "linear_design.h"
#include "parallel.h"

namespace kernelight {

constexpr int kMostShrinkings = 4;

namespace detail {

// Aligned room for the arrays of a block.
template <class Real>
class BlockRoom {
   public:
    explicit BlockRoom(int outputs)
        : store_(static_cast<size_t>(kBlock * (6 * outputs + kBlock + 1) + 16)) {
        Real* at = store_.data();
        at += (64 - reinterpret_cast<uintptr_t>(at) % 64) % 64 / sizeof(Real);
        for (Real** array : {&block_.margin, &block_.target, &block_.cost, &block_.dual,
                             &block_.change, &block_.kept}) {
            *array = at;
            at += kBlock * outputs;
        }
        block_.gram = at;
        block_.norm = at + kBlock * kBlock;
        block_.shrinkable = shrinkable_;
        block_.moves = moves_;
        block_.rows = 0;
    }
    BlockRoom(const BlockRoom&) = delete;
    BlockRoom& operator=(const BlockRoom&) = delete;
    Block<Real>& block() { return block_; }

   private:
    std::vector<Real> store_;
    bool moves_[kBlock] = {}, shrinkable_[kBlock] = {};
    Block<Real> block_{};
};

inline int outputs_index(int outputs) {
    return static_cast<int>(std::find(kOutputs, kOutputs + kOutputCounts, outputs) - kOutputs);
}

// Rows i = first, first + step, ... of block.gram, with the columns that mirror them: the sum of
// the slabs in use, times the factors of both rows, plus 1 for the intercept; the diagonal is
// known.
template <class Real>
void add_up_gram(const Real* slabs, const bool* used, int64_t n_parts, const Real* factors,
                 Real one, int64_t rows, int64_t first, int64_t step, Block<Real>& block) {
    for (int64_t i = first; i < rows; i += step) {
        Real* row = block.gram + i * kBlock;
        std::fill_n(row, i, Real(0));
        for (int64_t part = 0; part < n_parts; ++part) {
            const Real* slab = slabs + (part * kBlock + i) * kBlock;
            if (used[part])
                for (int64_t j = 0; j < i; ++j) row[j] += slab[j];
        }
        const Real factor = factors[i];
        for (int64_t j = 0; j < i; ++j) row[j] = row[j] * factor * factors[j] + one;
        row[i] = block.norm[i];
        for (int64_t j = 0; j < i; ++j) block.gram[j * kBlock + i] = row[j];
    }
}

// What take_row and shrinking will read of a row of the next block.
template <class Real>
void prefetch_row(const LinearProblem<Real>& problem, int64_t row, const uint8_t* shrunk_for,
                  const uint8_t* times_shrunk) {
    __builtin_prefetch(problem.dual + row * problem.outputs);
    __builtin_prefetch(problem.row_cost + row);
    __builtin_prefetch(problem.norms + row);
    __builtin_prefetch(shrunk_for + row, 1);
    __builtin_prefetch(times_shrunk + row, 1);
    if (problem.labels) __builtin_prefetch(problem.labels + row);
    else __builtin_prefetch(problem.targets + row * problem.outputs);
}

template <class Real>
void move_row(Block<Real>& block, int outputs, int64_t from, int64_t to) {
    if (from == to) return;
    for (Real* array : {block.margin, block.target, block.cost, block.dual, block.kept})
        std::copy_n(array + from * outputs, outputs, array + to * outputs);
    block.norm[to] = block.norm[from];
}

}  // namespace detail

// One visit to each of `order`, the active set. Shrinking: a row whose duals all sit at a bound,
// with gradients above `shrink_threshold` that keep them there, leaves the active set for a while.
// `shrunk_for` says for how many coming epochs the caller may leave it out, which grows 1, 3, 7, 15
// as long as it is found so; `times_shrunk` counts how often it was, in a row. loss[output] and
// gap[output] += the losses of the rows and their parts of the duality gap, loss + conjugate + b m,
// just before each is visited: what it would cost a pass of its own to know exactly. Returns how
// many rows changed.
template <class Design>
int64_t dual_epoch(const Design& design, const LinearProblem<typename Design::Real>& problem,
                   const int32_t* order, int64_t count, int sweeps,
                   typename Design::Real shrink_threshold, uint8_t* shrunk_for,
                   uint8_t* times_shrunk, double* loss, double* gap, int threads, int simd) {
    using Real = typename Design::Real;
    const LinearLoops<Real>& all = linear_loops<Real>(simd);
    const int outputs = problem.outputs;
    const OutputLoops<Real>& loops = all.outputs[detail::outputs_index(outputs)];
    const int64_t n_parts = design.n_parts(), stride = int64_t{kBlock} * outputs;
    threads = static_cast<int>(std::clamp<int64_t>(threads, 1, n_parts));

    auto scratch = design.scratch(threads, outputs);
    std::vector<Real> sums(static_cast<size_t>(n_parts * stride)),
        added(static_cast<size_t>(stride));
    std::vector<Real> slabs(static_cast<size_t>(Design::kRows > 1 ? n_parts * kBlock * kBlock : 1));
    std::vector<double> losses(static_cast<size_t>(outputs));
    std::vector<char> used_store(static_cast<size_t>(n_parts));
    bool* used = reinterpret_cast<bool*>(used_store.data());
    detail::BlockRoom<Real> room(outputs);
    Block<Real>& block = room.block();
    block.epsilon = problem.epsilon;
    block.shrink_threshold = shrink_threshold;
    int32_t which[kBlock];
    int64_t n_which = 0, changed = 0;

    run_team(threads, [&](const Member& member) {
        const int64_t first = n_parts * member.number / member.count,
                      end = n_parts * (member.number + 1) / member.count;
        int32_t moving[kBlock],
            place[kBlock];  // the rows that a step would change, and where they are in the block
        Real factors[kBlock];
        for (int64_t at = 0; at < count; at += Design::kRows) {
            const int32_t* rows = order + at;
            const int64_t here = std::min<int64_t>(Design::kRows, count - at);
            const int64_t ahead = std::min<int64_t>(Design::kRows, count - at - here);
            for (int64_t part = first; part < end; ++part) {
                design.fetch(part, rows, here, rows + here, ahead, scratch);
                design.dots(part, loops, outputs, rows, here, scratch, problem.weights,
                            sums.data() + part * stride);
            }
            const int64_t begin = ahead * member.number / member.count,
                          stop = ahead * (member.number + 1) / member.count;
            for (int64_t r = begin; r < stop; ++r)
                detail::prefetch_row(problem, rows[here + r], shrunk_for, times_shrunk);
            member.wait();

            const int64_t mine = here * member.number / member.count,
                          others = here * (member.number + 1) / member.count;
            for (int64_t r = mine; r < others; ++r) {
                loops.take_row(problem, rows[r], design.row_factor(rows[r]), sums.data(), n_parts,
                               stride, block, r);
                block.norm[r] = problem.norms[rows[r]];
            }
            loops.select_active[problem.loss](block, mine, others);
            member.wait();

            int64_t n_moving = 0;
            for (int64_t r = 0; r < here; ++r) {
                if (!block.moves[r]) continue;
                factors[n_moving] = design.row_factor(rows[r]);
                place[n_moving] = static_cast<int32_t>(r);
                moving[n_moving++] = rows[r];
            }
            if (n_moving > 1)
                design.gram(all, member.number, first, end, moving, n_moving, scratch, slabs.data(),
                            used);
            member.wait();

            if (member.number == 0) {
                for (int64_t r = 0; r < here; ++r) {
                    uint8_t& times = times_shrunk[rows[r]];
                    times = block.shrinkable[r]
                                ? static_cast<uint8_t>(std::min(times + 1, kMostShrinkings))
                                : uint8_t{0};
                    shrunk_for[rows[r]] = static_cast<uint8_t>((1 << times) - 1);
                }
                block.rows = here;
                std::fill(losses.begin(), losses.end(), 0.0);
                loops.objective[problem.loss](block, losses.data(), gap);
                for (int64_t r = 0; r < here; ++r)
                    for (int output = 0; output < outputs; ++output)
                        gap[output] += double{block.dual[r * outputs + output]} *
                                       double{block.margin[r * outputs + output]};
                for (int output = 0; output < outputs; ++output) {
                    loss[output] += losses[static_cast<size_t>(output)];
                    gap[output] += losses[static_cast<size_t>(output)];
                }
                for (int64_t r = 0; r < n_moving; ++r)
                    detail::move_row(block, outputs, place[r], r);
                block.rows = n_moving;
            }
            if (n_moving == 0) continue;
            if (member.count > 1) member.wait();  // norms have moved
            detail::add_up_gram(slabs.data(), used, n_parts, factors,
                                problem.intercept ? Real(1) : Real(0), n_moving, member.number,
                                member.count, block);
            member.wait();

            if (member.number == 0) {
                std::fill_n(block.change, n_moving * outputs, Real(0));
                loops.sweep[problem.loss](block, n_moving > 1 ? sweeps : 1);
                n_which = 0;
                for (int64_t r = 0; r < n_moving; ++r) {
                    const Real* change = block.change + r * outputs;
                    Real* dual = problem.dual + int64_t{moving[r]} * outputs;
                    for (int output = 0; output < outputs; ++output)
                        if (problem.open[output]) dual[output] = block.dual[r * outputs + output];
                    if (std::all_of(change, change + outputs,
                                    [](Real value) { return value == 0; }))
                        continue;
                    for (int output = 0; output < outputs; ++output) {
                        added[static_cast<size_t>(n_which * outputs + output)] =
                            change[output] * factors[r];
                        if (problem.intercept) problem.bias[output] += change[output];
                    }
                    which[n_which++] = place[r];
                }
                changed += n_which;
            }
            member.wait();
            for (int64_t part = first; part < end; ++part)
                design.add(part, loops, outputs, rows, which, n_which, scratch, added.data(),
                           problem.weights);
        }
    });
    return changed;
}

// A range of rows. Callers cut long work into ranges, between which they can be interrupted; with
// ranges that begin at a multiple of kChunkRows every sum is the same as without.
struct RowSpan {
    int64_t begin, end;
};

// weights += sum_i dual_i x_i, bias += sum_i dual_i: what a start from given duals, or a step along
// them, needs.
template <class Design>
void linear_weights(const Design& design, const LinearProblem<typename Design::Real>& problem,
                    RowSpan span, int threads, int simd) {
    using Real = typename Design::Real;
    const LinearLoops<Real>& all = linear_loops<Real>(simd);
    const int outputs = problem.outputs;
    const OutputLoops<Real>& loops = all.outputs[detail::outputs_index(outputs)];
    const int64_t n_parts = design.n_parts();
    std::vector<Real> added(static_cast<size_t>(kBlock * outputs));
    int32_t rows[kBlock], which[kBlock];
    auto scratch = design.scratch(1, outputs);
    for (int64_t at = span.begin; at < span.end; at += kBlock) {
        const int64_t here = std::min<int64_t>(kBlock, span.end - at);
        for (int64_t r = 0; r < here; ++r) {
            rows[r] = static_cast<int32_t>(at + r);
            which[r] = static_cast<int32_t>(r);
            const Real factor = design.row_factor(at + r),
                       *dual = problem.dual + (at + r) * outputs;
            for (int output = 0; output < outputs; ++output) {
                added[static_cast<size_t>(r * outputs + output)] = dual[output] * factor;
                if (problem.intercept) problem.bias[output] += dual[output];
            }
        }
        parallel_for(threads, n_parts, [&](int64_t first, int64_t end) {
            for (int64_t part = first; part < end; ++part) {
                design.fetch(part, rows, here, rows, 0, scratch);
                design.add(part, loops, outputs, rows, which, here, scratch, added.data(),
                           problem.weights);
            }
        });
    }
}

// Margins of a span of rows, or the sums of losses and conjugates of every output over them: both
// walk over blocks in chunks that do not depend on the number of threads.
constexpr int64_t kChunkRows = 16 * kBlock;

template <class Design, class Take>
void each_block(const Design& design, const LinearProblem<typename Design::Real>& problem,
                RowSpan span, bool complete, int threads, int simd, Take&& take) {
    using Real = typename Design::Real;
    const int outputs = problem.outputs;
    const LinearLoops<Real>& all = linear_loops<Real>(simd);
    const OutputLoops<Real>& loops = all.outputs[detail::outputs_index(outputs)];
    const int64_t n_parts = design.n_parts(), stride = int64_t{kBlock} * outputs;
    const int64_t chunks = (span.end - span.begin + kChunkRows - 1) / kChunkRows;
    parallel_for(threads, chunks, [&](int64_t begin, int64_t end) {
        auto scratch = design.scratch(1, outputs);
        std::vector<Real> sums(static_cast<size_t>(n_parts * stride));
        detail::BlockRoom<Real> room(outputs);
        Block<Real>& block = room.block();
        block.epsilon = problem.epsilon;
        int32_t rows[2 * kBlock];  // of this block, and of the next
        const int64_t stop = std::min(span.begin + end * kChunkRows, span.end);
        for (int64_t at = span.begin + begin * kChunkRows; at < stop; at += kBlock) {
            block.rows = std::min<int64_t>(kBlock, span.end - at);
            const int64_t ahead = std::clamp<int64_t>(stop - at - kBlock, 0, kBlock);
            for (int64_t r = 0; r < block.rows + ahead; ++r) rows[r] = static_cast<int32_t>(at + r);
            for (int64_t part = 0; part < n_parts; ++part) {
                design.fetch(part, rows, block.rows, rows + kBlock, ahead, scratch);
                design.dots(part, loops, outputs, rows, block.rows, scratch, problem.weights,
                            sums.data() + part * stride);
            }
            for (int64_t r = 0; r < block.rows; ++r) {
                const Real factor = design.row_factor(rows[r]);
                if (complete) {
                    loops.take_row(problem, rows[r], factor, sums.data(), n_parts, stride, block,
                                   r);
                    continue;
                }
                for (int output = 0; output < outputs; ++output) {
                    Real sum = 0;
                    for (int64_t part = 0; part < n_parts; ++part)
                        sum += sums[static_cast<size_t>(part * stride + r * outputs + output)];
                    block.margin[r * outputs + output] = sum * factor + problem.bias[output];
                }
            }
            take(at, block, loops);
        }
    });
}

template <class Design>
void linear_margins(const Design& design, const LinearProblem<typename Design::Real>& problem,
                    typename Design::Real* margins, RowSpan span, int threads, int simd) {
    using Real = typename Design::Real;
    each_block(design, problem, span, false, threads, simd,
               [&](int64_t at, const Block<Real>& block, const OutputLoops<Real>&) {
                   std::copy_n(block.margin, block.rows * problem.outputs,
                               margins + at * problem.outputs);
               });
}

// loss[output] and conjugate[output] += what the rows have of P - 1/2 |w|^2 and -D - 1/2 |w|^2.
template <class Design>
void dual_objective(const Design& design, const LinearProblem<typename Design::Real>& problem,
                    double* loss, double* conjugate, RowSpan span, int threads, int simd) {
    using Real = typename Design::Real;
    const int outputs = problem.outputs;
    const int64_t chunks = (span.end - span.begin + kChunkRows - 1) / kChunkRows;
    std::vector<double> parts(static_cast<size_t>(chunks * 2 * outputs));
    each_block(design, problem, span, true, threads, simd,
               [&](int64_t at, const Block<Real>& block, const OutputLoops<Real>& loops) {
                   double* here = parts.data() + (at - span.begin) / kChunkRows * 2 * outputs;
                   loops.objective[problem.loss](block, here, here + outputs);
               });
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
        for (int output = 0; output < outputs; ++output) {
            loss[output] += parts[static_cast<size_t>((2 * chunk) * outputs + output)];
            conjugate[output] += parts[static_cast<size_t>((2 * chunk + 1) * outputs + output)];
        }
}

}  // namespace kernelight
