"""What a candidate of the search is judged by: accuracy or R^2, or any scorer of scikit-learn, from
scores of rows held out.

A scorer asks an estimator for its answers. Here an estimator is made of answers that are there
already, so that a candidate costs no more than the measure itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, get_scorer, get_scorer_names, r2_score

from kernelight.estimators.calibration import calibrated, logistic_probabilities
from kernelight.estimators.routes import Task, labels_of

Array = NDArray[np.float64]
CLASSES, QUANTITIES = "classes", "quantities"
# scores this close are a tie: models of the search are only near their minimum
SCORE_TIE = 1e-4


@dataclass(frozen=True)
class Measure:
    """A name for the summary, and a number for (n, m) scores of the rows of a task: the larger the
    better."""

    name: str
    of: Callable[[Task, Array], float]
    even: Callable[[float], float]  # how close to a score others count as equal
    by_class: bool = False  # whether each class counts alike, however few rows it has


def measure_of(scoring: Any, classification: bool) -> Measure:
    """The measure that the parameter ``scoring`` stands for."""
    if scoring is None:
        made = _accuracy if classification else _r2
        return Measure("accuracy" if classification else "R^2", made, lambda score: SCORE_TIE)
    if isinstance(scoring, str):
        scorer = scorer_named(str(scoring), EXAMPLES[classification])
        name = str(scoring)
    elif callable(scoring):
        scorer, name = scoring, getattr(scoring, "__name__", type(scoring).__name__)
        if hasattr(scoring, "_score_func"):
            name = scoring._score_func.__name__
    else:
        raise TypeError(
            f"scoring must be None, a name of scikit-learn's or a function, got "
            f"{type(scoring).__name__}."
        )
    named = isinstance(scoring, str)
    _refuse_other_task(scorer, name, named, classification)
    weighted = (
        "sample_weight" in inspect.signature(getattr(scorer, "_score_func", _none)).parameters
    )

    def found(task: Task, scores: Array) -> float:
        answers = (
            _Classes(task, scores, numbers=named) if classification else _Quantities(task, scores)
        )
        more = {"sample_weight": task.weight} if weighted and task.weight is not None else {}
        try:
            return float(scorer(answers, np.arange(len(scores))[:, None], answers.truth, **more))
        except ValueError:
            if not hasattr(scorer, "_score_func") or absent_class(task) is None:
                raise
            return float("nan")  # some scorers raise where a class is absent, others return NaN

    by_class = classification and name not in _BY_ROW and not name.endswith(("_micro", "_weighted"))
    return Measure(name, found, lambda score: SCORE_TIE * abs(score), by_class)


def scorer_named(name: str, examples: str) -> Any:
    """The scorer of scikit-learn's of that name; a name that is none is refused, with a close one
    or with examples."""
    try:
        return get_scorer(name)
    except ValueError as error:
        close = get_close_matches(name.lower(), get_scorer_names(), n=1, cutoff=0.5)
        hint = f"did you mean scoring={close[0]!r}?" if close else f"use {examples}."
        raise ValueError(f"scoring={name!r} is no scorer of scikit-learn's: {hint}") from error


def scored_kind(name: str) -> str | None:
    """What the scorer of that name is for, "classes" or "quantities"; None if it does not say."""
    return kind_of(scorer_named(name, f"{EXAMPLES[True]}; for quantities {EXAMPLES[False]}"), name)


def refuse_binary(scoring: Any, task: Task) -> None:
    """Refuse a scorer of two classes where there are more, and name one that fits."""
    if isinstance(scoring, str) and task.classes is not None and len(task.classes) > 2:
        instead = _OF_MANY_CLASSES.get(str(scoring))
        if instead is not None:
            raise ValueError(
                f"scoring={str(scoring)!r} is for two classes, but y has {len(task.classes)}: "
                f"use scoring={instead!r}."
            )


def positive_class(
    labels: NDArray[Any], classes: NDArray[Any], weight: NDArray[np.float64] | None
) -> int:
    """Which of two classes is the positive one of scorers by name: the second of numbers, as 1 is
    of 0 and 1.

    Names have no such order: theirs is the one with fewer rows, which is the one that people look
    for.
    """
    if len(classes) != 2 or classes.dtype.kind in "biuf":
        return 1
    first, second = np.bincount(np.searchsorted(classes, labels), weights=weight, minlength=2)
    return 0 if first < second else 1


def about_one_class(scoring: Any, task: Task) -> bool:
    """Whether a scorer of that name is about the positive one of two classes alone."""
    if task.classes is None or len(task.classes) != 2:
        return False
    return (
        isinstance(scoring, str)
        and str(scoring) in (*_OF_MANY_CLASSES, "average_precision")
        and scoring != "roc_auc"
    )


def absent_class(task: Task) -> Any:
    """The first class that none of the rows has; None if there is no such class."""
    if task.classes is None:
        return None
    absent = np.setdiff1d(task.classes, task.y)
    return absent[:1].tolist()[0] if len(absent) else None


def kind_of(scorer: Any, name: str) -> str | None:
    """What a scorer of scikit-learn's is for, "classes" or "quantities"; None if it does not
    say."""
    module = getattr(getattr(scorer, "_score_func", None), "__module__", "")
    if module.endswith("._regression"):
        return QUANTITIES
    if module.endswith(("._classification", "._ranking", "._supervised")) or (
        getattr(scorer, "_response_method", "predict") != "predict" or "likelihood_ratio" in name
    ):
        return CLASSES
    return None


def _refuse_other_task(scorer: Any, name: str, named: bool, classification: bool) -> None:
    """Refuse a scorer of classes for quantities and, if it was named, one of quantities for
    classes.

    A scorer that a user makes may measure how far apart ordered classes are, so that one is left
    alone.
    """
    kind = kind_of(scorer, name)
    if kind == CLASSES and not classification:
        raise ValueError(
            f"scoring={name!r} is for classes, but the target is a quantity: use {EXAMPLES[False]}."
        )
    if kind == QUANTITIES and named and classification:
        raise ValueError(
            f"scoring={name!r} is for quantities, but the target is a class: use {EXAMPLES[True]}."
        )


_OF_MANY_CLASSES = {
    "roc_auc": "roc_auc_ovr",
    "f1": "f1_macro",
    "precision": "precision_macro",
    "recall": "recall_macro",
    "jaccard": "jaccard_macro",
    "positive_likelihood_ratio": "balanced_accuracy",
    "neg_negative_likelihood_ratio": "balanced_accuracy",
}
_BY_ROW = ("accuracy", "top_k_accuracy", "matthews_corrcoef", "neg_log_loss", "neg_brier_score")
EXAMPLES = {
    True: "'balanced_accuracy', 'roc_auc', 'average_precision', 'neg_log_loss' or 'f1'",
    False: "'neg_mean_absolute_error', 'neg_root_mean_squared_error' or 'r2'",
}


def _none() -> None:
    """A scorer that is a plain function takes no weights."""


def _accuracy(task: Task, scores: Array) -> float:
    assert task.classes is not None
    return float(accuracy_score(task.y, labels_of(scores, task.classes), sample_weight=task.weight))


def _r2(task: Task, scores: Array) -> float:
    return float(
        r2_score(task.y, scores if task.y.ndim == 2 else scores[:, 0], sample_weight=task.weight)
    )


class _Classes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The answers of a classifier.

    Scorers by name see the numbers of classes. Of two classes, 1 is the positive one
    (`positive_class`).
    """

    def __init__(self, task: Task, scores: Array, numbers: bool) -> None:
        assert task.classes is not None
        self._turned = numbers and len(task.classes) == 2 and task.positive == 0
        self._task, self._scores = task, scores
        self.classes_ = np.arange(len(task.classes)) if numbers else task.classes
        self.truth = task.class_numbers if numbers else task.y
        if self._turned:
            self.truth = 1 - self.truth

    def decision_function(self, X: Any) -> Array:
        scores = self._scores[:, 0] if self._scores.shape[1] == 1 else self._scores
        return -scores if self._turned else scores

    def predict(self, X: Any) -> NDArray[Any]:
        return labels_of(self._scores, self.classes_[::-1] if self._turned else self.classes_)

    def predict_proba(self, X: Any) -> Array:
        if self._task.loss == "logistic":
            probabilities = logistic_probabilities(self._scores)
        else:
            counted = (self._task.class_numbers, self._task.balanced_weight)
            probabilities = calibrated(self._scores, *counted)(self._scores)
        return probabilities[:, ::-1] if self._turned else probabilities

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _Quantities(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The answers of a regression, in the units of the target."""

    def __init__(self, task: Task, scores: Array) -> None:
        self._found = task.in_units(scores if task.y.ndim == 2 else scores[:, 0])
        self.truth = task.in_units(task.y)

    def predict(self, X: Any) -> Array:
        return self._found

    def __sklearn_is_fitted__(self) -> bool:
        return True
