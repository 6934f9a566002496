"""How a row enters `IntegerFourier` in C: each number as a phase, a whole number modulo 2^16.

With the step g of the map, a column that the model scales as w (x - origin) / unit enters as

    floor(g w (x - origin) / unit + 1/2) mod 2^16.

Rows of 16-bit integers do that in fixed point, ((2^q x - o) m + 2^(s - 1)) >> s with whole numbers
o and m of the column; without a scaling m is that of the map and nothing is rounded twice, so that
phases are those of Python. Rows of floats do it in double precision, as Python does.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelight.export.c_text import double_text, filled, table
from kernelight.export.float_scaling import FloatScaling
from kernelight.export.integer_rows import affine, fraction_of
from kernelight.scaling import Scaling

_MULTIPLIER = 2**30
_LARGEST = 2**31 - 1
_INT16 = 32767

_WHOLE = """\
/* Numbers of the row as phases. */
static inline void ${n}_enter(const int16_t *row, uint16_t *x) {
    uint32_t i;
    for (i = 0; i < ${columns}u; ++i) x[i] = (uint16_t)($phase);
}

"""

_SCALED = """\
/* Columns of the row as the model scales them, as phases. */
static inline void ${n}_enter(const int16_t *row, uint16_t *x) {
    uint32_t i;
    for (i = 0; i < ${columns}u; ++i) {
        const int64_t u = (int64_t)row[i] * $fraction - ${n}_origin[i];
        const int64_t v = (u * ${n}_factor[i] + INT64_C($half)) >> $shift;
        x[i] = (uint16_t)$own;
$complement    }
}

"""

_COMPLEMENT = """\
        {
            const int64_t w = ((${n}_span[i] - u) * ${n}_factor[i] + INT64_C($half)) >> $shift;
            x[i + ${columns}u] = (uint16_t)(w < 0 ? 0 : w);
        }
"""

_FLOATS = """\
/* Numbers of the row as phases. */
static inline void ${n}_enter(const float *row, uint16_t *x) {
    uint32_t i;
$scaled    for (i = 0; i < ${entering}u; ++i) {
        const double t = (double)$source[i] * $step + 0.5;
        /* no row that Python takes is further away */
        const int64_t below = t > -4e18 && t < 4e18 ? (int64_t)t : 0;
        x[i] = (uint16_t)(below - ((double)below > t));
    }
}

