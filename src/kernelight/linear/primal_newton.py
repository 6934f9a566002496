"""Newton's method in the weights of a logistic regression on narrow dense rows.

It minimises P(w) = 1/2 |w|^2 + sum_i c_i log(1 + exp(-y_i w . x_i)). The duals that belong to w are
b_i = c_i y_i s(-y_i w . x_i), with s the logistic function, and the duality gap is that of
w = sum_i b_i x_i.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, xlogy

from kernelight.linear.normal_equations import Array, normal_solver

MAX_STEPS, MAX_HALVINGS = 60, 40
# A step that would gain less than this fraction of the objective is lost in its rounding; a few
# such steps still improve the duals.
ROUNDING, LAST_STEPS = 1e-13, 4


def solve(X: Array, y: Array, cost: Array, w: Array, tol: float) -> tuple[Array, Array]:
    """Duals and weights, starting from ``w``: those of the smallest relative gap of all steps."""
    margin = y * (X @ w)
    value = w @ w / 2 + cost @ np.logaddexp(0.0, -margin)
    best, best_w, best_gap, last_steps = np.zeros(len(y)), np.zeros(len(w)), np.inf, 0
    for _ in range(MAX_STEPS):
        wrong = expit(-margin)
        dual = cost * wrong
        primal = X.T @ (y * dual)
        gap = _relative_gap(X, y, cost, dual, primal)
        if gap < best_gap:
            best, best_w, best_gap = dual, primal, gap
        if gap <= 0.1 * tol or last_steps == LAST_STEPS:
            break
        gradient = w - primal
        step = -normal_solver(X, dual * (1.0 - wrong))(gradient)
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
        else:  # the gain is invisible in the objective, but not yet in X' b
            last_steps += 1
        w, margin = w + size * step, margin + size * step_margin
    return y * best, best_w


def _relative_gap(X: Array, y: Array, cost: Array, dual: Array, w: Array) -> float:
    """The duality gap of the duals y * dual and their weights, over the objective."""
    unused = cost - dual
    half = w @ w / 2
    value = half + cost @ np.logaddexp(0.0, -y * (X @ w))
    conjugate = (xlogy(dual, dual / cost) + xlogy(unused, unused / cost)).sum()
    return float((value + half + conjugate) / value)
