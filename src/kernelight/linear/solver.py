"""The loop over epochs of the dual coordinate solver: what to visit, when to check the certificate,
when to stop.

Certificate: for each output the duality gap P(w) - D(b), an upper bound of P(w) - P(optimum), is at
most ``tol`` times P(w). An output that has it is closed: its weights stay as they are while others
go on.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.linear import active_newton, second_order
from kernelight.linear.design import (
    CodeDesign,
    DesignMatrix,
    MatrixDesign,
    Targets,
    call_rows,
    groups_of,
    packed_width,
    spans,
    suffix,
)

# In the order of core/simd/linear_loops.h.
LOSSES = ("squared_hinge", "hinge", "logistic", "squared", "epsilon_insensitive")
SWEEPS = 10  # coordinate steps inside a block: more make a block exact, fewer make it cheap
# Shrinking: a dual at a bound leaves the active set while its gradient keeps it there by more than
# this.
SHRINK_THRESHOLD = 0.05
# epochs before the first check of the certificate, and between checks
FIRST_CHECK, LONGEST_WAIT = 3, 8
# epochs still to come, and done, that make Newton's method worth a try
NEWTON_PAYS, NEWTON_AFTER = 30, 15
NEWTON_ROUNDS = 4  # tries in a row
NEWTON_SHARE = 0.25  # of the tolerance: rows that had no part in the small problem have the rest
TINY_NORM = 1e-12  # a row of zeros without an intercept: its step must not divide by 0


@dataclass(frozen=True)
class SolverSettings:
    """What to solve, apart from rows and targets."""

    loss: str
    epsilon: float
    intercept: bool
    tol: float
    max_iter: int
    seed: int
    threads: int


@dataclass(frozen=True)
class Mean:
    """A mean of the weights of several epochs, in the order of models, and of how many."""

    weights: NDArray[Any]
    bias: NDArray[np.float64]
    count: int


class Group:
    """The outputs of one group of outputs: their weights and duals, and the epochs that improve
    them."""

    def __init__(
        self, rows: DesignMatrix, targets: Targets, settings: SolverSettings, outputs: range
    ) -> None:
        self.rows, self.settings, self.outputs = rows, settings, outputs
        dtype, n = rows.dtype, rows.n_rows
        self.width = packed_width(len(outputs))
        self.view = rows.view(self.width)
        self.weights = np.zeros((rows.n_entries(self.width), self.width), dtype=dtype)
        self.bias = np.zeros(self.width, dtype=dtype)
        self.dual = np.zeros((n, self.width), dtype=dtype)
        self.gap = np.full(len(outputs), np.inf)
        self.objective = np.full(len(outputs), np.inf)
        self.n_iter = 0
        self.growth = 1.0  # of all costs since the last solve
        self._spent: int | None = None  # epochs of the last solve
        self._ends_by_newton = False  # whether the last solve did
        # Shrinking, for each row: epochs still to leave out, and how often it was left out in a
        # row.
        self._shrunk_for, self._times_shrunk = np.zeros((2, n), dtype=np.uint8)
        self._random = np.random.default_rng([settings.seed, outputs.start])
        self.set_targets(targets)

    def set_targets(self, targets: Targets) -> None:
        """Solve for these from now on, starting where the last ones ended; every output is open
        again.

        The active set stays as it is: with other costs most duals are at the same bounds as before.
        """
        dtype, count = self.rows.dtype, len(self.outputs)
        which = slice(self.outputs.start, self.outputs.stop)

        def packed(values: NDArray[Any]) -> NDArray[Any]:
            padded = np.zeros((*values.shape[:-1], self.width), dtype=dtype)
            padded[..., :count] = values[..., which]
            return padded

        labels = None if targets.labels is None else targets.labels - np.int32(self.outputs.start)
        norms = np.maximum(
            self.rows.norms + dtype.type(self.settings.intercept), dtype.type(TINY_NORM)
        )
        self._kept: Any = (
            labels,
            None if targets.values is None else packed(targets.values),
            targets.row_cost.astype(dtype),
            packed(targets.above),
            packed(targets.below),
            norms,
        )
        make = getattr(_core, f"LinearTargets{suffix(dtype)}")
        loss = LOSSES.index(self.settings.loss)
        self._targets = make(*self._kept, self.settings.intercept, loss, self.settings.epsilon)
        self._open = np.arange(self.width) < count
        self.gap[:] = self.objective[:] = np.inf  # those of other costs say nothing

    def rescale(self, growth: float) -> None:
        """Multiply the duals of each output by what is best for the new costs, which have grown by
        ``growth`` >= 1.

        Along the duals b the dual objective is s A - s^2 B for the hinges and squares, highest at s
        = A / 2B.
        """
        if self.settings.loss == "logistic":
            return
        linear, quadratic = self._dual_terms()
        with np.errstate(divide="ignore", invalid="ignore"):
            best = linear / (2 * (quadratic + self._half_norms()))
        bounded = self.settings.loss in ("hinge", "epsilon_insensitive")
        best = np.clip(np.nan_to_num(best, nan=1.0), 0.5, growth if bounded else max(growth, 1.0))
        factor = np.ones(self.width)
        factor[: len(self.outputs)] = np.where(self._open[: len(self.outputs)], best, 1.0)
        scale = factor.astype(self.rows.dtype)
        self.dual *= scale
        self.weights *= scale
        self.bias *= scale

    def _output_targets(self, output: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Targets and costs of the rows for one output."""
        labels, values, cost, above, below, _ = self._kept
        if labels is not None:
            own = labels == output
            return np.where(own, 1.0, -1.0), cost * np.where(own, above[output], below[output])
        return values[:, output], cost * above[output]

    def _dual_terms(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """A and Q of conjugate(s b) = -s A + s^2 Q, for each output; for all losses but the
        logistic."""
        linear, quadratic = np.zeros(len(self.outputs)), np.zeros(len(self.outputs))
        for output in range(len(self.outputs)):
            dual = self.dual[:, output].astype(np.float64)
            y, costs = self._output_targets(output)
            linear[output] = (y * dual).sum() - self.settings.epsilon * np.abs(dual).sum() * (
                self.settings.loss == LOSSES[-1]
            )
            if self.settings.loss in ("squared_hinge", "squared"):
                inverse = np.divide(0.25, costs, out=np.zeros(len(dual)), where=costs > 0)
                quadratic[output] = (inverse * dual**2).sum()
        return linear, quadratic

    def _spans(self) -> Iterator[tuple[int, int]]:
        """The rows in ranges, one for each compiled call."""
        return spans(self.rows.n_rows, self.rows.work, self.width)

    def add_duals(self, dual: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any]) -> None:
        """Add the sum of rows times duals to weights and intercepts."""
        for begin, end in self._spans():
            self.view.add_duals(
                dual, self.settings.intercept, weights, bias, begin, end, self.settings.threads
            )

    def forget_gap(self) -> None:
        """After an interrupt the weights are not those of the last check; another one is made where
        it costs little."""
        if self.rows.n_rows <= call_rows(self.rows.work, self.width):
            self.certify()
        else:
            self.gap[:] = self.objective[:] = np.inf

    def _half_norms(self) -> NDArray[Any]:
        """Half the squared norms of the weights of each output, in double precision."""
        half = self.bias.astype(np.float64) ** 2 / 2
        # in pieces: copies in double precision are large
        for begin in range(0, len(self.weights), 1 << 14):
            half += (self.weights[begin : begin + (1 << 14)].astype(np.float64) ** 2).sum(
                axis=0
            ) / 2
        return half[: len(self.outputs)]

    def certify(self, stopped: Callable[[], bool] = lambda: False) -> bool:
        """Check the duality gap of each output and close those that have converged; True if all
        have, or if stopped."""
        loss, conjugate = np.zeros(self.width), np.zeros(self.width)
        all_open = np.arange(self.width) < len(self.outputs)
        for begin, end in self._spans():
            if stopped():
                return True
            self.view.objective(
                self._targets,
                self.weights,
                self.bias,
                self.dual,
                all_open,
                loss,
                conjugate,
                begin,
                end,
                self.settings.threads,
            )
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows has no certificate
            half = self._half_norms()
            self.objective = half + loss[: len(half)]
            self.gap = np.maximum(self.objective + half + conjugate[: len(half)], 0.0)
        # numbers beyond all floats will not come back
        still = ~self.certified & np.isfinite(self.gap)
        open_outputs = np.zeros(self.width, dtype=bool)
        open_outputs[: len(still)] = still
        if (open_outputs != self._open).any():
            self._open = open_outputs
            self._shrunk_for[:] = self._times_shrunk[:] = 0
        return not still.any()

    @property
    def certified(self) -> NDArray[np.bool_]:
        """Which outputs have their certificate; one whose objective is beyond all floats has
        none."""
        limit = self.settings.tol * np.maximum(self.objective, np.finfo(np.float64).tiny)
        return np.asarray(np.isfinite(self.objective) & (self.gap <= limit))

    @property
    def relative_gap(self) -> float:
        """The largest duality gap over the objective; infinite before the first check."""
        if not np.isfinite(self.gap).all() or not np.isfinite(self.objective).all():
            return math.inf
        return float(np.max(self.gap / np.maximum(self.objective, np.finfo(np.float64).tiny)))

    def epoch(self, stopped: Callable[[], bool]) -> None:
        """One visit to every row of the active set."""
        order = self._random.permutation(self.rows.n_rows).astype(np.int32)
        shrunk = self._shrunk_for[order] > 0
        self._shrunk_for[order[shrunk]] -= 1
        order = order[~shrunk]
        step = call_rows(self.rows.work, self.width)
        for begin in range(0, len(order), step):
            if stopped():
                return
            self.view.epoch(
                self._targets,
                self.weights,
                self.bias,
                self.dual,
                self._open,
                order[begin : begin + step],
                SWEEPS,
                SHRINK_THRESHOLD,
                self._shrunk_for,
                self._times_shrunk,
                self.settings.threads,
            )
        self.n_iter += 1

    def _finish(self) -> bool:
        """Try a second-order method for each open output, see `active_newton` and `second_order`.

        False if it helped none.
        """
        if self.settings.loss not in ("squared_hinge", "squared"):
            return self._by_columns()
        dual, solved = self._by_rows()
        if not solved.any():
            return False
        weights, bias = np.zeros_like(self.weights), np.zeros_like(self.bias)
        self.add_duals(dual, weights, bias)
        for mine, better in ((self.weights, weights), (self.bias, bias), (self.dual, dual)):
            mine[..., solved] = better[..., solved]
        return True

    @property
    def _by_normal_equations(self) -> bool:
        """Whether `second_order` is there for this loss and these rows."""
        narrow = isinstance(self.rows, MatrixDesign) and self.rows.is_narrow
        return narrow and self.settings.loss not in ("squared_hinge", "squared")

    def _by_columns(self) -> bool:
        """Weights and duals of narrow dense rows by their normal equations.

        False if they helped no output.
        """
        if not self._by_normal_equations:
            return False
        helped = False
        assert isinstance(self.rows, MatrixDesign)
        X = np.empty((self.rows.n_rows, self.rows.n_features + 1))
        X[:, :-1], X[:, -1] = self.rows.X, float(self.settings.intercept)
        for output in np.flatnonzero(self._open).tolist():
            y, costs = self._output_targets(output)
            used = costs > 0
            start = np.append(self.weights[:, output], self.bias[output]).astype(np.float64)
            found = second_order.solved(
                self.settings.loss,
                X[used],
                np.asarray(y[used], np.float64),
                np.asarray(costs[used], np.float64),
                start,
                self.settings.epsilon,
                NEWTON_SHARE * self.settings.tol,
            )
            if found is not None and all(np.isfinite(each).all() for each in found):
                self.dual[:, output] = 0
                self.dual[used, output], weights = found
                self.weights[:, output], self.bias[output] = weights[:-1], weights[-1]
                helped = True
        self.n_iter += int(helped)  # every row was visited
        return helped

    def _by_rows(self) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Duals of the few rows that matter by their inner products, and for which outputs there
        are such."""
        hinge = self.settings.loss == "squared_hinge"
        margins = np.empty((self.rows.n_rows, self.width), dtype=self.rows.dtype)
        for begin, end in self._spans():
            self.view.margins(self.weights, self.bias, margins, begin, end, self.settings.threads)
        dual, solved = self.dual.copy(), np.zeros(self.width, dtype=bool)
        outputs = np.flatnonzero(self._open).tolist()
        tasks = []
        for output in outputs:
            y, costs = self._output_targets(output)
            which = active_newton.rows_that_matter(
                margins[:, output], y, costs, dual[:, output], hinge
            )
            if which is not None:
                tasks.append((output, which, y[which], costs[which]))
        # an epoch for the others costs nearly as much as one for all
        if 2 * len(tasks) < len(outputs):
            return dual, solved
        for output, which, y, costs in tasks:
            with active_newton.room(len(which)):
                K = self.rows.gram(which)
                K += float(self.settings.intercept)
                found = active_newton.solved(
                    K, y, costs, dual[which, output], hinge, NEWTON_SHARE * self.settings.tol
                )
                del K
            if found is not None:
                dual[:, output] = 0
                dual[which, output] = found
                solved[output] = True
        return dual, solved

    def _end(self, stopped: Callable[[], bool]) -> bool:
        """Newton's method as long as it closes outputs; True if it closed all."""
        for _ in range(NEWTON_ROUNDS):
            before = self.gap.copy()
            if stopped() or not self._finish():
                return False
            self._ends_by_newton = True
            if self.certify(stopped):
                return True
            if not (self.gap < before / 2).any():
                return False
        return False

    def solve(self, stopped: Callable[[], bool]) -> None:
        """Epochs until every output has its certificate, ``max_iter`` are done, or someone says
        stop.

        Where the gap falls so slowly that many more epochs would be needed, Newton's method is
        tried.
        """
        start, checks = self.n_iter, []
        was_slow = self._ends_by_newton or (self._spent or 0) >= NEWTON_AFTER
        # with the rows that mattered for the last costs as the first guess
        if was_slow and self._end(stopped):
            return
        if self.growth > 1:
            self.rescale(self.growth)
            self.growth = 1.0
        next_check = start + (FIRST_CHECK if self._spent is None else max(1, self._spent // 2))
        patience = NEWTON_PAYS
        while not stopped() and self.n_iter < start + self.settings.max_iter:
            self.epoch(stopped)
            if self.n_iter < next_check and self.n_iter < start + self.settings.max_iter:
                continue
            if self.certify(stopped):
                self._spent = self.n_iter - start
                return
            checks.append((self.n_iter, self.relative_gap))
            wait = self._wait(checks)
            stuck = (
                self._by_normal_equations and len(checks) > 1 and not checks[-1][1] < checks[-2][1]
            )
            if (wait > patience or stuck) and self.n_iter - start >= NEWTON_AFTER:
                if self._end(stopped):
                    self._spent = self.n_iter - start
                    return
                checks, patience = [], 2 * patience
            next_check = self.n_iter + min(wait, LONGEST_WAIT)
        self._spent = self.n_iter - start
        self.certify(stopped)

    def _wait(self, checks: list[tuple[int, float]]) -> int:
        """Epochs until the gap should be small enough, if it goes on falling as it did between the
        last two checks."""
        if len(checks) < 2 or not 0 < checks[-1][1] < checks[-2][1] < math.inf:
            return 2
        fall = math.log(checks[-2][1] / checks[-1][1]) / (checks[-1][0] - checks[-2][0])
        wanted = math.log(checks[-1][1] / max(self.settings.tol, 1e-300)) / fall
        return int(min(max(wanted, 1), 1e6))


class Solver:
    """All outputs of a problem: groups of outputs, solved side by side where there are threads for
    it."""

    def __init__(self, rows: DesignMatrix, targets: Targets, settings: SolverSettings) -> None:
        self.rows, self.settings = rows, settings
        outputs = groups_of(targets.n_outputs)
        # Threads meet several times in each block of rows: little work is done sooner by one of
        # them.
        enough = rows.n_rows * max(1, rows.work) >= 1 << 22 and rows.work >= 128
        self.workers = max(1, min(len(outputs), settings.threads))
        inside = max(1, settings.threads // self.workers) if enough else 1
        inner = SolverSettings(
            settings.loss,
            settings.epsilon,
            settings.intercept,
            settings.tol,
            settings.max_iter,
            settings.seed,
            inside,
        )
        self.groups = [Group(rows, targets, inner, which) for which in outputs]

    def set_targets(self, targets: Targets, growth: float) -> None:
        """Go on with other costs, all ``growth`` times the last ones."""
        for group in self.groups:
            group.set_targets(targets)
            group.growth = growth

    def start_from(self, dual: NDArray[Any]) -> None:
        """Start from given duals (rows, outputs), of the same rows under whatever costs."""
        for group in self.groups:
            group.dual[:, : len(group.outputs)] = dual[:, group.outputs.start : group.outputs.stop]
            group.add_duals(group.dual, group.weights, group.bias)

    def resume(
        self,
        weights: NDArray[Any],
        bias: NDArray[Any],
        seen: NDArray[np.bool_] | None,
        before: NDArray[Any],
        dual: NDArray[Any],
    ) -> None:
        """Go on from the weights of a model, in which the duals ``before``, and perhaps those of
        other rows, have their part, with other duals of the same rows: the weights follow them."""
        for group in self.groups:
            count, which = len(group.outputs), slice(group.outputs.start, group.outputs.stop)
            group.weights, group.bias = self._placed(group, weights, bias, seen)
            group.dual[:, :count] = dual[:, which] - before[:, which]
            if group.dual.any():
                group.add_duals(group.dual, group.weights, group.bias)
            group.dual[:, :count] = dual[:, which]

    def visit(self, epochs: int, mean: Mean, seen: NDArray[np.bool_] | None) -> Mean:
        """Some epochs, whatever the certificate says; the mean of weights goes on with those after
        each epoch."""
        weights, biases = [], []
        for group in self.groups:
            means = self._placed(group, mean.weights, mean.bias, seen)
            count = mean.count
            for _ in range(epochs):
                group.epoch(lambda: False)
                count += 1
                share = 2.0 / (count + 1)  # the t-th in proportion to t: early ones knew little
                for average, now in zip(means, (group.weights, group.bias), strict=True):
                    average += (now - average) * average.dtype.type(share)
            weights.append(self.rows.coefficients(group.width, means[0])[:, : len(group.outputs)])
            biases.append(means[1][: len(group.outputs)])
        return Mean(
            np.concatenate(weights, axis=1),
            np.concatenate(biases).astype(np.float64),
            mean.count + epochs,
        )

    def _placed(
        self,
        group: Group,
        weights: NDArray[Any],
        bias: NDArray[Any],
        seen: NDArray[np.bool_] | None,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Weights and intercepts in the order of models as a group has them."""
        which = slice(group.outputs.start, group.outputs.stop)
        made, made_bias = np.zeros_like(group.weights), np.zeros_like(group.bias)
        if seen is not None or not isinstance(self.rows, CodeDesign):
            self.rows.place(group.width, weights[:, which], seen, made)
            made_bias[: len(group.outputs)] = bias[which]
        return made, made_bias

    def run(self) -> bool:
        """Solve; False if an interrupt came first, which leaves the last weights."""
        stop = threading.Event()
        try:
            with active_newton.one_thread():
                self._solve_groups(stop)
        except KeyboardInterrupt:
            for group in self.groups:
                group.forget_gap()
            return False
        return True

    def _solve_groups(self, stop: threading.Event) -> None:
        if self.workers == 1:
            for group in self.groups:
                group.solve(stop.is_set)
            return
        with ThreadPoolExecutor(self.workers) as pool:
            running = [pool.submit(group.solve, stop.is_set) for group in self.groups]
            try:
                for each in running:
                    each.result()
            except BaseException:
                stop.set()  # before the pool waits for its threads
                raise

    def coefficients(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Weights (entries in the order of models, outputs) and intercepts."""
        parts = [
            self.rows.coefficients(group.width, group.weights)[:, : len(group.outputs)]
            for group in self.groups
        ]
        bias = [group.bias[: len(group.outputs)] for group in self.groups]
        return np.concatenate(parts, axis=1), np.concatenate(bias).astype(np.float64)

    @property
    def duals(self) -> NDArray[Any]:
        """The duals (rows, outputs)."""
        return np.concatenate(
            [group.dual[:, : len(group.outputs)] for group in self.groups], axis=1
        )

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
