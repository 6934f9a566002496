"""SignProjection: the signs of random projections, for the acos and acos-chi2 kernels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base import checks
from kernelight.base.checks import Matrix
from kernelight.codes import Codes
from kernelight.kernels import Acos, AcosChi2
from kernelight.kernels.base import Kernel
from kernelight.maps.base import exact_rows
from kernelight.maps.minmax.scheme import MAX_COMPONENTS
from kernelight.maps.projections.one_bit import OneBitMap
from kernelight.maps.projections.projection import SHORTEST_HD, WIDEST_AUTO
from kernelight.maps.projections.readouts import POWER_OF_TWO, BitReadout
from kernelight.theory import sign_cauchy_collision

PROJECTIONS = ("auto", "gaussian", "orthogonal", "sorf", "fastfood")


class SignProjection(OneBitMap):
    r"""Signs of random projections: one bit for each, equal with the probability of an acos kernel.

    Gaussian projections give P = 1 - arccos(rho) / pi, `Acos`. Cauchy projections of nonnegative
    rows give

    .. math:: P = \tfrac12 + \pi^{-2} \int_0^\infty
        \log \frac{|u|_1 + \tau |v|_1}{\sum_i |u_i - \tau v_i|} \, \frac{d\tau}{\tau},

    which is close to `AcosChi2`: the difference lies between -0.005 and +0.032. ``expected`` is the
    integral itself.

    Parameters
    ----------
    n_components : int, default=1024
        Projections, so bits of a code; the one-hot matrix has two columns for each.
    distribution : {"gaussian", "cauchy"}, default="gaussian"
        "cauchy" needs nonnegative rows, such as histograms.
    projection : {"auto", "gaussian", "orthogonal", "sorf", "fastfood"}, default="auto"
        For the Gaussian distribution. "sorf" is three blocks of signs and Hadamard transforms, the
        fast path, with less variance than "gaussian" and a bias below 0.01; "auto" takes it from 65
        to 65,536 columns (wider rows are mostly sparse, which a dense projection profits from).
        Cauchy projections are always dense: mixing coordinates would destroy their law.
    random_state : int, RandomState, Generator or None, default=0
        An int defines the codes, on every machine.
    n_jobs : int or None, default=None

    Attributes
    ----------
    projection_ : str
        The projection in use ("cauchy" for Cauchy projections).
    seed_ : int

    See Also
    --------
    kernelight.kernels.Acos : The kernel of Gaussian directions.
    kernelight.theory.sign_cauchy_collision : That of Cauchy directions.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import SignProjection
    >>> X = np.array([[1.0, 2.0, 3.0], [3.0, 0.0, 1.0]])
    >>> signs = SignProjection(n_components=4096).fit(X)
    >>> codes = signs.encode(X)
    >>> codes.bits, codes.shape
    (1, (2, 4096))
    >>> float(signs.kernel(X)[0, 1].round(2)), float(signs.similarity(codes)[0, 1].round(2))
    (0.67, 0.66)
    """

    _decided: ClassVar[tuple[str, ...]] = ("projection_", "seed_")

    def __init__(
        self,
        n_components: int = 1024,
        *,
        distribution: str = "gaussian",
        projection: str = "auto",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.distribution = distribution
        self.projection = projection
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def for_kernel(cls, kernel: Kernel, n_components: int = 1024, **options: Any) -> SignProjection:
        """For `Acos` and `AcosChi2`."""
        laws = {Acos: "gaussian", AcosChi2: "cauchy"}
        if type(kernel) not in laws:
            return super().for_kernel(kernel, n_components, **options)
        decided = {"n_components": n_components, "distribution": laws[type(kernel)]}
        return cls._configured(kernel, decided, options)

    def _fit(self, X: Any, y: Any) -> None:
        """Check the parameters and the rows; nothing is learned. ``y`` is ignored."""
        self.slots_ = None
        X = self._validated(X, reset=True)
        self._check_parameters()
        self._check_rows(X)
        self.seed_ = checks.seed_of(self.random_state)
        self.projection_ = self._chosen(X.shape[1])
        self._settle()

    def _check_parameters(self) -> None:
        checks.check_int("n_components", self.n_components, 1, MAX_COMPONENTS)
        checks.check_choice("distribution", self.distribution, ("gaussian", "cauchy"))
        checks.check_choice("projection", self.projection, PROJECTIONS)
        if self.distribution == "cauchy" and self.projection != "auto":
            raise ValueError(
                "Cauchy projections are dense, mixing coordinates would destroy their law: leave "
                f"projection='auto', got {self.projection!r}."
            )

    def _chosen(self, n_features: int) -> str:
        if self.distribution == "cauchy":
            return "cauchy"
        if self.projection != "auto":
            return self.projection
        return "sorf" if SHORTEST_HD < n_features <= WIDEST_AUTO else "gaussian"

    def _settle(self) -> None:
        self._check_parameters()
        checks.check_choice("projection_", self.projection_, ("cauchy", *PROJECTIONS[1:]))
        self._refuse_other_distribution()
        self.seed_ = checks.seed_of(checks.check_int("seed_", self.seed_))
        checks.resources(self.n_jobs)
        self._projection = self._made_projection(self.projection_, 1.0)
        self._fitted_params = self.n_components

    def _check_rows(self, X: Matrix) -> None:
        if self.distribution == "cauchy":
            checks.check_nonnegative(
                X,
                owner="SignProjection(distribution='cauchy')",
                instead="use distribution='gaussian' for signed data.",
            )

    def _encode(self, X: Matrix) -> tuple[NDArray[Any], NDArray[np.bool_], int]:
        self._follow_parameters()
        self._check_rows(X)
        return self._read(X, POWER_OF_TWO, BitReadout(tie=self._ties()))

    def _readout_bytes(self, count: int) -> dict[str, int]:
        return {"ties": -(-count // 8)} if self.projection_ == "sorf" else {}

    def _ties(self) -> NDArray[np.float32] | None:
        """How a projection of 0 counts, for "sorf".

        Three HD blocks make sums of a few signs of rows with a few equal elements, which are often
        0.
        """
        if self.projection_ != "sorf":
            return None
        ties = np.empty(self._n_drawn(), dtype=np.float32)
        _core.fill_ties(self.seed_, ties)
        return ties

    def _follow_parameters(self) -> None:
        """Take up parameters that were changed after fit.

        The projection that ``fit`` decided on stays.
        """
        self._check_parameters()
        self._refuse_other_distribution()
        if self._fitted_params != self.n_components:
            self._settle()

    def _refuse_other_distribution(self) -> None:
        if (self.distribution == "cauchy") != (self.projection_ == "cauchy"):
            raise ValueError("distribution was changed after fit: fit again.")

    def _identity(self) -> dict[str, Any]:
        self._follow_parameters()
        facts: dict[str, Any] = {"projection": self.projection_, "seed": self.seed_}
        # A projection in blocks depends on their width, any other on the column alone.
        width = getattr(self._projection, "width", None)
        return facts | ({"width": width} if width else {})

    @property
    def kernel(self) -> Kernel:
        """`Acos` or `AcosChi2`."""
        return Acos() if self.distribution == "gaussian" else AcosChi2()

    @property
    def theory_gap(self) -> str | None:
        """Why ``expected`` is not known exactly: structured projections; else None."""
        kind = getattr(self, "projection_", self.projection)
        if self.distribution == "cauchy" or kind in ("gaussian", "orthogonal", "fastfood"):
            return None
        return (
            f"projection={kind!r} is not exactly unbiased (below 0.01): use 'gaussian' or "
            "'orthogonal' for exact means."
        )

    def _independent(self) -> bool:
        return (
            self.distribution == "cauchy"
            or getattr(self, "projection_", self.projection) == "gaussian"
        )

    def _exact_pairs(self, X: Any, Y: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        if self.distribution == "gaussian":
            return super()._exact_pairs(X, Y)
        X, Y = exact_rows(X, Y)
        self._check_rows(X)
        self._check_rows(Y)
        return sign_cauchy_collision(X, Y), self._filled_pairs(X, Y)

    def _expected(self, K: NDArray[np.float64], filled: NDArray[np.bool_]) -> NDArray[np.float64]:
        return filled * K

    def similarity(self, codes_a: Codes, codes_b: Codes | None = None) -> NDArray[np.float64]:
        """The fraction of equal bits, which estimates the kernel; 0 for empty rows.

        For "cauchy" it estimates the integral above.
        """
        return self._equal_fraction(codes_a, codes_b)
