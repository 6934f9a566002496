"""Parquet, Arrow and Feather files, and Arrow tables in memory, read by pyarrow in batches.

Numbers, booleans (0 and 1), decimals and durations (in seconds) are numbers; text and dictionaries,
whatever their values are, are words; timestamps, dates and times of day are dates; the rest (lists)
can be no feature. A null and NaN are missing values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.byte_sources import ByteSource
from kernelight.data.errors import DataError, one_line, shown
from kernelight.data.exact_integers import Targets, restored
from kernelight.data.number_columns import refuse_infinite
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    FIRST_ROWS,
    NUMBER,
    Block,
    Categorical,
    Column,
    ColumnSelection,
    TableSource,
    words_of,
)
from kernelight.data.word_counts import too_many_words

__all__ = ["pyarrow_or_error"]  # for other packages; the sources are for this one
BATCH = 1 << 16  # rows
STORED = 1 << 14  # rows that are copied at a time, with all their columns
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}  # of the units of durations


class MissingPyarrowError(DataError, ImportError):
    """pyarrow is needed and not installed."""


def pyarrow_or_error(what: str) -> Any:
    """The module pyarrow with its readers; if it is missing, the error says ``what`` needs it."""
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise MissingPyarrowError(
            f"{what} needs pyarrow, which is not there: pip install 'kernelight[io]'."
        ) from error
    return pyarrow


class ArrowSource(TableSource):
    """Columns of Arrow's types."""

    def __init__(self, label: str, categorical: tuple[str, ...]) -> None:
        self.label, self._categorical = label, set(categorical)
        self._pa = pyarrow_or_error(label)

    def _named(self, schema: Any, names: Sequence[str]) -> tuple[Column, ...]:
        """The columns of a schema by the names that they have here; what text is, is a guess."""
        kinds = [self._kind(field.name, field.type) for field in schema]
        self.guessed = frozenset(
            name
            for name, field in zip(names, schema, strict=True)
            if self._is_text(field.type) and name not in self._categorical
        )
        self.decimals = frozenset(
            name
            for name, field in zip(names, schema, strict=True)
            if self._pa.types.is_decimal(field.type) and field.type.precision > 15
        )
        return tuple(Column(name, kind) for name, kind in zip(names, kinds, strict=True))

    def _is_text(self, type_: Any) -> bool:
        t = self._pa.types
        return bool(t.is_string(type_) or t.is_large_string(type_) or t.is_string_view(type_))

    def _kind(self, name: str, type_: Any) -> str:
        t = self._pa.types
        if t.is_dictionary(type_) or self._is_text(type_):
            return CATEGORICAL
        numeric = (
            t.is_integer(type_)
            or t.is_floating(type_)
            or t.is_boolean(type_)
            or t.is_decimal(type_)
        )
        if numeric or t.is_null(type_) or t.is_duration(type_):
            return CATEGORICAL if name in self._categorical else NUMBER
        if t.is_timestamp(type_) or t.is_date(type_) or t.is_time(type_):
            return CATEGORICAL if name in self._categorical else DATE
        return one_line(str(type_))

    def _block(self, batch: Any, selection: ColumnSelection, first_row: int) -> Block:
        matrix = np.empty((batch.num_rows, len(selection.numbers)), dtype=selection.dtype)
        for at, name in enumerate(selection.numbers):
            with np.errstate(over="ignore"):
                matrix[:, at] = self._numbers(batch.column(name), name)
        refuse_infinite(self.label, matrix, selection.numbers, first_row)
        words = []
        for name in selection.words:
            words.append(self.cells.read(name, self._words(batch.column(name))))
            if selection.limit is not None and len(words[-1].values) > selection.limit:
                raise too_many_words(self.label, name, selection.limit)
        target: Any = None
        if selection.target is not None:
            column = batch.column(selection.target)
            if selection.target_kind == CATEGORICAL:
                target = self.cells.read(selection.target, self._words(column))
            else:
                target = self._targets(column, selection.target, first_row)
        ids = None if selection.ids is None else self._words(batch.column(selection.ids)).texts()
        dates = None
        if selection.dates:
            dates = np.empty((batch.num_rows, len(selection.dates)), dtype="datetime64[us]")
            for at, name in enumerate(selection.dates):
                dates[:, at] = self._dates(batch.column(name), name)
        matrix = self.cells.without_codes(matrix)
        return Block(matrix, tuple(words), target, ids, first_row, dates=dates)

    def _dates(self, column: Any, name: str) -> NDArray[np.datetime64]:
        """Moments in UTC; times of day as those of 1970-01-01."""
        pa = self._pa
        if column.null_count == len(column):
            return np.full(len(column), np.datetime64("NaT"), dtype="datetime64[us]")
        kind = self._kind("", column.type)
        if kind != DATE:
            raise DataError(
                f"{self.label}, column {shown(name)}: {kind} where the model has dates."
            )
        if pa.types.is_time32(column.type):
            column = column.cast(pa.time64("us"), safe=False)
        if pa.types.is_time(column.type):
            column = column.cast(
                pa.int64() if column.type == pa.time64("us") else pa.time64("us"), safe=False
            )
            column = column.cast(pa.int64())
            moments = column.cast(pa.timestamp("us"))
        elif pa.types.is_timestamp(column.type):
            moments = column.cast(pa.timestamp("us", column.type.tz), safe=False)
        else:
            moments = column.cast(pa.timestamp("us"), safe=False)
        return np.asarray(moments.to_numpy(zero_copy_only=False), dtype="datetime64[us]")

    def _numbers(self, column: Any, name: str) -> NDArray[np.float64]:
        pa = self._pa
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        kind = self._kind("", column.type)
        if kind != NUMBER:
            raise DataError(
                f"{self.label}, column {shown(name)}: {kind} where the model has numbers."
            )
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        if pa.types.is_duration(column.type):
            whole = column.cast(pa.int64()).cast(pa.float64(), safe=False)
            return np.asarray(whole.to_numpy(zero_copy_only=False)) / _PER_SECOND[column.type.unit]
        values = column.cast(pa.float64(), safe=False)
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)

    def _targets(self, column: Any, name: str, first_row: int) -> Targets:
        doubles = self._numbers(column, name)
        refuse_infinite(self.label, doubles[:, None], [name], first_row)
        doubles = self.cells.without_codes(doubles)
        if self._pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if self._pa.types.is_floating(column.type) or self._pa.types.is_duration(column.type):
            return doubles
        return restored(doubles, lambda rows: column.take(self._pa.array(rows)).to_pylist())

    def _words(self, column: Any) -> Categorical:
        pa = self._pa
        if not pa.types.is_dictionary(column.type):
            column = column.cast(pa.string()).dictionary_encode()
        indices = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        # a dictionary may hold words that do not occur
        used, places = np.unique(indices, return_inverse=True)
        values = column.dictionary.cast(pa.string()).take(pa.array(used[used >= 0])).to_pylist()
        known = words_of([*[None] * int((used < 0).sum()), *values])
        return Categorical(known.codes[places], known.values)


