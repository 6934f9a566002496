"""CompactClassifier: within its budget, better than chance of its pieces, and stored whole."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import cross_val_score

import kernelight
from kernelight import CompactClassifier, IntegerFourier, TableModel, TernaryClassifier
from kernelight.estimators import compact_search
from kernelight.estimators.compact_search import left_out
from kernelight.estimators.device_size import flash_of, most_features, packed_coefficients
from kernelight.scaling import Scaling, fit_scaling

X, Y = load_digits(return_X_y=True)
LEARN, CHECK = slice(0, 600), slice(1200, None)


@pytest.fixture(scope="module")
def model():
    return CompactClassifier(1600, random_state=1).fit(X[LEARN], Y[LEARN])


def test_the_budget_is_kept_and_used(model):
    assert 1600 - 13 * 10 < model.n_bytes_ <= 1600
    assert model.n_bytes_ == sum(model.flash_.values())
    assert model.score(X[CHECK], Y[CHECK]) > 0.9
    assert model.n_components_ == model.map_.n_components == model.model_.n_features_in_


@pytest.mark.parametrize("width", [64, 128])
@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("scale", ["none", "minmax"])
def test_most_features_are_the_most(width, classes, scale):
    scaling = fit_scaling(scale, np.eye(7), np.random.default_rng(0))
    for n_bytes in range(900, 2600, 37):
        count = most_features(n_bytes, classes, width, scaling)
        assert count >= 0
        size = sum(flash_of(classes, count, width, scaling).values())
        assert size <= n_bytes or count == 0
        assert sum(flash_of(classes, count + 5, width, scaling).values()) > n_bytes


def test_coefficients_can_be_read_back():
    """Digits of base 3: those of the first three features count 9, 27 and 81."""
    coefficients = np.random.default_rng(0).integers(-1, 2, (3, 150)).astype(np.int8)
    codes = packed_coefficients(coefficients, 64).astype(int)
    size = flash_of(3, 150, 64, Scaling("none", 5, {}))["coefficients"]
    assert len(codes) == size
    assert codes.max() < 243
    at = 0
    for first in range(0, 150, 64):
        block = coefficients[:, first : first + 64]
        for group in range(0, block.shape[1], 5):
            for row in block:
                code, high = codes[at], codes[at] // 9
                digits = [high % 3, high // 3 % 3, high // 9, code % 9 % 3, code % 9 // 3]
                expected = row[group : group + 5]
                assert [(0, 1, -1)[digit] for digit in digits][: len(expected)] == list(expected)
                at += 1
    assert at == len(codes)


def test_left_out_scores_are_those_of_models_without_the_row(monkeypatch):
    """The closed form, against a regression for each row."""
    monkeypatch.setattr(compact_search, "PENALTIES", (0.2,))
    random = np.random.default_rng(0)
    Z, sides = random.normal(size=(30, 4)).astype(np.float32), random.integers(0, 3, 30)
    score = left_out(Z, sides, 3)
    rows = np.hstack([Z, np.ones((30, 1))]).astype(float)
    targets = 2.0 * (sides[:, None] == np.arange(3)) - 1
    errors, right = [], []
    for row in range(30):
        rest = np.arange(30) != row
        gram = rows[rest].T @ rows[rest] + 0.2 * np.eye(5)
        predicted = rows[row] @ np.linalg.solve(gram, rows[rest].T @ targets[rest])
        errors.append(np.square(predicted - targets[row]))
        right.append(predicted.argmax() == sides[row])
    np.testing.assert_array_equal(score.right, right)
    assert score.closeness == pytest.approx(-np.mean(errors))


def test_it_is_the_model_of_its_parts(model):
    features = model.map_.transform(X[CHECK])
    again = IntegerFourier(
        model.n_components_, sigma=model.sigma_, random_state=model.map_.seed_
    ).fit(X[LEARN])
    np.testing.assert_array_equal(again.transform(X[CHECK]), features)
    same = TernaryClassifier(C=model.C_, random_state=1).fit(again.transform(X[LEARN]), Y[LEARN])
    np.testing.assert_array_equal(same.coef_, model.model_.coef_)
    np.testing.assert_array_equal(model.predict(X[CHECK]), same.predict(features))


def test_it_does_not_depend_on_threads_and_is_stored_whole(model, tmp_path):
    other = CompactClassifier(1600, random_state=1, n_jobs=2).fit(X[LEARN], Y[LEARN])
    np.testing.assert_array_equal(other.model_.coef_, model.model_.coef_)
    model.save(tmp_path / "compact.kl")
    loaded = kernelight.load(tmp_path / "compact.kl")
    assert type(loaded) is CompactClassifier
    np.testing.assert_array_equal(
        loaded.decision_function(X[CHECK]), model.decision_function(X[CHECK])
    )
    assert (loaded.flash_, loaded.search_) == (model.flash_, model.search_)
    assert loaded.summary() == model.summary()


def test_names_two_classes_and_scikit_learn():
    X_iris, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "other", "other"])[y]
    model = CompactClassifier(1100).fit(X_iris * 10, names)
    assert model.score(X_iris * 10, names) == 1.0
    assert model.classes_.tolist() == ["other", "setosa"]
    assert model.decision_function(X_iris).shape == (150,)
    assert model.n_bytes_ <= 1100
    assert cross_val_score(CompactClassifier(1500), X_iris, y, cv=3).mean() > 0.9
    copy = clone(CompactClassifier(1234, scale="minmax", random_state=3))
    assert copy.get_params()["max_bytes"] == 1234


def test_scalings_are_compared():
    """A column in other units decides the class: without a scaling it is drowned."""
    random = np.random.default_rng(0)
    rows = np.column_stack([random.normal(size=600), 1000 * random.normal(size=(600, 3))])
    y = rows[:, 0] > 0
    model = CompactClassifier(2000).fit(rows[:400], y[:400])
    assert model.scale_ != "none"
    assert model.score(rows[400:], y[400:]) > 0.9
    plain = CompactClassifier(2000, scale="none").fit(rows[:400], y[:400])
    assert plain.score(rows[400:], y[400:]) < 0.75


def test_a_class_of_one_row_is_learned_without_folds():
    y = Y[:200].copy()
    y[0] = 10
    model = CompactClassifier(1500).fit(X[:200], y)
    assert model.validation_score_ is None
    assert "none: a class has one row" in model.summary()


@pytest.mark.parametrize(
    ("rows", "y", "options", "says"),
    [
        (X[:50], Y[:50], {"max_bytes": 100}, "max_bytes must be"),
        (X[:50], Y[:50], {"max_bytes": "2k"}, "max_bytes must be"),
        (X[:50], Y[:50], {"max_bytes": 700}, "too small for 10 classes and 64 columns.*at least"),
        (X[:50], Y[:50], {"scale": "quantile"}, "scale must be"),
        (X[:50], np.zeros(50), {}, "one class only"),
        (X[:50], Y[:49], {}, "inconsistent numbers of samples"),
        (X[:50], X[:50, 0] / 7, {}, "class"),
        (sp.csr_matrix(X[:50]), Y[:50], {}, "no sparse rows"),
        (np.where(X[:50] == 3, np.nan, X[:50]), Y[:50], {}, "NaN"),
        (np.zeros((60, 1025)), np.arange(60) % 2, {}, "at most 1,024 columns"),
    ],
)
def test_refusals(rows, y, options, says):
    with pytest.raises((TypeError, ValueError), match=says):
        CompactClassifier(**options).fit(rows, y)


def test_the_least_budget_that_is_named_works():
    with pytest.raises(ValueError, match="at least") as refused:
        CompactClassifier(700).fit(X[:200], Y[:200])
    least = int(re.search(r"at least ([0-9,]+)", str(refused.value)).group(1).replace(",", ""))
    assert CompactClassifier(least).fit(X[:200], Y[:200]).n_bytes_ <= least


@pytest.mark.parametrize(("value", "says"), [(0.5, "such as 0.5"), (40000, "such as 40000")])
def test_numbers_that_are_no_whole_ones_of_16_bits_are_told_before_the_fit(value, says, tmp_path):
    frame = pd.DataFrame({"a": np.arange(60.0), "b": np.arange(60) % 7, "y": np.arange(60) % 2})
    model = TableModel(CompactClassifier(1600))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(frame, target="y")
    assert not any("--rows float32" in str(each.message) for each in told)
    with pytest.warns(UserWarning, match=f"column 'b' has numbers {says}.*--rows float32"):
        model.fit(frame.assign(b=frame.b.where(frame.index != 5, value)), target="y")


def test_tables(tmp_path):
    lines = [",".join([*(f"c{i}" for i in range(64)), "digit"])]
    lines += [",".join([*(f"{v:g}" for v in row), f"d{y}"]) for row, y in zip(X, Y, strict=True)]
    (tmp_path / "digits.csv").write_text("\n".join(lines[:500]))
    table = TableModel(CompactClassifier(1600)).fit(tmp_path / "digits.csv", target="digit")
    assert table.score(tmp_path / "digits.csv", target="digit") > 0.9
    assert "flash" in table.summary()
    table.save(tmp_path / "digits.klt")
    again = TableModel.load(tmp_path / "digits.klt")
    np.testing.assert_array_equal(
        again.predict(tmp_path / "digits.csv"), table.predict(tmp_path / "digits.csv")
    )
    with pytest.raises(ValueError, match="leave memory out"):
        TableModel(CompactClassifier()).fit(tmp_path / "digits.csv", memory="1G")
    assert not hasattr(table, "predict_proba")
    with pytest.raises(ValueError, match="no probabilities"):
        next(table.predict_batches(tmp_path / "digits.csv", probabilities=True))
    with pytest.raises(Exception, match="regression"):
        TableModel(CompactClassifier()).fit(tmp_path / "digits.csv", target="c5", task="regression")
