"""The values that ferns compare columns with, and how often each is drawn.

A test of column f is ``x_f > v``, v the value of a random training row that is not the largest of
the column: larger than the largest nothing is. What is kept of a column are its different values
below the largest, the cuts, with the number of rows that have each. Of a column with more than 255
cuts, 255 at evenly spaced ranks of its rows are kept, one row each or more where ranks share a
value. Missing numbers do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Matrix
from kernelight.maps.partitions.column_values import column_values, evenly_ranked


@dataclass(frozen=True)
class Cuts:
    """The cuts of the columns that vary, column after column, both ascending.

    Those of ``columns[p]`` are ``values[starts[p]:starts[p + 1]]``, and as many ``counts``;
    ``medians`` are the lower medians of the columns, which stand for what is missing.
    """

    columns: NDArray[np.int64]
    starts: NDArray[np.int64]
    values: NDArray[np.float64]
    counts: NDArray[np.uint16]
    medians: NDArray[np.float64]

    def below(self, place: int, x: NDArray[Any]) -> NDArray[np.float64]:
        """The probability that a cut of a column is below each number."""
        of_column = slice(int(self.starts[place]), int(self.starts[place + 1]))
        sums = np.concatenate([[0], np.cumsum(self.counts[of_column], dtype=np.int64)])
        return np.asarray(sums[np.searchsorted(self.values[of_column], x)] / sums[-1])


def learn_cuts(X: Matrix) -> Cuts:
    """The cuts of checked rows."""
    columns, starts = [], [0]
    values: list[NDArray[np.float64]] = []
    counts: list[NDArray[np.uint16]] = []
    medians = []
    for column, distinct, times in column_values(X):
        if len(distinct) < 2:
            continue
        cut, often = evenly_ranked(_core.MOST_CUTS, distinct[:-1], times[:-1])
        columns.append(column)
        starts.append(starts[-1] + len(cut))
        values.append(cut)
        counts.append(often.astype(np.uint16))  # below LEARNED_ROWS, as one has the largest value
        middle = (int(times.sum()) - 1) // 2
        medians.append(distinct[np.searchsorted(np.cumsum(times), middle, side="right")])
    return Cuts(
        np.asarray(columns, dtype=np.int64),
        np.asarray(starts, dtype=np.int64),
        np.concatenate([np.zeros(0), *values]),
        np.concatenate([np.zeros(0, dtype=np.uint16), *counts]),
        np.asarray(medians, dtype=np.float64),
    )
