"""Searches written a second time, slow and obvious: NumPy and loops over pairs."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp
from oracles.hash_twin import child, stream


def similarity(u, v):
    """sum of minima over sum of maxima, signs split."""
    u, v = np.asarray(u, dtype=np.float64), np.asarray(v, dtype=np.float64)
    halves = [(np.maximum(u, 0), np.maximum(v, 0)), (np.maximum(-u, 0), np.maximum(-v, 0))]
    low = sum(np.minimum(a, b).sum() for a, b in halves)
    high = sum(np.maximum(a, b).sum() for a, b in halves)
    return low / high if high > 0 else 0.0


def similarities(X, Y):
    X, Y = (M.toarray() if sp.issparse(M) else np.asarray(M) for M in (X, Y))
    return np.array([[similarity(u, v) for v in Y] for u in X]).reshape(len(X), len(Y))


def pairs_above(K, threshold):
    """All (i, j) with i < j and a similarity of at least the threshold."""
    return [(i, j) for i, j in itertools.combinations(range(len(K)), 2) if K[i, j] >= threshold]


def nearest(K, k):
    """For each row of K its k best columns above 0: highest first, then the lower column."""
    found = []
    for row in K:
        order = [j for j in sorted(range(len(row)), key=lambda j: (-row[j], j)) if row[j] > 0][:k]
        found.append(order + [-1] * (k - len(order)))
    return np.array(found, dtype=np.int64).reshape(len(K), k)


def band_keys(codes, bands, rows):
    """docs/hash-spec.md, section 12."""
    keys = []
    for code in codes:
        keys.append([])
        for band in range(bands):
            h = child(stream(0, 23), band)
            for slot in range(band * rows, band * rows + rows):
                h = child(h, code[slot])
            keys[-1].append(int(h))
    return keys


def band_pairs(keys, empty, cap):
    """Pairs that meet in some band: each row meets the first ``cap`` rows of its bucket."""
    met = set()
    for band in range(len(keys[0]) if len(keys) else 0):
        buckets = {}
        for row, key in enumerate(keys):
            if not empty[row]:
                buckets.setdefault(int(key[band]), []).append(row)
        for bucket in buckets.values():
            for place, j in enumerate(bucket):
                met |= {(i, j) for i in bucket[: min(place, cap)]}
    return met


def equal_slots(a, b):
    return int(np.count_nonzero(np.asarray(a) == np.asarray(b)))
