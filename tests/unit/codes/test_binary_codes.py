"""Codes as binary values: what comes back is what went in, and nothing else is taken."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kernelight import GCWS, Codes

TAG = b"\x01\x01" + bytes(6)


@pytest.mark.parametrize("bits", [1, 4, 8, 9, 16])
def test_values_come_back(bits):
    X = np.random.default_rng(bits).normal(size=(40, 6))
    X[[3, 17]] = 0
    made = GCWS(21, bits=bits).fit(X)
    codes = made.encode(X)
    values = codes.to_binary()
    back = {"provenance": made.provenance, "n_features": 6}
    assert Codes.from_binary(values, **back) == codes
    assert {len(value.as_py()) for value in values} == {8 + 21 * codes.dtype.itemsize}
    forms = [
        values.cast(pa.large_binary()),
        values.cast(pa.binary(8 + 21 * codes.dtype.itemsize)),
        pa.chunked_array([values[:7], values[7:]]),
        values.to_pylist(),
    ]
    for form in forms:
        assert Codes.from_binary(form, **back) == codes
    assert Codes.from_binary(values[5:20], **back) == codes[5:20]
    assert Codes.from_binary(forms[1][5:20], **back) == codes[5:20]


def test_values_are_what_the_layout_says():
    """Frozen: these bytes are in files."""
    codes = Codes([[1, 0], [0, 0]], bits=1, empty=[False, True], provenance="ab" * 16)
    assert [value.as_py().hex() for value in codes.to_binary()] == [
        "0101abababababab0100",
        "0181abababababab0000",
    ]
    wide = Codes([[258, 3]], bits=12)
    assert wide.to_binary()[0].as_py().hex() == "010c000000000000" + "02010300"


def test_only_codes_of_one_map_meet():
    X = np.random.default_rng(0).normal(size=(5, 3))
    one, other = (GCWS(8, random_state=seed).fit(X).encode(X) for seed in (0, 1))
    with pytest.raises(ValueError, match="made by another map"):
        Codes.from_binary(one.to_binary(), provenance=other.provenance)
    with pytest.raises(ValueError, match="codes of several maps: the tag of row 0"):
        Codes.from_binary(pa.chunked_array([one.to_binary(), other.to_binary()]))
    short = one.first(5).to_binary()
    with pytest.raises(ValueError, match="the value of row 0 has 16 bytes, that of row 5 13"):
        Codes.from_binary(pa.chunked_array([one.to_binary(), short]))
    # without a provenance, what is known of it: such codes meet each other
    again = Codes.from_binary(one.to_binary())
    assert again.provenance == one.provenance[:12]
    assert (again.collisions() == one.collisions()).all()
    with pytest.raises(ValueError, match="provenance differs"):
        again.collisions(one)


def test_codes_of_ones_own_keep_their_name():
    codes = Codes([[1]], bits=2, provenance="of mine")
    assert Codes.from_binary(codes.to_binary(), provenance="of mine") == codes


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([], "There are no values"),
        (pa.array([], pa.binary()), "There are no values"),
        (pa.chunked_array([], pa.binary()), "There are no values"),
        ([None], "value of row 0 is null"),
        ([TAG + b"\x00", None], "value of row 1 is null"),
        ([b""], "values have 0 bytes"),
        ([TAG], "values have 8 bytes"),
        ([b"\x07" + TAG], "begins with the byte 7, and 1 was expected"),
        ([b"\x01\x00" + bytes(7)], "slots of 0 bits"),
        ([b"\x01\x40" + bytes(7)], "slots of 64 bits"),
        ([b"\x01\x09" + bytes(7)], "half a slot"),
        ([TAG + b"\x05"], "got 5 at row 0, slot 0"),
    ],
)
def test_other_values_are_refused(values, sentence):
    with pytest.raises(ValueError, match=sentence):
        Codes.from_binary(values)


@pytest.mark.parametrize("values", [pa.array([1]), pa.array(["a"]), pa.array([[1]])])
def test_other_types_are_refused(values):
    with pytest.raises(TypeError, match="Codes are binary values"):
        Codes.from_binary(values)


@pytest.mark.parametrize("values", [None, 3, [1, 2], pa.scalar(b"a")])
def test_what_is_no_column_is_refused(values):
    with pytest.raises(TypeError, match="a column of binary values, such as an Arrow array"):
        Codes.from_binary(values)
    with pytest.raises(TypeError, match="provenance must be a str or None, got 3"):
        Codes.from_binary([TAG + b"\x00"], provenance=3)


@pytest.mark.parametrize(
    "kind", [pa.binary_view(), pa.large_binary(), pa.dictionary(pa.int32(), pa.binary())]
)
def test_other_layouts_of_binary_values(kind):
    codes = Codes([[1, 2], [3, 0], [1, 2]], bits=2)
    values = codes.to_binary()
    values = values.dictionary_encode() if pa.types.is_dictionary(kind) else values.cast(kind)
    assert Codes.from_binary(values) == codes
    assert Codes.from_binary(pa.chunked_array([values[:1], values[1:]])) == codes


def test_damaged_offsets_do_no_harm():
    values = pa.Array.from_buffers(
        pa.binary(), 2, [None, pa.py_buffer(np.array([0, 1 << 30, 8], np.int32)), pa.py_buffer(TAG)]
    )
    with pytest.raises(pa.ArrowInvalid):
        Codes.from_binary(values)


def test_random_bytes_are_refused_or_codes():
    rng = np.random.default_rng(0)
    for _ in range(300):
        width = int(rng.integers(0, 14))
        values = [bytes(rng.integers(0, 3, width, dtype=np.uint8)) for _ in range(3)]
        try:
            codes = Codes.from_binary(values)
        except ValueError:
            continue
        assert codes.to_binary().to_pylist() == values
