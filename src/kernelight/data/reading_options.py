"""`ReadingOptions`: what the user has said about reading a table; which column is the target."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernelight.base import counted
from kernelight.data.encoding import MAX_CATEGORIES
from kernelight.data.errors import DataError, listed, nearest, shown
from kernelight.data.table_source import TableSource

TARGET_NAMES = ("target", "label", "class", "y")
AUTO = "auto"


@dataclass(frozen=True)
class ReadingOptions:
    """What `open_dataset` was asked for, as far as it is the same for every format."""

    target: str | int | None = AUTO
    ids: str | None = None
    ignore: tuple[str, ...] = ()
    task: str | None = None
    max_categories: int = MAX_CATEGORIES
    n_features: int | None = None
    dtype: str = "float64"
    missing: tuple[str, ...] | None = None
    zero_based: bool = False
    categorical: tuple[str, ...] = ()
    strict: bool = False
    decimal: str | None = None
    charset: str | None = None


def target_column(
    asked: str | int | None, source: TableSource, opened: TableSource, names: Sequence[str]
) -> str | None:
    """The column of the target: named, counted, or (auto) called so, or the last.

    ``opened`` is the source before formats were found for its columns: it knows which have no names
    and no values.
    """
    known = source.target
    if asked is None:
        return None
    if known is not None:
        if asked in (AUTO, known):
            return known
        raise DataError(
            f"{source.label}: there is no column {shown(str(asked))} for the "
            f"target{nearest(str(asked), [known]) or '.'}"
        )
    if isinstance(asked, str) and asked not in names and re.fullmatch(r"-?[0-9]{1,9}", asked):
        asked = int(asked)  # the command has only text
    if isinstance(asked, int):
        if not -len(names) <= asked < len(names):
            raise DataError(
                f"{source.label} has {counted(len(names), 'column')}: target={asked} is none of "
                f"them."
            )
        return names[asked]
    if asked in names:
        return asked
    if asked != AUTO:
        hint = nearest(asked, names) or f"; there are {listed(names)}{opened.title_hint}."
        raise DataError(f"{source.label}: there is no column {shown(asked)} for the target{hint}")
    if not source.guesses:
        return None
    nameless = opened.nameless
    called = next((name for name in names if name.lower() in TARGET_NAMES), None)
    empty = nameless & opened.blank if nameless else nameless
    last = [name for name in names if name not in empty][-1:] or names[-1:]
    if called is None and last[0] in nameless:
        hint = next((name for name in reversed(names) if name not in nameless), "NAME")
        raise DataError(
            f"{source.label}: the last column has no name, so that it is not taken for the target: "
            f"target={shown(hint)} or target={shown(str(names.index(last[0])))} (its place) says "
            f"which is to be predicted."
        )
    return called or last[0]


def guess_note(asked: str | int | None, source: TableSource, target: str | None) -> str | None:
    """How the target was chosen, if it is a guess; else None."""
    if target is None or asked != AUTO or source.target is not None:
        return None
    how = "of its name" if target.lower() in TARGET_NAMES else "it is the last"
    return (
        f"column {shown(target)} is taken as the target because {how}; target='NAME' names another"
    )


def text_target(label: str, name: str, said: str) -> DataError:
    """The error of a target of ids or free text; ``said`` is how many of its words occur once."""
    return DataError(
        f"{label}: the target {shown(name)} cannot be learned, because {said}, as ids or free text "
        f"are: name another target (target='NAME'); categorical=[{shown(name)}] takes each word as "
        f"a class."
    )


def date_target(label: str, name: str, example: str = "") -> DataError:
    """The error of a target of dates."""
    return DataError(
        f"{label}: the target {shown(name)} is dates{example}, which are neither classes nor "
        f"quantities: name another target, or store a number (such as days since a day); "
        f"categorical=[{shown(name)}] takes each date as a class."
    )