class ColumnarSource(ArrowSource):
    """A Parquet file, or an Arrow file or stream (Feather of version 2 is an Arrow file)."""

    def __init__(
        self,
        source: ByteSource,
        *,
        form: str,
        categorical: tuple[str, ...],
        known: Collection[str] = (),
    ) -> None:
        super().__init__(source.label, categorical)
        self._source, self._form = source, form
        with self._opened() as opened:
            schema = opened.schema_arrow if form == "parquet" else opened.schema
        self._given = [str(name) for name in schema.names]
        self._names = self._distinct(self._given, known)
        self.columns = self._named(schema, self._names)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """The file, opened; whatever pyarrow says against it becomes a sentence."""
        try:
            if self._form == "parquet":
                with (
                    self._source.opened(),
                    self._pa.parquet.ParquetFile(
                        self._source.path, page_checksum_verification=True
                    ) as file,
                ):
                    yield file
            else:
                with self._source.opened(), self._pa.OSFile(self._source.path) as raw:
                    try:
                        opened = self._pa.ipc.open_file(raw)
                    except self._pa.ArrowInvalid:
                        raw.seek(0)
                        opened = self._pa.ipc.open_stream(raw)
                    yield opened
        except DataError:
            raise
        except Exception as error:  # of damaged files pyarrow says all kinds of things
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> DataError:
        reason = one_line(str(error))[:200].rstrip(". ") or type(error).__name__
        return DataError(f"{self.label} cannot be read as {self._form}: {reason}.")

    def _first_rows(self, selection: ColumnSelection) -> Block | None:
        with self._opened() as opened:
            batches = self._batches(opened, [*selection.numbers, *selection.dates], FIRST_ROWS)
            batch = next(iter(batches), None)
            if batch is None:
                return None
            batch = batch.slice(0, FIRST_ROWS)
            batch.validate(full=True)  # before anything follows its offsets
            return self._block(batch, selection, 0)

    def blocks(self, selection: ColumnSelection) -> Iterator[Block]:
        wanted = [
            *selection.numbers,
            *selection.words,
            *selection.dates,
            *(name for name in (selection.target, selection.ids) if name is not None),
        ]
        row = 0
        with self._opened() as opened:
            for batch in self._batches(opened, list(dict.fromkeys(wanted)), BATCH):
                self._source.refuse_more_rows(row + batch.num_rows)
                batch.validate(full=True)  # before anything follows its offsets
                for start in range(0, batch.num_rows, BATCH):
                    block = self._block(batch.slice(start, BATCH), selection, row)
                    row += block.n_rows
                    yield block

    @property
    def schema(self) -> Any:
        """Arrow's description of the columns, with what else the file says of them."""
        with self._opened() as opened:
            return opened.schema_arrow if self._form == "parquet" else opened.schema

    def stored_rows(self) -> Iterator[Any]:
        with self._opened() as opened:
            if self._form == "parquet":
                batches: Iterable[Any] = opened.iter_batches(STORED, use_threads=True)
            elif hasattr(opened, "num_record_batches"):
                batches = (opened.get_batch(at) for at in range(opened.num_record_batches))
            else:
                batches = opened
            for batch in batches:
                batch.validate(full=True)
                yield batch

    def _batches(self, opened: Any, names: list[str], rows: int) -> Iterator[Any]:
        """The rows of some columns; of Parquet so many at a time, of Arrow as they are stored."""
        if self._form == "parquet":
            self._source.refuse_more_rows(opened.metadata.num_rows)
            if not names:
                names = self._names[:1]  # so that rows are counted
            places = [at for at, name in enumerate(self._names) if name in names]
            # of a name that is there twice, both
            asked = list(dict.fromkeys(self._given[at] for at in places))
            batches: Iterable[Any] = opened.iter_batches(rows, columns=asked, use_threads=True)
        elif hasattr(opened, "num_record_batches"):
            batches = (opened.get_batch(at) for at in range(opened.num_record_batches))
        else:
            batches = opened
        yield from map(self._called, batches) if self.renamed else batches

    def _called(self, batch: Any) -> Any:
        """A batch with the names that the columns have here.

        Columns of one name come in the order of the file.
        """
        names: dict[str, list[str]] = {}
        for new, old in zip(self._names, self._given, strict=True):
            names.setdefault(old, []).append(new)
        return self._pa.RecordBatch.from_arrays(
            batch.columns, names=[names[old].pop(0) for old in batch.schema.names]
        )


class ArrowTableSource(ArrowSource):
    """An Arrow table in memory, whose columns have different names."""

    def __init__(self, label: str, table: Any, categorical: tuple[str, ...]) -> None:
        super().__init__(label, categorical)
        self._table = table
        self.columns = self._named(table.schema, table.schema.names)

    @property
    def dtype(self) -> np.dtype[Any]:
        pa = self._pa
        numeric = [
            np.float64 if pa.types.is_duration(field.type) else field.type.to_pandas_dtype()
            for field in self._table.schema
            if pa.types.is_floating(field.type)
            or pa.types.is_integer(field.type)
            or pa.types.is_boolean(field.type)
            or pa.types.is_duration(field.type)
        ]
        return np.dtype(
            np.float32 if numeric and np.result_type(*numeric) == np.float32 else np.float64
        )

    def _first_rows(self, selection: ColumnSelection) -> Block | None:
        batch = next(iter(self._table.slice(0, FIRST_ROWS).to_batches()), None)
        return None if batch is None else self._block(batch, selection, 0)

    def blocks(self, selection: ColumnSelection) -> Iterator[Block]:
        row = 0
        for batch in self._table.to_batches(BATCH):
            yield self._block(batch, selection, row)
            row += batch.num_rows
