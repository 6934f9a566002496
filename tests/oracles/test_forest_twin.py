"""Trees of binned columns equal those of the twin, node for node, whatever the rows are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import forest_twin

from kernelight import ForestLeaves
from kernelight.maps.partitions import histogram_forest

N_ROWS = 120


def rows(seed=0, n_rows=N_ROWS):
    """Columns of many, few, two and one value, of huge and tiny numbers, and two that are equal."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 8))
    X[:, 1] = rng.integers(0, 4, n_rows)
    X[:, 2] = rng.random(n_rows) < 0.1
    X[:, 3] = 2.5
    X[:, 4] = np.round(X[:, 4], 1)
    X[:, 5] *= 10.0 ** rng.integers(-30, 30, n_rows)
    X[:, 6] = np.nextafter(np.float32(1.0), np.float32(2.0), dtype=np.float32)
    X[::3, 6] = 1.0  # neighbours in single precision: no number is between them
    X[:, 7] = X[:, 0]
    return X


def with_missing(X):
    X = np.where(np.random.default_rng(5).random(X.shape) < 0.2, np.nan, X)
    X[:, 1] = np.where(np.isnan(X[:, 1]), np.nan, 3.0)  # one number, or missing
    return X


def targets(X, kind):
    """Targets that depend on several columns, ties included."""
    X = np.nan_to_num(X)
    value = np.sign(X[:, 0]) + X[:, 1] / 2 + np.tanh(X[:, 4]) * X[:, 2] - X[:, 6]
    if kind == "two classes":
        return (value > 0).astype(int)
    if kind == "classes":
        return np.digitize(np.tanh(X[:, 5]) + value, [-2, -1, -0.5, 0.2, 1.0])
    if kind == "quantity":
        return np.round(value, 1) * 1e-3
    return np.column_stack([value, 10 * np.round(X[:, 0], 1) + 1e6, np.sign(X[:, 4])])


def assert_twin(X, y, kind, weights=None, stored=None, **params):
    classes = "classes" in kind
    options = {"max_leaf_nodes": 16, "min_samples_leaf": 1, "max_samples": 10**6} | params
    made = ForestLeaves(
        3,
        forest="histogram",
        task="classification" if classes else "regression",
        random_state=11,
        **options,
    ).fit(X if stored is None else stored, y, sample_weight=weights)
    starts, left, right, columns, thresholds, missing_left, gains = forest_twin.forest(
        X,
        y,
        weights,
        classes,
        n_trees=3,
        n_looked=options.get("max_features", 2),
        max_leaves=options["max_leaf_nodes"],
        min_rows=options["min_samples_leaf"],
        max_samples=options["max_samples"],
        seed=11,
    )
    np.testing.assert_array_equal(made.starts_, starts)
    np.testing.assert_array_equal(made.left_, left)
    np.testing.assert_array_equal(made.right_, right)
    np.testing.assert_array_equal(made.split_columns_, columns)
    np.testing.assert_array_equal(made.thresholds_, np.asarray(thresholds, dtype=np.float32))
    np.testing.assert_array_equal(made.missing_left_, missing_left)
    assert_importances(made, columns, gains)
    return made


def assert_importances(made, columns, gains):
    """scikit-learn's: gains by column, each tree divided by its sum, and the average too."""
    total = np.zeros(made.n_features_in_)
    for begin, end in zip(made.starts_[:-1], made.starts_[1:], strict=True):
        of_tree = np.zeros(made.n_features_in_)
        for column, gain in zip(columns[begin:end], gains[begin:end], strict=True):
            of_tree[column] += gain
        total += of_tree / (of_tree.sum() or 1.0)
    np.testing.assert_allclose(made.importances_, total / total.sum(), rtol=1e-12, atol=1e-15)


KINDS = ("two classes", "classes", "quantity", "quantities")


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
@pytest.mark.parametrize("kind", KINDS)
def test_trees(kind, weighted, missing):
    X = with_missing(rows()) if missing else rows()
    weights = None
    if weighted:
        weights = np.random.default_rng(1).exponential(size=N_ROWS)
        weights[::7] = 0.0
        weights[1] = 1e-9
    made = assert_twin(X, targets(X, kind), kind, weights)
    assert missing or 3 not in made.split_columns_[made.left_ >= 0]  # a constant


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "params",
    [
        {"max_leaf_nodes": 2},
        {"max_leaf_nodes": 1000},
        {"min_samples_leaf": 7},
        {"max_samples": 40, "max_features": 1},
        {"max_features": 8},
    ],
    ids=str,
)
def test_parameters(params, kind):
    X = with_missing(rows(3))
    assert_twin(X, targets(X, kind), kind, **params)


@pytest.mark.parametrize("kind", KINDS)
def test_many_rows(kind):
    """More values than bins, and nodes large enough that every bin is looked at."""
    X = rows(2, 700)[:, [0, 1, 4]]
    X[::11, 0] = np.nan
    assert_twin(X, targets(rows(2, 700), kind), kind, max_leaf_nodes=4, max_features=2)


