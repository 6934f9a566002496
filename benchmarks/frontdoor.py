"""KernelClassifier as it comes: small, large and wide tables against SVC and LightGBM.

- digits: `cross_val_score` against that of SVC.
- Covertype, 100,000 rows: one fit against LightGBM at its defaults, by the clock on all cores.
- MNIST: from the table to the predictions of the 10,000 test rows, tuning included, against an RBF
  SVM on 10,000 rows and, unless --quick, on all rows.

The files are NAME.npz (X and y, or X_train, y_train, X_test, y_test) in the folder that
KERNELIGHT_DATA names; what needs a missing one is left out.

    KERNELIGHT_DATA=folder python benchmarks/frontdoor.py [--quick]
"""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

import numpy as np
from _data import Split, arrays
from _measure import Row, at_least, at_most, best_of_turns, show
from lightgbm import LGBMClassifier
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from kernelight import KernelClassifier

SVC_ROWS, COVERTYPE_ROWS, TEST_ROWS = 10_000, 100_000, 20_000


class Fitted(NamedTuple):
    """A model on a split: the seconds of fit and of fit with predict, and its accuracy."""

    fit_seconds: float
    seconds: float
    score: float

    def __str__(self) -> str:
        return f"{self.score:.2%} in {self.seconds:.1f} s"


def run(quick: bool = False) -> list[Row]:
    """The rows of all tables that are there."""
    return [*digits(), *covertype(), *mnist(quick)]


def digits() -> list[Row]:
    """Five fits of a small table."""
    X, y = load_digits(return_X_y=True)
    ours, theirs = best_of_turns(
        2, lambda: cross_val_score(KernelClassifier(), X, y), lambda: cross_val_score(SVC(), X, y)
    )
    scores = [cross_val_score(model, X, y).mean() for model in (KernelClassifier(), SVC())]
    claim = f"cross_val_score on digits, {scores[0]:.2%}, {ours:.1f} s"
    return [at_most(claim, f"SVC(), {scores[1]:.2%}, {theirs:.2f} s", 10, ours / theirs)]


def covertype() -> list[Row]:
    """One fit of many rows."""
    split = split_of("Covertype", COVERTYPE_ROWS)
    if split is None:
        return []
    ours = fitted(KernelClassifier("gmm"), split)
    theirs = fitted(LGBMClassifier(verbose=-1), split)
    claim = f"fit, Covertype {len(split.X):,}: {ours.score:.2%}, {ours.fit_seconds:.1f} s"
    peer = f"LightGBM: {theirs.score:.2%}, {theirs.fit_seconds:.1f} s"
    return [at_most(claim, peer, 1, ours.fit_seconds / theirs.fit_seconds)]


def mnist(quick: bool) -> list[Row]:
    """The defaults, the most accurate kernel, and the exact SVM they are compared with."""
    split = split_of("MNIST")
    if split is None:
        return []
    unit = split._replace(X=split.X / 255, X_test=split.X_test / 255)
    some = np.random.default_rng(0).permutation(len(split.X))[:SVC_ROWS]
    svc = fitted(SVC(C=10), unit._replace(X=unit.X[some], y=unit.y[some]))
    gmm = fitted(KernelClassifier("gmm"), split)
    name, peer = f"MNIST {len(split.X):,}", f"SVC(C=10) on {SVC_ROWS:,} rows: {svc}"
    rows = [
        at_least(f"{name}, gmm: {gmm}", peer, 6, svc.seconds / gmm.seconds),
        higher(f"{name}, gmm: {gmm}", peer, gmm.score, svc.score),
    ]
    if quick:
        return rows
    exp_gmm = fitted(KernelClassifier("exp_gmm"), split)
    fine = fitted(KernelClassifier("gmm", 4096), split)
    whole = fitted(SVC(C=10), unit)
    all_rows = f"SVC(C=10) on all rows: {whole}"
    return [
        *rows,
        {
            **higher(f"{name}, exp_gmm: {exp_gmm}", peer, exp_gmm.score, svc.score),
            "bar": "none, for comparison",
            "holds": True,
        },
        at_least(f"{name}, gmm, k = 4,096: {fine}", peer, 2, svc.seconds / fine.seconds),
        higher(f"{name}, gmm, k = 4,096: {fine}", "98.00 %", fine.score, 0.98),
        at_least(f"{name}, gmm, k = 4,096: {fine}", all_rows, 10, whole.seconds / fine.seconds),
        higher(f"{name}, gmm, k = 4,096: {fine}", all_rows, fine.score, whole.score),
    ]


def higher(claim: str, peer: str, ours: float, theirs: float) -> Row:
    """A claim not to be less accurate than a peer."""
    return {
        "claim": claim,
        "peer": peer,
        "bar": "not less accurate",
        "measured": 100 * (ours - theirs),
        "unit": "points",
        "holds": ours >= theirs,
    }


def split_of(name: str, n_rows: int | None = None) -> Split | None:
    """A table, with at most ``n_rows`` to learn from; None if its file is missing.

    A table without a split of its own is cut at random.
    """
    file = arrays(name)
    if file is None:
        return None
    if "X" in file:
        order = np.random.default_rng(0).permutation(len(file["y"]))
        train, test = order[:n_rows], order[n_rows:][:TEST_ROWS]
        X, y = file["X"].astype(np.float32), file["y"]
        return Split(X[train], y[train], X[test], y[test])
    X, y, X_test, y_test = (file[key] for key in ("X_train", "y_train", "X_test", "y_test"))
    some = np.random.default_rng(0).permutation(len(X))[:n_rows]
    return Split(X[some].astype(np.float32), y[some], X_test.astype(np.float32), y_test)


def fitted(model: Any, split: Split) -> Fitted:
    """Fit the model and predict the test rows, by the clock."""
    start = time.perf_counter()
    model.fit(split.X, split.y)
    fit_seconds = time.perf_counter() - start
    predicted = model.predict(split.X_test)
    seconds = time.perf_counter() - start
    return Fitted(fit_seconds, seconds, float(np.mean(predicted == split.y_test)))


if __name__ == "__main__":
    show(run(quick="--quick" in sys.argv[1:]))
