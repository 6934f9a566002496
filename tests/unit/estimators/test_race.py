"""The race: rounds, the walk over C, who leaves, and what splits and relearned features mean."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import circles
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, LeavePOut, TimeSeriesSplit

from kernelight import KernelClassifier, KernelRegressor
from kernelight.estimators import left_out, race
from kernelight.estimators.race import Entrant, Trial, round_sizes, walk
from kernelight.estimators.routes import Task
from kernelight.kernels import GMM


@pytest.mark.parametrize(
    ("n_rows", "most", "sizes"),
    [
        (120, 1_200, [120]),
        (449, 1_200, [449]),
        (450, 1_200, [300, 450]),
        (1_200, 1_200, [300, 1_200]),
        (1_201, 1_200, [300, 900]),
        (1_350, 1_200, [300, 900]),
        (3_000, 1_800, [300, 900, 1_800]),
        (10**6, 1_800, [300, 900, 1_800]),
    ],
)
def test_rounds_grow_until_they_have_all_rows_or_enough(n_rows, most, sizes):
    assert round_sizes(n_rows, most) == sizes


def walked(errors: dict[int, float], start: int) -> tuple[float, list[float]]:
    """The power of ten that a walk ends at, and those that it tried; others are far worse."""
    tried = []

    def trial(C: float) -> Trial:
        power = round(np.log10(C))
        tried.append(power)
        return Trial(C, 0.0, np.array([errors.get(power, 9.0)]))

    return round(np.log10(walk(trial, 10.0**start, 10.0).best.C)), tried


@pytest.mark.parametrize(
    ("errors", "start", "best", "tried"),
    [
        ({0: 1.0, 1: 0.5, 2: 0.4, 3: 0.6}, 0, 2, [0, 1, 2, 3]),  # up, until it is worse
        ({0: 1.0, -1: 0.5, -2: 0.7}, 0, -1, [0, 1, -1, -2]),  # down, if up is worse
        ({0: 1.0, 1: 0.999, -1: 1.005, -2: 1.2}, 0, -1, [0, 1, -1, -2]),  # of a tie the smallest
        ({0: 1.0}, 0, 0, [0, 1, -1]),
        (dict.fromkeys(range(-9, 9), 1.0), 0, -2, [0, 1, -1, -2]),  # within its limits
    ],
)
def test_a_walk_ends_at_the_smallest_c_that_is_nearly_the_best(errors, start, best, tried):
    assert walked(errors, start) == (best, tried)


def entrant(place: int, errors: np.ndarray) -> Entrant:
    return Entrant(None, place, Trial(1.0, 0.0, errors))


def test_who_is_clearly_behind():
    errors = np.random.default_rng(0).random(300)
    leader = entrant(0, errors)
    noise = np.random.default_rng(1).normal(0, 0.1, 300)
    noise -= noise.mean()
    standard_error = noise.std() / np.sqrt(300)
    assert not entrant(1, errors + noise + 2.4 * standard_error).is_clearly_behind(leader)
    assert entrant(1, errors + noise + 2.6 * standard_error).is_clearly_behind(leader)
    twin = entrant(1, errors.copy())  # the same by another name: the first of the grid stays
    assert twin.is_clearly_behind(leader)
    assert not leader.is_clearly_behind(twin)
    assert not entrant(1, errors[:100]).is_close_to(leader)  # they never met


def test_scalings_that_do_the_same_run_once_after_the_first_round():
    X = np.random.default_rng(0).integers(0, 2, (1_000, 30)).astype(float)
    y = X[:, :5].sum(axis=1) > 2
    model = KernelClassifier().fit(X, y)
    later = {entry["scale"] for entry in model.search_ if entry["n_rows"] > 300}
    assert "minmax" in later
    assert not {"none", "quantile"} & later  # equal to "minmax" on columns of 0 and 1


def test_each_row_is_scored_by_the_others():
    """A row's own target has no influence on its score."""
    X, y = circles(200)
    task = Task(y, None, np.unique(y), "squared_hinge")
    sample = left_out.sample_of(np.arange(200), task, None, 0, learns_labels=False)

    def scores(targets: np.ndarray) -> np.ndarray:
        other = Task(targets, None, np.unique(y), "squared_hinge")
        changed = left_out.Sample(sample.rows, other, None)
        gram = np.exp(-np.square(X[:, None] - X[None]).sum(axis=2))
        return left_out.LeftOutScores(lambda X, task: gram, X, changed, None)(1.0)

    flipped = y.copy()
    flipped[17] = 1 - flipped[17]
    before, after = scores(y), scores(flipped)
    np.testing.assert_allclose(after[17], before[17], atol=1e-4)
    assert np.abs(after - before).max() > 1e-2


