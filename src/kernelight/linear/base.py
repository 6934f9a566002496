"""The base of linear models: fits, regularization paths, batches, scores and states.

Long, because all ways to learn, scores and states must agree on what makes a fitted model.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_consistent_length

from kernelight.base import counted
from kernelight.base.checks import (
    Resources,
    check_bool,
    check_choice,
    check_int,
    check_learned,
    check_number,
    check_positive,
    resources,
    seed_of,
)
from kernelight.base.estimator import StoredEstimator
from kernelight.base.targets import check_target
from kernelight.codes import Codes
from kernelight.codes.slots import MAX_BITS
from kernelight.linear.batches import BatchLearner, BatchState, n_epochs
from kernelight.linear.block_solver import BlockSolver, PassWatch
from kernelight.linear.code_scores import CodeScorer
from kernelight.linear.design import CodeDesign, DesignMatrix, MatrixDesign, Targets, feasible_duals
from kernelight.linear.equal_rows import tolerance_factor, with_equal_rows_united
from kernelight.linear.output_group import SolverSettings
from kernelight.linear.rounds import BlockProblem, Blocks, RoundWatch, learn
from kernelight.linear.solver import Solver
from kernelight.linear.stored_rows import StoredRows
from kernelight.state import may_change, read_only

Self = TypeVar("Self", bound="LinearModel")

SMALL = 30_000  # rows times outputs below which double precision is used
FINE_TOL = 1e-5  # a smaller tolerance needs double precision
MAX_ROWS = 2**31 - 1


class RegularizationPath(NamedTuple):
    """The result of `fit_path`: a model for each C, and its score on the validation rows.

    ``scores`` is None if there were no validation rows.
    """

    Cs: NDArray[np.float64]
    scores: NDArray[np.float64] | None
    models: list[Any]

    @property
    def best(self) -> Any:
        """The model with the highest score; of several, the one with the smallest C."""
        if self.scores is None:
            raise ValueError(
                "This path has no scores to choose a model by: pass validation=(X, y) to fit_path."
            )
        return self.models[int(np.argmax(self.scores))]


class LinearModel(StoredEstimator, ABC):
    """A linear model of `Codes`, dense or CSR rows, fitted by dual coordinate descent.

    ``weights_`` has one row for each column of a matrix, or for each code that occurs in a slot;
    `coef_` is the usual array. The fit ends with a bound of its distance to the optimum, the
    duality gap.
    """

    weights_: NDArray[Any]
    intercept_: NDArray[np.float64]
    bits_: int | None
    n_slots_: int | None
    provenance_: str | None
    seen_: NDArray[np.uint8] | None
    objective_: NDArray[np.float64]
    dual_gap_: NDArray[np.float64]
    _losses: ClassVar[tuple[str, ...]] = ()
    _decided: ClassVar[tuple[str, ...]] = ("n_iter_", "n_seen_", "bits_", "n_slots_", "provenance_")
    _learned: ClassVar[tuple[str, ...]] = (
        "weights_",
        "intercept_",
        "seen_",
        "objective_",
        "dual_gap_",
    )

    # --- Fitting

    @abstractmethod
    def _targets(self, X: Any, y: Any, sample_weight: Any) -> Targets:
        """The targets, with costs for C = 1; sets attributes that depend on ``y`` alone."""

    @abstractmethod
    def _batch_targets(
        self, X: Any, y: Any, sample_weight: Any, classes: Any, first: bool
    ) -> Targets:
        """The targets of one batch of several, with costs for C = 1."""

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to rows ``X`` and targets ``y``.

        If the fit fails, the model stays as it was. An interrupt (Ctrl-C) during the epochs keeps
        the weights of the last epoch, gives a ConvergenceWarning and raises KeyboardInterrupt.

        Parameters
        ----------
        X : Codes, array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels or numbers; for a regression also (n_samples, n_targets).
        sample_weight : array of shape (n_samples,), optional
            Factors of C for each row; a weight of 2 is the same as having the row twice: to the
            bit for fewer than 30,000 rows times outputs, otherwise up to ``tol``.

        Returns
        -------
        self
        """
        with self._trial() as trial:
            finished = trial._fit(X, y, sample_weight)
        if not finished:
            raise KeyboardInterrupt
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> bool:
        C = check_positive("C", self.C)
        X, targets = self._checked_task(X, y, sample_weight)
        factor = tolerance_factor(targets)
        design, targets = self._design(X, targets), targets.scaled(C)
        solver = Solver(design, targets, self._settings(factor))
        start = getattr(self, "_duals", None)
        if self.warm_start and start is not None and start.shape == (X.shape[0], targets.n_outputs):
            solver.start_from(feasible_duals(start, targets, self.loss))
        finished = solver.run()
        self._keep(solver, *solver.coefficients())
        self._warn_unless_converged(solver, finished, stacklevel=4)
        return finished

    def fit_path(
        self: Self,
        X: Any,
        y: Any,
        Cs: Any,
        *,
        validation: tuple[Any, Any] | None = None,
        sample_weight: Any = None,
    ) -> RegularizationPath:
        """Fit one model for each C, each starting from the one before.

        This is faster than separate fits; each model is as exact as one of `fit`. The estimator
        itself does not change.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        Cs : sequence of float
            In any order; the result is in ascending order.
        validation : tuple (X, y), optional
            Rows on which each model is scored, by its method ``score``.

        Returns
        -------
        RegularizationPath
            With the attributes ``Cs``, ``models``, ``scores`` (None without ``validation``) and
            ``best``, the model with the highest score.
        """
        values = np.unique(
            [check_positive("Each of Cs", C) for C in np.atleast_1d(np.asarray(Cs, dtype=object))]
        )
        if not len(values):
            raise ValueError("Cs must contain at least one number.")
        if validation is not None and (
            not isinstance(validation, (tuple, list)) or len(validation) != 2
        ):
            raise ValueError(
                "validation must be a pair (X, y) of rows and targets, got "
                f"{type(validation).__name__}."
            )
        checked = self._copy()
        X, targets = checked._checked_task(X, y, sample_weight)
        design, first = checked._design(X, targets), targets.scaled(float(values[0]))
        solver = Solver(design, first, checked._settings(tolerance_factor(targets)))
        models, scores = [], []
        for at, C in enumerate(values.tolist()):
            if at:
                solver.set_targets(targets.scaled(C), C / values[at - 1])
            before = solver.n_iter
            if not solver.run():
                raise KeyboardInterrupt
            model = checked._copy()
            model.C = C
            model._keep(solver, *solver.coefficients())
            model.n_iter_ = solver.n_iter - before
            model._warn_unless_converged(solver, True, stacklevel=3)
            models.append(model)
            if validation is not None:
                scores.append(model.score(*validation))
        return RegularizationPath(
            values, np.asarray(scores) if validation is not None else None, models
        )

    def _learn_batch(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> None:
        """Learn from one more batch, see `batches`; there is no certificate afterwards."""
        C = check_positive("C", self.C)
        first = not hasattr(self, "weights_")
        self._check_parameters()
        if first:
            self.seed_ = seed_of(self.random_state)
            self.n_seen_ = 0
        X = self._checked_rows(X, y, reset=first)
        if X.shape[0] == 0:
            raise ValueError("X has no rows: a batch needs at least 1.")
        self._check_target(X, y)
        check_consistent_length(X, y)
        targets = self._batch_targets(X, y, sample_weight, classes, first)
        learner = BatchLearner(
            self._settings(seed=self.seed_ + self.n_seen_),
            self._resources(),
            C,
            np.random.default_rng([self.seed_, self.n_seen_]),
        )
        model = None if first else (self.weights_, self.intercept_)
        seen = None if first or self.bits_ is None else self._seen()
        state: BatchState | None = getattr(self, "_batch_state", None)
        solver, average, self._batch_state = learner.learn(X, targets, model, seen, state)
        n_seen = self.n_seen_ + X.shape[0]
        self._keep(solver, average.weights, average.bias)
        self.n_seen_, self.n_iter_ = n_seen, n_epochs(X.shape[0])
        self.objective_ = self.dual_gap_ = np.full(targets.n_outputs, np.nan)

    def batch_targets(self, X: Any, y: Any) -> Targets:
        """The targets of a batch of rows for `learn_stored`; the model must be fitted."""
        X = self._checked_rows(X, y, reset=False)
        self._check_target(X, y)
        return self._batch_targets(X, y, None, None, False)

    def learn_stored(self: Self, stored: StoredRows, passes: int, watch: PassWatch) -> Self:
        """Learn anew from stored rows, see `block_solver`; there is no certificate afterwards."""
        with self._trial() as trial:
            solver = BlockSolver(stored, trial._settings(), check_positive("C", self.C))
            solver.run(passes, watch)
            trial._keep(solver.last, *solver.last.coefficients())
            trial.n_seen_, trial.n_iter_ = stored.n_rows, solver.n_visits
            trial.objective_ = trial.dual_gap_ = np.full(stored.targets.n_outputs, np.nan)
            trial.__dict__.pop("_batch_state", None)  # it is of other rows
        return self

    def block_problem(
        self, targets: Targets, seen: NDArray[np.bool_] | None, n_blocks: int, threads: int = 1
    ) -> BlockProblem:
        """What `learn_blocks` has solved in each of ``n_blocks``; see `rounds`.

        ``targets`` are those of some rows, ``seen`` the codes that occur in any.
        """
        return BlockProblem(
            replace(self._settings(), threads=threads),
            check_positive("C", self.C),
            targets.above,
            targets.below,
            None if seen is None else np.packbits(seen),
            n_blocks,
        )

    def learn_blocks(
        self: Self, blocks: Blocks, tol: float, max_rounds: int, watch: RoundWatch
    ) -> Self:
        """Learn anew from rows in blocks that may be in several places; see `rounds`."""
        with self._trial() as trial:
            seen = blocks.seen
            n_entries = self.n_features_in_ if seen is None else int(seen.sum())
            learned = learn(blocks, (n_entries + 1, self._n_outputs()), tol, max_rounds, watch)
            trial.weights_ = read_only(learned.weights[:-1])
            trial.intercept_ = read_only(learned.weights[-1].astype(np.float64))
            trial.seen_ = None if seen is None else np.packbits(seen)
            trial.n_seen_, trial.n_iter_ = blocks.n_rows, learned.n_rounds
            trial.objective_, trial.dual_gap_ = learned.objective, learned.gap
            for name in ("_batch_state", "_duals", "_tables"):  # they are of other rows
                trial.__dict__.pop(name, None)
        if learned.relative_gap > tol:
            warnings.warn(
                f"{type(self).__name__} did not converge in {counted(learned.n_rounds, 'round')}: "
                f"its duality gap is {learned.relative_gap:.2g} of the objective, tol is {tol:g}; "
                "raise max_rounds or tol, or have fewer blocks.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _check_target(self, X: Any, y: Any) -> None:
        n_rows = X.shape[0] if len(getattr(X, "shape", ())) == 2 else None
        check_target(y, n_rows, classes=is_classifier(self), owner=type(self).__name__)

    def _copy(self: Self) -> Self:
        """A shallow copy with all attributes, also those that ``copy`` leaves out as unstored."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, self._losses)
        check_number("tol", self.tol, 0.0)
        check_int("max_iter", self.max_iter, 1, (1 << 63) - 1)
        check_bool("fit_intercept", self.fit_intercept)
        check_bool("warm_start", self.warm_start)
        check_number("epsilon", getattr(self, "epsilon", 0.0), 0.0)

    def _checked_task(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Targets]:
        self._check_parameters()
        self.__dict__.pop("_batch_state", None)  # it is of other rows
        self._check_target(X, y)
        self.seed_ = seed_of(self.random_state)
        X = self._checked_rows(X, y, reset=True)
        if X.shape[0] > MAX_ROWS:
            raise ValueError(
                f"X has {X.shape[0]:,} rows, but fit takes at most {MAX_ROWS:,}: "
                "use partial_fit with batches of rows."
            )
        self.n_seen_ = X.shape[0]
        return with_equal_rows_united(X, self._targets(X, y, sample_weight))

    def _checked_rows(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        """``X`` as codes or a checked matrix; of the kind and width of `fit`, unless ``reset``."""
        if isinstance(X, Codes):
            if reset:
                if len(X) == 0:
                    raise ValueError("X has no rows: at least 1 is needed.")
                self.bits_, self.n_slots_, self.provenance_ = X.bits, X.n_components, X.provenance
                self.n_features_in_ = X.n_components << X.bits
                self.__dict__.pop("feature_names_in_", None)
                check_consistent_length(X, y)
            else:
                self._refuse_other_codes(X)
            return X
        if not reset and self.bits_ is not None:
            raise ValueError(
                f"This {type(self).__name__} was fitted to Codes, got a matrix: encode X with the "
                "same fitted map first."
            )
        if reset:
            self.bits_ = self.n_slots_ = self.provenance_ = None
            if y is not None and hasattr(X, "shape"):
                check_consistent_length(X, y)
        return self._validated(X, reset=reset)

    def _refuse_other_codes(self, codes: Codes) -> None:
        if self.bits_ is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted to a matrix of "
                f"{counted(self.n_features_in_, 'feature')}, got Codes: pass such a matrix."
            )
        if codes.provenance != self.provenance_:
            raise ValueError(
                f"These codes were not made by the map whose codes this {type(self).__name__} was "
                f"fitted to (provenance {codes.provenance!r}, not {self.provenance_!r}): encode "
                "with the same fitted map."
            )
        if (codes.bits, codes.n_components) != (self.bits_, self.n_slots_):
            raise ValueError(
                f"These codes have {counted(codes.n_components, 'slot')} of "
                f"{counted(codes.bits, 'bit')}, but {type(self).__name__} was fitted to codes with "
                f"{self.n_slots_} of {self.bits_}: encode with the same number of components and "
                "bits."
            )

    def _design(self, X: Any, targets: Targets) -> DesignMatrix:
        """The design matrix, in the precision that the size of the problem and ``tol`` ask for."""
        fine = X.shape[0] * targets.n_outputs < SMALL or self.tol < FINE_TOL
        use = self._resources()
        if isinstance(X, Codes):
            return CodeDesign(X, np.float64 if fine else np.float32, use)
        return MatrixDesign(X, np.float64 if fine else X.dtype, use)

    def _resources(self) -> Resources:
        return resources(self.n_jobs)

    def _settings(self, factor: float = 1.0, seed: int | None = None) -> SolverSettings:
        return SolverSettings(
            loss=self.loss,
            epsilon=float(getattr(self, "epsilon", 0.0)),
            intercept=bool(self.fit_intercept),
            tol=factor * float(self.tol),
            max_iter=int(self.max_iter),
            seed=self.seed_ if seed is None else seed,
            threads=self._resources().threads,
        )

    def _keep(self, solver: Solver, weights: NDArray[Any], bias: NDArray[np.float64]) -> None:
        """Set the attributes of a fitted model: these weights, and what the solver reports."""
        if self.bits_ is not None and weights.dtype == np.float64:
            largest = np.abs(weights).max(initial=0.0)
            if np.isfinite(largest) and largest > np.finfo(np.float32).max:
                raise ValueError(
                    f"The weights reach {largest:g}, beyond single precision: scale y down."
                )
            weights = weights.astype(np.float32)
        self.weights_ = weights if self.bits_ is None else read_only(weights)
        self.intercept_ = bias if self.bits_ is None else read_only(bias)
        self.seen_ = np.packbits(solver.rows.seen) if isinstance(solver.rows, CodeDesign) else None
        self.n_iter_ = solver.n_iter
        self.objective_, self.dual_gap_ = solver.objective, solver.gap
        self._duals = solver.duals if self.warm_start else None
        self.__dict__.pop("_tables", None)

    def _warn_unless_converged(self, solver: Solver, finished: bool, stacklevel: int) -> None:
        gap = solver.relative_gap
        if finished and (solver.converged or gap <= self.tol):
            return
        reached = f"its duality gap is {gap:.2g} of the objective, tol is {self.tol:g}"
        if not finished and not np.isfinite(gap):
            reached = "its duality gap is not known"
        if finished:
            why = (
                f"did not converge in {counted(solver.n_iter, 'epoch')}: {reached}; "
                "raise max_iter or tol, lower C, or scale the data"
            )
        else:
            why = f"was interrupted after {counted(solver.n_iter, 'epoch')}: {reached}"
        warnings.warn(f"{type(self).__name__} {why}.", ConvergenceWarning, stacklevel=stacklevel)

    # --- Using

    @property
    def coef_(self) -> NDArray[Any]:
        """The coefficients of all features, (n_outputs, n_features).

        For codes this is a new array, read-only, with zeros for codes that did not occur in
        ``fit``.
        """
        if not hasattr(self, "weights_"):
            raise AttributeError(f"{type(self).__name__} has no coef_ before fit: call fit first.")
        if self.bits_ is None:
            return np.asarray(self.weights_.T)
        full = np.zeros((self.weights_.shape[1], self.n_features_in_), dtype=self.weights_.dtype)
        full[:, self._seen().reshape(-1)] = self.weights_.T
        return read_only(full)

    def _seen(self) -> NDArray[np.bool_]:
        """Which codes have weights, (slots, 2^bits)."""
        assert self.seen_ is not None
        assert self.n_slots_ is not None
        flags = np.unpackbits(self.seen_, count=self.n_features_in_)
        return flags.astype(bool).reshape(self.n_slots_, -1)

    def _scores(self, X: Any) -> NDArray[Any]:
        """The scores of rows, (n_rows, n_outputs)."""
        self._check_fitted()
        X = self._checked_rows(X, reset=False)
        if not isinstance(X, Codes):
            return np.asarray(
                safe_sparse_dot(X, self.weights_, dense_output=True) + self.intercept_
            )
        out = np.empty((len(X), self.weights_.shape[1]))
        self.code_scorer().scores(X, self.intercept_, out, self._resources())
        return out

    def code_scorer(self) -> CodeScorer:
        """The weights as prepared for scores of codes; a cache.

        Changes inside an array would not be noticed, so that the weights are read-only; other
        weights are assigned.
        """
        scorer: CodeScorer | None = self.__dict__.get("_tables")
        if scorer is None or not scorer.is_of(self.weights_, self.seen_):
            if may_change(self.weights_):
                self.weights_ = read_only(self.weights_.copy())
            self._tables = scorer = CodeScorer(self.weights_, self.seen_, self._seen())
        return scorer

    # --- Storing

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        # A cache, and what only further training uses.
        for name in ("_tables", "_batch_state", "_duals"):
            state.pop(name, None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def _n_outputs(self) -> int:
        """How many columns the weights must have."""

    def _settle(self) -> None:
        self._check_parameters()
        check_positive("C", self.C)
        resources(self.n_jobs)
        self.seed_ = seed_of(check_int("random_state", self.seed_))
        check_int("n_iter_", self.n_iter_, 0)
        check_int("n_seen_", self.n_seen_, 1)
        n_outputs = self._n_outputs()
        if isinstance(self.weights_, np.ndarray) and self.weights_.dtype == np.float16:
            self.weights_ = self.weights_.astype(np.float32)
        check_learned("weights_", self.weights_, ("float32", "float64"), 2)
        check_learned("intercept_", self.intercept_, ("float64",), 1)
        n_entries = self.n_features_in_
        if self.bits_ is not None:
            bits = check_int("bits_", self.bits_, 1, MAX_BITS)
            n_slots = check_int("n_slots_", self.n_slots_, 1)
            if not isinstance(self.provenance_, str) or n_slots << bits != self.n_features_in_:
                raise ValueError("provenance_, bits_ and n_slots_ do not match n_features_in.")
            check_learned("seen_", self.seen_, ("uint8",), 1)
            assert self.seen_ is not None
            if len(self.seen_) != -(-self.n_features_in_ // 8):
                raise ValueError(f"seen_ must have a bit for each of {self.n_features_in_} codes.")
            n_entries = int(np.unpackbits(self.seen_, count=self.n_features_in_).sum())
        elif any(each is not None for each in (self.seen_, self.n_slots_, self.provenance_)):
            raise ValueError("seen_, n_slots_ and provenance_ are for codes only.")
        if self.weights_.shape != (n_entries, n_outputs) or self.intercept_.shape != (n_outputs,):
            raise ValueError(
                f"weights_ and intercept_ must have the shapes {(n_entries, n_outputs)} and "
                f"{(n_outputs,)}, got {self.weights_.shape} and {self.intercept_.shape}."
            )
        for name in ("objective_", "dual_gap_"):  # which may be infinite
            value = getattr(self, name)
            expected = (np.float64, (n_outputs,))
            if not isinstance(value, np.ndarray) or (value.dtype, value.shape) != expected:
                raise ValueError(f"{name} must be an array of {n_outputs} float64 numbers.")
