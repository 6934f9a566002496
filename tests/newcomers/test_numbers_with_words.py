"""Columns of formatted numbers with words among them, and targets of formatted numbers."""

from __future__ import annotations

import pandas as pd
import pytest
from cli.in_process import called

from kernelight import KernelClassifier
from kernelight.data import DataError, DataWarning, open_dataset


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, lines):
    with open(name, "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, ""]))
    return name


def values(number, words=("heavy", "light"), rows=200):
    """Numbers, and a word in each seventh row."""
    return [words[i // 7 % len(words)] if i % 7 == 3 else number(i % 41) for i in range(rows)]


def table(number, **more):
    rows = [f'"{v}",{i % 13},{"ab"[i % 2]}' for i, v in enumerate(values(number, **more))]
    return write("x.csv", ["p,q,y", *rows])


@pytest.mark.parametrize(
    "number",
    [
        lambda i: f"{1 + i / 10:.1f} kg",
        lambda i: f"${i}.50",
        lambda i: f"{i} %",
        lambda i: f"{i + 1},{i + 100}",
        lambda i: f"{i}.5{'KM'[i % 2]}",
        lambda i: f"{i}h {i}m",
    ],
)
def test_formatted_numbers_with_many_words_are_named(number):
    data = open_dataset(table(number))
    note = next(note for note in data.notes if "column 'p'" in note)
    assert (
        f"of 200 values 171 are numbers such as '{number(0)}', the others such as 'heavy'" in note
    )
    assert "taken as words; missing=['heavy', 'light'] takes them as missing" in note
    with pytest.raises(DataError, match="the others such as 'heavy'; taken as words"):
        open_dataset("x.csv", target="y", strict=True)
    assert open_dataset("x.csv", missing=["heavy", "light"]).n_features == 2
    frame = pd.DataFrame({"p": values(number), "q": [i % 13 for i in range(200)]})
    with pytest.warns(DataWarning, match="the others such as 'heavy'; taken as words"):
        KernelClassifier(n_components=16).fit(frame, ["ab"[i % 2] for i in range(200)])


def test_doses_as_a_target_stay_words_without_a_note():
    write("x.csv", ["a,y", *(f"{i},{10 * (1 + i % 2)} mg" for i in range(60))])
    assert not any("taken as words" in note for note in open_dataset("x.csv").notes)


def test_a_target_of_thousands_and_millions_is_numbers_however_few():
    """With at most 50 different values it was words, and no regression was possible."""
    views = [f"{1 + i % 9}.{i % 3}{'KM'[i % 2]}" for i in range(60)]
    write("x.csv", ["a,views", *(f"{i % 17},{v}" for i, v in enumerate(views))])
    data = open_dataset("x.csv", task="regression")
    _, y = data.materialise()
    assert data.task == "regression"
    assert y[:2].tolist() == [1000, 2.1e6]
    data = open_dataset("x.csv", target="views")
    data.materialise()
    assert data.task == "classification"
    assert any("different whole numbers, which are taken as classes" in n for n in data.notes)


def test_a_target_with_a_unit_is_a_quantity_if_asked_for():
    write("x.csv", ["a,y", *(f"{i},{10 * (1 + i % 4)} mg" for i in range(60))])
    _, y = open_dataset("x.csv", task="regression").materialise()
    assert y[:3].tolist() == [10, 20, 30]
    assert open_dataset("x.csv").encoding.target.labels[0] == "10 mg"


def test_a_table_whose_only_column_was_left_out_says_why():
    """It said that every column is the target, an id or ignored."""
    prices = ["free" if i % 7 == 3 else f"${i}.50" for i in range(100)]
    write("x.csv", ["p,y", *(f"{p},{'ab'[i % 2]}" for i, p in enumerate(prices))])
    with pytest.raises(DataError) as raised:
        open_dataset("x.csv").materialise()
    assert str(raised.value) == (
        "x.csv has no features: column 'p' is left out (of 100 values 86 are numbers such as "
        "'$0.50', the others such as 'free'; 86 of 100 words occur once, as ids or free text are; "
        "missing=['free'] takes it as missing); categorical=['p'] keeps it as words."
    )
    said = called("fit", "x.csv", "-o", "m.klt", "--target", "y").said
    assert "--missing free takes it as missing" in said
    assert "--categorical p keeps it as words" in said
    assert (
        called("fit", "x.csv", "-o", "m.klt", "-k", "16", "-C", "1", "--missing", "free").status
        == 0
    )
    write("x.csv", ["p,y", *(f"{60 + i}:{10 + i},{'ab'[i % 2]}" for i in range(50))])
    with pytest.raises(DataError, match="all 50 words are different, as ids or free text are"):
        open_dataset("x.csv").materialise()
