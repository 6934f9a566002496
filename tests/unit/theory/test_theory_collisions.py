"""Slots that agree: samples as the papers define them against the formulas, and bounds.

Bounds are for samples of which i* alone is kept.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import frozen, signed_rows

from kernelight import GCWS, theory


def expand(row):
    """Positive and negative parts side by side, interleaved."""
    row = np.asarray(row, dtype=float)
    return np.stack([np.maximum(row, 0), np.maximum(-row, 0)], axis=1).ravel()


def samples(rows, r, c, beta):
    """(i*, t*) of each expanded row: consistent weighted sampling as it is written down."""
    drawn = []
    for row in rows:
        with np.errstate(divide="ignore"):
            t = np.floor(np.log(row) / r + beta)
        a = np.where(row > 0, np.log(c) - r * (np.where(row > 0, t, 0) + 1 - beta), np.inf)
        i = a.argmin(axis=-1)
        drawn.append(
            (i, np.take_along_axis(np.atleast_2d(t), np.atleast_1d(i)[:, None], axis=1)[:, 0], a)
        )
    return drawn


def draw(rows, n, seed):
    rng = np.random.default_rng(seed)
    shape = (n, len(rows[0]))
    return samples(rows, rng.gamma(2, 1, shape), rng.gamma(2, 1, shape), rng.uniform(0, 1, shape))


def test_the_sampler_of_these_tests():
    """A sample computed by hand, to ten digits."""
    rows = [expand([-5, 3])]
    np.testing.assert_array_equal(rows[0], [0, 5, 3, 0])
    ((i, t, a),) = samples(
        rows,
        np.array([1.2, 0.7, 2.5, 1]),
        np.array([0.5, 1.5, 0.8, 2]),
        np.array([0.3, 0.6, 0.1, 0.9]),
    )
    assert (int(i), float(t[0])) == (2, 0)
    np.testing.assert_allclose(
        a, [np.inf, -1.2745348919, -2.4731435513, np.inf], rtol=0, atol=0.51e-10
    )


def kernel(u, v):
    return np.minimum(u, v).sum() / np.maximum(u, v).sum()


PAIRS = [([-5, 3], [-4, -1]), ([2, -1, 3], [1, -2, 3]), ([1], [100]), ([1, 1], [1, 3])]


@pytest.mark.parametrize(("u", "v"), PAIRS)
def test_samples_agree_as_often_as_the_kernel_says(u, v):
    """The whole sample, then mixed and cut to b bits.

    Values of a random function are as good as random bits.
    """
    n, rows = 200_000, [expand(u), expand(v)]
    (i, t, _), (j, s, _) = draw(rows, n, 1)
    K = kernel(*rows)
    equal = (i == j) & (t == s)
    sigma = np.sqrt(theory.collision_variance(K) / n)
    assert equal.mean() == pytest.approx(K, abs=5 * sigma)
    for bits in (1, 2, 4, 8):
        mixed = np.random.default_rng(bits).integers(1 << bits, size=(2, n))
        agree = (np.where(equal, mixed[0], mixed[1]) == mixed[0]).mean()
        P = theory.bbit_collision(K, bits)
        assert agree == pytest.approx(P, abs=5 * np.sqrt(theory.collision_variance(P) / n))
        estimate = theory.kernel_from_bbit(agree, bits)
        assert estimate == pytest.approx(K, abs=5 * np.sqrt(theory.bbit_variance(K, bits) / n))


def test_reference_bits():
    printed = {1: 0.72222, 2: 0.58333, 4: 0.47917, 8: 0.44661}
    for bits, P in printed.items():
        assert theory.bbit_collision(4 / 9, bits) == pytest.approx(P, abs=0.51e-5)
    assert theory.bbit_collision(0.1, 4) == 0.15625


@pytest.mark.parametrize("bits", [1, 3, 8, 16])
def test_bits_there_and_back(bits):
    K = np.linspace(0, 1, 101)
    P = theory.bbit_collision(K, bits)
    np.testing.assert_allclose(theory.kernel_from_bbit(P, bits), K, atol=1e-15)
    np.testing.assert_allclose(
        theory.bbit_variance(K, bits),
        theory.collision_variance(P) / (1 - 2.0**-bits) ** 2,
        atol=1e-15,
    )
    assert theory.bbit_variance(1.0, bits) == 0
    assert theory.bbit_variance(0.0, bits) == pytest.approx(2.0**-bits / (1 - 2.0**-bits))


@pytest.mark.parametrize("K", [0.0, 0.1, 0.6])
def test_variance_of_the_estimate_simulated(K):
    """Whole estimates of k = 50 slots, many times: unbiased, with the exact variance."""
    k, bits, runs = 50, 2, 200_000
    hits = np.random.default_rng(2).binomial(k, theory.bbit_collision(K, bits), runs)
    estimates, V = theory.kernel_from_bbit(hits / k, bits), theory.bbit_variance(K, bits) / k
    assert estimates.mean() == pytest.approx(K, abs=5 * np.sqrt(V / runs))
    squares = (estimates - K) ** 2
    assert squares.mean() == pytest.approx(V, abs=5 * squares.std() / np.sqrt(runs))
    assert (estimates < 0).any() == (K < 0.2)


# rows of two entries, u1 <= v1 and u2 >= v2: i* agrees exactly as often as the upper bound says
ATTAINED = [
    ((1, 2), (2, 1), 2 / 3),
    ((1, 3), (3, 1), 1 / 2),
    ((0.5, 0.5), (0.1, 0.9), 0.6),
    ((1, 1), (1, 3), 0.75),
    ((1, 10), (10, 1), 2 / 11),
]
# i* agrees so often, by integration (errata, R5; the first four) and by two million samples
# (the others)
BETWEEN = [
    ((1, 1), (2, 2), 0.77713),
    ((1, 1), (10, 10), 0.76461),
    ((1, 1), (1e6, 1e6), 0.77000),
    ((5, 3), (4, 1), 0.78186),
    ((-5, 3), (-4, -1), 0.5344),
    ((2, -1, 3), (1, -2, 3), 0.7617),
]


@pytest.mark.parametrize(("u", "v", "P"), ATTAINED)
def test_upper_bound_is_attained(u, v, P):
    low, high = theory.zero_bit_bounds([u], [v])
    assert high[0, 0] == pytest.approx(P, abs=1e-15)
    assert low[0, 0] == pytest.approx(kernel(np.array(u), np.array(v)), abs=1e-15)
    (i, *_), (j, *_) = draw([np.array(u, float), np.array(v, float)], 100_000, 3)
    assert np.mean(i == j) == pytest.approx(P, abs=5 * np.sqrt(P * (1 - P) / 100_000))


@pytest.mark.parametrize(("u", "v", "P"), BETWEEN)
def test_zero_bit_lies_between(u, v, P):
    low, high = (bound[0, 0] for bound in theory.zero_bit_bounds([u], [v]))
    assert low == pytest.approx(kernel(expand(u), expand(v)), abs=1e-15)
    assert low < P < high + 1e-12


def test_one_entry_always_agrees():
    """The kernel is 1/100, i* has no choice: the bounds say no more than that."""
    np.testing.assert_allclose(theory.zero_bit_bounds([[1]], [[100]]), [[[0.01]], [[1.0]]])


@pytest.mark.parametrize("V", [None, signed_rows(3, 5, 12, density=0.6)])
def test_bounds_of_matrices(V):
    """Dense, sparse, and the same as the map has them from its compiled kernels."""
    U = np.vstack([signed_rows(2, 4, 12, density=0.6), np.zeros((1, 12))])
    dense = theory.zero_bit_bounds(frozen(U), V)
    sparse = theory.zero_bit_bounds(sp.csc_array(U), None if V is None else sp.coo_array(V))
    np.testing.assert_allclose(sparse, dense, rtol=1e-15)
    np.testing.assert_array_equal(dense[1][4], 0)
    hashed = GCWS(n_components=8, bits=16, t_bits=0).fit(U).expected_bounds(U, V)
    for ours, bound in zip(dense, hashed, strict=True):
        wanted = np.where(bound > 0, (bound - 2.0**-16) / (1 - 2.0**-16), 0)
        np.testing.assert_allclose(ours, wanted, atol=1e-12)


def test_bounds_of_extreme_rows():
    rows = [[1e308, 1e308, 0], [5e-324, 0, 1e308], [0, 0, 0]]
    low, high = theory.zero_bit_bounds(rows)
    assert np.all((low >= 0) & (low <= high) & (high <= 1))
    np.testing.assert_allclose(np.diag(low), [1, 1, 0])
    # a row next to nothing, by itself and beside others
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(theory.zero_bit_bounds([[5e-324, 0]]), [[[1]], [[1]]])
        low, high = theory.zero_bit_bounds([[5e-324, 0], [1e-200, 1e-200], [1, 2]])
        np.testing.assert_allclose(low, np.diag([1, 1, 1]), atol=1e-100)
        np.testing.assert_allclose(high, [[1, 1 / 2, 1 / 3], [1 / 2, 1, 5 / 6], [1 / 3, 5 / 6, 1]])
        _, high = theory.zero_bit_bounds([[5e-324, 0], [1e308, 1e308]])
        np.testing.assert_allclose(high, [[1, 1 / 2], [1 / 2, 1]])
    for empty in (np.zeros((0, 3)), np.zeros((2, 0)), np.zeros((2, 3))):
        assert theory.zero_bit_bounds(empty)[1].shape == (len(empty), len(empty))
    wide = sp.csr_array(([1.0, 2.0], ([0, 1], [10**12, 10**12])), shape=(2, 10**13))
    np.testing.assert_allclose(theory.zero_bit_bounds(wide)[0], [[1, 0.5], [0.5, 1]])


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([1.0, 2.0], r"must be a matrix of real numbers, got 1 dimension"),
        ([[np.nan]], "must be a number, got nan at position 0, 0"),
        ([[1, 0], [0, np.inf]], "must hold finite numbers, got inf at row 1, column 1"),
        ([["a"]], "must be a real number or an array of them"),
        ([[1, 2], [3]], "must be a real number or an array of them"),
        (
            sp.csr_array([[0, 1], [0, np.nan]]),
            "must hold finite numbers, got nan at row 1, column 1",
        ),
        (sp.csr_array([[1j]]), "must be a matrix of real numbers, got 2 dimension.* complex128"),
        (np.ma.array([[1.0, 2.0]], mask=[[0, 1]]), "has masked entries: fill or drop them first"),
    ],
)
def test_rows_must_be_matrices(rows, sentence):
    for function in (theory.zero_bit_bounds, theory.sign_cauchy_collision):
        with pytest.raises(ValueError, match=f"^U {sentence}"):
            function(rows)
        with pytest.raises(ValueError, match=f"^V {sentence}"):
            function([[1.0, 2.0]], rows)


def test_bounds_refuse_rows_of_other_widths():
    with pytest.raises(ValueError, match="2 columns cannot meet rows of 3"):
        theory.zero_bit_bounds([[1, 2]], [[1, 2, 3]])
