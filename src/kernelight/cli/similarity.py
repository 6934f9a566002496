"""``kernelight similarity``: the most similar rows of another file, or of the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelight import TableMap, load
from kernelight.base import counted
from kernelight.cli import show
from kernelight.cli.output import opened, table_output
from kernelight.tables.similarity import (
    ComparableRows,
    Pairs,
    check_limits,
    kernel_of,
    kernel_rows,
    rereadable,
    similar_rows,
    stored_rows,
)


def run(
    a: str,
    b: str | None,
    parameters: dict[str, Any],
    reading_options: dict[str, Any],
    *,
    top: int | None,
    above: float | None,
    map: str | None,
    output: str | None,
    jobs: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Compare block by block, and write the pairs of each block."""
    output = table_output(output, a, b, map)
    check_limits(top, above)
    given = {name: value for name, value in parameters.items() if value is not None}
    TableMap(**given).choice()  # refuses wrong parameters before the data are read
    if a == b == "-":
        raise ValueError("Standard input can be read once only: name a file for A or for B.")
    n_pairs = 0
    with opened(output, lines=as_json) as out, show.progress(quiet or output is None) as watch:
        left, right = _comparable(a, b, given, reading_options, map, jobs, watch)
        for pairs in similar_rows(
            left, right, top=top, above=above, itself=b is None, n_jobs=jobs, watch=watch
        ):
            out.write(_columns(pairs))
            n_pairs += len(pairs.a)
    if output is not None and not quiet:
        show.say(f"{counted(n_pairs, 'pair')} {'is' if n_pairs == 1 else 'are'} in {output}.")


def _comparable(
    a: str,
    b: str | None,
    given: dict[str, Any],
    reading_options: dict[str, Any],
    map: str | None,
    jobs: int | None,
    watch: Any,
) -> tuple[ComparableRows, ComparableRows]:
    """What is compared: stored codes or features, or rows of data by an exact kernel."""
    left, right = rereadable(a), None if b is None else rereadable(b)
    table_map = None if map is None else TableMap.of(load(map), where=map)
    stored = stored_rows(left, right, table_map=table_map, n_jobs=jobs)
    if stored is not None:
        columns = {name: reading_options.get(name) for name in ("target", "ids")}
        for name, value in {**given, **columns}.items():
            if value is not None:
                raise ValueError(
                    f"{a} holds codes or features: --{name} is for data; leave it out."
                )
        return stored
    if map is not None:
        raise ValueError(
            f"--map is for files of codes, but {a} holds none: encode it first, or name a kernel."
        )
    kernel = kernel_of(given.get("kernel", "gmm"), given.get("gamma"), given.get("p"))
    scale = given.get("scale")
    return kernel_rows(left, right, kernel, scale=scale, watch=watch, **reading_options)


def _columns(pairs: Pairs) -> dict[str, Any]:
    """The columns of the table: ids, or numbers of rows counted from 1, and similarities."""
    return {
        "a": pairs.a + 1 if pairs.a_ids is None else np.array(pairs.a_ids, dtype=str),
        "b": pairs.b + 1 if pairs.b_ids is None else np.array(pairs.b_ids, dtype=str),
        "similarity": pairs.similarity,
    }
