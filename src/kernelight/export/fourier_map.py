"""`IntegerFourier` in C: features of a row by whole numbers, block by block, and their scores.

A block of W features is one Hadamard transform of the phases v of the row, modulo 2^16; the
definition is in docs/projection-spec.md. Features of a block are weighed for every class before the
next block is made, so that a device holds two times W numbers of 16 bits and a sum for each class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelight.export.c_text import CHILD, child, children, filled, key_text, stream_key, table
from kernelight.export.phase_rows import PhaseRows

_SIGNS, _PHASES = 24, 25  # streams of docs/projection-spec.md

_TRANSFORM = """\
/* x = H (s o v) modulo 2^16 for $width numbers, s the random signs of a block. */
static inline void ${n}_turn(const uint16_t *v, uint16_t *x, uint32_t block) {
    const uint64_t key = ${n}_child($signs, block);
    uint64_t s = 0;
    uint32_t h, i;
    uint16_t *p;
    for (i = 0; i < ${width}u; ++i, s >>= 1) {
        if ((i & 63u) == 0u) s = ${n}_child(key, i >> 6);
        x[i] = (uint16_t)(s & 1u ? 0u - v[i] : v[i]);
    }
$odd    for (h = $first; h < ${width}u; h *= 4)
        for (p = x; p < x + $width; p += 3 * h)
            for (i = h; i; --i, ++p) {
                const uint32_t a = (uint32_t)p[0] + p[h], b = (uint32_t)p[0] - p[h];
                const uint32_t c = (uint32_t)p[2 * h] + p[3 * h], d = (uint32_t)p[2 * h] - p[3 * h];
                p[0] = (uint16_t)(a + c);
                p[h] = (uint16_t)(b + d);
                p[2 * h] = (uint16_t)(a - c);
                p[3 * h] = (uint16_t)(b - d);
            }
}

"""

_ODD = """\
    for (p = x; p < x + $width; p += 2) {
        const uint32_t a = p[0], b = p[1];
        p[0] = (uint16_t)(a + b);
        p[1] = (uint16_t)(a - b);
    }
"""

_PREDICT = """\
/* The index of the class of a row of $columns numbers. */
static inline int ${n}_predict(const $row *row) {
    uint16_t v[$width], x[$width];
    uint64_t phases = 0;
    uint32_t i, j = 0;
$begin    ${n}_enter(row, x);
$pad    ${n}_turn(x, v, 0);
    while (j < ${slots}u) {
        ${n}_turn(v, x, j / ${width}u + 1u);
        /* features: the wave of an angle, two parabolas for a cosine, from -1024 to 1024 */
        for (i = 0; i < ${width}u && j < ${slots}u; ++i, ++j) {
            int32_t f, a;
$phase            f = (int16_t)(uint16_t)(x[i] + (uint32_t)$shift);
            a = 16384 - (f < 0 ? -f : f);
            x[i] = (uint16_t)(a * (32768 - (a < 0 ? -a : a)) >> 18);
        }
$weigh    }
$end}

"""

_SEED = """\
            if ((j & 3u) == 0u) phases = ${n}_child($key, j >> 2);
            else phases >>= 16;
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


def phases_of(seed: int, count: int) -> NDArray[np.uint16]:
    """The phases of the first features, in 2^-16 turns."""
    words = children(stream_key(seed, _PHASES), np.arange(-(-count // 4), dtype=np.uint64))
    return words.astype("<u8").view("<u2")[:count].astype(np.uint16)


@dataclass(frozen=True, eq=False)
class FourierMap:
    """The features of `IntegerFourier`."""

    rows: PhaseRows
    row_type: str  # of C
    width: int
    n_slots: int
    seed: int
    phases: str  # "seed" or "table"

    def outputs(self, X: NDArray[np.generic]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The features of rows, whole numbers, and which rows have none."""
        x = np.zeros((len(X), self.width), dtype=np.uint16)
        x[:, : self.rows.n_out] = self.rows(X) & 65535
        v = transformed(x * block_signs(self.seed, 0, self.width))
        blocks = -(-self.n_slots // self.width)
        y = [transformed(v * block_signs(self.seed, 1 + at, self.width)) for at in range(blocks)]
        angle = np.hstack(y)[:, : self.n_slots] + phases_of(self.seed, self.n_slots)
        a = 16384 - np.abs(angle.view(np.int16).astype(np.int64))
        return (a * (32768 - np.abs(a))) >> 18, np.zeros(len(X), dtype=bool)

    def source(self, n: str, columns: int, begin: str, weigh: str, end: str) -> str:
        """Tables and functions up to ``n_predict``.

        ``begin``, ``weigh`` and ``end`` are the lines of the head: before all blocks, after a block
        of i features that end before the j-th, and at the end.
        """
        text = filled(CHILD, n=n) + self.rows.source(n)
        phase, shift = filled(_SEED, n=n, key=key_text(stream_key(self.seed, _PHASES))), "phases"
        if self.phases == "table":
            text += table("uint16_t", f"{n}_phases", phases_of(self.seed, self.n_slots))
            phase, shift = "", f"{n}_phases[j]"
        pad = f"    for (i = {self.rows.n_out}u; i < {self.width}u; ++i) x[i] = 0;\n"
        odd = self.width.bit_length() % 2 == 0  # one transform of pairs, the others of fours
        text += filled(
            _TRANSFORM,
            n=n,
            width=self.width,
            signs=key_text(stream_key(self.seed, _SIGNS)),
            odd=filled(_ODD, width=self.width) if odd else "",
            first="2" if odd else "1",
        )
        predict = filled(
            _PREDICT,
            n=n,
            row=self.row_type,
            columns=columns,
            width=self.width,
            slots=self.n_slots,
            begin=begin,
            pad=pad if self.rows.n_out < self.width else "",
            phase=phase,
            shift=shift,
            weigh=weigh,
            end=end,
        )
        if self.phases == "table":
            predict = predict.replace("    uint64_t phases = 0;\n", "")
        return text + predict

    @property
    def flash(self) -> dict[str, int]:
        """Bytes of the tables, part by part."""
        phases = {"phases": 2 * self.n_slots} if self.phases == "table" else {}
        return {**self.rows.flash, **phases}

    @property
    def ram(self) -> int:
        """Bytes of the arrays on the stack."""
        return 4 * self.width + self.rows.ram
