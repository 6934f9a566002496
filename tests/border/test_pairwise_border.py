"""The compiled pair sums refuse wrong arrays, and keep to their memory.

Otherwise they would read outside of them.
"""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from kernelight import _core
from kernelight.kernels import GMM, RBF, AcosChi2, Gaussian, MinMax, pairs
from kernelight.kernels.pairs import CHI2, DOT, MINMAX, OVERLAP

REFUSED = (TypeError, ValueError)


def dense(x=None, y=None, out=None, form=MINMAX, symmetric=False, threads=1, simd=2):
    x = np.ones((3, 4)) if x is None else x
    y = np.ones((2, 4)) if y is None else y
    out = np.empty((3, 2)) if out is None else out
    _core.pair_sums_dense(x, y, out, form, symmetric, threads, simd)
    return out


def test_dense_answer_and_odd_settings():
    np.testing.assert_array_equal(dense(), 1)
    for simd in (-5, 0, 1, 2, 99):
        for threads in (-1, 0, 1, 100):
            np.testing.assert_array_equal(dense(simd=simd, threads=threads), 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"x": np.ones((3, 4), "f4")},
        {"x": np.ones((3, 4), int)},
        {"x": np.asfortranarray(np.ones((3, 4)))},
        {"x": np.ones((3, 8))[:, ::2]},
        {"x": np.ones(12)},
        {"x": np.ones((3, 5))},
        {"x": np.ones((3, 4), ">f8")},
        {"x": [[1.0] * 4] * 3},
        {"y": np.ones((2, 3))},
        {"y": None, "out": np.zeros((2, 3))},
        {"out": np.zeros((3, 2), "f4")},
        {"out": np.asfortranarray(np.zeros((3, 2)))},
        {"out": np.zeros(6)},
        {"out": np.broadcast_to(np.zeros(2), (3, 2))},
        {"form": -1},
        {"form": 4},
        {"form": DOT},
        {"form": "minmax"},
        {"symmetric": True},
    ],
    ids=lambda wrong: ",".join(wrong),
)
def test_dense_refuses(wrong):
    with pytest.raises(REFUSED):
        dense(**wrong)


def test_read_only_output_is_refused():
    out = np.zeros((3, 2))
    out.flags.writeable = False
    with pytest.raises(REFUSED):
        dense(out=out)


def sparse(**changes):
    """Two rows by three columns against three rows of the same width."""
    arguments = {
        "x_values": np.array([1.0, 2.0, 3.0]),
        "x_indices": np.array([0, 2, 1], np.int32),
        "x_indptr": np.array([0, 2, 3], np.int32),
        "y_values": np.array([1.0, 2.0, 3.0]),
        "y_rows": np.array([0, 2, 1], np.int32),
        "y_indptr": np.array([0, 1, 3, 3], np.int32),
        "out": np.zeros((2, 3)),
        "form": MINMAX,
        "threads": 1,
        "simd": 2,
    }
    arguments.update(changes)
    _core.pair_sums_sparse(**arguments)
    return arguments["out"]


def test_sparse_answer():
    np.testing.assert_allclose(sparse(), [[1 / 3, 0, 0], [0, 1, 2 / 3]])


@pytest.mark.parametrize(
    "wrong",
    [
        {"x_values": np.ones(2)},
        {"x_values": np.ones(3, "f4")},
        {"x_indices": np.array([0, 2, 1])},
        {"x_indices": np.array([0, 3, 1], np.int32)},
        {"x_indices": np.array([0, -1, 1], np.int32)},
        {"x_indptr": np.array([0, 2, 4], np.int32)},
        {"x_indptr": np.array([1, 2, 3], np.int32)},
        {"x_indptr": np.array([0, 5, 3], np.int32)},
        {"x_indptr": np.array([], np.int32)},
        {"y_rows": np.array([0, 3, 1], np.int32)},
        {"y_rows": np.array([0, -2, 1], np.int32)},
        {"y_indptr": np.array([0, 1, 3], np.int32)},
        {"y_indptr": np.array([0, 2, 1, 3], np.int32)},
        {"y_indptr": np.array([], np.int32)},
        {"out": np.zeros((3, 3))},
        {"out": np.zeros((2, 2))},
        {"out": np.zeros((2, 3), "f4")},
        {"form": 7},
    ],
    ids=lambda wrong: ",".join(wrong),
)
def test_sparse_refuses(wrong):
    with pytest.raises(REFUSED):
        sparse(**wrong)


@pytest.mark.parametrize("form", [MINMAX, OVERLAP, CHI2])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_arrays(form, shape):
    out = np.full((shape[0], 2), 7.0)
    dense(np.empty(shape), np.empty((2, shape[1])), out, form)
    np.testing.assert_array_equal(out, 0)


@pytest.mark.parametrize(
    "kernel", [GMM(), GMM(p=2.0), MinMax(), AcosChi2(), RBF(), Gaussian()], ids=repr
)
def test_wide_sparse_rows_are_never_made_dense(kernel):
    """40 rows of a million columns would be 320 MB dense, or 8 MB of empty lists.

    One row alone is 8 MB.
    """
    rng = np.random.default_rng(0)
    places = np.sort(rng.integers(0, 1_000_000, (40, 30)), axis=1)
    X = sp.csr_array(
        (rng.random(1200), places.ravel(), np.arange(0, 1201, 30)), shape=(40, 1_000_000)
    )
    kernel(X, X.copy())
    tracemalloc.start()
    kernel(X, X.copy())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


def test_enormous_width():
    """Hashed features: the width is a number, not a size."""
    # only the first row has the middle one
    columns = np.array([5, 2**20, 2**40, 5, 2**40], np.int64)
    X = sp.csr_array(
        (np.array([1.0, 3.0, 2.0, 1.0, 5.0]), columns, np.array([0, 3, 5])), shape=(2, 2**62)
    )
    np.testing.assert_allclose(GMM()(X), [[1, 1 / 3], [1 / 3, 1]])
    np.testing.assert_allclose(GMM()(X, X[1:].copy()), [[1 / 3], [1]])
    np.testing.assert_allclose(GMM()(X[1:].copy(), X), [[1 / 3, 1]])


def test_full_sparse_rows_take_the_dense_way(monkeypatch):
    """Lists of features would be slow for full rows; small blocks are used to cross their edges."""
    monkeypatch.setattr(pairs, "_BLOCK_BYTES", 1000)
    monkeypatch.setattr(pairs, "_sparse", None)
    rng = np.random.default_rng(0)
    X, Y = rng.random((30, 50)), rng.random((20, 50))
    np.testing.assert_allclose(GMM()(sp.csr_array(X), Y), GMM()(X, Y), rtol=1e-13)
    np.testing.assert_allclose(GMM()(X, sp.csr_array(Y)), GMM()(X, Y), rtol=1e-13)
    np.testing.assert_allclose(GMM()(sp.csr_array(X), sp.csr_array(Y)), GMM()(X, Y), rtol=1e-13)
    np.testing.assert_allclose(GMM()(sp.csr_array(X)), GMM()(X), rtol=1e-13)
