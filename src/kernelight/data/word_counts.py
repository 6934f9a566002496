"""Which words get a feature of their own: all, or the most frequent if there are too many.

Of more than ``limit`` words the ``limit - 1`` most frequent have a column each (of equally frequent
words the first in alphabetical order), and all others, words never seen in training too, share one.
That needs no labels; where there are some, target values are added (`target_values`).
``benchmarks/categories.py`` compares it with both, and with hashing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.data.booleans import as_known
from kernelight.data.errors import DataError, shown
from kernelight.data.table_source import Categorical

# different words; those that occur for the first time after them are not counted
MAX_COUNTED = 100_000


class WordCounts:
    """Counts the words of one column over blocks of rows.

    The result does not depend on how rows are cut into blocks.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._counts = limit, Counter[str]()
        self._most = max(MAX_COUNTED, limit + 1)
        self._complete = True
        self.missing = False  # whether a word was missing

    def add(self, words: Categorical) -> None:
        """Count those of more rows."""
        there = words.codes >= 0
        self.missing |= not there.all()
        codes = words.codes[there]
        numbers = np.bincount(codes, minlength=len(words.values)).tolist()
        if len(self._counts) + len(words.values) <= self._most:
            self._counts.update(dict(zip(words.values, numbers, strict=True)))
            return
        for code in _by_first_row(codes):
            word = words.values[code]
            if word in self._counts or len(self._counts) < self._most:
                self._counts[word] += numbers[code]
            else:
                self._complete = False

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def others(self) -> bool:
        """Whether there are too many words, so that some share a column."""
        return len(self._counts) > self._limit

    @property
    def categories(self) -> tuple[str, ...]:
        """The words that have a column of their own, in alphabetical order."""
        if not self.others:
            return tuple(sorted(self._counts))
        return tuple(sorted(self.by_frequency[: self._limit - 1]))

    @property
    def by_frequency(self) -> list[str]:
        """The words that were counted, the most frequent first, else in alphabetical order."""
        return sorted(self._counts, key=lambda word: (-self._counts[word], word))

    def note(self, by_target: bool = False) -> str:
        """What is said of a column with too many words, which may have target values as well."""
        more = "" if self._complete else "more than "
        said = f"{more}{counted(len(self), 'word')}" + (
            ", by their target values" if by_target else ""
        )
        frequent = self._limit - 1
        if not frequent:
            return said if by_target else f"{said}; they share one column"
        also = " also" if by_target else ""
        own = (
            f"{also} has a column of its own"
            if frequent == 1
            else f"{also} have columns of their own"
        )
        which = "most frequent" if frequent == 1 else f"{frequent:,} most frequent"
        return f"{said}; the {which}{own}, the others share one"


def _by_first_row(codes: NDArray[np.int32]) -> list[int]:
    """The codes that occur, in the order in which they do."""
    used, first = np.unique(codes, return_index=True)
    codes_in_order: list[int] = used[np.argsort(first)].tolist()
    return codes_in_order


def put_ones(
    X: NDArray[Any],
    place: int,
    words: Categorical,
    categories: Sequence[str],
    others: bool,
    missing: bool,
) -> None:
    """Put ones into the columns of ``X`` from ``place`` on.

    There is one for each category, then one for other words, and one for missing words.
    Booleans may be spelled otherwise than the categories; not where other words share a column,
    which may be theirs.
    """
    number = {value: at for at, value in enumerate(categories)}
    other = len(categories) if others else -1
    absent = len(categories) + others if missing else -1
    values = words.values if others else as_known(words.values, categories)
    table = np.array([*(number.get(value, other) for value in values), absent], dtype=np.int64)
    at = table[words.codes]
    rows = np.flatnonzero(at >= 0)
    X[rows, place + at[rows]] = 1


def too_many_words(label: str, name: str, limit: int) -> DataError:
    """The error of a column with too many words (strict)."""
    return DataError(
        f"{label}, column {shown(name)}: more than {limit} different words; ignore=[{shown(name)}] "
        f"leaves the column out, max_categories raises the limit."
    )
