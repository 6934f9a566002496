"""An estimator in a file, a state or a pickle predicts the same; damaged states are refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold

import kernelight
from kernelight import KernelClassifier, KernelRegressor, State, kernels

X, Y = load_iris(return_X_y=True)
CASES = [
    (KernelClassifier, {}),
    (KernelClassifier, {"kernel": "rbf"}),
    (KernelClassifier, {"kernel": "gmm", "method": "nystroem", "scale": "quantile"}),
    (KernelClassifier, {"kernel": "acos", "method": "sign", "scale": "standard"}),
    (KernelClassifier, {"kernel": "gaussian", "method": "binary"}),
    (KernelClassifier, {"kernel": "rbf", "method": "aligned"}),
    (KernelClassifier, {"kernel": "mm_acos", "method": "product", "scale": "minmax+complement"}),
    (KernelClassifier, {"kernel": "mm_rbf"}),
    (KernelClassifier, {"kernel": kernels.MinMax() + kernels.Acos(), "scale": "minmax"}),
    (KernelClassifier, {"method": "exact"}),
    (KernelClassifier, {"loss": "logistic", "C": 1.0, "class_weight": {0: 2.0, 1: 1.0, 2: 1.0}}),
    (KernelClassifier, {"cv": KFold(2), "scale": None}),
    (KernelRegressor, {}),
    (KernelRegressor, {"method": "exact", "kernel": "rbf"}),
    (KernelRegressor, {"loss": "epsilon_insensitive", "scale": "max"}),
]


def scores(model, rows):
    return (
        model.decision_function(rows)
        if hasattr(model, "decision_function")
        else model.predict(rows)
    )


def fitted(cls, params, rows=X):
    return cls(n_components=32, **params).fit(rows, Y)


@pytest.mark.parametrize(("cls", "params"), CASES)
def test_predictions_are_the_same(cls, params, tmp_path):
    model = fitted(cls, params)
    path = tmp_path / "model.kl"
    model.save(path)
    for again in (
        kernelight.load(path),
        cls.load(path),
        cls.from_state(model.to_state()),
        pickle.loads(pickle.dumps(model)),
    ):
        assert type(again) is cls
        np.testing.assert_array_equal(scores(again, X), scores(model, X))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.summary() == model.summary()
        assert again.search_ == model.search_
    assert kernelight.load(path).to_state() == model.to_state()


@pytest.mark.parametrize("method", [None, "exact", "nystroem"])
def test_sparse_rows(method, tmp_path):
    rows = sp.csr_matrix(X * (X > 1))
    model = fitted(KernelClassifier, {"method": method}, rows)
    model.save(tmp_path / "model.kl")
    np.testing.assert_array_equal(
        kernelight.load(tmp_path / "model.kl").decision_function(rows),
        model.decision_function(rows),
    )


@pytest.mark.parametrize(
    "labels",
    [np.array(["a", "b", "c"]), np.array(["a", "b", "c"], dtype=object), np.array([1.0, 2.0, 3.0])],
)
def test_labels_come_back(labels):
    model = KernelClassifier(n_components=16, C=1.0, scale=None).fit(X, labels[Y])
    again = KernelClassifier.from_state(model.to_state())
    assert again.predict(X).dtype == model.predict(X).dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_parameters_come_back_and_a_splitter_does_not():
    model = fitted(
        KernelClassifier,
        {"cv": KFold(2), "kernel": kernels.GMM(p=2.0), "class_weight": {0: 2.0, 1: 1.0, 2: 1.0}},
    )
    again = KernelClassifier.from_state(model.to_state())
    wanted = model.get_params() | {"cv": None, "random_state": 0}
    assert again.get_params() == wanted


def test_a_hashed_model_is_its_weights_and_little_more(tmp_path):
    model = KernelClassifier(n_components=256, C=1.0, scale=None).fit(X, Y)
    model.save(tmp_path / "model.kl")
    weights = sum(array.nbytes for array in model.model_.to_state().arrays.values())
    assert (tmp_path / "model.kl").stat().st_size < weights + 4_000


@pytest.mark.parametrize("params", [{}, {"kernel": "rbf", "method": "aligned"}])
def test_weights_in_half_precision(params, tmp_path):
    model = fitted(KernelClassifier, {"C": 1.0, "gamma": 1.0, **params} if params else {"C": 1.0})
    model.save(tmp_path / "model.kl", weights="float16")
    again = kernelight.load(tmp_path / "model.kl")
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=0.02)


def test_exact_stores_support_rows_and_duals():
    arrays = fitted(KernelClassifier, {"method": "exact", "scale": None}).to_state().arrays
    assert set(arrays) == {"medians_", "support.values", "support.duals", "support.intercept"}
    assert len(arrays["support.values"]) < len(X)


def test_a_loaded_model_fills_in_missing_numbers():
    model = fitted(KernelClassifier, {"method": "exact", "scale": None})
    rows = X.copy()
    rows[::2, 1] = np.nan
    loaded = KernelClassifier.from_state(model.to_state())
    np.testing.assert_array_equal(loaded.decision_function(rows), model.decision_function(rows))


HOSTILE = {
    "no kernel": lambda meta: meta.pop("kernel"),
    "another kernel": lambda meta: meta["kernel"].update(kind="os.system"),
    "no map": lambda meta: meta["parts"].pop("map"),
    "a map that is none": lambda meta: meta["parts"].update(map=3),
    "a map of another kind": lambda meta: meta["parts"]["map"].update(kind="KernelClassifier"),
    "a model that is a map": lambda meta: meta["parts"]["model"].update(kind="GCWS"),
    "other classes": lambda meta: meta["classes"].update(values=[0, 1, 5]),
    "one class": lambda meta: meta["classes"].update(values=[0]),
    "an unknown scale": lambda meta: meta["decided"].update(scale_="rank"),
    "a wider scale": lambda meta: meta["decided"].update(scale_="minmax+complement"),
    "C below 0": lambda meta: meta["decided"].update(C_=-1.0),
    "gamma a word": lambda meta: meta["decided"].update(gamma_="much"),
    "sources lost": lambda meta: meta["decided"].update(sources_={}),
    "sources unknown": lambda meta: meta["decided"]["sources_"].update(C="guessed"),
    "a search that is none": lambda meta: meta["decided"].update(search_=[1]),
    "a score that is none": lambda meta: meta["decided"].update(validation_score_="good"),
    "rows that are none": lambda meta: meta["decided"].update(n_rows_=0),
    "a note that is none": lambda meta: meta["decided"].update(held_out_=3),
    "another width": lambda meta: meta.update(n_features_in=5),
    "a seed that is none": lambda meta: meta["decided"].update(seed_=-1),
    "parameters unknown": lambda meta: meta["params"].update(shell="ls"),
    "a method unknown": lambda meta: meta["params"].update(method="exactly"),
    "no parts": lambda meta: meta.pop("parts"),
    "a search of lists": lambda meta: meta["decided"]["search_"][0].update(C=[]),
    "more slots than weights": lambda meta: meta["parts"]["map"]["params"].update(n_components=64),
    "more bits than weights": lambda meta: meta["parts"]["map"]["params"].update(bits=9),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_hostile_states_are_refused(change):
    state = KernelClassifier(n_components=32, scale="minmax").fit(X, Y).to_state()
    meta = state.meta
    change(meta)
    with pytest.raises(ValueError, match="This state does not describe a KernelClassifier"):
        KernelClassifier.from_state(State(meta, dict(state.arrays)))


@pytest.mark.parametrize("name", ["support.values", "support.duals", "support.intercept"])
@pytest.mark.parametrize(
    "change",
    [lambda array: array[:-1], lambda array: array * np.nan, lambda array: array.astype(np.int64)],
)
def test_hostile_support_is_refused(name, change):
    state = fitted(KernelClassifier, {"method": "exact", "scale": None}).to_state()
    arrays = dict(state.arrays)
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match="This state does not describe a KernelClassifier"):
        KernelClassifier.from_state(State(state.meta, arrays))


def test_what_cannot_be_stored_says_so():
    model = fitted(KernelClassifier, {"C": 1.0})
    model.set_params(scale="rank")
    with pytest.raises(ValueError, match="cannot be stored as it is: scale must be one of"):
        model.to_state()
