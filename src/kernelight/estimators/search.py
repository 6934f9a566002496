"""The search for scale, gamma, p and C: a small grid, scored on rows that were held out.

1. Settings are all combinations of the candidates for scale, gamma and p. With more than three,
   each is scored on a few rows, with few components and three values of C; the best three go on.
2. These are scored with all components and all C, on more rows. The best setting and C win; of
   those within 1e-4, which is noise, the first setting and the smallest C.

A score such as the average precision is as noisy as its rarest class is small, however many rows
there are. Where that class has few rows, both rounds take more rows and hold each fold out in turn:
see `folds`.

A setting that its map or kernel refuses (a gamma beyond its reach, rows too far apart) is passed
over; if all are refused, the error of the first is raised. Rows are scaled and hashed (or compared)
once for a setting and a round; all C share what was made. Where the second round sees every row,
the final model is trained on the same codes. Scalings look at all rows, and never at labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from kernelight.base import counted
from kernelight.base.checks import Matrix
from kernelight.estimators.calibration import CALIBRATION_ROWS
from kernelight.estimators.folds import (
    HELD_OUT,
    Relearn,
    Split,
    can_hold_out,
    fifths,
    minority_of,
    rows_and_folds,
    strata,
    stratified_order,
)
from kernelight.estimators.kernel_choice import GAMMA_STEPS, P_GRID, SCALE, TUNE, KernelChoice
from kernelight.estimators.progress import Progress, Step
from kernelight.estimators.routes import MAP_ROWS, Prepared, Route, RowIndices, Task, spread
from kernelight.estimators.scoring import Measure, absent_class
from kernelight.scaling import Scaling, fit_scaling, suitable_scalings

C_GRID = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
ROUGH_C_GRID = (0.1, 1.0, 10.0)
DEFAULT_C, DEFAULT_P = 1.0, 1.0
ROUGH_COMPONENTS = 256
FINALISTS = 3
FINAL_FITS = 4  # a final fit, to a small tolerance, takes about as long as this many in the search
# rows: a fifth of them is enough for two numbers, or for the quantiles of errors
ENOUGH_TO_CALIBRATE = 500
ROUGH_TURNS = 2  # of those five, in the first round


@dataclass(frozen=True)
class SearchSpace:
    """The parameters of the estimator that the search may settle, each a value or "tune"."""

    choice: KernelChoice
    n_components: int
    scale: str  # a name or "tune"
    C: float | str
    cv: Any
    measure: Measure


@dataclass(frozen=True)
class Setting:
    """A scaling and the parameters of the kernel; None for those it has not."""

    scaling: Scaling
    gamma: float | None
    p: float | None

    def describe(self) -> dict[str, Any]:
        """As plain data."""
        return {"scale": self.scaling.name, "gamma": self.gamma, "p": self.p}

    def __str__(self) -> str:
        gamma = "" if self.gamma is None else f", gamma={self.gamma:g}"
        return (
            self.scaling.name + gamma + ("" if self.p in (None, DEFAULT_P) else f", p={self.p:g}")
        )


@dataclass(frozen=True)
class Found:
    """What the search came to: the setting, C, where each value came from, and what was tried."""

    setting: Setting
    C: float
    sources: dict[str, str]
    table: list[dict[str, Any]]
    score: float | None  # the best of the last round, or the only one; None if none could be taken
    held_out: str  # on what it was taken
    prepared: Prepared | None = None  # of all rows, where they are there already
    held: HeldOut | None = None  # scores of the winner, to learn probabilities or intervals from


@dataclass(frozen=True)
class HeldOut:
    """Rows held out, with the (n, m) scores that the winner of the search gave them."""

    task: Task
    scores: NDArray[np.float64]


class Search:
    """The search on one data set. Rows, candidates and their number are known before it starts."""

    def __init__(
        self,
        space: SearchSpace,
        route: Route,
        X: Matrix,
        task: Task,
        seed: int,
        splits: list[Split] | None = None,
        relearn: Relearn | None = None,
    ) -> None:
        """``splits`` are those that ``space.cv`` stands for; ``relearn`` makes features that depend
        on labels for a split."""
        self._relearn = relearn
        self._space, self._route, self._X, self._task = space, route, X, task
        self._rng, self._seed = np.random.default_rng(seed), seed
        self._own_splits = splits
        self._few = space.cv is None and not can_hold_out(task)
        self._settings = self._all_settings()
        self._grid = self._c_grid()
        self._order = stratified_order(task, self._rng)
        self._minority = minority_of(task, space.measure)

    @property
    def plan(self) -> list[Step]:
        """The settings that will be scored, as steps of known size; nothing is tried yet."""
        if not self.searches:
            return []
        steps = []
        if self._rough:
            rows, splits = self._round(self._route.rough_rows, ROUGH_TURNS)
            steps += [self._step(rows, splits, *self._rough_grid)] * len(self._settings)
        rows, splits = self._round(self._route.fine_rows, HELD_OUT)
        last = self._step(rows, splits, self._grid, self._space.n_components)
        return steps + [last] * min(FINALISTS, len(self._settings))

    @property
    def final_step(self) -> Step:
        """The training of the final model, on all rows."""
        return Step(
            "final model", self._route.work(self._X.shape[0], self._space.n_components, FINAL_FITS)
        )

    def _step(
        self, rows: RowIndices, splits: list[Split], Cs: Sequence[float], n_components: int
    ) -> Step:
        """The scoring of one setting."""
        work = self._route.work(len(rows), n_components, len(splits) * len(Cs))
        return Step(counted(n_components, "component"), work, len(Cs))

    @property
    def _rough_grid(self) -> tuple[Sequence[float], int]:
        """The values of C and the number of components of the first round."""
        Cs = ROUGH_C_GRID if self._space.C == TUNE else self._grid
        return Cs, min(ROUGH_COMPONENTS, self._space.n_components)

    @property
    def searches(self) -> bool:
        """Whether there is anything to choose."""
        return len(self._settings) > 1 or len(self._grid) > 1

    @property
    def _rough(self) -> bool:
        return len(self._settings) > FINALISTS

    def run(self, progress: Progress) -> Found:
        """The best setting and C."""
        if not self.searches:
            return self._given()
        table: list[dict[str, Any]] = []
        ranked = self._ranked(table, progress) if self._rough else self._settings
        rows, splits = self._round(self._route.fine_rows, HELD_OUT)
        step = self._step(rows, splits, self._grid, self._space.n_components)
        best: Any = None  # score, setting, C, what was prepared, scores of the rows held out
        refused: list[ValueError] = []
        tried, rough = 0, len(table)
        for setting in ranked:
            try:
                with progress.task(f"{setting}, {len(rows):,} rows", step) as outcome:
                    prepared, scores, held = self._scored(
                        setting,
                        rows,
                        splits,
                        self._grid,
                        self._space.n_components,
                        alone=len(ranked) == 1,
                    )
                    outcome.text = best_of(self._grid, scores)
            except ValueError as error:
                refused.append(error)
                continue
            table += self._entries(setting, self._grid, scores, len(rows), self._space.n_components)
            if not best or max(scores) > best[0] + self._even(best[0]):
                enough = int(np.argmax(np.asarray(scores) >= max(scores) - self._even(max(scores))))
                best = max(scores), setting, self._grid[enough], prepared, held[enough]
            tried += 1
            if tried == FINALISTS:
                break
        if not best:
            raise refused[0]
        _, setting, C, prepared, held = best
        score = max(entry["score"] for entry in table[rough:])
        return Found(
            setting, C, self._sources(), table, score, self._held_out(splits), prepared, held
        )

    def _even(self, score: float) -> float:
        return self._space.measure.even(score)

    def _given(self) -> Found:
        """Nothing is to be chosen. Some rows are held out all the same, for probabilities,
        intervals and a score.

        That is one more fit (five to few rows), to the loose tolerance of the search and on the
        codes of the final model. The duals of the final model give leave-one-out scores without it,
        f_i - y_i alpha_i K(i, i) (Jaakkola and Haussler 1999), but only as bounds: probabilities
        learned from them had a much larger log loss on most of the tables that were tried, and no
        fixed share of the last term did well on all. Intervals would lose their guarantee.
        """
        setting, held, prepared, score = self._settings[0], None, None, None
        folds = HELD_OUT if self._X.shape[0] < ENOUGH_TO_CALIBRATE else 1  # each is a fit
        rows, splits = self._rows_and_splits(self._route.fine_rows, folds)
        splits = [split for split in splits if len(split[1]) and self._can_learn(rows[split[0]])]
        if splits and self._needs_held:
            components = self._space.n_components
            try:
                prepared, found = self._held_scores(
                    setting, rows, splits, self._grid, components, alone=True
                )
                held = self._kept(rows, splits, found, 0)
                score = self._only_score(rows, splits, [scores for (scores,) in found])
            # a part of the rows may not do: the fit to all rows says what is wrong, if anything is
            except ValueError:
                held = prepared = score = None
        said = "" if score is None else self._held_out(splits)
        return Found(setting, self._grid[0], self._sources(), [], score, said, prepared, held)

    def _only_score(
        self, rows: RowIndices, splits: list[Split], found: list[NDArray[np.float64]]
    ) -> float | None:
        """The mean score over the splits; None where the measure is not defined for the rows held
        out."""
        checks = [self._task.at(rows[held]) for _, held in splits]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)  # nobody asked for the score
            each = [self._space.measure.of(*pair) for pair in zip(checks, found, strict=True)]
        return float(np.mean(each)) if np.isfinite(each).all() else None

    @property
    def _needs_held(self) -> bool:
        return self._task.loss != "logistic"

    def _can_learn(self, rows: RowIndices) -> bool:
        return self._task.classes is None or len(np.unique(self._task.y[rows])) > 1

    def _ranked(self, table: list[dict[str, Any]], progress: Progress) -> list[Setting]:
        """The settings by their scores on few rows: the best few in the order of the grid, then the
        others, best first."""
        rows, splits = self._round(self._route.rough_rows, ROUGH_TURNS)
        Cs, components = self._rough_grid
        step = self._step(rows, splits, Cs, components)
        best, refused = [], []
        for setting in self._settings:
            try:
                with progress.task(f"{setting}, {len(rows):,} rows", step) as outcome:
                    scores = self._scored(setting, rows, splits, Cs, components)[1]
                    outcome.text = best_of(Cs, scores)
            except ValueError as error:
                refused.append(error)
                continue
            table += self._entries(setting, Cs, scores, len(rows), components)
            best.append((max(scores), setting))
        if not best:
            raise refused[0]
        order = np.argsort([-score for score, _ in best], kind="stable").tolist()
        return [best[at][1] for at in (*sorted(order[:FINALISTS]), *order[FINALISTS:])]

    def _scored(
        self,
        setting: Setting,
        rows: RowIndices,
        splits: list[Split],
        Cs: Sequence[float],
        n_components: int,
        *,
        alone: bool = False,
    ) -> tuple[Prepared | None, list[float], list[HeldOut]]:
        """What was prepared, if of all rows and for the final model; for each C the mean score over
        the splits, and the scores of the rows held out."""
        prepared, found = self._held_scores(setting, rows, splits, Cs, n_components, alone=alone)
        measure = self._space.measure
        checks = [self._task.at(rows[held]) for _, held in splits]
        each_split = [
            [measure.of(check, scores) for scores in each]
            for check, each in zip(checks, found, strict=True)
        ]
        means = [float(score) for score in np.mean(each_split, axis=0)]
        if not np.isfinite(means).all():
            raise undefined(measure.name, self._task, checks, self._space.cv)
        return prepared, means, [self._kept(rows, splits, found, at) for at in range(len(Cs))]

    def _kept(
        self, rows: RowIndices, splits: list[Split], found: list[list[NDArray[np.float64]]], at: int
    ) -> HeldOut:
        """The scores of one C on all rows held out, or on some if they are many."""
        held = np.concatenate([rows[held] for _, held in splits])
        some = spread(len(held), CALIBRATION_ROWS)
        scores = np.concatenate([each[at] for each in found])
        return HeldOut(
            self._task.at(held[some]), scores if len(some) == len(held) else scores[some]
        )

    def _held_scores(
        self,
        setting: Setting,
        rows: RowIndices,
        splits: list[Split],
        Cs: Sequence[float],
        n_components: int,
        *,
        alone: bool = False,
    ) -> tuple[Prepared | None, list[list[NDArray[np.float64]]]]:
        """What was prepared, and the scores of the rows held out for each split and C.

        ``alone``: there is no other setting, so that rows not scored are prepared as well, all at
        once.
        """
        kernel = self._space.choice.made(setting.gamma, setting.p)
        if self._route.learns_labels or self._relearn is not None:
            return None, self._scored_apart(setting, rows, splits, Cs, n_components)
        whole = alone or len(rows) == self._X.shape[0]
        among = np.arange(self._X.shape[0]) if whole else rows
        X = self._X if whole else self._X[rows]
        prepared = self._route.prepare(
            kernel, setting.scaling, X, self._task.at(among), n_components
        )
        places = rows if whole else np.arange(len(rows))
        task = self._task.at(among)
        found = [
            self._route.path(prepared, task, places[train], places[held], Cs)
            for train, held in splits
        ]
        return (prepared if whole else None), found

    def _scored_apart(
        self,
        setting: Setting,
        rows: RowIndices,
        splits: list[Split],
        Cs: Sequence[float],
        n_components: int,
    ) -> list[list[NDArray[np.float64]]]:
        """For maps and features that learn from labels: each split has its own."""
        kernel = self._space.choice.made(setting.gamma, setting.p)
        found = []
        for train, held in splits:
            learn, check = rows[train], rows[held]
            both = np.concatenate([learn, check])
            X = self._X[both] if self._relearn is None else self._relearn(self._X, both, check)
            if self._route.learns_labels:
                task = self._task.at(learn)
                prepared = self._route.prepare(
                    kernel, setting.scaling, X[: len(learn)], task, n_components
                )
                prepared = self._route.again(prepared, X)
            else:
                prepared = self._route.prepare(
                    kernel, setting.scaling, X, self._task.at(both), n_components
                )
            places = np.arange(len(both))
            parts = places[: len(learn)], places[len(learn) :]
            found.append(self._route.path(prepared, self._task.at(both), *parts, Cs))
        return found

    def _round(self, most: int, turns: int) -> tuple[RowIndices, list[Split]]:
        """The rows of a round and its splits, see `rows_and_folds`."""
        n_rows = self._X.shape[0]
        return self._rows_and_splits(
            *rows_and_folds(n_rows, self._minority, most, turns, self._route.growth)
        )

    def _rows_and_splits(self, most: int, turns: int) -> tuple[RowIndices, list[Split]]:
        """At most so many rows, and which of them (by their places) are learned from and held out,
        so many times."""
        if self._own_splits is not None:
            return np.arange(self._X.shape[0]), self._own_splits
        rows = np.sort(self._order[:most])
        fifth = fifths(strata(self._task.at(rows)), np.random.default_rng([self._seed, 1]))
        return rows, [
            (np.flatnonzero(fifth != turn), np.flatnonzero(fifth == turn)) for turn in range(turns)
        ]

    def _held_out(self, splits: list[Split]) -> str:
        held = sum(len(rows) for _, rows in splits)
        return (
            f"{counted(held, 'row')} held out"
            if len(splits) == 1
            else f"{counted(len(splits), 'split')}, {counted(held, 'row')} held out in all"
        )

    def _entries(
        self,
        setting: Setting,
        Cs: Sequence[float],
        scores: list[float],
        n_rows: int,
        n_components: int,
    ) -> list[dict[str, Any]]:
        shared = {**setting.describe(), "n_rows": n_rows, "n_components": n_components}
        return [{**shared, "C": C, "score": score} for C, score in zip(Cs, scores, strict=True)]

    def _all_settings(self) -> list[Setting]:
        X, choice = self._X, self._space.choice
        names = suitable_scalings(X, nonnegative=choice.nonnegative, fixed_width=choice.fixed_width)
        names = names if self._space.scale == TUNE else (self._space.scale,)
        settings = []
        for name in names[:1] if self._few else names:
            scaling = fit_scaling(name, X, self._rng, self._task.weight)
            for p in self._powers():
                settings += [Setting(scaling, gamma, p) for gamma in self._gammas(scaling, p)]
        return settings

    def _powers(self) -> tuple[float | None, ...]:
        choice = self._space.choice
        if not choice.has("p"):
            return (None,)
        if choice.p == TUNE:
            return (DEFAULT_P,) if self._few else P_GRID
        return (float(choice.p),)

    def _gammas(self, scaling: Scaling, p: float | None) -> tuple[float | None, ...]:
        choice = self._space.choice
        if not choice.has("gamma"):
            return (None,)
        if not isinstance(choice.gamma, str):
            return (float(choice.gamma),)
        if choice.gamma == SCALE:
            some = spread(self._X.shape[0], MAP_ROWS)
            weight = None if self._task.weight is None else self._task.weight[some]
            return (choice.scale_gamma(scaling(self._X[some]), p, weight),)
        middle = choice.median_gamma(scaling(self._X[spread(self._X.shape[0], 256)]), p)
        return (
            (middle,) if self._few else tuple(float(f"{middle * step:.2g}") for step in GAMMA_STEPS)
        )

    def _c_grid(self) -> tuple[float, ...]:
        if self._space.C == TUNE:
            return (DEFAULT_C,) if self._few else C_GRID
        return (float(self._space.C),)

    def _sources(self) -> dict[str, str]:
        """Where each value comes from.

        Given, by a rule, tuned, default (too few rows), only (nothing else suits these rows) or
        none (the kernel has none).
        """
        space, choice = self._space, self._space.choice
        found = {}
        for name, wish in (
            ("scale", space.scale),
            ("gamma", choice.gamma),
            ("p", choice.p),
            ("C", space.C),
        ):
            if name in ("gamma", "p") and not choice.has(name):
                found[name] = "none"
            elif wish == SCALE:
                found[name] = "rule"
            elif wish != TUNE:
                found[name] = "given"
            elif self._few:
                found[name] = "default"
            else:
                found[name] = "tuned"
        if (
            found["scale"] == "tuned"
            and len({setting.scaling.name for setting in self._settings}) == 1
        ):
            found["scale"] = "only"
        return found


def best_of(Cs: Sequence[float], scores: Sequence[float]) -> str:
    """The best score, and the C that reached it."""
    at = int(np.argmax(scores))
    return f"score {scores[at]:.4f} at C={Cs[at]:g}"


def undefined(name: str, task: Task, checks: list[Task], cv: Any) -> ValueError:
    """Why a score of the rows held out is not a number."""
    absent = next((found for found in map(absent_class, checks) if found is not None), None)
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
    folds = f", use cv={min(count, HELD_OUT)} in Python" if count > 1 else ""
    return ValueError(
        f"{name} needs rows of every class among those held out, but class {absent!r} has {count} "
        f"of {len(task.y)} "
        f"rows, too few to be held out: add rows of that class{folds}, or choose another scoring "
        f"such as 'accuracy'."
    )
