"""Normal numbers from a Sobol sequence, scrambled by the random bits of this package.

A seed gives the same numbers with every version of scipy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.maps.projections.splitmix import mixed_words

SOBOL_BITS = 32


def sobol_normals(n_features: int, n_outputs: int, seed: int) -> NDArray[np.float32]:
    """(n_features, n_outputs) standard normals from scrambled Sobol points."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    engine = qmc.Sobol(n_features, scramble=False, bits=SOBOL_BITS)
    keys = np.empty(n_features, dtype=np.uint64)
    _core.fill_words(seed, _core.STREAM_SCRAMBLE, keys)
    normals = np.empty((n_features, n_outputs), dtype=np.float32)
    # some megabytes of points at a time, a power of two
    step = 1 << max(6, (1 << 19) // n_features).bit_length()
    for begin in range(0, n_outputs, step):
        end = min(begin + step, n_outputs)
        digits = (engine.random(step)[: end - begin].T * 2.0**SOBOL_BITS).astype(np.uint64)
        normals[:, begin:end] = ndtri(
            (scrambled(digits, keys).astype(np.float64) + 0.5) * 2.0**-SOBOL_BITS
        )
    return normals


def scrambled(digits: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Owen's scramble of (features, points) binary fractions, each feature by its key."""
    turned = np.zeros_like(digits)
    for depth in range(SOBOL_BITS):
        above = digits >> np.uint64(SOBOL_BITS - depth)  # the bits above this one
        turn = mixed_words(mixed_words(keys[:, None] + np.uint64(depth)) + above) >> np.uint64(63)
        bit = (digits >> np.uint64(SOBOL_BITS - 1 - depth)) & np.uint64(1)
        turned |= (bit ^ turn) << np.uint64(SOBOL_BITS - 1 - depth)
    return turned
