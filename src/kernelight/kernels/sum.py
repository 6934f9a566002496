"""Weighted sums of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.base.checks import Matrix, check_positive
from kernelight.kernels.base import Kernel


@dataclass(frozen=True)
class Sum(Kernel):
    """K(u, v) = w_1 K_1(u, v) + w_2 K_2(u, v) + ...; ``K1 + K2`` has weights 1.

    Each term prepares its own rows.

    Parameters
    ----------
    kernels : tuple of Kernel
        The terms.
    weights : tuple of float or None, default=None
        A factor for each term, above 0; None is 1.

    See Also
    --------
    Product : Products of kernels.
    kernelight.Concat : Its features.

    Examples
    --------
    >>> from kernelight.kernels import Acos, MinMax, Sum
    >>> Sum((MinMax(), Acos()), weights=(0.5, 0.5))([[1, 2, 3]], [[3, 0, 1]]).round(6)
    array([[0.45964]])
    >>> (MinMax() + Acos()).weights
    (1.0, 1.0)
    """

    kernels: tuple[Kernel, ...]
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kernels, tuple) or not all(
            isinstance(term, Kernel) for term in self.kernels
        ):
            raise TypeError(f"Sum takes a tuple of kernels, got {self.kernels!r}.")
        if not self.kernels:
            raise ValueError("Sum needs at least one kernel.")
        flat: list[tuple[Kernel, float]] = []
        for term, weight in zip(
            self.kernels, checked_weights(self.weights, len(self.kernels)), strict=True
        ):
            if isinstance(term, Sum):
                assert term.weights is not None
                flat.extend(
                    (inner, check_positive("A weight of a sum in a sum", weight * own))
                    for inner, own in zip(term.kernels, term.weights, strict=True)
                )
            else:
                flat.append((term, weight))
        object.__setattr__(self, "kernels", tuple(term for term, _ in flat))
        object.__setattr__(self, "weights", tuple(weight for _, weight in flat))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The names of the terms, joined."""
        return "+".join(term.name for term in self.kernels)

    @property
    def nonnegative(self) -> bool:  # type: ignore[override]
        """Whether a term takes nothing below 0."""
        return any(term.nonnegative for term in self.kernels)

    @property
    def zero_is_a_point(self) -> bool:  # type: ignore[override]
        """Whether a row of zeros is a point for a term, so that the sum is not 0 there."""
        return any(term.zero_is_a_point for term in self.kernels)

    def _rows(self, X: Matrix, name: str) -> tuple[Matrix, ...]:
        return tuple(term._rows(X, name) for term in self.kernels)

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        others = (None,) * len(self.kernels) if B is None else B
        return self._total(
            term.pairwise(rows, other)
            for term, rows, other in zip(self.kernels, A, others, strict=True)
        )

    def _diagonal(self, A: Any) -> NDArray[Any]:
        return self._total(term._diagonal(rows) for term, rows in zip(self.kernels, A, strict=True))

    def _total(self, parts: Any) -> NDArray[Any]:
        assert self.weights is not None
        return reduce(np.add, map(np.multiply, parts, self.weights))


def checked_weights(weights: Any, count: int) -> tuple[float, ...]:
    """One finite weight above 0 for each of ``count`` parts; None means 1 each."""
    if weights is None:
        return (1.0,) * count
    for weight in weights if isinstance(weights, (list, tuple)) else ():
        # refused here: an array would make it a number
        if isinstance(weight, (bool, np.bool_)):
            raise TypeError(f"A weight must be a number, got {weight!r}.")
    given = np.asarray(weights).tolist() if np.ndim(weights) == 1 else []
    if len(given) != count:
        raise ValueError(
            f"weights must be {counted(count, 'number')}, one for each part, got {weights!r}."
        )
    return tuple(check_positive("A weight", weight) for weight in given)
