"""Table 1: linear, RBF and GMM, exact SVMs."""

from __future__ import annotations

from papers._cells import Cell
from papers._exact import Entry, comparison_table, comparisons, exact_cells
from papers._notes import LGMM_NOTES
from papers._page import Book, Plan, prose
from papers._sets import lgmm_scaling

TITLE = "NYS Table 1: exact kernels"
TEXT = (
    "All 41 test labels of SVMGuide3 are of one class. "
    "For Covertype25k, LGMM prints other figures than NYS."
)
KERNELS = ("GMM", "linear", "RBF")
NAMES, QUICK = ("SVMGuide3", "Letter", "Covertype25k", "Covertype"), ("SVMGuide3",)


def entries(plan: Plan) -> list[Entry]:
    """The data sets that are present."""
    return [Entry("NYS", name, name, lgmm_scaling(name)) for name in plan.of(NAMES, QUICK)]


def cells(plan: Plan) -> list[Cell]:
    """All kernels on all sets."""
    return exact_cells(entries(plan), KERNELS, plan)


def report(book: Book) -> str:
    """The table."""
    rows = comparisons(book, entries(book.plan), KERNELS)
    return f"{prose(TEXT)}\n\n{comparison_table(rows, LGMM_NOTES)}"


if __name__ == "__main__":
    from papers.run import alone

    raise SystemExit(alone("nys/table"))
