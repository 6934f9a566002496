"""Rows of a training set that are kept, in memory or on disk, in chunks that are random samples.

Rows come in batches, in the order of a file, which may be sorted. Each batch is dealt out to all
chunks in a random order, like cards: every chunk has nearly as many rows as any other, and each is
a fair sample of all rows. A block is some chunks, which are in memory together. Other chunks come
together in every pass: coordinate descent that meets the same blocks again and again is slow, as
one block undoes what the other has done.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.base import bytes_text
from kernelight.base.checks import Resources
from kernelight.base.files import naming
from kernelight.codes import Codes
from kernelight.linear.design import CodeDesign, DesignMatrix, MatrixDesign, Targets, code_counts

CHUNKS = 16  # of a block on disk: enough of them to mix, few enough to be read quickly
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT) if hasattr(errno, "EDQUOT") else (errno.ENOSPC,)


class Block(NamedTuple):
    """Rows that are in memory: their places among all rows, what they are, and their targets."""

    places: Any
    design: DesignMatrix
    targets: Targets


class StoredRows:
    """Codes or dense features of ``n_rows`` rows, with their targets.

    If they are more than ``block_rows``, they are on disk: in a file without a name in the folder
    for temporary files, which vanishes with this object or with the process. Targets, and what
    is known of each row, are in memory.
    """

    def __init__(self, n_rows: int, block_rows: int, seed: int, resources: Resources) -> None:
        self.n_rows, self._resources = n_rows, resources
        self._on_disk = n_rows > block_rows
        self.n_blocks = -(-n_rows // block_rows)
        n_chunks = min(CHUNKS * self.n_blocks, n_rows) if self._on_disk else 1
        self._start = np.concatenate([[0], np.cumsum(dealt_to(n_rows, n_chunks))])
        self._filled, self._dealt = self._start[:-1].copy(), 0
        self._random = np.random.default_rng(seed)
        self._file: Any = None
        self._array: NDArray[Any] | None = None
        self._none: Any = None  # no rows, of the kind that was added
        self._targets: Targets | None = None
        self._empty = np.zeros(n_rows, dtype=np.bool_)
        self._counts: NDArray[Any] | None = None
        self._layouts: dict[int, Any] = {}

    def add(self, X: Any, targets: Targets) -> None:
        """Deal out the rows of a batch."""
        values = X.array if isinstance(X, Codes) else X
        if self._none is None:
            self._none = X[:0]
            self._make_room(values)
            self._targets = _empty_like(targets, self.n_rows)
        empty = None
        if isinstance(X, Codes):
            empty = X.empty
            counts = code_counts(X, self._resources)
            self._counts = counts if self._counts is None else self._counts + counts
        order, n_chunks = self._random.permutation(len(values)), len(self._filled)
        for at in range(n_chunks):
            rows = order[(at - self._dealt) % n_chunks :: n_chunks]
            place = slice(self._filled[at], self._filled[at] + len(rows))
            self._write(values[rows], place)
            _write_targets(self._targets, targets, rows, place)
            if empty is not None:
                self._empty[place] = empty[rows]
            self._filled[at] = place.stop
        self._dealt += len(values)

    def blocks(self, random: np.random.Generator) -> Iterator[Block]:
        """All rows in blocks: chunks that are drawn at random."""
        order = random.permutation(len(self._filled))
        for chunks in np.array_split(order, self.n_blocks):
            ranges = [slice(int(self._start[at]), int(self._start[at + 1])) for at in chunks]
            places: Any = slice(0, self.n_rows)
            if self.n_blocks > 1:
                places = np.concatenate([np.arange(each.start, each.stop) for each in ranges])
            yield Block(places, self._design(self._read(ranges), places), self._targets_of(places))

    def _design(self, values: NDArray[Any], places: Any) -> DesignMatrix:
        """Rows as the solver takes them; the weights of all blocks lie alike."""
        if not isinstance(self._none, Codes):
            return MatrixDesign(values, values.dtype, self._resources)
        codes = self._none._like(values, empty=self._empty[places])
        design = CodeDesign(codes, np.float32, self._resources, counts=self._counts, ranked=False)
        design.share_layouts(self._layouts)
        return design

    def _targets_of(self, places: Any) -> Targets:
        return self.targets.of_rows(places, self.targets.row_cost[places])

    @property
    def targets(self) -> Targets:
        """The targets of all rows, block after block."""
        assert self._targets is not None
        return self._targets

    def close(self) -> None:
        """Forget all rows; their file vanishes."""
        self._array = None
        if self._file is not None:
            self._file.close()

    # -- Memory and disk

    def _make_room(self, values: NDArray[Any]) -> None:
        """Room for all rows, so that a disk that is too small is noticed before the work."""
        shape = (self.n_rows, values.shape[1])
        if not self._on_disk:
            self._array = np.empty(shape, dtype=values.dtype)
            return
        folder = tempfile.gettempdir()
        n_bytes = self.n_rows * values.shape[1] * values.itemsize
        with naming(folder, instead=True):
            # not buffered: blocks are large
            self._file = tempfile.TemporaryFile(  # noqa: SIM115 (closed by close)
                dir=folder, prefix=".kernelight-", buffering=0
            )
        if not hasattr(os, "posix_fallocate"):
            return
        try:
            os.posix_fallocate(self._file.fileno(), 0, n_bytes)
        except OSError as error:
            if error.errno in _DISK_FULL:
                raise OSError(
                    error.errno,
                    f"No room for {bytes_text(n_bytes)}, the codes of {self.n_rows:,} rows: set "
                    "TMPDIR to a folder with room",
                    folder,
                ) from error

    def _write(self, values: NDArray[Any], place: slice) -> None:
        if self._array is not None:
            self._array[place] = values
            return
        content = np.ascontiguousarray(values).data.cast("B")
        with naming(tempfile.gettempdir(), instead=True):
            self._file.seek(place.start * (len(content) // max(1, len(values))))
            while len(content):
                content = content[self._file.write(content) :]

    def _read(self, ranges: list[slice]) -> NDArray[Any]:
        if self._array is not None:
            return self._array
        none = self._none.array if isinstance(self._none, Codes) else self._none
        n_rows = sum(each.stop - each.start for each in ranges)
        values = np.empty((n_rows, none.shape[1]), dtype=none.dtype)
        content, row_bytes = values.data.cast("B"), none.shape[1] * none.itemsize
        with naming(tempfile.gettempdir(), instead=True):
            for each in ranges:
                self._file.seek(each.start * row_bytes)
                left = (each.stop - each.start) * row_bytes
                while left:
                    count = self._file.readinto(content[:left])
                    if not count:
                        raise OSError(errno.EIO, os.strerror(errno.EIO))
                    content, left = content[count:], left - count
        return values


def dealt_to(n_rows: int, n_chunks: int) -> NDArray[np.int64]:
    """How many of ``n_rows`` rows each chunk gets."""
    return (n_rows + n_chunks - 1 - np.arange(n_chunks)) // n_chunks


def _empty_like(targets: Targets, n_rows: int) -> Targets:
    """Targets of so many rows, to be filled in; the factors of outputs are those given."""

    def room(array: Any) -> Any:
        return None if array is None else np.empty((n_rows, *array.shape[1:]), dtype=array.dtype)

    return Targets(
        room(targets.labels),
        room(targets.values),
        room(targets.row_cost),
        targets.above,
        targets.below,
    )


def _write_targets(
    into: Targets | None, targets: Targets, rows: NDArray[np.intp], place: slice
) -> None:
    assert into is not None
    for name in ("labels", "values", "row_cost"):
        if getattr(into, name) is not None:
            getattr(into, name)[place] = getattr(targets, name)[rows]
