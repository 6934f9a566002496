"""TernaryClassifier on dense features: fits, odd input, pipelines, pruning, memory and files."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers import SIMD_NAMES
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelight
from kernelight import BinaryFourier, RandomFourier, State, TernaryClassifier, export
from kernelight.codes import Codes

IRIS = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def flowers():
    """Random Fourier features of iris, labels, and their map."""
    X, y = IRIS
    fourier = RandomFourier(64, features="phase", metric="euclidean", sigma=1.5).fit(X)
    return fourier.transform(X), y, fourier


@pytest.fixture(scope="module")
def model(flowers):
    return TernaryClassifier().fit(*flowers[:2])


def test_learns_flowers(flowers, model):
    X, y, _ = flowers
    assert model.score(X, y) > 0.95
    assert cross_val_score(TernaryClassifier(), X, y).mean() > 0.93
    assert (model.coef_.shape, model.coef_.dtype) == ((3, 64), np.int8)
    assert set(np.unique(model.coef_)) == {-1, 0, 1}
    assert model.scale_.shape == model.intercept_.shape == (3,)
    assert model.n_features_in_ == 64
    assert model.provenance_ is None
    np.testing.assert_array_equal(model.slots_, np.arange(64))


def test_scores_are_those_of_the_coefficients(flowers, model):
    X = flowers[0]
    wanted = (X.astype(float) @ model.coef_.T) * model.scale_.astype(float) + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.decision_function(X.astype(float)), wanted, rtol=1e-12)
    assert model.decision_function(X).dtype == np.float64
    np.testing.assert_array_equal(model.predict(X), wanted.argmax(axis=1))


def test_two_classes_have_one_vector(flowers):
    X, y, _ = flowers
    X, y = X[y > 0], np.where(y[y > 0] == 1, "versicolor", "virginica")
    model = TernaryClassifier().fit(X, y)
    assert model.coef_.shape == (1, 64)
    scores = model.decision_function(X)
    assert scores.shape == (100,)
    np.testing.assert_array_equal(model.predict(X), model.classes_[(scores > 0).astype(int)])
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
@pytest.mark.parametrize("sparsity", [0.0, 0.8, 0.99])
def test_objective_never_rises(flowers, loss, sparsity):
    X, y, _ = flowers
    model = TernaryClassifier(loss, sparsity=sparsity).fit(X, y)
    assert (np.diff(model.objective_path_, axis=0) <= 0).all()
    assert model.objective_path_.shape == (model.n_iter_, 3)
    zeros = (model.coef_ == 0).mean(axis=1)
    assert (zeros >= min(sparsity, 63 / 64)).all()
    assert (zeros < 1).all()
    assert model.score(X, y) > (0.9 if sparsity < 0.9 else 0.5)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
@pytest.mark.parametrize("sparsity", [0.0, 0.8])
def test_result_depends_neither_on_threads_nor_on_instructions(
    flowers, monkeypatch, loss, sparsity
):
    X, y, _ = flowers
    model = TernaryClassifier(loss, sparsity=sparsity).fit(X, y)
    for jobs, simd in zip((1, 2, 5), SIMD_NAMES, strict=False):
        monkeypatch.setenv("KERNELIGHT_SIMD", simd)
        other = TernaryClassifier(loss, sparsity=sparsity, n_jobs=jobs).fit(X, y)
        np.testing.assert_array_equal(other.coef_, model.coef_)
        np.testing.assert_array_equal(other.scale_, model.scale_)
        np.testing.assert_array_equal(other.intercept_, model.intercept_)


@pytest.mark.parametrize("sparsity", [0.0, 0.7])
def test_weights_are_repetitions(sparsity):
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((60, 5)), rng.integers(0, 3, 60)
    counts = rng.integers(0, 4, 60)
    rows = rng.permutation(np.repeat(np.arange(60), counts))
    weighted = TernaryClassifier(sparsity=sparsity).fit(X, y, sample_weight=counts)
    repeated = TernaryClassifier(sparsity=sparsity).fit(X[rows], y[rows])
    for name in ("coef_", "scale_", "intercept_", "objective_path_"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))


def test_class_weights(flowers):
    X, y, _ = flowers
    weighted = TernaryClassifier().fit(X, y, sample_weight=np.where(y == 2, 2.0, 1.0))
    by_class = TernaryClassifier(class_weight={0: 1.0, 1: 1.0, 2: 2.0}).fit(X, y)
    np.testing.assert_array_equal(weighted.coef_, by_class.coef_)
    balanced = TernaryClassifier(class_weight="balanced").fit(X[:110], y[:110])
    assert balanced.score(X, y) > 0.8


def test_regularization_l0_and_seeds_matter(flowers, model):
    X, y, _ = flowers
    weak = TernaryClassifier(C=1e-3).fit(X, y)
    assert (weak.scale_ * np.sqrt((weak.coef_ != 0).sum(axis=1))).max() < (
        model.scale_ * np.sqrt((model.coef_ != 0).sum(axis=1))
    ).min()
    few = TernaryClassifier(l0=0.003).fit(X, y)
    assert np.count_nonzero(few.coef_) < np.count_nonzero(model.coef_)
    assert (TernaryClassifier(random_state=1).fit(X, y).coef_ != model.coef_).any()
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        TernaryClassifier(max_iter=1).fit(X, y)


# --- Pipelines


def test_works_in_a_pipeline():
    X, y = IRIS
    fourier = RandomFourier(64, features="phase", metric="euclidean", sigma=1.5)
    pipeline = make_pipeline(fourier, TernaryClassifier()).fit(X, y)
    alone = TernaryClassifier().fit(fourier.fit(X).transform(X), y)
    np.testing.assert_array_equal(pipeline[-1].coef_, alone.coef_)
    assert cross_val_score(pipeline, X, y).mean() > 0.9
    search = GridSearchCV(pipeline, {"ternaryclassifier__C": [0.1, 10.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    scaled = make_pipeline(StandardScaler(), TernaryClassifier()).fit(X, y)  # any features will do
    assert scaled.score(X, y) > 0.8


def test_frames_keep_their_names(flowers):
    X, y, fourier = flowers
    frame = pd.DataFrame(X, columns=fourier.get_feature_names_out())
    model = TernaryClassifier().fit(frame, y)
    assert model.feature_names_in_[3] == "randomfourier3"
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"randomfourier3": "other"}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])
    again = TernaryClassifier.from_state(model.to_state())
    np.testing.assert_array_equal(again.predict(frame), model.predict(X))
    # a fit to codes forgets them
    codes = BinaryFourier(64, sigma=1.5).fit(IRIS[0]).encode(IRIS[0])
    assert not hasattr(model.fit(codes, y), "feature_names_in_")


# --- Odd input


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda X: X[:, ::-1][:, ::-1],
        lambda X: X.astype(np.float64),
        np.ndarray.tolist,
        lambda X: pd.DataFrame(X),
    ],
)
def test_every_form_of_the_same_numbers(flowers, model, form):
    X, y, _ = flowers
    other = TernaryClassifier().fit(form(X), y)
    np.testing.assert_array_equal(other.coef_, model.coef_)
    np.testing.assert_array_equal(other.predict(form(X)), model.predict(X))


def test_half_precision_integers_and_booleans():
    rng = np.random.default_rng(0)
    whole = rng.integers(-3, 4, (80, 10))
    y = whole[:, 0] + whole[:, 1] > 0
    wanted = TernaryClassifier().fit(whole.astype(np.float32), y)
    for dtype in (np.float16, np.int8, np.int64):
        other = TernaryClassifier().fit(whole.astype(dtype), y)
        np.testing.assert_array_equal(other.coef_, wanted.coef_)
        np.testing.assert_array_equal(other.predict(whole.astype(dtype)), wanted.predict(whole))
    flags = whole > 0
    assert TernaryClassifier().fit(flags, flags[:, 3]).score(flags, flags[:, 3]) == 1.0


def test_nothing_given_is_changed(flowers):
    X, y, _ = flowers
    X, y, weights = X.copy(), y.copy(), np.ones(len(y))
    for array in (X, y, weights):
        array.flags.writeable = False
    TernaryClassifier(sparsity=0.5).fit(X, y, sample_weight=weights).predict(X)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
def test_one_feature_and_constant_features(loss):
    x = np.linspace(-1, 1, 20)[:, None]
    y = x[:, 0] > 0.1
    one = TernaryClassifier(loss).fit(x, y)
    assert one.coef_.tolist() == [[1]]
    assert one.score(x, y) >= 0.9
    constant = np.ones((20, 3))
    useless = TernaryClassifier(loss).fit(constant, y)
    assert (useless.predict(constant) == (y.mean() > 0.5)).all()
    zeros = TernaryClassifier(loss).fit(np.zeros((20, 3)), y)
    assert not zeros.coef_.any()
    assert (zeros.predict(np.zeros((2, 3))) == (y.mean() > 0.5)).all()
    assert zeros.prune().predict(np.zeros((2, 1))).shape == (2,)
    both = TernaryClassifier(loss).fit(np.hstack([constant, x, np.zeros((20, 1))]), y)
    assert both.coef_[0, 4] == 0
    assert both.score(np.hstack([constant, x, np.zeros((20, 1))]), y) >= 0.9


@pytest.mark.parametrize("rows", [2, 3, 8, 9])
def test_few_rows(rows):
    X = np.random.default_rng(rows).standard_normal((rows, 30))
    y = np.arange(rows) % 2
    assert TernaryClassifier(C=100.0).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("magnitude", [1e-25, 1e-10, 1e10, 1e15])
def test_magnitudes(magnitude):
    X = np.random.default_rng(0).standard_normal((60, 8))
    y = X[:, 0] + X[:, 1] > 0
    model = TernaryClassifier(C=10.0 / magnitude**2).fit(magnitude * X, y)
    assert np.isfinite(model.scale_).all()
    assert model.score(magnitude * X, y) > 0.85


def test_odd_rows_are_refused(flowers, model):
    X, y, _ = flowers
    broken = X.copy()
    broken[4, 2] = np.nan
    sentences = [
        (broken, ValueError, "Input X contains NaN at row 4, column 2"),
        (np.where(np.isnan(broken), np.inf, X), ValueError, "infinity at row 4, column 2"),
        (X[:, 0], ValueError, "Expected 2D array"),
        (X[:, :0], ValueError, "0 feature"),
        (X[:0], ValueError, "0 sample|inconsistent"),
        (1e35 * X.astype(float), ValueError, "needs one between 1e-30 and 1e.30: scale X"),
        (1e-35 * X.astype(float), ValueError, "needs one between 1e-30 and 1e.30: scale X"),
        (sp.csr_matrix(X), ValueError, "got another sparse matrix: for sparse features"),
        (X.astype(np.complex64), ValueError, "Complex data not supported"),
        (np.full((150, 2), "a"), ValueError, "not a number"),
        (np.zeros((150, 2), dtype=np.uint64), ValueError, "as packed codes are"),
    ]
    for rows, error, message in sentences:
        with pytest.raises(error, match=message):
            TernaryClassifier().fit(rows, y)
    for rows, error, message in sentences[:3]:
        with pytest.raises(error, match=message):
            model.predict(rows)
    with pytest.raises(ValueError, match=r"X has 5 features, but .* is expecting 64 features"):
        model.predict(X[:, :5])
    with pytest.raises(ValueError, match="as packed codes are"):
        model.predict(np.zeros((2, 1), dtype=np.uint64))


def test_rows_of_the_other_kind_are_refused(flowers, model):
    codes = BinaryFourier(64, sigma=1.5).fit(IRIS[0]).encode(IRIS[0])
    with pytest.raises(TypeError, match="fitted to a dense array of 64 features, got Codes"):
        model.predict(codes)
    with pytest.raises(TypeError, match="dense array of 64 features, got a sparse matrix"):
        model.predict(sp.csr_matrix(flowers[0]))
    with pytest.raises(TypeError, match="fitted to codes of 64 slots, got ndarray"):
        TernaryClassifier().fit(codes, IRIS[1]).predict(flowers[0])
    signs = kernelight.SignProjection(64, projection="sorf").fit(IRIS[0])
    with pytest.raises(ValueError, match="fitted to dense features"):
        export.to_c(signs, model, name="wrong", check=IRIS[0])


def test_a_failed_fit_leaves_the_model_as_it_was(flowers, model):
    X, y, _ = flowers
    kept = clone(model).fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        kept.fit(Codes(np.zeros((3, 4), dtype=int), bits=1), [1, 1, 1])
    assert kept.provenance_ is None
    np.testing.assert_array_equal(kept.predict(X), model.predict(X))


# --- Pruning, memory, files


def test_pruning_takes_all_features_or_those_that_are_left(flowers):
    X, y, _ = flowers
    model = TernaryClassifier(sparsity=0.9).fit(X, y)
    small = model.prune()
    np.testing.assert_array_equal(small.slots_, np.flatnonzero(model.coef_.any(axis=0)))
    assert len(small.slots_) < 64
    scores = model.decision_function(X)
    np.testing.assert_allclose(small.decision_function(X), scores, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(
        small.decision_function(X[:, small.slots_]), small.decision_function(X)
    )
    with pytest.raises(ValueError, match="expecting 64 features"):
        small.predict(X[:, : len(small.slots_) - 1])
    broken = X[:, small.slots_].copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN at row 0, column 0"):
        small.predict(broken)


def test_memory_report(flowers, model):
    fourier = flowers[2]
    report = model.memory_report()
    assert report.model == {
        "coefficients, 2 bits each": 3 * 16,
        "scales and biases": 24,
        "labels": 24,
    }
    assert report.alternatives == {"coefficients, 5 to a byte": 3 * 13}
    with pytest.raises(TypeError, match="RandomFourier does not tell the bytes of its projections"):
        model.memory_report(fourier)
    with pytest.raises(TypeError, match="must be the fitted map of the features"):
        model.memory_report(3)
    with pytest.raises(ValueError, match=r"is not the map of the features .* pass that one\."):
        model.memory_report(BinaryFourier(64, sigma=1.5).fit(IRIS[0]))

    class Counted(RandomFourier):
        def memory(self):
            return {"stored": {"directions": 100}, "regenerated": {"seed": 8}}

    report = model.memory_report(Counted(64).fit(IRIS[0]))
    assert (report.total, report.total_stored, report.total_regenerated) == (96, 196, 104)
    with pytest.raises(ValueError, match="is not the map of the features"):
        model.memory_report(Counted(65).fit(IRIS[0]))


@pytest.mark.parametrize("prune", [False, True])
def test_files_and_pickles(flowers, tmp_path, prune):
    X, y, _ = flowers
    model = TernaryClassifier(sparsity=0.8, class_weight={"a": 2.0}).fit(
        X, np.array(["a", "b", "c"])[y]
    )
    model = model.prune() if prune else model
    model.save(tmp_path / "model.kl")
    for other in (
        TernaryClassifier.load(tmp_path / "model.kl"),
        kernelight.load(tmp_path / "model.kl"),
        pickle.loads(pickle.dumps(model)),
    ):
        np.testing.assert_array_equal(other.coef_, model.coef_)
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
        assert other.get_params() == model.get_params()
        assert other.provenance_ is None


def test_damaged_states_are_refused(model):
    state = model.to_state()
    for changes, message in (
        ({"decided": {**state.meta["decided"], "provenance_": 7}}, "provenance_ must be a string"),
        ({"n_features_in": 63}, "slots must be between 0 and 62"),
    ):
        with pytest.raises(ValueError, match=f"does not describe a TernaryClassifier.*{message}"):
            TernaryClassifier.from_state(State({**state.meta, **changes}, state.arrays))


def test_converges_without_a_warning():
    X, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TernaryClassifier().fit(X / 16, y)
    assert model.score(X / 16, y) > 0.9
