// Linear models by blocked dual coordinate descent: all classes at once, exact within a block, on rows of any kind.
//
// The problem is liblinear's (see simd/losses.h for P and D): for each lane (class or output) minimise
// 1/2 |w|^2 + sum_i c_i loss(w . x_i + bias, y_i), the bias penalised like a weight (a constant feature 1), through its dual, one
// coordinate b_i at a time (Hsieh et al. 2008). What is ours is the order of memory accesses:
//
// 1. margins of kBlock rows at once, segment by segment of the weights, for all lanes;
// 2. rows that a step would not change are left alone; the others' inner products are counted;
// 3. several sweeps of exact coordinate steps inside the block, margins corrected by those inner products;
// 4. what changed is added to the weights, again segment by segment.
//
// The iterates are those of coordinate descent in some order, so it converges to the same optimum. The caller owns the loop over
// epochs, chooses the rows to visit (rows with a clear margin may rest: see `rest`), and asks `dual_objective` for P and D.
//
// Threads own parts of the columns and meet six times a block; sums over parts are in a fixed order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "linear_rows.h"

namespace kernelight {

constexpr int kMostRests = 4;

namespace detail {

// Aligned room for the arrays of a block.
template <class Real>
class BlockRoom {
   public:
    explicit BlockRoom(int lanes) : store_(static_cast<size_t>(kBlock * (6 * lanes + kBlock + 1) + 16)) {
        Real* at = store_.data();
        at += (64 - reinterpret_cast<uintptr_t>(at) % 64) % 64 / sizeof(Real);
        for (Real** array : {&block_.margin, &block_.target, &block_.cost, &block_.dual, &block_.change, &block_.pace}) {
            *array = at;
            at += kBlock * lanes;
        }
        block_.gram = at;
        block_.norm = at + kBlock * kBlock;
        block_.is_clear = clear_;
        block_.moves = moves_;
        block_.rows = 0;
    }
    BlockRoom(const BlockRoom&) = delete;
    BlockRoom& operator=(const BlockRoom&) = delete;
    Block<Real>& block() { return block_; }

