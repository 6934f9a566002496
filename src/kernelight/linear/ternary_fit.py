r"""The discrete optimisation behind `TernaryClassifier`.

Rows z_i in {-1, 1}^k of codes, labels y_i = -1 or 1, weights c_i that add up to 1. For each class
on its own,

    F(w, alpha, b) = sum_i c_i l(y_i (alpha w . z_i + b)) + (l0 + l2 alpha^2) |w|_0,    w in {-1, 0, 1}^k,

is lowered in turns: over alpha and b with w held, a convex problem of two variables
(`fitted_scale`); over w with alpha and b held, one coordinate at a time, each to the best of its
three values (core/ternary.h). No step raises F, a coordinate moves only if F falls by more than
rounding could, and there are finitely many w: so it ends, at a point that no change of one
coordinate and no change of scale and bias improves.

The start is the nearest ternary vector to a full-precision model. That a binary code and ternary
coefficients make a small and fast kernel machine is the idea of Lei and Lan (AAAI 2021); this way
to find the coefficients is ours.
"""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from kernelight import _core
from kernelight.base.checks import Resources
from kernelight.codes import Codes
from kernelight.codes.slots import packed, unpacked
from kernelight.linear.classifier import LinearClassifier
from kernelight.linear.ternary_loss import Loss, fitted_scale

LEAST_DECREASE = 1e-10  # of F: what a move must gain, some thousand times the rounding of a sum
LADDER = 1.25  # from one l0 to the next on the way to a share of zeros


@dataclass(frozen=True)
class TernaryProblem:
    """What is minimised: rows as packed columns, filled rows first, and for each class which rows
    are its own."""

    columns: NDArray[np.uint64]  # (slots, words of 64 rows)
    weights: NDArray[np.float64]  # (rows), adding up to 1
    positive: NDArray[np.uint8]  # (classes, rows)
    n_filled: int
    loss: Loss
    l0: NDArray[np.float64]  # (classes)
    l2: float

    @classmethod
    def of(
        cls,
        codes: Codes,
        members: NDArray[np.bool_],
        weights: NDArray[np.float64],
        loss: Loss,
        l0: float,
        C: float,
    ) -> TernaryProblem:
        """``members`` are (classes, rows). C is that of a linear model on the one-hot features, which minimises
        k alpha^2 |w|_0 + C times the weighted sum of losses; here that is divided by C and the total weight."""
        order = np.argsort(codes.empty, kind="stable")
        n_filled = int(len(codes) - codes.empty.sum())
        rows = codes.array if n_filled == len(codes) else codes.array[order[:n_filled]]
        total = float(weights.sum())
        return cls(
            columns=packed(np.ascontiguousarray(rows.T), 1),
            weights=np.ascontiguousarray(weights[order] / total),
            positive=np.ascontiguousarray(members[:, order], dtype=np.uint8),
            n_filled=n_filled,
            loss=loss,
            l0=np.full(len(members), l0),
            l2=codes.n_components / (C * total),
        )

    @property
    def n_slots(self) -> int:
        return len(self.columns)

    def scores(self, coefficients: NDArray[np.int8]) -> NDArray[np.int32]:
        """(classes, rows) of w . z; 0 for empty rows."""
        found = np.zeros(self.positive.shape, dtype=np.int32)
        if not self.n_filled:
            return found
        for at in range(0, self.n_slots, 256):  # signs of all slots would fill the memory
            bits = unpacked(self.columns[at : at + 256], self.n_filled, 1)
            # whole numbers, which single precision adds exactly
            signs = 2 * bits.astype(np.float32) - 1
            some = coefficients[:, at : at + 256].astype(np.float32) @ signs
            found[:, : self.n_filled] += some.astype(np.int32)
        return found


@dataclass
class TernaryPoint:
    """Where the optimisation is: for each class its coefficients, scale and bias, and the scores of
    all rows."""

    coefficients: NDArray[np.int8]
    scale: NDArray[np.float64]
    bias: NDArray[np.float64]
    scores: NDArray[np.int32]

    @property
    def nonzeros(self) -> NDArray[np.int64]:
        return np.asarray(np.count_nonzero(self.coefficients, axis=1), dtype=np.int64)


