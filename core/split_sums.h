// What a split of a node is judged by: sums of the target on either side, over the bins of a column.
//
// All sums are integers that are added without rounding, so that their order does not matter. With W
// the weight of a node, W_k that of class k and S_t the sum of target t, L the left side and R the
// right one, the gain of a split is the decrease of impurity times weight:
//
//     classes (Gini)      sum_k L_k^2 / L + sum_k R_k^2 / R - sum_k W_k^2 / W
//     quantities          sum_t (S_t(L) - L m_t)^2 W / (L R),    m_t = S_t / W
//
// The second is that of the variance, summed over targets. A gain below 0, by rounding, is 0.
//
// A class of nodes has `Target`, `Item` (a row of a tree), `item`, `impurity` (which bounds the gain
// of a split; 0 if all rows have one target) and `prepare`. A class of sums over the bins of a column
// has `add` (a row to its bin), `count` (the rows of a bin) and `Left`, the rows left of a split:
// `take` adds a bin to them, and empties it where that is asked for, and `gain` judges.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bin_columns.h"

namespace kernelight {

// Slack of an impurity as a bound of gains, relative to the terms that it is the difference of.
constexpr double kSlack = 1e-9;

struct LabelTarget {
    const int32_t* labels;    // 0 .. n_classes - 1
    const uint32_t* weights;  // at least 1, 0 for no row
    int64_t n_classes;
};

struct LabelItem {
    uint32_t row, weight;
    int32_t label, place;  // the class, and its place among those of the node
};

class LabelNode {
   public:
    using Target = LabelTarget;
    using Item = LabelItem;

    explicit LabelNode(const Target& target)
        : target_(target), totals_(2 * target.n_classes), places_(target.n_classes) {}
    Item item(uint32_t row, uint32_t count) const {
        return {row, count * target_.weights[row], target_.labels[row], 0};
    }
    double impurity(const Item* items, int64_t count) {
        add_up(items, count);
        if (classes_.size() < 2) return 0.0;
        const auto weight = static_cast<double>(weight_);
        return weight - static_cast<double>(squares()) / weight + kSlack * weight;
    }
    // The classes of the node get places of their own: of many classes few are left deep in a tree.
    void prepare(Item* items, int64_t count) {
        add_up(items, count);
        for (size_t place = 0; place < classes_.size(); ++place)
            places_[classes_[place]] = static_cast<int32_t>(place);
        for (int64_t i = 0; i < count; ++i) items[i].place = places_[items[i].label];
    }
    int64_t n_classes() const { return static_cast<int64_t>(classes_.size()); }
    uint64_t weight() const { return weight_; }
    uint64_t total(int64_t place) const { return totals_[classes_[place]]; }
    uint64_t squares() const {
        uint64_t sum = 0;
        for (const int32_t label : classes_) sum += totals_[label] * totals_[label];
        return sum;
    }

   private:
    // Even and odd rows apart: one sum would wait for itself from row to row.
    void add_up(const Item* items, int64_t count) {
        const int64_t n_classes = target_.n_classes;
        uint64_t *even = totals_.data(), *odd = even + n_classes;
        std::fill(even, odd + n_classes, 0);
        int64_t i = 0;
        for (; i + 2 <= count; i += 2) {
            even[items[i].label] += items[i].weight;
            odd[items[i + 1].label] += items[i + 1].weight;
        }
        if (i < count) even[items[i].label] += items[i].weight;
        classes_.clear();
        weight_ = 0;
        for (int64_t label = 0; label < n_classes; ++label) {
            even[label] += odd[label];
            weight_ += even[label];
            if (even[label]) classes_.push_back(static_cast<int32_t>(label));
        }
    }
    Target target_;
    std::vector<uint64_t> totals_;
    std::vector<int32_t> places_, classes_;  // of the node
    uint64_t weight_ = 0;
};

// Gini's gain from exact sums of squares.
inline double gini_gain(uint64_t left_squares, uint64_t left, uint64_t right_squares,
                        uint64_t right, double before) {
    const double gain = static_cast<double>(left_squares) / static_cast<double>(left) +
                        static_cast<double>(right_squares) / static_cast<double>(right) - before;
    return std::max(gain, 0.0);
}

// Two classes of little weight: a word has both weights and the number of rows, 21 bits each.
class TwoClassSums {
   public:
    static constexpr int kBits = 21;
    static constexpr uint64_t kField = (uint64_t{1} << kBits) - 1;

