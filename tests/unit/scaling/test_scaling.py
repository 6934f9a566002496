"""Scalings: values, constant columns, values never seen, damaged states, scikit-learn's numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import scaling_twin
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from kernelight import GCWS, Codes, ColumnScaler, ProductMap, RandomFourier, State, load
from kernelight.maps import scaled_map
from kernelight.maps.scaled_map import ScaledMap
from kernelight.scaling import (
    MAX_KNOTS,
    SCALING_NAMES,
    SPARSE_SCALING_NAMES,
    Scaling,
    are_histograms,
    fit_scaling,
    suitable_scalings,
)

SCALED_MAPS = [GCWS(8, bits=4), RandomFourier(8), ProductMap(GCWS(8), RandomFourier(16))]


def fitted(name, X):
    return fit_scaling(name, np.asarray(X, dtype=float), np.random.default_rng(0))


COLUMN = [[2.0], [4.0], [4.0], [10.0]]


@pytest.mark.parametrize(
    ("name", "row", "wanted"),
    [
        ("none", 7.0, [7.0]),
        ("minmax", 4.0, [0.25]),
        ("minmax", 0.0, [0.0]),
        ("minmax", 18.0, [2.0]),
        ("minmax+complement", 4.0, [0.25, 0.75]),
        ("minmax+complement", 0.0, [0.0, 1.25]),
        ("minmax+complement", 18.0, [2.0, 0.0]),
        ("quantile", 2.0, [0.0]),
        ("quantile", 4.0, [1 / 3]),
        ("quantile", 7.0, [2 / 3]),
        ("quantile", 99.0, [1.0]),
        ("quantile+complement", 7.0, [2 / 3, 1 / 3]),
        ("standard", 5.0, [0.0]),
        ("standard", 8.0, [1.0]),
        ("max", -5.0, [-0.5]),
    ],
)
def test_values(name, row, wanted):
    np.testing.assert_allclose(fitted(name, COLUMN)(np.array([[row]])), [wanted])


@pytest.mark.parametrize("name", SCALING_NAMES)
def test_precision_width_and_the_callers_rows_are_kept(name):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 5)).astype(np.float32)
    X.flags.writeable = False
    scaling = fit_scaling(name, X, rng)
    scaled = scaling(X)
    assert scaled.dtype == np.float32
    assert scaled.shape == (30, scaling.n_features_out)
    assert scaled.flags.c_contiguous


@pytest.mark.parametrize("name", [name for name in SCALING_NAMES if name not in ("none", "max")])
def test_a_constant_column_says_nothing(name):
    X = np.column_stack([np.full(10, 0.1), np.arange(10.0)])
    later = np.array([[0.1, 3.0], [55.0, 3.0]])
    scaled = fitted(name, X)(later)
    assert not scaled[:, 0].any()
    if name.endswith("complement"):
        assert not scaled[:, 2].any()
    np.testing.assert_array_equal(scaled[0], scaled[1])


@pytest.mark.parametrize("name", SCALING_NAMES)
@pytest.mark.parametrize(
    "X", [[[3.0, 0.0]], [[0.0], [0.0]], [[1e308], [-1e308], [1e-308]], [[1.0], [1.0 + 2**-52]]]
)
def test_odd_columns_stay_finite(name, X):
    scaled = fitted(name, X)(np.array([[1e308] * len(X[0]), [-1e308] * len(X[0])]))
    assert np.isfinite(scaled).all()


PEERS = {"minmax": MinMaxScaler, "standard": StandardScaler, "max": MaxAbsScaler}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PEERS)
def test_training_rows_are_scaled_as_by_scikit_learn(name, dtype):
    rng = np.random.default_rng(3)
    X = (rng.standard_normal((200, 4)) * [1, 1e-3, 1e3, 0] + [0, 5, -20, 7]).astype(dtype)
    X[:, 3] = 0 if name == "max" else 7  # a constant column
    # single precision is scaled in double precision here, and not there
    scaled, peer = ColumnScaler(name).fit_transform(X), PEERS[name]().fit_transform(X.astype(float))
    tolerance = 1e-12 if dtype == np.float64 else 1e-6
    np.testing.assert_allclose(scaled, peer, rtol=tolerance, atol=tolerance)
    assert scaled.dtype == dtype


def test_sparse_training_rows_are_scaled_as_by_scikit_learn():
    X = sp.random(50, 8, density=0.2, format="csr", random_state=0) * -3.0
    scaler = ColumnScaler("max").fit(X)
    scaled, peer = scaler.transform(X), MaxAbsScaler().fit_transform(X)
    np.testing.assert_allclose(scaled.toarray(), peer.toarray(), rtol=1e-12)
    assert scaler.scaling_.n_bytes == 8 * 8


def test_quantiles_have_few_knots_and_keep_zeros():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(5000), np.where(rng.random(5000) < 0.8, 0, rng.random(5000))])
    scaling = fitted("quantile", X)
    assert np.diff(scaling.arrays["starts"]).max() <= MAX_KNOTS + 2
    scaled = scaling(X)
    np.testing.assert_array_equal(scaled[:, 1] == 0, X[:, 1] == 0)
    ranks = np.argsort(np.argsort(X[:, 0])) / 4999
    np.testing.assert_allclose(scaled[:, 0], ranks, atol=0.005)


def test_ranks_of_many_rows_are_learned_from_some_but_reach_the_ends():
    X = np.random.default_rng(0).random((25_000, 1))
    X[7] = 50.0
    scaled = fitted("quantile", X)(X)
    assert scaled[7] == scaled.max() == 1
    assert scaled.min() == 0


@pytest.mark.parametrize("name", SCALING_NAMES)
def test_sparse_rows_stay_sparse_or_are_refused(name):
    X = sp.random(20, 6, density=0.3, format="csr", random_state=0) * -3.0
    if name not in SPARSE_SCALING_NAMES:
        with pytest.raises(ValueError, match="use 'max' or None"):
            fit_scaling(name, X, np.random.default_rng(0))
        return
    scaled = fit_scaling(name, X, np.random.default_rng(0))(X)
    dense = fitted(name, X.toarray())(X.toarray())
    np.testing.assert_allclose(scaled.toarray(), dense)
    assert scaled.nnz == X.nnz


def test_histograms_are_left_alone():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, (40, 7)).astype(float)
    shares = counts / counts.sum(axis=1, keepdims=True)
    assert are_histograms(shares)
    assert are_histograms(shares.astype(np.float32))
    assert are_histograms(sp.csr_matrix(shares))
    assert are_histograms(rng.multinomial(50, [0.2] * 5, size=30).astype(float))
    assert not are_histograms(counts)
    assert not are_histograms(shares - 0.01)
    assert not are_histograms(np.ones((5, 1)))
    assert suitable_scalings(shares, nonnegative=False, fixed_width=False) == ("none",)


def test_suitable_scalings_suit_rows_and_kernel():
    X = np.array([[1.0, 2.0], [3.0, 9.0]])
    assert len(suitable_scalings(X, nonnegative=False, fixed_width=False)) == 6
    assert "standard" not in suitable_scalings(X, nonnegative=True, fixed_width=False)
    assert "none" not in suitable_scalings(-X, nonnegative=True, fixed_width=False)
    assert suitable_scalings(sp.csr_matrix(X), nonnegative=False, fixed_width=False) == (
        "max",
        "none",
    )
    assert suitable_scalings(sp.csr_matrix((3, 1 << 40)), nonnegative=False, fixed_width=False) == (
        "none",
    )
    assert suitable_scalings(X, nonnegative=False, fixed_width=True) == ("none",)


NUMBERS = np.array([1.0, 2.0])


@pytest.mark.parametrize(
    ("name", "arrays"),
    [
        ("other", {}),
        ("none", {"low": NUMBERS}),
        ("minmax", {}),
        ("minmax", {"low": NUMBERS, "span": -NUMBERS}),
        ("minmax", {"low": NUMBERS, "span": NUMBERS[:1]}),
        ("standard", {"mean": NUMBERS * np.nan, "deviation": NUMBERS}),
        ("max", {"peak": NUMBERS.astype(np.float32)}),
        ("quantile", {"knots": NUMBERS, "ranks": NUMBERS / 2, "starts": np.array([0, 1])}),
        ("quantile", {"knots": NUMBERS, "ranks": NUMBERS / 2, "starts": np.array([0, 2, 9])}),
        ("quantile", {"knots": NUMBERS[::-1], "ranks": NUMBERS / 2, "starts": np.array([0, 2, 2])}),
        ("quantile", {"knots": NUMBERS, "ranks": NUMBERS, "starts": np.array([0, 2, 2])}),
        ("none", {"weights": NUMBERS[:1]}),
        ("none", {"weights": -NUMBERS}),
        ("none", {"weights": np.zeros(2)}),
        ("minmax", {"low": NUMBERS, "span": NUMBERS, "weights": np.array([1.0, 2e6])}),
    ],
)
def test_hostile_descriptions_are_refused(name, arrays):
    with pytest.raises(ValueError, match=r"\w"):
        Scaling(name, 2, arrays)


@pytest.mark.parametrize("name", SCALING_NAMES)
def test_a_step_of_a_pipeline_does_what_the_scaling_does(name, tmp_path):
    X = np.random.default_rng(2).standard_normal((50, 3))
    scaler = ColumnScaler(name).fit(X)
    np.testing.assert_array_equal(scaler.transform(X), fitted(name, X)(X))
    assert len(scaler.get_feature_names_out()) == scaler.transform(X).shape[1]
    scaler.save(tmp_path / "scaler.kl")
    np.testing.assert_array_equal(load(tmp_path / "scaler.kl").transform(X), scaler.transform(X))


def test_weights_of_a_step_are_repetitions():
    X = np.random.default_rng(3).standard_normal((20, 2))
    weight = np.arange(20) % 4
    once = ColumnScaler("standard").fit(X, sample_weight=weight)
    often = ColumnScaler("standard").fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(once.transform(X), often.transform(X), rtol=1e-12)


@pytest.mark.parametrize("name", ["none", "minmax+complement"])
@pytest.mark.parametrize("feature_map", [*SCALED_MAPS, None], ids=repr)
def test_a_scaled_map_is_a_scaling_and_a_map(name, feature_map, monkeypatch):
    X = np.random.default_rng(4).random((60, 5))
    scaling = fitted(name, X)
    made = ScaledMap(scaling, None if feature_map is None else clone(feature_map).fit(scaling(X)))
    wanted = scaling(X)
    if feature_map is not None:
        wanted = (
            made.feature_map.encode(wanted)
            if made.has_codes
            else made.feature_map.transform(wanted)
        )
    for again in (made, ScaledMap.from_state(made.to_state())):
        same(again.encode(X), wanted)
    monkeypatch.setattr(scaled_map, "_FEWEST", 7)
    monkeypatch.setattr(scaled_map, "_BLOCK_VALUES", 70)
    same(made.encode(X), wanted)
    sizes = made.stream(X, lambda seen: np.full(seen.shape[0], seen.shape[0]))
    assert len(sizes) == 60
    assert sizes.max() <= 14
    assert (made.n_features, made.n_outputs) == (
        5,
        scaling.n_features_out if feature_map is None else feature_map.n_outputs,
    )


def test_a_map_of_another_width_is_refused():
    X = np.random.default_rng(5).random((6, 2))
    with pytest.raises(ValueError, match="another width than its scaling gives"):
        ScaledMap(fitted("minmax+complement", X), GCWS(4).fit(X))
    with pytest.raises(ValueError, match="does not describe a ScaledMap"):
        ScaledMap.from_state(
            State({"kind": "ScaledMap", "scaling": {"name": "minmax", "n_features": 2}})
        )


def same(encoded, wanted):
    """Codes to the bit, features to rounding."""
    if isinstance(wanted, Codes):
        assert encoded == wanted
    else:
        encoded, wanted = (
            each.toarray() if sp.issparse(each) else each for each in (encoded, wanted)
        )
        np.testing.assert_allclose(encoded, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", SCALING_NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1.0, 1e-300, 1e300])
def test_compiled_scaling_is_that_of_the_twin(name, dtype, size):
    """Equal to the bit: values of training, between, beyond and far beyond them."""
    rng = np.random.default_rng(3)
    with np.errstate(over="ignore"):
        seen = (rng.normal(size=(300, 7)) * size).clip(-np.finfo(dtype).max, np.finfo(dtype).max)
    seen = seen.astype(dtype)
    seen[:, 2] = 5  # constant
    seen[:, 3] = np.round(rng.normal(size=300))  # many equal values
    seen[:200, 4] = 0
    scaling = fit_scaling(name, seen, rng)
    later = np.vstack([seen, -seen, seen / 3, np.full((1, 7), np.finfo(dtype).max)])
    later = np.vstack([later, np.full((1, 7), -np.finfo(dtype).max), np.zeros((1, 7), dtype)])
    wanted = scaling_twin.scaled(name, scaling.arrays, later)
    for rows in (slice(None), slice(0, 1), slice(100, 165)):
        actual = scaling(np.ascontiguousarray(later[rows]))
        assert actual.dtype == dtype
        np.testing.assert_array_equal(actual, wanted[rows])
    again = pickle.loads(pickle.dumps(scaling))
    np.testing.assert_array_equal(again(later), wanted)
    weighted = scaling.weighted(np.array([1.0, 0.5, 0.0, 0.01, 0.37, 1.0, 0.9]))
    wanted = scaling_twin.scaled(name, weighted.arrays, later)
    np.testing.assert_array_equal(weighted(later), wanted)
    assert weighted(later).dtype == dtype
    np.testing.assert_array_equal(weighted.weighted(None)(later), scaling(later))


@pytest.mark.parametrize("name", SPARSE_SCALING_NAMES)
def test_weights_of_sparse_rows_are_those_of_dense_rows(name):
    X = sp.random(20, 6, density=0.3, format="csr", random_state=0) * -3.0
    scaling = fit_scaling(name, X, np.random.default_rng(0)).weighted(np.linspace(0, 1, 6))
    np.testing.assert_allclose(scaling(X).toarray(), scaling(X.toarray()), rtol=1e-12)
