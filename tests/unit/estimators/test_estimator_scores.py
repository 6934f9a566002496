"""Probabilities and intervals from held-out rows, scorings of the search, and several targets."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers import circles
from sklearn.datasets import load_iris
from sklearn.metrics import average_precision_score, log_loss, make_scorer, mean_absolute_error

import kernelight
from kernelight import KernelClassifier, KernelRegressor, State
from kernelight.estimators.calibration import ConformalErrors, calibrated

IRIS = load_iris(return_X_y=True)


def noisy_circles(n_rows, classes=2, seed=0):
    """Classes that overlap: a fifth of the labels are drawn anew."""
    X, y = circles(n_rows, classes=classes)
    rng = np.random.default_rng(seed)
    return X, np.where(rng.random(n_rows) < 0.2, rng.integers(0, classes, n_rows), y)


# -- Probabilities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "hinge"},
        {"method": "exact"},
        {"C": 1.0, "scale": "minmax"},
        {"kernel": "rbf", "method": "aligned", "gamma": 1.0, "C": 1.0, "scale": None},
    ],
    ids=["tuned", "hinge", "exact", "given", "aligned"],
)
def test_probabilities_are_calibrated_on_fresh_rows(classes, params):
    """Probabilities match the accuracy, and the log loss is far below that of guessing."""
    X, y = noisy_circles(1600, classes)
    model = KernelClassifier(n_components=64, **params).fit(X[:400], y[:400])
    P, truth = model.predict_proba(X[400:]), y[400:]
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X[400:]))
    top = P.max(axis=1)
    right = P.argmax(axis=1) == truth
    assert abs(top.mean() - right.mean()) < 0.08
    assert log_loss(truth, P) < 0.9 * np.log(classes)


def test_probabilities_without_anything_to_tune_or_to_hold_out():
    X, y = IRIS
    for rows in (np.arange(0, 150, 2), np.arange(0, 150, 25)):
        model = KernelClassifier(n_components=32).fit(X[rows], y[rows])
        assert model.search_ == []
        P = model.predict_proba(X)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))


def test_probabilities_cost_no_fit_of_their_own(monkeypatch):
    fits = []
    fit_path = kernelight.LinearClassifier.fit_path
    monkeypatch.setattr(
        kernelight.LinearClassifier,
        "fit_path",
        lambda self, X, *args, **kwargs: (
            fits.append(X.shape[0]) or fit_path(self, X, *args, **kwargs)
        ),
    )
    X, y = noisy_circles(2500)
    KernelClassifier(n_components=16, scale="minmax").fit(X, y)
    assert len(fits) == 1


def test_probabilities_in_files(tmp_path):
    X, y = noisy_circles(300, 3)
    model = KernelClassifier(n_components=16, scale="minmax", scoring="neg_log_loss").fit(X, y)
    model.save(tmp_path / "model.kl")
    again = kernelight.load(tmp_path / "model.kl")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(
        np.exp(again.predict_log_proba(X)).round(9), model.predict_proba(X).round(9)
    )
    assert again.scoring == "neg_log_loss"

    state = model.to_state()
    meta = state.meta
    del meta["calibration"], meta["params"]["scoring"]  # as files of before are
    old = KernelClassifier.from_state(State(meta, dict(state.arrays)))
    np.testing.assert_array_equal(old.predict(X), model.predict(X))
    assert not hasattr(old, "predict_proba")
    for wrong in ([1.0], [-1.0, 0.0], "steep", [1.0, None]):
        meta = model.to_state().meta | {"calibration": wrong}
        with pytest.raises(ValueError, match="does not describe a KernelClassifier"):
            KernelClassifier.from_state(State(meta, dict(state.arrays)))


def test_batches_keep_the_calibration():
    X, y = noisy_circles(600)
    model = KernelClassifier(n_components=16, scale="minmax").fit(X[:300], y[:300])
    before = model.calibration_
    assert model.partial_fit(X[300:], y[300:]).calibration_ == before


def test_a_calibration_finds_the_slope_that_made_the_labels():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000)
    labels = (rng.random(20_000) < 1 / (1 + np.exp(-3 * scores))).astype(int)
    calibration = calibrated(scores[:, None], labels, None)
    np.testing.assert_allclose([calibration.first, calibration.second], 3, rtol=0.1)


# -- What is tuned ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scoring",
    [
        "balanced_accuracy",
        "roc_auc",
        "average_precision",
        "neg_log_loss",
        "f1",
        "f1_macro",
        "neg_brier_score",
    ],
)
def test_scorings_of_classes(scoring):
    X, y = noisy_circles(300)
    model = KernelClassifier(n_components=16, scale="minmax", scoring=scoring).fit(
        X, np.array(["no", "yes"])[y]
    )
    assert np.isfinite(model.validation_score_)
    assert scoring in model.summary()


@pytest.mark.parametrize(
    "scoring", ["neg_mean_absolute_error", "neg_root_mean_squared_error", "r2", "neg_max_error"]
)
def test_scorings_of_quantities(scoring):
    """Errors are in the units of the target."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = 1000 * (X[:, 0] + 0.1 * rng.standard_normal(300))
    weight = rng.random(300)
    model = KernelRegressor(n_components=16, scale="minmax", scoring=scoring).fit(X, y, weight)
    assert model.validation_score_ < 1
    assert scoring == "r2" or -1000 < model.validation_score_ < -50


