"""Bands for de-duplication, decided by the first rows, so that all rows need not be in memory.

The map is fitted to the first distinct rows (`planning_rows`), and bands are chosen by their codes
and by how many rows there are. Both ways of de-duplicating, in memory and from files, decide so,
and find the same pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from kernelight.base.checks import Matrix, seed_of
from kernelight.codes import Codes
from kernelight.maps.minmax.gcws import GCWS
from kernelight.neighbors import costs
from kernelight.neighbors.band_plan import BandPlan, plan_facts, possible_plans
from kernelight.neighbors.banded import BandSearch, pairs_met
from kernelight.neighbors.exact_rows import ExactRows
from kernelight.neighbors.pairs import NeighborPairs

LOOKED_AT = 1 << 10  # rows that show how long rows are
PLAN_ROWS, PLAN_VALUES = 1 << 16, 1 << 21
N_COMPONENTS, BITS = 256, 8


def planning_rows(rows: Matrix) -> int:
    """How many of the first rows decide: at most `PLAN_ROWS`, of `PLAN_VALUES` values or so."""
    some = rows[:LOOKED_AT]
    values = (some.nnz if sp.issparse(some) else some.size) // max(1, some.shape[0])
    return int(min(PLAN_ROWS, max(LOOKED_AT, PLAN_VALUES // max(1, values))))


def dedup_map(rows: Matrix, random_state: Any, n_jobs: int | None) -> GCWS:
    """The map of the codes, fitted to the rows that decide; they are raised to their power."""
    made = GCWS(N_COMPONENTS, bits=BITS, random_state=seed_of(random_state), n_jobs=n_jobs)
    return made.fit(rows)


def dedup_plan(
    first: Codes, n_rows: int, threshold: float, recall: float, n_jobs: int | None = None
) -> BandPlan:
    """The cheapest bands for ``n_rows`` rows, by the codes of those that decide.

    Pairs that meet by chance grow with the square of the rows.
    """
    more = (n_rows / max(1, len(first))) ** 2
    priced = []
    for plan in possible_plans(N_COMPONENTS, BITS, threshold, recall):
        met = more * pairs_met(first, plan.rows, n_jobs=n_jobs)
        each = costs.BAND_ROW + costs.BAND_SLOT * plan.rows
        priced.append(plan.bands * (n_rows * each + met * costs.MET))
    return possible_plans(N_COMPONENTS, BITS, threshold, recall)[int(np.argmin(priced))]


def banded_pairs(
    rows: Matrix, threshold: float, engine: dict[str, Any]
) -> tuple[NeighborPairs, dict[str, Any]]:
    """All pairs that the bands find, and how, as plain data."""
    n_jobs = engine["n_jobs"]
    exact = ExactRows.of(rows, engine["p"])
    first = planning_rows(exact.matrix)
    made = dedup_map(exact.matrix[:first], engine["random_state"], n_jobs)
    codes = made.encode(exact.matrix)
    plan = dedup_plan(codes[:first], exact.n_rows, threshold, engine["recall"], n_jobs)
    search = BandSearch(exact, codes, plan, n_jobs=n_jobs)
    return search.pairs(), band_facts(plan, search.counts.capped)


def band_facts(plan: BandPlan, capped: int) -> dict[str, Any]:
    """How pairs were found by bands, as plain data."""
    similarity = np.linspace(0.0, 1.0, 101)
    return {
        "method": "bands",
        "recall": float(plan.expected_recall(plan.threshold)),
        "capped": capped,
        **plan_facts(plan),
        "curve": [
            [round(float(at), 2), float(chance)]
            for at, chance in zip(similarity, plan.expected_recall(similarity), strict=True)
        ],
    }
