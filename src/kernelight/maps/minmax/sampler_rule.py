"""Which sampler `GCWS(sampler="auto")` takes.

It is a fixed rule of the data given to ``fit`` (docs/hash-spec.md, section 6), not a timing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Matrix, Resources
from kernelight.maps.minmax.poisson_slots import n_base_slots
from kernelight.maps.minmax.scheme import MinMaxScheme, RowRange, all_rows

# The rule is part of the specification. It has numbers of its own, so that tuning the samplers
# never changes a code. They are those of the dart sampler when the rule was frozen: bytes of a
# dart, of a table by rank and of all tables, the rank limits by rank and by weight, and how many
# powers of two a row sum may be away.
DART_BYTES, TABLE_BYTES_BY_RANK, ALL_TABLES_BYTES = 16, 64 << 20, 128 << 20
REACH_BY_RANK, REACH_BY_WEIGHT = 1.5, 1.25
FARTHEST = 100
# When its cells take more than KEPT_BYTES, cws draws them anew for each call; drawing one costs as
# much as NONZEROS_PER_DRAW nonzeros.
CELL_BYTES, KEPT_BYTES, NONZEROS_PER_DRAW = 16, 96 << 20, 60.0
# Nonzeros from which darts are cheaper. With tables by rank, a number for each unit of density;
# with tables by weight, a fixed number and more for each further level, whose table also passes
# through the cache. Measured once (benchmarks/hashing.py), then frozen.
NONZEROS_PER_DENSITY = 17.0
NONZEROS_BY_WEIGHT = 140.0
NONZEROS_PER_LEVEL = 20.0
# A row whose level has no table costs as much as this many nonzeros for each of the log k + 2 darts
# of a slot.
NONZEROS_WITHOUT_TABLE = 400.0


class Level(NamedTuple):
    """The rows whose sum lies between 2^e and 2^(e + 1).

    ``rows`` is their number, ``density`` the sum over coordinates of their largest weight, over
    2^e.
    """

    rows: int
    density: float


class RowFacts(NamedTuple):
    """What the rule depends on, over the rows that are not zero."""

    scale: float  # the power of two that brings the median row sum into [1, 2)
    mean_nonzeros: float
    rows: int
    coordinates: int  # how many expanded coordinates occur
    # the sum over coordinates of the largest fraction of a row's sum: darts looked at for each dart
    # of a row
    density: float
    levels: tuple[Level, ...]  # the powers of two that the row sums span, ascending
    far: bool  # a row sum beyond the reach of single-precision darts


def row_facts(X: Matrix, scheme: MinMaxScheme, resources: Resources) -> RowFacts:
    """Read the rows once for their sums, and once for the largest fractions of them."""
    rows = all_rows(X)
    sums, counts = np.empty(rows.n_rows), np.empty(rows.n_rows, dtype=np.int64)
    _core.dart_sums(rows.weighted(scheme), 1.0, sums, counts, resources.threads)
    filled = np.flatnonzero(counts)
    if len(filled) == 0 or not np.isfinite(sums).all():
        return RowFacts(1.0, 0.0, len(filled), 0, math.inf, (), len(filled) > 0)
    exponents = np.frexp(sums[filled])[1] - 1
    middle = int(np.sort(exponents)[(len(exponents) - 1) // 2])
    fractions = _largest(rows, scheme, filled, fraction=True)
    return RowFacts(
        scale=2.0 ** -max(-1000, min(1000, middle)),
        mean_nonzeros=float(counts[filled].mean()),
        rows=len(filled),
        coordinates=len(fractions),
        # rounded once: the order does not matter
        density=math.fsum(fractions) if fractions else math.inf,
        levels=tuple(_levels(rows, scheme, filled, exponents)),
        far=bool((np.abs(exponents - middle) > FARTHEST).any()),
    )


def _levels(
    rows: RowRange, scheme: MinMaxScheme, filled: NDArray[np.intp], exponents: NDArray[Any]
) -> Iterator[Level]:
    for exponent in np.unique(exponents).tolist():
        members = filled[exponents == exponent]
        scale = 2.0 ** -max(-1000, min(1000, exponent))
        yield Level(len(members), math.fsum(_largest(rows, scheme, members, scale=scale)))


def _largest(
    rows: RowRange,
    scheme: MinMaxScheme,
    members: NDArray[np.intp],
    *,
    fraction: bool = False,
    scale: float = 1.0,
) -> list[float]:
    """The largest weight times ``scale`` of every coordinate that occurs in some rows.

    With ``fraction``, the largest fraction of a row's sum. Empty where the width is too long for an
    array.
    """
    if rows.is_wide:
        return []
    most = np.zeros(rows.n_coordinates, dtype=np.float32)
    _core.dart_maxima(rows.weighted(scheme, l1=fraction or scheme.l1), scale, members, most)
    found: list[float] = most[most > 0].tolist()
    return found


def choose_sampler(facts: RowFacts, scheme: MinMaxScheme) -> str:
    """The sampler: "dart" where it is exact, its tables fit and it seems faster; else "cws"."""
    if (
        scheme.p != 1.0
        or scheme.t_bits is not None
        or scheme.coding != "mixed"
        or facts.far
        or not facts.levels
        or math.isinf(facts.density)
    ):
        return "cws"
    k = n_base_slots(scheme)
    darts_a_slot = _core.log(k) + 2.0
    by_weight = NONZEROS_BY_WEIGHT + NONZEROS_PER_LEVEL * (len(facts.levels) - 1)
    by_rank = facts.density < 2.0 * darts_a_slot
    with_table = NONZEROS_PER_DENSITY * facts.density if by_rank else by_weight
    covered = covered_fraction(facts.levels, k)
    needed = covered * with_table + (1.0 - covered) * (NONZEROS_WITHOUT_TABLE * darts_a_slot)
    nonzeros = facts.mean_nonzeros
    if CELL_BYTES * facts.coordinates * k > KEPT_BYTES:
        nonzeros += NONZEROS_PER_DRAW * facts.coordinates / facts.rows
    return "dart" if nonzeros > needed else "cws"


def covered_fraction(levels: tuple[Level, ...], k: int) -> float:
    """The fraction of the rows whose level has a table.

    Tables are given to levels in ascending order while there is memory for them.
    """
    rate, room, covered = _core.dart_rate(k), float(ALL_TABLES_BYTES), 0
    for level in levels:
        by_rank = level.density < 2.0 * (_core.log(k) + 2.0)
        table = DART_BYTES * rate * (REACH_BY_RANK if by_rank else REACH_BY_WEIGHT) * level.density
        if table <= (TABLE_BYTES_BY_RANK if by_rank else ALL_TABLES_BYTES) and table <= room:
            room -= table
            covered += level.rows
    return covered / sum(level.rows for level in levels)
