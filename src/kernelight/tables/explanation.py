"""What each column of a table adds to the scores of a model: batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.data import DataError, Dataset
from kernelight.data.decoding import cells_of_features
from kernelight.data.encoding import Encoding
from kernelight.estimators.additive import MOST_ROWS
from kernelight.estimators.contributions import Contributions
from kernelight.estimators.preprocessing import column_names


class ExplainedRows(NamedTuple):
    """The contributions of some rows, their predictions, and their ids (None without ids)."""

    contributions: Contributions
    predictions: NDArray[Any]
    ids: list[str] | None


def explained_batches(
    model: Any, encoding: Encoding, data: Dataset, background: Dataset | None, batch_rows: int
) -> Iterator[ExplainedRows]:
    """Explain the rows of a table that ``encoding`` has made into features for ``model``."""
    names = [column.name for column in encoding.columns or ()] or column_names(encoding.width, None)
    column_of = encoding.column_of_feature(names)
    centre = None
    if background is not None:
        first = next(iter(background.batches(MOST_ROWS)), None)
        if first is None:
            raise DataError(f"{background.name} has no rows.")
        centre = first.X
    n_scores = len(model.output_names_)
    rows = max(1, min(batch_rows, (1 << 22) // max(1, len(names) * n_scores)))
    total = 0
    for batch in data.batches(rows):
        total += batch.X.shape[0]
        contributions = model.explain_features(
            batch.X, names, column_of, centre, data=cells_of_features(encoding, batch.X)
        )
        yield ExplainedRows(contributions, np.asarray(model.predict(batch.X)), batch.ids)
    if total == 0:
        raise DataError(f"{data.name} has no rows.")
