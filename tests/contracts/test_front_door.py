"""The estimators with scikit-learn's tools: its checks (all), searches, pipelines, calibration."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import nightly
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelight import KernelClassifier, KernelRegressor

X, Y = load_iris(return_X_y=True)

CHECKED = [KernelClassifier(n_components=32), KernelRegressor(n_components=32)]
CHECKED_NIGHTLY = [
    KernelRegressor(method="exact"),
    KernelClassifier("rbf", 16, method="aligned", gamma=1.0),
    KernelClassifier(method="exact"),
    KernelClassifier("mm_rbf", 16, loss="logistic", C=1.0),
    KernelRegressor("rbf", 32, loss="epsilon_insensitive", gamma=1.0),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learn(estimator, check):
    check(estimator)


@nightly
@parametrize_with_checks(CHECKED_NIGHTLY)
def test_scikit_learn_with_other_settings(estimator, check):
    check(estimator)


def test_grid_search():
    grid = {"kernel": ["gmm", "acos"], "C": [0.1, 1.0]}
    search = GridSearchCV(KernelClassifier(n_components=32, scale="minmax"), grid, cv=3).fit(X, Y)
    assert search.best_score_ > 0.85
    assert set(search.best_params_) == set(grid)


@pytest.mark.filterwarnings("ignore:The kernel 'gmm' has no gamma:UserWarning")
def test_grid_over_kernels_and_gammas():
    """Kernels without gamma ignore it, so that one grid serves all."""
    grid = {"kernel": ["gmm", "rbf"], "gamma": [0.5, "scale"], "p": [1.0, 0.5]}
    model = KernelClassifier(n_components=32, scale="minmax", C=1.0)
    with pytest.warns(UserWarning, match="'rbf' has no p: p=0.5 is ignored"):
        search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_pipeline_and_cross_validation():
    model = make_pipeline(StandardScaler(), KernelClassifier(n_components=64, scale=None))
    assert cross_val_score(model, X, Y, cv=3).mean() > 0.85


def test_calibration():
    model = CalibratedClassifierCV(
        KernelClassifier(n_components=64, C=1.0, scale="minmax"), cv=3
    ).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.score(X, Y) > 0.85


@pytest.mark.parametrize("cls", [KernelClassifier, KernelRegressor])
def test_a_clone_has_the_parameters_and_nothing_learned(cls):
    model = cls("rbf", 16, gamma=2.0, random_state=3).fit(X, Y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "model_")
    np.testing.assert_array_equal(copy.fit(X, Y).predict(X), model.predict(X))
