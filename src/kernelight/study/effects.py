"""What the scores of the recommended model rest on: importances and effects of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import Contributions
from kernelight.data import Encoding
from kernelight.data.decoding import cells_of_features
from kernelight.study.models import Data, Model

ROWS = 400
MOST_COLUMNS, N_SHAPES = 12, 4
MOST_WORDS = 6  # of an axis of words, the most frequent; rows with others are left out
MOST_WIDTH = 5_000  # columns of rows that are explained


def effects_of(
    model: Model, test: Data, names: list[str] | None, encoding: Encoding | None
) -> dict[str, Any] | None:
    """The field ``effects`` of a study; None for models that are no sum over columns.

    ``columns`` are name and importance of the most important ones; ``shapes`` have for each of the
    first four the values ``x`` of some test rows (``words`` of them, if they are words), the
    contributions ``y``, and of several classes the ``output`` on which it has the largest effect.
    """
    estimator = model.estimator
    if estimator is None or not hasattr(estimator, "feature_importances_"):
        return None
    X = test.X[:ROWS]
    columns = [f"column_{at + 1}" for at in range(X.shape[1])] if names is None else names
    column_of = None if encoding is None else encoding.column_of_feature(columns)
    if len(columns) > MOST_WIDTH or not X.shape[0]:
        return None
    cells = X.toarray() if hasattr(X, "toarray") else X
    if encoding is not None:
        cells = cells_of_features(encoding, X)
    found: Contributions = estimator.explain_features(X, columns, column_of, data=cells)
    spread = found.importances()
    order = np.argsort(-spread, kind="stable")[:MOST_COLUMNS]
    total = float(spread.sum()) or 1.0
    return {
        "rows": len(found),
        "n_columns": len(columns),
        "columns": [[columns[at], float(spread[at]) / total] for at in order],
        "shapes": [_shape(found, int(at)) for at in order[:N_SHAPES]],
    }


def _shape(found: Contributions, column: int) -> dict[str, Any]:
    one, output = found, None
    if found.n_outputs > 1:
        output = int(found.values[:, column].std(axis=0).argmax())
        one = found.of_output(output)
    y = one.values[:, column]
    shape: dict[str, Any] = {"name": found.feature_names[column], "output": output}
    cells = found.data[:, column]
    numbers = _numbers(cells)
    if numbers is not None:
        return shape | {"x": numbers.tolist(), "y": y.tolist(), "words": None}
    texts = np.array(["missing" if cell is None else str(cell) for cell in cells])
    known, counts = np.unique(texts, return_counts=True)
    often = known[np.argsort(-counts, kind="stable")[:MOST_WORDS]].tolist()
    words = sorted(often, key=lambda word: float(y[texts == word].mean()))
    kept = np.isin(texts, words)
    places = [words.index(text) for text in texts[kept]]
    return shape | {"x": places, "y": y[kept].tolist(), "words": words}


def _numbers(cells: NDArray[Any]) -> NDArray[np.float64] | None:
    try:
        numbers = np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return numbers if np.isfinite(numbers).all() else None
