"""A scoring that does not fit the target is refused in one sentence that names one that does."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import make_scorer, mean_absolute_error, roc_auc_score

from kernelight import KernelClassifier, KernelRegressor

RNG = np.random.default_rng(0)
X = RNG.random((300, 3))


def few_positives(count: int) -> np.ndarray:
    y = np.zeros(300, dtype=int)
    y[np.argsort(-X[:, 0])[:count]] = 1
    return y


@pytest.mark.parametrize(
    "scoring",
    [
        "roc_auc",
        "accuracy",
        "f1",
        "neg_log_loss",
        "rand_score",
        "positive_likelihood_ratio",
        make_scorer(roc_auc_score, response_method="predict_proba"),
    ],
)
def test_a_scoring_of_classes_is_refused_for_quantities(scoring: object) -> None:
    with pytest.raises(ValueError, match=r"is for classes, .* use .*'r2'"):
        KernelRegressor(n_components=16, scoring=scoring).fit(X, X[:, 0])


def test_a_scoring_of_quantities_is_refused_for_classes() -> None:
    y = few_positives(100)
    with pytest.raises(ValueError, match=r"'r2' is for quantities, .* use .*'balanced_accuracy'"):
        KernelClassifier(n_components=16, scoring="r2").fit(X, y)
    ordered = make_scorer(mean_absolute_error, greater_is_better=False)
    assert (
        KernelClassifier(n_components=16, scale="minmax", scoring=ordered)
        .fit(X, y)
        .validation_score_
        <= 0
    )


@pytest.mark.parametrize(
    ("scoring", "instead"),
    [
        ("roc_auc", "roc_auc_ovr"),
        ("f1", "f1_macro"),
        ("precision", "precision_macro"),
        ("recall", "recall_macro"),
        ("jaccard", "jaccard_macro"),
        ("positive_likelihood_ratio", "balanced_accuracy"),
    ],
)
def test_a_scoring_of_two_classes_names_one_of_many(scoring: str, instead: str) -> None:
    y = few_positives(100) + few_positives(40)
    model = KernelClassifier(n_components=16, scale="minmax", scoring=scoring)
    with pytest.raises(ValueError, match=f"two classes, but y has 3: use scoring='{instead}'"):
        model.fit(X, y)
    assert model.set_params(scoring=instead).fit(X, y).validation_score_ > 0


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_class_too_small_to_be_held_out_is_named() -> None:
    y = few_positives(3)
    model = KernelClassifier(n_components=16, scale="minmax", scoring="roc_auc")
    with pytest.raises(ValueError, match=r"class 1 has 3 of 300 rows, too few .* use cv=3"):
        model.fit(X, y)
    assert model.set_params(cv=3).fit(X, y).validation_score_ > 0.5
    with pytest.raises(
        ValueError, match=r"cv must hold out rows of every class .* without class 1"
    ):
        model.set_params(cv=[(np.arange(300), np.flatnonzero(y == 0))]).fit(X, y)
    with pytest.raises(ValueError, match="class 2 has 3 of 300 rows"):
        model.set_params(cv=None, scoring="roc_auc_ovr").fit(X, y + few_positives(100))


@pytest.mark.parametrize("rows", [300, 3_000])
def test_a_score_is_measured_where_nothing_is_tuned(rows: int) -> None:
    """Rows are held out for probabilities and intervals, so their score is known."""
    X = np.random.default_rng(1).random((rows, 3))
    given = {"n_components": 64, "C": 1.0, "scale": "minmax"}
    held = "5 splits, 300 rows held out in all" if rows == 300 else "600 rows held out"
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    for scoring, name in ((None, "accuracy"), ("roc_auc", "roc_auc")):
        model = KernelClassifier(**given, scoring=scoring).fit(X, y)
        assert 0.9 < model.validation_score_ <= 1
        assert f"{name} {model.validation_score_:.3f} on {held}" in model.summary()
        assert "the best of" not in model.summary()
        again = KernelClassifier.from_state(model.to_state())
        assert again.summary() == model.summary()
    quantities = KernelRegressor(**given).fit(X, X[:, 0] * X[:, 1])
    assert f"R^2 {quantities.validation_score_:.3f} on {held}" in quantities.summary()
    assert quantities.search_ == []


def test_a_score_that_is_not_defined_is_not_measured() -> None:
    """Two rows of the positive class are too few to be held out; the model is made all the same."""
    model = KernelClassifier(n_components=16, C=1.0, scale="minmax", scoring="roc_auc")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, few_positives(2))
    assert model.validation_score_ is None
    assert "not measured" in model.summary()
    assert model.predict_proba(X).shape == (300, 2)
