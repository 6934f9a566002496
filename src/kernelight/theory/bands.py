"""Similar rows by bands of slots: how often a pair is a candidate, and how to choose bands.

Codes are cut into b bands of r slots. A pair is a candidate if all r slots of at least one band
agree, so if slots agree with probability J,

    P(candidate) = 1 - (1 - J^r)^b,

a curve that climbs around J = (1/b)^(1/r). Codes of few bits agree by chance too: there J is
`bbit_collision` of the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kernelight.theory.collisions import bbit_collision
from kernelight.theory.inputs import (
    Array,
    counts,
    inside,
    kernel_values,
    numbers,
    one,
    positive,
    result,
)

_SELDOM = 1e-300  # a probability below which doubles lose their digits
# Kernel values on either side of the threshold that stand for all: of an even spread, of a sample.
_GRID = 200
_MOST = 10_000


class Bands(NamedTuple):
    """Bands, slots in each, and what to expect of them: `choose_bands`.

    Parameters
    ----------
    bands : int
        How many bands there are.
    rows : int
        Slots in each band.
    recall : float
        The fraction of pairs at the threshold that are found.
    precision : float
        The fraction of candidates that are above the threshold.

    See Also
    --------
    choose_bands : Chooses them for a goal.

    Examples
    --------
    >>> from kernelight.theory import Bands
    >>> Bands(bands=20, rows=5, recall=0.9, precision=0.8).rows
    5
    """

    bands: int
    rows: int
    recall: float
    precision: float


def band_probability(
    J: ArrayLike, bands: ArrayLike, rows: ArrayLike, bits: ArrayLike | None = None
) -> Array:
    """The probability that a pair of kernel value J is a candidate: 1 - (1 - J^r)^b.

    With ``bits``, slots of that many bits agree with `bbit_collision` of J, so bands agree more
    often.

    Parameters
    ----------
    J : array_like
        Values of the kernel, 0 to 1.
    bands : array_like
        How many bands there are.
    rows : array_like
        Slots in each band.
    bits : array_like or None, default=None
        Bits of a slot; None is a slot that agrees with probability J.

    Returns
    -------
    float or array
        The probability that at least one band agrees in all its slots.

    See Also
    --------
    band_threshold : Where this curve climbs.
    choose_bands : Bands and rows for a goal.

    Examples
    --------
    >>> from kernelight.theory import band_probability
    >>> band_probability([0.0, 0.2, 0.5, 0.8, 1.0], bands=20, rows=5).round(6)
    array([0.      , 0.006381, 0.470051, 0.999644, 1.      ])
    >>> band_probability(0.2, bands=20, rows=5, bits=2).round(6)
    np.float64(0.18605)
    """
    J, b, r = kernel_values(J, "J"), counts(bands, "bands"), counts(rows, "rows")
    if bits is not None:
        J = np.asarray(bbit_collision(J, bits))
    return result(_candidate_probability(np.power(J, r), b))


def band_threshold(bands: ArrayLike, rows: ArrayLike) -> Array:
    """Where the curve climbs: J = (1/b)^(1/r).

    A pair there is a candidate with probability 1 - (1 - 1/b)^b, about 1 - 1/e.

    Parameters
    ----------
    bands : array_like
        How many bands there are.
    rows : array_like
        Slots in each band.

    Returns
    -------
    float or array
        The kernel value.

    See Also
    --------
    band_probability : The curve.

    Examples
    --------
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
    """Bands and rows that find pairs of kernel value ``threshold`` or more.

    They take at most ``n_components`` slots.

    Give exactly one of two goals. ``recall``: a pair at the threshold, hence each above it, is
    found at least that often; of all choices, the one of highest precision is taken. ``precision``:
    of the candidates, at least that fraction is above the threshold; of all choices, the one of
    highest recall.

    Precision depends on how kernel values of pairs are spread. ``similarities`` is a sample of
    them; without one they are assumed to be spread evenly over [0, 1], which flatters: in most data
    nearly all pairs are far apart. Recall assumes nothing.

    Parameters
    ----------
    n_components : int
        Slots of a code: bands times rows are at most as many.
    threshold : float
        The kernel value from which pairs are to be found, between 0 and 1.
    recall : float or None, default=None
        The goal: the fraction of pairs at the threshold that must be found.
    precision : float or None, default=None
        The other goal: the fraction of candidates that must be above the threshold.
    bits : int or None, default=None
        Bits of a slot; None is a slot that agrees with the probability of the kernel.
    similarities : array_like or None, default=None
        A sample of kernel values of pairs; None is evenly spread over [0, 1].

    Returns
    -------
    Bands
        Bands, rows, and the recall and precision to expect.

    See Also
    --------
    band_probability : The curve behind the choice.
    kernelight.neighbors.MinMaxNeighbors : The search that plans its bands so.

    Examples
    --------
    >>> from kernelight.theory import choose_bands
    >>> choice = choose_bands(128, 0.5, recall=0.9)
    >>> choice.bands, choice.rows, round(choice.recall, 6), round(choice.precision, 6)
    (18, 3, 0.909605, 0.746675)
    >>> choose_bands(128, 0.5, precision=0.9).rows
    5
    """
    k = int(one(counts(n_components, "n_components"), "n_components"))
    numbers(threshold, "threshold", 0.0, 1.0)
    at = one(positive(threshold, "threshold"), "threshold")
    goals = {
        name: goal
        for name, goal in (("recall", recall), ("precision", precision))
        if goal is not None
    }
    if len(goals) != 1:
        raise ValueError("choose_bands needs one goal: pass either recall or precision.")
    ((name, given),) = goals.items()
    goal = one(inside(given, name, 0.0, 1.0), name)
    J, weights = _spread(similarities, at)
    above = np.greater_equal(J, at)
    if similarities is not None and not above.any():
        raise ValueError(
            f"similarities has no value of at least {at}: give more, or lower the threshold."
        )
    slots, slot = J, at
    if bits is not None:
        slot = one(np.asarray(bbit_collision(at, bits)), "bits")
        slots = np.asarray(bbit_collision(J, bits))

    def quality(bands: int, rows: int) -> Bands:
        candidates = weights * _candidate_probability(np.power(slots, rows), bands)
        right, wrong = float(candidates[above].sum()), float(candidates[~above].sum())
        # without candidates there is no precision
        precise = right / (right + wrong) if right > 0 else 0.0
        recalled = float(_candidate_probability(np.float64(slot**rows), bands))
        return Bands(bands, rows, recalled, precise)

    if name == "recall":
        choices = _with_recall(goal, k, slot, quality)
        # Evenly spread pairs have no precision at a threshold of 1: there the longest band has the
        # fewest other candidates.
        best = max(
            choices, key=lambda choice: (choice.precision, choice.recall, choice.rows), default=None
        )
    elif at == 1.0 and similarities is None:
        raise ValueError(
            "precision at a threshold of 1 needs similarities: evenly spread, no pair is there."
        )
    else:
        choices = _with_precision(goal, k, quality)
        best = max(choices, key=lambda choice: choice.recall, default=None)
    if best is None:
        raise ValueError(
            f"No bands of {k} slots have {name}={goal} at {at}: use more components or ask for "
            "less."
        )
    return best


