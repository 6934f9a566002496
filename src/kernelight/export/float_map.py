"""Bits of a row of floats, equal to those of Python: the definition itself, in C.

Every operation is that of docs/projection-spec.md, rounded once in its type and in its order.
Lengths and phases are stored; signs of diagonals are made from the seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.export.c_text import (
    CHILD,
    double_text,
    filled,
    float_text,
    key_text,
    stream_key,
    table,
)
from kernelight.export.float_scaling import FloatScaling
from kernelight.export.model_parts import projection_kind
from kernelight.maps.projections.projection import TURN, padded_width
from kernelight.scaling import Scaling

_HADAMARD, _FASTFOOD, _PHASE, _TIE = 6, 8, 9, 18  # streams of docs/projection-spec.md

GUARD = """\
#if defined(__FAST_MATH__)
#error "$n.h: -ffast-math (-Ofast) would change predictions: compile without it"
#endif
#if defined(FLT_EVAL_METHOD) && (FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2)
#error "$n.h: floats are not rounded as floats: use -fexcess-precision=fast, or -mfpmath=sse"
#endif
/* Multiply and add must not be fused, or predictions change. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#elif defined(__STDC_VERSION__)
#pragma STDC FP_CONTRACT OFF
#endif

"""
UNGUARD = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
"""

_TRANSFORM = """\
/* x = H x for $width numbers. */
static inline void ${n}_hadamard(float *x) {
    uint32_t h, b, i;
    for (h = 1; h < ${width}u; h *= 2)
        for (b = 0; b < ${width}u; b += 2 * h)
            for (i = b; i < b + h; ++i) {
                const float p = x[i], q = x[i + h];
                x[i] = p + q;
                x[i + h] = p - q;
            }
}

/* x = H (s o x): the signs s are the bits of the words of a key. */
static inline void ${n}_turn(float *x, uint64_t key) {
    uint32_t i;
    uint64_t w = 0;
    for (i = 0; i < ${width}u; ++i, w >>= 1) {
        if ((i & 63u) == 0u) w = ${n}_child(key, i >> 6);
        if (w & 1u) x[i] = -x[i];
    }
    ${n}_hadamard(x);
}

"""

_COSINE = """\
/* Whether cos(2 pi y) + t is at least 0. */
static inline uint32_t ${n}_near(float y, float t) {
    const float shift = 12582912.0f;
    const float shifted = 4.0f * y + shift;
    const float back = 0.25f * (shifted - shift);
    const float f = y - back;
    const float z = f * f;
    uint32_t quarter;
    float v;
    memcpy(&quarter, &shifted, sizeof quarter);
    if (quarter & 1u) {
        v = 42.058693f;
        v = v * z - 76.705860f;
        v = v * z + 81.605249f;
        v = v * z - 41.341702f;
        v = v * z + 6.2831853f;
        v = v * f;
    } else {
        v = 60.244641f;
        v = v * z - 85.456817f;
        v = v * z + 64.939394f;
        v = v * z - 19.739209f;
        v = v * z + 1.0f;
    }
    if ((quarter + 1u) & 2u) v = -v;
    return v + t >= 0.0f;
}

"""

_FOURIER_ENTER = (
    "    for (i = 0; i < ${entering}u; ++i) e[i] = (float)((double)$source[i] * $factor);\n"
)

_SIGN_ENTER = """\
    /* a power of two brings the largest number to [1, 2) */
    float top = 0.0f;
    double power;
    uint64_t bits;
    for (i = ${entering}u; i-- > 0;) {
        const float v = $source[i], size = v < 0.0f ? -v : v;
        if (size > top) top = size;
    }
    if (!(top > 0.0f)) return $empty;
    power = (double)top;
    memcpy(&bits, &power, sizeof bits);
    bits = (UINT64_C(2046) - (bits >> 52)) << 52;
    memcpy(&power, &bits, sizeof power);
    for (i = 0; i < ${entering}u; ++i) e[i] = (float)((double)$source[i] * power);
