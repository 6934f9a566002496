"""`KernelRegressor`, a nonlinear regression of tables."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from kernelight.base import checks, counted
from kernelight.base.estimator import arrays_under, plain_value
from kernelight.estimators.calibration import ConformalErrors, errors_from
from kernelight.estimators.kernel_model import KernelModel, takes_batches
from kernelight.estimators.routes import Task
from kernelight.estimators.search_result import HeldOut
from kernelight.estimators.support_model import Lesson
from kernelight.state import State


class KernelRegressor(RegressorMixin, KernelModel):  # type: ignore[misc]  # scikit-learn has no types
    r"""A nonlinear regression: scaled columns, a feature map of a kernel, and a linear model.

    The target is standardised inside, so that C and ``epsilon`` mean the same for every target;
    predictions are in the units of ``y``. Everything else is as for `KernelClassifier`: the grid,
    the rounds of the search (by R^2, with random folds) and the attributes. Several targets (``y``
    of shape (n, m)) share scaling, kernel, map and C; their score is the mean R^2.

    Parameters
    ----------
    kernel, n_components, bits, gamma, p, C, scale, weights, cv, random_state, n_jobs, verbose
        As for `KernelClassifier`.
    method : str or None, default=None
        As for `KernelClassifier`; "exact" is scikit-learn's SVR on the Gram matrix, with its
        epsilon-insensitive loss whatever ``loss`` says.
    scoring : str, callable or None, default=None
        What the search maximises on held-out rows: None is R^2; otherwise the name of a scorer of
        scikit-learn ("neg_mean_absolute_error", "neg_root_mean_squared_error", ...) or a scorer.
    loss : {"squared", "epsilon_insensitive"}, default="squared"
        The loss of the linear model; "squared" is ridge regression.
    epsilon : float, default=0.1
        Errors up to this, in standard deviations of the target, cost nothing; not for "squared".

    Attributes
    ----------
    target_mean_, target_scale_ : float, or array of shape (m,) for ``y`` of shape (n, m)
        Mean and standard deviation (1 for a constant) of each training target.
    errors_ : object or None
        How large errors on held-out rows were, for `predict_interval`. `partial_fit` does not
        change it.
    model_ : LinearRegressor or SupportModel
        The model of codes or features, or of support rows for the exact kernel.

    See Also
    --------
    KernelClassifier : For classes.
    TableModel : For files and frames.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import KernelRegressor
    >>> X = np.random.default_rng(0).random((500, 3))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1]
    >>> model = KernelRegressor(n_components=512).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.9)
    True
    """

    _linear_class: ClassVar[str] = "LinearRegressor"
    _losses: ClassVar[tuple[str, ...]] = ("squared", "epsilon_insensitive")
    _decided: ClassVar[tuple[str, ...]] = (*KernelModel._decided, "target_mean_", "target_scale_")

    def __init__(
        self,
        kernel: Any = "gmm",
        n_components: int | None = None,
        *,
        method: str | None = None,
        bits: int = 8,
        gamma: float | str = "tune",
        p: float | str = 1.0,
        C: float | str = "tune",
        scale: str | None = "tune",
        weights: Any = None,
        cv: Any = None,
        scoring: Any = None,
        loss: str = "squared",
        epsilon: float = 0.1,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.method = method
        self.bits = bits
        self.gamma = gamma
        self.p = p
        self.C = C
        self.scale = scale
        self.weights = weights
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.epsilon = epsilon
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_target(self, y: Any) -> NDArray[Any]:
        return _quantities(y)

    def _task(self, target: NDArray[Any], weight: NDArray[np.float64] | None) -> Task:
        epsilon = checks.check_number("epsilon", self.epsilon, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.average(target, axis=0, weights=weight)
            away = target - mean
            # a division by a power of two is exact, and keeps squares of tiny or huge targets in
            # range
            power = np.frexp(np.abs(away).max(axis=0))[1]
            squares = np.square(np.ldexp(away, -power))
            spread = np.ldexp(np.sqrt(np.average(squares, axis=0, weights=weight)), power)
        if not np.isfinite(away).all():
            raise ValueError(
                "y has numbers so large that their mean is beyond the largest number: scale y down."
            )
        # rounding may have made a constant vary
        varies = spread > 8 * np.finfo(np.float64).eps * np.abs(mean)
        unit = np.where(np.isfinite(spread) & varies, spread, 1.0)
        self.target_mean_, self.target_scale_ = _number_or_array(mean), _number_or_array(unit)
        scaled = away / self.target_scale_
        return Task(
            scaled,
            weight,
            None,
            self.loss,
            epsilon=epsilon,
            mean=self.target_mean_,
            unit=self.target_scale_,
        )

    def _taught(self, lesson: Lesson) -> NDArray[Any]:
        return np.asarray(lesson.target * self.target_scale_ + self.target_mean_)

    def _check_own_parameters(self) -> None:
        checks.check_number("epsilon", self.epsilon, 0.0)

    def _learn_from_held_out(self, held: HeldOut | None) -> None:
        self.errors_ = None
        if held is not None and len(held.scores):
            truth = held.task.y.reshape(held.scores.shape)
            self.errors_ = ConformalErrors.of(held.scores - truth, held.task.weight)

    @available_if(takes_batches)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRegressor:
        """Learn from one more batch of rows, as `KernelClassifier.partial_fit` does.

        Mean and scale of the target stay those of the first batch.
        """
        return self._partial_fit(X, y, sample_weight)

    def _batch_target(self, y: Any) -> NDArray[Any]:
        target = _quantities(y)
        if target.shape[1:] != np.shape(self.target_mean_):
            raise ValueError(
                f"y has the shape {target.shape}, which is not that of "
                f"{counted(np.size(self.target_mean_), 'target')} as in fit."
            )
        return np.asarray((target - self.target_mean_) / self.target_scale_)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The target of each row, of shape (n,) or (n, m)."""
        return self._predicted(self._scores(X))

    def _predicted(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        scores = scores.astype(np.float64)  # single precision would round a large mean
        scores = scores.reshape(len(scores), *np.shape(self.target_mean_))
        return np.asarray(scores * self.target_scale_ + self.target_mean_)

    def predict_interval(
        self, X: Any, coverage: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lower and the upper end of an interval around each prediction, both (n,) or (n, m).

        Of rows like those of `fit`, at least the fraction ``coverage`` lies inside, each target by
        itself (split conformal, from errors on the rows that the search held out). All intervals of
        a target are equally wide. With method="ridge" each row is left out by itself (the
        jackknife): about that fraction, without a guarantee.

        >>> import numpy as np
        >>> from kernelight import KernelRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((600, 2))
        >>> y = X[:, 0] + 0.1 * rng.standard_normal(600)
        >>> model = KernelRegressor(n_components=64).fit(X[:400], y[:400])
        >>> low, high = model.predict_interval(X[400:], coverage=0.9)
        >>> bool(0.8 < np.mean((low <= y[400:]) & (y[400:] <= high)) < 0.98)
        True
        """
        check_is_fitted(self)
        half = self.half_width(coverage)
        middle = self.predict(X)
        return middle - half, middle + half

    def half_width(self, coverage: float) -> Any:
        """Half the width of an interval, for each target and in its units."""
        if self.errors_ is None:
            raise ValueError(
                "This model has no errors of rows held out, which intervals are made of: fit it "
                "again, to at least ten rows."
            )
        return (
            self.errors_.half_width(coverage).reshape(np.shape(self.target_scale_))
            * self.target_scale_
        )

    def _state(self) -> State:
        state = super()._state()
        held = {} if self.errors_ is None else {"held.errors": self.errors_.sizes}
        rows = {} if self.errors_ is None else {"held_rows": self.errors_.n_rows}
        return State(state.meta | rows, {**state.arrays, **held})

    def _take_parts(self, state: State) -> None:
        super()._take_parts(state)
        held = arrays_under(state, "held")
        self.errors_ = None  # files of earlier versions have none
        if held:
            self.errors_ = errors_from(
                held.get("errors"), state.meta["held_rows"], self._n_targets()
            )

    def _n_targets(self) -> int:
        return int(np.size(self.target_mean_))

    def _score_units(self) -> tuple[Any, Any]:
        return self.target_scale_, self.target_mean_

    @property
    def output_names_(self) -> list[str]:
        """What each score is of, for `explain`."""
        if self._n_targets() == 1:
            return ["prediction"]
        return [f"target_{at + 1}" for at in range(self._n_targets())]

    def _plain_target(self) -> dict[str, Any]:
        return {}

    def _take_target(self, meta: dict[str, Any]) -> int:
        for name in ("target_mean_", "target_scale_"):
            value = getattr(self, name)
            if isinstance(value, list):
                numbers = np.asarray(value, dtype=np.float64)
                if numbers.ndim != 1 or len(numbers) < 2 or not np.isfinite(numbers).all():
                    raise ValueError(f"{name} must be a number for each target.")
                setattr(self, name, numbers)
        if np.shape(self.target_mean_) != np.shape(self.target_scale_):
            raise ValueError("target_mean_ and target_scale_ must be of as many targets.")
        return self._n_targets()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def _settle(self) -> None:
        super()._settle()
        for mean, unit in zip(
            np.ravel(self.target_mean_), np.ravel(self.target_scale_), strict=True
        ):
            checks.check_number("target_mean_", plain_value(mean), -np.inf)
            checks.check_positive("target_scale_", plain_value(unit))
        if self.map_ is not None and self.model_.n_targets_ != self._n_targets():
            raise ValueError("its model has another number of targets.")


def _quantities(y: Any) -> NDArray[np.float64]:
    """(n,) targets, or (n, m) if there are several."""
    with checks.within_floats("y"):
        target = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    single = target.ndim == 1 or target.shape[1] == 1
    return np.asarray(column_or_1d(target, warn=True) if single else target)


def _number_or_array(values: Any) -> Any:
    return float(values) if np.ndim(values) == 0 else values
