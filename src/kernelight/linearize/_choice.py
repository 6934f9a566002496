"""Which sampler `GCWS(sampler="auto")` takes: a fixed rule of the fitted data (docs/hash-spec.md, section 6), not a timing."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight._checks import Matrix, Resources
from kernelight.linearize._dart_sampler import (
    ALL_TABLES_BYTES,
    BYTES_PER_DART,
    MAX_LEVEL,
    RANK_REACH,
    TABLE_BYTES,
)
from kernelight.linearize._scheme import WIDE, MinMaxScheme, matrix_args

# A dart costs as much as this many evaluations of consistent weighted sampling, and a slot of the dart sampler as
# this many more than one of the other; measured once (benchmarks/hashing.py), then frozen.
EVALUATIONS_PER_DART = 8.0
EVALUATIONS_PER_SLOT = 25.0


class RowFacts(NamedTuple):
    """What the rule looks at, over the rows that are not zero."""

    scale: float  # the power of two nearest to 1 / (median row sum)
    mean_nonzeros: float
    density: float  # sum over coordinates of the largest share of a row's sum: darts met per dart owned
    levels: int  # how many powers of two the row sums span
    far: bool  # a row sum beyond the reach of single-precision darts


def row_facts(X: Matrix, scheme: MinMaxScheme, use: Resources) -> RowFacts:
    """One pass over the rows for their sums, one for the shares."""
    args = matrix_args(X, scheme)
    sums, counts = np.empty(X.shape[0]), np.empty(X.shape[0], dtype=np.int64)
    _core.dart_sums(*args, 1.0, sums, counts, use.threads)
    filled = np.flatnonzero(counts)
    if len(filled) == 0 or not np.isfinite(sums).all():
        return RowFacts(1.0, 0.0, math.inf, 0, len(filled) > 0)
    exponents = np.frexp(sums[filled])[1] - 1
    middle = round(math.log2(float(np.median(sums[filled]))))
    return RowFacts(
        scale=2.0 ** -max(-1000, min(1000, middle)),
        mean_nonzeros=float(counts[filled].mean()),
        density=_density(X, scheme, filled),
        levels=len(np.unique(exponents)),
        far=bool((np.abs(exponents - middle) > MAX_LEVEL).any()),
    )


def _density(X: Matrix, scheme: MinMaxScheme, filled: NDArray[np.intp]) -> float:
    if X.shape[1] > WIDE:
        return math.inf  # nothing as long as the width is allocated
    shares = np.zeros(2 * X.shape[1], dtype=np.float32)
    _core.dart_maxima(*matrix_args(X, scheme)[:-1], True, 1.0, filled, shares)
    return float(shares.sum(dtype=np.float64))


def choose_sampler(facts: RowFacts, scheme: MinMaxScheme) -> str:
    """``"dart"`` where it is exact, its tables fit and it is expected to be faster; else ``"cws"``."""
    if (
        scheme.p != 1.0
        or scheme.t_bits is not None
        or scheme.coding != "mixed"
        or facts.far
        or facts.levels == 0
    ):
        return "cws"
    per_slot = math.log(scheme.n_components) + 2.0  # darts per slot and unit of rank times row sum
    by_rank = facts.density < 2.0 * per_slot
    darts = _core.dart_rate(scheme.n_components) * RANK_REACH[by_rank] * 2.0 * facts.density
    if darts * BYTES_PER_DART > min(TABLE_BYTES, ALL_TABLES_BYTES / facts.levels):
        return "cws"
    met = min(1.5 * facts.density, 2.0 * per_slot)
    return "dart" if facts.mean_nonzeros > EVALUATIONS_PER_SLOT + EVALUATIONS_PER_DART * met else "cws"
