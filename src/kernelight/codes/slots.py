"""The arrays inside `Codes`: their dtype, packed form, and checks of what users give."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base import counted
from kernelight.base.checks import resources
from kernelight.state import may_change

MAX_BITS = 16
_INT32_MAX = int(np.iinfo(np.int32).max)


def slot_dtype(bits: int) -> np.dtype[Any]:
    """How slots are held in memory."""
    return np.dtype(np.uint8 if bits <= 8 else np.uint16)


def lane_bits(bits: int) -> int:
    """The narrowest of the lanes 1, 2, 4, 8, 16 that holds ``bits``."""
    return 1 << (bits - 1).bit_length()


def n_words(n_components: int, bits: int) -> int:
    """How many 64-bit words a packed row takes."""
    return -(-n_components * lane_bits(bits) // 64)


def packed(slots: NDArray[Any], bits: int) -> NDArray[np.uint64]:
    """Slots in words, lowest bits first; `Codes.packed` says how."""
    words = np.empty((len(slots), n_words(slots.shape[1], bits)), dtype=np.uint64)
    _core.codes_pack(slots, lane_bits(bits), words, resources().threads)
    return words


def unpacked(words: NDArray[Any], n_components: int, bits: int) -> NDArray[Any]:
    """The inverse of `packed`; an array that cannot be its result is a ValueError."""
    if words.dtype != np.uint64 or words.ndim != 2 or words.shape[1] != n_words(n_components, bits):
        raise ValueError(f"packed slots are {words.dtype} of the shape {words.shape}.")
    slots = np.empty((len(words), n_components), dtype=slot_dtype(bits))
    _core.codes_unpack(words, lane_bits(bits), slots, resources().threads)
    return slots


def paired(left: NDArray[Any], right: NDArray[Any], right_bits: int, bits: int) -> NDArray[Any]:
    """``left << right_bits | right`` as a new array of slots of ``bits`` bits."""
    pairs = left.astype(slot_dtype(bits))
    pairs <<= right_bits
    pairs |= right
    return pairs


def one_hot(
    slots: NDArray[Any],
    bits: int,
    empty: NDArray[np.bool_] | None,
    values: NDArray[np.float32],
    *,
    array: bool = False,
) -> Any:
    """A CSR matrix with m entries for each slot, none in empty rows.

    Entry e of slot j with value c is in column m (j 2^bits + c) + e.

    ``values`` are the (n, m k) entries of all rows, slot by slot, or the k entries of each row.
    Indices are int32 where they fit (scikit-learn's liblinear refuses int64).
    """
    (n, k), per_row = slots.shape, values.shape[-1]
    m = per_row // k
    filled = np.ones(n, dtype=np.bool_) if empty is None else ~empty
    n_filled, width = int(np.count_nonzero(filled)), per_row << bits
    index = np.int32 if max(width, n_filled * per_row) <= _INT32_MAX else np.int64
    starts = np.zeros(n + 1, dtype=index)
    np.cumsum(filled, dtype=index, out=starts[1:])
    columns = np.empty(n_filled * k, dtype=index)
    _core.codes_columns(slots, bits, starts * index(k), columns, resources().threads)
    if m > 1:
        every = np.empty((len(columns), m), dtype=index)
        np.multiply(columns, index(m), out=every[:, 0])
        for entry in range(1, m):
            np.add(every[:, 0], index(entry), out=every[:, entry])
        columns = every.reshape(-1)
    if values.ndim == 1:
        values = np.tile(values, n_filled)
    elif n_filled < n:
        values = values[filled]
    container: Any = sp.csr_array if array else sp.csr_matrix
    csr = container((n, width), dtype=np.float32)
    # set as they are, because the constructor would scan them
    csr.data, csr.indices, csr.indptr = values.reshape(-1), columns, starts * index(per_row)
    csr.has_canonical_format = True
    return csr


def as_slots(array: Any, bits: int) -> NDArray[Any]:
    """``array`` as C-ordered slots of the right dtype, every value below 2^bits.

    It is copied if anyone else could change it.
    """
    given = np.asarray(array)
    if given.ndim != 2 or given.shape[1] == 0:
        raise ValueError(
            f"Codes need a 2D array of rows and at least one slot, got the shape {given.shape}."
        )
    if given.dtype.kind not in "iub":
        raise TypeError(f"Codes need an array of integers, got {given.dtype}.")
    if given.size and (int(given.min()) < 0 or int(given.max()) >> bits):
        row, slot = np.argwhere((given < 0) | (given > (1 << bits) - 1))[0]
        raise ValueError(
            f"Every value must be between 0 and {(1 << bits) - 1} for bits={bits}, "
            f"got {given[row, slot]} at row {row}, slot {slot}."
        )
    slots = np.asarray(given, dtype=slot_dtype(bits), order="C")
    return slots.copy() if may_change(slots) and np.may_share_memory(slots, given) else slots


def empty_mask(empty: Any, n_rows: int) -> NDArray[np.bool_] | None:
    """A copy of the mask of empty rows."""
    if empty is None:
        return None
    mask = np.array(empty)
    if mask.dtype != np.bool_ or mask.shape != (n_rows,):
        raise ValueError(
            f"empty must be {n_rows} booleans, one for each row, got {mask.dtype} of the shape "
            f"{mask.shape}."
        )
    return mask


def row_key(key: Any, n_rows: int) -> slice | NDArray[Any]:
    """A key of ``codes[key]`` as a slice or an array that selects rows and keeps two dimensions."""
    if isinstance(key, tuple):  # scikit-learn writes X[rows, ...]
        if len(key) != 2 or not (
            key[1] is Ellipsis or (isinstance(key[1], slice) and key[1] == slice(None))
        ):
            raise IndexError(
                "Codes are indexed by rows only: use first(k) for slots, or codes.array."
            )
        key = key[0]
    if isinstance(key, slice):
        return key
    if key is None or key is Ellipsis or isinstance(key, (bool, np.bool_, str)):
        raise IndexError(
            f"Codes are indexed by rows: slices, masks, index arrays or a number, got {key!r}."
        )
    if hasattr(key, "__index__") and not isinstance(key, np.ndarray):
        row = operator.index(key)
        if not -n_rows <= row < n_rows:
            raise IndexError(f"Row {row} is out of range for codes of {counted(n_rows, 'row')}.")
        return slice(row % n_rows, row % n_rows + 1)
    rows = np.asarray(key)
    if rows.size == 0 and rows.dtype.kind == "f":  # an empty list
        rows = rows.astype(np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "iub":
        raise IndexError(
            f"Row indices must be a 1D array of integers or booleans, got {rows.ndim}D "
            f"{rows.dtype}."
        )
    return rows
