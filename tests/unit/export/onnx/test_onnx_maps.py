"""Maps in onnxruntime: codes equal to the bit, features to rounding."""

from __future__ import annotations

import numpy as np
import pytest
from running import N_ROWS, checked, codes_of, outputs, run_onnx, to_onnx

from kernelight import (
    GCWS,
    AlignedFourier,
    BinaryFourier,
    ColumnScaler,
    IntegerFourier,
    KernelNystroem,
    RandomFourier,
    SignProjection,
)
from kernelight.kernels import GMM, NGMM, RBF, ExpGMM, Gaussian, Linear, MinMax
from kernelight.maps.projections.projection import Dense

TYPES = ("float32", "float64")
PROJECTIONS = ("gaussian", "orthogonal", "sorf", "fastfood")


def rows_of(width, seed=0, count=N_ROWS):
    """Rows of both signs with some zeros; two are all zeros, and some are whole numbers."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((count, width)) * rng.choice([0.0, 1.0, 3.0], (count, width))
    X[5] = X[6] = 0
    X[7:200] = np.round(X[7:200])
    return X


def assert_same_codes(feature_map, X, rows):
    X = X.astype(rows)
    made = outputs(to_onnx(feature_map, rows=rows), X)["codes"]
    assert made.dtype == np.int32
    np.testing.assert_array_equal(made, codes_of(feature_map, X))


@pytest.mark.parametrize("rows", TYPES)
@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("threshold", [True, False])
def test_binary_fourier(projection, threshold, rows):
    X = rows_of(20)
    binary = BinaryFourier(500, projection=projection, threshold=threshold).fit(X)
    assert_same_codes(binary, X, rows)
    assert_same_codes(binary.keep(np.arange(3, 450, 7)), X, rows)


@pytest.mark.parametrize("rows", TYPES)
@pytest.mark.parametrize("projection", PROJECTIONS)
def test_sign_projection(projection, rows):
    X = rows_of(20)
    signs = SignProjection(500, projection=projection).fit(X)
    assert_same_codes(signs, X, rows)
    assert_same_codes(signs.keep([1, 2, 77, 401]), X, rows)
    # beyond what single precision could square, and where it loses digits
    assert_same_codes(signs, X * 1e30, rows)
    assert_same_codes(signs, X * 1e-42, rows)


@pytest.mark.parametrize("rows", TYPES)
@pytest.mark.parametrize(("width", "n_components"), [(1, 1), (20, 500), (65, 7), (300, 600)])
def test_integer_fourier(width, n_components, rows):
    """Whole numbers are equal, and so the features."""
    X = rows_of(width, count=400).astype(rows)
    for sigma in (0.01, 3.0, 1e6):
        fourier = IntegerFourier(n_components, sigma=sigma).fit(X)
        made = outputs(to_onnx(fourier, rows=rows), X)["variable"]
        np.testing.assert_array_equal(made, fourier.transform(X))


@pytest.mark.parametrize("rows", TYPES)
def test_cauchy_projections(rows):
    X = np.abs(rows_of(12))
    assert_same_codes(SignProjection(300, distribution="cauchy").fit(X), X, rows)


@pytest.mark.parametrize("width", [1, 2, 64, 65, 300, 1100])
def test_widths_of_structured_projections(width):
    X = rows_of(width, count=300)
    for projection in ("sorf", "fastfood"):
        for n_components in (10, 2 * width + 70):
            binary = BinaryFourier(n_components, sigma=3.0, projection=projection).fit(X)
            assert_same_codes(binary, X, "float32")
    assert_same_codes(SignProjection(70, projection="sorf").fit(X), X, "float32")


@pytest.mark.parametrize("projection", ["gaussian", "orthogonal"])
def test_sums_are_made_in_their_order_where_a_bit_depends_on_it(projection):
    """Rows whose projections are 0 up to rounding: a matrix product gives other signs."""
    X = rows_of(40)
    signs = SignProjection(100, projection=projection).fit(X)
    assert isinstance(signs._projection, Dense)
    w = signs._projection.directions(_one_thread()).astype(np.float64)
    at = np.arange(N_ROWS) % 100
    edge = X.copy()
    for _ in range(2):
        edge -= (np.einsum("ij,ji->i", edge, w[:, at]) / np.square(w[:, at]).sum(axis=0))[
            :, None
        ] * w[:, at].T
    edge = edge.astype(np.float32)
    product = edge @ w.astype(np.float32) >= 0
    expected = codes_of(signs, edge)
    filled = (edge != 0).any(axis=1)
    assert (product[filled] != expected[filled]).sum() > 50  # it is a test at all
    assert_same_codes(signs, edge, "float32")


@pytest.mark.parametrize("threshold", [True, False])
def test_bits_of_dense_projections_at_their_edges(threshold):
    X = rows_of(30)
    binary = BinaryFourier(100, sigma=2.0, projection="gaussian", threshold=threshold).fit(X)
    w = binary._projection.directions(_one_thread()).astype(np.float64) / (2 * np.pi * 2.0)
    at = np.arange(N_ROWS) % 100
    phase, level = _phases_and_levels(binary, 100)
    # moved along w_j, so that the cosine of j is -t
    y = np.einsum("ij,ji->i", X, w[:, at]) + phase[at]
    away = np.round(y) + np.arccos(-level[at]) / (2 * np.pi) - y
    edge = X + (away / np.square(w[:, at]).sum(axis=0))[:, None] * w[:, at].T
    assert_same_codes(binary, edge, "float32")
    assert_same_codes(binary, edge, "float64")


def _one_thread():
    from kernelight.base.checks import resources

    return resources(1)


def _phases_and_levels(binary, count):
    from kernelight import _core

    phase, level = np.zeros((2, count), dtype=np.float32)
    _core.fill_phases(binary.seed_, phase)
    if binary.threshold:
        _core.fill_thresholds(binary.seed_, level)
    return phase.astype(np.float64), level.astype(np.float64)


SCHEMES = [
    {},
    {"p": 0.5},
    {"t_bits": 0},
    {"t_bits": 2},
    {"t_bits": 0, "coding": "lowest"},
    {"normalize": "l1"},
    {"center": tuple(np.linspace(-1, 1, 20))},
    {"gamma": 2.0},
    {"gamma": 0.01},
    {"bits": 16},
    {"bits": 1},
]


@pytest.mark.parametrize("rows", TYPES)
@pytest.mark.parametrize("options", SCHEMES, ids=str)
@pytest.mark.parametrize("n_components", [40, 300])
def test_gcws(options, n_components, rows):
    X = rows_of(20, count=500)
    gcws = GCWS(n_components, sampler="cws", **options).fit(X)
    assert_same_codes(gcws, X, rows)


def test_gcws_of_scaled_rows_has_tables_of_one_sign():
    X = rows_of(20)
    scaler = ColumnScaler("minmax").fit(X)
    gcws = GCWS(100, sampler="cws").fit(scaler.transform(X))
    from sklearn.pipeline import make_pipeline

    single = make_pipeline(scaler, gcws)
    rows = X.astype(np.float32)
    made = run_onnx(checked(to_onnx(single)), rows)["codes"]
    np.testing.assert_array_equal(made, codes_of(gcws, scaler.transform(rows)))
    assert to_onnx(single).ByteSize() < 0.6 * to_onnx(gcws).ByteSize()


def test_batches_of_gcws_need_no_memory_of_their_own():
    """Rows go one by one: as (n, d, k) tensors these would be 5 GB each."""
    X = np.abs(rows_of(256, count=5000))
    gcws = GCWS(1024, sampler="cws").fit(X[:10])
    made = run_onnx(to_onnx(gcws), X)["codes"]
    np.testing.assert_array_equal(made[::100], codes_of(gcws, X.astype(np.float32))[::100])


FOURIER = [
    *({"projection": each, "metric": "euclidean"} for each in (*PROJECTIONS, "sobol")),
    {},
    {"projection": "sorf"},
    {"features": "phase"},
    {"features": "phase", "normalize": False},
    {"features": "folded"},
    {"n_components": 101},
    {"n_components": 1, "metric": "euclidean"},
]


@pytest.mark.parametrize("rows", TYPES)
@pytest.mark.parametrize("options", FOURIER, ids=str)
def test_random_fourier(options, rows):
    X = rows_of(20)
    fourier = RandomFourier(**{"n_components": 100, **options}).fit(X)
    assert_close_features(fourier, X, rows)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_aligned_fourier(metric):
    X = rows_of(10)
    aligned = AlignedFourier(60, metric=metric).fit(X, X[:, 0] > 0)
    assert_close_features(aligned, X, "float32")


def assert_close_features(feature_map, X, rows, close=2e-6):
    X = X.astype(rows)
    made = outputs(to_onnx(feature_map, rows=rows), X)["variable"]
    expected = feature_map.transform(X)
    assert made.dtype == expected.dtype
    assert made.shape == expected.shape
    np.testing.assert_allclose(made, expected, atol=close)


KERNELS = [
    GMM(),
    GMM(p=0.5),
    GMM(p=2.0, center=tuple(np.linspace(-1, 1, 20))),
    ExpGMM(gamma=3.0),
    ExpGMM(gamma=3.0, p=0.5),
    NGMM(),
    MinMax(),
    RBF(gamma=2.0),
    Gaussian(sigma=4.0),
    Linear(),
]


@pytest.mark.parametrize("rows", TYPES)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernel_nystroem(kernel, rows):
    """Landmarks hold a row of zeros, and one twice."""
    X = rows_of(20)
    X = np.abs(X) if isinstance(kernel, MinMax) else X
    nystroem = KernelNystroem(kernel, landmarks=X[[*range(40), 3]]).fit(X)
    assert_close_features(nystroem, X, rows, close=1e-5)


SCALINGS = (
    *("none", "minmax", "quantile", "standard", "max"),
    *("minmax+complement", "quantile+complement"),
)


@pytest.mark.parametrize("rows", TYPES)
@pytest.mark.parametrize("scale", SCALINGS)
@pytest.mark.parametrize("weighted", [False, True])
def test_scalings_are_equal(scale, weighted, rows):
    """Of columns that repeat values, hold one value, or are huge; and of rows far outside."""
    X = rows_of(8)
    X[:, 1], X[:, 2], X[:, 3] = 4.5, np.round(X[:, 2]), X[:, 3] * 1e20
    weights = np.linspace(0, 2, 8) if weighted else None
    scaler = ColumnScaler(scale, weights=weights).fit(X)
    later = np.concatenate([X, 10 * X, X + 0.1, np.nextafter(X, 1)]).astype(rows)
    made = outputs(to_onnx(scaler, rows=rows), later)["variable"]
    np.testing.assert_array_equal(made, scaler.transform(later))
    assert made.dtype == rows
