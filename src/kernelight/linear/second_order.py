"""Second-order methods for outputs on which coordinate descent is slow; one for each loss.

squared hinge and squared loss: `active_set_newton`, if the active set is small;
logistic loss: `primal_newton`, hinge and epsilon-insensitive loss: `interior_point`, if rows are
dense and narrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kernelight.linear import active_set_newton, interior_point, primal_newton
from kernelight.linear.design import MatrixDesign
from kernelight.linear.normal_equations import Array

if TYPE_CHECKING:
    from kernelight.linear.output_group import OutputGroup

# Fraction of the tolerance that is asked for: rows outside the working set have the rest.
TOL_FRACTION = 0.25


def improve(group: OutputGroup, expected: NDArray[Any] | None = None) -> bool:
    """Solve the open outputs of a group by a second-order method; False if none was improved.

    ``expected`` are the margins (rows, outputs) that the solution probably has.
    """
    if group.settings.loss in ("squared_hinge", "squared"):
        return _improve_active_set(group, expected)
    return has_normal_equations(group) and _improve_weights(group)


def has_normal_equations(group: OutputGroup) -> bool:
    """Whether there is a method in the weights for this loss and these rows."""
    narrow = isinstance(group.rows, MatrixDesign) and group.rows.is_narrow
    return narrow and group.settings.loss not in ("squared_hinge", "squared")


def _improve_active_set(group: OutputGroup, expected: NDArray[Any] | None) -> bool:
    """New duals from the inner products of working sets, and the weights that belong to them."""
    hinge = group.settings.loss == "squared_hinge"
    margins = group.margins() if expected is None else expected
    dual, solved = group.dual.copy(), np.zeros(group.width, dtype=bool)
    outputs = np.flatnonzero(group.open).tolist()
    tasks = []
    for output in outputs:
        y, costs = group.targets_of(output)
        margin = margins[:, output]
        active = np.ones(len(y), dtype=bool)
        if hinge:  # where nothing else is expected, the active set of a smaller C is a good guess
            active = dual[:, output] != 0 if expected is None else y * margin < 1
        rows = active_set_newton.working_set(margin, y, costs, active)
        if rows is not None:
            tasks.append((output, rows, y[rows], costs[rows], active[rows]))
    # epochs for the other outputs cost nearly as much as epochs for all
    if 2 * len(tasks) < len(outputs):
        return False
    for output, rows, y, costs, active in tasks:
        with active_set_newton.reserved_memory(len(rows)):
            K = group.rows.gram(rows)
            K += float(group.settings.intercept)
            tol = TOL_FRACTION * group.settings.tol
            solution = active_set_newton.solve(K, y, costs, dual[rows, output], hinge, tol, active)
            del K
        if solution is not None:
            dual[:, output] = 0
            dual[rows, output] = solution
            solved[output] = True
    if not solved.any():
        return False
    weights, bias = np.zeros_like(group.weights), np.zeros_like(group.bias)
    group.add_duals(dual, weights, bias)
    for old, new in ((group.weights, weights), (group.bias, bias), (group.dual, dual)):
        old[..., solved] = new[..., solved]
    return True


def _improve_weights(group: OutputGroup) -> bool:
    """New weights and duals of narrow dense rows from their normal equations."""
    assert isinstance(group.rows, MatrixDesign)
    X = np.empty((group.rows.n_rows, group.rows.n_features + 1))
    X[:, :-1], X[:, -1] = group.rows.X, float(group.settings.intercept)
    improved = False
    for output in np.flatnonzero(group.open).tolist():
        y, costs = group.targets_of(output)
        used = costs > 0
        solution = _solve_weights(
            group,
            X[used],
            np.asarray(y[used], np.float64),
            np.asarray(costs[used], np.float64),
            np.append(group.weights[:, output], group.bias[output]).astype(np.float64),
        )
        if solution is not None and all(np.isfinite(part).all() for part in solution):
            group.dual[:, output] = 0
            group.dual[used, output], weights = solution
            group.weights[:, output], group.bias[output] = weights[:-1], weights[-1]
            improved = True
    group.n_iter += int(improved)  # every row was visited
    return improved


def _solve_weights(
    group: OutputGroup, X: NDArray[Any], y: Array, cost: Array, w: Array
) -> tuple[Array, Array] | None:
    """Duals and weights for rows whose costs are above 0; None if the arithmetic fails."""
    loss, tol = group.settings.loss, TOL_FRACTION * group.settings.tol
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if loss == "logistic":
                return primal_newton.solve(X, y, cost, w, tol)
            if loss == "hinge":
                return interior_point.solve_hinge(X, y, cost, tol)
            return interior_point.solve_epsilon_insensitive(X, y, cost, group.settings.epsilon, tol)
    except (np.linalg.LinAlgError, FloatingPointError):
        return None
