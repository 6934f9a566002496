"""Weights of columns: what is learned, when it is taken, honest scores, states, and refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline

from kernelight import (
    GCWS,
    ColumnScaler,
    ColumnWeighter,
    KernelClassifier,
    KernelRegressor,
    LinearRegressor,
    State,
    load,
)
from kernelight.estimators.column_weights import Recipe, choose_weights, learn_weights
from kernelight.estimators.routes import Task
from kernelight.kernels import GMM
from kernelight.scaling import fit_scaling


def friedman(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Five of the columns matter."""
    random = np.random.default_rng(seed)
    X = random.random((n, d))
    effect = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, effect + 10 * X[:, 3] + 5 * X[:, 4] + random.standard_normal(n)


X, Y = friedman(2_600, 30)
TEST = slice(1_600, None)
LABELS = np.where(np.median(Y) < Y, "high", "low")


def fitted(n: int, **options):
    return KernelRegressor(weights="learn", **options).fit(X[:n], Y[:n])


@pytest.mark.parametrize("n", [400, 1_000, 1_600])
def test_columns_of_noise_nearly_vanish(n):
    plain, model = KernelRegressor().fit(X[:n], Y[:n]), fitted(n)
    assert model.sources_["weights"] == "learned"
    assert model.weights_[:5].min() > 3 * model.weights_[5:].max()
    assert model.weights_.max() == 1
    assert model.score(X[TEST], Y[TEST]) > plain.score(X[TEST], Y[TEST]) + 0.03


@pytest.mark.parametrize("n", [300, 1_500])
def test_weights_of_noise_are_not_taken(n):
    """Without anything to learn, no weights are better than others."""
    noise = np.random.default_rng(1).standard_normal(n)
    model = KernelRegressor(weights="learn").fit(X[:n], noise)
    assert model.weights_ is None
    assert model.sources_["weights"] == "equal"
    assert "not clearly better" in model.summary()


@pytest.mark.parametrize("n", [400, 1_600])
def test_no_weights_means_the_same_model(n):
    noise = np.random.default_rng(2).integers(0, 2, n)
    plain = KernelClassifier().fit(X[:n], noise)
    model = KernelClassifier(weights="learn").fit(X[:n], noise)
    assert model.weights_ is None
    np.testing.assert_array_equal(
        plain.decision_function(X[TEST]), model.decision_function(X[TEST])
    )


def test_scores_and_intervals_are_honest():
    """Held-out scores are those of other rows: no better than test rows beyond chance."""
    validation, test, inside = [], [], []
    for seed in range(4):
        A, a = friedman(1_300, 30, seed)
        model = KernelRegressor(weights="learn").fit(A[:300], a[:300])
        validation.append(model.validation_score_)
        test.append(model.score(A[300:], a[300:]))
        low, high = model.predict_interval(A[300:])
        inside.append(np.mean((low <= a[300:]) & (a[300:] <= high)))
    assert np.mean(validation) < np.mean(test) + 0.02
    assert np.mean(inside) > 0.87


def test_held_out_rows_have_not_taught_weights():
    """Above 1,200 rows a fold is spared, and the others score by themselves."""
    model = fitted(1_600)
    assert "each left out by itself" in model.held_out_
    assert 300 <= int(model.held_out_.split()[0].replace(",", "")) < 1_600
    small = fitted(500)
    assert small.held_out_ == "5 splits, 500 rows held out in all"


@pytest.mark.parametrize(
    "options",
    [
        {"n_components": 128},
        {"method": "ridge"},
        {"method": "exact"},
        {"cv": 3},
        {"cv": KFold(3), "n_components": 64},
        {"C": 3.0, "scale": "minmax"},
        {"kernel": "exp_gmm", "gamma": 1.0},
        {"p": 2.0},
        {"scoring": "neg_mean_absolute_error"},
        {"kernel": "auto"},
        {"loss": "epsilon_insensitive", "n_components": 64},
    ],
    ids=str,
)
def test_every_way_to_a_model(options):
    model = fitted(500, **options)
    assert model.weights_ is not None
    assert np.median(model.weights_[5:]) < 0.3
    assert model.score(X[TEST], Y[TEST]) > 0.6
    again = KernelRegressor.from_state(model.to_state())
    np.testing.assert_array_equal(again.predict(X[TEST]), model.predict(X[TEST]))
    np.testing.assert_array_equal(again.weights_, model.weights_)
    assert "weights" in model.summary()


def test_probabilities_with_weights():
    model = KernelClassifier(weights="learn").fit(X[:700], LABELS[:700])
    assert model.weights_ is not None
    shares = model.predict_proba(X[TEST])[:, 0]
    sure = np.maximum(shares, 1 - shares)
    right = model.predict(X[TEST]) == LABELS[TEST]
    assert abs(sure.mean() - right.mean()) < 0.04


