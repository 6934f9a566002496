"""How many pairs to expect and how long de-duplication takes, by a sample of the rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from kernelight.base import bytes_text
from kernelight.base.checks import Matrix, as_matrix
from kernelight.codes import Codes
from kernelight.data import DataError
from kernelight.estimators.progress import Event, Watch, unwatched
from kernelight.neighbors.band_plan import BandPlan
from kernelight.neighbors.dedup_bands import dedup_map, dedup_plan
from kernelight.neighbors.deduplicate import likely_method, pair_finder
from kernelight.neighbors.duplicates import LEADER
from kernelight.neighbors.equal_rows import first_equal_rows, row_fingerprints
from kernelight.neighbors.exact_rows import ExactRows
from kernelight.neighbors.pairs import NeighborPairs
from kernelight.tables.deduplication import BATCH, DedupRows, DedupSettings, learn_from
from kernelight.tables.distinct_sample import DistinctSample, text_keys
from kernelight.tables.memory_limit import row_bytes, taken

LEAST_SAMPLED, MOST_SAMPLED, PART = 2_000, 10_000, 10  # a tenth of the rows between these
ENCODED = 1_000  # of these, to see how long it takes
TIMED = 20_000  # pairs, to see how long verifying takes
# Seconds of one thread, of files of many pairs: a row in a band; a pair that many bands find, that
# is verified with rows read from a file, that is written to a table of pairs.
_JOINED, MERGED, SPOOLED, WRITTEN = 2e-7, 3e-7, 8e-7, 1.2e-6
HELD = 110  # bytes of a pair in memory
# A machine that is busy, or files that were not read lately: times are within these factors.
FASTER, SLOWER = 0.6, 1.8


def forecast(
    rows: DedupRows,
    settings: DedupSettings,
    *,
    memory: int | None = None,
    all_pairs: bool = False,
    watch: Watch = unwatched,
) -> dict[str, Any]:
    """Rows, expected pairs, method, seconds and memory, as plain data, most of them with a range.

    Rows were opened with ``learn=False``. All are read once, to count them, and a random sample of
    the different ones is compared: texts outside of it do not become rows. c pairs among m of n
    different rows stand for c n (n - 1) / (m (m - 1)); `_spread` says how far off that may be.
    The method is chosen by counted work, as it will be; ``all_pairs`` says that they are listed.
    """
    start = time.monotonic()
    sample = _sampled(rows, watch)
    n, count = sample.n_distinct, sample.n_rows
    if not count:
        raise DataError(f"{rows.name} has no rows.")
    reading = time.monotonic() - start
    watch(Event("comparing a sample"))
    some = sample.take(max(LEAST_SAMPLED, min(MOST_SAMPLED, count // PART)))
    start = time.monotonic()
    distinct = as_matrix(_as_rows(rows, some))
    making = (time.monotonic() - start) * count / distinct.shape[0]  # rows of texts; scaled rows
    # texts that differ in nothing that counts are equal as rows
    first = first_equal_rows(distinct, unite_empty=rows.unite_empty) if rows.texts else None
    if first is not None:
        own = np.flatnonzero(first == np.arange(len(first)))
        n = round(n * len(own) / len(first))
        distinct = distinct[own]
    m = distinct.shape[0]
    more = n * (n - 1) / max(1, m * (m - 1))
    pairs, low, high = 0.0, 0.0, 0.0
    method, method_text, least, most = "exact", "exact: all pairs are found", 0.0, 0.0
    if m > 1:
        finder = pair_finder(distinct, {**settings.engine, "method": "exact"})
        begin = time.monotonic()
        found = finder.pairs(settings.threshold)
        exact = time.monotonic() - begin
        pairs, (low, high) = len(found.i), _spread(found, m, m == n)
        # between rows whose number of candidates does not grow, and those where it does
        least, most = exact * n / m, exact * (n / m) ** 2
        banded, codes = _encoded(distinct, settings, n)
        engine = settings.engine if memory is None else {**settings.engine, "method": "bands"}
        method = likely_method(distinct, n, settings.threshold, engine, codes)
        if method == "bands":
            plan = dedup_plan(codes, n, settings.threshold, settings.recall, settings.n_jobs)
            method_text = _said(plan, settings.threshold)
            verified = pairs * more
            if memory is not None:
                banded += MERGED * verified
                if settings.linkage == LEADER and not all_pairs:
                    verified = min(verified, 4.0 * n)  # hardly more decide
                banded += SPOOLED * verified
            banded += _JOINED * n * plan.bands + verified * _of_pair(distinct, found, settings)
            least = most = banded
    fixed = reading + making + reading  # rows are read again to be written
    fixed += WRITTEN * pairs * more * all_pairs
    whole = taken() + count * (3 * row_bytes(distinct) + 700 + 64) + HELD * pairs * more
    return {
        "data": rows.name,
        "rows": count,
        "distinct": n,
        "sampled": m,
        "pairs": round(pairs * more),
        "pairs_low": round(low * more),
        "pairs_high": round(high * more),
        "method": method,
        "method_text": method_text,
        "seconds": fixed + (least * most) ** 0.5,
        "seconds_low": FASTER * (fixed + least),
        "seconds_high": SLOWER * (fixed + most),
        "memory_text": f"about {bytes_text(round(whole))}"
        if memory is None
        else f"at most {bytes_text(memory)}, as asked for",
    }


def _sampled(rows: DedupRows, watch: Watch) -> DistinctSample:
    """Look at all rows, those of texts as they are."""
    sample = DistinctSample(MOST_SAMPLED)
    if rows.texts:
        for columns, _ in rows.data.texts(rows.texts, BATCH):
            sample.add(text_keys(columns), np.array(columns, dtype=object).T)
            watch(Event("reading", sample.n_rows))
        return sample
    for X, _ in rows.batches(BATCH):
        sample.add(row_fingerprints(X), X)
        watch(Event("reading", sample.n_rows))
    return sample


def _as_rows(rows: DedupRows, some: Any) -> Matrix:
    """What sampled rows are compared by, where they say what is learned of all."""
    columns = some.T.tolist() if rows.texts else None
    learned = learn_from(rows, some if columns is None else columns)
    if columns is None:
        return learned.compared(some)
    assert learned.shingles is not None
    return learned.shingles.transform(*columns, names=rows.texts)


def _spread(found: NeighborPairs, m: int, all_rows: bool) -> tuple[float, float]:
    """Between which numbers of pairs in such a sample the truth lies, at about 95 %.

    The variance is that of the jackknife, so that large clusters count: with d_i the pairs of row
    i, sum (d_i - mean)^2 - c, and at least that of independent pairs, c.
    """
    c = float(len(found.i))
    if all_rows:
        return c, c
    degree = np.bincount(np.concatenate([found.i, found.j]), minlength=m)
    variance = max(c, float(((degree - degree.mean()) ** 2).sum()) - c)
    return max(0.0, c - 2.0 * variance**0.5), c + 2.0 * (variance + 1.0) ** 0.5 + 1.0


def _encoded(distinct: Matrix, settings: DedupSettings, count: int) -> tuple[float, Codes]:
    """Seconds that encoding ``count`` rows like these takes, and the codes of some."""
    exact = ExactRows.of(distinct, settings.p).matrix
    made = dedup_map(exact, settings.random_state, settings.n_jobs)
    made.encode(exact[:1])  # what happens once
    some = exact[:ENCODED]
    begin = time.monotonic()
    codes = made.encode(some)
    return (time.monotonic() - begin) * count / some.shape[0], codes


def _said(plan: BandPlan, threshold: float) -> str:
    recall = float(plan.expected_recall(threshold))
    return (
        f"bands: {plan.bands} of {plan.rows} slots, which find {100 * recall:.1f} % of the pairs "
        f"at the threshold"
    )


def _of_pair(distinct: Matrix, found: NeighborPairs, settings: DedupSettings) -> float:
    """Seconds of verifying one pair."""
    if not len(found.i):
        return 0.0
    rows = ExactRows.of(distinct, settings.p)
    i, j = found.i[:TIMED], found.j[:TIMED]
    begin = time.monotonic()
    rows.similarities(i, rows, j, n_jobs=settings.n_jobs)
    return (time.monotonic() - begin) / len(i)
