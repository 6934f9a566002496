"""Learning from batches: coordinate ascent on the dual of all rows seen so far.

A batch brings rows whose duals start at 0. Its steps raise the dual objective of the problem of all
rows so far, whose weights are the sum of duals times rows. One visit to each row would not be
enough, as the first rows were visited with weights that knew little. So earlier rows are kept in a
replay buffer (`replay`), and with each batch a sample of them is visited again. Rows that come
again in another pass over the data go on from their duals: so passes approach the solution for all
rows, each counted once. The model is an average of the weights after each epoch, steadier than the
last ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import Resources
from kernelight.codes import Codes
from kernelight.linear.design import (
    BOUNDED_DUALS,
    CodeDesign,
    MatrixDesign,
    Targets,
    feasible_duals,
)
from kernelight.linear.output_group import SolverSettings
from kernelight.linear.replay import (
    BUFFER_BYTES,
    DataPass,
    Ledger,
    ReplayBuffer,
    n_replayed,
    recognise,
)
from kernelight.linear.solver import Solver, WeightAverage

# Epochs over a batch and its replayed rows; a batch of LARGE_BATCH rows or more needs fewer.
EPOCHS, LARGE_EPOCHS, LARGE_BATCH = 4, 2, 8192
FITTED_EPOCHS = 20  # that a fitted or loaded model counts for in the average

Weights = tuple[NDArray[Any], NDArray[np.float64]]


def n_epochs(n_rows: int) -> int:
    """How often a batch of ``n_rows``, and the rows replayed with it, are visited."""
    return EPOCHS if n_rows < LARGE_BATCH else LARGE_EPOCHS


@dataclass(frozen=True)
class BatchState:
    """What `partial_fit` keeps from batch to batch, beside the model.

    The model is an average over ``n_averaged`` epochs; ``weights`` and ``bias`` are those of the
    last epoch, from which the next batch goes on.
    """

    buffer: ReplayBuffer
    ledger: Ledger
    data_pass: DataPass
    weights: NDArray[Any]
    bias: NDArray[np.float64]
    n_averaged: int
    C: float

    def with_cost(self, C: float, loss: str) -> BatchState:
        """The state for batches of this C; with another C the average starts anew.

        Duals are brought within the bounds of a smaller C. Rows that were forgotten have their part
        in the weights too, so everything shrinks by the same factor.
        """
        if C == self.C:
            return self
        factor = C / self.C if C < self.C and loss in BOUNDED_DUALS else 1.0
        return replace(
            self,
            buffer=self.buffer.scaled(factor),
            ledger=self.ledger.scaled(factor),
            weights=self.weights * self.weights.dtype.type(factor),
            bias=self.bias * factor,
            n_averaged=0,
            C=C,
        )


@dataclass(frozen=True)
class BatchLearner:
    """Learns from one batch: the settings of one call of `partial_fit`."""

    settings: SolverSettings
    resources: Resources
    C: float
    random: np.random.Generator  # chooses the rows that are replayed

    def learn(
        self,
        X: Any,
        targets: Targets,
        model: Weights | None,
        seen: NDArray[np.bool_] | None,
        state: BatchState | None,
    ) -> tuple[Solver, WeightAverage, BatchState]:
        """Learn from one batch: the solver at its end, the new model, and the new state.

        ``model`` is None for the first batch, ``state`` also for a model that was fitted or loaded;
        ``seen`` flags the codes that have weights in the model.
        """
        loss = self.settings.loss
        dtype = np.float32 if isinstance(X, Codes) else X.dtype
        if model is not None and not isinstance(X, Codes):
            dtype = model[0].dtype
        batch = ReplayBuffer.of(X, targets, dtype)
        if state is not None:
            state = state.with_cost(self.C, loss)
            earlier = (state.buffer, state.ledger, state.data_pass)
        else:
            no_rows = batch.take(np.zeros(0, dtype=np.intp))
            earlier = (*no_rows.within(BUFFER_BYTES), DataPass())  # an empty buffer and ledger
        batch, buffer, ledger, data_pass = recognise(batch, *earlier)
        replayed = np.sort(self.random.permutation(len(buffer))[: n_replayed(X)])
        work = batch.joined(buffer.take(replayed)) if len(buffer) else batch
        solver = self._solver(work, targets, seen, dtype)
        average = self._start(solver, work, targets, model, seen, state)
        average = solver.visit(n_epochs(X.shape[0]), average, seen)
        dual = solver.duals
        kept = batch.with_duals(dual[: len(batch)])
        if state is not None:
            buffer_dual = buffer.dual.copy()
            buffer_dual[replayed] = dual[len(batch) :]
            kept = buffer.with_duals(buffer_dual).joined(kept)
        kept, evicted = kept.within(BUFFER_BYTES)
        ledger = evicted if state is None else ledger.joined(evicted)
        state = BatchState(
            kept, ledger, data_pass, *solver.coefficients(), average.n_epochs, self.C
        )
        return solver, average, state

    def _solver(
        self, work: ReplayBuffer, targets: Targets, seen: NDArray[np.bool_] | None, dtype: Any
    ) -> Solver:
        rows = (
            CodeDesign(work.rows, dtype, self.resources, seen)
            if isinstance(work.rows, Codes)
            else MatrixDesign(work.rows, dtype, self.resources)
        )
        return Solver(rows, work.targets(targets).scaled(self.C), self.settings)

    def _start(
        self,
        solver: Solver,
        work: ReplayBuffer,
        targets: Targets,
        model: Weights | None,
        seen: NDArray[np.bool_] | None,
        state: BatchState | None,
    ) -> WeightAverage:
        """Bring the solver to where the last batch ended; the average so far."""
        if model is None:
            n_outputs = targets.n_outputs
            n_weights = 0 if isinstance(work.rows, Codes) else work.rows.shape[1]
            return WeightAverage(np.zeros((n_weights, n_outputs)), np.zeros(n_outputs), 0)
        dual = feasible_duals(work.dual, work.targets(targets).scaled(self.C), self.settings.loss)
        weights, bias = model if state is None else (state.weights, state.bias)
        solver.resume(weights, bias, seen, work.dual, dual)
        return WeightAverage(*model, FITTED_EPOCHS if state is None else state.n_averaged)