@pytest.mark.parametrize("method", ["ridge", None])
@pytest.mark.parametrize(
    "cv",
    [
        3,
        KFold(3, shuffle=True, random_state=0),
        TimeSeriesSplit(3),
        list(GroupKFold(4).split(np.zeros(700), groups=np.arange(700) // 70)),
        [(np.arange(100), np.arange(690, 700))],
    ],
)
@pytest.mark.parametrize("cls", [KernelClassifier, KernelRegressor])
def test_own_splits_hold_in_the_race(cls, cv, method):
    X, y = circles(700)
    model = cls(method=method, n_components=None if method else 32, cv=cv).fit(X, y)
    assert model.score(X, y) > 0.6
    assert "split" in model.held_out_ or model.held_out_ == "10 rows held out"


def test_splits_that_miss_the_rows_of_a_round_leave_single_rows_out():
    X, y = circles(2_000)
    task = Task(y, None, np.unique(y), "squared_hinge")
    far = [(np.arange(1_000, 1_990), np.arange(1_990, 2_000))]
    sample = left_out.sample_of(np.arange(300), task, far, 0, learns_labels=False)
    assert sample.splits is None
    assert KernelClassifier(n_components=16, cv=far).fit(X, y).held_out_ == "10 rows held out"


def gram_of(X, task):
    return GMM()(X)


@pytest.mark.parametrize("held", [np.arange(60), np.array([5, 3, 59])])
@pytest.mark.parametrize("classes", [np.arange(2), None])
def test_single_rows_are_held_out_in_closed_form(held, classes):
    X, y = circles(60)
    task = Task(y if classes is not None else X[:, 0] + y, None, classes, "squared")
    splits = [(np.setdiff1d(np.arange(60), row), np.array([row])) for row in held]
    sample = left_out.sample_of(np.arange(60), task, splits, 0, learns_labels=False)
    assert sample.splits is None
    assert sample.held.tolist() == held.tolist()
    by_splits = left_out.Sample(sample.rows, sample.task, splits)
    np.testing.assert_array_equal(sample.held_task.y, by_splits.held_task.y)
    scores = [left_out.LeftOutScores(gram_of, X, each, None)(10.0) for each in (sample, by_splits)]
    np.testing.assert_allclose(scores[0], scores[1], atol=2e-4)


def test_other_splits_and_features_of_labels_are_held_out_by_splits():
    _, y = circles(60)
    task, rows = Task(y, None, np.arange(2), "squared"), np.arange(60)
    single = list(LeaveOneOut().split(rows))
    assert left_out.sample_of(rows, task, single, 0, learns_labels=True).splits is not None
    twice = [(np.where(train == 50, 51, train), held) for train, held in single[:10]]
    less = [(train[1:], held) for train, held in single]
    for splits in (list(LeavePOut(2).split(rows))[:20], twice, less):
        sample = left_out.sample_of(rows, task, splits, 0, learns_labels=False)
        assert len(sample.splits) == len(splits)


def test_a_row_whose_class_is_its_own_is_not_left_out():
    _, y = circles(60)
    lonely = np.where(np.arange(60) == 7, 1, 0)
    single, rows = list(LeaveOneOut().split(y)), np.arange(60)
    task = Task(lonely, None, np.arange(2), "squared")
    sample = left_out.sample_of(rows, task, single, 0, learns_labels=False)
    assert sample.held.tolist() == [row for row in range(60) if row != 7]
    with pytest.raises(ValueError, match="rows of at least two classes"):
        KernelClassifier(method="ridge", C=1.0, cv=LeaveOneOut()).fit(np.eye(60), lonely)


@pytest.mark.parametrize("cls", [KernelClassifier, KernelRegressor])
def test_leave_one_out_of_scikit_learn_is_what_ridge_does_anyway(cls):
    X, y = circles(200)
    model, plain = cls(method="ridge", cv=LeaveOneOut()), cls(method="ridge")
    np.testing.assert_array_equal(model.fit(X, y).predict(X), plain.fit(X, y).predict(X))
    assert model.held_out_ == plain.held_out_ == "200 rows, each left out by itself"


@pytest.mark.parametrize("scoring", ["average_precision", "roc_auc", "neg_log_loss", "f1"])
def test_a_scoring_chooses_among_the_best_three(scoring):
    X, y = circles(600)
    model = KernelClassifier(scoring=scoring).fit(X, y)
    last = [entry for entry in model.search_ if "squared_error" not in entry]
    assert len({entry["scale"] for entry in last}) == 3
    assert model.validation_score_ == max(entry["score"] for entry in last)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_components", [None, 256])
def test_what_few_rows_do_not_show_is_found_on_more(seed, n_components):
    """An interaction of two columns among six, where the smallest C is best on few rows."""
    rng = np.random.default_rng(0)
    X = rng.random((1_500, 6))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5) ^ (rng.random(1_500) < 0.05)
    model = KernelClassifier(n_components=n_components, random_state=seed).fit(X, y)
    assert model.C_ > 0.1
    assert model.validation_score_ > 0.65


@pytest.mark.parametrize("n_components", [None, 256])
@pytest.mark.parametrize("scoring", ["f1", "balanced_accuracy"])
def test_a_rare_class_does_not_end_at_the_smallest_c(scoring, n_components):
    y = (np.arange(3_000) % 500 == 0).astype(int)
    X = np.random.default_rng(0).random((3_000, 4)) + 0.5 * y[:, None]
    model = KernelClassifier(n_components=n_components, scoring=scoring).fit(X, y)
    assert model.C_ >= 1
    assert model.validation_score_ > 0.5


def test_a_setting_that_is_refused_is_passed_over():
    X, y = circles(400)
    with pytest.raises(ValueError, match="gamma"):
        KernelClassifier("exp_gmm", n_components=64, gamma=1e9, scale="minmax").fit(X, y)


def test_a_limit_of_c_holds():
    assert race.LEAST_C < 0.01
    X = np.random.default_rng(0).random((300, 2))
    model = KernelRegressor().fit(X, X[:, 0])  # without noise, the larger the better
    assert model.C_ <= 1_100
