"""`KernelClassifier`, a nonlinear classifier of tables."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from kernelight.base import checks
from kernelight.base.estimator import labels_from_plain, plain_labels, plain_value
from kernelight.data.decisions import callers_level
from kernelight.estimators.calibration import Calibration, calibrated, calibration_from
from kernelight.estimators.kernel_model import KernelModel, takes_batches
from kernelight.estimators.leak_notes import Told
from kernelight.estimators.routes import Task, labels_of
from kernelight.estimators.scoring import positive_class
from kernelight.estimators.search_result import HeldOut
from kernelight.estimators.support_model import Lesson

# a class is rare if its fraction of the rows is below RARE, and below RARE_OF_EQUAL times that of
# equally large classes
RARE, RARE_OF_EQUAL = 0.05, 0.2
MOST_NAMED = 8  # classes in a sentence
FEW_ROWS = 20  # that need no note on classes of one row


def warn_of_single_rows(labels: list[Any]) -> None:
    """Warn of classes that have one row only, if there are any."""
    if not labels:
        return
    more = len(labels) - MOST_NAMED
    names = ", ".join(map(repr, labels[:MOST_NAMED])) + (f" and {more} more" if more > 0 else "")
    one = len(labels) == 1
    have, them = ("class", "has 1 row"), "it"
    if not one:
        have, them = ("classes", "have 1 row each"), "them"
    _warn(
        f"The {have[0]} {names} {have[1]}: it is learned from, but no score can say whether new "
        f"rows of {them} are recognised; join {them} with another class, or leave the row out."
    )


def _warn(sentence: str) -> None:
    warnings.warn(sentence, UserWarning, stacklevel=callers_level())


def _has_probabilities(model: KernelClassifier) -> bool:
    """Whether there is a `predict_proba`; an AttributeError says why not."""
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
    r"""A nonlinear classifier: scaled columns, a feature map of a kernel, and a linear model.

    Parameters that are "tune" are chosen from a small grid, by the score of held-out rows; then the
    model is trained on all rows. ``print(model.summary())`` shows what was chosen.

    Parameters
    ----------
    kernel : str or Kernel, default="gmm"
        The name of a kernel (see `kernels.get`), or a kernel object, which has its own parameters.
        "auto" is the average of three models: of the kernel gmm, of `Ferns` and of `ForestLeaves`.
        It is for tables where boosted trees do well, takes several times as long as gmm, and learns
        from all rows at once. ``scale`` and ``p`` are then those of gmm, and each model has its own
        C; ``method`` must be None. Weights of rows are weights in its trees, not repetitions.
    n_components : int or None, default=None
        Codes or features of a row. More are nearer to the kernel, at a cost in proportion. None is
        1,024, where there is a feature map.
    method : str or None, default=None
        "gcws", "fourier", "nystroem", "sign", "binary", "integer", "aligned" or "product" (see
        `feature_map`).
        "ridge" is kernel ridge regression on the exact kernel (classes as 1 and -1, a least-squares
        SVM); "exact" is scikit-learn's SVC on the Gram matrix, one-vs-rest, with the hinge loss
        whatever ``loss`` says and its own meaning of C. Both take at most 15,000 rows, and have no
        use for ``n_components`` and ``bits``.
        None is "ridge" up to 3,200 rows, where it costs no more and is more accurate, unless
        ``n_components``, ``bits`` or ``loss`` is given; else the map that suits the kernel.
        `to_codes` turns a model of "ridge" into one of a feature map.
    bits : int, default=8
        Bits of a code, where the map has a choice (GCWS and products of codes).
    gamma : float, "scale" or "tune", default="tune"
        The gamma of rbf, folded_rbf, exp_gmm and mm_rbf; for gaussian, gamma = 1 / (2 sigma^2).
        "scale" is scikit-learn's rule on the scaled rows: 1 / (d Var(X)) for gaussian; twice that
        of rows at unit length for rbf, folded_rbf and mm_rbf, which is the same kernel; for exp_gmm
        the gamma of the median pair of rows. A kernel without gamma ignores it, with a warning
        unless it is "tune".
    p : float or "tune", default=1.0
        The power of gmm and exp_gmm; other kernels ignore it, with a warning.
    C : float or "tune", default="tune"
        The objective is 1/2 |w|^2 + C \sum_i loss_i, with features of length about 1.
    scale : str or None, default="tune"
        None (or "none"), "minmax", "quantile", "standard", "minmax+complement",
        "quantile+complement" or "max"; see `ColumnScaler`. Sparse rows take None and "max".
    weights : "learn", array-like of shape (d,) or None, default=None
        What scaled columns, and their complements, are multiplied by: None is 1, an array has a
        number of at least 0 for each column of X. "learn" is for min-max kernels: columns that
        matter to the model become large, others nearly vanish, where held-out rows are then
        predicted clearly better (see Notes). Other kernels ignore it, with a warning.
    cv : int, splitter, iterable of splits or None, default=None
        Splits for the search, whose last round then uses all rows. None leaves out single rows or
        folds; see Notes.
    scoring : str, callable or None, default=None
        What the search maximises on held-out rows: None is accuracy; otherwise the name of a scorer
        of scikit-learn ("balanced_accuracy", "roc_auc", "average_precision", "neg_log_loss", "f1",
        ...) or a scorer. Of two classes that are numbers the second is the positive one, of two
        that are text the rarer. A rare class hardly counts in the accuracy: prefer another scoring.
    loss : {"squared_hinge", "hinge", "logistic"}, default="squared_hinge"
        The loss of the linear model.
    class_weight : dict, "balanced" or None, default=None
        A factor of C for the rows of each class. Probabilities are then those of rows with these
        weights, as for scikit-learn's LogisticRegression.
    random_state : int, RandomState, Generator or None, default=0
        Draws the hashes and the held-out rows; an int gives the same model every time.
    n_jobs : int or None, default=None
        Threads; None means all cores. Predictions do not depend on it.
    verbose : int or bool, default=0
        Above 0, a line is printed for each setting of the search and one for the final model. For
        progress bars by scikit-learn's callbacks see docs/front-door.md.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    scale_, gamma_, p_, C_ : str, float or None, float or None, float
        The values in use; None for a parameter that the kernel does not have.
    sources_ : dict
        Where each of them comes from: "given", "rule" (gamma="scale"), "tuned", "default" (too few
        rows to tune), "only" (no other scaling suits the rows), "none" (the kernel has none) or
        "members" (kernel="auto": each model has its own, and C_ is that of gmm). Where ``weights``
        is not None also that of weights: "given", "learned", "equal" (learned ones are not clearly
        better than none), "default" or "none".
    weights_ : array or None
        The weight of each feature after scaling; None if there are none. For kernel="auto" those of
        its model of gmm.
    search_ : list of dict
        What was tried, with scores: ``pandas.DataFrame(model.search_)`` is a table.
    validation_score_ : float or None
        The best score of the last round, by ``scoring``: as the best of many it is a little too
        good. If nothing was tuned, the score of the rows that were held out for probabilities; None
        if there were none.
    held_out_ : str
        On which rows that score was taken, in words.
    calibration_ : object or None
        From scores to probabilities; None for loss="logistic", which has its own. `partial_fit`
        does not change it.
    encoding_ : Encoding or None
        How text, categoricals, dates and missing values become features; None if X was a matrix of
        numbers.
    kernel_ : Kernel
        The kernel with the parameters in use.
    scaled_map_ : ScaledMap
        From rows to codes or features: ``scaling_`` and ``map_`` together.
    scaling_ : Scaling
        From rows to scaled rows; ``scaling_.name`` is ``scale_``.
    map_ : FeatureMap or None
        The fitted map of scaled rows; None for the exact kernel.
    model_ : LinearClassifier or SupportModel
        The model of codes or features, or of support rows for the exact kernel.
    feature_importances_ : array
        The importance of each column: how far what it adds to scores (`explain`) is spread over the
        training rows, relative to all columns. For min-max kernels only.
    n_rows_, n_features_in_ : int
        Rows learned from, those of `partial_fit` included, and columns of X.

    Notes
    -----
    What is tried:

    ========= =====================================================================================
    parameter values
    ========= =====================================================================================
    scale     "minmax", None, "quantile", "standard", "minmax+complement", "quantile+complement".
              Sparse rows: "max" (up to 2^24 columns) and None. Histograms (nonnegative rows with
              equal sums), and kernels with a centre: None. Kernels that take nothing below 0: not
              "standard", and not None for negative values.
    gamma     1/4, 1, 4 and 16 times that of the median pair of rows (where K is exp(-1))
    p         1/4, 1/2, 1, 2, 4
    C         0.01, 0.03, 0.1, ..., up to 30 on features and to 1,000 on the exact kernel; for
              other losses and "exact" 0.03 to 30
    ========= =====================================================================================

    Combinations of scale, gamma and p meet in a race of kernel ridge regressions, in which each row
    is scored by the model of all others, in closed form: on 300 rows, the best on 900, and if some
    are close on 1,800. They are compared by their squared errors. The winner is then scored as the
    model that will be trained: for "ridge" on all rows, each left out by itself; else with two or
    three C on at most 8,000 rows, of which one of five folds is held out (with fewer than 2,000
    rows all five in turn). With more rows, up to three that are close meet there before. Where
    ``scoring`` is given, or gamma or p is tuned, that round has the best three, and 12,000 rows for
    a ``scoring``.

    ``weights="learn"``: after the race, a model of the winner on at most 2,000 rows says how far
    the part of each column in its scores is spread (`explain`). Columns are multiplied by that,
    relative to the largest, or by its square root, and so again for up to four rounds. Rows that
    weights have not learned from choose strength and rounds, by paired squared errors: up to 1,200
    rows in five folds, where weights must be better by two standard errors. With more rows they
    meet unweighted columns in the last round again. A fit takes about twice as long.

    With fewer than 100 rows, or fewer than 10 to hold out (a class of fewer than five rows holds
    none out), nothing is tuned: scale is the first of the table, gamma that of the median pair,
    p = 1 and C = 1.

    A ``scoring`` in which each class counts alike, such as "average_precision", depends on the
    rarest class. Where that has fewer than one row of 24, up to twice as many rows are used; if
    they still have too few of it (500 of 12,000), all five folds are held out in turn.

    Memory: training holds the codes of all rows, n k bytes (2 n k above 8 bits), or dense features,
    4 n k bytes; "ridge" about 12 n^2 bytes, and 16 n^2 where C is so large that it takes double
    precision: 123 or 164 MB at 3,200 rows. Everything else, predictions included, goes by blocks of
    rows.

    See Also
    --------
    KernelRegressor : For quantities.
    CompactClassifier : For small devices.
    TableModel : For files and frames.
    kernelight.study.compare : Which kernel suits the data.

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
        self.weights = weights
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
            check_array(labels, ensure_2d=False, input_name="y")  # refuses NaN and infinity
        check_classification_targets(labels)
        return labels

    def _task(self, labels: NDArray[Any], weight: NDArray[np.float64] | None) -> Task:
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise ValueError(
                f"KernelClassifier needs at least two classes, got 1 class, "
                f"{plain_value(self.classes_[0])!r}."
            )
        self._check_own_parameters()
        positive = positive_class(labels, self.classes_, weight)
        return Task(labels, weight, self.classes_, self.loss, self.class_weight, positive=positive)

    def _check_own_parameters(self) -> None:
        checks.check_class_weight(self.class_weight)

    def _warn_of_target(self, task: Task, told: Told, *, tuned: bool) -> None:
        counts = np.bincount(task.class_numbers, weights=task.weight, minlength=len(self.classes_))
        n_rows = np.bincount(task.class_numbers, minlength=len(self.classes_))
        single = (n_rows == 1) & (counts > 0) & (counts <= 1)
        if told < Told.CLASSES and len(task.class_numbers) >= FEW_ROWS:
            warn_of_single_rows(self.classes_[single].tolist())
        if not counts.all():
            names = ", ".join(repr(plain_value(label)) for label in self.classes_[counts == 0])
            _warn(
                f"No row of the class {names} has a weight above 0, so that it is never predicted: "
                f"give its rows a weight, or leave them out."
            )
        if not tuned or self.scoring is not None or self.class_weight is not None:
            return
        fractions = np.where(single | (counts == 0), 1.0, counts / counts.sum())
        rarest = int(np.argmin(fractions))
        if fractions[rarest] < min(RARE, RARE_OF_EQUAL / len(fractions)):
            _warn(
                f"The class {plain_value(self.classes_[rarest])!r} has "
                f"{100 * fractions[rarest]:.2g} % of the rows and hardly counts in the accuracy, "
                f"which is what is tuned: if it matters, use scoring='balanced_accuracy' or "
                f"scoring='average_precision', or class_weight='balanced'."
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

    def _taught(self, lesson: Lesson) -> NDArray[Any]:
        return np.asarray(self.classes_[lesson.target])

    def _has_own_probabilities(self) -> bool:
        return self.map_ is not None and self.model_.loss == "logistic"

    @available_if(takes_batches)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> KernelClassifier:
        """Learn from one more batch of rows, for data that do not fit into memory.

        The first call on an object that is not fitted is `fit`, so give it as many rows as there is
        memory for, with rows of every class: they choose scale, gamma, p and C, which stay.
        ``n_rows_`` counts all rows. Rows that `fit` has seen count again when they come again.
        `LinearClassifier.partial_fit` says how later batches are learned.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like or None, default=None
            The labels, for callers that pass them; the first batch must have rows of each.
        """
        if classes is not None:
            given = np.unique(np.asarray(classes))
            known = self.classes_ if self.__sklearn_is_fitted__() else np.unique(np.asarray(y))
            if not np.array_equal(given, known):
                raise ValueError(
                    f"classes must be those of the first batch, {known.tolist()}, got "
                    f"{given.tolist()}: the first batch needs rows of every class."
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
        """One-vs-rest scores, (n, classes); of two classes (n,), positive for the second one."""
        scores = self._scores(X)
        return scores.ravel() if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score, for each row."""
        return self._predicted(self.decision_function(X))

    def _predicted(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        return labels_of(scores, self.classes_)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, of shape (n, classes); the largest is that of `predict`.

        ``loss="logistic"`` has its own. With other losses, scores are calibrated on the rows that
        the search holds out; without a search, on rows held out for this alone. With fewer than ten
        held-out rows probabilities are a rough guess.
        """
        self._check_fitted()
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

    def _score_units(self) -> tuple[Any, Any]:
        return 1.0, 0.0

    @property
    def output_names_(self) -> list[str]:
        """What each score is of, for `explain`."""
        return [str(label) for label in self.classes_[1 if len(self.classes_) == 2 else 0 :]]

    def _plain_target(self) -> dict[str, Any]:
        meta: dict[str, Any] = {"classes": plain_labels(self.classes_)}
        if self.calibration_ is not None:
            meta["calibration"] = [self.calibration_.first, self.calibration_.second]
        return meta

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
