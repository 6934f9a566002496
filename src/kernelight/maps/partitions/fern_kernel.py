"""The kernel that ferns estimate, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base.checks import Matrix
from kernelight.kernels.base import Kernel, with_diagonal
from kernelight.kernels.pairs import OVERLAP, in_common_type, pair_sums
from kernelight.kernels.prepare import is_sparse
from kernelight.maps.partitions.fern_cuts import Cuts


@dataclass(frozen=True, eq=False)
class FernKernel(Kernel):
    """K(u, v) = (1 - sum_f w_f |F_f(u_f) - F_f(v_f)|)^depth.

    F_f(x) is the probability that a cut of column f is below x, and w_f that a test is of column f:
    a test separates u and v with the probability of the sum. Prepared rows are w_f (F_f(x) -
    F_f(0)), so that sparse rows stay sparse.
    """

    cuts: Cuts
    weights: NDArray[np.float64]
    depth: int
    name = "ferns"
    zero_is_a_point = True

    def _rows(self, X: Matrix, name: str) -> Matrix:
        places, columns = range(len(self.cuts.columns)), self.cuts.columns
        dtype = X.dtype
        if not is_sparse(X):
            out = np.empty((X.shape[0], len(columns)), dtype)
            for place in places:
                out[:, place] = self._moved(place, X[:, columns[place]])
            return out
        inside = np.searchsorted(columns, X.indices)
        known = np.append(columns, -1)[inside] == X.indices
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[known]
        by_column = sp.csc_array(
            (X.data[known], (rows, inside[known])), shape=(X.shape[0], len(columns))
        )
        for place in places:
            stored = slice(by_column.indptr[place], by_column.indptr[place + 1])
            by_column.data[stored] = self._moved(place, by_column.data[stored])
        return by_column.tocsr()

    def _moved(self, place: int, x: NDArray[Any]) -> NDArray[np.float64]:
        at_zero = self.cuts.below(place, np.zeros(1))
        return np.asarray(self.weights[place] * (self.cuts.below(place, x) - at_zero))

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        if B is not None:
            A, B = in_common_type(A, B)
        if A.shape[1] == 0:
            return np.ones((A.shape[0], (A if B is None else B).shape[0]), A.dtype)
        # sum |a - b| = S (1 - 2m / S), S the sum of |a| + |b|, m of the minima of equal signs
        sizes = [np.asarray(abs(M).sum(axis=1)).ravel() for M in ((A,) if B is None else (A, B))]
        apart = np.add.outer(sizes[0], sizes[-1]) * (1 - pair_sums(OVERLAP, A, B))
        K = (1 - np.clip(apart, 0, 1)) ** self.depth
        return with_diagonal(K.astype(A.dtype, copy=False), self, A, B)
