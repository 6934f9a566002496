"""Min-max kernels as sums over columns: what each column has in sum_j a_j K(x, y_j).

K(x, y) = sum_f min(x_f, y_f) / sum max is a sum over columns f, so a model of this kernel is, too.
The hashes of GCWS give the same parts on average: a slot in which x and y agree is won by column f
with probability min(x_f, y_f) / sum max (docs/hash-spec.md, section 9).

For exp(-gamma (1 - K)), which is exp(-gamma) sum_m (gamma K)^m / m!, each power K^m belongs to the
columns in the proportions of min(x_f, y_f), and the term m = 0, exp(-gamma), to none: it is the
``rest``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Matrix, core_args, resources
from kernelight.kernels.base import MinMaxForm
from kernelight.kernels.minmax import scaled_bands
from kernelight.kernels.pairs import MINMAX, pair_sums
from kernelight.kernels.prepare import is_sparse

_BLOCK_VALUES = 1 << 21  # of the results of a block of rows


class ColumnParts(NamedTuple):
    """``values`` (n, m, d) of each column, and the ``rest`` (n, m) that belongs to none."""

    values: NDArray[np.float64]
    rest: NDArray[np.float64]


def column_parts(form: MinMaxForm, A: Matrix, B: Matrix, duals: NDArray[np.float64]) -> ColumnParts:
    """The parts of sum_j duals[j, c] K(a_i, b_j), K the kernel of that form of prepared rows."""
    p, gamma = form
    n, m, d = A.shape[0], duals.shape[1], A.shape[1]
    parts = ColumnParts(np.zeros((n, m, d)), np.zeros((n, m)))
    if gamma is not None:
        filled = np.abs(_sums(B)) > 0
        parts.rest[np.abs(_sums(A)) > 0] = np.exp(-gamma) * duals[filled].sum(axis=0)
    A, B = (X.astype(np.float64, copy=False) for X in (A, B))
    for rows, left, others, right in scaled_bands(A, B, p):
        step = max(1, _BLOCK_VALUES // max(1, m * d, right.shape[0]))
        args, dual = core_args(right), np.ascontiguousarray(duals[others])
        sums = _sums(right)
        for start in range(0, len(rows), step):
            some = left[start : start + step]
            factors = _factors(pair_sums(MINMAX, some, right), _sums(some)[:, None] + sums, gamma)
            dense = np.ascontiguousarray(some.toarray() if is_sparse(some) else some)
            out = np.zeros((dense.shape[0], m, d))
            use = resources().for_work(out.size * right.shape[0])
            _core.attribute_minmax(dense, *args, factors, dual, out, use.threads)
            parts.values[rows[start : start + step]] += out
    return parts


def _sums(X: Matrix) -> NDArray[np.float64]:
    return np.asarray(abs(X).sum(axis=1), dtype=np.float64).ravel()


def _factors(
    K: NDArray[np.float64], sums: NDArray[np.float64], gamma: float | None
) -> NDArray[np.float64]:
    """What a minimum of a pair is multiplied by: 1 / sum max, which is (1 + K) / (sum of both)."""
    of_minima = np.divide(1.0 + K, sums, out=np.zeros_like(K), where=sums > 0)
    if gamma is None:
        return of_minima
    above = np.exp(-gamma * (1.0 - K)) - np.exp(-gamma)
    return np.asarray(of_minima * np.divide(above, K, out=np.zeros_like(K), where=K > 0))
