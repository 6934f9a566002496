"""The Python code of the recommendations runs: for files, frames and arrays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import some_cell

from kernelight import open_dataset
from kernelight.cli.compare import _python
from kernelight.study import Cell, Recommendation
from kernelight.study.inputs import given_by
from kernelight.study.recommend import Given, card_of

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def cell(candidate: str) -> Cell:
    """A finished model."""
    k = None if candidate == "linear" else 32
    return replace(some_cell(candidate), k=k, rows=120, clear=True, row_length=1.5)


@pytest.fixture
def table() -> Any:
    """120 rows with a word, a number that is sometimes missing, and both kinds of target."""
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "green"], 120), rng.random(120)
    likes = np.where((colour == "red") == (size > 0.5), "yes", "no")
    size[::17] = np.nan
    return pd.DataFrame(
        {"colour": colour, "size": size, "likes": likes, "price": np.arange(120) / 7}
    )


def pasted(python: str, **names: Any) -> Any:
    """The variable ``model`` after running the code with these names."""
    exec(python, names)
    return names["model"]


def card(candidate: str, given: Given, task: str = "classification", **more: Any) -> Recommendation:
    chosen = replace(cell(candidate), **more)
    return card_of(chosen, [chosen], task, 120, given, "Use it.", "It is good.")


@pytest.mark.parametrize("candidate", ["gmm", "linear"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_frame_with_words(table: Any, candidate: str, task: str) -> None:
    target, other = ("likes", "price") if task == "classification" else ("price", "likes")
    df = table.drop(columns=other)
    rows, y = df.drop(columns=target), df[target]
    apart = pasted(card(candidate, given_by(rows, None, None), task).python, X=rows, y=y)
    python = card(candidate, given_by(df, target, task), task).python
    together = pasted(python, X=df)
    assert f"target='{target}'" in python
    if candidate == "gmm":
        assert len(apart.predict(rows)) == len(together.predict(df)) == 120
    else:
        assert apart.n_features_in_ == together.n_features_in_


@pytest.mark.parametrize("candidate", ["gmm", "linear"])
@pytest.mark.parametrize("kind", ["numbers", "missing", "words"])
def test_arrays(table: Any, candidate: str, kind: str) -> None:
    X: Any = np.random.default_rng(1).random((120, 3))
    if kind == "missing":
        X[::9, 1] = np.nan
    elif kind == "words":
        X = table[["colour", "size"]].to_numpy()
    model = pasted(
        card(candidate, given_by(X, None, None)).python, X=X, y=table["likes"].to_numpy()
    )
    assert sorted(model.classes_) == ["no", "yes"]
    if candidate == "gmm" or kind != "words":
        assert len(model.predict(X)) == 120


def test_a_linear_model_of_unscaled_rows_with_missing_values() -> None:
    X = np.random.default_rng(0).random((30, 2))
    X[3, 1] = np.nan
    python = card("linear", Given(encoded="missing"), settings={"scale": "none"}).python
    assert len(pasted(python, X=X, y=[0, 1] * 15).predict(X)) == 30


@pytest.mark.parametrize("candidate", ["gmm", "linear"])
def test_every_name_is_made_or_said(table: Any, tmp_path: Path, candidate: str) -> None:
    """Code uses X and y with a comment that explains them, or the path that was given."""
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    rows, y = table[["colour", "size"]], table["likes"]
    forms: list[tuple[Given, dict[str, Any], str]] = [
        (
            given_by(rows, None, None),
            {"X": rows, "y": y},
            "# X and y are those that compare was given",
        ),
        (
            given_by(rows.to_numpy(), None, None),
            {"X": rows.to_numpy(), "y": y},
            "# X and y are those",
        ),
        (given_by(table, "likes", None), {"X": table}, "# X is the table that compare was given"),
        (
            given_by(open_dataset(table, target="likes"), None, None),
            {"X": open_dataset(table, target="likes")},
            "# X is the data set that compare was given",
        ),
        (given_by(path, "likes", None), {}, ""),
        (given_by(str(path), "likes", None), {}, ""),
    ]
    for given, names, comment in forms:
        python = card(candidate, given).python
        assert comment in python
        assert "#" in python or not comment
        pasted(python, **names)


@pytest.mark.parametrize("candidate", ["gmm", "linear"])
def test_a_file(table: Any, tmp_path: Path, candidate: str) -> None:
    path = tmp_path / "a table.csv"
    table.to_csv(path, index=False)
    options = {"target": "likes", "header": True, "ignore": ("price",)}
    model = pasted(_python(str(path), options, card(candidate, Given()), "classification"))
    if candidate == "gmm":
        assert len(model.predict(path)) == 120
    else:
        assert sorted(model.classes_) == ["no", "yes"]
