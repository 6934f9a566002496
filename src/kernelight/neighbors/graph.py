"""A graph of neighbours over byte codes (HNSW), by usearch; without it, a scan of all codes.

Distances in the graph are numbers of different slots. Candidates are re-ranked by their exact
similarity. The graph is built by one thread: its result is then the same every time.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import resources
from kernelight.codes import Codes
from kernelight.neighbors.scan import scan_codes

CONNECTIVITY, EXPANSION_ADD = 16, 100


def has_graph() -> bool:
    """Whether usearch is installed."""
    return find_spec("usearch") is not None


class CodeGraph:
    """Codes of at most 8 bits in a graph; empty rows are left out."""

    def __init__(self, codes: Codes) -> None:
        self._codes, self._slots = codes, codes.n_components
        self._graph = self._made(codes)

    def __reduce__(self) -> tuple[Any, ...]:
        return CodeGraph, (self._codes,)

    def _made(self, codes: Codes) -> Any:
        index = import_module("usearch.index")
        metric = index.CompiledMetric(
            pointer=_core.code_metric(resources().simd),
            kind=index.MetricKind.Tanimoto,  # what it is called; the function alone decides
            signature=index.MetricSignature.ArrayArraySize,
        )
        graph = index.Index(
            ndim=self._slots,
            dtype="i8",
            metric=metric,
            connectivity=CONNECTIVITY,
            expansion_add=EXPANSION_ADD,
        )
        rows = np.flatnonzero(~codes.empty)
        graph.add(rows, codes.array[rows].view(np.int8), threads=1)
        return graph

    @property
    def nbytes(self) -> int:
        """Bytes that the graph has reserved, its codes included; it may not have used all."""
        return int(self._graph.memory_usage)

    def candidates(
        self, queries: Codes, count: int, expansion: int, *, n_jobs: int | None = None
    ) -> NDArray[np.int64]:
        """The rows that the graph finds nearest to each query, (queries, count), or -1."""
        found = np.full((len(queries), count), -1, dtype=np.int64)
        rows = np.flatnonzero(~queries.empty)
        count = min(count, len(self._graph))
        if not len(rows) or not count:
            return found
        self._graph.expansion_search = max(expansion, count)
        matches = self._graph.search(
            queries.array[rows].view(np.int8), count, threads=resources(n_jobs).threads
        )
        keys = np.asarray(matches.keys).astype(np.int64).reshape(len(rows), -1)
        counts = np.asarray(getattr(matches, "counts", count)).reshape(-1, 1)
        here = np.arange(keys.shape[1])[None, :] < counts
        found[rows[:, None], np.arange(keys.shape[1])[None, :]] = np.where(here, keys, -1)
        return found


class CodeScan:
    """The same by a scan of all codes."""

    def __init__(self, codes: Codes) -> None:
        self._codes = codes

    @property
    def nbytes(self) -> int:
        """Bytes of the codes."""
        return self._codes.nbytes

    def candidates(
        self, queries: Codes, count: int, expansion: int, *, n_jobs: int | None = None
    ) -> NDArray[np.int64]:
        """The rows with the most equal slots, (queries, count), or -1."""
        return scan_codes(self._codes, queries, count, n_jobs=n_jobs)
