"""The end of slow problems on narrow dense rows: second-order methods in the weights.

Coordinate descent on the dual is slow where columns differ by orders of magnitude or C is large.
With few columns d the normal equations X' T X + I are small, and a step of a second-order method
costs n d^2, whatever the condition of the rows.

- Logistic loss: Newton's method in w; its duals are b_i = c_i y_i s(-y_i m_i), s the logistic
  function.
- Hinge and epsilon-insensitive loss: their duals are box-constrained quadratic problems,

      min_a 1/2 |Z' a|^2 - p . a,   0 <= a <= c,

  with Z the rows times y and p = 1 for the hinge; for the epsilon-insensitive loss each row occurs
  twice, as x with p = y - epsilon and as -x with p = -y - epsilon. A primal-dual interior-point
  method with Mehrotra's predictor takes some 20 steps (Ferris and Munson 2002 for the same
  structure).

Both give the weights themselves beside the duals. In exact arithmetic w is the sum of duals times
rows; but where rows and costs are large, that sum is a small difference of large terms, and its
rounding alone would cost 1e-5 of the objective.

What comes out is tried by the certificate of the whole problem like everything else.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import expit, xlogy

MAX_COLUMNS = 512
MAX_BYTES = 16 << 20  # of a copy of the rows in double precision; a step makes some more
MAX_STEPS, MAX_HALVINGS = 60, 40
TO_BOUND = 0.995  # of the way to the nearest bound
# of the objective: a gain that cannot be seen, and how many steps follow it
ROUNDING, LAST_STEPS = 1e-13, 4
AT_BOUND = 1e-10  # of c: duals this near to a bound are put there

Array = NDArray[np.float64]


def fits(n_rows: int, n_columns: int) -> bool:
    """Whether rows are narrow and few enough."""
    return n_columns < MAX_COLUMNS and 8 * n_rows * (n_columns + 1) <= MAX_BYTES


def solved(
    loss: str, X: Array, y: Array, cost: Array, w: Array, epsilon: float, tol: float
) -> tuple[Array, Array] | None:
    """Duals and weights for rows whose costs are above 0, of a relative gap of at most about
    ``tol``; None where no step helps."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if loss == "logistic":
                return _logistic(X, y, cost, w, tol)
            if loss == "hinge":
                single, w = _boxed(X, y[None, :], np.ones((1, len(y))), cost, tol)
                return y * single[0], w
            signs = np.vstack([np.ones(len(y)), -np.ones(len(y))])
            both, w = _boxed(X, signs, signs * y - epsilon, cost, tol)
            return both[0] - both[1], w
    except (np.linalg.LinAlgError, FloatingPointError):
        return None


def _normal_solve(X: Array, weights: Array) -> Callable[[Array], Array]:
    """Solves systems of I + X' diag(weights) X, by the QR decomposition of its root: weights differ
    by many powers of ten near the end, and of the matrix itself nothing would be left of I."""
    root = np.vstack([X * np.sqrt(weights)[:, None], np.eye(X.shape[1])])
    if not np.isfinite(root).all():
        raise FloatingPointError
    R = np.linalg.qr(root, mode="r")

    def solve(right: Array) -> Array:
        half = solve_triangular(R, right, trans="T", check_finite=False)
        return np.asarray(solve_triangular(R, half, check_finite=False))

    return solve


def _logistic(X: Array, y: Array, cost: Array, w: Array, tol: float) -> tuple[Array, Array]:
    margin = y * (X @ w)
    value = w @ w / 2 + cost @ np.logaddexp(0.0, -margin)
    best, best_w, best_gap, last_steps = np.zeros(len(y)), np.zeros(len(w)), np.inf, 0
    for _ in range(MAX_STEPS):
        wrong = expit(-margin)
        dual = cost * wrong
        primal = X.T @ (y * dual)
        gap = _logistic_gap(X, y, cost, dual, primal)
        if gap < best_gap:
            best, best_w, best_gap = dual, primal, gap
        if gap <= 0.1 * tol or last_steps == LAST_STEPS:
            break
        gradient = w - primal
        step = -_normal_solve(X, dual * (1.0 - wrong))(gradient)
        slope = float(gradient @ step)
        step_margin, size = y * (X @ step), 1.0
        if -slope > ROUNDING * value:
            for _ in range(MAX_HALVINGS):
                trial = w + size * step
                trial_value = trial @ trial / 2 + cost @ np.logaddexp(
                    0.0, -(margin + size * step_margin)
                )
                if trial_value <= value + 1e-4 * size * slope:
                    break
                size /= 2
            value = trial_value
        else:  # too small to be seen in the objective, but not yet in X' b
            last_steps += 1
        w, margin = w + size * step, margin + size * step_margin
    return y * best, best_w


