"""Losses of a margin m = y f(x) with their derivatives, and the fit of scale and bias."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Reals = NDArray[np.float64]


class Loss(NamedTuple):
    """A convex loss of a margin: its value, and its first and second derivative."""

    name: str
    value: Callable[[Reals], Any]
    slope: Callable[[Reals], Any]
    curvature: Callable[[Reals], Any]


def _shortfall(m: Reals) -> Any:
    return np.maximum(1.0 - m, 0.0)


def _bell(m: Reals) -> Any:
    return expit(m) * expit(-m)


LOSSES = {
    "squared_hinge": Loss(
        "squared_hinge",
        lambda m: _shortfall(m) ** 2,
        lambda m: -2.0 * _shortfall(m),
        lambda m: 2.0 * (m < 1.0),
    ),
    "logistic": Loss("logistic", lambda m: np.logaddexp(0.0, -m), lambda m: -expit(-m), _bell),
    "squared": Loss(
        "squared",
        lambda m: (1.0 - m) ** 2,
        lambda m: -2.0 * (1.0 - m),
        lambda m: np.full_like(m, 2.0),
    ),
}


#: The labels of weights (2, scores): of other classes, and of the class.
SIDES = np.array([[-1.0], [1.0]])


class ScaleAndBias(NamedTuple):
    """alpha and b of the score alpha s + b, with s = w . z, and the objective there."""

    scale: float
    bias: float
    objective: float


class MarginTerms(NamedTuple):
    """The terms of a mean loss as a function of scale and bias.

    They are weights * l(sides (alpha scores + b)), with alpha in units of 1 / ``unit``: a power of
    2 that brings scores near 1.
    """

    scores: Reals
    weights: Reals
    sides: Reals = SIDES
    unit: float = 1.0


def fitted_scale(
    loss: Loss,
    scores: Reals,
    weights: Reals,
    ridge: float,
    start: tuple[float, float],
    sides: Reals = SIDES,
) -> ScaleAndBias:
    """The scale alpha and the bias b of a ternary model with these scores s_i.

    They minimise the sum over y = -1, 1 and i of weights[y, i] l(y (alpha s_i + b)), plus ridge
    alpha^2; with other ``sides`` y, of the shape of the weights, it is the sum over these. Newton's
    method with step halving; the result is never worse than the start.
    """

    def objective(alpha: float, b: float) -> float:
        return float(
            (weights * loss.value(sides * (alpha * scores + b))).sum() + ridge * alpha * alpha
        )

    alpha, b = start
    now = objective(alpha, b)
    for _ in range(50):
        margins = sides * (alpha * scores + b)
        slopes = weights * sides * loss.slope(margins)
        curvatures = weights * loss.curvature(margins)
        gradient = np.array([(slopes * scores).sum() + 2.0 * ridge * alpha, slopes.sum()])
        cross = (curvatures * scores).sum()
        hessian = np.array(
            [[(curvatures * scores**2).sum() + 2.0 * ridge, cross], [cross, curvatures.sum()]]
        )
        # A direction without curvature (all margins above 1, or all scores 0) gets a little.
        hessian[np.diag_indices(2)] += 1e-12 * (1.0 + np.trace(hessian))
        step = -np.linalg.solve(hessian, gradient)
        length, next_value = 1.0, objective(alpha + step[0], b + step[1])
        while not next_value < now and length > 1e-6:
            length /= 2.0
            next_value = objective(alpha + length * step[0], b + length * step[1])
        if not next_value < now * (1.0 - 1e-14):
            break
        alpha, b, now = alpha + length * step[0], b + length * step[1], next_value
    return ScaleAndBias(float(alpha), float(b), now)
