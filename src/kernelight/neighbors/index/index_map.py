"""Maps that an index takes: fitted ones, and what is known of their codes and kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from kernelight.base.checks import check_int
from kernelight.codes.slots import slot_dtype
from kernelight.kernels import GMM, NGMM
from kernelight.maps.base import CodeMap
from kernelight.maps.minmax.gcws import GCWS


def fitted_map(given: Any, n_features: int | None) -> CodeMap:
    """A map that is fitted; of the user's object nothing is changed."""
    made = GCWS(256) if given is None else given
    if not isinstance(made, CodeMap):
        raise TypeError(f"map must be a map into codes, such as GCWS, got {made!r}.")
    if hasattr(made, "n_features_in_"):
        if n_features is not None and n_features != made.n_features_in_:
            raise ValueError(
                f"n_features is {n_features}, but the map takes rows of {made.n_features_in_}: "
                "leave n_features out."
            )
        return made
    if not isinstance(made, GCWS) or n_features is None:
        raise ValueError(
            f"The map {type(made).__name__} is not fitted: fit it to some rows"
            f"{', or pass n_features' if isinstance(made, GCWS) else ''}."
        )
    n_features = check_int("n_features", n_features, 1)
    copy = clone(made)
    if copy.sampler == "auto":
        copy.sampler = "cws"
    fitted: CodeMap = copy.fit(
        np.zeros((1, n_features)) if made.center is not None else sp.csr_matrix((1, n_features))
    )
    return fitted


def code_form(fitted: CodeMap) -> tuple[np.dtype[Any], int]:
    """dtype and bits of the codes of a map."""
    bits = fitted._code_bits()
    return slot_dtype(bits), bits


def power_of(fitted: CodeMap) -> float | None:
    """The power of the exact kernel on prepared rows; None where an index has no exact scores."""
    kernel = fitted.kernel
    if isinstance(kernel, GMM):
        return kernel.p
    return 1.0 if isinstance(kernel, NGMM) else None


def estimates_kernel(fitted: CodeMap) -> bool:
    """Whether the fraction of equal slots is the kernel, but for slots equal by chance."""
    return isinstance(fitted, GCWS) and fitted.theory_gap is None
