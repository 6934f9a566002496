"""What is wrong with data, in one sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

SHOWN = 60  # characters of what was found
LISTED = 8  # names in a list


class DataError(ValueError):
    """Data that cannot be read or used; its text is one sentence with the file, the place and what
    was found there.

    >>> from kernelight.data import DataError, open_dataset
    >>> try:
    ...     open_dataset("digits", target="digits")
    ... except DataError as error:
    ...     print(error)
    digits: there is no column 'digits' for the target; did you mean 'digit'?
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(one_line(sentence))


class DataWarning(UserWarning):
    """What was decided about a data set without being asked: ``notes`` has a sentence for each
    decision.

    >>> from kernelight.data import DataWarning
    >>> print(DataWarning("x.csv", ["column 'name': left out"]))
    x.csv: column 'name': left out
    """

    def __init__(self, label: str, notes: Sequence[str]) -> None:
        self.label, self.notes = label, tuple(notes)
        said = [f"{label}: {note}" for note in notes]
        super().__init__(said[0] if len(said) == 1 else "\n".join(["decided by default:", *said]))


def one_line(text: str) -> str:
    """A text of others as part of a sentence: no line ends, and nothing that a terminal would
    obey."""
    return "".join(c if c.isprintable() else " " for c in " ".join(str(text).split()))


def shown(found: bytes | str) -> str:
    """What was found, quoted, cut to a readable length; bytes that are no UTF-8 are said to be
    so."""
    if isinstance(found, bytes):
        try:
            text = found[: 4 * SHOWN].decode(
                "utf-8", errors="strict" if len(found) <= 4 * SHOWN else "ignore"
            )
        except UnicodeDecodeError:
            return f"{found[:SHOWN]!r}, which is not UTF-8,"
    else:
        text = found
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 3] + "...")


def listed(names: Sequence[str]) -> str:
    """Names in a sentence; of many, the first."""
    some = ", ".join(map(shown, names[:LISTED]))
    return some if len(names) <= LISTED else f"{some} and {len(names) - LISTED} more"


def nearest(name: str, known: Iterable[str]) -> str:
    """ "; did you mean ...?" if a known name is near, else nothing."""
    choices = {other.lower(): other for other in known}
    close = difflib.get_close_matches(name.lower(), list(choices)[:10_000], n=1)
    return f"; did you mean {shown(choices[close[0]])}?" if close else ""


@contextmanager
def explained(label: str, form: str) -> Iterator[None]:
    """Of damaged files the libraries that read them say all kinds of things: each becomes one
    sentence."""
    try:
        yield
    except (DataError, ImportError):
        raise
    except Exception as error:
        reason = one_line(str(error))[:200].rstrip(". ") or type(error).__name__
        raise DataError(f"{label} cannot be read as {form}: {reason}.") from error
