"""What explanations cost: beside permutation importance, beside predictions, and within a fit.

Processor times, the best of several repeats in turns, one thread. The fits are those of tables with
2, 7 and 10 classes and a quantity, on codes; models of the exact kernel explain nothing before they
are asked to.

    python benchmarks/explain.py
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from _measure import Row, at_least, at_most, best_times, show, threads
from sklearn.datasets import load_digits
from sklearn.inspection import permutation_importance

from kernelight import GCWS, KernelClassifier, KernelRegressor

ROWS, COLUMNS, EXPLAINED = 6_000, 50, 1_000


def run() -> list[Row]:
    """One row for each claim."""
    with threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*_of_rows(), *_of_winners(), *_of_fits()]


def friedman(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    """Friedman 1: five columns matter."""
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, n_columns))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, y + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(n_rows)


def _of_rows() -> list[Row]:
    X, y = friedman(ROWS, COLUMNS)
    rows = []
    for name, model in (
        ("1,024 codes", KernelRegressor(n_components=1024, C=1.0).fit(X, y)),
        ("2,000 support rows", KernelRegressor(method="ridge", C=1.0).fit(X[:2000], y[:2000])),
    ):
        some = X[:EXPLAINED]
        model.explain(some[:1])  # what is made once counts nowhere
        (_, ours), (_, predict) = best_times(
            5, partial(model.explain, some), partial(model.predict, some)
        )
        permute = partial(
            permutation_importance, model, some, y[:EXPLAINED], n_repeats=1, random_state=0
        )
        ((_, permuted),) = best_times(1, permute)
        peer = f"permutation importance, {COLUMNS} columns, once"
        rows += [
            at_least(f"contributions of 1,000 rows by {name}", peer, 3, permuted / ours),
            at_most(f"contributions of 1,000 rows by {name}", "predict", 15, ours / predict),
        ]
    return rows


def _of_winners() -> list[Row]:
    X, _ = friedman(ROWS, COLUMNS)
    rows = []
    for sampler in ("cws", "dart"):
        fitted = GCWS(1024, sampler=sampler).fit(X)
        fitted.encode(X)
        (_, plain), (_, won) = best_times(
            5, partial(fitted.encode, X), partial(fitted.encode_with_winners, X)
        )
        rows.append(at_most(f"codes and winners, {sampler}", "encode", 10, won / plain))
    return rows


def _of_fits() -> list[Row]:
    X, y = friedman(ROWS, COLUMNS)
    digits, labels = load_digits(return_X_y=True)
    digits, labels = np.vstack([digits] * 3), np.tile(labels, 3)
    tables: dict[str, tuple[Any, Any, Any]] = {
        "a quantity": (KernelRegressor(), X, y),
        "2 classes": (KernelClassifier(), X, y > np.median(y)),
        "7 classes": (KernelClassifier(), X, np.digitize(y, np.quantile(y, np.arange(1, 7) / 7))),
        "digits": (KernelClassifier(), digits, labels),
    }
    rows = []
    for name, (model, rows_of, target) in tables.items():
        start = time.process_time()
        model.fit(rows_of, target)
        fit = time.process_time() - start
        ((_, explained),) = best_times(3, partial(model.learn_background, rows_of))
        rows.append(
            at_most(f"explaining at the end of a fit, {name}", "the fit", 0.05, explained / fit)
        )
    return rows


if __name__ == "__main__":
    show(run())
