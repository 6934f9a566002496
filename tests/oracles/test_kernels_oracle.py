"""Every kernel against a slow obvious twin, and against independent reference values."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kernelight.kernels import (
    GMM,
    NGMM,
    RBF,
    Acos,
    AcosChi2,
    ExpGMM,
    FoldedRBF,
    Gaussian,
    Intersection,
    Linear,
    MinMax,
    pairs,
)


@pytest.fixture(autouse=True)
def lists(monkeypatch):
    """Small examples are full; take the way of sparse data all the same."""
    monkeypatch.setattr(pairs, "_FULL", np.inf)


def split(x):
    return np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)])


def cosine(u, v):
    return u @ v / np.sqrt((u @ u) * (v @ v))


def slow_minmax(u, v):
    a, b = split(u), split(v)
    return np.minimum(a, b).sum() / np.maximum(a, b).sum()


def slow_intersection(u, v):
    return np.minimum(split(u) / np.abs(u).sum(), split(v) / np.abs(v).sum()).sum()


def slow_chi2(u, v):
    u, v = u / u.sum(), v / v.sum()
    terms = [2 * a * b / (a + b) for a, b in zip(u, v, strict=True) if a + b > 0]
    return 1 - np.arccos(np.clip(sum(terms), -1, 1)) / np.pi


CENTER = (0.5, -1.0, 0.25, 0.0, 0.1, 2.0, -0.5)
TWINS = {
    Linear(): cosine,
    RBF(gamma=3.0): lambda u, v: np.exp(-3 * (1 - cosine(u, v))),
    FoldedRBF(gamma=2.0): lambda u, v: (
        (np.exp(-2 * (1 - cosine(u, v))) + np.exp(-2 * (1 + cosine(u, v)))) / 2
    ),
    Gaussian(sigma=1.7): lambda u, v: np.exp(-((u - v) ** 2).sum() / (2 * 1.7**2)),
    Acos(): lambda u, v: 1 - np.arccos(np.clip(cosine(u, v), -1, 1)) / np.pi,
    AcosChi2(): slow_chi2,
    MinMax(): slow_minmax,
    GMM(): slow_minmax,
    GMM(p=0.3): lambda u, v: slow_minmax(
        np.sign(u) * np.abs(u) ** 0.3, np.sign(v) * np.abs(v) ** 0.3
    ),
    GMM(p=3.0): lambda u, v: slow_minmax(u**3, v**3),
    GMM(center=CENTER): lambda u, v: slow_minmax(u - CENTER, v - CENTER),
    ExpGMM(gamma=4.0, p=3.0): lambda u, v: np.exp(-4 * (1 - slow_minmax(u**3, v**3))),
    NGMM(): lambda u, v: slow_minmax(u / np.abs(u).sum(), v / np.abs(v).sum()),
    Intersection(): slow_intersection,
    MinMax() * Acos() * RBF(): lambda u, v: (
        slow_minmax(u, v) * (1 - np.arccos(cosine(u, v)) / np.pi) * np.exp(cosine(u, v) - 1)
    ),
}


def rows(rng, kernel, n, d=7):
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    X[:, 0] += 3  # no row of zeros
    return np.abs(X) if kernel.nonnegative else X


FORMS = [(kernel, np.asarray) for kernel in TWINS]
FORMS += [(kernel, sp.csr_matrix) for kernel in TWINS if not getattr(kernel, "center", None)]


@pytest.mark.parametrize(
    ("kernel", "form"), FORMS, ids=lambda part: getattr(part, "__name__", repr(part))
)
def test_kernel_equals_its_slow_twin(kernel, form):
    rng = np.random.default_rng(1)
    X, Y = rows(rng, kernel, 9), rows(rng, kernel, 5)
    slow = np.array([[TWINS[kernel](u, v) for v in Y] for u in X])
    np.testing.assert_allclose(kernel(form(X), form(Y)), slow, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(
        kernel(form(X)), [[TWINS[kernel](u, v) for v in X] for u in X], rtol=1e-7
    )
    np.testing.assert_allclose(kernel(form(X), Y), slow, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(kernel(X, form(Y)), slow, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(
    ("u", "v", "value"),
    [
        ((-5, 3), (-4, -1), 4 / 9),
        ((2, -1, 3), (1, -2, 3), 5 / 7),
        ((1, 0, -2), (0, 0, -2), 2 / 3),
        ((0.5, -0.25, 0, 2), (0.25, -0.5, 1, 2), 0.625),
        ((1,), (100,), 0.01),
        ((1, -1), (-1, 1), 0.0),
    ],
)
def test_gmm_reference_values(u, v, value):
    assert GMM()([u], [v])[0, 0] == pytest.approx(value, abs=1e-15)
    assert GMM()(sp.csr_array([u]), sp.csr_array([v]))[0, 0] == pytest.approx(value, abs=1e-15)


PAIRS = [
    ((1, 2, 3), (3, 0, 1)),
    ((1, 1, 1, 1), (1, 2, 3, 4)),
    ((0.2, 0.3, 0.5, 0), (0, 0.3, 0.2, 0.5)),
    ((5, 3), (4, 1)),
]
REFERENCE = [
    (Linear(), (0.507092552837, 0.912870929175, 0.5, 0.956673880429)),
    (Acos(), (0.669279774811, 0.866139763599, 0.666666666667, 0.905958260755)),
    (AcosChi2(), (0.707251116477, 0.894425253661, 0.699185928130, 0.912698065093)),
    (MinMax(), (0.25, 0.4, 0.333333333333, 0.625)),
    (MinMax() * Acos(), (0.167319943703, 0.346455905440, 0.222222222222, 0.566223912972)),
    (MinMax() * AcosChi2(), (0.176812779119, 0.357770101464, 0.233061976043, 0.570436290683)),
    (RBF(gamma=1), (0.610847802147, 0.916558787000, 0.606530659713, 0.957599047349)),
    (RBF(gamma=5), (0.085048190523, 0.646847086914, 0.082084998624, 0.805227367088)),
    (FoldedRBF(gamma=1), (0.416200499402, 0.532107327483, 0.414830409931, 0.549463380124)),
    (FoldedRBF(gamma=5), (0.042791002350, 0.323458636704, 0.041319041497, 0.402641874296)),
]


@pytest.mark.parametrize(("kernel", "values"), REFERENCE, ids=lambda value: repr(value)[:30])
def test_reference_values_to_the_printed_digit(kernel, values):
    for (u, v), value in zip(PAIRS, values, strict=True):
        assert kernel([u], [v])[0, 0] == pytest.approx(value, abs=5.1e-13)


def test_chi2_is_of_normalised_rows():
    # Without normalising, "rho" of this pair would be 7.8 and the arc cosine undefined.
    assert AcosChi2()([(3, 6, 9)], [(3, 2, 1)])[0, 0] == pytest.approx(
        AcosChi2()([(1, 2, 3)], [(3, 2, 1)])[0, 0]
    )


def test_folded_rbf_is_not_one_on_its_diagonal():
    assert FoldedRBF(gamma=1).diag([[1.0, 2.0]])[0] == pytest.approx(0.567668, abs=5e-7)


def logarithm_of_minmax_power(u, v, p):
    """log of pGMM with all sums of powers taken through logarithms: nothing overflows."""
    a, b = split(u), split(v)
    with np.errstate(divide="ignore"):
        low, high = p * np.log(np.minimum(a, b)), p * np.log(np.maximum(a, b))
    return np.logaddexp.reduce(low) - np.logaddexp.reduce(high)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_large_powers_of_raw_values(form, dtype):
    """p = 40 on rows of peak 1e-3 to 1e6: a scale fit for the largest would erase all others."""
    rng = np.random.default_rng(3)
    scales = 10.0 ** np.linspace(-3, 6, 30)
    X = (
        np.repeat(scales, 2)[:, None] * rng.uniform(0.9, 1, (60, 20)) * rng.choice([-1, 1], 20)
    ).astype(dtype)
    K = GMM(p=40)(form(X))
    exact = np.exp([[logarithm_of_minmax_power(*np.float64([u, v]), 40) for v in X] for u in X])
    assert (exact[np.arange(0, 60, 2), np.arange(1, 60, 2)] > 1e-3).all()  # the pairs that matter
    np.testing.assert_allclose(K, exact, atol=1e-12 if dtype == np.float64 else 2e-6)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), 1)
    np.testing.assert_allclose(GMM(p=40)(form(X), form(X[::3].copy())), K[:, ::3], atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_powers_across_a_ladder_of_scales(dtype):
    """Rows two percent apart over 12 orders of magnitude.

    Wherever bands are cut, neighbours must be compared.
    """
    steps = np.arange(-1400, 1400)
    K = GMM(p=40)((1.02 ** (steps[:, None] / 2)).astype(dtype)[::2])
    rungs = np.log(1.02) * steps[::2] / 2
    exact = np.exp(-40 * np.abs(rungs[:, None] - rungs))
    np.testing.assert_allclose(K, exact, atol=1e-11 if dtype == np.float64 else 1e-5)


finite = st.floats(-1e6, 1e6, allow_subnormal=False, width=32)


@settings(max_examples=60)
@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=finite)
)
def test_gmm_of_any_matrix(X):
    K = GMM()(X)
    slow = [[slow_minmax(u, v) if u.any() or v.any() else 0.0 for v in X] for u in X]
    np.testing.assert_allclose(K, slow, atol=1e-12)
    np.testing.assert_allclose(GMM()(sp.csr_array(X)), K, atol=1e-12)
    assert ((K >= 0) & (K <= 1)).all()


@settings(max_examples=30)
@given(st.integers(1, 40), st.integers(1, 70), st.integers(1, 600), st.integers(0, 2**32 - 1))
def test_any_shape_of_block(n, m, d, seed):
    """Shapes around the sizes of the register blocks, tiles and panels."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    distance = np.array([np.abs(Y - x).sum(axis=1) for x in X])
    both = np.abs(X).sum(axis=1)[:, None] + np.abs(Y).sum(axis=1)
    exact = (both - distance) / (both + distance)
    np.testing.assert_allclose(GMM()(X, Y), exact, atol=1e-13)
    np.testing.assert_allclose(GMM()(X.astype("f4"), Y.astype("f4")), exact, atol=3e-6)


