"""The ways from scaled rows to a model: `LinearRoute`, `RidgeRoute` and `ExactRoute`.

The first is a feature map and a linear model; the others are the Gram matrix with kernel ridge
regression or with an SVM. The search asks the same of all: prepare rows once, score held-out rows
for several C, fit the final model. What depends on C comes after `prepare`, so that a grid over C
costs neither hashes nor kernels.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from kernelight.base.checks import Matrix
from kernelight.codes import Codes
from kernelight.estimators import exact_svm, kernel_ridge
from kernelight.estimators.kernel_choice import EXACT, RIDGE, map_for
from kernelight.estimators.support_model import Duals, Lesson, SupportModel, support_model
from kernelight.kernels.base import Kernel
from kernelight.linear.classifier import LinearClassifier, class_factors
from kernelight.linear.regressor import LinearRegressor
from kernelight.maps.scaled_map import ScaledMap
from kernelight.scaling import Scaling

# a model within a hundredth of its minimum is good enough to compare settings, and far cheaper
SEARCH_TOL = 1e-2
# beyond this many rows it is good enough to predict with, too, and takes about half the time
LOOSE_ROWS = 50_000
MAP_ROWS = 16_384  # a map learns (landmarks, a sampler, frequencies) from at most so many rows
MANY_COMPONENTS = 512  # so many follow the exact kernel closely enough to share its C
_NEVER = -1e3  # the score of a class that is never predicted
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
    def columns(self) -> NDArray[np.float64]:
        """The target as (n, m) numbers: 1 for a class and -1 for the rest, or quantities.

        Two classes have one column, which is 1 for the second.
        """
        if self.classes is None:
            return np.asarray(self.y, dtype=np.float64).reshape(len(self.y), -1)
        own = np.arange(len(self.classes))[1 if len(self.classes) == 2 else 0 :]
        return np.where(self.class_numbers[:, None] == own, 1.0, -1.0)

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
    #: Rows of the last round of the search, and at most how many times as many for a rare class.
    fine_rows: int = field(default=12_000, init=False)
    growth: int = field(default=2, init=False)
    #: Rows of a round of the race, at most.
    race_rows: int = field(default=1_800, init=False)
    largest_c: float = field(default=math.inf, init=False)

    def check_n_rows(self, n_rows: int) -> None:
        """Refuse more rows than this route can take, before anything else is done."""
        return

    @abstractmethod
    def c_steps(self, task: Task, n_components: int) -> Sequence[int] | None:
        """Which C to try near that of kernel ridge regression, in steps of the grid.

        None is the whole grid: C has another meaning here.
        """

    def gram(
        self, kernel: Kernel, scaling: Scaling, X: Matrix, task: Task, n_components: int
    ) -> NDArray[Any]:
        """The inner products of rows as a model of this route sees them.

        The exact kernel, unless features are cheap to make and learn nothing from labels.
        """
        return kernel(scaling(X))

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
    #: A larger C takes long, and is hardly ever better.
    LARGEST_C: ClassVar[float] = 30.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "learns_labels", self.method == "aligned")
        object.__setattr__(self, "largest_c", self.LARGEST_C)

    def c_steps(self, task: Task, n_components: int) -> Sequence[int] | None:
        if task.loss not in ("squared_hinge", "squared"):
            return None
        return (0, 1) if n_components >= MANY_COMPONENTS else (-1, 0, 1)

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

    def gram(
        self, kernel: Kernel, scaling: Scaling, X: Matrix, task: Task, n_components: int
    ) -> NDArray[Any]:
        if self.learns_labels:
            return super().gram(kernel, scaling, X, task, n_components)
        features = self.prepare(kernel, scaling, X, task, n_components).inputs
        if isinstance(features, Codes):
            counts = features.collisions(n_jobs=self.n_jobs)
            return np.divide(counts, features.n_components, dtype=np.float32)
        products = features @ features.T
        return np.asarray(products.toarray() if sp.issparse(products) else products)

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
        model = self._linear_model(task, C)
        if len(task.y) > LOOSE_ROWS:
            model.set_params(tol=SEARCH_TOL)
        return model.fit(prepared.inputs, task.y, sample_weight=task.weight)

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
class GramRoute(Route):
    """The Gram matrix of all rows, and a model of its columns."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "fine_rows", 4_000)
        object.__setattr__(self, "growth", 1)  # Gram matrices grow with the square

    def work(self, n_rows: int, n_components: int, n_fits: int) -> float:
        return float(n_rows) * n_rows * (1 + n_fits)

    def check_n_rows(self, n_rows: int) -> None:
        exact_svm.refuse_many_rows(n_rows, self.method_name)

    @property
    @abstractmethod
    def method_name(self) -> str:
        """The value of ``method`` that asks for this route."""

    def prepare(
        self, kernel: Kernel, scaling: Scaling, X: Matrix, task: Task, n_components: int
    ) -> Prepared:
        return self._prepared(kernel, ScaledMap(scaling, None), X)

    def apply(self, prepared: Prepared, X: Matrix) -> Prepared:
        return self._prepared(prepared.kernel, prepared.scaled_map, X)

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

    @abstractmethod
    def _duals(self, gram: NDArray[Any], task: Task, C: float) -> Duals:
        """The model of the rows of a Gram matrix."""


