"""Pairs, ten nearest and an index on disk, against brute force and other libraries.

    python benchmarks/search.py [name of a comparison ...]

Times are those of the processor, on one thread, with the encoding of rows and queries. Recall
counts ties as found. The searches of peers get the least effort that reaches a recall of 0.95, and
ours are asked for 0.95. The sets A (texts), B (digits), C (synthetic rows) and D (molecules) are
those of `_search_data`, which also says where they are kept; a set or a peer that is missing is
left out with a sentence. "Brute force" is our exact kernel on all pairs, panel by panel.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from _measure import Row, at_least, show, threads
from _older import BEGIN, PeerMissingError, in_new_process, older
from _search_data import folder, load, synthetic
from _search_peers import (
    Found,
    brute_force,
    compiled_metric,
    cpu,
    datasketch_forest,
    datasketch_join,
    datasketch_rows,
    faiss_jaccard,
    least_effort,
    neighbor_recall,
    pair_recall,
    pynndescent,
    read_faiss,
    true_neighbors,
    usearch_gmm,
    write_faiss,
)

from kernelight import GCWS, neighbors
from kernelight.neighbors import BandSearch, ExactRows, MinMaxNeighbors

RECALL = 0.95
OLD = "2765cbb"  # before rows of many columns were encoded faster
EFFORTS = (10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512)
EPSILONS = (0.0, 0.02, 0.05, 0.1, 0.12, 0.15, 0.2, 0.3)
QUERIES = 1000


def run(quick: bool = False, names: list[str] | None = None) -> list[Row]:
    """One row for each claim."""
    rows: list[Row] = []
    with threads(1):
        for name in names or COMPARISONS:
            try:
                found = COMPARISONS[name](quick)
                show(found)  # as soon as it is known: all take half an hour
                rows += found
            except PeerMissingError as missing:
                print(f"{missing}.", flush=True)
    return rows


# -- Pairs ---------------------------------------------------------------------------------------


def _pairs(X: Any, threshold: float, method: str) -> tuple[float, Any]:
    """The time of fit and pairs, and the pairs."""
    engine = MinMaxNeighbors(method=method, recall=RECALL, n_jobs=1)
    return cpu(lambda: engine.fit(X).pairs(threshold))


def _texts(quick: bool) -> list[Row]:
    X = load("A")
    if X is None:
        return []
    X = X[:20_000] if quick else X
    slow, truth = cpu(lambda: brute_force(X, 0.5))
    seconds, found = _pairs(X, 0.5, "exact")
    recall = pair_recall(found, truth, 0.5)
    claim = f"{X.shape[0]:,} texts (A), all pairs >= 0.5, exact"
    return [_with_recall(claim, "brute force", 15, slow / seconds, recall, least=1.0)]


def _molecules(quick: bool) -> list[Row]:
    X = load("D")
    if X is None:
        return []
    X = X[:20_000] if quick else X
    slow, truth = _pairs(X, 0.7, "exact")
    seconds, found = _pairs(X, 0.7, "bands")
    recall = pair_recall(found, truth, 0.7)
    claim = f"{X.shape[0]:,} molecules (D), pairs >= 0.7, bands"
    return [_with_recall(claim, "our exact prefix join", 5, slow / seconds, recall)]


def _digits(quick: bool) -> list[Row]:
    X = load("B")
    if X is None:
        return []
    X = X[:10_000] if quick else X
    slow, truth = cpu(lambda: brute_force(X, 0.7))
    rows = []
    for threshold, bar in ((0.8, 60), (0.7, 30)):
        above = truth.similarity >= threshold
        seconds, found = _pairs(X, threshold, "bands")
        recall = pair_recall(found, type(truth)(*(part[above] for part in truth)), threshold)
        claim = f"{X.shape[0]:,} digits (B), pairs >= {threshold}, bands"
        rows.append(_with_recall(claim, "brute force", bar, slow / seconds, recall))
    return rows


# -- Ten nearest ---------------------------------------------------------------------------------


def _ours(X: np.ndarray, Q: np.ndarray, truth: np.ndarray, method: str) -> tuple[float, Found]:
    """The time of fit, and the search."""
    engine = MinMaxNeighbors(10, method=method, recall=RECALL, n_jobs=1)
    build, _ = cpu(lambda: engine.fit(X).plan_)  # made at the first look
    seconds, (_, ids) = cpu(lambda: engine.kneighbors(Q))
    return build, Found(seconds / len(Q), neighbor_recall(X, Q, ids, truth), None)


def _compared(
    claim: str, peer: str, bars: tuple[float, float], ours: Any, theirs: Any
) -> list[Row]:
    """Queries per second and the build."""
    (build, found), (peer_build, peer_found) = ours, theirs
    if peer_found.recall < RECALL:
        peer = f"{peer}, whose recall is {peer_found.recall:.3f} at most"
    else:
        peer = f"{peer}, at recall {peer_found.recall:.3f}"
    return [
        _with_recall(
            f"{claim}, {1 / found.seconds:,.0f} queries/s",
            f"{peer}, {1 / peer_found.seconds:,.0f} queries/s",
            bars[0],
            peer_found.seconds / found.seconds,
            found.recall,
        ),
        at_least(
            f"the same: build, {build:.2f} s",
            f"{peer}, {peer_build:.2f} s",
            bars[1],
            peer_build / build,
        ),
    ]


def _nearest(n_rows: int, quick: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    X, Q = load("B"), load("Bq")
    if X is None or Q is None:
        return None
    X, Q = X[:n_rows], Q[: 200 if quick else QUERIES]
    return X, Q, true_neighbors(X, Q)


def _ten_nearest(quick: bool) -> list[Row]:
    data = _nearest(10_000, quick)
    if data is None:
        return []
    X, Q, truth = data
    ours = _ours(X, Q, truth, "graph")
    claim = f"{len(X):,} digits (B), ten nearest, graph"
    rows = []
    build, search = cpu(lambda: faiss_jaccard(X))
    found = least_effort(X, Q, truth, lambda effort: search(Q, effort), EFFORTS)
    rows += _compared(claim, "faiss HNSW16 METRIC_Jaccard", (15, 12), ours, (build, found))
    metric = compiled_metric(folder())
    build, graph = cpu(lambda: usearch_gmm(X, metric))
    found = least_effort(X, Q, truth, lambda effort: graph(Q, effort), EFFORTS)
    peer = "usearch, compiled GMM of raw rows"
    return rows + _compared(claim, peer, (2, 2.5), ours, (build, found))


def _ten_nearest_of_many(quick: bool) -> list[Row]:
    data = _nearest(10_000 if quick else 60_000, quick)
    if data is None:
        return []
    X, Q, truth = data
    ours = _ours(X, Q, truth, "graph")
    claim = f"{len(X):,} digits (B), ten nearest, graph"
    pynndescent(X[:1000])(Q[:10], 0.1)  # compiles
    build, search = cpu(lambda: pynndescent(X))
    found = least_effort(X, Q, truth, lambda effort: search(Q, effort), EPSILONS)
    rows = _compared(claim, "pynndescent, braycurtis", (1, 1), ours, (build, found))
    few, few_truth = Q[:100], truth[:100]
    coder = GCWS(256, bits=8, n_jobs=1).fit(X)
    encoding, codes = cpu(lambda: coder.encode(X).array)
    build, forest = cpu(lambda: datasketch_forest(X, datasketch_rows(codes), trees=32))
    found = least_effort(
        X,
        few,
        few_truth,
        lambda effort: forest(few, datasketch_rows(coder.encode(few).array), effort),
        (100, 300, 1000, 3000),
    )
    peer = "datasketch's LSH forest of our codes, 32 trees, re-ranked"
    return rows + _compared(claim, peer, (1, 1), ours, (build + encoding, found))


# -- The same codes and bands --------------------------------------------------------------------


def _same_bands(quick: bool) -> list[Row]:
    X = load("D")
    if X is None:
        return []
    X = X[: 5_000 if quick else 20_000]
    plan = MinMaxNeighbors(method="bands", recall=RECALL).fit(X).pairs_plan(0.7).bands
    assert plan is not None
    codes = GCWS(plan.n_components, bits=plan.bits, n_jobs=1).fit(X).encode(X)
    sketches = datasketch_rows(codes.array[:, : plan.bands * plan.rows])
    slow, candidates = cpu(lambda: datasketch_join(sketches, plan.bands, plan.rows))
    seconds, found = cpu(lambda: BandSearch(ExactRows.of(X), codes, plan, n_jobs=1).pairs())
    truth = brute_force(X, 0.7)
    recall = pair_recall(found, truth, 0.7)
    peer = f"datasketch, not verified: {len(candidates[0]):,} candidates of {len(found[0]):,} pairs"
    claim = (
        f"{X.shape[0]:,} molecules (D), pairs >= 0.7 of given codes by {plan.bands} bands of "
        f"{plan.rows} slots, index and join, verified"
    )
    return [_with_recall(claim, peer, 50, slow / seconds, recall)]


# -- Encoding ------------------------------------------------------------------------------------

ENCODE = f"""{BEGIN}
import time
import scipy.sparse as sp
from kernelight import GCWS
X = sp.load_npz(sys.argv[1])[:int(sys.argv[2])]
start = time.process_time()
GCWS(256, bits=8, n_jobs=1).fit(X).encode(X)
print(time.process_time() - start, X.shape[0])
"""


def _encoding(quick: bool) -> list[Row]:
    X = load("A")
    if X is None:
        return []
    n_rows = 8_000 if quick else X.shape[0]
    best = dict.fromkeys((older(OLD, folder()), ""), float("inf"))
    for _ in range(1 if quick else 3):
        for path in best:
            used, _ = in_new_process(ENCODE, folder() / "A.npz", n_rows, path)
            best[path] = min(best[path], used)
    peer_seconds, seconds = best.values()
    return [
        at_least(
            f"encoding {n_rows:,} texts of {X.shape[1]:,} columns (A), k = 256, "
            f"{n_rows / seconds:,.0f} rows/s",
            f"commit {OLD}, {n_rows / peer_seconds:,.0f} rows/s",
            5,
            peer_seconds / seconds,
        )
    ]


# -- An index on disk ----------------------------------------------------------------------------


def _create_index(X: Any, path: Path) -> None:
    """Write an index of these rows that stores codes, not rows."""
    with neighbors.Index.create(path, n_features=X.shape[1], store_rows=False) as index:
        for start in range(0, X.shape[0], 100_000):
            part = X[start : start + 100_000]
            index.add(np.arange(start, start + part.shape[0]), part)
        index.commit()


OPEN = """
import sys, time
import scipy.sparse as sp
import kernelight.neighbors
X = sp.load_npz(sys.argv[2])
wall, start = time.perf_counter(), time.process_time()
index = kernelight.neighbors.Index.open(sys.argv[1])
index.search(X, **QUERY)
print(time.process_time() - start, time.perf_counter() - wall)
"""


# Pages that the process got, codes included: usearch counts what it reserved, which is more.
GRAPH = """
import sys
import scipy.sparse as sp
from kernelight import GCWS
from kernelight.neighbors.graph import CodeGraph
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
X = sp.load_npz(sys.argv[1])
codes = GCWS(256).fit(X).encode(X)
CodeGraph(codes[:100])  # what is loaded once
before = resident()
graph = CodeGraph(codes)
print(graph.nbytes / len(codes), (resident() - before + codes.nbytes) / len(codes))
"""


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())


def _index(quick: bool) -> list[Row]:
    n_rows = 50_000 if quick else 1_000_000
    X = synthetic(n_rows)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="kernelight-", dir=folder()) as name:
        path = Path(name) / "bands"
        _create_index(X, path)
        some = Path(name) / "some.npz"
        sp.save_npz(some, X[:50_000])
        for what, where, each, most in (
            (f"index of {n_rows:,} rows (C)", "disk", _size(path) / n_rows, 400),
            ("graph of 50,000 rows (C)", "memory", in_new_process(GRAPH, some)[1], 900),
        ):
            rows.append(
                {
                    "claim": f"{what}, without the rows",
                    "peer": f"bytes a row, {where}",
                    "bar": f"at most {most} bytes",
                    "measured": each,
                    "unit": "bytes",
                    "holds": each <= most,
                }
            )
        query = Path(name) / "query.npz"
        sp.save_npz(query, X[:1])
        theirs = min(read_faiss(_faiss_file(X))[1] for _ in range(3))
        peer = f"faiss HNSW16 of as many rows, 64 columns, {1000 * theirs:.0f} ms"
        # the ten nearest of any distance need every code, which rows above a threshold do not
        for asked, what, bar in (
            ("threshold=0.8", "all rows above 0.8", 20),
            ("k=10", "the ten nearest", 20),
        ):
            program = OPEN.replace("**QUERY", asked)
            ours = min(in_new_process(program, path, query)[1] for _ in range(3))
            claim = f"opening an index of {n_rows:,} rows and a first query, {what}, "
            rows.append(at_least(f"{claim}{1000 * ours:.1f} ms", peer, bar, theirs / ours))
    return rows


def _faiss_file(X: Any) -> Path:
    """Written once: it takes minutes."""
    path = folder() / f"faiss-{X.shape[0]}.index"
    if not path.is_file():
        write_faiss(X, path)
    return path


# -- All -----------------------------------------------------------------------------------------


def _with_recall(
    claim: str, peer: str, bar: float, measured: float, recall: float, least: float = RECALL
) -> Row:
    """A claim to be this many times faster at a recall."""
    row = at_least(f"{claim}, recall {recall:.3f}", peer, bar, measured)
    row["bar"] += " at recall 1" if least == 1.0 else f" at recall {least:g}"
    row["holds"] = row["holds"] and recall >= least
    return row


COMPARISONS: dict[str, Callable[[bool], list[Row]]] = {
    "texts": _texts,
    "molecules": _molecules,
    "digits": _digits,
    "same-bands": _same_bands,
    "encoding": _encoding,
    "ten-nearest": _ten_nearest,
    "ten-nearest-of-many": _ten_nearest_of_many,
    "index": _index,
}


if __name__ == "__main__":
    run(names=sys.argv[1:])