def _logistic_gap(X: Array, y: Array, cost: Array, dual: Array, w: Array) -> float:
    """The relative duality gap of the weights that belong to the duals y * dual."""
    rest = cost - dual
    half = w @ w / 2
    value = half + cost @ np.logaddexp(0.0, -y * (X @ w))
    conjugate = (xlogy(dual, dual / cost) + xlogy(rest, rest / cost)).sum()
    return float((value + half + conjugate) / value)


def _boxed(X: Array, signs: Array, p: Array, cost: Array, tol: float) -> tuple[Array, Array]:
    """a and w of the problem above; row i of X with sign k is row (k, i) of Z.

    The weights w are variables of their own, from 0 on: w = Z' a holds at the end. Weights of a = c
    / 2 would be enormous.
    """
    a = np.repeat(cost[None, :] / 2, len(signs), axis=0)
    room = cost - a
    w, slack = np.zeros(X.shape[1]), -p
    # multipliers of both bounds
    low, high = np.maximum(slack, 0.0) + 1.0, np.maximum(-slack, 0.0) + 1.0
    best, best_w, best_gap = a, w, np.inf
    for _ in range(MAX_STEPS):
        rounded = np.where(a <= AT_BOUND * cost, 0.0, np.where(room <= AT_BOUND * cost, cost, a))
        gap = _boxed_gap(X, signs, p, cost, rounded, w)
        if gap < best_gap:
            best, best_w, best_gap = rounded, w, gap
        if gap <= 0.1 * tol:
            break
        curvature = low / a + high / room
        if not (curvature > 0).all() or not np.isfinite(curvature).all():
            break  # some dual has come so near to its bound that nothing is left between
        solve = _normal_solve(X, (1.0 / curvature).sum(axis=0))
        lack = X.T @ (signs * a).sum(axis=0) - w
        mean = ((a * low).sum() + (room * high).sum()) / (2 * a.size)
        da = dlow = dhigh = np.zeros_like(a)
        aim = 0.0
        # a step to the boundary says how far to aim inside; its second order is corrected
        for final in (False, True):
            low_term, high_term = (aim - da * dlow) / a - low, (aim + da * dhigh) / room - high
            wanted = (low - high - slack) + low_term - high_term
            dw = solve(X.T @ (signs * wanted / curvature).sum(axis=0) + lack)
            da = (wanted - signs * (X @ dw)) / curvature
            dlow, dhigh = low_term - low / a * da, high_term + high / room * da
            if not np.isfinite(da).all():
                return _paired(X, signs, best, best_w, best_gap <= tol)
            length = min(
                _reach(a, da), _reach(room, -da), _reach(low, dlow), _reach(high, dhigh), 1.0
            )
            if not final:
                after = ((a + length * da) * (low + length * dlow)).sum()
                after += ((room - length * da) * (high + length * dhigh)).sum()
                aim = mean * min(1.0, max(after / (2 * a.size * mean), 0.0)) ** 3
        a, room = a + length * da, room - length * da
        low, high, w = low + length * dlow, high + length * dhigh, w + length * dw
        slack = signs * (X @ w) - p
    return _paired(X, signs, best, best_w, best_gap <= tol)


def _paired(X: Array, signs: Array, a: Array, w: Array, good: bool) -> tuple[Array, Array]:
    """a and w, or Z' a if w is not good enough: it may be far from that, and a certificate takes it
    for that."""
    return a, w if good else X.T @ (signs * a).sum(axis=0)


def _boxed_gap(X: Array, signs: Array, p: Array, cost: Array, a: Array, w: Array) -> float:
    """The relative duality gap of the weights w and the duals a, whether |w| or |Z' a| is taken for
    that of the duals."""
    summed = X.T @ (signs * a).sum(axis=0)
    value = w @ w / 2 + (cost * np.maximum(p - signs * (X @ w), 0.0)).sum()
    return float((value + max(w @ w, summed @ summed) / 2 - (p * a).sum()) / value)


def _reach(values: Array, change: Array) -> float:
    """How many steps it is nearly to the bound 0."""
    falling = change < 0
    return TO_BOUND * float(np.min(-values[falling] / change[falling], initial=np.inf))
