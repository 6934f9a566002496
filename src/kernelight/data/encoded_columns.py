"""`EncodedColumn` and `EncodedTarget`: what becomes of a column, and how an encoding stores it.

What is read from plain data is checked: anything that cannot be is a ValueError.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.dates import DateRecipe, recipe_from
from kernelight.data.errors import shown
from kernelight.data.table_source import CATEGORICAL, DATE, NUMBER
from kernelight.data.target_values import TargetValues
from kernelight.data.text_formats import STORED

Label = str | int | float


@dataclass(frozen=True)
class EncodedColumn:
    """A column of the file and what becomes of it.

    A number stays one (``fill`` where it is missing); a word becomes a column for each category.
    """

    name: str
    kind: str
    fill: float = 0.0
    categories: tuple[str, ...] = ()
    missing: bool = False  # whether missing words have a column of their own
    recipe: DateRecipe | None = None  # of dates
    # how numbers or dates are written, where they are text (`text_formats`)
    format: str | None = None
    others: bool = False  # whether all words that are no category share a column
    targets: TargetValues | None = None  # of words, in more columns after these
    # of numbers with signs: whether they had percent signs in training; None: some, or not known
    percent: bool | None = None
    unit: str | None = None  # behind its numbers in training, in the spelling of `units`
    currency: str | None = None  # of its numbers in training, if they had one only

    @property
    def width(self) -> int:
        """How many features come of it."""
        if self.recipe is not None:
            return len(self.recipe.parts)
        if self.kind == NUMBER:
            return 1
        return self.n_ones + (0 if self.targets is None else len(self.targets.outputs))

    @property
    def n_ones(self) -> int:
        """How many of them are columns of 0 and 1."""
        return len(self.categories) + self.others + self.missing

    def put_values(self, X: NDArray[Any], place: int, values: NDArray[np.float64]) -> None:
        """Put target values into ``X``, where the features of this column begin at ``place``."""
        most = np.finfo(X.dtype).max
        X[:, place + self.n_ones : place + self.width] = np.clip(values, -most, most)

    @property
    def feature_names(self) -> list[str]:
        """The names of these."""
        if self.recipe is not None:
            return self.recipe.names(self.name)
        if self.kind == NUMBER:
            return [self.name]
        own = [f"{self.name}={value}" for value in self.categories]
        own += [f"{self.name}: other words"] * self.others + [
            f"{self.name} is missing"
        ] * self.missing
        return (
            own
            if self.targets is None
            else own + [f"{self.name}: {said}" for said in self.targets.outputs]
        )


@dataclass(frozen=True)
class EncodedTarget:
    """What is to be predicted: its column, classification or regression, and the classes."""

    name: str
    kind: str
    task: str
    labels: tuple[Label, ...] | None = None
    format: str | None = None  # how its numbers are written, where they are text
    percent: bool | None = None  # whether they had percent signs in training
    unit: str | None = None  # behind them in training
    currency: str | None = None  # in training, if they had one only


def text_of(value: Any) -> str:
    """A name or a word, which must be text."""
    if not isinstance(value, str):
        raise ValueError(f"A stored encoding has {value!r} where a name is expected.")
    return value


def format_of(entry: dict[str, Any], kind: str) -> str | None:
    """The format of the numbers or dates of a column."""
    format = entry.get("format")
    if format is not None and (not isinstance(format, str) or format not in STORED[kind]):
        raise ValueError(f"A stored encoding has the format {format!r}, which is not known.")
    return format


def percent_of(entry: dict[str, Any]) -> bool | None:
    """Whether the numbers of a column had percent signs."""
    percent = entry.get("percent")
    if percent is not None and not isinstance(percent, bool):
        raise ValueError(f"A stored encoding has percent {percent!r}; true or false is expected.")
    return percent


def plain_signs(column: EncodedColumn | EncodedTarget) -> dict[str, str]:
    """What stood beside the numbers of training, as plain data."""
    signs = {"unit": column.unit, "currency": column.currency}
    return {key: sign for key, sign in signs.items() if sign is not None}


def signs_of(entry: dict[str, Any]) -> tuple[str | None, str | None]:
    """The unit and the currency of a column."""
    unit, currency = (
        None if entry.get(key) is None else text_of(entry[key]) for key in ("unit", "currency")
    )
    return unit, currency


def plain_column(column: EncodedColumn) -> dict[str, Any]:
    """A column as plain data."""
    entry: dict[str, Any] = {"name": column.name}
    if column.format is not None:
        entry["format"] = column.format
    if column.percent is not None:
        entry["percent"] = column.percent
    entry |= plain_signs(column)
    if column.recipe is not None:
        parts, origin, fill = column.recipe
        return {**entry, "parts": list(parts), "origin": origin, "fill": fill}
    if column.kind == NUMBER:
        return {**entry, "fill": column.fill}
    entry |= {"categories": list(column.categories), "missing": column.missing}
    entry |= {"others": True} if column.others else {}
    return entry if column.targets is None else {**entry, "targets": column.targets.to_plain()}


def column_of(entry: dict[str, Any]) -> EncodedColumn:
    """The column that `plain_column` gave."""
    name = text_of(entry["name"])
    if "parts" in entry:
        recipe = recipe_from(entry["parts"], entry["origin"], entry["fill"])
        return EncodedColumn(name, DATE, recipe=recipe, format=format_of(entry, DATE))
    if "categories" in entry:
        categories, missing = tuple(map(text_of, entry["categories"])), entry["missing"]
        others = entry.get("others", False)
        if not (isinstance(missing, bool) and isinstance(others, bool)) or len(
            set(categories)
        ) != len(categories):
            raise ValueError(f"A stored encoding has categories of {shown(name)} that cannot be.")
        targets = TargetValues.from_plain(entry["targets"]) if "targets" in entry else None
        return EncodedColumn(
            name,
            CATEGORICAL,
            categories=categories,
            missing=missing,
            others=others,
            targets=targets,
        )
    fill = entry["fill"]
    if isinstance(fill, bool) or not isinstance(fill, (int, float)) or not math.isfinite(fill):
        raise ValueError(
            f"A stored encoding fills {shown(name)} with {fill!r}; a finite number is expected."
        )
    unit, currency = signs_of(entry)
    return EncodedColumn(
        name,
        NUMBER,
        fill=float(fill),
        format=format_of(entry, NUMBER),
        percent=percent_of(entry),
        unit=unit,
        currency=currency,
    )
