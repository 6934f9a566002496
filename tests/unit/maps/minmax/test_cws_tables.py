"""Tables of cells are only a cache: kept, made for one call or missing, codes are the same."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import SIMD_NAMES, signed_rows
from oracles import hash_twin

from kernelight import GCWS, _core, hashing
from kernelight.maps.minmax import cws_sampler, poisson_slots, scheme

SCHEMES = [
    {},
    {"p": 2.0},
    {"t_bits": 0},
    {"normalize": "l1"},
    {"t_bits": 0, "coding": "lowest"},
    {"bits": 16},
]
every_scheme = pytest.mark.parametrize("scheme", SCHEMES, ids=str)
K = 100  # more than one block of slots, the last one not full


class Spy:
    """Counts calls of a compiled function and the cells it drew."""

    def __init__(self, monkeypatch, name):
        self.calls, self.drawn, inner = 0, 0, getattr(_core, name)

        def counted(*args):
            self.calls += 1
            if name == "cws_fill":
                self.drawn += args[3] - args[2]
            return inner(*args)

        monkeypatch.setattr(_core, name, counted)


def force(monkeypatch, way):
    """Make the sampler take one of its ways."""
    if way != "kept":
        monkeypatch.setattr(cws_sampler, "KEPT_BYTES", 0)
    if way == "bounds":
        monkeypatch.setattr(cws_sampler, "FEW_MEETINGS", 1 << 30)
        monkeypatch.setattr(cws_sampler, "MOST_REACH", np.inf)
    else:
        monkeypatch.setattr(cws_sampler, "FEW_MEETINGS", 0)
    if way == "direct":
        monkeypatch.setattr(cws_sampler, "CALL_BYTES", 0)
        monkeypatch.setattr(cws_sampler, "MOST_REACH", -1)
    if way == "one block at a time":
        monkeypatch.setattr(cws_sampler, "CALL_BYTES", 40 * cws_sampler.BYTES_PER_CELL_BLOCK)


WAYS = ["kept", "groups", "one block at a time", "bounds", "direct"]


@every_scheme
@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_twins_codes(way, scheme, monkeypatch):
    X = signed_rows(1, 20, 15, density=0.7)
    force(monkeypatch, way)
    fill, direct = Spy(monkeypatch, "cws_fill"), Spy(monkeypatch, "cws_stream")
    bounds = Spy(monkeypatch, "cws_encode_bounds")
    actual = hashing.gcws(X, K, random_state=5, **scheme)
    np.testing.assert_array_equal(actual.array, hash_twin.codes(X, K, seed=5, **scheme)[0])
    blocks = -(-K // _core.SLOT_BLOCK)
    assert (direct.calls, fill.calls, bounds.calls) == {
        "kept": (0, 1, 0),
        "groups": (0, 1, 0),
        "one block at a time": (0, blocks, 0),
        "bounds": (0, 0, 1),
        "direct": (1, 0, 0),
    }[way]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wide", [False, True])
def test_renumbered_columns(way, wide, monkeypatch):
    """Columns beyond scheme.WIDE are renumbered to those that occur; their codes stay."""
    X = sp.random_array(
        (40, 3000), density=0.01, random_state=np.random.default_rng(2), format="csr"
    )
    X.data -= 0.5
    wanted = hashing.gcws(X, K, random_state=5)
    force(monkeypatch, way)
    if wide:
        monkeypatch.setattr(scheme, "WIDE", 100)
    for stored in (X, X.toarray()):
        np.testing.assert_array_equal(hashing.gcws(stored, K, random_state=5).array, wanted.array)


@pytest.mark.parametrize("width", [scheme.WIDE, scheme.WIDE + 1])
def test_the_limit_of_width_itself(width):
    row = {0: 1.0, 5: -2.0, width - 1: 3.0}
    X = sp.csr_array((list(row.values()), ([0, 0, 0], list(row))), shape=(1, width))
    for options in ({}, {"sampler": "dart", "scale": 0.25}):
        actual = hashing.gcws(X, K, **options)
        np.testing.assert_array_equal(actual.array, hash_twin.codes([row], K, **options)[0])


def test_the_second_prediction_of_a_row_draws_nothing(monkeypatch):
    X = signed_rows(3, 30, 12)
    fill = Spy(monkeypatch, "cws_fill")
    made = GCWS(K, sampler="cws").fit(X)
    first = made.encode(X[:1])
    assert fill.drawn == 12
    assert made.encode(X[:1]) == first
    assert (fill.calls, fill.drawn) == (1, 12)


def test_row_by_row_draws_every_coordinate_once(monkeypatch):
    X = signed_rows(4, 60, 40, density=0.2)
    wanted = GCWS(K, sampler="cws").fit(X).encode(X)
    fill = Spy(monkeypatch, "cws_fill")
    made = GCWS(K, sampler="cws").fit(X)
    for row, code in zip(X, wanted, strict=True):
        np.testing.assert_array_equal(made.encode(row[None]).array, code.array)
    coordinates = (X > 0).any(axis=0).sum() + (X < 0).any(axis=0).sum()
    assert fill.drawn == coordinates
    calls = fill.calls
    assert made.encode(X) == wanted
    assert fill.calls == calls


def test_kept_tables_stop_growing_at_their_budget(monkeypatch):
    X = signed_rows(5, 50, 40, density=0.1)
    wanted = hashing.gcws(X, K)
    blocks = -(-K // _core.SLOT_BLOCK)
    budget = 20 * blocks * cws_sampler.BYTES_PER_CELL_BLOCK
    monkeypatch.setattr(cws_sampler, "KEPT_BYTES", budget)
    made = GCWS(K, sampler="cws").fit(X)
    for _ in range(2):
        for row, code in zip(X, wanted, strict=True):
            np.testing.assert_array_equal(made.encode(row[None]).array, code.array)
    assert 0 < made._sampler._kept.cells.nbytes <= budget


@pytest.mark.parametrize("listing_bytes", [1, 2000, 100_000])
def test_small_batches_of_rows(listing_bytes, monkeypatch):
    X = signed_rows(6, 150, 9, density=0.5)
    wanted = hashing.gcws(X, K)
    monkeypatch.setattr(cws_sampler, "LISTING_BYTES", listing_bytes)
    for stored in (X, sp.csr_matrix(X), sp.csr_array(X)):
        actual = hashing.gcws(stored, K)
        np.testing.assert_array_equal(actual.array, wanted.array)
        np.testing.assert_array_equal(actual.empty, wanted.empty)


def test_batches_of_more_entries_than_32_bits_count():
    """The row starts of a matrix of two thousand million entries, without the entries."""
    starts = np.array([0, 5, 2**31 - 10, 2**31 - 6, 2**31 - 1], dtype=np.int32)
    made = list(scheme.batches(SimpleNamespace(shape=(4, 10), indptr=starts), 1 << 21))
    assert made == [(0, 1), (1, 2), (2, 4)]


@pytest.mark.parametrize("k", [1, 15, 16, 17, 63, 64, 65, 129])
@pytest.mark.parametrize("way", WAYS)
def test_numbers_of_slots_around_the_blocks(way, k, monkeypatch):
    X = signed_rows(7, 5, 6)
    wanted = hashing.gcws(X, 200).first(k)
    force(monkeypatch, way)
    assert hashing.gcws(X, k) == wanted


def test_parameters_changed_after_fit_do_not_meet_old_tables():
    X = signed_rows(8, 10, 6)
    made = GCWS(K, sampler="cws").fit(X)
    made.encode(X)
    made.set_params(n_components=2 * K, bits=4, p=2.0)
    np.testing.assert_array_equal(made.encode(X).array, hashing.gcws(X, 2 * K, bits=4, p=2.0).array)


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("way", WAYS)
def test_ties_go_to_the_smaller_coordinate(way, simd, monkeypatch):
    """Huge values to a large power leave few digits to compare, so that many minima are shared."""
    X, p, k = np.full((3, 25), 1e300), 1000.0, 500
    X[1, ::2] = 0.0
    X[2] *= -1.0
    cells = hash_twin.cws_cells(0, np.arange(0, 50, 2), np.arange(k))
    level = np.float32(p * float(hash_twin.log(1e300)))
    a = cells[3] - cells[2] * np.floor(level * cells[0] + cells[1])
    assert ((a == a.min(axis=0)).sum(axis=0) > 1).sum() > 5, (
        "no ties: this test would prove nothing"
    )
    force(monkeypatch, way)
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    actual = hashing.gcws(X, k, bits=16, t_bits=0, coding="lowest", p=p)
    wanted, _ = hash_twin.codes(X, k, bits=16, t_bits=0, coding="lowest", p=p)
    np.testing.assert_array_equal(actual.array, wanted)
    actual = hashing.gcws(X, k, bits=16, p=p)
    np.testing.assert_array_equal(actual.array, hash_twin.codes(X, k, bits=16, p=p)[0])


@pytest.mark.parametrize("way", WAYS)
def test_blocks_of_many_sparse_rows(way, monkeypatch):
    """The sparser the rows, the more of them are taken together: up to 1,024."""
    X = sp.random_array(
        (1500, 3000), density=0.003, random_state=np.random.default_rng(9), format="csr"
    )
    assert hashing.gcws(X, 20).empty.sum() == (np.diff(X.indptr) == 0).sum()
    wanted = np.vstack([hashing.gcws(X[at : at + 7], 20).array for at in range(0, 1500, 7)])
    force(monkeypatch, way)
    np.testing.assert_array_equal(hashing.gcws(X, 20).array, wanted)
    np.testing.assert_array_equal(hashing.gcws(X, 20, n_jobs=1).array, wanted)


def rows_to_fold():
    X = signed_rows(10, 21, 15, density=0.7).copy()
    X[[0, 7, 20]] = 0.0
    return X


@cache
def folded_by_twin(gamma):
    return hash_twin.codes(rows_to_fold(), K, seed=5, gamma=gamma)


@pytest.mark.parametrize("words", [1, 33 * 8, 40 * 8 * 21, 60 * 8 * 21, None])
@pytest.mark.parametrize("way", WAYS)
def test_words_that_are_folded_in_groups(way, words, monkeypatch):
    """Groups of one row and slot, of a few and of all: the codes are the twin's."""
    X = rows_to_fold()
    force(monkeypatch, way)
    if words is not None:
        monkeypatch.setattr(poisson_slots, "WORDS_BYTES", words)
    fold = Spy(monkeypatch, "fold_words")
    for gamma in (0.3, 3.0):
        wanted, empty = folded_by_twin(gamma)
        for stored in (X, sp.csr_array(X)):
            actual = hashing.gcws(stored, K, random_state=5, gamma=gamma)
            np.testing.assert_array_equal(actual.array, wanted)
            np.testing.assert_array_equal(actual.empty, empty)
    assert (fold.calls == 4) == (words is None)


