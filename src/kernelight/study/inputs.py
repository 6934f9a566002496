"""The input of a study, checked: rows and targets, the task, budgets such as "2m"."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from kernelight import open_dataset
from kernelight.base import counted
from kernelight.data import DataError, Dataset, DataWarning, Encoding
from kernelight.data.frames import column_values, is_frame
from kernelight.data.supervision import KnownTargets, Supervision
from kernelight.data.tasks import infer_task
from kernelight.estimators import positive_class, preprocessing, warn_of_leaks
from kernelight.kernels import Gaussian
from kernelight.study.plan import MIN_ROWS, cut
from kernelight.study.recommend import Given

TASKS = ("classification", "regression")
ROWS_PER_CLASS = 3  # whole numbers with fewer rows per value are quantities
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Target:
    """The target as numbers."""

    task: str
    values: NDArray[Any]
    #: The names of the labels 0, 1, ...; None in a regression.
    classes: list[str] | None
    #: What the user is told about the task.
    note: str
    #: Which of two classes probabilities and scores of one class are about.
    positive: int = 1


def seconds_of(budget: str | float | None) -> float | None:
    """Seconds of "90s", "2m", "1.5h" or a number; None is no limit."""
    if budget is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smh]?)\s*", str(budget))
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if seconds <= 0:
        raise ValueError(f'budget must be a time such as "90s", "2m" or "1h", got {budget!r}.')
    return seconds


def check_seed(seed: Any) -> None:
    """Refuse anything but a whole number of at least 0."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, got {seed!r}.")


class TableColumns(NamedTuple):
    """The names of the columns of a table (None for sparse rows), and how they became features."""

    names: list[str] | None
    encoding: Encoding | None


def taken(
    X: Any, y: Any, target: str | None, task: str | None, seed: int
) -> tuple[Any, Target, TableColumns]:
    """Checked rows, their target and columns; ``target`` names a column of X, instead of y.

    Target encodings are learned without the test rows of the plan.
    """
    if isinstance(X, Dataset) and y is None and target is None:
        data, task = X, X.task
    elif (y is None) == (target is None):
        raise ValueError(
            "compare needs the target: y, or target= with the name of a column of X, and not both."
        )
    elif target is None:
        (rows, encoding), table = rows_of(X, y, task, seed), preprocessing.as_table_or_array(X)
        found = target_of(rows, y, task)
        encoded = preprocessing.needs_encoding(table)
        names = preprocessing.column_names_in(table if encoded or is_frame(table) else rows)
        warn_of_leaks(
            table if encoded else rows, names, found.values, classes=found.classes is not None
        )
        return rows, found, TableColumns(names, encoding)
    else:
        data = open_dataset(X, target=target, task=task)
    if any(column.others for column in data.encoding.columns or ()):
        with warnings.catch_warnings():
            # notes about the table come when it is read again below
            warnings.simplefilter("ignore", DataWarning)
            values = data.materialise()[1]
        data = data.supervised(_IsTestRow(lambda: target_of(values, values, task), seed))
    X, y = data.materialise()
    if y is None:
        raise ValueError(f"{data.name} has no target: name its column.")
    if X.shape[0] < MIN_ROWS:
        raise DataError(
            f"{data.name} has {counted(X.shape[0], 'row')} with a target, and compare needs at "
            f"least {MIN_ROWS}: collect more, or train one model, as kernelight fit and TableModel "
            f"do."
        )
    rows, _ = rows_of(X)
    of_table = TableColumns(None, None)
    if data.encoding.columns is not None:
        of_table = TableColumns([each.name for each in data.encoding.columns], data.encoding)
    return rows, target_of(rows, y, task), of_table


class _IsTestRow:
    """A function that says which rows are test rows; they are drawn when it is first called."""

    def __init__(self, target: Callable[[], Target], seed: int) -> None:
        self._target, self._seed = target, seed

    @cached_property
    def _rows(self) -> NDArray[np.bool_]:
        target = self._target()
        test = np.zeros(len(target.values), dtype=bool)
        test[cut(target.values, target.task, np.random.default_rng(self._seed))[1]] = True
        return test

    def __call__(self, row_indices: NDArray[np.int64]) -> NDArray[np.bool_]:
        return self._rows[row_indices]


