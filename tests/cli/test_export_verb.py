"""`kernelight export` writes C that predicts what `kernelight predict` does."""

from __future__ import annotations

import json

import numpy as np
import pytest
from in_process import called, run
from sklearn.datasets import load_digits

import kernelight
from kernelight.export import to_c, to_onnx


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of whole numbers, one with words, and models of both."""
    place = tmp_path_factory.mktemp("export")
    X, y = load_digits(return_X_y=True)
    wide = np.hstack([X, X[:, ::7]])[:500].astype(int)  # from 65 columns on signs are by sorf
    names = [*(f"c{at}" for at in range(wide.shape[1])), "digit"]
    lines = [",".join(map(str, [*row, f"d{label}"])) for row, label in zip(wide, y)]  # noqa: B905
    (place / "digits.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    words = ["a,b,kind", *(f"{at % 7},{'xyz'[at % 3]},{'uv'[at % 2]}" for at in range(60))]
    (place / "words.csv").write_text("\n".join(words) + "\n")
    small = ("-k", "256", "-C", "1", "--quiet", "--scale", "minmax", "-o")
    sign = ("--kernel", "acos", "--method", "sign")
    run("fit", place / "digits.csv", *sign, *small, place / "sign-1.klt")
    binary = ("--kernel", "gaussian", "--method", "binary")
    run("fit", place / "digits.csv", *binary, *small, place / "binary.klt")
    run("fit", place / "words.csv", *binary, *small, place / "words.klt")
    run("fit", place / "digits.csv", *small, place / "gmm.klt")
    return place


@pytest.mark.parametrize(("model", "rows"), [("sign-1", "int16"), ("binary", "float32")])
def test_files_are_those_of_the_library(folder, tmp_path, model, rows):
    data = folder / "digits.csv"
    out = run("export", folder / f"{model}.klt", "--check", data, "-o", tmp_path, "--rows", rows)
    name = model.replace("-", "_")
    fitted = kernelight.load(folder / f"{model}.klt")
    export = to_c(fitted, name=name, check=data, rows=rows)
    assert (tmp_path / f"{name}.h").read_text() == export.header
    assert str(export.report) in out
    assert export.report.n_different == 0
    np.testing.assert_array_equal(
        export.predict(fitted.open(data).materialise()[0]), fitted.predict(data)
    )


def test_options(folder, tmp_path):
    arguments = ("export", folder / "sign-1.klt", "--to", "c", "--check", folder / "digits.csv")
    facts = json.loads(run(*arguments, "-o", tmp_path, "--name", "abc", "--arduino", "--json"))
    assert facts["name"] == "abc"
    assert (tmp_path / "src" / "abc.h").exists()
    assert (tmp_path / "library.properties").read_text().startswith("name=abc\n")
    assert run(*arguments, "-o", tmp_path, "--quiet") == ""


@pytest.mark.parametrize(
    ("model", "options", "says"),
    [
        ("gmm", (), "GCWS cannot be exported to C"),
        ("binary", (), "rows='float32'"),
        ("words", ("--rows", "float32"), "fit the model to columns of numbers"),
        ("sign-1", ("--to", "java"), "--to must be one of c, onnx"),
        ("sign-1", ("--name", "a b"), "C identifier"),
    ],
)
def test_refusals(folder, tmp_path, model, options, says):
    data = folder / ("words.csv" if model == "words" else "digits.csv")
    place = tmp_path / "new"
    status, _, said = called(
        "export", folder / f"{model}.klt", "--check", data, "-o", place, *options
    )
    assert status == 2, said
    assert says in said
    assert said.count("\n") == 1
    assert not place.exists()


# -- ONNX


def test_onnx_is_that_of_the_library(folder, tmp_path):
    onnx = pytest.importorskip("onnx", reason="needs pip install 'kernelight[onnx]'")
    path, data = tmp_path / "model.onnx", folder / "digits.csv"
    arguments = ("export", folder / "sign-1.klt", "--to", "onnx", "-o", path)
    out = run(*arguments, "--check", data)
    fitted = kernelight.load(folder / "sign-1.klt")
    assert path.read_bytes() == to_onnx(fitted, name="sign_1").SerializeToString()
    assert "X: rows of 74 numbers, float32; gives label, scores, probabilities; opset 18." in out
    assert "0 of 500 rows otherwise" in out
    facts = json.loads(run(*arguments, "--rows", "float64", "--name", "abc", "--json"))
    assert (facts["rows"], facts["columns"], facts["opset"]) == ("float64", 74, 18)
    assert facts["bytes"] == path.stat().st_size
    assert onnx.load(path).graph.name == "abc"
    assert run(*arguments, "--quiet") == ""


def test_onnx_of_a_regression(tmp_path):
    pytest.importorskip("onnxruntime", reason="needs pip install 'kernelight[onnx]'")
    rng = np.random.default_rng(0)
    rows = rng.random((60, 3)).round(3)
    lines = [f"{a},{b},{c},{round(10 * a + b, 3)}" for a, b, c in rows]
    (tmp_path / "r.csv").write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    run("fit", tmp_path / "r.csv", "--kernel", "gmm", "--quiet", "-o", tmp_path / "r.klt")
    asked = ("export", tmp_path / "r.klt", "--to", "onnx", "-o", tmp_path / "r.onnx")
    facts = json.loads(run(*asked, "--check", tmp_path / "r.csv", "--json"))
    assert facts["outputs"] == ["variable"]
    assert facts["check_rows"] == 60
    assert 0 <= facts["largest_difference"] < 1e-3


@pytest.mark.parametrize(
    ("model", "options", "says"),
    [
        ("words", (), "fit the model to columns of numbers"),
        ("gmm", ("--arduino",), "--arduino goes with --to c"),
        ("gmm", ("--phases", "seed"), "--phases goes with --to c"),
        ("gmm", ("--rows", "int16"), "rows must be one of float32, float64"),
        ("gmm", ("-o", "no/such/place.onnx"), "there is no directory"),
    ],
)
def test_onnx_refusals(folder, tmp_path, model, options, says):
    pytest.importorskip("onnx", reason="needs pip install 'kernelight[onnx]'")
    place = tmp_path / "new.onnx"
    status, _, said = called(
        "export", folder / f"{model}.klt", "--to", "onnx", "-o", place, *options
    )
    assert status == 2, said
    assert says in said
    assert said.count("\n") == 1
    assert not place.exists()


def test_c_needs_rows_to_check(folder, tmp_path):
    status, _, said = called("export", folder / "sign-1.klt", "-o", tmp_path / "new")
    assert (status, said) == (
        2,
        "kernelight: --to c needs --check DATA, rows to test the result with.\n",
    )


@pytest.fixture(scope="module")
def compact(folder):
    """A model of --ternary, and what the command said."""
    options = ("--target", "digit", "--ternary", "--max-bytes", "1700", "--seed", "1")
    said = run("fit", folder / "digits.csv", *options, "-o", folder / "compact.klt")
    return folder / "compact.klt", said


def test_a_model_for_a_budget_of_bytes(folder, compact, tmp_path):
    model, said = compact
    assert "CompactClassifier" in said
    assert "of 1,700 bytes" in said
    fitted = kernelight.load(model)
    assert fitted.model_.n_bytes_ <= 1700
    files = json.loads(
        run("export", model, "--check", folder / "digits.csv", "-o", tmp_path, "--json")
    )
    assert files["report"]["flash_total"] <= 1700
    assert files["labels"][0] == "d0"
    scores = json.loads(run("evaluate", model, folder / "digits.csv", "--json"))
    assert scores["accuracy"] > 0.95


def test_json_of_a_budget(folder, tmp_path):
    arguments = ("fit", folder / "digits.csv", "--target", "digit", "--ternary", "--json")
    facts = json.loads(run(*arguments, "--scale", "none", "-o", tmp_path / "m.klt"))
    assert facts["flash_total"] == sum(facts["flash"].values()) <= 4000
    assert (facts["scale"], facts["kernel"]) == ("none", "gaussian")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--max-bytes", "2000"), "--max-bytes is of --ternary"),
        (("--ternary", "-k", "64", "--kernel", "gmm"), "leave --kernel and --components out"),
        (("--ternary", "--memory", "1G"), "leave --memory out"),
        (("--ternary", "--half"), "leave --half out"),
        (("--ternary", "--scale", "quantile"), "scale must be"),
        (("--ternary", "--max-bytes", "600", "--target", "digit"), "too small for 10 classes"),
        (("--ternary", "--target", "c5", "--task", "regression"), "regression"),
    ],
)
def test_budgets_are_refused_with_a_sentence(folder, tmp_path, options, says):
    output = tmp_path / "m.klt"
    code, _, errors = called("fit", folder / "digits.csv", *options, "-o", output)
    assert code != 0
    assert says in " ".join(errors.split())
    assert "Traceback" not in errors
    assert not output.exists()
