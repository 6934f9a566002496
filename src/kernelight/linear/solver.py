"""The solver of linear models: all outputs of a problem, in groups that run on threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.linear.active_set_newton import one_blas_thread
from kernelight.linear.design import CodeDesign, DesignMatrix, Targets, groups_of
from kernelight.linear.output_group import OutputGroup, SolverSettings

# Threads meet several times in each block of rows: with less work than this, in stored numbers and
# in stored numbers of a row, one thread is faster.
MIN_SHARED_WORK, MIN_SHARED_ROW = 1 << 22, 128


@dataclass(frozen=True)
class WeightAverage:
    """An average of the weights of several epochs, in the order of models, and of how many."""

    weights: NDArray[Any]
    bias: NDArray[np.float64]
    n_epochs: int


class Solver:
    """All outputs of a problem, in groups that are solved in parallel if there are threads."""

    def __init__(self, rows: DesignMatrix, targets: Targets, settings: SolverSettings) -> None:
        self.rows, self.settings = rows, settings
        outputs = groups_of(targets.n_outputs)
        enough = rows.n_rows * max(1, rows.work) >= MIN_SHARED_WORK and rows.work >= MIN_SHARED_ROW
        self.workers = max(1, min(len(outputs), settings.threads))
        threads = max(1, settings.threads // self.workers) if enough else 1
        settings = replace(settings, threads=threads)
        self.groups = [OutputGroup(rows, targets, settings, which) for which in outputs]

    def set_targets(self, targets: Targets, growth: float) -> None:
        """Go on with other costs, all ``growth`` times the last ones."""
        for group in self.groups:
            group.set_targets(targets)
            group.growth = growth

    def start_from(self, dual: NDArray[Any]) -> None:
        """Start from given duals (rows, outputs) of the same rows; the weights follow from them."""
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
        """Start from the weights of a model, with the duals ``dual`` of these rows.

        The weights contain these rows with the duals ``before``, and perhaps other rows; they are
        corrected by the difference.
        """
        for group in self.groups:
            count, which = len(group.outputs), slice(group.outputs.start, group.outputs.stop)
            group.weights, group.bias = self._placed(group, weights, bias, seen)
            group.dual[:, :count] = dual[:, which] - before[:, which]
            if group.dual.any():
                group.add_duals(group.dual, group.weights, group.bias)
            group.dual[:, :count] = dual[:, which]

    def visit(
        self, n_epochs: int, average: WeightAverage, seen: NDArray[np.bool_] | None
    ) -> WeightAverage:
        """Run ``n_epochs``, whatever the certificate says; ``average`` with their weights added.

        The weights of the t-th epoch count in proportion to t (polynomial-decay averaging, Shamir
        and Zhang 2013): early epochs knew little.
        """
        weights, biases = [], []
        for group in self.groups:
            means = self._placed(group, average.weights, average.bias, seen)
            for t in range(average.n_epochs + 1, average.n_epochs + n_epochs + 1):
                group.epoch(lambda: False)
                fraction = 2.0 / (t + 1)
                for mean, now in zip(means, (group.weights, group.bias), strict=True):
                    mean += (now - mean) * mean.dtype.type(fraction)
            weights.append(self.rows.coefficients(group.width, means[0])[:, : len(group.outputs)])
            biases.append(means[1][: len(group.outputs)])
        return WeightAverage(
            np.concatenate(weights, axis=1),
            np.concatenate(biases).astype(np.float64),
            average.n_epochs + n_epochs,
        )

    def _placed(
        self,
        group: OutputGroup,
        weights: NDArray[Any],
        bias: NDArray[Any],
        seen: NDArray[np.bool_] | None,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Weights and intercepts of a model, in the order and padding of a group."""
        which = slice(group.outputs.start, group.outputs.stop)
        placed, placed_bias = np.zeros_like(group.weights), np.zeros_like(group.bias)
        if seen is not None or not isinstance(self.rows, CodeDesign):
            self.rows.place(group.width, weights[:, which], seen, placed)
            placed_bias[: len(group.outputs)] = bias[which]
        return placed, placed_bias

    def run(self) -> bool:
        """Solve all groups; False after an interrupt, which keeps the weights of the last epoch."""
        stop = threading.Event()
        try:
            with one_blas_thread():
                self._solve_groups(stop)
        except KeyboardInterrupt:
            for group in self.groups:
                group.discard_gap()
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

    def sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Losses of all rows at the weights and conjugates at the duals, for each output."""
        parts = [sums for group in self.groups if (sums := group.sums()) is not None]
        loss, conjugate = (np.concatenate(part) for part in zip(*parts, strict=True))
        return loss, conjugate

    @property
    def duals(self) -> NDArray[Any]:
        """The duals (rows, outputs)."""
        return np.concatenate(
            [group.dual[:, : len(group.outputs)] for group in self.groups], axis=1
        )

    @property
    def n_iter(self) -> int:
        """The most epochs of any group."""
        return max(group.n_iter for group in self.groups)

    @property
    def objective(self) -> NDArray[np.float64]:
        """The objective P(w) of each output at the last check."""
        return np.concatenate([group.objective for group in self.groups])

    @property
    def gap(self) -> NDArray[np.float64]:
        """The duality gap of each output at the last check."""
        return np.concatenate([group.gap for group in self.groups])

    @property
    def relative_gap(self) -> float:
        """The largest duality gap over the objective."""
        return max(group.relative_gap for group in self.groups)

    @property
    def converged(self) -> bool:
        """Whether every output has its certificate."""
        return all(bool(group.certified.all()) for group in self.groups)
