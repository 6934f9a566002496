"""Tables that are written row by row: to standard output, or to a file that is there when it is
whole."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any, Protocol

from kernelight.cli.show import printing
from kernelight.data import replacing

Columns = Mapping[str, Any]  # name -> values, as many for each


class Writer(Protocol):
    """Takes some rows at a time, with the same columns each time."""

    def write(self, columns: Columns) -> None:
        """Write more rows."""


@contextmanager
def opened(path: str | None, *, lines: bool = False) -> Iterator[Writer]:
    """A writer by the ending of ``path`` (.csv, .tsv, .jsonl, .parquet); without, CSV or JSON
    ``lines`` to standard output."""
    if path is None:
        if sys.stdout is None:
            raise ValueError("Standard output is closed: name a file by --output.")
        with printing():
            yield _Lines(sys.stdout) if lines else _Delimited(sys.stdout, ",")
            sys.stdout.flush()
        return
    ending = os.path.splitext(path)[1].lower()
    known = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
    if ending not in (*known, ".jsonl", ".parquet", ".pq"):
        raise ValueError(
            f"{path}: the ending says how to write it; known are .csv, .tsv, .jsonl and .parquet."
        )
    if ending in (".parquet", ".pq"):
        with parquet(path) as writer:
            yield writer
        return
    with replacing(path) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8", newline="", write_through=False)
        try:
            yield _Lines(text) if lines or ending == ".jsonl" else _Delimited(text, known[ending])
            text.flush()
        finally:
            text.detach()


def plain(values: Any) -> Sequence[Any]:
    """A column as Python values."""
    found: Sequence[Any] = values.tolist() if hasattr(values, "tolist") else values
    return found


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
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            f"{path} needs pyarrow, which is not there: pip install 'kernelight[io]'."
        ) from None

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
