"""How far a fit is: one stream of events, for a terminal, for ``verbose`` and for scikit-learn's
callbacks.

A job is planned as steps with an expected amount of work each, in units that only need to be in
proportion. As steps end, the seconds that a unit has taken are known, for each kind of step by
itself, and with them the time that is left. Nothing here knows what a search looks like: whoever
does the work plans its steps and says when each begins and ends.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:
    HAS_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Before scikit-learn 1.9, estimators take no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method


__all__ = [
    "HAS_CALLBACKS",
    "CallbackSupportMixin",
    "Event",
    "Job",
    "Progress",
    "Step",
    "Watch",
    "unwatched",
    "watched_by",
    "with_callbacks",
]


class Event(NamedTuple):
    """One piece of news about a job: what is being done, and ``done`` of ``of`` (None: nobody
    knows) ``unit``."""

    what: str
    done: int = 0
    of: int | None = None
    unit: str = "rows"
    #: The part of the whole job that is done, 0 to 1, and the seconds that are left; None as long
    #: as there is nothing to go by.
    share: float | None = None
    left: float | None = None


Watch = Callable[[Event], None]


def unwatched(event: Event) -> None:
    """Nobody is told."""


class Step(NamedTuple):
    """A planned part of a job: its kind, its expected work, and how many candidates it tries."""

    kind: str
    work: float
    tries: int = 0


class Job:
    """Adds up what is planned and what is done, and tells a watcher.

    The seconds left are sum_kind (work left of the kind) x (seconds per unit of work of the kind),
    where a kind of which nothing is done yet is taken to cost what the others did. The share that
    is done is spent / (spent + left), and never falls.
    """

    def __init__(
        self, watch: Watch = unwatched, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._watch, self._clock = watch, clock
        self._planned: dict[str, float] = defaultdict(float)
        self._done: dict[str, float] = defaultdict(float)
        self._seconds: dict[str, float] = defaultdict(float)
        self._start = self._mark = clock()
        self._share = 0.0

    def plan(self, steps: Sequence[Step]) -> None:
        """More work to be expected."""
        for step in steps:
            self._planned[step.kind] += step.work

    def begin(self) -> None:
        """A step begins now."""
        self._mark = self._clock()

    def finished(self, kind: str, work: float) -> None:
        """So much work has been done since the last step began or ended."""
        now = self._clock()
        self._done[kind] += work
        self._seconds[kind] += now - self._mark
        self._mark = now

    @property
    def left(self) -> float | None:
        """Seconds that are left; None if nothing was planned or nothing is done."""
        done = sum(self._done.values())
        if not done:
            return None
        usual = sum(self._seconds.values()) / done
        left = 0.0
        for kind, planned in self._planned.items():
            rate = self._seconds[kind] / self._done[kind] if self._done[kind] else usual
            left += max(0.0, planned - self._done[kind]) * rate
        return left

    def tell(self, what: str, done: int = 0, of: int | None = None, unit: str = "rows") -> None:
        """Tell the watcher what is being done."""
        left = self.left
        if left is not None:
            spent = self._clock() - self._start
            self._share = max(self._share, spent / (spent + left) if left else 1.0)
        done = done if of is None else min(done, of)
        self._watch(Event(what, done, of, unit, None if left is None else self._share, left))

    @contextmanager
    def step(self, step: Step) -> Iterator[None]:
        """What happens inside is one step; its time counts however it ends."""
        self.begin()
        try:
            yield
        finally:
            self.finished(step.kind, step.work)


_current: ContextVar[Job | None] = ContextVar("kernelight_job", default=None)


@contextmanager
def watched_by(job: Job) -> Iterator[None]:
    """Fits inside are parts of this job."""
    token = _current.set(job)
    try:
        yield
    finally:
        _current.reset(token)


class Outcome:
    """What a task has to say at its end, for those who read along."""

    text = ""


class Progress:
    """Tells about the tasks of a fit, every candidate that is tried and the final model: the job
    that the fit is part of, the callbacks of the estimator, and with ``verbose`` standard
    output."""

    def __init__(self, estimator: Any, plan: Sequence[Step]) -> None:
        self._estimator = estimator
        self._job = _current.get() or Job()
        self._job.plan(plan)
        self._tries, self._tried = sum(step.tries for step in plan), 0
        self._context: Any = None
        self._untold = len(plan)
        if HAS_CALLBACKS:
            self._context = estimator._init_callback_context(max_subtasks=len(plan))
            self._context.call_on_fit_task_begin(estimator=estimator)

    @contextmanager
    def task(self, name: str, step: Step) -> Iterator[Outcome]:
        """What happens inside is one task."""
        if step.tries:
            self._job.tell(f"trying {name}", self._tried, self._tries, "candidates")
        else:
            self._job.tell(f"training the model, {name}")
        outcome, start = Outcome(), time.monotonic()
        inner = None
        # scikit-learn takes no more tasks than were announced
        if self._context is not None and self._untold > 0:
            inner = self._context.subcontext(task_name=name)
            self._untold -= 1
        if inner is not None:
            inner.call_on_fit_task_begin(estimator=self._estimator)
        try:
            with self._job.step(step):
                yield outcome
        except ValueError as refusal:
            outcome.text = f"refused: {str(refusal).splitlines()[0]}"
            self._ended(name, step, outcome, time.monotonic() - start)
            raise
        finally:
            if inner is not None:
                inner.call_on_fit_task_end(estimator=self._estimator)
        self._ended(name, step, outcome, time.monotonic() - start)

    def _ended(self, name: str, step: Step, outcome: Outcome, seconds: float) -> None:
        # more are tried where some were refused
        self._tried = min(self._tried + step.tries, self._tries)
        if getattr(self._estimator, "verbose", False):
            count = (
                f"{self._tried} of {self._tries} candidates: " if step.tries else "final model: "
            )
            said = f"{name}, {outcome.text}" if outcome.text else name
            print(f"[{type(self._estimator).__name__}] {count}{said} ({seconds:.1f} s)", flush=True)

    def finish(self) -> None:
        """The fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)
