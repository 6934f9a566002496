"""The command: help without weight, one sentence for what is wrong, and answers that are those of the library."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

import kernelight
from kernelight import GCWS, KernelClassifier, kernels, theory
from kernelight.cli.kernels import KERNELS


def run(*arguments, status=0, env=None):
    """Standard output of the command; its errors must be one line."""
    done = subprocess.run(
        [sys.executable, "-m", "kernelight", *map(str, arguments)], capture_output=True, text=True,
        env={**os.environ, "NO_COLOR": "1", **(env or {})},
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    if status == 2:
        assert "Traceback" not in done.stderr
    return done.stdout if status == 0 else done.stderr


def test_help_does_not_wait_for_others():
    code = "import sys\nfrom kernelight.cli import app\nprint(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"sklearn", "scipy", "pandas", "matplotlib", "pyarrow"}.isdisjoint(loaded)
    assert "kernels" in run("--help")
    assert run("--version").strip() == f"kernelight {kernelight.__version__}"


def test_kernels_are_all_there_with_their_parameters():
    named = {name for name in kernels._MAKERS if name != "frbf"}
    assert {row[0] for row in KERNELS} == named
    listed = json.loads(run("kernels", "--json"))
    rows = np.array([[1.0, 2.0], [2.0, 1.0]])
    for entry in listed:
        kernel = kernels.get(entry["name"])
        if entry["rows"].startswith("any"):
            kernel(-rows)
        else:
            with pytest.raises(ValueError, match="nonnegative"):
                kernel(-rows)
        for parameter in ("gamma", "p"):
            takes = parameter in entry["parameters"].replace(",", " ").split()
            assert takes == KernelClassifier(entry["name"])._wishes().choice.has(parameter), (
                entry,
                parameter,
            )
    shown = run("kernels")
    assert all(name in shown for name in named)


def test_theory_answers_as_the_library():
    assert run("theory", "components", "--error", 0.02) == "2,401 components\n"
    given = ("--error", 0.1, "--confidence", 0.9, "--method", "paired", "--kernel", 0.5, "--pairs", 10)
    wanted = int(theory.components_needed(0.1, 0.9, "paired", kernel=0.5, n_pairs=10))
    assert json.loads(run("theory", "components", *given, "--json")) == {"components": wanted}
    assert json.loads(run("theory", "memory", "--rows", 1000, "--components", 64, "--json")) == {
        "bytes": 64000
    }
    assert "error must" in run("theory", "components", "--error", -1, status=2)


def test_info_of_files(tmp_path):
    X, y = load_iris(return_X_y=True)
    gcws = GCWS(16, bits=4).fit(X)
    KernelClassifier(n_components=32, C=1.0, scale=None).fit(X, y).save(tmp_path / "model.klt")
    gcws.save(tmp_path / "map.klt")
    gcws.encode(X).save(tmp_path / "codes.klt")
    for name, kind in (("model", "KernelClassifier"), ("map", "GCWS"), ("codes", "Codes")):
        assert kind in run("info", tmp_path / f"{name}.klt")
        said = json.loads(run("info", tmp_path / f"{name}.klt", "--json"))
        assert (said["kind"], said["bytes"]) == (kind, (tmp_path / f"{name}.klt").stat().st_size)


def test_wrong_files_are_one_sentence(tmp_path):
    (tmp_path / "text").write_text("hello")
    assert "not a kernelight file" in run("info", tmp_path / "text", status=2)
    assert "No such file" in run("info", tmp_path / "none", status=2)
    assert "Is a directory" in run("info", tmp_path, status=2)
    debug = subprocess.run(
        [sys.executable, "-m", "kernelight", "--debug", "info", "none"], capture_output=True, text=True
    )
    assert "Traceback" in debug.stderr
    assert run("nothing", status=2)


def test_compare_writes_its_report(tmp_path):
    said = run("compare", "wine", "--budget", "8s", "--output", tmp_path / "report.html")
    assert f"The report is {tmp_path / 'report.html'}." in said
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "kernelight compare wine" in page
    assert "absent.csv" in run("compare", tmp_path / "absent.csv", status=2)
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n3,x\n")
    assert "table.csv" in run("compare", table, "--target", "c", status=2)
    assert not (tmp_path / "c.html").exists()