"""

_TURN = """\
    /* the first number that is not 0 turns ties */
    float turn = 1.0f;
    for (i = ${entering}u; i-- > 0;)
        if (e[i] < 0.0f || e[i] > 0.0f) turn = e[i] < 0.0f ? -1.0f : 1.0f;
"""

_PREDICT = """\
/* The index of the class of a row of $columns numbers. */
static inline int ${n}_predict(const float *row) {
    float e[$entering], x[$width];
    uint32_t z[$words], i, j = 0, block;
$begin    for (i = 0; i < ${words}u; ++i) z[i] = 0;
    for (block = 0; block < ${blocks}u; ++block) {
        const uint64_t key = ${n}_child($key, block);
        for (i = 0; i < ${entering}u; ++i) x[i] = e[i];
        for (; i < ${width}u; ++i) x[i] = 0.0f;
$project        for (i = 0; i < ${width}u && j < ${slots}u; ++i, ++j) {
$bit            z[j >> 5] |= bit << (j & 31u);
        }
    }
    return ${n}_class(z);
}

"""

_SORF = """\
        for (i = 0; i < 3; ++i) ${n}_turn(x, ${n}_child(key, i));
"""

_FASTFOOD_TURN = """\
        ${n}_turn(x, ${n}_child(key, 0));
        for (i = 0; i < ${width}u; ++i)
            y[i] = ${n}_normal[block * ${width}u + i] * x[${n}_place[block * ${width}u + i]];
        for (i = 0; i < ${width}u; ++i) x[i] = y[i];
        ${n}_hadamard(x);
"""

_SIGN_BIT = """\
            uint32_t bit = x[i] >= 0.0f;
"""

_TIED_BIT = """\
            const float tie = ${n}_child($tie, j >> 6) >> (j & 63u) & 1u ? -1.0f : 1.0f;
            const float size = x[i] < 0.0f ? -x[i] : x[i];
            const uint32_t bit = (size <= $slack ? tie * turn : x[i]) >= 0.0f;
