"""Maps seen slot by slot, each slot a code, values, or both: what `ProductMap` multiplies.

Slot j of a map with codes is one of 2^bits unit vectors; slot j of random Fourier features is a
number (a cosine) or two (a cosine and a sine). The tensor product of the two is the vector of
values, placed in the block of the code: so the product of two slots needs a code on at least one
side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight import _core
from kernelight.base.checks import Matrix
from kernelight.codes.slots import MAX_BITS, paired, slot_dtype
from kernelight.maps.base import CodeMap, FeatureMap
from kernelight.maps.projections.random_fourier import RandomFourier
from kernelight.maps.projections.splitmix import mixed_words

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)  # of splitmix64
MIX_BLOCK = 1 << 15  # codes mixed at a time: some arrays of them stay in the cache


class SlotShape(NamedTuple):
    """Slots, the bits of a code (0 without codes), and the values of a slot (or 0)."""

    n_slots: int
    bits: int
    n_values: int


class SlotFeatures(NamedTuple):
    """Codes and values of all rows, slot by slot, and which rows are empty.

    Codes or values that a map does not have are None.
    """

    codes: NDArray[Any] | None
    bits: int
    empty: NDArray[np.bool_]
    values: NDArray[np.float32] | None = None


class SlotMoments(NamedTuple):
    """Moments of one slot, for each pair of rows.

    ``agree`` is the probability that codes agree, ``mean`` and ``square`` are the mean and the mean
    square of the product of values.
    """

    agree: NDArray[np.float64] | float
    mean: NDArray[np.float64] | float
    square: NDArray[np.float64] | float


def gives_codes(part: Any) -> bool:
    """Whether a map gives codes: some do so only with certain parameters."""
    return isinstance(part, CodeMap) and hasattr(part, "encode")


def shape_of(part: FeatureMap) -> SlotShape:
    """The slots of a map that is not a product; a map without slots is a ValueError."""
    if gives_codes(part):
        return SlotShape(part._n_slots(), part._code_bits(), 0)
    part = checked_slots(part)
    if part._normalizes():
        raise ValueError(
            "Normalized features are no product of slots: set normalize=False in "
            "RandomFourier(features='phase'), or take features='paired'."
        )
    if part._odd():
        raise ValueError(
            "A slot of paired features is a cosine and a sine: RandomFourier needs an even "
            f"n_components in a ProductMap, got {part.n_components}."
        )
    return SlotShape(part._n_outputs(), 0, 2 if part.features == "paired" else 1)


def checked_slots(part: FeatureMap) -> Any:
    """``part`` if it has slots; otherwise a ValueError."""
    if not gives_codes(part) and not isinstance(part, RandomFourier):
        raise ValueError(
            f"ProductMap multiplies slot by slot, but {type(part).__name__} gives dense features "
            "without slots. Use SignProjection, GCWS or RandomFourier."
        )
    return part


def features_of(part: FeatureMap, X: Matrix) -> SlotFeatures:
    """The slots of checked rows, of a map that is not a product.

    Values carry the factor 1/sqrt(slots).
    """
    if gives_codes(part):
        codes, empty, bits = part._encode(X)
        return SlotFeatures(codes, bits, empty)
    values = part._features(X)  # shape_of has refused everything else
    return SlotFeatures(None, 0, ~values.any(axis=1), values)


def moments_of(part: FeatureMap, X: Any, Y: Any, *, squares: bool) -> SlotMoments:
    """The moments of a map that is not a product.

    Mean squares are those of independent slots: ask for them only where the variance is known.
    """
    mean = part.expected(X, Y)
    if gives_codes(part):
        return SlotMoments(mean, 1.0, 1.0)
    if not squares:
        return SlotMoments(1.0, mean, 1.0)
    return SlotMoments(1.0, mean, part.variance(X, Y) * shape_of(part).n_slots + np.square(mean))


def pair_bits(left: int, right: int) -> int:
    """Bits of pairs of codes that are not hashed."""
    if left + right > MAX_BITS:
        raise ValueError(
            f"ProductMap would need {left} + {right} = {left + right} bits, more than {MAX_BITS}: "
            f"pass bits={MAX_BITS} or fewer "
            "to hash each pair to that many, or give its sides fewer bits."
        )
    return left + right


def pair_codes(left: SlotFeatures, right: SlotFeatures) -> NDArray[Any]:
    """left << right.bits | right; where only one side has codes, those codes."""
    if left.codes is None or right.codes is None:
        codes = right.codes if left.codes is None else left.codes
        assert codes is not None
        return codes
    return paired(left.codes, right.codes, right.bits, left.bits + right.bits)


def mixed_codes(left: SlotFeatures, right: SlotFeatures, seed: int, bits: int) -> NDArray[Any]:
    """child(child(stream(seed, 16), slot), pair) mod 2^bits of every pair of codes.

    Pairs are as in `pair_codes`, but of any width.
    """
    some = right.codes if left.codes is None else left.codes
    assert some is not None
    n, k = some.shape
    keys = np.empty(k, dtype=np.uint64)
    _core.fill_words(seed, _core.STREAM_REMIX, keys)
    out = np.empty((n, k), dtype=slot_dtype(bits))
    step = max(1, MIX_BLOCK // k)
    for begin in range(0, n, step):
        at = slice(begin, begin + step)
        words = np.zeros((1, 1), dtype=np.uint64)
        for side in (left, right):
            if side.codes is not None:
                words = (words << np.uint64(side.bits)) | side.codes[at]
        words = words * GOLDEN_GAMMA
        words += keys
        np.bitwise_and(
            mixed_words(words), np.uint64((1 << bits) - 1), out=out[at], casting="unsafe"
        )
    return out
