"""Equal rows: found by fingerprints of 64 bits, then compared value by value.

A row is the set of its nonzeros (column c, value v as a double), so that explicit zeros, the sign
of a zero, float32 and float64, dense and sparse storage make no difference. Its fingerprint is

    sum over nonzeros of mix(bits(v) * f + c * g)    modulo 2^64,

f and g odd. Equal rows have equal fingerprints; rows of equal fingerprints are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base.checks import Matrix

_FACTORS = np.random.default_rng([18, 3]).integers(0, 2**64, 2, dtype=np.uint64) | np.uint64(1)
_MIXERS = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)
_BLOCK_VALUES = 1 << 20

RowIndices = NDArray[np.int64]


def row_fingerprints(X: Matrix) -> NDArray[np.uint64]:
    """A number of 64 bits for each row of a checked matrix; 0 for a row of zeros.

    >>> import numpy as np, scipy.sparse as sp
    >>> from kernelight.neighbors.equal_rows import row_fingerprints
    >>> X = np.array([[0.0, 2.0], [1.0, 0.0], [-0.0, 2.0]])
    >>> keys = row_fingerprints(X)
    >>> bool(keys[0] == keys[2] != keys[1])
    True
    >>> bool((keys == row_fingerprints(sp.csr_matrix(X))).all())
    True
    """
    keys = np.zeros(X.shape[0], dtype=np.uint64)
    per_row = max(1, (X.nnz if sp.issparse(X) else X.size) // max(1, X.shape[0]))
    step = max(1, _BLOCK_VALUES // per_row)
    for begin in range(0, X.shape[0], step):
        part = X[begin : begin + step]
        if sp.issparse(part):
            terms = _terms(part.data, part.indices)
            sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
            ends = sums[part.indptr]
            keys[begin : begin + step] = ends[1:] - ends[:-1]
        else:
            terms = _terms(part, np.arange(part.shape[1]))
            keys[begin : begin + step] = terms.sum(axis=1, dtype=np.uint64)
    return keys


def _terms(values: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.uint64]:
    """What each value adds; 0 for a zero, whatever its sign."""
    words = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    mixed = words * _FACTORS[0] + columns.astype(np.uint64) * _FACTORS[1]
    for shift, factor in zip((30, 27), _MIXERS, strict=True):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * factor
    mixed ^= mixed >> np.uint64(31)
    mixed[values == 0] = 0
    return np.asarray(mixed)


def first_equal_rows(X: Matrix, *, unite_empty: bool = True) -> RowIndices:
    """For each row the index of the first row that is equal to it.

    Without ``unite_empty`` rows of zeros are their own: of rows that say nothing, such as texts
    without a word, nobody knows whether they are equal.

    >>> import numpy as np
    >>> from kernelight.neighbors.equal_rows import first_equal_rows
    >>> first_equal_rows(np.array([[1.0], [2.0], [1.0], [0.0], [0.0], [2.0]]))
    array([0, 1, 0, 3, 3, 1])
    """
    keys = row_fingerprints(X)
    first = np.arange(X.shape[0], dtype=np.int64)
    rows = first.copy() if unite_empty else np.flatnonzero(~empty_rows(X))
    while len(rows):
        leader = _first_with(keys[rows])
        others = np.flatnonzero(leader != np.arange(len(rows)))
        same = equal_pairs(X, rows[leader[others]], X, rows[others])
        first[rows[others[same]]] = rows[leader[others[same]]]
        rows = rows[others[~same]]  # equal keys of different rows: hardly ever
    return first


def _first_with(keys: NDArray[np.uint64]) -> NDArray[np.intp]:
    """For each place the first place with the same key."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[inverse.reshape(-1)])


def empty_rows(X: Matrix) -> NDArray[np.bool_]:
    """Which rows have no value but zeros."""
    if not sp.issparse(X):
        return np.asarray(~X.any(axis=1), dtype=bool)
    there = np.concatenate([np.zeros(1, np.int64), np.cumsum(X.data != 0)])
    return np.asarray(there[X.indptr[1:]] == there[X.indptr[:-1]], dtype=bool)


def equal_pairs(A: Matrix, a: RowIndices, B: Matrix, b: RowIndices) -> NDArray[np.bool_]:
    """Whether rows a[i] of A and b[i] of B are equal, as sets of nonzeros."""
    equal = np.empty(len(a), dtype=bool)
    per_row = max(1, (A.nnz if sp.issparse(A) else A.size) // max(1, A.shape[0]))
    step = max(1, _BLOCK_VALUES // per_row)
    for begin in range(0, len(a), step):
        some = slice(begin, begin + step)
        left, right = A[a[some]], B[b[some]]
        if sp.issparse(left):
            differs = abs(left.astype(np.float64) - right.astype(np.float64))
            differs.eliminate_zeros()
            equal[some] = np.diff(differs.tocsr().indptr) == 0
        else:
            equal[some] = (left == right).all(axis=1)
    return equal
