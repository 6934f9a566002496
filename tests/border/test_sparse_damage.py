"""Damaged sparse matrices are refused wherever one can come in, before an index is followed.

A reference in plain Python says whether a mutated matrix is sound and which entries it has. `make
sanitize` runs this file, where a read or write outside of an array ends the process.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import sentence

from kernelight import (
    GCWS,
    KernelClassifier,
    KernelNystroem,
    LinearClassifier,
    SignProjection,
    hashing,
    open_dataset,
)
from kernelight.base.checks import as_matrix
from kernelight.data import DataError
from kernelight.kernels import GMM, Gaussian
from kernelight.study import compare
from kernelight.theory import zero_bit_bounds

SHAPE = (8, 6)
LABELS = np.arange(SHAPE[0]) % 2
FORMATS = ["csr", "csc", "bsr", "coo"]
NUMBERS = [-(2**31), -(10**8), -3, -1, 0, 1, 2, 5, 6, 7, 8, 9, 100, 2**30, 2**31 - 1]


def whole_matrix(form):
    rng = np.random.default_rng(3)
    X = (rng.integers(1, 9, SHAPE) * (rng.random(SHAPE) < 0.5)).astype(np.float64)
    return (
        sp.bsr_matrix(X, blocksize=(2, 3))
        if form == "bsr"
        else sp.csr_matrix(X).asformat(form, copy=True)
    )


def mutated(array, rng):
    """A copy of an array with a number changed, cut off, added, or all of them turned around."""
    array = array.copy()
    if not array.size:
        return np.zeros((1, *array.shape[1:]), array.dtype)
    kind = rng.integers(6)
    if kind == 0:
        array.flat[rng.integers(array.size)] = rng.choice(NUMBERS)
    elif kind == 1:
        for _ in range(3):
            array.flat[rng.integers(array.size)] = rng.choice(NUMBERS)
    elif kind == 2:
        return array[: rng.integers(len(array))]
    elif kind == 3:
        return np.concatenate([array, array[-1:]])
    elif kind == 4:
        return -array if rng.random() < 0.5 else array[::-1].copy()
    else:
        array[-1] = rng.choice([0, 0, -1, 1])
        array.flat[rng.integers(array.size)] = rng.choice(NUMBERS)
    return array


def mutants(form, count, seed=0):
    """Matrices with one or two arrays changed by assignment, which no constructor of scipy sees."""
    rng = np.random.default_rng(seed)
    names = ["row", "col", "data"] if form == "coo" else ["indptr", "indptr", "indices", "data"]
    for _ in range(count):
        X = whole_matrix(form)
        for name in rng.choice(names, rng.integers(1, 3)):
            array = mutated(getattr(X, name), rng)
            if form == "coo" and name != "data":
                X.coords = tuple(
                    array if name == at else of
                    for at, of in zip(("row", "col"), X.coords, strict=True)
                )
            else:
                setattr(X, name, array)
        yield X


def entries(X):
    """The entries (row, column, value) of a sparse matrix; None if its arrays are inconsistent."""
    n_rows, n_columns = X.shape
    if X.format == "coo":
        row, column = (places.tolist() for places in X.coords)
        if not len(row) == len(column) == len(X.data):
            return None
        stored = list(zip(row, column, X.data.tolist(), strict=True))
    else:
        indptr, indices, data = X.indptr.tolist(), X.indices.tolist(), X.data.tolist()
        height, breadth = X.data.shape[1:] if X.format == "bsr" else (1, 1)
        lines = n_columns if X.format == "csc" else n_rows // height
        if len(indptr) != lines + 1 or indptr[0] != 0 or len(indices) != len(data):
            return None
        if indptr != sorted(indptr) or indptr[-1] > len(indices):
            return None
        stored = []
        for line in range(lines):
            for at in range(indptr[line], indptr[line + 1]):
                if X.format == "csc":
                    stored.append((indices[at], line, data[at]))
                elif X.format == "csr":
                    stored.append((line, indices[at], data[at]))
                else:
                    stored += [
                        (line * height + i, indices[at] * breadth + j, data[at][i][j])
                        for i in range(height)
                        for j in range(breadth)
                    ]
    inside = all(0 <= row < n_rows and 0 <= column < n_columns for row, column, _ in stored)
    return stored if inside else None


def dense(stored):
    X = np.zeros(SHAPE)
    for row, column, value in stored:
        X[row, column] += value
    return X


@functools.cache
def damaged(form, count, seed=1):
    return [X for X in mutants(form, count, seed) if entries(X) is None]


@pytest.mark.parametrize("form", FORMATS)
def test_mutants_are_refused_or_right(form):
    refused = 0
    for X in mutants(form, 800):
        stored = entries(X)
        if stored is None:
            refused += 1
            with pytest.raises(ValueError, match=sentence("X is not a valid sparse matrix")):
                as_matrix(X)
        else:
            np.testing.assert_array_equal(as_matrix(X).toarray(), dense(stored))
    assert 200 < refused < 800


#: what takes sparse rows: calls whose errors name X, or their own argument
DOORS = {
    "map": lambda X: GCWS(8).fit(X),
    "hash": lambda X: hashing.gcws(X, 8),
    "projection": lambda X: SignProjection(8).fit(X),
    "landmarks": lambda X: KernelNystroem(GMM(), 3).fit(X),
    "kernel": lambda X: GMM()(X),
    "two sides": lambda X: Gaussian()(np.ones((1, SHAPE[1])), X),
    "front door": lambda X: KernelClassifier().fit(X, LABELS),
    "linear model": lambda X: LinearClassifier().fit(X, LABELS),
    "one batch": lambda X: LinearClassifier().partial_fit(X, LABELS, [0, 1]),
    "study": lambda X: compare(X, LABELS),
    "theory": lambda X: zero_bit_bounds(X),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_damage(door, form):
    for X in damaged(form, 60):
        with pytest.raises(ValueError, match=sentence("is not a valid sparse matrix")):
            DOORS[door](X)


@pytest.mark.parametrize("form", FORMATS)
def test_fitted_objects_refuse_damage(form):
    X = whole_matrix(form)
    for made in (
        GCWS(8).fit(X),
        LinearClassifier().fit(X, LABELS),
        KernelClassifier("gmm", 8, C=1.0).fit(X, LABELS),
    ):
        use = made.encode if isinstance(made, GCWS) else made.predict
        for wrong in damaged(form, 60):
            with pytest.raises(ValueError, match=sentence("X is not a valid sparse matrix")):
                use(wrong)


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_files_with_damage_are_refused(form, tmp_path):
    path = tmp_path / "rows.npz"
    for X in mutants(form, 60, seed=2):
        np.savez(
            path,
            format=form.encode(),
            shape=X.shape,
            data=X.data,
            indices=X.indices,
            indptr=X.indptr,
        )
        stored = entries(X)
        if stored is None:
            with pytest.raises(DataError, match=sentence("cannot be read as NPZ")):
                open_dataset(path)
        else:
            np.testing.assert_array_equal(
                open_dataset(path).materialise()[0].toarray(), dense(stored)
            )


@pytest.mark.parametrize(
    "shape", [(3, -2), (2**62, 2), (3,), (3, 2, 1), (3.0, 2.0), (-3, -2), (0, 0), (2, 2)], ids=str
)
def test_files_with_another_shape_are_refused(shape, tmp_path):
    path, indices = tmp_path / "rows.npz", np.array([0, 1, 0, 2], np.int32)
    np.savez(
        path,
        format=b"csc",
        shape=shape,
        data=np.ones(4),
        indices=indices,
        indptr=np.array([0, 2, 4]),
    )
    with pytest.raises(
        DataError, match=sentence("(cannot be read as NPZ|declares 4611686018427387904 rows)")
    ):
        open_dataset(path).materialise()


def test_faults_that_ended_the_process(tmp_path):
    """All pass scipy's check_format(full_check=True), whose last entry of indptr is not above 0."""
    path, indices = tmp_path / "c.npz", np.array([0, 1, 0, 2], np.int32)
    for indptr in ([0, 10**8, 0], [0, -2, -4], [0, 2, -1]):
        np.savez(
            path,
            format=b"csc",
            shape=(3, 2),
            data=np.ones(4),
            indices=indices,
            indptr=np.array(indptr, np.int32),
        )
        with pytest.raises(DataError, match="indptr"):
            open_dataset(path)
    X = sp.csr_matrix(np.eye(6, 4) + np.eye(6, 4, 1))
    for indptr in ([0, 2**30, 4, 6, 8, 10, 0], [0, 2, 4, 100, 8, 10, 0], -X.indptr):
        X.indptr = np.array(indptr, np.int32)
        with pytest.raises(ValueError, match=sentence("indptr")):
            GCWS(8).fit(X)


