"""The speed of features of whole numbers against SORF features, with equally many columns.

Only fitted maps are timed, on float32 rows; the best of several repeats in one run counts. Paired
SORF features take half as many projections.

    python benchmarks/integer_fourier.py
"""

from __future__ import annotations

import numpy as np
from _measure import CORES, Row, at_least, at_most, best_of_turns, show, threads

from kernelight import IntegerFourier, RandomFourier

SHAPES = ((20_000, 64, 1024), (4_000, 1000, 4096))


def run() -> list[Row]:
    """One row for each claim."""
    claims = []
    for count in sorted({1, CORES}):
        with threads(count):
            for shape in SHAPES:
                claims += _against_sorf(*shape, count)
    return claims


def _against_sorf(n: int, d: int, k: int, count: int) -> list[Row]:
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    sigma = float(np.sqrt(d))
    whole = IntegerFourier(k, sigma=sigma).fit(X)
    sorf = RandomFourier(k, metric="euclidean", sigma=sigma, projection="sorf").fit(X)
    integers, features, peer = best_of_turns(
        7, lambda: whole.integers(X), lambda: whole.transform(X), lambda: sorf.transform(X)
    )
    where = f"{n:,} x {d:,}, {k:,} columns, {count} thread{'s' * (count > 1)}"
    return [
        at_least(f"IntegerFourier.integers, {where}", "SORF features", 1.2, peer / integers),
        at_most(f"IntegerFourier.transform, {where}", "SORF features", 1.5, features / peer),
    ]


if __name__ == "__main__":
    show(run())
