"""What becomes of columns of text by default, from the first rows.

The first 20,000 rows of every column of words are read, unless the user has said what it is:

* Numbers with signs and separators, and dates, are those if nine values of ten can be read so in
  one format (`column_formats`).
* Text is plain numbers if nine values of ten are. In a text file more than half are enough: if more
  than one of ten turns out to be something else, that is an error, as the file does not say that
  the column is text; frames and Parquet do.
* Digits with leading zeros, all of one length, are words, as zip codes are, if they repeat. If they
  hardly do, they stay numbers: words would be left out.
* Dates in two formats that cannot be confused, such as ``2024-03-01`` and ``01.03.2024``, are read
  in both.
* Words are an id (or free text) if clearly more than half of the values occur only once
  (`occur_once`). Such a column is left out. Where the user has said how many words there may be, it
  is left out only if there are more.
* Numbers are an id by the same rule, but only whole ones, and if the column is called so (``id``,
  ``index``, ``Unnamed: 0``, ``customer_id``) or has no name (as the index that pandas writes).
* A column without any value is left out, unless there is nothing else.

With a decimal separator that the user has named, only formats with that one are tried, and digits
are numbers. With a decimal comma every column of numbers of a text file is read so: 1.234 is 1234.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.data.booleans import truth_of
from kernelight.data.column_formats import (
    FITS,
    date_format,
    leading_zero_example,
    number_formats,
    settled_formats,
    why_words,
)
from kernelight.data.errors import DataError, shown
from kernelight.data.exact_integers import as_doubles
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    Block,
    Categorical,
    Column,
    ColumnSelection,
    TableSource,
)
from kernelight.data.text_formats import BOOLEAN, PLAIN, WRITTEN, can_read

HEAD_ROWS = 20_000
# names of columns that count or name the rows
_ID = re.compile("id|index|unnamed: 0|rownames|.*[_ ]id", re.IGNORECASE)
FEW = 20  # rows: with fewer, values that are all different or all missing may be so by chance


@dataclass
class Survey:
    """What was decided about columns, with a note for each decision."""

    formats: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)  # column -> what was decided
    # columns of numbers with words among them; noted when they are read
    odd: dict[str, str] = field(default_factory=dict)
    strange: list[str] = field(default_factory=list)  # those words
    # columns of too many words; noted when they are read
    many: dict[str, str] = field(default_factory=dict)
    most_words: int = 0  # of those columns
    # columns of dates -> which formats, if several
    mixed: dict[str, str] = field(default_factory=dict)
    # columns of numbers with signs -> whether the values have percent signs; no entry if some have
    percents: dict[str, bool] = field(default_factory=dict)
    target_date: str | None = None  # an example, if the target is dates


@dataclass(frozen=True)
class SurveyOptions:
    """What the user has said.

    ``limit`` is how many words a column may have, and ``raised`` whether the user has set it.
    """

    target: str | None
    limit: int
    raised: bool
    decimal: str | None = None


def surveyed(source: TableSource, settled: Iterable[str], options: SurveyOptions) -> Survey:
    """Decide about the columns of text; those that are ``settled`` by the user are left alone."""
    survey = Survey()
    known = set(settled)
    everywhere = options.decimal == "," and source.text
    names = [
        c.name
        for c in source.columns or ()
        if (
            c.kind == CATEGORICAL
            or c.name in source.guessed | source.digits
            or (everywhere and c.kind == NUMBER)
        )
        and c.name not in known
    ]
    counts, rows = _counts(source, names)
    if source.has_options:  # estimators take the columns that they are given
        # nothing was read of a damaged file, which is no reason to call its columns empty
        empty = [name for name in names if rows and not counts[name] and name != options.target]
        _leave_out(survey, source, {*known, options.target}, empty, rows)
        for name in empty:
            if name not in survey.left_out and name in source.guessed:
                _as_plain(survey, source, name)  # as in a text file
    for name in names:
        if name not in survey.left_out and counts[name]:
            _decide(survey, source, name, counts[name], options)
    survey.formats, notes = settled_formats(survey.formats, survey.mixed, source, options.decimal)
    survey.notes = {**notes, **survey.notes}
    return survey


def _leave_out(
    survey: Survey, source: TableSource, settled: Set[str | None], empty: Sequence[str], rows: int
) -> None:
    """Leave out columns without any value, and whole numbers that are ids by their name.

    ``empty`` are columns of text without any value in the first rows, of which there are ``rows``.
    """
    # as where every row ends with a delimiter
    trailing = source.nameless & source.blank
    names = [
        column.name
        for column in source.columns or ()
        if column.kind in (NUMBER, DATE)
        and column.name not in {*source.guessed, *settled}
        and (column.name in trailing or (source.headed and _may_go(source, column)))
    ]
    notes: dict[str, str] = {}
    for name, (values, rows_read) in _first_values(source, names).items():
        present = values[~np.isnan(values)]
        if len(present):
            if rows_read >= FEW and _names_rows(source, name) and _are_ids(present):
                once = _occurring_once(present)
                notes[name] = f"{_how_many(once, len(present), 'numbers')}, as ids are; left out"
        elif name in trailing:
            notes[name] = (
                "it has no name and no value, as if each row ended with a delimiter; left out"
            )
        elif rows_read >= FEW:
            notes[name] = _no_value(rows_read)
    if rows >= FEW:
        notes |= {name: _no_value(rows) for name in empty}
    if {*notes} == {column.name for column in source.columns or ()} - settled:
        return  # nothing would be left
    survey.left_out += notes
    survey.notes |= notes


def _no_value(rows: int) -> str:
    return f"no value in {'the first ' * (rows >= HEAD_ROWS)}{counted(rows, 'row')}; left out"


def _may_go(source: TableSource, column: Column) -> bool:
    return column.name in source.blank or (
        column.kind == NUMBER and _names_rows(source, column.name)
    )


def _names_rows(source: TableSource, name: str) -> bool:
    """Whether a column may be ids or an index by its name, or because it has none."""
    return name in source.nameless or _ID.fullmatch(name) is not None


def _are_ids(values: NDArray[np.float64]) -> bool:
    whole = bool((np.isfinite(values) & (np.floor(values) == values)).all())
    return whole and occur_once(_occurring_once(values), len(values))


def _occurring_once(values: NDArray[np.float64]) -> int:
    return int((np.unique(values, return_counts=True)[1] == 1).sum())


def occur_once(once: int, total: int) -> bool:
    """Whether so many of the values occur only once that a new row probably has an unknown one.

    The fraction of values that occur once estimates the probability of that (Good and Turing). It
    must be above one half by four standard errors of a fraction, 2 / sqrt(total), because in few
    rows even common words occur once. So no single row decides, and a fold of the rows is judged
    like the whole, unless the fraction is near the border.

    >>> from kernelight.data.survey import occur_once
    >>> occur_once(20, 20), occur_once(18, 20), occur_once(70, 100), occur_once(71, 100)
    (True, False, False, True)
    >>> occur_once(5300, 10_000)
    True
    """
    return total >= FEW and once > total / 2 + 2 * math.sqrt(total)


def _how_many(once: int, total: int, what: str) -> str:
    return (
        f"all {total:,} {what} are different"
        if once == total
        else f"{once:,} of {total:,} {what} occur once"
    )


def _head(source: TableSource, selection: ColumnSelection) -> Iterator[tuple[Block, int]]:
    """The first blocks, and how many of the rows of each are among the first `HEAD_ROWS`.

    Damage ends them: it is reported when the rows are read.
    """
    rows = 0
    try:
        for block in source.blocks(selection):
            yield block, min(block.n_rows, HEAD_ROWS - rows)
            rows += block.n_rows
            if rows >= HEAD_ROWS:
                break
    except DataError:
        return


def _first_values(
    source: TableSource, names: Sequence[str]
) -> dict[str, tuple[NDArray[np.float64], int]]:
    """The first numbers of some columns, NaN where one is missing, and how many rows there are.

    Of dates it matters only whether they are there: they are 0.
    """
    kinds = {column.name: column.kind for column in source.columns or ()}
    selection = ColumnSelection(
        numbers=tuple(name for name in names if kinds[name] == NUMBER),
        dates=tuple(name for name in names if kinds[name] == DATE),
    )
    if not names:
        return {}
    parts = []
    for block, rows in _head(source, selection):
        numbers = np.asarray(block.numbers[:rows], dtype=np.float64)
        if block.dates is not None:
            dates = np.where(np.isnat(block.dates[:rows]), np.nan, 0.0)
            numbers = np.concatenate([numbers, dates], axis=1)
        parts.append(numbers)
    values = np.concatenate(parts) if parts else np.zeros((0, len(names)))
    order = (*selection.numbers, *selection.dates)
    columns = {name: (values[:, at], len(values)) for at, name in enumerate(order)}
    return {name: columns[name] for name in names}


def _counts(source: TableSource, names: Sequence[str]) -> tuple[dict[str, Counter[str]], int]:
    """How often each word occurs in the first rows, and how many rows these are."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    total = 0
    for block, rows in _head(source, ColumnSelection(words=tuple(names))) if names else ():
        for name, words in zip(names, block.words, strict=True):
            codes = words.codes[:rows]
            numbers = np.bincount(codes[codes >= 0], minlength=len(words.values))
            for at in np.flatnonzero(numbers).tolist():
                counts[name][words.values[at]] += int(numbers[at])
        total += rows
    return counts, total


