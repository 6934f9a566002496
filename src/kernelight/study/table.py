"""The study as a table in the terminal; plain text where there is no terminal."""

from __future__ import annotations

import sys
from typing import TextIO

from kernelight.base import bytes_text
from kernelight.study.cells import Cell
from kernelight.study.result import Study
from kernelight.study.text import score_text, seconds_text

# The report has more; these fit into 80 columns.
NUMBERS = ("test", "validation", "train", "size", "k")

REFERENCE = " *"


def table_rows(study: Study) -> list[list[str]]:
    """The head, and a row for each candidate at the k that was chosen for it."""
    head = ["model", *NUMBERS]
    return [head, *(_row(cell, study) for cell in study.lines)]


def _row(cell: Cell, study: Study) -> list[str]:
    return [
        study.labels[cell.candidate] + (REFERENCE if cell.reference else ""),
        score_text(cell.test, study.task),
        score_text(cell.score, study.task),
        seconds_text(cell.fit_seconds),
        bytes_text(cell.n_bytes),
        "-" if cell.k is None else f"{cell.k:,}",
    ]


def print_study(study: Study, file: TextIO | None = None) -> None:
    """Print notes, the table, and the recommendation.

    Parameters
    ----------
    study : Study
        The result of `compare`.
    file : text file or None, default=None
        Where to print; None is standard output.

    See Also
    --------
    write_report : The report in HTML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelight.study import compare, print_study
    >>> X, y = load_iris(return_X_y=True)
    >>> study = compare(X, y, kernels=["gmm"], components=[32], name="iris", progress=False)
    >>> print_study(study)  # doctest: +ELLIPSIS
    Task: classification into 3 classes (the target holds 3 whole numbers).
    ...
    """
    file = file or sys.stdout
    for note in study.notes:
        print(note, file=file)
    if file.isatty():
        _print_rich(study, file)
    else:
        print(plain_table(table_rows(study)), file=file)
    first = study.recommendation
    low, high = score_text(first.low, study.task), score_text(first.high, study.task)
    marked = f"{REFERENCE}: for reference." if any(cell.reference for cell in study.lines) else ""
    print(
        f"Scores are {study.measure}. Test of the first: 95 % interval {low} to {high}.{marked}",
        file=file,
    )
    for card in study.cards:
        print(f"\n{card.headline}\n{card.reason}", file=file)


def plain_table(rows: list[list[str]]) -> str:
    """Aligned columns, names to the left and numbers to the right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if at == 0 else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _print_rich(study: Study, file: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table

    head, *rows = table_rows(study)
    table = Table(box=None, header_style="bold")
    for at, title in enumerate(head):
        table.add_column(title, justify="left" if at == 0 else "right", no_wrap=at > 0)
    for cell, row in zip(study.lines, rows, strict=True):
        style = "bold green" if cell.candidate == study.recommendation.candidate else None
        table.add_row(*row, style="dim" if cell.reference else style)
    Console(file=file).print(table)
