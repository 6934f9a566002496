"""Tune and train a candidate: `tune` chooses settings on held-out rows, `train` fits with them.

Feature maps and exact SVMs are KernelClassifier or KernelRegressor. The linear model takes scaled
columns, divided by one number so that rows have length about 1 and C means the same for all data.
The average of models is that of kernel="auto", as it comes. Gradient boosting is scikit-learn's, a
few trees at a time.
"""

from __future__ import annotations

import math
import pickle
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score

from kernelight import (
    ColumnScaler,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
)
from kernelight.estimators import C_GRID, DEFAULT_COMPONENTS, SCORE_TIE
from kernelight.scaling import WIDEST
from kernelight.study.plan import LINEAR, Candidate, Split
from kernelight.tables.default_model import AUTO

SETTINGS = ("scale", "gamma", "p")
TREES, TREES_PER_STEP = 100, 10
LINEAR_SCALES = ("minmax", "standard")
SPARSE_LINEAR_SCALES = ("max", "none")


@dataclass(frozen=True)
class Tuned:
    """What validation chose, and the score of each C at those settings."""

    settings: dict[str, Any]
    C: float
    score: float
    curve: list[tuple[float, float]]
    #: Whether they lead the best settings with another scale by more than one standard error.
    clear: bool = False


@dataclass(frozen=True)
class Model:
    """A trained model, as the study needs it."""

    predict: Callable[[Any], NDArray[Any]]
    n_bytes: int
    feature_map: Any = None
    #: A function from rows to scaled rows.
    scaling: Any = None
    #: What the scaled rows of the linear model are divided by.
    row_length: float = 1.0
    note: str = ""
    #: Probabilities of ``classes``, a column for each.
    probabilities: Callable[[Any], NDArray[np.float64]] | None = None
    classes: NDArray[Any] | None = None
    #: Decision values of a classifier without probabilities.
    scores: Callable[[Any], NDArray[np.float64]] | None = None
    #: The fitted estimator, of kernels.
    estimator: Any = None
    #: Features of rows, for a picture of them; None means those of scaling and feature map.
    features: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Data:
    """Rows and targets of one task."""

    X: Any
    y: NDArray[Any]
    task: str
    seed: int = 0
    n_jobs: int | None = None
    #: Which of two classes probabilities are about.
    positive: int = 1

    def at(self, rows: NDArray[np.intp]) -> Data:
        """Some of the rows."""
        return replace(self, X=self.X[rows], y=self.y[rows])

    @property
    def is_classification(self) -> bool:
        """Whether targets are labels."""
        return self.task == "classification"

    def score(self, predicted: NDArray[Any]) -> float:
        """Accuracy or R^2."""
        return float(
            accuracy_score(self.y, predicted)
            if self.is_classification
            else r2_score(self.y, predicted)
        )


def tune(
    candidate: Candidate, data: Data, k: int, splits: list[Split], settings: dict[str, Any]
) -> Tuned:
    """The best settings on the rows that ``splits`` hold out; those in ``settings`` are fixed."""
    if candidate.kind == LINEAR:
        return _tune_linear(data, splits, settings)
    settings = dict.fromkeys(candidate.searched, "tune") | settings
    with _quiet():
        model = _estimator(candidate, data, k, settings, C="tune", cv=splits).fit_features(
            data.X, data.y, part=True
        )
    chosen = _settings_of(model)
    return Tuned(
        chosen, model.C_, model.validation_score_, _curve_of(model, chosen), _is_clear(model, data)
    )


def default_model(data: Data) -> Any:
    """The estimator with the seed and the threads of the study, else as it comes.

    Without a number of components it would take the exact kernel for few rows, whose models cannot
    be compared by their components.
    """
    kind = KernelClassifier if data.is_classification else KernelRegressor
    return kind(n_components=DEFAULT_COMPONENTS, random_state=data.seed, n_jobs=data.n_jobs)


def fit_default(data: Data, splits: list[Split]) -> tuple[Tuned, Model, float]:
    """The default fit with its score on ``splits``, and the seconds of one training.

    The search is the estimator's own, on all rows. The settings that it chose are then fitted to
    the training rows of each split, and scored on its held-out rows.
    """
    default = default_model(data)
    with _quiet():
        model = clone(default).fit_features(data.X, data.y, part=True)
        chosen = _settings_of(model)
        scores, seconds = [], 0.0
        for train_rows, held_out in splits:
            start = time.perf_counter()
            part = (
                clone(default)
                .set_params(C=model.C_, **chosen)
                .fit_features(data.X[train_rows], data.y[train_rows], part=True)
            )
            seconds += (time.perf_counter() - start) * len(data.y) / len(train_rows)
            scores.append(data.at(held_out).score(part.predict(data.X[held_out])))
    curve = _curve_of(model, chosen) if model.search_ else []
    return (
        Tuned(chosen, model.C_, float(np.mean(scores)), curve),
        _model_of(model),
        seconds / len(splits),
    )


