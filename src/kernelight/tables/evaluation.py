"""Scores of predictions, summed up batch by batch."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.base.checks import check_int
from kernelight.data import CLASSIFICATION, REGRESSION


class ClassCounts:
    """Counts true and predicted classes."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[Any, Any]] = Counter()

    def add(self, truth: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Count more rows."""
        self._counts.update(zip(truth.tolist(), predicted.tolist(), strict=True))

    def result(self) -> dict[str, Any]:
        """Accuracy with its standard error, scores of each class, and the confusion matrix."""
        rows = sum(self._counts.values())
        labels = sorted({label for pair in self._counts for label in pair})
        matrix = [[self._counts[truth, predicted] for predicted in labels] for truth in labels]
        correct = [matrix[at][at] for at in range(len(labels))]
        n_true = [sum(line) for line in matrix]
        n_predicted = [sum(line[at] for line in matrix) for at in range(len(labels))]
        accuracy = sum(correct) / rows
        recalls = [_fraction(hits, n) for hits, n in zip(correct, n_true, strict=True)]
        known = [recall for recall in recalls if recall is not None]
        return {
            "task": CLASSIFICATION,
            "rows": rows,
            "accuracy": accuracy,
            "standard_error": math.sqrt(accuracy * (1 - accuracy) / rows),
            "balanced_accuracy": sum(known) / len(known),
            "classes": [
                {"class": label, "rows": n, "precision": _fraction(hits, m), "recall": recall}
                for label, n, hits, m, recall in zip(
                    labels, n_true, correct, n_predicted, recalls, strict=True
                )
            ],
            "confusion": {"labels": labels, "rows_are_true_columns_predicted": matrix},
        }


def _fraction(part: int, whole: int) -> float | None:
    return part / whole if whole else None


class ErrorSums:
    """Sums up errors of predicted quantities.

    Squares are those of the targets minus the first target: with a large mean, the variance would
    be lost in the rounding of the sums.
    """

    def __init__(self) -> None:
        self._origin: float | None = None
        self._rows = 0
        self._sum = self._squares = self._error_squares = self._error_sizes = self._largest = 0.0

    def add(self, truth: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Count more rows."""
        if self._origin is None:
            self._origin = float(truth[0])
        self._rows += len(truth)
        with np.errstate(over="ignore", invalid="ignore"):  # `result` refuses what is too large
            shifted, error = truth - self._origin, predicted - truth
            self._sum += float(shifted.sum())
            self._squares += float(np.square(shifted).sum())
            self._error_squares += float(np.square(error).sum())
            self._error_sizes += float(np.abs(error).sum())
        self._largest = max(self._largest, float(np.abs(error).max()))

    def result(self) -> dict[str, Any]:
        """R^2 (None for a constant target), root mean squared, mean absolute and largest error."""
        spread = self._squares - self._sum * self._sum / self._rows
        if not math.isfinite(spread + self._error_squares):
            raise ValueError(
                "The target has numbers so large that errors cannot be summed up: scale it down."
            )
        return {
            "task": REGRESSION,
            "rows": self._rows,
            "r2": 1 - self._error_squares / spread if spread > 0 else None,
            "root_mean_squared_error": math.sqrt(self._error_squares / self._rows),
            "mean_absolute_error": self._error_sizes / self._rows,
            "largest_error": self._largest,
        }


def held_out_text(scores: dict[str, Any] | None) -> tuple[str, float | None] | None:
    """The scores on rows held out of all passes, in words, and the first of them.

    None if there were no passes.
    """
    if scores is None:
        return None
    first: float | None = scores["accuracy" if scores["task"] == CLASSIFICATION else "r2"]
    if scores["task"] == CLASSIFICATION:
        text = f"accuracy {scores['accuracy']:.3f} (standard error {scores['standard_error']:.3f})"
    else:
        text = "R^2 -" if scores["r2"] is None else f"R^2 {scores['r2']:.3f}"
        text += f", root mean squared error {scores['root_mean_squared_error']:.4g},"
    return f"{text} on {counted(scores['rows'], 'row')} held out of all passes", first


def check_scores(scores: Any, task: str) -> None:
    """Refuse what cannot be the scores of a model on rows held out: a file may hold anything."""
    classes = task == CLASSIFICATION
    names = ("accuracy", "standard_error") if classes else ("r2", "root_mean_squared_error")
    if not isinstance(scores, dict) or scores.get("task") != task or not set(names) <= set(scores):
        raise ValueError("held_out must be the scores of the model on rows held out.")
    check_int("rows", scores.get("rows"), 1)
    for name, value in scores.items():
        if (
            not isinstance(value, (int, float))
            and name != "task"
            and not (name == "r2" and value is None)
        ):
            raise ValueError(f"held_out must hold numbers, and {name} is {value!r}.")
