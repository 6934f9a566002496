"""Narrow dense rows with badly scaled columns or a large C: few epochs, and a true certificate."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import xlogy
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC, LinearSVR

from kernelight import LinearClassifier, LinearRegressor


def rows(n=300, d=15, seed=0, scaled=True):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    noise = rng.normal(size=n)
    score = Z @ rng.normal(size=d) / np.sqrt(d) + 0.5 * noise
    return Z * np.logspace(-3, 3, d) if scaled else Z, score


def objective(loss, X, y, C, w, b, epsilon=0.0):
    m = X @ w + b
    errors = {
        "logistic": lambda: np.logaddexp(0.0, -y * m),
        "hinge": lambda: np.maximum(0.0, 1.0 - y * m),
        "epsilon_insensitive": lambda: np.maximum(0.0, np.abs(y - m) - epsilon),
    }
    return 0.5 * (w @ w + b * b) + C * errors[loss]().sum()


def dual_objective(loss, X, y, C, duals, epsilon=0.0):
    """A lower bound of the least objective by weak duality; the duals must be feasible."""
    sizes = np.abs(duals) if loss == "epsilon_insensitive" else y * duals
    assert sizes.min() >= 0
    assert sizes.max() <= C
    w = X.T.astype(np.longdouble) @ duals
    value = -(w @ w + duals.sum(dtype=np.longdouble) ** 2) / 2
    if loss == "logistic":
        return value - (xlogy(sizes, sizes / C) + xlogy(C - sizes, 1 - sizes / C)).sum()
    return (
        value
        + (y * duals).sum(dtype=np.longdouble)
        - epsilon * sizes.sum() * (loss == "epsilon_insensitive")
    )


def liblinear(loss, C):
    options = {"C": C, "tol": 1e-10, "max_iter": 20_000}
    if loss == "logistic":
        return LogisticRegression(solver="liblinear", **options)
    if loss == "hinge":
        return LinearSVC(loss="hinge", **options)
    return LinearSVR(epsilon=0.1, **options)


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("scaled", [True, False], ids=["badly scaled", "plain"])
@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("loss", ["logistic", "hinge", "epsilon_insensitive"])
def test_models_are_as_near_to_the_optimum_as_they_say(loss, C, scaled, tol):
    """The lower bound is computed here from the duals, in more than double precision."""
    X, score = rows(scaled=scaled)
    y = score if loss == "epsilon_insensitive" else np.where(score > 0, 1.0, -1.0)
    cls = LinearRegressor if loss == "epsilon_insensitive" else LinearClassifier
    options = {"epsilon": 0.1} if cls is LinearRegressor else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = cls(loss, C=C, tol=tol, max_iter=100, warm_start=True, **options).fit(X, y)
    w, b = model.coef_.ravel().astype(np.longdouble), float(np.ravel(model.intercept_)[0])
    primal = objective(loss, X, y, C, w, b, 0.1)
    dual = dual_objective(loss, X, y, C, model._duals[:, 0], 0.1)
    assert primal - dual <= tol * primal
    np.testing.assert_allclose(model.objective_[0], float(primal), rtol=1e-12)


@pytest.mark.parametrize("scaled", [True, False], ids=["badly scaled", "plain"])
@pytest.mark.parametrize("C", [0.01, 1.0, 1e4])
@pytest.mark.parametrize("loss", ["logistic", "hinge", "epsilon_insensitive"])
def test_models_are_those_of_liblinear_where_it_converges(loss, C, scaled):
    X, score = rows(scaled=scaled)
    y = score if loss == "epsilon_insensitive" else np.where(score > 0, 1.0, -1.0)
    cls = LinearRegressor if loss == "epsilon_insensitive" else LinearClassifier
    options = {"epsilon": 0.1} if cls is LinearRegressor else {}
    model, other = cls(loss, C=C, tol=1e-8, **options).fit(X, y), liblinear(loss, C)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        other.fit(X, y)
    ours, theirs = (
        float(
            objective(loss, X, y, C, made.coef_.ravel(), float(np.ravel(made.intercept_)[0]), 0.1)
        )
        for made in (model, other)
    )
    assert ours <= theirs * (1 + 1e-7)
    converged = not any(issubclass(each.category, ConvergenceWarning) for each in caught)
    assert converged or scaled or C > 0.01  # on the easiest problem it must
    if converged:
        assert theirs <= ours * (1 + 1e-6)


def test_several_classes_weights_and_threads():
    X, score = rows(400)
    y = np.digitize(score, [-0.5, 0.5])
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    for loss in ("logistic", "hinge"):
        made = [
            LinearClassifier(loss, C=10.0, max_iter=100, n_jobs=jobs, class_weight={0: 2.0}).fit(
                X, y, weight
            )
            for jobs in (1, 2)
        ]
        np.testing.assert_array_equal(made[0].coef_, made[1].coef_)
        assert made[0].n_iter_ < 100
