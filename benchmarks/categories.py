"""Test accuracy of ways to encode a column with more words than `max_categories`.

The built-in way gives `TableModel` the frame as it is: the most frequent words have a column each,
all others share one, and target values are added. It is compared with leaving the column out;
frequent words alone; words hashed to as many columns; and target encoding alone (scikit-learn's
TargetEncoder, fitted within five folds). The model is ``KernelClassifier("gmm",
n_components=512)``, which tunes the scale and C. Figures are means over three seeds, with standard
errors; a seed draws the rows, and the tables that are generated.

* Adult: ``Adult.csv.gz`` in the folder that KERNELIGHT_DATA names, with at most 10 columns for
  occupation, education and native-country; left out without the folder.
* towns: 2,000 towns with about six rows each, whose effects are normally distributed, and three
  numbers.
* zip codes: 500 of them, some more frequent than others; in a fifth of them a number works in the
  opposite direction.

    KERNELIGHT_DATA=folder python benchmarks/categories.py
"""

from __future__ import annotations

import csv
import gzip
import os
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from _measure import Row, show
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

from kernelight import KernelClassifier, TableModel
from kernelight.data import DataWarning

SEEDS = (0, 1, 2)
ROWS, TEST_ROWS = 12_000, 8_000
MANY = ("occupation", "education", "native-country")
Matrix = np.ndarray[Any, Any]


class Table(NamedTuple):
    """Features that need no decision, columns of many words, classes, and ``max_categories``."""

    numbers: Matrix
    words: Matrix
    y: Matrix
    limit: int


def adult(seed: int) -> Table | None:
    """Rows of Adult; the words of its other columns have a column each."""
    folder = os.environ.get("KERNELIGHT_DATA")
    path = Path(folder or ".") / "Adult.csv.gz"
    if folder is None or not path.is_file():
        return None
    with gzip.open(path, "rt", newline="") as file:
        names, *rows = csv.reader(file)
    table = np.array(rows, dtype=object)[
        np.random.default_rng(seed).permutation(len(rows))[: ROWS + TEST_ROWS]
    ]
    many = [names.index(name) for name in MANY]
    rest = [at for at in range(len(names) - 1) if at not in many]
    numeric = [at for at in rest if all(value.lstrip("-").isdigit() for value in table[:, at])]
    one_hot = OneHotEncoder(sparse_output=False).fit_transform(
        table[:, [at for at in rest if at not in numeric]]
    )
    return Table(
        np.hstack([table[:, numeric].astype(float), one_hot]),
        table[:, many],
        table[:, -1].astype(str),
        10,
    )


def towns(seed: int) -> Table:
    """An effect for each town, and numbers that matter too."""
    rng = np.random.default_rng(seed)
    count = ROWS + TEST_ROWS
    X, town = rng.standard_normal((count, 3)), rng.integers(0, 2_000, count)
    score = (
        X[:, 0] - 0.5 * X[:, 1] + 1.5 * rng.standard_normal(2_000)[town] + rng.logistic(size=count)
    )
    return Table(
        X,
        np.array([f"town {at}" for at in town], dtype=object)[:, None],
        (score > 0).astype(int),
        100,
    )


def zips(seed: int) -> Table:
    """In some zip codes a number has the opposite sign."""
    rng = np.random.default_rng(seed)
    count = ROWS + TEST_ROWS
    frequency = rng.exponential(size=500)
    X, code = rng.standard_normal((count, 3)), rng.choice(500, count, p=frequency / frequency.sum())
    effect = rng.standard_normal(500) * (rng.random(500) < 0.3)
    sign = np.where(rng.random(500) < 0.2, -1, 1)
    score = 1.5 * sign[code] * X[:, 0] + X[:, 1] + 2 * effect[code] + rng.logistic(size=count)
    return Table(
        X,
        np.array([f"{at:05d}" for at in code], dtype=object)[:, None],
        (score > 0).astype(int),
        100,
    )


def left_out(train: Matrix, test: Matrix, y: Matrix, limit: int) -> tuple[Matrix, Matrix]:
    """No columns."""
    return np.empty((len(train), 0)), np.empty((len(test), 0))


def frequent(train: Matrix, test: Matrix, y: Matrix, limit: int) -> tuple[Matrix, Matrix]:
    """The most frequent words have columns of their own, the others share one."""
    counts = Counter(train[:, 0].tolist())
    known = sorted(counts, key=lambda word: (-counts[word], word))[: limit - 1]
    number = {word: at for at, word in enumerate(known)}

    def place(word: str) -> int:
        return number.get(word, limit - 1)

    return _ones(train, place, limit), _ones(test, place, limit)


