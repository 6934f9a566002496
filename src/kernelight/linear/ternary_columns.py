"""Columns of features as the ternary descent takes them: signs of bits, or dense numbers.

Both know the same few things: what a coefficient adds to the scores of rows, the sweep of the core
that is exact for them, and the terms that a fit of scale and bias adds up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Resources
from kernelight.codes import Codes
from kernelight.codes.slots import packed, unpacked
from kernelight.linear.output_group import LOSSES as CORE_LOSSES
from kernelight.linear.ternary_loss import Loss, MarginTerms

LANES = 8  # rows of a dense column come in whole groups, kTernaryLanes in the core
# The powers of ten between which the largest feature must be, so that scales are float32 numbers.
SMALLEST, LARGEST = 1e-30, 1e30


class Sweep(NamedTuple):
    """A sweep over all coefficients of some classes: what stays as it is, and what moves."""

    loss: Loss
    weights: NDArray[np.float64]  # (rows)
    positive: NDArray[np.uint8]  # (classes, rows)
    scale: NDArray[np.float64]  # (classes)
    bias: NDArray[np.float64]  # (classes)
    penalties: NDArray[np.float64]  # (classes)
    least: NDArray[np.float64]  # (classes)
    orders: NDArray[np.int32]  # (classes, slots)
    coefficients: NDArray[np.int8]  # (classes, slots), moves in place
    scores: NDArray[Any]  # (classes, rows), moves in place


@dataclass(frozen=True)
class BitColumns:
    """The signs of bits; rows that are not empty come first."""

    words: NDArray[np.uint64]  # (slots, words of 64 rows): the bits of rows
    n_rows: int
    n_filled: int  # rows that are not empty

    @classmethod
    def of(cls, codes: Codes) -> tuple[BitColumns, NDArray[np.intp]]:
        """The columns of codes, and the order of their rows."""
        order = np.argsort(codes.empty, kind="stable")
        n_filled = int(len(codes) - codes.empty.sum())
        rows = codes.array if n_filled == len(codes) else codes.array[order[:n_filled]]
        return cls(packed(np.ascontiguousarray(rows.T), 1), len(codes), n_filled), order

    @property
    def n_slots(self) -> int:
        """How many columns there are."""
        return len(self.words)

    @property
    def l2_factor(self) -> float:
        """k: a model of the one-hot features has the penalty k alpha^2 |w|_0."""
        return float(self.n_slots)

    def scores(self, coefficients: NDArray[np.int8], resources: Resources) -> NDArray[np.int32]:
        """w . z for each class and row, (classes, rows); 0 for empty rows."""
        scores = np.zeros((len(coefficients), self.n_rows), dtype=np.int32)
        if not self.n_filled:
            return scores
        for at in range(0, self.n_slots, 256):  # the signs of all slots at once would be large
            bits = unpacked(self.words[at : at + 256], self.n_filled, 1)
            signs = 2 * bits.astype(np.float32) - 1
            # whole numbers, which single precision adds exactly
            part = coefficients[:, at : at + 256].astype(np.float32) @ signs
            scores[:, : self.n_filled] += part.astype(np.int32)
        return scores

    def column(self, slot: int) -> NDArray[np.int32]:
        """What a coefficient of 1 adds to the scores of all rows."""
        signs = np.zeros(self.n_rows, dtype=np.int32)
        bits = unpacked(self.words[slot : slot + 1], self.n_filled, 1)[0].astype(np.int32)
        signs[: self.n_filled] = 2 * bits - 1
        return signs

    def terms(
        self, scores: NDArray[np.int32], positive: NDArray[np.uint8], weights: NDArray[np.float64]
    ) -> MarginTerms:
        """The scores of a class that occur, and the weights of the rows that have them.

        The weights are (2, scores): of the rows of other classes, and of those of the class. So the
        cost of a fit does not depend on the number of rows.
        """
        low = int(scores.min())
        width = int(scores.max()) - low + 1
        places = (scores - low) + np.int64(width) * positive
        sums = np.bincount(places, weights=weights, minlength=2 * width).reshape(2, width)
        occur = np.flatnonzero(sums.any(axis=0))
        values = (occur + low).astype(np.float64)
        return MarginTerms(values, np.asarray(sums[:, occur], dtype=np.float64))

    def sweep(self, of: Sweep, resources: Resources) -> NDArray[np.int64]:
        """Visit every slot of some classes; return how many coefficients changed."""
        largest = self.n_slots + 2
        scores = np.arange(-largest, largest + 1, dtype=np.float64)
        decisions = of.scale[:, None] * scores + of.bias[:, None]
        losses = np.stack([of.loss.value(-decisions), of.loss.value(decisions)], axis=1)
        moves, decrease = np.zeros(len(of.scale), dtype=np.int64), np.zeros(len(of.scale))
        _core.ternary_sweep(
            self.words,
            of.weights,
            self.n_filled,
            of.positive,
            losses,
            of.penalties,
            of.least,
            of.orders,
            of.coefficients,
            of.scores,
            moves,
            decrease,
            *resources,
        )
        return moves


@dataclass(frozen=True)
class DenseColumns:
    """Columns of real numbers in single precision."""

    values: NDArray[np.float32]  # (slots, rows and zeros up to a multiple of LANES)
    largest: NDArray[np.float64]  # (slots): the largest absolute value
    n_rows: int

    @classmethod
    def of(cls, X: NDArray[Any]) -> tuple[DenseColumns, NDArray[np.intp]]:
        """The columns of a checked dense matrix, and the order of its rows."""
        n_rows, n_slots = X.shape
        largest = np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)
        most = float(largest.max())
        if most and not SMALLEST <= most <= LARGEST:
            raise ValueError(
                f"The largest value of X is {most:g}, but TernaryClassifier needs one between "
                f"{SMALLEST:g} and {LARGEST:g}: scale X, for instance to unit variance."
            )
        values = np.zeros((n_slots, -(-n_rows // LANES) * LANES), dtype=np.float32)
        values[:, :n_rows] = X.T
        return cls(values, np.abs(values).max(axis=1).astype(np.float64), n_rows), np.arange(n_rows)

    @property
    def n_slots(self) -> int:
        """How many columns there are."""
        return len(self.values)

    @property
    def l2_factor(self) -> float:
        """1/2: a linear model has the penalty |alpha w|^2 / 2 = alpha^2 |w|_0 / 2."""
        return 0.5

    def scores(self, coefficients: NDArray[np.int8], resources: Resources) -> NDArray[np.float64]:
        """w . x for each class and row, (classes, rows)."""
        scores = np.empty((len(coefficients), self.n_rows))
        _core.ternary_dense_totals(self.values, coefficients, scores, *resources)
        return scores

    def column(self, slot: int) -> NDArray[np.float64]:
        """What a coefficient of 1 adds to the scores of all rows."""
        return self.values[slot, : self.n_rows].astype(np.float64)

    def terms(
        self, scores: NDArray[np.float64], positive: NDArray[np.uint8], weights: NDArray[np.float64]
    ) -> MarginTerms:
        """The scores, weights and sides of all rows, in a unit that brings scores near 1."""
        unit = 2.0 ** float(np.frexp(np.abs(scores).max())[1])
        sides = np.where(positive, 1.0, -1.0)
        return MarginTerms(scores / unit, weights, sides, unit)

    def sweep(self, of: Sweep, resources: Resources) -> NDArray[np.int64]:
        """Visit every slot of some classes; return how many coefficients changed."""
        moves, decrease = np.zeros(len(of.scale), dtype=np.int64), np.zeros(len(of.scale))
        _core.ternary_dense_sweep(
            self.values,
            self.largest,
            of.weights,
            CORE_LOSSES.index(of.loss.name),
            of.positive,
            of.scale,
            of.bias,
            of.penalties,
            of.least,
            of.orders,
            of.coefficients,
            of.scores,
            moves,
            decrease,
            *resources,
        )
        return moves


Columns = BitColumns | DenseColumns


def columns_of(rows: Codes | NDArray[Any]) -> tuple[Columns, NDArray[np.intp]]:
    """The columns of codes of 1 bit or of a dense matrix, and the order of their rows."""
    return BitColumns.of(rows) if isinstance(rows, Codes) else DenseColumns.of(rows)
