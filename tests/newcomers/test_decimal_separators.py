"""One decimal separator for a table: 76.571 is a number of thousands beside decimal commas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cli.in_process import called

from kernelight.data import DataError, Encoding, open_dataset


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def german(name, rows=60, people=lambda i: f"{i % 90 + 10}.{i % 7}71", more=lambda i: ""):
    """Prices with decimal commas, and numbers of people with points between thousands."""
    with open(name, "w") as file:
        file.write("price;people;rooms;y\n")
        for i in range(rows):
            file.write(f"{i % 9},{i % 7}5;{people(i)}{more(i)};{i % 4 + 1};{'ab'[i % 2]}\n")
    return name


def column(data, name):
    X, _ = data.materialise()
    return X[:, data.feature_names.index(name)]


def test_points_stand_between_thousands_where_other_columns_have_decimal_commas():
    data = open_dataset(german("x.csv"))
    people = column(data, "people")
    assert people[:3].tolist() == [10071, 11171, 12271]
    assert column(data, "rooms")[:4].tolist() == [1, 2, 3, 4]
    assert (
        "column 'people': numbers such as '10.071' are read as 10071, because other columns have "
        "decimal commas" in data.notes
    )
    assert not any("'rooms': numbers" in note for note in data.notes)
    batches = np.concatenate([part.X for part in open_dataset("x.csv").batches(7)])
    np.testing.assert_array_equal(batches, data.materialise()[0])


def test_a_target_of_thousands_is_one_too():
    data = open_dataset(german("x.csv"), target="people")
    assert data.materialise()[1][:2].tolist() == [10071, 11171]


def test_a_point_that_comes_late_counts():
    """The first 20,000 rows have no point at all."""
    rows = 20_200
    data = open_dataset(german("x.csv", rows, lambda i: "1.234" if i > 20_100 else str(i % 900)))
    people = column(data, "people")
    assert people[5] == 5
    assert people[-1] == 1234


def test_new_files_of_such_a_model():
    encoding = open_dataset(german("x.csv", people=lambda i: str(7 * i))).encoding
    encoding = Encoding.from_plain(encoding.to_plain())
    assert column(open_dataset(german("n.csv"), encoding=encoding), "people")[0] == 10071


def test_quoted_cells_between_commas_are_judged_by_the_whole_file():
    encoding = open_dataset(german("x.csv")).encoding
    with open("n.csv", "w") as file:
        file.write('price,people,rooms\n"1,25",76.571,3\n"0,75",12.345,2\n')
    assert column(open_dataset("n.csv", encoding=encoding), "people").tolist() == [76571, 12345]
    with open("p.csv", "w") as file:
        file.write("price,people,rooms\n1.25,76.571,3\n0.75,12.345,2\n")
    assert column(open_dataset("p.csv", encoding=encoding), "people").tolist() == [76.571, 12.345]


def test_certain_points_beside_certain_commas_leave_columns_as_they_are():
    with open("x.csv", "w") as file:
        file.write("price;rating;width;y\n")
        for i in range(40):
            file.write(f"{i % 9},{i % 7}5;{i % 5}.5;{i % 90 + 10}.171;{'ab'[i % 2]}\n")
    data = open_dataset("x.csv")
    assert column(data, "width")[0] == 10.171
    assert column(data, "rating")[1] == 1.5
    note = next(note for note in data.notes if "'width'" in note)
    assert "decimal=',' reads them as 10171" in note
    assert column(open_dataset("x.csv", decimal=","), "width")[0] == 10171
    again = open_dataset("x.csv", encoding=data.encoding)  # the model reads them as in training
    assert column(again, "width")[0] == 10.171


def test_formatted_numbers_that_fit_both_follow_the_certain_ones():
    with open("x.csv", "w") as file:
        file.write("price,loss,gain,y\n")
        for i in range(40):
            file.write(f'"{i % 9},{i % 7}5","1,{i % 7}00",{i % 9 + 1}.000 €,{"ab"[i % 2]}\n')
    data = open_dataset("x.csv")
    assert column(data, "loss")[1] == 1.1
    assert column(data, "gain")[1] == 2000


def test_frames_of_text_are_read_like_files():
    frame = pd.read_csv(german("x.csv"), sep=";", dtype=str)
    np.testing.assert_array_equal(
        column(open_dataset(frame, target="y"), "people"), column(open_dataset("x.csv"), "people")
    )


@pytest.mark.parametrize("strict", [False, True])
def test_a_new_file_with_the_other_separator_is_read_where_that_is_certain(strict):
    lines = [f"{i % 9}.{i % 7}5,{i % 30},{'ab'[i % 2]}" for i in range(40)]
    with open("x.csv", "w") as file:
        file.write("\n".join(["price,n,y", *lines]))
    encoding = open_dataset("x.csv").encoding
    with open("n.csv", "w") as file:
        file.write("price;n\n3,25;1.200\n4,5;7\n")
    if strict:
        with pytest.raises(DataError, match=r"'3,25' are read as 3\.25, with a decimal comma"):
            open_dataset("n.csv", encoding=encoding, strict=True)
        return
    new = open_dataset("n.csv", encoding=encoding)
    assert new.materialise()[0].tolist() == [[3.25, 1200], [4.5, 7]]
    assert (
        "column 'price': numbers such as '3,25' are read as 3.25, with a decimal comma (in "
        "training with a decimal point)" in new.notes
    )
    encoding = open_dataset(german("g.csv")).encoding
    with open("n.csv", "w") as file:
        file.write("price;people;rooms\n3.25;1200.5;3\n4.5;7;2\n")
    new = open_dataset("n.csv", encoding=encoding)
    assert new.materialise()[0].tolist() == [[3.25, 1200.5, 3], [4.5, 7, 2]]


def test_one_value_with_a_point_does_not_turn_a_column():
    encoding = open_dataset(german("x.csv")).encoding
    with open("n.csv", "w") as file:
        file.write("price;people;rooms\n0.5;1;1\n" + "".join(f"{i},5;2;3\n" for i in range(30)))
    X, _ = open_dataset("n.csv", encoding=encoding).materialise()
    assert X[1:4, 0].tolist() == [0.5, 1.5, 2.5]


def test_the_command_says_it():
    german("x.csv")
    status, _, said = called("fit", "x.csv", "-o", "m.klt", "-k", "16", "-C", "1")
    assert status == 0
    assert "column 'people': numbers such as '10.071' are read as 10071" in said
    german("n.csv", rows=5)
    assert called("predict", "m.klt", "n.csv").status == 0
