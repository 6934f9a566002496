"""Dual coordinate descent on rows of which only a block is in memory at a time.

The duals of all rows are in memory, and so are the weights, which are the sum of duals times rows.
A block is read, its duals are improved with the others fixed, and so on; each step raises the dual
objective of all rows (Yu et al. 2012, "Large linear classification when data cannot fit in
memory"). So visits to all rows approach the solution that a fit in memory finds. As each moves the
weights by a fraction of what the one before has moved them, one that moves them little is the last.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.linear.design import groups_of, packed_width
from kernelight.linear.output_group import OutputGroup, SolverSettings
from kernelight.linear.solver import Solver
from kernelight.linear.stored_rows import Block, StoredRows

VISITS = 4  # to each row in a pass
# A visit to all rows that changes no weights by more than this fraction of their length is the last
# one: more change no digit of an accuracy that matters.
SMALL_CHANGE = 0.05

#: Called with the number of a pass and the number of rows that were visited since the last call.
PassWatch = Callable[[int, int], None]


def row_state_bytes(n_outputs: int) -> int:
    """Bytes that are kept for each row: duals, what shrinking knows, target, cost and a flag."""
    duals = sum(4 * packed_width(len(each)) + 2 for each in groups_of(n_outputs))
    return duals + max(4, 8 * n_outputs) + 8 + 1


def row_work_bytes(n_outputs: int) -> int:
    """Bytes that each row of a block takes beside its codes while the block is solved."""
    return 2 * row_state_bytes(n_outputs) + 32


class BlockSolver:
    """All outputs of a problem, whose rows are read block by block."""

    def __init__(self, stored: StoredRows, settings: SolverSettings, C: float) -> None:
        self._stored, self._settings, self._C = stored, settings, C
        self._random = np.random.default_rng([settings.seed, 1])
        self._groups: list[_GroupState] = []
        self._last: Solver | None = None
        self.n_visits = 0

    def run(self, passes: int, watch: PassWatch) -> None:
        """Visit all rows until that changes the weights little; at most ``passes`` passes."""
        for number in range(1, passes + 1):
            for _ in range(VISITS):
                if self._visit(partial(watch, number)) <= SMALL_CHANGE:
                    return

    @property
    def last(self) -> Solver:
        """The solver of the last block, whose weights are those of all rows."""
        assert self._last is not None
        return self._last

    def _visit(self, told: Callable[[int], None]) -> float:
        """Read every block and visit its rows once; ``told`` how many rows it has.

        Returns how much the weights have changed: the largest distance of an output from its
        weights before, over their length.
        """
        before = [state.weights.copy() for state in self._groups]
        for block in self._stored.blocks(self._random):
            solver = self._solver(block)
            for group in solver.groups:
                group.epoch(lambda: False)
            self._put_back(block, solver)
            self._last = solver
            told(solver.rows.n_rows)
        self.n_visits += 1
        if not before:
            return math.inf
        return max(
            state.changed_since(weights)
            for state, weights in zip(self._groups, before, strict=True)
        )

    def _solver(self, block: Block) -> Solver:
        """A solver of one block, with the weights of all rows."""
        settings = replace(self._settings, seed=int(self._random.integers(1 << 62)))
        solver = Solver(block.design, block.targets.scaled(self._C), settings)
        if not self._groups:
            self._groups = [_GroupState.of(group, self._stored.n_rows) for group in solver.groups]
        for group, state in zip(solver.groups, self._groups, strict=True):
            # a slice of an array is the array itself, chosen rows are a copy
            group.adopt(
                state.weights, state.bias, state.dual[block.places], state.shrunk[:, block.places]
            )
        return solver

    def _put_back(self, block: Block, solver: Solver) -> None:
        for group, state in zip(solver.groups, self._groups, strict=True):
            state.dual[block.places] = group.dual
            state.shrunk[:, block.places] = group.shrunk


class _GroupState(NamedTuple):
    """Weights and intercepts of a group of outputs, duals of all rows, and what shrinking knows."""

    weights: NDArray[Any]
    bias: NDArray[Any]
    dual: NDArray[Any]
    shrunk: NDArray[np.uint8]

    @classmethod
    def of(cls, group: OutputGroup, n_rows: int) -> _GroupState:
        """That of duals 0."""
        dual = np.zeros((n_rows, group.width), dtype=group.dual.dtype)
        shrunk = np.zeros((2, n_rows), dtype=np.uint8)
        return cls(np.zeros_like(group.weights), np.zeros_like(group.bias), dual, shrunk)

    def changed_since(self, before: NDArray[Any]) -> float:
        """The largest distance of any output from these weights, over their length."""
        distance = np.linalg.norm(self.weights - before, axis=0)
        length = np.linalg.norm(self.weights, axis=0)
        return float(np.max(distance / np.maximum(length, np.finfo(np.float32).tiny)))
