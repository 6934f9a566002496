"""A rare class: the search must not choose by the luck of a handful of rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedShuffleSplit

from kernelight import KernelClassifier
from kernelight.estimators.folds import minority_of
from kernelight.estimators.kernel_choice import KernelChoice
from kernelight.estimators.routes import ExactRoute, LinearRoute, Route, Task
from kernelight.estimators.scoring import positive_class, resolve_scoring
from kernelight.estimators.search import Search
from kernelight.estimators.search_space import SearchSpace

TRAIN = 2500


def with_rare_class(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """One row of about 67 is of the class: 37 of those to learn from."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6000, 4))
    score = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.5 * rng.normal(size=6000)
    return X, (score > np.quantile(score, 0.985)).astype(int)


def test_the_search_for_a_rare_class_beats_one_that_holds_out_a_single_fifth() -> None:
    """The search against one that holds out a fifth once, with 7 or 8 rows of the class."""

    def reached(seed: int, cv: object) -> float:
        X, y = with_rare_class(seed)
        model = KernelClassifier(
            n_components=64,
            scale="standard",
            scoring="average_precision",
            cv=cv,
            random_state=seed,
            n_jobs=1,
        )
        model.fit(X[:TRAIN], y[:TRAIN])
        return float(average_precision_score(y[TRAIN:], model.decision_function(X[TRAIN:])))

    gains = [
        reached(seed, None)
        - reached(seed, StratifiedShuffleSplit(1, test_size=0.2, random_state=seed))
        for seed in range(8)
    ]
    assert np.mean(gains) > 0.01


def last_round(
    labels: np.ndarray, scoring: str | None, route: Route | None = None
) -> tuple[int, int]:
    """Rows and folds of the last round."""
    X = np.random.default_rng(0).random((len(labels), 2))
    task = Task(labels, None, np.unique(labels), "squared_hinge")
    space = SearchSpace(
        KernelChoice("gmm", "tune", 1.0), 8, "minmax", "tune", None, resolve_scoring(scoring, True)
    )
    route = route or LinearRoute(None, 8, 0, 1)
    search = Search(space, route, X, task, 0)
    return len(search.last_round.rows), len(search.last_round.splits)


def labels(*counts: int) -> np.ndarray:
    return np.repeat(np.arange(len(counts)), counts)


@pytest.mark.parametrize(
    ("counts", "scoring", "expected"),
    [
        ((29_700, 300), "average_precision", (24_000, 5)),  # too few even so
        # 500 rows of the class
        ((29_100, 900), "average_precision", (16_667, 1)),
        ((29_700, 300), "neg_log_loss", (12_000, 1)),
        ((29_700, 300), None, (8_000, 1)),
        ((15_000, 15_000), "average_precision", (12_000, 1)),
        ((2_600, 400), "average_precision", (3_000, 5)),
        ((1_485, 15), "average_precision", (1_500, 5)),
        ((750, 750), "average_precision", (1_500, 5)),
        ((9_900, 9_900, 200), "balanced_accuracy", (20_000, 5)),
        ((1_000,) * 20, "balanced_accuracy", (12_000, 1)),
        # two rows are never held out
        ((10_000, 10_000, 2), "balanced_accuracy", (12_000, 1)),
    ],
)
def test_rows_and_folds_follow_the_rarest_class_where_it_counts(
    counts: tuple[int, ...], scoring: str | None, expected: tuple[int, int]
) -> None:
    assert last_round(labels(*counts), scoring) == expected


def test_gram_matrices_do_not_grow() -> None:
    assert last_round(labels(9_900, 100), "average_precision", ExactRoute()) == (4_000, 5)


def test_the_minority_of_numbers_is_everything() -> None:
    task = Task(np.arange(50.0), None, None, "squared")
    assert minority_of(task, resolve_scoring(None, False)) == 50


@pytest.mark.parametrize(
    "scoring", ["average_precision", "f1", "recall", "precision", "neg_log_loss", "roc_auc"]
)
@pytest.mark.parametrize("common", ["ok", "a common one"])
def test_the_rarer_of_two_names_is_the_positive_class(scoring, common):
    """The score is that of numbers with 1 for the rare class, whatever the names."""
    rng = np.random.default_rng(0)
    rare = rng.random(400) < 0.05
    scores = rng.standard_normal((400, 1)) - 1 + 2 * rare[:, None]  # large for the rare class
    words = np.where(rare, "fraud", common)
    classes = np.unique(words)
    positive = positive_class(words, classes, None)
    assert classes[positive] == "fraud"
    turned = scores if positive == 1 else -scores
    score = resolve_scoring(scoring, classification=True).score
    by_name = score(Task(words, None, classes, "hinge", positive=positive), turned)
    by_number = score(Task(rare.astype(int), None, np.array([0, 1]), "hinge"), scores)
    assert by_name == pytest.approx(by_number, rel=1e-6)


def test_the_summary_says_which_class_was_scored():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 2))
    y = np.where(X[:, 0] > 1, "fraud", "ok")
    model = KernelClassifier(n_components=16, scale="minmax", scoring="f1").fit(X, y)
    assert "'fraud' being the positive class" in model.summary()
    assert positive_class(y == "fraud", np.array([False, True]), None) == 1
    weight = np.where(y == "ok", 0.01, 1.0)
    assert positive_class(y, np.unique(y), weight) == 1  # by weight "ok" is the rarer


def test_labels_of_objects_and_several_classes_are_scored():
    """Labels of frames are Python's strings; with three classes none is the positive one."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 2))
    y = np.where(X[:, 0] > 1, "fraud", "ok").astype(object)
    model = KernelClassifier(n_components=16, scale="minmax", scoring="average_precision").fit(X, y)
    assert "'fraud' being the positive class" in model.summary()
    three = np.where(X[:, 1] > 1, "other", y).astype(object)
    model = KernelClassifier(n_components=16, scale="minmax", scoring="average_precision").fit(
        X, three
    )
    assert "positive class" not in model.summary()
    given = KernelClassifier(
        n_components=16, scale="minmax", C=1.0, loss="logistic", scoring="f1"
    ).fit(X, y)
    assert "positive class" not in given.summary()
