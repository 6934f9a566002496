"""Linear models on codes against liblinear on the same one-hot CSR.

The benchmarks `training` and `training_quality` share what is here.

The data folder has Letter.npz, IJCNN.npz (arrays X_train, y_train, X_test, y_test) and
Covertype.npz (X and y, of which 100,000 rows are drawn to train and 50,000 to test). The rows of a
file that is missing are left out. Values are not scaled; they are hashed by GCWS with 8 bits, which
is not timed. The peer is LinearSVC(dual=True, C=10), which has one thread; ours is
LinearClassifier(C=10) with all cores. Each fit whose time or memory is measured runs in a new
process.
"""

from __future__ import annotations

import ctypes
import json
import math
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from _data import arrays
from _measure import CORES, Row, threads
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from kernelight import GCWS, Codes, LinearClassifier

C, SEEDS, BITS = 10.0, range(5), 8
LOOSE, DEFAULT, EXACT = 0.1, 1e-4, 1e-5  # tolerances: the peer's two, and ours for the minimum
POINTS, PERCENT = 0.1, 0.1  # how far accuracy may be below, and the objective above
ENOUGH = 10.0  # seconds after which our fit is not repeated


@dataclass(frozen=True)
class Problem:
    """What to train on; ``peer_seeds`` are those on which the peer is trained at LOOSE."""

    name: str
    shape: str
    slots: int
    faster: float
    peer_seeds: range = SEEDS
    memory: bool = False
    path: bool = False


PROBLEMS = (
    Problem("Letter", "15,000 x 16, 26 classes", 1024, 10.0, path=True),
    Problem("Covertype", "100,000 rows, 7 classes", 512, 7.0, peer_seeds=range(1), memory=True),
    Problem("IJCNN", "49,990 rows, 2 classes", 1024, 10.0),
)


# -- Data -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """Rows (values or codes) and labels, to train and to test."""

    train: Any
    y: np.ndarray
    test: Any
    y_test: np.ndarray


def _data(name: str) -> Split | None:
    file = arrays(name)
    if file is None:
        return None
    if "X_train" in file:
        return Split(file["X_train"], file["y_train"], file["X_test"], file["y_test"])
    X, y = file["X"], file["y"]
    order = np.random.RandomState(0).permutation(len(X))
    train, test = order[:100_000], order[100_000:150_000]
    return Split(X[train].astype(np.float32), y[train], X[test].astype(np.float32), y[test])


def hashed(problem: Problem, data: Split, seed: int) -> Split:
    gcws = GCWS(problem.slots, bits=BITS, random_state=seed).fit(data.train)
    return Split(gcws.encode(data.train), data.y, gcws.encode(data.test), data.y_test)


# -- One fit --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """The seconds of a fit, its memory in bytes, its test accuracy in percent and its objective.

    Memory is how far the peak of the process rose. Accuracy and objective are NaN if the fit was
    stopped.
    """

    seconds: float
    memory: int = 0
    accuracy: float = math.nan
    objective: float = math.nan


def judged(model: Any, split: Split, seconds: float = 0.0, memory: int = 0) -> Result:
    right = 100 * float(np.mean(model.predict(split.test) == split.y_test))
    return Result(seconds, memory, right, _objective(model, split))


def _objective(model: Any, split: Split) -> float:
    """The sum over classes of 1/2 (|w|^2 + b^2) + C sum_i max(0, 1 - y_i score_i)^2."""
    weights = model.weights_ if hasattr(model, "weights_") else model.coef_
    norms = np.sum(weights.astype(np.float64) ** 2) + np.sum(model.intercept_**2)
    scores = model.decision_function(split.train).astype(np.float64)
    if scores.ndim == 1:
        signs = np.where(split.y == model.classes_[1], 1.0, -1.0)
    else:
        signs = np.where(split.y[:, None] == model.classes_, 1.0, -1.0)
    return float(norms / 2 + C * np.sum(np.maximum(0.0, 1.0 - signs * scores) ** 2))


def alone(split: Split, peer_tol: float | None, most: float = 0.0) -> Result:
    """A fit in a new process: the peer's with the tolerance ``peer_tol``, or ours if that is None.

    It is stopped after ``most`` seconds, if that is not 0.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in ("train", "test"):
            np.save(Path(folder) / f"{name}.npy", getattr(split, name).array)
            np.save(Path(folder) / f"{name}_empty.npy", getattr(split, name).empty)
        np.savez(Path(folder) / "labels.npz", train=split.y, test=split.y_test)
        task = json.dumps({"folder": folder, "peer_tol": peer_tol, "most": most})
        done = subprocess.run([sys.executable, __file__, task], stdout=subprocess.PIPE, text=True)
    if done.returncode == -signal.SIGALRM:
        return Result(most)
    done.check_returncode()
    return Result(**json.loads(done.stdout))


def _task(folder: str, peer_tol: float | None, most: float) -> Result:
    """What the new process does."""
    train, test = (
        Codes(
            np.load(Path(folder) / f"{name}.npy"),
            BITS,
            empty=np.load(Path(folder) / f"{name}_empty.npy"),
        )
        for name in ("train", "test")
    )
    labels = np.load(Path(folder) / "labels.npz")
    y, y_test = labels["train"], labels["test"]
    warnings.simplefilter("ignore", ConvergenceWarning)
    model: Any = LinearClassifier(C=C)
    if peer_tol is not None:
        model = LinearSVC(dual=True, C=C, tol=peer_tol, random_state=0)
        train = train.to_csr().astype(np.float64)
    few = np.concatenate([np.flatnonzero(y == label)[:2] for label in np.unique(y)])
    model.fit(train[few], y[few])  # so that code and threads are there
    _forget_peak()
    before = _peak()
    times: list[float] = []
    if most:  # liblinear cannot be interrupted: the default action of this signal ends the process
        signal.setitimer(signal.ITIMER_REAL, most)
    while not times or (peer_tol is None and len(times) < 3 and sum(times) < ENOUGH):
        start = time.perf_counter()
        model.fit(train, y)
        times.append(time.perf_counter() - start)
    signal.setitimer(signal.ITIMER_REAL, 0)
    memory = _peak() - before
    if peer_tol is not None:
        test = test.to_csr()
    return judged(model, Split(train, y, test, y_test), median(times), memory)


def _forget_peak() -> None:
    """Return free memory to the system, and reset the peak of this process to what it holds now.

    Where the system cannot do that, the next peak seems to rise less.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """The peak memory of this process, in bytes."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
            1 if sys.platform == "darwin" else 1024
        )


def ours_and_minimum(split: Split) -> tuple[Result, Result]:
    """The model of default settings, and the minimum, reached by going on from there."""
    model = LinearClassifier(C=C, warm_start=True).fit(split.train, split.y)
    ours = judged(model, split)
    model.set_params(tol=EXACT).fit(split.train, split.y)
    return ours, judged(model, split)


def each_problem(rows: Callable[[Problem, Split], list[Row]]) -> list[Row]:
    """The rows of a function for every problem whose data are there."""
    all_rows = []
    with threads(CORES):
        for problem in PROBLEMS:
            data = _data(problem.name)
            if data is not None:
                all_rows += rows(problem, data)
    return all_rows


if __name__ == "__main__":
    print(json.dumps(asdict(_task(**json.loads(sys.argv[1])))))
