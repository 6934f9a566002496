"""`ColumnWeighter`: scaled columns times learned weights, as a step of a pipeline."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length

from kernelight.base.checks import as_row_weights, check_choice, check_int, seed_of
from kernelight.base.estimator import arrays_under
from kernelight.estimators.classifier import KernelClassifier
from kernelight.estimators.column_weights import LEARN
from kernelight.estimators.kernel_choice import RIDGE, TUNE
from kernelight.estimators.regressor import KernelRegressor
from kernelight.scaling import SCALING_NAMES, SPARSE_SCALING_NAMES, ColumnScaler, Scaling
from kernelight.state import State

Self = TypeVar("Self", bound="ColumnWeighter")
KERNELS = ("gmm", "minmax", "exp_gmm", "ngmm")
TASKS = ("auto", "classification", "regression")
MOST_ROWS = 3_000  # that scale and weights are learned from


class ColumnWeighter(ColumnScaler):
    """Scale columns and multiply them by weights that are learned from the target.

    What ``KernelClassifier(weights="learn")`` does before its map, as a step of a pipeline: columns
    that matter to a model of a min-max kernel become large, others nearly vanish. Weights are taken
    only where held-out rows are predicted clearly better with them; else all are 1.

    Parameters
    ----------
    scale : str, default="tune"
        The name of a scaling (see `ColumnScaler`), or "tune": the best one for a min-max kernel.
    kernel : {"gmm", "minmax", "exp_gmm", "ngmm"}, default="gmm"
        The min-max kernel that weights are learned for.
    task : {"auto", "classification", "regression"}, default="auto"
        What ``y`` holds; "auto" is a regression if it has fractions.
    random_state : int, RandomState, Generator or None, default=0
        Draws the rows to learn from, where there are more than 3,000, and those that are held out.

    Attributes
    ----------
    scaling_ : Scaling
        What was learned; ``scaling_.weights`` are the weights of columns, or None.
    scale_ : str
        The scaling in use.
    n_features_in_ : int
        Columns of the rows given to ``fit``.

    See Also
    --------
    ColumnScaler : Scaling alone.

    Examples
    --------
    Five of twenty columns matter:

    >>> import numpy as np
    >>> from kernelight import ColumnWeighter
    >>> X = np.random.default_rng(0).random((600, 20))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1] + X[:, 2] * X[:, 3] + X[:, 4]
    >>> weighter = ColumnWeighter().fit(X, y)
    >>> bool(weighter.scaling_.weights[:5].min() > 2 * weighter.scaling_.weights[5:].max())
    True
    >>> weighter.transform(X).shape
    (600, 40)
    """

    _decided: ClassVar[tuple[str, ...]] = ("seed_", "scale_")

    def __init__(
        self, scale: str = TUNE, *, kernel: str = "gmm", task: str = "auto", random_state: Any = 0
    ) -> None:
        self.scale = scale
        self.kernel = kernel
        self.task = task
        self.random_state = random_state

    def fit(self: Self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn scaling and weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,), or (n, m) for a regression of m targets
        sample_weight : array-like of shape (n,) or None, default=None
            What each row counts, as for `KernelClassifier.fit`.
        """
        with self._trial() as trial:
            trial._learn(X, y, sample_weight)
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_parameters()
        if y is None:
            raise ValueError(
                "ColumnWeighter learns weights from the target, and requires y to be passed, but "
                "the target y is None."
            )
        rows = self._validated(X, reset=True)
        target = np.asarray(y)
        check_consistent_length(rows, target)
        self.seed_ = seed_of(self.random_state)
        weight = None
        if sample_weight is not None:
            weight = as_row_weights(sample_weight, rows.shape[0])
        if rows.shape[0] > MOST_ROWS:
            some = np.sort(np.random.default_rng(self.seed_).permutation(rows.shape[0])[:MOST_ROWS])
            rows, target = rows[some], target[some]
            weight = None if weight is None else weight[some]
        kind = KernelRegressor if self._is_regression(target) else KernelClassifier
        model: Any = kind(
            self.kernel, method=RIDGE, scale=self.scale, weights=LEARN, random_state=self.seed_
        )
        self.scaling_ = model.fit(rows, target, sample_weight=weight).scaling_
        self.scale_ = self.scaling_.name

    def _is_regression(self, target: NDArray[Any]) -> bool:
        if self.task == "auto":
            return str(type_of_target(target)).startswith("continuous")
        return self.task == "regression"

    def _check_parameters(self) -> None:
        check_choice("scale", self.scale, (*SCALING_NAMES, TUNE))
        check_choice("kernel", self.kernel, KERNELS)
        check_choice("task", self.task, TASKS)

    def _take_parts(self, state: State) -> None:
        width = check_int("n_features_in", state.meta["n_features_in"], 1, 1 << 62)
        self.scaling_ = Scaling(self.scale_, width, arrays_under(state, "scaling"))

    def _settle(self) -> None:
        self._check_parameters()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self.scale in (*SPARSE_SCALING_NAMES, TUNE)
        return tags
