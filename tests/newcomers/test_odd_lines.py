"""Small things: dashes below names, single quotes, titles that are not UTF-8, few rows."""

from __future__ import annotations

import pytest
from cli.in_process import called

from kernelight.data import DataError, open_dataset


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, lines, encoding="utf-8"):
    with open(name, "w", encoding=encoding) as file:
        file.write("\n".join([*lines, ""]))
    return name


ROWS = [f"{i % 11},{i % 5}.5,{'ab'[i % 2]}" for i in range(30)]


@pytest.mark.parametrize("below", [["---,---,---"], ["-----,===,:---:", "kg,m,"]])
def test_a_line_of_dashes_below_the_names_is_left_out(below):
    data = open_dataset(write("x.csv", ["a,b,y", *below, *ROWS]))
    X, y = data.materialise()
    assert X.shape == (30, 2)
    assert {*y} == {"a", "b"}
    assert any("is a line of dashes below the names; left out" in note for note in data.notes)
    assert any("units" in note for note in data.notes) == (len(below) > 1)
    with pytest.raises(DataError, match=r"line 2 \('---.*dashes below the names; delete it"):
        open_dataset("x.csv", strict=True)


def test_single_quotes_are_noted():
    data = open_dataset(write("x.csv", ["a,y", *(f"'{i % 7}','{'yn'[i % 2]}'" for i in range(30))]))
    note = "cells such as \"'0'\" are in single quotes, which are taken as part of the words; "
    assert f"{note}write double quotes, or none" in data.notes
    new = open_dataset(write("n.csv", ["a", "'3'", "'4'"]), encoding=data.encoding)
    assert new.notes == []
    assert not any(
        "quotes" in note for note in open_dataset(write("x.csv", ["a,b,y", *ROWS])).notes
    )


def test_a_title_that_is_not_utf_8_is_said_in_words():
    write("x.csv", ["Größe der Häuser", "a,b,y", *ROWS], "cp1252")
    with pytest.raises(DataError) as raised:
        open_dataset("x.csv", strict=True)
    assert str(raised.value) == (
        "x.csv, line 1: the text is not UTF-8; charset='cp1252', or the encoding that it has, "
        "reads it."
    )


def test_compare_says_of_few_rows_which_file_and_what_helps():
    write("x.csv", ["a,b,y", *ROWS[:3]])
    said = called("compare", "x.csv", "--target", "y").said
    assert said == (
        "kernelight: x.csv has 3 rows with a target, and compare needs at least 10: collect more, "
        "or train one model, as kernelight fit and TableModel do.\n"
    )


def test_a_date_as_in_training_is_not_called_what_training_did_not_have():
    rows = [f"{1 + i % 28}/{1 + i % 12}/2024,{i % 7},{'ab'[i % 2]}" for i in range(60)]
    encoding = open_dataset(write("x.csv", ["day,n,y", *rows])).encoding
    write("n.csv", ["day,n", "soon,1", "later,2"])
    with pytest.raises(DataError, match=r"as in training \(day first\), or like 2024-12-31\."):
        open_dataset("n.csv", encoding=encoding).materialise()
