"""Sorted runs of 64-bit numbers in a temporary file, read back in order, a part at a time.

A merge without a queue: the range of numbers is cut so that what lies in one part of it fits into
memory; of each run the part is one slice, found by halving, and the slices are sorted together.
benchmarks/dedup.py compares it with the sort of DuckDB, which took more than twice as long.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kernelight.tables.row_spool import SpooledArray

Words = NDArray[np.uint64]
_SAMPLES = 64  # numbers of each run that say where to cut


class SortedRuns:
    """Runs of sorted numbers.

    A part ends where the upper half (32 bits) of the numbers changes, so that numbers with the same
    upper half come together.
    """

    def __init__(self, path: str) -> None:
        self._array = SpooledArray(path, np.uint64)
        self._runs: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._array)

    def append(self, run: Words) -> None:
        """Write a run, which is sorted."""
        if len(run):
            start = len(self._array)
            self._array.append(run)
            self._runs.append((start, len(self._array)))

    def close(self) -> None:
        """Close the file, which then vanishes."""
        self._array.close()

    def parts(self, most: int) -> Iterator[Words]:
        """All numbers in order, about ``most`` at a time.

        More only where a single upper half has more.
        """
        before = [start for start, _ in self._runs]
        for cut in [*self._cuts(most), None]:
            slices = []
            for at, (_, stop) in enumerate(self._runs):
                end = stop if cut is None else self._find(before[at], stop, cut)
                if end > before[at]:
                    slices.append(self._array.read(before[at], end))
                before[at] = end
            if slices:
                part = np.concatenate(slices)
                # a merge sort, which is a merge of runs that are there
                part.sort(kind="stable")
                yield part

    def _cuts(self, most: int) -> list[int]:
        """Numbers with a lower half of 0, at which parts begin."""
        total = len(self._array)
        if total <= most:
            return []
        values, weights = [], []
        for start, stop in self._runs:
            at = np.unique(np.linspace(start, stop - 1, _SAMPLES).astype(np.int64))
            values += [int(self._array.read(place, place + 1)[0]) for place in at.tolist()]
            weights += [(stop - start) / len(at)] * len(at)
        order = np.argsort(np.array(values, dtype=np.uint64), kind="stable")
        cuts: list[int] = []
        held = 0.0
        for place in order.tolist():
            held += weights[place]
            cut = values[place] >> 32 << 32
            if held >= most and (not cuts or cut > cuts[-1]):
                cuts.append(cut)
                held = 0.0
        return cuts

    def _find(self, low: int, high: int, number: int) -> int:
        """Where the first number of at least this is between two places of a run."""
        while high - low > 512:
            middle = (low + high) // 2
            if int(self._array.read(middle, middle + 1)[0]) < number:
                low = middle + 1
            else:
                high = middle
        piece = self._array.read(low, high)
        return low + int(np.searchsorted(piece, np.uint64(number), side="left"))
