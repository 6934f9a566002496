"""`Wishes`: how a data set is to be read, as far as the user has said it."""

from __future__ import annotations

from dataclasses import dataclass

from kernelight.data.encoding import MAX_CATEGORIES

AUTO = "auto"


@dataclass(frozen=True)
class Wishes:
    """What `open_dataset` was asked for, as far as it is the same for every format."""

    target: str | int | None = AUTO
    ids: str | None = None
    ignore: tuple[str, ...] = ()
    task: str | None = None
    max_categories: int = MAX_CATEGORIES
    n_features: int | None = None
    dtype: str = "float64"
    missing: tuple[str, ...] | None = None
    zero_based: bool = False
    categorical: tuple[str, ...] = ()
    strict: bool = False
    decimal: str | None = None
    charset: str | None = None
