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
* Whole numbers that count the rows, from 0 or 1, each once and in order, are left out under any
  name: they say where a row stood in the file. With a name of time (``day``, ``t``) they are kept.
* A column without any value is left out, unless there is nothing else.

With a decimal separator that the user has named, only formats with that one are tried, and digits
are numbers. With a decimal comma, named or found (`column_formats`), every column of numbers of a
text file is read so: 1.234 is 1234.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from kernelight.base import counted
from kernelight.data.booleans import truth_of
from kernelight.data.column_formats import (
    FITS,
    date_format,
    leading_zero_example,
    may_be_labels,
    merged_counts,
    number_formats,
    numbers_among,
    settled_formats,
    special_format,
    those_read,
    why_words,
)
from kernelight.data.errors import listed, shown
from kernelight.data.extra_lines import is_summary
from kernelight.data.first_rows import HEAD_ROWS, first_values, word_counts
from kernelight.data.row_names import (
    FEW,
    how_many,
    is_time,
    may_name_rows,
    occur_once,
    said_of_counter,
    said_of_ids,
)
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    Column,
    ColumnSelection,
    TableSource,
)
from kernelight.data.text_formats import BOOLEAN, PLAIN, WRITTEN, can_read
from kernelight.data.units import (
    ColumnUnits,
    Signs,
    currencies_in,
    said_of_currencies,
    unit_of_column,
)

MOST_NAMED = 8  # words that an option is written out for
MOST_SUMMARIES = 0.05  # of the values of a column may say that they sum up other rows


@dataclass
class Survey:
    """What was decided about columns, with a note for each decision."""

    formats: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)  # those of them that count the rows
    notes: dict[str, str] = field(default_factory=dict)  # column -> what was decided
    # columns of numbers with words among them; noted when they are read
    odd: dict[str, str] = field(default_factory=dict)
    strange: list[str] = field(default_factory=list)  # those words
    # columns of too many words; noted when they are read
    many: dict[str, str] = field(default_factory=dict)
    most_words: int = 0  # of those columns
    target_date: str | None = None  # an example, if the target is dates
    target_texts: str | None = None  # how many occur once, if the target is ids or free text
    # columns of dates -> which formats, if several
    mixed: dict[str, str] = field(default_factory=dict)
    # columns of numbers -> what stands beside them
    signs: dict[str, Signs] = field(default_factory=dict)
    # columns of numbers -> what is said of their several currencies
    currencies: dict[str, str] = field(default_factory=dict)

    @property
    def units(self) -> dict[str, str]:
        """The units of columns of numbers that have one."""
        return {name: signs.unit for name, signs in self.signs.items() if signs.unit is not None}


@dataclass(frozen=True)
class SurveyOptions:
    """What the user has said.

    ``limit`` is how many words a column may have, and ``raised`` whether the user has set it.
    """

    target: str | None
    limit: int
    raised: bool
    decimal: str | None = None
    strict: bool = False  # whether damage is an error at once
    guessed_target: bool = False  # whether the target is a guess
    quantity: bool = False  # whether the target is to be one


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
    every, rows = word_counts(source, names)
    if options.strict and names and not rows:
        # damage, perhaps of words that are not UTF-8, without which no column can be judged
        words = tuple(c.name for c in source.columns or () if c.kind == CATEGORICAL)
        for _ in source.blocks(ColumnSelection(words=tuple(n for n in names if n in words))):
            break
    unclear = source.cells.among_numbers
    counts = {
        name: Counter({word: n for word, n in words.items() if word not in unclear})
        for name, words in every.items()
    }
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
            _note_summaries(survey, name, counts[name])
            as_words = name not in {*survey.formats, *survey.left_out}
            if as_words and survey.kinds.get(name, CATEGORICAL) == CATEGORICAL:
                _note_unclear(survey, source, name, [*(every[name] - counts[name])])
    if options.guessed_target:
        _note_target_ids(survey, source, options.target)
    _keep_something(survey, source, {*known, options.target})
    plain = [
        c.name
        for c in source.columns or ()
        if c.name not in {*known, *survey.left_out}
        and (
            survey.kinds.get(c.name, c.kind) == NUMBER and c.name not in survey.formats
            if source.text
            else survey.formats.get(c.name) == WRITTEN
        )
    ]
    survey.formats, notes = settled_formats(
        survey.formats, survey.mixed, source, options.decimal, plain, survey.units
    )
    survey.notes = {**notes, **survey.notes}
    for name, said in survey.currencies.items():
        _add_note(survey, name, said)
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
    kept: dict[str, str] = {}
    for name, (values, rows_read) in first_values(source, names).items():
        present = values[~np.isnan(values)]
        if len(present):
            ids = said_of_ids(source, name, values)
            counter = None if ids is not None else said_of_counter(source, name, values)
            if counter is not None and is_time(name):
                kept[name] = f"{counter}, and is kept because its name is one of time"
            elif counter is not None:
                survey.counters.append(name)
            if ids is not None or (counter is not None and name not in kept):
                notes[name] = f"{ids or counter}; left out"
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
    survey.notes |= {**notes, **kept}


