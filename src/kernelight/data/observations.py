"""What is counted over the rows of one reading: odd values, new words, columns that never vary."""

from __future__ import annotations

import warnings

import numpy as np

from kernelight.base import counted
from kernelight.data.booleans import as_known
from kernelight.data.encoding import EncodedColumn, Encoding
from kernelight.data.errors import DataError, listed, shown
from kernelight.data.table_source import (
    CATEGORICAL,
    Block,
    Categorical,
    ColumnSelection,
    Odd,
    joined_odd,
)

FEW_ROWS = 20
MOST_ODD = 0.1  # of the values of a column may be something else than the column is
MOST_NEW = 0.5  # of the words of a column may be new to a model before that is said


class OddValues:
    """Values that are not what their column is, and words that a model never saw."""

    def __init__(
        self, label: str, encoding: Encoding | None = None, has_options: bool = True
    ) -> None:
        self._label, self._has_options = label, has_options
        self._settled = encoding is not None  # whether a model has settled what the columns are
        self._odd: dict[str, Odd] = {}
        self._rows = 0
        columns = encoding.columns if encoding is not None else None
        self._words = [_NewWords(column) for column in columns or () if column.kind == CATEGORICAL]

    def add(self, block: Block) -> None:
        """Count those of a block."""
        self._rows += block.n_rows
        for name, odd in joined_odd([block]).items():
            known = self._odd.get(name)
            self._odd[name] = (
                odd if known is None else known._replace(number=known.number + odd.number)
            )
        if self._words:
            for new, words in zip(self._words, block.words, strict=True):
                new.add(words)

    def refuse_many(self) -> None:
        """Raise an error if a column has so many that it is probably something else."""
        for name, odd in sorted(self._odd.items()):
            if odd.number > MOST_ODD * self._rows:
                hint = ""
                if not self._settled and not self._has_options:
                    hint = "; make it a categorical column if it is words"
                elif not self._settled and odd.first[0] in "'\"":  # not of bytes that are no text
                    hint = (
                        f"; categorical=[{shown(name)}] reads the column as words, "
                        f"missing=[{odd.first}] takes the word as missing"
                    )
                more = (
                    f" (of {counted(self._rows, 'value')} {odd.number:,} are not)"
                    if odd.number > 1
                    else ""
                )
                if self._settled:
                    hint = f", where the model has {odd.kind}s"
                raise DataError(
                    f"{self._label}, {odd.where}, column {shown(name)}: {odd.first} is not a "
                    f"{odd.kind}{more}{hint}."
                )

    def notes(self) -> list[str]:
        """A sentence for each column that has some."""
        odd = [
            f"column {shown(name)}: {odd.number:,} of {counted(self._rows, 'value')} "
            f"{'is' if odd.number == 1 else 'are'} not a {odd.kind} ({odd.first} in {odd.where} "
            f"first); taken as missing"
            for name, odd in sorted(self._odd.items())
        ]
        return odd + [new.note for new in self._words if new.many]


class _NewWords:
    """Counts the words of a column that are no category of it, where they have no column."""

    def __init__(self, column: EncodedColumn) -> None:
        self._column, self._known = column, set(column.categories)
        self._new = self._words = 0
        self._first = ""

    def add(self, words: Categorical) -> None:
        """Count those of more rows."""
        if self._column.others:
            return
        values = as_known(words.values, self._column.categories)
        strange = np.array([*(word not in self._known for word in values), False])[words.codes]
        if strange.any() and not self._new:
            self._first = words.values[words.codes[int(np.argmax(strange))]]
        self._new += int(strange.sum())
        self._words += int((words.codes >= 0).sum())

    @property
    def many(self) -> bool:
        """Whether they are worth a note: a few new words are nothing unusual."""
        return self._new > MOST_NEW * self._words

    @property
    def note(self) -> str:
        """What is said of them."""
        return (
            f"column {shown(self._column.name)}: {self._new:,} of {counted(self._words, 'word')} "
            f"never occurred in training ({shown(self._first)} first)"
        )


class Unvarying:
    """Columns in which nothing differs from row to row: constant, or empty."""

    needs_all_rows = True

    def __init__(self, selection: ColumnSelection) -> None:
        self._selection, self._rows = selection, 0
        # of the columns of numbers that have not varied yet
        self._places = np.arange(len(selection.numbers))
        self._values = np.full(len(selection.numbers), np.nan)
        self._words: list[set[str | None]] = [set() for _ in selection.words]

    def add(self, block: Block) -> None:
        """Look at more rows, before missing values are filled."""
        self._rows += block.n_rows
        if len(self._places) and block.n_rows:
            part = block.numbers[:, self._places]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # columns without any value
                low = np.fmin(np.nanmin(part, axis=0), self._values)
                high = np.fmax(np.nanmax(part, axis=0), self._values)
            same = ~(low < high)
            self._places, self._values = self._places[same], low[same]
        for known, words in zip(self._words, block.words, strict=True):
            if len(known) < 2:
                known.update(words.values[:2])
                known.update([None] if (words.codes < 0).any() else [])

    def notes(self) -> list[str]:
        """One sentence for all of them; of few rows, which may well agree, none."""
        words = [
            name
            for name, known in zip(self._selection.words, self._words, strict=True)
            if len(known) < 2
        ]
        names = [*(self._selection.numbers[at] for at in self._places.tolist()), *words]
        if not names or self._rows < FEW_ROWS:
            return []
        many = len(names) > 1
        return [
            f"{'columns' if many else 'column'} {listed(names)}: every value is the same or "
            f"missing; nothing can be learned from {'them' if many else 'it'}"
        ]
