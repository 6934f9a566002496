"""Messages count one thing in the singular."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.in_process import called

from kernelight import (
    GCWS,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    TableModel,
    open_dataset,
)
from kernelight.data import DataError

SOURCE = Path(__file__).resolve().parents[2] / "src" / "kernelight"
PLURALS = (
    "rows|columns|features|classes|fields|values|words|components|slots|bits|epochs|pairs|codes|"
    "labels|targets"
)
ONES = re.compile(rf"(?<![\d.,])1 ({PLURALS})\b")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_table_of_one_feature():
    frame = pd.DataFrame({"x": np.arange(40.0), "y": np.arange(40) % 2})
    frame.to_csv("x.csv", index=False)
    assert open_dataset("x.csv").describe().startswith("x.csv: 1 feature\n")
    words = pd.DataFrame({"x": ["a"] * 40, "y": np.arange(40) % 2})
    assert "words, 1 column of 0 and 1" in open_dataset(words, categorical=["x"]).describe()
    model = TableModel(KernelClassifier(n_components=1, C=1.0, bits=1)).fit("x.csv")
    model.save("m.klt")
    said = [model.summary(), repr(GCWS(1, bits=1).fit(np.ones((1, 1))).encode(np.ones((1, 1))))]
    said += [called(*verb).out for verb in (("info", "m.klt"), ("evaluate", "m.klt", "x.csv"))]
    assert "1 feature" in said[0]
    for text in said:
        assert not ONES.search(text), text


def test_errors_and_warnings_of_one():
    with pytest.raises(DataError, match=r"line 2: 1 field where 3 are expected"):
        open_dataset(_written("x.csv", "a,b,y\n1\n2,3,1\n")).materialise()
    with pytest.raises(DataError, match="has 1 column: target=7 is none of them"):
        open_dataset(_written("x.csv", "a\n1\n2\n"), target=7)
    with pytest.raises(ValueError, match="of 1 target as in fit"):
        KernelRegressor(n_components=8, C=1.0).fit(np.eye(9), np.arange(9.0)).partial_fit(
            np.eye(9), np.eye(9)[:, :2]
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LinearClassifier(max_iter=1, tol=1e-9).fit(
            np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
        )
    assert any("in 1 epoch:" in str(warning.message) for warning in caught)


def _written(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def test_no_message_offers_both():
    """``counted`` decides; "dimension(s)" is what a reader stumbles over."""
    for file in SOURCE.rglob("*.py"):
        plural = re.search(r"\w\(s\)", file.read_text())
        assert plural is None, f"{file.name}: {plural and plural[0]}"
