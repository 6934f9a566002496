"""IntegerFourier: Fourier features of the Gaussian kernel by whole numbers of 16 bits."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelight import _core
from kernelight.base import checks
from kernelight.base.checks import Matrix, core_args
from kernelight.kernels import Gaussian
from kernelight.kernels.base import Kernel
from kernelight.maps.base import DenseMap
from kernelight.maps.minmax.scheme import MAX_COMPONENTS
from kernelight.maps.projections.bandwidth import check_bandwidth
from kernelight.maps.projections.projection import padded_width, rows_between
from kernelight.maps.projections.random_fourier import (
    bandwidth_in_use,
    checked_bandwidth,
    fitted_bandwidth,
    row_rule,
)
from kernelight.maps.projections.readouts import FIXED

PEAK = 1024  # of the wave
WIDEST = 4096  # columns: the rounding of a row is 2.8e-5 of them in sigma, here 0.11
_OUTPUTS_OF_A_CALL = 1 << 27  # a part of a second: Ctrl-C is handled between two calls


class IntegerFourier(DenseMap):
    r"""Random Fourier features of the Gaussian kernel by whole numbers of 16 bits.

    A row x is scaled and rounded, w = floor(x g + 1/2), and turned twice by random signs s and the
    Hadamard matrix H, the first time for all features, then for each block l of them:

    .. math:: v = H (s_0 \circ w), \quad y = H (s_l \circ v), \quad q_j = \mathrm{wave}(y_j + b_j),

    modulo 2^16, which is a turn of the circle; the phases b go around it in 128 steps, and the wave
    is two parabolas in place of a cosine. Nothing is stored, and all that a microcontroller
    computes is additions and one multiplication for each number of a row and each feature:
    `integers` are its results, to the bit. ``transform`` gives q times a factor that makes the
    inner products estimate

    .. math:: K(u, v) = \exp(-|u - v|^2 / (2 \sigma^2)).

    Parameters
    ----------
    n_components : int, default=1024
        Columns of the result.
    sigma : float or "median", default="median"
        "median" is the median distance of pairs of rows seen by ``fit``.
    random_state : int, RandomState, Generator or None, default=0
        An int (and sigma) defines the features, on every machine.
    n_jobs : int or None, default=None
        Threads; None means all cores.

    Attributes
    ----------
    bandwidth_ : float
        sigma in use.
    seed_ : int
        The seed that ``random_state`` stood for.

    Notes
    -----
    Of the kernel, the signs s_l average over

    .. math:: \sum_{m = 1, 3, ...} \frac{960}{(\pi m)^6} \prod_i \cos(m \theta_i), \qquad
        \theta = H (s_0 \circ (u - v)) / (\sigma \sqrt D),

    D >= 64 the width that rows are padded to. Cosines of numbers so small are nearly those of the
    Gaussian kernel: over s_0 too, the mean is below it by at most 0.01, most of all at two sigma
    and up to 64 columns, by 0.002 where D is 1,024. For one seed it may be off by 0.03, where rows
    differ equally in a few columns. Besides, numbers are rounded to multiples of 1/g, which is
    9.6e-5 sigma sqrt(D). In rows of many different numbers that costs less than 0.001 up to 1,024
    columns, and 0.013 at 4,096. Where all numbers are 0 or 1 it is as if sigma were multiplied by g
    / floor(g + 1/2).

    A row of zeros is a point like any other. Features are the same to the bit on every machine,
    dense or sparse.

    See Also
    --------
    RandomFourier : Features in floating point.
    CompactClassifier : A classifier that uses it.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import IntegerFourier
    >>> X = np.array([[1.0, 2.0, 3.0], [3.0, 0.0, 1.0]])
    >>> fourier = IntegerFourier(n_components=4096, sigma=4.0).fit(X)
    >>> fourier.integers(X)[:, :6].tolist()
    [[375, 323, 725, 690, 156, 84], [1024, 1023, 686, 722, 941, 605]]
    >>> Z = fourier.transform(X)
    >>> Z.shape, Z.dtype
    ((2, 4096), dtype('float32'))
    >>> float(fourier.kernel(X)[0, 1].round(2)), round(float(Z[0] @ Z[1]), 2)
    (0.69, 0.68)
    """

    _decided: ClassVar[tuple[str, ...]] = ("bandwidth_", "seed_")

    def __init__(
        self,
        n_components: int = 1024,
        *,
        sigma: float | str = "median",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.sigma = sigma
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def for_kernel(cls, kernel: Kernel, n_components: int = 1024, **options: Any) -> IntegerFourier:
        """For `Gaussian`."""
        if not isinstance(kernel, Gaussian):
            return super().for_kernel(kernel, n_components, **options)
        decided = {"n_components": n_components, "sigma": kernel.sigma}
        return cls._configured(kernel, decided, options)

    def _fit(self, X: Any, y: Any) -> None:
        """Check the parameters; compute sigma where it is "median". ``y`` is ignored."""
        X = self._validated(X, reset=True)
        self._check_parameters()
        self.seed_ = checks.seed_of(self.random_state)
        self.bandwidth_ = fitted_bandwidth(self, X, checks.resources(self.n_jobs))
        self._settle()

    def _check_parameters(self) -> None:
        checks.check_int("n_components", self.n_components, 1, MAX_COMPONENTS)
        check_bandwidth("sigma", self.sigma)

    def _settle(self) -> None:
        self._check_parameters()
        if self.n_features_in_ > WIDEST:
            raise ValueError(
                f"IntegerFourier takes at most {WIDEST:,} columns, as its rounding grows with "
                f"them, got {self.n_features_in_:,}: use RandomFourier(metric='euclidean')."
            )
        self.bandwidth_ = checked_bandwidth(self)
        self.seed_ = checks.seed_of(checks.check_int("seed_", self.seed_))
        checks.resources(self.n_jobs)  # a state may hold anything

    def integers(self, X: Any) -> NDArray[np.int16]:
        """The features as whole numbers q from -1024 to 1024: an (n, n_components) int16 array.

        They are what a microcontroller computes, to the bit.

        >>> from kernelight import IntegerFourier
        >>> IntegerFourier(4, sigma=1.0).fit([[0.5, 2.0]]).integers([[0.5, 2.0]])
        array([[ 790,  759, -763, -794]], dtype=int16)
        """
        X = self._validated(X, reset=False)
        out = np.empty((X.shape[0], int(self.n_components)), dtype=np.int16)
        self._compute(X, out, _core.integer_fourier)
        return out

    def _features(self, X: Matrix) -> NDArray[np.float32]:
        out = np.empty((X.shape[0], int(self.n_components)), dtype=np.float32)
        self._compute(X, out, _core.integer_fourier_features, self.unit)
        return out

    def _compute(self, X: Matrix, out: NDArray[Any], compiled: Any, *options: float) -> None:
        """Fill ``out`` by a compiled function, some rows at a time."""
        self._check_parameters()
        row_rule(self, X)  # refuses rows that are too far away
        width, count = self.width, out.shape[1]
        blocks = -(-count // width)
        resources = checks.resources(self.n_jobs).for_work(X.shape[0] * (blocks + 1) * width * 4)
        signs = np.empty((1 + blocks, width), dtype=np.uint16)
        phases = np.empty(count, dtype=np.uint16)
        _core.fill_integer_signs(self.seed_, signs, resources.threads)
        _core.fill_integer_phases(phases)
        factor = self._factor()[2]
        values, indices, indptr, n_cols = core_args(X)
        step = max(1, _OUTPUTS_OF_A_CALL // ((blocks + 1) * width))
        for begin in range(0, X.shape[0], step):
            end = min(begin + step, X.shape[0])
            part = rows_between(values, indices, indptr, begin, end)
            rows = _core.ScaledRows(*part, n_cols, FIXED, factor)
            compiled(rows, signs, phases, *options, out[begin:end], *resources)

    @property
    def width(self) -> int:
        """D, the width that rows are padded to: features of a block."""
        return padded_width(self.n_features_in_, "sorf")

    @property
    def unit(self) -> float:
        """What a feature of 1 among the whole numbers is among those of `transform`."""
        return 1.0 / (PEAK * math.sqrt(8.0 * int(self.n_components) / 15.0))

    def _factor(self) -> tuple[int, int, float]:
        """g as its multiplier and exponent, and as a number."""
        check_is_fitted(self)
        length = self.bandwidth_ * math.sqrt(self.width)
        for wrong, size, do in (
            (math.isinf(length), "large", "down"),
            (math.isinf(2.0**16 / length), "small", "up"),
        ):
            if wrong:
                raise ValueError(
                    f"sigma = {self.bandwidth_:.3g} is too {size} for double precision: scale the "
                    f"data {do}."
                )
        return _core.integer_factor(self.bandwidth_, self.width)

    @property
    def multiplier(self) -> int:
        """M of g = M 2^k, what numbers of a row are multiplied by: from 2^15 to 2^16 - 1.

        >>> from kernelight import IntegerFourier
        >>> fourier = IntegerFourier(sigma=1.0).fit([[0.5, 2.0]])
        >>> fourier.multiplier, fourier.exponent
        (41722, -5)
        """
        return self._factor()[0]

    @property
    def exponent(self) -> int:
        """k of g = M 2^k, what numbers of a row are multiplied by; see ``multiplier``."""
        return self._factor()[1]

    def memory(self) -> dict[str, dict[str, int]]:
        """Bytes of what this map is made of, part by part.

        "stored" counts all its random numbers, "regenerated" the seed that they are functions of,
        and sigma.

        >>> from kernelight import IntegerFourier
        >>> IntegerFourier(256).fit([[1.0, 2.0]]).memory()
        {'stored': {'signs': 40}, 'regenerated': {'seed': 8, 'bandwidth': 8}}
        """
        check_is_fitted(self)
        signs = (1 + -(-int(self.n_components) // self.width)) * self.width // 8
        return {"stored": {"signs": signs}, "regenerated": {"seed": 8, "bandwidth": 8}}

    @property
    def has_prefix(self) -> bool:
        """True: the first columns of a longer run are the shorter run, up to the amplitude."""
        return True

    @property
    def kernel(self) -> Kernel:
        """`Gaussian` with the sigma in use."""
        return Gaussian(bandwidth_in_use(self))

    @property
    def theory_gap(self) -> str | None:
        """Why ``expected`` is not known exactly: a small bias, and rounding."""
        return (
            "IntegerFourier is not exactly unbiased (below 0.015, but for the rounding of columns "
            "of few values): use RandomFourier(metric='euclidean') for exact means."
        )
