"""Files that the command writes: whether that is possible, and tables written row by row.

A file appears when it is complete; until then an older one of that name stays as it was.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any, Protocol

from kernelight.cli.show import printing
from kernelight.data import replacing
from kernelight.data.columnar import pyarrow_or_error

Columns = Mapping[str, Any]  # name -> values, as many for each


STANDARD_OUTPUT = "-"


def check_output(path: str, *inputs: str | None) -> None:
    """Refuse a file that cannot be written, or that is one of the ``inputs``.

    To be called before any work is done, which would be lost.
    """
    if not path:
        raise ValueError("The name of the file to write is empty.")
    if path == STANDARD_OUTPUT:
        raise ValueError(
            "- stands for standard output, which takes tables only: name a file to write."
        )
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory: name a file.")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{path} cannot be written: there is no directory {folder}.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{path} cannot be written: no permission to write in {folder}.")
    with suppress(FileNotFoundError):
        os.lstat(path)  # refuses a name that is too long, for instance
    if not os.path.exists(path):
        return
    if not os.path.isfile(path):
        raise ValueError(
            f"{path} is not a regular file, which writing would replace: name another."
        )
    for source in inputs:
        if source is not None and os.path.exists(source) and os.path.samefile(path, source):
            raise ValueError(f"{path} is what is read: name another file to write.")


def check_different(first: str, first_path: str, second: str, second_path: str) -> None:
    """Refuse two options that name the same file to write."""
    if os.path.realpath(first_path) == os.path.realpath(second_path):
        raise ValueError(f"{first} and {second} name the same file, {first_path}: name two.")


def table_output(path: str | None, *inputs: str | None) -> str | None:
    """Where a table goes: a file that can be written, or None for standard output."""
    if path is None or path == STANDARD_OUTPUT:
        return None
    check_output(path, *inputs)
    return path


_DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}


def check_table_ending(path: str) -> str:
    """The ending of a table, which says how it is written; others are refused."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in (*_DELIMITERS, ".jsonl", ".parquet", ".pq"):
        raise ValueError(
            f"{path}: the ending says how to write it; known are .csv, .tsv, .jsonl and .parquet."
        )
    return ending


class Writer(Protocol):
    """Takes some rows at a time, with the same columns each time."""

    def write(self, columns: Columns) -> None:
        """Write more rows."""


@contextmanager
def opened(path: str | None, *, lines: bool = False) -> Iterator[Writer]:
    """A writer of the format that the ending of ``path`` says (.csv, .tsv, .jsonl, .parquet).

    Without a path it writes CSV, or JSON ``lines``, to standard output.
    """
    if path is None:
        if sys.stdout is None:
            raise ValueError("Standard output is closed: name a file by --output.")
        with printing():
            yield _Lines(sys.stdout) if lines else _Delimited(sys.stdout, ",")
            sys.stdout.flush()
        return
    ending = check_table_ending(path)
    if ending in (".parquet", ".pq"):
        with parquet(path) as writer:
            yield writer
        return
    with replacing(path) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8", newline="", write_through=False)
        try:
            yield (
                _Lines(text)
                if lines or ending == ".jsonl"
                else _Delimited(text, _DELIMITERS[ending])
            )
            text.flush()
        finally:
            text.detach()


def plain(values: Any) -> Sequence[Any]:
    """A column as Python values."""
    column: Sequence[Any] = values.tolist() if hasattr(values, "tolist") else values
    return column


class _Delimited:
    def __init__(self, handle: IO[str], delimiter: str) -> None:
        self._writer = csv.writer(handle, delimiter=delimiter, lineterminator="\n")
        self._headed = False

    def write(self, columns: Columns) -> None:
        if not self._headed:
            self._writer.writerow(columns)
            self._headed = True
        self._writer.writerows(zip(*map(plain, columns.values()), strict=True))


class _Lines:
    def __init__(self, handle: IO[str]) -> None:
        self._handle = handle

    def write(self, columns: Columns) -> None:
        names = list(columns)
        for row in zip(*map(plain, columns.values()), strict=True):
            self._handle.write(json.dumps(dict(zip(names, row, strict=True))) + "\n")


@contextmanager
def parquet(path: str) -> Iterator[Writer]:
    """A writer of Parquet files, a row group for each batch."""
    pyarrow = pyarrow_or_error(path)

    class _Parquet:
        writer: Any = None

        def write(self, columns: Columns) -> None:
            table = pyarrow.table({name: pyarrow.array(values) for name, values in columns.items()})
            if self.writer is None:
                self.writer = pyarrow.parquet.ParquetWriter(binary, table.schema)
            self.writer.write_table(table)

    with replacing(path) as binary:
        made = _Parquet()
        try:
            yield made
        finally:
            if made.writer is not None:
                made.writer.close()
