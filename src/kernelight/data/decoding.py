"""From features back to the cells of a table, as a model has read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.data.dates import DAYS, TIME
from kernelight.data.encoded_columns import EncodedColumn
from kernelight.data.encoding import Encoding
from kernelight.data.table_source import NUMBER

OTHER_WORDS = "(other words)"
_HOUR = np.timedelta64(3_600_000_000, "us")


def cells_of_features(encoding: Encoding, X: Any) -> NDArray[Any]:
    """The cells that became these features, (rows, columns); an array of objects.

    Numbers that were missing are what they were filled with, words that have no feature of their
    own are "(other words)", missing words are None, and dates are dates where their day is a
    feature, else the parts that are.

    >>> import numpy as np
    >>> from kernelight.data import open_dataset
    >>> from kernelight.data.decoding import cells_of_features
    >>> iris = open_dataset("iris")
    >>> cells_of_features(iris.encoding, np.array([[5.1, 3.5, 1.4, 0.2]])).tolist()
    [[5.1, 3.5, 1.4, 0.2]]
    """
    matrix = X.toarray() if sp.issparse(X) else np.asarray(X)
    if encoding.columns is None:
        return np.asarray(matrix)
    cells = np.empty((matrix.shape[0], len(encoding.columns)), dtype=object)
    place = 0
    for at, column in enumerate(encoding.columns):
        cells[:, at] = _cells(column, matrix[:, place : place + column.width])
        place += column.width
    return cells


def _cells(column: EncodedColumn, features: NDArray[Any]) -> list[Any]:
    if column.kind == NUMBER:
        return list(features[:, 0].tolist())
    if column.recipe is not None:
        return _dates(column.recipe.parts, column.recipe.origin, features.astype(np.float64))
    words: list[str | None] = [*column.categories, *[OTHER_WORDS] * column.others]
    words += [None] * column.missing
    ones = features[:, : column.n_ones] > 0.5
    return [words[row.argmax()] if row.any() else OTHER_WORDS for row in ones]


def _dates(parts: tuple[str, ...], origin: int, features: NDArray[np.float64]) -> list[Any]:
    if DAYS not in parts:
        named = [dict(zip(parts, row, strict=True)) for row in features.tolist()]
        return [", ".join(f"{part} {value:g}" for part, value in row.items()) for row in named]
    days = np.rint(features[:, parts.index(DAYS)]).astype(np.int64) + origin
    dates = days.astype("datetime64[D]")
    if TIME not in parts:
        return [str(date) for date in dates]
    hours = features[:, parts.index(TIME)] * float(_HOUR.astype(np.int64))
    moments = dates.astype("datetime64[us]") + np.rint(hours).astype("timedelta64[us]")
    return [str(moment.astype("datetime64[s]")) for moment in moments]
