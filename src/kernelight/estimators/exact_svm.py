"""The exact kernel machine: scikit-learn's SVC or SVR on a Gram matrix of ours, kept as support
rows and dual coefficients."""

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
    """f_c(x) = sum_i duals[i, c] K(x, x_i) + intercept[c] over all training rows, one c for each
    score."""

    coefficients: NDArray[np.float64]
    intercept: NDArray[np.float64]


@dataclass(frozen=True)
class SupportModel:
    """The same over the support rows alone, which are kept as they entered the kernel: scaled."""

    kernel: Kernel
    rows: Matrix
    duals: Duals

    def scores(self, X: Matrix) -> NDArray[np.float64]:
        """(n, m) values of f_c for scaled rows."""
        K = self.kernel(X, self.rows)
        return np.asarray(K @ self.duals.coefficients + self.duals.intercept)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a state holds of it."""
        values, columns, starts, _ = checks.core_args(self.rows)
        held = {
            "values": values,
            "duals": self.duals.coefficients,
            "intercept": self.duals.intercept,
        }
        return held | ({} if columns is None else {"columns": columns, "starts": starts})


def support_model(kernel: Kernel, rows: Matrix, duals: Duals) -> SupportModel:
    """Without the rows that have no part in any score; one stays where none has."""
    used = np.flatnonzero(duals.coefficients.any(axis=1))
    used = used if len(used) else np.zeros(1, dtype=np.intp)
    return SupportModel(
        kernel, rows[used], Duals(np.ascontiguousarray(duals.coefficients[used]), duals.intercept)
    )


def support_model_of(
    kernel: Kernel, arrays: Mapping[str, Any], width: int, n_scores: int
) -> SupportModel:
    """The model that `SupportModel.arrays` described; everything is checked, a state may hold
    anything."""
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
    """The Gram matrix grows with the square of the rows."""
    if n_rows > MAX_ROWS:
        raise ValueError(
            f"method='exact' compares every row with every other: it takes {MAX_ROWS:,} rows at "
            f"most, got {n_rows:,}; leave "
            "method=None for a model that is linear in the rows, or train on fewer."
        )


def classify(
    gram: Gram,
    labels: NDArray[Any],
    classes: NDArray[Any],
    C: float,
    weight: NDArray[Any],
    class_weight: Any,
) -> Duals:
    """One-vs-rest: a machine for each class, or one for two classes, whose positive scores mean the
    second.

    A class weight is a factor of C for the rows of that class in its own machine, as for linear
    models; with two classes both count in the only one. A class without rows that count, as a split
    or weights may leave it, scores -1 everywhere, and one that is alone scores 1.
    """
    present = np.unique(labels)
    found = class_factors(class_weight, present, labels, weight)
    factors = dict(zip(present.tolist(), found, strict=True))
    against = 1.0 if len(classes) > 2 else factors.get(classes[0], 1.0)
    machines: list[Any] = []
    # Where there is nothing to tell apart, a score that says so.
    constants = []
    for positive in classes if len(classes) > 2 else classes[1:]:
        own = labels == positive
        costs = weight * np.where(own, factors.get(positive, 1.0), against)
        some, others = costs[own].any(), costs[~own].any()
        constants.append(1.0 if some and not others else -1.0)
        if not (some and others):
            machines.append(None)
            continue
        machine = SVC(C=C, kernel="precomputed", cache_size=_CACHE_MB)
        machines.append(machine.fit(gram, own, sample_weight=costs))
    return _duals(machines, len(labels), constants)


def regress(
    gram: Gram, target: NDArray[Any], C: float, epsilon: float, weight: NDArray[Any]
) -> Duals:
    """The epsilon-insensitive regression of (n,) or (n, m) targets, a machine for each."""
    machines = [
        SVR(C=C, epsilon=epsilon, kernel="precomputed", cache_size=_CACHE_MB).fit(
            gram, each, sample_weight=weight
        )
        for each in target.reshape(len(target), -1).T
    ]
    return _duals(machines, len(target), [0.0] * len(machines))


def _duals(machines: list[Any], n_rows: int, constants: list[float]) -> Duals:
    """The coefficients of machines over all rows; a constant for those that there was nothing to
    fit to."""
    coefficients, intercept = np.zeros((n_rows, len(machines))), np.array(constants)
    for at, machine in enumerate(machines):
        if machine is not None:
            coefficients[machine.support_, at] = machine.dual_coef_.ravel()
            intercept[at] = machine.intercept_[0]
    return Duals(coefficients, intercept)
