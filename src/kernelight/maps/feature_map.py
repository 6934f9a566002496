"""`feature_map`: the map of a kernel, without knowing which class it is."""

from __future__ import annotations

from typing import Any

from kernelight import kernels
from kernelight.base import checks
from kernelight.base.registry import METHODS, lookup
from kernelight.kernels.base import Kernel
from kernelight.maps.base import FeatureMap, UnsupportedKernel


def feature_map(
    kernel: Kernel | str, n_components: int = 1024, method: str | None = None, **options: Any
) -> FeatureMap:
    """An unfitted map whose inner products estimate a kernel.

    ============================================  =================================
    kernel                                        map
    ============================================  =================================
    GMM, MinMax, NGMM, ExpGMM                     GCWS
    Acos, AcosChi2                                SignProjection
    RBF, FoldedRBF, Gaussian                      RandomFourier
    Gaussian with ``method="binary"``             BinaryFourier
    Gaussian with ``method="integer"``            IntegerFourier
    ``K1 * K2``, at most one of them of cosines   ProductMap of maps of the factors
    ``K1 + K2``, Sum                              Concat of maps of the terms
    any other, or ``method="nystroem"``           KernelNystroem
    ============================================  =================================

    Parameters
    ----------
    kernel : Kernel or str
        A kernel, or the name of one with its default parameters (see `kernels.get`).
    n_components : int, default=1024
        For ProductMap the slots (paired Fourier features then have two columns for each), for
        Concat the components of each map.
    method : str or None, default=None
        The map to use: "gcws", "sign", "fourier", "binary", "integer", "product", "concat",
        "nystroem" or "aligned"; None takes the first of the table that has the kernel. A method
        without the kernel is a ValueError that says which ones have it.
    **options
        Parameters of the map that the kernel does not decide, such as ``bits`` or ``random_state``.
        ProductMap and Concat give ``random_state`` and ``n_jobs`` to each of their maps; these draw
        independently all the same.

    Notes
    -----
    ProductMap hashes pairs to 16 bits where they would have more, as those of three
    factors may: they agree with probability P + (1 - P) / 65536. ``bits`` is for the outermost
    pairs.

    `GCWS` takes negative values where the kernel MinMax refuses them; on nonnegative rows they are
    the same.

    Returns
    -------
    FeatureMap
        The map, not fitted.

    See Also
    --------
    kernelight.kernels.get : A kernel by its name.

    Examples
    --------
    >>> from kernelight import feature_map, kernels
    >>> feature_map(kernels.RBF(gamma=5), 4096)
    RandomFourier(gamma=5.0, n_components=4096)
    >>> feature_map("mm_acos", 256, bits=6)
    ProductMap(bits=6, left=GCWS(n_components=256),
               right=SignProjection(n_components=256))
    >>> feature_map(kernels.Gaussian(2.0), method="binary")
    BinaryFourier(sigma=2.0)
    """
    wanted = _as_kernel(kernel)
    n_components = checks.check_int("n_components", n_components, 1)
    if method is not None:
        return _by_method(wanted, n_components, method, options)
    obstacles = []
    for name in METHODS.values():
        try:
            return _made(name, wanted, n_components, options)
        except UnsupportedKernel as error:
            obstacles += [str(error)] * error.may_be_overcome
    raise UnsupportedKernel(
        f"No registered map has features of {wanted!r}. {' '.join(obstacles)}".strip()
    )


def _as_kernel(kernel: Any) -> Kernel:
    given = kernels.get(kernel) if isinstance(kernel, str) else kernel
    if not isinstance(given, Kernel):
        hint = f": write {given.__name__}()" if isinstance(given, type) else ""
        raise TypeError(
            f"kernel must be a kernel such as GMM(), or the name of one, got {given!r}{hint}."
        )
    while isinstance(given, kernels.Product) and len(given.factors) == 1:
        given = given.factors[0]
    return given


def _by_method(
    kernel: Kernel, n_components: int, method: str, options: dict[str, Any]
) -> FeatureMap:
    checks.check_choice("method", method, tuple(METHODS))
    try:
        return _made(METHODS[method], kernel, n_components, options)
    except UnsupportedKernel as error:
        others = " or ".join(f"method={method!r}" for method in _supporting(kernel, n_components))
        raise UnsupportedKernel(
            f"{error} {f'Use {others}.' if others else 'No other method has.'}"
        ) from None


def _supporting(kernel: Kernel, n_components: int) -> list[str]:
    """The methods that have features of the kernel."""
    methods = []
    for method, name in METHODS.items():
        try:
            _made(name, kernel, n_components, {})
        except UnsupportedKernel:
            continue
        methods.append(method)
    return methods


def _made(name: str, kernel: Kernel, n_components: int, options: dict[str, Any]) -> FeatureMap:
    cls: type[FeatureMap] = lookup(name, "map")
    return cls.for_kernel(kernel, n_components, **options)
