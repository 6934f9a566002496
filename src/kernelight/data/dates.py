"""Dates as numbers: year, month, weekday, time of day, and days since the first day of training.

A date is a moment in UTC (NumPy's ``datetime64[us]``; NaT where it is missing). Only those parts
become features that vary in training. A missing date is taken as the median of the first training
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

YEAR, MONTH, WEEKDAY, TIME, DAYS = "year", "month", "weekday", "hour", "days"
PARTS = (YEAR, MONTH, WEEKDAY, TIME, DAYS)
Dates = NDArray[np.datetime64]
_MICROSECONDS_OF_AN_HOUR = 3_600_000_000


class DateRecipe(NamedTuple):
    """What becomes of a column of dates."""

    parts: tuple[str, ...]  # that are features
    origin: int  # the day that days are counted from, in days since 1970
    fill: int  # the date that stands for a missing one, in microseconds since 1970

    def features(self, dates: Dates) -> NDArray[np.float64]:
        """The parts of each date, (rows, parts)."""
        filled = np.where(np.isnat(dates), np.datetime64(self.fill, "us"), dates)
        features = np.empty((len(dates), len(self.parts)))
        for at, part in enumerate(self.parts):
            features[:, at] = part_of(filled, part) - (self.origin if part == DAYS else 0)
        return features

    def names(self, column: str) -> list[str]:
        """The names of the features."""
        since = f"days since {np.datetime64(self.origin, 'D')}"
        return [f"{column}: {since if part == DAYS else part}" for part in self.parts]


def part_of(dates: Dates, part: str) -> NDArray[Any]:
    """One part of dates, none of them missing.

    Weekdays count from Monday, 0, and days from 1970-01-01.
    """
    days = dates.astype("datetime64[D]")
    if part == YEAR:
        return np.asarray(dates.astype("datetime64[Y]").astype(np.int64) + 1970)
    if part == MONTH:
        return np.asarray(dates.astype("datetime64[M]").astype(np.int64) % 12 + 1)
    if part == WEEKDAY:
        return np.asarray((days.astype(np.int64) + 3) % 7)
    if part == TIME:
        return np.asarray((dates - days).astype(np.int64) / _MICROSECONDS_OF_AN_HOUR)
    return np.asarray(days.astype(np.int64))


class DateLearner:
    """Learns the recipe of one column from blocks of training rows."""

    def __init__(self) -> None:
        self._heads: list[Dates] = []
        self._ranges: dict[str, tuple[float, float]] = {}

    def add(self, dates: Dates, head: int) -> None:
        """Look at more rows; the first ``head`` of them count for the median."""
        self._heads.append(dates[:head].copy())
        there = dates[~np.isnat(dates)]
        if not len(there):
            return
        for part in PARTS:
            values = part_of(there, part)
            low, high = self._ranges.get(part, (np.inf, -np.inf))
            self._ranges[part] = min(low, float(values.min())), max(high, float(values.max()))

    def recipe(self) -> DateRecipe:
        """What was learned."""
        parts = tuple(part for part, (low, high) in self._ranges.items() if low < high)
        head = np.concatenate(self._heads)
        head = np.sort(head[~np.isnat(head)])
        fill = int(head[len(head) // 2].astype(np.int64)) if len(head) else 0
        return DateRecipe(parts, int(self._ranges.get(DAYS, (0.0, 0.0))[0]), fill)


def recipe_from(parts: Sequence[Any], origin: Any, fill: Any) -> DateRecipe:
    """A recipe from plain data; anything that is none is a ValueError."""
    known = [part for part in PARTS if part in parts]
    if list(parts) != known:
        raise ValueError(f"A stored encoding has {parts!r} where parts of a date are expected.")
    for value, most in ((origin, 1e8), (fill, 1e19)):
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > min(most, 2**62):
            raise ValueError(f"A stored encoding has {value!r} where a day is expected.")
    return DateRecipe(tuple(parts), origin, fill)
