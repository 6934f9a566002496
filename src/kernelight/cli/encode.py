"""``kernelight encode``: the codes of each row of a file, or its features, in another file."""

from __future__ import annotations

from typing import Any

from kernelight import TableMap, load, open_dataset
from kernelight.base import counted
from kernelight.cli import show
from kernelight.cli.messages import option
from kernelight.estimators import Event
from kernelight.tables.code_files import form_of, write_encoded
from kernelight.tables.memory_limit import bytes_of


def run(
    data: str,
    output: str,
    given: dict[str, Any],
    reading: dict[str, Any],
    map: str | None,
    save_map: str | None,
    memory: str | None,
    jobs: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Fit a map or take one, encode, write, batch by batch; the map is written once the codes are
    there."""
    form_of(output, ids=reading["ids"] is not None)
    for place in (output, save_map):
        if place is not None:
            show.refuse_no_place(place)
            show.refuse_overwriting(place, data, map)
    given = {name: value for name, value in given.items() if value is not None}
    with show.progress(quiet or as_json) as watch:
        if map is None:
            table_map = TableMap(**{**given, "gamma": _gamma(given.get("gamma")), "n_jobs": jobs})
            table_map.choice()  # what is wrong with it is said before the data are looked at
            if memory is not None:
                bytes_of(memory)
            dataset = open_dataset(data, **reading).without_target
            table_map.fit(dataset, memory=memory, watch=watch)
        else:
            for name in given:
                raise ValueError(f"--map decides how rows are encoded: leave {option(name)} out.")
            table_map = TableMap.of(load(map), where=map)
            dataset = table_map.open(data, **reading)
        rows = 0

        def parts() -> Any:
            nonlocal rows
            for part in table_map.encode_batches(dataset, memory=memory):
                rows += len(part.values)
                watch(Event("encoding", rows))
                yield part

        write_encoded(output, table_map, parts())
    if save_map is not None:
        table_map.save(save_map)
    kind = "codes" if table_map.has_codes else "features"
    if as_json:
        show.as_json(
            {
                "output": output,
                "data": dataset.name,
                "rows": rows,
                "kind": kind,
                "features": table_map.scaling_.n_features,
                "map": type(table_map.map_).__name__,
                "kernel": repr(table_map.map_.kernel),
                "scale": table_map.scaling_.name,
                "provenance": table_map.provenance,
                "saved_map": save_map,
            }
        )
    elif not quiet:
        print(
            f"{kind.capitalize()} of {counted(rows, 'row')}, by {table_map.map_!r}, are in "
            f"{output}."
        )


def _gamma(given: str | None) -> float | str | None:
    if given is None or given == "median":
        return given
    try:
        return float(given)
    except ValueError:
        raise ValueError(f"--gamma must be a number or median, got {given!r}.") from None
