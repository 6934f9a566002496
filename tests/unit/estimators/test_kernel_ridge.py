"""Kernel ridge regression: duals and leave-one-out scores against slow twins, and its models."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers import circles
from sklearn.datasets import load_iris
from sklearn.kernel_ridge import KernelRidge
from threadpoolctl import threadpool_info

import kernelight
from kernelight import KernelClassifier, KernelRegressor, LinearRegressor, kernels
from kernelight.estimators import kernel_ridge, route_choice

IRIS = load_iris(return_X_y=True)


def problem(n_rows: int = 40, dtype: str = "float32") -> tuple[np.ndarray, ...]:
    """A Gram matrix, two columns of targets, and costs."""
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, 5)).astype(dtype)
    return kernels.GMM()(X), rng.standard_normal((n_rows, 2)), rng.uniform(0.1, 30.0, n_rows)


def slow_duals(gram: np.ndarray, targets: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """The linear system, in double precision."""
    return np.linalg.solve(gram.astype(float) + 1 + np.diag(0.5 / cost), targets)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("factor", [1.0, 1e4, 1e8])
def test_duals_are_the_solution(dtype, factor):
    gram, targets, cost = problem(dtype=dtype)
    wanted = slow_duals(gram, targets, factor * cost)
    got = kernel_ridge.duals(gram, targets, factor * cost)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8 * np.abs(wanted).max())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_row_left_out_is_scored_by_the_model_of_the_others(dtype):
    gram, targets, cost = problem(dtype=dtype)
    duals, scores = kernel_ridge.duals_and_leave_one_out(gram, targets, cost)
    np.testing.assert_allclose(duals, slow_duals(gram, targets, cost), rtol=1e-5, atol=1e-7)
    for row in range(len(gram)):
        others = np.flatnonzero(np.arange(len(gram)) != row)
        alone = slow_duals(gram[np.ix_(others, others)], targets[others], cost[others])
        wanted = (gram[row, others] + 1) @ alone
        np.testing.assert_allclose(scores[row], wanted, atol=2e-4)
        split = others, np.array([row])
        held = kernel_ridge.held_out(gram, targets, cost, *split)
        np.testing.assert_allclose(held[0], wanted, atol=2e-4)
    np.testing.assert_allclose(kernel_ridge.leave_one_out(gram, targets, cost), scores, atol=2e-4)


def test_what_is_no_kernel_is_refused():
    gram = -np.eye(5, dtype=np.float32)
    with pytest.raises(ValueError, match="not positive definite"):
        kernel_ridge.duals(gram, np.ones((5, 1)), np.full(5, 1e6))


def test_it_is_the_ridge_regression_of_scikit_learn():
    X, y = circles(200)
    ours = KernelRegressor(method="ridge", C=5.0, scale=None).fit(X, y)
    away = (y - y.mean()) / y.std()
    theirs = KernelRidge(alpha=0.1, kernel="precomputed").fit(kernels.GMM()(X) + 1, away)
    wanted = theirs.predict(kernels.GMM()(X) + 1) * y.std() + y.mean()
    np.testing.assert_allclose(ours.predict(X), wanted, atol=1e-6)


def test_it_is_where_linear_models_on_more_and_more_codes_lead():
    X, y = circles(200)
    exact = KernelRegressor(method="ridge", C=5.0, scale=None).fit(X, y).predict(X)
    errors = [
        np.abs(
            KernelRegressor(n_components=k, bits=16, C=5.0, scale=None).fit(X, y).predict(X) - exact
        ).mean()
        for k in (64, 4096)
    ]
    assert errors[1] < 0.25 * errors[0]
    features = np.linalg.cholesky(kernels.GMM()(X).astype(float) + 1e-9 * np.eye(200))
    away = (y - y.mean()) / y.std()
    linear = LinearRegressor(C=5.0, tol=1e-8).fit(features, away).predict(features)
    np.testing.assert_allclose(exact, linear * y.std() + y.mean(), atol=1e-3)


# -- When it is taken ------------------------------------------------------------------------------


def test_few_rows_take_the_exact_kernel_unless_a_map_was_asked_for(monkeypatch):
    X, y = circles(300)
    model = KernelClassifier().fit(X, y)
    assert model.map_ is None
    assert "the exact kernel, ridge regression" in model.summary()
    assert "300 support rows, 1 score, " in model.summary()
    assert model.held_out_ == "300 rows, each left out by itself"
    for params in ({"n_components": 64}, {"bits": 4}, {"method": "gcws"}, {"loss": "logistic"}):
        assert KernelClassifier(C=1.0, scale=None, **params).fit(X, y).map_ is not None
    monkeypatch.setattr(route_choice, "RIDGE_ROWS", 299)
    assert KernelClassifier(C=1.0, scale=None).fit(X, y).map_ is not None
    assert KernelClassifier("rbf", method="ridge", C=1.0, scale=None).fit(X, y).map_ is None


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"method": "ridge", "loss": "logistic"}, "method='ridge' has the squared loss"),
        ({"method": "ridgy"}, "'ridge', 'exact', got 'ridgy'"),
    ],
)
def test_wrong_parameters(params, sentence):
    with pytest.raises(ValueError, match=sentence):
        KernelClassifier(**params).fit(*IRIS)


def test_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr("kernelight.estimators.exact_svm.MAX_ROWS", 100)
    with pytest.raises(ValueError, match="method='ridge' compares every row"):
        KernelClassifier(method="ridge").fit(*IRIS)


# -- What it can do --------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [np.asarray, sp.csr_matrix, pd.DataFrame])
def test_rows_of_any_form(given):
    X, y = IRIS
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = KernelClassifier().fit(given(X), names)
    assert model.map_ is None
    assert model.score(given(X), names) > 0.9
    probabilities = model.predict_proba(given(X))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(given(X))).all()


def test_weights_are_repetitions():
    X, y = circles(150, classes=3)
    weight = np.random.default_rng(0).integers(1, 4, 150)
    params = {"method": "ridge", "C": 2.0, "scale": None}
    weighted = KernelClassifier(**params).fit(X, y, sample_weight=weight)
    repeated = KernelClassifier(**params).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )
    by_class = KernelClassifier(**params, class_weight={0: 3.0, 1: 1.0, 2: 1.0}).fit(X, y)
    same = KernelClassifier(**params).fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    np.testing.assert_allclose(by_class.decision_function(X), same.decision_function(X), atol=1e-6)


def test_a_class_without_weight_is_known_and_never_predicted():
    X, y = circles(150, classes=3)
    weight = (y != 2).astype(float)
    model = KernelClassifier(method="ridge", C=2.0, scale=None).fit(X, y, sample_weight=weight)
    assert model.classes_.tolist() == [0, 1, 2]
    assert set(model.predict(X)) <= {0, 1}
    assert model.predict_proba(X)[:, 2].max() < 1e-6


def test_intervals_hold_what_they_promise():
    rng = np.random.default_rng(0)
    X = rng.random((900, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(900)
    model = KernelRegressor().fit(X[:300], y[:300])
    assert model.map_ is None
    low, high = model.predict_interval(X[300:], coverage=0.8)
    inside = np.mean((low <= y[300:]) & (y[300:] <= high))
    assert abs(inside - 0.8) < 5 * np.sqrt(0.16 / 600 + 0.16 / 300)


def test_several_targets():
    X, y = circles(200)
    both = np.column_stack([y, np.hypot(*X.T)])
    model = KernelRegressor().fit(X, both)
    assert model.map_ is None
    assert model.score(X, both) > 0.8
    assert model.to_codes(512).score(X, both) > 0.7


@pytest.mark.parametrize("kind", ["classes", "quantities", "weighted", "sparse"])
def test_states(tmp_path, kind):
    X, y = circles(200, classes=3)
    weight = np.linspace(1.0, 2.0, 200) if kind == "weighted" else None
    rows = sp.csr_matrix(X) if kind == "sparse" else X
    cls = KernelRegressor if kind == "quantities" else KernelClassifier
    model = cls().fit(rows, y, sample_weight=weight)
    model.save(tmp_path / "model.kl")
    again = kernelight.load(tmp_path / "model.kl")
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert again.summary() == model.summary()
    np.testing.assert_array_equal(
        again.to_codes(64).predict(rows), model.to_codes(64).predict(rows)
    )


@pytest.mark.parametrize(
    ("name", "array", "sentence"),
    [
        ("support.target", np.zeros(7, dtype=np.int64), "targets of support rows"),
        ("support.target", np.full(150, 3), "targets of support rows"),
        ("support.target", np.zeros(150), "targets of support rows"),
        ("support.weight", np.zeros(150), "weights of support rows must be above 0"),
    ],
)
def test_states_that_are_wrong_are_refused(name, array, sentence):
    state = KernelClassifier().fit(*IRIS).to_state()
    state = type(state)(state.meta, dict(state.arrays) | {name: array})
    with pytest.raises(ValueError, match=sentence):
        KernelClassifier.from_state(state)


# -- From the exact kernel to codes ----------------------------------------------------------------


def test_a_model_becomes_one_of_codes():
    X, y = circles(400)
    exact = KernelClassifier().fit(X[:300], y[:300])
    codes = exact.to_codes(512)
    assert exact.map_ is None
    assert codes.map_.n_components == 512
    assert (codes.scale_, codes.kernel_) == (exact.scale_, exact.kernel_)
    assert codes.score(X[300:], y[300:]) > exact.score(X[300:], y[300:]) - 0.05
    assert codes.predict_proba(X).shape == (400, 2)
    assert codes.get_params()["n_components"] == 512
    assert codes.to_codes(512) is codes
    fitted = KernelClassifier(n_components=512, scale=exact.scale_, C=codes.C_)
    wanted = fitted.fit(X[:300], y[:300])
    np.testing.assert_allclose(codes.decision_function(X), wanted.decision_function(X), atol=1e-6)


def test_a_class_without_weight_cannot_become_codes():
    X, y = circles(150, classes=3)
    model = KernelClassifier().fit(X, y, sample_weight=(y != 0).astype(float))
    with pytest.raises(ValueError, match="a class has no rows of a weight above 0"):
        model.to_codes(16)


@pytest.mark.parametrize("params", [{}, {"n_components": 32}, {"method": "exact"}])
def test_weights_of_zero_and_tiny_ones(params):
    """Without a warning of NumPy's: tests make it an error."""
    X, y = circles(200)
    assert set(KernelClassifier(class_weight={0: 0.0, 1: 1.0}, **params).fit(X, y).predict(X)) == {
        1
    }
    decaying = np.exp(-0.25 * np.arange(200))
    assert KernelClassifier(**params).fit(X, y, sample_weight=decaying).score(X, y) > 0.5


