"""`TargetLeaks`: columns that determine the target, and may be a result of it.

Three tests, each over the rows of one reading:

* A column of at most 100 different values, each of which occurs with one value of the target only.
  By chance that is hardly possible where there are at least 50 rows, ten times as many as different
  values, and five that are not of the most frequent class. A missing word is a value, because it
  becomes a feature; a missing number is none, because the median takes its place.
* A column of numbers whose correlation with a target of numbers is above 0.9999.
* A column that tells every class by being missing, by being zero or by thresholds, in a random
  sample of the rows (see `separations`); of words and dates too.

Most columns fail in the first rows and are not looked at again, so the tests cost little.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.errors import shown
from kernelight.data.exact_integers import as_doubles
from kernelight.data.separations import THRESHOLDS, Separation, separations
from kernelight.data.table_source import Block, Categorical, ColumnSelection

FEW_ROWS = 50
ROWS_A_VALUE = 10
OTHER_ROWS = 5  # that are not of the most frequent class
MOST_VALUES = 100  # different ones, of a column and of the target
MOST_DIFFERENT = 0.9  # of the first rows: more different values than this fraction are too many
LEAST_CORRELATION = 0.9999
FIRST_CORRELATION = 0.99  # of the first rows, which may vary less
_STEPS = (256, 4096, 1 << 16)  # rows that are looked at together
SAMPLE_ROWS, FEWEST_SAMPLED = 4096, 64
SAMPLE_VALUES = 1 << 20  # of wide tables fewer rows are sampled


class TargetLeaks:
    """Looks for columns that determine the target, in blocks of training rows."""

    needs_all_rows = False

    def __init__(self, selection: ColumnSelection, advice: bool = True) -> None:
        """With ``advice``, the notes name the option that leaves a column out."""
        self._selection, self._advice, self._rows = selection, advice, 0
        # the values of the target, numbered; None if they are too many
        self._classes: dict[Any, int] | None = {}
        # by the places of columns that may still determine the target
        self._words = {at: _ClassOfValue() for at in range(len(selection.words))}
        self._numbers = {at: _ClassOfValue() for at in range(len(selection.numbers))}
        self._correlations = _Correlations(len(selection.numbers))
        self._names = (*selection.numbers, *selection.dates, *selection.words)
        self._sample: _Sample | None = _Sample(len(self._names))

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
        if self._sample is not None:
            self._sample.add(block, rows, classes)
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
                self._words, self._numbers, self._sample = {}, {}, None
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

    def notes(self, *, of_all: bool = True) -> list[str]:
        """A sentence for each column that determines the target.

        ``of_all`` says whether the rows were all that there are.
        """
        if self._rows < FEW_ROWS:
            return []
        exact, near = self._exact(), self._correlations.high(self._rows)
        nearly = {self._selection.numbers[at] for at in near}
        separated = self._separated()
        notes = []
        for name in self._names:
            how, certain = f"column {shown(name)} tells", name in exact
            by = ""
            if not certain and name not in nearly:
                if name not in separated:
                    continue
                separation = separated[name]
                certain = separation.n_wrong == 0 and self._sampled_all
                if separation.how == THRESHOLDS:
                    by = " by a threshold" if len(self._classes or ()) == 2 else " by thresholds"
                else:
                    how = f"whether column {shown(name)} is {separation.how} tells"
            out = f"leave it out (ignore=[{shown(name)}])" if self._advice else "leave it out of X"
            notes.append(
                f"{how} the target {shown(str(self._selection.target))} "
                f"{'exactly' if certain and of_all else 'almost exactly'}{by}: if it is not known "
                f"when predictions are made, {out}"
            )
        return notes

    @property
    def _sampled_all(self) -> bool:
        return self._sample is not None and self._sample.n_rows == self._sample.n_seen

    def _separated(self) -> dict[str, Separation]:
        """The columns that tell the classes in the sample."""
        if self._sample is None or self._classes is None:
            return {}
        values, n_words = self._sample.values, len(self._selection.words)
        places = separations(values, self._sample.classes, len(self._classes))
        return {
            self._names[place]: found
            for place, found in places.items()
            # the median takes the place of missing numbers: if it is the only value, none is seen
            if place >= len(self._names) - n_words or _varies(values[:, place])
        }

    def _exact(self) -> set[str]:
        """The columns whose values occur with one class each."""
        words = {self._selection.words[at]: known for at, known in self._words.items()}
        numbers = {self._selection.numbers[at]: known for at, known in self._numbers.items()}
        return {name for name, known in (words | numbers).items() if known.is_unlikely(self._rows)}


def _varies(column: NDArray[np.float64]) -> bool:
    """Whether a column has two values that are not missing."""
    present = column[~np.isnan(column)]
    return bool((present != present[:1]).any())


class _Sample:
    """A random sample of the rows that have a class: their columns as numbers, and the classes.

    A word is 1, a date its number; NaN is what is missing.
    """

    def __init__(self, width: int) -> None:
        self._most = max(FEWEST_SAMPLED, min(SAMPLE_ROWS, SAMPLE_VALUES // max(1, width)))
        self._random = np.random.default_rng(0)
        # each row has a random key; those of the least keys are the sample, the least first
        self._keys = np.zeros(0)
        self.values = np.zeros((0, width))
        self.classes = np.zeros(0, dtype=np.int64)
        self.n_seen = 0

    @property
    def n_rows(self) -> int:
        return len(self._keys)

    def add(self, block: Block, rows: slice, classes: NDArray[np.int64]) -> None:
        """Take some of the rows of a block; ``classes`` are those of ``rows``, -1 for none."""
        keys = self._random.random(len(classes))
        taken = classes >= 0
        self.n_seen += int(taken.sum())
        if len(self._keys) == self._most:
            taken &= keys < self._keys[-1]
        chosen = np.flatnonzero(taken)
        if not len(chosen):
            return
        before = len(self._keys)
        keys = np.concatenate([self._keys, keys[chosen]])
        kept = np.argsort(keys)[: self._most]
        self._keys = keys[kept]
        self.classes = np.concatenate([self.classes, classes[chosen]])[kept]
        new = kept >= before  # of many rows few are copied
        values = np.empty((len(kept), self.values.shape[1]))
        values[~new] = self.values[kept[~new]]
        values[new] = _as_numbers(block, rows.start + chosen[kept[new] - before])
        self.values = values


def _as_numbers(block: Block, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Columns of numbers, dates and words of some rows, NaN where a value is missing."""
    parts = [np.asarray(block.numbers[rows], dtype=np.float64)]
    if block.dates is not None:
        dates = block.dates[rows]
        parts.append(np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64)))
    parts += [np.where(words.codes[rows] < 0, np.nan, 1.0)[:, None] for words in block.words]
    return np.concatenate(parts, axis=1)


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
    few = different <= MOST_VALUES
    if len(numbers) >= FEW_ROWS:  # of a column with few values some must have come again
        few &= different <= MOST_DIFFERENT * len(numbers)
    return np.asarray(~contradicted & few)


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
