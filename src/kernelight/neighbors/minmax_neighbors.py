"""`MinMaxNeighbors`: similar rows under the min-max kernel, as scikit-learn finds neighbours.

Long, as it is one estimator: the engines are elsewhere, and here is how they are chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernelight.base.checks import check_choice, check_int, seed_of
from kernelight.base.estimator import checked_rows
from kernelight.codes import Codes
from kernelight.maps.minmax.gcws import GCWS
from kernelight.maps.minmax.scheme import MAX_COMPONENTS
from kernelight.neighbors import costs
from kernelight.neighbors.band_plan import BandPlan, possible_plans
from kernelight.neighbors.banded import BUCKET_CAP, BandSearch, pairs_met, warn_of_capped
from kernelight.neighbors.exact import ExactSearch
from kernelight.neighbors.exact_rows import ExactRows
from kernelight.neighbors.graph import CodeGraph, CodeScan, has_graph
from kernelight.neighbors.limits import (
    check_radius,
    check_recall,
    check_threshold,
    least_similarity,
)
from kernelight.neighbors.pairs import NeighborPairs
from kernelight.neighbors.plan import NeighborPlan
from kernelight.neighbors.results import fill_up, split_at, without_itself

METHODS = ("auto", "exact", "bands", "graph")
# Graphs and scans are tried on this many fitted rows, with more and more candidates for each
# neighbour asked for, until enough neighbours are found.
_TRIED, _LADDER = 100, (3, 5, 10, 20, 40, 80)
_NS = 1e-9


@dataclass(eq=False)
class _Made:
    """What was made of the fitted rows so far."""

    plans: dict[int, NeighborPlan] = field(default_factory=dict)  # by the number of neighbours
    codes: tuple[GCWS, Codes] | None = None
    engine: CodeGraph | CodeScan | None = None
    bands: BandSearch | None = None
    cheapest: dict[float, tuple[BandPlan, float]] = field(default_factory=dict)


class MinMaxNeighbors(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Rows similar under the generalized min-max kernel, with exact similarities.

    The similarity of two rows is `kernels.GMM`, sum of minima over sum of maxima: weighted Jaccard,
    or Tanimoto on counts, for signed rows too. Their distance is 1 minus that. Candidates may come
    from codes, but every result is verified by the exact kernel and sorted.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours of each query.
    radius : float, optional
        Largest distance of `radius_neighbors`, at least 0 and below 1.
    p : float, default=1.0
        The power of the kernel.
    method : {"auto", "exact", "bands", "graph"}, default="auto"
        "exact" finds everything. "bands" finds pairs above a similarity by bands of codes, each
        with a probability that theory knows (`expected_recall`). "graph" finds nearest rows by a
        graph of codes (HNSW, with the package usearch; without it by a scan of all codes), with a
        recall that is measured on fitted rows. "auto" takes the cheapest by counts, encoding
        included: of "exact" and "graph" for `kneighbors`, as if as many rows were queried as
        fitted; of "exact" and "bands" for `radius_neighbors` and `pairs`.
    recall : float, default=0.95
        The fraction of neighbours, or of pairs at the threshold, to be found at least on average.
    n_components, bits : int, default=256 and 8
        Slots of a code, and bits of a slot (at most 8).
    random_state : int, RandomState or None, default=0
        The seed of the codes.
    n_jobs : int, optional
        Threads. No result depends on it.

    Attributes
    ----------
    plan_ : NeighborPlan
        How `kneighbors` works, and why. `pairs_plan` says it for `pairs` and `radius_neighbors`.
    n_samples_fit_ : int
        Rows given to `fit`.
    n_features_in_ : int
        Columns given to `fit`.

    See Also
    --------
    deduplicate : Rows without near-duplicates.
    Index : Rows on disk.
    kernelight.kernels.GMM : The kernel.

    Examples
    --------
    >>> from kernelight.neighbors import MinMaxNeighbors
    >>> near = MinMaxNeighbors(n_neighbors=2).fit([[1, 2, 0], [1, 2, 1], [0, 0, 4], [1, 1, 0]])
    >>> distances, rows = near.kneighbors([[1, 2, 0]])
    >>> rows
    array([[0, 1]])
    >>> distances
    array([[0.  , 0.25]])
    >>> near.pairs(0.6).i.tolist(), near.pairs(0.6).j.tolist()
    ([0, 0], [1, 3])
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        radius: float | None = None,
        p: float = 1.0,
        method: str = "auto",
        recall: float = 0.95,
        n_components: int = 256,
        bits: int = 8,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.p = p
        self.method = method
        self.recall = recall
        self.n_components = n_components
        self.bits = bits
        self.random_state = random_state
        self.n_jobs = n_jobs

    # -- Fitting

    def fit(self, X: Any, y: Any = None) -> MinMaxNeighbors:
        """Take the rows.

        Codes, graphs and tables are made when they are first needed: `plan_` makes what
        `kneighbors` needs, `pairs` what it needs itself.
        """
        check_int("n_neighbors", self.n_neighbors, 1)
        check_choice("method", self.method, METHODS)
        check_recall(self.recall)
        check_int("bits", self.bits, 1, 8)
        check_int("n_components", self.n_components, 1, MAX_COMPONENTS)
        if self.radius is not None:
            check_radius(self.radius)
        rows = ExactRows.of(checked_rows(self, X, reset=True), self.p)
        self._rows, self._exact = rows, ExactSearch(rows, self.n_jobs)
        self._seed = seed_of(self.random_state)
        self._made = _Made()
        self.n_samples_fit_ = rows.n_rows
        return self

    @property
    def plan_(self) -> NeighborPlan:
        """How `kneighbors` works, and why; what it needs is made at the first look."""
        self._check_fitted()
        return self._plan_for(check_int("n_neighbors", self.n_neighbors, 1))

    def _plan_for(self, k: int) -> NeighborPlan:
        """The plan for k neighbours: the recall of a few says nothing of that of many."""
        if k not in self._made.plans:
            self._made.plans[k] = self._planned_neighbors(k)
        return self._made.plans[k]

    @property
    def _n_features_out(self) -> int:
        """Columns of `transform`, for get_feature_names_out: the fitted rows."""
        return self.n_samples_fit_

    def _check_fitted(self) -> None:
        check_is_fitted(self, "n_samples_fit_")

    @property
    def _codes(self) -> tuple[GCWS, Codes]:
        """The map and the codes of the fitted rows, made when first needed."""
        if self._made.codes is None:
            # The power is in the rows already.
            made = GCWS(
                self.n_components, bits=self.bits, random_state=self._seed, n_jobs=self.n_jobs
            ).fit(self._rows.matrix)
            self._made.codes = made, made.encode(self._rows.matrix)
        return self._made.codes

    def _planned_neighbors(self, k: int) -> NeighborPlan:
        """Exact, or by a graph or scan that finds enough of k neighbours."""
        n, exact = self._rows.n_rows, ("exact", 1.0)
        if self.method in ("exact", "bands"):
            return NeighborPlan(exact[0], "method says so.", exact[1])
        by_graph = has_graph()
        name = "graph" if by_graph else "scan"
        count = k * _LADDER[1]
        each = (
            costs.graph_query(self._rows, count)
            if by_graph
            else costs.scan_query(self._rows, self.n_components, count)
        )
        building = costs.graph_build(n) if by_graph else 0.0
        # the neighbours of the rows tried are found exactly first
        one_exact = costs.exact_query(self._rows, self._exact.entries_met())
        seconds = {
            "exact": _NS * n * one_exact,
            name: _NS
            * (
                costs.encoding(self._rows, self.n_components)
                + building
                + n * each
                + min(n, _TRIED) * one_exact
            ),
        }
        if self.method == "auto" and seconds["exact"] <= seconds[name]:
            return NeighborPlan("exact", "it costs least.", 1.0, seconds)
        return self._tried_plan(name, k, seconds)

    def _tried_plan(self, name: str, k: int, seconds: dict[str, float]) -> NeighborPlan:
        """The fewest candidates that find enough; exact where none do and we may choose."""
        _, codes = self._codes
        n = self._rows.n_rows
        k = min(k, max(1, n - 1))
        tried = np.unique(np.linspace(0, n - 1, min(n, _TRIED)).astype(np.int64))
        some = self._rows.take(tried)
        rows, truth = self._exact.best(some, k + 1)
        truth = np.where(rows == tried[:, None], -1.0, truth)  # a row is not its own neighbour
        truth = -np.sort(-truth, axis=1)[:, :k]
        # what a scan does not find among so many, no graph finds
        if self.method == "auto" and name == "graph":
            found = self._recall_of(CodeScan(codes), tried, some, truth, k, _LADDER[-2] * k)
            if found < self.recall:
                return self._exact_plan(found, seconds)
        engine = self._made.engine
        if engine is None:
            engine = CodeGraph(codes) if name == "graph" else CodeScan(codes)
        found = 0.0
        for many in _LADDER:
            count = min(n, many * k)
            found = self._recall_of(engine, tried, some, truth, k, count)
            # room for chance: one standard error of a recall of that many neighbours
            room = float(np.sqrt(self.recall * (1 - self.recall) / max(1, truth.size)))
            if found >= min(1.0, self.recall + room):
                reason = (
                    "it costs least." if self.method == "auto" else "method says so."
                ) + f" {count} candidates a query are verified."
                self._made.engine = engine
                return NeighborPlan(name, reason, found, seconds, None, count, count)
        if self.method == "auto":
            return self._exact_plan(found, seconds)
        self._made.engine = engine
        count = min(n, _LADDER[-1] * k)
        reason = f"method says so, though it finds less than recall={self.recall:g}."
        return NeighborPlan(name, reason, found, seconds, None, count, count)

    def _exact_plan(self, found: float, seconds: dict[str, float]) -> NeighborPlan:
        reason = (
            f"codes of {self.n_components} slots find only {found:.3f} of the nearest rows, which "
            "are too far for them."
        )
        return NeighborPlan("exact", reason, 1.0, seconds)

    def _recall_of(
        self,
        engine: CodeGraph | CodeScan,
        tried: NDArray[np.int64],
        some: ExactRows,
        truth: NDArray[np.float64],
        k: int,
        count: int,
    ) -> float:
        """The fraction of neighbours that are as near as the true ones; ties count."""
        count = min(count, self._rows.n_rows)
        candidates = engine.candidates(self._codes[1][tried], count, count, n_jobs=self.n_jobs)
        candidates[candidates == tried[:, None]] = -1
        _, found = self._rows.best(some, candidates, k, n_jobs=self.n_jobs)
        return float((found >= truth[:, k - 1 : k]).mean())

    # -- Nearest rows

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """The nearest rows of each query: distances and indices, nearest first.

        For more neighbours than the parameter ``n_neighbors`` there is another plan, made at the
        first call, so that they are found with the same recall.
        Without ``X`` the fitted rows are the queries, and no row is its own neighbour. Rows that
        share nothing with a query are at distance 1; of those the first fill up what is missing.
        """
        self._check_fitted()
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        k, n = check_int("n_neighbors", k, 1), self._rows.n_rows
        most = n - 1 if X is None else n
        if k > most:
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
                f"{n}{', and a row is not its own neighbor' if X is None else ''}."
            )
        queries = self._queries(X)
        if X is None:
            rows, similarities = without_itself(*self._nearest(queries, k, itself=True), k)
        else:
            rows, similarities = self._nearest(queries, k, itself=False)
        fill_up(rows, similarities, self._rows, queries, itself=X is None)
        return (1.0 - similarities, rows) if return_distance else rows

    def _queries(self, X: Any) -> ExactRows:
        if X is None:
            return self._rows
        return self._rows.like(checked_rows(self, X, reset=False))

    def _nearest(
        self, queries: ExactRows, k: int, *, itself: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The k nearest rows; with ``itself`` one more, as queries are the fitted rows."""
        planned = max(k, check_int("n_neighbors", self.n_neighbors, 1))
        plan, more = self._plan_for(planned), k + itself
        if plan.method == "exact" or self._made.engine is None:
            return self._exact.best(queries, more)
        made, codes = self._codes
        some = codes if itself else made.encode(queries.matrix)
        count = max(plan.candidates, int(plan.candidates * more / planned), more)
        count = min(count, self._rows.n_rows)
        candidates = self._made.engine.candidates(some, count, count, n_jobs=self.n_jobs)
        return self._rows.best(queries, candidates, more, n_jobs=self.n_jobs)

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> sp.csr_matrix:
        """The nearest rows as a sparse matrix: ones, or with ``mode="distance"`` distances."""
        self._check_fitted()
        check_choice("mode", mode, ("connectivity", "distance"))
        distances, rows = self.kneighbors(X, n_neighbors)
        starts = np.arange(0, rows.size + 1, rows.shape[1])
        return self._graph_matrix(distances.reshape(-1), rows.reshape(-1), starts, mode)

    def transform(self, X: Any) -> sp.csr_matrix:
        """The graph of distances, as scikit-learn's KNeighborsTransformer makes it.

        A fitted row counts as its own neighbour, so that there is one more for each.
        """
        self._check_fitted()
        k = min(self.n_neighbors + 1, self.n_samples_fit_)
        return self.kneighbors_graph(X, k, mode="distance")

    # -- Rows above a similarity

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True
    ) -> Any:
        """All rows within a distance of each query: arrays of arrays, nearest first.

        A row is within the radius if its distance, as it is returned, is at most the radius.
        """
        found, n = self._within(X, radius)
        order = np.lexsort((found.j, -found.similarity, found.i))
        ends = np.cumsum(np.bincount(found.i, minlength=n))
        rows = split_at(found.j[order], ends)
        distances = split_at(1.0 - found.similarity[order], ends)
        return (distances, rows) if return_distance else rows

    def radius_neighbors_graph(
        self, X: Any = None, radius: float | None = None, mode: str = "connectivity"
    ) -> sp.csr_matrix:
        """The rows within a distance as a sparse matrix: ones, or distances."""
        self._check_fitted()
        check_choice("mode", mode, ("connectivity", "distance"))
        found, n = self._within(X, radius)
        order = np.lexsort((found.j, -found.similarity, found.i))
        starts = np.concatenate([[0], np.cumsum(np.bincount(found.i, minlength=n))])
        return self._graph_matrix(1.0 - found.similarity[order], found.j[order], starts, mode)

    def _graph_matrix(
        self, distances: NDArray[Any], rows: NDArray[Any], starts: NDArray[Any], mode: str
    ) -> sp.csr_matrix:
        values = distances if mode == "distance" else np.ones(len(rows))
        shape = (len(starts) - 1, self.n_samples_fit_)
        return sp.csr_matrix((values, rows, starts), shape=shape)

    def _within(self, X: Any, radius: float | None) -> tuple[NeighborPairs, int]:
        """(query, row, similarity) within a radius, and the number of queries."""
        self._check_fitted()
        radius = self.radius if radius is None else radius
        if radius is None:
            raise ValueError("radius_neighbors needs a radius: pass one here or to the estimator.")
        threshold = least_similarity(check_radius(radius))
        if X is None:
            pairs = self.pairs(threshold)
            both = (
                np.concatenate([pairs.i, pairs.j]),
                np.concatenate([pairs.j, pairs.i]),
                np.concatenate([pairs.similarity] * 2),
            )
            return NeighborPairs(*both), self._rows.n_rows
        queries = self._queries(X)
        if self._pairs_method(threshold, queries) == "exact":
            return self._exact.above(queries, threshold), queries.n_rows
        made, _ = self._codes
        search = self._band_search(threshold, BUCKET_CAP)
        return search.above(queries, made.encode(queries.matrix)), queries.n_rows

    def pairs(self, threshold: float, *, cap: int = BUCKET_CAP) -> NeighborPairs:
        """All pairs of fitted rows of at least this similarity: i < j, each once, sorted.

        Bands find each with the probability of `expected_recall`. Rows that agree in a band are in
        one bucket, of which each meets the first ``cap`` rows only. So a pair may be missing whose
        buckets are all larger; a warning says how many buckets are.
        """
        self._check_fitted()
        threshold, cap = check_threshold(threshold), check_int("cap", cap, 1)
        if self._pairs_method(threshold, None) == "exact":
            return self._exact.pairs(threshold)
        search = self._band_search(threshold, cap)
        found = search.pairs()
        warn_of_capped(search.counts.capped, cap)
        return found

    def pairs_plan(self, threshold: float) -> NeighborPlan:
        """How `pairs` finds the pairs of at least this similarity, and why."""
        self._check_fitted()
        threshold = check_threshold(threshold)
        seconds = self._pairs_seconds(threshold, None)
        if self._pairs_method(threshold, None) == "exact":
            reason = "method says so." if self.method == "exact" else "it costs least."
            return NeighborPlan("exact", reason, 1.0, seconds)
        search = self._band_search(threshold, BUCKET_CAP)
        reason = "it costs least." if self.method == "auto" else "method says so."
        counts = search.counts
        if counts.capped:
            reason += (
                f" {counts.capped} buckets are above {BUCKET_CAP} rows: their pairs are not "
                "promised."
            )
        recall = float(search.plan.expected_recall(threshold))
        return NeighborPlan("bands", reason, recall, seconds, search.plan)

    def expected_recall(
        self, similarity: ArrayLike, threshold: float | None = None
    ) -> NDArray[np.float64]:
        """The probability that `pairs` finds a pair of this similarity, from theory.

        ``threshold`` is that of `pairs`; 1 - radius if it is not given.
        """
        self._check_fitted()
        if threshold is None:
            if self.radius is None:
                raise ValueError("expected_recall needs a threshold, that of pairs.")
            threshold = least_similarity(check_radius(self.radius))
        return self.pairs_plan(threshold).expected_recall(similarity)

    def _pairs_method(self, threshold: float, queries: ExactRows | None) -> str:
        if self.method in ("exact", "bands"):
            return self.method
        seconds = self._pairs_seconds(threshold, queries)
        return min(seconds, key=lambda name: seconds[name])

    def _pairs_seconds(self, threshold: float, queries: ExactRows | None) -> dict[str, float]:
        """The time of both ways, as far as it must be known to choose.

        Encoding is priced before it is done; then what bands hold is counted.
        """
        rows = self._rows
        if queries is None:
            exact = costs.exact_join(rows, *self._exact.work_joined(threshold))
        else:
            met = self._exact.entries_met(queries)
            exact = queries.n_rows * costs.exact_query(rows, met)
        seconds = {"exact": _NS * exact}
        known = self._made.codes is not None
        encoding = 0.0 if known else costs.encoding(rows, self.n_components)
        if queries is not None:
            encoding += costs.encoding(queries, self.n_components)
        try:
            plans = possible_plans(self.n_components, self.bits, threshold, self.recall)
        except ValueError:
            return seconds
        least = min(costs.band_join(rows, plan.bands, plan.rows, 0.0) for plan in plans)
        if self.method == "auto" and exact <= encoding + least:
            return seconds | {"bands": _NS * (encoding + least)}
        joined = self._cheapest_bands(threshold)[1] if queries is None else least
        return seconds | {"bands": _NS * (encoding + joined)}

    def _cheapest_bands(self, threshold: float) -> tuple[BandPlan, float]:
        """The bands of least cost, by what one band of each length holds, and that cost."""
        if threshold not in self._made.cheapest:
            _, codes = self._codes
            priced = []
            for plan in possible_plans(self.n_components, self.bits, threshold, self.recall):
                met = pairs_met(codes, plan.rows, n_jobs=self.n_jobs)
                priced.append((plan, costs.band_join(self._rows, plan.bands, plan.rows, met)))
            self._made.cheapest[threshold] = min(priced, key=lambda pair: pair[1])
        return self._made.cheapest[threshold]

    def _band_search(self, threshold: float, cap: int) -> BandSearch:
        search = self._made.bands
        if search is None or search.cap != cap or search.plan.threshold != threshold:
            plan, _ = self._cheapest_bands(threshold)
            search = BandSearch(self._rows, self._codes[1], plan, cap=cap, n_jobs=self.n_jobs)
            self._made.bands = search
        return search

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
