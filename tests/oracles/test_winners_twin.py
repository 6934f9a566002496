"""Winners of slots equal the twin of docs/hash-spec.md; their codes are those of encode."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import signed_rows
from oracles import hash_twin

from kernelight import GCWS
from kernelight.maps.minmax import cws_sampler, dart_sampler

CENTER = [0.5, -1.25, 0.0, 3.0, 1e-3, 1.0, -7.0]
SCHEMES = [
    {"sampler": "cws"},
    {"sampler": "cws", "p": 2.0},
    {"sampler": "cws", "t_bits": 0, "coding": "lowest"},
    {"sampler": "cws", "normalize": "l1"},
    {"sampler": "cws", "center": CENTER},
    {"sampler": "cws", "gamma": 2.0},
    {"sampler": "cws", "gamma": 0.01},
    {"sampler": "dart"},
    {"sampler": "dart", "normalize": "l1"},
    {"sampler": "dart", "center": CENTER},
    {"sampler": "dart", "gamma": 2.0},
]
SLOTS = 40


def rows(dtype: str = "float64") -> np.ndarray:
    X = signed_rows(5, 30, 7, density=0.7).astype(dtype)
    X[2] = 0.0
    X[3] = 0.0
    X[3, 4] = -2.0
    X[4, 1] = X[4, 5] = 3.0
    X.setflags(write=False)
    return X


def twin_of(fitted: GCWS, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    options = {name: getattr(fitted, name) for name in ("gamma", "normalize", "center", "p")}
    return hash_twin.winners(
        X.astype(np.float64),
        fitted.n_components,
        sampler=fitted.sampler_,
        scale=fitted.scale_,
        seed=fitted.seed_,
        **options,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", SCHEMES, ids=str)
def test_winners_equal_the_twin(options, dtype):
    X = rows(dtype)
    fitted = GCWS(SLOTS, random_state=3, **options).fit(X)
    codes, winners = fitted.encode_with_winners(X)
    features, starts = twin_of(fitted, X)
    np.testing.assert_array_equal(winners.features, features)
    np.testing.assert_array_equal(winners.starts, starts)
    np.testing.assert_array_equal(codes.array, fitted.encode(X).array)
    np.testing.assert_array_equal(codes.empty, fitted.encode(X).empty)
    assert codes.provenance == fitted.encode(X).provenance


@pytest.mark.parametrize("options", SCHEMES, ids=str)
def test_sparse_rows_have_the_same_winners(options):
    if "center" in options:
        pytest.skip("a centre is for dense rows")
    X = rows()
    fitted = GCWS(SLOTS, random_state=3, **options).fit(X)
    for kind in (sp.csr_matrix, sp.csr_array):
        sparse = fitted.encode_with_winners(kind(X))[1]
        np.testing.assert_array_equal(sparse.features, fitted.encode_with_winners(X)[1].features)


@pytest.mark.parametrize("sampler", ["cws", "dart"])
def test_wide_rows_are_won_by_their_own_features(sampler):
    """Features beyond 2^31, which are renumbered on the way."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.choice(1 << 40, 60, replace=False)).reshape(5, 12)
    X = sp.csr_matrix(
        (rng.standard_normal(60), columns.ravel(), np.arange(0, 61, 12)), shape=(5, 1 << 40)
    )
    fitted = GCWS(SLOTS, sampler=sampler).fit(X)
    codes, winners = fitted.encode_with_winners(X)
    by_hand = [dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in X]
    expected, _ = hash_twin.winners(
        by_hand, SLOTS, sampler=sampler, scale=fitted.scale_, seed=fitted.seed_
    )
    np.testing.assert_array_equal(winners.features, expected)
    np.testing.assert_array_equal(codes.array, fitted.encode(X).array)


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param({"FEW_MEETINGS": 0}, id="tables in groups"),
        pytest.param({"FEW_MEETINGS": 1 << 30}, id="bounds"),
        pytest.param({"CALL_BYTES": 0, "MOST_REACH": -1}, id="streams"),
    ],
)
def test_every_way_gives_the_same_winners(limits, monkeypatch):
    X = rows()
    expected = GCWS(SLOTS, sampler="cws").fit(X).encode_with_winners(X)[1].features
    monkeypatch.setattr(cws_sampler, "KEPT_BYTES", 0)
    for name, value in limits.items():
        monkeypatch.setattr(cws_sampler, name, value)
    features = GCWS(SLOTS, sampler="cws").fit(X).encode_with_winners(X)[1].features
    np.testing.assert_array_equal(features, expected)


def test_darts_with_and_without_tables_give_the_same_winners(monkeypatch):
    X = np.abs(rows())
    built = GCWS(SLOTS, sampler="dart").fit(X)
    expected = built.encode_with_winners(np.repeat(X, 40, axis=0))[1].features[::40]
    assert built._sampler._levels, "there must be tables to compare with"
    monkeypatch.setattr(dart_sampler, "ALL_TABLES_BYTES", 0)
    plain = GCWS(SLOTS, sampler="dart").fit(X)
    np.testing.assert_array_equal(plain.encode_with_winners(X)[1].features, expected)
    assert not plain._sampler._levels
    # by weight, and values beyond the limits of a table
    monkeypatch.undo()
    monkeypatch.setattr(dart_sampler.DartSampler, "_by_rank", lambda self, level: False)
    by_weight = GCWS(SLOTS, sampler="dart").fit(X)
    by_weight.encode(np.repeat(X[:1], 400, axis=0))
    np.testing.assert_array_equal(by_weight.encode_with_winners(X)[1].features, expected)


@pytest.mark.parametrize("sampler", ["cws", "dart"])
def test_winners_do_not_depend_on_threads_or_batches(sampler):
    X = np.repeat(rows(), 5, axis=0)
    fitted = GCWS(SLOTS, sampler=sampler, n_jobs=1).fit(X)
    alone = np.concatenate(
        [fitted.encode_with_winners(X[at : at + 1])[1].features for at in range(150)]
    )
    for n_jobs in (1, 2):
        together = fitted.set_params(n_jobs=n_jobs).encode_with_winners(X)[1].features
        np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("sampler", ["cws", "dart"])
def test_features_win_as_often_as_they_weigh(sampler):
    """w_f / sum w, at five standard deviations."""
    X = np.array([[1.0, -2.0, 0.0, 5.0]])
    k = 20_000
    features = GCWS(k, sampler=sampler).fit(X).encode_with_winners(X)[1].features[0]
    expected = np.abs(X[0]) / np.abs(X[0]).sum()
    found = np.bincount(features, minlength=4) / k
    assert (np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / k)).all()


def test_no_rows_have_no_winners():
    fitted = GCWS(SLOTS).fit(rows())
    codes, winners = fitted.encode_with_winners(np.zeros((2, 7)))
    assert codes.empty.all()
    assert (winners.features == -1).all()