    TwoClassSums() : cells_(256) {}
    static bool fits(const LabelNode& node) {
        return node.n_classes() == 2 && node.weight() <= kField;
    }
    void prepare(const LabelNode& node) {
        total_ = node.total(0) | node.total(1) << kBits;
        before_ = static_cast<double>(node.squares()) / static_cast<double>(node.weight());
    }
    void add(uint8_t bin, const LabelItem& item) { cells_[bin] += word(item); }
    // All rows of the node, in bins 0 and 1 alone: one sum is enough.
    void add_two(const uint8_t* bins, const LabelItem* items, int64_t count) {
        uint64_t ones = 0;
        for (int64_t i = 0; i < count; ++i)
            ones += word(items[i]) & -static_cast<uint64_t>(bins[items[i].row]);
        cells_[0] = (total_ | static_cast<uint64_t>(count) << (2 * kBits)) - ones;
        cells_[1] = ones;
    }
    uint32_t count(int bin) const { return static_cast<uint32_t>(cells_[bin] >> (2 * kBits)); }

    struct Left {
        uint64_t sums = 0;
        uint32_t count = 0;
    };
    Left nothing() const { return {}; }
    template <bool kEmpty>
    void take(int bin, Left& left) {
        left.sums += cells_[bin];
        left.count = static_cast<uint32_t>(left.sums >> (2 * kBits));
        if constexpr (kEmpty) cells_[bin] = 0;
    }
    double gain(const Left& left) const {
        const uint64_t here = left.sums & (kField << kBits | kField), right = total_ - here;
        return gini_gain(squares(here), weight(here), squares(right), weight(right), before_);
    }

   private:
    static uint64_t word(const LabelItem& item) {
        return uint64_t{1} << (2 * kBits) | static_cast<uint64_t>(item.weight)
                                                << (item.place ? kBits : 0);
    }
    static uint64_t weight(uint64_t word) { return (word & kField) + (word >> kBits); }
    static uint64_t squares(uint64_t word) {
        const uint64_t low = word & kField, high = word >> kBits;
        return low * low + high * high;
    }
    std::vector<uint64_t> cells_;
    uint64_t total_ = 0;
    double before_ = 0.0;
};

class ManyClassSums {
   public:
    explicit ManyClassSums(int64_t n_classes)
        : cells_(256 * n_classes), left_(n_classes), total_(n_classes), counts_(256) {}
    void prepare(const LabelNode& node) {
        n_ = node.n_classes();
        weight_ = node.weight();
        for (int64_t k = 0; k < n_; ++k) total_[k] = static_cast<uint32_t>(node.total(k));
        before_ = static_cast<double>(node.squares()) / static_cast<double>(weight_);
    }
    void add(uint8_t bin, const LabelItem& item) {
        cells_[bin * n_ + item.place] += item.weight;
        ++counts_[bin];
    }
    void add_two(const uint8_t* bins, const LabelItem* items, int64_t count) {
        for (int64_t i = 0; i < count; ++i) add(bins[items[i].row], items[i]);
    }
    uint32_t count(int bin) const { return counts_[bin]; }

    struct Left {
        uint32_t* weights;
        uint64_t weight, squares, right_squares;
        uint32_t count;
    };
    Left nothing() {
        std::fill(left_.begin(), left_.begin() + n_, 0);
        return {left_.data(), 0, 0, 0, 0};
    }
    template <bool kEmpty>
    void take(int bin, Left& left) {
        uint32_t* cell = cells_.data() + bin * n_;
        const uint32_t* total = total_.data();
        uint64_t weight = 0, squares = 0, right_squares = 0;
        for (int64_t k = 0; k < n_; ++k) {
            const uint32_t here = left.weights[k] + cell[k], right = total[k] - here;
            left.weights[k] = here;
            if constexpr (kEmpty) cell[k] = 0;
            weight += here;
            squares += static_cast<uint64_t>(here) * here;
            right_squares += static_cast<uint64_t>(right) * right;
        }
        left = {left.weights, weight, squares, right_squares, left.count + counts_[bin]};
        if constexpr (kEmpty) counts_[bin] = 0;
    }
    double gain(const Left& left) const {
        return gini_gain(left.squares, left.weight, left.right_squares, weight_ - left.weight,
                         before_);
    }

   private:
    std::vector<uint32_t> cells_, left_, total_, counts_;
    int64_t n_ = 0;
    uint64_t weight_ = 0;
    double before_ = 0.0;
};

// Values are integers, and so are their sums: weight times value of all rows is below 2^53.
struct ValueTarget {
    const double* values;  // (rows, n_targets)
    const uint32_t* weights;
    int64_t n_targets;
    const double* of(uint32_t row) const { return values + row * n_targets; }
};

// Whether all sums of a tree are such integers.
inline bool exact_sums(const ValueTarget& target, int64_t n_rows, int64_t n_draws) {
    const double most = 9007199254740992.0 / static_cast<double>(n_draws);
    for (int64_t i = 0; i < n_rows; ++i)
        for (int64_t t = 0; t < target.n_targets; ++t) {
            const double value = target.values[i * target.n_targets + t];
            if (!(std::abs(value) * target.weights[i] <= most) || value != std::floor(value))
                return false;
        }
    return true;
}

struct ValueItem {
    uint32_t row, weight;
};

class ValueNode {
   public:
    using Target = ValueTarget;
    using Item = ValueItem;

