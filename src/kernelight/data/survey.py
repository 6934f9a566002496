"""What becomes of columns of text by default, from a look at the first rows.

Of the first 20,000 rows every column of words is looked at, unless it was said what it is:

* Numbers with signs and separators, and dates, are those if nine values of ten can be read so in one format.
* Columns of a text file in which more than half of the values are plain numbers are numbers.
* Words are an id (or free text) if there are more than ``max_categories`` of them and more than half are different, or if
  there are 20 or more and all are different. Such a column is left out.

Where two formats fit (``03/01/2024``; ``1,234``), the whole column is read; if it does not settle the matter, slashes are
month first and other dates day first, and a comma followed by three digits stands between thousands, unless the file
separates its columns by semicolons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from kernelight.data.errors import DataError, shown
from kernelight.data.table import DATE, NUMBER, WORDS, Plan, Source
from kernelight.data.text_formats import COMMA, DAY_FIRST, FORMATS, MONTH_FIRST, PLAIN, POINT, narrowed, reads

HEAD_ROWS = 20_000
FITS = 0.9  # of the values must be readable in a format
ALL_DIFFERENT = 20  # words that are all different are an id from so many on


@dataclass
class Survey:
    """What was decided: formats and kinds of columns, those to leave out, and a note for each decision."""

    formats: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)  # column -> what was decided


def surveyed(
    source: Source, settled: Iterable[str], target: str | None, max_categories: int, raised: bool
) -> Survey:
    """Look at the columns of words that nobody has settled; ``raised``: somebody has said how many words there may be."""
    found = Survey()
    known = set(settled)
    names = [
        c.name
        for c in source.columns or ()
        if (c.kind == WORDS or c.name in source.guessed) and c.name not in known
    ]
    if not names:
        return found
    counts = _counts(source, names)
    for name in names:
        _decide(found, source, name, counts[name], name == target, max_categories, raised)
    _settle_doubts(found, source)
    return found


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


def _decide(
    found: Survey,
    source: Source,
    name: str,
    counts: Counter[str],
    target: bool,
    max_categories: int,
    raised: bool,
) -> None:
    total = sum(counts.values())
    if not total:
        return
    plain = sum(count for value, count in counts.items() if PLAIN.fullmatch(value))
    share = {
        form: sum(count for value, count in counts.items() if reads(value, form))
        for form in (*FORMATS[NUMBER], *(() if target else FORMATS[DATE]))
    }
    number = max(FORMATS[NUMBER], key=lambda form: share[form])
    if share[number] >= FITS * total and share[number] > plain:
        found.formats[name] = number
        return
    date = None if target else max(FORMATS[DATE], key=lambda form: share[form])
    if date is not None and share[date] >= FITS * total:
        found.formats[name] = date
        return
    if name in source.guessed:
        found.kinds[name] = NUMBER if 2 * plain > total else WORDS
        if found.kinds[name] == NUMBER:
            return
    different = len(counts)
    many = different > max_categories and 2 * different > total
    if not target and (many or (different == total >= ALL_DIFFERENT and not raised)):
        found.left_out.append(name)
        all_ = f"all {total:,}" if different == total else f"{different:,} of {total:,}"
        found.notes[name] = f"{all_} words are different, as ids or free text are; left out"


def _settle_doubts(found: Survey, source: Source) -> None:
    """Formats of columns that two formats fit, by reading them whole, and the notes of all formats."""
    doubts = {
        name: (MONTH_FIRST, DAY_FIRST) if form in (MONTH_FIRST, DAY_FIRST) else (POINT, COMMA)
        for name, form in found.formats.items()
        if form in (MONTH_FIRST, DAY_FIRST, POINT, COMMA)
    }
    examples: dict[str, str] = {}
    try:
        for block in source.blocks(Plan(words=tuple(found.formats))):
            for name, words in zip(found.formats, block.words, strict=True):
                odd = (value for value in words.values if not PLAIN.fullmatch(value))
                examples.setdefault(name, next(odd, ""))
                if name in doubts:
                    doubts[name] = narrowed(doubts[name], words.values)  # type: ignore[assignment]
            if all(len(left) == 1 for left in doubts.values()):
                break
    except DataError:  # damage, which is spoken of when the rows are read
        pass
    for name, form in found.formats.items():
        example = examples.get(name, "")
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
        else:
            found.notes[name] = (
                f"numbers such as {shown(example)} are read without signs and separators{doubt}"
            )