def test_accuracy_by_name_is_the_default():
    X, y = noisy_circles(300)
    plain, named = (
        KernelClassifier(n_components=16, scoring=each).fit(X, y) for each in (None, "accuracy")
    )
    assert plain.search_ == named.search_


def test_a_scorer_sees_the_rows_held_out():
    X, y = noisy_circles(300)
    labels = np.array(["no", "yes"])[y]
    held = np.arange(200, 300)
    own = make_scorer(average_precision_score, response_method="decision_function", pos_label="no")
    seen = []

    def counted(estimator, rows, truth):
        seen.append(len(truth))
        assert set(truth) == {"no", "yes"}
        return float(np.mean(estimator.predict(rows) == truth))

    for scoring in (own, counted):
        model = KernelClassifier(
            n_components=16, scale="minmax", cv=[(np.arange(200), held)], scoring=scoring
        ).fit(X, labels)
        assert 0.4 < model.validation_score_ <= 1
        assert model.to_state().meta["params"]["scoring"] is None
    assert set(seen) == {100}
    mae = make_scorer(mean_absolute_error, greater_is_better=False)
    assert (
        KernelRegressor(n_components=16, scale="minmax", scoring=mae).fit(X, y).validation_score_
        < 0
    )


def test_weights_count_among_rows_held_out():
    """Rows whose labels are wrong but weigh next to nothing hardly lower the score."""
    X, y = circles(400)
    wrong = np.random.default_rng(0).random(400) < 0.3
    noisy = np.where(wrong, 1 - y, y)
    model = KernelClassifier(n_components=64, scale="minmax")
    plain = model.fit(X, noisy).validation_score_
    assert model.fit(X, noisy, np.where(wrong, 1e-6, 1.0)).validation_score_ > max(0.9, plain + 0.1)


@pytest.mark.parametrize(
    ("scoring", "sentence"),
    [
        ("acuracy", "is no scorer of scikit-learn's: did you mean scoring='accuracy'?"),
        (3, "got int"),
    ],
)
def test_unknown_scorings(scoring, sentence):
    for model in (KernelClassifier(scoring=scoring), KernelRegressor(scoring=scoring)):
        with pytest.raises((ValueError, TypeError), match=sentence):
            model.fit(*IRIS)


def test_a_rare_class_is_warned_of():
    X = circles(300)[0]
    rare = np.where(np.arange(300) < 10, 1, 0)
    model = KernelClassifier(n_components=16, scale="minmax")
    with pytest.warns(
        UserWarning, match=r"The class 1 has 3.3 % of the rows and hardly counts in the accuracy"
    ):
        model.fit(X, rare)
    for quiet in ({"scoring": "average_precision"}, {"class_weight": "balanced"}, {"C": 1.0}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            KernelClassifier(n_components=16, **{"scale": "minmax"} | quiet).fit(X, rare)


# -- Intervals -------------------------------------------------------------------------------------


def waves(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 2))
    return X, 100 + 10 * (np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(n_rows))


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.98])
@pytest.mark.parametrize("params", [{}, {"C": 1.0, "scale": "minmax"}], ids=["tuned", "given"])
def test_intervals_cover(coverage, params):
    """At least the coverage, at five standard deviations of n held-out and m fresh rows."""
    X, y = waves(6000)
    n, m = 1000, 5000
    low, high = (
        KernelRegressor(n_components=64, **params)
        .fit(X[:n], y[:n])
        .predict_interval(X[n:], coverage)
    )
    inside = np.mean((low <= y[n:]) & (y[n:] <= high))
    sigma = np.sqrt(coverage * (1 - coverage) * (1 / n + 1 / m))
    # models of the search see fewer rows
    assert coverage - 5 * sigma < inside < coverage + 5 * sigma + 0.03


