"""KernelClassifier and KernelRegressor: choices of the search, hashes, and predictions.

Long, because both estimators answer the same questions on the same few tables.
"""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers import circles
from sklearn.datasets import load_iris, make_regression
from sklearn.model_selection import KFold
from sklearn.svm import SVC

import kernelight
from kernelight import GCWS, KernelClassifier, KernelRegressor, kernels
from kernelight.estimators import exact_svm, folds, kernel_choice, kernel_model, routes
from kernelight.estimators.routes import LinearRoute
from kernelight.estimators.search import Search
from kernelight.maps import scaled_map

IRIS = load_iris(return_X_y=True)


@pytest.fixture
def hashed(monkeypatch):
    """How many rows were hashed, by the number of slots."""
    counts: dict[int, int] = {}
    encode = GCWS._encode

    def counted(self, X):
        counts[self.n_components] = counts.get(self.n_components, 0) + X.shape[0]
        return encode(self, X)

    monkeypatch.setattr(GCWS, "_encode", counted)
    return counts


# -- The search ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [None, "minmax"])
def test_a_grid_over_c_hashes_once(hashed, scale):
    X, y = circles(400)
    model = KernelClassifier(n_components=32, scale=scale).fit(X, y)
    assert hashed == {32: 400 + 400}  # for the race, and for the model
    assert len({entry["C"] for entry in model.search_}) >= 4
    assert model.sources_ == {"scale": "given", "gamma": "none", "p": "given", "C": "tuned"}


def test_the_final_model_takes_the_codes_of_the_search(hashed):
    X, y = circles(400)
    model = KernelClassifier(n_components=300).fit(X, y)
    scales = {entry["scale"] for entry in model.search_}
    assert len(scales) == 6
    assert hashed == {300: 6 * 400 + 400}


def test_many_rows_are_hashed_once_and_c_is_chosen_on_some(hashed):
    X, y = circles(13_000)
    model = KernelClassifier(n_components=16, scale="minmax").fit(X, y)
    assert hashed == {16: 900 + 13_000}
    assert {entry["n_rows"] for entry in model.search_} == {300, 900, 8_000}
    assert model.held_out_ == "1,600 rows held out"


def test_few_rows_get_defaults():
    X, y = circles(60)
    model = KernelClassifier("exp_gmm", n_components=32, p="tune").fit(X, y)
    assert (model.scale_, model.p_, model.C_, model.search_) == ("minmax", 1.0, 1.0, [])
    assert model.gamma_ > 0
    assert set(model.sources_.values()) == {"default"}
    assert "too few rows" in model.summary()
    score = f"accuracy {model.validation_score_:.3f} on 5 splits, 55 rows held out in all"
    assert model.summary().endswith(score)
    logistic = KernelClassifier(n_components=32, loss="logistic").fit(X, y)
    assert "not measured" in logistic.summary()  # no rows are held out


def test_classes_too_small_to_hold_out_get_defaults():
    X = np.random.default_rng(0).random((120, 3))
    model = KernelClassifier(n_components=16).fit(X, np.arange(120) // 3)
    assert model.search_ == []


def test_a_rare_class_is_learned_from_alone():
    X, y = circles(300)
    y = np.where(np.arange(300) < 3, 7, y)
    model = KernelClassifier(n_components=16, scale=None).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 7]
    assert model.search_


def test_folds_are_stratified():
    labels = np.repeat([0, 1, 2], [50, 13, 4])
    fold_of = folds.stratified_folds(labels, np.random.default_rng(0))
    for fold in range(5):
        assert np.bincount(labels[fold_of == fold], minlength=3).tolist() == [10, 2, 0]


def test_the_beginning_of_the_order_is_stratified():
    y = circles(1000, classes=4)[1]
    order = folds.stratified_order(KernelClassifier()._task(y, None), np.random.default_rng(0))
    assert sorted(order) == list(range(1000))
    np.testing.assert_allclose(np.bincount(y[order[:200]]), np.bincount(y) / 5, atol=2)


FIRST = np.arange(300) < 200


@pytest.mark.parametrize(
    "cv",
    [
        3,
        KFold(3, shuffle=True, random_state=0),
        [(FIRST, ~FIRST)],
        [(np.arange(200), np.arange(200, 300))],
    ],
)
def test_own_splits(cv):
    X, y = circles(300)
    model = KernelClassifier(n_components=32, scale=None, cv=cv).fit(X, y)
    assert {entry["n_rows"] for entry in model.search_} == {300}
    assert model.held_out_.startswith("100 rows" if isinstance(cv, list) else "3 splits, 300 rows")


