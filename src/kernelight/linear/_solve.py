"""The loop over epochs of the dual coordinate solver: what to visit, when to look at the certificate, when to stop.

Certificate: for each output the duality gap P(w) - D(b), an upper bound of P(w) - P(optimum), is at most ``tol`` times P(w).
An output that has it is closed: its weights stay as they are while others go on.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.linear._rows import Rows, Targets, groups_of, lanes_for, suffix

LOSSES = (
    "squared_hinge",
    "hinge",
    "logistic",
    "squared",
    "epsilon_insensitive",
)  # as in core/simd/linear_loops.h
SWEEPS = 10  # coordinate steps inside a block: more make a block exact, fewer make it cheap
CLEAR = 0.05  # a margin this far from where a row would move lets it rest
FIRST_LOOK, LONGEST_WAIT = 3, 8  # epochs before the first look at the certificate, and between looks
STEP_WORK = 1 << 27  # stored numbers visited by one compiled call: an interrupt waits for one
TINY_NORM = 1e-12  # a row of zeros without an intercept: its step must not divide by 0


@dataclass(frozen=True)
class Plan:
    """What to solve, apart from rows and targets."""

    loss: str
    epsilon: float
    intercept: bool
    tol: float
    max_iter: int
    seed: int
    threads: int


class Group:
    """The outputs of one group of lanes: their weights and duals, and the epochs that improve them."""

    def __init__(self, rows: Rows, targets: Targets, plan: Plan, outputs: range) -> None:
        self.rows, self.plan, self.outputs = rows, plan, outputs
        dtype, n = rows.dtype, rows.n_rows
        self.lanes = lanes_for(len(outputs))
        self.view = rows.view(self.lanes)
        self.weights = np.zeros((rows.n_entries(self.lanes), self.lanes), dtype=dtype)
        self.bias = np.zeros(self.lanes, dtype=dtype)
        self.dual = np.zeros((n, self.lanes), dtype=dtype)
        self.gap = np.full(len(outputs), np.inf)
        self.objective = np.full(len(outputs), np.inf)
        self.n_iter = 0
        self._rest, self._streak = np.zeros(n, dtype=np.uint8), np.zeros(n, dtype=np.uint8)
        self._random = np.random.default_rng([plan.seed, outputs.start])
        self.set_targets(targets)

    def set_targets(self, targets: Targets) -> None:
        """Solve for these from now on, starting where the last ones ended; every output is open again."""
        dtype, count = self.rows.dtype, len(self.outputs)
        which = slice(self.outputs.start, self.outputs.stop)

        def on_lanes(values: NDArray[Any]) -> NDArray[Any]:
            padded = np.zeros((*values.shape[:-1], self.lanes), dtype=dtype)
            padded[..., :count] = values[..., which]
            return padded

        labels = None if targets.labels is None else targets.labels - np.int32(self.outputs.start)
        norms = np.maximum(self.rows.norms + dtype.type(self.plan.intercept), dtype.type(TINY_NORM))
        self._kept = (
            labels, None if targets.values is None else on_lanes(targets.values), targets.row_cost.astype(dtype),
            on_lanes(targets.above), on_lanes(targets.below), norms,
        )  # fmt: skip
        make = getattr(_core, f"LinearTargets{suffix(dtype)}")
        loss = LOSSES.index(self.plan.loss)
        self._targets = make(*self._kept, self.plan.intercept, loss, self.plan.epsilon)
        self._open = np.arange(self.lanes) < count
        self._rest[:] = self._streak[:] = 0

    def rescale(self, growth: float) -> None:
        """Multiply the duals of each output by what is best for the new costs, which have grown by ``growth`` >= 1.

        Along the duals b the dual objective is s A - s^2 B for the hinges and squares, highest at s = A / 2B.
        """
        if self.plan.loss == "logistic":
            return
        _, conjugate, half = self._sums()
        _, doubled, _ = self._sums(2.0)
        quadratic = (doubled - 2 * conjugate) / 2  # conjugate(s) = -s A + s^2 Q: two values give both
        linear = quadratic - conjugate
        with np.errstate(divide="ignore", invalid="ignore"):
            best = linear / (2 * (quadratic + half))
        bounded = self.plan.loss in ("hinge", "epsilon_insensitive")
        best = np.clip(np.nan_to_num(best, nan=1.0), 0.5, growth if bounded else max(growth, 1.0))
        factor = np.ones(self.lanes)
        factor[: len(self.outputs)] = best
        scale = factor.astype(self.rows.dtype)
        self.dual *= scale
        self.weights *= scale
        self.bias *= scale

    def _sums(self, times: float = 1.0) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Losses, conjugates (of the duals times a number) and half squared norms of the weights, for each output."""
        loss, conjugate = np.zeros(self.lanes), np.zeros(self.lanes)
        dual = self.dual if times == 1.0 else self.dual * self.rows.dtype.type(times)
        all_open = np.arange(self.lanes) < len(self.outputs)
        self.view.objective(
            self._targets, self.weights, self.bias, dual, all_open, loss, conjugate, self.plan.threads
        )
        half = np.zeros(self.lanes)
        for begin in range(0, len(self.weights), 1 << 14):  # in pieces: the squares are in double precision
            half += (self.weights[begin : begin + (1 << 14)].astype(np.float64) ** 2).sum(axis=0) / 2
        half += self.bias.astype(np.float64) ** 2 / 2
        used = slice(0, len(self.outputs))
        return loss[used], conjugate[used], half[used]

    def certify(self) -> bool:
        """Look at the duality gap of each output and close those that have converged; True if all have."""
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows has no certificate
            loss, conjugate, half = self._sums()
            self.objective = half + loss
            self.gap = np.maximum(self.objective + half + conjugate, 0.0)
        still = ~self.certified & np.isfinite(self.gap)  # numbers beyond all floats will not come back
        open_lanes = np.zeros(self.lanes, dtype=bool)
        open_lanes[: len(still)] = still
        if (open_lanes != self._open).any():
            self._open = open_lanes
            self._rest[:] = self._streak[:] = 0
        return not still.any()

    @property
    def certified(self) -> NDArray[np.bool_]:
        """Which outputs have their certificate; one whose objective is beyond all floats has none."""
        limit = self.plan.tol * np.maximum(self.objective, np.finfo(np.float64).tiny)
        return np.asarray(np.isfinite(self.objective) & (self.gap <= limit))

    @property
    def relative_gap(self) -> float:
        """The largest duality gap over the objective; infinite before the first look at it."""
        if not np.isfinite(self.gap).all() or not np.isfinite(self.objective).all():
            return math.inf
        return float(np.max(self.gap / np.maximum(self.objective, np.finfo(np.float64).tiny)))

    def epoch(self, stopped: Callable[[], bool]) -> None:
        """One visit to every row that is not at rest."""
        order = self._random.permutation(self.rows.n_rows).astype(np.int32)
        resting = self._rest[order] > 0
        self._rest[order[resting]] -= 1
        order = order[~resting]
        step = max(1024, STEP_WORK // max(1, self.rows.work))
        for begin in range(0, len(order), step):
            if stopped():
                return
            self.view.epoch(
                self._targets, self.weights, self.bias, self.dual, self._open, order[begin : begin + step], SWEEPS, CLEAR,
                self._rest, self._streak, self.plan.threads,
            )  # fmt: skip
        self.n_iter += 1

    def solve(self, stopped: Callable[[], bool]) -> None:
        """Epochs until every output has its certificate, ``max_iter`` are done, or someone says stop."""
        start, looks = self.n_iter, []
        next_look = start + 1 if np.isfinite(self.gap).all() else start + FIRST_LOOK
        while not stopped() and self.n_iter < start + self.plan.max_iter:
            self.epoch(stopped)
            if self.n_iter < next_look and self.n_iter < start + self.plan.max_iter:
                continue
            if self.certify():
                return
            looks.append((self.n_iter, self.relative_gap))
            next_look = self.n_iter + self._wait(looks)
        self.certify()

    def _wait(self, looks: list[tuple[int, float]]) -> int:
        """Epochs until the gap should be small enough, if it goes on falling as it did between the last two looks."""
        if len(looks) < 2 or not 0 < looks[-1][1] < looks[-2][1] < math.inf:
            return 2
        fall = math.log(looks[-2][1] / looks[-1][1]) / (looks[-1][0] - looks[-2][0])
        wanted = math.log(looks[-1][1] / max(self.plan.tol, 1e-300)) / fall
        return int(min(max(wanted, 1), LONGEST_WAIT))


class Solver:
    """All outputs of a problem: groups of lanes, solved side by side where there are threads for it."""

    def __init__(self, rows: Rows, targets: Targets, plan: Plan) -> None:
        self.rows, self.plan = rows, plan
        outputs = groups_of(targets.n_outputs)
        # Threads meet several times in each block of rows: little work is done sooner by one of them.
        enough = rows.n_rows * max(1, rows.work) >= 1 << 22 and rows.work >= 128
        self.workers = max(1, min(len(outputs), plan.threads))
        inside = max(1, plan.threads // self.workers) if enough else 1
        inner = Plan(plan.loss, plan.epsilon, plan.intercept, plan.tol, plan.max_iter, plan.seed, inside)
        self.groups = [Group(rows, targets, inner, which) for which in outputs]

    def set_targets(self, targets: Targets, growth: float) -> None:
        """Go on with other costs, all ``growth`` times the last ones."""
        for group in self.groups:
            group.set_targets(targets)
            group.rescale(growth)

    def start_from(self, dual: NDArray[Any]) -> None:
        """Start from given duals (rows, outputs), of the same rows under whatever costs."""
        for group in self.groups:
            group.dual[:, : len(group.outputs)] = dual[:, group.outputs.start : group.outputs.stop]
            group.view.add_duals(
                group.dual, self.plan.intercept, group.weights, group.bias, group.plan.threads
            )

    def run(self) -> bool:
        """Solve; False if an interrupt came first, which leaves the last weights."""
        stop = threading.Event()
        try:
            if self.workers == 1:
                for group in self.groups:
                    group.solve(stop.is_set)
            else:
                with ThreadPoolExecutor(self.workers) as pool:
                    running = [pool.submit(group.solve, stop.is_set) for group in self.groups]
                    try:
                        for each in running:
                            each.result()
                    except KeyboardInterrupt:
                        stop.set()  # before the pool waits for its threads
                        raise
        except KeyboardInterrupt:
            for group in self.groups:
                group.certify()  # of the weights as they are now
            return False
        return True

    def coefficients(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Weights (entries in the order of models, outputs) and intercepts."""
        parts = [
            self.rows.coefficients(group.lanes, group.weights)[:, : len(group.outputs)]
            for group in self.groups
        ]
        bias = [group.bias[: len(group.outputs)] for group in self.groups]
        return np.concatenate(parts, axis=1), np.concatenate(bias).astype(np.float64)

    @property
    def duals(self) -> NDArray[Any]:
        """The duals (rows, outputs)."""
        return np.concatenate([group.dual[:, : len(group.outputs)] for group in self.groups], axis=1)

    @property
    def n_iter(self) -> int:
        return max(group.n_iter for group in self.groups)

    @property
    def objective(self) -> NDArray[np.float64]:
        return np.concatenate([group.objective for group in self.groups])

    @property
    def gap(self) -> NDArray[np.float64]:
        return np.concatenate([group.gap for group in self.groups])

    @property
    def converged(self) -> bool:
        return all(bool(group.certified.all()) for group in self.groups)
