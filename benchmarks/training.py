"""The time and memory of training linear models on codes, against liblinear on one-hot CSR.

    KERNELIGHT_DATA=folder python benchmarks/training.py

This takes some 10 minutes on two cores, most of them liblinear's; `_training` describes the data.
Leave the machine idle: our threads wait for each other when another process takes a core, while
liblinear has one thread only.

Time: codes of hash seed 0; ours is the median of several fits, where they are short. The peer runs
at tol=0.1 and at its default tolerance; of the runs whose accuracy is within 0.1 points of the
better one, the faster counts. The default run can take many times as long as the one at tol=0.1.
After 1.5 times as long (``PATIENCE``) it cannot be the faster one and is stopped. It then counts
with the time it had, which is too little, and with the accuracy at the minimum, which our solver
computes to a duality gap of 1e-5 of the objective.

Memory: how far the peak of the process rises during these fits. The codes, or the CSR in the double
precision that liblinear takes, are not counted. `fit_path`: on Letter's codes of seed 0, against as
many fits that start from zero. Logistic loss: against the squared hinge on the same codes, at most
17,500 rows, both to the default duality gap; CPU time of one thread, the best of turns, and of the
values of C the one with the largest ratio.
"""

from __future__ import annotations

import math
import time
import warnings

import numpy as np
from _measure import CORES, Row, at_least, at_most, show
from _training import (
    BITS,
    DEFAULT,
    LOOSE,
    POINTS,
    C,
    Problem,
    Result,
    Split,
    alone,
    each_problem,
    hashed,
    ours_and_minimum,
)
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from kernelight import GCWS, Codes, LinearClassifier

PATIENCE = 1.5  # the time of the peer's run at LOOSE that its run at DEFAULT is given
PATH = np.logspace(-2, 3, 12)
LOGISTIC_ROWS, LOGISTIC_C, LOGISTIC_TURNS = 17_500, (0.1, 1.0, 10.0), 3


def run() -> list[Row]:
    """The rows of every problem whose data are there, and of digits."""
    return each_problem(_rows) + [_logistic(*_digits(slots)) for slots in (256, 1024)]


def _rows(problem: Problem, data: Split) -> list[Row]:
    split = hashed(problem, data, 0)
    ours, loose = alone(split, None), alone(split, LOOSE)
    default = alone(split, DEFAULT, PATIENCE * loose.seconds)
    rows = [_speed(problem, ours, loose, default, ours_and_minimum(split)[1])]
    if problem.memory:
        rows.append(_memory(problem, ours, loose))
    if problem.path:
        rows.append(_path(problem, split))
    few = slice(LOGISTIC_ROWS)
    rows.append(_logistic(problem.name, split.train[few], split.y[few]))
    return rows


def _digits(slots: int) -> tuple[str, Codes, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return "digits", GCWS(slots, bits=BITS, random_state=0).fit(X).encode(X), y


def _logistic(name: str, codes: Codes, y: np.ndarray) -> Row:
    """The time of the logistic loss over that of the squared hinge."""
    ratios = {}
    for cost in LOGISTIC_C:
        seconds = {"logistic": math.inf, "squared_hinge": math.inf}
        for _ in range(LOGISTIC_TURNS):
            for loss, best in seconds.items():
                model = LinearClassifier(loss, C=cost, n_jobs=1)
                start = time.process_time()
                model.fit(codes, y)
                seconds[loss] = min(best, time.process_time() - start)
        ratios[cost] = seconds["logistic"] / seconds["squared_hinge"], seconds
    worst = max(ratios, key=lambda cost: ratios[cost][0])
    ratio, seconds = ratios[worst]
    claim = (
        f'loss="logistic" on {name} ({len(codes):,} rows, k={codes.n_components:,}), '
        f"C={worst:g}, {seconds['logistic']:.3f} s of CPU"
    )
    return at_most(claim, f'"squared_hinge", {seconds["squared_hinge"]:.3f} s', 1.8, ratio)


def _speed(problem: Problem, ours: Result, loose: Result, default: Result, minimum: Result) -> Row:
    stopped = math.isnan(default.accuracy)
    accuracy = minimum.accuracy if stopped else default.accuracy
    runs = {
        f"tol={LOOSE:g}": (loose.seconds, loose.accuracy),
        "default tol": (default.seconds, accuracy),
    }
    best = max(right for _, right in runs.values())
    counts = min(
        (name for name in runs if runs[name][1] >= best - POINTS), key=lambda name: runs[name][0]
    )
    peer = (
        f"LinearSVC, tol={LOOSE:g}: {loose.seconds:.1f} s, {loose.accuracy:.2f} %; default tol: "
        f"{'stopped at' if stopped else 'ended after'} {default.seconds:.1f} s, {accuracy:.2f} %"
        f"{' (the minimum)' if stopped else ''}; {counts} counts"
    )
    claim = (
        f"training on {problem.name} ({problem.shape}), k={problem.slots:,}, C={C:g}, "
        f"{CORES} threads, {ours.seconds:.2f} s"
    )
    return at_least(claim, peer, problem.faster, runs[counts][0] / ours.seconds)


def _memory(problem: Problem, ours: Result, peer: Result) -> Row:
    ratio = ours.memory / peer.memory
    return {
        "claim": f"peak memory of training beyond the codes, {problem.name}, "
        f"{ours.memory / 1e6:.1f} MB",
        "peer": f"LinearSVC beyond the CSR, {peer.memory / 1e6:.0f} MB",
        "bar": "at most 0.1 of its memory",
        "measured": ratio,
        "holds": ratio <= 0.1,
    }


def _path(problem: Problem, split: Split) -> Row:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # for a model that did not reach its gap
        start = time.perf_counter()
        path = LinearClassifier().fit_path(split.train, split.y, PATH)
        together = time.perf_counter() - start
        start = time.perf_counter()
        for cost in PATH:
            LinearClassifier(C=cost).fit(split.train, split.y)
        cold = time.perf_counter() - start
    worst = max(float((model.dual_gap_ / model.objective_).max()) for model in path.models)
    claim = (
        f"fit_path on {problem.name}, C = {PATH[0]:g} ... {PATH[-1]:g}, {len(PATH)} values, "
        f"{together:.1f} s, largest duality gap {worst:.1e} of the objective"
    )
    row = at_least(claim, f"as many cold fits, {cold:.1f} s", 3, cold / together)
    row["holds"] = row["holds"] and worst <= LinearClassifier().tol
    return row


if __name__ == "__main__":
    show(run())
