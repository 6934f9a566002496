"""Weights in a chi-square ball: the closed form against bisection and a general optimiser.

And the conditions that define a solution.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from kernelight.maps.projections.chi2_ball import aligned_weights


def on_simplex(x):
    """The nearest point of the simplex."""
    ordered = np.sort(x)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(x) + 1)
    return np.maximum(x - excess[np.flatnonzero(ordered > excess)[-1]], 0)


def divergence(q):
    return len(q) * np.square(q - 1 / len(q)).sum()


def by_bisection(v, rho):
    """The slow twin: the q of a given lambda is a projection of v / lambda.

    The larger lambda is, the nearer q is to uniform.
    """
    v = (v - v.max()) / max(np.ptp(v), np.finfo(float).tiny)
    best = (v == 0) / np.count_nonzero(v == 0)
    if divergence(best) <= rho:
        return best
    low, high = -40.0, 40.0  # of log lambda
    for _ in range(200):
        middle = (low + high) / 2
        q = on_simplex(v / np.exp(middle))
        low, high = (middle, high) if divergence(q) > rho else (low, middle)
    return on_simplex(v / np.exp(high))


SCORES = st.one_of(
    st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=30),  # many ties
    st.lists(st.floats(-100, 100).map(lambda x: round(x, 3)), min_size=1, max_size=40),
    st.lists(st.floats(-5, 5).map(np.exp), min_size=1, max_size=40),
).map(np.array)
SHARES = st.floats(0, 1)  # of the useful range of rho


def ball(v, fraction):
    return fraction * (len(v) - 1)


@given(SCORES, SHARES)
@settings(max_examples=300)
def test_it_is_the_best_point_of_the_ball(v, fraction):
    rho = ball(v, fraction)
    q = aligned_weights(v, rho)
    assert q.min() >= 0
    assert q.sum() == pytest.approx(1, abs=1e-13)
    assert divergence(q) <= rho * (1 + 1e-9) + 1e-12
    spread = max(np.ptp(v), 1e-300)
    assert v @ q >= v @ by_bisection(v, rho) - 1e-10 * spread


@given(SCORES, st.floats(1e-3, 1))
@settings(max_examples=200)
def test_optimality_conditions(v, fraction):
    """On the support, weights are linear in the scores with a slope >= 0.

    Off the support, the line is not above zero.
    """
    q = aligned_weights(v, ball(v, fraction))
    w = (v - v.max()) / max(np.ptp(v), 1e-300)
    support = q > 1e-12
    low, high = w[support].min(), w[support].max()
    if high > low:
        slope = (q[w == high][0] - q[w == low][0]) / (high - low)
        line = q[w == high][0] + slope * (w - high)
        assert slope >= 0
        np.testing.assert_allclose(q, np.maximum(line, 0), rtol=0, atol=1e-8)
    else:
        assert low == high
        assert np.all(w[~support] <= low)


@given(SCORES, SHARES, st.integers(0, 2**32 - 1), st.floats(1e-9, 1e9), st.integers(-8, 8))
@settings(max_examples=200)
def test_order_scale_and_shift(v, fraction, seed, factor, shift):
    rho = ball(v, fraction)
    q = aligned_weights(v, rho)
    order = np.random.default_rng(seed).permutation(len(v))
    np.testing.assert_allclose(aligned_weights(v[order], rho), q[order], rtol=0, atol=1e-15)
    for value in np.unique(v):
        assert len(np.unique(q[v == value])) == 1
    # rounding of what is scaled or shifted can part scores that were equal: compare what they earn
    # instead
    spread = max(np.ptp(v), 1e-300)
    for moved in (v * factor, v + shift * spread):
        assert v @ aligned_weights(moved, rho) == pytest.approx(v @ q, abs=1e-7 * spread)


@pytest.mark.parametrize(
    ("n", "rho"), [(50, 0.3), (500, 3), (2000, 20), (2000, 400), (300, 298.9), (300, 1e-8)]
)
def test_bisection_agrees(n, rho):
    v = np.random.default_rng(n).standard_normal(n) ** 2
    np.testing.assert_allclose(aligned_weights(v, rho), by_bisection(v, rho), rtol=0, atol=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_general_optimiser_agrees(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    v, rho = rng.standard_normal(n), float(rng.uniform(0.1, n - 1))
    optimum = optimize.minimize(
        lambda q: -v @ q,
        np.full(n, 1 / n),
        jac=lambda q: -v,
        method="SLSQP",
        bounds=[(0, 1)] * n,
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1},
            {
                "type": "ineq",
                "fun": lambda q: rho - divergence(q),
                "jac": lambda q: -2 * n * (q - 1 / n),
            },
        ],
        options={"maxiter": 500, "ftol": 1e-11},
    )
    # 8: at the optimum, rounding leaves its line search no way down; the next line decides
    assert optimum.status in (0, 8)
    np.testing.assert_allclose(aligned_weights(v, rho), optimum.x, rtol=0, atol=1e-5)
