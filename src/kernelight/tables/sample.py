"""A fair sample of rows that come in batches, of a size that is known and from a number of rows that is not.

Each row draws a number; those with the smallest numbers stay. So every set of rows of that size is as likely as any other, and
if there are no more rows than that, all of them stay. Beside them the first rows of every class are kept: a classifier must
have seen each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

EVERY_CLASS = 20  # rows of each class, if there are as many


class Sample:
    """Keeps at most ``size`` rows, and a few of each class."""

    def __init__(self, size: int, seed: int, *, classes: bool) -> None:
        self._size, self._random = size, np.random.default_rng(seed)
        self._bound = np.inf  # rows whose numbers are above it cannot stay
        self._X: list[Any] = []
        self._y: list[NDArray[Any]] = []
        self._number: list[NDArray[np.float64]] = []
        self._place: list[NDArray[np.int64]] = []
        self._held = 0
        self._of_class: dict[Any, int] | None = {} if classes else None
        self.n_rows = 0

    def add(self, X: Any, y: NDArray[Any]) -> None:
        """Look at more rows."""
        number = self._random.random(len(y))
        keep = number < self._bound
        if self._of_class is not None:
            number, keep = self._with_firsts(y, number, keep)
        which = np.flatnonzero(keep)
        self._X.append(X[which])
        self._y.append(y[which])
        self._number.append(number[which])
        self._place.append(self.n_rows + which)
        self.n_rows += len(y)
        self._held += len(which)
        if self._held > self._size + max(self._size // 4, 256):
            self._drop(self._size)

    def _with_firsts(self, y: NDArray[Any], number: NDArray[Any], keep: NDArray[Any]) -> tuple[Any, Any]:
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
        X, y, number, place = self._joined()
        if len(number) > size:
            firsts = int((number < 0).sum())
            order = np.sort(np.argpartition(number, max(size, firsts) - 1)[: max(size, firsts)])
            X, y, number, place = X[order], y[order], number[order], place[order]
            self._bound = float(number.max())
        self._X, self._y, self._number, self._place = [X], [y], [number], [place]
        self._held = len(number)

    def _joined(self) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any]]:
        X = sp.vstack(self._X, format="csr") if sp.issparse(self._X[0]) else np.concatenate(self._X)
        return X, np.concatenate(self._y), np.concatenate(self._number), np.concatenate(self._place)

    @property
    def complete(self) -> bool:
        """Whether all rows are here."""
        return self._held == self.n_rows

    def take(self, size: int) -> tuple[Any, NDArray[Any]]:
        """At most so many of the rows (more only if the first of each class are), in the order in which they came."""
        self._drop(size)
        return self._X[0], self._y[0]
