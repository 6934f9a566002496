"""All similar pairs of an index: rows of equal keys, band by band, then their scores.

In a bucket, the rows of one key of a band, each row meets those before it. Of a popular bucket it
meets only the first ``cap`` rows in the order of ids; the number of such buckets is returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix
from kernelight.neighbors.exact_rows import ExactRows
from kernelight.neighbors.index.ids import Ids, order_of
from kernelight.neighbors.index.search import PAIRS, Int, Snapshot, stacked

_COMPARED = 1 << 25  # slots that are compared together
_GATHERED = 1 << 25  # bytes of stored rows on each side that are compared together


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
    pairs, n_capped = _candidates(rows, threshold, cap)
    a, b = pairs // rows.total, pairs % rows.total
    scores, errors = np.empty(len(a)), np.zeros(len(a))
    for part in _parts(len(a), rows.step):
        if snapshot.power is not None:
            scores[part] = rows.exact(a[part], b[part], snapshot.power)
        else:
            equal = rows.equal(a[part], b[part], slice(None))
            scores[part], errors[part] = snapshot.estimated(equal)
    kept = np.flatnonzero(scores >= threshold)
    first, second = rows.ids(a[kept]), rows.ids(b[kept])
    turned = np.asarray(first > second, dtype=np.bool_)
    first, second = np.where(turned, second, first), np.where(turned, first, second)
    order = order_of(second)
    order = order[order_of(first[order])]
    kept = kept[order]
    return SimilarPairs(first[order], second[order], scores[kept], errors[kept], n_capped)


def _candidates(rows: _Rows, threshold: float, cap: int) -> tuple[Int, int]:
    """Pairs whose sketch agrees often enough, each once, as one number; and capped buckets."""
    plan = rows.snapshot.plan
    least = plan.least(threshold)
    last = slice(plan.n_components - plan.sketch, None)
    found, n_capped = [np.empty(0, dtype=np.int64)], 0
    for band in range(plan.bands):
        members, begins, lengths = rows.buckets(band)
        for at in np.flatnonzero(lengths > cap + 1).tolist():
            bucket = slice(begins[at], begins[at] + lengths[at])
            members[bucket] = members[bucket][order_of(rows.ids(members[bucket]))]
            n_capped += 1
        begin = np.repeat(begins, lengths)
        counts = np.minimum(np.arange(len(members)) - begin, cap)
        for part in _parts_of(counts, PAIRS):
            left = np.repeat(members[part], counts[part])
            firsts = np.cumsum(counts[part]) - counts[part]
            inside = np.repeat(begin[part] - firsts, counts[part]) + np.arange(len(left))
            right = members[inside]
            if plan.sketch:
                kept = rows.equal(left, right, last) >= least
                left, right = left[kept], right[kept]
            both = np.minimum(left, right) * rows.total + np.maximum(left, right)
            found.append(np.unique(both))
    return np.unique(np.concatenate(found)), n_capped


class _Rows:
    """The rows of all segments, numbered one after the other."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot, self.starts = snapshot, snapshot.starts
        self.total = max(1, sum(segment.n_rows for segment in snapshot.segments))
        if self.total > 3_000_000_000:
            raise ValueError(
                f"pairs takes at most 3,000,000,000 rows, and this index has {self.total:,}: "
                "search for some of its rows instead."
            )
        width = max((each.n_bytes // each.n_rows for each in snapshot.segments), default=1)
        self.step = max(64, _GATHERED // max(1, width))

    def buckets(self, band: int) -> tuple[Int, Int, Int]:
        """Live rows by their keys of a band, and where buckets of several rows begin and end."""
        keys, members = [np.empty(0, dtype=np.uint32)], [np.empty(0, dtype=np.int64)]
        for start, segment in zip(self.starts, self.snapshot.segments, strict=True):
            rows = segment.in_range(segment.arrays["band_rows"][band], "a band").astype(np.int64)
            live = segment.live[rows]
            keys.append(segment.arrays["band_keys"][band][live])
            members.append(start + rows[live])
        key, member = np.concatenate(keys), np.concatenate(members)
        order = np.argsort(key, kind="stable")
        key, member = key[order], member[order]
        begins = np.flatnonzero(np.diff(key.astype(np.int64), prepend=-1))
        lengths = np.diff([*begins, len(key)])
        kept = np.repeat(lengths > 1, lengths)
        member, lengths = member[kept], lengths[lengths > 1]
        return member, np.cumsum(lengths) - lengths, lengths

    def _by_segment(self, rows: Int) -> Iterator[tuple[int, Int, Int]]:
        """Each segment that has some of the rows, which of them, and their numbers in it."""
        segment = np.searchsorted(self.starts, rows, "right") - 1
        for number in np.unique(segment).tolist():
            mine = np.flatnonzero(segment == number)
            yield number, mine, rows[mine] - self.starts[number]

    def ids(self, rows: Int) -> Ids:
        segment = np.searchsorted(self.starts, rows, "right") - 1
        return self.snapshot.ids_of(segment, rows - self.starts[segment])

    def equal(self, a: Int, b: Int, slots: slice) -> Int:
        """In how many slots pairs agree."""
        equal = np.empty(len(a), dtype=np.int64)
        for part in _parts(len(a), max(1, _COMPARED // self.snapshot.plan.n_components)):
            same = self._codes(a[part], slots) == self._codes(b[part], slots)
            equal[part] = same.sum(axis=1)
        return equal

    def _codes(self, rows: Int, slots: slice) -> NDArray[np.generic]:
        kind = self.snapshot.segments[0].kind
        width = len(range(kind.plan.n_components)[slots])
        codes = np.empty((len(rows), width), dtype=kind.dtype)
        for number, mine, inside in self._by_segment(rows):
            codes[mine] = self.snapshot.segments[number].arrays["codes"][inside, slots]
        return codes

    def exact(self, a: Int, b: Int, power: float) -> NDArray[np.float64]:
        """The exact similarities of pairs."""
        (left, at), (right, other) = (self._gathered(rows) for rows in (a, b))
        rows = ExactRows.of(left, p=power)
        return rows.similarities(at, rows.like(right), other, n_jobs=self.snapshot.n_jobs)

    def _gathered(self, rows: Int) -> tuple[Matrix, Int]:
        """Stored rows, each once, and which of them each is."""
        unique, at = np.unique(rows, return_inverse=True)
        parts: list[Matrix] = [
            self.snapshot.segments[number].rows.take(inside)
            for number, _, inside in self._by_segment(unique)
        ]
        return stacked(parts), at.astype(np.int64)


def _parts(count: int, step: int) -> Iterator[slice]:
    return (slice(at, min(at + step, count)) for at in range(0, count, step))


def _parts_of(counts: Int, most: int) -> Iterator[slice]:
    """Ranges whose counts add up to about ``most``, at least one each."""
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        before = ends[begin] - counts[begin]
        end = max(begin + 1, int(np.searchsorted(ends, before + most, "right")))
        yield slice(begin, end)
        begin = end
