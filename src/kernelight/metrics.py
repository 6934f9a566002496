"""How good probabilities of classes are, counted batch by batch in memory that does not grow with
the rows.

>>> import numpy as np
>>> from kernelight.metrics import ProbabilityScores
>>> scores = ProbabilityScores(np.array(["no", "yes"]))
>>> scores.add(np.array(["no", "yes", "yes"]), np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]))
>>> found = scores.result()
>>> round(found["log_loss"], 3), round(found["brier_score"], 3), round(found["roc_auc"], 3)
(0.28, 0.07, 1.0)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ProbabilityScores"]
N_BINS = 10  # of the calibration table
# of the histograms that the AUC is taken from
MOST_BINS, FEWEST_BINS, ALL_BINS = 1 << 14, 1 << 8, 1 << 22
_FARTHEST = 30.0  # logits beyond are one bin
# what the log loss takes a probability of 0 for, as scikit-learn's does
_LEAST = float(np.finfo(np.float64).eps)


class ProbabilityScores:
    """Log loss, Brier score, AUC and a calibration table of probabilities.

    Log loss and Brier score are those of scikit-learn's ``log_loss`` and ``brier_score_loss`` (of
    more than two classes, the sum of squares over classes). The AUC is that of the second of two
    classes, or the mean over the classes that occur, each against the rest (scikit-learn's "ovr"
    with macro average). It is taken from histograms of 16,384 bins of log(p / (1 - p)) between -30
    and 30 (fewer for more than 256 classes), rows in one bin counting as equal, so it is exact up
    to pairs of rows whose logits are closer than 0.004.

    Parameters
    ----------
    classes : array of the classes, in the order of the columns of probabilities
    """

    def __init__(self, classes: NDArray[Any]) -> None:
        self._classes = np.asarray(classes)
        n_classes = len(self._classes)
        self._n_bins = int(np.clip(ALL_BINS // n_classes, FEWEST_BINS, MOST_BINS))
        n_curves = 1 if n_classes == 2 else n_classes
        self._histograms = np.zeros((n_curves, 2, self._n_bins), dtype=np.int64)
        self._table = np.zeros((N_BINS, 3))  # rows, sum of probabilities, rows that were so
        self._rows, self._log_loss, self._brier = 0, 0.0, 0.0

    def add(self, truth: NDArray[Any], probabilities: NDArray[np.float64]) -> None:
        """Count more rows; a class that is not among ``classes`` has probability 0."""
        places = np.searchsorted(self._classes, truth)
        places = np.minimum(places, len(self._classes) - 1)
        known = self._classes[places] == truth
        own = np.where(known, probabilities[np.arange(len(truth)), places], 0.0)
        self._rows += len(truth)
        self._log_loss -= float(np.log(np.clip(own, _LEAST, 1.0)).sum())
        squares = np.square(probabilities).sum(axis=1) - 2 * own + 1
        two = len(self._classes) == 2
        self._brier += float(squares.sum()) / (2 if two else 1)
        if two:
            shown, right = probabilities[:, 1], known & (places == 1)
        else:
            best = probabilities.argmax(axis=1)
            shown, right = probabilities.max(axis=1), known & (places == best)
        bins = np.clip((shown * N_BINS).astype(np.intp), 0, N_BINS - 1)
        for column, values in enumerate((None, shown, right.astype(np.float64))):
            self._table[:, column] += np.bincount(bins, weights=values, minlength=N_BINS)
        for at, histogram in enumerate(self._histograms):
            column = 1 if two else at
            positive = known & (places == column)
            found = self._bins(probabilities[:, column])
            for side, rows in enumerate((~positive, positive)):
                histogram[side] += np.bincount(found[rows], minlength=self._n_bins)

    def _bins(self, probabilities: NDArray[np.float64]) -> NDArray[np.intp]:
        with np.errstate(divide="ignore"):
            logits = np.log(probabilities) - np.log1p(-probabilities)
        logits = np.clip(logits, -_FARTHEST, _FARTHEST)
        place = (logits + _FARTHEST) * ((self._n_bins - 1) / (2 * _FARTHEST))
        return np.asarray(place.round().astype(np.intp))

    def result(self) -> dict[str, Any]:
        """``log_loss``, ``brier_score``, ``positive_class``, ``roc_auc``, ``roc_auc_classes`` and
        ``calibration``.

        The positive class is the second of two, which the AUC and the Brier score are about; None
        if there are more classes. ``roc_auc`` is the mean over ``roc_auc_classes``, those that some
        rows have and others have not; None if there is none. The last is a list of bins that have
        rows: the mean ``predicted`` probability, the ``observed`` share and ``rows``; of the second
        of two classes, else of the class with the largest probability.
        """
        two = len(self._classes) == 2
        areas = [_area(*histogram) for histogram in self._histograms]
        labels = self._classes[1:].tolist() if two else self._classes.tolist()
        known = {label: area for label, area in zip(labels, areas, strict=True) if area is not None}
        return {
            "log_loss": self._log_loss / self._rows,
            "brier_score": self._brier / self._rows,
            "positive_class": labels[0] if two else None,
            "roc_auc": sum(known.values()) / len(known) if known else None,
            "roc_auc_classes": list(known),
            "calibration": [
                {"predicted": total / rows, "observed": right / rows, "rows": int(rows)}
                for rows, total, right in self._table.tolist()
                if rows
            ],
        }


def _area(negative: NDArray[np.int64], positive: NDArray[np.int64]) -> float | None:
    """The share of pairs of a positive and a negative row in which the positive one is above; equal
    ones count half."""
    pairs = float(negative.sum()) * float(positive.sum())
    if not pairs:
        return None
    below = np.cumsum(negative) - negative
    return float((positive * (below + negative / 2)).sum() / pairs)
