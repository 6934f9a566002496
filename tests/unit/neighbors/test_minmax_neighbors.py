"""`MinMaxNeighbors`: neighbours, graphs, pairs, plans, and what it refuses."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import rounds, sentence
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.exceptions import NotFittedError
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelight import GCWS
from kernelight.kernels import GMM
from kernelight.neighbors import (
    BandPlan,
    BandSearch,
    ExactRows,
    MinMaxNeighbors,
    NeighborPlan,
    band_keys,
    equal_slots,
    scan_codes,
)
from kernelight.neighbors.band_plan import possible_plans
from kernelight.neighbors.graph import has_graph
from kernelight.neighbors.limits import least_similarity

graphs = pytest.mark.skipif(not has_graph(), reason="usearch is not installed (extra search)")


def near_rows(n=300, d=40, seed=0):
    """Signed rows, half of them near another."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
    X[n // 2 :] = X[: n - n // 2] * (1 + 0.1 * rng.normal(size=(n - n // 2, d)))
    X[7] = 0
    return X


X = near_rows()
K = GMM()(X)


@parametrize_with_checks([MinMaxNeighbors(n_neighbors=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csc_array, np.asfortranarray])
def test_nearest_are_those_of_the_kernel(make):
    near = MinMaxNeighbors(n_neighbors=5, method="exact").fit(make(X))
    distances, rows = near.kneighbors(make(X[:20]))
    for query in range(20):
        order = np.lexsort((np.arange(len(X)), -K[query].round(12)))[:5]
        if query != 7:  # the row of zeros is far from everything
            np.testing.assert_array_equal(rows[query], order)
        np.testing.assert_allclose(distances[query], 1 - K[query, order], atol=1e-12)
    assert rows[7].tolist() == [0, 1, 2, 3, 4]
    assert (distances[7] == 1).all()


def test_fitted_rows_are_not_their_own_neighbours():
    same = np.vstack([X[:1]] * 6 + [X[1:4]])  # more equal rows than neighbours
    for rows in (X, same, sp.csr_matrix(same)):
        found = MinMaxNeighbors(n_neighbors=3).fit(rows).kneighbors(return_distance=False)
        assert (found != np.arange(len(found))[:, None]).all()
        assert all(len(set(row)) == 3 for row in found.tolist())


@pytest.mark.parametrize("method", ["exact", "bands"])
def test_pairs_and_radius_agree(method):
    near = MinMaxNeighbors(radius=0.3, method=method, recall=0.999).fit(X)
    pairs = near.pairs(0.7)
    assert (pairs.i < pairs.j).all()
    np.testing.assert_allclose(pairs.similarity, K[pairs.i, pairs.j], atol=1e-12)
    assert len(pairs.i) >= 0.98 * np.count_nonzero(np.triu(K, 1) >= 0.7) > 0
    graph = near.radius_neighbors_graph(mode="distance")
    np.testing.assert_allclose(graph.toarray()[pairs.i, pairs.j], 1 - pairs.similarity, atol=1e-15)
    assert graph.nnz == 2 * len(pairs.i)
    distances, rows = near.radius_neighbors(X[:50])
    for query in range(50):
        assert (np.diff(distances[query]) >= 0).all()
        assert query in rows[query] or query == 7
        np.testing.assert_allclose(distances[query], 1 - K[query, rows[query]], atol=1e-12)
    only = near.radius_neighbors(X[:50], return_distance=False)
    assert all(np.array_equal(a, b) for a, b in zip(only, rows, strict=True))


def test_within_a_radius_are_the_distances_at_most_the_radius():
    """As floats, like scikit-learn: 1 - 0.7 is above 0.3, and 1 - (1 - s) need not be s."""
    for make in (np.array, sp.csr_matrix):
        for a in range(1, 30):
            for b in range(a + 1, 30):
                rows = make([[a, 0.0], [b, 0.0]])
                near = MinMaxNeighbors(1, method="exact").fit(rows)
                distance = near.kneighbors()[0][0, 0]
                for radius in (1 - a / b, distance, np.nextafter(distance, 0)):
                    found = len(near.radius_neighbors(radius=radius)[0][0])
                    assert found == (distance <= radius), (a, b, radius)


@pytest.mark.parametrize("make", [np.array, sp.csr_matrix])
@pytest.mark.parametrize("method", ["exact", "bands"])
def test_radius_neighbors_are_those_of_scikit_learn(method, make):
    rows = np.arange(1.0, 41)[:, None] * [1, 0]
    truth = NearestNeighbors(metric="precomputed").fit(1 - GMM()(rows))
    near = MinMaxNeighbors(method=method, recall=0.9999999).fit(make(rows))
    far = [1 - 3 / 10, 1 - 2 / 15, 1 - 1 / 10, 0.7]  # too far for bands
    for radius in [0.05, 0.1, 0.15, 0.2, 0.3, *(far if method == "exact" else [])]:
        wanted = truth.radius_neighbors_graph(radius=radius, mode="distance").toarray()
        graph = near.radius_neighbors_graph(radius=radius, mode="distance").toarray()
        np.testing.assert_array_equal(graph, wanted)
        # of other queries each fitted row is one's own neighbour, too
        found = near.radius_neighbors(make(rows), radius, return_distance=False)
        assert [len(each) - 1 for each in found] == (wanted > 0).sum(axis=1).tolist()


def test_the_least_similarity_within_a_radius():
    rng = np.random.default_rng(0)
    for radius in [0.0, 0.3, 0.7, 5e-324, 1e-17, np.nextafter(1.0, 0.0), *rng.random(200)]:
        least = least_similarity(radius)
        assert 0 < least <= 1
        assert 1 - least <= radius < 1 - np.nextafter(least, 0)


def test_power_is_that_of_the_kernel():
    for p in (0.5, 3.0):
        found = MinMaxNeighbors(p=p, method="exact").fit(X).pairs(0.6)
        truth = np.triu(GMM(p)(X), 1) >= 0.6
        assert set(zip(*np.nonzero(truth), strict=True)) == set(zip(found.i, found.j, strict=True))
        codes = MinMaxNeighbors(p=p, method="bands", recall=0.999).fit(X).pairs(0.6)
        assert len(codes.i) >= 0.97 * len(found.i)


@graphs
def test_graph_finds_what_its_plan_says():
    rows = near_rows(3000, 60)
    near = MinMaxNeighbors(method="graph", recall=0.9).fit(rows)
    assert near.plan_.method == "graph"
    truth = MinMaxNeighbors(method="exact").fit(rows).kneighbors()[0]
    distances, found = near.kneighbors()
    # 30,000 neighbours; those of a query depend on each other: at most ten times the variance
    sigma = np.sqrt(10 * 0.9 * 0.1 / truth.size)
    assert (distances <= truth[:, -1:]).mean() > 0.9 - 5 * sigma
    again = MinMaxNeighbors(method="graph", recall=0.9, n_jobs=2).fit(rows)
    np.testing.assert_array_equal(again.kneighbors()[1], found)


def test_scan_serves_without_a_graph(monkeypatch):
    monkeypatch.setattr("kernelight.neighbors.minmax_neighbors.has_graph", lambda: False)
    near = MinMaxNeighbors(method="graph").fit(X)
    assert near.plan_.method == "scan"
    assert near.plan_.recall >= 0.95
    distances, _ = near.kneighbors(X[:100])
    truth, _ = MinMaxNeighbors(method="exact").fit(X).kneighbors(X[:100])
    assert (distances <= truth[:, -1:]).mean() > 0.9


@pytest.mark.parametrize("engine", ["scan", pytest.param("graph", marks=graphs)])
@pytest.mark.parametrize("ask", ["set_params", "kneighbors", "queries", "transform"])
def test_more_neighbours_than_at_fit_are_found_as_often(ask, engine, monkeypatch):
    """Two neighbours of these rows are easily found, fifty are not."""
    monkeypatch.setattr(
        "kernelight.neighbors.minmax_neighbors.has_graph", lambda: engine == "graph"
    )
    rng = np.random.default_rng(0)
    rows = np.repeat(near_rows(700, 60), 3, axis=0) * rng.lognormal(0, 0.02, (2100, 60))
    near = MinMaxNeighbors(2, method="graph", n_components=128).fit(rows)
    few = near.plan_
    truth = MinMaxNeighbors(method="exact").fit(rows).kneighbors(n_neighbors=50)[0]
    if ask == "set_params":
        found = near.set_params(n_neighbors=50).kneighbors()[0]
        assert near.plan_.candidates > 25 * few.candidates
    elif ask == "kneighbors":
        found = near.kneighbors(n_neighbors=50)[0]
        assert near.plan_ is few
    elif ask == "queries":
        found = near.kneighbors(rows, n_neighbors=51)[0][:, 1:]
    else:
        found = near.set_params(n_neighbors=50).transform(rows).data.reshape(-1, 51)[:, 1:]
    # 100,000 neighbours; those of a query depend on each other: at most fifty times the variance
    sigma = np.sqrt(50 * 0.95 * 0.05 / truth.size)
    assert (found <= truth[:, -1:]).mean() > 0.95 - 5 * sigma


def test_auto_is_exact_where_that_is_cheap_or_codes_do_not_serve():
    assert MinMaxNeighbors().fit(X).plan_.method == "exact"
    rng = np.random.default_rng(0)
    far = rng.random((400, 300)) < 0.02  # neighbours share hardly anything
    near = MinMaxNeighbors(n_components=16, method="auto").fit(far)
    assert near.plan_.method == "exact"
    assert isinstance(near.plan_, NeighborPlan)
    assert re.match(r"exact: .*\. Expected recall 1\.000\.", str(near.plan_))


def test_plans_of_pairs():
    near = MinMaxNeighbors(method="bands").fit(X)
    plan = near.pairs_plan(0.8)
    assert plan.method == "bands"
    assert plan.recall >= 0.95
    assert plan.bands is not None
    np.testing.assert_allclose(near.expected_recall(0.8, threshold=0.8), plan.recall)
    assert near.expected_recall(0.95, threshold=0.8) > plan.recall
    exact = MinMaxNeighbors(method="exact", radius=0.2).fit(X)
    np.testing.assert_array_equal(exact.expected_recall([0.1, 0.9]), [1, 1])


# -- Theory: the fraction of pairs found


def test_expected_recall_holds():
    """Pairs on columns of their own draw hashes of their own: their finds are independent.

    In each bin of similarity the pairs found, over 200 seeds, are a sum of independent trials of
    known probability.
    """
    seeds, copies = rounds(200), 6
    levels = np.repeat([0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9], copies)
    width = 10
    rows = np.zeros((2 * len(levels), width * len(levels)))
    rng = np.random.default_rng(0)
    for at, level in enumerate(levels):
        own = slice(width * at, width * (at + 1))
        u = rng.lognormal(0, 1, width)
        rows[2 * at, own] = u
        rows[2 * at + 1, own] = u * level  # min over max is the level
    data = sp.csr_matrix(rows)
    found = np.zeros(len(levels))
    for seed in range(seeds):
        near = MinMaxNeighbors(method="bands", recall=0.7, n_components=160, random_state=seed).fit(
            data
        )
        pairs = near.pairs(0.5 - 1e-9)
        assert (pairs.i // 2 == pairs.j // 2).all()
        found[pairs.i // 2] += 1
    expected = near.expected_recall(levels, threshold=0.5 - 1e-9)
    for level in np.unique(levels):
        of_level = levels == level
        trials = seeds * of_level.sum()
        p = expected[of_level][0]
        sigma = np.sqrt(trials * p * (1 - p))
        assert abs(found[of_level].sum() - trials * p) < 5 * sigma + 1e-9, level


# -- In scikit-learn


def test_graphs_serve_dbscan_tsne_and_classifiers():
    near = MinMaxNeighbors(n_neighbors=30, radius=0.3).fit(X)
    labels = DBSCAN(eps=0.3, min_samples=2, metric="precomputed").fit_predict(
        near.radius_neighbors_graph(mode="distance")
    )
    dense = DBSCAN(eps=0.3, min_samples=2, metric="precomputed").fit_predict(1 - K)
    np.testing.assert_array_equal(labels, dense)
    graph = near.kneighbors_graph(mode="distance")
    points = TSNE(metric="precomputed", init="random", perplexity=5, max_iter=250).fit_transform(
        graph
    )
    assert points.shape == (len(X), 2)
    y = (X[:, 0] > 0).astype(int)
    model = make_pipeline(
        MinMaxNeighbors(n_neighbors=5), KNeighborsClassifier(5, metric="precomputed")
    ).fit(X, y)
    exact = KNeighborsClassifier(5, metric="precomputed").fit(1 - K, y)
    assert (model.predict(X) == exact.predict(1 - K)).mean() > 0.95


def test_pickled_and_cloned():
    near = MinMaxNeighbors(n_neighbors=4, method="graph").fit(X)
    again = pickle.loads(pickle.dumps(near))
    for one, other in zip(near.kneighbors(X[:9]), again.kneighbors(X[:9]), strict=True):
        np.testing.assert_array_equal(one, other)
    assert clone(near).get_params() == near.get_params()


def test_fitting_again_forgets_the_old_rows():
    near = MinMaxNeighbors(method="bands").fit(X)
    near.pairs(0.8)
    near.fit(X[:50])
    assert near.pairs(0.8).j.max(initial=0) < 50


# -- Odd shapes and wrong words


@pytest.mark.parametrize("method", ["auto", "exact", "bands", "graph"])
def test_few_rows(method):
    for rows in (np.ones((1, 1)), np.zeros((3, 2)), np.eye(2), sp.csr_matrix((4, 3))):
        near = MinMaxNeighbors(n_neighbors=1, method=method).fit(rows)
        distances, found = near.kneighbors(rows)
        assert found.shape == (rows.shape[0], 1)
        assert ((distances >= 0) & (distances <= 1)).all()
        assert len(near.pairs(0.5).i) == 0
        assert near.radius_neighbors_graph(rows, radius=0.5).shape == (rows.shape[0],) * 2


def test_no_queries():
    with pytest.raises(ValueError, match="0 sample"):
        MinMaxNeighbors(n_neighbors=2).fit(X).kneighbors(X[:0])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be at least 1"),
        ({"method": 3}, "method must be one of 'auto', 'exact', 'bands', 'graph', got 3"),
        ({"recall": 1.5}, "recall"),
        ({"recall": 0}, "recall must be above 0"),
        ({"bits": 9}, "bits must be between 1 and 8"),
        ({"n_components": 10**12}, "n_components must be between 1 and 16777216"),
        ({"radius": 1.0}, "radius must be below 1"),
        ({"p": -1}, "p must be"),
    ],
)
def test_wrong_parameters(params, words):
    with pytest.raises((ValueError, TypeError), match=sentence(words)):
        MinMaxNeighbors(**params).fit(X)


@pytest.mark.parametrize(
    "use",
    [
        lambda near: near.transform(X),
        lambda near: near.kneighbors(X),
        lambda near: near.kneighbors_graph(X),
        lambda near: near.radius_neighbors(X, 0.5),
        lambda near: near.radius_neighbors_graph(X, 0.5),
        lambda near: near.pairs(0.5),
        lambda near: near.pairs_plan(0.5),
        lambda near: near.expected_recall(0.5),
        lambda near: near.plan_,
    ],
)
def test_not_fitted(use):
    with pytest.raises(NotFittedError):
        use(MinMaxNeighbors())


def test_wrong_use_of_the_engines():
    codes = GCWS(8).fit(X).encode(X)
    rows, powered = ExactRows.of(X), ExactRows.of(X, 0.5)
    plan = BandPlan(8, 8, 0.8, 2, 2)
    for call, kind, words in (
        (lambda: scan_codes(X, codes, 1), TypeError, "codes must be Codes"),
        (lambda: scan_codes(codes, codes.array, 1), TypeError, "queries must be Codes"),
        (lambda: equal_slots(codes, [0], codes.array, [0]), TypeError, "b must be Codes"),
        (lambda: equal_slots(codes, [0.7], codes, [0]), TypeError, "whole numbers"),
        (lambda: equal_slots(codes, [0, 1], codes, [0]), ValueError, "two lists of one length"),
        (lambda: band_keys(codes.array, 2, 2), TypeError, "codes must be Codes"),
        (lambda: BandSearch(rows, codes[:3], plan), ValueError, "one for each row"),
        (lambda: rows.best(rows, [0, 1], 1), ValueError, "a table with a line for each"),
        (lambda: rows.best(rows, [[0.5]] * len(X), 1), TypeError, "whole numbers"),
        (lambda: rows.best(powered, [[0]] * len(X), 1), ValueError, "make the others with"),
        (lambda: rows.similarities([0.7], rows, [0]), TypeError, "whole numbers"),
        (lambda: rows.similarities([0], powered, [0]), ValueError, "cannot be compared"),
        (lambda: powered.similarities([0], ExactRows.of(2 * X, 0.5), [0]), ValueError, "at scale"),
        (lambda: rows.similarities([0], ExactRows.of(X[:, :3]), [0]), ValueError, "same features"),
    ):
        with pytest.raises(kind, match=sentence(words)):
            call()


def test_sizes_far_apart():
    """The power of x / scale is there where the quotient itself is too small."""
    A = np.array([[1e300, 2e300], [1e-300, 2e-300], [3e-300, 1e-300]])
    for X in (A, sp.csr_matrix(A)):
        rows = ExactRows.of(X, 0.3)
        near = [1.0, (1 + 1) / (3**0.3 + 2**0.3)]
        np.testing.assert_allclose(rows.similarities([1, 1], rows, [1, 2]), near, rtol=1e-12)
        assert rows.similarities([0], rows, [1])[0] == pytest.approx(1e-180, rel=1e-9)
        with pytest.raises(ValueError, match=sentence("use a smaller p")):
            ExactRows.of(X, 0.7)


@pytest.mark.parametrize("threshold", [0.5, 0.8, 1.0])
def test_many_components_are_planned_soon(threshold):
    """Nothing is tried that must be longer than the codes: this would take hours."""
    plans = possible_plans(1 << 24, 8, threshold, 0.95)
    assert 10 < len(plans) <= 256
    assert all(plan.expected_recall(threshold) >= 0.95 for plan in plans)


def test_popular_buckets_are_reported():
    rows = np.tile([1.0, 2.0, 3.0], (30, 1))
    near = MinMaxNeighbors(method="bands").fit(rows)
    assert len(near.pairs(0.9).i) == 30 * 29 // 2
    with pytest.warns(UserWarning, match=sentence("had more than 4 rows")) as caught:
        found = near.pairs(0.9, cap=4)
    assert caught[0].filename == __file__
    # each row meets the first four
    assert list(zip(found.i, found.j, strict=True)) == [
        (i, j) for i in range(4) for j in range(i + 1, 30)
    ]


def test_columns_of_graphs_have_names():
    near = MinMaxNeighbors(2).fit(X[:4])
    names = ["minmaxneighbors0", "minmaxneighbors1", "minmaxneighbors2", "minmaxneighbors3"]
    assert near.get_feature_names_out().tolist() == names
    assert near.set_output(transform="default").transform(X[:2]).shape == (2, 4)


@pytest.mark.parametrize("method", ["exact", "bands"])
@pytest.mark.parametrize("wrong", [2, -1, np.nan, [0.5, 2.0]])
def test_recall_is_of_similarities(method, wrong):
    near = MinMaxNeighbors(method=method).fit(X)
    for ask in (near.expected_recall, near.pairs_plan(0.8).expected_recall):
        with pytest.raises(ValueError, match=sentence("similarity must lie between 0 and 1")):
            ask(wrong, 0.8) if ask == near.expected_recall else ask(wrong)


def test_wrong_input():
    near = MinMaxNeighbors().fit(X)
    for threshold in (0, -0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match=sentence("threshold")):
            near.pairs(threshold)
    with pytest.raises(ValueError, match="n_neighbors <= n_samples_fit"):
        near.kneighbors(X, n_neighbors=len(X) + 1)
    with pytest.raises(ValueError, match="features"):
        near.kneighbors(X[:, :3])
    with pytest.raises(ValueError, match=sentence("needs a radius")):
        near.radius_neighbors(X)
    with pytest.raises(ValueError, match="NaN"):
        near.kneighbors(np.full((1, X.shape[1]), np.nan))
    with pytest.raises(ValueError, match=sentence("use more components")):
        MinMaxNeighbors(method="bands", n_components=16, recall=0.999).fit(X).pairs(0.1)
    with pytest.raises(ValueError, match=sentence("too far from the others")):
        MinMaxNeighbors(p=50).fit(np.array([[1e-100, 1], [1e-10, 1e-9]]))
