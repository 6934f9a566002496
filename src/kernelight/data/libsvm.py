"""LIBSVM (svmlight) text: ``label index:value index:value ...``, sparse rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight import _core
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
from kernelight.data.errors import DataError, shown
from kernelight.data.exact_integers import restored
from kernelight.data.growing import Growing
from kernelight.data.table_source import Block, ColumnSelection, StoredText, TableSource

_INT32 = 2**31 - 1
LARGEST_INDEX = 2**62  # that a model can have as its width
_LABEL, _INDEX, _COLON, _VALUE, _ORDER, _BELOW, _BEYOND = range(1, 8)  # of core/parse_libsvm.h
LINE = re.compile(rb"[ \t]*[^\s:,]+(?:[ \t]+qid:\d+)?(?:[ \t]+\d+:[^\s:]+)*[ \t\r]*(?:#[^\n]*)?")
ENTRY = re.compile(rb"[ \t]\d+:[^\s:]")
_LABELS = re.compile(rb"^[ \t\r\v\f]*([^\s#]+)", re.MULTILINE)  # of lines that are rows


class LibsvmSource(TableSource):
    """A LIBSVM file."""

    columns = None
    target = "label"
    headed = False

    def __init__(self, source: ByteSource, *, zero_based: bool, threads: int) -> None:
        self.label, self._source = source.label, source
        self._base, self._threads = (0 if zero_based else 1), threads

    def whole(self, selection: ColumnSelection) -> Block:
        rows = _Rows(selection, self._base)
        with self._source.reader(whole=True) as reader:
            for lines in self._lines(reader):
                self._parse(lines, rows, reader.fraction)
        return rows.block(0)

    def blocks(self, selection: ColumnSelection) -> Iterator[Block]:
        first_row = 0
        with self._source.reader() as reader:
            for lines in self._lines(reader):
                rows = _Rows(selection, self._base)
                self._parse(lines, rows, 1.0)
                block = rows.block(first_row)
                first_row += block.n_rows
                if block.n_rows:
                    yield block

    @property
    def charset(self) -> str | None:
        """The encoding of the file; None for UTF-8."""
        return self._source.charset

    def stored_rows(self) -> Iterator[StoredText]:
        with self._source.reader() as reader:
            for lines in self._lines(reader):
                yield StoredText(lines.text, *_rows_in(lines.text))

    def _lines(self, reader: Reader) -> Iterator[_Lines]:
        """Whole lines, some at a time."""
        first, window = 1, Window(reader, CHUNK)
        while not window.ended:
            text = window.more()
            end = len(text) if window.ended else _core.past_last(text, ord("\n"))
            if len(text) - end > LONGEST_ROW:
                raise DataError(
                    f"{self.label}, line {first}: it has more than {LONGEST_ROW} bytes."
                )
            if end:
                lines = _Lines.of(text[:end], first, self._threads)
                yield lines
                first += int(lines.most_rows[-1])
            window.drop(end)

    def _parse(self, lines: _Lines, rows: _Rows, fraction: float) -> None:
        error, at = rows.parse(lines, fraction)
        if error:
            raise self._error(lines.text, error, at, lines.first, rows.selection.width)

    def _error(
        self, text: Text, kind: int, at: int, first_line: int, width: int | None
    ) -> DataError:
        line = first_line + line_ends(text[:at])
        token = re.split(rb"[\s#]", text[at : at + 4096].tobytes(), maxsplit=1)[0]
        where = f"{self.label}, line {line}"
        index, _, value = token.partition(b":")
        entry = shown(token)
        if kind == _LABEL:
            return DataError(f"{where}: the label {entry} is not a finite number.")
        if kind == _COLON:
            return DataError(f"{where}: {entry} has no value; index:value is expected.")
        if kind == _INDEX:
            return DataError(
                f"{where}: {entry} is not index:value with a whole index of at most "
                f"{LARGEST_INDEX}."
            )
        if kind == _VALUE:
            reason = "is not a finite number" if value else "is missing"
            return DataError(f"{where}, index {index.decode()}: the value {shown(value)} {reason}.")
        if kind == _ORDER:
            return DataError(f"{where}: index {index.decode()} does not ascend.")
        if kind == _BELOW:
            return DataError(
                f"{where}: index 0, where the first is 1; zero_based=True reads files that begin "
                f"at 0."
            )
        last = (
            f"the last feature, {width}"
            if width is not None
            else f"the largest that can be, {LARGEST_INDEX}"
        )
        return DataError(f"{where}: index {index.decode()} is beyond {last}.")


class _Lines(NamedTuple):
    """Some whole lines of a file, and how many rows and entries may be in each piece of them."""

    text: Text
    first: int  # the number of the first line
    threads: int
    most_rows: NDArray[np.int64]  # before each piece and in all: as many as there are lines
    most_entries: NDArray[np.int64]

    @classmethod
    def of(cls, text: Text, first: int, threads: int) -> _Lines:
        """Those of a text that begins with the line of this number."""
        used = resources(threads).for_work(16 * len(text)).threads
        most_rows, most_entries = np.zeros((2, _core.text_pieces(len(text)) + 1), dtype=np.int64)
        _core.libsvm_layout(text, most_rows, most_entries, used)
        return cls(text, first, used, most_rows, most_entries)


class _Rows:
    """Rows that were read: labels and the arrays of a CSR matrix."""

    def __init__(self, selection: ColumnSelection, base: int) -> None:
        self.selection, self._base, self._width = selection, base, 0
        self._labels = Growing(np.float64)
        self._starts = Growing(np.int64)
        self._indices, self._values = Growing(np.int32), Growing(selection.dtype)
        self._exact: list[tuple[int, NDArray[Any]]] = []  # labels that doubles cannot hold

    def parse(self, lines: _Lines, fraction: float) -> tuple[int, int]:
        """Add the rows of some lines, and return the kind and the place of the first error.

        ``fraction`` of the file has been read.
        """
        bounds = lines.most_rows, lines.most_entries
        most_rows, most_entries = (int(bound[-1]) for bound in bounds)
        limit = LARGEST_INDEX if self.selection.width is None else self.selection.width
        labels = self._labels.room(most_rows, fraction)
        starts = self._starts.room(most_rows + 1, fraction)
        values = self._values.room(most_entries, fraction)

        def parsed(most: int) -> tuple[Any, ...]:
            indices: Any = self._indices.room(most_entries, fraction)
            out = labels, starts, indices, values
            return _core.libsvm_parse(lines.text, *bounds, self._base, most, *out, lines.threads)

        narrow = self._indices.array.dtype == np.int32
        count, n_values, width, error, at = parsed(min(limit, _INT32) if narrow else limit)
        if error == _BEYOND and narrow and limit > _INT32:
            self._indices.array = self._indices.array.astype(np.int64)
            count, n_values, width, error, at = parsed(limit)
        if error:
            return error, at
        starts += self._values.count
        exact = labels[:count]
        if self.selection.target is not None:
            exact = restored(exact, lambda rows: _written(lines.text, rows))
        if exact.dtype.kind == "O":
            self._exact.append((self._labels.count, exact))
        self._width = max(self._width, width)
        self._labels.add(count)
        self._starts.add(count)
        self._indices.add(n_values)
        self._values.add(n_values)
        return 0, -1

    def block(self, first_row: int) -> Block:
        """All of them."""
        self._starts.room(1, 1.0)[:] = self._values.count
        self._starts.add(1)
        width = self._width if self.selection.width is None else self.selection.width
        X = sp.csr_matrix(
            (self._values.array, self._indices.array, self._starts.array),
            shape=(self._labels.count, width),
            copy=False,
        )
        target: Any = None
        if self.selection.target is not None:
            target = self._labels.array
            if self._exact:
                target = target.astype(object)
            for first, exact in self._exact:
                target[first : first + len(exact)] = exact
        return Block(X, target=target, first_row=first_row)


def _rows_in(text: Text) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the lines that are rows begin and end: those with something before a comment."""
    ends = np.flatnonzero(text == ord("\n")) + 1
    if len(text) and (not len(ends) or ends[-1] < len(text)):
        ends = np.append(ends, len(text))
    begins = np.concatenate([np.zeros(min(1, len(ends)), np.int64), ends[:-1]])
    first = text[begins]
    rows = ~np.isin(first, np.frombuffer(b" \t\r\v\f\n#", np.uint8))
    for at in np.flatnonzero(np.isin(first, np.frombuffer(b" \t\r\v\f", np.uint8))).tolist():
        rest = text[begins[at] : ends[at]].tobytes().lstrip()
        rows[at] = rest != b"" and not rest.startswith(b"#")
    return begins[rows], ends[rows]


def _written(text: Text, rows: NDArray[np.intp]) -> list[str]:
    """The labels of some rows as they are written."""
    written = [match[1] for match in _LABELS.finditer(text.data)]
    return [written[row].decode("ascii") for row in rows.tolist()]


def looks_like_libsvm(lines: list[bytes]) -> bool:
    """Whether the first lines of a text are rows of this format."""
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")]
    return (
        bool(rows) and bool(LINE.fullmatch(rows[0])) and any(ENTRY.search(row) for row in rows[:5])
    )
