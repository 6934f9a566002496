"""Epochs of dual coordinate descent, and the duality-gap certificate that stops them.

A group of outputs is learned side by side.

Certificate: for each output the duality gap P(w) - D(b), an upper bound of P(w) - P(optimum), is at
most ``tol`` times P(w). An output that has it is closed: its weights stay as they are while others
go on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.linear import second_order
from kernelight.linear.design import (
    BOUNDED_DUALS,
    DesignMatrix,
    Targets,
    call_rows,
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
# The logistic loss leaves a row alone whose logit is nearer to its margin than this times the root
# of the tolerance: all rows together may then have an eighth of the gap that is allowed.
STILL = 0.5
# epochs before the first check of the certificate, and at most between two checks
FIRST_CHECK, MAX_WAIT = 3, 8
# A second-order method is tried when more than the first number of epochs are still to come, and
# at least the second number are done.
SLOW_EPOCHS, MIN_EPOCHS = 30, 15
# Until two epochs are known, one is expected to multiply the gap by this; later by no more than the
# second number.
FIRST_FALL, SLOWEST_FALL = 0.25, 0.999
SECOND_ORDER_ROUNDS = 4  # tries in a row
# How much of the last change of margins is expected to come again: at first, and later this times
# the best of the steps for the last costs, because margins come to rest as costs grow.
FIRST_ONWARD, LESS_ONWARD = 0.9, 0.8
ONWARD = np.arange(0.0, 1.3, 0.15, dtype=np.float32)
MIN_NORM = 1e-12  # for a row of zeros without an intercept: its step must not divide by 0


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


class OutputGroup:
    """Weights and duals of some outputs, and the epochs that improve them.

    Arrays have ``width`` columns, one for each output and then padding; ``open`` says which outputs
    have no certificate yet.
    """

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
        self.growth = 1.0  # factor of all costs since the last solve
        self._last_epochs: int | None = None  # epochs of the last solve
        self._was_second_order = False  # whether the last solve needed a second-order method
        # of the last costs of a path: margins, their change, and how much of it will come again
        self._past: list[NDArray[Any]] = []
        self._onward = FIRST_ONWARD
        # Shrinking, for each row: epochs that it still stays out of the active set, and how often
        # it was shrunk in succession.
        self._shrunk_for, self._times_shrunk = np.zeros((2, n), dtype=np.uint8)
        # for each of the last two epochs, the losses of the rows that were visited and their parts
        # of the duality gap, (2, width)
        self._seen: list[NDArray[np.float64]] = []
        self._visited = 0  # rows that the last epoch visited
        self._random = np.random.default_rng([settings.seed, outputs.start])
        self.set_targets(targets)

    def set_targets(self, targets: Targets) -> None:
        """Solve for other targets from now on; every output is open again.

        Weights, duals and the active set stay as they are: with other costs most duals are at the
        same bounds as before.
        """
        dtype, count = self.rows.dtype, len(self.outputs)
        which = slice(self.outputs.start, self.outputs.stop)

        def packed(values: NDArray[Any]) -> NDArray[Any]:
            padded = np.zeros((*values.shape[:-1], self.width), dtype=dtype)
            padded[..., :count] = values[..., which]
            return padded

        labels = None if targets.labels is None else targets.labels - np.int32(self.outputs.start)
        norms = np.maximum(
            self.rows.norms + dtype.type(self.settings.intercept), dtype.type(MIN_NORM)
        )
        self._target_arrays: Any = (
            labels,
            None if targets.values is None else packed(targets.values),
            targets.row_cost.astype(dtype),
            packed(targets.above),
            packed(targets.below),
            norms,
        )
        make = getattr(_core, f"LinearTargets{suffix(dtype)}")
        loss = LOSSES.index(self.settings.loss)
        epsilon = self.settings.epsilon
        if self.settings.loss == "logistic":
            epsilon = STILL * math.sqrt(self.settings.tol)
        self._targets = make(*self._target_arrays, self.settings.intercept, loss, epsilon)
        self.open = np.arange(self.width) < count
        self.gap[:] = self.objective[:] = np.inf  # those of other costs do not apply

    def rescale(self, growth: float) -> None:
        """Multiply the duals of each output by the best factor for costs that have grown.

        Along the duals b the dual objective is s A - s^2 B for the hinges and squares, highest at
        s = A / 2B. All costs are ``growth`` >= 1 times those of the last solve.
        """
        if self.settings.loss == "logistic":
            return
        linear, quadratic = self._dual_terms()
        with np.errstate(divide="ignore", invalid="ignore"):
            best = linear / (2 * (quadratic + self._half_norms()))
        bounded = self.settings.loss in BOUNDED_DUALS
        best = np.clip(np.nan_to_num(best, nan=1.0), 0.5, growth if bounded else max(growth, 1.0))
        factor = np.ones(self.width)
        factor[: len(self.outputs)] = np.where(self.open[: len(self.outputs)], best, 1.0)
        scale = factor.astype(self.rows.dtype)
        self.dual *= scale
        self.weights *= scale
        self.bias *= scale

    def targets_of(self, output: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Targets and costs of all rows for one output."""
        labels, values, cost, above, below, _ = self._target_arrays
        if labels is not None:
            own = labels == output
            return np.where(own, 1.0, -1.0), cost * np.where(own, above[output], below[output])
        return values[:, output], cost * above[output]

    def _dual_terms(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """A and Q of conjugate(s b) = -s A + s^2 Q, for each output; not for the logistic loss."""
        linear, quadratic = np.zeros(len(self.outputs)), np.zeros(len(self.outputs))
        for output in range(len(self.outputs)):
            dual = self.dual[:, output].astype(np.float64)
            y, costs = self.targets_of(output)
            linear[output] = (y * dual).sum() - self.settings.epsilon * np.abs(dual).sum() * (
                self.settings.loss == "epsilon_insensitive"
            )
            if self.settings.loss in ("squared_hinge", "squared"):
                inverse = np.divide(0.25, costs, out=np.zeros(len(dual)), where=costs > 0)
                quadratic[output] = (inverse * dual**2).sum()
        return linear, quadratic

    def spans(self) -> Iterator[tuple[int, int]]:
        """The rows in ranges, one for each compiled call."""
        return spans(self.rows.n_rows, self.rows.work, self.width)

    def add_duals(self, dual: NDArray[Any], weights: NDArray[Any], bias: NDArray[Any]) -> None:
        """Add the sum of rows times duals to weights and intercepts."""
        for begin, end in self.spans():
            self.view.add_duals(
                dual, self.settings.intercept, weights, bias, begin, end, self.settings.threads
            )

    def margins(self) -> NDArray[Any]:
        """The margins of all rows, (rows, width)."""
        margins = np.empty((self.rows.n_rows, self.width), dtype=self.rows.dtype)
        for begin, end in self.spans():
            self.view.margins(self.weights, self.bias, margins, begin, end, self.settings.threads)
        return margins

    def discard_gap(self) -> None:
        """Forget the gap of the last check, as the weights have changed; check again if cheap."""
        if self.rows.n_rows <= call_rows(self.rows.work, self.width):
            self.certify()
        else:
            self.gap[:] = self.objective[:] = np.inf

    def _half_norms(self) -> NDArray[Any]:
        """Half the squared norms of the weights of each output, in double precision."""
        half = self.bias.astype(np.float64) ** 2 / 2
        # in pieces: copies in double precision are large
        for begin in range(0, len(self.weights), 1 << 14):
            piece = self.weights[begin : begin + (1 << 14)].astype(np.float64)
            half += (piece**2).sum(axis=0) / 2
        return half[: len(self.outputs)]

    def adopt(
        self,
        weights: NDArray[Any],
        bias: NDArray[Any],
        dual: NDArray[Any],
        shrunk: NDArray[np.uint8],
    ) -> None:
        """Go on with these arrays, which are changed in place.

        ``shrunk`` is that of another group of these rows.
        """
        self.weights, self.bias, self.dual = weights, bias, dual
        self._shrunk_for, self._times_shrunk = (np.ascontiguousarray(each) for each in shrunk)

    @property
    def shrunk(self) -> NDArray[np.uint8]:
        """(2, rows): what shrinking knows of each row."""
        return np.stack([self._shrunk_for, self._times_shrunk])

    def sums(
        self, stopped: Callable[[], bool] = lambda: False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The losses of all rows at the weights, and the conjugates at the duals; None if stopped.

        They are sums over rows, for each output.
        """
        loss, conjugate = np.zeros(self.width), np.zeros(self.width)
        all_outputs = np.arange(self.width) < len(self.outputs)
        for begin, end in self.spans():
            if stopped():
                return None
            self.view.objective(
                self._targets,
                self.weights,
                self.bias,
                self.dual,
                all_outputs,
                loss,
                conjugate,
                begin,
                end,
                self.settings.threads,
            )
        count = len(self.outputs)
        return loss[:count], conjugate[:count]

    def certify(self, stopped: Callable[[], bool] = lambda: False) -> bool:
        """Compute the duality gap of each output and close those that have converged.

        True if no output is open any more, or if stopped.
        """
        sums = self.sums(stopped)
        if sums is None:
            return True
        loss, conjugate = sums
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows has no certificate
            half = self._half_norms()
            self.objective = half + loss
            self.gap = np.maximum(self.objective + half + conjugate, 0.0)
        # an output that has overflowed will not recover
        still_open = np.zeros(self.width, dtype=bool)
        still_open[: len(half)] = ~self.certified & np.isfinite(self.gap)
        if (still_open != self.open).any():
            self.open = still_open
            self._shrunk_for[:] = self._times_shrunk[:] = 0
        return not still_open.any()

    @property
    def certified(self) -> NDArray[np.bool_]:
        """Which outputs have their certificate; one with an infinite objective has none."""
        limit = self.settings.tol * np.maximum(self.objective, np.finfo(np.float64).tiny)
        return np.asarray(np.isfinite(self.objective) & (self.gap <= limit))

    @property
    def relative_gap(self) -> float:
        """The largest duality gap over the objective; infinite before the first check."""
        if not np.isfinite(self.gap).all() or not np.isfinite(self.objective).all():
            return math.inf
        return float(np.max(self.gap / np.maximum(self.objective, np.finfo(np.float64).tiny)))

    def epoch(self, stopped: Callable[[], bool]) -> None:
        """Visit every row of the active set once."""
        order = self._random.permutation(self.rows.n_rows).astype(np.int32)
        shrunk = self._shrunk_for[order] > 0
        self._shrunk_for[order[shrunk]] -= 1
        order = order[~shrunk]
        step = call_rows(self.rows.work, self.width)
        seen = np.zeros((2, self.width))
        for begin in range(0, len(order), step):
            if stopped():
                return
            self.view.epoch(
                self._targets,
                self.weights,
                self.bias,
                self.dual,
                self.open,
                order[begin : begin + step],
                SWEEPS,
                SHRINK_THRESHOLD,
                self._shrunk_for,
                self._times_shrunk,
                *seen,
                self.settings.threads,
            )
        self._seen, self._visited = [*self._seen[-1:], seen], len(order)
        self.n_iter += 1

    def _expected_gap(self) -> tuple[float, float]:
        """The relative gap to expect after the last epoch, and the factor of one epoch.

        From the gaps that rows had just before they were visited: those of rows that were shrunk
        are nearly 0. No certificate, but it says when one is worth its pass over all rows.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            half = self._half_norms()
            open_outputs = self.open[: len(half)]
            gaps = [
                float(
                    np.max((gap[: len(half)] / (half + loss[: len(half)]))[open_outputs], initial=0)
                )
                for loss, gap in self._seen
            ]
        if len(gaps) < 2 or not (0 < gaps[0] < math.inf and 0 < gaps[1] < math.inf):
            return gaps[-1] * FIRST_FALL, FIRST_FALL
        # a gap that does not fall is one that would need very many epochs
        fall = min(gaps[1] / gaps[0], SLOWEST_FALL)
        return gaps[1] * fall, fall

    def _expected_margins(self) -> NDArray[Any] | None:
        """The margins to expect of the solution for costs that have grown, from the last ones.

        They change on by a fraction of their last change: by somewhat less of it than would have
        given the active set of the last costs from those before.
        """
        if self.growth <= 1 or self.settings.loss != "squared_hinge":
            self._past = []
            return None
        now = self.margins()
        if not self._past:
            self._past, self._onward = [now], FIRST_ONWARD
            return None
        change = now - self._past[0]
        if len(self._past) > 1:
            targets = self._target_array()
            active = targets * now < 1
            errors = [
                np.count_nonzero((targets * (self._past[0] + step * self._past[1]) < 1) != active)
                for step in ONWARD
            ]
            self._onward = LESS_ONWARD * float(ONWARD[int(np.argmin(errors))])
        self._past = [now, change]
        return np.asarray(now + now.dtype.type(self._onward) * change)

    def _target_array(self) -> NDArray[Any]:
        """The targets of all rows, (rows, width)."""
        labels, values = self._target_arrays[:2]
        if labels is None:
            return np.asarray(values)
        own = labels[:, None] == np.arange(self.width)
        return np.where(own, 1, -1).astype(self.rows.dtype)

    def _finish(self, stopped: Callable[[], bool], expected: NDArray[Any] | None = None) -> bool:
        """Second-order methods as long as they halve some gap; True if no output is open then.

        ``expected`` are the margins that the solution probably has.
        """
        for _ in range(SECOND_ORDER_ROUNDS):
            before = self.gap.copy()
            if stopped() or not second_order.improve(self, expected):
                return False
            expected = None
            self._was_second_order = True
            if self.certify(stopped):
                return True
            if not (self.gap < before / 2).any():
                return False
        return False

    def solve(self, stopped: Callable[[], bool]) -> None:
        """Epochs until every output has its certificate, ``max_iter`` are done, or stopped.

        Where the gap falls so slowly that many more epochs would be needed, a second-order method
        is tried; if that fails too, the next try waits until twice as many would be needed.
        """
        start, checks = self.n_iter, []
        last_epochs = self._last_epochs or 0
        was_slow = self._was_second_order or last_epochs >= MIN_EPOCHS
        margins = None
        if was_slow or 2 * last_epochs >= MIN_EPOCHS:  # the next costs may need them
            margins = self._expected_margins()
        if was_slow and self._finish(stopped, margins):
            self.growth = 1.0
            return
        if self.growth > 1:
            self.rescale(self.growth)
            self.growth = 1.0
        next_check = start + (
            FIRST_CHECK if self._last_epochs is None else max(1, self._last_epochs // 2)
        )
        patience, last = SLOW_EPOCHS, start + self.settings.max_iter
        self._seen = []
        while not stopped() and self.n_iter < last:
            self.epoch(stopped)
            if self.n_iter < next_check and self.n_iter < last:
                continue
            expected, fall = self._expected_gap()
            # the fewer rows an epoch visits, the more of them a pass over all rows costs
            worth = self.settings.tol * (1 + self._visited / self.rows.n_rows)
            certain = not expected > worth or self.n_iter == last  # NaN: what has overflowed
            if not certain:
                checks.append((self.n_iter, expected))
                needed = _epochs_to(self.settings.tol, expected, fall)
            elif self.certify(stopped):
                self._last_epochs = self.n_iter - start
                return
            else:
                checks.append((self.n_iter, self.relative_gap))
                needed = self._epochs_needed(checks)
            stuck = (
                second_order.has_normal_equations(self)
                and len(checks) > 1
                and not checks[-1][1] < checks[-2][1]
            )
            slow = (needed > patience or stuck) and self.n_iter - start >= MIN_EPOCHS
            if slow and self.n_iter < last:
                if (not certain and self.certify(stopped)) or self._finish(stopped):
                    self._last_epochs = self.n_iter - start
                    return
                checks, patience = [], 2 * patience
            soon = _epochs_to(self.settings.tol, checks[-1][1], fall) if checks else needed
            # what is expected costs no pass over all rows: it is asked twice as often
            wait = min(needed, soon) if certain else max(1, needed // 2)
            next_check = self.n_iter + min(wait, MAX_WAIT)
        self._last_epochs = self.n_iter - start
        self.certify(stopped)

    def _epochs_needed(self, checks: list[tuple[int, float]]) -> int:
        """Epochs still to come, if the gap keeps falling as between the last two checks."""
        if len(checks) < 2 or not 0 < checks[-1][1] < checks[-2][1] < math.inf:
            return 2
        epochs, gaps = checks[-1][0] - checks[-2][0], checks[-1][1] / checks[-2][1]
        return _epochs_to(self.settings.tol, checks[-1][1], gaps ** (1 / epochs))


def _epochs_to(tol: float, gap: float, fall: float) -> int:
    """Epochs until the gap is at most ``tol``, if each multiplies it by ``fall`` < 1."""
    if not 0 < gap < math.inf:
        return 2
    return int(min(max(math.log(gap / max(tol, 1e-300)) / -math.log(fall), 1), 1e6))
