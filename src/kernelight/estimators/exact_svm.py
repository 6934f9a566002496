"""The exact SVM: scikit-learn's SVC or SVR on a Gram matrix of `kernels`.

A fitted one is kept as its support rows and dual coefficients, so that a stored model needs nothing
of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.svm import SVC, SVR

from kernelight.base import checks, counted
from kernelight.base.checks import Matrix, as_matrix
from kernelight.kernels.base import Kernel
from kernelight.linear.classifier import class_factors

MAX_ROWS = 15_000  # of training: the Gram matrix in double precision then takes 1.8 GB
_CACHE_MB = 500
Gram = NDArray[Any]


@dataclass(frozen=True)
class Duals:
    """f_c(x) = sum_i coefficients[i, c] K(x, x_i) + intercept[c], one c for each score.

    The sum is over all training rows.
    """

    coefficients: NDArray[np.float64]
    intercept: NDArray[np.float64]


@dataclass(frozen=True)
class SupportModel:
    """The same sum over the support rows alone, which are kept as the kernel takes them: scaled."""

    kernel: Kernel
    rows: Matrix
    duals: Duals

    def scores(self, X: Matrix) -> NDArray[np.float64]:
        """(n, m) values of f_c for scaled rows."""
        K = self.kernel(X, self.rows)
        return np.asarray(K @ self.duals.coefficients + self.duals.intercept)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that a state holds."""
        values, columns, starts, _ = checks.core_args(self.rows)
        held = {
            "values": values,
            "duals": self.duals.coefficients,
            "intercept": self.duals.intercept,
        }
        return held | ({} if columns is None else {"columns": columns, "starts": starts})


def support_model(kernel: Kernel, rows: Matrix, duals: Duals) -> SupportModel:
    """The model without the rows whose coefficients are all 0; one row stays in any case."""
    used = np.flatnonzero(duals.coefficients.any(axis=1))
    used = used if len(used) else np.zeros(1, dtype=np.intp)
    return SupportModel(
        kernel, rows[used], Duals(np.ascontiguousarray(duals.coefficients[used]), duals.intercept)
    )


def support_model_of(
    kernel: Kernel, arrays: Mapping[str, Any], width: int, n_scores: int
) -> SupportModel:
    """The model that `SupportModel.arrays` describes, checked: a state may hold anything."""
    sparse = "starts" in arrays
    checks.check_learned(
        "support rows", arrays["values"], ("float32", "float64"), 1 if sparse else 2
    )
    rows: Matrix = arrays["values"]
    if sparse:
        for name in ("columns", "starts"):
            checks.check_learned(
                f"{name} of sparse support rows", arrays[name], ("int32", "int64"), 1
            )
        shape = (len(arrays["starts"]) - 1, width)
        rows = sp.csr_matrix((arrays["values"], arrays["columns"], arrays["starts"]), shape=shape)
    rows = as_matrix(rows, name="support rows")
    for name, ndim in (("duals", 2), ("intercept", 1)):
        checks.check_learned(name, arrays[name], ("float64",), ndim)
    duals = Duals(arrays["duals"], arrays["intercept"])
    if (
        rows.shape[1] != width
        or duals.coefficients.shape != (rows.shape[0], n_scores)
        or not rows.shape[0]
    ):
        raise ValueError(
            f"support rows must have {counted(width, 'column')}, and "
            f"{counted(n_scores, 'dual coefficient')} each."
        )
    if duals.intercept.shape != (n_scores,):
        raise ValueError(f"intercept must have {counted(n_scores, 'number')}.")
    kernel.prepare(rows, name="support rows")
    return SupportModel(kernel, rows, duals)


def refuse_many_rows(n_rows: int) -> None:
    """Refuse so many rows that their Gram matrix would not fit into memory."""
    if n_rows > MAX_ROWS:
        raise ValueError(
            f"method='exact' compares every row with every other: it takes {MAX_ROWS:,} rows at "
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
