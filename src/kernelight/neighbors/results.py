"""What was found, as users get it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.neighbors.exact_rows import ExactRows


def without_itself(
    rows: NDArray[np.int64], similarities: NDArray[np.float64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Of k + 1 neighbours of each fitted row, the first k that are not the row itself."""
    own = rows == np.arange(len(rows))[:, None]
    own[~own.any(axis=1), -1] = True  # among more than k equal rows it may be missing
    return rows[~own].reshape(-1, k), similarities[~own].reshape(-1, k)


def fill_up(
    rows: NDArray[np.int64],
    similarities: NDArray[np.float64],
    fitted: ExactRows,
    queries: ExactRows,
    *,
    itself: bool,
) -> None:
    """Put the first rows that are not there yet, at their true distance, for what is missing.

    With ``itself`` queries are the fitted rows, and none is its own neighbour. Changes ``rows`` and
    ``similarities``.
    """
    for query in np.flatnonzero((rows < 0).any(axis=1)).tolist():
        taken = {*rows[query].tolist(), *([query] if itself else ())}
        missing = np.flatnonzero(rows[query] < 0)
        free = (row for row in range(fitted.n_rows) if row not in taken)
        fill = np.array([next(free) for _ in missing], dtype=np.int64)
        rows[query, missing] = fill
        similarities[query, missing] = fitted.similarities(
            fill, queries, np.full(len(fill), query), n_jobs=1
        )
        order = np.lexsort((rows[query], -similarities[query]))
        rows[query], similarities[query] = rows[query][order], similarities[query][order]


def split_at(values: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.object_]:
    """An array of the arrays between the ends, as scikit-learn gives them."""
    out = np.empty(len(ends), dtype=object)
    out[:] = np.split(values, ends[:-1]) if len(ends) else []
    return out
