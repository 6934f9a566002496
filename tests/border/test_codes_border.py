"""Codes at their limits: refused, empty, immutable, and what the core refuses."""

from __future__ import annotations

import numpy as np
import pytest

from kernelight import Codes, State, _core


@pytest.mark.parametrize(
    ("array", "bits", "error", "says"),
    [
        ([[0, 1], [2, 4]], 2, ValueError, "between 0 and 3 for bits=2, got 4 at row 1, slot 1"),
        ([[0, -1]], 2, ValueError, "got -1 at row 0, slot 1"),
        (
            np.array([[2**63]], dtype=np.uint64),
            16,
            ValueError,
            "got 9223372036854775808 at row 0, slot 0",
        ),
        (
            np.array([[5, -3]], dtype=np.int8),
            16,
            ValueError,
            "between 0 and 65535 .* got -3 at row 0, slot 1",
        ),
        (np.array([[256]], dtype=np.int16), 8, ValueError, "got 256"),
        ([[0.0]], 2, TypeError, "integers, got float64"),
        ([["a"]], 2, TypeError, "integers"),
        ([0, 1], 2, ValueError, r"2D array .* got the shape \(2,\)"),
        (np.zeros((3, 0), int), 2, ValueError, "at least one slot"),
        ([[0]], 0, ValueError, "bits must be between 1 and 16, got 0"),
        ([[0]], 17, ValueError, "bits must be between 1 and 16, got 17"),
        ([[0]], 2.0, TypeError, "bits must be a whole number"),
    ],
)
def test_bad_arrays_are_refused(array, bits, error, says):
    with pytest.raises(error, match=says):
        Codes(array, bits)


@pytest.mark.parametrize("empty", [[True], [0, 1], [[True, False]], "xx"])
def test_bad_masks_are_refused(empty):
    with pytest.raises(ValueError, match="empty must be 2 booleans"):
        Codes([[1], [1]], 1, empty=empty)


def test_bad_origins_are_refused():
    with pytest.raises(TypeError, match="provenance must be a string"):
        Codes([[1]], 1, provenance=None)
    with pytest.raises(ValueError, match="n_features must be at least 0"):
        Codes([[1]], 1, n_features=-1)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1, 2, 3], [0, 1, 2]], dtype=">u2"),
        np.asfortranarray([[1, 2, 3], [0, 1, 2]]),
        np.array([[1, 2, 3], [9, 9, 9], [0, 1, 2]], dtype=np.uint8)[::2],
        np.matrix([[1, 2, 3], [0, 1, 2]]),
        [[1, 2, 3], [0, 1, 2]],
    ],
)
def test_any_memory_order_means_the_same(array):
    codes = Codes(array, 2)
    assert codes.array.tolist() == [[1, 2, 3], [0, 1, 2]]
    assert type(codes.array) is np.ndarray
    assert codes.array.dtype == np.uint8
    assert codes.collisions().tolist() == [[3, 0], [0, 3]]


def test_nothing_can_be_changed_afterwards():
    mine, mask = np.ones((3, 2), np.uint8), np.array([False, False, True])
    view = mine[:]
    view.flags.writeable = False
    both = [Codes(mine, 1, empty=mask), Codes(view, 1, empty=mask)]
    mine[:] = 0
    mask[:] = True
    for codes in both:
        assert codes.array.tolist() == [[1, 1], [1, 1], [0, 0]]
        assert codes.empty.tolist() == [False, False, True]
        for array in (codes.array, codes.empty, codes[:2].array, codes.packed):
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.flags.writeable = True
        with pytest.raises(AttributeError, match="immutable"):
            codes.bits = 3
        with pytest.raises(AttributeError, match="immutable"):
            codes._array = mine
    assert mine.flags.writeable


def test_own_fresh_arrays_are_adopted_without_a_copy():
    fresh = np.ones((3, 2), np.uint8)
    assert np.shares_memory(Codes._adopt(fresh, 1).array, fresh)
    assert not fresh.flags.writeable


def test_values_of_empty_rows_are_cleared():
    codes = Codes([[3, 3], [1, 2]], 2, empty=[True, False])
    assert codes.array.tolist() == [[0, 0], [1, 2]]
    assert codes.collisions(Codes([[0, 0], [1, 2]], 2)).tolist() == [[0, 0], [0, 2]]
    assert codes.to_csr().indptr.tolist() == [0, 0, 2]


@pytest.mark.parametrize("bits", [1, 8, 16])
def test_no_rows(tmp_path, bits):
    none = Codes(np.zeros((0, 5), int), bits)
    some = Codes(np.zeros((2, 5), int), bits)
    assert none.collisions(some).shape == (0, 2)
    assert some.collisions(none).shape == (2, 0)
    assert none.collisions().shape == (0, 0)
    assert none.to_csr().shape == (0, 5 << bits)
    assert none.packed.shape[0] == 0
    assert len(none[:]) == len(none[[]]) == len(none[none.empty]) == 0
    assert (none | none).shape == (0, 10)
    assert Codes.concatenate([none, some, none]) == some
    assert list(none) == []
    none.save(tmp_path / "none")
    assert Codes.load(tmp_path / "none") == none


