"""The worst error of random Fourier features over all pairs of points of a set at once.

Source: "Binary embedding and optimized random Fourier features" (BE), theorem 1, after Rahimi and
Recht. It reads

    P(sup |z(x).z(y) - k(x, y)| >= e) <= 2^8 (s D / e)^2 exp(-p e^2 / (4 (d + 2))),

d being the dimension, D the diameter of the set and s^2 = E|w|^2 = d / sigma^2 that of a frequency.
BE prints s^2 diag for s D, which cannot be: scaling points by c and frequencies by 1/c changes
nothing, so that only s D can matter.

Computed here is what the proof gives before it is rounded up. The error f of the estimate is looked
at in the centres of balls of radius r that cover the set: (4 R / r)^m of them at most, each with a
failure of 2 exp(-a k e^2) by Hoeffding's inequality to keep |f| below e/2. In between f changes by
less than e/2 if its slope is below e / (2 r), and that fails with probability (2 r L / e)^2 by
Markov's, L^2 bounding the mean square of the largest slope. With the r that makes both equal,

    P <= 2 (2 exp(-a k e^2))^(2 / (m + 2)) (8 R L / e)^(2 m / (m + 2)).

* "paired": f depends on x - y only, m = d, R = D; k columns are k/2 values of cos in [-1, 1], a =
  1/16. So p in the theorem counts frequencies of pairs, not columns. L = s + exp(-1/2) / sigma, the
  slope of the features and that of the kernel.
* "phase" (the features of BE's equation 4): f depends on both points, m = 2 d, R = D (Jung's
  theorem); values lie in [-2, 2], a = 1/32, and L = 2 s + sqrt(2) exp(-1/2) / sigma. The theorem
  promises them what holds for pairs only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelight.theory.inputs import (
    Array,
    counts,
    inside,
    one_of,
    over_square,
    positive,
    result,
    whole,
)

# a, the number of points that f depends on, and L sigma as a multiple of sqrt(d) and a constant
_FEATURES = {
    "paired": (1.0 / 16.0, 1, 1.0, math.exp(-0.5)),
    "phase": (1.0 / 32.0, 2, 2.0, math.sqrt(2.0) * math.exp(-0.5)),
}


def uniform_bound(
    error: ArrayLike,
    n_components: ArrayLike,
    n_features: ArrayLike,
    diameter: ArrayLike,
    sigma: ArrayLike = 1.0,
    *,
    features: str = "paired",
) -> Array:
    """A bound of the probability that Fourier features miss the Gaussian kernel by ``error``.

    There are ``n_components`` features, and the error is that of the worst pair of points.

    The kernel is exp(-|x - y|^2 / (2 sigma^2)) on points with ``n_features`` coordinates, no two
    further apart than ``diameter``. 1 where the theorem says nothing. BE's theorem 1, corrected:
    the head of this module says how.

    Parameters
    ----------
    error : array_like
        The largest error, above 0.
    n_components : array_like
        The number of features.
    n_features : array_like
        Coordinates of a point.
    diameter : array_like
        No two points are further apart.
    sigma : array_like, default=1.0
        The sigma of the Gaussian kernel.
    features : {"paired", "phase"}, default="paired"
        Pairs of a cosine and a sine, or cosines with random phases.

    Returns
    -------
    float or array
        A bound of the probability, at most 1.

    See Also
    --------
    uniform_components : The number of features for a probability.

    Examples
    --------
    >>> from kernelight.theory import uniform_bound
    >>> uniform_bound(0.1, [100_000, 150_000, 200_000], 10, 5.0).round(4)
    array([1.00e+00, 7.29e-02, 4.00e-04])
    """
    rate, e, m, logs = _parts(error, n_features, diameter, sigma, features)
    k = counts(n_components, "n_components")
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = np.log(2.0) + 2.0 / (m + 2.0) * (np.log(2.0) - rate * k * np.square(e)) + logs
    return result(np.exp(np.fmin(exponent, 0.0)))  # infinity against infinity says nothing


def uniform_components(
    error: ArrayLike,
    confidence: ArrayLike,
    n_features: ArrayLike,
    diameter: ArrayLike,
    sigma: ArrayLike = 1.0,
    *,
    features: str = "paired",
) -> NDArray[np.int64]:
    """The columns for which `uniform_bound` promises an error below ``error`` everywhere.

    The promise holds with probability ``confidence``.

    A guarantee for infinitely many pairs, and a loose one: for a given list of pairs,
    `components_needed` asks for much less.

    Parameters
    ----------
    error : array_like
        The largest error, above 0.
    confidence : array_like
        The probability that the promise holds, below 1.
    n_features : array_like
        Coordinates of a point.
    diameter : array_like
        No two points are further apart.
    sigma : array_like, default=1.0
        The sigma of the Gaussian kernel.
    features : {"paired", "phase"}, default="paired"
        Pairs of a cosine and a sine, or cosines with random phases.

    Returns
    -------
    int or array
        The number of features.

    See Also
    --------
    uniform_bound : The bound behind it.
    components_needed : For a list of pairs.

    Examples
    --------
    >>> from kernelight.theory import uniform_components
    >>> uniform_components(0.1, 0.95, 10, 5.0)
    153614
    """
    rate, e, m, logs = _parts(error, n_features, diameter, sigma, features)
    failure = np.log1p(-inside(confidence, "confidence", 0.0, 1.0))
    amount = (np.log(2.0) + (m + 2.0) / 2.0 * (np.log(2.0) + logs - failure)) / rate
    return whole(over_square(np.maximum(amount, 0.0), e), step=2 if features == "paired" else 1)


def _parts(
    error: ArrayLike, n_features: ArrayLike, diameter: ArrayLike, sigma: ArrayLike, features: str
) -> tuple[float, Array, Array, Array]:
    """a, e, m, and the logarithm of (8 R L / e)^(2 m / (m + 2)).

    The logarithm is added up: the quotient may be 0 or beyond every double.
    """
    rate, points, steep, kernel = _FEATURES[one_of(features, "features", _FEATURES)]
    e, d = positive(error, "error"), counts(n_features, "n_features")
    m = points * d
    above = np.log(8.0 * (steep * np.sqrt(d) + kernel)) + np.log(positive(diameter, "diameter"))
    with np.errstate(invalid="ignore"):
        logs = 2.0 * m / (m + 2.0) * (above - (np.log(positive(sigma, "sigma")) + np.log(e)))
    return rate, e, m, logs
