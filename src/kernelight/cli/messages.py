"""What the command says of errors and warnings: one sentence each.

Advice of the library names parameters of Python; here it names options: ``ignore=['id']`` becomes
``--ignore id``.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import sys
from typing import Any


def usage(error: Any) -> str:
    """An error of usage, as typer reports it, and where to look."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "kernelight"
    text = on_one_line(error.format_message())
    for kind, words in (("integer", "a whole number"), ("number", "a number")):
        text = re.sub(rf"Input should be a valid {kind}.*", f"it must be {words}", text)
    if type(error).__name__ == "NoSuchOption":
        near = ", ".join(sorted(error.possibilities or ()))
        text = f"No such option: {error.option_name}"  # versions of typer word it differently
        text += f" (Possible options: {near})" if near else ""
        several = [each for each in context.command.params if each.nargs == -1] if context else ()
        if several and not error.option_name.startswith("--"):
            return f"{text.rstrip('.')}; put -- before what begins with a dash and is no option."
    return text if text.endswith("?") else f"{text.rstrip('.')}; {command} -h says what there is."


class Notes:
    """Prints warnings as sentences, without the line of code; a replacement of showwarning.

    A sentence is printed once, however often a table is read.
    """

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, message: Warning | str, *_: Any, **__: Any) -> None:
        """Print what is new in a warning."""
        notes = getattr(message, "notes", None)  # of a DataWarning: a line for each
        lines = [f"{message.label}: {note}" for note in notes] if notes else [str(message)]  # type: ignore[union-attr]
        for line in lines:
            text = _in_options(on_one_line(line))
            if text not in self._said and sys.stderr is not None:
                print(f"kernelight: note: {text}", file=sys.stderr)
            self._said.add(text)


def sentence(error: BaseException) -> str:
    """What an error says, on one line."""
    if isinstance(error, OSError) and error.strerror:
        where = (
            f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
        )
        return on_one_line(f"{where}{error.strerror}.")
    if isinstance(error, MemoryError):
        return "There is not enough memory for this: use fewer components or rows, or --memory."
    return _in_options(on_one_line(str(error))) or type(error).__name__


def on_one_line(text: str) -> str:
    """A text without line ends and control characters."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


#: Options whose parameter in the library has another name.
OPTIONS = {
    "n_components": "components",
    "n_rows": "rows",
    "n_pairs": "pairs",
    "random_state": "seed",
    "n_jobs": "jobs",
    "charset": "encoding",
    "coverage": "interval",
    "max_categories": "max-categories",
    "kind": "shingles",
}
#: Parameters that a sentence may begin with, and whose option has the same name. Give a new one
#: a line in `test_wrong_options_are_refused_before_the_file_is_looked_at` (tests/cli): it fails if
#: the name is forgotten here.
_SAME_NAME_OPTIONS = (
    "C|above|bits|bound|budget|confidence|decimal|delimiter|epsilon|error|format|gamma|keep|kernel|"
    "linkage|loss|memory|method|missing|p|passes|recall|scale|scoring|seed|task|threshold|top|"
    "weights"
)
#: Parameters that advice may give a value for. Of those in advice on data, a forgotten one fails
#: `test_the_advice_of_the_command_works` (tests/newcomers).
_ADVISED_PARAMETERS = (
    "ignore|categorical|task|loss|scoring|method|format|header|ids|target|memory|missing|decimal|"
    "charset|kernel"
)
_VALUES = r"\[[^\]]*\]|'[^']*'|\"[^\"]*\""


def _in_options(text: str) -> str:
    """A sentence of the library with options of the command in place of parameters."""
    text = re.sub(rf"\b({_ADVISED_PARAMETERS})=({_VALUES})", _with_values, text)
    text = re.sub(r"\b(target|ids)=(-?\d+)\b", _with_number, text)
    text = re.sub(r"(?<!['\"\w])n_components(?!['\"\w])", option("n_components"), text)
    text = re.sub(r"^(coverage)=(\S+)|(?<=: )(gamma|p)=(\S+)(?= is ignored)", _with_number, text)
    text = re.sub(
        rf"^({'|'.join(OPTIONS)}|{_SAME_NAME_OPTIONS}) (?=must|is )",
        lambda name: f"{option(name[1])} ",
        text,
    )
    text = re.sub(
        rf"(?<= must be one of )(?:None, )?((?:{_VALUES})(?:, (?:{_VALUES}))*)", _unquoted, text
    )
    for python, command in (
        ("class_weight='balanced'", "--balanced"),
        ("strict=True", "--strict"),
        ("replace=True", "--replace"),
        ("open it with mode='a', or name", "add to it by kernelight index add, or name"),
        (": open it with mode='r' to read it.", ": it can be searched."),
        ("close the other, or open with mode='r' to read.", "wait until the other has ended."),
        ("Index.create makes an index.", "kernelight index create makes an index."),
        ("--missing ignore passes", "--ignore-missing passes"),
        ("zero_based=True", "--zero-based"),
        ("header=False", "--no-header"),
        ("There is no kernel named", "--kernel: there is no kernel named"),
        ("max_categories", option("max_categories")),
    ):
        text = text.replace(python, command)
    return text


def option(parameter: str) -> str:
    """The option of a parameter.

    >>> option("n_components"), option("scale")
    ('--components', '--scale')
    """
    return f"--{OPTIONS.get(parameter, parameter)}"


def _with_number(match: re.Match[str]) -> str:
    """``target=3`` as ``--target 3``."""
    name, value = (part for part in match.groups() if part is not None)
    return f"{option(name)} {value}"


def _unquoted(match: re.Match[str]) -> str:
    """``'a', 'b'`` as words; what is more than a word keeps its quotes."""
    words = _literal(f"[{match[1]}]")
    return (
        match[0]
        if words is None
        else ", ".join(w if re.fullmatch(r"[\w+]+", w) else repr(w) for w in words)
    )


def _with_values(match: re.Match[str]) -> str:
    """``name=['a', 'b']`` as ``--name a --name b``."""
    value = _literal(match[2])
    if value is None:
        return match[0]
    return " ".join(
        f"{option(match[1])} {shlex.quote(str(one))}"
        for one in ([value] if isinstance(value, str) else value)
    )


def _literal(text: str) -> Any:
    """A string or a list of Python; None if it is neither."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
