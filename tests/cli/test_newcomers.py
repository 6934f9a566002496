"""Files as people have them: odd shapes, odd names, odd numbers. Each either works or says in a
sentence what to do."""

from __future__ import annotations

import csv
import io
import os

import numpy as np
import pytest
from in_process import called

import kernelight
from kernelight.tables import fitting
from kernelight.tables.memory_limit import Allowance

SMALL = ("-k", "16", "-C", "1", "--scale", "none", "--quiet")
PAIRS = [(at, at % 2) for at in range(30)]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, text):
    with open(name, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return name


def fitted(text, *more, name="x.csv"):
    """Standard output of fit, which must work."""
    status, out, said = called("fit", write(name, text), "-o", "m.klt", *SMALL, *more)
    assert (status, said) == (0, "")
    return out


def printed(*arguments):
    """Standard output of the command, which must work."""
    status, out, said = called(*arguments)
    assert (status, said) == (0, "")
    return out


def refused(*arguments):
    """The sentence of the command, which must refuse."""
    status, _, said = called(*arguments)
    assert (status, said.count("\n")) == (2, 1), said
    assert not os.path.exists("n.klt")
    return said


def refused_fit(text, *more, name="x.csv"):
    return refused("fit", write(name, text), "-o", "n.klt", *SMALL, *more)


def table(rows, head="a,y", delimiter=","):
    return "\n".join([head, *(delimiter.join(map(str, row)) for row in rows)]) + "\n"


SHAPES = {
    "two rows": table([(1, 0), (2, 1)]),
    "a constant column": table([(5, a, y) for a, y in PAIRS], "c,a,y"),
    "nothing but a constant": table([(5, y) for _, y in PAIRS]),
    "a column without values": table([("", y) for _, y in PAIRS]),
    "100 words": table([(f"w{at % 100}", at % 2) for at in range(300)]),
    "truth values": table([(a, bool(y)) for a, y in PAIRS]),
    "quantities": table([(a, a / 7) for a, _ in PAIRS]),
    "twins": table([(1, 0), (1, 1)] * 20),
    "a mark and returns": "\ufeff" + table(PAIRS).replace("\n", "\r\n"),
    "tabs": table(PAIRS, "a\ty", "\t"),
    "semicolons": table(PAIRS, "a;y", ";"),
    "empty lines": table(PAIRS).replace("\n", "\n\n"),
    "quoted line ends": table([(a, f'"u\n{a % 3}"', y) for a, y in PAIRS], "a,b,y"),
    "tiny": table([(f"{a}e-320", y) for a, y in PAIRS]),
}


@pytest.mark.parametrize("case", SHAPES)
def test_odd_shapes_work(case):
    fitted(SHAPES[case])
    rows = len(kernelight.TableModel.load("m.klt").predict("x.csv"))
    empty = case == "a column without values"
    assert ("no value in 30 rows" in called("predict", "m.klt", "x.csv").said) == empty
    more = ("--quiet",) if empty else ()
    predictions = printed("predict", "m.klt", "x.csv", *more)
    assert len(list(csv.reader(io.StringIO(predictions)))) == rows + 1
    assert printed("evaluate", "m.klt", "x.csv", *more).startswith("rows")
    assert "TableModel" in printed("info", "m.klt")


def test_a_target_of_dates_is_asked_for():
    write("x.csv", table([(a, f"2020-01-0{1 + y}") for a, y in PAIRS]))
    said = refused("fit", "x.csv", "-o", "m.klt")
    assert (
        "the target 'y' is dates such as '2020-01-01', which are neither classes nor quantities"
        in said
    )
    assert said.endswith("; --categorical y takes each date as a class.\n")
    printed("fit", "x.csv", "-o", "m.klt", "--categorical", "y", *SMALL)
    assert set(kernelight.TableModel.load("m.klt").predict("x.csv")) <= {"2020-01-01", "2020-01-02"}


def test_ten_thousand_columns():
    X = np.random.default_rng(0).normal(size=(20, 10_000)).round(2)
    fitted(
        table(
            [(*row, at % 2) for at, row in enumerate(X)],
            ",".join(f"c{at}" for at in range(10_000)) + ",y",
        )
    )
    assert "(10000 in all)" in printed("info", "m.klt")


NAMES = {
    '"a,b"': "a,b",
    '"a ""b"""': 'a "b"',
    "ü漢": "ü漢",
    '"two\nlines"': "two\nlines",
    "": "",
    "%s": "%s",
    "[/b]": "[/b]",
    "=1+1": "=1+1",
    "\x1b[31m": "\x1b[31m",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_columns_and_classes(name):
    fitted(table([(a, (name or "some") if y else "other") for a, y in PAIRS], f"{name},y"))
    wanted = NAMES[name]
    found = kernelight.TableModel.load("m.klt")
    assert found.encoding_.columns[0].name == (wanted or "column_1")
    for arguments in (("evaluate", "m.klt", "x.csv"), ("info", "m.klt")) if wanted else ():
        told = printed(*arguments)
        assert wanted.replace("\n", "\\n").replace("\x1b", "\\x1b") in told
        assert "\x1b" not in told  # a terminal would obey


NUMBERS = {
    "1e400": "'1e400' is beyond the largest number.",
    "0x10": "'0x10' is not a number",
    "1_000": "'1_000' is not a number",
    "١": "'١' is not a number",
}


@pytest.mark.parametrize("number", NUMBERS)
def test_odd_numbers(number):
    text = table([*PAIRS, (number, 1)])
    assert f"x.csv, line 32, column 'a': {NUMBERS[number]}" in refused_fit(text, "--strict")
    if number == "1e400":
        assert "beyond the largest number" in refused_fit(text)
        return
    status, _, said = called("fit", "x.csv", "-o", "m.klt", *SMALL[:-1])
    wanted = (
        f"column 'a': 1 of 31 values is not a number ('{number}' in line 32 first); taken as "
        f"missing"
    )
    assert (status, wanted in said) == (0, True)


@pytest.mark.parametrize("form", ["{},5", '"{},000.5"', "${}", "{}%"])
def test_numbers_with_signs_and_separators_are_numbers(form):
    delimiter = ";" if form == "{},5" else ","
    rows = table(
        [(form.format(a), 2 * a, y) for a, y in PAIRS], f"a{delimiter}b{delimiter}y", delimiter
    )
    assert "x.csv: 1 column needs a decision: column 'a': numbers such as" in refused_fit(
        rows, "--strict"
    )
    fitted(rows)
    model = kernelight.TableModel.load("m.klt")
    assert model.encoding_.feature_names == ["a", "b"]
    fitted(rows, "--ignore", "a")
    fitted(rows, "--categorical", "a")
    printed("predict", "m.klt", "x.csv")


def test_classes_that_are_parts_of_numbers_or_huge():
    halves = table([(a, y + 0.5) for a, y in PAIRS])
    said = refused_fit(halves, "--task", "classification")
    assert (
        "x.csv: the target 'y' has classes such as 0.5, which is no whole number; --categorical y "
        "reads" in said
    )
    fitted(halves, "--categorical", "y")
    fitted(table([(a, f"{a}e300") for a, _ in PAIRS]))  # whole, and no classes
    assert kernelight.load("m.klt").task == "regression"
    assert "scale y down" in refused_fit(table([(a, f"1.{a % 7}e308") for a, _ in PAIRS]))


def test_labels_never_seen():
    fitted(table(PAIRS))
    for strange, shown in (("7", "7"), ("1e300", "1e+300")):
        status, out, said = called("evaluate", "m.klt", write("p.csv", f"a,y\n1,{strange}\n2,1\n"))
        assert (status, shown in out) == (0, True)
        assert said == (
            f"kernelight: note: p.csv: the class '{shown}' never occurred in training and cannot "
            f"be predicted\n"
        )
    said = refused("evaluate", "m.klt", write("p.csv", "a,y\n1,x\n2,1\n"))
    # no advice that evaluate has no option for
    assert said == (
        "kernelight: p.csv, line 2, column 'y': 'x' is not a number, where the model has numbers.\n"
    )
    fitted(table([(a, "ab"[y]) for a, y in PAIRS], "column_1,y"))
    np.savez("p.npz", X=np.arange(4.0)[:, None], y=[0, 1, 0, 1])
    assert "p.npz: the target 'y' is numbers where the model has words." in refused(
        "evaluate", "m.klt", "p.npz"
    )


def test_quantities_that_do_not_vary_or_too_much():
    fitted(table([(a, 1.5) for a, _ in PAIRS]), "--task", "regression")
    assert "none: the target is constant" in printed("evaluate", "m.klt", "x.csv")
    said = refused("evaluate", "m.klt", write("p.csv", "a,y\n1,1e300\n2,-1e300\n"))
    assert "The target has numbers so large that errors cannot be summed up" in said


def test_ids_are_called_what_they_are():
    fitted(table([(f"r{a}", a, y) for a, y in PAIRS], "name,a,y"), "--ids", "name")
    assert (
        printed("predict", "m.klt", write("p.csv", "a,name\n1,u\n")).splitlines()[0]
        == "name,prediction"
    )
    assert printed("predict", "m.klt", write("p.csv", "a,key\n1,u\n"), "--ids", "key").startswith(
        "key,prediction\nu,"
    )
    assert printed("predict", "m.klt", write("p.csv", "a\n1\n")).splitlines()[0] == "prediction"


def test_sparse_rows_of_any_width():
    lines = "".join(f"{at % 2} {at + 1}:1 3000000000:2\n" for at in range(30))
    # rows have equal sums, as histograms do: no list of all columns is made
    for scale in ("none", "tune"):
        fitted(lines, "--scale", scale, name="x.svm")
    assert printed("predict", "m.klt", "x.svm").count("\n") == 31
    assert "use --scale none" in refused_fit(lines, "--scale", "max", name="x.svm").replace(
        "scale='none'", "--scale none"
    )


def test_sizes_of_memory():
    fitted(table(PAIRS), "--memory", "9" * 400 + "G")
    for size in ("1", "1K"):  # the process itself takes more
        assert "at least" in refused_fit(table(PAIRS), "--memory", size)


class Narrow(Allowance):
    """Little room for rows."""

    held = 256

    def batch(self, n_rows):
        return 64


def test_a_file_sorted_by_class_is_streamed(monkeypatch):
    """Batches of a single class, as the rows that are held do not hold them all."""
    monkeypatch.setattr(fitting, "_allowance", lambda *_: Narrow(1, 0, 1, 1, 1, 1))
    rng = np.random.default_rng(0)
    rows = sorted(
        ((a, b, int(a > b)) for a, b in rng.normal(size=(1000, 2)).round(3)), key=lambda row: row[2]
    )
    fitted(table(rows, "a,b,y"), "--memory", "1G", "-k", "64")
    model = kernelight.TableModel.load("m.klt")
    assert model.n_rows_ == 1000
    assert model.evaluate("x.csv")["accuracy"] > 0.85


def test_a_table_without_columns():
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({}), "x.parquet")
    assert "x.parquet has no columns." in refused("fit", "x.parquet", "-o", "n.klt")


def test_warnings_are_notes():
    status, _, said = called(
        "fit", write("x.csv", table(PAIRS)), "-o", "m.klt", *SMALL, "-C", "1e300"
    )
    assert status == 0
    assert said.startswith("kernelight: note: LinearClassifier did not converge")
    assert said.count("\n") == 1
