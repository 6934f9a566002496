"""The search for scale, gamma, p and C: a race on the exact kernel, then the model itself.

Long, because the rounds and what they share of rows, splits and C are one subject.

1. The race (`race`): all settings (combinations of scale, gamma and p) by kernel ridge regression
   on a few hundred rows. It ranks the settings and finds a C for each.
2. The last round: the finalists with the model that will be trained, on rows that it has not
   learned from. For kernel ridge regression that is every row, left out by itself; for other models
   these are folds of at most 8,000 rows. Usually there is one finalist, and what is left to be
   chosen is whether a larger C is better. Where there are more rows than that, up to three settings
   that are close after the race meet in a semifinal before, with one C. There are three finalists,
   and 12,000 rows, where the user names a scoring, which the race does not know; and three where
   gamma or p is tuned. For kernel ridge regression, whose work grows with the cube of the rows, a
   scoring chooses setting and C in a semifinal of at most 1,600 rows.

Between the two, weights of columns are learned for the setting that leads, where the user asks for
them (`weights_round`). They see labels, so that they do not learn from rows that score.

A score such as the average precision is as noisy as its rarest class is small, however many rows
there are. Where that class has few rows, the last round uses more rows and holds out each fold: see
`folds`.

A setting that its map or kernel refuses (a gamma beyond its reach, rows too far apart) is passed
over; if all are refused, the error of the first is raised. Rows are scaled and hashed (or compared)
once for a setting and a round; all C share the result. Where the last round uses every row, the
final model is trained on the same codes. Scalings are fitted to all rows, and never see labels.
"""

from __future__ import annotations

import math
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
from kernelight.estimators.column_weights import refuses
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
from kernelight.estimators.left_out import LeftOutScores, Sample, can_learn, sample_of
from kernelight.estimators.progress import Progress, Step
from kernelight.estimators.race import C_STEP, LARGEST_C, MANY_ROWS, Entrant, Race, on_grid
from kernelight.estimators.routes import (
    ExactRoute,
    Prepared,
    RidgeRoute,
    Route,
    RowIndices,
    Task,
    spread,
)
from kernelight.estimators.search_result import (
    HeldOut,
    Scored,
    SearchResult,
    best_of,
    in_words,
    undefined,
)
from kernelight.estimators.search_space import C_GRID, SearchSpace, Setting
from kernelight.estimators.weights_round import SAMPLE_ROWS, WeightsRound
from kernelight.maps.scaled_map import ScaledMap

FINALISTS = 3
DEFAULT_ROWS = MANY_ROWS  # of the last round, if nobody names a scoring
# C grows with the rows up to this: a larger one takes much longer on many rows, and gains little
GROWN_C = 10.0
USUAL_CS = 2  # values of C in the last round
SCORING_ROWS = 1_600  # on which a scoring chooses among kernel ridge regressions, at most
FINAL_FITS = 4  # a final fit, to a small tolerance, takes about as long as this many in the search
# rows: one fold of them is enough for the two numbers of a calibration or for quantiles of errors
ENOUGH_TO_CALIBRATE = 500

SplitScores = list[list[NDArray[np.float64]]]  # (n, m) scores of held-out rows, by split and by C


