"""The speed of reading data files: LIBSVM text against scikit-learn, CSV against pandas.

Files of 200 MB are generated in a temporary folder and read from the cache of the system. All of
`open_dataset(...).materialise()` is timed, with what it learns about the columns; the peers give
the same matrix and labels.
"""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _measure import CORES, Row, at_least, best_of_turns, show, threads
from sklearn.datasets import load_svmlight_file

from kernelight.data import open_dataset

BYTES = 200e6
REPEATS = 5


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
    rows = []
    for count in _counts():
        with threads(count):
            ours, peer = best_of_turns(2, partial(_by_us, path), partial(load_svmlight_file, path))
        claim = f"LIBSVM text, 200 MB, {count} thread{'s' * (count > 1)}"
        rows.append(at_least(claim, "scikit-learn load_svmlight_file", 10, peer / ours))
    return rows


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
        for count in _counts():
            with threads(count):
                ours, peer = best_of_turns(
                    REPEATS, partial(_by_us, path), partial(_by_pandas, path)
                )
            claim = f"CSV, 200 MB of numbers of {digits}, {count} thread{'s' * (count > 1)}"
            rows.append(at_least(claim, "pandas, engine c", 1, peer / ours))
    return rows


def _by_us(path: str) -> Any:
    return open_dataset(path).materialise()


def _by_pandas(path: str) -> tuple[np.ndarray, np.ndarray]:
    frame = pd.read_csv(path, engine="c")
    y = frame.pop("label").to_numpy()
    return np.ascontiguousarray(frame.to_numpy()), y


if __name__ == "__main__":
    show(run())
