"""A model of the exact kernel, kept as its support rows and dual coefficients.

This is what an exact SVM and kernel ridge regression leave behind. A stored model needs nothing of
scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base import checks, counted
from kernelight.base.checks import Matrix, as_matrix
from kernelight.kernels.base import Kernel


@dataclass(frozen=True)
class Duals:
    """f_c(x) = sum_i coefficients[i, c] K(x, x_i) + intercept[c], one c for each score.

    The sum is over all training rows.
    """

    coefficients: NDArray[np.float64]
    intercept: NDArray[np.float64]


@dataclass(frozen=True)
class Lesson:
    """What rows were to be learned as, so that another model can learn it from the same rows."""

    target: NDArray[Any]  # (n,) class numbers, or (n,) or (n, m) standardised quantities
    weight: NDArray[np.float64] | None

    def at(self, rows: NDArray[np.intp]) -> Lesson:
        """That of some rows."""
        return Lesson(self.target[rows], None if self.weight is None else self.weight[rows])


@dataclass(frozen=True)
class SupportModel:
    """The same sum over the support rows alone, which are kept as the kernel takes them: scaled.

    Where all training rows are support rows, ``lesson`` is theirs.
    """

    kernel: Kernel
    rows: Matrix
    duals: Duals
    lesson: Lesson | None = None

    @property
    def width(self) -> int:
        """Numbers that a row becomes on the way to its scores: a kernel value for each row."""
        return int(self.rows.shape[0])

    def scores(self, X: Matrix) -> NDArray[np.float64]:
        """(n, m) values of f_c for scaled rows."""
        K = self.kernel.pairwise(self.kernel.prepare(X), self.prepared)
        return np.asarray(K @ self.duals.coefficients + self.duals.intercept)

    @cached_property
    def prepared(self) -> Any:
        """The support rows as the kernel compares them: a cache, neither stored nor pickled."""
        return self.kernel.prepare(self.rows, name="support rows")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "prepared"}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that a state holds."""
        values, columns, starts, _ = checks.core_args(self.rows)
        held = {
            "values": values,
            "duals": self.duals.coefficients,
            "intercept": self.duals.intercept,
        }
        if self.lesson is not None:
            held["target"] = self.lesson.target
            if self.lesson.weight is not None:
                held["weight"] = self.lesson.weight
        return held | ({} if columns is None else {"columns": columns, "starts": starts})

    @property
    def n_bytes(self) -> int:
        """Bytes of these arrays."""
        return sum(array.nbytes for array in self.arrays().values())


def support_model(
    kernel: Kernel, rows: Matrix, duals: Duals, lesson: Lesson | None = None
) -> SupportModel:
    """The model without the rows whose coefficients are all 0; one row stays in any case."""
    used = np.flatnonzero(duals.coefficients.any(axis=1))
    used = used if len(used) else np.zeros(1, dtype=np.intp)
    kept = Duals(np.ascontiguousarray(duals.coefficients[used]), duals.intercept)
    return SupportModel(kernel, rows[used], kept, None if lesson is None else lesson.at(used))


def support_model_of(
    kernel: Kernel, arrays: Mapping[str, Any], width: int, n_scores: int, n_classes: int | None
) -> SupportModel:
    """The model that `SupportModel.arrays` describes, checked: a state may hold anything.

    ``n_classes`` is None for a regression.
    """
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
    lesson = _lesson_of(arrays, rows.shape[0], n_scores, n_classes) if "target" in arrays else None
    return SupportModel(kernel, rows, duals, lesson)


def _lesson_of(
    arrays: Mapping[str, Any], n_rows: int, n_scores: int, n_classes: int | None
) -> Lesson:
    """The lesson of a state, checked."""
    target, weight = arrays["target"], arrays.get("weight")
    if n_classes is None:
        ndim = 1 if n_scores == 1 else 2
        checks.check_learned("targets of support rows", target, ("float64",), ndim)
        right = target.shape == ((n_rows,) if n_scores == 1 else (n_rows, n_scores))
    else:
        checks.check_learned("targets of support rows", target, ("int64",), 1)
        right = target.shape == (n_rows,) and target.min() >= 0 and target.max() < n_classes
    if not right:
        raise ValueError("targets of support rows must be those of a row each.")
    if weight is not None:
        checks.check_learned("weights of support rows", weight, ("float64",), 1)
        if len(weight) != n_rows or (weight <= 0).any():
            raise ValueError("weights of support rows must be above 0, one for each.")
    return Lesson(target, weight)
