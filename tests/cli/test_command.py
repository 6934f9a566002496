"""The command: fast help, one sentence for what is wrong, and the results of the library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from as_process import run as run_alone
from in_process import called, run
from sklearn.datasets import load_iris

import kernelight
from kernelight import GCWS, KernelClassifier, TableModel, kernels, theory
from kernelight.cli.kernels import KERNELS


def test_help_does_not_wait_for_others():
    code = (
        "import sys\nfrom kernelight.cli import app\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"sklearn", "scipy", "pandas", "matplotlib", "pyarrow"}.isdisjoint(loaded)
    assert "kernels" in run_alone("--help")
    assert run_alone("--version").strip() == f"kernelight {kernelight.__version__}"


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
            assert takes == KernelClassifier(entry["name"])._space().choice.has(parameter), (
                entry,
                parameter,
            )
    shown = run("kernels")
    assert all(name in shown for name in named)


def test_theory_answers_as_the_library():
    assert run("theory", "components", "--error", 0.02) == "2,401 components\n"
    given = (
        "--error",
        0.1,
        "--confidence",
        0.9,
        "--method",
        "paired",
        "--kernel",
        0.5,
        "--pairs",
        10,
    )
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
        [sys.executable, "-m", "kernelight", "--debug", "info", "none"],
        capture_output=True,
        text=True,
    )
    assert "Traceback" in debug.stderr
    assert run("nothing", status=2)


def test_an_internal_error_is_one_sentence(monkeypatch):
    def broken(**_):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("kernelight.cli.kernels.run", broken)
    answer = called("kernels")
    assert answer == (
        3,
        "",
        "kernelight: Internal error (RuntimeError: two lines): please report what --debug shows.\n",
    )


def test_completion_knows_the_verbs():
    def completed(words):
        given = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        return run_alone(_KERNELIGHT_COMPLETE="complete_bash", **given).split()

    assert {"compare", "fit", "predict", "evaluate", "kernels", "info", "theory"} <= set(
        completed("kernelight ")
    )
    assert completed("kernelight ev") == ["evaluate"]
    assert completed("kernelight theory ") == ["components", "memory"]
    assert "--budget" in completed("kernelight compare --bud")


def test_completion_is_installed(tmp_path):
    # typer would ask which shell has started this process, and refuse those that it does not know
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    home = {"HOME": tmp_path, "USERPROFILE": tmp_path}
    assert "kernelight" in run_alone("--install-completion", "bash", **home, **named)
    assert "_KERNELIGHT_COMPLETE" in (tmp_path / ".bash_completions" / "kernelight.sh").read_text()


HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
"""


def test_what_an_extra_is_missing_for_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(HIDDEN)
    rows, table, model = tmp_path / "table.parquet", tmp_path / "table.csv", tmp_path / "model.klt"
    rows.write_bytes(b"PAR1....PAR1")
    table.write_text("a,kind\n" + "1,x\n2,y\n" * 20)
    TableModel(KernelClassifier(n_components=8, C=1.0, scale=None)).fit(table).save(model)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    told = "needs pyarrow, which is not there: pip install 'kernelight[io]'."
    to_parquet = ("predict", model, table, "-o", tmp_path / "out.parquet")
    assert told in run_alone(*to_parquet, status=2, PYTHONPATH=path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # from here on not to be imported
    for arguments in (("compare", rows, "-o", tmp_path / "out.html"), ("predict", model, rows)):
        assert told in run(*arguments, status=2)
    assert not list(tmp_path.glob("out*"))


def test_the_extra_all_has_every_extra_of_run_time():
    tomllib = pytest.importorskip("tomllib")
    text = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    work = {"test", "lint", "bench", "papers", "docs"}  # for those who work on the package itself
    heavy = {"onnx", "spark"}  # 100 MB and more, for few users
    others = {*work, *heavy, "all"}
    optional = {need for name, needs in extras.items() if name not in others for need in needs}
    assert set(extras["all"]) == optional
