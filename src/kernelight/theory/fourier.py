"""Variances of random Fourier features.

Rows have unit length and correlation rho; E = exp(-gamma (1 - rho)) is their RBF kernel. A
frequency gives two projections a, b, jointly normal with variance gamma and correlation rho. An
inner product of k columns is the mean of k products (k/2 for pairs), so its variance is (something
of the kernel) / k; the functions return that something. Sources: "Linearized GMM kernels and
normalized random Fourier features" (LGMM) and "A comparison of nonlinear kernels" (CNK), with
errata as noted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kernelight.theory.inputs import Array, correlations, counts, kernel_values, numbers, result

_LARGEST = 1e100  # of gamma: every kernel has long been 0 or 1, and its square does not overflow


def _gammas(gamma: ArrayLike) -> Array:
    return np.minimum(numbers(gamma, "gamma", 0.0), _LARGEST)


def rff_variance(E: ArrayLike) -> Array:
    """k Var of features sqrt(2/k) cos(a + w) with a random phase w: V = 1/2 + (1 - E^2)^2 / 2.

    Exact for every k. LGMM (13). The text before its figure 3 prints Var / E^2 without the square
    of 1 - E^2.

    Parameters
    ----------
    E : array_like
        Values of the kernel, 0 to 1.

    Returns
    -------
    float or array
        The variance of a single component: divide by the number of components.

    See Also
    --------
    nrff_variance : With rows brought to unit length.
    paired_variance : The lowest of the three.

    Examples
    --------
    >>> from kernelight.theory import rff_variance
    >>> rff_variance([0.0, 0.5, 1.0])
    array([1.     , 0.78125, 0.5    ])
    """
    return result(0.5 + 0.5 * paired_variance(E))


def nrff_variance(E: ArrayLike) -> Array:
    """k Var, as k grows, of the same features with rows of unit length.

    V_n = (1 - E^2)^2 (1 + E^2 / 4).

    LGMM (15), factorised, so that nothing cancels near E = 1. At finite k the mean squared error is
    larger: at k = 10 by 6 % for E = 0.6 and by 30 % for E = 0.95, at k = 50 by at most 5 %
    ("accurate for merely k > 10" holds for small E only).

    Parameters
    ----------
    E : array_like
        Values of the kernel, 0 to 1.

    Returns
    -------
    float or array
        The variance of a single component: divide by the number of components.

    See Also
    --------
    nrff_bias : Its mean error.
    paired_variance : Lower, and exact.

    Examples
    --------
    >>> from kernelight.theory import nrff_variance
    >>> nrff_variance([0.0, 0.5, 1.0])
    array([1.        , 0.59765625, 0.        ])
    """
    return result(paired_variance(E) * (1.0 + np.square(kernel_values(E)) / 4.0))


def nrff_bias(E: ArrayLike, n_components: ArrayLike) -> Array:
    """Mean of the normalised estimate minus E, to first order in 1/k: -E (1 - E^4) / (8 k).

    LGMM calls the estimate unbiased; this is the second order of its ratio of means. At most 0.067
    / k.

    Parameters
    ----------
    E : array_like
        Values of the kernel, 0 to 1.
    n_components : array_like
        The number of features k.

    Returns
    -------
    float or array
        The bias, at most 0.

    See Also
    --------
    nrff_variance : Its variance.

    Examples
    --------
    >>> from kernelight.theory import nrff_bias
    >>> nrff_bias(0.5, [10, 100, 1000])
    array([-5.859375e-03, -5.859375e-04, -5.859375e-05])
    """
    E, k = kernel_values(E), counts(n_components, "n_components")
    return result(-E * (1.0 - E) * (1.0 + E) * (1.0 + E * E) / 8.0 / k)


def paired_variance(E: ArrayLike) -> Array:
    """k Var of k columns sqrt(2/k) [cos a, sin a] of k/2 frequencies: (1 - E^2)^2.

    Exact for every even k. Not in the papers: pairs have unit length as they are, no bias, and less
    variance than LGMM's normalised features. The mean of k/2 values cos(a - b), each of variance (1
    - E^2)^2 / 2.

    Parameters
    ----------
    E : array_like
        Values of the kernel, 0 to 1.

    Returns
    -------
    float or array
        The variance of a single component: divide by the number of components.

    See Also
    --------
    kernelight.RandomFourier : Makes such features by default.

    Examples
    --------
    >>> from kernelight.theory import paired_variance
    >>> paired_variance([0.0, 0.5, 1.0])
    array([1.    , 0.5625, 0.    ])
    """
    E = kernel_values(E)
    return result(np.square((1.0 - E) * (1.0 + E)))


def projection_variance(rho: ArrayLike) -> Array:
    """k Var of the mean product of k Gaussian projections of unit rows: 1 + rho^2.

    It estimates rho; exact for every k. LGMM section 2, for the linear kernel: unlike the variances
    above it does not vanish where rows are equal.

    Parameters
    ----------
    rho : array_like
        Correlations, -1 to 1.

    Returns
    -------
    float or array
        The variance of a single component: divide by the number of components.

    See Also
    --------
    rff_variance : For the RBF kernel.

    Examples
    --------
    >>> from kernelight.theory import projection_variance
    >>> projection_variance([-1.0, 0.0, 0.5])
    array([2.  , 1.  , 1.25])
    """
    return result(1.0 + np.square(correlations(rho)))


def folded_kernel(rho: ArrayLike, gamma: ArrayLike) -> Array:
    """The kernel of features sqrt(1/k) cos(a) without a phase: F = exp(-gamma) cosh(gamma rho).

    CNK (12). It is even in rho, and (1 + exp(-2 gamma)) / 2, not 1, where rows are equal. Written
    as two exponentials that cannot overflow.

    Parameters
    ----------
    rho : array_like
        Correlations, -1 to 1.
    gamma : array_like
        The gamma of the kernel exp(-gamma (1 - rho)), at least 0.

    Returns
    -------
    float or array
        The kernel.

    See Also
    --------
    folded_variance : The variance of its estimate.
    kernelight.kernels.FoldedRBF : The kernel of rows.

    Examples
    --------
    >>> from kernelight.theory import folded_kernel
    >>> folded_kernel([0.0, 0.5, 1.0], 1.0).round(6)
    array([0.367879, 0.41483 , 0.567668])
    """
    rho, gamma = correlations(rho), _gammas(gamma)
    return result(0.5 * np.exp(-gamma * (1.0 - rho)) + 0.5 * np.exp(-gamma * (1.0 + rho)))


def folded_variance(F: ArrayLike, gamma: ArrayLike) -> Array:
    """k Var of features sqrt(1/k) cos(a) without a phase, from the folded kernel F alone.

    Exact for every k.

    E[cos^2 a cos^2 b] = (1 + 2 q + q^2 cosh(4 gamma rho)) / 4 with q = exp(-2 gamma), and cosh 4x
    is a polynomial of cosh x, so rho drops out: Var = (1 - q)^2 / 4 - (F^2 - q)(1 - 2 F^2), a form
    in which rounding cannot make it negative. (The papers give no variance for it.) F is brought
    into its range, exp(-gamma) to (1 + q) / 2.

    Parameters
    ----------
    F : array_like
        Values of the folded kernel.
    gamma : array_like
        The gamma of the kernel exp(-gamma (1 - rho)), at least 0.

    Returns
    -------
    float or array
        The variance of a single component: divide by the number of components.

    See Also
    --------
    folded_kernel : The folded kernel.

    Examples
    --------
    >>> from kernelight.theory import folded_kernel, folded_variance
    >>> folded_variance(folded_kernel([0.0, 0.5, 1.0], 1.0), 1.0).round(6)
    array([0.186911, 0.16281 , 0.120463])
    """
    gamma = _gammas(gamma)
    q = np.exp(-2.0 * gamma)
    ends = np.square(np.expm1(-2.0 * gamma)) / 4.0  # (1 - q)^2 / 4, also F^2 - q where rho = 1
    square = np.square(np.clip(kernel_values(F, "F"), np.exp(-gamma), (1.0 + q) / 2.0))
    return result(ends - np.clip(square - q, 0.0, ends) * (1.0 - 2.0 * square))


def rbf_through_gmm_variance(rho: ArrayLike, gamma: ArrayLike) -> Array:
    """k Var, as k grows, of the RBF kernel computed from k min-max samples.

    The samples are of elliptical rows of equal scale.

    Such rows have min-max kernel g = (1 - s) / (1 + s) with s = sqrt((1 - rho) / 2), so E = exp(-2
    gamma s^2) and V_g = g (1 - g) (dE/dg)^2 = 4 gamma^2 E^2 s^2 (1 + s)^4 g (1 - g): LGMM (21).
    Other rows have another g: for uniform ones the estimate is wrong by a constant, whatever k.

    Parameters
    ----------
    rho : array_like
        Correlations, -1 to 1.
    gamma : array_like
        The gamma of the kernel exp(-gamma (1 - rho)), at least 0.

    Returns
    -------
    float or array
        The variance of a single component: divide by the number of components.

    See Also
    --------
    rbf_through_gmm_crossover : Where Fourier features are better.

    Examples
    --------
    >>> from kernelight.theory import rbf_through_gmm_variance
    >>> rbf_through_gmm_variance([0.0, 0.5, 1.0], 1.0).round(6)
    array([0.326728, 0.413864, 0.      ])
    """
    gamma = _gammas(gamma)
    s = np.sqrt((1.0 - correlations(rho)) / 2.0)
    g = (1.0 - s) / (1.0 + s)
    # -dE/ds = 4 gamma s E; -ds/dg = (1 + s)^2 / 2
    slope = 2.0 * gamma * np.exp(-2.0 * gamma * s * s) * s * np.square(1.0 + s)
    return result(g * (1.0 - g) * np.square(slope))
