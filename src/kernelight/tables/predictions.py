"""What a fitted model says of the rows of a batch, whatever the batch came from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.estimators.classifier import KernelClassifier
from kernelight.estimators.compact_classifier import CompactClassifier

PROBABILITIES, INTERVALS = "predict_proba", "predict_interval"


class Predictions(NamedTuple):
    """Predictions for some rows, and the ids of these rows (None without a column of ids).

    ``probabilities`` has a column for each class; ``interval`` is the lower and the upper ends of
    intervals; ``scores`` are those of `decision_function`. All are None unless asked for.
    """

    values: NDArray[Any]
    probabilities: NDArray[np.float64] | None
    ids: list[str] | None
    interval: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    scores: NDArray[np.float64] | None = None


class Wanted(NamedTuple):
    """What is said beside labels or quantities; ``interval`` is a coverage, such as 0.9."""

    probabilities: bool = False
    interval: float | None = None
    scores: bool = False

    def refuse_lacking(self, model: Any) -> None:
        """Refuse what a model cannot say, before a row is read."""
        asked = {PROBABILITIES: self.probabilities, INTERVALS: self.interval is not None}
        for method, wanted in asked.items():
            lacking = lacks(model, method) if wanted else None
            if lacking:
                raise ValueError(lacking)
        if self.scores and not hasattr(model, "decision_function"):
            raise ValueError("Scores are of classes, but this model predicts quantities.")
        if self.interval is not None:
            model.half_width(self.interval)  # refuses a wrong coverage


def lacks(model: Any, method: str) -> str | None:
    """Why a fitted model lacks a method, in a sentence; None if it has it."""
    if hasattr(model, method):
        return None
    if method == INTERVALS:
        return "Intervals are for quantities, but this model predicts classes."
    if isinstance(model, CompactClassifier):
        return "A CompactClassifier has scores of its classes, and no probabilities."
    if isinstance(model, KernelClassifier):
        return "This model was written before models had probabilities: fit it again."
    return "Probabilities are for classes, but this model predicts quantities."


def predicted(model: Any, X: Any, wanted: Wanted, ids: list[str] | None = None) -> Predictions:
    """The predictions for encoded rows."""
    scores = np.asarray(model.decision_function(X), np.float64) if wanted.scores else None
    if wanted.probabilities:
        proba = model.predict_proba(X)
        return Predictions(model.classes_[proba.argmax(axis=1)], proba, ids, scores=scores)
    if wanted.interval is not None:
        low, high = model.predict_interval(X, wanted.interval)
        return Predictions((low + high) / 2, None, ids, (low, high))
    return Predictions(model.predict(X), None, ids, scores=scores)
