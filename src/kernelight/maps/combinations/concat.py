"""Concat: the map of a weighted sum of kernels, made of a map of each."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from kernelight import kernels
from kernelight.kernels import Sum
from kernelight.kernels.base import Kernel
from kernelight.kernels.sum import checked_weights
from kernelight.maps.base import FeatureMap, refuse_gap
from kernelight.maps.combinations.combination import Combination, Parts, give_all
from kernelight.maps.feature_map import feature_map
from kernelight.maps.minmax.gcws import GCWS
from kernelight.maps.nystroem.landmarks import PRECOMPUTED
from kernelight.maps.projections.random_fourier import RandomFourier


class Concat(Combination, _BaseComposition):  # type: ignore[misc]  # scikit-learn has no types
    r"""The weighted sum of kernels: features of several maps side by side.

    The features of each are scaled by the root of its weight:

    .. math:: K = \sum_i w_i K_i, \qquad E = \sum_i w_i E_i, \qquad Var = \sum_i w_i^2 Var_i,

    because the maps draw independently: the seed of each is mixed with its position.

    Parameters
    ----------
    maps : list of maps or of (name, map) pairs, default=None
        None means ``[GCWS(), RandomFourier()]``. Maps without names are called map0, map1, and so
        on, so that their parameters are ``map0__n_components`` and the like.
    weights : list of numbers above 0 or None, default=None
        One for each map. None means 1 each: the plain sum, not the mean.

    Attributes
    ----------
    maps_ : list of maps
        Fitted copies.
    names_ : list of str
    seeds_ : dict
        The seeds that each ``random_state`` stood for.

    Notes
    -----
    A generator that is the ``random_state`` of a map is copied, not advanced: fitting twice gives
    the same features.

    See Also
    --------
    ProductMap : Products of kernels.
    kernelight.kernels.Sum : The kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelight import GCWS, Concat, RandomFourier
    >>> X = np.array([[1.0, 2.0, 3.0], [3.0, 0.0, 1.0]])
    >>> both = Concat([GCWS(4096), RandomFourier(4096)], weights=[0.75, 0.25]).fit(X)
    >>> Z = both.transform(X)
    >>> Z.shape
    (2, 1052672)
    >>> float(both.kernel(X)[0, 1].round(2)), round(float((Z @ Z.T)[0, 1]), 2)
    (0.34, 0.34)
    """

    _decided: ClassVar[tuple[str, ...]] = ("seeds_", "names_")

    def __init__(self, maps: Any = None, *, weights: Any = None) -> None:
        self.maps = maps
        self.weights = weights

    @classmethod
    def for_kernel(cls, kernel: Kernel, n_components: int = 1024, **options: Any) -> Concat:
        """For sums: the preferred map of each term, with ``n_components`` each.

        ``random_state`` and ``n_jobs`` go to every map.
        """
        if not isinstance(kernel, Sum):
            return super().for_kernel(kernel, n_components, **options)
        maps = [feature_map(term, n_components) for term in kernel.kernels]
        give_all(maps, options)
        weights = None if set(kernel.weights or ()) == {1.0} else kernel.weights
        return cls._configured(kernel, {"maps": maps, "weights": weights}, options)

    @property
    def _named_maps(self) -> Any:
        """The (name, map) pairs through which scikit-learn reaches parameters of maps.

        None where ``maps`` is not a list.
        """
        return (
            list(zip(_names(self.maps), _members(self.maps), strict=True))
            if _is_list(self.maps)
            else None
        )

    @_named_maps.setter
    def _named_maps(self, named: Any) -> None:
        self._rename([name for name, _ in named], [each for _, each in named])

    def _rename(self, names: list[str], maps: list[Any]) -> None:
        self.maps = maps if names == _numbered(len(maps)) else list(zip(names, maps, strict=True))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; with ``deep``, also the maps by name and their parameters.

        Those are called ``map0__n_components`` and so on.
        """
        return dict(self._get_params("_named_maps", deep=deep))

    def set_params(self, **params: Any) -> Concat:
        """Set parameters of this map, maps by name, or parameters of maps.

        Those of ``maps=None`` are set in the default maps.
        """
        if "maps" in params:  # first: the others may be about its members
            self.maps = params.pop("maps")
        if self.maps is None and {name.split("__")[0] for name in params} & set(
            _numbered(len(_defaults()))
        ):
            self.maps = _defaults()
        self._set_params("_named_maps", **params)
        return self

    def _fit(self, X: Any, y: Any) -> None:
        super()._fit(X, y)
        self.names_ = _numbered(len(self.maps_)) if self.maps is None else _names(self.maps)

    def _given_parts(self) -> Parts:
        maps = _defaults() if self.maps is None else self.maps
        if not _is_list(maps) or not maps:
            kind = type(maps).__name__
            got = f"an empty {kind}" if _is_list(maps) else kind
            raise ValueError(f"maps must be a list of at least one map, got {got}.")
        return {str(at): each for at, each in enumerate(_members(maps))}

    def _give_parts(self, parts: Parts) -> None:
        """Make parts the parameter ``maps``, under their present names or those of the state."""
        names = getattr(self, "names_", None)
        if names is None:
            names = _numbered(len(parts)) if self.maps is None else _names(self.maps)
        elif not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("its names are not strings.")
        self._rename(names, list(parts.values()))

    def _fitted_parts(self) -> Parts:
        return {str(at): part for at, part in enumerate(self.maps_)}

    def _hold_parts(self, parts: Parts) -> None:
        if set(parts) != set(map(str, range(len(parts)))):
            raise ValueError("its parts are not numbered.")
        self.maps_ = [parts[str(at)] for at in range(len(parts))]

    def _check_parts(self, parts: Parts) -> None:
        if _is_list(self.maps):
            self._validate_names(_names(self.maps))
        for weight in self._weights_within(parts):
            with np.errstate(over="ignore", under="ignore"):
                root = np.float32(np.sqrt(weight))
            if not np.isfinite(root) or root < np.finfo(np.float32).tiny:
                raise ValueError(
                    "The root of a weight scales float32 features: weights, and their products "
                    f"where sums are nested, must be between 1.4e-76 and 1.1e77, got {weight:g}."
                )

    def _settle(self) -> None:
        self._check_parts(self._fitted_parts())

    @property
    def has_prefix(self) -> bool:
        """False for several maps: the first k columns of a longer run are not the shorter run."""
        return len(self._parts_in_use()) == 1 and super().has_prefix

    def _weights_within(self, parts: Parts) -> list[float]:
        """The weight of each part that is not a sum; those of nested sums are multiplied."""
        weights = checked_weights(self.weights, len(parts))
        return [
            weight * inner
            for weight, part in zip(weights, parts.values(), strict=True)
            for inner in (
                part._weights_within(part._parts_in_use()) if isinstance(part, Concat) else [1.0]
            )
        ]

    def _weighted(self) -> list[tuple[float, FeatureMap]]:
        parts = self._parts_in_use()
        return list(zip(checked_weights(self.weights, len(parts)), parts.values(), strict=True))

    @property
    def kernel(self) -> Sum:
        """The weighted sum of the kernels of the maps."""
        weighted = self._weighted()
        return Sum(
            tuple(_kernel_of(at, part) for at, (_, part) in enumerate(weighted)),
            tuple(weight for weight, _ in weighted),
        )

    @property
    def n_outputs(self) -> int:
        """The outputs of all maps together."""
        return sum(part.n_outputs for part in self._parts_in_use().values())

    def transform(self, X: Any) -> Any:
        """The features of all maps side by side, float32.

        CSR if those of any map are sparse, else a dense array.
        """
        X = self._validated(X, reset=False)
        blocks = []
        for weight, part in self._weighted():
            block = part.transform(X)
            block = block.astype(np.float32, copy=False)
            if weight != 1.0:
                block *= np.float32(np.sqrt(weight))
            blocks.append(block)
        if not any(map(sp.issparse, blocks)):
            return np.hstack(blocks)
        stacked = sp.hstack(
            [block if sp.issparse(block) else _dense_csr(block) for block in blocks], format="csr"
        )
        stacked.has_canonical_format = True
        return stacked

    def expected(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """What the inner products of the features average to, over seeds.

        It is the weighted sum of what the maps expect.
        """
        refuse_gap(self.theory_gap)
        return np.asarray(sum(weight * part.expected(X, Y) for weight, part in self._weighted()))

    def variance(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """The variance of those inner products over seeds.

        It is the sum of the variances of the maps with squared weights.
        """
        refuse_gap(self.variance_gap)
        return np.asarray(sum(weight**2 * part.variance(X, Y) for weight, part in self._weighted()))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """A name for each column, ``map0__gcws3_17``."""
        check_is_fitted(self)
        parts = zip(self.names_, self.maps_, strict=True)
        return np.asarray(
            [f"{name}__{inner}" for name, part in parts for inner in part.get_feature_names_out()],
            dtype=object,
        )

    def _plain_params(self) -> dict[str, Any]:
        return {
            "weights": None
            if self.weights is None
            else checked_weights(self.weights, len(self.maps_))
        }


def _dense_csr(block: NDArray[np.float32]) -> Any:
    """``sp.csr_matrix(block)`` in a tenth of the time, where few entries or none are 0."""
    n, width = block.shape
    kept = block != 0
    index = np.int32 if block.size <= np.iinfo(np.int32).max else np.int64
    starts = np.zeros(n + 1, dtype=index)
    np.cumsum(np.count_nonzero(kept, axis=1), out=starts[1:])
    columns = np.broadcast_to(np.arange(width, dtype=index), block.shape)
    if starts[-1] == block.size:
        return sp.csr_matrix((block.ravel(), columns.ravel(), starts), shape=block.shape)
    return sp.csr_matrix((block[kept], columns[kept], starts), shape=block.shape)


def _kernel_of(at: int, part: FeatureMap) -> Kernel:
    """The kernel of a part, as a term of a sum.

    A map that takes any kernel may have it by name, or have one that cannot be a term.
    """
    kernel: Any = part.kernel
    if isinstance(kernel, str) and kernel != PRECOMPUTED:
        kernel = kernels.get(kernel)
    if not isinstance(kernel, Kernel):
        what = "a precomputed one" if isinstance(kernel, str) else "a callable"
        raise ValueError(
            f"Part {at} of Concat has no kernel of kernelight but {what}: there is no Sum of it."
        )
    return kernel


def _defaults() -> list[Any]:
    """What ``maps=None`` means."""
    return [GCWS(), RandomFourier()]


def _is_list(maps: Any) -> bool:
    return isinstance(maps, (list, tuple))


def _has_names(maps: Any) -> bool:
    """Whether a list holds (name, map) pairs."""
    return all(
        isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str) for each in maps
    )


def _members(maps: Any) -> list[Any]:
    return [each for _, each in maps] if _has_names(maps) else list(maps)


def _names(maps: Any) -> list[str]:
    return [name for name, _ in maps] if _has_names(maps) else _numbered(len(maps))


def _numbered(count: int) -> list[str]:
    return [f"map{at}" for at in range(count)]
