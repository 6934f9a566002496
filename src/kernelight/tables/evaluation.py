"""How good predictions are, counted batch by batch."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray


class ClassCounts:
    """Counts true and predicted classes."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[Any, Any]] = Counter()

    def add(self, truth: NDArray[Any], found: NDArray[Any]) -> None:
        """Count more rows."""
        self._counts.update(zip(truth.tolist(), found.tolist(), strict=True))

    def result(self) -> dict[str, Any]:
        """Accuracy with its standard error, and for each class precision, recall and rows; the
        confusion matrix."""
        rows = sum(self._counts.values())
        labels = sorted({label for pair in self._counts for label in pair})
        matrix = [[self._counts[truth, found] for found in labels] for truth in labels]
        right = [matrix[at][at] for at in range(len(labels))]
        in_class = [sum(line) for line in matrix]
        called = [sum(line[at] for line in matrix) for at in range(len(labels))]
        accuracy = sum(right) / rows
        recall = [_share(r, n) for r, n in zip(right, in_class, strict=True)]
        known = [value for value in recall if value is not None]
        return {
            "task": "classification",
            "rows": rows,
            "accuracy": accuracy,
            "standard_error": math.sqrt(accuracy * (1 - accuracy) / rows),
            "balanced_accuracy": sum(known) / len(known),
            "classes": [
                {"class": label, "rows": n, "precision": _share(r, c), "recall": share}
                for label, n, r, c, share in zip(
                    labels, in_class, right, called, recall, strict=True
                )
            ],
            "confusion": {"labels": labels, "rows_are_true_columns_predicted": matrix},
        }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


class Errors:
    """Sums up errors of predicted quantities; targets are taken relative to the first, so that
    large means cancel nothing."""

    def __init__(self) -> None:
        self._origin: float | None = None
        self._rows = 0
        self._sum = self._squares = self._error_squares = self._error_sizes = self._largest = 0.0

    def add(self, truth: NDArray[Any], found: NDArray[Any]) -> None:
        """Count more rows."""
        if self._origin is None:
            self._origin = float(truth[0])
        self._rows += len(truth)
        with np.errstate(over="ignore", invalid="ignore"):  # `result` says what is too large
            away, error = truth - self._origin, found - truth
            self._sum += float(away.sum())
            self._squares += float(np.square(away).sum())
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
            "task": "regression",
            "rows": self._rows,
            "r2": 1 - self._error_squares / spread if spread > 0 else None,
            "root_mean_squared_error": math.sqrt(self._error_squares / self._rows),
            "mean_absolute_error": self._error_sizes / self._rows,
            "largest_error": self._largest,
        }
