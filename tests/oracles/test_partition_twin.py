"""Codes of ferns equal those of the twin, codes of leaves those of scikit-learn's ``apply``."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import SIMD_NAMES, signed_rows, storages
from oracles import fern_twin

from kernelight import Ferns, ForestLeaves
from kernelight.maps.partitions.forest_leaves import FORESTS

SEEDS = (0, 7, 2**64 - 1)


def many_values():
    """Columns of many, few, two and one value, with ties, and of huge and tiny numbers."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 8))
    X[:, 1] = rng.integers(0, 4, 700)
    X[:, 2] = rng.random(700) < 0.05
    X[:, 3] = 2.5
    X[:, 4] = np.round(X[:, 4], 1)
    X[:, 5] *= 10.0 ** rng.integers(-30, 30, 700)
    X[rng.random(X.shape) < 0.2] = 0.0
    X[:, 3] = 2.5
    return X.astype(np.float32).astype(np.float64)


def with_missing(X, seed=5, rate=0.15):
    return np.where(np.random.default_rng(seed).random(X.shape) < rate, np.nan, X)


def odd_rows(X):
    """Training rows, rows between and beyond them, and rows with missing numbers."""
    far = signed_rows(9, 40, X.shape[1], sigma=3.0)
    return np.concatenate([X[:100], 0.5 * (X[:60] + X[60:120]), far, with_missing(X[:70])])


# -- Ferns


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("n_slots", "depth"), [(1, 1), (17, 8), (33, 5), (40, 11), (3, 16)])
def test_ferns(n_slots, depth, seed, simd, monkeypatch):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    X = many_values()
    ferns = Ferns(n_slots, depth=depth, random_state=seed).fit(X)
    rows = odd_rows(X)
    tests = fern_twin.drawn_tests(X, n_slots, depth, seed)
    codes = ferns.encode(rows)
    assert codes.bits == depth
    np.testing.assert_array_equal(codes.array, fern_twin.codes(tests, rows))
    columns, cuts = ferns.tests()
    assert columns.tolist() == [[test[0] for test in of_slot] for of_slot in tests]
    assert cuts.tolist() == [[test[1] for test in of_slot] for of_slot in tests]


@pytest.mark.parametrize("weights", [[0, 1, 0, 5, 0, 0, 0, 0], np.arange(8.0), [1e300] * 8])
def test_ferns_with_weights(weights):
    X = many_values()
    ferns = Ferns(30, depth=6, weights=weights, random_state=2).fit(X)
    tests = fern_twin.drawn_tests(X, 30, 6, 2, weights)
    np.testing.assert_array_equal(ferns.encode(X).array, fern_twin.codes(tests, X))


def test_ferns_learned_with_missing_numbers():
    X = with_missing(many_values())
    X[:, 7] = np.nan
    ferns = Ferns(50, depth=8).fit(X)
    tests = fern_twin.drawn_tests(X, 50, 8, 0)
    np.testing.assert_array_equal(ferns.encode(X).array, fern_twin.codes(tests, X))
    assert 7 not in ferns.columns_


def test_single_precision_rows_are_compared_exactly():
    """Cuts in double between two neighbours in single precision, and beyond its range."""
    low = np.float32(0.1)
    high = np.nextafter(low, np.float32(1))
    between = (float(low) + float(high)) / 2
    X = np.array([[between], [1e300], [-1e300], [between + 1], [1e301]])
    rows = np.array([[low], [high], [3e38], [-3e38]], dtype=np.float32)
    ferns = Ferns(64, depth=4).fit(X)
    twin = fern_twin.codes(fern_twin.drawn_tests(X, 64, 4, 0), rows.astype(np.float64))
    np.testing.assert_array_equal(ferns.encode(rows).array, twin)
    np.testing.assert_array_equal(ferns.encode(rows.astype(np.float64)).array, twin)


def test_ferns_of_any_storage_learn_the_same():
    X = np.array(signed_rows(4, 130, 9, density=0.4, dtype=np.float32), dtype=np.float64)
    wanted = Ferns(40, depth=8).fit(X).encode(X)
    for name, stored in storages(X).items():
        assert Ferns(40, depth=8).fit(stored).encode(stored) == wanted, name


def test_sparse_rows_with_missing_numbers():
    X = with_missing(many_values())
    ferns = Ferns(40, depth=8).fit(X)
    for matrix in (sp.csr_matrix(X), sp.csr_matrix(X.astype(np.float32))):
        np.testing.assert_array_equal(ferns.encode(matrix).array, ferns.encode(X).array)
    again = Ferns(40, depth=8).fit(sp.csr_matrix(X))
    assert again.encode(X) == ferns.encode(X)


