"""Tables 1 to 3 and 5, Figures 5 to 8: linear, RBF (58 gammas) and GMM, exact SVMs over C."""

from __future__ import annotations

from papers._cells import Cell
from papers._exact import Comparison, Entry, comparison_table, comparisons, curves, exact_cells
from papers._notes import LGMM_NOTES
from papers._page import Book, Plan, prose, table
from papers._printed import printed_sets
from papers._sets import LGMM_NAMES, lgmm_scaling

TITLE = "LGMM Tables 1-3 and 5, Figures 5-8: exact kernels"
TEXT = (
    "Values are those of the source files. "
    "Letter is that of the LIBSVM site, whose columns are scaled to [-1, 1]; the integers of the "
    "UCI file do not give the figures of the table."
)
QUICK = ("Vowel264", "ImageSeg", "Urban", "Dexter")
KERNELS = ("GMM", "linear", "RBF")
TABLE_5 = ("Letter", "Webspam20k", "DailySports", "RobotNavi", "SEMG1", "M-Rotate")


def entries(plan: Plan) -> list[Entry]:
    """The data sets of the tables that are present."""
    names = {LGMM_NAMES.get(name, name): name for name in printed_sets("LGMM")}
    return [Entry("LGMM", names[name], name, lgmm_scaling(name)) for name in plan.of(names, QUICK)]


def cells(plan: Plan) -> list[Cell]:
    """All kernels on all sets."""
    return exact_cells(entries(plan), KERNELS, plan)


def compared(book: Book) -> list[Comparison]:
    """All comparisons that are computed."""
    return comparisons(book, entries(book.plan), KERNELS)


def report(book: Book) -> str:
    """The table, Table 5, and accuracy against C."""
    rows = compared(book)
    five = [row for row in rows if row.entry.printed_name in TABLE_5]
    lines = [(row.entry.printed_name, row.method, row.paper, row.ours) for row in five]
    table_5 = table(("data set", "kernel", "paper", "ours"), lines)
    figure = book.figure(
        "lgmm-exact",
        "LGMM Figures 5-8: test accuracy of exact kernel SVMs against C; RBF at the best gamma of "
        "each C.",
        curves(book, entries(book.plan), KERNELS),
        x_label="C",
        y_label="accuracy (%)",
    )
    absent = [name for name in TABLE_5 if name not in book.plan.present]
    lacking = f" (the folder has no {' or '.join(absent)})" if absent else ""
    note = prose(f"Table 5, the sets of the hashing experiments{lacking}:")
    return "\n".join(
        [f"{prose(TEXT)}\n", comparison_table(rows, LGMM_NOTES), f"{note}\n", table_5, figure]
    )


if __name__ == "__main__":
    from papers.run import alone

    raise SystemExit(alone("lgmm/exact"))
