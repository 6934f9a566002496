"""Slots of codes that agree: their probability, and how well their fraction estimates a kernel.

A slot of two rows agrees with probability P, independently of the others, so the fraction of k that
agree is binomial. For consistent weighted sampling P is the min-max kernel K itself; cut to b bits,
unequal samples agree by chance too. Sources: "Linearized GMM kernels and normalized random Fourier
features" (LGMM), which leaves the chance out, with errata as noted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from kernelight.base import counted
from kernelight.theory.inputs import Array, counts, kernel_values, result
from kernelight.theory.row_sums import as_rows, of_sum_one, to_columns_of

_MOST_BITS = 64
_SAFE = 2.0**900  # of an entry: sums of these stay below the largest double, 2^1024


def collision_variance(P: ArrayLike) -> Array:
    """k Var of the fraction of k independent slots that agree, each with probability P: P (1 - P).

    Exact for every k. LGMM (7) for consistent weighted sampling, where P is the min-max kernel;
    signs and bits of projections have the same.

    Parameters
    ----------
    P : array_like
        Probabilities that a slot agrees.

    Returns
    -------
    float or array
        The variance of a single component: divide by the number of components.

    See Also
    --------
    bbit_variance : The same for slots of few bits.

    Examples
    --------
    >>> from kernelight.theory import collision_variance
    >>> collision_variance([0.0, 0.2, 0.5, 1.0])
    array([0.  , 0.16, 0.25, 0.  ])
    """
    P = kernel_values(P, "P")
    return result(P * (1.0 - P))


def bbit_collision(K: ArrayLike, bits: ArrayLike) -> Array:
    """The probability that slots of ``bits`` bits agree: P = K + (1 - K) / 2^b.

    Exact if samples are mixed before they are cut. LGMM takes K itself for it, and the lowest bits
    of i*: of nonnegative rows the very lowest is constant, so that b bits act as b - 1, and 1 bit
    agrees always.

    Parameters
    ----------
    K : array_like
        Values of the kernel, 0 to 1.
    bits : array_like
        Bits of a slot, 1 to 64.

    Returns
    -------
    float or array
        The probability.

    See Also
    --------
    kernel_from_bbit : The inverse.
    kernelight.GCWS : The map that makes such codes.

    Examples
    --------
    >>> from kernelight.theory import bbit_collision
    >>> bbit_collision(4 / 9, [1, 2, 4, 8]).round(5)
    array([0.72222, 0.58333, 0.47917, 0.44661])
    """
    K, chance = kernel_values(K, "K"), by_chance(bits)
    return result(K + (1.0 - K) * chance)


def kernel_from_bbit(P: ArrayLike, bits: ArrayLike) -> Array:
    """The kernel from the fraction P of slots that agree: (P - 2^-b) / (1 - 2^-b), unbiased.

    Negative where fewer slots agree than by chance; cutting it off at 0 would give it a bias.

    Parameters
    ----------
    P : array_like
        Fractions of slots that agree, 0 to 1.
    bits : array_like
        Bits of a slot, 1 to 64.

    Returns
    -------
    float or array
        The estimate of the kernel.

    See Also
    --------
    bbit_collision : The inverse.
    bbit_variance : Its variance.

    Examples
    --------
    >>> from kernelight.theory import kernel_from_bbit
    >>> kernel_from_bbit([0.0, 0.25, 0.625, 1.0], 2).round(6)
    array([-0.333333,  0.      ,  0.5     ,  1.      ])
    """
    P, chance = kernel_values(P, "P"), by_chance(bits)
    return result((P - chance) / (1.0 - chance))


def bbit_variance(K: ArrayLike, bits: ArrayLike) -> Array:
    """k Var of `kernel_from_bbit` with k slots: P (1 - P) / (1 - 2^-b)^2, P = `bbit_collision`.

    Exact for every k.

    Parameters
    ----------
    K : array_like
        Values of the kernel, 0 to 1.
    bits : array_like
        Bits of a slot, 1 to 64.

    Returns
    -------
    float or array
        The variance of a single component: divide by the number of components.

    See Also
    --------
    collision_variance : The same for slots that never agree by chance.
    components_needed : How many slots an error takes.

    Examples
    --------
    >>> from kernelight.theory import bbit_variance
    >>> bbit_variance(0.1, [1, 4, 8]).round(6)
    array([0.99    , 0.15    , 0.093529])
    """
    K, chance = kernel_values(K, "K"), by_chance(bits)
    # 1 - P = (1 - K) (1 - 2^-b): one of the two factors cancels
    return result((K + (1.0 - K) * chance) * (1.0 - K) / (1.0 - chance))


def zero_bit_bounds(U: Any, V: Any = None) -> tuple[Array, Array]:
    """Bounds of how often i* alone agrees ("0-bit"), for each row of ``U`` with each of ``V``.

    ``V`` is ``U`` if None. K <= P0 <= sum min(u / |u|_1, v / |v|_1), K the min-max kernel; signs
    are split. LGMM (8) has P0 = K for practical data: true of many comparable entries in rows of
    similar sums. A single entry gives P0 = 1 whatever K, and rows u and 100 u of 1,024 entries
    0.05, not 0.01. The upper bound is attained by two entries, of which one row has the larger in
    one and the smaller in the other. Dense or sparse; a row of zeros gives 0.

    Parameters
    ----------
    U : {array_like, sparse matrix} of shape (n, d)
        Rows, signed or not.
    V : {array_like, sparse matrix} of shape (m, d) or None, default=None
        Rows that are compared with them; None is ``U``.

    Returns
    -------
    tuple of two arrays of shape (n, m)
        The lower bound, which is the min-max kernel, and the upper bound.

    See Also
    --------
    kernelight.GCWS : ``t_bits=0`` makes such codes.

    Examples
    --------
    >>> from kernelight.theory import zero_bit_bounds
    >>> low, high = zero_bit_bounds([[1.0, 2.0], [-3.0, 0.0]], [[2.0, 1.0], [10.0, 20.0]])
    >>> low.round(6), high.round(6)
    (array([[0.5, 0.1],
           [0. , 0. ]]), array([[0.666667, 1.      ],
           [0.      , 0.      ]]))
    """
    left = as_rows(U, "U")
    right = left if V is None else as_rows(V, "V")
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"Rows of {counted(left.shape[1], 'column')} cannot meet rows of "
            f"{counted(right.shape[1], 'column')}."
        )
    high = _shared(of_sum_one(left), of_sum_one(right))
    if max(np.abs(rows.data).max(initial=0.0) for rows in (left, right)) > _SAFE:
        left, right = left * 2.0**-100, right * 2.0**-100  # a common scale changes nothing
    sums = [np.asarray(abs(rows).sum(axis=1)).ravel() for rows in (left, right)]
    both = _shared(left, right)
    apart = np.add.outer(*sums) - both
    low = np.divide(both, apart, out=np.zeros_like(both), where=apart > 0)
    return low, np.clip(high, low, 1.0)


def by_chance(bits: ArrayLike) -> Array:
    """The probability that samples which differ agree in ``bits`` bits."""
    return np.exp2(-counts(bits, "bits", 1, _MOST_BITS))


def _shared(left: sp.csr_array, right: sp.csr_array) -> Array:
    """sum min over positive and negative parts, of all pairs of rows.

    It is half of |u| + |v| - |u - v| in each column.
    """
    # elsewhere every minimum is 0
    left, right = to_columns_of(left, left), to_columns_of(left, right)
    both, dense = np.empty((left.shape[0], right.shape[0])), right.toarray()
    for i in range(left.shape[0]):
        u = left[[i]].toarray()
        both[i] = np.where(np.sign(u) == np.sign(dense), np.minimum(abs(u), abs(dense)), 0.0).sum(
            axis=1
        )
    return both
