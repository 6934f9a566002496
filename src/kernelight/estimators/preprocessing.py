"""From what a user passes as X to a checked matrix of numbers.

A matrix of numbers, dense or sparse, stays what it is, and so does a frame of numbers in which
nothing is missing. Everything else (words, categoricals, dates, missing values) becomes numbers by
an `Encoding` that ``fit`` learns, the same as for files. Columns are matched by position;
scikit-learn compares their names.

Every function but the first takes an X that `as_table_or_array` has returned:

1. `as_table_or_array` makes rows and columns countable, and `needs_encoding` says whether X is more
   than numbers;
2. `fit_encoding` makes the features of training rows, `apply_encoding` those of later rows;
3. `check_features` returns them as the core takes them.

`column_medians` learns what replaces a number that is missing in later rows only; `as_block` is X
as it was given, for those who look for leaks of the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from kernelight.base.checks import as_matrix, is_plain
from kernelight.data.dataset import Dataset
from kernelight.data.encoded_columns import EncodedColumn
from kernelight.data.encoding import MEDIAN_ROWS, Encoding
from kernelight.data.errors import DataError, shown
from kernelight.data.frames import (
    array_source,
    as_table,
    frame_source,
    is_frame,
    is_pandas,
    matrix_of,
)
from kernelight.data.reading_options import ReadingOptions
from kernelight.data.supervision import Supervision
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    ArraySource,
    Block,
    ColumnSelection,
    TableSource,
)

LABEL = "X"
_MEDIAN_VALUES = 1 << 22  # numbers that medians are taken of, at most


def as_table_or_array(X: Any) -> Any:
    """Return X as an object whose rows and columns can be counted.

    Sparse matrices, arrays and pandas frames stay what they are, other frames become Arrow tables,
    and lists become arrays.
    """
    if sp.issparse(X) or (is_pandas(X) and _is_sparse(X)):
        return X
    if is_frame(X):
        table = as_table(X, LABEL)
        names = list(table.columns if is_pandas(table) else table.column_names)
        if len({*names}) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(
                f"{LABEL} has two columns called {twice!r}: rename or drop one of them."
            )
        return table
    if isinstance(X, np.ndarray):
        return X
    try:
        array = np.asarray(X)
        # one string among numbers makes NumPy turn all of them into text
        return np.array(X, dtype=object) if array.dtype.kind in "US" and array.ndim == 2 else array
    except (TypeError, ValueError):
        return X  # rows of different lengths, for instance: scikit-learn raises the error


def plain_rows(X: Any, names: Sequence[Any] | None, width: int) -> NDArray[Any] | None:
    """The rows of X where they need no other check, as those of most predictions; else None.

    ``names`` are the columns that scikit-learn would ask for: X is then a pandas frame of plain
    numbers with the same names in the same order. Without names X is an array.
    """
    if names is not None:
        same = is_pandas(X) and X.columns.tolist() == [*names]
        X = matrix_of(X) if same else None
    return X if is_plain(X, width) else None


def needs_encoding(X: Any) -> bool:
    """Whether X is more than a matrix of numbers without missing values."""
    if is_frame(X):
        return not (is_pandas(X) and _is_sparse(X))
    if not isinstance(X, np.ndarray) or isinstance(X, np.ma.MaskedArray) or X.ndim != 2:
        return False
    if X.dtype.kind == "f":
        # the sum is cheap, and NaN wherever a value is
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isnan(X.sum()) and np.isnan(X).any())
    return X.dtype.kind in "OU"


def _is_sparse(frame: Any) -> bool:
    """Whether all columns of a pandas frame are sparse; scikit-learn makes it a sparse matrix."""
    return len(frame.dtypes) > 0 and all(
        hasattr(dtype, "subtype") and hasattr(dtype, "fill_value") for dtype in frame.dtypes
    )


def column_names(count: int, given: Sequence[Any] | None) -> list[str]:
    """The names of columns: those given, or ``column_1``, ``column_2``, ..."""
    return (
        [f"column_{at + 1}" for at in range(count)]
        if given is None
        else [str(name) for name in given]
    )


def column_names_in(X: Any) -> list[str]:
    """The names of the columns of X; an array has ``column_1``, ``column_2``, ..."""
    if not is_frame(X):
        return column_names(X.shape[1], None)
    return column_names(X.shape[1], list(X.columns if is_pandas(X) else X.column_names))


def fit_encoding(
    X: Any, names: Sequence[str], supervision: Supervision | None = None
) -> tuple[NDArray[Any], Encoding | None]:
    """The features of training rows, and the encoding that makes them.

    The encoding is None if all columns are numbers and none is missing. With a ``supervision``,
    columns of many words also become target values.
    """
    source = _source(X, names)
    kinds = [column.kind for column in source.columns or ()]
    if all(kind == NUMBER for kind in kinds):
        numbers = _numbers(source, names)
        if not np.isnan(numbers).any():
            return numbers, None
    for column in source.columns or ():
        if column.kind not in (NUMBER, CATEGORICAL, DATE):
            raise TypeError(
                f"{LABEL}, column {shown(column.name)} holds {column.kind}: each argument must be "
                f"a string or a number, so convert the column or leave it out."
            )
    data = Dataset(source, ReadingOptions(target=None, dtype=source.dtype.name), None, supervision)
    features, _ = data.materialise()
    return features, data.encoding


def apply_encoding(
    X: Any, names: Sequence[str], encoding: Encoding | None, medians: NDArray[np.float64] | None
) -> NDArray[Any]:
    """The features of later rows, by what ``fit`` learned.

    Without an encoding the columns are numbers, and ``medians`` replace those that are missing;
    medians of None (of an older model) leave them missing.
    """
    if encoding is not None:
        has_words = any(column.kind != NUMBER for column in encoding.columns or ())
        source = _source(X.astype(object) if has_words and isinstance(X, np.ndarray) else X, names)
        return _features(source, encoding)
    source = _source(X, names)
    kinds = (NUMBER,) if medians is None else (NUMBER, CATEGORICAL)
    for column in source.columns or ():
        if column.kind not in kinds:
            raise DataError(
                f"{LABEL}, column {shown(column.name)}: {column.kind} where the model has numbers."
            )
    # text may still be numbers, such as "1.5": they are read as those of a file are
    if medians is not None and any(column.kind == CATEGORICAL for column in source.columns or ()):
        columns = tuple(
            EncodedColumn(name, NUMBER, fill=fill)
            for name, fill in zip(names, medians.tolist(), strict=True)
        )
        numeric = Encoding(columns, len(columns), None, dtype=source.dtype.name)
        return _features(source, numeric)
    numbers = _numbers(source, names)
    missing = np.isnan(numbers)
    if medians is not None and missing.any():
        numbers = np.where(missing, medians.astype(numbers.dtype), numbers)
    return numbers


def _features(source: TableSource, encoding: Encoding) -> NDArray[Any]:
    """The features of all rows of a source, by an encoding that is known."""
    return np.asarray(Dataset(source, ReadingOptions(target=None), encoding).materialise()[0])


def _source(X: Any, names: Sequence[str]) -> TableSource:
    """X as a table whose columns have these names."""
    if is_frame(X):
        source = frame_source(X, label=LABEL, names=names)
    elif X.dtype.kind in "OU":
        source = array_source(X, LABEL, names)
    else:
        source = ArraySource(LABEL, names, X, {}, None)
    source.has_options = False
    return source


def as_block(X: Any, names: Sequence[str]) -> tuple[ColumnSelection, Block]:
    """All rows of X before they are encoded, and which of their columns are what."""
    source = _source(X, names)
    by_kind = {
        kind: tuple(column.name for column in source.columns or () if column.kind == kind)
        for kind in (NUMBER, CATEGORICAL, DATE)
    }
    selection = ColumnSelection(by_kind[NUMBER], by_kind[CATEGORICAL], dates=by_kind[DATE])
    return selection, source.whole(selection)


def _numbers(source: TableSource, names: Sequence[str]) -> NDArray[Any]:
    """All columns of a source, which are numbers; NaN where one is missing."""
    numbers: NDArray[Any] = source.whole(
        ColumnSelection(numbers=tuple(names), dtype=source.dtype.name)
    ).numbers
    return numbers


def check_features(matrix: NDArray[Any], model: Any) -> NDArray[Any]:
    """Features as the core takes them; scikit-learn refuses a matrix without rows or columns."""
    rows = check_array(matrix, ensure_all_finite=False, dtype=None, estimator=model, input_name="X")
    return np.asarray(as_matrix(rows))


def n_rows(X: Any) -> int:
    """The number of rows of X; 0 where X is no table, which scikit-learn refuses later."""
    return int(X.shape[0]) if len(getattr(X, "shape", ())) == 2 else 0


def cells_of(X: Any) -> NDArray[Any]:
    """The cells of X as they were given: an array of its rows and columns."""
    if sp.issparse(X):
        return np.asarray(X.toarray())
    if is_frame(X) and not is_pandas(X):
        cells = np.empty((X.num_rows, X.num_columns), dtype=object)
        for at, column in enumerate(X.columns):
            cells[:, at] = column.to_pylist()
        return cells
    return np.asarray(X.to_numpy() if is_pandas(X) else X)


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """The rows of X with these indices."""
    if is_pandas(X):
        return X.iloc[rows]
    if is_frame(X):
        return X.take(rows)
    return (X.tocsr() if sp.issparse(X) else X)[rows]


def column_medians(X: Any, weight: NDArray[np.float64] | None = None) -> NDArray[np.float64] | None:
    """The median of each column, which replaces a value that is missing in later rows.

    None for sparse rows, where nothing is missing. Weights count as repetitions. The wider X is,
    the fewer rows are used, so that medians stay cheap beside the fit.
    """
    if sp.issparse(X):
        return None
    rows = min(MEDIAN_ROWS, max(1_000, _MEDIAN_VALUES // max(1, X.shape[1])))
    some = X[:rows].astype(np.float64)
    if weight is None:
        return np.asarray(np.median(some, axis=0))
    order = np.argsort(some, axis=0)
    # the weight of the values up to each; where it is just half of all, two values share the median
    upto = np.cumsum(weight[:rows][order], axis=0)
    lower, upper = (upto < upto[-1] / 2).sum(axis=0), (upto <= upto[-1] / 2).sum(axis=0)
    values = np.take_along_axis(some, order, axis=0)
    columns = np.arange(some.shape[1])
    return np.asarray(
        (values[lower, columns] + values[np.minimum(upper, len(some) - 1), columns]) / 2
    )
