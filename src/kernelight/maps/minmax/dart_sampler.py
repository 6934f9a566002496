"""Dart sampling: keeps tables of darts per level of row sum, and encodes level by level.

A table is only a cache: whatever it does not cover is enumerated on the fly, with the same codes.
Tables take at most 128 MB together, and 64 MB each by rank, because building one needs it twice;
arrays as long as the width take 32 MB, and words that wait to be folded some 32 MB.
"""

from __future__ import annotations

import math
import sys
import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Matrix, Resources
from kernelight.maps.minmax.poisson_slots import BaseSlots
from kernelight.maps.minmax.scheme import (
    WIDE,
    MinMaxScheme,
    RowRange,
    Settled,
    all_rows,
    row_ranges,
)

TABLE_BYTES = {True: 64 << 20, False: 128 << 20}  # by rank, by weight
ALL_TABLES_BYTES = 128 << 20
BYTES_PER_DART = 16
# Arrays as long as the width: largest values, limits and starts of every level.
BYTES_PER_COORDINATE = 4 + 4 + 8
ARRAYS_BYTES = 32 << 20
# Rank limit of a table times 2^level, the least row sum of the level. By rank the limit costs only
# memory, so it is set where an empty slot is one row in tens of thousands; by weight every dart
# below it is scanned.
RANK_REACH = {True: 1.5, False: 1.25}
# Building a table costs about as much as enumerating this many rows on the fly for each unit of its
# density.
BUILD_COST = {True: 5.0, False: 2.0}
MAX_LEVEL = 100
NO_LEVEL = MAX_LEVEL + 1  # of an empty row
SLOTS_PER_CALL = 1 << 19  # rows times slots of one compiled call, so that Ctrl-C is handled
_ONLY_ROW = np.zeros(1, dtype=np.intp)


@dataclass(frozen=True)
class _Level:
    """The table of one level; without limits there is none."""

    limits: NDArray[np.float32] | None
    by_rank: bool
    starts: NDArray[np.int64]
    records: NDArray[np.uint64]
    rank_limit: float

    @cached_property
    def view(self) -> _core.DartTable:
        """The table as the compiled functions take it."""
        return _core.DartTable(
            self.limits, self.by_rank, self.starts, self.records, self.rank_limit
        )


