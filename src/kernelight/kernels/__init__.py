"""Exact kernels: immutable values that compare the rows of two matrices.

>>> from kernelight import kernels
>>> kernels.get("rbf", gamma=5)
RBF(gamma=5.0)
>>> kernels.get("mm_acos")
MinMax() * Acos()
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from inspect import signature
from typing import Any

from kernelight.kernels.base import Kernel
from kernelight.kernels.chi2 import AcosChi2
from kernelight.kernels.cosine import RBF, Acos, FoldedRBF
from kernelight.kernels.linear import Gaussian, Linear
from kernelight.kernels.minmax import GMM, NGMM, ExpGMM, Intersection, MinMax
from kernelight.kernels.product import Product
from kernelight.kernels.sum import Sum

__all__ = [
    "GMM",
    "NGMM",
    "RBF",
    "Acos",
    "AcosChi2",
    "ExpGMM",
    "FoldedRBF",
    "Gaussian",
    "Intersection",
    "Kernel",
    "Linear",
    "MinMax",
    "Product",
    "Sum",
    "get",
]

# Products and sums have the names of their parts.
_NAMED = (Linear, RBF, FoldedRBF, Gaussian, Acos, AcosChi2, MinMax, GMM, ExpGMM, NGMM, Intersection)
_MAKERS: dict[str, Callable[..., Kernel]] = {
    **{cls.name: cls for cls in _NAMED},
    "frbf": FoldedRBF,
    "mm_acos": lambda: MinMax() * Acos(),
    "mm_acos_chi2": lambda: MinMax() * AcosChi2(),
    "mm_rbf": lambda gamma=1.0: MinMax() * RBF(gamma),
}


def get(name: str, **params: Any) -> Kernel:
    """The kernel of that name, with its parameters: ``get("rbf", gamma=5)`` is ``RBF(gamma=5)``.

    A name is the ``name`` of a class, such as ``FoldedRBF.name``, or one of "frbf" (folded_rbf),
    "mm_acos", "mm_acos_chi2" and "mm_rbf" (products with MinMax). ``kernelight kernels`` lists all.

    Parameters
    ----------
    name : str
        The name of a kernel.
    **params
        Its parameters, such as ``gamma``.

    Returns
    -------
    Kernel
        The kernel.

    See Also
    --------
    kernelight.feature_map : The map of a kernel, also by its name.

    Examples
    --------
    >>> from kernelight import kernels
    >>> kernels.get("rbf", gamma=5)
    RBF(gamma=5.0)
    """
    if name not in _MAKERS:
        nearest = get_close_matches(str(name).lower(), _MAKERS, n=1, cutoff=0.5)
        hint = (
            f"did you mean {nearest[0]!r}?" if nearest else f"known names are {', '.join(_MAKERS)}."
        )
        raise ValueError(f"There is no kernel named {name!r}; {hint}")
    known = signature(_MAKERS[name]).parameters
    unknown = [parameter for parameter in params if parameter not in known]
    if unknown:
        takes = f"it takes {', '.join(known)}" if known else "it takes none"
        raise TypeError(f"The kernel {name!r} has no parameter {', '.join(unknown)}: {takes}.")
    return _MAKERS[name](**params)
