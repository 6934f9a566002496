"""Training on a file larger than a limit of memory, and the speed of predictions.

The first part generates a CSV of 5,000,000 rows and 50 columns (2 GB) in a temporary folder, and
runs the command `kernelight fit --memory 1G -k 256` on it. The peak resident set is the one that
the system reports for the process. The accuracy on 200,000 other rows is compared with that of a
model fitted in memory to the first 500,000 rows, with the same settings. The second part times
predictions of models and rows that are in memory, in turns: 100,000 rows at once, and one row at a
time, as a web service asks for them. Of the times of single rows, the medians count.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from subprocess import Popen
from typing import Any

import numpy as np
import pandas as pd
from _measure import Row, at_least, at_most, best_of_turns, median_of_turns, memory_at_most, show
from numpy.typing import NDArray
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from kernelight import KernelClassifier, KernelRegressor, TableModel

N_ROWS, N_FEATURES, N_TEST, N_SAMPLE = 5_000_000, 50, 200_000, 500_000
STEP = 100_000
N_SINGLE, EXACT_ROWS = 300, 3_000
COMPONENTS = 256


def run() -> list[Row]:
    """One row for each claim."""
    with tempfile.TemporaryDirectory(prefix="kernelight-") as folder:
        return _streaming(Path(folder)) + _predictions() + _single_rows()


def rows_of(seed: int, count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows of two classes that no plane separates: 10 columns matter, 40 are noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, N_FEATURES))
    score = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + X[:, 4] ** 2 - 1 + 0.5 * X[:, 5:10].sum(axis=1)
    return X, (score + 0.3 * random.normal(size=count) > 0).astype(np.int64)


def write_rows(path: Path, seed: int, count: int) -> str:
    """Write ``count`` rows as CSV; returns the path."""
    names = [f"x{at}" for at in range(N_FEATURES)]
    for start in range(0, count, STEP):
        X, y = rows_of(seed + start, min(STEP, count - start))
        frame = pd.DataFrame(X.round(5), columns=names).assign(label=y)
        frame.to_csv(path, mode="a" if start else "w", header=not start, index=False)
    return os.fspath(path)


def _streaming(folder: Path) -> list[Row]:
    train, test = (
        write_rows(folder / "train.csv", 0, N_ROWS),
        write_rows(folder / "test.csv", 10**9, N_TEST),
    )
    model = os.fspath(folder / "model.klt")
    start = time.perf_counter()
    peak = _peak(
        [
            sys.executable,
            "-m",
            "kernelight",
            "fit",
            train,
            "-o",
            model,
            "-k",
            str(COMPONENTS),
            "--memory",
            "1G",
        ]
    )
    seconds = time.perf_counter() - start
    streamed = TableModel.load(model)
    accuracy = streamed.evaluate(test)["accuracy"]
    settings = {
        "n_components": COMPONENTS,
        "C": streamed.model_.C_,
        "scale": streamed.model_.scale_,
        "p": streamed.model_.p_,
    }
    X, y = (
        np.concatenate(parts)
        for parts in zip(*(rows_of(at, STEP) for at in range(0, N_SAMPLE, STEP)), strict=True)
    )
    whole = KernelClassifier(**settings).fit(X.round(5), y)
    tests = [rows_of(10**9 + start, STEP) for start in range(0, N_TEST, STEP)]  # those of the file
    inside = float(np.mean([np.mean(whole.predict(X.round(5)) == y) for X, y in tests]))
    size = f"{N_ROWS:,} x {N_FEATURES} ({os.path.getsize(train) / 1e9:.1f} GB)"
    first = f"kernelight fit --memory 1G, CSV of {size}, k={COMPONENTS}"
    loss = 100 * (inside - accuracy)
    return [
        memory_at_most(
            f"{first}: peak resident set ({seconds:.0f} s)",
            "the limit",
            (1 << 30) / 1e6,
            peak / 1e6,
        ),
        {
            "claim": f"the same: accuracy {100 * accuracy:.2f} %",
            "peer": f"fit in memory to {N_SAMPLE:,} rows, {100 * inside:.2f} %",
            "bar": "at most 0.5 points below",
            "measured": loss,
            "unit": "points below",
            "holds": loss <= 0.5,
        },
    ]


def _peak(command: list[str]) -> int:
    """The peak resident set of a process, in bytes."""
    process = Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(
            f"{' '.join(command)} ended with status {os.waitstatus_to_exitcode(status)}."
        )
    return usage.ru_maxrss << 10


def _predictions() -> list[Row]:
    X, y = rows_of(1, 20_000)
    scales: tuple[str | None, ...] = ("minmax", "quantile", None)
    models = [KernelClassifier(n_components=1024, C=1.0, scale=scale).fit(X, y) for scale in scales]
    peer = make_pipeline(
        RBFSampler(n_components=1024, gamma=0.02, random_state=0), LinearSVC(C=1.0)
    ).fit(X, y)
    many, _ = rows_of(2, 100_000)
    *ours, theirs = best_of_turns(
        5, *(lambda model=model: model.predict(many) for model in [*models, peer])
    )
    return [
        at_least(
            f"predict, GCWS k=1,024, {N_FEATURES} columns, scale={scale!r}, "
            f"{len(many) / time:,.0f} rows/s",
            "RBFSampler(1024) + LinearSVC",
            5,
            theirs / time,
        )
        for scale, time in zip(scales, ours, strict=True)
    ]


def _single_rows() -> list[Row]:
    """One row at a time, checks of the input included."""
    X, y = rows_of(3, 20_000)
    frame = pd.DataFrame(X, columns=[f"x{at}" for at in range(N_FEATURES)])
    settings: dict[str, Any] = {"n_components": 1024, "C": 1.0, "scale": "minmax"}
    gcws = KernelClassifier(**settings).fit(X, y)
    unscaled = KernelClassifier(n_components=1024, C=1.0, scale=None).fit(X, y)
    exact = KernelClassifier(method="exact", C=1.0, scale="minmax").fit(
        X[:EXACT_ROWS], y[:EXACT_ROWS]
    )
    named = KernelClassifier(**settings).fit(frame, y)
    regressor = KernelRegressor(**settings).fit(X, X[:, 0] * X[:, 1])
    peer = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    named_peer = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, y)
    ridge = make_pipeline(StandardScaler(), Ridge()).fit(X, X[:, 0] * X[:, 1])
    rows = [X[at : at + 1].copy() for at in range(N_SINGLE)]
    frames = [frame.iloc[at : at + 1] for at in range(N_SINGLE)]
    logistic = "StandardScaler + LogisticRegression"
    pairs = [
        ("predict, GCWS k=1,024, scale='minmax'", gcws.predict, logistic, peer.predict, rows),
        ("predict, the same, scale=None", unscaled.predict, logistic, peer.predict, rows),
        ("predict_proba, the same", gcws.predict_proba, logistic, peer.predict_proba, rows),
        ("predict, the same, a data frame", named.predict, logistic, named_peer.predict, frames),
        (
            "KernelRegressor.predict",
            regressor.predict,
            "StandardScaler + Ridge",
            ridge.predict,
            rows,
        ),
        (
            f"predict, exact, {exact.model_.rows.shape[0]:,} support rows",
            exact.predict,
            logistic,
            peer.predict,
            rows,
        ),
    ]
    found = []
    for claim, ours, name, theirs, given in pairs:
        mine, other = median_of_turns(given, ours, theirs)
        one = f"one row of {N_FEATURES} columns: {claim}, {1e6 * mine:.0f} us"
        found.append(at_most(one, f"{name}, {1e6 * other:.0f} us", 1.5, mine / other))
    return found


if __name__ == "__main__":
    show(run())
