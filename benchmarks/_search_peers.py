"""What the benchmark of search compares with: brute force, faiss, usearch, pynndescent, datasketch.

Every peer has one thread. One that is not installed, or cannot be compiled here, raises
`PeerMissingError`, whose sentence says what to do. A search of a peer is given the least effort
that reaches the recall asked for: `least_effort` tries one after the other.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from _older import PeerMissingError, in_new_process

from kernelight.kernels import GMM

ROUNDING = 1e-5  # similarities closer than this are equal
ENOUGH = 5.0  # seconds of the processor after which nothing is repeated
PANEL = 2048  # rows of a panel of the brute force
T = TypeVar("T")


class Pairs(NamedTuple):
    """Pairs of rows, i < j, and their similarities."""

    i: np.ndarray
    j: np.ndarray
    similarity: np.ndarray


class Found(NamedTuple):
    """A search: seconds a query, recall, and the effort that it took."""

    seconds: float
    recall: float
    effort: Any


def cpu(call: Callable[[], T]) -> tuple[float, T]:
    """The processor time of a call, in seconds, and what it returns.

    The best of three where that takes seconds, one where it takes longer, for peers as for us.
    """
    best, spent = float("inf"), 0.0
    for _ in range(1 if os.environ.get("KERNELIGHT_QUICK") else 3):
        start = time.process_time()
        result = call()
        seconds = time.process_time() - start
        best, spent = min(best, seconds), spent + seconds
        if spent > ENOUGH:
            break
    return best, result


# -- Truth ---------------------------------------------------------------------------------------


def brute_force(X: Any, threshold: float) -> Pairs:
    """All pairs with a similarity of at least the threshold: the exact kernel, panel by panel.

    Only panels on and above the diagonal are computed.
    """
    kernel = GMM()
    found = []
    for top in range(0, X.shape[0], PANEL):
        for left in range(top, X.shape[0], PANEL):
            K = kernel(X[top : top + PANEL], X[left : left + PANEL])
            i, j = np.nonzero(np.triu(K, 1) >= threshold if left == top else threshold <= K)
            found.append((i + top, j + left, K[i, j]))
    return Pairs(*(np.concatenate(part) for part in zip(*found, strict=True)))


def pair_recall(found: Sequence[np.ndarray], truth: Pairs, threshold: float) -> float:
    """The fraction of true pairs that were found; those at the threshold to rounding are left out.

    Every pair found must be a true one.
    """
    n = 1 + max(int(truth.j.max(initial=0)), int(np.max(found[1], initial=0)))
    first, second = np.minimum(found[0], found[1]), np.maximum(found[0], found[1])
    ours = first.astype(np.int64) * n + second
    all_true = truth.i.astype(np.int64) * n + truth.j
    clear = truth.similarity >= threshold + ROUNDING
    below = ~np.isin(ours, all_true) & (np.asarray(found[2]) > threshold + ROUNDING)
    if below.any():
        raise AssertionError(f"{below.sum()} of the pairs found are none")
    return float(np.isin(all_true[clear], ours).mean())


def true_neighbors(X: Any, Q: Any, k: int = 10) -> np.ndarray:
    """The k highest similarities of each query, highest first."""
    rows = []
    for start in range(0, Q.shape[0], 256):
        K = GMM()(Q[start : start + 256], X)
        rows.append(-np.sort(-np.partition(K, K.shape[1] - k, axis=1)[:, -k:], axis=1))
    return np.concatenate(rows)


def similarities(X: Any, Q: Any, ids: np.ndarray) -> np.ndarray:
    """The similarities of each query and the rows named for it; -1 where none is named."""
    out = np.full(ids.shape, -1.0, np.float32)
    for at in range(len(ids)):
        named = (ids[at] >= 0) & (ids[at] < X.shape[0])
        out[at, named] = GMM()(Q[at : at + 1], X[ids[at][named]])[0]
    return out


def neighbor_recall(X: Any, Q: Any, ids: np.ndarray, truth: np.ndarray) -> float:
    """The fraction of the rows found that are as near as the k-th true one: ties are hits."""
    k = truth.shape[1]
    found = similarities(X, Q, ids[:, :k])
    return float((found >= truth[:, -1:] - ROUNDING).sum() / truth.size)


def least_effort(
    X: Any,
    Q: Any,
    truth: np.ndarray,
    search: Callable[[Any], np.ndarray],
    efforts: Sequence[Any],
    recall: float = 0.95,
) -> Found:
    """The first effort that reaches the recall, or the last one."""
    for effort in efforts:
        seconds, ids = cpu(lambda effort=effort: search(effort))  # type: ignore[misc]
        reached = neighbor_recall(X, Q, ids, truth)
        if reached >= recall:
            break
    return Found(seconds / len(ids), reached, effort)


# -- Graphs --------------------------------------------------------------------------------------


def faiss_jaccard(X: np.ndarray) -> Callable[[np.ndarray, int], np.ndarray]:
    """HNSW of faiss with METRIC_Jaccard, which is min-max of nonnegative rows: built."""
    faiss = _module("faiss", "faiss-cpu")
    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(X.shape[1], 16, faiss.METRIC_Jaccard)
    index.hnsw.efConstruction = 40
    index.add(X)

    def search(Q: np.ndarray, effort: int) -> np.ndarray:
        index.hnsw.efSearch = effort
        ids: np.ndarray = index.search(Q, 10)[1]
        return ids

    return search


METRIC = """
#include <stddef.h>
float gmm_distance(const float *a, const float *b, size_t d) {
  float low[16] = {0}, high[16] = {0};
  size_t i = 0;
  for (; i + 16 <= d; i += 16)
    for (int l = 0; l < 16; l++) {
      float x = a[i + l], y = b[i + l];
      low[l] += x < y ? x : y;
      high[l] += x < y ? y : x;
    }
  float below = 0, above = 0;
  for (int l = 0; l < 16; l++) below += low[l], above += high[l];
  for (; i < d; i++) below += a[i] < b[i] ? a[i] : b[i], above += a[i] < b[i] ? b[i] : a[i];
  return above > 0 ? 1 - below / above : 1;
}
"""


def compiled_metric(folder: Path) -> Any:
    """The address of the min-max distance of float32 rows, compiled for this machine."""
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise PeerMissingError("usearch is left out: there is no C compiler for its metric")
    source, library = folder / "metric.c", folder / "metric.so"
    source.write_text(METRIC)
    flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
    done = subprocess.run([compiler, *flags, source, "-o", library], capture_output=True)
    if done.returncode:
        raise PeerMissingError("usearch is left out: its metric could not be compiled")
    return ctypes.CDLL(str(library)).gmm_distance


def usearch_gmm(X: np.ndarray, metric: Any) -> Callable[[np.ndarray, int], np.ndarray]:
    """HNSW of usearch on the rows themselves, with our metric: built."""
    usearch = _module("usearch.index", "usearch")
    compiled = usearch.CompiledMetric(
        pointer=ctypes.cast(metric, ctypes.c_void_p).value,
        kind=usearch.MetricKind.Tanimoto,
        signature=usearch.MetricSignature.ArrayArraySize,
    )
    index = usearch.Index(
        ndim=X.shape[1], dtype="f32", metric=compiled, connectivity=16, expansion_add=100
    )
    index.add(np.arange(len(X)), X, threads=1)

    def search(Q: np.ndarray, effort: int) -> np.ndarray:
        index.expansion_search = effort
        return np.asarray(index.search(Q, 10, threads=1).keys).astype(np.int64)

    return search


def pynndescent(X: np.ndarray) -> Callable[[np.ndarray, float], np.ndarray]:
    """Its graph by Bray-Curtis, (1 - K) / (1 + K) of nonnegative rows: built and prepared.

    It compiles itself at a first call, which is made on few rows before: build twice.
    """
    descent = _module("pynndescent", "pynndescent").NNDescent
    _module("numba", "numba").set_num_threads(1)
    index = descent(X, metric="braycurtis", n_neighbors=15, random_state=0, n_jobs=1)
    index.prepare()

    def search(Q: np.ndarray, effort: float) -> np.ndarray:
        ids: np.ndarray = index.query(Q, k=10, epsilon=effort)[0]
        return ids

    return search


# -- datasketch ----------------------------------------------------------------------------------


def datasketch_rows(codes: np.ndarray) -> list[Any]:
    """Codes as datasketch takes them."""
    sketch = _module("datasketch", "datasketch").WeightedMinHash
    pairs = np.stack([codes.astype(np.int64), np.zeros(codes.shape, np.int64)], axis=2)
    return [sketch(1, each) for each in pairs]


def datasketch_join(sketches: list[Any], bands: int, slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Index and self-join by MinHashLSH: candidates, not verified."""
    index = _module("datasketch", "datasketch").MinHashLSH(
        num_perm=bands * slots, params=(bands, slots)
    )
    for key, each in enumerate(sketches):
        index.insert(key, each)
    found = [
        (key, other)
        for key, each in enumerate(sketches)
        for other in index.query(each)
        if other > key
    ]
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def datasketch_forest(
    X: np.ndarray, sketches: list[Any], trees: int
) -> Callable[[np.ndarray, list[Any], int], np.ndarray]:
    """The LSH forest, built; a search ranks what it returns by the exact kernel."""
    forest = _module("datasketch", "datasketch").MinHashLSHForest(
        num_perm=len(sketches[0]), l=trees
    )
    for key, each in enumerate(sketches):
        forest.add(key, each)
    forest.index()

    def search(Q: np.ndarray, asked: list[Any], effort: int) -> np.ndarray:
        ids = np.full((len(Q), 10), -1, np.int64)
        for at, each in enumerate(asked):
            near = np.array(forest.query(each, effort), np.int64)
            best = near[np.argsort(-GMM()(Q[at : at + 1], X[near])[0])[:10]]
            ids[at, : len(best)] = best
        return ids

    return search


