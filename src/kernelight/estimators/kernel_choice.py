"""The kernel that a name and its parameters mean, what of it can be tuned, and its feature map."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, fields
from difflib import get_close_matches

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kernelight import kernels
from kernelight.base import checks
from kernelight.base.checks import Matrix
from kernelight.kernels.base import Kernel
from kernelight.maps.base import FeatureMap
from kernelight.maps.feature_map import feature_map
from kernelight.maps.nystroem.kernel_nystroem import KernelNystroem

TUNE = "tune"
SCALE = "scale"  # for gamma: by a rule instead of a search
EXACT = "exact"  # an SVM on the Gram matrix
AUTO = "auto"  # for kernel: an average of models, see `average_search`
RIDGE = "ridge"  # kernel ridge regression on the Gram matrix
P_GRID = (0.25, 0.5, 1.0, 2.0, 4.0)
GAMMA_STEPS = (0.25, 1.0, 4.0, 16.0)  # times the gamma of the median pair of rows
MEDIAN_ROWS = 256  # rows whose pairs give that median


@dataclass(frozen=True)
class KernelChoice:
    """The parameter ``kernel`` with ``gamma`` and ``p``, checked."""

    kernel: str | Kernel
    gamma: float | str
    p: float | str

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, (str, Kernel)):
            hint = f": write {self.kernel.__name__}()" if isinstance(self.kernel, type) else ""
            raise TypeError(
                f"kernel must be the name of a kernel or a kernel such as GMM(), got "
                f"{self.kernel!r}{hint}."
            )
        for name, value in (("gamma", self.gamma), ("p", self.p)):
            checks.check_positive_or(name, value, (TUNE, SCALE) if name == "gamma" else (TUNE,))
        if isinstance(self.kernel, str) and _means_auto(self.kernel):
            raise ValueError(f"There is no kernel named {self.kernel!r}; did you mean {AUTO!r}?")
        self.has("gamma")  # refuses a name that no kernel has

    def warn_unused(self) -> None:
        """Warn of parameters that the kernel does not have.

        They are no error, so that one grid can be searched over several kernels.
        """
        for name, value, default in (("gamma", self.gamma, TUNE), ("p", self.p, 1.0)):
            if value == default or self.has(name):
                continue
            if isinstance(self.kernel, Kernel):
                why = f"{self.kernel!r} decides its own parameters"
            elif value == TUNE:
                continue  # nothing to tune
            else:
                why = f"The kernel {self.kernel!r} has no {name}"
            warnings.warn(f"{why}: {name}={value!r} is ignored.", UserWarning, stacklevel=2)

    def has(self, name: str) -> bool:
        """Whether the kernel has a parameter of this name that can be set.

        A kernel object has its own parameters, so that nothing can be set.
        """
        if isinstance(self.kernel, Kernel):
            return False
        return any(_has(part, name) for part in _parts(kernels.get(self.kernel)))

    @property
    def nonnegative(self) -> bool:
        """Whether the kernel takes nothing below 0."""
        return self.make(None, None).nonnegative

    @property
    def fixed_width(self) -> bool:
        """Whether the kernel has a centre, one number for each column of the rows as they are."""
        return isinstance(self.kernel, Kernel) and getattr(self.kernel, "center", None) is not None

    def make(self, gamma: float | None, p: float | None) -> Kernel:
        """The kernel with these parameters, None for those it does not have.

        Gaussian: gamma = 1 / (2 sigma^2).
        """
        if isinstance(self.kernel, Kernel):
            return self.kernel
        params = {name: value for name, value in (("gamma", gamma), ("p", p)) if value is not None}
        if self.kernel == kernels.Gaussian.name and gamma is not None:
            params = {"sigma": 1 / math.sqrt(2 * gamma)}
        return kernels.get(self.kernel, **params)

    def _part_with_gamma(self, p: float | None) -> Kernel:
        """The kernel, or the factor of it that gamma belongs to."""
        parts = _parts(self.make(None, p))
        return next((part for part in parts if _has(part, "gamma")), parts[0])

    def median_gamma(self, X: Matrix, p: float | None) -> float:
        """The gamma at which the median pair of rows has similarity exp(-1), to two digits.

        Two digits, because the rounding of another machine must not give another model.
        """
        step = max(1, X.shape[0] // MEDIAN_ROWS)
        rows = X[::step][:MEDIAN_ROWS]
        pairs = np.triu_indices(rows.shape[0], 1)
        part = self._part_with_gamma(p)
        try:
            distances = part.dissimilarity(rows)[pairs]
        except NotImplementedError:
            raise ValueError(
                f"There is no rule for the gamma of the kernel {self.kernel!r}, because "
                f"{type(part).__name__} does not define dissimilarity: give gamma as a number."
            ) from None
        distances = distances[distances > 1e-12]
        median = float(np.median(distances)) if len(distances) else 1.0
        return min(max(float(f"{1 / median:.1e}"), 1e-12), 1e12)

    def scale_gamma(
        self, X: Matrix, p: float | None, weight: NDArray[np.float64] | None = None
    ) -> float:
        """The value of ``gamma="scale"`` for scaled rows, to six digits.

        gaussian: 1 / (d Var(X)), the rule of scikit-learn's SVC, with the variance of all values of
        all d columns. Kernels of directions, exp(-gamma (1 - rho)) (rbf, folded_rbf, mm_rbf): twice
        that of the rows at unit length, which is the same kernel (``square_factor`` is 1/2). Where
        the dissimilarity is no squared distance, as for exp_gmm, there is no such rule, and the
        gamma is that of the median pair. Weights of rows count as repetitions.
        """
        part = self._part_with_gamma(p)
        if part.square_factor is None:
            return self.median_gamma(X, p)
        X, factor = part._rows(X, "X"), 1 / part.square_factor
        values = X.data if sp.issparse(X) else X
        if weight is None:
            size = float(X.shape[0] * X.shape[1])
            mean = float(values.sum(dtype=np.float64)) / size
            squares = float(np.square(values, dtype=np.float64).sum()) / size
        else:
            size = float(weight.sum()) * X.shape[1]
            mean = float(weight @ np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()) / size
            powers = X.multiply(X) if sp.issparse(X) else np.square(X, dtype=np.float64)
            squares = (
                float(weight @ np.asarray(powers.sum(axis=1, dtype=np.float64)).ravel()) / size
            )
        variance = squares - mean * mean
        if not variance > 1e-12 * squares or not math.isfinite(variance):
            return factor
        return min(max(float(f"{factor / (X.shape[1] * variance):.6g}"), 1e-12), 1e12)


def _means_auto(name: str) -> bool:
    """Whether a name is nearly "auto", which is no kernel, so that `kernels.get` does not know it.

    >>> _means_auto("Auto"), _means_auto("acos")
    (True, False)
    """
    return bool(get_close_matches(name.strip().lower(), [AUTO], cutoff=0.75))


def _parts(kernel: Kernel) -> tuple[Kernel, ...]:
    """The kernel and, of a product, its factors."""
    return (kernel, *getattr(kernel, "factors", ()))


def _has(kernel: Kernel, name: str) -> bool:
    """Whether the kernel itself has the parameter; the gamma of Gaussian is given by its sigma."""
    known = {field.name for field in fields(kernel)}
    return name in known or (name == "gamma" and "sigma" in known)


def map_for(
    kernel: Kernel,
    n_components: int,
    method: str | None,
    *,
    bits: int,
    n_rows: int,
    seed: int,
    n_jobs: int | None,
) -> FeatureMap:
    """An unfitted feature map of the kernel; ``bits`` go to maps that have a choice of them.

    A Nystroem map has at most ``n_rows`` components: these are its landmarks.
    """
    unfitted = feature_map(kernel, n_components, method, random_state=seed)
    if isinstance(unfitted, KernelNystroem):
        unfitted.n_components = min(unfitted.n_components, n_rows)
    known = unfitted.get_params(deep=True)
    jobs = {name: n_jobs for name in known if name.split("__")[-1] == "n_jobs"}
    unfitted.set_params(**jobs, **({"bits": bits} if "bits" in known else {}))
    return unfitted
