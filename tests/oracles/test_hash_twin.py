"""Every code of `hashing.gcws` equals that of the twin written from docs/hash-spec.md."""

from __future__ import annotations

import decimal
import math

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import sampled, signed_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import hash_twin

from kernelight import GCWS, _core, hashing

SEEDS = sampled([0, 1, 2**64 - 1], 0, 2**64 - 1)
WORDS = st.integers(0, 2**64 - 1)
POSITIVE = st.floats(min_value=5e-324, max_value=1.7976931348623157e308)

CWS_SCHEMES = {
    "full": {},
    "0 bits of t": {"t_bits": 0},
    "1 bit of t": {"t_bits": 1},
    "2 bits of t": {"t_bits": 2},
    "lowest": {"t_bits": 0, "coding": "lowest"},
    "p=0.25": {"p": 0.25},
    "p=2": {"p": 2.0},
    "p=40": {"p": 40.0},
    "p=1e3": {"p": 1e3},
    "p=2, 0 bits": {"p": 2.0, "t_bits": 0},
    "l1": {"normalize": "l1"},
    "l1, 2 bits": {"normalize": "l1", "t_bits": 2},
    "centre": {"center": [0.5, -1.25, 0.0, 3.0, 1e-3, 1.0, -7.0]},
    "gamma=1": {"gamma": 1.0},
    "gamma=0.01": {"gamma": 0.01},
    "gamma=6.5, p=2": {"gamma": 6.5, "p": 2.0},
    "gamma=2, 1 bit": {"gamma": 2.0, "t_bits": 1},
}
DART_SCHEMES = {
    "plain": {"scale": 1.0},
    "scaled": {"scale": 0.125},
    "odd scale": {"scale": 0.3},
    "l1": {"scale": 1.0, "normalize": "l1"},
    "centre": {"scale": 0.25, "center": [0.5, -1.25, 0.0, 3.0, 1e-3, 1.0, -7.0]},
    "gamma=1": {"scale": 1.0, "gamma": 1.0},
    "gamma=0.01": {"scale": 1.0, "gamma": 0.01},
    "gamma=4": {"scale": 0.3, "gamma": 4.0},
}


def rows():
    """A few rows of a few features.

    Signs, zeros, an empty row, a single element, equal and tiny entries.
    """
    X = signed_rows(3, 7, 7, density=0.7).copy()
    X[2] = 0.0
    X[3] = 0.0
    X[3, 5] = -4.0
    X[4] = [1.0, 1.0, -1.0, 1.0, 0.0, 1.0, 1.0]
    X[5] *= 2.0**-30
    return X


def assert_equals_twin(X, k, *, seed=0, **scheme):
    actual = hashing.gcws(X, k, random_state=seed, **scheme)
    codes, empty = hash_twin.codes(X, k, seed=seed, **scheme)
    np.testing.assert_array_equal(actual.array, codes)
    np.testing.assert_array_equal(actual.empty, empty)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scheme", CWS_SCHEMES.values(), ids=CWS_SCHEMES)
def test_cws_equals_the_twin(scheme, seed):
    for k, bits in ((1, 16), (16, 1), (16, 9), (65, 4), (65, 8)):
        assert_equals_twin(rows(), k, bits=bits, seed=seed, **scheme)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scheme", DART_SCHEMES.values(), ids=DART_SCHEMES)
def test_darts_equal_the_twin(scheme, seed):
    for k, bits in ((1, 16), (2, 8), (16, 1), (65, 8), (65, 16)):
        assert_equals_twin(rows(), k, bits=bits, seed=seed, sampler="dart", **scheme)


@pytest.mark.parametrize("bits", range(1, 17))
@pytest.mark.parametrize("scheme", [{}, {"sampler": "dart", "scale": 1.0}], ids=["cws", "dart"])
def test_every_number_of_bits(scheme, bits):
    assert_equals_twin(rows()[:4], 33, bits=bits, **scheme)


def test_many_slots_of_one_row():
    X = signed_rows(8, 1, 40)
    assert_equals_twin(X, 5000, bits=16)
    assert_equals_twin(X, 2000, bits=16, sampler="dart", scale=2.0**-6)


