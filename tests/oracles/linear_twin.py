"""Slow, obvious twin of the linear models: explicit objectives, optima by simple methods.

For one output, rows x_i, costs c_i and targets y_i (+1 and -1, or numbers),

    P(w) = 1/2 |w|^2 + sum_i c_i loss(w . x_i, y_i),
    D(b) = -1/2 |sum_i b_i x_i|^2 - sum_i conjugate(b_i, y_i, c_i),

in double precision; an intercept is a column of ones of ``X``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

LOSSES = ("squared_hinge", "hinge", "logistic", "squared", "epsilon_insensitive")


def losses(loss, m, y, c, epsilon=0.0):
    """c loss(m, y), row by row."""
    if loss == "squared_hinge":
        return c * np.maximum(0, 1 - y * m) ** 2
    if loss == "hinge":
        return c * np.maximum(0, 1 - y * m)
    if loss == "logistic":
        return c * np.logaddexp(0, -y * m)
    if loss == "squared":
        return c * (m - y) ** 2
    return c * np.maximum(0, np.abs(m - y) - epsilon)


def conjugates(loss, b, y, c, epsilon=0.0):
    """The supremum over m of -b m - c loss(m, y), row by row; infinite outside the bounds of b."""
    a = y * b
    if loss == "squared_hinge":
        quadratic = np.divide(b**2, 4 * c, out=np.where(b == 0, 0.0, np.inf), where=c > 0)
        return np.where(a >= 0, quadratic - a, np.inf)
    if loss == "hinge":
        return np.where((a >= 0) & (a <= c), -a, np.inf)
    if loss == "logistic":
        inside = np.clip(a, 0, c)
        part = np.divide(inside, c, out=np.zeros_like(inside), where=c > 0)
        return np.where(a == inside, xlogy(inside, part) + xlogy(c - inside, 1 - part), np.inf)
    if loss == "squared":
        return np.divide(b**2, 4 * c, out=np.where(b == 0, 0.0, np.inf), where=c > 0) - y * b
    return np.where(np.abs(b) <= c, epsilon * np.abs(b) - y * b, np.inf)


def primal(loss, X, y, c, w, epsilon=0.0):
    return w @ w / 2 + losses(loss, X @ w, y, c, epsilon).sum()


def dual(loss, X, y, c, b, epsilon=0.0):
    w = X.T @ b
    return -(w @ w) / 2 - conjugates(loss, b, y, c, epsilon).sum()


def optimum(loss, X, y, c, epsilon=0.0):
    """The w that minimises P."""
    if loss in ("hinge", "epsilon_insensitive"):
        return _descended(loss, X, y, c, epsilon)
    basis = np.linalg.qr(X.T)[0]  # the optimum is a combination of rows
    return basis @ _newton(loss, X @ basis, y, c)


def _newton(loss, X, y, c):
    """Newton's method with step halving."""
    w = np.zeros(X.shape[1])
    for _ in range(100):
        m = X @ w
        if loss == "squared":
            slope, curve = 2 * c * (m - y), 2 * c
        elif loss == "squared_hinge":
            inside = y * m < 1
            slope, curve = np.where(inside, 2 * c * (m - y), 0), np.where(inside, 2 * c, 0)
        else:
            p = 0.5 * (1 - np.tanh(y * m / 2))
            slope, curve = -c * y * p, c * p * (1 - p)
        gradient = w + X.T @ slope
        step = np.linalg.solve(np.eye(len(w)) + X.T @ (curve[:, None] * X), gradient)
        here, size = primal(loss, X, y, c, w), 1.0
        while primal(loss, X, y, c, w - size * step) > here and size > 1e-6:
            size /= 2
        w = w - size * step
        if np.abs(size * step).max() < 1e-10:
            break
    return w


def _descended(loss, X, y, c, epsilon, sweeps=20_000):
    """Coordinate descent on the dual, with exact steps, until no dual changes."""
    K = X @ X.T
    norms = np.maximum(np.diag(K), 1e-300)
    b, m = np.zeros(len(X)), np.zeros(len(X))
    for _ in range(sweeps):
        largest = 0.0
        for i in range(len(X)):
            if loss == "hinge":
                new = y[i] * min(max(y[i] * b[i] + (1 - y[i] * m[i]) / norms[i], 0.0), c[i])
            else:
                free, dead = b[i] + (y[i] - m[i]) / norms[i], epsilon / norms[i]
                new = min(max(np.sign(free) * max(abs(free) - dead, 0.0), -c[i]), c[i])
            if new != b[i]:
                largest = max(largest, abs(new - b[i]))
                m += K[i] * (new - b[i])
                b[i] = new
        if largest < 1e-9:
            break
    return X.T @ b
