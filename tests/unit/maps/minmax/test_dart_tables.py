"""Tables of darts are only a cache: codes are the same without them, by weight and by rank."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import SIMD_NAMES, frozen, signed_rows, uneven_rows
from oracles import hash_twin

from kernelight import GCWS, hashing
from kernelight.base.checks import as_matrix, resources
from kernelight.maps.minmax import dart_sampler, poisson_slots
from kernelight.maps.minmax.dart_sampler import DartSampler
from kernelight.maps.minmax.scheme import minmax_scheme


def sampler(k=32, *, scale=1.0, bits=16, seed=3, **options):
    defaults = {
        "t_bits": None,
        "coding": "mixed",
        "p": 1.0,
        "gamma": None,
        "normalize": None,
        "center": None,
    }
    return DartSampler(
        minmax_scheme(k, bits=bits, sampler="dart", seed=seed, **{**defaults, **options}), scale
    )


def encode(made, X):
    return made.encode(as_matrix(X), resources(2))[0]


def plain(X, k=32, **options):
    """Codes without any table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dart_sampler, "TABLE_BYTES", {True: 0, False: 0})
        made = sampler(k, **options)
        codes = encode(made, X)
        assert not made._levels
    return codes


@pytest.fixture
def build_at_once(monkeypatch):
    """Tables at the first call, whatever they cost."""
    monkeypatch.setattr(dart_sampler, "BUILD_COST", {True: 0.0, False: 0.0})


@pytest.fixture(params=["by weight", "by rank"])
def order(request, build_at_once, monkeypatch):
    by_rank = request.param == "by rank"
    monkeypatch.setattr(DartSampler, "_by_rank", lambda self, level: by_rank)
    return by_rank


def test_without_tables_the_codes_are_the_twins():
    X = uneven_rows(1, 12, 9)
    assert plain(X).tolist() == hash_twin.codes(X, 32, sampler="dart", seed=3, bits=16)[0].tolist()


@pytest.mark.parametrize(
    "options",
    [{}, {"scale": 0.3}, {"normalize": "l1"}, {"bits": 3}, {"center": [0.5] * 25}, {"gamma": 1.5}],
    ids=str,
)
def test_tables_change_nothing(order, options):
    X = uneven_rows(2, 120, 25)
    made = sampler(**options)
    codes = encode(made, X)
    assert made._levels
    assert {table.by_rank for table in made._levels.values()} == {order}
    np.testing.assert_array_equal(codes, plain(X, **options))
    # and once more, from the tables that are there
    np.testing.assert_array_equal(encode(made, X), codes)


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("n_rows", [1, 5, 16, 90])
def test_rows_side_by_side(n_rows, simd, build_at_once, monkeypatch):
    """By rank, many rows of a level are tested together; some are beyond the table, or empty."""
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    monkeypatch.setattr(DartSampler, "_by_rank", lambda self, level: True)
    X = np.abs(signed_rows(12, 90, 20, sigma=0.3, density=0.9))
    X = frozen(np.vstack([X, np.zeros((1, 20))]))
    for storage in (np.asarray, sp.csr_array, lambda rows: rows.astype(np.float32)):
        for bits in (8, 16):
            made = sampler(64, scale=2.0**-4, bits=bits)
            encode(made, storage(X))
            monkeypatch.setattr(dart_sampler, "BUILD_COST", {True: np.inf, False: np.inf})
            later = X[-n_rows:].copy()
            later[::5] *= 1.9
            later = storage(later)
            wanted = plain(later, 64, scale=2.0**-4, bits=bits)
            np.testing.assert_array_equal(encode(made, later), wanted)
            monkeypatch.setattr(dart_sampler, "BUILD_COST", {True: 0.0, False: 0.0})


def test_tables_agree_with_the_twin(order):
    X = uneven_rows(3, 8, 12)
    codes = encode(sampler(), X)
    np.testing.assert_array_equal(codes, hash_twin.codes(X, 32, sampler="dart", seed=3, bits=16)[0])


