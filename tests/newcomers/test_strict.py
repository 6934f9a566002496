"""``--strict`` lists what needs a decision, and each entry has an option that settles it."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pandas as pd
import pytest
from cli.in_process import called

from kernelight import open_dataset
from kernelight.data import DataError

ROWS = 600


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def messy() -> pd.DataFrame:
    """An id, dates, too many words, a word among numbers, and a target of dollars."""
    at = np.arange(ROWS)
    return pd.DataFrame(
        {
            "name": [f"p{i}" for i in at],
            "when": [f"2024-01-{1 + i % 28:02d}" for i in at],
            "town": [f"t{i % 150}" for i in at],
            "level": ["broken" if i == 7 else "lost" if i == 9 else str(i % 9) for i in at],
            "price": [f"${1000 + i}.50" for i in at],
        }
    )


def refusal(table: object, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        open_dataset(table, strict=True, **options)
    return str(caught.value)


@pytest.mark.parametrize("form", ["csv", "frame"])
def test_every_entry_has_an_option_that_settles_it(form):
    messy().to_csv("x.csv", index=False)
    table = "x.csv" if form == "csv" else messy()
    said = refusal(table)
    assert "5 columns need a decision" in said or form == "frame"
    assert "column 'town': 150 words, of which not all have a column of their own" in said
    assert "column 'price': numbers such as '$1000.50' are read as 1000.5" in said
    for option in (
        "decimal='.' reads numbers",
        "missing=['broken', 'lost'] takes as missing",
        "max_categories=150 gives each word a column",
        "categorical=['NAME'] reads as words",
    ):
        assert option in said
    data = open_dataset(
        table,
        strict=True,
        ignore=["name", "when"],
        decimal=".",
        missing=["broken", "lost"],
        max_categories=150,
    )
    X, y = data.materialise()
    assert (X.shape, data.task, y[0]) == ((ROWS, 151), "regression", 1000.5)


def test_the_advice_of_the_command_works():
    messy().to_csv("x.csv", index=False)
    fit = ("fit", "x.csv", "-o", "m.klt", "-k", "16", "--C", "1", "--scale", "minmax", "--strict")
    said = called(*fit).said
    options = re.findall(r"(?:--(?:decimal|missing) '?[^ ']+'?|--max-categories=\d+)", said)
    assert len(options) == 4  # two words are missing
    settled = shlex.split(" ".join(options))
    result = called(*fit, *settled, "--ignore", "name", "--ignore", "when")
    assert result.status == 0, result.said


def test_a_target_with_signs_alone():
    frame = messy()[["level", "price"]].assign(level=np.arange(ROWS) % 9)
    said = refusal(frame)
    assert "1 column needs a decision: column 'price'" in said
    assert "ignore" not in said
    assert open_dataset(frame, strict=True, decimal=".").task == "regression"
    assert open_dataset(frame, strict=True, categorical=["price"]).task == "classification"


def test_decimal_commas_are_advised_where_they_are():
    frame = pd.DataFrame({"a": [f"{i},50 €" for i in range(60)], "y": ["u", "v"] * 30})
    assert "decimal=',' reads numbers" in refusal(frame)
    X, _ = open_dataset(frame, strict=True, decimal=",").materialise()
    assert X[3, 0] == 3.5


def test_too_many_words_alone_are_said_by_the_reading():
    frame = messy()[["town"]].assign(y=np.arange(ROWS) % 2)
    with pytest.raises(
        DataError, match=r"column 'town': more than 100 different words; ignore=\['town'\] leaves"
    ):
        open_dataset(frame, strict=True).materialise()
