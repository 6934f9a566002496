"""How fast exact GMM matrices are: against scipy's city-block distances, a matrix product, scikit-learn.

One thread for everybody, all in one run, the best of several repeats. The dense comparison takes two
different matrices of 2,000 float32 rows and 784 columns, so that nobody profits from symmetry.

    python benchmarks/gram.py
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances
from threadpoolctl import threadpool_limits

from kernelight.kernels import GMM

ROWS, COLUMNS = 2000, 784
SPARSE_COLUMNS, NONZEROS = 50_000, 75


def run() -> list[dict[str, Any]]:
    """One row for each claim: claim, peer, bar, measured, holds."""
    before = os.environ.get("KERNELIGHT_NUM_THREADS")
    os.environ["KERNELIGHT_NUM_THREADS"] = "1"
    try:
        with threadpool_limits(1):
            return (
                _dense("nonnegative", faster=10, slower=2) + _dense("signed", faster=7, slower=3) + _sparse()
            )
    finally:
        os.environ.pop("KERNELIGHT_NUM_THREADS")
        if before is not None:
            os.environ["KERNELIGHT_NUM_THREADS"] = before


def _dense(kind: str, faster: float, slower: float) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    draw = rng.random if kind == "nonnegative" else rng.standard_normal
    X, Y = draw((2, ROWS, COLUMNS), dtype=np.float32)
    # Taking turns, so that a busy moment of the machine does not fall on one of the two alone.
    ours, product = _best_of_turns(15, lambda: GMM()(X, Y), lambda: X @ Y.T)
    gram = _best(15, lambda: GMM()(X))
    cityblock = _best(3, lambda: cdist(X, Y, "cityblock"))
    return [
        _at_least(f"GMM of two {kind} matrices", "scipy cdist cityblock", faster, cityblock / ours),
        _at_most(f"GMM of two {kind} matrices", "float32 matrix product", slower, ours / product),
        _at_most(f"GMM of one {kind} matrix with itself", "float32 matrix product", slower, gram / product),
    ]


def _sparse() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    X, Y = (
        sp.csr_matrix(
            (
                rng.standard_normal(ROWS * NONZEROS),
                np.concatenate([rng.choice(SPARSE_COLUMNS, NONZEROS, replace=False) for _ in range(ROWS)]),
                np.arange(0, ROWS * NONZEROS + 1, NONZEROS),
            ),
            shape=(ROWS, SPARSE_COLUMNS),
        )
        for _ in range(2)
    )
    X.sort_indices()
    Y.sort_indices()
    ours = _best(9, lambda: GMM()(X, Y))
    peer = _best(2, lambda: manhattan_distances(X, Y))
    return [_at_least("GMM of two sparse matrices", "scikit-learn manhattan_distances", 20, peer / ours)]


def _best(repeats: int, call: Callable[[], object]) -> float:
    return _best_of_turns(repeats, call)[0]


def _best_of_turns(repeats: int, *calls: Callable[[], object]) -> list[float]:
    best = [np.inf] * len(calls)
    for _ in range(repeats):
        for i, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def _at_least(claim: str, peer: str, bar: float, measured: float) -> dict[str, Any]:
    text = f"at least {bar:g} times faster"
    return {"claim": claim, "peer": peer, "bar": text, "measured": measured, "holds": measured >= bar}


def _at_most(claim: str, peer: str, bar: float, measured: float) -> dict[str, Any]:
    text = f"at most {bar:g} times the time"
    return {"claim": claim, "peer": peer, "bar": text, "measured": measured, "holds": measured <= bar}


if __name__ == "__main__":
    print("claim | bar | measured")
    for row in run():
        verdict = "" if row["holds"] else "  MISSED"
        print(f"{row['claim']} vs {row['peer']} | {row['bar']} | {row['measured']:.2f}{verdict}")
