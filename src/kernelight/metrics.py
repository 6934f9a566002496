"""Scores of predicted probabilities, batch by batch, in memory that does not grow with the rows.

>>> import numpy as np
>>> from kernelight.metrics import ProbabilityScores
>>> scores = ProbabilityScores(np.array(["no", "yes"]))
>>> scores.add(np.array(["no", "yes", "yes"]), np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]))
>>> result = scores.result()
>>> {name: round(result[name], 3) for name in ("log_loss", "brier_score", "roc_auc")}
{'log_loss': 0.28, 'brier_score': 0.07, 'roc_auc': 1.0}
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ProbabilityScores"]
N_BINS = 10  # of the calibration table
# bins of a histogram for the AUC: at most, at least, and of all classes together
MAX_BINS, MIN_BINS, ALL_BINS = 1 << 14, 1 << 8, 1 << 22
_MAX_LOGIT = 30.0  # logits beyond are in the last bin
# the log loss takes a smaller probability for this one, as scikit-learn's does
_MIN_PROBABILITY = float(np.finfo(np.float64).eps)


class ProbabilityScores:
    """Log loss, Brier score, AUC and a calibration table of probabilities.

    Log loss and Brier score are those of scikit-learn's ``log_loss`` and ``brier_score_loss`` (of
    more than two classes, the sum of squares over classes). The AUC is that of the second of two
    classes, or the mean over the classes that occur, each against the rest (scikit-learn's "ovr"
    with macro average). It is taken from histograms of log(p / (1 - p)) between -30 and 30, with
    16,384 bins (fewer for more than 256 classes). Rows in one bin count as equal, so the AUC is
    exact up to pairs of rows whose logits are closer than 0.004.

    Parameters
    ----------
    classes : array
        The classes, sorted, in the order of the columns of probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight.metrics import ProbabilityScores
    >>> scores = ProbabilityScores(np.array(["no", "yes"]))
    >>> scores.add(np.array(["no", "yes"]), np.array([[0.9, 0.1], [0.4, 0.6]]))
    >>> round(scores.result()["brier_score"], 3)
    0.085
    """

    def __init__(self, classes: NDArray[Any]) -> None:
        self._classes = np.asarray(classes)
        n_classes = len(self._classes)
        self._n_bins = int(np.clip(ALL_BINS // n_classes, MIN_BINS, MAX_BINS))
        n_curves = 1 if n_classes == 2 else n_classes
        self._histograms = np.zeros((n_curves, 2, self._n_bins), dtype=np.int64)
        # of each bin: rows, sum of predicted probabilities, rows for which the prediction was right
        self._table = np.zeros((N_BINS, 3))
        self._rows, self._log_loss, self._brier = 0, 0.0, 0.0

    def add(self, truth: NDArray[Any], probabilities: NDArray[np.float64]) -> None:
        """Add a batch: true labels (n,), and (n, classes) probabilities.

        A label that is not among the classes has probability 0.
        """
        places = np.searchsorted(self._classes, truth)
        places = np.minimum(places, len(self._classes) - 1)
        known = self._classes[places] == truth
        own = np.where(known, probabilities[np.arange(len(truth)), places], 0.0)
        self._rows += len(truth)
        self._log_loss -= float(np.log(np.clip(own, _MIN_PROBABILITY, 1.0)).sum())
        squares = np.square(probabilities).sum(axis=1) - 2 * own + 1
        two = len(self._classes) == 2
        self._brier += float(squares.sum()) / (2 if two else 1)
        if two:
            predicted, right = probabilities[:, 1], known & (places == 1)
        else:
            best = probabilities.argmax(axis=1)
            predicted, right = probabilities.max(axis=1), known & (places == best)
        bins = np.clip((predicted * N_BINS).astype(np.intp), 0, N_BINS - 1)
        for column, values in enumerate((None, predicted, right.astype(np.float64))):
            self._table[:, column] += np.bincount(bins, weights=values, minlength=N_BINS)
        for at, histogram in enumerate(self._histograms):
            column = 1 if two else at
            positive = known & (places == column)
            bins = self._bins(probabilities[:, column])
            for side, rows in enumerate((~positive, positive)):
                histogram[side] += np.bincount(bins[rows], minlength=self._n_bins)

    def _bins(self, probabilities: NDArray[np.float64]) -> NDArray[np.intp]:
        """The bin of each probability in the histograms of logits."""
        with np.errstate(divide="ignore"):
            logits = np.log(probabilities) - np.log1p(-probabilities)
        logits = np.clip(logits, -_MAX_LOGIT, _MAX_LOGIT)
        place = (logits + _MAX_LOGIT) * ((self._n_bins - 1) / (2 * _MAX_LOGIT))
        return np.asarray(place.round().astype(np.intp))

    def result(self) -> dict[str, Any]:
        """The scores of all batches, by name.

        Returns
        -------
        dict
            ``log_loss``, ``brier_score``;

            ``positive_class``: the second of two classes, which Brier score and AUC are about; None
            for more classes;

            ``roc_auc``: the mean over ``roc_auc_classes``, the classes that some rows have and
            others have not; None if there is none;

            ``calibration``: a list of the bins that have rows, each with the mean ``predicted``
            probability, the ``observed`` fraction and ``rows``: of the second of two classes, else
            of the class with the largest probability.
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
    """The area under the ROC curve of two histograms; None without rows on both sides.

    It is the fraction of pairs of a positive and a negative row in which the positive row has the
    larger probability; equal ones count half.
    """
    pairs = float(negative.sum()) * float(positive.sum())
    if not pairs:
        return None
    below = np.cumsum(negative) - negative
    return float((positive * (below + negative / 2)).sum() / pairs)