def missing_in_head(
    source: TableSource, target: str | None, kinds: Mapping[str, str]
) -> str | None:
    """In how many of the first rows the target is missing; None if it is there."""
    if target is None or source.columns is None:
        return None
    all_kinds = {column.name: column.kind for column in source.columns} | dict(kinds)
    kind = CATEGORICAL if all_kinds.get(target, source.target_kind) == CATEGORICAL else NUMBER
    total = gone = 0
    for block, rows in _head(source, ColumnSelection(target=target, target_kind=kind)):
        values = block.target
        assert values is not None
        if isinstance(values, Categorical):
            missing = values.codes < 0
        else:
            missing = np.isnan(as_doubles(values))
        total, gone = total + rows, gone + int(missing[:rows].sum())
    return (
        f"the target is missing in {gone:,} of the first {counted(total, 'row')}; they are left out"
        if gone
        else None
    )


def _decide(
    survey: Survey, source: TableSource, name: str, counts: Counter[str], options: SurveyOptions
) -> None:
    """Decide about one column, of which there is a value."""
    target, decimal = name == options.target, options.decimal
    total = sum(counts.values())
    once = sum(count == 1 for count in counts.values())
    plain = sum(count for value, count in counts.items() if PLAIN.fullmatch(value))
    if not target and decimal is None and 2 * plain > total and not occur_once(once, total):
        maybe_identifiers = name in source.guessed | source.digits
        example = leading_zero_example(counts) if maybe_identifiers else None
        if example is not None:
            _as_identifiers(survey, source, name, example)
            _count_words(survey, name, counts, options)
            return
    guessed = name in source.guessed
    if not guessed and name in source.digits and decimal != ",":
        return  # numbers, as the first rows said
    if guessed and not target and all(truth_of(value) is not None for value in counts):
        survey.formats[name] = BOOLEAN
        return
    readable = {
        form: sum(count for value, count in counts.items() if can_read(value, form))
        for form in number_formats(decimal)
    }
    number = max(readable, key=lambda form: readable[form])
    # With a decimal comma plain digits with a point are something else.
    every = decimal == "," and (source.text or guessed)
    if readable[number] >= FITS * total and (every or readable[number] > plain):
        survey.formats[name] = number
        percents = sum(count for value, count in counts.items() if "%" in value)
        if not percents or 2 * percents >= total:
            survey.percents[name] = percents > 0
        return
    dates = date_format(counts)
    if dates.number >= FITS * total and not dates.contrary:
        if target:
            survey.target_date = dates.examples[0]
        else:
            survey.formats[name] = dates.format
            survey.mixed[name] = dates.said
        return
    if every and 2 * plain > total:
        example = next(
            value for value in counts if PLAIN.fullmatch(value) and not can_read(value, number)
        )
        _as_plain(survey, source, name)
        survey.notes[name] = (
            f"numbers such as {shown(example)} have no decimal comma; read with a decimal point"
        )
        return
    if guessed:
        survey.kinds[name] = CATEGORICAL
        if plain >= FITS * total or (source.text and 2 * plain > total):
            _as_plain(survey, source, name)
            if plain < total:
                _note_odd(survey, name, counts, total - plain)
            return
    reason = why_words(counts, dates, (number, readable[number]), total)
    ids = occur_once(once, total) and not (options.raised and len(counts) <= options.limit)
    if not target and ids:
        survey.left_out.append(name)
        survey.notes[name] = (
            f"{reason}{_how_many(once, total, 'words')}, as ids or free text are; left out"
        )
        return
    if reason:
        survey.notes[name] = f"{reason}taken as words"
    if not target:
        _count_words(survey, name, counts, options)


