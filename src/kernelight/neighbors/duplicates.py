"""`Duplicates`: which rows stay and which go, from verified pairs.

Two rules say which rows of a set of pairs go.

*Leader* (the default): rows are visited in their order, and one goes if a row that stays is within
the threshold of it. Every row that goes has a survivor within the threshold, and no two rows that
stay are a pair.

*Components*: rows that are connected by a chain of pairs are one cluster, of which the first row
stays. A row may then be far below the threshold to its survivor (`Duplicates.n_below`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from kernelight import _core

LEADER, COMPONENTS = "leader", "components"
FIRST, LAST = "first", "last"

RowIndices = NDArray[np.int64]


class Matches(NamedTuple):
    """For each row the best match among other rows, -1 if there is none, and its similarity.

    Parameters
    ----------
    row : array of int64
        The matching row, -1 if there is none.
    similarity : array of float64
        The similarity, 0 if there is none.

    See Also
    --------
    Duplicates : Its attribute ``matches``.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight.neighbors import Matches
    >>> Matches(np.array([4, -1]), np.array([0.9, 0.0])).row
    array([ 4, -1])
    """

    row: RowIndices
    similarity: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Which rows stay, and for every other the row that stays in its place: `deduplicate`.

    Attributes
    ----------
    kept : ndarray of bool
        Which rows stay: ``X[kept]`` is the set without duplicates.
    survivor : ndarray of int64
        The row that stays in the place of each row: itself if it is kept; -1 - a where it is row a
        of ``against``.
    similarity : ndarray of float64
        That of each row to its survivor; 1 for rows that stay.
    cluster : ndarray of int64
        Rows with one number belong together; clusters are numbered in the order of their first row.
    equal : ndarray of int64
        Of equal rows the one that stands for all, which stays or goes for them; itself for a row
        that has no equal.
    n_empty : int
        Rows of zeros: they are similar to nothing, and all stay.
    threshold : float
        Pairs of at least this similarity are near-duplicates.
    pairs : Pairs
        All pairs of different rows that were found, with i < j, sorted; of equal rows the one that
        stands for all.
    capped : int
        Groups of rows so large that not all their pairs were compared; 0 if every pair was, and
        then the planned recall holds for all.
    matches : Matches or None
        Of each row the best match among the rows of ``against``, if there are such.

    See Also
    --------
    deduplicate : Finds them.

    Examples
    --------
    >>> from kernelight.neighbors import deduplicate
    >>> found = deduplicate([[4, 1, 0], [0, 0, 7], [4, 1, 0], [4, 1, 1]], threshold=0.8)
    >>> found.kept, found.survivor, found.similarity.round(2)
    (array([ True,  True, False, False]), array([0, 1, 0, 0]), array([1.  , 1.  , 1.  , 0.83]))
    >>> found
    Duplicates(4 rows: 2 kept, 1 identical and 1 near removed)
    """

    kept: NDArray[np.bool_]
    survivor: RowIndices
    similarity: NDArray[np.float64]
    cluster: RowIndices
    equal: RowIndices
    n_empty: int
    threshold: float
    pairs: Any
    capped: int = 0
    matches: Matches | None = None

    @property
    def n_kept(self) -> int:
        """How many rows stay."""
        return int(self.kept.sum())

    @property
    def n_removed(self) -> int:
        """How many rows go."""
        return len(self.kept) - self.n_kept

    @property
    def identical(self) -> NDArray[np.bool_]:
        """Which rows go because an equal row of the set stays or goes in their place."""
        return np.asarray(self.equal != np.arange(len(self.equal)), dtype=bool)

    @property
    def n_identical(self) -> int:
        """How many rows go because they are equal to another row of the set."""
        return int(self.identical.sum())

    @property
    def n_matched(self) -> int:
        """How many other rows go because of a row of ``against``."""
        return int(((self.survivor < 0) & ~self.identical).sum())

    @property
    def n_near(self) -> int:
        """How many other rows go because a similar row of the set stays."""
        return self.n_removed - self.n_identical - self.n_matched

    @property
    def n_below(self) -> int:
        """How many rows go that are below the threshold to their survivor; 0 with leaders.

        A similarity that is not known (NaN) does not count.
        """
        return int((~self.kept & (self.similarity < self.threshold)).sum())

    @property
    def cluster_sizes(self) -> RowIndices:
        """Rows of each cluster; 1 for a row that has no duplicate."""
        return np.bincount(self.cluster) if len(self.cluster) else np.zeros(0, np.int64)

    def __repr__(self) -> str:
        more = f", {self.n_matched:,} matched" if self.n_matched else ""
        return (
            f"Duplicates({len(self.kept):,} rows: {self.n_kept:,} kept, {self.n_identical:,} "
            f"identical and {self.n_near:,} near removed{more})"
        )


class Decided(NamedTuple):
    """What a rule says of rows: which stay, and the survivor of each with its similarity.

    A similarity is NaN where no pair says it.
    """

    kept: NDArray[np.bool_]
    survivor: RowIndices
    similarity: NDArray[np.float64]


