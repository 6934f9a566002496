"""What linear models share: rows of three kinds, one solver, weights of codes that occur, files.

Long, because learning at once, along a path of C and by batches set the same attributes.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from kernelight.base import counted
from kernelight.base.checks import (
    Resources,
    check_bool,
    check_choice,
    check_int,
    check_learned,
    check_number,
    check_positive,
    refuse_masked,
    resources,
    seed_of,
)
from kernelight.base.estimator import StoredEstimator
from kernelight.codes import Codes
from kernelight.codes.slots import MAX_BITS
from kernelight.linear.code_layout import code_layout
from kernelight.linear.design import (
    CodeDesign,
    DesignMatrix,
    MatrixDesign,
    Targets,
    code_view,
    groups_of,
    packed_width,
    spans,
)
from kernelight.linear.replay import (
    KNOWN,
    MEMORY_BYTES,
    Ledger,
    Pass,
    ReplayBuffer,
    count_equal,
    n_epochs,
    recognised,
    replay,
)
from kernelight.linear.solver import Mean, Solver, SolverSettings

Self = TypeVar("Self", bound="LinearModel")

SMALL = 100_000  # rows times outputs below which double precision is used
FINE_TOL = 1e-5  # single precision does not certify less
MAX_ROWS = 2**31 - 1
# losses whose duals are at most the cost of a row
BOUNDED = ("hinge", "logistic", "epsilon_insensitive")
# what partial_fit keeps from batch to batch
BATCH_STATE = ("_memory", "_ledger", "_mean", "_batch_C", "_pass")


class RegularizationPath(NamedTuple):
    """What `fit_path` returns: a model for each C, and its validation score (None without
    validation rows)."""

    Cs: NDArray[np.float64]
    scores: NDArray[np.float64] | None
    models: list[Any]

    @property
    def best(self) -> Any:
        """The model with the highest score; of equal ones that with the smallest C."""
        if self.scores is None:
            raise ValueError("There are no scores to choose by: give fit_path validation=(X, y).")
        return self.models[int(np.argmax(self.scores))]


class LinearModel(StoredEstimator, ABC):
    """A linear model of `Codes`, dense or CSR rows, learned by dual coordinate descent to a
    certificate.

    ``weights_`` has one row for each column of a matrix, or for each code that occurs in a slot;
    `coef_` is the usual array.
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
    # ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def _targets(self, X: Any, y: Any, sample_weight: Any) -> Targets:
        """Targets with costs for C = 1; sets what depends on ``y`` alone, such as the classes."""

    @abstractmethod
    def _batch_targets(
        self, X: Any, y: Any, sample_weight: Any, classes: Any, first: bool
    ) -> Targets:
        """The targets of one batch of several, with costs for C = 1."""

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows ``X`` (`Codes`, a dense array or a sparse matrix) and targets ``y``.

        A fit that fails leaves the model as it was. An interrupt (Ctrl-C) during the epochs leaves
        the model of the last epoch, with a ConvergenceWarning, and goes on as KeyboardInterrupt.
        """
        with self._trial() as trial:
            finished = trial._fit(X, y, sample_weight)
        if not finished:
            raise KeyboardInterrupt
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> bool:
        C = check_positive("C", self.C)
        X, targets = self._checked_task(X, y, sample_weight)
        solver = Solver(self._rows(X, targets), targets.scaled(C), self._settings())
        start = getattr(self, "_duals", None)
        if self.warm_start and start is not None and start.shape == (X.shape[0], targets.n_outputs):
            solver.start_from(self._feasible(start, targets, C))
        finished = solver.run()
        self._keep(solver)
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
        """One model for each C, each to its certificate, each started from the one before.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        Cs : sequence of float
            Sorted before use; the result is in ascending order.
        validation : (X, y), optional
            Rows to score every model on, with its own ``score``.

        Returns
        -------
        Path
            With ``Cs``, ``scores``, ``models`` and ``best``. This object itself stays as it was.
        """
        values = np.unique(
            [check_positive("Each of Cs", C) for C in np.atleast_1d(np.asarray(Cs, dtype=object))]
        )
        if not len(values):
            raise ValueError("Cs must hold at least one number.")
        if validation is not None and (
            not isinstance(validation, (tuple, list)) or len(validation) != 2
        ):
            raise ValueError(
                f"validation must be a pair (X, y) of rows and targets, got "
                f"{type(validation).__name__}."
            )
        with_targets = self._copy()
        X, targets = with_targets._checked_task(X, y, sample_weight)
        solver = Solver(
            with_targets._rows(X, targets),
            targets.scaled(float(values[0])),
            with_targets._settings(),
        )
        models, scores = [], []
        for at, C in enumerate(values.tolist()):
            if at:
                solver.set_targets(targets.scaled(C), C / values[at - 1])
            before = solver.n_iter
            if not solver.run():
                raise KeyboardInterrupt
            model = with_targets._copy()
            model.C = C
            model._keep(solver)
            model.n_iter_ = solver.n_iter - before
            model._warn_unless_converged(solver, True, stacklevel=3)
            models.append(model)
            if validation is not None:
                scores.append(model.score(*validation))
        return RegularizationPath(
            values, np.asarray(scores) if validation is not None else None, models
        )

    def _learn_batch(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> None:
        """Go on learning from more rows: see `_stream`. Leaves no certificate."""
        C = check_positive("C", self.C)
        first = not hasattr(self, "weights_")
        self._check_parameters()
        if first:
            self.seed_ = seed_of(self.random_state)
            self.n_seen_ = 0
        X = self._checked_rows(X, y, reset=first)
        if X.shape[0] == 0:
            raise ValueError("X has no rows: a batch needs at least 1.")
        self._refuse_no_target(y)
        check_consistent_length(X, y)
        targets = self._batch_targets(X, y, sample_weight, classes, first)
        dtype = np.float32 if isinstance(X, Codes) else X.dtype if first else self.weights_.dtype
        self._follow_costs(C)
        batch, memory, ledger = self._recognised(ReplayBuffer.of(X, targets, dtype))
        random = np.random.default_rng([self.seed_, self.n_seen_])
        work, chosen = batch, np.zeros(0, dtype=np.intp)
        if memory is not None and len(memory):
            chosen = np.sort(random.permutation(len(memory))[: replay(X)])
            work = batch.joined(memory.take(chosen))
        seen = self._seen() if not first and self.bits_ is not None else None
        use = self._resources()
        rows = (
            CodeDesign(work.rows, dtype, use, seen)
            if isinstance(X, Codes)
            else MatrixDesign(work.rows, dtype, use)
        )
        solver = Solver(
            rows, work.targets(targets).scaled(C), self._settings(self.seed_ + self.n_seen_)
        )
        last = getattr(self, "_mean", None)
        if first:
            n_weights = 0 if isinstance(X, Codes) else X.shape[1]
            mean = Mean(np.zeros((n_weights, targets.n_outputs)), np.zeros(targets.n_outputs), 0)
        else:
            mean = Mean(self.weights_, self.intercept_, KNOWN if last is None else last.count)
            # a model that was fitted or loaded goes on from itself
            start = mean if last is None else last
            dual = self._feasible(work.dual, work.targets(targets), C)
            solver.resume(start.weights, start.bias, seen, work.dual, dual)
        average = solver.visit(n_epochs(X), mean, seen)
        dual = solver.duals
        batch = batch.with_duals(dual[: len(batch)])
        if memory is not None:
            known = memory.dual.copy()
            known[chosen] = dual[len(batch) :]
            batch = memory.with_duals(known).joined(batch)
        n_seen = self.n_seen_ + X.shape[0]
        self._keep(solver)
        # the last weights, to go on from
        self._mean = Mean(self.weights_, self.intercept_, average.count)
        self.weights_, self.intercept_ = average.weights.astype(self.weights_.dtype), average.bias
        self._memory, gone = batch.within(MEMORY_BYTES)
        self._ledger = gone if ledger is None else ledger.joined(gone)
        self._batch_C = C
        self.n_seen_ = n_seen
        self.n_iter_ = n_epochs(X)
        self.objective_ = self.dual_gap_ = np.full(targets.n_outputs, np.nan)

    def _recognised(
        self, batch: ReplayBuffer
    ) -> tuple[ReplayBuffer, ReplayBuffer | None, Ledger | None]:
        """The batch, going on from the duals its rows had in the pass before, and what is
        remembered of other rows."""
        now: Pass = getattr(self, "_pass", Pass())
        memory, ledger = getattr(self, "_memory", None), getattr(self, "_ledger", None)
        n_equal = count_equal(batch, memory, ledger)
        if memory is not None and ledger is not None and now.ends_before(batch, n_equal):
            memory, ledger, now, n_equal = memory.next_pass(), ledger.next_pass(), Pass(), 0
        self._pass = now.followed_by(batch, n_equal)
        batch, (memory, ledger) = recognised(batch, memory, ledger)
        return batch, memory, ledger

    def _follow_costs(self, C: float) -> None:
        """Where C is another than for the last batch, start the mean anew, and bring duals within a
        smaller C: those of rows that are no longer there have their part in the weights as well, so
        that everything shrinks together."""
        last = getattr(self, "_batch_C", C)
        if last == C:
            return
        mean: Mean = self._mean
        shrink = C / last if last > C and self.loss in BOUNDED else 1.0
        self._mean = Mean(mean.weights * mean.weights.dtype.type(shrink), mean.bias * shrink, 0)
        self._memory = self._memory.with_duals(
            self._memory.dual * self._memory.dual.dtype.type(shrink)
        )
        self._ledger = self._ledger.scaled(shrink)

    def _refuse_no_target(self, y: Any) -> None:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        refuse_masked("y", y)

    def _copy(self: Self) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, self._losses)
        check_number("tol", self.tol, 0.0)
        check_int("max_iter", self.max_iter, 1, (1 << 63) - 1)
        check_bool("fit_intercept", self.fit_intercept)
        check_bool("warm_start", self.warm_start)
        check_number("epsilon", getattr(self, "epsilon", 0.0), 0.0)

    def _checked_task(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Targets]:
        self._check_parameters()
        for name in BATCH_STATE:  # what partial_fit remembers is of other rows
            self.__dict__.pop(name, None)
        self._refuse_no_target(y)
        self.seed_ = seed_of(self.random_state)
        X = self._checked_rows(X, y, reset=True)
        if X.shape[0] > MAX_ROWS:
            raise ValueError(
                f"X has {X.shape[0]} rows; at most {MAX_ROWS} can be learned from at once."
            )
        return X, self._targets(X, y, sample_weight)

    def _checked_rows(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        """``X`` as codes or as a matrix the core can read, and of the kind and width of `fit`
        unless ``reset``."""
        if isinstance(X, Codes):
            if reset:
                if len(X) == 0:
                    raise ValueError("X has no rows: a minimum of 1 is required.")
                self.bits_, self.n_slots_, self.provenance_ = X.bits, X.n_components, X.provenance
                self.n_features_in_ = X.n_components << X.bits
                self.__dict__.pop("feature_names_in_", None)
                check_consistent_length(X, y)
            else:
                self._refuse_other_codes(X)
            return X
        if not reset and self.bits_ is not None:
            raise ValueError(
                f"This {type(self).__name__} was fitted to Codes; encode X with the same map "
                f"before it is used."
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
                f"{counted(self.n_features_in_, 'feature')}, not to Codes."
            )
        if codes.provenance != self.provenance_:
            raise ValueError(
                f"These codes are not of the map that made those {type(self).__name__} was fitted "
                f"to: their provenance "
                f"differs ({codes.provenance!r} and {self.provenance_!r}); encode with the same "
                f"fitted map."
            )
        if (codes.bits, codes.n_components) != (self.bits_, self.n_slots_):
            raise ValueError(
                f"These codes have {counted(codes.n_components, 'slot')} of "
                f"{counted(codes.bits, 'bit')}, those of fit had {self.n_slots_} of "
                f"{self.bits_}."
            )

    def _rows(self, X: Any, targets: Targets) -> DesignMatrix:
        """The rows in the precision that the size of the problem and the tolerance ask for."""
        fine = X.shape[0] * targets.n_outputs < SMALL or self.tol < FINE_TOL
        use = self._resources()
        if isinstance(X, Codes):
            return CodeDesign(X, np.float64 if fine else np.float32, use)
        return MatrixDesign(X, np.float64 if fine else X.dtype, use)

    def _resources(self) -> Resources:
        return resources(self.n_jobs)

    def _settings(self, seed: int | None = None) -> SolverSettings:
        return SolverSettings(
            loss=self.loss,
            epsilon=float(getattr(self, "epsilon", 0.0)),
            intercept=bool(self.fit_intercept),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            seed=self.seed_ if seed is None else seed,
            threads=self._resources().threads,
        )

    def _feasible(self, dual: NDArray[Any], targets: Targets, C: float) -> NDArray[Any]:
        """Duals of another fit within the bounds that the costs set."""
        if self.loss not in BOUNDED:
            return dual
        cost = (targets.row_cost * C)[:, None]
        if targets.labels is None:
            return np.asarray(np.clip(dual, -cost, cost))
        own = targets.labels[:, None] == np.arange(targets.n_outputs)
        bound = cost * np.where(own, targets.above, targets.below)
        return np.asarray(np.clip(dual, np.where(own, 0, -bound), np.where(own, bound, 0)))

    def _keep(self, solver: Solver) -> None:
        weights, bias = solver.coefficients()
        if self.bits_ is not None and weights.dtype == np.float64:
            if (
                weights.size
                and np.isfinite(weights).all()
                and np.abs(weights).max() > np.finfo(np.float32).max
            ):
                raise ValueError(
                    f"Weights up to {np.abs(weights).max():g} are beyond single precision: scale y "
                    f"down."
                )
            weights = weights.astype(np.float32)
        self.weights_ = weights
        self.intercept_ = bias
        self.seen_ = np.packbits(solver.rows.seen) if isinstance(solver.rows, CodeDesign) else None
        self.n_iter_ = solver.n_iter
        self.n_seen_ = solver.rows.n_rows
        self.objective_, self.dual_gap_ = solver.objective, solver.gap
        self._duals = solver.duals if self.warm_start else None
        self.__dict__.pop("_tables", None)

    def _warn_unless_converged(self, solver: Solver, finished: bool, stacklevel: int) -> None:
        if finished and solver.converged:
            return
        worst = max(group.relative_gap for group in solver.groups)
        reached = f"its duality gap is {worst:.2g} of the objective, tol is {self.tol:g}"
        if not finished and not np.isfinite(worst):
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
    # ------------------------------------------------------------------------------------------------------

    @property
    def coef_(self) -> NDArray[Any]:
        """Weights of all features, (outputs, n_features); for codes a new array, with zeros for
        codes that never occurred."""
        if not hasattr(self, "weights_"):
            raise AttributeError(f"{type(self).__name__} has no coef_ before fit.")
        if self.bits_ is None:
            return np.asarray(self.weights_.T)
        full = np.zeros((self.weights_.shape[1], self.n_features_in_), dtype=self.weights_.dtype)
        full[:, self._seen().reshape(-1)] = self.weights_.T
        return full

    def _seen(self) -> NDArray[np.bool_]:
        assert self.seen_ is not None
        assert self.n_slots_ is not None
        flags = np.unpackbits(self.seen_, count=self.n_features_in_)
        return flags.astype(bool).reshape(self.n_slots_, -1)

    def _scores(self, X: Any) -> NDArray[Any]:
        """The (n, outputs) scores of rows."""
        check_is_fitted(self)
        X = self._checked_rows(X, reset=False)
        if not isinstance(X, Codes):
            return np.asarray(
                safe_sparse_dot(X, self.weights_, dense_output=True) + self.intercept_
            )
        use = self._resources().for_work(X.array.size)
        out = np.empty((len(X), self.weights_.shape[1]))
        for outputs, layout, weights in self._prepared():
            view, which = code_view(X, layout, np.float32, use), slice(outputs.start, outputs.stop)
            margins = np.empty((len(X), weights.shape[1]), dtype=np.float32)
            bias = np.zeros(weights.shape[1], dtype=np.float32)
            for begin, end in spans(len(X), X.n_components, weights.shape[1]):
                view.margins(weights, bias, margins, begin, end, use.threads)
            # Intercepts in double precision: a large one would round what the weights say.
            np.add(margins[:, : len(outputs)], self.intercept_[which], out=out[:, which])
        return out

    def _prepared(self) -> Any:
        """For each group of outputs a layout of the codes with its weights; made once, never
        stored."""
        if "_tables" not in self.__dict__:
            seen = self._seen()
            tables = []
            for outputs in groups_of(self.weights_.shape[1]):
                width = packed_width(len(outputs))
                layout = code_layout(seen, width, 4)
                weights = np.zeros((layout.n_entries, width), dtype=np.float32)
                weights[layout.places(seen), : len(outputs)] = self.weights_[
                    :, outputs.start : outputs.stop
                ]
                tables.append((outputs, layout, weights))
            self._tables = tables
        return self._tables

    # --- Storing
    # ----------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        # Made anew, or of use only to the one who is learning.
        for name in ("_tables", *BATCH_STATE, "_duals"):
            state.pop(name, None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def _n_outputs(self) -> int:
        """How many columns of weights there must be."""

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
                raise ValueError("provenance_, bits_ and n_slots_ do not fit n_features_in.")
            check_learned("seen_", self.seen_, ("uint8",), 1)
            assert self.seen_ is not None
            if len(self.seen_) != -(-self.n_features_in_ // 8):
                raise ValueError(f"seen_ must have a bit for each of {self.n_features_in_} codes.")
            n_entries = int(np.unpackbits(self.seen_, count=self.n_features_in_).sum())
        elif any(each is not None for each in (self.seen_, self.n_slots_, self.provenance_)):
            raise ValueError("seen_, n_slots_ and provenance_ are for codes only.")
        if self.weights_.shape != (n_entries, n_outputs) or self.intercept_.shape != (n_outputs,):
            raise ValueError(
                f"weights_ and intercept_ must be {(n_entries, n_outputs)} and {(n_outputs,)}, got "
                f"{self.weights_.shape} "
                f"and {self.intercept_.shape}."
            )
        for name in ("objective_", "dual_gap_"):  # which may be infinite
            found = getattr(self, name)
            if not isinstance(found, np.ndarray) or (found.dtype, found.shape) != (
                np.float64,
                (n_outputs,),
            ):
                raise ValueError(f"{name} must be {counted(n_outputs, 'number')} of float64.")
