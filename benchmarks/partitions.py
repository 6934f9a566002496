"""The speed of codes of partitions: ferns against LightGBM's trees, leaves against scikit-learn's.

LightGBM predicts with 100 trees of its defaults; ferns are 1,024 of 8 tests, leaves those of 128
trees of at most 256 leaves. Forests are grown from 5,000 rows. Processor time, one thread, rows of
numbers.

    python benchmarks/partitions.py
"""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
from _measure import Row, at_least, at_most, best_times, show, threads
from sklearn.ensemble import RandomForestClassifier

from kernelight import Ferns, ForestLeaves

TRAIN, ROWS = 5_000, 40_000
WIDTHS = (10, 54, 300)
Matrix = np.ndarray[Any, Any]


def run() -> list[Row]:
    """Three rows for each width."""
    with threads(1):
        return [row for width in WIDTHS for row in _of_width(width)]


def table(width: int) -> tuple[Matrix, Matrix]:
    """Rows, the first TRAIN of them to learn from, and two classes that need several columns."""
    X = np.random.default_rng(width).normal(size=(TRAIN + ROWS, width))
    return X, (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)


def _of_width(width: int) -> list[Row]:
    X, y = table(width)
    train, rows = slice(TRAIN), X[TRAIN:]
    boosted = lightgbm.LGBMClassifier(n_jobs=1, verbose=-1).fit(X[train], y[train])
    ferns = Ferns(1024, depth=8).fit(X[train])
    (_, ours), (_, trees) = best_times(
        7, lambda: ferns.encode(rows), lambda: boosted.booster_.predict(rows, num_threads=1)
    )
    size = f"{width} columns"
    made = [at_least(f"1,024 ferns, {size}", "LightGBM, predict", 3, trees / ours)]
    leaves = ForestLeaves(128).fit(X[train], y[train])
    forest = RandomForestClassifier(128, max_leaf_nodes=256, n_jobs=1).fit(X[train], y[train])
    (_, ours), (_, trees) = best_times(5, lambda: leaves.encode(rows), lambda: forest.apply(rows))
    made.append(at_most(f"leaves of 128 trees, {size}", "scikit-learn, apply", 1, ours / trees))
    grown = ForestLeaves(128, forest="histogram")
    (_, ours), (_, trees) = best_times(
        3, lambda: grown.fit(X[train], y[train]), lambda: forest.fit(X[train], y[train])
    )
    claim = f"128 trees on histograms, {size}"
    return [*made, at_least(claim, "scikit-learn, random forest, fit", 8, trees / ours)]


if __name__ == "__main__":
    show(run())
