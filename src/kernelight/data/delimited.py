"""Delimited text: CSV, TSV and the like, with or without names, quoted or not.

The first 500 rows (of the first 4 MB) decide what a column is: words, if half or more of its values
are not numbers; else numbers, and then a word in it is missing, or an error (strict).
``categorical`` names columns that look like numbers and are words.

Long because a block of rows is read in one place: the roles of the columns, the call of the core,
columns of numbers with words among them, and the errors with their lines share the same arrays.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base import counted
from kernelight.base.checks import resources
from kernelight.data.byte_sources import (
    CHUNK,
    LONGEST_ROW,
    ByteSource,
    Reader,
    Text,
    Window,
    line_ends,
)
from kernelight.data.column_formats import are_digits_of_one_length
from kernelight.data.dialect import (
    A_NUMBER,
    NOT_NAMED,
    OTHER_CHARSET,
    SAMPLE_ROWS,
    Dialect,
    MissingWords,
    Named,
    checked_delimiter,
    kind_of,
    looks_headed,
    names_in,
    numbers_in_names,
    rows_of,
    sample_of,
    sniffed,
    titles_above,
)
from kernelight.data.errors import DataError, shown
from kernelight.data.exact_integers import restored
from kernelight.data.extra_lines import MOST_SUMS, ExtraLines, are_units, has_summary, is_ruled
from kernelight.data.growing import Growing
from kernelight.data.number_columns import count_rows
from kernelight.data.table_source import (
    NUMBER,
    Block,
    Categorical,
    Column,
    ColumnSelection,
    Odd,
    StoredText,
    TableSource,
    joined,
)
from kernelight.data.word_counts import too_many_words

_FEW, _MANY, _NOT_NUMBER, _OPEN, _AFTER, _LONG = range(1, 7)  # of core/parse_csv.h
_SKIP, _FEATURE, _ASIDE, _WORD = range(4)
SINGLE_QUOTES = re.compile(rb"'.*'", re.DOTALL)
FIRST_ROWS = 20  # that show where the names of the columns are


class _Spans(NamedTuple):
    """Words as places of a text: (columns, rows)."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]


class _WordAmongNumbersError(DataError):
    """A word in a column of numbers."""

    def __init__(self, sentence: str, column: str) -> None:
        super().__init__(sentence)
        self.column = column


