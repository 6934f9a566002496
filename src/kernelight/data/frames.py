"""Data sets that are frames in memory: pandas, polars, Arrow, and what has their protocols.

Numbers, booleans (0 and 1), nullable numbers and durations (in seconds) are numbers; text and
categoricals, whatever their categories are, are words; timestamps and dates are dates. None, NaN,
NA and NaT are missing values. The index of a frame is ignored. pandas is read by its own methods;
everything else is read through pyarrow. Neither is imported before such a frame is given.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.columnar import ArrowTableSource, pyarrow_or_error
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
    distinct,
    words_of,
)

LABEL = "the frame"
_NAMELESS = re.compile(r"\s*|Unnamed: \d+")  # what pandas calls a column without a name
STEP = 1 << 16  # rows of a block
_NUMBERS = (bool, np.bool_, numbers.Real, decimal.Decimal)
_DURATIONS = (datetime.timedelta, np.timedelta64)
_SECOND = datetime.timedelta(seconds=1)


def is_frame(thing: Any) -> bool:
    """Whether this is a frame of pandas or polars, an Arrow table, or has one of their protocols.

    >>> from kernelight.data.frames import is_frame
    >>> import pandas as pd
    >>> is_frame(pd.DataFrame({"a": [1, 2]})), is_frame(pd.Series([1, 2])), is_frame([[1, 2]])
    (True, False, False)
    """
    if is_pandas(thing) or hasattr(thing, "__dataframe__") or _is_polars(thing, "LazyFrame"):
        return True
    one_dimensional = len(getattr(thing, "shape", (0, 0))) == 1 or hasattr(thing, "chunks")
    return hasattr(thing, "__arrow_c_stream__") and not one_dimensional


def is_pandas(thing: Any) -> bool:
    """Whether this is a frame of pandas, which has then been imported by someone."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(thing, getattr(pandas, "DataFrame", ()))


