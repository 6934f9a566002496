"""Stored rows of a segment, dense or sparse: some of them at a time, and merged.

They are as the exact kernel takes them: prepared, float32 or float64. Numbers of a damaged file are
checked before anything follows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base.checks import Matrix, as_matrix
from kernelight.base.sparse import compressed
from kernelight.neighbors.index.array_file import bytes_of
from kernelight.state import Pieces
from kernelight.state.safetensors import altered

DENSE, SPARSE = "dense", "sparse"
_FLOATS = ("<f4", "<f8")
Place = tuple[NDArray[np.int64], NDArray[np.int64]]  # which segment, and which row of it


def as_form(X: Matrix, form: str | None) -> Matrix:
    """Checked rows in the form of an index; None takes them as they are."""
    if form == DENSE and sp.issparse(X):
        return np.ascontiguousarray(X.toarray())
    if form == SPARSE and not sp.issparse(X):
        return as_matrix(sp.csr_matrix(X))
    return X


def form_of(X: Matrix) -> str:
    """ "dense" or "sparse"."""
    return SPARSE if sp.issparse(X) else DENSE


def arrays_of(X: Matrix) -> dict[str, NDArray[Any]]:
    """What is stored of checked rows."""
    if not sp.issparse(X):
        return {"rows": X}
    end = int(X.indptr[-1])
    column = np.int32 if X.shape[1] <= np.iinfo(np.int32).max else np.int64
    return {
        "row_starts": X.indptr.astype(np.int64),
        "row_columns": X.indices[:end].astype(column),
        "row_values": X.data[:end],
    }


def layout(form: str, n_rows: int, width: int) -> dict[str, tuple[Any, tuple[int | None, ...]]]:
    """dtypes and shapes of what is stored; None is any length."""
    if form == DENSE:
        return {"rows": (_FLOATS, (n_rows, width))}
    return {
        "row_starts": ("<i8", (n_rows + 1,)),
        "row_columns": ("<i4" if width <= np.iinfo(np.int32).max else "<i8", (None,)),
        "row_values": (_FLOATS, (None,)),
    }


class RowStore:
    """The stored rows of a segment."""

    def __init__(
        self, form: str, arrays: Mapping[str, NDArray[Any]], width: int, where: str
    ) -> None:
        self.form, self._width, self._where = form, width, where
        self._arrays = arrays
        self.values = arrays["rows" if form == DENSE else "row_values"]
        if form == SPARSE and len(arrays["row_columns"]) != len(self.values):
            raise altered(where, "its rows have other numbers of columns and values")

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """Some rows, as a checked matrix."""
        try:
            if self.form == DENSE:
                return as_matrix(np.ascontiguousarray(self.values[rows]))
            places, starts = self.places(rows)
            taken = compressed(
                "csr",
                self.values[places],
                self._arrays["row_columns"][places],
                starts,
                (len(rows), self._width),
            )
            return as_matrix(taken)
        except ValueError as error:
            raise altered(self._where, f"a stored row is none ({str(error).rstrip('.')})") from None

    def places(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the entries of sparse rows are, and where those of each row begin."""
        begins, ends = self._bounds(rows)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - begins)])
        return np.repeat(begins - starts[:-1], ends - begins) + np.arange(starts[-1]), starts

    def lengths(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many entries sparse rows have."""
        begins, ends = self._bounds(rows)
        return ends - begins

    def columns(self) -> NDArray[Any]:
        """The columns of the entries of sparse rows."""
        return self._arrays["row_columns"]

    def _bounds(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        starts = self._arrays["row_starts"]
        begins, ends = starts[rows], starts[rows + 1]
        if (begins < 0).any() or (begins > ends).any() or (ends > len(self.values)).any():
            raise altered(self._where, "a stored row lies outside of its entries")
        return begins, ends


def merged_rows(
    stores: Sequence[RowStore], place: Place, width: int, step: int
) -> dict[str, Pieces]:
    """The rows at some places of several stores, one after the other, ``step`` rows at a time."""
    segment, row = place
    dtype = np.result_type(*(store.values.dtype for store in stores))
    if stores[0].form == DENSE:
        chunk = max(1, step // max(1, width))

        def dense() -> Iterator[memoryview]:
            for at in range(0, len(row), chunk):
                part = slice(at, at + chunk)
                block = np.empty((len(row[part]), width), dtype=dtype)
                for number, mine in _by_segment(segment[part]):
                    block[mine] = stores[number].values[row[part][mine]]
                yield bytes_of(block)

        return {"rows": Pieces(dtype, (len(row), width), dense)}
    lengths = np.empty(len(row), dtype=np.int64)
    for number, mine in _by_segment(segment):
        lengths[mine] = stores[number].lengths(row[mine])
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    chunk = max(1, step * len(row) // max(1, int(starts[-1])))

    def entries(what: str, dtype: np.dtype[Any]) -> Pieces:
        def read() -> Iterator[memoryview]:
            for at in range(0, len(row), chunk):
                part = slice(at, min(at + chunk, len(row)))
                first = starts[part.start]
                block = np.empty(starts[part.stop] - first, dtype=dtype)
                for number, mine in _by_segment(segment[part]):
                    store = stores[number]
                    source, inner = store.places(row[part][mine])
                    begins = starts[part][mine] - first
                    target = np.repeat(begins - inner[:-1], np.diff(inner)) + np.arange(inner[-1])
                    block[target] = (store.values if what == "values" else store.columns())[source]
                yield bytes_of(block)

        return Pieces(dtype, (int(starts[-1]),), read)

    return {
        "row_starts": Pieces(starts.dtype, starts.shape, lambda: (bytes_of(starts),)),
        "row_columns": entries("columns", stores[0].columns().dtype),
        "row_values": entries("values", dtype),
    }


def _by_segment(segment: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Each segment that occurs, and where."""
    for number in np.unique(segment).tolist():
        yield number, np.flatnonzero(segment == number)
