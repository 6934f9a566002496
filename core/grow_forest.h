// Random forests on binned columns (docs/hash-spec.md, section 11).
//
// Every tree is a function of the seed, its number and that of all trees. It draws rows with replacement; a row that
// was drawn c times has c times its weight. Every node draws columns, without replacement, and takes
// the split of largest gain among these; where none of them can be split, it draws on. The node of
// largest gain is split next, until there are enough leaves (best-first).
//
// What a node draws depends on its number alone, so nothing is said about when it is looked at. A
// gain is at most the impurity, which is cheap: a node waits with its impurity in the queue, and is
// looked at when no other can have a larger gain. Many of the last leaves never are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <queue>
#include <vector>

#include "bin_columns.h"
#include "parallel.h"
#include "portable/kl_random.h"
#include "split_sums.h"

namespace kernelight {

struct BinnedColumns {
    const uint8_t* bins;   // (n_columns, n_rows)
    const int64_t* first;  // column p has the bins first[p] to first[p + 1]
    const float *lows, *highs;
    int64_t n_columns, n_rows;
    const uint8_t* of(int64_t column) const { return bins + column * n_rows; }
};

// Whether every bin is one of its column, or that of missing numbers.
inline bool within_bins(const BinnedColumns& columns) {
    for (int64_t place = 0; place < columns.n_columns; ++place) {
        const uint8_t* bins = columns.of(place);
        const auto n_bins = static_cast<uint8_t>(columns.first[place + 1] - columns.first[place]);
        uint8_t wrong = 0;
        for (int64_t i = 0; i < columns.n_rows; ++i)
            wrong |= static_cast<uint8_t>(bins[i] >= n_bins) & (bins[i] != kMissingBin);
        if (wrong) return false;
    }
    return true;
}

struct GrowthRules {
    uint64_t seed;
    int64_t n_trees;   // of the forest
    int64_t n_draws;   // rows of a tree
    int64_t n_looked;  // columns of a split
    int64_t max_leaves;
    int64_t min_rows;  // of a leaf, each counted once
};

// The nodes of a tree as they are made; -1 is the child of a leaf, and its other numbers are 0.
struct GrownTree {
    int32_t *left, *right;
    int64_t* column;
    float* threshold;
    bool* missing_left;
    double* gain;
};

struct BestSplit {
    double gain = -1.0;  // none yet
    int64_t column = 0;
    int bin = 0, next = 0;  // rows up to the bin go left; the next bin that rows are in
    bool missing_left = false, any_missing = false;
};

namespace detail {

constexpr int64_t kFewInNode = 256;  // of a node: bins without rows are then skipped by a bit mask

struct WaitingNode {
    double most;  // its gain, or what that is at most
    bool known;   // whether it is the gain
    int32_t node;
    bool operator<(const WaitingNode& other) const {  // comes later
        if (most != other.most) return most < other.most;
        if (known != other.known) return known;  // what may have that gain is looked at first
        return node > other.node;
    }
};

// The sums of nodes of classes, which are of two kinds.
class LabelSums {
   public:
    using Node = LabelNode;
    explicit LabelSums(const LabelTarget& target) : many_(target.n_classes) {}
    template <class F>
    void visit(const LabelNode& node, F&& look) {
        if (TwoClassSums::fits(node)) {
            two_.prepare(node);
            look(two_);
        } else {
            many_.prepare(node);
            look(many_);
        }
    }

   private:
    TwoClassSums two_;
    ManyClassSums many_;
};

template <int kTargets>
class QuantitySums {
   public:
    using Node = ValueNode;
    explicit QuantitySums(const ValueTarget& target) : sums_(target) {}
    template <class F>
    void visit(const ValueNode& node, F&& look) {
        sums_.prepare(node);
        look(sums_);
    }

   private:
    ValueSums<kTargets> sums_;
};

// Grows one tree after another.
template <class Kinds>
class Grower {
    using Node = typename Kinds::Node;
    using Item = typename Node::Item;

   public:
    Grower(const BinnedColumns& columns, const typename Node::Target& target,
           const GrowthRules& rules)
        : columns_(columns),
          rules_(rules),
          target_(target),
          sums_(target),
          times_(static_cast<size_t>(columns.n_rows)),
          order_(static_cast<size_t>(columns.n_columns)),
          only_two_(order_.size()) {
        for (int64_t at = 0; at < columns.n_columns; ++at) {
            order_[at] = at;
            const uint8_t *bins = columns.of(at), *end = bins + columns.n_rows;
            only_two_[at] = columns.first[at + 1] - columns.first[at] == 2 &&
                            std::find(bins, end, kMissingBin) == end;
        }
    }

