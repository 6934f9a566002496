"""Compiled sums over winners and over support rows equal slow loops, and average to each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import signed_rows

from kernelight import GCWS, Codes, LinearClassifier, LinearRegressor, _core, kernels
from kernelight.base.checks import resources
from kernelight.codes import Winners
from kernelight.kernels.column_parts import column_parts
from kernelight.linear.code_scores import Columns

SLOTS = 70


def twin(model, codes, winners, columns):
    """Values and squares, slot by slot."""
    coefficients = np.atleast_2d(model.coef_).astype(np.float64)
    coefficients = coefficients.reshape(len(coefficients), SLOTS, -1)
    shape = (len(codes), columns.total, len(coefficients))
    values, squares = np.zeros(shape), np.zeros(shape)
    for row in np.flatnonzero(~codes.empty):
        for slot in range(SLOTS):
            term = coefficients[:, slot, codes.array[row, slot]] / math.sqrt(SLOTS)
            won = winners.features[row if len(winners.features) > 1 else 0]
            won = [f for f in won[winners.starts[slot] : winners.starts[slot + 1]] if f >= 0]
            of = [f if columns.of_feature is None else columns.of_feature[f] for f in won]
            for column in range(columns.total):
                share = of.count(column) / len(of) if of else 1 / columns.total
                values[row, column] += share * term
                if of:
                    squares[row, column] += (share * term) ** 2
            if not of:
                squares[row] += (term / columns.total) ** 2
    return values, squares


@pytest.mark.parametrize("bits", [3, 8, 11])
@pytest.mark.parametrize("n_classes", [2, 3, 18])
@pytest.mark.parametrize("options", [{}, {"gamma": 1.5}, {"sampler": "dart"}], ids=str)
def test_sums_over_winners(bits, n_classes, options):
    X = signed_rows(1, 60, 6, density=0.8).copy()
    X[7] = 0
    y = np.arange(60) % n_classes
    fitted = GCWS(SLOTS, bits=bits, **options).fit(X)
    model = LinearClassifier().fit(fitted.encode(X), y)
    codes, winners = fitted.encode_with_winners(X)
    folded = np.array([0, 1, 0, 2, 2, 1])
    for columns in (Columns(None, 6, 6), Columns(folded, 6, 3), Columns(None, 6, 9)):
        for n_jobs in (1, 2):
            found = model.code_scorer().attribute(
                codes, winners, columns, resources(n_jobs), squares=True
            )
            expected = twin(model, codes, winners, columns)
            np.testing.assert_allclose(found.values, expected[0], rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(found.squares, expected[1], rtol=1e-12, atol=1e-12)
        alone = model.code_scorer().attribute(codes, winners, columns, resources(1), squares=False)
        assert alone.squares is None
        np.testing.assert_array_equal(alone.values, found.values)


def test_winners_that_are_those_of_all_rows_and_none():
    """As a map has them whose slots belong to columns whatever the row is."""
    rng = np.random.default_rng(0)
    codes = Codes(rng.integers(0, 4, (40, SLOTS)), bits=2)
    model = LinearRegressor().fit(codes, rng.standard_normal(40))
    features = rng.integers(-1, 5, (1, 3 * SLOTS))
    winners = Winners(features, np.arange(0, 3 * SLOTS + 1, 3))
    columns = Columns(None, 5, 5)
    found = model.code_scorer().attribute(codes, winners, columns, resources(), squares=True)
    values, squares = twin(model, codes, winners, columns)
    np.testing.assert_allclose(found.values, values, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.squares, squares, rtol=1e-12, atol=1e-13)
    total = found.values.sum(axis=(1, 2)) + model.intercept_
    np.testing.assert_allclose(total, model.predict(codes), rtol=1e-5, atol=1e-6)


def halves(X):
    return np.hstack([np.maximum(X, 0), np.maximum(-X, 0)])


def exact_twin(A, B, duals, p, gamma):
    """min_f / sum max for each pair, in both halves."""
    d = A.shape[1]
    a, b = (halves(X) ** p for X in (A, B))
    values = np.zeros((len(A), duals.shape[1], d))
    for i, u in enumerate(a):
        for j, v in enumerate(b):
            minima, largest = np.minimum(u, v), np.maximum(u, v).sum()
            K = minima.sum() / largest if largest else 0.0
            parts = np.zeros(2 * d)
            if gamma is None and largest:
                parts = minima / largest
            elif gamma is not None and K:
                parts = (np.exp(-gamma * (1 - K)) - np.exp(-gamma)) * minima / minima.sum()
            values[i] += duals[j][:, None] * (parts[:d] + parts[d:])
    return values


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "kernel", [kernels.GMM(), kernels.GMM(p=2.5), kernels.ExpGMM(gamma=3.0, p=0.5)], ids=repr
)
def test_parts_of_the_exact_kernel(kernel, dtype, sparse):
    A, B = signed_rows(1, 12, 7, density=0.7).copy(), signed_rows(2, 15, 7, density=0.7).copy()
    A[3] = 0
    B[4] = 0
    A, B = A.astype(dtype), B.astype(dtype)
    duals = np.random.default_rng(0).standard_normal((15, 2))
    form = kernel.minmax_form
    kind = sp.csr_matrix if sparse else np.asarray
    values, rest = column_parts(form, kind(A), kind(B), duals)
    expected = exact_twin(A.astype(float), B.astype(float), duals, form.p, form.gamma)
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)
    total = kernel(A.astype(float), B.astype(float)) @ duals
    np.testing.assert_allclose(values.sum(axis=2) + rest, total, rtol=1e-9, atol=1e-12)


def test_parts_of_rows_of_any_size():
    """Rows so far apart that no common scale serves them; their kernel is 0."""
    A = np.array([[1e-200, 2e-200], [1e200, 3e200], [1.0, 2.0]])
    duals = np.ones((3, 1))
    values, _ = column_parts(kernels.GMM().minmax_form, A, A, duals)
    np.testing.assert_allclose(values.sum(axis=2)[:, 0], kernels.GMM()(A).sum(axis=1), rtol=1e-12)


def test_blocks_of_rows_change_nothing(monkeypatch):
    A, B = signed_rows(1, 30, 5), signed_rows(2, 20, 5)
    duals = np.random.default_rng(0).standard_normal((20, 3))
    form = kernels.GMM().minmax_form
    whole = column_parts(form, A, B, duals).values
    monkeypatch.setattr("kernelight.kernels.column_parts._BLOCK_VALUES", 40)
    np.testing.assert_array_equal(column_parts(form, A, B, duals).values, whole)


@pytest.mark.parametrize("sampler", ["cws", "dart"])
@pytest.mark.parametrize("gamma", [None, 2.0])
def test_hashed_parts_average_to_the_exact_ones(sampler, gamma):
    """Sums by winner of slots in which rows agree, at five standard deviations.

    Codes of b bits also agree by chance: (1 - 2^-b) of the exact part, and 2^-b of what a column
    wins anyway.
    """
    k, bits = 20_000, 4
    A = np.array([[3.0, -1.0, 0.5, 2.0]])
    B = np.array([[2.0, -2.0, 1.0, 0.0]])
    fitted = GCWS(k, bits=bits, sampler=sampler, gamma=gamma).fit(np.vstack([A, B]))
    codes, winners = fitted.encode_with_winners(A)
    agree = codes.array[0] == fitted.encode(B).array[0]
    form = fitted.kernel.minmax_form
    exact, _ = column_parts(form, A, B, np.ones((1, 1)))
    fractions = np.abs(A[0]) / np.abs(A).sum()  # what a column wins anyway
    won = np.array([1.0])
    if gamma is not None:  # a slot that stands for no sample has no winner
        won = np.array([1 - math.exp(-gamma)])
    expected = (1 - 2.0**-bits) * exact[0, 0] + 2.0**-bits * fractions * won
    shares = np.zeros((k, 4))
    for slot in range(k):
        of = winners.features[0, winners.starts[slot] : winners.starts[slot + 1]]
        for feature in of:
            shares[slot, feature] += 1 / len(of)
    terms = shares * agree[:, None]
    error = terms.std(axis=0) / math.sqrt(k)
    assert (np.abs(terms.mean(axis=0) - expected) <= 5 * error).all()


def test_bindings_refuse_what_does_not_belong_together():
    features, starts = np.zeros((3, 4), np.int64), np.arange(5)
    with pytest.raises(ValueError, match="starts must rise"):
        _core.SlotWinners(features, np.arange(7), None, 2, 2)
    with pytest.raises(ValueError, match="starts must rise"):
        _core.SlotWinners(features, starts[::-1].copy(), None, 2, 2)
    with pytest.raises(ValueError, match="features of these columns"):
        _core.SlotWinners(features, starts, None, 3, 2)
    with pytest.raises(ValueError, match="one place a feature"):
        _core.SlotWinners(features, starts, np.zeros(3, np.int64), 2, 2)
    with pytest.raises(ValueError, match="outside"):
        _core.SlotWinners(features, starts, np.array([0, 2]), 2, 2)
    codes = Codes(np.zeros((3, 4), int), bits=1)
    scorer = LinearRegressor().fit(codes, np.arange(3.0)).code_scorer()
    for winners, columns, sentence in (
        (Winners(features[:2], starts), Columns(None, 2, 2), "one row a row"),
        (Winners(features, np.arange(4)), Columns(None, 2, 2), "one place a slot"),
        (Winners(features + 2, starts), Columns(None, 2, 2), "no feature"),
    ):
        with pytest.raises(ValueError, match=sentence):
            scorer.attribute(codes, winners, columns, resources(), squares=True)
    x = np.ones((2, 3))
    out = np.zeros((2, 1, 3))
    for y, factors, duals in (
        (np.ones((4, 3)), np.ones((2, 3)), np.ones((4, 1))),
        (np.ones((4, 3)), np.ones((2, 4)), np.ones((3, 1))),
        (np.ones((4, 3)), np.ones((2, 4)), np.ones((4, 2))),
    ):
        with pytest.raises(ValueError, match=r"belong together|out must be"):
            _core.attribute_minmax(x, y, None, None, 3, factors, duals, out, 1)
