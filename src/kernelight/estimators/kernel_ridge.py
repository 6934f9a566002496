"""Kernel ridge regression on the Gram matrix, with leave-one-out scores in closed form.

With features phi of the kernel K, an intercept b and a cost c_i for each row, the model minimises

    1/2 (|w|^2 + b^2) + sum_i c_i (y_i - w . phi(x_i) - b)^2,

what `LinearRegressor` minimises on features, with c_i = C times the weight of the row. Its duals a
solve a linear system, and the scores are f(x) = sum_i a_i (K(x, x_i) + 1):

    A a = y,    A = K + 1 + diag(1 / (2 c_i)).

Classes are learned as y = 1 and y = -1, one column of y for each (a least-squares SVM, Suykens and
Vandewalle 1999). All columns share the Cholesky factor of A. The score of a row by the model of all
other rows follows from the inverse of A (Wahba 1990, section 4.2), without a second fit:

    f_(-i)(x_i) = y_i - a_i / (A^-1)_ii.

A is factorised in single precision, which is twice as fast. The duals are refined afterwards, with
residuals in double precision; leave-one-out scores need no more than single precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from kernelight.linear.active_set_newton import one_blas_thread

_MAX_REFINEMENTS = 12
_ENOUGH = 1e-9  # the size of the residuals, as a fraction of that of the targets
# Below this fraction of the trace of A the ridge is lost to single precision.
_LEAST_RIDGE = 32 * float(np.finfo(np.float32).eps)
_LARGEST_RIDGE = 1e12  # beyond it, sums in single precision lose everything else
_LEAST_COST = 1e-12  # of the largest: a row that costs less is as good as left out
_BLOCK_ROWS = 256  # rows of the Gram matrix that are taken into double precision at once

Array = NDArray[np.float64]
Gram = NDArray[Any]


class _Factor:
    """The Cholesky factor L of A = L L', in single precision where that will do."""

    def __init__(self, gram: Gram, cost: Array) -> None:
        ridge = 0.5 / np.maximum(cost, _LEAST_COST * float(cost.max()))
        n_rows = len(gram)
        mean_diagonal = 1.0 + float(np.trace(gram)) / n_rows
        single = float(ridge.min()) >= _LEAST_RIDGE * mean_diagonal * n_rows
        single = single and float(ridge.max()) < _LARGEST_RIDGE
        self.gram, self.ridge = gram, ridge
        self._dtype: np.dtype[Any] = np.dtype(np.float32 if single else np.float64)
        self._lower = self._factorised()

    def _factorised(self) -> Gram:
        system = np.add(self.gram, 1.0, dtype=self._dtype)
        system.flat[:: len(system) + 1] += self.ridge
        # the transposed matrix is the same one, in the order that LAPACK overwrites
        routine = lapack.spotrf if self._dtype == np.float32 else lapack.dpotrf
        lower, info = routine(system.T, lower=1, clean=1, overwrite_a=1)
        if info == 0:
            return np.asarray(lower)
        if self._dtype == np.float32:
            self._dtype = np.dtype(np.float64)
            return self._factorised()
        raise ValueError(
            "the Gram matrix is not positive definite: the kernel has no features for these rows, "
            "or C is too large."
        )

    def solve(self, right: Array) -> Array:
        """The solution of A a = right, to single precision at least."""
        routine = lapack.spotrs if self._dtype == np.float32 else lapack.dpotrs
        solution, _ = routine(self._lower, np.asarray(right, dtype=self._dtype), lower=1)
        return np.asarray(solution, dtype=np.float64)

    def refined(self, targets: Array) -> Array:
        """The solution of A a = targets, refined until its residuals are small."""
        duals = self.solve(targets)
        size = float(np.abs(targets).max(initial=0.0))
        last = np.inf
        for _ in range(_MAX_REFINEMENTS):
            residual = targets - self._times(duals)
            now = float(np.abs(residual).max(initial=0.0))
            if now <= _ENOUGH * size:
                return duals
            if not now < 0.5 * last:
                break
            duals, last = duals + self.solve(residual), now
        if self._dtype == np.float32:  # too badly conditioned to be refined
            self._dtype = np.dtype(np.float64)
            self._lower = self._factorised()
            return self.refined(targets)
        return duals

    def _times(self, duals: Array) -> Array:
        """A a in double precision."""
        product = self.ridge[:, None] * duals + duals.sum(axis=0)
        for start in range(0, len(duals), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            product[rows] += np.asarray(self.gram[rows], dtype=np.float64) @ duals
        return np.asarray(product)

    def inverse_diagonal(self) -> Array:
        """The diagonal of A^-1: the squared lengths of the columns of L^-1.

        The inverse takes the place of the factor, which is gone afterwards: this comes last.
        """
        routine = lapack.strtri if self._dtype == np.float32 else lapack.dtrtri
        inverse, _ = routine(self._lower, lower=1, overwrite_c=1)
        del self._lower
        return np.asarray(np.einsum("ij,ij->j", inverse, inverse), dtype=np.float64)


def duals(gram: Gram, targets: Array, cost: Array) -> Array:
    """The (n, m) duals of (n, m) targets, for an (n, n) Gram matrix and (n,) costs above 0."""
    with one_blas_thread():
        return _Factor(gram, cost).refined(targets)


def duals_and_leave_one_out(gram: Gram, targets: Array, cost: Array) -> tuple[Array, Array]:
    """The duals, and the (n, m) scores of each row by the model of all others."""
    with one_blas_thread():
        factor = _Factor(gram, cost)
        solution = factor.refined(targets)
        return solution, targets - solution / factor.inverse_diagonal()[:, None]


def leave_one_out(gram: Gram, targets: Array, cost: Array) -> Array:
    """The (n, m) scores of each row by the model of all others, to single precision."""
    with one_blas_thread():
        factor = _Factor(gram, cost)
        return targets - factor.solve(targets) / factor.inverse_diagonal()[:, None]


def held_out(
    gram: Gram, targets: Array, cost: Array, train: NDArray[np.intp], held: NDArray[np.intp]
) -> Array:
    """The scores of the rows ``held`` by the model of the rows ``train``, to single precision."""
    with one_blas_thread():
        solution = _Factor(gram[np.ix_(train, train)], cost[train]).solve(targets[train])
        return np.asarray(gram[np.ix_(held, train)] @ solution + solution.sum(axis=0))
