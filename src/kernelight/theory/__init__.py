"""Formulas as functions: what estimates average to and how far they stray, arrays in and arrays out.

Where a paper prints something else, the docstring says what and why; tests compare every formula with a quadrature or a
simulation that shares nothing with it. (Kernels are in `kernelight.kernels`; what is here needs no rows, with one exception.)

>>> from kernelight import theory
>>> theory.rff_variance(0.5) / theory.paired_variance(0.5)
np.float64(1.3888888888888888)
"""

from kernelight.theory.binary import (
    hamming_rate,
    kernel_from_hamming,
    kernel_from_sign_cosine,
    sign_cosine_mean,
)
from kernelight.theory.fourier import (
    folded_kernel,
    folded_variance,
    nrff_bias,
    nrff_variance,
    paired_variance,
    rbf_through_gmm_variance,
    rff_variance,
)
from kernelight.theory.signs import sign_cauchy_collision

__all__ = [
    "folded_kernel",
    "folded_variance",
    "hamming_rate",
    "kernel_from_hamming",
    "kernel_from_sign_cosine",
    "nrff_bias",
    "nrff_variance",
    "paired_variance",
    "rbf_through_gmm_variance",
    "rff_variance",
    "sign_cauchy_collision",
    "sign_cosine_mean",
]
