"""Rows that a table holds more than once: a note, since held-out rows are then known from training.

Rows are compared by hashes of 64 bits of their cells, target included; columns that are left out,
such as ids, do not count. In a coarse table, one of a few words and small numbers, equal rows are
to be expected. So a note needs a column of numbers or dates that tells most rows apart.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.table_source import Block, Categorical, ColumnSelection

MOST_ROWS = 1 << 18  # that are looked at
FEW_VALUES = 50  # different ones, of a column that tells rows apart
TELLS = 0.3  # as many different values as this fraction of the rows, which may all be there twice
MOST_COLUMNS = 1_000  # wider tables are hardly coarse, and take long

Hashes = NDArray[np.uint64]


class CopiedRows:
    """Counts rows that are equal to an earlier one."""

    needs_all_rows = True

    def __init__(self, selection: ColumnSelection) -> None:
        self._width = len(selection.numbers)
        self._rows: list[Hashes] = []
        self._columns: list[list[Hashes]] = []
        self._n_rows = self._n_seen = 0

    def add(self, block: Block) -> None:
        """Look at more rows, before missing values are filled."""
        self._n_seen += block.n_rows
        most = min(block.n_rows, MOST_ROWS - self._n_rows)
        if most <= 0 or self._width > MOST_COLUMNS:
            return
        self._n_rows += most
        numbers = [_of_numbers(block.numbers[:most, at]) for at in range(block.numbers.shape[1])]
        if block.dates is not None:
            numbers += [_of_numbers(column[:most]) for column in block.dates.T]
        cells = [*numbers, *(_of_words(words, most) for words in block.words)]
        if isinstance(block.target, Categorical):
            cells.append(_of_words(block.target, most))
        elif block.target is not None:
            cells.append(_of_numbers(np.asarray(block.target)[:most]))
        self._rows.append(_of_rows(cells, most))
        self._columns = self._columns or [[] for _ in numbers]
        for known, each in zip(self._columns, numbers, strict=True):
            known.append(each)

    def notes(self) -> list[str]:
        """A sentence if there are copies; of coarse tables none."""
        if not self._n_rows:
            return []
        copies = self._n_rows - _n_different(self._rows)
        enough = max(FEW_VALUES, TELLS * self._n_rows)
        if not copies or not any(_n_different(each) >= enough for each in self._columns):
            return []
        first = "" if self._n_rows == self._n_seen else "the first "
        are = "row is a copy" if copies == 1 else "rows are copies"
        return [
            f"of {first}{self._n_rows:,} rows {copies:,} {are} of others, target included; kept, "
            f"so leave them out if a row was written twice: scores on held-out rows are too good "
            f"then"
        ]


def _of_rows(columns: list[Hashes], n_rows: int) -> Hashes:
    """A sum over columns of products with random odd numbers, two for each column."""
    factors = np.random.default_rng(0).integers(1, 1 << 63, (len(columns), 2), dtype=np.uint64)
    total = np.zeros(n_rows, dtype=np.uint64)
    for column, (first, second) in zip(columns, 2 * factors + np.uint64(1), strict=True):
        product = column * first
        total += (product ^ (product >> np.uint64(32))) * second
    return total


def _n_different(parts: list[Hashes]) -> int:
    return len(np.unique(np.concatenate(parts)))


def _of_numbers(values: Any) -> Hashes:
    """Equal numbers, and missing ones, as equal words of 64 bits."""
    if values.dtype.kind == "O":  # whole numbers beyond doubles
        return np.array([hash(value) % (1 << 64) for value in values.tolist()], dtype=np.uint64)
    if values.dtype.kind in "Mm":
        return np.ascontiguousarray(values).view(np.int64).astype(np.uint64)
    doubles = np.asarray(values, dtype=np.float64) + 0.0  # of both zeros one
    return np.where(np.isnan(doubles), np.nan, doubles).view(np.uint64)


def _of_words(words: Categorical, most: int) -> Hashes:
    known = [_of_word(word) for word in words.values]
    return np.array([*known, 0], dtype=np.uint64)[words.codes[:most]]


def _of_word(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
