"""fit, predict and evaluate on the command line give what the library gives."""

from __future__ import annotations

import csv
import io
import json
import os

import numpy as np
import pytest
from as_process import run as run_alone
from in_process import run

import kernelight
from kernelight import open_dataset

SMALL = ("-k", "64", "-C", "1", "--scale", "none")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table to train on, one to predict for, and two models."""
    place = tmp_path_factory.mktemp("models")
    random = np.random.default_rng(0)
    lines = ["name,a,b,colour,kind"]
    for at, (a, b) in enumerate(random.normal(size=(400, 2)).round(4)):
        colour, kind = "red" if at % 2 else "blue", "same" if a * b > 0 else "other"
        lines.append(f"r{at},{a if at % 9 else ''},{b},{colour},{kind}")
    (place / "train.csv").write_text("\n".join(lines) + "\n")
    (place / "new.csv").write_text("colour,b,a,name\nred,1.5,2,x\nblue,,-1,y\ngreen,-1,2,z\n")
    run("fit", place / "train.csv", "--ids", "name", "-o", place / "model.klt", *SMALL, "--quiet")
    run(
        "fit",
        place / "train.csv",
        "--ids",
        "name",
        "-o",
        place / "likely.klt",
        *SMALL,
        "--loss",
        "logistic",
        "-q",
    )
    return place


def test_fit_writes_what_the_library_would(folder, tmp_path):
    model = kernelight.load(folder / "model.klt")
    X, y = open_dataset(folder / "train.csv", ids="name").materialise()
    alone = kernelight.KernelClassifier(n_components=64, C=1.0, scale="none").fit(X, y)
    np.testing.assert_array_equal(model.model_.decision_function(X), alone.decision_function(X))
    said = json.loads(
        run(
            "fit",
            folder / "train.csv",
            "--ids",
            "name",
            "-o",
            tmp_path / "m.klt",
            *SMALL,
            "--json",
            "--half",
        )
    )
    assert (said["rows"], said["task"], said["C"], said["components"]) == (
        400,
        "classification",
        1.0,
        64,
    )
    assert (tmp_path / "m.klt").stat().st_size < (folder / "model.klt").stat().st_size
    told = run("fit", folder / "train.csv", "--ids", "name", "-o", tmp_path / "m.klt", *SMALL)
    assert f"The model is {tmp_path / 'm.klt'}." in told
    assert "GCWS" in told


def test_predict_in_every_form(folder, tmp_path):
    model = kernelight.load(folder / "model.klt")
    wanted = model.predict(folder / "new.csv").tolist()
    printed = list(
        csv.reader(io.StringIO(run("predict", folder / "model.klt", folder / "new.csv")))
    )
    assert printed == [
        ["name", "prediction"],
        *([name, value] for name, value in zip("xyz", wanted, strict=True)),
    ]
    lines = [
        json.loads(line)
        for line in run("predict", folder / "model.klt", folder / "new.csv", "--json").splitlines()
    ]
    assert [line["prediction"] for line in lines] == wanted
    for ending in ("csv", "tsv", "parquet", "jsonl"):
        place = tmp_path / f"out.{ending}"
        run("predict", folder / "model.klt", folder / "new.csv", "-o", place)
        if ending == "jsonl":
            found = [json.loads(line) for line in place.read_text().splitlines()]
            assert found == lines
            continue
        if ending == "parquet":
            import pyarrow.parquet

            table = pyarrow.parquet.read_table(place)
            assert table.column("prediction").to_pylist() == wanted
        else:
            delimiter = "," if ending == "csv" else "\t"
            assert [
                row[1] for row in csv.reader(place.read_text().splitlines(), delimiter=delimiter)
            ][1:] == wanted
    assert not list(tmp_path.glob(".kernelight*"))


def test_probabilities(folder):
    rows = list(
        csv.DictReader(
            io.StringIO(run("predict", folder / "likely.klt", folder / "new.csv", "--proba"))
        )
    )
    for row in rows:
        shares = {"other": float(row["P(other)"]), "same": float(row["P(same)"])}
        assert sum(shares.values()) == pytest.approx(1)
        assert max(shares, key=shares.get) == row["prediction"]
    told = run("predict", folder / "model.klt", folder / "new.csv", "--interval", "0.9", status=2)
    assert "Intervals are for quantities" in told


def test_standard_input_is_data(folder):
    text = (folder / "new.csv").read_text()
    assert run_alone("predict", folder / "model.klt", "-", stdin=text) == run(
        "predict", folder / "model.klt", folder / "new.csv"
    )


def test_probabilities_of_any_loss_and_how_good_they_are(folder):
    told = run("predict", folder / "model.klt", folder / "new.csv", "--proba")
    assert "P(other)" in told
    found = json.loads(run("evaluate", folder / "model.klt", folder / "train.csv", "--json"))
    assert 0 < found["log_loss"] < 0.7
    assert 0 < found["brier_score"] < 0.25
    assert 0.5 < found["roc_auc"] <= 1
    assert sum(entry["rows"] for entry in found["calibration"]) == found["rows"]
    shown = run("evaluate", folder / "model.klt", folder / "train.csv")
    assert all(name in shown for name in ("log loss", "Brier score", "AUC", "P(same)"))


def test_intervals_and_scoring(tmp_path):
    rows = "".join(f"{at / 400},{at / 100 + (at % 7) / 10}\n" for at in range(400))
    (tmp_path / "t.csv").write_text("x,y\n" + rows)
    model = tmp_path / "m.klt"
    summary = run(
        "fit",
        tmp_path / "t.csv",
        "-o",
        model,
        "-k",
        32,
        "--task",
        "regression",
        "--scoring",
        "neg_mean_absolute_error",
    )
    assert "neg_mean_absolute_error -0." in summary
    shown = run("info", model)
    assert " (tuned)\n" in shown
    assert "C_" not in shown
    told = run("predict", model, tmp_path / "t.csv", "--interval", 0.9)
    lines = list(csv.DictReader(io.StringIO(told)))
    inside = [
        float(a["low"]) <= at / 100 + (at % 7) / 10 <= float(a["high"])
        for at, a in enumerate(lines)
    ]
    assert 0.85 < sum(inside) / len(inside) < 0.97
    assert "--interval 0.9999" in run(
        "predict", model, tmp_path / "t.csv", "--interval", 0.9999, status=2
    )


def test_evaluate_counts(folder):
    found = json.loads(run("evaluate", folder / "model.klt", folder / "train.csv", "--json"))
    model = kernelight.load(folder / "model.klt")
    assert found["accuracy"] == model.evaluate(folder / "train.csv")["accuracy"]
    assert f"{100 * found['accuracy']:.2f} %" in run(
        "evaluate", folder / "model.klt", folder / "train.csv"
    )
    assert "no target 'kind'" in run("evaluate", folder / "model.klt", folder / "new.csv", status=2)


def test_quantities(tmp_path):
    random = np.random.default_rng(1)
    lines = [f"{a},{b},{a * b + 5}" for a, b in random.normal(size=(300, 2)).round(4)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,value", *lines]) + "\n")
    told = run("fit", tmp_path / "t.csv", "-o", tmp_path / "m.klt", "-k", 256)
    assert "KernelRegressor" in told
    found = json.loads(run("evaluate", tmp_path / "m.klt", tmp_path / "t.csv", "--json"))
    assert found["r2"] > 0.8
    assert "mean absolute error" in run("evaluate", tmp_path / "m.klt", tmp_path / "t.csv")
    assert "--balanced" in run(
        "fit", tmp_path / "t.csv", "-o", tmp_path / "n.klt", "--balanced", status=2
    )
    assert not (tmp_path / "n.klt").exists()


def test_info_of_a_model(folder):
    told = run("info", folder / "model.klt")
    assert "TableModel" in told
    assert "400 rows" in told
    assert "kind (classification)" in told
    assert "a, b, colour" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-C", "many"), "--C must be a number or tune"),
        (("-k", "0"), "--components must"),
        (("--kernel", "gmn"), "gmn"),
        (("--target", "knd"), "did you mean 'kind'"),
        (("--memory", "12Q"), "memory must be a size"),
        (("--ids", "nam"), "column 'nam'"),
        (("--scale", "big"), "scale"),
        (("--weights", "teach"), "weights must be None, 'learn' or a number"),
    ],
)
def test_wrong_options_are_one_sentence(folder, tmp_path, arguments, words):
    ids = () if "--ids" in arguments else ("--ids", "name")
    assert words in run(
        "fit", folder / "train.csv", *ids, "-o", tmp_path / "m.klt", *arguments, status=2
    )
    assert not os.listdir(tmp_path)


def test_an_existing_file_stays_if_something_fails(folder, tmp_path):
    (tmp_path / "out.csv").write_text("old")
    (tmp_path / "bad.csv").write_text("colour,b,a,name\nred,1,2,x\nred,one,2,y\n")
    told = run(
        "predict", folder / "model.klt", tmp_path / "bad.csv", "-o", tmp_path / "out.csv", status=2
    )
    assert "bad.csv, line 3, column 'b': 'one' is not a number" in told
    assert (tmp_path / "out.csv").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["bad.csv", "out.csv"]
    assert ".csv, .tsv, .jsonl and .parquet" in run(
        "predict", folder / "model.klt", folder / "new.csv", "-o", tmp_path / "out.xyz", status=2
    )
