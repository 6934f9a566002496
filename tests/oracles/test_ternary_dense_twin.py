"""Sweeps, totals and whole fits of ternary models on dense features are those of slow twins."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from helpers import SIMD_NAMES
from oracles.ternary_twin import descended, objective, scale_and_bias, swept

from kernelight import LinearClassifier, TernaryClassifier, _core
from kernelight.base.checks import resources
from kernelight.linear.ternary_columns import LANES, DenseColumns
from kernelight.linear.ternary_fit import (
    LEAST_DECREASE,
    TernaryPoint,
    TernaryProblem,
    descend,
    fit_scales,
    full_precision,
    rounded_start,
    sweep,
)
from kernelight.linear.ternary_loss import LOSSES


def problem_of(seed, n=90, p=40, classes=3, loss="squared_hinge", l0=0.0, C=5.0, magnitude=0.3):
    rng = np.random.default_rng(seed)
    X = (magnitude * rng.standard_normal((n, p))).astype(np.float32)
    labels = rng.integers(0, classes, n)
    weights = rng.uniform(0.5, 2.0, n)
    members = labels == np.arange(classes)[:, None]
    problem = TernaryProblem.of(X, members, weights, LOSSES[loss], l0, C)
    return problem, X.astype(np.float64), np.where(members, 1.0, -1.0)


def point_of(problem, seed=1, scale=0.2):
    rng = np.random.default_rng(seed)
    shape = len(problem.positive), problem.n_slots
    w = rng.integers(-1, 2, shape).astype(np.int8)
    alpha = scale * rng.uniform(0.1, 1.0, shape[0])
    return TernaryPoint(w, alpha, rng.normal(0, 0.3, shape[0]), problem.scores(w))


def objectives_of(problem, point, X, y):
    name = problem.loss.name
    return np.array(
        [
            objective(
                name, X, y[c], problem.weights, w, point.scale[c], point.bias[c], l0, problem.l2
            )
            for c, (w, l0) in enumerate(zip(point.coefficients, problem.l0, strict=True))
        ]
    )


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize(
    ("loss", "l0"),
    [("squared_hinge", 0.0), ("squared_hinge", 0.003), ("logistic", 0.0), ("logistic", 0.002),
     ("squared", 0.0)],
)  # fmt: skip
@pytest.mark.parametrize("n", [1, 7, 8, 9, 255, 256, 257, 600])
# steps that are small, and so large that the bound of the logistic loss says nothing
@pytest.mark.parametrize("scale", [0.2, 8.0])
def test_sweep_is_that_of_the_twin(monkeypatch, simd, loss, l0, n, scale):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    problem, X, y = problem_of(n, n=n, p=24, loss=loss, l0=l0)
    point = point_of(problem, scale=scale)
    start, classes = point.coefficients.copy(), np.arange(3)
    objectives = objectives_of(problem, point, X, y)
    orders = np.stack([np.random.default_rng(c).permutation(24) for c in range(3)])
    moves = sweep(problem, point, classes, objectives, orders.astype(np.int32), resources())
    for c in range(3):
        at = (point.scale[c], point.bias[c], l0, problem.l2)
        least = LEAST_DECREASE * objectives[c]
        wanted = swept(loss, X, y[c], problem.weights, start[c], *at, orders[c], least)
        np.testing.assert_array_equal(point.coefficients[c], wanted)
        np.testing.assert_allclose(point.scores[c], X @ wanted, rtol=1e-12, atol=1e-12)
        assert (moves[c] > 0) == (wanted != start[c]).any()


@pytest.mark.parametrize("loss", LOSSES)
def test_sweeps_are_the_same_bits_everywhere(monkeypatch, loss):
    results = []
    for simd, threads in product(SIMD_NAMES, ("1", "3")):
        monkeypatch.setenv("KERNELIGHT_SIMD", simd)
        monkeypatch.setenv("KERNELIGHT_NUM_THREADS", threads)
        problem, *_ = problem_of(0, n=500, loss=loss)
        point = point_of(problem)
        generators = [np.random.default_rng(c) for c in range(3)]
        descend(problem, point, np.arange(3), generators, 100, resources())
        results.append((point.coefficients, point.scores, point.scale, point.bias))
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_moves_have_the_bits_of_every_instruction_set(monkeypatch):
    """What a sweep reports as decrease depends on the last bit of every sum."""
    for loss in (0, 2, 3):
        reported = set()
        for simd in range(len(SIMD_NAMES)):
            problem, *_ = problem_of(4, n=333, p=30)
            point = point_of(problem)
            decrease, moves = np.zeros(3), np.zeros(3, dtype=np.int64)
            columns = problem.columns
            orders = np.tile(np.arange(30, dtype=np.int32), (3, 1))
            _core.ternary_dense_sweep(
                columns.values, columns.largest, problem.weights, loss, problem.positive,
                point.scale, point.bias, np.zeros(3), np.zeros(3), orders, point.coefficients,
                point.scores, moves, decrease, 1, simd,
            )  # fmt: skip
            reported.add((decrease.tobytes(), point.scores.tobytes(), tuple(moves)))
        assert len(reported) == 1
        assert (decrease > 0).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("l0", [0.0, 0.002])
def test_descent_is_monotone_and_ends_where_no_single_move_helps(loss, l0):
    problem, X, y = problem_of(3, n=150, loss=loss, l0=l0)
    point = point_of(problem)
    generators = [np.random.default_rng(c) for c in range(3)]
    path, converged = descend(problem, point, np.arange(3), generators, 500, resources())
    assert converged
    assert len(path) > 2
    assert (np.diff(path, axis=0) <= 0).all()
    np.testing.assert_allclose(objectives_of(problem, point, X, y), path[-1], rtol=1e-10)
    for c in range(3):
        rest = (point.scale[c], point.bias[c], l0, problem.l2)
        for slot, value in product(range(problem.n_slots), (-1, 0, 1)):
            other = point.coefficients[c].copy()
            other[slot] = value
            there = objective(loss, X, y[c], problem.weights, other, *rest)
            assert there >= path[-1, c] * (1 - 2 * LEAST_DECREASE)
        around = scale_and_bias(
            loss, X, y[c], problem.weights, point.coefficients[c], l0, problem.l2, rest[:2]
        )
        assert around[2] >= path[-1, c] * (1 - 1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("classes", [2, 4])
def test_fit_is_that_of_the_twin(loss, classes):
    """The whole fit: the start, the orders of visits, each scale and bias, each sweep."""
    rng = np.random.default_rng(classes)
    n, p, C, seed = 120, 15, 20.0, 3
    X = rng.standard_normal((n, p)).astype(np.float32)
    labels = np.argmax(X[:, :classes] + 0.5 * rng.standard_normal((n, classes)), axis=1)
    weights = rng.uniform(0.5, 2.0, n)
    model = TernaryClassifier(loss, C=C, random_state=seed).fit(X, labels, sample_weight=weights)
    vectors = full_precision(X, labels, weights, C, seed)
    for c, vector in enumerate(vectors):
        y = np.where(labels == (c if classes > 2 else 1), 1.0, -1.0)
        orders = np.random.default_rng([seed, c])
        w, scale, bias, path = descended(
            loss, X.astype(float), y, weights / weights.sum(), vector, 0.0,
            0.5 / (C * weights.sum()), orders, LEAST_DECREASE,
        )  # fmt: skip
        np.testing.assert_array_equal(model.coef_[c], w)
        assert model.scale_[c] == pytest.approx(scale, rel=1e-4)
        assert model.intercept_[c] == pytest.approx(bias, rel=1e-3, abs=1e-4)
        assert model.objective_path_[-1, c] == pytest.approx(path[-1], rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_fits_of_few_features_are_near_the_best_of_all_vectors(loss):
    """All 3^p vectors with their best scale and bias: a fit is never below, and mostly there."""
    best_found = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 4)).astype(np.float32)
        y = np.where(X @ [1.0, -1.0, 0.3, 0.0] + rng.standard_normal(40) > 0, 1.0, -1.0)
        model = TernaryClassifier(loss, C=1.0).fit(X, y)
        weights, l2 = np.full(40, 1 / 40), 0.5 / 40
        # w and -w are the same model
        vectors = [np.array(w) for w in product((-1, 0, 1), repeat=4) if w <= (0, 0, 0, 0)]
        everything = [
            scale_and_bias(loss, X.astype(float), y, weights, w, 0.0, l2, (0.1, 0.0))[2]
            for w in vectors
        ]
        reached = model.objective_path_[-1, 0]
        assert reached >= min(everything) * (1 - 1e-6)
        assert reached <= np.sort(everything)[2]
        best_found += reached <= min(everything) * (1 + 1e-6)
    assert best_found >= 3


def test_the_penalty_is_that_of_a_linear_model():
    """alpha w, penalised as the coefficients of `LinearClassifier`: the same objective."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 6)).astype(np.float32), rng.integers(0, 2, 80)
    model = TernaryClassifier(C=3.0).fit(X, y)
    v = model.scale_[0].astype(float) * model.coef_[0]
    signs = np.where(y == 1, 1.0, -1.0)
    losses = np.maximum(0, 1 - signs * (X @ v + model.intercept_[0])) ** 2
    of_linear = (0.5 * v @ v + 3.0 * losses.sum()) / (3.0 * 80)
    assert model.objective_path_[-1, 0] == pytest.approx(of_linear, rel=1e-5)
    linear = LinearClassifier(C=3.0, tol=1e-8).fit(X, y)  # which penalises its intercept, too
    assert linear.objective_[0] / 240 - linear.intercept_[0] ** 2 / 480 <= of_linear


