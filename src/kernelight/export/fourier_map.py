"""`IntegerFourier` in C: features of a row by whole numbers, block by block, and their scores.

A block of W features is one Hadamard transform of the phases v of the row, modulo 2^16; the
definition is in docs/projection-spec.md. Features of a block are weighed for every class before the
next block is made, so that a device holds two times W numbers of 16 bits and a sum for each class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelight.estimators.device_size import SIGN_CODE, sign_bytes
from kernelight.export.c_text import (
    CHILD,
    child,
    children,
    filled,
    hex_text,
    key_text,
    stream_key,
    table,
)
from kernelight.export.integer_map import transformed
from kernelight.export.phase_rows import PhaseRows

PAD = 4  # places behind a block, for groups of five features
_SIGNS = 24  # stream of docs/projection-spec.md

# the signs of a block enter with the first one or two steps of its transform, two steps at a time
# follow: a number is then loaded and stored half as often
_TURN = """\
/* x = H (s o v) modulo 2^16 for $width numbers, s the random signs of a block. */
static inline void ${n}_turn(const uint16_t *v, uint16_t *x, $block$count) {
    uint32_t s = 0, h, i;
    uint16_t *p = x;
$key    for (i = 0; i < ${width}u; i += ${together}u, s >>= $together) {
        uint32_t $numbers;
        if ((i & 31u) == 0u) s = $word;
$entered
    }
    for (h = ${together}u; h < ${width}u; h *= 4)
        for (i = 0; i < ${quarter}u; ++i) {
            const uint32_t low = i & (h - 1u);
            uint32_t a, b, c, d;
            uint16_t *q;
            p = x + 4u * i - 3u * low;
            q = p + 2u * h;
            a = p[0];
            b = p[h];
            c = q[0];
            d = q[h];
            p[0] = (uint16_t)(a + b + c + d);
            p[h] = (uint16_t)(a - b + c - d);
            q[0] = (uint16_t)(a + b - c - d);
            q[h] = (uint16_t)(a - b - c + d);
        }
}

"""

_ENTERED = {
    2: """\
        if (s & 1u) a = 0u - a;
        if (s & 2u) b = 0u - b;
        *p++ = (uint16_t)(a + b);
        *p++ = (uint16_t)(a - b);""",
    4: """\
        if (s & 1u) a = 0u - a;
        if (s & 2u) b = 0u - b;
        if (s & 4u) c = 0u - c;
        if (s & 8u) d = 0u - d;
        p[0] = (uint16_t)(a + b + c + d);
        p[1] = (uint16_t)(a - b + c - d);
        p[2] = (uint16_t)(a + b - c - d);
        p[3] = (uint16_t)(a - b - c + d);
        p += 4;""",
}

_PREDICT = """\
/* The index of the class of a row of $columns numbers. */
static inline int ${n}_predict(const $row *row) {
    uint16_t v[$width], x[$padded];
    uint32_t i, j = 0, phase = 16384;
$begin    x[$width] = x[$width + 1] = x[$width + 2] = x[$width + 3] = 0;
    ${n}_enter(row, x);
$pad    ${n}_turn(x, v, $first$entering);
    while (j < ${slots}u) {
        ${n}_turn(v, x, $next$all);
        /* features: the wave of an angle, two parabolas for a cosine */
        for (i = 0; i < ${width}u; ++i, phase += 512) {
            const int32_t f = (int16_t)(uint16_t)(x[i] + phase);
            x[i] = (uint16_t)((f * (32768 - (f < 0 ? -f : f)) + 131072) >> 18);
        }
$counted        j += i;
$weigh    }
$end}

