"""`Sentinels`: numbers that are something else: codes for a missing value, and dates as numbers.

Nothing is changed: a note names them, because only the user can know. A value such as -999 or
9999-12-31 is named if it looks like a code (nines alone, the ends of integer types, the first days
of calendars), occurs several times, and is far outside of all others: further from them than they
are from each other, or the only one below 0. Whole numbers such as 20240131 are named if all of
them are dates. The first rows are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.data.errors import shown
from kernelight.data.exact_integers import as_doubles
from kernelight.data.table_source import Block, Categorical, ColumnSelection
from kernelight.data.tasks import MOST_CLASSES

MOST_ROWS, FEWEST_ROWS = 20_000, 500  # that are looked at
MOST_VALUES = 1 << 20  # of wide tables fewer rows
FEW = 20  # other values that a column must have
FIRST_DATE, LAST_DATE = 19000101, 21001231  # as numbers
LEAST_TIMES, LEAST_FRACTION = 5, 0.005  # of the values
# of integers of 16, 32 and 64 bits
_ENDS = frozenset([-32768.0, 65535.0, -(2.0**31), 2.0**31 - 1, 2.0**32 - 1, -(2.0**63)])
_DAYS = frozenset(
    np.datetime64(day, "D").astype(np.int64).item()
    for day in (
        *("9999-12-31", "2999-12-31", "2099-12-31", "1900-01-01", "1899-12-30", "1899-12-31"),
        *("1901-01-01", "1970-01-01", "1800-01-01", "1753-01-01", "0001-01-01", "1111-11-11"),
    )
)


class Sentinel(NamedTuple):
    """A value of a column that may stand for a missing one: how often it occurs, and the others."""

    value: float
    times: int
    low: float
    high: float


def is_code(value: float) -> bool:
    """Whether a number looks like a code: two nines at least and no other digit, or such an end.

    >>> from kernelight.data.sentinels import is_code
    >>> [is_code(value) for value in (-999.0, 99.99, 9.0, -32768.0, 1999.0)]
    [True, True, False, True, False]
    """
    digits = f"{abs(value):.7g}".replace(".", "")
    return value in _ENDS or (len(digits) > 1 and not digits.strip("9"))


def sentinel_of(
    values: NDArray[np.float64], looks_so: Callable[[float], bool] = is_code
) -> Sentinel | None:
    """The value of a column that plainly is a code for a missing one; None if there is none.

    ``values`` may have NaN. Of two the lower is returned.
    """
    present = values[~np.isnan(values)]
    if len(present) < FEW:
        return None
    for value in (float(present.min()), float(present.max())):
        if not looks_so(value):
            continue
        rest = present[present != value]
        times = len(present) - len(rest)
        if len(rest) < FEW or times < max(LEAST_TIMES, LEAST_FRACTION * len(present)):
            continue
        low, high = float(rest.min()), float(rest.max())
        far = min(abs(value - low), abs(value - high)) > high - low > 0
        if far or (value < 0 <= low < high and looks_so is is_code):
            return Sentinel(value, times, low, high)
    return None


def are_dates(values: NDArray[np.float64]) -> bool:
    """Whether all numbers of a column are dates of the years from 1900 to 2100, as 20240131 is.

    >>> import numpy as np
    >>> from kernelight.data.sentinels import are_dates
    >>> days = 20240100.0 + np.arange(1, 31)
    >>> are_dates(days), are_dates(days + 20)
    (True, False)
    """
    present = np.unique(values[~np.isnan(values)])
    if len(present) < 2 or (~np.isnan(values)).sum() < FEW:
        return False
    if not FIRST_DATE <= present[0] <= present[-1] <= LAST_DATE or (present % 1).any():
        return False
    whole = present.astype(np.int64)
    years, months, days = whole // 10_000, whole // 100 % 100, whole % 100
    if ((months < 1) | (months > 12) | (days < 1)).any():
        return False
    first = ((years - 1970) * 12 + months - 1).astype("datetime64[M]")
    lengths = (first + 1).astype("datetime64[D]") - first.astype("datetime64[D]")
    return bool((days <= lengths.astype(np.int64)).all())


class Sentinels:
    """Looks for such values in blocks of training rows."""

    needs_all_rows = False

    def __init__(
        self,
        selection: ColumnSelection,
        written: Callable[[str, float], str | None] = lambda name, value: None,
        among: Collection[str] | None = None,
    ) -> None:
        """``written`` says how a column of a text has a value, None if it is no text.

        Only columns ``among`` some are looked at, if these are given.
        """
        self._selection, self._written, self._among = selection, written, among
        width = len(selection.numbers) + len(selection.dates) + 1
        self._rows = max(FEWEST_ROWS, min(MOST_ROWS, MOST_VALUES // width))  # still to be seen
        self._numbers: list[NDArray[np.float64]] = []
        self._days: list[NDArray[np.float64]] = []
        self._targets: list[NDArray[np.float64]] = []

    def add(self, block: Block) -> None:
        """Look at more rows, before missing values are filled."""
        rows = min(self._rows, block.n_rows)
        if not rows:
            return
        self._rows -= rows
        self._numbers.append(np.array(block.numbers[:rows], dtype=np.float64))
        if block.dates is not None:
            dates = block.dates[:rows]
            days = dates.astype("datetime64[D]").astype(np.int64).astype(np.float64)
            self._days.append(np.where(np.isnat(dates), np.nan, days))
        if block.target is not None and not isinstance(block.target, Categorical):
            self._targets.append(as_doubles(block.target[:rows]))

    def notes(self) -> list[str]:
        """A sentence for each column that has such a value."""
        said = []
        for name, column in self._columns(self._selection.numbers, self._numbers, _may_be_other):
            sentinel = sentinel_of(column)
            if sentinel is not None:
                said.append(self._note(name, sentinel, dates=False))
            elif are_dates(column):
                said.append(_note_on_dates(name, column))
        for name, column in self._columns(self._selection.dates, self._days, _may_be_days):
            sentinel = sentinel_of(column, _DAYS.__contains__)
            if sentinel is not None:
                said.append(self._note(name, sentinel, dates=True))
        if self._targets and (target := self._selection.target) is not None:
            column = np.concatenate(self._targets)
            quantities = len(np.unique(column)) > MOST_CLASSES + 2
            if quantities and (sentinel := sentinel_of(column)) is not None:
                said.append(self._note(target, sentinel, dates=False))
        return said

    def _columns(
        self,
        names: Sequence[str],
        parts: Sequence[NDArray[np.float64]],
        may_be: Callable[[float, float], bool],
    ) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Columns that may be something else by their least and their largest value."""
        if not parts:
            return
        lows = np.fmin.reduce([np.fmin.reduce(part) for part in parts]).tolist()
        highs = np.fmax.reduce([np.fmax.reduce(part) for part in parts]).tolist()
        for at, name in enumerate(names):
            if (self._among is None or name in self._among) and may_be(lows[at], highs[at]):
                yield name, np.concatenate([part[:, at] for part in parts])

    def _note(self, name: str, sentinel: Sentinel, *, dates: bool) -> str:
        return _note_on_code(name, sentinel, dates, self._written(name, sentinel.value))


