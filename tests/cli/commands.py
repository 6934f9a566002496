"""The command as the tests of this folder call it."""

from __future__ import annotations

import os
import subprocess
import sys


def run(*arguments, status=0, stdin=None, **environment):
    """Standard output of the command, or standard error if it is to fail: one line for errors of input, and no traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "kernelight", *map(str, arguments)], capture_output=True, text=True, input=stdin,
        env={**os.environ, "NO_COLOR": "1", **environment},
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    if status == 2:
        assert "Traceback" not in done.stderr
    if status == 2 and not done.stderr.startswith("Usage:"):
        assert done.stderr.count("\n") == 1
    return done.stdout if status == 0 else done.stderr
