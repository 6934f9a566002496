"""Sparse matrices from users and files, checked before anything follows their indices.

scipy's compiled conversions trust the arrays of a sparse matrix, and its own ``check_format`` looks
at the contents of those arrays only if the last entry of ``indptr`` is above 0. A damaged matrix,
which may come from a file, would make them read and write outside of it. So every sparse matrix
that comes from a user or a file passes through here first.

Compressed formats (CSR, CSC, BSR) have lines: rows, columns, rows of blocks. Line i owns the
entries indptr[i] to indptr[i + 1], and the matrix is sound if and only if

    len(indptr) = lines + 1,
    0 = indptr[0] <= indptr[1] <= ... <= indptr[-1] <= min(len(indices), len(data)),
    0 <= indices[e] < width    for every e < indptr[-1].
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base import counted


def sound_csr(X: Any, name: str = "X") -> Any:
    """A sparse matrix of any format as sound CSR of float32 or float64; else a ValueError.

    No index of the result points outside of it.

    The result shares arrays with ``X`` where it can, and ``X`` is left as it is; indices may be
    unsorted and occur twice. It is a new object in any case: flags that scipy keeps with a matrix
    may be older than its arrays.
    """
    try:
        return _CONVERSIONS[X.format](X)
    except (TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        raise ValueError(
            f"{name} is not a valid sparse matrix: {str(error).rstrip('.')}."
        ) from error


def compressed(
    form: str, data: Any, indices: Any, indptr: Any, shape: Any, kind: Any = None
) -> Any:
    """A CSR, CSC or BSR matrix of arrays that may be damaged; then a ValueError.

    ``form`` is "csr", "csc" or "bsr". ``kind`` is the class of scipy, ``csr_matrix`` and so on if
    None.
    """
    data, indices, indptr = _floats(data), np.asarray(indices), np.asarray(indptr)
    n_rows, n_columns = (int(extent) for extent in shape)
    n_lines, width = (n_columns, n_rows) if form == "csc" else (n_rows, n_columns)
    if form == "bsr":
        if data.ndim != 3 or 0 in data.shape[1:]:
            raise ValueError("data must be blocks, an array of three dimensions")
        height, breadth = data.shape[1:]
        if n_rows % height or n_columns % breadth:
            raise ValueError(
                f"blocks of {height} x {breadth} do not fill a matrix of {n_rows} x {n_columns}"
            )
        n_lines, width = n_rows // height, n_columns // breadth
    elif data.ndim != 1:
        raise ValueError(f"data must have one dimension, got {data.ndim}")
    _refuse_no_indices("indices", indices)
    _refuse_no_indices("indptr", indptr)
    if len(indptr) != n_lines + 1:
        raise ValueError(f"indptr must have {n_lines + 1} entries, got {len(indptr)}")
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("indptr must begin with 0 and never fall")
    end, stored = int(indptr[-1]), min(len(indices), len(data))
    if end > stored or len(indices) != len(data):
        raise ValueError(
            f"indptr promises {end} entries, indices has {len(indices)} and data {len(data)}"
        )
    data, indices = data[:end], indices[:end]  # arrays that are longer than the matrix are legal
    _refuse_outside("indices", indices, width)
    index = np.int32 if max(end, n_rows, n_columns) <= np.iinfo(np.int32).max else np.int64
    if np.result_type(indices, indptr) == np.int64:
        index = np.int64  # as it is: no copy
    make = kind or {"csr": sp.csr_matrix, "csc": sp.csc_matrix, "bsr": sp.bsr_matrix}[form]
    return make(
        (data, indices.astype(index, copy=False), indptr.astype(index, copy=False)),
        shape=(n_rows, n_columns),
        copy=False,
    )


def _floats(values: Any) -> NDArray[Any]:
    """Values as floats, before any are added up: sums of small integers would overflow."""
    data = np.asarray(values)
    if data.dtype in (np.float32, np.float64):
        return data
    if data.dtype.kind not in "biufO":
        raise ValueError(f"its values are {data.dtype}, not numbers")
    with np.errstate(over="ignore"):  # infinity is refused later, with its position
        return data.astype(np.float32 if data.dtype == np.float16 else np.float64)


def _refuse_no_indices(name: str, numbers: NDArray[Any]) -> None:
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a list of whole numbers, got {numbers.dtype} of shape {numbers.shape}"
        )


def _refuse_outside(name: str, numbers: NDArray[Any], count: int) -> None:
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= count):
        raise ValueError(
            f"{name} must be between 0 and {count - 1}, got {numbers.min()} to {numbers.max()}"
        )


def _from_compressed(X: Any) -> Any:
    return compressed(X.format, X.data, X.indices, X.indptr, X.shape, type(X)).tocsr()


def _from_coordinates(X: Any) -> Any:
    if X.ndim != 2:
        raise ValueError(f"it has {counted(X.ndim, 'dimension')}")
    data, row, column = _floats(X.data), np.asarray(X.row), np.asarray(X.col)
    if not data.shape == row.shape == column.shape or data.ndim != 1:
        raise ValueError(f"row has the shape {row.shape}, col {column.shape} and data {data.shape}")
    for name, places, count in (("row", row, X.shape[0]), ("col", column, X.shape[1])):
        _refuse_no_indices(name, places)
        _refuse_outside(name, places, count)
    return type(X)((data, (row, column)), shape=X.shape, copy=False).tocsr()


def _from_diagonals(X: Any) -> Any:
    data, offsets = _floats(X.data), np.asarray(X.offsets)
    _refuse_no_indices("offsets", offsets)
    if data.ndim != 2 or len(data) != len(offsets) or len(np.unique(offsets)) != len(offsets):
        raise ValueError(
            f"offsets must be {len(data)} different numbers, one for each diagonal, got "
            f"{len(offsets)}"
        )
    # a diagonal beyond the corners has no entry
    inside = (offsets > -X.shape[0]) & (offsets < X.shape[1])
    return type(X)((data[inside], offsets[inside]), shape=X.shape).tocsr()


def _from_lists(X: Any) -> Any:
    if len(X.rows) != X.shape[0] or len(X.data) != X.shape[0]:
        raise ValueError(
            f"it has {len(X.rows)} lists of columns and {len(X.data)} of values for {X.shape[0]} "
            "rows"
        )
    lengths = np.fromiter(map(len, X.rows), np.int64, len(X.rows))
    wrong = np.flatnonzero(lengths != np.fromiter(map(len, X.data), np.int64, len(X.data)))
    if len(wrong):
        raise ValueError(f"row {wrong[0]} has other numbers of columns and values")
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    columns = np.array(list(chain.from_iterable(X.rows)) or np.zeros(0, np.int64))
    data = np.array(list(chain.from_iterable(X.data)), dtype=X.dtype)
    kind = sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix
    return compressed("csr", data, columns, indptr, X.shape, kind)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "csr": _from_compressed,
    "csc": _from_compressed,
    "bsr": _from_compressed,
    "coo": _from_coordinates,
    "dia": _from_diagonals,
    "lil": _from_lists,
    # made of Python's numbers, and checked as it is made
    "dok": lambda X: _from_coordinates(X.tocoo()),
}