@pytest.mark.parametrize("width", [2**20, 2**31, 2**40, 10**12])
@pytest.mark.parametrize("gamma", [None, 2.0])
@pytest.mark.parametrize("scheme", [{}, {"sampler": "dart", "scale": 0.25}], ids=["cws", "dart"])
def test_wide_sparse_rows(scheme, gamma, width):
    scheme = scheme | {"gamma": gamma}
    row = {0: 1.5, 1: -2.0, 1000: 0.25, width // 2: 1.0, width - 1: -3.0}
    wide = sp.csr_array((list(row.values()), ([0] * len(row), list(row))), shape=(1, width))
    actual = hashing.gcws(wide, 100, bits=16, **scheme)
    np.testing.assert_array_equal(actual.array, hash_twin.codes([row], 100, bits=16, **scheme)[0])


@pytest.mark.parametrize("power", [-1074, -1022, -600, -80, 0, 80, 600, 1000])
def test_cws_of_every_magnitude(power):
    X = np.ldexp(signed_rows(9, 3, 5), power)
    assert_equals_twin(X, 64, bits=16)
    assert_equals_twin(X, 64, bits=16, normalize="l1")


@pytest.mark.parametrize("power", [-90, -40, -10, 10, 40, 90])
def test_darts_of_every_magnitude(power):
    assert_equals_twin(
        np.ldexp(signed_rows(9, 3, 5), power), 20, bits=16, sampler="dart", scale=1.0
    )


def test_l1_of_a_row_whose_sum_overflows():
    X = np.array([[1.5e308, -1.5e308, 1e300, 1.0], [1.7e308, 0.0, 1.7e308, -1e-300]])
    for scheme in ({}, {"sampler": "dart", "scale": 1.0}):
        assert_equals_twin(X, 64, bits=16, normalize="l1", **scheme)


entries = st.one_of(
    st.just(0.0),
    st.floats(-1e6, 1e6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1.0, -1.0, 2.0]),
)


def matrices(elements, d):
    return st.lists(st.lists(elements, min_size=d, max_size=d), min_size=1, max_size=3)


@settings(max_examples=60)
@given(
    X=st.integers(1, 6).flatmap(lambda d: matrices(entries, d)),
    k=st.integers(1, 40),
    bits=st.integers(1, 16),
    seed=WORDS,
    p=st.sampled_from([1.0, 0.1, 3.0]),
    t_bits=st.sampled_from([None, 0, 1, 2]),
    gamma=st.one_of(st.none(), st.floats(1e-3, 10.0)),
)
def test_any_rows_by_cws(X, k, bits, seed, p, t_bits, gamma):
    assert_equals_twin(np.array(X), k, bits=bits, seed=seed, p=p, t_bits=t_bits, gamma=gamma)


@settings(max_examples=40)
@given(
    X=matrices(st.one_of(st.just(0.0), st.floats(-1e3, 1e3), st.floats(-1e-3, 1e-3)), 4),
    k=st.integers(1, 24),
    bits=st.integers(1, 16),
    seed=WORDS,
    scale=st.floats(2.0**-12, 2.0**12),
    gamma=st.one_of(st.none(), st.floats(1e-3, 2.0)),
)
def test_any_rows_by_darts(X, k, bits, seed, scale, gamma):
    X = np.array(X)
    X[np.abs(X).sum(axis=1) < 2.0**-60] = 0.0  # darts refuse sums beyond 2^100 from the scale
    assert_equals_twin(X, k, bits=bits, seed=seed, sampler="dart", scale=scale, gamma=gamma)


@settings(max_examples=40)
@given(seed=WORDS, k=st.integers(0, 20), gamma=st.floats(1e-300, 40.0))
def test_counts_of_base_slots(seed, k, gamma):
    counts = np.empty(k, dtype=np.int64)
    _core.poisson_counts(seed, gamma, counts)
    assert counts.tolist() == hash_twin.base_counts(seed, k, gamma)


def test_arrivals_at_gamma_itself_count():
    first = float(
        -hash_twin.log_normal(
            hash_twin.high(hash_twin.child(hash_twin.child(hash_twin.stream(0, 11), 0), 0))
        )
    )
    counts = np.empty(1, dtype=np.int64)
    for gamma, count in ((math.nextafter(first, 0.0), 0), (first, 1)):
        _core.poisson_counts(0, gamma, counts)
        assert counts.tolist() == [count] == hash_twin.base_counts(0, 1, gamma)


@given(key=WORDS, n=WORDS, seed=WORDS)
def test_words(key, n, seed):
    assert _core.child(key, n) == int(hash_twin.child(key, n))
    assert _core.stream(seed, 3) == int(hash_twin.stream(seed, 3))


def test_the_first_word_is_splitmix64s():
    assert _core.child(0, 0) == 0xE220A8397B1DCDAF == int(hash_twin.child(0, 0))


@settings(max_examples=500)
@given(POSITIVE)
def test_the_logarithm(x):
    actual = _core.log(x)
    assert actual == float(hash_twin.log(x))
    # and it is the logarithm
    assert abs(actual - math.log(x)) <= 2 * math.ulp(max(abs(math.log(x)), 2.0**-52))


CORNERS = [5e-324, 2.0**-1022, 1.0, 2.0, math.sqrt(0.5), math.sqrt(2.0), 1.7976931348623157e308]


@pytest.mark.parametrize("x", CORNERS + [math.nextafter(x, 0) for x in CORNERS[1:]])
def test_the_logarithm_at_its_corners(x):
    assert _core.log(x) == float(hash_twin.log(x))
    assert _core.log(x) == pytest.approx(math.log(x), rel=1e-15, abs=0)