@dataclass(frozen=True)
class ExactRoute(GramRoute):
    """The Gram matrix, and scikit-learn's SVC or SVR."""

    @property
    def method_name(self) -> str:
        return EXACT

    def c_steps(self, task: Task, n_components: int) -> Sequence[int] | None:
        return None

    def fit(self, prepared: Prepared, task: Task, C: float) -> SupportModel:
        assert prepared.rows is not None
        return support_model(prepared.kernel, prepared.rows, self._duals(prepared.inputs, task, C))

    def _duals(self, gram: NDArray[Any], task: Task, C: float) -> Duals:
        weight = np.ones(len(task.y)) if task.weight is None else task.weight
        if task.classes is None:
            return exact_svm.regress(gram, task.y, C, task.epsilon, weight)
        return exact_svm.classify(gram, task.y, task.classes, C, weight, task.class_weight)


@dataclass(frozen=True)
class RidgeRoute(GramRoute):
    """The Gram matrix, and kernel ridge regression: the squared loss, whatever the task's loss is.

    A weight of a class is a weight of its rows. Rows of weight 0 are not learned from.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        # the last round is on all rows, and costs no less than a round of the race
        object.__setattr__(self, "race_rows", 1_200)

    @property
    def method_name(self) -> str:
        return RIDGE

    def c_steps(self, task: Task, n_components: int) -> Sequence[int] | None:
        return (0,)

    def fit(self, prepared: Prepared, task: Task, C: float) -> SupportModel:
        return self._model(prepared, task, self._duals(prepared.inputs, task, C))

    def fit_and_leave_out(
        self, prepared: Prepared, task: Task, C: float
    ) -> tuple[SupportModel, NDArray[np.float64]]:
        """The final model, and the (n, m) scores of each row by the model of all others.

        All weights must be above 0.
        """
        duals, scores = kernel_ridge.duals_and_leave_one_out(
            prepared.inputs, task.columns, costs(task, C)
        )
        return self._model(prepared, task, _with_intercept(duals, task)), scores

    def _model(self, prepared: Prepared, task: Task, duals: Duals) -> SupportModel:
        assert prepared.rows is not None
        target = task.y if task.classes is None else task.class_numbers
        lesson = Lesson(np.ascontiguousarray(target), task.weight)
        return support_model(prepared.kernel, prepared.rows, duals, lesson)

    def _duals(self, gram: NDArray[Any], task: Task, C: float) -> Duals:
        cost, columns = costs(task, C), task.columns
        used = np.flatnonzero(cost)
        part = gram if len(used) == len(cost) else gram[np.ix_(used, used)]
        coefficients = np.zeros(columns.shape)
        coefficients[used] = kernel_ridge.duals(part, columns[used], cost[used])
        return _with_intercept(coefficients, task)


def costs(task: Task, C: float) -> NDArray[np.float64]:
    """What the squared error of each row costs in kernel ridge regression."""
    weight = task.balanced_weight
    return np.full(len(task.y), C) if weight is None else C * weight


def _with_intercept(coefficients: NDArray[np.float64], task: Task) -> Duals:
    """The duals of kernel ridge regression; a class that no row was learned of scores lowest."""
    duals = Duals(coefficients, coefficients.sum(axis=0))
    if task.classes is not None and len(task.classes) > 2:
        known = np.bincount(task.class_numbers, weights=task.weight, minlength=len(task.classes))
        coefficients[:, known == 0] = 0.0
        duals.intercept[known == 0] = _NEVER
    return duals


def spread(n_rows: int, most: int) -> RowIndices:
    """Indices of at most ``most`` rows, evenly spread over all."""
    if n_rows <= most:
        return np.arange(n_rows, dtype=np.intp)
    return np.asarray(np.linspace(0, n_rows - 1, most).round(), dtype=np.intp)


def scores_of(model: Any, encoded: Any) -> NDArray[np.float64]:
    """(n, m) or (n,) scores of a final model for what `ScaledMap.encode` made of rows."""
    if hasattr(model, "scores"):  # no linear model
        return np.asarray(model.scores(encoded))
    return np.asarray(
        model.decision_function(encoded) if hasattr(model, "classes_") else model.predict(encoded)
    )
