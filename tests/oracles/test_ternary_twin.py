"""Sweeps, descents and scores of ternary models are those of their slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import SIMD_NAMES
from oracles.ternary_twin import objective, scores, swept
from scipy.optimize import minimize

from kernelight import Codes
from kernelight.base.checks import resources
from kernelight.linear.ternary_fit import (
    LEAST_DECREASE,
    TernaryPoint,
    TernaryProblem,
    descend,
    fit_scales,
    optimal_rounding,
    sweep,
)
from kernelight.linear.ternary_loss import LOSSES, fitted_scale
from kernelight.linear.ternary_planes import TernaryPlanes


def problem_of(seed, n=90, p=40, classes=3, loss="squared_hinge", l0=0.0, C=5.0, empty=0):
    rng = np.random.default_rng(seed)
    codes = Codes(rng.integers(0, 2, (n, p)), bits=1, empty=np.arange(n) % 7 < empty)
    labels = rng.integers(0, classes, n)
    weights = rng.uniform(0.5, 2.0, n)
    members = labels == np.arange(classes)[:, None]
    problem = TernaryProblem.of(codes, members, weights, LOSSES[loss], l0, C)
    order = np.argsort(codes.empty, kind="stable")
    Z = np.where(codes.empty[:, None], 0, 2.0 * codes.array - 1)[order]
    return problem, Z, np.where(members[:, order], 1.0, -1.0)


def point_of(problem, seed=1):
    rng = np.random.default_rng(seed)
    shape = len(problem.positive), problem.n_slots
    w = rng.integers(-1, 2, shape).astype(np.int8)
    return TernaryPoint(
        w, rng.uniform(0.02, 0.2, shape[0]), rng.normal(0, 0.3, shape[0]), problem.scores(w)
    )


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize(
    ("loss", "l0", "empty"),
    [
        ("squared_hinge", 0.0, 0),
        ("squared_hinge", 0.003, 2),
        ("logistic", 0.001, 0),
        ("squared", 0.0, 1),
    ],
)
@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_sweep_is_that_of_the_twin(monkeypatch, simd, loss, l0, empty, n):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    problem, Z, y = problem_of(n, n=n, loss=loss, l0=l0, empty=empty)
    point = point_of(problem)
    start, classes = point.coefficients.copy(), np.arange(3)
    objectives = np.array(
        [
            objective(
                loss,
                Z,
                y[c],
                problem.weights,
                start[c],
                point.scale[c],
                point.bias[c],
                l0,
                problem.l2,
            )
            for c in range(3)
        ]
    )
    orders = np.stack(
        [np.random.default_rng(c).permutation(problem.n_slots) for c in range(3)]
    ).astype(np.int32)
    moves = sweep(problem, point, classes, objectives, orders, resources())
    for c in range(3):
        wanted = swept(
            loss,
            Z,
            y[c],
            problem.weights,
            start[c],
            point.scale[c],
            point.bias[c],
            l0,
            problem.l2,
            orders[c],
            LEAST_DECREASE * objectives[c],
        )
        np.testing.assert_array_equal(point.coefficients[c], wanted)
        np.testing.assert_array_equal(point.scores[c], Z @ wanted)
        assert (moves[c] > 0) == (wanted != start[c]).any()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("l0", [0.0, 0.002])
def test_descent_is_monotone_and_ends_where_no_single_move_helps(loss, l0):
    problem, Z, y = problem_of(3, n=150, loss=loss, l0=l0)
    point = point_of(problem)
    path, converged = descend(
        problem, point, np.arange(3), [np.random.default_rng(c) for c in range(3)], 500, resources()
    )
    assert converged
    assert len(path) > 2
    assert (np.diff(path, axis=0) <= 0).all()
    for c in range(3):
        weights, rest = problem.weights, (point.scale[c], point.bias[c], l0, problem.l2)
        best = objective(loss, Z, y[c], weights, point.coefficients[c], *rest)
        assert best == pytest.approx(path[-1, c], rel=1e-10)
        for slot in range(problem.n_slots):
            for value in (-1, 0, 1):
                other = point.coefficients[c].copy()
                other[slot] = value
                assert objective(loss, Z, y[c], weights, other, *rest) >= best * (
                    1 - 2 * LEAST_DECREASE
                )
        around = minimize(
            lambda at, c=c: objective(
                loss, Z, y[c], problem.weights, point.coefficients[c], *at, l0, problem.l2
            ),
            (point.scale[c], point.bias[c]),
        )
        assert around.fun >= best * (1 - 1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("ridge", [0.0, 0.5, 30.0])
def test_scale_and_bias_are_the_minimum(loss, ridge):
    rng = np.random.default_rng(5)
    values, weights = np.arange(-6.0, 7.0), rng.random((2, 13)) / 26
    fit = fitted_scale(LOSSES[loss], values, weights, ridge, (0.3, 0.0))

    def value(at):
        margins = np.array([[-1.0], [1.0]]) * (at[0] * values + at[1])
        return float((weights * LOSSES[loss].value(margins)).sum() + ridge * at[0] ** 2)

    other = minimize(
        value, (0.1, 0.1), method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14}
    )
    assert fit.objective == pytest.approx(value(fit[:2]))
    assert fit.objective <= other.fun + 1e-10


def test_scale_of_one_sided_data_stays_finite():
    """With rows of one class the logistic loss has no best bias, but Newton's method ends."""
    fit = fitted_scale(
        LOSSES["logistic"], np.array([0.0]), np.array([[0.0], [1.0]]), 0.1, (0.1, 0.0)
    )
    assert np.isfinite(fit).all()


def test_scales_of_opposite_sign_turn_the_coefficients():
    problem, Z, y = problem_of(11, classes=2)
    w = np.sign(Z.T @ y[1])[None].astype(np.int8).repeat(2, axis=0)
    point = TernaryPoint(-w, np.ones(2), np.zeros(2), problem.scores(-w))
    fit_scales(problem, point, np.arange(2))
    assert (point.scale > 0).all()
    np.testing.assert_array_equal(point.coefficients[1], w[1])
    np.testing.assert_array_equal(point.scores, problem.scores(point.coefficients))


def test_rounding_is_optimal():
    rng = np.random.default_rng(0)
    for _ in range(20):
        vector = rng.standard_normal(6) * rng.lognormal(size=6)
        rounded, scale = optimal_rounding(vector)
        error = ((vector - scale * rounded) ** 2).sum()
        for w in np.stack(np.meshgrid(*[[-1, 0, 1]] * 6), axis=-1).reshape(-1, 6):
            alpha = vector @ w / max(1, w @ w)
            assert error <= ((vector - alpha * w) ** 2).sum() + 1e-12


def test_rounding_of_zeros():
    rounded, scale = optimal_rounding(np.zeros(4))
    assert not rounded.any()
    assert scale == 0.0


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("p", [1, 63, 64, 65, 2048, 5000])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 130])
def test_counted_scores_are_dot_products(monkeypatch, simd, p, n):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    rng = np.random.default_rng(p + n)
    codes = Codes(rng.integers(0, 2, (n, p)), bits=1)
    w = rng.integers(-1, 2, (3, p)).astype(np.int8)
    scale, bias = rng.random(3), rng.random(3)
    planes = TernaryPlanes.of(w)
    np.testing.assert_array_equal(planes.coefficients, w)
    counted = planes.scores(codes.packed, scale, bias, 1)
    np.testing.assert_allclose(
        counted, scores(2.0 * codes.array - 1, w, scale, bias), rtol=1e-14, atol=1e-12
    )
    np.testing.assert_array_equal(counted, planes.scores(codes.packed, scale, bias, 3))
