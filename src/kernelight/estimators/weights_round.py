"""The round of the search that learns weights of columns for the setting that leads.

Rows that make the score, probabilities and intervals must not be among those that weights have
learned from. So weights learn from a sample of rows:

* Up to 1,200 rows it is all of them, in five folds (below 500 rows in ten: two repeats). Kernel
  ridge regression takes the scores of these folds for those of held-out rows.
* With more rows the sample spares a fold, the one that the last round holds out, and is tried in
  two halves. Kernel ridge regression leaves out the rows outside the sample, each by itself.
* Splits of the user, features that are made with the help of labels, and all five folds of a
  feature map need weights of their own for each split: `Search` learns them by the same recipe.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix
from kernelight.estimators.column_weights import CLEARLY, Choice, choose_weights
from kernelight.estimators.folds import N_FOLDS, Relearn, Split, strata, stratified_folds
from kernelight.estimators.progress import Step
from kernelight.estimators.race import Entrant
from kernelight.estimators.routes import RowIndices, Task
from kernelight.estimators.search_space import SearchSpace

SAMPLE_ROWS = 1_200
MOST_SAMPLE_ROWS = 2_000  # a third of the rows up to this
FEWEST_SAMPLE_ROWS = 600  # of wide tables
WORK = 60_000.0  # pairs of rows times columns, for each row of the table
FEW_ROWS = 500  # below which folds are repeated
REPEATS = 2
TOGETHER = 1.5  # standard errors of this round and of the last one, together


class WeightsRound:
    """The round on one data set."""

    def __init__(
        self,
        space: SearchSpace,
        X: Matrix,
        task: Task,
        order: RowIndices,
        seed: int,
        spared: RowIndices | None,
        relearn: Relearn | None,
    ) -> None:
        """``order`` has all rows, the first n of it with the classes in proportion.

        Rows that are ``spared`` are not learned from; None spares none.
        """
        self._space, self._X, self._task = space, X, task
        self._order, self._seed, self._relearn = order, seed, relearn
        self._spared = spared
        self.choice: Choice | None = None  # of `run`

    @cached_property
    def rows(self) -> RowIndices:
        """The rows that weights learn from; each half of them has the classes in proportion."""
        n_rows, weight = len(self._order), self._task.balanced_weight
        allowed = np.ones(n_rows, dtype=np.bool_)
        if self._spared is not None:
            allowed[self._spared] = False
        if weight is not None:
            allowed &= weight > 0
        most = min(max(SAMPLE_ROWS, n_rows // 3), MOST_SAMPLE_ROWS)
        if self.spares_rows:
            affordable = int(math.sqrt(WORK * n_rows / self._X.shape[1]))
            most = min(most, max(affordable, FEWEST_SAMPLE_ROWS))
        return np.asarray(self._order[allowed[self._order]][:most])

    @cached_property
    def splits(self) -> list[Split]:
        """They hold places within ``rows``."""
        n_rows = len(self.rows)
        if self._spared is not None:
            first, second = np.arange(n_rows // 2), np.arange(n_rows // 2, n_rows)
            return [(first, second), (second, first)]
        labels = strata(self._task.at(self.rows))
        splits: list[Split] = []
        for repeat in range(REPEATS if n_rows < FEW_ROWS else 1):
            fold_of = stratified_folds(labels, np.random.default_rng([self._seed, 1 + repeat]))
            splits += [
                (np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold))
                for fold in range(N_FOLDS)
            ]
        return splits

    @property
    def step(self) -> Step:
        """The work: a few factorisations for each split."""
        n_train = len(self.splits[0][0])
        return Step("weights of columns", 6.0 * len(self.splits) * float(n_train) ** 3, tries=1)

    def run(
        self, entrant: Entrant, row_weight: NDArray[np.float64], Cs: Sequence[float]
    ) -> Entrant:
        """The entrant with weights where they are clearly better, else as it is.

        ``row_weight`` is what the errors of ``rows`` count.
        """
        setting, task = entrant.setting, self._task.at(self.rows)
        kernel = self._space.choice.make(setting.gamma, setting.p)
        self.choice = choose_weights(
            kernel,
            setting.scaling,
            self._features,
            task,
            row_weight,
            self.splits,
            Cs,
            n_errors=0.0 if self.has_rematch else CLEARLY,
        )
        best = self.choice.best
        if best is None or best.recipe is None:
            return entrant
        weighted = setting.weighted(best.recipe, kernel, self._X[self.rows], task)
        return replace(entrant, setting=weighted).starting_at(best.C)

    def _features(self, split: Split) -> Matrix:
        rows = self.rows[np.concatenate(split)]
        if self._relearn is None:
            return self._X[rows]
        return self._relearn(self._X, rows, self.rows[split[1]])

    @property
    def spares_rows(self) -> bool:
        """Whether there are rows that weights do not learn from."""
        return self._spared is not None

    @property
    def has_rematch(self) -> bool:
        """Whether weights meet the unweighted setting in the last round as well.

        They are learned and tried on few rows, where columns of noise disturb most. What many rows
        gain is another question.
        """
        return len(self.rows) < len(self._order)

    def stand(self, lead: float) -> bool:
        """Whether weights are taken that lead by this many standard errors in the last round.

        Its held-out rows are others than those of this round, so that both leads count.
        """
        assert self.choice is not None
        return lead > 0 and (self.choice.lead + lead) / math.sqrt(2) > TOGETHER

    @property
    def first_folds(self) -> list[Split]:
        """The splits of the first of all repeats."""
        return self.splits[:N_FOLDS]

    def known_scores(self, Cs: Sequence[float]) -> list[NDArray[np.float64]] | None:
        """The scores of `first_folds` by what was chosen, for each C; None for other ``Cs``."""
        assert self.choice is not None
        assert self.choice.best is not None
        n_held = sum(len(held) for _, held in self.first_folds)
        known = {
            trial.C: trial.scores[:n_held]
            for trial in self.choice.trials
            if trial.recipe == self.choice.best.recipe
        }
        return [known[C] for C in Cs] if all(C in known for C in Cs) else None
