"""`GCWS` in ONNX: consistent weighted sampling as docs/hash-spec.md defines it.

Random words are uint64, which onnxruntime shifts and combines, but neither adds nor multiplies:
sums and products are those of int64, which are the same 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.export.c_text import children, stream_key
from kernelight.export.onnx.cws_lists import DartLists
from kernelight.export.onnx.encoded import Slots
from kernelight.export.onnx.graph import DOUBLE, FLOAT, Graph, Made, Rows
from kernelight.export.onnx.rows import doubles, unit_sum
from kernelight.maps.projections.splitmix import mixed_words

_CODE, _FOLDED = 2, 12  # streams of docs/hash-spec.md
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
MOST_BASE_SLOTS = 64  # that one slot may stand for


def sampled(g: Graph, rows: Rows, gcws: Any) -> Slots:
    """The codes of a `GCWS` that samples by "cws"."""
    if gcws.center is not None:
        center = g.constant(np.asarray(gcws.center, dtype=np.float64))
        rows = Rows(g.add("Sub", doubles(g, rows), center), rows.width, DOUBLE)
    if gcws.normalize == "l1":
        rows = Rows(unit_sum(g, rows), rows.width, DOUBLE, rows.nonnegative)
    counts = np.ones(int(gcws.n_components), dtype=np.int64)
    if gcws.gamma is not None:
        _core.poisson_counts(gcws.seed_, gcws.gamma, counts)
        if counts.max() > MOST_BASE_SLOTS:
            raise ValueError(
                f"GCWS(gamma={gcws.gamma:g}) folds up to {counts.max()} samples into a slot, and "
                f"ONNX would need a node for each step of the hash of each (at most "
                f"{MOST_BASE_SLOTS}): use a smaller gamma, or KernelNystroem of the same kernel."
            )
    tables = _Tables.of(gcws, rows, max(1, int(counts.sum())))

    def of_row(inner: Graph, row: str, of_codes: NDArray[np.int32] | None, of_empty: int) -> str:
        values = tables.values(inner, row)
        if gcws.gamma is None:
            return tables.codes(inner, values, of_codes, of_empty)
        words = _folded(inner, tables.words(inner, values), counts, gcws.seed_)
        return _numbered(inner, values, words, None, int(gcws.bits), of_codes, of_empty)

    return Slots(rows.name, of_row, int(gcws.n_components), int(gcws.bits))


def _numbered(
    g: Graph,
    values: str,
    words: str,
    slots: str | None,
    bits: int,
    of_codes: NDArray[np.int32] | None,
    of_empty: int,
) -> str:
    """The codes of the words of some slots, or the numbers of these codes, as int32.

    Another number of a row of zeros.
    """
    codes = g.add("BitwiseAnd", words, g.ints((1 << bits) - 1))
    if of_codes is None:
        numbers = g.cast(codes, np.int32)
    else:
        places = g.add("Add", codes, _of_slots(g, np.arange(len(of_codes)) << bits, slots))
        if np.array_equal(of_codes.ravel(), np.arange(1, of_codes.size + 1)):
            numbers = g.cast(g.add("Add", places, g.ints(1)), np.int32)
        else:
            numbers = g.add("GatherElements", g.constant(of_codes.ravel()), places)
    peak = g.add("ReduceMax", values, keepdims=1)
    filled = g.add("Greater", g.cast(peak, DOUBLE), g.constant(np.float64(0)))
    return g.add("Where", filled, numbers, g.constant(np.int32(of_empty)))


def _of_slots(g: Graph, table: NDArray[Any], slots: str | None) -> str:
    """A table, or what it has of some slots."""
    known = g.constant(table)
    return known if slots is None else g.add("Gather", known, slots, axis=0)


@dataclass(frozen=True, eq=False)
class _Tables:
    """The numbers of docs/hash-spec.md for each slot and coordinate.

    A column has two coordinates, unless none of its numbers can be negative.
    """

    rows: Rows
    power: float
    bits: int  # of a code
    t_bits: int | None
    lowest: bool
    coordinates: NDArray[np.int64]
    cells: NDArray[np.float32]  # (4, slots, coordinates): 1/r, beta, r and q
    keys: NDArray[np.int64]  # child(child(stream(seed, 2), slot), coordinate)
    lists: DartLists | None

    @classmethod
    def of(cls, gcws: Any, rows: Rows, n_slots: int) -> _Tables:
        """The tables of a fitted `GCWS` for rows of this width and these signs."""
        coordinates = np.arange(rows.width) * 2 if rows.nonnegative else np.arange(2 * rows.width)
        count, drawn = len(coordinates), -(-n_slots // _core.SLOT_BLOCK)
        cells = np.empty((drawn, count * _core.CELL_BLOCK), dtype=np.float32)
        ids = coordinates.astype(np.uint64)
        _core.cws_fill(cells, ids, 0, count, gcws.seed_, 0, n_slots, 1, 0)
        parts = cells.reshape(drawn, count, 4, _core.SLOT_BLOCK).transpose(2, 0, 3, 1)
        parts = np.ascontiguousarray(parts.reshape(4, -1, count)[:, :n_slots])
        of_slots = children(stream_key(gcws.seed_, _CODE), np.arange(n_slots, dtype=np.uint64))
        keys = mixed_words(of_slots[:, None] + ids * np.uint64(_GOLDEN)).view(np.int64)
        lowest = gcws.coding == "lowest"
        lists = None
        if rows.limits is not None:
            limits = rows.limits if rows.nonnegative else np.repeat(rows.limits, 2)
            t_mask = 2**64 - 1 if gcws.t_bits is None else 2**gcws.t_bits - 1
            coding = _core.CwsCoding(gcws.seed_, 64, t_mask, lowest)
            lists = DartLists.of(cells, ids, limits, n_slots, float(gcws.p), coding)
        power, bits, t_bits = float(gcws.p), int(gcws.bits), gcws.t_bits
        return cls(rows, power, bits, t_bits, lowest, coordinates, parts, keys, lists)

    def values(self, g: Graph, row: str) -> str:
        """The weight of each coordinate of a row: 0 of those whose sign a number has not."""
        if self.rows.nonnegative:
            return row
        signs = g.constant(np.array([1, -1], self.rows.dtype))
        both = g.add("Mul", g.add("Unsqueeze", row, g.ints(1)), signs)
        both = g.add("Max", both, g.constant(np.zeros((), self.rows.dtype)))
        return g.add("Reshape", both, g.ints(-1))

    def words(self, g: Graph, values: str) -> str:
        """The words of all slots of a row as int64; those of an empty row mean nothing."""
        return self._by_lists(g, values, lambda words: words.view(np.int64), self._scanned)

    def codes(
        self, g: Graph, values: str, of_codes: NDArray[np.int32] | None, of_empty: int
    ) -> str:
        """What `Slots` wants of a row."""

        def looked_up(words: NDArray[np.uint64]) -> NDArray[np.int32]:
            codes = (words & np.uint64((1 << self.bits) - 1)).astype(np.int64)
            numbers: NDArray[np.int32] = (
                codes.astype(np.int32)
                if of_codes is None
                else np.take_along_axis(of_codes, codes, axis=1)
            )
            return numbers

        def scanned(inner: Graph, own: str, slots: str | None) -> str:
            words = self._scanned(inner, own, slots)
            return _numbered(inner, own, words, slots, self.bits, of_codes, of_empty)

        return self._by_lists(g, values, looked_up, scanned)

    def _by_lists(
        self,
        g: Graph,
        values: str,
        of_words: Callable[[NDArray[np.uint64]], NDArray[Any]],
        scanned: Callable[[Graph, str, str | None], str],
    ) -> str:
        """What a function makes of the words in the lists; another makes the rest of the values.

        The rest are the slots that lists leave open, of which a row rarely has one.
        """
        if self.lists is None:
            return scanned(g, values, None)
        lists, known = self.lists, of_words(self.lists.words)
        first, room = lists.first(g, values)
        decided = g.add("Concat", first, room, axis=0)
        decided = g.add("ReduceMin", decided, keepdims=0)
        decided = g.add("Greater", decided, g.constant(FLOAT.type(0)))
        table = np.concatenate([np.zeros(1, known.dtype), known.ravel()])
        kind = known.dtype, (len(known),)

        def by_lists(inner: Graph) -> list[Made]:
            numbers = inner.cast(first, np.int64)
            return [(inner.add("GatherElements", inner.constant(table), numbers), *kind)]

        def by_tables(inner: Graph) -> list[Made]:
            ((numbers, *_),) = by_lists(inner)
            left = inner.add("Min", first, inner.add("ReduceMin", room, keepdims=1))
            left = inner.add("LessOrEqual", left, inner.constant(FLOAT.type(0)))
            slots = inner.add("Reshape", inner.add("NonZero", left), inner.ints(-1))
            rest = scanned(inner, values, slots)
            return [(inner.add("ScatterElements", numbers, slots, rest), *kind)]

        return g.either(decided, by_lists, by_tables)[0]

    def _scanned(self, g: Graph, values: str, slots: str | None) -> str:
        """Words of some slots by the least a of all coordinates.

        A weight of 0 has the logarithm -infinity, which makes a infinite: it wins nothing.
        """
        inverse, beta, r, q = (_of_slots(g, table, slots) for table in self.cells)
        log = g.add("Log", values if self.rows.dtype == DOUBLE else g.cast(values, DOUBLE))
        if self.power != 1.0:
            log = g.add("Mul", log, g.constant(np.float64(self.power)))
        t = g.add("Floor", g.add("Add", g.add("Mul", g.cast(log, FLOAT), inverse), beta))
        a = g.add("Sub", q, g.add("Mul", r, t))
        place = g.add("ArgMin", a, axis=1, keepdims=1)
        flat = g.ints(-1)
        if self.lowest:
            winner = g.add("Reshape", place, flat)
            if not np.array_equal(self.coordinates, np.arange(len(self.coordinates))):
                winner = g.add("GatherElements", g.constant(self.coordinates), winner)
            words = winner
        else:
            own = g.cast(g.add("GatherElements", t, place, axis=1), np.int64)
            if self.t_bits is not None:
                own = g.add("BitwiseAnd", own, g.ints((1 << self.t_bits) - 1))
            keys = g.add("GatherElements", _of_slots(g, self.keys, slots), place, axis=1)
            words = g.add("Reshape", _child(g, keys, own), flat)
        return words


def _child(g: Graph, keys: str, numbers: str) -> str:
    """child(key, number) of docs/hash-spec.md, as int64."""
    numbers = g.add("Mul", g.add("Add", numbers, g.ints(1)), _word(g, _GOLDEN))
    z = g.add("Add", keys, numbers)
    for shift, factor in ((30, _FIRST), (27, _SECOND), (31, None)):
        bits = g.cast(z, np.uint64)
        high = g.add("BitShift", bits, g.constant(np.uint64(shift)), direction="RIGHT")
        z = g.cast(g.add("BitwiseXor", bits, high), np.int64)
        if factor is not None:
            z = g.add("Mul", z, _word(g, factor))
    return z


def _word(g: Graph, word: int) -> str:
    return g.constant(np.uint64(word).view(np.int64))


def _folded(g: Graph, words: str, counts: NDArray[np.int64], seed: int) -> str:
    """The words of the base slots of each slot, one after another (section 8)."""
    slots = np.arange(len(counts), dtype=np.uint64)
    folded = g.constant(children(stream_key(seed, _FOLDED), slots).view(np.int64))
    starts = np.cumsum(counts) - counts
    for step in range(int(counts.max())):
        there = counts > step
        places = g.constant(np.where(there, starts + step, 0))
        further = _child(g, folded, g.add("Gather", words, places))
        folded = g.add("Where", g.constant(there), further, folded)
    return folded
