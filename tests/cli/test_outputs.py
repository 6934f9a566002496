"""Files that cannot be written are refused before the work for them is done."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from in_process import called, run

from kernelight import KernelClassifier, TableMap, TableModel
from kernelight.cli import app

SMALL = ("--kernel", "gmm", "-k", 16, "-C", 1, "--scale", "none")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    a = np.random.default_rng(0).normal(size=(60, 2)).round(3)
    rows = [f"{x},{y},{'yes' if x * y > 0 else 'no'}" for x, y in a]
    Path("table.csv").write_text("\n".join(["a,b,kind", *rows]) + "\n")
    estimator = KernelClassifier(n_components=16, C=1.0, scale=None)
    TableModel(estimator).fit("table.csv", target="kind").save("model.klt")
    TableMap(n_components=16).fit("table.csv").save("map.klt")
    os.mkdir("folder")
    return tmp_path


#: verb and option -> the command, without that option; the data are not there.
COMMANDS = {
    "fit --output": ("fit", "absent.csv"),
    "predict --output": ("predict", "absent.klt", "absent.csv"),
    "compare --output": ("compare", "absent.csv"),
    "compare --resume": ("compare", "absent.csv", "-o", "report.html"),
    "encode --output": ("encode", "absent.csv"),
    "encode --save-map": ("encode", "absent.csv", "-o", "codes.npz"),
    "similarity --output": ("similarity", "absent.csv"),
}
TABLES = ("predict --output", "similarity --output")
PLACES = {
    "none/x.npz": "none/x.npz cannot be written: there is no directory none.",
    "folder": "folder is a directory: name a file.",
    "": "The name of the file to write is empty.",
    "n" * 300 + ".npz": "File name too long.",
    "pipe.npz": "pipe.npz is not a regular file, which writing would replace: name another.",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_places_are_checked_before_anything_is_read(command: str) -> None:
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe.npz")
    option = command.split()[1]
    for place, words in PLACES.items():
        if place == "pipe.npz" and not Path(place).exists():
            continue
        odd_ending = command == "encode --output" and not place.endswith(".npz")
        wanted = "the ending says how to write it" if odd_ending else words
        assert wanted in run(*COMMANDS[command], option, place, status=2)


@pytest.mark.parametrize("command", sorted({*COMMANDS} - {*TABLES, "encode --output"}))
def test_only_tables_go_to_standard_output(command: str) -> None:
    """``-o -`` wrote a file of that name."""
    said = run(*COMMANDS[command], command.split()[1], "-", status=2)
    assert "- stands for standard output, which takes tables only: name a file" in said


def test_tables_go_to_standard_output_when_asked() -> None:
    for arguments in (("predict", "model.klt", "table.csv"), ("similarity", "table.csv")):
        assert run(*arguments, "-o", "-") == run(*arguments)
    assert not Path("-").exists()


def test_what_is_read_is_not_written_over() -> None:
    before = Path("table.csv").read_text()
    for arguments in (
        ("fit", "table.csv", "-o", "table.csv", *SMALL),
        ("predict", "model.klt", "table.csv", "-o", "table.csv"),
        ("compare", "table.csv", "-o", "table.csv"),
        ("compare", "table.csv", "-o", "report.html", "--resume", "table.csv"),
        ("encode", "table.csv", "-o", "c.klt", "--save-map", "table.csv"),
        ("similarity", "table.csv", "-o", "table.csv"),
    ):
        assert "table.csv is what is read: name another file" in run(*arguments, status=2)
    said = run("encode", "table.csv", "-o", "map.klt", "--map", "map.klt", status=2)
    assert "map.klt is what is read" in said
    assert Path("table.csv").read_text() == before


def test_two_outputs_are_two_files() -> None:
    """The map was written over the codes."""
    said = run("encode", "table.csv", "-o", "c.klt", "--save-map", "./c.klt", status=2)
    assert said == "kernelight: --output and --save-map name the same file, c.klt: name two.\n"
    said = run("compare", "table.csv", "-o", "r.html", "--resume", "r.html", status=2)
    assert "--output and --resume name the same file" in said
    assert not Path("c.klt").exists()


@pytest.mark.parametrize("limit", [(), ("--memory", "2G")])
def test_a_guessed_target_is_named_once(limit: tuple[str, ...]) -> None:
    wanted = (
        "kernelight: note: table.csv: column 'kind' is taken as the target because it is the last; "
        "--target NAME names another\n"
    )
    answer = called("fit", "table.csv", "-o", "m.klt", *SMALL, *limit)
    assert answer.said == wanted
    for more in (("--target", "kind"), ("--quiet",)):
        assert called("fit", "table.csv", "-o", "m.klt", *SMALL, *limit, *more).said == ""


def test_compare_names_a_guessed_target_once() -> None:
    answer = called("compare", "table.csv", "-o", "report.html", "--budget", "1s")
    assert answer.said.count("column 'kind' is taken as the target because it is the last") == 1
    for verb in ("evaluate", "predict"):
        assert called(verb, "model.klt", "table.csv").said == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize(
    "line",
    [
        "evaluate model.klt table.csv",
        "evaluate model.klt table.csv --json",
        "predict model.klt table.csv",
        "predict model.klt table.csv -o new.csv",
        "fit table.csv -o new.klt -k 16 -C 1 --scale none",
        "encode table.csv -o new.npz -k 16",
        "similarity table.csv",
        "info model.klt",
        "kernels",
        "theory components --error 0.1",
        "--version",
    ],
)
def test_a_full_disk_behind_standard_output_is_named(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["kernelight", *line.split()])
    said = StringIO()
    full = open("/dev/full", "w")  # noqa: SIM115 (closed below, where it may fail)
    try:
        with redirect_stdout(full), redirect_stderr(said), pytest.raises(SystemExit) as end:
            app.main()
    finally:
        with suppress(OSError):
            full.close()
    assert end.value.code == 2
    last = said.getvalue().splitlines()[-1]
    assert last == "kernelight: standard output: No space left on device."
