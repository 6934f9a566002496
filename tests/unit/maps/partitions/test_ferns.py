"""Ferns: their kernel, exactly; missing numbers, weights, explanations, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import sentence, signed_rows

from kernelight import Ferns, LinearClassifier, LinearRegressor, _core
from kernelight.state import State

SLOTS = 2**15


def table(n=400, seed=0):
    """Columns of many values, of few, of two and of one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 1] = rng.integers(0, 3, n)
    X[:, 2] = rng.random(n) < 0.1
    X[:, 4] = -1.0
    return X


def separated(X, u, v, weights=None):
    """The probability that one test separates two rows, from all training rows, slowly."""
    total, share = 0.0, 0.0
    for f in range(X.shape[1]):
        column = X[:, f]
        below = [x for x in column if x < column.max()]
        if not below:
            continue
        w = 1.0 if weights is None else weights[f]
        low, high = sorted((u[f], v[f]))
        share += w * sum(low <= x < high for x in below) / len(below)
        total += w
    return share / total


# -- The kernel


@pytest.mark.parametrize("weights", [None, [1.0, 0.0, 5.0, 2.0, 9.0]])
@pytest.mark.parametrize("depth", [1, 4, 8])
def test_rows_agree_with_the_probability_of_the_kernel(depth, weights):
    X = table(200)  # fewer than 255 different values: the kernel is that of all training rows
    rows = np.concatenate([X[:4], 0.5 * (X[4:6] + X[6:8])])
    ferns = Ferns(SLOTS, depth=depth, weights=weights, random_state=3).fit(X)
    fractions = ferns.encode(rows).collisions() / SLOTS
    for i in range(len(rows)):
        for j in range(i):
            P = (1 - separated(X, rows[i], rows[j], weights)) ** depth
            assert ferns.expected(rows)[i, j] == pytest.approx(P, abs=1e-12)
            assert ferns.variance(rows)[i, j] == pytest.approx(P * (1 - P) / SLOTS, abs=1e-12)
            assert abs(fractions[i, j] - P) <= 5 * math.sqrt(P * (1 - P) / SLOTS), (i, j)


def test_columns_of_many_values_are_nearly_those_of_all_rows():
    """255 ranks: no probability is off by more than one of them."""
    X = np.random.default_rng(1).normal(size=(3000, 1))
    ferns = Ferns(8, depth=1).fit(X)
    assert len(ferns.cuts_) == 255
    rows = X[:50]
    for i in range(1, 50):
        exact = 1 - separated(X, rows[0], rows[i])
        assert abs(ferns.expected(rows)[0, i] - exact) <= 1 / 255


def test_the_kernel_of_any_storage():
    X = np.asarray(signed_rows(2, 90, 7, density=0.5, dtype=np.float32), dtype=np.float64)
    ferns = Ferns(4, depth=3, weights=np.arange(1.0, 8.0)).fit(X)
    K = ferns.kernel(X)
    assert (K.T == K).all()
    assert (K.diagonal() == 1).all()
    matrix = sp.csr_matrix(X)
    np.testing.assert_allclose(ferns.kernel(matrix), K, atol=1e-12)
    np.testing.assert_allclose(ferns.kernel(matrix, X[:5]), K[:, :5], atol=1e-12)
    np.testing.assert_allclose(ferns.kernel(X[:5], matrix), K[:5], atol=1e-12)
    single = ferns.kernel(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, K, atol=1e-5)


def test_slots_are_independent():
    X = table()
    u, v = X[:2]
    ferns = Ferns(SLOTS, depth=3, random_state=9).fit(X)
    codes = ferns.encode(np.array([u, v])).array
    P = ferns.expected(np.array([u, v]))[0, 1]
    excess = (codes[0] == codes[1]) - P
    for lag in (1, 2, 16, 64):
        products = excess[lag:] * excess[:-lag]
        assert abs(products.sum()) < 5 * P * (1 - P) * math.sqrt(len(products)), lag


# -- What they learn


def test_order_and_monotone_changes_of_columns_do_not_matter():
    X = table()
    wanted = Ferns(64).fit(X).encode(X)
    order = np.random.default_rng(0).permutation(len(X))
    assert Ferns(64).fit(X[order]).encode(X) == wanted
    bent = np.exp(X) * [1.0, 1e6, 3.0, 1e-9, 1.0]
    np.testing.assert_array_equal(Ferns(64).fit(bent).encode(bent).array, wanted.array)


def test_fewer_tests_are_the_low_bits():
    X = table()
    deep, shallow = (Ferns(40, depth=depth).fit(X).encode(X) for depth in (9, 4))
    assert deep.low_bits(4) == shallow


