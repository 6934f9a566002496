"""The lead of the page: one picture and three sentences, all of them computed from the cells."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from papers import _sets
from papers._exact import LINEAR, TOLERANCE, Comparison, comparisons
from papers._figures import Strip, strips
from papers._page import Book, prose
from papers.cnk import exact as cnk
from papers.errata import table as errata
from papers.lgmm import exact as lgmm
from papers.nys import table as nystroem

# What a difference may come from besides the kernel, and how the picture calls it.
ORIGINS = {
    _sets.FIXED: "the split of the papers",
    _sets.RANDOM: "random splits of our own",
    _sets.SIMULATED: "images made again",
}
COLOURS = {
    "GMM, min-max": ("GMM", "min-max"),
    "acos, acos-chi2": ("acos", "acos-chi2"),
    "their products": ("MM-acos", "MM-acos-chi2"),
    "RBF, fRBF": ("RBF", "fRBF"),
}
NAMED = 3  # data sets that the sentence of what does not hold names


def exact_comparisons(book: Book) -> list[Comparison]:
    """All printed accuracies of exact nonlinear kernels that are computed.

    The linear kernel is left out: neither the loss nor where LIBLINEAR stopped is printed.
    """
    tables: Any = (
        (cnk.entries, cnk.KERNELS, cnk.PRINTED),
        (lgmm.entries, lgmm.KERNELS, {}),
        (nystroem.entries, nystroem.KERNELS, {}),
    )
    rows = [
        row
        for entries, kernels, names in tables
        for row in comparisons(book, entries(book.plan), kernels, names)
    ]
    return [row for row in rows if row.method not in LINEAR]


def lead(book: Book, claims: Sequence[tuple[str, ...]]) -> str:
    """The picture and the sentences; ``claims`` are the lines of the table of promises."""
    rows = exact_comparisons(book)
    sentences = [_holds(rows), _does_not_hold(rows, claims), _wrong(book)]
    said = "\n".join(prose(sentence, "- ") for sentence in sentences if sentence)
    return f"{_picture(book, rows)}\n{said}\n" if said else ""


def _near(rows: Sequence[Comparison]) -> list[Comparison]:
    return [row for row in rows if abs(round(row.difference, 2)) <= TOLERANCE]


def _of(rows: Sequence[Comparison], origin: str) -> list[Comparison]:
    return [row for row in rows if _sets.set_of(row.entry.dataset).origin == origin]


def _count(rows: Sequence[Comparison]) -> str:
    return f"{len(_near(rows))} of {len(rows)}"


def _holds(rows: Sequence[Comparison]) -> str:
    fixed = _of(rows, _sets.FIXED)
    if not fixed:
        return ""
    untuned = [row for row in fixed if row.gamma is None]
    return (
        f"**What holds:** where the split is the papers' own, {_count(fixed)} printed accuracies "
        f"of exact nonlinear kernels come out within half a point ({_count(untuned)} of those "
        "without a gamma)."
    )


def _does_not_hold(rows: Sequence[Comparison], claims: Sequence[tuple[str, ...]]) -> str:
    """Counts where the rows are not the authors', the data sets furthest off, missed promises."""
    parts = [
        f"{_count(some)} on {ORIGINS[origin]}"
        for origin in (_sets.RANDOM, _sets.SIMULATED)
        if (some := _of(rows, origin))
    ]
    said = [f"where rows had to be drawn or made again, {' and '.join(parts)} do"] if parts else []
    furthest: dict[str, Comparison] = {}
    for row in sorted(rows, key=lambda row: -abs(row.difference)):
        if abs(row.difference) > TOLERANCE:
            furthest.setdefault(row.entry.dataset, row)
    named = [
        f"{dataset} ({row.method} {row.difference:+.1f} points)"
        for dataset, row in list(furthest.items())[:NAMED]
    ]
    if named:
        said.append(f"furthest off are {', '.join(named)}")
    missed = [claim for claim, _, _, verdict in claims if verdict != "holds"]
    if missed:
        said.append(f"of the promises below these miss their bar: {', '.join(missed)}")
    return f"**What does not:** {'; '.join(said)}." if said else ""


def _wrong(book: Book) -> str:
    results = errata.results(book)
    if not results:
        return ""
    shown = [name for name, result in results.items() if errata.ERRATA[name].is_shown(result)]
    first = Counter(errata.ERRATA[name].where.split()[0].strip(",") for name in shown)
    counts = ", ".join(f"{number} in {paper}" for paper, number in first.items())
    return (
        f"**What is wrong in print:** {len(shown)} formulas, claims and scripts ({counts}), for "
        f"each of which a simulation gives the corrected number and not the printed one "
        "([errata](#errata-what-the-papers-got-wrong))."
    )


def _picture(book: Book, rows: Sequence[Comparison]) -> str:
    if not rows:
        return ""
    colours = {method: at for at, group in enumerate(COLOURS.values()) for method in group}
    points: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    for row in rows:
        points[row.entry.dataset].append((row.difference, colours[row.method]))
    made = [
        Strip(dataset, title, points[dataset])
        for origin, title in ORIGINS.items()
        for dataset in sorted(points)
        if _sets.set_of(dataset).origin == origin
    ]
    path = book.page.parent / book.page.stem / "lead.svg"
    said = "accuracy computed again - printed accuracy (points)"
    strips(path, made, list(COLOURS), x_label=said, band=TOLERANCE)
    return book.shown(
        path,
        f"Every printed accuracy of an exact nonlinear kernel that is computed again here, "
        f"{len(rows)} of them: ours, chosen on the test part as in the papers, less the printed "
        "one. The band is half a point.",
    )
