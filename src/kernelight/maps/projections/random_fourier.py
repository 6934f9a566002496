"""RandomFourier: the RBF and Gaussian kernels as cosines of random projections."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base import checks
from kernelight.base.checks import Matrix, Resources
from kernelight.kernels import RBF, FoldedRBF, Gaussian
from kernelight.kernels.base import Kernel
from kernelight.maps.base import DenseMap
from kernelight.maps.minmax.scheme import MAX_COMPONENTS
from kernelight.maps.projections.bandwidth import (
    check_bandwidth,
    check_gamma,
    median_gamma,
    median_sigma,
)
from kernelight.maps.projections.projection import (
    TURN,
    Projection,
    check_distance,
    fastest,
    projection_of,
)
from kernelight.maps.projections.readouts import FIXED, UNIT_LENGTH, FourierReadout, RowRule
from kernelight.theory import folded_variance, paired_variance, rff_variance

FEATURES = ("paired", "phase", "folded")
PROJECTIONS = ("gaussian", "orthogonal", "sorf", "fastfood", "sobol", "auto")


class RandomFourier(DenseMap):
    r"""Random Fourier features: cosines and sines of random projections.

    Their inner products average to a Gaussian kernel.

    With ``metric="cosine"`` rows are brought to unit length and the kernel is

    .. math:: K(u, v) = \exp(-\gamma (1 - \rho)), \qquad \rho = u \cdot v / (|u| |v|),

    which is scikit-learn's ``rbf`` on unit rows with half this gamma: **our gamma is twice
    scikit-learn's**. With ``metric="euclidean"`` rows stay as they are and the kernel is exp(-|u -
    v|^2 / (2 sigma^2)).

    Parameters
    ----------
    n_components : int, default=1024
        Columns of the result, the papers' k; best even for ``features="paired"`` (an odd last one
        is a phase feature).
    gamma : float or "median", default=1.0
        For ``metric="cosine"``. "median" is 1 / median(1 - rho) over pairs of rows seen by ``fit``.
    features : {"paired", "phase", "folded"}, default="paired"
        "paired": cos and sin of k/2 projections, side by side. Rows have length 1 by themselves,
        and the variance, (1 - K^2)^2 / k, is below that of the others. "phase": sqrt(2) cos(. + w)
        with random phases w: the RFF of the papers, NRFF when normalized. "folded": cos without a
        phase: the folded RBF kernel, for nonnegative data; rows are not of length 1.
    normalize : bool or "auto", default="auto"
        Bring rows of the result to length 1. "auto" does so for "phase".
    projection : {"gaussian", "orthogonal", "sorf", "fastfood", "sobol", "auto"}, default="gaussian"
        "gaussian": independent. "orthogonal": orthogonal directions with Gaussian lengths, a lower
        variance. "sorf": three blocks of signs and Hadamard transforms, nearly orthogonal: O(k log
        d) instead of O(k d) for a row, without any matrix; has a bias below 0.01. "fastfood": as
        fast and unbiased, of higher variance. "sobol": scrambled quasi-random directions, far
        better in few dimensions. "auto": the faster of "gaussian" and "sorf" by a fixed rule of the
        shape.
    metric : {"cosine", "euclidean"}, default="cosine"
    sigma : float, "median" or None, default=None
        For ``metric="euclidean"``; None and "median" mean the median distance of pairs of rows seen
        by ``fit``.
    random_state : int, RandomState, Generator or None, default=0
    n_jobs : int or None, default=None
        Threads; None means all cores (products of dense matrices use the threads of NumPy's
        library).

    Attributes
    ----------
    projection_ : str
        The projection in use.
    bandwidth_ : float
        gamma, or sigma for ``metric="euclidean"``.
    seed_ : int
        The seed that ``random_state`` stood for.

    Notes
    -----
    Features are float32 whatever the input. A row of zeros has no direction: with
    ``metric="cosine"`` its features are zeros; with ``metric="euclidean"`` it is a point like any
    other.

    See Also
    --------
    BinaryFourier : A bit for each component.
    IntegerFourier : By whole numbers.
    AlignedFourier : Frequencies that agree with labels.
    kernelight.theory.paired_variance : The variance of its estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import RandomFourier
    >>> X = np.array([[1.0, 2.0, 3.0], [3.0, 0.0, 1.0]])
    >>> fourier = RandomFourier(n_components=4096).fit(X)
    >>> Z = fourier.transform(X)
    >>> Z.shape, Z.dtype
    ((2, 4096), dtype('float32'))
    >>> float(fourier.kernel(X)[0, 1].round(2)), round(float(Z[0] @ Z[1]), 2)
    (0.61, 0.6)
    """

    _decided: ClassVar[tuple[str, ...]] = ("projection_", "bandwidth_", "seed_")

    def __init__(
        self,
        n_components: int = 1024,
        *,
        gamma: float | str = 1.0,
        features: str = "paired",
        normalize: bool | str = "auto",
        projection: str = "gaussian",
        metric: str = "cosine",
        sigma: float | str | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.features = features
        self.normalize = normalize
        self.projection = projection
        self.metric = metric
        self.sigma = sigma
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def for_kernel(cls, kernel: Kernel, n_components: int = 1024, **options: Any) -> RandomFourier:
        """For `RBF`, `FoldedRBF` and `Gaussian`."""
        decided: dict[str, Any] = {"n_components": n_components}
        if isinstance(kernel, RBF):
            decided |= {"gamma": kernel.gamma}
        elif isinstance(kernel, FoldedRBF):
            decided |= {"gamma": kernel.gamma, "features": "folded"}
        elif isinstance(kernel, Gaussian):
            decided |= {"metric": "euclidean", "sigma": kernel.sigma}
        else:
            return super().for_kernel(kernel, n_components, **options)
        return cls._configured(kernel, decided, options)

    def _fit(self, X: Any, y: Any) -> None:
        """Check the parameters; compute the bandwidth where it is "median". ``y`` is ignored."""
        X = self._validated(X, reset=True)
        self._check_parameters()
        self.seed_ = checks.seed_of(self.random_state)
        self.bandwidth_ = fitted_bandwidth(self, X, checks.resources(self.n_jobs))
        self.projection_ = self.projection
        if self.projection == "auto":
            self.projection_ = fastest(X.shape[1], self._n_outputs())
        self._settle()

    def _check_parameters(self) -> None:
        checks.check_int("n_components", self.n_components, 1, MAX_COMPONENTS)
        checks.check_choice("features", self.features, FEATURES)
        checks.check_choice("projection", self.projection, PROJECTIONS)
        normalize = checks.check_choice("normalize", self.normalize, (True, False, "auto"))
        check_metric(self)
        if self.features == "folded":
            if normalize is True:
                raise ValueError(
                    "features='folded' has no unit diagonal to restore: leave normalize='auto'."
                )
            if self.metric != "cosine":
                raise ValueError(
                    "features='folded' is a kernel of directions: it needs metric='cosine'."
                )

    def _settle(self) -> None:
        self._check_parameters()
        checks.check_choice("projection_", self.projection_, PROJECTIONS[:-1])
        self.bandwidth_ = checked_bandwidth(self)
        self.seed_ = checks.seed_of(checks.check_int("seed_", self.seed_))
        checks.resources(self.n_jobs)  # a state may hold anything
        self._projection = self._made_projection()
        self._fitted_params = self.metric

    def _n_outputs(self) -> int:
        return (
            (int(self.n_components) + 1) // 2
            if self.features == "paired"
            else int(self.n_components)
        )

    def _odd(self) -> bool:
        """Whether the last column is half of a pair."""
        return self.features == "paired" and self.n_components % 2 == 1

    def _made_projection(self) -> Projection:
        scale = math.sqrt(self.bandwidth_) if self.metric == "cosine" else 1.0
        return projection_of(
            self.projection_, self.n_features_in_, self._n_outputs(), self.seed_, scale / TURN
        )

    def _readout(self) -> FourierReadout:
        """Amplitudes: sqrt(2/k) on k columns, and 1/sqrt(k) for the folded kernel."""
        n_outputs = self._n_outputs()
        shift = np.zeros(0 if self.features == "paired" else n_outputs, dtype=np.float32)
        if self.features == "phase":
            _core.fill_phases(self.seed_, shift)
        power = 1.0 if self.features == "folded" else 2.0
        return FourierReadout(
            self.features == "paired", math.sqrt(power / self.n_components), shift
        )

    def _features(self, X: Matrix) -> NDArray[np.float32]:
        self._follow_parameters()
        resources = checks.resources(self.n_jobs)
        rule = row_rule(self, X)
        features = self._projection.read(X, rule, self._readout(), resources)[0]
        if self._odd():
            features = with_last_phase(features, self.seed_)
        if self._normalizes():
            _core.normalize_rows(features, resources.threads)
        return features

    def _follow_parameters(self) -> None:
        """Take up parameters that were changed after fit.

        What ``fit`` decided by them stays.
        """
        self._check_parameters()
        if self._fitted_params != self.metric:
            raise ValueError("metric was changed after fit: fit again.")
        if self._projection.n_outputs != self._n_outputs():
            self._settle()

    def _normalizes(self) -> bool:
        """Whether rows of the result are brought to length 1: paired features already have it."""
        return self.features == "phase" and bool(self.normalize)

    @property
    def kernel(self) -> Kernel:
        """`RBF`, `FoldedRBF` or `Gaussian` with the bandwidth in use."""
        if self.metric == "euclidean":
            return Gaussian(bandwidth_in_use(self))
        return (FoldedRBF if self.features == "folded" else RBF)(bandwidth_in_use(self))

    @property
    def has_prefix(self) -> bool:
        """Whether the first columns of a longer run are the shorter run, up to the amplitude."""
        return not self._normalizes() and not self._odd()

    @property
    def theory_gap(self) -> str | None:
        """Why ``expected`` is not known exactly: normalized rows, or the small bias of "sorf".

        None where it is known.
        """
        if self._normalizes():
            return (
                "Normalized phase features divide by a random length: their mean is K - K (1 - "
                "K^4) / (8k) and their variance (1 - K^2)^2 (1 + K^2/4) / k only up to higher "
                "orders of 1/k; features='paired' has both exactly."
            )
        if getattr(self, "projection_", self.projection) == "sorf":
            return (
                "projection='sorf' is not exactly unbiased (below 0.01): use 'orthogonal' or "
                "'gaussian' for exact means."
            )
        return None

    @property
    def variance_gap(self) -> str | None:
        """Why ``variance`` is not known exactly: projections that depend on each other.

        None where it is known.
        """
        kind = getattr(self, "projection_", self.projection)
        if self.theory_gap is None and kind != "gaussian":
            return (
                f"projection={kind!r} makes projections that depend on each other: no closed form; "
                "only 'gaussian' has one."
            )
        return self.theory_gap

    def _expected(self, K: NDArray[np.float64], filled: NDArray[np.bool_]) -> NDArray[np.float64]:
        return filled * K

    def _variance(self, K: NDArray[np.float64], filled: NDArray[np.bool_]) -> NDArray[np.float64]:
        if self.features == "folded":
            each = folded_variance(K, bandwidth_in_use(self))
        else:
            each = paired_variance(K) if self.features == "paired" else rff_variance(K)
        if self._odd():
            each = each + (rff_variance(K) - each) / self.n_components
        return np.asarray(filled * each / self.n_components)


def with_last_phase(features: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    """Paired columns with the last pair made one column, cos(. + w) for a random phase w.

    A cosine alone would be biased.

    + w) for a random w: alone, a cosine would be biased.
    """
    phase = np.empty(features.shape[1] // 2, dtype=np.float32)
    _core.fill_phases(seed, phase)
    angle = TURN * float(phase[-1])
    features[:, -2] = features[:, -2] * math.cos(angle) - features[:, -1] * math.sin(angle)
    return np.ascontiguousarray(features[:, :-1])


def check_metric(model: Any) -> None:
    """Refuse a bandwidth that does not go with the metric."""
    checks.check_choice("metric", model.metric, ("cosine", "euclidean"))
    if model.metric == "cosine":
        check_gamma(model.gamma)
        if model.sigma is not None:
            raise ValueError("sigma goes with metric='euclidean'; with metric='cosine' set gamma.")
    else:
        if model.sigma is not None:
            check_bandwidth("sigma", model.sigma)
        if model.gamma != 1.0:
            raise ValueError("gamma goes with metric='cosine'; with metric='euclidean' set sigma.")


def fitted_bandwidth(model: Any, X: Matrix, resources: Resources) -> float:
    """gamma or sigma as the metric asks, the median of the data where it is not a number."""
    if getattr(model, "metric", "euclidean") == "cosine":
        given = check_gamma(model.gamma)
        return median_gamma(X, model.seed_, resources) if given is None else given
    given = None if model.sigma is None else check_bandwidth("sigma", model.sigma)
    return median_sigma(X, model.seed_, resources) if given is None else given


def checked_bandwidth(model: Any) -> float:
    """The bandwidth of a fitted object, which may come from a state."""
    if getattr(model, "metric", "euclidean") == "cosine":
        return float(check_gamma(checks.check_positive("bandwidth_", model.bandwidth_)) or 0.0)
    return checks.check_positive("bandwidth_", model.bandwidth_)


def bandwidth_in_use(model: Any) -> float:
    """The bandwidth decided by ``fit``, or the number given as parameter.

    An error where only ``fit`` can know it.
    """
    if hasattr(model, "bandwidth_"):
        return float(model.bandwidth_)
    given = model.gamma if getattr(model, "metric", "euclidean") == "cosine" else model.sigma
    if given is None or isinstance(given, str):
        raise ValueError(
            "The bandwidth is the median of the data: call fit first, then the kernel is known."
        )
    return float(given)


def row_rule(model: Any, X: Matrix) -> RowRule:
    """How rows enter the projection; rows too far away for single precision are refused."""
    if getattr(model, "metric", "euclidean") == "cosine":
        return UNIT_LENGTH
    rule = RowRule(FIXED, 1.0 / model.bandwidth_)
    if math.isinf(rule.factor):
        raise ValueError(
            f"sigma = {model.bandwidth_:.3g} is too small, 1 / sigma overflows: scale the data up."
        )
    check_distance(X, rule.factor)
    return rule
