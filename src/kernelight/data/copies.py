"""Some rows of a file in another file, as they are stored.

Lines of CSV and LIBSVM text are copied byte by byte, in the encoding of the file, and lines that
are no rows (names, titles, blank lines, comments) stay. Parquet and Arrow files keep their columns
and types, NPZ files their arrays. Between formats: Parquet and Arrow become CSV by pyarrow, and
cells of CSV become text columns of Parquet or Arrow, so that no cell changes.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import hashlib
import io
import lzma
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.base.files import naming, replacing
from kernelight.data.columnar import ColumnarSource, pyarrow_or_error
from kernelight.data.delimited import DelimitedSource
from kernelight.data.errors import DataError, one_line
from kernelight.data.libsvm import LibsvmSource
from kernelight.data.npz import NpzSource
from kernelight.data.table_source import StoredText, TableSource

Watch = Callable[[int], None]
_PACKED: dict[str, Any] = {
    ".gz": lambda handle: gzip.GzipFile("", "wb", 6, handle, mtime=0),
    ".bz2": lambda handle: bz2.BZ2File(handle, "wb"),
    ".xz": lambda handle: lzma.LZMAFile(handle, "wb"),  # noqa: SIM115 (closed by copy_rows)
}
_PARQUET, _ARROW, _NPZ = (".parquet", ".pq"), (".arrow", ".feather"), (".npz",)
_DELIMITED = {".csv": ",", ".tsv": "\t"}
_LIBSVM = (".svm", ".libsvm", ".svmlight")


def refuse_copy(source: TableSource, path: str) -> None:
    """Refuse a path whose ending says a format that rows of the source cannot have."""
    packed, ending = _endings(path)
    name = source.label
    if isinstance(source, (DelimitedSource, LibsvmSource)):
        typed = (*_PARQUET, *_ARROW)
        sparse = isinstance(source, LibsvmSource)
        wrong = (*_NPZ, *(typed if sparse else _LIBSVM), *(_DELIMITED if sparse else ()))
        if ending in wrong:
            raise DataError(
                f"{path}: the lines of {name} are copied as they are, which is not {ending}: give "
                f"the file the ending of {name}."
            )
        if ending == ".tsv" and source.delimiter not in (None, "\t"):
            raise DataError(
                f"{path}: the lines of {name} are copied as they are, with {source.delimiter!r} "
                f"between cells: the ending .csv is right."
            )
        if ending in typed:
            pyarrow_or_error(path)
            if packed:
                raise DataError(f"{path}: {ending} files are packed inside: leave {packed} out.")
    elif isinstance(source, ColumnarSource):
        if ending not in (*_PARQUET, *_ARROW, *_DELIMITED):
            raise DataError(
                f"{path}: the columns of {name} can be written to .parquet, .arrow, .csv and .tsv "
                f"files."
            )
        if packed and ending not in _DELIMITED:
            raise DataError(f"{path}: {ending} files are packed inside: leave {packed} out.")
    elif isinstance(source, NpzSource):
        if ending not in _NPZ or packed:
            raise DataError(f"{path}: the rows of {name} can be written to .npz files.")
    else:
        raise DataError(
            f"{name} is no file whose rows could be copied: leave the output out, or save {name} "
            f"to a file first."
        )


def copy_rows(
    source: TableSource, path: str, kept: NDArray[np.bool_], watch: Watch | None = None
) -> None:
    """Write the rows that are kept, all or nothing."""
    refuse_copy(source, path)
    packed, ending = _endings(path)
    told = watch or (lambda count: None)
    with replacing(path) as binary, naming(path):
        if isinstance(source, NpzSource):
            source.copy_rows(kept, binary)
            return
        with ExitStack() as stack:
            handle: Any = binary
            if packed:
                handle = stack.enter_context(_PACKED[packed](binary))
            if isinstance(source, ColumnarSource):
                batches = _cut_batches(source, kept, told)
                _write_batches(batches, source.schema, handle, ending, path)
            elif ending in (*_PARQUET, *_ARROW):
                assert isinstance(source, DelimitedSource)
                schema, batches = _as_text_columns(source, kept, told)
                _write_batches(batches, schema, handle, ending, path)
            else:
                _write_lines(source, kept, handle, told)


def _endings(path: str) -> tuple[str, str]:
    """The ending of a packed file (or ""), and the one before it."""
    base, last = os.path.splitext(path.lower())
    return (last, os.path.splitext(base)[1]) if last in _PACKED else ("", last)


def _checked(kept: NDArray[np.bool_], seen: int, label: str) -> None:
    if seen != len(kept):
        raise DataError(f"{label} has {seen:,} rows where {len(kept):,} were read before.")


class ShownText(NamedTuple):
    """A text of which so much is shown; texts of one digest are the same."""

    text: str
    cut: bool
    digest: str

    @classmethod
    def of(cls, text: str, longest: int) -> ShownText:
        """The first characters of a text.

        >>> from kernelight.data.copies import ShownText
        >>> one, other = ShownText.of("abc", 2), ShownText.of("abd", 2)
        >>> one.text == other.text, one.cut, one.digest == other.digest
        (True, True, False)
        """
        text = text.strip()
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        return cls(text[:longest], len(text) > longest, digest)


def stored_texts(source: TableSource, rows: Sequence[int], longest: int) -> dict[int, ShownText]:
    """Some rows as text: lines as they are, records of Arrow's types as name: value.

    Of arrays there are none: their rows say little as text.
    """
    found: dict[int, ShownText] = {}
    wanted = np.unique(np.asarray(rows, dtype=np.int64))
    if not isinstance(source, (DelimitedSource, LibsvmSource, ColumnarSource)) or not len(wanted):
        return found
    first = 0
    for part in source.stored_rows():
        count = len(part.begins) if isinstance(part, StoredText) else part.num_rows
        low, high = np.searchsorted(wanted, [first, first + count])
        for row in wanted[low:high].tolist():
            at = row - first
            if isinstance(part, StoredText):
                line = part.text[part.begins[at] : part.ends[at]]
                said = line.tobytes().decode("utf-8", "replace")
            else:
                cells = part.slice(at, 1).to_pylist()[0]
                said = ", ".join(f"{name}: {value}" for name, value in cells.items())
            found[row] = ShownText.of(said, longest)
        first += count
        if high == len(wanted):
            break
    return found


# -- Text


def _write_lines(source: Any, kept: NDArray[np.bool_], handle: Any, told: Watch) -> None:
    encode = None
    if source.charset is not None:
        encode = codecs.getincrementalencoder(source.charset)("strict")
        decode = codecs.getincrementaldecoder("utf-8")("strict")
    row = 0
    for part in source.stored_rows():
        for piece in _kept_bytes(part, kept, row):
            content = piece.tobytes()
            handle.write(content if encode is None else encode.encode(decode.decode(content)))
        row += len(part.begins)
        told(row)
    _checked(kept, row, source.label)


def _kept_bytes(
    part: StoredText, kept: NDArray[np.bool_], first: int
) -> Iterator[NDArray[np.uint8]]:
    """The bytes of a part without the rows that go, in as few pieces as possible."""
    gone = np.flatnonzero(~kept[first : first + len(part.begins)])
    at = 0
    for begin, end in zip(part.begins[gone].tolist(), part.ends[gone].tolist(), strict=True):
        if begin > at:
            yield part.text[at:begin]
        at = end
    yield part.text[at:]


def _as_text_columns(
    source: DelimitedSource, kept: NDArray[np.bool_], told: Watch
) -> tuple[Any, Iterator[Any]]:
    """The cells of a delimited text as columns of text, batch by batch."""
    pyarrow = pyarrow_or_error(source.label)
    names = [column.name for column in source.columns or ()]
    schema = pyarrow.schema([(name, pyarrow.string()) for name in names])

    def batches() -> Iterator[Any]:
        row = 0
        for part in source.stored_rows():
            cells = []
            for at in np.flatnonzero(kept[row : row + len(part.begins)]).tolist():
                line = part.text[part.begins[at] : part.ends[at]].tobytes().decode()
                reader = csv.reader(
                    io.StringIO(line, newline=""),
                    delimiter=source.delimiter or ",",
                    skipinitialspace=source.delimiter != " ",
                )
                cells.append(next(reader))
            row += len(part.begins)
            told(row)
            if cells:
                columns = zip(*cells, strict=True)
                arrays = [pyarrow.array(column, pyarrow.string()) for column in columns]
                yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)
        _checked(kept, row, source.label)

    return schema, batches()


# -- Tables of Arrow's types


def _cut_batches(source: ColumnarSource, kept: NDArray[np.bool_], told: Watch) -> Iterator[Any]:
    pyarrow = pyarrow_or_error(source.label)
    row = 0
    for batch in source.stored_rows():
        mask = kept[row : row + batch.num_rows]
        row += batch.num_rows
        if len(mask) < batch.num_rows:
            break
        if mask.any():
            yield batch if mask.all() else batch.filter(pyarrow.array(mask))
        told(row)
    _checked(kept, row, source.label)


def _write_batches(
    batches: Iterator[Any], schema: Any, handle: Any, ending: str, path: str
) -> None:
    pyarrow = pyarrow_or_error(path)
    try:
        with ExitStack() as stack:
            writer: Any
            if ending in _PARQUET:
                writer = pyarrow.parquet.ParquetWriter(handle, schema)
            elif ending in _ARROW:
                writer = pyarrow.ipc.new_file(handle, schema)
            else:
                from pyarrow import csv as arrow_csv

                options = arrow_csv.WriteOptions(delimiter=_DELIMITED[ending])
                writer = arrow_csv.CSVWriter(handle, schema, write_options=options)
            stack.enter_context(writer)
            for batch in batches:
                if ending in _PARQUET:
                    writer.write_table(pyarrow.Table.from_batches([batch], schema))
                else:
                    writer.write_batch(batch)
    except pyarrow.ArrowException as error:
        reason = one_line(str(error))[:200].rstrip(". ")
        raise DataError(f"{path} cannot be written as {ending}: {reason}.") from error
