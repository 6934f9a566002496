"""`ColumnScaler`: the column scalings of the estimators, as a step of a pipeline."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernelight.base.checks import Matrix, as_row_weights, check_choice, check_int, seed_of
from kernelight.base.estimator import StoredEstimator, arrays_under
from kernelight.scaling.scaling import SCALING_NAMES, SPARSE_SCALING_NAMES, Scaling, fit_scaling
from kernelight.state import State

Self = TypeVar("Self", bound="ColumnScaler")


class ColumnScaler(TransformerMixin, StoredEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Scale columns as `KernelClassifier` does, as a step of a pipeline.

    Parameters
    ----------
    scale : str, default="minmax+complement"
        The name of a scaling; see Notes. Sparse rows take "none" and "max" only.
    weights : array-like of shape (d,) or None, default=None
        A number of at least 0 for each column, by which the scaled column and its complement are
        multiplied. `ColumnWeighter` learns them.
    random_state : int, RandomState, Generator or None, default=0
        Draws the rows that quantiles are learned from where there are more than 10,000.

    Attributes
    ----------
    scaling_ : Scaling
        What was learned of each column: ``scaling_.arrays`` by name, ``scaling_.n_bytes`` its size.
    n_features_in_ : int
        Columns of the rows given to ``fit``.
    feature_names_in_ : array of str
        Their names, if they had names.

    Notes
    -----
    The minimum, maximum, mean and standard deviation are those of the training values of a column:

    ======================= =======================================================================
    scale                   a value x becomes
    ======================= =======================================================================
    "none"                  x
    "minmax"                (x - min) / (max - min), and 0 below the minimum
    "quantile"              the fraction of training values below x, divided by that of the
                            maximum: from 0 at the minimum to 1 at the maximum
    "standard"              (x - mean) / standard deviation
    "max"                   x / max |x|: zeros stay zeros, so that sparse rows stay sparse
    "minmax+complement"     two columns, u = (x - min) / (max - min) and 1 - u, neither below 0
    "quantile+complement"   two columns, u as for "quantile" and 1 - u
    ======================= =======================================================================

    On training rows "minmax", "standard" and "max" give the numbers of scikit-learn's MinMaxScaler,
    StandardScaler and MaxAbsScaler, up to rounding: single precision is scaled in double precision
    here. On later rows they differ: "minmax" has nothing below 0, a column that was constant in
    training stays 0 ("max": one that was 0), and scaled values are clipped to [-1e6, 1e6].

    "quantile" keeps at most about 257 values of a column and interpolates between them.

    See Also
    --------
    ColumnWeighter : Also learns a weight for each column.

    Examples
    --------
    >>> from kernelight import ColumnScaler
    >>> ColumnScaler().fit_transform([[0.0], [1.0], [4.0]])
    array([[0.  , 1.  ],
           [0.25, 0.75],
           [1.  , 0.  ]])

    In a pipeline, with a feature map and a linear model:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from kernelight import GCWS, LinearClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(ColumnScaler(), GCWS(256), LinearClassifier()).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _decided: ClassVar[tuple[str, ...]] = ("seed_",)
    scaling_: Scaling

    def __init__(
        self, scale: str = "minmax+complement", *, weights: Any = None, random_state: Any = 0
    ) -> None:
        self.scale = scale
        self.weights = weights
        self.random_state = random_state

    def fit(self: Self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the numbers of each column.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,) or None, default=None
            What each row counts, as if it came so many times; a row of weight 0 is left out.
        """
        with self._trial() as trial:
            trial._fit(X, sample_weight)
        return self

    def _fit(self, X: Any, sample_weight: Any) -> None:
        check_choice("scale", self.scale, SCALING_NAMES)
        if isinstance(self.weights, str):
            raise ValueError(
                f"weights must be None or a number for each column, got {self.weights!r}: "
                "ColumnWeighter learns weights."
            )
        rows: Matrix = self._validated(X, reset=True)
        weight = None
        if sample_weight is not None:
            weight = as_row_weights(sample_weight, rows.shape[0])
            rows, weight = rows[weight > 0], weight[weight > 0]
        self.seed_ = seed_of(self.random_state)
        scaling = fit_scaling(self.scale, rows, np.random.default_rng(self.seed_), weight)
        self.scaling_ = scaling.weighted(self.weights)

    def transform(self, X: Any) -> Any:
        """The scaled rows, of the same precision; sparse rows stay sparse."""
        check_is_fitted(self)
        return self.scaling_(self._validated(X, reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the scaled columns; those of complements begin with ``1-``."""
        check_is_fitted(self)
        names = (
            input_features
            if input_features is not None
            else getattr(self, "feature_names_in_", None)
        )
        if names is None:
            names = [f"x{at}" for at in range(self.n_features_in_)]
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to {self.n_features_in_}, got "
                f"{len(names)}."
            )
        complements = (
            [f"1-{name}" for name in names] if self.scaling_.n_features_out > len(names) else []
        )
        return np.asarray([*names, *complements], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.scale in SPARSE_SCALING_NAMES
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _plain_params(self) -> dict[str, Any]:
        params = super()._plain_params()
        if params.get("weights") is not None:
            params["weights"] = np.asarray(params["weights"], dtype=np.float64).tolist()
        return params

    def _state(self) -> State:
        own = super()._state()
        return State(
            own.meta, {f"scaling.{name}": array for name, array in self.scaling_.arrays.items()}
        )

    def _take_parts(self, state: State) -> None:
        width = check_int("n_features_in", state.meta["n_features_in"], 1, 1 << 62)
        self.scaling_ = Scaling(self.scale, width, arrays_under(state, "scaling"))
