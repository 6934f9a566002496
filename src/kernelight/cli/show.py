"""How answers are printed: tables for people, JSON for programs, a progress bar on a terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from kernelight.base import bytes_text, naming


def printing() -> AbstractContextManager[None]:
    """Name standard output in errors of writing to it, which have no name of a file."""
    return naming("standard output")


def say(text: str = "") -> None:
    """Print a line to standard output."""
    with printing():
        print(text)


def as_json(answer: Any) -> None:
    """Print one JSON document."""
    say(json.dumps(answer, indent=2, sort_keys=False, default=_plain))


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def plain(value: Any) -> str:
    """A name out of a file as part of a line.

    Line ends and control characters are written as in Python, so that a terminal does not obey
    them.
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value)
    )


def table(
    heads: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[int] = ()
) -> None:
    """Print aligned columns, those of numbers to the right.

    There are colours only where the terminal has them (rich knows NO_COLOR).
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    shown = Table(
        box=box.SIMPLE_HEAD if console.is_terminal else None, pad_edge=False, show_edge=False
    )
    for at, head in enumerate(heads):
        shown.add_column(head, justify="right" if at in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(plain(cell)) for cell in row))  # as Text: a class may be called [/b]
    with printing():
        console.print(shown, soft_wrap=not console.is_terminal)


def pairs(values: dict[str, Any]) -> None:
    """Print names and values, one pair on each line."""
    width = max(map(len, values), default=0)
    for name, value in values.items():
        lines = str(value).splitlines() or [""]
        say(f"{name:<{width}}  {lines[0]}")
        for line in lines[1:]:
            say(" " * (width + 2) + line)


def about(seconds: float) -> str:
    """A time that is only roughly known.

    >>> about(0.3), about(17.2), about(43), about(170), about(9000)
    ('1 s', '17 s', '45 s', '3 min', '2.5 h')
    """
    if seconds < 20:
        return f"{max(1, round(seconds))} s"
    if seconds < 57.5:
        return f"{5 * round(seconds / 5)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def event_text(event: Any) -> str:
    """What is being done, and how much of it is done."""
    if not event.done and event.unit == "rows":
        return str(event.what)
    if event.unit == "bytes":
        return f"{event.what} {bytes_text(event.of)}"
    if event.of is None:
        return f"{event.what} {event.done:,} {event.unit}"
    counted = f"{event.done:,} of {event.of:,} {event.unit}"
    return f"{event.what}, {counted}" if event.unit == "rows" else f"{counted}, {event.what}"


@contextmanager
def progress(silent: bool) -> Iterator[Callable[[Any], None]]:
    """A progress bar on standard error, which is told events; nothing if there is no terminal.

    The bar and the time left are of the whole job. The time counts down during a long step.
    """
    if silent or not sys.stderr.isatty():
        yield lambda event: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.table import Column
    from rich.text import Text

    class Left(ProgressColumn):
        """The time left, if there is an estimate."""

        def render(self, task: Task) -> Text:
            ends = task.fields.get("ends")
            return Text("" if ends is None else f"about {about(ends - time.monotonic())} left")

    doing = TextColumn(
        "{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")
    )
    columns = (BarColumn(bar_width=20), Left(Column(no_wrap=True)), doing)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, ends=None)

        last = ""

        def watch(event: Any) -> None:
            nonlocal last
            ends = None if event.seconds_left is None else time.monotonic() + event.seconds_left
            total = None if event.fraction is None else 1.0
            bar.update(
                task,
                completed=event.fraction or 0.0,
                total=total,
                description=event_text(event),
                ends=ends,
            )
            if event.what != last:  # at once: the next step may be a long one
                bar.refresh()
                last = event.what

        yield watch
