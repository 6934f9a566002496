"""kernel="auto": the average of a min-max kernel, ferns and forest leaves."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine, make_friedman1
from sklearn.model_selection import StratifiedKFold

from kernelight import KernelClassifier, KernelRegressor, TableMap, TableModel, load
from kernelight.data import DataWarning
from kernelight.estimators.average_model import MEMBERS, AverageModel
from kernelight.estimators.average_search import AverageSearch, _Tuned
from kernelight.estimators.search_result import HeldOut
from kernelight.state import State

Array = Any


@pytest.fixture(scope="module")
def wine() -> tuple[Array, Array, Any]:
    """Rows, labels and a model of three classes."""
    X, y = load_wine(return_X_y=True)
    return X, y, KernelClassifier("auto", 256).fit(X, y)


@pytest.fixture(scope="module")
def friedman() -> tuple[Array, Array, Any]:
    """Rows, quantities and a model of 400 of them."""
    X, y = make_friedman1(900, random_state=0)
    return X, y, KernelRegressor("auto").fit(X[:400], y[:400])


def thresholds(n_rows: int, seed: int) -> tuple[Array, Array]:
    """Two classes by two thresholds among columns of noise, where min-max kernels are weak."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 8))
    return X, (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)


def test_scores_are_the_mean_of_those_of_the_members(wine: Any, friedman: Any) -> None:
    for X, _, model in (wine, friedman):
        members = model.model_.members
        assert tuple(member.name for member in members) == MEMBERS
        mean = np.mean([member.scores(np.asarray(X)) for member in members], axis=0)
        scores = (
            model.decision_function(X)
            if isinstance(model, KernelClassifier)
            else (model.predict(X) - model.target_mean_) / model.target_scale_
        )
        np.testing.assert_allclose(scores, mean.reshape(scores.shape), rtol=1e-12, atol=1e-12)


def test_each_member_scores_rows_by_its_own_map_and_model(wine: Any) -> None:
    X, _, model = wine
    gmm, ferns, leaves = model.model_.members
    assert gmm.scaled_map.scaling.name != "none"
    for member in (ferns, leaves):
        features = member.scaled_map.feature_map.encode(member.scaled_map.scaling(X))
        expected = member.model.decision_function(features) / member.unit
        np.testing.assert_array_equal(member.scores(X), expected)


def test_units_are_the_mean_sizes_of_held_out_scores(wine: Any, friedman: Any) -> None:
    assert all(0.1 < member.unit < 10 for member in wine[2].model_.members)
    assert len({member.unit for member in wine[2].model_.members}) == 3
    assert [member.unit for member in friedman[2].model_.members] == [1.0, 1.0, 1.0]


def test_it_learns_thresholds_that_a_minmax_kernel_does_not() -> None:
    X, y = thresholds(1500, 0)
    X_test, y_test = thresholds(4000, 1)
    right, alone = (
        KernelClassifier(kernel, 512).fit(X, y).predict(X_test) == y_test
        for kernel in ("auto", "gmm")
    )
    gain = right.astype(float) - alone
    assert gain.mean() > 5 * gain.std() / np.sqrt(len(gain))


def test_held_out_scores_know_nothing_of_their_labels() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((2500, 6)), rng.integers(0, 2, 2500)
    model = KernelClassifier("auto", 128).fit(X, y)
    assert model.held_out_ == "499 rows held out"
    held_out = 499
    assert abs(model.validation_score_ - 0.5) < 5 * 0.5 / np.sqrt(held_out)
    for member in model.model_.members[1:]:
        assert abs(member.score - 0.5) < 5 * 0.5 / np.sqrt(held_out)


@pytest.mark.parametrize("which", ["classes", "quantities"])
def test_a_state_predicts_the_same_bits(
    which: str, wine: Any, friedman: Any, tmp_path: Any
) -> None:
    X, _, model = wine if which == "classes" else friedman
    path = tmp_path / "m.klt"
    model.save(path)
    again = load(path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.summary() == model.summary()
    if which == "classes":
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    else:
        for one, other in zip(again.predict_interval(X), model.predict_interval(X), strict=True):
            np.testing.assert_array_equal(one, other)
    half = tmp_path / "h.klt"
    model.save(half, weights="float16")
    assert half.stat().st_size < path.stat().st_size
    if which == "classes":
        assert np.mean(load(half).predict(X) == model.predict(X)) > 0.99
    else:  # weights are rounded by 2^-11 of their size at most, up and down
        spread = float(np.std(model.predict(X)))
        assert np.abs(load(half).predict(X) - model.predict(X)).max() < 2.0**-11 * spread


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"members": []}, "1 to 3 members"),
        ({"members": [{"kind": "Member"}]}, "scale"),
        ({"unit": -1.0}, "unit"),
        ({"name": "trees"}, "name of a member"),
        ({"C": "large"}, "C of a member"),
        ({"score": "good"}, "score of a member"),
        ({"scaling": {"name": "none", "n_features": 3}}, "width"),
    ],
)
def test_damaged_states_are_refused(wine: Any, change: dict[str, Any], said: str) -> None:
    state = wine[2].to_state()
    meta = dict(state.meta)
    if "members" in change:
        meta |= change
    else:
        meta["members"] = [meta["members"][0] | change, *meta["members"][1:]]
    with pytest.raises(ValueError, match=said):
        KernelClassifier.from_state(State(meta, state.arrays))


