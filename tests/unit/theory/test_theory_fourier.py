"""Variances of Fourier features against printed reference values, a quadrature and a simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from kernelight import theory

# rho, gamma, E, random phase, normalised, paired, folded kernel, its variance, RBF through min-max
# samples: computed once by Gauss-Hermite and trapezoid rules, all digits right.
REFERENCE = [
    (0, 1, 0.3678794412, 0.8738225362, 0.7729407618, 0.7476450724, 0.3678794412, 0.1869112681,
     0.3267282763),
    (0.5, 1, 0.6065306597, 0.6997882004, 0.4363253867, 0.3995764009, 0.4148304099, 0.1628101270,
     0.4138643713),
    (0.9, 1, 0.9048374180, 0.5164292699, 0.0395841142, 0.0328585399, 0.5272030186, 0.1235771810,
     0.0851239138),
    (0.5, 5, 0.0820849986, 0.9932847530, 0.9882313692, 0.9865695059, 0.0413190415, 0.2483211118,
     0.1895047593),
    (0.9, 10, 0.3678794412, 0.8738225362, 0.7729407618, 0.7476450724, 0.1839397234, 0.2184556341,
     1.4070888318),
    (-0.5, 2, 0.0497870684, 0.9975243199, 0.9956652596, 0.9950486399, 0.2088332548, 0.2178367140,
     0.0240343589),
    (0.95, 1, 0.9512294245, 0.5045279585, 0.0111044501, 0.0090559170, 0.5467517480, 0.1211227286,
     0.0323092172),
]  # fmt: skip


def test_reference_values():
    rho, gamma, E, phase, normalised, paired, folded, folded_var, through = np.array(REFERENCE).T
    exact = np.exp(-gamma * (1 - rho))
    ours = [
        exact,
        theory.rff_variance(exact),
        theory.nrff_variance(exact),
        theory.paired_variance(exact),
        theory.folded_kernel(rho, gamma),
        theory.folded_variance(theory.folded_kernel(rho, gamma), gamma),
        theory.rbf_through_gmm_variance(rho, gamma),
    ]
    printed = [E, phase, normalised, paired, folded, folded_var, through]
    np.testing.assert_allclose(ours, printed, rtol=0, atol=0.51e-10)


def moments(product, rho, gamma):
    """Mean and variance of product(a, b, w), a and b normal, w uniform.

    a and b have variance gamma and correlation rho.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    first, second, phase = np.meshgrid(nodes, nodes, np.arange(16) * np.pi / 8, indexing="ij")
    weight = np.multiply.outer(np.multiply.outer(weights, weights), np.full(16, 1 / 16)) / (
        2 * np.pi
    )
    a, b = np.sqrt(gamma) * first, np.sqrt(gamma) * (rho * first + np.sqrt(1 - rho**2) * second)
    values = product(a, b, phase)
    mean = (weight * values).sum()
    return mean, (weight * (values - mean) ** 2).sum()


@pytest.mark.parametrize("gamma", [0.01, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("rho", [-1.0, -0.7, 0.0, 0.4, 0.99, 1.0])
def test_quadrature(rho, gamma):
    E, F = np.exp(-gamma * (1 - rho)), theory.folded_kernel(rho, gamma)
    mean, variance = moments(lambda a, b, w: 2 * np.cos(a + w) * np.cos(b + w), rho, gamma)
    np.testing.assert_allclose([mean, variance], [E, theory.rff_variance(E)], atol=1e-12)
    mean, variance = moments(lambda a, b, _: np.cos(a) * np.cos(b), rho, gamma)
    np.testing.assert_allclose([mean, variance], [F, theory.folded_variance(F, gamma)], atol=1e-12)
    # k columns are k/2 pairs, so k Var is twice the variance of one
    mean, variance = moments(
        lambda a, b, _: np.cos(a) * np.cos(b) + np.sin(a) * np.sin(b), rho, gamma
    )
    np.testing.assert_allclose([mean, 2 * variance], [E, theory.paired_variance(E)], atol=1e-12)


def normalised_estimates(E, k, runs):
    """The kernel E (gamma = 1) from k cosines with phases of rows of unit length, many times."""
    rho, rng = 1 + np.log(E), np.random.default_rng(1)
    a, noise = rng.standard_normal((2, runs, k))
    phase = rng.uniform(0, 2 * np.pi, (runs, k))
    x, y = np.cos(a + phase), np.cos(rho * a + np.sqrt(1 - rho**2) * noise + phase)
    return (x * y).sum(axis=1) / np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))


