"""Random forests on binned columns, grown by the core (docs/hash-spec.md, section 11).

A split is sought in the histogram of a node: sums of the target over the bins of a column, at most
255 and one for missing numbers. Sums are of integers, so that they are exact in whatever order they
are added: weights and quantities are rounded to integers first, as finely as 53 bits allow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Matrix, Resources, core_args
from kernelight.maps.partitions.column_values import LEARNED_ROWS, column_values, evenly_ranked
from kernelight.maps.partitions.trees import Trees

#: Rows that a tree draws at most, where nothing else is asked for: 80 for each of 256 leaves. More
#: move the splits by less than another draw of them does, and cost in proportion.
MAX_SAMPLES = 20_000
MAX_BINNED = 1 << 32  # bytes: one for each row and column
_WEIGHT_SUM = (1 << 31) - 1  # of a tree
_FINEST_WEIGHT = 1 << 16  # of the heaviest row, where quantities need bits as well
_VALUE_SUM = 1 << 53
_CALL_WORK = 1 << 28  # rows times columns of one compiled call: Ctrl-C is handled between two
_CALL_NODES = 1 << 22


@dataclass(frozen=True)
class BinnedColumns:
    """Columns that vary, as bins: column ``columns[p]`` has ``first[p]`` to ``first[p + 1]``.

    Numbers of a bin are at least its low, a number that occurs, and at most its high.
    """

    bins: NDArray[np.uint8]  # (columns, rows)
    columns: NDArray[np.int64]
    first: NDArray[np.int64]
    lows: NDArray[np.float32]
    highs: NDArray[np.float32]


@dataclass(frozen=True)
class Growth:
    """How trees grow: what `ForestLeaves` says, in numbers."""

    seed: int
    n_trees: int
    n_draws: int
    n_looked: int
    max_leaves: int
    min_rows: int


def bin_columns(X: Matrix, use: Resources) -> BinnedColumns:
    """The bins of checked rows in single precision."""
    n_rows, looked_at = X.shape[0], min(X.shape[0], LEARNED_ROWS)
    columns, first = [], [0]
    highs = []
    for column, distinct, times in column_values(X):
        missing = int(times.sum()) < looked_at
        if not len(distinct) or len(distinct) + missing < 2:
            continue
        cuts, _ = evenly_ranked(_core.MOST_BINS - 1, distinct[:-1], times[:-1])
        columns.append(column)
        first.append(first[-1] + len(cuts) + 1)
        highs.append(np.append(cuts, np.inf).astype(np.float32))
    if n_rows * len(columns) > MAX_BINNED:
        raise ValueError(
            f"forest='histogram' holds a byte for each of {n_rows:,} rows and {len(columns):,} "
            f"columns that vary, more than {MAX_BINNED >> 30} GiB: use fewer, or forest='random'."
        )
    made = BinnedColumns(
        np.empty((len(columns), n_rows), dtype=np.uint8),
        np.asarray(columns, dtype=np.int64),
        np.asarray(first, dtype=np.int64),
        np.empty(first[-1], dtype=np.float32),
        np.concatenate([np.zeros(0, dtype=np.float32), *highs]),
    )
    if columns:
        threads = use.for_work(8 * n_rows * len(columns)).threads
        edges = made.columns, made.first, made.highs
        _core.bin_columns(*core_args(X), *edges, made.bins, made.lows, threads)
    return made


def whole_weights(
    weight: NDArray[np.float64] | None, n_rows: int, n_draws: int, classes: bool
) -> NDArray[np.uint32]:
    """Positive weights as integers of at least 1, those of a tree below 2^31 together."""
    if weight is None or weight.min() == weight.max():
        return np.ones(n_rows, dtype=np.uint32)
    heaviest = _WEIGHT_SUM // n_draws
    if not classes:
        heaviest = max(1, min(heaviest, _FINEST_WEIGHT))
    whole = np.maximum(np.rint(weight / weight.max() * heaviest), 1)
    return np.asarray(whole, dtype=np.uint32)


def whole_values(
    target: NDArray[np.float64], weights: NDArray[np.uint32], n_draws: int
) -> NDArray[np.float64]:
    """Quantities as integers around 0, so that weighted sums of a tree are at most 2^53."""
    target = target.reshape(len(target), -1)
    centre = target.min(axis=0) / 2 + target.max(axis=0) / 2
    values = np.ascontiguousarray(target - centre)
    _, exponent = np.frexp(np.abs(values).max())
    bits = (_VALUE_SUM // (n_draws * int(weights.max()))).bit_length() - 1
    return np.asarray(np.rint(np.ldexp(values, bits - exponent)), dtype=np.float64)


def grow_forest(
    binned: BinnedColumns,
    weights: NDArray[np.uint32],
    labels: NDArray[np.int32] | None,
    values: NDArray[np.float64] | None,
    growth: Growth,
    use: Resources,
) -> tuple[Trees, NDArray[np.float64]]:
    """Trees, and the gain of each of their nodes: the decrease of impurity times weight."""
    n_columns, n_rows = binned.bins.shape
    if not n_columns:
        return _stumps(growth.n_trees), np.zeros(growth.n_trees)
    rows = min(growth.n_draws, n_rows)
    width = 2 * min(growth.max_leaves, rows) - 1
    work = growth.n_draws * min(growth.n_looked, n_columns) * (growth.max_leaves.bit_length() + 1)
    use = use.for_work(growth.n_trees * work)
    step = max(use.threads, min(_CALL_WORK * use.threads // work, _CALL_NODES // width))
    given = binned.bins, binned.first, binned.lows, binned.highs, weights, labels, values
    rules = growth.n_trees, growth.n_draws, growth.n_looked, growth.max_leaves, growth.min_rows
    sizes: list[NDArray[np.int32]] = []
    grown: list[list[NDArray[Any]]] = []
    dtypes = (np.int32, np.int32, np.int64, np.float32, np.bool_, np.float64)
    for tree in range(0, growth.n_trees, step):
        shape = min(step, growth.n_trees - tree), width
        sizes.append(np.empty(shape[0], dtype=np.int32))
        nodes: list[Any] = [np.empty(shape, dtype=dtype) for dtype in dtypes]
        _core.grow_forest(*given, growth.seed, *rules, tree, *(*nodes, sizes[-1], use.threads))
        used = np.arange(width) < sizes[-1][:, None]
        grown.append([array[used] for array in nodes])
    left, right, places, thresholds, missing_left, gains = (
        np.concatenate(parts) for parts in zip(*grown, strict=True)
    )
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes), dtype=np.int64)])
    columns = np.where(left < 0, 0, binned.columns[places])
    return Trees(starts, left, right, columns, thresholds, missing_left), gains


def _stumps(n_trees: int) -> Trees:
    """Trees of one leaf, where no column varies."""
    none, no_child = np.zeros(n_trees, dtype=np.int64), np.full(n_trees, -1, dtype=np.int32)
    thresholds, missing_left = none.astype(np.float32), none.astype(np.bool_)
    return Trees(np.arange(n_trees + 1), no_child, no_child, none, thresholds, missing_left)


def importances(trees: Trees, gains: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
    """The fraction of the gain that the splits of each column have, averaged over trees."""
    tree = np.repeat(np.arange(len(trees.starts) - 1), np.diff(trees.starts))
    totals = np.bincount(tree, gains)
    shares = gains / np.where(totals > 0, totals, 1.0)[tree]
    of_columns = np.bincount(trees.columns, shares, minlength=n_features)
    return np.asarray(of_columns / (of_columns.sum() or 1.0))


def columns_looked_at(max_features: Any, n_features: int) -> int:
    """How many columns a split chooses among, by scikit-learn's rules."""
    if max_features == "sqrt":
        return max(1, math.isqrt(n_features))
    if max_features == "log2":
        return max(1, n_features.bit_length() - 1)
    if isinstance(max_features, (float, np.floating)):
        return max(1, int(max_features * n_features))
    return min(int(max_features), n_features)
