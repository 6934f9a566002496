"""What becomes of columns of text by default, from a look at the first rows.

Of the first 20,000 rows every column of words is looked at, unless it was said what it is:

* Numbers with signs and separators, and dates, are those if nine values of ten can be read so in one format.
* Text is plain numbers if nine values of ten are. In a text file more than half are enough: if more than one of ten turns
  out to be something else, that is an error, as the file does not say that the column is text; frames and Parquet do.
* Words are an id (or free text) if there are more than ``max_categories`` of them and more than half are different, or if
  there are 20 or more and all are different. Such a column is left out.
* Numbers are an id only if the column is called so (``id``, ``index``, ``Unnamed: 0``, ``customer_id``) or has no name (as the
  index that pandas writes), and 20 or more whole numbers are all different.
* A column of a text file without any value is left out.

Where two formats fit (``03/01/2024``; ``1,234``), the whole column is read; if it does not settle the matter, slashes are
month first and other dates day first, and a comma followed by three digits stands between thousands, unless the file
separates its columns by semicolons.

Where the user has said what the decimal separator is, only formats with that one are tried. With a decimal comma every column
of numbers of a text file is read so: 1.234 is 1234 then.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from kernelight.data.booleans import truth_of
from kernelight.data.errors import DataError, shown
from kernelight.data.exact import as_doubles
from kernelight.data.table import DATE, NUMBER, WORDS, Plan, Source, Words
from kernelight.data.text_formats import (
    BOOLEAN,
    COMMA,
    DAY_FIRST,
    FORMATS,
    MONTH_FIRST,
    PLAIN,
    POINT,
    WRITTEN,
    decimal_format,
    narrowed,
    reads,
)

HEAD_ROWS = 20_000
FITS = 0.9  # of the values must be readable in a format
_ID = re.compile(
    "id|index|unnamed: 0|rownames|.*[_ ]id", re.IGNORECASE
)  # names of columns that count or name the rows
FEW = 20  # rows: with fewer, values that are all different or all missing may be so by chance


@dataclass
class Survey:
    """What was decided: formats and kinds of columns, those to leave out, and a note for each decision."""

    formats: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)  # column -> what was decided
    odd: dict[str, str] = field(
        default_factory=dict
    )  # columns of numbers with words among them; told when they are read


def surveyed(
    source: Source,
    settled: Iterable[str],
    target: str | None,
    max_categories: int,
    raised: bool,
    decimal: str | None = None,
) -> Survey:
    """Look at the columns of words that nobody has settled; ``raised``: somebody has said how many words there may be;
    ``decimal``: the decimal separator, if it was said."""
    found = Survey()
    known = set(settled)
    everywhere = decimal == "," and source.text
    names = [
        c.name
        for c in source.columns or ()
        if (c.kind == WORDS or c.name in source.guessed or (everywhere and c.kind == NUMBER))
        and c.name not in known
    ]
    if source.options:  # estimators take the numbers that they are given
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


def _leave_out(found: Survey, source: Source, settled: Set[str | None]) -> None:
    """Leave out columns of numbers without any value, and those that are called an id and are whole and all different."""
    names = [
        column.name
        for column in source.columns or ()
        if column.kind == NUMBER
        and source.headed
        and column.name not in {*source.guessed, *settled}
        and (column.name in {*source.nameless, *source.blank} or _ID.fullmatch(column.name))
    ]
    if not names or {*names} == {column.name for column in source.columns or ()} - settled:
        return  # what is left would be nothing
    parts = []
    rows = 0
    try:
        for block in source.blocks(Plan(numbers=tuple(names))):
            parts.append(np.asarray(block.numbers[: HEAD_ROWS - rows], dtype=np.float64))
            rows += len(parts[-1])
            if rows >= HEAD_ROWS:
                break
    except DataError:  # damage, which is spoken of when the rows are read
        return
    for at, name in enumerate(names):
        values = np.concatenate([part[:, at] for part in parts]) if parts else np.zeros(0)
        whole = bool((np.isfinite(values) & (np.floor(values) == values)).all())
        if len(values) < FEW:
            continue
        if np.isnan(values).all():
            found.left_out.append(name)
            found.notes[name] = f"no value in {'the first ' * (rows >= HEAD_ROWS)}{rows:,} rows; left out"
        elif whole and len(np.unique(values)) == len(values):
            found.left_out.append(name)
            found.notes[name] = f"all {len(values):,} numbers are different, as ids are; left out"


def _counts(source: Source, names: Sequence[str]) -> dict[str, Counter[str]]:
    """How often each word occurs in the first rows. Damage ends the look: it is spoken of when the rows are read."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    rows = 0
    try:
        for block in source.blocks(Plan(words=tuple(names))):
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


