"""`kernelight fit` without --kernel: the average of kernel="auto", or gmm with a note."""

from __future__ import annotations

import json

import numpy as np
import pytest
from in_process import called, run

import kernelight
from kernelight import TableModel, open_dataset
from kernelight.scaling import SCALING_NAMES


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_table():
    random = np.random.default_rng(0)
    lines = ["a,b,kind"]
    for a, b in random.normal(size=(120, 2)).round(3):
        lines.append(f"{a},{b},{'same' if a * b > 0 else 'other'}")
    with open("t.csv", "w") as file:
        file.write("\n".join(lines) + "\n")


def write_sparse(width):
    random = np.random.default_rng(0)
    with open("rows.svm", "w") as file:
        for at in range(80):
            places = np.sort(random.choice(np.arange(3, width), 4, replace=False))
            pairs = " ".join(f"{place}:{random.random():.3f}" for place in places)
            file.write(f"{at % 2} {1 + at % 2}:1 {pairs} {width}:1\n")


def fit(*options, data=("t.csv", "--target", "kind")):
    """The model, what was printed, and the notes."""
    answer = called("fit", *data, "-o", "m.klt", "--jobs", 1, *options)
    assert answer.status == 0, answer.said
    return kernelight.load("m.klt").model_, answer.out, answer.said


def test_the_default_is_the_average_of_the_library():
    write_table()
    model, told, notes = fit()
    X, y = open_dataset("t.csv", target="kind").materialise()
    alone = kernelight.KernelClassifier("auto").fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
    assert "the average of 3 models" in told
    twin = TableModel().fit("t.csv", target="kind").model_
    np.testing.assert_array_equal(twin.decision_function(X), alone.decision_function(X))
    # options that every member takes leave it at that
    for options in (("-C", 1), ("--loss", "logistic"), ("--scale", "minmax"), ("--balanced",)):
        other, _, more = fit(*options)
        assert other.kernel == "auto"
        notes += more
    assert notes == ""


def test_json_names_the_members():
    write_table()
    said = json.loads(run("fit", "t.csv", "-o", "m.klt", "--target", "kind", "--json"))
    assert said["kernel"] == "auto"
    assert [each["name"] for each in said["members"]] == ["gmm", "ferns", "leaves"]
    assert said["scale"] is None  # each member has its own
    assert said["members"][0]["scale"] in SCALING_NAMES
    assert "by each member" in run("info", "m.klt")
    small = json.loads(run("fit", "t.csv", "-o", "m.klt", "-k", 16, "--json", "--target", "kind"))
    assert small["kernel"] == "gmm"
    assert small["members"] is None


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("-k", 16), "--components is"),
        (("--bits", 4), "--bits is"),
        (("--method", "gcws"), "--method is"),
        (("--p", 2, "-k", 16), "--components and --p are"),
        (("--gamma", "scale"), "--gamma is"),
    ],
)
def test_options_of_one_kernel_mean_gmm(options, named):
    write_table()
    model, _, note = fit(*options, "-C", 1, "--scale", "none")
    assert model.kernel == "gmm"
    assert f"t.csv: {named} of one kernel, so the model is that of --kernel gmm" in note
    # a kernel that is named is taken, without a note
    model, _, note = fit(*options, "-C", 1, "--scale", "none", "--kernel", "gmm")
    assert model.kernel == "gmm"
    assert "of one kernel" not in note


def test_named_components_of_auto_are_taken():
    write_table()
    model, _, notes = fit("--kernel", "auto", "-k", 16)
    assert [member.width for member in model.model_.members] == [16, 16, 128]
    assert notes == ""


def test_within_memory_the_default_is_gmm():
    write_table()
    model, _, note = fit("--memory", "2G")
    assert model.kernel == "gmm"
    assert "t.csv: within a limit of memory the model is that of --kernel gmm" in note
    assert fit("--memory", "2G", "--quiet")[2] == ""


def test_wide_sparse_rows_get_gmm():
    write_sparse(5000)
    model, _, note = fit(data=("rows.svm",))
    assert model.kernel == "gmm"
    assert "rows.svm: for sparse rows of 5,000 columns the model is that of --kernel gmm" in note
    # what is asked for is done
    assert fit("--kernel", "auto", "-k", 16, data=("rows.svm",))[0].kernel == "auto"
    write_sparse(40)
    model, _, note = fit(data=("rows.svm",))
    assert model.kernel == "auto"
    assert "gmm" not in note
