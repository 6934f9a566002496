"""kernelight dedup: rows go as identical only if their cells are, and what is lost is refused."""

from __future__ import annotations

import csv
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from dedup_files import lines_of
from in_process import run


@pytest.mark.parametrize("scale", ["records", "none", "standard", "quantile+complement"])
@pytest.mark.parametrize("memory", [[], ["--memory", "3G"]])
def test_a_missing_value_equals_only_a_missing_value(tmp_path, monkeypatch, memory, scale):
    monkeypatch.chdir(tmp_path)
    rows = ["1,x,2020-01-01", "2,x,2020-01-02", "3,x,2020-01-03", ",x,2020-01-02"]
    rows += ["2,,2020-01-02", "2,x,", ",x,2020-01-02", "2,x,", "2,,2020-01-02", "2.0,x,2020-01-02"]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,c", *rows]) + "\n")
    options = ["--threshold", "1", "--scale", scale, *memory]
    out = run("dedup", "a.csv", "-o", "b.csv", "--pairs", "p.csv", *options)
    assert "10 rows of a.csv: 6 stay, 4 go (4 identical, 0 near)." in out
    assert lines_of("b.csv") == ["a,b,c", *rows[:6]]
    pairs = [line.split(",")[:2] for line in lines_of("p.csv")[1:]]
    assert pairs == [["7", "4"], ["8", "6"], ["9", "5"], ["10", "2"]]


@pytest.mark.parametrize("memory", [[], ["--memory", "3G"]])
def test_a_missing_value_disagrees_with_every_other(tmp_path, monkeypatch, memory):
    """It counts as a word that differs: with one of four columns apart g = 1/4."""
    monkeypatch.chdir(tmp_path)
    lines = [
        "0,0,x,2020-01-01",
        ",0,x,2020-01-01",
        "5,0,x,",
        "5,0,x,2020-01-01",
        "10,9,y,2021-02-03",
    ]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,c,d", *lines]) + "\n")
    options = ["--threshold", "0.5", "--method", "exact"] if not memory else ["--threshold", "0.5"]
    run("dedup", "a.csv", "--pairs", "p.csv", "--recall", "0.999999", *options, *memory)
    with open("p.csv", newline="") as file:
        found = {
            (int(pair["other"]), int(pair["row"])): float(pair["similarity"])
            for pair in csv.DictReader(file)
        }
    apart = {(1, 2): 1, (2, 4): 1, (1, 4): 0.5, (3, 4): 1, (1, 3): 1.5}
    wanted = {pair: (1 - g / 4) / (1 + g / 4) for pair, g in apart.items()}
    wanted = {pair: value for pair, value in wanted.items() if value >= 0.5}
    assert found.keys() == wanted.keys()
    np.testing.assert_allclose([found[pair] for pair in wanted], list(wanted.values()), rtol=1e-12)


@pytest.mark.parametrize("memory", [[], ["--memory", "3G"]])
def test_missing_values_of_another_file(tmp_path, monkeypatch, memory):
    """Also where the first file has none, and its column would be filled."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("a,b\n1,2\n2,3\n3,4\n")
    (tmp_path / "b.csv").write_text("a,b\n2,\n,4\n1,2\n")
    options = ["--threshold", "0.99", "--json", *memory]
    assert json.loads(run("dedup", "a.csv", "--against", "b.csv", *options))["against"] == 1
    answer = json.loads(run("dedup", "b.csv", "--against", "a.csv", *options))
    assert (answer["against"], answer["kept"]) == (1, 2)


def test_a_dry_run_of_words_alone_and_of_missing_values(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("a,b\nx,y\nx,z\nx,y\n,z\n")
    (tmp_path / "b.csv").write_text("a,b\n1,y\n,y\n2,\n,y\n")
    for name in ("a.csv", "b.csv"):
        for scale in ("records", "none", "minmax"):
            answer = json.loads(run("dedup", name, "--dry-run", "--json", "--scale", scale))
            assert (answer["rows"], answer["distinct"]) == (4, 3)


def test_words_among_numbers_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [*(f"{at},1" for at in range(60)), "XL,1", "XXL,1", "S,1"]
    (tmp_path / "a.csv").write_text("\n".join(["a,b", *lines]) + "\n")
    (tmp_path / "b.csv").write_text("a,b\n1,1\n2,1\n")
    for arguments in (["a.csv", "-o", "c.csv"], ["b.csv", "--against", "a.csv"]):
        said = run("dedup", *arguments, status=2)
        assert "line 62, column 'a': 'XL' is not a number" in said
        assert "rows that differ only there would count as equal" in said
    assert sorted(os.listdir()) == ["a.csv", "b.csv"]
    answer = json.loads(run("dedup", "a.csv", "--categorical", "a", "--json", "--threshold", "1"))
    assert answer["kept"] == 63
    more = ["--missing", "XL", "--missing", "XXL", "--missing", "S"]
    answer = json.loads(run("dedup", "a.csv", *more, "--json", "--threshold", "1"))
    assert answer["identical"] == 2  # as was said: all three are missing


LARGE = 1234567890123456789


@pytest.mark.parametrize(
    "kind", ["csv", "thousands", "int64", "uint64", "decimal", "array", "sparse"]
)
@pytest.mark.parametrize("memory", [[], ["--memory", "3G"], ["--dry-run"]])
def test_numbers_that_would_be_rounded_are_refused(tmp_path, monkeypatch, kind, memory):
    monkeypatch.chdir(tmp_path)
    numbers = [LARGE + at % 7 for at in range(40)]
    name = "a.parquet"
    if kind == "csv":
        name = "a.csv"
        (tmp_path / name).write_text("a,b\n" + "".join(f"{n},1\n" for n in numbers))
    elif kind == "thousands":
        name = "a.csv"
        (tmp_path / name).write_text("a,b\n" + "".join(f'"{n:,}",1\n' for n in numbers))
    elif kind in ("array", "sparse"):
        name = "a.npz"
        X = np.array([[n, 1] for n in numbers])
        np.savez(name, X=X) if kind == "array" else sp.save_npz(name, sp.csr_matrix(X))
    else:
        type_ = pa.decimal128(20, 19) if kind == "decimal" else getattr(pa, kind)()
        values = pa.array(numbers, pa.int64())
        if kind == "decimal":
            values = pa.array([f"1.{n}" for n in numbers]).cast(type_)
        pa.parquet.write_table(pa.table({"a": values, "b": [1] * 40}), name)
    said = run("dedup", name, *memory, "--threshold", "1", status=2)
    assert "rows that differ only there would count as equal" in said.replace("\n", " ")
    if kind == "sparse" and memory != ["--dry-run"]:  # which does not read the other file
        sp.save_npz("small.npz", sp.csr_matrix([[1, 2]]))
        said = run("dedup", "small.npz", "--against", name, *memory[:2], status=2)
        assert "a.npz, row 1: 1234567890123456768 is beyond 2^53" in said
    if name != "a.npz":
        assert "column 'a'" in said
        answer = json.loads(run("dedup", name, "--categorical", "a", "--threshold", "1", "--json"))
        assert answer["kept"] == 7


def test_large_numbers_that_are_not_rounded_are_compared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{2**53},6.02e23,0.12345678901234567890", f"{2**60},6.03e23,0.2", "7,1e300,0.3"]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,c", *lines, lines[1]]) + "\n")
    assert json.loads(run("dedup", "a.csv", "--json", "--threshold", "1"))["kept"] == 3
