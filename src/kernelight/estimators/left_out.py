"""Scores of rows by kernel ridge regressions that have not learned from them.

Without splits each row is left out by itself, in closed form, and so it is where the splits of the
user hold out single rows (`LeaveOneOut`). Other splits, and features that are made with the help of
labels, need a model for each split.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix
from kernelight.estimators import kernel_ridge
from kernelight.estimators.folds import (
    N_FOLDS,
    Relearn,
    Split,
    splits_among,
    strata,
    stratified_folds,
)
from kernelight.estimators.routes import RowIndices, Task, costs

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """Some rows of a table, and how they are left out: each by itself, or by ``splits``.

    Splits hold places within ``rows``; None means each row by itself. ``alone`` are then the places
    of the rows that have scores; None means all.
    """

    rows: RowIndices
    task: Task  # of these rows
    splits: list[Split] | None
    alone: RowIndices | None = None

    @cached_property
    def held(self) -> RowIndices:
        """The places of the rows that have scores, in the order of the scores."""
        if self.splits is not None:
            return np.concatenate([held for _, held in self.splits])
        return np.arange(len(self.rows)) if self.alone is None else self.alone

    @property
    def held_task(self) -> Task:
        """The task of the rows that have scores."""
        every = self.splits is None and self.alone is None
        return self.task if every else self.task.at(self.held)

    @property
    def n_splits(self) -> int:
        """How many of the given splits are used."""
        used = self.alone if self.splits is None else self.splits
        return 0 if used is None else len(used)

    def of_held(self, scores: Array) -> Array:
        """Of scores of all rows, each left out by itself, those of the rows that have scores."""
        return scores if self.alone is None else scores[self.alone]


def sample_of(
    rows: RowIndices, task: Task, splits: list[Split] | None, seed: int, *, learns_labels: bool
) -> Sample:
    """The sample of these rows, without those of weight 0; ``task`` and ``splits`` are of all rows.

    Splits that hold out none of these rows, or train on none or on one class, are left out. If no
    split is left, each row is left out by itself; with ``learns_labels`` five folds are used.
    """
    weight = task.balanced_weight
    if weight is not None:
        rows = rows[weight[rows] > 0]
    own = task.at(rows)
    usable: list[Split] = []
    if splits is not None:
        among = [each for each in splits_among(splits, rows, len(task.y)) if len(each[1])]
        alone = None if learns_labels else _held_alone(among, len(rows))
        if alone is not None:
            alone = alone[_can_miss(own)[alone]]
            return Sample(rows, own, None, alone if len(alone) else None)
        usable = [(train, held) for train, held in among if can_learn(own, train)]
    elif learns_labels:
        fold_of = stratified_folds(strata(own), np.random.default_rng([seed, 1]))
        usable = [
            (np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold))
            for fold in range(N_FOLDS)
        ]
    return Sample(rows, own, usable or None)


def _held_alone(splits: list[Split], n_rows: int) -> RowIndices | None:
    """The row of each split, if all of them hold out one and train on all others once."""
    if not splits or any(len(held) != 1 or len(train) != n_rows - 1 for train, held in splits):
        return None
    for train, held in splits:
        counts = np.bincount(train, minlength=n_rows)
        if counts[held[0]] or counts.max(initial=0) > 1:
            return None
    return np.concatenate([held for _, held in splits])


def _can_miss(task: Task) -> NDArray[np.bool_]:
    """For each row, whether the others are enough to learn from, as `can_learn` asks it."""
    if task.classes is None:
        return np.full(len(task.y), len(task.y) > 1)
    counts = np.bincount(task.class_numbers, minlength=len(task.classes))
    return np.asarray(np.count_nonzero(counts) - (counts[task.class_numbers] == 1) > 1)


def can_learn(task: Task, rows: RowIndices) -> bool:
    """Whether the rows have at least two classes, or quantities."""
    if task.classes is None:
        return len(rows) > 0
    return len(np.unique(task.y[rows])) > 1


class LeftOutScores:
    """The scores of the held rows of a sample by kernel ridge regression, as a function of C."""

    def __init__(
        self,
        gram: Callable[[Matrix, Task], NDArray[Any]],
        X: Matrix,
        sample: Sample,
        relearn: Relearn | None,
    ) -> None:
        """``gram`` makes inner products of rows, ``X`` has all rows.

        ``relearn`` makes features again that use labels, for each split.
        """
        self._sample = sample
        self._by_split: list[tuple[NDArray[Any], Task, Split]] = []
        if relearn is None or sample.splits is None:
            whole = len(sample.rows) == X.shape[0]
            self._gram = gram(X if whole else X[sample.rows], sample.task)
            for split in sample.splits or ():
                self._by_split.append((self._gram, sample.task, split))
            return
        for train, held in sample.splits:
            both = np.concatenate([train, held])
            features = relearn(X, sample.rows[both], sample.rows[held])
            task = sample.task.at(both)
            places = np.arange(len(both))
            split = places[: len(train)], places[len(train) :]
            self._by_split.append((gram(features, task), task, split))

    def __call__(self, C: float) -> Array:
        """The (n, m) scores."""
        if self._sample.splits is None:
            task = self._sample.task
            scores = kernel_ridge.leave_one_out(self._gram, task.columns, costs(task, C))
            return self._sample.of_held(scores)
        return np.concatenate(
            [
                kernel_ridge.held_out(gram, task.columns, costs(task, C), *split)
                for gram, task, split in self._by_split
            ]
        )
