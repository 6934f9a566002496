"""Collision probabilities, marginals and independence of both samplers, at five sigma of theory.

A slot of two rows is equal with probability P = K + (1 - K) / 2^b, slots are independent: k slots
of one long run are as good as k seeds. Pairs of one or two elements and scaled copies are what
breaks wrong samplers. With gamma, K is the exponentiated kernel exp(-gamma (1 - GMM)).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from helpers import sampled, signed_rows
from scipy import integrate, stats

from kernelight import _core, hashing

FIVE_SIGMA = 2 * stats.norm.sf(5.0)
SLOTS = 2**17
DART = {"sampler": "dart", "scale": 1.0}
SAMPLERS = pytest.mark.parametrize("sampler", [{}, DART], ids=["cws", "dart"])


def split(X):
    return np.concatenate([np.maximum(X, 0.0), np.maximum(-X, 0.0)], axis=-1)


def gmm(u, v, *, p=1.0, center=0.0, l1=False):
    """The kernel, once more and slowly."""
    u, v = (split(np.asarray(row, dtype=np.float64) - center) for row in (u, v))
    if l1:
        u, v = u / u.sum(), v / v.sum()
    return (np.minimum(u, v) ** p).sum() / (np.maximum(u, v) ** p).sum()


def agreements(u, v, k=SLOTS, *, bits=16, seed=0, **scheme):
    """For each slot, whether the codes of two rows are equal."""
    codes = hashing.gcws(
        np.array([u, v], dtype=np.float64), k, bits=bits, random_state=seed, **scheme
    )
    return codes.array[0] == codes.array[1]


def b_bit(K, bits):
    return K + (1.0 - K) / 2.0**bits


def sigmas(equal, P, *, uncertainty=0.0):
    """How far a fraction of equal slots is from P, in standard errors.

    ``uncertainty`` is the standard error of P itself.
    """
    spread = math.sqrt(P * (1.0 - P) / len(equal) + uncertainty**2)
    error = equal.mean() - P
    return abs(error) / spread if spread else (0.0 if error == 0 else math.inf)


def random_pair(seed):
    """One to six elements with signs and zeros, of a scale between 1e-5 and 1e6."""
    rng = np.random.default_rng(seed)
    d, scale = rng.integers(1, 7), 10.0 ** rng.uniform(-5, 6)
    u, v = rng.exponential(size=(2, d)) * np.where(rng.random((2, d)) < 0.8, 1.0, -1.0) * scale
    u[1:] *= rng.random(d - 1) < 0.8
    v[1:] *= rng.random(d - 1) < 0.8
    return u, v


INDEX = np.arange(30) + 1.0
ODD = INDEX % 2 == 1
PAIRS = {
    "{(1,10)}": ([1], [10]),
    "{(9,10)}": ([9], [10]),
    "{(3,20),(30,7)}": ([3, 30], [20, 7]),
    "{(0,2),(3,4),(6,3),(2,4)}": ([0, 3, 6, 2], [2, 4, 3, 4]),
    "30 elements": (np.where(ODD, INDEX, 4 * INDEX), np.where(ODD, 4 * INDEX, INDEX)),
    "equal sets": ([1] * 9, [1] * 9),
    "overlapping sets": ([1] * 6 + [0] * 3, [0] * 3 + [1] * 6),
    "nested sets": ([1] * 9, [1] * 2 + [0] * 7),
    "disjoint sets": ([1] * 4 + [0] * 5, [0] * 4 + [1] * 5),
    "signs": ([-5, 3], [-4, -1]),
    "opposite": ([1, -1], [-1, 1]),
    "errata": ([2, -1, 3], [1, -2, 3]),
    "tiny": ([1e-5, 3e-5], [2e-5, 1e-5]),
    "large": ([1e6, 3e6], [2e6, 1e6]),
    "wide range": ([1e6, 1e-5, 1], [1e6, 1, 1e-5]),
}
KNOWN = {
    "{(1,10)}": 0.1,
    "{(9,10)}": 0.9,
    "{(3,20),(30,7)}": 0.2,
    "{(0,2),(3,4),(6,3),(2,4)}": 0.5,
    "30 elements": 0.25,
}


@SAMPLERS
@pytest.mark.parametrize("name", PAIRS)
def test_pairs_collide_with_the_probability_of_the_kernel(name, sampler):
    u, v = PAIRS[name]
    K = gmm(u, v)
    assert pytest.approx(KNOWN.get(name, K), abs=1e-12) == K
    codes = hashing.gcws(np.array([u, v], dtype=np.float64), SLOTS, bits=16, **sampler)
    for bits in (1, 2, 4, 8, 16):
        low = codes.low_bits(bits).array
        assert sigmas(low[0] == low[1], b_bit(K, bits)) < 5, bits


@SAMPLERS
def test_a_thousand_elements(sampler):
    u, v = 1.001 ** np.arange(1001), 1.002 ** np.arange(1001)
    assert gmm(u, v) == pytest.approx(0.5383, abs=1e-4)
    scheme = sampler | ({"scale": 2.0**-11} if sampler else {})
    assert sigmas(agreements(u, v, 2**13, **scheme), b_bit(gmm(u, v), 16)) < 5


@SAMPLERS
@pytest.mark.parametrize("d", [1, 2, 5, 16, 64, 256])
def test_scaled_copies(d, sampler):
    """u against c u has the kernel 1/c, whatever u."""
    u = np.abs(signed_rows(d, 1, d)[0])
    factors = np.array([1.1, 1.5, 2.0, 4.0, 10.0, 100.0, 1e4, 1e12])
    k = min(2**16, 2**20 // d)
    codes = hashing.gcws(np.vstack([u, factors[:, None] * u]), k, bits=16, **sampler).array
    for factor, row in zip(factors, codes[1:], strict=True):
        assert sigmas(row == codes[0], b_bit(1.0 / factor, 16)) < 5, factor


@SAMPLERS
def test_random_pairs_of_all_scales_together(sampler):
    """Squared deviations of independent pairs add up to a chi-square.

    Too small a spread fails as well.
    """
    squares = []
    for seed in range(60):
        u, v = random_pair(seed)
        K = gmm(u, v)
        if 0.01 < K < 0.99:
            squares.append(sigmas(agreements(u, v, 2**13, seed=seed, **sampler), b_bit(K, 16)) ** 2)
    assert len(squares) > 30
    assert FIVE_SIGMA / 2 < stats.chi2.sf(sum(squares), len(squares)) < 1 - FIVE_SIGMA / 2


@pytest.mark.parametrize("p", [0.25, 2.0, 40.0])
def test_powers(p):
    u, v = [1.0, 1.02, -1.05, 0.97], [1.03, 0.99, -1.0, -0.2]
    assert sigmas(agreements(u, v, p=p), b_bit(gmm(u, v, p=p), 16)) < 5


@SAMPLERS
def test_l1_and_centre(sampler):
    u, v, center = [1.0, 5.0, -2.0], [30.0, 10.0, -2.0], [4.0, 4.0, 0.5]
    assert sigmas(agreements(u, v, normalize="l1", **sampler), b_bit(gmm(u, v, l1=True), 16)) < 5
    assert (
        sigmas(agreements(u, v, center=center, **sampler), b_bit(gmm(u, v, center=center), 16)) < 5
    )


# Partial t* is not the kernel. Exact values have the uncertainty 0, simulated ones their standard
# error.
ZERO_BIT = [
    ([1, 2], [2, 1], 2 / 3, 0.0),
    ([1, 3], [3, 1], 1 / 2, 0.0),
    ([0.5, 0.5], [0.1, 0.9], 0.6, 0.0),
    ([1, 1], [1, 3], 0.75, 0.0),
    ([1, 10], [10, 1], 2 / 11, 0.0),
    ([1, 1], [2, 2], 0.77713, 4e-5),
    ([1, 1], [10, 10], 0.76461, 4e-5),
    ([1, 1], [1e6, 1e6], 0.77000, 4e-5),
    ([5, 3], [4, 1], 0.78186, 4e-5),
    ([-5, 3], [-4, -1], 0.5344, 3.6e-4),
    ([2, -1, 3], [1, -2, 3], 0.7617, 3.1e-4),
]


@pytest.mark.parametrize(("u", "v", "P0", "uncertainty"), ZERO_BIT)
def test_zero_bits_of_t(u, v, P0, uncertainty):
    equal = agreements(u, v, t_bits=0)
    assert sigmas(equal, b_bit(P0, 16), uncertainty=uncertainty) < 5


def test_zero_bits_stay_between_their_bounds():
    for seed in range(12):
        u, v = random_pair(seed)
        lower = gmm(u, v)
        u, v = split(u) / np.abs(u).sum(), split(v) / np.abs(v).sum()
        upper = np.minimum(u, v).sum()
        P = agreements(*random_pair(seed), 2**14, t_bits=0, seed=seed).mean()
        slack = 5 * math.sqrt(0.25 / 2**14)
        assert b_bit(lower, 16) - slack < P < b_bit(upper, 16) + slack


def test_zero_bits_of_one_element_always_collide():
    assert agreements([1.0], [1e12], 1000, t_bits=0).all()


def collision_of_one_element(factor, t_bits):
    """P(t_u = t_v mod 2^t_bits) of the rows (1) and (factor).

    Their t differ by log(factor) / r, rounded at random to a neighbour, with r of density r
    exp(-r).
    """
    step, distance = 2**t_bits, math.log(factor)

    def part(m):
        low, high = distance / (m * step + 1), distance / (m * step - 1) if m else math.inf
        peak = [distance / (m * step)] if m else None
        return integrate.quad(
            lambda r: r * math.exp(-r) * max(0.0, 1 - abs(distance / r - m * step)),
            low,
            high,
            points=peak,
        )[0]

    last = 400
    rest = distance / (last * step)  # below this r all residues are equally likely
    return sum(map(part, range(last))) + (1 - (1 + rest) * math.exp(-rest)) / step


@pytest.mark.parametrize("t_bits", [1, 2])
@pytest.mark.parametrize("factor", [1.5, 10.0, 1e4])
def test_one_and_two_bits_of_t(factor, t_bits):
    P = collision_of_one_element(factor, t_bits)
    assert 1.0 / factor + 0.001 < P  # otherwise the full scheme would pass too
    assert sigmas(agreements([1.0], [factor], t_bits=t_bits), b_bit(P, 16)) < 5


def test_fewer_bits_of_t_only_add_collisions():
    u, v = signed_rows(3, 2, 4)
    kept = [agreements(u, v, t_bits=t_bits) for t_bits in (0, 1, 2, None)]
    for more, fewer in itertools.pairwise(kept):
        # equal with more bits but not with fewer: a false collision, as 2^-16 of the slots have
        assert (fewer & ~more).sum() < stats.poisson.isf(FIVE_SIGMA, SLOTS / 2**16)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_marginals_of_the_sampled_coordinate(p):
    """P(i* = i) is the fraction of u_i^p; the lowest 16 bits of i* are i* itself here."""
    u = np.array([3.0, -1.0, 0.0, 0.5, 10.0, -4.0, 2.0])
    codes = hashing.gcws([u], SLOTS, bits=16, t_bits=0, coding="lowest", p=p).array[0]
    counts = np.bincount(codes, minlength=14)
    # feature f: 2f, 2f + 1
    weight = np.stack([np.maximum(u, 0), np.maximum(-u, 0)], axis=1).ravel() ** p
    assert counts[weight == 0].sum() == 0
    kept = weight > 0
    assert stats.chisquare(counts[kept], SLOTS * weight[kept] / weight.sum()).pvalue > FIVE_SIGMA


@SAMPLERS
@pytest.mark.parametrize("u", [[2.0], [1.0, -3.0, 0.25]], ids=["one element", "three elements"])
def test_codes_are_uniform(u, sampler):
    codes = hashing.gcws([u], SLOTS, bits=8, **sampler).array[0]
    assert stats.chisquare(np.bincount(codes, minlength=256)).pvalue > FIVE_SIGMA
    halves = hashing.gcws([u], SLOTS, bits=16, **sampler).array[0] >> 8  # the high bits too
    assert stats.chisquare(np.bincount(halves, minlength=256)).pvalue > FIVE_SIGMA


@SAMPLERS
def test_slots_of_one_run_are_independent(sampler):
    u, v = [3.0, 30.0, 1.0], [20.0, 7.0, 1.0]
    P = b_bit(gmm(u, v), 16)
    excess = agreements(u, v, **sampler) - P
    codes = hashing.gcws([u], SLOTS, bits=8, **sampler).array[0]
    for lag in (1, 2, 3, 16, 64, 1024):
        products = excess[lag:] * excess[:-lag]
        assert abs(products.sum()) < 5 * P * (1 - P) * math.sqrt(len(products)), lag
        # a code says nothing about another slot's
        assert sigmas(codes[lag:] == codes[:-lag], 2.0**-8) < 5, lag


@SAMPLERS
def test_counts_over_seeds_are_binomial(sampler):
    u, v, k, seeds = [0.0, 3.0, 6.0, 2.0], [2.0, 4.0, 3.0, 4.0], 128, 1000
    P = b_bit(0.5, 4)
    counts = np.array(
        [agreements(u, v, k, bits=4, seed=seed, **sampler).sum() for seed in range(seeds)]
    )
    assert abs(counts.mean() - k * P) < 5 * math.sqrt(k * P * (1 - P) / seeds)
    spread = ((counts - k * P) ** 2).mean() / (k * P * (1 - P))
    excess_kurtosis = (1 - 6 * P * (1 - P)) / (k * P * (1 - P))
    assert abs(spread - 1) < 5 * math.sqrt((2 + excess_kurtosis) / seeds)


@SAMPLERS
@pytest.mark.parametrize("other", sampled([1, 2, 2**32, 2**63, 2**64 - 1], 1, 2**32))
def test_seeds_are_independent(other, sampler):
    u, v = [3.0, 30.0, 1.0], [20.0, 7.0, 1.0]
    rows = np.array([u, v])
    one, two = (
        hashing.gcws(rows, SLOTS, bits=8, random_state=seed, **sampler).array for seed in (0, other)
    )
    assert sigmas((one == two).ravel(), 2.0**-8) < 5
    P = b_bit(gmm(u, v), 8)
    products = ((one[0] == one[1]) - P) * ((two[0] == two[1]) - P)
    assert abs(products.sum()) < 5 * P * (1 - P) * math.sqrt(SLOTS)


@SAMPLERS
def test_false_collisions_differ_between_slots(sampler):
    """Rows of one feature each: with a hash shared by all slots some pair would always collide."""
    codes = hashing.gcws(np.eye(40), 4096, bits=4, **sampler)
    fractions = codes.collisions()[np.triu_indices(40, 1)] / 4096
    # the largest of 780 deviations: Bonferroni at five sigma
    limit = stats.norm.isf(FIVE_SIGMA / 780) * math.sqrt(2.0**-4 * (1 - 2.0**-4) / 4096)
    assert np.abs(fractions - 2.0**-4).max() < limit


# -- The exponentiated kernel


def poisson_counts(seed, gamma, k):
    counts = np.empty(k, dtype=np.int64)
    _core.poisson_counts(seed, gamma, counts)
    return counts


GAMMAS = (0.1, 1.0, 5.0, 20.0)


def exp_gmm(u, v, gamma, *, p=1.0):
    return math.exp(-gamma * (1.0 - gmm(u, v, p=p)))


@pytest.mark.parametrize("gamma", [1e-3, *GAMMAS, 300.0])
def test_counts_of_base_slots_are_poisson(gamma):
    """Every count that is expected ten times or more, and the rest together."""
    counts = poisson_counts(3, gamma, SLOTS)
    numbers = np.arange(counts.max() + 2)
    wanted = SLOTS * stats.poisson.pmf(numbers, gamma)
    common = wanted >= 10
    seen = np.bincount(counts, minlength=len(numbers))
    if common.sum() == 1:
        assert stats.binomtest(int(seen[0]), SLOTS, math.exp(-gamma)).pvalue > FIVE_SIGMA
        return
    seen = np.append(seen[common], SLOTS - seen[common].sum())
    wanted = np.append(wanted[common], SLOTS - wanted[common].sum())
    assert stats.chisquare(seen, wanted).pvalue > FIVE_SIGMA


@pytest.mark.parametrize("gamma", GAMMAS)
def test_counts_of_base_slots_are_independent(gamma):
    """Of one another and of another seed's; and a larger gamma only adds to them."""
    counts, other = (poisson_counts(seed, gamma, SLOTS) - gamma for seed in (0, 1))
    for products in (counts[1:] * counts[:-1], counts[64:] * counts[:-64], counts * other):
        assert abs(products.sum()) < 5 * gamma * math.sqrt(len(products))
    assert (poisson_counts(0, 2 * gamma, SLOTS) - gamma >= counts).all()


