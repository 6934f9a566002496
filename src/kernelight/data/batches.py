"""`Batch`: features, targets and ids of some rows; cut and put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


class Batch(NamedTuple):
    """Some rows: features, target and ids.

    The target is None if there is none, and so are the ids unless a column of ids was named.

    Parameters
    ----------
    X : array or sparse matrix
        The features.
    y : array or None
        The target.
    ids : list of str or None
        The ids.

    See Also
    --------
    Dataset : Its method ``batches`` gives them.

    Examples
    --------
    >>> from kernelight import open_dataset
    >>> [batch.X.shape for batch in open_dataset("wine").batches(rows=100)]
    [(100, 13), (78, 13)]
    """

    X: Any
    y: NDArray[Any] | None
    ids: list[str] | None


def cut(batch: Batch, start: int, stop: int) -> Batch:
    """Some of the rows."""
    rows = slice(start, stop)
    return Batch(
        batch.X[rows],
        None if batch.y is None else batch.y[rows],
        None if batch.ids is None else batch.ids[rows],
    )


def merged(parts: Sequence[Batch]) -> Batch:
    """Batches one after another."""
    if len(parts) == 1:
        return parts[0]
    X = [part.X for part in parts]
    y = [part.y for part in parts if part.y is not None]
    ids = [part.ids for part in parts if part.ids is not None]
    return Batch(
        sp.vstack(X, format="csr") if sp.issparse(X[0]) else np.concatenate(X),
        np.concatenate(y) if y else None,
        [name for some in ids for name in some] if ids else None,
    )
