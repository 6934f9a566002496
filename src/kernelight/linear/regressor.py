"""LinearRegressor: linear regression of codes, dense or sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, column_or_1d

from kernelight.base import counted
from kernelight.base.checks import as_row_weights, check_int, within_floats
from kernelight.linear.base import LinearModel
from kernelight.linear.design import Targets
from kernelight.state import State


class LinearRegressor(RegressorMixin, LinearModel):  # type: ignore[misc]  # scikit-learn has no types
    """Linear regression of `Codes`, dense or sparse rows: ridge or support vector regression.

    For each target it solves

        min over w, b of   1/2 (|w|^2 + b^2) + C sum_i s_i loss(y_i - w . x_i - b),

    where s_i is ``sample_weight`` and loss(r) is r^2 (ridge regression) or max(0, |r| - epsilon)
    (support vector regression). The intercept is penalised, as in liblinear: center targets that
    are far from 0.

    Parameters
    ----------
    loss : {"squared", "epsilon_insensitive"}, default="squared"
    C : float, default=1.0
        Inverse of the regularization strength; scikit-learn's ``Ridge(alpha)`` has
        C = 1 / (2 alpha).
    epsilon : float, default=0.0
        Errors up to ``epsilon`` cost nothing; for loss="epsilon_insensitive" only.
    fit_intercept, tol, max_iter, random_state, n_jobs, warm_start
        As for `LinearClassifier`.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
        The coefficients w; the second shape for ``y`` of two dimensions. For codes they are made
        anew whenever they are asked for, read-only.
    intercept_ : array of shape (n_targets,)
        The intercepts b.
    weights_, n_iter_, objective_, dual_gap_
        As for `LinearClassifier`, with targets in place of classes.

    See Also
    --------
    LinearClassifier : For classes.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import GCWS, LinearRegressor
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1]
    >>> codes = GCWS(512).fit(X).encode(X)
    >>> LinearRegressor(C=10.0).fit(codes, y).score(codes, y) > 0.9
    True
    """

    _losses = ("squared", "epsilon_insensitive")
    _decided = (*LinearModel._decided, "n_targets_", "flat_")

    def __init__(
        self,
        loss: str = "squared",
        *,
        C: float = 1.0,
        epsilon: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = 0,
        n_jobs: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.loss = loss
        self.C = C
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start

    def _targets(self, X: Any, y: Any, sample_weight: Any) -> Targets:
        with within_floats("y"):
            values = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        self.flat_ = values.ndim == 1 or values.shape[1] == 1
        values = column_or_1d(values, warn=True)[:, None] if self.flat_ else values
        self.n_targets_ = values.shape[1]
        ones = np.ones(self.n_targets_)
        return Targets(None, values, as_row_weights(sample_weight, X.shape[0]), ones, ones)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearRegressor:
        """Learn from one more batch of rows; see `LinearClassifier.partial_fit`."""
        with self._trial() as trial:
            trial._learn_batch(X, y, sample_weight, None)
        return self

    def _batch_targets(
        self, X: Any, y: Any, sample_weight: Any, classes: Any, first: bool
    ) -> Targets:
        expected = None if first else self.n_targets_
        targets = self._targets(X, y, sample_weight)
        if expected is not None and targets.n_outputs != expected:
            raise ValueError(
                f"y has {counted(targets.n_outputs, 'column')}, but on the first call to "
                f"partial_fit it had {expected}: pass as many."
            )
        return targets

    @property
    def coef_(self) -> NDArray[Any]:
        """The coefficients of all features, (n_features,) or (n_targets, n_features).

        For codes this is a new array, read-only, with zeros for codes that did not occur in
        ``fit``.
        """
        coefficients = super().coef_
        return coefficients[0] if self.flat_ else coefficients

    def predict(self, X: Any) -> NDArray[Any]:
        """The predicted values, (n_samples,) or (n_samples, n_targets)."""
        scores = self._scores(X)
        return scores[:, 0] if self.flat_ else scores

    def _take_parts(self, state: State) -> None:
        self.seed_ = self.random_state

    def _n_outputs(self) -> int:
        if not isinstance(self.flat_, bool):
            raise ValueError("flat_ must be true or false.")
        return check_int("n_targets_", self.n_targets_, 1, 1 if self.flat_ else None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
