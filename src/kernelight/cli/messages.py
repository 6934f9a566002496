"""What the command says of errors and warnings: one sentence each, with advice as options of the command."""

from __future__ import annotations

import ast
import os
import re
import shlex
import sys
from typing import Any

import typer

INTERRUPTED = 1


def verdict(error: Exception) -> tuple[str, int]:
    """What to say of an error, and the status that goes with it."""
    if hasattr(error, "format_message"):  # wrong usage, as typer says it
        return _usage(error), 2
    if isinstance(error, (ValueError, TypeError, OSError, ImportError, MemoryError)):
        return sentence(error), 2
    if isinstance(error, typer.Abort):
        return "Interrupted.", INTERRUPTED
    said = f"{type(error).__name__}: {_on_one_line(str(error))}"
    return f"This is a mistake of kernelight itself ({said}): please report what --debug shows.", 3


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "kernelight"
    said = _on_one_line(error.format_message())
    return said if said.endswith("?") else f"{said.rstrip('.')}; {path} -h says what there is."


def note(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning as a sentence, without the line of code that nobody asked for."""
    notes = getattr(message, "notes", None)  # of a DataWarning: a line for each
    said = [f"{message.label}: {note}" for note in notes] if notes else [str(message)]  # type: ignore[union-attr]
    if sys.stderr is not None:
        for line in said:
            print(f"kernelight: note: {_in_options(_on_one_line(line))}", file=sys.stderr)


def sentence(error: BaseException) -> str:
    """What an error says, on one line."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
        return _on_one_line(f"{where}{error.strerror}.")
    if isinstance(error, MemoryError):
        return "There is not enough memory for this: use fewer components or rows, or --memory."
    return _in_options(_on_one_line(str(error))) or type(error).__name__


def _on_one_line(text: str) -> str:
    """Without line ends, and without what a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


def _in_options(text: str) -> str:
    """Advice of the library as options of the command: ``ignore=['id']`` is ``--ignore id``."""
    names = (
        "ignore|categorical|task|loss|scoring|method|format|header|ids|target|memory|missing|decimal|charset"
    )
    values = r"\[[^\]]*\]|'[^']*'|\"[^\"]*\""
    text = re.sub(rf"\b({names})=({values})", _as_options, text)
    for ours, option in (
        ("max_categories", "--max-categories"),
        ("class_weight='balanced'", "--balanced"),
        ("--charset", "--encoding"),
        ("strict=True", "--strict"),
    ):
        text = text.replace(ours, option)
    return text


def _as_options(found: re.Match[str]) -> str:
    """``name=['a', 'b']`` as options; what is not written like Python stays as it is."""
    try:
        value = ast.literal_eval(found[2])
    except (ValueError, SyntaxError):
        return found[0]
    return " ".join(
        f"--{found[1]} {shlex.quote(str(one))}" for one in ([value] if isinstance(value, str) else value)
    )
