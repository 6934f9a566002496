"""How much is needed: components for an error, bytes for codes.

(`bits_needed` and `uniform_components` belong here too.)

A mean of k independent terms of variance V is off by more than e with probability 1 - confidence.
Two ways to say so:

* "normal": e = z sqrt(V / k), z the quantile of the normal law. What to expect; a good
  approximation once k is some dozens.
* "hoeffding": 2 exp(-2 k e^2 / w^2), w the width of the range of a term. A guarantee for every k,
  and blind to V.

For n pairs at once, the probability of failure is shared out between them (the union bound).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from kernelight.theory.collisions import bbit_variance, by_chance
from kernelight.theory.compare import VARIANCES
from kernelight.theory.inputs import (
    Array,
    counts,
    inside,
    kernel_values,
    one_of,
    over_square,
    positive,
    whole,
)

# w^2 of one component. "paired": a column has half of a cos in [-1, 1]; "rff": 2 cos cos; "gcws": 0
# or 1.
_SQUARED_WIDTHS = {"paired": 8.0, "rff": 16.0, "gcws": 1.0}
_KERNELS = np.linspace(0.0, 1.0, 2001)  # where to look for the worst one
_BOUNDS = ("normal", "hoeffding")


def components_needed(
    error: ArrayLike,
    confidence: ArrayLike = 0.95,
    method: str = "gcws",
    *,
    kernel: ArrayLike | None = None,
    bits: ArrayLike | None = None,
    n_pairs: ArrayLike = 1,
    bound: str = "normal",
) -> NDArray[np.int64]:
    """The n_components with which an estimate of the kernel is within ``error`` of it.

    It is so with probability ``confidence``.

    ``method`` is one of "gcws" (with ``bits``: codes of that many bits, and the estimate corrected
    for them), "paired", "rff", "nrff" (Fourier features), "binary", "sign_cosine" (the Gaussian
    kernel from bits with or without a threshold). ``kernel`` is the value of the kernel; without
    it, the worst one is assumed. ``n_pairs``: for all of that many pairs at once.

    Assumes independent components (Gaussian projections; structured ones are as good or better)
    and, with ``bound="normal"``, that their mean is normal: k = z^2 V / error^2. "nrff", "binary"
    and "sign_cosine" have asymptotic variances besides. ``bound="hoeffding"`` assumes independence
    alone, for "gcws", "paired" and "rff".

    Parameters
    ----------
    error : array_like
        How far the estimate may be from the kernel, above 0.
    confidence : array_like, default=0.95
        The probability that it is within it.
    method : {"gcws", "paired", "rff", "nrff", "binary", "sign_cosine"}, default="gcws"
        How the kernel is estimated.
    kernel : array_like or None, default=None
        Values of the kernel; None is the worst one.
    bits : array_like or None, default=None
        For "gcws": bits of a code; None is a whole sample.
    n_pairs : array_like, default=1
        Pairs that must be within the error all at once.
    bound : {"normal", "hoeffding"}, default="normal"
        What is assumed of the mean of components.

    Returns
    -------
    int or array
        The number of components.

    See Also
    --------
    memory_needed : The bytes that they take.
    uniform_components : For all pairs of points in a region.

    Examples
    --------
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
    # the logarithm of the failure of one pair, which itself may be smaller than any double
    failure = np.log1p(-inside(confidence, "confidence", 0.0, 1.0)) - np.log(
        counts(n_pairs, "n_pairs")
    )
    if one_of(bound, "bound", _BOUNDS) == "normal":
        amount = np.square(special.ndtri_exp(failure - np.log(2.0))) * variance
    else:
        amount, _ = np.broadcast_arrays(
            _squared_width(method, bits) * (np.log(2.0) - failure) / 2.0, variance
        )
    # paired columns come in twos
    return whole(over_square(amount, error), step=2 if method == "paired" else 1)


def memory_needed(
    n_rows: ArrayLike, n_components: ArrayLike, bits: ArrayLike, *, packed: bool = False
) -> NDArray[np.int64]:
    """Bytes of codes of ``n_rows`` rows: a byte for each component up to 8 bits, two up to 16.

    ``packed``: slots of 1, 2, 4, 8 or 16 bits (others take the next of these) in 64-bit words, as
    `Codes.packed` has them. ``bits`` of 32 or 64 are dense features in single or double precision.
    Assumes that no row is empty; otherwise a mask adds one byte for each row. A linear model on
    codes also has n_components 2^bits weights for each class.

    Parameters
    ----------
    n_rows : array_like
        The number of rows.
    n_components : array_like
        Slots or features of a row.
    bits : array_like
        Bits of a slot, 1 to 16; 32 or 64 for features.
    packed : bool, default=False
        Whether slots are packed into words.

    Returns
    -------
    int or array
        The number of bytes.

    See Also
    --------
    components_needed : How many components an error takes.

    Examples
    --------
    >>> from kernelight.theory import memory_needed
    >>> memory_needed(1_000_000, 512, [1, 8, 12, 32])
    array([ 512000000,  512000000, 1024000000, 2048000000])
    >>> memory_needed(1_000_000, 512, 1, packed=True)
    64000000
    """
    n, k, b = (
        counts(n_rows, "n_rows", 0),
        counts(n_components, "n_components"),
        counts(bits, "bits", 1, 64),
    )
    between = (b > 16) & (b != 32) & (b != 64)
    if between.any():
        raise ValueError(
            f"bits must be 1 to 16 for codes, 32 or 64 for features, got {int(b[between][0])}."
        )
    slot = np.exp2(np.ceil(np.log2(b)))
    with np.errstate(over="ignore"):
        row = np.ceil(k * slot / 64.0) * 8.0 if packed else k * np.maximum(slot, 8.0) / 8.0
        return whole(n * row, least=0)


def _variance(method: str, kernel: ArrayLike | None, bits: ArrayLike | None) -> Array:
    if bits is not None and method != "gcws":
        raise ValueError(f"bits belong to method='gcws': leave them out for {method!r}.")

    def of(values: Array) -> Array:
        return np.asarray(
            VARIANCES[method](values) if bits is None else bbit_variance(values, bits)
        )

    if kernel is not None:
        return of(kernel_values(kernel, "kernel"))
    # each number of bits has its own worst kernel
    axes = 0 if bits is None else by_chance(bits).ndim
    return np.asarray(of(_KERNELS.reshape(-1, *(1,) * axes)).max(axis=0))


def _squared_width(method: str, bits: ArrayLike | None) -> Array:
    if method not in _SQUARED_WIDTHS:
        known = ", ".join(map(repr, _SQUARED_WIDTHS))
        raise ValueError(
            f"bound='hoeffding' is for means of bounded terms, {known}: use bound='normal' for "
            f"{method!r}."
        )
    return _SQUARED_WIDTHS[method] * np.square(
        1.0 / (1.0 - (0.0 if bits is None else by_chance(bits)))
    )
