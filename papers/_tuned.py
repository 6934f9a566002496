"""Exact SVMs of the kernels with a gamma, on functions of one matrix of correlations rho.

    RBF:   K = exp(-gamma (1 - rho))
    fRBF:  K = (exp(-gamma (1 - rho)) + exp(-gamma (1 + rho))) / 2

The papers report for each C the test accuracy at that of 58 gammas which is best on the test part.
So every pair (C, gamma) is fitted to the whole training part and tested, and to a part of it and
validated on the rest (`validation_parts`), which chooses without the test part. A cell has all C of
some of the gammas; `merged` makes the result of a set of its cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from kernelight.kernels import Linear
from papers._cells import Result, kind
from papers._data import split, validation_parts
from papers._svm import VALIDATION_ROWS, accuracies, summary

# The grid of the papers, 58 values.
GAMMAS = [
    0.001,
    0.01,
    *(round(0.1 * i, 1) for i in range(1, 21)),
    2.5,
    *range(3, 21),
    *range(25, 51, 5),
]
GAMMAS += [*range(60, 101, 10), 120, 150, 200, 300, 500, 1000]
KERNELS = ("RBF", "fRBF")


@kind("tuned", version=1)
def tuned(
    *,
    dataset: str,
    scaling: str,
    seed: int,
    kernel: str,
    cs: list[float],
    gammas: list[float],
    max_test: int | None,
) -> Result:
    """Accuracies in percent, a row for each gamma: on the test part, and validated."""
    y, rho, y_test, rho_test = _correlations(dataset, scaling, seed, max_test)
    K, K_test = np.empty(rho.shape), np.empty_like(rho_test)
    parts = list(validation_parts(len(y), VALIDATION_ROWS))
    tested, validated = [], []
    for gamma in gammas:
        with_gamma(rho, kernel, gamma, K)
        with_gamma(rho_test, kernel, gamma, K_test)
        tested.append(accuracies(K, y, K_test, y_test, cs).round(3).tolist())
        right = np.zeros(len(cs))
        for fit, check in parts:
            inner, outer = K[np.ix_(fit, fit)], K[np.ix_(check, fit)]
            right += accuracies(inner, y[fit], outer, y[check], cs) * len(check)
        validated.append((right / sum(len(check) for _, check in parts)).round(3).tolist())
    return {"test": tested, "validated": validated}


@lru_cache(maxsize=1)
def _correlations(dataset: str, scaling: str, seed: int, max_test: int | None) -> Any:
    """Sorted training labels and their correlations, test labels and theirs with training rows."""
    data = split(dataset, scaling, seed, max_test)
    order = np.argsort(data.y, kind="stable")  # see `accuracies`
    X, K = data.X[order], Linear()
    return data.y[order], K(X), data.y_test, K(data.X_test, X)


def with_gamma(rho: np.ndarray, kernel: str, gamma: float, out: np.ndarray) -> None:
    """Write the kernel matrix of correlations into ``out``.

    Correlations of float32 give K in float32; LIBSVM takes float64 and keeps what it needs of it in
    float32.
    """
    for rows in range(0, len(rho), 512):  # in the cache
        part = rho[rows : rows + 512]
        K = np.exp(gamma * (part - 1))
        out[rows : rows + 512] = K if kernel == "RBF" else (K + np.exp(-gamma * (part + 1))) / 2


def merged(cs: list[float], gammas: Sequence[float], parts: Sequence[Result]) -> Result:
    """The result of a set from those of its cells, in the order of the gammas."""
    tested, validated = (
        np.concatenate([part[name] for part in parts]) for name in ("test", "validated")
    )
    return summary(cs, gammas, tested, validated)
