"""Weights of columns, learned from the contributions of a min-max kernel.

A model of a min-max kernel is a sum over columns (`kernels.column_parts`). How far the part of a
column is spread over rows says how much the model uses it. Each column is multiplied by its spread
relative to the largest, or by the square root of that (the strength 1 or 1/2): columns of noise
nearly vanish from the sums of minima and maxima, and those that matter are compared by themselves.
The weighted rows have a kernel again, whose spreads are the weights of a next round.

Weights learn from labels, so that rows that score must not be among those they have learned from.
`choose_weights` learns them from the training rows of each split anew, by kernel ridge regression,
and compares squared errors on held-out rows with those of unweighted columns: weights are taken
only where they are better by `CLEARLY` standard errors of the difference. A `Recipe`, strength and
rounds, is what is chosen; the weights themselves are then learned from all rows of the sample.
`weights_round` has the rows of the sample and its splits.

What was measured to be no better: spreads over rows that are left out by themselves (several times
the work), covariances of the parts of a column with the target, and parts without the row itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.base.checks import Matrix
from kernelight.estimators import kernel_ridge
from kernelight.estimators.folds import Split
from kernelight.estimators.routes import Task, costs, spread
from kernelight.estimators.scoring import standard_errors
from kernelight.kernels.base import Kernel
from kernelight.kernels.column_parts import column_parts
from kernelight.scaling import Scaling

LEARN = "learn"
STRENGTHS = (0.5, 1.0)
MOST_ROUNDS = 4
FIRST_PART = 2  # the first 1 / FIRST_PART of the splits, rounded up, choose the recipe
LEAST_WEIGHT = 0.01  # of a column, relative to the largest
CLEARLY = 2.0  # standard errors
FLAT = 0.005  # a round that lowers the error by less, relatively, is the last one
MOST_FEATURES = 1 << 14  # times scores, of which parts are kept for each row
_WORK = 1 << 26  # products of rows, other rows, features and scores for one round
_FEWEST, _MOST = 50, 400  # rows over which parts are spread

Array = NDArray[np.float64]
#: The rows of a split: the features of both parts, training rows first.
Features = Callable[[Split], Matrix]


@dataclass(frozen=True)
class Recipe:
    """How weights are learned: the power of relative spreads, and how often they are learned."""

    strength: float
    rounds: int
    C: float  # of the model whose parts are spread

    def __str__(self) -> str:
        return f"strength {self.strength:g}, round {self.rounds}"


@dataclass(frozen=True)
class Trial:
    """A recipe, or no weights, with one C: what came of the held-out rows of all splits."""

    recipe: Recipe | None
    C: float
    scores: Array  # (n, m), split after split
    errors: Array  # squared error of each, times its weight

    @property
    def error(self) -> float:
        """The mean squared error."""
        return float(self.errors.mean())

    def joined(self, other: Trial) -> Trial:
        """The same recipe and C on more splits."""
        scores, errors = (
            np.concatenate(both)
            for both in ((self.scores, other.scores), (self.errors, other.errors))
        )
        return Trial(self.recipe, self.C, scores, errors)


@dataclass(frozen=True)
class Choice:
    """What `choose_weights` found."""

    best: Trial | None  # None if no weights are clearly better than none
    trials: list[Trial]  # of the splits that were used
    held: NDArray[np.intp]  # the places of the rows that have scores, in the order of the scores
    lead: float = 0.0  # of the best weights over none, in standard errors


def check_weights(weights: Any) -> NDArray[np.float64] | str | None:
    """The parameter ``weights`` of an estimator: None, "learn", or one number for each column."""
    if weights is None or (isinstance(weights, str) and weights == LEARN):
        return weights
    try:
        numbers = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros((0, 0))
    if numbers.ndim != 1 or isinstance(weights, str):
        raise ValueError(
            f"weights must be None, {LEARN!r} or a number for each column, got {weights!r}."
        )
    if not ((numbers >= 0) & np.isfinite(numbers)).all():
        raise ValueError("weights must not be negative, and all of them finite.")
    return numbers


def refuses(kernel: Kernel, X: Matrix, n_scores: int) -> str | None:
    """Why no weights can be learned, as a clause; None if they can."""
    if kernel.minmax_form is None or getattr(kernel, "center", None) is not None:
        return f"{type(kernel).__name__} is no sum over columns"
    if 2 * X.shape[1] * n_scores > MOST_FEATURES:
        both = f"{counted(X.shape[1], 'column')} and {counted(n_scores, 'score')}"
        return f"{both} are more than weights are learned for"
    return None


def learn_weights(
    recipe: Recipe, kernel: Kernel, scaling: Scaling, X: Matrix, task: Task
) -> Scaling:
    """The scaling with weights that are learned from these rows, scaled by it."""
    learner = _Learner(kernel, scaling.weighted(None), X, task, recipe.C)
    for _ in range(recipe.rounds):
        learner = learner.next_round(recipe.strength)
    return learner.scaling


class _Learner:
    """Kernel ridge regression of training rows, scaled and weighted."""

    def __init__(self, kernel: Kernel, scaling: Scaling, X: Matrix, task: Task, C: float) -> None:
        self.scaling = scaling
        self._given = kernel, X, task, C
        self._rows = kernel.prepare(scaling(X))
        self._gram = kernel.pairwise(self._rows)
        self._known: dict[float, Array] = {}  # duals by C
        self._others: tuple[Matrix, NDArray[Any]] | None = None  # rows that were scored last

    def duals(self, C: float) -> Array:
        """Those of the model with this C."""
        task = self._given[2]
        if C not in self._known:
            self._known[C] = kernel_ridge.duals(self._gram, task.columns, costs(task, C))
        return self._known[C]

    def scores(self, X: Matrix, C: float) -> Array:
        """The scores of other rows."""
        kernel = self._given[0]
        if self._others is None or self._others[0] is not X:
            gram = kernel.pairwise(kernel.prepare(self.scaling(X)), self._rows)
            self._others = X, gram
        duals = self.duals(C)
        return np.asarray(self._others[1] @ duals + duals.sum(axis=0))

    def next_round(self, strength: float) -> _Learner:
        """The same rows with weights that follow from this model."""
        kernel, X, task, C = self._given
        relative = self._spreads(self.duals(C), task.balanced_weight)
        largest = float(relative.max(initial=0.0))
        if not 0 < largest < math.inf:
            return self
        weights = np.maximum((relative / largest) ** strength, LEAST_WEIGHT)
        # two digits, because the rounding of another machine must not give another model
        digits = [float(f"{weight:.2g}") for weight in weights]
        return _Learner(kernel, self.scaling.weighted(digits), X, task, C)

    def _spreads(self, duals: Array, weight: Array | None) -> Array:
        """How far the part of each column is spread over rows; of several scores, the mean square.

        The complement of a column belongs to the column.
        """
        form = self._given[0].minmax_form
        assert form is not None
        n_rows, width = self._rows.shape
        count = _WORK // max(1, n_rows * width * duals.shape[1])
        some = spread(n_rows, min(max(count, _FEWEST), _MOST))
        values = column_parts(form, self._rows[some], self._rows, duals).values
        n_columns = self.scaling.n_features
        if width > n_columns:
            values = values[:, :, :n_columns] + values[:, :, n_columns:]
        fractions = np.ones(len(some)) if weight is None else weight[some]
        mean = np.average(values, axis=0, weights=fractions)
        squares = np.average(np.square(values - mean), axis=0, weights=fractions)
        return np.asarray(np.sqrt(squares.mean(axis=0)))


def choose_weights(
    kernel: Kernel,
    scaling: Scaling,
    features: Features,
    task: Task,
    row_weight: Array,
    splits: list[Split],
    Cs: Sequence[float],
    *,
    n_errors: float = CLEARLY,
) -> Choice:
    """Compare recipes with no weights on held-out rows; ``task`` and weights are of all rows.

    A recipe is taken if it is better by ``n_errors`` standard errors.

    The first splits choose a recipe: both strengths are tried for one round, and the better one for
    more while that helps. If it is better there, all splits compare it with no weights, and try
    each C. ``Cs`` ascend, and weights are learned with the first.
    """
    n_first = math.ceil(len(splits) / FIRST_PART)
    first = _Contest(kernel, scaling, features, task, row_weight, splits[:n_first], Cs[0])
    plain = first.trial(None)
    best = min(
        (first.trial(Recipe(strength, 1, Cs[0])) for strength in STRENGTHS),
        key=lambda trial: trial.error,
    )
    while best.error < plain.error and best.recipe is not None and best.recipe.rounds < MOST_ROUNDS:
        later = first.trial(replace(best.recipe, rounds=best.recipe.rounds + 1))
        if later.error >= (1 - FLAT) * best.error:
            break
        best = later
    if best.error >= plain.error or best.recipe is None:
        return Choice(None, first.trials, first.held)
    rest = _Contest(kernel, scaling, features, task, row_weight, splits[n_first:], Cs[0])
    held = np.concatenate([first.held, rest.held])
    finals: dict[bool, list[Trial]] = {}
    for recipe in (None, best.recipe):
        finals[recipe is None] = [first.trial(recipe, C).joined(rest.trial(recipe, C)) for C in Cs]
    plain, best = (
        min(finals[is_plain], key=lambda trial: trial.error) for is_plain in (True, False)
    )
    lead = _lead(best, plain, held)
    return Choice(best if lead > n_errors else None, [*finals[True], *finals[False]], held, lead)


class _Contest:
    """Recipes on some splits; each learns from the training rows of each split."""

    def __init__(
        self,
        kernel: Kernel,
        scaling: Scaling,
        features: Features,
        task: Task,
        row_weight: Array,
        splits: list[Split],
        C: float,
    ) -> None:
        self.held = np.concatenate([held for _, held in splits])
        self.trials: list[Trial] = []
        self._targets, self._weight = task.columns[self.held], row_weight[self.held]
        self._C = C
        self._learners: dict[Recipe | None, list[_Learner]] = {None: []}
        self._others: list[Matrix] = []
        for train, held in splits:
            X = features((train, held))
            own = X[: len(train)], task.at(train)
            self._learners[None].append(_Learner(kernel, scaling, *own, C))
            self._others.append(X[len(train) :])

    def trial(self, recipe: Recipe | None, C: float | None = None) -> Trial:
        """The scores of held-out rows; with the C of the contest, unless another is given."""
        C = self._C if C is None else C
        for known in self.trials:
            if known.recipe == recipe and known.C == C:
                return known
        pairs = zip(self._learned(recipe), self._others, strict=True)
        scores = np.concatenate([learner.scores(X, C) for learner, X in pairs])
        errors = self._weight * np.square(self._targets - scores).sum(axis=1)
        self.trials.append(Trial(recipe, C, scores, errors))
        return self.trials[-1]

    def _learned(self, recipe: Recipe | None) -> list[_Learner]:
        """The models of all splits, after those of the rounds before."""
        if recipe not in self._learners:
            assert recipe is not None
            before = None if recipe.rounds == 1 else replace(recipe, rounds=recipe.rounds - 1)
            self._learners[recipe] = [
                learner.next_round(recipe.strength) for learner in self._learned(before)
            ]
        return self._learners[recipe]


def _lead(one: Trial, other: Trial, held: NDArray[np.intp]) -> float:
    """How many standard errors the errors of rows are less; a row held out twice counts once."""
    sums, counts = np.bincount(held, weights=other.errors - one.errors), np.bincount(held)
    return standard_errors(sums[counts > 0] / counts[counts > 0])
