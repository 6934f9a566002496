"""Rounds over blocks: against a slow twin, and against the fit of all rows in one place."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernelight import GCWS, LinearClassifier, LinearRegressor
from kernelight.base.checks import resources
from kernelight.linear.design import code_counts
from kernelight.linear.rounds import Duals, MemoryBlocks, RoundTask

LOSSES = ("squared_hinge", "hinge", "logistic", "squared", "epsilon_insensitive")


def problem(loss, n=240, k=16, classes=2, seed=0):
    """Codes, a fitted model, the labels or values of its targets, and the codes that occur."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    codes = GCWS(k, bits=4).fit(X).encode(X)
    if loss in ("squared", "epsilon_insensitive"):
        y = X[:, 0] + rng.normal(scale=0.1, size=n)
        more = {"epsilon": 0.05} if loss == "epsilon_insensitive" else {}
        model = LinearRegressor(loss, C=2.0, tol=1e-7, max_iter=20_000, **more)
    else:
        y = np.digitize(
            X[:, 0] + rng.normal(scale=0.2, size=n), np.linspace(0, 1, classes + 1)[1:-1]
        )
        model = LinearClassifier(loss, C=2.0, tol=1e-7, max_iter=20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(codes, y)
    targets = model.batch_targets(codes, y)
    content = targets.values if targets.labels is None else targets.labels
    seen = code_counts(codes, resources(1)) > 0
    return codes, model, targets, content, seen


def dealt(codes, content, n_blocks):
    places = [np.arange(at, len(content), n_blocks) for at in range(n_blocks)]
    return [(codes[rows], content[rows]) for rows in places]


def learned(loss, n_blocks, tol=1e-3, max_rounds=300, **options):
    codes, model, targets, content, seen = problem(loss, **options)
    made = model.block_problem(targets, seen, n_blocks)
    blocks = MemoryBlocks(made, dealt(codes, content, n_blocks))
    trained = model._copy().learn_blocks(blocks, tol, max_rounds, lambda number, gap: None)
    return model, trained


def one_hot(codes, seen):
    """Rows with the columns of codes that occur, and one of ones for the intercept."""
    dense = codes.to_csr().toarray()[:, seen.reshape(-1)]
    return np.hstack([dense, np.ones((len(dense), 1))])


def best_step(loss, y, C, dual, margin, norm, sigma):
    """The dual of one row that is best while all others stay: the definition, by a fine grid.

    Conjugates are those of `1/2 |w|^2 + C loss`, with duals that carry the sign of y.
    """
    low, high = (-C, C) if loss == "epsilon_insensitive" else (-9.0, 9.0)
    if loss in ("squared_hinge", "hinge"):
        reach = C if loss == "hinge" else 9.0
        low, high = (0.0, reach) if y > 0 else (-reach, 0.0)
    for _ in range(6):
        grid = np.linspace(low, high, 401)
        value = conjugate(loss, grid, y, C) + margin * (grid - dual)
        value += sigma / 2 * norm * (grid - dual) ** 2
        at, step = int(np.argmin(value)), grid[1] - grid[0]
        low, high = max(low, grid[at] - step), min(high, grid[at] + step)
    return grid[at]


def conjugate(loss, dual, y, C):
    if loss == "squared_hinge":
        return dual**2 / (4 * C) - y * dual
    if loss == "hinge":
        return -y * dual
    if loss == "squared":
        return dual**2 / (4 * C) - y * dual
    return 0.05 * np.abs(dual) - y * dual


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "squared", "epsilon_insensitive"])
def test_a_round_solves_the_problem_of_its_block(loss):
    codes, model, targets, content, seen = problem(loss, n=24, k=8)
    n_blocks, sigma, C = 3, 3, 2.0
    rng = np.random.default_rng(1)
    X = one_hot(codes, seen)
    w = rng.normal(scale=0.2, size=X.shape[1]).astype(np.float32)
    task = RoundTask(1, w[:, None], w[:, None], np.zeros(1, "f4"), np.zeros(1, "f4"), 3000)
    some = slice(0, 8)
    made = model.block_problem(targets, seen, n_blocks)
    duals, sums = made.solve(codes[some], content[some], Duals.zeros(8, 1), task, 0)

    y = np.where(content == 0, 1.0, -1.0) if content.ndim == 1 else content[:, 0]
    rows, slow = X[some], np.zeros(8)
    for _ in range(300):
        for i in range(8):
            v = w + sigma * rows.T @ slow
            slow[i] = best_step(loss, y[i], C, slow[i], rows[i] @ v, rows[i] @ rows[i], sigma)
    own = rows.T @ slow
    assert np.abs(own - sums.weights[:, 0]).max() < 2e-3 * np.abs(own).max()
    assert np.allclose(sums.weights, sums.ahead)
    assert np.isclose(
        sums.conjugate[0],
        conjugate(loss, duals.now[:, 0].astype(float), y[some], C).sum(),
        rtol=1e-5,
    )
    margin = rows @ w
    losses = {
        "squared_hinge": np.maximum(0, 1 - y[some] * margin) ** 2,
        "hinge": np.maximum(0, 1 - y[some] * margin),
        "squared": (y[some] - margin) ** 2,
        "epsilon_insensitive": np.maximum(0, np.abs(y[some] - margin) - 0.05),
    }
    assert np.isclose(sums.loss[0], C * losses[loss].sum(), rtol=1e-5)


