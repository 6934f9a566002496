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

    ``keys`` ascend, and rows of one key do; at most ``most`` pairs come at a time. In round t every
    row meets row t of its bucket, if it is behind it.
    """
    if not len(keys):
        return
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    sizes = np.diff(np.append(starts, len(keys)))
    begin = np.repeat(starts, sizes)  # of the bucket of each place
    places = np.arange(len(keys))
    places = places[places > begin]
    for t in range(cap):
        places = places[places > begin[places] + t]
        if not len(places):
            return
        for at in range(0, len(places), max(1, most)):
            some = places[at : at + most]
            yield rows[begin[some] + t], rows[some]


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
            return _equal_slots(self._all, i, j)
        wanted, inverse = np.unique(np.concatenate([i, j]), return_inverse=True)
        read = _as_slots(self._file.read_parts(wanted, wanted + 1), self._slots)
        inverse = inverse.reshape(-1)
        return _equal_slots(read, inverse[: len(i)], inverse[len(i) :])


def _as_slots(sketches: NDArray[Any], slots: int) -> NDArray[np.uint8]:
    return sketches.view(np.uint8).reshape(-1, slots)


def _equal_slots(sketches: NDArray[np.uint8], i: RowIndices, j: RowIndices) -> NDArray[np.int32]:
    out = np.empty(len(i), dtype=np.int32)
    _core.equal_slots_of_pairs(sketches, None, sketches, None, i, j, out, *resources())
    return out
