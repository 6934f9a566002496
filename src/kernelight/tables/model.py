"""`TableModel`: a model that is trained on a table and predicts for other tables.

Long because everything that a user does with such a model is a method of it; the work is elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from inspect import isfunction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from kernelight.base import counted
from kernelight.base.checks import check_choice, check_int
from kernelight.base.estimator import Storable, part_state, with_parts
from kernelight.data import DataError, Dataset, Encoding, open_dataset
from kernelight.data.encoding import CLASSIFICATION, REGRESSION
from kernelight.data.errors import DataWarning, listed
from kernelight.data.reading_options import AUTO
from kernelight.estimators.additive import refuse_many_values
from kernelight.estimators.classifier import KernelClassifier
from kernelight.estimators.compact_classifier import CompactClassifier
from kernelight.estimators.contributions import Contributions, joined
from kernelight.estimators.kernel_model import KernelModel
from kernelight.estimators.progress import Job, Watch, unwatched, watched_by
from kernelight.estimators.regressor import KernelRegressor
from kernelight.estimators.summary import summarize
from kernelight.linear.rounds import Blocks, RoundWatch
from kernelight.metrics import ProbabilityScores
from kernelight.state import State
from kernelight.tables.arrow_batches import as_arrow, batch_matrix
from kernelight.tables.default_model import GMM, DefaultModel, plain_model
from kernelight.tables.evaluation import ClassCounts, ErrorSums, check_scores, held_out_text
from kernelight.tables.explanation import ExplainedRows, explained_batches
from kernelight.tables.fitting import fit_within, refuse_too_little, without_average
from kernelight.tables.memory_limit import bytes_of, taken
from kernelight.tables.predictions import (
    INTERVALS,
    PROBABILITIES,
    Predictions,
    Wanted,
    lacks,
    predicted,
)
from kernelight.tables.sample_fitting import fit_to_sample, refuse_all_at_once, with_map

_MODELS: dict[str, Any] = {
    "KernelClassifier": KernelClassifier,
    "KernelRegressor": KernelRegressor,
    "CompactClassifier": CompactClassifier,
}
PASSES = 3  # over rows that do not fit into memory
BATCH_VALUES = 1 << 22  # features of the rows of a batch, when predicting


def _offers(method: str) -> Callable[[TableModel], bool]:
    """A check for scikit-learn's `available_if`: whether the fitted model has a method.

    Before the fit every method is there.
    """

    def offered(table_model: TableModel) -> bool:
        lacking = lacks(table_model.model_, method) if hasattr(table_model, "model_") else None
        if lacking:
            raise AttributeError(lacking)
        return True

    return offered


class TableModel(Storable):
    """A model of a table: it takes files and data frames, and encodes their columns itself.

    ``fit`` learns how columns become features (words, dates, missing values) and trains the model.
    A table to predict for needs the same columns, in any order, and is encoded in the same way.
    `save` writes both to one file; the command ``kernelight fit`` makes such files.

    Parameters
    ----------
    model : KernelClassifier, KernelRegressor, CompactClassifier, function or None, default=None
        The model to fit; it is cloned. A function is called with the task ("classification" or
        "regression") once it is known, and returns the model. None is a `KernelClassifier` or a
        `KernelRegressor`, as the target asks for, with kernel="auto" and otherwise default
        parameters. With ``memory``, and for sparse rows of more than 1,000 columns, the kernel is
        then "gmm", with a note.

    Attributes
    ----------
    model_ : KernelClassifier, KernelRegressor or CompactClassifier
        The fitted model.
    encoding_ : Encoding
        How columns become features.
    classes_ : array
        The classes, in the order of the columns of `predict_proba`. Classification only.
    trained_on_, n_rows_ : str, int
        The name of the table, and its number of rows.
    held_out_ : dict or None
        The scores on rows held out of all passes, where ``memory`` made passes necessary.

    See Also
    --------
    KernelClassifier : The model inside, for classes.
    TableMap : Codes of files.
    open_dataset : Opens files.

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
    >>> loaded = kernelight.load(os.path.join(folder, "fruit.klt"))
    >>> loaded.predict(os.path.join(folder, "new.csv")).tolist()
    ['banana', 'apple']
    """

    model_: Any
    encoding_: Encoding
    trained_on_: str
    n_rows_: int
    held_out_: dict[str, Any] | None = None

    def __init__(
        self, model: KernelModel | Callable[[str], KernelModel] | DefaultModel | None = None
    ) -> None:
        known = model is None or type(model).__name__ in _MODELS
        if not known and not isfunction(model) and not isinstance(model, DefaultModel):
            raise TypeError(
                f"model must be a KernelClassifier, a KernelRegressor, a CompactClassifier or a "
                f"function that makes one, got {type(model).__name__}."
            )
        self.model = model

    def fit(
        self,
        data: Any,
        *,
        memory: int | str | None = None,
        passes: int | None = None,
        watch: Watch | None = None,
        **reading_options: Any,
    ) -> TableModel:
        """Learn from a table.

        Parameters
        ----------
        data : path, name, data frame or Dataset
            What to learn from. A path, the name of a data set or a data frame (pandas, polars,
            Arrow) is opened by `open_dataset`.
        memory : int, str or None, default=None
            A limit for the memory of the whole process, such as "1G". Where the rows do not fit,
            the search runs on a sample, and the model then learns from the codes of all rows, which
            wait in a temporary file if they do not fit either. None reads all rows at once. With a
            limit, kernel="auto" becomes "gmm", with a note.
        passes : int or None, default=None
            How many passes over all rows the model learns in, at most, where they do not fit into
            ``memory``; it stops sooner when more would change little. None is three.
        watch : callable, optional
            Called with an `Event` whenever there is progress: what is being done, ``done`` of
            ``of`` ``unit``, and of the whole job the ``fraction`` that is done and
            ``seconds_left``. What is not known yet is None.
        **reading_options
            Arguments of `open_dataset`, such as ``target="price"``.

        Returns
        -------
        TableModel
            This object.
        """
        if passes is not None:
            check_int("passes", passes, 1)
            if memory is None:
                raise ValueError(
                    "passes is for rows that are read again within a limit of memory: give the "
                    "limit too, such as memory='1G', or leave it out."
                )
        if isinstance(self.model, (KernelModel, CompactClassifier)):
            self.model.check_parameters()
        if memory is not None and isinstance(self.model, CompactClassifier):
            raise ValueError("A CompactClassifier learns from all rows at once: leave memory out.")
        limit, base = None if memory is None else bytes_of(memory), taken()
        if limit is not None:
            refuse_too_little(self._example(), limit, base)
        kept: list[Any] = []
        opened = data if isinstance(data, Dataset) else open_dataset(data, **reading_options)
        opened = opened.supervised(keep=kept.append if limit is None else None)
        job = Job(watch or unwatched)
        if limit is None and opened.n_bytes is not None:  # in one call, without progress events
            job.tell("reading", 0, opened.n_bytes, "bytes")
        else:
            job.tell("reading")
        # before the task is asked for: it is then known without reading twice
        whole = opened.materialise() if limit is None else None
        task = opened.task
        if task is None:
            raise DataError(f"{opened.name} has no target to learn: name its column.")
        _refuse_fractional_classes(opened)
        model = self._unfitted(task, opened.name, None if whole is None else whole[0])
        if isinstance(model, CompactClassifier):
            _refuse_made_features(opened)
        if limit is not None:
            without_average(model, opened.name)
            rows, held_out, encoding = fit_within(
                model, opened, limit, base, PASSES if passes is None else passes, job
            )
        else:
            assert whole is not None
            rows, held_out, encoding = int(whole[0].shape[0]), None, opened.encoding
            job.tell("reading", rows)
            if isinstance(model, CompactClassifier):
                _note_other_numbers(opened, whole[0])
            with watched_by(job):
                model.fit_features(*whole, kept[0] if kept else None)
        self.model_, self.encoding_ = model, encoding
        self.trained_on_, self.n_rows_, self.held_out_ = opened.name, rows, held_out
        return self

    def fit_sample(
        self, data: Any, counts: Mapping[Any, int], job: Job, **reading_options: Any
    ) -> Any:
        """Learn everything but the weights from a fair sample of rows, for `BlockTraining`.

        ``counts`` has the rows of each class among all rows. Returns rows that explanations are
        centred on.
        """
        if isinstance(self.model, CompactClassifier):
            raise ValueError(
                "A CompactClassifier learns from all rows at once: fit it to a part of them, on "
                "one machine."
            )
        if isinstance(self.model, KernelModel):
            self.model.check_parameters()
            refuse_all_at_once(self.model, sum(counts.values()), "in several places")
        opened = open_dataset(data, **reading_options)
        X, y = opened.materialise()
        task = opened.task
        assert task is not None
        _refuse_fractional_classes(opened)
        known = self.model is not None and not isinstance(self.model, DefaultModel)
        model = self._unfitted(task, opened.name, X) if known else plain_model(task, kernel=GMM)
        refuse_all_at_once(model, sum(counts.values()), "in several places")
        without_average(model, opened.name, "in blocks")
        with_map(model)
        target = opened.encoding.target
        labels = () if target is None else target.labels or ()
        learned = {label: counts.get(label, 0) for label in labels}
        background = fit_to_sample(model, X, y, learned, learned, job)
        self.model_, self.encoding_ = model, opened.encoding
        self.trained_on_, self.n_rows_, self.held_out_ = opened.name, int(X.shape[0]), None
        return background

    def learn_blocks(
        self,
        blocks: Blocks,
        background: Any,
        tol: float,
        max_rounds: int,
        watch: RoundWatch,
        name: str,
    ) -> TableModel:
        """Learn the weights of `fit_sample` anew, from all rows; for `BlockTraining`."""
        self._check_fitted()
        self.model_.learn_blocks(blocks, tol, max_rounds, watch)
        self.model_.learn_background(background)
        self.trained_on_, self.n_rows_ = name, blocks.n_rows
        return self

    def _example(self) -> Any:
        """The model before the task is known; its memory hardly depends on the task."""
        if self.model is None or isinstance(self.model, KernelModel):
            return KernelClassifier() if self.model is None else self.model
        try:
            return self.model(CLASSIFICATION)
        except ValueError:
            return self.model(REGRESSION)

    def _unfitted(self, task: str, name: str, X: Any) -> Any:
        """The model to fit; ``X`` are all rows, None where they are read within a limit."""
        if self.model is None or isinstance(self.model, DefaultModel):
            return (self.model or DefaultModel()).for_rows(task, X, name)
        if isfunction(self.model):
            return self.model(task)
        wanted = _task_of(self.model)
        if wanted != task:
            raise DataError(
                f"{name}: the target is one of a {task}, but a {type(self.model).__name__} was "
                f"asked for; task={wanted!r} overrides that."
            )
        return clone(self.model)

    # -- Use

    @property
    def task(self) -> str:
        """ "classification" or "regression"."""
        self._check_fitted()
        return _task_of(self.model_)

    def open(self, data: Any, **reading_options: Any) -> Dataset:
        """Open a table with the encoding of this model; a `Dataset` is opened again with it."""
        self._check_fitted()
        if isinstance(data, Dataset):
            has_target = reading_options.get("target", AUTO) is not None
            return data.read_by(self.encoding_, target=has_target)
        return open_dataset(data, encoding=self.encoding_, **reading_options)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the columns of `predict_proba`.

        A model of quantities has no such attribute.
        """
        self._check_fitted()
        if self.task == REGRESSION:
            raise AttributeError("This model predicts quantities, so it has no classes.")
        return np.asarray(self.model_.classes_)

    def predict(self, data: Any, **reading_options: Any) -> NDArray[Any]:
        """The class or quantity of each row.

        ``data`` is a path, name, data frame or `Dataset`; ``reading_options`` are arguments of
        `open_dataset`.
        """
        batches = self.predict_batches(data, **reading_options)
        return np.concatenate([batch.values for batch in batches])

    @available_if(_offers(PROBABILITIES))  # type: ignore[untyped-decorator]
    def predict_proba(self, data: Any, **reading_options: Any) -> NDArray[np.float64]:
        """The probability of each class, in the order of ``classes_``.

        See `KernelClassifier.predict_proba`.
        """
        batches = self.predict_batches(data, probabilities=True, **reading_options)
        return np.concatenate(
            [batch.probabilities for batch in batches if batch.probabilities is not None]
        )

    @available_if(_offers(INTERVALS))  # type: ignore[untyped-decorator]
    def predict_interval(
        self, data: Any, coverage: float = 0.9, **reading_options: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lower and the upper end of an interval around each prediction.

        See `KernelRegressor.predict_interval`.
        """
        batches = self.predict_batches(data, interval=coverage, **reading_options)
        ends = [batch.interval for batch in batches if batch.interval is not None]
        return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])

    def explain(
        self, data: Any, *, background: Any = None, **reading_options: Any
    ) -> Contributions:
        """What each column of a table adds to the score of each row; see `KernelModel.explain`.

        ``data`` is a path, name, data frame or `Dataset`. ``background`` are rows over which
        contributions average 0, of which the first 500 are read; None means training rows. In the
        result, ``data`` has the cells as the model reads them: numbers that are missing are the
        median of training. Of many rows, `explain_batches` returns some at a time.
        """
        parts, rows = [], 0
        for part in self.explain_batches(data, background=background, **reading_options):
            rows += len(part.contributions)
            _, n_columns, *n_scores = part.contributions.values.shape
            refuse_many_values(rows, n_columns, *(n_scores or (1,)))
            parts.append(part.contributions)
        return joined(parts)

    def explain_batches(
        self, data: Any, *, background: Any = None, **reading_options: Any
    ) -> Iterator[ExplainedRows]:
        """Contributions with predictions and ids, batch by batch, in the order of the rows."""
        self._check_fitted()
        opened = self.open(data, **{"target": None, **reading_options})
        centre = None if background is None else self.open(background, target=None)
        yield from explained_batches(
            self.model_, self.encoding_, opened, centre, self._batch_rows()
        )

    def score(self, data: Any, **reading_options: Any) -> float:
        """The accuracy, or R^2 of quantities, on a table that has the target.

        With a constant target, R^2 is 1 if every prediction is right and 0 otherwise, as in
        scikit-learn. `evaluate` gives more scores.
        """
        scores = self.evaluate(data, **reading_options)
        if scores["task"] == CLASSIFICATION:
            return float(scores["accuracy"])
        return float(scores["largest_error"] == 0) if scores["r2"] is None else float(scores["r2"])

    def predict_batches(
        self,
        data: Any,
        *,
        probabilities: bool = False,
        interval: float | None = None,
        **reading_options: Any,
    ) -> Iterator[Predictions]:
        """Predictions batch by batch, in memory that does not grow with the table.

        Parameters
        ----------
        data : path, name, data frame or Dataset
            The rows to predict for; a target in it is not read.
        probabilities : bool, default=False
            Also the probabilities of the classes.
        interval : float or None, default=None
            The coverage of intervals around the predictions, such as 0.9; of quantities only.
        **reading_options
            Arguments of `open_dataset`.

        Yields
        ------
        Predictions
            In the order of the rows.
        """
        self._check_fitted()
        wanted = Wanted(probabilities, interval)
        wanted.refuse_lacking(self.model_)
        opened = self.open(data, **{"target": None, **reading_options})
        rows = 0
        for batch in opened.batches(self._batch_rows()):
            rows += batch.X.shape[0]
            yield predicted(self.model_, batch.X, wanted, batch.ids)
        if rows == 0:
            raise DataError(f"{opened.name} has no rows.")

    def predict_arrow(
        self,
        batch: Any,
        *,
        scores: bool = False,
        probabilities: bool = False,
        interval: float | None = None,
        features: str | None = None,
    ) -> Any:
        """Predictions for the rows of an Arrow batch, as an Arrow batch: for any engine.

        The result of a row depends on no other row of the batch, and not on threads. A batch
        without rows gives one without rows.

        Parameters
        ----------
        batch : pyarrow.RecordBatch or pyarrow.Table
            The columns that the model knows, in any order, each of the kind it had in training:
            text where the model has numbers is refused. Other columns are ignored.
        scores, probabilities : bool, default=False
            Also a column ``scores``, of `decision_function`, and ``probabilities``: for each row a
            list, in the order of ``classes_``. Two classes have one score.
        interval : float or None, default=None
            Also columns ``low`` and ``high``: intervals of this coverage, such as 0.9, around the
            predictions of quantities.
        features : str or None, default=None
            The name of a column of lists, which have the numbers of all columns of a row in the
            order of training.

        Returns
        -------
        pyarrow.RecordBatch
            Of the columns ``prediction``, and those that were asked for.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from kernelight import KernelClassifier, TableModel
        >>> fruit = {"weight": [100, 120, 121, 99] * 5, "kind": ["a", "b", "b", "a"] * 5}
        >>> model = TableModel(KernelClassifier("gmm", n_components=64))
        >>> model = model.fit(pa.table(fruit), target="kind")
        >>> model.predict_arrow(pa.table({"weight": [98, 123]}))["prediction"].to_pylist()
        ['a', 'b']
        """
        self._check_fitted()
        wanted = Wanted(probabilities, interval, scores)
        wanted.refuse_lacking(self.model_)
        X = batch_matrix(batch, self.encoding_, self.encoding_.width, features)
        return as_arrow(self.model_, X, wanted)

    def _batch_rows(self) -> int:
        return min(max(256, BATCH_VALUES // max(1, self.encoding_.width)), 1 << 16)

    def evaluate(self, data: Any, **reading_options: Any) -> dict[str, Any]:
        """Scores of the predictions on a table that has the target.

        For classes: accuracy with its standard error, balanced accuracy, precision and recall of
        each class, and the confusion matrix; log loss, Brier score, AUC and a calibration table of
        the probabilities (see `metrics.ProbabilityScores`). For quantities: R^2, root mean squared,
        mean absolute and largest error. Rows without a target are left out, and counted.
        """
        opened = self.open(data, **reading_options)
        counts = ClassCounts() if self.task == "classification" else ErrorSums()
        probability_scores = (
            ProbabilityScores(self.model_.classes_)
            if hasattr(self.model_, "predict_proba")
            else None
        )
        rows = 0
        for batch in opened.batches(self._batch_rows()):
            truth = self._checked_target(batch.y, opened.name)
            if probability_scores is None:
                counts.add(truth, self.model_.predict(batch.X))
            else:
                proba = self.model_.predict_proba(batch.X)
                counts.add(truth, self.model_.classes_[proba.argmax(axis=1)])
                probability_scores.add(truth, proba)
            rows += batch.X.shape[0]
        if rows == 0:
            raise DataError(f"{opened.name} has no rows.")
        scores = {**counts.result(), "rows_without_target": opened.rows_left_out}
        scores |= probability_scores.result() if probability_scores is not None else {}
        if scores["task"] == CLASSIFICATION:
            known = set(self.model_.classes_.tolist())
            unseen = [str(label) for label in scores["confusion"]["labels"] if label not in known]
            if unseen:
                note = (
                    f"the class {listed(unseen)} never occurred in training and cannot be predicted"
                )
                warnings.warn(DataWarning(opened.name, [note]), stacklevel=2)
        return scores

    def _checked_target(self, y: NDArray[Any] | None, name: str) -> NDArray[Any]:
        """A target that predictions can be compared with: words or numbers, as in training."""
        target = self.encoding_.target
        assert target is not None
        if y is None:
            raise DataError(f"{name} has no target {target.name!r} to compare predictions with.")
        kind = "words" if y.dtype.kind == "U" else "number"
        if kind != target.kind:
            kinds = {"number": "numbers", "words": "words"}
            raise DataError(
                f"{name}: the target {target.name!r} is {kinds[kind]} where the model has "
                f"{kinds[target.kind]}."
            )
        return y

    def summary(self) -> str:
        """What the model was trained on, and what the search chose, as lines to print."""
        self._check_fitted()
        target = self.encoding_.target
        head = (
            f"TableModel of {self.trained_on_}: {counted(self.encoding_.width, 'feature')}, "
            f"target {target.name if target else None!r}"
        )
        if isinstance(self.model_, CompactClassifier):
            return f"{head}\n{self.model_.summary()}"
        return f"{head}\n{summarize(self.model_, held_out_text(self.held_out_))}"

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
        """Refuse a state whose encoding and model do not belong together."""
        if self.encoding_.width != self.model_.n_features_in_:
            raise ValueError(
                f"its encoding gives {counted(self.encoding_.width, 'feature')} and its "
                f"model takes {self.model_.n_features_in_}."
            )
        if self.held_out_ is not None:
            check_scores(self.held_out_, self.task)
        target = self.encoding_.target
        if target is None or target.task != self.task:
            raise ValueError("its encoding is not of a target that its model predicts.")
        if target.labels is not None and set(self.model_.classes_.tolist()) != set(target.labels):
            raise ValueError("its encoding has other classes than its model.")


def _task_of(model: Any) -> str:
    return REGRESSION if isinstance(model, KernelRegressor) else CLASSIFICATION


def _refuse_made_features(data: Dataset) -> None:
    """Refuse columns that are not numbers as they are, which a microcontroller does not make."""
    for column in data.encoding.columns or ():
        if tuple(column.feature_names) != (column.name,):
            raise DataError(
                f"{data.name}: the column {column.name!r} is made of words or dates or has missing "
                "values, which a CompactClassifier does not take: leave it out (--ignore)."
            )


def _note_other_numbers(data: Dataset, X: Any) -> None:
    """Say which column keeps a model from rows of 16-bit integers, before its fit takes time."""
    if not isinstance(X, np.ndarray):
        return  # the model refuses sparse rows
    other = np.asarray((np.rint(X) != X) | (np.abs(X) > 32767))
    columns = np.flatnonzero(other.any(axis=0))
    if len(columns):
        column = int(columns[0])
        value = float(X[int(np.argmax(other[:, column])), column])
        names = data.encoding.feature_names
        name = column if names is None else names[column]
        note = (
            f"column {name!r} has numbers such as {value:g}: in C it takes rows of floats (--rows "
            "float32) and kilobytes more than max_bytes; whole numbers up to 32,767 keep the "
            "budget, such as tenths of the unit"
        )
        warnings.warn(DataWarning(data.name, [note]), stacklevel=3)


def _refuse_fractional_classes(data: Dataset) -> None:
    """Refuse classes such as 0.5, which no model here takes, with advice for the column."""
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
