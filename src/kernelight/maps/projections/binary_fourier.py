"""BinaryFourier: one bit of each random Fourier feature, for models of a few kilobytes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base import checks
from kernelight.base.checks import Matrix
from kernelight.codes import Codes
from kernelight.kernels import Gaussian
from kernelight.kernels.base import Kernel
from kernelight.maps.minmax.scheme import MAX_COMPONENTS
from kernelight.maps.projections.bandwidth import check_bandwidth
from kernelight.maps.projections.one_bit import OneBitMap
from kernelight.maps.projections.projection import TURN
from kernelight.maps.projections.random_fourier import (
    bandwidth_in_use,
    checked_bandwidth,
    fitted_bandwidth,
    row_rule,
)
from kernelight.maps.projections.readouts import BitReadout
from kernelight.theory import (
    hamming_rate,
    kernel_from_hamming,
    kernel_from_sign_cosine,
    sign_cosine_mean,
)

PROJECTIONS = ("fastfood", "gaussian", "orthogonal", "sorf")


class BinaryFourier(OneBitMap):
    r"""Bits of the Gaussian kernel: z = sign(cos(w.x / sigma + b) + t), one for each projection.

    w is Gaussian, b uniform on the circle and t on (-1, 1) (BCSIK). Two rows of kernel value
    K = exp(-|u - v|^2 / (2 sigma^2)) differ in a bit with probability

    .. math:: h(K) = \frac{8}{\pi^2} \sum_{m \ge 1} \frac{1 - K^{m^2}}{4 m^2 - 1} \in [0, 4/\pi^2],

    so the one-hot features average to 1 - h(K), not to K: `kernel_from_hamming` turns rates back
    into the kernel.

    Parameters
    ----------
    n_components : int, default=1024
        Bits of a code, the paper's p.
    sigma : float or "median", default="median"
        "median" is the median distance of pairs of rows seen by ``fit``.
    threshold : bool, default=True
        False drops t, which is a different kernel: bits are equal with probability (1 + s(K)) / 2,
        s(K) = (8 / pi^2) sum over odd m of K^(m^2) / m^2.
    projection : {"fastfood", "gaussian", "orthogonal", "sorf"}, default="fastfood"
        "fastfood" (reduced-memory BCSIK) and "sorf" take O(p) memory and O(p log d) time a row, p
        at least the padded width d; "gaussian" is plain BCSIK, and the one for wide sparse rows.
    random_state : int, RandomState, Generator or None, default=0
        An int (and sigma) defines the codes, on every machine.
    n_jobs : int or None, default=None

    Attributes
    ----------
    bandwidth_ : float
        sigma in use.
    seed_ : int

    Notes
    -----
    A row of zeros is a point like any other: codes of this map have no empty rows.

    See Also
    --------
    RandomFourier : Dense features.
    TernaryClassifier : A model for such bits.
    kernelight.theory.kernel_from_hamming : The kernel from bits that differ.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import BinaryFourier
    >>> X = np.array([[1.0, 2.0, 3.0], [3.0, 0.0, 1.0]])
    >>> binary = BinaryFourier(n_components=8192, sigma=4.0).fit(X)
    >>> codes = binary.encode(X)
    >>> float(binary.kernel(X)[0, 1].round(2)), float(binary.similarity(codes)[0, 1].round(2))
    (0.69, 0.68)
    """

    _decided: ClassVar[tuple[str, ...]] = ("bandwidth_", "seed_")

    def __init__(
        self,
        n_components: int = 1024,
        *,
        sigma: float | str = "median",
        threshold: bool = True,
        projection: str = "fastfood",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.sigma = sigma
        self.threshold = threshold
        self.projection = projection
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def for_kernel(cls, kernel: Kernel, n_components: int = 1024, **options: Any) -> BinaryFourier:
        """For `Gaussian`: ``expected`` is a function of it."""
        if not isinstance(kernel, Gaussian):
            return super().for_kernel(kernel, n_components, **options)
        return cls._configured(
            kernel, {"n_components": n_components, "sigma": kernel.sigma}, options
        )

    def _fit(self, X: Any, y: Any) -> None:
        """Check the parameters; compute sigma where it is "median". ``y`` is ignored."""
        self.slots_ = None
        X = self._validated(X, reset=True)
        self._check_parameters()
        self.seed_ = checks.seed_of(self.random_state)
        self.bandwidth_ = fitted_bandwidth(self, X, checks.resources(self.n_jobs))
        self._settle()

    def _check_parameters(self) -> None:
        checks.check_int("n_components", self.n_components, 1, MAX_COMPONENTS)
        check_bandwidth("sigma", self.sigma)
        checks.check_choice("threshold", self.threshold, (True, False))
        checks.check_choice("projection", self.projection, PROJECTIONS)

    def _settle(self) -> None:
        self._check_parameters()
        self.bandwidth_ = checked_bandwidth(self)
        self.seed_ = checks.seed_of(checks.check_int("seed_", self.seed_))
        checks.resources(self.n_jobs)
        self._projection = self._made_projection(self.projection, 1.0 / TURN)
        self._fitted_params = (self.projection, self.n_components)

    def _encode(self, X: Matrix) -> tuple[NDArray[Any], NDArray[np.bool_], int]:
        self._follow_parameters()
        shift, threshold = np.zeros((2, self._n_drawn()), dtype=np.float32)
        _core.fill_phases(self.seed_, shift)
        if self.threshold:
            _core.fill_thresholds(self.seed_, threshold)
        return self._read(X, row_rule(self, X), BitReadout(shift, threshold))

    def _readout_bytes(self, count: int) -> dict[str, int]:
        return {"phases": 4 * count} | ({"thresholds": 4 * count} if self.threshold else {})

    def _follow_parameters(self) -> None:
        """Take up parameters that were changed after fit."""
        self._check_parameters()
        if self._fitted_params != (self.projection, self.n_components):
            self._settle()

    def _identity(self) -> dict[str, Any]:
        self._follow_parameters()
        facts: dict[str, Any] = {
            "projection": self.projection,
            "seed": self.seed_,
            "sigma": self.bandwidth_,
            "threshold": bool(self.threshold),
        }
        width = getattr(self._projection, "width", None)
        return facts | ({"width": width} if width else {})

    @property
    def kernel(self) -> Kernel:
        """`Gaussian` with the sigma in use."""
        return Gaussian(bandwidth_in_use(self))

    @property
    def theory_gap(self) -> str | None:
        """Why ``expected`` is not known exactly: the small bias of "sorf"; else None."""
        if self.projection == "sorf":
            return (
                "projection='sorf' is not exactly unbiased (below 0.01): use 'fastfood' or "
                "'gaussian' for exact means."
            )
        return None

    def _independent(self) -> bool:
        return self.projection == "gaussian"

    def _expected(self, K: NDArray[np.float64], filled: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.asarray(
            1.0 - hamming_rate(K) if self.threshold else 0.5 * (1.0 + sign_cosine_mean(K))
        )

    def kernel_from_hamming(self, rate: Any) -> NDArray[np.float64]:
        """The kernel value of rows that differ in this fraction of their bits: the inverse of h."""
        rate = np.asarray(rate, dtype=np.float64)
        return np.asarray(
            kernel_from_hamming(rate)
            if self.threshold
            else kernel_from_sign_cosine(1.0 - 2.0 * rate)
        )

    def similarity(self, codes_a: Codes, codes_b: Codes | None = None) -> NDArray[np.float64]:
        """The kernel estimated from codes.

        It is `kernel_from_hamming` of the fraction of bits that differ.
        """
        return self.kernel_from_hamming(1.0 - self._equal_fraction(codes_a, codes_b))
