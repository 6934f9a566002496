"""Forests of binned columns, a second time from docs/hash-spec.md, section 11: slow and obvious."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from oracles.hash_twin import child, stream

MISSING = 255


def highs_of(column):
    """The highs of a column of single-precision numbers, None where it has one bin."""
    known = sorted(float(x) for x in column if not math.isnan(x))
    if not known or (known[0] == known[-1] and len(known) == len(column)):
        return None
    below = [x for x in known if x < known[-1]]
    if len(set(below)) > 254:
        below = [below[((2 * m + 1) * len(below)) // 508] for m in range(254)]
    return [*sorted(set(below)), math.inf]


def bin_of(x, highs):
    return MISSING if math.isnan(x) else sum(high < x for high in highs)


def whole(y, weights, D, classes):
    """Weights and targets as integers; targets of classes as indicators."""
    w = np.ones(len(y), dtype=int)
    if weights is not None and min(weights) < max(weights):
        H = (2**31 - 1) // D
        if not classes:
            H = min(H, 2**16)
        w = [max(1, round(float(one / max(weights) * H))) for one in weights]
    w = [int(one) for one in w]
    if classes:
        return w, [[int(label == k) for k in range(max(y) + 1)] for label in y]
    y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    y = y - (y.min(axis=0) / 2 + y.max(axis=0) / 2)
    _, e = math.frexp(np.abs(y).max())
    b = math.floor(math.log2(2**53 // (D * max(w))))
    return w, [[round(math.ldexp(one, b - e)) for one in row] for row in y.tolist()]


class TreeTwin:
    """One tree: lists of nodes."""

    def __init__(self, bins, highs, lows, w, y, classes, rules, seed, n_trees, number):
        self.bins, self.highs, self.lows, self.y, self.classes = bins, highs, lows, y, classes
        self.rules = rules
        n_draws, _, max_leaves, _ = rules
        key = child(child(stream(seed, 21), n_trees), number)
        self.column_key = child(child(stream(seed, 22), n_trees), number)
        drawn = [((int(child(key, i)) >> 32) * len(w)) >> 32 for i in range(n_draws)]
        self.weight = {row: drawn.count(row) * w[row] for row in sorted(set(drawn))}
        self.nodes, self.splits = [], []
        self.add(list(self.weight))
        leaves = 1
        while leaves < max_leaves:
            open_ = [v for v, split in enumerate(self.splits) if split and not self.nodes[v][0]]
            if not open_:
                break
            v = max(open_, key=lambda v: (self.splits[v][0], -v))
            self.divide(v)
            leaves += 1

    def add(self, rows):
        self.nodes.append([None, rows])
        self.splits.append(self.best(len(self.nodes) - 1, rows))

    def sums(self, rows):
        """Weight, and weighted sums of each target."""
        return (
            sum(self.weight[row] for row in rows),
            [sum(self.weight[r] * self.y[r][t] for r in rows) for t in range(len(self.y[0]))],
        )

    def gain(self, left, right):
        L, of_left = self.sums(left)
        R, of_right = self.sums(right)
        W, of_both = self.sums(left + right)
        if self.classes:
            before = float(sum(s * s for s in of_both)) / float(W)
            gain = float(sum(s * s for s in of_left)) / float(L)
            gain += float(sum(s * s for s in of_right)) / float(R)
            return max(0.0, gain - before)
        squares = 0.0
        for s, both in zip(of_left, of_both, strict=True):
            above = float(s) - float(L) * (float(both) / float(W))
            squares += above * above
        return squares * (float(W) / (float(L) * (float(W) - float(L))))

    def best(self, v, rows):
        """Gain, column, bin, next bin and side of missing numbers, or None for a leaf."""
        _, n_looked, _, min_rows = self.rules
        if len(rows) < max(2, 2 * min_rows) or len({tuple(self.y[row]) for row in rows}) < 2:
            return None
        c, best = len(self.bins), None
        order = list(range(c))
        key = child(self.column_key, v)
        for i in range(c):
            if i >= n_looked and best:
                break
            other = i + (((int(child(key, i)) >> 32) * (c - i)) >> 32)
            order[i], order[other] = order[other], order[i]
            column = order[i]
            of = {row: self.bins[column][row] for row in rows}
            used = sorted(set(of.values()))
            missing = MISSING in used
            for missing_left in [False, True] if missing else [False]:
                numbers = [b for b in used if b != MISSING] if missing_left else used
                for b, after in pairwise(numbers):
                    left = [r for r in rows if of[r] <= b or (missing_left and of[r] == MISSING)]
                    right = [r for r in rows if r not in set(left)]
                    if min(len(left), len(right)) < min_rows:
                        continue
                    gain = self.gain(left, right)
                    if best is None or gain > best[0]:
                        best = (gain, column, b, after, missing_left, missing, left, right)
        return best

    def divide(self, v):
        gain, column, b, after, missing_left, missing, left, right = self.splits[v]
        if after == MISSING:
            threshold = np.float32(math.inf)
        else:
            high, low = self.highs[column][b], self.lows[column][after]
            middle = np.float32((high + low) / 2)
            threshold = middle if middle < low else np.float32(high)
        side = missing_left if missing else len(left) > len(right)
        at = len(self.nodes)
        self.nodes[v][0] = (at, at + 1, column, threshold, side, gain)
        self.add(left)
        self.add(right)


def forest(X, y, weights, classes, *, n_trees, n_looked, max_leaves, min_rows, max_samples, seed):
    """Arrays of nodes: starts, left, right, columns, thresholds, sides of missing, and gains."""
    X = np.asarray(X).astype(np.float32)
    if weights is not None:
        kept = np.asarray(weights) > 0
        X, y = X[kept], np.asarray(y)[kept]
        weights = np.asarray(weights, dtype=np.float64)[kept]
    found = [(column, highs_of(X[:, column])) for column in range(X.shape[1])]
    found = [(column, highs) for column, highs in found if highs]
    bins = [[bin_of(float(x), highs) for x in X[:, column]] for column, highs in found]
    lows = []
    for (column, highs), of in zip(found, bins, strict=True):
        numbers = [
            [float(x) for x, b in zip(X[:, column], of, strict=True) if b == bin_]
            for bin_ in range(len(highs))
        ]
        lows.append([min(each) for each in numbers])
    D = min(len(X), max_samples)
    w, y = whole(y, weights, D, classes)
    rules = D, n_looked, max_leaves, min_rows
    starts, nodes = [0], []
    for number in range(n_trees):
        highs = [each for _, each in found]
        tree = TreeTwin(bins, highs, lows, w, y, classes, rules, seed, n_trees, number)
        for made, _ in tree.nodes:
            one = made or (-1, -1, None, 0.0, False, 0.0)
            nodes.append((*one[:2], found[one[2]][0] if made else 0, *one[3:]))
        starts.append(len(nodes))
    return (starts, *(list(column) for column in zip(*nodes, strict=True)))