def test_several_tiles_and_long_rows():
    rng = np.random.default_rng(5)
    X, Y = rng.random((230, 1100)), rng.random((300, 1100))
    exact = np.array([np.minimum(Y, x).sum(axis=1) / np.maximum(Y, x).sum(axis=1) for x in X])
    np.testing.assert_allclose(MinMax()(X, Y), exact, rtol=1e-12)
    np.testing.assert_allclose(MinMax()(X.astype("f4"), Y.astype("f4")), exact, rtol=2e-6)
    square = np.array([np.minimum(Y, y).sum(axis=1) / np.maximum(Y, y).sum(axis=1) for y in Y])
    np.testing.assert_allclose(MinMax()(Y), square, rtol=1e-12)


def test_float32_sums_of_long_rows_stay_accurate():
    X = np.random.default_rng(2).random((4, 200_000))
    np.testing.assert_allclose(MinMax()(X.astype("f4")), MinMax()(X), rtol=1e-6)


def test_nearly_equal_rows_keep_their_digits():
    """The arc cosine magnifies rounding near 1: float32 and a naive rho would be off by 1e-4."""
    rng = np.random.default_rng(4)
    X = rng.random((20, 50)).astype("f4")
    Y = X * (1 + 1e-4 * rng.standard_normal(X.shape)).astype("f4")
    wide = X.astype(np.float64), Y.astype(np.float64)
    for kernel in (Acos(), AcosChi2()):
        np.testing.assert_allclose(np.diag(kernel(X, Y)), np.diag(kernel(*wide)), atol=1e-6)
        assert (np.abs(1 - np.diag(kernel(X, X.copy()))) < 1e-7).all()


def test_gaussian_far_from_the_origin():
    rng = np.random.default_rng(6)
    near = rng.standard_normal((12, 3))
    exact = np.exp(-((near[:, None] - near[None]) ** 2).sum(axis=2) / 2)
    np.testing.assert_allclose(Gaussian()(near + 1e6), exact, atol=1e-8)
    np.testing.assert_allclose(Gaussian(sigma=1e160)(near * 1e160), exact, rtol=1e-9)
    np.testing.assert_allclose(Gaussian(sigma=1e-160)(near * 1e-160), exact, rtol=1e-9)
