"""Compute the tables and figures of the papers again, and write the page that compares them.

    python papers/run.py [scripts ...] [--quick] [--data FOLDER] [--sets A,B] [--jobs N]
                         [--minutes M] [--without KIND] [--estimate | --page] [--anew]

Finished cells are kept in build/papers/<profile>/cells.jsonl: a run that is stopped goes on where
it was. The full profile begins with the cells that the repository keeps in papers/cells, and writes
its own there in the end; commit them, and nobody computes them again (``--anew`` does). It writes
docs/papers.md and docs/papers/*.svg, unless that page was made from more of its plan. The quick
one, a sample of every family, computes everything itself and writes build/papers/quick/papers.md.
``--minutes`` ends the work after that time and writes the page of what is computed; ``--page`` only
writes the page and papers/cells; ``--estimate`` says what is left. ``--without gram --without
times`` leaves out the cells that measure time, where others use the machine. One script: python
papers/run.py lgmm/exact, or python -m papers.lgmm.exact from the root of the repository.
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
from papers._cells import Cell, Store, dataset_of, kinds  # noqa: E402
from papers._data import NoDataError, check_same_data, present, record_data  # noqa: E402
from papers._estimate import estimate  # noqa: E402
from papers._page import Book, Plan  # noqa: E402
from papers._work import computed, in_order  # noqa: E402

SCRIPTS = (
    "errata/table",
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
            store.put(cell, *result)
        done += cell.weight
        left = max(0.0, (time.monotonic() - begun) * (total - done) / done)
        print(f"[{at}/{len(todo)}, about {_spoken(left)} left] {cell.label}", flush=True)
    return failures


def _spoken(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit status is 2 without data, 1 if a cell failed or on Ctrl-C, else 0."""
    asked = _asked(arguments)
    if asked.data:
        os.environ["KERNELIGHT_DATA"] = asked.data
    try:
        plan = Plan(asked.quick, present())
        wanted = _wanted_sets(asked.sets, plan)
        store = _store(asked)
    except NoDataError as problem:
        print(problem, file=sys.stderr)
        return 2
    chosen = [name for name in SCRIPTS if name in asked.scripts or not asked.scripts]
    planned = {name: list(dict.fromkeys(script(name).cells(plan))) for name in chosen}
    asked_for = {
        name: [
            cell
            for cell in cells
            if (wanted is None or cell.dataset in wanted) and cell.kind not in asked.without
        ]
        for name, cells in planned.items()
    }
    if asked.estimate:
        print(estimate(asked_for, store))
        return 0
    failures: list[str] = []
    interrupted = False
    if not asked.page:
        cells = [cell for each in asked_for.values() for cell in each]
        try:
            failures = work(cells, store, asked.jobs, asked.minutes)
        except KeyboardInterrupt:
            interrupted = True
            print(
                "Interrupted: what is finished is kept, and the same command goes on with it.",
                file=sys.stderr,
            )
    _keep(store, plan)
    whole = not asked.quick and len(chosen) == len(SCRIPTS) and _at_home(asked)
    book = Book(store, plan, store.path.parent / "papers.md", planned, failures)
    _write(book, chosen, whole)
    return 1 if failures or interrupted else 0


def _at_home(asked: argparse.Namespace) -> bool:
    """Is this a run for the repository, not one into a folder of its own?"""
    return bool(asked.build == ROOT / "build" / "papers")


def _store(asked: argparse.Namespace) -> Store:
    """The finished cells of the profile, if they are of the data that are there."""
    folder = asked.build / ("quick" if asked.quick else "full")
    kept = None if asked.quick or asked.anew or not _at_home(asked) else ROOT / "papers" / "cells"
    check_same_data(folder, f"remove {folder}")
    if kept:
        check_same_data(kept, "give --anew")
    record_data(folder)
    return Store(folder / "cells.jsonl", kept)


def _keep(store: Store, plan: Plan) -> None:
    """Keep the cells of the plan, and those of data sets that are not there to be planned."""
    if store.kept is None:
        return
    keys = {cell.key for name in SCRIPTS for cell in script(name).cells(plan)}
    store.keep(lambda key: key in keys or dataset_of(key) not in {None, *plan.present})
    record_data(store.kept)


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
        "--without",
        action="append",
        default=[],
        metavar="KIND",
        help="leave out cells of this kind (several times for several): those of gram and times "
        "measure time",
    )
    parser.add_argument(
        "--page", action="store_true", help="only write the page of what is computed"
    )
    parser.add_argument(
        "--estimate", action="store_true", help="only say how many cells and hours are left"
    )
    parser.add_argument(
        "--anew", action="store_true", help="do without the cells that the repository keeps"
    )
    parser.add_argument(
        "--build", type=Path, default=ROOT / "build" / "papers", help=argparse.SUPPRESS
    )
    asked = parser.parse_args(arguments)
    unknown = sorted(set(asked.scripts) - set(SCRIPTS))
    if unknown:
        parser.error(f"no script is called {', '.join(unknown)}; there are {', '.join(SCRIPTS)}")
    for name in asked.scripts or SCRIPTS:
        script(name)  # registers its kinds
    if unknown := sorted(set(asked.without) - set(kinds())):
        parser.error(f"no kind is called {', '.join(unknown)}; there are {', '.join(kinds())}")
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

    They go into docs/ if all scripts were asked for and the page there has no more of its plan.
    """
    done = book.n_done / max(1, book.n_planned)
    if whole and (shown := _fraction_shown(PAGE)) <= done:
        book.page = PAGE
    elif whole:
        print(
            f"{PAGE} shows {100 * shown:.1f} % of its plan, this run has {100 * done:.1f} %: "
            "it is left as it is."
        )
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


def _fraction_shown(page: Path) -> float:
    """The fraction of its plan that a page was made from, as it says; 0 without a page."""
    match = re.search(r"([\d,]+) of ([\d,]+) cells", page.read_text()) if page.exists() else None
    done, planned = (int(number.replace(",", "")) for number in match.groups()) if match else (0, 1)
    return done / planned


def alone(name: str) -> int:
    """Run one script as a command, with the same options."""
    return main([name, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
