"""KernelNystroem: any kernel by its values against a few landmarks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight.base import checks, counted
from kernelight.base.checks import Matrix, as_matrix
from kernelight.kernels import GMM, get
from kernelight.kernels.base import Kernel
from kernelight.kernels.plain import from_plain, to_plain
from kernelight.maps.base import DenseMap
from kernelight.maps.nystroem.landmarks import PRECOMPUTED, gram, kernel_against, spread_rows
from kernelight.state import State

_GMM = GMM()
# The parameter `landmarks` of a stored map whose landmarks the user passed as a matrix: they are
# stored once, as `components_`, and from there the parameter is restored.
_GIVEN = "given"
_BATCH_BYTES = 1 << 23  # about what one batch of rows takes beside the result


class KernelNystroem(DenseMap):
    r"""Nyström features of any kernel: exact on the landmarks, projected on their span elsewhere.

    With landmarks L, the features of a row x are h(x) = K(x, L) N, where N N^T = K(L, L)^+, so that

    .. math:: h(x) \cdot h(y) = K(x, L) K(L, L)^+ K(L, y).

    Landmarks get their kernel exactly, and no row more than its own: \|h(x)\|^2 <= K(x, x). Where
    K(L, L) = R^T R is far from singular, N = R^{-1}. Otherwise N = V D^{-1/2} of K(L, L) = V D V^T;
    eigenvalues that rounding could have made are dropped, so duplicated landmarks, rows of zeros
    and singular matrices do no harm.

    There is one column for each landmark, whatever the rank: columns left over are zero and stand
    last. So the number of columns is known before ``fit`` and does not depend on rounding. (The
    symmetric N = V D^{-1/2} V^T has the same inner products, but spreads the rounding of small
    eigenvalues over all columns.)

    Parameters
    ----------
    kernel : Kernel, str or callable, default=GMM()
        A kernel of this package, its name (see `kernels.get`), or a callable on two matrices that
        returns the (n, m) array of their similarities. With "precomputed", X holds similarities: of
        all training rows to each other at ``fit``, of new rows to all training rows at
        ``transform``. A kernel must be symmetric and positive semidefinite. If K(L, L) is not
        symmetric, or looks like distances, ``fit`` raises; if it has negative eigenvalues that
        rounding does not explain, they are dropped with a warning.
    n_components : int, default=256
        Landmarks; more than there are rows are cut to the rows, with a warning.
    landmarks : {"random", "kmeans++"}, array-like, sparse matrix or None, default=None
        None and "random" draw rows without replacement; "kmeans++" draws rows far from each other
        in the space of the kernel, at the price of one more evaluation of the kernel for each row
        and landmark. A matrix holds the landmarks themselves (for "precomputed": indices of
        training rows), and ``n_components`` is not used.
    random_state : int, RandomState, Generator or None, default=0
        Draws the landmarks.

    Attributes
    ----------
    components_ : array or sparse matrix of shape (n_components_, n_features)
        The landmarks; None for "precomputed".
    component_indices_ : array of shape (n_components_,) or None
        Which training rows they are; None for landmarks that were given as rows.
    normalization_ : array of shape (n_components_, rank)
        N, upper triangular or with a column for each eigenvalue.
    n_components_ : int
        The number of landmarks.
    kernel_ : Kernel, callable or "precomputed"
        What ``kernel`` stood for.
    seed_ : int
        The seed that ``random_state`` stood for.

    See Also
    --------
    feature_map : The map of a kernel.
    GCWS : Codes of min-max kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import KernelNystroem
    >>> X = np.array([[2.0, -1.0, 3.0], [1.0, -2.0, 3.0], [0.5, 1.0, 0.0]])
    >>> nystroem = KernelNystroem(n_components=2, landmarks=X[:2]).fit(X)
    >>> features = nystroem.transform(X)
    >>> features.shape
    (3, 2)
    >>> (features @ features.T)[:2, :2].round(3)
    array([[1.   , 0.714],
           [0.714, 1.   ]])
    """

    _decided: ClassVar[tuple[str, ...]] = ("seed_",)
    _learned: ClassVar[tuple[str, ...]] = (
        "_landmark_values",
        "_landmark_columns",
        "_landmark_starts",
        "component_indices_",
        "normalization_",
    )
    kernel: Any = _GMM  # here a parameter, whatever it is given as; `kernel_` is the kernel

    def __init__(
        self,
        kernel: Any = _GMM,
        n_components: int = 256,
        *,
        landmarks: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.landmarks = landmarks
        self.random_state = random_state

    @classmethod
    def for_kernel(cls, kernel: Kernel, n_components: int = 256, **options: Any) -> KernelNystroem:
        """For any kernel."""
        return cls._configured(kernel, {"kernel": kernel, "n_components": n_components}, options)

    def _fit(self, X: Any, y: Any) -> None:
        """Choose landmarks and decompose their kernel matrix. ``y`` is ignored."""
        X = self._validated(X, reset=True)
        self.kernel_ = _kernel_of(self.kernel)
        self.seed_ = checks.seed_of(self.random_state)
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                "kernel='precomputed' is fitted on the square matrix of the kernel of all training "
                f"rows, got {X.shape[0]} rows and {X.shape[1]} columns."
            )
        landmarks = self._choose(X)
        self._hold(None if self._precomputed else landmarks)
        # One row of the kernel tells its precision.
        first = landmarks[:1] if not self._precomputed else X[:1]
        precision = kernel_against(self.kernel_, landmarks)(first).dtype
        self.normalization_ = _inverse_root(gram(self.kernel_, X, landmarks), precision)
        self._settle()

    def _validated(self, X: Any, *, reset: bool) -> Matrix:
        if self._pairwise and isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
            as_matrix(X)  # as scikit-learn has it: a bad value is named before a bad shape
        return super()._validated(X, reset=reset)

    @property
    def _pairwise(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == PRECOMPUTED

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel_, str)

    def _choose(self, X: Matrix) -> Any:
        """The landmarks: rows, or for "precomputed" row indices."""
        self.component_indices_ = None
        n = X.shape[0]
        wanted = checks.check_int("n_components", self.n_components, 1)
        if self.landmarks is not None and not isinstance(self.landmarks, str):
            if self._precomputed:
                self.component_indices_ = checks.as_row_indices(self.landmarks, n, name="landmarks")
                return self.component_indices_
            given = as_matrix(self.landmarks, name="landmarks")
            checks.check_same_width(X, given, name="landmarks")
            _refuse_other_names(self.landmarks, getattr(self, "feature_names_in_", None))
            if not given.shape[0]:
                raise ValueError("landmarks must have at least one row.")
            return given.copy()
        checks.check_choice("landmarks", self.landmarks, (None, "random", "kmeans++"))
        if wanted > n:
            warnings.warn(
                f"n_components={wanted} is more than the {counted(n, 'row')}: all rows are "
                "landmarks.",
                UserWarning,
                stacklevel=4,
            )
        rng = np.random.default_rng(self.seed_)
        if self.landmarks == "kmeans++":
            chosen = spread_rows(self.kernel_, X, min(wanted, n), rng)
        else:
            chosen = rng.permutation(n)[:wanted]
        self.component_indices_ = chosen.astype(np.int64)
        return self.component_indices_ if self._precomputed else X[chosen]

    def _hold(self, landmarks: Matrix | None) -> None:
        """Keep landmarks as arrays; sparse ones as the three arrays of CSR."""
        self._landmark_values = self._landmark_columns = self._landmark_starts = None
        if landmarks is not None:
            self._landmark_values, self._landmark_columns, starts, _ = checks.core_args(landmarks)
            self._landmark_starts = starts

    @property
    def components_(self) -> Matrix | None:
        """The landmarks, or None for "precomputed"."""
        if self._landmark_starts is None:
            return self._landmark_values
        shape = (len(self._landmark_starts) - 1, self.n_features_in_)
        return sp.csr_matrix(
            (self._landmark_values, self._landmark_columns, self._landmark_starts), shape=shape
        )

    def _settle(self) -> None:
        self.kernel_ = _kernel_of(self.kernel)
        self.seed_ = checks.seed_of(checks.check_int("seed_", self.seed_))
        checks.check_learned("normalization_", self.normalization_, ("float64",), 2)
        self.n_components_ = self.normalization_.shape[0]
        self._triangular = (
            self.normalization_.shape[1] == self.n_components_
            and not np.tril(self.normalization_, -1).any()
        )
        landmarks = self._checked_landmarks()
        count = landmarks.shape[0]
        if self.component_indices_ is not None:
            checks.check_learned("component_indices_", self.component_indices_, ("int64",), 1)
            if self.component_indices_.size != count:
                raise ValueError(
                    f"component_indices_ has {counted(self.component_indices_.size, 'number')} for "
                    f"{counted(count, 'landmark')}."
                )
        if not 1 <= count == self.n_components_ >= self.normalization_.shape[1]:
            raise ValueError(
                f"normalization_ of shape {self.normalization_.shape} does not belong to "
                f"{counted(count, 'landmark')}."
            )
        if isinstance(self.kernel_, Kernel):
            self.kernel_.prepare(landmarks, name="landmarks")
        if isinstance(self.landmarks, str) and self.landmarks == _GIVEN:
            self.landmarks = landmarks

    def _checked_landmarks(self) -> Any:
        """What `kernel_against` compares rows with, checked: a state may hold anything."""
        if self._precomputed:
            return checks.as_row_indices(
                self.component_indices_, self.n_features_in_, name="component_indices_"
            )
        sparse = self._landmark_starts is not None
        checks.check_learned(
            "landmarks", self._landmark_values, ("float32", "float64"), 1 if sparse else 2
        )
        for index in (self._landmark_columns, self._landmark_starts) if sparse else ():
            checks.check_learned("indices of sparse landmarks", index, ("int32", "int64"), 1)
        landmarks = as_matrix(self.components_, name="landmarks")
        if landmarks.shape[1] != self.n_features_in_:
            raise ValueError(
                f"landmarks have {counted(landmarks.shape[1], 'feature')}, not "
                f"{self.n_features_in_}."
            )
        return landmarks

    def _features(self, X: Matrix) -> NDArray[Any]:
        of_rows = kernel_against(
            self.kernel_, self.component_indices_ if self._precomputed else self.components_
        )
        rank = self.normalization_.shape[1]
        features = np.empty((X.shape[0], self.n_components_), X.dtype)
        features[:, rank:] = 0
        for part in self._batches(X):
            features[part, :rank] = self._normalized(of_rows(X[part]))
        return features

    def _normalized(self, K: NDArray[Any]) -> NDArray[Any]:
        """``K`` times the normalization.

        A triangular one is half the work, and overwrites ``K``.
        """
        root = self.normalization_.astype(K.dtype, copy=False)
        if not self._triangular:
            return np.asarray(K @ root)
        multiply = scipy.linalg.get_blas_funcs("trmm", (root, K))
        fresh = isinstance(self.kernel_, Kernel)  # a callable may return an array that it keeps
        return np.asarray(multiply(1.0, root, K.T, trans_a=1, overwrite_b=fresh).T)

    def _batches(self, X: Matrix) -> Iterator[slice]:
        width = self.n_components_ + (0 if sp.issparse(X) else X.shape[1])
        step = max(1, _BATCH_BYTES // (8 * width))
        return (slice(start, start + step) for start in range(0, X.shape[0], step))

    def transform(self, X: Any) -> NDArray[Any]:
        """The features of each row: a dense (n, n_components_) array.

        float32 for float32 rows, else float64.
        """
        return super().transform(X)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    @property
    def theory_gap(self) -> str:
        """Why ``expected`` is not known."""
        return (
            "The error of Nyström features depends on the data and has no closed form; they are "
            "exact on the landmarks, "
            "and the inner product of a row with itself never exceeds its kernel."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._pairwise
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _plain_params(self) -> dict[str, Any]:
        """Parameters as ``fit`` used them; landmarks that were given are among the arrays."""
        kernel = self.kernel_
        if not isinstance(kernel, (Kernel, str)):
            raise ValueError(
                "A map with a callable for a kernel cannot be stored: use a kernel of kernelight, "
                "or pickle it."
            )
        chosen = self.landmarks is None or isinstance(self.landmarks, str)
        return {
            "kernel": kernel if isinstance(kernel, str) else to_plain(kernel),
            "n_components": self.n_components,
            "landmarks": self.landmarks if chosen else _GIVEN,
            "random_state": self.seed_,
        }

    @classmethod
    def _params_of(cls, state: State) -> dict[str, Any]:
        params = super()._params_of(state)
        if not isinstance(params["kernel"], str):
            params["kernel"] = from_plain(params["kernel"])
        return params


def _kernel_of(kernel: Any) -> Any:
    """What the parameter ``kernel`` stands for."""
    if isinstance(kernel, str):
        return kernel if kernel == PRECOMPUTED else get(kernel)
    if isinstance(kernel, type) or not callable(kernel):
        raise TypeError(
            "kernel must be a kernel such as GMM(), the name of one, a callable on two matrices or "
            f"'precomputed', got {kernel!r}."
        )
    return kernel


def _refuse_other_names(landmarks: Any, names: Any) -> None:
    """Refuse a frame of landmarks whose columns are not those of the rows.

    Only where both have names.
    """
    columns = list(getattr(landmarks, "columns", ()))
    if names is None or not columns or not all(isinstance(name, str) for name in columns):
        return
    if columns != list(names):
        raise ValueError(
            "The columns of landmarks must have the names of those of X, in the same order: pass "
            "landmarks[X.columns]."
        )


def _inverse_root(K: NDArray[np.float64], precision: np.dtype[Any]) -> NDArray[np.float64]:
    """A matrix N with N N^T = K^+, for a kernel computed with the rounding of ``precision``.

    R^-1 of K = R^T R where K is far from singular: that takes a tenth of the time. Otherwise V
    D^(-1/2) of K = V D V^T.
    """
    peak = float(np.abs(K).max(initial=0.0)) or 1.0  # so that no square overflows or vanishes
    eps = float(np.finfo(precision).eps)
    root = _triangular_root(K / peak, eps)
    if root is None:
        root = _spectral_root(K / peak, eps)
    return np.ascontiguousarray(root / np.sqrt(peak))


def _triangular_root(K: NDArray[np.float64], eps: float) -> NDArray[np.float64] | None:
    """R^-1 of K = R^T R, or None if the condition of K may exceed 1/sqrt(eps).

    Rounding is amplified by the condition.
    """
    R, failed = scipy.linalg.lapack.dpotrf(K)
    if failed:
        return None
    reciprocal, _ = scipy.linalg.lapack.dpocon(R, np.abs(K).sum(axis=0).max())
    return None if reciprocal < np.sqrt(eps) else scipy.linalg.lapack.dtrtri(R)[0]


def _spectral_root(K: NDArray[np.float64], eps: float) -> NDArray[np.float64]:
    """V D^(-1/2), by falling eigenvalue.

    Eigenvalues that rounding could have made, up to about k eps d_max, are dropped.

    Small eigenvalues have columns of their own, so that their rounding stays there. The sign of an
    eigenvector is chosen so that its largest entry is positive: then another library gives the same
    features.
    """
    values, vectors = scipy.linalg.eigh(K, overwrite_a=True, check_finite=False, driver="evd")
    # far beyond rounding, also that of an arc cosine
    lowest = -min(0.1, len(K) * np.sqrt(eps)) * values[-1]
    if values[0] < lowest:
        warnings.warn(
            "The kernel is not positive semidefinite on the landmarks: its negative part is lost, "
            "and features do not have the kernel even there.",
            UserWarning,
            stacklevel=5,
        )
    kept = values > len(K) * eps * values[-1]
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    if not values.size:
        return np.zeros((len(K), 0))
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(values.size)]
    return np.asarray(vectors * (np.copysign(1.0, largest) / np.sqrt(values)))