def missing_in_head(source: Source, target: str | None, kinds: Mapping[str, str]) -> str | None:
    """In how many of the first rows the target is missing; None if it is there."""
    if target is None or source.columns is None:
        return None
    found = {column.name: column.kind for column in source.columns} | dict(kinds)
    kind = WORDS if found.get(target, source.target_kind) == WORDS else NUMBER
    rows = gone = 0
    try:
        for block in source.blocks(Plan(target=target, target_kind=kind)):
            values = block.target
            missing = values.codes < 0 if isinstance(values, Words) else np.isnan(as_doubles(values))  # type: ignore[arg-type]
            rows, gone = rows + block.n_rows, gone + int(missing.sum())
            if rows >= HEAD_ROWS:
                break
    except DataError:  # damage, which is spoken of when the rows are read
        return None
    return (
        f"the target is missing in {gone:,} of the first {rows:,} rows; they are left out" if gone else None
    )


def _decide(
    found: Survey,
    source: Source,
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
        for form in (*_numbers(decimal), *(() if target else FORMATS[DATE]))
    }
    number = max(_numbers(decimal), key=lambda form: share[form])
    if name in source.guessed and not target and all(truth_of(value) is not None for value in counts):
        found.formats[name] = BOOLEAN
        return
    # With a decimal comma plain digits with a point are something else.
    every = decimal == "," and (source.text or name in source.guessed)
    if share[number] >= FITS * total and (every or share[number] > plain):
        found.formats[name] = number
        return
    date = None if target else max(FORMATS[DATE], key=lambda form: share[form])
    if date is not None and share[date] >= FITS * total:
        found.formats[name] = date
        return
    if every and 2 * plain > total:
        example = next(value for value in counts if PLAIN.fullmatch(value) and not reads(value, number))
        _as_plain(found, source, name)
        found.notes[name] = (
            f"numbers such as {shown(example)} have no decimal comma; read with a decimal point"
        )
        return
    if name in source.guessed:
        found.kinds[name] = WORDS
        if plain >= FITS * total or (source.text and 2 * plain > total):
            _as_plain(found, source, name)
            if plain < total:
                example = next(value for value in counts if not PLAIN.fullmatch(value))
                strange = total - plain
                are = "is not a number" if strange == 1 else "are not numbers"
                found.odd[name] = (
                    f"of the first {total:,} values {strange:,} {are}, such as {shown(example)}; taken as missing"
                )
            return
        if 2 * plain > total:
            number, word = (
                next(v for v in counts if bool(PLAIN.fullmatch(v)) is yes) for yes in (True, False)
            )
            found.notes[name] = (
                f"of {total:,} values {plain:,} are numbers such as {shown(number)}, the others words such as {shown(word)}; "
                "all are taken as words"
            )
            return
    different = len(counts)
    many = different > max_categories and 2 * different > total
    if not target and (many or (different == total >= FEW and not raised)):
        found.left_out.append(name)
        all_ = f"all {total:,}" if different == total else f"{different:,} of {total:,}"
        found.notes[name] = f"{all_} words are different, as ids or free text are; left out"


def _as_plain(found: Survey, source: Source, name: str) -> None:
    """Have a column of text read as plain numbers, which a delimited file can do itself."""
    found.kinds[name] = NUMBER
    if not source.text:
        found.formats[name] = WRITTEN


def _numbers(decimal: str | None) -> tuple[str, ...]:
    """The formats of numbers that come into question."""
    return FORMATS[NUMBER] if decimal is None else (decimal_format(decimal),)


def _settle_doubts(found: Survey, source: Source, decimal: str | None) -> None:
    """Formats of columns that two formats fit, by reading them whole, and the notes of all formats."""
    doubts = {
        name: (MONTH_FIRST, DAY_FIRST) if form in (MONTH_FIRST, DAY_FIRST) else _numbers(decimal)
        for name, form in found.formats.items()
        if form in (MONTH_FIRST, DAY_FIRST, POINT, COMMA)
    }
    plain = {name for name, form in found.formats.items() if form in (BOOLEAN, WRITTEN)}
    examples: dict[str, str] = {}
    try:
        for block in source.blocks(Plan(words=tuple(found.formats))):
            for name, words in zip(found.formats, block.words, strict=True):
                if name in plain:
                    examples.setdefault(name, next((v for v in words.values if PLAIN.fullmatch(v)), ""))
                    continue
                odd = (v for v in words.values if not PLAIN.fullmatch(v.replace(decimal or ".", ".")))
                examples.setdefault(name, next(odd, ""))
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
            found.formats[name] = MONTH_FIRST if "/" in example else DAY_FIRST
            doubt = f" ({found.formats[name]})"
        if found.formats[name] in FORMATS[DATE]:
            found.notes[name] = f"dates such as {shown(example)}{doubt}; they become numbers"
        elif example or decimal is None:
            found.notes[name] = (
                f"numbers such as {shown(example)} are read without signs and separators{doubt}"
            )