def fit_average(data: Data, splits: list[Split]) -> tuple[Tuned, Model, float]:
    """The average of models with its score on ``splits``, and the seconds of one training.

    Its members choose their C on the held-out rows of ``splits``, and no other choice is made, so
    that the score is that of the average on the same rows. The training is timed with one C.
    """
    model = average_model(data, splits)
    start = time.perf_counter()
    with _quiet():
        given = {"scale": model.model_.members[0].scaled_map.scaling.name, "C": model.C_}
        clone(model).set_params(cv=None, **given).fit_features(data.X, data.y)
    seconds = time.perf_counter() - start
    score = float(model.validation_score_)
    return Tuned({}, model.C_, score, []), model_of_average(model), seconds


def average_model(data: Data, splits: list[Split]) -> Any:
    """The estimator of kernel="auto", fitted; ``splits`` are those that its members tune on."""
    kind = KernelClassifier if data.is_classification else KernelRegressor
    with _quiet():
        return kind(AUTO, cv=splits, random_state=data.seed, n_jobs=data.n_jobs).fit_features(
            data.X, data.y
        )


def model_of_average(model: Any) -> Model:
    """A fitted average, as the study needs it; a picture of rows shows the leaves they fall into.

    The other members may have no features.
    """
    leaves = model.model_.members[-1].scaled_map
    return replace(
        _model_of(model), features=lambda rows: leaves.feature_map.transform(leaves.scaling(rows))
    )


def _settings_of(model: Any) -> dict[str, Any]:
    """Scale, gamma and p of a fitted estimator, those it has."""
    return {
        name: getattr(model, f"{name}_")
        for name in SETTINGS
        if getattr(model, f"{name}_") is not None
    }


def _curve_of(model: Any, chosen: dict[str, Any]) -> list[tuple[float, float]]:
    """The score of each C at the chosen settings, in the last round that tried several."""
    curves: dict[Any, dict[float, float]] = {}
    for entry in model.search_:
        if all(entry[name] == value for name, value in chosen.items()):
            stage = entry["n_rows"], entry["n_components"]
            curves.setdefault(stage, {})[entry["C"]] = entry["score"]
    last = list(curves.values())
    several = [curve for curve in last if len(curve) > 1]
    return sorted((several or last)[-1].items())


def _is_clear(model: Any, data: Data) -> bool:
    """Whether the chosen scale leads every other by more than one standard error.

    It is compared with each on the most rows that both were scored on.
    """
    best: dict[int, dict[str, float]] = {}
    for entry in model.search_:
        scores = best.setdefault(entry["n_rows"], {})
        scores[entry["scale"]] = max(entry["score"], scores.get(entry["scale"], -math.inf))
    others = {entry["scale"] for entry in model.search_} - {model.scale_}
    for other in others:
        n_rows = max(rows for rows, scores in best.items() if other in scores)
        own = best[n_rows].get(model.scale_, -math.inf)
        if not own - best[n_rows][other] > standard_error(own, n_rows, data.task):
            return False
    return bool(others)


def train(candidate: Candidate, data: Data, k: int, settings: dict[str, Any], C: float) -> Model:
    """The model with these settings, trained on all rows of ``data``."""
    with _quiet():
        if candidate.kind == LINEAR:
            return _train_linear(data, settings, C)
        model = _estimator(candidate, data, k, settings, C=C, cv=None).fit_features(
            data.X, data.y, part=True
        )
    return _model_of(model)


def _model_of(model: Any) -> Model:
    """A fitted estimator, as the study needs it."""
    return Model(
        model.predict,
        _n_bytes(model),
        model.map_,
        model.scaling_,
        estimator=model,
        **_probabilities_of(model),
    )


def _n_bytes(*estimators: Any) -> int:
    """Bytes of the arrays that fitted estimators store."""
    states = [estimator.to_state() for estimator in estimators]
    return sum(array.nbytes for state in states for array in state.arrays.values())


def _probabilities_of(model: Any) -> dict[str, Any]:
    """The fields of `Model` for a classifier that has probabilities."""
    if not hasattr(model, "predict_proba"):
        return {}
    return {"probabilities": model.predict_proba, "classes": model.classes_}


def standard_error(score: float, n: int, task: str) -> float:
    """The standard error of a score on n held-out rows.

    Accuracy: that of a proportion, with two rows added that are right and two that are wrong
    (Agresti and Coull), so that it is not 0 at 100 %. R^2: the large-sample value
    2 R (1 - R^2) / sqrt(n) (Olkin and Finn), with R^2 kept within [0.01, 0.99].
    """
    if task == "classification":
        fraction = (score * n + 2) / (n + 4)
        return math.sqrt(fraction * (1 - fraction) / (n + 4))
    square = min(max(score, 0.01), 0.99)
    return 2 * math.sqrt(square) * (1 - square) / math.sqrt(n)


