"""Products of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix
from kernelight.kernels.base import Kernel


@dataclass(frozen=True, repr=False)
class Product(Kernel):
    """K(u, v) = K_1(u, v) K_2(u, v) ...: what ``K1 * K2`` makes; each factor prepares its own rows.

    Parameters
    ----------
    factors : tuple of Kernel
        The factors.

    See Also
    --------
    Sum : Sums of kernels.
    kernelight.ProductMap : Its features.

    Examples
    --------
    >>> from kernelight.kernels import Acos, MinMax
    >>> K = MinMax() * Acos()
    >>> K
    MinMax() * Acos()
    >>> K([[1, 2, 3]], [[3, 0, 1]]).round(6)
    array([[0.16732]])
    """

    factors: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        if not all(isinstance(factor, Kernel) for factor in self.factors):
            raise TypeError(f"Product takes a tuple of kernels, got {self.factors!r}.")
        flat: list[Kernel] = []
        for factor in self.factors:
            flat.extend(factor.factors if isinstance(factor, Product) else (factor,))
        if not flat:
            raise ValueError("Product needs at least one kernel.")
        object.__setattr__(self, "factors", tuple(flat))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The names of the factors, joined."""
        return "*".join(factor.name for factor in self.factors)

    @property
    def nonnegative(self) -> bool:  # type: ignore[override]
        """Whether a factor takes nothing below 0."""
        return any(factor.nonnegative for factor in self.factors)

    @property
    def zero_is_a_point(self) -> bool:  # type: ignore[override]
        """Whether a row of zeros is a point for every factor; one similarity of 0 decides."""
        return all(factor.zero_is_a_point for factor in self.factors)

    def __repr__(self) -> str:
        return " * ".join(map(repr, self.factors))

    def _rows(self, X: Matrix, name: str) -> tuple[Matrix, ...]:
        return tuple(factor._rows(X, name) for factor in self.factors)

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        others = (None,) * len(self.factors) if B is None else B
        K = self.factors[0].pairwise(A[0], others[0])
        for factor, rows, other in zip(self.factors[1:], A[1:], others[1:], strict=True):
            K *= factor.pairwise(rows, other)
        return K

    def _diagonal(self, A: Any) -> NDArray[Any]:
        parts = [factor._diagonal(rows) for factor, rows in zip(self.factors, A, strict=True)]
        return reduce(np.multiply, parts)
