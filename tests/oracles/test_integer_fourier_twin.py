"""Every number of `IntegerFourier` equals that of the twin.

The twin is written from docs/projection-spec.md, section 8.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import SIMD_NAMES, signed_rows, storages
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import projection_twin as twin

from kernelight import IntegerFourier, _core

SEEDS = (0, 7, 2**64 - 1)
SHAPES = [
    (1, 1), (1, 65), (2, 2), (2, 130), (3, 63), (3, 64), (5, 1), (64, 64), (64, 65), (64, 1000),
    (65, 63), (65, 127), (65, 1000), (100, 2), (129, 300), (257, 513), (784, 65), (784, 2500),
    (4096, 5000),
]  # fmt: skip


def rows(d):
    """float32 numbers: dense rows, rows with zeros, a single element, all equal, a row of zeros."""
    X = np.concatenate([signed_rows(d, 14, d), signed_rows(d + 1, 6, d, density=0.3)])
    X[3], X[4], X[5] = 0.0, 0.0, 1.25
    X[4, d // 2] = -3.0
    return X.astype(np.float32).astype(np.float64)


def integers(X, m, sigma, seed=0, **options):
    return IntegerFourier(m, sigma=sigma, random_state=seed, **options).fit(X).integers(X)


def test_integers_equal_the_twin(monkeypatch):
    for number, (d, m) in enumerate(SHAPES):
        seed, sigma = SEEDS[number % 3], (0.125, 1.0, 30.0)[number // 3 % 3]
        X = rows(d)
        wanted = twin.integers(X, m, sigma, seed)
        for simd in SIMD_NAMES:
            monkeypatch.setenv("KERNELIGHT_SIMD", simd)
            for made in (X, X.astype(np.float32), sp.csr_array(X)):
                actual = integers(made, m, sigma, seed)
                assert actual.dtype == np.int16
                np.testing.assert_array_equal(actual, wanted, err_msg=f"{d} {m} {simd}")


@pytest.mark.parametrize("simd", SIMD_NAMES)
def test_features_equal_the_twin(simd, monkeypatch):
    """To the bit: a product and a rounding each."""
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    for d, m in [(1, 1), (5, 70), (65, 257), (784, 1030)]:
        X = rows(d)
        made = IntegerFourier(m, sigma=2.5, random_state=3).fit(X)
        wanted = twin.integer_features(twin.integers(X, m, 2.5, 3))
        np.testing.assert_array_equal(made.transform(X), wanted)
        np.testing.assert_array_equal(made.transform(sp.csr_array(X)), wanted)


@pytest.mark.parametrize("sigma", [1e-3, 1.0, 7.3, 1e4, "median"])
def test_every_bandwidth(sigma):
    X = rows(5)
    fitted = IntegerFourier(40, sigma=sigma, random_state=3).fit(X)
    known = twin.median_sigma(X, 3) if sigma == "median" else sigma
    assert fitted.bandwidth_ == known
    np.testing.assert_array_equal(fitted.integers(X), twin.integers(X, 40, known, 3))


@pytest.mark.parametrize("n_jobs", [1, 2, 7])
def test_every_storage_and_number_of_threads(n_jobs):
    X = rows(65)
    wanted = twin.integers(X, 66, 2.5, 1)
    for name, made in storages(X).items():
        actual = integers(made, 66, 2.5, 1, n_jobs=n_jobs)
        np.testing.assert_array_equal(actual, wanted, err_msg=name)


@settings(max_examples=300)
@given(st.floats(2.0**-900, 2.0**900), st.integers(1, 4096))
def test_the_factor(sigma, d):
    width = twin.integer_width(d)
    M, k = twin.integer_factor(sigma, d)
    assert _core.integer_factor(sigma, width) == (M, k, math.ldexp(M, k))


def test_factors_that_round_up_to_a_power_of_two():
    """65535.5 and more become 2^15 and one exponent more."""
    for width in (64, 128):
        edge = 65536.0 / twin.TWO_PI / math.sqrt(width)
        seen = set()
        for steps in range(-40, 41):
            sigma = edge / 65535.5 * (1 + steps * 2.0**-52)
            found = _core.integer_factor(sigma, width)[:2]
            assert found == twin.integer_factor(sigma, width)
            seen.add(found)
        assert seen == {(65535, 0), (32768, 1)}


def test_every_angle_of_the_wave():
    """All 2^16 of them at every instruction set, as phases of a row of zeros."""
    angle = np.arange(2**16, dtype=np.uint16)
    signs = np.zeros((1 + 2**16 // 64, 64), dtype=np.uint16)
    zeros = _core.ScaledRows(np.zeros((1, 1)), None, None, 1, 0, 1.0)
    for simd in range(len(SIMD_NAMES)):
        out = np.empty((1, 2**16), dtype=np.int16)
        _core.integer_fourier(zeros, signs, angle, out, 1, simd)
        np.testing.assert_array_equal(out[0], twin.integer_wave(angle.astype(np.int64)))
    assert (out.min(), out.max()) == (-1024, 1024)
    cosine = np.cos(angle * (2 * np.pi / 2**16))
    assert np.abs(out[0] / 1024 - cosine).max() < 0.06  # the parabola is above it by 0.056


@pytest.mark.parametrize("simd", range(len(SIMD_NAMES)))
def test_angles_halfway_between_whole_numbers(simd):
    """floor(x + 0.5), where x + 0.5 is rounded first, and far from 0."""
    near = np.array([0.5, 0.49999999999999994, 1.5, 2.5, 2.0**30 + 0.5, 2.0**40 + 0.5, 2.0**49])
    x = np.unique(np.concatenate([near, -near, np.nextafter(near, 0), -np.nextafter(near, 9e9)]))
    signs = np.zeros((2, 64), dtype=np.uint16)
    phases = np.full(64, 2**14, dtype=np.uint16)  # a quarter of a turn, where the wave is steep
    out = np.empty((len(x), 64), dtype=np.int16)
    rows = _core.ScaledRows(x[:, None].copy(), None, None, 1, 0, 1.0)
    _core.integer_fourier(rows, signs, phases, out, 1, simd)
    angle = np.floor(x + 0.5).astype(np.int64)
    # the first transform gives w 64 times, the second their sum and nothing else
    np.testing.assert_array_equal(out[:, 0], twin.integer_wave(64 * angle + 2**14))
    np.testing.assert_array_equal(out[:, 1:], 0)


@settings(max_examples=80)
@given(
    X=st.integers(1, 9).flatmap(
        lambda d: st.lists(
            st.lists(st.floats(-2e4, 2e4), min_size=d, max_size=d), min_size=1, max_size=3
        )
    ),
    m=st.integers(1, 150),
    seed=st.integers(0, 2**64 - 1),
)
def test_any_rows(X, m, seed):
    X = np.array(X)
    np.testing.assert_array_equal(integers(X, m, 1.25, seed), twin.integers(X, m, 1.25, seed))


@pytest.mark.parametrize("scale", [2.0**-1000, 1e-300, 1e-30, 1e30, 1e300])
def test_every_magnitude(scale):
    X = rows(65) * scale
    fitted = IntegerFourier(130, random_state=1).fit(X)
    np.testing.assert_array_equal(fitted.integers(X), twin.integers(X, 130, fitted.bandwidth_, 1))


def test_far_rows_equal_the_twin_up_to_the_reach():
    X = np.array([[65536.0, 0.0, 0.0], [0.0, -65535.7, 1.3], [4096.3, 0.0, -60000.1]])
    np.testing.assert_array_equal(integers(X, 200, 1.0), twin.integers(X, 200, 1.0))
