"""Every candidate, asked two things: which settings are best on rows held out (`tune`), and a model
with them (`train`).

Maps and exact machines are the front door (KernelClassifier, KernelRegressor); the linear model has
columns scaled and divided by one number so that rows have length about 1 and C means the same;
gradient boosting is scikit-learn's, a few trees at a time.
"""

from __future__ import annotations

import math
import pickle
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from kernelight import KernelClassifier, KernelRegressor, LinearClassifier, LinearRegressor
from kernelight.estimators import C_GRID, SCORE_TIE
from kernelight.study.plan import LINEAR, Candidate, Split

SETTINGS = ("scale", "gamma", "p")
TREES, TREES_A_STEP = 100, 10
LINEAR_SCALES = ("minmax", "standard")
SPARSE_LINEAR_SCALES = ("max", "none")
SCALERS = {"minmax": MinMaxScaler, "standard": StandardScaler, "max": MaxAbsScaler}


@dataclass(frozen=True)
class Tuned:
    """What validation chose, and the score of each C at those settings."""

    settings: dict[str, Any]
    C: float
    score: float
    curve: list[tuple[float, float]]
    #: Whether the best settings lead clearly: by more than the standard error over the best ones
    #: with another scale.
    clear: bool = False


@dataclass(frozen=True)
class Model:
    """A trained model, as the study needs it."""

    predict: Callable[[Any], NDArray[Any]]
    n_bytes: int
    feature_map: Any = None
    scaling: Any = None
    row_length: float = 1.0  # what scaled columns were divided by, so that C means the same
    note: str = ""
    # of ``classes``, one column for each
    probabilities: Callable[[Any], NDArray[np.float64]] | None = None
    classes: NDArray[Any] | None = None
    scores: Callable[[Any], NDArray[np.float64]] | None = (
        None  # of ``classes``, for a model without probabilities
    )


@dataclass(frozen=True)
class Data:
    """Rows and targets of one task."""

    X: Any
    y: NDArray[Any]
    task: str
    seed: int = 0
    n_jobs: int | None = None

    def at(self, rows: NDArray[np.intp]) -> Data:
        """Some of the rows."""
        return Data(self.X[rows], self.y[rows], self.task, self.seed, self.n_jobs)

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
    """The best of what is open, on the rows held out by ``splits``; ``settings`` are settled
    already."""
    if candidate.kind == LINEAR:
        return _tune_linear(data, splits, settings)
    wishes = dict.fromkeys(candidate.searched, "tune") | settings
    with _calm():
        model = _front_door(candidate, data, k, wishes, C="tune", cv=splits).fit(data.X, data.y)
    chosen = _settings_of(model)
    return Tuned(
        chosen,
        model.C_,
        model.validation_score_,
        _curve_of(model, chosen),
        _is_clear(model, data, splits),
    )


def default_model(data: Data) -> Any:
    """The front door with nothing said but the seed and the threads."""
    kind = KernelClassifier if data.is_classification else KernelRegressor
    return kind(random_state=data.seed, n_jobs=data.n_jobs)


def fit_default(data: Data, splits: list[Split]) -> tuple[Tuned, Model, float]:
    """The model that the front door makes if told nothing, with its score on ``splits``, and the
    seconds of a fit.

    The search is the front door's own; what it found is then learned again without each part held
    out, and scored there.
    """
    default = default_model(data)
    with _calm():
        model = clone(default).fit(data.X, data.y)
        chosen = _settings_of(model)
        scores, seconds = [], 0.0
        for train_rows, held in splits:
            start = time.perf_counter()
            part = (
                clone(default)
                .set_params(C=model.C_, **chosen)
                .fit(data.X[train_rows], data.y[train_rows])
            )
            seconds += (time.perf_counter() - start) * len(data.y) / len(train_rows)
            scores.append(data.at(held).score(part.predict(data.X[held])))
    curve = _curve_of(model, chosen) if model.search_ else []
    return (
        Tuned(chosen, model.C_, float(np.mean(scores)), curve),
        _model_of(model),
        seconds / len(splits),
    )


