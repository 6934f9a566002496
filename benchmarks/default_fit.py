"""KernelClassifier() and KernelRegressor(), tuned as they come, against LightGBM at its defaults.

For each table: the processor time of one fit, tuning included, on one thread, as a ratio to that of
LightGBM on the same rows, and the score of both on other rows (accuracy, or R^2 of a regression).
Fifteen tables make the promise; the others are there to see that no choice is made for these alone.

Tables with a conventional split keep it. Of others two thirds are for training, at random, at most
6,000 rows; below 2,000 rows the scores and times are means of three splits. The files are NAME.npz
in the folder that KERNELIGHT_DATA names, or in its folder tables/; those that are missing are left
out. Scores and ratios of a run are kept with --save, and compared with those of baseline.json:

    KERNELIGHT_DATA=folder python benchmarks/default_fit.py [names ...] [--save]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _data import Split, arrays
from _measure import Row, show, threads
from lightgbm import LGBMClassifier, LGBMRegressor

from kernelight import KernelClassifier, KernelRegressor

BASELINE = Path(__file__).with_name("default_fit_baseline.json")
#: The tables of the promise, with how many rows are learned from where it is not the usual number.
PROMISED: dict[str, int | None] = {
    **dict.fromkeys(("Vowel", "Parkinson", "Spam", "Satimage", "Letter", "USPS", "DNA", "Splice")),
    "Covertype": 17_500,
    "IJCNN": 20_000,
    **dict.fromkeys(("Segment", "Phoneme", "RobotNavi", "Gesture", "Adult")),
}
OTHERS = (
    *("BinaryAlpha", "ImageSeg", "Isolet", "M-Basic", "M-Rotate", "SEMG1", "Sonar", "Urban"),
    *("CMC", "Chess", "German", "PageBlocks", "Ring", "Vehicle", "WineRed"),
)
REGRESSION = ("California", "Concrete", "Energy", "PowerPlant", "Protein", "kin8nm")
QUICK_TABLES = ("Vowel", "Satimage", "DNA", "Splice", "Segment", "Phoneme", "RobotNavi")
MOST_ROWS, MOST_TEST_ROWS, FEW_ROWS, SPLITS = 6_000, 20_000, 2_000, 3
BAR = 1.5


class Result(NamedTuple):
    """One table: seconds of the processor and scores, of ours and of LightGBM."""

    rows: int
    seconds: float
    peer_seconds: float
    score: float
    peer_score: float

    @property
    def ratio(self) -> float:
        """How many times the time of LightGBM ours takes."""
        return self.seconds / self.peer_seconds


def run(quick: bool = False) -> list[Row]:
    """A row for each table, and the median of the promised ones; of a few of them if ``quick``."""
    return rows_of(measured(list(QUICK_TABLES) if quick else [*PROMISED, *OTHERS, *REGRESSION]))


def measured(names: list[str]) -> dict[str, Result]:
    """The result of each table that is there."""
    results = {}
    for name in names:
        each = [fitted(name, split) for split in splits(name)]
        if each:
            results[name] = Result(*(np.mean(column) for column in zip(*each, strict=True)))
            one = results[name]
            print(
                f"{name}: {one.ratio:.2f} times the time of LightGBM ({one.seconds:.2f} s), "
                f"{100 * one.score:.2f} against {100 * one.peer_score:.2f}",
                flush=True,
            )
    return results


def splits(name: str) -> Iterator[Split]:
    """The splits of a table; none if its file is missing."""
    file = arrays(name)
    if file is None:
        return
    wanted = PROMISED.get(name)
    if "X_train" in file:
        X, y, X_test, y_test = (file[key] for key in ("X_train", "y_train", "X_test", "y_test"))
        rng = np.random.default_rng(0)
        some, others = (rng.permutation(len(of)) for of in (y, y_test))
        some, others = some[: wanted or len(y)], others[:MOST_TEST_ROWS]
        yield Split(
            X[some].astype(np.float32), y[some], X_test[others].astype(np.float32), y_test[others]
        )
        return
    X, y = file["X"].astype(np.float32), file["y"]
    n_train = wanted or min(len(y) * 2 // 3, MOST_ROWS)
    for seed in range(SPLITS if n_train < FEW_ROWS else 1):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:n_train], order[n_train:][:MOST_TEST_ROWS]
        yield Split(X[train], y[train], X[test], y[test])


def fitted(name: str, split: Split) -> Result:
    """Both models on one split, each on one thread."""
    regression = name in REGRESSION
    ours: Any = KernelRegressor() if regression else KernelClassifier()
    peer: Any = (LGBMRegressor if regression else LGBMClassifier)(n_jobs=1, verbose=-1)
    with threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, score = timed(ours, split)
        peer_seconds, peer_score = timed(peer, split)
    return Result(len(split.y), seconds, peer_seconds, score, peer_score)


def timed(model: Any, split: Split) -> tuple[float, float]:
    """Seconds of the processor for a fit, and the score."""
    start = time.process_time()
    model.fit(split.X, split.y)
    seconds = time.process_time() - start
    return seconds, float(model.score(split.X_test, split.y_test))


def rows_of(results: dict[str, Result]) -> list[Row]:
    """The results as rows of the report."""
    rows: list[Row] = []
    promised = [results[name].ratio for name in PROMISED if name in results]
    if promised:
        median = float(np.median(promised))
        rows.append(
            {
                "claim": f"fit, median of {len(promised)} tables, one thread, processor time",
                "peer": "LightGBM",
                "bar": f"at most {BAR:g} times the time",
                "measured": median,
                "holds": median <= BAR,
            }
        )
    before = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    both = [name for name in results if name in before]
    if both:
        gain = float(
            np.mean([100 * (results[name].score - before[name]["score"]) for name in both])
        )
        rows.append(
            {
                "claim": f"mean score of {len(both)} tables",
                "peer": "baseline: the first measurement of this benchmark",
                "bar": "not below it",
                "measured": gain,
                "unit": "points",
                "holds": gain >= 0,
            }
        )
    for name, one in results.items():
        unit = "R² " if name in REGRESSION else ""
        known = f"; baseline {shown(before[name]['score'])}" if name in before else ""
        rows.append(
            {
                "claim": f"{name}, {int(one.rows):,} rows: {unit}{shown(one.score)}{known}",
                "peer": f"LightGBM: {shown(one.peer_score)}",
                "bar": "none, for comparison",
                "measured": one.ratio,
                "unit": "times the time",
                "holds": True,
            }
        )
    return rows


def shown(score: float) -> str:
    """A score of 0 to 1 in hundredths."""
    return f"{100 * score:.2f}"


def save(results: dict[str, Result]) -> None:
    """Make these results the baseline."""
    plain = {
        name: {"score": round(one.score, 6), "ratio": round(one.ratio, 3)}
        for name, one in results.items()
    }
    BASELINE.write_text(json.dumps(plain, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--save", action="store_true", help=f"write {BASELINE.name}")
    asked = parser.parse_args()
    found = measured(asked.names or [*PROMISED, *OTHERS, *REGRESSION])
    show(rows_of(found))
    if asked.save:
        save(found)
