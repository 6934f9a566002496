"""LinearClassifier: linear models, one class against the rest, on codes, dense or sparse rows."""

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
            f"predict_proba needs loss='logistic', but this model has loss={model.loss!r}: use "
            "decision_function, or fit with the logistic loss."
        )
    return True


def class_factors(
    class_weight: Any, classes: NDArray[Any], y: NDArray[Any], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """The factor of the costs of each class; "balanced" gives classes equal sums of weights."""
    if weight is None or class_weight != "balanced":
        return np.asarray(
            compute_class_weight(class_weight, classes=classes, y=y), dtype=np.float64
        )
    sums = np.bincount(np.searchsorted(classes, y), weights=weight, minlength=len(classes))
    factors = np.divide(sums.sum(), len(classes) * sums, out=np.ones(len(classes)), where=sums > 0)
    return np.asarray(factors)


def plain_class_weight(class_weight: Any) -> Any:
    """Class weights for a state; a dict becomes pairs, because keys of JSON are strings."""
    if not isinstance(class_weight, dict):
        return plain_value(class_weight)
    return [[np.asarray(label).item(), float(weight)] for label, weight in class_weight.items()]


def class_weight_from_plain(plain: Any) -> Any:
    """The class weights of a state."""
    return dict(plain) if isinstance(plain, list) else plain


class LinearClassifier(ClassifierMixin, LinearModel):  # type: ignore[misc]  # scikit-learn has no types
    """Linear classification of `Codes`, dense or sparse rows, as liblinear does it.

    For each class against the rest (for two classes, the second against the first) it solves

        min over w, b of   1/2 (|w|^2 + b^2) + C sum_i s_i loss(y_i (w . x_i + b)),   y_i = 1 or -1,

    where s_i is ``sample_weight`` and loss(z) is max(0, 1 - z)^2, max(0, 1 - z) or
    log(1 + exp(-z)). The intercept is penalised, as in liblinear. Codes stand for their one-hot
    features x (see `Codes.to_csr`), which are never computed.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "logistic"}, default="squared_hinge"
        The first two give support vector machines; with "logistic" there is `predict_proba`.
    C : float, default=1.0
        Inverse of the regularization strength: larger values regularize less.
    class_weight : dict or "balanced", optional
        Factors of C for the rows of each class, as in scikit-learn's ``LinearSVC``: they apply in
        the model of that class (for two classes in the only model), where rows of other classes
        have the factor 1. "balanced" gives each class the same sum of weights; ``sample_weight``
        counts in that sum, as in ``LogisticRegression``.
    fit_intercept : bool, default=True
        Whether there is a b; otherwise it is 0.
    tol : float, default=1e-3
        Training ends when the duality gap of each class, a bound of the distance to the minimum,
        is at most ``tol`` times its objective.
    max_iter : int, default=1000
        The most epochs; a fit that ends there gives a ConvergenceWarning.
    random_state : int, RandomState, Generator or None, default=0
        Determines the order in which rows are visited.
    n_jobs : int, optional
        Number of threads; None uses all cores. The result does not depend on it.
    warm_start : bool, default=False
        Whether `fit` starts from the solution of the last `fit`, if that had as many rows; useful
        for another C. It keeps a number for each row and class in memory.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels, sorted.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        The coefficients w. For codes they are made anew whenever they are asked for, read-only.
    intercept_ : array of shape (1,) or (n_classes,)
        The intercepts b.
    weights_ : array of shape (n_features, n_outputs) or (n_codes, n_outputs)
        The coefficients as they are kept, with 1 or n_classes outputs: for codes only those of the
        codes that occur in a slot, as all others are 0. Those of codes are read-only: to change
        them, assign another array.
    n_iter_ : int
        Epochs of the fit.
    objective_, dual_gap_ : arrays of shape (1,) or (n_classes,)
        The objective of each class and its duality gap; NaN after `partial_fit`.

    Notes
    -----
    The solver is blocked dual coordinate descent: blocks of 64 rows are solved nearly exactly, for
    all classes at once; inner products of codes are counts of equal slots. Beyond the codes it
    takes memory for twice the weights, a number for each row and class, at most 64 MB, and for
    codes of more than 8 bits some bytes for each code that a slot can have.

    Problems of fewer than 30,000 rows times classes, and those with ``tol`` below 1e-5, are solved
    in double precision, others in single precision (dense or sparse float64 rows always in double).

    See Also
    --------
    LinearRegressor : For quantities.
    TernaryClassifier : Coefficients -1, 0 and 1.
    GCWS : A map that makes codes.

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
                "This classifier needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {self.classes_.tolist()[0]!r}."
            )
        return self._one_against_rest(X, labels, y, sample_weight)

    def _one_against_rest(
        self, X: Any, labels: NDArray[Any], y: NDArray[Any], sample_weight: Any
    ) -> Targets:
        """The targets of rows whose classes have the indices ``labels``."""
        check_class_weight(self.class_weight)
        row_cost = as_row_weights(sample_weight, X.shape[0])
        factors = class_factors(self.class_weight, self.classes_, y, row_cost)
        if len(self.classes_) == 2:  # one output: +1 is the second class
            return Targets((1 - labels).astype(np.int32), None, row_cost, factors[1:], factors[:1])
        return Targets(labels.astype(np.int32), None, row_cost, factors, np.ones(len(factors)))

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> LinearClassifier:
        """Learn from one more batch of rows; go on from the model so far.

        Every batch adds its rows to the problem of `fit`, equal rows as often as they come. When a
        batch of 16 rows or more comes again, a new pass over the data begins, in which rows of
        earlier passes are recognised and count once: so several passes approach the solution of
        `fit`. Batches may come in any order; if rows are mixed between batches before a new pass,
        some may count twice in it, as if C were larger.

        Rows of earlier batches, at most 32 MB, are kept in a replay buffer and visited again with
        later batches; of the others a number for each class is kept, at most 32 MB. Files and
        pickles contain the model but not these rows. Batches of some hundred rows or more are
        learned fastest. The duality gap is not computed: ``objective_`` and ``dual_gap_`` are NaN.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array of shape (n_classes,), optional
            All classes of all batches; needed in the first call, and the same in every other.

        Returns
        -------
        self

        Examples
        --------
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
                "class_weight='balanced' needs all rows at once, which partial_fit never sees: set "
                "class_weight to a dict, or use fit."
            )
        y = column_or_1d(y, warn=True)
        if first:
            if classes is None:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit: all labels that any "
                    "batch may have."
                )
            self.classes_ = np.unique(np.asarray(classes))
            if self.classes_.dtype.kind == "f":
                assert_all_finite(self.classes_, input_name="classes")
            self._n_outputs()
        elif classes is not None and not np.array_equal(
            self.classes_, np.unique(np.asarray(classes))
        ):
            raise ValueError(
                f"classes={classes!r} is not the same as on the first call to partial_fit: pass "
                f"{self.classes_.tolist()}, or leave it out."
            )
        check_classification_targets(y)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which is not one of classes: the first "
                f"call to partial_fit named {self.classes_.tolist()}."
            )
        return self._one_against_rest(X, np.searchsorted(self.classes_, y), y, sample_weight)

    def decision_function(self, X: Any) -> NDArray[Any]:
        """The scores w . x + b: (n_samples, n_classes), or (n_samples,) for two classes.

        For two classes, positive scores are for the second of ``classes_``.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the highest score for each row."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of the classes, (n_samples, n_classes); needs loss="logistic".

        They are 1 / (1 + exp(-score)), for more than two classes divided by their sum.
        """
        scores = self._scores(X).astype(np.float64)
        positive = 0.5 * (1.0 + np.tanh(0.5 * scores))  # the logistic function without overflow
        if positive.shape[1] == 1:
            return np.hstack([1.0 - positive, positive])
        total = positive.sum(axis=1, keepdims=True)
        even = np.full_like(positive, 1.0 / positive.shape[1])
        return np.asarray(np.divide(positive, total, out=even, where=total > 0))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """The logarithms of `predict_proba`; needs loss="logistic"."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _state(self) -> State:
        state = super()._state()
        return State({**state.meta, "labels": plain_labels(self.classes_)}, state.arrays)

    def _plain_params(self) -> dict[str, Any]:
        params = {
            name: plain_value(value)
            for name, value in self.get_params(deep=False).items()
            if name not in ("class_weight", "random_state")
        }
        params["class_weight"] = plain_class_weight(self.class_weight)
        return params | {"random_state": self.seed_}

    @classmethod
    def _params_of(cls, state: State) -> dict[str, Any]:
        params = dict(super()._params_of(state))
        return params | {"class_weight": class_weight_from_plain(params.get("class_weight"))}

    def _take_parts(self, state: State) -> None:
        self.classes_ = labels_from_plain(state.meta["labels"])
        self.seed_ = self.random_state

    def _n_outputs(self) -> int:
        if len(self.classes_) < 2:
            raise ValueError("there must be at least two classes.")
        return len(self.classes_) if len(self.classes_) > 2 else 1

    def _settle(self) -> None:
        super()._settle()
        check_class_weight(self.class_weight)
