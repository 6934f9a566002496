"""What `partial_fit` keeps of earlier rows: a replay buffer, a ledger, and which pass they came in.

The replay buffer holds rows with their duals, to be visited again with later batches. When it is
full, the rows of the smallest duals leave it, and their duals go to the ledger, under fingerprints
of 64 bits. In another pass over the data a row is recognised by its fingerprint and goes on from
its dual, so that it counts once. Equal rows within one pass are different rows; see `DataPass` for
how the beginning of a pass is recognised.
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
from kernelight.linear.fingerprints import row_fingerprints

BUFFER_BYTES = 32 << 20  # of rows in the replay buffer
LEDGER_BYTES = 32 << 20  # of the ledger
# Rows of the buffer that are visited with a batch, for each of its rows: as many as have
# REPLAY_WORK stored numbers (narrow rows are cheap and say little), within these limits.
REPLAY_WORK, MIN_REPLAY, MAX_REPLAY = 1024, 4, 16
# No more than this in all; with a larger batch, as many as it has rows.
REPLAY_ROWS = 16_384
# A batch of fewer rows may equal others by chance and begins no pass, nor does one of known rows
# where more than this fraction of rows was known before.
PASS_ROWS, MANY_EQUAL = 16, 0.5


def ledger_row_bytes(n_outputs: int, itemsize: int = 4) -> int:
    """Bytes of one row of a ledger: its fingerprint, its duals, and a flag."""
    return 8 + itemsize * n_outputs + 1


@dataclass(frozen=True)
class ReplayBuffer:
    """Rows with their fingerprints, targets, costs and duals, and whether they are of this pass."""

    rows: Any
    fingerprints: NDArray[np.uint64]
    labels: NDArray[np.int32] | None
    values: NDArray[np.float64] | None
    cost: NDArray[np.float64]
    dual: NDArray[Any]
    this_pass: NDArray[np.bool_]

    @classmethod
    def of(cls, X: Any, targets: Targets, dtype: Any) -> ReplayBuffer:
        """The rows of a batch, not visited yet.

        They are copied: the caller may fill the same arrays with the next batch.
        """
        return cls(
            rows=X if isinstance(X, Codes) else X.copy(),
            fingerprints=_batch_fingerprints(X, targets),
            labels=targets.labels,
            values=None if targets.values is None else targets.values.copy(),
            cost=targets.row_cost,
            dual=np.zeros((X.shape[0], targets.n_outputs), dtype=dtype),
            this_pass=np.ones(X.shape[0], dtype=bool),
        )

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def take(self, which: NDArray[np.intp]) -> ReplayBuffer:
        """Some of the rows."""
        return ReplayBuffer(
            self.rows[which],
            self.fingerprints[which],
            None if self.labels is None else self.labels[which],
            None if self.values is None else self.values[which],
            self.cost[which],
            self.dual[which],
            self.this_pass[which],
        )

    def with_duals(self, dual: NDArray[Any]) -> ReplayBuffer:
        """The same rows with other duals."""
        return replace(self, dual=dual)

    def scaled(self, factor: float) -> ReplayBuffer:
        """The same rows with all duals multiplied by ``factor``."""
        return self.with_duals(self.dual * self.dual.dtype.type(factor))

    def next_pass(self) -> ReplayBuffer:
        """The same rows, as those of an earlier pass."""
        return replace(self, this_pass=np.zeros_like(self.this_pass))

    def joined(self, other: ReplayBuffer) -> ReplayBuffer:
        """These rows, then the others."""

        def both(left: Any, right: Any) -> Any:
            return None if left is None else np.concatenate([left, right])

        return ReplayBuffer(
            _stacked(self.rows, other.rows),
            both(self.fingerprints, other.fingerprints),
            both(self.labels, other.labels),
            both(self.values, other.values),
            both(self.cost, other.cost),
            both(self.dual, other.dual),
            both(self.this_pass, other.this_pass),
        )

    def targets(self, like: Targets) -> Targets:
        """The targets of these rows, with the factors of the outputs of others."""
        return Targets(self.labels, self.values, self.cost, like.above, like.below)

    def within(self, limit: int) -> tuple[ReplayBuffer, Ledger]:
        """The rows of the largest duals that ``limit`` bytes hold, and a ledger of the others."""
        most = max(1, limit // max(1, _row_bytes(self.rows)))
        if len(self) <= most:
            return self, Ledger(self.fingerprints[:0], self.dual[:0], self.this_pass[:0])
        size = np.abs(self.dual).sum(axis=1)
        order = np.lexsort((-np.arange(len(self)), -size))  # of equal duals the newest stay
        gone = order[most:]
        ledger = Ledger.of(self.fingerprints[gone], self.dual[gone], self.this_pass[gone])
        return self.take(np.sort(order[:most])), ledger


@dataclass(frozen=True)
class Ledger:
    """Duals of rows that are no longer in the buffer, sorted by fingerprint.

    Sorted, so that a batch finds its rows among millions.
    """

    fingerprints: NDArray[np.uint64]
    dual: NDArray[Any]
    this_pass: NDArray[np.bool_]

    @classmethod
    def of(
        cls, fingerprints: NDArray[np.uint64], dual: NDArray[Any], this_pass: NDArray[np.bool_]
    ) -> Ledger:
        """The ledger of rows in any order."""
        return cls(fingerprints, dual, this_pass).take(np.argsort(fingerprints))

    def __len__(self) -> int:
        return len(self.fingerprints)

    def take(self, which: NDArray[np.intp]) -> Ledger:
        """Some of the rows."""
        return Ledger(self.fingerprints[which], self.dual[which], self.this_pass[which])

    def next_pass(self) -> Ledger:
        """The same rows, as those of an earlier pass."""
        return replace(self, this_pass=np.zeros_like(self.this_pass))

    def scaled(self, factor: float) -> Ledger:
        """The same rows with all duals multiplied by ``factor``."""
        return replace(self, dual=self.dual * self.dual.dtype.type(factor))

    def joined(self, other: Ledger) -> Ledger:
        """Both, within LEDGER_BYTES; the other one, which is small, is inserted in order."""
        at = np.searchsorted(self.fingerprints, other.fingerprints)
        both = Ledger(
            np.insert(self.fingerprints, at, other.fingerprints),
            np.insert(self.dual, at, other.dual, axis=0),
            np.insert(self.this_pass, at, other.this_pass),
        )
        return both.within(LEDGER_BYTES)

    def within(self, limit: int) -> Ledger:
        """The rows of the largest duals, if all together take more than ``limit`` bytes.

        A row whose dual is lost counts once more when it comes again.
        """
        most = limit // ledger_row_bytes(self.dual.shape[1], self.dual.itemsize)
        if len(self) <= most:
            return self
        size = np.abs(self.dual).sum(axis=1)
        fewer = most - most // 8  # so that this is not done with every batch
        return self.take(np.sort(np.argpartition(-size, fewer)[:fewer]))


@dataclass(frozen=True)
class DataPass:
    """One pass over the data: which batches came, how many rows, and how many repeated others.

    The next pass begins with a batch that has come before as a whole; or with a batch all of whose
    rows have come before, if few other rows were repeated.
    """

    batches: frozenset[bytes] = frozenset()
    n_rows: int = 0
    n_equal: int = 0

    def ends_before(self, batch: ReplayBuffer, n_equal: int) -> bool:
        """Whether ``batch``, with ``n_equal`` rows that have come before, begins another pass."""
        if len(batch) < PASS_ROWS:
            return False
        return _batch_digest(batch) in self.batches or (
            n_equal == len(batch) and self.n_equal < MANY_EQUAL * self.n_rows
        )

    def with_batch(self, batch: ReplayBuffer, n_equal: int) -> DataPass:
        """The pass after ``batch``."""
        in_order = np.sort(batch.fingerprints)
        n_equal = max(n_equal, int((in_order[1:] == in_order[:-1]).sum()))
        digest = {_batch_digest(batch)} if len(batch) >= PASS_ROWS else set()
        return DataPass(self.batches | digest, self.n_rows + len(batch), self.n_equal + n_equal)


def recognise(
    batch: ReplayBuffer, buffer: ReplayBuffer, ledger: Ledger, data_pass: DataPass
) -> tuple[ReplayBuffer, ReplayBuffer, Ledger, DataPass]:
    """The batch with the duals of its rows from earlier passes; buffer and ledger without them."""
    n_equal = _count_this_pass(batch, buffer, ledger)
    if data_pass.ends_before(batch, n_equal):
        buffer, ledger, data_pass, n_equal = buffer.next_pass(), ledger.next_pass(), DataPass(), 0
    data_pass = data_pass.with_batch(batch, n_equal)
    dual, unknown = batch.dual.copy(), np.arange(len(batch))
    left: list[Any] = []
    for store in (buffer, ledger):
        earlier = np.flatnonzero(~store.this_pass)
        at = match_once(
            batch.fingerprints[unknown],
            store.fingerprints[earlier],
            ascending=isinstance(store, Ledger),
        )
        known = at >= 0
        taken = earlier[at[known]]
        dual[unknown[known]] = store.dual[taken]
        unknown = unknown[~known]
        stays = np.ones(len(store), dtype=bool)
        stays[taken] = False
        left.append(store if stays.all() else store.take(np.flatnonzero(stays)))
    return batch.with_duals(dual), left[0], left[1], data_pass


def match_once(
    keys: NDArray[np.uint64], stored: NDArray[np.uint64], *, ascending: bool = False
) -> NDArray[np.intp]:
    """For each key the index of an equal one in ``stored``, or -1; no index occurs twice.

    ``ascending`` says that ``stored`` is sorted.
    """
    order = None if ascending else np.argsort(stored, kind="stable")
    key_order = np.argsort(keys, kind="stable")
    in_order = keys[key_order]
    # 0, 1, ... among equal keys
    occurrence = np.arange(len(keys)) - np.searchsorted(in_order, in_order)
    place = np.searchsorted(stored, in_order, sorter=order) + occurrence
    index = np.full(len(keys), -1, dtype=np.intp)
    inside = np.flatnonzero(place < len(stored))
    if order is not None:
        place[inside] = order[place[inside]]
    equal = inside[stored[place[inside]] == in_order[inside]]
    index[key_order[equal]] = place[equal]
    return index


def n_replayed(X: Any) -> int:
    """How many rows of the buffer are visited with a batch."""
    stored = X.array.size if isinstance(X, Codes) else X.nnz if sp.issparse(X) else X.size
    n_rows = int(X.shape[0])
    for_each = REPLAY_WORK * n_rows // max(1, stored)
    wanted = int(min(max(for_each, MIN_REPLAY), MAX_REPLAY)) * n_rows
    return min(wanted, max(REPLAY_ROWS, n_rows))


def _count_this_pass(batch: ReplayBuffer, buffer: ReplayBuffer, ledger: Ledger) -> int:
    """How many rows of the batch have come in this pass already."""
    equal = np.zeros(len(batch), dtype=bool)
    for store in (buffer, ledger):
        if store.this_pass.any():
            known = store.fingerprints[store.this_pass]
            known = known if isinstance(store, Ledger) else np.sort(known)
            equal |= known[np.searchsorted(known[:-1], batch.fingerprints)] == batch.fingerprints
    return int(equal.sum())


def _batch_digest(batch: ReplayBuffer) -> bytes:
    """A digest of the rows of a batch in their order.

    The order counts: where there are few kinds of rows, many batches hold the same rows.
    """
    return hashlib.blake2b(batch.fingerprints.tobytes(), digest_size=16).digest()


def _batch_fingerprints(X: Any, targets: Targets) -> NDArray[np.uint64]:
    """A fingerprint of each row together with its target."""
    target = targets.values if targets.labels is None else targets.labels[:, None]
    mixed = row_fingerprints(target, stream=2) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(row_fingerprints(X) ^ mixed)


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
