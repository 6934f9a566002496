"""Formulas as functions: means and variances of estimates, and how many components they need.

Numbers in, a number out; arrays in, arrays out, by NumPy's rules of broadcasting. Variances are
those of a single component: divide by the number of components. Where a paper prints something
else, the docstring says what and why; tests compare every formula with a quadrature or a simulation
that shares nothing with it. (Kernels are in `kernelight.kernels`; what is here needs no rows, but
for `sign_cauchy_collision` and `zero_bit_bounds`.) docs/theory.md is the guide.

>>> from kernelight import theory
>>> theory.rff_variance(0.5) / theory.paired_variance(0.5)
np.float64(1.3888888888888888)
>>> theory.components_needed(0.02, method="paired", kernel=0.9)
348
"""

from kernelight.theory.bands import Bands, band_probability, band_threshold, choose_bands
from kernelight.theory.binary import (
    bits_needed,
    hamming_bounds,
    hamming_rate,
    kernel_from_hamming,
    kernel_from_hamming_variance,
    kernel_from_sign_cosine,
    kernel_from_sign_cosine_variance,
    sign_cosine_mean,
)
from kernelight.theory.collisions import (
    bbit_collision,
    bbit_variance,
    collision_variance,
    kernel_from_bbit,
    zero_bit_bounds,
)
from kernelight.theory.compare import gcws_crossover, rbf_through_gmm_crossover, relative_variance
from kernelight.theory.correlation import (
    cosine_variance,
    rho_crossover,
    rho_from_gmm,
    rho_from_gmm_variance,
    rho_variance_ratio,
)
from kernelight.theory.elliptical import (
    elliptical_h,
    elliptical_v,
    gmm_limit,
    gmm_single,
    gmm_variance,
    gmm_variance_two,
    t_moment,
)
from kernelight.theory.fourier import (
    folded_kernel,
    folded_variance,
    nrff_bias,
    nrff_variance,
    paired_variance,
    projection_variance,
    rbf_through_gmm_variance,
    rff_variance,
)
from kernelight.theory.planning import components_needed, memory_needed
from kernelight.theory.signs import sign_cauchy_acos, sign_cauchy_arctan, sign_cauchy_collision
from kernelight.theory.uniform import uniform_bound, uniform_components

__all__ = [
    "Bands",
    "band_probability",
    "band_threshold",
    "bbit_collision",
    "bbit_variance",
    "bits_needed",
    "choose_bands",
    "collision_variance",
    "components_needed",
    "cosine_variance",
    "elliptical_h",
    "elliptical_v",
    "folded_kernel",
    "folded_variance",
    "gcws_crossover",
    "gmm_limit",
    "gmm_single",
    "gmm_variance",
    "gmm_variance_two",
    "hamming_bounds",
    "hamming_rate",
    "kernel_from_bbit",
    "kernel_from_hamming",
    "kernel_from_hamming_variance",
    "kernel_from_sign_cosine",
    "kernel_from_sign_cosine_variance",
    "memory_needed",
    "nrff_bias",
    "nrff_variance",
    "paired_variance",
    "projection_variance",
    "rbf_through_gmm_crossover",
    "rbf_through_gmm_variance",
    "relative_variance",
    "rff_variance",
    "rho_crossover",
    "rho_from_gmm",
    "rho_from_gmm_variance",
    "rho_variance_ratio",
    "sign_cauchy_acos",
    "sign_cauchy_arctan",
    "sign_cauchy_collision",
    "sign_cosine_mean",
    "t_moment",
    "uniform_bound",
    "uniform_components",
    "zero_bit_bounds",
]