def _may_be_other(low: float, high: float) -> bool:
    return FIRST_DATE <= low <= high <= LAST_DATE or is_code(low) or is_code(high)


def _may_be_days(low: float, high: float) -> bool:
    return low in _DAYS or high in _DAYS


def _note_on_dates(name: str, column: NDArray[np.float64]) -> str:
    whole = int(column[~np.isnan(column)][0])
    day = f"{whole // 10_000}-{whole // 100 % 100:02d}-{whole % 100:02d}"
    return (
        f"column {shown(name)}: numbers such as {whole} may be dates and are taken as numbers; "
        f"written as {day} they are read as dates"
    )


def _note_on_code(name: str, sentinel: Sentinel, dates: bool, written: str | None) -> str:
    value, low, high = (
        str(np.datetime64(int(some), "D")) if dates else f"{some:.10g}"
        for some in (sentinel.value, sentinel.low, sentinel.high)
    )
    kind = "date" if dates else "number"
    remedy = (
        "if it is one, make it missing"
        if written is None
        else f"missing=[{shown(written)}] takes it as missing in every column"
    )
    return (
        f"column {shown(name)}: {value} occurs {sentinel.times:,} times, far from the others "
        f"({low} to {high}), as codes for a missing value do; it is taken as a {kind}: {remedy}"
    )
