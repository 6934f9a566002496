"""Random projections in ONNX: features of cosines, and bits equal to those of Python.

Features agree to rounding. Bits come of a comparison, so that a projection must be the same number
to the last digit, by the definition in docs/projection-spec.md:

- *structured* projections are sums and differences of two numbers, stage after stage. A stage is a
  product with a matrix of two entries, 1 or -1, in each column: it rounds once, as an addition;
- *dense* projections are sums in the order of the features, which no matrix product promises. They
  come from a matrix product first, with a bound of its rounding and of that of the sum. Where the
  bit could depend on it, which few do, the sum is made again in its order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import resources
from kernelight.export.onnx.encoded import Bits, Dense, Part, whole
from kernelight.export.onnx.graph import DOUBLE, FLOAT, Graph, Rows
from kernelight.export.onnx.rows import entered, near_one, not_empty, unit_length
from kernelight.maps.projections.projection import (
    TURN,
    JointProjection,
    Selected,
    Structured,
    projection_of,
)
from kernelight.maps.projections.projection import Dense as DenseProjection

_GROUP = 5  # stages of a transform between two transpositions: matrices of at most 32 rows
# Coefficients of docs/projection-spec.md, and more than their error as a cosine
_COSINE = (60.244641, -85.456817, 64.939394, -19.739209, 1.0)
_SINE = (42.058693, -76.705860, 81.605249, -41.341702, 6.2831853)
_COSINE_ERROR = 1e-6


# -- Features ------------------------------------------------------------------------------------


def fourier_features(g: Graph, rows: Rows, fourier: Any) -> Dense:
    """What `RandomFourier` makes of rows, up to rounding."""
    cosine, n_components = fourier.metric == "cosine", int(fourier.n_components)
    paired = fourier.features == "paired"
    n_outputs = (n_components + 1) // 2 if paired else n_components
    factor = (math.sqrt(fourier.bandwidth_) if cosine else 1.0) / TURN
    projection = projection_of(
        fourier.projection_, fourier.n_features_in_, n_outputs, fourier.seed_, factor
    )
    values, filled = _entered_for(g, rows, fourier)
    if isinstance(projection, Structured):
        diagonals, places, lengths = projection.tables(resources(1))
        y = structured(g, values, projection, diagonals, places)
        angle = g.add("Mul", y, _single(g, TURN * lengths.astype(np.float64)))
    else:
        assert isinstance(projection, DenseProjection)
        turns = projection.directions(resources(1)).astype(np.float64) * factor
        angle = g.add("MatMul", values, _single(g, TURN * turns))
    if paired:
        return _pairs(g, angle, np.full(n_outputs, math.sqrt(2 / n_components)), fourier, filled)
    if fourier.features == "phase":
        angle = g.add("Add", angle, _single(g, TURN * _phases(fourier.seed_, n_outputs)))
    z = g.add("Cos", angle)
    if fourier.features == "phase" and fourier.normalize:
        squares = g.add("ReduceSumSquare", z, g.ints(1), keepdims=1)
        z = g.add("Div", z, g.add("Sqrt", squares))
        return whole(z, n_components, FLOAT, filled)
    amplitude = math.sqrt((1.0 if fourier.features == "folded" else 2.0) / n_components)
    part = Part(z, np.arange(n_components), np.full(n_components, amplitude))
    return Dense((part,), n_components, FLOAT, filled)


def aligned_features(g: Graph, rows: Rows, aligned: Any) -> Dense:
    """What `AlignedFourier` makes of rows, up to rounding."""
    cosine = aligned.metric == "cosine"
    values, filled = _entered_for(g, rows, aligned)
    unit = 1.0 if cosine else aligned.bandwidth_  # rows are divided by sigma already
    angle = g.add("MatMul", values, _single(g, aligned.frequencies_ * unit))
    return _pairs(g, angle, np.sqrt(aligned.weights_), aligned, filled)


def _entered_for(g: Graph, rows: Rows, fourier: Any) -> tuple[str, str | None]:
    """Rows as they enter a map with a metric, and which of them are not empty."""
    if fourier.metric == "cosine":
        return g.cast(unit_length(g, rows), FLOAT), not_empty(g, rows)
    return entered(g, rows, 1.0 / fourier.bandwidth_), None


def _pairs(
    g: Graph, angle: str, amplitude: NDArray[np.float64], fourier: Any, filled: str | None
) -> Dense:
    """amplitude cos and sin side by side; an odd last column is cos(. + w) for a random phase w."""
    count = len(amplitude)
    places = 2 * np.arange(count)
    width = 2 * count
    of_cosines, of_sines, second = amplitude.copy(), amplitude.copy(), places + 1
    if getattr(fourier, "features", "") == "paired" and fourier.n_components % 2:
        phase = TURN * float(_phases(fourier.seed_, count)[-1])
        of_cosines[-1] *= math.cos(phase)
        of_sines[-1] *= -math.sin(phase)
        second[-1] -= 1
        width -= 1
    cosines, sines = g.add("Cos", angle), g.add("Sin", angle)
    parts = Part(cosines, places, of_cosines), Part(sines, second, of_sines)
    return Dense(parts, width, FLOAT, filled)


def _single(g: Graph, values: NDArray[Any]) -> str:
    return g.constant(values.astype(np.float32))


def _phases(seed: int, count: int) -> NDArray[np.float32]:
    phases = np.empty(count, dtype=np.float32)
    _core.fill_phases(seed, phases)
    return phases


# -- Bits ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Readout:
    """What makes bits of projections: phases, thresholds and lengths of outputs, or ties."""

    phases: NDArray[np.float32] | None = None
    thresholds: NDArray[np.float32] | None = None
    lengths: NDArray[np.float32] | None = None
    ties: NDArray[np.float32] | None = None
    slack: float = 0.0

    def turns(self, g: Graph, y: str) -> str:
        """y L + b, each rounded."""
        assert self.lengths is not None
        assert self.phases is not None
        return g.chain(y, ("Mul", g.constant(self.lengths)), ("Add", g.constant(self.phases)))

    def bits(self, g: Graph, y: str, turn: str) -> str:
        """The bits of projections; ``turn`` is the sign that ties are turned with."""
        if self.phases is not None:
            return _cosine_bits(g, self.turns(g, y), self.thresholds)
        if self.ties is not None:
            near = g.add("LessOrEqual", g.add("Abs", y), g.constant(np.float32(self.slack)))
            y = g.add("Where", near, g.add("Mul", g.constant(self.ties), turn), y)
        return g.add("GreaterOrEqual", y, g.constant(np.float32(0)))

    def doubtful(self, g: Graph, y: str, bound: str, dtype: np.dtype[Any]) -> str:
        """Which bits could be others if a projection is wrong by at most its ``bound``."""
        if self.phases is None:
            return g.add("LessOrEqual", g.add("Abs", y), bound)
        assert self.lengths is not None
        edge, width = _edges(self.thresholds, len(self.phases))
        turns = self.turns(g, y)
        away = g.chain(_distance(g, turns), ("Sub", _single(g, edge)), ("Abs",))
        rounding = g.add("Mul", g.add("Abs", turns), g.constant(np.float32(4 * 2.0**-24)))
        most = g.chain(
            bound, ("Mul", g.constant(self.lengths)), ("Add", rounding), ("Add", _single(g, width))
        )
        return g.add("LessOrEqual", away, most)


def _edges(
    thresholds: NDArray[np.float32] | None, count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far from a whole turn a bit changes, and how far from there it is in doubt.

    The cosine is known up to `_COSINE_ERROR`, which is a wide range of turns where it is flat.
    """
    cosine = -(np.zeros(count) if thresholds is None else thresholds.astype(np.float64))
    far, edge, near = (
        np.arccos(np.clip(cosine + error, -1, 1)) / TURN
        for error in (-_COSINE_ERROR, 0.0, _COSINE_ERROR)
    )
    return edge, np.maximum(far - edge, edge - near) + 1e-6