def _note_target_ids(survey: Survey, source: TableSource, target: str | None) -> None:
    """Note a target of whole numbers that name or count the rows."""
    kinds = {column.name: column.kind for column in source.columns or ()}
    if target is None or kinds.get(target) != NUMBER or not source.headed:
        return
    if target in source.guessed or not (may_name_rows(source, target) or target in source.counting):
        return
    values, _ = first_values(source, [target])[target]
    said = said_of_ids(source, target, values) or said_of_counter(source, target, values)
    if said is not None and not is_time(target):
        _add_note(survey, target, f"{said}; nothing can be learned from such a target")


def _keep_something(survey: Survey, source: TableSource, settled: Set[str | None]) -> None:
    """Keep columns that count the rows if nothing else is left to learn from."""
    features = {column.name for column in source.columns or ()} - settled
    if features and features <= {*survey.left_out}:
        survey.left_out = [name for name in survey.left_out if name not in survey.counters]
        survey.notes = {n: note for n, note in survey.notes.items() if n not in survey.counters}


def _no_value(rows: int) -> str:
    return f"no value in {'the first ' * (rows >= HEAD_ROWS)}{counted(rows, 'row')}; left out"


def _may_go(source: TableSource, column: Column) -> bool:
    return column.name in source.blank | source.counting or (
        column.kind == NUMBER and may_name_rows(source, column.name)
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
    special = special_format(counts) if guessed and decimal != "," else None
    if special is not None:
        survey.formats[name] = special
        _look_at_signs(survey, name, counts, None)
        return
    units = unit_of_column(counts, number_formats(decimal), FITS) if guessed else ColumnUnits()
    unit = units.unit
    if unit is not None and target and not options.quantity and may_be_labels(counts, unit):
        unit = None
    counts = merged_counts(counts, unit)
    read = {form: those_read(counts, form) for form in number_formats(decimal)}
    readable = {form: numbers.total() for form, numbers in read.items()}
    number = max(readable, key=lambda form: readable[form])
    # With a decimal comma plain digits with a point are something else.
    every = decimal == "," and (source.text or guessed)
    marked = every or unit is not None or readable[number] > plain
    if readable[number] >= FITS * total and marked:
        survey.formats[name] = number
        _look_at_signs(survey, name, read[number], unit)
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
    numbers = numbers_among(counts, number)
    reason = units.reason or why_words(counts, dates, numbers, total)
    hint = _missing_hint(source, numbers, [v for v in counts if v not in numbers], reason)
    ids = occur_once(once, total) and not (options.raised and len(counts) <= options.limit)
    if target and occur_once(once, total):
        survey.target_texts = f"{reason}{how_many(once, total, 'words')}"
        return
    if not target and ids:
        survey.left_out.append(name)
        survey.notes[name] = (
            f"{reason}{how_many(once, total, 'words')}, as ids or free text are; left out{hint}"
        )
        return
    if reason:
        survey.notes[name] = f"{reason}taken as words{hint}"
    if not target:
        _count_words(survey, name, counts, options)


def _missing_hint(
    source: TableSource, numbers: Counter[str], words: Sequence[str], reason: str
) -> str:
    """What reads a column of numbers and a few words as numbers."""
    few = 0 < len(words) <= MOST_NAMED and 2 * len(words) <= len(numbers)
    if not (reason and few and source.has_options):
        return ""
    return f"; missing={[*words]!r} takes {'them' if len(words) > 1 else 'it'} as missing"


def _look_at_signs(survey: Survey, name: str, numbers: Counter[str], unit: str | None) -> None:
    """Keep what stands beside the numbers of a column; several currencies are noted."""
    signed = sum(count for value, count in numbers.items() if "%" in value)
    percent = signed > 0 if not signed or 2 * signed >= sum(numbers.values()) else None
    found = currencies_in(numbers)
    survey.signs[name] = Signs(percent, unit, next(iter(found)) if len(found) == 1 else None)
    if said := said_of_currencies(found):
        survey.currencies[name] = said


def _note_summaries(survey: Survey, name: str, counts: Counter[str]) -> None:
    """Note rows that may be sums of others, or the names of the columns once more."""
    word = next((word for word in counts if is_summary(word)), None)
    # more of them are a word like the others, as average is between good and bad
    most = max(1, MOST_SUMMARIES * sum(counts.values()))
    if word is not None and counts[word] <= most:
        _add_note(
            survey,
            name,
            f"{_rows(counts[word])} {shown(word)}, as sums of other rows have; kept, so leave such "
            f"rows out if they are sums",
        )
    if name in counts:
        _add_note(
            survey,
            name,
            f"{_rows(counts[name])} {shown(name)}, the name of the column; kept, so leave such "
            f"rows out if they repeat the names of the columns",
        )


def _rows(number: int) -> str:
    return f"{counted(number, 'row')} {'has' if number == 1 else 'have'}"


def _add_note(survey: Survey, name: str, note: str) -> None:
    before = survey.notes.get(name)
    survey.notes[name] = note if before is None else f"{before}; {note}"


def _note_unclear(survey: Survey, source: TableSource, name: str, unclear: Sequence[str]) -> None:
    """Note words such as - and none, which are one word among others or a missing value."""
    if not unclear:
        return
    many = len(unclear) > 1
    what = "words" if many else "a word"
    hint = f"; missing={[*unclear]!r} takes {'them' if many else 'it'} as missing"
    note = (
        f"{listed(unclear)} may stand for a missing value and {'are' if many else 'is'} taken as "
        f"{what}{hint if source.has_options else ''}"
    )
    _add_note(survey, name, note)


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