def test_the_largest_value_is_no_cut():
    ferns = Ferns(8).fit([[0.0], [1.0], [1.0], [2.0]])
    assert (ferns.cuts_.tolist(), ferns.counts_.tolist()) == ([0.0, 1.0], [1, 2])
    assert (ferns.starts_.tolist(), ferns.medians_.tolist()) == ([0, 2], [1.0])


def test_rows_without_any_variation_have_one_code():
    for X in (np.ones((5, 3)), sp.csr_matrix((5, 3)), [[2.0, 7.0]]):
        ferns = Ferns(8, depth=2).fit(X)
        codes = ferns.encode(X)
        assert not codes.array.any()
        assert (ferns.expected(X) == 1).all()
        assert (ferns.variance(X) == 0).all()
        assert (ferns.tests()[0] == -1).all()
        assert ferns.column_fractions().nnz == 0
        assert Ferns.from_state(ferns.to_state()).encode(X) == codes


def test_of_many_rows_some_are_looked_at():
    X = np.arange(200_000, dtype=np.float64)[:, None] % 1000
    ferns = Ferns(8).fit(X)
    assert len(ferns.cuts_) == 255
    assert np.abs(np.diff(ferns.cuts_) - 1000 / 255).max() < 2


def test_parameters_changed_after_fit():
    X = table()
    ferns = Ferns(20, depth=3).fit(X)
    ferns.set_params(n_components=50, depth=5, weights=[1.0, 2.0, 3.0, 4.0, 5.0])
    again = Ferns(50, depth=5, weights=[1.0, 2.0, 3.0, 4.0, 5.0]).fit(X)
    assert ferns.encode(X) == again.encode(X)
    assert ferns.provenance != Ferns(20, depth=3).fit(X).provenance
    with pytest.raises(ValueError, match="depth must be between 1 and 16, got 0"):
        ferns.set_params(depth=0).encode(X)


def test_provenance_is_that_of_the_training_rows():
    X = table()
    other = X.copy()
    other[0, 0] = 0.123
    made = Ferns(8).fit(X)
    assert Ferns(99, depth=3).fit(X).provenance == made.provenance  # codes can be cut to either
    assert Ferns(8).fit(other).provenance != made.provenance
    assert Ferns(8, weights=np.ones(5)).fit(X).provenance == made.provenance


# -- Missing numbers


def test_missing_numbers_take_the_side_of_most_training_rows():
    X = table(401)
    ferns = Ferns(300, depth=1).fit(X)
    columns, cuts = (each[:, 0] for each in ferns.tests())
    codes = ferns.encode(np.full((1, 5), np.nan)).array[0]
    for column, cut, code in zip(columns, cuts, codes, strict=True):
        above = (X[:, column] > cut).sum()
        assert code == (above > len(X) - above)


def test_missing_numbers_do_not_count_in_fit():
    X = table()
    holes = np.vstack([X, np.full((30, 5), np.nan)])
    assert Ferns(32).fit(holes).encode(X) == Ferns(32).fit(X).encode(X)


def test_infinity_is_refused():
    X = table()
    ferns = Ferns(4).fit(X)
    for bad in (np.inf, -np.inf):
        wrong = X.copy()
        wrong[3, 1] = np.nan
        wrong[7, 2] = bad
        for ask in (ferns.encode, Ferns(4).fit):
            with pytest.raises(ValueError, match=sentence("infinity at row 7, column 2")):
                ask(wrong)
            with pytest.raises(ValueError, match=sentence("infinity at row 7, column 2")):
                ask(sp.csr_matrix(wrong))


# -- Explanations


def test_fractions_are_those_of_the_tests():
    X = table()
    ferns = Ferns(30, depth=4).fit(X)
    fractions = ferns.column_fractions()
    assert fractions.shape == (30 << 4, 5)
    columns, _ = ferns.tests()
    for slot in (0, 7, 29):
        wanted = np.bincount(columns[slot], minlength=5) / 4
        for code in (0, 9, 15):
            np.testing.assert_allclose(fractions[[(slot << 4) + code]].toarray()[0], wanted)


def test_columns_of_slots_are_those_of_the_tests():
    X = table()
    ferns = Ferns(30, depth=4).fit(X)
    features, starts = ferns.columns_of_slots(ferns.encode(X))
    assert starts.tolist() == list(range(0, 121, 4))
    assert features.reshape(30, 4).tolist() == ferns.tests()[0].tolist()
    with pytest.raises(ValueError, match="were not made by this Ferns"):
        ferns.columns_of_slots(Ferns(30, depth=4, random_state=1).fit(X).encode(X))


