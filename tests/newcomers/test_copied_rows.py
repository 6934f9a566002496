"""Rows that a table holds twice are noted, unless the table is so coarse that they must be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kernelight import open_dataset
from kernelight.data import DataWarning


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table(n=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.random(n).round(6), "day": "2024-01-05", "part": "west"})
    frame.loc[::3, "part"] = "east"
    frame.loc[::7, "size"] = np.nan
    frame["day"] = (pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), "D")).strftime(
        "%Y-%m-%d"
    )
    frame["let"] = np.where(rng.random(n) > 0.5, "yes", "no")
    return frame


def notes_of(frame, **options):
    frame.to_csv("t.csv", index=False)
    with pytest.warns(DataWarning) as told:
        open_dataset("t.csv", target="let", **options).materialise()
    said = [note for each in told for note in each.message.notes]
    return [note for note in said if "cop" in note]


def test_copies_are_noted():
    frame = table()
    assert notes_of(frame) == []
    again = pd.concat([frame, frame[10:15]])
    assert notes_of(again) == [
        "of 205 rows 5 rows are copies of others, target included; kept, so leave them out if a "
        "row was written twice: scores on held-out rows are too good then"
    ]
    assert notes_of(pd.concat([frame, frame[3:4]]))[0].startswith("of 201 rows 1 row is a copy of")
    # ids do not count
    again.insert(0, "id", [f"r{at}" for at in range(205)])
    assert len(notes_of(again, ids="id")) == 1


@pytest.mark.parametrize("column", ["size", "day", "part", "let"])
def test_a_row_that_differs_in_one_cell_is_no_copy(column):
    frame = table()
    other = frame[10:15].copy()
    other[column] = {"size": 7.5, "day": "2023-05-05", "part": "north", "let": "maybe"}[column]
    assert notes_of(pd.concat([frame, other])) == []


def test_coarse_tables_have_equal_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 60, 400), "b": rng.choice(["x", "y"], 400)})
    frame["let"] = np.where(frame["a"] % 2, "yes", "no")
    frame.loc[0, "let"] = "no"
    assert notes_of(frame.assign(when="2024-01-01")) == []


def test_the_note_is_the_same_in_batches():
    frame = table()
    pd.concat([frame, frame[:9]]).to_csv("t.csv", index=False)
    data = open_dataset("t.csv", target="let")
    with pytest.warns(DataWarning):
        assert sum(len(batch.y) for batch in data.batches(20)) == 209
    assert next(note for note in data.notes if "copies" in note).startswith("of 209 rows 9 rows")
