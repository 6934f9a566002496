"""A random sample of the different contents among rows that come in batches.

Each content has a key of 64 bits, which is as good as random, and the sample has those with the
least keys. So a content that comes a thousand times is as likely in it as one that comes once, and
the largest key of m says how many there are: (m - 1) 2^64 / key, give or take a part of 1 / sqrt(m)
(the sketch of k minimum values).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Keys = NDArray[np.uint64]


def text_keys(columns: Sequence[Sequence[str]]) -> Keys:
    """A key for each record of texts: a hash of its columns.

    >>> from kernelight.tables.distinct_sample import text_keys
    >>> keys = text_keys([["a", "b", "a"]])
    >>> bool(keys[0] == keys[2] != keys[1])
    True
    """
    found = b"".join(
        hashlib.blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for texts in zip(*columns, strict=True)
    )
    return np.frombuffer(found, dtype="<u8").astype(np.uint64)


class DistinctSample:
    """At most ``size`` contents, and how many there are in all.

    Rows are those of a matrix, dense or CSR, or of an array of objects.

    >>> import numpy as np
    >>> from kernelight.neighbors.equal_rows import row_fingerprints
    >>> from kernelight.tables.distinct_sample import DistinctSample
    >>> X = np.arange(1000.0)[:, None] % 100 + 1
    >>> sample = DistinctSample(500)
    >>> sample.add(row_fingerprints(X), X)
    >>> sample.take(500).shape, sample.n_rows, sample.n_distinct
    ((100, 1), 1000, 100)
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._keys: Keys = np.zeros(0, dtype=np.uint64)
        self._parts: list[Any] = []
        self._all = True  # whether no content was left out
        self.n_rows = 0

    def add(self, keys: Keys, rows: Any) -> None:
        """Look at more rows."""
        self.n_rows += len(keys)
        here = np.arange(len(keys))
        if not self._all:  # then the last key is the largest of the sample
            here = np.flatnonzero(keys < self._keys[-1])
        _, first = np.unique(keys[here], return_index=True)
        new = here[np.sort(first)]
        new = new[~np.isin(keys[new], self._keys)]
        if len(new) or not self._parts:
            order = np.argsort(np.concatenate([self._keys, keys[new]]), kind="stable")
            self._parts.append(rows[new])
            self._keep(np.concatenate([self._keys, keys[new]]), order)

    def _keep(self, keys: Keys, order: NDArray[np.intp]) -> None:
        if len(order) > self._size:
            order, self._all = order[: self._size], False
        self._parts = [_joined(self._parts)[order]]
        self._keys = keys[order]

    @property
    def n_distinct(self) -> int:
        """How many contents there are, about."""
        m = len(self._keys)
        if self._all or m < 2:
            return m
        return min(self.n_rows, round((m - 1) / ((float(self._keys[-1]) + 1.0) / 2.0**64)))

    def take(self, size: int) -> Any:
        """The rows of at most ``size`` contents."""
        return self._parts[0][: min(size, len(self._keys))]


def _joined(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
