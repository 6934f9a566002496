"""New files that say the same in another way: read where that is certain, else with what helps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cli.in_process import called

from kernelight.data import DataError, open_dataset


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, text, encoding="utf-8"):
    with open(name, "w", encoding=encoding) as file:
        file.write(text)
    return name


DAYS = pd.to_datetime("2024-03-01") + pd.to_timedelta(np.arange(60) * 13 % 90, unit="D")


def table(form, name="x.csv"):
    rows = "".join(f"{d.strftime(form)},{i % 7},{'ab'[i % 2]}\n" for i, d in enumerate(DAYS))
    return write(name, f"day,n,y\n{rows}")


FORMATS = ["%d.%m.%Y", "%Y-%m-%d", "%m/%d/%Y", "%d %b %Y"]


@pytest.mark.parametrize("here_form", FORMATS)
@pytest.mark.parametrize("trained", FORMATS)
def test_dates_in_another_format(trained, here_form):
    encoding = open_dataset(table(trained)).encoding
    wanted, _ = open_dataset("x.csv", encoding=encoding).materialise()
    new = open_dataset(table(here_form, "n.csv"), encoding=encoding)
    np.testing.assert_array_equal(new.materialise()[0], wanted)
    assert (trained == here_form) == (new.notes == [])
    if trained != here_form:
        assert "are written otherwise than in training" in new.notes[0]
        with pytest.raises(DataError, match="are written otherwise than in training"):
            open_dataset("n.csv", encoding=encoding, strict=True)


def test_dates_that_may_be_either_are_refused_with_what_helps():
    encoding = open_dataset(table("%Y-%m-%d")).encoding
    write("n.csv", "day,n\n03/04/2024,1\n05/06/2024,2\n")
    with pytest.raises(DataError, match="write them as in training, like 2024-12-31"):
        open_dataset("n.csv", encoding=encoding).materialise()
    write("n.csv", "day,n\n14:30,1\n15:45,2\n")  # no date at all
    with pytest.raises(DataError, match="'14:30' is not a date"):
        open_dataset("n.csv", encoding=encoding).materialise()


@pytest.mark.parametrize("words", [("yes", "no"), ("Y", "N"), ("ja", "nein"), ("1", "0")])
def test_yes_and_no_for_booleans(words):
    def paid(true, false):
        return "paid,n,y\n" + "".join(
            f"{(false, true)[i % 3 == 0]},{i % 7},{'ab'[i % 2]}\n" for i in range(60)
        )

    encoding = open_dataset(write("x.csv", paid("TRUE", "FALSE"))).encoding
    wanted, _ = open_dataset("x.csv", encoding=encoding).materialise()
    new = open_dataset(write("n.csv", paid(*words)), encoding=encoding)
    np.testing.assert_array_equal(new.materialise()[0], wanted)
    if words[0] != "1":
        assert any("read as 1 and 0, as booleans are" in note for note in new.notes)
        back = open_dataset("n.csv").encoding  # the other way round
        assert len(back.columns[0].categories) == 2
        np.testing.assert_array_equal(
            open_dataset("x.csv", encoding=back).materialise()[0],
            open_dataset("n.csv", encoding=back).materialise()[0],
        )


def test_a_word_that_is_neither_is_refused_with_what_helps():
    table("%Y-%m-%d")
    called("fit", "x.csv", "-o", "m.klt", "-k", "16", "-C", "1")
    write("n.csv", "day,n\n2024-03-04,lots\n2024-03-05,2\n")
    said = called("predict", "m.klt", "n.csv").said
    assert "'lots' is not a number" in said
    assert "--missing lots takes the word as missing" in said
    assert called("predict", "m.klt", "n.csv", "--missing", "lots").status == 0


def test_strict_says_first_that_a_text_is_not_utf_8():
    """Columns were judged without their rows, so that dates were called words."""
    rows = "".join(
        f"{d.strftime('%d.%m.%Y')},{('Köln', 'Bonn')[i % 2]},{'ab'[i % 2]}\n"
        for i, d in enumerate(DAYS)
    )
    write("x.csv", f"day,town,y\n{rows}", "cp1252")
    with pytest.raises(DataError, match="is not UTF-8; charset='cp1252'"):
        open_dataset("x.csv", strict=True)
    with pytest.raises(DataError, match=r"column 'day': dates such as '01\.03\.2024'"):
        open_dataset("x.csv", strict=True, charset="cp1252")
