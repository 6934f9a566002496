"""What a search returns, what it keeps of a finalist, and how it says both in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.estimators.folds import N_FOLDS, Split
from kernelight.estimators.routes import Prepared, RowIndices, Task
from kernelight.estimators.scoring import absent_class, standard_errors
from kernelight.estimators.search_space import Setting


@dataclass(frozen=True)
class HeldOut:
    """Held-out rows, with the (n, m) scores that a setting gave them."""

    task: Task
    scores: NDArray[np.float64]
    rows: RowIndices  # which they are

    @property
    def losses(self) -> NDArray[np.float64]:
        """The squared hinge loss of each row, or its squared error of a regression."""
        columns = self.task.columns
        errors = columns - self.scores
        if self.task.classes is not None:
            errors = np.maximum(0.0, columns * errors)  # 1 - margin
        return np.asarray(np.square(errors).sum(axis=1))

    @property
    def loss(self) -> float:
        """The mean of `losses`."""
        return float(np.average(self.losses, weights=self.task.balanced_weight))

    def lead_over(self, other: HeldOut) -> float:
        """How many standard errors the loss is less than another one, on rows that both have."""
        common = np.isin(other.rows, self.rows)
        weight = self.task.balanced_weight
        less = other.losses[common] - self.losses
        return standard_errors(less if weight is None else weight * less)


@dataclass(frozen=True)
class SearchResult:
    """The setting and C that won, where each value came from, and all that was tried."""

    setting: Setting
    C: float
    sources: dict[str, str]
    table: list[dict[str, Any]]
    score: float | None  # the best of the last round, or the only one; None if there is none
    held_out: str  # the rows of that score, in words
    prepared: Prepared | None = None  # all rows, if the search has prepared them already
    held: HeldOut | None = None  # scores of the winner, to learn probabilities or intervals from
    model: Any = None  # the final model, if the search has trained it already


@dataclass(frozen=True)
class Scored:
    """A setting in the last round: the score of each C, and what the winner needs."""

    setting: Setting
    Cs: Sequence[float]
    scores: list[float]
    held: list[HeldOut]  # by C
    prepared: Prepared | None  # all rows, if the search has prepared them
    model: Any = None  # of all rows, if the search has trained it

    @property
    def loss(self) -> float:
        """The loss of held-out rows at the best C."""
        return self.best_held.loss

    @property
    def best_held(self) -> HeldOut:
        """The held-out rows with the C of the least loss."""
        return min(self.held, key=lambda held: held.loss)


def best_of(Cs: Sequence[float], scores: Sequence[float]) -> str:
    """The best score and its C, in words."""
    at = int(np.argmax(scores))
    return f"score {scores[at]:.4f} at C={Cs[at]:g}"


def in_words(splits: list[Split]) -> str:
    """How many rows are held out, in words."""
    held = sum(len(rows) for _, rows in splits)
    if len(splits) == 1:
        return f"{counted(held, 'row')} held out"
    return f"{counted(len(splits), 'split')}, {counted(held, 'row')} held out in all"


def undefined(name: str, task: Task, held: list[Task], cv: Any) -> ValueError:
    """Why a score of the held-out rows is not a number."""
    absent = next((label for label in map(absent_class, held) if label is not None), None)
    if absent is None:
        why = "R^2 of one row is not defined" if name == "R^2" else f"{name} is not defined"
        asked = "cv must hold out at least two rows in each split: " if cv is not None else ""
        return ValueError(f"{asked}{why} for what was held out.")
    if cv is not None:
        return ValueError(
            f"cv must hold out rows of every class in each split: {name} is not defined without "
            f"class {absent!r}."
        )
    count = int(np.count_nonzero(task.y == absent))
    folds = f", use cv={min(count, N_FOLDS)} in Python" if count > 1 else ""
    return ValueError(
        f"{name} needs rows of every class among those held out, but class {absent!r} has {count} "
        f"of {len(task.y)} rows, too few to be held out: add rows of that class{folds}, or choose "
        f"another scoring such as 'accuracy'."
    )