def test_words_are_asked_for_within_their_budget(monkeypatch):
    """For rows and slots of every shape."""
    monkeypatch.setattr(poisson_slots, "WORDS_BYTES", 80_000)
    taken, fold = [], _core.fold_words

    def measured(words, *args):
        taken.append(words.nbytes)
        return fold(words, *args)

    monkeypatch.setattr(_core, "fold_words", measured)
    for n, k, gamma in ((1, 5000, 1.0), (100, 300, 7.0), (1000, 8, 0.5), (40, 2, 200.0)):
        hashing.gcws(np.ones((n, 2)), k, gamma=gamma)
    assert 60_000 < max(taken) <= 80_000


def test_folded_words_of_a_row_by_row_run_draw_every_coordinate_once(monkeypatch):
    X = signed_rows(4, 30, 20, density=0.4)
    wanted = GCWS(K, sampler="cws", gamma=2.0).fit(X).encode(X)
    fill = Spy(monkeypatch, "cws_fill")
    made = GCWS(K, sampler="cws", gamma=2.0).fit(X)
    for row, code in zip(X, wanted, strict=True):
        np.testing.assert_array_equal(made.encode(row[None]).array, code.array)
    assert fill.drawn == (X > 0).any(axis=0).sum() + (X < 0).any(axis=0).sum()
