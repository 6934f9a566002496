"""Figures 1 to 11: GMM-GCWS, GMM-NYS, RBF-NYS and RBF-NRFF at k from 32 to 1,024."""

from __future__ import annotations

from papers._cells import Cell
from papers._figures import Line, Panel
from papers._hashed import BEST, best_mean, curve, hashed_cells
from papers._page import Book, Plan, prose, table
from papers._printed import printed
from papers._sets import lgmm_scaling

TITLE = "NYS Figures 1-11: Nystrom against hashing"
TEXT = f"Codes of GCWS have 8 bits. {BEST}"
NAMES, QUICK = ("SVMGuide3", "Letter", "Covertype25k", "Covertype"), ("SVMGuide3",)
KS = (32, 64, 128, 256, 512, 1024)
METHODS = ("GCWS", "GCWS papers", "GMM-NYS", "RBF-NYS", "NRFF")
LACKING = ("SensIT", "Webspam", "PAMAP105", "PAMAP101", "RCV1")  # Figures 4-7 and 9-11


def ks_of(plan: Plan) -> tuple[int, ...]:
    """The numbers of samples."""
    return (32, 128) if plan.quick else KS


def gamma_of(name: str) -> float:
    """The best gamma of the exact kernel, as printed."""
    return printed("NYS", name, "RBF", "gamma") or 1.0


def cells(plan: Plan) -> list[Cell]:
    """All maps on all sets."""
    return [
        cell
        for name in plan.of(NAMES, QUICK)
        for cell in hashed_cells(
            name, lgmm_scaling(name), METHODS, ks_of(plan), (8,), gamma_of(name), plan
        )
    ]


def report(book: Book) -> str:
    """A table of the best over C, and accuracy against C."""
    return section(book, book.plan.of(NAMES, QUICK), "nys-hashed", "NYS Figures 1-3 and 8")


def section(book: Book, names: list[str], figure_name: str, title: str) -> str:
    """The maps on some sets; TGMM has these figures, too."""
    ks = ks_of(book.plan)
    lines, panels = [], []
    for name in names:
        scaling, gamma = lgmm_scaling(name), gamma_of(name)
        for method in METHODS:
            means = [best_mean(book, name, scaling, method, k, 8, gamma) for k in ks]
            if any(mean is not None for mean in means):
                lines.append((name, method, *means))
        for k in ks:
            panel = Panel(f"{name}, k = {k}")
            for colour, method in enumerate(METHODS):
                against_c = curve(book, name, scaling, method, k, 8, gamma)
                if against_c is not None:
                    panel.lines.append(Line(*against_c, method, colour))
            panels.append(panel)
    figure = book.figure(
        figure_name,
        f"{title}: accuracy against C, a panel for each k.",
        panels,
        x_label="C",
        y_label="accuracy (%)",
        columns=3,
    )
    heads = ("data set", "map", *(f"k = {k}" for k in ks))
    return f"{prose(TEXT)}\n\n{table(heads, lines)}\n{figure}"


if __name__ == "__main__":
    from papers.run import alone

    raise SystemExit(alone("nys/hashed"))
