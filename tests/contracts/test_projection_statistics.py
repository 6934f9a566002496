"""Moments and kernels of every projection, at five sigma over seeds.

Hadamard transforms see one-hot rows and rows of two elements in a way dense rows never show, and
padding hides parts of a block: so every kind of pair, at widths below, at and above powers of two.
"sorf" alone is not exactly unbiased and has an allowance; rows of Fastfood are exactly Gaussian at
any width and have none.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from helpers import directions, sampled
from scipy import stats

from kernelight import BinaryFourier, RandomFourier, SignProjection, theory
from kernelight.kernels import Acos
from kernelight.maps.projections.sobol import sobol_normals

FIVE_SIGMA = 2 * stats.norm.sf(5.0)
KINDS = ("gaussian", "orthogonal", "sorf", "fastfood", "sobol")
WIDTHS = sampled([1, 2, 3, 64, 100, 784], 1, 3, 64)
DISTANCES = (0.5, 1.0, 2.0, 3.0)
# errata 39: the kernels of rows of uniform length
UNIFORM_S = (0.959850, 0.855624, 0.598144, 0.416643)
ALLOWANCE = {"sorf": 0.01}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_width = pytest.mark.parametrize("d", WIDTHS)


def assert_mean(samples, wanted, *, allowance=0.0, what=""):
    """The mean over seeds (first axis) of ``samples`` is ``wanted`` at five sigma, their own."""
    samples = np.asarray(samples, dtype=np.float64)
    error = np.abs(samples.mean(axis=0) - wanted)
    spread = samples.std(axis=0, ddof=1) / math.sqrt(len(samples))
    excess = error - 5 * spread - allowance
    assert (excess <= 1e-6).all(), f"{what}: off by {error}, sigma {spread}"


# -- directions


@functools.cache
def lengths_and_corners(kind, d):
    """Squared lengths of all w_j of 64 outputs, and the first and last w of each seed."""
    seeds = 100 if d < 784 else 40 if kind != "sobol" else 25
    squares, ends = [], []
    for seed in range(seeds):
        w = directions(kind, d, 64, seed)
        squares.append((w * w).sum(axis=1))
        ends.append(w[[0, -1]])
    return np.array(squares), np.array(ends)


@every_kind
@every_width
def test_squared_lengths_average_to_the_width(kind, d):
    squares, _ = lengths_and_corners(kind, d)
    assert_mean(squares.mean(axis=1), d, what="E|w|^2")
    if kind in ("gaussian", "orthogonal"):  # independent rows: the spread is known
        assert abs(squares.mean() - d) < 5 * math.sqrt(2 * d / squares.size)


@pytest.mark.parametrize("kind", ["gaussian", "orthogonal", "fastfood", "sobol"])
@every_width
def test_squared_lengths_have_the_spread_of_gaussian_vectors(kind, d):
    """2d, which a common length or a uniform one misses.

    Means over a block, whose rows may depend on each other.
    """
    squares, _ = lengths_and_corners(kind, d)
    assert_mean(((squares - d) ** 2).mean(axis=1), 2 * d, what="Var|w|^2")


@pytest.mark.parametrize("d", [64, 784])
def test_squared_lengths_of_three_hd_blocks(d):
    """Those of a Gaussian vector without padding, and nearly so with padding."""
    squares, _ = lengths_and_corners("sorf", d)
    assert squares.var() == pytest.approx(2 * d, rel=0.1 if d == 64 else 0.2)


@pytest.mark.parametrize("kind", ["gaussian", "orthogonal", "fastfood", "sobol"])
@every_width
@pytest.mark.parametrize("end", [0, 1], ids=["first", "last"])
def test_single_directions_are_exactly_gaussian(kind, d, end):
    """One w of each seed: all its coordinates are independent standard normals."""
    _, ends = lengths_and_corners(kind, d)
    sample = ends[:, end].ravel()
    assert stats.kstest(sample, "norm").pvalue > FIVE_SIGMA
    assert abs((sample**4).mean() - 3) < 5 * math.sqrt(96 / len(sample))
    assert abs((sample**2).mean() - 1) < 5 * math.sqrt(2 / len(sample))


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_short_rows_of_fastfood_are_exactly_gaussian(d):
    """The hardest case: few signs, hardly a permutation.

    3000 seeds, and products of two coordinates too.
    """
    w = np.array([directions("fastfood", d, 1, seed)[0] for seed in range(3000)])
    for coordinate in w.T:
        assert stats.kstest(coordinate, "norm").pvalue > FIVE_SIGMA
    assert stats.kstest((w * w).sum(axis=1), stats.chi2(d).cdf).pvalue > FIVE_SIGMA
    if d > 1:
        assert_mean(w[:, 0] * w[:, 1], 0.0)
        assert_mean(w[:, 0] ** 2 * w[:, 1] ** 2, 1.0)


@pytest.mark.parametrize("d", [1, 3, 64])
def test_coordinates_of_three_hd_blocks_are_nearly_gaussian(d):
    """Zero mean and unit variance exactly; the fourth moment to a few per cent."""
    w = np.array([directions("sorf", d, 64, seed) for seed in range(200)])
    assert_mean(w.mean(axis=(1, 2)), 0.0)
    assert_mean((w**2).mean(axis=(1, 2)), 1.0)
    assert_mean((w**4).mean(axis=(1, 2)), 3.0, allowance=0.15)


def test_sobol_points_are_normal_one_by_one():
    points = np.array([sobol_normals(4, 64, seed) for seed in range(800)])
    for output in (0, 1, 7, 63):
        assert stats.kstest(points[:, :, output].ravel(), "norm").pvalue > FIVE_SIGMA


# -- the Gaussian kernel


def pairs_at(d, distance):
    """(name, u, v) at a distance, as far as the width allows.

    Dense, one-hot and two-sparse rows and mixtures.
    """
    e = np.eye(d)
    rng = np.random.default_rng(d)
    u, step = rng.normal(size=(2, d))
    pairs = [("dense", u, u + distance * step / np.linalg.norm(step))]
    pairs.append(("flat", 0.0 * u, np.full(d, distance / math.sqrt(d))))
    pairs.append(("one-hot and zero", distance * e[0], 0.0 * e[0]))
    if d >= 2:
        c = distance / math.sqrt(2)
        pairs.append(("one-hot", c * e[0], c * e[d - 1]))
        pairs.append(
            (
                "two-sparse, one difference",
                distance / 2 * (e[0] + e[1]),
                distance / 2 * (e[0] - e[1]),
            )
        )
    if d >= 3:
        c = distance / math.sqrt(3)
        pairs.append(("one-hot and two-sparse", c * e[0], c * (e[1] + e[d - 1])))
    if d >= 4:
        pairs.append(("two-sparse", distance / 2 * (e[0] + e[1]), distance / 2 * (e[2] - e[d - 1])))
        pairs.append(("neighbours", distance / 2 * (e[2] + e[3]), distance / 2 * (e[4] + e[5])))
    return pairs


@functools.cache
def kernel_samples(kind, d, k=256):
    """Names of the pairs, and inner products of k features: (seeds, distances, pairs)."""
    pairs = [pairs_at(d, distance) for distance in DISTANCES]
    X = np.array([row for group in pairs for _, u, v in group for row in (u, v)])
    products = []
    for seed in range(120 if d < 784 else 60 if kind != "sobol" else 25):
        options = {"projection": kind, "metric": "euclidean", "sigma": 1.0, "n_jobs": 1}
        Z = RandomFourier(k, random_state=seed, **options).fit(X).transform(X).astype(np.float64)
        products.append((Z[::2] * Z[1::2]).sum(axis=1).reshape(len(DISTANCES), -1))
    return [name for name, _, _ in pairs[0]], np.array(products)


@every_kind
@every_width
def test_kernels_at_several_distances(kind, d):
    names, samples = kernel_samples(kind, d)
    for number, name in enumerate(names):
        wanted = np.exp(-np.square(DISTANCES) / 2)
        what = f"{kind} {d} {name}"
        assert_mean(samples[:, :, number], wanted, allowance=ALLOWANCE.get(kind, 0.0), what=what)
        means = samples[:, :, number].mean(axis=0)
        assert (np.abs(means - wanted) < np.abs(means - UNIFORM_S) / 2).all(), what


@pytest.mark.parametrize("kind", KINDS[:-1])
@pytest.mark.parametrize("d", [3, 100])
@pytest.mark.parametrize("threshold", [True, False])
def test_thresholded_cosines_at_several_distances(kind, d, threshold):
    pairs = [pair for distance in DISTANCES for pair in pairs_at(d, distance)]
    X = np.array([row for _, u, v in pairs for row in (u, v)])
    K = np.repeat(np.exp(-np.square(DISTANCES) / 2), len(pairs) // len(DISTANCES))
    wanted = 1 - theory.hamming_rate(K) if threshold else (1 + theory.sign_cosine_mean(K)) / 2
    fractions = []
    for seed in range(80):
        options = {"projection": kind, "threshold": threshold, "n_jobs": 1}
        codes = BinaryFourier(256, sigma=1.0, random_state=seed, **options).fit(X).encode(X).array
        fractions.append((codes[::2] == codes[1::2]).mean(axis=1))
    assert_mean(fractions, wanted, allowance=ALLOWANCE.get(kind, 0.0), what=kind)


# -- signs


def sign_pairs(d):
    """Dense rows, two-sparse rows, one-hot and two-sparse rows; no two of them are opposite."""
    e = np.eye(d)
    rng = np.random.default_rng(d + 1)
    pairs = [(np.ones(d), np.arange(d) + 1.0)]
    if d >= 2:
        pairs.append(tuple(rng.normal(size=(2, d))))
        pairs += [(e[0] + e[1], e[0] + 0.1 * e[1]), (e[0] + e[1], e[0] - e[1])]
        pairs += [(e[0], e[0] + e[1]), (-e[0], e[0] + e[1]), (e[0], e[d - 1])]
    if d >= 3:
        pairs += [
            (e[0] + e[1], e[1] + e[2]),
            (e[0] + e[1], -e[1] - e[2]),
            (e[d - 1], 3 * e[0] - 4 * e[d - 1]),
        ]
    return np.array([row for pair in pairs for row in pair])


@pytest.mark.parametrize("kind", KINDS[:-1])
@pytest.mark.parametrize("d", [*WIDTHS, 128])
def test_signs_agree_as_often_as_angles_say(kind, d):
    X = sign_pairs(d)
    wanted = np.array(
        [Acos()(u[None], v[None])[0, 0] for u, v in zip(X[::2], X[1::2], strict=True)]
    )
    fractions = []
    for seed in range(100 if d < 784 else 50):
        codes = (
            SignProjection(256, projection=kind, random_state=seed, n_jobs=1).fit(X).encode(X).array
        )
        fractions.append((codes[::2] == codes[1::2]).mean(axis=1))
    assert_mean(fractions, wanted, allowance=ALLOWANCE.get(kind, 0.0), what=f"{kind} {d}")


@pytest.mark.parametrize("kind", KINDS[:-1])
@pytest.mark.parametrize("d", sampled([1, 3, 64, 100, 256, 1024], 1, 64, 100))
def test_signs_of_opposite_rows(kind, d):
    """They never agree, not even where a projection is exactly 0.

    Every row has as many zeros as ones.

    Sums of signs are 0 quite often: three HD blocks make a projection of a few equal elements 0
    with a chance up to about 4 / D.
    """
    e = np.eye(d)
    rows = np.array(
        [e[0], e[: min(d, 2)].sum(axis=0), e[: min(d, 4)].sum(axis=0), np.sqrt(np.arange(d) + 2.0)]
    )
    X = np.concatenate([rows, -rows])
    means = []
    for seed in range(40):
        codes = (
            SignProjection(256, projection=kind, random_state=seed, n_jobs=1).fit(X).encode(X).array
        )
        assert (codes[:4] != codes[4:]).all()
        means.append(codes.mean(axis=1))
    # slots of a block depend on each other, so the spread of seeds is the sample's own
    spread = np.std(means, axis=0) / np.sqrt(len(means))
    assert (np.abs(np.mean(means, axis=0) - 0.5) < 5 * spread + 1e-12).all()


@pytest.mark.parametrize(
    ("u", "v"), [((1, 2, 3), (3, 0, 1)), ((0.5, 0.5), (0.1, 0.9)), ((1, 0, 0), (0, 1, 2))]
)
def test_cauchy_signs_agree_as_often_as_the_integral_says(u, v):
    X = np.array([u, v], dtype=np.float64)
    codes = SignProjection(2**16, distribution="cauchy", random_state=1).fit(X).encode(X).array
    P = float(theory.sign_cauchy_collision(X)[0, 1])
    assert abs((codes[0] == codes[1]).mean() - P) < 5 * math.sqrt(P * (1 - P) / 2**16)


# -- variances

COLUMNS = 2**18
R1 = [(0.0, 1.0), (0.5, 1.0), (0.9, 1.0), (0.5, 5.0), (0.9, 10.0), (-0.5, 2.0), (0.95, 1.0)]
every_pair = pytest.mark.parametrize(("rho", "gamma"), R1)


def unit_pair(rho):
    return np.array([[1.0, 0.0, 0.0], [rho, math.sqrt(1 - rho * rho), 0.0]])


def products(rho, gamma, k, **options):
    """Products of the k columns of two rows, times k: their mean is an inner product."""
    X = unit_pair(rho)
    Z = (
        RandomFourier(k, gamma=gamma, random_state=5, **options)
        .fit(X)
        .transform(X)
        .astype(np.float64)
    )
    return Z[0] * Z[1] * k


def assert_moments(sample, mean, variance):
    """Mean and variance of independent numbers, at five sigma."""
    deviations = (sample - mean) ** 2
    assert abs(sample.mean() - mean) < 5 * math.sqrt(variance / len(sample)) + 1e-6
    assert abs(deviations.mean() - variance) < 5 * deviations.std() / math.sqrt(len(sample)) + 1e-6


@every_pair
def test_variance_of_phase_features(rho, gamma):
    E = math.exp(-gamma * (1 - rho))
    sample = products(rho, gamma, COLUMNS, features="phase", normalize=False)
    assert_moments(sample, E, float(theory.rff_variance(E)))


@every_pair
def test_variance_of_paired_features(rho, gamma):
    """k Var is twice the variance of the mean of the two columns of a pair.

    That mean is one of k / 2 independent numbers.
    """
    E = math.exp(-gamma * (1 - rho))
    sample = products(rho, gamma, COLUMNS).reshape(-1, 2).mean(axis=1)
    assert_moments(sample, E, float(theory.paired_variance(E)) / 2)


@every_pair
def test_variance_of_folded_features(rho, gamma):
    F = float(theory.folded_kernel(rho, gamma))
    sample = products(rho, gamma, COLUMNS, features="folded")
    assert_moments(sample, F, float(theory.folded_variance(F, gamma)))


def normalized_estimates(rho, gamma, k):
    """Estimates by normalized phase features of k columns: pieces of one long run.

    The columns of a run are independent.
    """
    X = unit_pair(rho)
    options = {"gamma": gamma, "features": "phase", "random_state": 5}
    Z = RandomFourier(2**20, normalize=False, **options).fit(X).transform(X).astype(np.float64)
    pieces = Z.reshape(2, -1, k)
    pieces = pieces / np.linalg.norm(pieces, axis=2, keepdims=True)
    first = RandomFourier(k, **options).fit(X).transform(X)
    # the first piece is what normalize gives
    np.testing.assert_allclose(first, pieces[:, 0], rtol=0, atol=1e-6)
    return (pieces[0] * pieces[1]).sum(axis=1)


@every_pair
def test_variance_of_normalized_features(rho, gamma):
    """The formula is that of many columns; at 128 of them it is 2 % low where rows are close."""
    E, k = math.exp(-gamma * (1 - rho)), 128
    squares = k * (normalized_estimates(rho, gamma, k) - E) ** 2
    V = float(theory.nrff_variance(E))
    assert abs(squares.mean() - V) < 5 * squares.std() / math.sqrt(len(squares)) + 0.02 * V


def test_normalized_features_are_biased():
    """Errata 4: by -E (1 - E^4) / (8k) to first order."""
    E, k = math.exp(-0.5), 16
    estimates = normalized_estimates(0.5, 1.0, k)
    spread = estimates.std() / math.sqrt(len(estimates))
    bias = float(theory.nrff_bias(E, k))
    assert estimates.mean() - E < -5 * spread
    assert abs(estimates.mean() - E - bias) < 5 * spread


def squared_errors(d, k, seeds, **options):
    """Mean squared errors of the Gaussian kernel at distances 0.5, 1 and 2, over directions."""
    rng = np.random.default_rng(d)
    steps = rng.normal(size=(3, 8, d))
    steps /= np.linalg.norm(steps, axis=2, keepdims=True)
    distances = np.array([0.5, 1.0, 2.0])
    X = np.concatenate([np.zeros((1, d)), (steps * distances[:, None, None]).reshape(-1, d)])
    options |= {"metric": "euclidean", "sigma": 1.0, "n_jobs": 1}
    errors = []
    for seed in range(seeds):
        Z = RandomFourier(k, random_state=seed, **options).fit(X).transform(X).astype(np.float64)
        estimates = (Z[1:] @ Z[0]).reshape(3, 8)
        errors.append(((estimates - np.exp(-(distances**2) / 2)[:, None]) ** 2).mean(axis=1))
    return np.mean(errors, axis=0)


def test_pairs_of_three_hd_blocks_beat_normalized_features():
    """d = 64, 128 columns each: lower errors at distances 0.5, 1 and 2, most of all at 0.5."""
    nrff = squared_errors(64, 128, 150, features="phase")
    sorf = squared_errors(64, 128, 150, projection="sorf")
    assert (sorf / nrff < [0.1, 0.2, 0.9]).all()


@pytest.mark.parametrize("kind", ["orthogonal", "sorf", "fastfood"])
def test_structure_costs_or_saves_as_known(kind):
    """MSE of one block of 64 against independent directions.

    Orthogonal ones win, those of Fastfood lose.
    """
    ratio = squared_errors(64, 128, 150, projection=kind) / squared_errors(64, 128, 150)
    if kind == "fastfood":
        assert ((ratio > 1.2) & (ratio < 2.2)).all()
    else:
        assert (ratio < [0.1, 0.2, 0.85]).all()


@pytest.mark.parametrize(("d", "factor"), [(2, 25), (4, 4)])
def test_sobol_points_beat_independent_ones_in_few_dimensions(d, factor):
    plain = squared_errors(d, 512, 60)
    sobol = squared_errors(d, 512, 60, projection="sobol")
    assert (plain > factor * sobol).all()
