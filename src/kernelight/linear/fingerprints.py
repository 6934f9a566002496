"""Fingerprints of rows: equal for equal rows, almost surely different for different rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.codes import Codes

_BLOCK_WORDS = 1 << 17  # of 8 bytes: copies of a block stay in the cache


def row_fingerprints(X: Any, stream: int = 0) -> NDArray[np.uint64]:
    """A number of 64 bits for each row of `Codes`, of a dense or of a CSR matrix.

    It is the sum of the 64-bit words of the row times odd random numbers, modulo 2^64. Explicit
    zeros of a CSR matrix count, and so does the sign of a zero. Another ``stream`` has other random
    numbers.
    """
    if isinstance(X, Codes):
        return _dense_fingerprints(X.array, stream) + X.empty.astype(np.uint64)
    return _sparse_fingerprints(X, stream) if sp.issparse(X) else _dense_fingerprints(X, stream)


def _sparse_fingerprints(X: Any, stream: int) -> NDArray[np.uint64]:
    factors = _odd_factors(2, stream + 1)
    fingerprints = np.empty(X.shape[0], dtype=np.uint64)
    step = max(1, _BLOCK_WORDS * X.shape[0] // max(1, X.nnz))
    for begin in range(0, X.shape[0], step):
        starts = X.indptr[begin : begin + step + 1]
        part = slice(starts[0], starts[-1])
        words = X.data[part].astype(np.float64).view(np.uint64)
        columns = X.indices[part].astype(np.uint64)
        mixed = (words ^ (words >> np.uint64(29))) * factors[0] + columns * factors[1]
        terms = mixed * (mixed >> np.uint64(32) | np.uint64(1))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms)])
        ends = sums[starts - starts[0]]
        fingerprints[begin : begin + step] = ends[1:] - ends[:-1]
    return fingerprints


def _dense_fingerprints(array: NDArray[Any], stream: int) -> NDArray[np.uint64]:
    row_bytes = array.itemsize * (array.size // max(1, len(array)))
    n_words = -(-row_bytes // 8)
    factors = _odd_factors(n_words, stream)
    fingerprints = np.empty(len(array), dtype=np.uint64)
    step = max(1, _BLOCK_WORDS // max(1, n_words))
    for begin in range(0, len(array), step):
        flat = np.ascontiguousarray(array[begin : begin + step])
        words = flat.view(np.uint8).reshape(len(flat), -1)
        padded = np.pad(words, ((0, 0), (0, -row_bytes % 8))).view(np.uint64)
        # Floats differ in their upper bits, which a product alone would not mix into the lower.
        mixed = padded ^ (padded >> np.uint64(29))
        fingerprints[begin : begin + step] = (mixed * factors).sum(axis=1, dtype=np.uint64)
    return fingerprints


def _odd_factors(count: int, stream: int) -> NDArray[np.uint64]:
    random = np.random.default_rng([7, stream])
    return np.asarray(random.integers(0, 2**64, count, dtype=np.uint64) | np.uint64(1))
