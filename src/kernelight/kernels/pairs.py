"""Sums over features for every pair of prepared rows, whatever the two matrices are.

Dense with dense goes to BLAS (products) or to the compiled loops, sparse with sparse to the
compiled lists of features. Of a dense and a sparse matrix, or of two sparse ones full enough to be
faster that way, the sparse ones are made dense a block of rows at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Matrix, resources
from kernelight.kernels.prepare import is_sparse

MINMAX, OVERLAP, CHI2, DOT = range(4)  # the forms of core/pairwise.h, which has the formulas
_BLOCK_BYTES = 1 << 25  # a sparse matrix is made dense in blocks of rows of about this size
_CALL_TERMS = 1 << 34  # terms (pairs times features) of one compiled call
# Lists are slower than dense blocks when more than this fraction of all (pair, feature) are
# nonzero in both rows.
_FULL = 1 / 32


def pair_sums(form: int, A: Matrix, B: Matrix | None = None) -> NDArray[Any]:
    """The form of every row of ``A`` with every row of ``B``; without ``B``, of ``A`` with itself.

    The latter is exactly symmetric.
    """
    if B is not None:
        A, B = in_common_type(A, B)
    other = A if B is None else B
    if not is_sparse(A) and not is_sparse(other):
        return _dense(form, A, other)
    if is_sparse(A) and is_sparse(other) and _fullness(A) * _fullness(other) < _FULL:
        return _sparse(form, A, other)
    return _by_blocks(form, A, B)


def in_common_type(A: Matrix, B: Matrix) -> tuple[Matrix, Matrix]:
    """Both matrices as float32 if both are, else as float64."""
    dtype = np.result_type(A.dtype, B.dtype)
    return A.astype(dtype, copy=False), B.astype(dtype, copy=False)


def _dense(form: int, A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
    if form == DOT:
        return np.asarray(A @ B.T)
    out = np.empty((A.shape[0], B.shape[0]), A.dtype)
    use = resources().for_work(A.shape[0] * B.size)
    # Ctrl-C is handled between two calls.
    step = max(512, _CALL_TERMS // max(1, B.size))
    if A is B and A.shape[0] * B.size // 2 <= _CALL_TERMS:
        _core.pair_sums_dense(A, A, out, form, True, *use)
        return out
    for start in range(0, A.shape[0], step):
        part = slice(start, min(start + step, A.shape[0]))
        if A is not B:
            _core.pair_sums_dense(A[part], B, out[part], form, False, *use)
            continue
        # The lower triangle, a panel of rows at a time; the upper one mirrors it.
        panel = np.empty((part.stop - start, part.stop), A.dtype)
        _core.pair_sums_dense(A[part], A[: part.stop], panel, form, False, *use)
        out[part, : part.stop] = panel
        out[:start, part] = panel[:, :start].T
    return out


def _fullness(X: Matrix) -> float:
    return float(X.nnz / max(1, X.shape[0] * X.shape[1]))


def _by_blocks(form: int, A: Matrix, B: Matrix | None) -> NDArray[Any]:
    other = A if B is None else B
    out = np.empty((A.shape[0], other.shape[0]), A.dtype)
    for rows in _slices(A):
        left = _rows(A, rows)
        for columns in _slices(other):
            if B is None and columns.start < rows.start:
                continue  # the mirror image of a block already done
            right = left if B is None and columns == rows else _rows(other, columns)
            out[rows, columns] = _dense(form, left, right)
            if B is None:
                out[columns, rows] = out[rows, columns].T
    return out


def _slices(X: Matrix) -> list[slice]:
    """The rows in pieces that may be made dense; an array is one piece."""
    step = X.shape[0]
    if is_sparse(X):
        step = _BLOCK_BYTES // max(1, X.shape[1] * X.dtype.itemsize)
    step = max(1, step)
    return [slice(start, start + step) for start in range(0, X.shape[0], step)]


def _rows(X: Matrix, rows: slice) -> NDArray[Any]:
    return np.asarray(X[rows].toarray() if is_sparse(X) else X)


def _sparse(form: int, A: Matrix, B: Matrix) -> NDArray[Any]:
    out = np.empty((A.shape[0], B.shape[0]), A.dtype)
    a_columns, b_columns, width = _narrow(A, B)
    lists = sp.csr_array(
        (B.data[: B.indptr[-1]], b_columns, B.indptr), shape=(B.shape[0], width)
    ).tocsc()
    index = np.result_type(a_columns, A.indptr, lists.indices, lists.indptr)
    values, columns = (
        np.ascontiguousarray(A.data[: A.indptr[-1]]),
        a_columns.astype(index, copy=False),
    )
    starts = A.indptr.astype(index, copy=False)
    others = (
        lists.data,
        lists.indices.astype(index, copy=False),
        lists.indptr.astype(index, copy=False),
    )
    terms = B.shape[0] * (1.0 + _fullness(B) * A.nnz / max(1, A.shape[0]))  # of a row of A, about
    # a term of a list takes longer than one of a panel
    step = max(512, int(_CALL_TERMS / max(1.0, 16 * terms)))
    for start in range(0, A.shape[0], step):
        stop = min(start + step, A.shape[0])
        stored = slice(int(starts[start]), int(starts[stop]))
        _core.pair_sums_sparse(
            values[stored],
            columns[stored],
            starts[start : stop + 1] - starts[start],
            *others,
            out[start:stop],
            form,
            *resources(),
        )
    return out


def _narrow(A: Matrix, B: Matrix) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Column numbers of both matrices for a table of lists, and the length of that table.

    A width far above the number of entries (hashed features) would make a table of mostly empty
    lists: then the columns ``B`` uses are renumbered, and what only ``A`` uses shares one empty
    list at the end.
    """
    a_columns, b_columns = A.indices[: A.indptr[-1]], B.indices[: B.indptr[-1]]
    if A.shape[1] <= 4 * (a_columns.size + b_columns.size) + 1024:  # renumbering goes over both
        return np.ascontiguousarray(a_columns), b_columns, A.shape[1]
    used, renumbered = np.unique(b_columns, return_inverse=True)
    places = np.searchsorted(used, a_columns)
    shared = np.append(used, -1)[places] == a_columns
    return np.where(shared, places, used.size), renumbered, used.size + 1