def given_by(X: Any, target: str | None, task: str | None) -> Given:
    """What the user gave to compare, for the Python code of the recommendations."""
    if isinstance(X, Dataset):
        return Given(table="X", comment="X is the data set that compare was given")
    if target is not None:
        is_path = isinstance(X, (str, os.PathLike))
        arguments = [repr(os.fspath(X)) if is_path else "X", f"target={target!r}"]
        arguments += [] if task is None else [f"task={task!r}"]
        return Given(
            is_frame(X),
            table=", ".join(arguments),
            comment="" if is_path else "X is the table that compare was given",
        )
    table = preprocessing.as_table_or_array(X)
    comment = "X and y are those that compare was given"
    if is_frame(X) or not preprocessing.needs_encoding(table):
        return Given(is_frame(X), comment=comment)
    return Given(encoded="missing" if table.dtype.kind == "f" else "words", comment=comment)


def rows_of(
    X: Any, y: Any = None, task: str | None = None, seed: int = 0
) -> tuple[Any, Encoding | None]:
    """Dense or CSR rows of floating-point numbers.

    Words and missing values become numbers, as in files, by the encoding that is returned.
    """
    encoding: Encoding | None = None
    X = table = preprocessing.as_table_or_array(X)
    if preprocessing.needs_encoding(X):

        def known() -> KnownTargets:
            target = target_of(table, y, task)
            if target.classes is None:
                return KnownTargets.of_quantities(target.values, None)
            return KnownTargets.of_classes(target.classes, target.values, None)

        test = _IsTestRow(lambda: target_of(table, y, task), seed)
        X, encoding = preprocessing.fit_encoding(
            table,
            preprocessing.column_names_in(table),
            None if y is None else Supervision(known, test),
        )
    if sp.issparse(X):
        # a check of the indices, which scikit-learn would follow out of bounds
        X = Gaussian().prepare(X)
    rows = check_array(
        X,
        accept_sparse="csr",
        dtype=(np.float64, np.float32),
        ensure_min_samples=MIN_ROWS,
        estimator="compare",
        input_name="X",
    )
    return rows, encoding


def target_of(X: Any, y: Any, task: str | None) -> Target:
    """The target, with the task as given or as its values suggest."""
    if task is not None and task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, or None, got {task!r}.")
    values = column_or_1d(column_values(y))
    check_consistent_length(X, values)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("The target has missing or infinite values: leave those rows out.")
    task, reason = (task, "") if task else infer_task(values, ROWS_PER_CLASS)
    because = f" ({reason})" if reason else ""
    if task == "regression":
        if values.dtype.kind not in "biuf":
            raise ValueError("A regression needs a target of numbers; this one has other values.")
        values = values.astype(np.float64)
        if values.min() == values.max():
            raise ValueError(
                "The target has the same value in every row: there is nothing to learn."
            )
        return Target(task, values, None, f"Task: regression{because}.")
    names, labels = np.unique(
        values.astype(str) if values.dtype.kind == "O" else values, return_inverse=True
    )
    if len(names) < 2:
        raise ValueError("The target has one class only: there is nothing to learn.")
    plain = [str(int(name)) if _is_whole(name) else str(name) for name in names.tolist()]
    return Target(
        task,
        labels,
        plain,
        f"Task: classification into {counted(len(names), 'class', 'classes')}{because}.",
        positive_class(names[labels], names, None),
    )


def components_of(components: Sequence[int]) -> tuple[int, ...]:
    """The grid of k, sorted."""
    grid = sorted({int(k) for k in components})
    if not grid or grid[0] < 1:
        raise ValueError(f"components must be numbers of 1 or more, got {list(components)!r}.")
    return tuple(grid)


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer()
