"""KernelClassifier: one line from a table to a nonlinear classifier."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from kernelight.base import checks
from kernelight.base.estimator import labels_from_plain, plain_labels
from kernelight.estimators.calibration import Calibration, calibrated, calibration_from
from kernelight.estimators.kernel_model import KernelModel, plain_scalar, takes_batches
from kernelight.estimators.routes import Task, labels_of
from kernelight.estimators.scoring import positive_class
from kernelight.estimators.search import HeldOut

RARE = 0.05  # a class with a smaller share hardly counts in the accuracy ...
RARE_OF_EVEN = 0.2  # ... if that is also below this part of an equal share


def _has_probabilities(model: KernelClassifier) -> bool:
    if (
        model.__sklearn_is_fitted__()
        and model.calibration_ is None
        and not model._has_own_probabilities()
    ):
        raise AttributeError(
            "This model comes from a file without probabilities, written before models had them: "
            "fit it again."
        )
    return True


class KernelClassifier(ClassifierMixin, KernelModel):  # type: ignore[misc]  # scikit-learn has no types
    r"""A nonlinear classifier made of scaled columns, a feature map of a kernel, and a linear
    model.

    What is left to tune is searched on a small grid, scored on a fifth of the rows that is held
    out; then the model is trained on all rows. ``print(model.summary())`` shows what was chosen.

    Parameters
    ----------
    kernel : str or Kernel, default="gmm"
        The name of a kernel (see `kernels.get`) or a kernel, which then decides its own parameters.
    n_components : int, default=1024
        Codes or features of a row. More are nearer to the kernel and cost as much more.
    method : str or None, default=None
        "gcws", "fourier", "nystroem", "sign", "binary", "aligned", "product" (see `feature_map`);
        None is the one that suits the kernel. "exact" is scikit-learn's SVC on the Gram matrix, one
        against the rest, for at most 15,000 rows: ``loss`` is the hinge then, ``n_components`` and
        ``bits`` are not used, and C means what it means there.
    bits : int, default=8
        Bits of a code, where the map has a choice (GCWS and products of codes).
    gamma : float, "scale" or "tune", default="tune"
        For rbf, folded_rbf, exp_gmm and mm_rbf, of which it is the gamma, and for gaussian, where
        gamma = 1 / (2 sigma^2). "scale" is scikit-learn's rule on the scaled rows: 1 / (d Var(X))
        for gaussian; twice that of rows at unit length for rbf, folded_rbf and mm_rbf, which is the
        same kernel; for exp_gmm the gamma of the median pair of rows. A kernel that has no gamma
        ignores it, with a warning unless it is "tune".
    p : float or "tune", default=1.0
        The power of gmm and exp_gmm; other kernels ignore it, with a warning.
    C : float or "tune", default="tune"
        The objective is 1/2 |w|^2 + C \sum_i loss_i, with features of length about 1.
    scale : str or None, default="tune"
        None (or "none"), "minmax", "quantile", "standard", "minmax+complement",
        "quantile+complement", or "max" for sparse rows; see Notes.
    cv : int, splitter, iterable of splits or None, default=None
        What to score on instead of the fifth; all rows are used then, in both rounds of the search.
    scoring : str, callable or None, default=None
        What rows held out are scored by: None is accuracy; otherwise the name of a scorer of
        scikit-learn's ("balanced_accuracy", "roc_auc", "average_precision", "neg_log_loss", "f1",
        ...) or a scorer. Of two classes that are numbers the second is the positive one, of two
        names the rarer. A class that is rare hardly counts in the accuracy: prefer another.
    loss : {"squared_hinge", "hinge", "logistic"}, default="squared_hinge"
    class_weight : dict, "balanced" or None, default=None
        A factor of C for the rows of each class. Probabilities are then those of rows reweighted
        likewise, as those of scikit-learn's LogisticRegression are.
    random_state : int, RandomState, Generator or None, default=0
        Draws the hashes and the rows held out; an int gives the same model every time.
    n_jobs : int or None, default=None
        Threads; None means all cores. Predictions do not depend on it.
    verbose : int or bool, default=0
        Above 0, a line for each candidate of the search and one for the final model is printed.
        Callbacks of scikit-learn draw bars: see docs/front-door.md.

    Attributes
    ----------
    classes_ : array
    scale_, gamma_, p_, C_ : str, float or None, float or None, float
        The values in use; None for a parameter that the kernel does not have.
    sources_ : dict
        Where each came from: "given", "rule" (gamma="scale"), "tuned", "default" (too few rows),
        "only" (no other suits the rows), "none".
    search_ : list of dict
        What was tried, with scores: ``pandas.DataFrame(model.search_)`` is a table.
    validation_score_ : float or None
        The best score of the last round, by ``scoring``: the best of many is a little too good. If
        nothing was tuned, the score of the rows that were held out for probabilities or intervals;
        None if there were none.
    calibration_ : object or None
        From scores to probabilities; None for loss="logistic", which has its own. `partial_fit`
        leaves it as it is.
    kernel_ : Kernel
    scaled_map_ : ScaledMap
        Rows to what the linear model sees, a scaling and a map.
    scaling_ : Scaling
        Rows to scaled rows; ``scaling_.name`` is ``scale_``.
    map_ : feature map or None
        The fitted map of scaled rows; None for "exact".
    model_ : LinearClassifier or support rows
        The model of its codes or features.

    Notes
    -----
    The grid:

    ========= ==========================================================================================================
    parameter candidates
    ========= ==========================================================================================================
    scale     as is; [0, 1]; quantile; standardised; [0, 1] and quantile with 1 - x appended. Sparse rows: as is; divided by
              the largest size of a column. Histograms (nonnegative rows of one and the same sum):
              as is. Kernels that take nothing below 0 are not given standardised rows.
    gamma     1/4, 1, 4, 16 times that of the median pair of rows (where K is exp(-1))
    p         1/4, 1/2, 1, 2, 4
    C         0.03, 0.1, 0.3, 1, 3, 10, 30
    ========= ==========================================================================================================

    With more than three combinations of scale, gamma and p, a first round scores all with 256
    components on at most 3,000 rows and C = 0.1, 1, 10; the best three are scored with all
    components and all C on at most 12,000 rows ("exact": 1,500 and 4,000). Rows are hashed once for
    a combination and a round, never for a C. With fewer than 2,000 rows each fifth is held out in
    turn (two of them in the first round), on the same codes: one would be too small to choose by.
    With fewer than 100 rows (or 10 to hold out; a class of fewer than five rows holds none out)
    nothing is tuned: scale is [0, 1] (by maximum for sparse rows, as is for histograms), gamma that
    of the median pair, p = 1 and C = 1.

    A ``scoring`` in which each class counts by itself, such as "average_precision", hinges on the
    rarest class. Where that has fewer than one row of 24, up to twice the rows are taken; fewer
    than 500 of 12,000 make each fifth be held out in turn.

    Memory: training holds the codes of all rows, n k bytes (2 n k above 8 bits), or dense features,
    4 n k bytes. Everything else goes by blocks of rows, predictions altogether.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelight import KernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelClassifier("gmm", n_components=256).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _linear_class: ClassVar[str] = "LinearClassifier"
    _losses: ClassVar[tuple[str, ...]] = ("squared_hinge", "hinge", "logistic")

    def __init__(
        self,
        kernel: Any = "gmm",
        n_components: int = 1024,
        *,
        method: str | None = None,
        bits: int = 8,
        gamma: float | str = "tune",
        p: float | str = 1.0,
        C: float | str = "tune",
        scale: str | None = "tune",
        cv: Any = None,
        scoring: Any = None,
        loss: str = "squared_hinge",
        class_weight: Any = None,
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
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_target(self, y: Any) -> NDArray[Any]:
        labels = np.asarray(column_or_1d(y, warn=True))
        if labels.dtype.kind == "f":
            check_array(labels, ensure_2d=False, input_name="y")  # NaN and infinity are no classes
        check_classification_targets(labels)
        return labels

    def _task(self, labels: NDArray[Any], weight: NDArray[np.float64] | None) -> Task:
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise ValueError(
                f"KernelClassifier needs at least two classes, got 1 class, {self.classes_[0]!r}."
            )
        self._check_own_parameters()
        positive = positive_class(labels, self.classes_, weight)
        return Task(labels, weight, self.classes_, self.loss, self.class_weight, positive=positive)

    def _check_own_parameters(self) -> None:
        checks.check_class_weight(self.class_weight)

    def _warn_before_search(self, task: Task) -> None:
        if self.scoring is not None or self.class_weight is not None:
            return
        counts = np.bincount(task.class_numbers, weights=task.weight, minlength=len(self.classes_))
        shares = counts / counts.sum()
        rarest = int(np.argmin(shares))
        if shares[rarest] < min(RARE, RARE_OF_EVEN / len(shares)):
            warnings.warn(
                f"The class {plain_scalar(self.classes_[rarest])!r} has {100 * shares[rarest]:.2g} "
                f"% of the rows and hardly "
                "counts in the accuracy, which is what is tuned: if it matters, use "
                "scoring='balanced_accuracy' or "
                "scoring='average_precision', or class_weight='balanced'.",
                UserWarning,
                stacklevel=2,
            )

    def _learn_from_held_out(self, held: HeldOut | None) -> None:
        self.calibration_: Calibration | None = None
        if self._has_own_probabilities():
            return
        if held is None:
            n_scores = 1 if len(self.classes_) == 2 else len(self.classes_)
            self.calibration_ = calibrated(
                np.zeros((0, n_scores)), np.zeros(0, dtype=np.intp), None
            )
        else:
            self.calibration_ = calibrated(
                held.scores, held.task.class_numbers, held.task.balanced_weight
            )

    def _has_own_probabilities(self) -> bool:
        return self.map_ is not None and self.model_.loss == "logistic"

    @available_if(takes_batches)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> KernelClassifier:
        """Go on learning from a batch of rows, for data that do not fit into memory: see
        `LinearClassifier.partial_fit`.

        The first call on an object that is not fitted is `fit`, so give it as many rows as there is
        memory for, at least one of every class: they choose scale, gamma, p and C, which stay.
        ``n_rows_`` counts all rows. Rows that `fit` has seen count again when they come again.
        """
        if classes is not None:
            found = np.unique(np.asarray(classes))
            known = self.classes_ if self.__sklearn_is_fitted__() else np.unique(np.asarray(y))
            if not np.array_equal(found, known):
                raise ValueError(
                    f"classes must be those of the first batch, {known.tolist()}, got "
                    f"{found.tolist()}: the first batch needs "
                    "rows of every class."
                )
        return self._partial_fit(X, y, sample_weight)

    def _batch_target(self, y: Any) -> NDArray[Any]:
        labels = column_or_1d(y, warn=True)
        unknown = np.setdiff1d(labels, self.classes_).tolist()
        if unknown:
            raise ValueError(
                f"y has the label {unknown[0]!r}, which fit has not seen: {self.classes_.tolist()}."
            )
        return np.asarray(labels)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """A score for each class, one against the rest; for two classes a single one, positive for
        the second: shape (n,)."""
        scores = self._scores(X)
        return scores.ravel() if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest score."""
        scores = self.decision_function(X)
        return labels_of(scores, self.classes_)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class; the largest is that of `predict`.

        ``loss="logistic"`` has its own. Other losses learn the way from scores to probabilities on
        the rows that the search holds out (without a search, on rows held out for this alone; with
        fewer than ten of them it is a rough guess).
        """
        check_is_fitted(self)
        if self._has_own_probabilities():
            return self.scaled_map_.stream(
                self._validated(X, reset=False), self.model_.predict_proba
            )
        assert self.calibration_ is not None
        return self.calibration_(self._scores(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _plain_target(self) -> dict[str, Any]:
        found: dict[str, Any] = {"classes": plain_labels(self.classes_)}
        if self.calibration_ is not None:
            found["calibration"] = [self.calibration_.first, self.calibration_.second]
        return found

    def _take_target(self, meta: dict[str, Any]) -> int:
        self.classes_ = labels_from_plain(meta["classes"])
        if len(self.classes_) < 2:
            raise ValueError("a classifier needs at least two classes.")
        plain = meta.get("calibration")  # files of earlier versions have none
        self.calibration_ = None if plain is None else calibration_from(plain, len(self.classes_))
        return len(self.classes_) if len(self.classes_) > 2 else 1

    def _settle(self) -> None:
        super()._settle()
        if self.map_ is not None and not np.array_equal(self.model_.classes_, self.classes_):
            raise ValueError("its model has other classes.")