def _settings_of(model: Any) -> dict[str, Any]:
    """Scale, gamma and p of a fitted front door, those it has."""
    return {
        name: getattr(model, f"{name}_")
        for name in SETTINGS
        if getattr(model, f"{name}_") is not None
    }


def _curve_of(model: Any, chosen: dict[str, Any]) -> list[tuple[float, float]]:
    """The score of each C at the chosen settings, in the last round of the search."""
    finest = model.search_[-1]["n_rows"], model.search_[-1]["n_components"]
    curve = [
        (entry["C"], entry["score"])
        for entry in model.search_
        if all(entry[name] == value for name, value in chosen.items())
        and (entry["n_rows"], entry["n_components"]) == finest
    ]
    # the rough round may have had the same size: the fine one comes later
    return sorted(dict(curve).items())


def _is_clear(model: Any, data: Data, splits: list[Split]) -> bool:
    """Whether no other scale comes within one standard error of the chosen one."""
    others = [entry["score"] for entry in model.search_ if entry["scale"] != model.scale_]
    held = sum(len(places) for _, places in splits)
    lead = model.validation_score_ - max(others, default=model.validation_score_)
    return bool(lead > doubt(model.validation_score_, held, data.task))


def train(candidate: Candidate, data: Data, k: int, settings: dict[str, Any], C: float) -> Model:
    """A model with everything settled, of all rows."""
    with _calm():
        if candidate.kind == LINEAR:
            return _train_linear(data, settings, C)
        model = _front_door(candidate, data, k, settings, C=C, cv=None).fit(data.X, data.y)
    return _model_of(model)


def _model_of(model: Any) -> Model:
    """A fitted front door, as the study needs it."""
    n_bytes = sum(array.nbytes for array in model.to_state().arrays.values())
    return Model(model.predict, n_bytes, model.map_, model.scaling_, **_probabilities_of(model))


def _probabilities_of(model: Any) -> dict[str, Any]:
    """The fields of `Model` for a classifier that has probabilities."""
    if not hasattr(model, "predict_proba"):
        return {}
    return {"probabilities": model.predict_proba, "classes": model.classes_}


def doubt(score: float, n: int, task: str) -> float:
    """The standard error of a score on n rows held out.

    Accuracy: that of a share, with two rows added on each side (Agresti and Coull), so that 100 %
    is not certainty. R^2: the large-sample value 2 R (1 - R^2) / sqrt(n) (Olkin and Finn), with R^2
    kept within [0.01, 0.99].
    """
    if task == "classification":
        share = (score * n + 2) / (n + 4)
        return math.sqrt(share * (1 - share) / (n + 4))
    square = min(max(score, 0.01), 0.99)
    return 2 * math.sqrt(square) * (1 - square) / math.sqrt(n)


def boost(data: Data, seconds: float) -> Model:
    """Gradient boosting of at most 100 rounds of trees, fewer if time runs out."""
    kind = (
        HistGradientBoostingClassifier if data.is_classification else HistGradientBoostingRegressor
    )
    model = kind(
        max_iter=TREES_A_STEP, early_stopping=False, warm_start=True, random_state=data.seed
    )
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    start = time.perf_counter()
    for done in range(0, TREES, TREES_A_STEP):
        model.set_params(max_iter=done + TREES_A_STEP).fit(X, data.y)
        spent = time.perf_counter() - start
        if spent * (done + 2 * TREES_A_STEP) / (done + TREES_A_STEP) > seconds:
            break
    reached = model.n_iter_
    note = "" if reached == TREES else f"{reached} of {TREES} rounds of trees: no time for more"

    def dense(rows: Any) -> Any:
        return rows.toarray() if sp.issparse(rows) else rows

    said = _probabilities_of(model)
    if said:
        said["probabilities"] = lambda rows: model.predict_proba(dense(rows))
    return Model(
        lambda rows: np.asarray(model.predict(dense(rows))),
        len(pickle.dumps(model)),
        note=note,
        **said,
    )


