"""What the command does with a model of a table, Python does with a path or a frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cli.in_process import run
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score

import kernelight
from kernelight import KernelClassifier, KernelRegressor, TableModel

ROWS = 300


def table(target: str) -> pd.DataFrame:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": random.random(ROWS), "town": random.choice(["Bern", "Rome"], ROWS)}
    )
    frame.loc[::29, "size"] = None
    value = frame["size"].fillna(0.5) + (frame["town"] == "Rome")
    late = np.where(value > 1, "yes", "no")
    return frame.assign(
        **{target: late if target == "late" else value + 0.05 * random.normal(size=ROWS)}
    )


@pytest.fixture(params=["path", "pandas", "polars", "arrow"])
def given(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A frame as it is, or as another library or a file has it."""

    def made(frame: pd.DataFrame) -> Any:
        if request.param == "path":
            frame.to_csv(tmp_path / "table.csv", index=False)
            return tmp_path / "table.csv"
        kinds = {
            "pandas": lambda frame: frame,
            "polars": pl.from_pandas,
            "arrow": pa.Table.from_pandas,
        }
        return kinds[request.param](frame)

    return made


def test_classes_and_their_probabilities(given: Any, tmp_path: Path) -> None:
    frame = table("late")
    model = TableModel(KernelClassifier(n_components=64, C=1.0, scale="minmax"))
    model.fit(given(frame[:200]), target="late")
    rest = given(frame[200:])
    assert model.classes_.tolist() == ["no", "yes"]
    shares = model.predict_proba(rest)
    assert shares.shape == (100, 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(rest))
    assert model.score(rest) == accuracy_score(frame["late"][200:], model.predict(rest)) > 0.8
    without = model.predict_proba(given(frame[200:].drop(columns="late")))
    np.testing.assert_array_equal(without, shares)
    model.save(tmp_path / "model.klt")
    np.testing.assert_array_equal(
        kernelight.load(tmp_path / "model.klt").predict_proba(rest), without
    )
    assert not hasattr(model, "predict_interval")
    with pytest.raises(AttributeError) as caught:
        model.predict_interval(rest)
    assert "this model predicts classes" in str(caught.value.__cause__)


def test_quantities_and_their_intervals(given: Any) -> None:
    frame = table("cost")
    model = TableModel(KernelRegressor(n_components=64, C=1.0, scale="minmax"))
    model.fit(given(frame[:200]), target="cost")
    rest, truth = given(frame[200:]), frame["cost"][200:].to_numpy()
    low, high = model.predict_interval(rest, coverage=0.8)
    wider = model.predict_interval(rest)
    np.testing.assert_allclose((low + high) / 2, model.predict(rest))
    assert 0.65 < np.mean((low <= truth) & (truth <= high)) < 0.95
    assert np.all(wider[1] - wider[0] > high - low)
    assert model.score(rest) == pytest.approx(r2_score(truth, model.predict(rest)), abs=1e-9)
    constant = frame[200:].assign(cost=1.0)
    assert model.score(given(constant)) == r2_score(constant["cost"], model.predict(rest)) == 0
    for name in ("predict_proba", "classes_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError) as caught:
            getattr(model, name)
        assert "predicts quantities" in str(caught.value.__cause__ or caught.value)


def test_what_is_asked_too_early() -> None:
    for name in ("predict_proba", "predict_interval", "score"):
        with pytest.raises(NotFittedError, match="call fit"):
            getattr(TableModel(), name)(table("late"))


@pytest.mark.parametrize(
    ("kinds", "rows", "said"),
    [
        (("no", "yes"), "ny", "of class yes against the other"),
        (("no", "yes"), "y", "AUC                none: all rows are of one class"),
        (("a", "b", "c"), "abc", "mean over 3 classes, each against the rest"),
        (("a", "b", "c"), "ab", "mean over the 2 of 3 classes that occur, each against the rest"),
    ],
)
def test_the_area_under_the_curve_says_which_class_it_is_of(
    tmp_path: Path, kinds: tuple[str, ...], rows: str, said: str
) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"size": random.random(150), "kind": random.choice(kinds, 150)})
    frame["size"] += frame["kind"].map({kind: at for at, kind in enumerate(kinds)})
    frame.to_csv(tmp_path / "train.csv", index=False)
    frame[frame["kind"].str[0].isin(list(rows))].to_csv(tmp_path / "test.csv", index=False)
    model = KernelClassifier(n_components=32, C=1.0, scale="minmax")
    TableModel(model).fit(tmp_path / "train.csv").save(tmp_path / "m.klt")
    told = run("evaluate", tmp_path / "m.klt", tmp_path / "test.csv")
    assert said in told
    assert ("P(yes)" if len(kinds) == 2 else "P(predicted class)") in told