def test_own_splits_serve_few_rows():
    X, y = circles(60)
    assert KernelClassifier(n_components=32, cv=2).fit(X, y).sources_["C"] == "tuned"


def test_splits_may_come_from_a_generator():
    X, y = circles(300)
    splits = list(KFold(3).split(X))
    first = KernelClassifier(n_components=16, cv=splits).fit(X, y)
    second = KernelClassifier(n_components=16, cv=(split for split in splits)).fit(X, y)
    assert first.search_ == second.search_


def test_one_row_has_no_r2():
    X, y = circles(150)
    with (
        pytest.warns(UserWarning, match="not well-defined"),
        pytest.raises(ValueError, match="at least two rows in each split"),
    ):
        KernelRegressor(n_components=16, cv=[(np.arange(149), [149])]).fit(X, y)


@pytest.mark.parametrize("cv", [[([0, 1], [300])], [([0, 1], [])], [([0.5], [1])]])
def test_splits_of_other_rows_are_refused(cv):
    X, y = circles(300)
    with pytest.raises(ValueError, match="cv must give splits of row indices"):
        KernelClassifier(n_components=8, cv=cv).fit(X, y)


def test_gamma_and_p_are_searched_where_the_kernel_has_them():
    X, y = circles(300)
    model = KernelClassifier("exp_gmm", n_components=16, scale="minmax", p="tune").fit(X, y)
    tried = {(entry["gamma"], entry["p"]) for entry in model.search_}
    assert len(tried) == len(kernel_choice.GAMMA_STEPS) * len(kernel_choice.P_GRID)
    assert model.kernel_ == kernels.ExpGMM(gamma=model.gamma_, p=model.p_)
    best = max(entry["score"] for entry in model.search_ if entry["C"] == model.C_)
    assert model.validation_score_ == best


