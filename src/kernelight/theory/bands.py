"""Finding similar rows by bands of slots: the curve of being found, and how to choose it.

Codes are cut into b bands of r slots. A pair is a candidate if all r slots of at least one band agree, so if slots agree
with probability J,

    P(candidate) = 1 - (1 - J^r)^b,

a curve that climbs around J = (1/b)^(1/r). Codes of few bits agree by chance too: there J is `bbit_collision` of the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kernelight.theory._numbers import Array, counts, inside, kernel_values, result
from kernelight.theory.collisions import bbit_collision

_GRID = 1000  # kernel values that stand for all
_MOST = 10_000  # quantiles of a sample


class Bands(NamedTuple):
    """Bands, slots in each, and what to expect of them: `choose_bands`.

    >>> from kernelight.theory import Bands
    >>> Bands(bands=20, rows=5, recall=0.9, precision=0.8).rows
    5
    """

    bands: int
    rows: int
    recall: float
    precision: float


def band_probability(J: ArrayLike, bands: ArrayLike, rows: ArrayLike, bits: ArrayLike | None = None) -> Array:
    """The probability that a pair of kernel value J is found: 1 - (1 - J^r)^b.

    With ``bits``, slots of so many bits agree with `bbit_collision` of J, and bands do so more often.

    >>> from kernelight.theory import band_probability
    >>> band_probability([0.0, 0.2, 0.5, 0.8, 1.0], bands=20, rows=5).round(6)
    array([0.      , 0.006381, 0.470051, 0.999644, 1.      ])
    >>> band_probability(0.2, bands=20, rows=5, bits=2).round(6)
    np.float64(0.18605)
    """
    J, b, r = kernel_values(J, "J"), counts(bands, "bands"), counts(rows, "rows")
    if bits is not None:
        J = np.asarray(bbit_collision(J, bits))
    return result(_found(np.power(J, r), b))


def band_threshold(bands: ArrayLike, rows: ArrayLike) -> Array:
    """Where the curve climbs: J = (1/b)^(1/r). A pair there is found with probability 1 - (1 - 1/b)^b, about 1 - 1/e.

    >>> from kernelight.theory import band_threshold
    >>> band_threshold(20, [4, 5, 6]).round(3)
    array([0.473, 0.549, 0.607])
    """
    return result(np.exp(-np.log(counts(bands, "bands")) / counts(rows, "rows")))


def choose_bands(
    n_components: int,
    threshold: float,
    *,
    recall: float | None = None,
    precision: float | None = None,
    bits: int | None = None,
    similarities: ArrayLike | None = None,
) -> Bands:
    """Bands and rows, of at most ``n_components`` slots, that find pairs of kernel value ``threshold`` or more.

    Exactly one of two wishes. ``recall``: a pair at the threshold, hence each above it, is found at least that often; of all
    choices, the one of highest precision is taken. ``precision``: of the candidates, at least that share is above
    the threshold; of all choices, the one of highest recall.

    Precision depends on how kernel values of pairs are spread. ``similarities`` is a sample of them; without one they are
    assumed to be spread evenly over [0, 1], which flatters: in most data nearly all pairs are far apart. Recall assumes
    nothing.

    >>> from kernelight.theory import choose_bands
    >>> choose_bands(128, 0.5, recall=0.9)
    Bands(bands=18, rows=3, recall=0.9096048864993564, precision=0.7466752263720673)
    >>> choose_bands(128, 0.5, precision=0.9).rows
    5
    """
    k = int(counts(n_components, "n_components"))
    at = float(inside(threshold, "threshold", 0.0, 1.0))
    if (recall is None) == (precision is None):
        raise ValueError("choose_bands needs one wish: pass either recall or precision.")
    J = _spread(similarities)
    above = np.greater_equal(J, at)
    if not above.any():
        raise ValueError(f"similarities has no value of at least {at}: give more, or lower the threshold.")
    slots, slot = (J, at) if bits is None else (bbit_collision(J, bits), float(bbit_collision(at, bits)))

    def quality(bands: int, rows: int) -> Bands:
        found = _found(np.power(slots, rows), bands)
        total = float(found.sum())
        share = float(found[above].sum()) / total if total > 0 else 1.0
        return Bands(bands, rows, float(_found(np.float64(slot**rows), bands)), share)

    if recall is not None:
        choices = _with_recall(float(inside(recall, "recall", 0.0, 1.0)), k, slot, quality)
        best = max(choices, key=lambda choice: choice.precision, default=None)
    else:
        choices = _with_precision(float(inside(precision or 0.0, "precision", 0.0, 1.0)), k, quality)
        best = max(choices, key=lambda choice: choice.recall, default=None)
    if best is None:
        wish = f"precision={precision}" if recall is None else f"recall={recall}"
        raise ValueError(f"No bands of {k} slots have {wish} at {at}: use more components or ask for less.")
    return best


def _with_recall(wish: float, k: int, slot: float, quality: Callable[[int, int], Bands]) -> Iterator[Bands]:
    """For each number of rows the fewest bands that will do: more would only add false candidates."""
    for rows in range(1, k + 1):
        band = slot**rows
        if band == 0.0 or math.log1p(-wish) / math.log1p(-band) > k // rows:
            return  # longer bands agree less often, and there are fewer of them
        yield quality(math.ceil(math.log1p(-wish) / math.log1p(-band)), rows)


def _with_precision(wish: float, k: int, quality: Callable[[int, int], Bands]) -> Iterator[Bands]:
    """For each number of rows the most bands that will do. Every band more lowers precision: 1 - (1 - q)^b of a small q grows
    by a larger factor than that of a large one.
    """
    for rows in range(1, k + 1):
        most = k // rows
        choice = quality(most, rows)
        if choice.precision >= wish:
            yield choice
            return  # longer bands would find less
        good, bad = 0, most
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if quality(middle, rows).precision >= wish else (good, middle)
        if good:
            yield quality(good, rows)


def _spread(similarities: ArrayLike | None) -> Array:
    """Kernel values of pairs: an even grid, or a sample, of which so many quantiles are enough."""
    if similarities is None:
        return (np.arange(_GRID) + 0.5) / _GRID
    J = np.sort(kernel_values(similarities, "similarities").ravel())
    return J if len(J) <= _MOST else J[np.linspace(0, len(J) - 1, _MOST).astype(np.intp)]


def _found(band: ArrayLike, bands: ArrayLike) -> Array:
    """1 - (1 - q)^b, q the probability that a band agrees; no digit is lost where it is small."""
    with np.errstate(divide="ignore"):  # log 0 where q = 1, and its exponential is 0 again
        return np.asarray(-np.expm1(np.asarray(bands) * np.log1p(-np.asarray(band))))
