"""What comes in: rows and targets, checked, each complaint one sentence; budgets like "2m"; is it
classes or numbers?"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from kernelight import open_dataset
from kernelight.base import counted
from kernelight.data import Dataset, DataWarning
from kernelight.data.frames import column_values, is_frame
from kernelight.data.supervision import KnownTargets, Supervision
from kernelight.estimators import preprocessing
from kernelight.kernels import Gaussian
from kernelight.study.plan import MIN_ROWS, cut
from kernelight.study.recommend import Given

TASKS = ("classification", "regression")
MOST_CLASSES = 100  # whole numbers of more values than this are quantities
ROWS_A_CLASS = 3  # and of fewer rows a value than this
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Target:
    """The target as numbers; ``classes`` are the names of labels 0, 1, ... or None in a
    regression."""

    task: str
    values: NDArray[Any]
    classes: list[str] | None
    said: str  # how the task was settled, for the user


def seconds_of(budget: str | float | None) -> float | None:
    """Seconds of "90s", "2m", "1.5h" or a number; None is no limit."""
    if budget is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smh]?)\s*", str(budget))
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if seconds <= 0:
        raise ValueError(f'budget must be a time such as "90s", "2m" or "1h", got {budget!r}.')
    return seconds


def check_seed(seed: Any) -> None:
    """Refuse what is no whole number of at least 0."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, got {seed!r}.")


def taken(X: Any, y: Any, target: str | None, task: str | None, seed: int) -> tuple[Any, Target]:
    """Checked rows and their target; ``target`` names the column of a frame that has both.

    Target values of words are learned from the rows that the plan learns from, so that those of the
    test stay unseen.
    """
    if isinstance(X, Dataset) and y is None and target is None:
        data, task = X, X.task
    elif (y is None) == (target is None):
        raise ValueError(
            "compare needs the target: y, or target= with the name of a column of X, and not both."
        )
    elif target is None:
        rows = rows_of(X, y, task, seed)
        return rows, target_of(rows, y, task)
    else:
        data = open_dataset(X, target=target, task=task)
    if any(column.others for column in data.encoding.columns or ()):
        with warnings.catch_warnings():
            # the notes of the rows that are used are told
            warnings.simplefilter("ignore", DataWarning)
            values = data.materialise()[1]
        data = data.supervised(_Test(lambda: target_of(values, values, task), seed))
    X, y = data.materialise()
    if y is None:
        raise ValueError(f"{data.name} has no target to learn: name its column.")
    rows = rows_of(X)
    return rows, target_of(rows, y, task)


class _Test:
    """Which rows are those of the test."""

    def __init__(self, target: Callable[[], Target], seed: int) -> None:
        self._target, self._seed = target, seed

    @cached_property
    def _rows(self) -> NDArray[np.bool_]:
        found = self._target()
        test = np.zeros(len(found.values), dtype=bool)
        test[cut(found.values, found.task, np.random.default_rng(self._seed))[1]] = True
        return test

    def __call__(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        return self._rows[places]


def given_by(X: Any, target: str | None, task: str | None) -> Given:
    """What the user has at hand, for the Python of the recommendations."""
    if isinstance(X, Dataset):
        return Given(table="X", comment="X is the data set that compare was given")
    if target is not None:
        told = {"target": target} | ({} if task is None else {"task": task})
        path = isinstance(X, (str, os.PathLike))
        named = [
            repr(os.fspath(X)) if path else "X",
            *(f"{name}={value!r}" for name, value in told.items()),
        ]
        return Given(
            is_frame(X),
            table=", ".join(named),
            comment="" if path else "X is the table that compare was given",
        )
    looked = preprocessing.as_table_or_array(X)
    comment = "X and y are those that compare was given"
    if is_frame(X) or not preprocessing.needs_encoding(looked):
        return Given(is_frame(X), comment=comment)
    return Given(encoded="missing" if looked.dtype.kind == "f" else "words", comment=comment)


def rows_of(X: Any, y: Any = None, task: str | None = None, seed: int = 0) -> Any:
    """Dense or CSR rows of floating-point numbers; words and missing values become numbers as in
    files."""
    X = looked = preprocessing.as_table_or_array(X)
    if preprocessing.needs_encoding(X):

        def known() -> KnownTargets:
            found = target_of(looked, y, task)
            if found.classes is None:
                return KnownTargets.of_quantities(found.values, None)
            return KnownTargets.of_classes(found.classes, found.values, None)

        test = _Test(lambda: target_of(looked, y, task), seed)
        X, _ = preprocessing.fit_encoding(
            looked,
            preprocessing.column_names_in(looked),
            None if y is None else Supervision(known, test),
        )
    if sp.issparse(X):
        # the rows as they are, checked: what comes next would follow damaged indices
        X = Gaussian().prepare(X)
    return check_array(
        X,
        accept_sparse="csr",
        dtype=(np.float64, np.float32),
        ensure_min_samples=MIN_ROWS,
        estimator="compare",
        input_name="X",
    )


def target_of(X: Any, y: Any, task: str | None) -> Target:
    """The target, with the task as given or as its values suggest."""
    if task is not None and task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, or None, got {task!r}.")
    values = column_or_1d(column_values(y))
    check_consistent_length(X, values)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("The target has missing or infinite values: leave those rows out.")
    settled, reason = (task, "") if task else infer_task(values)
    because = f" ({reason})" if reason else ""
    if settled == "regression":
        if values.dtype.kind not in "biuf":
            raise ValueError("A regression needs a target of numbers; this one has other values.")
        values = values.astype(np.float64)
        if values.min() == values.max():
            raise ValueError(
                "The target has the same value in every row: there is nothing to learn."
            )
        return Target(settled, values, None, f"Task: regression{because}.")
    names, labels = np.unique(
        values.astype(str) if values.dtype.kind == "O" else values, return_inverse=True
    )
    if len(names) < 2:
        raise ValueError("The target has one class only: there is nothing to learn.")
    plain = [str(int(name)) if _is_whole(name) else str(name) for name in names.tolist()]
    return Target(
        settled,
        labels,
        plain,
        f"Task: classification into {counted(len(names), 'class', 'classes')}{because}.",
    )


def infer_task(values: NDArray[Any]) -> tuple[str, str]:
    """Classes or numbers, and why."""
    if values.dtype.kind not in "iuf":
        return "classification", "the target holds names"
    distinct = len(np.unique(values))
    if values.dtype.kind == "f" and not np.equal(np.floor(values), values).all():
        return "regression", "the target holds fractions"
    if distinct <= min(MOST_CLASSES, max(2, len(values) // ROWS_A_CLASS)):
        return "classification", f"the target holds {distinct} whole numbers"
    return "regression", f"the target holds {distinct:,} different numbers"


def components_of(components: Sequence[int]) -> tuple[int, ...]:
    """The grid of k, sorted."""
    found = sorted({int(k) for k in components})
    if not found or found[0] < 1:
        raise ValueError(f"components must be numbers of 1 or more, got {list(components)!r}.")
    return tuple(found)


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer()