    // Returns the number of nodes.
    int32_t grow(int64_t tree, const GrownTree& to) {
        draw_rows(tree);
        column_key_ = tree_key(KL_STREAM_FOREST_COLUMN, tree);
        nodes_.clear();
        waiting_ = {};
        add_node(to, 0, static_cast<int64_t>(items_.size()));
        for (int64_t leaves = 1; leaves < rules_.max_leaves && !waiting_.empty();) {
            const WaitingNode first = waiting_.top();
            waiting_.pop();
            Grown& node = nodes_[first.node];
            if (!first.known) {
                node.split = best_split(first.node);
                if (node.split.gain >= 0.0) waiting_.push({node.split.gain, true, first.node});
                continue;
            }
            split(to, first.node);
            ++leaves;
        }
        return static_cast<int32_t>(nodes_.size());
    }

   private:
    struct Grown {
        int64_t begin, end;  // its rows
        BestSplit split;
    };

    void draw_rows(int64_t tree) {
        std::fill(times_.begin(), times_.end(), 0);
        const uint64_t key = tree_key(KL_STREAM_FOREST_ROW, tree);
        for (int64_t draw = 0; draw < rules_.n_draws; ++draw)
            ++times_[below(kl_child(key, draw), columns_.n_rows)];
        items_.clear();
        for (size_t row = 0; row < times_.size(); ++row)
            if (times_[row])
                items_.push_back(target_.item(static_cast<uint32_t>(row), times_[row]));
        aside_.resize(items_.size());
    }

    uint64_t tree_key(uint64_t stream, int64_t tree) const {
        return kl_child(kl_child(kl_stream(rules_.seed, stream), rules_.n_trees), tree);
    }

    static int64_t below(uint64_t word, int64_t count) {
        return static_cast<int64_t>(((word >> 32) * static_cast<uint64_t>(count)) >> 32);
    }

    void add_node(const GrownTree& to, int64_t begin, int64_t end) {
        const auto node = static_cast<int32_t>(nodes_.size());
        nodes_.push_back({begin, end, {}});
        to.left[node] = to.right[node] = -1;
        to.column[node] = 0;
        to.threshold[node] = 0.0f;
        to.missing_left[node] = false;
        to.gain[node] = 0.0;
        if (end - begin < std::max<int64_t>(2, 2 * rules_.min_rows)) return;
        const double impurity = target_.impurity(items_.data() + begin, end - begin);
        if (impurity > 0.0) waiting_.push({impurity, false, node});
    }

    BestSplit best_split(int32_t number) {
        const Grown& node = nodes_[number];
        Item* items = items_.data() + node.begin;
        const int64_t count = node.end - node.begin, n_columns = columns_.n_columns;
        target_.prepare(items, count);
        const uint64_t key = kl_child(column_key_, number);
        BestSplit best;
        int64_t drawn = 0;
        swaps_.clear();
        sums_.visit(target_, [&](auto& sums) {
            for (; drawn < n_columns && (drawn < rules_.n_looked || best.gain < 0.0); ++drawn) {
                const int64_t other = drawn + below(kl_child(key, drawn), n_columns - drawn);
                std::swap(order_[drawn], order_[other]);
                swaps_.push_back(other);
                look(sums, items, count, order_[drawn], best);
            }
        });
        while (drawn-- > 0) std::swap(order_[drawn], order_[swaps_[drawn]]);
        return best;
    }

    // The best split by one column, if it is better than those before.
    template <class Sums>
    void look(Sums& sums, const Item* items, int64_t count, int64_t column, BestSplit& best) {
        const uint8_t* bins = columns_.of(column);
        uint8_t used[256];
        int n_used = 0;
        if (only_two_[column]) {
            sums.add_two(bins, items, count);
            for (const uint8_t bin : {uint8_t{0}, uint8_t{1}})
                if (sums.count(bin) > 0) used[n_used++] = bin;
        } else if (count < kFewInNode) {
            uint64_t mask[4] = {};
            for (int64_t i = 0; i < count; ++i) {
                const uint8_t bin = bins[items[i].row];
                sums.add(bin, items[i]);
                mask[bin >> 6] |= uint64_t{1} << (bin & 63);
            }
            for (int word = 0; word < 4; ++word)
                for (uint64_t left = mask[word]; left; left &= left - 1)
                    used[n_used++] = static_cast<uint8_t>(64 * word + __builtin_ctzll(left));
        } else {
            for (int64_t i = 0; i < count; ++i) sums.add(bins[items[i].row], items[i]);
            const auto n_bins =
                static_cast<int>(columns_.first[column + 1] - columns_.first[column]);
            for (int bin = 0; bin < n_bins; ++bin) {
                used[n_used] = static_cast<uint8_t>(bin);
                n_used += sums.count(bin) > 0;
            }
            used[n_used] = kMissingBin;
            n_used += sums.count(kMissingBin) > 0;
        }
        const bool missing = used[n_used - 1] == kMissingBin;
        if (!missing) return scan<true>(sums, sums.nothing(), used, n_used, column, best, count);
        scan<false>(sums, sums.nothing(), used, n_used, column, best, count);
        auto left = sums.nothing();
        sums.template take<true>(kMissingBin, left);
        scan<true>(sums, left, used, n_used - 1, column, best, count, true);
    }

