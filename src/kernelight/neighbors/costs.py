"""What each engine costs, foreseen from counts.

Constants are nanoseconds of one thread, measured once by benchmarks/search.py on one machine: only
their ratios matter, and no clock is looked at, so that the same data give the same plan everywhere.
"""

from __future__ import annotations

import numpy as np

from kernelight.neighbors.exact_rows import ExactRows

# Encoding: a nonzero in a slot, and a coordinate drawn in a slot, where tables of all coordinates
# are kept; a nonzero in a slot where there are too many for that.
SLOT, DRAW, WIDE_SLOT = 0.2, 25.0, 1.2
KEPT_CELLS = 6 << 20
# Exact searches: an entry of a list or of a dense row, a row looked at; of the join: an entry
# met, a stored entry prepared.
TERM, DENSE_TERM, LOOKED_AT = 1.3, 0.12, 0.6
JOINED, PREPARED = 15.0, 45.0
# Bands: a row in a band, a slot of it, a pair that meets.
BAND_ROW, BAND_SLOT, MET = 25.0, 2.0, 45.0
# The graph: a row added and a query, for each doubling of the rows; a byte scanned.
ADDED, SEARCHED, SCANNED = 8000.0, 6000.0, 0.1
# A pair verified: a fixed cost, and one for each entry of two sparse rows merged.
VERIFIED, MERGED = 60.0, 12.0


def encoding(rows: ExactRows, n_components: int, n_rows: int | None = None) -> float:
    """Encoding these rows, or ``n_rows`` like them, into codes."""
    n = rows.n_rows if n_rows is None else n_rows
    entries = rows.mean_nonzeros * n
    coordinates = min(float(2 * rows.matrix.shape[1]), entries)
    if n_components * coordinates > KEPT_CELLS:
        return n_components * WIDE_SLOT * entries
    return n_components * (SLOT * entries + DRAW * coordinates)


def exact_query(rows: ExactRows, entries_met: float) -> float:
    """One exact query."""
    if not rows.is_sparse:
        return DENSE_TERM * entries_met + LOOKED_AT * rows.n_rows
    return TERM * entries_met + LOOKED_AT * rows.n_rows


def exact_join(
    rows: ExactRows, entries: float, verified: float, n_rows: int | None = None
) -> float:
    """All pairs of these rows, or of ``n_rows``, exactly: entries met and pairs verified."""
    n = rows.n_rows if n_rows is None else n_rows
    if not rows.is_sparse:
        return DENSE_TERM * entries + LOOKED_AT * float(n) ** 2 / 2
    return JOINED * entries + verified * _verified(rows) + PREPARED * rows.mean_entries * n


def band_join(
    rows: ExactRows, bands: int, slots: int, pairs_met: float, n_rows: int | None = None
) -> float:
    """All pairs of these rows, or of ``n_rows``, by bands of codes that are there."""
    n = rows.n_rows if n_rows is None else n_rows
    return n * bands * (BAND_ROW + BAND_SLOT * slots) + bands * pairs_met * MET


def graph_build(n_rows: int) -> float:
    """A graph of codes."""
    return ADDED * n_rows * float(np.log2(max(2, n_rows)))


def graph_query(rows: ExactRows, candidates: int) -> float:
    """One query of the graph, with its candidates verified."""
    return SEARCHED * float(np.log2(max(2, rows.n_rows))) + candidates * _verified(rows)


def scan_query(rows: ExactRows, n_components: int, candidates: int) -> float:
    """One scan of all codes, with its candidates verified."""
    return SCANNED * n_components * rows.n_rows + candidates * _verified(rows)


def _verified(rows: ExactRows) -> float:
    """The exact similarity of one pair."""
    return VERIFIED + (MERGED if rows.is_sparse else DENSE_TERM) * rows.mean_entries
