"""LinearClassifier and LinearRegressor: fits, paths, warm starts, and scikit-learn."""

from __future__ import annotations

import pickle
import threading
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers import SIMD_NAMES
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from kernelight import GCWS, Codes, LinearClassifier, LinearRegressor
from kernelight.base.checks import resources
from kernelight.linear import base, design, output_group, solver

CLASSIFIERS = ("squared_hinge", "hinge", "logistic")
REGRESSORS = ("squared", "epsilon_insensitive")
IRIS = load_iris(return_X_y=True)


def model_of(loss, **params):
    return (LinearRegressor if loss in REGRESSORS else LinearClassifier)(loss, **params)


def task_of(n, slots=40, bits=4, classes=3, seed=0):
    """Codes that tell something about their labels, and the labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    array = (
        rng.integers(0, 1 << bits, (n, slots)) + y[:, None] * (rng.random((n, slots)) < 0.3)
    ) % (1 << bits)
    return Codes(array, bits=bits), y


@pytest.fixture(scope="module")
def flowers():
    X, y = IRIS
    return GCWS(128).fit(X).encode(X), y


# --- Threads, groups of outputs, instruction sets, seeds


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("n", [1, 17, 64, 150])
def test_margins_and_sums_of_one_output(monkeypatch, simd, n):
    """Slots with 1 ... 256 codes: with AVX-512 their weights are looked up in registers."""
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    rng = np.random.default_rng(n)
    sizes = np.concatenate([[1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 97, 128, 200, 255, 256]] * 9)
    array = rng.integers(0, sizes, (n, len(sizes)))
    codes = Codes(array, bits=8, empty=np.arange(n) % 13 == 5)
    rows = design.CodeDesign(codes, np.float32, resources(1))
    features = codes.to_csr().toarray()[:, rows.seen.reshape(-1)].astype(np.float64)
    weights = np.zeros((rows.n_entries(1), 1), dtype=np.float32)
    places = rows.layout(1).places(rows.seen)
    weights[places, 0] = rng.standard_normal(features.shape[1])
    dual = rng.standard_normal((n, 1)).astype(np.float32)
    margins, bias = np.empty((n, 1), dtype=np.float32), np.full(1, 0.5, dtype=np.float32)
    view = rows.view(1)
    view.margins(weights, bias, margins, 0, n, 1)
    expected = features @ weights[places].astype(np.float64) + 0.5
    np.testing.assert_allclose(margins, expected, rtol=0, atol=2e-5)
    expected = weights[places] + features.T @ dual.astype(np.float64)
    view.add_duals(dual, True, weights, bias, 0, n, 1)
    np.testing.assert_allclose(weights[places], expected, rtol=0, atol=1e-5)
    assert bias[0] == pytest.approx(0.5 + dual.sum(), abs=1e-4)


def with_threads(monkeypatch, threads):
    """Run epochs on this many threads, however small the problem."""
    real = output_group.OutputGroup.__init__

    def init(self, rows, targets, settings, outputs):
        real(self, rows, targets, replace(settings, threads=threads), outputs)

    monkeypatch.setattr(output_group.OutputGroup, "__init__", init)


@pytest.mark.parametrize("small", [0, 100_000], ids=["single", "double"])
@pytest.mark.parametrize("kind", ["ranked", "looked up", "dense"])
def test_threads_change_no_bit(monkeypatch, kind, small):
    """520 slots or columns are 8 parts, shared by up to 8 threads."""
    monkeypatch.setattr(base, "SMALL", small)
    monkeypatch.setattr(design, "RANK_BYTES", 0 if kind == "looked up" else 1 << 30)
    codes, y = task_of(200, slots=520)
    rows = (
        codes
        if kind != "dense"
        else np.random.default_rng(0).standard_normal((200, 520)).astype(np.float32)
    )
    models = []
    for threads in (1, 2, 3, 8):
        with monkeypatch.context() as patch:
            with_threads(patch, threads)
            models.append(LinearClassifier(n_jobs=threads, tol=1e-2).fit(rows, y))
    for other in models[1:]:
        np.testing.assert_array_equal(other.weights_, models[0].weights_)
        np.testing.assert_array_equal(other.intercept_, models[0].intercept_)
        np.testing.assert_array_equal(other.dual_gap_, models[0].dual_gap_)
        np.testing.assert_array_equal(
            other.decision_function(rows), models[0].decision_function(rows)
        )


def test_large_problems_use_threads():
    """Threads inside a group only if there is enough work; groups always run on threads."""
    settings = output_group.SolverSettings("hinge", 0.0, True, 1e-3, 10, 0, 3)

    def threads_of(n, slots, outputs):
        rows = design.MatrixDesign(np.zeros((n, slots), dtype=np.float32), np.float32, resources(3))
        targets = design.Targets(
            np.zeros(n, np.int32), None, np.ones(n), np.ones(outputs), np.ones(outputs)
        )
        made = solver.Solver(rows, targets, settings)
        return made.workers, {group.settings.threads for group in made.groups}

    assert threads_of(8192, 512, 3) == (1, {3})
    assert threads_of(8191, 512, 3) == (1, {1})
    assert threads_of(65536, 64, 3) == (1, {1})
    assert threads_of(100, 10, 17) == (2, {1})
    assert threads_of(100, 10, 60) == (3, {1})


@pytest.mark.parametrize("loss", CLASSIFIERS)
def test_groups_of_classes(monkeypatch, loss):
    """More than 16 classes are several groups, which run on threads; each class is independent."""
    main = []
    real = output_group.OutputGroup.solve

    def solve(self, stopped):
        main.append(threading.current_thread() is threading.main_thread())
        return real(self, stopped)

    monkeypatch.setattr(output_group.OutputGroup, "solve", solve)
    for classes in (2, 3, 16, 17, 40):
        codes, y = task_of(200, classes=classes, bits=8)
        params = {"loss": loss, "tol": 1e-6}
        wanted = LinearClassifier(n_jobs=1, **params).fit(codes, y)
        assert wanted.coef_.shape == (classes if classes > 2 else 1, 40 << 8)
        for jobs in (2, 3, 8) if classes == 40 else (3,):
            model = LinearClassifier(n_jobs=jobs, **params).fit(codes, y)
            np.testing.assert_array_equal(model.weights_, wanted.weights_)
            np.testing.assert_array_equal(model.dual_gap_, wanted.dual_gap_)
        assert wanted.score(codes, y) > 0.9
        if classes > 2:
            alone = LinearClassifier(**params).fit(codes, y == classes - 1)
            np.testing.assert_allclose(wanted.objective_[-1], alone.objective_[0], rtol=3e-6)
            np.testing.assert_allclose(wanted.coef_[-1], alone.coef_[0], atol=0.02)
    assert {True, False} == set(main)  # some groups were solved on threads of their own


def test_many_targets_are_groups():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 5)), rng.standard_normal((60, 40))
    both = LinearRegressor(tol=1e-10, n_jobs=2).fit(X, Y)
    assert both.coef_.shape == (40, 5)
    for at in (0, 19, 20, 39):
        one = LinearRegressor(tol=1e-10).fit(X, Y[:, at])
        np.testing.assert_allclose(both.coef_[at], one.coef_, atol=1e-4)
        assert one.predict(X).shape == (60,)


@pytest.mark.parametrize("loss", CLASSIFIERS + REGRESSORS)
@pytest.mark.parametrize("small", [0, 100_000], ids=["single", "double"])
def test_instructions_change_only_rounding(monkeypatch, loss, small):
    monkeypatch.setattr(base, "SMALL", small)
    codes, y = task_of(500)
    X = codes.to_csr().toarray()[:, :100]
    for rows in (codes, X, sp.csr_matrix(X)):
        objectives = []
        for simd in SIMD_NAMES:
            monkeypatch.setenv("KERNELIGHT_SIMD", simd)
            objectives.append(model_of(loss, tol=1e-3, C=10.0).fit(rows, y).objective_)
        for other in objectives:
            np.testing.assert_allclose(other, objectives[0], rtol=1e-3)


def test_seeds_change_the_order_and_not_the_optimum(flowers):
    codes, y = flowers
    one, same, other = (
        LinearClassifier(random_state=seed, tol=1e-7).fit(codes, y) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.weights_, same.weights_)
    assert (one.weights_ != other.weights_).any()
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=2e-7)
    for state in (None, np.random.RandomState(0), np.random.default_rng(0), 2**64 - 1):
        assert LinearClassifier(random_state=state).fit(codes, y).score(codes, y) > 0.9


# --- Regularization paths, warm starts, interrupts


@pytest.mark.parametrize("loss", CLASSIFIERS + REGRESSORS)
@pytest.mark.parametrize("kind", ["codes", "dense"])
def test_every_model_of_a_path_is_that_of_a_fit(loss, kind):
    codes, y = task_of(200, classes=3)
    rows = codes if kind == "codes" else codes.to_csr().toarray()[:, :60].astype(np.float64)
    Cs = [10.0, 0.01, 1.0, 0.3]
    model = model_of(loss, tol=1e-4, max_iter=5000)
    path = model.fit_path(rows, y, Cs, validation=(rows, y))
    assert not hasattr(model, "weights_")
    assert model.C == 1.0
    np.testing.assert_array_equal(path.Cs, sorted(Cs))
    assert path.scores.shape == (4,)
    for C, score, one in zip(path.Cs, path.scores, path.models, strict=True):
        cold = model_of(loss, C=C, tol=1e-4, max_iter=5000).fit(rows, y)
        assert C == one.C
        assert (one.dual_gap_ <= 1e-4 * one.objective_).all()
        np.testing.assert_allclose(one.objective_, cold.objective_, rtol=2e-4)
        assert one.score(rows, y) == score
        assert one.n_iter_ >= 1
    assert path.best is path.models[int(np.argmax(path.scores))]
    assert len({id(one.weights_) for one in path.models}) == 4
    assert (path.models[0].weights_ != path.models[3].weights_).any()


def test_paths_are_checked(flowers):
    codes, y = flowers
    fitted = LinearClassifier().fit(codes, y)
    before = pickle.dumps(fitted)
    assert len(fitted.fit_path(codes, y, 2.0).models) == 1
    assert pickle.dumps(fitted) == before
    with pytest.raises(ValueError, match="no scores"):
        _ = fitted.fit_path(codes, y, [1.0]).best
    for Cs in ([1.0, 0.0], [-1.0], ["a"], [np.nan], [[1.0, 2.0]]):
        with pytest.raises((ValueError, TypeError)):
            fitted.fit_path(codes, y, Cs)
    with pytest.raises(ValueError, match=r"Cs|at least|empty"):
        fitted.fit_path(codes, y, [])
    with pytest.warns(ConvergenceWarning):
        LinearClassifier(max_iter=1, tol=1e-9).fit_path(codes, y, [1.0, 5.0])
    assert pickle.dumps(fitted) == before


@pytest.mark.parametrize("loss", CLASSIFIERS + REGRESSORS)
def test_warm_starts_end_at_the_same_optimum(loss):
    codes, y = task_of(200)
    warm = model_of(loss, warm_start=True, tol=1e-5, C=10.0, max_iter=5000).fit(codes, y)
    for C in (10.0, 0.05, 3.0):  # lower costs clip the duals
        warm.set_params(C=C).fit(codes, y)
        cold = model_of(loss, tol=1e-5, C=C, max_iter=5000).fit(codes, y)
        np.testing.assert_allclose(warm.objective_, cold.objective_, rtol=2e-5)
        assert (warm.dual_gap_ <= 1e-5 * warm.objective_).all()
    again = warm.n_iter_
    warm.fit(codes, y)
    assert warm.n_iter_ <= max(again, 3)
    weights = np.arange(200) % 3 * 1.0  # rows without cost have no dual
    warm.fit(codes, y, weights)
    cold = model_of(loss, tol=1e-5, C=3.0, max_iter=5000).fit(codes, y, weights)
    np.testing.assert_allclose(warm.objective_, cold.objective_, rtol=2e-5)
    warm.fit(codes[:100], y[:100])  # other rows: from the beginning
    cold.fit(codes[:100], y[:100])
    np.testing.assert_array_equal(warm.weights_, cold.weights_)


def test_warm_start_with_other_labels():
    """Duals of other labels are clipped to the bounds of the new ones."""
    codes, y = task_of(200)
    for loss in CLASSIFIERS:
        warm = (
            LinearClassifier(loss, warm_start=True, tol=1e-5).fit(codes, y).fit(codes, (y + 1) % 3)
        )
        cold = LinearClassifier(loss, tol=1e-5).fit(codes, (y + 1) % 3)
        np.testing.assert_allclose(warm.objective_, cold.objective_, rtol=2e-5)
        assert (warm.dual_gap_ <= 1e-5 * warm.objective_).all()


@pytest.mark.parametrize("loss", ["hinge", "logistic", "epsilon_insensitive"])
def test_duals_are_clipped_to_their_bounds(loss):
    rng = np.random.default_rng(0)
    dual, cost, C = 5 * rng.standard_normal((50, 3)), rng.random(50), 0.5
    labels = (np.arange(50) % 3).astype(np.int32)
    above, below = np.array([1.0, 2.0, 3.0]), np.ones(3)
    if loss == "epsilon_insensitive":
        targets = design.Targets(None, dual, cost, np.ones(3), np.ones(3))
        low, high = -C * cost[:, None] * np.ones(3), C * cost[:, None] * np.ones(3)
    else:
        targets = design.Targets(labels, None, cost, above, below)
        own = labels[:, None] == np.arange(3)
        high = np.where(own, C * cost[:, None] * above, 0)
        low = np.where(own, 0, -C * cost[:, None] * below)
    np.testing.assert_allclose(
        design.feasible_duals(dual, targets.scaled(C), loss), np.clip(dual, low, high)
    )


@pytest.mark.parametrize("warm", [False, True])
def test_a_fit_that_fails_leaves_the_model_as_it_was(flowers, warm):
    codes, y = flowers
    X = IRIS[0]
    for rows in (codes, X):
        model = LinearClassifier(warm_start=warm).fit(rows, y)
        before = pickle.dumps(model)
        for bad in (
            (rows, y[:5]),
            (rows, y * 0),
            (X * np.nan, y),
            (codes, y, -np.ones(150)),
            ("nonsense", y),
        ):
            with pytest.raises((ValueError, TypeError)):
                model.fit(*bad)
            assert pickle.dumps(model) == before
        model.set_params(loss="nonsense")
        with pytest.raises(ValueError, match="loss must"):
            model.fit(rows, y)
        model.set_params(loss="squared_hinge")
        assert pickle.dumps(model) == before


@pytest.mark.parametrize("classes", [3, 40])
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("epochs", [0, 2, 6])
def test_interrupts(monkeypatch, classes, jobs, epochs):
    """Ctrl-C during the epochs keeps the weights of the last one, and warns."""
    codes, y = task_of(200, classes=classes, bits=8)
    real = output_group.OutputGroup.epoch

    def epoch(self, stopped):
        if self.n_iter == epochs:
            raise KeyboardInterrupt
        return real(self, stopped)

    model = LinearClassifier(tol=1e-12, n_jobs=jobs)
    with monkeypatch.context() as patch:
        patch.setattr(output_group.OutputGroup, "epoch", epoch)
        with (
            pytest.warns(ConvergenceWarning, match="was interrupted after"),
            pytest.raises(KeyboardInterrupt),
        ):
            model.fit(codes, y)
    assert model.n_iter_ <= max(epochs, 6)
    assert np.isfinite(model.objective_).all()
    assert (model.dual_gap_ >= 0).all()
    assert model.predict(codes).shape == (200,)
    if epochs and classes == 3:
        assert model.score(codes, y) > 0.8
    assert pickle.loads(pickle.dumps(model)).n_iter_ == model.n_iter_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert model.set_params(tol=1e-3).fit(codes, y).score(codes, y) > 0.9


def test_an_interrupted_path_raises(monkeypatch, flowers):
    def epoch(self, stopped):
        raise KeyboardInterrupt

    monkeypatch.setattr(output_group.OutputGroup, "epoch", epoch)
    with pytest.raises(KeyboardInterrupt):
        LinearClassifier().fit_path(*flowers, [1.0, 2.0])


# --- Probabilities, labels, weights


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities(classes):
    codes, y = task_of(200, classes=classes)
    model = LinearClassifier("logistic").fit(codes, y)
    P = model.predict_proba(codes)
    scores = model.decision_function(codes).reshape(200, -1).astype(float)
    ratio = 1 / (1 + np.exp(-scores))
    wanted = (
        np.hstack([1 - ratio, ratio]) if classes == 2 else ratio / ratio.sum(axis=1, keepdims=True)
    )
    np.testing.assert_allclose(P, wanted, rtol=1e-6)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(codes)), P, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(codes))
    for loss in ("hinge", "squared_hinge"):
        assert not hasattr(LinearClassifier(loss), "predict_proba")
        with pytest.raises(AttributeError, match="no attribute 'predict_proba'"):
            LinearClassifier(loss).fit(codes, y).predict_proba(codes)


def test_scores_are_those_of_the_coefficients(flowers):
    codes, y = flowers
    model = LinearClassifier().fit(codes, y)
    wanted = codes.to_csr() @ model.coef_.T.astype(float) + model.intercept_
    np.testing.assert_allclose(model.decision_function(codes), wanted, atol=1e-5)
    two = LinearClassifier().fit(codes, y == 1)
    assert two.decision_function(codes).shape == (150,)
    np.testing.assert_array_equal(two.predict(codes), two.decision_function(codes) > 0)
    # only codes that occur have weights
    assert model.weights_.shape == (len(np.unique(codes.to_csr().indices)), 3)
    assert model.n_features_in_ == 128 << codes.bits


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b", "c"],
        np.array(["x", "yy", "z"], dtype=object),
        [-1.0, 0.0, 7.0],
        [False, True, True],
        [3, 5, 900],
    ],
    ids=str,
)
def test_labels(flowers, labels):
    codes, y = flowers
    given = np.asarray(labels)[y]
    for rows in (codes, IRIS[0]):
        model = LinearClassifier().fit(rows, given)
        assert model.classes_.dtype == given.dtype
        assert model.predict(rows).dtype == given.dtype
        assert model.score(rows, given) > 0.6


def test_weights_are_repetitions(flowers):
    codes, y = flowers
    counts = np.arange(150) % 3
    weighted = LinearClassifier(tol=1e-7).fit(codes, y, counts)
    repeated = LinearClassifier(tol=1e-7).fit(
        codes[np.repeat(np.arange(150), counts)], np.repeat(y, counts)
    )
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-6)
    np.testing.assert_allclose(weighted.predict(codes), repeated.predict(codes))


# --- scikit-learn


def test_searches_and_scores(flowers):
    codes, y = flowers
    for rows in (codes, IRIS[0]):
        assert cross_val_score(LinearClassifier(C=10.0), rows, y).mean() > 0.9
        search = GridSearchCV(
            LinearClassifier(), {"C": np.logspace(0, 1, 2), "loss": ["hinge", "logistic"]}, cv=3
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert search.fit(rows, y).best_score_ > 0.9
        assert cross_val_score(LinearRegressor(C=10.0), rows, y).mean() > 0 or rows is codes


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(flowers, method):
    codes, y = flowers
    for rows in (codes, IRIS[0]):
        calibrated = CalibratedClassifierCV(LinearClassifier(), method=method, cv=3).fit(rows, y)
        P = calibrated.predict_proba(rows)
        assert P.shape == (150, 3)
        assert (P.argmax(axis=1) == y).mean() > 0.85


def test_pipelines_and_frames():
    X, y = load_iris(return_X_y=True, as_frame=True)
    pipeline = make_pipeline(GCWS(128), LinearClassifier(C=10.0)).fit(X, y)
    assert pipeline.score(X, y) > 0.95
    assert isinstance(pickle.loads(pickle.dumps(pipeline)), type(pipeline))
    model = LinearClassifier().fit(X, y)
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    np.testing.assert_array_equal(model.predict(X), model.predict(pd.DataFrame(X)))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[X.columns[::-1]])
    target = X.pop("petal width (cm)")
    assert LinearRegressor(C=10.0).fit(X, target).score(X, target) > 0.8
    refit = model.fit(GCWS(16).fit(X).encode(X), y)
    assert not hasattr(refit, "feature_names_in_")


def test_clones_and_pickles(flowers):
    codes, y = flowers
    model = LinearClassifier("hinge", C=2.0, class_weight={0: 2.0}, warm_start=True).fit(codes, y)
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "weights_")
    scores = model.decision_function(codes)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.decision_function(codes), scores)
    assert "_tables" not in model.__getstate__()
    with pytest.raises(AttributeError, match="no coef_ before fit"):
        _ = LinearClassifier().coef_


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("slots", [1, 64, 100, 128])
def test_equal_rows_of_both_classes_converge(slots: int, C: float) -> None:
    """Each coordinate undoes what the other has done: only a second-order method ends that."""
    codes = Codes(np.zeros((1000, slots), np.uint8), bits=8)
    y = np.random.default_rng(0).permutation(np.arange(1000) < 700)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = LinearClassifier(C=C).fit(codes, y)
    assert model.n_iter_ < 50
    # all margins are m: the mean of the targets, shrunk by the penalty of weights and intercept,
    # which is m^2 / 4; a gap of 1e-3 of the objective bounds its error by 0.03
    wanted = 0.4 / (1 + 1 / (4e3 * C))
    np.testing.assert_allclose(model.decision_function(codes[:1]), wanted, atol=0.03)