def test_conformal_quantiles():
    errors = ConformalErrors.of(np.arange(1.0, 10.0)[:, None], None)
    assert errors.half_width(0.9)[0] == 9
    assert errors.half_width(0.5)[0] == 5
    with pytest.raises(
        ValueError, match=r"coverage=0.95 needs at least 19 rows held out, and there were 9"
    ):
        errors.half_width(0.95)
    for wrong in (0, 1, 1.5, -0.1):
        with pytest.raises(ValueError, match="coverage must be"):
            errors.half_width(wrong)
    many = ConformalErrors.of(np.arange(1.0, 4001.0)[:, None], None)
    assert many.sizes.shape == (1000, 1)
    for coverage in (0.5, 0.9, 0.99, 0.9995):
        rank = np.ceil(4001 * coverage)
        assert rank <= many.half_width(coverage)[0] <= rank + 5
    weighted = ConformalErrors.of(
        np.arange(1.0, 101.0)[:, None], np.where(np.arange(100) < 50, 3.0, 1.0)
    )
    assert (
        weighted.half_width(0.6)[0]
        < 45
        < ConformalErrors.of(np.arange(1.0, 101.0)[:, None], None).half_width(0.6)[0]
    )


def test_intervals_in_files(tmp_path):
    X, y = waves(200)
    model = KernelRegressor(n_components=16, scale="minmax").fit(X, y)
    model.save(tmp_path / "model.kl")
    again = kernelight.load(tmp_path / "model.kl")
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    state = model.to_state()
    arrays = {name: array for name, array in state.arrays.items() if name != "held.errors"}
    old = KernelRegressor.from_state(State(state.meta, arrays))
    np.testing.assert_array_equal(old.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="no errors of rows held out"):
        old.predict_interval(X)
    for wrong in (-state.arrays["held.errors"], state.arrays["held.errors"][:3], np.zeros(4)):
        with pytest.raises(ValueError, match="does not describe a KernelRegressor"):
            KernelRegressor.from_state(State(state.meta, {**state.arrays, "held.errors": wrong}))


# -- Several targets -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params", [{}, {"method": "exact"}, {"kernel": "rbf", "loss": "epsilon_insensitive"}], ids=str
)
def test_several_targets(params, tmp_path):
    X, y = waves(400)
    Y = np.column_stack([y, 1e6 * X[:, 1], np.cos(6 * X[:, 0])])
    model = KernelRegressor(n_components=128, **params).fit(X[:300], Y[:300])
    assert model.predict(X).shape == (400, 3)
    assert model.score(X[300:], Y[300:]) > 0.7
    low, high = model.predict_interval(X[300:], 0.9)
    assert low.shape == high.shape == (100, 3)
    assert (np.mean((low <= Y[300:]) & (Y[300:] <= high), axis=0) > 0.75).all()
    model.save(tmp_path / "model.kl")
    again = kernelight.load(tmp_path / "model.kl")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    assert again.summary() == model.summary()
    if model.map_ is not None:
        model.partial_fit(X[300:], Y[300:])
        with pytest.raises(ValueError, match="not that of 3 target"):
            model.partial_fit(X, y)


def test_several_targets_are_learned_as_each_alone():
    """With everything given, the columns do not know of each other."""
    X, y = waves(300)
    Y = np.column_stack([y, X[:, 1]])
    params = {"n_components": 64, "C": 1.0, "scale": "minmax"}
    together = KernelRegressor(**params).fit(X, Y).predict(X)
    for column in range(2):
        alone = KernelRegressor(**params).fit(X, Y[:, column]).predict(X)
        np.testing.assert_allclose(together[:, column], alone, atol=0.02 * Y[:, column].std())
