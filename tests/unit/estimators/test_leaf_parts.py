"""Contributions of forest leaves, along the path to a leaf: a slow twin, sums, and true effects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine

from kernelight import ForestLeaves, KernelRegressor, LinearClassifier, LinearRegressor
from kernelight.estimators.additive import CodeParts, LeafParts, columns_of
from kernelight.linear.code_scores import Columns


def walked(leaves: ForestLeaves, model: Any, row: Any, n_columns: int) -> tuple[Any, Any]:
    """The parts of columns in the scores of one row, and the worths of roots, node by node."""
    k = leaves.n_estimators
    weights = np.atleast_2d(model.coef_).astype(float).reshape(-1, k, 1 << model.bits_) / np.sqrt(k)
    parts, roots = np.zeros((n_columns, len(weights))), np.zeros(len(weights))
    for tree in range(k):
        nodes = slice(leaves.starts_[tree], leaves.starts_[tree + 1])
        left, right = leaves.left_[nodes], leaves.right_[nodes]
        number = np.cumsum(left < 0) - 1

        def below(node: int, left: Any = left, right: Any = right) -> list[int]:
            if left[node] < 0:
                return [node]
            return below(left[node]) + below(right[node])

        def worth(node: int, tree: int = tree, number: Any = number, below: Any = below) -> Any:
            return np.mean([weights[:, tree, number[leaf]] for leaf in below(node)], axis=0)

        at = 0
        roots += worth(at)
        while left[at] >= 0:
            column = leaves.split_columns_[nodes][at]
            goes_left = np.float32(row[column]) <= leaves.thresholds_[nodes][at]
            child = left[at] if goes_left else right[at]
            parts[column] += worth(child) - worth(at)
            at = child
    return parts, roots


@pytest.mark.parametrize("forest", ["histogram", "random"])
@pytest.mark.parametrize("task", ["classes", "quantities"])
def test_parts_are_those_of_the_walk(forest: str, task: str) -> None:
    X, y = load_wine(return_X_y=True)
    if task == "quantities":
        X, y = np.delete(X, 0, axis=1), X[:, 0]
    leaves = ForestLeaves(8, max_leaf_nodes=12, forest=forest, n_jobs=1).fit(X, y)
    kind = LinearClassifier if task == "classes" else LinearRegressor
    codes = leaves.encode(X)
    model = kind(C=1.0, random_state=0).fit(codes[::2], y[::2])
    parts = LeafParts(leaves, model, Columns(None, X.shape[1], X.shape[1]))
    found = parts.parts(X[:30])
    for at in range(30):
        own, roots = walked(leaves, model, X[at], X.shape[1])
        np.testing.assert_allclose(found.values[at], own, atol=1e-12)
        np.testing.assert_allclose(parts.intercept, model.intercept_ + roots, atol=1e-12)
    scores = model.decision_function(codes[:30]) if task == "classes" else model.predict(codes[:30])
    total = found.values.sum(axis=1) + parts.intercept
    np.testing.assert_allclose(total, scores.reshape(30, -1), rtol=0, atol=1e-5)
    assert (found.errors >= 0).all()
    np.testing.assert_array_equal(parts.values(X[:30]), found.values)


def test_features_of_a_column_have_its_parts() -> None:
    """Two features that belong to one column are one, also in the standard errors."""
    X, y = load_wine(return_X_y=True)
    leaves = ForestLeaves(8, max_leaf_nodes=12).fit(X, y)
    model = LinearClassifier(C=1.0).fit(leaves.encode(X), y)
    column_of = np.arange(13) // 2
    each = LeafParts(leaves, model, Columns(None, 13, 13)).values(X)
    folded = LeafParts(leaves, model, columns_of(13, 13, column_of, 7)).values(X)
    sums = np.zeros((len(X), 7, 3))
    np.add.at(sums, (slice(None), column_of), each)
    np.testing.assert_allclose(folded, sums, atol=1e-12)


def test_a_tree_of_one_leaf_has_no_steps() -> None:
    X, y = np.ones((40, 2)), np.arange(40.0)
    leaves = ForestLeaves(4, task="regression").fit(X, y)
    model = LinearRegressor(C=1.0).fit(leaves.encode(X), y)
    parts = LeafParts(leaves, model, Columns(None, 2, 2))
    np.testing.assert_array_equal(parts.values(X[:3]), 0)
    np.testing.assert_allclose(parts.intercept, model.predict(leaves.encode(X[:1])), rtol=1e-6)


def effects(n: int) -> tuple[Any, Any, Any]:
    """Friedman 1: rows, target, and the true effect of each of the first five columns."""
    rng = np.random.default_rng(0)
    X, grid = rng.random((n, 10)), np.linspace(0, 1, 201)
    one, two = (10 * np.sin(np.pi * X[:, [at]] * grid).mean(axis=1) for at in (0, 1))
    alone = [20 * (X[:, 2] - 0.5) ** 2, 10 * X[:, 3], 5 * X[:, 4]]
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + sum(alone) + rng.standard_normal(n)
    return X, y, np.column_stack([one, two, *alone])


def closeness(values: Any, truth: Any) -> Any:
    return np.array([np.corrcoef(values[:, at], truth[:, at])[0, 1] for at in range(5)])


def test_paths_follow_true_effects_where_even_fractions_do_not() -> None:
    X, y, truth = effects(1400)
    model = KernelRegressor("auto", n_jobs=1).fit(X[:1000], y[:1000])
    member = model.model_.members[-1]
    scaling, own = member.scaled_map.scaling, Columns(None, 10, 10)
    rows, leaves = scaling(X[1000:]), member.scaled_map.feature_map
    along = LeafParts(leaves, member.model, own).values(rows)[..., 0]
    evenly = CodeParts(leaves, member.model, own).values(rows)[..., 0]
    assert closeness(along, truth[1000:]).min() > 0.9
    assert closeness(evenly, truth[1000:]).max() < 0.75
    # of the average with the other members
    assert closeness(model.explain(X[1000:]).values, truth[1000:]).min() > 0.88
