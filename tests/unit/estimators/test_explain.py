"""`explain` and `feature_importances_`: sums, columns, units, states, and what refuses them."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_linnerud, load_wine
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance

from kernelight import Contributions, KernelClassifier, KernelRegressor
from kernelight.estimators import additive
from kernelight.state import State

rng = np.random.default_rng(0)
HASHED = {"n_components": 256, "C": 1.0}
RIDGE = {"method": "ridge", "C": 1.0}


def friedman(n: int, d: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.random((n, max(d, 5)))
    effect = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X[:, :d], effect + 10 * X[:, 3] + 5 * X[:, 4] + random.standard_normal(n)


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


def assert_adds_up(model, X, contributions: Contributions | None = None) -> Contributions:
    found = model.explain(X) if contributions is None else contributions
    wanted = scores(model, X)
    size = np.abs(found.values).sum(axis=1) + np.abs(found.base_values)
    assert (np.abs(found.scores - wanted) <= 2e-6 * size + 1e-12).all()
    assert found.values.shape == found.standard_errors.shape
    return found


CASES = {
    "gmm": {},
    "gmm, ridge": RIDGE,
    "gmm, exact": {"method": "exact", "C": 1.0},
    "power": {"p": 2.0},
    "power, ridge": {"p": 2.0, **RIDGE},
    "ngmm": {"kernel": "ngmm"},
    "ngmm, ridge": {"kernel": "ngmm", **RIDGE},
    "exp_gmm": {"kernel": "exp_gmm", "gamma": 2.0},
    "exp_gmm, small gamma": {"kernel": "exp_gmm", "gamma": 0.01},
    "exp_gmm, ridge": {"kernel": "exp_gmm", "gamma": 2.0, **RIDGE},
    "minmax": {"kernel": "minmax", "scale": "minmax"},
    "12 bits": {"bits": 12},
    "one slot": {"n_components": 1},
}


@pytest.mark.parametrize("scale", ["minmax+complement", "quantile", "standard", None])
@pytest.mark.parametrize("name", CASES)
def test_values_and_base_values_add_up_to_scores(name, scale):
    X, y = friedman(200, 5)
    options = {"scale": scale, **({} if "method" in CASES[name] else HASHED), **CASES[name]}
    if name == "minmax":
        options["scale"] = "minmax"
    regressor = KernelRegressor(**options).fit(X[:150], y[:150])
    found = assert_adds_up(regressor, X)
    assert found.values.shape == (200, 5)
    labels = np.digitize(y, [10, 18])
    found = assert_adds_up(KernelClassifier(**options).fit(X[:150], labels[:150]), X)
    assert found.values.shape == (200, 5, 3)
    assert found.output_names == ["0", "1", "2"]


@pytest.mark.parametrize("options", [HASHED, RIDGE], ids=["hashed", "ridge"])
def test_contributions_average_zero_over_the_background(options):
    X, y = friedman(300, 5)
    model = KernelRegressor(**options).fit(X, y)
    found = model.explain(X)
    size = found.values.std()
    # a model of codes keeps its means in half precision
    assert np.abs(found.values.mean(axis=0)).max() < (1e-9 if options is RIDGE else 2e-3) * size
    np.testing.assert_allclose(found.base_values, model.predict(X).mean(), rtol=1e-3)
    other = assert_adds_up(model, X, model.explain(X, background=X[:40]))
    assert np.abs(other.values[:40].mean(axis=0)).max() < 1e-5 * size
    np.testing.assert_allclose(other.base_values, model.predict(X[:40]).mean(), rtol=1e-5)


@pytest.mark.parametrize("options", [{"n_components": 1024}, {"method": "ridge"}], ids=str)
def test_friedman(options):
    """Columns that do not matter come last, and contributions follow the true effects."""
    X, y = friedman(1500)
    model = KernelRegressor(**options).fit(X, y)
    importances = model.feature_importances_
    assert importances[:5].min() > 2 * importances[5:].max()
    assert importances.sum() == pytest.approx(1.0)
    fresh, _ = friedman(1000, seed=1)
    values = model.explain(fresh).values
    effects = {2: (fresh[:, 2] - 0.5) ** 2, 3: fresh[:, 3], 4: fresh[:, 4]}
    for column, effect in effects.items():
        assert np.corrcoef(values[:, column], effect)[0, 1] > 0.95
    both = np.sin(np.pi * fresh[:, 0] * fresh[:, 1])
    assert np.corrcoef(values[:, 0] + values[:, 1], both)[0, 1] > 0.95


SETS = {
    "iris": (KernelClassifier, load_iris),
    "wine": (KernelClassifier, load_wine),
    "breast cancer": (KernelClassifier, load_breast_cancer),
    "diabetes": (KernelRegressor, load_diabetes),
    "friedman": (KernelRegressor, lambda return_X_y: friedman(500)),
}


@pytest.mark.parametrize("name", SETS)
def test_importances_agree_with_permutation_in_rank(name):
    kind, load = SETS[name]
    X, y = load(return_X_y=True)
    model = kind().fit(X, y)
    by_permutation = permutation_importance(
        model,
        X,
        y,
        scoring="neg_log_loss" if kind is KernelClassifier else None,
        n_repeats=5,
        random_state=0,
    ).importances_mean
    ranks = [np.argsort(np.argsort(each)) for each in (by_permutation, model.feature_importances_)]
    assert np.corrcoef(*ranks)[0, 1] > 0.6
    strongest = np.argsort(-by_permutation)[: max(2, X.shape[1] // 3)]
    assert int(np.argmax(model.feature_importances_)) in strongest


def test_standard_errors_are_not_too_small():
    """Over seeds values stray by less than is said, because weights make up for the hashes."""
    X, y = friedman(300, 4)
    found = [
        KernelRegressor(n_components=128, C=1.0, scale="minmax+complement", random_state=seed)
        .fit(X, y)
        .explain(X[:20])
        for seed in range(30)
    ]
    spread = np.std([each.values for each in found], axis=0)
    said = np.mean([each.standard_errors for each in found], axis=0)
    assert 1.0 < np.median(said / spread) < 4.0
    assert (KernelRegressor(**RIDGE).fit(X, y).explain(X[:5]).standard_errors == 0).all()


def frame(n: int = 200) -> pd.DataFrame:
    random = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "size": random.random(n),
            "colour": random.choice(["red", "green", "blue"], n),
            "when": pd.Timestamp("2021-03-01") + pd.to_timedelta(random.integers(0, 700, n), "D"),
            "flag": random.choice([True, False], n),
            "noise": random.standard_normal(n),
        }
    )
    table.loc[::9, "size"] = np.nan
    table.loc[::11, "colour"] = None
    return table


def target(table: pd.DataFrame) -> np.ndarray:
    return np.where(
        table["size"].fillna(0.5) + 0.5 * (table["colour"] == "red") > 0.7, "large", "small"
    )


@pytest.mark.parametrize("options", [HASHED, RIDGE], ids=["hashed", "ridge"])
def test_frames_are_explained_by_their_own_columns(options):
    table = frame()
    y = target(table)
    model = KernelClassifier(**options).fit(table, y)
    found = assert_adds_up(model, table)
    assert found.feature_names == list(table.columns)
    assert found.values.shape == (200, 5)
    assert found.output_names == ["small"]
    importances = dict(zip(table.columns, model.feature_importances_, strict=True))
    assert min(importances["size"], importances["colour"]) > importances["noise"]
    assert found.data[1, 1] == table["colour"][1]
    assert np.isnan(found.data[0, 0])
    same = model.explain(pl.from_pandas(table))
    np.testing.assert_allclose(same.values, found.values, rtol=1e-9, atol=1e-9)
    assert same.data[1, 1] == table["colour"][1]


@pytest.mark.parametrize("options", [HASHED, RIDGE], ids=["hashed", "ridge"])
def test_sparse_rows_and_empty_rows(options):
    X = sp.random(120, 30, density=0.2, random_state=0, format="lil")
    X[5] = 0
    X[77] = 0
    X = X.tocsr()
    y = np.asarray(X[:, :10].sum(axis=1)).ravel() + 0.01 * np.arange(120)
    model = KernelRegressor(scale="max", **options).fit(X, y)
    found = assert_adds_up(model, X)
    dense = model.explain(X.toarray())
    np.testing.assert_allclose(dense.values, found.values, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.data, X.toarray())
    # a row of zeros has nothing of any column: it lacks the means
    np.testing.assert_allclose(found.values[5], found.values[77], rtol=1e-12)


def test_several_targets_in_their_own_units():
    X, Y = load_linnerud(return_X_y=True)
    for options in (HASHED, RIDGE):
        model = KernelRegressor(**options).fit(X, Y)
        found = assert_adds_up(model, X)
        assert found.values.shape == (20, 3, 3)
        assert found.output_names == ["target_1", "target_2", "target_3"]
        one = found.of_output("target_2")
        assert one.values.shape == (20, 3)
        np.testing.assert_array_equal(one.values, found.of_output(1).values)


def test_weights_count_as_repetitions():
    X, y = friedman(60, 4)
    weight = np.arange(60) % 3
    again = np.repeat(np.arange(60), weight)
    found = KernelRegressor(**RIDGE).fit(X, y).explain(X)
    np.testing.assert_allclose(found.importances(weight), found[again].importances(), rtol=1e-9)
    for options in (HASHED, RIDGE):
        weighted = KernelRegressor(scale="minmax", **options).fit(X, y, sample_weight=weight)
        repeated = KernelRegressor(scale="minmax", **options).fit(X[again], y[again])
        np.testing.assert_allclose(
            weighted.feature_importances_, repeated.feature_importances_, rtol=0.02
        )


def test_one_row_and_one_column():
    X, y = friedman(80, 5)
    for options in (HASHED, RIDGE):
        model = KernelRegressor(scale="minmax+complement", **options).fit(X[:, 3:4], y)
        found = assert_adds_up(model, X[:1, 3:4])
        assert found.values.shape == (1, 1)
        assert model.feature_importances_.tolist() == [1.0]
        assert found[0].values.shape == (1,)


def test_a_constant_target_has_no_importances():
    X, _ = friedman(60, 3)
    model = KernelRegressor(**HASHED).fit(X, np.full(60, 7.0))
    np.testing.assert_array_equal(model.feature_importances_, np.zeros(3))
    np.testing.assert_allclose(model.explain(X).scores, 7.0)


def test_blocks_change_nothing(monkeypatch):
    X, y = friedman(150, 6)
    for options in (HASHED, RIDGE):
        model = KernelRegressor(**options).fit(X, y)
        whole = model.explain(X).values
        monkeypatch.setattr(additive, "_BLOCK_VALUES", 500)
        np.testing.assert_allclose(model.explain(X).values, whole, rtol=1e-12, atol=1e-12)
        monkeypatch.undo()


def test_scikit_learn_selects_columns_by_importance():
    X, y = friedman(400)
    chosen = SelectFromModel(KernelRegressor(**HASHED), threshold="mean").fit(X, y).get_support()
    assert chosen.tolist() == [True] * 5 + [False] * 5


@pytest.mark.parametrize("options", [HASHED, RIDGE, {"method": "exact", "C": 1.0}], ids=str)
def test_states_and_pickles_explain_alike(options, tmp_path):
    table = frame(100)
    model = KernelClassifier(**options).fit(table, target(table))
    found = model.explain(table)
    model.save(tmp_path / "model.kl")
    for again in (KernelClassifier.load(tmp_path / "model.kl"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.explain(table).values, found.values)
        np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


def without_background(model) -> KernelRegressor:
    """The model as an earlier version would have written it."""
    state = model.to_state()
    arrays = {name: each for name, each in state.arrays.items() if "background" not in name}
    return type(model).from_state(State(state.meta, arrays))


def test_models_that_do_not_know_their_background_ask_for_it():
    X, y = friedman(200, 4)
    fitted = KernelRegressor(**HASHED).fit(X[:100], y[:100])
    older = without_background(fitted)
    batches = KernelRegressor(**HASHED).fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    for model in (older, batches):
        with pytest.raises(ValueError, match="explain\\(X, background=rows\\), or fit it again"):
            model.explain(X)
        with pytest.raises(AttributeError, match="background=rows"):
            _ = model.feature_importances_
        assert_adds_up(model, X, model.explain(X, background=X[:50]))
    # what kernel ridge regression needs is in its rows
    ridge = KernelRegressor(**RIDGE).fit(X, y)
    np.testing.assert_array_equal(
        without_background(ridge).explain(X).values, ridge.explain(X).values
    )


def test_to_codes_keeps_explanations():
    X, y = friedman(200, 5)
    exact = KernelRegressor(scale="minmax+complement", **RIDGE).fit(X, y)
    codes = exact.to_codes(2048)
    found = assert_adds_up(codes, X)
    assert np.corrcoef(found.values.ravel(), exact.explain(X).values.ravel())[0, 1] > 0.98
    np.testing.assert_allclose(codes.feature_importances_, exact.feature_importances_, atol=0.05)


HOSTILE = {
    "means of another type": ("means", lambda a: a.astype(np.float32)),
    "too few means": ("means", lambda a: a[1:]),
    "means of more scores": ("means", lambda a: np.hstack([a, a])),
    "means that are no numbers": ("means", lambda a: a * np.float16(np.nan)),
    "too many spreads": ("spreads", lambda a: np.hstack([a, a])),
    "spreads below 0": ("spreads", lambda a: -a),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_states_that_do_not_fit_are_refused(name):
    X, y = friedman(60, 4)
    state = KernelRegressor(**HASHED).fit(X, y).to_state()
    key, change = HOSTILE[name]
    arrays = {**state.arrays, f"background.{key}": change(state.arrays[f"background.{key}"])}
    with pytest.raises(ValueError, match="does not describe a KernelRegressor"):
        KernelRegressor.from_state(State(state.meta, arrays))
    arrays.pop(f"background.{key}")
    with pytest.raises(ValueError, match="does not describe a KernelRegressor"):
        KernelRegressor.from_state(State(state.meta, arrays))


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf", "method": "fourier", "gamma": 1.0},
        {"kernel": "rbf", "method": "nystroem", "gamma": 1.0},
        {"kernel": "rbf", "method": "sign"},
        {"kernel": "rbf", "method": "ridge", "gamma": 1.0},
    ],
    ids=str,
)
def test_other_models_say_what_to_use(options):
    X, y = friedman(80, 4)
    if options["method"] == "sign":
        options = {"kernel": "acos", "method": "sign"}
    model = KernelRegressor(C=1.0, **options).fit(X, y)
    with pytest.raises(ValueError, match=r"permutation_importance.*kernel=\"gmm\""):
        model.explain(X)
    with pytest.raises(AttributeError, match="permutation_importance"):
        _ = model.feature_importances_
    assert not hasattr(model, "feature_importances_")


def test_bad_input():
    X, y = friedman(60, 4)
    with pytest.raises(ValueError, match="not fitted"):
        KernelRegressor().explain(X)
    with pytest.raises(AttributeError, match="not fitted"):
        _ = KernelRegressor().feature_importances_
    model = KernelRegressor(**HASHED).fit(X, y)
    with pytest.raises(ValueError, match="5 features"):
        model.explain(np.ones((2, 5)))
    with pytest.raises(ValueError, match="5 features"):
        model.explain(X, background=np.ones((2, 5)))
    with pytest.raises(ValueError, match="0 sample"):
        model.explain(X[:0])
    with pytest.raises(ValueError, match="at most 16,777,216 rows at a time"):
        additive.refuse_many_values(1 << 28, 4, 1)
    found = model.explain(X)
    with pytest.raises(ValueError, match="output must be"):
        found.of_output(1)
    with pytest.raises(ValueError, match="no score of 'class'"):
        found.of_output("class")
    with pytest.raises(ValueError, match="row must be"):
        found.strongest(60)
    with pytest.raises(ValueError, match="at least one row"):
        found[:0].importances()


def test_contributions_can_be_cut_and_read():
    X, y = friedman(60, 4)
    table = pd.DataFrame(X, columns=list("abcd"))
    found = KernelRegressor(**RIDGE).fit(table, y).explain(table)
    assert repr(found) == "Contributions(60 rows, 4 columns)"
    assert len(found[10:20]) == 10
    np.testing.assert_array_equal(found[[3, 5]].values, found.values[[3, 5]])
    strongest = found.strongest(7)
    assert [name for name, _, _ in strongest] == [
        "abcd"[at] for at in np.argsort(-np.abs(found.values[7]))
    ]
    assert strongest[0][1] in table.iloc[7].tolist()
    assert len(found.strongest(7, top=2)) == 2
    np.testing.assert_allclose(found.importances(), found.values.std(axis=0), rtol=1e-12)


def test_errors_about_the_background_name_it():
    X, y = friedman(60)
    model = KernelRegressor(**HASHED).fit(X, y)
    for wrong in (X[:, :3], np.where(X > 2, X, np.inf), X[:0]):
        with pytest.raises(ValueError, match="background") as told:
            model.explain(X, background=wrong)
        assert " X " not in f" {told.value} "
    with pytest.raises(ValueError, match="X has 3 features"):
        model.explain(X[:, :3])


def test_a_million_columns_are_explained_within_a_bound():
    """A few rows are; more are refused before anything is made of them, with what to do."""
    X = sp.random(200, 1_000_000, 1e-5, format="csr", random_state=0)
    y = np.asarray(X[:, :500_000].sum(axis=1)).ravel()
    model = KernelRegressor(n_components=32, C=1.0, scale=None).fit(X, y)
    assert additive.MOST_VALUES * 16 <= 1 << 30  # contributions and standard errors
    with pytest.raises(ValueError, match=r"numbers: explain at most 67 rows at a time\.$"):
        model.explain(X)
    found = model.explain(X[:2])
    np.testing.assert_allclose(found.scores, model.predict(X[:2]), rtol=1e-5)
