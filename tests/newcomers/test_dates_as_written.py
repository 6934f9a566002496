"""Dates as people and programs write them, and numbers that may be dates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kernelight import KernelRegressor
from kernelight.data import DataWarning, open_dataset


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def column(cells, name="x.csv"):
    with open(name, "w") as file:
        file.write("a;n;y\n")
        file.writelines(f"{cell};{i % 7};{'ab'[i % 2]}\n" for i, cell in enumerate(cells))
    return name


def days_of(cells):
    data = open_dataset(column(cells), target="y")
    X, _ = data.materialise()
    days = next(at for at, name in enumerate(data.feature_names) if "days since" in name)
    return X[:, days].tolist(), data.notes


@pytest.mark.parametrize(
    ("form", "months"),
    [
        ("{day}. {month} 2023", ["Januar", "März", "Dezember"]),
        ("Freitag, {day}. {month} 2023 14:30", ["Jan.", "Mrz.", "Dez."]),
        ("{day} {month} 2023", ["janvier", "mars", "décembre"]),
        ("{day}er {month} 2023", ["Janv", "MARS", "déc"]),
        ("{day} de {month} de 2023", ["enero", "marzo", "diciembre"]),
        ("{month} {day}, 2023", ["January", "Mar", "December"]),
    ],
)
def test_months_have_names_in_several_languages(form, months):
    cells = [form.format(day=i % 28 + 1, month=months[i % 3]) for i in range(60)]
    numbers = (1, 3, 12)
    dates = pd.to_datetime([f"2023-{numbers[i % 3]:02d}-{i % 28 + 1:02d}" for i in range(60)])
    days, notes = days_of(cells)
    np.testing.assert_array_equal(np.floor(days), (dates - dates.min()).days)
    assert notes == [f"column 'a': dates such as '{cells[0]}'; they become numbers"]


@pytest.mark.parametrize("zone", ["GMT+2", "UTC+02", "GMT+02:00", "+0200"])
def test_zones_as_web_forms_write_them(zone):
    cells = [f"2024/02/{i % 28 + 1:02d} 1:30:00 AM {zone}" for i in range(60)]
    data = open_dataset(column(cells), target="y")
    assert "a: days since 2024-01-31" in data.feature_names  # the first is of the day before


@pytest.mark.parametrize("month", ["Foo", "Marzipan", "Mayer"])
def test_other_names_are_no_months(month):
    data = open_dataset(column([f"{i % 9 + 1} {month} 2023" for i in range(60)]), target="y")
    assert all(name.startswith(("a=", "n")) for name in data.feature_names)


def test_numbers_that_may_be_dates_have_a_note():
    days = pd.date_range("2024-01-31", periods=60).strftime("%Y%m%d")
    note = (
        "column 'a': numbers such as 20240131 may be dates and are taken as numbers; written as "
        "2024-01-31 they are read as dates"
    )
    data = open_dataset(column(days), target="y")
    assert data.materialise()[0][0, 0] == 20240131
    assert data.notes == [note]
    frame = pd.read_csv("x.csv", sep=";")
    data = open_dataset(frame, target="y")
    data.materialise()
    assert data.notes == [note]
    frame["y"] = np.sin(np.arange(60))
    with pytest.warns(DataWarning, match="numbers such as 20240131 may be dates"):
        KernelRegressor(n_components=16, C=1).fit(frame[["a", "n"]], frame["y"])


@pytest.mark.parametrize(
    "cells",
    [
        [20240100 + i for i in range(60)],  # no such days
        [20230229 + 10000 * (i % 2) for i in range(60)],
        [20240101 for _ in range(60)],
        [20240101.5 + i % 9 for i in range(60)],
        [18240101 + i % 9 for i in range(60)],
    ],
    ids=["days", "leap", "one", "fractions", "old"],
)
def test_other_numbers_have_none(cells):
    data = open_dataset(column(cells), target="y")
    data.materialise()
    assert not any("may be dates" in note for note in data.notes)


@pytest.mark.parametrize("form", ["%d-%b-%y", "%d %b %y", "%d.%b.%y", "%d-%b-%y %H:%M"])
def test_names_of_months_with_years_of_two_digits(form):
    """Excel writes 5-Feb-24."""
    days = pd.date_range("2023-11-03", periods=60, freq="5D")
    written = [day.strftime(form).lstrip("0") for day in days]
    rows = [f"{day},{i % 7},{'ab'[i % 2]}" for i, day in enumerate(written)]
    with open("x.csv", "w") as file:
        file.write("\n".join(["when,n,y", *rows, ""]))
    data = open_dataset("x.csv")
    X, _ = data.materialise()
    assert X[:, data.feature_names.index("when: year")].tolist() == days.year.tolist()
    assert X[:, data.feature_names.index("when: month")].tolist() == days.month.tolist()
    assert any("dates such as '3" in note for note in data.notes)
