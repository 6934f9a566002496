"""What becomes of columns of text by default, from a look at the first rows.

Of the first 20,000 rows every column of words is looked at, unless it was said what it is:

* Numbers with signs and separators, and dates, are those if nine values of ten can be read so in
  one format.
* Text is plain numbers if nine values of ten are. In a text file more than half are enough: if more
  than one of ten turns out to be something else, that is an error, as the file does not say that
  the column is text; frames and Parquet do.
* Dates in two formats that cannot be confused, such as ``2024-03-01`` and ``01.03.2024``, are read
  in both.
* Words are an id (or free text) if clearly more than half of the values occur only once
  (`occur_once`). Such a column is left out. Where the user has said how many words there may be, it
  is left out only if there are more.
* Numbers are an id by the same rule, but only whole ones, and if the column is called so (``id``,
  ``index``, ``Unnamed: 0``, ``customer_id``) or has no name (as the index that pandas writes).
* A column of a text file without any value is left out.

Where two formats fit (``03/01/2024``; ``1,234``), the whole column is read; if it does not settle
the matter, slashes are month first and other dates day first, and a comma followed by three digits
stands between thousands, unless the file separates its columns by semicolons.

Where the user has said what the decimal separator is, only formats with that one are tried. With a
decimal comma every column of numbers of a text file is read so: 1.234 is 1234 then.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kernelight.base import counted
from kernelight.data.booleans import truth_of
from kernelight.data.errors import DataError, shown
from kernelight.data.exact_integers import as_doubles
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    Categorical,
    ColumnSelection,
    TableSource,
)
from kernelight.data.text_formats import (
    BOOLEAN,
    COMMA,
    DAY_FIRST,
    FORMATS,
    MONTH_FIRST,
    NAMED,
    PLAIN,
    POINT,
    STORED,
    TIME,
    WRITTEN,
    YEAR_FIRST,
    decimal_format,
    either,
    mixed,
    narrowed,
    number_of,
    reads,
)

HEAD_ROWS = 20_000
FITS = 0.9  # of the values must be readable in a format
# names of columns that count or name the rows
_ID = re.compile("id|index|unnamed: 0|rownames|.*[_ ]id", re.IGNORECASE)
FEW = 20  # rows: with fewer, values that are all different or all missing may be so by chance


@dataclass
class Survey:
    """What was decided: formats and kinds of columns, those to leave out, and a note for each
    decision."""

    formats: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)  # column -> what was decided
    # columns of numbers with words among them; told when they are read
    odd: dict[str, str] = field(default_factory=dict)
    strange: list[str] = field(default_factory=list)  # those words
    # columns of too many words; told when they are read
    many: dict[str, str] = field(default_factory=dict)
    most_words: int = 0  # of those columns
    # columns of dates -> which formats, if several
    mixed: dict[str, str] = field(default_factory=dict)
    target_date: str | None = None  # an example, if the target is dates


def surveyed(
    source: TableSource,
    settled: Iterable[str],
    target: str | None,
    max_categories: int,
    raised: bool,
    decimal: str | None = None,
) -> Survey:
    """Look at the columns of words that nobody has settled; ``raised``: somebody has said how many
    words there may be; ``decimal``: the decimal separator, if it was said."""
    found = Survey()
    known = set(settled)
    everywhere = decimal == "," and source.text
    names = [
        c.name
        for c in source.columns or ()
        if (c.kind == CATEGORICAL or c.name in source.guessed or (everywhere and c.kind == NUMBER))
        and c.name not in known
    ]
    if source.has_options:  # estimators take the numbers that they are given
        _leave_out(found, source, {*known, target})
    if not names:
        return found
    counts = _counts(source, names)
    for name in names:
        if name in found.left_out:
            continue
        _decide(found, source, name, counts[name], name == target, max_categories, raised, decimal)
    _settle_doubts(found, source, decimal)
    return found


def _leave_out(found: Survey, source: TableSource, settled: Set[str | None]) -> None:
    """Leave out columns of numbers without any value, and those that are called an id and are whole
    and all different."""
    empty = source.nameless & source.blank  # as where every row ends with a delimiter
    names = [
        column.name
        for column in source.columns or ()
        if column.kind == NUMBER
        and column.name not in {*source.guessed, *settled}
        and (column.name in empty or (source.headed and _may_go(source, column.name)))
    ]
    if not names or {*names} == {column.name for column in source.columns or ()} - settled:
        return  # what is left would be nothing
    parts = []
    rows = 0
    try:
        for block in source.blocks(ColumnSelection(numbers=tuple(names))):
            parts.append(np.asarray(block.numbers[: HEAD_ROWS - rows], dtype=np.float64))
            rows += len(parts[-1])
            if rows >= HEAD_ROWS:
                break
    except DataError:  # damage, which is spoken of when the rows are read
        return
    for at, name in enumerate(names):
        values = np.concatenate([part[:, at] for part in parts]) if parts else np.zeros(0)
        there = values[~np.isnan(values)]
        whole = bool((np.isfinite(there) & (np.floor(there) == there)).all())
        once = int((np.unique(there, return_counts=True)[1] == 1).sum())
        if name in empty and not len(there):
            found.left_out.append(name)
            found.notes[name] = (
                "it has no name and no value, as if each row ended with a delimiter; left out"
            )
        elif len(values) < FEW:
            continue
        elif not len(there):
            found.left_out.append(name)
            found.notes[name] = (
                f"no value in {'the first ' * (rows >= HEAD_ROWS)}{counted(rows, 'row')}; left out"
            )
        elif _names_rows(source, name) and whole and occur_once(once, len(there)):
            found.left_out.append(name)
            found.notes[name] = f"{_how_many(once, len(there), 'numbers')}, as ids are; left out"


def _names_rows(source: TableSource, name: str) -> bool:
    """Whether a column may be ids or an index by its name, or because it has none."""
    return name in source.nameless or _ID.fullmatch(name) is not None


def _may_go(source: TableSource, name: str) -> bool:
    return name in source.blank or _names_rows(source, name)


def occur_once(once: int, total: int) -> bool:
    """Whether so many of the values occur only once that a new row probably brings another one,
    which a model knows nothing of.

    The share of values that occur once estimates the probability of that (Good and Turing). It must
    be above one half by four standard errors of a share, 2 / sqrt(total), because in few rows even
    common words occur once; so no single row decides, and a fold of the rows is judged like the
    whole, unless the share is at the border.

    >>> from kernelight.data.survey import occur_once
    >>> occur_once(20, 20), occur_once(18, 20), occur_once(70, 100), occur_once(71, 100), occur_once(5300, 10_000)
    (True, False, False, True, True)
    """
    return total >= FEW and once > total / 2 + 2 * math.sqrt(total)


def _how_many(once: int, total: int, what: str) -> str:
    return (
        f"all {total:,} {what} are different"
        if once == total
        else f"{once:,} of {total:,} {what} occur once"
    )


def _counts(source: TableSource, names: Sequence[str]) -> dict[str, Counter[str]]:
    """How often each word occurs in the first rows.

    Damage ends the look: it is spoken of when the rows are read.
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    rows = 0
    try:
        for block in source.blocks(ColumnSelection(words=tuple(names))):
            for name, words in zip(names, block.words, strict=True):
                codes = words.codes[: HEAD_ROWS - rows]
                numbers = np.bincount(codes[codes >= 0], minlength=len(words.values))
                for at in np.flatnonzero(numbers).tolist():
                    counts[name][words.values[at]] += int(numbers[at])
            rows += block.n_rows
            if rows >= HEAD_ROWS:
                break
    except DataError:
        pass
    return counts


