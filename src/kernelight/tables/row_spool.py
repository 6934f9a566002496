"""Rows that wait in temporary files: written once in their order, read back by their numbers.

The files have no name where the system has such files, so that nothing is left of a process that is
killed. They are read by calls, not mapped: pages of a mapped file would count as memory.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base.checks import Matrix
from kernelight.base.files import naming
from kernelight.neighbors.equal_rows import (
    RowIndices,
    empty_rows,
    equal_pairs,
    first_equal_rows,
    row_fingerprints,
)

GAP = 1 << 14  # bytes that are read and not needed, rather than with another call
PIECE = 1 << 20  # bytes that one call reads of scattered ranges, and what else they take
_LEVELS = 4  # how much larger each sorted list of fingerprints is than the next


class SpooledArray:
    """An array of one type in a temporary file, which grows at its end."""

    def __init__(self, path: str, dtype: Any) -> None:
        self._path, self.dtype, self._count = path, np.dtype(dtype), 0
        folder = os.path.dirname(os.path.realpath(path))
        with naming(path, instead=True):
            # without a buffer, which would be written once more, and fail again, when it is closed
            self._file = tempfile.TemporaryFile(buffering=0, dir=folder, prefix=".kernelight-")  # noqa: SIM115 (closed by close)

    def __len__(self) -> int:
        return self._count

    def append(self, values: NDArray[Any]) -> None:
        """Write more values behind the others."""
        flat = np.ascontiguousarray(values, dtype=self.dtype).reshape(-1)
        view = memoryview(flat.view(np.uint8)) if flat.size else memoryview(b"")  # type: ignore[arg-type]
        with naming(self._path, instead=True):
            while len(view):
                view = view[self._file.write(view) :]
        self._count += int(flat.size)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """The values from start to stop."""
        out = np.empty(max(0, stop - start), dtype=self.dtype)
        view, at = memoryview(out.view(np.uint8)), start * self.dtype.itemsize  # type: ignore[arg-type]
        with naming(self._path, instead=True):
            while len(view):
                done = os.preadv(self._file.fileno(), [view], at)
                if not done:
                    raise OSError(5, "A temporary file is cut off", self._path)
                view, at = view[done:], at + done
        return out

    def read_parts(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[Any]:
        """Several ranges, which ascend and do not overlap, one after the other."""
        out = np.empty(int((stops - starts).sum()), dtype=self.dtype)
        if not len(starts):
            return out
        # ranges with small gaps between them are read by one call, unless that would be large
        each = self.dtype.itemsize
        apart = starts[1:] - stops[:-1] > GAP // each
        apart |= starts[1:] * each // PIECE != starts[:-1] * each // PIECE
        far = np.flatnonzero(apart) + 1
        first = np.concatenate([[0], far])
        last = np.concatenate([far, [len(starts)]])
        at = 0
        for low, high in zip(first.tolist(), last.tolist(), strict=True):
            begin = int(starts[low])
            piece = self.read(begin, int(stops[high - 1]))
            some = _ranges(starts[low:high] - begin, stops[low:high] - begin)
            out[at : at + len(some)] = piece[some]
            at += len(some)
        return out

    def close(self) -> None:
        """Close the file, which then vanishes."""
        self._file.close()


def _ranges(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of several ranges, one after the other."""
    lengths = stops - starts
    ends = np.cumsum(lengths)
    return np.asarray(np.arange(int(ends[-1])) + np.repeat(starts - (ends - lengths), lengths))


