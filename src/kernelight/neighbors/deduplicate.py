"""`deduplicate`: rows without near-duplicates, by verified pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base.checks import Matrix, as_matrix, check_choice, check_positive, check_same_width
from kernelight.codes import Codes
from kernelight.neighbors import costs
from kernelight.neighbors.banded import pairs_met
from kernelight.neighbors.dedup_bands import banded_pairs, dedup_plan
from kernelight.neighbors.duplicates import (
    COMPONENTS,
    FIRST,
    LAST,
    LEADER,
    Decided,
    Duplicates,
    Leaders,
    Matches,
    RowIndices,
    by_components,
    clusters_of,
)
from kernelight.neighbors.equal_rows import empty_rows, first_equal_rows
from kernelight.neighbors.exact import ExactSearch
from kernelight.neighbors.exact_rows import ExactRows
from kernelight.neighbors.limits import check_recall, check_threshold
from kernelight.neighbors.minmax_neighbors import METHODS, MinMaxNeighbors
from kernelight.neighbors.pairs import NeighborPairs

# From pairs of distinct rows (their places) to exact similarities.
Similarities = Callable[[RowIndices, RowIndices], NDArray[np.float64]]


def deduplicate(
    X: Any,
    threshold: float = 0.8,
    *,
    keep: str = FIRST,
    linkage: str = LEADER,
    against: Any = None,
    p: float = 1.0,
    method: str = "auto",
    recall: float = 0.95,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Duplicates:
    """Find the rows that are near-duplicates of others, and say which row stays for each.

    Two rows are near-duplicates if their min-max kernel K(u, v) = sum min(u, v) / sum max(u, v),
    over positive and negative parts, is at least the threshold. Every pair that counts is verified
    by the exact kernel.

    Equal rows are united first, so that large groups of them cost nothing. Rows of zeros, such as
    empty texts, are similar to nothing, also not to each other: all stay, and ``n_empty`` counts
    them.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        Rows; values may be negative.
    threshold : float, default=0.8
        The least similarity of near-duplicates, above 0 and at most 1. At 1 only equal rows go.
    keep : {"first", "last"}, default="first"
        Which row of near-duplicates stays: the first in the order of the rows, or the last.
    linkage : {"leader", "components"}, default="leader"
        "leader": a row goes only if a row that stays is within the threshold of it; of several the
        most similar one is its survivor. "components": rows connected by a chain of pairs are one
        cluster, of which one row stays; some rows that go are then below the threshold to it
        (``n_below`` counts them).
    against : array-like or sparse matrix, optional
        Other rows, of the same features: a row of X also goes if one of these is within the
        threshold of it. They are not compared with each other.
    p : float, default=1.0
        Values are raised to this power first.
    method : {"auto", "exact", "bands", "graph"}, default="auto"
        How pairs are found: "exact" finds all of them, "bands" those whose codes agree in a band;
        the cheaper of both by default ("graph", which is for nearest rows, is the same).
    recall : float, default=0.95
        Of the pairs at the threshold, the fraction to be found at least, where the method may miss
        some; of more similar pairs it is more.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the hashes.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Returns
    -------
    Duplicates
        Which rows stay, and the survivor of each row with its similarity and cluster.

    See Also
    --------
    Duplicates : What it returns.
    kernelight.data.texts.TextShingles : Texts as rows.
    MinMaxNeighbors : All pairs above a similarity.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight.neighbors import deduplicate
    >>> X = np.array([[5, 0, 2], [5, 0, 2], [0, 9, 1], [5, 1, 2], [6, 2, 2]])
    >>> found = deduplicate(X, threshold=0.85)
    >>> X[found.kept]
    array([[5, 0, 2],
           [0, 9, 1],
           [6, 2, 2]])
    >>> found.survivor, found.similarity.round(3)
    (array([0, 0, 2, 0, 4]), array([1.   , 1.   , 1.   , 0.875, 1.   ]))

    By components the last row goes too: it is near the fourth, which is near the first.

    >>> found = deduplicate(X, threshold=0.8, linkage="components")
    >>> found.kept.sum(), found.n_below
    (np.int64(2), 1)
    """
    check_choice("keep", keep, (FIRST, LAST))
    check_choice("linkage", linkage, (LEADER, COMPONENTS))
    engine = {
        "p": check_positive("p", p),
        "method": check_choice("method", method, METHODS),
        "recall": check_recall(recall),
        "random_state": random_state,
        "n_jobs": n_jobs,
    }
    threshold = check_threshold(threshold)
    X, others = _unrounded(X, "X"), None
    if against is not None:
        others = OtherRows(_unrounded(against, "against"), threshold, engine)
        check_same_width(X, others.matrix, name="against")
    return deduplicate_matrix(X, threshold, engine, keep=keep, linkage=linkage, others=others)[0]


def _unrounded(X: Any, name: str) -> Matrix:
    """A checked matrix; whole numbers that would be rounded, and then equal, are refused."""
    values = X.data if sp.issparse(X) else np.asarray(X)
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8 and values.size:
        largest = max(int(values.max()), -int(values.min()))
        if largest >= 1 << 53:
            raise ValueError(
                f"{name} has the whole number {largest} (or its negative), and from 2^53 on "
                f"different ones become the same in double precision: leave such ids out, or "
                f"subtract the least."
            )
    return as_matrix(X, name=name)


class Others(Protocol):
    """Rows elsewhere, with which rows are compared."""

    def matches(self, rows: Matrix) -> Matches:
        """The best match of each row, if it is within the threshold."""

    def similarities(self, rows: Matrix, i: RowIndices, j: RowIndices) -> NDArray[np.float64]:
        """The similarities of rows i to others j; NaN where they are not known."""


class OtherRows:
    """Those of a matrix."""

    def __init__(self, matrix: Matrix, threshold: float, engine: dict[str, Any]) -> None:
        self.matrix, self._threshold, self._engine = matrix, threshold, engine

    def matches(self, rows: Matrix) -> Matches:
        """The best match of each row, if it is within the threshold."""
        return best_matches(rows, self.matrix, self._threshold, self._engine)

    def similarities(self, rows: Matrix, i: RowIndices, j: RowIndices) -> NDArray[np.float64]:
        """The similarities of rows i to others j."""
        exact = ExactRows.of(rows, self._engine["p"])
        return exact.similarities(i, exact.like(self.matrix), j, n_jobs=self._engine["n_jobs"])


def deduplicate_matrix(
    X: Matrix,
    threshold: float,
    engine: dict[str, Any],
    *,
    keep: str,
    linkage: str,
    others: Others | None = None,
    compared: Callable[[Matrix], Matrix] | None = None,
    unite_empty: bool = False,
) -> tuple[Duplicates, dict[str, Any]]:
    """The duplicates of a checked matrix, and how they were found, as plain data.

    ``engine`` are arguments of `MinMaxNeighbors`. Rows are equal or not as they are, and similar as
    ``compared`` makes them, such as a scaling. Rows of zeros are their own, or with ``unite_empty``
    equal, where they are records whose values are 0.
    """
    first = first_equal_rows(X, unite_empty=unite_empty)
    distinct = np.flatnonzero(first == np.arange(len(first)))
    rows = X if len(distinct) == X.shape[0] else X[distinct]
    rows = rows if compared is None else compared(rows)
    empty = empty_rows(rows)
    pairs: NeighborPairs = no_pairs()
    plan: dict[str, Any] = nothing_to_find()
    if rows.shape[0] - int(empty.sum()) > 1:
        pairs, plan = found_pairs(rows, threshold, engine)
    matches = None if others is None else others.matches(rows)

    def similarities(a: RowIndices, b: RowIndices) -> NDArray[np.float64]:
        """Exact similarities of distinct rows to distinct rows, or (below 0) to others."""
        inside = b >= 0
        result, exact = np.empty(len(a)), ExactRows.of(rows, engine["p"])
        result[inside] = exact.similarities(a[inside], exact, b[inside], n_jobs=engine["n_jobs"])
        if others is not None and not inside.all():
            result[~inside] = others.similarities(rows, a[~inside], -1 - b[~inside])
        return result

    place = np.searchsorted(distinct, first)
    visits = Visits.of(place, distinct, keep)
    decided = decide(visits, pairs, linkage=linkage, matches=matches, similarities=similarities)
    n_empty, capped = int(empty[place].sum()), int(plan.get("capped", 0))
    return (
        visits.duplicates(
            decided, pairs, threshold=threshold, n_empty=n_empty, capped=capped, matches=matches
        ),
        plan,
    )


def found_pairs(
    rows: Matrix, threshold: float, engine: dict[str, Any]
) -> tuple[NeighborPairs, dict[str, Any]]:
    """All pairs of distinct rows that are found, and how, as plain data."""
    if engine["method"] == "bands":
        return banded_pairs(rows, threshold, engine)
    neighbors = pair_finder(rows, engine)
    plan = neighbors.pairs_plan(threshold)
    if plan.method == "bands":  # as files are de-duplicated
        return banded_pairs(rows, threshold, engine)
    return neighbors.pairs(threshold), {"method": plan.method, "recall": plan.recall}


def likely_method(
    sample: Matrix, n_rows: int, threshold: float, engine: dict[str, Any], codes: Codes
) -> str:
    """How pairs of ``n_rows`` rows would be found, by those of a sample and codes of some of it.

    What is counted for a choice among all rows is counted here; what is of pairs grows with the
    square of the rows.
    """
    if engine["method"] in ("exact", "bands"):
        return str(engine["method"])
    if n_rows <= sample.shape[0]:
        return str(pair_finder(sample, engine).pairs_plan(threshold).method)
    rows = ExactRows.of(sample, engine["p"])
    more = (n_rows / rows.n_rows) ** 2
    entries, verified = ExactSearch(rows, engine["n_jobs"]).work_joined(threshold)
    exact = costs.exact_join(rows, more * entries, more * verified, n_rows)
    try:
        plan = dedup_plan(codes, n_rows, threshold, engine["recall"], engine["n_jobs"])
    except ValueError:  # no bands find enough
        return "exact"
    met = (n_rows / len(codes)) ** 2 * pairs_met(codes, plan.rows, n_jobs=engine["n_jobs"])
    banded = costs.encoding(rows, codes.n_components, n_rows)
    banded += costs.band_join(rows, plan.bands, plan.rows, met, n_rows)
    return "bands" if banded < exact else "exact"


def pair_finder(rows: Matrix, engine: dict[str, Any]) -> MinMaxNeighbors:
    """Fitted neighbours that are asked for pairs; a graph, which finds nearest rows, has none."""
    method = "auto" if engine["method"] == "graph" else engine["method"]
    return MinMaxNeighbors(**{**engine, "method": method}).fit(rows)


def nothing_to_find() -> dict[str, Any]:
    """How pairs were found where there are no two rows to compare: nothing can be missed."""
    return {"method": "exact", "recall": 1.0}


def no_pairs() -> NeighborPairs:
    """No pairs at all."""
    none = np.zeros(0, dtype=np.int64)
    return NeighborPairs(none, none, np.zeros(0))


def best_matches(rows: Matrix, other: Matrix, threshold: float, engine: dict[str, Any]) -> Matches:
    """For each row the most similar row of ``other`` of at least the threshold, the first of equal.

    >>> import numpy as np
    >>> from kernelight.neighbors.deduplicate import best_matches
    >>> engine = {"p": 1.0, "method": "exact", "n_jobs": None}
    >>> X, others = np.array([[1.0, 0], [0, 1]]), np.array([[0, 9.0], [1.1, 0]])
    >>> best_matches(X, others, 0.8, engine).row
    array([ 1, -1])
    """
    found = Matches(np.full(rows.shape[0], -1), np.zeros(rows.shape[0]))
    if not rows.shape[0] or not other.shape[0]:
        return found
    # a hair more than the threshold asks for: 1 - (1 - t) need not be t
    radius = min(1.0 - threshold + 1e-15, float(np.nextafter(1.0, 0.0)))
    distances, indices = pair_finder(other, engine).radius_neighbors(rows, radius)
    counts = np.fromiter(map(len, indices), np.int64, len(indices))
    row = np.repeat(np.arange(rows.shape[0]), counts)
    if not len(row):
        return found
    index, distance = np.concatenate(indices).astype(np.int64), np.concatenate(distances)
    order = np.lexsort((index, distance, row))
    leading = order[np.append(True, row[order][1:] != row[order][:-1])]
    row, index = row[leading], index[leading]
    exact = ExactRows.of(other, engine["p"])
    similarity = exact.like(rows).similarities(row, exact, index, n_jobs=engine["n_jobs"])
    near = similarity >= threshold
    found.row[row[near]] = index[near]
    found.similarity[row[near]] = similarity[near]
    return found


class Visits(NamedTuple):
    """In which order rows are visited: equal rows once, the first of all or the last one first.

    ``place`` has, for each row, the place of its content among the ``distinct`` rows (the first of
    equal ones); ``chosen`` the row that stands for each of these; ``order`` their places in the
    order of visits, and ``rank`` the inverse of that.
    """

    place: RowIndices
    distinct: RowIndices
    chosen: RowIndices
    order: RowIndices
    rank: RowIndices

    @classmethod
    def of(cls, place: RowIndices, distinct: RowIndices, keep: str) -> Visits:
        """The order that keeps the first of similar rows, or the last."""
        chosen = distinct
        if keep == LAST:
            chosen = np.empty_like(distinct)
            chosen[place] = np.arange(len(place))  # later rows overwrite earlier ones
        order = np.argsort(chosen if keep == FIRST else -chosen, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return cls(place, distinct, chosen, order, rank)

    def ranked(self, matches: Matches | None) -> Matches | None:
        """Matches of distinct rows in the order of visits."""
        if matches is None:
            return None
        return Matches(matches.row[self.order], matches.similarity[self.order])

    def duplicates(
        self,
        decided: Decided,
        pairs: NeighborPairs,
        *,
        threshold: float,
        n_empty: int,
        capped: int,
        matches: Matches | None = None,
    ) -> Duplicates:
        """The answer for all rows, from what was decided of ranks; matches are of places."""
        n_rows = len(self.place)
        kept = np.zeros(n_rows, dtype=bool)
        kept[self.chosen[self.order[decided.kept]]] = True
        # survivors as rows; those of ``against`` stay below 0
        inside = self.chosen[self.order[np.maximum(decided.survivor, 0)]]
        survivor = np.where(decided.survivor >= 0, inside, decided.survivor)
        own = self.rank[self.place]  # of every row, the rank of the row that stands for it
        survivors = survivor[own]
        i, j = self.chosen[pairs.i], self.chosen[pairs.j]
        return Duplicates(
            kept=kept,
            survivor=survivors,
            similarity=decided.similarity[own],
            cluster=clusters_of(survivors),
            equal=self.chosen[self.place],
            n_empty=n_empty,
            threshold=threshold,
            pairs=NeighborPairs.joined([(np.minimum(i, j), np.maximum(i, j), pairs.similarity)]),
            capped=capped,
            matches=matches and Matches(matches.row[self.place], matches.similarity[self.place]),
        )


def decide(
    visits: Visits,
    pairs: NeighborPairs,
    *,
    linkage: str,
    matches: Matches | None,
    similarities: Similarities,
) -> Decided:
    """What a rule says of rows in the order of visits; pairs are of places of distinct rows."""
    a, b = visits.rank[pairs.i], visits.rank[pairs.j]
    earlier, later = np.minimum(a, b), np.maximum(a, b)
    n_rows = len(visits.distinct)
    if linkage == LEADER:
        rule = Leaders(n_rows, visits.ranked(matches))
        sort = np.argsort(later, kind="stable")
        rule.add(earlier[sort], later[sort], pairs.similarity[sort])
        return rule.decided()
    decided = by_components(n_rows, earlier, later, visits.ranked(matches))
    return with_similarities(visits, decided, matches, similarities)


def with_similarities(
    visits: Visits, decided: Decided, matches: Matches | None, similarities: Similarities
) -> Decided:
    """What the components rule says, with similarities to survivors, which need not be pairs."""
    gone = np.flatnonzero(~decided.kept)
    survivor = decided.survivor[gone]
    other = np.where(survivor >= 0, visits.order[np.maximum(survivor, 0)], survivor)
    similarity = decided.similarity.copy()
    similarity[gone] = similarities(visits.order[gone], other)
    if matches is not None:  # those of matches are known, also where no other is
        places = visits.order[gone]
        own = (matches.row[places] >= 0) & (other == -1 - matches.row[places])
        similarity[gone[own]] = matches.similarity[places[own]]
    return decided._replace(similarity=similarity)
