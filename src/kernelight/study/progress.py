"""The progress bar of a study on standard error: what is being done, and the time that is left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kernelight.study.clock import Clock, Watch
from kernelight.study.text import seconds_text


@contextmanager
def terminal_progress(wanted: bool | None, clock: Clock) -> Iterator[Watch]:
    """A function that shows how far the run is, or does nothing.

    It shows a bar if one is ``wanted``; None means if standard error is a terminal.
    """
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield lambda doing, fraction: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=24), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def watch(doing: str, fraction: float) -> None:
            text = f"{_left(clock, fraction)}  {doing}"
            bar.update(task, completed=min(fraction, 1.0), description=text)

        yield watch


def _left(clock: Clock, fraction: float) -> str:
    """The time that is left: by the work done so far, at most that of the budget."""
    estimate = clock.elapsed * (1 - fraction) / fraction if fraction > 0 else float("inf")
    left = min(estimate, max(0.0, clock.left))
    return "" if left == float("inf") else f"{seconds_text(max(1.0, left))} left"
