"""Tables 1 to 3 and Figures 1 to 3: exact SVMs of eight kernels over C."""

from __future__ import annotations

from papers._cells import Cell
from papers._exact import Entry, comparison_table, comparisons, curves, exact_cells
from papers._notes import CNK_NOTES
from papers._page import Book, Plan, prose
from papers._printed import printed_sets
from papers._sets import CNK_NAMES, cnk_scaling

TITLE = "CNK Tables 1-3, Figures 1-3: exact kernels"
TEXT = (
    "Columns are scaled to [0, 1] on the training part, and smaller test values are cut off at 0. "
    "Splice, Spam and the digits are left as in their files: only so do their figures come out. "
    "RBF and fRBF are printed as a pair whose order the source leaves open."
)
QUICK = ("Vowel", "Splice", "Satimage")
KERNELS = ("min-max", "acos", "acos-chi2", "MM-acos", "MM-acos-chi2", "linear", "RBF", "fRBF")
PRINTED = {"RBF": "RBF or fRBF (first of pair)", "fRBF": "RBF or fRBF (second of pair)"}


def entries(plan: Plan) -> list[Entry]:
    """The data sets of the tables that are present."""
    names = {CNK_NAMES.get(name, name): name for name in printed_sets("CNK")}
    return [Entry("CNK", names[name], name, cnk_scaling(name)) for name in plan.of(names, QUICK)]


def cells(plan: Plan) -> list[Cell]:
    """All kernels on all sets."""
    return exact_cells(entries(plan), KERNELS, plan)


def report(book: Book) -> str:
    """The table, and accuracy against C."""
    rows = comparisons(book, entries(book.plan), KERNELS, PRINTED)
    figure = book.figure(
        "cnk-exact",
        "CNK Figures 1-3: test accuracy of exact kernel SVMs against C; RBF and fRBF at the best "
        "gamma of each C.",
        curves(book, entries(book.plan), KERNELS),
        x_label="C",
        y_label="accuracy (%)",
    )
    return f"{prose(TEXT)}\n\n{comparison_table(rows, CNK_NOTES)}\n{figure}"


if __name__ == "__main__":
    from papers.run import alone

    raise SystemExit(alone("cnk/exact"))
