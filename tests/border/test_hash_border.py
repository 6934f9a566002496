"""Odd input to the hash: numbers, shapes and damage are hashed rightly or refused.

Long, because the samplers share their odd rows and every kind of damage is tried on each of them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers import assert_same_codes, frozen, sentence, signed_rows, storages
from oracles import hash_twin

from kernelight import GCWS, _core, hashing
from kernelight.kernels import GMM

DART = {"sampler": "dart", "scale": 0.25}
both = pytest.mark.parametrize("sampler", [{}, DART], ids=["cws", "dart"])


def whole_numbers():
    rng = np.random.default_rng(1)
    return frozen(rng.integers(0, 100, (9, 5)) * (rng.random((9, 5)) < 0.7))


@both
def test_every_storage_of_one_matrix(sampler):
    X = signed_rows(2, 25, 7, density=0.6, dtype=np.float32).astype(np.float64)
    wanted = hashing.gcws(X, 40, **sampler)
    for name, stored in storages(X).items():
        assert_same_codes(hashing.gcws(stored, 40, **sampler), wanted, name)


WHOLE = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
OTHER = ["float16", "float32", "longdouble", ">f4", ">f8", ">i4", "object"]


@both
@pytest.mark.parametrize("kind", WHOLE + OTHER)
def test_every_kind_of_number(kind, sampler):
    X = whole_numbers()
    wanted = hashing.gcws(X.astype(np.float64), 40, **sampler)
    assert_same_codes(hashing.gcws(X.astype(kind), 40, **sampler), wanted)
    assert_same_codes(hashing.gcws(np.asfortranarray(X.astype(kind)), 40, **sampler), wanted)
    if kind in WHOLE:
        assert_same_codes(hashing.gcws(sp.csr_matrix(X.astype(kind)), 40, **sampler), wanted)


@both
def test_booleans(sampler):
    X = whole_numbers() > 20
    wanted = hashing.gcws(X.astype(np.float64), 40, **sampler)
    assert_same_codes(hashing.gcws(X, 40, **sampler), wanted)
    assert_same_codes(hashing.gcws(sp.csr_array(X), 40, **sampler), wanted)


@both
def test_frames_and_friends(sampler):
    X = whole_numbers().astype(np.float64)
    wanted = hashing.gcws(X, 40, **sampler)
    frame = pd.DataFrame(X, columns=list("abcde"))
    sparse = frame.astype(pd.SparseDtype(float, 0.0))
    for given in (frame, frame.astype(np.int32), sparse, tuple(map(tuple, X))):
        assert_same_codes(hashing.gcws(given, 40, **sampler), wanted)
    with pytest.raises(ValueError, match=sentence("NaN at row 1, column 0")):
        hashing.gcws(pd.DataFrame({"a": [1.0, None]}), 8, **sampler)


@both
def test_nothing_is_written_to_the_input(sampler):
    dense = frozen(signed_rows(3, 6, 5))
    sparse = sp.csr_matrix(dense)
    for part in (sparse.data, sparse.indices, sparse.indptr):
        part.flags.writeable = False
    assert_same_codes(hashing.gcws(sparse, 8, **sampler), hashing.gcws(dense, 8, **sampler))
    unsorted = storages(dense)["csr unsorted"]
    before = unsorted.indices.copy()
    hashing.gcws(unsorted, 8, **sampler)
    np.testing.assert_array_equal(unsorted.indices, before)


@both
def test_no_rows_no_columns_one_of_each(sampler):
    for empty in (
        np.zeros((0, 3)),
        np.zeros((0, 0)),
        sp.csr_matrix((0, 3)),
        sp.csr_array((0, 10**9)),
    ):
        codes = hashing.gcws(empty, 8, **sampler)
        assert (codes.shape, codes.array.dtype) == ((0, 8), np.uint8)
    for no_columns in (
        np.zeros((3, 0)),
        sp.csr_matrix((3, 5)),
        sp.csr_array((3, 10**12)),
        np.zeros((3, 1)),
    ):
        codes = hashing.gcws(no_columns, 8, **sampler)
        assert codes.empty.tolist() == [True] * 3
        assert not codes.array.any()
    actual = hashing.gcws([[2.5]], 8, **sampler)
    np.testing.assert_array_equal(actual.array, hash_twin.codes([[2.5]], 8, **sampler)[0])


def test_an_estimator_needs_rows_and_columns():
    for X, words in ((np.zeros((0, 3)), "0 sample"), (np.zeros((3, 0)), "0 feature")):
        with pytest.raises(ValueError, match=words):
            GCWS(8).fit(X)
    with pytest.raises(ValueError, match="0 sample"):
        GCWS(8).fit(np.ones((1, 3))).encode(np.zeros((0, 3)))


@both
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([[1.0, 2.0], [3.0, np.nan]], "NaN at row 1, column 1"),
        ([[1.0, np.inf], [3.0, 4.0]], "infinity at row 0, column 1"),
        ([[np.inf, -np.inf], [3.0, 4.0]], "infinity at row 0, column 0"),
        ([[1.0, 2.0], [-np.inf, np.nan]], "infinity at row 1, column 0"),
    ],
)
def test_not_a_number(values, words, sampler):
    for stored in (
        np.array(values),
        np.array(values, np.float32),
        sp.csr_matrix(values),
        sp.csc_array(values),
    ):
        with pytest.raises(ValueError, match=sentence(words)):
            hashing.gcws(stored, 8, **sampler)
        for call in (GCWS(8).fit, GCWS(8).fit(np.ones((2, 2))).encode):
            with pytest.raises(ValueError, match=sentence(words)):
                call(stored)


@both
@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([1.0, 2.0], "1D array"),
        (5.0, "0D array"),
        (None, "0D array"),
        (np.ones((2, 2, 2)), "3D array"),
        (sp.coo_array(np.ones(3)), "1 dimension"),
        (np.ones((2, 2)) * 1j, "Complex data not supported"),
        (sp.csr_matrix(np.ones((2, 2)) * 1j), "Complex data not supported"),
    ],
    ids=str,
)
def test_refused_in_a_sentence(X, words, sampler):
    with pytest.raises(ValueError, match=sentence(words)):
        hashing.gcws(X, 8, **sampler)


@pytest.mark.parametrize("X", [[["a", "b"]], [[1.0], [1.0, 2.0]], [[{}]]], ids=str)
def test_refused_somehow(X):
    with pytest.raises((TypeError, ValueError)):
        hashing.gcws(X, 8)


def damaged(change, X=None):
    X = sp.csr_matrix(np.eye(3)) if X is None else X
    change(X)
    return X


def put(name, at, value):
    def change(X):
        getattr(X, name)[at] = value

    return change


def cut(name):
    def change(X):
        setattr(X, name, getattr(X, name)[:-1])

    return change


DAMAGES = {
    "index too large": put("indices", 1, 10**9),
    "index just too large": put("indices", 1, 3),
    "negative index": put("indices", 1, -1),
    "falling indptr": put("indptr", slice(1, 3), [3, 1]),
    "indptr beyond the end": put("indptr", 3, 10**8),
    "indptr not from 0": put("indptr", 0, 1),
    "negative indptr": put("indptr", 1, -(10**8)),
    "short data": cut("data"),
    "short indices": cut("indices"),
    "short indptr": cut("indptr"),
}


@both
@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_csr_matrix_is_refused(name, sampler):
    with pytest.raises(ValueError, match="not a valid sparse matrix"):
        hashing.gcws(damaged(DAMAGES[name]), 8, **sampler)
    with pytest.raises(ValueError, match="not a valid sparse matrix"):
        GCWS(8).fit(np.eye(3)).encode(damaged(DAMAGES[name]))


@both
def test_a_csr_matrix_with_room_to_spare(sampler):
    """scipy allows arrays longer than indptr says; what lies beyond, even NaN, does not count."""
    X = sp.csr_matrix(np.eye(3))
    X.data, X.indices = np.append(X.data, 7.0), np.append(X.indices, 2).astype(np.int32)
    assert_same_codes(hashing.gcws(X, 8, **sampler), hashing.gcws(np.eye(3), 8, **sampler))


@both
def test_duplicates_are_added_and_explicit_zeros_ignored(sampler):
    X = sp.csr_matrix(([1.0, 2.0, 0.0, 5.0, -5.0], [0, 0, 1, 2, 2], [0, 5]), shape=(1, 3))
    assert_same_codes(
        hashing.gcws(X, 30, **sampler), hashing.gcws([[3.0, 0.0, 0.0]], 30, **sampler)
    )
    assert X.nnz == 5
    gone = sp.csr_matrix(([5.0, -5.0], [2, 2], [0, 2]), shape=(1, 3))
    assert hashing.gcws(gone, 30, **sampler).empty.tolist() == [True]


@pytest.mark.parametrize("normalize", [None, "l1"])
@pytest.mark.parametrize(
    "row",
    [
        [5e-324],
        [1e308],
        [5e-324, 1e308],
        [1.7e308, -1.7e308, 1.7e308],
        [2.0**-1022, 2.0**-1074],
        [1.0, 5e-324],
    ],
    ids=str,
)
def test_extreme_values(row, normalize):
    actual = hashing.gcws([row], 40, bits=16, normalize=normalize)
    np.testing.assert_array_equal(
        actual.array, hash_twin.codes([row], 40, bits=16, normalize=normalize)[0]
    )


def test_extreme_rows_in_an_estimator():
    X = np.array([[5e-324, 0.0], [1.7e308, 1.7e308]])
    made = GCWS(16).fit(X)
    assert made.sampler_ == "cws"
    np.testing.assert_array_equal(made.encode(X).array, hash_twin.codes(X, 16)[0])


@pytest.mark.parametrize(
    ("row", "scale"),
    [
        ([2.0**102], 1.0),
        ([2.0**-101], 1.0),
        ([1.7e308], 1.0),
        ([1.7e308, 1.7e308], 1.0),
        ([5e-324], 1.0),
        ([1.0], 5e-324),
        ([1.0], 1e308),
    ],
)
def test_row_sums_out_of_the_reach_of_darts(row, scale):
    X = [[0.0] * len(row), row]
    with pytest.raises(
        ValueError, match=sentence(r"Row 1 has .* times the reference sum .*sampler='cws'")
    ):
        hashing.gcws(X, 8, sampler="dart", scale=scale)


@pytest.mark.parametrize("power", [-100, 100])
def test_row_sums_at_the_edge_of_the_reach_of_darts(power):
    X = [[2.0**power]]
    actual = hashing.gcws(X, 4, sampler="dart", scale=1.0)
    np.testing.assert_array_equal(actual.array, hash_twin.codes(X, 4, sampler="dart")[0])


@both
def test_one_slot_and_very_many(sampler):
    X = signed_rows(4, 1, 5)
    for k in (1, 200_000):
        actual = hashing.gcws(X, k, **sampler)
        np.testing.assert_array_equal(actual.array, hash_twin.codes(X, k, **sampler)[0])
    with pytest.raises(ValueError, match=sentence("n_components must be between 1 and")):
        hashing.gcws(X, 2**24 + 1, **sampler)


@both
def test_rows_of_growing_width_keep_their_codes(sampler):
    row = {0: 1.0, 3: -2.0, 6: 0.5}
    data, where = list(row.values()), ([0, 0, 0], list(row))
    dense = hashing.gcws(sp.csr_array((data, where), shape=(1, 7)).toarray(), 50, **sampler)
    for width in (7, 1000, 2**20, 2**20 + 1, 2**31, 2**33, 10**12, 2**62):
        wide = sp.csr_array((data, where), shape=(1, width))
        assert_same_codes(hashing.gcws(wide, 50, **sampler), dense, str(width))


# The compiled functions themselves: for programmers, who get an error instead of garbage.


def dense_arguments(**changes):
    arguments = {
        "values": np.ones((2, 3)),
        "indices": None,
        "indptr": None,
        "n_cols": 3,
        "center": None,
        "l1": False,
        "counts": np.zeros(2, np.int64),
        "used": np.zeros(6, np.uint8),
        "threads": 1,
    }
    return arguments | changes


def sparse_arguments(**changes):
    parts = {
        "values": np.ones(2),
        "indices": np.array([0, 2], np.int32),
        "indptr": np.array([0, 1, 2], np.int32),
    }
    return dense_arguments(**(parts | changes))


def called(function, arguments, *names, **more):
    """Call a compiled function with the rows, and with the arguments of those names."""
    rows = ("values", "indices", "indptr", "n_cols", "center", "l1")
    view = _core.WeightedRows(**{name: arguments[name] for name in rows})
    return function(view, **{name: arguments[name] for name in names}, **more)


def test_the_compiled_border_takes_what_is_right():
    for arguments in (dense_arguments(), sparse_arguments()):
        called(_core.cws_survey, arguments, "counts", "used", "threads")
        assert arguments["counts"].tolist() == ([3, 3] if arguments["indptr"] is None else [1, 1])


@pytest.mark.parametrize(
    "wrong",
    [
        dense_arguments(values=np.ones((2, 3), np.int64)),
        dense_arguments(values=np.asfortranarray(np.ones((2, 3)))),
        dense_arguments(values=np.ones((4, 6))[::2, ::2]),
        dense_arguments(values=np.ones((2, 4))),
        dense_arguments(values=np.ones(6)),
        dense_arguments(values=np.ones((2, 3, 1))),
        dense_arguments(values=[[1.0, 2.0, 3.0]]),
        dense_arguments(values=None),
        dense_arguments(n_cols=-3),
        dense_arguments(center=np.zeros(2)),
        dense_arguments(center=np.zeros(3, np.float32)),
        dense_arguments(counts=np.zeros(3, np.int64)),
        dense_arguments(counts=np.zeros(2, np.int32)),
        dense_arguments(counts=frozen(np.zeros(2, np.int64))),
        dense_arguments(used=np.zeros(5, np.uint8)),
        dense_arguments(used=np.zeros(6, bool)),
        sparse_arguments(indices=None),
        sparse_arguments(indices=np.array([0, 2], np.int64)),
        sparse_arguments(
            indices=np.array([0, 2], np.uint32), indptr=np.array([0, 1, 2], np.uint32)
        ),
        sparse_arguments(indices=np.array([0], np.int32)),
        sparse_arguments(indptr=np.array([0, 1, 3], np.int32)),
        sparse_arguments(indptr=np.array([1, 1, 2], np.int32)),
        sparse_arguments(indptr=np.array([0, 2], np.int32)),
        sparse_arguments(indptr=np.array([], np.int32)),
        sparse_arguments(values=np.ones((2, 1))),
        sparse_arguments(center=np.zeros(3)),
    ],
)
def test_the_compiled_border_refuses_what_is_wrong(wrong):
    with pytest.raises((TypeError, ValueError)):
        called(_core.cws_survey, wrong, "counts", "used", "threads")
    sums = {"scale": 1.0, "sums": np.zeros(len(wrong["counts"]))}
    if wrong["used"].shape == (6,) and wrong["used"].dtype == np.uint8:
        with pytest.raises((TypeError, ValueError)):
            called(_core.dart_sums, wrong, "counts", "threads", **sums)


def fill_arguments(**changes):
    arguments = {
        "cells": np.zeros((1, 2 * _core.CELL_BLOCK), np.float32),
        "ids": np.arange(2, dtype=np.uint64),
        "begin": 0,
        "end": 2,
        "seed": 0,
        "first_slot": 0,
        "n_slots": _core.SLOT_BLOCK,
        "threads": 1,
        "simd": 0,
    }
    return arguments | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"cells": np.zeros((1, 2 * _core.CELL_BLOCK))},
        {"cells": np.zeros((1, _core.CELL_BLOCK), np.float32)},
        {"cells": np.zeros(2 * _core.CELL_BLOCK, np.float32)},
        {"cells": frozen(np.zeros((1, 2 * _core.CELL_BLOCK), np.float32))},
        {"ids": np.arange(2)},
        {"begin": -1},
        {"end": 3},
        {"n_slots": _core.SLOT_BLOCK + 1},
        {"seed": -1},
        {"seed": 2**64},
    ],
    ids=lambda changes: ",".join(changes),
)
def test_the_table_of_cells_refuses_what_is_wrong(changes):
    _core.cws_fill(**fill_arguments())
    with pytest.raises((TypeError, ValueError)):
        _core.cws_fill(**fill_arguments(**changes))


@pytest.mark.parametrize("simd", [-1, 7, 99])
def test_an_unknown_instruction_set_is_the_nearest_known(simd):
    known, unknown = fill_arguments(), fill_arguments(simd=simd)
    _core.cws_fill(**known)
    _core.cws_fill(**unknown)
    np.testing.assert_array_equal(known["cells"], unknown["cells"])


def damaged_elsewhere(kind):
    """A sparse matrix with an index far outside, in a format that scipy converts first."""
    X = sp.coo_matrix(np.eye(3)) if kind == "coo" else sp.csc_matrix(np.eye(3))
    if kind == "coo":
        X.row[1] = 10**9
    elif kind == "csc indices":
        X.indices[1] = 10**9
    else:
        X.indptr[1] = 10**9
    return X


@pytest.mark.parametrize("kind", ["coo", "csc indices", "csc indptr"])
def test_damage_is_found_before_scipy_follows_it(kind):
    for call in (lambda X: hashing.gcws(X, 8), lambda X: GCWS(8).fit(X)):
        with pytest.raises(ValueError, match=sentence("not a valid sparse matrix")):
            call(damaged_elsewhere(kind))


def test_a_check_leaves_the_matrix_as_it_was():
    X = sp.csr_matrix(np.eye(3))
    X.data, X.indices = np.append(X.data, [7.0, 8.0]), np.append(X.indices, [0, 1]).astype(np.int32)
    hashing.gcws(X, 8)
    assert len(X.data) == len(X.indices) == 5


def test_a_centre_that_overflows():
    with pytest.raises(ValueError, match=sentence("would overflow")):
        hashing.gcws([[1.7e308]], 4, center=[-1.7e308])


def test_the_largest_numbers_can_be_fitted():
    for sampler in ("auto", "cws"):
        assert GCWS(8, sampler=sampler).fit([[1.7e308], [1.7e308]]).encode([[1.7e308]]).shape == (
            1,
            8,
        )


def test_a_scale_that_makes_huge_values_small():
    wanted = hashing.gcws([[1.0, 1.0]], 4, sampler="dart", scale=1.0)
    actual = hashing.gcws([[2.0**1023, 2.0**1023]], 4, sampler="dart", scale=2.0**-1023)
    np.testing.assert_array_equal(actual.array, wanted.array)


@pytest.mark.parametrize("kind", ["int8", "bool"])
def test_duplicates_of_small_integers_add_up_like_numbers(kind):
    value = np.array([100, 100] if kind == "int8" else [1, 1], dtype=kind)
    actual = hashing.gcws(sp.coo_matrix((value, ([0, 0], [1, 1])), shape=(1, 3)), 40)
    np.testing.assert_array_equal(
        actual.array, hashing.gcws([[0.0, 2.0 * float(value[0]), 0.0]], 40).array
    )


NOT_NUMBERS = {
    "dates": np.array([["2020-01-01"]], dtype="datetime64[D]"),
    "text": np.array([["1.5"]]),
    "frame of dates": pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}),
}


@pytest.mark.parametrize("X", NOT_NUMBERS.values(), ids=list(NOT_NUMBERS))
def test_what_is_not_a_number_is_not_hashed(X):
    for call in (lambda X: hashing.gcws(X, 8), lambda X: GCWS(8).fit(X)):
        with pytest.raises(ValueError, match=sentence("not a number")):
            call(X)


def test_a_mask_is_not_dropped():
    masked = np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]])
    with pytest.raises(ValueError, match=sentence("masked entries")):
        hashing.gcws(masked, 8)
    with pytest.raises(ValueError, match=sentence("masked entries")):
        GCWS(8).fit(masked)


def test_the_compiled_border_refuses_numbers_without_a_dimension():
    for matrix in (
        (np.array(1.0), None, None),
        (np.ones(1), np.zeros(1, np.int32), np.array(0, np.int32)),
    ):
        names = ("values", "indices", "indptr")
        wrong = dense_arguments(**dict(zip(names, matrix, strict=True)))
        with pytest.raises((TypeError, ValueError)):
            called(_core.dart_sums, wrong, "counts", "threads", scale=1.0, sums=np.zeros(2))


def test_tables_that_contradict_themselves_are_refused():
    ids, limits = np.arange(3, dtype=np.uint64), np.ones(3, np.float32)
    with pytest.raises(ValueError, match="do not belong"):
        _core.dart_fill(
            0, 4, ids, limits, 1.0, np.array([0, 1, 2, 3]), np.empty((3, 2), np.uint64), 1
        )
    records = np.full((2, 2), 2**63, dtype=np.uint64)
    with pytest.raises(ValueError, match="beyond the last"):
        _core.dart_slot_starts(4, records, np.empty(5, np.int64))


def test_a_damaged_lil_matrix_is_refused():
    X = sp.lil_matrix(np.ones((6, 4)))
    X.rows[0][0] = 10**7
    for call in (lambda X: hashing.gcws(X, 8), lambda X: GCWS(8).fit(X), GMM()):
        with pytest.raises(ValueError, match=sentence("not a valid sparse matrix")):
            call(X)


def test_flags_older_than_the_indices_are_not_believed():
    X = sp.csr_matrix(np.array([[1.0, 2.0, 3.0]]))
    assert X.has_canonical_format
    X.indices[:] = [0, 0, 2]
    assert hashing.gcws(X, 40) == hashing.gcws(X.toarray(), 40)


# -- gamma


@both
@pytest.mark.parametrize("gamma", [5e-324, 1e-12])
def test_a_gamma_so_small_that_no_slot_has_a_sample(gamma, sampler):
    """One code a slot for all rows, but empty rows still have none."""
    X = signed_rows(3, 5, 4).copy()
    X[2] = 0.0
    codes = hashing.gcws(X, 50, gamma=gamma, **sampler)
    np.testing.assert_array_equal(codes.array, hash_twin.codes(X, 50, gamma=gamma, **sampler)[0])
    filled = [0, 1, 3, 4]
    assert (codes.array[filled] == codes.array[0]).all()
    assert len(np.unique(codes.array[0])) > 20
    assert codes.empty.tolist() == [False, False, True, False, False]
    assert not codes.array[2].any()


@pytest.mark.parametrize("sampler", ["auto", "cws", "dart"])
def test_an_estimator_with_a_gamma_so_small(sampler):
    X = signed_rows(3, 5, 300)
    made = GCWS(20, gamma=1e-12, sampler=sampler).fit(X)
    assert (made.similarity(made.encode(X)) == 1.0).all()
    np.testing.assert_allclose(made.expected(X), 1.0, rtol=1e-11)


@both
def test_a_large_gamma(sampler):
    """One slot with thousands of samples, and two rows that are almost equal."""
    X = np.array([[1.0, 2.0], [1.0, 2.0 + 1e-9], [2.0, 1.0]])
    gamma = 3000.0
    codes = hashing.gcws(X, 3, bits=16, gamma=gamma, **sampler).array
    np.testing.assert_array_equal(codes, hash_twin.codes(X, 3, bits=16, gamma=gamma, **sampler)[0])
    assert (codes[0] == codes[1]).all()
    assert (codes[0] != codes[2]).all()


def test_the_largest_gamma_that_is_taken():
    """2^22 base hashes of one element: the words of one row are the budget."""
    codes = hashing.gcws([[1.0], [1.0], [0.0], [2.0]], 1, bits=16, gamma=2.0**22)
    assert codes.empty.tolist() == [False, False, True, False]
    assert codes.array[0] == codes.array[1] != codes.array[3]
    with pytest.raises(ValueError, match=sentence("at most 4194304")):
        hashing.gcws([[1.0]], 1, gamma=2.0**22 + 1)


def fold_arguments(**changes):
    arguments = {
        "words": np.arange(10, dtype=np.uint64).reshape(2, 5),
        "starts": np.array([1, 1, 3, 5]),
        "empty": np.zeros(2, bool),
        "seed": 0,
        "first_slot": 1,
        "bits": 8,
        "codes": np.zeros((2, 4), np.uint8),
        "threads": 1,
    }
    return arguments | changes


def test_words_are_folded_as_the_twin_folds_them():
    arguments = fold_arguments()
    _core.fold_words(**arguments)
    for row, code in zip(arguments["words"], arguments["codes"], strict=True):
        wanted = hash_twin.folded(row[1:], [0, 0, 2, 2], bits=8)
        assert code.tolist() == [0, *wanted[1:]]
    # a slot without words, and an empty row, which is left as it is
    arguments = fold_arguments(empty=np.array([True, False]), codes=np.full((2, 4), 7, np.uint8))
    _core.fold_words(**arguments)
    assert arguments["codes"][0].tolist() == [7] * 4
    assert arguments["codes"][1, 1] == int(hash_twin.child(hash_twin.stream(0, 12), 1)) & 255


@pytest.mark.parametrize(
    "changes",
    [
        {"words": np.arange(10).reshape(2, 5)},
        {"words": np.arange(20, dtype=np.uint64).reshape(2, 10)[:, ::2]},
        {"starts": np.array([1, 3, 1, 5])},
        {"starts": np.array([-1, 1, 3, 5])},
        {"starts": np.array([1, 1, 3, 6])},
        {"starts": np.array([], dtype=np.int64)},
        {"starts": np.array([0, 1, 2, 3, 4])},
        {"empty": np.zeros(3, bool)},
        {"empty": np.zeros(2)},
        {"first_slot": -1},
        {"first_slot": 2},
        {"bits": 0},
        {"bits": 9},
        {"codes": np.zeros((1, 4), np.uint8)},
        {"codes": np.zeros((2, 4))},
        {"codes": frozen(np.zeros((2, 4), np.uint8))},
    ],
    ids=lambda changes: ",".join(changes),
)
def test_the_fold_refuses_what_is_wrong(changes):
    with pytest.raises((TypeError, ValueError)):
        _core.fold_words(**fold_arguments(**changes))


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf, "1"])
def test_counts_of_a_gamma_that_is_wrong(gamma):
    with pytest.raises((TypeError, ValueError)):
        _core.poisson_counts(0, gamma, np.zeros(3, np.int64))