class RowSpool:
    """Rows of a matrix in temporary files, CSR or dense as the first of them."""

    def __init__(self, path: str, like: Matrix) -> None:
        self.shape: tuple[int, int] = (0, like.shape[1])
        self._sparse = sp.issparse(like)
        self._values = SpooledArray(path, like.dtype)
        self._indices = SpooledArray(path, np.int64 if like.shape[1] >= 2**31 else np.int32)
        self._starts: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self._indptr = self._starts[0]

    def append(self, X: Matrix) -> None:
        """Write more rows."""
        if self._sparse:
            last = int(self._starts[-1][-1])
            self._values.append(X.data)
            self._indices.append(X.indices)
            self._starts.append(last + X.indptr[1:].astype(np.int64))
        else:
            self._values.append(X)
        self.shape = (self.shape[0] + X.shape[0], self.shape[1])

    def close(self) -> None:
        """Close the files, which then vanish."""
        self._values.close()
        self._indices.close()

    @property
    def row_bytes(self) -> int:
        """The average bytes of a row."""
        each = self._values.dtype.itemsize + (self._indices.dtype.itemsize if self._sparse else 0)
        return int(len(self._values) * each // max(1, self.shape[0])) + 16

    def _offsets(self) -> NDArray[np.int64]:
        if len(self._starts) > 1:
            self._indptr = np.concatenate(
                [self._indptr, *self._starts[1:]] if len(self._indptr) > 1 else self._starts
            )
            self._starts = [self._indptr[-1:]]
        return self._indptr

    def take(self, rows: RowIndices) -> Matrix:
        """Some rows, whose numbers ascend."""
        rows = np.asarray(rows, dtype=np.int64)
        if not self._sparse:
            width = self.shape[1]
            values = self._values.read_parts(rows * width, (rows + 1) * width)
            return values.reshape(len(rows), width)
        offsets = self._offsets()
        starts, stops = offsets[rows], offsets[rows + 1]
        data = self._values.read_parts(starts, stops)
        indices = self._indices.read_parts(starts, stops)
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(stops - starts)])
        if indptr[-1] < 2**31:
            indptr = indptr.astype(indices.dtype)
        shape = (len(rows), self.shape[1])
        return sp.csr_matrix((data, indices, indptr), shape=shape, copy=False)

    def slice(self, start: int, stop: int) -> Matrix:
        """The rows from start to stop."""
        return self.take(np.arange(start, min(stop, self.shape[0])))


class DistinctRows:
    """Rows that are not equal to an earlier one, spooled as they come.

    Fingerprints of all distinct rows are in memory, in a few sorted lists; rows of equal
    fingerprints are compared with what was spooled. Rows of zeros are their own, or equal with
    ``unite_empty``.
    """

    def __init__(self, path: str, like: Matrix, *, unite_empty: bool = False) -> None:
        self.spool = RowSpool(path, like)
        self._unite_empty = unite_empty
        self._keys: list[NDArray[np.uint64]] = []
        self._places: list[NDArray[np.int64]] = []
        self._others: dict[int, list[int]] = {}  # rows whose fingerprint another row has

    def add(self, X: Matrix) -> RowIndices:
        """Spool what is new of some rows; for each row the place of its content."""
        first = first_equal_rows(X, unite_empty=self._unite_empty)
        own = np.flatnonzero(first == np.arange(X.shape[0]))
        place = np.full(X.shape[0], -1)
        keys = row_fingerprints(X)
        filled = own if self._unite_empty else own[~empty_rows(X)[own]]
        known = self._known(X, filled, keys[filled])
        place[filled] = known
        new = own[place[own] < 0]
        place[new] = self.spool.shape[0] + np.arange(len(new))
        self.spool.append(X[new])
        fresh = new[np.isin(new, filled)]
        self._remember(keys[fresh], place[fresh])
        return place[first]

    def _known(self, X: Matrix, rows: RowIndices, keys: NDArray[np.uint64]) -> RowIndices:
        """The places of rows that are spooled already; -1 for others."""
        found = np.full(len(rows), -1)
        for level, places in zip(self._keys, self._places, strict=True):
            at = np.minimum(np.searchsorted(level, keys), len(level) - 1)
            same = (found < 0) & (level[at] == keys)
            found[same] = places[at[same]]
        hits = np.flatnonzero(found >= 0)
        if len(hits):
            wanted, inverse = np.unique(found[hits], return_inverse=True)
            equal = equal_pairs(X, rows[hits], self.spool.take(wanted), inverse.reshape(-1))
            for at in hits[~equal].tolist():
                found[at] = self._among_others(X, int(rows[at]), int(keys[at]))
        return found

    def _among_others(self, X: Matrix, row: int, key: int) -> int:
        for place in self._others.get(key, []):
            there = self.spool.take(np.array([place]))
            if equal_pairs(X, np.array([row]), there, np.array([0]))[0]:
                return place
        return -1

    def _remember(self, keys: NDArray[np.uint64], places: RowIndices) -> None:
        if not len(keys):
            return
        order = np.lexsort((places, keys))
        keys, places = keys[order], places[order]
        twice = np.append(False, keys[1:] == keys[:-1])
        for level in self._keys:
            at = np.minimum(np.searchsorted(level, keys), len(level) - 1)
            twice |= level[at] == keys
        for key, place in zip(keys[twice].tolist(), places[twice].tolist(), strict=True):
            self._others.setdefault(key, []).append(place)
        keys, places = keys[~twice], places[~twice]
        if not len(keys):
            return
        while self._keys and len(self._keys[-1]) < _LEVELS * len(keys):
            keys = np.concatenate([self._keys.pop(), keys])
            places = np.concatenate([self._places.pop(), places])
            order = np.argsort(keys, kind="stable")
            keys, places = keys[order], places[order]
        self._keys.append(keys)
        self._places.append(places)
