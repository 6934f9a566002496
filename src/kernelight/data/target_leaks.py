"""`TargetLeaks`: columns that determine the target, and may be a result of it.

Two tests, each over the rows of one reading:

* A column of at most 100 different values, each of which occurs with one value of the target only.
  By chance that is hardly possible where there are at least 50 rows, ten times as many as different
  values, and five that are not of the most frequent class. A missing word is a value, because it
  becomes a feature; a missing number is none, because the median takes its place.
* A column of numbers whose correlation with a target of numbers is above 0.9999.

Most columns fail in the first rows and are not looked at again, so the tests cost little.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.errors import shown
from kernelight.data.exact_integers import as_doubles
from kernelight.data.table_source import Block, Categorical, ColumnSelection

FEW_ROWS = 50
ROWS_A_VALUE = 10
OTHER_ROWS = 5  # that are not of the most frequent class
MOST_VALUES = 100  # different ones, of a column and of the target
LEAST_CORRELATION = 0.9999
FIRST_CORRELATION = 0.99  # of the first rows, which may vary less
_STEPS = (256, 4096, 1 << 16)  # rows that are looked at together


class TargetLeaks:
    """Looks for columns that determine the target, in blocks of training rows."""

    needs_all_rows = False

    def __init__(self, selection: ColumnSelection) -> None:
        self._selection, self._rows = selection, 0
        # the values of the target, numbered; None if they are too many
        self._classes: dict[Any, int] | None = {}
        # by the places of columns that may still determine the target
        self._words = {at: _ClassOfValue() for at in range(len(selection.words))}
        self._numbers = {at: _ClassOfValue() for at in range(len(selection.numbers))}
        self._correlations = _Correlations(len(selection.numbers))

    def add(self, block: Block) -> None:
        """Look at more rows."""
        start = 0
        while start < block.n_rows:
            step = next((step for step in _STEPS if self._rows < step), _STEPS[-1])
            stop = min(block.n_rows, start + step)
            self._add(block, slice(start, stop))
            self._rows += stop - start
            start = stop

    def _add(self, block: Block, rows: slice) -> None:
        target = block.target
        if isinstance(target, Categorical):
            values: NDArray[Any] = np.array([*target.values, None], dtype=object)
            classes = self._numbered(values, target.codes[rows])
        else:
            assert target is not None
            quantities = as_doubles(target[rows])
            if self._correlations.places:
                self._correlations.add(block.numbers[rows], quantities)
            if self._classes is None:
                return
            values, codes = np.unique(quantities, return_inverse=True)
            classes = self._numbered(values, codes.reshape(-1))
        if classes is None:
            return
        there = classes >= 0
        self._add_words(block, rows, classes, there)
        self._add_numbers(block.numbers[rows], classes, there)

    def _numbered(self, values: NDArray[Any], codes: NDArray[Any]) -> NDArray[np.int64] | None:
        """The class of each row, -1 where the target is missing; None if there are too many."""
        if self._classes is None:
            return None
        numbers = np.full(len(values), -1, dtype=np.int64)
        for code in np.unique(codes).tolist():
            value = values[code]
            if value is None or value != value:
                continue
            numbers[code] = self._classes.setdefault(value, len(self._classes))
            if len(self._classes) > MOST_VALUES:
                self._classes = None
                self._words, self._numbers = {}, {}
                return None
        return np.asarray(numbers[codes])

    def _add_words(
        self, block: Block, rows: slice, classes: NDArray[np.int64], there: NDArray[np.bool_]
    ) -> None:
        for at, known in list(self._words.items()):
            words = block.words[at]
            if not known.add([*words.values, None], words.codes[rows][there], classes[there]):
                del self._words[at]

    def _add_numbers(
        self, numbers: NDArray[Any], classes: NDArray[np.int64], there: NDArray[np.bool_]
    ) -> None:
        if not self._numbers:
            return
        if self._rows == 0:
            possible = _possible(numbers[there], classes[there])
            self._numbers = {at: _ClassOfValue() for at in np.flatnonzero(possible).tolist()}
        for at, known in list(self._numbers.items()):
            column = numbers[:, at]
            present = there & ~np.isnan(column)
            values, codes = np.unique(column[present], return_inverse=True)
            if not known.add(values.tolist(), codes.reshape(-1), classes[present]):
                del self._numbers[at]

    def notes(self) -> list[str]:
        """A sentence for each column that determines the target."""
        if self._rows < FEW_ROWS:
            return []
        exact, near = self._exact(), self._correlations.high(self._rows)
        nearly = {self._selection.numbers[at] for at in near}
        target = shown(str(self._selection.target))
        return [
            f"column {shown(name)} tells the target {target} "
            f"{'exactly' if name in exact else 'almost exactly'}: if it is not known when "
            f"predictions are made, leave it out (ignore=[{shown(name)}])"
            for name in (*self._selection.numbers, *self._selection.words)
            if name in exact | nearly
        ]

    def _exact(self) -> set[str]:
        """The columns whose values occur with one class each."""
        words = {self._selection.words[at]: known for at, known in self._words.items()}
        numbers = {self._selection.numbers[at]: known for at, known in self._numbers.items()}
        return {name for name, known in (words | numbers).items() if known.is_unlikely(self._rows)}


class _ClassOfValue:
    """The class that each value of a column occurs with, and how often."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[int, int]] = {}

    def add(self, values: list[Any], codes: NDArray[Any], classes: NDArray[np.int64]) -> bool:
        """Add rows; False if a value occurs with two classes, or if there are too many values."""
        class_of = np.full(len(values), -1, dtype=np.int64)
        class_of[codes] = classes
        if (class_of[codes] != classes).any():
            return False
        used, numbers = np.unique(codes, return_counts=True)
        for code, number in zip(used.tolist(), numbers.tolist(), strict=True):
            known, count = self._known.get(values[code], (int(class_of[code]), 0))
            if known != class_of[code]:
                return False
            self._known[values[code]] = known, count + number
        return len(self._known) <= MOST_VALUES

    def is_unlikely(self, rows: int) -> bool:
        """Whether that is hardly by chance, and known of at least half of the rows."""
        counts = Counter[int]()
        for known, count in self._known.values():
            counts[known] += count
        total = counts.total()
        return (
            total >= max(FEW_ROWS, rows / 2, ROWS_A_VALUE * len(self._known))
            and total - max(counts.values()) >= OTHER_ROWS
        )


