"""What `KernelClassifier` and `KernelRegressor` share: the fit, scores by blocks, and states.

`KernelModel._fit` is the place to begin: it names the steps of a fit, in their order. Long,
because a fit, a later batch, `to_codes` and a state must agree on what makes a fitted model.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from kernelight.base import checks, counted, registry
from kernelight.base.checks import Matrix
from kernelight.base.estimator import (
    StoredEstimator,
    arrays_under,
    fitted_part,
    plain_value,
    with_parts,
)
from kernelight.base.targets import check_target
from kernelight.data.decisions import callers_level
from kernelight.data.encoding import Encoding
from kernelight.data.frames import column_values
from kernelight.data.supervision import KnownTargets, Supervision
from kernelight.estimators import preprocessing, sample_weights
from kernelight.estimators.additive import Background
from kernelight.estimators.average_model import GMM, AverageModel
from kernelight.estimators.average_search import AverageSearch
from kernelight.estimators.column_weights import check_weights, refuses
from kernelight.estimators.explaining import ExplainedModel
from kernelight.estimators.folds import Relearn, Split, splits_among, splits_of
from kernelight.estimators.kernel_choice import AUTO, EXACT, RIDGE, TUNE, KernelChoice, map_for
from kernelight.estimators.leak_notes import Told, warn_of_leaks
from kernelight.estimators.progress import CallbackSupportMixin, Progress, with_callbacks
from kernelight.estimators.route_choice import route_for
from kernelight.estimators.routes import LinearRoute, Route, RowIndices, Task, scores_of
from kernelight.estimators.scoring import about_one_class, refuse_binary, resolve_scoring
from kernelight.estimators.search import Search
from kernelight.estimators.search_result import HeldOut, SearchResult
from kernelight.estimators.search_space import DEFAULT_COMPONENTS, SearchSpace
from kernelight.estimators.state_checks import check_restored
from kernelight.estimators.summary import summarize
from kernelight.estimators.support_model import Lesson, SupportModel, support_model_of
from kernelight.kernels.base import Kernel
from kernelight.kernels.plain import from_plain, to_plain
from kernelight.linear.block_solver import PassWatch
from kernelight.linear.classifier import plain_class_weight
from kernelight.linear.design import Targets
from kernelight.linear.rounds import Blocks, RoundWatch
from kernelight.linear.stored_rows import StoredRows
from kernelight.maps.base import FeatureMap
from kernelight.maps.scaled_map import Features, ScaledMap
from kernelight.scaling import SCALING_NAMES, Scaling
from kernelight.state import State

Self = TypeVar("Self", bound="KernelModel")
METHODS = (None, *registry.METHODS, RIDGE, EXACT)
# what `KernelModel.to_codes` takes from the new model
_LEARNED_ANEW = {
    *("model_", "validation_score_", "held_out_", "calibration_", "errors_"),
    *("target_mean_", "target_scale_"),
}


_NO_BATCHES = (
    "kernel='auto' learns from all rows at once, as its forest does: use fit, or kernel='gmm' for "
    "batches."
)


class _Given(NamedTuple):
    """What ``fit`` was given, with X as a matrix that has no rows of weight 0."""

    X: Matrix
    table: Any  # the rows of X before they were encoded
    y: Any  # of all rows
    weight: NDArray[np.float64] | None  # of all rows
    rows: RowIndices | None  # those that X holds; None means all
    relearn: Relearn | None


class KernelModel(CallbackSupportMixin, StoredEstimator, ExplainedModel, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A scaling, a kernel, and a model: linear on a feature map, or one of the exact kernel.

    Parameters that are "tune" are chosen by the search.
    """

    _decided: ClassVar[tuple[str, ...]] = (
        "scale_",
        "gamma_",
        "p_",
        "C_",
        "sources_",
        "search_",
        "validation_score_",
        "held_out_",
        "n_rows_",
        "seed_",
    )
    _learned: ClassVar[tuple[str, ...]] = ("medians_",)
    #: The class of the linear model, by its name in the registry.
    _linear_class: ClassVar[str]
    _losses: ClassVar[tuple[str, ...]]
    #: Replace numbers that are missing in later rows only; None for sparse rows and older models.
    medians_: NDArray[np.float64] | None
    model_: Any

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Tune parameters that are "tune" on held-out rows, then train on all rows.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, d)
            A frame of pandas or polars or an Arrow table may hold text, categoricals, booleans and
            dates. These, and missing values of dense rows, become numbers as those of files do; see
            ``encoding_``.
        y : array-like of shape (n,), or (n, m) for a regression of m targets
        sample_weight : array-like of shape (n,) or None, default=None
            What each row counts, as if it came so many times: in the loss, in scalings, and among
            held-out rows, where a row is on one side of a split as a whole. A row of weight 0 is
            left out. docs/front-door.md says where weights and repeated rows give the same bits.

        Returns
        -------
        self
        """
        return self._fit_by(X, y, sample_weight)

    def _fit_by(
        self: Self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        batches: bool = False,
        told: Told = Told.NOTHING,
    ) -> Self:
        """`fit`; with ``batches`` more rows will come, so that method=None is a feature map."""
        with self._trial() as trial:
            trial._fit(X, y, sample_weight, None, told, batches=batches)
        return self

    def fit_features(
        self: Self, X: Any, y: Any, relearn: Relearn | None = None, *, part: bool = False
    ) -> Self:
        """`fit` for features of a table, whose columns have been looked at for leaks of the target.

        Where features were made with the help of the target, ``relearn`` makes those of some rows
        again without the targets of others. Rows may be a ``part`` of those that will come.
        """
        with self._trial() as trial:
            told = Told.CLASSES if part else Told.LEAKS
            trial._fit(X, y, None, relearn, told, batches=part)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(
        self,
        X: Any,
        y: Any,
        weight: Any,
        relearn: Relearn | None,
        told: Told,
        *,
        batches: bool = False,
    ) -> None:
        """`fit`, on an object that may be left half done; what ``told`` says was told before."""
        given = self._read(X, y, weight, relearn)
        self.seed_ = checks.seed_of(self.random_state)
        self._route(None)  # refuses wrong parameters
        space = self._space()
        space.choice.warn_unused()
        y = self._check_target(given.y)
        if told < Told.LEAKS:
            target = y if given.rows is None else y[given.rows]
            warn_of_leaks(given.table, self._column_names, target, classes=self._is_classifier)
        X, task, splits = self._rows_and_task(given, y, space.cv)
        refuse_binary(self.scoring, task)
        route = self._route(None if batches else X.shape[0])  # weights may have repeated rows
        route.check_n_rows(X.shape[0])

        # relearn knows the rows as they were given, not united or repeated by their weights
        relearn = given.relearn if X is given.X else None
        space = self._with_feature_weights(space, X, task)
        search = self._search(space, route, X, task, splits, relearn)
        self._warn_of_target(task, told, tuned=search.searches)
        progress = Progress(self, [*search.steps, search.final_step])
        result = search.run(progress)
        with progress.task(f"{X.shape[0]:,} rows", search.final_step):
            self.model_, self.scaled_map_ = search.train(result)
        self.kernel_ = space.choice.make(result.setting.gamma, result.setting.p)
        self.learn_background(X, task.weight)
        self._record(result, task, len(y))
        self._learn_from_held_out(result.held)
        progress.finish()

    def _with_feature_weights(self, space: SearchSpace, X: Matrix, task: Task) -> SearchSpace:
        """The space with weights of columns as those of features, or none where they cannot be."""
        if space.weights is None:
            return space
        if not isinstance(space.weights, str):
            weights, n_columns = space.weights, self.n_features_in_
            if len(weights) != n_columns:
                raise ValueError(
                    f"weights must be {counted(n_columns, 'number')}, one for each column of X, "
                    f"got {len(weights)}."
                )
            column_of = self._column_of_feature()
            return replace(space, weights=weights if column_of is None else weights[column_of])
        why = refuses(space.choice.make(None, None), X, task.columns.shape[1])
        if why is not None:
            warnings.warn(
                f"{why}: weights='learn' is ignored.", UserWarning, stacklevel=callers_level()
            )
        return space

    def _read(self, X: Any, y: Any, sample_weight: Any, relearn: Relearn | None) -> _Given:
        """Check what was given, leave out rows of weight 0, and learn the encoding."""
        checks.refuse_masked("y", y)
        X, y = preprocessing.as_table_or_array(X), column_values(y)
        self._check_form(y, preprocessing.n_rows(X) or None)
        weight, rows = None, None
        if sample_weight is not None:
            weight = checks.as_row_weights(sample_weight, preprocessing.n_rows(X))
            sample_weights.warn_of_little_weight(weight)
            if not weight.all():
                check_consistent_length(weight, y)
                y = self._check_target(y)
                rows = sample_weights.rows_that_count(weight, y if self._is_classifier else None)
                X = preprocessing.take_rows(X, rows)

        def known_targets() -> KnownTargets:
            if rows is None or weight is None:
                check_consistent_length(X, y)
                return self._known_targets(y, weight)
            return self._known_targets(y[rows], weight[rows])

        relearns: list[Relearn] = [] if relearn is None else [relearn]
        supervision = Supervision(known_targets, keep=relearns.append)
        matrix = self._validated(X, reset=True, supervision=supervision)
        check_consistent_length(matrix if rows is None else weight, y)
        table = matrix if self._encoding is None else X
        return _Given(matrix, table, y, weight, rows, relearns[0] if relearns else None)

    def _rows_and_task(
        self, given: _Given, y: NDArray[Any], cv: Any
    ) -> tuple[Matrix, Task, list[Split] | None]:
        """Rows, task and the splits of cv, with weights as repetitions (see `sample_weights`)."""
        X, weight, rows = given.X, given.weight, given.rows
        splits = None if cv is None else splits_of(cv, y, self._is_classifier)
        if rows is not None:
            assert weight is not None
            if splits is not None:
                splits = splits_among(splits, rows, len(y))
                if not all(len(part) for split in splits for part in split):
                    raise ValueError(
                        "cv must give splits with a row of a weight above 0 in each part."
                    )
            y, weight = y[rows], weight[rows]
        X, y, weight, splits = sample_weights.as_repetitions(X, y, weight, splits)
        if self.medians_ is not None and weight is not None:
            self.medians_ = preprocessing.column_medians(X, weight)
        return X, self._task(y, weight), splits

    def _search(
        self,
        space: SearchSpace,
        route: Route,
        X: Matrix,
        task: Task,
        splits: list[Split] | None,
        relearn: Relearn | None,
    ) -> Search | AverageSearch:
        if self._is_average:
            return AverageSearch(space, route, X, task, self.seed_, splits, relearn, self.n_jobs)
        return Search(space, route, X, task, self.seed_, splits, relearn)

    def _record(self, result: SearchResult, task: Task, n_rows: int) -> None:
        """Keep what the search has chosen, and what it says about it."""
        setting = result.setting
        self.scale_, self.gamma_, self.p_ = self.scaling_.name, setting.gamma, setting.p
        self.C_, self.sources_, self.search_ = result.C, result.sources, result.table
        self.validation_score_, self.held_out_ = result.score, result.held_out
        self.n_rows_ = n_rows
        if result.score is not None and about_one_class(self.scoring, task):
            assert task.classes is not None
            label = plain_value(task.classes[task.positive])
            self.held_out_ += f", {label!r} being the positive class"

    def _validated(self, X: Any, *, reset: bool, supervision: Supervision | None = None) -> Matrix:
        """``X`` as a checked matrix, encoded by ``encoding_`` if it is more than numbers.

        With ``reset``, as in ``fit``, the encoding is learned.
        """
        encoding = None if reset else self._encoding
        if not reset:
            self._check_fitted()
            names, width = self.__dict__.get("feature_names_in_"), self.n_features_in_
            plain = preprocessing.plain_rows(X, names, width) if encoding is None else None
            if plain is not None:
                return plain
        X = preprocessing.as_table_or_array(X)
        if encoding is None and not preprocessing.needs_encoding(X):
            features = super()._validated(X, reset=reset)
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)
            names, medians = self._column_names, getattr(self, "medians_", None)
            if reset:
                features, encoding = preprocessing.fit_encoding(X, names, supervision)
            else:
                features = preprocessing.apply_encoding(X, names, encoding, medians)
            features = preprocessing.check_features(features, self)
        if reset:
            self.encoding_ = encoding
            self.medians_ = preprocessing.column_medians(features) if encoding is None else None
        return features

    @property
    def _encoding(self) -> Encoding | None:
        """That of ``fit``; models pickled by early versions have none."""
        return getattr(self, "encoding_", None)

    @property
    def _column_names(self) -> list[str]:
        return preprocessing.column_names(
            self.n_features_in_, getattr(self, "feature_names_in_", None)
        )

    @property
    def _is_classifier(self) -> bool:
        return self._linear_class == "LinearClassifier"

    @property
    def _is_average(self) -> bool:
        """Whether the parameters ask for an average of models."""
        return isinstance(self.kernel, str) and self.kernel == AUTO

    @property
    def _width(self) -> int:
        """Columns of the matrix that the scaling takes."""
        return int(self.n_features_in_) if self._encoding is None else self._encoding.width

    def _partial_fit(self: Self, X: Any, y: Any, sample_weight: Any) -> Self:
        """`partial_fit` of both classes; the first batch is fitted."""
        if not self.__sklearn_is_fitted__():
            return self._fit_by(X, y, sample_weight, batches=True)
        with self._trial() as trial:
            trial._learn_batch(X, y, sample_weight)
        return self

    def _learn_batch(self, X: Any, y: Any, sample_weight: Any) -> None:
        """`partial_fit` of a later batch, on an object that may be left half done.

        Scaling, kernel, map and C stay what they are.
        """
        if self.map_ is None:
            if isinstance(self.model_, AverageModel):
                raise ValueError(_NO_BATCHES)
            if self.model_.lesson is None:
                raise ValueError(
                    "method='exact' learns from all rows at once: use fit, or another method."
                )
            codes, params = self.to_codes(), self.get_params(deep=False)
            for name, value in vars(codes).items():
                if name not in params:
                    setattr(self, name, value)
        X = self._validated(X, reset=False)
        checks.refuse_masked("y", y)
        y = column_values(y)
        self._check_form(y, X.shape[0])
        target = self._batch_target(y)
        weight = None if sample_weight is None else checks.as_row_weights(sample_weight, X.shape[0])
        self.model_ = self.model_._copy()  # with its replay buffer, which copy() leaves behind
        self.model_.partial_fit(self.scaled_map_.encode(X), target, sample_weight=weight)
        self.background_ = None  # it is of another model now
        self.n_rows_ += X.shape[0]

    def encoded_batch(self, X: Any, y: Any) -> tuple[Features, Targets]:
        """A batch of rows as `learn_stored` takes them: what the map makes of them, and targets."""
        features = self.scaled_map_.encode(self._validated(X, reset=False))
        return features, self.model_.batch_targets(features, self._batch_target(y))

    def learn_stored(self: Self, stored: StoredRows, passes: int, watch: PassWatch) -> Self:
        """Learn anew from rows of `encoded_batch`; scaling, kernel, map and C stay what they are.

        ``watch`` is called after each block, with the number of the pass and the rows of the block.
        """
        with self._trial() as trial:
            trial.model_ = self.model_._copy().learn_stored(stored, passes, watch)
            trial.background_ = None  # it is of another model now
            trial.n_rows_ = stored.n_rows
        return self

    def learn_blocks(
        self: Self, blocks: Blocks, tol: float, max_rounds: int, watch: RoundWatch
    ) -> Self:
        """Learn anew from rows in blocks; scaling, kernel, map and C stay what they are.

        Blocks hold what `encoded_batch` makes of rows. See `linear.rounds`.
        """
        with self._trial() as trial:
            trial.model_ = self.model_._copy().learn_blocks(blocks, tol, max_rounds, watch)
            trial.background_ = None  # it is of another model now
            trial.n_rows_ = blocks.n_rows
        return self

    def predict_encoded(self, features: Features) -> NDArray[Any]:
        """`predict` for rows that the map has encoded."""
        return self._predicted(scores_of(self.model_, features))

    @abstractmethod
    def _predicted(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """The predictions that follow from scores."""

    def _warn_of_target(self, task: Task, told: Told, *, tuned: bool) -> None:
        """Warn of targets that can hardly be learned, or are not what is ``tuned`` for."""
        return

    @abstractmethod
    def _learn_from_held_out(self, held: HeldOut | None) -> None:
        """Learn probabilities or the size of errors from held-out rows; None if there are none."""

    def _check_form(self, y: Any, n_rows: int | None) -> None:
        check_target(y, n_rows, classes=self._is_classifier, owner=type(self).__name__)

    @abstractmethod
    def _check_target(self, y: Any) -> NDArray[Any]:
        """The target, checked."""

    @abstractmethod
    def _batch_target(self, y: Any) -> NDArray[Any]:
        """The target of a later batch, checked and in the units of the linear model."""

    @abstractmethod
    def _task(self, y: NDArray[Any], weight: NDArray[np.float64] | None) -> Task:
        """What is to be learned; sets what depends on the target alone, such as the classes."""

    def check_parameters(self) -> None:
        """Refuse parameters that `fit` would refuse for any rows.

        It is for callers that would have to read the rows first, which may take long.
        """
        trial = type(self)(**self.get_params(deep=False))
        # to take a seed from a generator would change it
        generator = checks.is_generator(self.random_state)
        trial.seed_ = 0 if generator else checks.seed_of(self.random_state)
        trial._route(None)
        space = trial._space()
        choice = space.choice
        trial._check_own_parameters()
        if trial.method not in (EXACT, RIDGE):
            gamma, p = (
                None if isinstance(value, str) else value for value in (choice.gamma, choice.p)
            )
            kernel = choice.make(
                gamma if choice.has("gamma") else None, p if choice.has("p") else None
            )
            map_for(
                kernel,
                space.n_components,
                trial.method,
                bits=trial.bits,
                n_rows=1,
                seed=0,
                n_jobs=trial.n_jobs,
            )

    @abstractmethod
    def _check_own_parameters(self) -> None:
        """Check the parameters that only one of the two classes has."""

    def _known_targets(self, y: Any, weight: NDArray[np.float64] | None) -> KnownTargets:
        """The target, checked, for the target values of words."""
        y = self._check_target(y)
        task = self._task(y, weight)
        if task.classes is None:
            return KnownTargets.of_quantities(np.asarray(y, dtype=np.float64), weight)
        return KnownTargets.of_classes(task.classes.tolist(), task.class_numbers, weight)

    def _route(self, n_rows: int | None) -> Route:
        """The route for ``n_rows`` rows, after a check of its parameters; see `route_for`."""
        checks.check_choice("loss", self.loss, self._losses)
        checks.check_choice("method", self.method, METHODS)
        checks.resources(self.n_jobs)
        if self._is_average and self.method is not None:
            raise ValueError(
                f"kernel='auto' has its own methods: leave method=None, or name the kernel that "
                f"method={self.method!r} is for."
            )
        return route_for(self, self._losses[0], n_rows)

    def _space(self) -> SearchSpace:
        """The parameters that may be tuned, after a check of all that the search depends on."""
        n_components = DEFAULT_COMPONENTS
        if self.n_components is not None:
            n_components = checks.check_int("n_components", self.n_components, 1)
        checks.check_int("bits", self.bits, 1, 16)
        checks.check_positive_or("C", self.C, (TUNE,))
        if not isinstance(self.verbose, (bool, np.bool_)):
            checks.check_int("verbose", self.verbose, 0)
        scale = checks.check_choice("scale", self.scale, (None, *SCALING_NAMES, TUNE))
        choice = KernelChoice(GMM if self._is_average else self.kernel, self.gamma, self.p)
        scoring = resolve_scoring(self.scoring, self._is_classifier)
        return SearchSpace(
            choice,
            n_components,
            "none" if scale is None else scale,
            self.C,
            self.cv,
            scoring,
            check_weights(self.weights),
        )

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """(n,) or (n, m) scores, block by block."""
        return self._scores_of(self._validated(X, reset=False))

    def _scores_of(self, X: Matrix) -> NDArray[np.float64]:
        width = self.model_.width if self.map_ is None else None
        return self.scaled_map_.stream(
            X, lambda encoded: scores_of(self.model_, encoded), width=width
        )

    @property
    def scaling_(self) -> Scaling:
        """The scaling of columns, from rows to scaled rows."""
        return self.scaled_map_.scaling

    @property
    def weights_(self) -> NDArray[np.float64] | None:
        """What each feature is multiplied by after it was scaled; None if nothing is.

        Features are the columns of X, or what ``encoding_`` makes of them. For kernel="auto" they
        are those of its model of gmm.
        """
        if isinstance(self.model_, AverageModel):
            return self.model_.members[0].scaled_map.scaling.weights
        return self.scaling_.weights

    @property
    def map_(self) -> FeatureMap | None:
        """The feature map of scaled rows; None for the exact kernel and for kernel="auto"."""
        return self.scaled_map_.feature_map

    def to_codes(self: Self, n_components: int = DEFAULT_COMPONENTS) -> Self:
        """The same model by a feature map instead of the exact kernel, as a new estimator.

        Kernel ridge regression keeps its rows, so that a linear model on their codes (or features,
        where the kernel has no codes) learns from them with the same scaling and kernel, and with
        the same C up to 30. Its size and the time of a prediction do not grow with the rows, and it
        can learn from more batches. A model of a feature map is returned as it is.

        >>> from sklearn.datasets import load_iris
        >>> from kernelight import KernelClassifier
        >>> exact = KernelClassifier().fit(*load_iris(return_X_y=True))
        >>> exact.map_ is None, exact.to_codes(256).map_.n_components
        (True, 256)
        """
        check_is_fitted(self)
        if self.map_ is not None:
            return self
        if isinstance(self.model_, AverageModel):
            raise ValueError(
                "kernel='auto' is an average of several models, and has no codes of its own: fit "
                "kernel='gmm' instead."
            )
        if self.model_.lesson is None:
            raise ValueError(
                "An exact SVM keeps its support rows only, and not what they were to be learned "
                "as: fit again, with another method."
            )
        n_components = checks.check_int("n_components", n_components, 1)
        given = self.get_params(deep=False) | {"method": None, "n_components": n_components}
        # the rows are scaled already, and nothing is left to be chosen
        chosen = {"kernel": self.kernel_, "scale": None, "cv": None, "gamma": TUNE, "p": 1.0}
        chosen |= {"weights": None}
        highest = LinearRoute.LARGEST_C
        inner = type(self)(
            **(given | chosen | {"C": min(self.C_, highest), "random_state": self.seed_})
        )
        lesson = self.model_.lesson
        target = self._taught(lesson)
        if self._is_classifier and len(np.unique(target)) < len(self.classes_):
            raise ValueError(
                "a class has no rows of a weight above 0, so that no codes can be learned from the "
                "rows of this model: fit again, with n_components."
            )
        inner._fit_by(self.model_.rows, target, lesson.weight, told=Told.CLASSES)
        result = type(self)(**given)
        for name, value in vars(self).items():
            if name not in given:
                setattr(result, name, getattr(inner, name) if name in _LEARNED_ANEW else value)
        result.C_ = inner.C_
        result.scaled_map_ = ScaledMap(self.scaling_, inner.map_)
        result.learn_background(self.model_.rows, lesson.weight, scaled=True)
        return result

    @abstractmethod
    def _taught(self, lesson: Lesson) -> NDArray[Any]:
        """The target of the rows that a model of the exact kernel has kept."""

    def summary(self) -> str:
        """A text for ``print``: what was chosen and why, sizes, and the score on held-out rows."""
        check_is_fitted(self)
        return summarize(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def _plain_params(self) -> dict[str, Any]:
        """Parameters as a state can hold them; splitters and functions become None.

        They are not needed any more.
        """
        params = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name != "random_state"
        }
        if isinstance(params["kernel"], Kernel):
            params["kernel"] = to_plain(params["kernel"])
        if not isinstance(params["cv"], int):
            params["cv"] = None
        params["scoring"] = str(self.scoring) if isinstance(self.scoring, str) else None
        params["verbose"] = int(params["verbose"])
        if not (params["weights"] is None or isinstance(params["weights"], str)):
            params["weights"] = np.asarray(params["weights"], dtype=np.float64).tolist()
        if isinstance(params.get("class_weight"), dict):
            params["class_weight"] = plain_class_weight(self.class_weight)
        return {**params, "random_state": self.seed_}

    @classmethod
    def _params_of(cls, state: State) -> dict[str, Any]:
        params = super()._params_of(state)
        if not isinstance(params["kernel"], str):
            params["kernel"] = from_plain(params["kernel"])
        if isinstance(params.get("class_weight"), list):
            params["class_weight"] = dict(params["class_weight"])
        return params

    def _state(self) -> State:
        """The choices, what the scaling learned, and the states of map and model."""
        own = super()._state()
        arrays = {**own.arrays, **self.scaled_map_.scaling_arrays()}
        meta = own.meta | {"kernel": to_plain(self.kernel_)} | self._plain_target()
        if self._encoding is not None:
            meta["encoding"] = self._encoding.to_plain()
        arrays |= self._background_arrays()
        if isinstance(self.model_, AverageModel):
            members, held = self.model_.to_parts()
            return State(meta | {"members": members}, arrays | held)
        if isinstance(self.model_, SupportModel):
            arrays |= {f"support.{name}": array for name, array in self.model_.arrays().items()}
            return State(meta, arrays)
        return with_parts(State(meta, arrays), {**self.scaled_map_.parts(), "model": self.model_})

    @abstractmethod
    def _plain_target(self) -> dict[str, Any]:
        """What a state holds about the target."""

    @abstractmethod
    def _take_target(self, meta: dict[str, Any]) -> int:
        """Take it out of a state; returns the number of scores."""

    def _take_parts(self, state: State) -> None:
        meta = state.meta
        n_scores = self._take_target(meta)
        width = checks.check_int("n_features_in", meta["n_features_in"], 1, 1 << 62)
        self.encoding_ = Encoding.from_plain(meta["encoding"]) if "encoding" in meta else None
        if self.encoding_ is not None:
            width = checks.check_int("The width of its encoding", self.encoding_.width, 1, 1 << 62)
        self.kernel_ = from_plain(meta["kernel"])
        kept = arrays_under(state, "background")  # files of earlier versions have none
        self.background_ = Background(**kept) if kept else None
        self.scaled_map_ = ScaledMap.from_parts(state, self.scale_, width)
        n_classes = len(self.classes_) if self._is_classifier else None
        if "members" in meta:  # parameters may have been changed after fit
            self.model_ = AverageModel.from_parts(
                state, meta["members"], self.kernel_, width, n_scores, n_classes
            )
            if self.map_ is not None or self.scale_ != "none":
                raise ValueError("the members of an average have their own scalings and maps.")
            return
        if self.map_ is None:
            self.model_ = support_model_of(
                self.kernel_,
                arrays_under(state, "support"),
                self.scaling_.n_features_out,
                n_scores,
                n_classes,
            )
            return
        self.model_ = fitted_part(state, "model", "model")
        name = type(self.model_).__name__
        if name != self._linear_class:
            raise ValueError(f"its model is a {name}, not a {self._linear_class}.")

    def _settle(self) -> None:
        """Check parameters, choices and parts: a state may hold anything."""
        self._route(None)
        self._space()
        self.seed_ = checks.seed_of(checks.check_int("seed_", self.seed_))
        check_restored(self)


def takes_batches(model: KernelModel) -> bool:
    """Whether there is a `partial_fit`; an AttributeError says why not, as `available_if` wants."""
    if model._is_average:
        raise AttributeError(_NO_BATCHES)
    if model.method in (EXACT, RIDGE):
        raise AttributeError(
            f"method={model.method!r} learns from all rows at once: use fit, or another method for "
            f"batches."
        )
    return True
