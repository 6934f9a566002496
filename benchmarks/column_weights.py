"""weights="learn" against unweighted columns: Friedman 1 with columns of noise, and paired splits.

Friedman 1 has five columns that matter, among 10 or 50; the peer is HistGradientBoosting. Tables
are those of default_fit.py. Each is split at random, two thirds to learn from and at most 6,000
rows: twenty times below 2,000 rows, else three times. Both models see the same splits, and the
standard error is that of the mean of their differences. Scores are accuracies, or R^2 in
hundredths; one thread, processor time of the fit. A table is worse if it loses more than 0.3 points
and more than two standard errors.

    KERNELIGHT_DATA=folder python benchmarks/column_weights.py [names ...]
"""

from __future__ import annotations

import argparse
import math
import os
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _measure import Row, show, threads
from default_fit import MOST_ROWS, REGRESSION
from explain import friedman
from sklearn.ensemble import HistGradientBoostingRegressor

from kernelight import KernelClassifier, KernelRegressor

#: On which choices were made, and those that only confirm them. A loss of DNA on its conventional
#: test rows led to the comparison in the last round, so that it is no confirmation.
CHOSEN_ON = (
    *("German", "Phoneme", "WineRed", "Segment", "CMC", "Satimage", "RobotNavi", "California"),
    *("Vehicle", "Parkinson", "Adult", "DNA"),
)
CONFIRMED_ON = (
    *("Chess", "PageBlocks", "Ring", "Gesture", "Letter", "Spam", "Splice", "Sonar"),
    *("Urban", "Vowel", "Concrete", "Energy", "Protein", "PowerPlant", "kin8nm", "IJCNN"),
    "Covertype",
)
QUICK_TABLES = ("RobotNavi", "Segment")
FEW_ROWS, MANY_SPLITS, FEW_SPLITS, MOST_TEST_ROWS = 2_000, 20, 3, 20_000
FRIEDMAN_ROWS, FRIEDMAN_TEST_ROWS, LEAST_GAIN = 3_000, 5_000, 7.0
MOST_LOSS = 0.3  # points


class Result(NamedTuple):
    """One table: scores of all splits in hundredths, without and with weights, and seconds."""

    rows: int
    plain: list[float]
    weighted: list[float]
    plain_seconds: float
    seconds: float
    taken: int  # splits on which weights were better

    @property
    def gain(self) -> float:
        """The mean difference."""
        return float(np.mean(self.weighted) - np.mean(self.plain))

    @property
    def error(self) -> float:
        """The standard error of the mean difference."""
        differences = np.subtract(self.weighted, self.plain)
        return float(differences.std(ddof=1) / math.sqrt(len(differences)))

    @property
    def is_worse(self) -> bool:
        """Whether the loss is larger than it may be."""
        return self.gain < -max(MOST_LOSS, 2 * self.error)


def run(quick: bool = False) -> list[Row]:
    """Friedman 1, and a row for each table."""
    names = QUICK_TABLES if quick else (*CHOSEN_ON, *CONFIRMED_ON)
    rows = [row for n_columns in (10, 50) for row in friedman_rows(n_columns)]
    return [*rows, *rows_of(measured(list(names)))]


def friedman_rows(n_columns: int) -> list[Row]:
    """R^2 without and with weights, and that of the peer."""
    X, y = friedman(FRIEDMAN_ROWS + FRIEDMAN_TEST_ROWS, n_columns)
    train, test = slice(FRIEDMAN_ROWS), slice(FRIEDMAN_ROWS, None)
    models = (
        KernelRegressor(),
        KernelRegressor(weights="learn"),
        HistGradientBoostingRegressor(random_state=0),
    )
    with threads(1):
        plain, weighted, peer = (
            100 * float(model.fit(X[train], y[train]).score(X[test], y[test])) for model in models
        )
    what = f"Friedman 1, {n_columns} columns, {FRIEDMAN_ROWS:,} rows"
    bar = LEAST_GAIN if n_columns > 10 else 0.0
    return [
        {
            "claim": f"{what}: R² {weighted:.2f}",
            "peer": f"without weights: {plain:.2f}",
            "bar": f"at least {bar:g} points more",
            "measured": weighted - plain,
            "unit": "points",
            "holds": weighted - plain >= bar,
        },
        {
            "claim": f"{what}: R² {weighted:.2f}",
            "peer": f"HistGradientBoosting: {peer:.2f}",
            "bar": "more",
            "measured": weighted - peer,
            "unit": "points",
            "holds": weighted > peer,
        },
    ]


