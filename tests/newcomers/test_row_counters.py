"""Columns that count the rows are left out: in sorted tables they tell the target."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cli.in_process import called

from kernelight.data import DataError, open_dataset


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def frame(name, first=1, rows=60):
    rng = np.random.default_rng(0)
    y = np.arange(rows) >= rows // 2  # a sorted table
    size = np.round(rng.standard_normal(rows) + y, 3)
    return pd.DataFrame(
        {name: np.arange(rows) + first, "size": size, "kind": np.where(y, "b", "a")}
    )


def opened(table, form, **options):
    if form == "csv":
        table.to_csv("x.csv", index=False)
        return open_dataset("x.csv", target="kind", **options)
    if form == "parquet":
        table.to_parquet("x.parquet")
        return open_dataset("x.parquet", target="kind", **options)
    return open_dataset(table, target="kind", **options)


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
@pytest.mark.parametrize(("name", "first"), [("laufend", 1), ("who", 0)])
def test_a_counter_is_left_out(name, first, form):
    data = opened(frame(name, first), form)
    assert data.feature_names == ["size"]
    said = f"it counts the rows, {first}, {first + 1}, {first + 2} and so on; left out"
    assert f"column '{name}': {said}" in data.notes
    with pytest.raises(DataError, match="it counts the rows"):
        opened(frame(name, first), form, strict=True)
    kept = opened(frame(name, first), form, categorical=[name])
    assert len(kept.feature_names) == 61
    new = opened(frame(name, first).drop(columns=[name]), form, encoding=data.encoding)
    assert new.materialise()[0].shape == (60, 1)


@pytest.mark.parametrize("name", ["nr", "row", "Unnamed: 0", "row_nr", "idx", "s.no."])
def test_a_column_that_is_called_so_need_not_be_in_order(name):
    table = frame(name)
    table[name] = np.random.default_rng(0).permutation(60)
    data = opened(table, "csv")
    assert data.feature_names == ["size"]
    assert f"column '{name}': all 60 numbers are different, as ids are; left out" in data.notes


@pytest.mark.parametrize("form", ["csv", "frame"])
def test_what_is_no_counter_is_kept(form):
    for change in (
        lambda n: n + 4,  # it does not begin at 0 or 1
        lambda n: n[::-1],
        lambda n: n * 2,
        lambda n: n + (n == 30),  # one is there twice
        lambda n: n + 0.5,
        lambda n: np.sort(np.random.default_rng(1).standard_normal(60)),
        lambda n: np.where(n == 17, np.nan, n),
    ):
        table = frame("many")
        table["many"] = change(table["many"].to_numpy())
        assert opened(table, form).feature_names == ["many", "size"]
    assert opened(frame("many", rows=19), form).feature_names == ["many", "size"]  # by chance?


@pytest.mark.parametrize("name", ["day", "t", "time_step", "Month"])
def test_a_time_that_counts_the_rows_is_kept_with_a_note(name):
    data = opened(frame(name), "csv")
    assert data.feature_names == [name, "size"]
    assert any(f"column '{name}': it counts the rows" in n and "is kept" in n for n in data.notes)


def test_a_counter_of_which_the_first_rows_are_all_in_order():
    """The first 500 rows count, the next do not."""
    table = frame("many", rows=1000)
    table.loc[700, "many"] = 3
    assert opened(table, "csv").feature_names == ["many", "size"]


def test_nothing_else_to_learn_from():
    table = frame("nr")[["nr", "kind"]]
    assert opened(table, "csv").feature_names == ["nr"]


def test_the_command_says_it():
    frame("who").to_csv("x.csv", index=False)
    status, _, said = called("fit", "x.csv", "-o", "m.klt", "-k", "16", "-C", "1")
    assert status == 0
    assert "column 'who': it counts the rows, 1, 2, 3 and so on; left out" in said


def test_a_sum_at_the_end_does_not_hide_a_counter():
    frame("No.").to_csv("x.csv", index=False)
    with open("x.csv", "a") as file:
        file.write("Average,0.5,\n")
    assert open_dataset("x.csv").feature_names == ["size"]
    frame("who").to_csv("x.csv", index=False)
    with open("x.csv", "a") as file:
        file.write("Average,0.5,\n")
    assert open_dataset("x.csv").feature_names == ["size"]
