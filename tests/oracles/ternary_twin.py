"""Slow, obvious twin of the optimiser of `TernaryClassifier`: it tries every value of a slot."""

import numpy as np


def loss_of(name, margins):
    if name == "squared_hinge":
        return np.maximum(1 - margins, 0) ** 2
    return np.log1p(np.exp(-margins)) if name == "logistic" else (1 - margins) ** 2


def objective(name, Z, y, weights, w, scale, bias, l0, l2):
    """F of one class, with signs Z (rows of zeros where empty), labels y = -1 and 1."""
    losses = loss_of(name, y * (scale * (Z @ w) + bias))
    return float(weights @ losses + (l0 + l2 * scale**2) * np.count_nonzero(w))


def swept(name, Z, y, weights, w, scale, bias, l0, l2, order, least):
    """One sweep: each coordinate is set to its best value, if F falls by more than ``least``."""
    w = np.array(w)
    for slot in order:
        tried = {}
        for value in (-1, 0, 1):
            candidate = w.copy()
            candidate[slot] = value
            tried[value] = objective(name, Z, y, weights, candidate, scale, bias, l0, l2)
        best = min(tried, key=tried.get)
        if tried[best] < tried[w[slot]] - least:
            w[slot] = best
    return w


def scores(Z, w, scale, bias):
    return (Z @ np.asarray(w, dtype=float).T) * scale + bias
