"""Compute the tables and figures of the papers again, and write the page that compares them.

    python papers/run.py [scripts ...] [--quick] [--data FOLDER] [--sets A,B] [--jobs N]
                         [--minutes M] [--page]

Finished cells are kept in build/papers/<profile>/cells.jsonl: a run that is stopped goes on where
it was. The full profile writes docs/papers.md and docs/papers/*.svg, unless that page was made from
more cells; the quick one, a sample of every family, writes build/papers/quick/papers.md.
``--minutes`` ends the work after that time and writes the page of what is computed; ``--page`` only
writes the page. One script: python papers/run.py lgmm/exact, or python -m papers.lgmm.exact from
the root of the repository.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from kernelight.data import replacing  # noqa: E402
from papers import _front  # noqa: E402
from papers._cells import Cell, Store  # noqa: E402
from papers._data import NoDataError, check_same_data, present  # noqa: E402
from papers._page import Book, Plan  # noqa: E402
from papers._work import computed, in_order  # noqa: E402

SCRIPTS = (
    "cnk/exact",
    "cnk/linearized",
    "lgmm/exact",
    "lgmm/noise",
    "lgmm/gram",
    "lgmm/hashed",
    "lgmm/times",
    "lgmm/variances",
    "nys/table",
    "nys/hashed",
    "tgmm/hashed",
    "tgmm/simulated",
    "be/table",
    "be/pictures",
)
PAGE = ROOT / "docs" / "papers.md"


def script(name: str) -> ModuleType:
    """The module of a script, with ``TITLE``, ``cells(plan)`` and ``report(book)``."""
    return importlib.import_module("papers." + name.replace("/", "."))


def work(cells: Sequence[Cell], store: Store, jobs: int, minutes: float | None) -> list[str]:
    """Compute what is not stored yet, small stages first, until time is over.

    Returned is a sentence for each cell that failed.
    """
    todo = in_order([cell for cell in dict.fromkeys(cells) if cell not in store])
    total, done, begun = sum(cell.weight for cell in todo), 0.0, time.monotonic()
    print(f"{len(set(cells)) - len(todo)} cells are there, {len(todo)} to do.", flush=True)
    deadline = None if minutes is None else begun + 60 * minutes
    failures = []
    for at, (cell, result) in enumerate(computed(todo, jobs, deadline), start=1):
        if isinstance(result, str):
            failures.append(f"{cell.label}: {result}")
            print(f"Failed: {failures[-1]}", file=sys.stderr, flush=True)
        else:
            store.put(cell, result)
        done += cell.weight
        left = max(0.0, (time.monotonic() - begun) * (total - done) / done)
        print(f"[{at}/{len(todo)}, about {_spoken(left)} left] {cell.label}", flush=True)
    return failures


def _spoken(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit status is 2 without data, 1 if a cell failed or on Ctrl-C, else 0."""
    asked = _asked(arguments)
    folder = asked.build / ("quick" if asked.quick else "full")
    if asked.data:
        os.environ["KERNELIGHT_DATA"] = asked.data
    try:
        plan = Plan(asked.quick, present())
        wanted = _wanted_sets(asked.sets, plan)
        check_same_data(folder)
    except NoDataError as problem:
        print(problem, file=sys.stderr)
        return 2
    store = Store(folder / "cells.jsonl")
    chosen = [name for name in SCRIPTS if name in asked.scripts or not asked.scripts]
    planned = {name: list(dict.fromkeys(script(name).cells(plan))) for name in chosen}
    failures: list[str] = []
    interrupted = False
    if not asked.page:
        cells = [
            cell
            for each in planned.values()
            for cell in each
            if wanted is None or cell.dataset in wanted
        ]
        try:
            failures = work(cells, store, asked.jobs, asked.minutes)
        except KeyboardInterrupt:
            interrupted = True
            print(
                "Interrupted: what is finished is kept, and the same command goes on with it.",
                file=sys.stderr,
            )
    whole = (
        not asked.quick and len(chosen) == len(SCRIPTS) and asked.build == ROOT / "build" / "papers"
    )
    _write(Book(store, plan, folder / "papers.md", planned, failures), chosen, whole)
    return 1 if failures or interrupted else 0


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scripts", nargs="*", help=f"which (default: all of {', '.join(SCRIPTS)})")
    parser.add_argument(
        "--quick", action="store_true", help="a sample of every family, some minutes"
    )
    parser.add_argument("--data", help="the folder of the data sets (default: KERNELIGHT_DATA)")
    parser.add_argument("--sets", help="only cells of these data sets, with commas between them")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--minutes", type=float, help="stop after this many minutes")
    parser.add_argument(
        "--page", action="store_true", help="only write the page of what is computed"
    )
    parser.add_argument(
        "--build", type=Path, default=ROOT / "build" / "papers", help=argparse.SUPPRESS
    )
    asked = parser.parse_args(arguments)
    unknown = sorted(set(asked.scripts) - set(SCRIPTS))
    if unknown:
        parser.error(f"no script is called {', '.join(unknown)}; there are {', '.join(SCRIPTS)}")
    if asked.jobs < 1:
        parser.error(f"jobs must be at least 1, got {asked.jobs}")
    return asked


def _wanted_sets(asked: str | None, plan: Plan) -> set[str] | None:
    """The data sets that were asked for, None for all."""
    if asked is None:
        return None
    wanted = set(asked.split(","))
    unknown = sorted(wanted - plan.present)
    if unknown:
        there = ", ".join(sorted(plan.present))
        raise NoDataError(
            f"The folder has no data set called {', '.join(unknown)}; it has {there}."
        )
    return wanted


def _write(book: Book, chosen: Sequence[str], whole: bool) -> None:
    """Write the page and its figures.

    They go into docs/ if all scripts were asked for and the page there has no more cells.
    """
    if whole and (shown := _cells_shown(PAGE)) <= book.n_done:
        book.page = PAGE
    elif whole:
        print(f"{PAGE} shows {shown:,} cells, this run has {book.n_done:,}: it is left as it is.")
    page = book.page
    sections = [(script(name).TITLE, script(name).report(book)) for name in chosen]
    page.parent.mkdir(parents=True, exist_ok=True)
    with replacing(page) as file:
        file.write(_front.page(book, sections).encode())
    for old in set((page.parent / page.stem).glob("*.svg")) - set(book.figures):
        old.unlink()  # drawn by an earlier run
    print(
        f"{page} is written, with {len(book.figures)} figures; {book.n_planned - book.n_done} "
        "cells of its plan are not computed yet."
    )


def _cells_shown(page: Path) -> int:
    """The number of cells that a page was made from, as it says."""
    match = re.search(r"([\d,]+) of [\d,]+ cells", page.read_text()) if page.exists() else None
    return int(match[1].replace(",", "")) if match else 0


def alone(name: str) -> int:
    """Run one script as a command, with the same options."""
    return main([name, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