    // All splits after a used bin but the last; `left` is what goes left before the first.
    template <bool kEmpty, class Sums, class Left>
    void scan(Sums& sums, Left left, const uint8_t* used, int n_used, int64_t column,
              BestSplit& best, int64_t count, bool missing_left = false) {
        const auto least = static_cast<uint32_t>(rules_.min_rows),
                   most = static_cast<uint32_t>(count - rules_.min_rows);
        int at = 0;
        for (; at + 1 < n_used; ++at) {
            sums.template take<kEmpty>(used[at], left);
            if (left.count < least || left.count > most) continue;
            const double gain = sums.gain(left);
            if (gain > best.gain)
                best = {gain,         column,
                        used[at],     used[at + 1],
                        missing_left, missing_left || used[n_used - 1] == kMissingBin};
        }
        if constexpr (kEmpty) sums.template take<true>(used[at], left);
    }

    void split(const GrownTree& to, int32_t number) {
        const int64_t begin = nodes_[number].begin, end = nodes_[number].end;
        const BestSplit split = nodes_[number].split;
        const uint8_t* bins = columns_.of(split.column);
        int64_t left = begin, right = 0;
        for (int64_t i = begin; i < end; ++i) {  // both keep their order
            const Item item = items_[i];
            const uint8_t bin = bins[item.row];
            const bool goes_left = bin == kMissingBin ? split.missing_left : bin <= split.bin;
            items_[left] = item;
            aside_[right] = item;
            left += goes_left;
            right += !goes_left;
        }
        std::copy(aside_.begin(), aside_.begin() + right, items_.begin() + left);
        to.column[number] = split.column;
        to.threshold[number] = threshold(split);
        to.gain[number] = split.gain;
        to.missing_left[number] =
            split.any_missing ? split.missing_left : left - begin > end - left;
        to.left[number] = static_cast<int32_t>(nodes_.size());
        to.right[number] = to.left[number] + 1;
        add_node(to, begin, left);
        add_node(to, left, end);
    }

    // Midway between the numbers on either side, but below those on the right.
    float threshold(const BestSplit& split) const {
        if (split.next == kMissingBin) return std::numeric_limits<float>::infinity();
        const int64_t first = columns_.first[split.column];
        const float high = columns_.highs[first + split.bin],
                    low = columns_.lows[first + split.next];
        const auto middle = static_cast<float>((static_cast<double>(high) + low) / 2);
        return middle < low ? middle : high;
    }

    BinnedColumns columns_;
    GrowthRules rules_;
    Node target_;
    Kinds sums_;
    uint64_t column_key_ = 0;
    std::vector<uint32_t> times_;         // how often each row was drawn
    std::vector<Item> items_, aside_;     // the drawn rows, node after node
    std::vector<int64_t> order_, swaps_;  // columns, and the swaps that drew them
    std::vector<uint8_t> only_two_;       // whether a column has the bins 0 and 1 alone
    std::vector<Grown> nodes_;
    std::priority_queue<WaitingNode> waiting_;
};

}  // namespace detail

// Trees [first, first + count); tree t is written to tree(t - first), its nodes to sizes[t - first].
template <class Kinds, class Target, class TreeAt>
void grow_forest(const BinnedColumns& columns, const Target& target, const GrowthRules& rules,
                 int64_t first, int64_t count, TreeAt&& tree, int32_t* sizes, int threads) {
    parallel_for(threads, count, [&](int64_t begin, int64_t end) {
        detail::Grower<Kinds> grower(columns, target, rules);
        for (int64_t at = begin; at < end; ++at) sizes[at] = grower.grow(first + at, tree(at));
    });
}

}  // namespace kernelight
