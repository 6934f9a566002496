"""The model that `compare` recommends, against boosted trees and exact SVMs on the same rows.

Each table is one study without a limit of time. Its candidates are the linear model, and the
min-max kernel, the same with its power tuned, and the Gaussian kernel with 1,024 components each.
Its references are scikit-learn's HistGradientBoosting with at most 100 rounds, and SVMs on the
exact kernels for up to 5,000 rows. All models learn from the same 80 % of the rows and are scored
on the others; seconds are those of the last fit, without tuning. Nothing is promised: the figures
say where another model is the better choice, and the README shows some of them.

Two tables come with scikit-learn. The others are NAME.npz in the folder that KERNELIGHT_DATA names,
with arrays X and y or X_train and y_train; they are left out without it.

    KERNELIGHT_DATA=folder python benchmarks/tables.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from _data import arrays
from _measure import Row, show
from sklearn.datasets import load_breast_cancer, load_digits

from kernelight.study import Study, compare

BUNDLED = {"breast cancer": load_breast_cancer, "digits": load_digits}
FILES = ("Phoneme", "Letter", "kin8nm", "California", "Adult")
KERNELS = ("gmm", "gmm_power", "gaussian")
PEERS = {"boosting": "boosted trees", "exact_": "exact SVM", "linear": "linear model"}
Matrix = np.ndarray[Any, Any]


def run() -> list[Row]:
    """For each table a row for each peer."""
    return [
        row
        for name, X, y in tables()
        for row in claims(
            name,
            compare(
                X, y, budget=None, kernels=KERNELS, components=[1024], progress=False, name=name
            ),
        )
    ]


def tables() -> Iterator[tuple[str, Matrix, Matrix]]:
    """The name, the features and the target of each table that is there."""
    for name, load in BUNDLED.items():
        X, y = load(return_X_y=True)
        yield name, X, y
    for name in FILES:
        file = arrays(name)
        if file is not None:
            part = "" if "X" in file else "_train"
            yield name, file[f"X{part}"], file[f"y{part}"]


def claims(name: str, study: Study) -> list[Row]:
    """The recommended model against the peers, each by its best validation score."""
    plain = json.loads(study.to_json())
    learned, chosen = plain["data"]["learned"], plain["recommendation"]
    cells = [cell for cell in plain["cells"] if cell["rows"] == learned]
    by_validation = sorted(cells, key=lambda cell: -cell["score"])
    rows: list[Row] = []
    model = study.labels[chosen["candidate"]]
    for start, peer in PEERS.items():
        best = next((cell for cell in by_validation if cell["candidate"].startswith(start)), None)
        if best is not None and chosen["candidate"] != best["candidate"]:
            rows.append(
                {
                    "claim": f"{name}, {learned:,} rows, {model}: {scored(study, chosen)}",
                    "peer": f"{peer}: {scored(study, best)}",
                    "bar": "none, for comparison",
                    "measured": 100 * (chosen["test"] - best["test"]),
                    "unit": "points",
                    "holds": True,
                }
            )
    return rows


def scored(study: Study, cell: dict[str, Any]) -> str:
    """The score on the test rows, and the seconds of the fit."""
    score = f"{cell['test']:.1%}" if study.task == "classification" else f"R² {cell['test']:.3f}"
    return f"{score}, {cell['fit_seconds']:.2g} s"


if __name__ == "__main__":
    show(run())
