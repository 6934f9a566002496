"""What looks at the rows that an encoding is learned from, for notes on their columns."""

from __future__ import annotations

from collections.abc import Mapping

from kernelight.data.copied_rows import CopiedRows
from kernelight.data.encoded_source import written_as
from kernelight.data.observations import Unvarying
from kernelight.data.sentinels import Sentinels
from kernelight.data.table_source import ColumnSelection, TableSource
from kernelight.data.target_leaks import TargetLeaks
from kernelight.data.text_formats import POINT

Observer = Unvarying | TargetLeaks | Sentinels | CopiedRows


def observers_of(
    source: TableSource, opened: TableSource, selection: ColumnSelection, formats: Mapping[str, str]
) -> list[Observer]:
    """What looks at the columns of a selection, which must have names.

    ``opened`` is the source before ``formats`` were found for its columns.
    """
    observers: list[Observer] = []
    if source.columns is None or not source.headed:
        return observers
    if opened.n_bytes is not None:
        observers.append(Unvarying(selection))
    if selection.target is not None and opened.has_options:
        observers.append(TargetLeaks(selection))
        observers.append(CopiedRows(selection))

    def written(name: str, value: float) -> str | None:
        if opened.text or name in formats:
            return written_as(value, name, formats.get(name, POINT), opened)
        return None if name in selection.dates else f"{value:.10g}"

    if opened.has_options:
        observers.append(Sentinels(selection, written))
    elif formats:  # the estimators look at other columns themselves
        observers.append(Sentinels(selection, among=formats))
    return observers
