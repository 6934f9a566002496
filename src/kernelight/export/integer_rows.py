"""How a row of 16-bit integers enters the integer path: as it is, or scaled in fixed point.

A column that the model scales as w (x - origin) / unit becomes, with a factor S for all columns,

    e = w S (x - origin) / unit = ((2^q x - o) m + 2^(s - 1)) >> s,

cut to a range: o and m are whole numbers of the column, q is 16 where an origin is not whole, else
0. The range is as wide as sums of 32 bits allow, at least 16 bits, and S is such that the numbers
of the rows seen take half of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelight.export.c_text import filled, table
from kernelight.scaling import Scaling

INT16 = 32767
_FRACTION = 16  # bits of an origin that is not whole
_MULTIPLIER = 2**30
_MOST = 2**20 - 1

_SCALED = """\
/* Columns of the row as the model scales them, times $unit. */
static inline void ${n}_scale(const int16_t *row, $entering *e) {
    uint32_t i;
    for (i = 0; i < ${columns}u; ++i) {
        const int64_t v = (((int64_t)row[i] * $fraction - ${n}_origin[i]) * ${n}_factor[i] +
                           INT64_C($half)) >> $shift;
        e[i] = ($entering)(v < $low ? $low : v > $high ? $high : v);
$complement    }
}

"""

_COMPLEMENT = """\
        {
            const int64_t u = ${n}_one[i] - v;
            e[i + ${columns}u] = ($entering)(u < 0 ? 0 : u > $high ? $high : u);
        }
"""

_CUT = """\
/* Numbers of a row beyond $high are cut to it, so that no sum leaves 32 bits. */
static inline void ${n}_scale(const int16_t *row, int16_t *e) {
    uint32_t i;
    for (i = 0; i < ${columns}u; ++i)
        e[i] = (int16_t)(row[i] < -$high ? -$high : row[i] > $high ? $high : row[i]);
}

