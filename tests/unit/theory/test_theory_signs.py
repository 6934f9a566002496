"""Agreement of signs of Cauchy projections: reference values, quadrature, simulation.

And its distance from acos-chi2.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import frozen
from scipy import integrate

from kernelight import theory
from kernelight.kernels import AcosChi2
from kernelight.theory import signs


def collision(u, v):
    return theory.sign_cauchy_collision([u], [v])[0, 0]


def by_quadrature(u, v):
    """The integral over s = log tau, from one breakpoint to the next."""
    u, v = (np.array(row, dtype=float) / np.sum(row) for row in (u, v))
    inner = np.log(u[(u > 0) & (v > 0)] / v[(u > 0) & (v > 0)])
    ends = np.unique(np.concatenate([[-45.0, 0.0, 45.0], inner]))

    def integrand(s):
        return np.log1p(np.exp(s)) - np.log(np.abs(u - np.exp(s) * v).sum())

    pieces = [
        integrate.quad(integrand, *piece, epsabs=1e-13, epsrel=1e-12, limit=400)[0]
        for piece in itertools.pairwise(ends)
    ]
    return 0.5 + sum(pieces) / np.pi**2


def histograms(seed, n, d, *, density=1.0, sigma=1.0):
    """Log-normal numbers, with zeros, but no row of zeros."""
    rng = np.random.default_rng(seed)
    rows = rng.lognormal(0, sigma, (n, d)) * (rng.random((n, d)) < density)
    rows[np.arange(n), rng.integers(d, size=n)] += 1.0
    return frozen(rows)


@pytest.mark.parametrize(
    ("u", "v", "printed", "digits"),
    [
        ((1, 2, 3), (3, 0, 1), 0.722806875, 9),
        ((1, 1, 1, 1), (1, 2, 3, 4), 0.906892970, 9),
        ((0.2, 0.3, 0.5, 0), (0, 0.3, 0.2, 0.5), 0.706710570, 9),
        ((5, 3), (4, 1), 0.923792230, 9),
        ((0.5, 0.5), (0.1, 0.9), 0.822224, 6),
        ((0.5, 0.5, 0, 0), (0, 0.5, 0.5, 0), 2 / 3, 15),
    ],
)
def test_reference_values(u, v, printed, digits):
    assert collision(u, v) == pytest.approx(printed, abs=0.51 * 10.0**-digits)
    assert collision(v, u) == pytest.approx(printed, abs=0.51 * 10.0**-digits)


@pytest.mark.parametrize(("shared", "printed"), [(2, 0.55965), (7, 0.75771), (9, 0.88447)])
def test_sets_of_equal_size(shared, printed):
    u, v = np.zeros((2, 20))
    u[:10], v[10 - shared : 20 - shared] = 1, 1
    assert collision(u, v) == pytest.approx(printed, abs=0.51e-5)


@pytest.mark.parametrize("d", [1, 2, 3, 6, 30])
@pytest.mark.parametrize("density", [0.4, 1.0])
@pytest.mark.parametrize("sigma", [0.0, 0.5, 4.0])
def test_quadrature(d, density, sigma):
    U, V = (histograms(seed, 3, d, density=density, sigma=sigma) for seed in (d, d + 1))
    wanted = [[by_quadrature(u, v) for v in V] for u in U]
    np.testing.assert_allclose(theory.sign_cauchy_collision(U, V), wanted, rtol=0, atol=1e-9)


def test_nearly_equal_rows():
    """Breakpoints that crowd around 1, where S almost vanishes."""
    rng = np.random.default_rng(3)
    u = rng.exponential(size=40)
    for distance in (1e-2, 1e-4, 1e-6):
        v = u * (1 + distance * rng.standard_normal(40))
        assert 1 - collision(u, v) == pytest.approx(1 - by_quadrature(u, v), rel=1e-4)
    # half of each row on either side: between the breakpoints S has almost neither height nor slope
    assert 1 - collision((1, 1), (1 + 1e-5, 1 - 1e-5)) == pytest.approx(
        1 - by_quadrature((1, 1), (1 + 1e-5, 1 - 1e-5)), rel=1e-6
    )
    P = [collision(u, u * (1 + 10.0**-e * rng.standard_normal(40))) for e in range(1, 17)]
    assert np.all(np.diff(P) > -1e-14)
    assert P[-1] == pytest.approx(1, abs=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_simulation(seed):
    n, (u, v) = 400_000, histograms(seed, 2, 5, density=0.7, sigma=1.0)
    x, y = np.array([u, v]) @ np.random.default_rng(seed).standard_cauchy((5, n))
    P = collision(u, v)
    assert np.mean((x >= 0) == (y >= 0)) == pytest.approx(
        P, abs=5 * np.sqrt(P * (1 - P) / n) + 1e-12
    )


def families():
    """Typical histograms, each with a copy of which a part is drawn anew: dense, sparse, sets."""
    rng = np.random.default_rng(5)
    for sigma, density in [(0.3, 1.0), (1.0, 1.0), (1.0, 0.1), (2.0, 0.3), (0.0, 0.1), (0.0, 0.5)]:
        for changed in (0.02, 0.05, 0.1, 0.3, 1.0):
            U, other = (
                histograms(seed, 30, 60, sigma=sigma, density=density)
                for seed in rng.integers(1000, size=2)
            )
            yield U, np.where(rng.random(U.shape) < changed, other, U)


def distances(U, V):
    return theory.sign_cauchy_collision(U, V) - AcosChi2()(U, V)


def test_distance_from_acos_chi2():
    differences = np.concatenate([distances(U, V).ravel() for U, V in families()])
    assert -0.00464 < differences.min() < -0.0045
    assert 0.028 < differences.max() < 0.03162


def test_extreme_distances_from_acos_chi2():
    """Where an optimiser over two to eight columns ended, from whatever start."""
    assert distances([[0.2506, 0.7494, 0]], [[0.2506, 0, 0.7494]]) == pytest.approx(
        -0.0046317, abs=1e-7
    )
    assert distances([[0.0975, 0.9025]], [[0.0005, 0.9995]]) == pytest.approx(0.031613, abs=1e-6)


def test_equal_rows_are_exactly_one():
    X = histograms(7, 20, 33, density=0.5)
    assert np.all(np.diag(theory.sign_cauchy_collision(X, X.copy())) == 1)
    assert np.all(np.diag(theory.sign_cauchy_collision(X)) == 1)
    np.testing.assert_allclose(np.diag(theory.sign_cauchy_collision(X, 3 * X)), 1, atol=1e-13)
    # equal where the first has something, but there is more
    assert collision((1, 1, 0), (1, 0, 1)) == pytest.approx(2 / 3)
    assert collision((1, 1, 0, 0), (1, 1, 1, 1)) < 0.9


def test_symmetric(monkeypatch):
    X = histograms(8, 40, 20, density=0.3)
    P = theory.sign_cauchy_collision(X)
    np.testing.assert_array_equal(P, P.T)
    np.testing.assert_allclose(P, theory.sign_cauchy_collision(X, X.copy()), atol=1e-14)
    monkeypatch.setattr(signs, "_BLOCK", 7 * 23)  # blocks of a few rows
    np.testing.assert_array_equal(theory.sign_cauchy_collision(X), P)
    np.testing.assert_allclose(theory.sign_cauchy_collision(X[:3], X), P[:3], atol=1e-14)
    np.testing.assert_allclose(theory.sign_cauchy_collision(X, X[:3]), P[:, :3], atol=1e-14)


def test_storage_does_not_matter():
    U, V = (histograms(seed, 4, 9, density=0.5) for seed in (1, 2))
    P = theory.sign_cauchy_collision(U, V)
    wide = sp.csr_array(V)
    wide = sp.csr_array(
        (wide.data, wide.indices.astype(np.int64) * 10**11, wide.indptr), shape=(4, 10**12)
    )
    parts = sp.csr_array(U)  # every number as a sum of two, one of them negative
    parts = sp.csr_array(
        (
            np.outer(parts.data, [3, -2]).ravel(),
            np.repeat(parts.indices.astype(np.int64) * 10**11, 2),
            2 * parts.indptr,
        ),
        shape=(4, 10**12),
    )
    for first, second in [
        (sp.csr_array(U), V),
        (U, sp.csc_matrix(V)),
        (np.asfortranarray(U), V.tolist()),
        (parts, wide),
        (U / U.max() * 1.7e308, 1e-300 * V),
    ]:
        np.testing.assert_allclose(
            theory.sign_cauchy_collision(first, second), P, rtol=0, atol=1e-14
        )
    counts = np.array([[1, 0, 2], [3, 1, 1]], dtype=np.uint8)
    np.testing.assert_array_equal(
        theory.sign_cauchy_collision(counts), theory.sign_cauchy_collision(counts.astype(float))
    )


def test_edges():
    zeros_inside = [[0, 0], [1, 2], [0, 0], [2, 1]]
    P = theory.sign_cauchy_collision(zeros_inside)
    assert np.all(P[::2] == 0)
    assert np.all(P[:, ::2] == 0)
    assert P[1, 1] == P[3, 3] == 1
    assert np.all(
        theory.sign_cauchy_collision(np.zeros((2, 3)), np.ones((4, 3))) == np.zeros((2, 4))
    )
    assert collision((1, 0), (0, 1)) == pytest.approx(0.5, abs=1e-15)  # nothing in common
    assert collision((7,), (0.1,)) == 1
    # breakpoints out of the range of a double
    assert collision((1, 5e-324), (5e-324, 1)) == pytest.approx(0.5, abs=1e-12)
    assert collision((1, 1e-310), (1, 0)) == pytest.approx(1, abs=1e-12)
    for shape in [(0, 3), (2, 0), (0, 0)]:
        assert theory.sign_cauchy_collision(np.zeros(shape), np.zeros((5, shape[1]))).shape == (
            shape[0],
            5,
        )


def test_negative_rows_are_refused():
    with pytest.raises(ValueError, match=r"^U must not be negative, got -1\.0 at row 1, column 2"):
        theory.sign_cauchy_collision([[1, 0, 0], [0, 2, -1], [-3, 0, 0]])


def test_widths_must_agree():
    with pytest.raises(ValueError, match="3 columns cannot meet rows of 2"):
        theory.sign_cauchy_collision([[1, 2, 3]], [[1, 2]])


def sets(n, m, shared):
    """Indicators of a set of n, one of m and ``shared`` in both."""
    u, v = np.zeros((2, n + m - shared))
    u[:n], v[n - shared :] = 1, 1
    return u, v


def chi2(u, v):
    u, v = u / u.sum(), v / v.sum()
    return np.divide(2 * u * v, u + v, out=np.zeros_like(u), where=u + v > 0).sum()


@pytest.mark.parametrize(("n", "m", "shared"), [(10, 10, 3), (5, 9, 4), (30, 2, 1), (50, 50, 49)])
def test_sets_by_another_integral(n, m, shared):
    """Given the sum over shared elements, the others are independent: P integrates a product."""
    integral = integrate.quad(
        lambda t: (
            np.arctan(shared * np.tan(t) / (n - shared))
            * np.arctan(shared * np.tan(t) / (m - shared))
        ),
        0,
        np.pi / 2,
    )[0]
    assert collision(*sets(n, m, shared)) == pytest.approx(0.5 + 4 / np.pi**3 * integral, abs=1e-9)


def test_second_approximation_is_the_integral():
    for c2 in (0.01, 0.3, 0.6, 2 / 3, 0.7, 0.99):
        c = c2 / (2 - 2 * c2)
        integral = integrate.quad(
            lambda t, c=c: np.arctan(c * np.tan(t)), 0, np.pi / 2, epsabs=1e-12
        )[0]
        assert theory.sign_cauchy_arctan(c2) == pytest.approx(
            0.5 + 2 / np.pi**2 * integral, abs=1e-11
        )
    near = 2 / 3 + np.array([-1e-9, -1e-15, 0, 1e-15, 1e-9])  # c = 1, between the two forms
    np.testing.assert_allclose(theory.sign_cauchy_arctan(near), 0.75, atol=1e-8)
    assert np.all(np.diff(theory.sign_cauchy_arctan(np.linspace(0, 1, 1001))) > 0)


def test_first_approximation_is_the_kernel():
    printed = {
        0.606060606061: 0.707251116477,
        0.945498945499: 0.894425253661,
        0.585714285714: 0.699185928130,
        0.962623951182: 0.912698065093,
    }
    np.testing.assert_allclose(
        theory.sign_cauchy_acos(list(printed)), list(printed.values()), rtol=0, atol=1e-11
    )


def test_errors_of_both_approximations_for_sets():
    """The second is never off by more than 0.0192, the first by 0.0311.

    The figure that is often quoted belongs to the second.
    """
    first, second = [], []
    for n, m in itertools.product((2, 3, 10, 40, 200), repeat=2):
        for shared in np.unique(np.linspace(0, min(n, m) - (n == m), 40).astype(int)):
            u, v = sets(n, m, shared)
            P, c2 = collision(u, v), chi2(u, v)
            first.append(P - theory.sign_cauchy_acos(c2))
            second.append(P - theory.sign_cauchy_arctan(c2))
    assert 0.0305 < np.abs(first).max() < 0.0312
    assert 0.0185 < np.abs(second).max() < 0.01925


def test_which_approximation_is_nearer():
    """The second for similar rows, the first for others."""
    rows = np.array(
        [
            (chi2(u, v), collision(u, v))
            for U, V in families()
            for u, v in zip(U[::3], V[::3], strict=True)
        ]
    )
    c2, P = np.minimum(rows[:, 0], 1), rows[:, 1]
    first, second = (
        np.abs(P - theory.sign_cauchy_acos(c2)),
        np.abs(P - theory.sign_cauchy_arctan(c2)),
    )
    assert second.max() < 0.022
    assert second[c2 > 0.6].mean() < first[c2 > 0.6].mean() / 3
    assert first[c2 < 0.4].mean() < second[c2 < 0.4].mean() / 2
