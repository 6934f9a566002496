"""Figures 4 to 10: feature maps of single kernels and of products, against each other."""

from __future__ import annotations

from papers._cells import Cell
from papers._hashed import BEST, best_mean, c_panel, hashed_cells
from papers._page import Book, Plan, prose, table
from papers._printed import printed
from papers._sets import cnk_scaling

TITLE = "CNK Figures 4-10: feature maps"
TEXT = (
    "Codes of GCWS have 8 bits. "
    "Figure 8 is of a set (WebspamN1) that the folder does not have. "
    f"{BEST}"
)
SETS_SHOWN = ("Splice", "Letter4k", "Satimage", "Spam", "USPS", "Covertype10k", "M-Rotate")
QUICK = ("Splice",)
KS = (64, 128, 256, 1024, 4096)
# ending of the file -> title, caption, and the maps with their dashes
FIGURES = {
    "4": ("Figure 4", "RFF (solid) and folded RFF (dashed)", {"RFF": "-", "folded RFF": "--"}),
    "5": (
        "Figure 5",
        "min-max (solid; dotted: the papers' coding) and RFF (dashed)",
        {"GCWS": "-", "GCWS papers": ":", "RFF": "--"},
    ),
    "6-7": (
        "Figures 6-7",
        "min-max (solid; dotted: the papers' coding), sign Gauss for acos (dashed) and sign Cauchy "
        "for acos-chi2 (dash-dotted)",
        {"GCWS": "-", "GCWS papers": ":", "sign Gauss": "--", "sign Cauchy": "-."},
    ),
    "9-10": (
        "Figures 9-10",
        "min-max (solid), MM-acos (dashed) and MM-acos-chi2 (dash-dotted)",
        {"GCWS": "-", "MM-acos": "--", "MM-acos-chi2": "-."},
    ),
    "9-10-papers": (
        "Figures 9-10 with the papers' coding",
        "min-max (solid), MM-acos (dashed) and MM-acos-chi2 (dash-dotted)",
        {"GCWS papers": "-", "MM-acos papers": "--", "MM-acos-chi2 papers": "-."},
    ),
}
METHODS = (
    "GCWS",
    "GCWS papers",
    "RFF",
    "folded RFF",
    "sign Gauss",
    "sign Cauchy",
    "MM-acos",
    "MM-acos papers",
    "MM-acos-chi2",
    "MM-acos-chi2 papers",
)


def ks_of(plan: Plan) -> tuple[int, ...]:
    """The numbers of samples."""
    return (64, 256) if plan.quick else KS


def gamma_of(dataset: str) -> float:
    """The best gamma of the exact kernel, as printed."""
    return printed("CNK", dataset, "RBF or fRBF (first of pair)", "gamma") or 1.0


def cells(plan: Plan) -> list[Cell]:
    """All maps on all sets."""
    return [
        cell
        for name in plan.of(SETS_SHOWN, QUICK)
        for cell in hashed_cells(
            name, cnk_scaling(name), METHODS, ks_of(plan), (8,), gamma_of(name), plan
        )
    ]


def report(book: Book) -> str:
    """A table of the best over C, and a figure for each comparison."""
    names = book.plan.of(SETS_SHOWN, QUICK)
    lines = []
    for name in names:
        for method in METHODS:
            means = [
                best_mean(book, name, cnk_scaling(name), method, k, 8, gamma_of(name))
                for k in ks_of(book.plan)
            ]
            if any(mean is not None for mean in means):
                lines.append((name, method, *means))
    heads = ("data set", "map", *(f"k = {k}" for k in ks_of(book.plan)))
    figures = []
    for ending, (title, caption, methods) in FIGURES.items():
        panels = [
            c_panel(
                book,
                name,
                name,
                cnk_scaling(name),
                methods,
                [k for k in ks_of(book.plan) if k != 64],
                8,
                gamma_of(name),
            )
            for name in names
        ]
        figures.append(
            book.figure(
                f"cnk-linearized-{ending}",
                f"CNK {title}: {caption}; colours are k.",
                panels,
                x_label="C",
                y_label="accuracy (%)",
                columns=3,
            )
        )
    return "\n".join([f"{prose(TEXT)}\n", table(heads, lines), *figures])


if __name__ == "__main__":
    from papers.run import alone

    raise SystemExit(alone("cnk/linearized"))
