"""What a model of ternary coefficients on features of whole numbers takes on a microcontroller.

Coefficients take a bit each that says whether it is 0, and another one for the sign of each that is
not, in words of 32 and of 16 bits. A scaling takes an origin and a factor for each column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.scaling import Scaling

#: Bytes of the functions on a Cortex-M by gcc -Os, at most, with what they take of libgcc, and what
#: a scaling adds, for each type of a number of a row.
CODE = {"int16": (820, 160), "float32": (3000, 1300)}
SCALED_COLUMN = 8  # bytes of a column that is scaled, at most
NONZERO = 0.5  # of the coefficients, about, where no sparsity is asked for
CLASS = 6  # bytes of the step and the base of a class


class PackedCoefficients(NamedTuple):
    """Coefficients -1, 0 and 1 as two streams of words, in the order in which a device meets them.

    ``used`` has a bit for each coefficient of a block and class, in whole words; ``minus`` a bit
    for each that is not 0.
    """

    used: NDArray[np.uint32]
    minus: NDArray[np.uint16]

    @property
    def n_bytes(self) -> int:
        """Bytes of both."""
        return 4 * len(self.used) + 2 * len(self.minus)


def packed_coefficients(coefficients: NDArray[np.int8], width: int) -> PackedCoefficients:
    """The streams of coefficients (classes, features) that are met ``width`` features at a time."""
    used, minus = [], []
    for first in range(0, coefficients.shape[1], width):
        for row in coefficients[:, first : first + width]:
            used.append(_words(row != 0, 32))
            minus.append(row[row != 0] < 0)
    return PackedCoefficients(np.concatenate(used), _words(np.concatenate(minus), 16))


def _words(flags: NDArray[np.bool_], bits: int) -> NDArray[Any]:
    """Flags as words of so many bits, at least one word; the first is the lowest."""
    padded = np.zeros(max(1, -(-len(flags) // bits)) * bits, dtype=np.uint8)
    padded[: len(flags)] = flags
    words = np.packbits(padded, bitorder="little").view(f"<u{bits // 8}")
    return words.astype(f"u{bits // 8}")


def flash_of(coefficients: NDArray[np.int8], width: int, scaling: Scaling) -> dict[str, int]:
    """Bytes of flash, part by part, for rows of 16-bit integers."""
    parts = {
        "coefficients": packed_coefficients(coefficients, width).n_bytes,
        "scores": CLASS * len(coefficients),
    }
    is_scaled = scaling.name != "none"
    if is_scaled:
        parts["scaling"] = SCALED_COLUMN * scaling.n_features
    parts["code"] = CODE["int16"][0] + (CODE["int16"][1] if is_scaled else 0)
    return parts


def most_features(
    max_bytes: int, n_outputs: int, n_columns: int, *, scaled: bool, nonzero: float = NONZERO
) -> int:
    """How many features fit into a budget if a fraction of the coefficients is not 0; may be 0."""
    fixed = CODE["int16"][0] + CLASS * n_outputs
    fixed += CODE["int16"][1] + SCALED_COLUMN * n_columns if scaled else 0
    return max(0, int((max_bytes - fixed) * 8 / ((1.0 + nonzero) * n_outputs)))