def test_explanations_add_up_and_find_the_columns():
    for options in ({}, {"n_components": 128}):
        model = fitted(800, **options)
        found = model.explain(X[TEST][:50])
        np.testing.assert_allclose(found.scores, model.predict(X[TEST][:50]), rtol=1e-4)
        assert model.feature_importances_[:5].sum() > 0.8


def test_codes_of_an_exact_model_keep_its_weights():
    model = fitted(800)
    codes = model.to_codes(512)
    np.testing.assert_array_equal(codes.weights_, model.weights_)
    assert codes.score(X[TEST], Y[TEST]) > 0.85


def test_later_batches_keep_the_weights():
    model = KernelRegressor(weights="learn", n_components=256)
    model.partial_fit(X[:800], Y[:800])
    before = model.weights_.copy()
    model.partial_fit(X[800:1_600], Y[800:1_600])
    np.testing.assert_array_equal(model.weights_, before)
    assert model.score(X[TEST], Y[TEST]) > 0.85


def test_weights_of_rows_count():
    """Rows of weight 0 are as good as left out."""
    weight = np.r_[np.ones(600), np.zeros(200)]
    other = Y[:800].copy()
    other[600:] = 1e6
    model = KernelRegressor(weights="learn").fit(X[:800], other, sample_weight=weight)
    np.testing.assert_array_equal(model.weights_, fitted(600).weights_)


def test_sparse_rows():
    A = sp.random_array((700, 40), density=0.3, random_state=np.random.default_rng(0), format="csr")
    y = np.asarray(A[:, :3].sum(axis=1)).ravel()
    model = KernelRegressor(weights="learn").fit(A, y)
    assert model.weights_[:3].min() > 2 * model.weights_[3:].max()
    plain = KernelRegressor().fit(A[:500], y[:500])
    model = KernelRegressor(weights="learn").fit(A[:500], y[:500])
    assert model.score(A[500:], y[500:]) > plain.score(A[500:], y[500:])
    again = KernelRegressor.from_state(model.to_state())
    np.testing.assert_array_equal(again.predict(A), model.predict(A))


def test_frames_with_words():
    random = np.random.default_rng(0)
    town = random.choice(["Ulm", "Bonn", "Trier"], 600)
    frame = pd.DataFrame({"town": town, **{f"x{at}": X[:600, at] for at in range(12)}})
    y = np.where(town == "Ulm", 5.0, 0.0) + Y[:600]
    model = KernelRegressor(weights="learn").fit(frame, y)
    assert len(model.weights_) == model.encoding_.width
    given = KernelRegressor(weights=[1.0, *np.full(12, 0.5)]).fit(frame, y)
    assert sorted(set(given.weights_)) == [0.5, 1.0]
    assert given.sources_["weights"] == "given"


