"""The end of slow problems: Newton's method on the rows that matter.

Coordinate descent finds soon which rows have a part in the solution of a squared hinge, those with y_i m_i < 1, but with a
large C it takes hundreds of epochs to find their duals. If these rows S are few, their duals b solve a small linear system,

    (K_SS + diag(1 / 2c_i)) b_S = y_S,   K the inner products of rows,   b = 0 elsewhere,

and the rows that should be in S change little from one solution to the next (Keerthi and DeCoste 2005, Chapelle 2007). For the
squared loss all rows are in S. What comes out is tried by the certificate of the whole problem like everything else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

MAX_ROWS = 1700  # their inner products and a factor of them take 46 MB
NEAR = 0.1  # rows this close to having a part are looked at too
MAX_STEPS, MAX_HALVINGS = 30, 8


def rows_that_matter(
    margin: NDArray[Any], y: NDArray[Any], cost: NDArray[Any], dual: NDArray[Any], hinge: bool
) -> NDArray[np.intp] | None:
    """The numbers of the rows that have a part, or nearly so; None if they are too many."""
    near = (y * margin < 1 + NEAR) | (dual != 0) if hinge else np.ones(len(y), dtype=bool)
    found = np.flatnonzero(near & (cost > 0))
    return found if 0 < len(found) <= MAX_ROWS else None


def solved(
    K: NDArray[np.float64], y: NDArray[Any], cost: NDArray[Any], dual: NDArray[Any], hinge: bool
) -> NDArray[np.float64] | None:
    """The duals that solve the problem of these rows alone, or None if Newton's method does not end."""
    y, cost, now = (np.asarray(each, dtype=np.float64) for each in (y, cost, dual))
    margin = K @ now
    value = _objective(now, margin, y, cost, hinge)
    active = y * margin < 1 if hinge else np.ones(len(y), dtype=bool)
    for _ in range(MAX_STEPS):
        target = _duals_of(active, K, y, cost)
        if target is None:
            return None
        target_margin = K @ target
        wanted = y * target_margin < 1 if hinge else active
        if (wanted == active).all():
            return y * np.maximum(y * target, 0.0) if hinge else target
        step = 1.0
        for _ in range(MAX_HALVINGS):
            trial, trial_margin = now + step * (target - now), margin + step * (target_margin - margin)
            trial_value = _objective(trial, trial_margin, y, cost, hinge)
            if trial_value < value:
                break
            step /= 2
        else:
            return None
        now, margin, value = trial, trial_margin, trial_value
        active = y * margin < 1
    return None


def _duals_of(
    active: NDArray[np.bool_], K: NDArray[np.float64], y: NDArray[Any], cost: NDArray[Any]
) -> NDArray[np.float64] | None:
    """The duals if just the active rows have a part."""
    some = np.flatnonzero(active)
    duals = np.zeros(len(y))
    if len(some):
        system = K[np.ix_(some, some)]
        system[np.diag_indices(len(some))] += 0.5 / cost[some]
        try:
            factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        duals[some] = cho_solve(factor, y[some], check_finite=False)
    return duals


def _objective(
    dual: NDArray[Any], margin: NDArray[Any], y: NDArray[Any], cost: NDArray[Any], hinge: bool
) -> float:
    error = np.maximum(0.0, 1.0 - y * margin) if hinge else y - margin
    return float(dual @ margin / 2 + (cost * error**2).sum())
