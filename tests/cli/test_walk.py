"""The shell commands of README, docs/command.md and docs/tables.md print what is written there.

The commands of a document run in one folder that has the examples of the repository. Numbers may
differ a little, as rounding differs between machines; budgets are cut short.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import nightly, sampled

ROOT = Path(__file__).resolve().parents[2]
# a block of commands, and the block of text below it, if there is one
BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:\s*^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
SHORT = "1s"
NEAR = 0.03

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the commands are for a POSIX shell")


@pytest.fixture
def folder(tmp_path):
    """A folder with the examples, and with the command in .venv/bin."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    command = tmp_path / ".venv" / "bin" / "kernelight"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kernelight "$@"\n')
    command.chmod(0o755)
    return tmp_path


def run_in(folder, commands):
    """What the commands print; each must succeed."""
    path = os.pathsep.join([str(folder / ".venv" / "bin"), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-e", "-c", re.sub(r"--budget \S+", f"--budget {SHORT}", commands)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{commands}{done.stderr}"
    return done.stdout


def agree(printed, written):
    """Whether words are equal and numbers near.

    Spaces may differ, as columns are as wide as their numbers.
    """
    words, wanted = (NUMBER.sub("#", text).split() for text in (printed, written))
    numbers = (
        [float(number.replace(",", "")) for number in NUMBER.findall(text)]
        for text in (printed, written)
    )
    return words == wanted and all(
        abs(a - b) <= NEAR * max(abs(b), 10) for a, b in zip(*numbers, strict=True)
    )


@pytest.mark.parametrize(
    "document", sampled(["README.md", "docs/command.md", "docs/tables.md"], "README.md")
)
def test_commands_print_what_is_written(folder, document):
    blocks = BLOCK.findall((ROOT / document).read_text(encoding="utf-8"))
    assert blocks
    for commands, text in blocks:
        printed = run_in(folder, commands)
        if text:
            assert agree(printed, text), f"{commands}printed\n{printed}"
    if "predictions.csv" in "".join(commands for commands, _ in blocks):
        made = (folder / "predictions.csv").read_text()
        assert made.startswith("parcel,prediction\nP0801,")
    else:
        assert document == "docs/tables.md"


@nightly
@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make on this machine")
def test_the_demo_ends_with_a_recommendation_and_a_report(folder):
    """What `make demo` does once everything is set up."""
    assert "make demo" in (ROOT / "README.md").read_text(encoding="utf-8")
    # not a part of the make that may run the tests
    outside = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
    }
    told = subprocess.run(
        ["make", "-n", "--no-print-directory", "demo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env=outside,
    ).stdout
    said = run_in(folder, told.splitlines()[-1]).splitlines()
    use = [line for line in said if re.match(r"Use .*: .* of the test rows right", line)]
    enough = [line for line in said if line.startswith("A linear model is enough: ")]
    assert len(use) + len(enough) == 1
    train = [line for line in said if line.startswith("Train it: kernelight fit digits ")]
    assert len(train) == len(use)  # the linear model needs none
    assert said[-1] == "The report is report.html."
    assert "kernelight compare digits" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_examples_are_what_their_script_writes(folder):
    for table in ("parcels", "flats"):
        subprocess.run([sys.executable, folder / "examples" / f"{table}.py", folder], check=True)
    for name in ("parcels.csv", "parcels-new.csv", "flats.csv", "flats-new.csv"):
        assert (folder / name).read_bytes() == (ROOT / "examples" / name).read_bytes()


def test_numbers_that_are_far_do_not_agree():
    assert agree("accuracy  93.1 %\n", "accuracy 92.5 %")
    assert not agree("accuracy 83.1 %", "accuracy 92.5 %")
    assert not agree("precision 93.1 %", "accuracy 93.1 %")
