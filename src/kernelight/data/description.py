"""A data set in a few lines: what becomes of each column."""

from __future__ import annotations

from collections.abc import Sequence

from kernelight.base import counted
from kernelight.data.encoded_columns import EncodedColumn
from kernelight.data.encoding import Encoding
from kernelight.data.errors import listed, shown
from kernelight.data.table_source import NUMBER


def described(label: str, encoding: Encoding, notes: Sequence[str]) -> str:
    """What becomes of each column: numbers in one line, others in a line each."""
    lines = [
        f"{label}: "
        f"{counted(encoding.width, 'sparse feature' if encoding.columns is None else 'feature')}"
    ]
    plain = [c.name for c in encoding.columns or () if c.kind == NUMBER and c.format is None]
    if plain:
        lines.append(f"{_columns(plain)}: {'a number' if len(plain) == 1 else 'numbers'}")
    lines += [
        f"column {shown(c.name)}: {_fate(c)}" for c in encoding.columns or () if c.name not in plain
    ]
    if encoding.ids is not None:
        lines.append(f"column {shown(encoding.ids)}: names the rows")
    noted = " ".join(notes)
    ignored = [name for name in encoding.ignored if f"column {shown(name)}:" not in noted]
    if ignored:
        lines.append(f"{_columns(ignored)}: left out")
    target = encoding.target
    if target is not None and target.labels is not None:
        labels = listed([str(known) for known in target.labels])
        lines.append(
            f"target {shown(target.name)}: {target.task}, "
            f"{counted(len(target.labels), 'class', 'classes')}: {labels}"
        )
    elif target is not None:
        lines.append(f"target {shown(target.name)}: {target.task}")
    return "\n".join([*lines, *notes])


def _columns(names: Sequence[str]) -> str:
    return f"{'column' if len(names) == 1 else counted(len(names), 'column')} {listed(names)}"


def _fate(column: EncodedColumn) -> str:
    if column.recipe is not None:
        said = ", ".join(name.partition(": ")[2] for name in column.feature_names)
        return f"dates, {said or 'all the same: no feature'}"
    if column.kind == NUMBER:
        unit = "" if column.unit is None else f", in {column.unit}"
        return f"numbers written with a {column.format}{unit}"
    also = ", one for all other words" if column.others else ""
    also += ", and one for missing words" if column.missing else ""
    said = f"words, {counted(len(column.categories), 'column')} of 0 and 1{also}"
    if column.targets is None:
        return said
    values = ", ".join(column.targets.outputs[:3]) + (
        ", ..." if len(column.targets.outputs) > 3 else ""
    )
    ones = said.partition(", ")[2]
    return f"{len(column.targets.words):,} words, by their target values ({values}); and {ones}"
