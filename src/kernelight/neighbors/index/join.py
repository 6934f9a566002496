"""All similar pairs of an index: candidates by bands, then their scores.

Rows are numbered in the order of ids over all segments, so that the rule of popular buckets (each
row meets the first ``cap``) and the order of results are those of ids. Keys and sketches of all
rows are in memory; rows are gathered some at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix
from kernelight.codes import Codes
from kernelight.neighbors.band_keys import short_band_keys
from kernelight.neighbors.banded import BandJoin
from kernelight.neighbors.exact_rows import similarities_of_any_size
from kernelight.neighbors.index.ids import Ids, order_of
from kernelight.neighbors.index.search import Int, Snapshot, stacked
from kernelight.neighbors.scan import equal_slots

_PAIRS = 1 << 21  # pairs that are scored together
_GATHERED = 1 << 26  # bytes of rows or codes on each side that are compared together
_STEP = 1 << 16  # rows whose codes are read together
_MOST_ROWS = 2**32 - 1  # the join numbers rows by 32 bits


class SimilarPairs(NamedTuple):
    """Ids of pairs, the smaller first, their scores with standard errors, and capped buckets."""

    a: Ids
    b: Ids
    scores: NDArray[np.float64]
    errors: NDArray[np.float64]
    n_capped: int


def similar_pairs(snapshot: Snapshot, threshold: float, cap: int) -> SimilarPairs:
    """Every pair found whose score is at least the threshold, in the order of its ids."""
    rows = _Rows(snapshot)
    a, b, n_capped = _candidates(rows, threshold, cap)
    scores, errors = np.empty(len(a)), np.zeros(len(a))
    for begin in range(0, len(a), _PAIRS):
        part = slice(begin, begin + _PAIRS)
        if snapshot.power is not None:
            scores[part] = rows.exact(a[part], b[part], snapshot.power)
        else:
            scores[part], errors[part] = snapshot.estimated(rows.equal(a[part], b[part]))
    kept = scores >= threshold
    if not kept.all():
        a, b, scores, errors = a[kept], b[kept], scores[kept], errors[kept]
    return SimilarPairs(rows.ids(a), rows.ids(b), scores, errors, n_capped)


def _candidates(rows: _Rows, threshold: float, cap: int) -> tuple[Int, Int, int]:
    """Pairs that share a band and whose sketches agree often enough, each once and in order."""
    plan = rows.snapshot.plan
    if not rows.total:
        return np.empty(0, np.int64), np.empty(0, np.int64), 0
    keys, sketch = rows.keys_and_sketch()
    narrow = None if sketch is None else sketch.astype(np.uint8, copy=False)
    empty = rows.empty if rows.empty.any() else None
    join = BandJoin(keys, empty, narrow, cap, rows.snapshot.n_jobs)
    least, found = plan.least(threshold), []
    for i, j, _ in join.pairs(least, None, threshold):
        if sketch is not None and sketch is not narrow:  # the join compared the low bytes
            agree = (sketch[i] == sketch[j]).sum(axis=1) >= least
            i, j = i[agree], j[agree]
        found.append(i * rows.total + j)
    pairs = np.concatenate(found)
    pairs.sort()
    a = pairs // rows.total
    return a, pairs - a * rows.total, join.counts.capped


class _Rows:
    """The live rows of all segments, numbered in the order of their ids."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        live = [np.flatnonzero(each.live) for each in snapshot.segments]
        self.segment = np.repeat(np.arange(len(live)), [len(rows) for rows in live])
        self.row = np.concatenate([np.empty(0, np.int64), *live])
        self.total = len(self.row)
        if self.total > _MOST_ROWS:
            raise ValueError(
                f"pairs takes at most {_MOST_ROWS:,} rows, and this index has {self.total:,}: "
                "search for some of its rows instead."
            )
        if len(live) > 1:  # the rows of a segment are in order
            order = order_of(snapshot.ids_of(self.segment, self.row))
            self.segment, self.row = self.segment[order], self.row[order]
        wide = (each.n_bytes // each.n_rows for each in snapshot.segments)
        self._most = max(64, _GATHERED // max(1, *wide, 1))

    @cached_property
    def empty(self) -> NDArray[np.bool_]:
        """Which rows are in no band."""
        empty = np.zeros(self.total, dtype=np.bool_)
        for number, mine in self._by_segment(np.arange(self.total)):
            empty[mine] = self.snapshot.segments[number].hidden[self.row[mine]]
        return empty

    def keys_and_sketch(self) -> tuple[NDArray[np.uint32], NDArray[np.generic] | None]:
        """Keys of all bands and, if there is one, the sketch of each row."""
        plan, n_jobs = self.snapshot.plan, self.snapshot.n_jobs
        keys = np.empty((self.total, plan.bands), dtype=np.uint32)
        last = slice(plan.n_components - plan.sketch, None)
        dtype = self.snapshot.segments[0].kind.dtype
        sketch = np.empty((self.total, plan.sketch), dtype=dtype) if plan.sketch else None
        for begin in range(0, self.total, _STEP):
            part = slice(begin, min(begin + _STEP, self.total))
            codes = self._codes(np.arange(part.start, part.stop))
            keys[part] = short_band_keys(codes, plan.bands, plan.rows, n_jobs=n_jobs)
            if sketch is not None:
                sketch[part] = codes.array[:, last]
        return keys, sketch

    def ids(self, rows: Int) -> Ids:
        """The ids of rows, each read once."""
        unique, at = _unique(rows, self.total)
        return self.snapshot.ids_of(self.segment[unique], self.row[unique])[at]

    def exact(self, a: Int, b: Int, power: float) -> NDArray[np.float64]:
        """The exact similarities of pairs."""
        out = np.empty(len(a))
        for part, left, at, right, other in self._gathered(a, b):
            rows, others = self._stored(left), self._stored(right)
            out[part] = similarities_of_any_size(
                rows, at, others, other, p=power, n_jobs=self.snapshot.n_jobs
            )
        return out

    def equal(self, a: Int, b: Int) -> Int:
        """In how many slots pairs agree."""
        out = np.empty(len(a), dtype=np.int64)
        for part, left, at, right, other in self._gathered(a, b):
            codes = self._codes(left), self._codes(right)
            out[part] = equal_slots(codes[0], at, codes[1], other, n_jobs=self.snapshot.n_jobs)
        return out

    def _gathered(self, a: Int, b: Int) -> Iterator[tuple[slice, Int, Int, Int, Int]]:
        """Pairs in parts: the rows of both sides, each once, and which of them each pair has."""
        waiting = [slice(0, len(a))]
        while waiting:
            part = waiting.pop()
            left, at = _unique(a[part], self.total)
            right, other = _unique(b[part], self.total)
            half = (part.start + part.stop) // 2
            if max(len(left), len(right)) > self._most:
                waiting += [slice(half, part.stop), slice(part.start, half)]
            elif part.start < part.stop:
                yield part, left, at, right, other

    def _by_segment(self, rows: Int) -> Iterator[tuple[int, Int]]:
        """Each segment that has some of the rows, and which of them."""
        segment = self.segment[rows]
        for number in np.unique(segment).tolist():
            yield number, np.flatnonzero(segment == number)

    def _stored(self, rows: Int) -> Matrix:
        parts, places = [], []
        for number, mine in self._by_segment(rows):
            parts.append(self.snapshot.segments[number].rows.take(self.row[rows[mine]]))
            places.append(mine)
        return stacked(parts)[np.argsort(np.concatenate(places))] if len(parts) > 1 else parts[0]

    def _codes(self, rows: Int) -> Codes:
        kind = self.snapshot.segments[0].kind
        codes = np.empty((len(rows), kind.plan.n_components), dtype=kind.dtype)
        for number, mine in self._by_segment(rows):
            codes[mine] = self.snapshot.segments[number].arrays["codes"][self.row[rows[mine]]]
        return Codes._adopt(
            codes, kind.bits, empty=None, provenance=kind.provenance, n_features=kind.n_features
        )


def _unique(rows: Int, total: int) -> tuple[Int, Int]:
    """Which rows there are, ascending, and the place of each among them."""
    if len(rows) * 8 < total:
        unique, at = np.unique(rows, return_inverse=True)
        return unique, at.reshape(-1).astype(np.int64)
    there = np.zeros(total, dtype=np.bool_)  # without sorting, where that costs more
    there[rows] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[rows]
