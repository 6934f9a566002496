"""What is wrong with data, in one sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

SHOWN = 60  # characters of a value
LISTED = 8  # names in a list


class DataError(ValueError):
    """Data that cannot be read or used.

    Its text is one sentence with the file, the place and what was found there.

    Parameters
    ----------
    sentence : str
        What is wrong, where, and what was found there.

    See Also
    --------
    DataWarning : What was decided by default.

    Examples
    --------
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
    """What was decided about a data set by default: ``notes`` has a sentence for each decision.

    Parameters
    ----------
    label : str
        The name of the data.
    notes : list of str
        A sentence for each decision.

    See Also
    --------
    DataError : What cannot be read at all.

    Examples
    --------
    >>> from kernelight.data import DataWarning
    >>> print(DataWarning("x.csv", ["column 'name': left out"]))
    x.csv: column 'name': left out
    """

    def __init__(self, label: str, notes: Sequence[str]) -> None:
        self.label, self.notes = label, tuple(notes)
        said = [f"{label}: {note}" for note in notes]
        super().__init__(said[0] if len(said) == 1 else "\n".join(["notes on the data:", *said]))


def one_line(text: str) -> str:
    """A text of others as part of a sentence, without line ends and control characters."""
    return "".join(c if c.isprintable() else " " for c in " ".join(str(text).split()))


def shown(value: bytes | str) -> str:
    """A value of the data, quoted and cut to a readable length.

    Bytes that are not UTF-8 are shown as such.
    """
    if isinstance(value, bytes):
        try:
            text = value[: 4 * SHOWN].decode(
                "utf-8", errors="strict" if len(value) <= 4 * SHOWN else "ignore"
            )
        except UnicodeDecodeError:
            return f"{value[:SHOWN]!r}, which is not UTF-8,"
    else:
        text = value
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
    """Turn whatever a library says of a damaged file into one sentence."""
    try:
        yield
    except (DataError, ImportError):
        raise
    except Exception as error:
        reason = one_line(str(error))[:200].rstrip(". ") or type(error).__name__
        raise DataError(f"{label} cannot be read as {form}: {reason}.") from error