def optimal_rounding(vector: NDArray[Any]) -> tuple[NDArray[np.int8], float]:
    """The ternary w and the scale alpha nearest to ``vector``: the least |vector - alpha w|.

    For w with m entries that are not 0 the best is the signs of the m largest, and leaves |vector|^2 - (their sum)^2 / m.

    >>> import numpy as np
    >>> from kernelight.linear.ternary_fit import optimal_rounding
    >>> optimal_rounding(np.array([0.9, -1.1, 0.1, 0.0]))
    (array([ 1, -1,  0,  0], dtype=int8), 1.0)
    """
    size = np.abs(vector)
    order = np.argsort(-size, kind="stable")
    sums = np.cumsum(size[order])
    m = int(np.argmax(sums**2 / np.arange(1, len(vector) + 1))) + 1
    rounded = np.zeros(len(vector), dtype=np.int8)
    rounded[order[:m]] = np.sign(vector[order[:m]])
    return rounded, float(sums[m - 1] / m)


def full_precision(
    codes: Codes,
    labels: NDArray[Any],
    weights: NDArray[np.float64],
    C: float,
    seed: int,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """The coefficients of a linear model on codes as signs, (classes, slots); for two classes one
    row.

    Only the start of what follows, so it need not be exact. The one-hot columns of a bit, (v0, v1),
    are v1 - v0 over 2 on its sign.
    """
    model = LinearClassifier(C=C, tol=0.01, max_iter=30, random_state=seed, n_jobs=n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(codes, labels, sample_weight=weights)
    v = model.coef_.astype(np.float64)
    return np.asarray((v[:, 1::2] - v[:, ::2]) / (2.0 * np.sqrt(codes.n_components)))


def started(problem: TernaryProblem, model: NDArray[np.float64]) -> TernaryPoint:
    """The rounded model; its scale is fitted by the first step."""
    rounded = [optimal_rounding(vector) for vector in model]
    coefficients = np.ascontiguousarray([signs for signs, _ in rounded], dtype=np.int8)
    scale = np.array([scale if scale > 0.0 else problem.n_slots**-0.5 for _, scale in rounded])
    return TernaryPoint(coefficients, scale, np.zeros(len(scale)), problem.scores(coefficients))


def score_weights(
    problem: TernaryProblem, of: int, scores: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The scores that occur, and the weight of the rows that have them, (2, scores): of the other
    classes, and of this one."""
    low = int(scores.min())
    width = int(scores.max()) - low + 1
    places = (scores - low) + np.int64(width) * problem.positive[of]
    weights = np.bincount(places, weights=problem.weights, minlength=2 * width).reshape(2, width)
    occur = np.flatnonzero(weights.any(axis=0))
    return (occur + low).astype(np.float64), np.asarray(weights[:, occur], dtype=np.float64)


def fit_scales(
    problem: TernaryProblem, point: TernaryPoint, classes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The best scale and bias of some classes, in place; their objectives."""
    nonzeros, objectives = point.nonzeros, np.empty(len(classes))
    for at, of in enumerate(classes):
        values, weights = score_weights(problem, of, point.scores[of])
        ridge = problem.l2 * float(nonzeros[of])
        start = (float(point.scale[of]), float(point.bias[of]))
        found = fitted_scale(problem.loss, values, weights, ridge, start)
        # a scale of nothing stays what it was, for the next coefficient to start from
        if nonzeros[of]:
            point.scale[of] = found.scale
        point.bias[of] = found.bias
        if point.scale[of] < 0.0:
            point.scale[of] *= -1.0
            point.coefficients[of] *= -1
            point.scores[of] *= -1
        objectives[at] = found.objective + problem.l0[of] * nonzeros[of]
    return objectives


def sweep(
    problem: TernaryProblem,
    point: TernaryPoint,
    classes: NDArray[np.intp],
    objectives: NDArray[np.float64],
    orders: NDArray[np.int32],
    use: Resources,
) -> NDArray[np.int64]:
    """Visit every slot of some classes once, in place; how many moved in each."""
    reach = problem.n_slots + 2
    scores = np.arange(-reach, reach + 1, dtype=np.float64)
    decisions = point.scale[classes, None] * scores + point.bias[classes, None]
    losses = np.stack([problem.loss.value(-decisions), problem.loss.value(decisions)], axis=1)
    penalties = problem.l0[classes] + problem.l2 * point.scale[classes] ** 2
    coefficients, totals = point.coefficients[classes], point.scores[classes]
    moves, decrease = np.zeros(len(classes), dtype=np.int64), np.zeros(len(classes))
    _core.ternary_sweep(
        problem.columns,
        problem.weights,
        problem.n_filled,
        problem.positive[classes],
        losses,
        penalties,
        LEAST_DECREASE * np.maximum(objectives, 1e-6),
        orders,
        coefficients,
        totals,
        moves,
        decrease,
        *use,
    )
    point.coefficients[classes], point.scores[classes] = coefficients, totals
    return moves


def descend(
    problem: TernaryProblem,
    point: TernaryPoint,
    classes: NDArray[np.intp],
    generators: list[np.random.Generator],
    max_iter: int,
    use: Resources,
) -> tuple[NDArray[np.float64], bool]:
    """Lower F of some classes until nothing moves, in place: their F after each fit of the scales,
    (steps, classes), and whether they came to their end within ``max_iter`` sweeps."""
    path = [fit_scales(problem, point, classes)]
    moving = np.arange(len(classes))
    for _ in range(max_iter):
        active = classes[moving]
        orders = np.stack([generators[of].permutation(problem.n_slots) for of in active]).astype(
            np.int32
        )
        moves = sweep(problem, point, active, path[-1][moving], orders, use)
        moving = moving[moves > 0]
        if not len(moving):
            return np.stack(path), True
        path.append(path[-1].copy())
        path[-1][moving] = fit_scales(problem, point, classes[moving])
    return np.stack(path), False


def sparsify(
    problem: TernaryProblem,
    point: TernaryPoint,
    sparsity: float,
    generators: list[np.random.Generator],
    max_iter: int,
    use: Resources,
) -> tuple[NDArray[np.float64], bool]:
    """With a growing l0, `descend` until at least this share of the coefficients of every class is
    0; both in place.

    Each rung starts where the last one ended. Where the last coefficients of a class would go at
    once, those that are worth least are left out instead. Returns the l0 of each class, infinite
    where it did not decide, and whether every descent came to its end.
    """
    allowed, all_ended = max(1, int((1.0 - sparsity) * problem.n_slots + 1e-9)), True
    l0 = problem.l0.copy()
    dense = np.flatnonzero(point.nonzeros > allowed)
    while len(dense):
        before = deepcopy(point)
        # Where there is no penalty yet: a hundredth of what a coefficient is worth on average.
        objectives = fit_scales(replace(problem, l0=np.zeros_like(l0)), point, dense)
        l0[dense] = np.maximum(LADDER * l0[dense], 0.01 * objectives / point.nonzeros[dense])
        _, ended = descend(replace(problem, l0=l0), point, dense, generators, max_iter, use)
        all_ended &= ended
        lost = dense[point.nonzeros[dense] == 0]
        for mine, theirs in zip(vars(point).values(), vars(before).values(), strict=True):
            mine[lost] = theirs[lost]
        for of in lost:
            leave_out(replace(problem, l0=np.zeros_like(l0)), point, int(of), allowed)
        l0[lost] = np.inf
        dense = dense[(point.nonzeros[dense] > allowed) & ~np.isin(dense, lost)]
    return l0, all_ended


def leave_out(problem: TernaryProblem, point: TernaryPoint, of: int, allowed: int) -> None:
    """Set coefficients of one class to 0, those first whose absence alone raises the objective
    least, until ``allowed`` are left; scale and bias are fitted, and worths looked at, again after
    each quarter of what is too many."""
    me = np.array([of])
    while (many := int(point.nonzeros[of]) - allowed) > 0:
        used = np.flatnonzero(point.coefficients[of])
        rises = np.empty(len(used))
        for at, slot in enumerate(used):
            without = point.scores[of] - _part(problem, point, of, int(slot))
            margins = np.where(problem.positive[of], 1.0, -1.0) * (
                point.scale[of] * without + point.bias[of]
            )
            rises[at] = problem.weights @ problem.loss.value(margins)
        for slot in used[np.argsort(rises, kind="stable")[: -(-many // 4)]]:
            point.scores[of] -= _part(problem, point, of, int(slot))
            point.coefficients[of, slot] = 0
        fit_scales(problem, point, me)


def _part(problem: TernaryProblem, point: TernaryPoint, of: int, slot: int) -> NDArray[np.int32]:
    """What one coefficient adds to the scores of all rows."""
    part = np.zeros(problem.positive.shape[1], dtype=np.int32)
    bits = unpacked(problem.columns[slot : slot + 1], problem.n_filled, 1)[0].astype(np.int32)
    part[: problem.n_filled] = (2 * bits - 1) * point.coefficients[of, slot]
    return part