"""


@dataclass(frozen=True, eq=False)
class IntegerRows:
    """The first step of the integer path; without a scaling, ``factor`` is None."""

    n_columns: int
    n_out: int
    high: int  # the largest size of a number that leaves
    unit: float = 1.0  # S
    low: int = -INT16
    fraction: int = 0
    shift: int = 0
    origin: NDArray[np.int64] | None = None
    factor: NDArray[np.int64] | None = None
    one: NDArray[np.int64] | None = None  # of complements

    @classmethod
    def of(cls, scaling: Scaling, seen: NDArray[np.float64], most: int) -> IntegerRows:
        """The entrance of a scaling; ``most``: the largest numbers whose sums are exact."""
        d = scaling.n_features
        if scaling.name == "none" and scaling.weights is None:
            peak = float(np.abs(seen).max(initial=1.0))
            high = 2 * 2 ** math.ceil(math.log2(peak)) - 1
            high = 32768 if most >= 32768 else min(INT16, max(high, most))
            return cls(d, d, high)
        origin, unit, weights = affine(scaling)
        peak = float(np.abs(scaling(seen)).max(initial=0.0)) or 1.0
        high = max(INT16, min(most, _MOST))
        size = 2.0 ** math.floor(math.log2(high / 2 / peak))
        slopes = np.divide(weights * size, unit, out=np.zeros(d), where=unit > 0)
        fraction = fraction_of(origin)
        steepest = float(slopes.max(initial=0.0)) or 1.0
        shift = min(56, math.floor(math.log2(_MULTIPLIER / steepest)) + fraction)
        complemented = scaling.n_features_out > d
        one = np.where(unit > 0, np.rint(weights * size), 0.0).astype(np.int64)
        return cls(
            d,
            scaling.n_features_out,
            high,
            size,
            0 if scaling.name.startswith("minmax") else -high,
            fraction,
            max(shift, 1),
            np.rint(np.ldexp(origin, fraction)).astype(np.int64),
            np.rint(np.ldexp(slopes, max(shift, 1) - fraction)).astype(np.int64),
            one if complemented else None,
        )

    @property
    def is_copied(self) -> bool:
        """Whether the numbers that enter stand in a table of their own."""
        return self.factor is not None or self.high <= INT16

    @property
    def entering(self) -> str:
        """The type of the numbers that enter, where they are copied."""
        return "int16_t" if self.high <= INT16 else "int32_t"

    def __call__(self, rows: NDArray[np.int16]) -> NDArray[np.int64]:
        """The numbers that enter."""
        x = rows.astype(np.int64)
        if self.factor is None or self.origin is None:
            return np.asarray(np.clip(x, -self.high, self.high))
        v = ((x << self.fraction) - self.origin) * self.factor
        v = (v + (1 << (self.shift - 1))) >> self.shift
        own = np.asarray(np.clip(v, self.low, self.high))
        if self.one is None:
            return own
        return np.hstack([own, np.clip(self.one - v, 0, self.high)])

    def source(self, n: str) -> str:
        """Tables, and the function ``n_scale`` where numbers are copied."""
        if not self.is_copied:
            return ""
        if self.factor is None or self.origin is None:
            return filled(_CUT, n=n, columns=self.n_columns, high=self.high)
        text = table(self._origin_type, f"{n}_origin", self.origin)
        text += table("int32_t", f"{n}_factor", self.factor)
        complement = ""
        if self.one is not None:
            text += table(self.entering, f"{n}_one", self.one)
            complement = filled(
                _COMPLEMENT, n=n, columns=self.n_columns, high=self.high, entering=self.entering
            )
        return text + filled(
            _SCALED,
            n=n,
            entering=self.entering,
            unit=f"{self.unit:g}",
            columns=self.n_columns,
            fraction=1 << self.fraction,
            half=1 << (self.shift - 1),
            shift=self.shift,
            low=self.low,
            high=self.high,
            complement=complement,
        )

    @property
    def _origin_type(self) -> str:
        assert self.origin is not None
        return "int16_t" if np.abs(self.origin).max(initial=0) <= INT16 else "int32_t"

    @property
    def flash(self) -> dict[str, int]:
        """Bytes of the tables."""
        if self.factor is None:
            return {}
        each = 4 + _bytes(self._origin_type) + (0 if self.one is None else _bytes(self.entering))
        return {"scaling": each * self.n_columns}

    @property
    def ram(self) -> int:
        """Bytes of the copied row."""
        return _bytes(self.entering) * self.n_out if self.is_copied else 0


def fraction_of(origin: NDArray[np.float64]) -> int:
    """Bits behind the point of origins, so that they fit 32 bits: 0 if all are whole."""
    largest = float(np.abs(origin).max(initial=0.0))
    if largest > 2**31 - 1:
        raise ValueError(
            f"A column is scaled from {largest:g}, which rows='int16' does not hold: subtract that "
            "from the rows before training, or use rows='float32'."
        )
    if (origin == np.rint(origin)).all():
        return 0
    return min(_FRACTION, math.floor(math.log2((2**31 - 1) / max(largest, 1.0))))


def _bytes(ctype: str) -> int:
    """Bytes of an integer type such as int16_t."""
    return int(ctype.removeprefix("u")[3:-2]) // 8


def affine(
    scaling: Scaling,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """origin, unit and weight of each column; a unit of 0 is that of a constant column."""
    ones, zeros = np.ones(scaling.n_features), np.zeros(scaling.n_features)
    arrays = scaling.arrays
    base = scaling.name.removesuffix("+complement")
    names = {"max": ("", "peak"), "minmax": ("low", "span"), "standard": ("mean", "deviation")}
    origin, unit = (arrays.get(name) for name in names.get(base, ("", "")))
    origin, unit = zeros if origin is None else origin, ones if unit is None else unit
    return origin, unit, ones if scaling.weights is None else scaling.weights
