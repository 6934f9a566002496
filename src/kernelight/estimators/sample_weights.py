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

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix
from kernelight.estimators.folds import Split
from kernelight.estimators.routes import RowIndices
from kernelight.linear.equal_rows import rows_in_order, united_rows

Weight = NDArray[np.float64]
MAX_REPEATED_VALUES = 1 << 26  # numbers in repeated rows: half a gigabyte
FEWEST_ROWS = 2  # that weights should add up to; weights that add up to 1 are a common mistake
COARSE = 0.5  # the fraction of weight on rows that have equals with another target
_TRAIN, _HELD = 1, 2


def as_repetitions(
    X: Matrix, y: NDArray[Any], weight: Weight | None, splits: list[Split] | None
) -> tuple[Matrix, NDArray[Any], Weight | None, list[Split] | None]:
    """Rows, targets, weights and splits that are the same for weights and for repeated rows."""
    chosen: RowIndices | None = None
    sums: Weight | None = None
    if splits is not None:
        united = unite_equal_rows(X, y, weight, splits)
        if united is not None:
            chosen, sums, splits = united
    elif weight is not None:
        chosen = repeat_rows(X, y, weight)
    return (X, y, weight, splits) if chosen is None else (X[chosen], y[chosen], sums, splits)


def rows_that_count(weight: Weight, labels: NDArray[Any] | None) -> RowIndices:
    """The rows of positive weight, and all rows of classes that have none of these.

    Such a class stays known, and is never predicted.
    """
    if labels is None:
        return np.flatnonzero(weight)
    return np.flatnonzero((weight > 0) | ~np.isin(labels, np.unique(labels[weight > 0])))


def warn_of_little_weight(weight: Weight) -> None:
    """Warn of weights that add up to hardly any row: then there is hardly anything to learn from.

    Weights are repetitions, so that the loss of all rows together has that weight against the
    regularization, and the largest C that is tried does not make up for it.
    """
    total = float(weight.sum())
    if total < min(len(weight), FEWEST_ROWS):
        warnings.warn(
            f"sample_weight adds up to {total:.3g}, so that {len(weight):,} rows count as less "
            f"than {min(len(weight), FEWEST_ROWS)}, because weights are repetitions: divide it by "
            f"its mean, unless that is what you mean.",
            UserWarning,
            stacklevel=2,
        )


def unite_equal_rows(
    X: Matrix, y: NDArray[Any], weight: Weight | None, splits: list[Split]
) -> tuple[RowIndices, Weight, list[Split]] | None:
    """Unite equal rows that have equal targets and are on the same sides of all splits.

    Returns the indices of the rows that remain, in an order that depends on their content alone,
    with the sums of weights and the splits of these rows. None where nothing is to be done: all
    weights are 1 and all rows differ, or a split holds a row twice.
    """
    parts = _parts(splits, X.shape[0])
    united = None if parts is None else united_rows(X, y, weight, parts)
    if united is None:
        return None
    moved = [
        (np.unique(united.new_index[train]), np.unique(united.new_index[held]))
        for train, held in splits
    ]
    return united.rows, united.weights, moved


def repeat_rows(X: Matrix, y: NDArray[Any], weight: Weight) -> RowIndices | None:
    """The index of each row as often as its weight says; None if the table is not coarse.

    None also if weights are not whole numbers, or repeated rows would be too large.
    """
    total = float(weight.sum())
    whole = (weight == np.round(weight)).all() and weight.all()
    if not whole or total * X.shape[1] > MAX_REPEATED_VALUES:
        return None
    order, new_row, new_target = rows_in_order(X, y, np.zeros(X.shape[0], dtype=np.intp))
    group = np.cumsum(new_row) - 1
    n_targets = np.bincount(group, weights=new_row | new_target)
    if weight[order][n_targets[group] > 1].sum() <= COARSE * total:
        return None
    return np.repeat(np.arange(X.shape[0]), weight.astype(np.intp))


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
