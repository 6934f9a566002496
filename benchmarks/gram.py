"""The speed of exact GMM matrices, against scipy and scikit-learn distances and a matrix product.

Every library has one thread; the best of several repeats in one run counts. The dense comparison
takes two different matrices of 2,000 float32 rows and 784 columns, so that symmetry helps none of
them.

    python benchmarks/gram.py
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from _measure import Row, at_least, at_most, best, best_of_turns, show, threads
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances

from kernelight.kernels import GMM

ROWS, COLUMNS = 2000, 784
SPARSE_COLUMNS, NONZEROS = 50_000, 75


def run() -> list[Row]:
    """One row for each claim."""
    with threads(1):
        return (
            _dense("nonnegative", faster=10, slower=2)
            + _dense("signed", faster=7, slower=3)
            + _sparse()
        )


def _dense(kind: str, faster: float, slower: float) -> list[Row]:
    rng = np.random.default_rng(0)
    draw = rng.random if kind == "nonnegative" else rng.standard_normal
    X, Y = draw((2, ROWS, COLUMNS), dtype=np.float32)
    ours, product = best_of_turns(40, lambda: GMM()(X, Y), lambda: X @ Y.T)
    gram = best(15, lambda: GMM()(X))
    cityblock = best(3, lambda: cdist(X, Y, "cityblock"))
    return [
        at_least(f"GMM of two {kind} matrices", "scipy cdist cityblock", faster, cityblock / ours),
        at_most(f"GMM of two {kind} matrices", "float32 matrix product", slower, ours / product),
        at_most(
            f"GMM of one {kind} matrix with itself",
            "float32 matrix product",
            slower,
            gram / product,
        ),
    ]


def _sparse() -> list[Row]:
    rng = np.random.default_rng(0)
    X, Y = (
        sp.csr_matrix(
            (
                rng.standard_normal(ROWS * NONZEROS),
                np.concatenate(
                    [rng.choice(SPARSE_COLUMNS, NONZEROS, replace=False) for _ in range(ROWS)]
                ),
                np.arange(0, ROWS * NONZEROS + 1, NONZEROS),
            ),
            shape=(ROWS, SPARSE_COLUMNS),
        )
        for _ in range(2)
    )
    X.sort_indices()
    Y.sort_indices()
    ours = best(9, lambda: GMM()(X, Y))
    peer = best(2, lambda: manhattan_distances(X, Y))
    return [
        at_least("GMM of two sparse matrices", "scikit-learn manhattan_distances", 20, peer / ours)
    ]


if __name__ == "__main__":
    show(run())
