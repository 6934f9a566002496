"""Columns of `1.2K` and `3M`, and of `1h 20m`: numbers where the whole column is written so."""

from __future__ import annotations

import numpy as np
import pytest

import kernelight
from kernelight import KernelRegressor, TableModel, open_dataset
from kernelight.data import DataWarning
from kernelight.data.text_formats import DURATION, THOUSANDS, number_of


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(values, name="t.csv"):
    with open(name, "w") as file:
        file.write("what,other,y\n")
        for at, value in enumerate(values):
            file.write(f'"{value}",{at % 7},{at % 13}.5\n')


def read(values, **options):
    """The features, and the notes on the column."""
    write(values)
    data = open_dataset("t.csv", target="y", **options)
    with pytest.warns(DataWarning) if data.notes else pytest.MonkeyPatch.context():
        X, _ = data.materialise()
    return X, data, [note for note in data.notes if "'what'" in note]


@pytest.mark.parametrize(
    ("text", "form", "value"),
    [
        ("1.2K", THOUSANDS, 1200),
        ("$3M", THOUSANDS, 3e6),
        ("-1.05 k", THOUSANDS, -1050),
        ("2B", THOUSANDS, 2e9),
        ("1,950", THOUSANDS, 1950),
        ("K", THOUSANDS, None),
        ("4WD", THOUSANDS, None),
        ("12 %K", THOUSANDS, None),
        ("1h 20m", DURATION, 4800),
        ("2d3h", DURATION, 183600),
        ("1 hour 20 mins 5 secs", DURATION, 4805),
        ("1.5h", DURATION, 5400),
        ("20m 1h", DURATION, None),
        ("", DURATION, None),
        ("5 monkeys", DURATION, None),
    ],
)
def test_texts(text, form, value):
    found = number_of(text, form)
    assert np.isnan(found) if value is None else found == value


def test_thousands_and_millions():
    X, data, notes = read(["1.2K", "3M", "950", "", "12.5k"] * 20)
    assert data.encoding.columns[0].format == THOUSANDS
    np.testing.assert_array_equal(X[:5, 0], [1200, 3e6, 950, 6850, 12500])
    assert notes == ["column 'what': numbers such as '1.2K' are read as 1200"]
    assert open_dataset("t.csv", encoding=data.encoding).materialise()[0].tobytes() == X.tobytes()


def test_durations():
    X, data, notes = read(["1h 20m", "45m", "2h", "n/a", "1d 1h"] * 20)
    assert data.encoding.columns[0].format == DURATION
    np.testing.assert_array_equal(X[:5, 0], [4800, 2700, 7200, 6000, 90000])
    assert notes == ["column 'what': numbers such as '1h 20m' are read as 4800"]


@pytest.mark.parametrize(
    "values",
    [["1.2K", "3M", "4WD"], ["1h 20m", "45m", "later"], ["1h 20m", "1h 20"], ["M", "3M", "L"]],
)
def test_other_columns_stay_words(values):
    _, data, _ = read(values * 20)
    assert data.encoding.columns[0].kind == "words"


@pytest.mark.parametrize(("values", "unit"), [(["5K", "7K"], "K"), (["45m", "50m"], "m")])
def test_one_letter_is_a_unit(values, unit):
    X, data, _ = read(values * 20)
    assert data.encoding.units == {"what": unit}
    assert X[0, 0] in (5, 45)


def test_a_model_reads_new_files_likewise():
    write(["1.2K", "3M", "950", "12.5k"] * 20)
    with pytest.warns(DataWarning):
        model = TableModel(KernelRegressor(n_components=16, C=1.0)).fit("t.csv", target="y")
    model.save("m.klt")
    again = kernelight.load("m.klt")
    write(["1200", "3M"], "new.csv")
    write(["1.2K", "3000K"], "same.csv")
    for options in ({}, {"decimal": "."}):
        np.testing.assert_array_equal(
            again.predict("new.csv", **options), again.predict("same.csv", **options)
        )