def test_contributions_add_up_to_the_score():
    X = table()
    y = (X[:, 0] > 0).astype(int)
    ferns = Ferns(200, depth=4).fit(X)
    model = LinearClassifier().fit(ferns.transform(X), y)
    weights = sp.diags(np.asarray(model.coef_).ravel())
    contributions = (ferns.transform(X) @ weights @ ferns.column_fractions()).toarray()
    scores = model.decision_function(ferns.transform(X)) - model.intercept_
    np.testing.assert_allclose(contributions.sum(axis=1), scores, atol=1e-4)
    spread = contributions.std(axis=0)
    assert spread[0] > 2 * spread[3]
    assert spread[4] == 0


def test_linear_models_learn_from_codes():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1500, 4))
    value = np.where(X[:, 0] > 0.3, 1.0, -1.0) * np.where(X[:, 1] > -0.2, 1.0, -1.0)
    codes = Ferns(512, depth=6).fit(X[:1000]).encode(X)
    classifier = LinearClassifier().fit(codes[:1000], value[:1000] > 0)
    assert classifier.score(codes[1000:], value[1000:] > 0) > 0.93
    regressor = LinearRegressor().fit(codes[:1000], value[:1000])
    assert regressor.score(codes[1000:], value[1000:]) > 0.7


# -- What is refused


@pytest.mark.parametrize(
    ("weights", "why"),
    [
        ([1.0, 2.0], r"weights must be 5 numbers, one for each column, got float64 of the shape"),
        ("much", r"weights must be 5 numbers"),
        ([[1.0], [2.0, 3.0]], r"weights must be 5 numbers"),
        ([1.0, -1.0, 0.0, 0.0, 0.0], r"finite and at least 0, got -1\.0 for column 1"),
        ([1.0, 1.0, np.nan, 0.0, 0.0], r"finite and at least 0, got nan for column 2"),
        ([0.0, 0.0, 0.0, 0.0, 1.0], r"0 for every column that varies"),
    ],
)
def test_weights(weights, why):
    with pytest.raises(ValueError, match=sentence(why)):
        Ferns(4, weights=weights).fit(table())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("columns_", lambda a: a[::-1].copy()),
        ("columns_", lambda a: a + 10),
        ("columns_", lambda a: a.astype(np.int32)),
        ("starts_", lambda a: a[:-1]),
        ("starts_", lambda a: np.where(np.arange(len(a)) == 1, a[-1], a)),
        ("starts_", lambda a: a + 1),
        ("cuts_", lambda a: a[::-1].copy()),
        ("cuts_", lambda a: np.where(np.arange(len(a)) == 3, np.nan, a)),
        ("cuts_", lambda a: a[:-1]),
        ("counts_", lambda a: a - a),
        ("counts_", lambda a: a.astype(np.int64)),
        ("medians_", lambda a: a[:-1]),
        ("medians_", lambda a: a.reshape(2, -1)),
    ],
)
def test_states_that_are_no_ferns(name, change):
    state = Ferns(8).fit(table()).to_state()
    arrays = {**state.arrays, name: change(state.arrays[name])}
    with pytest.raises(ValueError, match=sentence("This state does not describe a Ferns")):
        Ferns.from_state(State(state.meta, arrays))


def test_the_core_checks_its_arguments():
    columns, starts = np.array([0, 2]), np.array([0, 1, 3])
    cuts, medians = np.array([0.0, 1.0, 2.0]), np.zeros(2)
    places, ranks = np.array([[0, 1]], dtype=np.int32), np.array([[0, 1]], dtype=np.uint8)
    good = (columns, starts, cuts, medians, places, ranks)
    tables = _core.FernTables(*good)
    codes = np.empty((1, 1), dtype=np.uint8)
    _core.encode_ferns(tables, np.zeros((1, 3)), None, None, 3, codes, 1, 0)
    wrong = [
        (0, columns[::-1].copy()), (0, columns - 1), (1, np.array([0, 2, 2])), (1, starts[:-1]),
        (1, np.array([0, -1, 3])), (1, np.array([0, 9, 3])), (2, cuts[::-1].copy()),
        (2, cuts[:-1]), (3, medians[:-1]), (4, places + 1), (4, places - 1), (5, ranks + 1),
        (5, ranks[:, :1].copy()),
    ]  # fmt: skip
    for at, array in wrong:
        with pytest.raises(ValueError, match="must"):
            _core.FernTables(*(array if at == i else each for i, each in enumerate(good)))
    for X, width, out in (
        (np.zeros((1, 2)), 2, codes),
        (np.zeros((2, 3)), 3, codes),
        (np.zeros((1, 3)), 3, np.empty((1, 2), dtype=np.uint8)),
    ):
        with pytest.raises(ValueError, match=r"codes must be|narrower"):
            _core.encode_ferns(tables, X, None, None, width, out, 1, 0)
