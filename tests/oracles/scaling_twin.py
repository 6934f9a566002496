"""Slow, obvious twin of the compiled scaling of dense rows: whole columns in NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

LARGEST, FARTHEST = np.finfo(np.float64).max, 1e6


def units(X, origin, unit):
    """(X - origin) / unit, clipped; 0 where the unit is 0."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        away = np.clip(X.astype(np.float64) - origin, -LARGEST, LARGEST)
        return np.clip(away / np.where(unit > 0, unit, np.inf), -FARTHEST, FARTHEST)


def ranks(X, knots, levels, starts):
    """Ranks between the knots of each column; 0 for a column without knots."""
    out = np.zeros(X.shape)
    for column, (start, end) in enumerate(pairwise(starts)):
        if end > start:
            out[:, column] = np.interp(X[:, column], knots[start:end], levels[start:end])
    return out


def scaled(name, arrays, X):
    """What `Scaling` of that name, with what it learned, makes of dense rows."""
    weights = arrays.get("weights")
    s = _unweighted(name, arrays, X)
    if weights is None:
        return s.astype(X.dtype)
    return (s * np.tile(weights, s.shape[1] // len(weights))).astype(X.dtype)


def _unweighted(name, arrays, X):
    """The same before weights, in double precision."""
    base = name.removesuffix("+complement")
    if base == "none":
        return X
    if base == "quantile":
        s = ranks(X, arrays["knots"], arrays["ranks"], arrays["starts"])
        constant = np.diff(arrays["starts"]) == 0
    else:
        origin, unit = {
            "minmax": ("low", "span"),
            "standard": ("mean", "deviation"),
            "max": (None, "peak"),
        }[base]
        s = units(X, 0.0 if origin is None else arrays[origin], arrays[unit])
        constant = arrays[unit] == 0
    if base != name:
        complement = np.where(constant, 0.0, np.maximum(1 - s, 0))
        return np.hstack([np.maximum(s, 0), complement])
    return np.maximum(s, 0) if base == "minmax" else s
