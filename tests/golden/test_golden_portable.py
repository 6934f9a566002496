"""core/portable in plain C gives the golden vectors, here and on other machines."""

from __future__ import annotations

import shutil

import pytest
from golden import portable
from helpers import nightly


def need(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed: `make portable` says which packages have it")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_this_machine(compiler):
    need(compiler)
    assert portable.wrong_results(compiler, None) == []


def test_a_wrong_vector_is_found(monkeypatch):
    need("gcc")
    cases = portable.all_cases()
    line, expected = cases[-1]
    cases[-1] = (line, [1 - expected[0], *expected[1:]])
    monkeypatch.setattr(portable, "all_cases", lambda: cases)
    assert portable.wrong_results("gcc", None) == [line]


@nightly
@pytest.mark.parametrize("machine", portable.MACHINES)
def test_other_machines(machine):
    compiler, runner = portable.MACHINES[machine]
    need(compiler, runner)
    flags = (*portable.FLAGS, portable.ROUNDED)
    assert portable.wrong_results(compiler, runner, flags) == []


def test_floats_in_double_are_refused(tmp_path, capfd):
    """Strict C on s390x would give other bits."""
    need("s390x-linux-gnu-gcc")
    with pytest.raises(Exception, match="non-zero exit status"):
        portable.wrong_results(*portable.MACHINES["s390x"])
    assert "floats are not rounded as floats" in capfd.readouterr().err
