"""Searches of a snapshot: candidates by bands or by a scan of codes, then their scores.

Results are arrays of equal length: numbers of queries, places of rows, scores. Work is cut into
parts, so that memory depends on what is found and not on the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base.checks import Matrix
from kernelight.codes import Codes
from kernelight.neighbors.band_keys import short_band_keys
from kernelight.neighbors.band_plan import least_equal
from kernelight.neighbors.exact_rows import similarities_of_any_size
from kernelight.neighbors.index.ids import Ids, empty_ids
from kernelight.neighbors.index.plan import IndexPlan
from kernelight.neighbors.index.segment import Segment
from kernelight.neighbors.scan import scan_codes
from kernelight.theory import kernel_from_bbit

PAIRS = 1 << 21  # candidates that are looked at together, at most, unless one query has more
_COMPARED = 1 << 25  # slots that are compared together
_GATHERED = 1 << 26  # bytes of stored rows that are compared together
_LOST = 0.001  # of the pairs at a threshold, by a scan of all codes
_FEWEST_CANDIDATES, _CANDIDATES = 100, 10  # of a search for k: at least 100, and 10 for each
Int = NDArray[np.int64]


class Pairs(NamedTuple):
    """Queries with rows of the index: number of the query, of the segment, of the row in it."""

    query: Int
    segment: Int
    row: Int

    def some(self, which: Any) -> Pairs:
        """Some of them, by their places or a mask."""
        return Pairs(self.query[which], self.segment[which], self.row[which])


class Scored(NamedTuple):
    """Pairs with ids, scores and the standard errors of these (0 where scores are exact).

    Sorted by query, then the highest score first, then by id.
    """

    query: Int
    ids: Ids
    scores: NDArray[np.float64]
    errors: NDArray[np.float64]

    def some(self, which: Int) -> Scored:
        """Some of them, by their places."""
        return Scored(self.query[which], self.ids[which], self.scores[which], self.errors[which])

    def table(self, n_queries: int, k: int) -> tuple[NDArray[Any], ...]:
        """ids, scores and errors as (queries, k); what is missing is -1 or None, -1 and NaN."""
        missing = None if self.ids.dtype == object else -1
        ids: Ids = np.full((n_queries, k), missing, dtype=self.ids.dtype)
        scores, errors = np.full((n_queries, k), -1.0), np.full((n_queries, k), np.nan)
        counts = np.bincount(self.query, minlength=n_queries)
        place = np.arange(len(self.query)) - np.repeat(np.cumsum(counts) - counts, counts)
        ids[self.query, place], scores[self.query, place] = self.ids, self.scores
        errors[self.query, place] = self.errors
        return ids, scores, errors

    def lists(self, n_queries: int) -> tuple[NDArray[Any], ...]:
        """ids, scores and errors, each an array with an array for each query."""
        ends = np.cumsum(np.bincount(self.query, minlength=n_queries)).tolist()
        lists = []
        for column in (self.ids, self.scores, self.errors):
            parts = np.empty(n_queries, dtype=object)
            for query, (begin, end) in enumerate(pairwise([0, *ends])):
                parts[query] = column[begin:end]
            lists.append(parts)
        return tuple(lists)


@dataclass(frozen=True)
class Queries:
    """Rows that are looked for: their codes, and themselves if scores are exact."""

    codes: Codes
    rows: Matrix | None

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class Snapshot:
    """The segments of an index at one time, and how their rows are compared.

    ``power`` is that of the exact kernel, None where only codes are compared.
    """

    plan: IndexPlan
    segments: Sequence[Segment]
    power: float | None
    n_jobs: int | None

    # -- Candidates

    def above(self, queries: Queries, threshold: float) -> Scored:
        """All rows found whose score is at least the threshold."""
        parts = [
            self._scored(queries, pairs, threshold)
            for pairs in (
                self._by_bands(queries, threshold)
                if threshold >= self.plan.threshold
                else self._by_all_slots(queries, threshold)
            )
        ]
        return self._joined(parts)

    def _by_bands(self, queries: Queries, threshold: float) -> Iterator[Pairs]:
        filled = np.flatnonzero(~queries.codes.empty)
        keys = short_band_keys(queries.codes[filled], self.plan.bands, self.plan.rows)
        least = self.plan.least(threshold)
        for number, segment in enumerate(self.segments):
            begins, ends = segment.bucket_bounds(keys)
            rows = segment.arrays["band_rows"]
            begins += np.arange(self.plan.bands) * rows.shape[1]
            ends += np.arange(self.plan.bands) * rows.shape[1]
            for group in _groups((ends - begins).sum(axis=1), PAIRS):
                places, counts = _ranges(begins[group].ravel(), ends[group].ravel())
                query = np.repeat(np.repeat(filled[group], self.plan.bands), counts)
                found = segment.in_range(rows.reshape(-1)[places], "a band").astype(np.int64)
                both = np.unique(query * segment.n_rows + found)
                query, found = both // segment.n_rows, both % segment.n_rows
                kept = segment.is_live(found)
                pairs = Pairs(query[kept], np.full(int(kept.sum()), number), found[kept])
                if self.plan.sketch:
                    last = slice(self.plan.n_components - self.plan.sketch, None)
                    pairs = pairs.some(self._equal(queries, pairs, last) >= least)
                yield pairs

    def _by_all_slots(self, queries: Queries, threshold: float) -> Iterator[Pairs]:
        """Every row is looked at: bands would miss too many below their threshold."""
        slots = self.plan.n_components
        least = least_equal(slots, float(self.plan.slot_probability(threshold)), _LOST)
        step = max(1, 2 * PAIRS // max(1, len(queries)))
        for number, segment in enumerate(self.segments):
            codes = segment.codes()
            for begin in range(0, segment.n_rows, step):
                equal = queries.codes.collisions(codes[begin : begin + step], n_jobs=self.n_jobs)
                query, row = np.nonzero(equal >= max(least, 1))
                yield Pairs(query, np.full(len(query), number), begin + row)

    def nearest(self, queries: Queries, k: int) -> Scored:
        """The k rows of highest score for each query, as far as codes tell."""
        count = max(_FEWEST_CANDIDATES, _CANDIDATES * k) if self.power is not None else k
        step = max(1, PAIRS // (count * max(1, len(self.segments))))
        parts = []
        for begin in range(0, len(queries), step):
            some = range(begin, min(begin + step, len(queries)))
            pairs = self._by_scan(queries, some, count)
            equal = self._equal(queries, pairs, slice(None))
            order = np.lexsort((pairs.row, pairs.segment, -equal, pairs.query))
            kept = order[_first(pairs.query[order], count)]
            scored = self._scored(queries, pairs.some(kept), None)
            parts.append(scored.some(_first(scored.query, k)))
        return self._joined(parts)

    def _by_scan(self, queries: Queries, some: range, count: int) -> Pairs:
        codes = queries.codes[some.start : some.stop]
        parts = [Pairs(*(np.empty(0, dtype=np.int64) for _ in range(3)))]
        for number, segment in enumerate(self.segments):
            if not segment.n_live:
                continue
            count_here = min(count, segment.n_rows)
            found = scan_codes(segment.codes(), codes, count_here, n_jobs=self.n_jobs)
            query, place = np.nonzero(found >= 0)
            row = found[query, place]
            parts.append(Pairs(some.start + query, np.full(len(row), number), row))
        return Pairs(*map(np.concatenate, zip(*parts, strict=True)))

    # -- Scores

    def _equal(self, queries: Queries, pairs: Pairs, slots: slice) -> Int:
        """In how many slots pairs agree; 0 for empty rows."""
        equal = np.empty(len(pairs.query), dtype=np.int64)
        asked = queries.codes.array[:, slots]
        step = max(1, _COMPARED // max(1, asked.shape[1]))
        for number, mine in _by_value(pairs.segment):
            segment = self.segments[number]
            codes = segment.arrays["codes"]
            for begin in range(0, len(mine), step):
                part = mine[begin : begin + step]
                query, row = pairs.query[part], pairs.row[part]
                same = (codes[row, slots] == asked[query]).sum(axis=1)
                same[queries.codes.empty[query]] = 0
                equal[part] = same
            if len(segment.arrays["empty"]):
                equal[mine[segment.hidden[pairs.row[mine]]]] = 0
        return equal

    def _scored(self, queries: Queries, pairs: Pairs, threshold: float | None) -> Scored:
        """Pairs with their scores, those above the threshold, sorted."""
        if queries.rows is not None and self.power is not None:
            scores = self._exact(queries.rows, pairs)
            errors = np.zeros(len(scores))
        else:
            scores, errors = self.estimated(self._equal(queries, pairs, slice(None)))
        kept = np.arange(len(scores)) if threshold is None else np.flatnonzero(scores >= threshold)
        pairs, scores, errors = pairs.some(kept), scores[kept], errors[kept]
        ids = self.ids_of(pairs.segment, pairs.row)
        order = np.lexsort((_ranks(ids), -scores, pairs.query))
        return Scored(pairs.query[order], ids[order], scores[order], errors[order])

    def estimated(self, equal: Int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The similarity of rows that agree in so many slots, and its standard error.

        The error is that of a binomial fraction, at the fraction that was found.
        """
        P = equal / self.plan.n_components
        error = np.sqrt(P * (1.0 - P) / self.plan.n_components)
        if self.plan.bits is None:
            return P, error
        scores = np.asarray(kernel_from_bbit(P, self.plan.bits))
        return scores, error / (1.0 - 2.0**-self.plan.bits)

    def _exact(self, queries: Matrix, pairs: Pairs) -> NDArray[np.float64]:
        scores = np.empty(len(pairs.query))
        # rows that several queries meet are read once
        order = np.lexsort((pairs.row, pairs.segment))
        step = max(64, _GATHERED // max(1, self._row_bytes()))
        for begin in range(0, len(order), step):
            part = order[begin : begin + step]
            rows, at = self._gathered(pairs.some(part))
            asked, which = np.unique(pairs.query[part], return_inverse=True)
            scores[part] = similarities_of_any_size(
                rows, at, queries[asked], which, p=float(self.power or 1.0), n_jobs=self.n_jobs
            )
        return scores

    def _gathered(self, pairs: Pairs) -> tuple[Matrix, Int]:
        """The rows of some pairs, each once, and which of them each pair has."""
        starts = self.starts
        unique, at = np.unique(starts[pairs.segment] + pairs.row, return_inverse=True)
        parts = []
        for number, mine in _by_value(np.searchsorted(starts, unique, "right") - 1):
            parts.append(self.segments[number].rows.take(unique[mine] - starts[number]))
        return stacked(parts), at.astype(np.int64)

    @property
    def starts(self) -> Int:
        """The number of the first row of each segment, if all rows are numbered."""
        counts = [segment.n_rows for segment in self.segments]
        return np.cumsum([0, *counts], dtype=np.int64)[:-1]

    def _row_bytes(self) -> int:
        """About the bytes of a stored row, at most those of a segment."""
        return max(
            (each.rows.values.nbytes // max(1, each.n_rows) for each in self.segments), default=1
        )

    def ids_of(self, segment: Int, row: Int) -> Ids:
        """The ids of rows."""
        kind = self.segments[0].kind.ids if self.segments else None
        ids = np.empty(len(row), dtype=empty_ids(kind).dtype)
        for number, mine in _by_value(segment):
            ids[mine] = self.segments[number].ids.take(row[mine])
        return ids

    def _joined(self, parts: list[Scored]) -> Scored:
        """Results of several parts as one."""
        none = np.empty(0)
        kind = self.segments[0].kind.ids if self.segments else None
        parts = parts or [Scored(none.astype(np.int64), empty_ids(kind), none, none)]
        query, ids, scores, errors = map(np.concatenate, zip(*parts, strict=True))
        order = np.lexsort((_ranks(ids), -scores, query))
        return Scored(query[order], ids[order], scores[order], errors[order])


# -- Arrays


def stacked(parts: Sequence[Matrix]) -> Matrix:
    """Matrices of one form, one below the other."""
    if len(parts) == 1:
        return parts[0]
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def _groups(counts: Int, most: int) -> Iterator[Int]:
    """Numbers of queries in groups whose counts add up to at most ``most``, unless it is one."""
    begin, total = 0, 0
    for at, count in enumerate(counts.tolist()):
        if at > begin and total + count > most:
            yield np.arange(begin, at)
            begin, total = at, 0
        total += count
    if len(counts) > begin:
        yield np.arange(begin, len(counts))


def _ranges(begins: Int, ends: Int) -> tuple[Int, Int]:
    """The numbers of several ranges, one after the other, and how many each has."""
    counts = ends - begins
    firsts = np.cumsum(counts) - counts
    return np.repeat(begins - firsts, counts) + np.arange(counts.sum()), counts


def _by_value(values: Int) -> Iterator[tuple[int, Int]]:
    """Each value that occurs, and where."""
    for value in np.unique(values).tolist():
        yield value, np.flatnonzero(values == value)


def _first(groups: Int, count: int) -> Int:
    """Where the first ``count`` entries of each group are; equal groups are neighbours."""
    begins = np.flatnonzero(np.diff(groups, prepend=-1))
    place = np.arange(len(groups)) - np.repeat(begins, np.diff([*begins, len(groups)]))
    return np.flatnonzero(place < count)


def _ranks(ids: Ids) -> Int:
    """Numbers that are ordered as the ids are."""
    return ids if ids.dtype != object else np.unique(ids, return_inverse=True)[1].reshape(-1)
