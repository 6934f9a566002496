"""Targets of whole numbers that double precision cannot hold.

From 2^53 on, doubles are further apart than 1: 9007199254740993 becomes 9007199254740992, and two
classes become one. So a target is an array of doubles only while all of its whole numbers are below
that. Else it is an array of Python numbers (dtype ``object``): whole ones as ``int``, the rest, NaN
included, as ``float``. Such arrays are rare and short-lived; classes end as int64 or uint64.

Only integers are whole beyond 2^53: those of integer columns, and text of digits alone. A large
floating-point number (also as text: 1e17) stands for its neighbours too, so it is a quantity, and
refused where it is asked to be a class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.errors import DataError, shown

INEXACT = 2.0**53  # the first whole number that others are rounded to
Targets = NDArray[Any]  # float64, or Python numbers
_DIGITS = re.compile(r"[+-]?[0-9]{1,400}")


def targets_of(values: NDArray[Any]) -> Targets:
    """An array of numbers as targets, exactly."""
    if values.dtype.kind == "O":
        return values
    integers = values.dtype.kind in "iu" and values.size > 0
    if integers and (int(values.max()) >= INEXACT or int(values.min()) <= -INEXACT):
        return values.astype(object)
    return values.astype(np.float64)


def restored(
    values: NDArray[np.float64],
    original: Callable[[NDArray[np.intp]], Iterable[str | int | Decimal]],
) -> Targets:
    """Targets that were read as doubles, with exact values where doubles are inexact.

    ``original`` returns what is at these places of the data: text, an ``int`` or a ``Decimal``.
    """
    with np.errstate(invalid="ignore"):
        places = np.flatnonzero((np.abs(values) >= INEXACT) & np.isfinite(values))
    if not len(places):
        return values
    exact = values.astype(object)
    for place, value in zip(places.tolist(), original(places), strict=True):
        if not isinstance(value, str) or _DIGITS.fullmatch(value):
            whole = int(value)
            if isinstance(value, str) or value == whole:
                exact[place] = whole
    return exact


def as_doubles(targets: Targets) -> NDArray[np.float64]:
    """Targets as quantities, rounded."""
    return targets.astype(np.float64, copy=False)


def are_whole(targets: Targets) -> bool:
    """Whether finite targets are whole numbers, as the data say and not by rounding."""
    if targets.dtype.kind == "O":
        return all(
            isinstance(value, int) or (value.is_integer() and abs(value) < INEXACT)
            for value in targets
        )
    return bool((np.floor(targets) == targets).all() and (np.abs(targets) < INEXACT).all())


def labels_of(values: Iterable[float], name: str, label: str) -> list[Any]:
    """The classes of a target by its different values, in order.

    Whole numbers are ``int`` if all values are whole; others stay as they are.
    """
    labels = sorted(values)
    if are_whole(np.array(labels, dtype=object)):
        whole = [int(value) for value in labels]
        if label_dtype(whole) is not None:
            return whole
        others = "the others"
    elif all(abs(value) < INEXACT for value in labels):
        return labels
    else:
        others = "fractions"
    raise DataError(
        f"{label}: the target {shown(name)} has classes such as {max(labels, key=abs)}, which no "
        f"type of number holds together with {others}; write them as words."
    )


def classes_of(targets: Targets, labels: Sequence[Any], name: str, label: str) -> NDArray[Any]:
    """Classes as an array that tells them from each other and from those that are known."""
    if any(not isinstance(known, str) and abs(known) >= INEXACT for known in labels):
        # it may be a known class; else it is one that was never seen
        refuse_rounded(targets, name, label)
    if not all(isinstance(known, int) for known in labels) or not are_whole(targets):
        return as_doubles(targets)
    dtype = label_dtype(labels) or np.int64
    ends = (targets.min(), targets.max()) if len(targets) else ()
    strange = next((end for end in ends if not _fits(end, dtype)), None)
    if strange is not None:
        raise DataError(
            f"{label}: the target {shown(name)} has the class {strange}, where those of the model "
            f"go from {min(labels)} to {max(labels)}."
        )
    return targets.astype(dtype)


def refuse_rounded(targets: Targets, name: str, label: str) -> None:
    """Refuse classes that are floating-point numbers above 2^53, to which others are rounded."""
    doubles = targets
    if targets.dtype.kind == "O":
        doubles = np.array(
            [value for value in targets if isinstance(value, float)], dtype=np.float64
        )
    large = doubles[np.abs(doubles) >= INEXACT]
    if len(large):
        raise DataError(
            f"{label}: the target {shown(name)} has the class {large[0]:.17g}, a floating-point "
            f"number that stands for its neighbours too; store whole numbers beyond 2^53 as "
            f"integers or as text."
        )


def label_dtype(labels: Iterable[float]) -> type[np.int64] | type[np.uint64] | None:
    """The integers that hold all labels; None if 64 bits are too few."""
    known = list(labels)
    return next(
        (dtype for dtype in (np.int64, np.uint64) if all(_fits(one, dtype) for one in known)), None
    )


def _fits(number: float, dtype: type[np.int64] | type[np.uint64]) -> bool:
    return int(np.iinfo(dtype).min) <= number <= int(np.iinfo(dtype).max)
