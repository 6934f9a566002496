"""What the command says of errors and warnings: one sentence each, with advice as options of the
command."""

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
        where = (
            f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
        )
        return _on_one_line(f"{where}{error.strerror}.")
    if isinstance(error, MemoryError):
        return "There is not enough memory for this: use fewer components or rows, or --memory."
    return _in_options(_on_one_line(str(error))) or type(error).__name__


def _on_one_line(text: str) -> str:
    """Without line ends, and without what a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


#: What options are called whose parameters of the library have another name.
OPTIONS = {
    "n_components": "components",
    "n_rows": "rows",
    "n_pairs": "pairs",
    "random_state": "seed",
    "n_jobs": "jobs",
    "charset": "encoding",
    "coverage": "interval",
    "max_categories": "max-categories",
}
_SAME = (
    "C|above|bits|bound|budget|confidence|decimal|delimiter|epsilon|error|format|gamma|kernel|loss|memory|method|missing|p|"
    "passes|scale|scoring|seed|task|top"
)
_VALUES = r"\[[^\]]*\]|'[^']*'|\"[^\"]*\""


def _in_options(text: str) -> str:
    """Advice of the library as options of the command: ``ignore=['id']`` is ``--ignore id``."""
    names = "ignore|categorical|task|loss|scoring|method|format|header|ids|target|memory|missing|decimal|charset|kernel"
    text = re.sub(rf"\b({names})=({_VALUES})", _as_options, text)
    text = re.sub(r"\b(target|ids)=(-?\d+)\b", _with_number, text)
    text = re.sub(r"(?<!['\"\w])n_components(?!['\"\w])", option("n_components"), text)
    text = re.sub(r"^(coverage)=(\S+)|(?<=: )(gamma|p)=(\S+)(?= is ignored)", _with_number, text)
    text = re.sub(
        rf"^({'|'.join(OPTIONS)}|{_SAME}) must ", lambda name: f"{option(name[1])} must ", text
    )
    text = re.sub(
        rf"(?<= must be one of )(?:None, )?((?:{_VALUES})(?:, (?:{_VALUES}))*)", _as_words, text
    )
    for ours, said in (
        ("class_weight='balanced'", "--balanced"),
        ("strict=True", "--strict"),
        ("There is no kernel named", "--kernel: there is no kernel named"),
        ("max_categories", option("max_categories")),
    ):
        text = text.replace(ours, said)
    return text


def option(parameter: str) -> str:
    """The option of a parameter.

    >>> option("n_components"), option("scale")
    ('--components', '--scale')
    """
    return f"--{OPTIONS.get(parameter, parameter)}"


def _with_number(found: re.Match[str]) -> str:
    name, value = (part for part in found.groups() if part is not None)
    return f"{option(name)} {value}"


def _as_words(found: re.Match[str]) -> str:
    """``'a', 'b'`` as words; what is more than a word keeps its quotes."""
    words = _read(f"[{found[1]}]")
    return (
        found[0]
        if words is None
        else ", ".join(w if re.fullmatch(r"[\w+]+", w) else repr(w) for w in words)
    )


def _as_options(found: re.Match[str]) -> str:
    """``name=['a', 'b']`` as options."""
    value = _read(found[2])
    if value is None:
        return found[0]
    return " ".join(
        f"{option(found[1])} {shlex.quote(str(one))}"
        for one in ([value] if isinstance(value, str) else value)
    )


def _read(text: str) -> Any:
    """A word or a list of words; None if it is not written like Python."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