"""


@dataclass(frozen=True, eq=False)
class FloatMap:
    """The bits of `BinaryFourier` or `SignProjection` by structured projections, as Python's."""

    scaling: Scaling
    feature_map: Any
    phases: str

    @property
    def width(self) -> int:
        """Of a padded row."""
        return padded_width(self.feature_map.n_features_in_, self._kind)

    @property
    def n_slots(self) -> int:
        """Bits of a row."""
        return int(self.feature_map.n_components)

    @property
    def _is_fourier(self) -> bool:
        return hasattr(self.feature_map, "bandwidth_")

    @property
    def _kind(self) -> str:
        return projection_kind(self.feature_map)

    @property
    def _scaled(self) -> FloatScaling:
        return FloatScaling(self.scaling)

    @property
    def n_out(self) -> int:
        """Columns that enter."""
        return self.scaling.n_features_out

    def bits(self, X: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """The bits of rows: those of Python, by definition."""
        codes = self.feature_map.encode(self._scaled(X))
        return np.asarray(codes.array, dtype=np.uint8), np.asarray(codes.empty)

    def _drawn(self) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any]]:
        """Diagonals, places of permutations and lengths."""
        seed, width = int(self.feature_map.seed_), self.width
        blocks, root = -(-self.n_slots // width), math.sqrt(width)
        factor = 1.0 / TURN if self._is_fourier else 1.0
        lengths = np.empty(self.n_slots, dtype=np.float32)
        if self._kind == "sorf":
            diagonal = np.empty((blocks, 3, width), dtype=np.float32)
            _core.fill_three_hd(seed, diagonal, lengths, factor / (width * root), 1)
            return diagonal, None, lengths
        diagonal = np.empty((blocks, 2, width), dtype=np.float32)
        places = np.empty((blocks, width), dtype=np.int32)
        _core.fill_fastfood(seed, diagonal, places, lengths, factor / root, 1)
        return diagonal, places, lengths

    def source(self, n: str, empty: int) -> str:
        """Tables, and the function ``n_predict``; ``n_class`` must stand before."""
        seed, width = int(self.feature_map.seed_), self.width
        text = filled(CHILD, n=n) + self._scaled.source(n)
        diagonal, places, lengths = self._drawn()
        if places is not None:
            text += table("float", f"{n}_normal", diagonal[:, 1].ravel(), float_text)
            text += table(self._place_type, f"{n}_place", places.ravel())
        if self._is_fourier:
            text += table("float", f"{n}_length", lengths, float_text)
            text += self._readout_tables(n) + filled(_COSINE, n=n)
        text += filled(_TRANSFORM, n=n, width=width)
        source = "row" if self._scaled.is_none else "e"
        begin = "" if places is None else f"    float y[{width}];\n"
        parts = {"n": n, "width": width, "entering": self.n_out, "source": source, "empty": empty}
        if not self._scaled.is_none:
            begin += f"    {n}_scale(row, e);\n"
        if self._is_fourier:
            factor = double_text(1.0 / self.feature_map.bandwidth_)
            begin += filled(_FOURIER_ENTER, **parts, factor=factor)
        else:
            begin += filled(_SIGN_ENTER + (_TURN if self._kind == "sorf" else ""), **parts)
        stream = _HADAMARD if places is None else _FASTFOOD
        return text + filled(
            _PREDICT,
            **parts,
            columns=self.scaling.n_features,
            words=-(-self.n_slots // 32),
            blocks=-(-self.n_slots // width),
            slots=self.n_slots,
            begin=begin,
            key=key_text(stream_key(seed, stream)),
            project=filled(_SORF if places is None else _FASTFOOD_TURN, n=n, width=width),
            bit=self._bit_source(n),
        )

    def _bit_source(self, n: str) -> str:
        seed = int(self.feature_map.seed_)
        if not self._is_fourier:
            if self._kind != "sorf":
                return _SIGN_BIT
            slack = min(self.width / 16384.0, 1.0)
            tie = key_text(stream_key(seed, _TIE))
            return filled(_TIED_BIT, n=n, tie=tie, slack=float_text(slack))
        phase = f"{n}_phase[j]"
        if self.phases == "seed":
            word = f"{n}_child({key_text(stream_key(seed, _PHASE))}, j) >> 32"
            phase = f"(float)(((double)(uint32_t)({word}) + 0.5) * {double_text(2.0**-32)})"
        threshold = f"{n}_threshold[j]" if self.feature_map.threshold else "0.0f"
        return (
            f"            const float turns = x[i] * {n}_length[j];\n"
            f"            const uint32_t bit =\n"
            f"                {n}_near(turns + {phase}, {threshold});\n"
        )

    def _readout_tables(self, n: str) -> str:
        seed, text = int(self.feature_map.seed_), ""
        numbers = np.empty(self.n_slots, dtype=np.float32)
        if self.phases == "table":
            _core.fill_phases(seed, numbers)
            text += table("float", f"{n}_phase", numbers, float_text)
        if self.feature_map.threshold:
            _core.fill_thresholds(seed, numbers)
            text += table("float", f"{n}_threshold", numbers, float_text)
        return text

    @property
    def _place_type(self) -> str:
        return "uint8_t" if self.width <= 256 else "uint16_t"

    @property
    def flash(self) -> dict[str, int]:
        """Bytes of the tables, part by part."""
        parts = dict(self._scaled.flash)
        places = -(-self.n_slots // self.width) * self.width
        if self._kind == "fastfood":
            parts["Gaussian factors"] = 4 * places
            parts["permutations"] = int(self._place_type[4:-2]) // 8 * places
        if self._is_fourier:
            parts["lengths"] = 4 * self.n_slots
            if self.phases == "table":
                parts["phases"] = 4 * self.n_slots
            if self.feature_map.threshold:
                parts["thresholds"] = 4 * self.n_slots
        return parts

    @property
    def ram(self) -> int:
        """Bytes of the arrays on the stack."""
        rows = self.n_out + self.width * (2 if self._kind == "fastfood" else 1)
        return 4 * (rows + -(-self.n_slots // 32))