def fourier_bits(g: Graph, rows: Rows, binary: Any) -> Bits:
    """The bits of `BinaryFourier`."""
    values = entered(g, rows, 1.0 / binary.bandwidth_)
    count = _n_drawn(binary)
    phases, thresholds = _phases(binary.seed_, count), None
    if binary.threshold:
        thresholds = np.empty(count, dtype=np.float32)
        _core.fill_thresholds(binary.seed_, thresholds)
    return _bits(g, values, binary, binary.projection, 1.0 / TURN, phases, thresholds, None)


def sign_bits(g: Graph, rows: Rows, signs: Any) -> Bits:
    """The bits of `SignProjection`."""
    kind = signs.projection_
    values = near_one(g, rows, DOUBLE if kind == "cauchy" else FLOAT)
    return _bits(g, values, signs, kind, 1.0, None, None, not_empty(g, rows))


def _n_drawn(feature_map: Any) -> int:
    """Slots up to the last one in use: a map may keep some of them."""
    slots = feature_map.slots_
    return int(feature_map.n_components) if slots is None else int(slots[-1]) + 1


def _bits(
    g: Graph,
    values: str,
    feature_map: Any,
    kind: str,
    factor: float,
    phases: NDArray[np.float32] | None,
    thresholds: NDArray[np.float32] | None,
    filled: str | None,
) -> Bits:
    slots, count = feature_map.slots_, _n_drawn(feature_map)
    own = np.arange(count) if slots is None else slots
    width, seed = feature_map.n_features_in_, feature_map.seed_
    phases, thresholds = (None if each is None else each[own] for each in (phases, thresholds))
    projection = projection_of(kind, width, count, seed, factor)
    if isinstance(projection, Structured):
        diagonals, places, lengths = projection.tables(resources(1))
        y = structured(g, values, projection, diagonals, places, slots)
        readout, turn = _Readout(phases, thresholds, lengths[own]), ""
        if phases is None and kind == "sorf":
            ties = np.empty(count, dtype=np.float32)
            _core.fill_ties(seed, ties)
            slack = min(projection.width / 16384.0, 1.0)
            readout, turn = _Readout(ties=ties[own], slack=slack), _first_sign(g, values)
        return Bits(readout.bits(g, y, turn), len(own), filled)
    assert isinstance(projection, DenseProjection)
    if slots is not None and not isinstance(projection, JointProjection):
        projection = Selected(kind, width, slots, seed, factor)
    directions = projection.directions(resources(1))
    directions = directions if directions.shape[1] == len(own) else directions[:, own]
    lengths = np.full(len(own), factor, dtype=np.float32)
    readout = _Readout(phases, thresholds, lengths)
    dtype = DOUBLE if kind == "cauchy" else FLOAT
    y = _dense(g, values, directions, readout, dtype)
    if dtype == DOUBLE:
        return Bits(g.add("GreaterOrEqual", y, g.constant(np.float64(0))), len(own), filled)
    return Bits(readout.bits(g, y, ""), len(own), filled)


