"""Weights as repetitions: a row of weight 3 is three equal rows, and a row of weight 0 is none.

Rows of weight 0 are left out before anything learns from them (`rows_that_count`). Only a class
that has no other rows keeps them, so that it stays known.

For the rest it matters what is held out. A row of weight 3 is on one side of a split; three equal
rows may be on both. Neither can be made the other without harm. If equal rows were always held out
together, settings would be chosen for rows never seen before, though later rows may repeat those of
the training as often as these repeat each other. If a weight were cut into copies on both sides,
each copy would give away the target of the other, and settings that overfit would win; besides,
weights are often no counts at all. Hence:

- Splits that a user gives (``cv``) say on which side each row is. Equal rows with equal targets on
  the same side of all splits become one row with the sum of their weights (`unite_equal_rows`), and
  rows stand in an order that depends on their content alone, since solvers visit them in it. So
  weights and repetitions become the same arrays, and give the same model to the bit.
- In a coarse table, such as one of counts, most rows have equals with *another* target. There a
  copy gives nothing away, and settings must suit rows that were seen before. Whole weights are
  counts then: a row of weight 3 becomes three rows (`repeat_rows`).
- Otherwise rows are held out as they are given: weights and repetitions may choose different
  settings. What is learned with given settings is the same, up to the tolerance of the solver.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base.checks import Matrix
from kernelight.estimators.folds import Split
from kernelight.estimators.routes import RowIndices
from kernelight.linear.fingerprints import row_fingerprints

Weight = NDArray[np.float64]
MAX_REPEATED_VALUES = 1 << 26  # numbers in repeated rows: half a gigabyte
COARSE = 0.5  # the fraction of weight on rows that have equals with another target
_TRAIN, _HELD = 1, 2


def rows_that_count(weight: Weight, labels: NDArray[Any] | None) -> RowIndices:
    """The rows of positive weight, and all rows of classes that have none of these.

    Such a class stays known, and is never predicted.
    """
    if labels is None:
        return np.flatnonzero(weight)
    return np.flatnonzero((weight > 0) | ~np.isin(labels, np.unique(labels[weight > 0])))


def splits_among(splits: list[Split], rows: RowIndices, n_rows: int) -> list[Split]:
    """Splits of ``n_rows`` rows as splits of some of them, whose indices are ``rows``."""
    new_index = np.full(n_rows, -1, dtype=np.intp)
    new_index[rows] = np.arange(len(rows))
    moved = [tuple(new_index[part][new_index[part] >= 0] for part in split) for split in splits]
    if not all(len(part) for split in moved for part in split):
        raise ValueError("cv must give splits with a row of a weight above 0 in each part.")
    return [(train, held) for train, held in moved]


def unite_equal_rows(
    X: Matrix, y: NDArray[Any], weight: Weight | None, splits: list[Split]
) -> tuple[RowIndices, Weight, list[Split]] | None:
    """Unite equal rows that have equal targets and are on the same sides of all splits.

    Returns the indices of the rows that remain, in an order that depends on their content alone,
    with the sums of weights and the splits of these rows. None where nothing is to be done: all
    weights are 1 and all rows differ, or a split holds a row twice.
    """
    n_rows = X.shape[0]
    parts = _parts(splits, n_rows)
    if parts is None:
        return None
    order, new_row, new_target = _in_order(X, y, parts)
    first = np.flatnonzero(new_row | new_target | _changes(parts[order]))
    weights = np.ones(n_rows) if weight is None else weight[order]
    if len(first) == n_rows and (weights == 1.0).all():
        return None
    starts = np.zeros(n_rows, dtype=np.intp)
    starts[first] = 1
    new_index = np.empty(n_rows, dtype=np.intp)
    new_index[order] = np.cumsum(starts) - 1
    moved = [(np.unique(new_index[train]), np.unique(new_index[held])) for train, held in splits]
    return order[first], np.add.reduceat(weights, first), moved


def repeat_rows(X: Matrix, y: NDArray[Any], weight: Weight) -> RowIndices | None:
    """The index of each row as often as its weight says; None if the table is not coarse.

    None also if weights are not whole numbers, or repeated rows would be too large.
    """
    total = float(weight.sum())
    whole = (weight == np.round(weight)).all() and weight.all()
    if not whole or total * X.shape[1] > MAX_REPEATED_VALUES:
        return None
    order, new_row, new_target = _in_order(X, y, np.zeros(X.shape[0], dtype=np.intp))
    group = np.cumsum(new_row) - 1
    n_targets = np.bincount(group, weights=new_row | new_target)
    if weight[order][n_targets[group] > 1].sum() <= COARSE * total:
        return None
    return np.repeat(np.arange(X.shape[0]), weight.astype(np.intp))


def _in_order(
    X: Matrix, y: NDArray[Any], parts: RowIndices
) -> tuple[RowIndices, NDArray[np.bool_], NDArray[np.bool_]]:
    """An order of rows by content, target and part, and where in it row and target are new.

    New means not equal to those of the row before.
    """
    keys = row_fingerprints(X)
    numbers = y if y.dtype.kind in "biuf" else np.unique(y, return_inverse=True)[1]
    targets = row_fingerprints(np.ascontiguousarray(numbers), stream=2)
    order = np.lexsort((parts, targets, keys))
    return order, _differs(X, keys[order], order), _changes(targets[order])


def _parts(splits: list[Split], n_rows: int) -> RowIndices | None:
    """A number for each row, equal for rows that are on the same sides of all splits.

    None if a split holds a row twice.
    """
    parts = np.zeros(n_rows, dtype=np.intp)
    for split in splits:
        side = np.zeros(n_rows, dtype=np.intp)
        for rows, sign in zip(split, (_TRAIN, _HELD), strict=True):
            if len(np.unique(rows)) < len(rows):
                return None
            side[rows] += sign
        parts = np.unique(4 * parts + side, return_inverse=True)[1]
    return parts


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a value is not the one before."""
    return np.append(True, values[1:] != values[:-1])


def _differs(X: Matrix, keys: NDArray[np.uint64], order: RowIndices) -> NDArray[np.bool_]:
    """Where a row is not equal to the one before, for rows in the order of their keys.

    Rows of equal keys are compared value by value.
    """
    differs = _changes(keys)
    same = np.flatnonzero(~differs)
    step = 1 << 16 if sp.issparse(X) else max(1, (1 << 20) // max(1, X.shape[1]))
    for begin in range(0, len(same), step):
        some = same[begin : begin + step]
        unequal = X[order[some]] != X[order[some - 1]]
        if sp.issparse(unequal):
            differs[some] = np.asarray(unequal.sum(axis=1)).ravel() > 0
        else:
            differs[some] = unequal.any(axis=1)
    return differs
