"""The linear kernel, which is the cosine here, and the Gaussian kernel of the distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix, check_positive
from kernelight.kernels.base import Kernel, finish
from kernelight.kernels.pairs import DOT, pair_sums
from kernelight.kernels.prepare import is_sparse, row_peaks, unit_rows


@dataclass(frozen=True)
class Linear(Kernel):
    """The cosine: K(u, v) = u.v / (|u| |v|), the inner product of rows of unit length.

    Lengths of rows do not matter: it is scikit-learn's ``cosine``, and its ``linear`` of rows of
    unit length only.

    See Also
    --------
    RBF : A kernel of the same cosine.

    Examples
    --------
    >>> from kernelight.kernels import Linear
    >>> Linear()([[1, 2, 3]], [[3, 0, 1]]).round(6)
    array([[0.507093]])
    """

    name = "linear"

    def _rows(self, X: Matrix, name: str) -> Matrix:
        return unit_rows(X, order=2)

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        return finish(correlations(A, B), self, A, B)


def correlations(A: Matrix, B: Matrix | None) -> NDArray[Any]:
    """Inner products of unit rows; rounding beyond [-1, 1] is cut off."""
    rho = pair_sums(DOT, A, B)
    return np.clip(rho, -1, 1, out=rho)


@dataclass(frozen=True)
class Gaussian(Kernel):
    """K(u, v) = exp(-|u - v|^2 / (2 sigma^2)) of the rows as they are.

    It is scikit-learn's ``rbf`` with gamma = 1 / (2 sigma^2). A row of zeros is a point like any
    other.

    Parameters
    ----------
    sigma : float, default=1.0
        The distance at which the kernel is exp(-1/2).

    See Also
    --------
    RBF : Of directions instead of distances.
    kernelight.RandomFourier : ``metric="euclidean"`` are its features.
    kernelight.BinaryFourier : A bit for each component.
    kernelight.IntegerFourier : Features by whole numbers.

    Examples
    --------
    >>> from kernelight.kernels import Gaussian
    >>> Gaussian(sigma=2.0)([[1, 2, 3]], [[3, 0, 1]]).round(6)
    array([[0.22313]])
    """

    sigma: float = 1.0
    name = "gaussian"
    zero_is_a_point = True
    square_factor = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", check_positive("sigma", self.sigma))

    def _rows(self, X: Matrix, name: str) -> Matrix:
        return X

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        dtype = A.dtype if B is None else np.result_type(A.dtype, B.dtype)
        root, unit = _distances(A, B)
        # Applied before squaring, where neither an enormous unit nor a tiny one does harm. It is
        # finite, so that points at distance 0 stay there.
        factor = min(unit / self.sigma, float(np.finfo(np.float64).max))
        # points so far apart that the square is infinite have similarity 0
        with np.errstate(over="ignore"):
            root *= factor
            np.square(root, out=root)
        root *= -0.5
        return finish(np.exp(root, out=root).astype(dtype, copy=False), self, A, B)

    def dissimilarity(self, X: Any) -> NDArray[np.float64]:
        """|u - v|^2, for gamma = 1 / (2 sigma^2).

        Rounded as the square of scikit-learn's ``euclidean_distances``: equal rows of whole numbers
        are at distance 0 exactly, since the origin is not moved.
        """
        A = self.prepare(X)
        total = _square_distances(A.astype(np.float64), None)
        distances = np.sqrt(total.astype(A.dtype))
        return np.asarray(np.square(distances), dtype=np.float64)


def _distances(A: Matrix, B: Matrix | None) -> tuple[NDArray[np.float64], float]:
    """Euclidean distances, and the unit in which they are.

    |u - v|^2 = |u|^2 + |v|^2 - 2 u.v cancels when points are far from the origin compared with
    their span: so it is taken in double, after moving the origin to the mean of the points (dense
    rows only: sparse ones would fill up).
    """
    others = A if B is None else B
    peaks = np.concatenate([row_peaks(A), row_peaks(others)])
    # A power of two at or below the largest value, which is finite; 1 where every value is 0.
    unit = float(np.ldexp(1.0, np.frexp(peaks.max(initial=0.0))[1] - 1)) if peaks.any() else 1.0
    A = A.astype(np.float64) / unit
    B = None if B is None else B.astype(np.float64) / unit
    if not is_sparse(A) and not is_sparse(others) and others.shape[0]:
        origin = (A if B is None else B).mean(axis=0)
        A -= origin
        B = None if B is None else B - origin
    total = _square_distances(A, B)
    return np.sqrt(total, out=total), unit


def _square_distances(A: Matrix, B: Matrix | None) -> NDArray[np.float64]:
    squares = _square_norms(A)
    total = pair_sums(DOT, A, B)
    total *= -2
    total += squares[:, None] + (squares if B is None else _square_norms(B))[None, :]
    return np.asarray(np.maximum(total, 0, out=total))


def _square_norms(X: Matrix) -> NDArray[np.float64]:
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))