@given(st.floats(0, 3.4e38), st.sampled_from([1.0, 2.0**-140]))
def test_float_above(x, shrink):
    x *= shrink
    actual = _core.float_above(x)
    assert actual == float(hash_twin.float_above(x)) >= x
    assert actual == 0 or float(np.nextafter(np.float32(actual), np.float32(-1))) < x


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_floor(y):
    assert _core.floor_float(y) == math.floor(y)


def test_poisson_thresholds_are_those_of_the_distribution():
    with decimal.localcontext(prec=60):
        term = total = decimal.Decimal(-1).exp()
        thresholds = []
        for m in range(20):
            thresholds.append(int(total * 2**64))
            term /= m + 1
            total += term
    assert thresholds == hash_twin.POISSON_THRESHOLDS.tolist()
    for m, threshold in enumerate(thresholds):
        assert (_core.poisson1(threshold - 1), _core.poisson1(threshold)) == (m, m + 1)
    assert (_core.poisson1(0), _core.poisson1(2**64 - 1)) == (0, 20)


@pytest.mark.parametrize("k", [1, 2, 3, 10, 64, 1000, 1024, 65536, 2**24])
def test_the_rate_of_darts(k):
    assert _core.dart_rate(k) == hash_twin.dart_rate(k)


@given(
    seed=WORDS,
    slot=st.integers(0, 2**24),
    coordinate=st.integers(0, 2**63),
    t=st.integers(-(2**62), 2**62),
)
def test_cells_and_words_of_samples(seed, slot, coordinate, t):
    cell = [float(part[0, 0]) for part in hash_twin.cws_cells(seed, [coordinate], [slot])]
    assert list(_core.cws_cell(seed, slot, coordinate)) == cell
    word = hash_twin.cws_word(seed, [slot], np.array([coordinate], np.uint64), np.array([t]))
    assert _core.cws_code(seed, slot, coordinate, t) == int(word[0])


@pytest.mark.parametrize("power", [-300, -3, 0, 1, 200])
@pytest.mark.parametrize(
    "options", [{}, {"normalize": "l1"}, {"center": [0.5] * 6}], ids=["plain", "l1", "centre"]
)
def test_the_scale_that_fit_decides(options, power):
    X = np.ldexp(signed_rows(4, 9, 6), power)
    twin = hash_twin.fitted_scale(X, center=options.get("center"), l1="normalize" in options)
    assert GCWS(8, sampler="dart", **options).fit(X).scale_ == twin


@pytest.mark.parametrize("n_components", [8, 64, 1024])
@pytest.mark.parametrize(
    ("d", "density", "sigma"),
    [(5, 1, 1), (60, 1, 0.1), (300, 1, 0.5), (300, 1, 3.0), (2000, 0.05, 0.5), (400, 0.9, 0.2)],
)
def test_the_sampler_that_fit_decides(n_components, d, density, sigma):
    X = signed_rows(5, 20, d, density=density, sigma=sigma)
    assert GCWS(n_components).fit(X).sampler_ == hash_twin.chosen_sampler(X, n_components)


@pytest.mark.parametrize("gamma", [1e-9, 0.02, 1.0, 16.0])
@pytest.mark.parametrize("d", [5, 60, 130, 300])
def test_the_sampler_that_fit_decides_with_gamma(d, gamma):
    """By the number of base slots."""
    X = signed_rows(5, 20, d, sigma=0.3)
    n_base = max(1, sum(hash_twin.base_counts(0, 256, gamma)))
    assert GCWS(256, gamma=gamma).fit(X).sampler_ == hash_twin.chosen_sampler(X, n_base)


def test_gamma_may_change_the_sampler():
    """Otherwise the test above compares nothing."""
    X = signed_rows(5, 20, 500, sigma=0.8)
    assert GCWS(256).fit(X).sampler_ == "dart"
    assert GCWS(256, gamma=200.0).fit(X).sampler_ == "cws"


def test_the_sampler_for_uneven_rows():
    """Row sums of many powers of two, which the tables of darts must share."""
    rng, chosen = np.random.default_rng(0), []
    for seed in range(80):
        d, k = int(rng.integers(30, 600)), int(rng.choice([64, 1024, 4096]))
        X = signed_rows(seed, 12, d, density=rng.uniform(0.3, 1), sigma=rng.uniform(0.1, 2.5))
        X = X * rng.lognormal(0.0, rng.choice([0.0, 3.0, 25.0]), (12, 1))
        chosen.append(GCWS(k).fit(X).sampler_)
        assert chosen[-1] == hash_twin.chosen_sampler(X, k), seed
    assert set(chosen) == {"cws", "dart"}


def test_auto_takes_both_samplers():
    """Otherwise the test above compares nothing."""
    assert GCWS(64).fit(signed_rows(5, 20, 5)).sampler_ == "cws"
    assert GCWS(64).fit(signed_rows(5, 20, 300)).sampler_ == "dart"
