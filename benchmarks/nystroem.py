"""The speed of Nyström features of GMM, against scikit-learn and against scipy's distances.

5,000 rows of 64 signed doubles, 256 landmarks, fit and transform. Every library has one thread; the
best of several repeats in one run counts. scikit-learn calls a Python function for each pair of
rows, which would take minutes: its transform is timed on every twentieth row, and the time
multiplied.

    python benchmarks/nystroem.py
"""

from __future__ import annotations

import numpy as np
from _measure import Row, at_least, best, best_of_turns, show, threads
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn.kernel_approximation import Nystroem

from kernelight import KernelNystroem
from kernelight.kernels import GMM

ROWS, COLUMNS, LANDMARKS = 5000, 64, 256
EVERY = 20  # scikit-learn is timed on every 20th row
Array = NDArray[np.float64]


def run() -> list[Row]:
    """One row for each claim."""
    X = np.random.default_rng(0).standard_normal((ROWS, COLUMNS))
    chosen = np.random.default_rng(0).permutation(ROWS)[:LANDMARKS]
    ours = KernelNystroem(GMM(), LANDMARKS)
    peer = Nystroem(kernel=min_max, n_components=LANDMARKS, random_state=0)
    assert np.allclose(
        gram(ours.fit(X).transform(X[:50])), gram(by_hand(X, X[ours.component_indices_])[:50])
    )
    with threads(1):
        mine, hand = best_of_turns(
            20, lambda: ours.fit(X).transform(X), lambda: by_hand(X, X[chosen])
        )
        fit = best(1, lambda: peer.fit(X))
        transform = EVERY * best(1, lambda: peer.transform(X[::EVERY]))
    claim = "fit and transform of KernelNystroem(GMM())"
    return [
        at_least(claim, "scikit-learn Nystroem, min-max in Python", 100, (fit + transform) / mine),
        at_least(claim, "scipy cdist cityblock and eigh by hand", 3, hand / mine),
    ]


def min_max(u: Array, v: Array) -> float:
    """GMM of two rows as a callable for scikit-learn; S and d as in `distances_to_gmm`."""
    total, distance = np.abs(u).sum() + np.abs(v).sum(), np.abs(u - v).sum()
    return float((total - distance) / (total + distance))


def distances_to_gmm(X: Array, Y: Array) -> Array:
    """GMM = (S - d) / (S + d), S the sum of both absolute sums and d the city-block distance."""
    totals = np.abs(X).sum(axis=1)[:, None] + np.abs(Y).sum(axis=1)
    distances = cdist(X, Y, "cityblock")
    return np.asarray((totals - distances) / (totals + distances))


def by_hand(X: Array, landmarks: Array) -> Array:
    """Nyström features with what scipy has."""
    values, vectors = eigh(distances_to_gmm(landmarks, landmarks))
    kept = values > len(values) * np.finfo(np.float64).eps * values[-1]
    return np.asarray(distances_to_gmm(X, landmarks) @ (vectors[:, kept] / np.sqrt(values[kept])))


def gram(features: Array) -> Array:
    """The inner products of rows."""
    return np.asarray(features @ features.T)


if __name__ == "__main__":
    show(run())
