"""`IntegerFourier` in ONNX: whole numbers in double precision, which holds them exactly.

A block of signs and a Hadamard transform are a matrix of 1 and -1. Sums of its products with
numbers below 2^16 stay below 2^28, so that no order of additions matters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.export.onnx.encoded import Dense, whole
from kernelight.export.onnx.graph import DOUBLE, FLOAT, Graph, Rows
from kernelight.export.onnx.rows import doubles

_TURN = 65536.0


def integer_features(g: Graph, rows: Rows, fourier: Any) -> Dense:
    """What `IntegerFourier` makes of rows: docs/projection-spec.md, section 8, line by line."""
    width, count, d = fourier.width, int(fourier.n_components), int(fourier.n_features_in_)
    first, blocks = _matrices(fourier)
    step = g.constant(np.float64(np.ldexp(fourier.multiplier, fourier.exponent)))
    half = g.constant(np.float64(0.5))
    w = g.add("Floor", g.add("Add", g.add("Mul", doubles(g, rows), step), half))
    v = _turns(g, g.add("MatMul", _turns(g, w), _signs(g, first[:d])))
    y = g.add("MatMul", v, _signs(g, blocks[:, :count]))
    phases = (np.arange(count) << 9 & 65535).astype(np.float64)
    angle = _turns(g, g.add("Add", y, g.constant(phases)))
    size = g.add("Min", angle, g.add("Sub", g.constant(np.float64(_TURN)), angle))
    a = g.add("Sub", g.constant(np.float64(16384.0)), size)
    rest = g.add("Sub", g.constant(np.float64(32768.0)), g.add("Abs", a))
    product = g.add("Add", g.add("Mul", a, rest), g.constant(np.float64(131072.0)))
    q = g.add("Floor", g.add("Mul", product, g.constant(np.float64(2.0**-18))))
    values = g.cast(g.add("Mul", q, g.constant(np.float64(fourier.unit))), FLOAT)
    assert blocks.shape[0] == width
    return whole(values, count, FLOAT)


def _turns(g: Graph, angle: str) -> str:
    """Angles between 0 and a turn."""
    turns = g.add("Floor", g.add("Mul", angle, g.constant(np.float64(1 / _TURN))))
    return g.add("Sub", angle, g.add("Mul", turns, g.constant(np.float64(_TURN))))


def _signs(g: Graph, matrix: NDArray[np.int8]) -> str:
    """A matrix of signs, a byte each in the file."""
    return g.cast(g.constant(np.ascontiguousarray(matrix)), DOUBLE)


def _matrices(fourier: Any) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """diag(s_0) H, and diag(s_l) H of all other blocks side by side."""
    width = fourier.width
    n_blocks = -(-int(fourier.n_components) // width)
    masks = np.empty((1 + n_blocks, width), dtype=np.uint16)
    _core.fill_integer_signs(fourier.seed_, masks, 1)
    signs = np.where(masks > 0, -1, 1).astype(np.int8)
    hadamard = np.ones((1, 1), dtype=np.int8)
    while len(hadamard) < width:
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    return signs[0][:, None] * hadamard, np.hstack([s[:, None] * hadamard for s in signs[1:]])
