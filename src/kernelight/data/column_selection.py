"""Which columns are read: by what the user has said, or by the encoding of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernelight.data.encoding import REGRESSION, Encoding
from kernelight.data.errors import DataError, listed, nearest, shown
from kernelight.data.reading_options import AUTO, ReadingOptions, date_target, target_column
from kernelight.data.table_source import CATEGORICAL, DATE, NUMBER, ColumnSelection, TableSource


def selected(
    source: TableSource, opened: TableSource, options: ReadingOptions, left_out: Sequence[str]
) -> tuple[ColumnSelection, list[str] | None]:
    """What to read, and the features in the order of the file; None of sparse rows.

    ``opened`` is the source before formats were found for its columns; ``left_out`` are columns
    that were left out by default.
    """
    if source.columns is None:
        if options.ids or options.ignore or options.target not in (AUTO, None, source.target):
            raise DataError(
                f"{source.label} has sparse rows without names: no column of it can be named."
            )
        target = source.target if options.target is not None else None
        return ColumnSelection(
            target=target,
            target_kind=source.target_kind,
            dtype=options.dtype,
            width=options.n_features,
        ), None
    if options.n_features is not None:
        raise DataError(f"{source.label} has named columns; n_features is for sparse rows.")
    kinds = {column.name: column.kind for column in source.columns}
    if not kinds:
        raise DataError(f"{source.label} has no columns.")
    target = target_column(options.target, source, opened, list(kinds))
    target_kind = kinds.get(target, source.target_kind) if target is not None else NUMBER
    for name, use in [
        *((n, "to ignore") for n in options.ignore),
        *([(options.ids, "of ids")] if options.ids else []),
    ]:
        if name not in kinds:
            raise DataError(
                f"{source.label}: there is no column {shown(name)} "
                f"{use}{nearest(name, kinds) or '.'}"
            )
    if target is not None and (target == options.ids or target in options.ignore):
        raise DataError(
            f"{source.label}: column {shown(target)} cannot be the target and an id or ignored."
        )
    if target_kind == CATEGORICAL and options.task == REGRESSION:
        raise DataError(
            f"{source.label}: the target {shown(str(target))} is words; a regression needs numbers."
        )
    unused = {target, options.ids, *options.ignore, *left_out}
    features = [name for name in kinds if name not in unused]
    if target is not None and target_kind == DATE:
        raise date_target(source.label, target)
    for name in [*features, *([target] if target in kinds else [])]:
        if kinds[name] not in (NUMBER, CATEGORICAL) and (name == target or kinds[name] != DATE):
            raise DataError(
                f"{source.label}, column {shown(name)}: {kinds[name]} is neither a number nor "
                f"words; convert it."
            )
    return ColumnSelection(
        numbers=tuple(name for name in features if kinds[name] == NUMBER),
        words=tuple(name for name in features if kinds[name] == CATEGORICAL),
        dates=tuple(name for name in features if kinds[name] == DATE),
        strict=options.strict,
        target=target,
        target_kind=target_kind,
        ids=options.ids,
        dtype=options.dtype,
        limit=options.max_categories if options.strict else None,
    ), features


def selected_by(
    encoding: Encoding, source: TableSource, options: ReadingOptions
) -> tuple[ColumnSelection, str | None]:
    """What an encoding needs of a source, and a note on columns that the model does not know."""
    names = None if source.columns is None else [column.name for column in source.columns]
    more = [*options.ignore, *([options.ids] if options.ids else [])]
    unknown = [] if names is None or encoding.columns is None else encoding.unknown(names, more)
    apart = source.target is not None and (names is None or source.target not in names)
    if apart and names is not None and encoding.target is not None:
        # a target that the format keeps apart, whatever it calls it
        names = [*names, encoding.target.name]
    selection = replace(encoding.selection(names, source.label, more), strict=options.strict)
    if unknown and options.strict:
        raise DataError(
            f"{source.label}: {listed(unknown)} not known to the model; ignore={unknown!r} leaves "
            f"them out."
        )
    if names is None and not apart:
        selection = replace(selection, target=None)
    if options.ids is not None:
        if names is None or options.ids not in names:
            raise DataError(f"{source.label}: there is no column {shown(options.ids)} of ids.")
        selection = replace(selection, ids=options.ids)
    if options.target is None:
        selection = replace(selection, target=None)
    elif options.target != AUTO and selection.target is None:
        raise DataError(
            f"{source.label}: there is no column {shown(str(options.target))} for the target."
        )
    if not unknown:
        return selection, None
    many = "columns" if len(unknown) > 1 else "column"
    return selection, f"{many} {listed(unknown)}: not known to the model; left out"
