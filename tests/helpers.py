"""What several test files share: rows that are hard to hash, every storage of one matrix,
directions of projections."""

from __future__ import annotations

import os

import numpy as np
import pytest
import scipy.sparse as sp

from kernelight import _core
from kernelight.base.checks import resources
from kernelight.maps.projections.projection import TURN, projection_of
from kernelight.maps.projections.readouts import FIXED, FourierReadout, RowRule

nightly = pytest.mark.nightly  # what `make test-all` runs and `make test` does not
SIMD_NAMES = ("baseline", "avx2", "avx512")[: _core.best_simd_level() + 1]


def rounds(count):
    """``count`` random trials, times the factor KERNELIGHT_ROUNDS of the environment.

    Tests that ask for it are marked ``rounds``: `make release-check` runs them with a factor.
    """
    return max(1, round(count * float(os.environ.get("KERNELIGHT_ROUNDS", "1"))))


def sampled(values, *always):
    """The parameters ``values``: those in ``always`` are tried always, the others nightly."""
    values = list(values)
    assert set(always) <= set(values)
    return [value if value in always else pytest.param(value, marks=nightly) for value in values]


# 100 random seeds always and 300 nightly, for tests that take ``seeds``.
few_and_many_seeds = pytest.mark.parametrize(
    "seeds", [100, pytest.param(rounds(300), marks=[nightly, pytest.mark.rounds])]
)


def frozen(array):
    """``array`` as an array nobody can write to: a function that writes to its input fails at
    once."""
    array = np.array(array)
    array.flags.writeable = False
    return array


def sentence(words):
    """A pattern: one line that ends like a sentence and has these words."""
    return rf"(?s)^(?!.*\n)(?=.*{words}).*\.$"


def signed_rows(seed, n, d, *, density=1.0, sigma=1.0, dtype=np.float64):
    """Rows of log-normal magnitudes (``sigma`` that of the logarithm) with random signs and some
    zeros."""
    rng = np.random.default_rng(seed)
    rows = (
        rng.lognormal(0.0, sigma, (n, d))
        * rng.choice([-1.0, 1.0], (n, d))
        * (rng.random((n, d)) < density)
    )
    return frozen(rows.astype(dtype))


def uneven_rows(seed, n, d, *, sigma=2.0):
    """Rows whose sums are log-normal themselves, so that they fall into many powers of two."""
    rng = np.random.default_rng(seed)
    return frozen(signed_rows(seed + 1, n, d) * rng.lognormal(0.0, sigma, (n, 1)))


def storages(X):
    """The matrix ``X`` (float32-representable) as every kind of container that must give the same
    codes."""
    n, d = X.shape
    apart = np.zeros((2 * n, 3 * d))
    apart[::2, ::3] = X
    backwards = X[::-1, ::-1].copy()
    ragged = sp.csr_matrix(X)
    unsorted = sp.csr_matrix((n, d), dtype=np.float64)
    spans = zip(ragged.indptr[:-1], ragged.indptr[1:], strict=True)
    order = np.concatenate([np.arange(begin, end)[::-1] for begin, end in spans])
    unsorted.data, unsorted.indices = ragged.data[order], ragged.indices[order]
    unsorted.indptr = ragged.indptr
    halves = sp.coo_matrix(X)
    return {
        "float32": X.astype(np.float32),
        "Fortran": np.asfortranarray(X),
        "strided": apart[::2, ::3],
        "backwards": backwards[::-1, ::-1],
        "big-endian": X.astype(">f8"),
        "list": X.tolist(),
        "csr_matrix": ragged,
        "csr_array": sp.csr_array(X),
        "csr float32": ragged.astype(np.float32),
        "csr int64": int64_indices(ragged),
        "csr unsorted": unsorted,
        "csr explicit zeros": explicit_zeros(X),
        "csc": sp.csc_matrix(X),
        "csc_array": sp.csc_array(X),
        "coo with halves": sp.coo_matrix(
            (np.tile(halves.data / 2, 2), (np.tile(halves.row, 2), np.tile(halves.col, 2))),
            shape=X.shape,
        ),
    }


def int64_indices(X):
    made = X.copy()
    made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


def explicit_zeros(X):
    """A CSR matrix that stores every entry of ``X``, zeros too."""
    n, d = X.shape
    return sp.csr_matrix((X.ravel(), np.tile(np.arange(d), n), np.arange(n + 1) * d), shape=X.shape)


def assert_same_codes(found, wanted, message=""):
    np.testing.assert_array_equal(found.array, wanted.array, err_msg=message)
    np.testing.assert_array_equal(found.empty, wanted.empty, err_msg=message)
    assert found.provenance == wanted.provenance, message


def directions(kind, n_features, n_outputs, seed=0):
    """The w_j of a projection as rows of an (n_outputs, n_features) matrix, by projecting the unit
    vectors.

    What is projected is read as a sine, which is linear where the factor is small.
    """
    small = 1e-4
    projection = projection_of(kind, n_features, n_outputs, seed, small / TURN)
    sines = FourierReadout(pairs=True, amplitude=1.0, shift=np.zeros(0, dtype=np.float32))
    features, _ = projection.read(np.eye(n_features), RowRule(FIXED), sines, resources(1))
    return features[:, 1::2].T.astype(np.float64) / small


def circles(n_rows, *, seed=0, classes=2):
    """Points in the plane; the class is the ring they lie in."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_rows, 2))
    rings = np.minimum((np.hypot(*X.T) * classes).astype(int), classes - 1)
    return X, rings


def some_cell(candidate):
    """A cell of a study with ordinary values."""
    from kernelight.study import Cell

    return Cell(
        candidate=candidate,
        k=64,
        rows=100,
        reference=False,
        settings={"scale": "minmax"},
        C=1.0,
        score=0.9,
        standard_error=0.01,
        fit_seconds=0.1,
        n_bytes=100,
        folds=1,
        seconds=0.5,
        test=0.9,
        low=0.8,
        high=1.0,
        rows_per_second=1e5,
    )
