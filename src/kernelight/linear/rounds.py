"""Rounds of the dual solver over rows in blocks, which are in several places: CoCoA+.

Block k has the rows A_k (one a column) and their duals a_k; w = sum_k A_k a_k. The dual objective

    D(a) = - 1/2 |w|^2 - sum_i conjugate_i(a_i)

is raised in rounds. In each, every block improves its own duals by a few epochs, for the others as
they were, and all changes are added. That they do not go too far together, a block reckons with B
times its own change (Ma et al. 2015, "Adding vs. averaging in distributed primal-dual
optimization", with sigma' = B):

    max over d of   - conjugate(a_k + d) - w . A_k d - B/2 |A_k d|^2.

In b = B (a_k + d) this is the problem of the ordinary solver with costs B C, from the weights w and
the duals B a_k (`BlockProblem`). A round never lowers D.

Rounds gain by momentum (Nesterov): duals begin further along the way that they went in the round
before, by a factor t / (t + 3) of it, within their bounds. Where that has lowered D, t is 0 again.
The weights that a round begins with are those of exactly these duals, so that a block says at the
end of a round what the next will begin with: weights that go along by themselves, without the
bounds, leave P(w) hundreds of times too high. P(w) and D(a) bound each other: the best of each are
the certificate.

Nothing here knows where blocks are: `learn` asks for a round, and gets the sums of each block.
Sums go in the order of blocks, so that the result depends on the rows of each block alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kernelight.base.checks import resources
from kernelight.codes import Codes
from kernelight.linear.design import (
    CodeDesign,
    DesignMatrix,
    MatrixDesign,
    Targets,
    feasible_duals,
    groups_of,
    packed_width,
)
from kernelight.linear.output_group import SolverSettings
from kernelight.linear.solver import Solver

__all__ = [
    "BlockProblem",
    "BlockSums",
    "Blocks",
    "Duals",
    "MemoryBlocks",
    "RoundTask",
    "RoundWatch",
    "row_round_bytes",
]

EPOCHS = 3  # over a block in a round: more of them know too little of the other blocks

#: Called with the number of a round, and the relative duality gap so far.
RoundWatch = Callable[[int, float], None]


class RoundTask(NamedTuple):
    """What every block is told in a round.

    Weights are (entries in the order of models and then the intercept, outputs) in single
    precision. Without ``epochs`` only the losses at ``weights`` are asked for.
    """

    number: int
    #: those of the duals as they are
    weights: NDArray[np.float32]
    #: those of the duals that the epochs begin with, and how far these go along, for each output
    start: NDArray[np.float32]
    momentum: NDArray[np.float32]
    #: how far duals will go along in the next round
    next_momentum: NDArray[np.float32]
    epochs: int


class Duals(NamedTuple):
    """The duals of the rows of a block, (rows, outputs), and those of the round before."""

    now: NDArray[np.float32]
    before: NDArray[np.float32]

    @classmethod
    def zeros(cls, n_rows: int, n_outputs: int) -> Duals:
        """Those of a block that has seen no round."""
        none = np.zeros((n_rows, n_outputs), dtype=np.float32)
        return cls(none, none)


class BlockSums(NamedTuple):
    """What a block says in a round.

    ``weights`` are A_k a_k at the new duals, ``ahead`` at those that the next round begins with;
    ``loss`` are the losses at the weights of the task, ``conjugate`` those at the new duals, both
    for each output.
    """

    weights: NDArray[np.float32]
    ahead: NDArray[np.float32]
    loss: NDArray[np.float64]
    conjugate: NDArray[np.float64]


class Blocks(Protocol):
    """Rows in blocks, wherever they are. A block without rows may be left out."""

    @property
    def n_blocks(self) -> int:
        """B."""
        ...

    @property
    def n_rows(self) -> int:
        """All rows."""
        ...

    @property
    def seen(self) -> NDArray[np.bool_] | None:
        """The codes that occur in any row, (slots, 2^bits); None for a matrix."""
        ...

    def solve(self, task: RoundTask) -> Iterable[BlockSums]:
        """A round on every block, which keeps its new duals; the sums in the order of blocks."""
        ...


# -- One block


@dataclass(frozen=True)
class BlockProblem:
    """What is solved in a block, apart from rows and targets: it goes to where these are.

    ``above`` and ``below`` are as in `Targets`, ``seen`` bits of the codes that occur in any block
    (None for a matrix).
    """

    settings: SolverSettings
    C: float
    above: NDArray[np.float64]
    below: NDArray[np.float64]
    seen: NDArray[np.uint8] | None
    n_blocks: int

    @property
    def n_outputs(self) -> int:
        return len(self.above)

    def solve(
        self, X: Any, content: NDArray[Any], duals: Duals, task: RoundTask, block: int
    ) -> tuple[Duals, BlockSums]:
        """A round on a block: its new duals, and its sums. It depends on its arguments alone.

        ``X`` are `Codes` or a matrix, ``content`` the labels or values of `Targets`.
        """
        classes = content.ndim == 1
        labels, values = (content, None) if classes else (None, content)
        cost = np.full(len(content), self.C)
        targets = Targets(labels, values, cost, self.above, self.below)
        use = resources(self.settings.threads)
        seen = _flags(self.seen, X)
        rows: DesignMatrix = (
            CodeDesign(X, np.float32, use, counts=seen)  # which have all codes of this block
            if isinstance(X, Codes)
            else MatrixDesign(X, np.float32, use)
        )
        # rows are visited in another order in each block and round
        mixed = np.random.SeedSequence([self.settings.seed, task.number, block])
        settings = replace(self.settings, seed=int(mixed.generate_state(1, np.uint64)[0]))
        return _solved(rows, seen, targets, settings, duals, task, self.n_blocks)


def row_round_bytes(n_outputs: int) -> int:
    """Bytes that a row of a block takes in a round beside its codes: duals, targets, an order."""
    return 64 + sum(24 * packed_width(len(each)) for each in groups_of(n_outputs))


def _flags(bits: NDArray[np.uint8] | None, X: Any) -> NDArray[np.bool_] | None:
    """The flags of `BlockProblem.seen`, (slots, 2^bits)."""
    if bits is None:
        return None
    flags = np.unpackbits(bits, count=X.n_components << X.bits)
    return flags.astype(bool).reshape(X.n_components, -1)


def _solved(
    rows: DesignMatrix,
    seen: NDArray[np.bool_] | None,
    targets: Targets,
    settings: SolverSettings,
    duals: Duals,
    task: RoundTask,
    n_blocks: int,
) -> tuple[Duals, BlockSums]:
    solver = Solver(rows, targets, settings)
    none = np.zeros_like(duals.now)
    solver.resume(task.weights[:-1], task.weights[-1], seen, none, none)
    loss, _ = solver.sums()
    if not task.epochs:
        nothing = np.zeros_like(task.weights)
        return duals, BlockSums(nothing, nothing, loss, np.zeros_like(loss))
    begun = _onward(duals, task.momentum, targets, settings.loss) * rows.dtype.type(n_blocks)
    solver.set_targets(targets.scaled(n_blocks), 1.0)
    solver.resume(task.start[:-1], task.start[-1], seen, begun, begun)
    for group in solver.groups:
        for _ in range(task.epochs):
            group.epoch(lambda: False)
    now = _feasible(solver.duals / n_blocks, targets, settings.loss)
    solver.set_targets(targets, 1.0)
    duals = Duals(now, duals.now)
    own = _begun(solver, duals.now)
    _, conjugate = solver.sums()
    ahead = _begun(solver, _onward(duals, task.next_momentum, targets, settings.loss))
    return duals, BlockSums(own, ahead, loss, conjugate)


def _onward(duals: Duals, momentum: NDArray[Any], targets: Targets, loss: str) -> NDArray[Any]:
    """The duals that a round begins with."""
    return _feasible(duals.now + momentum * (duals.now - duals.before), targets, loss)


def _begun(solver: Solver, dual: NDArray[Any]) -> NDArray[np.float32]:
    """The weights of these duals alone, from which the solver then goes on."""
    for group in solver.groups:
        group.weights[:], group.bias[:] = 0, 0
    solver.start_from(dual)
    weights, bias = solver.coefficients()
    return np.concatenate([weights, bias[None]]).astype(np.float32)


def _feasible(dual: NDArray[Any], targets: Targets, loss: str) -> NDArray[Any]:
    """Duals within their bounds, in single precision; of classes with the sign of the target."""
    if targets.labels is not None:
        own = targets.labels[:, None] == np.arange(targets.n_outputs)
        dual = np.where(own, np.maximum(dual, 0), np.minimum(dual, 0))
    return feasible_duals(dual, targets, loss).astype(np.float32)


class MemoryBlocks:
    """Blocks in the memory of this process, solved one after another.

    Each is `Codes` or a matrix, and the labels or values of `Targets`.
    """

    def __init__(self, problem: BlockProblem, parts: Sequence[tuple[Any, NDArray[Any]]]) -> None:
        self._problem, self._parts = problem, parts
        self._duals = [Duals.zeros(len(content), problem.n_outputs) for _, content in parts]

    @property
    def n_blocks(self) -> int:
        """B."""
        return self._problem.n_blocks

    @property
    def n_rows(self) -> int:
        """All rows."""
        return sum(len(content) for _, content in self._parts)

    @property
    def seen(self) -> NDArray[np.bool_] | None:
        """The codes that occur in any row."""
        return _flags(self._problem.seen, self._parts[0][0])

    def solve(self, task: RoundTask) -> Iterable[BlockSums]:
        """A round on every block."""
        for at, (X, content) in enumerate(self._parts):
            self._duals[at], sums = self._problem.solve(X, content, self._duals[at], task, at)
            yield sums


# -- All rounds


class Learned(NamedTuple):
    """The weights of the least objective and their certificate, for each output.

    Weights are as in a `RoundTask`. ``gap`` is the objective less the highest dual objective.
    """

    weights: NDArray[np.float32]
    objective: NDArray[np.float64]
    gap: NDArray[np.float64]
    n_rounds: int

    @property
    def relative_gap(self) -> float:
        """The largest gap over the objective."""
        return float(np.max(self.gap / np.maximum(self.objective, np.finfo(np.float64).tiny)))


def learn(
    blocks: Blocks, shape: tuple[int, int], tol: float, max_rounds: int, watch: RoundWatch
) -> Learned:
    """Rounds until the duality gap of each output is at most ``tol`` of its objective.

    At most ``max_rounds``, and then one round more that asks for the losses alone. ``shape`` is
    that of the weights.
    """
    n_outputs = shape[1]
    weights = ahead = np.zeros(shape)
    best = Learned(
        np.zeros(shape, dtype=np.float32), np.full(n_outputs, np.inf), np.full(n_outputs, np.inf), 0
    )
    highest, last = np.full((2, n_outputs), -np.inf)
    steps = np.zeros(n_outputs)  # since momentum began
    for number in range(1, max_rounds + 2):
        task = RoundTask(
            number,
            weights.astype(np.float32),
            np.where(steps > 0, ahead, weights).astype(np.float32),
            _momentum(steps),
            _momentum(steps + 1),
            EPOCHS if number <= max_rounds else 0,
        )
        new_weights, new_ahead = np.zeros((2, *shape))
        loss, conjugate = np.zeros((2, n_outputs))
        for sums in blocks.solve(task):
            new_weights += sums.weights
            new_ahead += sums.ahead
            loss += sums.loss
            conjugate += sums.conjugate
        best = _better(best, task.weights, _half_norms(task.weights) + loss)
        if task.epochs:
            weights, ahead = new_weights, new_ahead
            dual = -_half_norms(weights) - conjugate
            steps = np.where((dual < last) & (steps > 0), 0.0, steps + 1)
            highest, last = np.maximum(highest, dual), dual
        best = best._replace(
            gap=np.maximum(best.objective - highest, 0.0), n_rounds=min(number, max_rounds)
        )
        watch(best.n_rounds, best.relative_gap)
        if best.relative_gap <= tol:
            break
    return best


def _momentum(steps: NDArray[np.float64]) -> NDArray[np.float32]:
    return (steps / (steps + 3)).astype(np.float32)


def _half_norms(weights: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(np.square(weights, dtype=np.float64).sum(axis=0) / 2)


def _better(best: Learned, weights: NDArray[np.float32], objective: NDArray[np.float64]) -> Learned:
    """The best so far, with the outputs that have a lower objective at these weights."""
    lower = objective < best.objective
    return best._replace(
        weights=np.where(lower, weights, best.weights),
        objective=np.where(lower, objective, best.objective),
    )
