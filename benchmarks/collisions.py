"""The speed of counting equal slots of codes on one thread, against NumPy.

The peer is the blocked NumPy comparison that anyone would write, ``(a[i] == b).sum(axis=1)`` for
each row, whose temporaries stay in the cache.
"""

from __future__ import annotations

import numpy as np
from _measure import Row, at_least, best, show, threads

from kernelight import Codes

ROWS, SLOTS, BAR = 2000, 1024, 20.0


def numpy_rows(a: np.ndarray, b: np.ndarray, rows: int) -> np.ndarray:
    """Equal slots of the first rows of ``a`` with all of ``b``."""
    counts = np.empty((rows, len(b)), dtype=np.int32)
    for i in range(rows):
        for start in range(0, len(b), 256):
            counts[i, start : start + 256] = np.count_nonzero(
                a[i] == b[start : start + 256], axis=1
            )
    return counts


def run() -> list[Row]:
    """The claim; NumPy is timed on a tenth of the rows, and its time multiplied by ten."""
    rng = np.random.default_rng(0)
    a, b = (Codes(rng.integers(0, 256, (ROWS, SLOTS)).astype(np.uint8), 8) for _ in range(2))
    np.testing.assert_array_equal(
        a.collisions(b)[: ROWS // 10], numpy_rows(a.array, b.array, ROWS // 10)
    )
    with threads(1):
        ours = best(7, lambda: a.collisions(b))
        theirs = 10 * best(3, lambda: numpy_rows(a.array, b.array, ROWS // 10))
    claim = f"collisions of {ROWS} x {ROWS} codes of {SLOTS} slots, one thread"
    return [at_least(claim, "NumPy, blocked comparison", BAR, theirs / ours)]


if __name__ == "__main__":
    show(run())
