"""Newton's method on the active set, for squared losses on which coordinate descent is slow.

Coordinate descent soon finds the active set of a squared hinge, the rows with y_i m_i < 1, but with
a large C it takes hundreds of epochs to find their duals. If the active set S is small, its duals b
solve a small linear system,

    (K_SS + diag(1 / 2c_i)) b_S = y_S,   K the inner products of rows,   b = 0 elsewhere,

and S changes little from one solution to the next (Keerthi and DeCoste 2005, Chapelle 2007). For
the squared loss all rows are in S. The duality gap of the whole problem decides what a solution is
worth, as it does for every epoch.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import ThreadpoolController

MAX_ROWS = 1700  # of a working set
PAIR_BYTES = 16  # of two rows: their inner product, and its place in the Cholesky factor
MAX_BYTES = PAIR_BYTES * MAX_ROWS**2  # of all threads together: 46 MB
NEAR_MARGIN = 0.15  # rows this close to the active set are in the working set
FEW_CHANGES = 0.02  # fraction of rows that enter or leave: few enough to check the gap
MAX_STEPS, MAX_HALVINGS = 30, 8

_free_bytes = MAX_BYTES
_freed = threading.Condition()


@contextmanager
def reserved_memory(n_rows: int) -> Iterator[None]:
    """Wait until there is memory for a system of ``n_rows``, and hold it."""
    global _free_bytes
    needed = PAIR_BYTES * n_rows**2
    with _freed:
        _freed.wait_for(lambda: _free_bytes >= needed)
        _free_bytes -= needed
    try:
        yield
    finally:
        with _freed:
            _free_bytes += needed
            _freed.notify_all()


def one_blas_thread() -> Any:
    """A context in which BLAS uses one thread.

    More threads would add in another order, and gain nothing for matrices as small as these. Enter
    it in the thread that starts the workers: the limit belongs to the thread that sets it.
    """
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries of NumPy and SciPy, found once: looking takes longer than a small fit."""
    return ThreadpoolController()


def working_set(
    margin: NDArray[Any], y: NDArray[Any], cost: NDArray[Any], dual: NDArray[Any], hinge: bool
) -> NDArray[np.intp] | None:
    """Row indices of the active set and of rows near to it; None if there are none or too many."""
    for near in (NEAR_MARGIN, NEAR_MARGIN / 3, NEAR_MARGIN / 9, 0.0):
        chosen = (y * margin < 1 + near) | (dual != 0) if hinge else np.ones(len(y), dtype=bool)
        rows = np.flatnonzero(chosen & (cost > 0))
        if len(rows) <= MAX_ROWS:
            return rows if len(rows) else None
    return None


def solve(
    K: NDArray[np.float64],
    y: NDArray[Any],
    cost: NDArray[Any],
    dual: NDArray[Any],
    hinge: bool,
    tol: float,
) -> NDArray[np.float64] | None:
    """The duals of the rows with inner products ``K``; None if Newton's method does not converge.

    Their duality gap is at most ``tol`` times the objective of these rows. The rows whose ``dual``
    is not 0 are the first guess of the active set: that of a smaller C is nearly that of a larger.
    """
    y, cost, now = (np.asarray(each, dtype=np.float64) for each in (y, cost, dual))
    margin, value = K @ now, np.inf  # so that the first step is always taken
    active = now != 0 if hinge else np.ones(len(y), dtype=bool)
    for _ in range(MAX_STEPS):
        target = _duals_of(active, K, y, cost)
        if target is None:
            return None
        target_margin = K @ target
        next_active = y * target_margin < 1 if hinge else active
        n_changes = int((next_active != active).sum())
        feasible = y * np.maximum(y * target, 0.0) if hinge else target
        if not n_changes or (
            n_changes <= FEW_CHANGES * len(y)
            and _relative_gap(feasible, K @ feasible, y, cost, hinge) <= tol
        ):
            return feasible
        step = 1.0
        for _ in range(MAX_HALVINGS):
            trial = now + step * (target - now)
            trial_margin = margin + step * (target_margin - margin)
            trial_value = _objective(trial, trial_margin, y, cost, hinge)
            if trial_value < value:
                break
            step /= 2
        else:
            return None
        now, margin, value = trial, trial_margin, trial_value
        active = y * margin < 1
    return None


def _relative_gap(
    dual: NDArray[Any], margin: NDArray[Any], y: NDArray[Any], cost: NDArray[Any], hinge: bool
) -> float:
    """The duality gap over the objective."""
    value = _objective(dual, margin, y, cost, hinge)
    return float(1 - (y @ dual - dual @ margin / 2 - (dual**2 / cost).sum() / 4) / value)


def _duals_of(
    active: NDArray[np.bool_], K: NDArray[np.float64], y: NDArray[Any], cost: NDArray[Any]
) -> NDArray[np.float64] | None:
    """The solution of the linear system of an active set; None if it is numerically singular."""
    rows = np.flatnonzero(active)
    duals = np.zeros(len(y))
    if len(rows):
        system = K[np.ix_(rows, rows)]
        system[np.diag_indices(len(rows))] += 0.5 / cost[rows]
        try:
            factor = cho_factor(system.T, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        duals[rows] = cho_solve(factor, y[rows], check_finite=False)
    return duals


def _objective(
    dual: NDArray[Any], margin: NDArray[Any], y: NDArray[Any], cost: NDArray[Any], hinge: bool
) -> float:
    error = np.maximum(0.0, 1.0 - y * margin) if hinge else y - margin
    return float(dual @ margin / 2 + (cost * error**2).sum())