def test_other_formats_are_checked_as_well():
    diagonals = sp.dia_matrix(np.eye(4))
    diagonals.offsets = np.array([0, 1, 2, 10**8], np.int32)
    lists = sp.lil_matrix(np.eye(4))
    lists.data[1] = [1.0, 2.0, 3.0]
    floats = sp.csr_matrix(np.eye(4))
    floats.indices = floats.indices.astype(np.float64)
    text = sp.csr_matrix(np.eye(4))
    text.indptr = text.indptr.astype("U3")
    apart = sp.csr_matrix(np.eye(4))
    apart.data = apart.data.reshape(2, 2)
    shallow = sp.lil_matrix(np.eye(4))
    shallow.rows = shallow.rows[:2]
    for X in (diagonals, lists, floats, text, apart, shallow):
        with pytest.raises(ValueError, match=sentence("X is not a valid sparse matrix")):
            as_matrix(X)


def test_unusual_matrices_are_taken():
    X = whole_matrix("csr").toarray()
    outside = sp.dia_matrix((np.ones((3, 6)), [0, 2, -(2**31)]), shape=SHAPE)
    unsigned = sp.csr_matrix(X)
    unsigned.indices, unsigned.indptr = (
        unsigned.indices.astype(np.uint64),
        unsigned.indptr.astype(np.uint16),
    )
    swapped = sp.csr_matrix(X)
    swapped.indices, swapped.data = swapped.indices.astype(">i4"), swapped.data.astype(">f8")
    np.testing.assert_array_equal(as_matrix(outside).toarray(), np.eye(*SHAPE) + np.eye(*SHAPE, 2))
    for other in (
        unsigned,
        swapped,
        sp.lil_array(X),
        sp.dok_matrix(X),
        sp.dia_matrix(X),
        sp.csr_matrix(SHAPE),
    ):
        matrix = as_matrix(other)
        np.testing.assert_array_equal(matrix.toarray(), X if other.nnz else 0 * X)
        assert matrix.indices.dtype == matrix.indptr.dtype
        assert matrix.indptr.dtype in (np.int32, np.int64)
    empty = as_matrix(sp.lil_matrix((0, 3)))
    assert empty.shape == (0, 3)
