"""Computes the tables and figures of the papers again, and writes the page that shows them beside what was printed.

    python papers/run.py [scripts ...] [--quick] [--data FOLDER] [--sets A,B] [--jobs N] [--minutes M]
                         [--page]

Finished cells are kept in build/papers/<profile>/cells.jsonl: a run that is stopped goes on where it was. The full profile
writes docs/papers.md and docs/papers/*.svg; the quick one, a sample of every family, writes build/papers/quick/papers.md.
``--minutes`` ends the work after that long and writes the page of what there is; ``--page`` only writes the page.
A script alone: python papers/run.py lgmm/exact, or python -m papers.lgmm.exact from the root of the repository.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

# One thread for a process, and as many processes as asked for: set before NumPy reads it, and for this command alone.
if __name__ == "__main__":
    for _name in ("OPENBLAS_NUM_THREADS", "KERNELIGHT_NUM_THREADS"):
        os.environ.setdefault(_name, "1")
ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from papers import _front  # noqa: E402
from papers._cells import Cell, Result, Store  # noqa: E402
from papers._data import NoDataError, present  # noqa: E402
from papers._page import Book, Plan  # noqa: E402

SCRIPTS = (
    "cnk/exact", "cnk/linearized", "lgmm/exact", "lgmm/noise", "lgmm/gram", "lgmm/hashed", "lgmm/times",
    "lgmm/variances", "nys/table",
    "nys/hashed", "tgmm/hashed", "tgmm/simulated", "be/table", "be/pictures",
)  # fmt: skip


def script(name: str) -> ModuleType:
    """A script: ``TITLE``, ``cells(plan)`` and ``report(book)``."""
    return importlib.import_module("papers." + name.replace("/", "."))


def work(cells: Sequence[Cell], store: Store, jobs: int, minutes: float | None) -> None:
    """Compute what is not stored yet, small stages first, until time is over."""
    todo = _ordered([cell for cell in dict.fromkeys(cells) if cell not in store])
    total, done, begun = sum(cell.weight for cell in todo), 0.0, time.monotonic()
    print(f"{len(set(cells)) - len(todo)} cells are there, {len(todo)} to do.", flush=True)
    deadline = None if minutes is None else begun + 60 * minutes
    for at, (cell, result) in enumerate(_computed(todo, jobs, deadline), start=1):
        store.put(cell, result)
        done += cell.weight
        left = (time.monotonic() - begun) * (total - done) / done
        print(f"[{at}/{len(todo)}, about {_spoken(left)} left] {cell.label}", flush=True)


def _ordered(cells: list[Cell]) -> list[Cell]:
    """Stage by stage; in a stage set by set, so that data are loaded once, what is soon done first."""
    totals: defaultdict[tuple[int, str | None], float] = defaultdict(float)
    for cell in cells:
        totals[cell.stage, cell.dataset] += cell.weight
    return sorted(cells, key=lambda cell: (cell.stage, totals[cell.stage, cell.dataset], cell.weight))


def _computed(todo: list[Cell], jobs: int, deadline: float | None) -> Iterator[tuple[Cell, Result]]:
    """Cells and their results as they are done; none is begun after the deadline."""

    def late() -> bool:
        return deadline is not None and time.monotonic() > deadline

    if jobs == 1:
        for cell in todo:
            if late():
                return
            yield cell, cell.compute()
        return
    waiting = iter(todo)
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        running: dict[Future[Result], Cell] = {}
        while True:
            while len(running) < jobs and not late() and (begun := next(waiting, None)) is not None:
                running[pool.submit(begun.compute)] = begun
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()


def _spoken(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit status is 2 without data."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scripts", nargs="*", help=f"which (default: all of {', '.join(SCRIPTS)})")
    parser.add_argument("--quick", action="store_true", help="a sample of every family, some minutes")
    parser.add_argument("--data", help="the folder of the data sets (default: KERNELIGHT_DATA)")
    parser.add_argument("--sets", help="only cells of these data sets, with commas between them")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes")
    parser.add_argument("--page", action="store_true", help="only write the page of what is there")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "papers", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    unknown = sorted(set(asked.scripts) - set(SCRIPTS))
    if unknown:
        parser.error(f"no script is called {', '.join(unknown)}; there are {', '.join(SCRIPTS)}")
    if asked.jobs < 1:
        parser.error(f"jobs must be at least 1, got {asked.jobs}")
    if asked.data:
        os.environ["KERNELIGHT_DATA"] = asked.data
    try:
        plan = Plan(asked.quick, present())
    except NoDataError as problem:
        print(problem, file=sys.stderr)
        return 2
    folder = asked.build / ("quick" if asked.quick else "full")
    store = Store(folder / "cells.jsonl")
    chosen = [name for name in SCRIPTS if name in asked.scripts or not asked.scripts]
    planned = {name: list(dict.fromkeys(script(name).cells(plan))) for name in chosen}
    if not asked.page:
        wanted = asked.sets.split(",") if asked.sets else None
        cells = [cell for each in planned.values() for cell in each if not wanted or cell.dataset in wanted]
        work(cells, store, asked.jobs, asked.minutes)
    whole = not asked.quick and len(chosen) == len(SCRIPTS) and asked.build == ROOT / "build" / "papers"
    page = ROOT / "docs" / "papers.md" if whole else folder / "papers.md"
    waiting = {name: [cell for cell in cells if cell not in store] for name, cells in planned.items()}
    book = Book(store, plan, page, waiting)
    sections = [(script(name).TITLE, script(name).report(book)) for name in chosen]
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(_front.page(book, sections))
    for old in set((page.parent / page.stem).glob("*.svg")) - set(book.figures):
        old.unlink()  # drawn by an earlier run
    left = len({cell for cells in waiting.values() for cell in cells})
    print(
        f"{page} is written, with {len(book.figures)} figures; {left} cells of its plan are not computed yet."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