def test_values_far_above_the_table(order, monkeypatch):
    """Rows of the same level with all weight in one column: far more than in the first rows."""
    X = frozen(np.abs(signed_rows(4, 50, 30, sigma=0.1)))
    made = sampler(scale=2.0**-5)
    encode(made, X)
    assert made._levels
    # the tables stay
    monkeypatch.setattr(dart_sampler, "BUILD_COST", {True: np.inf, False: np.inf})
    spiked = np.zeros((30, 30))
    np.fill_diagonal(spiked, X.sum(axis=1).mean())
    spiked[:, 0] += 0.01
    codes = encode(made, spiked)
    assert any(debt > 0 for debt in made._debt.values()), (
        "the rows were meant to go beyond the tables"
    )
    np.testing.assert_array_equal(codes, plain(spiked, scale=2.0**-5))


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_few_slots_that_often_stay_empty(order, k, monkeypatch):
    # so that most searches go on
    monkeypatch.setattr(dart_sampler, "RANK_REACH", {True: 0.05, False: 0.05})
    X = uneven_rows(5, 60, 6)
    made = sampler(k)
    np.testing.assert_array_equal(encode(made, X), plain(X, k))
    assert made._levels


@pytest.mark.parametrize("reach", [1e-6, 0.3, 8.0])
def test_the_reach_of_a_table_decides_only_speed(order, reach, monkeypatch):
    X = uneven_rows(6, 60, 10)
    wanted = plain(X)
    monkeypatch.setattr(dart_sampler, "RANK_REACH", {True: reach, False: reach})
    np.testing.assert_array_equal(encode(sampler(), X), wanted)


def test_single_rows_make_tables_grow(monkeypatch):
    X = np.abs(signed_rows(7, 400, 20, sigma=0.3))
    made, built = sampler(scale=2.0**-4), []
    build = DartSampler._build
    monkeypatch.setattr(DartSampler, "_build", lambda *args: built.append(args[1]) or build(*args))
    codes = np.vstack([encode(made, row[None]) for row in X])
    np.testing.assert_array_equal(codes, plain(X, scale=2.0**-4))
    assert 1 <= len(built) < 40, "tables are built, and not for every row"
    built.clear()
    encode(made, X[:1])
    assert not built


def test_tables_grow_with_larger_values(monkeypatch):
    monkeypatch.setattr(dart_sampler, "BUILD_COST", {True: 0.5, False: 0.5})
    made, rng = sampler(), np.random.default_rng(8)
    for step in range(12):
        X = rng.exponential(1.0 + step, (40, 15)) * (rng.random((40, 15)) < 0.3 + 0.05 * step)
        X /= X.sum(axis=1, keepdims=True) + 1e-9
        X[:, step] += 0.5
        np.testing.assert_array_equal(encode(made, X), plain(X), err_msg=f"step {step}")
    assert made._levels


def test_many_levels(build_at_once):
    X = np.abs(signed_rows(9, 160, 8)) * np.ldexp(1.0, np.arange(160)[:, None] - 80)
    made = sampler()
    codes = encode(made, X)
    assert len(made._levels) > 100
    np.testing.assert_array_equal(codes, plain(X))


def test_memory_for_tables_runs_out(build_at_once, monkeypatch):
    """Levels that find no room stay without a table, and have the same codes."""
    X = uneven_rows(10, 200, 20)
    wanted = plain(X)
    monkeypatch.setattr(dart_sampler, "ALL_TABLES_BYTES", 120_000)
    made = sampler()
    np.testing.assert_array_equal(encode(made, X), wanted)
    levels = np.unique(np.frexp(np.abs(X).sum(axis=1))[1])
    assert 0 < len(made._levels) < len(levels)


@pytest.mark.parametrize("power", [-1000, -500, -20, 20, 500, 1000])
def test_scales_of_every_size(build_at_once, power):
    """Scale and values of opposite powers of two: the same darts."""
    X = uneven_rows(11, 40, 10)
    wanted = encode(sampler(), X)
    np.testing.assert_array_equal(encode(sampler(scale=2.0**power), np.ldexp(X, -power)), wanted)


