// Consistent weighted sampling of rows side by side, by lists of darts. The definition is
// portable/kl_cws.h; everything here gives the same bits as the scan of cws.h.
//
// For one slot and coordinate, t = floor(log u / r + beta) ascends with log u, so that each t has a
// least log u that reaches it, and a = q - r t falls with t. Call every (coordinate, t) a dart, its
// threshold the largest log u that does not reach t. A row owns a dart if its value is above the
// threshold; of one coordinate it owns the dart of its own t and those of smaller t, whose a is not
// less. The sample of a row, the least a over its coordinates, is therefore the first dart that it
// owns, in the order of (a, coordinate, falling t). So darts are listed once for each slot, in this
// order, up to some a, with their codes; rows are tested side by side (simd/lane_loops.h), and all
// arithmetic but a comparison is done when lists are made.
//
// With z = exp(a) and y = exp(threshold), a coordinate has a density of exp(-z y) <= 1 darts at
// (y, z): a lattice of spacing r in log y has the density 1 / (r y), c = z y e^r the density
// c e^-c, r the density r e^-r, and the integral of z y e^r exp(-z y e^r) over r is exp(-z y). So
// a row with the sum S of its values meets at most sum of limits / S darts on average, and owns none
// with z below Z with probability exp(-S Z). What lists do not decide is scanned: rows with a value
// beyond its limit, and the slot blocks in which a row owns no dart.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cws.h"
#include "parallel.h"
#include "simd/lane_loops.h"

namespace kernelight {

// Lists of starts[slot + 1] - starts[slot] groups. A place is a row of the tables.
struct CwsLists {
    const DartGroup* groups;
    const int64_t* starts;
    int64_t n_places;
    const float* limits;  // (n_places): the largest value of which all darts are listed

    bool covers(int32_t place, float log_value) const {
        return place >= 0 && place < n_places && log_value <= limits[place];
    }
};

// Whether all lists have as many groups.
inline bool are_even(const int64_t* starts, int64_t n_slots) {
    bool even = starts[0] == 0;
    for (int64_t slot = 1; even && slot <= n_slots; ++slot) even = starts[slot] == slot * starts[1];
    return even;
}

// largest[place] = max(largest[place], log value) over all rows; places beyond n_places are left
// out. Returns the sum of all values, to the power p.
template <class Rows>
double cws_largest(const Rows& rows, const WeightRule& rule, double p, const int32_t* local,
                   int64_t n_places, float* largest, const CwsLoops& loops) {
    std::vector<int32_t> place;
    std::vector<double> weights;
    std::vector<float> logs;
    double sum = 0.0;
    for (int64_t row = 0; row < rows.n_rows; ++row) {
        place.clear(), weights.clear();
        each_weight(rows, row, rule, [&](uint64_t coordinate, double weight) {
            place.push_back(local[coordinate]), weights.push_back(weight);
        });
        logs.resize(weights.size());
        loops.logs(weights.data(), static_cast<int64_t>(weights.size()), p, logs.data());
        for (size_t at = 0; at < place.size(); ++at) {
            sum += std::exp(static_cast<double>(logs[at]));
            if (place[at] >= 0 && place[at] < n_places)
                largest[place[at]] = std::max(largest[place[at]], logs[at]);
        }
    }
    return sum;
}

namespace cws_detail {

// Floats as integers that ascend with them, and back.
inline int64_t order_of(float x) {
    const auto bits = static_cast<int64_t>(kl_bits_of_float(x));
    return bits >> 31 ? 0x7FFFFFFF - bits : bits;
}
inline float at_order(int64_t order) {
    return kl_float_of_bits(static_cast<uint32_t>(order < 0 ? 0x7FFFFFFF - order : order));
}

// The largest log value of which t is not reached. The guess is off by the rounding of two
// operations, which near zero is many floats: steps double until they surround it.
inline float threshold(const kl_cws_cell& cell, float t) {
    const int64_t least = order_of(-__builtin_inff()), most = order_of(__builtin_inff());
    const auto below = [&](int64_t order) {
        return at_order(order) * cell.inverse_r + cell.beta < t;
    };
    const auto guess = static_cast<float>((static_cast<double>(t) - cell.beta) * cell.r);
    int64_t low = order_of(guess), high = low;
    for (int64_t step = 1; low > least && !below(low); step *= 2) high = low, low -= step;
    low = std::max(low, least);
    for (int64_t step = 1; high < most && below(high); step *= 2) low = high, high += step;
    high = std::min(high, most);
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (below(middle)) low = middle;
        else high = middle;
    }
    return at_order(low);
}

}  // namespace cws_detail

