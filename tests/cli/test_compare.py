"""compare on the command line: the report, the same for machines, interrupts, and going on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from commands import run


def test_compare_writes_its_report(tmp_path):
    said = run("compare", "wine", "--budget", "8s", "--output", tmp_path / "report.html")
    assert said.splitlines()[-1] == f"The report is {tmp_path / 'report.html'}."
    assert said.startswith("Task: classification into 3 classes.\n")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "kernelight compare wine" in page


def test_wrong_data_leave_no_report(tmp_path):
    report = tmp_path / "report.html"
    assert "absent.csv" in run("compare", tmp_path / "absent.csv", "-o", report, status=2)
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n3,x\n")
    assert "table.csv" in run("compare", table, "--target", "c", "-o", report, status=2)
    assert "budget must be a time" in run("compare", "wine", "--budget", "soon", "-o", report, status=2)
    assert "no directory" in run("compare", "wine", "-o", tmp_path / "none" / "report.html", status=2)
    assert sorted(os.listdir(tmp_path)) == ["table.csv"]


def test_a_study_is_carried_on_and_said_in_json_or_hardly_at_all(tmp_path):
    journal, report = tmp_path / "cells.jsonl", tmp_path / "report.html"
    begun = json.loads(run("compare", "iris", "--budget", "2s", "-o", report, "--resume", journal, "--json"))
    assert begun["recommendation"]["headline"]
    assert report.exists()
    finished = journal.read_text().count("\n") - 1  # the first line says of what
    assert finished == len(begun["cells"]) >= 1
    again = ("compare", "iris", "--budget", "4s", "-o", report, "--resume", journal)
    assert run(*again, "--quiet") == f"The report is {report}.\n"
    lines = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    assert [line["cell"] for line in lines[:finished]] == begun["cells"]  # measured once
    assert "other data or other settings" in run(
        "compare", "wine", "-o", report, "--resume", journal, status=2
    )


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_an_interrupt_leaves_a_report(tmp_path):
    """As Ctrl-C does: what was found until then is told, with status 1."""
    journal, report = tmp_path / "cells.jsonl", tmp_path / "report.html"
    arguments = ["compare", "digits", "--budget", "10m", "-o", str(report), "--resume", str(journal)]
    started = subprocess.Popen(
        [sys.executable, "-m", "kernelight", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    end = time.monotonic() + 60
    while time.monotonic() < end and not (journal.exists() and journal.read_text().count("\n") >= 3):
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    said, errors = started.communicate(timeout=60)
    assert (started.returncode, errors) == (1, "")
    assert "Interrupted: this is what was found until then." in said
    assert said.splitlines()[-1] == f"The report is {report}."
    assert report.read_text(encoding="utf-8").rstrip().endswith("</html>")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_an_interrupt_before_the_first_model_is_one_word(tmp_path):
    started = subprocess.Popen(
        [sys.executable, "-m", "kernelight", "compare", "-", "-o", str(tmp_path / "report.html")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    time.sleep(4)  # it waits for data
    started.send_signal(signal.SIGINT)
    assert started.wait(60) == 1
    assert started.stderr.read().endswith(b"Interrupted.\n")
    assert not os.listdir(tmp_path)
    for pipe in (started.stdin, started.stdout, started.stderr):
        pipe.close()
