"""The command as the tests of this folder call it."""

from __future__ import annotations

import os
import subprocess
import sys
from unittest import mock

from kernelight.cli.app import main


def run(*arguments, status=0, stdin=None, **environment):
    """Standard output of the command, or standard error if it is to fail.

    Wrong input is one line, without a traceback.
    """
    done = subprocess.run(
        [sys.executable, "-m", "kernelight", *map(str, arguments)],
        capture_output=True,
        text=True,
        input=stdin,
        env={**os.environ, "NO_COLOR": "1", **environment},
    )
    assert done.returncode == status, done.stderr
    if status == 2:
        assert "Traceback" not in done.stderr
    if status == 2 and not done.stderr.startswith("Usage:"):
        assert done.stderr.count("\n") == 1
    return done.stdout if status == 0 else done.stderr


def called(capsys, *arguments, status=0):
    """The same, but called in this process, which is quicker."""
    ended = 0
    with mock.patch.object(sys, "argv", ["kernelight", *map(str, arguments)]):
        try:
            main()
        except SystemExit as end:
            ended = end.code
    said = capsys.readouterr()
    assert ended == status, said.err
    if status == 0:
        return said.out
    assert (said.out, said.err.count("\n")) == ("", 1)
    return said.err
