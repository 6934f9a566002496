"""What workers do to find duplicates, without an engine: the same as on one machine."""

from __future__ import annotations

import datetime
import itertools

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from kernelight.data.texts import TextShingles
from kernelight.neighbors.banded import BandJoin
from kernelight.tables import witness_rows
from kernelight.tables.arrow_duplicates import (
    Bucketed,
    BucketScan,
    banded_settings,
    check_counts,
    most_similar,
    similarities,
)
from kernelight.tables.arrow_rows import table_rows, text_rows
from kernelight.tables.deduplication import open_rows


def table(n=300, seed=0):
    """Numbers, words, dates, all with missing cells; the rarest word is last."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).round(1)
    x[rng.random(n) < 0.1] = np.nan
    words = rng.choice(["red", "green", "blue"], n).tolist()
    words[-1], words[5] = "rare", None
    days = [
        datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=int(at * 7)) for at in range(n)
    ]
    days[9] = None
    return pa.table(
        {
            "x": pa.array(x, from_pandas=True),
            "bit": rng.integers(0, 2, n),
            "word": words,
            "day": days,
        }
    )


# -- Buckets


def entries_of(keys, sketch):
    """Entries of buckets in order, as an engine sorts them."""
    n, bands = keys.shape
    bucket = (keys.astype(np.int64) | (np.arange(bands) << 32)).reshape(-1)
    row = np.repeat(np.arange(n), bands)
    order = np.lexsort((row, bucket))
    return Bucketed(bucket[order], row[order], np.repeat(sketch, bands, axis=0)[order])


@pytest.mark.parametrize("cap", [1, 3, 1000])
@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("least", [0, 3])
def test_buckets_give_the_pairs_of_one_machine(cap, size, least):
    rng = np.random.default_rng(cap)
    keys = rng.integers(0, 9, (120, 4)).astype(np.uint32)
    keys[:40, 1] = 5  # a popular one
    sketch = rng.integers(0, 3, (120, 8)).astype(np.uint8)
    join = BandJoin(keys, None, sketch, cap, 1)
    wanted = {
        (a, b)
        for found in join.pairs(least, None, 0.0)
        for a, b in zip(found[0].tolist(), found[1].tolist(), strict=True)
    }
    entries = entries_of(keys, sketch)
    scan = BucketScan(cap, least)
    pairs, capped = [], []
    for start in range(0, len(entries.bucket), size):
        for found in scan.add(entries.take(np.arange(start, min(start + size, 480)))):
            pairs += zip(found.a.tolist(), found.b.tolist(), strict=True)
            capped += found.capped.tolist()
    assert set(pairs) == wanted
    assert len(capped) == len(set(capped)) == join.counts.capped


@pytest.mark.parametrize("size", [1, 5, 10_000])
@pytest.mark.parametrize("cap", [2, 100])
def test_rows_of_two_sets_meet_those_of_the_other(size, cap):
    rng = np.random.default_rng(cap)
    bucket = np.sort(rng.integers(0, 12, 200))
    seeking = rng.random(200) < 0.4
    order = np.lexsort((seeking, bucket))
    seeking = seeking[order]
    rows = np.arange(200)
    scan, pairs, capped = BucketScan(cap, 0), [], []
    for start in range(0, 200, size):
        some = slice(start, start + size)
        part = Bucketed(bucket[some], rows[some], np.zeros((len(rows[some]), 0), np.uint8))
        for found in scan.add(part, seeking[some]):
            pairs += zip(found.a.tolist(), found.b.tolist(), strict=True)
            capped += found.capped.tolist()
    wanted, popular = [], []
    for key in np.unique(bucket):
        met = rows[(bucket == key) & ~seeking]
        wanted += itertools.product(met[:cap].tolist(), rows[(bucket == key) & seeking].tolist())
        popular += [key] * (len(met) > cap)
    assert sorted(pairs) == sorted(wanted)
    assert sorted(capped) == popular


# -- Rows


def test_witnesses_teach_what_all_rows_teach(monkeypatch):
    whole = table()
    monkeypatch.setattr(witness_rows, "AT_ONCE", 20)
    for size in (1, 37, 300):
        found = pa.Table.from_batches(
            list(witness_rows.witnesses(whole.to_batches(max_chunksize=size), 100))
        )
        assert found.num_rows < 40
        known = table_rows([whole.slice(0, 20), found])
        wanted = table_rows([whole])
        assert known.names == wanted.names
        assert known.gaps == wanted.gaps
        assert known.encoding.feature_names == wanted.encoding.feature_names
        for name, values in wanted.scaling.arrays.items():
            np.testing.assert_array_equal(known.scaling.arrays[name], values)


def test_rows_are_those_of_a_file():
    whole = table()
    for scale in (None, "none"):
        rows = table_rows([whole], scale=scale)
        opened = open_rows(whole, scale=scale)
        X = opened.whole()[0]
        np.testing.assert_array_equal(rows.matrix(whole), X)
        np.testing.assert_array_equal(rows.compared(rows.matrix(whole)), opened.compared(X))
        parts = [rows.matrix(batch) for batch in whole.to_batches(max_chunksize=7)]
        np.testing.assert_array_equal(np.concatenate(parts), X)
    assert rows.matrix(whole.slice(0, 0)).shape == (0, rows.width)


def test_packed_rows_come_back():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(20, 5))
    sparse = dense * (rng.random((20, 5)) < 0.2)
    for X in (dense, sparse):
        rows = table_rows([pa.table({f"x{at}": X[:, at] for at in range(5)})], scale="none")
        assert rows.sparse == (X is sparse)
        for some in (X, X[3:4], X[:0]):
            back = rows.unpacked(*rows.packed(some))
            np.testing.assert_array_equal(back, some)
        at, values = rows.packed(X)
        np.testing.assert_array_equal(rows.unpacked(at.slice(3, 4), values.slice(3, 4)), X[3:7])
    texts = text_rows(["body"], TextShingles())
    given = pa.table({"body": ["a b c", None, "a b d", "NA", " a  B c "]})
    X = texts.matrix(given)
    back = texts.unpacked(*texts.packed(X))
    assert (abs(X - back)).nnz == 0
    assert texts.empty(X).tolist() == [False, True, False, True, False]
    digests = texts.digests(X).to_pylist()
    assert digests[0] == digests[4] != digests[2]
    assert digests[1] is digests[3] is None  # texts without a word are equal to no other
    with pytest.raises(ValueError, match="null: this frame"):
        texts.unpacked(pa.array([b"", None]), pa.array([b"", None]))


def test_digests_say_which_rows_are_equal():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, -0.0], [0.0, 1 + 2e-16]])
    for rows in (
        table_rows([pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]})], scale="none"),
        table_rows([pa.table({"a": [0.0, 2.0, 0, 0], "b": [0.0, 0, 0, 0]})], scale="none"),
    ):
        first, second, *others, next_to_one = rows.digests(X).to_pylist()
        assert first == second
        assert others[1] == others[2]  # of records zeros are values
        assert len({first, *others, next_to_one}) == 4


def test_similarities_are_those_of_exact_rows():
    rng = np.random.default_rng(1)
    X = np.abs(rng.normal(size=(30, 4)))
    rows = table_rows([pa.table({f"x{at}": X[:, at] for at in range(4)})], p=2.0, scale="none")
    rows = rows.with_peak(rows.largest(X))
    K = np.minimum(X[:, None] ** 2, X[None] ** 2).sum(2) / np.maximum(
        X[:, None] ** 2, X[None] ** 2
    ).sum(2)
    np.testing.assert_allclose(similarities(rows, X[:-1], X[1:]), np.diag(K, 1))
    best = np.full((5, 3), -1.0)
    for start in (0, 11):
        best = most_similar(rows, X[:5], X[start : start + 11], best)
    np.testing.assert_allclose(best, -np.sort(-K[:5, :22], axis=1)[:, :3])


def test_what_cannot_be_compared():
    with pytest.raises(ValueError, match="df, column 'x' is text that reads as dates"):
        table_rows([pa.table({"x": ["2024-01-01", "2024-02-01"] * 9})])
    with pytest.raises(ValueError, match="the rows has no rows"):
        table_rows([pa.table({"x": pa.array([], pa.float64())})], label="the rows")
    with pytest.raises(ValueError, match="scale must be 'records' or 'none' here"):
        table_rows([pa.table({"x": [1.0, 2.0]})], scale="quantile")
    rows = table_rows([pa.table({"x": [1, 2]})])
    with pytest.raises(ValueError, match="more digits than double precision holds"):
        rows.matrix(pa.table({"x": [2**53 + 1, 3]}))
    with pytest.raises(ValueError, match="infinity is no value"):
        list(witness_rows.witnesses(pa.table({"x": [1.0, np.inf]}).to_batches(), 100))
    with pytest.raises(ValueError, match="for one machine"):
        banded_settings(0.8, 1.0, "exact", 0.95, 0)
    with pytest.raises(ValueError, match="method must be"):
        banded_settings(0.8, 1.0, "graph", 0.95, 0)
    with pytest.raises(ValueError, match="cap must be"):
        check_counts(cap=0)
    assert sp.issparse(text_rows(["t"], TextShingles()).matrix(pa.table({"t": ["a"]})))
