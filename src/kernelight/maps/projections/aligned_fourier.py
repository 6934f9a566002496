"""AlignedFourier: random Fourier features chosen by labels, as cosines and sines or as bits."""

from __future__ import annotations

import hashlib
import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kernelight import _core
from kernelight.base import checks
from kernelight.base.checks import Matrix
from kernelight.codes import Codes
from kernelight.kernels import RBF, Gaussian
from kernelight.kernels.base import Kernel
from kernelight.maps.base import CodeMap, DenseMap, UnsupportedKernel
from kernelight.maps.minmax.scheme import MAX_COMPONENTS
from kernelight.maps.projections.alignment import Candidates, target_of
from kernelight.maps.projections.chi2_ball import aligned_weights
from kernelight.maps.projections.projection import TURN
from kernelight.maps.projections.random_fourier import (
    bandwidth_in_use,
    check_metric,
    checked_bandwidth,
    fitted_bandwidth,
    row_rule,
)
from kernelight.maps.projections.readouts import BitReadout, FourierReadout
from kernelight.maps.projections.splitmix import drawn_by_weight
from kernelight.state import State

_CANDIDATES = 4  # for each frequency that is kept, unless asked otherwise


def _gives_bits(model: AlignedFourier) -> bool:
    if not model.binary:
        raise AttributeError(
            "AlignedFourier(binary=False) gives features, not codes: use transform, or binary=True "
            "for codes."
        )
    return True


