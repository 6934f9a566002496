"""Exact kernel SVMs on precomputed Gram matrices, and the linear SVM beside them.

One Gram matrix serves all C. For each C there are two test accuracies of kernels with a gamma
(`_tuned`), and one of all others; validation within the training part (see `validation_parts`)
chooses a C without the test part.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from kernelight import LinearClassifier
from kernelight.kernels import GMM, Acos, AcosChi2, Linear
from papers._cells import Result, kind
from papers._data import split, validation_parts

KERNELS = {
    "GMM": GMM(),
    "acos": Acos(),
    "acos-chi2": AcosChi2(),
    "MM-acos": GMM() * Acos(),
    "MM-acos-chi2": GMM() * AcosChi2(),
}
# LIBLINEAR has no intercept by default
AS_LIBLINEAR: dict[str, Any] = {"tol": 1e-2, "max_iter": 300, "fit_intercept": False}
VALIDATION_ROWS = 5000  # where one split validates


@kind("exact", version=1)
def exact(
    *, dataset: str, scaling: str, seed: int, kernel: str, cs: list[float], max_test: int | None
) -> Result:
    """Accuracies in percent for each C of a kernel without gamma."""
    data = split(dataset, scaling, seed, max_test)
    order = np.argsort(data.y, kind="stable")  # see `accuracies`
    X, y = data.X[order], data.y[order]
    K, K_test = KERNELS[kernel](X), KERNELS[kernel](data.X_test, X)
    validated = np.zeros((1, len(cs)))
    for fit, check in validation_parts(len(y), VALIDATION_ROWS):
        scores = accuracies(K[np.ix_(fit, fit)], y[fit], K[np.ix_(check, fit)], y[check], cs)
        validated[0] += scores * len(check)
    tested = accuracies(K, y, K_test, data.y_test, cs)[None, :]
    return summary(cs, [None], tested, validated)


@kind("linear", version=2)
def linear(
    *, dataset: str, scaling: str, seed: int, cs: list[float], max_test: int | None
) -> Result:
    """The linear SVM on rows of unit length: hinge, one class against the rest."""
    return _linear("hinge", dataset, scaling, seed, cs, max_test)


@kind("linear, squared hinge", version=1)
def linear_squared(
    *, dataset: str, scaling: str, seed: int, cs: list[float], max_test: int | None
) -> Result:
    """The linear SVM with the squared hinge, the default loss of LIBLINEAR."""
    return _linear("squared_hinge", dataset, scaling, seed, cs, max_test)


def _linear(
    loss: str, dataset: str, scaling: str, seed: int, cs: list[float], max_test: int | None
) -> Result:
    data = split(dataset, scaling, seed, max_test)
    X, X_test = Linear().prepare(data.X), Linear().prepare(data.X_test)
    validated = np.zeros((1, len(cs)))
    for fit, check in validation_parts(len(data.y), VALIDATION_ROWS):
        scores = path_accuracies(X[fit], data.y[fit], X[check], data.y[check], cs, loss=loss)
        validated[0] += scores * len(check)
    tested = path_accuracies(X, data.y, X_test, data.y_test, cs, loss=loss)[None, :]
    return summary(cs, [None], tested, validated)


def path_accuracies(
    X: Any, y: Any, X_test: Any, y_test: Any, cs: list[float], **options: Any
) -> np.ndarray:
    """Test accuracies in percent of linear models for ascending C.

    Each fit starts from the one before.
    """
    model = LinearClassifier(**AS_LIBLINEAR | options)
    with warnings.catch_warnings():
        # LIBLINEAR's own limit is 1,000 cheaper epochs
        warnings.simplefilter("ignore", ConvergenceWarning)
        return 100 * np.asarray(model.fit_path(X, y, cs, validation=(X_test, y_test)).scores)


def accuracies(
    K: np.ndarray, y: Any, K_test: np.ndarray, y_test: Any, cs: list[float]
) -> np.ndarray:
    """Test accuracies in percent for ascending C; training rows are sorted by class.

    LIBSVM hardly ends on overlapping classes at a large C, so its steps are bounded.
    """
    assert (np.diff(y) >= 0).all()
    scores: list[float] = []
    K = np.asarray(K, dtype=np.float64)  # what LIBSVM takes, made once
    for C in cs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = SVC(
                C=C, kernel="precomputed", cache_size=500, max_iter=10_000 + 20 * len(y)
            ).fit(K, y)
        scores.append(100 * float(np.mean(predicted(model, y, K_test) == y_test)))
        if np.abs(model.dual_coef_).max() < C * (1 - 1e-9):
            break  # no dual variable is at its bound: every larger C has the same solution
    return np.array(scores + scores[-1:] * (len(cs) - len(scores)))


def predicted(model: SVC, y: np.ndarray, K: np.ndarray) -> np.ndarray:
    """What ``model.predict`` returns, by matrix products; ``y`` are the sorted training labels.

    For classes i < j, LIBSVM's decision is the sum over the support vectors of i of c_(j-1) K, plus
    that over those of j of c_i K, plus an intercept, where c are the rows of ``dual_coef_``; each
    decision is a vote.
    """
    n_classes = len(model.classes_)
    coefs = np.zeros((len(y), max(n_classes - 1, 1)), K.dtype)
    coefs[model.support_] = model.dual_coef_.T
    if n_classes == 2:
        first = K @ coefs[:, 0] + model.intercept_[0] > 0
        return np.asarray(model.classes_[first.astype(int)])
    ends = [*np.searchsorted(y, model.classes_), len(y)]
    parts = [K[:, i:j] @ coefs[i:j] for i, j in itertools.pairwise(ends)]
    votes = np.zeros((n_classes, len(K)), np.int32)
    for at, (i, j) in enumerate(itertools.combinations(range(n_classes), 2)):
        first = parts[i][:, j - 1] + parts[j][:, i] + model.intercept_[at] > 0
        votes[i] += first
        votes[j] += ~first
    return np.asarray(model.classes_[votes.argmax(axis=0)])


def summary(
    cs: list[float], tuned: Sequence[float | None], tested: np.ndarray, validated: np.ndarray
) -> Result:
    """For each C the test accuracy at two gammas: the best on the test part, and the validated."""
    best, chosen, each = np.nanargmax(tested, axis=0), validated.argmax(axis=0), np.arange(len(cs))
    return {
        "cs": cs,
        "test": tested[best, each].round(3).tolist(),
        "gammas": [tuned[at] for at in best],
        "chosen_test": tested[chosen, each].round(3).tolist(),
        "chosen_gammas": [tuned[at] for at in chosen],
        "chosen_c": int(validated.max(axis=0).argmax()),
    }
