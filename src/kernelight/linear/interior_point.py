"""A primal-dual interior-point method for the box-constrained duals of hinge-like losses.

    min_a 1/2 |Z' a|^2 - p . a,   0 <= a <= c,

with Z the rows times y and p = 1 for the hinge; for the epsilon-insensitive loss each row occurs
twice, as x with p = y - epsilon and as -x with p = -y - epsilon. Steps are Mehrotra's, a predictor
and a corrector; some 20 are enough (Ferris and Munson 2002 for the same structure).

The weights w are variables of their own, from 0 on, and w = Z' a holds at the end. In exact
arithmetic nothing else is needed; but where rows and costs are large, that sum is a small
difference of large terms, and its rounding alone would cost 1e-5 of the objective.
"""

from __future__ import annotations

import numpy as np

from kernelight.linear.normal_equations import Array, normal_solver

MAX_STEPS = 60
TO_BOUND = 0.995  # fraction of the way to the nearest bound that a step may go
AT_BOUND = 1e-10  # fraction of c: duals this near to a bound are put there


def solve_hinge(X: Array, y: Array, cost: Array, tol: float) -> tuple[Array, Array]:
    """Duals and weights of the hinge loss with labels ``y`` = -1 and 1."""
    a, w = _solve_box(X, y[None, :], np.ones((1, len(y))), cost, tol)
    return y * a[0], w


def solve_epsilon_insensitive(
    X: Array, y: Array, cost: Array, epsilon: float, tol: float
) -> tuple[Array, Array]:
    """Duals and weights of the epsilon-insensitive loss."""
    signs = np.vstack([np.ones(len(y)), -np.ones(len(y))])
    a, w = _solve_box(X, signs, signs * y - epsilon, cost, tol)
    return a[0] - a[1], w


def _solve_box(X: Array, signs: Array, p: Array, cost: Array, tol: float) -> tuple[Array, Array]:
    """a and w of the problem above; row i of X with sign k is row (k, i) of Z."""
    a = np.repeat(cost[None, :] / 2, len(signs), axis=0)
    room = cost - a  # to the upper bound
    w, slack = np.zeros(X.shape[1]), -p  # the weights of a = c / 2 would be enormous
    # multipliers of both bounds
    low, high = np.maximum(slack, 0.0) + 1.0, np.maximum(-slack, 0.0) + 1.0
    best, best_w, best_gap = a, w, np.inf
    for _ in range(MAX_STEPS):
        rounded = np.where(a <= AT_BOUND * cost, 0.0, np.where(room <= AT_BOUND * cost, cost, a))
        gap = _relative_gap(X, signs, p, cost, rounded, w)
        if gap < best_gap:
            best, best_w, best_gap = rounded, w, gap
        if gap <= 0.1 * tol:
            break
        curvature = low / a + high / room
        if not (curvature > 0).all() or not np.isfinite(curvature).all():
            break  # some dual is so near to its bound that the difference underflows
        solve = normal_solver(X, (1.0 / curvature).sum(axis=0))
        residual = X.T @ (signs * a).sum(axis=0) - w
        mean = ((a * low).sum() + (room * high).sum()) / (2 * a.size)
        da = dlow = dhigh = np.zeros_like(a)
        center = 0.0
        # The predictor aims at the boundary. How far it gets says how far inside the corrector
        # aims, and its second-order terms are added there.
        for final in (False, True):
            low_term = (center - da * dlow) / a - low
            high_term = (center + da * dhigh) / room - high
            right = (low - high - slack) + low_term - high_term
            dw = solve(X.T @ (signs * right / curvature).sum(axis=0) + residual)
            da = (right - signs * (X @ dw)) / curvature
            dlow, dhigh = low_term - low / a * da, high_term + high / room * da
            if not np.isfinite(da).all():
                return _consistent(X, signs, best, best_w, best_gap <= tol)
            length = min(
                _step_to_bound(a, da),
                _step_to_bound(room, -da),
                _step_to_bound(low, dlow),
                _step_to_bound(high, dhigh),
                1.0,
            )
            if not final:
                after = ((a + length * da) * (low + length * dlow)).sum()
                after += ((room - length * da) * (high + length * dhigh)).sum()
                center = mean * min(1.0, max(after / (2 * a.size * mean), 0.0)) ** 3
        a, room = a + length * da, room - length * da
        low, high, w = low + length * dlow, high + length * dhigh, w + length * dw
        slack = signs * (X @ w) - p
    return _consistent(X, signs, best, best_w, best_gap <= tol)


def _consistent(X: Array, signs: Array, a: Array, w: Array, converged: bool) -> tuple[Array, Array]:
    """a with w; or with Z' a where w has not converged and may be far from it.

    The certificate of the solver takes for granted that weights are those of the duals.
    """
    return a, w if converged else X.T @ (signs * a).sum(axis=0)


def _relative_gap(X: Array, signs: Array, p: Array, cost: Array, a: Array, w: Array) -> float:
    """The duality gap over the objective, with the larger of |w| and |Z' a| as norm of the dual."""
    summed = X.T @ (signs * a).sum(axis=0)
    value = w @ w / 2 + (cost * np.maximum(p - signs * (X @ w), 0.0)).sum()
    return float((value + max(w @ w, summed @ summed) / 2 - (p * a).sum()) / value)


def _step_to_bound(values: Array, change: Array) -> float:
    """How many times ``change`` brings ``values`` nearly to their bound 0."""
    falling = change < 0
    return TO_BOUND * float(np.min(-values[falling] / change[falling], initial=np.inf))
