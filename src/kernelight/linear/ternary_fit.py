r"""The discrete optimisation behind `TernaryClassifier`.

Rows z_i, in {-1, 1}^k of codes or of any numbers, labels y_i = -1 or 1, weights c_i that add up to
1. For each class on its own,

    F(w, alpha, b) = sum_i c_i l(y_i (alpha w . z_i + b)) + (l0 + l2 alpha^2) |w|_0

with w in {-1, 0, 1}^k is minimised alternately: over alpha and b with w fixed, a convex problem of
two variables (`fitted_scale`); over w with alpha and b fixed, one coordinate at a time, each set to
the best of its three values (core/ternary.h, core/ternary_dense.h). No step raises F, a coordinate
changes only if F falls by more than rounding could explain, and there are finitely many w: so the
descent ends, at a point that no change of one coordinate and no change of scale and bias improves.

The start is the nearest ternary vector to a full-precision model. Binary codes with ternary
coefficients are the idea of Lei and Lan (AAAI 2021); this optimiser is kernelight's own.
"""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from kernelight.base.checks import Resources, resources
from kernelight.codes import Codes
from kernelight.linear.classifier import LinearClassifier
from kernelight.linear.ternary_columns import Columns, Sweep, columns_of
from kernelight.linear.ternary_loss import Loss, fitted_scale

# Fraction of F that a change must gain: some thousand times the rounding of a sum.
LEAST_DECREASE = 1e-10
L0_GROWTH = 1.25  # from one l0 to the next on the way to a sparsity


@dataclass(frozen=True)
class TernaryProblem:
    """The problem of all classes."""

    columns: Columns
    weights: NDArray[np.float64]  # (rows), adding up to 1
    positive: NDArray[np.uint8]  # (classes, rows): whether a row is of the class
    loss: Loss
    l0: NDArray[np.float64]  # (classes)
    l2: float

    @classmethod
    def of(
        cls,
        rows: Codes | NDArray[Any],
        members: NDArray[np.bool_],
        weights: NDArray[np.float64],
        loss: Loss,
        l0: float,
        C: float,
    ) -> TernaryProblem:
        """The problem of rows whose classes are ``members`` (classes, rows).

        C is that of a linear model on the same rows, which minimises its L2 penalty (k alpha^2
        |w|_0 for codes, alpha^2 |w|_0 / 2 for dense rows) + C times the weighted sum of losses;
        here that is divided by C and the total weight.
        """
        columns, order = columns_of(rows)
        total = float(weights.sum())
        return cls(
            columns=columns,
            weights=np.ascontiguousarray(weights[order] / total),
            positive=np.ascontiguousarray(members[:, order], dtype=np.uint8),
            loss=loss,
            l0=np.full(len(members), l0),
            l2=columns.l2_factor / (C * total),
        )

    @property
    def n_slots(self) -> int:
        """k, the length of w."""
        return self.columns.n_slots

    def scores(self, coefficients: NDArray[np.int8], use: Resources | None = None) -> NDArray[Any]:
        """w . z for each class and row, (classes, rows)."""
        return self.columns.scores(coefficients, use or resources())


@dataclass
class TernaryPoint:
    """The current point of the descent, which changes in place; ``scores`` are w . z."""

    coefficients: NDArray[np.int8]  # (classes, slots)
    scale: NDArray[np.float64]  # (classes)
    bias: NDArray[np.float64]  # (classes)
    scores: NDArray[Any]  # (classes, rows): whole numbers for codes

    @property
    def nonzeros(self) -> NDArray[np.int64]:
        """How many coefficients of each class are not 0."""
        return np.asarray(np.count_nonzero(self.coefficients, axis=1), dtype=np.int64)


