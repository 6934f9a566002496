"""Lists of darts by which `CwsSampler` samples many rows side by side (core/cws_lists.h).

They are a cache, made when enough rows have come to be worth it, and give the same codes as a scan
of all nonzeros. They help where rows are long, and alike enough that few darts have to be tested
for a slot: about the sum of the largest values of all coordinates, over the sum of the values of a
row. What it took is counted; where a scan would take less, lists are given up.
"""

from __future__ import annotations

import math
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Resources

LIST_BYTES = 32 << 20
DARTS_OF_GROUP, BYTES_OF_GROUP = 4, 64  # of core/simd/lane_loops.h
# Lists cost as much as to scan this many rows in which every coordinate occurs.
BUILD_ROWS = 300
LEAST_NONZEROS = 16  # of a row, on average: below, a scan is as fast
MOST_ABSENT = 8  # times as many coordinates as a row has: beyond, most darts belong to nobody
# A row of average sum owns no dart of a list with probability exp(-COVER); the block of slots is
# then scanned. Lists have room for more darts than expected, because their number varies.
COVER, ROOM = 11.0, 1.25
# One step of a scan is a nonzero of a row in as many slots as a vector has lanes. A slot of as many
# rows costs as much as so many steps by a list, and more for each dart that is tested.
FIXED_COST, DART_COST = 3.0, 0.35
# Of the rows of a group, the last finds its dart about so much later than the mean.
LAST_OF_LANES = 3.5


class CwsLists(NamedTuple):
    """Lists of the first coordinates of the tables, for values up to the limits."""

    limits: NDArray[np.float32]
    view: _core.CwsLists


class ListKeeper:
    """Makes lists when they are worth it, and gives them up where they do not help."""

    def __init__(self, n_slots: int) -> None:
        self._n_slots = n_slots
        self._lists: CwsLists | None = None
        self._waiting = 0  # rows that were scanned since the lists were made
        self._useless = False
        self._lock = threading.Lock()

    def lists_for(
        self,
        rows: _core.WeightedRows,
        p: float,
        counts: NDArray[np.int64],
        tables: _core.CwsTables,
        where: NDArray[np.int32],
        n_places: int,
        coding: _core.CwsCoding,
        resources: Resources,
    ) -> CwsLists | None:
        """The lists to encode these rows by, if any.

        ``counts`` are the nonzeros of the rows, ``n_places`` the rows of the tables in use.
        """
        n_rows, nonzeros = len(counts), int(counts.sum())
        if (
            self._useless
            or nonzeros < LEAST_NONZEROS * n_rows
            or nonzeros * MOST_ABSENT < n_places * n_rows
        ):
            return None
        with self._lock:
            waiting = self._waiting + (n_rows if self._lists is None else 0)
            if waiting * nonzeros < BUILD_ROWS * n_places * n_rows:
                self._waiting = waiting
                return self._lists
            largest = np.full(n_places, -np.inf, dtype=np.float32)
            if self._lists is not None:
                largest[: len(self._lists.limits)] = self._lists.limits
            total = _core.cws_largest(rows, p, where, largest, resources.simd)
            self._lists = self._made(tables, largest, total, counts, coding, resources)
            self._waiting, self._useless = 0, self._lists is None
            return self._lists

    def _made(
        self,
        tables: _core.CwsTables,
        limits: NDArray[np.float32],
        total: float,
        counts: NDArray[np.int64],
        coding: _core.CwsCoding,
        resources: Resources,
    ) -> CwsLists | None:
        """Lists for rows like these, with the sum ``total``; None where they would not help."""
        row_sum = total / max(1, len(counts))
        with np.errstate(over="ignore"):
            tested = float(np.exp(limits.astype(np.float64)).sum()) / row_sum
        if not FIXED_COST + DART_COST * LAST_OF_LANES * tested < counts.mean():
            return None
        groups = math.ceil(COVER * ROOM * tested / DARTS_OF_GROUP) + 1
        length = min(groups, LIST_BYTES // (BYTES_OF_GROUP * self._n_slots))
        starts = np.arange(self._n_slots + 1, dtype=np.int64) * length
        groups_of_darts = np.empty((starts[-1], BYTES_OF_GROUP // 8), dtype=np.uint64)
        view = _core.CwsLists(groups_of_darts, starts, limits)
        _core.cws_rank(tables, coding, math.log(COVER / row_sum), view, resources.threads)
        return CwsLists(limits, view)

    def learn(
        self, counts: NDArray[np.int64], work: tuple[int, int, int, int], n_slots: int
    ) -> None:
        """Take note of what it took to encode ``n_slots`` slots of rows by lists."""
        steps, groups, rows, blocks = work
        nonzeros = float(counts.mean())
        # Both sides for a vector of rows; a block of a row that was scanned is SLOT_BLOCK slots.
        cost = DART_COST * steps + FIXED_COST * groups * n_slots
        cost += blocks * nonzeros * _core.SLOT_BLOCK * groups / max(1, len(counts))
        with self._lock:
            self._waiting += rows
            if cost > nonzeros * groups * n_slots:
                self._useless, self._lists = True, None
