"""Figure 18: training times of linear SVMs on GCWS codes and on NRFF features.

The data set is IJCNN, because that of the paper is not public.
"""

from __future__ import annotations

from papers._cells import Cell, cell
from papers._figures import Line, Panel
from papers._page import Book, Plan
from papers._sets import set_of, stage_of
from papers.lgmm.hashed import gamma_of

TITLE = "LGMM Figure 18: training times"
CS = [0.01, 0.1, 1.0, 10.0]
BITS = (2, 4, 8)


def _dataset(plan: Plan) -> str:
    return "Satimage" if plan.quick else "IJCNN"


def _cells(plan: Plan) -> dict[tuple[int, str], Cell]:
    name = _dataset(plan)
    if name not in plan.present:
        return {}
    wanted = {}
    for k in (128,) if plan.quick else (128, 256, 512, 1024):
        for label, bits in [("NRFF", None), *((f"GCWS, b = {bits}", bits) for bits in BITS)]:
            method, gamma = ("NRFF", gamma_of(name)) if bits is None else ("GCWS", None)
            wanted[k, label] = cell(
                "times",
                dataset=name,
                method=method,
                k=k,
                bits=bits,
                gamma=gamma,
                cs=CS,
                stage=stage_of(name),
                weight=set_of(name).rows * k / 1e6,
                timed=True,
            )
    return wanted


def cells(plan: Plan) -> list[Cell]:
    """One for each map and k."""
    return list(_cells(plan).values())


def report(book: Book) -> str:
    """Seconds against C."""
    panels: dict[int, Panel] = {}
    for (k, label), wanted in _cells(book.plan).items():
        result = book.get(wanted)
        if result is not None:
            panel = panels.setdefault(k, Panel(f"k = {k}"))
            panel.lines.append(
                Line(result["cs"], result["seconds"], label, len(panel.lines), "-", ".")
            )
    return book.figure(
        "lgmm-times",
        f"LGMM Figure 18: seconds to train on one thread, each C from zero; on "
        f"{_dataset(book.plan)}.",
        list(panels.values()),
        x_label="C",
        y_label="seconds",
        log_y=True,
    )


if __name__ == "__main__":
    from papers.run import alone

    raise SystemExit(alone("lgmm/times"))
