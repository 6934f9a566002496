"""Columns that name the rows or count them: ids and row numbers, from which nothing is learned."""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from kernelight.data.number_columns import count_rows
from kernelight.data.table_source import TableSource

# names of columns that count or name the rows
_ID = re.compile(
    r"id|idx|index|unnamed: 0(\.1)?|rownames|#|(row|record|serial|lfd\.?)[_ ]?(nr|no|number)?\.?"
    r"|s\.? ?no\.?|nr\.?|no\.|.*[_ ]id",
    re.IGNORECASE,
)
# names of columns that count time, which is no mere number of the row
_TIME = re.compile(
    r"t|(.*[_ ])?(times?|timestamp|date|days?|weeks?|months?|quarter|years?|hours?|minutes?"
    r"|seconds?|steps?|period|epoch|tick|frame|cycle|age|tag|woche|monat|jahr|zeit)([_ ].*)?",
    re.IGNORECASE,
)
FEW = 20  # rows: with fewer, values that are all different or all missing may be so by chance


def may_name_rows(source: TableSource, name: str) -> bool:
    """Whether a column may be ids or an index by its name, or because it has none."""
    return name in source.nameless or _ID.fullmatch(name) is not None


def said_of_ids(source: TableSource, name: str, values: NDArray[np.float64]) -> str | None:
    """What is said of a column of numbers that are ids by its name; None if they are not."""
    present = values[~np.isnan(values)]
    whole = bool((np.isfinite(present) & (np.floor(present) == present)).all())
    once = int((np.unique(present, return_counts=True)[1] == 1).sum())
    if len(values) < FEW or not (may_name_rows(source, name) and whole):
        return None
    if not occur_once(once, len(present)):
        return None
    return f"{how_many(once, len(present), 'numbers')}, as ids are"


def said_of_counter(source: TableSource, name: str, values: NDArray[np.float64]) -> str | None:
    """What is said of a column that counts the rows; None if it does not."""
    if len(values) < FEW or name not in source.counting or not count_rows(values):
        return None
    first = int(values[0])
    return f"it counts the rows, {first}, {first + 1}, {first + 2} and so on"


def is_time(name: str) -> bool:
    """Whether a column that counts the rows may count time, by its name.

    >>> from kernelight.data.row_names import is_time
    >>> is_time("day"), is_time("time_step"), is_time("customer")
    (True, True, False)
    """
    return _TIME.fullmatch(name) is not None


def occur_once(once: int, total: int) -> bool:
    """Whether so many of the values occur only once that a new row probably has an unknown one.

    The fraction of values that occur once estimates the probability of that (Good and Turing). It
    must be above one half by four standard errors of a fraction, 2 / sqrt(total), because in few
    rows even common words occur once. So no single row decides, and a fold of the rows is judged
    like the whole, unless the fraction is near the border.

    >>> from kernelight.data.row_names import occur_once
    >>> occur_once(20, 20), occur_once(18, 20), occur_once(70, 100), occur_once(71, 100)
    (True, False, False, True)
    >>> occur_once(5300, 10_000)
    True
    """
    return total >= FEW and once > total / 2 + 2 * math.sqrt(total)


def how_many(once: int, total: int, what: str) -> str:
    """How many of some values occur once, in words."""
    return (
        f"all {total:,} {what} are different"
        if once == total
        else f"{once:,} of {total:,} {what} occur once"
    )