def missing_in_head(
    source: TableSource, target: str | None, kinds: Mapping[str, str]
) -> str | None:
    """In how many of the first rows the target is missing; None if it is there."""
    if target is None or source.columns is None:
        return None
    found = {column.name: column.kind for column in source.columns} | dict(kinds)
    kind = CATEGORICAL if found.get(target, source.target_kind) == CATEGORICAL else NUMBER
    rows = gone = 0
    try:
        for block in source.blocks(ColumnSelection(target=target, target_kind=kind)):
            values = block.target
            assert values is not None
            if isinstance(values, Categorical):
                missing = values.codes < 0
            else:
                missing = np.isnan(as_doubles(values))
            rows, gone = rows + block.n_rows, gone + int(missing.sum())
            if rows >= HEAD_ROWS:
                break
    except DataError:  # damage, which is spoken of when the rows are read
        return None
    return (
        f"the target is missing in {gone:,} of the first {counted(rows, 'row')}; they are left out"
        if gone
        else None
    )


def _decide(
    found: Survey,
    source: TableSource,
    name: str,
    counts: Counter[str],
    target: bool,
    max_categories: int,
    raised: bool,
    decimal: str | None,
) -> None:
    total = sum(counts.values())
    if not total:
        return
    plain = sum(count for value, count in counts.items() if PLAIN.fullmatch(value))
    share = {
        form: sum(count for value, count in counts.items() if reads(value, form))
        for form in _numbers(decimal)
    }
    number = max(share, key=lambda form: share[form])
    if (
        name in source.guessed
        and not target
        and all(truth_of(value) is not None for value in counts)
    ):
        found.formats[name] = BOOLEAN
        return
    # With a decimal comma plain digits with a point are something else.
    every = decimal == "," and (source.text or name in source.guessed)
    if share[number] >= FITS * total and (every or share[number] > plain):
        found.formats[name] = number
        return
    dates = _dates(counts)
    if dates.number >= FITS * total and not dates.contrary:
        if target:
            found.target_date = dates.examples[0]
        else:
            found.formats[name] = dates.format
            found.mixed[name] = dates.said
        return
    if every and 2 * plain > total:
        example = next(
            value for value in counts if PLAIN.fullmatch(value) and not reads(value, number)
        )
        _as_plain(found, source, name)
        found.notes[name] = (
            f"numbers such as {shown(example)} have no decimal comma; read with a decimal point"
        )
        return
    if name in source.guessed:
        found.kinds[name] = CATEGORICAL
        if plain >= FITS * total or (source.text and 2 * plain > total):
            _as_plain(found, source, name)
            if plain < total:
                words = [value for value in counts if not PLAIN.fullmatch(value)]
                are = "is not a number" if total - plain == 1 else "are not numbers"
                found.odd[name] = (
                    f"of the first {counted(total, 'value')} {total - plain:,} {are}, "
                    f"such as {shown(words[0])}; taken as missing"
                )
                found.strange += [word for word in words if word not in found.strange]
            return
    reason = _reason(counts, dates, (number, share[number]), total)
    once = sum(count == 1 for count in counts.values())
    if not target and occur_once(once, total) and not (raised and len(counts) <= max_categories):
        found.left_out.append(name)
        found.notes[name] = (
            f"{reason}{_how_many(once, total, 'words')}, as ids or free text are; left out"
        )
        return
    if reason:
        found.notes[name] = f"{reason}taken as words"
    if not target and len(counts) > max_categories:
        found.many[name] = f"{len(counts):,} words, of which not all have a column of their own"
        found.most_words = max(found.most_words, len(counts))


