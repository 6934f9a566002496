"""The two ways from scaled rows to a model: `LinearRoute` and `ExactRoute`.

The first is a feature map and a linear model, the second the Gram matrix and an SVM. The search
asks the same of both: prepare rows once, score held-out rows for several C, fit the final model.
What depends on C comes after `prepare`, so that a grid over C costs neither hashes nor kernels.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from kernelight.base.checks import Matrix
from kernelight.estimators import exact_svm
from kernelight.estimators.kernel_choice import map_for
from kernelight.kernels.base import Kernel
from kernelight.linear.classifier import LinearClassifier, class_factors
from kernelight.linear.regressor import LinearRegressor
from kernelight.maps.scaled_map import ScaledMap
from kernelight.scaling import Scaling

# a model within a hundredth of its minimum is good enough to compare settings, and far cheaper
SEARCH_TOL = 1e-2
MAP_ROWS = 16_384  # a map learns (landmarks, a sampler, frequencies) from at most so many rows
RowIndices = NDArray[np.intp]


@dataclass(frozen=True)
class Task:
    """What is to be learned: labels or quantities, with weights and the loss."""

    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    classes: NDArray[Any] | None  # None for a regression
    loss: str
    class_weight: Any = None
    epsilon: float = 0.0
    positive: int = 1  # which of two classes scorers such as average precision are about
    # of a regression, whose y is standardised: what was subtracted and what it was divided by, one
    # number or one for each target
    mean: Any = 0.0
    unit: Any = 1.0

    def at(self, rows: RowIndices) -> Task:
        """The task of some rows."""
        return replace(
            self, y=self.y[rows], weight=None if self.weight is None else self.weight[rows]
        )

    def in_units(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Standardised values of a regression in the units of the target."""
        return np.asarray(values * self.unit + self.mean)

    @property
    def class_numbers(self) -> NDArray[np.intp]:
        """The index of each label among the classes."""
        assert self.classes is not None
        return np.searchsorted(self.classes, self.y)

    @property
    def balanced_weight(self) -> NDArray[np.float64] | None:
        """The weight of each row times that of its class; None if all are 1."""
        if self.class_weight is None:
            return self.weight
        assert self.classes is not None
        present = np.unique(self.y)
        factors = np.ones(len(self.classes))
        factors[np.searchsorted(self.classes, present)] = class_factors(
            self.class_weight, present, self.y, self.weight
        )
        weight = factors[self.class_numbers]
        return weight if self.weight is None else weight * self.weight


def labels_of(scores: NDArray[np.float64], classes: NDArray[Any]) -> NDArray[Any]:
    """The class of the largest score; of a single score, the second class if it is positive."""
    if scores.ndim == 2 and scores.shape[1] > 1:
        return np.asarray(classes[scores.argmax(axis=1)])
    return np.asarray(classes[(scores.ravel() > 0).astype(np.intp)])


@dataclass(frozen=True)
class Prepared:
    """Rows ready for any C, and the scaled map that made them so."""

    kernel: Kernel
    scaled_map: ScaledMap
    inputs: Any  # what the model is fitted to: codes, features or the Gram matrix
    rows: Matrix | None = None  # the scaled rows, for the Gram matrix


@dataclass(frozen=True)
class Route(ABC):
    """A way from scaled rows to a model."""

    #: Whether `prepare` learns from labels, so that it must not see the rows it is scored on.
    learns_labels: bool = field(default=False, init=False)
    #: Rows of the two rounds of the search, and at most how many times as many for a rare class.
    rough_rows: int = field(default=3_000, init=False)
    fine_rows: int = field(default=12_000, init=False)
    growth: int = field(default=2, init=False)

    def check_n_rows(self, n_rows: int) -> None:
        """Refuse more rows than this route can take, before anything else is done."""
        return

    @abstractmethod
    def work(self, n_rows: int, n_components: int, n_fits: int) -> float:
        """The work of preparing rows and fitting ``n_fits`` models, in units of no meaning."""

    @abstractmethod
    def prepare(
        self, kernel: Kernel, scaling: Scaling, X: Matrix, task: Task, n_components: int
    ) -> Prepared:
        """Do everything that does not depend on C; the map may learn from the rows and the task."""

    @abstractmethod
    def apply(self, prepared: Prepared, X: Matrix) -> Prepared:
        """Prepare other rows with the same map."""

    @abstractmethod
    def held_out_scores(
        self,
        prepared: Prepared,
        task: Task,
        train: RowIndices,
        held: RowIndices,
        Cs: Sequence[float],
    ) -> list[NDArray[np.float64]]:
        """The (n, m) scores of the rows ``held`` for each C, by models of the rows ``train``."""

    @abstractmethod
    def fit(self, prepared: Prepared, task: Task, C: float) -> Any:
        """The final model, fitted to all prepared rows."""


