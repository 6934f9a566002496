"""Exact kernel SVMs on precomputed Gram matrices, and the linear SVM beside them.

One Gram matrix serves all C; the RBF kernels of all gammas are functions of one matrix of
correlations. For each C the papers report the test accuracy at the gamma that is best on the test
part. Computing 58 gammas for each C on every set takes days, so the work has two steps:

1. validation within the training part (see `validation_parts`) scores every (C, gamma);
2. the whole training part is fitted for each C at the ``window`` gammas that validated best at this
   C, and tested.

Step 2 gives two test accuracies: the best of all, as in the papers, and that of the C and gamma
that validation chose without the test part. For small sets the window has all 58 gammas.
"""

from __future__ import annotations

import itertools
import time
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

# The grid of the papers, 58 values.
GAMMAS = [
    0.001,
    0.01,
    *(round(0.1 * i, 1) for i in range(1, 21)),
    2.5,
    *range(3, 21),
    *range(25, 51, 5),
]
GAMMAS += [*range(60, 101, 10), 120, 150, 200, 300, 500, 1000]

KERNELS = {
    "GMM": GMM(),
    "acos": Acos(),
    "acos-chi2": AcosChi2(),
    "MM-acos": GMM() * Acos(),
    "MM-acos-chi2": GMM() * AcosChi2(),
    "RBF": Linear(),
    "fRBF": Linear(),
}
# LIBLINEAR has no intercept by default
AS_LIBLINEAR: dict[str, Any] = {"tol": 1e-2, "max_iter": 300, "fit_intercept": False}
VALIDATION_ROWS = {True: 2000, False: 5000}  # with gammas, which are many, and without


@kind("exact", version=1)
def exact(
    *,
    dataset: str,
    scaling: str,
    seed: int,
    kernel: str,
    cs: list[float],
    gammas: list[float] | None,
    window: int,
    max_test: int | None,
) -> Result:
    """Accuracies in percent for each C; see the head of this file."""
    data = split(dataset, scaling, seed, max_test)
    order = np.argsort(data.y, kind="stable")  # see `accuracies`
    X, y = data.X[order], data.y[order]
    begun = time.perf_counter()
    base, base_test = KERNELS[kernel](X), KERNELS[kernel](data.X_test, X)
    gram_seconds = time.perf_counter() - begun
    tuned: list[float | None] = [None] if gammas is None else list(gammas)

    begun = time.perf_counter()
    validated = np.zeros((len(tuned), len(cs)))
    for fit, check in validation_parts(len(y), VALIDATION_ROWS[gammas is not None]):
        inner, outer = base[np.ix_(fit, fit)], base[np.ix_(check, fit)]
        for at, gamma in enumerate(tuned):
            K, K_check = _with_gamma(inner, kernel, gamma), _with_gamma(outer, kernel, gamma)
            validated[at] += accuracies(K, y[fit], K_check, y[check], cs) * len(check)
    validation_seconds = time.perf_counter() - begun

    begun = time.perf_counter()
    tested = np.full(validated.shape, np.nan)
    in_window = np.argsort(np.argsort(-validated, axis=0, kind="stable"), axis=0) < window
    for at, gamma in enumerate(tuned):
        wanted = np.flatnonzero(in_window[at])
        if len(wanted):
            K, K_test = _with_gamma(base, kernel, gamma), _with_gamma(base_test, kernel, gamma)
            tested[at, wanted] = accuracies(K, y, K_test, data.y_test, [cs[i] for i in wanted])
    seconds = {
        "gram": gram_seconds,
        "validation": validation_seconds,
        "svm": time.perf_counter() - begun,
    }
    return summary(cs, tuned, tested, validated, seconds)


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
    begun = time.perf_counter()
    validated = np.zeros((1, len(cs)))
    for fit, check in validation_parts(len(data.y), 5000):
        scores = path_accuracies(X[fit], data.y[fit], X[check], data.y[check], cs, loss=loss)
        validated[0] += scores * len(check)
    tested = path_accuracies(X, data.y, X_test, data.y_test, cs, loss=loss)[None, :]
    return summary(cs, [None], tested, validated, {"svm": time.perf_counter() - begun})


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


def _with_gamma(base: np.ndarray, kernel: str, gamma: float | None) -> np.ndarray:
    """The kernel matrix: a function of correlations if there is a gamma, else ``base`` itself."""
    if gamma is None:
        return base
    K = np.exp(gamma * (base - 1))
    return K if kernel == "RBF" else (K + np.exp(-gamma * (base + 1))) / 2


def summary(
    cs: list[float],
    tuned: Sequence[float | None],
    tested: np.ndarray,
    validated: np.ndarray,
    seconds: Any,
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
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
    }
