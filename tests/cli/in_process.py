"""The command, called in this process: for tests that call it often."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import NamedTuple

import typer

from kernelight.cli import app

NOTE = "kernelight: note: "
# once: making it takes longer than most of what it is asked for
_COMMAND = typer.main.get_command(app.app)


class Answer(NamedTuple):
    """What the command did."""

    status: int
    out: str
    said: str


def called(*arguments: object, stdin: bytes = b"") -> Answer:
    """Status, standard output and standard error of the command."""
    out, said, status = io.StringIO(), io.StringIO(), 0
    before = sys.argv, sys.stdin, app.app
    sys.argv = ["kernelight", *map(str, arguments)]
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    app.app = _COMMAND
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            app.main()
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        sys.argv, sys.stdin, app.app = before
    return Answer(status, out.getvalue(), said.getvalue())


def run(*arguments: object, status: int = 0, stdin: str = "") -> str:
    """Standard output of the command, or standard error if it is to fail.

    Wrong input is one sentence; notes on the data may come before it.
    """
    answer = called(*arguments, stdin=stdin.encode())
    assert answer.status == status, answer.said
    if status == 2:
        lines = answer.said.splitlines()
        assert len([line for line in lines if not line.startswith(NOTE)]) == 1, answer.said
    return answer.out if status == 0 else answer.said