def test_members_must_differ_and_have_their_arrays(wine: Any) -> None:
    state = wine[2].to_state()
    twice = state.meta | {"members": [*state.meta["members"][:2], state.meta["members"][1]]}
    with pytest.raises(ValueError, match="This state does not describe"):
        KernelClassifier.from_state(State(twice, state.arrays))
    for start in ("member0.", "member1.", "member2."):
        arrays = {name: each for name, each in state.arrays.items() if not name.startswith(start)}
        with pytest.raises(ValueError, match="This state does not describe"):
            KernelClassifier.from_state(State(state.meta, arrays))


def test_threads_and_repetition_do_not_matter() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    one = KernelClassifier("auto", 64, n_jobs=1).fit(X, y)
    two = KernelClassifier("auto", 64, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    other = clone(one).set_params(random_state=1).fit(X, y)
    assert not np.array_equal(one.decision_function(X), other.decision_function(X))


def test_probabilities_are_calibrated_on_rows_held_out(wine: Any) -> None:
    X, _, model = wine
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))


def test_intervals_cover_what_they_promise(friedman: Any) -> None:
    X, y, model = friedman
    low, high = model.predict_interval(X[400:], coverage=0.8)
    inside = np.mean((low <= y[400:]) & (y[400:] <= high))
    # the width is itself a quantile of 400 errors: two independent sources of noise
    assert abs(inside - 0.8) < 5 * np.sqrt(0.16 / 500 + 0.16 / 400)


def test_rows_of_all_kinds() -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 12)) < 0.3, rng.random((300, 12)), 0.0)
    y = np.where(X[:, 0] + X[:, 1] > 0.25, "yes", "no")
    dense = KernelClassifier("auto", 64, scale="max").fit(X, y)
    sparse = KernelClassifier("auto", 64, scale="max").fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(sparse.predict(sp.csr_matrix(X)), dense.predict(X))
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(12)]).assign(
        word=rng.choice(["a", "b", None], 300)
    )
    frame.loc[::7, "c3"] = np.nan
    model = KernelClassifier("auto", 64).fit(frame, y)
    assert model.score(frame, y) > 0.8
    assert np.isfinite(model.predict_proba(frame)).all()


def test_several_targets(friedman: Any) -> None:
    X, y, _ = friedman
    both = np.column_stack([y, -2 * y + X[:, 0]])
    model = KernelRegressor("auto", 128).fit(X[:400], both[:400])
    assert model.predict(X).shape == (900, 2)
    assert model.score(X[400:], both[400:]) > 0.7


def test_few_rows_are_learned_without_a_choice() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((30, 3))
    y = np.repeat(["a", "b", "c"], 10)
    X[:, 0] += np.repeat([0, 1, 2], 10)
    model = KernelClassifier("auto", 64).fit(X, y)
    assert model.score(X, y) > 0.9
    assert "average" in model.summary()
    single = KernelClassifier("auto", 64).fit(X[[0, 11]], y[[0, 11]])
    assert single.predict(X[[0, 11]]).tolist() == ["a", "b"]


def test_constant_columns_leave_a_model_of_the_mean() -> None:
    X, y = np.ones((120, 2)), np.arange(120.0)
    model = KernelRegressor("auto", 32).fit(X, y)
    np.testing.assert_allclose(model.predict(X), np.full(120, y.mean()), atol=5)


def test_constant_columns_leave_the_most_frequent_class() -> None:
    y = np.random.default_rng(0).permutation(np.arange(1000) < 700).astype(int)
    model = KernelClassifier("auto", n_jobs=1).fit(np.ones((1000, 3)), y)
    assert model.predict(np.ones((1, 3))) == [1]
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 3)))[0, 1], 0.7, atol=0.02)


def test_given_parameters_are_kept() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = KernelClassifier("auto", 64, C=0.5, scale="quantile").fit(X, y)
    assert [member.C for member in model.model_.members] == [0.5] * 3
    assert model.model_.members[0].scaled_map.scaling.name == "quantile"
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    by_auc = KernelClassifier("auto", 64, scoring="roc_auc", cv=cv).fit(X, y)
    assert by_auc.validation_score_ > 0.97
    assert {entry["member"] for entry in by_auc.search_} == set(MEMBERS)
    balanced = KernelClassifier("auto", 64, class_weight="balanced", loss="hinge").fit(X, y)
    assert balanced.score(X, y) > 0.9


