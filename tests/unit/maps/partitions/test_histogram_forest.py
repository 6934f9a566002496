"""ForestLeaves(forest="histogram"): a random forest like scikit-learn's, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import sentence

from kernelight import ForestLeaves, LinearClassifier, LinearRegressor, _core
from kernelight.maps.partitions import histogram_forest
from kernelight.state import State


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def leaves(**options):
    standard = {"n_estimators": 12, "max_leaf_nodes": 20, "forest": "histogram", "n_jobs": 1}
    return ForestLeaves(**(standard | options))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_trees_are_distributed_as_those_of_scikit_learn(task):
    """Columns of few values, so that both see the same splits: importances and sizes of trees.

    Means of 12 forests each agree within five standard errors of their difference.
    """
    X, y = table(400)
    X = np.round(X, 1)
    X[:, 3] = np.round(X[:, 3])
    target = y if task == "classification" else X[:, 0] + 0.5 * X[:, 1] ** 2 + X[:, 3]
    found = []
    for forest in ("histogram", "random"):
        made = [
            leaves(
                n_estimators=30, max_leaf_nodes=60, forest=forest, task=task, random_state=seed
            ).fit(X, target)
            for seed in range(12)
        ]
        assert all(each.importances_.sum() == pytest.approx(1) for each in made)
        found.append(np.array([[*each.importances_, each.starts_[-1] / 30] for each in made]))
    ours, theirs = found
    errors = np.sqrt((ours.var(axis=0, ddof=1) + theirs.var(axis=0, ddof=1)) / 12)
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) <= 5 * errors + 1e-12).all()


def test_a_linear_model_of_leaves_learns_as_well():
    X, y = table(3000)
    value = np.where(X[:, 0] > 0, 1.0, -1.0) + X[:, 1]
    for target, model in ((y, LinearClassifier(C=0.1)), (value, LinearRegressor(C=0.1))):
        scores = []
        for forest in ("histogram", "random"):
            made = ForestLeaves(64, forest=forest, n_jobs=1).fit(X[:2000], target[:2000])
            codes = made.encode(X)
            scores.append(model.fit(codes[:2000], target[:2000]).score(codes[2000:], target[2000:]))
        assert scores[0] > scores[1] - 0.02  # two standard errors of an accuracy near 0.95


def test_rows_of_weight_zero_do_not_count():
    X, y = table()
    weight = np.ones(300)
    weight[::3] = 0.0
    kept = weight > 0
    assert leaves().fit(X, y, weight).encode(X) == leaves().fit(X[kept], y[kept]).encode(X)


def test_equal_weights_are_none():
    X, y = table()
    assert leaves().fit(X, y, np.full(300, 0.1)).encode(X) == leaves().fit(X, y).encode(X)


def test_quantities_of_any_size():
    """Units do not matter, nor does where zero is."""
    X, _ = table()
    y = np.round(X[:, 0], 2) + X[:, 1] > 0.3
    value = np.where(y, 1.0, np.round(X[:, 2], 1))
    codes = leaves(task="regression").fit(X, value).encode(X)
    for same in (value * 2.0**900, value * 2.0**-900, np.column_stack([value, value])):
        assert (leaves(task="regression").fit(X, same).encode(X).array == codes.array).all()
    assert leaves(task="regression").fit(X, np.full(300, 7.5)).starts_[-1] == 12


def test_max_samples():
    X, y = table()
    few = leaves(max_samples=10, max_leaf_nodes=256).fit(X, y)
    assert np.diff(few.starts_).max() <= 19
    assert leaves(max_samples=300).fit(X, y).encode(X) == leaves().fit(X, y).encode(X)
    forest = leaves(forest="random", max_samples=10, max_leaf_nodes=256).fit(X, y)
    assert np.diff(forest.starts_).max() <= 19
    for wrong in (0, 1 << 31, 0.5):
        with pytest.raises((ValueError, TypeError), match=sentence("max_samples must be")):
            leaves(max_samples=wrong).fit(X, y)


def test_columns_of_a_split():
    for given, wanted in (("sqrt", 3), ("log2", 3), (0.5, 7), (1e-9, 1), (4, 4), (99, 15)):
        assert histogram_forest.columns_looked_at(given, 15) == wanted


def test_state_and_states_without_max_samples():
    X, y = table()
    made = leaves().fit(X, y)
    state = made.to_state()
    assert ForestLeaves.from_state(state).encode(X) == made.encode(X)
    older = {**state.meta, "params": {**state.meta["params"]}}
    del older["params"]["max_samples"]
    assert ForestLeaves.from_state(State(older, state.arrays)).encode(X) == made.encode(X)


# -- What is refused


def test_more_bytes_than_are_held(monkeypatch):
    X, y = table()
    monkeypatch.setattr(histogram_forest, "MAX_BINNED", 1199)
    why = "forest='histogram' holds a byte for each of 300 rows and 4 columns that vary"
    for stored in (X, sp.csr_matrix(X)):
        with pytest.raises(ValueError, match=sentence(why)):
            leaves().fit(stored, y)
    monkeypatch.setattr(histogram_forest, "MAX_BINNED", 1200)
    leaves().fit(X, y)


def test_numbers_beyond_single_precision():
    X, y = table()
    X[5, 2] = 1e300
    for stored in (X, sp.csr_matrix(X)):
        with pytest.raises(ValueError, match=sentence(r"X has 1e\+300 at row 5, column 2")):
            leaves().fit(stored, y)


def core_arguments():
    """Arguments with which the core grows two trees of three rows and one column."""
    shapes = {"left": np.int32, "right": np.int32, "column": np.int64, "threshold": np.float32,
              "missing_left": np.bool_, "gain": np.float64}  # fmt: skip
    return {
        "bins": np.array([[0, 1, 255]], dtype=np.uint8),
        "first": np.array([0, 2]),
        "lows": np.array([0, 1], dtype=np.float32),
        "highs": np.array([0, np.inf], dtype=np.float32),
        "weights": np.ones(3, dtype=np.uint32),
        "labels": np.array([0, 1, 0], dtype=np.int32),
        "values": None,
        "seed": 0, "n_trees": 2,
        "n_draws": 3, "n_looked": 1, "max_leaves": 4, "min_rows": 1, "first_tree": 0,
        **{name: np.empty((2, 5), dtype=dtype) for name, dtype in shapes.items()},
        "sizes": np.empty(2, dtype=np.int32),
        "threads": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"bins": np.array([[0, 2, 255]], dtype=np.uint8)}, "bins must be those of the columns"),
        ({"first": np.array([0, 3])}, "bins must be those of the columns"),
        ({"highs": np.zeros(2, dtype=np.float32)}, "bins must be those of the columns"),
        ({"lows": np.zeros(3, dtype=np.float32)}, "bins must be those of the columns"),
        ({"bins": np.empty((1, 0), dtype=np.uint8)}, "there must be columns"),
        ({"weights": np.ones(2, dtype=np.uint32)}, "a weight for each row"),
        ({"weights": np.array([0, 1, 1], dtype=np.uint32)}, "weights must be at least 1"),
        ({"weights": np.full(3, 1 << 30, dtype=np.uint32)}, "below 2\\^31 together"),
        ({"labels": np.array([0, -1, 0], dtype=np.int32)}, "labels must be"),
        ({"labels": np.zeros(2, dtype=np.int32)}, "a label for each row"),
        ({"labels": None}, "labels or values"),
        ({"labels": None, "values": np.full((3, 1), 0.5)}, "values must be integers"),
        ({"labels": None, "values": np.full((3, 1), 2.0**53)}, "values must be integers"),
        ({"labels": None, "values": np.full((3, 1), np.nan)}, "values must be integers"),
        ({"labels": None, "values": np.ones((2, 1))}, "values must be \\(rows, targets\\)"),
        ({"n_draws": 0}, "must be positive"),
        ({"min_rows": 0}, "must be positive"),
        ({"first_tree": -1}, "must be positive"),
        ({"gain": np.empty((2, 4))}, "room for every leaf"),
        ({"sizes": np.empty(3, dtype=np.int32)}, "room for every leaf"),
    ],
)
def test_the_core_checks_what_it_grows_from(change, why):
    arguments = core_arguments()
    _core.grow_forest(**arguments)
    assert (arguments["sizes"] >= 1).all()
    with pytest.raises(ValueError, match=why):
        _core.grow_forest(**(arguments | change))


def test_the_core_checks_what_it_bins():
    X = np.zeros((3, 2))
    first, highs = np.array([0, 1]), np.array([np.inf], dtype=np.float32)
    bins, lows = np.empty((1, 3), dtype=np.uint8), np.empty(1, dtype=np.float32)

    def run(columns, first=first, highs=highs, bins=bins, lows=lows):
        _core.bin_columns(X, None, None, 2, np.array(columns), first, highs, bins, lows, 1)

    run([1])
    with pytest.raises(ValueError, match="outside the matrix"):
        run([2])
    with pytest.raises(ValueError, match="one more than columns"):
        run([0, 1])
    with pytest.raises(ValueError, match="1 to 255 bins"):
        run([1], first=np.array([0, 2]))
    with pytest.raises(ValueError, match="bins must be"):
        run([1], bins=np.empty((2, 3), dtype=np.uint8))
    with pytest.raises(ValueError, match="lows as many"):
        run([1], lows=np.empty(2, dtype=np.float32))
