"""How answers are shown: tables for people, JSON for machines."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any


def as_json(answer: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(answer, indent=2, sort_keys=False, default=_plain))


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def plain(value: Any) -> str:
    """A name out of a file as one piece of a line: line ends and what a terminal would obey are
    written as Python does."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value)
    )


def table(
    heads: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[int] = ()
) -> None:
    """Aligned columns, those of numbers to the right; colours only where the terminal has them
    (rich knows NO_COLOR)."""
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
    console.print(shown, soft_wrap=not console.is_terminal)


def pairs(values: dict[str, Any]) -> None:
    """Names and values, one to a line."""
    width = max(map(len, values), default=0)
    for name, value in values.items():
        lines = str(value).splitlines() or [""]
        print(f"{name:<{width}}  {lines[0]}")
        for line in lines[1:]:
            print(" " * (width + 2) + line)


def size(count: float) -> str:
    """Bytes as people say them."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if abs(count) < 1000 or unit == "GB":
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1000
    raise AssertionError


def refuse_no_place(path: str, *inputs: str) -> None:
    """Refuse a file that cannot be written, or is one of the ``inputs``, before the work for it is
    done."""
    if not path:
        raise ValueError("The name of the file to write is empty.")
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory: name a file.")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{path} cannot be written: there is no directory {folder}.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{path} cannot be written: no permission to write in {folder}.")
    with suppress(FileNotFoundError):
        os.lstat(path)  # says if a name is too long, for instance
    if os.path.exists(path):
        if not os.path.isfile(path):
            raise ValueError(
                f"{path} is not a regular file, which writing would replace: name another."
            )
        for given in inputs:
            if os.path.exists(given) and os.path.samefile(path, given):
                raise ValueError(f"{path} is what is read: name another file to write.")


@contextmanager
def printing() -> Iterator[None]:
    """Around what is written to standard output: an error of it has no name of a file, and gets
    one."""
    try:
        yield
    except BrokenPipeError:  # no error, but a reader that has seen enough
        raise
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, os.strerror(error.errno), "standard output") from error
        raise


def refuse_overwriting(path: str, *sources: str | None) -> None:
    """Refuse to write over a file that is being read."""
    for source in sources:
        if (
            source is not None
            and os.path.exists(source)
            and os.path.exists(path)
            and os.path.samefile(source, path)
        ):
            raise ValueError(
                f"{path} is read here and would be written over: name another file to write."
            )


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
    """What is being done, and how much of it is."""
    if not event.done and event.unit == "rows":
        return str(event.what)
    if event.unit == "bytes":
        return f"{event.what} {size(event.of)}"
    if event.of is None:
        return f"{event.what} {event.done:,} {event.unit}"
    counted = f"{event.done:,} of {event.of:,} {event.unit}"
    return f"{event.what}, {counted}" if event.unit == "rows" else f"{counted}, {event.what}"


@contextmanager
def progress(silent: bool) -> Iterator[Callable[[Any], None]]:
    """A bar on standard error that is told events; nothing if there is no terminal.

    The bar is the share of the whole job, and so is the time that is left; it counts down while a
    long step is under way.
    """
    if silent or not sys.stderr.isatty():
        yield lambda event: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.table import Column
    from rich.text import Text

    class Left(ProgressColumn):
        """The time that is left, if there is something to go by."""

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
            ends = None if event.left is None else time.monotonic() + event.left
            total = None if event.share is None else 1.0
            bar.update(
                task,
                completed=event.share or 0.0,
                total=total,
                description=event_text(event),
                ends=ends,
            )
            if event.what != last:  # at once: the next step may be a long one
                bar.refresh()
                last = event.what

        yield watch
