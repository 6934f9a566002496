"""Files larger than memory: the same rows go as in memory, however little is in memory at once."""

from __future__ import annotations

import dataclasses
import itertools
import os

import numpy as np
import pytest
import scipy.sparse as sp

from kernelight.data import open_dataset
from kernelight.neighbors import banded, deduplicate
from kernelight.neighbors.equal_rows import first_equal_rows
from kernelight.tables import deduplication, near_pairs, row_spool, spooled_deduplication
from kernelight.tables.bucket_candidates import bucket_pairs
from kernelight.tables.deduplication import DedupRows, DedupSettings, deduplicate_rows, open_others
from kernelight.tables.row_spool import DistinctRows, RowSpool, SpooledArray
from kernelight.tables.sorted_runs import SortedRuns
from kernelight.tables.spooled_deduplication import deduplicate_spooled


def similar_rows(seed: int, n: int = 3000, width: int = 400, nonzeros: int = 20) -> sp.csr_matrix:
    """Sparse rows of which a third are copies with a few changes, some equal, some of zeros."""
    random = np.random.default_rng(seed)
    X = sp.random(n, width, nonzeros / width, format="lil", random_state=seed)
    for row in range(2 * n // 3, n):
        X[row] = X[int(random.integers(0, 2 * n // 3))]
        for _ in range(int(random.integers(0, 5))):
            X[row, int(random.integers(0, width))] = random.normal()
    X[::97] = 0
    return X.tocsr()[random.permutation(n)]


def stored(folder, X) -> DedupRows:
    path = folder / "rows.npz"
    if sp.issparse(X):
        sp.save_npz(path, X)
    else:
        np.savez(path, X=X)
    return DedupRows(open_dataset(path, target=None))


FIELDS = ("kept", "survivor", "similarity", "cluster", "equal", "n_empty", "threshold", "capped")


def assert_same(found, wanted, *, pairs: bool = True) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    if pairs:
        for one, other in zip(found.pairs, wanted.pairs, strict=True):
            np.testing.assert_array_equal(one, other)


def assert_same_pairs(found, wanted) -> None:
    """The tables of pairs are equal, and so is all that a report takes of them."""
    tables = []
    for one in (found, wanted):
        batches = list(one.pair_batches())
        tables.append({name: np.concatenate([b[name] for b in batches]) for name in batches[0]})
        row = tables[-1]["row"]
        assert (np.diff(row) >= 0).all()
    for name in tables[0]:
        np.testing.assert_array_equal(tables[0][name], tables[1][name], err_msg=name)
    assert len(found.near) == len(wanted.found.pairs.i) > 0
    edges = np.linspace(wanted.settings.threshold, 1.0, 8)
    counts = np.histogram(np.clip(wanted.found.pairs.similarity, edges[0], 1.0), edges)[0]
    assert found.near.histogram(edges).tolist() == counts.tolist()
    least = sorted(zip(*wanted.found.pairs, strict=True), key=lambda pair: (pair[2], *pair[:2]))
    assert found.near.least(5) == [tuple(pair) for pair in least[:5]]


@pytest.fixture(params=["roomy", "tight"])
def room(request, monkeypatch):
    """With next to no room, every step works on a few rows at a time."""
    if request.param == "tight":
        monkeypatch.setattr(spooled_deduplication._Spooled, "_room", lambda self, part: 20_000)
        monkeypatch.setattr(spooled_deduplication, "batch_rows", lambda *_: 173)
        monkeypatch.setattr(spooled_deduplication, "LEAST_ROWS", 137)
        monkeypatch.setattr(row_spool, "GAP", 64)
        monkeypatch.setattr(spooled_deduplication, "_FEW", 7)
        monkeypatch.setattr(near_pairs.NearPairs.batches, "__defaults__", (11,))
        monkeypatch.setattr(near_pairs, "AT_ONCE", 13)
        monkeypatch.setattr(deduplication, "AT_ONCE", 13)
    return request.param


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("keep", ["first", "last"])
@pytest.mark.parametrize("linkage", ["leader", "components"])
def test_the_same_rows_go_as_in_memory(tmp_path, dense, keep, linkage):
    X = similar_rows(1)
    X = X.toarray() if dense else X
    settings = DedupSettings(0.7, keep=keep, linkage=linkage, method="bands")
    rows = stored(tmp_path, X)
    wanted = deduplicate_rows(rows, settings)
    assert 200 < wanted.found.n_near < 1500
    assert wanted.found.n_identical > 50
    beside = str(tmp_path / "out")
    found = deduplicate_spooled(rows, settings, memory=4 << 30, beside=beside, all_pairs=True)
    assert_same(found.found, wanted.found, pairs=False)
    assert_same_pairs(found, wanted)
    assert found.plan == wanted.plan
    found.close()
    python = deduplicate(X, 0.7, keep=keep, linkage=linkage, method="bands")
    assert_same(found.found, python, pairs=False)
    few = deduplicate_spooled(rows, settings, memory=4 << 30, beside=beside)
    assert_same(few.found, wanted.found, pairs=False)
    assert len(few.near) <= len(wanted.near)
    assert os.listdir(tmp_path) == ["rows.npz"]


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("linkage", ["leader", "components"])
def test_rows_of_another_file(tmp_path, linkage):
    X = similar_rows(2)
    settings = DedupSettings(0.7, linkage=linkage, method="exact")
    rows = stored(tmp_path, X)
    sp.save_npz(tmp_path / "other.npz", similar_rows(2)[:900:3])
    rows, others = open_others(rows, tmp_path / "other.npz")
    wanted = deduplicate_rows(rows, settings, against=others)
    assert wanted.found.n_matched > 100
    # bands of a high recall find all pairs of so few rows
    banded_settings = dataclasses.replace(settings, method="bands", recall=0.99999999)
    found = deduplicate_spooled(
        rows, banded_settings, memory=4 << 30, beside=str(tmp_path / "x"), against=others
    )
    assert_same(found.found, wanted.found, pairs=False)


@pytest.mark.usefixtures("room")
def test_buckets_above_the_cap(tmp_path, monkeypatch):
    monkeypatch.setattr(spooled_deduplication, "BUCKET_CAP", 3)
    monkeypatch.setattr(banded, "BUCKET_CAP", 3)
    random = np.random.default_rng(0)
    X = 5 + random.random((800, 30))  # all rows are similar, so that buckets are large
    settings = DedupSettings(0.95, method="bands")
    rows = stored(tmp_path, X)
    capped = banded.BandSearch.__init__.__kwdefaults__
    monkeypatch.setitem(capped, "cap", 3)
    wanted = deduplicate_rows(rows, settings)
    assert wanted.found.capped > 0
    found = deduplicate_spooled(
        rows, settings, memory=4 << 30, beside=str(tmp_path / "x"), all_pairs=True
    )
    assert_same(found.found, wanted.found, pairs=False)
    assert_same_pairs(found, wanted)


def test_powers_have_one_scale(tmp_path, monkeypatch):
    monkeypatch.setattr(spooled_deduplication, "batch_rows", lambda *_: 211)
    X = abs(similar_rows(3))
    settings = DedupSettings(0.7, p=1.7, method="bands")
    rows = stored(tmp_path, X)
    found = deduplicate_spooled(
        rows, settings, memory=4 << 30, beside=str(tmp_path / "x"), all_pairs=True
    )
    wanted = deduplicate_rows(rows, settings)
    assert_same(found.found, wanted.found, pairs=False)
    assert_same_pairs(found, wanted)


@pytest.mark.parametrize("X", [np.ones((1, 3)), np.zeros((5, 3)), np.ones((4, 2))])
def test_hardly_any_rows(tmp_path, X):
    rows = stored(tmp_path, X)
    settings = DedupSettings(method="bands")
    found = deduplicate_spooled(rows, settings, memory=4 << 30, beside=str(tmp_path / "x"))
    wanted = deduplicate(X, method="bands")
    np.testing.assert_array_equal(found.found.kept, wanted.kept)
    np.testing.assert_array_equal(found.found.survivor, wanted.survivor)


def test_too_little_memory_is_one_sentence(tmp_path):
    rows = stored(tmp_path, similar_rows(1))
    with pytest.raises(ValueError, match=r"memory is 50 MB, but .* takes? at least .* MB: allow"):
        deduplicate_spooled(rows, DedupSettings(), memory=50 << 20, beside=str(tmp_path / "x"))


# -- Pieces


def test_buckets_give_each_pair_once():
    random = np.random.default_rng(0)
    keys = np.sort(random.integers(0, 12, 100)).astype(np.uint64)
    rows = np.empty(100, dtype=np.int64)
    for key in np.unique(keys):
        rows[keys == key] = np.sort(random.choice(1000, int((keys == key).sum()), replace=False))
    for cap in (1, 3, 100):
        for most in (1, 7, 1000):
            parts = list(bucket_pairs(keys, rows, cap, most))
            assert all(len(i) <= most for i, _ in parts)
            found = [(int(a), int(b)) for i, j in parts for a, b in zip(i, j, strict=True)]
            wanted = []
            for key in np.unique(keys):
                bucket = rows[keys == key]
                wanted += [
                    (int(a), int(b)) for at, a in enumerate(bucket[:cap]) for b in bucket[at + 1 :]
                ]
            assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize("most", [1, 10, 100, 10_000])
def test_runs_come_back_in_order(tmp_path, most):
    random = np.random.default_rng(most)
    runs = SortedRuns(str(tmp_path / "x"))
    parts = [
        np.sort(
            (random.integers(0, 50, size) << 32 | random.integers(0, 1 << 20, size)).astype(
                np.uint64
            )
        )
        for size in (1, 200, 0, 777, 513)
    ]
    for part in parts:
        runs.append(part)
    found = list(runs.parts(most))
    np.testing.assert_array_equal(np.concatenate(found), np.sort(np.concatenate(parts)))
    for one, other in itertools.pairwise(found):
        assert one[-1] >> np.uint64(32) < other[0] >> np.uint64(32)
    if most == 100:
        assert len(found) > 5
    assert list(SortedRuns(str(tmp_path / "y")).parts(5)) == []


@pytest.mark.parametrize("gap", [0, 40, 1 << 14])
def test_ranges_of_a_spooled_array(tmp_path, monkeypatch, gap):
    monkeypatch.setattr(row_spool, "GAP", gap)
    array = SpooledArray(str(tmp_path / "x"), np.float64)
    values = np.random.default_rng(0).random(500)
    array.append(values[:100])
    array.append(values[100:])
    starts = np.array([0, 3, 3, 50, 51, 499])
    stops = np.array([2, 3, 7, 51, 80, 500])
    wanted = np.concatenate([values[a:b] for a, b in zip(starts, stops, strict=True)])
    np.testing.assert_array_equal(array.read_parts(starts, stops), wanted)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("piece", [100, 3000])
def test_a_full_disk_is_named_once(tmp_path, piece):
    """And closing the file, whose last piece was not written, says no more."""
    resource = pytest.importorskip("resource", reason="the system has no limits of files")
    array = SpooledArray(str(tmp_path / "x"), np.float64)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(OSError, match=r"File too large.*x'"):  # noqa: PT012 (which one fails)
            for _ in range(100):
                array.append(np.ones(piece))
        array.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("dense", [False, True])
def test_spooled_rows_are_those_that_were_written(tmp_path, dense):
    X = similar_rows(0, 200)
    X = X.toarray() if dense else X
    spool = RowSpool(str(tmp_path / "x"), X)
    for start in range(0, 200, 37):
        spool.append(X[start : start + 37])
        rows = np.arange(0, spool.shape[0], 3)
        assert abs(spool.take(rows) - X[rows]).max() == 0


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("same", [False, True], ids=["fingerprints", "all fingerprints equal"])
def test_equal_rows_are_found_across_batches(tmp_path, monkeypatch, dense, same):
    X = similar_rows(4, 300)
    X = X.toarray() if dense else X
    if same:
        monkeypatch.setattr(
            row_spool, "row_fingerprints", lambda X: np.zeros(X.shape[0], dtype=np.uint64)
        )
    known = DistinctRows(str(tmp_path / "x"), X, unite_empty=dense)
    place = np.concatenate([known.add(X[start : start + 41]) for start in range(0, 300, 41)])
    first = first_equal_rows(X, unite_empty=dense)
    distinct = np.flatnonzero(first == np.arange(300))
    np.testing.assert_array_equal(place, np.searchsorted(distinct, first))
    assert abs(known.spool.take(np.arange(len(distinct))) - X[distinct]).max() == 0
