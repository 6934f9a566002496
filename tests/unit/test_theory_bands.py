"""Bands of slots: the curve against simulated codes, and the choice against all choices."""

from __future__ import annotations

import numpy as np
import pytest

from kernelight import theory

WISHES = pytest.mark.parametrize("wish", [{"recall": 0.9}, {"precision": 0.9}])


@pytest.mark.parametrize("J", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("bits", [None, 2])
def test_curve_simulated(J, bits):
    n, bands, rows = 20_000, 12, 4
    slot = J if bits is None else theory.bbit_collision(J, bits)
    agree = np.random.default_rng(1).random((n, bands, rows)) < slot
    P = theory.band_probability(J, bands, rows, bits)
    found = agree.all(axis=2).any(axis=1).mean()
    assert found == pytest.approx(P, abs=5 * np.sqrt(P * (1 - P) / n))


def test_curve():
    J = np.linspace(0, 1, 201)[:, None, None]
    bands, rows = np.array([1, 3, 20])[:, None], np.array([1, 2, 7])
    P = theory.band_probability(J, bands, rows)
    assert P.shape == (201, 3, 3)
    np.testing.assert_allclose(P, 1 - (1 - J**rows) ** bands, atol=1e-15)
    np.testing.assert_array_equal(P[0], 0)
    np.testing.assert_array_equal(P[-1], 1)
    assert np.all(np.diff(P, axis=0) >= 0)
    assert theory.band_probability(1e-3, 10, 10) == pytest.approx(1e-29, rel=1e-12)  # plain arithmetic has 0
    assert theory.band_probability(0.0, 5, 1, bits=1) == pytest.approx(1 - 0.5**5)


def test_threshold_is_where_the_curve_climbs():
    bands, rows = np.meshgrid([5, 20, 100], [2, 5, 10])
    at = theory.band_threshold(bands, rows)
    np.testing.assert_allclose(
        theory.band_probability(at, bands, rows), 1 - (1 - 1 / bands) ** bands, rtol=1e-12
    )
    assert theory.band_threshold(1, 3) == 1


def every_choice(k, at, J):
    """All bands and rows of at most k slots, with recall at the threshold and precision over J."""
    for rows in range(1, k + 1):
        for bands in range(1, k // rows + 1):
            found = 1 - (1 - J**rows) ** bands
            yield theory.Bands(bands, rows, 1 - (1 - at**rows) ** bands, found[at <= J].sum() / found.sum())


@WISHES
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("spread", ["even", "low"])
def test_choice_is_the_best_of_all(wish, threshold, spread):
    k = 40
    J = (np.arange(1000) + 0.5) / 1000 if spread == "even" else np.random.default_rng(1).beta(1, 3, 3000)
    given = None if spread == "even" else J
    ((name, value),) = wish.items()
    other = "precision" if name == "recall" else "recall"
    good = [c for c in every_choice(k, threshold, J) if getattr(c, name) >= value]
    if not good:
        with pytest.raises(ValueError, match="use more components or ask for less"):
            theory.choose_bands(k, threshold, similarities=given, **wish)
        return
    best = max(good, key=lambda c: getattr(c, other))
    ours = theory.choose_bands(k, threshold, similarities=given, **wish)
    np.testing.assert_allclose(ours, best, rtol=1e-9)


def test_cases_of_that_test_are_of_both_kinds():
    theory.choose_bands(40, 0.5, recall=0.9)
    with pytest.raises(ValueError, match=r"No bands of 40 slots have recall=0\.999999999 at 0\.3"):
        theory.choose_bands(40, 0.3, recall=0.999999999)


@WISHES
def test_choice_keeps_its_word(wish):
    """Simulated pairs, evenly spread: recall just above the threshold and precision are what was promised."""
    n, k, at = 100_000, 96, 0.6
    choice = theory.choose_bands(k, at, **wish)
    assert choice.bands * choice.rows <= k
    rng = np.random.default_rng(7)
    J = rng.random(n)
    band = rng.random((n, choice.bands)) < (J**choice.rows)[:, None]
    found = band.any(axis=1)
    above = at <= J
    p = choice.precision
    assert above[found].mean() == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / found.sum()) + 1e-3)
    edge = rng.binomial(choice.bands, at**choice.rows, n) > 0
    assert edge.mean() == pytest.approx(choice.recall, abs=5 * np.sqrt(0.25 / n))
    assert found[above].mean() > choice.recall


def test_few_bits_need_longer_bands():
    plain, cut = (theory.choose_bands(256, 0.5, recall=0.9, bits=bits) for bits in (None, 2))
    assert cut.rows > plain.rows
    assert cut.precision < plain.precision


def test_a_sample_says_more_than_an_even_spread():
    J = np.random.default_rng(2).beta(1, 12, 50_000)
    even, real = (
        theory.choose_bands(128, 0.5, recall=0.9),
        theory.choose_bands(128, 0.5, recall=0.9, similarities=J),
    )
    assert real.precision < even.precision / 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"recall": 0.9, "precision": 0.9}, "pass either recall or precision"),
        ({}, "pass either recall or precision"),
        ({"recall": 1.0}, "recall must lie between 0 and 1, got 1"),
        ({"precision": 0.0}, "precision must lie between 0 and 1, got 0"),
        ({"recall": 0.9, "threshold": 0.0}, "threshold must lie between 0 and 1, got 0"),
        ({"recall": 0.9, "n_components": 0}, "n_components must be at least 1, got 0"),
        ({"recall": 0.9, "similarities": [0.1, 0.2]}, "similarities has no value of at least 0.5"),
        (
            {"recall": 0.9, "similarities": [0.1, 7]},
            "similarities must lie between 0 and 1, got 7.0 at position 1",
        ),
        ({"recall": 0.9, "similarities": []}, "similarities has no value"),
    ],
)
def test_choice_refuses(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        theory.choose_bands(**{"n_components": 64, "threshold": 0.5} | arguments)
