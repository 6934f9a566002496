"""ForestLeaves: trees as plain arrays, targets of every kind, explanations, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import sentence
from sklearn.ensemble import RandomForestClassifier

from kernelight import Ferns, ForestLeaves, LinearClassifier, LinearRegressor, _core
from kernelight.state import State


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def leaves(**options):
    return ForestLeaves(**({"n_estimators": 12, "max_leaf_nodes": 20, "n_jobs": 1} | options))


def test_bits_are_those_of_the_largest_tree():
    X, y = table()
    for most, bits in ((2, 1), (3, 2), (16, 4), (17, 5)):
        codes = leaves(max_leaf_nodes=most).fit(X, y).encode(X)
        assert codes.bits == bits
        assert codes.array.max() == most - 1
    assert leaves().fit(X, np.zeros(300)).encode(X).bits == 1  # nothing to split


def test_the_kernel_is_the_fraction_of_common_leaves():
    X, y = table()
    made = leaves().fit(X, y)
    codes = made.encode(X[:9])
    np.testing.assert_allclose(made.kernel(X[:9]), codes.collisions() / 12)
    np.testing.assert_allclose(made.kernel(X[:9], X[:2]), codes.collisions(codes[:2]) / 12)
    assert (made.kernel.diag(X[:9]) == 1).all()
    products = made.transform(X[:9]) @ made.transform(X[:9]).T
    np.testing.assert_allclose(products.toarray(), made.kernel(X[:9]), rtol=1e-6)
    with pytest.raises(ValueError, match="learns its partitions from labels"):
        made.expected(X)


# -- Targets


def test_classes_or_quantities():
    X, y = table()
    value = X[:, 0] ** 2
    words = np.where(y, "yes", "no")
    same = leaves().fit(X, y).encode(X)
    for labels in (words, words.astype(object), y.astype(float), y.tolist(), y[:, None], y > 0):
        assert leaves().fit(X, labels).encode(X) == same
    quantities = leaves().fit(X, value).encode(X)
    assert leaves(task="regression").fit(X, value.astype(object)).encode(X) == quantities
    assert leaves(task="regression").fit(X, value[:, None]).encode(X) == quantities
    whole = leaves(task="regression").fit(X, y).encode(X)  # numbers, though they look like classes
    assert whole != same
    several = leaves(task="regression").fit(X, np.column_stack([value, -X[:, 1]])).encode(X)
    assert several.shape == (300, 12)


@pytest.mark.parametrize(
    ("y", "task", "why"),
    [
        (None, "auto", "requires y to be passed, but the target y is None"),
        (np.zeros(299), "auto", "Found inconsistent numbers of samples: X has 300 rows"),
        (np.full(300, np.nan), "auto", "contains NaN or another missing value at row 0"),
        (np.linspace(0, 1, 300), "classification", "Unknown label type: continuous"),
        (["a"] * 300, "regression", "could not convert y to numbers"),
    ],
)
def test_targets_that_are_none(y, task, why):
    with pytest.raises(ValueError, match=sentence(why)):
        leaves(task=task).fit(table()[0], y)


def test_a_linear_model_of_leaves_learns():
    X, y = table(1500)
    made = ForestLeaves(64, n_jobs=1).fit(X[:1000], y[:1000])
    codes = made.encode(X)
    model = LinearClassifier(C=0.1).fit(codes[:1000], y[:1000])
    assert model.score(codes[1000:], y[1000:]) > 0.9
    value = np.where(X[:, 0] > 0, 1.0, -1.0) + X[:, 1]
    codes = ForestLeaves(64, n_jobs=1).fit(X[:1000], value[:1000]).encode(X)
    regressor = LinearRegressor(C=0.1).fit(codes[:1000], value[:1000])
    assert regressor.score(codes[1000:], value[1000:]) > 0.7


def test_importances_are_weights_of_ferns():
    X, y = table()
    made = leaves().fit(X, y)
    assert made.importances_[:2].sum() > 0.6
    assert made.importances_.sum() == pytest.approx(1)
    Ferns(8, weights=np.sqrt(made.importances_)).fit(X)


# -- Explanations


def path_columns(made, tree, leaf):
    """The columns of the splits from the root to a leaf, by walking there."""
    start = made.starts_[tree]
    left, right = (side[start : made.starts_[tree + 1]] for side in (made.left_, made.right_))
    nodes = np.flatnonzero(left < 0)
    at, columns = nodes[leaf], []
    while at != 0:
        at = int(np.flatnonzero((left == at) | (right == at))[0])
        columns.append(made.split_columns_[start + at])
    return columns


def test_fractions_are_those_of_the_path():
    X, y = table()
    made = leaves().fit(X, y)
    fractions, bits = made.column_fractions(), made.encode(X).bits
    assert fractions.shape == (12 << bits, 4)
    for tree in (0, 5, 11):
        for leaf in (0, 3, 19):
            columns = path_columns(made, tree, leaf)
            wanted = np.bincount(columns, minlength=4) / len(columns)
            np.testing.assert_allclose(fractions[[(tree << bits) + leaf]].toarray()[0], wanted)
        assert fractions[(tree << bits) + 20 : (tree + 1) << bits].nnz == 0
    assert leaves().fit(X, np.zeros(300)).column_fractions().nnz == 0


def test_columns_of_slots_are_those_of_the_leaves():
    X, y = table()
    made = leaves().fit(X, y)
    codes = made.encode(X[:20])
    features, starts = made.columns_of_slots(codes)
    assert features.shape == (20, starts[-1])
    for row in (0, 7, 19):
        for tree in (0, 6, 11):
            found = features[row, starts[tree] : starts[tree + 1]]
            wanted = path_columns(made, tree, int(codes.array[row, tree]))
            assert found[found >= 0].tolist() == wanted
    with pytest.raises(ValueError, match="were not made by this ForestLeaves"):
        made.columns_of_slots(leaves(random_state=1).fit(X, y).encode(X))


# -- Rows


def test_numbers_beyond_single_precision():
    X, y = table()
    made = leaves().fit(X, y)
    far = X.copy()
    far[5, 2] = 1e300
    limit = np.where(far > 1e38, np.finfo(np.float32).max, far)
    np.testing.assert_array_equal(made.encode(far).array, made.encode(limit).array)
    with pytest.raises(ValueError, match=sentence(r"X has 1e\+300 at row 5, column 2")):
        leaves().fit(far, y)
    with pytest.raises(ValueError, match=sentence("infinity at row 5, column 2")):
        made.encode(np.where(far > 1e38, np.inf, far))


def test_sparse_training_rows_must_be_complete():
    X, y = table()
    X[3, 1] = np.nan
    leaves().fit(X, y)
    with pytest.raises(ValueError, match=sentence("NaN at row 3, column 1")):
        leaves().fit(sp.csr_matrix(X), y)


def test_another_number_of_trees_is_another_forest():
    X, y = table()
    made = leaves().fit(X, y)
    with pytest.raises(ValueError, match="n_estimators was changed after fit: fit again"):
        made.set_params(n_estimators=5).encode(X)


def test_sizes_are_those_of_scikit_learn():
    X, y = table()
    made = leaves(max_features=2, min_samples_leaf=5).fit(X, y)
    forest = made._unfitted(True)
    assert isinstance(forest, RandomForestClassifier)
    assert (forest.max_features, forest.min_samples_leaf, forest.max_leaf_nodes) == (2, 5, 20)
    for wrong in ({"max_features": 0}, {"max_features": 1.5}, {"max_features": "all"},
                  {"max_leaf_nodes": 1}, {"forest": "dark"}, {"task": "rank"},
                  {"min_samples_leaf": 0}, {"n_estimators": 0}):  # fmt: skip
        with pytest.raises(ValueError, match=sentence(f"{next(iter(wrong))} must be")):
            leaves(**wrong).fit(X, y)


# -- What is refused


def changed(array, at, value):
    out = array.copy()
    out[at] = value
    return out


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("starts_", lambda a: a[:-1]),
        ("starts_", lambda a: a + 1),
        ("starts_", lambda a: changed(a, 1, a[2])),
        ("left_", lambda a: changed(a, 0, 0)),  # a circle
        ("left_", lambda a: changed(a, 0, 10**6)),
        ("left_", lambda a: changed(a, 0, a[1])),
        ("right_", lambda a: changed(a, 0, -1)),
        ("right_", lambda a: changed(a, 0, -7)),
        ("split_columns_", lambda a: changed(a, 0, 4)),
        ("split_columns_", lambda a: changed(a, 0, -1)),
        ("thresholds_", lambda a: changed(a, 0, np.nan)),
        ("thresholds_", lambda a: a.astype(np.float64)),
        ("missing_left_", lambda a: a[:-1]),
        ("missing_left_", lambda a: a.astype(np.uint8)),
        ("importances_", lambda a: -a),
        ("importances_", lambda a: a[:-1]),
    ],
)
def test_states_that_are_no_forest(name, change):
    state = leaves().fit(*table()).to_state()
    arrays = {**state.arrays, name: change(state.arrays[name])}
    with pytest.raises(ValueError, match=sentence("This state does not describe a ForestLeaves")):
        ForestLeaves.from_state(State(state.meta, arrays))


def test_the_core_checks_its_arguments():
    X, _ = table(2000)
    made = leaves(max_leaf_nodes=300).fit(X, np.sin(9 * X[:, 0]))
    forest = made._trees().tables(4)
    X = np.zeros((3, 4))
    with pytest.raises(ValueError, match="codes must be"):
        _core.encode_leaves(forest, X, None, None, 4, np.empty((3, 5), dtype=np.uint16), 1)
    with pytest.raises(ValueError, match="must hold the number of a leaf"):
        _core.encode_leaves(forest, X, None, None, 4, np.empty((3, 12), dtype=np.uint8), 1)
    with pytest.raises(ValueError, match="narrower"):
        _core.encode_leaves(
            forest, X[:, :1].copy(), None, None, 1, np.empty((3, 12), dtype=np.uint16), 1
        )
