"""What the classifier and the regressor share: checks, the fit, predictions by blocks, summaries
and states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from kernelight.base import checks, counted, registry
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
from kernelight.estimators.scoring import about_one_class, measure_of, refuse_binary
from kernelight.estimators.search import HeldOut, Search, SearchSpace
from kernelight.estimators.summary import summarize
from kernelight.kernels.base import Kernel
from kernelight.kernels.plain import from_plain, to_plain
from kernelight.maps.base import FeatureMap
from kernelight.maps.scaled_map import ScaledMap
from kernelight.scaling import SCALING_NAMES, SPARSE_SCALING_NAMES, Scaling
from kernelight.state import State

Self = TypeVar("Self", bound="KernelModel")
METHODS = (None, *registry.METHODS, EXACT)
_SOURCES = ("given", "rule", "tuned", "default", "only", "none")


class KernelModel(CallbackSupportMixin, StoredEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A scaling, a kernel by its map or exactly, and a linear model or kernel machine; what is not
    given is tuned."""

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
    #: The class of the linear model, by its name in the registry.
    _machine: ClassVar[str]
    _losses: ClassVar[tuple[str, ...]]
    #: What replaces a missing number where training had none missing; None for sparse rows and
    #: older models.
    _learned: ClassVar[tuple[str, ...]] = ("medians_",)
    medians_: NDArray[np.float64] | None
    model_: Any

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Tune what is to be tuned on rows held out, then train on all rows.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, d)
            A frame of pandas or polars or an Arrow table may hold words, categoricals and booleans;
            they, and missing values of dense rows, become numbers as those of files do
            (`Encoding`).
        y : array-like of shape (n,); for a regression also (n, m), m targets
        sample_weight : array-like of shape (n,) or None, default=None
            What each row counts, as if it came so many times: in the loss, in scalings, and among
            rows held out, where it is on one side of a split as a whole. A row of weight 0 is left
            out. See docs/front-door.md for what is equal to the bit.
        """
        with self._trial() as trial:
            trial._fit(X, y, sample_weight)
        return self

    def _fit_features(self: Self, X: Any, y: Any, relearn: Relearn | None) -> Self:
        """`fit` to features that were made of labels: ``relearn`` makes those of some rows without
        the labels of others."""
        with self._trial() as trial:
            trial._fit(X, y, None, relearn)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(self, X: Any, y: Any, sample_weight: Any, relearn: Relearn | None = None) -> None:
        """`fit`, on an object that may be left half done; ``relearn`` is that of features that were
        made of labels."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                f"is None."
            )
        checks.refuse_masked("y", y)
        X, y = preprocessing.as_table_or_array(X), column_values(y)
        weight = (
            None
            if sample_weight is None
            else checks.as_row_weights(sample_weight, preprocessing.n_rows(X))
        )
        rows = None
        if weight is not None and not weight.all():
            check_consistent_length(weight, y)
            y = self._target(y)
            rows = sample_weights.counted(
                weight, y if self._machine == "LinearClassifier" else None
            )

        def known() -> KnownTargets:
            check_consistent_length(X if rows is None else weight, y)
            if rows is None or weight is None:
                return self._known_targets(y, weight)
            return self._known_targets(y[rows], weight[rows])

        taken = X if rows is None else preprocessing.take_rows(X, rows)
        kept: list[Relearn] = [] if relearn is None else [relearn]
        X = seen = self._validated(
            taken, reset=True, supervision=Supervision(known, keep=kept.append)
        )
        check_consistent_length(X if rows is None else weight, y)
        self.seed_ = checks.seed_of(self.random_state)
        route, space = self._route(), self._space()
        space.choice.warn_unused()
        route.refuse(X.shape[0])
        y = self._target(y)
        X, task, splits = self._rows_and_task(X, y, weight, rows, space.cv)
        refuse_binary(self.scoring, task)
        relearn = kept[0] if kept and X is seen else None  # rows of weights may have been united
        search = Search(space, route, X, task, self.seed_, splits, relearn)
        if search.searches:
            self._remark(task)
        progress = Progress(self, [*search.plan, search.final_step])
        found = search.run(progress)
        with progress.task(f"{X.shape[0]:,} rows", search.final_step):
            self.kernel_ = space.choice.made(found.setting.gamma, found.setting.p)
            prepared = found.prepared or route.prepare(
                self.kernel_, found.setting.scaling, X, task, space.n_components
            )
            self.model_ = route.model(prepared, task, found.C)
        self.scaled_map_ = prepared.scaled_map
        self.scale_, self.gamma_, self.p_ = self.scaling_.name, found.setting.gamma, found.setting.p
        self.C_, self.sources_, self.search_ = found.C, found.sources, found.table
        self.held_out_, self.n_rows_ = found.held_out, len(y)
        self.validation_score_ = found.score
        if found.score is not None and about_one_class(self.scoring, task):
            assert task.classes is not None
            self.held_out_ += (
                f", {plain_scalar(task.classes[task.positive])!r} being the positive class"
            )
        self._learn_from_held(found.held)
        progress.finish()

    def _rows_and_task(
        self,
        X: Matrix,
        y: NDArray[Any],
        weight: NDArray[np.float64] | None,
        rows: RowIndices | None,
        cv: Any,
    ) -> tuple[Matrix, Task, list[Split] | None]:
        """Rows and task with weights as repetitions (see `repeats`), and the splits of ``cv``.

        ``rows`` are those of ``y`` and ``weight`` that X holds; None means all.
        """
        splits = None if cv is None else splits_of(cv, y, self._machine == "LinearClassifier")
        if rows is not None:
            assert weight is not None
            splits = None if splits is None else sample_weights.among(splits, rows, len(y))
            y, weight = y[rows], weight[rows]
        chosen: RowIndices | None = None
        if splits is not None:
            found = sample_weights.united(X, y, weight, splits)
            if found is not None:
                chosen, sums, splits = found
        elif weight is not None:
            chosen, sums = sample_weights.counts(X, y, weight), None
        if chosen is not None:
            X, y, weight = X[chosen], y[chosen], sums
        if self.medians_ is not None and weight is not None:
            self.medians_ = preprocessing.column_medians(X, weight)
        return X, self._task(y, weight), splits

    def _validated(self, X: Any, *, reset: bool, supervision: Supervision | None = None) -> Matrix:
        """``X`` as a checked matrix; what is more than numbers becomes numbers by ``encoding_``,
        which ``fit`` learns."""
        if not reset:
            check_is_fitted(self)
        X = preprocessing.as_table_or_array(X)
        encoding = None if reset else self._encoding
        if encoding is None and not preprocessing.needs_encoding(X):
            found = super()._validated(X, reset=reset)
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)
            names = preprocessing.column_names(
                self.n_features_in_, getattr(self, "feature_names_in_", None)
            )
            if reset:
                found, encoding = preprocessing.fit_encoding(X, names, supervision)
            else:
                found = preprocessing.apply_encoding(
                    X, names, encoding, getattr(self, "medians_", None)
                )
            found = preprocessing.check_features(found, self)
        if reset:
            self.encoding_ = encoding
            self.medians_ = preprocessing.column_medians(found) if encoding is None else None
        return found

    @property
    def _encoding(self) -> Encoding | None:
        """That of ``fit``; models that were pickled before there was one have none."""
        return getattr(self, "encoding_", None)

    @property
    def _width(self) -> int:
        """Columns of the matrix that the scaling takes."""
        return int(self.n_features_in_) if self._encoding is None else self._encoding.width

    def _go_on(self: Self, X: Any, y: Any, sample_weight: Any) -> Self:
        """`partial_fit`: a first batch is fitted."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, sample_weight)
        with self._trial() as trial:
            trial._learn_batch(X, y, sample_weight)
        return self

    def _learn_batch(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Go on with more rows, on an object that may be left half done: scaling, kernel, map and C
        stay what they are."""
        if self.map_ is None:
            raise ValueError(
                "method='exact' learns from all rows at once: use fit, or another method."
            )
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X = self._validated(X, reset=False)
        target = self._more_targets(column_values(y))
        check_consistent_length(X, target)
        weight = None if sample_weight is None else checks.as_row_weights(sample_weight, X.shape[0])
        self.model_ = self.model_._copy()  # with what it remembers, which copy() leaves behind
        self.model_.partial_fit(self.scaled_map_.encode(X), target, sample_weight=weight)
        self.n_rows_ += X.shape[0]

    def _remark(self, task: Task) -> None:
        """Warn of what the search may not be made for."""
        return

    @abstractmethod
    def _learn_from_held(self, held: HeldOut | None) -> None:
        """Learn probabilities or the size of errors from rows held out; None if there were none."""

    @abstractmethod
    def _more_targets(self, y: Any) -> NDArray[Any]:
        """The targets of more rows, as the linear model knows them."""

    @abstractmethod
    def _target(self, y: Any) -> NDArray[Any]:
        """The targets, checked."""

    @abstractmethod
    def _task(self, y: NDArray[Any], weight: NDArray[np.float64] | None) -> Task:
        """What is to be learned; sets what depends on the targets alone, such as the classes."""

    def check_parameters(self) -> None:
        """Refuse parameters that no rows can be fitted with.

        `fit` does so too, but what makes the rows may take long.
        """
        trial = type(self)(**self.get_params(deep=False))
        trial.seed_ = 0 if _is_generator(self.random_state) else checks.seed_of(self.random_state)
        trial._route()
        choice = trial._space().choice
        trial._check_own()
        if trial.method != EXACT:
            gamma, p = (
                None if isinstance(value, str) else value for value in (choice.gamma, choice.p)
            )
            kernel = choice.made(
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
    def _check_own(self) -> None:
        """Check the parameters that only one of the two has."""

    def _known_targets(self, y: Any, weight: NDArray[np.float64] | None) -> KnownTargets:
        """The targets, checked, for values of words."""
        y = self._target(y)
        task = self._task(y, weight)
        if task.classes is None:
            return KnownTargets.of_quantities(np.asarray(y, dtype=np.float64), weight)
        return KnownTargets.of_classes(task.classes.tolist(), task.class_numbers, weight)

    def _route(self) -> Route:
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
        """The parameters that may be tuned, checked."""
        n_components = checks.check_int("n_components", self.n_components, 1)
        checks.check_int("bits", self.bits, 1, 16)
        checks.check_positive_or("C", self.C, (TUNE,))
        if not isinstance(self.verbose, (bool, np.bool_)):
            checks.check_int("verbose", self.verbose, 0)
        scale = checks.check_choice("scale", self.scale, (None, *SCALING_NAMES, TUNE))
        choice = KernelChoice(self.kernel, self.gamma, self.p)
        measure = measure_of(self.scoring, self._machine == "LinearClassifier")
        return SearchSpace(
            choice, n_components, "none" if scale is None else scale, self.C, self.cv, measure
        )

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """(n,) or (n, m) scores, block by block."""
        check_is_fitted(self)
        return self._scores_of(self._validated(X, reset=False))

    def _scores_of(self, X: Matrix) -> NDArray[np.float64]:
        # a kernel with all support rows
        width = self.model_.rows.shape[0] if self.map_ is None else None
        return self.scaled_map_.stream(X, lambda seen: scores_of(self.model_, seen), width=width)

    @property
    def scaling_(self) -> Scaling:
        """What happens to columns first: rows to scaled rows."""
        return self.scaled_map_.scaling

    @property
    def map_(self) -> FeatureMap | None:
        """The map of scaled rows; None for method="exact"."""
        return self.scaled_map_.feature_map

    def summary(self) -> str:
        """What was chosen, where each choice came from, sizes and the score on rows held out;
        ``print`` it."""
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
        """A splitter or a function cannot be stored, and is not needed any more: a loaded model has
        None instead."""
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
        """The choices, what the scaling learned, and the states of map and model; random numbers
        are a seed."""
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
        """What a state must know of the target."""

    @abstractmethod
    def _take_target(self, meta: dict[str, Any]) -> int:
        """Take it out of a state; the number of scores."""

    def _take_parts(self, state: State) -> None:
        meta = state.meta
        n_scores = self._take_target(meta)
        width = checks.check_int("n_features_in", meta["n_features_in"], 1, 1 << 62)
        self.encoding_ = Encoding.from_plain(meta["encoding"]) if "encoding" in meta else None
        if self.encoding_ is not None:
            width = checks.check_int("The width of its encoding", self.encoding_.width, 1, 1 << 62)
        self.kernel_ = from_plain(meta["kernel"])
        self.scaled_map_ = ScaledMap.from_parts(state, self.scale_, width)
        if self.map_ is None:  # whatever method says by now
            self.model_ = support_model_of(
                self.kernel_, arrays_under(state, "support"), self.scaling_.n_features_out, n_scores
            )
            return
        self.model_ = fitted_part(state, "model", "model")
        if type(self.model_).__name__ != self._machine:
            raise ValueError(f"its model is a {type(self.model_).__name__}, not a {self._machine}.")

    def _settle(self) -> None:
        """A state may hold anything."""
        self._route()
        self._space()
        checks.check_class_weight(getattr(self, "class_weight", None))
        self.seed_ = checks.seed_of(checks.check_int("seed_", self.seed_))
        checks.check_int("n_rows_", self.n_rows_, 1)
        self._check_entrance()
        checks.check_positive("C_", self.C_)
        for name in ("gamma_", "p_"):
            if getattr(self, name) is not None:
                checks.check_positive(name, getattr(self, name))
        known = {"scale", "gamma", "p", "C"}
        if not isinstance(self.sources_, dict) or set(self.sources_) != known:
            raise ValueError("sources_ must say where scale, gamma, p and C come from.")
        for source in self.sources_.values():
            checks.check_choice("A source", source, _SOURCES)
        if not isinstance(self.search_, list) or not all(
            isinstance(entry, dict)
            and known | {"score"} <= set(entry)
            and all(map(_is_plain, entry.values()))
            for entry in self.search_
        ):
            raise ValueError(
                "search_ must be a list of what was tried, each a table of numbers and names."
            )
        checks.check_choice("held_out_", type(self.held_out_).__name__, ("str",))
        measured = isinstance(self.validation_score_, float)
        if not measured and (self.search_ or self.validation_score_ is not None):
            raise ValueError("validation_score_ must be a number where something was tried.")
        if self.map_ is not None:
            self._check_scores()

    def _check_entrance(self) -> None:
        """Encoding and medians must be of the columns that the model takes."""
        if self.medians_ is not None:
            checks.check_learned("medians_", self.medians_, ("float64",), 1)
            if len(self.medians_) != self.n_features_in_:
                raise ValueError(
                    f"medians_ must be {counted(self.n_features_in_, 'number')}, one for each "
                    f"feature."
                )
        if self.encoding_ is None:
            return
        names = preprocessing.column_names(
            self.n_features_in_, getattr(self, "feature_names_in_", None)
        )
        encoded_names = [column.name for column in self.encoding_.columns or ()]
        if (
            not encoded_names
            or self.encoding_.target is not None
            or not set(encoded_names) <= set(names)
        ):
            raise ValueError("its encoding is not of the columns that it takes.")

    def _check_scores(self) -> None:
        """Map and model must fit together: one row of zeros goes through both."""
        shape = (1, self._width)
        try:
            self._scores_of(
                sp.csr_matrix(shape) if self.scale_ in SPARSE_SCALING_NAMES else np.zeros(shape)
            )
        except (TypeError, IndexError) as error:
            raise ValueError(f"its map and its model do not belong together: {error}") from error


def _is_generator(random_state: Any) -> bool:
    """Whether looking at it would draw a number from it."""
    return isinstance(random_state, (np.random.RandomState, np.random.Generator))


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def plain_scalar(value: Any) -> Any:
    """A label or a number as Python has it: arrays of objects hold them so, others as scalars of
    NumPy."""
    return value.item() if isinstance(value, np.generic) else value


def takes_batches(model: KernelModel) -> bool:
    """Whether `partial_fit` is offered; an AttributeError says why not, as `available_if` asks."""
    if model.method == EXACT:
        raise AttributeError(
            "method='exact' learns from all rows at once: use fit, or another method for batches."
        )
    return True
