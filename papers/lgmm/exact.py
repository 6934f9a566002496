"""Tables 1 to 3 and 5, Figures 5 to 8: linear, RBF (58 gammas) and GMM, exact SVMs over C."""

from __future__ import annotations

from papers._cells import Cell
from papers._exact import Comparison, Entry, compare, comparison_table, curves, exact_cells
from papers._notes import LGMM_NOTES
from papers._page import Book, Plan, printed_sets, table
from papers._sets import LGMM_NAMES, lgmm_scaling

TITLE = "LGMM Tables 1-3 and 5, Figures 5-8: exact kernels"
QUICK = ("Vowel264", "ImageSeg", "Urban", "Dexter")
KERNELS = ("GMM", "linear", "RBF")
LINEAR_ONLY = {"IJCNN"}  # too large for a Gram matrix: linear in the paper, too
TABLE_5 = ("Letter", "Webspam20k", "DailySports", "RobotNavi", "SEMG1", "M-Rotate")


def entries(plan: Plan) -> list[Entry]:
    """The data sets of the tables that are present."""
    names = {LGMM_NAMES.get(name, name): name for name in printed_sets("LGMM")}
    return [Entry("LGMM", names[found], found, lgmm_scaling(found)) for found in plan.of(names, QUICK)]


def kernels(entry: Entry) -> tuple[str, ...]:
    """Those of a data set."""
    return ("linear",) if entry.dataset in LINEAR_ONLY else KERNELS


def cells(plan: Plan) -> list[Cell]:
    """All kernels on all sets."""
    return [cell for entry in entries(plan) for cell in exact_cells([entry], kernels(entry), plan)]


def comparisons(book: Book) -> list[Comparison]:
    """What is computed."""
    found = [
        compare(book, entry, kernel, kernel) for entry in entries(book.plan) for kernel in kernels(entry)
    ]
    return [row for row in found if row is not None]


def report(book: Book) -> str:
    """The table, Table 5, and accuracy against C."""
    rows = comparisons(book)
    text = (
        "Values as in the source files. Letter is that of the LIBSVM site, whose columns are scaled to [-1, 1]; "
        "the integers of the "
        "UCI file do not give the figures of the table.\n\n"
    )
    five = [row for row in rows if row.entry.printed_name in TABLE_5]
    lines = [(row.entry.printed_name, row.method, row.paper, row.ours) for row in five]
    table_5 = table(("data set", "kernel", "paper", "ours"), lines)
    figure = book.figure(
        "lgmm-exact",
        "LGMM Figures 5-8: test accuracy of exact kernel SVMs against C; RBF at the best gamma of each C.",
        curves(book, entries(book.plan), KERNELS),
        x_label="C",
        y_label="accuracy (%)",
    )
    absent = sorted(set(TABLE_5) - {row.entry.printed_name for row in five})
    note = f"Table 5, the sets of the hashing experiments (not there: {', '.join(absent) or 'none'}):\n\n"
    return f"{text}{comparison_table(rows, LGMM_NOTES)}\n{note}{table_5}\n{figure}"


if __name__ == "__main__":
    from papers.run import main

    raise SystemExit(main(["lgmm/exact"]))
