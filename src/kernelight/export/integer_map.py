"""Bits of a row by integers alone: three Hadamard transforms in 32 bits, phases modulo 2^32.

A row of 16-bit integers e of length |e| leaves sorf as y = H D2 H D1 H D0 e, W wide: whole numbers
of at most W^1.5 |e|, exact while that is below 2^31. Where it is not, they are rounded by some bits
before the last transform.

`BinaryFourier`: y L turns of the circle are f = y l 2^-s modulo 2^32, l of 16 bits; with the phase
b, the bit says whether f + b lies within a quarter of a turn of a whole turn (with a threshold t,
within arccos(-t) / (2 pi) turns). `SignProjection`: the bit is the sign of y; a y of
almost 0 counts as the sign that the seed gives it.

The map has two forms, C and NumPy, made of the same integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.export.c_text import CHILD, child, children, filled, key_text, stream_key, table
from kernelight.export.integer_rows import IntegerRows
from kernelight.maps.projections.projection import TURN, padded_width
from kernelight.scaling import Scaling

_HADAMARD, _PHASE, _TIE = 6, 9, 18  # streams of docs/projection-spec.md
_LARGEST = 2**31 - 1
_TIED = 14  # a |y| of at most W / 2^14 times the largest number's power of two is a tie

_TRANSFORM = """\
/* x = H (s o x) for a row of $width numbers and their signs, a bit each: 1 is negative. */
static inline void ${n}_turn(int32_t *x, const uint32_t *s) {
    uint32_t h, i;
    int32_t *p;
    for (i = 0; i < ${width}u; i += 2) {
        const uint32_t g = s[i >> 5] >> (i & 31u);
        const int32_t a = g & 1u ? -x[i] : x[i], b = g & 2u ? -x[i + 1] : x[i + 1];
        x[i] = a + b;
        x[i + 1] = a - b;
    }
$odd    for (h = $first; h < ${width}u; h *= 4)
        for (p = x; p < x + $width; p += 3 * h)
            for (i = 0; i < h; ++i, ++p) {
                const int32_t a = p[0] + p[h], b = p[0] - p[h];
                const int32_t c = p[2 * h] + p[3 * h], d = p[2 * h] - p[3 * h];
                p[0] = a + c;
                p[h] = b + d;
                p[2 * h] = a - c;
                p[3 * h] = b - d;
            }
}

"""

_ODD = """\
    for (p = x; p < x + $width; p += 4) {
        const int32_t a = p[0], b = p[1];
        p[0] = a + p[2];
        p[2] = a - p[2];
        p[1] = b + p[3];
        p[3] = b - p[3];
    }
"""

_PREDICT = """\
/* The index of the class of a row of $columns numbers. */
static inline int ${n}_predict(const int16_t *row) {
    int32_t x[$width];
    uint32_t z[$words], s[$half], word = 0, i, j = 0, block, t;
$begin    for (block = 0; block < ${blocks}u; ++block) {
        const uint64_t key = ${n}_child($hadamard, block);
        for (i = 0; i < ${entering}u; ++i) x[i] = $entrance[i];
        for (; i < ${width}u; ++i) x[i] = 0;
        for (t = 0; t < 3; ++t) {
            const uint64_t signs = ${n}_child(key, t);
            for (i = 0; i < ${half}u; i += 2) {
                const uint64_t w = ${n}_child(signs, i / 2);
                s[i] = (uint32_t)w;
                s[i + 1] = (uint32_t)(w >> 32);
            }
$rounded            ${n}_turn(x, s);
        }
        for (i = 0; i < ${width}u && j < ${slots}u; ++i, ++j) {
$bit            if ((j & 31u) == 31u) z[j >> 5] = word;
        }
    }
$last    return ${n}_class(z);
}

"""

_SIGN_BEGIN = """\
    /* the largest number says what counts as 0, the first one that is not 0 how ties turn */
    uint32_t top = 0, turn = 0, ties = 0;
    int32_t slack = 0, power = $exponent;
    for (i = ${entering}u; i-- > 0;) {
        const int32_t v = $entrance[i];
        const uint32_t size = (uint32_t)(v < 0 ? -v : v);
        if (size > top) top = size;
        if (v) turn = v < 0;
    }
    if (!top) return $empty;
    while (top >>= 1) ++power;
    if (power >= 0) slack = (int32_t)1 << power;
"""

_SIGN_BIT = """\
            uint32_t negative = x[i] < 0;
            if ((j & 31u) == 0u) ties = (uint32_t)(${n}_child($tie, j >> 6) >> (j & 32u));
            if (x[i] <= slack && x[i] >= -slack) negative = (ties >> (j & 31u) & 1u) ^ turn;
            word = word >> 1 | (negative ^ 1u) << 31;