def test_columns_beyond_any_array():
    """A width of 2^50: only columns that occur are looked at."""
    width = 1 << 50
    columns = np.array([0, 7, width - 1], dtype=np.int64)
    dense = signed_rows(6, 20, 3)
    wide = sp.csr_array(
        (dense.ravel(), np.tile(columns, 20), np.arange(21, dtype=np.int64) * 3), shape=(20, width)
    )
    ferns = Ferns(16, depth=3).fit(wide)
    assert set(ferns.columns_) == set(columns)
    narrow = Ferns(16, depth=3).fit(dense)
    np.testing.assert_array_equal(ferns.encode(wide).array, narrow.encode(dense).array)


# -- Leaves


def leaf_numbers(forest, X):
    """scikit-learn's leaves, numbered from 0 in each tree in the order of nodes."""
    found = forest.apply(X)
    out = np.empty_like(found)
    for at, estimator in enumerate(forest.estimators_):
        leaves = np.flatnonzero(estimator.tree_.children_left < 0)
        out[:, at] = np.searchsorted(leaves, found[:, at])
    return out


def labels(X, task):
    """A target that depends on several columns."""
    known = np.nan_to_num(X)
    value = np.sign(known[:, 0]) + known[:, 1] + np.tanh(known[:, 4]) * known[:, 6]
    return value if task == "regression" else np.digitize(value, [-0.5, 1.0, 2.5])


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("kind", ["random", "extra"])
def test_leaves_are_those_of_scikit_learn(kind, task, missing):
    X = with_missing(many_values()) if missing else many_values()
    y = labels(X, task)
    made = ForestLeaves(20, max_leaf_nodes=100, forest=kind, random_state=3, n_jobs=1).fit(X, y)
    wanted = made._unfitted(task == "classification").fit(X.astype(np.float32), y)
    assert type(wanted) is FORESTS[kind, task == "classification"]
    rows = odd_rows(X)
    np.testing.assert_array_equal(made.encode(rows).array, leaf_numbers(wanted, rows))
    thin = rows.astype(np.float32)
    np.testing.assert_array_equal(made.encode(thin).array, leaf_numbers(wanted, thin))
    dense = np.where(np.isnan(rows), 0.25, rows)
    np.testing.assert_array_equal(
        made.encode(sp.csr_matrix(dense)).array, leaf_numbers(wanted, dense)
    )
    np.testing.assert_array_equal(
        made.encode(sp.csr_matrix(rows)).array, leaf_numbers(wanted, rows)
    )


def test_rows_at_the_thresholds():
    """Numbers that round to a threshold, from above and from below, in double and in single."""
    X = many_values()
    made = ForestLeaves(10, max_leaf_nodes=64, n_jobs=1).fit(X, labels(X, "regression"))
    forest = made._unfitted(False).fit(X.astype(np.float32), labels(X, "regression"))
    exact = np.concatenate([each.tree_.threshold for each in forest.estimators_])
    rng = np.random.default_rng(0)
    near = rng.choice(exact, (3000, 8))
    for rows in (
        near,
        np.nextafter(near, np.inf),
        near.astype(np.float32),
        np.nextafter(near.astype(np.float32), np.float32(np.inf)),
        np.nextafter(near.astype(np.float32), np.float32(-np.inf)),
        near * (1 + 2.0**-26),
    ):
        np.testing.assert_array_equal(made.encode(rows).array, leaf_numbers(forest, rows))


def test_sparse_training_rows():
    X = sp.csr_matrix(np.array(signed_rows(4, 200, 12, density=0.3, dtype=np.float32)))
    y = np.arange(200) % 3
    made = ForestLeaves(12, max_leaf_nodes=30, n_jobs=1).fit(X, y)
    forest = made._unfitted(True).fit(X, y)
    np.testing.assert_array_equal(made.encode(X).array, leaf_numbers(forest, X))
    np.testing.assert_array_equal(made.encode(X.toarray()).array, leaf_numbers(forest, X))


def test_many_leaves():
    """More than 256: codes of two bytes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = rng.normal(size=3000)
    made = ForestLeaves(5, max_leaf_nodes=1000, n_jobs=1).fit(X, y)
    codes = made.encode(X)
    assert (codes.bits, codes.array.dtype) == (10, np.uint16)
    np.testing.assert_array_equal(
        codes.array, leaf_numbers(made._unfitted(False).fit(X.astype(np.float32), y), X)
    )
