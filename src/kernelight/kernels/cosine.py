"""Functions of the correlation rho(u, v) = u.v / (|u| |v|) of rows.

Rows are brought to unit length first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix, check_positive
from kernelight.kernels.base import Kernel, decayed, finish
from kernelight.kernels.linear import Linear, correlations
from kernelight.kernels.prepare import unit_rows


@dataclass(frozen=True)
class _OfCorrelation(Kernel):
    def _rows(self, X: Matrix, name: str) -> Matrix:
        return unit_rows(X, order=2)


@dataclass(frozen=True)
class _OfGamma(_OfCorrelation):
    gamma: float = 1.0
    square_factor = 0.5  # |a - b|^2 = 2 (1 - rho) of unit rows

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", check_positive("gamma", self.gamma))

    def dissimilarity(self, X: Any) -> NDArray[np.float64]:
        """1 - rho(u, v)."""
        return 1.0 - Linear()(X).astype(np.float64)


@dataclass(frozen=True)
class RBF(_OfGamma):
    """K(u, v) = exp(-gamma (1 - rho)), the Gaussian kernel of the directions of rows.

    Lengths of rows do not matter. For rows of unit length, and only for them, it is scikit-learn's
    ``rbf`` with half this gamma. `Gaussian` is scikit-learn's ``rbf`` of rows as they are.

    Parameters
    ----------
    gamma : float, default=1.0
        How fast the kernel falls with 1 - rho.

    See Also
    --------
    Gaussian : Of distances instead of directions.
    FoldedRBF : Even in rho.
    kernelight.RandomFourier : Its features.

    Examples
    --------
    >>> from kernelight.kernels import RBF
    >>> RBF(gamma=5)([[1, 2, 3]], [[3, 0, 1]]).round(6)
    array([[0.085048]])
    """

    name = "rbf"

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        return finish(decayed(correlations(A, B), self.gamma), self, A, B)


@dataclass(frozen=True)
class FoldedRBF(_OfGamma):
    """K(u, v) = (exp(-gamma (1 - rho)) + exp(-gamma (1 + rho))) / 2.

    It is what cosines without a phase average to. It is even in rho, so it suits nonnegative data.
    The first term is the larger one there, and its 1 - rho is what gamma is chosen by. A row has
    similarity (1 + exp(-2 gamma)) / 2 to itself.

    Parameters
    ----------
    gamma : float, default=1.0
        How fast the kernel falls.

    See Also
    --------
    RBF : The kernel that is folded.
    kernelight.RandomFourier : ``features="folded"`` are its features.

    Examples
    --------
    >>> from kernelight.kernels import FoldedRBF
    >>> FoldedRBF(gamma=1)([[1, 2, 3]], [[3, 0, 1]]).round(6)
    array([[0.4162]])
    """

    name = "folded_rbf"

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        rho = correlations(A, B)
        np.abs(rho, out=rho)
        opposite = decayed(-rho, self.gamma)
        K = decayed(rho, self.gamma)
        K += opposite
        K *= 0.5
        return finish(K, self, A, B)

    def _of_itself(self) -> float:
        return (1 + math.exp(-2 * self.gamma)) / 2


@dataclass(frozen=True)
class Acos(_OfCorrelation):
    """K(u, v) = 1 - arccos(rho) / pi.

    It is the probability that a random hyperplane has both rows on one side. The correlation is
    taken in double whatever the input: the arc cosine magnifies its rounding near 1.

    See Also
    --------
    AcosChi2 : Of histograms.
    kernelight.SignProjection : The map that makes bits of it.

    Examples
    --------
    >>> from kernelight.kernels import Acos
    >>> Acos()([[1, 2, 3]], [[3, 0, 1]]).round(6)
    array([[0.66928]])
    """

    name = "acos"

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        dtype = A.dtype if B is None else np.result_type(A.dtype, B.dtype)
        angle = correlations(_exact_units(A), None if B is None else _exact_units(B))
        np.arccos(angle, out=angle)
        angle *= -1 / math.pi
        angle += 1
        return finish(angle.astype(dtype, copy=False), self, A, B)


def _exact_units(A: Matrix) -> Matrix:
    """Rows of unit length in double precision, of those in single precision."""
    return A if A.dtype == np.float64 else unit_rows(A.astype(np.float64), order=2)
