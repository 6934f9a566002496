"""Kernels of rows against fixed rows, in double precision: landmarks, or support rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.export.onnx.encoded import Dense, whole
from kernelight.export.onnx.graph import DOUBLE, Graph, Rows
from kernelight.export.onnx.rows import doubles, not_empty, unit_length
from kernelight.kernels import GMM, NGMM, RBF, ExpGMM, Gaussian, Linear, MinMax
from kernelight.kernels.base import Kernel

KERNELS = "GMM, MinMax, ExpGMM, NGMM, RBF, Gaussian and Linear"
#: Numbers of fixed rows that a graph may hold: 32 MB.
MOST_NUMBERS = 1 << 22


def nystroem_features(g: Graph, rows: Rows, nystroem: Any) -> Dense:
    """What `KernelNystroem` makes of rows: their kernel with the landmarks, times N."""
    values = kernel_with(g, rows, nystroem.kernel_, nystroem.components_, "KernelNystroem")
    root = nystroem.normalization_
    width = int(nystroem.n_components_)
    padded = np.zeros((len(root), width))
    padded[:, : root.shape[1]] = root
    return whole(g.add("MatMul", values, g.constant(padded)), width, DOUBLE)


def kernel_with(g: Graph, rows: Rows, kernel: Any, others: Any, owner: str) -> str:
    """(rows, others) kernel values."""
    if not isinstance(kernel, Kernel) or others is None:
        raise ValueError(
            f"A {owner} of kernel={kernel!r} cannot be exported to ONNX: use one of the kernels "
            f"{KERNELS}."
        )
    fixed = np.asarray(others.toarray() if sp.issparse(others) else others)
    if fixed.size > MOST_NUMBERS:
        raise ValueError(
            f"{owner} keeps {len(fixed):,} rows of {fixed.shape[1]:,} columns, and ONNX files are "
            f"for at most {MOST_NUMBERS:,} such numbers: use fewer landmarks, or a model of a map "
            "such as KernelClassifier(n_components=1024)."
        )
    if isinstance(kernel, (GMM, MinMax, ExpGMM, NGMM)):
        return _minmax(g, rows, kernel, fixed)
    if isinstance(kernel, Gaussian):
        return _gaussian(g, rows, kernel, fixed.astype(np.float64))
    if isinstance(kernel, (RBF, Linear)):
        return _of_directions(g, rows, kernel, fixed)
    raise ValueError(f"The kernel {kernel!r} cannot be exported to ONNX: use one of {KERNELS}.")


def _minmax(g: Graph, rows: Rows, kernel: Any, fixed: NDArray[Any]) -> str:
    """sum min / sum max = (S - D) / (S + D) with S = |u|_1 + |v|_1 and D = |u - v|_1.

    Rows go one by one: their differences from all others are a matrix.
    """
    values, others = doubles(g, rows), kernel.prepare(fixed).astype(np.float64)
    power = getattr(kernel, "p", 1.0)
    if getattr(kernel, "center", None) is not None:
        values = g.add("Sub", values, g.constant(np.asarray(kernel.center)))
    if isinstance(kernel, NGMM):
        total = g.add("ReduceSum", g.add("Abs", values), g.ints(1), keepdims=1)
        some = g.add("Greater", total, g.constant(np.float64(0)))
        values = g.add("Div", values, g.add("Where", some, total, g.constant(np.float64(1))))
    if power != 1.0:
        scale = float(np.abs(others).max(initial=0.0)) or 1.0
        others = np.sign(others) * (np.abs(others) / scale) ** power
        sizes = g.add("Div", g.add("Abs", values), g.constant(np.float64(scale)))
        sizes = g.add("Pow", sizes, g.constant(np.float64(power)))
        values = g.add("Mul", sizes, g.add("Sign", values))
    sums = np.abs(others).sum(axis=1)

    def of_row(inner: Graph, row: str) -> list[tuple[str, Any, tuple[int, ...]]]:
        apart = inner.add("Abs", inner.add("Sub", inner.constant(others), row))
        apart = inner.add("ReduceSum", apart, inner.ints(1), keepdims=0)
        own = inner.add("ReduceSum", inner.add("Abs", row), inner.ints(0), keepdims=0)
        both = inner.add("Add", inner.constant(sums), own)
        # two rows of zeros: similar to nothing
        most = inner.add("Add", both, apart)
        some = inner.add("Greater", most, inner.constant(np.float64(0)))
        most = inner.add("Where", some, most, inner.constant(np.float64(1)))
        ratio = inner.add("Div", inner.add("Sub", both, apart), most)
        return [(inner.add("Max", ratio, inner.constant(np.float64(0))), np.float64, sums.shape)]

    similarity = g.for_each_row(values, of_row)[0]
    if isinstance(kernel, ExpGMM):
        filled = not_empty(g, Rows(values, rows.width, DOUBLE))
        similarity = _decayed(g, similarity, kernel.gamma)
        similarity = g.add("Mul", similarity, g.constant((sums > 0).astype(np.float64)))
        similarity = g.add("Where", filled, similarity, g.constant(np.float64(0)))
    return similarity


def _decayed(g: Graph, similarity: str, gamma: float) -> str:
    away = g.add("Sub", similarity, g.constant(np.float64(1)))
    return g.add("Exp", g.add("Mul", away, g.constant(np.float64(min(gamma, 1e30)))))


def _gaussian(g: Graph, rows: Rows, kernel: Gaussian, others: NDArray[np.float64]) -> str:
    """exp(-|u - v|^2 / (2 sigma^2)); the origin is moved to the mean of the fixed rows."""
    origin = others.mean(axis=0)
    scaled = (others - origin) / kernel.sigma
    values = g.add("Sub", doubles(g, rows), g.constant(origin))
    values = g.add("Div", values, g.constant(np.float64(kernel.sigma)))
    own = g.add("ReduceSumSquare", values, g.ints(1), keepdims=1)
    squares = g.add("Add", own, g.constant(np.square(scaled).sum(axis=1)))
    cross = g.add("MatMul", values, g.constant(np.ascontiguousarray(2 * scaled.T)))
    squares = g.add("Max", g.add("Sub", squares, cross), g.constant(np.float64(0)))
    return g.add("Exp", g.add("Mul", squares, g.constant(np.float64(-0.5))))


def _of_directions(g: Graph, rows: Rows, kernel: Any, fixed: NDArray[Any]) -> str:
    others = kernel.prepare(fixed.astype(np.float64))
    cosine = g.add("MatMul", unit_length(g, rows), g.constant(np.ascontiguousarray(others.T)))
    if isinstance(kernel, Linear):
        return cosine
    similarity = _decayed(g, cosine, kernel.gamma)
    some = np.abs(others).max(axis=1) > 0
    similarity = g.add("Mul", similarity, g.constant(some.astype(np.float64)))
    return g.add("Where", not_empty(g, rows), similarity, g.constant(np.float64(0)))