@pytest.mark.parametrize("E", [0.3, 0.6, 0.9])
def test_normalised_features_simulated(E):
    """The formulas are asymptotic: at k = 60 the squared error may be a few per cent larger."""
    k, runs = 60, 30000
    estimates = normalised_estimates(E, k, runs)
    variance, bias = theory.nrff_variance(E) / k, theory.nrff_bias(E, k)
    assert abs(estimates.mean() - E - bias) < 5 * np.sqrt(variance / runs) + 0.05 * abs(bias)
    sigma = np.sqrt(2 / runs)
    assert 1 - 5 * sigma < np.mean((estimates - E) ** 2) / variance < 1.05 + 5 * sigma


def test_normalised_features_are_biased():
    estimates = normalised_estimates(0.9, 20, 100_000)
    sigma = estimates.std() / np.sqrt(len(estimates))
    assert (0.9 - estimates.mean()) / sigma > 10
    assert estimates.mean() - 0.9 == pytest.approx(theory.nrff_bias(0.9, 20), abs=5 * sigma)


def test_known_relations():
    E = np.linspace(0, 1, 101)
    printed = 1 - 7 / 4 * E**2 + E**4 / 2 + E**6 / 4
    np.testing.assert_allclose(theory.nrff_variance(E), printed, atol=1e-15)
    assert np.all(theory.paired_variance(E) <= theory.nrff_variance(E))
    assert np.abs(theory.nrff_bias(E, 1)).max() == pytest.approx(0.067, abs=5e-4)
    np.testing.assert_allclose(theory.nrff_bias(E, 7), -E * (1 - E**4) / 56, atol=1e-16)


@pytest.mark.parametrize("gamma", [0.0, 1e-300, 1e-9, 1.0, 50.0, 1e4, 1e300])
def test_edges(gamma):
    rho = np.array([-1.0, -1 + 1e-16, 0.0, 1 - 1e-16, 1.0])
    F = theory.folded_kernel(rho, gamma)
    for values in (
        F,
        theory.folded_variance(F, gamma),
        theory.folded_variance([0.0, 1.0], gamma),
        theory.rbf_through_gmm_variance(rho, gamma),
    ):
        assert np.all(np.isfinite(values))
        assert np.all(values >= 0)
    np.testing.assert_allclose(F[[0, -1]], (1 + np.exp(-2 * gamma)) / 2)


def test_small_values_keep_their_digits():
    """Near E = 1 and gamma = 0, where differences of nearly equal numbers would leave nothing."""
    assert theory.paired_variance(1 - 2.0**-30) == pytest.approx(2.0**-58, rel=1e-8)
    assert theory.folded_variance(theory.folded_kernel(1.0, 1e-9), 1e-9) == pytest.approx(
        2e-18, rel=1e-6
    )
    assert np.all(theory.folded_variance(np.linspace(0, 1, 101), 1e-9) >= 0)
    assert theory.rff_variance(np.float32(0.5)).dtype == np.float64


def test_values_beyond_their_range_by_rounding_are_brought_back():
    np.testing.assert_array_equal(theory.paired_variance([-1e-4, 1 + 1e-4]), [1.0, 0.0])
    np.testing.assert_array_equal(theory.rff_variance([-1e-4, 1 + 1e-4]), [1.0, 0.5])
    np.testing.assert_array_equal(
        theory.folded_kernel([1 + 1e-4, -1 - 1e-4], 1.0), theory.folded_kernel([1.0, -1.0], 1.0)
    )
    for function in (theory.folded_kernel, theory.folded_variance, theory.rbf_through_gmm_variance):
        assert np.isfinite(function(0.5, [1e-300, 1e100, 1e308, np.inf])).all()
        with pytest.raises(ValueError, match="gamma must not be negative, got -1"):
            function(0.5, -1.0)


# k Var of the RBF kernel from min-max samples, exactly: over the variance of the formula at k =
# 1e6, and as it is at k = 100
THROUGH_SAMPLES = [
    (0, 1, 0.999998, 0.32088059),
    (0.5, 1, 0.999998, 0.40671710),
    (0.9, 1, 1.000004, 0.08861883),
    (0.5, 5, 1.000012, 0.20971912),
    (0.9, 10, 0.999992, 1.30962409),
    (-0.5, 2, 1.000011, 0.02660737),
    (0.95, 1, 1.000007, 0.03448957),
]


