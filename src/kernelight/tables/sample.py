"""Random samples of rows that come in batches, where the number of rows is not known.

`Sample` draws a random number for each row and keeps the rows with the smallest numbers. So every
set of rows of that size has the same probability, and all rows are kept if there are no more.
The first rows of every class are always kept: a classifier must have seen each class.

`HeldOut` chooses the rows that score a model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.data.target_values import hashed

EVERY_CLASS = 20  # rows of each class that are always kept, if there are as many
MORE = 4  # 1 / MORE more rows than wanted are gathered before those with the largest numbers go


class Sample:
    """A random sample of at most ``size`` rows, and the first rows of each class."""

    def __init__(self, size: int, seed: int, *, classes: bool) -> None:
        self._size, self._random = size, np.random.default_rng(seed)
        self._bound = np.inf  # rows with larger numbers are not in the sample
        self._rows: _Dense | _Sparse | None = None
        self._y, self._number = np.zeros(0), np.zeros(0)
        self._index = np.zeros(0, dtype=np.int64)  # of each row among all that were seen
        self._class_counts: dict[Any, int] | None = {} if classes else None
        self.n_rows = 0

    def add(self, X: Any, y: NDArray[Any]) -> None:
        """Take more rows into the sample, or not."""
        number = self._random.random(len(y))
        keep = number < self._bound
        if self._class_counts is not None:
            number, keep = self._with_firsts(y, number, keep)
        rows = np.flatnonzero(keep)
        if self._rows is None:
            self._rows = _Sparse() if sp.issparse(X) else _Dense()
            self._y = y[:0]
        self._rows.add(X[rows])
        self._y = np.concatenate([self._y, y[rows]])
        self._number = np.concatenate([self._number, number[rows]])
        self._index = np.concatenate([self._index, self.n_rows + rows])
        self.n_rows += len(y)
        if not self.holds(len(self._number)):
            self._drop(self._size)

    def holds(self, n_rows: int) -> bool:
        """Whether all of ``n_rows`` rows would be kept."""
        return n_rows <= self._size + max(self._size // MORE, 4096)

    def _with_firsts(
        self, y: NDArray[Any], number: NDArray[Any], keep: NDArray[Any]
    ) -> tuple[Any, Any]:
        """Give the first rows of each class numbers below all others."""
        assert self._class_counts is not None
        labels, inverse = np.unique(y, return_inverse=True)
        for at, label in enumerate(labels.tolist()):
            wanted = EVERY_CLASS - self._class_counts.get(label, 0)
            if wanted > 0:
                first = np.flatnonzero(inverse == at)[:wanted]
                number[first] -= 1.0
                keep[first] = True
                self._class_counts[label] = self._class_counts.get(label, 0) + len(first)
        return number, keep

    def _drop(self, size: int) -> None:
        """Keep the rows with the smallest numbers, in their order."""
        number = self._number
        size = max(size, int((number < 0).sum()))
        if len(number) > size and self._rows is not None:
            self._keep(np.sort(np.argpartition(number, size - 1)[:size]))
            self._bound = float(self._number.max())

    def _keep(self, order: NDArray[np.intp]) -> None:
        assert self._rows is not None
        self._rows.keep(order)
        self._y, self._number, self._index = self._y[order], self._number[order], self._index[order]

    @property
    def firsts(self) -> NDArray[np.int64]:
        """The row indices of the first rows of each class, which are always kept."""
        return self._index[self._number < 0]

    def leave_out(self, held: HeldOut) -> None:
        """Drop the rows that are held out."""
        self._keep(np.flatnonzero(~held.among(self._index)))

    @property
    def complete(self) -> bool:
        """Whether the sample has all rows."""
        return len(self._number) == self.n_rows

    def take(self, size: int) -> tuple[Any, NDArray[Any]]:
        """At most ``size`` rows of the sample, in their order; at least the first of each class."""
        self._drop(size)
        assert self._rows is not None
        return self._rows.whole(), self._y


class HeldOut:
    """A random tenth of the rows, at most ``most``, the same in every pass; not stored as a list.

    Row indices are hashed by a bijection, and the rows with the smallest hashes are held out: a
    single bound decides. The first rows of every class are never held out.
    """

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._hash, self._y = np.zeros(0, dtype=np.uint64), np.zeros(0)
        self._bound = np.uint64(0)  # rows with smaller hashes are held out
        self._learned = np.zeros(0, dtype=np.int64)  # rows that are never held out
        self._seen = 0

    def add(self, y: NDArray[Any]) -> None:
        """See the targets of more rows."""
        hashes = hashed(np.arange(self._seen, self._seen + len(y)))
        self._y = np.concatenate([self._y, y]) if self._seen else y
        self._hash = np.concatenate([self._hash, hashes])
        self._seen += len(y)
        if len(self._hash) > 2 * self._most + 8192:
            self._cut(self._most)

    def _cut(self, size: int) -> None:
        if len(self._hash) > size:
            order = np.argpartition(self._hash, size)[:size]
            self._hash, self._y = self._hash[order], self._y[order]

    @classmethod
    def of(cls, n_rows: int) -> HeldOut:
        """Those of ``n_rows`` rows, before the rows are read.

        The first rows of every class are not known then, and may be among them.
        """
        made = cls()
        for start in range(0, n_rows, CHUNK):
            made.add(np.zeros(min(CHUNK, n_rows - start), dtype=np.int8))
        made.settle(np.zeros(0, dtype=np.int64))
        return made

    def settle(self, learned: NDArray[np.int64]) -> None:
        """Decide which are held out, now that all rows were seen; not the rows ``learned``."""
        self._cut(min(self._most, self._seen // 10))
        self._bound = self._hash.max() + np.uint64(1) if len(self._hash) else np.uint64(0)
        self._learned = learned
        self._y = self._y[~np.isin(self._hash, hashed(learned))]

    @property
    def n_rows(self) -> int:
        """How many are held out."""
        return len(self._y)

    @property
    def y(self) -> NDArray[Any]:
        """Their targets, in no order."""
        return self._y

    def among(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these row indices are held out."""
        return np.asarray((hashed(rows) < self._bound) & ~np.isin(rows, self._learned))