def test_scales_do_not_depend_on_the_unit_of_features():
    """Features 2^20 times as large, C accordingly: the same coefficients."""
    rest, X, _ = problem_of(5, n=200)
    problem, large = (
        TernaryProblem.of(
            (X * unit).astype(np.float32),
            rest.positive.astype(bool),
            rest.weights,
            rest.loss,
            0.0,
            100.0 / unit**2,
        )
        for unit in (1.0, 2.0**20)
    )
    points = []
    for each, factor in ((problem, 1.0), (large, 2.0**20)):
        point = rounded_start(each, np.random.default_rng(0).normal(size=(3, 40)), resources())
        point.scale /= factor
        generators = [np.random.default_rng(c) for c in range(3)]
        descend(each, point, np.arange(3), generators, 100, resources())
        points.append(point)
    np.testing.assert_array_equal(points[0].coefficients, points[1].coefficients)
    np.testing.assert_array_equal(points[0].scale, points[1].scale * 2.0**20)


def test_scales_of_opposite_sign_turn_the_coefficients():
    problem, X, y = problem_of(11, classes=2)
    w = np.sign(X.T @ y[1])[None].astype(np.int8).repeat(2, axis=0)
    point = TernaryPoint(-w, np.ones(2), np.zeros(2), problem.scores(-w))
    fit_scales(problem, point, np.arange(2))
    assert (point.scale > 0).all()
    np.testing.assert_array_equal(point.coefficients[1], w[1])
    np.testing.assert_array_equal(point.scores, problem.scores(point.coefficients))


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("n", [1, 8, 13])
def test_totals_are_sums_in_order(monkeypatch, simd, n):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    rng = np.random.default_rng(n)
    X, w = rng.standard_normal((n, 9)), rng.integers(-1, 2, (4, 9)).astype(np.int8)
    columns, _ = DenseColumns.of(X)
    assert columns.values.shape == (9, -(-n // LANES) * LANES)
    wanted = np.zeros((4, n))
    for slot in range(9):
        wanted += w[:, slot, None] * X[:, slot].astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(columns.scores(w, resources(2)), wanted)
    np.testing.assert_array_equal(columns.column(3), X[:, 3].astype(np.float32))