// Lists of all slots of `tables`, of their first n_places rows: groups is (n_slots, length), each
// list the first darts with a of at most `most_a`, and darts that nobody owns behind them.
inline void cws_rank(const CwsTables& tables, int64_t n_places, const float* limits, uint64_t seed,
                     const CwsCoding& coding, float most_a, int64_t length, DartGroup* groups,
                     int threads) {
    constexpr float kExact = 1 << 22;  // below, t - 1 is exact
    struct Dart {
        float a, t;
        int32_t place;
    };
    const uint64_t code_stream = kl_stream(seed, KL_STREAM_CWS_CODE);
    const auto most = static_cast<size_t>(length * DartGroup::size);
    parallel_for(threads, tables.n_slots, [&](int64_t begin, int64_t end) {
        std::vector<Dart> darts;
        for (int64_t slot = begin; slot < end; ++slot) {
            const auto drawn = [&](int64_t place) {
                const float* cell = tables.values + slot / kSlotBlock * tables.block_stride() +
                                    place * kCellBlock + slot % kSlotBlock;
                return kl_cws_cell{cell[0], cell[kSlotBlock], cell[2 * kSlotBlock],
                                   cell[3 * kSlotBlock]};
            };
            darts.clear();
            float cut = __builtin_inff();  // a from which on not all darts are known
            for (int64_t place = 0; place < n_places; ++place) {
                if (!(limits[place] > -__builtin_inff())) continue;
                const kl_cws_cell cell = drawn(place);
                float t = kl_cws_t(cell, limits[place]);
                // More than `most` darts of one coordinate cannot be among the first.
                for (size_t count = 0; count < most; ++count, t -= 1.0f) {
                    const float a = cell.q - cell.r * t;
                    if (!(t < kExact && t > -kExact)) {
                        cut = a < cut ? a : cut;
                        break;
                    }
                    if (!(a <= most_a)) break;
                    darts.push_back({a, t, static_cast<int32_t>(place)});
                }
            }
            std::sort(darts.begin(), darts.end(), [&](const Dart& one, const Dart& other) {
                if (one.a != other.a) return one.a < other.a;
                if (one.place != other.place)
                    return tables.ids[one.place] < tables.ids[other.place];
                return one.t > other.t;
            });
            const uint64_t key =
                kl_child(code_stream, static_cast<uint64_t>(tables.first_slot + slot));
            DartGroup* list = groups + slot * length;
            for (size_t at = 0; at < most; ++at) {
                auto& probe = list[at / DartGroup::size].probe[at % DartGroup::size];
                uint64_t& code = list[at / DartGroup::size].key[at % DartGroup::size];
                probe = {__builtin_inff(), 0}, code = 0;
                if (at >= darts.size() || !(darts[at].a < cut)) continue;
                const Dart& dart = darts[at];
                const uint64_t id = tables.ids[dart.place];
                const int64_t t = static_cast<int64_t>(
                    static_cast<uint64_t>(static_cast<int64_t>(dart.t)) & coding.t_mask);
                probe = {cws_detail::threshold(drawn(dart.place), dart.t),
                         static_cast<uint32_t>(dart.place)};
                code = coding.lowest ? id : kl_cws_code(key, id, t);
            }
        }
    });
}

