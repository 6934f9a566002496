"""What is decided about data by default: told as notes, or refused (strict)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelight.data.encoding import Encoding
from kernelight.data.errors import DataError, DataWarning, listed, shown
from kernelight.data.survey import Survey
from kernelight.data.table_source import NUMBER
from kernelight.data.text_formats import NUMERIC, decimal_of

# different whole numbers that are classes without doubt: any, and those that count from 0 or 1
MOST_CERTAIN, MOST_COUNTED = 5, 10
MOST_LISTED = 8  # words that an option is written out for


def may_be_quantities(labels: Sequence[Any]) -> bool:
    """Whether the different whole numbers of a target, ascending, may be meant as quantities.

    >>> may_be_quantities(range(10)), may_be_quantities(range(3, 9)), may_be_quantities(range(11))
    (False, True, True)
    """
    counted = labels[0] in (0, 1) and labels[-1] - labels[0] == len(labels) - 1 if labels else True
    return len(labels) > (MOST_COUNTED if counted else MOST_CERTAIN)


@dataclass
class Decisions:
    """Notes on the columns of a data set, and which of them were told already."""

    label: str
    notes: list[str]
    _columns: list[str] = field(default_factory=list)
    _told: set[str] = field(default_factory=set)

    def decide(self, column: str, what: str, called: str | None = None) -> None:
        """Note what becomes of a column, which the file may call otherwise."""
        self._columns.append(column)
        self.notes.append(f"column {shown(called or column)}: {what}")

    def look_at(self, encoding: Encoding, task: str | None) -> None:
        """Note words and classes that look like one, and numbers that may be quantities.

        ``task`` is what the user asked for.
        """
        target = encoding.target
        labels = () if target is None else target.labels or ()
        if (
            target is not None
            and task is None
            and target.kind == NUMBER
            and may_be_quantities(labels)
        ):
            self.notes.append(
                f"the target {shown(target.name)} has {len(labels)} different whole numbers, which "
                f"are taken as classes; task='regression' takes them as quantities"
            )
        for alike in spelt_alike(labels):
            self.notes.append(
                f"classes {listed(alike)} differ in spelling only; each is a class of its own"
            )
        for column in encoding.columns or ():
            groups = spelt_alike(column.categories)
            if groups:
                more = ", as do others" * (len(groups) > 1)
                self.notes.append(
                    f"column {shown(column.name)}: words {listed(groups[0])} differ in spelling "
                    f"only{more}; each is a word of its own"
                )

    def rename(self, renamed: Iterable[tuple[str, str]]) -> None:
        """Note columns whose names occur twice."""
        for old, new in renamed:
            self.decide(new, f"another column has this name; it is called {shown(new)} here", old)

    def refuse(
        self, survey: Survey | None = None, target: str | None = None, missing: str | None = None
    ) -> None:
        """Raise an error that lists all decisions and the options that settle them, if any.

        It also lists what a ``survey`` of the first rows has shown, which is noted when the rows
        are read: columns of numbers with words among them, columns of too many words, and how many
        targets are ``missing``. Where one of these is alone, the reading raises the error, with its
        line.
        """
        later = {} if survey is None else {**survey.odd, **survey.many}
        columns = [*self._columns, *later]
        if not self._columns and len(later) < 2:
            return
        said = [*self.notes, *(f"column {shown(name)}: {what}" for name, what in later.items())]
        if missing is not None:
            said.append(f"column {shown(str(target))}: {missing}")
        many = "columns need a decision" if len(columns) > 1 else "column needs a decision"
        raise DataError(
            f"{self.label}: {len(columns)} {many}: {'; '.join(said)}. That is what is done without "
            f"strict=True; {', '.join(_settling(survey, columns, target))}."
        )

    def tell(self, more: Sequence[str], rows_left_out: int) -> None:
        """Warn of everything that has not been told yet, once the rows are read."""
        notes = [*self.notes, *more]
        if rows_left_out:
            one = rows_left_out == 1
            rows = (
                "1 row has no target and is"
                if one
                else f"{rows_left_out:,} rows have no target and are"
            )
            notes.append(f"{rows} left out")
        fresh = [note for note in notes if note not in self._told]
        self._told.update(fresh)
        if fresh:
            warnings.warn(DataWarning(self.label, fresh), stacklevel=callers_level())


def _settling(survey: Survey | None, columns: Iterable[str], target: str | None) -> list[str]:
    """The options that settle what needs a decision, and what each of them does."""
    others = [name for name in columns if name != target]
    options = [f"ignore={others!r} leaves out"] if others else []
    if survey is not None:
        separators = {decimal_of(form) for form in survey.formats.values() if form in NUMERIC}
        options += [
            f"decimal={mark!r} reads numbers that are written so" for mark in sorted(separators)
        ]
        if survey.odd and len(survey.strange) <= MOST_LISTED:
            options.append(f"missing={survey.strange!r} takes as missing")
        if survey.many:
            options.append(f"max_categories={survey.most_words} gives each word a column")
    return [*options, "categorical=['NAME'] reads as words"]


def callers_level() -> int:
    """The ``stacklevel`` of the first line outside kernelight and scikit-learn.

    It is for a warning of the function that calls this one. scikit-learn's frames are passed over
    because fits go through its decorators and pipelines. If there is no other line, the outermost
    is taken.
    """
    level, frame = 1, inspect.currentframe()
    frame = frame and frame.f_back
    while frame is not None and frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in ("kernelight", "sklearn"):
            break
        level, frame = level + 1, frame.f_back
    return level


def spelt_alike(labels: Iterable[Any]) -> list[list[str]]:
    """Labels that are the same but for capitals and blanks, in groups.

    >>> from kernelight.data.decisions import spelt_alike
    >>> spelt_alike(["No", "YES", "Yes", "maybe", "no"]), spelt_alike(["a", "b"])
    ([['No', 'no'], ['YES', 'Yes']], [])
    """
    spelt: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            spelt.setdefault(" ".join(label.casefold().split()), []).append(label)
    return [alike for alike in spelt.values() if len(alike) > 1]