# -- faiss on disk -------------------------------------------------------------------------------

WIDTH = 64  # of the rows of faiss, which takes no sparse ones


def write_faiss(X: sp.csr_matrix, path: Path) -> None:
    """An HNSW of faiss of as many rows: random projections of them to 64 columns.

    It takes no sparse rows, and a file of more columns would only take longer to read. The graph
    is built with little effort, which its size does not show.
    """
    faiss = _module("faiss", "faiss-cpu")
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((X.shape[1], WIDTH), dtype=np.float32)
    index = faiss.IndexHNSWFlat(WIDTH, 16)
    index.hnsw.efConstruction = 16
    for start in range(0, X.shape[0], 50_000):
        index.add(np.ascontiguousarray(X[start : start + 50_000] @ directions))
    faiss.write_index(index, str(path))


READ_FAISS = """
import sys, time
import faiss, numpy as np
faiss.omp_set_num_threads(1)
row = np.ones((1, {width}), np.float32)
wall, start = time.perf_counter(), time.process_time()
index = faiss.read_index(sys.argv[1])
index.search(row, 10)
print(time.process_time() - start, time.perf_counter() - wall)
"""


def read_faiss(path: Path) -> tuple[float, float]:
    """Seconds, of the processor and by the clock, to read that index and search it once."""
    return in_new_process(READ_FAISS.format(width=WIDTH), path)


def _module(name: str, package: str) -> Any:
    try:
        return __import__(name, fromlist=["*"])
    except ImportError:
        raise PeerMissingError(f"{package} is left out: pip install {package}") from None