def test_all_rows_empty():
    codes = Codes(np.ones((3, 4), int), 1, empty=[True] * 3)
    assert not codes.collisions().any()
    assert codes.to_csr().nnz == 0
    assert codes.to_csr().shape == (3, 8)


def test_one_slot_and_very_many():
    assert Codes([[1], [0], [1]], 1).collisions().tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    long = np.zeros((2, 1_000_003), np.uint8)
    long[1, ::2] = 1
    codes = Codes(long, 1)
    assert codes.collisions().tolist() == [[1_000_003, 500_001], [500_001, 1_000_003]]
    assert codes.to_csr().indices[-1] == 2_000_005


def meeting(difference, **changes):
    left = Codes([[1, 2]], 4, provenance="p", n_features=3)
    options = {"array": [[1, 2]], "bits": 4, "provenance": "p", "n_features": 3, **changes}
    right = Codes(options.pop("array"), options.pop("bits"), **options)
    for call in (left.collisions, lambda other: Codes.concatenate([left, other])):
        with pytest.raises(ValueError, match=difference) as caught:
            call(right)
        assert str(caught.value).count(".") == 1
    assert left != right


def test_codes_of_different_origin_never_meet():
    meeting(
        "provenance differs .'p' and 'q'.: encode both with the same fitted map", provenance="q"
    )
    meeting("provenance differs", provenance="")
    meeting("n_features differ .3 and 4.", n_features=4)
    meeting("bits differ .4 and 2.: cut the wider with low_bits.2.", bits=2)
    meeting("slots differ .2 and 1.: cut the longer with first.1.", array=[[1]])
    left, right = Codes([[1]], 1, n_features=3), Codes([[1]], 1)
    assert left.collisions(right).tolist() == [[1]]  # an unknown width meets any


def test_only_codes_meet_codes():
    codes = Codes([[1, 2]], 2)
    for other in (np.array([[1, 2]]), [[1, 2]], "codes"):
        with pytest.raises(TypeError, match="only be compared with Codes"):
            codes.collisions(other)
        with pytest.raises(TypeError, match="only be stacked with Codes"):
            Codes.concatenate([codes, other])
        for combine in (
            lambda a, b: a | b,
            lambda a, b: b | a,
            lambda a, b: a & b,
            lambda a, b: b & a,
        ):
            with pytest.raises(TypeError):
                combine(codes, other)
    with pytest.raises(ValueError, match="at least one part"):
        Codes.concatenate([])


def test_combinations_that_make_no_sense_are_refused():
    a = Codes([[1, 2], [0, 0]], 9, empty=[False, True])
    with pytest.raises(ValueError, match="same rows on both sides, got 2 and 1"):
        a | a[:1]
    with pytest.raises(ValueError, match="same rows on both sides, got 2 and 1"):
        a & a[:1]
    with pytest.raises(ValueError, match=r"equal bits, got 9 and 4: .* low_bits\(4\)"):
        a | a.low_bits(4)
    with pytest.raises(ValueError, match="row 1 is empty on one side only"):
        a | Codes(a.array, 9)
    with pytest.raises(ValueError, match=r"9 \+ 9 = 18 bits, more than 16: .* low_bits"):
        a & a
    with pytest.raises(ValueError, match=r"equally many slots, got 2 and 1: .* first\(1\)"):
        a & a.first(1)
    with pytest.raises(ValueError, match="n_components must be between 1 and 2, got 3"):
        a.first(3)
    with pytest.raises(ValueError, match="n_components must be between 1 and 2, got 0"):
        a.first(0)
    with pytest.raises(ValueError, match="bits must be between 1 and 9, got 10"):
        a.low_bits(10)


def test_codes_never_turn_into_numbers_silently():
    codes = Codes([[1, 2]], 2)
    for use in (
        np.asarray,
        np.array,
        lambda c: np.zeros((1, 2)) + c,
        lambda c: c * 2,
        lambda c: np.add(c, 1),
    ):
        with pytest.raises(TypeError):
            use(codes)
    with pytest.raises(TypeError, match=r"use codes\.array .* codes\.to_csr\(\)"):
        np.asarray(codes)


@pytest.mark.parametrize(
    "key",
    [
        2,
        -3,
        None,
        Ellipsis,
        True,
        "0",
        1.0,
        [0.5],
        [True],
        [True, False, True],
        [5],
        [[0, 1]],
        (0, 1),
        (slice(None), slice(0, 1)),
        (0, 1, 2),
        (slice(None), [0]),
    ],
)
def test_keys_that_are_not_rows_are_refused(key):
    with pytest.raises(IndexError):
        Codes([[1, 2], [0, 1]], 2)[key]


def good_state():
    return {"kind": "Codes", "bits": 2, "n_components": 2, "n_features": None, "provenance": ""}