class _Dates(NamedTuple):
    """Dates among the values of a column of text: how many, in which format, an example of each
    format that occurs, what is to be said if there are several, and whether some are day first for
    certain and others month first."""

    number: int
    format: str
    examples: list[str]
    said: str
    contrary: bool


def _dates(counts: Counter[str]) -> _Dates:
    """The dates that a column has, in one format or in several that cannot be confused."""
    fits = {
        value: frozenset(form for form in FORMATS[DATE] if reads(value, form)) for value in counts
    }

    def those(form: str, other: str | None = None) -> dict[str, int]:
        """The values that can be read in a format, and not in another."""
        return {v: n for v, n in counts.items() if form in fits[v] and other not in fits[v]}

    share = {form: sum(those(form).values()) for form in FORMATS[DATE]}
    best = max(share, key=lambda form: share[form])
    days = max((MONTH_FIRST, DAY_FIRST), key=lambda form: share[form])
    forms = [form for form in (YEAR_FIRST, days, NAMED) if share[form]]
    number = sum(count for value, count in counts.items() if fits[value] - {TIME})
    # others can be either
    certain = {DAY_FIRST: those(DAY_FIRST, MONTH_FIRST), MONTH_FIRST: those(MONTH_FIRST, DAY_FIRST)}
    if all(certain.values()) and share[best] < FITS * sum(counts.values()):
        examples = {form: next(iter(values)) for form, values in certain.items()}
        said = _several({form: sum(values.values()) for form, values in certain.items()}, examples)
        return _Dates(number, days, [*examples.values()], said, contrary=True)
    examples = {form: next(iter(those(form)), "") for form in {best, *forms}}
    if share[best] >= FITS * sum(counts.values()) or len(forms) < 2:
        return _Dates(share[best], best, [examples[best]], "", contrary=False)
    said = _several({form: share[form] for form in forms}, examples)
    return _Dates(number, mixed(forms), [examples[form] for form in forms], said, contrary=False)


