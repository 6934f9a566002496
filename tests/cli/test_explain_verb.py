"""`kernelight explain` writes what the library says, as CSV, JSON lines and files."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from in_process import run

import kernelight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with ids, words and missing values, and three models of it."""
    place = tmp_path_factory.mktemp("explain")
    random = np.random.default_rng(0)
    lines, three = ["name,a,b,colour,kind"], ["a,b,class"]
    for at, (a, b) in enumerate(random.normal(size=(300, 2)).round(4)):
        kind = "up" if a + (at % 2) > 0.5 else "down"
        lines.append(f"r{at},{a if at % 9 else ''},{b},{'red' if at % 2 else 'blue'},{kind}")
        three.append(f"{a},{b},{'xyz'[int(np.digitize(a, [-0.5, 0.5]))]}")
    (place / "train.csv").write_text("\n".join(lines) + "\n")
    (place / "three.csv").write_text("\n".join(three) + "\n")
    small = ("-k", "64", "-C", "1", "--quiet", "-o")
    run("fit", place / "train.csv", "--ids", "name", *small, place / "two.klt")
    run("fit", place / "three.csv", *small, place / "three.klt")
    run("fit", place / "three.csv", *small, place / "rbf.klt", "--kernel", "rbf")
    return place


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_line_for_each_row_and_column(folder):
    lines = read(run("explain", folder / "two.klt", folder / "train.csv", "-q"))
    assert len(lines) == 3 * 300
    assert list(lines[0]) == [
        *("name", "prediction", "score", "base_value"),
        *("column", "value", "contribution", "standard_error"),
    ]
    model = kernelight.load(folder / "two.klt")
    found = model.explain(folder / "train.csv")
    scores = {line["name"]: float(line["score"]) for line in lines}
    np.testing.assert_allclose([scores[f"r{at}"] for at in range(300)], found.scores, rtol=1e-5)
    of_row = [line for line in lines if line["name"] == "r7"]
    values = [float(line["contribution"]) for line in of_row]
    assert sorted(np.abs(values), reverse=True) == list(np.abs(values))
    total = sum(values) + float(of_row[0]["base_value"])
    assert total == pytest.approx(float(of_row[0]["score"]), rel=1e-4)
    assert {line["value"] for line in lines if line["column"] == "colour"} == {"red", "blue"}


def test_the_strongest_columns_as_json(folder):
    text = run("explain", folder / "three.klt", folder / "three.csv", "--top", "1", "--json", "-q")
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["row"] for line in lines] == list(range(1, 301))
    model = kernelight.load(folder / "three.klt")
    found = model.explain(folder / "three.csv")
    best = found.scores.argmax(axis=1)
    predicted = model.predict(folder / "three.csv").tolist()
    assert [line["prediction"] for line in lines] == predicted
    for row, line in enumerate(lines):
        name, _, value = found.strongest(row, top=1)[0]
        assert (line["column"], line["contribution"]) == (name, pytest.approx(value, rel=1e-5))
        assert line["score"] == pytest.approx(found.scores[row, best[row]], rel=1e-5)


def test_importance_of_columns(folder, tmp_path):
    lines = read(run("explain", folder / "three.klt", folder / "three.csv", "--importance", "-q"))
    assert [line["column"] for line in lines] == ["a", "b"]
    assert sum(float(line["importance"]) for line in lines) == pytest.approx(1, rel=1e-5)
    found = kernelight.load(folder / "three.klt").explain(folder / "three.csv").importances()
    np.testing.assert_allclose([float(line["spread"]) for line in lines], found, rtol=1e-5)
    path = tmp_path / "columns.parquet"
    said = run(*("explain", folder / "three.klt", folder / "three.csv"), "--importance", "-o", path)
    assert said == f"The importance of columns of 300 rows is in {path}.\n"
    assert path.exists()


def test_a_background_of_ones_own(folder):
    lines = read(
        run(
            *("explain", folder / "three.klt", folder / "three.csv", "-q"),
            *("--background", folder / "three.csv"),
        )
    )
    assert len(lines) == 600


def test_what_cannot_be_explained(folder, tmp_path):
    files = folder / "rbf.klt", folder / "three.csv"
    assert "permutation_importance" in run("explain", *files, status=2)
    assert "--top must be at least 1" in run(
        "explain", folder / "three.klt", folder / "three.csv", "--top", "0", status=2
    )
    (tmp_path / "none.csv").write_text("a,b\n")
    assert "has no rows" in run("explain", folder / "three.klt", tmp_path / "none.csv", status=2)
    output = tmp_path / "out.csv"
    run("explain", *files, "-o", output, status=2)
    assert not output.exists()
