"""The run: rounds from cheap to expensive, within the budget; what there is no time for is listed.

A cell is one model: tuned on held-out rows, trained on all rows of the round, tested. Only the
validation score chooses; times decide nothing but what is left out. How long a cell will take is
foreseen from the last one of the same candidate (`forecast`).

The default fit (KernelClassifier() or KernelRegressor()) comes right after the first kernel, on all
rows and to its end, even if that takes longer than the budget: nothing is recommended that was not
compared with it on the same rows. The linear model and the average of models (kernel="auto", what
the command fits) follow it on all rows, the latter if there is time. A model that would take too
long with several folds held out is tried with one. The best model so far is kept, so that it need
not be trained again.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from kernelight.estimators import DEFAULT_COMPONENTS
from kernelight.study.cells import Cell
from kernelight.study.clock import Clock, Watch
from kernelight.study.forecast import (
    average_seconds,
    cell_seconds,
    default_fit_seconds,
    exact_svm_seconds,
    work_of,
)
from kernelight.study.journal import Journal
from kernelight.study.measure import kernel_error, test_report
from kernelight.study.models import (
    Data,
    Model,
    Tuned,
    boost,
    fit_average,
    fit_default,
    standard_error,
    train,
    tune,
)
from kernelight.study.plan import (
    AVERAGE,
    BOOSTED,
    DEFAULT,
    EXACT,
    LINEAR,
    MAP,
    MOST_BOOSTED_VALUES,
    MOST_EXACT_ROWS,
    SCREEN_ROWS,
    Candidate,
    Round,
    Split,
    StudyPlan,
    exact_twin,
    rounds_of,
)
from kernelight.study.result import comparable, ranking
from kernelight.study.threads import threads_that_pay

# Fractions of the budget.
SCREEN_FRACTION = 0.4  # at most, for the first round
BOOSTING_FRACTION = 0.15
DEFAULT_FRACTION = 0.5  # a default fit that is foreseen to take more is scored on one fold

# The linear model always gets this many seconds, or this fraction of the default fit's.
LINEAR_SECONDS, LINEAR_FRACTION = 1.0, 0.1
EARLY_TEST_ROWS = 2_000  # of cells that did not learn from all rows
FEWEST_CANDIDATES = 3  # that go on from a round
N_EXACT_SVMS = 2
# Exact SVMs come before the rounds with more components: they show what those could still gain.
EXACT_FROM_COMPONENTS = 256
NO_TIME = "no time within the budget"


class Run:
    """One run of a plan; `cells` and `left_out` grow, and can be read at any moment."""

    def __init__(
        self, plan: StudyPlan, data: Data, journal: Journal, clock: Clock, watch: Watch
    ) -> None:
        self.plan, self.data, self.journal = plan, data, journal
        self.clock, self._watch = clock, watch
        self._test, self._early_test = data.at(plan.test), data.at(plan.test[:EARLY_TEST_ROWS])
        self.cells: list[Cell] = []
        #: What was not tried, each with the reason.
        self.left_out: list[list[str]] = [list(pair) for pair in plan.not_admitted]
        #: Whether anything was left out, or measured less well, for want of time.
        self.short_of_time = False
        self.labels: dict[str, str] = {}
        self._settings: dict[str, dict[str, Any]] = {}
        self._clear: dict[str, bool] = {}
        self._boosting_done = self._exact_done = False
        # Folds held out of models on all rows; one if time is short.
        self._folds = plan.folds
        #: The best cell so far and its model, if it was trained in this run.
        self.kept: tuple[Cell, Model] | None = None
        self._work, self._work_done = self._expected_work(), 0.0
        clock.set_aside = 0.0 if clock.budget is None else clock.seconds_of(BOOSTING_FRACTION)

    def run(self) -> None:
        """All rounds, with the default fit and the references in between."""
        first = self.plan.rounds[0]
        remaining = self._round(first, list(self.plan.candidates), first=True)
        remaining = self._best_of_round(first, remaining)
        later = rounds_of(len(self.plan.learn), self._folds, self.components)[1:]
        self._rounds(later, remaining)
        if not self._boosting_done:
            self._boost(comparable(self.cells)[0].rows)

    @property
    def components(self) -> tuple[int, ...]:
        """The grid of k."""
        n_rows = len(self.plan.learn)
        full = (stage for stage in self.plan.rounds[1:] if stage.rows == n_rows)
        return tuple(sorted({stage.components for stage in full}))

    def _rounds(self, stages: tuple[Round, ...], remaining: list[Candidate]) -> None:
        """Rounds up to all rows and the most components."""
        for stage in stages:
            measured = self._round(stage, remaining, first=False)
            # Without time for another kernel, the linear model alone says nothing new.
            if len(measured) < 2 <= len(self.plan.candidates):
                break
            if stage.rows == len(self.plan.learn):
                if not self._boosting_done:
                    self._boost(stage.rows)
                if stage.components >= EXACT_FROM_COMPONENTS or stage is stages[-1]:
                    self._exact_svms()
            remaining = self._best_of_round(stage, measured)

    def _default_first(self) -> None:
        """The default fit and the linear model on all rows, whatever the budget.

        If time is short, both are scored on one fold.
        """
        rows, folds = len(self.plan.learn), self.plan.folds
        foreseen = self._default_fit_seconds(folds)
        if foreseen > min(self.clock.seconds_of(DEFAULT_FRACTION), self.clock.left):
            self.short_of_time = True
            # With fewer rows, models of the first round were scored on all folds.
            if rows > SCREEN_ROWS:
                folds = 1
        self._default_fit(rows, folds)
        self._linear_beside(rows, folds)
        self._average_beside(rows, folds)

    def _linear_beside(self, rows: int, folds: int) -> None:
        """The linear model on the rows of the default fit, so that it is always compared."""
        linear = next(each for each in self.plan.candidates if each.kind == LINEAR)
        stage = Round(rows, DEFAULT_COMPONENTS, folds)
        granted = max(LINEAR_SECONDS, LINEAR_FRACTION * self.spent_on_default)
        foreseen = self._foreseen_seconds(linear, stage)
        if not self._find(LINEAR, rows) and foreseen <= max(granted, self.clock.left):
            self._cell(linear, stage)

    def _average_beside(self, rows: int, folds: int) -> None:
        """The average of models on the rows of the default fit, if it is wanted and affordable."""
        average = next((each for each in self.plan.candidates if each.kind == AVERAGE), None)
        default = next((cell for cell in self.cells if cell.default), None)
        if average is None or default is None:
            return
        for held in dict.fromkeys([folds, 1]):
            stage = Round(rows, DEFAULT_COMPONENTS, held)
            done = self.journal.get(_key(average, stage)) is not None
            if done or average_seconds(held, default) <= self.clock.left:
                self._cell(average, stage)
                return
        self._leave_out(average.label, NO_TIME)
        self.short_of_time = True

    def _default_fit(self, rows: int, folds: int) -> None:
        """The default fit, as a cell of its kernel."""
        beyond = self._default_fit_seconds(folds) > self.clock.to_the_end
        self._tell(f"The default fit, {rows:,} rows{', beyond the budget' if beyond else ''}")
        candidate = next(each for each in self.plan.candidates if each.name == DEFAULT)
        key = _default_key(rows, folds)
        cell, model = self.journal.get(key), None
        if cell is None:
            start = time.perf_counter()
            data = self.data.at(self.plan.learn[:rows])
            splits = self.plan.splits(data.y, folds)
            stage = Round(rows, DEFAULT_COMPONENTS, folds)
            try:
                with threads_that_pay():
                    tuned, model, seconds = fit_default(data, splits)
                    cell = self._cell_of(
                        candidate, stage, data, splits, tuned, model, seconds, start
                    )
            except ValueError as error:
                self._leave_out("The default fit", str(error))
                return
            cell = replace(cell, default=True)
            self.journal.add(key, cell)
        self._folds = folds
        self._settings[DEFAULT] = cell.settings
        self.labels[DEFAULT] = candidate.label
        self.cells.append(cell)
        self._keep(cell, model)

    def _default_fit_seconds(self, folds: int) -> float:
        """Seconds of the default fit; 0 if nothing is known of its kernel, or if it is done."""
        rows = len(self.plan.learn)
        small = next((cell for cell in self.cells if cell.candidate == DEFAULT), None)
        if small is None or self.journal.get(_default_key(rows, folds)):
            return 0.0
        return default_fit_seconds(rows, folds, small)

    def _keep(self, cell: Cell, model: Model | None) -> None:
        """Keep the model if it is the best so far.

        If the best one was read from the journal, the time to train it again is set aside.
        """
        own = [each for each in comparable(self.cells) if not each.reference]
        best = max(own, key=ranking(own))
        if best is cell:
            self.kept = None if model is None else (cell, model)
        is_kept = self.kept is not None and self.kept[0] is best
        self.clock.retrain_seconds = 0.0 if is_kept else best.fit_seconds

    def test_for(self, rows: int) -> Data:
        """The test rows of models that learned from that many rows."""
        return self._test if rows == len(self.plan.learn) else self._early_test

    def _round(self, stage: Round, candidates: list[Candidate], *, first: bool) -> list[Candidate]:
        """Measure candidates in a round; those that were measured are returned."""
        measured: list[Candidate] = []
        for candidate in candidates:
            if candidate.kind == AVERAGE:  # measured beside the default fit, and never again
                continue
            known = self._find(candidate.name, stage.rows, _components(candidate, stage))
            if known and (candidate.kind == LINEAR or known[0].default):
                measured.append(candidate)
                continue
            if candidate.method == "nystroem" and stage.components > stage.rows:
                self._leave_out(self._named(candidate, stage), "more landmarks than rows")
                continue
            is_default = first and candidate.name == DEFAULT
            affordable = self._affordable(candidate, stage)
            late = first and self.clock.elapsed > (
                self.clock.seconds_of(SCREEN_FRACTION) + self.spent_on_default
            )
            if (late or affordable is None) and self.cells and not is_default:
                self._leave_out(self._named(candidate, stage), NO_TIME)
                self.short_of_time = True
                continue
            if self._cell(candidate, affordable or stage):
                measured.append(candidate)
            if is_default:
                self._default_first()
        return measured

    def _affordable(self, candidate: Candidate, stage: Round) -> Round | None:
        """The round, or the same with one fold held out, which is cheaper and less sure.

        None if there is no time for either.
        """
        for each in (stage, replace(stage, folds=1)):
            if self._foreseen_seconds(candidate, each) <= self.clock.left:
                return each
        return None

    @property
    def spent_on_default(self) -> float:
        """Seconds of the default fit."""
        return float(sum(cell.seconds for cell in self.cells if cell.default))

    def _cell(self, candidate: Candidate, stage: Round) -> bool:
        """Measure a candidate in a round; False if it cannot take the data."""
        key = _key(candidate, stage)
        self._tell(self._named(candidate, stage))
        cell, model = self.journal.get(key), None
        if cell is None:
            try:
                with threads_that_pay():
                    cell, model = self._measured(candidate, stage)
            except ValueError as error:
                self._leave_out(candidate.label, str(error))
                return False
            self.journal.add(key, cell)
        self._settings.setdefault(candidate.name, cell.settings)
        self._clear.setdefault(candidate.name, cell.clear)
        self.labels[candidate.name] = candidate.label
        self.cells.append(cell)
        if not cell.reference:
            self._keep(cell, model)
        self._work_done += work_of(stage)
        return True

    def _measured(self, candidate: Candidate, stage: Round) -> tuple[Cell, Model]:
        start = time.perf_counter()
        k = _components(candidate, stage) or 1
        data = self.data.at(self.plan.learn[: stage.rows])
        splits = self.plan.splits(data.y, stage.folds)
        borrowed = {
            name: self._settings[lender][name]
            for name, lender in candidate.borrowed.items()
            if name in self._settings.get(lender, {})
        }
        if candidate.kind == AVERAGE:
            tuned, model, seconds = fit_average(data, splits)
            cell = self._cell_of(candidate, stage, data, splits, tuned, model, seconds, start)
            return replace(cell, C=None), model  # each member has its own
        tuned = tune(candidate, data, k, splits, self._settings.get(candidate.name, borrowed))
        before = time.perf_counter()
        model = train(candidate, data, k, tuned.settings, tuned.C)
        fit_seconds = time.perf_counter() - before
        cell = self._cell_of(candidate, stage, data, splits, tuned, model, fit_seconds, start)
        # Settings are clear if their search was; no search could have more than all rows.
        searched = candidate.name not in self._settings
        on_all_rows = stage.rows == len(self.plan.learn) and not candidate.borrowed
        clear = tuned.clear or on_all_rows if searched else self._clear.get(candidate.name, False)
        return replace(cell, clear=clear), model

    def _cell_of(
        self,
        candidate: Candidate,
        stage: Round,
        data: Data,
        splits: list[Split],
        tuned: Tuned,
        model: Model,
        fit_seconds: float,
        start: float,
    ) -> Cell:
        """The cell of a model that was tuned and trained since ``start``; it is tested here."""
        n_held_out = sum(len(held_out) for _, held_out in splits)
        return Cell(
            candidate=candidate.name,
            k=_components(candidate, stage),
            rows=stage.rows,
            reference=candidate.is_reference,
            settings=tuned.settings,
            C=tuned.C,
            score=tuned.score,
            standard_error=standard_error(tuned.score, n_held_out, data.task),
            curve=tuple(tuned.curve),
            fit_seconds=fit_seconds,
            n_bytes=model.n_bytes,
            folds=len(splits),
            held_out=n_held_out,
            row_length=model.row_length,
            kernel_error=kernel_error(model, data.X),
            note=model.note,
            **vars(test_report(model, self.test_for(stage.rows))),
            seconds=time.perf_counter() - start,
        )

    def _boost(self, rows: int) -> None:
        """Gradient boosting on that many rows, scored on one fold."""
        self._boosting_done = True
        self.clock.set_aside = 0.0
        seconds = min(self.clock.seconds_of(BOOSTING_FRACTION), self.clock.left)
        if rows * self.plan.facts["features"] > MOST_BOOSTED_VALUES:
            self._leave_out(BOOSTED.label, "takes dense rows only, and these would be too large")
            return
        if seconds <= 0:
            self._leave_out(BOOSTED.label, NO_TIME)
            self.short_of_time = True
            return
        self._tell(f"{BOOSTED.label}, for reference")
        stage = Round(rows, 1, 1)
        key = _key(BOOSTED, stage)
        cell = self.journal.get(key)
        if cell is None:
            with threads_that_pay():
                cell = self._boosted(stage, seconds)
            self.journal.add(key, cell)
        self.short_of_time |= bool(cell.note)
        self.labels[BOOSTED.name] = BOOSTED.label
        self.cells.append(cell)

    def _boosted(self, stage: Round, seconds: float) -> Cell:
        """The cell of gradient boosting: half of the seconds for its score, half for the model."""
        start = time.perf_counter()
        data = self.data.at(self.plan.learn[: stage.rows])
        splits = self.plan.splits(data.y, stage.folds)
        train_rows, held_out = splits[0]
        scored = boost(data.at(train_rows), seconds / 2)
        score = data.at(held_out).score(scored.predict(data.X[held_out]))
        before = time.perf_counter()
        model = boost(data, seconds / 2)
        fit_seconds = time.perf_counter() - before
        tuned = Tuned({}, 1.0, score, [])
        cell = self._cell_of(BOOSTED, stage, data, splits, tuned, model, fit_seconds, start)
        return replace(cell, C=None)

    def _exact_svms(self) -> None:
        """Exact SVMs of the best kernels, where rows are few; once in a run."""
        if self._exact_done:
            return
        self._exact_done = True
        stage = Round(len(self.plan.learn), 1, 1)
        tuned = [cell for cell in self._find(None, stage.rows) if cell.candidate in self._settings]
        known = {candidate.name: candidate for candidate in self.plan.candidates}
        kernels: dict[str, Candidate] = {}
        for cell in sorted(tuned, key=lambda cell: -cell.score):
            candidate = known.get(cell.candidate)
            if candidate is not None and candidate.kernel and candidate.kind == MAP:
                kernels.setdefault(candidate.kernel, candidate)
        for candidate in list(kernels.values())[:N_EXACT_SVMS]:
            twin = exact_twin(candidate)
            if stage.rows > MOST_EXACT_ROWS:
                self._leave_out(
                    twin.label, f"exact SVMs are tried on up to {MOST_EXACT_ROWS:,} rows"
                )
            elif self._exact_svm_seconds(stage.rows) > self.clock.left:
                self._leave_out(twin.label, NO_TIME)
                self.short_of_time = True
            else:
                self._cell(twin, stage)

    def _best_of_round(self, stage: Round, measured: list[Candidate]) -> list[Candidate]:
        """Those that go on: the linear model, then the best of the others, best first.

        Best first, as the last ones are left out when time runs out.
        """
        scores = {
            cell.candidate: cell.score for cell in self._find(None, stage.rows, stage.components)
        }
        others = [candidate for candidate in measured if candidate.kind != LINEAR]
        keep = max(FEWEST_CANDIDATES, round(stage.keep * len(others)))
        ranked = sorted(others, key=lambda candidate: -scores.get(candidate.name, -1e9))
        for candidate in ranked[keep:]:
            self._leave_out(
                f"{candidate.label} beyond {self._size(candidate, stage)}",
                "not among the best so far",
            )
        return [*(candidate for candidate in measured if candidate.kind == LINEAR), *ranked[:keep]]

    def _find(self, name: str | None, rows: int, k: int | None = None) -> list[Cell]:
        """Cells on that many rows; of a candidate and a k, if they are given."""
        return [
            cell
            for cell in self.cells
            if cell.rows == rows and name in (None, cell.candidate) and k in (None, cell.k)
        ]

    def _foreseen_seconds(self, candidate: Candidate, stage: Round) -> float:
        """Seconds that a cell will take; 0 if nothing is known, or if it is done already."""
        if self.journal.get(_key(candidate, stage)) or (
            candidate.kind == LINEAR and self._find(candidate.name, stage.rows)
        ):
            return 0.0
        own = [cell for cell in self.cells if cell.candidate == candidate.name and not cell.default]
        return cell_seconds(stage, own)

    def _exact_svm_seconds(self, n_rows: int) -> float:
        before = [cell for cell in self._find(None, n_rows) if cell.candidate.startswith(EXACT)]
        return exact_svm_seconds(n_rows, self.plan.facts["classes"], before)

    def _tell(self, doing: str) -> None:
        """Tell the watch what is being done, and how far the run is."""
        spent = self.clock.elapsed / self.clock.budget if self.clock.budget else 0.0
        self._watch(doing, min(1.0, max(spent, self._work_done / self._work)))

    def _named(self, candidate: Candidate, stage: Round) -> str:
        """A candidate in a round, in words."""
        size = self._size(candidate, stage)
        return f"{candidate.label}, {size}" if size else candidate.label

    def _size(self, candidate: Candidate, stage: Round) -> str:
        """Its components, and its rows unless they are all there are."""
        k = _components(candidate, stage)
        parts = [] if k is None else [f"k = {k:,}"]
        parts += [] if stage.rows == len(self.plan.learn) else [f"{stage.rows:,} rows"]
        return ", ".join(parts)

    def _leave_out(self, what: str, why: str) -> None:
        if [what, why] not in self.left_out:
            self.left_out.append([what, why])

    def _expected_work(self) -> float:
        """The work of all rounds, as if none were cut short."""
        total, remaining = 0.0, len(self.plan.candidates)
        for stage in self.plan.rounds:
            total += remaining * work_of(stage)
            remaining = max(FEWEST_CANDIDATES + 1, round(stage.keep * remaining))
        return total


def _components(candidate: Candidate, stage: Round) -> int | None:
    """The components of a candidate in a round; None for one without a feature map."""
    return stage.components if candidate.kind == MAP else None


def _key(candidate: Candidate, stage: Round) -> str:
    """The key of a cell in the journal, which is a file format."""
    return f"{candidate.name}/{_components(candidate, stage)}/{stage.rows}/{stage.folds}"


def _default_key(rows: int, folds: int) -> str:
    return f"default/{DEFAULT_COMPONENTS}/{rows}/{folds}"
