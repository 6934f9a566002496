"""What the formulas take and return.

In: anything NumPy takes as real numbers, and whole numbers of any length; what cannot be (NaN, a
correlation of 1.5, a masked entry) is a ValueError that names it. Kernel values and correlations
may be out of their range by what single precision leaves, 1e-3, and are then brought back. Out: an
array of the shape that the arguments broadcast to; of numbers, a number (NumPy's float64, which is
a float).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_ROUNDING = 1e-3  # correlations of long float32 rows were seen to be off by 2e-4


def numbers(
    x: ArrayLike, name: str, low: float = -math.inf, high: float = math.inf, slack: float = 0.0
) -> Array:
    """``x`` as doubles between ``low`` and ``high``, both included.

    Infinity is a number, NaN is not. What is out by no more than ``slack`` is brought back.
    """
    if isinstance(x, np.ma.MaskedArray) and np.ma.getmaskarray(x).any():
        raise ValueError(f"{name} has masked entries: fill or drop them first.")
    try:
        array = np.asarray(x)
        if array.size and array.dtype.kind not in "fiub" and not _all_real(array):
            raise TypeError
        values = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be a real number or an array of them, got {_short(x)}."
        ) from None
    except OverflowError:
        raise ValueError(
            f"{name} must be within the range of a double, 1.8e308, got {_short(x)}."
        ) from None
    bad = ~((values >= low - slack) & (values <= high + slack))
    if bad.any():
        raise ValueError(f"{name} {_wanted(low, high)}, got {float(values[bad][0])}{_where(bad)}.")
    return np.clip(values, low, high) if slack else values


def kernel_values(E: ArrayLike, name: str = "E") -> Array:
    return numbers(E, name, 0.0, 1.0, slack=_ROUNDING)


def correlations(rho: ArrayLike) -> Array:
    return numbers(rho, "rho", -1.0, 1.0, slack=_ROUNDING)


def positive(x: ArrayLike, name: str) -> Array:
    values = numbers(x, name, 0.0)
    zero = values == 0
    if zero.any():
        raise ValueError(f"{name} must be positive, got 0.0{_where(zero)}.")
    return values


def inside(x: ArrayLike, name: str, low: float, high: float) -> Array:
    """Between ``low`` and ``high``, neither included."""
    values = numbers(x, name)
    bad = ~((values > low) & (values < high))
    if bad.any():
        raise ValueError(
            f"{name} must lie strictly between {low:g} and {high:g}, got "
            f"{float(values[bad][0])}{_where(bad)}."
        )
    return values


def counts(n: ArrayLike, name: str, low: int = 1, high: float = math.inf) -> Array:
    """Whole numbers from ``low`` on, as doubles."""
    values = numbers(n, name, low, high)
    broken = (values != np.floor(values)) | np.isinf(values)
    if broken.any():
        raise ValueError(
            f"{name} must be a whole number, got {float(values[broken][0])}{_where(broken)}."
        )
    return values


def one(values: Array, name: str) -> float:
    """The number, where an array of them has no meaning."""
    if values.ndim:
        raise ValueError(
            f"{name} must be one number, got an array of the shape {values.shape}: call once for "
            "each."
        )
    return float(values)


def one_of(word: str, name: str, known: Any) -> str:
    if not isinstance(word, str) or word not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {word!r}.")
    return word


def result(values: Any) -> Array:
    """Numbers in, a number out: an array without dimensions becomes NumPy's scalar."""
    return np.asarray(values, dtype=np.float64)[()]


def whole(values: Array, least: int = 1, step: int = 1) -> NDArray[np.int64]:
    """Rounded up to multiples of ``step``, at least ``least`` of them; of a number, an int."""
    if not np.all(values < 2.0**62):
        raise ValueError("That would take more than 2^62: ask for less.")
    up = step * np.maximum(np.ceil(values / step), least).astype(np.int64)
    return up if up.ndim else int(up)  # type: ignore[return-value]


def over_square(amount: Array, length: Array) -> Array:
    """amount / length^2; infinite where it is beyond every double, NaN of two infinities.

    `whole` refuses both.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.square(np.sqrt(amount) / length))


def product(value: Array, factor: Array) -> Array:
    """value * factor, and 0 where the value is 0, even if the factor is infinite."""
    value, factor = np.broadcast_arrays(value, factor)
    return np.asarray(np.multiply(value, factor, out=np.zeros(value.shape), where=value > 0))


def root(function: Callable[[Array], Array], low: ArrayLike, high: ArrayLike) -> Array:
    """Roots by bisection, for all brackets at once.

    ``function`` is positive at ``low`` and negative at ``high``.
    """
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    for _ in range(80):
        middle = (low + high) / 2.0
        above = function(middle) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray((low + high) / 2.0)


def _all_real(array: NDArray[Any]) -> bool:
    """Whether objects are numbers, such as whole ones beyond 64 bits."""
    return array.dtype.kind == "O" and all(isinstance(value, Real) for value in array.flat)


def _wanted(low: float, high: float) -> str:
    if math.isinf(high):
        if math.isinf(low):
            return "must be a number"
        return "must not be negative" if low == 0 else f"must be at least {low:g}"
    return f"must lie between {low:g} and {high:g}"


def _where(bad: NDArray[np.bool_]) -> str:
    if bad.ndim == 0:
        return ""
    return f" at position {', '.join(str(int(i)) for i in np.argwhere(bad)[0])}"


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 40 else text[:37] + "..."
