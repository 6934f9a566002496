"""The speed of bits of structured projections, and the memory they take.

python benchmarks/bits.py
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from _measure import CORES, Row, at_least, best_of_turns, memory_at_most, show, threads

from kernelight import BinaryFourier, SignProjection


def run() -> list[Row]:
    """One row for each claim."""
    rows = []
    for count in sorted({1, CORES}):
        with threads(count):
            rows.append(_signs(count))
    return [*rows, _memory(), *_binary()]


def _signs(count: int) -> Row:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 1024), dtype=np.float32)
    W = rng.standard_normal((1024, 4096), dtype=np.float32)
    signs = SignProjection(4096, projection="sorf").fit(X)
    ours, product = best_of_turns(
        7, lambda: signs.encode(X), lambda: np.packbits(X @ W >= 0, axis=1, bitorder="little")
    )
    claim = f"sign projections, d = 1,024, k = 4,096, {count} thread{'s' * (count > 1)}"
    return at_least(claim, "float32 product, sign, packbits", 8, product / ours)


def _binary() -> list[Row]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 1024), dtype=np.float32)
    fastfood, dense = (
        BinaryFourier(16_384, sigma=30.0, projection=kind).fit(X)
        for kind in ("fastfood", "gaussian")
    )
    with threads(CORES):
        fast, slow = best_of_turns(3, lambda: fastfood.encode(X), lambda: dense.encode(X))
    return [
        at_least(
            "BinaryFourier, fastfood, d = 1,024, p = 16,384",
            'projection="gaussian"',
            8,
            slow / fast,
        )
    ]


PROGRAM = """
import numpy as np
from kernelight import BinaryFourier


def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


X = np.random.default_rng(0).standard_normal((1000, 1024), dtype=np.float32)
# the first call loads code and starts threads
BinaryFourier(64, sigma=30.0, projection="fastfood").fit(X[:10]).encode(X[:10])
before = peak()
codes = BinaryFourier(65_536, sigma=30.0, projection="fastfood").fit(X).encode(X)
print(peak() - before - codes.nbytes)
"""


def _memory() -> Row:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    claim = "BinaryFourier, fastfood, d = 1,024, p = 65,536"
    return memory_at_most(claim, "memory beyond input and output", 10, int(done.stdout) / 1e6)


if __name__ == "__main__":
    show(run())
