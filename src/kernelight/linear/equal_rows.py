"""Equal rows with equal targets as one row, with the sum of their weights.

Rows then stand in an order that depends on their content alone, since solvers visit them in it. So
a row of weight 3 and three equal rows become the same arrays, and give the same model to the bit,
in whatever order they come.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.codes import Codes
from kernelight.linear.design import Targets
from kernelight.linear.fingerprints import row_fingerprints

#: Rows times outputs of a problem below which equal rows are looked for; it costs a copy of them.
MOST_UNITED = 100_000
FINEST = 0.1  # of the tolerance of the solver
RowIndices = NDArray[np.intp]
Flags = NDArray[np.bool_]


class UnitedRows(NamedTuple):
    """Rows that remain of all rows: their indices, the sums of weights, and where each row went."""

    rows: RowIndices
    weights: NDArray[np.float64]
    new_index: RowIndices

    @property
    def counting(self) -> tuple[RowIndices, NDArray[np.float64]]:
        """Rows of a weight above 0, and their weights."""
        some = self.weights > 0
        return self.rows[some], self.weights[some]


def united_rows(
    X: Any, y: NDArray[Any], weight: NDArray[np.float64] | None, parts: RowIndices | None = None
) -> UnitedRows | None:
    """Unite equal rows that have equal targets and are in the same of several ``parts``.

    X is `Codes`, a dense or a CSR matrix. None where nothing is to be done: all weights are 1 and
    all rows differ.
    """
    n_rows = X.shape[0]
    parts = np.zeros(n_rows, dtype=np.intp) if parts is None else parts
    order, new_row, new_target = rows_in_order(X, y, parts)
    first = np.flatnonzero(new_row | new_target | _changes(parts[order]))
    weights = np.ones(n_rows) if weight is None else weight[order]
    if len(first) == n_rows and (weights == 1.0).all():
        return None
    starts = np.zeros(n_rows, dtype=np.intp)
    starts[first] = 1
    new_index = np.empty(n_rows, dtype=np.intp)
    new_index[order] = np.cumsum(starts) - 1
    return UnitedRows(order[first], np.add.reduceat(weights, first), new_index)


def with_equal_rows_united(X: Any, targets: Targets) -> tuple[Any, Targets]:
    """The rows and targets of a linear model, with weights as repetitions; weight 0 is no row.

    Rows of a large problem stay as they are given, and weights are repetitions up to the tolerance
    of the solver.
    """
    if X.shape[0] * targets.n_outputs >= MOST_UNITED:
        return X, targets
    content: Any = targets.values if targets.labels is None else targets.labels
    united = united_rows(X, content, targets.row_cost)
    if united is None:
        return X, targets
    rows, weights = united.counting
    return X[rows], targets.of_rows(rows, weights)


def tolerance_factor(targets: Targets) -> float:
    """By what the tolerance of the solver is multiplied where weights are repetitions.

    An epoch over a few rows of large weights does less than one over all their repetitions, and a
    fit would end just at the tolerance, where one of all rows ends well below.
    """
    counts = targets.row_cost
    whole = len(counts) * targets.n_outputs < MOST_UNITED and (counts == np.round(counts)).all()
    return float(np.clip(len(counts) / counts.sum(), FINEST, 1.0)) if whole else 1.0


def rows_in_order(X: Any, y: NDArray[Any], parts: RowIndices) -> tuple[RowIndices, Flags, Flags]:
    """An order of rows by content, target and part, and where in it row and target are new.

    New means not equal to those of the row before.
    """
    keys = row_fingerprints(X)
    numbers = y if y.dtype.kind in "biuf" else np.unique(y, return_inverse=True)[1]
    targets = row_fingerprints(np.ascontiguousarray(numbers), stream=2)
    order = np.lexsort((parts, targets, keys))
    return order, _differs(X, keys[order], order), _changes(targets[order])


def _changes(values: NDArray[Any]) -> Flags:
    """Where a value is not the one before."""
    return np.append(True, values[1:] != values[:-1])


def _differs(X: Any, keys: NDArray[np.uint64], order: RowIndices) -> Flags:
    """Where a row is not equal to the one before, for rows in the order of their keys.

    Rows of equal keys are compared value by value.
    """
    differs = _changes(keys)
    same = np.flatnonzero(~differs)
    values = X.array if isinstance(X, Codes) else X
    step = 1 << 16 if sp.issparse(X) else max(1, (1 << 20) // max(1, values.shape[1]))
    for begin in range(0, len(same), step):
        some = same[begin : begin + step]
        unequal = values[order[some]] != values[order[some - 1]]
        if sp.issparse(unequal):
            differs[some] = np.asarray(unequal.sum(axis=1)).ravel() > 0
        else:
            differs[some] = unequal.any(axis=1)
        if isinstance(X, Codes):
            differs[some] |= X.empty[order[some]] != X.empty[order[some - 1]]
    return differs