def optimal_rounding(vector: NDArray[Any]) -> tuple[NDArray[np.int8], float]:
    """The ternary w and the scale alpha that minimise |vector - alpha w|.

    The best w with m entries that are not 0 has the signs of the m largest entries of ``vector``
    and leaves the squared error |vector|^2 - (sum of their sizes)^2 / m.

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
    rows: Codes | NDArray[Any],
    labels: NDArray[Any],
    weights: NDArray[np.float64],
    C: float,
    seed: int,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """The coefficients of a linear model on dense rows or signs of codes, (1 or classes, slots).

    It is only the start of the descent and need not be exact. Coefficients v0, v1 of the one-hot
    columns of a bit are (v1 - v0) / 2 for its sign.
    """
    model = LinearClassifier(C=C, tol=0.01, max_iter=30, random_state=seed, n_jobs=n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, labels, sample_weight=weights)
    v = model.coef_.astype(np.float64)
    if not isinstance(rows, Codes):
        return np.asarray(v)
    return np.asarray((v[:, 1::2] - v[:, ::2]) / (2.0 * np.sqrt(rows.n_components)))


def rounded_start(
    problem: TernaryProblem, model: NDArray[np.float64], use: Resources
) -> TernaryPoint:
    """The ternary point nearest to a full-precision model; the first step fits its scale."""
    rounded = [optimal_rounding(vector) for vector in model]
    coefficients = np.ascontiguousarray([signs for signs, _ in rounded], dtype=np.int8)
    scale = np.array([scale if scale > 0.0 else problem.n_slots**-0.5 for _, scale in rounded])
    scores = problem.scores(coefficients, use)
    return TernaryPoint(coefficients, scale, np.zeros(len(scale)), scores)


def fit_scales(
    problem: TernaryProblem, point: TernaryPoint, classes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Fit scale and bias of some classes in place; return their objectives."""
    nonzeros, objectives = point.nonzeros, np.empty(len(classes))
    for at, label in enumerate(classes):
        terms = problem.columns.terms(point.scores[label], problem.positive[label], problem.weights)
        ridge = problem.l2 * float(nonzeros[label]) / terms.unit**2
        start = (float(point.scale[label]) * terms.unit, float(point.bias[label]))
        fit = fitted_scale(problem.loss, terms.scores, terms.weights, ridge, start, terms.sides)
        # without coefficients the scale stays as it was, for the next coefficient to start from
        if nonzeros[label]:
            point.scale[label] = fit.scale / terms.unit
        point.bias[label] = fit.bias
        if point.scale[label] < 0.0:
            point.scale[label] *= -1.0
            point.coefficients[label] *= -1
            point.scores[label] *= -1
        objectives[at] = fit.objective + problem.l0[label] * nonzeros[label]
    return objectives


def sweep(
    problem: TernaryProblem,
    point: TernaryPoint,
    classes: NDArray[np.intp],
    objectives: NDArray[np.float64],
    orders: NDArray[np.int32],
    resources: Resources,
) -> NDArray[np.int64]:
    """Visit every slot of some classes once, in place; return how many coefficients changed."""
    coefficients, scores = point.coefficients[classes], point.scores[classes]
    moves = problem.columns.sweep(
        Sweep(
            loss=problem.loss,
            weights=problem.weights,
            positive=problem.positive[classes],
            scale=point.scale[classes],
            bias=point.bias[classes],
            penalties=problem.l0[classes] + problem.l2 * point.scale[classes] ** 2,
            least=LEAST_DECREASE * np.maximum(objectives, 1e-6),
            orders=orders,
            coefficients=coefficients,
            scores=scores,
        ),
        resources,
    )
    point.coefficients[classes], point.scores[classes] = coefficients, scores
    return moves


def descend(
    problem: TernaryProblem,
    point: TernaryPoint,
    classes: NDArray[np.intp],
    generators: list[np.random.Generator],
    max_iter: int,
    resources: Resources,
) -> tuple[NDArray[np.float64], bool]:
    """Lower F of some classes in place, until no coefficient changes.

    Returns their F after each fit of scale and bias, (steps, classes), and whether all converged
    within ``max_iter`` sweeps.
    """
    path = [fit_scales(problem, point, classes)]
    moving = np.arange(len(classes))
    for _ in range(max_iter):
        active = classes[moving]
        orders = np.stack([generators[label].permutation(problem.n_slots) for label in active])
        orders = orders.astype(np.int32)
        moves = sweep(problem, point, active, path[-1][moving], orders, resources)
        moving = moving[moves > 0]
        if not len(moving):
            return np.stack(path), True
        path.append(path[-1].copy())
        path[-1][moving] = fit_scales(problem, point, classes[moving])
    return np.stack(path), False


