"""The search for scale, gamma, p and C: a small grid, scored on held-out rows.

1. The rough round, if there are more than three settings (combinations of scale, gamma and p): each
   is scored on few rows, with few components and three values of C. The best three go on.
2. The fine round: these are scored with all components and all C, on more rows. The best setting
   and C win; of those within 1e-4, which is noise, the first setting and the smallest C.

A score such as the average precision is as noisy as its rarest class is small, however many rows
there are. Where that class has few rows, both rounds use more rows and hold out each fold: see
`folds`.

A setting that its map or kernel refuses (a gamma beyond its reach, rows too far apart) is passed
over; if all are refused, the error of the first is raised. Rows are scaled and hashed (or compared)
once for a setting and a round; all C share the result. Where the fine round uses every row, the
final model is trained on the same codes. Scalings are fitted to all rows, and never see labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from kernelight.base import counted
from kernelight.base.checks import Matrix
from kernelight.estimators.calibration import CALIBRATION_ROWS
from kernelight.estimators.folds import (
    N_FOLDS,
    Relearn,
    Split,
    can_hold_out,
    minority_of,
    rows_and_folds,
    strata,
    stratified_folds,
    stratified_order,
)
from kernelight.estimators.kernel_choice import TUNE
from kernelight.estimators.progress import Progress, Step
from kernelight.estimators.routes import Prepared, Route, RowIndices, Task, spread
from kernelight.estimators.scoring import absent_class
from kernelight.estimators.search_space import SearchSpace, Setting

ROUGH_C_GRID = (0.1, 1.0, 10.0)
ROUGH_COMPONENTS = 256
ROUGH_FOLDS = 2  # of a small table; the fine round holds out all five
FINALISTS = 3
FINAL_FITS = 4  # a final fit, to a small tolerance, takes about as long as this many in the search
# rows: one fold of them is enough for the two numbers of a calibration or for quantiles of errors
ENOUGH_TO_CALIBRATE = 500

SplitScores = list[list[NDArray[np.float64]]]  # (n, m) scores of held-out rows, by split and by C


@dataclass(frozen=True)
class Round:
    """What is the same for all settings of a round; splits hold places within ``rows``."""

    rows: RowIndices
    splits: list[Split]
    Cs: Sequence[float]
    n_components: int


@dataclass(frozen=True)
class HeldOut:
    """Held-out rows, with the (n, m) scores that a setting gave them."""

    task: Task
    scores: NDArray[np.float64]


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


@dataclass(frozen=True)
class _Scored:
    """A setting in a round: the score of each C, and what the winner of the search needs."""

    setting: Setting
    scores: list[float]
    held: list[HeldOut]  # by C
    prepared: Prepared | None  # all rows, if the search has prepared them


class Search:
    """The search on one data set; settings and the work to be done are known before it runs."""

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
        """``splits`` are those of ``space.cv``; ``relearn`` remakes features that use labels."""
        self._space, self._route, self._X, self._task = space, route, X, task
        self._seed, self._own_splits, self._relearn = seed, splits, relearn
        rng = np.random.default_rng(seed)
        self._tune = space.cv is not None or can_hold_out(task)
        self._settings = space.settings(X, task, rng, tune=self._tune)
        self._Cs = space.c_values(tune=self._tune)
        self._order = stratified_order(task, rng)
        self._minority = minority_of(task, space.scoring)

    # -- What will be done

    @property
    def searches(self) -> bool:
        """Whether there is anything to choose."""
        return len(self._settings) > 1 or len(self._Cs) > 1

    @property
    def steps(self) -> list[Step]:
        """One step for each setting that will be scored; nothing is done yet."""
        if not self.searches:
            return []
        steps = []
        if self._has_rough_round:
            steps += [self._step(self.rough_round)] * len(self._settings)
        return steps + [self._step(self.fine_round)] * min(FINALISTS, len(self._settings))

    @property
    def final_step(self) -> Step:
        """The training of the final model, on all rows."""
        work = self._route.work(self._X.shape[0], self._space.n_components, FINAL_FITS)
        return Step("final model", work)

    def _step(self, stage: Round) -> Step:
        """The scoring of one setting."""
        n_fits = len(stage.splits) * len(stage.Cs)
        work = self._route.work(len(stage.rows), stage.n_components, n_fits)
        return Step(counted(stage.n_components, "component"), work, len(stage.Cs))

    @property
    def _has_rough_round(self) -> bool:
        return len(self._settings) > FINALISTS

    @cached_property
    def rough_round(self) -> Round:
        """Few rows, few components and three C."""
        Cs = ROUGH_C_GRID if self._space.C == TUNE else self._Cs
        n_components = min(ROUGH_COMPONENTS, self._space.n_components)
        return self._round(self._route.rough_rows, ROUGH_FOLDS, Cs, n_components)

    @cached_property
    def fine_round(self) -> Round:
        """More rows, all components and all C."""
        return self._round(self._route.fine_rows, N_FOLDS, self._Cs, self._space.n_components)

    def _round(self, most: int, n_folds: int, Cs: Sequence[float], n_components: int) -> Round:
        n_rows, growth = self._X.shape[0], self._route.growth
        most, n_folds = rows_and_folds(n_rows, self._minority, most, n_folds, growth)
        return Round(*self._rows_and_splits(most, n_folds), Cs, n_components)

    def _rows_and_splits(self, most: int, n_folds: int) -> tuple[RowIndices, list[Split]]:
        """At most ``most`` rows, and the splits that hold out each of ``n_folds`` folds of them.

        Splits of the user are taken instead, and all rows with them.
        """
        if self._own_splits is not None:
            return np.arange(self._X.shape[0]), self._own_splits
        rows = np.sort(self._order[:most])
        rng = np.random.default_rng([self._seed, 1])
        fold_of = stratified_folds(strata(self._task.at(rows)), rng)
        return rows, [
            (np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold))
            for fold in range(n_folds)
        ]

    # -- The search

    def run(self, progress: Progress) -> SearchResult:
        """The best setting and C."""
        if not self.searches:
            return self._score_the_only_setting()
        table: list[dict[str, Any]] = []
        ranked = self._settings
        if self._has_rough_round:
            ranked = self._rank(table, progress)
        n_rough = len(table)
        best = self._best(self._score_settings(self.fine_round, ranked, table, progress))
        C, held = self._smallest_tied_c(best)
        score = max(entry["score"] for entry in table[n_rough:])
        return SearchResult(
            best.setting,
            C,
            self._sources(),
            table,
            score,
            in_words(self.fine_round.splits),
            best.prepared,
            held,
        )

    def _rank(self, table: list[dict[str, Any]], progress: Progress) -> list[Setting]:
        """The settings by their scores in the rough round.

        The best three come first, in the order of the grid, since the first of a tie wins; then the
        others, best first, in case that a finalist is refused.
        """
        scored = self._score_settings(self.rough_round, self._settings, table, progress)
        settings = [(max(each.scores), each.setting) for each in scored]
        order = np.argsort([-score for score, _ in settings], kind="stable").tolist()
        places = (*sorted(order[:FINALISTS]), *order[FINALISTS:])
        return [settings[place][1] for place in places]

    def _score_settings(
        self, stage: Round, settings: list[Setting], table: list[dict[str, Any]], progress: Progress
    ) -> Iterator[_Scored]:
        """Score one setting after another, in the fine round until three were scored.

        Each adds its entries to ``table``. A setting that is refused is passed over; if all are,
        the error of the first is raised.
        """
        step, alone = self._step(stage), len(settings) == 1
        most = FINALISTS if stage is self.fine_round else len(settings)
        n_scored = 0
        refusals: list[ValueError] = []
        for setting in settings:
            try:
                with progress.task(f"{setting}, {len(stage.rows):,} rows", step) as outcome:
                    scored = self._score(setting, stage, alone=alone)
                    outcome.text = best_of(stage.Cs, scored.scores)
            except ValueError as error:
                refusals.append(error)
                continue
            table += table_entries(stage, scored)
            yield scored
            n_scored += 1
            if n_scored == most:
                return
        if not n_scored:
            raise refusals[0]

    def _best(self, finalists: Iterator[_Scored]) -> _Scored:
        """The setting with the best score, of a tie the first.

        Only the best one so far is kept: what was prepared for it may be large.
        """
        best = next(finalists)
        for each in finalists:
            if max(each.scores) > max(best.scores) + self._tie(max(best.scores)):
                best = each
        return best

    def _smallest_tied_c(self, best: _Scored) -> tuple[float, HeldOut]:
        """The smallest C whose score is a tie with the best, and the held-out rows with it."""
        top = max(best.scores)
        at = int(np.argmax(np.asarray(best.scores) >= top - self._tie(top)))
        return self._Cs[at], best.held[at]

    def _tie(self, score: float) -> float:
        return self._space.scoring.tie(score)

    def _score_the_only_setting(self) -> SearchResult:
        """Nothing is to be chosen, but held-out rows give probabilities, intervals and a score.

        That is one more fit (five to few rows), to the loose tolerance of the search and on the
        codes of the final model. The duals of the final model give leave-one-out scores without it,
        f_i - y_i alpha_i K(i, i) (Jaakkola and Haussler 1999), but only as bounds: probabilities
        learned from them had a much larger log loss on most of the tables that were tried, and no
        fixed fraction of the last term did well on all. Intervals would lose their guarantee.
        """
        setting, held, prepared, score = self._settings[0], None, None, None
        n_folds = N_FOLDS if self._X.shape[0] < ENOUGH_TO_CALIBRATE else 1  # each is a fit
        rows, splits = self._rows_and_splits(self._route.fine_rows, n_folds)
        splits = [split for split in splits if len(split[1]) and self._can_learn(rows[split[0]])]
        has_own_probabilities = self._task.loss == "logistic"
        if splits and not has_own_probabilities:
            stage = Round(rows, splits, self._Cs, self._space.n_components)
            try:
                prepared, scores = self._held_out_scores(setting, stage, alone=True)
                held = self._held_out(stage, scores, 0)
                score = self._only_score(stage, [by_C[0] for by_C in scores])
            # a part of the rows may not do: the fit to all rows says what is wrong, if anything is
            except ValueError:
                held = prepared = score = None
        words = "" if score is None else in_words(splits)
        return SearchResult(setting, self._Cs[0], self._sources(), [], score, words, prepared, held)

    def _only_score(self, stage: Round, scores: list[NDArray[np.float64]]) -> float | None:
        """The mean score over the splits; None where it is not defined for the held-out rows."""
        tasks = [self._task.at(stage.rows[held]) for _, held in stage.splits]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)  # nobody asked for the score
            each = [self._space.scoring.score(*pair) for pair in zip(tasks, scores, strict=True)]
        return float(np.mean(each)) if np.isfinite(each).all() else None

    def _can_learn(self, rows: RowIndices) -> bool:
        """Whether the rows have at least two classes, or quantities."""
        return self._task.classes is None or len(np.unique(self._task.y[rows])) > 1

    def _sources(self) -> dict[str, str]:
        return self._space.sources(self._settings, tune=self._tune)

    # -- One setting

    def _score(self, setting: Setting, stage: Round, *, alone: bool) -> _Scored:
        """The mean score over the splits, for each C."""
        prepared, scores = self._held_out_scores(setting, stage, alone=alone)
        scoring = self._space.scoring
        tasks = [self._task.at(stage.rows[held]) for _, held in stage.splits]
        by_split = [
            [scoring.score(task, each) for each in by_C]
            for task, by_C in zip(tasks, scores, strict=True)
        ]
        means = [float(score) for score in np.mean(by_split, axis=0)]
        if not np.isfinite(means).all():
            raise undefined(scoring.name, self._task, tasks, self._space.cv)
        held = [self._held_out(stage, scores, at) for at in range(len(stage.Cs))]
        return _Scored(setting, means, held, prepared)

    def _held_out(self, stage: Round, scores: SplitScores, at: int) -> HeldOut:
        """The scores of one C on all held-out rows, or on some if they are many."""
        rows = np.concatenate([stage.rows[held] for _, held in stage.splits])
        some = spread(len(rows), CALIBRATION_ROWS)
        of_C = np.concatenate([by_C[at] for by_C in scores])
        return HeldOut(self._task.at(rows[some]), of_C if len(some) == len(rows) else of_C[some])

    def _held_out_scores(
        self, setting: Setting, stage: Round, *, alone: bool
    ) -> tuple[Prepared | None, SplitScores]:
        """The scores of held-out rows; and all rows prepared for the final model, if they are.

        ``alone``: there is no other setting, so that the rows outside this round are prepared as
        well, all at once.
        """
        if self._route.learns_labels or self._relearn is not None:
            return None, self._scores_apart(setting, stage)
        n_rows = self._X.shape[0]
        whole = alone or len(stage.rows) == n_rows
        prepared_rows = np.arange(n_rows) if whole else stage.rows
        task = self._task.at(prepared_rows)
        X = self._X if whole else self._X[stage.rows]
        prepared = self._prepare(setting, X, task, stage)
        places = stage.rows if whole else np.arange(len(stage.rows))
        scores = [
            self._route.held_out_scores(prepared, task, places[train], places[held], stage.Cs)
            for train, held in stage.splits
        ]
        return (prepared if whole else None), scores

    def _scores_apart(self, setting: Setting, stage: Round) -> SplitScores:
        """The same where maps or features learn from labels: each split has its own."""
        scores = []
        for train, held in stage.splits:
            train_rows, held_rows = stage.rows[train], stage.rows[held]
            both, n_train = np.concatenate([train_rows, held_rows]), len(train_rows)
            X = self._X[both] if self._relearn is None else self._relearn(self._X, both, held_rows)
            task = self._task.at(both)
            if self._route.learns_labels:
                train_task = self._task.at(train_rows)
                prepared = self._prepare(setting, X[:n_train], train_task, stage)
                prepared = self._route.apply(prepared, X)
            else:
                prepared = self._prepare(setting, X, task, stage)
            places = np.arange(len(both))
            parts = places[:n_train], places[n_train:]
            scores.append(self._route.held_out_scores(prepared, task, *parts, stage.Cs))
        return scores

    def _prepare(self, setting: Setting, X: Matrix, task: Task, stage: Round) -> Prepared:
        kernel = self._space.choice.make(setting.gamma, setting.p)
        return self._route.prepare(kernel, setting.scaling, X, task, stage.n_components)


def table_entries(stage: Round, scored: _Scored) -> list[dict[str, Any]]:
    """What ``search_`` says of a setting in a round: an entry for each C."""
    shared = {
        **scored.setting.describe(),
        "n_rows": len(stage.rows),
        "n_components": stage.n_components,
    }
    return [
        {**shared, "C": C, "score": score} for C, score in zip(stage.Cs, scored.scores, strict=True)
    ]


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
