"""What the search maximises: accuracy or R^2, or any scorer of scikit-learn.

A scorer asks an estimator for its predictions. Here the scores of the held-out rows are there
already, so a scorer is given an estimator that returns them: trying a setting costs no more than
the metric itself.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names, r2_score

from kernelight.estimators.calibration import calibrated, logistic_probabilities
from kernelight.estimators.routes import Task, labels_of

Array = NDArray[np.float64]
CLASSES, QUANTITIES = "classes", "quantities"
# scores this close are a tie: models of the search are only near their minimum
SCORE_TIE = 1e-4
DEFAULT_SCORING = {True: "accuracy", False: "r2"}


@dataclass(frozen=True)
class Scoring:
    """A name for the summary, and a function from (n, m) scores of rows to a number to maximise."""

    name: str
    score: Callable[[Task, Array], float]
    tie: Callable[[float], float]  # how close to a score others are a tie with it
    by_class: bool = False  # whether each class counts alike, however few rows it has
    is_default: bool = False  # accuracy or R^2


def resolve_scoring(scoring: Any, classification: bool) -> Scoring:
    """What the parameter ``scoring`` of an estimator stands for."""
    if scoring is None or (isinstance(scoring, str) and scoring == DEFAULT_SCORING[classification]):
        default = _accuracy if classification else _r2
        name = "accuracy" if classification else "R^2"
        return Scoring(name, default, lambda score: SCORE_TIE, is_default=True)
    if isinstance(scoring, str):
        scorer = scorer_named(str(scoring), SCORING_EXAMPLES[classification])
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
    score_func = getattr(scorer, "_score_func", _no_score_func)
    weighted = "sample_weight" in inspect.signature(score_func).parameters

    def score(task: Task, scores: Array) -> float:
        fitted = (
            _FittedClassifier(task, scores, numbers=named)
            if classification
            else _FittedRegressor(task, scores)
        )
        X = np.arange(len(scores))[:, None]  # of as many rows; nothing reads it
        more = {"sample_weight": task.weight} if weighted and task.weight is not None else {}
        try:
            return float(scorer(fitted, X, fitted.truth, **more))
        except ValueError:
            if not hasattr(scorer, "_score_func") or absent_class(task) is None:
                raise
            return float("nan")  # some scorers raise where a class is absent, others return NaN

    by_class = classification and name not in _BY_ROW and not name.endswith(("_micro", "_weighted"))
    return Scoring(name, score, lambda score: SCORE_TIE * abs(score), by_class)


def scorer_named(name: str, examples: str) -> Any:
    """The scorer of scikit-learn with this name; for an unknown name the error has a close one."""
    try:
        return get_scorer(name)
    except ValueError as error:
        close = get_close_matches(name.lower(), get_scorer_names(), n=1, cutoff=0.5)
        hint = f"did you mean scoring={close[0]!r}?" if close else f"use {examples}."
        raise ValueError(f"scoring={name!r} is no scorer of scikit-learn's: {hint}") from error


def scoring_kind(name: str) -> str | None:
    """What the scorer of this name is for, "classes" or "quantities"; None if it does not say."""
    examples = f"{SCORING_EXAMPLES[True]}; for quantities {SCORING_EXAMPLES[False]}"
    return kind_of(scorer_named(name, examples), name)


def refuse_binary(scoring: Any, task: Task) -> None:
    """Refuse a scorer of two classes where there are more, and name one that fits."""
    if isinstance(scoring, str) and task.classes is not None and len(task.classes) > 2:
        instead = _MULTICLASS.get(str(scoring))
        if instead is not None:
            raise ValueError(
                f"scoring={str(scoring)!r} is for two classes, but y has {len(task.classes)}: "
                f"use scoring={instead!r}."
            )


def positive_class(
    labels: NDArray[Any], classes: NDArray[Any], weight: NDArray[np.float64] | None
) -> int:
    """Which of two classes is the positive one of a scorer given by name.

    Of two numbers it is the second, as 1 is of 0 and 1. Text labels have no such order: theirs is
    the class with fewer rows, which is the one that people look for.
    """
    if len(classes) != 2 or classes.dtype.kind in "biuf":
        return 1
    first, second = np.bincount(np.searchsorted(classes, labels), weights=weight, minlength=2)
    return 0 if first < second else 1


def about_one_class(scoring: Any, task: Task) -> bool:
    """Whether ``scoring`` names a scorer that is about the positive one of two classes alone."""
    if task.classes is None or len(task.classes) != 2:
        return False
    return (
        isinstance(scoring, str)
        and str(scoring) in (*_MULTICLASS, "average_precision")
        and scoring != "roc_auc"
    )


def absent_class(task: Task) -> Any:
    """The first class that none of the rows has; None if there is no such class."""
    if task.classes is None:
        return None
    absent = np.setdiff1d(task.classes, task.y)
    return absent[:1].tolist()[0] if len(absent) else None


def kind_of(scorer: Any, name: str) -> str | None:
    """What a scorer is for, "classes" or "quantities"; None if it does not say."""
    module = getattr(getattr(scorer, "_score_func", None), "__module__", "")
    if module.endswith("._regression"):
        return QUANTITIES
    if module.endswith(("._classification", "._ranking", "._supervised")) or (
        getattr(scorer, "_response_method", "predict") != "predict" or "likelihood_ratio" in name
    ):
        return CLASSES
    return None


def _refuse_other_task(scorer: Any, name: str, named: bool, classification: bool) -> None:
    """Refuse a scorer that is for the other task.

    A scorer object of quantities is allowed for classes: it may measure how far apart ordered
    classes are. One given by name is not.
    """
    kind = kind_of(scorer, name)
    if kind == CLASSES and not classification:
        raise ValueError(
            f"scoring={name!r} is for classes, but the target is a quantity: use "
            f"{SCORING_EXAMPLES[False]}."
        )
    if kind == QUANTITIES and named and classification:
        raise ValueError(
            f"scoring={name!r} is for quantities, but the target is a class: use "
            f"{SCORING_EXAMPLES[True]}."
        )


# scorers of two classes, and what is named instead where there are more
_MULTICLASS = {
    "roc_auc": "roc_auc_ovr",
    "f1": "f1_macro",
    "precision": "precision_macro",
    "recall": "recall_macro",
    "jaccard": "jaccard_macro",
    "positive_likelihood_ratio": "balanced_accuracy",
    "neg_negative_likelihood_ratio": "balanced_accuracy",
}
# scorers of classes in which every row counts alike
_BY_ROW = ("accuracy", "top_k_accuracy", "matthews_corrcoef", "neg_log_loss", "neg_brier_score")
SCORING_EXAMPLES = {
    True: "'balanced_accuracy', 'roc_auc', 'average_precision', 'neg_log_loss' or 'f1'",
    False: "'neg_mean_absolute_error', 'neg_root_mean_squared_error' or 'r2'",
}


def _no_score_func() -> None:
    """Stands for the function of a scorer that has none, so that it takes no weights."""


def _accuracy(task: Task, scores: Array) -> float:
    assert task.classes is not None
    return float(np.average(task.y == labels_of(scores, task.classes), weights=task.weight))


def _r2(task: Task, scores: Array) -> float:
    return float(
        r2_score(task.y, scores if task.y.ndim == 2 else scores[:, 0], sample_weight=task.weight)
    )


class _FittedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # no types
    """A fitted classifier whose scores of the rows are known already.

    With ``numbers``, as for scorers by name, labels are the numbers of the classes, and 1 of two is
    the positive one (`positive_class`).
    """

    def __init__(self, task: Task, scores: Array, numbers: bool) -> None:
        assert task.classes is not None
        self._swapped = numbers and len(task.classes) == 2 and task.positive == 0
        self._task, self._scores = task, scores
        self.classes_ = np.arange(len(task.classes)) if numbers else task.classes
        self.truth = task.class_numbers if numbers else task.y
        if self._swapped:
            self.truth = 1 - self.truth

    def decision_function(self, X: Any) -> Array:
        scores = self._scores[:, 0] if self._scores.shape[1] == 1 else self._scores
        return -scores if self._swapped else scores

    def predict(self, X: Any) -> NDArray[Any]:
        return labels_of(self._scores, self.classes_[::-1] if self._swapped else self.classes_)

    def predict_proba(self, X: Any) -> Array:
        if self._task.loss == "logistic":
            probabilities = logistic_probabilities(self._scores)
        else:
            task = self._task
            calibration = calibrated(self._scores, task.class_numbers, task.balanced_weight)
            probabilities = calibration(self._scores)
        return probabilities[:, ::-1] if self._swapped else probabilities

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _FittedRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted regressor whose predictions, in the units of the target, are known already."""

    def __init__(self, task: Task, scores: Array) -> None:
        self._predictions = task.in_units(scores if task.y.ndim == 2 else scores[:, 0])
        self.truth = task.in_units(task.y)

    def predict(self, X: Any) -> Array:
        return self._predictions

    def __sklearn_is_fitted__(self) -> bool:
        return True


def standard_errors(differences: NDArray[np.float64]) -> float:
    """The mean difference in its standard errors; 0 if all are 0."""
    spread = float(differences.std()) / math.sqrt(len(differences))
    return float(differences.mean()) / spread if spread > 0 else 0.0
