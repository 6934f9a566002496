"""Slow, obvious twin of the optimiser of `TernaryClassifier`: it tries every value of a slot."""

import numpy as np
from scipy.optimize import minimize


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


def scale_and_bias(name, Z, y, weights, w, l0, l2, start):
    """The best scale and bias for these coefficients, and F there."""
    found = minimize(
        lambda at: objective(name, Z, y, weights, w, *at, l0, l2),
        start,
        method="Nelder-Mead",
        options={"xatol": 1e-11, "fatol": 1e-15, "maxiter": 4000, "maxfev": 4000},
    )
    return (*found.x, found.fun)


def rounded(vector):
    """The nearest alpha w to a vector, trying every number of entries that are not 0."""
    order = np.argsort(-np.abs(vector), kind="stable")
    best = None
    for m in range(1, len(vector) + 1):
        w = np.zeros(len(vector))
        w[order[:m]] = np.sign(vector[order[:m]])
        alpha = np.abs(vector[order[:m]]).mean()
        error = ((vector - alpha * w) ** 2).sum()
        if best is None or error < best[0]:
            best = error, w.astype(np.int8), alpha
    return best[1:]


def descended(name, Z, y, weights, vector, l0, l2, orders, tolerance):
    """A whole fit from a full-precision vector: coefficients, scale, bias and the path of F."""
    w, scale = rounded(vector)
    bias, path = 0.0, []
    while True:
        scale, bias, now = scale_and_bias(name, Z, y, weights, w, l0, l2, (scale, bias))
        if scale < 0:
            scale, w = -scale, -w
        path.append(now)
        order = orders.permutation(len(w))
        moved = swept(name, Z, y, weights, w, scale, bias, l0, l2, order, tolerance * now)
        if (moved == w).all():
            return w, scale, bias, path
        w = moved
