"""CompactClassifier: a kernel classifier for a budget of bytes, made for microcontrollers."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kernelight.base import checks, counted
from kernelight.base.checks import Matrix
from kernelight.base.estimator import StoredEstimator, fitted_part, with_parts
from kernelight.base.targets import check_target
from kernelight.estimators.compact_search import SCALES, search
from kernelight.estimators.device_size import WIDEST, flash_of
from kernelight.linear.ternary import TernaryClassifier
from kernelight.maps.projections.integer_fourier import IntegerFourier
from kernelight.maps.scaled_map import ScaledMap
from kernelight.scaling import ColumnScaler, Scaling
from kernelight.state import State

Self = TypeVar("Self", bound="CompactClassifier")
LEAST_BYTES, MOST_BYTES = 512, 1 << 20


class CompactClassifier(ClassifierMixin, StoredEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A Gaussian kernel classifier that fits a budget of bytes on a microcontroller.

    Rows become random Fourier features by whole numbers (`IntegerFourier`), and each class has
    coefficients -1, 0 and 1 of these (`TernaryClassifier`), five of which are a byte. As many
    features are taken as fit; the search chooses the scaling of the columns, sigma and C on rows
    that are left out.
    `kernelight.export.to_c` writes the model as C, which keeps the budget for rows of whole numbers
    of 16 bits; other rows take ``rows="float32"``, and some kilobytes more.

    Parameters
    ----------
    max_bytes : int, default=4000
        Bytes of flash that the exported model may take with rows of 16-bit integers, its code
        included. The budget is never exceeded; `flash_` says what it is made of.
    scale : {"auto", "none", "minmax", "standard"}, default="auto"
        A scaling of the columns; "auto" compares all three. One other than "none" takes some bytes
        for each column.
    random_state : int, RandomState, Generator or None, default=0
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array
        The class labels, sorted.
    scale_, sigma_, C_, n_components_ : str, float, float, int
        What the search chose.
    map_, model_ : IntegerFourier, TernaryClassifier
    scaling_ : Scaling
    flash_ : dict
        Bytes of flash, part by part; `n_bytes_` is their sum.
    validation_score_ : float or None
        The accuracy on rows held out, of the settings chosen; None where a class has one row.
    search_ : list of dict
        What was tried: settings and their accuracy on rows left out.

    See Also
    --------
    kernelight.export.to_c : The model in C.
    KernelClassifier : Without a budget of bytes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernelight import CompactClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = CompactClassifier(max_bytes=1500).fit(X[:1200], y[:1200])
    >>> model.n_bytes_ <= 1500, model.score(X[1200:], y[1200:]) > 0.93
    (True, True)
    """

    _decided: ClassVar[tuple[str, ...]] = (
        "scale_",
        "sigma_",
        "C_",
        "n_components_",
        "validation_score_",
        "search_",
        "n_rows_",
        "seed_",
    )
    kernel = "gaussian"
    encoding_ = None

    def __init__(
        self,
        max_bytes: int = 4000,
        *,
        scale: str = "auto",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.max_bytes = max_bytes
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs

    def check_parameters(self) -> None:
        """Refuse impossible parameters; ``fit`` does so first."""
        checks.check_int("max_bytes", self.max_bytes, LEAST_BYTES, MOST_BYTES)
        checks.check_choice("scale", self.scale, ("auto", *SCALES))
        checks.resources(self.n_jobs)

    def fit(self: Self, X: Any, y: Any) -> Self:
        """Search, then learn from all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Dense rows of numbers.
        y : array-like of shape (n,)
            Class labels.

        Returns
        -------
        self
        """
        with self._trial() as trial:
            trial._fit(X, y)
        return self

    def fit_features(
        self: Self, X: Any, y: Any, relearn: Any = None, *, part: bool = False
    ) -> Self:
        """`fit`, for features of a table; ``relearn`` and ``part`` are not of use here."""
        return self.fit(X, y)

    def _fit(self, X: Any, y: Any) -> None:
        self.check_parameters()
        rows = self._dense(X, reset=True)
        check_target(y, len(rows), classes=True, owner=type(self).__name__)
        if rows.shape[1] > WIDEST:
            raise ValueError(
                f"A CompactClassifier takes at most {WIDEST:,} columns, got {rows.shape[1]:,}: "
                "train on fewer, or use KernelClassifier."
            )
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, sides = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only, {classes.tolist()[0]!r}: a classifier needs at least two."
            )
        self.seed_ = checks.seed_of(self.random_state)
        scales = SCALES if self.scale == "auto" else (str(self.scale),)
        choice = search(
            rows, sides, len(classes), int(self.max_bytes), scales, self.seed_, self.n_jobs
        )
        setting = choice.setting
        self.scaler_ = ColumnScaler(setting.scale).fit(rows)
        scaled = self.scaler_.transform(rows)
        self.map_ = IntegerFourier(
            choice.n_components, sigma=setting.sigma, random_state=setting.seed, n_jobs=self.n_jobs
        ).fit(scaled)
        self.model_ = TernaryClassifier(
            C=setting.C, random_state=self.seed_, n_jobs=self.n_jobs
        ).fit(self.map_.transform(scaled), y)
        self.scale_, self.sigma_, self.C_ = setting.scale, float(setting.sigma), setting.C
        self.n_components_ = choice.n_components
        self.validation_score_, self.search_ = choice.score, choice.tried
        self.n_rows_ = len(rows)
        self._settle()

    def _dense(self, X: Any, *, reset: bool) -> NDArray[Any]:
        matrix: Matrix = self._validated(X, reset=reset)
        if not isinstance(matrix, np.ndarray):
            raise TypeError(
                f"{type(self).__name__} takes no sparse rows, as a microcontroller has dense rows: "
                "pass X.toarray()."
            )
        return matrix

    def _settle(self) -> None:
        self.check_parameters()
        self.seed_ = checks.seed_of(checks.check_int("seed_", self.seed_))
        self.n_rows_ = checks.check_int("n_rows_", self.n_rows_, 1)
        if self.validation_score_ is not None:
            checks.check_number("validation_score_", self.validation_score_, 0.0, 1.0)
        scaling, feature_map, model = self.scaling_, self.map_, self.model_
        if not isinstance(feature_map, IntegerFourier) or not isinstance(model, TernaryClassifier):
            raise ValueError("its parts must be an IntegerFourier and a TernaryClassifier.")
        if (
            scaling.n_features != self.n_features_in_
            or scaling.n_features_out != feature_map.n_features_in_
            or int(feature_map.n_components) != model.n_features_in_
        ):
            raise ValueError("its scaling, map and model do not belong together.")
        self.scaled_map_ = ScaledMap(scaling, feature_map)
        n_features = int(feature_map.n_components)
        self.flash_ = flash_of(len(model.classes_), n_features, feature_map.width, scaling)

    @property
    def scaling_(self) -> Scaling:
        """The scaling of the columns."""
        return self.scaler_.scaling_

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, sorted."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.classes_)

    @property
    def n_bytes_(self) -> int:
        """Bytes of flash that the model takes in C, for rows of 16-bit integers."""
        return sum(self.flash_.values())

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores of rows: (n,) for two classes, else (n, n_classes)."""
        check_is_fitted(self, "model_")
        integers = self.map_.integers(self.scaling_(self._dense(X, reset=False)))
        # whole numbers below 2^24, which single precision adds exactly in any order
        sums = integers.astype(np.float32) @ self.model_.coef_.T.astype(np.float32)
        scale = self.model_.scale_.astype(np.float64) * self.map_.unit
        scores = sums.astype(np.float64) * scale + self.model_.intercept_.astype(np.float64)
        return np.asarray(scores[:, 0] if scores.shape[1] == 1 else scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        scores = self.decision_function(X)
        best = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])

    def summary(self) -> str:
        """What the search chose, as lines to print."""
        check_is_fitted(self, "model_")
        score = (
            "none: a class has one row"
            if self.validation_score_ is None
            else f"accuracy {self.validation_score_:.3f} on rows held out"
        )
        parts = ", ".join(f"{name} {size:,}" for name, size in self.flash_.items())
        lines = [
            f"{type(self).__name__}: {self.map_.kernel!r}",
            f"  by      IntegerFourier, {counted(self.n_components_, 'feature')}, coefficients "
            f"-1, 0 and 1",
            f"  scale   {self.scale_}",
            f"  C       {self.C_:g}",
            f"  rows    {self.n_rows_:,}",
            f"  flash   {self.n_bytes_:,} of {int(self.max_bytes):,} bytes ({parts})",
            f"  score   {score}",
        ]
        return "\n".join(lines)

    # -- State

    def _state(self) -> State:
        parts = {"scaler": self.scaler_, "map": self.map_, "model": self.model_}
        return with_parts(super()._state(), parts)

    def _take_parts(self, state: State) -> None:
        self.scaler_ = fitted_part(state, "scaler", "scaler")
        self.map_ = fitted_part(state, "map", "map")
        self.model_ = fitted_part(state, "model", "model")
