"""Searches by bands of slots: candidates agree in a band, pass a sketch, and are verified."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base import counted
from kernelight.base.checks import resources
from kernelight.codes import Codes
from kernelight.neighbors.band_keys import short_band_keys
from kernelight.neighbors.band_plan import BandPlan
from kernelight.neighbors.exact_rows import ExactRows
from kernelight.neighbors.limits import check_codes
from kernelight.neighbors.pairs import Columns, NeighborPairs
from kernelight.neighbors.scan import equal_slots

#: Rows of a bucket that each of its rows meets.
BUCKET_CAP = 4096
_BANDS_COUNTED = 6  # to foresee what all hold
_CALL_PAIRS = 1 << 22  # pairs that one compiled call may meet, for each thread


class BucketCounts(NamedTuple):
    """Of all bands: the largest bucket, pairs that meet, buckets above the cap, rows in these."""

    largest: int
    pairs: int
    capped: int
    capped_rows: int


def warn_of_capped(capped: int, cap: int) -> None:
    """Warn the user of a method that calls this of buckets above the cap, if there are any."""
    if capped:
        warnings.warn(
            f"{counted(capped, 'bucket')} of bands had more than {cap:,} rows, of which each met "
            "the first ones only: pairs among the others may be missing; pass a larger cap to "
            "pairs.",
            stacklevel=3,
        )


class BandJoin:
    """Keys of rows in bands, and the pairs of rows that meet there.

    One rule for popular buckets: each row meets the first ``cap`` rows of its bucket, in the order
    of rows. Pairs whose sketches agree in fewer than ``least`` slots do not count.
    """

    def __init__(
        self,
        keys: NDArray[np.uint32],
        empty: NDArray[np.bool_] | None,
        sketch: NDArray[np.uint8] | None,
        cap: int,
        n_jobs: int | None,
    ) -> None:
        self.keys, self.empty, self.sketch = keys, empty, sketch
        self.cap, self.n_jobs = cap, n_jobs

    @cached_property
    def _by_band(self) -> NDArray[np.int64]:
        counts = np.empty((self.keys.shape[1], 4), dtype=np.int64)
        threads = resources(self.n_jobs).threads
        _core.band_tables(self.keys, self.empty, self.cap, None, None, counts, threads)
        return counts

    @property
    def counts(self) -> BucketCounts:
        """What the bands hold."""
        counts = self._by_band
        return BucketCounts(
            int(counts[:, 0].max(initial=0)), *(int(total) for total in counts[:, 1:].sum(axis=0))
        )

    def pairs(self, least: int, rows: ExactRows | None, threshold: float) -> Iterator[Columns]:
        """Each pair of at least this similarity once; without rows each candidate, with 1."""
        use = resources(self.n_jobs)
        bands = self.keys.shape[1]
        late = None
        if self.counts.capped:
            late = np.empty(self.keys.shape, dtype=np.bool_)
            _core.band_late_rows(self.keys, self.empty, self.cap, late, use.threads)
        groups = None if rows is None else rows.group_bounds
        met = np.cumsum(self._by_band[:, 1])
        begin = 0
        while begin < bands:
            so_far = int(met[begin - 1]) if begin else 0
            end = int(np.searchsorted(met, so_far + _CALL_PAIRS * use.threads, side="right"))
            end = min(max(end, begin + 1), begin + 4 * use.threads)
            found, *_ = _core.band_join(
                self.keys,
                self.empty,
                begin,
                end,
                late,
                self.cap,
                self.sketch,
                least,
                None if rows is None else rows.view,
                None if groups is None else groups.sums,
                0.0 if groups is None else groups.unit,
                threshold,
                *use,
            )
            yield found
            begin = end


class BandSearch:
    """Rows with their codes, cut into bands.

    One rule for popular buckets: each row meets the first ``cap`` rows of its bucket, in the order
    of rows.

    Parameters
    ----------
    rows : ExactRows
        The rows.
    codes : Codes
        Their codes.
    plan : BandPlan
        The bands.
    cap : int, default=4096
        Rows of a bucket that each of its rows meets.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    See Also
    --------
    MinMaxNeighbors : The estimator that plans and searches.

    Examples
    --------
    >>> from kernelight import GCWS
    >>> from kernelight.neighbors import BandPlan, BandSearch, ExactRows
    >>> X = [[1, 2, 0], [1, 2, 0.1], [0, 0, 4]]
    >>> plan = BandPlan(n_components=64, bits=8, threshold=0.8, bands=16, rows=4)
    >>> search = BandSearch(ExactRows.of(X), GCWS(64).fit(X).encode(X), plan)
    >>> search.pairs().similarity.round(3)
    array([0.968])
    """

    def __init__(
        self,
        rows: ExactRows,
        codes: Codes,
        plan: BandPlan,
        *,
        cap: int = BUCKET_CAP,
        n_jobs: int | None = None,
    ) -> None:
        if len(check_codes("codes", codes)) != rows.n_rows:
            raise ValueError(
                f"codes must be one for each row, got {len(codes):,} for {rows.n_rows:,} rows."
            )
        self.rows, self.codes, self.plan = rows, codes, plan
        self.cap, self.n_jobs = cap, n_jobs
        self._sketch = self._sketch_of(codes)
        self._join = BandJoin(
            self._keys_of(codes),
            codes.empty if codes.has_empty else None,
            None if self._sketch is None else self._sketch.array,
            cap,
            n_jobs,
        )

    def _keys_of(self, codes: Codes) -> NDArray[np.uint32]:
        return short_band_keys(codes, self.plan.bands, self.plan.rows, n_jobs=self.n_jobs)

    def _sketch_of(self, codes: Codes) -> Codes | None:
        slots = self.plan.sketch_slots
        if not slots:
            return None
        last = np.arange(codes.n_components - slots, codes.n_components)
        return codes.low_bits(min(codes.bits, 8)).take_slots(last)

    @property
    def counts(self) -> BucketCounts:
        """What the bands hold."""
        return self._join.counts

    def pairs(self) -> NeighborPairs:
        """The pairs of rows whose similarity is at least that of the plan."""
        found = self._join.pairs(self.plan.least_equal, self.rows, self.plan.threshold)
        return NeighborPairs.joined(found)

    @cached_property
    def _tables(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        shape = (self.plan.bands, self.rows.n_rows)
        keys, rows = np.empty(shape, np.uint32), np.empty(shape, np.uint32)
        counts = np.empty((self.plan.bands, 4), dtype=np.int64)
        threads = resources(self.n_jobs).threads
        _core.band_tables(self._join.keys, self._join.empty, self.cap, keys, rows, counts, threads)
        return keys, rows

    def above(self, queries: ExactRows, codes: Codes) -> NeighborPairs:
        """The (query, row) whose similarity is at least that of the plan."""
        starts, j = _core.band_matches(
            *self._tables,
            self._keys_of(codes),
            codes.empty if codes.has_empty else None,
            self.cap,
            resources(self.n_jobs).threads,
        )
        i = np.repeat(np.arange(len(codes), dtype=np.int64), np.diff(starts))
        sketch = self._sketch_of(codes)
        if sketch is not None and self._sketch is not None:
            equal = equal_slots(sketch, i, self._sketch, j, n_jobs=self.n_jobs)
            kept = equal >= self.plan.least_equal
            i, j = i[kept], j[kept]
        similarity = queries.similarities(i, self.rows, j, n_jobs=self.n_jobs)
        kept = similarity >= self.plan.threshold
        return NeighborPairs.joined([(i[kept], j[kept], similarity[kept])])


def pairs_met(
    codes: Codes, rows: int, *, cap: int = BUCKET_CAP, n_jobs: int | None = None
) -> float:
    """Pairs of rows that a band of this many slots makes candidates, the mean of a few bands.

    Some bands hold a popular code by chance, so that one alone would say little.
    """
    bands = min(_BANDS_COUNTED, codes.n_components // rows)
    keys = short_band_keys(codes, bands, rows, n_jobs=n_jobs)
    counts = np.empty((bands, 4), dtype=np.int64)
    empty = codes.empty if codes.has_empty else None
    _core.band_tables(keys, empty, cap, None, None, counts, resources(n_jobs).threads)
    return float(counts[:, 1].mean())
