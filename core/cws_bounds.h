// Consistent weighted sampling without tables, for batches with more coordinates than tables may
// have. The definition is portable/kl_cws.h; everything here gives the same bits as the scan of
// cws.h.
//
// There, what costs most is to draw a cell that few rows need: three logarithms and two divisions
// in double precision. But to find the winner of a slot one need not know every a, only that all
// others are above it. So cells are drawn in single precision, about four times as fast, and moved
// so far down that what they give is certainly not above a. The least bound names a candidate, the
// only entry whose cell is drawn as defined: if its a is below the bounds of all others, it is the
// winner. If not, which is one slot in some thousands, the row is sampled by the definition.
//
// Why it is a bound. Let u = 2^-24, L a logarithm of at most `reach` in size, and primes mark single
// precision: r' is r up to 2^-20 r (four roundings, and the sum of the logarithm cancels two thirds
// at most), and so is 1 / r'; log c' is log c up to 2^-20 (1 + |log c|).
// - t <= t'. The definition rounds L / r + beta up by at most 4u |L| / r + 2u; in t' the errors are
//   2^-20 |L| / r + 2u (1 + |L| / r). beta' is raised by kSlack (reach / r' + 1/4), kSlack = 2^-18.
// - a' <= a. As r' > 0, a' <= q' - r' t; r' t is r t up to 2^-20 (|L| + 2r), q' is q up to
//   2^-20 (1 + |log c|) + 4u (|log c| + r), and the roundings of a by the definition and of a' are
//   at most 8u (|L| + 3r + |log c|) together, that is 2^-21 of it. q' is lowered by kSlack (reach +
//   1 + 3r' + |log c'|), which is more than twice their sum.
// The slack grows with reach, and doubts with it, so the caller sends larger values elsewhere.
//
// Entries are listed by coordinate for many rows together: a coordinate is drawn once for all of
// them. Neither its cells nor those of others are kept, but the minima of all rows are, so that they
// should fit the second-level cache.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "cws.h"
#include "parallel.h"
#include "simd/bound_loops.h"

namespace kernelight {

template <class Code>
auto settle_for(const BoundLoops& loops) {
    if constexpr (sizeof(Code) == 1) return loops.settle8;
    else if constexpr (sizeof(Code) == 2) return loops.settle16;
    else return loops.settle64;
}

// Samples one row by the definition.
template <class Rows>
class CwsByDefinition {
   public:
    CwsByDefinition(const Rows& rows, const WeightRule& rule, double p, CwsIdentities identities,
                    uint64_t seed, const CwsLoops& loops)
        : rows_(rows), rule_(rule), p_(p), identities_(identities), seed_(seed), loops_(loops) {}

    void list(int64_t row) {
        id_.clear(), weights_.clear();
        each_weight(rows_, row, rule_, [&](uint64_t coordinate, double weight) {
            id_.push_back(identities_[static_cast<int32_t>(coordinate)]);
            weights_.push_back(weight);
        });
        logs_.resize(weights_.size());
        loops_.logs(weights_.data(), static_cast<int64_t>(weights_.size()), p_, logs_.data());
    }

    // The identity of the winner of a slot of the row that was listed last, and its t.
    uint64_t sample(int64_t slot, int64_t* t) const {
        return id_[kl_cws_sample(seed_, static_cast<uint64_t>(slot), id_.size(), id_.data(),
                                 logs_.data(), t)];
    }

   private:
    const Rows& rows_;
    const WeightRule& rule_;
    double p_;
    CwsIdentities identities_;
    uint64_t seed_;
    const CwsLoops& loops_;
    std::vector<uint64_t> id_;
    std::vector<double> weights_;
    std::vector<float> logs_;
};

// codes: (n_rows, code_stride), already moved to the column of first_slot, and so are the winners.
// Empty rows are left as they are. `listing` has all nonzeros of the rows, with logarithms of at
// most `reach` in size. Returns how many codes were left to the definition.
template <class Rows, class Code>
int64_t cws_encode_bounds(const Rows& rows, const WeightRule& rule, double p,
                          const CwsListing& listing, CwsIdentities identities, float reach,
                          int64_t first_slot, int64_t n_slots, uint64_t seed,
                          const CwsCoding& coding, Code* codes, int64_t code_stride,
                          CwsWinners winners, const CwsLoops& loops, const BoundLoops& bounds,
                          int threads) {
    const uint64_t stream = kl_stream(seed, KL_STREAM_CWS),
                   code_stream = kl_stream(seed, KL_STREAM_CWS_CODE);
    const uint64_t code_mask = low_bits(coding.bits);
    const int64_t row_blocks = listing.n_blocks(),
                  slot_blocks = (n_slots + kSlotBlock - 1) / kSlotBlock;
    std::atomic<int64_t> doubts{0};
    parallel_for(threads, slot_blocks * row_blocks, [&](int64_t begin, int64_t end) {
        const auto most = static_cast<size_t>(std::min(listing.row_block, listing.n_rows));
        std::vector<CwsRivals> rivals(most);
        std::vector<uint32_t> doubtful(most);
        CwsByDefinition<Rows> exact(rows, rule, p, identities, seed, loops);
        int64_t count = 0;
        for (int64_t task = begin; task < end; ++task) {
            const int64_t block = task % row_blocks, slot = task / row_blocks * kSlotBlock;
            const CwsEntries entries = listing.entries(block);
            const int64_t row = block * listing.row_block, rows_here = listing.rows_of(block);
            const CwsSlots slots{stream, code_stream, first_slot + slot,
                                 std::min(kSlotBlock, n_slots - slot)};
            for (int64_t at = 0; at < rows_here; ++at)
                for (int64_t lane = 0; lane < kSlotBlock; ++lane)
                    rivals[at].least[lane] = rivals[at].second[lane] = __builtin_inff();
            bounds.meet(entries, identities, slots, reach, rivals.data());
            settle_for<Code>(bounds)(entries, identities, slots, coding, rows_here, rivals.data(),
                                     codes + row * code_stride + slot, code_stride,
                                     moved(winners, row, slot), doubtful.data());
            for (int64_t at = 0; at < rows_here; ++at) {
                if (!doubtful[at]) continue;
                exact.list(row + at);
                for (int64_t lane = 0; lane < slots.n_slots; ++lane) {
                    if (!(doubtful[at] >> lane & 1)) continue;
                    int64_t t = 0;
                    const int64_t here = slots.first_slot + lane;
                    const uint64_t id = exact.sample(here, &t);
                    t = static_cast<int64_t>(static_cast<uint64_t>(t) & coding.t_mask);
                    const uint64_t key = kl_child(code_stream, static_cast<uint64_t>(here));
                    const uint64_t word = coding.lowest ? id : kl_cws_code(key, id, t);
                    codes[(row + at) * code_stride + slot + lane] =
                        static_cast<Code>(word & code_mask);
                    if (winners.features)
                        *moved(winners, row + at, slot + lane).features =
                            static_cast<int64_t>(id >> 1);
                    ++count;
                }
            }
        }
        doubts += count;
    });
    return doubts;
}

}  // namespace kernelight
