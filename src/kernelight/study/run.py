"""The run: rounds from cheap to dear, within the budget; what there is no time for is left out and named.

A cell is one model: tuned on rows held out, trained on all rows of the round, tested. What decides is the validation score
only; times decide nothing but what is left out. The time of a cell is foreseen from the last one of the same candidate,
as growing with rows x turns, and with components to the power 0.8.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from kernelight.study.journal import Journal
from kernelight.study.measure import doubt, kernel_error, test_report
from kernelight.study.models import Data, boost, train, tune
from kernelight.study.plan import BOOSTED, EXACT, LINEAR, MOST_EXACT_ROWS, Candidate, Plan, Round, exact_twin

SCREEN_SHARE = 0.4  # of the budget, at most, for the first round
BOOSTING_SHARE = 0.15
RESERVE_SHARE, MOST_RESERVE = 0.1, 8.0  # for the end: the chosen model once more, and its picture
COMPONENTS_POWER = 0.8
FEWEST = 3  # candidates that go on from a round
EXACT_TWINS = 2
NO_TIME = "no time within the budget"
Watch = Callable[[str, float], None]  # what is being done, and the share of the work that is done


class Clock:
    """How much of the budget is left; without one, all the time there is."""

    def __init__(self, budget: float | None) -> None:
        self.budget, self._start = budget, time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @property
    def left(self) -> float:
        """Seconds for models; the reserve is not among them."""
        if self.budget is None:
            return float("inf")
        return self.budget - min(RESERVE_SHARE * self.budget, MOST_RESERVE) - self.elapsed

    def share(self, share: float) -> float:
        """So much of the budget in seconds."""
        return float("inf") if self.budget is None else share * self.budget


class Run:
    """One run of a plan; `cells` and `left_out` grow, and are right at any moment."""

    def __init__(self, plan: Plan, data: Data, journal: Journal, clock: Clock, watch: Watch) -> None:
        self.plan, self.data, self.journal, self.clock, self._watch = plan, data, journal, clock, watch
        self.test = data.at(plan.test)
        self.cells: list[dict[str, Any]] = []
        self.left_out: list[list[str]] = [list(pair) for pair in plan.not_admitted]
        self.pressed = False  # whether time decided anything
        self.labels: dict[str, str] = {}
        self._settings: dict[str, dict[str, Any]] = {}
        self._boosted = False
        self._work, self._done = self._expected_work(), 0.0

    def run(self) -> None:
        """All rounds, then the references that are left."""
        going = list(self.plan.candidates)
        for at, stage in enumerate(self.plan.rounds):
            going = self._round(stage, going, first=at == 0)
            if stage.rows == len(self.plan.learn) and not self._boosted:
                self._boost()
            going = self._best(stage, going)
        if not self._boosted:
            self._boost()
        self._exact_twins()

    def _round(self, stage: Round, going: list[Candidate], *, first: bool) -> list[Candidate]:
        """The candidates that were measured in this round."""
        measured = []
        for candidate in going:
            if candidate.kind == LINEAR and self._find(candidate.name, stage.rows):
                measured.append(candidate)
                continue
            late = first and self.clock.elapsed > self.clock.share(SCREEN_SHARE)
            if (late or self._foreseen(candidate, stage) > self.clock.left) and measured:
                self._leave(f"{candidate.label}, {_stage_text(candidate, stage)}", NO_TIME)
                self.pressed = True
                continue
            if self._cell(candidate, stage):
                measured.append(candidate)
        return measured

    def _cell(self, candidate: Candidate, stage: Round) -> bool:
        """Measure a candidate in a round; False if it cannot take the data."""
        k = None if candidate.kind in (LINEAR, EXACT) else stage.components
        key = f"{candidate.name}/{k}/{stage.rows}/{stage.turns}"
        self._say(f"{candidate.label}, {_stage_text(candidate, stage)}")
        cell = self.journal.get(key)
        if cell is None:
            try:
                cell = self._measured(candidate, stage, k)
            except ValueError as error:
                self._leave(candidate.label, str(error))
                return False
            self.journal.add(key, cell)
        self._settings.setdefault(candidate.name, cell["settings"])
        self.labels[candidate.name] = candidate.label
        self.cells.append(cell)
        self._done += _work(stage)
        return True

    def _measured(self, candidate: Candidate, stage: Round, k: int | None) -> dict[str, Any]:
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
        held = sum(len(places) for _, places in splits)
        return {
            **self._described(candidate, k, stage.rows),
            "settings": tuned.settings, "C": tuned.C, "score": tuned.score, "held_out": held,
            "doubt": doubt(tuned.score, held, data.task), "curve": [list(point) for point in tuned.curve],
            "fit_seconds": fit_seconds, "bytes": model.n_bytes, **test_report(model, self.test),
            "kernel_error": kernel_error(model, data.X), "note": model.note,
            "turns": stage.turns, "seconds": time.perf_counter() - start,
        }  # fmt: skip

    def _boost(self) -> None:
        """Gradient boosting, on all rows that are learned from; one fifth of them scores it."""
        self._boosted = True
        seconds = min(self.clock.share(BOOSTING_SHARE), self.clock.left)
        if seconds <= 0:
            self._leave(BOOSTED.label, NO_TIME)
            self.pressed = True
            return
        self._say(f"{BOOSTED.label}, for reference")
        key = f"{BOOSTED.name}/None/{len(self.plan.learn)}/1"
        cell = self.journal.get(key)
        if cell is None:
            data = self.data.at(self.plan.learn)
            train_rows, held = self.plan.splits(data.y, 1)[0]
            start = time.perf_counter()
            with threadpool_limits(1 if _is_busy() else None):
                checked = boost(data.at(train_rows), seconds / 2)
                score = data.at(held).score(checked.predict(data.X[held]))
                before = time.perf_counter()
                model = boost(data, seconds / 2)
                fit_seconds = time.perf_counter() - before
                tested = test_report(model, self.test)
            cell = {
                **self._described(BOOSTED, None, len(data.y)),
                "settings": {}, "C": None, "score": score, "held_out": len(held),
                "doubt": doubt(score, len(held), data.task), "curve": [], "fit_seconds": fit_seconds,
                "bytes": model.n_bytes, **tested, "kernel_error": None, "note": model.note, "turns": 1,
                "seconds": time.perf_counter() - start,
            }  # fmt: skip
            self.journal.add(key, cell)
        self.pressed |= bool(cell["note"])
        self.labels[BOOSTED.name] = BOOSTED.label
        self.cells.append(cell)

    def _exact_twins(self) -> None:
        """The best kernels without approximation, where rows are few."""
        stage = Round(len(self.plan.learn), 1, 1)
        full = [
            cell for cell in self.cells if cell["rows"] == stage.rows and cell["candidate"] in self._settings
        ]
        ranked = sorted(full, key=lambda cell: -cell["score"])
        known = {candidate.name: candidate for candidate in self.plan.candidates}
        kernels: dict[str, Candidate] = {}
        for cell in ranked:
            candidate = known.get(cell["candidate"])
            if candidate is not None and candidate.kernel:
                kernels.setdefault(candidate.kernel, candidate)
        for candidate in list(kernels.values())[:EXACT_TWINS]:
            twin = exact_twin(candidate)
            if stage.rows > MOST_EXACT_ROWS:
                self._leave(twin.label, f"exact machines are for up to {MOST_EXACT_ROWS:,} rows here")
            elif self._foreseen_exact(stage.rows) > self.clock.left:
                self._leave(twin.label, NO_TIME)
                self.pressed = True
            else:
                self._cell(twin, stage)

    def _best(self, stage: Round, going: list[Candidate]) -> list[Candidate]:
        """Those that go on: the linear model, and the best of the others, best first: to them goes what time there is."""
        scores = {cell["candidate"]: cell["score"] for cell in self._find(None, stage.rows, stage.components)}
        others = [candidate for candidate in going if candidate.kind != LINEAR]
        keep = max(FEWEST, round(stage.keep * len(others)))
        ranked = sorted(others, key=lambda candidate: -scores.get(candidate.name, -1e9))
        for candidate in ranked[keep:]:
            self._leave(
                f"{candidate.label} beyond {_stage_text(candidate, stage)}", "not among the best so far"
            )
        return [*(candidate for candidate in going if candidate.kind == LINEAR), *ranked[:keep]]

    def _find(self, name: str | None, rows: int, k: int | None = None) -> list[dict[str, Any]]:
        return [
            cell
            for cell in self.cells
            if cell["rows"] == rows and name in (None, cell["candidate"]) and k in (None, cell["k"])
        ]

    def _foreseen(self, candidate: Candidate, stage: Round) -> float:
        """Seconds that a cell will take; 0 if nothing is known, or if it is done already."""
        if self.journal.get(f"{candidate.name}/{stage.components}/{stage.rows}/{stage.turns}"):
            return 0.0
        before = [cell for cell in self.cells if cell["candidate"] == candidate.name]
        if not before:
            return 0.0
        last = before[-1]
        grown = stage.rows / last["rows"] * stage.turns / last["turns"]
        if last["k"]:
            grown *= (stage.components / last["k"]) ** COMPONENTS_POWER
        return float(last["seconds"] * grown)

    def _foreseen_exact(self, n_rows: int) -> float:
        """A Gram matrix and some SVMs for each class: a few microseconds a pair of rows, class and C."""
        classes = self.plan.facts["classes"] or 1
        return 2e-7 * n_rows**2 * (classes if classes > 2 else 1) * 2

    def _say(self, doing: str) -> None:
        spent = self.clock.elapsed / self.clock.budget if self.clock.budget else 0.0
        self._watch(doing, min(1.0, max(spent, self._done / self._work)))

    def _described(self, candidate: Candidate, k: int | None, rows: int) -> dict[str, Any]:
        return {"candidate": candidate.name, "k": k, "rows": rows, "reference": candidate.is_reference}

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


def _work(stage: Round) -> float:
    return float(stage.rows * stage.turns * (stage.components + 64) ** COMPONENTS_POWER)


def _stage_text(candidate: Candidate, stage: Round) -> str:
    size = "" if candidate.kind in (LINEAR, EXACT) else f"k = {stage.components:,}, "
    return f"{size}{stage.rows:,} rows"


def _is_busy() -> bool:
    """Whether others use the machine: threads that wait for each other are slower than one then."""
    try:
        return os.getloadavg()[0] > (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return False
