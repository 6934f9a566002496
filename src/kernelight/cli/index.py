"""``kernelight index``: an index of the rows of files, made, changed, searched and verified."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelight import TableMap, load, open_dataset
from kernelight.base import bytes_text, counted
from kernelight.cli import show
from kernelight.cli.messages import option
from kernelight.cli.output import opened, table_output
from kernelight.neighbors import Index
from kernelight.tables.memory_limit import bytes_of
from kernelight.tables.table_index import FoundRows, TableIndex

COMPONENTS = 256


def run(action: str, *arguments: Any, **named: Any) -> None:
    """Do one of the actions."""
    actions: dict[str, Callable[..., None]] = {
        "create": _create,
        "add": _add,
        "remove": _remove,
        "search": _search,
        "info": _info,
        "verify": _verify,
        "compact": _compact,
    }
    actions[action](*arguments, **named)


def _create(
    path: str,
    data: str,
    parameters: dict[str, Any],
    reading_options: dict[str, Any],
    *,
    settings: dict[str, Any],
    map: str | None,
    memory: str | None,
    jobs: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    given = {name: value for name, value in parameters.items() if value is not None}
    if memory is not None:
        bytes_of(memory)
    with show.progress(quiet or as_json) as watch:
        if map is None:
            gamma = given.pop("gamma", None)
            numbers = {"gamma": gamma if gamma in (None, "median") else _number("gamma", gamma)}
            table_map = TableMap(**{"n_components": COMPONENTS, **given, **numbers, "n_jobs": jobs})
            table_map.choice()  # refuses wrong parameters before the data are read
            dataset = open_dataset(data, **reading_options).without_target
            table_map.fit(dataset, memory=memory, watch=watch)
        else:
            for name in given:
                raise ValueError(f"--map decides how rows are encoded: leave {option(name)} out.")
            table_map = TableMap.of(load(map), where=map)
            dataset = table_map.open(data, **reading_options)
        rows = TableIndex.create(
            path, table_map, dataset, memory=memory, watch=watch, settings=settings
        )
    _say_changed(path, "added", rows, quiet, as_json)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--{name} must be a number or median, got {text!r}.") from None


def _add(
    path: str,
    data: str,
    reading_options: dict[str, Any],
    *,
    replace: bool,
    memory: str | None,
    jobs: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    with show.progress(quiet or as_json) as watch, TableIndex.open(path, "a", n_jobs=jobs) as index:
        rows = index.add(data, replace=replace, memory=memory, watch=watch, **reading_options)
    _say_changed(path, "added", rows, quiet, as_json)


def _remove(path: str, ids: list[str], *, ignore: bool, quiet: bool, as_json: bool) -> None:
    with Index.open(path, "a") as index:
        names: list[Any] = list(ids)
        if index.info()["ids"] == "int":
            names = [_whole(each) for each in ids]
        rows = index.remove(names, missing="ignore" if ignore else "error")
    _say_changed(path, "removed", rows, quiet, as_json)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"The ids of this index are whole numbers, got {text!r}.") from None


def _say_changed(path: str, done: str, rows: int, quiet: bool, as_json: bool) -> None:
    with Index.open(path) as index:
        total = len(index)
    if as_json:
        show.as_json({"index": path, done: rows, "rows": total})
    elif not quiet:
        were = f"{counted(rows, 'row')} {'was' if rows == 1 else 'were'} {done}"
        show.say(f"{were}: {path} has {counted(total, 'row')}.")


def _search(
    path: str,
    data: str,
    reading_options: dict[str, Any],
    *,
    top: int | None,
    above: float | None,
    output: str | None,
    memory: str | None,
    jobs: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    output = table_output(output, data)
    if top is not None and above is not None:
        raise ValueError("--top and --above cannot both be given: leave one out.")
    if top is not None and top < 1:
        raise ValueError(f"--top must be at least 1, got {top}.")
    if above is not None and not 0.0 < above <= 1.0:
        raise ValueError(f"--above must be above 0 and at most 1, got {above:g}.")
    k = 5 if top is None and above is None else top
    n_pairs = 0
    with (
        opened(output, lines=as_json) as out,
        show.progress(quiet or output is None) as watch,
        TableIndex.open(path, n_jobs=jobs) as index,
    ):
        estimated = index.index.info()["scores"] == "estimated"
        results = index.search(
            data, k=k, threshold=above, memory=memory, watch=watch, **reading_options
        )
        for found in results:
            out.write(_columns(found, estimated))
            n_pairs += len(found.ids)
    if output is not None and not quiet:
        show.say(f"{counted(n_pairs, 'pair')} {'is' if n_pairs == 1 else 'are'} in {output}.")


def _columns(found: FoundRows, estimated: bool) -> dict[str, Any]:
    """The columns of the table: ids, or numbers of rows counted from 1, and similarities."""
    rows = found.row + 1 if found.row_ids is None else np.array(found.row_ids, dtype=str)
    ids = found.ids if found.ids.dtype != object else np.array(found.ids, dtype=str)
    errors = {"standard_error": found.errors} if estimated else {}
    return {"row": rows, "id": ids, "similarity": found.scores, **errors}


def _info(path: str, *, as_json: bool) -> None:
    with Index.open(path) as index:
        facts = index.info()
    if as_json:
        show.as_json(facts)
        return
    size = bytes_text(facts.pop("bytes"))
    facts.pop("uncommitted")
    shown = {name.replace("_", " "): value for name, value in facts.items() if value is not None}
    show.pairs({"index": shown.pop("path"), "size": size, **shown})


def _verify(path: str, *, quiet: bool, as_json: bool) -> None:
    with Index.open(path) as index:
        index.verify()
        rows = len(index)
    if as_json:
        show.as_json({"index": path, "rows": rows, "sound": True})
    elif not quiet:
        show.say(f"{path} is sound: {counted(rows, 'row')}.")


def _compact(path: str, *, quiet: bool, as_json: bool) -> None:
    with Index.open(path, "a") as index:
        before = index.info()["bytes"]
        index.compact()
        after, rows = index.info()["bytes"], len(index)
    if as_json:
        show.as_json({"index": path, "rows": rows, "bytes_before": before, "bytes": after})
    elif not quiet:
        show.say(
            f"{path} has {counted(rows, 'row')} in {bytes_text(after)}, before it had "
            f"{bytes_text(before)}."
        )
