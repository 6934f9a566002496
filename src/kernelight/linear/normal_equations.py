"""The normal equations of narrow dense rows, (I + X' T X) v = r, for second-order methods in w.

With few columns d the matrix is small, and a step costs n d^2 whatever the condition of the rows.
Coordinate descent on the dual is slow where columns differ by orders of magnitude or C is large.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

MAX_COLUMNS = 512
MAX_BYTES = 16 << 20  # of a copy of the rows in double precision; a step takes a few times as much

Array = NDArray[np.float64]


def is_narrow(n_rows: int, n_columns: int) -> bool:
    """Whether the normal equations of dense rows of this shape are cheap."""
    return n_columns < MAX_COLUMNS and 8 * n_rows * (n_columns + 1) <= MAX_BYTES


def normal_solver(X: Array, weights: Array) -> Callable[[Array], Array]:
    """A function that solves (I + X' diag(weights) X) v = r for v.

    It uses the QR decomposition of the square root of that matrix: near the end the weights differ
    by many powers of ten, and in the matrix itself the I would be lost to rounding.
    """
    root = np.vstack([X * np.sqrt(weights)[:, None], np.eye(X.shape[1])])
    if not np.isfinite(root).all():
        raise FloatingPointError
    R = np.linalg.qr(root, mode="r")

    def solve(right: Array) -> Array:
        half = solve_triangular(R, right, trans="T", check_finite=False)
        return np.asarray(solve_triangular(R, half, check_finite=False))

    return solve