@pytest.mark.parametrize(("rho", "gamma", "ratio", "hundred"), THROUGH_SAMPLES)
def test_rbf_through_gmm_is_the_limit_of_binomial_sums(rho, gamma, ratio, hundred):
    g = float(theory.gmm_limit(rho))

    def k_variance(k):
        spread = int(12 * np.sqrt(k * g * (1 - g))) + 12
        hits = np.arange(max(0, int(k * g) - spread), min(k, int(k * g) + spread) + 1)
        weights, x = stats.binom.pmf(hits, k, g), hits / k
        values = np.exp(-2 * gamma * ((1 - x) / (1 + x)) ** 2)
        return k * (weights @ (values - weights @ values) ** 2)

    assert k_variance(100) == pytest.approx(hundred, abs=0.51e-8)
    assert k_variance(10**6) / theory.rbf_through_gmm_variance(rho, gamma) == pytest.approx(
        ratio, abs=1e-6
    )


@pytest.mark.parametrize("rho", [-0.6, 0.0, 0.9])
def test_projections_simulated(rho):
    """One projection of unit rows at a time: mean rho, variance 1 + rho^2."""
    n, rng = 200_000, np.random.default_rng(4)
    x, noise = rng.standard_normal((2, n))
    products = x * (rho * x + np.sqrt(1 - rho**2) * noise)
    variance = theory.projection_variance(rho)
    assert products.mean() == pytest.approx(rho, abs=5 * np.sqrt(variance / n))
    squares = (products - rho) ** 2
    assert squares.mean() == pytest.approx(variance, abs=5 * squares.std() / np.sqrt(n))


def test_printed_mistakes_are_not_ours():
    """The missing square of relative variances, and the factor of cosines without sqrt(2)."""
    assert theory.relative_variance(0.5, "rff") == 3.125  # printed: 3.5
    rng = np.random.default_rng(6)
    a, noise = rng.standard_normal((2, 200_000))
    w = rng.uniform(0, 2 * np.pi, 200_000)
    products = np.cos(a + w) * np.cos(0.5 * a + np.sqrt(0.75) * noise + w)  # gamma = 1, rho = 0.5
    half = np.exp(-0.5) / 2
    assert products.mean() == pytest.approx(
        half, abs=5 * np.sqrt(theory.rff_variance(2 * half) / 4 / 200_000)
    )


def test_rbf_through_gmm_needs_elliptical_rows():
    """Errata 15: uniform rows tend to the kernel 1/2 and the cosine 3/4.

    Elliptical rows of that cosine have the kernel 0.4776.

    So the RBF kernel from their min-max kernel is off by a constant: E = exp(-2 gamma s^2) has s =
    1/3, not sqrt(1/8).
    """
    n, gamma = 1_000_000, 1.0
    x, y = np.random.default_rng(9).random((2, n))
    least, most = integrate.dblquad(min, 0, 1, 0, 1)[0], integrate.dblquad(max, 0, 1, 0, 1)[0]
    product, square = (
        integrate.dblquad(lambda a, b: a * b, 0, 1, 0, 1)[0],
        integrate.quad(np.square, 0, 1)[0],
    )
    g, rho = np.minimum(x, y).sum() / np.maximum(x, y).sum(), x @ y / np.sqrt((x @ x) * (y @ y))
    assert least / most == pytest.approx(0.5, abs=1e-6)
    assert product / square == pytest.approx(0.75, abs=1e-9)
    np.testing.assert_allclose([g, rho], [0.5, 0.75], atol=5 / np.sqrt(n))
    assert theory.gmm_limit(0.75) == pytest.approx(0.4776, abs=0.51e-4)
    through, exact = np.exp(-gamma * (1 - theory.rho_from_gmm(g))), np.exp(-gamma * (1 - rho))
    assert through == pytest.approx(np.exp(-2 / 9), abs=5 / np.sqrt(n))
    assert exact == pytest.approx(np.exp(-1 / 4), abs=5 / np.sqrt(n))
    # elliptical rows of that cosine do not err
    a, noise = np.random.default_rng(10).standard_normal((2, n))
    b = 0.75 * a + np.sqrt(1 - 0.75**2) * noise
    g = np.subtract(abs(a) + abs(b), abs(a - b)).sum() / np.add(abs(a) + abs(b), abs(a - b)).sum()
    assert g == pytest.approx(0.4776, abs=5 / np.sqrt(n))
    assert np.exp(-gamma * (1 - theory.rho_from_gmm(g))) == pytest.approx(
        np.exp(-1 / 4), abs=5 / np.sqrt(n)
    )
