"""`TableModel`: a model together with how the columns of a file become its features."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from inspect import isfunction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from kernelight.base import counted
from kernelight.base.checks import check_choice, check_int
from kernelight.base.estimator import Storable, part_state, with_parts
from kernelight.data import DataError, Dataset, Encoding, open_dataset
from kernelight.data.dataset import AUTO
from kernelight.data.encoding import CLASSIFICATION, REGRESSION
from kernelight.data.errors import DataWarning, listed
from kernelight.estimators.classifier import KernelClassifier
from kernelight.estimators.kernel_model import KernelModel
from kernelight.estimators.progress import Job, Watch, unwatched, watched_by
from kernelight.estimators.regressor import KernelRegressor
from kernelight.estimators.summary import summarize
from kernelight.metrics import ProbabilityScores
from kernelight.state import State
from kernelight.tables.evaluation import ClassCounts, Errors
from kernelight.tables.fitting import fit_within, refuse_too_little
from kernelight.tables.memory_limit import bytes_of, taken

_MODELS: dict[str, Any] = {"KernelClassifier": KernelClassifier, "KernelRegressor": KernelRegressor}
BATCH_VALUES = 1 << 22  # of the rows that are predicted for at a time


class Predictions(NamedTuple):
    """Predictions for some rows, with their ids (None unless there is a column of them).

    If asked for: probabilities of the classes, or the lower and upper ends of intervals.
    """

    values: NDArray[Any]
    probabilities: NDArray[np.float64] | None
    ids: list[str] | None
    interval: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None


PROBABILITIES, INTERVALS = "predict_proba", "predict_interval"


def _lacks(model: Any, method: str) -> str | None:
    """Why a fitted model has no such method, in a sentence; None if it has it."""
    if hasattr(model, method):
        return None
    classes = isinstance(model, KernelClassifier)
    if method == INTERVALS:
        return "Intervals are for quantities, but this model predicts classes."
    if classes:
        return "This model was written before models had probabilities: fit it again."
    return "Probabilities are for classes, but this model predicts quantities."


def _offers(method: str) -> Callable[[TableModel], bool]:
    """Whether the model behind it has a method, as scikit-learn asks for it; true until it is
    fitted."""

    def offered(table_model: TableModel) -> bool:
        lacking = _lacks(table_model.model_, method) if hasattr(table_model, "model_") else None
        if lacking:
            raise AttributeError(lacking)
        return True

    return offered


class TableModel(Storable):
    """A model of the rows of a file, which knows how columns of that file become features.

    Files to predict for are read like the one it was trained on: the same columns in any order, the
    same words, missing values filled as they were there.

    Parameters
    ----------
    model : KernelClassifier, KernelRegressor, function or None, default=None
        The model to fit; it is not changed. A function makes it when the task ("classification" or
        "regression") is known. None is a classifier or a regressor with their defaults, as the
        target asks for.

    Attributes
    ----------
    model_ : KernelClassifier or KernelRegressor
        The fitted model.
    encoding_ : Encoding
        How columns become features.
    classes_ : array
        Of a classification: the classes, in the order of the columns of `predict_proba`.
    trained_on_, n_rows_ : str, int
        The name of the data, and how many rows there were.

    Examples
    --------
    >>> import os, tempfile
    >>> import kernelight
    >>> from kernelight import KernelClassifier, TableModel
    >>> folder = tempfile.mkdtemp()
    >>> with open(os.path.join(folder, "fruit.csv"), "w") as file:
    ...     _ = file.write("weight,colour,kind\\n" + "100,red,apple\\n120,yellow,banana\\n" * 50)
    >>> with open(os.path.join(folder, "new.csv"), "w") as file:
    ...     _ = file.write("colour,weight\\nyellow,121\\nred,99\\n")
    >>> model = TableModel(KernelClassifier(n_components=64)).fit(os.path.join(folder, "fruit.csv"))
    >>> model.predict(os.path.join(folder, "new.csv")).tolist()
    ['banana', 'apple']
    >>> model.save(os.path.join(folder, "fruit.klt"))
    >>> kernelight.load(os.path.join(folder, "fruit.klt")).predict(os.path.join(folder, "new.csv")).tolist()
    ['banana', 'apple']
    """

    model_: Any
    encoding_: Encoding
    trained_on_: str
    n_rows_: int
    held_out_: dict[str, Any] | None = None

    def __init__(self, model: KernelModel | Callable[[str], KernelModel] | None = None) -> None:
        if model is not None and type(model).__name__ not in _MODELS and not isfunction(model):
            raise TypeError(
                f"model must be a KernelClassifier, a KernelRegressor or a function that makes "
                f"one, got {type(model).__name__}."
            )
        self.model = model

    def fit(
        self,
        data: Any,
        *,
        memory: int | str | None = None,
        passes: int = 3,
        watch: Watch | None = None,
        **reading: Any,
    ) -> TableModel:
        """Learn from a data set.

        Parameters
        ----------
        data : Dataset, path, name or frame
            What to learn from; a path, a name or a frame (pandas, polars, Arrow) is opened by
            `open_dataset`, with ``reading``: ``target=`` and so on.
        memory : int, str or None, default=None
            A limit for the memory of the whole process, such as "1G". Where the rows do not fit, a
            sample chooses what is to be tuned, and the model learns from all of them batch by
            batch. None reads everything.
        passes : int, default=3
            How often every row is seen then.
        watch : callable, optional
            Called with an event whenever there is news: what is being done, ``done`` of ``of``
            (None: not known yet) ``unit``, and of the whole job the ``share`` that is done and the
            seconds ``left`` (None: nothing to go by yet).
        """
        check_int("passes", passes, 1)
        if isinstance(self.model, KernelModel):
            self.model.check_parameters()
        limit, base = None if memory is None else bytes_of(memory), taken()
        if limit is not None:
            refuse_too_little(self._example(), limit, base)
        kept: list[Any] = []
        opened = data if isinstance(data, Dataset) else open_dataset(data, **reading)
        opened = opened.supervised(keep=kept.append if limit is None else None)
        job = Job(watch or unwatched)
        if limit is None and opened.n_bytes is not None:  # in one call, without news meanwhile
            job.tell("reading", 0, opened.n_bytes, "bytes")
        else:
            job.tell("reading")
        # first: the task is then known without reading twice
        whole = opened.materialise() if limit is None else None
        task = opened.task
        if task is None:
            raise DataError(f"{opened.name} has no target to learn: name its column.")
        _refuse_parts_of_numbers(opened)
        model = self._unfitted(task, opened.name)
        if limit is not None:
            rows, held_out, encoding = fit_within(model, opened, limit, base, passes, job)
        else:
            assert whole is not None
            rows, held_out, encoding = int(whole[0].shape[0]), None, opened.encoding
            job.tell("reading", rows)
            with watched_by(job):
                model._fit_features(*whole, kept[0] if kept else None)
        self.model_, self.encoding_ = model, encoding
        self.trained_on_, self.n_rows_, self.held_out_ = opened.name, rows, held_out
        return self

    def _example(self) -> Any:
        """The model before the task is known; what it takes in memory hardly depends on that."""
        if not isfunction(self.model):
            return KernelClassifier() if self.model is None else self.model
        try:
            return self.model(CLASSIFICATION)
        except ValueError:
            return self.model(REGRESSION)

    def _unfitted(self, task: str, name: str) -> Any:
        if self.model is None:
            return KernelClassifier() if task == CLASSIFICATION else KernelRegressor()
        if isfunction(self.model):
            return self.model(task)
        wanted = CLASSIFICATION if isinstance(self.model, KernelClassifier) else REGRESSION
        if wanted != task:
            raise DataError(
                f"{name}: the target is one of a {task}, but a {type(self.model).__name__} was "
                f"asked for; "
                f"task={wanted!r} overrides that."
            )
        return clone(self.model)

    # -- Use
    # ------------------------------------------------------------------------------------------------

    @property
    def task(self) -> str:
        """ "classification" or "regression"."""
        self._check_fitted()
        return CLASSIFICATION if isinstance(self.model_, KernelClassifier) else REGRESSION

    def open(self, data: Any, **reading: Any) -> Dataset:
        """A file, to be read like the one this model was trained on; also a data set that was
        opened without an encoding."""
        self._check_fitted()
        if isinstance(data, Dataset):
            return data.read_by(self.encoding_, target=reading.get("target", AUTO) is not None)
        return open_dataset(data, encoding=self.encoding_, **reading)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the columns of `predict_proba`; a model of quantities has
        none."""
        self._check_fitted()
        if self.task == REGRESSION:
            raise AttributeError("This model predicts quantities, so it has no classes.")
        return np.asarray(self.model_.classes_)

    def predict(self, data: Any, **reading: Any) -> NDArray[Any]:
        """The class or quantity of each row of a data set, path or frame; ``reading`` is passed on
        to `open_dataset`."""
        return np.concatenate([part.values for part in self.predict_batches(data, **reading)])

    @available_if(_offers(PROBABILITIES))  # type: ignore[untyped-decorator]
    def predict_proba(self, data: Any, **reading: Any) -> NDArray[np.float64]:
        """The probability of each class, in the order of ``classes_``: see
        `KernelClassifier.predict_proba`."""
        parts = self.predict_batches(data, probabilities=True, **reading)
        return np.concatenate(
            [part.probabilities for part in parts if part.probabilities is not None]
        )

    @available_if(_offers(INTERVALS))  # type: ignore[untyped-decorator]
    def predict_interval(
        self, data: Any, coverage: float = 0.9, **reading: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lower and the upper end of an interval around each prediction: see
        `KernelRegressor.predict_interval`."""
        parts = self.predict_batches(data, interval=coverage, **reading)
        ends = [part.interval for part in parts if part.interval is not None]
        return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])

    def score(self, data: Any, **reading: Any) -> float:
        """The accuracy, or R^2 of quantities, on data that have the target; `evaluate` says more.

        A constant target has R^2 1 if every prediction is right and 0 otherwise, as scikit-learn
        has it.
        """
        found = self.evaluate(data, **reading)
        if found["task"] == CLASSIFICATION:
            return float(found["accuracy"])
        return float(found["largest_error"] == 0) if found["r2"] is None else float(found["r2"])

    def predict_batches(
        self,
        data: Any,
        *,
        probabilities: bool = False,
        interval: float | None = None,
        **reading: Any,
    ) -> Iterator[Predictions]:
        """Predictions batch by batch, in memory that does not grow with the file.

        Its target is not looked at.
        """
        self._check_fitted()
        for asked, method in ((probabilities, PROBABILITIES), (interval is not None, INTERVALS)):
            lacking = _lacks(self.model_, method) if asked else None
            if lacking:
                raise ValueError(lacking)
        if interval is not None:
            self.model_._half_width(interval)  # says what is wrong before a row is read
        opened = self.open(data, **{"target": None, **reading})
        rows = 0
        for batch in opened.batches(self._batch_rows()):
            rows += batch.X.shape[0]
            if probabilities:
                shares = self.model_.predict_proba(batch.X)
                yield Predictions(self.model_.classes_[shares.argmax(axis=1)], shares, batch.ids)
            elif interval is not None:
                low, high = self.model_.predict_interval(batch.X, interval)
                yield Predictions((low + high) / 2, None, batch.ids, (low, high))
            else:
                yield Predictions(self.model_.predict(batch.X), None, batch.ids)
        if rows == 0:
            raise DataError(f"{opened.name} has no rows.")

    def _batch_rows(self) -> int:
        return min(max(256, BATCH_VALUES // max(1, self.encoding_.width)), 1 << 16)

    def evaluate(self, data: Any, **reading: Any) -> dict[str, Any]:
        """How good the predictions are on a file that has the target.

        Of classes: accuracy with its standard error, balanced accuracy, precision and recall of
        each, and the confusion matrix; log loss, Brier score, AUC and a calibration table of the
        probabilities (see `metrics.ProbabilityScores`). Of quantities: R^2, root mean squared, mean
        absolute and largest error. Rows without a target are left out, and counted.
        """
        opened = self.open(data, **reading)
        counts = ClassCounts() if self.task == "classification" else Errors()
        shares = (
            ProbabilityScores(self.model_.classes_)
            if hasattr(self.model_, "predict_proba")
            else None
        )
        rows = 0
        for batch in opened.batches(self._batch_rows()):
            truth = self._comparable(batch.y, opened.name)
            if shares is None:
                counts.add(truth, self.model_.predict(batch.X))
            else:
                found = self.model_.predict_proba(batch.X)
                counts.add(truth, self.model_.classes_[found.argmax(axis=1)])
                shares.add(truth, found)
            rows += batch.X.shape[0]
        if rows == 0:
            raise DataError(f"{opened.name} has no rows.")
        found = {**counts.result(), "rows_without_target": opened.rows_left_out}
        found |= shares.result() if shares is not None else {}
        if found["task"] == CLASSIFICATION:
            known = set(self.model_.classes_.tolist())
            strange = [str(label) for label in found["confusion"]["labels"] if label not in known]
            if strange:
                note = f"the class {listed(strange)} never occurred in training and cannot be predicted"
                warnings.warn(DataWarning(opened.name, [note]), stacklevel=2)
        return found

    def _comparable(self, found: NDArray[Any] | None, name: str) -> NDArray[Any]:
        """A target that predictions can be compared with: there, and words or numbers as those of
        the model are."""
        target = self.encoding_.target
        assert target is not None
        if found is None:
            raise DataError(f"{name} has no target {target.name!r} to compare predictions with.")
        kind = "words" if found.dtype.kind == "U" else "number"
        if kind != target.kind:
            kinds = {"number": "numbers", "words": "words"}
            raise DataError(
                f"{name}: the target {target.name!r} is {kinds[kind]} where the model has "
                f"{kinds[target.kind]}."
            )
        return found

    def summary(self) -> str:
        """What it was trained on and what was chosen; ``print`` it."""
        self._check_fitted()
        target = self.encoding_.target
        head = f"TableModel of {self.trained_on_}: {counted(self.encoding_.width, 'feature')}"
        return f"{head}, target {target.name if target else None!r}\n{summarize(self.model_, self._held_out_text())}"

    def _held_out_text(self) -> str | None:
        """How good the model is on rows held out of all passes, in words; None if there were no
        passes."""
        found = self.held_out_
        if found is None:
            return None
        if self.task == CLASSIFICATION:
            said = (
                f"accuracy {found['accuracy']:.3f} (standard error {found['standard_error']:.3f})"
            )
        else:
            said = "R^2 -" if found["r2"] is None else f"R^2 {found['r2']:.3f}"
            said += f", root mean squared error {found['root_mean_squared_error']:.4g},"
        return f"{said} on {counted(found['rows'], 'row')} held out of all passes"

    def __repr__(self) -> str:
        return f"TableModel({getattr(self, 'model_', self.model)!r})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError(
                "This TableModel is not fitted yet: call fit with a data set first."
            )

    # -- Files
    # ----------------------------------------------------------------------------------------------

    def _state(self) -> State:
        """The encoding, and the state of the model."""
        meta = {
            "kind": "TableModel",
            "encoding": self.encoding_.to_plain(),
            "trained_on": self.trained_on_,
            "n_rows": self.n_rows_,
        }
        if self.held_out_ is not None:
            meta["held_out"] = self.held_out_
        return with_parts(State(meta), {"model": self.model_})

    @classmethod
    def _restored(cls, state: State) -> TableModel:
        meta, made = state.meta, cls()
        made.encoding_ = Encoding.from_plain(meta["encoding"])
        inner = part_state(state, "model", meta["parts"]["model"])
        check_choice("Its model", inner.kind, tuple(_MODELS))
        made.model_ = _MODELS[inner.kind].from_state(inner)
        made.trained_on_ = str(meta["trained_on"])
        made.n_rows_ = check_int("n_rows", meta["n_rows"], 1)
        made.held_out_ = meta.get("held_out")
        made._check_parts()
        return made

    def _check_parts(self) -> None:
        """A state may hold anything."""
        if self.encoding_.width != self.model_.n_features_in_:
            raise ValueError(
                f"its encoding gives {counted(self.encoding_.width, 'feature')} and its "
                f"model takes {self.model_.n_features_in_}."
            )
        if self.held_out_ is not None:
            _check_measured(self.held_out_, self.task)
        target = self.encoding_.target
        if target is None or target.task != self.task:
            raise ValueError("its encoding is not of a target that its model predicts.")
        if target.labels is not None and set(self.model_.classes_.tolist()) != set(target.labels):
            raise ValueError("its encoding has other classes than its model.")


def _check_measured(found: Any, task: str) -> None:
    """Refuse what cannot be how good a model of that task is."""
    classes = task == CLASSIFICATION
    names = ("accuracy", "standard_error") if classes else ("r2", "root_mean_squared_error")
    if not isinstance(found, dict) or found.get("task") != task or not set(names) <= set(found):
        raise ValueError("held_out must say how good the model is on rows held out.")
    check_int("rows", found.get("rows"), 1)
    for name, value in found.items():
        if (
            not isinstance(value, (int, float))
            and name != "task"
            and not (name == "r2" and value is None)
        ):
            raise ValueError(f"held_out must hold numbers, and {name} is {value!r}.")


def _refuse_parts_of_numbers(data: Dataset) -> None:
    """Refuse classes that are numbers and not whole ones, which no model here takes, in words of
    the file."""
    target = data.encoding.target
    odd = next(
        (label for label in (target.labels if target else None) or () if isinstance(label, float)),
        None,
    )
    if target is not None and odd is not None:
        hint = (
            ""
            if data.encoding.columns is None
            else f"; categorical=[{target.name!r}] reads them as words"
        )
        raise DataError(
            f"{data.name}: the target {target.name!r} has classes such as {odd:g}, which is no "
            f"whole number{hint}."
        )
