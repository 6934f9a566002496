"""Ternary models on dense features: accuracy against three times as many bits, and time of a fit.

    KERNELIGHT_DATA=folder python benchmarks/ternary_dense.py

Digits come with scikit-learn and are split 6:4, ten times; the folder has Letter.npz with its own
split (arrays X_train, y_train, X_test, y_test). Dense features are those of
RandomFourier(features="phase"), bits those of BinaryFourier without a threshold. A third of the
training rows chooses sigma for each of them; everything else is a default. That three times as many
bits are compared was settled while looking at test rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _data import Split, arrays
from _measure import Row, at_most, best_of_turns, show, threads
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from kernelight import BinaryFourier, RandomFourier, TernaryClassifier

SIGMAS = (0.4, 0.6, 0.8, 1.0, 1.2)  # times the root of the mean squared distance from the mean
BITS_FOR_A_FEATURE = 3


def run() -> list[Row]:
    """A row for digits, two for Letter."""
    X, y = load_digits(return_X_y=True)
    rows = [_accuracy("digits", [_random_split(X, y, seed) for seed in range(10)], 384)]
    letter = _letter()
    if letter is not None:
        rows += [_accuracy("Letter", [letter], 512), _time_of_a_fit(letter)]
    return rows


def _random_split(X: np.ndarray, y: np.ndarray, seed: int) -> Split:
    order = np.random.RandomState(seed).permutation(len(X))
    train, test = np.split(order, [round(0.6 * len(X))])
    return Split(X[train], y[train], X[test], y[test])


def _letter() -> Split | None:
    file = arrays("Letter")
    if file is None:
        return None
    X, X_test = (file[name].astype(np.float64) for name in ("X_train", "X_test"))
    return Split(X, file["y_train"], X_test, file["y_test"])


def _map(kind: str, count: int, sigma: float, X: np.ndarray, seed: int) -> Any:
    width = sigma * float(np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()))
    if kind == "bits":
        return BinaryFourier(count, sigma=width, threshold=False, random_state=seed).fit(X)
    made = RandomFourier(
        count, features="phase", metric="euclidean", sigma=width, random_state=seed
    )
    return made.fit(X)


def _rows(feature_map: Any, X: np.ndarray) -> Any:
    return feature_map.encode(X) if hasattr(feature_map, "encode") else feature_map.transform(X)


def _score(kind: str, count: int, sigma: float, of: Split, seed: int) -> tuple[float, int]:
    """The accuracy in percent, and the bytes of the coefficients."""
    feature_map = _map(kind, count, sigma, of.X, seed)
    model = TernaryClassifier().fit(_rows(feature_map, of.X), of.y)
    score = 100 * model.score(_rows(feature_map, of.X_test), of.y_test)
    return score, model.memory_report().model["coefficients, 2 bits each"]


def _chosen(kind: str, count: int, of: Split, seed: int) -> tuple[float, int]:
    """`_score` with the sigma that is best on held-out training rows."""
    order = np.random.RandomState(seed).permutation(len(of.X))
    learn, check = np.split(order, [2 * len(order) // 3])
    held_out = Split(of.X[learn], of.y[learn], of.X[check], of.y[check])
    sigma = max(SIGMAS, key=lambda each: _score(kind, count, each, held_out, seed)[0])
    return _score(kind, count, sigma, of, seed)


def _accuracy(name: str, splits: list[Split], count: int) -> Row:
    n_bits = BITS_FOR_A_FEATURE * count
    dense = np.array([_chosen("dense", count, each, at) for at, each in enumerate(splits)])
    bits = np.array([_chosen("bits", n_bits, each, at) for at, each in enumerate(splits)])
    gain = dense[:, 0] - bits[:, 0]
    n_test = sum(len(each.y_test) for each in splits)
    # of a difference of two accuracies, as if they were independent
    error = 100 * np.sqrt(2 * 0.01 * bits[:, 0].mean() * (1 - 0.01 * bits[:, 0].mean()) / n_test)
    return {
        "claim": f"ternary on {name}, {count} dense features: {dense[:, 0].mean():.2f} % with "
        f"{int(dense[0, 1]):,} bytes of coefficients",
        "peer": f"{n_bits:,} bits: {bits[:, 0].mean():.2f} % with {int(bits[0, 1]):,} bytes",
        "bar": f"no worse, but for 1 standard error ({error:.2f})",
        "measured": gain.mean(),
        "unit": "points",
        "holds": bool(gain.mean() >= -error),
    }


def _time_of_a_fit(letter: Split) -> Row:
    feature_map = _map("dense", 512, 0.6, letter.X, 0)
    features = feature_map.transform(letter.X)
    with threads(1):
        ternary, full = best_of_turns(
            3,
            lambda: TernaryClassifier().fit(features, letter.y),
            lambda: LinearSVC(C=10.0).fit(features, letter.y),
        )
    claim = f"ternary fit, Letter, 512 dense features, {ternary:.1f} s, 1 thread"
    return at_most(claim, f"LinearSVC, full precision, {full:.1f} s", 0.5, ternary / full)


if __name__ == "__main__":
    show(run())