def _as_identifiers(survey: Survey, source: TableSource, name: str, example: str) -> None:
    """Have a column of digits, such as zip codes, read as words."""
    survey.kinds[name] = CATEGORICAL
    hint = "; decimal='.' reads them as numbers" if source.has_options else ""
    survey.notes[name] = (
        f"digits with leading zeros such as {shown(example)} are taken as words, as codes are{hint}"
    )


def _as_plain(survey: Survey, source: TableSource, name: str) -> None:
    """Have a column of text read as plain numbers, which a delimited file can do itself."""
    survey.kinds[name] = NUMBER
    if not source.text:
        survey.formats[name] = WRITTEN


def _note_odd(survey: Survey, name: str, counts: Counter[str], number: int) -> None:
    """Keep what is to be said of words among plain numbers."""
    words = [value for value in counts if not PLAIN.fullmatch(value)]
    are = "is not a number" if number == 1 else "are not numbers"
    survey.odd[name] = (
        f"of the first {counted(sum(counts.values()), 'value')} {number:,} {are}, "
        f"such as {shown(words[0])}; taken as missing"
    )
    survey.strange += [word for word in words if word not in survey.strange]


def _count_words(survey: Survey, name: str, counts: Counter[str], options: SurveyOptions) -> None:
    """Keep what is to be said of a column with too many words."""
    if len(counts) > options.limit:
        survey.many[name] = f"{len(counts):,} words, of which not all have a column of their own"
        survey.most_words = max(survey.most_words, len(counts))
