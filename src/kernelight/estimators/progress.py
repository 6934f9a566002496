"""How far a fit is: one stream of events for a terminal, ``verbose`` and scikit-learn's callbacks.

A `Job` is planned as steps, each with an expected amount of work in units of no meaning. As steps
end, the seconds per unit of work are known for each kind of step, and with them the time that is
left. Nothing here knows what a search looks like: whoever does the work plans the steps and says
when each begins and ends.
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
    """What a job is doing: ``what``, with ``done`` of ``of`` ``unit`` behind it.

    ``of`` is None if the number is not known.
    """

    what: str
    done: int = 0
    of: int | None = None
    unit: str = "rows"
    #: The fraction of the whole job that is done, and the seconds that are left; None until the
    #: first step has ended.
    fraction: float | None = None
    seconds_left: float | None = None


Watch = Callable[[Event], None]


def unwatched(event: Event) -> None:
    """Ignore the event."""


class Step(NamedTuple):
    """A planned part of a job: its kind, its expected work, and how many settings it scores."""

    kind: str
    work: float
    tries: int = 0


class Job:
    """Counts what is planned and what is done, and sends events to ``watch``.

    The seconds left are sum_kind (work left of the kind) x (seconds per unit of work of the kind);
    a kind of which nothing is done yet has the mean of the others. The fraction done is
    spent / (spent + left), and never falls.
    """

    def __init__(
        self, watch: Watch = unwatched, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._watch, self._clock = watch, clock
        self._planned: dict[str, float] = defaultdict(float)
        self._done: dict[str, float] = defaultdict(float)
        self._seconds: dict[str, float] = defaultdict(float)
        self._start = self._mark = clock()
        self._fraction = 0.0

    def plan(self, steps: Sequence[Step]) -> None:
        """Expect these steps, too."""
        for step in steps:
            self._planned[step.kind] += step.work

    def skip(self, step: Step) -> None:
        """Expect this step no more."""
        self._planned[step.kind] -= step.work

    def begin(self) -> None:
        """A step begins now."""
        self._mark = self._clock()

    def finished(self, kind: str, work: float) -> None:
        """Count work that was done since the last step began or ended."""
        now = self._clock()
        self._done[kind] += work
        self._seconds[kind] += now - self._mark
        self._mark = now

    @property
    def seconds_left(self) -> float | None:
        """Seconds that are left; None as long as nothing is done."""
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
        """Send an event that says what is being done."""
        left = self.seconds_left
        if left is not None:
            spent = self._clock() - self._start
            self._fraction = max(self._fraction, spent / (spent + left) if left else 1.0)
        done = done if of is None else min(done, of)
        self._watch(Event(what, done, of, unit, None if left is None else self._fraction, left))

    @contextmanager
    def step(self, step: Step) -> Iterator[None]:
        """Run one step inside; its time counts however it ends."""
        self.begin()
        try:
            yield
        finally:
            self.finished(step.kind, step.work)


_current: ContextVar[Job | None] = ContextVar("kernelight_job", default=None)


@contextmanager
def watched_by(job: Job) -> Iterator[None]:
    """Make fits inside parts of this job."""
    token = _current.set(job)
    try:
        yield
    finally:
        _current.reset(token)


class TaskResult:
    """The result of a task in words, for ``verbose``."""

    text = ""


class Progress:
    """Tells how far a fit is: each setting of the search, then the final model.

    It tells the job that the fit is part of, the callbacks of the estimator, and with ``verbose``
    standard output.
    """

    def __init__(self, estimator: Any, plan: Sequence[Step]) -> None:
        self._estimator = estimator
        self._job = _current.get() or Job()
        self._job.plan(plan)
        self._tries, self._tried = sum(step.tries for step in plan), 0
        self._context: Any = None
        self._tasks_left = len(plan)
        if HAS_CALLBACKS:
            self._context = estimator._init_callback_context(max_subtasks=len(plan))
            self._context.call_on_fit_task_begin(estimator=estimator)

    def skip(self, step: Step, count: int = 1) -> None:
        """A step that was planned ``count`` times is not needed."""
        for _ in range(count):
            self._job.skip(step)
            self._tries -= step.tries

    @contextmanager
    def task(self, name: str, step: Step) -> Iterator[TaskResult]:
        """Run one task inside; a ValueError is a refusal of its setting, and is raised again."""
        if step.tries:
            self._job.tell(f"trying {name}", self._tried, self._tries, "candidates")
        else:
            self._job.tell(f"training the model, {name}")
        result, start = TaskResult(), time.monotonic()
        inner = None
        # scikit-learn takes no more tasks than were announced, and refusals may lead to more
        if self._context is not None and self._tasks_left > 0:
            inner = self._context.subcontext(task_name=name)
            self._tasks_left -= 1
        if inner is not None:
            inner.call_on_fit_task_begin(estimator=self._estimator)
        try:
            with self._job.step(step):
                yield result
        except ValueError as refusal:
            result.text = f"refused: {str(refusal).splitlines()[0]}"
            self._ended(name, step, result, time.monotonic() - start)
            raise
        finally:
            if inner is not None:
                inner.call_on_fit_task_end(estimator=self._estimator)
        self._ended(name, step, result, time.monotonic() - start)

    def _ended(self, name: str, step: Step, result: TaskResult, seconds: float) -> None:
        # where settings were refused, others are tried in their place
        self._tried = min(self._tried + step.tries, self._tries)
        if getattr(self._estimator, "verbose", False):
            count = (
                f"{self._tried} of {self._tries} candidates: " if step.tries else "final model: "
            )
            said = f"{name}, {result.text}" if result.text else name
            print(f"[{type(self._estimator).__name__}] {count}{said} ({seconds:.1f} s)", flush=True)

    def finish(self) -> None:
        """Tell the callbacks that the fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)