@dataclass(frozen=True)
class Round:
    """What is the same for all finalists; splits hold places within ``rows``."""

    rows: RowIndices
    splits: list[Split]
    n_components: int


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
        *,
        short_race: bool = False,
    ) -> None:
        """``splits`` are those of ``space.cv``; ``relearn`` remakes features that use labels."""
        self._short_race = short_race
        self._space, self._route, self._X, self._task = space, route, X, task
        self._seed, self._own_splits, self._relearn = seed, splits, relearn
        rng = np.random.default_rng(seed)
        self._tune = space.cv is not None or can_hold_out(task)
        self._settings = space.settings(X, task, rng, tune=self._tune)
        self._tunes_c = self._tune and space.C == TUNE
        self._order = stratified_order(task, rng)
        self._minority = minority_of(task, space.scoring)

    # -- What will be done

    @property
    def tunes(self) -> bool:
        """Whether there are enough rows to hold some out."""
        return self._tune

    @property
    def searches(self) -> bool:
        """Whether there is anything to choose."""
        return len(self._settings) > 1 or self._tunes_c or self._weights is not None

    @property
    def steps(self) -> list[Step]:
        """One step for each setting of each round; nothing is done yet."""
        if not self.searches:
            return []
        last = [self._step] * min(self._n_finalists, len(self._settings))
        semifinal = [self._semifinal_step] * min(FINALISTS, len(self._settings))
        weights = [] if self._weights is None else [self._weights.step]
        last += [self._step] if self._has_rematch else []
        return self._race.steps + (semifinal if self._has_semifinal else []) + weights + last

    @property
    def final_step(self) -> Step:
        """The training of the final model, on all rows."""
        work = self._route.work(self._X.shape[0], self._space.n_components, FINAL_FITS)
        return Step("final model", work)

    @cached_property
    def _race(self) -> Race:
        # an SVM has its own meaning of C, so that one the user gives says nothing to the race
        fixed = None if self._tunes_c or isinstance(self._route, ExactRoute) else self._only_c
        return Race(
            self._space,
            self._route,
            self._settings,
            self._X,
            self._task,
            self._order,
            C=fixed,
            seed=self._seed,
            splits=self._own_splits,
            relearn=self._relearn,
            short=self._short_race,
        )

    @cached_property
    def _weights(self) -> WeightsRound | None:
        """The round that learns weights of columns; None if nobody asks for it, or it cannot be."""
        kernel = self._space.choice.make(None, None)
        if not (self._tune and self._space.learns_weights):
            return None
        if refuses(kernel, self._X, self._task.columns.shape[1]) is not None:
            return None
        n_rows, spared = self._X.shape[0], None
        if n_rows > SAMPLE_ROWS and self._own_splits is None:
            ridge = isinstance(self._route, RidgeRoute)
            stage = self.round_of(n_rows, 1) if ridge else self.last_round
            spared = stage.rows[stage.splits[0][1]]
        return WeightsRound(
            self._space, self._X, self._task, self._order, self._seed, spared, self._relearn
        )

    @property
    def _only_c(self) -> float:
        """C where it is not tuned."""
        return self._space.c_values(tune=False)[0]

    @property
    def _n_finalists(self) -> int:
        """How many settings the race, or the semifinal, leaves to the last round."""
        if self._scores_a_part:
            return 1
        if not self._space.scoring.is_default:
            return FINALISTS
        if isinstance(self._route, RidgeRoute):
            return 1
        return FINALISTS if self._space.tunes_kernel or isinstance(self._route, ExactRoute) else 1

    @property
    def _is_large(self) -> bool:
        """Whether there are more rows than the last round takes, so that choices weigh more."""
        return (
            self._own_splits is None
            and self._space.scoring.is_default
            and not isinstance(self._route, RidgeRoute)  # its last round takes all rows
            and self._X.shape[0] > DEFAULT_ROWS
        )

    @property
    def _has_semifinal(self) -> bool:
        """Whether settings that are close in the race meet once more on the rows of the last round.

        What leads on a few hundred rows by chance is far behind on a hundred thousand.
        """
        if self._scores_a_part:
            return True
        return self._is_large and self._n_finalists == 1 and len(self._settings) > 1

    @property
    def _scores_a_part(self) -> bool:
        """Whether a scoring chooses on a part of the rows: all of them several times take long."""
        return (
            isinstance(self._route, RidgeRoute)
            and self._own_splits is None
            and not self._space.scoring.is_default
            and self._X.shape[0] > SCORING_ROWS
        )

    def _c_values(self, raced: Entrant) -> Sequence[float]:
        """What the last round tries of C, given the one that was found before."""
        return (raced.C,) if self._scores_a_part else self._near_c_values(raced)

    def _near_c_values(self, raced: Entrant) -> Sequence[float]:
        """What is tried of C, given the one that the race has found."""
        if not self._tunes_c:
            return (self._only_c,)
        steps = self._route.c_steps(self._task, self._space.n_components)
        if steps is None:
            return C_GRID
        C = raced.C
        # on more rows than those of the race, any C may turn out to be the best
        if raced.is_unsure and self._X.shape[0] > self._race.n_tuned_rows:
            C, steps = max(C, 1.0), range(-1, 5, 2 if isinstance(self._route, RidgeRoute) else 1)
        elif not self._space.scoring.is_default:
            steps = range(-1, 2)
        elif self._is_large and len(steps) > 1:
            steps = range(3)  # more rows than those of the race may need a larger C
        near = (on_grid(C * C_STEP**step) for step in steps)
        return tuple(sorted({min(each, self._route.largest_c) for each in near}))

    @cached_property
    def _step(self) -> Step:
        """The scoring of one finalist."""
        n_splits = 1 if isinstance(self._route, RidgeRoute) else len(self.last_round.splits)
        n_fits = n_splits * USUAL_CS
        work = self._route.work(self._n_last_rows, self._space.n_components, n_fits)
        return Step("last round", work, tries=1)

    @property
    def _n_last_rows(self) -> int:
        """Rows of the last round."""
        if isinstance(self._route, RidgeRoute):
            return len(self._all_rows.rows)
        return len(self.last_round.rows)

    @cached_property
    def last_round(self) -> Round:
        """Many rows and all components."""
        n_rows, growth = self._X.shape[0], self._route.growth
        most = self._route.fine_rows
        if self._space.scoring.is_default:  # what is left to be chosen is C
            most = min(most, DEFAULT_ROWS)
        most, n_folds = rows_and_folds(n_rows, self._minority, most, N_FOLDS, growth)
        return self.round_of(most, n_folds)

    def round_of(self, most: int, n_folds: int) -> Round:
        """At most ``most`` rows with all components, and each of ``n_folds`` folds held out."""
        return Round(*self._rows_and_splits(most, n_folds), self._space.n_components)

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
        ranked = self._race.run(progress, table)
        if self._scores_a_part:
            ranked = self._scored_on_a_part(ranked, table, progress)
        elif self._has_semifinal:
            ranked = self._semifinal(ranked, table, progress)
        plain = ranked[0]
        if self._weights is not None:
            ranked = [self._with_weights(plain, self._weights, table, progress), *ranked[1:]]
        n_raced = len(table)
        best = self._best(self._score_finalists(ranked, table, progress))
        if self._has_rematch:
            if best.setting.recipe is None:
                progress.skip(self._step)
            else:
                best = self._rematch(best, plain, table, progress)
                ranked = [*ranked, plain]
        C, held = self._smallest_tied_c(best)
        score = max(entry["score"] for entry in table[n_raced:])
        if self._weights is not None:  # a loser of other rows may have scored higher
            score = max(best.scores)
        raced = next(each for each in ranked if each.setting is best.setting)
        if self._weights is not None:
            table = [{**entry, "weights": entry.get("weights")} for entry in table]
        return SearchResult(
            best.setting,
            self._for_all_rows(C, raced.C),
            self._sources(best.setting),
            table,
            score,
            self._held_out_words(best),
            best.prepared,
            held,
            best.model,
        )

    def train(self, result: SearchResult) -> tuple[Any, ScaledMap]:
        """The final model, trained on all rows with what the search has chosen, and its map."""
        if result.model is not None and result.prepared is not None:
            return result.model, result.prepared.scaled_map
        setting, space = result.setting, self._space
        prepared = result.prepared or self._route.prepare(
            space.choice.make(setting.gamma, setting.p),
            setting.scaling,
            self._X,
            self._task,
            space.n_components,
        )
        return self._route.fit(prepared, self._task, result.C), prepared.scaled_map

    def _semifinal(
        self, ranked: list[Entrant], table: list[dict[str, Any]], progress: Progress
    ) -> list[Entrant]:
        """The settings with the winner of a round with one C among those that are close first.

        The C is the same for all: on few rows the C of each has much noise.
        """
        close = [each for each in ranked[:FINALISTS] if each.is_close_to(ranked[0])]
        if len(close) < 2:
            progress.skip(self._semifinal_step, min(FINALISTS, len(self._settings)))
            return ranked
        progress.skip(self._semifinal_step, min(FINALISTS, len(self._settings)) - len(close))
        C = self._only_c
        if self._tunes_c:
            C = min(on_grid(max(each.C for each in close) * C_STEP), self._route.largest_c)
        losses = []
        for entrant in close:
            name = f"{entrant.setting}, {self._n_last_rows:,} rows"
            with progress.task(name, self._semifinal_step) as outcome:
                try:
                    scored = self._score(entrant.setting, (C,), alone=False)
                except ValueError:  # the last round says why, if no setting is left
                    losses.append(math.inf)
                    continue
                outcome.text = best_of((C,), scored.scores)
            table += self._entries(scored)
            losses.append(scored.loss)
        best = close[int(np.argmin(losses))]
        others = [each for each in ranked if each is not best]
        return [best.starting_at(on_grid(C / C_STEP)), *others]

    def _with_weights(
        self, leader: Entrant, round_: WeightsRound, table: list[dict[str, Any]], progress: Progress
    ) -> Entrant:
        """The leader with weights of columns, if they are clearly better; else as it is."""
        Cs = [leader.C]
        if self._tunes_c and self._route.c_steps(self._task, self._space.n_components) is not None:
            larger = on_grid(leader.C * C_STEP)
            Cs += [larger] if larger <= min(self._route.largest_c, LARGEST_C) else []
        weight = self._race.row_weights(self._task.at(round_.rows))
        name = f"{leader.setting}, weights of columns, {len(round_.rows):,} rows"
        try:
            with progress.task(name, round_.step) as outcome:
                weighted = round_.run(leader, weight, Cs)
                assert round_.choice is not None
                best = round_.choice.best
                outcome.text = "no better than none" if best is None else str(best.recipe)
        except ValueError:  # the kernel refuses weighted rows
            return leader
        task = self._task.at(round_.rows[round_.choice.held])
        for trial in round_.choice.trials:
            table.append(
                {
                    **leader.setting.describe(),
                    "n_rows": len(round_.rows),
                    "n_components": None,
                    "C": trial.C,
                    "score": self._space.scoring.score(task, trial.scores),
                    "squared_error": trial.error,
                    "weights": None if trial.recipe is None else str(trial.recipe),
                }
            )
        return weighted

    @property
    def _has_rematch(self) -> bool:
        return self._weights is not None and self._weights.has_rematch

    def _rematch(
        self, weighted: Scored, plain: Entrant, table: list[dict[str, Any]], progress: Progress
    ) -> Scored:
        """The better of both on the rows of the last round that weights have not learned from."""
        Cs = self._c_values(plain)
        name = f"{plain.setting}, {self._n_last_rows:,} rows"
        with progress.task(name, self._step) as outcome:
            scored = self._score(plain.setting, Cs, alone=False)
            outcome.text = best_of(Cs, scored.scores)
        table += self._entries(scored)
        if self._space.scoring.is_default:
            assert self._weights is not None
            stands = self._weights.stand(weighted.best_held.lead_over(scored.best_held))
        else:
            top = max(scored.scores)
            stands = max(weighted.scores) > top + self._tie(top)
        return weighted if stands else scored

    def _scored_on_a_part(
        self, ranked: list[Entrant], table: list[dict[str, Any]], progress: Progress
    ) -> list[Entrant]:
        """The settings with the best by the scoring first, which then has the best C.

        Where the scoring is not defined on the part, they are as they were; the last round says
        why, if it is not defined on all rows either.
        """
        assert isinstance(self._route, RidgeRoute)
        part = self._sample(np.sort(self._order[:SCORING_ROWS]))
        finalists = sorted(ranked[:FINALISTS], key=lambda entrant: entrant.place)
        progress.skip(self._semifinal_step, min(FINALISTS, len(self._settings)) - len(finalists))
        scored: list[Scored] = []
        for entrant in finalists:
            Cs = self._near_c_values(entrant)
            name = f"{entrant.setting}, {len(part.rows):,} rows"
            with progress.task(name, self._semifinal_step) as outcome:
                try:
                    each = self._left_out(self._route, entrant.setting, Cs, part)
                except ValueError:
                    continue
                outcome.text = best_of(Cs, each.scores)
            if np.isfinite(each.scores).all():
                table += self._entries(each, len(part.rows))
                scored.append(each)
        if not scored:
            return ranked
        best = self._best(iter(scored))
        C, _ = self._smallest_tied_c(best)
        winner = next(each for each in ranked if each.setting is best.setting)
        return [winner.starting_at(C), *(each for each in ranked if each is not winner)]

    @property
    def _semifinal_step(self) -> Step:
        return self._step._replace(kind="semifinal", work=self._step.work / 3)

    def _score_finalists(
        self, ranked: list[Entrant], table: list[dict[str, Any]], progress: Progress
    ) -> Iterator[Scored]:
        """Score finalists in the order of the grid; one that is refused is replaced by the next.

        Each adds its entries to ``table``. If all are refused, the error of the first is raised.
        """
        n_finalists = min(self._n_finalists, len(ranked))
        finalists = sorted(ranked[:n_finalists], key=lambda entrant: entrant.place)
        n_scored = 0
        refusals: list[ValueError] = []
        for entrant in [*finalists, *ranked[n_finalists:]]:
            setting, Cs = entrant.setting, self._c_values(entrant)
            try:
                with progress.task(f"{setting}, {self._n_last_rows:,} rows", self._step) as outcome:
                    alone = n_finalists == 1 and not (setting.recipe and self._has_rematch)
                    scored = self._score(setting, Cs, alone=alone)
                    outcome.text = best_of(Cs, scored.scores)
            except ValueError as error:
                refusals.append(error)
                continue
            table += self._entries(scored)
            yield scored
            n_scored += 1
            if n_scored == n_finalists:
                return
        if not n_scored:
            raise refusals[0]

    def _best(self, finalists: Iterator[Scored]) -> Scored:
        """The setting with the best score, of a tie the first.

        By default it is that of the smallest loss on held-out rows, which has less noise than the
        accuracy. Only the best one so far is kept: what was prepared for it may be large.
        """
        default = self._space.scoring.is_default
        best = next(finalists)
        for each in finalists:
            better = (
                each.loss < best.loss
                if default
                else max(each.scores) > max(best.scores) + self._tie(max(best.scores))
            )
            best = each if better else best
        return best

    def _for_all_rows(self, C: float, raced_C: float) -> float:
        """The C of the final model, if it learns from more rows than the last round had.

        Where C has grown from the race to the last round, it grows on with the rows, as a power of
        their number that is at most the square root.
        """
        n_rows, n_last, n_raced = self._X.shape[0], self._n_last_rows, self._race.n_tuned_rows
        comparable = self._route.c_steps(self._task, self._space.n_components) is not None
        if not (self._is_large and self._tunes_c and comparable and raced_C < C):
            return C
        power = min(math.log(C / raced_C) / math.log(n_last / n_raced), 0.5)
        grown = C * (n_rows / n_last) ** power
        return min(float(f"{grown:.2g}"), max(C, GROWN_C))

    def _smallest_tied_c(self, best: Scored) -> tuple[float, HeldOut]:
        """The smallest C whose score is a tie with the best, and the held-out rows with it.

        Where all are a tie, as where a rare class is never found, the scores say nothing, and it is
        the one in the middle.
        """
        top = max(best.scores)
        tied = np.asarray(best.scores) >= top - self._tie(top)
        at = len(tied) // 2 if tied.all() else int(np.argmax(tied))
        return best.Cs[at], best.held[at]

    def _tie(self, score: float) -> float:
        return self._space.scoring.tie(score)

    def _sources(self, chosen: Setting | None = None) -> dict[str, str]:
        sources = self._space.sources(self._settings, tune=self._tune)
        if self._tune and self._space.learns_weights and self._weights is None:
            sources["weights"] = "none"
        if chosen is not None and chosen.recipe is not None:
            sources["weights"] = "learned"
        return sources

    def _entries(self, scored: Scored, n_rows: int | None = None) -> list[dict[str, Any]]:
        """What ``search_`` says of a finalist: an entry for each C."""
        ridge = isinstance(self._route, RidgeRoute)
        shared = {
            **scored.setting.describe(),
            "n_rows": self._n_last_rows if n_rows is None else n_rows,
            "n_components": None if ridge else self._space.n_components,
        }
        if scored.setting.recipe is not None:
            shared["weights"] = str(scored.setting.recipe)
        return [
            {**shared, "C": C, "score": score}
            for C, score in zip(scored.Cs, scored.scores, strict=True)
        ]

    def _score_the_only_setting(self) -> SearchResult:
        """Nothing is to be chosen, but held-out rows give probabilities, intervals and a score.

        That is one more fit (five to few rows), to the loose tolerance of the search and on the
        codes of the final model. The duals of the final model give leave-one-out scores without it,
        f_i - y_i alpha_i K(i, i) (Jaakkola and Haussler 1999), but only as bounds: probabilities
        learned from them had a much larger log loss on most of the tables that were tried, and no
        fixed fraction of the last term did well on all. Intervals would lose their guarantee.
        """
        if isinstance(self._route, RidgeRoute):
            return self._leave_out_of_the_only_setting(self._route)
        setting, C, held, prepared, score = self._settings[0], self._only_c, None, None, None
        n_folds = N_FOLDS if self._X.shape[0] < ENOUGH_TO_CALIBRATE else 1  # each is a fit
        rows, splits = self._rows_and_splits(self._route.fine_rows, n_folds)
        splits = [
            (train, held)
            for train, held in splits
            if len(held) and can_learn(self._task, rows[train])
        ]
        has_own_probabilities = self._task.loss == "logistic"
        if splits and not has_own_probabilities:
            stage = Round(rows, splits, self._space.n_components)
            try:
                prepared, scores = self._held_out_scores(setting, stage, (C,), alone=True)
                held = self._held_out(stage, scores, 0)
                score = self._only_score(stage, [by_C[0] for by_C in scores])
            # a part of the rows may not do: the fit to all rows says what is wrong, if anything is
            except ValueError:
                held = prepared = score = None
        words = "" if score is None else in_words(splits)
        return SearchResult(setting, C, self._sources(), [], score, words, prepared, held)

    def _leave_out_of_the_only_setting(self, route: RidgeRoute) -> SearchResult:
        """The same for kernel ridge regression, where it costs no fit."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)  # nobody asked for the score
            scored = self._left_out(route, self._settings[0], (self._only_c,))
        score = scored.scores[0] if np.isfinite(scored.scores[0]) else None
        words = "" if score is None else self._held_out_words()
        return SearchResult(
            scored.setting,
            self._only_c,
            self._sources(),
            [],
            score,
            words,
            scored.prepared,
            scored.held[0],
            scored.model,
        )

    def _only_score(self, stage: Round, scores: list[NDArray[np.float64]]) -> float | None:
        """The mean score over the splits; None where it is not defined for the held-out rows."""
        tasks = [self._task.at(stage.rows[held]) for _, held in stage.splits]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)  # nobody asked for the score
            each = [self._space.scoring.score(*pair) for pair in zip(tasks, scores, strict=True)]
        return float(np.mean(each)) if np.isfinite(each).all() else None

    # -- One setting

    def _score(self, setting: Setting, Cs: Sequence[float], *, alone: bool) -> Scored:
        """The mean score over the splits of the last round, for each C."""
        if isinstance(self._route, RidgeRoute):
            folds = self._weighted_folds if setting.recipe is not None else None
            if folds is None:
                scored = self._left_out(self._route, setting, Cs)
            else:
                scored = self._by_folds(self._route, setting, Cs, folds)
            if not np.isfinite(scored.scores).all():
                raise undefined(
                    self._space.scoring.name, self._task, [scored.held[0].task], self._space.cv
                )
            return scored
        stage = self.last_round
        prepared, scores = self._held_out_scores(setting, stage, Cs, alone=alone)
        scoring = self._space.scoring
        tasks = [self._task.at(stage.rows[held]) for _, held in stage.splits]
        by_split = [
            [scoring.score(task, each) for each in by_C]
            for task, by_C in zip(tasks, scores, strict=True)
        ]
        means = [float(score) for score in np.mean(by_split, axis=0)]
        if not np.isfinite(means).all():
            raise undefined(scoring.name, self._task, tasks, self._space.cv)
        held = [self._held_out(stage, scores, at) for at in range(len(Cs))]
        return Scored(setting, Cs, means, held, prepared)

    def _left_out(
        self, route: RidgeRoute, setting: Setting, Cs: Sequence[float], part: Sample | None = None
    ) -> Scored:
        """The same for kernel ridge regression: all rows or a part, each left out by itself."""
        sample, scoring = self._all_rows if part is None else part, self._space.scoring
        kernel = self._space.choice.make(setting.gamma, setting.p)
        task, prepared, model = sample.held_task, None, None
        if len(sample.rows) == self._X.shape[0]:
            prepared = route.prepare(kernel, setting.scaling, self._X, self._task, 0)
        if prepared is not None and sample.splits is None and len(Cs) == 1:
            model, scores = route.fit_and_leave_out(prepared, sample.task, Cs[0])
            by_C = [sample.of_held(scores)]
        else:

            def gram(X: Matrix, task: Task) -> NDArray[Any]:
                if prepared is not None and X is self._X:
                    return np.asarray(prepared.inputs)
                return route.gram(kernel, setting.scaling, X, task, 0)

            scores_at = LeftOutScores(gram, self._X, sample, self._relearn)
            by_C = [scores_at(C) for C in Cs]
        rows = sample.rows[sample.held]
        if setting.recipe is not None and self._weights is not None:  # others learned the weights
            honest = ~np.isin(rows, self._weights.rows)
            rows, by_C = rows[honest], [scores[honest] for scores in by_C]
            task = self._task.at(rows)
        means = [scoring.score(task, scores) for scores in by_C]
        held = [HeldOut(task, scores, rows) for scores in by_C]
        return Scored(setting, Cs, means, held, prepared, model)

    @property
    def _weighted_folds(self) -> Round | None:
        """The splits of kernel ridge regression where each needs weights of its own.

        None if there are rows that weights have not learned from.
        """
        sample = self._all_rows
        if sample.splits is not None:
            return Round(sample.rows, sample.splits, 0)
        assert self._weights is not None
        if self._weights.spares_rows:
            return None
        return Round(self._weights.rows, self._weights.first_folds, 0)

    def _by_folds(
        self, route: RidgeRoute, setting: Setting, Cs: Sequence[float], folds: Round
    ) -> Scored:
        """Kernel ridge regression with weights of columns: each split has its own weights."""
        assert self._weights is not None
        known = self._weights.known_scores(Cs) if folds.rows is self._weights.rows else None
        if known is None:
            by_split = self._scores_apart(setting, folds, Cs)
            known = [np.concatenate([scores[at] for scores in by_split]) for at in range(len(Cs))]
        rows = folds.rows[np.concatenate([held for _, held in folds.splits])]
        task, scoring = self._task.at(rows), self._space.scoring
        means = [scoring.score(task, scores) for scores in known]
        held = [HeldOut(task, scores, rows) for scores in known]
        prepared = None
        if len(self._all_rows.rows) == self._X.shape[0]:
            kernel = self._space.choice.make(setting.gamma, setting.p)
            prepared = route.prepare(kernel, setting.scaling, self._X, self._task, 0)
        return Scored(setting, Cs, means, held, prepared)

    @cached_property
    def _all_rows(self) -> Sample:
        """What kernel ridge regression leaves out in the last round."""
        sample = self._sample(np.arange(self._X.shape[0]))
        if self._own_splits is not None and sample.n_splits < len(self._own_splits):
            raise ValueError(
                "cv must give splits that hold rows out and train on rows of at least two classes, "
                "all of a weight above 0."
            )
        return sample

    def _sample(self, rows: RowIndices) -> Sample:
        """These rows, and how kernel ridge regression leaves them out."""
        relearns = self._relearn is not None
        return sample_of(rows, self._task, self._own_splits, self._seed, learns_labels=relearns)

    def _held_out_words(self, best: Scored | None = None) -> str:
        """Which rows were held out in the last round."""
        if not isinstance(self._route, RidgeRoute):
            return in_words(self.last_round.splits)
        sample, n_held = self._all_rows, len(self._all_rows.held)
        if best is not None and best.setting.recipe is not None:
            folds, n_held = self._weighted_folds, len(best.held[0].rows)
            if folds is not None:
                return in_words(folds.splits)
        if sample.splits is None:
            return f"{counted(n_held, 'row')}, each left out by itself"
        return in_words(sample.splits)

    def _held_out(self, stage: Round, scores: SplitScores, at: int) -> HeldOut:
        """The scores of one C on all held-out rows, or on some if they are many."""
        rows = np.concatenate([stage.rows[held] for _, held in stage.splits])
        some = spread(len(rows), CALIBRATION_ROWS)
        of_C = np.concatenate([by_C[at] for by_C in scores])
        rows = rows[some]
        return HeldOut(self._task.at(rows), of_C if len(some) == len(of_C) else of_C[some], rows)

    def _held_out_scores(
        self, setting: Setting, stage: Round, Cs: Sequence[float], *, alone: bool
    ) -> tuple[Prepared | None, SplitScores]:
        """The scores of held-out rows; and all rows prepared for the final model, if they are.

        ``alone``: there is no other setting, so that the rows outside this round are prepared as
        well, all at once.
        """
        several = self._own_splits is not None or len(stage.splits) > 1
        own_weights = setting.recipe is not None and several
        if self._route.learns_labels or self._relearn is not None or own_weights:
            return None, self._scores_apart(setting, stage, Cs)
        n_rows = self._X.shape[0]
        whole = alone or len(stage.rows) == n_rows
        prepared_rows = np.arange(n_rows) if whole else stage.rows
        task = self._task.at(prepared_rows)
        X = self._X if whole else self._X[stage.rows]
        prepared = self._prepare(setting, X, task, stage)
        places = stage.rows if whole else np.arange(len(stage.rows))
        scores = [
            self._route.held_out_scores(prepared, task, places[train], places[held], Cs)
            for train, held in stage.splits
        ]
        return (prepared if whole else None), scores

    def _scores_apart(self, setting: Setting, stage: Round, Cs: Sequence[float]) -> SplitScores:
        """The same where maps, features or weights learn from labels: each split has its own."""
        scores, given = [], setting
        for train, held in stage.splits:
            train_rows, held_rows = stage.rows[train], stage.rows[held]
            both, n_train = np.concatenate([train_rows, held_rows]), len(train_rows)
            X = self._X[both] if self._relearn is None else self._relearn(self._X, both, held_rows)
            task = self._task.at(both)
            if given.recipe is not None:
                some = spread(n_train, SAMPLE_ROWS)
                kernel = self._space.choice.make(given.gamma, given.p)
                setting = given.weighted(given.recipe, kernel, X[some], task.at(some))
            if self._route.learns_labels:
                train_task = self._task.at(train_rows)
                prepared = self._prepare(setting, X[:n_train], train_task, stage)
                prepared = self._route.apply(prepared, X)
            else:
                prepared = self._prepare(setting, X, task, stage)
            places = np.arange(len(both))
            parts = places[:n_train], places[n_train:]
            scores.append(self._route.held_out_scores(prepared, task, *parts, Cs))
        return scores

    def _prepare(self, setting: Setting, X: Matrix, task: Task, stage: Round) -> Prepared:
        kernel = self._space.choice.make(setting.gamma, setting.p)
        return self._route.prepare(kernel, setting.scaling, X, task, stage.n_components)
