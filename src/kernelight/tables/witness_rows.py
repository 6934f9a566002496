"""Rows that show all that is learned from a table: what is learned of them is learned of all.

To compare rows, an encoding needs the words of each column, and a scaling the least and the largest
value; how columns are read is decided by the first rows. A few rows have all of this, and those of
parts of a table have that of the whole. So each machine of a cluster picks the witnesses among its
rows, and one of them picks among these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelight.data.columnar import pyarrow_or_error
from kernelight.data.dates import PARTS, part_of
from kernelight.data.first_rows import HEAD_ROWS
from kernelight.data.frames import frame_source
from kernelight.data.table_source import CATEGORICAL, DATE, NUMBER, Categorical, ColumnSelection

__all__ = ["HEAD_ROWS", "picked", "witnesses"]
AT_ONCE = 1 << 14  # rows that are looked at together
_SPELLINGS = 1000  # of missing words, and with blanks around them, that are no further words


def witnesses(
    batches: Iterable[Any],
    max_categories: int,
    categorical: Sequence[str] = (),
    *,
    ids: str | None = None,
) -> Iterator[Any]:
    """The witnesses of the rows of Arrow batches, as batches of the same columns.

    Of more words than ``max_categories`` enough come to show that there are more. The column of
    ``ids`` shows nothing.
    """
    pa = pyarrow_or_error("Rows of Arrow batches")
    waiting: list[Any] = []
    count = kept = 0
    for batch in batches:
        waiting.append(pa.Table.from_batches([batch]))
        count += batch.num_rows
        if count >= kept + AT_ONCE:
            table = pa.concat_tables(waiting).combine_chunks()
            waiting = [picked(table, max_categories, categorical, ids=ids)]
            count = kept = waiting[0].num_rows
    if waiting:
        table = pa.concat_tables(waiting).combine_chunks()
        yield from picked(table, max_categories, categorical, ids=ids).to_batches()


def picked(
    table: Any, max_categories: int, categorical: Sequence[str] = (), *, ids: str | None = None
) -> Any:
    """The witnesses among the rows of an Arrow table, in their order.

    >>> import pyarrow as pa
    >>> from kernelight.tables.witness_rows import picked
    >>> table = pa.table({"x": [3, 1, 2, 9, 1], "kind": ["a", "a", "b", "a", "b"]})
    >>> picked(table, 100).to_pydict()
    {'x': [3, 1, 2, 9], 'kind': ['a', 'a', 'b', 'a']}
    """
    if not table.num_rows:
        return table
    source = frame_source(table, label="the rows", categorical=categorical)
    names: dict[str, list[str]] = {NUMBER: [], CATEGORICAL: [], DATE: []}
    for column in source.columns or ():
        if column.name != ids:
            names.get(column.kind, []).append(column.name)
    selection = ColumnSelection(
        tuple(names[NUMBER]), tuple(names[CATEGORICAL]), dates=tuple(names[DATE])
    )
    block = source.whole(selection)
    rows: list[NDArray[np.intp]] = [np.zeros(0, np.intp)]
    for at in range(block.numbers.shape[1]):
        rows.append(_ends(block.numbers[:, at]))
    for words in block.words:
        rows.append(_firsts(words, max_categories + _SPELLINGS))
    if block.dates is not None:
        for at in range(block.dates.shape[1]):
            rows += _of_dates(block.dates[:, at])
    return table.take(pyarrow_or_error("Rows").array(np.unique(np.concatenate(rows))))


def _ends(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Where the least and the largest value is, and the first missing one."""
    gone = np.isnan(values)
    found = [np.flatnonzero(gone)[:1]]
    if not gone.all():
        found.append(np.array([np.nanargmin(values), np.nanargmax(values)]))
    return np.concatenate(found)


def _firsts(words: Categorical, most: int) -> NDArray[np.intp]:
    """Where each word is first, and a missing one."""
    return np.asarray(np.unique(words.codes, return_index=True)[1][: most + 1])


def _of_dates(dates: NDArray[np.datetime64]) -> list[NDArray[np.intp]]:
    """Where the ends of each part are, and the first missing date."""
    there = np.flatnonzero(~np.isnat(dates))
    gone = np.flatnonzero(np.isnat(dates))[:1]
    ends = [_ends(np.asarray(part_of(dates[there], part), np.float64)) for part in PARTS]
    return [gone, *(there[end] for end in ends)]
