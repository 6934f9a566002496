"""Scores of probabilities, in batches, are those of scikit-learn on all rows at once."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from kernelight.metrics import ProbabilityScores


@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_are_those_of_scikit_learn(n_classes):
    rng = np.random.default_rng(0)
    classes = np.array(list("abcd"))[:n_classes]
    logits = 2 * rng.normal(size=(3000, n_classes))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(n_classes, p=each) for each in probabilities])
    scores = ProbabilityScores(classes)
    for start in range(0, 3000, 700):
        part = slice(start, start + 700)
        scores.add(classes[labels[part]], probabilities[part])
    result = scores.result()
    assert result["log_loss"] == pytest.approx(log_loss(labels, probabilities))
    one_hot = np.eye(n_classes)[labels]
    wanted = np.square(probabilities - one_hot).sum(axis=1).mean() / (2 if n_classes == 2 else 1)
    assert result["brier_score"] == pytest.approx(wanted)
    if n_classes == 2:
        assert result["brier_score"] == pytest.approx(brier_score_loss(labels, probabilities[:, 1]))
    area = roc_auc_score(
        labels, probabilities[:, 1] if n_classes == 2 else probabilities, multi_class="ovr"
    )
    assert result["roc_auc"] == pytest.approx(area, abs=1e-3)
    assert sum(entry["rows"] for entry in result["calibration"]) == 3000
    for entry in result["calibration"]:  # the labels were drawn with these probabilities
        sigma = np.sqrt(entry["predicted"] * (1 - entry["predicted"]) / entry["rows"])
        assert abs(entry["observed"] - entry["predicted"]) < 5 * sigma + 1e-9


def test_certain_and_unknown_classes():
    scores = ProbabilityScores(np.array([1, 2]))
    scores.add(np.array([1, 2, 3]), np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]]))
    result = scores.result()
    assert np.isfinite(result["log_loss"])
    assert result["roc_auc"] == pytest.approx(0.25)
    only = ProbabilityScores(np.array([1, 2]))
    only.add(np.array([1]), np.array([[0.7, 0.3]]))
    assert only.result()["roc_auc"] is None


def test_the_area_says_which_class_it_is_of():
    rng = np.random.default_rng(0)
    two = ProbabilityScores(np.array(["no", "yes"]))
    probabilities = rng.random(200)
    truth = np.where(rng.random(200) < probabilities, "yes", "no")
    two.add(truth, np.column_stack([1 - probabilities, probabilities]))
    result = two.result()
    assert (result["positive_class"], result["roc_auc_classes"]) == ("yes", ["yes"])
    assert result["roc_auc"] == pytest.approx(
        roc_auc_score(truth == "yes", probabilities), abs=1e-3
    )
    many = ProbabilityScores(np.array([1, 2, 3, 4]))
    probabilities = rng.dirichlet(np.ones(4), 200)
    truth = rng.integers(1, 4, 200)  # the class 4 does not occur
    many.add(truth, probabilities)
    result = many.result()
    assert (result["positive_class"], result["roc_auc_classes"]) == (None, [1, 2, 3])
    areas = [roc_auc_score(truth == label, probabilities[:, label - 1]) for label in (1, 2, 3)]
    assert result["roc_auc"] == pytest.approx(np.mean(areas), abs=1e-3)
