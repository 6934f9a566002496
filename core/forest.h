// Leaves of decision trees: which leaf of each tree a row falls into.
//
// Rows are rounded to single precision, as scikit-learn's trees do, and go left where x <=
// threshold. Trees are the outer loop over a block of rows, so that a tree stays in the first
// cache; some rows walk down side by side, so that their loads overlap. Nodes that are leaves come
// last in their tree and are their own children: a row that has arrived stays.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "parallel.h"
#include "rows.h"

namespace kernelight {

constexpr int64_t kMostNodes = int64_t{1} << 30;

struct TreeNode {
    float threshold;
    int32_t place;     // of its column among those that the forest asks for
    int32_t child[2];  // where x <= threshold, and elsewhere
};

// Trees as plain arrays. Tree t has the nodes [starts[t], starts[t + 1]); `left` and `right` count
// from its start and are -1 for a leaf.
struct TreeArrays {
    const int64_t* starts;
    const int32_t *left, *right;
    const int64_t* column;
    const float* threshold;
    const bool* missing_left;
    int64_t n_trees, n_nodes;
};

// Whether arrays describe trees: the root comes first, every other node is the child of one earlier
// node, and columns are below n_cols.
inline bool sound_trees(const TreeArrays& trees, int64_t n_cols) {
    if (trees.starts[0] != 0 || trees.starts[trees.n_trees] != trees.n_nodes) return false;
    for (int64_t tree = 0; tree < trees.n_trees; ++tree) {
        const int64_t start = trees.starts[tree], count = trees.starts[tree + 1] - start;
        if (count < 1 || start + count > trees.n_nodes || count > kMostNodes) return false;
        std::vector<bool> reached(static_cast<size_t>(count));
        reached[0] = true;
        for (int64_t at = 0; at < count; ++at) {
            const int64_t node = start + at;
            const int32_t left = trees.left[node], right = trees.right[node];
            if (!reached[at]) return false;
            if (left == -1 && right == -1) continue;
            if (left <= at || left >= count || right <= at || right >= count || left == right ||
                reached[left] || reached[right] || trees.column[node] < 0 ||
                trees.column[node] >= n_cols || trees.threshold[node] != trees.threshold[node])
                return false;
            reached[left] = reached[right] = true;
        }
    }
    return true;
}

// Trees as rows walk through them: in each the first n_splits nodes are splits, leaves follow in the
// order that they had.
struct Forest {
    std::vector<TreeNode> nodes;
    std::vector<uint8_t> missing_left;
    std::vector<int64_t> starts;
    std::vector<int32_t> n_splits;
    std::vector<int64_t> columns;  // that some split asks for, ascending

    explicit Forest(const TreeArrays& trees)
        : nodes(static_cast<size_t>(trees.n_nodes)),
          missing_left(nodes.size()),
          starts(trees.starts, trees.starts + trees.n_trees + 1) {
        for (int64_t node = 0; node < trees.n_nodes; ++node)
            if (trees.left[node] >= 0) columns.push_back(trees.column[node]);
        std::sort(columns.begin(), columns.end());
        columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
        for (int64_t tree = 0; tree < trees.n_trees; ++tree) add(trees, tree);
    }
    int64_t most_leaves() const {
        int64_t most = 0;
        for (size_t tree = 0; tree < n_splits.size(); ++tree)
            most = std::max(most, starts[tree + 1] - starts[tree] - n_splits[tree]);
        return most;
    }
    int64_t n_trees() const { return static_cast<int64_t>(n_splits.size()); }
    int64_t n_columns() const { return static_cast<int64_t>(columns.size()); }