def _front_door(
    candidate: Candidate, data: Data, k: int, wishes: dict[str, Any], **more: Any
) -> Any:
    kind = KernelClassifier if data.is_classification else KernelRegressor
    return kind(
        candidate.kernel,
        k,
        method=candidate.method,
        random_state=data.seed,
        n_jobs=data.n_jobs,
        **{"scale": "minmax"} | wishes,
        **more,
    )


class _calm(warnings.catch_warnings):  # noqa: N801  # reads as what it does
    """Solvers that stopped early are good enough to compare, and a warning for each would bury the
    rest."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", ".* hardly counts in the accuracy", UserWarning)
        return entered


class _Columns:
    """scikit-learn's scaling of that name, and all divided by the root mean square of the rows'
    lengths."""

    def __init__(self, name: str, X: Any) -> None:
        self._scaler = SCALERS[name]().fit(X) if name in SCALERS else None
        self.length = 1.0
        rows = self(X)
        squares = (
            rows.multiply(rows).sum()
            if sp.issparse(rows)
            else np.square(rows, dtype=np.float64).sum()
        )
        # so that C means the same for all data
        self.length = float(np.sqrt(squares / X.shape[0])) or 1.0

    def __call__(self, X: Any) -> Any:
        """Scaled rows."""
        return (X if self._scaler is None else self._scaler.transform(X)) / self.length

    @property
    def n_bytes(self) -> int:
        """Bytes of what it has to know: a factor for each column, and what it subtracts."""
        known = (getattr(self._scaler, name, None) for name in ("scale_", "min_", "mean_"))
        return sum(array.nbytes for array in known if array is not None)


def _tune_linear(data: Data, splits: list[Split], settings: dict[str, Any]) -> Tuned:
    names = SPARSE_LINEAR_SCALES if sp.issparse(data.X) else LINEAR_SCALES
    best: Tuned | None = None
    for name in (settings["scale"],) if "scale" in settings else names:
        rows = _Columns(name, data.X)(data.X)
        with _calm():
            found = [
                _linear(data, 1.0).fit_path(
                    rows[train],
                    data.y[train] - origin,
                    list(C_GRID),
                    validation=(rows[held], data.y[held] - origin),
                )
                for train, held in splits
                for origin in [_origin(data.at(train))]
            ]
        scores = np.mean([path.scores for path in found], axis=0)
        if best is None or scores.max() > best.score + SCORE_TIE:
            # of scores this close the smallest C wins
            at = int(np.argmax(scores >= scores.max() - SCORE_TIE))
            curve = list(zip(C_GRID, scores.tolist(), strict=True))
            best = Tuned({"scale": name}, C_GRID[at], float(scores.max()), curve)
    assert best is not None
    return best


def _train_linear(data: Data, settings: dict[str, Any], C: float) -> Model:
    columns, origin = _Columns(settings["scale"], data.X), _origin(data)
    model = _linear(data, C).fit(columns(data.X), data.y - origin)
    n_bytes = columns.n_bytes + sum(array.nbytes for array in model.to_state().arrays.values())

    def predict(rows: Any) -> NDArray[Any]:
        return np.asarray(model.predict(columns(rows)) + origin)

    told: dict[str, Any] = {}
    if data.is_classification:
        told = {
            "classes": model.classes_,
            "scores": lambda rows: model.decision_function(columns(rows)),
        }
    return Model(predict, n_bytes, scaling=columns, row_length=columns.length, **told)


def _origin(data: Data) -> Any:
    """What targets are counted from: the intercept is penalised, and must not have to reach
    quantities far from 0."""
    return 0 if data.is_classification else data.y.mean()


def _linear(data: Data, C: float) -> Any:
    kind = LinearClassifier if data.is_classification else LinearRegressor
    return kind(C=C, random_state=data.seed, n_jobs=data.n_jobs)
