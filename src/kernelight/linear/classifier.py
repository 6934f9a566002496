"""LinearClassifier: one linear model for each class, on codes, dense or sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from kernelight.base.checks import as_row_weights, check_class_weight
from kernelight.base.estimator import labels_from_plain, plain_labels, plain_value
from kernelight.linear.base import LinearModel
from kernelight.linear.design import Targets
from kernelight.state import State


def _has_probabilities(model: Any) -> bool:
    if model.loss != "logistic":
        raise AttributeError(
            f"predict_proba needs loss='logistic', this model has loss={model.loss!r}."
        )
    return True


def class_factors(
    class_weight: Any, classes: NDArray[Any], y: NDArray[Any], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """The factor of the costs of each class that rows have; for "balanced" each class has the same
    sum of weights."""
    if weight is None or class_weight != "balanced":
        return np.asarray(
            compute_class_weight(class_weight, classes=classes, y=y), dtype=np.float64
        )
    sums = np.bincount(np.searchsorted(classes, y), weights=weight, minlength=len(classes))
    factors = np.divide(sums.sum(), len(classes) * sums, out=np.ones(len(classes)), where=sums > 0)
    return np.asarray(factors)


class LinearClassifier(ClassifierMixin, LinearModel):  # type: ignore[misc]  # scikit-learn has no types
    """A linear classifier of `Codes`, dense or sparse rows: liblinear's problem, solved on codes
    without a matrix.

    For each class, against all others (one model for two classes),

        min over w, b of   1/2 (|w|^2 + b^2) + C sum_i s_i loss(y_i (w . x_i + b)),   y_i = 1 or -1,

    where the x of codes are their one-hot features (see `Codes.to_csr`), s_i is ``sample_weight``
    and the loss is max(0, 1 - z)^2, max(0, 1 - z) or log(1 + exp(-z)). The intercept is penalised,
    as in liblinear.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "logistic"}, default="squared_hinge"
    C : float, default=1.0
        What an error costs; larger means less regularised.
    class_weight : dict or "balanced", optional
        A factor of C for the rows of each class in the model of that class (for two classes in the
        one model), as in scikit-learn's ``LinearSVC``; rows of other classes have the factor 1.
        "balanced" gives each class the same sum of weights, where ``sample_weight`` counts as in
        ``LogisticRegression``.
    fit_intercept : bool, default=True
    tol : float, default=1e-3
        Training ends when the duality gap of every class, a bound of the distance to the true
        minimum, is at most this share of its objective.
    max_iter : int, default=1000
        Most epochs; ending there gives a ConvergenceWarning.
    random_state : int, RandomState, Generator or None, default=0
        The order of visits.
    n_jobs : int, optional
        Threads; None for all cores. The result does not depend on it.
    warm_start : bool, default=False
        Whether `fit` on as many rows starts from where the last one ended, as for another C. Keeps
        a number for each row and class.

    Attributes
    ----------
    classes_ : the labels coef_ : (1 or n_classes, n_features), made when asked intercept_ : (1 or
    n_classes,) weights_ : the coefficients that can differ from 0, (n_features or codes that occur,
    1 or n_classes) n_iter_, objective_, dual_gap_ : epochs; the objective and its distance from a
    lower bound, for each class

    Notes
    -----
    Blocked dual coordinate descent: 64 rows at a time are solved nearly exactly, all classes at
    once; inner products of rows are counts of equal codes. Memory beyond the codes is twice the
    weights, a number for each row and class, at most 64 MB, and for codes of more than 8 bits some
    bytes for each code that a slot can have.

    Problems of fewer than 100,000 rows times classes, and those with ``tol`` below 1e-5, are solved
    in double precision, others in single precision (dense or sparse float64 rows always in double).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernelight import GCWS, LinearClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> codes = GCWS(256).fit(X).encode(X)
    >>> model = LinearClassifier(C=1.0).fit(codes[:1000], y[:1000])
    >>> model.score(codes[1000:], y[1000:]) > 0.9
    True
    """

    _losses = ("squared_hinge", "hinge", "logistic")

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        C: float = 1.0,
        class_weight: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = 0,
        n_jobs: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.loss = loss
        self.C = C
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start

    def _targets(self, X: Any, y: Any, sample_weight: Any) -> Targets:
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"This classifier needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: "
                f"{self.classes_.tolist()[0]!r}."
            )
        return self._one_against_rest(X, labels, y, sample_weight)

    def _one_against_rest(
        self, X: Any, labels: NDArray[Any], y: NDArray[Any], sample_weight: Any
    ) -> Targets:
        """Targets of rows with the numbers ``labels`` of their classes."""
        check_class_weight(self.class_weight)
        row_cost = as_row_weights(sample_weight, X.shape[0])
        factors = class_factors(self.class_weight, self.classes_, y, row_cost)
        if len(self.classes_) == 2:  # one output, which is +1 for the second class
            return Targets((1 - labels).astype(np.int32), None, row_cost, factors[1:], factors[:1])
        return Targets(labels.astype(np.int32), None, row_cost, factors, np.ones(len(factors)))

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> LinearClassifier:
        """Go on learning from a batch of rows, all of whose classes the first call must name in
        ``classes``.

        Every batch adds rows to the problem of `fit`, equal ones as often as they come. When a
        batch of 16 rows or more comes again, another pass over the data begins, in which rows that
        came before are the same rows: so passes approach the solution of `fit`. Batches may come in
        any order; if rows are mixed between batches before a pass, some may count again in it, as
        if C were larger. Some rows, 32 MB, are remembered and visited again with later batches, and
        of the others a number for each class, at most 32 MB; the model is a mean over visits.
        Batches of some hundred rows or more are learned fastest. There is no certificate:
        ``objective_`` and ``dual_gap_`` are NaN. Files and pickles hold the model but not the rows
        it remembers.

        >>> from sklearn.datasets import load_digits
        >>> from kernelight import GCWS, LinearClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> codes = GCWS(256).fit(X).encode(X)
        >>> model = LinearClassifier()
        >>> for start in range(0, 1000, 250):
        ...     part = slice(start, start + 250)
        ...     model = model.partial_fit(codes[part], y[part], classes=range(10))
        >>> model.score(codes[1000:], y[1000:]) > 0.9
        True
        """
        with self._trial() as trial:
            trial._learn_batch(X, y, sample_weight, classes)
        return self

    def _batch_targets(
        self, X: Any, y: Any, sample_weight: Any, classes: Any, first: bool
    ) -> Targets:
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows at once: give partial_fit a dict of "
                "weights, or use fit."
            )
        y = column_or_1d(y, warn=True)
        if first:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self.classes_ = np.unique(np.asarray(classes))
            if self.classes_.dtype.kind == "f":
                assert_all_finite(self.classes_, input_name="classes")
            self._n_outputs()
        elif classes is not None and not np.array_equal(
            self.classes_, np.unique(np.asarray(classes))
        ):
            raise ValueError(
                f"classes={classes!r} is not the same as on the first call to partial_fit: "
                f"{self.classes_}."
            )
        check_classification_targets(y)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which is not one of classes: "
                f"{self.classes_}."
            )
        return self._one_against_rest(X, np.searchsorted(self.classes_, y), y, sample_weight)

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Scores of rows: (n,) for two classes, positive for the second, else (n, n_classes)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest score."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """(n, n_classes) probabilities, for loss="logistic": 1 / (1 + exp(-score)), divided by
        their sum over classes."""
        scores = self._scores(X).astype(np.float64)
        positive = 0.5 * (1.0 + np.tanh(0.5 * scores))  # the logistic function without overflow
        if positive.shape[1] == 1:
            return np.hstack([1.0 - positive, positive])
        total = positive.sum(axis=1, keepdims=True)
        even = np.full_like(positive, 1.0 / positive.shape[1])
        return np.asarray(np.divide(positive, total, out=even, where=total > 0))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """The logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _state(self) -> State:
        state = super()._state()
        return State({**state.meta, "labels": plain_labels(self.classes_)}, state.arrays)

    def _plain_params(self) -> dict[str, Any]:
        """A class weight for each label: JSON has no other keys than strings."""
        params = {
            name: plain_value(value)
            for name, value in self.get_params(deep=False).items()
            if name not in ("class_weight", "random_state")
        }
        if isinstance(self.class_weight, dict):
            weights = [[label, self.class_weight[label]] for label in self.class_weight]
            params["class_weight"] = [
                [np.asarray(label).item(), float(weight)] for label, weight in weights
            ]
        else:
            params["class_weight"] = self.class_weight
        return params | {"random_state": self.seed_}

    @classmethod
    def _params_of(cls, state: State) -> dict[str, Any]:
        params = dict(super()._params_of(state))
        if isinstance(params.get("class_weight"), list):
            params["class_weight"] = {label: weight for label, weight in params["class_weight"]}  # noqa: C416
        return params

    def _take_parts(self, state: State) -> None:
        self.classes_ = labels_from_plain(state.meta["labels"])
        self.seed_ = self.random_state

    def _n_outputs(self) -> int:
        if len(self.classes_) < 2:
            raise ValueError("there must be at least two labels.")
        return len(self.classes_) if len(self.classes_) > 2 else 1

    def _settle(self) -> None:
        super()._settle()
        check_class_weight(self.class_weight)
