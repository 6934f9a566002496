"""Scores of codes: those of the solver to the bit, and the plain inner products up to rounding."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from helpers import SIMD_NAMES

from kernelight import Codes, LinearClassifier, LinearRegressor, _core
from kernelight.base.checks import resources
from kernelight.linear import code_scores
from kernelight.linear.code_layout import code_layout
from kernelight.linear.code_scores import CodeScorer
from kernelight.linear.design import code_view, groups_of, packed_width


def solvers_scores(weights, seen, intercept, codes):
    """As the solver computes margins, from a view of the codes."""
    out = np.empty((len(codes), weights.shape[1]))
    for outputs in groups_of(weights.shape[1]):
        width, which = packed_width(len(outputs)), slice(outputs.start, outputs.stop)
        layout = code_layout(seen, width, 4)
        table = np.zeros((layout.n_entries, width), dtype=np.float32)
        table[layout.places(seen), : len(outputs)] = weights[:, which]
        margins = np.empty((len(codes), width), dtype=np.float32)
        view = code_view(codes, layout, np.float32, resources(1))
        view.margins(table, np.zeros(width, np.float32), margins, 0, len(codes), 1)
        out[:, which] = margins[:, : len(outputs)] + intercept[which]
    return out


@pytest.mark.parametrize("simd", SIMD_NAMES)
@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize(("bits", "k"), [(1, 70), (4, 1), (8, 300), (12, 37)])
@pytest.mark.parametrize("n_outputs", [1, 3, 7, 10, 17])
def test_scores_are_those_of_the_solver(n_outputs, bits, k, direct, simd, monkeypatch):
    monkeypatch.setenv("KERNELIGHT_SIMD", simd)
    monkeypatch.setattr(code_scores, "DIRECT_BYTES", (1 << 40) if direct else 0)
    rng = np.random.default_rng(bits)
    codes = Codes(rng.integers(0, 1 << bits, size=(131, k)), bits, empty=np.arange(131) % 13 == 4)
    seen = rng.random((k, 1 << bits)) < 0.6
    seen[0] = False  # a slot whose codes never occurred
    weights = rng.normal(size=(int(seen.sum()), n_outputs)).astype(np.float32)
    intercept = rng.normal(size=n_outputs)
    scorer, out = CodeScorer(weights, None, seen), np.empty((131, n_outputs))
    scorer.scores(codes, intercept, out, resources(1))
    np.testing.assert_array_equal(out, solvers_scores(weights, seen, intercept, codes))
    full = np.zeros((seen.size, n_outputs))
    full[seen.reshape(-1)] = weights
    np.testing.assert_allclose(out, codes.to_csr() @ full + intercept, rtol=1e-4, atol=1e-4)
    for rows in (slice(0, 1), slice(4, 5), slice(60, 70)):
        some = np.empty((len(codes[rows]), n_outputs))
        scorer.scores(codes[rows], intercept, some, resources(1))
        np.testing.assert_array_equal(some, out[rows])


def test_scores_do_not_depend_on_threads():
    rng = np.random.default_rng(1)
    codes = Codes(rng.integers(0, 256, size=(3000, 1024)), 8)
    seen = np.ones((1024, 256), dtype=bool)
    scorer = CodeScorer(rng.normal(size=(seen.size, 1)).astype(np.float32), None, seen)
    one, three = np.empty((2, 3000, 1))
    scorer.scores(codes, np.zeros(1), one, resources(1))
    scorer.scores(codes, np.zeros(1), three, resources(3))
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("model", [LinearClassifier(), LinearRegressor()])
def test_weights_that_change_are_prepared_again(model):
    """By partial_fit, and by an assignment; a pickle has no cache, and gives the same scores."""
    rng = np.random.default_rng(2)
    codes = Codes(rng.integers(0, 16, size=(200, 20)), 4)
    y = rng.integers(0, 2, size=200)
    model.fit(codes[:100], y[:100])
    first = model.predict(codes), model._scores(codes)
    model.partial_fit(codes[100:], y[100:])
    again = pickle.loads(pickle.dumps(model))
    assert "_tables" not in again.__dict__
    assert not np.array_equal(model._scores(codes), first[1])
    np.testing.assert_array_equal(model._scores(codes), again._scores(codes))
    model.weights_ = -model.weights_
    expected = 2 * model.intercept_ - again._scores(codes)
    np.testing.assert_allclose(model._scores(codes), expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("model", [LinearClassifier(), LinearRegressor()])
def test_weights_cannot_change_unnoticed(model):
    """Those of codes are read-only, assigned and unpickled ones too; others may change."""
    rng = np.random.default_rng(3)
    codes, y = Codes(rng.integers(0, 16, size=(100, 20)), 4), rng.integers(0, 2, size=100)
    model.fit(codes, y)
    for array in (model.weights_, model.coef_, model.intercept_):
        with pytest.raises(ValueError, match="read-only"):
            array *= 2
    mine = 2 * model.weights_
    for changed in (model, pickle.loads(pickle.dumps(model))):
        changed.weights_ = mine
        scores = changed._scores(codes)
        with pytest.raises(ValueError, match="read-only"):
            changed.weights_[:] = 0
        np.testing.assert_array_equal(changed._scores(codes), scores)
    mine[:] = 0  # the user's array is the user's
    np.testing.assert_array_equal(model._scores(codes), scores)
    X = rng.normal(size=(100, 3))
    model.fit(X, y)
    before = model._scores(X) - model.intercept_
    model.weights_[:] *= 2
    np.testing.assert_allclose(model._scores(X) - model.intercept_, 2 * before)


def test_weights_that_do_not_fit_their_layout_are_refused():
    layout = code_layout(np.ones((4, 16), dtype=bool), 1, 4)
    edges = layout.segment_slot, layout.segment_entry, layout.part_segment
    table = np.zeros((64, 1), dtype=np.float32)
    made = _core.CodeWeights(4, layout.local, *edges, table)
    with pytest.raises(ValueError, match="one row an entry"):
        _core.CodeWeights(4, layout.local, *edges, table[:60])
    with pytest.raises(ValueError, match="2\\^bits entries"):
        _core.CodeWeights(4, layout.local[:60], *edges, table)
    with pytest.raises(ValueError, match="fit together"):
        _core.CodeWeights(4, layout.local + np.uint16(1), *edges, table)
    with pytest.raises(ValueError, match="1, 4, 8 or 16"):
        _core.CodeWeights(4, layout.local, *edges, np.zeros((64, 3), dtype=np.float32))
    codes, out = np.zeros((2, 4), dtype=np.uint8), np.zeros((2, 1), dtype=np.float32)
    with pytest.raises(ValueError, match="slots and outputs"):
        made.scores(codes[:, :3].copy(), None, out, 1, 0)
    with pytest.raises(ValueError, match="type of their bits"):
        made.scores(codes.astype(np.uint16), None, out, 1, 0)
