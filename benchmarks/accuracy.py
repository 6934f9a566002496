"""The error of paired SORF features against that of the papers' NRFF, with equally many columns.

Mean squared errors of the Gaussian kernel over seeds and directions, at three distances between
rows, for d = 64 and 128 columns.

    python benchmarks/accuracy.py
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from _measure import Row, show

from kernelight import RandomFourier

D, COLUMNS, SEEDS, PAIRS = 64, 128, 400, 16
METHODS = {
    "NRFF (the papers)": {"features": "phase"},
    "paired": {},
    "paired, orthogonal": {"projection": "orthogonal"},
    "paired, SORF": {"projection": "sorf"},
    "paired, Fastfood": {"projection": "fastfood"},
}


def run() -> list[Row]:
    """A row for each distance and method; only that of SORF is a promise."""
    rows = []
    for distance in (0.5, 1.0, 2.0):
        X = pairs(distance)
        errors = {
            name: mean_squared_error(X, distance, options) for name, options in METHODS.items()
        }
        base = errors["NRFF (the papers)"]
        for name, error in errors.items():
            if name == "NRFF (the papers)":
                continue
            bar = "below 1" if name == "paired, SORF" else "none, for comparison"
            rows.append(
                {
                    "claim": f"mean squared error of {name} at distance {distance:g}",
                    "peer": f"NRFF, {base:.2e}",
                    "bar": bar,
                    "measured": error / base,
                    "holds": name != "paired, SORF" or error < base,
                }
            )
    return rows


def pairs(distance: float) -> np.ndarray:
    """PAIRS pairs of random rows at this distance: the first rows of all pairs, then the second."""
    rng = np.random.default_rng(0)
    start, step = rng.standard_normal((2, PAIRS, D))
    step *= distance / np.linalg.norm(step, axis=1)[:, None]
    return np.concatenate([start, start + step]).astype(np.float32)


def mean_squared_error(X: np.ndarray, distance: float, options: dict[str, Any]) -> float:
    """The mean squared error over seeds and pairs."""
    kernel = math.exp(-(distance**2) / 2)
    squares = 0.0
    for seed in range(SEEDS):
        fourier = RandomFourier(
            COLUMNS, metric="euclidean", sigma=1.0, random_state=seed, **options
        ).fit(X)
        Z = fourier.transform(X)
        squares += float(((np.einsum("ij,ij->i", Z[:PAIRS], Z[PAIRS:]) - kernel) ** 2).mean())
    return squares / SEEDS


if __name__ == "__main__":
    show(run())
