"""The exact SVM: scikit-learn's SVC or SVR on a Gram matrix of `kernels`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.estimators.support_model import Duals
from kernelight.linear.classifier import class_factors

MAX_ROWS = 15_000  # of training: the Gram matrix in double precision then takes 1.8 GB
_CACHE_MB = 500
Gram = NDArray[Any]


def refuse_many_rows(n_rows: int, method: str) -> None:
    """Refuse so many rows that their Gram matrix would not fit into memory."""
    if n_rows > MAX_ROWS:
        raise ValueError(
            f"method={method!r} compares every row with every other: it takes {MAX_ROWS:,} rows at "
            f"most, got {n_rows:,}; leave method=None for a model that is linear in the rows, or "
            f"train on fewer."
        )


def classify(
    gram: Gram,
    labels: NDArray[Any],
    classes: NDArray[Any],
    C: float,
    weight: NDArray[Any],
    class_weight: Any,
) -> Duals:
    """One-vs-rest SVMs: one for each class, or one for two classes (positive means the second).

    A class weight is a factor of C for the rows of that class in its own SVM, as for linear models;
    with two classes both weights count in the only SVM. A class that has no rows of positive weight
    in a split scores -1 everywhere, and one that is alone scores 1.
    """
    from sklearn.svm import SVC  # here: few models are exact, and importing it takes long

    present = np.unique(labels)
    factors = dict(
        zip(present.tolist(), class_factors(class_weight, present, labels, weight), strict=True)
    )
    rest_factor = 1.0 if len(classes) > 2 else factors.get(classes[0], 1.0)
    svms: list[Any] = []
    constants = []  # the scores where there is nothing to tell apart
    for positive in classes if len(classes) > 2 else classes[1:]:
        own = labels == positive
        costs = weight * np.where(own, factors.get(positive, 1.0), rest_factor)
        has_own, has_rest = costs[own].any(), costs[~own].any()
        constants.append(1.0 if has_own and not has_rest else -1.0)
        if not (has_own and has_rest):
            svms.append(None)
            continue
        svm = SVC(C=C, kernel="precomputed", cache_size=_CACHE_MB)
        svms.append(svm.fit(gram, own, sample_weight=costs))
    return _duals(svms, len(labels), constants)


def regress(
    gram: Gram, target: NDArray[Any], C: float, epsilon: float, weight: NDArray[Any]
) -> Duals:
    """Epsilon-insensitive SVMs of (n,) or (n, m) targets, one for each target."""
    from sklearn.svm import SVR

    svms = [
        SVR(C=C, epsilon=epsilon, kernel="precomputed", cache_size=_CACHE_MB).fit(
            gram, each, sample_weight=weight
        )
        for each in target.reshape(len(target), -1).T
    ]
    return _duals(svms, len(target), [0.0] * len(svms))


def _duals(svms: list[Any], n_rows: int, constants: list[float]) -> Duals:
    """The coefficients of SVMs over all rows; None among ``svms`` is a constant score."""
    coefficients, intercept = np.zeros((n_rows, len(svms))), np.array(constants)
    for at, svm in enumerate(svms):
        if svm is not None:
            coefficients[svm.support_, at] = svm.dual_coef_.ravel()
            intercept[at] = svm.intercept_[0]
    return Duals(coefficients, intercept)
