"""Landmarks, the rows that stand for all others: kernels against them, and how to choose them.

A kernel is one of this package, a callable on two matrices, or "precomputed": then a row holds its
similarities to the training rows, and landmarks are column numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base.checks import Matrix, as_matrix
from kernelight.kernels.base import Kernel

PRECOMPUTED = "precomputed"
KernelLike = Any  # a Kernel, a callable on two matrices, or PRECOMPUTED

# Rounding of sums in single precision, even on GPUs, is far below this fraction of a kernel's
# largest value.
_ROUNDING = 1e-3
_BLOCK = 64  # rows of a block of which only the diagonal is needed, where a kernel is a callable


def kernel_against(kernel: KernelLike, landmarks: Any) -> Callable[[Matrix], NDArray[Any]]:
    """The function X -> K(X, landmarks); what happens to landmarks alone happens once.

    Both sides of a kernel of this package are brought to one type first: rows scaled in single
    precision would spoil sums in double.
    """
    if isinstance(kernel, Kernel):
        prepared: dict[Any, Any] = {}

        def of_kernel(X: Matrix) -> NDArray[Any]:
            dtype = np.result_type(X.dtype, landmarks.dtype)
            if dtype not in prepared:
                prepared[dtype] = kernel.prepare(
                    landmarks.astype(dtype, copy=False), name="landmarks"
                )
            return kernel.pairwise(kernel.prepare(X.astype(dtype, copy=False)), prepared[dtype])

        return of_kernel
    if kernel == PRECOMPUTED:
        return lambda X: _dense(X[:, landmarks])
    return lambda X: _checked_gram(
        kernel(_read_only(X), _read_only(landmarks)), (X.shape[0], landmarks.shape[0])
    )


def gram(kernel: KernelLike, X: Matrix, landmarks: Any) -> NDArray[np.float64]:
    """K(landmarks, landmarks) in double, exactly symmetric; ``X`` are the training rows.

    A matrix that cannot be a kernel's, beyond rounding in single precision, is refused.
    """
    if isinstance(kernel, Kernel):
        return np.asarray(
            kernel.pairwise(kernel.prepare(landmarks.astype(np.float64), name="landmarks"))
        )
    rows = X[landmarks] if isinstance(kernel, str) else landmarks
    K = kernel_against(kernel, landmarks)(rows).astype(np.float64)
    half = K / 2  # no sum of two overflows
    peak = np.abs(half).max()
    if np.abs(half - half.T).max() > _ROUNDING * peak:
        raise ValueError(
            "The kernel is not symmetric: K(x, y) and K(y, x) of the landmarks differ."
        )
    if peak and half.diagonal().max() <= _ROUNDING * peak:
        raise ValueError(
            "The kernel of each landmark with itself must be above 0, but none is: is it a "
            "distance? Pass similarities, such as exp(-distance)."
        )
    return np.asarray(half + half.T)


def _checked_gram(K: Any, shape: tuple[int, int]) -> NDArray[Any]:
    """What a user's kernel returned for two matrices, as finite floats of the right shape."""
    try:
        gram = as_matrix(K, name="kernel(X, Y)")
    except ValueError as error:
        raise ValueError(
            f"The callable kernel must return an array of finite numbers: {error}"
        ) from error
    if gram.shape != shape:
        raise ValueError(
            f"The callable kernel must return an array of shape {shape} for {shape[0]} and "
            f"{shape[1]} rows, got {gram.shape}."
        )
    return np.asarray(gram.toarray() if sp.issparse(gram) else gram)


def diagonal(kernel: KernelLike, X: Matrix) -> NDArray[np.float64]:
    """K(x, x) of every training row."""
    if isinstance(kernel, Kernel):
        return kernel.diag(X).astype(np.float64)
    if kernel == PRECOMPUTED:
        return np.asarray(X.diagonal(), dtype=np.float64)
    parts = [
        kernel_against(kernel, X[at : at + _BLOCK])(X[at : at + _BLOCK])
        for at in range(0, X.shape[0], _BLOCK)
    ]
    return np.concatenate([np.diag(part) for part in parts]).astype(np.float64)


def _read_only(X: Matrix) -> Matrix:
    """The same entries, read-only: a user's callable cannot change them."""
    if sp.issparse(X):
        parts = tuple(map(_read_only, (X.data, X.indices, X.indptr)))
        return type(X)(parts, shape=X.shape, copy=False)
    view = X.view()
    view.flags.writeable = False
    return view


def _dense(X: Matrix) -> NDArray[Any]:
    return np.asarray(X.toarray() if sp.issparse(X) else X)


def spread_rows(
    kernel: KernelLike, X: Matrix, count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Rows chosen by k-means++ in the space of the kernel (Arthur and Vassilvitskii, 2007).

    Each row is drawn in proportion to its squared distance from those drawn before,

        min over landmarks l of  K(x, x) + K(l, l) - 2 K(x, l).

    Rows at the origin of that space, where K(x, x) = 0, are never drawn. When no row has a distance
    left, the others are drawn at random.
    """
    own = diagonal(kernel, X)
    column = _columns(kernel, X)
    scale = -int(np.frexp(own.max())[1]) - 2  # a power of two, with which no distance overflows
    own = np.ldexp(own, scale)
    distance = np.where(own > 0, 1.0, 0.0)  # the first is drawn evenly
    chosen: list[int] = []
    for _ in range(count):
        apart = np.flatnonzero(distance > 0)
        if not apart.size:
            break
        sums = np.cumsum(distance[apart])
        at = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
        row = int(apart[min(at, apart.size - 1)])
        nearest = own + own[row] - 2 * np.ldexp(column(row), scale)
        distance = nearest if not chosen else np.minimum(distance, nearest)
        distance[own <= 0] = 0
        chosen.append(row)
        distance[chosen] = 0  # whatever rounding says
    rest = np.setdiff1d(np.arange(X.shape[0]), chosen)
    return np.append(np.array(chosen, np.int64), rng.permutation(rest)[: count - len(chosen)])


def _columns(kernel: KernelLike, X: Matrix) -> Callable[[int], NDArray[np.float64]]:
    """The function i -> K(all rows, row i); rows are prepared once."""
    if isinstance(kernel, Kernel):
        X = _without_empty_columns(X)
        prepared = kernel.prepare(X)
        return lambda row: kernel.pairwise(prepared, kernel.prepare(X[[row]]))[:, 0].astype(
            np.float64
        )
    if kernel == PRECOMPUTED:
        by_column = X.tocsc() if sp.issparse(X) else X
        return lambda row: _dense(by_column[:, [row]])[:, 0].astype(np.float64)
    return lambda row: kernel_against(kernel, X[[row]])(X)[:, 0].astype(np.float64)


def _without_empty_columns(X: Matrix) -> Matrix:
    """Sparse rows much wider than their entries, narrowed to the columns that occur.

    Otherwise every comparison would do it again.
    """
    if not sp.issparse(X) or X.shape[1] <= 4 * X.nnz:
        return X
    used, columns = np.unique(X.indices[: X.indptr[-1]], return_inverse=True)
    columns = columns.astype(X.indptr.dtype)
    return type(X)(
        (X.data[: X.indptr[-1]], columns, X.indptr), shape=(X.shape[0], max(1, used.size))
    )