   private:
    std::vector<Real> store_;
    bool moves_[kBlock] = {}, clear_[kBlock] = {};
    Block<Real> block_{};
};

inline int lane_index(int lanes) {
    return static_cast<int>(std::find(kLanes, kLanes + kLaneCounts, lanes) - kLanes);
}

// Rows i = first, first + step, ... of block.gram, with the columns that mirror them: the sum of the slabs in use, times the factors
// of both rows, plus 1 for the intercept; the diagonal is known.
template <class Real>
void add_up_gram(const Real* slabs, const bool* used, int64_t n_parts, const Real* factors, Real one, int64_t rows, int64_t first,
                 int64_t step, Block<Real>& block) {
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

template <class Real>
void move_row(Block<Real>& block, int lanes, int64_t from, int64_t to) {
    if (from == to) return;
    for (Real* array : {block.margin, block.target, block.cost, block.dual, block.pace})
        std::copy_n(array + from * lanes, lanes, array + to * lanes);
    block.norm[to] = block.norm[from];
}

}  // namespace detail

// One visit to each of `order`. `rest`: for how many coming visits each row may be left out by the caller, which grows
// 1, 3, 7, 15 as long as its margin is clear; `streak` counts how often it was. Returns how many rows changed.
template <class Source>
int64_t dual_epoch(const Source& source, const LinearProblem<typename Source::Real>& problem, const int32_t* order, int64_t count,
                   int sweeps, typename Source::Real clear, uint8_t* rest, uint8_t* streak, int threads, int simd) {
    using Real = typename Source::Real;
    const LinearLoops<Real>& all = linear_loops<Real>(simd);
    const int lanes = problem.lanes;
    const LaneLoops<Real>& loops = all.lanes[detail::lane_index(lanes)];
    const int64_t n_parts = source.n_parts(), stride = int64_t{kBlock} * lanes;
    threads = static_cast<int>(std::clamp<int64_t>(threads, 1, n_parts));

    auto scratch = source.scratch(threads);
    std::vector<Real> sums(static_cast<size_t>(n_parts * stride)), added(static_cast<size_t>(stride));
    std::vector<Real> slabs(static_cast<size_t>(Source::kRows > 1 ? n_parts * kBlock * kBlock : 1));
    std::vector<char> used_store(static_cast<size_t>(n_parts));
    bool* used = reinterpret_cast<bool*>(used_store.data());
    detail::BlockRoom<Real> room(lanes);
    Block<Real>& block = room.block();
    block.epsilon = problem.epsilon;
    block.clear = clear;
    int32_t which[kBlock];
    int64_t n_which = 0, changed = 0;

    run_team(threads, [&](const Member& member) {
        const int64_t first = n_parts * member.number / member.count, end = n_parts * (member.number + 1) / member.count;
        int32_t moving[kBlock], place[kBlock];  // the rows that a step would change, and where they are in the block
        Real factors[kBlock];
        for (int64_t at = 0; at < count; at += Source::kRows) {
            const int32_t* rows = order + at;
            const int64_t here = std::min<int64_t>(Source::kRows, count - at);
            const int64_t ahead = std::min<int64_t>(Source::kRows, count - at - here);
            for (int64_t part = first; part < end; ++part) {
                source.fetch(part, all, rows, here, rows + here, ahead, scratch);
                source.dots(part, loops, lanes, rows, here, scratch, problem.weights, sums.data() + part * stride);
            }
            member.wait();

            const int64_t mine = here * member.number / member.count, others = here * (member.number + 1) / member.count;
            for (int64_t r = mine; r < others; ++r) {
                loops.take_row(problem, rows[r], source.row_factor(rows[r]), sums.data(), n_parts, stride, block, r);
                block.norm[r] = problem.norms[rows[r]];
            }
            loops.look[problem.loss](block, mine, others);
            member.wait();

            int64_t n_moving = 0;
            for (int64_t r = 0; r < here; ++r) {
                if (!block.moves[r]) continue;
                factors[n_moving] = source.row_factor(rows[r]);
                place[n_moving] = static_cast<int32_t>(r);
                moving[n_moving++] = rows[r];
            }
            if (n_moving > 1) source.gram(all, member.number, first, end, moving, n_moving, scratch, slabs.data(), used);
            member.wait();

            if (member.number == 0) {
                for (int64_t r = 0; r < here; ++r) {
                    uint8_t& times = streak[rows[r]];
                    times = block.is_clear[r] ? static_cast<uint8_t>(std::min(times + 1, kMostRests)) : uint8_t{0};
                    rest[rows[r]] = static_cast<uint8_t>((1 << times) - 1);
                }
                for (int64_t r = 0; r < n_moving; ++r) detail::move_row(block, lanes, place[r], r);
                block.rows = n_moving;
            }
            if (n_moving == 0) continue;
            if (member.count > 1) member.wait();  // norms have moved
            detail::add_up_gram(slabs.data(), used, n_parts, factors, problem.intercept ? Real(1) : Real(0), n_moving, member.number,
                                member.count, block);
            member.wait();

            if (member.number == 0) {
                std::fill_n(block.change, n_moving * lanes, Real(0));
                loops.sweep[problem.loss](block, n_moving > 1 ? sweeps : 1);
                n_which = 0;
                for (int64_t r = 0; r < n_moving; ++r) {
                    const Real* change = block.change + r * lanes;
                    Real* dual = problem.dual + int64_t{moving[r]} * lanes;
                    for (int lane = 0; lane < lanes; ++lane)
                        if (problem.open[lane]) dual[lane] = block.dual[r * lanes + lane];
                    if (std::all_of(change, change + lanes, [](Real value) { return value == 0; })) continue;
                    for (int lane = 0; lane < lanes; ++lane) {
                        added[static_cast<size_t>(n_which * lanes + lane)] = change[lane] * factors[r];
                        if (problem.intercept) problem.bias[lane] += change[lane];
                    }
                    which[n_which++] = place[r];
                }
                changed += n_which;
            }
            member.wait();
            for (int64_t part = first; part < end; ++part)
                source.add(part, loops, lanes, rows, which, n_which, scratch, added.data(), problem.weights);
        }
    });
    return changed;
}

// A range of rows. Callers cut long work into ranges, between which they can be interrupted; with ranges that begin at a multiple
// of kChunkRows every sum is the same as without.
struct RowSpan {
    int64_t begin, end;
};

// weights += sum_i dual_i x_i, bias += sum_i dual_i: what a start from given duals, or a step along them, needs.
template <class Source>
void linear_weights(const Source& source, const LinearProblem<typename Source::Real>& problem, RowSpan span, int threads, int simd) {
    using Real = typename Source::Real;
    const LinearLoops<Real>& all = linear_loops<Real>(simd);
    const int lanes = problem.lanes;
    const LaneLoops<Real>& loops = all.lanes[detail::lane_index(lanes)];
    const int64_t n_parts = source.n_parts();
    std::vector<Real> added(static_cast<size_t>(kBlock * lanes));
    int32_t rows[kBlock], which[kBlock];
    auto scratch = source.scratch(1);
    for (int64_t at = span.begin; at < span.end; at += kBlock) {
        const int64_t here = std::min<int64_t>(kBlock, span.end - at);
        for (int64_t r = 0; r < here; ++r) {
            rows[r] = static_cast<int32_t>(at + r);
            which[r] = static_cast<int32_t>(r);
            const Real factor = source.row_factor(at + r), *dual = problem.dual + (at + r) * lanes;
            for (int lane = 0; lane < lanes; ++lane) {
                added[static_cast<size_t>(r * lanes + lane)] = dual[lane] * factor;
                if (problem.intercept) problem.bias[lane] += dual[lane];
            }
        }
        parallel_for(threads, n_parts, [&](int64_t first, int64_t end) {
            for (int64_t part = first; part < end; ++part) {
                source.fetch(part, all, rows, here, rows, 0, scratch);
                source.add(part, loops, lanes, rows, which, here, scratch, added.data(), problem.weights);
            }
        });
    }
}

// Margins of a span of rows, or the sums of losses and conjugates of every lane over them: both walk over blocks in chunks that do not
// depend on the number of threads.
constexpr int64_t kChunkRows = 16 * kBlock;

template <class Source, class Take>
void each_block(const Source& source, const LinearProblem<typename Source::Real>& problem, RowSpan span, bool complete, int threads,
                int simd, Take&& take) {
    using Real = typename Source::Real;
    const int lanes = problem.lanes;
    const LinearLoops<Real>& all = linear_loops<Real>(simd);
    const LaneLoops<Real>& loops = all.lanes[detail::lane_index(lanes)];
    const int64_t n_parts = source.n_parts(), stride = int64_t{kBlock} * lanes;
    const int64_t chunks = (span.end - span.begin + kChunkRows - 1) / kChunkRows;
    parallel_for(threads, chunks, [&](int64_t begin, int64_t end) {
        auto scratch = source.scratch(1);
        std::vector<Real> sums(static_cast<size_t>(n_parts * stride));
        detail::BlockRoom<Real> room(lanes);
        Block<Real>& block = room.block();
        block.epsilon = problem.epsilon;
        int32_t rows[kBlock];
        const int64_t stop = std::min(span.begin + end * kChunkRows, span.end);
        for (int64_t at = span.begin + begin * kChunkRows; at < stop; at += kBlock) {
            block.rows = std::min<int64_t>(kBlock, span.end - at);
            for (int64_t r = 0; r < block.rows; ++r) rows[r] = static_cast<int32_t>(at + r);
            for (int64_t part = 0; part < n_parts; ++part) {
                source.fetch(part, all, rows, block.rows, rows, 0, scratch);
                source.dots(part, loops, lanes, rows, block.rows, scratch, problem.weights, sums.data() + part * stride);
            }
            for (int64_t r = 0; r < block.rows; ++r) {
                const Real factor = source.row_factor(rows[r]);
                if (complete) {
                    loops.take_row(problem, rows[r], factor, sums.data(), n_parts, stride, block, r);
                    continue;
                }
                for (int lane = 0; lane < lanes; ++lane) {
                    Real sum = 0;
                    for (int64_t part = 0; part < n_parts; ++part) sum += sums[static_cast<size_t>(part * stride + r * lanes + lane)];
                    block.margin[r * lanes + lane] = sum * factor + problem.bias[lane];
                }
            }
            take(at, block, loops);
        }
    });
}

template <class Source>
void linear_margins(const Source& source, const LinearProblem<typename Source::Real>& problem, typename Source::Real* margins,
                    RowSpan span, int threads, int simd) {
    using Real = typename Source::Real;
    each_block(source, problem, span, false, threads, simd, [&](int64_t at, const Block<Real>& block, const LaneLoops<Real>&) {
        std::copy_n(block.margin, block.rows * problem.lanes, margins + at * problem.lanes);
    });
}

// loss[lane] and conjugate[lane] += what the rows have of P - 1/2 |w|^2 and -D - 1/2 |w|^2.
template <class Source>
void dual_objective(const Source& source, const LinearProblem<typename Source::Real>& problem, double* loss, double* conjugate,
                    RowSpan span, int threads, int simd) {
    using Real = typename Source::Real;
    const int lanes = problem.lanes;
    const int64_t chunks = (span.end - span.begin + kChunkRows - 1) / kChunkRows;
    std::vector<double> parts(static_cast<size_t>(chunks * 2 * lanes));
    each_block(source, problem, span, true, threads, simd, [&](int64_t at, const Block<Real>& block, const LaneLoops<Real>& loops) {
        double* here = parts.data() + (at - span.begin) / kChunkRows * 2 * lanes;
        loops.objective[problem.loss](block, here, here + lanes);
    });
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
        for (int lane = 0; lane < lanes; ++lane) {
            loss[lane] += parts[static_cast<size_t>((2 * chunk) * lanes + lane)];
            conjugate[lane] += parts[static_cast<size_t>((2 * chunk + 1) * lanes + lane)];
        }
}

}  // namespace kernelight
