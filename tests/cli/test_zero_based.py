"""LIBSVM files whose indices begin at 0: the error names an option that the command has."""

from __future__ import annotations

import pytest
from in_process import run

import kernelight
from kernelight.cli.compare import _command

ROWS = "".join(f"{at % 2} {at % 2}:1 2:0.{at % 9}\n" for at in range(40))


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.svm").write_text(ROWS)


def test_the_advice_works():
    fit = ("fit", "rows.svm", "-o", "m.klt", "--kernel", "gmm", "-k", 16, "-C", 1)
    said = run(*fit, status=2)
    assert said == (
        "kernelight: rows.svm, line 1: index 0, where the first is 1; --zero-based reads files "
        "that begin at 0.\n"
    )
    run(*fit, "--zero-based", "--quiet")
    model = kernelight.load("m.klt")
    assert model.encoding_.zero_based
    assert model.encoding_.width == 3
    # a model remembers it
    assert len(run("predict", "m.klt", "rows.svm").splitlines()) == 41


def test_a_recommended_command_has_it():
    told = _command("rows.svm", {"zero_based": True}, {"kernel": "auto"})
    assert told == "kernelight fit rows.svm --zero-based --kernel auto -o model.klt"
