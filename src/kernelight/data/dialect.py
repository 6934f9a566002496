"""How a delimited text is written, by its first bytes: delimiter, names, numbers or words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from kernelight.data.byte_sources import ByteSource
from kernelight.data.errors import DataError
from kernelight.data.table_source import CATEGORICAL, NUMBER, Column
from kernelight.data.units import is_unit

SAMPLE = 1 << 22  # bytes
SAMPLE_ROWS = 500
MOST_TITLES = 5  # rows above the names of the columns
DELIMITERS = (",", "\t", ";", "|")
# Words for a missing value. An encoding that names none was learned with the first list.
FIRST_MISSING = (
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "<NA>",
    "NaN",
    "nan",
    "NAN",
    "-nan",
    "null",
    "NULL",
    "Null",
    "None",
    "?",
)
MISSING = (
    *FIRST_MISSING,
    *("N.A.", "n.a.", "N.A", "n.a", "N/a", "-NaN", "#NA", "#N/A N/A", "(null)", "<null>", "\\N"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "k.A.", "k. A."),
    # of spreadsheets, also in other languages
    *("#VALUE!", "#DIV/0!", "#REF!", "#NUM!", "#NAME?", "#NULL!", "#NV", "#WERT!", "#BEZUG!"),
    *("#ZAHL!", "#VALEUR!", "#NOMBRE!", "#NOM?"),
    # of people, in German, French and Spanish
    *("k.A", "K.A.", "K. A.", "k.a.", "keine Angabe", "Keine Angabe", "keine Angaben"),
    *("Keine Angaben", "nicht verfügbar", "Nicht verfügbar", "non renseigné", "Non renseigné"),
    *("non disponible", "Non disponible", "no disponible", "No disponible", "sin datos"),
    *("Sin datos", "sin dato", "Sin dato"),
)
# Words that are missing values among numbers and dates; among words they may be one of them.
MISSING_NUMBERS = (
    *("-", "--", "---", "\u2013", "\u2014", ".", "..", "...", "na", "none", "NONE", "nil", "NIL"),
    *("Nil", "missing", "Missing", "MISSING"),
    # not available; a Dutch company is an N.V. too, and what a laboratory does not detect is N.D.
    *("n.v.", "n. v.", "N.V.", "n.d.", "n. d.", "N.D.", "n/d", "N/D", "s.d.", "s. d.", "s/d"),
    *("S/D", "n.c.", "N.C."),
)
OTHER_CHARSET = "; charset='cp1252', or the encoding that it has, reads it"
A_NUMBER = re.compile(
    rb"[ "
    rb"\t]*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[iI][nN][fF](?:inity|INITY)?)[ "
    rb"\t]*"
)


class MissingWords(NamedTuple):
    """What stands for a missing value: these words everywhere, and others among numbers only."""

    anywhere: tuple[str, ...] = MISSING
    among_numbers: tuple[str, ...] = MISSING_NUMBERS


class Dialect(NamedTuple):
    """How a text is to be read."""

    delimiter: str
    missing: tuple[str, ...] = MISSING
    missing_numbers: tuple[str, ...] = MISSING_NUMBERS  # missing among numbers as well

    def absent(self) -> set[bytes]:
        """What is a missing value among numbers."""
        return {b"", *(word.encode() for word in (*self.missing, *self.missing_numbers))}


class Sample(NamedTuple):
    """The first bytes of a text, without the mark that some editors put first."""

    content: bytes
    mark: int  # bytes of that
    ended: bool  # whether it is all of the text


def sample_of(source: ByteSource) -> Sample:
    """The first bytes of a text; what is no text is refused."""
    content = source.head(SAMPLE + 1)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{source.label} is UTF-16; charset='utf-16' reads it.")
    if 0 in content:
        raise DataError(
            f"{source.label} is not text: byte {content.index(0)} is 0, and it is no other format "
            f"that is known here."
        )
    if b"\r" in content and b"\n" not in content and b"\r" in content.rstrip(b"\r"):
        raise DataError(
            f"{source.label} ends its lines with carriage returns alone; convert them to line "
            f"feeds."
        )
    mark = 3 if content.startswith(b"\xef\xbb\xbf") else 0
    return Sample(content[mark:], mark, len(content) <= SAMPLE)


def looks_headed(first: Sequence[bytes], comma: bool) -> bool:
    """Whether a first row has names: something, and no number, which may have a decimal comma."""
    return any(first) and not any(map(_is_number, _with_points(first, comma)))


def _is_number(cell: bytes) -> bool:
    return A_NUMBER.fullmatch(cell) is not None


def _with_points(row: Sequence[bytes], comma: bool) -> list[bytes]:
    return [cell.replace(b",", b".") if comma else cell for cell in row]


class Named(NamedTuple):
    """Names of columns that tell where the names are: what the user called some, a model all."""

    by_user: frozenset[str] = frozenset()
    by_model: frozenset[str] = frozenset()

    def are_in(self, row: Sequence[bytes]) -> bool:
        """Whether this row has one that the user named, or half of its cells are a model's.

        A number that the user gave may be the place of a column.

        >>> from kernelight.data.dialect import Named
        >>> named = Named(frozenset(["kind", "1", "2021"]))
        >>> [named.are_in(row) for row in ([b"a", b"kind"], [b"a", b"1"], [b"a", b"2021"])]
        [True, False, True]
        """
        cells = {cell.decode(errors="replace") for cell in row if cell}
        names = self.by_user & cells
        if any(not re.fullmatch(r"-?[0-9]{1,9}", n) or abs(int(n)) > len(row) for n in names):
            return True
        return len(cells) > 0 and 2 * len(self.by_model & cells) >= len(cells)


NOT_NAMED = Named()


def numbers_in_names(rows: Sequence[Sequence[bytes]]) -> list[str]:
    """The numbers in the first of some rows, if it has names and these are years or a count.

    There must be words beside them, and years (two at least) or 0, 1, 2 or 1, 2, 3 and so on, which
    none of the next rows has.

    >>> from kernelight.data.dialect import numbers_in_names
    >>> numbers_in_names([[b"country", b"2019", b"2020"], [b"Malta", b"0.5", b"0.51"]])
    ['2019', '2020']
    >>> numbers_in_names([[b"Malta", b"2019", b"2020"], [b"Cyprus", b"2018", b"2021"]])
    []
    """
    first, *later = rows
    places = [at for at, cell in enumerate(first) if _is_number(cell)]
    words = any(cell and not _is_number(cell) for cell in first)
    later = [row for row in later if len(row) == len(first)]
    told = [_years_or_count([row[at] for at in places]) for row in (first, *later)]
    if not words or not later or not told[0] or any(told[1:]):
        return []
    return [first[at].decode() for at in places]


def _years_or_count(cells: Sequence[bytes]) -> bool:
    """Whether cells are different years in order, or count from 0 or 1."""
    if len(cells) < 2 or not all(re.fullmatch(rb"[0-9]{1,4}", cell) for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    steps = {after - before for before, after in pairwise(numbers)}
    years = all(1800 <= number <= 2200 for number in numbers)
    count = len(cells) > 2 and numbers[0] in (0, 1) and steps == {1}
    return count or (years and (min(steps) > 0 or max(steps) < 0))


def titles_above(rows: Sequence[Sequence[bytes]], comma: bool, named: Named = NOT_NAMED) -> int:
    """How many of the first rows are a title above the names of the columns.

    A title has one cell that is not empty. It is followed by names: two cells at least, none of
    them empty or a number. They must be different, unless something tells that they are names:
    numbers in later rows, or names that the user or a model knows. It must also where empty cells
    stand beside the title, as spreadsheets write them: these could be the names of a table of
    words. Where the user or a model knows the names, a title may have several cells, if they are
    fewer than in most rows: there may be a delimiter in it. Names of groups of columns above the
    names are a title as well (`_are_groups`).

    >>> from kernelight.data.dialect import titles_above
    >>> titles_above([[b"Report of March"], [b"a", b"b"], [b"1", b"2"]], comma=False)
    1
    >>> titles_above([[b"a", b""], [b"x", b"y"], [b"u", b"v"]], comma=False)
    0
    """
    first_named = next((at for at, row in enumerate(rows) if named.are_in(row)), 1)
    if 0 < first_named <= MOST_TITLES and _are_groups(rows, first_named, comma, named):
        return first_named
    width = Counter(map(len, rows)).most_common(1)[0][0] if any(map(named.are_in, rows)) else 0
    count = 0
    while count < len(rows) and (sum(map(bool, rows[count])) <= 1 or len(rows[count]) < width):
        count += 1
    if not 0 < count <= MOST_TITLES or count == len(rows) or not any(rows[0]):
        return 0
    names, later = rows[count], rows[count + 1 :]
    told = named.are_in(names) or not all(looks_headed(row, comma) for row in later)
    different = len({*names}) == len(names) or told
    if len(names) < 2 or not all(names) or not different:
        return 0
    if not looks_headed(names, comma) and not numbers_in_names(rows[count:]):
        return 0
    if any(len(row) == len(names) for row in rows[:count]) and not told:
        return 0
    if any(sum(map(bool, row)) > 1 for row in rows[:count]) and not named.are_in(names):
        return 0
    return count


def _are_groups(rows: Sequence[Sequence[bytes]], count: int, comma: bool, named: Named) -> bool:
    """Whether the first ``count`` rows name groups of columns, and the next row the columns.

    As spreadsheets write merged cells, names of groups have empty cells behind them. The names of
    the columns are different, and none is empty or a number. The user or a model knows them, or all
    columns of numbers have words there, which are not all units, and no later row has one of them.

    >>> from kernelight.data.dialect import titles_above
    >>> rows = [[b"Person", b"", b"End"], [b"age", b"sex", b"y"], [b"3", b"f", b"1"]]
    >>> titles_above([*rows, [b"4", b"m", b"0"]], comma=False)
    1
    """
    above, names = rows[:count], rows[count] if count < len(rows) else ()
    gaps = all(any(row) and len(row) <= len(names) and not all(row) for row in above)
    if not gaps or len(names) < 2 or len({*names}) < len(names):
        return False
    if not all(names) or not looks_headed(names, comma):
        return False
    if named.are_in(names):
        return True
    columns = [*zip(*(row for row in rows[count + 1 :] if len(row) == len(names)), strict=True)]
    if not columns or len(columns[0]) < 2:
        return False
    if any(name in column for name, column in zip(names, columns, strict=True)):
        return False
    numeric = [
        name
        for name, column in zip(names, columns, strict=True)
        if any(column) and all(map(_is_number, filter(None, _with_points(column, comma))))
    ]
    said = [name.decode(errors="replace") for name in names]
    # an index without a name stands first, and its first row may have a word among numbers
    return len(numeric) > (not above[0][0]) and not all(map(is_unit, said))


def names_in(first: Sequence[bytes], label: str, line: int = 1) -> list[str]:
    """The names of the columns in a row, which begins in a line."""
    try:
        return [cell.decode() or f"column_{at + 1}" for at, cell in enumerate(first)]
    except UnicodeDecodeError:
        raise DataError(
            f"{label}, line {line}: the names of the columns are not UTF-8{OTHER_CHARSET}."
        ) from None


def kind_of(name: str, cells: Sequence[bytes], categorical: set[str]) -> tuple[Column, bool]:
    """Numbers or words, by the first values that are not missing.

    It is a guess, as the second result says, if some are not numbers.
    """
    odd = sum(not A_NUMBER.fullmatch(cell) for cell in cells)
    words = name in categorical or (bool(cells) and 2 * odd >= len(cells))
    return Column(name, CATEGORICAL if words else NUMBER), odd > 0 and name not in categorical


def checked_delimiter(delimiter: Any) -> str:
    """A delimiter that the user has named, if it can be one."""
    odd = not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii()
    if odd or delimiter.isalnum() or delimiter in '"\r\n.+-\0':
        raise DataError(f"delimiter must be one character such as ',' or ';', got {delimiter!r}.")
    return str(delimiter)


def rows_of(text: bytes, delimiter: str) -> Iterator[list[bytes]]:
    """The rows of a text as fields; a quote left open ends them.

    It is slow, and for the first rows only, before the core can be told what to read.
    """
    stop = re.compile(b"[\n" + re.escape(delimiter.encode()) + b"]")
    blanks = b" \t".replace(delimiter.encode(), b"")
    at, row, quoted = 0, list[bytes](), False
    while at < len(text):
        start = at
        while text[start : start + 1] and text[start] in blanks:
            start += 1
        cell = None
        if text[start : start + 1] == b'"':
            quoted = True
            at = text.find(b'"', start + 1)
            while at >= 0 and text[at + 1 : at + 2] == b'"':
                at = text.find(b'"', at + 2)
            if at < 0:
                return
            cell = text[start + 1 : at].replace(b'""', b'"')
        stopped = stop.search(text, at)
        end = stopped.start() if stopped else len(text)
        more = stopped is not None and text[end] != 10
        plain = text[start:end]
        row.append(
            (plain if more else plain.removesuffix(b"\r")).strip(blanks) if cell is None else cell
        )
        at = end + 1
        if more and at < len(text):
            continue
        if more:
            row.append(b"")
        if len(row) > 1 or row[0] or quoted:
            yield row
        row, quoted = [], False


def sniffed(sample: bytes, comma: bool = False) -> str:
    """The delimiter that gives most of the first rows the same number of fields, at least two.

    With decimal commas it is a comma only if no other gives two.
    """
    start = sample[: 1 << 16]
    best, chosen = (0.0, 0), ","
    for delimiter in DELIMITERS:
        counts = Counter()  # type: Counter[int]
        for _, row in zip(range(20), rows_of(start, delimiter), strict=False):
            counts[len(row)] += 1
        if not counts:
            continue
        fields, rows = counts.most_common(1)[0]
        score = (0.0 if comma and delimiter == "," else rows / sum(counts.values()), fields)
        if fields > 1 and score > best:
            best, chosen = score, delimiter
    return chosen
