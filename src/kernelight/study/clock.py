"""The budget of a study as a clock: how many seconds are left, and for what."""

from __future__ import annotations

import time
from collections.abc import Callable

# Kept for the end: predictions of the chosen model, and its picture.
RESERVE_FRACTION, MOST_RESERVE_SECONDS = 0.1, 8.0
Watch = Callable[
    [str, float], None
]  # called with what is being done, and the fraction of work done


class Clock:
    """How much of the budget is left; without a budget, any amount of time."""

    def __init__(self, budget: float | None) -> None:
        self.budget, self._start = budget, time.perf_counter()
        #: Seconds kept for gradient boosting.
        self.set_aside = 0.0
        #: Seconds to train the best model so far again at the end, if it was not kept.
        self.retrain_seconds = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @property
    def left(self) -> float:
        """Seconds for models, without the reserve."""
        if self.budget is None:
            return float("inf")
        reserve = min(RESERVE_FRACTION * self.budget, MOST_RESERVE_SECONDS)
        return self.budget - reserve - self.set_aside - self.retrain_seconds - self.elapsed

    @property
    def to_the_end(self) -> float:
        """Seconds until the budget is used up, with the reserve."""
        return float("inf") if self.budget is None else self.budget - self.elapsed

    def seconds_of(self, fraction: float) -> float:
        """The seconds of a fraction of the budget."""
        return float("inf") if self.budget is None else fraction * self.budget
