"""Words for a missing value as people and programs write them, and those of stored models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cli.in_process import called

from kernelight.data import DataError, Encoding, open_dataset
from kernelight.data.dialect import FIRST_MISSING, MISSING, MISSING_NUMBERS


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table(name, word, rows=60, every=4):
    """A column of numbers, one of dates, one of words and a target, with a word among each."""
    with open(name, "w") as file:
        file.write("size,day,colour,kind\n")
        for i in range(rows):
            own = (f"{i}.5", f"2024-03-{i % 28 + 1:02d}", ("red", "blue")[i % 3 == 0], "ab"[i % 2])
            cells = [word if (i + at) % every == 0 else cell for at, cell in enumerate(own)]
            file.write(",".join(cells) + "\n")
    return name


@pytest.mark.parametrize("word", sorted({*MISSING, *MISSING_NUMBERS}))
def test_among_numbers_and_dates_they_are_missing(word):
    data = open_dataset(table("x.csv", word), target="kind")
    X, _ = data.materialise()
    size = X[:, 0]
    assert data.feature_names[0] == "size"
    assert any(name.startswith("day: ") for name in data.feature_names)
    assert not any("not a" in note for note in data.notes)
    assert len(np.unique(size)) == len({*size})
    strict = open_dataset("x.csv", target="kind", ignore=["day", "colour"], missing=None)
    assert strict.materialise()[0].shape[1] == 1


@pytest.mark.parametrize("word", MISSING)
def test_certain_ones_are_missing_among_words_too(word):
    data = open_dataset(table("x.csv", word), target="kind")
    assert data.encoding.target.labels == ("a", "b")
    colour = next(c for c in data.encoding.columns if c.name == "colour")
    assert (colour.categories, colour.missing) == (("blue", "red"), True)
    frame = pd.read_csv("x.csv", keep_default_na=False, dtype=str)
    again = open_dataset(frame, target="kind").encoding
    assert again.target.labels == ("a", "b")
    assert next(c for c in again.columns if c.name == "colour") == colour


@pytest.mark.parametrize("word", ["-", "none", ".", "missing"])
def test_unclear_ones_stay_words_among_words_with_a_note(word):
    data = open_dataset(table("x.csv", word), target="kind")
    assert data.encoding.target.labels == tuple(sorted(["a", "b", word]))
    colour = next(c for c in data.encoding.columns if c.name == "colour")
    assert word in colour.categories
    for name in ("colour", "kind"):
        note = f"column '{name}': '{word}' may stand for a missing value and is taken as a word; "
        assert f"{note}missing=['{word}'] takes it as missing" in data.notes
    with pytest.raises(DataError, match="may stand for a missing value"):
        open_dataset("x.csv", target="kind", ignore=["day"], strict=True)
    named = open_dataset("x.csv", target="kind", missing=[*MISSING, word])
    assert named.encoding.target.labels == ("a", "b")


def test_more_than_half_of_a_column_of_numbers_may_be_a_dash():
    with open("x.csv", "w") as file:
        file.write(
            "a,b,y\n" + "".join(f"{'-' if i % 3 else i},{7 * i},{i % 2}\n" for i in range(60))
        )
    data = open_dataset("x.csv")
    assert data.feature_names == ["a", "b"]
    X, _ = data.materialise()
    assert X[3, 0] == 3
    assert X[1, 0] == np.median(np.arange(0, 60, 3))
    for options in ({"strict": True}, {"dtype": np.float32}):
        assert open_dataset("x.csv", **options).materialise()[0].shape == (60, 2)
    frame = pd.read_csv("x.csv", dtype=str)
    np.testing.assert_array_equal(open_dataset(frame, target="y").materialise()[0], X)


def test_dashes_among_formatted_numbers_and_booleans():
    with open("x.csv", "w") as file:
        file.write("price,paid,y\n")
        for i in range(60):
            price = "-" if i % 4 == 1 else f'"$1,{i:03d}.50"'
            file.write(f"{price},{'-' if i % 5 == 2 else i % 3 == 0},{'ab'[i % 2]}\n")
    data = open_dataset("x.csv")
    assert data.feature_names == ["price", "paid"]
    assert data.materialise()[0][0].tolist() == [1000.5, 1]
    assert "column 'price': numbers such as '$1,000.50' are read as 1000.5" in data.notes
    new = open_dataset("x.csv", encoding=data.encoding)
    np.testing.assert_array_equal(new.materialise()[0], data.materialise()[0])
    assert new.notes == []


def test_models_of_before_keep_the_words_that_they_know():
    """A stored encoding without a list of words was learned with the first list."""
    table("x.csv", "N.A.")
    options = {"target": "kind", "ignore": ["size", "day"], "missing": FIRST_MISSING}
    plain = {**open_dataset("x.csv", **options).encoding.to_plain(), "missing_words": None}
    plain.pop("missing_numbers", None)
    before = Encoding.from_plain(plain)
    assert before.target.labels == ("N.A.", "a", "b")
    X, y = open_dataset("x.csv", encoding=before).materialise()
    at = before.feature_names.index("colour=N.A.")
    assert X[2, at] == 1
    assert "N.A." in y
    frame = pd.read_csv("x.csv", keep_default_na=False, dtype=str)
    np.testing.assert_array_equal(open_dataset(frame, encoding=before).materialise()[0], X)
    more = open_dataset("x.csv", encoding=before, missing=[*MISSING, "red"])  # as the command does
    assert more.materialise()[0][2, at] == 1


def test_a_model_names_its_words():
    encoding = open_dataset(table("x.csv", "-"), target="kind").encoding
    plain = encoding.to_plain()
    assert plain["missing_words"] == list(MISSING)
    assert plain["missing_numbers"] == list(MISSING_NUMBERS)
    assert Encoding.from_plain(plain) == encoding
    own = open_dataset("x.csv", target="kind", missing=["-", "?"]).encoding
    assert (own.missing_words, own.missing_numbers) == (("-", "?"), ())


def test_the_command_says_how_a_class_becomes_missing():
    table("x.csv", "-")
    status, _, said = called("fit", "x.csv", "-o", "m.klt", "-k", "16", "-C", "1")
    assert status == 0
    assert "column 'kind': '-' may stand for a missing value" in said
    assert "--missing - takes it as missing" in said
    status, _, said = called("fit", "x.csv", "-o", "m.klt", "-k", "16", "-C", "1", "--missing", "-")
    assert status == 0
    assert "15 rows have no target and are left out" in said


@pytest.mark.parametrize(
    ("word", "everywhere"),
    [
        ("keine Angabe", True),
        ("k. A.", True),
        ("k.a.", True),
        ("nicht verfügbar", True),
        ("non renseigné", True),
        ("sin datos", True),
        ("n.v.", False),
        ("n.d.", False),
        ("s/d", False),
    ],
)
def test_people_write_them_in_their_language(word, everywhere):
    """More than one of ten values: as unknown words they would be refused among numbers."""
    data = open_dataset(table("x.csv", word), target="kind")
    data.materialise()
    colour = next(c for c in data.encoding.columns if c.name == "colour")
    assert (word not in colour.categories) == everywhere
    assert any("may stand for a missing value" in note for note in data.notes) != everywhere
    for old in (["NA"], list(FIRST_MISSING)):  # a model of before keeps its list
        plain = {**data.encoding.to_plain(), "missing_words": old, "missing_numbers": ["-"]}
        with pytest.raises(DataError, match=r"is not a (number|date)"):
            open_dataset("x.csv", encoding=Encoding.from_plain(plain)).materialise()
