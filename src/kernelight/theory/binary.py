"""What bits of random Fourier features say about the Gaussian kernel K of two rows.

A bit is the sign of cos(w.x + b) + t. The uniform phase b leaves only the difference D of the two
rows' angles, and over the normal frequency w that is D ~ N(0, 2 T), T = -log K. So a mean over bits
is that of a periodic function of D, and has two forms:

* its Fourier series: E cos(m D) = K^(m^2), a few terms where K is small;
* near K = 1, where that series needs ever more terms, a closed form of the function without its
  period, plus what each further kink at a multiple of pi adds, smaller than the last by a power of
  exp(-pi^2 / T).

They take turns where both have all digits of a double after a handful of terms. Source: "Binary
embedding and optimized random Fourier features" (BE), with errata as noted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from kernelight.theory.inputs import (
    Array,
    counts,
    inside,
    kernel_values,
    numbers,
    over_square,
    positive,
    result,
    whole,
)

WithSlope = tuple[Array, Array]  # a function and its derivative

_RISE = 2.0 * math.pi**-1.5


class _Loss(NamedTuple):
    """A rate r that falls from ``limit`` at K = 0 to 0 at K = 1, below and above ``border``.

    Far: r = limit - sum_m weight_m K^(m^2). Near: a function of x = sqrt(T), which rises from 0
    with the slope ``rise``. On both sides r is concave in its variable.
    """

    limit: float
    series: dict[int, float]  # m: weight_m
    near: Callable[[Array], WithSlope]
    rise: float
    border: float

    def far(self, K: Array) -> WithSlope:
        rate, slope = np.full_like(K, self.limit), np.zeros_like(K)
        for m, weight in self.series.items():
            term = weight * K ** (m * m - 1)
            rate -= term * K
            slope -= term * (m * m)
        return rate, slope

    def at(self, K: ArrayLike) -> Array:
        K = kernel_values(K, "K")
        return _in_two(
            K, self.border <= K, lambda K: self.near(_root(K))[0], lambda K: self.far(K)[0]
        )

    def flatness(self, K: Array) -> Array:
        """1 / (dr/dK)^2, which is 0 at K = 1: r rises there like the root of 1 - K."""

        def near(K: Array) -> Array:
            x = _root(K)
            return np.square(2.0 * x * K / self.near(x)[1])  # K = exp(-x^2)

        return _in_two(K, self.border <= K, near, lambda K: 1.0 / np.square(self.far(K)[1]))

    def inverse(self, rate: Array) -> Array:
        """The K of a rate, by Newton's method.

        It begins on the side of the root from where a step on a concave function never goes too
        far.
        """
        rate = np.clip(rate, 0.0, self.limit)
        K = _in_two(
            rate,
            rate <= float(self.at(self.border)),
            lambda rate: np.exp(-np.square(_newton(self.near, rate / self.rise, rate))),
            lambda rate: _newton(self.far, np.full_like(rate, self.border), rate),
        )
        K[rate >= self.limit] = 0.0  # where rounding would leave 1e-17
        return np.clip(K, 0.0, 1.0, out=K)


def _root(K: Array) -> Array:
    """x = sqrt(T)."""
    return np.sqrt(np.abs(np.log(K)))


def _in_two(
    x: Array, near: NDArray[np.bool_], f: Callable[[Array], Array], g: Callable[[Array], Array]
) -> Array:
    """f(x) where ``near``, g(x) elsewhere; neither sees a value that is not its own."""
    y = np.empty_like(x)
    y[near], y[~near] = f(x[near]), g(x[~near])
    return y


def _newton(function: Callable[[Array], WithSlope], x: Array, target: Array) -> Array:
    for _ in range(5):  # four are enough for every rate
        value, slope = function(x)
        x = x - (value - target) / slope
    return x


def _hamming_near(x: Array) -> WithSlope:
    """(2/pi) E |sin(D/2)|.

    Without its period it is sin(|D|/2), whose mean is Dawson's integral; the kink at |D| = 2 pi
    adds 2 sin(|D|/2 - pi) beyond it (w is Faddeeva's function), and the next exp(-4 pi^2 / T). The
    slope is the heat equation's.
    """
    T = np.maximum(x * x, 1e-290)
    kink = np.exp(-(math.pi**2) / T)
    beyond = kink * special.wofz(x / 2.0 + 1j * math.pi / np.sqrt(T)).imag
    rate = 2.0 * _RISE * special.dawsn(x / 2.0) + 4.0 / math.pi * beyond
    return rate, _RISE * (1.0 + 2.0 * kink) - x * rate / 2.0


def _sign_near(x: Array) -> WithSlope:
    """1 - E of the triangle wave.

    Without its period the wave is 1 - 2 |D| / pi; a kink at |D| = a adds or takes (4/pi) E max(|D|
    - a, 0), and here those at pi and 2 pi count.
    """
    T = np.maximum(x * x, 1e-290)
    rate, slope = 2.0 * _RISE * x, np.full_like(x, 2.0 * _RISE)
    for sign, a in ((-1.0, math.pi), (1.0, 2.0 * math.pi)):
        kink = np.exp(-(a * a) / (4.0 * T))
        rate = rate + sign * (
            4.0 * _RISE * x * kink - 4.0 / math.pi * a * special.erfc(a / (2.0 * np.sqrt(T)))
        )
        slope = slope + sign * 4.0 * _RISE * kink
    return rate, slope


_WEIGHT = 8.0 / math.pi**2
_HAMMING = _Loss(
    limit=_WEIGHT / 2.0,
    series={m: _WEIGHT / (4 * m * m - 1) for m in range(1, 7)},  # m = 7 would be below exp(-49)
    near=_hamming_near,
    rise=_RISE,
    border=math.exp(-1.0),
)
_SIGN = _Loss(
    limit=1.0,
    series={m: _WEIGHT / (m * m) for m in (1, 3, 5, 7)},  # m = 9 would be below exp(-40)
    near=_sign_near,
    rise=2.0 * _RISE,
    border=math.exp(-0.5),
)


def hamming_rate(K: ArrayLike) -> Array:
    """The fraction of bits sign(cos(w.x + b) + t) in which two rows of Gaussian kernel K differ.

    t is uniform in (-1, 1). h(K) = (8/pi^2) sum_{m >= 1} (1 - K^(m^2)) / (4 m^2 - 1), which falls
    from 4/pi^2 = 0.405 at K = 0 to 0 at K = 1, there as 2 pi^(-3/2) sqrt(-log K). Right to 1e-15
    everywhere. BE bounds it (lemma 1); this is the thing itself. Unrelated rows differ in 40.5 % of
    the bits, not in half, so that products of bits average 1 - 2 h >= 0.19, not K as BE says.

    Parameters
    ----------
    K : array_like
        Values of the kernel, 0 to 1.

    Returns
    -------
    float or array
        The fraction, 0 to 4/pi^2.

    See Also
    --------
    kernel_from_hamming : The inverse.
    hamming_bounds : Bounds in closed form.
    kernelight.BinaryFourier : The map that makes such bits.

    Examples
    --------
    >>> from kernelight.theory import hamming_rate
    >>> hamming_rate([0.0, 0.5, 0.99, 1.0]).round(6)
    array([0.405285, 0.266767, 0.035947, 0.      ])
    """
    return result(_HAMMING.at(K))


def kernel_from_hamming(rate: ArrayLike) -> Array:
    """The Gaussian kernel from the fraction of bits that differ: the inverse of `hamming_rate`.

    A fraction beyond 4/pi^2, which an estimate may have by chance, gives 0, one below 0 gives 1.

    Parameters
    ----------
    rate : array_like
        Fractions of bits that differ.

    Returns
    -------
    float or array
        The value of the Gaussian kernel, 0 to 1.

    See Also
    --------
    hamming_rate : The inverse.
    kernel_from_hamming_variance : How well it estimates.

    Examples
    --------
    >>> from kernelight.theory import hamming_rate, kernel_from_hamming
    >>> kernel_from_hamming(hamming_rate([0.1, 0.5, 0.99])).round(9)
    array([0.1 , 0.5 , 0.99])
    >>> kernel_from_hamming([0.5, 0.0])
    array([0., 1.])
    """
    return result(_HAMMING.inverse(numbers(rate, "rate")))


def kernel_from_hamming_variance(K: ArrayLike) -> Array:
    """k Var, as k grows, of the kernel from k bits that differ or not: h (1 - h) / h'(K)^2.

    By the delta method. Falls from 3.3 at K = 0 to 0 at K = 1; full-precision features
    (`paired_variance`) have 1 at K = 0.

    Parameters
    ----------
    K : array_like
        Values of the kernel, 0 to 1.

    Returns
    -------
    float or array
        The variance of a single component: divide by the number of components.

    See Also
    --------
    kernel_from_sign_cosine_variance : The same without a threshold.

    Examples
    --------
    >>> from kernelight.theory import kernel_from_hamming_variance
    >>> kernel_from_hamming_variance([0.0, 0.5, 1.0]).round(6)
    array([3.301652, 2.202197, 0.      ])
    """
    K = kernel_values(K, "K")
    rate = _HAMMING.at(K)
    return result(rate * (1.0 - rate) * _HAMMING.flatness(K))


def hamming_bounds(K: ArrayLike) -> tuple[Array, Array]:
    """Closed-form bounds h1 <= `hamming_rate` <= h2.

    h1 = (4/pi^2) (1 - K) and h2 = min(sqrt(1 - K) / 2, (4/pi^2) (1 - 2 K / 3)): BE's lemma 1, where
    the root is printed as sqrt(1 - K^2) / 2. That holds too, but Jensen's inequality gives this
    one: h = E|cos a - cos b| / 2 and E(cos a - cos b)^2 = 1 - K.

    Parameters
    ----------
    K : array_like
        Values of the kernel, 0 to 1.

    Returns
    -------
    tuple of two arrays
        The lower and the upper bound.

    See Also
    --------
    hamming_rate : What they bound.

    Examples
    --------
    >>> from kernelight.theory import hamming_bounds
    >>> low, high = hamming_bounds([0.0, 0.5, 1.0])
    >>> low.round(6), high.round(6)
    (array([0.405285, 0.202642, 0.      ]), array([0.405285, 0.27019 , 0.      ]))
    """
    K = kernel_values(K, "K")
    line = 4.0 / math.pi**2
    return result(line * (1.0 - K)), result(
        np.minimum(np.sqrt(1.0 - K) / 2.0, line * (1.0 - 2.0 * K / 3.0))
    )


def bits_needed(
    n_rows: ArrayLike, deviation: ArrayLike, confidence: ArrayLike = 0.95
) -> NDArray[np.int64]:
    """Bits that bring the fractions of all pairs within ``deviation`` of `hamming_rate`.

    All pairs among ``n_rows`` rows are meant at once.

    p = log(n^2 / (1 - confidence)) / (2 deviation^2): BE's lemma 1. Assumes independent bits
    (Hoeffding's inequality for each of the pairs, all added up), nothing else. It grows with the
    logarithm of the rows: one given pair needs log(2 / (1 - confidence)) / (2 deviation^2) by the
    same inequality, 738 in the example.

    Parameters
    ----------
    n_rows : array_like
        Rows, all pairs of which are meant.
    deviation : array_like
        How far a fraction may be from its mean, above 0.
    confidence : array_like, default=0.95
        The probability that all are within it.

    Returns
    -------
    int or array
        The number of bits.

    See Also
    --------
    components_needed : For single pairs, and other methods.

    Examples
    --------
    >>> from kernelight.theory import bits_needed
    >>> bits_needed(1000, 0.05)
    3363
    """
    n, confidence = counts(n_rows, "n_rows"), inside(confidence, "confidence", 0.0, 1.0)
    return whole(
        over_square(
            (2.0 * np.log(n) - np.log1p(-confidence)) / 2.0, positive(deviation, "deviation")
        )
    )


def sign_cosine_mean(K: ArrayLike) -> Array:
    """E[z z'] of bits z = sign(cos(w.x + b)) = +-1 without a threshold.

    K is the Gaussian kernel of the two rows. s(K) = (8/pi^2) sum_{m odd} K^(m^2) / m^2, from 0 to
    1. BE's listing drops the threshold t of its definition: this is the kernel it really uses. It
    is no worse than the other, but they must not be mixed.

    Parameters
    ----------
    K : array_like
        Values of the kernel, 0 to 1.

    Returns
    -------
    float or array
        The mean product, 0 to 1.

    See Also
    --------
    kernel_from_sign_cosine : The inverse.
    hamming_rate : The same with a threshold.

    Examples
    --------
    >>> from kernelight.theory import sign_cosine_mean
    >>> sign_cosine_mean([0.0, 0.5, 0.99, 1.0]).round(6)
    array([0.      , 0.405461, 0.927985, 1.      ])
    """
    return result(1.0 - _SIGN.at(K))


def kernel_from_sign_cosine(mean: ArrayLike) -> Array:
    """The Gaussian kernel from the mean of products of bits without a threshold.

    The inverse of `sign_cosine_mean`. A mean below 0, which an estimate may have by chance, gives
    0.

    Parameters
    ----------
    mean : array_like
        Means of products of bits -1 and 1.

    Returns
    -------
    float or array
        The value of the Gaussian kernel, 0 to 1.

    See Also
    --------
    sign_cosine_mean : The inverse.

    Examples
    --------
    >>> from kernelight.theory import kernel_from_sign_cosine, sign_cosine_mean
    >>> kernel_from_sign_cosine(sign_cosine_mean([0.1, 0.5, 0.99])).round(9)
    array([0.1 , 0.5 , 0.99])
    >>> kernel_from_sign_cosine([-0.01, 1.0])
    array([0., 1.])
    """
    return result(_SIGN.inverse(1.0 - numbers(mean, "mean")))


def kernel_from_sign_cosine_variance(K: ArrayLike) -> Array:
    """k Var, as k grows, of the kernel from k bits without a threshold: (1 - s^2) / s'(K)^2.

    By the delta method. Below that with a threshold (`kernel_from_hamming_variance`) everywhere:
    less than half of it at K = 0, nearly the same at K = 1.

    Parameters
    ----------
    K : array_like
        Values of the kernel, 0 to 1.

    Returns
    -------
    float or array
        The variance of a single component: divide by the number of components.

    See Also
    --------
    kernel_from_hamming_variance : The same with a threshold.

    Examples
    --------
    >>> from kernelight.theory import kernel_from_sign_cosine_variance
    >>> kernel_from_sign_cosine_variance([0.0, 0.5, 1.0]).round(6)
    array([1.522017, 1.261922, 0.      ])
    """
    K = kernel_values(K, "K")
    loss = _SIGN.at(K)
    return result(loss * (2.0 - loss) * _SIGN.flatness(K))
