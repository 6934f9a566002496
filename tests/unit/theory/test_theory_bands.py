"""Bands of slots: the curve against simulated codes, and the choice against all choices."""

from __future__ import annotations

import numpy as np
import pytest

from kernelight import theory

GOALS = pytest.mark.parametrize("goal", [{"recall": 0.9}, {"precision": 0.9}])


@pytest.mark.parametrize("J", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("bits", [None, 2])
def test_curve_simulated(J, bits):
    n, bands, rows = 20_000, 12, 4
    slot = J if bits is None else theory.bbit_collision(J, bits)
    agree = np.random.default_rng(1).random((n, bands, rows)) < slot
    P = theory.band_probability(J, bands, rows, bits)
    fraction = agree.all(axis=2).any(axis=1).mean()
    assert fraction == pytest.approx(P, abs=5 * np.sqrt(P * (1 - P) / n))


def test_curve():
    J = np.linspace(0, 1, 201)[:, None, None]
    bands, rows = np.array([1, 3, 20])[:, None], np.array([1, 2, 7])
    P = theory.band_probability(J, bands, rows)
    assert P.shape == (201, 3, 3)
    np.testing.assert_allclose(P, 1 - (1 - J**rows) ** bands, atol=1e-15)
    np.testing.assert_array_equal(P[0], 0)
    np.testing.assert_array_equal(P[-1], 1)
    assert np.all(np.diff(P, axis=0) >= 0)
    # plain arithmetic has 0
    assert theory.band_probability(1e-3, 10, 10) == pytest.approx(1e-29, rel=1e-12)
    assert theory.band_probability(0.0, 5, 1, bits=1) == pytest.approx(1 - 0.5**5)


def test_threshold_is_where_the_curve_climbs():
    bands, rows = np.meshgrid([5, 20, 100], [2, 5, 10])
    at = theory.band_threshold(bands, rows)
    np.testing.assert_allclose(
        theory.band_probability(at, bands, rows), 1 - (1 - 1 / bands) ** bands, rtol=1e-12
    )
    assert theory.band_threshold(1, 3) == 1


# no border between two of its cells is a threshold of these tests
EVEN = (np.arange(100_000) + 0.5) / 100_000


def every_choice(k, at, J):
    """All bands and rows of at most k slots, with recall at the threshold and precision over J."""
    for rows in range(1, k + 1):
        for bands in range(1, k // rows + 1):
            candidates = 1 - (1 - J**rows) ** bands
            yield theory.Bands(
                bands,
                rows,
                1 - (1 - at**rows) ** bands,
                candidates[at <= J].sum() / candidates.sum(),
            )


@GOALS
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("spread", ["even", "low"])
def test_choice_is_the_best_of_all(goal, threshold, spread):
    k = 40
    J = EVEN if spread == "even" else np.random.default_rng(1).beta(1, 3, 3000)
    given = None if spread == "even" else J
    ((name, value),) = goal.items()
    other = "precision" if name == "recall" else "recall"
    good = [c for c in every_choice(k, threshold, J) if getattr(c, name) >= value]
    if not good:
        with pytest.raises(ValueError, match="use more components or ask for less"):
            theory.choose_bands(k, threshold, similarities=given, **goal)
        return
    best = max(good, key=lambda c: getattr(c, other))
    ours = theory.choose_bands(k, threshold, similarities=given, **goal)
    np.testing.assert_allclose(ours, best, rtol=1e-9)


def test_goals_that_are_just_met():
    """The precision of every choice as a goal.

    The choice with most bands but one is among the best.
    """
    J = np.random.default_rng(3).beta(1, 2, 200)
    choices = list(every_choice(12, 0.5, J))
    spare = []
    for met in choices:
        goal = met.precision * (1 - 1e-12)
        best = max((c for c in choices if c.precision >= goal), key=lambda c: c.recall)
        ours = theory.choose_bands(12, 0.5, precision=goal, similarities=J)
        np.testing.assert_allclose(ours, best, rtol=1e-9)
        spare.append(12 // ours.rows - ours.bands)
    assert {0, 1} <= set(spare)


@pytest.mark.parametrize("bits", [None, 2])
@pytest.mark.parametrize("threshold", [1e-9, 0.9995, 0.9999, 1 - 1e-15, 1.0])
def test_recall_assumes_nothing(threshold, bits):
    """Any threshold will do, and of it recall alone is asked: no sample of pairs is missing."""
    if threshold < 0.5 and bits is None:
        with pytest.raises(ValueError, match=r"^No bands of 128 slots have recall=0\.9 at 1e-09"):
            theory.choose_bands(128, threshold, recall=0.9, bits=bits)
        return
    choice = theory.choose_bands(128, threshold, recall=0.9, bits=bits)
    assert (
        choice.recall == theory.band_probability(threshold, choice.bands, choice.rows, bits) >= 0.9
    )
    assert 0 <= choice.precision <= 1
    assert (choice.precision == 0) == (threshold == 1)  # where no evenly spread pair is
    if threshold > 0.5:  # whoever must be as similar may be asked for all slots
        assert choice[:2] == (1, 128)


def test_even_spread_is_integrated():
    """Precision of long bands, on either side of a threshold next to 1, against a fine grid."""
    choice = theory.choose_bands(4096, 0.9999, recall=0.9)
    J = (np.arange(2_000_000) + 0.5) / 2_000_000
    candidates = theory.band_probability(J, choice.bands, choice.rows)
    assert choice.precision == pytest.approx(
        candidates[J >= 0.9999].sum() / candidates.sum(), rel=1e-6
    )


def test_a_few_pairs_among_many_count_as_few():
    J = np.r_[np.linspace(0, 0.5, 100_000), np.full(3, 0.9)]
    choice = theory.choose_bands(128, 0.8, recall=0.9, similarities=J)
    candidates = theory.band_probability(J, choice.bands, choice.rows)
    assert choice.precision == pytest.approx(candidates[-3:].sum() / candidates.sum(), rel=1e-3)


@pytest.mark.parametrize("below", [0.4999, 0.4996])
def test_finding_nothing_is_not_precise(below):
    """Powers of 0.5 end at 0.5^1074, those of 0.4996 before.

    What is left of the pairs there is no fraction of candidates.
    """
    J = np.r_[np.full(99, below), 0.5]
    with pytest.raises(
        ValueError, match=r"^No bands of 4096 slots have precision=0\.999 at 0\.5: use more"
    ):
        theory.choose_bands(4096, 0.5, precision=0.999, similarities=J)


def test_precision_is_a_share():
    """Also where next to nothing is choice."""
    choice = theory.choose_bands(
        4096, 0.5, precision=0.999, similarities=np.r_[np.full(99, 0.4), 0.5]
    )
    assert choice.recall > 0
    assert 0.999 <= choice.precision <= 1
    assert theory.choose_bands(128, 0.5, recall=1e-200).precision <= 1


def test_cases_of_that_test_are_of_both_kinds():
    theory.choose_bands(40, 0.5, recall=0.9)
    with pytest.raises(ValueError, match=r"No bands of 40 slots have recall=0\.999999999 at 0\.3"):
        theory.choose_bands(40, 0.3, recall=0.999999999)


@GOALS
def test_choice_keeps_its_word(goal):
    """Simulated pairs, evenly spread, have the promised recall and precision.

    Recall just above the threshold.
    """
    n, k, at = 100_000, 96, 0.6
    choice = theory.choose_bands(k, at, **goal)
    assert choice.bands * choice.rows <= k
    rng = np.random.default_rng(7)
    J = rng.random(n)
    band = rng.random((n, choice.bands)) < (J**choice.rows)[:, None]
    candidates = band.any(axis=1)
    above = at <= J
    p = choice.precision
    assert above[candidates].mean() == pytest.approx(
        p, abs=5 * np.sqrt(p * (1 - p) / candidates.sum()) + 1e-3
    )
    edge = rng.binomial(choice.bands, at**choice.rows, n) > 0
    assert edge.mean() == pytest.approx(choice.recall, abs=5 * np.sqrt(0.25 / n))
    assert candidates[above].mean() > choice.recall


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
        ({"recall": 1.0}, "recall must lie strictly between 0 and 1, got 1"),
        ({"precision": 0.0}, "precision must lie strictly between 0 and 1, got 0"),
        ({"recall": 0.9, "threshold": 0.0}, "threshold must be positive, got 0"),
        ({"recall": 0.9, "threshold": 1.1}, "threshold must lie between 0 and 1, got 1.1"),
        ({"precision": 0.9, "threshold": 1.0}, "precision at a threshold of 1 needs similarities"),
        (
            {"recall": 0.9, "threshold": [0.5, 0.6]},
            r"threshold must be one number, got .* shape \(2,\)",
        ),
        (
            {"recall": 0.9, "n_components": [64]},
            r"n_components must be one number, got .* shape \(1,\)",
        ),
        (
            {"recall": 0.9, "bits": [1, 2]},
            r"bits must be one number, got .* shape \(2,\): call once for each",
        ),
        ({"recall": [0.9, 0.8]}, "recall must be one number"),
        ({"precision": [0.9, 0.8]}, "precision must be one number"),
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
