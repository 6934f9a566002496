"""The min-max kernel of long rows with elliptical coordinates: its mean, limit and variance.

Coordinates (x_i, y_i), i = 1 .. n, are independent copies of T (a.U, b.U): U uniform on the unit
circle, T > 0 independent of it, |a| = 1, |b| = sigma, and a.b = sigma rho. Normal coordinates have
T^2 = chi^2_2, those of Student's t with nu degrees of freedom T^2 = nu chi^2_2 / chi^2_nu. (Then
((1, sigma rho), (sigma rho, sigma^2)) is the scale matrix; the covariance is nu / (nu - 2) times
that, where it exists.) The kernel is a ratio of sums,

    g_n = (S - d) / (S + d),        S = sum |x_i| + |y_i|,        d = sum |x_i - y_i|.

Let q = |a - b| = sqrt(1 - 2 sigma rho + sigma^2). In the triangle with sides 1, sigma, q let delta
be the angle between 1 and q, eta that between sigma and q, phi = delta + eta the one outside that
between 1 and sigma, so cos phi = -rho. Since E|a.U| = 2 |a| / pi,

    g_n -> (1 + sigma - q) / (1 + sigma + q) = f_inf,        H = (1 + sigma + q) / pi,

and since E|a.U||b.U| = |a| |b| (cos t / 2 + n(t) / pi) for the angle t of a and b, n(t) = sin t - t
cos t, the delta method for d / S gives

    n Var(g_n) -> V / H^4  E T^2 / E^2 T,
    V = (2 q^2 / pi^3) [(pi/4) (1 + sigma - q)^2 + sigma n(phi)
                        - (1 + sigma) (n(delta) + sigma n(eta))].

These are the quantities of "Theory of the GMM kernel" (TGMM), shorter, and without its
cancellations and zeros in denominators. TGMM prints V for sigma = 1 once with the factor 1/(4
pi^3), which must be 4/pi^3 as in its corollary 2. Swapping rows turns sigma into 1/sigma, so all is
computed for sigma <= 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from kernelight.theory.inputs import Array, correlations, positive, product, result

# Gauss's rule on [0, 1]
_NODES, _WEIGHTS = (np.polynomial.legendre.leggauss(10) + np.array([[1.0], [0.0]])) / 2.0
_NORMAL = 1e16  # degrees of freedom from which on t is normal up to rounding


class Triangle(NamedTuple):
    """rho, the ratio sigma <= 1 of the scales, and what follows from them.

    ``larger`` is the larger of the scales, that of x being 1.
    """

    rho: Array
    sigma: Array
    larger: Array
    q: Array
    delta: Array
    eta: Array


def triangle(rho: ArrayLike, sigma: ArrayLike) -> Triangle:
    rho, given = np.broadcast_arrays(correlations(rho), positive(sigma, "sigma"))
    given = np.clip(given, 1e-150, 1e150)  # the kernel has long been 0
    ratio = np.minimum(given, 1.0 / given)
    height = ratio * np.sqrt((1.0 - rho) * (1.0 + rho))  # twice the area
    # a form in which nothing cancels
    q = np.sqrt(np.square(1.0 - ratio) + 2.0 * ratio * (1.0 - rho))
    delta = np.where(q > 0, np.arctan2(height, 1.0 - ratio * rho), math.pi / 2.0)
    eta = np.where(q > 0, np.arctan2(height, ratio * (ratio - rho)), math.pi / 2.0)
    return Triangle(rho, ratio, np.maximum(given, 1.0), q, delta, eta)


def excess(t: Triangle) -> Array:
    """1 + sigma - q, by (1 + sigma)^2 - q^2 = 2 sigma (1 + rho)."""
    return 2.0 * t.sigma * (1.0 + t.rho) / (1.0 + t.sigma + t.q)


def spread(t: Triangle) -> Array:
    """V / q^2, for sigma <= 1; it need not vanish with q.

    The difference of n(phi) and n(eta) is computed in one piece.
    """
    zero = np.zeros_like(t.rho)
    more = math.pi / 4.0 * np.square(excess(t)) + t.sigma * _lag(t.eta, t.delta)
    less = np.square(t.sigma) * _lag(zero, t.eta) + (1.0 + t.sigma) * _lag(zero, t.delta)
    return np.maximum(2.0 / math.pi**3 * (more - less), 0.0)  # rounding may leave -1e-16


def _lag(start: Array, width: Array) -> Array:
    """n(start + width) - n(start), as the integral of n'(t) = t sin t.

    By Gauss's rule, exact to the last digits up to pi.
    """
    at = start[..., None] + width[..., None] * _NODES
    return np.asarray(width * ((at * np.sin(at)) @ _WEIGHTS))


def gmm_single(rho: ArrayLike, sigma: ArrayLike = 1.0) -> Array:
    """f_1 = E[g_1], the mean of the min-max kernel of a single coordinate, whatever T.

    f_1 = (1/pi) [(delta rho + s log q) / sigma + sigma (eta rho + s log(q / sigma))], s = sqrt(1 -
    rho^2). TGMM's theorem 1(i) says that g_1 is f_1; it is random, with this mean. For sigma = 1
    the curve is above `gmm_limit` for rho < 1/2 only, and below for the others (TGMM's figure 7 has
    it above everywhere).

    Parameters
    ----------
    rho : array_like
        Correlations, -1 to 1.
    sigma : array_like, default=1.0
        The scale of y, that of x being 1.

    Returns
    -------
    float or array
        The mean, 0 to 1.

    See Also
    --------
    gmm_limit : The kernel of many coordinates.

    Examples
    --------
    >>> from kernelight.theory import gmm_single
    >>> gmm_single([-1.0, 0.0, 0.5, 1.0]).round(6)
    array([0.      , 0.220636, 0.333333, 1.      ])
    >>> gmm_single(0.5, [0.5, 1.0, 2.0]).round(6)
    array([0.288075, 0.333333, 0.288075])
    """
    t = triangle(rho, sigma)
    s = np.sqrt((1.0 - t.rho) * (1.0 + t.rho))
    apart = t.sigma * (t.sigma - 2.0 * t.rho)  # q^2 - 1, with its digits where sigma is small
    log_q = np.where(
        apart > -0.5, np.log1p(np.maximum(apart, -0.5)) / 2.0, np.log(np.where(t.q > 0, t.q, 1.0))
    )
    first = (t.delta * t.rho + s * log_q) / t.sigma
    second = t.sigma * (t.eta * t.rho + s * (log_q - np.log(t.sigma)))
    return result(np.clip((first + second) / math.pi, 0.0, 1.0))


def gmm_limit(rho: ArrayLike, sigma: ArrayLike = 1.0) -> Array:
    """f_inf = (1 + sigma - q) / (1 + sigma + q), the limit of the min-max kernel as n grows.

    Almost surely if E T is finite (t: nu > 1), in probability for nu = 1. For sigma = 1 it is (1 -
    s) / (1 + s), s = sqrt((1 - rho) / 2). TGMM's theorem 1.

    Parameters
    ----------
    rho : array_like
        Correlations, -1 to 1.
    sigma : array_like, default=1.0
        The scale of y, that of x being 1.

    Returns
    -------
    float or array
        The limit, 0 to 1.

    See Also
    --------
    kernelight.theory.rho_from_gmm : The inverse.
    gmm_variance : How fast it is reached.

    Examples
    --------
    >>> from kernelight.theory import gmm_limit
    >>> gmm_limit([-1.0, 0.0, 0.5, 1.0]).round(6)
    array([0.      , 0.171573, 0.333333, 1.      ])
    >>> gmm_limit(1.0, [0.5, 2.0])
    array([0.5, 0.5])
    """
    t = triangle(rho, sigma)
    return result(excess(t) / (1.0 + t.sigma + t.q))


def elliptical_h(rho: ArrayLike, sigma: ArrayLike = 1.0) -> Array:
    """H = (1 + sigma + q) / pi of TGMM's theorem 2: E[sum of maxima] / (n E T).

    Parameters
    ----------
    rho : array_like
        Correlations, -1 to 1.
    sigma : array_like, default=1.0
        The scale of y, that of x being 1.

    Returns
    -------
    float or array
        H.

    See Also
    --------
    elliptical_v : The other part of the variance.

    Examples
    --------
    >>> from kernelight.theory import elliptical_h
    >>> elliptical_h([-0.5, 0.0, 1.0]).round(6)
    array([1.187949, 1.086778, 0.63662 ])
    """
    t = triangle(rho, sigma)
    return result(t.larger * (1.0 + t.sigma + t.q) / math.pi)


def elliptical_v(rho: ArrayLike, sigma: ArrayLike = 1.0) -> Array:
    """V of TGMM's theorem 2: n Var(g_n) tends to V / H^4 E T^2 / E^2 T.

    The formula stands at the head of the module. TGMM's form for sigma = 1 in theorem 2 is 16 times
    too small; that in corollary 2 is right.

    Parameters
    ----------
    rho : array_like
        Correlations, -1 to 1.
    sigma : array_like, default=1.0
        The scale of y, that of x being 1.

    Returns
    -------
    float or array
        V.

    See Also
    --------
    gmm_variance : The variance that is made of both.

    Examples
    --------
    >>> from kernelight.theory import elliptical_v
    >>> elliptical_v([-0.5, 0.0, 0.5, 1.0]).round(6)
    array([0.041143, 0.085469, 0.085719, 0.      ])
    """
    t = triangle(rho, sigma)
    return result(np.square(t.larger) * (np.square(t.larger) * spread(t)) * np.square(t.q))


def t_moment(nu: ArrayLike, order: ArrayLike) -> Array:
    """E T^r of Student's t with nu degrees of freedom; infinite for nu <= r.

    It is nu^(r/2) Gamma(1 + r/2) Gamma((nu - r)/2) / Gamma(nu/2).

    nu = inf is the normal law, 2^(r/2) Gamma(1 + r/2). TGMM's theorem 2(ii) has r = 1, 2, its
    section 5 r = 4.

    Parameters
    ----------
    nu : array_like
        Degrees of freedom of Student's t; infinity is the normal distribution.
    order : array_like
        The r of the moment, at least 0.

    Returns
    -------
    float or array
        The moment.

    See Also
    --------
    gmm_variance : Where moments of order 1 and 2 come in.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight.theory import t_moment
    >>> t_moment([2.0, 3.0, 5.0, np.inf], 2).round(6)
    array([     inf, 6.      , 3.333333, 2.      ])
    >>> t_moment(5.0, 4).round(4)
    np.float64(66.6667)
    """
    nu, r = np.minimum(positive(nu, "nu"), _NORMAL), np.maximum(positive(order, "order"), 1e-300)
    exists = nu > r
    nu, r = np.where(exists, nu, 2.0), np.where(exists, r, 1.0)
    # by logarithms: powers of nu overflow where the moment does not
    with np.errstate(over="ignore"):
        value = r / 2.0 * np.exp(r / 2.0 * np.log(nu) + special.betaln((nu - r) / 2.0, r / 2.0))
    return result(np.where(exists, value, np.inf))


def gmm_variance(rho: ArrayLike, nu: ArrayLike = math.inf, sigma: ArrayLike = 1.0) -> Array:
    """n Var(g_n), as n grows, of n coordinates of Student's t (normal for nu = inf).

    It is V / H^4 E T^2 / E^2 T. Infinite for nu <= 2; `gmm_variance_two` is for nu = 2. TGMM's
    theorem 2(ii) and corollary 2. It is 0 at rho = 1 and -1 for every nu: there the kernel does not
    vary.

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
    gmm_variance_two : For nu = 2.
    gmm_limit : The mean.

    Examples
    --------
    >>> from kernelight.theory import gmm_variance
    >>> gmm_variance([0.0, 0.5, 1.0], 5).round(6)
    array([0.091905, 0.154626, 0.      ])
    >>> gmm_variance(0.5, [2.0, 3.0, 5.0]).round(6)
    array([     inf, 0.206168, 0.154626])
    """
    return result(product(_shape(rho, sigma), _heaviness(nu)))


def gmm_variance_two(rho: ArrayLike, sigma: ArrayLike = 1.0) -> Array:
    """(n / log n) Var(g_n), as n grows, for nu = 2, where T has no second moment: (4/pi^2) V / H^4.

    TGMM's theorem 2(iii). It is the variance of the normal limit, and reached as slowly as
    logarithms grow: at n = 1e3 to 1e5 a robust estimate of the variance was still 1.3 to 1.4 times
    as large.

    Parameters
    ----------
    rho : array_like
        Correlations, -1 to 1.
    sigma : array_like, default=1.0
        The scale of y, that of x being 1.

    Returns
    -------
    float or array
        The variance times n / log n.

    See Also
    --------
    gmm_variance : For nu > 2.

    Examples
    --------
    >>> from kernelight.theory import gmm_variance_two
    >>> gmm_variance_two([0.0, 0.5, 1.0]).round(6)
    array([0.024832, 0.041778, 0.      ])
    """
    return result(4.0 / math.pi**2 * _shape(rho, sigma))


def _shape(rho: ArrayLike, sigma: ArrayLike) -> Array:
    """V / H^4."""
    t = triangle(rho, sigma)
    flat = np.abs(t.rho) == 1.0  # exactly 0, where rounding would leave something
    return np.where(flat, 0.0, np.square(t.q) * spread(t) * (math.pi / (1.0 + t.sigma + t.q)) ** 4)


def _heaviness(nu: ArrayLike) -> Array:
    """E T^2 / E^2 T; 4/pi for the normal law."""
    first = np.asarray(t_moment(nu, 1))
    return np.asarray(
        np.asarray(t_moment(nu, 2)) / np.square(np.where(np.isinf(first), 1.0, first))
    )
