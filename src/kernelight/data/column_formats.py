"""Which format the numbers or dates of a column of text are written in; `survey` decides by it.

Where two formats fit (``03/01/2024``; ``1,234``), the whole column is read. If that leaves both,
slashes are month first and other dates day first, and a comma followed by three digits stands
between thousands, unless the file separates its columns by semicolons.

A table has one decimal separator. If a column certainly has decimal commas (``79,50``) and no other
certainly has decimal points (``4.5``), numbers that fit both formats have decimal commas too:
``76.571`` is 76571 there. If both are certain, columns are read one by one (`Separators`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kernelight.data.errors import DataError, shown
from kernelight.data.table_source import (
    DATE,
    NUMBER,
    Block,
    Categorical,
    ColumnSelection,
    TableSource,
)
from kernelight.data.text_formats import (
    BOOLEAN,
    COMMA,
    DAY_FIRST,
    DURATION,
    FORMATS,
    MONTH_FIRST,
    NAMED,
    PLAIN,
    POINT,
    STORED,
    THOUSANDS,
    TIME,
    WRITTEN,
    YEAR_FIRST,
    can_read,
    date_orders,
    decimal_format,
    has_factor,
    joined_formats,
    n_parts,
    narrowed,
    number_of,
)
from kernelight.data.units import split_unit, without_unit

FITS = 0.9  # of the values must be readable in a format
_SHORTEST_CODE = 3  # digits
MOST_LABELS = 50  # whole numbers that are classes


def number_formats(decimal: str | None) -> tuple[str, ...]:
    """The formats of numbers to try: all, or the one with the decimal separator that was given."""
    return FORMATS[NUMBER] if decimal is None else (decimal_format(decimal),)


def leading_zero_example(counts: Counter[str]) -> str | None:
    """A value with a leading zero, if the digits of a column are identifiers (zip codes), or None.

    They are if at least one has a leading zero and all have the same number of digits: programs do
    not write numbers so. With fewer than three digits they stay numbers, because those are mostly
    hours, days and months (``07``); so they do if only ``000`` has a zero in front. Words among
    them do not count.

    >>> from collections import Counter
    >>> from kernelight.data.column_formats import leading_zero_example
    >>> leading_zero_example(Counter(["10001", "02139", "unknown"]))
    '02139'
    >>> print(leading_zero_example(Counter(["007", "1234"])))
    None
    >>> print(leading_zero_example(Counter(["07", "12"])))
    None
    """
    numbers = [value for value in counts if PLAIN.fullmatch(value)]
    if not are_digits_of_one_length(numbers):
        return None
    return next((value for value in numbers if value[0] == "0" and value.strip("0")), None)


def are_digits_of_one_length(values: list[str] | list[bytes]) -> bool:
    """Whether values are digits and nothing else, as many in each, and at least three."""
    lengths = {len(value) for value in values}
    return (
        len(lengths) == 1
        and min(lengths) >= _SHORTEST_CODE
        and all(value.isascii() and value.isdigit() for value in values)
    )


def those_read(counts: Counter[str], form: str) -> Counter[str]:
    """The values that are numbers in a format.

    Single digits with a minus behind (``2-``) are grades, unless longer numbers have one too.

    >>> from collections import Counter
    >>> from kernelight.data.column_formats import those_read
    >>> sorted(those_read(Counter(["1", "2-", "3-"]), "decimal point"))
    ['1']
    >>> sorted(those_read(Counter(["1", "2-", "31.50-"]), "decimal point"))
    ['1', '2-', '31.50-']
    """
    behind = [value for value in counts if value[-1:] in ("-", "\u2212")]
    grades = {*behind} if all(len(value) == 2 for value in behind) else set()
    return Counter({v: n for v, n in counts.items() if v not in grades and can_read(v, form)})


def special_format(counts: Counter[str]) -> str | None:
    """The format of a column of ``1.2K`` and ``3M``, or of durations such as ``1h 20m``, or None.

    Every value must be written so. One letter alone behind all numbers may be a unit (``5K``), and
    one part alone too (``45m``), so that two letters, a letter and plain numbers, or two parts must
    occur. M alone is no unit.

    >>> from collections import Counter
    >>> from kernelight.data.column_formats import special_format
    >>> special_format(Counter(["1.2K", "3M", "950"])), special_format(Counter(["1h 20m", "45m"]))
    ('thousands and millions', 'duration')
    >>> print(special_format(Counter(["5K", "7K"])), special_format(Counter(["45m", "50m"])))
    None None
    """
    first = next(iter(counts), "")
    if can_read(first, THOUSANDS) and all(can_read(value, THOUSANDS) for value in counts):
        letters = {value.strip()[-1].upper() if has_factor(value) else "" for value in counts}
        return THOUSANDS if letters not in ({""}, {"K"}, {"B"}) else None
    if n_parts(first) and all(n_parts(value) for value in counts):
        return DURATION if any(n_parts(value) > 1 for value in counts) else None
    return None


def merged_counts(counts: Counter[str], unit: str | None) -> Counter[str]:
    """How often each value occurs, without the unit of the column, if it has one."""
    if unit is None:
        return counts
    merged = Counter[str]()
    for value, bare in zip(counts, without_unit(counts, unit), strict=True):
        merged[bare] += counts[value]
    return merged


def may_be_labels(counts: Counter[str], unit: str) -> bool:
    """Whether numbers with a unit, as a target, would be classes: then they stay words."""
    bare = merged_counts(counts, unit)
    return len(bare) <= MOST_LABELS and all(value.isdigit() for value in bare)


class DateFormat(NamedTuple):
    """The dates among the values of a column: how many, and in which format.

    There is an example of each format that occurs, and ``said`` counts them if there are several.
    If some dates are certainly day first and others month first, they are ``contrary``.
    """

    number: int
    format: str
    examples: list[str]
    said: str
    contrary: bool


def date_format(counts: Counter[str]) -> DateFormat:
    """The dates of a column, in one format or in several that cannot be confused."""
    fits = {
        value: frozenset(form for form in FORMATS[DATE] if can_read(value, form))
        for value in counts
    }

    def those(form: str, other: str | None = None) -> dict[str, int]:
        """The values that can be read in a format, and not in another."""
        return {v: n for v, n in counts.items() if form in fits[v] and other not in fits[v]}

    readable = {form: sum(those(form).values()) for form in FORMATS[DATE]}
    best = max(readable, key=lambda form: readable[form])
    days = max((MONTH_FIRST, DAY_FIRST), key=lambda form: readable[form])
    forms = [form for form in (YEAR_FIRST, days, NAMED) if readable[form]]
    number = sum(count for value, count in counts.items() if fits[value] - {TIME})
    # others can be either
    certain = {DAY_FIRST: those(DAY_FIRST, MONTH_FIRST), MONTH_FIRST: those(MONTH_FIRST, DAY_FIRST)}
    if all(certain.values()) and readable[best] < FITS * sum(counts.values()):
        examples = {form: next(iter(values)) for form, values in certain.items()}
        said = _several({form: sum(values.values()) for form, values in certain.items()}, examples)
        return DateFormat(number, days, [*examples.values()], said, contrary=True)
    examples = {form: next(iter(those(form)), "") for form in {best, *forms}}
    if readable[best] >= FITS * sum(counts.values()) or len(forms) < 2:
        return DateFormat(readable[best], best, [examples[best]], "", contrary=False)
    said = _several({form: readable[form] for form in forms}, examples)
    return DateFormat(
        number, joined_formats(forms), [examples[form] for form in forms], said, contrary=False
    )


def _several(numbers: Mapping[str, int], examples: Mapping[str, str]) -> str:
    each = [f"{number:,} such as {shown(examples[form])}" for form, number in numbers.items()]
    return f"{', '.join(each[:-1])} and {each[-1]}"


def numbers_among(counts: Counter[str], form: str) -> Counter[str]:
    """The values that are numbers in a format, or with a unit, or such as ``1.2K`` and ``1h 20m``.

    >>> from collections import Counter
    >>> from kernelight.data.column_formats import numbers_among
    >>> sorted(numbers_among(Counter(["4.9 kg", "heavy", "$3", "1.2K"]), "decimal point"))
    ['$3', '1.2K', '4.9 kg']
    """

    def is_number(value: str) -> bool:
        parts = split_unit(value)
        return has_factor(value) or n_parts(value) > 0 or can_read((parts or [value])[0], form)

    return Counter({value: n for value, n in counts.items() if is_number(value)})


def why_words(counts: Counter[str], dates: DateFormat, numbers: Counter[str], total: int) -> str:
    """Why a column is words although more than half of it is something else; "" otherwise.

    ``numbers`` are the values that are numbers by themselves (`numbers_among`).
    """
    if dates.contrary and 2 * dates.number > total:
        return (
            f"dates that are day first and dates that are month first ({dates.said}) cannot be "
            "told apart; "
        )
    are_numbers = numbers.total() >= dates.number
    what, count = ("numbers", numbers.total()) if are_numbers else ("dates", dates.number)
    if 2 * count <= total:
        return ""
    those = {v for v in counts if (v in numbers if are_numbers else can_read(v, dates.format))}
    if len(those) == len(counts):
        return ""
    example, other = (next((v for v in counts if (v in those) is yes), "") for yes in (True, False))
    return (
        f"of {total:,} values {count:,} are {what} such as {shown(example)}, the others such as "
        f"{shown(other)}; "
    )


class Separators(NamedTuple):
    """What columns of numbers say about the decimal separator of their table.

    ``left`` has the formats that fit all values of each column. ``pointed`` has an example of
    columns whose values with a point fit both formats.
    """

    left: Mapping[str, tuple[str, ...]]
    pointed: Mapping[str, str]

    @classmethod
    def of(
        cls,
        blocks: Iterable[Iterable[tuple[str, Categorical]]],
        known: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    ) -> Separators:
        """What is found in blocks of columns of text; ``known`` is what other columns say."""
        left: dict[str, tuple[str, ...]] = {}
        pointed: dict[str, str] = {}
        for block in blocks:
            for name, words in block:
                marked = [value for value in words.values if "." in value or "," in value]
                left[name] = narrowed(left.get(name, FORMATS[NUMBER]), marked)
                points = (v for v in marked if "." in v and can_read(v, COMMA))
                if name not in pointed and (mark := next(points, "")):
                    pointed[name] = mark
        both = {name: mark for name, mark in pointed.items() if len(left[name]) > 1}
        return cls({**known, **left}, both)

    @property
    def certain(self) -> frozenset[str]:
        """The formats that some column certainly has."""
        return frozenset(forms[0] for forms in self.left.values() if len(forms) == 1)


def readable_blocks(source: TableSource, names: Iterable[str]) -> Iterator[Block]:
    """The blocks of some columns as text, up to damage, which is reported when rows are read."""
    try:
        yield from source.blocks(ColumnSelection(words=tuple(names)))
    except DataError:
        return


def settled_formats(
    formats: Mapping[str, str],
    several: Mapping[str, str],
    source: TableSource,
    decimal: str | None,
    plain: Sequence[str] = (),
    units: Mapping[str, str] = MappingProxyType({}),
) -> tuple[dict[str, str], dict[str, str]]:
    """The formats of columns, and a note for each, after the columns were read as far as needed.

    ``several`` says of columns of dates in several formats which these are. ``plain`` are columns
    of text whose numbers can be read without a format. ``units`` are those behind numbers.
    """
    left, examples = _narrowed_columns(formats, several, source, decimal, units)
    chosen, notes = dict(formats), {}
    numeric = {name: left[name] for name, form in formats.items() if form in FORMATS[NUMBER]}
    if decimal is None and (COMMA,) in numeric.values():
        blocks = readable_blocks(source, plain) if plain else ()
        found = Separators.of((zip(plain, b.words, strict=True) for b in blocks), numeric)
        commas = found.certain == {COMMA}
        for name, example in found.pointed.items():
            notes[name] = pointed_note(example, commas, source.has_options)
        if commas:
            chosen |= dict.fromkeys(plain, COMMA)
            left |= {name: (COMMA,) for name, fitting in numeric.items() if len(fitting) > 1}
    for name, form in formats.items():
        example = examples.get(name, "")
        if form in (BOOLEAN, WRITTEN):
            if form == WRITTEN and example:
                notes.setdefault(name, f"text such as {shown(example)} is read as numbers")
            continue
        chosen[name], assumed = _chosen(left.get(name, (form,)), example, source.comma)
        if several.get(name):
            notes[name] = f"dates in several formats, {several[name]}{assumed}; they become numbers"
        elif chosen[name] in STORED[DATE]:
            notes[name] = f"dates such as {shown(example)}{assumed}; they become numbers"
        elif example or decimal is None:
            value = number_of(without_unit([example], units.get(name))[0], chosen[name])
            notes[name] = f"numbers such as {shown(example)} are read as {value:.10g}{assumed}"
    return chosen, notes


def pointed_note(example: str, comma: bool, has_options: bool) -> str:
    """The note on numbers with points that may stand between thousands."""
    points, commas = (number_of(example, form) for form in (POINT, COMMA))
    if comma:
        return (
            f"numbers such as {shown(example)} are read as {commas:.10g}, because other columns "
            "have decimal commas"
        )
    hint = f"; decimal=',' reads them as {commas:.10g}" if has_options else ""
    return (
        f"numbers such as {shown(example)} are read as {points:.10g}; of the other columns some "
        f"have decimal commas and some decimal points{hint}"
    )


def _narrowed_columns(
    formats: Mapping[str, str],
    several: Mapping[str, str],
    source: TableSource,
    decimal: str | None,
    units: Mapping[str, str],
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """The formats that fit all values of a column, and an example of its values.

    The formats are those of columns that more than one fits.
    """
    left = {
        name: number_formats(decimal) if form in FORMATS[NUMBER] else date_orders(form)
        for name, form in formats.items()
        if form in FORMATS[NUMBER] or len(date_orders(form)) > 1
    }
    plain = {name for name, form in formats.items() if form in (BOOLEAN, WRITTEN)}
    examples: dict[str, str] = {}
    for block in readable_blocks(source, formats):
        for name, words in zip(formats, block.words, strict=True):
            values = [v for v in words.values if v not in source.cells.among_numbers]
            if name in plain:
                numbers = (v for v in values if PLAIN.fullmatch(v))
                examples.setdefault(name, next(numbers, ""))
                continue
            forms = left.get(name, (formats[name],))
            pairs = [*zip(values, without_unit(values, units.get(name)), strict=True)]
            odd = (
                value
                for value, number in pairs
                if not PLAIN.fullmatch(value.replace(decimal or ".", "."))
                and any(can_read(number, form) for form in forms)
            )
            if not examples.get(name):
                examples[name] = next(odd, "")
            if name in several and not can_read(examples[name], DAY_FIRST):
                examples[name] = next((v for v in values if can_read(v, DAY_FIRST)), examples[name])
            if name in left:
                left[name] = narrowed(left[name], (number for _, number in pairs))
        if all(len(fitting) == 1 for fitting in left.values()):
            break
    return left, examples


def _chosen(left: tuple[str, ...], example: str, comma: bool) -> tuple[str, str]:
    """One of the formats that fit all values, and what is assumed if there are several."""
    if len(left) == 1:
        return left[0], ""
    if left == (POINT, COMMA):
        form = COMMA if comma and "," in example else POINT
        return form, f" (with a {form})" if "," in example or "." in example else ""
    month_first = "/" in example
    return left[0] if month_first else left[1], f" ({MONTH_FIRST if month_first else DAY_FIRST})"
