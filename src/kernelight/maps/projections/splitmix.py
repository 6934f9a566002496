"""Random words of docs/hash-spec.md in NumPy, for what is not worth a compiled loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mixed_words(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """child(word, 0) of each word (docs/hash-spec.md, section 1)."""
    z = words + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def drawn_by_weight(weights: NDArray[np.float64], words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The index that each word draws, with probabilities as the weights; never a weight of 0."""
    edges = np.cumsum(weights)
    uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    # an edge above the number: never a weight of 0
    first_above = np.searchsorted(edges, uniform * edges[-1], side="right")
    last = np.flatnonzero(weights)[-1]
    return np.asarray(np.minimum(first_above, last), dtype=np.int64)
