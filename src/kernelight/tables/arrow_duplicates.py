"""Duplicates among rows of Arrow batches: what workers of any engine do, as pure functions.

The steps are those of `spooled_deduplication`, with the engine's shuffles in place of sorted runs:

1. Rows are packed, with digests; of equal ones the first stays (`arrow_rows`).
2. The first distinct rows decide on map and bands (`planned`), as for files.
3. Rows become keys of buckets, a word of 64 bits for each band: the band, then the upper half of
   its key (`BandKeys`). Beside it are the number of the row and its sketch.
4. Sorted by bucket and row, they are scanned (`BucketScan`): each row meets the first `cap` of its
   bucket, and pairs whose sketches agree are candidates.
5. Candidates are verified by the exact kernel (`similarities`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix, check_choice, check_int
from kernelight.maps.minmax.gcws import GCWS
from kernelight.neighbors import BandPlan, short_band_keys
from kernelight.neighbors.banded import BUCKET_CAP, warn_of_capped
from kernelight.neighbors.dedup_bands import (
    LOOKED_AT,
    band_facts,
    dedup_map,
    dedup_plan,
    planning_rows,
)
from kernelight.neighbors.deduplicate import nothing_to_find
from kernelight.neighbors.duplicates import Leaders, RowIndices, by_components
from kernelight.tables.arrow_rows import ArrowRows
from kernelight.tables.bucket_candidates import bucket_begins, equal_slots_of, meetings
from kernelight.tables.deduplication import DedupSettings

__all__ = [
    "BUCKET_CAP",
    "LOOKED_AT",
    "BandKeys",
    "BucketScan",
    "Bucketed",
    "Found",
    "band_facts",
    "banded_settings",
    "by_components",
    "by_leaders",
    "check_counts",
    "most_similar",
    "nothing_to_find",
    "planned",
    "rows_that_decide",
    "similarities",
    "warn_of_capped",
]
_AT_ONCE = 1 << 20  # pairs that meet


def banded_settings(
    threshold: float, p: float, method: str, recall: float, random_state: int, **more: Any
) -> DedupSettings:
    """The settings, checked; an exact search is refused."""
    if method == "exact":
        raise ValueError(
            "method='exact' compares all rows with all others, which is for one machine "
            "(kernelight dedup --method exact): use 'bands', with a recall near 1."
        )
    check_choice("method", method, ("bands",))
    return DedupSettings(
        threshold=threshold, p=p, method=method, recall=recall, random_state=random_state, **more
    )


def check_counts(**counts: int) -> None:
    """Refuse numbers below 1."""
    for name, count in counts.items():
        check_int(name, count, 1)


def rows_that_decide(rows: ArrowRows, first: Matrix) -> int:
    """How many of the first distinct rows decide on bands, by the first `LOOKED_AT` of them."""
    return planning_rows(rows.exact(first).matrix)


def planned(
    rows: ArrowRows, first: Matrix, n_rows: int, settings: DedupSettings
) -> tuple[GCWS, BandPlan]:
    """The map and the bands of ``n_rows`` distinct rows, by the first of them."""
    some = rows.exact(first).matrix
    made = dedup_map(some, settings.random_state, settings.n_jobs)
    codes = made.encode(some)
    return made, dedup_plan(codes, n_rows, settings.threshold, settings.recall, settings.n_jobs)


class Bucketed(NamedTuple):
    """Rows in their buckets, one entry for each row and band: bucket, row, and sketch."""

    bucket: NDArray[np.int64]
    row: RowIndices
    sketch: NDArray[np.uint8]  # (entries, slots)

    def behind(self, first: Bucketed) -> Bucketed:
        """These entries behind some others."""
        columns: list[Any] = [np.concatenate(pair) for pair in zip(first, self, strict=True)]  # type: ignore[arg-type]
        return Bucketed(*columns)

    def take(self, places: RowIndices) -> Bucketed:
        """Some of these entries."""
        return Bucketed(self.bucket[places], self.row[places], self.sketch[places])


@dataclass(frozen=True)
class BandKeys:
    """The keys of rows by a plan; rows of zeros have none."""

    rows: ArrowRows
    plan: BandPlan

    def __call__(self, made: GCWS, X: Matrix, numbers: RowIndices) -> Bucketed:
        """Rows of `ArrowRows.matrix` with their numbers, by the map of the plan."""
        plan = self.plan
        codes = made.encode(self.rows.exact(X).matrix)
        filled = ~codes.empty
        keys = short_band_keys(codes, plan.bands, plan.rows)[filled].astype(np.int64)
        slots = codes.array[filled, codes.n_components - plan.sketch_slots :].astype(np.uint8)
        bands = np.arange(plan.bands, dtype=np.int64) << 32
        return Bucketed(
            (keys | bands).reshape(-1),
            np.repeat(numbers[filled], plan.bands),
            np.repeat(slots, plan.bands, axis=0),
        )


class Found(NamedTuple):
    """Candidates, a the earlier row of b, and buckets that turned out to be above the cap."""

    a: RowIndices
    b: RowIndices
    capped: NDArray[np.int64]


class BucketScan:
    """Candidates of rows that come sorted by bucket, and in a bucket by row.

    Of the bucket at hand the first ``cap`` rows are kept, so that memory does not grow with it.
    With ``seeking`` rows of two sets come, of a bucket those that are met before those that seek
    them, and only rows of the two sets are pairs.

    >>> import numpy as np
    >>> from kernelight.tables.arrow_duplicates import BucketScan, Bucketed
    >>> scan = BucketScan(cap=2, least_equal=0)
    >>> rows = Bucketed(np.array([5, 5, 5, 5]), np.arange(4), np.zeros((4, 0), np.uint8))
    >>> [list(zip(found.a.tolist(), found.b.tolist())) for found in scan.add(rows)]
    [[(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)]]
    >>> [found.capped.tolist() for found in scan.add(Bucketed(*(part[:1] for part in rows)))]
    [[]]
    """

    def __init__(self, cap: int, least_equal: int) -> None:
        self._cap, self._least = cap, least_equal
        self._open: Bucketed | None = None  # the first rows of the bucket at hand
        self._size = 0  # of them, and of those of the bucket that were let go

    def add(self, entries: Bucketed, seeking: NDArray[np.bool_] | None = None) -> Iterator[Found]:
        """What the next rows meet."""
        if not len(entries.bucket):
            return
        known, before = 0, 0
        if self._open is not None and self._open.bucket[0] == entries.bucket[0]:
            known, before = len(self._open.bucket), self._size
            entries = entries.behind(self._open)
        places = np.arange(len(entries.bucket))
        begin = bucket_begins(entries.bucket)
        others = np.ones(len(places), bool)  # which rows are met
        if seeking is not None:
            others[known:] = ~seeking
        met = np.cumsum(others) - others  # of all places before
        count = np.minimum(met - met[begin], self._cap)
        count[:known] = 0
        if seeking is not None:
            count[others] = 0
        capped = self._capped(entries, begin, others, known, before)
        for a, b in meetings(begin, count, _AT_ONCE):
            if self._least:
                good = equal_slots_of(entries.sketch, a, b) >= self._least
                a, b = a[good], b[good]
            if len(a) or len(capped):
                yield Found(entries.row[a], entries.row[b], capped)
            capped = capped[:0]
        if len(capped):
            none = np.zeros(0, np.int64)
            yield Found(none, none, capped)

    def _capped(
        self,
        entries: Bucketed,
        begin: RowIndices,
        others: NDArray[np.bool_],
        known: int,
        before: int,
    ) -> NDArray[np.int64]:
        """Buckets that have just come to have more rows than the cap; keeps the last bucket."""
        starts = np.unique(begin)
        sizes = np.add.reduceat(others.astype(np.int64), starts)
        gone = before - known  # rows of the first bucket that were not kept
        sizes[0] += gone
        new = sizes > self._cap
        new[0] &= before <= self._cap
        last = int(starts[-1])
        kept = np.flatnonzero(others[last:])[: self._cap] + last
        self._size = int(sizes[-1])
        self._open = entries.take(kept) if len(kept) else None
        return entries.bucket[starts[new]]


def similarities(rows: ArrowRows, A: Matrix, B: Matrix) -> NDArray[np.float64]:
    """The exact similarity of row n of A and row n of B, for each n."""
    places = np.arange(A.shape[0])
    return rows.exact(A).similarities(places, rows.exact(B), places)


def most_similar(
    rows: ArrowRows, A: Matrix, X: Matrix, best: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of each row of A the greatest similarities to rows of X and those that are known already."""
    left, right = rows.exact(A), rows.exact(X)
    n, m = A.shape[0], X.shape[0]
    step = max(1, _AT_ONCE // m)
    made: NDArray[np.float64] = best.copy()
    for start in range(0, n, step):
        some = np.arange(start, min(start + step, n))
        found = left.similarities(np.repeat(some, m), right, np.tile(np.arange(m), len(some)))
        every = np.concatenate([best[some], found.reshape(len(some), m)], axis=1)
        made[some] = -np.sort(-every, axis=1)[:, : best.shape[1]]
    return made


def by_leaders(
    n_rows: int, earlier: RowIndices, later: RowIndices, similarity: NDArray[np.float64]
) -> Any:
    """What the leader rule says of rows in the order of visits."""
    rule = Leaders(n_rows)
    sort = np.argsort(later, kind="stable")
    rule.add(earlier[sort], later[sort], similarity[sort])
    return rule.decided()
