"""scikit-learn 1.9 lets callbacks watch a fit (a progress bar, for instance); before, there is nothing to do here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:
    HAS_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Before scikit-learn 1.9, estimators take no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method


__all__ = ["HAS_CALLBACKS", "CallbackSupportMixin", "Progress", "with_callbacks"]


class Progress:
    """Tells the callbacks of an estimator about the tasks of its fit: every candidate that is tried, and the final model."""

    def __init__(self, estimator: Any, n_tasks: int) -> None:
        self._estimator = estimator
        self._context: Any = None
        if HAS_CALLBACKS:
            self._context = estimator._init_callback_context(max_subtasks=n_tasks)
            self._context.call_on_fit_task_begin(estimator=estimator)

    @contextmanager
    def task(self, name: str) -> Iterator[None]:
        """What happens inside is one task."""
        if self._context is None:
            yield
            return
        inner = self._context.subcontext(task_name=name)
        inner.call_on_fit_task_begin(estimator=self._estimator)
        try:
            yield
        finally:
            inner.call_on_fit_task_end(estimator=self._estimator)

    def finish(self) -> None:
        """The fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)