"""


Whole = TypeVar("Whole", np.int64, np.uint16)


def transformed(x: NDArray[Whole]) -> NDArray[Whole]:
    """H x for each row, unnormalised; numbers of 16 bits wrap around."""
    n, width = x.shape
    h = 1
    while h < width:
        pairs = x.reshape(n, -1, 2, h)
        x = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        x = x.reshape(n, width)
        h *= 2
    return x


def block_signs(seed: int, block: int, turn: int, width: int) -> NDArray[np.int64]:
    """The diagonal of signs of a block of three HD blocks, -1 and 1."""
    key = child(child(stream_key(seed, _HADAMARD), block), turn)
    words = children(key, np.arange(width // 64, dtype=np.uint64))
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
    return 1 - 2 * bits.astype(np.int64)


@dataclass(frozen=True, eq=False)
class IntegerMap:
    """The bits of `BinaryFourier` or `SignProjection` by three HD blocks, in integers."""

    rows: IntegerRows
    width: int
    n_slots: int
    seed: int
    rounded: int  # bits that are rounded away before the last transform
    shift: int = 0  # s: how far products of lengths are shifted right, or left if negative
    lengths: NDArray[np.int64] | None = None  # None for signs
    phases: NDArray[np.int64] | None = None  # in 2^-16 turns; None: from the seed
    reach: NDArray[np.int64] | None = None  # with thresholds: how near a turn, in 2^-16 turns

    @classmethod
    def of(
        cls, feature_map: Any, scaling: Scaling, seen: NDArray[np.float64], phases: str
    ) -> IntegerMap:
        """The integers of a fitted map; ``seen`` are rows by which ranges are chosen."""
        width = padded_width(feature_map.n_features_in_, "sorf")
        p, seed = int(feature_map.n_components), int(feature_map.seed_)
        most = math.floor(_LARGEST / _growth(width, scaling.n_features_out))
        rows = IntegerRows.of(scaling, seen, most)
        rounded = _bits_over(width, rows.n_out, rows.high)
        if not hasattr(feature_map, "bandwidth_"):
            return cls(rows, width, p, seed, rounded)
        diagonal = np.empty((-(-p // width), 3, width), dtype=np.float32)
        lengths = np.empty(p, dtype=np.float32)
        root = math.sqrt(width)
        _core.fill_three_hd(seed, diagonal, lengths, 1.0 / TURN / (width * root), 1)
        # turns of the circle for each unit of y
        turns = lengths.astype(np.float64) / feature_map.bandwidth_ / rows.unit * 2.0**rounded
        shift = min(32, math.floor(math.log2(65535.49 / (float(turns.max()) * 2.0**32))))
        if shift < -31:
            raise ValueError(
                f"sigma = {feature_map.bandwidth_:g} is too small for rows of whole numbers: use "
                "rows='float32'."
            )
        whole = np.rint(np.ldexp(turns, 32 + shift)).astype(np.int64)
        stored = reach = None
        if phases == "table":
            drawn = np.empty(p, dtype=np.float32)
            _core.fill_phases(seed, drawn)
            stored = np.rint(drawn.astype(np.float64) * 65536.0).astype(np.int64) & 65535
        if feature_map.threshold:
            threshold = np.empty(p, dtype=np.float32)
            _core.fill_thresholds(seed, threshold)
            near = np.arccos(-threshold.astype(np.float64)) / TURN
            reach = np.minimum(np.rint(near * 65536.0).astype(np.int64), 32767)
        return cls(rows, width, p, seed, rounded, shift, whole, stored, reach)

    # -- NumPy

    def bits(self, X: NDArray[np.int16]) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """The bits of rows, (rows, slots), and which rows have none."""
        e = np.zeros((len(X), self.width), dtype=np.int64)
        e[:, : self.rows.n_out] = self.rows(X)
        out = np.zeros((len(X), self.n_slots), dtype=np.uint8)
        for first in range(0, self.n_slots, self.width):
            y = e
            for turn in range(3):
                y = y * block_signs(self.seed, first // self.width, turn, self.width)
                if turn == 2 and self.rounded:
                    y = (y + (1 << (self.rounded - 1))) >> self.rounded
                y = transformed(y)
            slots = slice(first, min(first + self.width, self.n_slots))
            out[:, slots] = self._read(e, y[:, : slots.stop - first], slots)
        empty = (e == 0).all(axis=1) if self.lengths is None else np.zeros(len(X), dtype=bool)
        return out, empty

    def _read(self, e: NDArray[np.int64], y: NDArray[np.int64], slots: slice) -> NDArray[np.bool_]:
        """The bits of some slots."""
        if self.lengths is None:
            return self._signs(e, y, slots)
        f = y * self.lengths[slots]
        f = (f >> self.shift if self.shift > 0 else f << -self.shift) + self._all_phases()[slots]
        if self.reach is None:
            return np.asarray((f + (1 << 30)) & (1 << 31) == 0)
        near = self.reach[slots] << 16
        return np.asarray(((f + near) & 0xFFFFFFFF) <= 2 * near)

    def _all_phases(self) -> NDArray[np.int64]:
        """In 2^-32 turns."""
        if self.phases is not None:
            return self.phases << 16
        words = children(stream_key(self.seed, _PHASE), np.arange(self.n_slots, dtype=np.uint64))
        return np.asarray(words >> np.uint64(32), dtype=np.int64)

    def _signs(self, e: NDArray[np.int64], y: NDArray[np.int64], slots: slice) -> NDArray[np.bool_]:
        top = np.maximum(np.abs(e).max(axis=1), 1)
        exponent = np.floor(np.log2(top)).astype(np.int64) + self._tie_exponent
        slack = np.where(exponent >= 0, np.int64(1) << np.maximum(exponent, 0), 0)[:, None]
        turn = np.take_along_axis(e, (e != 0).argmax(axis=1)[:, None], axis=1) < 0
        words = children(
            stream_key(self.seed, _TIE), np.arange(-(-self.n_slots // 64), dtype=np.uint64)
        )
        ties = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")[slots] == 1
        return np.asarray(~np.where(np.abs(y) <= slack, ties ^ turn, y < 0))

    @property
    def _tie_exponent(self) -> int:
        return min(self.width.bit_length() - 1 - _TIED, 0) - self.rounded

    # -- C

    def source(self, n: str, empty: int) -> str:
        """Tables, and the function ``n_predict``; ``n_class`` must stand before."""
        text = filled(CHILD, n=n) + self.rows.source(n)
        if self.lengths is not None:
            text += "/* Lengths of the projections. */\n"
            text += table("uint16_t", f"{n}_length", self.lengths)
        for name, values in (("phase", self.phases), ("reach", self.reach)):
            if values is not None:
                text += table("uint16_t", f"{n}_{name}", values)
        log = self.width.bit_length() - 1
        odd = "" if log % 2 else filled(_ODD, width=self.width)
        text += filled(_TRANSFORM, n=n, width=self.width, odd=odd, first="2u" if log % 2 else "4u")
        entrance = "e" if self.rows.is_copied else "row"
        entering = self.rows.n_out
        begin = ""
        if self.rows.is_copied:
            begin = f"    {self.rows.entering} e[{entering}];\n    {n}_scale(row, e);\n"
        if self.lengths is None:
            begin += filled(
                _SIGN_BEGIN,
                entering=entering,
                entrance=entrance,
                exponent=self._tie_exponent,
                empty=empty,
            )
        rest = self.n_slots % 32
        rounding = ""
        if self.rounded:
            half = 1 << (self.rounded - 1)
            rounding = (
                "            if (t == 2)\n"
                f"                for (i = 0; i < {self.width}u; ++i)\n"
                f"                    x[i] = (x[i] + {half}) >> {self.rounded};\n"
            )
        return text + filled(
            _PREDICT,
            n=n,
            columns=self.rows.n_columns,
            width=self.width,
            words=-(-self.n_slots // 32),
            half=self.width // 32,
            blocks=-(-self.n_slots // self.width),
            hadamard=key_text(stream_key(self.seed, _HADAMARD)),
            entering=entering,
            entrance=entrance,
            begin=begin,
            rounded=rounding,
            slots=self.n_slots,
            bit=self._bit_source(n),
            last=f"    z[{self.n_slots // 32}] = word >> {32 - rest};\n" if rest else "",
        )

    def _bit_source(self, n: str) -> str:
        if self.lengths is None:
            return filled(_SIGN_BIT, n=n, tie=key_text(stream_key(self.seed, _TIE)))
        if self.shift > 0:
            turns = f"(uint32_t)((uint64_t)((int64_t)x[i] * {n}_length[j]) >> {self.shift})"
        else:
            turns = f"((uint32_t)x[i] * {n}_length[j] << {-self.shift})"
        phase = f"((uint32_t){n}_phase[j] << 16)"
        if self.phases is None:
            key = key_text(stream_key(self.seed, _PHASE))
            phase = f"(uint32_t)({n}_child({key}, j) >> 32)"
        text = (
            f"            const uint32_t f = {turns} +\n                               {phase};\n"
        )
        if self.reach is None:
            return text + "            word = word >> 1 | (~(f + 0x40000000u) & 0x80000000u);\n"
        text += f"            const uint32_t near = (uint32_t){n}_reach[j] << 16;\n"
        return text + "            word = word >> 1 | (uint32_t)(f + near <= 2u * near) << 31;\n"

    @property
    def flash(self) -> dict[str, int]:
        """Bytes of the tables, part by part."""
        parts = dict(self.rows.flash)
        for name, values in (
            ("lengths", self.lengths),
            ("phases", self.phases),
            ("thresholds", self.reach),
        ):
            if values is not None:
                parts[name] = 2 * len(values)
        return parts

    @property
    def ram(self) -> int:
        """Bytes of the arrays on the stack."""
        words = self.width + -(-self.n_slots // 32) + self.width // 32
        return 4 * words + self.rows.ram


def _bits_over(width: int, n_out: int, high: int) -> int:
    """How many bits must be rounded away for all sums to stay within 32 bits."""
    largest = _growth(width, n_out) * high
    rounded = 0
    while largest / 2**rounded + (width if rounded else 0) > _LARGEST:
        rounded += 1
    return rounded


def _growth(width: int, n_out: int) -> float:
    """How many times as large as the numbers of a row those after three transforms can be."""
    return width * math.sqrt(width) * math.sqrt(n_out)
