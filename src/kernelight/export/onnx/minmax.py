"""`GCWS` in ONNX: consistent weighted sampling as docs/hash-spec.md defines it.

Random words are uint64, which onnxruntime shifts and combines, but neither adds nor multiplies:
sums and products are those of int64, which are the same 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.export.c_text import children, stream_key
from kernelight.export.onnx.cws_lists import DARTS, DartLists
from kernelight.export.onnx.encoded import Slots
from kernelight.export.onnx.graph import DOUBLE, FLOAT, Graph, Made, Rows
from kernelight.export.onnx.rows import doubles, not_empty, unit_sum
from kernelight.maps.projections.splitmix import mixed_words

_CODE, _FOLDED = 2, 12  # streams of docs/hash-spec.md
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
MOST_BASE_SLOTS = 64  # that one slot may stand for


def sampled(g: Graph, rows: Rows, gcws: Any) -> Slots:
    """The codes of a `GCWS` that samples by "cws"."""
    filled = not_empty(g, rows)
    if gcws.center is not None:
        center = g.constant(np.asarray(gcws.center, dtype=np.float64))
        rows = Rows(g.add("Sub", doubles(g, rows), center), rows.width, DOUBLE)
        filled = not_empty(g, rows)
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

    def of_row(inner: Graph, row: str) -> str:
        words = tables.words(inner, row)
        if gcws.gamma is not None:
            words = _folded(inner, words, counts, gcws.seed_)
            words = inner.add("BitwiseAnd", words, inner.ints((1 << int(gcws.bits)) - 1))
        return inner.cast(words, np.int32)

    return Slots(rows.name, of_row, int(gcws.n_components), int(gcws.bits), filled)


@dataclass(frozen=True, eq=False)
class _Tables:
    """The numbers of docs/hash-spec.md for each slot and coordinate.

    A column has two coordinates, unless none of its numbers can be negative.
    """

    rows: Rows
    power: float
    bits: int  # that are wanted of a word
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
        lowest, bits = gcws.coding == "lowest", 64 if gcws.gamma is not None else int(gcws.bits)
        lists = None
        if rows.limits is not None and count >= DARTS:
            limits = rows.limits if rows.nonnegative else np.repeat(rows.limits, 2)
            t_mask = 2**64 - 1 if gcws.t_bits is None else 2**gcws.t_bits - 1
            coding = _core.CwsCoding(gcws.seed_, 64, t_mask, lowest)
            lists = DartLists.of(cells, ids, limits, n_slots, float(gcws.p), coding)
        t_bits = gcws.t_bits
        return cls(
            rows, float(gcws.p), bits, t_bits, lowest, coordinates, parts, keys, lists
        )

    def words(self, g: Graph, row: str) -> str:
        """The last bits of the words of all slots of a row, as int64."""
        values = self._values(g, row)
        if self.lists is None:
            return self._scanned(g, values)
        lists = self.lists
        first, decided = lists.first(g, values)
        words = lists.words & np.uint64(2**self.bits - 1)
        known = np.concatenate([np.zeros(1, np.uint64), words.ravel()]).view(np.int64)

        def by_lists(inner: Graph) -> list[Made]:
            numbers = inner.cast(first, np.int64)
            return [(inner.add("GatherElements", inner.constant(known), numbers), *kind)]

        def by_tables(inner: Graph) -> list[Made]:
            return [(self._scanned(inner, values), *kind)]

        kind = np.int64, (len(words),)
        return g.either(decided, by_lists, by_tables)[0]

    def _values(self, g: Graph, row: str) -> str:
        """The weight of each coordinate: 0 of those whose sign a number has not."""
        if self.rows.nonnegative:
            return row
        signs = g.constant(np.array([1, -1], self.rows.dtype))
        both = g.add("Mul", g.add("Unsqueeze", row, g.ints(1)), signs)
        both = g.add("Max", both, g.constant(np.zeros((), self.rows.dtype)))
        return g.add("Reshape", both, g.ints(-1))

    def _scanned(self, g: Graph, values: str) -> str:
        """Words by the least a of all coordinates.

        A weight of 0 has the logarithm -infinity, which makes a infinite: it wins nothing.
        """
        inverse, beta, r, q = (g.constant(table) for table in self.cells)
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
            keys = g.add("GatherElements", g.constant(self.keys), place, axis=1)
            words = g.add("Reshape", _child(g, keys, own), flat)
        if self.bits == 64:
            return words
        return g.add("BitwiseAnd", words, g.ints((1 << self.bits) - 1))


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