def test_wide_sparse_rows_leave_no_tables(build_at_once):
    X = sp.random_array(
        (30, 3_000_000), density=1e-5, random_state=np.random.default_rng(12), format="csr"
    )
    made = sampler()
    narrow = X[:, np.unique(X.indices)]
    codes = encode(made, X)
    assert not made._levels  # renumbered columns mean nothing to the next call
    assert codes.tolist() == plain(X).tolist()
    assert narrow.shape[1] < 3_000_000
    row = dict(zip(X.indices[: X.indptr[1]].tolist(), X.data[: X.indptr[1]].tolist(), strict=True))
    assert (
        codes[0].tolist()
        == hash_twin.codes([row], 32, sampler="dart", seed=3, bits=16)[0][0].tolist()
    )


def test_estimator_and_function_share_one_definition():
    X = uneven_rows(13, 300, 60)
    made = GCWS(64, sampler="dart", random_state=3).fit(X)
    first = made.encode(X)
    assert made._sampler._levels
    again = hashing.gcws(X, 64, sampler="dart", scale=made.scale_, random_state=3)
    np.testing.assert_array_equal(first.array, again.array)
    np.testing.assert_array_equal(first.array[:5], plain(X[:5], 64, bits=8, scale=made.scale_))
    assert first.provenance == again.provenance


def least_darts(k, value, *, seed=3):
    """For each slot the dart of least key below one value: its weight, and its code."""
    rate, key = hash_twin.dart_rate(k), hash_twin.child(hash_twin.stream(seed, 3), 0)
    best = [(np.inf, 0.0, 0)] * k
    for nu in range(int(np.log2(1 + rate * value)) + 1):
        for rho in range(4):
            for weight, rank, identity in zip(
                *hash_twin.region_darts(key, nu, rho, rate, value, 8.0), strict=True
            ):
                slot = (int(identity) >> 32) * k >> 32
                if weight < value:
                    best[slot] = min(
                        best[slot], (float(rank), float(weight), int(identity) & 0xFFFF)
                    )
    return [weight for _, weight, _ in best], [code for *_, code in best]


def test_a_dart_exactly_at_the_value_of_a_row_is_not_owned(order):
    """The darts of least rank stay so for smaller values, until the value reaches their weight."""
    k = 16
    weights, codes = least_darts(k, 2.0)
    at = np.array(weights)[:, None]
    just_above = np.nextafter(at.astype(np.float32), np.float32(np.inf)).astype(np.float64)
    owned, not_owned = encode(sampler(k), just_above), encode(sampler(k), at)
    assert owned.diagonal().tolist() == codes
    assert (not_owned.diagonal() != codes).all()
    np.testing.assert_array_equal(
        not_owned, hash_twin.codes(at, k, sampler="dart", seed=3, bits=16)[0]
    )
    np.testing.assert_array_equal(not_owned, plain(at, k))
    np.testing.assert_array_equal(owned, plain(just_above, k))


@pytest.mark.parametrize("words", [1, 4 * 8 * 80, None])
@pytest.mark.parametrize("gamma", [1e-9, 1.5])
def test_words_that_are_folded_in_batches_of_rows(order, gamma, words, monkeypatch):
    X = uneven_rows(5, 12, 9).copy()
    X[[0, 5, 11]] = 0.0
    if words is not None:
        monkeypatch.setattr(poisson_slots, "WORDS_BYTES", words)
    wanted = hash_twin.codes(X, 32, sampler="dart", seed=3, bits=16, gamma=gamma)[0].tolist()
    for stored in (X, sp.csr_array(X)):
        assert encode(sampler(gamma=gamma), stored).tolist() == wanted
    wide = sp.csr_array(X)
    wide.resize(12, 2**21)
    assert encode(sampler(gamma=gamma), wide).tolist() == wanted


@pytest.mark.parametrize("width", [2, 2**21])
def test_a_row_out_of_reach_is_named_by_its_number_in_the_matrix(width, monkeypatch):
    """Also where rows are taken in batches."""
    monkeypatch.setattr(poisson_slots, "WORDS_BYTES", 1)
    X = sp.csr_array(np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0], [2.0**120, 1.0]]))
    X.resize(4, width)
    with pytest.raises(ValueError, match=r"^Row 3 has"):
        hashing.gcws(X, 8, sampler="dart", scale=1.0, gamma=1.0)
