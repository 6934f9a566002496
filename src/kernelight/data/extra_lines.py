"""Lines of a delimited text that are no rows: repeated names, units below them, sums, footers.

They are left out, with a note, or refused (strict). Each must be unmistakable:

* A line is repeated names if it is the same, byte for byte, as that of the names, which must be two
  at least. Files that were put together have such lines.
* The line below the names has units if, in every column that is numbers in the next rows, it has a
  unit (``kg``, ``m/s``, ``[°C]``) or nothing, and a unit at least once; beside two units other
  words may stand there, but no number.
* The line below the names is drawn if its cells are dashes and nothing else (``---``).
* The last lines are sums (or means) if their only word says so (``Total``, ``Summe``), beside
  numbers and empty cells, and the column of that word has none like it in the first rows.
* Lines below the rows are footers if they have fewer cells than a row, or one that is not empty of
  three at least, and a sum stands above them, or they are more than a word and say so (``Source:
  ...``, ``Stand: ...``) or have a blank line above them.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from kernelight import _core
from kernelight.data.byte_sources import Text, line_ends
from kernelight.data.dialect import A_NUMBER, Dialect, rows_of
from kernelight.data.errors import DataError, shown
from kernelight.data.table_source import NUMBER
from kernelight.data.text_formats import FORMATS, can_read
from kernelight.data.units import is_unit

_SUMMARY = re.compile(
    "(?:(?:grand |sub[- ]?)?totals?|sums?|total général|totale|totaal|gesamt|insgesamt"
    "|(?:gesamt|zwischen|end|schluss)?summe|somme|suma|average|avg|mean|durchschnitt|mittelwert"
    r"|moyenne)(?: [12]\d{3})?(?: ?\([^()]*\))?",  # a year and a unit may follow
    re.IGNORECASE,
)
_FOOTER = re.compile(
    r"[*†©]|\(c\)|(?:sources?|notes?|footnotes?|remarks?|comments?|legend|generated|exported"
    r"|created|printed|downloaded|retrieved|last (?:updated?|modified)|updated|as of|report|end of"
    r"|page|copyright|all rights reserved|disclaimer|seite|quellen?|anmerkung(?:en)?|hinweise?"
    r"|fußnoten?|bemerkung(?:en)?|legende|stand|erstellt|export|exportiert|gedruckt|druckdatum"
    r"|ausdruck|abgerufen|bericht|ende|fuente|notas?|généré)\b",
    re.IGNORECASE,
)
_RULE = re.compile(rb":?(?:-{3,}|={3,}|_{3,}):?")
_TAIL = 1 << 16  # bytes at the end in which sums and footers are looked for
MOST_SUMS, MOST_FOOTERS = 3, 5  # lines at the end
# Bytes that are no letters, and e, which numbers have: each word of a sum has other letters.
_NOT_IN_WORDS = bytes({*range(256)} - {*string.ascii_letters.encode()} | {*b"eE"})
UNIT_ROWS = 20  # rows that say which columns are numbers


def is_summary(word: str) -> bool:
    """Whether a word says that a row is the sum or the mean of others.

    >>> from kernelight.data.extra_lines import is_summary
    >>> is_summary("Total:"), is_summary("SUMME"), is_summary("Totally")
    (True, True, False)
    >>> is_summary("Endsumme"), is_summary("Grand total (EUR)"), is_summary("Total 2024")
    (True, True, True)
    """
    return _SUMMARY.fullmatch(word.strip(" \t:*.=")) is not None


def has_summary(cells: Iterable[bytes | None]) -> bool:
    """Whether one of some cells is such a word; those that are missing are None.

    >>> from kernelight.data.extra_lines import has_summary
    >>> has_summary([b"north", None, b"Total"]), has_summary([b"1.5", b"2e3"])
    (True, False)
    """
    there = [cell for cell in cells if cell]
    return _may_have_words(b"".join(there)) and any(is_summary(_said(cell)) for cell in there)


def _may_have_words(text: bytes) -> bool:
    return bool(text.translate(None, _NOT_IN_WORDS))


def _said(cell: bytes) -> str:
    return cell.decode(errors="replace").strip()


def _is_number(cell: bytes) -> bool:
    return A_NUMBER.fullmatch(cell) is not None or any(
        can_read(_said(cell), form) for form in FORMATS[NUMBER]
    )


def are_units(first: Sequence[bytes], rows: Sequence[Sequence[bytes]], absent: set[bytes]) -> bool:
    """Whether the row below the names has the units of the columns; ``rows`` are the next ones.

    >>> from kernelight.data.extra_lines import are_units
    >>> are_units([b"", b"kg", b"m/s"], [[b"a", b"1", b"2.5"], [b"b", b"3", b"4"]], {b""})
    True
    >>> are_units([b"c", b"unknown", b"3"], [[b"a", b"1", b"2.5"], [b"b", b"3", b"4"]], {b""})
    False
    """
    rows = [row for row in rows if len(row) == len(first)]
    if len(rows) < 2:
        return False
    units = others = 0
    for at, cell in enumerate(first):
        values = [row[at] for row in rows if row[at] not in absent]
        if not values or not all(map(_is_number, values)) or cell in absent:
            continue
        said = _said(cell)
        if said[:1] + said[-1:] in ("[]", "()"):
            said = said[1:-1].strip()
        if _is_number(cell):
            return False
        unit = is_unit(said)
        units, others = units + unit, others + (not unit)
    return units > (others > 0)


def is_ruled(row: Sequence[bytes]) -> bool:
    """Whether a row is a line drawn below the names.

    >>> from kernelight.data.extra_lines import is_ruled
    >>> is_ruled([b"---", b"======"]), is_ruled([b"---", b"3"]), is_ruled([b"", b""])
    (True, False, False)
    """
    ruled = [_RULE.fullmatch(cell) is not None for cell in row if cell]
    return len(ruled) > 0 and all(ruled)


class _Line(NamedTuple):
    """A line of a text that is not blank: its first byte, its end, and what is in it.

    Lines of delimiters alone are blank; those below it, if there are any, belong to it.
    """

    start: int
    stop: int
    content: bytes
    blank_below: bool


class ExtraLines:
    """Finds and blanks lines that repeat the names, and those of sums and footers at the end."""

    def __init__(
        self,
        label: str,
        dialect: Dialect,
        *,
        names: bytes,
        n_columns: int,
        first_line: int,
        strict: bool,
    ) -> None:
        self._label, self._n_columns, self._strict = label, n_columns, strict
        self._delimiter, self._absent = dialect.delimiter, dialect.absent()
        self._white = b" \t\r\n".replace(dialect.delimiter.encode(), b"")
        self._first_line = first_line  # where the rows begin
        # the line of the names; none if it could not be told from a row
        told = n_columns > 1 and b"\n" not in names
        self._names = np.frombuffer(names if told else b"", np.uint8)
        self._repeated: set[int] = set()  # lines
        self._sums: dict[int, str] = {}  # line -> its word
        self._footers: dict[int, str] = {}  # line -> what it says
        self.usual: set[int] = set()  # columns that have such words in other rows

    def blanked(self, text: Text, first_line: int, *, final: bool) -> Text:
        """A text that begins at a row with blanks instead of those lines.

        ``final`` says whether it is the end of the file. Lines that are not complete stay.
        """
        names = [*self._names_in(text, final)]
        counted, line = 0, first_line
        for start, _ in names:
            line += line_ends(text[counted:start])
            counted = start
            self._repeated.add(line)
        text = self._without(text, names)
        if not final:
            return text
        text = self.without_footers(text, first_line)
        sums = [*self._sums_in(text, first_line)]
        for line_of_sums, word in sums:
            self._sums[first_line + line_ends(text[: line_of_sums.start])] = word
        return self._without(text, [(found.start, found.stop) for found, _ in sums])

    def without_footers(self, text: Text, first_line: int) -> Text:
        """The end of a file with blanks instead of its footers."""
        footers = self._footers_in(text, first_line)
        for line, said in footers:
            self._footers[first_line + line_ends(text[: line.start])] = said
        places = [(line.start, line.stop) for line, _ in footers]
        if footers:  # lines of delimiters above them go too
            first = footers[-1][0].start
            above = text[max(0, first - _TAIL) : first].tobytes()
            row = len(above.rstrip(self._white + self._delimiter.encode()))
            end_of_row = above.find(b"\n", row) if row else -1
            places.append((first - len(above) + end_of_row + 1, first))
        return self._without(text, places)

    def _without(self, text: Text, places: Sequence[tuple[int, int]]) -> Text:
        """The text with blanks in some places."""
        if not places:
            return text
        if self._strict:
            raise DataError(
                f"{self._label}: {self.notes()[0].removesuffix('; left out')}; delete "
                "such lines, or leave strict=True out."
            )
        text = text.copy()
        for start, end in places:
            text[start:end] = ord("\t" if self._delimiter == " " else " ")
        return text

    def extra_from(self, text: Text, first_line: int) -> int:
        """Where sums and footers begin that a text of whole lines ends with; else its length.

        They are rows if others follow them, which only the next piece of the file can tell. Footers
        need the line above them.
        """
        end, waits = len(text), True
        for at, last in enumerate(self._lines_from_end(text, first_line)):
            if not waits:
                break
            waits = at < MOST_FOOTERS and self._footer_of(last.content) is not None
            if waits or at > 0 or last.blank_below:
                end = last.start
        sums = (line.start for line, _ in self._sums_in(text[:end], first_line))
        return min(sums, default=end)

    def notes(self) -> list[str]:
        """What was left out so far."""
        said = []
        if self._repeated:
            first, many = min(self._repeated), len(self._repeated)
            said.append(
                f"line {first} repeats the names of the columns; left out"
                if many == 1
                else f"{many:,} lines, the first line {first}, repeat the names of the columns; "
                f"left out"
            )
        for line, word in sorted(self._sums.items()):
            said.append(f"line {line} ({shown(word)}) sums up the rows above it; left out")
        for line, word in sorted(self._footers.items()):
            said.append(f"line {line} ({shown(word)}) is a footer below the rows; left out")
        return said

    def _names_in(self, text: Text, final: bool) -> Iterator[tuple[int, int]]:
        """Where the names are repeated: from the first byte to the line end."""
        end, length = 0, len(self._names)
        while length and (at := _core.find_line(text, self._names, end, final)) >= 0:
            end = at + length
            yield at, end

    def _sums_in(self, text: Text, first_line: int) -> Iterator[tuple[_Line, str]]:
        """The last lines that are sums, from the last one backwards, with their words."""
        for line in islice(self._lines_from_end(text, first_line), MOST_SUMS):
            word = self._summary_of(line.content)
            if word is None:
                return
            yield line, word

    def _footers_in(self, text: Text, first_line: int) -> list[tuple[_Line, str]]:
        """The last lines that are footers, from the last one backwards, with what they say."""
        found: list[tuple[_Line, str]] = []
        above: _Line | None = None
        for line in self._lines_from_end(text, first_line):
            footer = self._footer_of(line.content) if len(found) < MOST_FOOTERS else None
            if footer is None:
                above = line
                break
            found.append((line, footer))
        sentences = all(" " in said or ":" in said for _, said in found)
        told = sentences and all(_FOOTER.match(said) for _, said in found)
        if above is None:  # there is nothing else in the file, or in this piece of it
            return found if told and first_line > self._first_line else []
        below_sum = self._summary_of(above.content) is not None
        return found if below_sum or told or (sentences and above.blank_below) else []

    def _lines_from_end(self, text: Text, first_line: int) -> Iterator[_Line]:
        """The lines of a text from the last one on, but for blank ones."""
        start = max(0, len(text) - _TAIL)
        tail = text[start:].tobytes()
        end = stop = len(tail.rstrip(self._white))
        blank = tail.count(b"\n", end) > 1
        while end > 0:
            begin = tail.rfind(b"\n", 0, end) + 1
            # a single row is no sum, and of a line that is too long the beginning is not known
            if begin == 0 and (start > 0 or first_line == self._first_line):
                return
            content, above = tail[begin:end], len(tail[:begin].rstrip(self._white))
            gap = tail.count(b"\n", above, begin) > 1
            if content.strip(self._delimiter.encode() + b" \t\r"):
                yield _Line(start + begin, start + stop, content, blank)
                blank, stop = gap, above
            else:
                blank = True
            end = above

    def _footer_of(self, line: bytes) -> str | None:
        """What a line says that may be a footer: it has words, and too few cells for a row."""
        if not _may_have_words(line):
            return None
        cells = next(rows_of(line, self._delimiter), [])
        there = [cell for cell in cells if cell not in self._absent]
        padded = len(cells) == self._n_columns
        if not there or len(cells) > self._n_columns or self._n_columns < 2:
            return None
        if padded and (len(there) > 1 or self._n_columns < 3):
            return None
        return None if _is_number(there[0]) or is_summary(_said(there[0])) else _said(there[0])

    def _summary_of(self, line: bytes) -> str | None:
        """The word that makes a row a sum, if it is one."""
        if not _may_have_words(line):  # nearly always, and the line may be long
            return None
        cells = next(rows_of(line, self._delimiter), [])
        if len(cells) != self._n_columns or len(cells) < 2:
            return None
        there = [at for at, cell in enumerate(cells) if cell not in self._absent]
        words = [at for at in there if not _is_number(cells[at])]
        if len(words) != 1 or words[0] in self.usual or not is_summary(_said(cells[words[0]])):
            return None
        return _said(cells[words[0]]) if len(there) > 1 else None
