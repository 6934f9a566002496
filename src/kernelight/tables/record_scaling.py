"""The scaling "records": rows of tables so that similarity counts what two records agree in.

A number x becomes u = (x - min) / (max - min) and its complement 1 - u, and a word stays a column
of 0 and 1. So each column of the table has a total of 1 in every row (the parts of a date share
it), whatever its values: no record is a row of zeros, and small values count as large ones do. Two
records of d columns, with the mean difference over columns

    g = 1/d sum_c g_c,    g_c = |u - v| of numbers, 0 or 1 of words that are equal or not

(Gower's distance), have sum min = d (1 - g) and sum max = d (1 + g), so that their similarity is

    K = (1 - g) / (1 + g).

A column that is constant has no range: its range is the size of its value (1 if that is 0), so that
it agrees within the file, and may differ from another file.

A missing value is a word of its own: it agrees with another missing value and with nothing else.
Its column, and the complement of that, are 0, and a feature behind all others is 1 (`with_gaps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.data import Encoding
from kernelight.data.table_source import CATEGORICAL
from kernelight.scaling import Scaling

RECORDS = "records"


def record_scaling(encoding: Encoding, low: NDArray[Any], high: NDArray[Any]) -> Scaling:
    """The scaling of features between ``low`` and ``high``.

    >>> import os, tempfile
    >>> from kernelight.data import open_dataset
    >>> from kernelight.tables.record_scaling import record_scaling
    >>> path = os.path.join(tempfile.mkdtemp(), "a.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("size,kind\\n1,a\\n5,b\\n9,a\\n")
    >>> data = open_dataset(path, target=None)
    >>> X = next(iter(data.batches(3))).X
    >>> record_scaling(data.encoding, X.min(axis=0), X.max(axis=0))(X)
    array([[0. , 1. , 0. , 1. , 0. , 0. ],
           [0.5, 0. , 1. , 0.5, 0. , 0. ],
           [1. , 1. , 0. , 0. , 0. , 0. ]])
    """
    assert encoding.columns is not None
    low, high = (np.array(bound, dtype=np.float64) for bound in (low, high))
    weights, complements = np.ones(len(low)), np.ones(len(low))
    place = 0
    for column in encoding.columns:
        if column.kind == CATEGORICAL:
            ones = slice(place, place + column.n_ones)
            low[ones], high[ones], complements[ones] = 0.0, 1.0, 0.0
        elif column.recipe is not None:
            weights[place : place + column.width] = 1.0 / max(1, column.width)
        place += column.width
    with np.errstate(over="ignore"):
        span = np.minimum(high - low, np.finfo(np.float64).max)
    span = np.where(span > 0, span, np.where(low == 0, 1.0, np.abs(low)))
    arrays = {"low": low, "span": span, "complements": complements}
    if (weights != 1.0).any():
        arrays["weights"] = weights
    return Scaling("minmax+complement", len(low), arrays)


class Gap(NamedTuple):
    """A column of numbers or dates whose missing values have a feature of their own."""

    name: str
    start: int  # the features of the column
    stop: int
    weight: float = 1.0  # the value of that feature


def gaps_of(encoding: Encoding) -> tuple[Gap, ...]:
    """All columns of an encoding that may be such."""
    found, place = [], 0
    for column in encoding.columns or ():
        if column.kind != CATEGORICAL:
            found.append(Gap(column.name, place, place + column.width))
        place += column.width
    return tuple(found)


def with_gaps(X: NDArray[Any], gaps: Sequence[Gap], scaling: Scaling | None) -> NDArray[Any]:
    """Rows as they are compared, from features behind which there is one for each gap.

    >>> import numpy as np
    >>> from kernelight.tables.record_scaling import Gap, with_gaps
    >>> with_gaps(np.array([[3.0, 5, 0], [3, 5, 1]]), [Gap("b", 1, 2, 6.0)], None)
    array([[3., 5., 0.],
           [3., 0., 6.]])
    """
    width = X.shape[1] - len(gaps)
    values = np.ascontiguousarray(X[:, :width])
    scaled = values if scaling is None else scaling(values)
    made = np.empty((X.shape[0], scaled.shape[1] + len(gaps)), dtype=scaled.dtype)
    made[:, : scaled.shape[1]] = scaled
    made[:, scaled.shape[1] :] = X[:, width:]
    for at, gap in enumerate(gaps):
        rows = np.flatnonzero(X[:, width + at])
        for begin in range(0, scaled.shape[1], width):  # complements come behind all columns
            made[rows, begin + gap.start : begin + gap.stop] = 0.0
        made[rows, scaled.shape[1] + at] = gap.weight
    return made


def is_record_scaling(scaling: Scaling) -> bool:
    """Whether a scaling is of this kind."""
    return "complements" in scaling.arrays


def shown_scaling(scaling: Scaling) -> str:
    """The name of a scaling as options say it."""
    return RECORDS if is_record_scaling(scaling) else scaling.name
