"""Lists of coordinates are only a cache: rows sampled side by side have the codes of the scan."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import SIMD_NAMES, frozen, signed_rows
from oracles import hash_twin

from kernelight import GCWS, _core
from kernelight.maps.minmax import cws_lists

K = 50  # more than one tile of slots, the last one not full
SCHEMES = [
    {},
    {"p": 2.0},
    {"t_bits": 1},
    {"normalize": "l1"},
    {"bits": 12},
    {"gamma": 1.5},
    {"coding": "lowest", "t_bits": 0},
]


@pytest.fixture
def lists_at_once(monkeypatch):
    """Lists at the first call, whatever they cost and however little they help."""
    monkeypatch.setattr(cws_lists, "BUILD_ROWS", 0)
    monkeypatch.setattr(cws_lists, "LEAST_NONZEROS", 0)
    monkeypatch.setattr(cws_lists, "MOST_ABSENT", 1000)
    monkeypatch.setattr(cws_lists, "FIXED_COST", -1e9)


def fitted(X, **options):
    return GCWS(K, sampler="cws", random_state=5, **options).fit(X)


def lists_of(made):
    return made._sampler._keeper._lists


def scanned(made, X):
    """Codes of the same map without lists."""
    other = pickle.loads(pickle.dumps(made))
    other._sampler._keeper._useless = True
    codes = other.encode(X)
    assert lists_of(other) is None
    return codes


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_lists_give_the_twins_codes(scheme, simd, lists_at_once, monkeypatch):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    X = frozen(np.vstack([signed_rows(1, 20, 15, density=0.7), np.zeros((1, 15))]))
    made = fitted(X, **scheme)
    codes = made.encode(X)
    assert lists_of(made) is not None
    assert codes.empty.tolist() == [False] * 20 + [True]
    np.testing.assert_array_equal(codes.array, hash_twin.codes(X, K, seed=5, **scheme)[0])


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("n_rows", [1, 3, 16, 17, 100])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_any_number_of_rows_in_any_storage(storage, n_rows, simd, lists_at_once, monkeypatch):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    X = storage(signed_rows(2, 100, 40, density=0.8))
    made = fitted(X)
    made.encode(X)
    assert lists_of(made) is not None
    np.testing.assert_array_equal(made.encode(X[:n_rows]).array, scanned(made, X[:n_rows]).array)


def test_values_beyond_the_limits_and_columns_never_seen(lists_at_once, monkeypatch):
    X = signed_rows(3, 60, 20, density=0.9).copy()
    X[:, 7] = 0
    made = fitted(X)
    made.encode(X)
    limits = lists_of(made).limits.copy()
    monkeypatch.setattr(cws_lists, "BUILD_ROWS", np.inf)  # the lists stay
    later = X.copy()
    later[::3] *= 100
    later[1::3, 7] = 1.0
    later[5] = 0
    np.testing.assert_array_equal(made.encode(later).array, scanned(made, later).array)
    assert lists_of(made).limits.tolist() == limits.tolist()
    # and once they may be made again, they reach further
    monkeypatch.setattr(cws_lists, "BUILD_ROWS", 0)
    np.testing.assert_array_equal(made.encode(later).array, scanned(made, later).array)
    assert len(lists_of(made).limits) > len(limits)
    assert (lists_of(made).limits[: len(limits)] >= limits).all()


@pytest.mark.parametrize("simd", range(len(SIMD_NAMES)))
def test_of_two_coordinates_that_tie_the_smaller_wins(simd):
    """Two coordinates with the same cells tie in every slot in which either wins."""
    X = frozen(np.exp(np.random.default_rng(4).normal(size=(40, 6))))
    X = frozen(np.repeat(X, 2, axis=1))  # columns 2c and 2c + 1 are equal
    ids = np.arange(0, 24, 2, dtype=np.uint64)
    cells = np.empty((2, len(ids) * _core.CELL_BLOCK), dtype=np.float32)
    _core.cws_fill(cells, ids, 0, len(ids), 9, 0, K, 1, simd)
    view = cells.reshape(2, len(ids), _core.CELL_BLOCK)
    view[:, 1::2] = view[:, 0::2]
    where = np.full(24, -1, dtype=np.int32)
    where[ids.astype(int)] = np.arange(len(ids), dtype=np.int32)
    tables, coding = _core.CwsTables(cells, ids, where), _core.CwsCoding(9, 8, 2**64 - 1, False)
    rows = _core.WeightedRows(X, None, None, 12, None, False)
    limits = np.full(len(ids), -np.inf, dtype=np.float32)
    _core.cws_largest(rows, 1.0, where, limits, simd)
    np.testing.assert_allclose(limits, np.log(X.max(axis=0)), rtol=1e-6)
    starts = np.arange(K + 1) * 30
    lists = _core.CwsLists(np.empty((K * 30, 8), dtype=np.uint64), starts, limits)
    _core.cws_rank(tables, coding, 3.0, lists, 1)
    by_lists, alone = np.zeros((2, 40, K), dtype=np.uint8)
    work = _core.cws_encode_lists(rows, 1.0, lists, tables, coding, 0, K, 0, by_lists, 1, simd)
    assert work[2:] == (0, 0)  # lists decided everything
    assert _core.cws_encode_few(rows, 1.0, tables, coding, alone, np.zeros(40, bool), simd)
    np.testing.assert_array_equal(by_lists, alone)
    smaller = X[:, ::2]
    narrow = _core.WeightedRows(np.ascontiguousarray(smaller), None, None, 6, None, False)
    # the smaller of each pair alone has the same samples: its identity is that of the code
    places = np.full(12, -1, dtype=np.int32)
    places[::2] = np.arange(0, 12, 2, dtype=np.int32)
    single = np.zeros((40, K), dtype=np.uint8)
    _core.cws_encode_few(
        narrow, 1.0, _core.CwsTables(cells, ids, places), coding, single, np.zeros(40, bool), simd
    )
    np.testing.assert_array_equal(by_lists, single)


@pytest.mark.parametrize("inverse_r", [0.02, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("beta", [0.0, 1e-9, 0.5, 1 - 2**-24])
def test_cells_at_the_border_give_the_codes_of_the_scan(inverse_r, beta):
    """Also where t has thousands of steps between two values, or is too large to count."""
    X = np.random.default_rng(5).lognormal(size=(64, 8))
    X[:32, 3] = 1.0  # whose logarithm is 0
    X[32:, 3] = np.exp(np.linspace(-1e-6, 1e-6, 32))
    X = frozen(X)
    ids = np.arange(0, 16, 2, dtype=np.uint64)
    cells = np.empty((1, len(ids) * _core.CELL_BLOCK), dtype=np.float32)
    _core.cws_fill(cells, ids, 0, len(ids), 3, 0, _core.SLOT_BLOCK, 1, 0)
    strange = cells.reshape(len(ids), 4, _core.SLOT_BLOCK)[3]
    strange[:] = np.array([inverse_r, beta, 1 / inverse_r, -3.0])[:, None]
    where = np.full(16, -1, dtype=np.int32)
    where[::2] = np.arange(len(ids), dtype=np.int32)
    tables, coding = _core.CwsTables(cells, ids, where), _core.CwsCoding(3, 16, 2**64 - 1, False)
    rows = _core.WeightedRows(X, None, None, 8, None, False)
    limits = np.full(len(ids), -np.inf, dtype=np.float32)
    _core.cws_largest(rows, 1.0, where, limits, 0)
    starts = np.arange(_core.SLOT_BLOCK + 1) * 30
    lists = _core.CwsLists(np.empty((starts[-1], 8), dtype=np.uint64), starts, limits)
    _core.cws_rank(tables, coding, 2.0, lists, 1)
    by_lists, alone = np.zeros((2, 64, _core.SLOT_BLOCK), dtype=np.uint16)
    slots = (0, _core.SLOT_BLOCK, 0)
    _core.cws_encode_lists(rows, 1.0, lists, tables, coding, *slots, by_lists, 1, 0)
    assert _core.cws_encode_few(rows, 1.0, tables, coding, alone, np.zeros(64, bool), 0)
    np.testing.assert_array_equal(by_lists, alone)


def test_lists_are_made_once_they_are_worth_it_and_never_pickled():
    X = np.random.default_rng(6).random((2000, 30))
    made = fitted(X)
    made.encode(X[:50])
    assert lists_of(made) is None
    made.encode(X)
    assert lists_of(made) is not None
    assert lists_of(pickle.loads(pickle.dumps(made))) is None
    np.testing.assert_array_equal(made.encode(X).array, scanned(made, X).array)


def test_lists_are_given_up_where_they_do_not_help():
    X = np.random.default_rng(7).standard_cauchy((2000, 30))
    made = fitted(X)
    codes = made.encode(X)
    assert made._sampler._keeper._useless
    np.testing.assert_array_equal(codes.array, scanned(made, X).array)


def test_a_few_rows_are_encoded_by_one_call(monkeypatch):
    X = signed_rows(8, 30, 10, density=0.8).copy()
    X[4] = 0
    made = fitted(X)
    wanted = made.encode(X)
    monkeypatch.setattr(_core, "cws_survey", None)  # what every other way begins with
    for row in range(30):
        assert made.encode(X[row : row + 1]) == wanted[row]
    assert made.encode(X[3:9]) == wanted[3:9]


def test_a_coordinate_without_cells_takes_the_longer_way():
    X = np.abs(signed_rows(9, 30, 10))
    made = fitted(X)
    made.encode(X)
    np.testing.assert_array_equal(made.encode(-X[:1]).array, hash_twin.codes(-X[:1], K, seed=5)[0])


@pytest.mark.parametrize(
    "change", [{"n_components": 20}, {"bits": 4}, {"p": 3.0}, {"t_bits": 1}, {"normalize": "l1"}]
)
def test_parameters_changed_after_fit_are_noticed(change):
    X = signed_rows(10, 20, 8)
    made = fitted(X)
    before = made.encode(X[:1])
    made.set_params(**change)
    other = GCWS(K, sampler="cws", random_state=5).set_params(**change).fit(X)
    assert made.encode(X) == other.encode(X)
    assert made.encode(X[:1]) == other.encode(X[:1]) != before
    assert made.provenance == other.provenance


def test_a_centre_may_change_in_place():
    X, center = signed_rows(11, 20, 8), np.zeros(8)
    made = fitted(X, center=center)
    before = made.encode(X)
    center += 0.5
    after = made.encode(X)
    assert after.provenance != before.provenance
    assert after == fitted(X, center=center).encode(X)


def test_lists_that_do_not_fit_are_refused():
    groups, limits = np.zeros((40, 8), dtype=np.uint64), np.zeros(4, dtype=np.float32)
    for starts in ([], [0], [0, 4], [1, 40], [0, 10, 40], [0, 50, 40]):
        with pytest.raises(ValueError, match="as many for every slot"):
            _core.CwsLists(groups, np.array(starts, dtype=np.int64), limits)
    lists = _core.CwsLists(groups, np.arange(5) * 10, limits)
    cells = np.zeros((1, 3 * _core.CELL_BLOCK), dtype=np.float32)
    tables = _core.CwsTables(cells, np.zeros(3, np.uint64), np.zeros(6, np.int32))
    with pytest.raises(ValueError, match="every place"):
        _core.cws_rank(tables, _core.CwsCoding(1, 8, 2**64 - 1, False), 0.0, lists, 1)
