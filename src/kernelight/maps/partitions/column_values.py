"""The different values of columns, from which tests and bins are made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base.checks import Matrix
from kernelight.maps.projections.projection import only_used_columns

LEARNED_ROWS = 1 << 16  # evenly spread over all

#: Number of the column, its different values in ascending order, and how often each occurs.
ColumnValues = tuple[int, NDArray[np.float64], NDArray[np.int64]]


def column_values(X: Matrix) -> Iterator[ColumnValues]:
    """The values of each column, but for sparse ones that are zero; missing numbers do not count.

    Of more than `LEARNED_ROWS` rows so many are looked at.
    """
    n_rows = X.shape[0]
    if n_rows > LEARNED_ROWS:
        X = X[np.linspace(0, n_rows - 1, LEARNED_ROWS).round().astype(np.intp)]
    if not sp.issparse(X):
        for column in range(X.shape[1]):
            yield column, *_counted(X[:, column])
        return
    narrow, used = only_used_columns(X)
    by_column = sp.csc_array(narrow)
    for at, column in enumerate(used.tolist()):
        stored = by_column.data[by_column.indptr[at] : by_column.indptr[at + 1]]
        zeros = X.shape[0] - len(stored)
        distinct, times = _counted(np.append(stored, 0.0) if zeros else stored)
        times[distinct == 0.0] += max(0, zeros - 1)
        yield column, distinct, times


def evenly_ranked(
    most: int, values: NDArray[np.float64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """At most so many values, those at evenly spaced ranks of the rows, and their ranks' counts."""
    if len(values) <= most:
        return values, counts
    rows = np.cumsum(counts)
    ranks = (2 * np.arange(most) + 1) * rows[-1] // (2 * most)
    kept, often = np.unique(np.searchsorted(rows, ranks, side="right"), return_counts=True)
    return values[kept], often.astype(np.int64)


def _counted(x: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The different numbers that are not missing, and how often each occurs."""
    distinct, times = np.unique(x[~np.isnan(x)].astype(np.float64), return_counts=True)
    return distinct + 0.0, times.astype(np.int64)  # there is one zero
