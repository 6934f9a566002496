"""What a map makes of rows in a graph: dense features, bits, or slots of codes.

A head reads them in the form that is cheapest; `as_features` gives the columns that ``transform``
has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.export.onnx.graph import FLOAT, Graph, Made, Rows

_MOST_ONE_HOT = 1 << 20  # columns of one-hot features


class Part(NamedTuple):
    """A tensor whose columns, times factors, are added to these columns of the features."""

    name: str
    columns: NDArray[np.intp]
    factors: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Dense:
    """Dense features, in parts. ``filled``: which rows have any, as a column; None for all."""

    parts: tuple[Part, ...]
    width: int
    dtype: np.dtype[Any]
    filled: str | None = None


@dataclass(frozen=True, eq=False)
class Bits:
    """Codes of one bit as a (rows, slots) tensor of booleans."""

    name: str
    n_slots: int
    filled: str | None = None


@dataclass(frozen=True, eq=False)
class Slots:
    """Codes that are made row by row, each in its slot.

    ``of_row(g, row, of_codes, of_empty)`` gives those of one of ``rows`` as int32. Of each slot it
    gives the number that ``of_codes``, (slots, codes), has for its code, where that is not None; of
    a row that is empty ``of_empty``, in all slots.
    """

    rows: str
    of_row: Callable[[Graph, str, NDArray[np.int32] | None, int], str]
    n_slots: int
    bits: int

    def all(self, g: Graph) -> str:
        """The codes of all rows; -1 in those that are empty."""

        def of_row(inner: Graph, row: str) -> list[Made]:
            return [(self.of_row(inner, row, None, -1), np.int32, (self.n_slots,))]

        return g.for_each_row(self.rows, of_row)[0]


Encoded = Dense | Bits | Slots


def whole(name: str, width: int, dtype: Any, filled: str | None = None) -> Dense:
    """Features that are one tensor."""
    part = Part(name, np.arange(width), np.ones(width))
    return Dense((part,), width, np.dtype(dtype), filled)


def emptied(g: Graph, values: str, filled: str | None, dtype: Any) -> str:
    """0 in the rows that are empty."""
    if filled is None:
        return values
    return g.add("Where", filled, values, g.constant(np.zeros((), dtype)))


def as_features(g: Graph, encoded: Encoded) -> Rows:
    """The features that ``transform`` gives; of codes dense one-hot features."""
    if not isinstance(encoded, Dense):
        return _one_hot(g, encoded)
    width, dtype = encoded.width, encoded.dtype
    columns = np.concatenate([part.columns for part in encoded.parts])
    factors = np.concatenate([part.factors for part in encoded.parts])
    names = [part.name for part in encoded.parts]
    values = names[0] if len(names) == 1 else g.add("Concat", *names, axis=1)
    if not (factors == 1).all():
        values = g.add("Mul", values, g.constant(factors.astype(dtype)))
    order = np.argsort(columns, kind="stable")
    if not np.array_equal(order, np.arange(len(order))):
        values = g.add("Gather", values, g.constant(order.astype(np.int64)), axis=1)
    if len(columns) > width:  # the last column is the sum of two
        ends = g.ints(width - 1), g.ints(len(columns))
        last = g.add("Slice", values, *ends, g.ints(1))
        last = g.add("ReduceSum", last, g.ints(1), keepdims=1)
        first = g.add("Slice", values, g.ints(0), g.ints(width - 1), g.ints(1))
        values = g.add("Concat", first, last, axis=1) if width > 1 else last
    return Rows(emptied(g, values, encoded.filled, dtype), width, dtype)


def as_codes(g: Graph, encoded: Bits | Slots) -> str:
    """The codes as int32; -1 in the slots of empty rows, which have none."""
    if isinstance(encoded, Slots):
        return encoded.all(g)
    values = g.cast(encoded.name, np.int32)
    if encoded.filled is None:
        return values
    return g.add("Where", encoded.filled, values, g.constant(np.int32(-1)))


def _one_hot(g: Graph, codes: Bits | Slots) -> Rows:
    bits = 1 if isinstance(codes, Bits) else codes.bits
    width = codes.n_slots << bits
    if width > _MOST_ONE_HOT:
        raise ValueError(
            f"One-hot features of {codes.n_slots:,} slots of {bits} bits would be {width:,} dense "
            "columns, more than an ONNX graph should write for each row: use fewer components or "
            "bits, or to_onnx of the whole model, which needs no such columns."
        )
    depth = g.ints(1 << bits)
    value = np.float32(1.0 / np.sqrt(codes.n_slots))
    slots = g.cast(codes.name if isinstance(codes, Bits) else codes.all(g), np.int64)
    if isinstance(codes, Bits):
        filled = codes.filled
    else:
        filled = g.add("Slice", slots, g.ints(0), g.ints(1), g.ints(1))
        filled = g.add("GreaterOrEqual", filled, g.constant(np.int64(0)))
    ones = g.add("OneHot", slots, depth, g.constant(np.array([0.0, value], np.float32)), axis=-1)
    values = g.add("Reshape", ones, g.ints(0, width))
    return Rows(emptied(g, values, filled, FLOAT), width, FLOAT)
