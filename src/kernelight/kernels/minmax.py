"""The min-max kernel and its family.

Signed rows are split into a positive and a negative half: u+ = max(u, 0), u- = max(-u, 0). Sums
below run over both halves; the compiled loops get them without making the halves (core/pairwise.h).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix, check_nonnegative, check_positive
from kernelight.kernels.base import Kernel, MinMaxForm, decayed, finish, with_diagonal
from kernelight.kernels.pairs import MINMAX, OVERLAP, in_common_type, pair_sums
from kernelight.kernels.prepare import (
    as_center,
    check_center_fits,
    is_sparse,
    row_peaks,
    unit_rows,
    with_values,
)

MAX_POWER = 1e12  # maps have a lower limit of their own


@dataclass(frozen=True)
class MinMax(Kernel):
    """K(u, v) = sum_i min(u_i, v_i) / sum_i max(u_i, v_i) of nonnegative rows (weighted Jaccard).

    See Also
    --------
    GMM : For signed rows.
    kernelight.neighbors.MinMaxNeighbors : Rows that are similar by it.

    Examples
    --------
    >>> from kernelight.kernels import MinMax
    >>> MinMax()([[1, 2, 3]], [[3, 0, 1]])
    array([[0.25]])
    """

    name = "minmax"
    nonnegative = True

    def _rows(self, X: Matrix, name: str) -> Matrix:
        check_nonnegative(X, name=name, owner="MinMax", instead="use GMM, which splits signs.")
        return X

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        return with_diagonal(_powered_minmax(A, B, 1.0), self, A, B)

    @property
    def minmax_form(self) -> MinMaxForm:
        """The form in which columns have parts."""
        return MinMaxForm()


@dataclass(frozen=True)
class GMM(Kernel):
    """The generalized min-max kernel: K(u, v) = sum min(u, v)^p / sum max(u, v)^p.

    Sums run over both signed halves. ``p`` is the power of the tunable kernel: a small one looks at
    the supports, a large one at the peaks. ``center`` (one number for each column) is subtracted
    before signs are split. Prepared rows are the centred ones; the power is taken by `pairwise`,
    which knows the scale at which neither matrix overflows.

    Parameters
    ----------
    p : float, default=1.0
        The power.
    center : tuple of float or None, default=None
        A number for each column, which is subtracted from it.

    See Also
    --------
    MinMax : The same of nonnegative rows.
    ExpGMM : Its exponential.
    kernelight.GCWS : The map that hashes it.

    Examples
    --------
    >>> from kernelight.kernels import GMM
    >>> GMM()([[2, -1, 3]], [[1, -2, 3]]).round(6)
    array([[0.714286]])
    >>> GMM(p=2, center=[1, 0, 0])([[2, -1, 3]], [[1, -2, 3]]).round(6)
    array([[0.714286]])
    """

    p: float = 1.0
    center: tuple[float, ...] | None = None
    name = "gmm"

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", _checked_power(self.p))
        if self.center is not None:
            object.__setattr__(self, "center", as_center(self.center))

    def _rows(self, X: Matrix, name: str) -> Matrix:
        return X if self.center is None else _centred(X, self.center, name)

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        return with_diagonal(_powered_minmax(A, B, self.p), self, A, B)

    @property
    def minmax_form(self) -> MinMaxForm:
        """The form in which columns have parts."""
        return MinMaxForm(self.p)


@dataclass(frozen=True)
class ExpGMM(Kernel):
    """K(u, v) = exp(-gamma (1 - GMM(u, v))), with the power ``p`` of GMM; 0 where a row is zero.

    Parameters
    ----------
    gamma : float, default=1.0
        How fast the kernel falls.
    p : float, default=1.0
        The power of GMM.

    See Also
    --------
    GMM : The kernel in the exponent.
    kernelight.GCWS : ``gamma`` makes codes of it.

    Examples
    --------
    >>> from kernelight.kernels import ExpGMM
    >>> ExpGMM(gamma=7)([[2, -1, 3]], [[1, -2, 3]]).round(6)
    array([[0.135335]])
    """

    gamma: float = 1.0
    p: float = 1.0
    name = "exp_gmm"

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", check_positive("gamma", self.gamma))
        object.__setattr__(self, "p", _checked_power(self.p))

    def _rows(self, X: Matrix, name: str) -> Matrix:
        return X

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        return finish(decayed(_powered_minmax(A, B, self.p), self.gamma), self, A, B)

    @property
    def minmax_form(self) -> MinMaxForm:
        """The form in which columns have parts."""
        return MinMaxForm(self.p, self.gamma)

    def dissimilarity(self, X: Any) -> NDArray[np.float64]:
        """1 - GMM(u, v)."""
        return 1.0 - GMM(self.p)(X).astype(np.float64)


@dataclass(frozen=True)
class NGMM(Kernel):
    """GMM of rows scaled to absolute sum 1.

    See Also
    --------
    GMM : Without the scaling.
    Intersection : A monotone map of it.

    Examples
    --------
    >>> from kernelight.kernels import NGMM
    >>> NGMM()([[1, 0, -1]], [[4, 0, -4]])
    array([[1.]])
    """

    name = "ngmm"

    def _rows(self, X: Matrix, name: str) -> Matrix:
        return unit_rows(X, order=1)

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        return with_diagonal(pair_sums(MINMAX, A, B), self, A, B)

    @property
    def minmax_form(self) -> MinMaxForm:
        """The form in which columns have parts."""
        return MinMaxForm()


@dataclass(frozen=True)
class Intersection(Kernel):
    """K(u, v) = sum min(u, v) over both signed halves of rows scaled to absolute sum 1 (GInt).

    It is a monotone map of NGMM: NGMM = K / (2 - K).

    See Also
    --------
    NGMM : A monotone map of it.

    Examples
    --------
    >>> from kernelight.kernels import Intersection
    >>> Intersection()([[1, 2, -1]], [[1, 0, 1]])
    array([[0.25]])
    """

    name = "intersection"

    def _rows(self, X: Matrix, name: str) -> Matrix:
        return unit_rows(X, order=1)

    def pairwise(self, A: Any, B: Any = None) -> NDArray[Any]:
        return with_diagonal(pair_sums(OVERLAP, A, B), self, A, B)


def _checked_power(p: Any) -> float:
    """The power ``p`` of a kernel.

    Beyond the limit rounding decides which entries count: p log(x) has lost its digits.
    """
    number = check_positive("p", p)
    if number > MAX_POWER:
        raise ValueError(
            f"p must be at most {MAX_POWER:g}, got {p}: larger powers see only the largest entry."
        )
    return number


def _centred(X: Matrix, center: tuple[float, ...], name: str) -> NDArray[Any]:
    check_center_fits(X, center, name=name)
    return np.asarray((X - np.asarray(center)).astype(X.dtype, copy=False))


# Entries may be raised to a power, or be so large that their sums leave the range of their type. A
# common scale leaves min-max unchanged, but no single one may serve both the largest and the
# smallest rows of a matrix. So rows are put in bands by the logarithm of their (powered) peak. Rows
# of the same or of neighbouring bands are compared at the scale of the largest of them; rows
# further apart differ by a factor beyond rounding, and their kernel is 0.


def _powered_minmax(A: Matrix, B: Matrix | None, p: float) -> NDArray[Any]:
    """min-max of the rows to the power p."""
    if B is not None:
        A, B = in_common_type(A, B)
    if p == 1:
        # the usual case; values too large for it are scaled down below
        with suppress(OverflowError):
            return pair_sums(MINMAX, A, B)
    K = np.zeros((A.shape[0], (A if B is None else B).shape[0]), A.dtype)
    for rows, left, columns, right in scaled_bands(A, B, p):
        same = B is None and np.array_equal(rows, columns)
        K[np.ix_(rows, columns)] = pair_sums(MINMAX, left, None if same else right)
    return K


def scaled_bands(
    A: Matrix, B: Matrix | None, p: float
) -> Iterator[tuple[NDArray[np.intp], Matrix, NDArray[np.intp], Matrix]]:
    """Rows of both matrices whose kernel may be above 0, to the power p and at a common scale.

    Numbers of rows of ``A``, these rows, numbers of rows of ``B`` (of ``A`` if None), those rows.
    """
    a_peaks = row_peaks(A).astype(np.float64)
    b_peaks = a_peaks if B is None else row_peaks(B).astype(np.float64)
    # two bands and the digits of a row fit into the type
    width = -math.log(np.finfo(A.dtype).tiny) / 2.6
    for rows, columns in _neighbours(_bands(a_peaks, p, width), _bands(b_peaks, p, width)):
        top = max(a_peaks[rows].max(), b_peaks[columns].max())
        left = _power(A[rows], top, p)
        same = B is None and np.array_equal(rows, columns)
        right = left if same else _power((A if B is None else B)[columns], top, p)
        yield rows, left, columns, right


def _bands(peaks: NDArray[np.float64], p: float, width: float) -> dict[int, NDArray[np.intp]]:
    """The numbers of the rows that are not zero, by band."""
    filled = np.flatnonzero(peaks)
    band = np.floor(p * np.log(peaks[filled]) / width)
    return {int(value): filled[band == value] for value in np.unique(band)}


def _neighbours(
    first: dict[int, NDArray[np.intp]], second: dict[int, NDArray[np.intp]]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    for band, rows in first.items():
        for near in (band - 1, band, band + 1):
            if near in second:
                yield rows, second[near]


def _power(X: Matrix, scale: float, p: float) -> Matrix:
    """sign(x) |x / scale|^p, in double inside."""
    values = X.data if is_sparse(X) else X
    sizes = np.abs(values.astype(np.float64))
    sizes /= scale
    powered = np.copysign(np.power(sizes, p, out=sizes), values).astype(X.dtype)
    return with_values(X, powered) if is_sparse(X) else powered
