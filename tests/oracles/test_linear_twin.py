"""Linear models have the optimum of their slow twin and of scikit-learn's liblinear."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import SIMD_NAMES
from oracles import linear_twin as twin
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.utils.class_weight import compute_class_weight

from kernelight import Codes, LinearClassifier, LinearRegressor
from kernelight.base.checks import resources
from kernelight.linear import base, design
from kernelight.linear.solver import Solver

CLASSIFIERS = ("squared_hinge", "hinge", "logistic")
REGRESSORS = ("squared", "epsilon_insensitive")
EPSILON = 0.2
BITS = (1, 4, 8, 12)


def codes_of(bits, n, slots=24, seed=0, empty=True):
    """Codes of n rows, a few of which are empty, with up to 6 values in each slot."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 1 << bits, (6, slots))
    array = values[rng.integers(0, 6, (n, slots)), np.arange(slots)]
    return Codes(array, bits=bits, empty=np.arange(n) % 17 == 5 if empty else None)


def dense_of(n, d=10, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)


def rows_of(kind, n, seed=0):
    """Rows of a kind, and the same rows as a dense matrix."""
    if kind.startswith("codes"):
        codes = codes_of(int(kind[5:]), n, seed=seed)
        return codes, (codes.to_csr() > 0).toarray() / np.sqrt(codes.n_components)
    X = dense_of(n, seed=seed)
    return (sp.csr_matrix(X) if kind == "csr" else X), X


KINDS = [*(f"codes{bits}" for bits in BITS), "csr", "dense"]


def labels_of(n, classes, seed=0):
    rng = np.random.default_rng([seed, 1])
    return rng.permutation(np.arange(n) % classes)


def numbers_of(n, seed=0):
    return np.random.default_rng([seed, 2]).standard_normal(n)


class Problem:
    """The problem of each output of a model, for the twin."""

    def __init__(
        self,
        loss,
        X,
        y,
        *,
        C=1.0,
        intercept=True,
        class_weight=None,
        sample_weight=None,
        epsilon=EPSILON,
    ):
        self.loss, self.epsilon = loss, epsilon
        n = len(X)
        self.used = X.any(axis=0)  # without codes that never occur, to save time
        X = X[:, self.used]
        self.X = np.hstack([X, np.ones((n, 1))]) if intercept else X
        cost = C * (np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float))
        if loss in REGRESSORS:
            values = np.asarray(y, dtype=float).reshape(n, -1)
            self.outputs = [(values[:, at], cost) for at in range(values.shape[1])]
            return
        classes = np.unique(y)
        if class_weight == "balanced":
            sums = np.array([cost[y == each].sum() for each in classes])
            factor = sums.sum() / (len(classes) * sums)
        else:
            factor = compute_class_weight(class_weight, classes=classes, y=y)
        if len(classes) == 2:
            own = y == classes[1]
            self.outputs = [(np.where(own, 1.0, -1.0), cost * np.where(own, factor[1], factor[0]))]
        else:
            self.outputs = [
                (np.where(y == each, 1.0, -1.0), cost * np.where(y == each, of, 1.0))
                for each, of in zip(classes, factor, strict=True)
            ]

    def full(self, model):
        """The weights of a model with the intercept as the last, (outputs, features)."""
        coefficients = np.atleast_2d(model.coef_).astype(np.float64)
        assert not coefficients[:, ~self.used].any()
        coefficients = coefficients[:, self.used]
        bias = np.atleast_1d(model.intercept_)
        return (
            np.hstack([coefficients, bias[:, None]])
            if self.X.shape[1] > coefficients.shape[1]
            else coefficients
        )

    def primals(self, weights):
        return np.array(
            [
                twin.primal(self.loss, self.X, y, c, w, self.epsilon)
                for (y, c), w in zip(self.outputs, weights, strict=True)
            ]
        )

    def duals(self, duals):
        return np.array(
            [
                twin.dual(self.loss, self.X, y, c, b, self.epsilon)
                for (y, c), b in zip(self.outputs, duals.T, strict=True)
            ]
        )

    def optima(self):
        return np.array(
            [twin.optimum(self.loss, self.X, y, c, self.epsilon) for y, c in self.outputs]
        )


def model_of(loss, **params):
    if loss in REGRESSORS:
        return LinearRegressor(loss, epsilon=EPSILON, **params)
    return LinearClassifier(loss, **params)


def task_of(loss, kind, n=36, classes=3, seed=0):
    rows, X = rows_of(kind, n, seed)
    return rows, X, numbers_of(n, seed) if loss in REGRESSORS else labels_of(n, classes, seed)


