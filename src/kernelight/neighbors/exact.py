"""Exact searches: recall 1.

Sparse rows are joined by the prefix filter (core/prefix_join.h) and searched a term at a time
(core/term_search.h); dense rows go through the blocked panels of the exact kernel. Every similarity
that is returned is that of `ExactRows`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Resources, resources
from kernelight.kernels.pairs import MINMAX, pair_sums
from kernelight.neighbors.exact_rows import ExactRows
from kernelight.neighbors.pairs import Columns, NeighborPairs

# Weights of the prefix filter are single precision: rows with values beyond this go term by term.
_SMALLEST, _LARGEST = 1e-30, 1e30
_PANEL = 1 << 23  # similarities of dense rows that are looked at together
_PANEL_ROWS = 1024
_ROUNDING = 1e-4  # of a panel of single precision, above what it can be
_SPARE = 16  # candidates beyond those asked for: panels may order near ties otherwise
_CALL_ENTRIES = 1 << 28  # of lists met by one compiled call, for each thread
_SAMPLE = 512  # rows whose work is counted to foresee that of all


_LISTS = {
    ("float32", "int32"): _core.ColumnLists32,
    ("float32", "int64"): _core.ColumnLists32Long,
    ("float64", "int32"): _core.ColumnLists64,
    ("float64", "int64"): _core.ColumnLists64Long,
}


class ExactSearch:
    """Exact neighbours among some rows."""

    def __init__(self, rows: ExactRows, n_jobs: int | None = None) -> None:
        self.rows, self.n_jobs = rows, n_jobs

    def __reduce__(self) -> tuple[Any, ...]:
        return ExactSearch, (self.rows, self.n_jobs)

    @property
    def _use(self) -> Resources:
        return resources(self.n_jobs)

    # -- The most similar rows of queries

    def best(self, queries: ExactRows, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rows and similarities, (queries, k): best first, padded with -1."""
        found = np.full((queries.n_rows, k), -1, dtype=np.int64)
        similarities = np.full((queries.n_rows, k), -1.0)
        if self.rows.is_sparse:
            for part, view in self._query_parts(queries):
                self._lists.view.best(view, found[part], similarities[part], self._use.threads)
            return found, similarities
        for part in _parts(queries.n_rows):
            some = queries.take(np.arange(part.start, part.stop))
            candidates = self._panel_candidates(some, min(k + _SPARE, self.rows.n_rows))
            found[part], similarities[part] = self.rows.best(
                some, candidates, k, n_jobs=self.n_jobs
            )
        return found, similarities

    def _panel_candidates(self, queries: ExactRows, most: int) -> NDArray[np.int64]:
        """The rows of highest similarity as panels see it, a block of rows at a time."""
        best: NDArray[Any] = np.empty((queries.n_rows, 0))
        rows: NDArray[Any] = np.empty((queries.n_rows, 0), dtype=np.int64)
        step = max(most, _PANEL // max(1, queries.n_rows))
        for at in range(0, self.rows.n_rows, step):
            panel = self._panel(queries.matrix, self.rows.matrix[at : at + step])
            here = np.broadcast_to(np.arange(at, at + panel.shape[1]), panel.shape)
            best = np.concatenate([best, panel], axis=1)
            rows = np.concatenate([rows, here], axis=1)
            if best.shape[1] > most:
                kept = np.argpartition(-best, most - 1, axis=1)[:, :most]
                best, rows = (np.take_along_axis(array, kept, axis=1) for array in (best, rows))
        return np.where(best > 0, rows, -1)

    def _panel(self, A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
        return pair_sums(MINMAX, A, B)

    # -- All rows above a similarity

    def above(self, queries: ExactRows, threshold: float) -> NeighborPairs:
        """All (query, row) whose similarity is at least ``threshold``."""
        return NeighborPairs.joined(self._above(queries, threshold))

    def _above(self, queries: ExactRows, threshold: float) -> Iterator[Columns]:
        if self.rows.is_sparse:
            for part, view in self._query_parts(queries):
                i, j, similarity = self._lists.view.above(view, threshold, self._use.threads)
                yield i + part.start, j, similarity
            return
        for part in _parts(queries.n_rows):
            yield from self._above_panels(queries, part, threshold, itself=False)

    def _above_panels(
        self, queries: ExactRows, part: slice, threshold: float, *, itself: bool
    ) -> Iterator[Columns]:
        """Pairs of some queries with all rows; within one matrix only with later rows."""
        step = max(1, _PANEL // max(1, part.stop - part.start))
        for at in range(part.start if itself else 0, self.rows.n_rows, step):
            panel = self._panel(queries.matrix[part], self.rows.matrix[at : at + step])
            i, j = np.nonzero(panel >= threshold - _ROUNDING)
            i, j = i + part.start, j + at
            if itself:
                i, j = i[i < j], j[i < j]
            similarity = queries.similarities(i, self.rows, j, n_jobs=self.n_jobs)
            kept = similarity >= threshold
            yield i[kept], j[kept], similarity[kept]

    # -- All pairs

    def pairs(self, threshold: float) -> NeighborPairs:
        """All pairs of rows whose similarity is at least ``threshold``."""
        return NeighborPairs.joined(self._pairs(threshold))

    def _pairs(self, threshold: float) -> Iterator[Columns]:
        if not self.rows.is_sparse:
            for part in _parts(self.rows.n_rows):
                yield from self._above_panels(self.rows, part, threshold, itself=True)
        elif self._ranked is None:
            for i, j, similarity in self._above(self.rows, threshold):
                kept = i < j
                yield i[kept], j[kept], similarity[kept]
        else:
            yield from self._ranked.join(self.rows, threshold, self._use)

    # -- What they cost

    def entries_met(self, queries: ExactRows | None = None) -> float:
        """Entries of lists, or of dense rows, that a query meets, on average."""
        if not self.rows.is_sparse:
            return float(self.rows.matrix.size)
        rows = self.rows if queries is None else queries
        columns = self._lists.columns_of(rows.matrix)
        return float(self._lists.lengths[columns].sum()) / max(1, rows.n_rows)

    def work_joined(self, threshold: float) -> tuple[float, float]:
        """Entries that `pairs` meets and pairs that it verifies, foreseen from some rows."""
        if not self.rows.is_sparse:
            return self.rows.n_rows * float(self.rows.matrix.size) / 2, 0.0
        if self._ranked is None:
            return self.entries_met() * self.rows.n_rows, 0.0
        return self._ranked.work(threshold)

    # -- Lists of sparse rows

    @cached_property
    def _lists(self) -> _ColumnLists:
        return _ColumnLists(self.rows)

    @cached_property
    def _ranked(self) -> _RankedRows | None:
        """Rows as the prefix filter takes them; None where it cannot."""
        values = np.abs(self.rows.matrix.data[: self.rows.matrix.indptr[-1]])
        values = values[values > 0]
        if values.size and not (values.min() > _SMALLEST and values.max() < _LARGEST):
            return None
        return _RankedRows(self.rows, self._use)

    def _query_parts(self, queries: ExactRows) -> Iterator[tuple[slice, _core.SummedRows]]:
        """Queries in parts of limited work, their columns numbered as those of the lists."""
        mean = max(1.0, self.entries_met(queries) + self.rows.n_rows)
        step = max(64, int(_CALL_ENTRIES * self._use.threads / mean))
        for at in range(0, queries.n_rows, step):
            part = slice(at, min(at + step, queries.n_rows))
            yield part, self._lists.view_of(queries, part)


def _parts(n_rows: int) -> Iterator[slice]:
    for at in range(0, n_rows, _PANEL_ROWS):
        yield slice(at, min(at + _PANEL_ROWS, n_rows))


class _ColumnLists:
    """Sparse rows by column (CSC); columns that no row has are left out of wide matrices."""

    def __init__(self, rows: ExactRows) -> None:
        matrix = rows.matrix
        end = int(matrix.indptr[-1])
        self._used: NDArray[Any] | None = None
        width, columns = matrix.shape[1], matrix.indices[:end]
        if width > 4 * end + 1024:
            self._used, columns = np.unique(columns, return_inverse=True)
            width = len(self._used) + 1  # the last is what others have
        index = matrix.indices.dtype
        lists = sp.csr_array(
            (matrix.data[:end], columns.astype(index), matrix.indptr), shape=(rows.n_rows, width)
        ).tocsc()
        self.width = width
        starts = lists.indptr.astype(index, copy=False)
        self.lengths = np.diff(starts)
        made = _LISTS[lists.data.dtype.name, index.name]
        self.view = made(lists.data, lists.indices.astype(index, copy=False), starts, rows.sums)

    def columns_of(self, matrix: Any) -> NDArray[Any]:
        """The numbers of the columns of other rows."""
        columns = matrix.indices[: matrix.indptr[-1]]
        if self._used is None:
            return np.ascontiguousarray(columns)
        if not len(self._used):
            return np.zeros_like(columns)
        places = np.minimum(np.searchsorted(self._used, columns), len(self._used) - 1)
        known = self._used[places] == columns
        return np.where(known, places, len(self._used)).astype(columns.dtype)

    def view_of(self, queries: ExactRows, part: slice) -> _core.SummedRows:
        some = queries.matrix[part]
        end = some.indptr[-1]
        return _core.SummedRows(
            np.ascontiguousarray(some.data[:end]),
            self.columns_of(some),
            np.ascontiguousarray(some.indptr),
            self.width,
            queries.sums[part],
            queries.nonnegative,
        )


class _RankedRows:
    """Rows in the order of their sums, their coordinates in the order of rarity."""

    def __init__(self, rows: ExactRows, use: Resources) -> None:
        matrix, n = rows.matrix, rows.n_rows
        end = int(matrix.indptr[-1])
        columns, width = matrix.indices[:end], matrix.shape[1]
        if width > 4 * end + 1024:
            used, columns = np.unique(columns, return_inverse=True)
            columns, width = columns.astype(matrix.indices.dtype), len(used)
        self.order = np.argsort(rows.sums, kind="stable").astype(np.int64)
        self._sums = rows.sums[self.order]
        self._starts = np.empty(n + 1, dtype=np.int64)
        self._n_ranks = 2 * width
        ranks, weights = np.empty(end, np.uint32), np.empty(end, np.float32)
        self._view = _core.RankedRows(ranks, weights, self._starts, self._sums)
        numbered = _core.SummedRows(
            np.ascontiguousarray(matrix.data[:end]),
            np.ascontiguousarray(columns),
            np.ascontiguousarray(matrix.indptr),
            width,
            rows.sums,
            rows.nonnegative,
        )
        rank_of = np.empty(self._n_ranks, dtype=np.uint32)
        _core.rank_rows(numbered, self.order, rank_of, self._view, use.threads)
        longest = int(np.diff(self._starts).max(initial=0))
        self._room = _core.rounding_room(longest)
        self._made: tuple[float, _core.PrefixLists] | None = None

    def _lists(self, threshold: float) -> _core.PrefixLists:
        if self._made is None or self._made[0] != threshold:
            starts = np.empty(self._n_ranks + 1, dtype=np.int64)
            count = _core.count_listed(self._view, threshold, self._room, starts)
            rows = np.empty(count, np.uint32)
            weights, rests = np.empty((2, count), np.float32)
            lists = _core.PrefixLists(starts, rows, weights, rests)
            _core.fill_lists(self._view, threshold, self._room, lists)
            self._made = threshold, lists
        return self._made[1]

    def work(self, threshold: float) -> tuple[float, float]:
        """Entries of lists met and pairs verified by `join`, foreseen from some rows."""
        n = len(self.order)
        probes = np.unique(np.linspace(0, max(n - 1, 0), min(n, _SAMPLE)).astype(np.int64))
        lists = self._lists(threshold)
        met, verified = _core.join_cost(self._view, threshold, self._room, lists, probes)
        each = n / max(1, len(probes))
        return met * each, verified * each

    def join(self, rows: ExactRows, threshold: float, use: Resources) -> Iterator[Columns]:
        n, lists = len(self.order), self._lists(threshold)
        mean = max(1.0, self.work(threshold)[0] / max(1, n))
        step = max(4096, int(_CALL_ENTRIES * use.threads / mean))
        for begin in range(0, n, step):
            yield _core.prefix_join(
                self._view,
                threshold,
                self._room,
                lists,
                self.order,
                begin,
                min(n, begin + step),
                rows.view,
                *use,
            )
