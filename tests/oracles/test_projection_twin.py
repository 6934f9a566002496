"""Every bit of `SignProjection` and `BinaryFourier` equals that of the twin.

The twin is written from docs/projection-spec.md.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import SIMD_NAMES, signed_rows, storages
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import projection_twin as twin

from kernelight import BinaryFourier, RandomFourier, SignProjection, _core

PROJECTIONS = ("gaussian", "orthogonal", "sorf", "fastfood")
WORDS = st.integers(0, 2**64 - 1)
SEEDS = (0, 7, 2**64 - 1)
SHAPES = [
    (1, 1), (1, 65), (2, 2), (2, 130), (3, 63), (3, 64), (5, 1), (5, 130), (64, 64), (64, 65),
    (64, 1000), (65, 63), (65, 64), (65, 1000), (100, 2), (100, 130), (784, 1), (784, 65),
    (784, 130),
]  # fmt: skip
WIDE = [(784, 1000)]  # "orthogonal" takes the twin seconds there


def shapes_of(projection):
    return SHAPES if projection == "orthogonal" else SHAPES + WIDE


@functools.cache
def rows(d):
    """float32 numbers: dense rows, rows with zeros, a single element, all equal, a row of zeros."""
    X = np.concatenate([signed_rows(d, 3, d), signed_rows(d + 1, 3, d, density=0.3)]).astype(
        np.float32
    )
    X[3, :] = 0.0
    X[4, :] = 0.0
    X[4, d // 2] = -3.0
    X[5, :] = 1.25
    return X.astype(np.float64)


def signs(X, m, projection, seed=0, **kwargs):
    law = {"distribution": "cauchy"} if projection == "cauchy" else {"projection": projection}
    return SignProjection(m, random_state=seed, **law, **kwargs).fit(X).encode(X)


def assert_codes(actual, bits, empty=None, message=""):
    np.testing.assert_array_equal(actual.array, bits, err_msg=message)
    wanted = np.zeros(len(bits), dtype=bool) if empty is None else empty
    np.testing.assert_array_equal(actual.empty, wanted, err_msg=message)


# -- laws


@settings(max_examples=200)
@given(key=WORDS, n=st.integers(0, 2**40))
def test_normals_and_signs(key, n):
    assert _core.normal(key, n) == float(twin.normal(key, n))
    assert _core.sign(key, n) == float(twin.sign(key, n))


@settings(max_examples=200)
@given(WORDS)
def test_cauchy(word):
    assert _core.cauchy(word) == float(twin.cauchy(np.uint64(word)))


@pytest.mark.parametrize("word", [0, 2**31, 2**32 - 1, 2**63, 2**64 - 2**32, 2**64 - 1])
def test_laws_at_the_ends_of_the_words(word):
    assert _core.cauchy(word) == float(twin.cauchy(np.uint64(word)))
    assert math.isfinite(_core.cauchy(word))
    assert all(np.isfinite(twin.normal_pair(np.uint64(word))))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 64, 65, 784, 1024, 2**20])
def test_lengths(n):
    keys = twin.child(99, np.arange(300))
    assert [_core.chi(key, n) for key in keys.tolist()] == twin.chi(keys, n).tolist()


def test_some_lengths_need_a_second_trial():
    """Otherwise the loop of chi is not compared."""
    keys = twin.child(99, np.arange(300))
    m = 0.5 * 2 - 1 / 3
    first, _ = twin.normal_pair(twin.child(keys, 0))
    at_once = np.sqrt(2 * m) * np.abs(1 + first / (3 * np.sqrt(m))) ** 1.5
    again = ~np.isclose(twin.chi(keys, 2), at_once)
    assert 3 < again.sum() < 30


@settings(max_examples=300)
@given(st.floats(min_value=2.0**-1022, max_value=1.7976931348623157e308))
def test_the_square_root(x):
    assert _core.sqrt(x) == float(twin.sqrt(x))
    assert abs(_core.sqrt(x) - math.sqrt(x)) <= math.ulp(math.sqrt(x))


@settings(max_examples=300)
@given(st.floats(-(2.0**20), 2.0**20, width=32) | st.floats(-4, 4, width=32))
def test_the_circle_in_single_precision(y):
    cosine, sine = (float(part) for part in twin.circle_of(y))
    assert _core.circle_of(y) == (cosine, sine)
    turn = 2 * math.pi * math.fmod(y, 1.0)
    assert (cosine, sine) == pytest.approx((math.cos(turn), math.sin(turn)), abs=3e-6)


@pytest.mark.parametrize("y", [k / 8 for k in range(-17, 18)] + [0.125 + 2.0**-26, 2.0**19 + 0.25])
def test_the_circle_where_quarters_meet(y):
    assert _core.circle_of(y) == tuple(float(part) for part in twin.circle_of(y))


def test_the_laws_of_the_twin_are_those_they_are_called():
    """The twin could agree with the library in a mistake: moments and corners of its own."""
    key = twin.child(5, np.arange(20000))
    z, w = twin.normal_pair(key)
    for sample in (z, w, z * w):
        assert abs(sample.mean()) < 5 / math.sqrt(len(key))
    assert abs((z * z).mean() - 1) < 5 * math.sqrt(2 / len(key))
    assert abs((w**4).mean() - 3) < 5 * math.sqrt(96 / len(key))
    for n in (1, 2, 5, 100):
        assert abs((twin.chi(key, n) ** 2).mean() - n) < 5 * math.sqrt(2 * n / len(key))
    assert abs((twin.cauchy(key) > 1).mean() - 0.25) < 5 * math.sqrt(0.1875 / len(key))
    counts = np.zeros((5, 5))
    for k in key[:3000]:
        counts[np.arange(5), twin.permutation(k, 5)] += 1
    assert np.abs(counts - 600).max() < 5 * math.sqrt(3000 * 0.16)
    u = np.linspace(-3, 3, 1001)
    assert np.abs(twin.circle(u)[0] - np.cos(2 * np.pi * u)).max() < 1e-14
    assert np.abs(twin.circle(u)[1] - np.sin(2 * np.pi * u)).max() < 1e-14


# -- bits


@pytest.mark.parametrize("projection", [*PROJECTIONS, "cauchy"])
def test_signs_equal_the_twin(projection, monkeypatch):
    for number, (d, m) in enumerate(shapes_of(projection)):
        seed = SEEDS[number % len(SEEDS)]
        X = np.abs(rows(d)) if projection == "cauchy" else rows(d)
        bits, empty = twin.sign_codes(X, m, projection=projection, seed=seed)
        for simd in SIMD_NAMES:
            monkeypatch.setenv("KERNELIGHT_SIMD", simd)
            for made in (X, X.astype(np.float32), sp.csr_array(X)):
                actual = signs(made, m, projection, seed)
                assert_codes(actual, bits, empty, f"{d} {m} {simd} {type(made)}")


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_thresholded_cosines_equal_the_twin(projection, monkeypatch):
    for number, (d, m) in enumerate(shapes_of(projection)):
        seed = SEEDS[number % len(SEEDS)]
        X = rows(d)
        threshold = number % 2 == 0
        sigma = (0.125, 1.0, 30.0)[number % 3]
        options = {"threshold": threshold, "projection": projection}
        bits = twin.binary_codes(X, m, sigma, seed=seed, **options)
        for simd in SIMD_NAMES:
            monkeypatch.setenv("KERNELIGHT_SIMD", simd)
            for made in (X, X.astype(np.float32), sp.csr_array(X)):
                actual = (
                    BinaryFourier(m, sigma=sigma, random_state=seed, **options)
                    .fit(made)
                    .encode(made)
                )
                assert_codes(actual, bits, message=f"{d} {m} {simd} {type(made)}")


@pytest.mark.parametrize("threshold", [True, False])
@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("sigma", [1e-3, 1.0, 7.3, 1e4, "median"])
def test_every_bandwidth(projection, threshold, sigma):
    X = rows(5)
    options = {"threshold": threshold, "projection": projection}
    fitted = BinaryFourier(40, sigma=sigma, random_state=3, **options).fit(X)
    known = twin.median_sigma(X, 3) if sigma == "median" else sigma
    assert fitted.bandwidth_ == known
    assert_codes(fitted.encode(X), twin.binary_codes(X, 40, known, seed=3, **options))


@pytest.mark.parametrize("projection", [*PROJECTIONS, "cauchy"])
def test_every_storage(projection):
    X = rows(65)
    X = np.abs(X) if projection == "cauchy" else X
    bits, empty = twin.sign_codes(X, 66, projection=projection, seed=1)
    for name, made in storages(X).items():
        assert_codes(signs(made, 66, projection, 1), bits, empty, name)
    if projection == "cauchy":
        return
    bits = twin.binary_codes(X, 66, 2.5, projection=projection, seed=1)
    for name, made in storages(X).items():
        fitted = BinaryFourier(66, sigma=2.5, projection=projection, random_state=1).fit(made)
        assert_codes(fitted.encode(made), bits, message=name)


def extreme_rows(d, scale):
    rng = np.random.default_rng(d)
    X = rng.uniform(-1, 1, (7, d))
    X[2] *= rng.random(d) < 0.3
    X[3] = 0.0
    if scale == "mixed":
        return X * 10.0 ** rng.uniform(-300, 300, X.shape)
    return np.sign(X) * 5e-324 if scale == 5e-324 else X * scale


SCALES = [5e-324, 1e-310, 2.0**-1022, 1e-300, 1e-30, 1e30, 1e300, 1.7e308, "mixed"]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("projection", [*PROJECTIONS, "cauchy"])
def test_signs_of_every_magnitude(projection, scale):
    for d in (1, 3, 65):
        X = extreme_rows(d, scale)
        X = np.abs(X) if projection == "cauchy" else X
        bits, empty = twin.sign_codes(X, 65, projection=projection, seed=1)
        for made in (X, sp.csr_array(X)):
            assert_codes(signs(made, 65, projection, 1), bits, empty)


@pytest.mark.parametrize("scale", [2.0**-1021, 1e-300, 1e-30, 1.0, 1e30, 1e300, 1e307])
@pytest.mark.parametrize("projection", PROJECTIONS)
def test_thresholded_cosines_of_every_magnitude(projection, scale):
    for d in (1, 3, 65):
        X = extreme_rows(d, scale)
        for made in (X, sp.csr_array(X)):
            fitted = BinaryFourier(65, projection=projection, random_state=1).fit(made)
            assert fitted.bandwidth_ == twin.median_sigma(X, 1)
            wanted = twin.binary_codes(X, 65, fitted.bandwidth_, projection=projection, seed=1)
            assert_codes(fitted.encode(made), wanted)


def test_far_rows_equal_the_twin_up_to_the_reach():
    X = np.array([[65536.0, 0.0, 0.0], [0.0, -65535.7, 1.3], [4096.3, 0.0, -60000.1]])
    for projection in PROJECTIONS:
        actual = BinaryFourier(200, sigma=1.0, projection=projection).fit(X).encode(X)
        assert_codes(actual, twin.binary_codes(X, 200, 1.0, projection=projection))


numbers = st.one_of(
    st.just(0.0),
    st.floats(-1e3, 1e3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.just(-1.0),
)


@settings(max_examples=80)
@given(
    X=st.integers(1, 9).flatmap(
        lambda d: st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=1, max_size=3)
    ),
    m=st.integers(1, 20),
    seed=WORDS,
    projection=st.sampled_from(PROJECTIONS),
)
def test_signs_of_any_rows(X, m, seed, projection):
    X = np.array(X)
    assert_codes(
        signs(X, m, projection, seed), *twin.sign_codes(X, m, projection=projection, seed=seed)
    )


@settings(max_examples=80)
@given(
    X=st.integers(1, 9).flatmap(
        lambda d: st.lists(
            st.lists(st.floats(-2e4, 2e4), min_size=d, max_size=d), min_size=1, max_size=3
        )
    ),
    m=st.integers(1, 20),
    seed=WORDS,
    projection=st.sampled_from(PROJECTIONS),
    threshold=st.booleans(),
)
def test_thresholded_cosines_of_any_rows(X, m, seed, projection, threshold):
    X, options = np.array(X), {"projection": projection, "threshold": threshold}
    actual = BinaryFourier(m, sigma=1.25, random_state=seed, **options).fit(X).encode(X)
    assert_codes(actual, twin.binary_codes(X, m, 1.25, seed=seed, **options))


# -- the median


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 91, 92, 150, 1000])
def test_the_median(n, seed):
    """91 rows are the most of which all pairs are taken."""
    X = np.random.default_rng(n).normal(size=(n, 3)).round(1).astype(np.float32)
    for made in (X, X.astype(np.float64), sp.csr_array(X)):
        assert BinaryFourier(4, random_state=seed).fit(made).bandwidth_ == twin.median_sigma(
            X, seed
        )


@pytest.mark.parametrize("X", [[[8.0]], [[0.0]], [[8.0], [8.0]], [[0.0, 0.0], [0.0, -0.0]]])
def test_the_median_where_no_rows_differ_is_one(X):
    assert BinaryFourier(4).fit(np.array(X)).bandwidth_ == 1.0 == twin.median_sigma(X)


def test_the_median_leaves_equal_rows_out():
    X = np.array([[8.0], [8.0], [8.0], [8.0], [0.0]])
    assert BinaryFourier(4).fit(X).bandwidth_ == 8.0 == twin.median_sigma(X)


def test_the_median_of_subnormal_numbers():
    """1 / unit must not overflow: infinite differences would leave no pair, and sigma = 1."""
    X = np.array([[1e-310, 0.0], [3e-310, 1e-320], [5e-324, -2e-310]])
    fitted = BinaryFourier(4).fit(X)
    assert fitted.bandwidth_ == twin.median_sigma(X) == pytest.approx(2.24e-310, rel=0.01)
    with pytest.raises(ValueError, match="too small, 1 / sigma overflows"):
        fitted.encode(X)


def test_an_infinite_median_is_refused():
    with pytest.raises(ValueError, match="bandwidth_ must be a finite number"):
        BinaryFourier(4).fit(np.array([[1.7e308], [-1.7e308]]))


# -- features: the same directions, to rounding


def reference_turns(X, m, projection, seed, factor):
    """Projections in turns: in double precision for matrices, as the twin has them for blocks."""
    project = twin.Projection(projection, seed, X.shape[1], m)
    if project.w is not None:
        return X.astype(np.float64) @ project.w.astype(np.float64) * factor
    y = np.array([project(row) for row in X])
    return y.astype(np.float64) * project.lengths(factor).astype(np.float64)


@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_features_have_the_directions_of_the_twin(projection, metric):
    for (d, m), features in itertools.product(
        [(1, 4), (3, 10), (65, 70), (784, 130)], ["paired", "phase"]
    ):
        X = rows(d)[[0, 1, 2, 4, 5]]
        if metric == "cosine":
            options, factor = {"gamma": 2.5}, math.sqrt(2.5)
            entered = np.array([twin.unit(row) for row in X])
        else:
            options, factor = {"sigma": 3.0 * math.sqrt(d)}, 1.0
            entered = (X * (1 / options["sigma"])).astype(np.float32)
        turns = reference_turns(entered, m, projection, 11, factor * twin.F)
        amplitude = math.sqrt((1 if features == "paired" else 2) / m)
        if features == "paired":
            wanted = np.stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)], axis=2)
        else:
            wanted = np.cos(2 * np.pi * (turns + twin.phases(11, m)))
        options |= {
            "features": features,
            "normalize": False,
            "projection": projection,
            "metric": metric,
        }
        fourier = RandomFourier(m * (1 + (features == "paired")), random_state=11, **options)
        for made in (X, sp.csr_array(X)):
            actual = fourier.fit(made).transform(made)
            np.testing.assert_allclose(
                actual / amplitude, wanted.reshape(len(X), -1), rtol=0, atol=2e-5
            )
