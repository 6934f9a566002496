"""Near-duplicate pairs of a file: in memory, or in a temporary file where there may be many.

A pair is a row, another row that stands before it in the order of visits, and their similarity.
Pairs come in the order of a table of pairs: by row, the most similar first, some at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kernelight.neighbors.duplicates import LAST, RowIndices
from kernelight.neighbors.pairs import NeighborPairs
from kernelight.tables.row_spool import SpooledArray

AT_ONCE = 1 << 16  # pairs that are read at a time
RECORD = np.dtype([("row", np.uint32), ("other", np.uint32), ("similarity", np.float64)])
Records = NDArray[np.void]


class NearPairs:
    """Those in memory.

    >>> import numpy as np
    >>> from kernelight.neighbors.pairs import NeighborPairs
    >>> from kernelight.tables.near_pairs import NearPairs
    >>> pairs = NeighborPairs(np.array([0, 1]), np.array([2, 2]), np.array([0.8, 0.9]))
    >>> near = NearPairs.of(pairs, "first")
    >>> [some.tolist() for some in near.batches()]
    [[(2, 1, 0.9), (2, 0, 0.8)]]
    >>> len(near), near.least(1), near.histogram(np.array([0.7, 0.85, 1.0])).tolist()
    (2, [(0, 2, 0.8)], [1, 1])
    """

    def __init__(self, records: Records) -> None:
        self._records = records

    @classmethod
    def of(cls, pairs: NeighborPairs, keep: str) -> NearPairs:
        """Of pairs of rows i < j: the later one goes, or with ``keep="last"`` the earlier one."""
        row, other = (pairs.i, pairs.j) if keep == LAST else (pairs.j, pairs.i)
        return cls(_sorted(records_of(row, other, pairs.similarity)))

    def __len__(self) -> int:
        return len(self._records)

    def _read(self, start: int, stop: int) -> Records:
        return self._records[start:stop]

    def batches(self, most: int = AT_ONCE) -> Iterator[Records]:
        """All of them in order; those of one row come together."""
        begin = 0
        while begin < len(self):
            some = self._read(begin, begin + most)
            end = len(some)
            if begin + end < len(self):  # the last row may go on
                end = int(np.searchsorted(some["row"], some["row"][-1]))
                while not end:  # all are of one row
                    more = self._read(begin + len(some), begin + len(some) + most)
                    some = np.concatenate([some, more])
                    last = len(some) if begin + len(some) == len(self) else 0
                    end = last or int(np.searchsorted(some["row"], some["row"][-1]))
            yield _sorted(some[:end])
            begin += end

    def histogram(self, edges: NDArray[np.float64]) -> NDArray[np.int64]:
        """How many have a similarity in each interval; those beyond an end are in the last one."""
        counts = np.zeros(len(edges) - 1, dtype=np.int64)
        for start in range(0, len(self), AT_ONCE):
            values = self._read(start, start + AT_ONCE)["similarity"]
            counts += np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
        return counts

    def least(self, count: int) -> list[tuple[int, int, float]]:
        """The pairs i < j of least similarity, the first of equal ones first."""
        found = np.zeros(0, RECORD)
        for start in range(0, len(self), AT_ONCE):
            found = np.concatenate([found, self._read(start, start + AT_ONCE)])
            i = np.minimum(found["row"], found["other"])
            j = np.maximum(found["row"], found["other"])
            found = found[np.lexsort((j, i, found["similarity"]))[:count]]
        return [
            (min(row, other), max(row, other), similarity)
            for row, other, similarity in found.tolist()
        ]

    def close(self) -> None:
        """Close what is open."""


class SpooledPairs(NearPairs):
    """Those in a temporary file, or only their number."""

    def __init__(self, path: str | None, keep: str) -> None:
        self._file = None if path is None else SpooledArray(path, RECORD)
        self._count, self._backwards = 0, keep == LAST

    def add(self, row: RowIndices, other: RowIndices, similarity: NDArray[np.float64]) -> None:
        """Write more, all those of a row at once, whose rows follow in the order of visits."""
        self._count += len(row)
        if self._file is not None:
            some = _sorted(records_of(row, other, similarity))
            self._file.append(some[::-1] if self._backwards else some)

    def __len__(self) -> int:
        return self._count

    def _read(self, start: int, stop: int) -> Records:
        if self._file is None:
            raise ValueError("These pairs were counted and not kept.")
        stop = min(stop, self._count)
        if self._backwards:
            return self._file.read(self._count - stop, self._count - start)[::-1]
        return self._file.read(start, stop)

    def close(self) -> None:
        """Close the file, which then vanishes."""
        if self._file is not None:
            self._file.close()


def records_of(row: RowIndices, other: RowIndices, similarity: NDArray[np.float64]) -> Records:
    """Pairs as records."""
    made = np.empty(len(row), RECORD)
    made["row"], made["other"], made["similarity"] = row, other, similarity
    return made


def _sorted(some: Records) -> Records:
    return some[np.lexsort((some["other"], -some["similarity"], some["row"]))]
