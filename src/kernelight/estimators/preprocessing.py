"""From what a user passes as X to a checked matrix of numbers.

A matrix of numbers, dense or sparse, stays what it is, and so does a frame of numbers in which
nothing is missing. Everything else (words, categoricals, missing values) becomes numbers by an
`Encoding` that is learned in ``fit``, as for files. Columns are told apart by their place;
scikit-learn compares the names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from kernelight.base.checks import as_matrix
from kernelight.data.dataset import Dataset, ReadingOptions
from kernelight.data.encoding import MEDIAN_ROWS, EncodedColumn, Encoding
from kernelight.data.errors import DataError, shown
from kernelight.data.frames import array_source, as_table, frame_source, is_frame, is_pandas
from kernelight.data.supervision import Supervision
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    ArraySource,
    ColumnSelection,
    TableSource,
)

LABEL = "X"
_MEDIAN_VALUES = 1 << 22


def looked_at(X: Any) -> Any:
    """X as something whose rows and columns scikit-learn can count; a frame of pandas as it is,
    others as an Arrow table."""
    if sp.issparse(X) or (is_pandas(X) and _is_sparse(X)):
        return X
    if is_frame(X):
        table = as_table(X, LABEL)
        names = list(table.columns if is_pandas(table) else table.column_names)
        twice = (
            next((name for name in names if names.count(name) > 1), None)
            if len({*names}) < len(names)
            else None
        )
        if twice is not None:
            raise ValueError(
                f"{LABEL} has two columns called {twice!r}: rename or drop one of them."
            )
        return table
    if isinstance(X, np.ndarray):
        return X
    try:
        found = np.asarray(X)
        return np.array(X, dtype=object) if found.dtype.kind in "US" and found.ndim == 2 else found
    except (TypeError, ValueError):
        return X  # rows of several lengths, for instance: scikit-learn says it


def needs_encoding(X: Any) -> bool:
    """Whether something that was `looked_at` is more than a matrix of numbers."""
    if is_frame(X):
        return not (is_pandas(X) and _is_sparse(X))
    if not isinstance(X, np.ndarray) or isinstance(X, np.ma.MaskedArray) or X.ndim != 2:
        return False
    if X.dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isnan(X.sum()) and np.isnan(X).any())
    return X.dtype.kind in "OU"


def _is_sparse(frame: Any) -> bool:
    """Whether all columns of a pandas frame are sparse: scikit-learn makes a sparse matrix of
    it."""
    return len(frame.dtypes) > 0 and all(
        hasattr(dtype, "subtype") and hasattr(dtype, "fill_value") for dtype in frame.dtypes
    )


def names_of(count: int, given: Sequence[Any] | None) -> list[str]:
    """The names of columns: those of the frame, or their places."""
    return (
        [f"column_{at + 1}" for at in range(count)]
        if given is None
        else [str(name) for name in given]
    )


def names_in(X: Any) -> list[str]:
    """Different names of the columns of something that was `looked_at`."""
    if not is_frame(X):
        return names_of(X.shape[1], None)
    return names_of(X.shape[1], list(X.columns if is_pandas(X) else X.column_names))


def learned(
    X: Any, names: Sequence[str], supervision: Supervision | None = None
) -> tuple[NDArray[Any], Encoding | None]:
    """The features of training rows, and how they came about; None if they are the columns
    themselves.

    Columns of many words also become target values if there is a ``supervision``.
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
                f"a string or a number, so "
                "convert the column or leave it out."
            )
    data = Dataset(source, ReadingOptions(target=None, dtype=source.dtype.name), None, supervision)
    features, _ = data.materialise()
    return features, data.encoding


def applied(X: Any, names: Sequence[str], encoding: Encoding | None, medians: Any) -> NDArray[Any]:
    """The features of other rows, by what was learned in training."""
    if encoding is not None:
        has_words = any(column.kind != NUMBER for column in encoding.columns or ())
        source = _source(X.astype(object) if has_words and isinstance(X, np.ndarray) else X, names)
        found: NDArray[Any] = Dataset(source, ReadingOptions(target=None), encoding).materialise()[
            0
        ]
        return found
    source = _source(X, names)
    for column in source.columns or ():
        if column.kind not in (NUMBER, CATEGORICAL) or (
            column.kind == CATEGORICAL and medians is None
        ):
            raise DataError(
                f"{LABEL}, column {shown(column.name)}: {column.kind} where the model has numbers."
            )
    # numbers that are text, for instance
    if any(column.kind == CATEGORICAL for column in source.columns or ()):
        columns = tuple(
            EncodedColumn(name, NUMBER, fill=fill)
            for name, fill in zip(names, medians.tolist(), strict=True)
        )
        numeric = Encoding(columns, len(columns), None, dtype=source.dtype.name)
        return np.asarray(Dataset(source, ReadingOptions(target=None), numeric).materialise()[0])
    numbers = _numbers(source, names)
    gone = np.isnan(numbers)
    if medians is not None and gone.any():
        numbers = np.where(gone, medians.astype(numbers.dtype), numbers)
    return numbers


def _source(X: Any, names: Sequence[str]) -> TableSource:
    if is_frame(X):
        source = frame_source(X, label=LABEL, names=names)
    elif X.dtype.kind in "OU":
        source = array_source(X, LABEL, names)
    else:
        source = ArraySource(LABEL, names, X, {}, None)
    source.has_options = False
    return source


def _numbers(source: TableSource, names: Sequence[str]) -> NDArray[Any]:
    numbers: NDArray[Any] = source.whole(
        ColumnSelection(numbers=tuple(names), dtype=source.dtype.name)
    ).numbers
    return numbers


def checked(matrix: NDArray[Any], model: Any) -> NDArray[Any]:
    """A matrix of features as the core takes it; scikit-learn says whether there are enough
    rows."""
    rows = check_array(matrix, ensure_all_finite=False, dtype=None, estimator=model, input_name="X")
    return np.asarray(as_matrix(rows))


def n_rows(X: Any) -> int:
    """The rows of something that was `looked_at`; 0 where scikit-learn is about to refuse it."""
    return int(X.shape[0]) if len(getattr(X, "shape", ())) == 2 else 0


def taken(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of something that was `looked_at`."""
    if is_pandas(X):
        return X.iloc[rows]
    if is_frame(X):
        return X.take(rows)
    return (X.tocsr() if sp.issparse(X) else X)[rows]


def medians_of(X: Any, weight: NDArray[np.float64] | None = None) -> NDArray[np.float64] | None:
    """What a value that is missing in later rows becomes; None for sparse rows, which have nothing
    missing.

    Of many columns fewer rows are looked at: the medians must not cost what the fit does. Weights
    count as repetitions.
    """
    if sp.issparse(X):
        return None
    rows = min(MEDIAN_ROWS, max(1_000, _MEDIAN_VALUES // max(1, X.shape[1])))
    some = X[:rows].astype(np.float64)
    if weight is None:
        return np.asarray(np.median(some, axis=0))
    order = np.argsort(some, axis=0)
    shares = np.cumsum(weight[:rows][order], axis=0)
    lower, upper = (shares < shares[-1] / 2).sum(axis=0), (shares <= shares[-1] / 2).sum(axis=0)
    values = np.take_along_axis(some, order, axis=0)
    columns = np.arange(some.shape[1])
    return np.asarray(
        (values[lower, columns] + values[np.minimum(upper, len(some) - 1), columns]) / 2
    )