class DelimitedSource(TableSource):
    """A delimited text file."""

    text = True

    def __init__(
        self,
        source: ByteSource,
        *,
        delimiter: str | None,
        header: bool | None,
        missing: MissingWords,
        categorical: Sequence[str],
        names: Sequence[str] | None,
        settled: bool,
        threads: int,
        comma: bool = False,
        named: Named = NOT_NAMED,
        strict: bool = False,
    ) -> None:
        self._loose: list[str] = []  # columns of numbers in which a word was found
        self._last_roles: tuple[ColumnSelection, NDArray[np.int64], dict[str, int]] | None = None
        self.label, self._source, self._threads = source.label, source, threads
        self._settled = settled  # whether a model has settled what is a number
        sample, self._mark, ended = sample_of(source)
        delimiter = sniffed(sample, comma) if delimiter is None else checked_delimiter(delimiter)
        self.comma, self.delimiter = comma or delimiter == ";", delimiter
        self._dialect = Dialect(delimiter, *missing)
        first_rows = list(islice(rows_of(sample, delimiter), FIRST_ROWS + 2))
        if not first_rows:
            raise DataError(f"{self.label} is empty.")
        titles = 0
        if header is None:
            titles = titles_above(first_rows, self.comma, named)
            if titles:
                self._note_titles(first_rows[0], titles, strict)
        no_row: list[bytes] = []
        first, second, *others = [*first_rows[titles:], no_row]
        self.headed = self._is_headed(first_rows[titles:], named) if header is None else header
        self._offset = 0
        line = b""  # that of the names
        if self.headed:
            more = len(second) - len(first)
            if more > 0 and not any(second[-more:]):  # rows end with delimiters, the names do not
                first = [*first, *[b""] * more]
            elif second and more < 0 and not any(first[more:]):  # and the other way round
                first = first[:more]
            if len(first) < len(second):
                self.title_hint = "; if line 1 is a title, delete it"
            self._names = self._distinct(names_in(first, self.label, titles + 1), named.by_model)
            self.nameless = frozenset(
                name for cell, name in zip(first, self._names, strict=True) if not cell
            )
            self._offset = self._after_rows(sample, ended, titles + 1)
            before = self._after_rows(sample, ended, titles) if titles else 0
            line = sample[before : self._offset].strip(b"\r\n")
            below = titles + 1
            if is_ruled(second):
                self._note_line("is a line of dashes below the names", second, sample, strict)
                below += 1
                self._offset = self._after_rows(sample, ended, below)
                second, *others = others or [no_row]
            if are_units(second, others, self._dialect.absent()):
                self._note_line("has the units of the columns", second, sample, strict)
                self._offset = self._after_rows(sample, ended, below + 1)
        else:
            count = len(first)
            trained = list(names or ())
            self._names = (
                trained if len(trained) == count else [f"column_{at + 1}" for at in range(count)]
            )
        if not settled:
            self._note_single_quotes([second, *others])
        self._first_line = 1 + sample.count(b"\n", 0, self._offset)
        self._extra = ExtraLines(
            self.label,
            self._dialect,
            names=line,
            n_columns=len(self._names),
            first_line=self._first_line,
            strict=strict,
        )
        self.columns = self._kinds(sample, ended, set(categorical))
        if not self.headed and self._names[-1] in self.blank:  # rows end with a delimiter
            self.nameless = frozenset(self._names[-1:])

    # -- What is in the file

    def _note_titles(self, first: Sequence[bytes], count: int, strict: bool) -> None:
        """Note the rows above the names of the columns, or refuse them (strict)."""
        title = self._shown(next(cell for cell in first if cell), 1)
        what = (
            f"line 1 ({title}) is above the names of the columns"
            if count == 1
            else f"{count} lines, the first {title}, are above the names of the columns"
        )
        if strict:
            raise DataError(
                f"{self.label}: {what}; delete {'it' if count == 1 else 'them'}, or leave "
                f"strict=True out."
            )
        self.notes = (f"{what}; skipped",)

    def _is_headed(self, rows: Sequence[Sequence[bytes]], named: Named) -> bool:
        """Whether the first of some rows has the names; numbers among them are noted."""
        if named.are_in(rows[0]) or looks_headed(rows[0], self.comma):
            return True
        numbers = numbers_in_names(rows)
        if numbers:
            self.notes = (
                *self.notes,
                f"the first row has the names of the columns, with numbers such as {numbers[0]} "
                f"among them; header=False reads it as values",
            )
        return bool(numbers)

    def _note_line(self, said: str, cells: Sequence[bytes], sample: bytes, strict: bool) -> None:
        """Note the row below the names that is no row of data, or refuse it (strict)."""
        absent = self._dialect.absent()
        some = next((cell for cell in cells if cell not in absent), max(cells))
        line = 1 + sample.count(b"\n", 0, self._offset)
        what = f"line {line} ({self._shown(some, line)}) {said}"
        if strict:
            raise DataError(f"{self.label}: {what}; delete it, or leave strict=True out.")
        self.notes = (*self.notes, f"{what}; left out")

    def _shown(self, cell: bytes, line: int) -> str:
        """A cell of a line that is left out, which must be UTF-8."""
        try:
            return shown(cell.decode())
        except UnicodeDecodeError:
            raise DataError(
                f"{self.label}, line {line}: the text is not UTF-8{OTHER_CHARSET}."
            ) from None

    def _note_single_quotes(self, rows: Sequence[Sequence[bytes]]) -> None:
        """Note columns whose cells are in single quotes, which are no quotes in such a text."""
        some = zip(*(row for row in rows if len(row) == len(self._names)), strict=True)
        cells = next((c for c in some if len(c) > 1 and all(map(SINGLE_QUOTES.fullmatch, c))), ())
        if cells:
            self.notes = (
                *self.notes,
                f"cells such as {shown(cells[0])} are in single quotes, which are taken as part of "
                f"the words; write double quotes, or none",
            )

    @property
    def row_notes(self) -> list[str]:
        return self._extra.notes()

    def _after_rows(self, sample: bytes, ended: bool, count: int) -> int:
        """Where the rows behind the names begin, which are in the row of number ``count``."""
        text = np.frombuffer(sample, np.uint8)
        at = self._end_of(text, count)
        if at == len(text) and not ended:
            raise DataError(
                f"{self.label}, line 1: the names of the columns do not end within 4 megabytes."
            )
        return at

    def _kinds(self, sample: bytes, ended: bool, categorical: set[str]) -> tuple[Column, ...]:
        """Numbers or words, by the first rows."""
        text = np.frombuffer(sample, np.uint8)[self._offset :]
        cut, position = 0, 0
        content = sample[self._offset :]
        while cut < SAMPLE_ROWS and (position := content.find(b"\n", position) + 1):
            cut += 1
        text = text[:position] if position else text
        text = self._extra.blanked(text, self._first_line, final=False)
        final = ended and position == 0
        if final:
            text = self._extra.without_footers(text, self._first_line)
        table, n_rows = self._cells_of(text, final)
        # a sum at the end counts for nothing, but it must be known which columns have others
        self._extra.usual = {
            at
            for at, cells in enumerate(table)
            if has_summary(cells[: -MOST_SUMS if final else None])
        }
        cleaned = self._extra.blanked(text, self._first_line, final=final)
        if cleaned is not text:
            table, n_rows = self._cells_of(cleaned, final)
        absent = self._dialect.absent()
        kinds, guessed, blank, digits, counting = [], [], [], [], []
        for at, name in enumerate(self._names):
            cells = [c for c in table[at] if c is not None and c not in absent] if table else []
            column, guess = kind_of(name, cells, categorical)
            kinds.append(column)
            if guess:
                guessed.append(name)
            if n_rows and not cells and column.kind == NUMBER:
                blank.append(name)
            numbers = column.kind == NUMBER and not guess and len(cells) == n_rows
            if numbers and all(count_rows(np.array(some, float)) for some in (cells[:2], cells)):
                counting.append(name)
            if column.kind == NUMBER and are_digits_of_one_length(cells):
                digits.append(name)
        self.guessed, self._blank = frozenset(guessed), frozenset(blank)
        self.digits, self._counting = frozenset(digits), frozenset(counting)
        return tuple(kinds)

    def _cells_of(self, text: Text, final: bool) -> tuple[list[list[bytes | None]], int]:
        """The cells of the columns of a text, None where one is missing, and how many rows it has.

        Of a damaged text, rows that are whole count; the damage is reported when all are read.
        """
        starts, rows, _ = self._layout(text, final=final)
        count = len(self._names)
        roles = np.array([(_WORD, at) for at in range(count)], dtype=np.int64)
        parsed = self._run(text, starts, rows, roles, 0, 0, count, np.float64)
        if parsed is not None:
            return [_cells(text, parsed[2], at) for at in range(count)], int(rows[-1])
        whole = (
            row for row in rows_of(text.tobytes(), self._dialect.delimiter) if len(row) == count
        )
        return [list(column) for column in zip(*islice(whole, SAMPLE_ROWS), strict=True)], int(
            rows[-1]
        )

    # -- Rows

    def whole(self, selection: ColumnSelection) -> Block:
        matrix = Growing(selection.dtype, len(selection.numbers))
        parts = []
        with self._source.reader(whole=True) as reader:
            for part in self._parts(reader, selection, matrix):
                # the numbers are in the matrix, and in the part only as many rows
                parts.append(replace(part, numbers=np.empty((part.n_rows, 0))))
        return joined(parts, selection, matrix.array)

    def blocks(self, selection: ColumnSelection) -> Iterator[Block]:
        with self._source.reader() as reader:
            yield from self._parts(reader, selection, None)

    def _parts(
        self, reader: Reader, selection: ColumnSelection, matrix: Growing | None
    ) -> Iterator[Block]:
        """Some rows at a time; their numbers are added to the matrix, if there is one."""
        row = 0
        for _, text, layout, line in self._windows(reader):
            end = layout[2]
            lines, count = line_ends(text[:end]), int(layout[1][-1])
            if count:
                numbers = None if matrix is None else matrix.room(count, reader.fraction)
                block = self._block(text, selection, row, line, layout, numbers)
                if matrix is not None:
                    matrix.add(count)
                if count == lines + (text[end - 1] != ord("\n")):  # each row is one line
                    block.locate = partial(_line_by_row, line - row)
                else:
                    block.locate = self._locator(text[:end].copy(), row, line)
                yield block
            row += count

    def _windows(self, reader: Reader) -> Iterator[tuple[Text, Text, Any, int]]:
        """The text behind the names, whole rows at a time, until it is used again.

        Each time as it is, with blanks instead of lines that are no rows, its layout, and the
        number of its first line.
        """
        line = self._first_line
        reader.read(self._mark + self._offset)
        window = Window(reader, CHUNK)
        while not window.ended:
            given = window.more()
            text = self._extra.blanked(given, line, final=window.ended)
            layout = self._layout(text, final=window.ended)
            end = layout[2]
            if len(text) - end > LONGEST_ROW:
                raise self._source.endless_row(line + line_ends(text[:end]))
            # lines that are sums or footers if they are the last ones wait for what follows
            if not window.ended and (extra := self._extra.extra_from(text[:end], line)) < end:
                text = text[:extra]
                layout = self._layout(text, final=False)
                end = layout[2]
            yield given, text, layout, line
            line += line_ends(text[:end])
            window.drop(end)

    @property
    def charset(self) -> str | None:
        """The encoding of the file; None for UTF-8."""
        return self._source.charset

    def stored_rows(self) -> Iterator[StoredText]:
        with self._source.reader() as reader:
            head = np.frombuffer(reader.read(self._mark + self._offset), np.uint8)
            none = np.zeros(0, dtype=np.int64)
            yield StoredText(head, none, none)
        with self._source.reader() as reader:
            for given, text, (_, rows, end), _ in self._windows(reader):
                begins, ends = np.empty((2, int(rows[-1])), dtype=np.int64)
                _core.csv_rows(text[:end], ord(self._dialect.delimiter), True, begins, ends)
                yield StoredText(given[:end], begins, ends)

    def _locator(self, text: Text, first_row: int, first_line: int) -> Callable[[int], str]:
        """What says where a row is, by the text from the first row on."""
        return lambda row: f"line {first_line + self._line_of(text, row - first_row)}"

    def _layout(
        self, text: Text, *, final: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        starts, rows = np.zeros((2, _core.text_pieces(len(text)) + 1), dtype=np.int64)
        end = _core.csv_layout(
            text, ord(self._dialect.delimiter), final, starts, rows, self._workers(text)
        )
        return starts, rows, end

    def _workers(self, text: Text) -> int:
        return resources(self._threads).for_work(16 * len(text)).threads

    def _roles(self, selection: ColumnSelection) -> tuple[NDArray[np.int64], dict[str, int]]:
        """For each column what it is read as and its place there; and the places of words.

        A table may have more columns than rows in a piece, so this is done once for all pieces.
        """
        if self._last_roles is not None and self._last_roles[0] is selection:
            return self._last_roles[1:]
        numbers = {name: at for at, name in enumerate(selection.numbers)}
        words = {name: at for at, name in enumerate(selection.words)}
        roles = []
        for name in self._names:
            if name in numbers:
                roles.append((_FEATURE, numbers[name]))
            elif name in words:
                roles.append((_WORD, words[name]))
            elif name == selection.target and selection.target_kind == NUMBER:
                roles.append((_ASIDE, 0))
            elif name in (selection.target, selection.ids):
                words[name] = len(words)
                roles.append((_WORD, words[name]))
            else:
                roles.append((_SKIP, 0))
        self._last_roles = selection, np.array(roles, dtype=np.int64), words
        return self._last_roles[1:]

    def _block(
        self,
        text: Text,
        selection: ColumnSelection,
        first_row: int,
        first_line: int,
        layout: Any,
        numbers_into: NDArray[Any] | None,
    ) -> Block:
        starts, rows, _ = layout
        wanted, words = self._roles(selection)
        roles, aside = wanted.copy(), int((wanted[:, 0] == _ASIDE).any())
        loose = [
            name
            for name in (() if selection.strict else self._loose)
            if roles[self._names.index(name)][0] in (_FEATURE, _ASIDE)
        ]
        # columns of numbers in which there is a word are read as words, and made numbers here
        while True:
            texts: dict[str, int] = {}
            for name in loose:
                roles[self._names.index(name)] = _WORD, len(words) + len(texts)
                texts[name] = len(words) + len(texts)
            count = len(words) + len(texts)
            try:
                parsed = self._run(
                    text,
                    starts,
                    rows,
                    roles,
                    len(selection.numbers),
                    aside,
                    count,
                    selection.dtype,
                    first_line=first_line,
                    into=numbers_into,
                )
                break
            except _WordAmongNumbersError as odd_one:
                if selection.strict:
                    raise DataError(str(odd_one)) from None
                loose.append(odd_one.column)
                self._loose.append(odd_one.column)
        assert parsed is not None
        matrix, apart, spans = parsed
        locate = self._locator(text, first_row, first_line)
        odd: dict[str, Odd] = {}
        for name in loose:
            where = self._names.index(name)
            values = self._loose_numbers(
                text, spans, texts[name], where, locate, first_row, odd, first_line
            )
            kind, slot = wanted[where]
            if kind == _FEATURE:
                matrix[:, slot] = values
                if np.isinf(matrix[:, slot]).any():
                    row = int(np.argmax(np.isinf(matrix[:, slot])))
                    at = int(spans.starts[texts[name], row])
                    raise self._error(text, _NOT_NUMBER, at, where, first_line)
            else:
                apart[slot] = values

        if len(self.cells.codes):
            matrix[:], apart[:] = map(self.cells.without_codes, (matrix, apart))

        def column(name: str, limit: int | None) -> Categorical:
            return self._words(
                text, spans, words[name], name, limit, lambda row: locate(first_row + row)
            )

        target: Any = None
        if selection.target is not None:
            if selection.target_kind == NUMBER:
                place = self._names.index(selection.target)
                target = restored(
                    apart[0], lambda some: self._written(text, starts, rows, place, some)
                )
            else:
                target = column(selection.target, None)
        ids = None
        if selection.ids is not None:
            if selection.ids in selection.numbers or selection.ids not in words:
                raise DataError(
                    f"{self.label}: column {shown(selection.ids)} cannot be an id and something "
                    f"else."
                )
            ids = [
                ""
                if cell is None
                else self._decoded(cell, selection.ids, lambda r=r: locate(first_row + r))
                for r, cell in enumerate(_cells(text, spans, words[selection.ids]))
            ]
        return Block(
            matrix,
            tuple(column(name, selection.limit) for name in selection.words),
            target,
            ids,
            first_row,
            locate,
            odd=odd,
        )

    def _loose_numbers(
        self,
        text: Text,
        spans: _Spans,
        at: int,
        column: int,
        locate: Callable[[int], str],
        first_row: int,
        odd: dict[str, Odd],
        first_line: int,
    ) -> NDArray[np.float64]:
        """The numbers of a column that was read as words.

        A word is NaN, and counted in ``odd``.
        """
        starts, lengths = spans.starts[at], spans.lengths[at]
        codes = np.empty(len(starts), np.int32)
        firsts = np.empty(len(starts), np.int64)
        known, _ = _core.intern_words(text, starts, lengths, codes, firsts)
        places = firsts[:known]
        cells = _cells(text, _Spans(starts[None, places], lengths[None, places]), 0)
        values = np.full(known + 1, np.nan)
        strange = np.zeros(known + 1, dtype=bool)
        absent = self._dialect.absent()
        for code, cell in enumerate(cells):
            content = (cell or b"").strip(b" \t")
            if A_NUMBER.fullmatch(content):
                values[code] = float(content)
                if not math.isfinite(values[code]):
                    raise self._error(
                        text, _NOT_NUMBER, int(starts[places[code]]), column, first_line
                    )
            else:
                strange[code] = content not in absent
        gone = strange[codes]
        if gone.any():
            row = int(np.argmax(gone))
            name = self._names[column]
            odd[name] = Odd(
                int(gone.sum()), shown(cells[codes[row]] or b""), locate(first_row + row)
            )
        return values[codes]

    def _run(
        self,
        text: Text,
        starts: NDArray[np.int64],
        rows: NDArray[np.int64],
        roles: NDArray[np.int64],
        n_numbers: int,
        n_aside: int,
        n_words: int,
        dtype: Any,
        first_line: int | None = None,
        into: NDArray[Any] | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.float64], _Spans] | None:
        """The values of rows of a text: features, those kept aside, and places of words.

        Features are written ``into`` an array, if one is given. Damage is an error with its line;
        without a ``first_line`` the result is None instead.
        """
        count = int(rows[-1])
        matrix = np.empty((count, n_numbers), dtype=dtype) if into is None else into
        aside = np.empty((n_aside, count))
        spans = _Spans(np.empty((n_words, count), np.int64), np.empty((n_words, count), np.int32))
        everywhere = [word.encode() for word in self._dialect.missing]
        absent = everywhere + [word.encode() for word in self._dialect.missing_numbers]
        ends = np.cumsum([len(word) for word in absent], dtype=np.int64)
        kinds, slots = roles[:, 0].astype(np.int8), np.ascontiguousarray(roles[:, 1])
        kind, at, column = _core.csv_parse(
            text,
            ord(self._dialect.delimiter),
            np.frombuffer(b"".join(absent) or b"\0", np.uint8),
            ends,
            len(everywhere),
            starts,
            rows,
            kinds,
            slots,
            matrix,
            aside,
            *spans,
            self._workers(text),
        )
        if kind and first_line is None:
            return None
        if kind:
            raise self._error(text, kind, at, column, first_line or 1)
        return matrix, aside, spans

    def _written(
        self,
        text: Text,
        starts: NDArray[np.int64],
        rows: NDArray[np.int64],
        place: int,
        some: NDArray[np.intp],
    ) -> list[str]:
        """What stands in some rows of a column."""
        roles = np.zeros((len(self._names), 2), dtype=np.int64)  # _SKIP
        roles[place] = _WORD, 0
        parsed = self._run(text, starts, rows, roles, 0, 0, 1, np.float64)
        assert parsed is not None
        spans = _Spans(parsed[2].starts[:, some], parsed[2].lengths[:, some])
        return [(cell or b"").decode("ascii", "replace").strip() for cell in _cells(text, spans, 0)]

    def _words(
        self, text: Text, spans: _Spans, at: int, name: str, limit: int | None, where: Any
    ) -> Categorical:
        starts, lengths = spans.starts[at], spans.lengths[at]
        codes = np.empty(len(starts), np.int32)
        firsts = np.empty(len(starts) if limit is None else min(len(starts), limit + 1), np.int64)
        known, stopped = _core.intern_words(text, starts, lengths, codes, firsts)
        if stopped >= 0 or (limit is not None and known > limit):
            assert limit is not None
            raise too_many_words(self.label, name, limit)
        cells = _cells(text, _Spans(starts[None, firsts[:known]], lengths[None, firsts[:known]]), 0)
        values = [
            self._decoded(cell or b"", name, lambda r=int(row): where(r))
            for cell, row in zip(cells, firsts[:known], strict=True)
        ]
        numbers: dict[str, int] = {}  # "a" and a are one word
        table = np.array(
            [*(numbers.setdefault(v, len(numbers)) for v in values), -1], dtype=np.int32
        )
        return Categorical(table[codes], tuple(numbers))

    def _decoded(self, cell: bytes, name: str, where: Any) -> str:
        try:
            return cell.decode()
        except UnicodeDecodeError:
            raise DataError(
                f"{self.label}, {where()}, column {shown(name)}: {cell[:40]!r} is not "
                f"UTF-8{OTHER_CHARSET}."
            ) from None

    # -- Errors

    def _end_of(self, text: Text, count: int) -> int:
        """The least number of bytes that hold ``count`` rows; all, if there are fewer rows."""
        low, high = 0, len(text)
        while low < high:
            middle = (low + high) // 2
            enough = int(self._layout(text[:middle], final=False)[1][-1]) >= count
            low, high = (low, middle) if enough else (middle + 1, high)
        return low

    def _line_of(self, text: Text, row: int) -> int:
        """How many line ends there are before a row, which is found by halving the text."""
        begin = self._end_of(text, row) if row else 0
        rest = text[begin:].tobytes()
        blank = len(rest) - len(rest.lstrip())  # a line that was left out may be long
        return line_ends(text[:begin]) + rest[:blank].count(b"\n")

    def _error(self, text: Text, kind: int, at: int, column: int, first_line: int) -> DataError:
        where = f"{self.label}, line {first_line + line_ends(text[:at])}"
        if kind in (_FEW, _MANY):
            return DataError(
                f"{where}: {counted(column, 'field')} where {len(self._names)} "
                f"{'is' if len(self._names) == 1 else 'are'} expected{self.title_hint}."
            )
        where = f"{where}, column {shown(self._names[column])}"
        if kind == _OPEN:
            return DataError(f"{where}: a quote is opened and never closed.")
        if kind == _AFTER:
            return DataError(f"{where}: text follows a closing quote.")
        if kind == _LONG:
            return DataError(f"{where}: a word of more than a billion bytes.")
        quoted = at > 0 and text[at - 1] == ord('"')
        rest = text[at : at + 4096].tobytes()
        stop = b'"' if quoted else self._dialect.delimiter.encode()
        cell = re.split(rb"[\r\n]", rest.split(stop, 1)[0], maxsplit=1)[0].strip(b" \t")
        if A_NUMBER.fullmatch(cell):
            return DataError(f"{where}: {shown(cell)} is beyond the largest number.")
        hint = (
            ""
            if self._settled or not cell.isascii()
            else f"; categorical=[{shown(self._names[column])}] reads the column as words"
        )
        return _WordAmongNumbersError(
            f"{where}: {shown(cell)} is not a number{hint}.", self._names[column]
        )


def _line_by_row(offset: int, row: int) -> str:
    return f"line {row + offset}"


def _cells(text: Text, spans: _Spans, at: int) -> list[bytes | None]:
    """The words of a column as bytes; None where one is missing."""
    view = text.data
    cells: list[bytes | None] = []
    for start, length in zip(spans.starts[at].tolist(), spans.lengths[at].tolist(), strict=True):
        if start < 0:
            cells.append(None)
        elif length < 0:
            cells.append(bytes(view[start : start - 1 - length]).replace(b'""', b'"'))
        else:
            cells.append(bytes(view[start : start + length]))
    return cells
