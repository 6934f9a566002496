"""Measurements of a model: test scores with intervals, speed, and the error of its features."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import clone

from kernelight.metrics import ProbabilityScores
from kernelight.study.cells import KernelError, ScoresOfTest
from kernelight.study.models import Data, Model

LEVEL = 0.95
RESAMPLES = 400
PAIR_ROWS = 64  # rows whose pairs are compared with the kernel
PREDICT_SECONDS = 0.02  # predictions are timed for at least this long
MOST_TIMED_ROWS = 5_000


def wilson(successes: float, n: int, level: float = LEVEL) -> tuple[float, float]:
    """The Wilson score interval of a proportion f: all p with (f - p)^2 <= z^2 p (1 - p) / n.

    >>> [round(end, 3) for end in wilson(90, 100)]
    [0.826, 0.945]
    """
    z = float(norm.ppf(0.5 + level / 2))
    f = successes / n
    middle = (f + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(f * (1 - f) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def r2_interval(
    y: NDArray[Any], predicted: NDArray[Any], level: float = LEVEL
) -> tuple[float, float]:
    """The bootstrap percentile interval of R^2; the same resamples every time.

    With counts c of a resample, R^2 = 1 - sum c e^2 / (sum c y^2 - (sum c y)^2 / n), for errors e.
    """
    rng, n = np.random.default_rng(0), len(y)
    centred = y - y.mean()
    errors = np.square(y - predicted)
    scores = []
    for _ in range(RESAMPLES):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)
        spread = counts @ np.square(centred) - (counts @ centred) ** 2 / n
        if spread > 0:
            scores.append(1 - counts @ errors / spread)
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def test_report(model: Model, test: Data) -> ScoresOfTest:
    """Scores on the test rows, with the interval of the first, and predictions per second."""
    predicted = model.predict(test.X)
    score = test.score(predicted)
    ends = (
        wilson(score * len(test.y), len(test.y))
        if test.is_classification
        else r2_interval(test.y, predicted)
    )
    probability = probability_scores(model, test)
    return ScoresOfTest(
        test=score,
        low=ends[0],
        high=ends[1],
        rows_per_second=rows_per_second(model, test.X),
        log_loss=probability.get("log_loss"),
        brier_score=probability.get("brier_score"),
        roc_auc=probability.get("roc_auc"),
    )


def probability_scores(model: Model, test: Data) -> dict[str, Any]:
    """Log loss, Brier score, AUC and calibration of the test rows; those that the model has.

    A model with decision values has an AUC only. It depends on their order alone, so it is that of
    any probabilities that ascend with them. Of two classes, the calibration is that of the positive
    one.
    """
    if model.classes is None:
        return {}
    if model.probabilities is not None:
        return _scores_of(model.probabilities(test.X), model.classes, test)
    if model.scores is None:
        return {}
    ascending = expit(model.scores(test.X))
    if ascending.ndim == 1:
        ascending = np.column_stack([1 - ascending, ascending])
    return {"roc_auc": _scores_of(ascending, model.classes, test)["roc_auc"]}


def _scores_of(
    probabilities: NDArray[np.float64], classes: NDArray[Any], test: Data
) -> dict[str, Any]:
    """Scores of probabilities. The positive one of two classes becomes the second."""
    scores, labels = ProbabilityScores(classes), test.y
    if len(classes) == 2 and test.positive == 0:
        labels, probabilities = 1 - labels, probabilities[:, ::-1]
    scores.add(labels, probabilities)
    return scores.result()


def rows_per_second(model: Model, X: Any) -> float:
    """Predictions per second, in the fastest of some calls."""
    rows = X[:MOST_TIMED_ROWS]
    best, start = math.inf, time.perf_counter()
    while True:
        before = time.perf_counter()
        model.predict(rows)
        now = time.perf_counter()
        best = min(best, now - before)
        if now - start > PREDICT_SECONDS:
            return float(rows.shape[0] / max(best, 1e-9))


def kernel_error(model: Model, X: Any) -> KernelError | None:
    """Root mean square difference of inner products and the kernel, measured and by theory.

    Theory: the root of the mean over pairs of variance + (expected - K)^2; None where there is no
    formula (Nystroem). Structured projections are predicted as if their directions were
    independent, which they nearly are.
    """
    if model.feature_map is None:
        return None
    rows = model.scaling(X[:PAIR_ROWS])
    features = model.feature_map.transform(rows)
    inner = features @ features.T
    inner = np.asarray(inner.todense() if hasattr(inner, "todense") else inner, dtype=np.float64)
    kernel = np.asarray(model.feature_map.kernel(rows), dtype=np.float64)
    pairs = np.triu_indices(len(kernel), 1)
    measured = _rms(inner[pairs] - kernel[pairs])
    for_theory = _with_theory(model.feature_map, rows)
    if for_theory is None:
        return KernelError(measured, None)
    variance = for_theory.variance(rows)[pairs]
    bias = for_theory.expected(rows)[pairs] - kernel[pairs]
    return KernelError(measured, float(np.sqrt(np.mean(variance + np.square(bias)))))


def _with_theory(feature_map: Any, rows: Any) -> Any:
    """The map, or one like it with independent directions; None if neither has a variance."""
    for_theory = feature_map
    if feature_map.variance_gap and "projection" in feature_map.get_params(deep=False):
        for_theory = clone(feature_map).set_params(projection="gaussian").fit(rows)
    return None if for_theory.theory_gap or for_theory.variance_gap else for_theory


def _rms(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