def measured(names: list[str]) -> dict[str, Result]:
    """The result of each table that is there."""
    results = {}
    for name in names:
        table = read(name)
        if table is None:
            print(f"{name} is left out: there is no {name}.npz in KERNELIGHT_DATA.", flush=True)
            continue
        one = results[name] = compared(name, *table)
        print(
            f"{name}: {np.mean(one.plain):.2f} and {np.mean(one.weighted):.2f} with weights, "
            f"{one.gain:+.2f} ± {one.error:.2f}, taken {one.taken} of {len(one.plain)} times, "
            f"{one.seconds / one.plain_seconds:.2f} times the time ({one.seconds:.2f} s)",
            flush=True,
        )
    return results


def read(name: str) -> tuple[Any, Any] | None:
    """All rows of a table; None if its file is missing."""
    folder = Path(os.environ.get("KERNELIGHT_DATA", "."))
    for path in (folder / f"{name}.npz", folder / "tables" / f"{name}.npz"):
        if path.is_file():
            file = np.load(path)
            if "X" in file:
                return file["X"].astype(np.float32), file["y"]
            X = np.concatenate([file["X_train"], file["X_test"]]).astype(np.float32)
            return X, np.concatenate([file["y_train"], file["y_test"]])
    return None


def compared(name: str, X: Any, y: Any) -> Result:
    """Both models on the splits of a table, each on one thread."""
    kind: Any = KernelRegressor if name in REGRESSION else KernelClassifier
    n_train = min(len(y) * 2 // 3, MOST_ROWS)
    scores: dict[str | None, list[float]] = {None: [], "learn": []}
    seconds: dict[str | None, list[float]] = {None: [], "learn": []}
    taken = 0
    for seed in range(MANY_SPLITS if n_train < FEW_ROWS else FEW_SPLITS):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:n_train], order[n_train:][:MOST_TEST_ROWS]
        for weights in scores:
            model = kind(weights=weights)
            with threads(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                start = time.process_time()
                model.fit(X[train], y[train])
                seconds[weights].append(time.process_time() - start)
                scores[weights].append(100 * float(model.score(X[test], y[test])))
            taken += model.weights_ is not None
    plain_seconds, own_seconds = (float(np.mean(seconds[weights])) for weights in (None, "learn"))
    return Result(n_train, scores[None], scores["learn"], plain_seconds, own_seconds, taken)


def rows_of(results: dict[str, Result]) -> list[Row]:
    """The results as rows of the report."""
    if not results:
        return []
    rows: list[Row] = []
    for what, names in (("chosen on", CHOSEN_ON), ("not chosen on", CONFIRMED_ON)):
        some = [results[name] for name in names if name in results]
        if some:
            worse = sum(one.is_worse for one in some)
            rows.append(
                {
                    "claim": f"tables that lose, of {len(some)} that weights were {what}",
                    "peer": "without weights",
                    "bar": f"not one by {MOST_LOSS:g} points and two standard errors",
                    "measured": worse,
                    "unit": "tables",
                    "holds": worse == 0,
                }
            )
    gain = float(np.mean([one.gain for one in results.values()]))
    ratio = float(np.median([one.seconds / one.plain_seconds for one in results.values()]))
    rows += [
        {
            "claim": f"mean score of {len(results)} tables",
            "peer": "without weights",
            "bar": "not below it",
            "measured": gain,
            "unit": "points",
            "holds": gain >= 0,
        },
        {
            "claim": f"fit, median of {len(results)} tables, one thread, processor time",
            "peer": "without weights",
            "bar": "none, for comparison",
            "measured": ratio,
            "holds": True,
        },
    ]
    for name, one in results.items():
        unit = "R² " if name in REGRESSION else ""
        rows.append(
            {
                "claim": f"{name}, {one.rows:,} rows: {unit}{np.mean(one.weighted):.2f}, weights "
                f"taken {one.taken} of {len(one.plain)} times",
                "peer": f"without weights: {np.mean(one.plain):.2f}",
                "bar": f"none, for comparison; standard error {one.error:.2f}",
                "measured": one.gain,
                "unit": "points",
                "holds": True,
            }
        )
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    show(rows_of(measured(asked.names)) if asked.names else run())
