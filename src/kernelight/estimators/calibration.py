"""From scores to probabilities and conformal intervals, learned on held-out rows.

Two classes:    P(second) = 1 / (1 + exp(-z)) with z = above * s for a score s > 0, else below * s.
More classes:   P(c) is proportional to 1 / (1 + exp(-(slope * s_c + offset))), with one slope and
                one offset for all classes.

This is Platt scaling under one condition: the most probable class is always the one of the largest
score, so that ``predict_proba`` and ``predict`` agree. Hence no offset for two classes (its place
is taken by a second slope), and none of its own for each class. Both numbers minimise the log loss
of the held-out rows, with a weak normal prior on them (standard deviation 2, around slopes of 2),
which decides where hardly any rows were held out.

Intervals are split conformal (Papadopoulos et al. 2002; Lei et al. 2018): of n held-out rows, the
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
CALIBRATION_ROWS = 20_000  # held-out rows that are used, at most
MAX_ERRORS = 1_000  # numbers that a model keeps for each target
_START, _DEVIATION = math.log(2.0), 2.0  # mean and standard deviation of the prior
_FARTHEST = 8.0  # parameters are clipped to this size


@dataclass(frozen=True)
class Calibration:
    """The two numbers: for two classes the slopes below and above 0, else slope and offset."""

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
    values = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(values / values.sum(axis=1, keepdims=True))


def logistic_probabilities(scores: Any) -> Array:
    """Those of a model with logistic loss: 1 / (1 + exp(-score)), divided by their sum."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim == 1 or scores.shape[1] == 1:
        return Calibration(1.0, 1.0)(scores)
    return normalised(_log_logistic(scores))


def _logistic(z: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * z)))


def _log_logistic(z: Array) -> Array:
    return np.asarray(-np.logaddexp(0.0, -z))


def calibrated(scores: Array, labels: NDArray[Any], weight: Array | None) -> Calibration:
    """The calibration learned from (n, m) scores of rows with the class numbers ``labels``.

    Without rows it is that of the prior.
    """
    weights = np.ones(len(labels)) if weight is None or not weight.any() else weight / weight.mean()
    two = scores.shape[1] == 1
    single = scores[:, 0]
    own = np.where(labels == 1, single, -single)
    rows = np.arange(len(labels))

    def of_parameters(parameters: Array) -> Calibration:
        first, second = np.clip(parameters, -_FARTHEST, _FARTHEST).tolist()
        return Calibration(math.exp(first), math.exp(second) if two else second)

    def loss(parameters: Array) -> tuple[float, Array]:
        """The log loss and the prior, with their gradient."""
        calibration = of_parameters(parameters)
        if two:
            upper = single > 0
            z = own * np.where(upper, calibration.second, calibration.first)
            logs = _log_logistic(z)
            slopes = weights * _logistic(-z) * z  # derivatives by the logarithm of the slope
            gradient = np.array([slopes[~upper].sum(), slopes[upper].sum()])
        else:
            z = calibration.first * scores + calibration.second
            every = _log_logistic(z)
            probabilities, slopes = normalised(every), _logistic(-z)
            logs = np.log(np.maximum(probabilities[rows, labels], np.finfo(np.float64).tiny))
            by_z = -probabilities * slopes  # derivatives by z
            by_z[rows, labels] += slopes[rows, labels]
            by_z *= weights[:, None]
            gradient = np.array([(by_z * scores).sum() * calibration.first, by_z.sum()])
        away = (parameters - start) / _DEVIATION
        return float(np.square(away).sum() / 2 - weights @ logs), away / _DEVIATION - gradient

    start = np.array([_START, _START if two else 0.0])
    if not len(labels):
        return of_parameters(start)
    return of_parameters(minimize(loss, start, jac=True, method="BFGS").x)


def calibration_from(plain: Any, n_classes: int) -> Calibration:
    """A calibration from a state, which may hold anything."""
    if not isinstance(plain, list) or len(plain) != 2:
        raise ValueError("calibration must be two numbers.")
    first = checks.check_positive("calibration", plain[0])
    if n_classes == 2:
        return Calibration(first, checks.check_positive("calibration", plain[1]))
    return Calibration(first, checks.check_number("calibration", plain[1], -math.inf))


@dataclass(frozen=True)
class ConformalErrors:
    """Absolute errors of held-out rows: some order statistics, and the number of rows."""

    sizes: Array  # (at most MAX_ERRORS, targets), ascending for each target
    n_rows: int

    @classmethod
    def of(cls, errors: Array, weight: Array | None) -> ConformalErrors:
        """From (n, targets) errors. Weights count as repetitions, brought to a mean of 1."""
        sizes = np.sort(np.abs(errors), axis=0)
        n_rows = len(errors)
        if weight is not None and weight.any():
            order = np.argsort(np.abs(errors), axis=0)
            places = (np.arange(n_rows) + 1.0) / n_rows
            for column in range(sizes.shape[1]):
                fractions = np.cumsum(weight[order[:, column]]) / weight.sum()
                at = np.searchsorted(fractions, places - 1e-12)
                sizes[:, column] = sizes[np.minimum(at, n_rows - 1), column]
        return cls(np.ascontiguousarray(sizes[ranks(n_rows)]), n_rows)

    def half_width(self, coverage: float) -> Array:
        """Half the width of an interval of this coverage, for each target."""
        if not 0.0 < checks.check_number("coverage", coverage, 0.0) < 1.0:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
        rank = math.ceil((self.n_rows + 1) * coverage - 1e-9)
        if rank > self.n_rows:
            least = math.ceil(coverage / (1 - coverage) - 1e-9)
            raise ValueError(
                f"coverage={coverage:g} needs at least {counted(least, 'row')} held out, and "
                f"there were {self.n_rows:,}: fit to more rows, or ask for "
                f"{self.n_rows / (self.n_rows + 1):.3f} or less."
            )
        # of the order statistics that were kept the next larger one: never too narrow
        kept = np.searchsorted(ranks(self.n_rows), rank - 1)
        return np.asarray(self.sizes[kept])


def ranks(n_rows: int) -> NDArray[np.intp]:
    """Which order statistics of ``n_rows`` errors are kept, counted from 0."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, MAX_ERRORS)).round().astype(np.intp))


def errors_from(sizes: Any, n_rows: Any, n_targets: int) -> ConformalErrors:
    """Errors from a state, which may hold anything."""
    checks.check_learned("errors", sizes, ("float64",), 2)
    rows = checks.check_int("rows held out", n_rows, 1, 1 << 53)
    if (
        sizes.shape != (len(ranks(rows)), n_targets)
        or (sizes < 0).any()
        or (np.diff(sizes, axis=0) < 0).any()
    ):
        raise ValueError("errors of rows held out must be positive and ascend, for each target.")
    return ConformalErrors(sizes, rows)