def test_the_scale_that_is_needed_is_found():
    """Columns of very different size, of which the small one matters: only a scaling sees it."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 1e4, (600, 3)), rng.random(600)])
    y = X[:, 3] > 0.5
    tuned = KernelClassifier(n_components=128).fit(X[:400], y[:400])
    assert tuned.scale_ != "none"
    assert tuned.score(X[400:], y[400:]) > 0.9
    assert (
        KernelClassifier(n_components=128, scale=None).fit(X[:400], y[:400]).score(X[400:], y[400:])
        < 0.7
    )


def test_histograms_are_not_scaled():
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.ones(8), 200)
    model = KernelClassifier(n_components=16, C=1.0).fit(X, X[:, 0] > 0.1)
    assert (model.scale_, model.sources_["scale"], model.search_) == ("none", "only", [])


def test_the_same_seed_gives_the_same_model():
    X, y = circles(400)
    first, second = (KernelClassifier("rbf", n_components=32).fit(X, y) for _ in range(2))
    assert first.search_ == second.search_
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    other = KernelClassifier("rbf", n_components=32, random_state=1).fit(X, y)
    assert (other.decision_function(X) != first.decision_function(X)).any()


# -- Kernels and methods ---------------------------------------------------------------------------

NAMES = [
    "linear",
    "rbf",
    "folded_rbf",
    "frbf",
    "gaussian",
    "acos",
    "acos_chi2",
    "minmax",
    "gmm",
    "exp_gmm",
    "ngmm",
    "intersection",
    "mm_acos",
    "mm_acos_chi2",
    "mm_rbf",
]


@pytest.mark.parametrize(
    "kernel", [*NAMES, kernels.GMM(p=0.5), kernels.RBF(5.0), kernels.MinMax() + kernels.Acos()]
)
def test_every_kernel(kernel):
    X, y = IRIS
    model = KernelClassifier(kernel, n_components=128, C=10.0, scale="minmax").fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.7
    assert repr(model.kernel_) in model.summary()


METHODS = [
    ("gmm", "gcws"),
    ("rbf", "fourier"),
    ("gmm", "nystroem"),
    ("acos", "sign"),
    ("gaussian", "binary"),
    ("rbf", "aligned"),
    ("gaussian", "aligned"),
    ("mm_acos", "product"),
    ("rbf", "exact"),
    ("gmm", None),
]


@pytest.mark.parametrize(("kernel", "method"), METHODS)
@pytest.mark.parametrize("cls", [KernelClassifier, KernelRegressor])
def test_every_method(cls, kernel, method):
    X, y = IRIS
    model = cls(kernel, 128, method=method, C=10.0, scale="minmax", gamma="tune").fit(X, y)
    assert model.score(X, y) > 0.7


def test_labels_that_maps_learn_from_are_not_those_that_are_scored(monkeypatch):
    seen = []
    prepare = kernel_model.LinearRoute.prepare

    def watched(self, kernel, scaling, X, task, n_components):
        seen.append(len(task.y))
        return prepare(self, kernel, scaling, X, task, n_components)

    monkeypatch.setattr(kernel_model.LinearRoute, "prepare", watched)
    X, y = circles(200)
    KernelClassifier("rbf", 32, method="aligned", gamma=1.0, scale=None).fit(X, y)
    assert seen[-1] == 200
    assert max(seen[:-1]) <= 164


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"kernel": "gmn"}, "did you mean 'gmm'"),
        ({"kernel": kernels.GMM}, "write GMM"),
        ({"gamma": "auto"}, "gamma must be a number above 0, 'tune' or 'scale', got 'auto'"),
        ({"p": -1.0}, "p must be a finite number above 0"),
        ({"C": 0}, "C must be a finite number above 0"),
        ({"C": "auto"}, "C must be a number above 0 or 'tune', got 'auto'"),
        ({"scale": "robust"}, "scale must be one of None, 'none', 'minmax'"),
        ({"method": "gcsw"}, "method must be one of None, 'gcws', .*, 'exact', got 'gcsw'"),
        ({"kernel": "rbf", "method": "gcws"}, "GCWS has no features of RBF"),
        ({"method": "aligned"}, "chooses features of RBF or Gaussian by labels"),
        ({"method": "exact", "loss": "logistic"}, "has no logistic loss"),
        ({"loss": "squared"}, "loss must be one of 'squared_hinge', 'hinge', 'logistic'"),
        ({"bits": 17}, "bits must be between 1 and 16"),
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
    ],
)
def test_wrong_parameters(params, sentence):
    model = KernelClassifier(**params)
    with pytest.raises((TypeError, ValueError), match=sentence):
        model.fit(*IRIS)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"gamma": 2.0}, r"The kernel 'gmm' has no gamma: gamma=2.0 is ignored"),
        ({"gamma": "scale"}, r"The kernel 'gmm' has no gamma: gamma='scale' is ignored"),
        ({"kernel": "acos", "p": 2.0}, r"The kernel 'acos' has no p: p=2.0 is ignored"),
        (
            {"kernel": kernels.RBF(2.0), "gamma": 2.0},
            r"RBF\(gamma=2.0\) decides its own parameters: gamma=2.0",
        ),
    ],
)
def test_parameters_that_a_kernel_does_not_have_are_ignored(params, sentence, tmp_path):
    model = KernelClassifier(n_components=16, C=1.0, scale="minmax", **params)
    with pytest.warns(UserWarning, match=sentence):
        model.fit(*IRIS)
    model.save(tmp_path / "model.kl")
    again = kernelight.load(tmp_path / "model.kl")
    np.testing.assert_array_equal(again.predict(IRIS[0]), model.predict(IRIS[0]))


def test_gamma_by_the_rule_of_scikit_learn():
    """The rule is that of SVC(gamma="scale") for the rows that the kernel sees."""
    X, y = circles(300)
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    model = KernelClassifier(
        "gaussian", method="exact", gamma="scale", scale="standard", C=2.0
    ).fit(X, y)
    assert model.gamma_ == pytest.approx(1 / (2 * rows.var()), rel=1e-5)
    assert model.sources_["gamma"] == "rule"
    theirs = SVC(C=2.0, gamma="scale").fit(rows, y)
    np.testing.assert_allclose(
        model.decision_function(X), theirs.decision_function(rows), atol=1e-3
    )

    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    model = KernelClassifier("rbf", method="exact", gamma="scale", scale=None, C=2.0).fit(X, y)
    theirs = SVC(C=2.0, gamma="scale").fit(units, y)
    np.testing.assert_allclose(
        model.decision_function(X), theirs.decision_function(units), atol=1e-3
    )
    sparse = KernelClassifier("rbf", 16, gamma="scale", scale=None, C=2.0).fit(sp.csr_matrix(X), y)
    assert sparse.gamma_ == pytest.approx(model.gamma_)
    median = KernelClassifier("exp_gmm", 16, gamma="scale", scale="minmax", C=2.0).fit(X, y)
    assert 0 < median.gamma_ < 100
    constant = KernelRegressor("gaussian", 16, gamma="scale", scale="minmax", C=2.0).fit(
        np.ones((9, 2)), range(9)
    )
    assert constant.gamma_ == 1.0


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least two classes"):
        KernelClassifier().fit(IRIS[0], np.zeros(150))


def test_exact_is_the_svc_of_the_kernel():
    X, y = circles(300)
    ours = KernelClassifier("gmm", method="exact", C=2.0, scale=None).fit(X, y)
    theirs = SVC(C=2.0, kernel=kernels.GMM()).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)
    assert len(ours.model_.rows) == len(theirs.support_)


def test_exact_refuses_many_rows(monkeypatch):
    monkeypatch.setattr(exact_svm, "MAX_ROWS", 100)
    with pytest.raises(ValueError, match="it takes 100 rows at most, got 150; leave method=None"):
        KernelClassifier(method="exact", C=1.0, scale=None).fit(*IRIS)


def test_exact_counts_weights():
    X, y = circles(200)
    weight = np.random.default_rng(0).integers(1, 4, 200)
    weighted = KernelClassifier(method="exact", C=1.0, scale=None, class_weight={0: 2.0, 1: 1.0})
    repeated = KernelClassifier(method="exact", C=1.0, scale=None)
    all_weights = weight * np.where(y == 0, 2, 1)
    scores = weighted.fit(X, y, sample_weight=weight).decision_function(X)
    wanted = repeated.fit(
        np.repeat(X, all_weights, axis=0), np.repeat(y, all_weights)
    ).decision_function(X)
    np.testing.assert_allclose(scores, wanted, atol=0.01)


# -- Data ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [np.array(["no", "yes"]), np.array(["no", "yes"], dtype=object), np.array([False, True])],
)
def test_labels_of_any_kind(labels):
    X, y = circles(300)
    model = KernelClassifier(n_components=64, C=1.0).fit(X, labels[y])
    assert model.classes_.tolist() == labels.tolist()
    assert model.predict(X).dtype == labels.dtype
    assert model.score(X, labels[y]) > 0.9
    assert model.decision_function(X).shape == (300,)


def test_frames_bring_names():
    X, y = IRIS
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = KernelClassifier(n_components=32).fit(frame, pd.Series(y).map({0: "s", 1: "v", 2: "w"}))
    assert model.feature_names_in_.tolist() == list("abcd")
    assert set(model.predict(frame)) == {"s", "v", "w"}
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("method", [None, "exact", "nystroem"])
def test_sparse_rows(form, method):
    X = sp.random(300, 40, density=0.2, format="csr", random_state=0)
    y = np.asarray(X[:, :5].sum(axis=1)).ravel() > 0.5
    model = KernelClassifier(n_components=64, method=method).fit(form(X), y)
    assert model.scale_ in ("none", "max")
    assert {entry["scale"] for entry in model.search_} == {"none", "max"}
    np.testing.assert_allclose(
        model.decision_function(form(X)), model.decision_function(X.toarray()), atol=1e-6
    )


def test_a_dense_scaling_refuses_sparse_rows_later():
    X, y = circles(200)
    model = KernelClassifier(n_components=16, scale="standard", C=1.0).fit(X, y)
    with pytest.raises(ValueError, match="use 'max' or None"):
        model.predict(sp.csr_matrix(X))


def test_a_kernel_with_a_centre_sees_rows_as_they_are():
    X, y = circles(200)
    model = KernelClassifier(kernels.GMM(center=(0.1, -0.1)), n_components=32).fit(X, y)
    assert model.scale_ == "none"


def test_the_logistic_loss_has_its_own_probabilities():
    X, y = IRIS
    model = KernelClassifier(n_components=64, C=1.0, loss="logistic").fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    assert model.calibration_ is None


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = circles(200)
    model = KernelClassifier(n_components=16, C=1.0).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full((5, 9), np.inf), [0, 1, 0, 1, 0])
    np.testing.assert_array_equal(model.decision_function(X), before)


# -- Regression ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive"])
def test_the_unit_of_the_target_does_not_matter(loss):
    X, y = make_regression(200, 4, noise=1.0, random_state=0)
    plain = KernelRegressor(n_components=64, loss=loss).fit(X, y)
    moved = KernelRegressor(n_components=64, loss=loss).fit(X, 1e6 + 1000 * y)
    assert (plain.C_, plain.scale_) == (moved.C_, moved.scale_)
    np.testing.assert_allclose(moved.predict(X), 1e6 + 1000 * plain.predict(X), rtol=1e-3)


def test_a_constant_target_is_predicted():
    X = np.random.default_rng(0).random((150, 3))
    np.testing.assert_allclose(
        KernelRegressor(n_components=16).fit(X, np.full(150, 5.0)).predict(X), 5.0
    )


# -- Blocks, threads, memory -----------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "method"), METHODS)
def test_blocks_do_not_matter(kernel, method, monkeypatch):
    X, y = circles(1500)
    model = KernelClassifier(kernel, 32, method=method, C=1.0, scale="minmax").fit(X[:600], y[:600])
    whole = model.decision_function(X)
    monkeypatch.setattr(scaled_map, "_FEWEST", 7)
    monkeypatch.setattr(scaled_map, "_BLOCK_VALUES", 700)
    np.testing.assert_allclose(model.decision_function(X), whole, rtol=1e-5, atol=1e-5)
    if hasattr(model.map_, "encode"):
        np.testing.assert_array_equal(model.decision_function(X), whole)


@pytest.mark.parametrize("kernel", ["gmm", "acos", "mm_acos"])
def test_threads_do_not_matter(kernel, monkeypatch):
    X, y = circles(1000)
    scores = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("KERNELIGHT_NUM_THREADS", threads)
        scores.append(
            KernelClassifier(kernel, 64, C=1.0, scale="minmax").fit(X, y).decision_function(X)
        )
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


def test_prediction_takes_a_block_at_a_time():
    X, y = circles(60_000)
    model = KernelClassifier(n_components=256, C=1.0, scale="minmax+complement").fit(
        X[:500], y[:500]
    )
    model.predict(X[:10])
    tracemalloc.start()
    model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All codes would take 15 MB, their one-hot features in a sparse matrix 120, written out 15,000.
    assert peak < 12e6


# -- Many rows -------------------------------------------------------------------------------------


def test_settings_that_are_close_meet_on_more_rows_where_there_are_many():
    X, y = circles(9_000)
    model = KernelClassifier(n_components=32).fit(X, y)
    sizes = [entry["n_rows"] for entry in model.search_]
    assert sizes == sorted(sizes)
    assert sizes[-1] == 8_000
    # up to three settings with one C each, then one setting with up to three
    last = [(entry["scale"], entry["C"]) for entry in model.search_ if entry["n_rows"] == 8_000]
    assert last[-1][0] == model.scale_
    assert 1 <= len({scale for scale, _ in last}) <= 3
    small = KernelClassifier(n_components=32).fit(X[:8_000], y[:8_000])
    assert {entry["scale"] for entry in small.search_ if entry["n_rows"] == 8_000} == {small.scale_}


@pytest.mark.parametrize(
    ("raced", "last", "n_rows", "grown"),
    [
        (1.0, 3.2, 8_000, 3.2),  # no more rows than the last round has
        (3.2, 3.2, 80_000, 3.2),  # it has not grown before
        (1.0, 3.2, 80_000, 10.0),  # 3.2 times from 900 to 8,000 rows: on with the square root
        (1.0, 3.2, 800_000, 10.0),  # no larger than what is worth its time on many rows
        (3.2, 30.0, 800_000, 30.0),  # never smaller than what the last round has chosen
    ],
)
def test_c_grows_on_as_it_has_grown(raced, last, n_rows, grown):
    X = np.random.default_rng(0).random((n_rows, 1))
    y = (X[:, 0] > 0.5).astype(int)
    task = KernelClassifier()._task(y, None)
    route = LinearRoute(None, 8, 0, 1)
    space = KernelClassifier(n_components=1024, scale="minmax")._space()
    search = Search(space, route, X, task, 0)
    assert search._for_all_rows(last, raced) == pytest.approx(grown, rel=0.05)


@pytest.mark.parametrize(("limit", "tol"), [(100, routes.SEARCH_TOL), (200, 1e-3)])
def test_many_rows_are_trained_to_the_tolerance_of_the_search(monkeypatch, limit, tol):
    monkeypatch.setattr(routes, "LOOSE_ROWS", limit)
    X, y = IRIS
    assert KernelClassifier(n_components=16, C=1.0).fit(X, y).model_.tol == tol