EXPONENTIATED_PAIRS = PAIRS | {
    "one element, scaled": ([3.0], [4.5]),
    "two elements, scaled": ([2.0, -7.0], [2.5, -8.75]),
    "five elements, scaled": ([1.0, 2.0, 3.0, 0.1, 5.0], [1.1, 2.2, 3.3, 0.11, 5.5]),
}


@SAMPLERS
@pytest.mark.parametrize("gamma", sampled(GAMMAS, 0.1, 5.0))
@pytest.mark.parametrize("name", EXPONENTIATED_PAIRS)
def test_pairs_collide_with_the_probability_of_the_exponentiated_kernel(name, gamma, sampler):
    u, v = EXPONENTIATED_PAIRS[name]
    k = int(2**16 / max(1.0, gamma))
    K = exp_gmm(u, v, gamma)
    codes = hashing.gcws(
        np.array([u, v], dtype=np.float64), k, bits=16, gamma=gamma, random_state=1, **sampler
    )
    for bits in (1, 4, 16):
        low = codes.low_bits(bits).array
        equal = int((low[0] == low[1]).sum())
        assert stats.binomtest(equal, k, b_bit(K, bits)).pvalue > FIVE_SIGMA, bits


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("p", [0.25, 2.0, 40.0])
def test_powers_of_the_exponentiated_kernel(p, gamma):
    u, v = [1.0, 1.02, -1.05, 0.97], [1.03, 0.99, -1.0, -0.2]
    k = int(SLOTS / max(1.0, gamma))
    assert sigmas(agreements(u, v, k, p=p, gamma=gamma), b_bit(exp_gmm(u, v, gamma, p=p), 16)) < 5


