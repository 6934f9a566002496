"""Candidates of bands on disk: pairs of a bucket, whose sketches agree, on their way into runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import resources
from kernelight.neighbors.band_plan import BandPlan
from kernelight.neighbors.duplicates import RowIndices
from kernelight.tables.row_spool import SpooledArray
from kernelight.tables.sorted_runs import SortedRuns, Words


def bucket_pairs(
    keys: Words, rows: RowIndices, cap: int, most: int
) -> Iterator[tuple[RowIndices, RowIndices]]:
    """Pairs (i < j) of rows of one key, each row with the first ``cap`` of its bucket.

    ``keys`` ascend, and rows of one key do; at most ``most`` pairs come at a time.
    """
    begin = bucket_begins(keys)
    before = np.arange(len(keys)) - begin
    for met, place in meetings(begin, np.minimum(before, cap), most):
        yield rows[met], rows[place]


def bucket_begins(keys: NDArray[Any]) -> RowIndices:
    """For each place the first place of its key; keys ascend."""
    if not len(keys):
        return np.zeros(0, np.int64)
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return np.repeat(starts, np.diff(np.append(starts, len(keys))))


def meetings(
    begin: RowIndices, count: RowIndices, most: int
) -> Iterator[tuple[RowIndices, RowIndices]]:
    """Each place with the first ``count`` places from its ``begin``, at most ``most`` at a time.

    >>> from kernelight.tables.bucket_candidates import meetings
    >>> [[met.tolist(), place.tolist()] for met, place in meetings(
    ...     np.array([0, 0, 0, 3, 3]), np.array([0, 1, 2, 0, 1]), 2)]
    [[[0, 0], [1, 2]], [[1, 3], [2, 4]]]
    """
    most, ends = max(1, most), np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    first = begin - (ends - count)  # of a place, what its pairs are moved by
    for at in range(0, total, most):
        pair = np.arange(at, min(at + most, total))
        low, last = np.searchsorted(ends, pair[[0, -1]], side="right").tolist()
        high = last + 1
        times = np.minimum(ends[low:high], pair[-1] + 1) - np.maximum(
            ends[low:high] - count[low:high], at
        )
        yield pair + np.repeat(first[low:high], times), np.repeat(np.arange(low, high), times)


def n_capped(keys: Words, cap: int) -> int:
    """Buckets of more rows than the cap."""
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else keys[:0]
    return int((np.diff(np.append(starts, len(keys))) > cap).sum()) if len(keys) else 0


class WaitingWords:
    """Different numbers on their way into sorted runs: no more than so many wait.

    They are sorted where they are, so that a run takes as much memory again and no more.
    """

    def __init__(self, runs: SortedRuns, most: int) -> None:
        self._runs, self._count = runs, 0
        self._waiting = np.empty(max(1, most), dtype=np.uint64)

    def add(self, words: Words) -> None:
        """Take more numbers."""
        while len(words):
            some = words[: len(self._waiting) - self._count]
            self._waiting[self._count : self._count + len(some)] = some
            self._count += len(some)
            words = words[len(some) :]
            if self._count == len(self._waiting):
                self.write()

    def write(self) -> None:
        """Write those that wait."""
        words = self._waiting[: self._count]
        words.sort()
        self._runs.append(words[np.append(True, words[1:] != words[:-1])[: len(words)]])
        self._count = 0


class EnoughEqual:
    """Whether sketches agree in enough slots."""

    def __init__(self, sketches: SpooledArray, plan: BandPlan, n_rows: int, room: int) -> None:
        self._file, self._slots, self._least = sketches, plan.sketch_slots, plan.least_equal
        self._all: NDArray[np.uint8] | None = None
        if self._slots and n_rows * self._slots <= room:
            self._all = _as_slots(sketches.read(0, len(sketches)), self._slots)
        self._pairs = max(1 << 12, room // (4 * max(1, self._slots)))

    def __call__(self, i: RowIndices, j: RowIndices) -> NDArray[np.bool_]:
        if not self._slots:
            return np.ones(len(i), dtype=bool)
        good = np.empty(len(i), dtype=bool)
        for start in range(0, len(i), self._pairs):
            some = slice(start, start + self._pairs)
            good[some] = self._equal(i[some], j[some]) >= self._least
        return good

    def _equal(self, i: RowIndices, j: RowIndices) -> NDArray[Any]:
        if self._all is not None:
            return equal_slots_of(self._all, i, j)
        wanted, inverse = np.unique(np.concatenate([i, j]), return_inverse=True)
        read = _as_slots(self._file.read_parts(wanted, wanted + 1), self._slots)
        inverse = inverse.reshape(-1)
        return equal_slots_of(read, inverse[: len(i)], inverse[len(i) :])


def _as_slots(sketches: NDArray[Any], slots: int) -> NDArray[np.uint8]:
    return sketches.view(np.uint8).reshape(-1, slots)


def equal_slots_of(sketches: NDArray[np.uint8], i: RowIndices, j: RowIndices) -> NDArray[np.int32]:
    out = np.empty(len(i), dtype=np.int32)
    _core.equal_slots_of_pairs(sketches, None, sketches, None, i, j, out, *resources())
    return out
