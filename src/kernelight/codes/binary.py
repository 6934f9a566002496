"""Codes as one binary value for each row: what Parquet, Spark and other engines store and move.

A value is a tag of 8 bytes and the slots of the row, one byte each, or two (low byte first) where
slots have more than 8 bits. The tag:

    byte 0      version of this layout, 1
    byte 1      bits of a slot, 1 to 16; 128 more if the row is empty
    bytes 2-7   the first 48 bits of the provenance, 0 for codes that are made by hand

So a value says itself what it can be compared with. A description of the column would be lost as
soon as an engine joins two columns.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kernelight.codes.slots import MAX_BITS, slot_dtype

if TYPE_CHECKING:
    from kernelight.codes.codes import Codes

VERSION = 1
TAG_BYTES = 8
_EMPTY = 0x80
_HEX = 12  # digits of the provenance that are in a tag
_MOST = (1 << 31) - 1  # bytes that the 32-bit offsets of an Arrow array reach


def to_binary(codes: Codes) -> Any:
    """One binary value for each row, as an Arrow array; see `Codes.to_binary`."""
    pa = _pyarrow()
    n, k = codes.shape
    width = TAG_BYTES + k * codes.dtype.itemsize
    values = np.empty((n, width), dtype=np.uint8)
    values[:, :TAG_BYTES] = np.frombuffer(_tag(codes.bits, codes.provenance), dtype=np.uint8)
    values[codes.empty, 1] |= _EMPTY
    slots = codes.array.astype(codes.dtype.newbyteorder("<"), copy=False)
    values[:, TAG_BYTES:] = slots.view(np.uint8).reshape(n, width - TAG_BYTES)
    large = n * width > _MOST
    offsets = np.arange(0, (n + 1) * width, width, dtype=np.int64 if large else np.int32)
    made = pa.LargeBinaryArray if large else pa.BinaryArray
    kind = pa.large_binary() if large else pa.binary()
    return made.from_buffers(kind, n, [None, pa.py_buffer(offsets), pa.py_buffer(values)])


def from_binary(
    cls: type[Codes], values: Any, provenance: str | None, n_features: int | None
) -> Codes:
    """The codes of binary values; see `Codes.from_binary`."""
    rows = _matrix(values)
    if rows.shape[1] <= TAG_BYTES:
        raise ValueError(
            f"The values have {rows.shape[1]} bytes, and codes have {TAG_BYTES} and their slots: "
            "this column has no codes."
        )
    tags = rows[:, :TAG_BYTES].copy()
    empty = (tags[:, 1] & _EMPTY) > 0
    tags[:, 1] &= _EMPTY - 1
    bits, origin = _agreed(tags)
    if provenance is None:
        provenance = origin
    elif not isinstance(provenance, str):
        raise TypeError(f"provenance must be a str or None, got {provenance!r}.")
    elif _tag(bits, provenance) != tags[0].tobytes():
        raise ValueError(
            f"These codes were made by another map: their provenance begins with {origin!r}, and "
            f"{_origin(provenance).hex()!r} was expected. Encode the rows with this map."
        )
    dtype = slot_dtype(bits)
    if (rows.shape[1] - TAG_BYTES) % dtype.itemsize:
        raise ValueError(f"The values have half a slot: slots of {bits} bits take two bytes.")
    slots = np.ascontiguousarray(rows[:, TAG_BYTES:]).view(dtype.newbyteorder("<"))
    return cls(slots, bits, empty=empty, provenance=provenance, n_features=n_features)


def _tag(bits: int, provenance: str) -> bytes:
    """What every value of some codes begins with."""
    return bytes([VERSION, bits]) + _origin(provenance)


def _origin(provenance: str) -> bytes:
    """The first 48 bits of a provenance; of words that users chose, those of their digest."""
    if not provenance:
        return bytes(_HEX // 2)
    if re.fullmatch(f"[0-9a-f]{{{_HEX},}}", provenance):
        return bytes.fromhex(provenance[:_HEX])
    return hashlib.blake2b(provenance.encode(), digest_size=_HEX // 2).digest()


def _agreed(tags: NDArray[np.uint8]) -> tuple[int, str]:
    """The bits and the provenance that all tags say."""
    other = np.flatnonzero(tags[:, 0] != VERSION)
    if len(other):
        raise ValueError(
            f"The value of row {other[0]} is no code of this version: it begins with the byte "
            f"{tags[other[0], 0]}, and {VERSION} was expected."
        )
    other = np.flatnonzero((tags != tags[0]).any(axis=1))
    if len(other):
        raise ValueError(
            f"These are codes of several maps: the tag of row 0 is {tags[0].tobytes().hex()}, that "
            f"of row {other[0]} {tags[other[0]].tobytes().hex()}. Encode all rows with one map."
        )
    bits = int(tags[0, 1])
    if not 1 <= bits <= MAX_BITS:
        raise ValueError(f"These values are no codes: they speak of slots of {bits} bits.")
    origin = tags[0, 2:].tobytes()
    return bits, origin.hex() if any(origin) else ""


def _matrix(values: Any) -> NDArray[np.uint8]:
    """The bytes of all values, (n, bytes of a value)."""
    pa = _pyarrow()
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
        if isinstance(values, pa.ChunkedArray):  # of no chunk, or of too many bytes for one
            values = pa.concat_arrays([each.cast(pa.large_binary()) for each in values.chunks])
    if not isinstance(values, pa.Array):
        try:
            values = pa.array(values, type=pa.binary())
        except (TypeError, pa.ArrowException) as error:
            raise TypeError(
                "Codes are read from a column of binary values, such as an Arrow array or a list "
                f"of bytes; this has the type {type(values).__name__}."
            ) from error
    t = pa.types
    if t.is_dictionary(values.type) or t.is_binary_view(values.type):
        inside = values.type.value_type if t.is_dictionary(values.type) else values.type
        if t.is_binary(inside) or t.is_large_binary(inside) or t.is_binary_view(inside):
            values = values.cast(pa.large_binary())
    fixed = t.is_fixed_size_binary(values.type)
    if not (fixed or t.is_binary(values.type) or t.is_large_binary(values.type)):
        raise TypeError(f"Codes are binary values, and this column has the type {values.type}.")
    if values.null_count:
        row = int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(
            f"The value of row {row} is null, and a row without codes can be compared with "
            "nothing: leave such rows out."
        )
    if not len(values):
        raise ValueError("There are no values, and so nothing says what the codes are.")
    values.validate(full=True)  # before anything follows its offsets
    n, start = len(values), values.offset
    if fixed:
        width = values.type.byte_width
        flat = np.frombuffer(values.buffers()[1] or b"", dtype=np.uint8)
        return flat[start * width : (start + n) * width].reshape(n, width)
    offset = np.int64 if t.is_large_binary(values.type) else np.int32
    ends = np.frombuffer(values.buffers()[1], dtype=offset)[start : start + n + 1]
    sizes = np.diff(ends)
    other = np.flatnonzero(sizes != sizes[0])
    if len(other):
        raise ValueError(
            f"These are codes of several maps: the value of row 0 has {sizes[0]} bytes, that of "
            f"row {other[0]} {sizes[other[0]]}. Encode all rows with one map."
        )
    flat = np.frombuffer(values.buffers()[2] or b"", dtype=np.uint8)
    return flat[ends[0] : ends[-1]].reshape(n, int(sizes[0]))


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            "Binary values of codes need pyarrow, which is not there: pip install 'kernelight[io]'."
        ) from error
    return pyarrow