@pytest.mark.parametrize("n_blocks", [1, 2, 5])
@pytest.mark.parametrize("loss", LOSSES)
def test_rounds_reach_the_optimum_of_all_rows(loss, n_blocks):
    tol = 5e-3 if loss == "epsilon_insensitive" else 1e-3  # which converges slowly everywhere
    model, trained = learned(loss, n_blocks, tol=tol)
    lowest = model.objective_ - model.dual_gap_
    assert (trained.dual_gap_ <= tol * trained.objective_).all()
    assert (trained.objective_ >= lowest - 1e-6 * np.abs(lowest)).all()
    assert (trained.objective_ <= model.objective_ * (1 + tol)).all()


def test_the_certificate_is_that_of_the_weights():
    model, trained = learned("squared_hinge", 4, classes=3)
    codes, _, _, content, seen = problem("squared_hinge", classes=3)
    X = one_hot(codes, seen)
    w = np.vstack([trained.weights_, trained.intercept_]).astype(float)
    own = np.where(content[:, None] == np.arange(3), 1.0, -1.0)
    loss = 2.0 * (np.maximum(0, 1 - own * (X @ w)) ** 2).sum(axis=0)
    assert np.allclose(trained.objective_, (w**2).sum(axis=0) / 2 + loss, rtol=1e-5)
    assert (trained.objective_ - trained.dual_gap_ <= model.objective_ * (1 + 1e-6)).all()
    assert trained.n_seen_ == 240
    assert np.mean(trained.predict(codes) == model.predict(codes)) > 0.98


def test_momentum_halves_the_gap():
    """Against the same rounds without momentum, which is what every start anew is."""
    codes, model, targets, content, seen = problem("squared_hinge", n=2000, k=32)
    gaps = []
    for momentum in (True, False):
        made = model.block_problem(targets, seen, 8)
        blocks = MemoryBlocks(made, dealt(codes, content, 8))
        if not momentum:
            solve = blocks.solve
            blocks.solve = lambda task, solve=solve: solve(
                task._replace(start=task.weights, momentum=0 * task.momentum)
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            trained = model._copy().learn_blocks(blocks, 0.0, 20, lambda number, gap: None)
        gaps.append(float(trained.dual_gap_[0]))
    assert gaps[0] < 0.6 * gaps[1]


def test_a_round_depends_on_its_arguments_alone():
    codes, model, targets, content, seen = problem("logistic", classes=3)
    made = model.block_problem(targets, seen, 2)
    there = pickle.loads(pickle.dumps(made))
    w = np.full((int(seen.sum()) + 1, 3), 0.01, dtype=np.float32)
    task = RoundTask(7, w, w, np.zeros(3, "f4"), np.full(3, 0.25, "f4"), 2)
    results = [
        each.solve(codes, content, Duals.zeros(len(codes), 3), task, 1) for each in (made, there)
    ]
    for one, other in zip(*results, strict=True):
        assert all((a == b).all() for a, b in zip(one, other, strict=True))
    _, elsewhere = made.solve(codes, content, Duals.zeros(len(codes), 3), task, 0)
    assert (elsewhere.weights != results[0][1].weights).any()  # another order of rows


def test_too_few_rounds_are_told():
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 rounds.*have fewer blocks"):
        _, trained = learned("squared_hinge", 8, tol=1e-9, max_rounds=2)
    assert trained.n_iter_ == 2


def test_dense_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)).astype(np.float32)
    y = (X @ np.arange(5) > 0).astype(int)
    model = LinearClassifier(tol=1e-6).fit(X, y)
    targets = model.batch_targets(X, y)
    made = model.block_problem(targets, None, 3)
    blocks = MemoryBlocks(made, dealt(X, targets.labels, 3))
    trained = model._copy().learn_blocks(blocks, 1e-3, 200, lambda number, gap: None)
    assert np.allclose(trained.objective_, model.objective_, rtol=1e-3)