@SAMPLERS
def test_random_pairs_of_the_exponentiated_kernel_together(sampler):
    squares = []
    for seed in range(80):
        u, v = random_pair(seed)
        gamma = float(np.random.default_rng(seed).choice(GAMMAS))
        K = exp_gmm(u, v, gamma)
        if 0.02 < K < 0.98:
            equal = agreements(u, v, 2**12, seed=seed, gamma=gamma, **sampler)
            squares.append(sigmas(equal, b_bit(K, 16)) ** 2)
    assert len(squares) > 30
    assert FIVE_SIGMA / 2 < stats.chi2.sf(sum(squares), len(squares)) < 1 - FIVE_SIGMA / 2


@SAMPLERS
@pytest.mark.parametrize("gamma", [0.1, 1.0, 5.0])
def test_folded_codes_are_uniform_and_independent(gamma, sampler):
    u, v, k = [3.0, 30.0, 1.0], [20.0, 7.0, 1.0], 2**15
    codes = hashing.gcws([u, v], k, bits=8, gamma=gamma, **sampler).array
    assert stats.chisquare(np.bincount(codes[0], minlength=256)).pvalue > FIVE_SIGMA
    P = b_bit(exp_gmm(u, v, gamma), 8)
    excess = (codes[0] == codes[1]) - P
    for lag in (1, 2, 64):
        assert sigmas(codes[0, lag:] == codes[0, :-lag], 2.0**-8) < 5
        products = excess[lag:] * excess[:-lag]
        assert abs(products.sum()) < 5 * P * (1 - P) * math.sqrt(len(products))
    other = hashing.gcws([u], k, bits=8, gamma=gamma, random_state=1, **sampler).array
    assert sigmas(codes[0] == other[0], 2.0**-8) < 5


def test_zero_bits_of_t_exponentiated():
    """The collision probability P0 of the base hash takes the place of the kernel."""
    for u, v, P0, uncertainty in ZERO_BIT:
        P = math.exp(-3.0 * (1.0 - P0))
        equal = agreements(u, v, 2**15, t_bits=0, gamma=3.0)
        assert sigmas(equal, b_bit(P, 16), uncertainty=3.0 * P * uncertainty) < 5
