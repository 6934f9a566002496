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
from kernelight.export.onnx.encoded import Slots
from kernelight.export.onnx.graph import DOUBLE, FLOAT, Graph, Rows
from kernelight.export.onnx.rows import doubles, not_empty, unit_sum
from kernelight.maps.projections.splitmix import mixed_words

_CODE, _FOLDED = 2, 12  # streams of docs/hash-spec.md
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_BLOCK = 128  # slots
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
    n_base = max(1, int(counts.sum()))
    tables = _Tables.of(gcws, rows, n_base)

    def of_row(inner: Graph, row: str) -> str:
        winner, t, keys = tables.samples(inner, row)
        if gcws.t_bits is not None:
            t = inner.add("BitwiseAnd", t, inner.ints((1 << gcws.t_bits) - 1))
        last = inner.ints((1 << int(gcws.bits)) - 1)
        if gcws.coding == "lowest":
            return inner.add("BitwiseAnd", winner, last)
        words = _child(inner, keys, t)
        if gcws.gamma is not None:
            words = _folded(inner, words, counts, gcws.seed_)
        return inner.add("BitwiseAnd", words, last)

    return Slots(rows.name, of_row, int(gcws.n_components), int(gcws.bits), filled)


@dataclass(frozen=True, eq=False)
class _Tables:
    """The numbers of docs/hash-spec.md for each coordinate and slot.

    They stand in blocks of slots, (blocks, coordinates, slots of a block): the least of many
    coordinates is found fast where neighbouring ones are close in memory. Where numbers may have
    both signs, a column has two coordinates.
    """

    rows: Rows
    power: float
    n_slots: int
    cells: NDArray[np.float32]  # 1/r, beta, r and q
    keys: NDArray[np.int64]  # child(child(stream(seed, 2), slot), coordinate)

    @classmethod
    def of(cls, gcws: Any, rows: Rows, n_slots: int) -> _Tables:
        """The tables of a fitted `GCWS` for rows of this width and these signs."""
        coordinates = np.arange(rows.width) * 2
        if not rows.nonnegative:
            coordinates = np.arange(2 * rows.width)
        block = min(n_slots, _BLOCK)
        count, n_blocks = len(coordinates), -(-n_slots // block)
        drawn = -(-n_blocks * block // _core.SLOT_BLOCK)
        cells = np.empty((drawn, count * _core.CELL_BLOCK), dtype=np.float32)
        ids = coordinates.astype(np.uint64)
        slots = (0, drawn * _core.SLOT_BLOCK)
        _core.cws_fill(cells, ids, 0, count, gcws.seed_, *slots, 1, 0)
        parts = cells.reshape(drawn, count, 4, _core.SLOT_BLOCK).transpose(2, 1, 0, 3)
        parts = parts.reshape(4, count, -1)[:, :, : n_blocks * block]
        of_slots = children(
            stream_key(gcws.seed_, _CODE), np.arange(n_blocks * block, dtype=np.uint64)
        )
        keys = mixed_words(of_slots + ids[:, None] * np.uint64(_GOLDEN)).view(np.int64)
        in_blocks = np.ascontiguousarray(
            parts.reshape(4, count, n_blocks, block).transpose(0, 2, 1, 3)
        )
        of_blocks = np.ascontiguousarray(keys.reshape(count, n_blocks, block).transpose(1, 0, 2))
        return cls(rows, float(gcws.p), n_slots, in_blocks, of_blocks)

    def samples(self, g: Graph, row: str) -> tuple[str, str, str]:
        """The expanded coordinate and t that win each slot of a row, and the key of both.

        A column that is 0 has the logarithm -infinity, which makes a infinite: it wins nothing.
        """
        rows = self.rows
        tables = [g.constant(table) for table in self.cells]
        coordinates = g.constant(2 * np.arange(rows.width))
        if not rows.nonnegative:
            negative = g.add("Less", row, g.constant(np.zeros((), rows.dtype)))
            coordinates = g.add("Add", coordinates, g.cast(negative, np.int64))
            tables = [g.add("Gather", table, coordinates, axis=1) for table in tables]
        inverse, beta, r, q = tables
        sizes = g.add("Abs", row)
        log = g.add("Log", sizes if rows.dtype == DOUBLE else g.cast(sizes, DOUBLE))
        if self.power != 1.0:
            log = g.add("Mul", log, g.constant(np.float64(self.power)))
        log = g.add("Unsqueeze", g.cast(log, FLOAT), g.ints(1))
        t = g.add("Floor", g.add("Add", g.add("Mul", log, inverse), beta))
        a = g.add("Sub", q, g.add("Mul", r, t))
        column = g.add("ArgMin", a, axis=1, keepdims=1)
        won = self._of_slots(g, g.add("GatherElements", t, column, axis=1))
        winner = g.add("Gather", coordinates, column)
        place = column if rows.nonnegative else winner
        keys = g.add("GatherElements", g.constant(self.keys), place, axis=1)
        return self._of_slots(g, winner), g.cast(won, np.int64), self._of_slots(g, keys)

    def _of_slots(self, g: Graph, values: str) -> str:
        """The numbers of blocks as those of all slots."""
        n_blocks, _, block = self.keys.shape
        flat = g.add("Reshape", values, g.ints(n_blocks * block))
        if n_blocks * block == self.n_slots:
            return flat
        return g.add("Slice", flat, g.ints(0), g.ints(self.n_slots))


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
