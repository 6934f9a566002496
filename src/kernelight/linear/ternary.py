"""TernaryClassifier: coefficients -1, 0 and 1 on bits or dense features, in a few kilobytes."""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from kernelight.base import checks, counted
from kernelight.base.estimator import StoredEstimator, labels_from_plain, plain_labels
from kernelight.base.targets import check_target
from kernelight.codes import Codes, slots_provenance
from kernelight.codes.slots import n_words
from kernelight.linear.classifier import class_factors, class_weight_from_plain, plain_class_weight
from kernelight.linear.equal_rows import MOST_UNITED, united_rows
from kernelight.linear.memory_report import MemoryReport
from kernelight.linear.ternary_fit import TernaryProblem, full_precision, minimise, rounded_start
from kernelight.linear.ternary_loss import LOSSES
from kernelight.linear.ternary_planes import TernaryPlanes
from kernelight.linear.ternary_rows import as_codes, refuse_packed
from kernelight.state import State, read_only

Self = TypeVar("Self", bound="TernaryClassifier")
MAX_SLOTS = 1 << 24


class TernaryClassifier(ClassifierMixin, StoredEstimator):  # type: ignore[misc]  # scikit-learn has no types
    r"""A linear classifier with coefficients -1, 0 and 1, on codes of 1 bit or dense features.

    A row z is the bits of its code as signs, in {-1, 1}^k, or k numbers such as random Fourier
    features. The score of a class is alpha (w . z) + b, with a scale alpha and a bias b for each
    class. Each class against the rest (for two classes, the second against the first) minimises

    .. math:: \frac1n \sum_i \ell\bigl(y_i (\alpha\, w \cdot z_i + b)\bigr)
        + \Bigl(\lambda_0 + \frac{r \alpha^2}{C n}\Bigr) |w|_0 , \qquad w \in \{-1, 0, 1\}^k,

    over n rows (with sample weights, n is their sum), where r = k for codes and 1/2 for dense
    features. w . z needs no multiplications: for codes, with the bits P of coefficients +1 and M of
    those that are not 0, it is |M| - 2 popcount((z xor P) and M); for dense features it is sums.

    A coefficient on a dense feature does the work of several on bits, so that models of dense
    features are smaller; bits are scored faster. Dense features should be of one magnitude, as
    those of a map are, because all of a class share its scale.

    Binary codes of a kernel with ternary coefficients and inference by popcount are the idea of Lei
    and Lan (Memory and Computation-Efficient Kernel SVM via Binary Embedding and Ternary Model
    Coefficients, AAAI 2021). The optimiser is kernelight's own: it starts from the nearest ternary
    vector to a full-precision model and sets one coefficient after the other to the best of its
    three values, exactly for every loss; scale and bias are fitted in between. The objective never
    rises, and the descent ends where no change of a single coefficient lowers it.

    Parameters
    ----------
    loss : {"squared_hinge", "logistic", "squared"}, default="squared_hinge"
    C : float, default=10.0
        Inverse of the regularization strength, as for `LinearClassifier` on the same rows.
    sparsity : float, default=0.0
        The least fraction of coefficients of each class that are 0, below 1: it trades accuracy for
        size. Without it some 0.4 to 0.6 are 0; 0.7 often costs no accuracy. It is reached by a
        growing L0 penalty; where that would remove all coefficients of a class at once, the
        coefficients that matter least are set to 0 instead.
    l0 : float, default=0.0
        lambda_0, the L0 penalty to begin with: how much a coefficient must lower the mean loss.
    class_weight : dict or "balanced", optional
        Weights of the rows of each class; "balanced" gives each class the same sum of weights.
    max_iter : int, default=1000
        The most sweeps over all coefficients in each descent; a descent that ends there gives a
        ConvergenceWarning.
    random_state : int, RandomState, Generator or None, default=0
        Determines the order in which coefficients are visited.
    n_jobs : int, optional
        Number of threads; None uses all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels, sorted.
    coef_ : int8 array of shape (1, n_slots) or (n_classes, n_slots)
        The coefficients w of the signs of the bits, or of the features.
    scale_, intercept_ : float32 arrays of shape (1,) or (n_classes,)
        alpha and b.
    slots_ : int64 array of shape (n_slots,)
        The slots of the codes, or the features, that the coefficients belong to: all, unless
        `prune` removed some.
    provenance_ : str or None
        The provenance of the codes of ``fit``; codes of another one are refused. None for dense
        features.
    objective_path_ : array of shape (n_steps, 1) or (n_steps, n_classes)
        The objective after each fit of scale and bias, with the final penalty ``l0_``. Not stored.
    l0_ : array of shape (1,) or (n_classes,)
        The L0 penalty that ``sparsity`` needed; infinite where coefficients were set to 0 directly.
        Not stored.
    n_iter_ : int
        Sweeps of the last descent. Not stored.

    See Also
    --------
    LinearClassifier : Coefficients in full precision.
    BinaryFourier : A map that makes bits.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernelight import BinaryFourier, TernaryClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> binary = BinaryFourier(1024, sigma=30.0).fit(X)
    >>> codes = binary.encode(X)
    >>> model = TernaryClassifier().fit(codes[:1200], y[:1200])
    >>> sorted({int(value) for value in model.coef_.ravel()})
    [-1, 0, 1]
    >>> model.score(codes[1200:], y[1200:]) > 0.92
    True
    >>> model.memory_report().total
    2720

    Fewer coefficients on dense features:

    >>> from sklearn.pipeline import make_pipeline
    >>> from kernelight import RandomFourier
    >>> fourier = RandomFourier(256, features="phase", metric="euclidean", sigma=30.0)
    >>> small = make_pipeline(fourier, TernaryClassifier()).fit(X[:1200], y[:1200])
    >>> small.score(X[1200:], y[1200:]) > 0.92
    True
    >>> small[-1].memory_report().total
    800
    """

    _decided: ClassVar[tuple[str, ...]] = ("labels_", "provenance_", "seed_")
    _learned: ClassVar[tuple[str, ...]] = ("plus_", "used_", "scale_", "intercept_", "slots_")

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        C: float = 10.0,
        sparsity: float = 0.0,
        l0: float = 0.0,
        class_weight: Any = None,
        max_iter: int = 1000,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.C = C
        self.sparsity = sparsity
        self.l0 = l0
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    # --- Fit

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to rows and labels.

        If the fit fails or is interrupted, the model stays as it was.

        Parameters
        ----------
        X : Codes of 1 bit, dense array of shape (n_samples, n_features), or CSR matrix
            A dense array holds real features, kept in single precision. A CSR matrix must be the
            one-hot form of such codes, as ``transform`` of their map gives it, so that the model
            can be a step of a Pipeline. `predict` takes it too; it has no provenance.
        y : array of shape (n_samples,)
            Class labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
        """
        with self._trial() as trial:
            trial._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_parameters()
        rows = self._rows_to_fit(X, y)
        n_rows = rows.shape[0]
        check_target(y, n_rows, classes=True, owner="TernaryClassifier")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        check_consistent_length(rows, y)
        self.classes_, sides = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only, {self.classes_.tolist()[0]!r}: a classifier needs at least "
                "two."
            )
        weights = checks.as_row_weights(sample_weight, n_rows)
        factors = class_factors(self.class_weight, self.classes_, y, weights)
        if n_rows * len(self.classes_) < MOST_UNITED:
            united = united_rows(rows, sides, weights)
            if united is not None:
                counting, weights = united.counting
                rows, sides = rows[counting], sides[counting]
        weights = weights * factors[sides]
        if not weights.sum() > 0.0:
            raise ValueError(
                "The weights of all rows are 0: at least one row must have a sample weight and a "
                "class weight above 0."
            )
        self.labels_ = plain_labels(self.classes_)
        self.seed_ = checks.seed_of(self.random_state)
        self._optimise(rows, sides, weights)
        self.slots_ = np.arange(self.n_features_in_, dtype=np.int64)
        self._settle()

    def _rows_to_fit(self, X: Any, y: Any) -> Any:
        """``X`` as codes of 1 bit or as a checked dense matrix; sets what later rows must be."""
        if not isinstance(X, Codes) and not sp.issparse(X):
            refuse_packed(X)
            if y is not None and hasattr(X, "shape"):
                check_consistent_length(X, y)
            self.provenance_ = None
            return self._validated(X, reset=True)
        codes = as_codes(X)
        if not len(codes):
            raise ValueError("codes has no rows: fit needs at least one row.")
        self.__dict__.pop("feature_names_in_", None)
        self.provenance_, self.n_features_in_ = codes.provenance, codes.n_components
        return codes

    def _optimise(self, rows: Any, sides: NDArray[np.intp], weights: NDArray[np.float64]) -> None:
        resources = checks.resources(self.n_jobs)
        members = sides == np.arange(len(self.classes_))[:, None]
        members = members[1:] if len(members) == 2 else members
        problem = TernaryProblem.of(
            rows, members, weights, LOSSES[self.loss], float(self.l0), float(self.C)
        )
        model = full_precision(rows, sides, weights, float(self.C), self.seed_, self.n_jobs)
        point = rounded_start(problem, model, resources)
        generators = [np.random.default_rng([self.seed_, vector]) for vector in range(len(members))]
        self.objective_path_, self.l0_, converged = minimise(
            problem, point, float(self.sparsity), generators, int(self.max_iter), resources
        )
        self.n_iter_ = min(len(self.objective_path_), int(self.max_iter))
        if not converged:
            warnings.warn(
                "TernaryClassifier did not converge: coefficients still changed after "
                f"{counted(self.max_iter, 'sweep')}; raise max_iter.",
                ConvergenceWarning,
                stacklevel=4,
            )
        planes = TernaryPlanes.of(point.coefficients)
        self.plus_, self.used_ = planes.plus, planes.used
        self.scale_, self.intercept_ = point.scale.astype(np.float32), point.bias.astype(np.float32)

    def _check_parameters(self) -> None:
        checks.check_choice("loss", self.loss, tuple(LOSSES))
        checks.check_positive("C", self.C)
        checks.check_number("l0", self.l0, 0.0)
        if checks.check_number("sparsity", self.sparsity, 0.0, 1.0) == 1.0:
            raise ValueError("sparsity must be below 1: a model needs at least one coefficient.")
        checks.check_int("max_iter", self.max_iter, 1)
        checks.check_class_weight(self.class_weight)

    def _settle(self) -> None:
        self._check_parameters()
        checks.resources(self.n_jobs)
        self.seed_ = checks.seed_of(checks.check_int("seed_", self.seed_))
        self.classes_ = labels_from_plain(self.labels_)
        if self.provenance_ is not None and not isinstance(self.provenance_, str):
            raise TypeError(f"provenance_ must be a string, got {self.provenance_!r}.")
        checks.check_int("n_features_in", self.n_features_in_, 1, MAX_SLOTS)
        n_vectors = 1 if len(self.classes_) == 2 else len(self.classes_)
        if len(self.classes_) < 2:
            raise ValueError("labels_ must be those of at least two classes.")
        for name in ("scale_", "intercept_"):
            checks.check_learned(name, getattr(self, name), ("float32",), 1)
            if len(getattr(self, name)) != n_vectors:
                raise ValueError(
                    f"{name} must have {n_vectors} entries, one for each row of coef_."
                )
        checks.check_learned("slots_", self.slots_, ("int64",), 1)
        self.slots_ = read_only(checks.as_slot_numbers(self.slots_, self.n_features_in_))
        self._planes = TernaryPlanes(self.plus_, self.used_, len(self.slots_))
        self._planes.check(n_vectors)
        self._pruned_provenance = (
            None if self.provenance_ is None else slots_provenance(self.provenance_, self.slots_)
        )

    # --- Predict

    @property
    def coef_(self) -> NDArray[np.int8]:
        """The coefficients -1, 0 and 1, (1, n_slots) or (n_classes, n_slots)."""
        check_is_fitted(self)
        return read_only(self._planes.coefficients)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores alpha (w . z) + b: (n_samples, n_classes), or (n_samples,) for two classes.

        For two classes, positive scores are for the second of ``classes_``. The score of an empty
        row is b. ``X`` is of the kind of ``fit``. Codes may also be packed, (n_samples, n_words) of
        uint64 as `Codes.packed` has them; these have no provenance and no empty rows. Dense
        features are all of those of ``fit``, or those of ``slots_`` alone.
        """
        check_is_fitted(self)
        scale, bias = self.scale_.astype(np.float64), self.intercept_.astype(np.float64)
        if self.provenance_ is None:
            features = self._features(X)
            coefficients = self._planes.coefficients.T.astype(features.dtype)
            products: NDArray[np.float64] = (features @ coefficients).astype(np.float64)
            scores = products * scale + bias
        else:
            codes = as_codes(X) if sp.issparse(X) else X
            scores = self._planes.scores(self._words(codes), scale, bias, self.n_jobs)
            if isinstance(codes, Codes):
                scores[codes.empty] = bias
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the highest score for each row."""
        scores = self.decision_function(X)
        best = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _features(self, X: Any) -> NDArray[Any]:
        """The dense features that have coefficients."""
        if isinstance(X, Codes) or sp.issparse(X):
            what = "Codes" if isinstance(X, Codes) else "a sparse matrix"
            raise TypeError(
                "This TernaryClassifier was fitted to a dense array of "
                f"{counted(self.n_features_in_, 'feature')}, got {what}: pass such an array."
            )
        refuse_packed(X)
        pruned = len(self.slots_) < self.n_features_in_
        if pruned and np.ndim(X) == 2 and np.shape(X)[1] == len(self.slots_):
            return np.asarray(checks.as_matrix(X))
        X = self._validated(X, reset=False)
        return np.asarray(X[:, self.slots_] if pruned else X)

    def _words(self, codes: Any) -> Any:
        """The packed bits of rows, of the slots that have coefficients."""
        if isinstance(codes, np.ndarray) and codes.dtype == np.uint64:
            if codes.ndim != 2 or codes.shape[1] != n_words(len(self.slots_), 1):
                raise ValueError(
                    f"Packed codes of {counted(len(self.slots_), 'slot')} must have the shape "
                    f"(n_samples, {n_words(len(self.slots_), 1)}), got {codes.shape}."
                )
            return np.ascontiguousarray(codes)
        if not isinstance(codes, Codes):
            raise TypeError(
                f"This TernaryClassifier was fitted to codes of "
                f"{counted(self.n_features_in_, 'slot')}, got {type(codes).__name__}: encode rows "
                "with the same fitted map."
            )
        codes = as_codes(codes)
        if codes.provenance == self.provenance_ and codes.n_components == self.n_features_in_:
            pruned = len(self.slots_) < self.n_features_in_
            return (codes.take_slots(self.slots_) if pruned else codes).packed
        if codes.provenance == self._pruned_provenance and codes.n_components == len(self.slots_):
            return codes.packed
        if codes.provenance in (self.provenance_, self._pruned_provenance):
            raise ValueError(
                f"This model was fitted to codes of {counted(self.n_features_in_, 'slot')}, got "
                f"{counted(codes.n_components, 'slot')}: encode with the same fitted map."
            )
        raise ValueError(
            "These codes were not made by the map whose codes this TernaryClassifier was fitted "
            f"to (provenance {codes.provenance!r}, not {self.provenance_!r}): encode with the same "
            "fitted map."
        )

    # --- Size

    def prune(self: Self) -> Self:
        """A smaller model with equal scores: without the slots that have coefficients 0 only.

        It takes codes of the whole map, of which it selects ``slots_``, and codes of these slots
        alone: those of ``map.keep(model.slots_)``, which computes no others, or
        ``codes.take_slots(model.slots_)``. Of dense features it takes all, or ``X[:, slots_]``;
        their maps have no ``keep``.

        Examples
        --------
        >>> import numpy as np
        >>> from kernelight import SignProjection, TernaryClassifier
        >>> X = np.random.default_rng(0).standard_normal((200, 5))
        >>> y = X[:, 0] * X[:, 1] > 0
        >>> signs = SignProjection(256).fit(X)
        >>> model = TernaryClassifier(sparsity=0.75).fit(signs.encode(X), y)
        >>> small = model.prune()
        >>> len(small.slots_) <= 64, bool((small.coef_ != 0).all())
        (True, True)
        >>> few = signs.keep(small.slots_)
        >>> scores = model.decision_function(signs.encode(X))
        >>> bool((small.decision_function(few.encode(X)) == scores).all())
        True
        """
        check_is_fitted(self)
        coefficients = self.coef_
        kept = np.flatnonzero((coefficients != 0).any(axis=0))
        kept = kept if len(kept) else np.zeros(1, dtype=np.intp)  # codes have at least one slot
        pruned = copy(self)
        planes = TernaryPlanes.of(np.ascontiguousarray(coefficients[:, kept]))
        pruned.plus_, pruned.used_ = planes.plus, planes.used
        pruned.slots_ = self.slots_[kept]
        pruned._settle()
        return pruned

    def memory_report(self, map: Any = None) -> MemoryReport:
        """The memory of the model, in bytes, part by part.

        With the fitted ``map`` of the codes also that of its projections, stored or regenerated.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from kernelight import BinaryFourier, TernaryClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> binary = BinaryFourier(512).fit(X)
        >>> print(TernaryClassifier().fit(binary.encode(X), y).memory_report(binary))
        bytes
        model
          coefficients, 2 bits each             384
          scales and biases                      24
          labels                                 24
          (coefficients, 5 to a byte            309)
        model in all                            432
        projections stored
          signs                                  64
          Gaussian factors                    2,048
          permutations                          128
          lengths                             2,048
          phases                              2,048
          thresholds                          2,048
        with the model                        8,816
        projections made again from the seed
          seed                                    8
          bandwidth                               8
        with the model                          448
        """
        check_is_fitted(self)
        labels = self.labels_["values"]
        are_text = isinstance(labels[0], str)
        parts = {
            "coefficients, 2 bits each": self.plus_.nbytes + self.used_.nbytes,
            "scales and biases": self.scale_.nbytes + self.intercept_.nbytes,
            "labels": (
                sum(len(text.encode()) for text in labels) if are_text else self.classes_.nbytes
            ),
        }
        others = {"coefficients, 5 to a byte": self._planes.five_to_a_byte}
        if map is None:
            return MemoryReport(parts, alternatives=others)
        self._refuse_other_map(map)
        of_map = map.memory()
        return MemoryReport(parts, of_map["stored"], of_map["regenerated"], others)

    def _refuse_other_map(self, map: Any) -> None:
        """Refuse what is not the map of the rows of ``fit``, or does not tell its memory."""
        name, of_codes = type(map).__name__, self.provenance_ is not None
        made = "codes" if of_codes else "features"
        if not hasattr(map, "memory"):
            if not of_codes and hasattr(map, "transform"):
                raise TypeError(
                    f"{name} does not tell the bytes of its projections (it has no memory()): call "
                    "memory_report without it for the bytes of the model."
                )
            raise TypeError(
                f"map must be the fitted map of the {made}, such as BinaryFourier, got {name}."
            )
        if of_codes:
            known = (self.provenance_, self._pruned_provenance)
            same = self.provenance_ == "" or getattr(map, "provenance", None) in known
        else:
            same = not hasattr(map, "encode") and map.n_outputs == self.n_features_in_
        if not same:
            pruned = ", or for a pruned model its keep(model.slots_)" if of_codes else ""
            raise ValueError(
                f"This {name} is not the map of the {made} that the model was fitted to: pass that "
                f"one{pruned}."
            )

    # --- State

    def _plain_params(self) -> dict[str, Any]:
        return super()._plain_params() | {"class_weight": plain_class_weight(self.class_weight)}

    @classmethod
    def _params_of(cls, state: State) -> dict[str, Any]:
        params = dict(super()._params_of(state))
        return params | {"class_weight": class_weight_from_plain(params.get("class_weight"))}
