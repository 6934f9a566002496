"""Lines that are no rows: sums at the end, units below the names, names that are repeated."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from cli.in_process import called

from kernelight.data import DataError, DataWarning, open_dataset

NAMES = "region,n,sales"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def lines(rows=60):
    return [f"{('north', 'south')[i % 3 == 0]},{i % 17},{i * i % 37}.5" for i in range(rows)]


def write(name, *some):
    content = "\n".join(some) + "\n"
    with gzip.open(name, "wt") if name.endswith(".gz") else open(name, "w") as file:
        file.write(content)
    return name


def same(name, notes, **options):
    """The rows are those of a clean file, at once and in batches, and these notes are told."""
    clean = open_dataset(write("clean.csv", NAMES, *lines()), target="sales").materialise()
    data = open_dataset(name, target="sales", **options)
    X, y = data.materialise()
    for got, wanted in zip((X, y), clean, strict=True):
        np.testing.assert_array_equal(got, wanted)
    parts = list(open_dataset(name, target="sales", **options).batches(7))
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), X)
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), y)
    assert [note for note in data.notes if "line" in note] == notes
    with pytest.raises(DataError, match=r"delete (such lines|it), or leave strict=True out"):
        open_dataset(name, target="sales", strict=True, **options).materialise()


@pytest.mark.parametrize("chunk", [40, 1000, 1 << 23])
@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("line", ["Total,480,1110.0", "SUMME:,,1110", "Average,8.1,", "total,-,9"])
def test_a_line_of_sums_at_the_end_is_left_out(line, ending, chunk, monkeypatch):
    monkeypatch.setattr("kernelight.data.delimited.CHUNK", chunk)
    word = line.split(",")[0]
    write(f"x.csv{ending}", NAMES, *lines(), line)
    same(f"x.csv{ending}", [f"line 62 ('{word}') sums up the rows above it; left out"])


def test_several_of_them_and_blank_lines():
    write("x.csv", NAMES, *lines(), "", "Total,480,1110", "Mean,8.1,18.5", "")
    same(
        "x.csv",
        [
            "line 63 ('Total') sums up the rows above it; left out",
            "line 64 ('Mean') sums up the rows above it; left out",
        ],
    )


@pytest.mark.parametrize("line", ["Total,480,big", "Totals of what,1,2", "Total,,", "3,4,5"])
def test_what_may_be_a_row_is_kept(line):
    data = open_dataset(write("x.csv", NAMES, *lines(), line), target="n")
    assert len(data.materialise()[1]) + data.rows_left_out == 61


def test_a_usual_word_is_kept_with_a_note():
    some = [*lines(30), "Subtotal,1,2", *lines(30), "Subtotal,1,2"]
    data = open_dataset(write("x.csv", NAMES, *some), target="sales")
    assert len(data.materialise()[1]) == 62
    assert (
        "column 'region': 2 rows have 'Subtotal', as sums of other rows have; kept, so leave such "
        "rows out if they are sums" in data.notes
    )


def test_a_common_word_is_no_sum():
    rows = [f"{('good', 'average', 'bad')[i % 3]},{i % 17},{i % 37}.5" for i in range(62)]
    data = open_dataset(write("x.csv", NAMES, *rows), target="sales", strict=True)
    assert len(data.materialise()[1]) == 62


def test_frames_have_a_note():
    write("x.csv", NAMES, *lines(), "Total,480,1110", NAMES)
    data = open_dataset(pd.read_csv("x.csv"), target="n")
    assert any("column 'region': 1 row has 'Total'" in note for note in data.notes)
    assert any("1 row has 'region', the name of the column" in note for note in data.notes)


def test_a_sum_does_not_ruin_a_regression():
    write("x.csv", NAMES, *lines(200), "Total,1599,3699999.0")
    status, _, said = called("fit", "x.csv", "-o", "m.klt", "-k", "16", "-C", "1")
    assert status == 0
    assert "note: x.csv: line 202 ('Total') sums up the rows above it; left out" in said
    status, out, said = called("predict", "m.klt", "x.csv")
    assert out.count("\n") == 201
    assert "line 202 ('Total')" in said


@pytest.mark.parametrize("chunk", [40, 1 << 23])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_repeated_names_are_left_out(end, chunk, monkeypatch):
    monkeypatch.setattr("kernelight.data.delimited.CHUNK", chunk)
    some = lines()
    text = end.join([NAMES, *some[:20], NAMES, NAMES, *some[20:], NAMES])
    with open("x.csv", "w", newline="") as file:
        file.write(text)
    same("x.csv", ["3 lines, the first line 22, repeat the names of the columns; left out"])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "end"])
def test_extra_lines_in_pieces_of_every_size(last, end, monkeypatch):
    some = lines()
    content = [NAMES, ",kg,m/s", *some[:20], NAMES, *some[20:40], NAMES, *some[40:]]
    content += ["", "Total,480,1110", "Mean,8.1,18.5", "", "Sum,1,2"]
    text = end.join(content) + (end if last else "")
    with open("x.csv", "w", newline="") as file:
        file.write(text)
    notes = [
        "line 2 ('kg') has the units of the columns; left out",
        "2 lines, the first line 23, repeat the names of the columns; left out",
        "line 66 ('Total') sums up the rows above it; left out",
        "line 67 ('Mean') sums up the rows above it; left out",
        "line 69 ('Sum') sums up the rows above it; left out",
    ]
    size = len(text) - text.index("south")  # of the rows
    for chunk in [1, *range(30, 60, 3), *range(size - 60, size + 2, 3)]:
        monkeypatch.setattr("kernelight.data.delimited.CHUNK", chunk)
        same("x.csv", notes)


def test_words_of_sums_between_rows_are_kept_in_pieces_of_every_size(monkeypatch):
    """A piece may end with what is a sum only at the end of the file."""
    some = [*lines(550), "Total,1,1", "Sum,2,2", "Mean,3,3", "Total,4,4", *lines(8)]
    some += ["Total,5,5", "Sum,6,6", "Mean,7,7", "Total,8,8", "Sum,9,9"]
    write("x.csv", NAMES, *some)
    for chunk in [1, *range(40, 100, 4), 1 << 20]:
        monkeypatch.setattr("kernelight.data.delimited.CHUNK", chunk)
        data = open_dataset("x.csv", target="sales")
        _, y = data.materialise()
        assert y[550:554].tolist() == [1, 2, 3, 4]
        assert y[562:].tolist() == [5, 6]
        assert [note[:17] for note in data.notes if note.startswith("line")] == [
            "line 566 ('Mean')",
            "line 567 ('Total'",
            "line 568 ('Sum') ",
        ]


@pytest.mark.parametrize("chunk", [1, 40, 1000, 1 << 20])
def test_lines_are_counted_over_extra_lines(chunk, monkeypatch):
    monkeypatch.setattr("kernelight.data.delimited.CHUNK", chunk)
    names = f"{NAMES},{'x' * 5000}"
    some = [f"{line},1" for line in lines()]
    some[50] = "north,odd,1.5,1"
    write("x.csv", names, *some[:20], names, *some[20:50], names, *some[50:], "Total,1,2,3")
    with pytest.warns(
        DataWarning, match=r"1 of 60 values is not a number \('odd' in line 54 first"
    ):
        open_dataset("x.csv", target="sales").materialise()
    some[50] = "north,1,1.5"
    write("x.csv", names, *some[:20], names, *some[20:50], names, *some[50:], "Total,1,2,3")
    with pytest.raises(DataError, match="line 54: 3 fields where 4 are expected"):
        open_dataset("x.csv", target="sales").materialise()


def test_a_last_row_that_begins_with_the_names_is_kept():
    some = lines()
    with open("x.csv", "w") as file:
        file.write("\n".join([NAMES, *some, f"{NAMES}2"]))
    data = open_dataset("x.csv", target="region")
    assert data.materialise()[0].shape[0] == 61


def test_a_sum_above_repeated_names_is_left_out():
    write("x.csv", NAMES, *lines(), "Total,480,1110.0", NAMES)
    same(
        "x.csv",
        [
            "line 63 repeats the names of the columns; left out",
            "line 62 ('Total') sums up the rows above it; left out",
        ],
    )


def test_a_table_of_one_column_may_have_its_name_as_a_value():
    assert open_dataset(write("x.csv", "a", "b", "a", "b"), target=None).materialise()[0].sum() == 3


@pytest.mark.parametrize("line", [",kg,m/s", "-,[°C],(EUR)", "name,%,km/h", ",,g/cm^3", ",n,µg/m³"])
def test_units_below_the_names_are_left_out(line):
    write("x.csv", NAMES, line, *lines())
    cells = [cell for cell in line.split(",") if cell not in ("", "-")]
    same("x.csv", [f"line 2 ('{cells[0]}') has the units of the columns; left out"])


@pytest.mark.parametrize("line", ["north,unknown,kg", "north,3,kg", "north,,", ",kilo of it,"])
def test_what_may_be_a_first_row_is_kept(line):
    data = open_dataset(write("x.csv", NAMES, line, *lines()), target=None)
    assert data.materialise()[0].shape[0] == 61


def test_beside_two_units_other_words_may_stand():
    write(
        "x.csv",
        "no," + NAMES,
        "lfd.,,kg,EUR",
        *(f"{9 - i % 7},{line}" for i, line in enumerate(lines())),
    )
    data = open_dataset("x.csv", target="sales")
    assert data.materialise()[0].shape == (60, 4)
    assert data.notes[0] == "line 2 ('lfd.') has the units of the columns; left out"


def test_examples_of_formatted_numbers_are_numbers():
    rows = [
        f"{'new' if i == 0 else f'{i},5'};{'lfd.' if i == 0 else i % 4};{i % 2}" for i in range(60)
    ]
    data = open_dataset(write("x.csv", "price;n;y", *rows))
    assert "column 'price': numbers such as '1,5' are read as 1.5" in data.notes
    assert not any("nan" in note for note in data.notes)


FOOTERS = {
    "padded": ["Total,480,1110.0", "Stand: 31.12.2023,,"],
    "short": ["Total,480,1110.0", "Quelle: SAP"],
    "with a comma": ["Total,480,1110.0", "as seen in May, and later"],
    "several": ["Total,480,1110.0", "Mean,8,18", "", "* preliminary,,", ",,", "(c) Company,,"],
    "lines of delimiters": ["Total,480,1110.0", ",,", ",,", "all values in EUR", ",,"],
}


@pytest.mark.parametrize("chunk", [1, 40, 1000, 1 << 23])
@pytest.mark.parametrize("kind", FOOTERS)
def test_a_footer_below_a_sum(kind, chunk, monkeypatch):
    monkeypatch.setattr("kernelight.data.delimited.CHUNK", chunk)
    some = FOOTERS[kind]
    write("x.csv", NAMES, *lines(), *some)
    notes = []
    for word in ("Total", "Mean"):
        notes += [
            f"line {62 + at} ('{word}') sums up the rows above it; left out"
            for at, line in enumerate(some)
            if line.startswith(word)
        ]
    notes += [
        f"line {62 + at} ('{line.split(',')[0]}') is a footer below the rows; left out"
        for at, line in enumerate(some)
        if line.strip(",") and not line.startswith(("Total", "Mean"))
    ]
    same("x.csv", notes)


@pytest.mark.parametrize("chunk", [1, 40, 1 << 23])
@pytest.mark.parametrize(
    "footer",
    [
        ["Source: Federal Office"],
        ["Exported 2024-03-01 by admin,,"],
        ["", "downloaded by somebody"],
        ["", "Numbers are rounded,,", "and not final"],
        [",,", "Numbers are rounded,,"],
    ],
)
def test_a_footer_without_a_sum(footer, chunk, monkeypatch):
    monkeypatch.setattr("kernelight.data.delimited.CHUNK", chunk)
    write("x.csv", NAMES, *lines(), *footer)
    data = open_dataset("x.csv", target="region")
    rows = data.materialise()[0].shape[0]
    assert (rows, data.rows_left_out) == (60, 0)
    told = [note for note in data.notes if "is a footer below the rows; left out" in note]
    assert len(told) == len([line for line in footer if line.strip(",")])


@pytest.mark.parametrize(
    "last", ["north", "nor", "north,1", ",,", "north,,", "2024-01-01,,", "report,,"]
)
def test_what_may_be_a_cut_row_is_no_footer(last):
    write("x.csv", NAMES, *lines(), last)
    data = open_dataset("x.csv", target="n")
    if last.count(",") < 2:  # the file may be cut off
        with pytest.raises(DataError, match=r"line 62: . fields? where 3 are expected"):
            data.materialise()
    else:
        data.materialise()
        assert data.rows_left_out == 1
    assert not any("footer" in note for note in data.notes)


def test_footers_between_rows_are_rows(monkeypatch):
    some = [*lines(30), "Source: me,1,2", *lines(30), "Source: me,,", "north,1,2"]
    write("x.csv", NAMES, *some)
    for chunk in (1, 40, 1 << 20):
        monkeypatch.setattr("kernelight.data.delimited.CHUNK", chunk)
        data = open_dataset("x.csv", target=None)
        assert data.materialise()[0].shape[0] == 63
        assert not any("footer" in note for note in data.notes)


def test_tabs_at_the_end_of_a_row_are_cells():
    rows = [line.replace(",", "\t") for line in lines()]
    write("x.tsv", NAMES.replace(",", "\t"), *rows, "Total\t\t1110", "north\t1\t")
    assert open_dataset("x.tsv", target=None).materialise()[0].shape[0] == 62
    write("x.tsv", NAMES.replace(",", "\t"), *rows, "Total\t480\t", "Stand: heute\t\t")
    data = open_dataset("x.tsv", target=None)
    assert data.materialise()[0].shape[0] == 60
