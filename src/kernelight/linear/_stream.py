"""Learning from batches: coordinate ascent on the dual of all rows seen so far, with a bounded memory of rows.

A batch brings rows whose duals start at 0; its steps raise the dual objective of the problem of all rows so far, the weights
of which are the sum of duals times rows. Alone, that would be one visit to each row, and the first were visited knowing little.
So a sample of earlier rows is kept with their duals, and with each batch a few times as many of them are visited again. When
there are too many, the rows of the smallest duals go: where a dual is 0 nothing is lost, elsewhere its part stays in the
weights. The model is a mean of the weights after each epoch, which is steadier than the last of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.codes import Codes
from kernelight.linear._rows import Targets

REPLAY = 4  # rows of the memory that are visited for each row of a batch
EPOCHS = 4  # visits to all of them
MEMORY_BYTES = 32 << 20  # of rows
KNOWN = 20  # epochs that a model which was fitted or loaded counts for in the mean


@dataclass(frozen=True)
class Memory:
    """Rows with their targets, costs and duals."""

    rows: Any
    labels: NDArray[np.int32] | None
    values: NDArray[np.float64] | None
    cost: NDArray[np.float64]
    dual: NDArray[Any]

    @classmethod
    def of(cls, X: Any, targets: Targets, dtype: Any) -> Memory:
        """Rows that nobody has visited yet."""
        dual = np.zeros((X.shape[0], targets.n_outputs), dtype=dtype)
        return cls(X, targets.labels, targets.values, targets.row_cost, dual)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def take(self, which: NDArray[np.intp]) -> Memory:
        labels = None if self.labels is None else self.labels[which]
        values = None if self.values is None else self.values[which]
        return Memory(self.rows[which], labels, values, self.cost[which], self.dual[which])

    def with_duals(self, dual: NDArray[Any]) -> Memory:
        return Memory(self.rows, self.labels, self.values, self.cost, dual)

    def joined(self, other: Memory) -> Memory:
        """These rows, then the others."""

        def both(left: Any, right: Any) -> Any:
            return None if left is None else np.concatenate([left, right])

        return Memory(
            _stacked(self.rows, other.rows), both(self.labels, other.labels), both(self.values, other.values),
            both(self.cost, other.cost), both(self.dual, other.dual),
        )  # fmt: skip

    def targets(self, like: Targets) -> Targets:
        """The targets of these rows, with the factors of others."""
        return Targets(self.labels, self.values, self.cost, like.above, like.below)

    def within(self, limit: int) -> Memory:
        """The rows of the largest duals that ``limit`` bytes hold, in their order."""
        most = max(1, limit // max(1, _row_bytes(self.rows)))
        if len(self) <= most:
            return self
        size = np.abs(self.dual).sum(axis=1)
        newest = np.lexsort((-np.arange(len(self)), -size))[:most]  # of equal duals the newest stay
        return self.take(np.sort(newest))


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