# --- The twin itself


@pytest.mark.parametrize("loss", twin.LOSSES)
def test_conjugates_are_those_of_the_losses(loss):
    """-conjugate(b) is the minimum of c loss(m, y) + b m, here over a fine grid of m."""
    m = np.linspace(-60, 60, 240_001)
    for y in (1.0, -1.0) if loss in CLASSIFIERS else (0.7, -1.3):
        for c in (0.5, 2.0):
            for fraction in (0.1, 0.5, 0.9):
                b = (y if loss in CLASSIFIERS else 1.0) * fraction * c
                conjugate = twin.conjugates(loss, np.array([b]), y, c, EPSILON)[0]
                least = (twin.losses(loss, m, y, c, EPSILON) + b * m).min()
                assert -conjugate == pytest.approx(least, abs=1e-6)


@pytest.mark.parametrize("loss", twin.LOSSES)
def test_the_twin_minimises_its_objective(loss):
    X = dense_of(30)
    y = numbers_of(30) if loss in REGRESSORS else np.where(labels_of(30, 2), 1.0, -1.0)
    c = np.full(30, 2.0)
    w = twin.optimum(loss, X, y, c, EPSILON)
    least = twin.primal(loss, X, y, c, w, EPSILON)
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(50):
            other = w + size * rng.standard_normal(len(w))
            assert twin.primal(loss, X, y, c, other, EPSILON) > least


