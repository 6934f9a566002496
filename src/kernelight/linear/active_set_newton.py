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

import math
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
PAIR_BYTES = 20  # of two rows: their inner product, and its place in a system and its factor
MAX_BYTES = PAIR_BYTES * MAX_ROWS**2  # of all threads together: 46 MB
NEAR_MARGIN = 0.15  # rows this close to the active set are in the working set
FEW_CHANGES = 0.1  # fraction of rows that enter or leave: few enough to check the gap
MAX_STEPS, MAX_HALVINGS = 30, 8
MAX_REFINEMENTS, SMALL_RESIDUAL = 4, 1e-6  # a fraction of the right side; less for a smaller tol

_limiting = threading.Lock()
_n_limited = 0  # threads inside of `one_blas_thread`
_limit: Any = None
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


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS uses one thread.

    More threads would add in another order, and gain nothing for matrices as small as these. Enter
    it in the thread that starts the workers: some libraries keep the limit for each thread. For
    others it is that of the process, so that the last of several threads inside takes it back.
    """
    global _n_limited, _limit
    with _limiting:
        if _n_limited == 0:
            _limit = _blas().limit(limits=1, user_api="blas")
            _limit.__enter__()
        own = None if _n_limited == 0 else _blas().limit(limits=1, user_api="blas")
        _n_limited += 1
    del own  # sets the limit of this thread, and never takes it back for others
    try:
        yield
    finally:
        with _limiting:
            _n_limited -= 1
            if _n_limited == 0:
                _limit.__exit__(None, None, None)


@cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries of NumPy and SciPy, found once: looking takes longer than a small fit."""
    return ThreadpoolController()


def working_set(
    margin: NDArray[Any], y: NDArray[Any], cost: NDArray[Any], active: NDArray[np.bool_]
) -> NDArray[np.intp] | None:
    """Row indices of ``active`` rows and of rows near to them; None if there are none or too many.

    ``margin`` may be those that are expected for other costs.
    """
    for near in (NEAR_MARGIN, NEAR_MARGIN / 3, NEAR_MARGIN / 9, 0.0):
        rows = np.flatnonzero((active | (y * margin < 1 + near)) & (cost > 0))
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
    active: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64] | None:
    """The duals of the rows with inner products ``K``; None if Newton's method does not converge.

    Their duality gap is at most ``tol`` times the objective of these rows. ``active`` is the first
    guess of the active set; by default the rows whose ``dual`` is not 0.
    """
    y, cost, now = (np.asarray(each, dtype=np.float64) for each in (y, cost, dual))
    margin, value = K @ now, np.inf  # so that the first step is always taken
    if active is None or not hinge:
        active = now != 0 if hinge else np.ones(len(y), dtype=bool)
    for _ in range(MAX_STEPS):
        with np.errstate(over="ignore", invalid="ignore"):  # numbers beyond single precision
            solution = _solution_of(active, K, y, cost, min(SMALL_RESIDUAL, tol))
        if solution is None or not all(np.isfinite(part).all() for part in solution):
            return None
        target, target_margin = solution
        next_active = y * target_margin < 1 if hinge else active
        n_changes = int((next_active != active).sum())
        if n_changes <= FEW_CHANGES * len(y):
            feasible = y * np.maximum(y * target, 0.0) if hinge else target
            cut = np.flatnonzero(feasible != target)
            margin_there = target_margin + K[:, cut] @ (feasible - target)[cut]
            if not n_changes or _relative_gap(feasible, margin_there, y, cost, hinge) <= tol:
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


def _solution_of(
    active: NDArray[np.bool_],
    K: NDArray[np.float64],
    y: NDArray[np.float64],
    cost: NDArray[np.float64],
    residual: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Duals and margins of an active set; None if its system is numerically singular.

    What is left of the right side is at most the fraction ``residual`` of it, or what double
    precision leaves. A factor in single precision takes half the time, and each refinement divides
    the error of the solution by 1e7 over the condition of the system. Where that is not soon small,
    it is factored in double precision.
    """
    rows, half = np.flatnonzero(active), 0.5 / cost
    if not len(rows):
        return np.zeros(len(y)), np.zeros(len(y))
    limit = residual * math.sqrt(float(y[rows] @ y[rows]))
    for dtype in (np.float32, np.float64):
        # two times take is several times faster than one index
        system = K.take(rows, axis=0).take(rows, axis=1).astype(dtype, copy=False)
        system[np.diag_indices(len(rows))] += half[rows].astype(dtype)
        try:
            factor = cho_factor(system.T, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        duals, rest = np.zeros(len(y)), y[rows]
        for _ in range(MAX_REFINEMENTS):
            duals[rows] += cho_solve(factor, rest.astype(dtype), check_finite=False)
            margin = K @ duals
            rest = (y - margin - half * duals)[rows]
            if np.linalg.norm(rest) <= limit or dtype is np.float64:
                return duals, margin
    return None


def _objective(
    dual: NDArray[Any], margin: NDArray[Any], y: NDArray[Any], cost: NDArray[Any], hinge: bool
) -> float:
    error = np.maximum(0.0, 1.0 - y * margin) if hinge else y - margin
    return float(dual @ margin / 2 + (cost * error**2).sum())
