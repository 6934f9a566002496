"""The speed of reading data files: LIBSVM text against scikit-learn, CSV against pandas.

Files of 200 MB, and a table of 100,000 x 50, are generated in a temporary folder and read from the
cache of the system. All of `open_dataset(...).materialise()` is timed, with what it learns about
the columns; the peers give the same matrix and labels. They take turns, so that each finds the
memory that the other has left, or that a virtual machine has given back to its host meanwhile. On
one thread both the time by the clock and that of the processor are compared.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _measure import CORES, Row, at_least, best_times, show, threads
from sklearn.datasets import load_svmlight_file

from kernelight.data import open_dataset

BYTES = 200e6
REPEATS = 4
SKLEARN, PANDAS = "scikit-learn load_svmlight_file", "pandas, engine c"


def run() -> list[Row]:
    """One row for each claim."""
    with tempfile.TemporaryDirectory(prefix="kernelight-") as folder:
        return _libsvm(Path(folder)) + _csv(Path(folder))


def _repeated(path: Path, head: str, block: str) -> str:
    """A file of BYTES bytes: the head, then the block again and again."""
    with open(path, "w") as file:
        file.write(head)
        for _ in range(int(BYTES / len(block)) + 1):
            file.write(block)
    return os.fspath(path)


def _counts() -> list[int]:
    return [1, CORES] if CORES > 1 else [1]


def _libsvm(folder: Path) -> list[Row]:
    rng = np.random.default_rng(0)
    lines = []
    for label in range(5000):
        indices = np.unique(rng.integers(1, 50_000, 75))
        entries = " ".join(
            f"{i}:{value:.6g}" for i, value in zip(indices, rng.random(len(indices)), strict=True)
        )
        lines.append(f"{label % 3} {entries}\n")
    path = _repeated(folder / "rows.svm", "", "".join(lines))
    return _compared("LIBSVM text, 200 MB", SKLEARN, 20, path, 3, load_svmlight_file)


def _csv(folder: Path) -> list[Row]:
    rng = np.random.default_rng(0)
    rows = []
    for digits, form in (("17 digits", "%r"), ("6 digits", "%.6g")):
        values = rng.normal(size=(20_000, 30)).tolist()
        block = "".join(
            f"{','.join(form % value for value in row)},{at % 3}\n" for at, row in enumerate(values)
        )
        names = ",".join([*(f"column {at}" for at in range(30)), "label"])
        path = _repeated(folder / "rows.csv", f"{names}\n", block)
        claim = f"CSV, 200 MB of numbers of {digits}"
        rows += _compared(claim, PANDAS, 1.2, path, REPEATS, _by_pandas)
    path = _table(folder / "table.csv")
    claim = "CSV, 100,000 x 50 integers and numbers of 6 to 17 digits"
    return rows + _compared(claim, PANDAS, 1.2, path, REPEATS, _by_pandas)


def _table(path: Path) -> str:
    """A table of numbers: in turn integers, and numbers of 6, 9, 12 and up to 17 digits."""
    rng, n_rows, n_columns = np.random.default_rng(0), 100_000, 50
    columns = []
    for at in range(n_columns):
        form = ("", ".6g", ".9g", ".12g", "")[at % 5]
        values: list[Any] = (10.0 ** (at % 7 - 3) * rng.normal(size=n_rows)).tolist()
        if at % 5 == 0:
            values = rng.integers(-1000, 100_000, n_rows).tolist()
        columns.append([format(value, form) for value in values])
    with open(path, "w") as file:
        file.write(",".join([*(f"column {at}" for at in range(n_columns)), "label"]) + "\n")
        for at, row in enumerate(zip(*columns, strict=True)):
            file.write(f"{','.join(row)},{at % 3}\n")
    return os.fspath(path)


def _compared(
    claim: str, peer: str, bar: float, path: str, repeats: int, by_peer: Callable[[str], Any]
) -> list[Row]:
    """The claim by the clock for each number of threads, and by the processor for one."""
    rows = []
    for count in _counts():
        with threads(count):
            ours, other = best_times(repeats, partial(_by_us, path), partial(by_peer, path))
        used = f"{count} thread{'s' * (count > 1)}"
        rows.append(at_least(f"{claim}, {used}", peer, bar, other[0] / ours[0]))
        if count == 1:
            claimed = f"{claim}, {used}, processor time"
            rows.append(at_least(claimed, peer, bar, other[1] / ours[1]))
    return rows


def _by_us(path: str) -> Any:
    return open_dataset(path).materialise()


def _by_pandas(path: str) -> tuple[np.ndarray, np.ndarray]:
    frame = pd.read_csv(path, engine="c")
    y = frame.pop("label").to_numpy()
    return np.ascontiguousarray(frame.to_numpy()), y


if __name__ == "__main__":
    show(run())
