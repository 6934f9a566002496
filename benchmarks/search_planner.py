"""method="auto" of MinMaxNeighbors against the best engine, and what the parts of each engine cost.

    python benchmarks/search_planner.py [costs] [A] [B] [C] [D]

Times are those of the processor on one thread, for fit and the job together, encoding included.
Jobs are all pairs above some thresholds, and the ten nearest of 20,000 fitted rows among each
other. An engine whose time is foreseen above a minute is not run. The costs are those of
`kernelight.neighbors.costs`, which chooses by their ratios.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from _measure import Row, at_most, show, threads
from _search_data import load
from _search_peers import cpu

from kernelight import GCWS
from kernelight.neighbors import (
    BandPlan,
    BandSearch,
    ExactRows,
    MinMaxNeighbors,
    band_keys,
    equal_slots,
    scan_codes,
)

SETS = {
    "A": (0.9, 0.8, 0.7, 0.5),
    "B": (0.9, 0.8, 0.7),
    "C": (0.9, 0.8, 0.7, 0.5),
    "D": (0.9, 0.8, 0.7, 0.6, 0.5),
}
NEAREST = 20_000
LONGEST = 60.0  # seconds foreseen


def run(quick: bool = False, names: list[str] | None = None) -> list[Row]:
    """One row for each job, then the costs."""
    rows: list[Row] = []
    with threads(1):
        for name in names or (*SETS, "costs"):
            rows += unit_costs() if name == "costs" else _planned(name, quick)
    return rows


# -- The planner ---------------------------------------------------------------------------------


def _planned(name: str, quick: bool) -> list[Row]:
    X = load(name)
    if X is None:
        return []
    few = X[: NEAREST // 4 if quick else NEAREST]
    X = few if quick else X
    rows = []
    for threshold in SETS[name]:
        job = f"{name}, {X.shape[0]:,} rows, pairs >= {threshold}"
        plan, work = partial(_pairs_plan, threshold), partial(_pairs, threshold)
        rows += _compared(job, X, ("exact", "bands"), plan, work)
    rows += _compared(
        f"{name}, {few.shape[0]:,} rows, ten nearest of each",
        few,
        ("exact", "graph"),
        lambda engine: engine.plan_,
        lambda engine: engine.kneighbors(),
    )
    return rows


def _pairs_plan(threshold: float, engine: Any) -> Any:
    return engine.pairs_plan(threshold)


def _pairs(threshold: float, engine: Any) -> Any:
    return engine.pairs(threshold)


def _compared(
    job: str,
    X: Any,
    methods: tuple[str, ...],
    plan: Callable[[Any], Any],
    work: Callable[[Any], object],
) -> list[Row]:
    def done(method: str) -> object:
        return work(MinMaxNeighbors(method=method, n_jobs=1).fit(X))

    planned = plan(MinMaxNeighbors(n_jobs=1).fit(X))
    seconds = {}
    for method in methods:
        if planned.seconds.get(method, 0.0) <= LONGEST:
            seconds[method], _ = cpu(partial(done, method))
    auto, _ = cpu(partial(done, "auto"))
    best = min(seconds, key=lambda method: seconds[method])
    measured = ", ".join(f"{method} {value:.2f} s" for method, value in seconds.items())
    foreseen = ", ".join(f"{method} {value:.2f} s" for method, value in planned.seconds.items())
    claim = f"{job}: auto takes {planned.method}, {auto:.2f} s (foreseen: {foreseen})"
    row = at_most(claim, measured, 1.5, auto / seconds[best])
    show([row])
    return [row]


# -- Costs ---------------------------------------------------------------------------------------


def _cost(what: str, nanoseconds: float) -> Row:
    row = {
        "claim": what,
        "peer": "",
        "bar": "none, for the planner",
        "measured": nanoseconds,
        "unit": "ns",
        "holds": True,
    }
    show([row])
    return row


def unit_costs() -> list[Row]:
    """Nanoseconds of the parts of each engine, on each set."""
    rows = []
    for name in SETS:
        X = load(name)
        if X is not None:
            rows += _costs_of(name, X)
    return rows


def _costs_of(name: str, X: Any) -> list[Row]:
    rows = []
    exact = ExactRows.of(X)
    entries = exact.mean_entries * exact.n_rows
    nonzeros = float(X.nnz if exact.is_sparse else np.count_nonzero(X))
    used = len(np.unique(X.indices)) if exact.is_sparse else X.shape[1]
    rng = np.random.default_rng(0)
    # Encoding: a small and a large part tell nonzeros from columns that are drawn.
    encoding, codes = cpu(lambda: GCWS(256, bits=8, n_jobs=1).fit(X).encode(X))
    rows.append(_cost(f"{name}, encoding, a nonzero in a slot", encoding / nonzeros / 256 * 1e9))
    rows.append(_cost(f"{name}, encoding, a used column in a slot", encoding / used / 256 * 1e9))
    # Candidates, verified
    i, j = rng.integers(0, exact.n_rows, (2, 300_000))
    verified, _ = cpu(lambda: exact.similarities(i, exact, j, n_jobs=1))
    each = verified / len(i) * 1e9
    rows.append(_cost(f"{name}, a pair verified, {exact.mean_entries:.0f} entries a row", each))
    slots = codes.take_slots(np.arange(192, 256))
    compared, _ = cpu(lambda: equal_slots(slots, i, slots, j, n_jobs=1))
    rows.append(_cost(f"{name}, a pair compared in 64 slots", compared / len(i) * 1e9))
    # Bands
    keyed, _ = cpu(lambda: band_keys(codes, 16, 8, n_jobs=1))
    rows.append(_cost(f"{name}, a slot of a band hashed", keyed / codes.array.size * 2 * 1e9))
    plan = BandPlan(256, 8, 0.8, 17, 8)
    search = BandSearch(exact, codes, plan, n_jobs=1)
    joined, _ = cpu(search.pairs)
    met = max(1, search.counts.pairs)
    rows.append(_cost(f"{name}, join of 17 bands, a row in a band", joined / len(codes) / 17 * 1e9))
    rows.append(_cost(f"{name}, the same, a pair met of {met:,}", joined / met * 1e9))
    # A scan and a graph
    scanned, _ = cpu(lambda: scan_codes(codes, codes[:200], 50, n_jobs=1))
    rows.append(_cost(f"{name}, a byte scanned", scanned / 200 / codes.array.size * 1e9))
    for n_rows in (10_000, 50_000):
        rows += _graph_costs(name, X[:n_rows])
    # Exact searches
    some = X[rng.choice(X.shape[0], 200, replace=False)]
    engine = MinMaxNeighbors(method="exact", n_jobs=1)
    engine.fit(X).kneighbors(some[:1])  # lists are made at the first query
    searched, _ = cpu(lambda: engine.kneighbors(some))
    if exact.is_sparse:
        lengths = np.diff(X.tocsc().indptr)
        terms = float(lengths[some.indices].sum())
        rows.append(_cost(f"{name}, exact query, an entry of a list", searched / terms * 1e9))
    else:
        terms = 200.0 * X.size
        rows.append(_cost(f"{name}, exact query, an entry of a row", searched / terms * 1e9))
    rows.append(_cost(f"{name}, exact query, a row", searched / 200 / X.shape[0] * 1e9))
    if exact.is_sparse:
        prepared, _ = cpu(lambda: MinMaxNeighbors(method="exact", n_jobs=1).fit(X).pairs(1.0))
        rows.append(_cost(f"{name}, exact join at 1, an entry", prepared / entries * 1e9))
    return rows


def _graph_costs(name: str, X: Any) -> list[Row]:
    engine = MinMaxNeighbors(method="graph", n_jobs=1)
    build, _ = cpu(lambda: engine.fit(X).plan_)  # made at the first look
    encoding, _ = cpu(lambda: GCWS(256, bits=8, n_jobs=1).fit(X).encode(X))
    some = X[:1000]
    searched, _ = cpu(lambda: engine.kneighbors(some))
    size = f"graph of {X.shape[0]:,} rows"
    candidates = engine.plan_.candidates
    return [
        _cost(f"{name}, {size}, a row added", (build - encoding) / X.shape[0] * 1e9),
        _cost(
            f"{name}, {size}, a query of {candidates} candidates, encoded and verified "
            f"(recall {engine.plan_.recall:.3f})",
            searched / 1000 * 1e9,
        ),
    ]


if __name__ == "__main__":
    run(names=sys.argv[1:])