class _Dense:
    """Rows in one array that grows in place.

    Batches that are concatenated at the end would take their memory twice.
    """

    def __init__(self) -> None:
        self._array: NDArray[Any] = np.zeros((0, 0))
        self._count = 0

    def add(self, rows: NDArray[Any]) -> None:
        need = self._count + len(rows)
        if need > len(self._array):
            if not len(self._array):
                self._array = np.empty((0, rows.shape[1]), rows.dtype)
            # the system moves the pages of a large array instead of copying them
            self._array.resize(
                (max(need, len(self._array) + len(self._array) // 8), rows.shape[1]), refcheck=False
            )
        self._array[self._count : need] = rows
        self._count = need

    def keep(self, order: NDArray[np.intp]) -> None:
        # indices ascend, so that no row is overwritten before it is read
        for start in range(0, len(order), STEP):
            part = order[start : start + STEP]
            self._array[start : start + len(part)] = self._array[part]
        self._count = len(order)

    def whole(self) -> NDArray[Any]:
        self._array.resize((self._count, self._array.shape[1]), refcheck=False)
        return self._array


class _Sparse:
    """Rows of CSR matrices."""

    def __init__(self) -> None:
        self._parts: list[Any] = []

    def add(self, rows: Any) -> None:
        self._parts.append(rows)

    def keep(self, order: NDArray[np.intp]) -> None:
        self._parts = [self.whole()[order]]

    def whole(self) -> Any:
        return sp.vstack(self._parts, format="csr")


STEP = 4096  # rows that are moved at a time
CHUNK = 1 << 18  # rows that are hashed at a time