class DartSampler:
    """Encodes matrices of one scheme at one scale.

    Tables are kept for the next call; they are never pickled.
    """

    def __init__(self, scheme: MinMaxScheme, scale: float) -> None:
        self.scheme = scheme
        self.scale = scale
        self.slots = BaseSlots(scheme, word_bits=32, whole=True)
        self._base = self.slots.base
        self._levels: dict[int, _Level] = {}
        self._wanted: dict[int, NDArray[np.float32]] = {}  # largest values seen at each level
        # rows that were enumerated on the fly because there was no table, by level
        self._debt: dict[int, float] = {}
        self._lock = threading.Lock()
        self.settled: Settled | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return DartSampler, (self.scheme, self.scale)

    def encode(
        self, X: Matrix, resources: Resources, winners: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Codes of every row, and which rows are empty.

        Into ``winners`` go the features that won the base slots, (n, base slots); those of empty
        rows are left as they are. Rows are then taken one by one.
        """
        codes = np.zeros((X.shape[0], self.scheme.n_components), dtype=self.scheme.dtype)
        empty = np.ones(X.shape[0], dtype=bool)
        rows = all_rows(X)
        wide = rows.is_wide and rows.indices is not None
        for at, part in row_ranges(
            X, WIDE if wide else sys.maxsize, most_rows=self.slots.most_rows
        ):
            # A table of renumbered columns is of no use to the next range, and one row alone is not
            # worth a table.
            sampler = DartSampler(self.scheme, self.scale) if wide else self
            part = part.renumbered() if wide and part.values.size <= WIDE else part
            won = None if winners is None else winners[at]
            empty[at] = sampler._encode_range(part, at.start, codes[at], won, resources)
        return codes, empty

    def _encode_range(
        self,
        rows: RowRange,
        first_row: int,
        codes: NDArray[Any],
        winners: NDArray[np.int64] | None,
        resources: Resources,
    ) -> NDArray[np.bool_]:
        weighted = rows.weighted(self.scheme)
        sums = np.empty(rows.n_rows)
        counts = np.empty(len(sums), dtype=np.int64)
        _core.dart_sums(weighted, self.scale, sums, counts, resources.threads)
        empty = np.equal(counts, 0)
        levels = _levels_of(sums, empty, self.scale, first_row)
        resources = resources.for_work(
            rows.values.size + len(counts) * 10 * self._base.n_components
        )
        for part in self.slots.ranges(codes, empty, resources, most=self._base.n_components):
            self._encode_levels(weighted, rows, levels, part.out, winners, resources)
        return empty

    def _encode_levels(
        self,
        weighted: _core.WeightedRows,
        rows: RowRange,
        levels: list[tuple[int, NDArray[np.intp]]],
        codes: NDArray[Any],
        winners: NDArray[np.int64] | None,
        resources: Resources,
    ) -> None:
        """Encode the rows, one level after the other."""
        step = max(8 * resources.threads, SLOTS_PER_CALL // self._base.n_components)
        for level, subset in levels:
            with self._lock:
                table = self._table(level, weighted, subset, rows, resources).view
            uncovered = 0.0
            for begin in range(0, len(subset), step):
                part = subset[begin : begin + step]
                uncovered += _core.dart_encode(
                    weighted,
                    self.scale,
                    self.scheme.seed,
                    self._base.bits,
                    rows.ids,
                    table,
                    part,
                    codes,
                    winners,
                    *resources,
                )
            with self._lock:
                self._debt[level] = self._debt.get(level, 0.0) + uncovered / 2.0**level

    def _table(
        self,
        level: int,
        weighted: _core.WeightedRows,
        subset: NDArray[np.int64],
        rows: RowRange,
        resources: Resources,
    ) -> _Level:
        """The table for ``subset``, built or enlarged once that is cheaper than going without."""
        table = self._levels.get(level)
        arrays = (
            rows.n_coordinates
            * BYTES_PER_COORDINATE
            * (len(self._wanted) + (level not in self._wanted))
        )
        if arrays > ARRAYS_BYTES:
            return table or _no_table(level)
        debt = self._debt.get(level, 0.0) + (len(subset) if table is None else 0.0)
        if table is None or debt >= self._build_cost(level):
            wanted = self._wanted.setdefault(level, np.zeros(rows.n_coordinates, dtype=np.float32))
            _core.dart_maxima(weighted, self.scale, subset, wanted)
            if debt >= self._build_cost(level) and self._fits(level):
                self._levels.pop(level, None)  # the old table makes room for the new one
                table = None
                self._levels[level] = table = self._build(level, rows, resources)
                self._debt[level] = 0.0
        return table or _no_table(level)

    def _density(self, level: int) -> float:
        """Darts looked at for each dart of a row, at the least row sum of the level."""
        return float(self._wanted[level].sum(dtype=np.float64)) / 2.0**level

    def _build_cost(self, level: int) -> float:
        return (
            BUILD_COST[self._by_rank(level)] * self._density(level)
            if level in self._wanted
            else 0.0
        )

    def _by_rank(self, level: int) -> bool:
        return self._density(level) < 2.0 * (math.log(self._base.n_components) + 2.0)

    def _expected_bytes(self, level: int) -> float:
        reach = RANK_REACH[self._by_rank(level)]
        return (
            BYTES_PER_DART * _core.dart_rate(self._base.n_components) * reach * self._density(level)
        )

    def _fits(self, level: int) -> bool:
        bytes_now = sum(
            table.records.nbytes for other, table in self._levels.items() if other != level
        )
        expected = self._expected_bytes(level)
        return (
            expected <= TABLE_BYTES[self._by_rank(level)]
            and bytes_now + expected <= ALL_TABLES_BYTES
        )

    def _build(self, level: int, rows: RowRange, resources: Resources) -> _Level:
        k, seed, limits = self._base.n_components, self.scheme.seed, self._wanted[level].copy()
        ids = rows.identities(np.arange(rows.n_coordinates))
        by_rank = self._by_rank(level)
        rank_limit = RANK_REACH[by_rank] / 2.0**level
        starts = np.zeros(len(limits) + 1, dtype=np.int64)
        _core.dart_count(seed, k, ids, limits, rank_limit, starts[1:], resources.threads)
        np.cumsum(starts, out=starts)
        records = np.empty((starts[-1], 2), dtype=np.uint64)
        _core.dart_fill(seed, k, ids, limits, rank_limit, starts, records, resources.threads)
        if not by_rank:
            return _Level(limits, False, starts, records, rank_limit)
        slot_starts = np.empty(k + 1, dtype=np.int64)
        _core.dart_slot_starts(k, records, slot_starts)
        ordered = _on_cache_lines(int(slot_starts[-1]))
        _core.dart_by_rank(k, starts, records, slot_starts, ordered, resources.threads)
        return _Level(limits, True, slot_starts, ordered, rank_limit)


def _levels_of(
    sums: NDArray[np.float64], empty: NDArray[np.bool_], scale: float, first_row: int
) -> list[tuple[int, NDArray[np.intp]]]:
    """The levels of row sums, ascending, with the rows of each; an empty row has none."""
    if len(sums) == 1 and 0.0 < sums[0] < math.inf:  # the usual case of a prediction
        level = math.frexp(sums[0])[1] - 1
        if abs(level) <= MAX_LEVEL:
            return [(level, _ONLY_ROW)]
    _refuse_far_sums(sums, empty, scale, first_row)
    levels = np.where(empty, NO_LEVEL, np.frexp(sums)[1] - 1)
    return [
        (level, np.flatnonzero(levels == level))
        for level in np.unique(levels[levels != NO_LEVEL]).tolist()
    ]


def _refuse_far_sums(
    sums: NDArray[np.float64], empty: NDArray[np.bool_], scale: float, first_row: int
) -> None:
    """Refuse rows whose scaled sum is more than MAX_LEVEL powers of two away from 1.

    A sum that is not a positive number is refused too. ``first_row`` is where these rows begin in
    the matrix of the user.
    """
    beyond = (np.abs(np.frexp(sums)[1] - 1) > MAX_LEVEL) | (sums == 0) | ~np.isfinite(sums)
    far = np.flatnonzero(beyond & ~empty)
    if len(far):
        raise ValueError(
            f"Row {first_row + far[0]} has {sums[far[0]]:g} times the reference sum {1 / scale:g} "
            f"of the dart sampler, which reaches from 2^-{MAX_LEVEL} to 2^{MAX_LEVEL} times; "
            "rescale the data or use sampler='cws'."
        )


def _no_table(level: int) -> _Level:
    """What makes the core enumerate every coordinate on the fly."""
    return _Level(
        None,
        False,
        np.zeros(1, np.int64),
        np.empty((0, 2), np.uint64),
        RANK_REACH[False] / 2.0**level,
    )


def _on_cache_lines(groups: int) -> NDArray[np.uint64]:
    """Groups of eight words, each on one cache line."""
    words = np.empty(8 * groups + 8, dtype=np.uint64)
    skip = -words.ctypes.data % 64 // 8
    return words[skip : skip + 8 * groups].reshape(groups, 8)
