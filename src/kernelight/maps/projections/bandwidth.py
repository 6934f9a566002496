"""Bandwidths from the data: the median distance of pairs of rows.

The distances are summed in a fixed order and the pairs are drawn from the seed, so that the median
has the same bits whatever the storage of the rows, the threads or the machine: codes depend on it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Matrix, Resources, check_positive, core_args
from kernelight.kernels.prepare import row_peaks
from kernelight.maps.projections.projection import MAX_DISTANCE
from kernelight.maps.projections.readouts import FIXED, UNIT_LENGTH, RowRule

LARGEST_GAMMA = MAX_DISTANCE**2  # beyond it float32 cannot represent the angle
MOST_PAIRS = 4095  # odd: the median is one of them


def median_gamma(X: Matrix, seed: int, resources: Resources) -> float:
    """1 / median(1 - rho) over pairs of rows; 1 where there is no such pair.

    Rows of zeros and parallel rows are left out.
    """
    rows = np.flatnonzero(row_peaks(X))
    # |u - v|^2 = 2 (1 - rho) of unit rows
    squares = _square_distances(X, rows, UNIT_LENGTH, seed, resources)
    squares = squares[squares >= 2.0 / LARGEST_GAMMA]  # what is closer is parallel, up to rounding
    return 2.0 / float(_median(squares)) if len(squares) else 1.0


def median_sigma(X: Matrix, seed: int, resources: Resources) -> float:
    """The median distance of pairs of rows that differ; 1 where none do."""
    peaks = row_peaks(X)
    peak = float(peaks.max(initial=0.0))
    if peak == 0.0:
        return 1.0
    exponent = max(math.frexp(peak)[1] - 1, -1022)  # 1 / unit must not overflow
    unit = math.ldexp(1.0, exponent)  # in these units no square overflows
    squares = _square_distances(
        X, np.arange(X.shape[0]), RowRule(FIXED, 1.0 / unit), seed, resources
    )
    return unit * math.sqrt(_median(squares)) if len(squares) else 1.0


def _median(values: NDArray[np.float64]) -> float:
    return float(np.sort(values)[(len(values) - 1) // 2])


def _square_distances(
    X: Matrix, rows: NDArray[np.intp], rule: RowRule, seed: int, resources: Resources
) -> NDArray[np.float64]:
    """Squared distances of all pairs, or of MOST_PAIRS pairs drawn at random.

    Equal rows are left out.
    """
    left, right = (rows[side].astype(np.int64) for side in _pairs(len(rows), seed))
    squares = np.empty(len(left))
    if len(left):
        scaled = _core.ScaledRows(*core_args(X), *rule)
        resources = resources.for_work(len(left) * X.shape[1])
        _core.square_distances(scaled, left, right, squares, *resources)
    return squares[squares > 0]


def _pairs(n: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    if n * (n - 1) // 2 <= MOST_PAIRS:
        return np.triu_indices(n, 1)
    words = np.empty(MOST_PAIRS, dtype=np.uint64)
    _core.fill_words(seed, _core.STREAM_PAIRS, words)
    left = _below(words >> np.uint64(32), n)
    right = _below(words & np.uint64(0xFFFFFFFF), n - 1)
    return left, right + (right >= left)  # any other row


def _below(words: NDArray[np.uint64], n: int) -> NDArray[np.intp]:
    """32-bit words as whole numbers below n.

    n may need more than 32 bits: then they are made in double precision.
    """
    if n < 1 << 32:
        return np.asarray(((words * np.uint64(n)) >> np.uint64(32)).astype(np.intp))
    return (words.astype(np.float64) * (n * 2.0**-32)).astype(np.intp)


def check_gamma(gamma: Any) -> float | None:
    """A gamma that features in single precision can have, or None for "median"."""
    given = check_bandwidth("gamma", gamma)
    if given is not None and given > LARGEST_GAMMA:
        raise ValueError(
            f"gamma must be at most {LARGEST_GAMMA:g}, got {given:g}: only equal rows are similar "
            "beyond it, and single precision cannot tell rows apart."
        )
    return given


def check_bandwidth(name: str, value: Any) -> float | None:
    """A positive number, or None for "median"."""
    if isinstance(value, str):
        if value != "median":
            raise ValueError(f'{name} must be a positive number or "median", got {value!r}.')
        return None
    return check_positive(name, value)