def _is_polars(thing: Any, kind: str) -> bool:
    """Whether this is a DataFrame of polars, or a LazyFrame: a query, which has no rows yet."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(thing, getattr(polars, kind, ()))


def as_table(frame: Any, label: str = LABEL) -> Any:
    """A frame of pandas as it is; any other as an Arrow table."""
    if is_pandas(frame):
        return frame
    if _is_polars(frame, "LazyFrame"):
        raise DataError(f"{label} is a LazyFrame, which has no rows yet: collect() it first.")
    pa = pyarrow_or_error(label)
    if isinstance(frame, pa.Table):
        return frame
    try:
        if hasattr(frame, "__arrow_c_stream__"):
            return pa.table(frame)
        if _is_polars(frame, "DataFrame"):  # before 1.3: no nulls in its __dataframe__
            return frame.to_arrow()
        from pyarrow.interchange import from_dataframe

        return from_dataframe(frame)
    # of types that Arrow does not know, libraries say all kinds of things
    except Exception as error:
        reason = one_line(str(error))[:200].rstrip(". ") or type(error).__name__
        raise DataError(
            f"{label} is a {type(frame).__name__} that cannot be read: {reason}."
        ) from error


def frame_source(
    frame: Any,
    *,
    label: str = LABEL,
    categorical: Sequence[str] = (),
    names: Sequence[str] | None = None,
    known: Collection[str] = (),
) -> TableSource:
    """The columns of a frame.

    ``names`` are used instead of those that it has; ``known`` are those of a model.
    """
    table = as_table(frame, label)
    given = list(table.columns if is_pandas(table) else table.column_names)
    called = [str(name) for name in given]
    unique = distinct(called, known) if names is None else list(names)
    source: TableSource
    if is_pandas(table):
        columns = [_pandas_column(table.iloc[:, at]) for at in range(table.shape[1])]
        source = FrameSource(
            label, dict(zip(unique, columns, strict=True)), len(table), categorical
        )
    else:
        source = ArrowTableSource(label, table.rename_columns(unique), tuple(categorical))
    if names is None:
        pairs = zip(called, unique, strict=True)
        source.renamed = tuple((old, new) for old, new in pairs if old != new)
        source.nameless = frozenset(
            new
            for old, new in zip(given, unique, strict=True)
            if _is_missing(old) or _NAMELESS.fullmatch(str(old))
        )
    return source


def matrix_of(frame: Any) -> NDArray[Any] | None:
    """The numbers of a pandas frame whose columns are all plain numbers of NumPy, else None.

    They are those of `frame_source`, without a look at each column by itself.
    """
    dtypes = {*frame.dtypes}
    if not dtypes or not all(isinstance(each, np.dtype) and each.kind in "iuf" for each in dtypes):
        return None
    single = np.result_type(*dtypes) == np.float32
    return np.ascontiguousarray(frame.to_numpy(dtype=np.float32 if single else np.float64))


def array_source(array: NDArray[Any], label: str, names: Sequence[str]) -> TableSource:
    """The columns of a two-dimensional array of objects, where numbers may be text."""
    columns = [_objects(array[:, at], written=True) for at in range(array.shape[1])]
    return FrameSource(label, dict(zip(names, columns, strict=True)), len(array))


def column_values(values: Any, name: str = "y") -> Any:
    """A target as a NumPy array of numbers, booleans or objects.

    It may be an array, a column of pandas, polars or Arrow, or a list; anything else is returned as
    it is. Durations are seconds. Missing values and dates are refused.
    """
    array = _array_of(values)
    if not isinstance(array, np.ndarray):
        return array
    kind = array.dtype.kind
    objects = array.ravel().tolist() if kind == "O" else []
    if kind == "O":
        gone = np.array([_is_missing(value) for value in objects], dtype=bool).reshape(array.shape)
    else:
        gone = (
            np.isnat(array)
            if kind in "mM"
            else np.isnan(array)
            if kind == "f"
            else np.zeros(0, dtype=bool)
        )
    if gone.any():
        row = int(np.argwhere(gone)[0][0])
        raise ValueError(
            f"Input {name} contains NaN or another missing value at row {row}: leave such rows out."
        )
    if kind == "M" or any(isinstance(value, (datetime.date, np.datetime64)) for value in objects):
        raise ValueError(
            f"Input {name} contains dates, which are neither classes nor quantities: make numbers "
            f"of them (such as days since a day), or text if each date is a class."
        )
    if kind == "m":
        return array / np.timedelta64(1, "s")
    if objects and all(isinstance(value, _DURATIONS) for value in objects):
        return np.array([_number(value) for value in objects]).reshape(array.shape)
    if (
        objects
        and values is not array
        and all(isinstance(value, numbers.Real) for value in objects)
    ):
        return np.asarray(array.tolist())  # a categorical of numbers, for instance
    return values if isinstance(values, (list, tuple)) else array


def _array_of(values: Any) -> Any:
    """One column of pandas, polars or Arrow, or a list, as an array; anything else as it is."""
    if isinstance(values, (list, tuple)):
        try:
            return np.asarray(values)
        except ValueError:  # rows of several lengths: scikit-learn says it
            return values
    # a Series, an Index or an array of pandas
    if hasattr(values, "isna") and getattr(values, "ndim", 0) == 1:
        dtype = values.dtype
        if isinstance(dtype, np.dtype) and dtype.kind != "O":
            return np.asarray(values)
        numeric = getattr(dtype, "kind", "O") in "biuf" and not hasattr(dtype, "categories")
        if numeric and not values.isna().any():
            return np.asarray(values, dtype=object).astype(
                getattr(dtype, "numpy_dtype", np.float64)
            )
        return np.asarray(values, dtype=object)
    if hasattr(values, "null_count") and hasattr(values, "to_numpy"):  # of polars or Arrow
        listed = values.to_list() if hasattr(values, "to_list") else values.to_pylist()
        plain = None not in listed and not isinstance(next(iter(listed), ""), str)
        return np.asarray(listed) if plain else np.asarray(listed, dtype=object)
    return values


# -- Columns


@dataclass(frozen=True)
class Plain:
    """A column whose type says what it is. ``values`` has the methods of a pandas Series."""

    values: Any
    kind: str
    dtype: np.dtype[Any]

    def part(self, rows: slice) -> Plain:
        """Some of the rows."""
        return Plain(self.values.iloc[rows], self.kind, self.dtype)

    def numbers(self) -> NDArray[np.float64]:
        """As numbers, NaN where one is missing."""
        if self.dtype.kind == "m":
            return np.asarray(self.values.dt.total_seconds().to_numpy(np.float64, na_value=np.nan))
        more = {} if isinstance(self.values.dtype, np.dtype) else {"na_value": np.nan}
        return np.asarray(self.values.to_numpy(dtype=np.float64, **more))

    def dates(self) -> NDArray[np.datetime64]:
        """As moments in UTC, NaT where one is missing."""
        values = self.values
        if getattr(values.dt, "tz", None) is not None:
            values = values.dt.tz_convert("UTC").dt.tz_localize(None)
        return np.asarray(values.to_numpy(dtype="datetime64[us]"))

    def written(self, rows: NDArray[np.intp]) -> list[Any]:
        """Some values as they are."""
        return list(self.values.iloc[rows])

    def words(self) -> Categorical:
        """As words: of a categorical its categories, as far as they occur."""
        if hasattr(self.values.dtype, "categories"):
            codes = np.asarray(self.values.cat.codes)
            used, places = np.unique(codes[codes >= 0], return_inverse=True)
            word_codes = np.full(len(codes), -1, dtype=np.int32)
            known = words_of([_text(value) for value in self.values.cat.categories[used].tolist()])
            word_codes[codes >= 0] = known.codes[places]
            return Categorical(word_codes, known.values)
        gone = self.values.isna().to_numpy()
        return _words_of(self.values.to_numpy(dtype=object), gone)


@dataclass(frozen=True)
class Objects:
    """A column of Python objects.

    ``kind`` is NUMBER, WORDS, or the name of a type that is neither.
    """

    values: NDArray[np.object_]
    kind: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its numbers."""
        return np.dtype(np.float64)

    def part(self, rows: slice) -> Objects:
        """Some of the rows."""
        return Objects(self.values[rows], self.kind)

    def numbers(self) -> NDArray[np.float64]:
        """As numbers, NaN where one is missing."""
        return np.array([np.nan if _is_missing(value) else _number(value) for value in self.values])

    def dates(self) -> NDArray[np.datetime64]:
        """As moments, NaT where one is missing."""
        moments = [
            None if _is_missing(value) else np.datetime64(_without_zone(value))
            for value in self.values
        ]
        return np.array(moments, dtype="datetime64[us]")

    def written(self, rows: NDArray[np.intp]) -> list[Any]:
        """Some values as they are; floating-point numbers as text, which claims no exactness."""
        return [
            str(value) if isinstance(value, (float, np.floating)) else value
            for value in self.values[rows]
        ]

    def words(self) -> Categorical:
        """As words."""
        return _words_of(
            self.values, np.array([_is_missing(value) for value in self.values], dtype=bool)
        )


