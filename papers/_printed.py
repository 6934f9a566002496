"""What the papers printed: printed.csv, one row for each accuracy."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

PRINTED = Path(__file__).resolve().parent / "printed.csv"


@lru_cache(maxsize=1)
def printed_rows() -> list[dict[str, str]]:
    """All rows."""
    with PRINTED.open(newline="") as handle:
        return list(csv.DictReader(handle))


def printed(
    paper: str, dataset: str, method: str, column: str = "accuracy_percent"
) -> float | None:
    """What a paper printed."""
    for row in printed_rows():
        if (row["paper"], row["dataset"], row["method"]) == (paper, dataset, method) and row[
            column
        ]:
            return float(row[column])
    return None


def printed_sets(paper: str, table_name: str | None = None) -> list[str]:
    """The data sets of a table, as printed."""
    rows = [
        row
        for row in printed_rows()
        if row["paper"] == paper and (table_name or row["table"]) == row["table"]
    ]
    return list(dict.fromkeys(row["dataset"] for row in rows))


def printed_sizes(dataset: str) -> tuple[int, int] | None:
    """Training and test rows of a data set, None if no paper prints them."""
    for row in printed_rows():
        if row["dataset"] == dataset and row["n_train"] and row["n_test"]:
            return int(row["n_train"]), int(row["n_test"])
    return None
