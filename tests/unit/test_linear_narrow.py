"""Narrow dense rows whose columns differ by orders of magnitude, or with a large C: solved in few epochs, with certificate."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

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


@pytest.mark.parametrize("scaled", [True, False], ids=["badly scaled", "plain"])
@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_classifiers_converge(loss, C, scaled):
    X, score = rows(scaled=scaled)
    y = np.where(score > 0, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearClassifier(loss, C=C, tol=1e-4, max_iter=100).fit(X, y)
    found = objective(loss, X, y, C, model.coef_.ravel(), float(model.intercept_[0]))
    other = {
        "logistic": lambda: LogisticRegression(solver="liblinear", C=C, tol=1e-8, max_iter=3000),
        "hinge": lambda: LinearSVC(loss="hinge", C=C, tol=1e-8, max_iter=3000),
    }[loss]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # liblinear may not have converged: then it is above
        other.fit(X, y)
    assert found <= objective(loss, X, y, C, other.coef_.ravel(), float(other.intercept_[0])) * (1 + 1e-4)


@pytest.mark.parametrize("C", [1.0, 10.0])
@pytest.mark.parametrize("scaled", [True, False], ids=["badly scaled", "plain"])
def test_regressions_converge(C, scaled):
    X, y = rows(scaled=scaled)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearRegressor("epsilon_insensitive", C=C, epsilon=0.1, tol=1e-5, max_iter=100).fit(X, y)
        again = LinearRegressor("epsilon_insensitive", C=C, epsilon=0.1, tol=1e-7, max_iter=200).fit(X, y)
    found, least = (
        objective(
            "epsilon_insensitive", X, y, C, made.coef_.ravel(), float(np.ravel(made.intercept_)[0]), 0.1
        )
        for made in (model, again)
    )
    assert least <= found <= least * (1 + 1e-5)


def test_several_classes_weights_and_threads():
    X, score = rows(400)
    y = np.digitize(score, [-0.5, 0.5])
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    for loss in ("logistic", "hinge"):
        made = [
            LinearClassifier(loss, C=10.0, max_iter=100, n_jobs=jobs, class_weight={0: 2.0}).fit(X, y, weight)
            for jobs in (1, 2)
        ]
        np.testing.assert_array_equal(made[0].coef_, made[1].coef_)
        assert made[0].n_iter_ < 100