def _pandas_column(series: Any) -> Plain | Objects:
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        return Plain(series, CATEGORICAL, np.dtype(object))
    if hasattr(dtype, "fill_value") and hasattr(series, "sparse"):
        return _pandas_column(series.sparse.to_dense())
    kind = getattr(dtype, "kind", "O")
    if kind in "biufm":
        numeric = getattr(dtype, "numpy_dtype", dtype)
        return Plain(series, NUMBER, np.dtype(numeric))
    if kind == "M":
        return Plain(series, DATE, np.dtype(object))
    if isinstance(dtype, np.dtype) and kind == "O":
        return _objects(series.to_numpy())
    if getattr(dtype, "type", None) is str:
        return Plain(series, CATEGORICAL, np.dtype(object))
    return _objects(series.to_numpy(dtype=object), other=str(dtype))


def _objects(values: NDArray[Any], *, other: str = "", written: bool = False) -> Objects:
    """A column of objects by the types that occur.

    With ``written``, text that can be read as a number is one.
    """
    values = values.astype(object, copy=False)
    types = {type(value) for value in values if not _is_missing(value)}
    if all(issubclass(type_, _NUMBERS) for type_ in types):
        return Objects(values, NUMBER)
    if all(issubclass(type_, _DURATIONS) for type_ in types):
        return Objects(values, NUMBER)
    if all(issubclass(type_, (datetime.date, np.datetime64)) for type_ in types):
        return Objects(values, DATE)
    strange = next((type_ for type_ in types if not issubclass(type_, (str, *_NUMBERS))), None)
    if strange is not None:
        return Objects(values, other or strange.__name__)
    return Objects(values, NUMBER if written and all(map(_is_written, values)) else CATEGORICAL)


def _is_written(value: Any) -> bool:
    """Whether a number can be read from a value, or it is missing."""
    try:
        return _is_missing(value) or float(value) == float(value)
    except ValueError:
        return False


def _number(value: Any) -> float:
    if isinstance(value, _DURATIONS):
        return float(
            value / (np.timedelta64(1, "s") if isinstance(value, np.timedelta64) else _SECOND)
        )
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _without_zone(value: Any) -> Any:
    """A moment in UTC; NumPy knows no others."""
    zoned = isinstance(value, datetime.datetime) and value.tzinfo is not None
    return value.astimezone(datetime.timezone.utc).replace(tzinfo=None) if zoned else value


