"""`IntegerFourier` in C: features of a row by whole numbers, block by block, and their scores.

A block of W features is one Hadamard transform of the phases v of the row, modulo 2^16; the
definition is in docs/projection-spec.md. Features of a block are weighed for every class before the
next block is made, so that a device holds two times W numbers of 16 bits and a sum for each class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelight.export.c_text import CHILD, child, children, filled, key_text, stream_key
from kernelight.export.phase_rows import PhaseRows

PAD = 4  # places behind a block, for groups of five features
_SIGNS = 24  # stream of docs/projection-spec.md

_TRANSFORM = """\
/* x = H (s o v) modulo 2^16 for $width numbers, s the random signs of a block. */
static inline void ${n}_turn(const uint16_t *v, uint16_t *x, uint32_t block$count) {
    const uint64_t key = ${n}_child($signs, block);
    uint64_t s = 0;
    uint32_t h, i;
    uint16_t *p;
    for (i = 0; i < ${width}u; ++i, s >>= 1) {
        if ((i & 63u) == 0u) s = ${n}_child(key, i >> 6);
        x[i] = (uint16_t)(${bound}s & 1u ? 0u - v[i] : v[i]);
    }
    for (h = 1; h < ${width}u; h *= 2)
        for (p = x; p < x + $width; p += h)
            for (i = h; i; --i, ++p) {
                const uint32_t a = p[0], b = p[h];
                p[0] = (uint16_t)(a + b);
                p[h] = (uint16_t)(a - b);
            }
}

"""

_PREDICT = """\
/* The index of the class of a row of $columns numbers. */
static inline int ${n}_predict(const $row *row) {
    uint16_t v[$width], x[$padded];
    uint32_t i, j = 0;
$begin    x[$width] = x[$width + 1] = x[$width + 2] = x[$width + 3] = 0;
    ${n}_enter(row, x);
    ${n}_turn(x, v, 0$entering);
    while (j < ${slots}u) {
        ${n}_turn(v, x, j / ${width}u + 1u$all);
        /* features: the wave of an angle, two parabolas for a cosine */
        for (i = 0; i < ${width}u && j < ${slots}u; ++i, ++j) {
            const int32_t f = (int16_t)(uint16_t)(x[i] + (j << 9));
            const int32_t a = 16384 - (f < 0 ? -f : f);
            x[i] = (uint16_t)((a * (32768 - (a < 0 ? -a : a)) + 131072) >> 18);
        }
$weigh    }
$end}

"""


def transformed(x: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """H x modulo 2^16 for each row, unnormalised."""
    n, width = x.shape
    h = 1
    while h < width:
        pairs = x.reshape(n, -1, 2, h)
        x = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        x = x.reshape(n, width)
        h *= 2
    return x


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

    def source(self, n: str, columns: int, begin: str, weigh: str, end: str) -> str:
        """Tables and functions up to ``n_predict``.

        ``begin``, ``weigh`` and ``end`` are the lines of the head: before all blocks, after a block
        of i features that end before the j-th, and at the end.
        """
        text = filled(CHILD, n=n) + self.rows.source(n)
        # not a loop that pads a row with zeros: compilers call memset for it, which takes bytes
        short = self.rows.n_out < self.width
        text += filled(
            _TRANSFORM,
            n=n,
            width=self.width,
            signs=key_text(stream_key(self.seed, _SIGNS)),
            count=", uint32_t count" if short else "",
            bound="i >= count ? 0u : " if short else "",
        )
        return text + filled(
            _PREDICT,
            n=n,
            row=self.row_type,
            columns=columns,
            width=self.width,
            padded=self.width + PAD,
            slots=self.n_slots,
            begin=begin,
            entering=f", {self.rows.n_out}u" if short else "",
            all=f", {self.width}u" if short else "",
            weigh=weigh,
            end=end,
        )

    @property
    def flash(self) -> dict[str, int]:
        """Bytes of the tables, part by part."""
        return self.rows.flash

    @property
    def ram(self) -> int:
        """Bytes of the arrays on the stack."""
        return 4 * self.width + 2 * PAD + self.rows.ram
