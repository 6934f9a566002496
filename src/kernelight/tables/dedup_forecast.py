"""How many pairs to expect and how long de-duplication takes, by a sample of the rows."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from kernelight.base import bytes_text
from kernelight.base.checks import as_matrix
from kernelight.data import DataError
from kernelight.estimators.progress import Event, Watch, unwatched
from kernelight.neighbors.dedup_bands import dedup_map, dedup_plan
from kernelight.neighbors.deduplicate import pair_finder
from kernelight.neighbors.equal_rows import first_equal_rows
from kernelight.tables.deduplication import BATCH, DedupRows, DedupSettings
from kernelight.tables.memory_limit import row_bytes, taken
from kernelight.tables.sample import Sample

SAMPLED = 10_000  # rows
ENCODED = 2_000  # of these, to see how long it takes


def forecast(
    rows: DedupRows, settings: DedupSettings, *, memory: int | None = None, watch: Watch = unwatched
) -> dict[str, Any]:
    """Rows, expected pairs, method, seconds and memory, as plain data.

    All rows are read once, to count them; pairs are counted in a random sample. c pairs among m of
    n rows stand for c n (n - 1) / (m (m - 1)), give or take that of sqrt(c) (of at least one).
    """
    start = time.monotonic()
    sample, count = Sample(SAMPLED, 0, classes=False), 0
    for X, _ in rows.batches(BATCH):
        sample.add(X, np.zeros(X.shape[0], dtype=np.int8))
        count += X.shape[0]
        watch(Event("reading", count))
    if not count:
        raise DataError(f"{rows.name} has no rows.")
    reading = time.monotonic() - start
    watch(Event("comparing a sample"))
    some = as_matrix(sample.take(SAMPLED)[0])
    m = some.shape[0]
    first = first_equal_rows(some)
    distinct = some[np.flatnonzero(first == np.arange(m))]
    more = count * (count - 1) / max(1, m * (m - 1))
    found, method, engine = 0, "exact", 0.0
    bands_text = ""
    if distinct.shape[0] > 1:
        finder = pair_finder(distinct, {**settings.engine, "method": "exact"})
        begin = time.monotonic()
        found = len(finder.pairs(settings.threshold).i)
        exact = (time.monotonic() - begin) * (count / m) ** 2
        banded, bands_text = _banded(distinct, settings, count)
        wanted = "bands" if memory is not None else settings.method
        method = wanted if wanted in ("exact", "bands") else "bands" if banded < exact else "exact"
        engine = banded if method == "bands" else exact
    each = row_bytes(some)
    whole = taken() + count * (3 * each + 700 + 64)
    return {
        "data": rows.name,
        "rows": count,
        "sampled": m,
        "pairs": round(found * more),
        "pairs_error": math.ceil(math.sqrt(max(1, found)) * more) if m < count else 0,
        "method": method,
        "method_text": "exact: all pairs are found" if method == "exact" else bands_text,
        "seconds": reading + reading + engine,  # rows are read again to be written
        "memory_text": f"about {bytes_text(whole)}"
        if memory is None
        else f"at most {bytes_text(memory)}, as asked for",
    }


def _banded(distinct: Any, settings: DedupSettings, count: int) -> tuple[float, str]:
    """Seconds that bands take for ``count`` rows like these, and what they are."""
    made = dedup_map(distinct, settings.random_state, settings.n_jobs)
    codes = made.encode(distinct)
    begin = time.monotonic()
    made.encode(distinct[:ENCODED])
    encoding = (time.monotonic() - begin) * count / min(ENCODED, distinct.shape[0])
    plan = dedup_plan(codes, count, settings.threshold, settings.recall, settings.n_jobs)
    joining = 2e-7 * count * plan.bands  # keys, sorting, and a few candidates
    recall = float(plan.expected_recall(settings.threshold))
    text = (
        f"bands: {plan.bands} of {plan.rows} slots, which find {100 * recall:.1f} % of the pairs "
        f"at the threshold"
    )
    return encoding + joining, text
