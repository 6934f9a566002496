"""`FormattedSource`: a source with columns of text that are numbers or dates in known formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.errors import shown
from kernelight.data.exact_integers import Targets, restored
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    Block,
    Categorical,
    Column,
    ColumnSelection,
    Odd,
    TableSource,
)
from kernelight.data.text_formats import STORED, converted
from kernelight.data.units import without_unit


class FormattedSource(TableSource):
    """A source with the formats of some columns, and the kinds that others turned out to have.

    ``formats`` is column -> format of `text_formats`, ``kinds`` is column -> kind, ``units`` is
    column -> the unit behind its numbers.
    """

    def __init__(
        self,
        source: TableSource,
        formats: Mapping[str, str],
        kinds: Mapping[str, str],
        units: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._source, self._formats, self._units = source, dict(formats), dict(units)
        self.label, self.target, self.target_kind = source.label, source.target, source.target_kind
        self.headed, self.guesses, self.text, self.notes = (
            source.headed,
            source.guesses,
            source.text,
            source.notes,
        )
        self.has_options = source.has_options
        known = {**kinds, **{name: _kind(form) for name, form in formats.items()}}
        self.columns = tuple(
            Column(c.name, known.get(c.name, c.kind)) for c in source.columns or ()
        )
        if self.target in known:
            self.target_kind = known[self.target]

    def blocks(self, selection: ColumnSelection) -> Iterator[Block]:
        for block in self._source.blocks(self._inner(selection)):
            yield self._converted(block, selection)

    def whole(self, selection: ColumnSelection) -> Block:
        return self._converted(self._source.whole(self._inner(selection)), selection)

    def _inner(self, selection: ColumnSelection) -> ColumnSelection:
        """What to read: formatted columns as words, behind the words that are wanted."""
        mine = [name for name in (*selection.numbers, *selection.dates) if name in self._formats]
        as_words = selection.target in self._formats
        return replace(
            selection,
            numbers=tuple(name for name in selection.numbers if name not in self._formats),
            dates=tuple(name for name in selection.dates if name not in self._formats),
            words=(*selection.words, *mine),
            target_kind=CATEGORICAL if as_words else selection.target_kind,
            limit=None if mine else selection.limit,
        )

    def _converted(self, block: Block, selection: ColumnSelection) -> Block:
        inner = self._inner(selection)
        texts = dict(zip(inner.words, block.words, strict=True))
        odd = dict(block.odd)
        matrix: Any = block.numbers
        if inner.numbers != selection.numbers:
            matrix = np.empty((block.n_rows, len(selection.numbers)), dtype=selection.dtype)
            places = {name: at for at, name in enumerate(inner.numbers)}
            for at, name in enumerate(selection.numbers):
                plain = name in places
                with np.errstate(over="ignore"):
                    matrix[:, at] = (
                        block.numbers[:, places[name]]
                        if plain
                        else self._values(name, texts[name], block, odd)
                    )
        dates: Any = block.dates
        if inner.dates != selection.dates:
            dates = np.empty((block.n_rows, len(selection.dates)), dtype="datetime64[us]")
            places = {name: at for at, name in enumerate(inner.dates)}
            for at, name in enumerate(selection.dates):
                plain = name in places
                dates[:, at] = (
                    block.dates[:, places[name]]  # type: ignore[index]
                    if plain
                    else self._values(name, texts[name], block, odd)
                )
        target: Any = block.target
        if selection.target in self._formats:
            assert selection.target is not None
            target = self._targets(selection.target, target, block, odd)
        words = block.words[: len(selection.words)]
        return replace(block, numbers=matrix, words=words, dates=dates, target=target, odd=odd)

    def _targets(self, name: str, words: Categorical, block: Block, odd: dict[str, Odd]) -> Targets:
        values = self._values(name, words, block, odd)
        texts = without_unit(words.values, self._units.get(name))
        return restored(values, lambda rows: [texts[words.codes[row]].strip() for row in rows])

    def _values(
        self, name: str, words: Categorical, block: Block, odd: dict[str, Odd]
    ) -> NDArray[Any]:
        """The values of a column; those that cannot be read are missing, and counted."""
        form = self._formats[name]
        known = converted(without_unit(words.values, self._units.get(name)), form)
        if known.dtype.kind == "f":
            known[~np.isfinite(known)] = np.nan
        gone = np.isnat(known) if known.dtype.kind == "M" else np.isnan(known)
        unclear = self._source.cells.among_numbers
        odd_values = [
            not_read and v not in unclear for v, not_read in zip(words.values, gone, strict=True)
        ]
        strange = np.array([*odd_values, False])[words.codes]
        if strange.any():
            row = int(np.argmax(strange))
            text = words.values[words.codes[row]]
            where = block.locate(block.first_row + row)
            odd[name] = Odd(int(strange.sum()), shown(text), where, _kind(form))
        nothing = np.array(
            [np.nan if known.dtype.kind == "f" else np.datetime64("NaT")], dtype=known.dtype
        )
        return np.concatenate([known, nothing])[words.codes]


def _kind(form: str) -> str:
    return DATE if form in STORED[DATE] else NUMBER
