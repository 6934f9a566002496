"""Table 1 and Figures 1 to 6: feature maps on Letter; the other sets are not present."""

from __future__ import annotations

from papers._cells import Cell
from papers._exact import Entry, exact_cell
from papers._hashed import hashed_cells
from papers._page import Book, Plan, best_of, prose
from papers._sets import lgmm_scaling
from papers.nys import hashed as nystroem

TITLE = "TGMM Table 1, Figures 1-6: feature maps"
NAMES = ("Letter",)
LACKING = ("Webspam", "PAMAP105", "RCV1")  # Figures 2-6
PRINTED_LINEAR = 61.66


def _linear() -> Cell:
    return exact_cell(Entry("TGMM", "Letter", "Letter", lgmm_scaling("Letter")), "linear", 0)


def cells(plan: Plan) -> list[Cell]:
    """The cells of NYS on Letter; the quick profile leaves them out."""
    wanted = []
    for name in plan.of(NAMES, ()):
        gamma = nystroem.gamma_of(name)
        wanted += hashed_cells(
            name, lgmm_scaling(name), nystroem.METHODS, nystroem.KS, (8,), gamma, plan
        )
        wanted.append(_linear())
    return wanted


def report(book: Book) -> str:
    """Table 1 and Figure 1."""
    if not book.plan.of(NAMES, ()):
        return "Not in the quick profile, or Letter is absent.\n"
    result = book.get(_linear())
    linear = "not computed yet" if result is None else f"{best_of(result)[0]:.2f}"
    text = prose(
        f"Table 1, linear kernel on Letter: paper {PRINTED_LINEAR}, ours {linear}. "
        "Figure 1 is Figure 2 of NYS."
    )
    return f"{text}\n\n" + nystroem.section(book, list(NAMES), "tgmm-hashed", "TGMM Figure 1")


if __name__ == "__main__":
    from papers.run import alone

    raise SystemExit(alone("tgmm/hashed"))
