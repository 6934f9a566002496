"""What inner products of `IntegerFourier` average to, at five sigma.

For the signs of its first block the average over all others is known exactly; over those too, it is
the Gaussian kernel up to a small bias.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles import projection_twin as twin

from kernelight import IntegerFourier
from kernelight.kernels import Gaussian

BLOCKS = 2000
DISTANCES = np.array([0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0])  # in sigma
TURN = 2 * math.pi / 2**16


def differences(d):
    """Of two rows, length 1: dense, equal in the first columns, and in one column or two alone."""
    dense = np.random.default_rng(d).standard_normal(d)
    made = [dense, *(np.arange(d) < n for n in (1, 2, 4, 8, d))]
    made.append((np.arange(d) == 0) * 1.0 - (np.arange(d) == d // 2))
    return [x / np.linalg.norm(x) for x in made if x.any()]


def step_of(d, sigma):
    """g: how many steps of rounding are 1."""
    return math.ldexp(*twin.integer_factor(sigma, d))


@pytest.mark.parametrize("d", [1, 5, 64, 65, 784])
@pytest.mark.parametrize("seed", [0, 7])
def test_the_average_over_blocks_is_the_exact_one(d, seed):
    """Blocks are independent: their own spread says how far their mean may be off."""
    sigma, width = 3.0, twin.integer_width(d)
    start = np.random.default_rng(seed).standard_normal(d)
    steps = [x * r for x in differences(d) for r in sigma * DISTANCES[1:-1:2]]
    X = np.array([start, start, *(start + step for step in steps)])
    blocks = BLOCKS if width < 1024 else BLOCKS // 8
    fitted = IntegerFourier(blocks * width, sigma=sigma, random_state=seed).fit(X)
    q = fitted.integers(X).astype(np.float32).reshape(len(X), blocks, width)
    means = np.einsum("nbi,bi->nb", q[1:], q[0]).astype(np.float64) * (15 / 8 / 1024**2 / width)

    v = twin.integer_angles(X, sigma, seed)
    exact = twin.integer_kernel((v[:, 1:] - v[:, :1]) * TURN)
    spread = means.std(axis=1, ddof=1) / math.sqrt(blocks)
    assert (np.abs(means.mean(axis=1) - exact) <= 5 * spread + 2e-6).all()
    assert (spread[1:] < 0.02).all(), "the test would see nothing"

    # rounded numbers are off by a part of a step, 0.41 of it for a difference, of any direction
    unrounded = [twin.integer_kernel(twin.integer_theta(x - start, sigma, seed)) for x in X[1:]]
    step = 1 / (sigma * step_of(d, sigma))
    assert np.abs(exact - unrounded).max() < 5 * 0.61 * 0.41 * step + d * step**2 / 12
    Z = fitted.transform(X)
    np.testing.assert_allclose(Z[1:] @ Z[0], means.mean(axis=1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("d", "most"), [(1, 0.01), (5, 0.01), (64, 0.01), (128, 0.005), (784, 0.002)]
)
def test_the_bias_over_seeds_is_as_small_as_documented(d, most):
    seeds, worst = 300 if d < 784 else 100, 0.0
    for x in differences(d):
        theta = np.array([twin.integer_theta(x, 1.0, seed) for seed in range(seeds)]).T
        of_seed = twin.integer_kernel(theta[:, :, None] * DISTANCES)
        gaussian = np.exp(-(DISTANCES**2) / 2)
        spread = of_seed.std(axis=0, ddof=1) / math.sqrt(seeds)
        bias = of_seed.mean(axis=0) - gaussian
        assert (np.abs(bias) + 5 * spread <= most).all()
        assert np.abs(of_seed - gaussian).max() <= 0.03
        worst = max(worst, np.abs(bias).max())
    assert worst > most / 5, "the bound says more than is true"


@pytest.mark.parametrize(("d", "most"), [(64, 1e-4), (784, 0.001), (1024, 0.001), (4096, 0.013)])
def test_the_bias_by_rounding_is_as_small_as_documented(d, most):
    """Of the Gaussian kernel of rounded rows, the mean over rows of many different numbers."""
    rng, g, found = np.random.default_rng(d), step_of(d, 1.0), []
    for distance in DISTANCES:
        X = 0.1 * rng.standard_normal((300, d))
        Y = rng.standard_normal((300, d))
        Y = X + Y * (distance / np.linalg.norm(Y, axis=1)[:, None])
        w = np.floor(Y * g + 0.5) - np.floor(X * g + 0.5)
        off = np.exp(-(w * w).sum(axis=1) / (2 * g * g)) - math.exp(-(distance**2) / 2)
        found.append(abs(off.mean()) + 5 * off.std() / math.sqrt(len(off)))
    assert max(found) < most
    assert max(found) > most / 5, "the bound says more than is true"


def test_zeros_and_ones_have_another_sigma():
    """All ones are rounded alike: g / floor(g + 1/2) times sigma, 1.5 % in 784 columns."""
    rng, sigma = np.random.default_rng(0), math.sqrt(150)
    X = (rng.random((40, 784)) < 0.2).astype(float)
    v = twin.integer_angles(X, sigma, 0)
    theta = (v[:, :, None] - v[:, None, :]) * TURN
    g = step_of(784, sigma)
    other = sigma * g / math.floor(g + 0.5)
    assert other / sigma == pytest.approx(1 - 0.0143, abs=1e-4)
    off = [np.abs(twin.integer_kernel(theta) - Gaussian(s)(X)).max() for s in (sigma, other)]
    assert off[1] < 0.002 < 0.008 < off[0]


def test_the_gaussian_kernel_is_what_features_estimate():
    """Many seeds, each with its own first block: within the bias that `theory_gap` names."""
    X = np.random.default_rng(3).standard_normal((6, 20))
    estimates = []
    for seed in range(200):
        Z = IntegerFourier(256, sigma=4.0, random_state=seed).fit(X).transform(X).astype(float)
        estimates.append(Z @ Z.T)
    spread = np.std(estimates, axis=0, ddof=1) / math.sqrt(len(estimates))
    off = np.abs(np.mean(estimates, axis=0) - Gaussian(4.0)(X))
    assert (off <= 5 * spread + 0.01).all()


def test_features_of_other_blocks_and_seeds_are_others():
    """Rows far apart: angles go round and round, and no two features have anything in common."""
    X = np.random.default_rng(3).standard_normal((400, 64))
    q = [IntegerFourier(256, sigma=1.0, random_state=seed).fit(X).integers(X) for seed in (1, 2)]
    correlation = np.corrcoef(np.hstack(q).astype(float).T)
    np.fill_diagonal(correlation, 0.0)
    # 130,816 pairs: one of them beyond six sigma has a chance of 0.0003
    assert np.abs(correlation).max() < 6 / math.sqrt(len(X))
