"""What `KernelClassifier` and `KernelRegressor` share: the fit, scores by blocks, and states.

`KernelModel._fit` is the place to begin: it names the steps of a fit, in their order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from kernelight.base import checks, registry
from kernelight.base.checks import Matrix
from kernelight.base.estimator import StoredEstimator, arrays_under, fitted_part, with_parts
from kernelight.data.encoding import Encoding
from kernelight.data.frames import column_values
from kernelight.data.supervision import KnownTargets, Supervision
from kernelight.estimators import preprocessing, sample_weights
from kernelight.estimators.exact_svm import SupportModel, support_model_of
from kernelight.estimators.folds import Relearn, Split, splits_of
from kernelight.estimators.kernel_choice import EXACT, TUNE, KernelChoice, map_for
from kernelight.estimators.progress import CallbackSupportMixin, Progress, with_callbacks
from kernelight.estimators.routes import ExactRoute, LinearRoute, Route, RowIndices, Task, scores_of
from kernelight.estimators.scoring import about_one_class, refuse_binary, resolve_scoring
from kernelight.estimators.search import HeldOut, Search, SearchResult
from kernelight.estimators.search_space import SearchSpace
from kernelight.estimators.state_checks import check_restored
from kernelight.estimators.summary import summarize
from kernelight.kernels.base import Kernel
from kernelight.kernels.plain import from_plain, to_plain
from kernelight.maps.base import FeatureMap
from kernelight.maps.scaled_map import ScaledMap
from kernelight.scaling import SCALING_NAMES, Scaling
from kernelight.state import State

Self = TypeVar("Self", bound="KernelModel")
METHODS = (None, *registry.METHODS, EXACT)


class _Given(NamedTuple):
    """What ``fit`` was given, with X as a matrix that has no rows of weight 0."""

    X: Matrix
    y: Any  # of all rows
    weight: NDArray[np.float64] | None  # of all rows
    rows: RowIndices | None  # those that X holds; None means all
    relearn: Relearn | None


class KernelModel(CallbackSupportMixin, StoredEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A scaling, a kernel, and a model: linear on a feature map, or an exact SVM.

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
        with self._trial() as trial:
            trial._fit(X, y, sample_weight)
        return self

    def _fit_features(self: Self, X: Any, y: Any, relearn: Relearn | None) -> Self:
        """`fit` for features that were made with the help of labels.

        ``relearn`` makes those of some rows again without the labels of others.
        """
        with self._trial() as trial:
            trial._fit(X, y, None, relearn)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(self, X: Any, y: Any, sample_weight: Any, relearn: Relearn | None = None) -> None:
        """`fit`, on an object that may be left half done."""
        given = self._read(X, y, sample_weight, relearn)
        self.seed_ = checks.seed_of(self.random_state)
        route, space = self._route(), self._space()
        space.choice.warn_unused()
        route.check_n_rows(given.X.shape[0])
        y = self._check_target(given.y)
        X, task, splits = self._rows_and_task(given, y, space.cv)
        refuse_binary(self.scoring, task)

        # relearn knows the rows as they were given, not united or repeated by their weights
        relearn = given.relearn if X is given.X else None
        search = Search(space, route, X, task, self.seed_, splits, relearn)
        if search.searches:
            self._warn_before_search(task)
        progress = Progress(self, [*search.steps, search.final_step])
        result = search.run(progress)
        with progress.task(f"{X.shape[0]:,} rows", search.final_step):
            self._train(result, space, route, X, task)
        self._record(result, task, len(y))
        self._learn_from_held_out(result.held)
        progress.finish()

    def _read(self, X: Any, y: Any, sample_weight: Any, relearn: Relearn | None) -> _Given:
        """Check what was given, leave out rows of weight 0, and learn the encoding."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                f"is None."
            )
        checks.refuse_masked("y", y)
        X, y = preprocessing.as_table_or_array(X), column_values(y)
        weight, rows = None, None
        if sample_weight is not None:
            weight = checks.as_row_weights(sample_weight, preprocessing.n_rows(X))
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
        return _Given(matrix, y, weight, rows, relearns[0] if relearns else None)

    def _rows_and_task(
        self, given: _Given, y: NDArray[Any], cv: Any
    ) -> tuple[Matrix, Task, list[Split] | None]:
        """Rows, task and the splits of cv, with weights as repetitions (see `sample_weights`)."""
        X, weight, rows = given.X, given.weight, given.rows
        splits = None if cv is None else splits_of(cv, y, self._is_classifier)
        if rows is not None:
            assert weight is not None
            splits = None if splits is None else sample_weights.splits_among(splits, rows, len(y))
            y, weight = y[rows], weight[rows]
        chosen: RowIndices | None = None
        if splits is not None:
            united = sample_weights.unite_equal_rows(X, y, weight, splits)
            if united is not None:
                chosen, sums, splits = united
        elif weight is not None:
            chosen, sums = sample_weights.repeat_rows(X, y, weight), None
        if chosen is not None:
            X, y, weight = X[chosen], y[chosen], sums
        if self.medians_ is not None and weight is not None:
            self.medians_ = preprocessing.column_medians(X, weight)
        return X, self._task(y, weight), splits

    def _train(
        self, result: SearchResult, space: SearchSpace, route: Route, X: Matrix, task: Task
    ) -> None:
        """Fit the final model to all rows, with what the search has chosen."""
        setting = result.setting
        self.kernel_ = space.choice.make(setting.gamma, setting.p)
        prepared = result.prepared or route.prepare(
            self.kernel_, setting.scaling, X, task, space.n_components
        )
        self.model_ = route.fit(prepared, task, result.C)
        self.scaled_map_ = prepared.scaled_map

    def _record(self, result: SearchResult, task: Task, n_rows: int) -> None:
        """Keep what the search has chosen, and what it says about it."""
        setting = result.setting
        self.scale_, self.gamma_, self.p_ = self.scaling_.name, setting.gamma, setting.p
        self.C_, self.sources_, self.search_ = result.C, result.sources, result.table
        self.validation_score_, self.held_out_ = result.score, result.held_out
        self.n_rows_ = n_rows
        if result.score is not None and about_one_class(self.scoring, task):
            assert task.classes is not None
            label = plain_scalar(task.classes[task.positive])
            self.held_out_ += f", {label!r} being the positive class"

    def _validated(self, X: Any, *, reset: bool, supervision: Supervision | None = None) -> Matrix:
        """``X`` as a checked matrix, encoded by ``encoding_`` if it is more than numbers.

        With ``reset``, as in ``fit``, the encoding is learned.
        """
        if not reset:
            check_is_fitted(self)
        X = preprocessing.as_table_or_array(X)
        encoding = None if reset else self._encoding
        if encoding is None and not preprocessing.needs_encoding(X):
            features = super()._validated(X, reset=reset)
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)
            names = preprocessing.column_names(
                self.n_features_in_, getattr(self, "feature_names_in_", None)
            )
            if reset:
                features, encoding = preprocessing.fit_encoding(X, names, supervision)
            else:
                medians = getattr(self, "medians_", None)
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
    def _is_classifier(self) -> bool:
        return self._linear_class == "LinearClassifier"

    @property
    def _width(self) -> int:
        """Columns of the matrix that the scaling takes."""
        return int(self.n_features_in_) if self._encoding is None else self._encoding.width

    def _partial_fit(self: Self, X: Any, y: Any, sample_weight: Any) -> Self:
        """`partial_fit` of both classes; the first batch is fitted."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, sample_weight)
        with self._trial() as trial:
            trial._learn_batch(X, y, sample_weight)
        return self

    def _learn_batch(self, X: Any, y: Any, sample_weight: Any) -> None:
        """`partial_fit` of a later batch, on an object that may be left half done.

        Scaling, kernel, map and C stay what they are.
        """
        if self.map_ is None:
            raise ValueError(
                "method='exact' learns from all rows at once: use fit, or another method."
            )
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X = self._validated(X, reset=False)
        target = self._batch_target(column_values(y))
        check_consistent_length(X, target)
        weight = None if sample_weight is None else checks.as_row_weights(sample_weight, X.shape[0])
        self.model_ = self.model_._copy()  # with its replay buffer, which copy() leaves behind
        self.model_.partial_fit(self.scaled_map_.encode(X), target, sample_weight=weight)
        self.n_rows_ += X.shape[0]

    def _warn_before_search(self, task: Task) -> None:
        """Warn where the scoring may not be what the user wants."""
        return

    @abstractmethod
    def _learn_from_held_out(self, held: HeldOut | None) -> None:
        """Learn probabilities or the size of errors from held-out rows; None if there are none."""

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
        trial.seed_ = 0 if _is_generator(self.random_state) else checks.seed_of(self.random_state)
        trial._route()
        choice = trial._space().choice
        trial._check_own_parameters()
        if trial.method != EXACT:
            gamma, p = (
                None if isinstance(value, str) else value for value in (choice.gamma, choice.p)
            )
            kernel = choice.make(
                gamma if choice.has("gamma") else None, p if choice.has("p") else None
            )
            map_for(
                kernel,
                trial.n_components,
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

    def _route(self) -> Route:
        """The way to a model that ``method`` names, after a check of its parameters."""
        checks.check_choice("loss", self.loss, self._losses)
        checks.check_choice("method", self.method, METHODS)
        checks.resources(self.n_jobs)
        if self.method == EXACT:
            if self.loss == "logistic":
                raise ValueError(
                    "method='exact' is an SVM, which has no logistic loss: use loss='hinge', or "
                    "another method."
                )
            return ExactRoute()
        return LinearRoute(self.method, self.bits, self.seed_, self.n_jobs)

    def _space(self) -> SearchSpace:
        """The parameters that may be tuned, after a check of all that the search depends on."""
        n_components = checks.check_int("n_components", self.n_components, 1)
        checks.check_int("bits", self.bits, 1, 16)
        checks.check_positive_or("C", self.C, (TUNE,))
        if not isinstance(self.verbose, (bool, np.bool_)):
            checks.check_int("verbose", self.verbose, 0)
        scale = checks.check_choice("scale", self.scale, (None, *SCALING_NAMES, TUNE))
        choice = KernelChoice(self.kernel, self.gamma, self.p)
        scoring = resolve_scoring(self.scoring, self._is_classifier)
        return SearchSpace(
            choice, n_components, "none" if scale is None else scale, self.C, self.cv, scoring
        )

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """(n,) or (n, m) scores, block by block."""
        check_is_fitted(self)
        return self._scores_of(self._validated(X, reset=False))

    def _scores_of(self, X: Matrix) -> NDArray[np.float64]:
        # an exact SVM makes a kernel value for each support row on the way
        width = self.model_.rows.shape[0] if self.map_ is None else None
        return self.scaled_map_.stream(
            X, lambda encoded: scores_of(self.model_, encoded), width=width
        )

    @property
    def scaling_(self) -> Scaling:
        """The scaling of columns, from rows to scaled rows."""
        return self.scaled_map_.scaling

    @property
    def map_(self) -> FeatureMap | None:
        """The feature map of scaled rows; None for method="exact"."""
        return self.scaled_map_.feature_map

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
        if isinstance(params.get("class_weight"), dict):
            params["class_weight"] = [
                [plain_scalar(key), float(value)] for key, value in self.class_weight.items()
            ]
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
        arrays = self.scaled_map_.scaling_arrays()
        meta = own.meta | {"kernel": to_plain(self.kernel_)} | self._plain_target()
        if self._encoding is not None:
            meta["encoding"] = self._encoding.to_plain()
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
        self.scaled_map_ = ScaledMap.from_parts(state, self.scale_, width)
        if self.map_ is None:  # ``method`` may have been changed after fit
            self.model_ = support_model_of(
                self.kernel_, arrays_under(state, "support"), self.scaling_.n_features_out, n_scores
            )
            return
        self.model_ = fitted_part(state, "model", "model")
        name = type(self.model_).__name__
        if name != self._linear_class:
            raise ValueError(f"its model is a {name}, not a {self._linear_class}.")

    def _settle(self) -> None:
        """Check parameters, choices and parts: a state may hold anything."""
        self._route()
        self._space()
        self.seed_ = checks.seed_of(checks.check_int("seed_", self.seed_))
        check_restored(self)


def _is_generator(random_state: Any) -> bool:
    """Whether to take a seed from it would change it."""
    return isinstance(random_state, (np.random.RandomState, np.random.Generator))


def plain_scalar(value: Any) -> Any:
    """A label or a number of an array as a Python object."""
    return value.item() if isinstance(value, np.generic) else value


def takes_batches(model: KernelModel) -> bool:
    """Whether there is a `partial_fit`; an AttributeError says why not, as `available_if` wants."""
    if model.method == EXACT:
        raise AttributeError(
            "method='exact' learns from all rows at once: use fit, or another method for batches."
        )
    return True
