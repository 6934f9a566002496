"""What kernels do to rows before comparing them: scaling by row, peaks of rows, centres."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.base.checks import Matrix, within_floats


def is_sparse(X: Matrix) -> bool:
    """Whether a checked matrix is CSR; if not, it is an array."""
    return bool(sp.issparse(X))


def row_peaks(X: Matrix) -> NDArray[Any]:
    """The largest absolute value of each row (0 for an empty one)."""
    if not is_sparse(X):
        if X.shape[1] == 0:
            return np.zeros(X.shape[0], X.dtype)
        return np.asarray(np.maximum(X.max(axis=1), -X.min(axis=1)))
    peaks = np.zeros(X.shape[0], X.dtype)
    filled = np.flatnonzero(np.diff(X.indptr))
    if filled.size:
        peaks[filled] = np.maximum.reduceat(np.abs(X.data[: X.indptr[-1]]), X.indptr[filled])
    return peaks


def unit_rows(X: Matrix, order: int) -> Matrix:
    """``X`` with rows of L1 norm (``order=1``) or L2 norm (``order=2``) one; rows of zeros stay.

    Each row is divided by its peak first, so that no norm overflows or vanishes; norms are summed
    in double.
    """
    peaks = row_peaks(X)
    peaks[peaks == 0] = 1
    Z = scale_rows(X, peaks)
    values = Z.data if is_sparse(Z) else Z
    powers = np.abs(values) if order == 1 else np.square(values)
    sums = _row_sums(Z, powers)
    sums[sums == 0] = 1
    norms = (sums if order == 1 else np.sqrt(sums)).astype(X.dtype)
    values /= _by_stored_value(Z, norms)
    return Z


def scale_rows(X: Matrix, divisors: NDArray[Any]) -> Matrix:
    """A copy of ``X`` with each row divided by its divisor."""
    if not is_sparse(X):
        return X / divisors[:, None]
    return with_values(X, X.data[: X.indptr[-1]] / _by_stored_value(X, divisors))


def with_values(X: Matrix, values: NDArray[Any]) -> Matrix:
    """The CSR matrix ``X`` with other values in the same places."""
    end = X.indptr[-1]
    return type(X)((values, X.indices[:end], X.indptr), shape=X.shape, copy=False)


def _by_stored_value(X: Matrix, per_row: NDArray[Any]) -> NDArray[Any]:
    return np.repeat(per_row, np.diff(X.indptr)) if is_sparse(X) else per_row[:, None]


def _row_sums(X: Matrix, powers: NDArray[Any]) -> NDArray[np.float64]:
    if not is_sparse(X):
        return np.asarray(powers.sum(axis=1, dtype=np.float64))
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.bincount(rows, weights=powers, minlength=X.shape[0]).astype(np.float64, copy=False)


def as_center(center: Any) -> tuple[float, ...]:
    """A centre vector as a tuple of finite floats."""
    values = np.asarray(center).tolist()
    if not isinstance(values, list) or any(not isinstance(value, numbers.Real) for value in values):
        raise TypeError("center must be one number for each column, such as X.mean(axis=0).")
    with within_floats("center"):
        floats = tuple(float(value) for value in values)
    if not all(map(math.isfinite, floats)):
        raise ValueError("center must hold finite numbers.")
    return floats


def check_center_fits(X: Matrix, center: tuple[float, ...], *, name: str = "X") -> None:
    """Refuse a centre for sparse rows or rows of another width."""
    if sp.issparse(X):
        raise ValueError(
            f"A center cannot go with sparse input: it would fill every zero of {name}; pass a "
            "dense array, or leave center=None."
        )
    if X.shape[1] != len(center):
        raise ValueError(
            f"{name} has {counted(X.shape[1], 'column')} but center has "
            f"{counted(len(center), 'value')}."
        )
    largest = max(abs(float(X.max())), abs(float(X.min()))) if X.size else 0.0
    if largest + max(map(abs, center), default=0.0) > float(np.finfo(X.dtype).max):
        raise ValueError(f"{name} minus center would overflow: scale both down first.")