def _first_sign(g: Graph, values: str) -> str:
    """-1 for rows whose first number that is not 0 is negative, else 1; a column."""
    zero = g.constant(np.float32(0))
    is_zero = g.cast(g.add("Equal", values, zero), np.int32)
    place = g.add("ArgMin", is_zero, axis=1, keepdims=1)
    below = g.add("Less", g.add("GatherElements", values, place, axis=1), zero)
    return g.add("Where", below, g.constant(np.float32(-1)), g.constant(np.float32(1)))


def _distance(g: Graph, turns: str) -> str:
    """The distance to the nearest whole turn, exactly."""
    return g.add("Abs", g.add("Sub", turns, g.add("Round", turns)))


def _cosine_bits(g: Graph, turns: str, thresholds: NDArray[np.float32] | None) -> str:
    """Whether cosine(turns) + t >= 0, with the polynomials of docs/projection-spec.md.

    cosine is an even function of period 1, in its digits too, so that it is one of the distance d
    to the nearest whole turn: c(d) up to 1/8, -s(d - 1/4) up to 3/8, then -c(d - 1/2). Without
    thresholds the bit is d <= 1/4.
    """
    d = _distance(g, turns)
    if thresholds is None:
        return g.add("LessOrEqual", d, g.constant(np.float32(0.25)))
    quarters = g.add("Round", g.add("Mul", d, g.constant(np.float32(4))))
    f = g.add("Sub", d, g.add("Mul", quarters, g.constant(np.float32(0.25))))
    z = g.add("Mul", f, f)
    c, s = (_polynomial(g, z, own) for own in (_COSINE, _SINE))
    one = g.constant(np.float32(1))
    beyond = g.add("Where", g.add("Equal", quarters, one), g.add("Mul", s, f), c)
    near = g.add("Less", quarters, one)
    cosine = g.add("Where", near, c, g.add("Neg", beyond))
    return g.add("GreaterOrEqual", cosine, g.constant(-thresholds))


