"""What stands beside numbers: a minus behind them, units, currencies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cli.in_process import called

from kernelight import KernelClassifier
from kernelight.data import DataError, DataWarning, Encoding, open_dataset


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, header, rows):
    with open(name, "w") as file:
        file.write("\n".join([header, *rows]) + "\n")
    return name


def column(cells, name="x.csv", delimiter=";"):
    """A file with a column of these cells, and a target."""
    rows = (f"{cell}{delimiter}{'ab'[i % 2]}" for i, cell in enumerate(cells))
    return write(name, f"a{delimiter}y", rows)


def values_of(cells, **options):
    data = open_dataset(column(cells), target="y", **options)
    X, _ = data.materialise()
    assert data.feature_names == ["a"]
    return data, X[:, 0].tolist()


# -- A minus behind the number, as SAP writes it


def amounts(i, minus=""):
    return f"{i % 9 + 1}.{100 + i},0{i % 10}{minus}"


def test_a_minus_behind_a_number():
    data, values = values_of([amounts(i, "-" if i % 3 == 0 else "") for i in range(60)])
    assert values[:2] == [-1100.0, 2101.01]
    assert data.notes == ["column 'a': numbers such as '1.100,00-' are read as -1100"]
    assert data.encoding.columns[0].format == "decimal comma"


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("1,860.04-", -1860.04),
        ("12.50\u2212", -12.5),
        ("$12.50-", -12.5),
        ("12.50- EUR", -12.5),
        ("12.50 EUR-", -12.5),
        ("79.-", 79),  # no cents
        ("79.--", 79),
        ("79.\u2013 CHF", 79),
    ],
)
def test_where_a_minus_stands(cell, value):
    _, values = values_of([cell, *(f"{i}.25-" for i in range(1, 60))])
    assert values[:2] == [value, -1.25]


def test_a_minus_behind_late_in_the_file_and_in_new_files():
    data, _ = values_of([f"{i}.5" for i in range(700)])
    column([f"{i}.5{'-' if i % 2 else ''}" for i in range(60)])
    new = open_dataset("x.csv", target="y", encoding=data.encoding)
    assert new.materialise()[0][:3, 0].tolist() == [0.5, -1.5, 2.5]
    assert new.notes == ["column 'a': numbers such as '1.5-' are read as -1.5"]


def test_two_signs_are_no_number():
    column(["-5.5-" if i % 4 == 0 else f"{i}.5" for i in range(60)])
    with pytest.raises(DataError, match=r"'-5\.5-' is not a number"):
        open_dataset("x.csv", target="y").materialise()


def test_grades_are_no_negative_numbers():
    column([("1", "2-", "2", "3-", "3")[i % 5] for i in range(60)])
    with pytest.raises(DataError, match=r"'2-' is not a number .*categorical=\['a'\]"):
        open_dataset("x.csv", target="y").materialise()


# -- Units


@pytest.mark.parametrize(
    ("unit", "known"),
    [
        (" kg", "kg"),
        ("km", "km"),
        (" mg/dL", "mg/dL"),
        (" l/100 km", "l/100 km"),
        ("\u00a0°C", "°C"),
        (" Tage", "Tag"),
        (" Stk.", "Stk"),
        (" KG", "kg"),
    ],
)
def test_one_unit_in_every_cell(unit, known):
    cells = [f"{i}.5{unit}" for i in range(60)]
    data, values = values_of(cells)
    assert values == [i + 0.5 for i in range(60)]
    assert data.notes == [f"column 'a': numbers such as {cells[0]!r} are read as 0.5"]
    assert data.encoding.units == {"a": known}
    frame = pd.DataFrame({"a": cells, "y": ["a", "b"] * 30})
    np.testing.assert_array_equal(open_dataset(frame, target="y").materialise()[0][:, 0], values)


def test_one_unit_is_written_in_several_ways():
    data, values = values_of(
        [f"{i % 4 + 1} {'day' if i % 4 == 0 else ('days', 'Days')[i % 2]}" for i in range(60)]
    )
    assert values[:4] == [1, 2, 3, 4]
    assert data.encoding.units == {"a": "day"}


def test_decimal_commas_before_a_unit():
    data, values = values_of([f"1.{100 + i},5 kg" for i in range(60)])
    assert values[0] == 1100.5
    assert data.encoding.columns[0].format == "decimal comma"
    _, values = values_of([f"1.{100 + i} kg" for i in range(60)], decimal=",")
    assert values[0] == 1100


def test_a_few_values_without_the_unit_or_with_another():
    cells = [f"{i}.5 kg" for i in range(60)]
    cells[3], cells[4], cells[5] = "3.5", "400 g", "unknown"
    with pytest.warns(DataWarning, match=r"2 of 60 values are not a number \('400 g' in line 6"):
        _, values = values_of(cells)
    assert values[:4] == [0.5, 1.5, 2.5, 3.5]
    assert values[4] == values[5] == np.median([i + 0.5 for i in range(60) if i not in (4, 5)])


def test_several_units_are_not_mixed():
    column([f"{i % 8} {('kg', 'g')[i % 3 == 0]}" for i in range(60)])
    data = open_dataset("x.csv", target="y")
    assert data.notes == [
        "column 'a': numbers with several units (40 such as '1 kg' and 20 such as '0 g') are not "
        "converted to one; taken as words"
    ]
    assert "a=1 kg" in data.feature_names
    with pytest.raises(DataError, match="several units"):
        open_dataset("x.csv", target="y", strict=True)


def test_units_in_some_cells_only():
    column([f"{i % 8}{('', ' TB')[i % 3 == 0]}" for i in range(60)])
    data = open_dataset("x.csv", target="y", categorical=["a"])
    assert data.notes == []
    column([f"{i % 8}{('', ' TB')[i % 3 > 0]}" for i in range(60)])
    data = open_dataset("x.csv", target="y")
    assert data.notes == [
        "column 'a': numbers with several units (40 such as '1 TB' and 20 without a unit such as "
        "'0') are not converted to one; taken as words"
    ]


@pytest.mark.parametrize("cell", ["10115 Berlin", "4711X", "12 of 20", "B12"])
def test_what_is_no_unit_stays_a_word(cell):
    column([cell.replace("1", str(i % 5 + 1)) for i in range(60)])
    data = open_dataset("x.csv", target="y", strict=True)
    assert all(name.startswith("a=") for name in data.feature_names)


def test_a_target_with_units():
    rows = [f"{i % 7},{i % 7 * 10 + i / 100:.2f} kg,{(10, 20)[i % 2]} mg" for i in range(200)]
    write("x.csv", "n,weight,dose", rows)
    data = open_dataset("x.csv", target="weight")
    assert data.task == "regression"
    assert data.materialise()[1][:2].tolist() == [0, 10.01]
    new = open_dataset("x.csv", encoding=Encoding.from_plain(data.encoding.to_plain()))
    assert new.materialise()[1][:2].tolist() == [0, 10.01]
    # names of classes stay as they are written
    assert open_dataset("x.csv", target="dose").encoding.target.labels == ("10 mg", "20 mg")


def test_new_files_with_and_without_the_unit():
    data, values = values_of([f"{i}.5 kg" for i in range(60)])
    plain = data.encoding.to_plain()
    assert plain["version"] == 4
    encoding = Encoding.from_plain(plain)
    assert encoding == data.encoding
    for unit in ("", "kg", " Kg"):
        column([f"{i}.5{unit}" for i in range(60)])
        new = open_dataset("x.csv", encoding=encoding)
        assert new.materialise()[0][:, 0].tolist() == values
        assert new.notes == []
    column([f"{i}.5 lb" for i in range(60)])
    with pytest.raises(
        DataError, match=r"'0\.5 lb' is not a number .*where the model has numbers in 'kg'; write"
    ):
        open_dataset("x.csv", encoding=encoding).materialise()
    column([f"{i},5 kg" for i in range(60)])
    new = open_dataset("x.csv", encoding=encoding)
    assert new.materialise()[0][:, 0].tolist() == values
    assert "with a decimal comma (in training with a decimal point)" in new.notes[0]


def test_the_estimators_read_units_too():
    random = np.random.default_rng(0)
    numbers = random.integers(10, 90, 200)
    y = np.where(numbers > 50, "heavy", "light")
    frame = pd.DataFrame({"w": [f"{number}.5 kg" for number in numbers], "z": random.random(200)})
    with pytest.warns(DataWarning, match="numbers such as '.*.5 kg' are read as"):
        model = KernelClassifier(n_components=32, C=1).fit(frame, y)
    assert model.encoding_.units == {"w": "kg"}
    assert model.score(frame, y) > 0.9


def test_the_command_takes_a_table_with_units():
    rows = [f"{i % 50}.5 kg,{i % 7} km,{'ab'[i % 50 > 20]}" for i in range(200)]
    write("x.csv", "w,d,y", rows)
    status, _, said = called("fit", "x.csv", "-o", "m.klt", "-k", "32", "-C", "1")
    assert status == 0
    assert "note: x.csv: column 'w': numbers such as '0.5 kg' are read as 0.5" in said
    status, out, _ = called("evaluate", "m.klt", "x.csv")
    assert (status, "accuracy" in out) == (0, True)


# -- Currencies


def test_several_currencies_have_a_note():
    cells = [f"{('$', '€')[i % 3 == 0]}{i}.50" for i in range(60)]
    data, values = values_of(cells)
    assert values[:2] == [0.5, 1.5]
    assert data.notes == [
        "column 'a': numbers such as '€0.50' are read as 0.5; several currencies (40 in USD and 20 "
        "in EUR) are read as if they were one: convert them, or leave the column out"
    ]
    with pytest.raises(DataError, match="several currencies"):
        open_dataset("x.csv", target="y", strict=True)


def test_a_sign_and_a_code_are_one_currency():
    data, _ = values_of([f"{i}.50 {('€', 'EUR')[i % 2]}" for i in range(60)])
    assert data.notes == ["column 'a': numbers such as '0.50 €' are read as 0.5"]
    assert data.encoding.columns[0].currency == "EUR"


def test_another_currency_in_a_new_file_has_a_note():
    data, _ = values_of([f"${i}.50" for i in range(60)])
    encoding = Encoding.from_plain(data.encoding.to_plain())
    for sign, notes in (
        ("$", []),
        ("", []),
        ("USD ", []),
        (
            "€",
            [
                "column 'a': values are in 'EUR', and in training they were in 'USD'; they are not "
                "converted"
            ],
        ),
    ):
        column([f"{sign}{i}.50" for i in range(60)])
        assert open_dataset("x.csv", encoding=encoding).notes == notes
