"""Ferns, written a second time from docs/hash-spec.md, section 10, alone: slow and obvious."""

from __future__ import annotations

import math

import numpy as np
from oracles.hash_twin import child, stream


def cuts_of(values):
    """Cuts and counts of a column, and its median; None where it does not vary."""
    known = sorted(float(x) for x in values if not math.isnan(x))
    if not known or known[0] == known[-1]:
        return None
    below = [x for x in known if x < known[-1]]
    if len(set(below)) > 255:
        below = [below[((2 * m + 1) * len(below)) // 510] for m in range(255)]
    cuts = sorted(set(below))
    return cuts, [below.count(cut) for cut in cuts], known[(len(known) - 1) // 2]


def drawn_tests(X, n_slots, depth, seed, weights=None):
    """Column, cut and median of each test of each slot."""
    n_columns = X.shape[1]
    known = [(f, cuts_of(X[:, f])) for f in range(n_columns)]
    known = [(f, found) for f, found in known if found is not None]
    own = [1.0 if weights is None else float(weights[f]) for f, _ in known]
    own = [w / max(own) for w in own]
    edges, last = [], 0.0
    for w in own:
        last += w
        edges.append(last)
    made = []
    for j in range(n_slots):
        for i in range(depth):
            n = 16 * j + i
            u = float(int(child(stream(seed, 19), n)) >> 11) * 2.0**-53
            p = next((at for at, edge in enumerate(edges) if edge > u * edges[-1]), len(edges) - 1)
            p = min(p, max(at for at, w in enumerate(own) if w > 0))
            column, (cuts, counts, median) = known[p]
            r = ((int(child(stream(seed, 20), n)) >> 32) * sum(counts)) >> 32
            at = 0
            while sum(counts[: at + 1]) <= r:
                at += 1
            made.append((column, cuts[at], median))
    return [made[j * depth : (j + 1) * depth] for j in range(n_slots)]


def codes(tests, X):
    """The codes of rows."""
    out = np.zeros((len(X), len(tests)), dtype=np.int64)
    for row, x in enumerate(X):
        for j, of_slot in enumerate(tests):
            for i, (column, cut, median) in enumerate(of_slot):
                value = median if math.isnan(x[column]) else x[column]
                out[row, j] |= int(value > cut) << i
    return out
