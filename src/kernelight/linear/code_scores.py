"""Scores of codes by the weights of a linear model, and what each column adds to them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Resources
from kernelight.codes import Codes, Winners
from kernelight.linear.code_layout import CodeLayout, code_layout
from kernelight.linear.design import groups_of, packed_width, spans

# Up to this size, weights lie directly by code, with zeros for codes that did not occur: that saves
# a look-up for each slot, but the table is larger.
DIRECT_BYTES = 4 << 20


class Columns(NamedTuple):
    """The ``total`` columns that features come from: ``of_feature[f]``, or f itself if None."""

    of_feature: NDArray[np.int64] | None
    n_features: int
    total: int


class Attributed(NamedTuple):
    """Sums over slots of what each column adds to each output, and of the squares of these terms.

    Both (rows, columns, outputs); no squares unless they were asked for.
    """

    values: NDArray[np.float64]
    squares: NDArray[np.float64] | None


class _Group(NamedTuple):
    """Outputs that are summed side by side, and their weights."""

    outputs: slice
    width: int  # padding included
    weights: _core.CodeWeights


class CodeScorer:
    """The weights of codes as compiled functions take them: a cache, neither stored nor pickled.

    Sums are those of the solver, in the same order: segments and parts are those of its layout.
    """

    def __init__(
        self, weights: NDArray[Any], packed: NDArray[np.uint8] | None, seen: NDArray[np.bool_]
    ) -> None:
        self._made_of = (weights, packed)
        self._groups = [
            _group(weights[:, outputs.start : outputs.stop], outputs, seen)
            for outputs in groups_of(weights.shape[1])
        ]

    def is_of(self, weights: NDArray[Any], packed: NDArray[np.uint8] | None) -> bool:
        """Whether it was made of these arrays."""
        return self._made_of[0] is weights and self._made_of[1] is packed

    def scores(
        self,
        codes: Codes,
        intercept: NDArray[np.float64],
        out: NDArray[np.float64],
        resources: Resources,
    ) -> None:
        """Write the (rows, outputs) scores of codes into ``out``."""
        array, empty = codes.array, codes.empty if codes.has_empty else None
        resources = resources.for_work(array.size)
        for outputs, width, weights in self._groups:
            sums = np.empty((len(array), width), dtype=np.float32)
            for begin, end in spans(len(array), array.shape[1], width):
                some = slice(begin, end)
                mask = None if empty is None else empty[some]
                weights.scores(array[some], mask, sums[some], *resources)
            # Intercepts are added in double precision: a large one would round the sums.
            count = outputs.stop - outputs.start
            np.add(sums[:, :count], intercept[outputs], out=out[:, outputs])

    def attribute(
        self,
        codes: Codes,
        winners: Winners,
        columns: Columns,
        resources: Resources,
        *,
        squares: bool,
    ) -> Attributed:
        """What the columns of rows add to their scores, by the winners of slots.

        Values add up to scores less the intercept. Slots without a winner belong to all columns
        alike; an empty row has no terms.
        """
        array, empty = codes.array, codes.empty if codes.has_empty else None
        n_outputs = self._made_of[0].shape[1]
        shape = (len(array), columns.total, n_outputs)
        values, of_squares = np.empty(shape), np.empty(shape) if squares else None
        won = _core.SlotWinners(
            winners.features, winners.starts, columns.of_feature, columns.n_features, columns.total
        )
        threads = resources.for_work(array.size * n_outputs).threads
        for outputs, width, weights in self._groups:
            count = outputs.stop - outputs.start
            kinds = [np.zeros((*shape[:2], width)) for _ in range(1 + squares)]
            rests = [np.zeros((len(array), width)) for _ in range(1 + squares)]
            second = (kinds[1], rests[1]) if squares else (None, None)
            weights.attribute(array, empty, won, kinds[0], rests[0], second[0], second[1], threads)
            for power, (sums, rest) in enumerate(zip(kinds, rests, strict=True), start=1):
                if rest.any():
                    sums += rest[:, None] / columns.total**power
            values[:, :, outputs] = kinds[0][:, :, :count]
            if of_squares is not None:
                of_squares[:, :, outputs] = kinds[1][:, :, :count]
        return Attributed(values, of_squares)


def _group(weights: NDArray[Any], outputs: range, seen: NDArray[np.bool_]) -> _Group:
    width = packed_width(len(outputs))
    layout = code_layout(seen, width, 4)
    direct = seen.size * width * 4 <= DIRECT_BYTES
    table = np.zeros((seen.size if direct else layout.n_entries, width), dtype=np.float32)
    places = np.flatnonzero(seen) if direct else layout.places(seen)
    table[places, : len(outputs)] = weights
    return _Group(slice(outputs.start, outputs.stop), width, _compiled(layout, direct, table))


def _compiled(layout: CodeLayout, direct: bool, table: NDArray[np.float32]) -> _core.CodeWeights:
    return _core.CodeWeights(
        layout.bits,
        None if direct else layout.local,
        layout.segment_slot,
        layout.segment_entry,
        layout.part_segment,
        table,
    )
