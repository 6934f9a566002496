"""What a model of ternary coefficients on features of whole numbers takes on a microcontroller.

Five coefficients are a byte, as 3^5 = 243. A scaling takes an origin and a factor for each column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelight.scaling import Scaling

#: Bytes of the functions on a Cortex-M by gcc -Os, at most, with what they take of libgcc, and what
#: a scaling adds, for each type of a number of a row.
CODE = {"int16": (944, 100), "float32": (3000, 1300)}
#: What 2 or 3 columns add, as gcc unrolls the loop over them, and rows shorter than a block of more
#: than 64 numbers, as zeros behind them are a branch and its constants take more than a byte.
NARROW = 16
WIDEST = 1024  # columns after scaling: a stack has few kilobytes
SCALED_COLUMN = 8  # bytes of a column that is scaled, at most
CLASS = 4  # bytes of the step and the start of a class
GROUP = 5  # coefficients of a byte
SIGN_CODE = 240  # bytes of the functions that make signs from the seed, at most
_DIGITS = np.array([9, 27, 81, 1, 3])  # what a coefficient of the five counts in its byte


def packed_coefficients(coefficients: NDArray[np.int8], width: int) -> NDArray[np.uint8]:
    """Coefficients (classes, features) as bytes, in the order in which a device meets them.

    They are met ``width`` features at a time, then five at a time, then class by class. Digits of
    base 3 are 0 for 0, 1 for 1 and 2 for -1.
    """
    groups = []
    for first in range(0, coefficients.shape[1], width):
        block = coefficients[:, first : first + width]
        padded = np.zeros((len(block), -(-block.shape[1] // GROUP) * GROUP), dtype=np.int64)
        padded[:, : block.shape[1]] = block % 3
        groups.append((padded.reshape(len(block), -1, GROUP) @ _DIGITS).T.ravel())
    return np.concatenate(groups).astype(np.uint8)


def sign_bytes(n_features: int, width: int) -> int:
    """Bytes of the random signs: a bit for each number of each block, and of one that all share.

    A table, or where it would be larger the code that makes them from the seed.
    """
    return min(SIGN_CODE, (1 - (-n_features // width)) * (width // 8))


def flash_of(n_classes: int, n_features: int, width: int, scaling: Scaling) -> dict[str, int]:
    """Bytes of flash, part by part, for rows of 16-bit integers."""
    outputs = 1 if n_classes == 2 else n_classes
    whole, rest = divmod(n_features, width)
    parts = {
        "coefficients": outputs * (whole * -(-width // GROUP) + -(-rest // GROUP)),
        "scores": CLASS * outputs,
        "signs": sign_bytes(n_features, width),
    }
    is_scaled = scaling.name != "none"
    if is_scaled:
        parts["scaling"] = SCALED_COLUMN * scaling.n_features
    parts["code"] = CODE["int16"][0] + (CODE["int16"][1] if is_scaled else 0)
    if scaling.n_features in (2, 3) or 64 < width > scaling.n_features_out:
        parts["code"] += NARROW
    return parts


def most_features(n_bytes: int, n_classes: int, width: int, scaling: Scaling) -> int:
    """How many features fit into so many bytes; 0 if none do."""
    outputs = 1 if n_classes == 2 else n_classes
    room = n_bytes - sum(flash_of(n_classes, 0, width, scaling).values())
    whole = 0
    while True:  # blocks that fit with their signs, then groups of the last one
        signs = sign_bytes((whole + 1) * width, width) - sign_bytes(0, width)
        groups = max(0, room - signs) // outputs - whole * -(-width // GROUP)
        if groups < -(-width // GROUP):
            return whole * width + GROUP * max(0, groups)
        whole += 1