def _possible(numbers: NDArray[Any], classes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The columns in which no value occurs with two classes, and values are not too many."""
    order = np.argsort(numbers, axis=0)
    ordered = np.take_along_axis(numbers, order, axis=0)
    same = ordered[1:] == ordered[:-1]
    contradicted = (same & (classes[order][1:] != classes[order][:-1])).any(axis=0)
    different = (~same & ~np.isnan(ordered[1:])).sum(axis=0) + 1
    return np.asarray(~contradicted & (different <= MOST_VALUES))


class _Correlations:
    """Correlations of columns of numbers with a target of numbers, over the rows that have both."""

    def __init__(self, count: int) -> None:
        self.places = list(range(count))
        # what is subtracted from the columns and from the target, so that sums keep their digits
        self._shifts: NDArray[np.float64] | None = None
        self._sums = np.zeros((6, count))  # of 1, x, y, xx, yy, xy
        self._rows, self._screened = 0, False

    def add(self, numbers: NDArray[Any], target: NDArray[np.float64]) -> None:
        """Add rows; after the first ones, columns that hardly correlate are dropped."""
        both = np.column_stack([numbers[:, self.places].astype(np.float64), target])
        if self._shifts is None:
            self._shifts = np.nan_to_num(both[0])
        with np.errstate(over="ignore", invalid="ignore"):
            both -= self._shifts
            x, y = both[:, :-1], both[:, -1:]
            there = ~np.isnan(x) & ~np.isnan(y)
            x, y = np.where(there, x, 0.0), np.where(there, y, 0.0)
            parts = (there, x, y, x * x, y * y, x * y)
            self._sums += np.array([part.sum(axis=0) for part in parts])
        self._rows += len(target)
        if not self._screened and self._rows >= FEW_ROWS:
            kept = np.flatnonzero(np.abs(self._values()) > FIRST_CORRELATION)
            self.places = [self.places[at] for at in kept.tolist()]
            self._sums, self._shifts = self._sums[:, kept], self._shifts[[*kept.tolist(), -1]]
            self._screened = True

    def _values(self) -> NDArray[np.float64]:
        n, x, y, xx, yy, xy = self._sums
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            spread = np.sqrt(n * xx - x * x) * np.sqrt(n * yy - y * y)
            return np.asarray(np.nan_to_num((n * xy - x * y) / spread, posinf=0.0, neginf=0.0))

    def high(self, rows: int) -> list[int]:
        """The places of columns that nearly determine the target in at least half of the rows."""
        enough = self._sums[0] >= max(FEW_ROWS, rows / 2)
        near = np.abs(self._values()) > LEAST_CORRELATION
        return [self.places[at] for at in np.flatnonzero(enough & near).tolist()]
