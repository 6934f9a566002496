"""Cells of exact kernels, which the tables of three papers share, and the comparison with them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers._cells import Cell, Result, cell
from papers._figures import Line, Panel
from papers._page import Book, Plan, best_of, chosen_of, mean_curve, table
from papers._printed import printed
from papers._sets import FIXED, PROMISED, SIMULATED, set_of, stage_of
from papers._tuned import GAMMAS, merged
from papers._tuned import KERNELS as TUNED

DECADES = [10.0**e for e in range(-2, 4)]
HALF_DECADES = [round(10.0 ** (e / 2), 6) for e in range(-4, 7)]
BEYOND = [*DECADES, 1e4, 1e5]  # small gammas need them
QUICK_GAMMAS = [0.1, 1.0, 4, 11, 20, 50, 100, 200]
LARGE = 8000  # training rows, beyond which C runs over decades
LONGEST = 600.0  # seconds, about, of a cell of gammas; a kill loses no more
GRAM_ROWS = 30_000  # training rows, beyond which there are no Gram matrices
TOLERANCE = 0.5  # points
SQUARED = "linear, squared hinge"
LINEAR = ("linear", SQUARED)  # kinds of cells, too
SAME_KERNEL = {"min-max": "GMM"}  # on the nonnegative data that the name is used for


@dataclass(frozen=True)
class Entry:
    """A data set of a table: the paper, the printed name, the name in the loader, the scaling."""

    paper: str
    printed_name: str
    dataset: str
    scaling: str

    def splits(self, quick: bool) -> int:
        """How many: one if the split is conventional, else up to three, fewer for many rows."""
        known = set_of(self.dataset)
        return (
            1
            if known.origin == FIXED or quick or known.rows > 4000
            else 3
            if known.rows < 1500
            else 2
        )


def exact_cell(entry: Entry, kernel: str, seed: int) -> Cell:
    """The cell of a kernel without gamma on one split."""
    known = set_of(entry.dataset)
    common = _common(entry, seed)
    common["stage"] -= 2 * (entry.dataset in PROMISED)
    if kernel in LINEAR:
        return cell(kernel, cs=DECADES, weight=1 + _fit_weight(entry), **common)
    cs = DECADES if known.rows > LARGE else HALF_DECADES
    return cell(
        "exact",
        kernel=SAME_KERNEL.get(kernel, kernel),
        cs=cs,
        weight=0.2 + len(cs) * _fit_weight(entry),
        **common,
    )


def tuned_cells(entry: Entry, kernel: str, seed: int, plan: Plan) -> list[Cell]:
    """The cells of a kernel with gamma on one split: some gammas each, so that none takes long."""
    gammas = QUICK_GAMMAS if plan.quick else GAMMAS
    common = _common(entry, seed)
    common["stage"] += 1
    each = len(BEYOND) * _fit_weight(entry)
    parts = np.array_split(gammas, min(len(gammas), math.ceil(len(gammas) * each / LONGEST)))
    return [
        cell(
            "tuned",
            kernel=kernel,
            cs=BEYOND,
            gammas=part.tolist(),
            weight=0.2 + len(part) * each,
            **common,
        )
        for part in parts
    ]


def _common(entry: Entry, seed: int) -> dict[str, Any]:
    known = set_of(entry.dataset)
    return {
        "dataset": entry.dataset,
        "scaling": entry.scaling,
        "seed": seed,
        "max_test": known.max_test,
        "stage": stage_of(entry.dataset),
    }


def _fit_weight(entry: Entry) -> float:
    """About the seconds of one fit: pairs of classes are smaller where there are many."""
    known = set_of(entry.dataset)
    return (known.rows / 1000) ** 2 * (0.3 + 5 / known.classes) / 60


def exact_cells(entries: list[Entry], kernels: tuple[str, ...], plan: Plan) -> list[Cell]:
    """All cells of a table."""
    return [
        each
        for entry in entries
        for kernel in kernels_of(entry, kernels)
        for seed in range(entry.splits(plan.quick))
        for each in (
            tuned_cells(entry, kernel, seed, plan)
            if kernel in TUNED
            else [exact_cell(entry, kernel, seed)]
        )
    ]


def exact_results(book: Book, entry: Entry, kernel: str) -> list[Result]:
    """The results of the splits that are computed, of all gammas if the kernel has one."""
    seeds = range(entry.splits(book.plan.quick))
    if kernel in TUNED:
        results = [tuned_result(book, entry, kernel, seed) for seed in seeds]
    else:
        results = [book.get(exact_cell(entry, kernel, seed)) for seed in seeds]
    return [result for result in results if result is not None]


def tuned_result(book: Book, entry: Entry, kernel: str, seed: int) -> Result | None:
    """The result of one split, None until the cells of all gammas are computed."""
    parts = [book.get(each) for each in tuned_cells(entry, kernel, seed, book.plan)]
    there = [part for part in parts if part is not None]
    gammas = QUICK_GAMMAS if book.plan.quick else GAMMAS
    return merged(BEYOND, gammas, there) if len(there) == len(parts) else None


def kernels_of(entry: Entry, kernels: tuple[str, ...]) -> list[str]:
    """The kernels of a table that can be computed.

    It is the linear one alone where a Gram matrix would be too large, as in the papers. On small
    sets the linear one has both losses, because the papers do not say which they took.
    """
    rows = set_of(entry.dataset).rows
    there = [kernel for kernel in kernels if rows <= GRAM_ROWS or kernel == "linear"]
    return [
        each
        for kernel in there
        for each in (LINEAR if kernel == "linear" and rows <= LARGE else (kernel,))
    ]


@dataclass(frozen=True)
class Comparison:
    """A printed accuracy and ours, means over splits."""

    entry: Entry
    method: str
    paper: float
    ours: float
    chosen: float
    c: float
    gamma: float | None
    spread: float
    splits: int

    @property
    def difference(self) -> float:
        """In points."""
        return self.ours - self.paper


def comparisons(
    book: Book, entries: list[Entry], kernels: tuple[str, ...], names: dict[str, str] | None = None
) -> list[Comparison]:
    """All comparisons that are computed; ``names`` are the printed names that differ from ours."""
    printed_names = {SQUARED: "linear"} | (names or {})
    rows = [
        compare(book, entry, kernel, printed_names.get(kernel, kernel))
        for entry in entries
        for kernel in kernels_of(entry, kernels)
    ]
    return [row for row in rows if row is not None]


def compare(book: Book, entry: Entry, kernel: str, printed_method: str) -> Comparison | None:
    """A printed accuracy and ours, None if either is missing."""
    paper = printed(entry.paper, entry.printed_name, printed_method)
    results = exact_results(book, entry, kernel)
    if paper is None or not results:
        return None
    best = [best_of(result) for result in results]
    accuracies = [accuracy for accuracy, _, _ in best]
    spread = float(np.std(accuracies, ddof=1)) if len(results) > 1 else 0.0
    chosen = float(np.mean([chosen_of(result) for result in results]))
    return Comparison(
        entry,
        kernel,
        paper,
        float(np.mean(accuracies)),
        chosen,
        best[0][1],
        best[0][2],
        spread,
        len(results),
    )


def remark(row: Comparison, notes: dict[tuple[str, str], str]) -> str:
    """Reasons for the difference: what is known of the set, then the standard error."""
    known = set_of(row.entry.dataset)
    said = []
    if known.origin == SIMULATED:
        said.append("images made again by the recipe, not the authors' files")
    elif known.origin != FIXED:
        spread = f", standard deviation {row.spread:.2f}" if row.splits > 1 else ""
        said.append(f"{row.splits} random split{'s' if row.splits > 1 else ''} of our own{spread}")
    if known.max_test is not None:
        said.append(f"{known.max_test:,} of {known.tests:,} test rows")
    if abs(row.difference) > TOLERANCE:
        name = row.entry.dataset
        kernel = "linear" if row.method in LINEAR else row.method
        keys = ((name, kernel), ("*", kernel), (name, "*"))
        said += [notes[key] for key in keys if key in notes and known.origin != SIMULATED][:1]
        rows = min(known.tests, known.max_test or known.tests)
        error = math.sqrt(row.paper * (100 - row.paper) / rows)
        said.append(f"standard error of {rows:,} test rows: {error:.2f}")
    return "; ".join(said)


def comparison_table(rows: list[Comparison], notes: dict[tuple[str, str], str]) -> str:
    """A line for each comparison."""
    heads = (
        "data set",
        "kernel",
        "paper",
        "ours",
        "difference",
        "C and gamma by validation",
        "C",
        "gamma",
        "what the difference is made of",
    )
    lines = [
        (
            row.entry.printed_name,
            row.method,
            row.paper,
            row.ours,
            f"{row.difference:+.2f}",
            row.chosen,
            f"{row.c:g}",
            None if row.gamma is None else f"{row.gamma:g}",
            remark(row, notes),
        )
        for row in rows
    ]
    return table(heads, lines)


def curves(book: Book, entries: list[Entry], kernels: tuple[str, ...]) -> list[Panel]:
    """Accuracy against C, one panel for each data set."""
    panels = []
    for entry in entries:
        panel = Panel(entry.printed_name)
        for colour, kernel in enumerate(kernels):
            results = exact_results(book, entry, kernel)
            if results:
                dash = "--" if kernel == "linear" else "-"
                panel.lines.append(
                    Line(results[0]["cs"], mean_curve(results), kernel, colour, dash)
                )
        panels.append(panel)
    return panels
