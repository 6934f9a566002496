"""The first rows of a source, by which `survey` decides about its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kernelight.base import counted
from kernelight.data.errors import DataError
from kernelight.data.exact_integers import as_doubles
from kernelight.data.table_source import (
    CATEGORICAL,
    DATE,
    NUMBER,
    Block,
    Categorical,
    ColumnSelection,
    TableSource,
)

HEAD_ROWS = 20_000


def head_blocks(source: TableSource, selection: ColumnSelection) -> Iterator[tuple[Block, int]]:
    """The first blocks, and how many of the rows of each are among the first `HEAD_ROWS`.

    Damage ends them: it is reported when the rows are read.
    """
    rows = 0
    try:
        for block in source.blocks(selection):
            yield block, min(block.n_rows, HEAD_ROWS - rows)
            rows += block.n_rows
            if rows >= HEAD_ROWS:
                break
    except DataError:
        return


def first_values(
    source: TableSource, names: Sequence[str]
) -> dict[str, tuple[NDArray[np.float64], int]]:
    """The first numbers of some columns, NaN where one is missing, and how many rows there are.

    Of dates it matters only whether they are there: they are 0.
    """
    kinds = {column.name: column.kind for column in source.columns or ()}
    selection = ColumnSelection(
        numbers=tuple(name for name in names if kinds[name] == NUMBER),
        dates=tuple(name for name in names if kinds[name] == DATE),
    )
    if not names:
        return {}
    parts = []
    for block, rows in head_blocks(source, selection):
        numbers = np.asarray(block.numbers[:rows], dtype=np.float64)
        if block.dates is not None:
            dates = np.where(np.isnat(block.dates[:rows]), np.nan, 0.0)
            numbers = np.concatenate([numbers, dates], axis=1)
        parts.append(numbers)
    values = np.concatenate(parts) if parts else np.zeros((0, len(names)))
    order = (*selection.numbers, *selection.dates)
    columns = {name: (values[:, at], len(values)) for at, name in enumerate(order)}
    return {name: columns[name] for name in names}


def word_counts(source: TableSource, names: Sequence[str]) -> tuple[dict[str, Counter[str]], int]:
    """How often each word occurs in the first rows, and how many rows these are."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    total = 0
    for block, rows in head_blocks(source, ColumnSelection(words=tuple(names))) if names else ():
        for name, words in zip(names, block.words, strict=True):
            codes = words.codes[:rows]
            numbers = np.bincount(codes[codes >= 0], minlength=len(words.values))
            for at in np.flatnonzero(numbers).tolist():
                counts[name][words.values[at]] += int(numbers[at])
        total += rows
    return counts, total


def missing_in_head(
    source: TableSource, target: str | None, kinds: Mapping[str, str]
) -> str | None:
    """In how many of the first rows the target is missing; None if it is there."""
    if target is None or source.columns is None:
        return None
    all_kinds = {column.name: column.kind for column in source.columns} | dict(kinds)
    kind = CATEGORICAL if all_kinds.get(target, source.target_kind) == CATEGORICAL else NUMBER
    total = gone = 0
    for block, rows in head_blocks(source, ColumnSelection(target=target, target_kind=kind)):
        values = block.target
        assert values is not None
        if isinstance(values, Categorical):
            missing = values.codes < 0
        else:
            missing = np.isnan(as_doubles(values))
        total, gone = total + rows, gone + int(missing[:rows].sum())
    return (
        f"the target is missing in {gone:,} of the first {counted(total, 'row')}; they are left out"
        if gone
        else None
    )
