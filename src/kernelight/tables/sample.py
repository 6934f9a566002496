"""A fair sample of rows that come in batches, of a size that is known and from a number of rows
that is not.

Each row draws a number; those with the smallest numbers stay. So every set of rows of that size is
as likely as any other, and if there are no more rows than that, all of them stay. Beside them the
first rows of every class are kept: a classifier must have seen each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.data.target_values import hashed

EVERY_CLASS = 20  # rows of each class, if there are as many
MORE = 4  # a fourth more rows than wanted are gathered before those with the largest numbers go


class Sample:
    """Keeps at most ``size`` rows, and a few of each class."""

    def __init__(self, size: int, seed: int, *, classes: bool) -> None:
        self._size, self._random = size, np.random.default_rng(seed)
        self._bound = np.inf  # rows whose numbers are above it cannot stay
        self._rows: _Dense | _Sparse | None = None
        self._y, self._number = np.zeros(0), np.zeros(0)
        self._place = np.zeros(0, dtype=np.int64)  # of each row among all that came
        self._of_class: dict[Any, int] | None = {} if classes else None
        self.n_rows = 0

    def add(self, X: Any, y: NDArray[Any]) -> None:
        """Look at more rows."""
        number = self._random.random(len(y))
        keep = number < self._bound
        if self._of_class is not None:
            number, keep = self._with_firsts(y, number, keep)
        which = np.flatnonzero(keep)
        if self._rows is None:
            self._rows = _Sparse() if sp.issparse(X) else _Dense()
            self._y = y[:0]
        self._rows.add(X[which])
        self._y = np.concatenate([self._y, y[which]])
        self._number = np.concatenate([self._number, number[which]])
        self._place = np.concatenate([self._place, self.n_rows + which])
        self.n_rows += len(y)
        if not self.holds(len(self._number)):
            self._drop(self._size)

    def holds(self, n_rows: int) -> bool:
        """Whether all of so many rows stay."""
        return n_rows <= self._size + max(self._size // MORE, 4096)

    def _with_firsts(
        self, y: NDArray[Any], number: NDArray[Any], keep: NDArray[Any]
    ) -> tuple[Any, Any]:
        """The first rows of each class get a number below all others."""
        assert self._of_class is not None
        labels, inverse = np.unique(y, return_inverse=True)
        for at, label in enumerate(labels.tolist()):
            wanted = EVERY_CLASS - self._of_class.get(label, 0)
            if wanted > 0:
                first = np.flatnonzero(inverse == at)[:wanted]
                number[first] -= 1.0
                keep[first] = True
                self._of_class[label] = self._of_class.get(label, 0) + len(first)
        return number, keep

    def _drop(self, size: int) -> None:
        """Keep the rows of the smallest numbers, in the order in which they came."""
        number = self._number
        size = max(size, int((number < 0).sum()))
        if len(number) > size and self._rows is not None:
            self._keep(np.sort(np.argpartition(number, size - 1)[:size]))
            self._bound = float(self._number.max())

    def _keep(self, order: NDArray[np.intp]) -> None:
        assert self._rows is not None
        self._rows.keep(order)
        self._y, self._number, self._place = self._y[order], self._number[order], self._place[order]

    @property
    def firsts(self) -> NDArray[np.int64]:
        """The places of the first rows of each class, which are always kept."""
        return self._place[self._number < 0]

    def leave_out(self, held: HeldOut) -> None:
        """Drop the rows that are held out."""
        self._keep(np.flatnonzero(~held.among(self._place)))

    @property
    def complete(self) -> bool:
        """Whether all rows are here."""
        return len(self._number) == self.n_rows

    def take(self, size: int) -> tuple[Any, NDArray[Any]]:
        """At most so many of the rows (more only if the first of each class are), in the order in
        which they came."""
        self._drop(size)
        assert self._rows is not None
        return self._rows.whole(), self._y


class HeldOut:
    """A fair share of the rows, the same in every pass over them, without a list of which they are.

    The place of a row is hashed by a function that is one to one, and the rows with the smallest
    hashes are held out: a tenth of all, at most ``most``. So a single bound says which they are.
    The first rows of every class are learned from in any case.
    """

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._hash, self._y = np.zeros(0, dtype=np.uint64), np.zeros(0)
        self._bound = np.uint64(0)  # rows with smaller hashes are held out
        self._learned = np.zeros(0, dtype=np.int64)
        self._seen = 0

    def add(self, y: NDArray[Any]) -> None:
        """Look at the targets of more rows."""
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
        """Those of so many rows, before any was seen; with the first rows of every class, where
        these have hashes as small."""
        made = cls()
        for start in range(0, n_rows, CHUNK):
            made.add(np.zeros(min(CHUNK, n_rows - start), dtype=np.int8))
        made.settle(np.zeros(0, dtype=np.int64))
        return made

    def settle(self, learned: NDArray[np.int64]) -> None:
        """All rows were seen; those at the places ``learned`` are not to be held out."""
        self._cut(min(self._most, self._seen // 10))
        self._bound = self._hash.max() + np.uint64(1) if len(self._hash) else np.uint64(0)
        self._learned = learned
        away = ~np.isin(self._hash, hashed(learned))
        self._y = self._y[away]

    @property
    def n_rows(self) -> int:
        """How many are held out."""
        return len(self._y)

    @property
    def y(self) -> NDArray[Any]:
        """Their targets, in no order."""
        return self._y

    def among(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the rows at these places are held out."""
        return np.asarray((hashed(places) < self._bound) & ~np.isin(places, self._learned))


class _Dense:
    """Rows in one array that grows in place: pieces that are put together at the end would take
    their memory twice."""

    def __init__(self) -> None:
        self._room: NDArray[Any] = np.zeros((0, 0))
        self._count = 0

    def add(self, rows: NDArray[Any]) -> None:
        need = self._count + len(rows)
        if need > len(self._room):
            if not len(self._room):
                self._room = np.empty((0, rows.shape[1]), rows.dtype)
            # the system moves the pages of a large array instead of copying them
            self._room.resize(
                (max(need, len(self._room) + len(self._room) // 8), rows.shape[1]), refcheck=False
            )
        self._room[self._count : need] = rows
        self._count = need

    def keep(self, order: NDArray[np.intp]) -> None:
        # places ascend, so that nothing is written over before it is read
        for start in range(0, len(order), STEP):
            part = order[start : start + STEP]
            self._room[start : start + len(part)] = self._room[part]
        self._count = len(order)

    def whole(self) -> NDArray[Any]:
        self._room.resize((self._count, self._room.shape[1]), refcheck=False)
        return self._room


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
