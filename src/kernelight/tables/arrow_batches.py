"""Models and maps of tables on Arrow batches: what a worker of any engine does with its rows.

A pure function of a fitted object and a batch: the result of a row depends on no other row, so that
it is the same however an engine cuts a table into batches. Hence columns are taken as what they
are: text where a model has numbers, which a file may be read by, is refused, as how text is written
shows only in many rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.data import DataError, Encoding
from kernelight.data.columnar import pyarrow_or_error
from kernelight.data.encoded_source import cell_rule
from kernelight.data.errors import DataWarning, listed, nearest, shown
from kernelight.data.frames import LABEL as FRAME
from kernelight.data.frames import frame_source
from kernelight.data.opening import open_dataset
from kernelight.data.table_source import CATEGORICAL, DATE, NUMBER, ColumnSelection
from kernelight.tables.predictions import Wanted, predicted

LABEL = "the batch"


def batch_matrix(batch: Any, encoding: Encoding | None, width: int, array: str | None) -> Any:
    """The features of the rows of a batch, as a scaling takes them.

    Columns are found by the names that the encoding has, and others are ignored. Without names, or
    with ``array``, one column has lists of all features of a row.
    """
    pa = pyarrow_or_error("An Arrow batch")
    if not isinstance(batch, pa.RecordBatch | pa.Table):
        raise TypeError(
            f"batch must be a RecordBatch or a Table of pyarrow, got a {type(batch).__name__}."
        )
    columns = None if encoding is None else encoding.columns
    if array is None and columns is None:
        return _all_columns(batch, width)
    if columns is None:
        return _array(batch, array or "", width)
    assert encoding is not None
    table = _known_columns(_named(batch, encoding, array), encoding)
    if not table.num_rows:
        return np.empty((0, width), dtype=encoding.dtype)
    return _read(table, encoding)[0]


def batch_rows(batch: Any, encoding: Encoding, array: str | None) -> tuple[Any, NDArray[Any]]:
    """The features of the rows of a batch, of which there are some, and their targets."""
    pa = pyarrow_or_error("An Arrow batch")
    target = encoding.target
    assert target is not None
    if target.name not in batch.schema.names:
        raise _no_column(target.name, batch.schema.names)
    table = _known_columns(_named(batch, encoding, array), encoding)
    column = pa.table({target.name: batch.column(target.name)}).column(0)
    X, y = _read(table.append_column(target.name, column), encoding)
    if X.shape[0] != batch.num_rows:
        raise DataError(
            f"{LABEL}, column {shown(target.name)}: the target of some rows is missing; leave such "
            "rows out."
        )
    return X, y


def _named(batch: Any, encoding: Encoding, array: str | None) -> Any:
    """The same rows with the columns of an encoding; with ``array`` they are made of its lists."""
    pa = pyarrow_or_error("An Arrow batch")
    columns = encoding.columns or ()
    if array is None:
        return batch
    X = _array(batch, array, len(columns))
    return pa.table({c.name: X[:, at] for at, c in enumerate(columns)})


def _array(batch: Any, array: str, width: int) -> NDArray[np.float64]:
    """The matrix of the column of lists of that name."""
    if array not in batch.schema.names:
        raise _no_column(array, batch.schema.names)
    return lists_matrix(batch.column(array), array, width)


def _read(table: Any, encoding: Encoding | None) -> tuple[Any, Any]:
    """The features of all rows of a table, of which there are some, and targets if it has them."""
    with warnings.catch_warnings():  # notes are on files, and would come with every batch
        warnings.simplefilter("ignore", DataWarning)
        try:
            target = None if encoding is None or encoding.target is None else encoding.target.name
            opened = open_dataset(
                table, encoding=encoding, target=target if target in table.column_names else None
            )
            read = next(iter(opened.batches(table.num_rows)))
            return read.X, read.y
        except DataError as error:
            raise DataError(str(error).replace(FRAME, LABEL, 1)) from None


def _known_columns(batch: Any, encoding: Encoding) -> Any:
    """The columns that an encoding needs, of the kinds that it has."""
    pa = pyarrow_or_error("An Arrow batch")
    names = batch.schema.names
    known = encoding.columns or ()
    wanted = [column.name for column in known]
    for name in wanted:
        if names.count(name) != 1:
            raise _no_column(name, names)
    table = pa.table(
        [_plain(batch.column(column.name), column.kind) for column in known], names=wanted
    )
    kinds = {each.name: each.kind for each in frame_source(table, label=LABEL).columns or ()}
    for column in known:
        kind = kinds[column.name]
        if kind != column.kind and column.kind in (NUMBER, DATE):
            has = {NUMBER: "numbers", DATE: "dates", CATEGORICAL: "words"}
            raise DataError(
                f"{LABEL}, column {shown(column.name)}: {has.get(kind, kind)} where the model has "
                f"{has[column.kind]}; cast the column before."
            )
    return table


def target_words(labels: Any, name: str) -> list[str | None]:
    """The classes that values of a target are where it is read as words; None is a missing one."""
    pa = pyarrow_or_error("A target")
    source = frame_source(pa.table({name: labels}), label=LABEL, categorical=[name])
    source.cells = cell_rule(None, None)
    (words,) = source.whole(ColumnSelection(words=(name,))).words
    return [None if code < 0 else words.values[code] for code in words.codes]


def _plain(values: Any, kind: str) -> Any:
    """A column without what only saves memory: runs, and dictionaries of numbers."""
    pa = pyarrow_or_error("An Arrow batch")
    t = pa.types
    if t.is_run_end_encoded(values.type):
        values = pa.compute.run_end_decode(values)
    if t.is_dictionary(values.type) and kind != CATEGORICAL:
        inside = values.type.value_type
        if not (t.is_string(inside) or t.is_large_string(inside) or t.is_string_view(inside)):
            values = values.cast(inside)
    if t.is_null(values.type) and kind == DATE:
        values = values.cast(pa.timestamp("us"))
    return values


def _no_column(name: str, names: list[str]) -> DataError:
    if names.count(name) > 1:
        return DataError(f"{LABEL} has several columns {shown(name)}: rename or drop all but one.")
    hint = nearest(name, names) or f"; there are {listed(names)}."
    return DataError(f"{LABEL} has no column {shown(name)}{hint}")


def lists_matrix(column: Any, name: str, width: int) -> NDArray[np.float64]:
    """The matrix of a column of lists of numbers, each as long as a row has features."""
    pa = pyarrow_or_error("An Arrow batch")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            parts = [lists_matrix(chunk, name, width) for chunk in column.chunks]
            return np.concatenate(parts) if parts else np.empty((0, width))
    t = pa.types
    lists = (t.is_list, t.is_large_list, t.is_fixed_size_list, t.is_list_view)
    if not any(is_one(column.type) for is_one in lists):
        raise DataError(
            f"{LABEL}, column {shown(name)} is {column.type}, and a list of "
            f"{counted(width, 'number')} was expected."
        )
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise DataError(f"{LABEL}, column {shown(name)}: row {row + 1} is null; leave it out.")
    sizes = pa.compute.list_value_length(column).to_numpy(zero_copy_only=False)
    other = np.flatnonzero(sizes != width)
    if len(other):
        raise DataError(
            f"{LABEL}, column {shown(name)}: the list of row {other[0] + 1} has "
            f"{counted(int(sizes[other[0]]), 'number')}, and {width:,} were expected."
        )
    flat = column.flatten()
    numeric = (t.is_integer, t.is_floating, t.is_boolean, t.is_decimal)
    if not any(is_one(flat.type) for is_one in numeric):
        raise DataError(f"{LABEL}, column {shown(name)} has lists of {flat.type}, not of numbers.")
    if t.is_boolean(flat.type):
        flat = flat.cast(pa.uint8())
    values = flat.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64).reshape(len(column), width)


def _all_columns(batch: Any, width: int) -> NDArray[np.float64]:
    """All columns as they are, of a map that knows no names; or one column of lists."""
    pa = pyarrow_or_error("An Arrow batch")
    names = batch.schema.names
    if len(names) == 1 and pa.types.is_nested(batch.schema.types[0]):
        return lists_matrix(batch.column(0), names[0], width)
    if len(names) != width:
        raise DataError(
            f"{LABEL} has {counted(len(names), 'column')}, and {width:,} were expected: select "
            "those of the features, in their order, or name a column of lists of them."
        )
    for column in frame_source(batch, label=LABEL).columns or ():
        if column.kind != NUMBER:
            raise DataError(f"{LABEL}, column {shown(column.name)}: not a column of numbers.")
    return np.asarray(_read(batch, None)[0]) if batch.num_rows else np.empty((0, width))


# -- Predictions


def as_arrow(model: Any, X: Any, wanted: Wanted) -> Any:
    """The predictions for some rows as an Arrow batch: see `TableModel.predict_arrow`."""
    pa = pyarrow_or_error("Predictions as an Arrow batch")
    schema = prediction_schema(model, wanted)
    if X.shape[0]:
        said = predicted(model, X, wanted)
        low, high = said.interval or (None, None)
        columns = {
            "prediction": said.values,
            "scores": said.scores,
            "probabilities": said.probabilities,
            "low": low,
            "high": high,
        }
        arrays = [_arrow(columns[field.name], field.type) for field in schema]
    else:
        arrays = [pa.array([], type=field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def prediction_schema(model: Any, wanted: Wanted) -> Any:
    """The columns of predictions."""
    pa = pyarrow_or_error("Predictions as an Arrow batch")
    classes = getattr(model, "classes_", None)
    label = pa.float64() if classes is None else pa.array(np.asarray(classes).tolist()).type
    lists = pa.list_(pa.float64())
    fields = [pa.field("prediction", label)]
    fields += [pa.field("scores", lists)] * wanted.scores
    fields += [pa.field("probabilities", lists)] * wanted.probabilities
    if wanted.interval is not None:
        fields += [pa.field("low", pa.float64()), pa.field("high", pa.float64())]
    return pa.schema(fields)


def _arrow(values: Any, kind: Any) -> Any:
    """An array of labels or quantities, or one of a list for each row."""
    pa = pyarrow_or_error("Predictions as an Arrow batch")
    if not pa.types.is_list(kind):
        return pa.array(values.tolist() if values.dtype.kind in "UO" else values).cast(kind)
    return as_lists(np.asarray(values, dtype=np.float64).reshape(len(values), -1))


def as_lists(matrix: NDArray[Any]) -> Any:
    """An array of a list for each row of a matrix of at least one column."""
    pa = pyarrow_or_error("Lists of numbers")
    n, width = matrix.shape
    ends = np.arange(0, (n + 1) * width, width, dtype=np.int32)
    flat = np.ascontiguousarray(matrix).reshape(-1)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(flat))
