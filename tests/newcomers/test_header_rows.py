"""Which row has the names: years among them, a target that the user names, titles above them."""

from __future__ import annotations

import pytest
from cli.in_process import called

from kernelight.data import open_dataset


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, text):
    with open(name, "w") as file:
        file.write(text)
    return name


YEARS = "country,2019,2020,2021\n" + "".join(
    f"{('Malta', 'Cyprus', 'Iceland')[i % 3]},{i % 7}.5,{i % 5},{i % 3}.25\n" for i in range(30)
)


def test_years_are_names():
    data = open_dataset(write("x.csv", YEARS), target="2021")
    X, y = data.materialise()
    assert data.feature_names[-2:] == ["2019", "2020"]
    assert X.shape[0] == len(y) == 30
    note = "the first row has the names of the columns, with numbers such as 2019 among them; "
    assert open_dataset("x.csv", target=None).notes[0] == f"{note}header=False reads it as values"
    assert open_dataset("x.csv", target=None, header=False).materialise()[0].shape[0] == 31
    assert open_dataset("x.csv", target=3).target_name == "2021"
    new = write("n.csv", "country,2019,2020\nMalta,1.5,2020\nCyprus,2,2019\n")
    assert open_dataset(new, encoding=data.encoding).materialise()[0].shape[0] == 2
    said = called("fit", "x.csv", "-o", "m.klt", "-k", "16", "-C", "1").said
    assert "--no-header reads it as values" in said


@pytest.mark.parametrize(
    ("first", "headed"),
    [
        ("country,2021,2020,2015", True),
        ("label,0,1,2", True),
        ("label,1,2,3", True),
        ("country,2019,2020,2020", False),  # a year twice
        ("country,2019,2020,5", False),
        ("label,4,5,6", False),
        ("7,2019,2020,2021", False),  # no word
    ],
)
def test_other_numbers_are_values(first, headed):
    rows = "".join(f"w{i % 3},{i % 7}.5,{i % 5},{i % 3}\n" for i in range(30))
    X, _ = open_dataset(write("x.csv", f"{first}\n{rows}"), target=None).materialise()
    assert X.shape[0] == 31 - headed


def test_years_in_every_row_are_values():
    rows = "".join(f"w{i % 3},{1990 + i},{2000 + i}\n" for i in range(30))
    assert open_dataset(write("x.csv", rows), target=None).materialise()[0].shape[0] == 30


def test_a_column_that_the_user_names_settles_which_row_has_the_names():
    text = "size,7,kind\n" + "".join(f"{i % 9},{i % 5},{'ab'[i % 2]}\n" for i in range(30))
    for options in ({"target": "kind"}, {"ignore": ["size"]}, {"ids": "size"}):
        data = open_dataset(write("x.csv", text), **options)
        assert data.materialise()[0].shape[0] == 30
        assert data.columns == ["size", "7", "kind"]
    status, _, _ = called("fit", "x.csv", "--target", "kind", "-o", "m.klt", "-k", "16", "-C", "1")
    assert status == 0
    assert open_dataset("x.csv", target="1").columns == ["column_1", "column_2", "column_3"]


@pytest.mark.parametrize("title", ["Report of March", "Report of March,,"])
def test_a_title_above_names_of_which_two_are_the_same(title):
    rows = "".join(f"{i % 9},{i % 5},{'ab'[i % 2]}\n" for i in range(30))
    data = open_dataset(write("x.csv", f"{title}\nsize,size,kind\n{rows}"))
    assert data.columns == ["size", "size.1", "kind"]
    assert data.notes[1].startswith("line 1 ('Report of March') is above the names")


def test_a_title_above_a_table_of_words_whose_target_is_named():
    rows = "".join(f"{('red', 'blue')[i % 2]},{'xyz'[i % 3]},{'ab'[i % 2]}\n" for i in range(30))
    write("x.csv", f"Report of March,,\ncolour,letter,kind\n{rows}")
    assert open_dataset("x.csv", target="kind").columns == ["colour", "letter", "kind"]


def test_a_title_with_a_delimiter_in_it():
    rows = "".join(f"{i % 9},{i % 5},{'ab'[i % 2]}\n" for i in range(30))
    write("x.csv", f"Houses, district 7\nsize,size,kind\n{rows}")
    data = open_dataset("x.csv", target="kind")
    assert data.columns == ["size", "size.1", "kind"]
    assert data.materialise()[0].shape == (30, 2)
    write("n.csv", "Houses, district 8\nsize,size,kind\n1,2,a\n")
    assert open_dataset("n.csv", encoding=data.encoding).materialise()[0].tolist() == [[1, 2]]


@pytest.mark.parametrize("options", [{}, {"target": "died"}, {"ignore": ["sex"]}])
def test_names_of_groups_above_the_names_of_columns(options):
    rows = "".join(f"{20 + i},{'mf'[i % 2]},1.{i},{'yn'[i % 3 == 0]}\n" for i in range(30))
    data = open_dataset(write("x.csv", f"Person,,,Outcome\nage,sex,height,died\n{rows}"), **options)
    assert data.columns == ["age", "sex", "height", "died"]
    assert data.materialise()[0].shape[0] == 30
    assert any("line 1 ('Person') is above the names of the columns" in n for n in data.notes)
    write("n.csv", "Person,,\nage,sex,height\n30,m,1.5\n")
    assert open_dataset("n.csv", encoding=data.encoding).materialise()[0].shape[0] == 1


def test_names_of_groups_above_a_name_that_is_a_unit_as_well():
    rows = "".join(f"{i % 9},{'uv'[i % 2]},{'ab'[i % 2]}\n" for i in range(30))
    data = open_dataset(write("x.csv", f"grp,,grp2\nn,w,y\n{rows}"))
    assert data.columns == ["n", "w", "y"]
    assert not any("units" in note for note in data.notes)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (",size,kind", "r0,unknown,a"),  # an index without a name
        ("size,,kind", "kg,g,m"),  # units
        ("size,,kind", "big,7,a"),  # a number
        ("size,,kind", "unknown,red,a"),  # a word of other rows
    ],
)
def test_other_rows_below_a_name_that_is_empty_are_no_names(first, second):
    rows = "".join(f"{i % 9},{i % 5},{'ab'[i % 2]}\n" for i in range(30))
    rows = rows if first[0] != "," else rows.replace("\n", "\nr", 29)
    data = open_dataset(write("x.csv", f"{first}\n{second}\n{rows}"))
    assert data.columns[-1] == "kind"
