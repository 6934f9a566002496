"""Weights in a chi-square ball: reference values, edges, size; scores against labels."""

from __future__ import annotations

import numpy as np
import pytest

from kernelight.maps.projections.chi2_ball import aligned_weights, centred_scores


@pytest.mark.parametrize(
    ("v", "rho", "printed"),
    [
        ((1, 2, 3, 4, 10), 0.5, (0.0658359214, 0.1105572809, 0.1552786405, 0.2, 0.4683281573)),
        ((1, 2, 3, 4, 10), 2.0, (0, 0, 0.0761371615, 0.1725857259, 0.7512771125)),
        (
            (0, 1, 4, 9, 16, 25),
            0.2,
            (0.0898633080, 0.0982418562, 0.1233775009, 0.1652702420, 0.2239200795, 0.2993270134),
        ),
        ((0, 1, 4, 9, 16, 25), 5.0, (0, 0, 0, 0, 0, 1)),
    ],
)
def test_reference_values(v, rho, printed):
    np.testing.assert_allclose(aligned_weights(v, rho), printed, rtol=0, atol=0.51e-10)


def test_reference_objective():
    v = np.array([1, 2, 3, 4, 10])
    assert v @ aligned_weights(v, 0.5) == pytest.approx(6.2360679775, abs=0.51e-10)


@pytest.mark.parametrize("rho", [0.0, 1e-300, 1e-17, 1e-9, 0.3, 2.0, 3.0, 100.0, np.inf])
@pytest.mark.parametrize("v", [[7.0], [0.0] * 5, [3.0] * 4, [-2.5] * 3])
def test_nothing_to_choose(v, rho):
    np.testing.assert_array_equal(aligned_weights(v, rho), np.full(len(v), 1 / len(v)))


def test_ends_of_the_range():
    v = np.array([1.0, 5.0, 2.0, 5.0, -4.0])
    np.testing.assert_array_equal(aligned_weights(v, 0.0), np.full(5, 0.2))
    best_two = [0, 0.5, 0, 0.5, 0]
    for rho in (1.5, 1.6, 4.0, 1e300, np.inf):
        np.testing.assert_array_equal(aligned_weights(v, rho), best_two)
    almost = aligned_weights(v, 1.499)
    assert np.all(almost[[0, 4]] == 0)
    assert 0 < almost[2] < 1e-3
    assert aligned_weights([], 1.0).shape == (0,)


@pytest.mark.parametrize("rho", [1e-12, 0.1, 3.0, 40.0])
@pytest.mark.parametrize("factor", [1e-300, 1e-12, 1e12, 1e300])
def test_scale_does_not_matter(factor, rho):
    v = np.random.default_rng(0).exponential(size=200)
    np.testing.assert_allclose(
        aligned_weights(v * factor, rho), aligned_weights(v, rho), rtol=0, atol=1e-14
    )


def test_scores_at_the_ends_of_the_doubles():
    np.testing.assert_allclose(
        aligned_weights([-1.7e308, 0, 1.7e308], 0.5), aligned_weights([-1, 0, 1], 0.5), atol=1e-15
    )
    np.testing.assert_allclose(
        aligned_weights([0, 5e-324, 1e-323], 0.5), aligned_weights([0, 1, 2], 0.5), atol=1e-15
    )


def test_close_scores_far_above_the_rest():
    """A cluster whose differences would drown in the squares of a textbook variance."""
    v = np.concatenate([1 + 1e-9 * np.arange(10), np.zeros(990)])
    rho = 1000 / 6 - 1  # six features' worth
    q = aligned_weights(v, rho)
    alone = aligned_weights(np.arange(10.0), 10 / 6 - 1)
    np.testing.assert_allclose(q[:10], alone, atol=1e-6)
    assert np.all(q[10:] == 0)


@pytest.mark.parametrize("n", [10, 11, 49, 1000])
@pytest.mark.parametrize("cluster", [3, 5, 7])
def test_ball_that_just_holds_a_cluster(n, cluster):
    """Room for exactly ``cluster`` equal weights: rounding leaves a little more, less, or none."""
    v = np.concatenate([1 - 1e-12 * np.arange(cluster), np.zeros(n - cluster)])
    q = aligned_weights(v, n / cluster - 1)
    np.testing.assert_allclose(q, np.where(v > 0, 1 / cluster, 0), rtol=0, atol=1e-6)


def test_a_million_features():
    rng = np.random.default_rng(1)
    v = rng.exponential(size=1_000_000)
    for rho in (0.01, 1.0, 1e3, 1e5):
        q = aligned_weights(v, rho)
        assert q.min() >= 0
        assert q.sum() == pytest.approx(1, abs=1e-12)
        assert len(v) * np.square(q).sum() - 1 == pytest.approx(rho, rel=1e-9)


def test_scores_are_the_centred_target_gram():
    """phi' H Y Y' H phi, written out with matrices, for unequal classes and one without rows."""
    rng = np.random.default_rng(2)
    n, classes = 40, 5
    labels = rng.choice(classes - 1, n, p=[0.5, 0.3, 0.15, 0.05])
    one_hot, features = np.eye(classes)[labels], rng.standard_normal((n, 7)) + 1
    centring = np.eye(n) - 1 / n
    target = centring @ one_hot @ one_hot.T @ centring
    expected = [phi @ target @ phi for phi in features.T]
    scores = centred_scores(one_hot.T @ features, one_hot.sum(axis=0))
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    np.testing.assert_allclose(
        centred_scores(one_hot.T @ (features + 9), one_hot.sum(axis=0)), scores, rtol=1e-9
    )


def test_two_classes():
    """With labels y = +-1 minus their mean, scores are half of those of Sinha and Duchi."""
    rng = np.random.default_rng(3)
    y, features = np.where(rng.random(30) < 0.8, 1.0, -1.0), rng.standard_normal((30, 4))
    one_hot = np.stack([y > 0, y < 0], axis=1).astype(float)
    scores = centred_scores(one_hot.T @ features, one_hot.sum(axis=0))
    np.testing.assert_allclose(scores, ((y - y.mean()) @ features) ** 2 / 2, rtol=1e-12)


@pytest.mark.parametrize(("classes", "misled"), [(2, False), (6, True), (10, True), (36, True)])
def test_signed_labels_reward_wrong_pairs(classes, misled):
    """Labels +-1 for each class reward agreement of rows of different classes.

    Their product is classes - 4: from five classes on, a feature that is the same everywhere beats
    one that tells half of the classes from the others. Centred labels do not do that.
    """
    labels = np.repeat(np.arange(classes), 10)
    features = np.stack([np.ones(len(labels)), np.where(labels % 2, 1.0, -1.0)], axis=1)
    signed = np.where(labels[:, None] == np.arange(classes), 1.0, -1.0)
    assert signed[0] @ signed[-1] == classes - 4
    sums = np.eye(classes)[labels].T @ features
    theirs = np.square(signed.T @ features).sum(axis=0)
    np.testing.assert_allclose(
        theirs, 4 * np.square(sums).sum(axis=0) + (classes - 4) * sums.sum(axis=0) ** 2
    )
    assert (theirs[0] > theirs[1]) == misled
    ours = centred_scores(sums, np.full(classes, 10))
    assert ours[0] < 1e-9 < ours[1]
