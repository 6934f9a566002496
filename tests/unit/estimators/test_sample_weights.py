"""A row of weight 3 is the same training data as three equal rows, and one of weight 0 as none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from kernelight import KernelClassifier, KernelRegressor, LinearClassifier
from kernelight.estimators import sample_weights
from kernelight.estimators.preprocessing import column_medians
from kernelight.linear import equal_rows
from kernelight.scaling import SCALING_NAMES, SPARSE_SCALING_NAMES, fit_scaling

RNG = np.random.default_rng(5)
X = RNG.random((260, 4))
LABELS = (X[:, 0] + X[:, 1] + 0.3 * RNG.standard_normal(260) > 1).astype(int)
WEIGHT = RNG.integers(0, 4, 260)
FOLD = RNG.integers(0, 3, 260)
SHUFFLED = RNG.permutation(260)


def splits_of(fold):
    return [(np.flatnonzero(fold != held), np.flatnonzero(fold == held)) for held in range(3)]


def both(model, X, y):
    """The model of weighted rows in another order, and that of repeated rows.

    Equal rows are on the same side of every split.
    """
    weighted, repeated = clone(model), clone(model)
    weighted.set_params(cv=splits_of(FOLD[SHUFFLED])).fit(
        X[SHUFFLED], y[SHUFFLED], WEIGHT[SHUFFLED]
    )
    rows = np.repeat(np.arange(260), WEIGHT)
    return weighted, repeated.set_params(cv=splits_of(FOLD[rows])).fit(X[rows], y[rows])


@pytest.mark.parametrize(
    "model",
    [
        KernelClassifier(n_components=32),
        KernelClassifier("gaussian", 32, gamma="scale", scale="standard", class_weight="balanced"),
        KernelClassifier(
            n_components=32, loss="logistic", scoring="neg_log_loss", C=1.0, scale="quantile"
        ),
        KernelClassifier(method="exact", C=1.0, class_weight="balanced", scale="minmax"),
        KernelRegressor("rbf", 32, gamma=1.0, scale="standard"),
    ],
    ids=["tuned", "balanced", "logistic", "exact", "regressor"],
)
def test_weights_are_repetitions_also_in_the_rows_held_out(model):
    regression = isinstance(model, KernelRegressor)
    weighted, repeated = both(model, X, X.sum(axis=1) if regression else LABELS)
    assert weighted.search_ == repeated.search_
    assert weighted.held_out_ == repeated.held_out_
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    np.testing.assert_array_equal(weighted.medians_, repeated.medians_)
    if regression:
        np.testing.assert_array_equal(weighted.predict_interval(X), repeated.predict_interval(X))
    else:
        np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def test_weights_of_sparse_rows_and_of_several_targets():
    rows = sp.random_array(
        (260, 30), density=0.2, random_state=np.random.default_rng(0), format="csr"
    )
    weighted, repeated = both(KernelRegressor(n_components=32, C=1.0), rows, X[:, :2])
    np.testing.assert_array_equal(weighted.predict(rows), repeated.predict(rows))


def test_without_splits_models_of_given_settings_agree_to_the_tolerance():
    """|f - f'| <= |x| (sqrt(2 gap) + sqrt(2 gap')), as 1/2 |w - w*|^2 <= the duality gap."""
    rows = np.repeat(np.arange(260), WEIGHT)
    given = KernelClassifier(n_components=64, C=1.0, scale="minmax")
    weighted, repeated = (
        clone(given).fit(X, LABELS, WEIGHT),
        clone(given).fit(X[rows], LABELS[rows]),
    )
    assert (
        weighted.map_.encode(weighted.scaling_(X)).array
        == repeated.map_.encode(repeated.scaling_(X)).array
    ).all()
    gaps = sum(np.sqrt(2 * model.model_.dual_gap_[0]) for model in (weighted, repeated))
    length = np.sqrt(2)  # codes have length 1, and there is an intercept
    away = np.abs(weighted.decision_function(X) - repeated.decision_function(X)).max()
    assert away <= length * gaps * (1 + 1e-6)


def test_why_copies_on_both_sides_are_not_made_of_weights():
    """Targets that are noise: a copy of a held-out row gives its target away.

    A weight must not do that.
    """
    rng = np.random.default_rng(0)
    noise, labels = rng.random((150, 5)), rng.integers(0, 2, 150)
    model = KernelClassifier(n_components=256, scale="minmax")
    assert model.fit(noise, labels, np.full(150, 3.0)).validation_score_ < 0.65
    assert model.fit(np.repeat(noise, 3, axis=0), np.repeat(labels, 3)).validation_score_ > 0.9


def test_rows_of_weight_0_teach_nothing():
    """Neither encoding, scaling, folds nor class counts know them: as if they were left out."""
    frame = pd.DataFrame(X[:, :2], columns=["left", "right"]).assign(
        town=np.array(["Bern", "Rome"])[LABELS]
    )
    out = np.zeros(260, dtype=bool)
    out[::7] = True
    frame.loc[out, "left"] = 1e6
    frame.loc[out, "town"] = "Oslo"
    weighted = KernelClassifier(n_components=32).fit(frame, LABELS, np.where(out, 0.0, 1.0))
    without = KernelClassifier(n_components=32).fit(frame[~out], LABELS[~out])
    assert weighted.encoding_.to_plain() == without.encoding_.to_plain()
    assert weighted.n_rows_ == 260
    np.testing.assert_array_equal(
        weighted.predict_proba(frame[~out]), without.predict_proba(frame[~out])
    )


def test_rows_without_equals_stay_as_they_are():
    halves = [(np.arange(130), np.arange(130, 260))]
    assert sample_weights.unite_equal_rows(X, LABELS, None, halves) is None
    assert sample_weights.unite_equal_rows(X, LABELS, np.ones(260), halves) is None
    assert (
        sample_weights.unite_equal_rows(
            np.vstack([X, X]), np.append(LABELS, 1 - LABELS), None, halves
        )
        is None
    )
    assert sample_weights.repeat_rows(X, LABELS, WEIGHT + 1.0) is None


def test_splits_that_repeat_rows_are_left_alone():
    rows, bootstrap = np.repeat(X[:5], 2, axis=0), [(np.array([0, 0, 1]), np.array([2, 3]))]
    assert sample_weights.unite_equal_rows(rows, np.zeros(10), None, bootstrap) is None


@pytest.mark.parametrize("sparse", [False, True])
def test_equal_fingerprints_do_not_make_rows_equal(monkeypatch, sparse):
    monkeypatch.setattr(
        equal_rows, "row_fingerprints", lambda X, stream=0: np.zeros(X.shape[0], dtype=np.uint64)
    )
    rows = np.repeat(X[:5], 2, axis=0)
    half = [(np.arange(6), np.arange(6, 10))]
    united, sums, splits = sample_weights.unite_equal_rows(
        sp.csr_matrix(rows) if sparse else rows, np.zeros(10), None, half
    )
    np.testing.assert_array_equal(rows[united], X[:5])
    np.testing.assert_array_equal(sums, 2)
    assert [part.tolist() for part in splits[0]] == [[0, 1, 2], [3, 4]]


def test_counts_of_a_coarse_table_are_rows_of_their_own():
    """Cells of two columns, each with rows of both classes: as counts or row by row."""
    cells = np.array([[a, b, y] for a in range(3) for b in range(3) for y in (0, 1)])
    counts = (
        np.random.default_rng(1).poisson(
            np.where(cells[:, 2] == (cells[:, 0] > cells[:, 1]), 60, 15)
        )
        + 1
    )
    one_by_one = np.repeat(cells, counts, axis=0)
    model = KernelClassifier(n_components=32).fit(one_by_one[:, :2], one_by_one[:, 2])
    table = KernelClassifier(n_components=32).fit(cells[:, :2], cells[:, 2], counts)
    assert model.search_ == table.search_
    np.testing.assert_array_equal(
        model.predict_proba(cells[:, :2]), table.predict_proba(cells[:, :2])
    )
    assert abs(model.validation_score_ - 0.8) < 0.05
    for cell in cells[::2, :2]:
        fraction = one_by_one[(one_by_one[:, :2] == cell).all(axis=1), 2].mean()
        assert abs(model.predict_proba([cell])[0, 1] - fraction) < 0.15


def test_every_part_of_a_split_needs_a_row_that_counts():
    halves = [(np.arange(130), np.arange(130, 260))]
    with pytest.raises(ValueError, match="a row of a weight above 0 in each part"):
        KernelClassifier(cv=halves).fit(X, LABELS, np.repeat([0.0, 1.0], 130))


@pytest.mark.parametrize("name", SCALING_NAMES)
def test_scalings_count_weights_as_repetitions(name):
    rng = np.random.default_rng(2)
    rows, weight = np.round(rng.standard_normal((200, 3)), 1), rng.integers(1, 9, 200).astype(float)
    weighted = fit_scaling(name, rows, rng, weight)
    repeated = fit_scaling(name, np.repeat(rows, weight.astype(int), axis=0), rng)
    for key, array in weighted.arrays.items():
        np.testing.assert_allclose(array, repeated.arrays[key], rtol=1e-13, atol=1e-13)
    if name not in SPARSE_SCALING_NAMES:  # the unit of weights does not matter
        halves = fit_scaling(name, rows, rng, weight / 7)
        np.testing.assert_allclose(halves(rows), weighted(rows), atol=0.02)


def test_medians_count_weights_as_repetitions():
    for weight in (WEIGHT + 1.0, np.ones(260), np.full(260, 2.0)):
        wanted = np.median(np.repeat(X, weight.astype(int), axis=0), axis=0)
        np.testing.assert_allclose(column_medians(X, weight), wanted, rtol=1e-15)


def test_balanced_classes_weigh_the_same_with_weights_too():
    used = WEIGHT > 0
    model = LinearClassifier(class_weight="balanced", tol=1e-9)
    weighted = model.fit(X[used], LABELS[used], WEIGHT[used]).coef_
    repeated = model.fit(np.repeat(X, WEIGHT, axis=0), np.repeat(LABELS, WEIGHT)).coef_
    np.testing.assert_allclose(weighted, repeated, atol=1e-3)


@pytest.mark.parametrize("total", [1e-100, 1e-3, 1.0])
@pytest.mark.parametrize("kind", [KernelClassifier, KernelRegressor])
def test_weights_that_add_up_to_hardly_a_row_are_called_so(kind, total):
    model = kind(n_components=16, scale=None)
    with pytest.warns(UserWarning, match=f"adds up to {total:.3g}, so that 260 rows count as less"):
        model.fit(X, LABELS, np.full(260, total / 260))


@pytest.mark.filterwarnings("error:sample_weight")
def test_weights_that_add_up_to_some_rows_are_taken_as_they_are():
    for weight in (np.full(260, 1 / 100), np.eye(260)[0] + np.eye(260)[5], np.ones(260)):
        KernelRegressor(n_components=16, scale=None, C=1.0).fit(X, LABELS, weight)
    KernelRegressor(n_components=16, scale=None, C=1.0).fit(X[:1], LABELS[:1], [1.0])


@pytest.mark.parametrize("more", [{}, {"scoring": "balanced_accuracy"}, {"kernel": "auto"}])
def test_a_class_without_weight_is_named(more):
    """It was called rare, where it was called anything."""
    y = np.where(X[:, 2] > 0.8, "third", np.where(LABELS == 1, "second", "first"))
    weight = np.where(y == "third", 0.0, 1.0)
    model = KernelClassifier(n_components=16, scale="minmax", C=1.0, **more)
    with pytest.warns(UserWarning, match="No row of the class") as told:
        model.fit(X, y, weight)
    said = [str(each.message) for each in told]
    assert said[0] == (
        "No row of the class 'third' has a weight above 0, so that it is never predicted: give its "
        "rows a weight, or leave them out."
    )
    assert not any("hardly counts" in each for each in said)
    assert "third" not in model.predict(X)
    assert list(model.classes_) == ["first", "second", "third"]