class AlignedFourier(CodeMap, DenseMap):
    r"""Random Fourier features weighted by their agreement with labels (Sinha and Duchi, 2016).

    The weights are computed in closed form.

    Of N candidate frequencies w_l, drawn for a Gaussian kernel as for `RandomFourier`, each scores

    .. math:: v_l = \sum_c \Big| \sum_i (1[y_i = c] - \pi_c) \, e^{i w_l \cdot x_i} \Big|^2,

    \pi_c the fraction of rows of class c: what does not tell classes apart scores nothing. The
    weights q maximise v . q over q >= 0, \sum q = 1 and 1 / \sum q^2 >= ``n_effective``, and the
    kernel becomes

    .. math:: K_q(u, v) = \sum_l q_l \cos(w_l \cdot (u - v)).

    It pays where the Gaussian kernel is wrong for the labels: a bandwidth that is too narrow,
    columns that say nothing. Where the kernel is right already, plain features are as good or
    better.

    Parameters
    ----------
    n_components : int, default=1024
        Columns of the result at most: a cosine and a sine for each of n_components // 2
        frequencies, but at least one. For ``binary=True`` the bits of a code.
    n_candidates : int or None, default=None
        N; None means four for each frequency (for ``binary=True``, each bit) of the result.
    n_effective : float or None, default=None
        Between 1 (the best candidate alone) and N (all the same, so plain features). None means the
        number of frequencies of the result, or of bits.
    rho : float or None, default=None
        The same in the words of the paper, N \sum q^2 - 1 <= rho; n_effective = N / (1 + rho). Give
        one of the two.
    weighting : {"sqrt", "sample"}, default="sqrt"
        "sqrt": sqrt(q_l) times cosine and sine of w_l, the exact kernel, where q_l > 0. There may
        be fewer such frequencies than fit, then the result has fewer columns; of more than fit
        those of largest q are kept, and their weights brought to the sum 1. "sample": frequencies
        drawn from q, with replacement and equal amplitude. Bits carry no amplitude: they are drawn
        always.
    binary : bool, default=False
        Give bits sign(cos(w_l . x + b_l) + t), as `BinaryFourier`: b_l is the random phase of a
        candidate, uniform between 0 and 2 pi, and t the random threshold of a bit, uniform between
        -1 and 1. Candidates are then scored by cos(w_l . x + b_l), frequency and phase are drawn
        together, and each draw has a t of its own. ``encode`` gives the codes, ``transform`` their
        one-hot features.
    metric : {"euclidean", "cosine"}, default="euclidean"
        What the kernel of the candidates depends on: the distance of two rows ("euclidean", with
        ``sigma``) or their angle ("cosine", with ``gamma``: rows are brought to length 1).
    gamma : float or "median", default=1.0
        For ``metric="cosine"``: candidates are those of exp(-gamma (1 - cosine of the angle)).
    sigma : float, "median" or None, default=None
        For ``metric="euclidean"``: candidates are those of exp(-|u - v|^2 / (2 sigma^2)). None and
        "median" mean the median distance of pairs of rows seen by ``fit``.
    random_state : int, RandomState, Generator or None, default=0
        Draws the candidates, and which of them are kept where these are sampled.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Attributes
    ----------
    indices_ : (m,) array of int64
        Which candidates are in the result, ascending; a candidate may be drawn more than once.
    weights_ : (m,) array of float64
        Their weights in the kernel, sum 1.
    frequencies_ : (n_features, m) array of float64
        Their frequencies w_l.
    bandwidth_ : float
        sigma, or gamma for ``metric="cosine"``.
    seed_ : int
        The seed that ``random_state`` stood for.

    Notes
    -----
    Labels are class labels of any type. Numbers with fractions are a target as they
    are, v_l = |\sum_i (y_i - mean) e^{i w_l . x_i}|^2; whole numbers are classes: scale those that
    are amounts, y / y.std(). ``fit`` takes O(n d N) time, and memory that does not grow with the
    rows. A row of zeros is a point like any other, but with ``metric="cosine"`` it has no direction
    and emits nothing.

    See Also
    --------
    RandomFourier : Frequencies that know no labels.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import AlignedFourier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 10))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "different")  # eight columns say nothing
    >>> aligned = AlignedFourier(n_components=64).fit(X, y)
    >>> aligned.transform(X).shape
    (1000, 64)
    >>> np.abs(aligned.frequencies_).mean(axis=1).argsort()[-2:].tolist()
    [1, 0]
    """

    _decided: ClassVar[tuple[str, ...]] = ("bandwidth_", "seed_")
    _learned: ClassVar[tuple[str, ...]] = ("indices_", "weights_")

    def __init__(
        self,
        n_components: int = 1024,
        *,
        n_candidates: int | None = None,
        n_effective: float | None = None,
        rho: float | None = None,
        weighting: str = "sqrt",
        binary: bool = False,
        metric: str = "euclidean",
        gamma: float | str = 1.0,
        sigma: float | str | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_candidates = n_candidates
        self.n_effective = n_effective
        self.rho = rho
        self.weighting = weighting
        self.binary = binary
        self.metric = metric
        self.gamma = gamma
        self.sigma = sigma
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def for_kernel(cls, kernel: Kernel, n_components: int = 1024, **options: Any) -> AlignedFourier:
        """The map that aims at RBF or Gaussian."""
        if isinstance(kernel, RBF):
            decided = {"metric": "cosine", "gamma": kernel.gamma}
        elif isinstance(kernel, Gaussian):
            decided = {"metric": "euclidean", "sigma": kernel.sigma}
        else:
            raise UnsupportedKernel(
                "AlignedFourier chooses features of RBF or Gaussian by labels and has none of "
                f"{kernel!r}.",
                may_be_overcome=False,
            )
        return cls._configured(kernel, {"n_components": n_components, **decided}, options)

    def _fit(self, X: Any, y: Any) -> None:
        """Compute the bandwidth, score the candidates against ``y`` and keep the best."""
        X = self._validated(X, reset=True)
        self._check_parameters()
        target = target_of(y, X.shape[0], type(self).__name__)
        resources = checks.resources(self.n_jobs)
        self.seed_ = checks.seed_of(self.random_state)
        self.bandwidth_ = fitted_bandwidth(self, X, resources)
        n_candidates = self._n_candidates()
        scores = self._candidates().scores(X, row_rule(self, X), target, n_candidates, resources)
        q = aligned_weights(scores, self._rho())
        if self.binary or self.weighting == "sample":
            self.indices_ = drawn_from(q, self._n_frequencies(), self.seed_)
            self.weights_ = np.full(len(self.indices_), 1.0 / len(self.indices_))
        else:
            self.indices_ = largest(q, self._n_frequencies())
            self.weights_ = q[self.indices_] / q[self.indices_].sum()
        self._settle()

    def _n_frequencies(self) -> int:
        """Frequencies of the result, at most."""
        return int(self.n_components) if self.binary else max(1, int(self.n_components) // 2)

    def _n_candidates(self) -> int:
        if self.n_candidates is not None:
            return self.n_candidates
        return min(_CANDIDATES * self._n_frequencies(), MAX_COMPONENTS)

    def _rho(self) -> float:
        if self.rho is not None:
            return float(self.rho)
        n = self._n_candidates()
        return (
            n / (min(self._n_frequencies(), n) if self.n_effective is None else self.n_effective)
            - 1.0
        )

    def _check_parameters(self) -> None:
        checks.check_int("n_components", self.n_components, 1, MAX_COMPONENTS)
        if self.n_candidates is not None:
            checks.check_int("n_candidates", self.n_candidates, 1, MAX_COMPONENTS)
        checks.check_choice("binary", self.binary, (True, False))
        checks.check_choice("weighting", self.weighting, ("sqrt", "sample"))
        if self.rho is not None:
            checks.check_number("rho", self.rho, 0.0)
            if self.n_effective is not None:
                raise ValueError(
                    "rho and n_effective say the same: give one of them, and leave the other None."
                )
        if self.n_effective is not None:
            checks.check_number("n_effective", self.n_effective, 1.0, self._n_candidates())
        check_metric(self)

    def _settle(self) -> None:
        self._check_parameters()
        self.bandwidth_ = checked_bandwidth(self)
        self.seed_ = checks.seed_of(checks.check_int("seed_", self.seed_))
        checks.resources(self.n_jobs)
        self._check_learned()
        self._projection = self._candidates().projection(self.indices_)
        self._fitted_params = self._frozen_params()

    def _check_learned(self) -> None:
        """Refuse learned arrays that do not fit, as a state may hold anything."""
        indices, weights = self.indices_, self.weights_
        if indices is None or weights is None:
            raise ValueError("indices_ and weights_ must both be there.")
        n, most = self._n_candidates(), self._n_frequencies()
        if indices.dtype != np.int64 or indices.ndim != 1 or not 1 <= len(indices) <= most:
            raise ValueError(f"indices_ must be between 1 and {most} numbers of the type int64.")
        if self.binary and len(indices) != most:
            raise ValueError(f"indices_ must be {most} numbers, one for each bit.")
        if indices[0] < 0 or indices[-1] >= n or (np.diff(indices) < 0).any():
            raise ValueError(
                f"indices_ must ascend from 0 or more to less than {n}, the number of candidates."
            )
        if weights.dtype != np.float64 or weights.shape != indices.shape:
            raise ValueError("weights_ must be as many numbers as indices_, of the type float64.")
        if not (weights > 0).all() or not math.isclose(float(weights.sum()), 1.0, rel_tol=1e-6):
            raise ValueError("weights_ must be positive and have the sum 1.")

    def _frozen_params(self) -> tuple[Any, ...]:
        """The parameters that must not change after ``fit``."""
        return self.n_components, self.n_candidates, self.binary, self.metric

    def _refuse_changes(self) -> None:
        if self._fitted_params != self._frozen_params():
            raise ValueError(
                "n_components, n_candidates, binary or metric was changed after fit: fit again."
            )

    def _candidates(self) -> Candidates:
        return Candidates(
            self.n_features_in_, self.seed_, self._spread() / TURN, pairs=not self.binary
        )

    def _spread(self) -> float:
        """Standard deviation of the candidates' entries, for rows as `row_rule` scales them."""
        return math.sqrt(self.bandwidth_) if self.metric == "cosine" else 1.0

    def _features(self, X: Matrix) -> NDArray[np.float32]:
        self._refuse_changes()
        readout = FourierReadout(True, 1.0, np.zeros(0, dtype=np.float32))
        features = self._projection.read(
            X, row_rule(self, X), readout, checks.resources(self.n_jobs)
        )[0]
        features *= np.repeat(np.sqrt(self.weights_), 2).astype(np.float32)
        return features

    def _encode(self, X: Matrix) -> tuple[NDArray[Any], NDArray[np.bool_], int]:
        self._refuse_changes()
        threshold = np.empty(len(self.indices_), dtype=np.float32)
        _core.fill_thresholds(self.seed_, threshold)
        readout = BitReadout(self._candidates().phases(self.indices_), threshold)
        codes, empty = self._projection.read(
            X, row_rule(self, X), readout, checks.resources(self.n_jobs)
        )
        return codes, empty, 1

    def _identity(self) -> dict[str, Any]:
        learned = hashlib.blake2b(self.indices_.astype("<i8").tobytes(), digest_size=16)
        learned.update(self.weights_.astype("<f8").tobytes())
        return {
            "bandwidth": self.bandwidth_,
            "binary": bool(self.binary),
            "learned": learned.hexdigest(),
            "metric": self.metric,
            "seed": self.seed_,
        }

    @available_if(_gives_bits)  # type: ignore[untyped-decorator]
    def encode(self, X: Any) -> Codes:
        """The codes of each row of ``X``, for ``binary=True``."""
        return super().encode(X)

    def transform(self, X: Any) -> Any:
        """Dense float32 features of length 1, two columns for each frequency.

        With ``binary=True``, the one-hot features of the codes: a sparse float32 matrix.
        """
        return self._kind().transform(self, X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """A name for each column: ``alignedfourier7``.

        With ``binary=True``, ``alignedfourier3_1`` is value 1 of bit 3.
        """
        return self._kind().get_feature_names_out(self, input_features)

    def _kind(self) -> type[CodeMap | DenseMap]:
        return CodeMap if self.binary else DenseMap

    @property
    def _n_features_out(self) -> int:
        return 2 * len(self.indices_)

    @property
    def n_outputs(self) -> int:
        """Slots of a code for ``binary``, else columns of the features."""
        return self._n_slots() if self.binary else self._n_features_out

    def _state(self) -> State:
        """Parameters, what ``fit`` decided, and which candidates have which weights.

        The frequencies follow from the seed.
        """
        self._refuse_changes()
        return super()._state()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def frequencies_(self) -> NDArray[np.float64]:
        """The frequencies w_l of the result, an (n_features, m) array.

        ``transform`` is sqrt(weights_) times cos and sin of x . w_l. For ``metric="cosine"`` x is
        the row at length 1.
        """
        check_is_fitted(self, "indices_")
        unit = self._spread() if self.metric == "cosine" else 1.0 / self.bandwidth_
        return self._projection.directions(checks.resources(self.n_jobs)).astype(np.float64) * unit

    @property
    def kernel(self) -> Kernel:
        """What all candidates together estimate, before labels choose.

        `Gaussian`, or `RBF` for ``metric="cosine"``.
        """
        return (RBF if self.metric == "cosine" else Gaussian)(bandwidth_in_use(self))

    @property
    def theory_gap(self) -> str | None:
        """Why ``expected`` is not known: the kernel is learned."""
        return (
            "AlignedFourier learns its kernel from labels: it is sum_l q_l cos(w_l . (u - v)) with "
            "weights_ and frequencies_, known only after fit."
        )


def largest(q: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The indices of the largest positive weights, ascending; of equal ones the first."""
    best = np.argsort(-q, kind="stable")[:count]
    return np.sort(best[q[best] > 0]).astype(np.int64)


def drawn_from(q: NDArray[np.float64], count: int, seed: int) -> NDArray[np.int64]:
    """Indices drawn with probabilities q, with replacement, ascending.

    Word n of the seed is the n-th draw.
    """
    words = np.empty(count, dtype=np.uint64)
    _core.fill_words(seed, _core.STREAM_CHOICE, words)
    return np.sort(drawn_by_weight(q, words))