@pytest.mark.parametrize("kind", KINDS)
def test_storages(kind):
    """Dense in single precision, and sparse rows, with zeros as values and missing numbers."""
    X = with_missing(rows(4))
    X[np.random.default_rng(0).random(X.shape) < 0.5] = 0.0
    X[:, 3] = 0.0
    y = targets(X, kind)
    for stored in (X.astype(np.float32), sp.csr_matrix(X), sp.csc_array(X.astype(np.float32))):
        assert_twin(X, y, kind, stored=stored)


def test_nothing_to_split():
    X = np.ones((5, 2))
    made = ForestLeaves(4, forest="histogram").fit(X, [0, 1, 0, 1, 0])
    assert made.starts_.tolist() == [0, 1, 2, 3, 4]
    assert made.left_.tolist() == [-1] * 4
    assert made.importances_.tolist() == [0.0, 0.0]
    one = ForestLeaves(4, forest="histogram").fit(np.arange(10.0).reshape(5, 2), [3, 3, 3, 3, 3])
    assert one.left_.tolist() == [-1] * 4


def test_rows_go_where_their_bins_do():
    """Every drawn row falls into the leaf that it made, so that leaves of pure classes are pure."""
    rng = np.random.default_rng(0)
    X = (1.0 + rng.integers(0, 900, (3000, 4)) * 2.0**-23).astype(np.float32)  # neighbours
    y = rng.integers(0, 3, 3000)
    made = ForestLeaves(
        8, forest="histogram", max_leaf_nodes=1 << 16, max_features=4, random_state=1
    ).fit(X, y)
    codes = made.encode(X).array
    for tree in range(8):
        key = forest_twin.child(forest_twin.child(forest_twin.stream(1, 21), 8), tree)
        words = forest_twin.child(key, np.arange(3000, dtype=np.uint64))
        drawn = np.unique(((words >> np.uint64(32)) * np.uint64(3000)) >> np.uint64(32)).astype(int)
        leaves = codes[drawn, tree]
        kinds = np.zeros((leaves.max() + 1, 3), dtype=bool)
        kinds[leaves, y[drawn]] = True
        mixed = kinds.sum(axis=1) > 1
        bins = [np.searchsorted(forest_twin.highs_of(X[:, f])[:-1], X[:, f]) for f in range(4)]
        for leaf in np.flatnonzero(mixed):  # rows that no bin tells apart
            inside = drawn[leaves == leaf]
            assert all(len(np.unique(each[inside])) == 1 for each in bins)
        assert len(np.unique(leaves)) == leaves.max() + 1


def test_threads_change_nothing():
    X = with_missing(rows(6, 400))
    y = targets(X, "classes")
    one, three = (ForestLeaves(40, forest="histogram", n_jobs=n).fit(X, y) for n in (1, 3))
    for name in ForestLeaves._learned:
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))


def test_trees_of_one_call_or_of_many(monkeypatch):
    X = rows(6, 300)
    y = targets(X, "quantity")
    made = ForestLeaves(9, forest="histogram", n_jobs=1).fit(X, y)
    monkeypatch.setattr(histogram_forest, "_CALL_WORK", 1)
    again = ForestLeaves(9, forest="histogram", n_jobs=1).fit(X, y)
    for name in ForestLeaves._learned:
        np.testing.assert_array_equal(getattr(again, name), getattr(made, name))


def test_bootstrap_is_fair():
    """Each row is drawn n/n = 1 time on average, with the variance of a binomial: 5 sigma."""
    n_rows, n_trees = 50, 4000
    X = np.arange(n_rows, dtype=np.float64)[:, None]
    made = ForestLeaves(n_trees, forest="histogram", max_leaf_nodes=64, random_state=4).fit(
        X, np.arange(n_rows) + 0.5
    )
    leaves = np.diff(made.starts_) // 2 + 1  # one for each drawn row
    absent = (1 - 1 / n_rows) ** n_rows
    both_absent = (1 - 2 / n_rows) ** n_rows
    variance = n_rows * absent * (1 - absent) + n_rows * (n_rows - 1) * (both_absent - absent**2)
    error = leaves.mean() - n_rows * (1 - absent)
    assert abs(error) < 5 * np.sqrt(variance / n_trees)


def test_columns_are_drawn_alike():
    """The root looks at one column of five, each as often: 5 sigma."""
    n_trees = 3000
    X = np.random.default_rng(0).normal(size=(60, 5))
    made = ForestLeaves(n_trees, forest="histogram", max_leaf_nodes=2, max_features=1).fit(
        X, np.arange(60) % 2
    )
    often = np.bincount(made.split_columns_[made.starts_[:-1]], minlength=5)
    assert (np.abs(often - n_trees / 5) < 5 * np.sqrt(n_trees * 0.2 * 0.8)).all()
