"""The run: rounds from cheap to dear, within the budget; what there is no time for is left out and
named.

A cell is one model: tuned on rows held out, trained on all rows of the round, tested. What decides
is the validation score only; times decide nothing but what is left out. The time of a cell is
foreseen from the last one of the same candidate, as growing with rows x turns, and with components
to the power 0.8.

The default fit (what KernelClassifier() makes of the rows) comes right after the first kernel, on
all rows and to its end, even if that takes longer than the budget: nothing is recommended that was
not compared with it on the same rows. A model that does not fit into the time with all its rows
held out is tried with one part of them held out. The best model so far is kept, and need not be
trained again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kernelight.study.cells import Cell
from kernelight.study.journal import Journal
from kernelight.study.measure import kernel_error, test_report
from kernelight.study.models import Data, Model, Tuned, boost, doubt, fit_default, train, tune
from kernelight.study.plan import (
    BOOSTED,
    DEFAULT,
    DEFAULT_COMPONENTS,
    EXACT,
    LINEAR,
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
from kernelight.study.threads import is_busy, threads_that_pay

SCREEN_SHARE = 0.4  # of the budget, at most, for the first round
BOOSTING_SHARE = 0.15
# of the budget: if the default fit is foreseen to take more, one part is held out of it
DEFAULT_SHARE = 0.5
# seconds, and share of the default fit's, that the linear model gets in any case
CHEAP_LINEAR, CHEAP_LINEAR_SHARE = (1.0, 0.1)
SCALINGS = 6  # that the first search of a kernel tries
# of the time foreseen for the default fit from a small one is what it takes: small fits have
# overheads
OVERRATED = 0.4
EARLY_TEST_ROWS = 2_000  # rounds on some of the rows are tested on some of the rows
# for the end: predictions of the chosen model, and its picture
RESERVE_SHARE, MOST_RESERVE = 0.1, 8.0
COMPONENTS_POWER = 0.8
FEWEST = 3  # candidates that go on from a round
EXACT_TWINS = 2
# components: before the dearest rounds, as they say how much those could still bring
TWINS_FROM = 256
NO_TIME = "no time within the budget"
Watch = Callable[[str, float], None]  # what is being done, and the share of the work that is done


class Clock:
    """How much of the budget is left; without one, all the time there is."""

    def __init__(self, budget: float | None) -> None:
        self.budget, self._start = budget, time.perf_counter()
        self.set_aside = 0.0  # seconds that are promised to others
        # seconds to train the dearest model so far again, as it may be recommended
        self.once_more = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @property
    def left(self) -> float:
        """Seconds for models; the reserve is not among them."""
        if self.budget is None:
            return float("inf")
        reserve = min(RESERVE_SHARE * self.budget, MOST_RESERVE)
        return self.budget - reserve - self.set_aside - self.once_more - self.elapsed

    @property
    def to_the_end(self) -> float:
        """Seconds until the budget is used up, the reserve among them."""
        return float("inf") if self.budget is None else self.budget - self.elapsed

    def share(self, share: float) -> float:
        """So much of the budget in seconds."""
        return float("inf") if self.budget is None else share * self.budget


class Run:
    """One run of a plan; `cells` and `left_out` grow, and are right at any moment."""

    def __init__(
        self, plan: StudyPlan, data: Data, journal: Journal, clock: Clock, watch: Watch
    ) -> None:
        self.plan, self.data, self.journal, self.clock, self._watch = (
            plan,
            data,
            journal,
            clock,
            watch,
        )
        self._test, self._early_test = data.at(plan.test), data.at(plan.test[:EARLY_TEST_ROWS])
        self.cells: list[Cell] = []
        self.left_out: list[list[str]] = [list(pair) for pair in plan.not_admitted]
        self.pressed = False  # whether time decided anything
        self.labels: dict[str, str] = {}
        self._settings: dict[str, dict[str, Any]] = {}
        self._clear: dict[str, bool] = {}
        self._boosted = self._twinned = False
        # parts held out of models that are compared; fewer if time is short
        self._turns = plan.turns
        # The best model so far, if it was made in this run.
        self.kept: tuple[Cell, Model] | None = None
        self._work, self._done = self._expected_work(), 0.0
        clock.set_aside = 0.0 if clock.budget is None else clock.share(BOOSTING_SHARE)

    def run(self) -> None:
        """All rounds, with the default fit and the references in between."""
        going = self._round(self.plan.rounds[0], list(self.plan.candidates), first=True)
        going = self._best(self.plan.rounds[0], going)
        self._rounds(rounds_of(len(self.plan.learn), self._turns, self.components)[1:], going)
        if not self._boosted:
            self._boost(comparable(self.cells)[0].rows)

    @property
    def components(self) -> tuple[int, ...]:
        """The grid of k."""
        return tuple(
            sorted(
                {
                    stage.components
                    for stage in self.plan.rounds[1:]
                    if stage.rows == len(self.plan.learn)
                }
            )
        )

    def _rounds(self, stages: tuple[Round, ...], going: list[Candidate]) -> None:
        """Rounds up to all rows and the most components."""
        for stage in stages:
            measured = self._round(stage, going, first=False)
            if len(measured) < 2 <= len(self.plan.candidates):
                # there is no time for kernels any more: more about the linear model alone says
                # nothing
                break
            if stage.rows == len(self.plan.learn) and not self._boosted:
                self._boost(stage.rows)
            if stage.rows == len(self.plan.learn) and (
                stage.components >= TWINS_FROM or stage is stages[-1]
            ):
                self._exact_twins()
            going = self._best(stage, measured)

    def _default_first(self) -> None:
        """The default fit, on all rows and to its end, whatever the budget: nothing below it may be
        recommended.

        If time is short, it is scored on one part of the rows held out.
        """
        rows, turns = len(self.plan.learn), self.plan.turns
        if self._foreseen_default(turns) > min(self.clock.share(DEFAULT_SHARE), self.clock.left):
            self.pressed = True
            # with fewer, models of the first round are held out on all parts
            if rows > SCREEN_ROWS:
                turns = 1
        self._default(rows, turns)
        self._linear_beside(rows, turns)

    def _linear_beside(self, rows: int, turns: int) -> None:
        """The linear model on the rows of the default fit: whether it is enough must not be left
        open for want of time."""
        linear = next(each for each in self.plan.candidates if each.kind == LINEAR)
        stage = Round(rows, DEFAULT_COMPONENTS, turns)
        little = max(CHEAP_LINEAR, CHEAP_LINEAR_SHARE * self.spent_on_default)
        if not self._find(LINEAR, rows) and self._foreseen(linear, stage) <= max(
            little, self.clock.left
        ):
            self._cell(linear, stage)

    def _default(self, rows: int, turns: int) -> None:
        """The default fit, as a cell of its kernel."""
        beyond = self._foreseen_default(turns) > self.clock.to_the_end
        self._say(f"The default fit, {rows:,} rows{', beyond the budget' if beyond else ''}")
        candidate = next(each for each in self.plan.candidates if each.name == DEFAULT)
        key = f"default/{DEFAULT_COMPONENTS}/{rows}/{turns}"
        cell, model = self.journal.get(key), None
        if cell is None:
            start = time.perf_counter()
            data = self.data.at(self.plan.learn[:rows])
            splits = self.plan.splits(data.y, turns)
            try:
                with threads_that_pay():
                    tuned, model, fit_seconds = fit_default(data, splits)
                    stage = Round(rows, DEFAULT_COMPONENTS, turns)
                    made = (tuned, model, fit_seconds)
                    cell = replace(
                        self._cell_of(candidate, stage, data, splits, *made, start), default=True
                    )
            except ValueError as error:
                self._leave("The default fit", str(error))
                return
            self.journal.add(key, cell)
        self._turns = turns
        self._settings[DEFAULT] = cell.settings
        self.labels[DEFAULT] = candidate.label
        self.cells.append(cell)
        self._keep(cell, model)

    def _foreseen_default(self, turns: int) -> float:
        """Seconds of the default fit, from a small fit of its kernel; 0 if there was none, or if it
        is done already.

        Its search has six scalings on 3,000 rows with 256 components, and three on 12,000 rows with
        all; then comes the final fit, and one for each part held out. What a fit and a search over
        C take is known from the first round.
        """
        rows = len(self.plan.learn)
        small = next((cell for cell in self.cells if cell.candidate == DEFAULT), None)
        if small is None or self.journal.get(f"default/{DEFAULT_COMPONENTS}/{rows}/{turns}"):
            return 0.0
        search = max(1.0, (small.seconds / small.fit_seconds - 1) / SCALINGS)
        rough = SCALINGS * min(rows, 3_000) * (256 / DEFAULT_COMPONENTS) ** COMPONENTS_POWER
        work = search * (rough + 3 * min(rows, 12_000)) + rows * (1 + 0.8 * turns)
        grown = (DEFAULT_COMPONENTS / (small.k or 1)) ** COMPONENTS_POWER / small.rows
        return float(OVERRATED * small.fit_seconds * grown * work)

    def _keep(self, cell: Cell, model: Model | None) -> None:
        """Keep the model if it is the best so far; time to train the best one again is set aside if
        it was not made here."""
        own = [each for each in comparable(self.cells) if not each.reference]
        best = max(own, key=ranking(own))
        if best is cell:
            self.kept = None if model is None else (cell, model)
        kept = self.kept is not None and self.kept[0] is best
        self.clock.once_more = 0.0 if kept else best.fit_seconds

    def test_for(self, rows: int) -> Data:
        """The test rows of models that learned from so many rows."""
        return self._test if rows == len(self.plan.learn) else self._early_test

    def _round(self, stage: Round, going: list[Candidate], *, first: bool) -> list[Candidate]:
        """The candidates that were measured in this round."""
        measured: list[Candidate] = []
        for candidate in going:
            known = self._find(
                candidate.name, stage.rows, None if candidate.kind == LINEAR else stage.components
            )
            if known and (candidate.kind == LINEAR or known[0].default):
                measured.append(candidate)
                continue
            if candidate.method == "nystroem" and stage.components > stage.rows:
                self._leave(self._named(candidate, stage), "more landmarks than rows")
                continue
            late = (
                first
                and self.clock.elapsed > self.clock.share(SCREEN_SHARE) + self.spent_on_default
            )
            begun = next(
                (
                    each
                    for each in _shorter(stage)
                    if self._foreseen(candidate, each) <= self.clock.left
                ),
                None,
            )
            awaited = first and candidate.name == DEFAULT
            if (late or begun is None) and self.cells and not awaited:
                self._leave(self._named(candidate, stage), NO_TIME)
                self.pressed = True
                continue
            if self._cell(candidate, begun or stage):
                measured.append(candidate)
            if first and candidate.name == DEFAULT:
                self._default_first()
        return measured

    @property
    def spent_on_default(self) -> float:
        """Seconds of the default fit."""
        return float(sum(cell.seconds for cell in self.cells if cell.default))

    def _cell(self, candidate: Candidate, stage: Round) -> bool:
        """Measure a candidate in a round; False if it cannot take the data."""
        k, key = _components(candidate, stage), _key(candidate, stage)
        self._say(self._named(candidate, stage))
        cell, model = self.journal.get(key), None
        if cell is None:
            try:
                with threads_that_pay():
                    cell, model = self._measured(candidate, stage, k)
            except ValueError as error:
                self._leave(candidate.label, str(error))
                return False
            self.journal.add(key, cell)
        self._settings.setdefault(candidate.name, cell.settings)
        self._clear.setdefault(candidate.name, cell.clear)
        self.labels[candidate.name] = candidate.label
        self.cells.append(cell)
        if not cell.reference:
            self._keep(cell, model)
        self._done += _work(stage)
        return True

    def _measured(self, candidate: Candidate, stage: Round, k: int | None) -> tuple[Cell, Model]:
        start = time.perf_counter()
        data = self.data.at(self.plan.learn[: stage.rows])
        splits = self.plan.splits(data.y, stage.turns)
        lent = {
            name: self._settings[lender][name]
            for name, lender in candidate.borrowed.items()
            if name in self._settings.get(lender, {})
        }
        settled = self._settings.get(candidate.name, lent)
        tuned = tune(candidate, data, k or 1, splits, settled)
        before = time.perf_counter()
        model = train(candidate, data, k or 1, tuned.settings, tuned.C)
        fit_seconds = time.perf_counter() - before
        cell = self._cell_of(candidate, stage, data, splits, tuned, model, fit_seconds, start)
        # Settings are clear if their search was; a search of all rows could not be repeated on more
        # of them.
        searched = candidate.name not in self._settings
        everything = stage.rows == len(self.plan.learn) and not candidate.borrowed
        clear = tuned.clear or everything if searched else self._clear.get(candidate.name, False)
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
        """What there is to say about a model that was tuned and trained."""
        held = sum(len(places) for _, places in splits)
        return Cell(
            candidate=candidate.name,
            k=_components(candidate, stage),
            rows=stage.rows,
            reference=candidate.is_reference,
            settings=tuned.settings,
            C=tuned.C,
            score=tuned.score,
            standard_error=doubt(tuned.score, held, data.task),
            curve=tuple(tuned.curve),
            fit_seconds=fit_seconds,
            n_bytes=model.n_bytes,
            folds=len(splits),
            held_out=held,
            row_length=model.row_length,
            kernel_error=kernel_error(model, data.X),
            note=model.note,
            **vars(test_report(model, self.test_for(stage.rows))),
            seconds=time.perf_counter() - start,
        )

    def _boost(self, rows: int) -> None:
        """Gradient boosting on so many rows; one fifth of them scores it."""
        self._boosted = True
        self.clock.set_aside = 0.0
        seconds = min(self.clock.share(BOOSTING_SHARE), self.clock.left)
        if rows * self.plan.facts["features"] > MOST_BOOSTED_VALUES:
            self._leave(BOOSTED.label, "takes dense rows only, and these would be too many numbers")
            return
        if seconds <= 0:
            self._leave(BOOSTED.label, NO_TIME)
            self.pressed = True
            return
        self._say(f"{BOOSTED.label}, for reference")
        key = f"{BOOSTED.name}/None/{rows}/1"
        cell = self.journal.get(key)
        if cell is None:
            data = self.data.at(self.plan.learn[:rows])
            train_rows, held = self.plan.splits(data.y, 1)[0]
            start = time.perf_counter()
            with threads_that_pay():
                checked = boost(data.at(train_rows), seconds / 2)
                score = data.at(held).score(checked.predict(data.X[held]))
                before = time.perf_counter()
                model = boost(data, seconds / 2)
                fit_seconds = time.perf_counter() - before
                tested = test_report(model, self.test_for(rows))
            cell = Cell(
                candidate=BOOSTED.name,
                k=None,
                rows=rows,
                reference=BOOSTED.is_reference,
                settings={},
                C=None,
                score=score,
                standard_error=doubt(score, len(held), data.task),
                fit_seconds=fit_seconds,
                n_bytes=model.n_bytes,
                folds=1,
                held_out=len(held),
                note=model.note,
                **vars(tested),
                seconds=time.perf_counter() - start,
            )
            self.journal.add(key, cell)
        self.pressed |= bool(cell.note)
        self.labels[BOOSTED.name] = BOOSTED.label
        self.cells.append(cell)

    def _exact_twins(self) -> None:
        """The best kernels without approximation, where rows are few; once."""
        if self._twinned:
            return
        self._twinned = True
        stage = Round(len(self.plan.learn), 1, 1)
        full = [
            cell
            for cell in self.cells
            if cell.rows == stage.rows and cell.candidate in self._settings
        ]
        ranked = sorted(full, key=lambda cell: -cell.score)
        known = {candidate.name: candidate for candidate in self.plan.candidates}
        kernels: dict[str, Candidate] = {}
        for cell in ranked:
            candidate = known.get(cell.candidate)
            if candidate is not None and candidate.kernel:
                kernels.setdefault(candidate.kernel, candidate)
        for candidate in list(kernels.values())[:EXACT_TWINS]:
            twin = exact_twin(candidate)
            if stage.rows > MOST_EXACT_ROWS:
                self._leave(
                    twin.label, f"exact machines are for up to {MOST_EXACT_ROWS:,} rows here"
                )
            elif self._foreseen_exact(stage.rows) > self.clock.left:
                self._leave(twin.label, NO_TIME)
                self.pressed = True
            else:
                self._cell(twin, stage)

    def _best(self, stage: Round, going: list[Candidate]) -> list[Candidate]:
        """Those that go on: the linear model, and the best of the others, best first: to them goes
        what time there is."""
        scores = {
            cell.candidate: cell.score for cell in self._find(None, stage.rows, stage.components)
        }
        others = [candidate for candidate in going if candidate.kind != LINEAR]
        keep = max(FEWEST, round(stage.keep * len(others)))
        ranked = sorted(others, key=lambda candidate: -scores.get(candidate.name, -1e9))
        for candidate in ranked[keep:]:
            self._leave(
                f"{candidate.label} beyond {self._size(candidate, stage)}",
                "not among the best so far",
            )
        return [*(candidate for candidate in going if candidate.kind == LINEAR), *ranked[:keep]]

    def _find(self, name: str | None, rows: int, k: int | None = None) -> list[Cell]:
        return [
            cell
            for cell in self.cells
            if cell.rows == rows and name in (None, cell.candidate) and k in (None, cell.k)
        ]

    def _foreseen(self, candidate: Candidate, stage: Round) -> float:
        """Seconds that a cell will take; 0 if nothing is known, or if it is done already."""
        if self.journal.get(_key(candidate, stage)) or (
            candidate.kind == LINEAR and self._find(candidate.name, stage.rows)
        ):
            return 0.0
        before = [
            cell for cell in self.cells if cell.candidate == candidate.name and not cell.default
        ]
        if not before:
            return 0.0
        last = before[-1]
        seconds = last.seconds
        # the first one searched settings too: count a fit for each C and turn, from warm starts
        if len(before) == 1:
            seconds = min(seconds, last.fit_seconds * (2 + 3 * last.folds))
        grown = stage.rows / last.rows
        if last.k:
            grown *= (stage.components / last.k) ** COMPONENTS_POWER
        return float(seconds * grown * stage.turns / last.folds)

    def _foreseen_exact(self, n_rows: int) -> float:
        """A Gram matrix and some machines: as the last one, or tens of nanoseconds a pair and
        class; more for numbers."""
        before = [
            cell.seconds for cell in self._find(None, n_rows) if cell.candidate.startswith(EXACT)
        ]
        if before:
            return float(max(before))
        classes = self.plan.facts["classes"]
        seconds = n_rows**2 * (4e-7 if classes is None else 4e-8 * (classes if classes > 2 else 1))
        return 2 * seconds if is_busy() else seconds

    def _say(self, doing: str) -> None:
        spent = self.clock.elapsed / self.clock.budget if self.clock.budget else 0.0
        self._watch(doing, min(1.0, max(spent, self._done / self._work)))

    def _named(self, candidate: Candidate, stage: Round) -> str:
        """A candidate in a round, in words."""
        size = self._size(candidate, stage)
        return f"{candidate.label}, {size}" if size else candidate.label

    def _size(self, candidate: Candidate, stage: Round) -> str:
        """Its components, and its rows unless they are all there are."""
        k = _components(candidate, stage)
        said = [] if k is None else [f"k = {k:,}"]
        said += [] if stage.rows == len(self.plan.learn) else [f"{stage.rows:,} rows"]
        return ", ".join(said)

    def _leave(self, what: str, why: str) -> None:
        if [what, why] not in self.left_out:
            self.left_out.append([what, why])

    def _expected_work(self) -> float:
        """All rounds, in rows x components x turns, as if none were cut short."""
        total, going = 0.0, len(self.plan.candidates)
        for stage in self.plan.rounds:
            total += going * _work(stage)
            going = max(FEWEST + 1, round(stage.keep * going))
        return total


def _shorter(stage: Round) -> list[Round]:
    """The round, and the same with one part of the rows held out: a smaller price for a score that
    is less sure."""
    return [stage] if stage.turns == 1 else [stage, replace(stage, turns=1)]


def _work(stage: Round) -> float:
    return float(stage.rows * stage.turns * (stage.components + 64) ** COMPONENTS_POWER)


def _components(candidate: Candidate, stage: Round) -> int | None:
    return None if candidate.kind in (LINEAR, EXACT) else stage.components


def _key(candidate: Candidate, stage: Round) -> str:
    return f"{candidate.name}/{_components(candidate, stage)}/{stage.rows}/{stage.turns}"
