"""A source read as an encoding says: the formats of its text, and the words that are missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kernelight.data.booleans import answer_of, truth_of
from kernelight.data.column_formats import FITS, Separators, date_format, pointed_note
from kernelight.data.dialect import FIRST_MISSING, MISSING, MissingWords
from kernelight.data.encoded_columns import EncodedColumn, EncodedTarget
from kernelight.data.encoding import Encoding
from kernelight.data.errors import DataError, listed, shown
from kernelight.data.formatted import FormattedSource
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    Categorical,
    CellRule,
    ColumnSelection,
    TableSource,
)
from kernelight.data.text_formats import (
    BOOLEAN,
    COMMA,
    DAY_FIRST,
    MONTH_FIRST,
    PLAIN,
    POINT,
    SPECIAL,
    TIME,
    WRITTEN,
    YEAR_FIRST,
    can_read,
    converted,
    date_example,
    date_orders,
    decimal_format,
    narrowed,
    number_of,
)
from kernelight.data.units import currencies_in, without_unit


def missing_words(missing: Sequence[str] | None, encoding: Encoding | None) -> MissingWords:
    """What stands for a missing value: what the user has said, or the words of training.

    If it is neither, the usual words do. What a user names replaces them, unless it begins with the
    usual words, as the command has it: the rest is then added.
    """
    more: tuple[str, ...] = ()
    if missing is not None:
        if tuple(missing[: len(MISSING)]) != MISSING:
            return MissingWords(tuple(missing), ())
        more = tuple(missing[len(MISSING) :])
    if encoding is None:
        return MissingWords((*MISSING, *more))
    words = FIRST_MISSING if encoding.missing_words is None else encoding.missing_words
    return MissingWords((*words, *more), encoding.missing_numbers)


def cell_rule(missing: Sequence[str] | None, encoding: Encoding | None) -> CellRule:
    """How text of typed tables is read.

    ``missing`` are the words that stand for a missing value (None: the usual ones). Words that a
    model knows stay what they are.
    """
    known: dict[str, frozenset[str]] = {}
    if encoding is not None:
        known = {column.name: frozenset(column.categories) for column in encoding.columns or ()}
        if encoding.target is not None:
            known[encoding.target.name] = frozenset(map(str, encoding.target.labels or ()))
    anywhere, among_numbers = missing_words(missing, encoding)
    return CellRule(frozenset(anywhere), frozenset(among_numbers), known)


class Reading(NamedTuple):
    """A source as a model reads it, and a note for each column that is spelled otherwise here.

    ``doubts`` has notes on columns that are read as in training and could be meant otherwise.
    """

    source: TableSource
    notes: dict[str, str]
    doubts: dict[str, str]


def formatted_by(encoding: Encoding, source: TableSource, decimal: str | None = None) -> Reading:
    """A source whose columns of text are read in the formats of an encoding.

    A ``decimal`` separator goes before that of the encoding. Without one, a file that certainly has
    another decimal separator than the training file is read with its own, and so are dates.
    """
    kinds = {column.name: column.kind for column in source.columns or ()}
    known = {
        column.name: column
        for column in _known(encoding)
        if column.name in kinds and (source.text or kinds[column.name] not in (NUMBER, DATE))
    }
    formats = {name: column.format for name, column in known.items() if column.format is not None}
    units = encoding.units
    dates = {
        name: formats.get(name, YEAR_FIRST) for name, column in known.items() if column.kind == DATE
    }
    formats |= dates
    numbers = [name for name, column in known.items() if column.kind == NUMBER]
    notes: dict[str, str] = {}
    doubts: dict[str, str] = {}
    if decimal is not None:
        formats |= {
            name: decimal_format(decimal)
            for name in numbers
            if formats.get(name) not in SPECIAL
            and (name in formats or (source.text and decimal == ","))
        }
    else:
        here, notes, doubts = _separated(formats, numbers, source, units)
        formats |= here
    changed = _other_dates(dates, source)
    formats |= {name: form for name, (form, _) in changed.items()}
    notes |= {name: note for name, (_, note) in changed.items()}
    plain = [
        name
        for name in numbers
        if name not in formats and kinds[name] == CATEGORICAL and known[name].format is None
    ]
    if not source.text:  # a delimited file can read plain numbers itself
        formats.update(dict.fromkeys(plain, WRITTEN))
    mixed = [name for name in numbers if name in source.guessed and known[name].format is None]
    for name, (example, beside) in _booleans([*dict.fromkeys([*plain, *mixed])], source).items():
        formats[name] = BOOLEAN
        if beside or truth_of(example) is None:
            notes[name] = (
                f"words such as {shown(example)}{beside} are read as 1 and 0, as booleans are"
            )
        else:
            notes.pop(name, None)
    made = FormattedSource(source, formats, {}, units) if formats else source
    return Reading(made, notes, doubts)


def otherwise_spelled(label: str, notes: Mapping[str, str]) -> DataError:
    """The error of columns that are spelled otherwise than in training (strict)."""
    said = "; ".join(f"column {shown(name)}: {note}" for name, note in notes.items())
    return DataError(f"{label}: {said}. That is what is done without strict=True.")


def _known(encoding: Encoding) -> list[EncodedColumn | EncodedTarget]:
    """The columns of a model and its target."""
    return [*(encoding.columns or ()), *([encoding.target] if encoding.target is not None else [])]


def sign_notes(encoding: Encoding, source: TableSource) -> list[str]:
    """A sentence for each column with other signs than in training.

    That is percent signs in training and none here, or the reverse, and another currency. Nothing
    is converted: 12 may be 12 % without its sign.
    """
    had = {c.name: c.percent for c in _known(encoding) if c.percent is not None}
    coins = {c.name: c.currency for c in _known(encoding) if c.currency is not None}
    kinds = {c.name: c.kind for c in source.columns or () if c.name in had}
    texts = [name for name, kind in kinds.items() if source.text or kind == CATEGORICAL]
    words = {name: column.values for name, column in _first_words(texts, source)}
    notes = []
    for name in kinds:
        # numbers of a typed table have no signs
        values = words.get(name, ()) if name in texts else ("0",)
        others = [*(currencies_in(dict.fromkeys(values, 1)).keys() - {coins.get(name)})]
        if name in coins and others:
            notes.append(
                f"column {shown(name)}: values are in {listed(sorted(others))}, and in training "
                f"they were in {shown(coins[name])}; they are not converted"
            )
        signs = sum("%" in value for value in values)
        if had[name] and values and not signs:
            change = "in training values had a percent sign, and here none has"
        elif not had[name] and signs and 2 * signs >= len(values):
            change = "values have a percent sign, and in training none had"
        else:
            continue
        notes.append(f"column {shown(name)}: {change}; 12 % is read as 12 and 0.12 as 0.12")
    return notes


def written_as(value: float, name: str, form: str, source: TableSource) -> str | None:
    """The first word of a column that stands for a number in a format; None if there is none.

    Of dates the number is that of days since 1970.
    """
    for _, words in _first_words([name], source):
        read = converted([*words.values], form)
        if read.dtype.kind == "M":
            read = np.where(np.isnat(read), np.nan, read.astype("datetime64[D]").astype(np.int64))
        found = np.flatnonzero(read == value)
        if len(found):
            return str(words.values[int(found[0])])
    return None


def _separated(
    formats: Mapping[str, str],
    numbers: Sequence[str],
    source: TableSource,
    units: Mapping[str, str],
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """The formats of numbers that have another decimal separator here than in training, and notes.

    ``formats`` are those of training; ``numbers`` are the columns of numbers that are text here;
    ``units`` are those behind numbers in training.
    Where every value of a column fits both formats (5.123), it is read as in training, unless
    another column certainly has another separator than it had in training. Columns of plain numbers
    had no commas in training: where semicolons separate cells and no cell has a point, their commas
    are decimal commas. A third result has notes on columns that are read as in training although
    the other cells of the file suggest otherwise.
    """
    kinds = {column.name: column.kind for column in source.columns or ()}
    texts = [n for n in numbers if n in formats or kinds[n] == CATEGORICAL or n in source.guessed]
    words = {
        name: replace(column, values=tuple(without_unit(column.values, units.get(name))))
        for name, column in _first_words(texts, source)
    }
    # a model of a table with decimal commas has a format for every column of numbers
    trained = COMMA in formats.values()
    found = Separators.of([words.items()])
    if trained or COMMA in found.certain:
        rest = _first_words([name for name in numbers if name not in texts], source)
        words |= rest
        found = Separators.of([words.items()])
    cells = [value for column in words.values() for value in column.values]
    none = source.delimiter == "," and not any("," in value for value in cells)
    pointless = source.delimiter == ";" and not any("." in value for value in cells)
    turned = {
        found.left[name][0]
        for name, column in words.items()
        if len(found.left[name]) == 1
        and found.left[name][0] != (had := formats.get(name, POINT))
        and _reads(found.left[name][0], had, column)
    }
    here, notes, doubts = {}, {}, {}
    for name, column in words.items():
        had = formats.get(name, POINT)
        if had in SPECIAL:
            continue
        fitting = found.left[name]
        if len(fitting) == 1:
            form = fitting[0]
        elif found.certain == turned and len(turned) == 1:
            form = next(iter(turned))
        elif pointless and name not in formats and any("," in value for value in column.values):
            form = COMMA
        else:
            form = had
            either = (v for v in column.values if can_read(v, POINT) and can_read(v, COMMA))
            marked = next((v for v in either if ("." if had == COMMA else ",") in v), "")
            if marked and (none if had == COMMA else pointless):
                doubts[name] = _doubt(marked, had)
        percent = name not in formats and any("%" in value for value in column.values)
        if not _reads(form, had, column) or percent:
            continue
        odd = [v for v in column.values if not PLAIN.fullmatch(v)]
        example = next((v for v in column.values if ("," in v) or ("." in v)), "")
        if form != had:
            here[name] = form
            if example:
                notes[name] = (
                    f"numbers such as {shown(example)} are read as {number_of(example, form):.10g},"
                    f" with a {form} (in training with a {had})"
                )
        elif name not in formats and odd and can_read(odd[0], form):
            here[name] = form
            notes[name] = (
                f"numbers such as {shown(odd[0])} are read as {number_of(odd[0], form):.10g}"
            )
        elif name not in formats and trained and name in found.pointed:
            notes[name] = pointed_note(found.pointed[name], False, source.has_options)
    return here, notes, doubts


def _reads(form: str, had: str, column: Categorical) -> bool:
    """Whether a format reads nine of ten words of a column, and no fewer than that of training."""
    reads = {f: sum(can_read(v, f) for v in column.values) for f in (form, had)}
    return reads[form] >= max(FITS * len(column.values), reads[had])


def _doubt(example: str, form: str) -> str:
    """The note on numbers that could have the other decimal separator than in training."""
    other = number_of(example, POINT if form == COMMA else COMMA)
    return (
        f"numbers such as {shown(example)} are read as {number_of(example, form):.10g}, with a "
        f"{form} as in training, though they could be {other:.10g}"
    )


def _other_dates(formats: Mapping[str, str], source: TableSource) -> dict[str, tuple[str, str]]:
    """Columns of dates that are written otherwise than in training: the format, and a note.

    Only where it is certain: 03/04/2024 may be day first or month first. With dots it is hardly
    month first, so that a model with the month first must not read it so without a word.
    """
    changed = {}
    for name, words in _first_words(list(formats), source):
        counts = Counter(words.values)
        total = len(counts)
        read = sum(can_read(value, formats[name]) for value in counts)
        dotted = [v for v in counts if _is_dotted(v)] if MONTH_FIRST in formats[name] else []
        some = len(dotted) > (1 - FITS) * total  # fewer may have been there in training as well
        order = narrowed((MONTH_FIRST, DAY_FIRST), dotted) if some else (MONTH_FIRST,)
        if len(order) > 1:
            raise DataError(
                f"{source.label}, column {shown(name)}: {shown(dotted[0])} may be day first, as "
                f"dates with dots mostly are, or month first, as dates were in training; write "
                f"them like {date_example(MONTH_FIRST)} or {date_example(YEAR_FIRST)}."
            )
        if formats[name] == TIME or (read >= FITS * total and order == (MONTH_FIRST,)):
            continue
        dates = date_format(counts)
        orders = narrowed(date_orders(dates.format), counts)
        if dates.number < FITS * total or dates.contrary or dates.format == TIME or len(orders) > 1:
            continue
        changed[name] = (
            orders[0],
            f"dates such as {shown(dates.examples[0])} are written otherwise than in training "
            f"({formats[name]}); read as {orders[0]}",
        )
    return changed


def _is_dotted(value: str) -> bool:
    """Whether a value is a date with dots between day, month and year."""
    return re.match(r"\s*[0-9]{1,2}\.[0-9]{1,2}\.", value) is not None and any(
        can_read(value, form) for form in (MONTH_FIRST, DAY_FIRST)
    )


def _booleans(names: Sequence[str], source: TableSource) -> dict[str, tuple[str, str]]:
    """Those of some columns whose first words are booleans, with one of them.

    Beside true and false there may be 1 and 0, of which the second text has one; beside n, which
    may stand for a missing value, there may not.
    """
    found = {}
    for name, words in _first_words(names, source):
        spelled = [word for word in words.values if answer_of(word) is not None]
        others = [word for word in words.values if answer_of(word) is None]
        certain = not others or None not in map(truth_of, spelled)
        if spelled and certain and all(number_of(v, POINT) in (0.0, 1.0) for v in others):
            found[name] = spelled[0], f" beside {shown(others[0])}" if others else ""
    return found


def _first_words(names: Sequence[str], source: TableSource) -> list[tuple[str, Categorical]]:
    """Some columns with the words of their first rows, but for those that may be missing values.

    Their codes do not count.
    """
    try:
        first = (
            next(iter(source.blocks(ColumnSelection(words=tuple(names)))), None) if names else None
        )
    except DataError:  # damage, which is reported when the rows are read
        return []
    if first is None:
        return []
    unclear = source.cells.among_numbers
    return [
        (name, replace(words, values=tuple(v for v in words.values if v not in unclear)))
        for name, words in zip(names, first.words, strict=True)
    ]