   private:
    void add(const TreeArrays& trees, int64_t tree) {
        const int64_t start = starts[tree], count = starts[tree + 1] - start;
        const int32_t* left = trees.left + start;
        const auto splits = static_cast<int32_t>(
            std::count_if(left, left + count, [](auto at) { return at >= 0; }));
        std::vector<int32_t> number(static_cast<size_t>(count));
        int32_t split = 0, leaf = splits;
        for (int64_t at = 0; at < count; ++at) number[at] = left[at] >= 0 ? split++ : leaf++;
        for (int64_t at = 0; at < count; ++at) {
            const int32_t own = number[at];
            if (left[at] < 0) {
                nodes[start + own] = {0.0f, 0, {own, own}};
                continue;
            }
            const auto place =
                std::lower_bound(columns.begin(), columns.end(), trees.column[start + at]);
            nodes[start + own] = {trees.threshold[start + at],
                                  static_cast<int32_t>(place - columns.begin()),
                                  {number[left[at]], number[trees.right[start + at]]}};
            missing_left[start + own] = trees.missing_left[start + at];
        }
        n_splits.push_back(splits);
    }
};

namespace detail {

constexpr int64_t kForestRows = 64;  // rows of a block
constexpr int kAbreast = 8;          // rows that walk down side by side
constexpr int kSteps = 4;            // levels between two questions whether all have arrived

// The columns that the forest asks for, in single precision; returns whether a number is missing.
template <class Value>
bool fill_block(const DenseRows<Value>& rows, const Forest& forest, int64_t begin, int64_t n_rows,
                float* block) {
    bool missing = false;
    for (int64_t r = 0; r < n_rows; ++r) {
        const Value* row = rows.values + (begin + r) * rows.n_cols;
        for (int64_t at = 0; at < forest.n_columns(); ++at) {
            const auto x = static_cast<float>(row[forest.columns[at]]);
            missing |= x != x;
            block[r * forest.n_columns() + at] = x;
        }
    }
    return missing;
}

template <class Value, class Index>
bool fill_block(const CsrRows<Value, Index>& rows, const Forest& forest, int64_t begin,
                int64_t n_rows, float* block) {
    bool missing = false;
    std::memset(block, 0, static_cast<size_t>(n_rows * forest.n_columns()) * sizeof(float));
    for (int64_t r = 0; r < n_rows; ++r)
        each_among(rows, begin + r, forest.columns.data(), forest.n_columns(),
                   [&](int64_t place, Value value) {
                       const auto x = static_cast<float>(value);
                       missing |= x != x;
                       block[r * forest.n_columns() + place] = x;
                   });
    return missing;
}

// One level down; kMissing: where numbers may be missing.
template <bool kMissing>
int32_t step(const TreeNode* nodes, const uint8_t* missing_left, int32_t at, const float* row) {
    const TreeNode& node = nodes[at];
    const float x = row[node.place];
    bool left = x <= node.threshold;
    if constexpr (kMissing) left |= x != x && missing_left[at];
    return node.child[!left];
}

// Codes of one tree for the rows of a block, each stride codes after the one before.
template <bool kMissing, class Code>
void tree_codes(const TreeNode* nodes, const uint8_t* missing_left, int32_t n_splits,
                const float* block, int64_t n_columns, int64_t n_rows, Code* codes,
                int64_t stride) {
    int64_t r = 0;
    for (; r + kAbreast <= n_rows; r += kAbreast) {
        int32_t at[kAbreast] = {};
        for (bool walking = n_splits > 0; walking;) {
            for (int level = 0; level < kSteps; ++level)
                for (int i = 0; i < kAbreast; ++i)
                    at[i] = step<kMissing>(nodes, missing_left, at[i], block + (r + i) * n_columns);
            walking = false;
            for (int i = 0; i < kAbreast; ++i) walking |= at[i] < n_splits;
        }
        for (int i = 0; i < kAbreast; ++i)
            codes[(r + i) * stride] = static_cast<Code>(at[i] - n_splits);
    }
    for (; r < n_rows; ++r) {
        int32_t at = 0;
        while (at < n_splits) at = step<kMissing>(nodes, missing_left, at, block + r * n_columns);
        codes[r * stride] = static_cast<Code>(at - n_splits);
    }
}

}  // namespace detail

// codes[i, t] = the number of the leaf of tree t that row i falls into.
template <class Rows, class Code>
void encode_leaves(const Rows& rows, const Forest& forest, Code* codes, int threads) {
    const int64_t blocks = (rows.n_rows + detail::kForestRows - 1) / detail::kForestRows;
    parallel_for(threads, blocks, [&](int64_t begin, int64_t end) {
        std::vector<float> block(
            static_cast<size_t>(std::max<int64_t>(1, forest.n_columns()) * detail::kForestRows));
        for (int64_t number = begin; number < end; ++number) {
            const int64_t first = number * detail::kForestRows,
                          here = std::min(detail::kForestRows, rows.n_rows - first);
            const bool missing = detail::fill_block(rows, forest, first, here, block.data());
            for (int64_t tree = 0; tree < forest.n_trees(); ++tree) {
                const int64_t start = forest.starts[tree];
                const auto walk =
                    missing ? detail::tree_codes<true, Code> : detail::tree_codes<false, Code>;
                walk(forest.nodes.data() + start, forest.missing_left.data() + start,
                     forest.n_splits[tree], block.data(), forest.n_columns(), here,
                     codes + first * forest.n_trees() + tree, forest.n_trees());
            }
        }
    });
}

}  // namespace kernelight
