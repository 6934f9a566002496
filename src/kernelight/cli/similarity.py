"""``kernelight similarity``: which rows are most similar to those of another file, or of the
same."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelight import TableMap, load
from kernelight.base import counted
from kernelight.cli import show
from kernelight.cli.output import opened
from kernelight.tables.similarity import (
    ComparableRows,
    Pairs,
    check_limits,
    kept,
    kernel_of,
    kernel_rows,
    similar_rows,
    stored_rows,
)


def run(
    a: str,
    b: str | None,
    top: int | None,
    above: float | None,
    given: dict[str, Any],
    reading: dict[str, Any],
    map: str | None,
    output: str | None,
    jobs: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Compare block by block, and write what was found for each block."""
    if output is not None:
        show.refuse_no_place(output)
        show.refuse_overwriting(output, a, b, map)
    check_limits(top, above)
    TableMap(
        given["kernel"] or "gmm", gamma=given["gamma"], p=given["p"], scale=given["scale"]
    ).choice()
    if "-" in (a, b) and a == b:
        raise ValueError("Standard input can be read once only: name a file for A or for B.")
    pairs = 0
    with opened(output, lines=as_json) as out, show.progress(quiet or output is None) as watch:
        left, right = _sources(a, b, given, reading, map, jobs, watch)
        for part in similar_rows(left, right, top=top, above=above, itself=b is None, watch=watch):
            out.write(_columns(part))
            pairs += len(part.a)
    if output is not None and not quiet:
        print(f"{counted(pairs, 'pair')} {'is' if pairs == 1 else 'are'} in {output}.")


def _sources(
    a: str,
    b: str | None,
    given: dict[str, Any],
    reading: dict[str, Any],
    map: str | None,
    jobs: int | None,
    watch: Any,
) -> tuple[ComparableRows, ComparableRows]:
    """What is compared: codes of files that hold them, or rows of data by an exact kernel."""
    left, right = kept(a), None if b is None else kept(b)
    table_map = None if map is None else TableMap.of(load(map), where=map)
    stored = stored_rows(left, right, table_map=table_map, n_jobs=jobs)
    if stored is not None:
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"{a} holds codes or features: --{name} is for data; leave it out."
                )
        return stored
    if map is not None:
        raise ValueError(
            f"--map is for files of codes, but {a} holds none: encode it first, or name a kernel."
        )
    kernel = kernel_of(given["kernel"] or "gmm", given["gamma"], given["p"])
    return kernel_rows(left, right, kernel, scale=given["scale"], watch=watch, **reading)


def _columns(part: Pairs) -> dict[str, Any]:
    """Ids where there are any, else the numbers of rows as people count them."""
    return {
        "a": part.a + 1 if part.a_ids is None else np.array(part.a_ids, dtype=str),
        "b": part.b + 1 if part.b_ids is None else np.array(part.b_ids, dtype=str),
        "similarity": part.similarity,
    }
