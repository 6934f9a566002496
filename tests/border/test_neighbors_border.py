"""The compiled searches refuse wrong arrays; otherwise they would read outside of them."""

from __future__ import annotations

import numpy as np
import pytest

from kernelight import _core

REFUSED = (TypeError, ValueError)
SPARSE = {
    "values": np.array([1.0, 2.0, 3.0]),
    "indices": np.array([0, 2, 1], np.int32),
    "indptr": np.array([0, 2, 3], np.int32),
    "n_cols": 3,
    "sums": np.array([3.0, 3.0]),
    "nonnegative": True,
}
DENSE = {**SPARSE, "values": np.ones((2, 3)), "indices": None, "indptr": None}


def summed(kind=SPARSE, **changes):
    return _core.SummedRows(**{**kind, **changes})


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": np.ones(2)},
        {"values": np.ones(3, int)},
        {"indices": np.array([0, 3, 1], np.int32)},
        {"indices": np.array([0, -1, 1], np.int32)},
        {"indices": np.array([0, 2, 1])},
        {"indices": None},
        {"indptr": np.array([0, 2, 4], np.int32)},
        {"indptr": np.array([0, 5, 3], np.int32)},
        {"indptr": np.array([1, 2, 3], np.int32)},
        {"indptr": np.array([], np.int32)},
        {"n_cols": 2},
        {"sums": np.ones(3)},
        {"sums": np.ones(2, "f4")},
    ],
    ids=lambda wrong: ",".join(wrong),
)
def test_rows_refuse(wrong):
    summed()
    with pytest.raises(REFUSED):
        summed(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"values": np.ones((2, 4))}, {"values": np.ones(6)}, {"values": np.ones((2, 6))[:, ::2]}],
)
def test_dense_rows_refuse(wrong):
    summed(DENSE)
    with pytest.raises(REFUSED):
        summed(DENSE, **wrong)


def of_pairs(x=None, y=None, i=(0, 1), j=(1, 1), out=2):
    i, j = (np.array(rows, dtype=np.int64) for rows in (i, j))
    _core.minmax_of_pairs(x or summed(), y or summed(), i, j, np.empty(out), 1, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"i": (0, 2)},
        {"i": (-1, 0)},
        {"j": (0, 9)},
        {"j": (0,)},
        {"out": 3},
        {"y": summed(DENSE)},
        {"y": summed(n_cols=4)},
        {
            "y": summed(
                indices=SPARSE["indices"].astype(np.int64), indptr=SPARSE["indptr"].astype(np.int64)
            )
        },
    ],
)
def test_pairs_refuse(wrong):
    of_pairs()
    with pytest.raises(REFUSED):
        of_pairs(**wrong)


@pytest.mark.parametrize("candidates", [[[0, 2], [0, 0]], [[0, -2], [0, 0]], [[0, 1]]])
def test_candidates_refuse(candidates):
    with pytest.raises(REFUSED):
        _core.best_candidates(
            summed(),
            summed(),
            np.array(candidates, dtype=np.int64),
            np.empty((len(candidates), 1), np.int64),
            np.empty((len(candidates), 1)),
            1,
            2,
        )


def test_bands_refuse():
    codes, keys = np.zeros((4, 6), np.uint8), np.zeros((4, 2), np.uint32)
    counts, late = np.empty((2, 4), np.int64), np.zeros((4, 2), bool)
    _core.band_keys(codes, 3, keys, 1)
    _core.band_tables(keys, None, 5, None, None, counts, 1)
    rows = summed(DENSE, values=np.ones((4, 3)), sums=np.full(4, 3.0))
    table = np.zeros((2, 4), np.uint32)

    def joined(**wrong):
        given = {"keys": keys, "begin": 0, "end": 2, "late": late, "cap": 3, "rows": rows}
        given |= {"sketch": None, "empty": None, "least": 0, "groups": None}
        given |= {"unit": 1.0, "threshold": 0.5}
        return _core.band_join(**{**given, **wrong}, threads=1, simd=2)

    (i, j, values), *_ = joined()
    assert list(zip(i, j, values, strict=True)) == [(a, b, 1) for b in range(4) for a in range(b)]
    assert [len(column) for column in joined(rows=None)[0]] == [6, 6, 6]
    _core.band_late_rows(keys, None, 3, late, 1)
    assert late[:, 0].tolist() == [False, False, False, True]
    calls = [
        lambda: _core.band_keys(codes, 4, keys, 1),
        lambda: _core.band_keys(codes, 0, keys, 1),
        lambda: _core.band_keys(codes[:3], 3, keys, 1),
        lambda: _core.band_tables(keys, np.zeros(3, bool), 5, None, None, counts, 1),
        lambda: _core.band_tables(keys, None, 0, None, None, counts, 1),
        lambda: _core.band_tables(keys, None, 5, table, None, counts, 1),
        lambda: _core.band_tables(keys, None, 5, table[:, :3].copy(), table, counts, 1),
        lambda: _core.band_tables(keys, None, 5, None, None, counts[:1].copy(), 1),
        lambda: _core.band_late_rows(keys, None, 0, late, 1),
        lambda: _core.band_late_rows(keys, None, 1, late[:3].copy(), 1),
        lambda: joined(end=3),
        lambda: joined(begin=-1),
        lambda: joined(cap=0),
        lambda: joined(groups=np.ones((3, 64), np.uint8)),
        lambda: joined(groups=np.ones((4, 32), np.uint8)),
        lambda: joined(groups=np.ones((4, 64), np.uint8), rows=None),
        lambda: joined(late=np.zeros((4, 1), bool)),
        lambda: joined(rows=summed()),
        lambda: joined(sketch=np.zeros((3, 8), np.uint8)),
        lambda: _core.band_matches(table, table, np.zeros((1, 3), np.uint32), None, 5, 1),
    ]
    for call in calls:
        with pytest.raises(REFUSED):
            call()


