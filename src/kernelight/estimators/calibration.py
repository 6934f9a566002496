"""From scores to probabilities and intervals, learned on rows that were held out.

Two classes:    P(second) = 1 / (1 + exp(-z)),  z = above * s for a score s > 0, below * s for s <= 0.
More classes:   P(c) is proportional to 1 / (1 + exp(-(slope * s_c + offset))), with one slope and offset for all classes.

This is Platt scaling under one condition: the most probable class is always the one of the largest
score, so that ``predict_proba`` and ``predict`` agree. Hence no offset for two classes (its place
is taken by a second slope), and none of its own for each class. Both numbers minimise the log loss
of the rows held out, with a weak normal prior on them (standard deviation 2, around slopes of 2),
which decides where hardly any rows were held out.

Intervals are split conformal (Papadopoulos et al. 2002; Lei et al. 2018): of n rows held out, the
ceil((n + 1) coverage)-th smallest absolute error is the half width. A new row exchangeable with
them then lies inside with at least that probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from kernelight.base import checks, counted

Array = NDArray[np.float64]
CALIBRATION_ROWS = 20_000  # of the rows held out, at most
MAX_ERRORS = 1_000  # numbers that a model keeps for each target
_START = math.log(2.0)
_DEVIATION = 2.0
_FARTHEST = 8.0


@dataclass(frozen=True)
class Calibration:
    """The two numbers: slopes below and above 0 for two classes, slope and offset for more."""

    first: float
    second: float

    def __call__(self, scores: Any) -> Array:
        """(n, classes) probabilities of (n,), (n, 1) or (n, classes) scores."""
        scores = np.asarray(scores, dtype=np.float64)
        if scores.ndim == 1 or scores.shape[1] == 1:
            z = scores.ravel() * np.where(scores.ravel() > 0, self.second, self.first)
            upper = _logistic(z)
            return np.column_stack([_logistic(-z), upper])
        return normalised(_log_logistic(self.first * scores + self.second))


def normalised(logs: Array) -> Array:
    """Rows of exp(logs), divided by their sums."""
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def logistic_probabilities(scores: Any) -> Array:
    """What a model with logistic loss says itself: 1 / (1 + exp(-score)), divided by the sum over
    classes."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim == 1 or scores.shape[1] == 1:
        return Calibration(1.0, 1.0)(scores)
    return normalised(_log_logistic(scores))


def _logistic(z: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * z)))


def _log_logistic(z: Array) -> Array:
    return np.asarray(-np.logaddexp(0.0, -z))


def calibrated(scores: Array, labels: NDArray[Any], weight: Array | None) -> Calibration:
    """The calibration of (n, m) scores of rows with the class numbers ``labels``; no rows leave the
    prior alone."""
    weights = np.ones(len(labels)) if weight is None or not weight.any() else weight / weight.mean()
    two = scores.shape[1] == 1
    single = scores[:, 0]
    own = np.where(labels == 1, single, -single)
    rows = np.arange(len(labels))

    def made(parameters: Array) -> Calibration:
        first, second = np.clip(parameters, -_FARTHEST, _FARTHEST).tolist()
        return Calibration(math.exp(first), math.exp(second) if two else second)

    def loss(parameters: Array) -> tuple[float, Array]:
        """The log loss and the prior, with their gradient."""
        found = made(parameters)
        if two:
            upper = single > 0
            z = own * np.where(upper, found.second, found.first)
            logs = _log_logistic(z)
            steps = weights * _logistic(-z) * z  # by the logarithm of the slope
            gradient = np.array([steps[~upper].sum(), steps[upper].sum()])
        else:
            z = found.first * scores + found.second
            every = _log_logistic(z)
            shares, slopes = normalised(every), _logistic(-z)
            logs = np.log(np.maximum(shares[rows, labels], np.finfo(np.float64).tiny))
            steps = -shares * slopes
            steps[rows, labels] += slopes[rows, labels]
            steps *= weights[:, None]
            gradient = np.array([(steps * scores).sum() * found.first, steps.sum()])
        away = (parameters - start) / _DEVIATION
        return float(np.square(away).sum() / 2 - weights @ logs), away / _DEVIATION - gradient

    start = np.array([_START, _START if two else 0.0])
    if not len(labels):
        return made(start)
    return made(minimize(loss, start, jac=True, method="BFGS").x)


def calibration_from(plain: Any, n_classes: int) -> Calibration:
    """A calibration from a state, which may hold anything."""
    if not isinstance(plain, list) or len(plain) != 2:
        raise ValueError("calibration must be two numbers.")
    first = checks.check_positive("calibration", plain[0])
    if n_classes == 2:
        return Calibration(first, checks.check_positive("calibration", plain[1]))
    return Calibration(first, checks.check_number("calibration", plain[1], -math.inf))


@dataclass(frozen=True)
class Errors:
    """Absolute errors of rows held out: some order statistics, ascending, for each target, and of
    how many rows they are."""

    sizes: Array  # (at most MAX_ERRORS, targets)
    n_rows: int

    @classmethod
    def of(cls, errors: Array, weight: Array | None) -> Errors:
        """From (n, targets) errors. Weights count as repetitions, brought to a mean of 1."""
        sizes = np.sort(np.abs(errors), axis=0)
        n_rows = len(errors)
        if weight is not None and weight.any():
            order = np.argsort(np.abs(errors), axis=0)
            places = (np.arange(n_rows) + 1.0) / n_rows
            for column in range(sizes.shape[1]):
                shares = np.cumsum(weight[order[:, column]]) / weight.sum()
                at = np.searchsorted(shares, places - 1e-12)
                sizes[:, column] = sizes[np.minimum(at, n_rows - 1), column]
        return cls(np.ascontiguousarray(sizes[ranks(n_rows)]), n_rows)

    def half_width(self, coverage: float) -> Array:
        """For each target, what lies on either side of a prediction."""
        if not 0.0 < checks.check_number("coverage", coverage, 0.0) < 1.0:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
        rank = math.ceil((self.n_rows + 1) * coverage - 1e-9)
        if rank > self.n_rows:
            least = math.ceil(coverage / (1 - coverage) - 1e-9)
            raise ValueError(
                f"coverage={coverage:g} needs at least {counted(least, 'row')} held "
                f"out, and there were {self.n_rows:,}: fit to more "
                f"rows, or ask for {self.n_rows / (self.n_rows + 1):.3f} or less."
            )
        # the next one that was kept: never too narrow
        kept = np.searchsorted(ranks(self.n_rows), rank - 1)
        return np.asarray(self.sizes[kept])


def ranks(n_rows: int) -> NDArray[np.intp]:
    """Which order statistics of ``n_rows`` errors are kept, counted from 0."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, MAX_ERRORS)).round().astype(np.intp))


def errors_from(sizes: Any, n_rows: Any, n_targets: int) -> Errors:
    """Errors from a state, which may hold anything."""
    checks.check_learned("errors", sizes, ("float64",), 2)
    rows = checks.check_int("rows held out", n_rows, 1, 1 << 53)
    if (
        sizes.shape != (len(ranks(rows)), n_targets)
        or (sizes < 0).any()
        or (np.diff(sizes, axis=0) < 0).any()
    ):
        raise ValueError("errors of rows held out must be positive and ascend, for each target.")
    return Errors(sizes, rows)
