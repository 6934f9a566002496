"""kernelight of an older commit as a peer: built beside this one, run in processes of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: How programs for `in_new_process` begin whose last argument is what `older` gives, or "" for the
#: kernelight of this checkout.
BEGIN = """
import sys
older = sys.argv[-1]
if older:  # the one here may be installed in editable form, which is found before any path
    sys.meta_path[:] = [each for each in sys.meta_path if "editable" not in type(each).__module__]
    sys.path.insert(0, older)
import kernelight
assert kernelight.__file__.startswith(older), kernelight.__file__
"""


class PeerMissingError(Exception):
    """A peer that is not here; says what to do."""


def in_new_process(program: str, *arguments: object) -> tuple[float, float]:
    """The last two numbers that a program prints."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second = done.stdout.split()[-2:]
    return float(first), float(second)


def older(commit: str, folder: Path) -> str:
    """Where kernelight of a commit is installed; it is built there once."""
    target = folder / f"kernelight-{commit}"
    if not (target / "kernelight").is_dir():
        source = folder / f"source-{commit}"
        source.mkdir(exist_ok=True)
        here = Path(__file__).resolve().parent.parent
        archive = subprocess.run(["git", "-C", here, "archive", commit], capture_output=True)
        if archive.returncode:
            raise PeerMissingError(f"commit {commit} is left out: its history is not here")
        subprocess.run(["tar", "-x", "-C", source], input=archive.stdout, check=True)
        options = [
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--target",
            str(target),
            str(source),
        ]
        pip = [sys.executable, "-m", "pip", "install", *options]
        done = subprocess.run(pip, capture_output=True)
        if done.returncode:
            raise PeerMissingError(f"commit {commit} is left out: it could not be built")
    return str(target)
