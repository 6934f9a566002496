"""What is decided about data without being asked: told as notes, or refused where nothing may be
decided (strict)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.data.booleans import as_known, truth_of
from kernelight.data.dialect import MISSING
from kernelight.data.encoding import EncodedColumn, EncodedTarget, Encoding
from kernelight.data.errors import DataError, DataWarning, listed, shown
from kernelight.data.exact_integers import as_doubles
from kernelight.data.formatted import FormattedSource
from kernelight.data.survey import Survey
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    Block,
    Categorical,
    CellRule,
    ColumnSelection,
    Odd,
    TableSource,
    joined_odd,
)
from kernelight.data.text_formats import (
    BOOLEAN,
    NUMERIC,
    WRITTEN,
    YEAR_FIRST,
    decimal_format,
    decimal_of,
)

FEW_ROWS = 20
MOST_ODD = 0.1  # of the values of a column may be something else than the column is
MOST_LISTED = 8  # words that an option is written out for
MOST_NEW = 0.5  # of the words of a column may be new to a model before that is said


@dataclass
class Decisions:
    """Notes on the columns of a data set, and whether they were told already."""

    label: str
    notes: list[str]
    _columns: list[str] = field(default_factory=list)
    _told: set[str] = field(default_factory=set)

    def decide(self, column: str, what: str, called: str | None = None) -> None:
        """Note what becomes of a column, which the file may call otherwise."""
        self._columns.append(column)
        self.notes.append(f"column {shown(called or column)}: {what}")

    def look_at(self, target: EncodedTarget | None) -> None:
        """Note classes that look like one."""
        alike = [] if target is None else spelt_alike(target.labels or ())
        if alike:
            self.notes.append(
                f"classes {listed(alike)} differ in spelling only; each is a class of its own"
            )

    def rename(self, renamed: Iterable[tuple[str, str]]) -> None:
        """Note columns whose names are there twice."""
        for old, new in renamed:
            self.decide(new, f"another column has this name; it is called {shown(new)} here", old)

    def refuse(
        self, found: Survey | None = None, target: str | None = None, missing: str | None = None
    ) -> None:
        """Raise an error that lists everything, with the options that settle it, if there is
        anything: also columns of numbers with words among them and columns of too many words, as
        they were ``found`` in the first rows, and how many targets are ``missing`` there. Where one
        of these is alone, the reading says it, by line."""
        later = {} if found is None else {**found.odd, **found.many}
        columns = [*self._columns, *later]
        if not self._columns and len(later) < 2:
            return
        said = [*self.notes, *(f"column {shown(name)}: {what}" for name, what in later.items())]
        if missing is not None:
            said.append(f"column {shown(str(target))}: {missing}")
        many = "columns need a decision" if len(columns) > 1 else "column needs a decision"
        raise DataError(
            f"{self.label}: {len(columns)} {many}: {'; '.join(said)}. That is what is done without "
            f"strict=True; "
            f"{', '.join(_settling(found, columns, target))}."
        )

    def tell(self, more: Sequence[str], rows_left_out: int) -> None:
        """Warn of everything that has not been told yet, once the rows are read."""
        notes = [*self.notes, *more]
        if rows_left_out:
            one = rows_left_out == 1
            rows = (
                "1 row has no target and is"
                if one
                else f"{rows_left_out:,} rows have no target and are"
            )
            notes.append(f"{rows} left out")
        fresh = [note for note in notes if note not in self._told]
        self._told.update(fresh)
        if fresh:
            warnings.warn(DataWarning(self.label, fresh), stacklevel=_callers_level())


def _settling(found: Survey | None, columns: Iterable[str], target: str | None) -> list[str]:
    """The options that settle what needs a decision, and what each of them does."""
    others = [name for name in columns if name != target]
    options = [f"ignore={others!r} leaves out"] if others else []
    if found is not None:
        separators = {decimal_of(form) for form in found.formats.values() if form in NUMERIC}
        options += [
            f"decimal={mark!r} reads numbers that are written so" for mark in sorted(separators)
        ]
        if found.odd and len(found.strange) <= MOST_LISTED:
            options.append(f"missing={found.strange!r} takes as missing")
        if found.many:
            options.append(f"max_categories={found.most_words} gives each word a column")
    return [*options, "categorical=['NAME'] reads as words"]


def _callers_level() -> int:
    """The ``stacklevel``, for a warning of the function that calls this, of the first line outside
    kernelight and scikit-learn.

    scikit-learn's frames are passed over because fits go through its decorators and pipelines. If
    there is no other line, the outermost is taken.
    """
    level, frame = 1, inspect.currentframe()
    frame = frame and frame.f_back
    while frame is not None and frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in ("kernelight", "sklearn"):
            break
        level, frame = level + 1, frame.f_back
    return level


class OddValues:
    """Values that are not what their column is, or words that a model never saw, counted over the
    rows of one reading."""

    def __init__(
        self, label: str, encoding: Encoding | None = None, has_options: bool = True
    ) -> None:
        self._label, self._has_options = label, has_options
        self._settled = encoding is not None  # whether a model has settled what the columns are
        self._found: dict[str, Odd] = {}
        self._rows = 0
        columns = encoding.columns if encoding is not None else None
        self._words = [_NewWords(column) for column in columns or () if column.kind == CATEGORICAL]

    def add(self, block: Block) -> None:
        """Count those of a block."""
        self._rows += block.n_rows
        for name, odd in joined_odd([block]).items():
            known = self._found.get(name)
            self._found[name] = (
                odd if known is None else known._replace(number=known.number + odd.number)
            )
        if self._words:
            for new, words in zip(self._words, block.words, strict=True):
                new.add(words)

    def refuse_many(self) -> None:
        """Raise an error if a column has so many that it is probably something else."""
        for name, odd in sorted(self._found.items()):
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
            for name, odd in sorted(self._found.items())
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
        found = as_known(words.values, self._column.categories)
        strange = np.array([*(word not in self._known for word in found), False])[words.codes]
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
            f"never occurred in training "
            f"({shown(self._first)} first)"
        )


class Unvarying:
    """Columns in which nothing differs from row to row, over the rows of one reading: constant, or
    empty."""

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
        for found, words in zip(self._words, block.words, strict=True):
            if len(found) < 2:
                found.update(words.values[:2])
                found.update([None] if (words.codes < 0).any() else [])

    def notes(self) -> list[str]:
        """One sentence for all of them; of few rows, which may well agree, none."""
        words = [
            n for n, found in zip(self._selection.words, self._words, strict=True) if len(found) < 2
        ]
        names = [*(self._selection.numbers[at] for at in self._places.tolist()), *words]
        if not names or self._rows < FEW_ROWS:
            return []
        many = len(names) > 1
        return [
            f"{'columns' if many else 'column'} {listed(names)}: every value is the same or "
            f"missing; "
            f"nothing can be learned from {'them' if many else 'it'}"
        ]


def cell_rule(missing: Sequence[str] | None, encoding: Encoding | None) -> CellRule:
    """How text of typed tables is read: by the words that stand for a missing value (None: the
    usual ones). Words that a model knows stay what they are."""
    known: dict[str, frozenset[str]] = {}
    if encoding is not None:
        known = {column.name: frozenset(column.categories) for column in encoding.columns or ()}
        if encoding.target is not None:
            known[encoding.target.name] = frozenset(map(str, encoding.target.labels or ()))
    return CellRule(frozenset(MISSING if missing is None else missing), known)


def formatted_by(
    encoding: Encoding, source: TableSource, decimal: str | None = None
) -> TableSource:
    """A source whose columns of text are read in the formats of an encoding, with another decimal
    separator if one is given."""
    kinds = {column.name: column.kind for column in source.columns or ()}
    formats = {}
    for column in encoding.columns or ():
        typed = not source.text and kinds.get(column.name) in (NUMBER, DATE)
        if column.name not in kinds or typed:
            continue
        if column.format is not None:
            formats[column.name] = column.format
        elif column.kind == DATE:
            formats[column.name] = YEAR_FIRST
    target = encoding.target
    if target is not None and target.format is not None and target.name in kinds:
        as_text = source.text or kinds[target.name] == CATEGORICAL
        formats.update({target.name: target.format} if as_text else {})
    if decimal is not None:
        numbers = [column.name for column in encoding.columns or () if column.kind == NUMBER]
        numbers += [target.name] if target is not None and target.kind == NUMBER else []
        numbers = [name for name in numbers if name in kinds]
        formats.update(
            {
                n: decimal_format(decimal)
                for n in numbers
                if n in formats or (source.text and decimal == ",")
            }
        )
    elif source.delimiter == ",":
        formats.update(dict.fromkeys(_with_points(formats, source), decimal_format(".")))
    numbers = [name for name in _unformatted(encoding, source) if name not in formats]
    if not source.text:  # a delimited file can read plain numbers itself
        formats.update(dict.fromkeys(numbers, WRITTEN))
    formats.update(dict.fromkeys(_booleans(numbers, source), BOOLEAN))
    return FormattedSource(source, formats, {}) if formats else source


def _with_points(formats: Mapping[str, str], source: TableSource) -> list[str]:
    """Columns that had decimal commas in training, and have points and no comma where commas stand
    between the cells.

    Elsewhere 5.123 may well be five thousand. Here cells with a comma would have to be quoted, and
    none is.
    """
    names = [name for name, form in formats.items() if form in NUMERIC and decimal_of(form) == ","]
    texts = {name: "".join(words.values) for name, words in _first_words(names, source)}
    return [name for name, text in texts.items() if "." in text and "," not in text]


def _unformatted(encoding: Encoding, source: TableSource) -> list[str]:
    """Columns of words where the model has numbers without a format of their own."""
    known: list[EncodedColumn | EncodedTarget] = [*(encoding.columns or ())]
    known += [encoding.target] if encoding.target is not None else []
    numbers = {column.name for column in known if column.kind == NUMBER and column.format is None}
    return [c.name for c in source.columns or () if c.kind == CATEGORICAL and c.name in numbers]


def _booleans(names: Sequence[str], source: TableSource) -> list[str]:
    """Those of some columns whose first words are booleans."""
    return [
        name
        for name, words in _first_words(names, source)
        if words.values and all(truth_of(word) is not None for word in words.values)
    ]


def _first_words(names: Sequence[str], source: TableSource) -> list[tuple[str, Categorical]]:
    """Some columns with the words of their first rows."""
    try:
        first = (
            next(iter(source.blocks(ColumnSelection(words=tuple(names)))), None) if names else None
        )
    except DataError:  # damage, which is spoken of when the rows are read
        return []
    return [] if first is None else list(zip(names, first.words, strict=True))


def spelt_alike(labels: Iterable[Any]) -> list[str]:
    """Labels that are the same but for capitals and blanks; those of the first such class.

    >>> from kernelight.data.decisions import spelt_alike
    >>> spelt_alike(["No", "YES", "Yes", "maybe"]), spelt_alike(["a", "b"])
    (['YES', 'Yes'], [])
    """
    spelt: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            spelt.setdefault(" ".join(label.casefold().split()), []).append(label)
    return next((alike for alike in spelt.values() if len(alike) > 1), [])


def missing_targets(block: Block) -> NDArray[np.bool_]:
    """Which rows have no target."""
    if isinstance(block.target, Categorical):
        return block.target.codes < 0
    assert block.target is not None
    return np.isnan(as_doubles(block.target))


def with_targets(block: Block, gone: NDArray[np.bool_]) -> Block:
    """The block with the target of another row wherever one is missing."""
    other = int(np.argmin(gone))
    if isinstance(block.target, Categorical):
        codes = np.where(gone, block.target.codes[other], block.target.codes)
        return replace(block, target=Categorical(codes, block.target.values))
    assert block.target is not None
    target = block.target.copy()
    target[gone] = target[other]
    return replace(block, target=target)
