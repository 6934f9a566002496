"""What is counted over the rows of one reading: odd values, new words, columns that never vary."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from kernelight.base import counted
from kernelight.data.booleans import as_known
from kernelight.data.encoded_columns import EncodedColumn
from kernelight.data.encoding import Encoding
from kernelight.data.errors import DataError, listed, shown
from kernelight.data.exact_integers import INEXACT
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    Block,
    Categorical,
    ColumnSelection,
    Odd,
    joined_odd,
    sliced,
)
from kernelight.data.text_formats import DAY_FIRST, MONTH_FIRST, YEAR_FIRST, date_example

FEW_ROWS = 20
FIRST_ROWS = 256
LEAST_ROWS = 5  # of a new file, for a note on its empty columns
MOST_ODD = 0.1  # of the values of a column may be something else than the column is
MOST_NEW = 0.5  # of the words of a column may be new to an estimator before that is said


class OddValues:
    """Values that are not what their column is, and words that a model never saw."""

    def __init__(
        self,
        label: str,
        encoding: Encoding | None = None,
        has_options: bool = True,
        *,
        apart: bool = False,
    ) -> None:
        """With ``apart`` none is allowed: rows are compared, and would be equal there."""
        self._label, self._has_options = label, has_options
        self._apart = apart
        self._settled = encoding is not None  # whether a model has settled what the columns are
        self._odd: dict[str, Odd] = {}
        self._rows = 0
        columns = encoding.columns if encoding is not None else None
        self._formats = {column.name: column.format for column in columns or ()}
        self._units = {} if encoding is None else encoding.units
        self._words = [_NewWords(column) for column in columns or () if column.kind == CATEGORICAL]
        self._empty = _EmptyColumns(columns or ()) if has_options else None

    def add(self, block: Block) -> None:
        """Count those of a block."""
        self._rows += block.n_rows
        for name, odd in joined_odd([block]).items():
            known = self._odd.get(name)
            self._odd[name] = (
                odd if known is None else known._replace(number=known.number + odd.number)
            )
        if self._empty is not None:
            self._empty.add(block)
        if self._words:
            for new, words in zip(self._words, block.words, strict=True):
                new.add(words)

    def counted(self, blocks: Iterable[Block], rows: int) -> Iterator[Block]:
        """Blocks of at most ``rows`` rows, whose odd values have been counted."""
        for block in blocks:
            self.add(block)
            yield from sliced(block, rows)

    def refuse_many(self) -> None:
        """Raise an error if a column has so many that it is probably something else."""
        for name, odd in sorted(self._odd.items()):
            if odd.number > (0 if self._apart else MOST_ODD * self._rows):
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
                    unit = self._units.get(name)
                    kinds = f"{odd.kind}s{'' if unit is None else f' in {shown(unit)}'}"
                    hint = f", where the model has {kinds}{self._remedy(name, odd)}"
                if self._apart:
                    settled = self._remedy(name, odd) if self._settled else hint
                    hint = f", and rows that differ only there would count as equal{settled}"
                raise DataError(
                    f"{self._label}, {odd.where}, column {shown(name)}: {odd.first} is not a "
                    f"{odd.kind}{more}{hint}."
                )

    def _remedy(self, name: str, odd: Odd) -> str:
        """What helps where a new file has something else than the model."""
        if odd.kind == DATE:
            form = self._formats.get(name) or YEAR_FIRST
            if DAY_FIRST in form or MONTH_FIRST in form:  # with dots or slashes: it is not known
                return f"; write them as in training ({form}), or like {date_example(YEAR_FIRST)}"
            return f"; write them as in training, like {date_example(form)}"
        if name in self._units:
            return "; write them with that unit or none"
        word = name in self._formats and odd.first[0] in "'\""  # of a feature, and of text
        return f"; missing=[{odd.first}] takes the word as missing" if word else ""

    def notes(self) -> list[str]:
        """A sentence for each column that has some."""
        odd = [
            f"column {shown(name)}: {odd.number:,} of {counted(self._rows, 'value')} "
            f"{'is' if odd.number == 1 else 'are'} not a {odd.kind} ({odd.first} in {odd.where} "
            f"first); taken as missing"
            for name, odd in sorted(self._odd.items())
        ]
        # estimators predict for fold after fold, in which a few new words are nothing unusual
        least = 0.0 if self._has_options else MOST_NEW
        new = [new.note for new in self._words if new.more_than(least)]
        return odd + new + ([] if self._empty is None else self._empty.notes(self._rows))


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

    def more_than(self, fraction: float) -> bool:
        """Whether they are more than a fraction of the words."""
        return self._new > fraction * self._words

    @property
    def note(self) -> str:
        """What is said of them."""
        return (
            f"column {shown(self._column.name)}: {self._new:,} of {counted(self._words, 'word')} "
            f"never occurred in training ({shown(self._first)} first)"
        )


class _EmptyColumns:
    """Finds columns of a model that have no value at all in a new file."""

    def __init__(self, columns: Sequence[EncodedColumn]) -> None:
        self._names = {
            kind: [column.name for column in columns if column.kind == kind]
            for kind in (NUMBER, CATEGORICAL, DATE)
        }
        self._found = {name for names in self._names.values() for name in names}

    def add(self, block: Block) -> None:
        """Look at more rows, before missing values are filled."""
        for kind, names in self._names.items():
            for at, name in enumerate(names) if self._found else ():
                if name in self._found and not self._is_empty(block, kind, at):
                    self._found.remove(name)

    @staticmethod
    def _is_empty(block: Block, kind: str, at: int) -> bool:
        if kind == CATEGORICAL:
            return bool((block.words[at].codes < 0).all())
        if kind == DATE:
            assert block.dates is not None
            return bool(np.isnat(block.dates[:, at]).all())
        return bool(np.isnan(block.numbers[:, at]).all())

    def notes(self, rows: int) -> list[str]:
        """One sentence for all of them; of a few rows, which may well lack a value, none."""
        names = [name for names in self._names.values() for name in names if name in self._found]
        if not names or rows < LEAST_ROWS:
            return []
        many = len(names) > 1
        return [
            f"{'columns' if many else 'column'} {listed(names)}: no value in {counted(rows, 'row')}"
            f", so that each row has the same, what stands for a missing one"
        ]


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
        start, step = 0, FIRST_ROWS
        while len(self._places) and start < block.n_rows:  # most columns vary in the first rows
            part = block.numbers[start : start + step, self._places]
            start, step = start + step, 1 << 16
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
        large = np.abs(self._values) >= INEXACT
        rounded = [self._selection.numbers[at] for at in self._places[large].tolist()]
        names = [*(self._selection.numbers[at] for at in self._places[~large].tolist()), *words]
        if self._rows < FEW_ROWS:
            return []
        said = [
            f"column {shown(name)}: its numbers are beyond 2^53, where they are rounded, and then "
            f"all the same; categorical=[{shown(name)}] tells them apart if they differ"
            for name in rounded
        ]
        many = len(names) > 1
        return (
            said
            if not names
            else [
                *said,
                f"{'columns' if many else 'column'} {listed(names)}: every value is the same or "
                f"missing; nothing can be learned from {'them' if many else 'it'}",
            ]
        )