def _is_missing(value: Any) -> bool:
    """None, NaN of any kind, and what pandas calls NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return isinstance(value, (float, np.floating, decimal.Decimal)) and value != value


def _words_of(values: NDArray[Any], gone: NDArray[np.bool_]) -> Categorical:
    return words_of(
        [None if absent else _text(value) for value, absent in zip(values, gone, strict=True)]
    )


def _text(value: Any) -> str:
    """A value as a word; a whole number is written as one, whatever holds it."""
    if isinstance(value, (float, np.floating)) and value == np.floor(value):
        return str(int(value))
    return str(value)


class FrameSource(TableSource):
    """Columns that are in memory, each of a type of its own."""

    def __init__(
        self,
        label: str,
        columns: dict[str, Plain | Objects],
        n_rows: int,
        categorical: Sequence[str] = (),
    ) -> None:
        self.label, self._columns, self._n_rows = label, columns, n_rows
        as_words = set(categorical)
        self.columns = tuple(
            Column(
                name,
                CATEGORICAL if name in as_words and column.kind in (NUMBER, DATE) else column.kind,
            )
            for name, column in columns.items()
        )
        self.guessed = frozenset(
            name
            for name, column in columns.items()
            if column.kind == CATEGORICAL
            and name not in as_words
            and not hasattr(column.values.dtype, "categories")
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        dtypes = [
            # durations become seconds
            np.dtype(np.float64) if column.dtype.kind == "m" else column.dtype
            for column in self._columns.values()
            if column.kind == NUMBER
        ]
        return np.dtype(
            np.float32 if dtypes and np.result_type(*dtypes) == np.float32 else np.float64
        )

    def blocks(self, selection: ColumnSelection) -> Iterator[Block]:
        for start in range(0, self._n_rows, STEP):
            yield self._block(selection, slice(start, min(self._n_rows, start + STEP)))

    def whole(self, selection: ColumnSelection) -> Block:
        return self._block(selection, slice(0, self._n_rows))

    def _first_rows(self, selection: ColumnSelection) -> Block | None:
        return self._block(selection, slice(0, min(self._n_rows, FIRST_ROWS)))

    def _block(self, selection: ColumnSelection, rows: slice) -> Block:
        matrix = np.empty((rows.stop - rows.start, len(selection.numbers)), dtype=selection.dtype)
        for at, name in enumerate(selection.numbers):
            with np.errstate(over="ignore"):
                matrix[:, at] = self._numbers(name, rows)
        refuse_infinite(self.label, matrix, selection.numbers, rows.start)
        words = tuple(self._words(name, rows) for name in selection.words)
        target: Any = None
        if selection.target is not None:
            read = self._words if selection.target_kind == CATEGORICAL else self._targets
            target = read(selection.target, rows)
        ids = (
            None
            if selection.ids is None
            else self._columns[selection.ids].part(rows).words().texts()
        )
        dates = None
        if selection.dates:
            dates = np.empty((matrix.shape[0], len(selection.dates)), dtype="datetime64[us]")
            for at, name in enumerate(selection.dates):
                column = self._columns[name].part(rows)
                if column.kind == NUMBER and np.isnan(column.numbers()).all():
                    dates[:, at] = np.datetime64("NaT")
                    continue
                if column.kind != DATE:
                    raise DataError(
                        f"{self.label}, column {shown(name)}: {column.kind} where the model has "
                        f"dates."
                    )
                dates[:, at] = column.dates()
        matrix = self.cells.without_codes(matrix)
        return Block(matrix, words, target, ids, rows.start, dates=dates)

    def _words(self, name: str, rows: slice) -> Categorical:
        return self.cells.read(name, self._columns[name].part(rows).words())

    def _targets(self, name: str, rows: slice) -> Targets:
        doubles = self._numbers(name, rows)
        refuse_infinite(self.label, doubles[:, None], [name], rows.start)
        column = self._columns[name].part(rows)
        doubles = self.cells.without_codes(doubles)
        if column.dtype.kind == "f" and not isinstance(column, Objects):
            return doubles
        return restored(doubles, column.written)

    def _numbers(self, name: str, rows: slice) -> NDArray[np.float64]:
        column = self._columns[name].part(rows)
        if column.kind == NUMBER or isinstance(column, Objects):
            try:
                return column.numbers()
            except (TypeError, ValueError, decimal.InvalidOperation):
                pass
        kind = "categories" if hasattr(column.values.dtype, "categories") else column.kind
        raise DataError(f"{self.label}, column {shown(name)}: {kind} where the model has numbers.")
