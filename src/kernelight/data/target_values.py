"""Target encoding: for each word of a column, the mean target of the rows that have it.

As scikit-learn's `TargetEncoder`; the features are called target values.

For a word w in n_w training rows with the mean target y_w (of classes: the fraction of each class),
and the mean y of all rows,

    value of w = (n_w y_w + m y) / (n_w + m),        m = sigma^2 / tau^2.

This is the posterior mean of a normal model in which targets vary by sigma^2 within a word and
means of words by tau^2. Both are estimated by one-way analysis of variance. With N rows of W words,
and sums of squares SSW within and SSB between words,

    sigma^2 = MSW = SSW / (N - W),      MSB = SSB / (W - 1),
    tau^2 = (MSB - MSW) / n_0,          n_0 = (N - sum n_w^2 / N) / (W - 1).

If all words were alike, MSB / MSW would be 1 with a variance of about 2 / (W - 1) + 2 / (N - W).
Only a ratio more than three standard deviations above 1 makes a column of target values:
uninformative words, such as ids, get none.

A value learned from a row's own target would tell the model that target, and the model would trust
it far too much. So rows are cut into ten folds, and a training row gets the value of the rows of
all other folds; y and m, which are the same for every row, are those of all rows. New rows get the
value of all training rows, and a word never seen gets y. A missing word is a word. The fold of a
row is a hash of its row index: every pass over a file gives a row the same value. Sums are added in
the order of the rows, so that values do not depend on how rows come in blocks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelight.data.booleans import as_known
from kernelight.data.table_source import Categorical

FOLDS = 10
DEVIATIONS = 3.0  # above what chance makes of the ratio of variances
MOST_CELLS = 1 << 18  # words times values of a word, in all columns together
MOST_BYTES = 12 << 20  # of words and values as text in a model's file, in all columns together
VALUE_BYTES = 24  # of a number as text
WORD_BYTES = 100  # of a word in memory, with its place in a table
NO_DIFFERENCE = 1e12  # m of words that do not differ
LEAST_WEIGHT = 1e-9  # of the other folds; what is below is rounding
Array = NDArray[np.float64]
RowIndices = NDArray[np.int64]  # counted among the rows that have a target


@dataclass(frozen=True)
class TargetMeans:
    """The targets that are averaged: quantities, or indicators of classes (of two, the second)."""

    names: tuple[str, ...]  # of the features that come of a word
    classes: int | None = None  # how many there are; None for quantities

    @classmethod
    def of_classes(cls, labels: Sequence[Any]) -> TargetMeans:
        """Fractions of the classes."""
        told = labels[1:] if len(labels) == 2 else labels
        return cls(tuple(f"share of {label}" for label in told), len(labels))

    @classmethod
    def of_quantities(cls, names: Sequence[str]) -> TargetMeans:
        """Means of quantities."""
        return cls(tuple(f"mean {name}" for name in names))


@dataclass(frozen=True)
class Vocabulary:
    """Different words, and their places in tables.

    Missing words come after them, and words that are not known last.
    """

    words: tuple[str, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self.words,)  # without the table of numbers, which is a cache

    @property
    def size(self) -> int:
        """How many places there are."""
        return len(self.words) + 2

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: at for at, word in enumerate(self.words)}

    def places(self, column: Categorical) -> NDArray[np.int64]:
        """The place of the word of each row. Booleans may be spelled otherwise."""
        numbers, unknown = self._numbers, len(self.words) + 1
        known = [numbers.get(word, unknown) for word in as_known(column.values, self.words)]
        return np.array([*known, len(self.words)], dtype=np.int64)[column.codes]


@dataclass(frozen=True, eq=False)
class TargetValues:
    """The target values of words."""

    outputs: tuple[str, ...]
    vocabulary: Vocabulary
    table: Array  # (places of the vocabulary, outputs)

    @property
    def words(self) -> tuple[str, ...]:
        """The words that have a value of their own."""
        return self.vocabulary.words

    def __call__(self, column: Categorical) -> Array:
        """The values of new rows."""
        return np.asarray(self.table[self.vocabulary.places(column)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TargetValues):
            return NotImplemented
        same = self.outputs == other.outputs and self.words == other.words
        return same and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        return hash((self.outputs, self.words))

    def to_plain(self) -> dict[str, Any]:
        """Plain data that JSON can say."""
        return {
            "outputs": list(self.outputs),
            "words": list(self.words),
            "values": self.table.ravel().tolist(),
        }

    @classmethod
    def from_plain(cls, plain: Any) -> TargetValues:
        """What `to_plain` gave; anything else is a ValueError."""
        if not isinstance(plain, dict):
            raise ValueError("A stored encoding has target values that are no table.")
        outputs, words, values = (plain.get(key) for key in ("outputs", "words", "values"))
        for texts in (outputs, words):
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise ValueError("A stored encoding has target values without names or words.")
        numbers = isinstance(values, list) and all(type(value) in (int, float) for value in values)
        vocabulary = Vocabulary(tuple(words or ()))
        if not outputs or not numbers or len({*vocabulary.words}) != len(vocabulary.words):
            raise ValueError("A stored encoding has target values that cannot be.")
        try:
            table = np.array(values, dtype=np.float64).reshape(vocabulary.size, len(outputs))
        except (ValueError, OverflowError):
            raise ValueError("A stored encoding has not a target value for each word.") from None
        if not np.isfinite(table).all():
            raise ValueError("A stored encoding has target values that are not finite.")
        return cls(tuple(outputs), vocabulary, table)


class AllRows(NamedTuple):
    """All rows that target values are learned from: the columns of words, targets and weights."""

    columns: Sequence[Categorical]
    target: NDArray[Any]
    weight: Array | None


class CrossFit:
    """Learns target values from blocks of rows, and gives training rows those of other folds.

    ``words`` are the words of each column, most frequent first: as many of them have values as
    there is room for. Rows that are ``held_out`` are not learned from, and get the values of new
    rows.
    """

    def __init__(
        self,
        words: Mapping[str, Sequence[str]],
        outputs: TargetMeans,
        held_out: Callable[[RowIndices], NDArray[np.bool_]] | None = None,
    ) -> None:
        width = len(outputs.names)
        count = max(1, len(words))
        self._columns = {
            name: _Statistics(Vocabulary(tuple(sorted(_within(some, width, count)))), outputs)
            for name, some in words.items()
        }
        self._held_out = held_out
        self._units: tuple[Array, Array] | None = None
        self._outputs = outputs
        self.values: dict[str, TargetValues] = {}
        self.n_rows = 0  # that came, also those held out
        self.all_rows: AllRows | None = None  # where they fit into memory

    @property
    def n_bytes(self) -> int:
        """What is held in memory, about."""
        return sum(column.n_bytes for column in self._columns.values())

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self._columns)

    def add(
        self,
        columns: Sequence[Categorical],
        target: NDArray[Any],
        rows: RowIndices,
        weight: Array | None = None,
    ) -> None:
        """Learn from more rows.

        ``target`` has class numbers (n,) or quantities (n, outputs).
        """
        self.n_rows += len(rows)
        kept = np.ones(len(rows), bool) if self._held_out is None else ~self._held_out(rows)
        if weight is not None:
            kept &= weight > 0
        folds = folds_of(rows)[kept]
        weights = np.ones(len(folds)) if weight is None else weight[kept]
        target = target[kept]
        if not len(folds):
            return
        if self._outputs.classes is None:
            # The first row is the origin, and the power of two nearest to it the unit: squares of
            # targets that are all large stay exact and within range.
            if self._units is None:
                size = np.abs(target[0])
                self._units = (
                    target[0].copy(),
                    np.ldexp(1.0, np.frexp(np.where(size > 0, size, 1.0))[1] - 1),
                )
            origin, unit = self._units
            with np.errstate(over="ignore", invalid="ignore"):
                target = target / unit - origin / unit
        for statistics, words in zip(self._columns.values(), columns, strict=True):
            statistics.add(statistics.vocabulary.places(words)[kept], folds, target, weights)

    def relearned(self, held: NDArray[np.bool_]) -> CrossFit:
        """The same learned without the rows held out, of the outputs that matter in all rows."""
        assert self.all_rows is not None
        words = {name: column.vocabulary.words for name, column in self._columns.items()}
        made = CrossFit(words, self._outputs, lambda rows: held[rows])
        made.add(*self.all_rows[:2], np.arange(self.n_rows), self.all_rows.weight)
        made.settle({name: column.informative for name, column in self._columns.items()})
        return made

    def settle(self, informative: Mapping[str, NDArray[np.bool_]] | None = None) -> None:
        """Make ``values`` once all rows were added, of columns whose words matter for the target.

        ``informative`` says which outputs they matter for, if that is known.
        """
        for name, statistics in self._columns.items():
            kept = statistics.settle(None if informative is None else informative[name])
            if kept.any():
                self.values[name] = TargetValues(
                    tuple(compress(self._outputs.names, kept)),
                    statistics.vocabulary,
                    self._in_units(statistics.table, statistics),
                )

    def of_training(self, name: str, words: Categorical, rows: RowIndices) -> Array:
        """The values of training rows: those of the other folds."""
        statistics = self._columns[name]
        at = statistics.vocabulary.places(words)
        values = statistics.without(at, folds_of(rows))
        if self._held_out is not None:
            held = self._held_out(rows)
            values[held] = statistics.table[at[held]]
        return self._in_units(values, statistics)

    def _in_units(self, values: Array, statistics: _Statistics) -> Array:
        if self._units is None:
            return values
        origin, unit = (part[statistics.informative] for part in self._units)
        return np.asarray(values * unit + origin)


@dataclass(frozen=True)
class TrainingRows:
    """Some of the rows that target values were learned from, by their row indices."""

    fit: CrossFit
    rows: RowIndices

    def values(self, name: str, words: Categorical) -> Array:
        """Their values in a column."""
        return self.fit.of_training(name, words, self.rows)


class _Statistics:
    """Sums of the rows of each word and fold, of one column."""

    def __init__(self, vocabulary: Vocabulary, outputs: TargetMeans) -> None:
        self.vocabulary, self._classes = vocabulary, outputs.classes
        width = len(outputs.names)
        self._sums = np.zeros((FOLDS, vocabulary.size, width))
        self._counts = np.zeros((FOLDS, vocabulary.size))
        self._squares = np.zeros((vocabulary.size, width)) if outputs.classes is None else None
        self._n_rows = 0
        self.informative = np.zeros(width, dtype=bool)  # which outputs differ from word to word
        self.table = np.zeros((vocabulary.size, 0))

    @property
    def n_bytes(self) -> int:
        arrays = (self._sums, self._counts, self.table, self._squares)
        words = 2 * WORD_BYTES * len(self.vocabulary.words)  # the words, and where each is
        return words + sum(array.nbytes for array in arrays if array is not None)

    def add(
        self, at: NDArray[np.int64], folds: NDArray[np.int64], target: NDArray[Any], weight: Array
    ) -> None:
        self._n_rows += len(at)
        cells = folds * self.vocabulary.size + at
        np.add.at(self._counts.reshape(-1), cells, weight)
        if self._classes == 2:
            second = target == 1
            np.add.at(self._sums.reshape(-1), cells[second], weight[second])
        elif self._classes is not None:
            np.add.at(self._sums.reshape(-1), cells * self._classes + target, weight)
        else:
            assert self._squares is not None
            for output in range(target.shape[1]):
                width = target.shape[1]
                with np.errstate(over="ignore", invalid="ignore"):
                    weighted = weight * target[:, output]
                    np.add.at(self._sums.reshape(-1), cells * width + output, weighted)
                    np.add.at(
                        self._squares.reshape(-1), at * width + output, weighted * target[:, output]
                    )

    def settle(self, informative: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Find m and the values of new rows, and return which outputs differ between words."""
        if not self._n_rows:
            return self.informative
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            counts, sums = self._counts.sum(axis=0), self._sums.sum(axis=0)
            total = float(counts.sum())
            prior = sums.sum(axis=0) / total
            strength, differing = self._shrinkage(counts, sums, total)
        if informative is None:
            informative = differing & np.isfinite(prior)
        self.informative = informative
        self._prior, self._strength, self._per_row = (
            prior[informative],
            strength[informative],
            self._n_rows / total,
        )
        # of outputs that are not informative, nothing is kept
        self._sums = np.ascontiguousarray(self._sums[:, :, informative])
        self._all_counts, self._all_sums = counts, sums[:, informative]
        self._squares = None
        places = np.arange(self.vocabulary.size)
        self.table = self._shrunken(places, self._all_sums, self._all_counts)
        return informative

    def _shrinkage(
        self, counts: Array, sums: Array, total: float
    ) -> tuple[Array, NDArray[np.bool_]]:
        """m of each output, and whether words differ by more than chance.

        All classes have the same m.
        """
        width = sums.shape[1]
        nothing = np.full(width, NO_DIFFERENCE), np.zeros(width, dtype=bool)
        words = np.flatnonzero(counts[:-1] > 0)
        per_row = self._n_rows / total
        counts, sums = counts[words], sums[words]
        squares = sums if self._squares is None else self._squares[words]
        rows = per_row * counts.sum()
        between, within = len(words) - 1, rows - len(words)
        if between < 1 or within < 1:
            return nothing
        means, mean = sums / counts[:, None], sums.sum(axis=0) / counts.sum()
        inner = np.maximum(per_row * (squares - sums * means).sum(axis=0), 0.0) / within
        outer = per_row * (counts[:, None] * np.square(means - mean)).sum(axis=0) / between
        if self._classes is not None:
            inner, outer = np.full(width, inner.sum()), np.full(width, outer.sum())
        chance = 1 + DEVIATIONS * math.sqrt(2 / between + 2 / within)
        informative = np.isfinite(inner) & np.isfinite(outer) & (outer > chance * inner)
        each = (rows - np.square(per_row * counts).sum() / rows) / between
        more = outer > inner
        return np.where(
            more, inner * each / np.where(more, outer - inner, 1.0), NO_DIFFERENCE
        ), informative

    def without(self, at: NDArray[np.int64], folds: NDArray[np.int64]) -> Array:
        """The values at these places from all folds but one, for each row."""
        sums = self._all_sums[at] - self._sums[folds, at]
        return self._shrunken(at, sums, self._all_counts[at] - self._counts[folds, at])

    def _shrunken(self, at: NDArray[np.int64], sums: Array, counts: Array) -> Array:
        rows = self._per_row * counts[:, None]
        values = self._per_row * sums + self._strength * self._prior
        seen = (rows > LEAST_WEIGHT) & (at < self.vocabulary.size - 1)[:, None]
        shrunken = np.broadcast_to(self._prior, values.shape).copy()
        np.divide(values, rows + self._strength, out=shrunken, where=seen)
        return np.asarray(shrunken)


def _within(words: Sequence[str], width: int, columns: int) -> Iterator[str]:
    """As many words as there is room for; ``columns`` columns have the same room each."""
    room = MOST_BYTES // columns
    for word in words[: max(1, MOST_CELLS // (width * columns))]:
        room -= len(json.dumps(word)) + VALUE_BYTES * width
        if room < 0:
            return
        yield word


def folds_of(rows: RowIndices) -> NDArray[np.int64]:
    """The fold of each row."""
    return np.asarray(hashed(rows) % np.uint64(FOLDS), dtype=np.int64)


def hashed(rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A hash of 64 bits for each row index, no two the same: splitmix64's finalizer, one to one."""
    word = rows.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(word ^ (word >> np.uint64(31)))