def _with_recall(
    goal: float, k: int, slot: float, quality: Callable[[int, int], Bands]
) -> Iterator[Bands]:
    """For each number of rows the fewest bands that will do.

    More would only add false candidates.
    """
    for rows in range(1, k + 1):
        band = slot**rows
        if band < _SELDOM:
            return
        fewest = math.log1p(-goal) / math.log1p(-band) if band < 1.0 else 1.0
        if fewest > k // rows:
            return  # longer bands agree less often, and there are fewer of them
        yield quality(math.ceil(fewest), rows)


def _with_precision(goal: float, k: int, quality: Callable[[int, int], Bands]) -> Iterator[Bands]:
    """For each number of rows the most bands that will do.

    Every further band lowers precision: 1 - (1 - q)^b of a small q grows by a larger factor than
    that of a large one.
    """
    for rows in range(1, k + 1):
        most = k // rows
        choice = quality(most, rows)
        if choice.recall < _SELDOM:
            return
        if choice.precision >= goal:
            yield choice
            return  # longer bands would find less
        good, bad = 0, most
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if quality(middle, rows).precision >= goal else (good, middle)
        if good:
            yield quality(good, rows)


def _spread(similarities: ArrayLike | None, at: float) -> tuple[Array, Array]:
    """Kernel values of pairs below the threshold and above it, and their weights."""
    if similarities is None:
        sides = [_evenly(0.0, at), _evenly(at, 1.0)]
    else:
        J = np.sort(kernel_values(similarities, "similarities").ravel())
        border = np.searchsorted(J, at)
        sides = [_thinned(J[:border]), _thinned(J[border:])]
    values, weights = zip(*sides, strict=True)
    return np.concatenate(values), np.concatenate(weights)


def _evenly(low: float, high: float) -> tuple[Array, Array]:
    """Nodes and weights of Gauss's rule."""
    nodes, weights = np.polynomial.legendre.leggauss(_GRID)
    return low + (high - low) * (nodes + 1.0) / 2.0, (high - low) * weights / 2.0


def _thinned(J: Array) -> tuple[Array, Array]:
    """Of many sorted values, `_MOST` quantiles; together they weigh as much as all."""
    kept = J if len(J) <= _MOST else J[np.linspace(0, len(J) - 1, _MOST).astype(np.intp)]
    return kept, np.full(len(kept), len(J) / max(len(kept), 1))


def _candidate_probability(band: ArrayLike, bands: ArrayLike) -> Array:
    """1 - (1 - q)^b, q the probability that a band agrees; no digit is lost where it is small."""
    with np.errstate(divide="ignore"):  # log 0 where q = 1, and its exponential is 0 again
        return np.asarray(-np.expm1(np.asarray(bands) * np.log1p(-np.asarray(band))))
