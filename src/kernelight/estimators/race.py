"""The race of settings by kernel ridge regression: few rows, no epochs and no folds.

Kernel ridge regression has the score of each row by the model of all others in closed form
(`kernel_ridge`), so that a setting costs one Cholesky factorisation for each C. All settings start
on 300 rows; those that are not clearly behind the leader go on to 900 rows, and to 1,800.

Settings are compared by the squared error of these scores. The accuracy depends on the few rows
near the boundary between classes, the squared error on all rows, so it has far less noise. Two
settings meet on the same rows, and their difference has less noise than either: a setting leaves if
it is behind by more than `CLEARLY` standard errors of the difference.

The first of several rounds is on the exact kernel, which is cheap. Later ones are on the inner
products of the features that the model will have: their noise changes which C is best, and
sometimes which setting.

C is tuned on the way: in steps of ten in the first round, in steps of the square root of ten in the
second. On few rows another C is best than on many, so that the second round is run for a single
setting, too; the third is for settings that are still close, and keeps the C of each. A short race
ends with the second, for two settings: where models are averaged, which is best matters less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Matrix
from kernelight.estimators.folds import Relearn, Split
from kernelight.estimators.left_out import LeftOutScores, Sample, sample_of
from kernelight.estimators.progress import Progress, Step
from kernelight.estimators.routes import RidgeRoute, Route, RowIndices, Task
from kernelight.estimators.search_space import SearchSpace, Setting

ROUND_ROWS = (300, 900, 1_800)
MAX_ENTRANTS = (4, 2)  # of the second and of the third round
MAX_ENTRANTS_OF_SHORT = (2,)
MAX_ENTRANTS_OF_MANY = (4, 4)  # where many rows will be learned from, and choices weigh more
MANY_ROWS = 8_000
CLEARLY = 2.5  # standard errors
FIRST_C, C_STEP = 10.0, math.sqrt(10.0)
LEAST_C, LARGEST_C = 0.009, 1_100.0
N_TRIALS = 3  # of a setting in a round, usually
UNSURE = 0.8  # of the error of the mean target: a setting above it has seen next to nothing
FLAT = 0.01  # errors that differ less, relatively, are nearly equal
HARDLY_MORE = 1.5  # a round with fewer than so many times the rows of the last one is not worth it

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trial:
    """One C of a setting in a round: what came of the rows that were left out."""

    C: float
    score: float  # by the scoring of the search
    errors: Array  # squared error of each row, times its weight
    chance: float = 0.0  # the mean squared error of the mean target

    @property
    def error(self) -> float:
        """The mean squared error."""
        return float(self.errors.mean())


@dataclass(frozen=True, eq=False)
class Walk:
    """The trials of a setting in a round, and the one that is taken."""

    best: Trial
    trials: tuple[Trial, ...]


@dataclass(frozen=True, eq=False)
class Entrant:
    """A setting with its place in the grid, and what its last round has shown."""

    setting: Setting
    place: int
    best: Trial | None = None

    @property
    def C(self) -> float:  # noqa: N802  # the name of the parameter
        """The best C so far."""
        return FIRST_C if self.best is None else self.best.C

    @property
    def is_unsure(self) -> bool:
        """Whether it is hardly better than the mean target, so that its C says little.

        Where few rows show nothing, the smallest C is the best; more rows may show something.
        """
        return self.best is not None and self.best.error > UNSURE * self.best.chance

    def starting_at(self, C: float) -> Entrant:
        """The same with another C to start from in the next round."""
        return self if self.best is None else replace(self, best=replace(self.best, C=C))

    def is_close_to(self, leader: Entrant) -> bool:
        """Whether both were in the same round, and the leader is not better beyond chance."""
        if self.best is None or leader.best is None:
            return False
        same_rows = len(self.best.errors) == len(leader.best.errors)
        return same_rows and not self.is_clearly_behind(leader)

    def is_clearly_behind(self, other: Entrant) -> bool:
        """Whether another one is better beyond chance, or comes before and does the same.

        Scalings do the same where columns are 0 and 1 already.
        """
        assert self.best is not None
        assert other.best is not None
        behind = self.best.errors - other.best.errors
        if np.abs(behind).max() <= 1e-6 * self.best.error:
            return other.place < self.place
        return float(behind.mean()) > CLEARLY * float(behind.std()) / math.sqrt(len(behind))


def round_sizes(n_rows: int, most: int) -> list[int]:
    """The rows of each round, at most ``most``; the last round of a small table has all rows."""
    if n_rows > most:
        return [size for size in ROUND_ROWS if size <= most]
    return [*(size for size in ROUND_ROWS if HARDLY_MORE * size <= n_rows), n_rows]


class Race:
    """The race on one data set."""

    def __init__(
        self,
        space: SearchSpace,
        route: Route,
        settings: list[Setting],
        X: Matrix,
        task: Task,
        order: RowIndices,
        *,
        C: float | None,
        seed: int,
        splits: list[Split] | None = None,
        relearn: Relearn | None = None,
        short: bool = False,
    ) -> None:
        """``order`` has all rows, the first n of it with the classes in proportion.

        ``C`` is None to tune it. Where many rows will be learned from, no race is ``short``.
        """
        self._space, self._route, self._settings = space, route, settings
        self._X, self._task = X, task
        self._order, self._C, self._seed = order, C, seed
        self._splits, self._relearn = splits, relearn
        self._limits: tuple[int, ...] = MAX_ENTRANTS
        self._sizes = round_sizes(X.shape[0], route.race_rows)
        if X.shape[0] > MANY_ROWS:
            self._limits = MAX_ENTRANTS_OF_MANY
        elif short:
            self._limits = MAX_ENTRANTS_OF_SHORT
            self._sizes = self._sizes[:2]

    @property
    def n_tuned_rows(self) -> int:
        """The rows on which C was tuned last."""
        return self._sizes[min(1, len(self._sizes) - 1)]

    # -- What will be done

    @property
    def steps(self) -> list[Step]:
        """A step for each setting of each round, if none leaves early; nothing is done yet."""
        return [
            self._step(number)
            for number in range(len(self._sizes))
            for _ in range(self._most_entrants(number))
        ]

    def _most_entrants(self, number: int) -> int:
        most = min([len(self._settings), *self._limits[:number]])
        return 0 if self._is_needless(number, most) else most

    def _is_needless(self, number: int, n_entrants: int) -> bool:
        """Whether a round has nothing to say about the only one left."""
        return n_entrants == 1 and (number >= 2 or (number == 1 and self._C is not None))

    def _step(self, number: int) -> Step:
        size = self._sizes[number]
        n_trials = 1 if self._C is not None or number >= 2 else N_TRIALS
        return Step(f"race of {size} rows", float(size) ** 3 * n_trials, tries=1)

    # -- The race

    def run(self, progress: Progress, table: list[dict[str, Any]]) -> list[Entrant]:
        """The settings, best first; those that left early come last.

        Each trial adds an entry to ``table``. A setting that its kernel refuses is passed over; if
        all are, the error of the first is raised.
        """
        entrants = [Entrant(setting, place) for place, setting in enumerate(self._settings)]
        gone: list[Entrant] = []
        for number, size in enumerate(self._sizes):
            if number:
                most = self._limits[number - 1]
                staying: list[Entrant] = []
                for each in entrants:
                    if not any(each.is_clearly_behind(other) for other in staying):
                        staying.append(each)
                staying = staying[:most]
                gone = [each for each in entrants if each not in staying] + gone
                entrants = staying
                runs = 0 if self._is_needless(number, len(entrants)) else len(entrants)
                progress.skip(self._step(number), self._most_entrants(number) - runs)
                if not runs:
                    break
            entrants = self._round(number, size, entrants, progress, table)
        return entrants + gone

    def _round(
        self,
        number: int,
        size: int,
        entrants: list[Entrant],
        progress: Progress,
        table: list[dict[str, Any]],
    ) -> list[Entrant]:
        """The entrants after a round, best first; of a tie the first of the grid."""
        rows = np.sort(self._order[:size])
        sample = sample_of(
            rows, self._task, self._splits, self._seed, learns_labels=self._relearn is not None
        )
        weight = self.row_weights(sample.held_task)
        after: list[tuple[float, Entrant]] = []
        refusals: list[ValueError] = []
        for entrant in sorted(entrants, key=lambda each: each.place):
            name = f"{entrant.setting}, {len(sample.rows):,} rows"
            try:
                with progress.task(name, self._step(number)) as outcome:
                    walked = self._walk(number, entrant, sample, weight)
                    best = walked.best
                    outcome.text = f"squared error {best.error:.4f} at C={best.C:g}"
            except ValueError as error:
                refusals.append(error)
                continue
            after.append((best.error, replace(entrant, best=best)))
            table += [self._entry(entrant.setting, sample, trial) for trial in walked.trials]
        if not after:
            raise refusals[0]
        return [each for _, each in sorted(after, key=lambda pair: pair[0])]

    def row_weights(self, task: Task) -> Array:
        """What the squared error of each row counts, 1 on average.

        Where each class counts alike in the scoring, it does so here.
        """
        weight = task.balanced_weight
        weight = np.ones(len(task.y)) if weight is None else weight
        if task.classes is not None and self._space.scoring.by_class:
            sums = np.bincount(task.class_numbers, weights=weight, minlength=len(task.classes))
            weight = weight / sums[task.class_numbers]
        return np.asarray(weight / weight.mean())

    def _walk(self, number: int, entrant: Entrant, sample: Sample, weight: Array) -> Walk:
        """The trials of a setting."""
        setting = entrant.setting
        kernel = self._space.choice.make(setting.gamma, setting.p)
        route = RidgeRoute() if number == 0 and len(self._sizes) > 1 else self._route

        def gram(X: Matrix, task: Task) -> NDArray[Any]:
            return route.gram(kernel, setting.scaling, X, task, self._space.n_components)

        scores_at = LeftOutScores(gram, self._X, sample, self._relearn)
        task = sample.held_task
        columns = task.columns
        away = columns - np.average(columns, axis=0, weights=weight)
        chance = float(np.average(np.square(away).sum(axis=1), weights=weight))

        def trial(C: float) -> Trial:
            scores = scores_at(C)
            errors = weight * np.square(columns - scores).sum(axis=1)
            if not np.isfinite(errors).all():
                raise ValueError("its scores are not finite.")
            return Trial(C, self._space.scoring.score(task, scores), errors, chance)

        if self._C is not None or number >= 2:
            only = trial(entrant.C if self._C is None else self._C)
            return Walk(only, (only,))
        if number == 1 and not entrant.is_unsure:
            return walk(trial, entrant.C, C_STEP)
        coarse = walk(trial, FIRST_C, C_STEP**2)
        if number == 0 and len(self._sizes) > 1:
            return coarse
        fine = walk(trial, coarse.best.C, C_STEP)
        return Walk(fine.best, coarse.trials + fine.trials[1:])

    def _entry(self, setting: Setting, sample: Sample, trial: Trial) -> dict[str, Any]:
        """What ``search_`` says of a trial."""
        return {
            **setting.describe(),
            "n_rows": len(sample.rows),
            "n_components": None,
            "C": trial.C,
            "score": trial.score,
            "squared_error": trial.error,
        }


def on_grid(C: float) -> float:
    """The nearest of ..., 0.1, 0.3, 1, 3, 10, ...

    >>> on_grid(1.0 * C_STEP), on_grid(3.0 * C_STEP), on_grid(3.0 / C_STEP)
    (3.0, 10.0, 1.0)
    """
    return float(f"{10 ** (round(2 * math.log10(C)) / 2):.1g}")


def walk(trial: Callable[[float], Trial], start: float, step: float) -> Walk:
    """Try C in steps from ``start``: up while that is better, else down while it is not worse.

    Of nearly equal errors the smallest C is taken: it is faster, and forgives more.
    """
    best = trial(start)
    trials = [best]
    while best.C * step <= LARGEST_C:
        trials.append(trial(on_grid(best.C * step)))
        if trials[-1].error >= (1 - FLAT) * best.error:
            break
        best = trials[-1]
    least = best.error
    while (best is trials[0] or start > best.C) and best.C / step >= LEAST_C:
        trials.append(trial(on_grid(best.C / step)))
        if trials[-1].error > (1 + FLAT) * least:
            break
        best, least = trials[-1], min(least, trials[-1].error)
    return Walk(best, tuple(trials))
