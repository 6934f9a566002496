"""LIBSVM (svmlight) text: ``label index:value index:value ...``, sparse rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import resources
from kernelight.data import byte_sources
from kernelight.data.byte_sources import CHUNK, LONGEST_ROW, ByteSource, Text
from kernelight.data.errors import DataError, shown
from kernelight.data.exact_integers import restored
from kernelight.data.table_source import Block, ColumnSelection, TableSource

_INT32 = 2**31 - 1
LARGEST_INDEX = 2**62  # that a model can have as its width
_LABEL, _INDEX, _COLON, _VALUE, _ORDER, _BELOW, _BEYOND = range(1, 8)  # of core/parse_libsvm.h
LINE = re.compile(rb"[ \t]*[^\s:,]+(?:[ \t]+qid:\d+)?(?:[ \t]+\d+:[^\s:]+)*[ \t\r]*(?:#[^\n]*)?")
ENTRY = re.compile(rb"[ \t]\d+:[^\s:]")
_LOOK = 1 << 16  # bytes in which the end of a line is looked for
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
        text = self._source.whole()
        return self._parsed(text, selection, 0, 1)

    def blocks(self, selection: ColumnSelection) -> Iterator[Block]:
        row, line, carry, wanted = 0, 1, b"", CHUNK
        with self._source.reader() as reader:
            while True:
                part = reader.read(wanted)
                content = carry + part
                end = content.rfind(b"\n", len(carry)) + 1 if part else len(content)
                if len(content) - end > LONGEST_ROW:
                    raise DataError(
                        f"{self.label}, line {line}: it has more than {LONGEST_ROW} bytes."
                    )
                carry = content[end:]
                wanted = max(CHUNK, len(carry))  # a long row is not copied again and again
                if end:
                    block = self._parsed(
                        np.frombuffer(content, np.uint8, end), selection, row, line
                    )
                    row, line = row + block.n_rows, line + content.count(b"\n", 0, end)
                    if block.n_rows:
                        yield block
                if not part:
                    return

    def _parsed(
        self, text: Text, selection: ColumnSelection, first_row: int, first_line: int
    ) -> Block:
        threads = resources(self._threads).for_work(16 * len(text)).threads
        parts = [(begin, text[begin:end]) for begin, end in _calls(text)]
        layouts = []
        for _, part in parts:
            rows, entries = np.zeros((2, _core.text_pieces(len(part)) + 1), dtype=np.int64)
            _core.libsvm_layout(part, rows, entries, threads)
            layouts.append((rows, entries))
        most_rows = sum(int(rows[-1]) for rows, _ in layouts)
        most_entries = sum(int(entries[-1]) for _, entries in layouts)
        labels = np.empty(most_rows)
        starts = np.zeros(most_rows + 1, dtype=np.int64)
        values = np.empty(most_entries, dtype=selection.dtype)
        limit = LARGEST_INDEX if selection.width is None else selection.width
        indices: Any = np.empty(most_entries, dtype=np.int32)
        n_rows = n_entries = width = 0
        for (begin, part), (rows, entries) in zip(parts, layouts, strict=True):
            r, e = slice(n_rows, n_rows + rows[-1]), slice(n_entries, n_entries + entries[-1])
            here = starts[n_rows : n_rows + rows[-1] + 1]
            most = limit if indices.dtype == np.int64 else min(limit, _INT32)
            before = (part, rows, entries, self._base)
            count, n_values, last, error, at = _core.libsvm_parse(
                *before, most, labels[r], here, indices[e], values[e], threads
            )
            if error == _BEYOND and limit > most:
                indices = indices.astype(np.int64)
                count, n_values, last, error, at = _core.libsvm_parse(
                    *before, limit, labels[r], here, indices[e], values[e], threads
                )
            if error:
                raise self._error(text, error, begin + at, first_line, selection.width)
            here += n_entries
            n_rows, n_entries, width = n_rows + count, n_entries + n_values, max(width, last)
        shape = (n_rows, width if selection.width is None else selection.width)
        X = sp.csr_matrix(
            (values[:n_entries], indices[:n_entries], starts[: n_rows + 1]), shape=shape, copy=False
        )
        target = (
            None
            if selection.target is None
            else restored(labels[:n_rows], lambda rows: _labels(text, rows))
        )
        return Block(X, target=target, first_row=first_row)

    def _error(
        self, text: Text, kind: int, at: int, first_line: int, width: int | None
    ) -> DataError:
        line = first_line + int(np.count_nonzero(text[:at] == 10))
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


def _calls(text: Text) -> Iterator[tuple[int, int]]:
    """Where each compiled call begins and ends, at ends of lines."""
    begin, at = 0, byte_sources.CALL_BYTES - 1
    while at < len(text):
        ends = np.flatnonzero(text[at : at + _LOOK] == ord("\n"))
        if not len(ends):
            at += _LOOK
            continue
        end = at + int(ends[0]) + 1
        yield begin, end
        begin, at = end, end + byte_sources.CALL_BYTES - 1
    yield begin, len(text)


def _labels(text: Text, rows: NDArray[np.intp]) -> list[str]:
    """The labels of some rows as they are written."""
    written = [match[1] for match in _LABELS.finditer(text.data)]
    return [written[row].decode("ascii") for row in rows.tolist()]


def looks_like_libsvm(lines: list[bytes]) -> bool:
    """Whether the first lines of a text are rows of this format."""
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")]
    return (
        bool(rows) and bool(LINE.fullmatch(rows[0])) and any(ENTRY.search(row) for row in rows[:5])
    )
