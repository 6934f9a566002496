"""New files whose values could mean two things: training decides, or an error asks."""

from __future__ import annotations

import numpy as np
import pytest

from kernelight.data import DataError, open_dataset


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, lines):
    with open(name, "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, ""]))
    return name


def column(data, name):
    X, _ = data.materialise()
    return X[:, data.feature_names.index(name)]


def rents(i):
    return f'"{1 + i % 9}.{100 + i}{f",{10 + i}" if i % 2 else ""} €"'


@pytest.mark.parametrize("strict", [False, True])
def test_points_between_thousands_stay_so_in_a_file_of_one_row(strict):
    lines = ["rent,n,y", *(f"{rents(i)},{i % 7},{'ab'[i % 2]}" for i in range(60))]
    data = open_dataset(write("x.csv", lines))
    wanted = column(data, "rent")
    for row in range(6):
        write("n.csv", [lines[0], lines[1 + row]])
        new = open_dataset("n.csv", encoding=data.encoding, strict=strict)
        assert column(new, "rent").tolist() == [wanted[row]]
    new = open_dataset(write("n.csv", lines[:2]), encoding=data.encoding)
    assert (
        "column 'rent': numbers such as '1.100 €' are read as 1100, with a decimal comma as in "
        "training, though they could be 1.1" in new.notes
    )
    write("n.csv", ["rent,n", '"6.811 €",1', '"12.34 €",2'])  # certain
    assert column(open_dataset("n.csv", encoding=data.encoding), "rent").tolist() == [6.811, 12.34]


def test_commas_between_thousands_stay_so_in_a_file_with_semicolons():
    sizes = ["1,234,567", "12,345", "7,001"]
    lines = ["n,k,y", *(f'"{sizes[i % 3]}",{i % 7},{"ab"[i % 2]}' for i in range(60))]
    data = open_dataset(write("x.csv", lines))
    new = open_dataset(write("n.csv", ["n;k", "12,345;1", "7,001;2"]), encoding=data.encoding)
    assert column(new, "n").tolist() == [12345, 7001]
    assert any("though they could be 12.345" in note for note in new.notes)
    write("n.csv", ["n;k", "12,345;1", "7,05;2"])  # certain
    assert column(open_dataset("n.csv", encoding=data.encoding), "n").tolist() == [12.345, 7.05]


def test_a_column_that_had_points_in_training_says_nothing_of_the_others():
    """Of a table with both separators, 6.811 followed a column that never had commas."""
    lines = [f"{rents(i)},{i % 5}.5,{i % 7},{'ab'[i % 2]}" for i in range(60)]
    encoding = open_dataset(write("x.csv", ["rent,rate,n,y", *lines])).encoding
    new = open_dataset(write("n.csv", ["rent,rate,n", "6.811 €,4.5,1"]), encoding=encoding)
    np.testing.assert_array_equal(new.materialise()[0], [[6811, 4.5, 1]])


@pytest.mark.parametrize("strict", [False, True])
def test_dates_with_dots_are_not_read_month_first_after_slashes(strict):
    days = [f"{1 + i % 12}/{1 + i % 28}/2024" for i in range(60)]
    lines = ["day,n,y", *(f"{day},{i % 7},{'ab'[i % 2]}" for i, day in enumerate(days))]
    encoding = open_dataset(write("x.csv", lines)).encoding
    write("n.csv", ["day,n", "03.04.2024,1", "05.06.2024,2"])
    with pytest.raises(
        DataError, match=r"'03\.04\.2024' may be day first.*like 12/31/2024 or 2024-"
    ):
        open_dataset("n.csv", encoding=encoding, strict=strict)
    write("n.csv", ["day,n", *[f"03.{4 + i % 8:02}.2024,1" for i in range(19)], "27.03.2024,2"])
    if strict:
        with pytest.raises(DataError, match="read as day first"):
            open_dataset("n.csv", encoding=encoding, strict=True)
        return
    months = column(open_dataset("n.csv", encoding=encoding), "day: month")
    assert months[:2].tolist() == [4, 5]
    assert months[-1] == 3
    write("n.csv", ["day,n", "3/4/2024,1", "05/06/2024,2"])  # as in training
    assert column(open_dataset("n.csv", encoding=encoding), "day: month").tolist() == [3, 5]