def boost(data: Data, seconds: float) -> Model:
    """Gradient boosting of at most 100 rounds of trees; fewer if ``seconds`` run out."""
    kind = (
        HistGradientBoostingClassifier if data.is_classification else HistGradientBoostingRegressor
    )
    model = kind(
        max_iter=TREES_PER_STEP, early_stopping=False, warm_start=True, random_state=data.seed
    )
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    start = time.perf_counter()
    for done in range(0, TREES, TREES_PER_STEP):
        model.set_params(max_iter=done + TREES_PER_STEP).fit(X, data.y)
        spent = time.perf_counter() - start
        if spent * (done + 2 * TREES_PER_STEP) / (done + TREES_PER_STEP) > seconds:
            break
    reached = model.n_iter_
    note = "" if reached == TREES else f"{reached} of {TREES} rounds of trees: no time for more"

    def dense(rows: Any) -> Any:
        return rows.toarray() if sp.issparse(rows) else rows

    probabilities = _probabilities_of(model)
    if probabilities:
        probabilities["probabilities"] = lambda rows: model.predict_proba(dense(rows))
    return Model(
        lambda rows: np.asarray(model.predict(dense(rows))),
        len(pickle.dumps(model)),
        note=note,
        **probabilities,
    )


def _estimator(
    candidate: Candidate, data: Data, k: int, settings: dict[str, Any], **more: Any
) -> Any:
    kind = KernelClassifier if data.is_classification else KernelRegressor
    return kind(
        candidate.kernel,
        k,
        method=candidate.method,
        random_state=data.seed,
        n_jobs=data.n_jobs,
        **{"scale": "minmax"} | settings,
        **more,
    )


class _quiet(warnings.catch_warnings):  # noqa: N801  # reads as what it does
    """Without warnings that many fits repeat: a solver that stopped early is good enough here."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", ".* hardly counts in the accuracy", UserWarning)
        return entered


def _scaled_columns(name: str, X: Any) -> tuple[ColumnScaler, float]:
    """The scaling of that name, and the root mean square length of the scaled rows."""
    scaler = ColumnScaler(name).fit(X)
    rows = scaler.transform(X)
    values = np.asarray(rows.data if sp.issparse(rows) else rows, dtype=np.float64)
    return scaler, math.sqrt(np.vdot(values, values) / rows.shape[0]) or 1.0


def _tune_linear(data: Data, splits: list[Split], settings: dict[str, Any]) -> Tuned:
    best: Tuned | None = None
    for name in (settings["scale"],) if "scale" in settings else _linear_scales(data.X):
        scaler, length = _scaled_columns(name, data.X)
        rows = scaler.transform(data.X) / length
        with _quiet():
            paths = [
                _linear(data, 1.0).fit_path(
                    rows[train],
                    data.y[train] - origin,
                    list(C_GRID),
                    validation=(rows[held_out], data.y[held_out] - origin),
                )
                for train, held_out in splits
                for origin in [_origin(data.at(train))]
            ]
        scores = np.mean([path.scores for path in paths], axis=0)
        if best is None or scores.max() > best.score + SCORE_TIE:
            at = int(np.argmax(scores >= scores.max() - SCORE_TIE))
            curve = list(zip(C_GRID, scores.tolist(), strict=True))
            best = Tuned({"scale": name}, C_GRID[at], float(scores.max()), curve)
    assert best is not None
    return best


def _linear_scales(X: Any) -> tuple[str, ...]:
    """The scalings that the linear model tries."""
    if not sp.issparse(X):
        return LINEAR_SCALES
    return SPARSE_LINEAR_SCALES if X.shape[1] <= WIDEST else ("none",)


def _train_linear(data: Data, settings: dict[str, Any], C: float) -> Model:
    scaler, length = _scaled_columns(settings["scale"], data.X)

    def scaled(rows: Any) -> Any:
        return scaler.transform(rows) / length

    origin = _origin(data)
    model = _linear(data, C).fit(scaled(data.X), data.y - origin)

    def predict(rows: Any) -> NDArray[Any]:
        return np.asarray(model.predict(scaled(rows)) + origin)

    scores: dict[str, Any] = {}
    if data.is_classification:
        scores = {
            "classes": model.classes_,
            "scores": lambda rows: model.decision_function(scaled(rows)),
        }
    return Model(predict, _n_bytes(scaler, model), scaling=scaled, row_length=length, **scores)


def _origin(data: Data) -> Any:
    """What is subtracted from the target: the mean of quantities.

    The intercept is penalised, so that it would not reach a mean far from 0.
    """
    return 0 if data.is_classification else data.y.mean()


def _linear(data: Data, C: float) -> Any:
    kind = LinearClassifier if data.is_classification else LinearRegressor
    return kind(C=C, random_state=data.seed, n_jobs=data.n_jobs)
