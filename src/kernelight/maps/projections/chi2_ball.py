"""Weights of random features that agree best with labels, not too far from uniform ones.

A feature l with score v_l (how well it agrees with the labels) gets the weight q_l that solves

    maximise v.q  over  q >= 0, sum q = 1, N |q - 1/N|^2 <= rho,

N the number of features: a chi-square ball around uniform weights. rho = 0 gives uniform weights,
rho = N - 1 the best feature alone, and in between at least N / (1 + rho) features count (1 / sum
q^2 is never less). Sinha and Duchi, "Learning kernels with random features" (2016), bisect for it.
"Binary embedding and optimized random Fourier features" (BE, equation 23) prints q = v / (lambda N)
+ tau; without the positive part, weights become negative.

Here is a closed form. q_l = max(0, 1/m + (v_l - mean_m) / lambda), the mean over the m largest v,
which are the support. With SS_m = sum_{l <= m} (v_l - mean_m)^2 and D_m = (1 + rho)/N - 1/m, q is
on the surface of the ball where lambda = sqrt(SS_m / D_m). As lambda grows, q comes closer to
uniform all the time, and features enter one after another, number m at lambda = e_m = sum_{l <= m}
(v_l - v_m). The support are those that enter before the surface is met: all m up to the last with
D_m e_m^2 <= SS_m. That is one sort and two cumulative sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def aligned_weights(scores: Any, rho: float) -> Array:
    """The weights q of the head of this module, for the scores v.

    Shift and scale of v do not matter; equal scores have equal weights.

    >>> from kernelight.maps.projections.chi2_ball import aligned_weights
    >>> aligned_weights([1, 2, 3, 4, 10], 2.0).round(6)
    array([0.      , 0.      , 0.076137, 0.172586, 0.751277])
    """
    v = _below_best(np.asarray(scores, dtype=np.float64))
    n = len(v)
    if n == 0:
        return v
    ordered = np.sort(v)[::-1]
    sizes = np.arange(1.0, n + 1.0)
    means = np.cumsum(ordered) / sizes
    # Welford's recurrence: a sum of squares has no differences to lose digits in, and none of its
    # terms is negative.
    steps = np.square(ordered[1:] - means[:-1]) * (sizes[:-1] / sizes[1:])
    scatter = np.concatenate([[0.0], np.cumsum(steps)])
    room = (min(rho, n) * sizes - (n - sizes)) / (n * sizes)  # D_m, exact where all features are in
    inside = room * np.square(sizes * (means - ordered)) <= scatter
    m = n if inside.all() else int(np.argmin(inside))
    # The support has equal scores, or the ball leaves no room for unequal weights.
    if scatter[m - 1] <= 0.0 or room[m - 1] <= 0.0:
        q = np.where(v >= ordered[m - 1], 1.0, 0.0)
    else:
        slope = np.sqrt(room[m - 1] / scatter[m - 1])
        q = np.maximum(1.0 / m + (v - means[m - 1]) * slope, 0.0)
    return np.asarray(q / q.sum())


def _below_best(v: Array) -> Array:
    """(v - max v) / (max v - min v).

    v is scaled by a power of two first: that is exact, and no difference overflows.
    """
    if v.size == 0 or v.min() == v.max():
        return np.zeros_like(v)
    v = np.ldexp(v, -np.frexp(np.abs(v).max())[1] - 1)
    v = v - v.max()
    return np.asarray(v / -v.min())


def centred_scores(sums: Any, counts: Any) -> Array:
    """How well each feature agrees with the classes: v_l = sum_c (s_cl - pi_c S_l)^2.

    ``sums`` is (classes, features), s_cl the sum of feature l over the rows of class c; S_l is its
    sum over all rows, and pi_c = counts_c / n. It is phi_l' T phi_l with T = H Y Y' H, the centred
    Gram matrix of one-hot labels, so that a feature that is the same everywhere scores 0. The +-1
    labels of BE (equations 25 and 26) give 4 sum_c s_c^2 + (classes - 4) S^2 instead, and for more
    than four classes reward agreement of rows of different classes.

    >>> from kernelight.maps.projections.chi2_ball import centred_scores
    >>> centred_scores([[3.0, 2.0], [-3.0, 2.0], [0.0, 2.0]], [10, 10, 10])
    array([18.,  0.])
    """
    sums, counts = np.asarray(sums, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    fractions = counts / max(counts.sum(), 1.0)
    return np.asarray(np.square(sums - np.outer(fractions, sums.sum(axis=0))).sum(axis=0))
