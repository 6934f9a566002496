"""Stand-in until the engines land."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelight.kernels import GMM
from kernelight.neighbors.pairs import NeighborPairs


class MinMaxNeighbors:
    def __init__(self, n_neighbors: int = 10, *, radius: Any = None, p: float = 1.0, **_: Any):
        self.radius, self.p = radius, p

    def fit(self, X: Any) -> MinMaxNeighbors:
        self.X = X
        return self

    def pairs(self, threshold: float, cap: int = 4096) -> NeighborPairs:
        i, j, s = [], [], []
        for start in range(0, self.X.shape[0], 512):
            K = np.asarray(GMM(p=self.p)(self.X[start : start + 512], self.X), dtype=float)
            a, b = np.nonzero(threshold <= K)
            some = b > a + start
            i.append(a[some] + start)
            j.append(b[some])
            s.append(K[a[some], b[some]])
        return NeighborPairs(np.concatenate(i), np.concatenate(j), np.concatenate(s))

    def radius_neighbors(self, X: Any) -> Any:
        K = np.asarray(GMM(p=self.p)(X, self.X), dtype=float)
        distances, indices = [], []
        for row in 1 - K:
            at = np.flatnonzero(row <= self.radius)
            at = at[np.argsort(row[at], kind="stable")]
            distances.append(row[at])
            indices.append(at)
        return distances, indices
