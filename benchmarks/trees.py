"""kernel="auto" and kernel="gmm" against forests and boosted trees, all at their defaults.

Tables and splits are those of default_fit.py, with at most 6,000 training rows. Peers are
HistGradientBoosting and RandomForest of scikit-learn, LightGBM, XGBoost and CatBoost, each if it is
installed, and the vote of LightGBM and RandomForest (the mean of probabilities or predictions).
One thread each; processor time of the fit. CatBoost is left out where columns times classes are
more than 2,000, because it takes very long there, and mean ranks are those of the other tables.

A table is "within 0.2" if the score (accuracy, or R^2 in hundredths) is at most 0.2 points below
the better of HistGradientBoosting and LightGBM. Results are kept in a file, so that a run that was
stopped goes on:

    KERNELIGHT_DATA=folder python benchmarks/trees.py [names ...] [--results FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _data import Split
from _measure import Row, show, threads
from default_fit import MOST_ROWS, OTHERS, PROMISED, REGRESSION, splits
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from kernelight import KernelClassifier, KernelRegressor

RESULTS = Path(os.environ.get("KERNELIGHT_RESULTS", "build/trees.json"))
WITHIN, MOST_TIMES = 0.2, 8.0
CATBOOST_WORK = 2_000  # columns times classes
BARS = {"classification": 0.85, "regression": 0.80}
VOTE = "vote of LightGBM and RandomForest"
LEADERS = ("HistGradientBoosting", "LightGBM")
Results = dict[str, dict[str, list[list[float]]]]  # table, model: score and seconds of each split


def models(regression: bool) -> dict[str, Callable[[], Any]]:
    """Each model by its name, unfitted."""
    made: dict[str, Callable[[], Any]] = {
        "auto": lambda: (KernelRegressor if regression else KernelClassifier)("auto", n_jobs=1),
        "gmm": lambda: (KernelRegressor if regression else KernelClassifier)(n_jobs=1),
        "LightGBM": lambda: (LGBMRegressor if regression else LGBMClassifier)(
            n_jobs=1, verbose=-1, random_state=0
        ),
        "HistGradientBoosting": lambda: (
            HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        )(random_state=0),
        "RandomForest": lambda: (RandomForestRegressor if regression else RandomForestClassifier)(
            n_jobs=1, random_state=0
        ),
    }
    try:
        import xgboost
    except ImportError:
        print("XGBoost is left out: it is not installed.", flush=True)
    else:
        made["XGBoost"] = lambda: (xgboost.XGBRegressor if regression else xgboost.XGBClassifier)(
            n_jobs=1, random_state=0
        )
    try:
        import catboost
    except ImportError:
        print("CatBoost is left out: it is not installed.", flush=True)
    else:
        made["CatBoost"] = lambda: (
            catboost.CatBoostRegressor if regression else catboost.CatBoostClassifier
        )(thread_count=1, random_seed=0, verbose=0, allow_writing_files=False)
    return made


def run() -> list[Row]:
    """The promises, and a row for each table."""
    return rows_of(measured([*PROMISED, *OTHERS, *REGRESSION], RESULTS))


def measured(names: list[str], path: Path) -> Results:
    """Scores and seconds of each table and model; those in the file are not measured again."""
    results: Results = json.loads(path.read_text()) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    for name in names:
        of_table = results.setdefault(name, {})
        for at, split in enumerate(map(smaller, splits(name))):
            measure(of_table, at, split, name in REGRESSION)
            path.write_text(json.dumps(results))
        print(name, {key: round(scores(each), 2) for key, each in of_table.items()}, flush=True)
    return {name: of_table for name, of_table in results.items() if of_table and name in names}


def smaller(split: Split) -> Split:
    """At most `MOST_ROWS` training rows, and test rows of classes that occur among them."""
    some = slice(MOST_ROWS)
    known = np.isin(split.y_test, split.y[some]) if split.y.dtype.kind != "f" else slice(None)
    return Split(split.X[some], split.y[some], split.X_test[known], split.y_test[known])


def measure(of_table: dict[str, Any], at: int, split: Split, regression: bool) -> None:
    """Each model on one split, and the vote."""
    X, y, X_test, y_test = split
    labels: Any = ()
    if not regression:
        labels, y = np.unique(y, return_inverse=True)  # XGBoost takes numbers from 0
        y_test = np.searchsorted(labels, y_test)
    votes = []
    work = X.shape[1] * (1 if regression else len(labels))
    for name, make in models(regression).items():
        if name == "CatBoost" and work > CATBOOST_WORK:
            continue
        known = of_table.setdefault(name, [])
        voting = name in ("LightGBM", "RandomForest") and len(of_table.get(VOTE, [])) <= at
        if len(known) > at and not voting:
            continue
        model = make()
        with threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.process_time()
            model.fit(X, y)
            seconds = time.process_time() - start
            score = 100 * float(model.score(X_test, y_test))
            if voting:
                votes.append(model.predict(X_test) if regression else model.predict_proba(X_test))
        if len(known) <= at:
            known.append([score, seconds])
    if votes:
        vote = np.mean(votes, axis=0)
        if regression:
            score = 1 - np.square(y_test - vote).sum() / np.square(y_test - y_test.mean()).sum()
        else:
            score = np.mean(vote.argmax(axis=1) == y_test)
        of_table.setdefault(VOTE, []).append([100 * float(score), 0.0])


def scores(of_model: list[list[float]]) -> float:
    """The mean score over splits."""
    return float(np.mean([score for score, _ in of_model]))


def seconds(of_model: list[list[float]]) -> float:
    """The mean time of a fit."""
    return float(np.mean([spent for _, spent in of_model]))


def rows_of(results: Results) -> list[Row]:
    """The results as rows of the report."""
    rows: list[Row] = []
    for task, bar in BARS.items():
        names = [name for name in results if (name in REGRESSION) == (task == "regression")]
        if not names:
            continue
        for model in ("auto", "gmm"):
            near = [scores(results[name][model]) >= best(results[name]) - WITHIN for name in names]
            promised = f"at least {bar:.0%}" if model == "auto" else "none, for comparison"
            rows.append(
                {
                    "claim": f"{model}: within {WITHIN:g} points, of {len(names)} tables of a "
                    f"{task}",
                    "peer": "the better of " + " and ".join(LEADERS),
                    "bar": promised,
                    "measured": 100 * float(np.mean(near)),
                    "unit": "%",
                    "holds": float(np.mean(near)) >= bar or model == "gmm",
                }
            )
    rows += ranks(results)
    gain = [scores(each["auto"]) - scores(each[VOTE]) for each in results.values()]
    rows.append(
        {
            "claim": f"auto: mean score of {len(gain)} tables",
            "peer": VOTE,
            "bar": "not below",
            "measured": float(np.mean(gain)),
            "unit": "points above",
            "holds": float(np.mean(gain)) >= 0,
        }
    )
    ratios = [seconds(each["auto"]) / seconds(each["LightGBM"]) for each in results.values()]
    median = float(np.median(ratios))
    rows.append(
        {
            "claim": f"auto: processor time of a fit, median of {len(ratios)} tables",
            "peer": "LightGBM",
            "bar": f"at most {MOST_TIMES:g} times the time",
            "measured": median,
            "holds": median <= MOST_TIMES,
        }
    )
    for (name, each), ratio in zip(results.items(), ratios, strict=True):
        others = ", ".join(
            f"{model} {scores(of_model):.2f}" for model, of_model in each.items() if model != "auto"
        )
        rows.append(
            {
                "claim": f"{name}: auto {scores(each['auto']):.2f}, {ratio:.1f} times the time of "
                f"LightGBM",
                "peer": others,
                "bar": "none, for comparison",
                "measured": scores(each["auto"]) - best(each),
                "unit": "points above the better of the two",
                "holds": True,
            }
        )
    return rows


def best(of_table: dict[str, list[list[float]]]) -> float:
    """The better score of the two leaders."""
    return max(scores(of_table[name]) for name in LEADERS)


def ranks(results: Results) -> list[Row]:
    """The mean rank of auto among the trees; of a tie, the mean of the ranks."""
    from scipy.stats import rankdata

    every = [set(each) - {VOTE, "gmm"} for each in results.values()]
    names = sorted(set.union(*every))
    ranked = [
        each for each, has in zip(results.values(), every, strict=True) if len(has) == len(names)
    ]
    table = np.array([[scores(each[name]) for name in names] for each in ranked])
    means = dict(zip(names, rankdata(-table, axis=1).mean(axis=0).tolist(), strict=True))
    others = {name: mean for name, mean in means.items() if name != "auto"}
    return [
        {
            "claim": f"auto: mean rank among {len(names)} models, {len(ranked)} tables",
            "peer": ", ".join(f"{name} {mean:.2f}" for name, mean in others.items()),
            "bar": "first",
            "measured": means["auto"],
            "unit": "",
            "holds": means["auto"] < min(others.values(), default=np.inf),
        }
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--results", type=Path, default=RESULTS, help="results so far")
    asked = parser.parse_args()
    show(rows_of(measured(asked.names or [*PROMISED, *OTHERS, *REGRESSION], asked.results)))