def test_rows_of_tables_that_lie_outside_are_left_out():
    """Tables may come from a file: a row beyond the last is none."""
    keys, rows = np.zeros((1, 3), np.uint32), np.array([[0, 7, 2**32 - 1]], np.uint32)
    starts, found = _core.band_matches(keys, rows, np.zeros((1, 1), np.uint32), None, 9, 1)
    assert starts.tolist() == [0, 1]
    assert found.tolist() == [0]


def test_scans_refuse():
    codes, rows = np.zeros((4, 6), np.uint8), np.empty((2, 3), np.int64)
    _core.scan_codes(codes, None, codes[:2], None, rows, 1, 2)
    inside, outside = np.array([0, 3]), np.array([0, 4])
    out = np.empty(2, np.int32)
    calls = [
        lambda: _core.scan_codes(codes, None, codes[:2, :5].copy(), None, rows, 1, 2),
        lambda: _core.scan_codes(codes, None, codes, None, rows, 1, 2),
        lambda: _core.scan_codes(codes, np.zeros(3, bool), codes[:2], None, rows, 1, 2),
        lambda: _core.equal_slots_of_pairs(codes, None, codes, None, inside, outside, out, 1, 2),
        lambda: _core.equal_slots_of_pairs(codes, None, codes, None, -inside, inside, out, 1, 2),
    ]
    for call in calls:
        with pytest.raises(REFUSED):
            call()


def test_lists_refuse():
    ranks, weights = np.zeros(3, np.uint32), np.ones(3, np.float32)
    starts, sums = np.array([0, 2, 3]), np.array([2.0, 1.0])
    ranked = _core.RankedRows(ranks, weights, starts, sums)
    counts = np.empty(2, np.int64)
    listed = _core.count_listed(ranked, 0.5, 0.0, counts)

    def lists(rows=None):
        rows = np.zeros(listed, np.uint32) if rows is None else rows
        return _core.PrefixLists(counts, rows, np.ones(len(rows), "f4"), np.ones(len(rows), "f4"))

    _core.fill_lists(ranked, 0.5, 0.0, lists())
    beyond = _core.RankedRows(np.full(3, 9, np.uint32), weights, starts, sums)
    backwards = _core.RankedRows(ranks, weights, np.array([0, 9, 3]), sums)
    order, both = np.array([0, 1]), summed()
    calls = [
        lambda: _core.RankedRows(ranks[:2].copy(), weights, starts, sums),
        lambda: _core.count_listed(beyond, 0.5, 0.0, counts),
        lambda: _core.count_listed(backwards, 0.5, 0.0, counts),
        lambda: _core.fill_lists(ranked, 0.9, 0.0, lists(np.zeros(1, np.uint32))),
        lambda: _core.join_cost(ranked, 0.5, 0.0, lists(), np.array([2])),
        lambda: _core.prefix_join(
            ranked, 0.5, 0.0, lists(np.full(listed, 5, np.uint32)), order, 0, 2, both, 1, 2
        ),
        lambda: _core.prefix_join(ranked, 0.5, 0.0, lists(), order, 0, 3, both, 1, 2),
        lambda: _core.prefix_join(ranked, 0.5, 0.0, lists(), order + 1, 0, 2, both, 1, 2),
    ]
    for call in calls:
        with pytest.raises(REFUSED):
            call()
    ints = np.array([0, 0], np.int32)
    with pytest.raises(REFUSED):
        _core.ColumnLists64(
            np.ones(2), np.array([0, 2], np.int32), np.array([0, 2], np.int32), sums
        )
    made = _core.ColumnLists64(np.ones(2), ints, np.array([0, 2], np.int32), sums)
    with pytest.raises(REFUSED):
        made.above(both, 0.5, 1)