"""


class PhaseRows(ABC):
    """The first step of `IntegerFourier` in C and in NumPy."""

    n_out: int

    @abstractmethod
    def __call__(self, rows: NDArray[np.generic]) -> NDArray[np.int64]:
        """The phases of the numbers of rows, before they are taken modulo 2^16."""

    @abstractmethod
    def source(self, n: str) -> str:
        """Tables, and the function ``n_enter``."""

    @property
    @abstractmethod
    def flash(self) -> dict[str, int]:
        """Bytes of the tables."""

    @property
    def ram(self) -> int:
        """Bytes of arrays beside the phases."""
        return 0


@dataclass(frozen=True, eq=False)
class WholeRows(PhaseRows):
    """Rows of 16-bit integers that no scaling changes."""

    n_out: int
    multiplier: int
    exponent: int

    def __call__(self, rows: NDArray[np.generic]) -> NDArray[np.int64]:
        x = rows.astype(np.int64) * self.multiplier
        if self.exponent >= 0:
            return np.asarray(x << min(self.exponent, 16))
        return np.asarray((x + (1 << (self._shift - 1))) >> self._shift)

    @property
    def _shift(self) -> int:
        """To the right; products are below 2^31, so that a larger one changes nothing."""
        return min(-self.exponent, 40)

    def source(self, n: str) -> str:
        if self.exponent >= 0:
            factor = self.multiplier << min(self.exponent, 16)
            phase = f"(uint32_t)row[i] * {factor % 2**32}u"
        else:
            half = 1 << (self._shift - 1)
            wide = _INT16 * self.multiplier + half > _LARGEST
            x = "(int64_t)row[i]" if wide else "row[i]"
            half_text = f"INT64_C({half})" if wide else str(half)
            phase = f"({x} * {self.multiplier} + {half_text}) >> {self._shift}"
        return filled(_WHOLE, n=n, columns=self.n_out, phase=phase)

    @property
    def flash(self) -> dict[str, int]:
        return {}


@dataclass(frozen=True, eq=False)
class ScaledRows(PhaseRows):
    """Rows of 16-bit integers that are scaled in fixed point."""

    n_columns: int
    n_out: int
    origin: NDArray[np.int64]
    factor: NDArray[np.int64]
    fraction: int
    shift: int
    cut: bool  # what is below the origin counts as 0
    span: NDArray[np.int64] | None  # 2^q times the unit, where complements enter, too

    @classmethod
    def of(cls, scaling: Scaling, step: float) -> ScaledRows:
        """The fixed point of a scaling; ``step``: phases of 1."""
        origin, unit, weights = affine(scaling)
        slopes = np.divide(weights * step, unit, out=np.zeros(len(unit)), where=unit > 0)
        fraction = fraction_of(origin)
        steepest = float(slopes.max(initial=0.0)) or 1.0
        shift = max(1, min(56, math.floor(math.log2(_MULTIPLIER / steepest)) + fraction))
        factor = np.rint(np.ldexp(slopes, shift - fraction)).astype(np.int64)
        if np.abs(factor).max(initial=0) > _LARGEST:
            raise ValueError(
                "A column spans so little that fixed point does not hold its scaling: train on "
                "rows in other units (10 x, rounded), or use rows='float32'."
            )
        complemented = scaling.n_features_out > scaling.n_features
        span = np.rint(np.ldexp(unit, fraction)).astype(np.int64)
        return cls(
            scaling.n_features,
            scaling.n_features_out,
            np.rint(np.ldexp(origin, fraction)).astype(np.int64),
            factor,
            fraction,
            shift,
            scaling.name.startswith("minmax"),
            span if complemented else None,
        )

    def __call__(self, rows: NDArray[np.generic]) -> NDArray[np.int64]:
        u = (rows.astype(np.int64) << self.fraction) - self.origin
        half = 1 << (self.shift - 1)
        v = (u * self.factor + half) >> self.shift
        own = np.maximum(v, 0) if self.cut else v
        if self.span is None:
            return np.asarray(own)
        w = ((self.span - u) * self.factor + half) >> self.shift
        return np.hstack([own, np.maximum(w, 0)])

    def source(self, n: str) -> str:
        text = table(self._origin_type, f"{n}_origin", self.origin)
        text += table("int32_t", f"{n}_factor", self.factor)
        complement = ""
        if self.span is not None:
            text += table("int64_t", f"{n}_span", self.span, lambda value: f"INT64_C({value})")
            complement = filled(
                _COMPLEMENT,
                n=n,
                columns=self.n_columns,
                half=1 << (self.shift - 1),
                shift=self.shift,
            )
        return text + filled(
            _SCALED,
            n=n,
            columns=self.n_columns,
            fraction=1 << self.fraction,
            half=1 << (self.shift - 1),
            shift=self.shift,
            own="(v < 0 ? 0 : v)" if self.cut else "v",
            complement=complement,
        )

    @property
    def _origin_type(self) -> str:
        return "int16_t" if np.abs(self.origin).max(initial=0) <= _INT16 else "int32_t"

    @property
    def flash(self) -> dict[str, int]:
        each = 4 + (2 if self._origin_type == "int16_t" else 4) + (0 if self.span is None else 8)
        return {"scaling": each * self.n_columns}


@dataclass(frozen=True, eq=False)
class FloatRows(PhaseRows):
    """Rows of floats, in double precision as in Python."""

    scaling: FloatScaling
    step: float

    @property
    def n_out(self) -> int:  # type: ignore[override]
        return self.scaling.n_out

    def __call__(self, rows: NDArray[np.generic]) -> NDArray[np.int64]:
        x = self.scaling(rows).astype(np.float64)
        turned = np.floor(x * self.step + 0.5)
        return np.where(np.abs(turned) < 4e18, turned, 0.0).astype(np.int64)

    def source(self, n: str) -> str:
        scaled = ""
        if not self.scaling.is_none:
            scaled = f"    float e[{self.n_out}];\n    {n}_scale(row, e);\n"
        return self.scaling.source(n) + filled(
            _FLOATS,
            n=n,
            entering=self.n_out,
            source="row" if self.scaling.is_none else "e",
            step=double_text(self.step),
            scaled=scaled,
        )

    @property
    def flash(self) -> dict[str, int]:
        return self.scaling.flash

    @property
    def ram(self) -> int:
        return 0 if self.scaling.is_none else 4 * self.n_out


def phase_rows(scaling: Scaling, rows: str, multiplier: int, exponent: int) -> PhaseRows:
    """The first step for rows "int16" or "float32", with a step of multiplier 2^exponent."""
    step = math.ldexp(multiplier, exponent)
    if rows == "float32":
        return FloatRows(FloatScaling(scaling), step)
    if scaling.name == "none" and scaling.weights is None:
        return WholeRows(scaling.n_features, multiplier, exponent)
    return ScaledRows.of(scaling, step)
