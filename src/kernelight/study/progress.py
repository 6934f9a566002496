"""A bar on standard error while a study runs, with what is being done and the time that is left;
silent elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kernelight.study.run import Clock, Watch
from kernelight.study.text import seconds_text


@contextmanager
def terminal_progress(wanted: bool | None, clock: Clock) -> Iterator[Watch]:
    """Something to tell how far the run is.

    ``wanted``: None is a bar if standard error is a terminal.
    """
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield lambda doing, share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=24), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def watch(doing: str, share: float) -> None:
            bar.update(
                task, completed=min(share, 1.0), description=f"{_left(clock, share)}  {doing}"
            )

        yield watch


def _left(clock: Clock, share: float) -> str:
    """The time that is left: what the work suggests, at most what the budget allows."""
    guess = clock.elapsed * (1 - share) / share if share > 0 else float("inf")
    left = min(guess, max(0.0, clock.left))
    return "" if left == float("inf") else f"{seconds_text(max(1.0, left))} left"