def test_weights_count() -> None:
    X, y = thresholds(400, 0)
    weight = np.ones(400)
    weight[200:] = 0
    left_out = KernelClassifier("auto", 64).fit(X, y, weight)
    others = np.where(weight[:, None] == 0, 5 - X, X)
    same = KernelClassifier("auto", 64).fit(others, np.where(weight == 0, ~y, y), weight)
    np.testing.assert_array_equal(left_out.decision_function(X), same.decision_function(X))
    heavy = KernelClassifier("auto", 64).fit(X, y, np.where(y, 50.0, 1.0))
    assert heavy.predict(X).mean() > KernelClassifier("auto", 64).fit(X, y).predict(X).mean()


def test_what_needs_one_kernel_is_refused(wine: Any, tmp_path: Any) -> None:
    X, y, model = wine
    with pytest.raises(ValueError, match=r"kernel='auto' has its own methods: leave method=None"):
        KernelClassifier("auto", method="gcws").fit(X, y)
    assert not hasattr(KernelClassifier("auto"), "partial_fit")
    with pytest.raises(ValueError, match=r"fit kernel='gmm' instead"):
        model.to_codes()
    with pytest.raises(ValueError, match=r"fit kernel='gmm' for codes"):
        TableMap.of(model)
    frame = pd.DataFrame(X).assign(y=y)
    frame.columns = [str(name) for name in frame.columns]
    table = TableModel(KernelClassifier("auto", 64))
    with pytest.warns(DataWarning, match="within a limit of memory the model is that of kernel"):
        table.fit(frame, target="y", memory="2G")
    assert table.model_.kernel == "gmm"


@pytest.mark.parametrize("which", ["classes", "quantities"])
def test_contributions_add_up(which: str, wine: Any, friedman: Any) -> None:
    X, _, model = wine if which == "classes" else friedman
    explained = model.explain(X)
    scores = model.decision_function(X) if which == "classes" else model.predict(X)
    total = explained.values.sum(axis=1) + explained.base_values
    np.testing.assert_allclose(total, scores, rtol=0, atol=1e-5 * np.abs(scores).max())
    again = type(model).from_state(model.to_state()).explain(X)
    np.testing.assert_array_equal(again.values, explained.values)


def test_contributions_are_the_mean_of_those_of_the_members(friedman: Any) -> None:
    X, _, model = friedman
    known = model.explain(X, background=X[:400])
    each = []
    for member in model.model_.members:
        alone = copy(model)
        alone.model_ = AverageModel((member,))
        each.append(alone.explain(X, background=X[:400]).values)
    np.testing.assert_allclose(known.values, np.mean(each, axis=0), atol=1e-9)


def test_columns_of_noise_have_the_least_importance(friedman: Any) -> None:
    importances = friedman[2].feature_importances_
    assert importances[:5].min() > importances[5:].max()


def test_the_race_of_an_average_is_short() -> None:
    """Two settings at most go on to the second round, where more do for the kernel alone."""
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(1500, 4))
    y = rng.random(1500) < 1 / (1 + np.exp(1 - X[:, 0]))  # noise: no setting is far behind
    raced = {}
    for kernel in ("auto", "gmm"):
        table = KernelClassifier(kernel, n_components=64).fit(X, y).search_
        rows = [entry for entry in table if entry.get("member", "gmm") == "gmm"]
        raced[kernel] = {
            size: {entry["scale"] for entry in rows if entry["n_rows"] == size}
            for size in {entry["n_rows"] for entry in rows}
        }
    assert len(raced["auto"][300]) == len(raced["gmm"][300]) > 2
    assert len(raced["auto"][900]) <= 2 < len(raced["gmm"][900])


@pytest.mark.parametrize(("offset", "factor"), [(1e9, 1.0), (0.0, 1e-46), (0.0, 1e290)])
def test_columns_beyond_single_precision_are_learned(offset: float, factor: float) -> None:
    X, y = thresholds(600, 0)
    plain = KernelClassifier("auto", 64).fit(X[:400], y[:400])
    moved = KernelClassifier("auto", 64).fit(X[:400] * factor + offset, y[:400])
    assert moved.score(X[400:] * factor + offset, y[400:]) > plain.score(X[400:], y[400:]) - 0.05


def test_a_member_that_learned_nothing_is_not_made_loud() -> None:
    _, y = thresholds(400, 0)
    search = AverageSearch.__new__(AverageSearch)
    task = KernelClassifier("auto")._task(y, None)
    rows = np.arange(400)
    sizes = {"gmm": 0.8, "ferns": 0.5, "leaves": 0.001}
    search._task = task
    search._tuned = {
        name: _Tuned(1.0, HeldOut(task, np.full((400, 1), size), rows), 0.5)
        for name, size in sizes.items()
    }
    assert [search._unit(name) for name in sizes] == pytest.approx([0.8, 0.5, 0.2])
