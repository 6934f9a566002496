"""Checks of what users give to searches: limits, codes, numbers of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import check_number
from kernelight.codes import Codes


def check_threshold(threshold: Any) -> float:
    """A least similarity, above 0 and at most 1."""
    value = check_number("threshold", threshold, 0.0, 1.0)
    if value == 0.0:
        raise ValueError("threshold must be above 0: every pair has a similarity of at least 0.")
    return value


def check_radius(radius: Any) -> float:
    """A largest distance, at least 0 and below 1."""
    value = check_number("radius", radius, 0.0, 1.0)
    if value == 1.0:
        raise ValueError("radius must be below 1: every row is within a distance of 1.")
    return value


def least_similarity(radius: float) -> float:
    """The least float whose distance, 1 - similarity, is at most the radius.

    Distances are rounded, so that it need not be 1 - radius: 1 - 0.7 is more than 0.3, and the
    distance of rows of similarity 0.7 is not within 0.3. With this threshold every search finds
    the rows whose distance, as it is returned, is at most the radius.

    >>> from kernelight.neighbors.limits import least_similarity
    >>> least_similarity(0.25), 1 - 0.7 <= 0.3, least_similarity(0.3) > 0.7
    (0.75, False, True)
    """
    # positive floats are in the order of their bits
    beyond, within = 0, int(np.float64(1.0).view(np.int64))
    while within - beyond > 1:
        middle = (beyond + within) // 2
        if 1.0 - float(np.int64(middle).view(np.float64)) <= radius:
            within = middle
        else:
            beyond = middle
    return float(np.int64(within).view(np.float64))


def check_recall(recall: Any) -> float:
    """A fraction to be found, above 0 and at most 1."""
    value = check_number("recall", recall, 0.0, 1.0)
    if value == 0.0:
        raise ValueError("recall must be above 0: nothing need be searched to find nothing.")
    return value


def check_codes(name: str, codes: Any) -> Codes:
    """Codes of a map; a plain array does not say what its slots mean."""
    if not isinstance(codes, Codes):
        raise TypeError(
            f"{name} must be Codes, as the encode of a map returns them, got "
            f"{type(codes).__name__}."
        )
    return codes


def row_numbers(name: str, rows: Any) -> NDArray[np.int64]:
    """Numbers of rows: whole numbers, in whatever shape they have."""
    given = np.asarray(rows)
    if given.size and given.dtype.kind not in "iu":
        raise TypeError(f"{name} must be numbers of rows, which are whole numbers.")
    return np.ascontiguousarray(given, dtype=np.int64).reshape(given.shape)