# --- The same optimum


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", twin.LOSSES)
def test_optimum_is_that_of_the_twin(loss, kind, intercept):
    rows, X, y = task_of(loss, kind)
    model = model_of(loss, tol=1e-8, fit_intercept=intercept, max_iter=20_000).fit(rows, y)
    problem = Problem(loss, X, y, intercept=intercept)
    best = problem.optima()
    np.testing.assert_allclose(problem.full(model), best, atol=2e-4)
    np.testing.assert_allclose(model.objective_, problem.primals(best), rtol=1e-7)
    # weights of codes are kept as float32
    np.testing.assert_allclose(
        problem.primals(problem.full(model)), problem.primals(best), rtol=1e-6
    )
    assert (model.dual_gap_ <= 1e-8 * model.objective_).all()


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("weights", [None, "dict", "balanced"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", CLASSIFIERS)
def test_costs_mean_the_same_as_for_the_twin(loss, classes, weights, C):
    n = 30
    rows, X, y = task_of(loss, "codes4", n, classes)
    y = np.where((y == 1) & (np.arange(n) % 3 > 0), 0, y)  # classes of several sizes
    class_weight = {0: 0.5, 1: 3.0} if weights == "dict" else weights
    sample_weight = np.random.default_rng(3).integers(0, 4, n) * 0.5
    options = {"C": C, "class_weight": class_weight}
    model = LinearClassifier(loss, tol=1e-8, max_iter=20_000, **options).fit(rows, y, sample_weight)
    problem = Problem(loss, X, y, sample_weight=sample_weight, **options)
    best = problem.optima()
    np.testing.assert_allclose(problem.full(model), best, atol=1e-3)
    np.testing.assert_allclose(model.objective_, problem.primals(best), rtol=1e-7)


@pytest.mark.parametrize("loss", REGRESSORS)
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_several_targets_with_weights(loss, C):
    rows, X, _ = task_of(loss, "codes8", 40)
    y = np.stack([numbers_of(40, seed) for seed in range(3)], axis=1)
    sample_weight = np.arange(40) % 3 * 0.7
    model = model_of(loss, C=C, tol=1e-8, max_iter=20_000).fit(rows, y, sample_weight)
    problem = Problem(loss, X, y, C=C, sample_weight=sample_weight)
    best = problem.optima()
    np.testing.assert_allclose(problem.full(model), best, atol=1e-3)
    np.testing.assert_allclose(model.objective_, problem.primals(best), rtol=1e-7)
    np.testing.assert_allclose(model.predict(rows), problem.X @ best.T, atol=1e-3)


PATHS = {
    "single precision": [(base, "SMALL", 0)],
    "codes looked up": [(design, "RANK_BYTES", 0)],
    "single precision, codes looked up": [(base, "SMALL", 0), (design, "RANK_BYTES", 0)],
    "sparse rows one by one": [(design, "DENSE_BYTES", -1)],
}


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("loss", twin.LOSSES)
def test_every_path_leads_to_the_same_optimum(monkeypatch, loss, path, simd):
    for module, name, value in PATHS[path]:
        monkeypatch.setattr(module, name, value)
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    single = "single" in path
    tol = 1e-4 if single else 1e-7
    kinds = ("csr",) if "sparse" in path else ("codes1", "codes8", "codes12")
    kinds = (*kinds, "dense", "csr") if path == "single precision" else kinds
    for kind in kinds:
        rows, X, y = task_of(loss, kind, 80, classes=5)
        if single and not isinstance(rows, Codes):
            rows = rows.astype(np.float32)
            X = (rows.toarray() if sp.issparse(rows) else rows).astype(np.float64)
        if "sparse" in path:
            rows = sp.hstack([rows, sp.csr_matrix((80, 300))], format="csr")
            monkeypatch.setattr(design, "DENSE_BYTES", -1)
            assert sp.issparse(design.MatrixDesign(rows, np.float64, resources(1)).X)
        model = model_of(loss, tol=tol, max_iter=5000).fit(rows, y)
        if "sparse" in path:
            monkeypatch.undo()
            X = rows.toarray()
        problem = Problem(loss, X, y)
        if kind in ("codes1", "csr"):
            reference = model_of(loss, tol=1e-8, max_iter=50_000).fit(X, y)
            least = reference.objective_
            assert (least <= model.objective_ * (1 + 1e-6)).all()
            assert (model.objective_ <= least * (1 + 2 * tol)).all()
        np.testing.assert_allclose(
            problem.primals(problem.full(model)), model.objective_, rtol=2e-5
        )


# --- Certificates


@pytest.mark.parametrize("kind", ["codes4", "csr", "dense"])
@pytest.mark.parametrize("loss", twin.LOSSES)
def test_the_gap_is_that_of_the_duals(loss, kind):
    """After 1, 2, ... epochs: D is a lower bound of the minimum, and the reported gap is P - D."""
    rows, X, y = task_of(loss, kind)
    problem = Problem(loss, X, y)
    least = problem.primals(problem.optima())
    for epochs in (1, 2, 5, 12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = model_of(loss, tol=1e-9, max_iter=epochs, warm_start=True).fit(rows, y)
        P, D = problem.primals(problem.full(model)), problem.duals(model._duals)
        assert (least * (1 + 1e-9) >= D).all()
        np.testing.assert_allclose(model.objective_, P, rtol=1e-5)
        np.testing.assert_allclose(
            model.dual_gap_, model.objective_ - D, rtol=1e-6, atol=1e-9 * P.max()
        )
        # the weights are those of the duals
        np.testing.assert_allclose(problem.full(model), model._duals.T @ problem.X, atol=1e-5)


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-4])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("loss", twin.LOSSES)
def test_certificates_are_true(monkeypatch, loss, single, tol):
    if single:
        monkeypatch.setattr(base, "SMALL", 0)
    rows, X, y = task_of(loss, "codes4", seed=4)
    problem = Problem(loss, X, y)
    least = problem.primals(problem.optima())
    model = model_of(loss, tol=tol).fit(rows, y)
    P = problem.primals(problem.full(model))
    assert (model.dual_gap_ <= tol * model.objective_).all()
    assert (least * (1 + tol) / (1 - tol) + 1e-5 * P >= P).all()
    assert (P - least <= model.dual_gap_ + 1e-5 * P).all()


# --- liblinear


def close_to(problem, ours, theirs):
    """Compare objectives, class by class: ours is not above theirs, theirs not much above ours."""
    ours, theirs = problem.primals(problem.full(ours)), problem.primals(problem.full(theirs))
    assert (ours <= theirs * (1 + 2e-6)).all()
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("weights", [None, {0: 0.5, 2: 3.0}, "balanced"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_objective_is_that_of_linear_svc(loss, weights, C, intercept):
    for classes, kind in ((2, "codes8"), (4, "dense")):
        rows, X, y = task_of(loss, kind, 80, classes)
        y = 2 * np.where((y == 1) & (np.arange(80) % 3 > 0), 0, y)
        options = {"C": C, "class_weight": weights, "fit_intercept": intercept}
        ours = LinearClassifier(loss, tol=1e-8, max_iter=20_000, **options).fit(rows, y)
        theirs = LinearSVC(loss=loss, dual=True, tol=1e-8, max_iter=1_000_000, **options).fit(X, y)
        problem = Problem(loss, X, y, C=C, class_weight=weights, intercept=intercept)
        close_to(problem, ours, theirs)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_objective_is_that_of_logistic_regression(C, intercept):
    for dual, weights in ((True, None), (False, "balanced"), (False, {0: 2.0, 1: 0.25})):
        rows, X, y = task_of("logistic", "codes4", 80, 2)
        y = np.where(np.arange(80) % 5 == 0, 0, y)
        sample_weight = np.arange(80) % 4 * 0.5
        options = {"C": C, "class_weight": weights, "fit_intercept": intercept}
        ours = LinearClassifier("logistic", tol=1e-8, max_iter=20_000, **options).fit(rows, y)
        solver = LogisticRegression(
            solver="liblinear", dual=dual, tol=1e-10, max_iter=1_000_000, random_state=0, **options
        )
        problem = Problem("logistic", X, y, C=C, class_weight=weights, intercept=intercept)
        close_to(problem, ours, solver.fit(X, y))
        problem = Problem(
            "logistic",
            X,
            y,
            C=C,
            class_weight=weights,
            intercept=intercept,
            sample_weight=sample_weight,
        )
        close_to(problem, ours.fit(rows, y, sample_weight), solver.fit(X, y, sample_weight))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_objective_is_that_of_linear_svr(C, intercept):
    rows, X, y = task_of("squared", "codes8", 80)
    weight = np.arange(80) % 4 * 0.5
    for loss, theirs, epsilon in (
        ("epsilon_insensitive", "epsilon_insensitive", EPSILON),
        ("squared", "squared_epsilon_insensitive", 0.0),
    ):
        options = {"C": C, "fit_intercept": intercept}
        ours = model_of(loss, tol=1e-8, max_iter=20_000, **options).fit(rows, y, weight)
        peer = LinearSVR(
            loss=theirs, dual=True, epsilon=epsilon, tol=1e-8, max_iter=1_000_000, **options
        )
        problem = Problem(loss, X, y, C=C, intercept=intercept, sample_weight=weight)
        close_to(problem, ours, peer.fit(X, y, weight))


def test_squares_are_ridge_regression():
    X, y = dense_of(60), numbers_of(60)
    ours = LinearRegressor(C=2.5, fit_intercept=False, tol=1e-12, max_iter=20_000).fit(X, y)
    theirs = Ridge(alpha=1 / (2 * 2.5), fit_intercept=False, solver="svd").fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


# --- What an epoch sees


@pytest.mark.parametrize("loss", twin.LOSSES)
@pytest.mark.parametrize("kind", ["codes8", "dense"])
def test_the_gaps_that_an_epoch_sees_are_the_parts_of_the_duality_gap(kind, loss):
    """Rows of one block are all seen before any of them moves: their parts add up to P - D."""
    rows, X, y = task_of(loss, kind, n=50, seed=3)
    problem = Problem(loss, X, y)
    model = model_of(loss, tol=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model._check_parameters()
        model.seed_ = 0
        targets = model._targets(rows, y, None)
    solver = Solver(model._design(rows, targets), targets, model._settings())
    (group,) = solver.groups
    for _ in range(3):
        duals = solver.duals
        group.epoch(lambda: False)
        losses, gaps = group._seen[-1][:, : len(group.outputs)]
        w = [problem.X.T @ b for b in duals.T]
        margins = problem.X @ np.stack(w, axis=1)
        for output, (target, cost) in enumerate(problem.outputs):
            wanted = twin.losses(loss, margins[:, output], target, cost, EPSILON)
            np.testing.assert_allclose(losses[output], wanted.sum(), rtol=1e-9)
        np.testing.assert_allclose(
            gaps, problem.primals(w) - problem.duals(duals), rtol=1e-7, atol=1e-9
        )
        group._shrunk_for[:] = 0


@pytest.mark.parametrize("C", np.logspace(-6, 8, 8))
def test_a_visit_solves_a_logistic_row_whatever_its_cost(C):
    """Rows that have nothing in common are solved by one visit each: t + q c s(t) = 0."""
    scales = np.logspace(-2, 1.5, 12)
    labels, weight = np.arange(12) % 2, np.logspace(-1, 1, 12)[::-1]
    model = LinearClassifier("logistic", C=C, fit_intercept=False, tol=1e-13, max_iter=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(np.diag(scales), labels, sample_weight=weight)
    for scale, label, cost, w in zip(scales, labels, C * weight, model.coef_[0], strict=True):
        # w = scale a y, a = c s(t), at the optimum t = -y m = -scale^2 a
        margin = brentq(lambda m, q=scale**2 * cost: m - q / (1 + np.exp(m)), 0, 50, xtol=1e-18)
        np.testing.assert_allclose(w, (2 * label - 1) * margin / scale, rtol=1e-6)
