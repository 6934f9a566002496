"""Which rows the search looks at, and which of them it holds out.

Usually a round has a fixed number of rows, and one fold of five is held out. A score is as noisy as
the class that decides it is small: the average precision hinges on the rarest class, however many
rows there are. `minority_of` says how many rows decide, `rows_and_folds` how many rows and folds a
round then needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from kernelight.estimators.routes import RowIndices, Task
from kernelight.estimators.scoring import Measure

Split = tuple[RowIndices, RowIndices]  # rows learned from, rows held out
# some of all rows, without what the rows held out would tell
Relearn = Callable[[Any, RowIndices, RowIndices], Any]
HELD_OUT = 5  # one row of so many
MIN_HELD_OUT = 10  # classes of fewer than five rows hold none out
MIN_ROWS = 100  # with fewer there is nothing to hold out
# rows: with fewer, one fold is too small to choose by, and each is held out in turn
ALL_FOLDS_BELOW = 2_000
# one row of so many should be of the rarest class, as far as that counts: 500 of 12,000
MINORITY = 24


def minority_of(task: Task, measure: Measure) -> int:
    """How many rows a score hinges on: all, or those of the rarest class if each class counts by
    itself in the measure.

    Of m classes, the rarest has one mth of a part in the score, so its rows count m - 1 times: with
    classes of the same size the minority is all rows but those of one class. A class too small to
    be held out plays no part.
    """
    if task.classes is None or not measure.by_class:
        return len(task.y)
    counts = np.unique(task.y, return_counts=True)[1]
    counts = counts[counts >= HELD_OUT]
    return int(counts.min()) * (len(counts) - 1) if len(counts) > 1 else len(task.y)


def rows_and_folds(
    n_rows: int, minority: int, most: int, turns: int, growth: int
) -> tuple[int, int]:
    """How many rows a round takes at most, and how many folds are held out in turn.

    Usually it is ``most`` rows and one fold, or ``turns`` folds of a small table. Where ``most``
    rows have too few of the minority, up to ``growth`` times as many are taken; if these have too
    few as well, each fold is held out in turn.
    """
    enough = most // MINORITY
    small, rare = n_rows < ALL_FOLDS_BELOW, MINORITY * minority < n_rows
    if rare:
        most = min(growth * most, math.ceil(enough * n_rows / minority))
    if (rare or not small) and minority * min(most, n_rows) < enough * n_rows:
        return most, HELD_OUT
    return most, turns if small else 1


def stratified_order(task: Task, rng: np.random.Generator) -> RowIndices:
    """All rows in a random order of which every beginning has the classes in proportion."""
    n_rows = len(task.y)
    if task.classes is None:
        return rng.permutation(n_rows)
    position = np.empty(n_rows)
    for label in task.classes:
        members = np.flatnonzero(task.y == label)
        position[members] = (rng.permutation(len(members)) + rng.random()) / len(members)
    return np.argsort(position, kind="stable")


def strata(task: Task) -> NDArray[Any]:
    """What parts of a split should have in proportion: the classes; nothing in a regression."""
    return task.y if task.classes is not None else np.zeros(len(task.y))


def can_hold_out(task: Task) -> bool:
    """Whether there are rows enough to choose by."""
    counts = np.unique(strata(task), return_counts=True)[1]
    return len(task.y) >= MIN_ROWS and int((counts // HELD_OUT).sum()) >= MIN_HELD_OUT


def fifths(labels: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int8]:
    """The fifth of each row, 0 to 4, of every label equally many; -1 for what is left over: it is
    never held out.

    So a label of four rows or fewer is learned from alone.
    """
    found = np.full(len(labels), -1, dtype=np.int8)
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        each = len(members) // HELD_OUT
        found[members[: HELD_OUT * each]] = np.repeat(np.arange(HELD_OUT), each)
    return found


def splits_of(cv: Any, y: NDArray[Any], classification: bool) -> list[Split]:
    """What ``cv`` stands for, as scikit-learn reads it; taken once, because it may be a
    generator."""
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


def as_rows(rows: NDArray[Any], n_rows: int) -> RowIndices:
    """Row numbers of a split, which may be a mask."""
    rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
    if not len(rows) or rows.dtype.kind not in "iu" or rows.min() < -n_rows or rows.max() >= n_rows:
        raise ValueError(
            f"cv must give splits of row numbers below {n_rows}, each part with at least one row."
        )
    return rows.astype(np.intp) % n_rows
