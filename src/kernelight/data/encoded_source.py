"""A source read as an encoding says: the formats of its text, and the words that are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelight.data.booleans import truth_of
from kernelight.data.dialect import MISSING
from kernelight.data.encoding import EncodedColumn, EncodedTarget, Encoding
from kernelight.data.errors import DataError, shown
from kernelight.data.formatted import FormattedSource
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    Categorical,
    CellRule,
    ColumnSelection,
    TableSource,
)
from kernelight.data.text_formats import (
    BOOLEAN,
    NUMERIC,
    WRITTEN,
    YEAR_FIRST,
    decimal_format,
    decimal_of,
)


def cell_rule(missing: Sequence[str] | None, encoding: Encoding | None) -> CellRule:
    """How text of typed tables is read.

    ``missing`` are the words that stand for a missing value (None: the usual ones). Words that a
    model knows stay what they are.
    """
    known: dict[str, frozenset[str]] = {}
    if encoding is not None:
        known = {column.name: frozenset(column.categories) for column in encoding.columns or ()}
        if encoding.target is not None:
            known[encoding.target.name] = frozenset(map(str, encoding.target.labels or ()))
    return CellRule(frozenset(MISSING if missing is None else missing), known)


def formatted_by(
    encoding: Encoding, source: TableSource, decimal: str | None = None
) -> TableSource:
    """A source whose columns of text are read in the formats of an encoding.

    A ``decimal`` separator goes before that of the encoding.
    """
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


def percent_notes(encoding: Encoding, source: TableSource) -> list[str]:
    """A sentence for each column with percent signs in training and none here, or the reverse.

    Nothing is converted: 12 may be 12 % without its sign.
    """
    known: list[EncodedColumn | EncodedTarget] = [*(encoding.columns or ())]
    known += [encoding.target] if encoding.target is not None else []
    had = {column.name: column.percent for column in known if column.percent is not None}
    kinds = {c.name: c.kind for c in source.columns or () if c.name in had}
    texts = [name for name, kind in kinds.items() if source.text or kind == CATEGORICAL]
    words = {name: column.values for name, column in _first_words(texts, source)}
    notes = []
    for name in kinds:
        # numbers of a typed table have no signs
        values = words.get(name, ()) if name in texts else ("0",)
        signs = sum("%" in value for value in values)
        if had[name] and values and not signs:
            change = "in training values had a percent sign, and here none has"
        elif not had[name] and signs and 2 * signs >= len(values):
            change = "values have a percent sign, and in training none had"
        else:
            continue
        notes.append(f"column {shown(name)}: {change}; 12 % is read as 12 and 0.12 as 0.12")
    return notes


def _with_points(formats: Mapping[str, str], source: TableSource) -> list[str]:
    """Columns with decimal commas in training and points here, where commas separate cells.

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
    except DataError:  # damage, which is reported when the rows are read
        return []
    return [] if first is None else list(zip(names, first.words, strict=True))
