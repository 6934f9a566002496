"""How a delimited text is written, by its first bytes: delimiter, names, numbers or words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from kernelight.data.byte_sources import ByteSource
from kernelight.data.errors import DataError
from kernelight.data.table_source import CATEGORICAL, NUMBER, Column

SAMPLE = 1 << 22  # bytes
SAMPLE_ROWS = 500
MOST_TITLES = 5  # rows above the names of the columns
DELIMITERS = (",", "\t", ";", "|")
MISSING = (
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
OTHER_CHARSET = "; charset='cp1252', or the encoding that it has, reads it"
A_NUMBER = re.compile(
    rb"[ "
    rb"\t]*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[iI][nN][fF](?:inity|INITY)?)[ "
    rb"\t]*"
)


class Dialect(NamedTuple):
    """How a text is to be read."""

    delimiter: str
    missing: tuple[str, ...] = MISSING


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
    cells = [cell.replace(b",", b".") for cell in first] if comma else first
    return any(first) and not any(A_NUMBER.fullmatch(cell) for cell in cells)


def titles_above(rows: Sequence[Sequence[bytes]], comma: bool, known: Collection[str] = ()) -> int:
    """How many of the first rows are a title above the names of the columns.

    A title has one cell that is not empty. It is followed by names: two cells at least, different,
    none of them empty or a number. Where empty cells stand beside it, as spreadsheets write them,
    it could be the names of a table of words; then something must tell: numbers in later rows, or
    names that a model knows (``known``).

    >>> from kernelight.data.dialect import titles_above
    >>> titles_above([[b"Report of March"], [b"a", b"b"], [b"1", b"2"]], comma=False)
    1
    >>> titles_above([[b"a", b""], [b"x", b"y"], [b"u", b"v"]], comma=False)
    0
    """
    count = 0
    while count < len(rows) and sum(map(bool, rows[count])) <= 1:
        count += 1
    if not 0 < count <= MOST_TITLES or count == len(rows) or not any(rows[0]):
        return 0
    names = rows[count]
    named = len(names) > 1 and all(names) and len({*names}) == len(names)
    if not named or not looks_headed(names, comma):
        return 0
    if any(len(row) == len(names) for row in rows[:count]):
        tells = {cell.decode(errors="replace") for cell in names} & {*known}
        if not tells and all(looks_headed(row, comma) for row in rows[count + 1 :]):
            return 0
    return count


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
