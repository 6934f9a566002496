"""Means of bits of Fourier features and back: reference values, series, quadrature, simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from kernelight import theory

# K, fraction of bits that differ with a threshold, mean product with it and without: series
# and quadrature
REFERENCE = np.array(
    [
        (0.01, 0.4025828358, 0.1948343284, 0.0081056947),
        (0.1, 0.3782603484, 0.2434793031, 0.0810569470),
        (0.3, 0.3237896242, 0.3524207515, 0.2431726135),
        (0.5, 0.2667670210, 0.4664659580, 0.4054606404),
        (0.7, 0.2021989176, 0.5956021649, 0.5710373549),
        (0.9, 0.1145595492, 0.7708809016, 0.7668292197),
        (0.95, 0.0806540030, 0.8386919939, 0.8373082694),
        (0.99, 0.0359474533, 0.9281050934, 0.9279845847),
    ]
)
FORTH_AND_BACK = pytest.mark.parametrize(
    ("forth", "back"),
    [
        (theory.hamming_rate, theory.kernel_from_hamming),
        (theory.sign_cosine_mean, theory.kernel_from_sign_cosine),
    ],
)


def test_reference_values():
    K, differ, product, without = REFERENCE.T
    np.testing.assert_allclose(theory.hamming_rate(K), differ, rtol=0, atol=0.51e-10)
    np.testing.assert_allclose(1 - 2 * theory.hamming_rate(K), product, rtol=0, atol=0.51e-10)
    np.testing.assert_allclose(theory.sign_cosine_mean(K), without, rtol=0, atol=0.51e-10)


def test_reference_values_backwards():
    """Ten digits of a rate are nine or ten of the kernel: the slopes are above 0.27."""
    K, differ, _, without = REFERENCE.T
    np.testing.assert_allclose(theory.kernel_from_hamming(differ), K, rtol=0, atol=2e-10)
    np.testing.assert_allclose(theory.kernel_from_sign_cosine(without), K, rtol=0, atol=2e-10)


def test_series_with_enough_terms():
    """20000 terms, where K^(m^2) vanishes long before; the points include both borders."""
    T = np.concatenate(
        [np.logspace(-6, 2.8, 300), [0.5 - 1e-9, 0.5, 0.5 + 1e-9, 1 - 1e-9, 1, 1 + 1e-9]]
    )
    K = np.exp(-T)
    m = np.arange(1, 20001.0)
    odd = m[::2]
    hamming = [0.5 - (np.exp(-m * m * t) / (4 * m * m - 1)).sum() for t in -np.log(K)]
    sign = [(np.exp(-odd * odd * t) / (odd * odd)).sum() for t in -np.log(K)]
    np.testing.assert_allclose(
        theory.hamming_rate(K), 8 / np.pi**2 * np.array(hamming), rtol=0, atol=2e-15
    )
    np.testing.assert_allclose(
        theory.sign_cosine_mean(K), 8 / np.pi**2 * np.array(sign), rtol=0, atol=2e-15
    )


@pytest.mark.parametrize("K", [1 - 1e-8, 1 - 1e-5, 0.999, 0.9])
def test_quadrature_near_one(K):
    """Over the normal difference of phases, in units of its deviation.

    The series would need thousands of terms.
    """
    deviation = np.sqrt(-2 * np.log(K))

    def mean(function):
        return integrate.quad(
            lambda z: 2 * function(z * deviation) * stats.norm.pdf(z),
            0,
            40,
            points=[1, 2, 4, 8],
            epsrel=1e-11,
        )[0]

    hamming = mean(lambda angle: 2 / np.pi * np.abs(np.sin(angle / 2)))
    loss = mean(lambda angle: 1 - 2 / np.pi * np.arcsin(np.cos(angle)))
    assert theory.hamming_rate(K) == pytest.approx(hamming, rel=1e-10)
    assert theory.sign_cosine_mean(K) == pytest.approx(1 - loss, abs=1e-12)


def test_slope_at_one():
    T = 1e-10
    assert theory.hamming_rate(np.exp(-T)) == pytest.approx(2 * np.pi**-1.5 * np.sqrt(T), rel=1e-6)


@pytest.mark.parametrize("K", [0.05, 0.4, 0.8, 0.98])
def test_simulation(K):
    """Bits of two rows at distance sqrt(-2 log K) along one axis, for 400,000 features."""
    n, rng = 400_000, np.random.default_rng(int(100 * K))
    angle = rng.uniform(0, 2 * np.pi, n)
    other = angle + rng.standard_normal(n) * np.sqrt(-2 * np.log(K))
    t = rng.uniform(-1, 1, n)
    rate = theory.hamming_rate(K)
    differ = (np.cos(angle) + t >= 0) != (np.cos(other) + t >= 0)
    assert differ.mean() == pytest.approx(rate, abs=5 * np.sqrt(rate * (1 - rate) / n))
    mean = theory.sign_cosine_mean(K)
    product = np.where((np.cos(angle) >= 0) == (np.cos(other) >= 0), 1.0, -1.0)
    assert product.mean() == pytest.approx(mean, abs=5 * np.sqrt((1 - mean**2) / n))


@FORTH_AND_BACK
def test_there_and_back(forth, back):
    K = np.concatenate([[0, 1e-300, 1e-20], np.linspace(0, 1, 5001), 1 - np.logspace(-16, -1, 200)])
    np.testing.assert_allclose(back(forth(K)), K, rtol=0, atol=1e-14)
    ends = forth(np.array([0.0, 1.0]))
    rates = np.linspace(ends.min(), ends.max(), 5001)
    np.testing.assert_allclose(forth(back(rates)), rates, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(back(ends), [0, 1])


@FORTH_AND_BACK
def test_monotone(forth, back):
    K = np.linspace(0, 1, 20001)
    steps = np.diff(forth(K))
    assert np.all(steps > 0) or np.all(steps < 0)
    ends = np.sort(forth(np.array([0.0, 1.0])))
    steps = np.diff(back(np.linspace(*ends, 20001)))
    assert np.all(steps > 0) or np.all(steps < 0)


def test_edges():
    assert theory.hamming_rate(0.0) == pytest.approx(4 / np.pi**2, abs=1e-16)
    assert theory.hamming_rate(1.0) == 0
    assert theory.sign_cosine_mean(0.0) == 0
    assert theory.sign_cosine_mean(1.0) == 1
    rounded = np.array([-1e-17, 1 + 1e-15])  # what a kernel may be after rounding
    np.testing.assert_array_equal(
        theory.hamming_rate(rounded), theory.hamming_rate(rounded.round())
    )
    np.testing.assert_array_equal(
        theory.kernel_from_hamming([-0.1, 0.0, 4 / np.pi**2, 0.41, 1]), [1, 1, 0, 0, 0]
    )
    np.testing.assert_array_equal(
        theory.kernel_from_sign_cosine([-1, -1e-9, 0, 1, 1.1]), [0, 0, 0, 1, 1]
    )


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (2, 3)])
@FORTH_AND_BACK
def test_shapes(forth, back, shape):
    for function in (forth, back):
        for dtype in (np.float32, np.float64, int):
            values = function(np.zeros(shape, dtype))
            assert values.shape == shape
            assert values.dtype == np.float64


def test_lemma_bounds():
    """Both bounds hold and touch; the printed root is a bound too, and looser."""
    K = np.linspace(0, 1, 2001)
    low, high = theory.hamming_bounds(K)
    exact, printed = theory.hamming_rate(K), np.sqrt(1 - K**2) / 2
    assert np.all(low <= exact + 1e-15)
    assert np.all(exact <= high + 1e-15)
    assert np.all(high <= np.minimum(printed, 4 / np.pi**2 * (1 - 2 * K / 3)) + 1e-15)
    np.testing.assert_allclose(
        [low[[0, -1]], high[[0, -1]]], exact[[0, -1]] * np.ones((2, 1)), atol=1e-15
    )
    assert (high - exact).max() == pytest.approx(0.045, abs=5e-4)
    assert (np.minimum(printed, high.max()) - exact).max() > (high - exact).max()


@pytest.mark.parametrize("K", [0.05, 0.5, 0.9])
def test_fractions_stay_within_the_lemma(K):
    """With the bits it asks for, fractions stay within the deviation as often as it says.

    Half as many bits would do.
    """
    n_rows, deviation, confidence, runs = 2, 0.05, 0.9, 20_000
    p = theory.bits_needed(n_rows, deviation, confidence)
    assert p == np.ceil(np.log(n_rows**2 / (1 - confidence)) / (2 * deviation**2))
    rate = theory.hamming_rate(K)
    fractions = np.random.default_rng(1).binomial(p, rate, runs) / p
    inside = np.mean(np.abs(fractions - rate) <= deviation)
    assert inside >= confidence - 5 * np.sqrt(confidence * (1 - confidence) / runs)


def test_bits_of_lemma_grow_with_the_logarithm_of_rows():
    assert theory.bits_needed(10**6, 0.1) - theory.bits_needed(10**3, 0.1) == pytest.approx(
        np.log(10**6) / 0.02, abs=1
    )
    np.testing.assert_array_equal(theory.bits_needed([2, 1000], 0.05, 0.95), [877, 3363])
    # what one given pair needs
    assert theory.components_needed(0.05, 0.95, bound="hoeffding") == 738


@pytest.mark.parametrize("K", [0.02, 0.3, 0.36, 0.38, 0.6, 0.62, 0.9, 0.999])
@pytest.mark.parametrize(
    ("rate", "estimate", "variance"),
    [
        (theory.hamming_rate, theory.kernel_from_hamming, theory.kernel_from_hamming_variance),
        (
            lambda K: (1 - theory.sign_cosine_mean(K)) / 2,
            lambda fraction: theory.kernel_from_sign_cosine(1 - 2 * np.asarray(fraction)),
            theory.kernel_from_sign_cosine_variance,
        ),
    ],
)
def test_variance_of_kernels_from_bits(rate, estimate, variance, K):
    """The delta method, from a difference quotient, on both sides of the borders."""
    r = float(rate(K))
    slope = (float(estimate(r + 1e-6)) - float(estimate(r - 1e-6))) / 2e-6
    assert variance(K) == pytest.approx(r * (1 - r) * slope**2, rel=1e-6)


@pytest.mark.parametrize("K", [0.2, 0.7])
def test_kernels_from_bits_simulated(K):
    """At k = 4000 bits; the formula is the limit, and off by a fraction of the order 1/k."""
    k, runs, rng = 4000, 40_000, np.random.default_rng(3)
    fractions = rng.binomial(k, theory.hamming_rate(K), runs) / k
    agree = rng.binomial(k, (1 + theory.sign_cosine_mean(K)) / 2, runs) / k
    for estimates, V in (
        (theory.kernel_from_hamming(fractions), theory.kernel_from_hamming_variance(K)),
        (theory.kernel_from_sign_cosine(2 * agree - 1), theory.kernel_from_sign_cosine_variance(K)),
    ):
        assert k * estimates.var() / V == pytest.approx(1, abs=5 * np.sqrt(2 / runs) + 10 / k)
        assert estimates.mean() == pytest.approx(K, abs=5 * np.sqrt(V / k / runs) + 5 / k)


def test_threshold_costs_variance():
    K = np.linspace(0, 1, 1001)
    with_it, without = (
        theory.kernel_from_hamming_variance(K),
        theory.kernel_from_sign_cosine_variance(K),
    )
    assert np.all(without[:-1] < with_it[:-1])
    assert with_it[-1] == without[-1] == 0
    assert with_it[0] > 2 * without[0]
    assert np.all(np.diff(with_it) < 0)
