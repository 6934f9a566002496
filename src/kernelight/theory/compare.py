"""Which method has the least variance where.

k components of each method estimate a kernel of value E with variance (its function of E) / k.
Comparing them at equal E compares kernels of equal value, an RBF kernel by Fourier features with a
min-max kernel by samples; comparing estimates of one and the same RBF kernel needs the rows to be
elliptical (`rbf_through_gmm_variance`). Source: "Linearized GMM kernels and normalized random
Fourier features" (LGMM), with errata as noted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from kernelight.theory.binary import kernel_from_hamming_variance, kernel_from_sign_cosine_variance
from kernelight.theory.collisions import collision_variance
from kernelight.theory.fourier import (
    nrff_variance,
    paired_variance,
    rbf_through_gmm_variance,
    rff_variance,
)
from kernelight.theory.inputs import Array, kernel_values, numbers, one_of, positive, result, root

VARIANCES: dict[str, Callable[[ArrayLike], Array]] = {
    "rff": rff_variance,
    "nrff": nrff_variance,
    "paired": paired_variance,
    "gcws": collision_variance,
    "binary": kernel_from_hamming_variance,
    "sign_cosine": kernel_from_sign_cosine_variance,
}
_FEATURES = ("nrff", "paired")
# Of gamma. Below, the crossover is that of the limit at 0; above, it is at 1 up to rounding.
_SMALLEST, _LARGEST = (1e-6, 1e7)


def relative_variance(E: ArrayLike, method: str) -> Array:
    """k Var / E^2 of an estimate of a kernel value E; infinite at E = 0.

    ``method`` is "rff", "nrff" or "paired" for Fourier features, "gcws" for min-max samples,
    "binary" or "sign_cosine" for the kernel from bits with or without a threshold. LGMM's figure 3,
    where the formula of RFF in the text lacks a square; and where the gain of GCWS over NRFF is
    said to be largest at large E, it is largest at small E and lost above `gcws_crossover`.

    Parameters
    ----------
    E : array_like
        Values of the kernel, 0 to 1.
    method : {"rff", "nrff", "paired", "gcws", "binary", "sign_cosine"}
        How the kernel is estimated.

    Returns
    -------
    float or array
        The variance of a single component over the square of the kernel.

    See Also
    --------
    gcws_crossover : Where two of the curves cross.

    Examples
    --------
    >>> from kernelight.theory import relative_variance
    >>> relative_variance([0.0, 0.5, 1.0], "rff")
    array([  inf, 3.125, 0.5  ])
    >>> relative_variance([0.0, 0.5, 1.0], "gcws")
    array([inf,  1.,  0.])
    """
    variance = VARIANCES[one_of(method, "method", VARIANCES)]
    E = kernel_values(E)
    if method == "gcws":  # whose variance is 0 at E = 0 as well: E divides both
        return result(_ratio(1.0 - E, E))
    return result(_ratio(np.asarray(variance(E)), np.square(E)))


def gcws_crossover(method: str = "nrff") -> float:
    """The kernel value above which Fourier features vary less than min-max samples do.

    Both estimate kernels of the same value.

    The root of V(E) = E (1 - E): 0.787 for "nrff" (LGMM's figure 3 has GCWS ahead "especially when
    E is large"), 0.755 for "paired", which is the root of E^3 + E^2 = 1. Features without
    normalisation ("rff") never vary less.

    Parameters
    ----------
    method : {"nrff", "paired"}, default="nrff"
        The Fourier features.

    Returns
    -------
    float
        The kernel value.

    See Also
    --------
    relative_variance : The curves that cross there.
    rbf_through_gmm_crossover : For one and the same kernel.

    Examples
    --------
    >>> from kernelight.theory import gcws_crossover
    >>> round(gcws_crossover("nrff"), 5), round(gcws_crossover("paired"), 5)
    (0.78658, 0.75488)
    """
    variance = VARIANCES[one_of(method, "method", _FEATURES)]
    return float(
        root(lambda E: variance(E) - collision_variance(E), np.float64(0.5), np.float64(0.95))
    )


def rbf_through_gmm_crossover(gamma: ArrayLike, method: str = "nrff") -> Array:
    """The correlation above which Fourier features beat min-max samples for the RBF kernel.

    The samples are of elliptical rows.

    The root of V(exp(-gamma (1 - rho))) = `rbf_through_gmm_variance`. LGMM's figure 4 says "except
    for the very high similarity region": true for large gamma only.

    Parameters
    ----------
    gamma : array_like
        The gamma of the kernel exp(-gamma (1 - rho)), at least 0.
    method : {"nrff", "paired"}, default="nrff"
        The Fourier features.

    Returns
    -------
    float or array
        The correlation.

    See Also
    --------
    rbf_through_gmm_variance : The variance through samples.
    gcws_crossover : For kernels of the same value.

    Examples
    --------
    >>> from kernelight.theory import rbf_through_gmm_crossover
    >>> rbf_through_gmm_crossover([0.1, 1, 10, 100]).round(3)
    array([0.565, 0.535, 0.845, 0.976])
    """
    variance = VARIANCES[one_of(method, "method", _FEATURES)]
    numbers(gamma, "gamma", 0.0, _LARGEST)
    gamma = np.maximum(positive(gamma, "gamma"), _SMALLEST)

    def lead(log_distance: Array) -> Array:
        """By how much samples lead, as a difference of logarithms; distance = 1 - rho.

        Both variances may be tiny.
        """
        distance = np.exp(log_distance)
        E = np.exp(-gamma * distance)
        features = np.log(np.maximum(variance(E), 1e-300))
        return features - np.log(
            np.maximum(rbf_through_gmm_variance(1.0 - distance, gamma), 1e-300)
        )

    # Close to rho = 1 features win: V_n is 5 gamma^2 (1 - rho)^2 there, and the samples have the
    # power 3/2. A grid brackets the last change of the lead.
    grid = np.linspace(np.log(2.0 - 1e-9), np.log(1e-9), 400)
    ahead = lead(np.broadcast_to(grid.reshape((-1,) + (1,) * gamma.ndim), (400, *gamma.shape))) > 0
    last = 399 - np.argmax(ahead[::-1], axis=0)
    return result(1.0 - np.exp(root(lead, grid[last], grid[last + 1])))


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Infinite where the denominator is 0."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    with np.errstate(over="ignore"):  # of a denominator next to 0
        return np.asarray(
            np.divide(numerator, denominator, out=np.full(shape, np.inf), where=denominator > 0)
        )
