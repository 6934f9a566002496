"""Verified pairs of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Columns = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # i, j and similarity


class NeighborPairs(NamedTuple):
    """Pairs of rows and their exact similarities.

    Within one matrix i < j, each pair once, sorted by (i, j).

    Parameters
    ----------
    i : array of int64
        The first row of each pair.
    j : array of int64
        The second row.
    similarity : array of float64
        Their similarity.

    See Also
    --------
    MinMaxNeighbors : Its method ``pairs`` returns them.

    Examples
    --------
    >>> from kernelight.neighbors import MinMaxNeighbors
    >>> MinMaxNeighbors().fit([[1, 2], [1, 2], [4, 0]]).pairs(0.9)
    NeighborPairs(i=array([0]), j=array([1]), similarity=array([1.]))
    """

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    similarity: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Iterable[Columns]) -> NeighborPairs:
        """Some pieces as one, sorted by (i, j); pairs that are there twice come once."""
        columns = list(zip(*parts, strict=True))
        if not columns:
            return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        i, j, similarity = (np.concatenate(column) for column in columns)
        few = max(i.max(initial=0), j.max(initial=0)) < 1 << 31  # one key sorts faster than two
        order = np.argsort(i << 32 | j) if few else np.lexsort((j, i))
        i, j, similarity = i[order], j[order], similarity[order]
        new = np.ones(len(i), dtype=bool)
        new[1:] = (i[1:] != i[:-1]) | (j[1:] != j[:-1])
        return cls(i, j, similarity) if new.all() else cls(i[new], j[new], similarity[new])
