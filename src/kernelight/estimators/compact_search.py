r"""The search of `CompactClassifier`: scaling, sigma, seed and C for a budget of bytes.

Scaling, sigma and seed are compared by ridge regressions on the features, each row left out by
itself. With the features Z (a column of ones among them), its Gram matrix Z'Z = V diag(s) V' and
U = Z V, the scores of left-out rows follow from one decomposition for every penalty l:

    h_i = sum_j U_ij^2 / (s_j + l),    f_i = sum_j U_ij (V'Z'Y)_j / (s_j + l),
    f_(-i) = (f_i - h_i y_i) / (1 - h_i).

C is then chosen with ternary coefficients, by folds, as it means something else for these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from kernelight.estimators.device_size import NONZERO, most_features
from kernelight.linear.ternary import TernaryClassifier
from kernelight.maps.projections.integer_fourier import IntegerFourier
from kernelight.scaling import ColumnScaler

SCALES = ("none", "minmax", "standard")
SIGMAS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8)  # times the root of the mean squared distance
PENALTIES = (0.01, 0.05, 0.2, 1.0)  # for features of unit length
SEEDS = 6
CS = (1.0, 10.0)
SPARSITIES = (0.0, 0.65)
MOST_ROWS, MOST_FEATURES = 4000, 512  # of the comparisons by ridge regression
LARGEST = 2048  # features: more take long, and gain little
FEWEST = 8
FOLDS = 3


@dataclass(frozen=True)
class Choice:
    """What the search chose, and the table of what it tried: a line of a setting and its score."""

    scale: str
    sigma: float
    seed: int
    n_components: int
    C: float
    sparsity: float
    score: float  # accuracy on rows held out
    tried: list[dict[str, Any]]


def left_out_accuracy(
    Z: NDArray[np.float32], sides: NDArray[np.intp], n_classes: int
) -> tuple[float, float]:
    """The best accuracy of ridge regressions on rows left out, over penalties; and its log loss.

    Returned are the accuracy and, to decide ties, minus the mean squared error.
    """
    n = len(Z)
    ones = np.ones((n, 1), dtype=np.float32)
    rows = np.hstack([Z, ones]).astype(np.float64)
    Y = 2.0 * (sides[:, None] == np.arange(n_classes)) - 1.0
    values, vectors = np.linalg.eigh(rows.T @ rows)
    values = np.maximum(values, 0.0)
    U = rows @ vectors
    projected, squares = vectors.T @ (rows.T @ Y), U * U
    best = (-1.0, -np.inf)
    for penalty in PENALTIES:
        weights = 1.0 / (values + penalty)
        leverage = np.minimum(squares @ weights, 1.0 - 1e-9)[:, None]
        left_out = (U @ (weights[:, None] * projected) - leverage * Y) / (1.0 - leverage)
        right = float((left_out.argmax(axis=1) == sides).mean())
        best = max(best, (right, -float(np.square(left_out - Y).mean())))
    return best


def search(
    X: NDArray[Any],
    sides: NDArray[np.intp],
    n_classes: int,
    max_bytes: int,
    scales: tuple[str, ...],
    seed: int,
    n_jobs: int | None,
) -> Choice:
    """The setting that predicts left-out rows best; `ValueError` if nothing fits the budget."""
    random = np.random.default_rng(seed)
    rows = _some_rows(sides, random)
    some, their = X[rows], sides[rows]
    n_outputs = 1 if n_classes == 2 else n_classes
    tried: list[dict[str, Any]] = []

    def features_for(scale: str) -> int:
        return min(LARGEST, most_features(max_bytes, n_outputs, X.shape[1], scaled=scale != "none"))

    def compare(scale: str, sigma: float, map_seed: int) -> tuple[float, float]:
        scaled = ColumnScaler(scale).fit(X).transform(some)
        count = min(features_for(scale), MOST_FEATURES, len(some))
        feature_map = IntegerFourier(count, sigma=sigma, random_state=map_seed, n_jobs=n_jobs)
        score = left_out_accuracy(feature_map.fit_transform(scaled), their, n_classes)
        tried.append({"scale": scale, "sigma": sigma, "seed": map_seed, "accuracy": score[0]})
        return score

    fitting = [scale for scale in scales if features_for(scale) >= FEWEST]
    if not fitting:
        least = max_bytes
        while most_features(least, n_outputs, X.shape[1], scaled="none" not in scales) < FEWEST:
            least += 8
        raise ValueError(
            f"max_bytes={max_bytes:,} is too small for {n_classes} classes and {X.shape[1]} "
            f"columns: it must be at least {least:,}."
        )
    best: tuple[tuple[float, float], str, float] | None = None
    for scale in fitting:
        unit = _spread(ColumnScaler(scale).fit_transform(X))
        for factor in SIGMAS:
            found = (compare(scale, factor * unit, seed), scale, factor * unit)
            best = found if best is None or found[0] > best[0] else best
    assert best is not None
    scale, sigma = best[1], best[2]
    seeds = [seed, *(int(each) for each in random.integers(0, 2**63, SEEDS - 1))]
    scores = [best[0], *(compare(scale, sigma, each) for each in seeds[1:])]
    chosen = seeds[max(range(SEEDS), key=lambda at: scores[at])]
    counts = {
        sparsity: min(LARGEST, most_features(
            max_bytes, n_outputs, X.shape[1], scaled=scale != "none",
            nonzero=min(NONZERO, 1.0 - sparsity),
        ))
        for sparsity in SPARSITIES
    }
    widest = IntegerFourier(max(counts.values()), sigma=sigma, random_state=chosen, n_jobs=n_jobs)
    Z = widest.fit_transform(ColumnScaler(scale).fit(X).transform(some))
    C, sparsity, score = _coefficients(Z, their, counts, seed, n_jobs, tried)
    return Choice(scale, sigma, chosen, counts[sparsity], C, sparsity, score, tried)


def _coefficients(
    Z: NDArray[np.float32],
    sides: NDArray[np.intp],
    counts: dict[float, int],
    seed: int,
    n_jobs: int | None,
    tried: list[dict[str, Any]],
) -> tuple[float, float, float]:
    """C, sparsity and their score by folds; ``counts`` are the features that fit for a sparsity."""
    n_folds = min(FOLDS, int(np.bincount(sides).min()))
    if n_folds < 2:  # a class of one row
        return CS[-1], SPARSITIES[0], float("nan")
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed % 2**32).split(Z, sides))
    best = (-1.0, CS[0], SPARSITIES[0])
    for C in CS:
        for sparsity, count in counts.items():
            right = 0
            for learn, check in folds:
                model = TernaryClassifier(C=C, sparsity=sparsity, random_state=seed, n_jobs=n_jobs)
                model.fit(Z[learn, :count], sides[learn])
                right += int((model.predict(Z[check, :count]) == sides[check]).sum())
            score = right / len(Z)
            tried.append({"C": C, "sparsity": sparsity, "features": count, "accuracy": score})
            if score > best[0]:
                best = (score, C, sparsity)
    return best[1], best[2], best[0]


def _some_rows(sides: NDArray[np.intp], random: np.random.Generator) -> NDArray[np.intp]:
    """Rows for comparisons, in their order; of every class at least two, where it has so many."""
    if len(sides) <= MOST_ROWS:
        return np.arange(len(sides))
    order = random.permutation(len(sides))
    first = [order[sides[order] == side][:2] for side in range(int(sides.max()) + 1)]
    return np.union1d(order[:MOST_ROWS], np.concatenate(first))


def _spread(X: NDArray[Any]) -> float:
    """The root of the mean squared distance of rows to their mean; 1 if all are equal."""
    return float(np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).mean())) or 1.0
