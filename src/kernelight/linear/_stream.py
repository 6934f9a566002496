"""Learning from batches: coordinate ascent on the dual of all rows seen so far, with a bounded memory of rows.

A batch brings rows whose duals start at 0; its steps raise the dual objective of the problem of all rows so far, the weights
of which are the sum of duals times rows. Alone, that would be one visit to each row, and the first were visited knowing little.
So a sample of earlier rows is kept with their duals, and with each batch a few times as many of them are visited again. When
there are too many, the rows of the smallest duals go, and their duals are kept with a fingerprint of 64 bits. A row that comes
again with the same target, as in another pass over the data, is known by it and goes on from its dual: so passes approach the
solution for all rows, each counted once. The model is a mean of the weights after each epoch, steadier than the last of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.codes import Codes
from kernelight.linear._rows import Targets

LEAST_REPLAY, MOST_REPLAY = 4, 16  # rows of the memory that are visited for each row of a batch
REPLAY_WORK = 1024  # stored numbers that they should have together: narrow rows tell less and cost less
EPOCHS = 4  # visits to all of them
MEMORY_BYTES = 32 << 20  # of rows
KNOWN = 20  # epochs that a model which was fitted or loaded counts for in the mean


@dataclass(frozen=True)
class Memory:
    """Rows with their fingerprints, targets, costs and duals."""

    rows: Any
    keys: NDArray[np.uint64]
    labels: NDArray[np.int32] | None
    values: NDArray[np.float64] | None
    cost: NDArray[np.float64]
    dual: NDArray[Any]

    @classmethod
    def of(cls, X: Any, targets: Targets, dtype: Any) -> Memory:
        """Rows that nobody has visited yet; copies, since a caller may fill the same arrays with the next batch."""
        dual = np.zeros((X.shape[0], targets.n_outputs), dtype=dtype)
        values = None if targets.values is None else targets.values.copy()
        rows = X if isinstance(X, Codes) else X.copy()
        return cls(rows, row_keys(X, targets), targets.labels, values, targets.row_cost, dual)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def take(self, which: NDArray[np.intp]) -> Memory:
        labels = None if self.labels is None else self.labels[which]
        values = None if self.values is None else self.values[which]
        return Memory(self.rows[which], self.keys[which], labels, values, self.cost[which], self.dual[which])

    def with_duals(self, dual: NDArray[Any]) -> Memory:
        return Memory(self.rows, self.keys, self.labels, self.values, self.cost, dual)

    def joined(self, other: Memory) -> Memory:
        """These rows, then the others."""

        def both(left: Any, right: Any) -> Any:
            return None if left is None else np.concatenate([left, right])

        rows, keys = _stacked(self.rows, other.rows), both(self.keys, other.keys)
        labels, values = both(self.labels, other.labels), both(self.values, other.values)
        return Memory(rows, keys, labels, values, both(self.cost, other.cost), both(self.dual, other.dual))

    def targets(self, like: Targets) -> Targets:
        """The targets of these rows, with the factors of others."""
        return Targets(self.labels, self.values, self.cost, like.above, like.below)

    def within(self, limit: int) -> tuple[Memory, Ledger]:
        """The rows of the largest duals that ``limit`` bytes hold, in their order, and the duals of the others."""
        most = max(1, limit // max(1, _row_bytes(self.rows)))
        if len(self) <= most:
            return self, Ledger(self.keys[:0], self.dual[:0])
        size = np.abs(self.dual).sum(axis=1)
        order = np.lexsort((-np.arange(len(self)), -size))  # of equal duals the newest stay
        gone = order[most:][size[order[most:]] > 0]  # a row whose dual is 0 is as good as new
        return self.take(np.sort(order[:most])), Ledger(self.keys[gone], self.dual[gone])


@dataclass(frozen=True)
class Ledger:
    """Duals of rows that are no longer there, by their fingerprints."""

    keys: NDArray[np.uint64]
    dual: NDArray[Any]

    def take(self, which: NDArray[np.intp]) -> Ledger:
        return Ledger(self.keys[which], self.dual[which])

    def joined(self, other: Ledger) -> Ledger:
        return Ledger(np.concatenate([self.keys, other.keys]), np.concatenate([self.dual, other.dual]))


def recognised(batch: Memory, *stores: Any) -> tuple[Memory, list[Any]]:
    """The batch with the duals of the rows that the stores know, and the stores without them."""
    left: list[Any] = []
    dual, unknown = batch.dual.copy(), np.arange(len(batch))
    for store in stores:
        if store is None:
            left.append(None)
            continue
        found = matches(batch.keys[unknown], store.keys)
        known = found >= 0
        dual[unknown[known]] = store.dual[found[known]]
        unknown = unknown[~known]
        rest = np.ones(len(store.keys), dtype=bool)
        rest[found[known]] = False
        left.append(store if rest.all() else store.take(np.flatnonzero(rest)))
    return batch.with_duals(dual), left


def matches(keys: NDArray[np.uint64], stored: NDArray[np.uint64]) -> NDArray[np.intp]:
    """For each key the place of an equal one among ``stored``, a different one for each, or -1."""
    order, mine = np.argsort(stored, kind="stable"), np.argsort(keys, kind="stable")
    in_order = keys[mine]
    turn = np.arange(len(keys)) - np.searchsorted(in_order, in_order)  # 0, 1, ... among equal keys
    place = np.searchsorted(stored, in_order, sorter=order) + turn
    found = np.full(len(keys), -1, dtype=np.intp)
    inside = np.flatnonzero(place < len(stored))
    equal = inside[stored[order[place[inside]]] == in_order[inside]]
    found[mine[equal]] = order[place[equal]]
    return found


def row_keys(X: Any, targets: Targets) -> NDArray[np.uint64]:
    """A fingerprint of each row and its target: a sum of words times odd random numbers, modulo 2^64."""
    if isinstance(X, Codes):
        keys = _dense_keys(X.array, 0) + X.empty.astype(np.uint64)
    elif sp.issparse(X):
        factors = _odd(2, 1)
        words = X.data.astype(np.float64).view(np.uint64)
        mixed = (words ^ (words >> np.uint64(29))) * factors[0] + X.indices.astype(np.uint64) * factors[1]
        sums = np.concatenate(
            [np.zeros(1, np.uint64), np.cumsum(mixed * (mixed >> np.uint64(32) | np.uint64(1)))]
        )
        keys = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    else:
        keys = _dense_keys(X, 0)
    target = targets.values if targets.labels is None else targets.labels[:, None]
    return np.asarray(keys ^ (_dense_keys(np.ascontiguousarray(target), 2) * np.uint64(0x9E3779B97F4A7C15)))


def _odd(count: int, stream: int) -> NDArray[np.uint64]:
    return np.asarray(
        np.random.default_rng([7, stream]).integers(0, 2**64, count, dtype=np.uint64) | np.uint64(1)
    )


def _dense_keys(array: NDArray[Any], stream: int) -> NDArray[np.uint64]:
    flat = np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1)
    padded = np.pad(flat, ((0, 0), (0, -flat.shape[1] % 8))).view(np.uint64)
    mixed = padded ^ (
        padded >> np.uint64(29)
    )  # floats differ in their upper bits, which a product alone would not spread
    keys: NDArray[np.uint64] = (mixed * _odd(padded.shape[1], stream)).sum(axis=1, dtype=np.uint64)
    return keys


def replay(X: Any) -> int:
    """How many rows of the memory are visited with the rows of a batch."""
    stored = X.array.size if isinstance(X, Codes) else X.nnz if sp.issparse(X) else X.size
    times = REPLAY_WORK * X.shape[0] // max(1, stored)
    return int(min(max(times, LEAST_REPLAY), MOST_REPLAY)) * int(X.shape[0])


def _row_bytes(rows: Any) -> int:
    if isinstance(rows, Codes):
        return int(rows.array.itemsize * rows.n_components)
    stored = rows.data.nbytes + rows.indices.nbytes if sp.issparse(rows) else rows.nbytes
    return int(stored // max(1, rows.shape[0]))


def _stacked(top: Any, bottom: Any) -> Any:
    if isinstance(top, Codes):
        return Codes.concatenate([top, bottom])
    if sp.issparse(top) or sp.issparse(bottom):
        return sp.vstack([sp.csr_matrix(top), sp.csr_matrix(bottom)], format="csr")
    return np.concatenate([top, bottom])
