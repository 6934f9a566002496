"""Which rows a round of the search uses, and which of them it holds out.

Usually a round has a fixed number of rows, and one of five folds is held out. Some scores depend on
the rarest class: the average precision is as noisy as that class is small, however many rows there
are. `minority_of` says how many rows decide the score, and `rows_and_folds` how many rows and folds
a round then needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.estimators.routes import RowIndices, Task
from kernelight.estimators.scoring import Scoring

Split = tuple[RowIndices, RowIndices]  # training rows, held-out rows
# Relearn(X, rows, held_out): the features of some rows, made without the targets of those held out
Relearn = Callable[[Any, RowIndices, RowIndices], Any]
N_FOLDS = 5
MIN_ROWS = 100  # with fewer rows nothing is held out
MIN_HELD_OUT = 10  # rows of a fold; classes of fewer than five rows have none in it
ALL_FOLDS_BELOW = 2_000  # rows: with fewer, one fold is too small to choose by
MINORITY = 24  # where the rarest class decides, one row of so many should be of it: 500 of 12,000


def minority_of(task: Task, scoring: Scoring) -> int:
    """How many rows decide a score: all, or those of the rarest class if each class counts alike.

    Of m classes, the rarest is one mth of the score, so its rows count m - 1 times: with classes of
    the same size the minority is all rows but those of one class. A class too small to be held out
    plays no part.
    """
    if task.classes is None or not scoring.by_class:
        return len(task.y)
    counts = np.unique(task.y, return_counts=True)[1]
    counts = counts[counts >= N_FOLDS]
    return int(counts.min()) * (len(counts) - 1) if len(counts) > 1 else len(task.y)


def rows_and_folds(
    n_rows: int, minority: int, most: int, n_folds: int, growth: int
) -> tuple[int, int]:
    """How many rows a round uses at most, and how many folds are held out, one after another.

    Usually it is ``most`` rows and one fold, or ``n_folds`` folds of a small table. Where ``most``
    rows have too few of the minority, up to ``growth`` times as many are used; if these have too
    few as well, each fold is held out.
    """
    enough = most // MINORITY
    small, rare = n_rows < ALL_FOLDS_BELOW, MINORITY * minority < n_rows
    if rare:
        most = min(growth * most, math.ceil(enough * n_rows / minority))
    if (rare or not small) and minority * min(most, n_rows) < enough * n_rows:
        return most, N_FOLDS
    return most, n_folds if small else 1


def stratified_order(task: Task, rng: np.random.Generator) -> RowIndices:
    """All rows in a random order; the first n of it have the classes in proportion, for every n."""
    n_rows = len(task.y)
    if task.classes is None:
        return rng.permutation(n_rows)
    position = np.empty(n_rows)
    for label in task.classes:
        members = np.flatnonzero(task.y == label)
        position[members] = (rng.permutation(len(members)) + rng.random()) / len(members)
    return np.argsort(position, kind="stable")


def strata(task: Task) -> NDArray[Any]:
    """What folds are stratified by: the class of each row, or nothing in a regression."""
    return task.y if task.classes is not None else np.zeros(len(task.y))


def can_hold_out(task: Task) -> bool:
    """Whether there are enough rows to hold some out."""
    counts = np.unique(strata(task), return_counts=True)[1]
    return len(task.y) >= MIN_ROWS and int((counts // N_FOLDS).sum()) >= MIN_HELD_OUT


def stratified_folds(labels: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int8]:
    """The fold of each row, 0 to 4, with equally many rows of every label.

    Rows left over are in no fold (-1) and are never held out, so that a label of four rows or fewer
    is only trained on.
    """
    folds = np.full(len(labels), -1, dtype=np.int8)
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        each = len(members) // N_FOLDS
        folds[members[: N_FOLDS * each]] = np.repeat(np.arange(N_FOLDS), each)
    return folds


def splits_of(cv: Any, y: NDArray[Any], classification: bool) -> list[Split]:
    """The splits of ``cv``, as scikit-learn reads it; made once, because it may be a generator."""
    from sklearn.model_selection import check_cv  # here: most fits have no cv, and it loads slowly

    n_rows = len(y)
    splitter = check_cv(cv, y, classifier=classification)
    splits = [
        (np.asarray(train), np.asarray(held)) for train, held in splitter.split(np.zeros(n_rows), y)
    ]
    if not splits:
        raise ValueError(
            "cv gave no splits: it is empty, or a generator that an earlier fit has used up."
        )
    return [(as_rows(train, n_rows), as_rows(held, n_rows)) for train, held in splits]


def splits_among(splits: list[Split], rows: RowIndices, n_rows: int) -> list[Split]:
    """Splits of ``n_rows`` rows as splits of some of them, whose indices are ``rows``.

    Parts may become empty.
    """
    new_index = np.full(n_rows, -1, dtype=np.intp)
    new_index[rows] = np.arange(len(rows))

    def moved(part: RowIndices) -> RowIndices:
        places = new_index[part]
        return np.asarray(places[places >= 0])

    return [(moved(train), moved(held)) for train, held in splits]


def as_rows(rows: NDArray[Any], n_rows: int) -> RowIndices:
    """Row indices of one part of a split, which may be a mask."""
    rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
    if not len(rows) or rows.dtype.kind not in "iu" or rows.min() < -n_rows or rows.max() >= n_rows:
        raise ValueError(
            f"cv must give splits of row indices below {n_rows}, each part with at least one row."
        )
    return rows.astype(np.intp) % n_rows
