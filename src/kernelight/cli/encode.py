"""``kernelight encode``: the codes or features of each row of a file, in another file."""

from __future__ import annotations

from typing import Any

from kernelight import TableMap, load, open_dataset
from kernelight.base import counted
from kernelight.cli import show
from kernelight.cli.messages import option
from kernelight.cli.output import check_different, check_output
from kernelight.estimators import Event
from kernelight.tables.code_files import form_of, write_encoded
from kernelight.tables.memory_limit import bytes_of


def run(
    data: str,
    output: str,
    parameters: dict[str, Any],
    reading_options: dict[str, Any],
    *,
    map: str | None,
    save_map: str | None,
    memory: str | None,
    jobs: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Fit a map or take one, then encode and write batch by batch.

    The map is written after the codes.
    """
    form_of(output, ids="ids" in reading_options)
    check_output(output, data, map)
    if save_map is not None:
        check_output(save_map, data, map)
        check_different("--output", output, "--save-map", save_map)
    given = {name: value for name, value in parameters.items() if value is not None}
    with show.progress(quiet or as_json) as watch:
        if map is None:
            table_map = TableMap(**{**given, "gamma": _gamma(given.get("gamma")), "n_jobs": jobs})
            table_map.choice()  # refuses wrong parameters before the data are read
            if memory is not None:
                bytes_of(memory)
            dataset = open_dataset(data, **reading_options).without_target
            table_map.fit(dataset, memory=memory, watch=watch)
        else:
            for name in given:
                raise ValueError(f"--map decides how rows are encoded: leave {option(name)} out.")
            table_map = TableMap.of(load(map), where=map)
            dataset = table_map.open(data, **reading_options)
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
        show.say(
            f"{kind.capitalize()} of {counted(rows, 'row')}, by {table_map.map_!r}, are in "
            f"{output}."
        )


def _gamma(text: str | None) -> float | str | None:
    if text is None or text == "median":
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--gamma must be a number or median, got {text!r}.") from None
