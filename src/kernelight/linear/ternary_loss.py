"""Losses of a margin m = y f(x), with their derivatives: what a ternary model is fitted by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Reals = NDArray[np.float64]


class Loss(NamedTuple):
    """A convex loss of a margin: its value, and its first and second derivative."""

    value: Callable[[Reals], Any]
    slope: Callable[[Reals], Any]
    curvature: Callable[[Reals], Any]


def _short(m: Reals) -> Any:
    return np.maximum(1.0 - m, 0.0)


def _bell(m: Reals) -> Any:
    return expit(m) * expit(-m)


LOSSES = {
    "squared_hinge": Loss(
        lambda m: _short(m) ** 2, lambda m: -2.0 * _short(m), lambda m: 2.0 * (m < 1.0)
    ),
    "logistic": Loss(lambda m: np.logaddexp(0.0, -m), lambda m: -expit(-m), _bell),
    "squared": Loss(
        lambda m: (1.0 - m) ** 2, lambda m: -2.0 * (1.0 - m), lambda m: np.full_like(m, 2.0)
    ),
}


class ScaleAndBias(NamedTuple):
    """The two numbers that turn the whole score s of a row into alpha s + b, and the objective
    there."""

    scale: float
    bias: float
    objective: float


def fitted_scale(
    loss: Loss, scores: Reals, weights: Reals, ridge: float, start: tuple[float, float]
) -> ScaleAndBias:
    r"""The minimum over alpha and b of sum of weights[y, i] l(y (alpha scores[i] + b)) + ridge
    alpha^2, y = -1, 1.

    Scores of a ternary model are whole numbers, so rows of equal score come as one: the cost does
    not depend on their number. Newton's method with step halving; never worse than the start.
    """
    sides = np.array([[-1.0], [1.0]])

    def objective(alpha: float, b: float) -> float:
        return float(
            (weights * loss.value(sides * (alpha * scores + b))).sum() + ridge * alpha * alpha
        )

    alpha, b = start
    now = objective(alpha, b)
    for _ in range(50):
        margins = sides * (alpha * scores + b)
        slopes, bends = weights * sides * loss.slope(margins), weights * loss.curvature(margins)
        gradient = np.array([(slopes * scores).sum() + 2.0 * ridge * alpha, slopes.sum()])
        cross = (bends * scores).sum()
        hessian = np.array([[(bends * scores**2).sum() + 2.0 * ridge, cross], [cross, bends.sum()]])
        # Where nothing bends (no row within reach, all scores 0), a direction of no curvature gets
        # a little.
        hessian[np.diag_indices(2)] += 1e-12 * (1.0 + np.trace(hessian))
        step = -np.linalg.solve(hessian, gradient)
        length, next_one = 1.0, objective(alpha + step[0], b + step[1])
        while not next_one < now and length > 1e-6:
            length /= 2.0
            next_one = objective(alpha + length * step[0], b + length * step[1])
        if not next_one < now * (1.0 - 1e-14):
            break
        alpha, b, now = alpha + length * step[0], b + length * step[1], next_one
    return ScaleAndBias(float(alpha), float(b), now)
