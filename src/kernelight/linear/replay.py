"""Learning from batches: coordinate ascent on the dual of all rows seen so far, with a bounded
memory of rows.

A batch brings rows whose duals start at 0; its steps raise the dual objective of the problem of all
rows so far, the weights of which are the sum of duals times rows. Alone, that would be one visit to
each row, and the first were visited knowing little. So a sample of earlier rows is kept with their
duals, and with each batch a few times as many of them are visited again. When there are too many,
the rows of the smallest duals go, and their duals are kept with a fingerprint of 64 bits. By it a
row is known in another pass over the data, and goes on from its dual: so passes approach the
solution for all rows, each counted once. Equal rows within a pass are different rows; see `Pass`
for how passes are told. The model is a mean of the weights after each epoch, steadier than the last
of them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.codes import Codes
from kernelight.linear.design import Targets
from kernelight.linear.fingerprints import keys_of_rows

LEAST_REPLAY, MOST_REPLAY = 4, 16  # rows of the memory that are visited for each row of a batch
# stored numbers that they should have together: narrow rows tell less and cost less
REPLAY_WORK = 1024
REPLAY_ROWS = 16_384  # that are enough, with a batch of fewer; with one of more, as many as it has
MANY_ROWS = 8192
FEW_EPOCHS, EPOCHS = 2, 4  # visits to all of them: batches of many rows need fewer
MEMORY_BYTES = 32 << 20  # of rows
LEDGER_BYTES = 32 << 20  # of duals of rows that are no longer there
# fewer rows may be equal to others by chance, and begin no pass; nor where more are equal
PASS_ROWS, FEW_EQUAL = (16, 0.5)
KNOWN = 20  # epochs that a model which was fitted or loaded counts for in the mean


@dataclass(frozen=True)
class ReplayBuffer:
    """Rows with their fingerprints, targets, costs and duals, and whether they came in this
    pass."""

    rows: Any
    keys: NDArray[np.uint64]
    labels: NDArray[np.int32] | None
    values: NDArray[np.float64] | None
    cost: NDArray[np.float64]
    dual: NDArray[Any]
    came: NDArray[np.bool_]

    @classmethod
    def of(cls, X: Any, targets: Targets, dtype: Any) -> ReplayBuffer:
        """Rows that nobody has visited yet; copies, since a caller may fill the same arrays with
        the next batch."""
        dual = np.zeros((X.shape[0], targets.n_outputs), dtype=dtype)
        values = None if targets.values is None else targets.values.copy()
        rows = X if isinstance(X, Codes) else X.copy()
        came = np.ones(X.shape[0], dtype=bool)
        return cls(rows, row_keys(X, targets), targets.labels, values, targets.row_cost, dual, came)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def take(self, which: NDArray[np.intp]) -> ReplayBuffer:
        labels = None if self.labels is None else self.labels[which]
        values = None if self.values is None else self.values[which]
        return ReplayBuffer(
            self.rows[which],
            self.keys[which],
            labels,
            values,
            self.cost[which],
            self.dual[which],
            self.came[which],
        )

    def with_duals(self, dual: NDArray[Any]) -> ReplayBuffer:
        return replace(self, dual=dual)

    def next_pass(self) -> ReplayBuffer:
        return replace(self, came=np.zeros_like(self.came))

    def joined(self, other: ReplayBuffer) -> ReplayBuffer:
        """These rows, then the others."""

        def both(left: Any, right: Any) -> Any:
            return None if left is None else np.concatenate([left, right])

        rows, keys = _stacked(self.rows, other.rows), both(self.keys, other.keys)
        labels, values = both(self.labels, other.labels), both(self.values, other.values)
        cost, dual, came = (
            both(self.cost, other.cost),
            both(self.dual, other.dual),
            both(self.came, other.came),
        )
        return ReplayBuffer(rows, keys, labels, values, cost, dual, came)

    def targets(self, like: Targets) -> Targets:
        """The targets of these rows, with the factors of others."""
        return Targets(self.labels, self.values, self.cost, like.above, like.below)

    def within(self, limit: int) -> tuple[ReplayBuffer, Ledger]:
        """The rows of the largest duals that ``limit`` bytes hold, in their order, and the duals of
        the others."""
        most = max(1, limit // max(1, _row_bytes(self.rows)))
        if len(self) <= most:
            return self, Ledger(self.keys[:0], self.dual[:0], self.came[:0])
        size = np.abs(self.dual).sum(axis=1)
        order = np.lexsort((-np.arange(len(self)), -size))  # of equal duals the newest stay
        gone = order[most:]
        return self.take(np.sort(order[:most])), Ledger.of(
            self.keys[gone], self.dual[gone], self.came[gone]
        )


@dataclass(frozen=True)
class Ledger:
    """Duals of rows that are no longer there, by their fingerprints, which ascend: a batch finds
    its own among millions."""

    keys: NDArray[np.uint64]
    dual: NDArray[Any]
    came: NDArray[np.bool_]

    @classmethod
    def of(cls, keys: NDArray[np.uint64], dual: NDArray[Any], came: NDArray[np.bool_]) -> Ledger:
        return cls(keys, dual, came).take(np.argsort(keys))

    def take(self, which: NDArray[np.intp]) -> Ledger:
        return Ledger(self.keys[which], self.dual[which], self.came[which])

    def next_pass(self) -> Ledger:
        return replace(self, came=np.zeros_like(self.came))

    def scaled(self, factor: float) -> Ledger:
        return replace(self, dual=self.dual * self.dual.dtype.type(factor))

    def joined(self, other: Ledger) -> Ledger:
        """Both, at most LEDGER_BYTES of them; the other, which is small, is put in between."""
        at = np.searchsorted(self.keys, other.keys)
        both = Ledger(
            np.insert(self.keys, at, other.keys),
            np.insert(self.dual, at, other.dual, axis=0),
            np.insert(self.came, at, other.came),
        )
        return both.within(LEDGER_BYTES)

    def within(self, limit: int) -> Ledger:
        """The largest duals, if they take more bytes.

        A row whose dual is forgotten counts once more when it comes again.
        """
        most = limit // (self.keys.itemsize + self.dual.itemsize * self.dual.shape[1] + 1)
        if len(self.keys) <= most:
            return self
        size = np.abs(self.dual).sum(axis=1)
        fewer = most - most // 8  # so that this is not done with every batch
        return self.take(np.sort(np.argpartition(-size, fewer)[:fewer]))


def recognised(batch: ReplayBuffer, *stores: Any) -> tuple[ReplayBuffer, list[Any]]:
    """The batch with the duals of the rows that the stores know from other passes, and the stores
    without them."""
    left: list[Any] = []
    dual, unknown = batch.dual.copy(), np.arange(len(batch))
    for store in stores:
        if store is None:
            left.append(None)
            continue
        waiting = np.flatnonzero(~store.came)
        found = matches(
            batch.keys[unknown], store.keys[waiting], ascending=isinstance(store, Ledger)
        )
        known = found >= 0
        found = waiting[found[known]]
        dual[unknown[known]] = store.dual[found]
        unknown = unknown[~known]
        rest = np.ones(len(store.keys), dtype=bool)
        rest[found] = False
        left.append(store if rest.all() else store.take(np.flatnonzero(rest)))
    return batch.with_duals(dual), left


def matches(
    keys: NDArray[np.uint64], stored: NDArray[np.uint64], *, ascending: bool = False
) -> NDArray[np.intp]:
    """For each key the place of an equal one among ``stored`` (which may ascend), a different one
    for each, or -1."""
    order = None if ascending else np.argsort(stored, kind="stable")
    mine = np.argsort(keys, kind="stable")
    in_order = keys[mine]
    turn = np.arange(len(keys)) - np.searchsorted(in_order, in_order)  # 0, 1, ... among equal keys
    place = np.searchsorted(stored, in_order, sorter=order) + turn
    found = np.full(len(keys), -1, dtype=np.intp)
    inside = np.flatnonzero(place < len(stored))
    if order is not None:
        place[inside] = order[place[inside]]
    equal = inside[stored[place[inside]] == in_order[inside]]
    found[mine[equal]] = place[equal]
    return found


@dataclass(frozen=True)
class Pass:
    """What came in this pass over the data: which batches, how many rows, and how many of these
    were equal to earlier ones.

    Another one begins with a batch that came before as a whole, or with one all of whose rows did,
    where few others had.
    """

    batches: frozenset[bytes] = frozenset()
    n_rows: int = 0
    n_equal: int = 0

    def ends_before(self, batch: ReplayBuffer, n_equal: int) -> bool:
        """Whether ``batch``, of whose rows so many came in this pass, begins another one."""
        if len(batch) < PASS_ROWS:
            return False
        return batch_key(batch) in self.batches or (
            n_equal == len(batch) and self.n_equal < FEW_EQUAL * self.n_rows
        )

    def followed_by(self, batch: ReplayBuffer, n_equal: int) -> Pass:
        in_order = np.sort(batch.keys)
        n_equal = max(n_equal, int((in_order[1:] == in_order[:-1]).sum()))
        key = {batch_key(batch)} if len(batch) >= PASS_ROWS else set()
        return Pass(self.batches | key, self.n_rows + len(batch), self.n_equal + n_equal)


def count_equal(batch: ReplayBuffer, *stores: Any) -> int:
    """How many rows of the batch came in this pass already."""
    equal = np.zeros(len(batch), dtype=bool)
    for store in stores:
        if store is not None and store.came.any():
            known = store.keys[store.came]
            known = known if isinstance(store, Ledger) else np.sort(known)
            equal |= known[np.searchsorted(known[:-1], batch.keys)] == batch.keys
    return int(equal.sum())


def batch_key(batch: ReplayBuffer) -> bytes:
    """A fingerprint of the rows of a batch in their order: of few kinds of rows, others are equal
    in any other sense."""
    return hashlib.blake2b(batch.keys.tobytes(), digest_size=16).digest()


def row_keys(X: Any, targets: Targets) -> NDArray[np.uint64]:
    """A fingerprint of each row and its target."""
    target = targets.values if targets.labels is None else targets.labels[:, None]
    return np.asarray(
        keys_of_rows(X) ^ (keys_of_rows(target, stream=2) * np.uint64(0x9E3779B97F4A7C15))
    )


def replay(X: Any) -> int:
    """How many rows of the memory are visited with the rows of a batch."""
    stored = X.array.size if isinstance(X, Codes) else X.nnz if sp.issparse(X) else X.size
    times = REPLAY_WORK * X.shape[0] // max(1, stored)
    wanted = int(min(max(times, LEAST_REPLAY), MOST_REPLAY)) * int(X.shape[0])
    return min(wanted, max(REPLAY_ROWS, int(X.shape[0])))


def n_epochs(X: Any) -> int:
    """How often the rows of a batch, and those of the memory that go with it, are visited."""
    return EPOCHS if X.shape[0] < MANY_ROWS else FEW_EPOCHS


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
