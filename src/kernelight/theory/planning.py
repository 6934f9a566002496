"""How much is needed: components for an error, bytes for codes. (`bits_needed` and `uniform_components` belong here too.)

A mean of k independent terms of variance V is off by more than e with probability 1 - confidence. Two ways to say so:

* "normal": e = z sqrt(V / k), z the quantile of the normal law. What to expect; a good approximation once k is some dozens.
* "hoeffding": 2 exp(-2 k e^2 / w^2), w the width of the range of a term. A guarantee for every k, and blind to V.

For n pairs at once, the probability of failure is shared out between them (the union bound).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from kernelight.theory._numbers import Array, counts, inside, kernel_values, one_of, positive, whole
from kernelight.theory.collisions import bbit_variance
from kernelight.theory.compare import VARIANCES

# w^2 of one component: of pairs, one column's share of cos in [-1, 1]; of phases, 2 cos cos; of samples, 0 or 1
_SQUARED_WIDTHS = {"paired": 8.0, "rff": 16.0, "gcws": 1.0}
_KERNELS = np.linspace(0.0, 1.0, 2001)  # where to look for the worst one
_BOUNDS = ("normal", "hoeffding")


def components_needed(
    error: ArrayLike,
    confidence: ArrayLike = 0.95,
    method: str = "gcws",
    *,
    kernel: ArrayLike | None = None,
    bits: int | None = None,
    n_pairs: ArrayLike = 1,
    bound: str = "normal",
) -> NDArray[np.int64]:
    """The n_components with which an estimate of the kernel is within ``error`` of it, with probability ``confidence``.

    ``method`` is one of "gcws" (with ``bits``: codes of so many, and the estimate corrected for them), "paired", "rff",
    "nrff" (Fourier features), "binary", "sign_cosine" (the Gaussian kernel from bits with or without a threshold).
    ``kernel`` is the value of the kernel; without it, the worst one is assumed. ``n_pairs``: all of so many pairs at once.

    Assumes independent components (Gaussian projections; structured ones are as good or better) and, with
    ``bound="normal"``, that their mean is normal: k = z^2 V / error^2. "nrff", "binary" and "sign_cosine" have asymptotic
    variances besides. ``bound="hoeffding"`` assumes independence alone, for "gcws", "paired" and "rff".

    >>> from kernelight.theory import components_needed
    >>> components_needed(0.02)
    2401
    >>> components_needed(0.02, kernel=[0.05, 0.5, 0.95])
    array([ 457, 2401,  457])
    >>> components_needed(0.02, method="paired", kernel=[0.05, 0.5, 0.95])
    array([9556, 5404,   92])
    >>> components_needed(0.02, bound="hoeffding")
    4612
    """
    error = positive(error, "error")
    variance = _variance(one_of(method, "method", VARIANCES), kernel, bits)
    failure = (1.0 - inside(confidence, "confidence", 0.0, 1.0)) / counts(n_pairs, "n_pairs")
    if one_of(bound, "bound", _BOUNDS) == "normal":
        needed = np.square(special.ndtri(failure / 2.0) / error) * variance
    else:
        needed = _squared_width(method, bits) * np.log(2.0 / failure) / (2.0 * np.square(error))
    return whole(needed, step=2 if method == "paired" else 1)  # columns of pairs come in twos


def memory_needed(
    n_rows: ArrayLike, n_components: ArrayLike, bits: ArrayLike, *, packed: bool = False
) -> NDArray[np.int64]:
    """Bytes of the codes of ``n_rows`` rows: a byte a component for up to 8 bits, two for up to 16.

    ``packed``: slots of 1, 2, 4, 8 or 16 bits (others take the next of these) in 64-bit words, as `Codes.packed` has them.
    ``bits`` of 32 or 64 are dense features in single or double precision. Assumes nothing but that no row is empty (a mask
    of a byte a row is then added); a linear model on codes has n_components 2^bits weights a class besides.

    >>> from kernelight.theory import memory_needed
    >>> memory_needed(1_000_000, 512, [1, 8, 12, 32])
    array([ 512000000,  512000000, 1024000000, 2048000000])
    >>> memory_needed(1_000_000, 512, 1, packed=True)
    64000000
    """
    n, k, b = counts(n_rows, "n_rows", 0), counts(n_components, "n_components"), counts(bits, "bits", 1, 64)
    between = (b > 16) & (b != 32) & (b != 64)
    if between.any():
        raise ValueError(f"bits must be 1 to 16 for codes, 32 or 64 for features, got {int(b[between][0])}.")
    slot = np.exp2(np.ceil(np.log2(b)))
    row = np.ceil(k * slot / 64.0) * 8.0 if packed else k * np.maximum(slot, 8.0) / 8.0
    return whole(n * row, least=0)


def _variance(method: str, kernel: ArrayLike | None, bits: int | None) -> Array:
    if bits is not None and method != "gcws":
        raise ValueError(f"bits belong to method='gcws': leave them out for {method!r}.")
    values = _KERNELS if kernel is None else kernel_values(kernel, "kernel")
    each = np.asarray(VARIANCES[method](values) if bits is None else bbit_variance(values, bits))
    return each if kernel is not None else np.asarray(each.max())


def _squared_width(method: str, bits: int | None) -> float:
    if method not in _SQUARED_WIDTHS:
        known = ", ".join(map(repr, _SQUARED_WIDTHS))
        raise ValueError(
            f"bound='hoeffding' is for means of bounded terms, {known}: use bound='normal' for {method!r}."
        )
    return _SQUARED_WIDTHS[method] * (1.0 if bits is None else (1.0 - math.pow(2.0, -bits)) ** -2)
