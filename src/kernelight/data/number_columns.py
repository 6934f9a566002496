"""Columns of numbers: infinity is refused, and those that count the rows are found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.errors import DataError, shown


def refuse_infinite(label: str, matrix: NDArray[Any], names: Sequence[str], first_row: int) -> None:
    """Refuse infinity; NaN stands for a missing value."""
    with np.errstate(over="ignore", invalid="ignore"):
        if math.isfinite(float(matrix.sum())):
            return
    infinite = np.isinf(matrix)
    if infinite.any():
        row, column = (int(i) for i in np.unravel_index(int(np.argmax(infinite)), matrix.shape))
        raise DataError(
            f"{label}, row {first_row + row + 1}, column {shown(names[column])}: infinity is no "
            f"value (numbers go up to 1.8e308)."
        )


def count_rows(values: NDArray[Any]) -> bool:
    """Whether the values of rows are their numbers, from 0 or 1: each once, and in order.

    >>> import numpy as np
    >>> from kernelight.data.number_columns import count_rows
    >>> count_rows(np.array([1.0, 2, 3])), count_rows(np.array([1.0, 3, 2]))
    (True, False)
    """
    return (
        len(values) > 0
        and values[0] in (0, 1)
        and bool((values == np.arange(len(values)) + values[0]).all())
    )
