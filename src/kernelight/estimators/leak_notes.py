"""A warning of columns of X that determine y alone, and may be a result of it.

Codes for missing values and numbers that may be dates are named too (`Sentinels`). Files are looked
at while they are read (`Dataset`); here X and y are looked at apart, by the same
`TargetLeaks` and in a sample of rows, so that it costs little beside the smallest fit. Sparse rows
and several targets are not looked at.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.data.decisions import callers_level
from kernelight.data.errors import DataWarning
from kernelight.data.sentinels import Sentinels
from kernelight.data.table_source import CATEGORICAL, NUMBER, Categorical
from kernelight.data.target_leaks import FEW_ROWS, TargetLeaks
from kernelight.estimators import preprocessing

SAMPLE_VALUES = 1 << 16  # that are looked at
MOST_ROWS, FEWEST_ROWS = 1_000, 100  # and in how many rows


class Told(IntEnum):
    """What a caller has told about the rows: leaks of the target, and then classes of one row."""

    NOTHING, LEAKS, CLASSES = 0, 1, 2


def warn_of_leaks(X: Any, names: Sequence[str], y: NDArray[Any], *, classes: bool) -> None:
    """Warn of the columns of training rows that determine the target, or are no mere numbers.

    X is a table or array as `preprocessing` takes them, and ``y`` the target of its rows: labels of
    ``classes``, or quantities.
    """
    n_rows = len(y)
    if sp.issparse(X) or y.ndim != 1 or n_rows < FEW_ROWS:
        return
    most = max(FEWEST_ROWS, min(MOST_ROWS, SAMPLE_VALUES // len(names)))
    every = n_rows <= most
    if not every:
        rows = np.unique(np.random.default_rng(0).integers(0, n_rows, most))
        X, y = preprocessing.take_rows(X, rows), y[rows]
    selection, block = preprocessing.as_block(X, names)
    target: Any = y
    if classes:
        labels, numbers = np.unique(y, return_inverse=True)
        target = Categorical(numbers.astype(np.int32), tuple(map(str, labels.tolist())))
    kind = CATEGORICAL if classes else NUMBER
    leaks = TargetLeaks(replace(selection, target="y", target_kind=kind), advice=False)
    leaks.add(replace(block, target=target))
    sentinels = Sentinels(selection)
    sentinels.add(block)
    notes = [*leaks.notes(of_all=every), *sentinels.notes()]
    if notes:
        warnings.warn(DataWarning(preprocessing.LABEL, notes), stacklevel=callers_level())
