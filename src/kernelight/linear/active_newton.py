"""The end of slow problems: Newton's method on the rows that matter.

Coordinate descent finds soon which rows have a part in the solution of a squared hinge, those with
y_i m_i < 1, but with a large C it takes hundreds of epochs to find their duals. If these rows S are
few, their duals b solve a small linear system,

    (K_SS + diag(1 / 2c_i)) b_S = y_S,   K the inner products of rows,   b = 0 elsewhere,

and the rows that should be in S change little from one solution to the next (Keerthi and DeCoste
2005, Chapelle 2007). For the squared loss all rows are in S. What comes out is tried by the
certificate of the whole problem like everything else.
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

MAX_ROWS = 1700
ROW_BYTES = 16  # of each pair of rows: their inner product and its place in a factor
ROOM = ROW_BYTES * MAX_ROWS**2  # bytes that all threads together may have: 46 MB
NEAR = 0.15  # rows this close to having a part are looked at too
FEW = 0.02  # of the rows come or go: time to check the gap
MAX_STEPS, MAX_HALVINGS = 30, 8

_free = ROOM
_changed = threading.Condition()


@contextmanager
def room(n_rows: int) -> Iterator[None]:
    """Wait until there is memory for so many rows."""
    global _free
    wanted = ROW_BYTES * n_rows**2
    with _changed:
        _changed.wait_for(lambda: _free >= wanted)
        _free -= wanted
    try:
        yield
    finally:
        with _changed:
            _free += wanted
            _changed.notify_all()


def one_thread() -> Any:
    """A context in which BLAS has one thread: with more, sums are in another order, and matrices as
    small as these are not sooner done. To be entered by whoever starts the threads that compute:
    the limit belongs to the thread that sets it."""
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> ThreadpoolController:
    """The libraries that NumPy and SciPy compute with, looked for once: that takes longer than a
    small fit."""
    return ThreadpoolController()


def rows_that_matter(
    margin: NDArray[Any], y: NDArray[Any], cost: NDArray[Any], dual: NDArray[Any], hinge: bool
) -> NDArray[np.intp] | None:
    """The numbers of the rows that have a part, or nearly so; None if they are too many."""
    for near in (NEAR, NEAR / 3, NEAR / 9, 0.0):
        part = (y * margin < 1 + near) | (dual != 0) if hinge else np.ones(len(y), dtype=bool)
        found = np.flatnonzero(part & (cost > 0))
        if len(found) <= MAX_ROWS:
            return found if len(found) else None
    return None


def solved(
    K: NDArray[np.float64],
    y: NDArray[Any],
    cost: NDArray[Any],
    dual: NDArray[Any],
    hinge: bool,
    tol: float,
) -> NDArray[np.float64] | None:
    """Duals with a gap of at most ``tol`` of the objective of these rows alone, or None if Newton's
    method does not end.

    The rows that have a part in ``dual`` are the first guess: those of a smaller C are nearly those
    of a larger one.
    """
    y, cost, now = (np.asarray(each, dtype=np.float64) for each in (y, cost, dual))
    margin, value = K @ now, np.inf  # the first step is taken whatever it gives
    active = now != 0 if hinge else np.ones(len(y), dtype=bool)
    for _ in range(MAX_STEPS):
        target = _duals_of(active, K, y, cost)
        if target is None:
            return None
        target_margin = K @ target
        wanted = y * target_margin < 1 if hinge else active
        changes = int((wanted != active).sum())
        feasible = y * np.maximum(y * target, 0.0) if hinge else target
        if not changes or (
            changes <= FEW * len(y) and _gap(feasible, K @ feasible, y, cost, hinge) <= tol
        ):
            return feasible
        step = 1.0
        for _ in range(MAX_HALVINGS):
            trial, trial_margin = (
                now + step * (target - now),
                margin + step * (target_margin - margin),
            )
            trial_value = _objective(trial, trial_margin, y, cost, hinge)
            if trial_value < value:
                break
            step /= 2
        else:
            return None
        now, margin, value = trial, trial_margin, trial_value
        active = y * margin < 1
    return None


def _gap(
    dual: NDArray[Any], margin: NDArray[Any], y: NDArray[Any], cost: NDArray[Any], hinge: bool
) -> float:
    """The duality gap over the objective."""
    value = _objective(dual, margin, y, cost, hinge)
    return float(1 - (y @ dual - dual @ margin / 2 - (dual**2 / cost).sum() / 4) / value)


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
            factor = cho_factor(system.T, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        duals[some] = cho_solve(factor, y[some], check_finite=False)
    return duals


def _objective(
    dual: NDArray[Any], margin: NDArray[Any], y: NDArray[Any], cost: NDArray[Any], hinge: bool
) -> float:
    error = np.maximum(0.0, 1.0 - y * margin) if hinge else y - margin
    return float(dual @ margin / 2 + (cost * error**2).sum())
