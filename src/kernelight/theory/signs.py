"""How often signs of Cauchy projections agree.

Rows u, v are nonnegative with sum 1, and x = sum u_i r_i, y = sum v_i r_i with independent Cauchy
r_i. Then x - tau y is Cauchy with scale S(tau) = sum |u_i - tau v_i|, and

    P(sign x = sign y) = 1/2 + pi^-2 integral_0^inf log((1 + tau) / S(tau)) dtau / tau.

S is linear between the breakpoints u_i / v_i, so each piece has a closed form in dilogarithms. Two
approximations need only the chi-square similarity rho = sum 2 u_i v_i / (u_i + v_i), here called
chi2: "A comparison of nonlinear kernels" (CNK, equation 6) has the first; the other is from the
paper on sign Cauchy projections that it cites.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy import special

from kernelight.base import counted
from kernelight.theory.inputs import Array, kernel_values, result
from kernelight.theory.row_sums import as_rows, of_sum_one, refuse, to_columns_of

# The largest breakpoint: beyond it, and below its inverse, nothing is left of the integral.
_FARTHEST = 1e150
_BLOCK = 1 << 17  # breakpoints at a time, some 30 MB with everything made of them


def sign_cauchy_collision(U: Any, V: Any = None) -> Array:
    """P(sign x = sign y) for Cauchy projections x of each row of ``U`` and y of each row of ``V``.

    ``V`` is ``U`` if None. Rows are nonnegative, dense or sparse; their sums do not matter, since
    signs do not see a scale. Exact up to rounding (1e-14 for up to a thousand nonzeros, 1e-12 for
    50,000), and 1 for equal rows; a row of zeros gives 0. A pair costs about 0.2 microseconds for
    every nonzero of its row in the matrix with fewer rows.

    How far CNK's acos-chi2 is from it: P minus that kernel lies between -0.00464 (rows that share a
    quarter, in one place) and +0.03162 (rows close to each other), the extremes of a numerical
    search, not of a proof. It is about +0.02 for dense histograms and within 0.012 for unrelated
    sparse ones.

    Parameters
    ----------
    U : {array_like, sparse matrix} of shape (n, d)
        Nonnegative rows.
    V : {array_like, sparse matrix} of shape (m, d) or None, default=None
        Rows that are compared with them; None is ``U``.

    Returns
    -------
    array of shape (n, m)
        The probability for each pair of rows.

    See Also
    --------
    sign_cauchy_acos : An approximation by the chi-square similarity.
    kernelight.SignProjection : ``distribution="cauchy"`` makes such bits.

    Examples
    --------
    >>> from kernelight.theory import sign_cauchy_collision
    >>> sign_cauchy_collision([[1, 2, 3], [0, 0, 0]], [[3, 0, 1], [2, 4, 6]]).round(6)
    array([[0.722807, 1.      ],
           [0.      , 0.      ]])
    """
    left, right = _histograms(U, "U"), None if V is None else _histograms(V, "V")
    if right is None:
        return _agreements(left, left, symmetric=True)
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"Rows of {counted(left.shape[1], 'column')} cannot meet rows of "
            f"{counted(right.shape[1], 'column')}."
        )
    if left.shape[0] > right.shape[0]:  # fewer turns of the loop over the rows of the first
        return np.ascontiguousarray(_agreements(right, left).T)
    return _agreements(left, right)


def sign_cauchy_acos(chi2: ArrayLike) -> Array:
    """The first approximation of P(sign x = sign y): 1 - arccos(chi2) / pi.

    It needs the chi-square similarity alone. CNK (6), the acos-chi2 kernel. Off by up to 0.0316,
    mostly too low (see `sign_cauchy_collision`).

    Parameters
    ----------
    chi2 : array_like
        Chi-square similarities, 0 to 1.

    Returns
    -------
    float or array
        The approximate probability.

    See Also
    --------
    sign_cauchy_collision : The probability itself.
    sign_cauchy_arctan : Another approximation.

    Examples
    --------
    >>> from kernelight.theory import sign_cauchy_acos
    >>> sign_cauchy_acos([0.0, 0.5, 1.0]).round(6)
    array([0.5     , 0.666667, 1.      ])
    """
    return result(1.0 - np.arccos(kernel_values(chi2, "chi2")) / math.pi)


def sign_cauchy_arctan(chi2: ArrayLike) -> Array:
    """The second approximation: 1/2 + (2/pi^2) I(c).

    I(c) = integral_0^(pi/2) arctan(c tan t) dt, c = chi2 / (2 - 2 chi2).

    Nearer than `sign_cauchy_acos` for similar rows, chi2 above 0.6 (by 0.003 in the mean against
    0.015), farther below 0.4. Off by up to 0.0192 for sets (a figure of its authors, which is not
    one of the other), and up to 0.0215 was seen for histograms. Since I'(c) = log(c) / (c^2 - 1),
    I(c) = X(c) - log(c) artanh(c) for c <= 1, with Legendre's X(c) = (Li2(c) - Li2(-c)) / 2, and
    I(c) = pi^2 / 4 - I(1/c).

    Parameters
    ----------
    chi2 : array_like
        Chi-square similarities, 0 to 1.

    Returns
    -------
    float or array
        The approximate probability.

    See Also
    --------
    sign_cauchy_collision : The probability itself.
    sign_cauchy_acos : Another approximation.

    Examples
    --------
    >>> from kernelight.theory import sign_cauchy_arctan
    >>> sign_cauchy_arctan([0.0, 0.5, 2 / 3, 1.0]).round(6)
    array([0.5     , 0.681583, 0.75    , 1.      ])
    """
    chi2 = kernel_values(chi2, "chi2")
    up, down = chi2, 2.0 - 2.0 * chi2
    c = np.minimum(up, down) / np.maximum(up, down)
    legendre = (special.spence(1.0 - c) - special.spence(1.0 + c)) / 2.0
    inner = np.clip(c, 1e-300, 1.0 - 2.0**-53)  # the product goes to 0 at both ends
    product = np.log(inner) * np.arctanh(inner)
    integral = legendre - product
    return result(
        0.5 + 2.0 / math.pi**2 * np.where(up <= down, integral, math.pi**2 / 4.0 - integral)
    )


def _histograms(X: Any, name: str) -> sp.csr_array:
    """Rows of sum 1, or of nothing."""
    rows = as_rows(X, name)
    refuse(rows.data < 0, rows, f"{name} must not be negative")
    return of_sum_one(rows)


def _agreements(left: sp.csr_array, right: sp.csr_array, symmetric: bool = False) -> Array:
    """P of all pairs; of a symmetric matrix (left is right), one half is computed."""
    P = np.zeros((left.shape[0], right.shape[0]))
    longest = int(np.diff(left.indptr).max(initial=0))
    if longest == 0:
        return P
    empty = np.diff(right.indptr) == 0
    left, right = to_columns_of(left, left), to_columns_of(left, right)
    step = max(1, _BLOCK // (longest + 3))
    for start in range(0, right.shape[0], step):
        block = right[start : start + step].tocsc()
        for i in range(min(left.shape[0], start + step) if symmetric else left.shape[0]):
            support = slice(left.indptr[i], left.indptr[i + 1])
            done = max(0, i - start) if symmetric else 0
            if support.start < support.stop:
                shared = block[:, left.indices[support]].toarray()[done:]
                P[i, start + done : start + step] = _agreement(left.data[support], shared)
    P[:, empty] = 0.0
    if symmetric:
        below = np.tril_indices(len(P), -1)
        P[below] = P.T[below]
    return P


def _agreement(u: Array, V: Array) -> Array:
    """P of one row with several rows.

    ``u`` are the nonzeros of the row, ``V`` (m, len(u)) the others in the same columns. What the
    others have elsewhere has breakpoint 0 and is known from the sums, all of them 1.

    With S = A + B tau, from A = 1 at tau = 0 (all u_i larger), each breakpoint takes 2 u_i from A
    and gives 2 v_i to B, up to B = 1. Subtracting log max(1, tau) from both logarithms keeps every
    piece small; the integral of log(1 + tau) is then pi^2 / 6. That leaves, for the piece from a to
    b and Li2 the dilogarithm (Li2(z) is spence(1 - z) in scipy), int log(A + B tau) dtau / tau =

        log A log(b/a) - Li2(-B b / A) + Li2(-B a / A)                             if A is larger,
        (log B + log(a b) / 2) log(b/a) + Li2(-A / (B b)) - Li2(-A / (B a))        if B tau is.
    """
    with np.errstate(over="ignore"):
        at = np.divide(u, V, out=np.full(V.shape, _FARTHEST), where=V > 0)
    equal = np.all(at == 1.0, axis=1)
    at = np.pad(np.clip(at, 1.0 / _FARTHEST, _FARTHEST), ((0, 0), (0, 1)), constant_values=1.0)
    order = np.argsort(at, axis=1)

    def passed(values: Array) -> Array:
        """What lies below each piece: 0 and the cumulative sums in the order of the breakpoints."""
        padded = np.pad(np.broadcast_to(values, V.shape), ((0, 0), (0, 1)))
        return np.pad(
            np.cumsum(np.take_along_axis(padded, order, axis=1), axis=1), ((0, 0), (1, 0))
        )

    first, last = np.full((len(V), 1), 1.0 / _FARTHEST), np.full((len(V), 1), _FARTHEST)
    tau = np.concatenate([first, np.take_along_axis(at, order, axis=1), last], axis=1)
    a, b, log_tau = tau[:, :-1], tau[:, 1:], np.log(tau)
    A = 1.0 - 2.0 * passed(u)
    B = 1.0 - 2.0 * V.sum(axis=1, keepdims=True) + 2.0 * passed(V)

    middle = (log_tau[:, :-1] + log_tau[:, 1:]) / 2.0
    flat = np.exp(middle) * B <= A
    # rounding may leave a negative number on a piece without width
    large = np.maximum(np.where(flat, A, B), 1e-30)
    level = np.log(large) + np.where(flat, 0.0, middle) - np.where(a >= 1.0, middle, 0.0)
    small_at_a = np.where(flat, B * a, A / a) / large
    small_at_b = np.where(flat, B * b, A / b) / large
    difference = special.spence(np.maximum(1.0 + small_at_b, 0.0)) - special.spence(
        np.maximum(1.0 + small_at_a, 0.0)
    )
    pieces = level * np.diff(log_tau, axis=1) + np.where(flat, -difference, difference)
    P = 0.5 + (math.pi**2 / 6.0 - pieces.sum(axis=1)) / math.pi**2
    return np.where(equal, 1.0, np.clip(P, 0.0, 1.0))
