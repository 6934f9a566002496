"""How rows enter a model in ONNX: missing numbers, column scalings, lengths, powers of two.

Scalings are computed as `core/scaling.h` does, in double precision and in its order, and rounded
once to the type of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.export.onnx.graph import DOUBLE, FLOAT, Graph, Rows
from kernelight.scaling import Scaling

_FARTHEST = 1e6  # as in scaling.h


def filled_in(g: Graph, rows: Rows, medians: NDArray[np.float64]) -> Rows:
    """Rows with a number of each column where one is missing (NaN)."""
    fill = g.constant(medians.astype(rows.dtype))
    return Rows(g.add("Where", g.add("IsNaN", rows.name), fill, rows.name), rows.width, rows.dtype)


def doubles(g: Graph, rows: Rows) -> str:
    """The rows in double precision."""
    return rows.name if rows.dtype == DOUBLE else g.cast(rows.name, DOUBLE)


def _rounded(g: Graph, values: str, dtype: np.dtype[Any]) -> str:
    return values if dtype == DOUBLE else g.cast(values, dtype)


def scaled(g: Graph, rows: Rows, scaling: Scaling) -> Rows:
    """The rows as a scaling leaves them, of the same type."""
    base = scaling.name.removesuffix("+complement")
    if base == "none" and scaling.weights is None:
        return rows
    values, weights = doubles(g, rows), scaling.weights
    if base == "none":
        most = float(np.finfo(rows.dtype).max)
        values = g.add("Mul", values, g.constant(weights))
        values = g.add("Clip", values, g.constant(np.float64(-most)), g.constant(np.float64(most)))
        return Rows(_rounded(g, values, rows.dtype), rows.width, rows.dtype)
    if base == "quantile":
        values = _ranks(g, values, scaling)
        varies = np.diff(scaling.arrays["starts"]) > 0
    else:
        least = 0.0 if scaling.name == "minmax" else -_FARTHEST
        values, varies = _units(g, values, scaling, base, least)
    complements = scaling.n_features_out > scaling.n_features
    if complements:
        zero, one = g.constant(np.float64(0)), g.constant(np.float64(1))
        other = g.add("Sub", one, values)
        values = g.add("Max", values, zero)
        has_one = varies & (scaling.arrays.get("complements", np.ones(len(varies))) > 0)
        other = g.add("Mul", g.add("Max", other, zero), g.constant(has_one.astype(np.float64)))
        values = g.add("Concat", values, other, axis=1)
    if weights is not None:
        values = g.add("Mul", values, g.constant(np.tile(weights, 1 + complements)))
    limits = None
    if base != "standard":  # of training rows
        limits = np.ones(scaling.n_features_out, rows.dtype)
        limits *= 1 if weights is None else np.tile(weights, 1 + complements).astype(rows.dtype)
    values, nonnegative = _rounded(g, values, rows.dtype), base in ("minmax", "quantile")
    return Rows(values, scaling.n_features_out, rows.dtype, nonnegative, limits)


def _units(
    g: Graph, values: str, scaling: Scaling, base: str, least: float
) -> tuple[str, NDArray[np.bool_]]:
    """(x - origin) / unit, between a number and 1e6; 0 where the unit is 0."""
    arrays = scaling.arrays
    names = {"minmax": ("low", "span"), "standard": ("mean", "deviation"), "max": (None, "peak")}
    first, second = names[base]
    unit = arrays[second]
    varies = unit > 0
    if first is not None:
        values = g.add("Sub", values, g.constant(np.where(varies, arrays[first], 0.0)))
    values = g.add("Div", values, g.constant(np.where(varies, unit, np.inf)))
    ends = g.constant(np.float64(least)), g.constant(np.float64(_FARTHEST))
    return g.add("Clip", values, *ends), varies


def _ranks(g: Graph, values: str, scaling: Scaling) -> str:
    """The line through the ranks of the two knots around each value.

    The last knot that is not above a value is found by bisection in a table of as many knots for
    each column, a power of two: infinity stands behind the last.
    """
    knots, ranks, starts = (scaling.arrays[name] for name in ("knots", "ranks", "starts"))
    counts = np.diff(starts)
    size = 1 << int(max(int(counts.max(initial=1)) - 1, 1)).bit_length()
    table = np.full((len(counts), size), np.inf)
    origin, height, slope = (np.zeros((len(counts), size)) for _ in range(3))
    for column, (start, n_knots) in enumerate(zip(starts[:-1], counts, strict=True)):
        if not n_knots:
            continue  # constant: height and slope 0
        own, of_own = knots[start : start + n_knots], ranks[start : start + n_knots]
        table[column, :n_knots] = own
        origin[column, :n_knots], height[column, :n_knots] = own, of_own
        with np.errstate(over="ignore"):
            rise = np.diff(of_own) / np.diff(own)
        slope[column, : n_knots - 1] = np.minimum(rise, np.finfo(np.float64).max)
    flat = g.constant(table.ravel())
    first = g.constant((np.arange(len(counts)) * size)[None].astype(np.int64))
    at = first
    step = size // 2
    while step:
        further = g.add("Add", at, g.ints(step))
        reached = g.add("LessOrEqual", g.add("Gather", flat, further), values)
        at = g.add("Where", reached, further, at)
        step //= 2
    away = g.add("Sub", values, g.add("Gather", g.constant(origin.ravel()), at))
    # below the first knot there is no line: its rank is that of the smallest value
    away = g.add("Max", away, g.constant(np.float64(0)))
    line = g.add("Mul", g.add("Gather", g.constant(slope.ravel()), at), away)
    return g.add("Add", line, g.add("Gather", g.constant(height.ravel()), at))


def not_empty(g: Graph, rows: Rows) -> str:
    """Which rows are not all zeros, as a column."""
    sizes = rows.name if rows.nonnegative else g.add("Abs", rows.name)
    peak = g.add("ReduceMax", sizes, g.ints(1), keepdims=1)
    return g.add("Greater", peak, g.constant(np.array(0, rows.dtype)))


def unit_length(g: Graph, rows: Rows) -> str:
    """Rows at Euclidean length 1, in double precision; rows of zeros stay."""
    values = doubles(g, rows)
    one = g.constant(np.float64(1))
    peak = g.add("ReduceMax", g.add("Abs", values), g.ints(1), keepdims=1)
    some = g.add("Greater", peak, g.constant(np.float64(0)))
    values = g.add("Div", values, g.add("Where", some, peak, one))
    squares = g.add("ReduceSumSquare", values, g.ints(1), keepdims=1)
    return g.add("Div", values, g.add("Sqrt", g.add("Max", squares, one)))


def unit_sum(g: Graph, rows: Rows) -> str:
    """Rows of absolute sum 1, in double precision; rows of zeros stay."""
    values = doubles(g, rows)
    total = g.add("ReduceSum", g.add("Abs", values), g.ints(1), keepdims=1)
    some = g.add("Greater", total, g.constant(np.float64(0)))
    return g.add("Div", values, g.add("Where", some, total, g.constant(np.float64(1))))


def entered(g: Graph, rows: Rows, factor: float) -> str:
    """(float)(x * factor), the product in double precision."""
    return g.cast(g.add("Mul", doubles(g, rows), g.constant(np.float64(factor))), FLOAT)


def near_one(g: Graph, rows: Rows, dtype: np.dtype[Any]) -> str:
    """Rows times the power of two that brings their largest size to [1, 2), exactly.

    The power of rows of zeros does not matter. As in `core/project.h` it is at most 2^1023.
    """
    info = np.finfo(rows.dtype)
    lowest, highest = int(np.log2(float(info.smallest_subnormal))), int(info.maxexp) - 1
    exponents = np.arange(lowest, highest + 1)
    powers = np.ldexp(1.0, np.minimum(-exponents, 1023))
    peak = g.add("ReduceMax", g.add("Abs", rows.name), g.ints(1), keepdims=1)
    reached = g.add(
        "GreaterOrEqual", peak, g.constant(np.ldexp(1.0, exponents)[1:].astype(rows.dtype))
    )
    place = g.add("ReduceSum", g.cast(reached, np.int32), g.ints(1), keepdims=1)
    power = g.add("Gather", g.constant(powers), place)
    values = g.add("Mul", doubles(g, rows), power)
    return values if dtype == DOUBLE else g.cast(values, dtype)
