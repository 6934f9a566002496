"""The model of a table for which no kernel was named: kernel="auto", or "gmm" where it suits more.

An average of three models is seldom worse than the min-max kernel alone, and often better. But it
learns from all rows at once, so that it is not for a limit of memory; and its forest looks at every
column, which takes long for wide sparse rows and gains nothing there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import scipy.sparse as sp

from kernelight.base import counted
from kernelight.base.checks import Matrix
from kernelight.data.encoding import CLASSIFICATION
from kernelight.data.errors import DataWarning
from kernelight.estimators.average_model import GMM
from kernelight.estimators.classifier import KernelClassifier
from kernelight.estimators.kernel_choice import AUTO
from kernelight.estimators.regressor import KernelRegressor

__all__ = ["AUTO", "GMM", "MOST_SPARSE_COLUMNS", "DefaultModel", "plain_model"]

MOST_SPARSE_COLUMNS = 1_000


def plain_model(task: str, **parameters: Any) -> Any:
    """The estimator of a task."""
    kind = KernelClassifier if task == CLASSIFICATION else KernelRegressor
    return kind(**parameters)


class DefaultModel:
    """Makes the model once the task and the rows are known, with the kernel that suits them.

    ``make`` is called with the task and the keyword ``kernel``.
    """

    def __init__(self, make: Callable[..., Any] = plain_model) -> None:
        self._make = make

    def __call__(self, task: str) -> Any:
        """The model of ordinary rows."""
        return self._make(task, kernel=AUTO)

    def for_rows(self, task: str, X: Matrix | None, name: str) -> Any:
        """The model of these rows; None means rows that are read within a limit of memory.

        A note says where it is not the average.
        """
        if X is None:
            note = (
                "within a limit of memory the model is that of kernel='gmm'; the default, "
                "kernel='auto', learns from all rows at once"
            )
        elif sp.issparse(X) and X.shape[1] > MOST_SPARSE_COLUMNS:
            note = (
                f"for sparse rows of {counted(X.shape[1], 'column')} the model is that of "
                f"kernel='gmm'; the default, kernel='auto', would take long: name it to have it"
            )
        else:
            return self(task)
        warnings.warn(DataWarning(name, [note]), stacklevel=3)
        return self._make(task, kernel=GMM)
