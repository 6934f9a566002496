"""``kernelight export``: a model as C for microcontrollers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from kernelight import TableModel
from kernelight.cli import show
from kernelight.export import to_c


def run(
    model: str,
    check: str,
    reading_options: dict[str, Any],
    *,
    to: str,
    output: str,
    name: str | None,
    rows: str,
    phases: str,
    arduino: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Export, write and report."""
    if to != "c":
        raise ValueError(f"--to must be c, got {to!r}.")
    fitted = TableModel.load(model)
    exported = to_c(
        fitted,
        name=_name_of(model) if name is None else name,
        check=fitted.open(check, **reading_options),
        rows=rows,
        phases=phases,
    )
    files = exported.save(output, arduino=arduino)
    if as_json:
        show.as_json({"files": files, **exported.provenance})
    elif not quiet:
        show.say(str(exported.report))
        show.say(f"Written: {', '.join(files)}.")


def _name_of(model: str) -> str:
    """The name of the model's file, as far as C takes it."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", Path(model).stem).strip("_")
    return name if name[:1].isalpha() else f"model_{name}".rstrip("_")
