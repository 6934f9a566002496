"""Pairs, ten nearest, de-duplication and an index on disk, against brute force and other libraries.

    python benchmarks/search.py [name of a comparison ...]

Times are those of the processor, on one thread, with the encoding of rows and queries. Recall
counts ties as found. The searches of peers get the least effort that reaches a recall of 0.95, and
ours are asked for 0.95. The sets A (texts), B (digits), C (synthetic rows) and D (molecules) are
those of `_search_data`, which also says where they are kept; a set or a peer that is missing is
left out with a sentence. "Brute force" is our exact kernel on all pairs, panel by panel.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # read when the libraries are loaded

import numpy as np
from _measure import Row, at_least, show, threads
from _search_data import folder, load
from _search_peers import (
    Found,
    PeerMissingError,
    brute_force,
    compiled_metric,
    cpu,
    datasketch_forest,
    datasketch_join,
    datasketch_rows,
    faiss_jaccard,
    in_new_process,
    least_effort,
    neighbor_recall,
    older,
    pair_recall,
    pynndescent,
    read_faiss,
    true_neighbors,
    usearch_gmm,
    write_faiss,
)

from kernelight import GCWS
from kernelight.neighbors import MinMaxNeighbors
from kernelight.theory import choose_bands

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
                rows += COMPARISONS[name](quick)
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
    build, _ = cpu(lambda: engine.fit(X))
    seconds, (_, ids) = cpu(lambda: engine.kneighbors(Q))
    return build, Found(seconds / len(Q), neighbor_recall(X, Q, ids, truth), None)


def _compared(claim: str, peer: str, bars: tuple[float, float], ours: Any, theirs: Any) -> list[Row]:
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
    plan = choose_bands(128, 0.7, recall=RECALL)
    codes = GCWS(192, bits=16, n_jobs=1).fit(X).encode(X)
    sketches = datasketch_rows(codes.array[:, : plan.bands * plan.rows])
    slow, candidates = cpu(lambda: datasketch_join(sketches, plan.bands, plan.rows))
    seconds, found = cpu(lambda: _band_join(X, codes, plan.bands, plan.rows, 0.7))
    truth = brute_force(X, 0.7)
    recall = pair_recall(found, truth, 0.7)
    peer = f"datasketch, not verified: {len(candidates[0]):,} candidates of {len(found[0]):,} pairs"
    claim = f"{X.shape[0]:,} molecules (D), index and join of given codes, verified"
    return [_with_recall(claim, peer, 50, slow / seconds, recall)]


def _band_join(X: Any, codes: Any, bands: int, rows: int, threshold: float) -> Any:
    """Verified pairs of rows with given codes, by the bands of datasketch."""
    raise NotImplementedError


# -- Encoding ------------------------------------------------------------------------------------

ENCODE = """
import sys, time
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
    path = older(OLD, folder())
    n_rows = 8_000 if quick else X.shape[0]
    here = str(Path(__file__).resolve().parent.parent / "src")
    seconds, peer_seconds = float("inf"), float("inf")
    for _ in range(1 if quick else 3):
        peer_seconds = min(
            peer_seconds, in_new_process(ENCODE, folder() / "A.npz", n_rows, path=path)[0]
        )
        seconds = min(seconds, in_new_process(ENCODE, folder() / "A.npz", n_rows)[0])
    del here
    return [
        at_least(
            f"encoding {n_rows:,} texts of {X.shape[1]:,} columns (A), k = 256, "
            f"{n_rows / seconds:,.0f} rows/s",
            f"commit {OLD}, {n_rows / peer_seconds:,.0f} rows/s",
            5,
            peer_seconds / seconds,
        )
    ]