def test_given_weights():
    weights = np.r_[np.ones(5), np.full(25, 0.01)]
    model = KernelRegressor(weights=weights).fit(X[:500], Y[:500])
    np.testing.assert_array_equal(model.weights_, weights)
    assert model.score(X[TEST], Y[TEST]) > 0.9
    again = KernelRegressor.from_state(model.to_state())
    np.testing.assert_array_equal(again.predict(X[TEST]), model.predict(X[TEST]))
    assert clone(model).weights is weights or np.array_equal(clone(model).weights, weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("learned", "weights must be None, 'learn' or a number for each column, got 'learned'"),
        ([[1.0]], "a number for each column"),
        ([1.0, 2.0], "weights must be 30 numbers, one for each column of X, got 2"),
        (np.full(30, -1.0), "must not be negative"),
        (np.zeros(30), "must not all be 0"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        KernelRegressor(weights=weights).fit(X[:200], Y[:200])


def test_other_kernels_ignore_it_with_a_sentence():
    with pytest.warns(UserWarning, match=r"no sum over columns: weights='learn' is ignored\.$"):
        model = KernelRegressor("gaussian", weights="learn", gamma=1.0).fit(X[:200], Y[:200])
    assert model.weights_ is None
    assert model.sources_["weights"] == "none"
    wide = sp.random_array((200, 20_000), density=0.01, random_state=np.random.default_rng(0))
    with pytest.warns(UserWarning, match="20,000 columns and 1 score are more than"):
        KernelRegressor(weights="learn").fit(wide.tocsr(), Y[:200])


def test_few_rows_learn_no_weights():
    model = fitted(60)
    assert model.weights_ is None
    assert model.sources_["weights"] == "default"


def test_a_fit_is_the_same_every_time_and_pickles():
    one, two = fitted(600), fitted(600)
    np.testing.assert_array_equal(one.weights_, two.weights_)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.predict(X[TEST]), one.predict(X[TEST]))


def test_old_states_have_no_weights():
    """A state of a version without weights, which names neither the parameter nor a source."""
    model = KernelRegressor(n_components=32).fit(X[:200], Y[:200])
    state = model.to_state()
    params = {name: value for name, value in state.meta["params"].items() if name != "weights"}
    assert "weights" not in state.meta["decided"]["sources_"]
    old = KernelRegressor.from_state(State(dict(state.meta) | {"params": params}, state.arrays))
    assert old.weights_ is None
    np.testing.assert_array_equal(old.predict(X[TEST]), model.predict(X[TEST]))


def test_states_with_wrong_weights_are_refused():
    model = KernelRegressor(weights=np.ones(30), n_components=32).fit(X[:200], Y[:200])
    state = model.to_state()
    for wrong in (np.ones(29), np.full(30, -1.0), np.full(30, np.nan), np.ones(30, np.float32)):
        arrays = dict(state.arrays) | {"scaling.weights": wrong}
        with pytest.raises(ValueError, match="weights"):
            KernelRegressor.from_state(State(state.meta, arrays))


# -- The parts


def test_spreads_are_those_of_explanations():
    """One round of strength 1 is the importance of columns, relative to the largest."""
    A, a = X[:300], (Y[:300] - Y[:300].mean()) / Y[:300].std()
    scaling = fit_scaling("minmax+complement", A, np.random.default_rng(0))
    task = Task(a, None, None, "squared")
    learned = learn_weights(Recipe(1.0, 1, 1.0), GMM(), scaling, A, task)
    model = KernelRegressor(method="ridge", scale="minmax+complement", C=1.0).fit(A, a)
    wanted = model.feature_importances_ / model.feature_importances_.max()
    np.testing.assert_allclose(learned.weights, wanted, rtol=0.03, atol=0.01)
    root = learn_weights(Recipe(0.5, 1, 1.0), GMM(), scaling, A, task)
    np.testing.assert_allclose(root.weights, np.sqrt(wanted), rtol=0.03, atol=0.01)


def test_choices_do_not_see_held_out_labels():
    """Weights of a split are learned without its held-out rows: their labels move no score."""
    A, scaling = X[:200], fit_scaling("minmax", X[:200], np.random.default_rng(0))
    halves = np.arange(100), np.arange(100, 200)
    splits = [halves, halves[::-1]]
    target = (Y[:200] - Y.mean()) / Y.std()
    choices = []
    for changed in (target, np.r_[target[:199], 0.0]):
        task = Task(changed, None, None, "squared")
        choices.append(
            choose_weights(
                GMM(), scaling, lambda s: A[np.concatenate(s)], task, np.ones(200), splits, (1.0,)
            )
        )
    one, two = (
        {trial.recipe: trial.scores for trial in choice.trials if len(trial.scores) == 200}
        for choice in choices
    )
    common = set(one) & set(two)
    assert None in common
    for recipe in common:  # the first half of the scores is of rows 100 to 199
        np.testing.assert_array_equal(one[recipe][:100], two[recipe][:100])
        assert (one[recipe][100:] != two[recipe][100:]).any()


# -- Transformers


def test_a_step_of_a_pipeline():
    model = make_pipeline(ColumnWeighter(), GCWS(256), LinearRegressor(C=3.0))
    plain = make_pipeline(ColumnScaler(), GCWS(256), LinearRegressor(C=3.0))
    A, a = X[:900], (Y[:900] - Y.mean()) / Y.std()
    assert cross_val_score(model, A, a, cv=3).mean() > cross_val_score(plain, A, a, cv=3).mean()


def test_the_weighter_is_what_the_estimator_does(tmp_path):
    weighter = ColumnWeighter().fit(X[:800], Y[:800])
    model = fitted(800)
    np.testing.assert_array_equal(weighter.scaling_.weights, model.weights_)
    np.testing.assert_array_equal(weighter.transform(X), model.scaling_(X))
    weighter.save(tmp_path / "weights.klt")
    again = load(tmp_path / "weights.klt")
    np.testing.assert_array_equal(again.transform(X), weighter.transform(X))
    by_hand = ColumnScaler(weighter.scale_, weights=weighter.scaling_.weights).fit(X[:800])
    np.testing.assert_array_equal(by_hand.transform(X), weighter.transform(X))
    assert len(weighter.get_feature_names_out()) == weighter.transform(X[:1]).shape[1]


def test_the_weighter_knows_classes():
    A, y = load_breast_cancer(return_X_y=True)
    weighter = ColumnWeighter("standard").fit(A, y)
    assert weighter.transform(A).shape == A.shape
    with pytest.raises(ValueError, match="requires y to be passed"):
        ColumnWeighter().fit(A)
    with pytest.raises(ValueError, match="kernel must be"):
        ColumnWeighter(kernel="gaussian").fit(A, y)


def test_weights_of_a_scaler(tmp_path):
    scaler = ColumnScaler("minmax+complement", weights=np.linspace(0, 1, 30)).fit(X)
    plain = ColumnScaler("minmax+complement").fit(X)
    factors = np.tile(np.linspace(0, 1, 30), 2)
    np.testing.assert_array_equal(scaler.transform(X), plain.transform(X) * factors)
    scaler.save(tmp_path / "scaler.klt")
    np.testing.assert_array_equal(load(tmp_path / "scaler.klt").transform(X), scaler.transform(X))
