"""Weights are repetitions: of linear and ternary models to the bit, in whatever order rows come."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from kernelight import GCWS, LinearClassifier, LinearRegressor, SignProjection, TernaryClassifier
from kernelight.linear import equal_rows
from kernelight.linear.equal_rows import united_rows

RNG = np.random.default_rng(2)
X = RNG.random((60, 5))
CLASSES = RNG.integers(0, 3, 60)
QUANTITIES = X @ [1.0, 2.0, 0.0, -1.0, 0.5] + RNG.normal(size=60) / 10
COUNTS = RNG.integers(0, 4, 60)
REPEATED = RNG.permutation(np.repeat(np.arange(60), COUNTS))
FORMS = {
    "dense": X,
    "single": X.astype(np.float32),
    "CSR": sp.csr_matrix(np.where(X > 0.5, X, 0.0)),
    "codes": GCWS(32, bits=4).fit(X).encode(X),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "model",
    [
        *(LinearClassifier(loss) for loss in LinearClassifier._losses),
        LinearClassifier(class_weight="balanced"),
        LinearClassifier(class_weight={0: 3.0}, warm_start=True),
        *(LinearRegressor(loss) for loss in LinearRegressor._losses),
    ],
    ids=str,
)
def test_a_weight_is_as_many_rows(model, form):
    rows = FORMS[form]
    y = CLASSES if isinstance(model, LinearClassifier) else QUANTITIES
    weighted = clone(model).fit(rows, y, sample_weight=COUNTS)
    scores = weighted._scores(rows)
    assert weighted.n_seen_ == 60
    repeated = clone(model).fit(rows[REPEATED], y[REPEATED])
    np.testing.assert_array_equal(scores, repeated._scores(rows))
    assert repeated.n_seen_ == len(REPEATED)
    path = model.fit_path(rows, y, [0.1, 1.0], sample_weight=COUNTS).models
    again = model.fit_path(rows[REPEATED], y[REPEATED], [0.1, 1.0]).models
    for one, other in zip(path, again, strict=True):
        np.testing.assert_array_equal(one._scores(rows), other._scores(rows))


def test_several_targets():
    y = np.column_stack([QUANTITIES, -QUANTITIES])
    weighted = LinearRegressor().fit(X, y, sample_weight=COUNTS)
    repeated = LinearRegressor().fit(X[REPEATED], y[REPEATED])
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


@pytest.mark.parametrize("options", [{}, {"sparsity": 0.5}, {"class_weight": "balanced"}], ids=str)
def test_ternary_models(options):
    codes = SignProjection(64).fit(X - 0.5).encode(X - 0.5)
    for y in (CLASSES, CLASSES > 0):
        weighted = TernaryClassifier(**options).fit(codes, y, sample_weight=COUNTS)
        repeated = TernaryClassifier(**options).fit(codes[REPEATED], y[REPEATED])
        np.testing.assert_array_equal(
            weighted.decision_function(codes), repeated.decision_function(codes)
        )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("collide", [False, True])
def test_united_rows_are_those_of_a_counter(form, collide, monkeypatch):
    """The slow twin; fingerprints that collide do not make rows equal."""
    if collide:
        monkeypatch.setattr(
            equal_rows, "row_fingerprints", lambda X, stream=0: np.zeros(X.shape[0], np.uint64)
        )
        same = np.zeros(len(REPEATED), dtype=int)
    else:
        same = CLASSES[REPEATED]
    weight = RNG.integers(1, 3, len(REPEATED)).astype(float)
    rows = FORMS[form][REPEATED]
    values = rows.array if form == "codes" else rows.toarray() if form == "CSR" else rows
    expected = Counter()
    for row, label, count in zip(values.tolist(), same.tolist(), weight.tolist(), strict=True):
        expected[(*row, label)] += count
    # equal keys leave equal rows apart that do not come one after another: their sum is the same
    united = united_rows(rows, same, weight)
    found = Counter()
    for at, count in zip(united.rows.tolist(), united.weights.tolist(), strict=True):
        found[(*values[at].tolist(), int(same[at]))] += count
    assert found == expected
    assert collide or len(united.rows) == len(expected)
    np.testing.assert_array_equal(values[united.rows][united.new_index], values)


def test_large_problems_stay_as_they_are(monkeypatch):
    whole = LinearClassifier().fit(X, CLASSES, sample_weight=COUNTS)
    monkeypatch.setattr(equal_rows, "MOST_UNITED", 100)
    apart = LinearClassifier().fit(X, CLASSES, sample_weight=COUNTS)
    assert (whole.coef_ != apart.coef_).any()
    np.testing.assert_allclose(whole.coef_, apart.coef_, atol=0.1)