@pytest.mark.parametrize(
    ("meta", "arrays"),
    [
        ({}, {}),
        ({}, {"slots": np.array([[0, 4]], np.uint8)}),
        ({}, {"slots": np.array([0, 1], np.uint8)}),
        ({}, {"slots": np.array([[0, 1, 2]], np.uint8)}),
        ({}, {"slots": np.array([[0.0, 1.0]])}),
        ({}, {"packed": np.zeros((1, 2), np.uint64)}),
        ({}, {"packed": np.zeros((1, 1), np.int64)}),
        ({}, {"packed": np.zeros(1, np.uint64)}),
        ({}, {"packed": np.array(1, np.uint64)}),
        ({}, {"slots": np.array([[0, 1]], np.uint8), "empty": np.array([1])}),
        ({"bits": 3}, {"packed": np.full((1, 1), 2**64 - 1, np.uint64)}),
        ({"bits": 40}, {"slots": np.array([[0, 1]], np.uint8)}),
        ({"bits": None}, {"slots": np.array([[0, 1]], np.uint8)}),
        ({"n_components": 2**62}, {"packed": np.zeros((1, 1), np.uint64)}),
        ({"n_components": 0}, {"packed": np.zeros((1, 0), np.uint64)}),
        ({"provenance": 3}, {"slots": np.array([[0, 1]], np.uint8)}),
        ({"n_features": "x"}, {"slots": np.array([[0, 1]], np.uint8)}),
    ],
)
def test_states_that_describe_no_codes_are_refused(meta, arrays):
    with pytest.raises(ValueError, match="This state does not describe Codes"):
        Codes.from_state(State({**good_state(), **meta}, arrays))
    assert Codes.from_state(State(good_state(), {"slots": np.array([[0, 1]], np.uint8)})).shape == (
        1,
        2,
    )


def test_a_file_that_describes_no_codes_is_named(tmp_path):
    State(good_state()).save(tmp_path / "odd.kl")
    with pytest.raises(ValueError, match=r"odd\.kl does not describe Codes: it lacks 'slots'\.$"):
        Codes.load(tmp_path / "odd.kl")


U8, U16, WORDS = (
    np.zeros((2, 3), np.uint8),
    np.zeros((2, 3), np.uint16),
    np.zeros((2, 1), np.uint64),
)
COUNTS = np.zeros((2, 2), np.int32)


@pytest.mark.parametrize(
    "call",
    [
        lambda: _core.codes_collisions(U8, None, U16, None, COUNTS, 1, 0),
        lambda: _core.codes_collisions(U8.astype(np.int64), None, U8, None, COUNTS, 1, 0),
        lambda: _core.codes_collisions(np.asfortranarray(U8), None, U8, None, COUNTS, 1, 0),
        lambda: _core.codes_collisions(U8, None, U8, None, COUNTS.astype(np.int64), 1, 0),
        lambda: _core.codes_collisions(U8, None, U8, None, COUNTS[:1], 1, 0),
        lambda: _core.codes_collisions(U8, None, U8[:, :2].copy(), None, COUNTS, 1, 0),
        lambda: _core.codes_collisions(U8, np.zeros(1, bool), U8, None, COUNTS, 1, 0),
        lambda: _core.codes_collisions(U8, np.zeros(2, np.uint8), U8, None, COUNTS, 1, 0),
        lambda: _core.codes_collisions(U8, None, U8, None, Codes(U8[:, :2], 1).array, 1, 0),
        lambda: _core.codes_pack(U8, 3, WORDS, 1),
        lambda: _core.codes_pack(U8, 16, WORDS, 1),
        lambda: _core.codes_pack(U8, 0, WORDS, 1),
        lambda: _core.codes_pack(U8, 8, WORDS[:1], 1),
        lambda: _core.codes_pack(U8, 8, np.zeros((2, 2), np.uint64), 1),
        lambda: _core.codes_unpack(WORDS, 8, np.zeros((2, 9), np.uint8), 1),
        lambda: _core.codes_unpack(WORDS, 16, U8.copy(), 1),
        lambda: _core.codes_columns(U8, 2, np.array([0, 3, 5]), np.zeros(6, np.int64), 1),
        lambda: _core.codes_columns(U8, 2, np.array([0, 9, 6]), np.zeros(6, np.int64), 1),
        lambda: _core.codes_columns(U8, 2, np.array([0, 3, 6]), np.zeros(5, np.int64), 1),
        lambda: _core.codes_columns(U8, 2, np.array([0, 6]), np.zeros(6, np.int64), 1),
        lambda: _core.codes_columns(U8, 2, np.array([0, 3, 6]), np.zeros(6, np.int32), 1),
        lambda: _core.codes_columns(U8, 60, np.array([0, 3, 6]), np.zeros(6, np.int64), 1),
    ],
)
def test_the_core_refuses_wrong_shapes_and_dtypes(call):
    with pytest.raises((TypeError, ValueError)):
        call()
