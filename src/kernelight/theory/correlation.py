"""The correlation of elliptical rows, from their min-max kernel or from their cosine.

Which one varies less?

The cosine c_n of two rows tends to rho, and needs fourth moments for that to be fast. The min-max
kernel g_n tends to a function of rho (`gmm_limit`), which can be inverted, and needs second
moments. Source: "Theory of the GMM kernel" (TGMM), with errata as noted;
`kernelight.theory.elliptical` has the setting.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from kernelight.theory.elliptical import gmm_variance, spread, t_moment, triangle
from kernelight.theory.inputs import (
    Array,
    correlations,
    kernel_values,
    positive,
    product,
    result,
    root,
)


def rho_from_gmm(g: ArrayLike, sigma: ArrayLike = 1.0) -> Array:
    """The correlation from the min-max kernel of long elliptical rows.

    y has ``sigma`` times the scale of x.

    The inverse of `gmm_limit`: q = (1 + sigma) (1 - g) / (1 + g), rho = (1 + sigma^2 - q^2) / (2
    sigma); for sigma = 1 it is 1 - 2 ((1 - g) / (1 + g))^2. TGMM has that form only, and for rows
    of other scales it tends to something else: rho = 0.5 and sigma = 2 to 1/3. Take sigma = sum |y|
    / sum |x|, or scale rows first. A g beyond what rho = 1 gives, which an estimate may have by
    chance, gives 1.

    Parameters
    ----------
    g : array_like
        Values of the min-max kernel, 0 to 1.
    sigma : array_like, default=1.0
        The scale of y, that of x being 1.

    Returns
    -------
    float or array
        The correlation, -1 to 1.

    See Also
    --------
    gmm_limit : The inverse.
    rho_from_gmm_variance : Its variance.

    Examples
    --------
    >>> from kernelight.theory import gmm_limit, rho_from_gmm
    >>> rho_from_gmm(gmm_limit([-1.0, 0.0, 0.9])).round(9)
    array([-1. ,  0. ,  0.9])
    >>> g = gmm_limit(0.5, sigma=2.0)
    >>> rho_from_gmm(g, sigma=2.0).round(6), rho_from_gmm(g).round(6)
    (np.float64(0.5), np.float64(0.333333))
    """
    g, scale = kernel_values(g, "g"), np.clip(positive(sigma, "sigma"), 1e-150, 1e150)
    # 2 sigma (1 + rho) = (1 + sigma)^2 - q^2 = (1 + sigma)^2 4 g / (1 + g)^2: nothing cancels
    # before the last step
    return result(np.minimum(2.0 * g * np.square((1.0 + scale) / (1.0 + g)) / scale, 2.0) - 1.0)


def rho_from_gmm_variance(
    rho: ArrayLike, nu: ArrayLike = math.inf, sigma: ArrayLike = 1.0
) -> Array:
    """n Var, as n grows, of `rho_from_gmm` of n coordinates of Student's t.

    It is (d rho / d g)^2 `gmm_variance`.

    d rho / d g = q (1 + sigma + q)^2 / (2 sigma (1 + sigma)), which is 8 (1 - g) / (1 + g)^3 for
    sigma = 1 (TGMM section 5). Assumes that sigma is known; one that is estimated from the same
    rows adds to it. Infinite for nu <= 2.

    Parameters
    ----------
    rho : array_like
        Correlations, -1 to 1.
    nu : array_like, default=inf
        Degrees of freedom of Student's t; infinity is the normal distribution.
    sigma : array_like, default=1.0
        The scale of y, that of x being 1.

    Returns
    -------
    float or array
        The variance times the number of coordinates n.

    See Also
    --------
    rho_variance_ratio : Compared with the cosine.

    Examples
    --------
    >>> from kernelight.theory import rho_from_gmm_variance
    >>> rho_from_gmm_variance([0.0, 0.5, 0.9], 3).round(6)
    array([2.081369, 1.043727, 0.06458 ])
    """
    t = triangle(rho, sigma)
    slope = t.q * np.square(1.0 + t.sigma + t.q) / (2.0 * t.sigma * (1.0 + t.sigma))
    variance = np.asarray(gmm_variance(rho, nu, sigma))
    return result(product(variance, np.square(slope)))


def cosine_variance(rho: ArrayLike, nu: ArrayLike = math.inf) -> Array:
    """n Var(c_n), as n grows, of the cosine of n coordinates of Student's t.

    It is E T^4 / (2 E^2 T^2) (1 - rho^2)^2.

    That is (nu - 2) / (nu - 4) (1 - rho^2)^2, infinite for nu <= 4, and (1 - rho^2)^2 for normal
    coordinates. The cosine estimates rho as it is, whatever the scales of the rows. TGMM's theorem
    3 and corollary 1. Where 8th moments are infinite (nu <= 8) it is approached slowly: for nu = 5,
    7 % below it at n = 10,000.

    Parameters
    ----------
    rho : array_like
        Correlations, -1 to 1.
    nu : array_like, default=inf
        Degrees of freedom of Student's t; infinity is the normal distribution.

    Returns
    -------
    float or array
        The variance times the number of coordinates n.

    See Also
    --------
    rho_from_gmm_variance : The other estimate of rho.

    Examples
    --------
    >>> from kernelight.theory import cosine_variance
    >>> cosine_variance([-1.0, 0.0, 0.5], 6)
    array([0.   , 2.   , 1.125])
    >>> cosine_variance(0.0, [4.0, 5.0, 10.0]).round(6)
    array([     inf, 3.      , 1.333333])
    """
    rho, nu = np.broadcast_arrays(correlations(rho), positive(nu, "nu"))
    return result(product(np.square((1.0 - rho) * (1.0 + rho)), _kurtosis(nu)))


def rho_variance_ratio(rho: ArrayLike, nu: ArrayLike = math.inf) -> Array:
    """Variance of the correlation from the min-max kernel over that from the cosine.

    The rows have equal scale.

    Below 1 the kernel is better; it is 0 for nu <= 4, where the cosine's is infinite. For normal
    coordinates it is what robustness costs: 1.33 at rho = 0, 1.14 at 0.9, but 3.35 at -0.9 (TGMM:
    not much loss). At rho = 1, where both vanish, it is the limit; towards -1 it grows without
    bound.

    Parameters
    ----------
    rho : array_like
        Correlations, -1 to 1.
    nu : array_like, default=inf
        Degrees of freedom of Student's t; infinity is the normal distribution.

    Returns
    -------
    float or array
        The ratio: below 1 the min-max kernel is better.

    See Also
    --------
    rho_crossover : Where it is 1.

    Examples
    --------
    >>> from kernelight.theory import rho_variance_ratio
    >>> rho_variance_ratio([-0.9, 0.0, 0.5, 0.9]).round(2)
    array([3.35, 1.33, 1.18, 1.14])
    """
    rho, nu = np.broadcast_arrays(correlations(rho), positive(nu, "nu"))
    light = np.where(nu > 4.0, nu, 5.0)
    tails = (
        np.square(np.asarray(t_moment(light, 1)))
        * _kurtosis(light)
        / np.asarray(t_moment(light, 2))
    )
    return result(np.where(nu > 4.0, _normal_ratio(rho) * (math.pi / 4.0) / tails, 0.0))


def rho_crossover(rho: ArrayLike) -> Array:
    """The degrees of freedom below which the min-max kernel beats the cosine for rho.

    There `rho_variance_ratio` is 1. TGMM has "roughly 8"; as n grows it is 4 at rho = -1, 8.7 at 0,
    and near 15 at 1.

    Parameters
    ----------
    rho : array_like
        Correlations, -1 to 1.

    Returns
    -------
    float or array
        The degrees of freedom.

    See Also
    --------
    rho_variance_ratio : What is 1 there.

    Examples
    --------
    >>> from kernelight.theory import rho_crossover
    >>> rho_crossover([-0.9, 0.0, 0.5, 0.9]).round(1)
    array([ 4.7,  8.7, 12.3, 14.9])
    """
    rho = correlations(rho)
    # nu - 4 by its logarithm; the ratio grows with nu, from 0 at nu = 4 to that of the normal law,
    # which is above 1
    distance = root(
        lambda log_distance: 1.0 - np.asarray(rho_variance_ratio(rho, 4.0 + np.exp(log_distance))),
        np.full(rho.shape, -40.0),
        np.full(rho.shape, 12.0),
    )
    return result(4.0 + np.exp(distance))


def _kurtosis(nu: Array) -> Array:
    """E T^4 / (2 E^2 T^2) = (nu - 2) / (nu - 4)."""
    inside = np.where(nu > 4.0, np.minimum(nu, 1e16), 5.0)
    return np.where(nu > 4.0, (inside - 2.0) / (inside - 4.0), np.inf)


def _normal_ratio(rho: Array) -> Array:
    """`rho_variance_ratio` of the normal law.

    With q^4 / (1 - rho^2)^2 = 4 / (1 + rho)^2, so that nothing is 0 / 0 at rho = 1.
    """
    t = triangle(np.maximum(rho, np.nextafter(-1.0, 0.0)), 1.0)
    ratio = math.pi**3 * spread(t) / np.square(1.0 + t.rho)
    return np.where(rho > -1.0, ratio, np.inf)