def hashed(train: Matrix, test: Matrix, y: Matrix, limit: int) -> tuple[Matrix, Matrix]:
    """Words whose hashes agree share a column."""

    def place(word: str) -> int:
        return zlib.crc32(word.encode()) % limit

    return _ones(train, place, limit), _ones(test, place, limit)


def target(train: Matrix, test: Matrix, y: Matrix, limit: int) -> tuple[Matrix, Matrix]:
    """The mean target of a word, shrunk towards that of all rows; in training, out of fold."""
    encoder = TargetEncoder(random_state=0)
    with warnings.catch_warnings():
        # newer versions of scikit-learn want a splitter instead
        warnings.simplefilter("ignore", FutureWarning)
        return encoder.fit_transform(train, y), encoder.transform(test)


def _ones(words: Matrix, place: Callable[[str], int], width: int) -> Matrix:
    one_hot = np.zeros((len(words), width))
    one_hot[np.arange(len(words)), [place(word) for word in words[:, 0]]] = 1
    return one_hot


OURS, ALONE = "built in", "target encoding alone"
Way = Callable[[Matrix, Matrix, Matrix, int], tuple[Matrix, Matrix]]
WAYS: dict[str, Way] = {
    "left out": left_out,
    "frequent words": frequent,
    "hashed": hashed,
    ALONE: target,
}
TABLES: dict[str, Callable[[int], Table | None]] = {
    "Adult": adult,
    "towns": towns,
    "zip codes": zips,
}


def score(table: Table, way: Way, seed: int) -> float:
    """Test accuracy."""
    train, test = slice(0, ROWS), slice(ROWS, None)
    parts = [(table.numbers[train], table.numbers[test])]
    for at in range(table.words.shape[1]):
        column = table.words[:, at : at + 1]
        parts.append(way(column[train], column[test], table.y[train], table.limit))
    X, X_test = (np.hstack(side) for side in zip(*parts, strict=True))
    return float(model_of(seed).fit(X, table.y[train]).score(X_test, table.y[test]))


def model_of(seed: int) -> KernelClassifier:
    """The model of every way."""
    return KernelClassifier("gmm", n_components=512, random_state=seed)


def score_built_in(table: Table, seed: int) -> float:
    """Test accuracy of the frame as it is."""
    frame = pd.DataFrame(
        table.numbers, columns=[f"number {at}" for at in range(table.numbers.shape[1])]
    )
    names = [f"words {at}" for at in range(table.words.shape[1])]
    for at, name in enumerate(names):
        frame[name] = table.words[:, at]
    frame["class"] = table.y
    reading: dict[str, Any] = {"target": "class", "max_categories": table.limit}
    reading["categorical"] = names  # zip codes are digits
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # that there are many words
        model = TableModel(model_of(seed)).fit(frame[:ROWS], **reading)
        return float(model.evaluate(frame[ROWS:])["accuracy"])


def run() -> list[Row]:
    """What is built in against each of the others, on each table."""
    rows = []
    for name, make in TABLES.items():
        tables = [make(seed) for seed in SEEDS]
        if tables[0] is None:
            print(f"{name} is left out: KERNELIGHT_DATA names no folder that has it.", flush=True)
            continue
        known = [table for table in tables if table is not None]
        ours = 100 * np.array([score_built_in(table, seed) for seed, table in enumerate(known)])
        for way, use in WAYS.items():
            theirs = 100 * np.array([score(table, use, seed) for seed, table in enumerate(known)])
            rows.append(_row(name, way, ours, theirs))
    return rows


def _row(name: str, way: str, ours: Matrix, theirs: Matrix) -> Row:
    difference = ours - theirs
    promised = way != ALONE
    error = _error(difference)
    return {
        "claim": f"{name}, {OURS}: {_told(ours)}",
        "peer": f"{way}: {_told(theirs)}",
        "bar": "not below it by two standard errors" if promised else "none, for comparison",
        "measured": float(difference.mean()),
        "unit": f"± {error:.2g} points",
        "holds": not promised or float(difference.mean()) > -2 * error,
    }


def _error(values: Matrix) -> float:
    return float(np.std(values, ddof=1) / len(values) ** 0.5)


def _told(values: Matrix) -> str:
    return f"{values.mean():.2f} ± {_error(values):.2f} %"


if __name__ == "__main__":
    show(run())