def _polynomial(g: Graph, z: str, coefficients: tuple[float, ...]) -> str:
    first, *others = (g.constant(np.float32(each)) for each in coefficients)
    value = first
    for each in others:
        value = g.add("Add", g.add("Mul", value, z), each)
    return value


# -- Projections ---------------------------------------------------------------------------------


def structured(
    g: Graph,
    values: str,
    projection: Structured,
    diagonals: NDArray[np.float32],
    places: NDArray[np.int32] | None,
    slots: NDArray[np.int64] | None = None,
) -> str:
    """Three HD blocks, or Fastfood, in single precision and in the order of the specification."""
    width, n_blocks = projection.width, len(diagonals)
    if width > projection.n_features:
        ends = g.ints(0, 0, 0, width - projection.n_features)
        values = g.add("Pad", values, ends, g.constant(np.float32(0)))
    each_block = g.ints(0, n_blocks, width)
    y = g.add("Reshape", values, g.ints(0, 1, width))
    for turn in range(diagonals.shape[1]):
        if turn == 1 and places is not None:
            order = (places + width * np.arange(n_blocks)[:, None]).ravel()
            y = g.add("Reshape", y, g.ints(0, n_blocks * width))
            y = g.add("Gather", y, g.constant(order.astype(np.int64)), axis=1)
            y = g.add("Reshape", y, each_block)
        y = _hadamard(g, g.add("Mul", y, g.constant(diagonals[:, turn])), n_blocks, width)
    y = g.add("Reshape", y, g.ints(0, n_blocks * width))
    if slots is not None:
        return g.add("Gather", y, g.constant(slots), axis=1)
    if projection.n_outputs < n_blocks * width:
        y = g.add("Slice", y, g.ints(0), g.ints(projection.n_outputs), g.ints(1))
    return y


def _hadamard(g: Graph, y: str, n_blocks: int, width: int) -> str:
    """H y for the last axis, by stages for pairs 1, 2, 4, ... apart.

    The places of a group of stages are the last axis; then they move to the front of the others, so
    that after all groups each is where it was.
    """
    stages = width.bit_length() - 1
    n_groups = max(1, -(-stages // _GROUP))
    for group in np.array_split(np.arange(stages), n_groups):
        size = 1 << len(group)
        y = g.add("Reshape", y, g.ints(0, n_blocks, width // size, size))
        for stage in range(len(group)):
            y = g.add("MatMul", y, g.constant(_stage(size, 1 << stage)))
        if n_groups > 1:
            y = g.add("Transpose", y, perm=[0, 1, 3, 2])
    return g.add("Reshape", y, g.ints(0, n_blocks, width))


def _stage(size: int, apart: int) -> NDArray[np.float32]:
    """x -> x M with (x_i, x_j) -> (x_i + x_j, x_i - x_j) for all pairs this far apart."""
    matrix = np.zeros((size, size), dtype=np.float32)
    first = np.flatnonzero(np.arange(size) & apart == 0)
    second = first + apart
    matrix[first, first] = matrix[second, first] = matrix[first, second] = 1
    matrix[second, second] = -1
    return matrix


def _dense(
    g: Graph, values: str, directions: NDArray[np.float32], readout: _Readout, dtype: np.dtype[Any]
) -> str:
    """Projections whose bits are those of sums in the order of the features.

    Of a sum of d products, in any order, the rounding is at most d u |e| |w| up to second order, u
    half a unit in the last place.
    """
    d = len(directions)
    table = g.constant(directions.T.astype(dtype))
    y = g.add("Gemm", values, table, transB=1)
    unit = 2.2 * (d + 4) * float(np.finfo(dtype).eps) / 2
    lengths = unit * np.linalg.norm(directions.astype(np.float64), axis=0)
    length = g.add("ReduceL2", values, g.ints(1), keepdims=1)
    bound = g.add("Mul", length, g.constant(lengths.astype(dtype)))
    pairs = g.add("NonZero", readout.doubtful(g, y, bound, dtype))
    row, output = (g.add("Gather", pairs, g.constant(np.int64(at)), axis=0) for at in (0, 1))
    products = g.add(
        "Mul", g.add("Gather", values, row, axis=0), g.add("Gather", table, output, axis=0)
    )
    sums = g.add("CumSum", products, g.constant(np.int64(1)))
    sums = g.add("Gather", sums, g.constant(np.int64(d - 1)), axis=1)
    return g.add("ScatterND", y, g.add("Transpose", pairs, perm=[1, 0]), sums)