def _several(share: Mapping[str, int], examples: Mapping[str, str]) -> str:
    each = [f"{number:,} such as {shown(examples[form])}" for form, number in share.items()]
    return f"{', '.join(each[:-1])} and {each[-1]}"


def _reason(counts: Counter[str], dates: _Dates, number: tuple[str, int], total: int) -> str:
    """Why a column is words although more than half of it is something else; "" if that is not
    so."""
    if dates.contrary and 2 * dates.number > total:
        return f"dates that are day first and dates that are month first ({dates.said}) cannot be told apart; "
    what, form, count = "dates", dates.format, dates.number
    if number[1] >= count:
        what, (form, count) = "numbers", number
    if 2 * count <= total:
        return ""
    example, other = (
        next((v for v in counts if reads(v, form) is yes), "") for yes in (True, False)
    )
    return f"of {total:,} values {count:,} are {what} such as {shown(example)}, the others such as {shown(other)}; "


def _as_plain(found: Survey, source: TableSource, name: str) -> None:
    """Have a column of text read as plain numbers, which a delimited file can do itself."""
    found.kinds[name] = NUMBER
    if not source.text:
        found.formats[name] = WRITTEN


def _numbers(decimal: str | None) -> tuple[str, ...]:
    """The formats of numbers that come into question."""
    return FORMATS[NUMBER] if decimal is None else (decimal_format(decimal),)


def _settle_doubts(found: Survey, source: TableSource, decimal: str | None) -> None:
    """Formats of columns that two formats fit, by reading them whole, and the notes of all
    formats."""
    doubts = {
        name: _numbers(decimal) if form in FORMATS[NUMBER] else either(form)
        for name, form in found.formats.items()
        if form in FORMATS[NUMBER] or len(either(form)) > 1
    }
    plain = {name for name, form in found.formats.items() if form in (BOOLEAN, WRITTEN)}
    examples: dict[str, str] = {}
    try:
        for block in source.blocks(ColumnSelection(words=tuple(found.formats))):
            for name, words in zip(found.formats, block.words, strict=True):
                if name in plain:
                    examples.setdefault(
                        name, next((v for v in words.values if PLAIN.fullmatch(v)), "")
                    )
                    continue
                odd = (
                    v for v in words.values if not PLAIN.fullmatch(v.replace(decimal or ".", "."))
                )
                examples.setdefault(name, next(odd, ""))
                if name in found.mixed and not reads(examples[name], DAY_FIRST):
                    examples[name] = next(
                        (v for v in words.values if reads(v, DAY_FIRST)), examples[name]
                    )
                if name in doubts:
                    doubts[name] = narrowed(doubts[name], words.values)
            if all(len(left) == 1 for left in doubts.values()):
                break
    except DataError:  # damage, which is spoken of when the rows are read
        pass
    for name, form in found.formats.items():
        example = examples.get(name, "")
        if name in plain:
            if form == WRITTEN:
                found.notes.setdefault(name, f"text such as {shown(example)} is read as numbers")
            continue
        left = doubts.get(name, (form,))
        doubt = ""
        if len(left) == 1:
            found.formats[name] = left[0]
        elif left == (POINT, COMMA):
            found.formats[name] = COMMA if source.comma and "," in example else POINT
            if "," in example or "." in example:
                doubt = f" (with a {found.formats[name]})"
        else:
            found.formats[name] = left[0] if "/" in example else left[1]
            doubt = f" ({MONTH_FIRST if '/' in example else DAY_FIRST})"
        if found.mixed.get(name):
            found.notes[name] = (
                f"dates in several formats, {found.mixed[name]}{doubt}; they become numbers"
            )
        elif found.formats[name] in STORED[DATE]:
            found.notes[name] = f"dates such as {shown(example)}{doubt}; they become numbers"
        elif example or decimal is None:
            value = number_of(example, found.formats[name])
            found.notes[name] = f"numbers such as {shown(example)} are read as {value:.10g}{doubt}"