class Leaders:
    """The leader rule, fed with pairs in the order of their later rows.

    >>> import numpy as np
    >>> from kernelight.neighbors.duplicates import Leaders
    >>> rule = Leaders(4)
    >>> rule.add(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([0.9, 0.9, 0.8]))
    >>> rule.decided().kept
    array([ True, False,  True, False])
    """

    def __init__(self, n_rows: int, matches: Matches | None = None) -> None:
        self._kept = np.ones(n_rows, dtype=np.uint8)
        self._survivor = np.arange(n_rows)
        self._similarity = np.ones(n_rows)
        if matches is not None:
            gone = matches.row >= 0
            self._kept[gone] = 0
            self._survivor[gone] = -1 - matches.row[gone]
            self._similarity[gone] = matches.similarity[gone]

    def add(self, earlier: RowIndices, later: RowIndices, similarity: NDArray[Any]) -> None:
        """Look at more pairs, ordered by their later row; all those of a row at once."""
        _core.leaders(
            np.ascontiguousarray(earlier, np.int64),
            np.ascontiguousarray(later, np.int64),
            np.ascontiguousarray(similarity, np.float64),
            self._kept,
            self._survivor,
            self._similarity,
        )

    def may_decide(self, earlier: RowIndices, later: RowIndices) -> NDArray[np.bool_]:
        """Which pairs, not added yet, may let a row go: of rows that stay as far as is known."""
        return np.asarray((self._kept[earlier] & self._kept[later]) > 0, dtype=bool)

    def stays(self, rows: RowIndices) -> NDArray[np.bool_]:
        """Which rows stay as far as is known."""
        return np.asarray(self._kept[rows] > 0, dtype=bool)

    def decided(self) -> Decided:
        """What the rule says of all rows."""
        return Decided(self._kept.astype(bool), self._survivor, self._similarity)


class Components:
    """The components rule, fed with pairs in any order: union-find, many pairs at a time.

    A root is the first row of its component, so that roots only ever point to earlier rows.

    >>> import numpy as np
    >>> from kernelight.neighbors.duplicates import Components
    >>> rule = Components(5)
    >>> rule.add(np.array([3, 0]), np.array([4, 1]))
    >>> rule.add(np.array([1]), np.array([4]))
    >>> rule.decided().survivor
    array([0, 0, 2, 0, 0])
    """

    def __init__(self, n_rows: int, matches: Matches | None = None) -> None:
        self._parent = np.arange(n_rows)
        self._matches = matches
        if matches is not None:  # rows that match one row of the other set are connected by it
            rows = np.flatnonzero(matches.row >= 0)
            rows = rows[np.argsort(matches.row[rows], kind="stable")]
            same = matches.row[rows[1:]] == matches.row[rows[:-1]]
            self.add(rows[:-1][same], rows[1:][same])

    def add(self, i: RowIndices, j: RowIndices) -> None:
        """Connect the rows of more pairs."""
        a, b = self._roots(i), self._roots(j)
        apart = a != b
        if not apart.any():
            return
        roots, ends = np.unique(np.concatenate([a[apart], b[apart]]), return_inverse=True)
        half = len(ends) // 2
        links = sp.coo_matrix(
            (np.ones(half, np.int8), (ends[:half], ends[half:])), shape=(len(roots), len(roots))
        )
        count, component = connected_components(links, directed=False)
        first = np.full(count, len(roots))
        np.minimum.at(first, component, np.arange(len(roots)))
        self._parent[roots] = roots[first[component]]

    def _roots(self, rows: RowIndices) -> RowIndices:
        found = self._parent[rows]
        while True:
            further = self._parent[found]
            if (further == found).all():
                break
            found = further
        self._parent[rows] = found  # the next way is short
        return found

    def decided(self) -> Decided:
        """The first row of each component stays; none of a component with a match."""
        n_rows = len(self._parent)
        survivor = root = self._roots(np.arange(n_rows))
        if self._matches is not None:
            rows = np.flatnonzero(self._matches.row >= 0)[::-1]
            outside = np.full(n_rows, -1)
            outside[root[rows]] = self._matches.row[rows]  # the first match, which is last here
            survivor = np.where(outside[root] >= 0, -1 - outside[root], root)
        kept = survivor == np.arange(n_rows)
        return Decided(kept, survivor, np.where(kept, 1.0, np.nan))


def by_components(
    n_rows: int, i: RowIndices, j: RowIndices, matches: Matches | None = None
) -> Decided:
    """The first row of each connected component stays; none of a component with a match."""
    rule = Components(n_rows, matches)
    rule.add(i, j)
    return rule.decided()


def clusters_of(survivor: RowIndices) -> RowIndices:
    """Numbers of clusters, in the order of their first row."""
    _, first, cluster = np.unique(survivor, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first, kind="stable")] = np.arange(len(first))
    return np.asarray(number[cluster.reshape(-1)])