// What it took: darts tested by groups of rows, in all slots; groups; rows that were scanned, and
// slot blocks of others.
struct CwsListWork {
    int64_t steps, groups, rows, blocks;
};

// Codes of tables.n_slots slots of all rows, (n_rows, code_stride), already moved to the column of
// the first slot; `lists` begins with that slot, too. Empty rows are left as they are. The tables
// have every coordinate of the rows.
template <class Rows, class Code>
CwsListWork cws_encode_lists(const Rows& rows, const WeightRule& rule, double p,
                             const CwsLists& lists, const CwsTables& tables, const int32_t* local,
                             uint64_t seed, const CwsCoding& coding, Code* codes,
                             int64_t code_stride, const CwsLoops& loops, const LaneLoops& lanes,
                             int threads) {
    constexpr int64_t kBytes = 28 << 10;  // of values that stay in the first cache with some lists
    constexpr int64_t kMostGroups = 8;
    const int64_t width = lanes.lanes, group_values = lists.n_places * width;
    const int64_t n_groups = std::clamp<int64_t>(
        kBytes / (static_cast<int64_t>(sizeof(float)) * std::max<int64_t>(1, group_values)), 1,
        kMostGroups);
    const auto sample = lane_darts<Code>(lanes);
    const uint64_t code_mask = low_bits(coding.bits);
    std::atomic<int64_t> steps{0}, groups{0}, scanned{0}, blocks{0};
    parallel_for(
        threads, n_row_blocks(rows.n_rows, n_groups * width), [&](int64_t begin, int64_t end) {
            std::vector<float> values(static_cast<size_t>(n_groups * group_values));
            CwsRow<Rows, Code> alone(rows, rule, p, tables, local, seed, coding, loops);
            CwsListWork work{};
            for (int64_t tile = begin; tile < end; ++tile) {
                const int64_t first = tile * n_groups * width,
                              here = std::min(n_groups * width, rows.n_rows - first);
                std::fill(values.begin(), values.end(), -__builtin_inff());
                Code* out[kMostGroups][kMostLanes] = {};
                uint32_t filled[kMostGroups] = {};
                for (int64_t at = 0; at < here; ++at) {
                    const int64_t group = at / width, lane = at % width;
                    out[group][lane] = codes + (first + at) * code_stride;
                    const CwsEntries entries = alone.list(first + at);
                    float* to = values.data() + group * group_values + lane;
                    bool covered = entries.count > 0;
                    for (int64_t each = 0; each < entries.count; ++each) {
                        const int32_t place = local[entries.coordinate[each]];
                        const float log_value = entries.log_value[each];
                        if (!lists.covers(place, log_value)) covered = false;
                        else to[int64_t{place} * width] = log_value;
                    }
                    if (covered) {
                        filled[group] |= uint32_t{1} << lane;
                    } else if (entries.count > 0) {
                        alone.encode(entries, out[group][lane]);
                        ++work.rows;
                    }
                }
                const int64_t used = n_row_blocks(here, width);
                for (int64_t slot = 0; slot < tables.n_slots; slot += kSlotBlock)
                    for (int64_t group = 0; group < used; ++group) {
                        if (!filled[group]) continue;
                        const uint32_t without =
                            sample(lists.groups, lists.starts, slot,
                                   std::min(slot + kSlotBlock, tables.n_slots),
                                   values.data() + group * group_values, filled[group], code_mask,
                                   out[group], &work.steps);
                        for (int64_t lane = 0; without && lane < width; ++lane)
                            if (without >> lane & 1) {
                                alone.encode_block(alone.list(first + group * width + lane),
                                                   slot / kSlotBlock, out[group][lane]);
                                ++work.blocks;
                            }
                    }
                for (int64_t group = 0; group < used; ++group) work.groups += filled[group] != 0;
            }
            steps += work.steps, groups += work.groups;
            scanned += work.rows, blocks += work.blocks;
        });
    return {steps, groups, scanned, blocks};
}

}  // namespace kernelight