    explicit ValueNode(const Target& target) : target_(target), sums_(target.n_targets) {}
    Item item(uint32_t row, uint32_t count) const { return {row, count * target_.weights[row]}; }
    double impurity(const Item* items, int64_t count) {
        const double squares = add_up(items, count);
        if (pure_) return 0.0;
        double of_means = 0.0;
        for (const double sum : sums_) of_means += sum * sum / static_cast<double>(weight_);
        return std::max(0.0, squares - of_means) + kSlack * squares;
    }
    void prepare(const Item* items, int64_t count) { add_up(items, count); }
    const std::vector<double>& sums() const { return sums_; }
    uint64_t weight() const { return weight_; }

   private:
    // Returns the weighted sum of squares.
    double add_up(const Item* items, int64_t count) {
        weight_ = 0;
        for (int64_t i = 0; i < count; ++i) weight_ += items[i].weight;
        double squares = 0.0;
        pure_ = true;
        for (int64_t t = 0; t < target_.n_targets; ++t) {
            const double *values = target_.values + t, first = target_.of(items[0].row)[t];
            double sum = 0.0;
            bool equal = true;
            for (int64_t i = 0; i < count; ++i) {
                const double value = values[items[i].row * target_.n_targets];
                const double weighted = items[i].weight * value;
                sum += weighted;
                squares += weighted * value;
                equal &= value == first;
            }
            sums_[t] = sum;
            pure_ &= equal;
        }
        return squares;
    }
    Target target_;
    std::vector<double> sums_;
    uint64_t weight_ = 0;
    bool pure_ = true;
};

// kTargets: how many there are, 0 where that is known at run time alone.
template <int kTargets>
class ValueSums {
   public:
    explicit ValueSums(const ValueTarget& target)
        : target_(target),
          rows_(256),
          cells_(256 * target.n_targets),
          left_(target.n_targets),
          means_(target.n_targets) {}
    void prepare(const ValueNode& node) {
        weight_ = static_cast<double>(node.weight());
        total_ = node.sums()[0];
        for (int64_t t = 0; t < n(); ++t) means_[t] = node.sums()[t] / weight_;
    }
    void add(uint8_t bin, const ValueItem& item) {
        rows_[bin] += uint64_t{1} << 32 | item.weight;
        const double* value = target_.values + item.row * n();
        for (int64_t t = 0; t < n(); ++t) cells_[bin * n() + t] += item.weight * value[t];
    }
    void add_two(const uint8_t* bins, const ValueItem* items, int64_t count) {
        if constexpr (kTargets != 1) {
            for (int64_t i = 0; i < count; ++i) add(bins[items[i].row], items[i]);
            return;
        }
        uint64_t rows = 0;
        double sum = 0.0;
        for (int64_t i = 0; i < count; ++i) {
            const uint64_t bin = bins[items[i].row];
            rows += (uint64_t{1} << 32 | items[i].weight) & -bin;
            sum += bin ? items[i].weight * target_.values[items[i].row] : 0.0;
        }
        rows_[0] = (static_cast<uint64_t>(count) << 32) + static_cast<uint64_t>(weight_) - rows;
        rows_[1] = rows;
        cells_[0] = total_ - sum;
        cells_[1] = sum;
    }
    uint32_t count(int bin) const { return static_cast<uint32_t>(rows_[bin] >> 32); }

    struct Left {
        uint64_t weight;
        uint32_t count;
        double one;  // the sum of the only target
    };
    Left nothing() {
        if constexpr (kTargets != 1) std::fill(left_.begin(), left_.end(), 0.0);
        return {0, 0, 0.0};
    }
    template <bool kEmpty>
    void take(int bin, Left& left) {
        left.weight += rows_[bin] & 0xFFFFFFFFu;
        left.count += static_cast<uint32_t>(rows_[bin] >> 32);
        double* cell = cells_.data() + bin * n();
        if constexpr (kTargets == 1) left.one += *cell;
        if constexpr (kTargets != 1)
            for (int64_t t = 0; t < n(); ++t) left_[t] += cell[t];
        if constexpr (kEmpty) {
            rows_[bin] = 0;
            std::fill(cell, cell + n(), 0.0);
        }
    }
    double gain(const Left& left) const {
        const auto weight = static_cast<double>(left.weight);
        double squares = 0.0;
        for (int64_t t = 0; t < n(); ++t) {
            const double above = (kTargets == 1 ? left.one : left_[t]) - weight * means_[t];
            squares += above * above;
        }
        return squares * (weight_ / (weight * (weight_ - weight)));
    }

   private:
    int64_t n() const { return kTargets > 0 ? kTargets : target_.n_targets; }
    ValueTarget target_;
    std::vector<uint64_t> rows_;  // weight, and 2^32 times the number of rows
    std::vector<double> cells_, left_, means_;
    double weight_ = 0.0, total_ = 0.0;  // of the node, the latter of the first target
};

}  // namespace kernelight