def test_rows_that_weights_repeat_count_for_the_limit():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (900, 4)).astype(float), rng.integers(0, 2, 900)
    few = KernelClassifier(scale=None, C=1.0).fit(X, y, sample_weight=np.full(900, 2.0))
    many = KernelClassifier(scale=None, C=1.0).fit(X, y, sample_weight=np.full(900, 4.0))
    assert few.map_ is None
    assert many.map_ is not None


def test_splits_are_never_replaced_by_single_rows():
    X, y = circles(200)
    one_class = np.flatnonzero(y == 0)[:50]
    rest = np.setdiff1d(np.arange(200), one_class)
    with pytest.raises(ValueError, match="train on rows of at least two classes"):
        KernelClassifier(cv=[(one_class, rest)]).fit(X, y)


def test_what_becomes_of_the_parameters_in_to_codes():
    X, y = circles(200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codes = KernelClassifier("rbf", gamma=0.5).fit(X, y).to_codes(32)
    assert codes.gamma == 0.5
    with pytest.raises(TypeError, match="n_components must be a whole number"):
        KernelClassifier().fit(X, y).to_codes(None)
    model = KernelClassifier().fit(X, y).partial_fit(X, y)
    assert model.n_components is None
    assert model.map_.n_components == 1024


def test_fits_in_threads_leave_the_threads_of_blas_alone():
    X, y = circles(300)
    before = [pool["num_threads"] for pool in threadpool_info()]
    threads = [threading.Thread(target=KernelClassifier().fit, args=(X, y)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_an_svm_cannot_become_one_of_codes():
    svm = KernelClassifier(method="exact", C=1.0, scale=None).fit(*IRIS)
    with pytest.raises(ValueError, match="keeps its support rows only"):
        svm.to_codes()


def test_more_rows_may_come_later():
    X, y = circles(900)
    model = KernelClassifier().fit(X[:300], y[:300])
    assert model.map_ is None
    model.partial_fit(X[300:600], y[300:600])
    assert model.map_ is not None
    assert model.n_rows_ == 600
    assert model.score(X[600:], y[600:]) > 0.85
    first = KernelClassifier().partial_fit(X[:300], y[:300])
    assert first.map_ is not None
