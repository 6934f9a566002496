"""Stand-in until the engines land."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelight.kernels import GMM


class ExactRows:
    def __init__(self, X: Any, p: float) -> None:
        self.X, self.p = X, p

    @classmethod
    def of(cls, X: Any, p: float) -> ExactRows:
        return cls(X, p)

    def similarities(self, i: Any, other: ExactRows, j: Any) -> Any:
        kernel = GMM(p=self.p)
        return np.array(
            [float(kernel(self.X[[a]], other.X[[b]])[0, 0]) for a, b in zip(i, j, strict=True)]
        )
