"""Numbers and dates that stand for a missing value: -999, 9999, 9999-12-31."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from cli.in_process import called

from kernelight import KernelRegressor
from kernelight.data import DataWarning, open_dataset


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def column(cells, name="x.csv"):
    with open(name, "w") as file:
        file.write("a,y\n" + "".join(f"{cell},{'ab'[i % 2]}\n" for i, cell in enumerate(cells)))
    return name


def notes_of(data, **options):
    data = open_dataset(data, target="y", **options)
    data.materialise()
    return [note for note in data.notes if "missing value" in note]


@pytest.mark.parametrize(
    ("code", "said"),
    [("-999", "-999"), ("-9999.0", "-9999"), ("9999", "9999"), ("99", "99"), ("65535", "65535")],
)
def test_a_code_for_a_missing_value_is_named(code, said):
    cells = [code if i % 9 == 0 else f"{i % 40}" for i in range(200)]
    times, low = cells.count(code), min(i % 40 for i in range(200) if i % 9)
    assert notes_of(column(cells)) == [
        f"column 'a': {said} occurs {times} times, far from the others ({low} to 39), as codes for "
        f"a missing value do; it is taken as a number: missing=['{code}'] takes it as missing in "
        f"every column"
    ]
    X, _ = open_dataset("x.csv", target="y").materialise()
    assert X[0, 0] == float(code)


@pytest.mark.parametrize("code", ["-999", "-9999.0"])
@pytest.mark.parametrize("written", ["-999", "-999.0", "-999.00"])
def test_the_option_takes_it_as_missing(code, written):
    cells = [written if i % 9 == 0 else f"{i % 40}" for i in range(200)]
    data = open_dataset(column(cells), target="y", missing=[code, "-999"])
    X, _ = data.materialise()
    assert X[:, 0].min() == 0
    assert X[0, 0] == np.median([i % 40 for i in range(200) if i % 9])
    new = open_dataset("x.csv", encoding=data.encoding)  # the model knows it
    np.testing.assert_array_equal(new.materialise()[0], X)
    frame = pd.read_csv("x.csv")
    for table in (frame, frame.astype({"a": "float32"})):
        again = open_dataset(table, target="y", missing=["-999"])
        np.testing.assert_array_equal(again.materialise()[0], X)
    assert frame["a"].min() == -999  # a frame is not written to
    parts = open_dataset("x.csv", target="y", missing=["-999"]).batches(7)
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), X)


def test_a_number_as_a_missing_target():
    with open("x.csv", "w") as file:
        file.write("a,y\n")
        file.writelines(f"{i % 7},{-999 if i % 10 == 0 else i / 7:.3f}\n" for i in range(200))
    (note,) = notes_of("x.csv")
    assert note.startswith("column 'y': -999 occurs 20 times, far from the others")
    data = open_dataset("x.csv", target="y", missing=["-999.000"])
    with pytest.warns(DataWarning, match="20 rows have no target and are left out"):
        _, y = data.materialise()
    assert y.min() > 0
    frame = pd.read_csv("x.csv")
    with pytest.warns(DataWarning, match="20 rows have no target"):
        assert len(open_dataset(frame, target="y", missing=["-999"]).materialise()[1]) == 180
    assert frame["y"].min() == -999


@pytest.mark.parametrize(
    "cells",
    [
        [999 if i % 9 == 0 else i * 37 % 2000 for i in range(200)],  # among the others
        [999 if i == 9 else i % 40 for i in range(200)],  # once
        [998 if i % 9 == 0 else i % 40 for i in range(200)],  # no code
        [9999 if i % 9 == 0 else i * 40 % 8000 for i in range(200)],  # not far
        [-99 if i % 9 == 0 else i % 140 - 70 for i in range(200)],
        [999 for i in range(200)],
        [999 if i % 2 else 0 for i in range(200)],  # two values
    ],
    ids=["among", "once", "998", "near", "negatives", "constant", "two"],
)
def test_what_may_be_a_number_has_no_note(cells):
    assert notes_of(column(cells)) == []


def test_dates_that_stand_for_a_missing_one():
    cells = ["9999-12-31" if i % 5 == 0 else f"2023-{i % 9 + 1:02d}-11" for i in range(200)]
    assert notes_of(column(cells)) == [
        "column 'a': 9999-12-31 occurs 40 times, far from the others (2023-01-11 to 2023-09-11), "
        "as codes for a missing value do; it is taken as a date: missing=['9999-12-31'] takes it "
        "as missing in every column"
    ]
    data = open_dataset("x.csv", target="y", missing=["9999-12-31"])
    X, _ = data.materialise()
    assert X[:, data.feature_names.index("a: days since 2023-01-11")].max() < 300
    german = ["01.01.1900" if i % 5 == 0 else f"11.{i % 9 + 1:02d}.2023" for i in range(200)]
    (note,) = notes_of(column(german))
    assert "missing=['01.01.1900'] takes it as missing" in note


def test_typed_tables_and_estimators():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(20, 5, 300).round(1), "b": random.random(300)})
    frame.loc[::10, "a"] = -999.9
    frame["y"] = random.random(300)
    (note,) = notes_of(frame)
    assert "column 'a': -999.9 occurs 30 times" in note
    assert note.endswith("missing=['-999.9'] takes it as missing in every column")
    for X in (frame[["a", "b"]], frame[["a", "b"]].to_numpy()):
        with pytest.warns(DataWarning, match=r"-999.9 occurs 30 times.*if it is one, make it miss"):
            KernelRegressor(n_components=16, C=1).fit(X, frame["y"])
    clean = frame.replace(-999.9, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        KernelRegressor(n_components=16, C=1).fit(clean[["a", "b"]], clean["y"])


def test_the_advice_of_the_command_works():
    column(["-999" if i % 9 == 0 else f"{i % 40}" for i in range(200)])
    status, _, said = called("fit", "x.csv", "-o", "m.klt", "-k", "16", "-C", "1")
    assert status == 0
    assert "--missing -999 takes it as missing in every column" in said
    status, _, said = called(
        "fit", "x.csv", "-o", "m.klt", "-k", "16", "-C", "1", "--missing", "-999"
    )
    assert status == 0
    assert "-999" not in said
