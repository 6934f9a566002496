"""De-duplication of files larger than memory: the pairs of bands, by sorted runs on disk.

1. Rows are read once. Those that differ from all earlier ones are spooled (`row_spool`) as they
   are, and scaled whenever they are read back.
2. The spooled rows are encoded. Of each band of codes the (key, row) are sorted, some rows at a
   time, and written as runs; sketches are written beside them.
3. Band by band, runs are merged. Rows of one bucket are candidates, the first `BUCKET_CAP` of a
   bucket with each of its rows; those whose sketches agree are written as runs of (later, earlier).
4. Candidates are merged in the order of the later row, and verified by the exact kernel with rows
   read back from the spool; rows are visited in their order at the same time.

Map, bands and rules are those of `deduplicate` with ``method="bands"``, so that the same rows go.
In memory are some 100 bytes for each row, whatever its length, and nothing for a pair: those that
are to be listed are written to another file (`near_pairs`), of 16 bytes each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix, as_matrix
from kernelight.data import DataError
from kernelight.estimators.progress import Event, Watch, unwatched
from kernelight.kernels.prepare import row_peaks
from kernelight.neighbors.band_keys import short_band_keys
from kernelight.neighbors.band_plan import BandPlan
from kernelight.neighbors.banded import BUCKET_CAP
from kernelight.neighbors.dedup_bands import (
    LOOKED_AT,
    N_COMPONENTS,
    band_facts,
    dedup_map,
    dedup_plan,
    planning_rows,
)
from kernelight.neighbors.deduplicate import (
    OtherRows,
    Others,
    Visits,
    no_pairs,
    nothing_to_find,
    with_similarities,
)
from kernelight.neighbors.duplicates import LEADER, Components, Leaders, Matches, RowIndices
from kernelight.neighbors.equal_rows import empty_rows
from kernelight.neighbors.exact_rows import ExactRows
from kernelight.neighbors.pairs import Columns
from kernelight.tables.bucket_candidates import EnoughEqual, WaitingWords, bucket_pairs, n_capped
from kernelight.tables.deduplication import DedupRows, DedupSettings, TableDuplicates
from kernelight.tables.memory_limit import (
    HASHING,
    LEAST_ROWS,
    MOST_ROWS,
    READING,
    batch_rows,
    row_bytes,
    taken,
)
from kernelight.tables.near_pairs import SpooledPairs
from kernelight.tables.row_spool import DistinctRows, RowSpool, SpooledArray
from kernelight.tables.sorted_runs import SortedRuns, Words

_LOW = np.uint64((1 << 32) - 1)
_MOST_ROWS = 1 << 32  # rows have numbers of 32 bits here
_FEW = 1 << 11  # candidates that are verified together at least


def deduplicate_spooled(
    rows: DedupRows,
    settings: DedupSettings,
    *,
    memory: int,
    beside: str,
    against: DedupRows | None = None,
    others: Others | None = None,
    all_pairs: bool = False,
    watch: Watch = unwatched,
) -> TableDuplicates:
    """The duplicates among the rows of a file, within a limit for the memory of the process.

    Temporary files are made in the folder of the path ``beside``. Without ``all_pairs`` only pairs
    that decide are verified, and counted; with it all are, and wait in a file until the result is
    closed. Rows of ``against`` are compared exactly, as many at a time as fit; ``others`` are rows
    elsewhere, such as those of an index.
    """
    start = time.monotonic()
    job = _Spooled(rows, settings, memory, beside, watch)
    try:
        found, plan = job.run(against, others, all_pairs)
    except BaseException:
        job.near.close()
        raise
    finally:
        job.close()
    seconds = time.monotonic() - start
    return TableDuplicates(
        found, settings, job.ids, job.other_ids, plan, seconds, job.near, rows.same
    )


class _Spooled:
    """One run, with its files."""

    def __init__(
        self, rows: DedupRows, settings: DedupSettings, memory: int, beside: str, watch: Watch
    ) -> None:
        self._rows, self._settings, self._memory = rows, settings, memory
        self._beside, self._watch = beside, watch
        self._files: list[Any] = []
        self._n_empty_distinct = 0
        self.ids: list[str] | None = None
        self.other_ids: list[str] | None = None
        self.near = SpooledPairs(None, settings.keep)

    def close(self) -> None:
        """Close all files, which then vanish."""
        for file in self._files:
            file.close()

    def _opened(self, file: Any) -> Any:
        self._files.append(file)
        return file

    def _room(self, fraction: float) -> int:
        """Bytes that a step may take of what is left."""
        return max(1 << 22, int(fraction * (self._memory - taken() - READING)))

    def _take(self, rows: RowIndices) -> Matrix:
        """Spooled rows as they are compared; their numbers ascend."""
        return self._rows.compared(self._spool.take(rows))

    @property
    def _of_row(self) -> int:
        """The average bytes of a spooled row as it is compared."""
        return int(self._wider * self._spool.row_bytes)

    def _slice(self, start: int, stop: int) -> Matrix:
        return self._rows.compared(self._spool.slice(start, stop))

    # -- The steps

    def run(
        self, against: DedupRows | None, others: Others | None, all_pairs: bool
    ) -> tuple[Any, dict[str, Any]]:
        """All of them."""
        place, n_empty = self._spool_rows()
        spool = self._spool
        distinct = _first_places(place, spool.shape[0])
        visits = Visits.of(place, distinct, self._settings.keep)
        matches = None if against is None else self._matches(against)
        if others is not None:
            matches = self._found_in(others)
        settings = self._settings
        plan: dict[str, Any] = nothing_to_find()
        candidates, capped = None, 0
        if spool.shape[0] - self._n_empty_distinct > 1:
            bands = self._encode()
            candidates, capped = self._candidates(bands, visits)
            plan = band_facts(bands, capped)
        ranked = visits.ranked(matches)
        # in a file of its own, for whoever writes a table of them
        self.near = SpooledPairs(self._beside if all_pairs else None, settings.keep)
        leaders = Leaders(spool.shape[0], ranked) if settings.linkage == LEADER else None
        components = Components(spool.shape[0], ranked) if leaders is None else None
        if candidates is not None:
            for earlier, later, similarity in self._verified(
                candidates, visits, leaders, all_pairs
            ):
                if components is not None:
                    components.add(earlier, later)
                row, other = (visits.chosen[visits.order[rank]] for rank in (later, earlier))
                self.near.add(row, other, similarity)
        if components is None:
            assert leaders is not None
            decided = leaders.decided()
        else:
            decided = components.decided()
            decided = with_similarities(visits, decided, matches, self._similarities(against))
        found = visits.duplicates(
            decided,
            no_pairs(),
            threshold=settings.threshold,
            n_empty=n_empty,
            capped=capped,
            matches=matches,
        )
        return found, plan

    def _spool_rows(self) -> tuple[RowIndices, int]:
        """Read all rows and spool the distinct ones; for each row the place of its content."""
        first = next(iter(self._rows.batches(256)), None)
        if first is None:
            raise DataError(f"{self._rows.name} has no rows.")
        like = self._rows.compared(first[0])
        each = max(row_bytes(first[0]), row_bytes(like))
        self._wider = each / row_bytes(first[0])
        # the rows that decide on bands are in memory at once, with a copy and their codes
        least = taken() + READING + HASHING + planning_rows(like) * (3 * each + N_COMPONENTS)
        if self._memory < least:
            raise ValueError(
                f"memory is {self._memory >> 20} MB, but these rows take at least "
                f"{-(-least >> 20) + 16} MB: allow that."
            )
        size = batch_rows(self._memory, each, N_COMPONENTS)
        known: DistinctRows | None = None
        places: list[RowIndices] = []
        names: list[str] = []
        n_empty, count, peak = 0, 0, 0.0
        for X, ids in self._rows.batches(size):
            X = as_matrix(X, name=self._rows.name)
            if known is None:
                known = DistinctRows(self._beside, X, unite_empty=self._rows.unite_empty)
                self._spool: RowSpool = self._opened(known.spool)
                self._like = like[:0]
            before = self._spool.shape[0]
            places.append(known.add(X))
            compared = self._rows.compared(X)
            empty = empty_rows(compared)
            n_empty += int(empty.sum())
            self._n_empty_distinct += len(np.unique(places[-1][empty & (places[-1] >= before)]))
            if self._settings.p != 1.0:
                peak = max(peak, float(row_peaks(compared).max(initial=0.0)))
            del compared  # or it would be there beside the next batch
            names += ids or []
            count += X.shape[0]
            self._watch(Event("reading", count))
        if count >= _MOST_ROWS:
            raise ValueError(f"{self._rows.name} has more than {_MOST_ROWS - 1:,} rows.")
        self.ids = names or None
        self._rows.n_rows = count
        # what all exact rows share: their power and its scale
        self._exact = ExactRows(self._like, self._settings.p, peak or 1.0)
        return np.concatenate(places), n_empty

    def _encode(self) -> BandPlan:
        """Encode the spooled rows: sorted runs of each band, and sketches."""
        settings, n = self._settings, self._spool.shape[0]
        first = planning_rows(self._slice(0, LOOKED_AT))
        some = self._exact.like(self._slice(0, first)).matrix
        made = dedup_map(some, settings.random_state, settings.n_jobs)
        codes = made.encode(some)
        plan = dedup_plan(codes, n, settings.threshold, settings.recall, settings.n_jobs)
        del some, codes
        self._runs = [self._opened(SortedRuns(self._beside)) for _ in range(plan.bands)]
        # one value for each sketch: rows of them are read back
        sketch = np.dtype(f"V{max(1, plan.sketch_slots)}")
        self._sketches = self._opened(SpooledArray(self._beside, sketch))
        each = 3 * self._of_row + 2 * (N_COMPONENTS + 16 * plan.bands)
        size = min(max(LEAST_ROWS, self._room(0.25) // each), MOST_ROWS)
        for start in range(0, n, size):
            codes = made.encode(self._exact.like(self._slice(start, start + size)).matrix)
            keys = short_band_keys(codes, plan.bands, plan.rows, n_jobs=settings.n_jobs)
            rows = np.arange(start, start + len(codes), dtype=np.uint64)
            filled = ~codes.empty
            for band, runs in enumerate(self._runs):
                entries = (keys[:, band].astype(np.uint64) << np.uint64(32)) | rows
                entries = entries[filled]
                entries.sort()
                runs.append(entries)
            if plan.sketch_slots:
                slots = np.ascontiguousarray(codes.array[:, -plan.sketch_slots :], np.uint8)
                self._sketches.append(slots.view(sketch).reshape(-1))
            self._watch(Event("encoding", start + len(codes), n))
        return plan

    def _candidates(self, plan: BandPlan, visits: Visits) -> tuple[SortedRuns, int]:
        """Pairs that share a bucket and whose sketches agree, as runs of (later, earlier) ranks."""
        found: SortedRuns = self._opened(SortedRuns(self._beside))
        # of a row of a bucket and of a pair some eight numbers are there at once
        at_once = max(256, self._room(0.1) // 64)
        words = WaitingWords(found, self._room(0.2) // 8)
        enough = EnoughEqual(self._sketches, plan, self._spool.shape[0], self._room(0.2))
        capped = 0
        for band, runs in enumerate(self._runs):
            for part in runs.parts(at_once):
                rows = (part & _LOW).astype(np.int64)
                keys = part >> np.uint64(32)
                for i, j in bucket_pairs(keys, rows, BUCKET_CAP, at_once):
                    good = enough(i, j)
                    a, b = visits.rank[i[good]], visits.rank[j[good]]
                    later, earlier = np.maximum(a, b), np.minimum(a, b)
                    words.add(
                        (later.astype(np.uint64) << np.uint64(32)) | earlier.astype(np.uint64)
                    )
                capped += n_capped(keys, BUCKET_CAP)
            runs.close()
            self._watch(Event("merging bands", band + 1, plan.bands, "bands"))
        words.write()
        return found, capped

    def _verified(
        self, candidates: SortedRuns, visits: Visits, leaders: Leaders | None, all_pairs: bool
    ) -> Iterator[Columns]:
        """Pairs of ranks (earlier, later) that are similar enough, in the order of the later one.

        Leaders are told of them. If only those count that decide, few are looked at together where
        rows go whose candidates then need not be verified.
        """
        each = 8 * self._of_row + 256
        most = max(1 << 10, self._room(0.4) // each)
        skip = leaders if not all_pairs else None
        size, done = most if skip is None else min(most, _FEW), 0
        for part in candidates.parts(most):
            part = np.unique(part)
            done += len(part)
            begin = 0
            while begin < len(part):
                end = _whole_rows(part, begin + size)
                later = (part[begin:end] >> np.uint64(32)).astype(np.int64)
                earlier = (part[begin:end] & _LOW).astype(np.int64)
                if skip is not None:
                    may = skip.may_decide(earlier, later)
                    later, earlier = later[may], earlier[may]
                similarity = self._of_pairs(visits.order[earlier], visits.order[later])
                near = similarity >= self._settings.threshold
                if leaders is not None:
                    leaders.add(earlier[near], later[near], similarity[near])
                yield earlier[near], later[near], similarity[near]
                if skip is not None:
                    wasted = len(later) - int(skip.stays(earlier).sum())
                    if 4 * wasted > end - begin:
                        size = max(_FEW, size // 2)
                    elif 8 * wasted < end - begin:
                        size = min(most, 2 * size)
                begin = end
            self._watch(Event("verifying", done, len(candidates), "candidates"))

    def _of_pairs(self, i: RowIndices, j: RowIndices) -> NDArray[np.float64]:
        """Exact similarities of spooled rows."""
        wanted, inverse = np.unique(np.concatenate([i, j]), return_inverse=True)
        if not len(wanted):
            return np.zeros(0)
        exact = self._exact.like(self._take(wanted))
        inverse = inverse.reshape(-1)
        # of a pair the lower row first, as in memory
        first, second = inverse[: len(i)], inverse[len(i) :]
        low, high = np.minimum(first, second), np.maximum(first, second)
        return exact.similarities(low, exact, high, n_jobs=self._settings.n_jobs)

    # -- Rows of another file

    def _matches(self, against: DedupRows) -> Matches:
        """The best match of each spooled row among those of another file, exactly."""
        n = self._spool.shape[0]
        best = Matches(np.full(n, -1), np.zeros(n))
        engine = {**self._settings.engine, "method": "exact"}
        names: list[str] = []
        first = 0
        size = max(256, self._room(0.1) // (8 * self._of_row + 64))
        for Y, ids in against.batches(size):
            others = OtherRows(against.compared(as_matrix(Y)), self._settings.threshold, engine)
            for start in range(0, n, size):
                part = others.matches(self._slice(start, start + size))
                some = slice(start, start + len(part.row))
                better = part.similarity > best.similarity[some]
                best.row[some][better] = first + part.row[better]
                best.similarity[some][better] = part.similarity[better]
            names += ids or []
            first += Y.shape[0]
            self._watch(Event("comparing with the other file", first))
        self.other_ids = names or None
        return best

    def _found_in(self, others: Others) -> Matches:
        """The best match of each spooled row among rows elsewhere."""
        n = self._spool.shape[0]
        best = Matches(np.full(n, -1), np.zeros(n))
        size = max(256, self._room(0.1) // (8 * self._of_row + 64))
        for start in range(0, n, size):
            part = others.matches(self._slice(start, start + size))
            best.row[start : start + size] = part.row
            best.similarity[start : start + size] = part.similarity
            self._watch(Event("looking into the index", min(start + size, n), n))
        self.other_ids = getattr(others, "ids", None)
        return best

    def _similarities(
        self, against: DedupRows | None
    ) -> Callable[[RowIndices, RowIndices], NDArray[np.float64]]:
        """Exact similarities of rows to survivors, some at a time."""

        def similarities(a: RowIndices, b: RowIndices) -> NDArray[np.float64]:
            result = np.full(len(a), np.nan)
            step = max(1 << 10, self._room(0.3) // (8 * self._of_row + 256))
            inside = np.flatnonzero(b >= 0)
            for start in range(0, len(inside), step):
                some = inside[start : start + step]
                result[some] = self._of_pairs(a[some], b[some])
            if against is not None:
                self._to_others(against, a, b, result, step)
            return result

        return similarities

    def _to_others(
        self,
        against: DedupRows,
        a: RowIndices,
        b: RowIndices,
        result: NDArray[np.float64],
        step: int,
    ) -> None:
        first = 0
        for Y, _ in against.batches(step):
            other = -1 - b
            here = np.flatnonzero((b < 0) & (other >= first) & (other < first + Y.shape[0]))
            for start in range(0, len(here), step):
                some = here[start : start + step]
                wanted, inverse = np.unique(a[some], return_inverse=True)
                exact = self._exact.like(self._take(wanted))
                outside = exact.like(against.compared(as_matrix(Y)))
                result[some] = exact.similarities(inverse.reshape(-1), outside, other[some] - first)
            first += Y.shape[0]


def _first_places(place: RowIndices, count: int) -> RowIndices:
    """The first row of each place."""
    first = np.empty(count, dtype=np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]
    return first


def _whole_rows(words: Words, end: int) -> int:
    """The end of about so many candidates; those of one later row stay together."""
    if end >= len(words):
        return len(words)
    return int(np.searchsorted(words, words[end - 1] | _LOW, side="right"))
