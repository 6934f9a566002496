"""Axes of a chart: from numbers to coordinates, and round ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """From numbers between ``low`` and ``high`` to coordinates between ``start`` and ``end``.

    Numbers outside of the range are drawn at its edge.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    text: Callable[[float], str]
    title: str
    log: bool = False

    def __call__(self, value: float) -> float:
        """The coordinate of a number."""
        low, high, at = (
            _log(number) if self.log else number for number in (self.low, self.high, value)
        )
        fraction = (at - low) / (high - low) if high > low else 0.5
        return self.start + min(max(fraction, 0.0), 1.0) * (self.end - self.start)


def linear_axis(
    values: Sequence[float],
    start: float,
    end: float,
    text: Callable[[float], str],
    title: str,
    *,
    most: float = math.inf,
) -> Axis:
    """An axis with three or more round ticks around the values, none beyond ``most``.

    >>> linear_axis([0.9, 0.987], 0, 1, str, "").ticks
    (0.9, 0.92, 0.94, 0.96, 0.98)
    """
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.02 * (abs(high) or 1.0)
    low, high = low - room, min(high + room, most) if high <= most else high + room
    ticks: list[float] = []
    for parts in (4, 6, 9):
        step = nice_step((high - low) / parts)
        first = math.ceil(low / step - 1e-9)
        ticks = [
            round(at * step, 12)
            for at in range(first, first + 20)
            if at * step <= high + 1e-9 * max(1.0, abs(high))
        ]
        if len(ticks) >= 3:
            break
    return Axis(low, high, start, end, tuple(ticks), text, title)


def log_axis(
    values: Sequence[float],
    start: float,
    end: float,
    text: Callable[[float], str],
    title: str,
    *,
    at: Sequence[float] = (),
) -> Axis:
    """An axis with powers of ten as ticks, and others between them if these are few.

    ``at`` are ticks to use instead.

    >>> log_axis([0.0137], 0, 1, str, "").ticks
    (0.011, 0.013, 0.015, 0.017)
    """
    low, high = min(values), max(values)
    low, high = low / 1.25, high * 1.25
    ticks = list(at)
    if not ticks:
        tens = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for steps in ((1,), (1, 3), (1, 2, 5), range(1, 10), [at / 10 for at in range(10, 100)]):
            ticks = [round(step * 10.0**ten, 9 - ten) for ten in tens for step in steps]
            ticks = [tick for tick in ticks if low <= tick <= high]
            if len(ticks) >= 3:
                break
        every = max(1, math.ceil(len(ticks) / 6))
        ticks = ticks[::every]
    return Axis(low, high, start, end, tuple(ticks), text, title, log=True)


def nice_step(rough: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least ``rough``.

    >>> nice_step(0.013), nice_step(3)
    (0.02, 5.0)
    """
    ten = 10.0 ** math.floor(math.log10(rough))
    return float(
        next((step * ten for step in (1, 2, 5) if step * ten >= rough * (1 - 1e-9)), 10 * ten)
    )


def score_window(scores: Sequence[float]) -> list[float]:
    """The lowest and highest score that a chart shows.

    The best ones should be told apart, so that far worse ones are drawn at the lower edge.
    """
    ordered = sorted(scores)
    best, quarter = ordered[-1], ordered[len(ordered) // 4]
    low = max(ordered[0], best - 2.5 * (best - quarter)) if len(ordered) > 3 else ordered[0]
    return [low if low < best else best - 0.01, best]


def _log(value: float) -> float:
    return math.log10(max(value, 1e-300))
