"""Figure 9 and Table 4: error rates on variations of MNIST, from the cells of Tables 1 to 3."""

from __future__ import annotations

from papers._cells import Cell
from papers._exact import exact_cells
from papers._figures import Line, Panel
from papers._page import Book, Plan, prose, table
from papers._printed import printed
from papers.lgmm import exact

TITLE = "LGMM Figure 9, Table 4: variations of MNIST"
TABLE_4 = ("M-Basic", "M-Rotate", "M-Image", "M-Rand", "M-RotImg")


def cells(plan: Plan) -> list[Cell]:
    """The cells of the variations, which the tables share."""
    variations = [entry for entry in exact.entries(plan) if entry.dataset.startswith("M-")]
    return exact_cells(variations, exact.KERNELS, plan)


def report(book: Book) -> str:
    """Error rates, printed and ours."""
    rates = {(row.entry.dataset, row.method): 100 - row.ours for row in exact.compared(book)}
    panel = Panel("error rate (%)")
    for colour, method in enumerate(exact.KERNELS):
        levels = [i for i in range(1, 7) if (f"M-Noise{i}", method) in rates]
        if levels:
            errors = [rates[f"M-Noise{i}", method] for i in levels]
            panel.lines.append(Line(levels, errors, f"{method}, ours", colour, "-", "o"))
            paper = [100 - (printed("LGMM", f"M-Noise{i}", method) or 0) for i in range(1, 7)]
            panel.lines.append(Line(range(1, 7), paper, f"{method}, paper", colour, ":", "x"))
    figure = book.figure(
        "lgmm-noise",
        "LGMM Figure 9: error rates on M-Noise1 to M-Noise6.",
        [panel],
        x_label="M-Noise",
        y_label="error (%)",
        log_x=False,
    )
    lines = [
        (name, method, 100 - (printed("LGMM", name, method) or 0), rates[name, method])
        for name in TABLE_4
        for method in exact.KERNELS
        if (name, method) in rates
    ]
    table_4 = table(("data set", "kernel", "error, paper", "error, ours"), lines)
    missing = [
        f"{name} {kernel}"
        for name in TABLE_4
        for kernel in exact.KERNELS
        if (name, kernel) not in rates
    ]
    last = prose(f"Not computed yet: {', '.join(missing) or 'nothing'}.")
    return f"{figure}\n{table_4}\n{last}\n"


if __name__ == "__main__":
    from papers.run import alone

    raise SystemExit(alone("lgmm/noise"))