def minimise(
    problem: TernaryProblem,
    point: TernaryPoint,
    sparsity: float,
    generators: list[np.random.Generator],
    max_iter: int,
    resources: Resources,
) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    """Lower F of all classes in place, with at least this fraction of zeros.

    Returns F after each fit of scale and bias with the final penalties, (steps, classes), these l0
    (infinite where `remove_least` took their place), and whether every descent converged.
    """
    vectors, options = np.arange(len(problem.l0)), (generators, max_iter, resources)
    path, converged = descend(problem, point, vectors, *options)
    if sparsity <= 0.0:
        return path, problem.l0, converged
    l0, all_converged = sparsify(problem, point, sparsity, *options)
    penalised = np.flatnonzero(np.isfinite(l0))
    last = replace(problem, l0=np.where(np.isfinite(l0), l0, 0.0))
    objectives = fit_scales(last, point, vectors)
    some, converged = (
        descend(last, point, penalised, *options) if len(penalised) else (objectives[None], True)
    )
    path = np.repeat(objectives[None], len(some), axis=0)
    if len(penalised):
        path[:, penalised] = some
    return path, l0, converged and all_converged


def sparsify(
    problem: TernaryProblem,
    point: TernaryPoint,
    sparsity: float,
    generators: list[np.random.Generator],
    max_iter: int,
    resources: Resources,
) -> tuple[NDArray[np.float64], bool]:
    """`descend` with a growing l0, in place, until each class has the fraction of zeros.

    Each descent starts where the last one ended. Where an l0 would remove all coefficients of a
    class at once, `remove_least` takes its place. Returns the l0 of each class, infinite for these,
    and whether every descent converged.
    """
    allowed, all_converged = max(1, int((1.0 - sparsity) * problem.n_slots + 1e-9)), True
    l0 = problem.l0.copy()
    dense = np.flatnonzero(point.nonzeros > allowed)
    while len(dense):
        before = deepcopy(point)
        # The first penalty is a hundredth of the mean loss for each coefficient.
        objectives = fit_scales(replace(problem, l0=np.zeros_like(l0)), point, dense)
        l0[dense] = np.maximum(L0_GROWTH * l0[dense], 0.01 * objectives / point.nonzeros[dense])
        _, converged = descend(
            replace(problem, l0=l0), point, dense, generators, max_iter, resources
        )
        all_converged &= converged
        lost = dense[point.nonzeros[dense] == 0]
        for now, earlier in zip(vars(point).values(), vars(before).values(), strict=True):
            now[lost] = earlier[lost]
        for label in lost:
            remove_least(replace(problem, l0=np.zeros_like(l0)), point, int(label), allowed)
        l0[lost] = np.inf
        dense = dense[(point.nonzeros[dense] > allowed) & ~np.isin(dense, lost)]
    return l0, all_converged


def remove_least(problem: TernaryProblem, point: TernaryPoint, label: int, allowed: int) -> None:
    """Set the least important coefficients of one class to 0, until ``allowed`` are left.

    The importance of a coefficient is how much the loss rises without it. A quarter of what is
    too many goes at a time; then scale and bias are fitted, and importances computed, again.
    """
    while (excess := int(point.nonzeros[label]) - allowed) > 0:
        used = np.flatnonzero(point.coefficients[label])
        losses = np.empty(len(used))
        for at, slot in enumerate(used):
            without = point.scores[label] - _added_by(problem, point, label, int(slot))
            margins = np.where(problem.positive[label], 1.0, -1.0) * (
                point.scale[label] * without + point.bias[label]
            )
            losses[at] = problem.weights @ problem.loss.value(margins)
        for slot in used[np.argsort(losses, kind="stable")[: -(-excess // 4)]]:
            point.scores[label] -= _added_by(problem, point, label, int(slot))
            point.coefficients[label, slot] = 0
        fit_scales(problem, point, np.array([label]))


def _added_by(problem: TernaryProblem, point: TernaryPoint, label: int, slot: int) -> NDArray[Any]:
    """What one coefficient adds to the scores of all rows."""
    return np.asarray(problem.columns.column(slot) * point.coefficients[label, slot])
