"""compare on the command line: the report, the same for machines, interrupts, and going on."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from as_process import called, run

from kernelight import study
from kernelight.cli.app import main


def test_compare_writes_its_report(tmp_path):
    said = run("compare", "wine", "--budget", "1s", "--output", tmp_path / "report.html")
    assert said.splitlines()[-1] == f"The report is {tmp_path / 'report.html'}."
    assert said.startswith("Task: classification into 3 classes.\n")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "kernelight compare wine" in page


def test_the_recommended_model_is_trained_by_what_is_printed(tmp_path, capsys, monkeypatch):
    quick = partial(study.compare, kernels=["gmm_power"], components=[32])
    monkeypatch.setattr("kernelight.cli.compare.compare", quick)
    rng = np.random.default_rng(0)
    rows = [
        f"{a},{b},{'same' if a * b > 0 else 'other'},r{at}"
        for at, (a, b) in enumerate(rng.normal(size=(300, 2)))
    ]
    table = tmp_path / "two words.csv"
    table.write_text("\n".join(["a,b,kind,name", *rows]) + "\n")
    given = ("--target", "kind", "--ids", "name", "--header")
    said = called(
        capsys, "compare", table, *given, "--budget", "10m", "-o", tmp_path / "report.html"
    )
    line = next(line for line in said.splitlines() if line.startswith("Train"))
    words = shlex.split(line.partition(": ")[2])
    assert words[:8] == ["kernelight", "fit", str(table), *given]
    assert words[-2:] == ["-o", "model.klt"]
    told = json.loads(called(capsys, *words[1:-1], tmp_path / "model.klt", "--json"))
    assert told["sources"]["C"] == "tuned"
    assert (told["rows"], told["kernel"]) == (300, "gmm")


def test_wrong_data_leave_no_report(tmp_path, capsys):
    report = tmp_path / "report.html"
    assert "absent.csv" in called(
        capsys, "compare", tmp_path / "absent.csv", "-o", report, status=2
    )
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n3,x\n")
    assert "table.csv" in called(capsys, "compare", table, "--target", "c", "-o", report, status=2)
    assert "budget must be a time" in called(
        capsys, "compare", "wine", "--budget", "soon", "-o", report, status=2
    )
    assert "no directory" in called(
        capsys, "compare", "wine", "-o", tmp_path / "none" / "report.html", status=2
    )
    assert sorted(os.listdir(tmp_path)) == ["table.csv"]


def test_a_study_is_carried_on_and_said_in_json_or_hardly_at_all(tmp_path, capsys):
    journal, report = tmp_path / "cells.jsonl", tmp_path / "report.html"
    begun = ("compare", "iris", "--budget", "0.5s", "-o", report, "--resume", journal, "--json")
    found = json.loads(called(capsys, *begun))
    assert found["recommendation"]["headline"]
    assert report.exists()
    finished = journal.read_text().count("\n") - 1  # the first line says of what
    assert finished == len(found["cells"]) >= 1
    again = ("compare", "iris", "--budget", "1.5s", "-o", report, "--resume", journal)
    assert called(capsys, *again, "--quiet") == f"The report is {report}.\n"
    lines = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    assert [line["cell"] for line in lines[:finished]] == found["cells"]  # measured once
    other = ("compare", "wine", "-o", report, "--resume", journal)
    assert "other data or other settings" in called(capsys, *other, status=2)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_an_interrupt_leaves_a_report(tmp_path):
    """As Ctrl-C does: what was found until then is told, with status 1."""
    journal, report = tmp_path / "cells.jsonl", tmp_path / "report.html"
    arguments = [
        "compare",
        "digits",
        "--budget",
        "10m",
        "-o",
        str(report),
        "--resume",
        str(journal),
    ]
    started = subprocess.Popen(
        [sys.executable, "-m", "kernelight", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # what runs in the background may ignore it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    end = time.monotonic() + 60
    while time.monotonic() < end and not (
        journal.exists() and journal.read_text().count("\n") >= 3
    ):
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    said, errors = started.communicate(timeout=60)
    assert (started.returncode, errors) == (1, "")
    assert "Interrupted: this is what was found until then." in said
    assert said.splitlines()[-1] == f"The report is {report}."
    assert report.read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_an_interrupt_before_the_first_model_is_one_word(tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("kernelight.cli.compare.open_dataset", interrupted)
    said = called(capsys, "compare", "wine", "-o", tmp_path / "report.html", status=1)
    assert said == "kernelight: Interrupted.\n"
    assert not os.listdir(tmp_path)


def test_the_result_is_printed_before_the_report_is_written(tmp_path, capsys, monkeypatch):
    """A report that cannot be written, on a full disk for instance, must not take the result."""

    def full(*_):
        print("here the report is written")
        raise OSError(28, "No space left on device", "report.html")

    quick = partial(study.compare, kernels=["gmm"], components=[32])
    monkeypatch.setattr("kernelight.cli.compare.compare", quick)
    monkeypatch.setattr("kernelight.cli.compare.write_report", full)
    arguments = ["kernelight", "compare", "iris", "-o", str(tmp_path / "report.html")]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().out
    assert 0 < said.index("Train it: kernelight fit iris") < said.index("here the report")