"""


def block_signs(seed: int, block: int, width: int) -> NDArray[np.uint16]:
    """The signs of a block, 1 and 2^16 - 1; block 0 is common to all features."""
    key = child(stream_key(seed, _SIGNS), block)
    words = children(key, np.arange(-(-width // 64), dtype=np.uint64))
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")[:width]
    return np.where(bits == 1, 65535, 1).astype(np.uint16)


@dataclass(frozen=True, eq=False)
class FourierMap:
    """The features of `IntegerFourier`."""

    rows: PhaseRows
    row_type: str  # of C
    width: int
    n_slots: int
    seed: int

    def outputs(self, X: NDArray[np.generic]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The features of rows, whole numbers, and which rows have none."""
        x = np.zeros((len(X), self.width), dtype=np.uint16)
        x[:, : self.rows.n_out] = self.rows(X) & 65535
        v = transformed(x * block_signs(self.seed, 0, self.width))
        blocks = -(-self.n_slots // self.width)
        y = [transformed(v * block_signs(self.seed, 1 + at, self.width)) for at in range(blocks)]
        phases = (np.arange(self.n_slots) << 9).astype(np.uint16)
        angle = np.hstack(y)[:, : self.n_slots] + phases
        a = 16384 - np.abs(angle.view(np.int16).astype(np.int64))
        return (a * (32768 - np.abs(a)) + 131072) >> 18, np.zeros(len(X), dtype=bool)

    @property
    def _words(self) -> NDArray[np.uint32] | None:
        """The signs of all blocks, 32 to a word, if a table of them is not larger than `CHILD`."""
        blocks = 1 - (-self.n_slots // self.width)
        if sign_bytes(self.n_slots, self.width) >= SIGN_CODE:
            return None
        minus = [block_signs(self.seed, block, self.width) != 1 for block in range(blocks)]
        return np.packbits(np.concatenate(minus), bitorder="little").view("<u4")

    def source(self, n: str, columns: int, begin: str, weigh: str, end: str) -> str:
        """Tables and functions up to ``n_predict``.

        ``begin``, ``weigh`` and ``end`` are the lines of the head: before all blocks, after a block
        of i features that end before the j-th, and at the end.
        """
        width, slots, entering = self.width, self.n_slots, self.rows.n_out
        words = self._words
        if words is None:
            text = filled(CHILD, n=n)
            key = key_text(stream_key(self.seed, _SIGNS))
            signs = {
                "block": "uint32_t block",
                "key": f"    const uint64_t key = {n}_child({key}, block);\n",
                "word": f"(uint32_t)({n}_child(key, i >> 6) >> (i & 32u))",
            }
            first, following = "0", f"j / {width}u + 1u"
        else:
            text = "/* Random signs, a bit for each: 1 is a minus. */\n"
            text += table("uint32_t", f"{n}_signs", words, hex_text) + "\n"
            signs = {"block": "const uint32_t *signs", "key": "", "word": "*signs++"}
            each = width // 32
            first, following = f"{n}_signs", f"{n}_signs + (j / {width}u + 1u) * {each}u"
        together = 4 if width.bit_length() % 2 else 2
        names = "abcd"[:together]
        read = ", ".join(f"{name} = v[{at}]" for at, name in enumerate(names))
        step = f"        v += {together};\n"
        # not a loop that pads a row with zeros: compilers call memset for it, which takes bytes
        short = entering <= width - together
        if short:
            read = ", ".join(f"{name} = 0" for name in names)
            loads = [f"{name} = v[{at}];" for at, name in enumerate(names)]
            lines = "\n            ".join([*loads, f"v += {together};"])
            step = f"        if (i < count) {{\n            {lines}\n        }}\n"
        text += self.rows.source(n) + filled(
            _TURN,
            n=n,
            width=width,
            quarter=width // 4,
            together=together,
            numbers=read,
            entered=step + _ENTERED[together],
            count=", uint32_t count" if short else "",
            **signs,
        )
        padded = [f"x[{at}] = " for at in range(entering, -(-entering // together) * together)]
        return text + filled(
            _PREDICT,
            n=n,
            row=self.row_type,
            columns=columns,
            width=width,
            padded=width + PAD,
            slots=slots,
            begin=begin,
            pad=f"    {''.join(padded)}0;\n" if padded else "",
            first=first,
            next=following,
            entering=f", {entering}u" if short else "",
            all=f", {width}u" if short else "",
            counted=f"        if (i > {slots}u - j) i = {slots}u - j;\n" if slots % width else "",
            weigh=weigh,
            end=end,
        )

    @property
    def flash(self) -> dict[str, int]:
        """Bytes of the tables, part by part; signs that are made again are code."""
        return {"signs": sign_bytes(self.n_slots, self.width), **self.rows.flash}

    @property
    def ram(self) -> int:
        """Bytes of the arrays on the stack."""
        return 4 * self.width + 2 * PAD + self.rows.ram