@dataclass(frozen=True)
class LinearRoute(Route):
    """A feature map of the kernel, and a linear model of its codes or features."""

    method: str | None
    bits: int
    seed: int
    n_jobs: int | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "learns_labels", self.method == "aligned")

    def work(self, n_rows: int, n_components: int, n_fits: int) -> float:
        return float(n_rows) * n_components * (1 + n_fits)

    def prepare(
        self, kernel: Kernel, scaling: Scaling, X: Matrix, task: Task, n_components: int
    ) -> Prepared:
        learn = spread(X.shape[0], MAP_ROWS)
        feature_map = map_for(
            kernel,
            n_components,
            self.method,
            bits=self.bits,
            n_rows=len(learn),
            seed=self.seed,
            n_jobs=self.n_jobs,
        )
        some = X if len(learn) == X.shape[0] else X[learn]
        scaled_map = ScaledMap(scaling, feature_map.fit(scaling(some), task.y[learn]))
        return Prepared(kernel, scaled_map, scaled_map.encode(X))

    def apply(self, prepared: Prepared, X: Matrix) -> Prepared:
        return replace(prepared, inputs=prepared.scaled_map.encode(X))

    def held_out_scores(
        self,
        prepared: Prepared,
        task: Task,
        train: RowIndices,
        held: RowIndices,
        Cs: Sequence[float],
    ) -> list[NDArray[np.float64]]:
        learn = task.at(train)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # good enough to compare settings
            path = (
                self._linear_model(task, 1.0)
                .set_params(tol=SEARCH_TOL)
                .fit_path(prepared.inputs[train], learn.y, list(Cs), sample_weight=learn.weight)
            )
        rows = prepared.inputs[held]
        return [self._all_scores(model, rows, task.classes) for model in path.models]

    def _all_scores(
        self, model: Any, rows: Any, classes: NDArray[Any] | None
    ) -> NDArray[np.float64]:
        """(n, m) scores; a class that was not among the training rows has the lowest score."""
        if classes is None:
            predictions = np.asarray(model.predict(rows))
            return predictions if predictions.ndim == 2 else predictions[:, None]
        scores = np.asarray(model.decision_function(rows))
        single = scores.ndim == 1
        if len(model.classes_) == len(classes):
            return scores[:, None] if single else scores
        known = np.column_stack([-scores, scores]) if single else scores
        full = np.repeat(known.min(axis=1, keepdims=True) - 1, len(classes), axis=1)
        full[:, np.searchsorted(classes, model.classes_)] = known
        return full

    def fit(self, prepared: Prepared, task: Task, C: float) -> Any:
        return self._linear_model(task, C).fit(prepared.inputs, task.y, sample_weight=task.weight)

    def _linear_model(self, task: Task, C: float) -> Any:
        shared: dict[str, Any] = {
            "loss": task.loss,
            "C": C,
            "random_state": self.seed,
            "n_jobs": self.n_jobs,
        }
        if task.classes is None:
            return LinearRegressor(epsilon=task.epsilon, **shared)
        return LinearClassifier(class_weight=task.class_weight, **shared)


@dataclass(frozen=True)
class ExactRoute(Route):
    """The Gram matrix, and scikit-learn's SVC or SVR."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rough_rows", 1_500)
        object.__setattr__(self, "fine_rows", 4_000)
        object.__setattr__(self, "growth", 1)  # Gram matrices grow with the square

    def work(self, n_rows: int, n_components: int, n_fits: int) -> float:
        return float(n_rows) * n_rows * (1 + n_fits)

    def prepare(
        self, kernel: Kernel, scaling: Scaling, X: Matrix, task: Task, n_components: int
    ) -> Prepared:
        return self._prepared(kernel, ScaledMap(scaling, None), X)

    def apply(self, prepared: Prepared, X: Matrix) -> Prepared:
        return self._prepared(prepared.kernel, prepared.scaled_map, X)

    def check_n_rows(self, n_rows: int) -> None:
        exact_svm.refuse_many_rows(n_rows)

    def _prepared(self, kernel: Kernel, scaled_map: ScaledMap, X: Matrix) -> Prepared:
        rows = scaled_map.encode(X)
        return Prepared(kernel, scaled_map, kernel(rows), rows)

    def held_out_scores(
        self,
        prepared: Prepared,
        task: Task,
        train: RowIndices,
        held: RowIndices,
        Cs: Sequence[float],
    ) -> list[NDArray[np.float64]]:
        learn = task.at(train)
        gram = prepared.inputs[np.ix_(train, train)]
        held_gram = prepared.inputs[np.ix_(held, train)]
        scores = []
        for C in Cs:
            duals = self._duals(gram, learn, C)
            scores.append(np.asarray(held_gram @ duals.coefficients + duals.intercept))
        return scores

    def fit(self, prepared: Prepared, task: Task, C: float) -> exact_svm.SupportModel:
        assert prepared.rows is not None
        return exact_svm.support_model(
            prepared.kernel, prepared.rows, self._duals(prepared.inputs, task, C)
        )

    def _duals(self, gram: NDArray[Any], task: Task, C: float) -> exact_svm.Duals:
        weight = np.ones(len(task.y)) if task.weight is None else task.weight
        if task.classes is None:
            return exact_svm.regress(gram, task.y, C, task.epsilon, weight)
        return exact_svm.classify(gram, task.y, task.classes, C, weight, task.class_weight)


def spread(n_rows: int, most: int) -> RowIndices:
    """Indices of at most ``most`` rows, evenly spread over all."""
    if n_rows <= most:
        return np.arange(n_rows, dtype=np.intp)
    return np.asarray(np.linspace(0, n_rows - 1, most).round(), dtype=np.intp)


def scores_of(model: Any, encoded: Any) -> NDArray[np.float64]:
    """(n, m) or (n,) scores of a final model for what `ScaledMap.encode` made of rows."""
    if isinstance(model, exact_svm.SupportModel):
        return model.scores(encoded)
    return np.asarray(
        model.decision_function(encoded) if hasattr(model, "classes_") else model.predict(encoded)
    )
